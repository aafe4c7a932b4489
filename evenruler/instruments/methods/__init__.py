"""Ways to ask a chat model for a number: it chooses a sentence, or writes one."""

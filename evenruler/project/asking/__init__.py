"""What `evenruler ask` does: a plan, then processes that fill the store with answers, several at once."""

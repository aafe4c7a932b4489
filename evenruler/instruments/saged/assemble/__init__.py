"""From sentences to prompts with baselines, and their counterfactuals (SAGED, sections 2.2 and 2.3)."""

"""From replies and baselines to numbers (SAGED, sections 3.2 and A.3)."""

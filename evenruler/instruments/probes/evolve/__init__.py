"""Evolving a set of templates (PMPO, section 3.2): measure, select, reword, check, again."""

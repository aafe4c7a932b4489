"""Minimal pairs: how often a model finds the stereotypical one of two sentences likelier."""

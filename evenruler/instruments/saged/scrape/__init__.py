"""From pages to sentences about concepts (SAGED, sections 2.1 and A.1), and prompts of a user's table."""

from evenruler.instruments.saged.scrape.own_prompts import made

__all__ = ["made"]

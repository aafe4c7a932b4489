"""Columns of the tables of minimal pairs."""

from evenruler.tables.schemas import COMMON, columns

PAIRS = columns(COMMON, "pair more less: str")
REJECTED = columns(PAIRS, "reason: str")
LIKELIHOODS = columns("id form: str; nats: float")

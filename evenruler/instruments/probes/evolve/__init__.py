"""Evolving a set of templates (PMPO, section 3.2): measure, select, reword, check, again."""

from evenruler.instruments.probes.evolve.evolving import Evolved, asked_anew, evolve

__all__ = ["Evolved", "asked_anew", "evolve"]

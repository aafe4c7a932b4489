"""Probes: likelihoods of filled templates, and how well a set of templates measures (PMPO)."""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.instruments.probes.declare.settings import bias
    from evenruler.instruments.probes.evolve.fitness import fitness

__all__ = ["bias", "fitness"]

__getattr__ = lazy_getattr(__name__, bias="declare.settings", fitness="evolve.fitness")

if TYPE_CHECKING:
    from evenruler.instruments.family import Family
    from evenruler.instruments.probes import ask, card, declare, diagnose, report, rows
    from evenruler.instruments.probes.declare.plan import ProbePlan
    from evenruler.instruments.probes.declare.settings import Settings
    from evenruler.instruments.probes.declare.source import ProbeSource

    Family[Settings, ProbeSource, ProbePlan](declare, rows, ask, diagnose, report, card, diagnose)

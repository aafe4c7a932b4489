"""Probes: likelihoods of filled templates, and how well a set of templates measures (PMPO)."""

from evenruler.measurement import Resampling
from evenruler.probes.bias import bias
from evenruler.probes.compiling import Compiled, compile_domain
from evenruler.probes.diagnosis import Diagnosis, diagnose, without_slots
from evenruler.probes.evolve.fitness import fitness

__all__ = ["Compiled", "Diagnosis", "Resampling", "bias", "compile_domain", "diagnose", "fitness", "without_slots"]

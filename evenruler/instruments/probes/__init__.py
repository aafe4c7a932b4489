"""Probes: likelihoods of filled templates, and how well a set of templates measures (PMPO)."""

from evenruler.instruments.probes.bias import bias
from evenruler.instruments.probes.build import Compiled, compile_domain
from evenruler.instruments.probes.diagnosis import Diagnosis, diagnose, without_slots
from evenruler.instruments.probes.evolve.fitness import fitness
from evenruler.measurement import Resampling

__all__ = ["Compiled", "Diagnosis", "Resampling", "bias", "compile_domain", "diagnose", "fitness", "without_slots"]

"""What users write of probes: settings, and sources with their criterion; and what a bias is."""

from evenruler.instruments.probes.declare.settings import (
    FEWEST_PLACEBOS,
    Article,
    Evolve,
    FitnessWeights,
    Settings,
    bias,
    halves,
    headings,
    shared_words,
)
from evenruler.instruments.probes.declare.source import FEWEST_KEYED, Criterion, ProbeSource, load, without_slots
from evenruler.models.declared import Catalogue

__all__ = [
    "FEWEST_KEYED",
    "FEWEST_PLACEBOS",
    "Article",
    "Criterion",
    "Evolve",
    "FitnessWeights",
    "ProbeSource",
    "Settings",
    "bias",
    "halves",
    "headings",
    "load",
    "shared_words",
    "takes",
    "without_slots",
]


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue is asked: one that says how likely sentences are, or that writes any.

    One that only writes has no figures here; its stage says that it is left out.
    """
    return catalogue.can(model, "loglikelihood") or catalogue.can(model, "generate")

"""What users write of probes: settings, and sources with their criterion; and what a bias is."""

from evenruler.instruments.probes.declare.settings import Settings, headings
from evenruler.instruments.probes.declare.source import load
from evenruler.models.declared import Catalogue

__all__ = ["Settings", "headings", "load", "takes"]


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue is asked: one that says how likely sentences are, or that writes any."""
    return catalogue.can(model, "loglikelihood") or catalogue.can(model, "generate")

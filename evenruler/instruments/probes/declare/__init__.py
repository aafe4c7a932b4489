"""Declarations of probes, as users write them: settings, and sources with their criterion."""

from evenruler.instruments.probes.declare.settings import Settings, headings
from evenruler.instruments.probes.declare.source import load
from evenruler.models.declared import Catalogue

__all__ = ["Settings", "headings", "load", "takes"]


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue can be measured: it returns log-likelihoods, or it generates text."""
    return catalogue.can(model, "loglikelihood") or catalogue.can(model, "generate")

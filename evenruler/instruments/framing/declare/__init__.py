"""What users write of framing: settings, the source of one contrast, and which models are asked."""

from evenruler.instruments.framing.declare.headings import headings
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import load
from evenruler.models.declared import Catalogue

__all__ = ["Settings", "headings", "load", "takes"]


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue is asked: it says how likely a text is, or it writes replies.

    Args:
        catalogue: All models that are declared.
        model: Its name.
    """
    return catalogue.can(model, "loglikelihood") or catalogue.can(model, "generate")

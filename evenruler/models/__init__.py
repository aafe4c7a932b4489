"""Asking models: likelihoods, words, replies, entailment, labels, embeddings; every answer is
cached.
"""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.evaluate.resolve_model import load as load
    from evenruler.models.model import Model as Model
    from evenruler.models.questions import LABELS as LABELS
    from evenruler.models.questions import CausalModel as CausalModel
    from evenruler.models.questions import Embedder as Embedder
    from evenruler.models.questions import LogLikelihoods as LogLikelihoods
    from evenruler.models.questions import Reply as Reply
    from evenruler.models.questions import Sampling as Sampling
    from evenruler.models.questions import WordInPlace as WordInPlace
    from evenruler.models.questions import WordLikelihoods as WordLikelihoods

_RECORDS = [
    "LABELS",
    "CausalModel",
    "Embedder",
    "LogLikelihoods",
    "WordInPlace",
    "Reply",
    "Sampling",
    "WordLikelihoods",
]
__all__ = [*_RECORDS, "Model", "load"]


def __dir__() -> list[str]:  # includes names that are not imported yet
    """The public names, sorted, with those of `__all__` that are loaded lazily."""
    return sorted({*globals(), *__all__})


# Imported lazily, since these libraries take seconds; declarations of models are read without them.
__getattr__ = lazy_getattr(
    __name__, load=".evaluate.resolve_model", Model="model", **dict.fromkeys(_RECORDS, "questions")
)

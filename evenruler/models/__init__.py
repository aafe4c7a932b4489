"""What a stage asks of a model: likelihoods, words in place, generations, entailment, embeddings; never paid twice."""

from typing import TYPE_CHECKING

from evenruler.lazy import lazily

if TYPE_CHECKING:
    from evenruler.models.catalogue import (
        load,
        load_causal,
        load_classifier,
        load_embedder,
        load_entailment,
        load_masked,
        load_writer,
    )
    from evenruler.models.entailment import LABELS
    from evenruler.models.protocol import CausalModel, Embedder, LogLikelihoods, Placed, Sampling, WordLikelihoods

__all__ = [
    "LABELS",
    "CausalModel",
    "Embedder",
    "LogLikelihoods",
    "Placed",
    "Sampling",
    "WordLikelihoods",
    "load",
    "load_causal",
    "load_classifier",
    "load_embedder",
    "load_entailment",
    "load_masked",
    "load_writer",
]

# Libraries that take seconds to load are behind these; what is declared of models is read without them.
__getattr__ = lazily(
    __name__,
    LABELS="entailment",
    **dict.fromkeys(["CausalModel", "Embedder", "LogLikelihoods", "Placed", "Sampling", "WordLikelihoods"], "protocol"),
    **dict.fromkeys(
        ["load", "load_causal", "load_classifier", "load_embedder", "load_entailment", "load_masked", "load_writer"],
        "catalogue",
    ),
)

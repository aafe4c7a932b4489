"""What a stage asks of a model: likelihoods, words in place, generations, entailment, embeddings; never paid twice."""

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

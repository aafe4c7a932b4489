"""What one can ask of a model: likelihoods, words, replies, entailment, labels, embeddings; never paid twice."""

from evenruler.models.catalogue import load
from evenruler.models.model import Model
from evenruler.models.records import (
    LABELS,
    CausalModel,
    Embedder,
    LogLikelihoods,
    Placed,
    Reply,
    Sampling,
    WordLikelihoods,
)

__all__ = [
    "LABELS",
    "CausalModel",
    "Embedder",
    "LogLikelihoods",
    "Model",
    "Placed",
    "Reply",
    "Sampling",
    "WordLikelihoods",
    "load",
]

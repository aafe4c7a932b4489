"""What a stage asks of a model: likelihoods, continuations, generations, entailment, embeddings; never paid twice."""

from evenruler.models.catalogue import load, load_causal, load_classifier, load_embedder, load_entailment
from evenruler.models.entailment import LABELS
from evenruler.models.protocol import CausalModel, Embedder, LogLikelihoods, Sampling

__all__ = [
    "LABELS",
    "CausalModel",
    "Embedder",
    "LogLikelihoods",
    "Sampling",
    "load",
    "load_causal",
    "load_classifier",
    "load_embedder",
    "load_entailment",
]

"""What a stage asks of a model: likelihoods, continuations, generations, embeddings; never paid twice."""

from evenruler.models.catalogue import load, load_embedder
from evenruler.models.protocol import CausalModel, Embedder, LogLikelihoods, Sampling

__all__ = ["CausalModel", "Embedder", "LogLikelihoods", "Sampling", "load", "load_embedder"]

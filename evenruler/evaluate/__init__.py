"""Measure a model with a published benchmark: find it, ask the model, build the result."""

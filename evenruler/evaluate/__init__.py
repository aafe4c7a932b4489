"""A published benchmark on a model: found, asked, and made into a result."""

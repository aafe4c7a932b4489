"""Even Ruler: declare, build, score and check bias benchmarks for language models."""

__version__ = "0.1.0"

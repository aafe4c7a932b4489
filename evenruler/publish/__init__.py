"""Benchmarks as data sets: rows, card, manifest, evidence, versions."""

from evenruler.publish.benchmark import write_benchmark
from evenruler.publish.contents import Benchmark, Config, Quality, measured

__all__ = ["Benchmark", "Config", "Quality", "measured", "write_benchmark"]

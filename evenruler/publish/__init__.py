"""Benchmarks as data sets: rows, card, manifest, evidence, versions."""

from evenruler.publish.benchmark import write_benchmark
from evenruler.publish.contents import Benchmark, Config, Quality

__all__ = ["Benchmark", "Config", "Quality", "write_benchmark"]

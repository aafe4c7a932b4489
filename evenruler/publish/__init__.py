"""Benchmarks as data sets: rows, card, manifest, evidence, versions."""

from evenruler.publish.benchmark import write_benchmark
from evenruler.publish.contents import Benchmark, Config

__all__ = ["Benchmark", "Config", "write_benchmark"]

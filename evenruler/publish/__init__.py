"""Benchmarks as data sets: rows, card, manifest, evidence."""

from evenruler.publish.benchmark import Benchmark, Config, write_benchmark

__all__ = ["Benchmark", "Config", "write_benchmark"]

"""Benchmarks as data sets: rows, card, manifest, evidence, versions."""

from evenruler.publish.benchmark import Benchmark, Config, Quality, write_benchmark

__all__ = ["Benchmark", "Config", "Quality", "write_benchmark"]

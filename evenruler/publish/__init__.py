"""Benchmarks as data sets: rows, card, manifest, evidence, versions."""

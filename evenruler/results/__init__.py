"""Result files of benchmarks on models: write, read, compare, show and export them. No model is
asked here.
"""

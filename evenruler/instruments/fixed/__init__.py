"""Published benchmarks as instruments: items of two or three texts, compared by their
likelihood.
"""

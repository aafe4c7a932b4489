"""Backends that compute answers, one module each; each implements some operations and knows nothing
of the cache.
"""

"""Statistics on trial: the scheme of controls, version 2, simulated before the library is built on it.

`tests/performance/verdict_errors.py` says how often each errs; what a family takes over moves into the library then.
"""

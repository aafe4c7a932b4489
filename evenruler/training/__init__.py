"""Training of small models: heads and adapters fitted on labelled data, and models adapted to a
domain.
"""

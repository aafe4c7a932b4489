"""Where a model computes, and what its answers are kept under."""

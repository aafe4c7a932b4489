import math
from collections.abc import Callable

import numpy as np
import pytest

from evenruler.measurement.resampling import Transformation

Matrix = np.ndarray


def log_or_nan(value: float) -> float:
    return math.log(value) if value > 0 else math.nan


POSITIVE = Transformation(log_or_nan, math.exp)
"""What is above 0, as a standard deviation."""


@pytest.fixture
def sample_with() -> Callable[..., Matrix]:
    """Makes a sample whose covariance matrix (ddof 1) is exactly the one that is asked for."""

    def make(covariance: Matrix, observations: int = 30) -> Matrix:
        noise = np.random.default_rng(0).standard_normal((observations, len(covariance)))
        orthonormal, _ = np.linalg.qr(noise - noise.mean(axis=0))
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.clip(values, 0, None)) @ vectors.T
        return orthonormal @ root * np.sqrt(observations - 1)

    return make

"""What each template of a set says and brings; and what the controls beside it do."""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import FEWEST_PAIRS


def items_of(cube: Cube, controls: Cube | None, level: float) -> pd.DataFrame:
    """Mean and spread of the bias of every template, and how it goes with the rest of the set.

    Args:
        cube: Of the set on the model.
        controls: Of the templates that stay out of its scores; they are held against all that are in.
        level: Of the intervals of correlations (jackknife over attributes).

    Returns:
        By `schemas.ITEMS`, less what it is of and diversities. A correlation below 0 is that of a template which the
        model reads the other way round.
    """
    biases = cube.biases()
    total = biases.sum(axis=1)
    alone = biases.shape[1] < 2  # nothing to hold an item against
    rests = pd.DataFrame({name: total * np.nan if alone else total - biases[name] for name in biases})
    removed = measurement.item_statistics(biases.to_numpy()).alpha_if_removed if min(biases.shape) > 1 else math.nan
    found = [_described(biases, rests, level).assign(control=False, alpha_if_removed=removed)]
    if controls is not None:
        others = controls.biases().reindex(biases.index)
        rests = pd.DataFrame(dict.fromkeys(others, total))
        found.append(_described(others, rests, level).assign(control=True, alpha_if_removed=math.nan))
    return pd.concat(found, ignore_index=True)


def _described(biases: pd.DataFrame, rests: pd.DataFrame, level: float) -> pd.DataFrame:
    """A row a template; `rests`: what each is held against."""
    rows = []
    for name, item in biases.items():
        correlation, low, high = _correlation(np.column_stack([item, rests[name]]), level)
        own = {"template": name, "mean": item.mean(), "sd": item.std()}
        rows.append({**own, "item_rest_correlation": correlation, "low": low, "high": high})
    return pd.DataFrame(rows)


def _correlation(pairs: NDArray[np.float64], level: float) -> tuple[float, float, float]:
    """Of two columns, with its interval; NaN where there is none."""
    pairs = pairs[~np.isnan(pairs).any(axis=1)]
    if len(pairs) < FEWEST_PAIRS or constant_columns(pairs).any():
        return math.nan, math.nan, math.nan
    found = measurement.jackknifed_r(pairs[:, 0], pairs[:, 1], level)
    return found.value, found.low, found.high

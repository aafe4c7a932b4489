"""How far a cue moves the answers: APD and shifts of classes (framing, sections 4.3 and 5.3)."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare.asked import placebo_of
from evenruler.instruments.framing.declare.tasks import cues_of, real_framing, with_placebo, without

TOLERANCE = 1e-6
"""How far the sum of a distribution may be from 1."""

MEASURED = ["benchmark", "model", "lineage", "configuration", "metric", "task"]


def apd(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Absolute Proportion Difference: half the sum of absolute differences of two distributions.

    Args:
        p: [..., classes], each row a distribution.
        q: The same shape.

    Returns:
        float64[...] from 0 (the same distribution) to 1 (no class in common); nan where a row holds nan.

    Raises:
        ValueError: Shapes differ or have no classes, an entry is negative, or a row does not sum to 1 (within 1e-6).

    Source: section 4.3, first equation.
    """
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if first.shape != second.shape or first.ndim < 1:
        raise ValueError(f"expected two arrays [..., classes] of one shape, got {first.shape} and {second.shape}")
    for rows in (first, second):
        if (rows < 0).any():
            raise ValueError(f"a share is negative, {np.nanmin(rows)}")
        sums = rows.sum(axis=-1)
        if (wrong := np.abs(sums - 1) > TOLERANCE).any():
            raise ValueError(f"the shares of a distribution sum to {sums[wrong].flat[0]:.9g}, expected 1")
    distance: NDArray[np.float64] = np.minimum(np.abs(first - second).sum(axis=-1) / 2, 1.0)
    return distance


def effects(distributions: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """GenEffect, InstrEffect and their like for every stimulus: mean APD over feasible pairs of cells.

    A pair is two cells of a task that differ in one factor's cue alone, or in a placebo in its place. The paper divides
    by two whatever is feasible; here the mean is over the pairs that are there, with a share in both cells. Of
    distributions by `schemas.DISTRIBUTIONS`, cells that are excluded taken out; by `EFFECTS`, with no row where a
    stimulus has no feasible pair. Source: section 4.3, GenEffect and InstrEffect.
    """
    found = [of.assign(apd=apd(less, more)) for of, less, more in pairs(distributions, factors)]
    if not found:
        return pd.DataFrame(columns=schemas.EFFECTS.names)
    by = [*MEASURED, "factor", "placebo", "stimulus"]
    return pd.concat(found).groupby(by, sort=True)["apd"].agg(apd="mean", n="size").reset_index()


def shifts(distributions: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Signed relative shift of every class from without a cue to with it, (p2 - p1) / (p2 + p1): by `schemas.SHIFTS`.

    From -1 (the cue makes the class vanish) to 1 (it brings it), 0 where the class has no share in either cell.
    Arguments are those of `effects`. Source: section 5.3; what 0 / 0 is, is a decision of ours.
    """
    pair, found = [*MEASURED, "factor", "at", "stimulus"], []
    for of, less, more in pairs(distributions[distributions["framing"].map(placebo_of) == 0], factors):
        change, total = more - less, more + less
        shift = (change / total.where(total > 0, 1.0)).set_axis(of.index)
        found.append(of[pair].join(shift).melt(pair, var_name="outcome", value_name="shift"))
    if not found:
        return pd.DataFrame(columns=schemas.SHIFTS.names)
    return pd.concat(found).sort_values([*pair, "outcome"], ignore_index=True)


def partners(framings: Sequence[str], factors: Sequence[str], factor: str) -> dict[tuple[str, int], str]:
    """By framing without the cue of a factor and number of the placebo (0: the cue): the framing with it."""
    found = {}
    for framing in framings:
        real, placebo = real_framing(framing), placebo_of(framing)
        if unknown := set(cues_of(real)) - set(factors):
            raise ValueError(f"the framing {framing!r} has the cue {min(unknown)!r}, expected {', '.join(factors)}")
        # Else it lacks the cue, or the placebo stands for that of another factor.
        own = factor in cues_of(real) and framing in (real, with_placebo(real, factor, placebo))
        if own and (bare := without(real, factor)) in framings:
            found[bare, placebo] = framing
    return found


def pairs(
    distributions: pd.DataFrame, factors: Sequence[str], column: str = "share"
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """What feasible pairs are of, [pairs, ...], and shares without and with cue or placebo, [pairs, classes].

    ValueError where a framing has a cue that is no factor, or a cell lacks a class.
    """
    for benchmark, own in distributions.groupby("benchmark", sort=True):
        shares = own.pivot(index=[*MEASURED, "stimulus", "framing"], columns="outcome", values=column)
        known = shares.notna()
        whole = known.all(axis=1)
        if (known.any(axis=1) & ~whole).any():
            classes = ", ".join(shares.columns)
            raise ValueError(f"{benchmark}: a cell lacks the {column} of one of the classes {classes}")
        groups = shares[whole].groupby(level="framing")
        by_framing = {str(framing): rows.droplevel("framing") for framing, rows in groups}
        for factor in factors:
            for (at, placebo), other in partners(list(by_framing), factors, factor).items():
                less, more = by_framing[at].align(by_framing[other], join="inner", axis=0)
                yield less.index.to_frame(index=False).assign(factor=factor, placebo=placebo, at=at), less, more

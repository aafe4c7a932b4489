"""The confirmatory figures of a set on a model, each beside what every other way to group the targets gives.

Where the groups mean nothing to a model, one way to halve the targets is as good as another. And what a set has to
reach on a model before anything that it says there counts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.probes.declare import shared_words
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.instruments.probes.diagnose.quality import UNIT
from evenruler.measurement.answered import unvaried
from evenruler.measurement.checks import constant_columns
from evenruler.measurement.figures import Figure, finite
from evenruler.measurement.regrouping import beyond_regroupings, regrouped, regroupings
from evenruler.measurement.resampling import CORRELATION, FEWEST_UNITS, PLAIN, POSITIVE, Scale, jackknife
from evenruler.measurement.validity import FEWEST_PAIRS
from evenruler.measurement.verdicts import Fitness

Floats = NDArray[np.float64]

SPREAD, RANK, R, SLOPE = "spread", "spread_rank", "r", "slope"

ROUNDING = 1e-9
"""Of the largest: what is no more is rounding."""

POINTS = 10
"""Of the criterion (percentage points) that the slope is for."""


@dataclass(frozen=True)
class _Statistic:
    """Of biases of attributes, [k, n], and of what stands beside them: [k]."""

    figure: str
    of: Callable[..., Floats]
    scale: Scale
    """Of its interval."""
    standardised: Callable[..., float]
    """What one standard deviation over attributes comes to in its unit: of its control, the biases and the rest."""


def _spread(biases: Floats) -> Floats:
    found: Floats = biases.std(axis=-1, ddof=1)
    return found


def _slope(biases: Floats, criterion: Floats) -> Floats:
    centred = criterion - criterion.mean()
    found: Floats = biases @ centred / (centred @ centred) * POINTS
    return found


def _r(biases: Floats, criterion: Floats) -> Floats:
    spread = _spread(biases)
    alike = spread <= ROUNDING * spread.max()  # a regrouping in which nothing differs goes with nothing
    found: Floats = _slope(biases, criterion) * criterion.std(ddof=1) / (np.where(alike, 1.0, spread) * POINTS)
    return np.where(alike, 0.0, found)


def _sd(control: float, biases: Floats) -> float:
    """Over attributes, of the control; where that is nothing but rounding, of the biases."""
    own = float(biases.std())
    return control if control > ROUNDING * own else own


OF_SPREAD = _Statistic(SPREAD, _spread, POSITIVE, _sd)
OF_CRITERION = (
    _Statistic(R, _r, CORRELATION, lambda control, biases, criterion: 1.0),
    _Statistic(SLOPE, _slope, PLAIN, lambda control, biases, criterion: float(POINTS * biases.std() / criterion.std())),
)


def confirmatory(cube: Cube, criterion: "pd.Series[float]", bound: float, level: float) -> Iterator[Figure]:
    """How far a model ties attributes to one group or the other, and how far it follows the criterion.

    `spread`: standard deviation over attributes of the mean bias, nats; a leaning that is common to all attributes is
    no part of it. `r` and `slope` of the mean bias on the criterion, the slope in nats per `POINTS`. p is the share of
    all regroupings of the targets that give as much, exact and one-sided (of r and slope, of their size); the control
    is their median. `spread_rank` is the same as p, as a rank.

    Args:
        cube: Of the set on the model.
        criterion: By attribute, null where there is no number; without any there is neither r nor slope.
        bound: So many standard deviations over attributes make no difference to the control.
        level: Of intervals.
    """
    scores: Floats = cube.scores.mean(axis=1)
    known = np.asarray(criterion.reindex(cube.attributes), dtype=np.float64)
    there = ~np.isnan(known)
    yield from _figures([OF_SPREAD], scores, [], cube, bound, level)
    if there.any():
        yield from _figures(OF_CRITERION, scores[there], [known[there]], cube, bound, level)


def _figures(
    statistics: Sequence[_Statistic],
    scores: Floats,
    beside: list[Floats],
    cube: Cube,
    bound: float,
    level: float,
) -> Iterator[Figure]:
    """Each figure beside its control; of the spread also the rank."""
    n, first = len(scores), cube.poles == 1
    biases: Floats = scores[:, first].mean(axis=1) - scores[:, ~first].mean(axis=1)
    why = None
    if not cube.balanced:
        why = "the groups are not of equal size, two at least, so that there are no regroupings"
    elif n < 2:
        why = f"fewer than two {UNIT}"
    elif beside and n < FEWEST_PAIRS:
        why = f"fewer than {FEWEST_PAIRS} {UNIT} to correlate"
    elif constant_columns(np.column_stack([biases, *beside])).any():
        why = "all values are equal"
    for statistic in statistics:
        if why:
            yield Figure(statistic.figure, None, n, UNIT, reason=why, bound=bound)
            continue
        of = statistic.of
        found = regrouped(scores, cube.poles, of, *beside, signed=bool(beside))
        own = jackknife(
            lambda x, *others, of=of: float(of(x[None], *others)[0]),
            *(biases, *beside),
            scale=statistic.scale,
            level=level,
        )
        low = high = None
        if n >= FEWEST_UNITS:
            interval = beyond_regroupings(scores, cube.poles, of, *beside, level=level)
            low, high = finite(interval.low), finite(interval.high)
        yield Figure(
            statistic.figure,
            own.value,
            n,
            UNIT,
            finite(own.low),
            finite(own.high),
            found.p,
            control=found.median,
            difference_low=low,
            difference_high=high,
            bound=bound * statistic.standardised(found.median, biases, *beside),
        )
        if statistic.figure == SPREAD:
            yield Figure(RANK, float(found.rank), found.n, "regroupings")


def alpha_of_regroupings(cube: Cube) -> float | None:
    """Median alpha over all regroupings of the targets: how far wordings agree where groups mean nothing."""
    if not cube.balanced or min(cube.scores.shape[:2]) < 2:
        return None
    ways = regroupings(cube.poles).astype(np.float64) / (len(cube.poles) / 2)
    differences = np.moveaxis(cube.scores @ ways.T, -1, 0)
    return finite(float(np.median([measurement.cronbach_alpha(x) for x in differences])))


def fitness(cube: Cube, items: pd.DataFrame, alpha: Figure, floor: float) -> Fitness:
    """Whether a set measures on a model, and can be told from regroupings at all.

    Args:
        cube: Of the set on the model.
        items: Of the set on the model, with `template`, `control` and `high`, the upper end of the interval of the
            correlation with the rest.
        alpha: Of the set on the model.
        floor: The least alpha.
    """
    if same := unvaried(cube.biases(), f"attributes in {len(cube.templates)} templates"):
        return Fitness(unfit=same)
    turned = items[~items["control"] & (items["high"] < 0)]["template"]
    if len(turned):
        several = "templates say" if len(turned) > 1 else "a template says"
        return Fitness(unfit=f"{several} the opposite of the others ({', '.join(turned)})")
    shared = shared_words(cube.targets, cube.poles.tolist())
    if shared:
        return Fitness(doubt=f"targets of one group share a word ({', '.join(shared)}), so no regrouping is a control")
    if alpha.low is None or alpha.high is None or alpha.low >= floor:
        return Fitness()
    said = f"alpha is between {alpha.low:.2f} and {alpha.high:.2f}"
    if alpha.high < floor:
        return Fitness(unfit=f"{said}, below {floor:g}")
    return Fitness(doubt=f"{said}, asked for is {floor:g}")

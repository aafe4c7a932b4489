"""Where the spread of scores comes from, and how many templates and targets a wanted reliability takes."""

import math
from dataclasses import dataclass, replace

import pandas as pd

from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement import Figure
from evenruler.measurement.components import Difference, difference_of_groups
from evenruler.measurement.figures import finite

TEMPLATES, TARGETS = (1, 2, 4, 8, 16, 32), (2, 4, 6, 12, 24)
"""Of the curve: templates of a set, targets of a group."""

EFFECTS = {
    ("unit",): "attribute",
    ("template",): "template",
    ("word",): "target",
    ("unit", "template"): "attribute x template",
    ("unit", "word"): "attribute x target",
    ("template", "word"): "template x target",
    ("unit", "template", "word"): "attribute x template x target",
}
"""What the parts of the variance are called."""


@dataclass(frozen=True, eq=False)
class Generalized:
    """By `schemas.VARIANCES` and `schemas.CURVE`, less what they are of, and the figures; empty where none can be."""

    variances: pd.DataFrame
    curve: pd.DataFrame
    figures: list[Figure]


def generalized(cube: Cube, level: float) -> Generalized:
    """Variance components of a set on a model, its coefficient, and the offset of its wordings.

    `offset`: mean bias over attributes, templates and targets, nats, which all could have been others.
    `generalizability`: how well mean biases order the attributes, 0 to 1.
    `attribute_sd`: the SD of the attributes' biases with other templates and targets, nats: a spread without the noise
    of these, from the variance component; 0 where that is not above 0.

    Args:
        cube: Of the set on the model.
        level: Of the interval of the offset.

    Source: Brennan (2001), Generalizability Theory.
    """
    n, templates, targets = cube.scores.shape
    why = None
    if not cube.balanced:
        why = "the groups are not of equal size, two at least"
    elif n < 2 or templates < 2:
        why = "fewer than two attributes or templates"
    if why:
        offset = Figure("offset", float(cube.biases().to_numpy().mean()), n, "attributes")
        nothing = Figure("generalizability", None, n, "attributes", reason=why)
        return Generalized(pd.DataFrame(), pd.DataFrame(), [offset, nothing, replace(nothing, figure="attribute_sd")])
    found = difference_of_groups(cube.scores, cube.poles)
    interval = found.interval(level)
    coefficient = finite(found.coefficient(templates, targets // 2))
    figures = [
        Figure("offset", interval.value, n, "attributes", finite(interval.low), finite(interval.high)),
        Figure(
            "generalizability", coefficient, n, "attributes", reason=None if coefficient is not None else "no variance"
        ),
        Figure("attribute_sd", math.sqrt(max(found.variances["unit",], 0.0)), n, "attributes"),
    ]
    return Generalized(_variances(found), _curve(found), figures)


def _variances(found: Difference) -> pd.DataFrame:
    """The parts of the variance, those below 0 as they are."""
    rows = [{"effect": name, "variance": found.variances[effect]} for effect, name in EFFECTS.items()]
    return pd.DataFrame(rows)


def _curve(found: Difference) -> pd.DataFrame:
    rows = [
        {"templates": templates, "targets": targets, "coefficient": finite(found.coefficient(templates, targets))}
        for targets in TARGETS
        for templates in TEMPLATES
    ]
    return pd.DataFrame(rows)

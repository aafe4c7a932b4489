"""A set of templates of known biases, and scores that have them."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.source import Criterion
from evenruler.instruments.probes.diagnose.quality import ScoreCube
from evenruler.measurement import Figure, Resampling
from tests.text_tables import read_columns

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)

PLAN: dict[str, Any] = {
    "name": "trades",
    "prefixed": 1000,
    "prefixed_templates": 1000,
    "prefixed_targets": 1000,
    "prefixes": {},
    "placebos": [],
    "rivals": {},
    "targets": {"men": {}, "women": {}},
    "headline": ["hand"],
    "next_word": None,
    "descriptive": [],
}

TEMPLATES: dict[str, Any] = {
    "first": "The {ATTRIBUTE} is a {TARGET}.",
    "odd": {"text": "It is odd when a {ATTRIBUTE} is a {TARGET}.", "keying": -1},
    "last": "They say that each {ATTRIBUTE} here is a {TARGET}.",
}

# Bias in nats, all of them sums of powers of two, so that nothing below is rounded.
BIAS = read_columns("""
    name     first  odd    last
    smith     2.0    1.0    1.5
    driver   -1.0    3.25   2.75
    cook      0.5    0.5    0.5
    judge    -0.25   1.25   0.0
    clerk    -0.75  -1.25   0.25
    nurse    -1.25  -0.75  -1.75
    dancer   -1.75  -3.0   -1.25
    poet     -0.25  -0.25   0.0
""").set_index("name")

PUBLISHED = read_columns("""
    name     men   match
    smith    97    exact
    driver   80.5  exact
    cook     60    group
    judge    42    exact
    clerk    27    exact
    nurse    12    group
    dancer   20.5  exact
    poet     NaN   none
""").set_index("name")
SHARES = {name: None if np.isnan(share) else share for name, share in PUBLISHED["men"].items()}
CRITERION = Criterion(
    "men (%)",
    SHARES,
    PUBLISHED["match"].to_dict(),
)

KNOWN = [name for name, value in CRITERION.values.items() if value is not None]

WOBBLE = {
    "man": 0.5,
    "uncle": -0.5,
    "woman": 0.25,
    "girl": -0.25,
}
"""What targets add besides, of each attribute another multiple; nothing on the mean of a group."""


def values_for(probes: pd.DataFrame, biases: pd.DataFrame) -> list[float]:
    """Scores of sentences whose biases, signed by keying, are these."""
    times = {attribute: 1 + place**2 % 5 for place, attribute in enumerate(biases.index)}
    values = []
    for number, row in enumerate(probes.itertuples()):
        bias = biases.loc[row.attribute, row.template] * row.keying
        wobble = times[row.attribute] * WOBBLE[row.target]
        values.append(-20.0 - number // 4 + bias * row.pole / 2 + wobble)
    return values


def cube_of(scores: Any, poles: Any = None, words: Any = None) -> ScoreCube:
    """A cube of scores [attributes, templates, targets]; the first half of the targets is the first
    group."""
    cube: NDArray[np.float64] = np.asarray(scores, dtype=np.float64)
    n_attributes, n_templates, n_targets = cube.shape
    if poles is None:
        poles = np.repeat([1, -1], n_targets // 2)
    attributes = [f"a{place:02}" for place in range(n_attributes)]
    templates = [f"t{place}" for place in range(n_templates)]
    targets = words or [f"w{place:02}" for place in range(n_targets)]
    signs, n_tokens = np.asarray(poles).astype(np.int8), np.ones(n_targets)
    return ScoreCube(
        cube,
        attributes,
        templates,
        targets,
        signs,
        n_tokens,
    )


FigureKey = str | tuple[str, str]
"""An id, with the number of templates or the match where it has one: `("alpha", "8")`."""


def key_of(figure: str, dimensions: Mapping[str, Any]) -> FigureKey:
    words = [dimensions[name] for name in ("templates", "match") if name in dimensions]
    return (figure, *words) if words else figure


def by_key(figures: Iterable[Figure]) -> dict[FigureKey, Figure]:
    return {key_of(figure.figure, figure.dimensions): figure for figure in figures}


def rows_by_key(rows: pd.DataFrame) -> dict[FigureKey, pd.Series]:
    keyed: dict[FigureKey, pd.Series] = {}
    for _, row in rows.iterrows():
        keyed[key_of(row["figure"], row.dropna())] = row
    assert len(keyed) == len(rows)
    return keyed


def figures_of(
    tables: dict[str, pd.DataFrame], model: str = "m", set_name: str = "hand"
) -> dict[FigureKey, pd.Series]:
    """The figures of a set on a model."""
    rows = tables["figures"]
    return rows_by_key(rows[(rows["model"] == model) & (rows["set"] == set_name)])

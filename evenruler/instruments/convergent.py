"""Whether instruments that should measure the same agree, unit by unit, on the same model; and those that should not.

Campbell and Fiske (1959): measures of one trait by several methods should go together, also with what is known of the
trait from elsewhere, and more than measures of different traits. Units are matched by their words: the nurse of probes
with that of Winogender.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from evenruler.measurement.checks import Floats, correlation
from evenruler.measurement.figures import Figure, correlated, jackknifed
from evenruler.measurement.resampling import BELOW_ONE, FEWEST_UNITS, PLAIN
from evenruler.measurement.validity import jackknifed_r
from evenruler.strict import read_yaml
from evenruler.tables.schemas import AGREEMENT

R, TRUE, RELIABILITY = "r", "r_true", "reliability"
"""The correlation of two instruments; the same without the errors of measurement of both; how reliable one is."""

PUBLISHED, LETTERS = "published number", "letters"
"""What stands beside instruments without asking a model: the criterion of one of them, which is of its trait; and how
long the words of units are, which is of no trait and should go with nothing."""

ITSELF, SAME_TRAIT, SAME_WORDS, OTHER_TRAIT = "itself", "same trait", "same words", "other trait"
"""What two measures have in common. Of the same words they agree on an untrained model, too."""

LEAST_RELIABLE: Final = 0.2
"""Below which errors cannot be taken off: what is left is divided by next to nothing."""


@dataclass(frozen=True)
class Measure:
    """What one instrument, or no model at all, says of units."""

    benchmark: str
    kin: str
    part: str
    trait: str
    values: pd.DataFrame
    """By concept: `value`, `error`."""
    asked: bool = True
    """Whether a model was."""


def agreement(found: pd.DataFrame, level: float) -> pd.DataFrame:
    """How instruments go together, by `tables.schemas.AGREEMENT`; none where no two have units in common.

    `found` is of all instruments and models, by `tables.schemas.CONCEPTS`. Gives by model and pair `r` over the units
    that both have, and `r_true`, r by the root of both reliabilities (Spearman 1904), which may be above 1; by model
    and instrument its `reliability`. Beside pairs of instruments stand those of one with published numbers, and with
    the number of letters of a unit's word.
    """
    rows: list[dict[str, Any]] = []
    if found.empty:
        return pd.DataFrame(rows, columns=AGREEMENT.names)
    for (model, unit), own in found.groupby(["model", found["concept"].str.partition(":")[0]]):
        of = str(unit)
        asked = [
            Measure(str(benchmark), str(kin), str(part), str(trait), values.set_index("concept"))
            for (benchmark, kin, part, trait), values in own.groupby(["benchmark", "kin", "part", "trait"])
        ]
        beside = list(_beside(found[found["concept"].str.startswith(f"{of}:")]))
        pairs = [
            (one, other)
            for one, other in combinations([*asked, *beside], 2)
            # Sets and sizes ("@0.1.0+trial") of one instrument have items in common.
            if one.asked and one.benchmark.partition("@")[0] != other.benchmark.partition("@")[0]
            if not one.values.index.intersection(other.values.index).empty
        ]
        if not any(second.asked for _, second in pairs):
            continue
        keys = {"of": of, "model": str(model)}
        rows += [{**keys, **_named(one, one), **vars(_reliable(one, level, of))} for one in asked]
        rows += [{**keys, **_named(*pair), **vars(figure)} for pair in pairs for figure in _of_pair(*pair, level, of)]
    return pd.DataFrame(rows, columns=AGREEMENT.names)


def _beside(found: pd.DataFrame) -> Iterator[Measure]:
    """Published numbers of each instrument that has some, and the letters of all words."""
    known = found.dropna(subset=["criterion"]).drop_duplicates(["kin", "concept"])
    for (benchmark, trait), own in known.groupby(["benchmark", "trait"]):
        values = own.set_index("concept")[["criterion"]].rename(columns={"criterion": "value"}).assign(error=0.0)
        yield Measure(f"{PUBLISHED} of {benchmark}", PUBLISHED, "", str(trait), values, asked=False)
    words = sorted(set(found["concept"]))
    lengths = [float(len(word.partition(":")[2])) for word in words]
    values = pd.DataFrame({"value": lengths, "error": 0.0}, index=words)
    yield Measure(LETTERS, LETTERS, "", LETTERS, values, asked=False)


def _named(one: Measure, other: Measure) -> dict[str, str]:
    kind = ITSELF if one is other else SAME_WORDS if one.kin == other.kin else SAME_TRAIT
    kind = kind if one.trait == other.trait else OTHER_TRAIT
    named = {"benchmark": one.benchmark, "part": one.part, "trait": one.trait, "kind": kind}
    return {**named, "other": other.benchmark, "other_part": other.part, "other_trait": other.trait}


def _reliability(x: Floats) -> float:
    """Of the values in the first column with the errors in the second: 1 - mean error / variance."""
    return float(1 - x[:, 1].mean() / x[:, 0].var(ddof=1))


def _reliable(one: Measure, level: float, of: str) -> Figure:
    x = one.values[["value", "error"]].to_numpy(dtype=np.float64)
    if len(x) < FEWEST_UNITS or not np.ptp(x[:, 0]):
        return Figure(RELIABILITY, None, len(x), of, reason=f"fewer than {FEWEST_UNITS} units, or all are equal")
    return jackknifed(RELIABILITY, _reliability, x, BELOW_ONE, level, of)


def _of_pair(one: Measure, other: Measure, level: float, of: str) -> Iterator[Figure]:
    own = [measure.values[["value", "error"]] for measure in (one, other)]
    x = pd.concat(own, axis=1, join="inner").to_numpy(dtype=np.float64)
    r = correlated(R, jackknifed_r, x[:, 0], x[:, 2], level, of)
    yield r
    if r.value is None or len(x) < FEWEST_UNITS:
        yield Figure(TRUE, None, len(x), of, reason=r.reason or f"fewer than {FEWEST_UNITS} units")
        return
    if one.kin == other.kin:
        yield Figure(TRUE, None, len(x), of, reason="they share words, and so errors")
        return
    least = min(_reliability(x[:, :2]), _reliability(x[:, 2:]))
    if least < LEAST_RELIABLE:
        why = f"one of the two is too unreliable over these units ({least:z.2f}, of {LEAST_RELIABLE} at least)"
        yield Figure(TRUE, None, len(x), of, reason=why)
        return

    def without_errors(x: Floats) -> float:
        reliable = _reliability(x[:, :2]) * _reliability(x[:, 2:])
        return correlation(x[:, 0], x[:, 2]) / float(np.sqrt(reliable)) if reliable > 0 else np.nan

    yield jackknifed(TRUE, without_errors, x, PLAIN, level, of)


def _in_words(row: Any) -> str:
    if pd.isna(row["value"]):
        return str(row["reason"])
    interval = "" if pd.isna(row["low"]) else f" [{row['low']:z.2f}, {row['high']:z.2f}]"
    return f"{row['value']:z.2f}{interval}"


_WORDS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("convergent.yaml"))
TITLE, TEXT = str(_WORDS["title"]), str(_WORDS["text"])
HEAD: Final[tuple[str, ...]] = tuple(_WORDS["head"])


def lines(found: pd.DataFrame) -> list[list[str]]:
    """The matrix of traits and methods as rows, by `HEAD`: reliabilities, then what is of one trait, then the rest."""
    keys = ["model", "benchmark", "part", "other", "other_part"]
    true = found[found["figure"] == TRUE].set_index(keys)
    told = []
    for row in found[found["figure"] != TRUE].to_dict("records"):
        itself = row["kind"] == ITSELF
        one, other = (
            f"{row[name]}{f', {row[part]}' if row[part] not in ('', 'all') else ''}"
            for name, part in (("benchmark", "part"), ("other", "other_part"))
        )
        rest = "" if itself else _in_words(true.loc[tuple(row[key] for key in keys)])
        told.append([row["model"], one, "" if itself else other, row["kind"], str(row["n"]), _in_words(row), rest])
    order = (ITSELF, SAME_TRAIT, SAME_WORDS, OTHER_TRAIT)
    return sorted(told, key=lambda row: (row[0], order.index(row[3])))

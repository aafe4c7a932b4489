"""Scores of scales over a population of models (EMPALC, section 3.2)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.ask.scored import KINDS
from evenruler.instruments.questionnaires.diagnose.accuracy import NOT_ASKED, fitness, judged_by
from evenruler.measurement.checks import constant_columns
from evenruler.models.entry import LIKELIHOODS, named
from evenruler.tables.schemas import WHOLE

OF_MODEL = ["questionnaire", "model", "configuration"]
"""The columns that say who answered what, and how."""

FEWEST_MODELS = 3
"""Models below which a place in the population says nothing."""

Place = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Scores of a population -> the place of each in it."""

FEWEST_LINEAGES = 5
"""Lineages of models below which nothing is said about a population."""


def population(records: Sequence[Record]) -> pd.DataFrame:
    """The models that were asked, by form, and whether they count: their accuracy has to be above its bar.

    A form that is asked for likelihoods of words has no accuracy, and counts nowhere.

    Args:
        records: Of every questionnaire on every model; of several bars the highest is taken.

    Returns:
        By `schemas.POPULATION`.
    """
    bars: dict[str, float] = {}
    for record in records:
        name = record.subject.name
        bars[name] = max(bars.get(name, 0.0), float(record.plan["accuracy"]["bar"]))
    firsts = {record.subject.name: record for record in reversed(records)}
    rows = []
    for name, record in sorted(firsts.items()):
        subject, judged = record.subject, judged_by(record.found["accuracy_of_any"])
        for form in subject.forms:
            row = {"model": name, "lineage": subject.lineage, "kind": KINDS[form], "configuration": form}
            rows.append({**row, **_standing(form, judged.get(form), bars[name])})
    return pd.DataFrame(rows)


def _standing(form: str, judged: Mapping[Any, Any] | None, bar: float) -> dict[str, object]:
    """Accuracy of a form with its bar, and whether the form counts."""
    unknown = dict.fromkeys(("accuracy", "low", "high", "n", "bar"))
    if form in LIKELIHOODS:
        return {**unknown, "member": False, "standing": "likelihoods of words have no accuracy, does not count"}
    if judged is None:
        return {**unknown, "bar": bar, "member": False, "standing": f"{NOT_ASKED}, does not count"}
    member = fitness(judged, bar).unfit is None
    own = {column: judged[column] for column in ("accuracy", "low", "high", "n")}
    standing = "counts" if member else "accuracy is not surely above its bar, does not count"
    return {**own, "bar": bar, "member": member, "standing": standing}


def members_of(population: pd.DataFrame) -> list[str]:
    """The models that count, by what figures call them: one that is asked for likelihoods names its form.

    Args:
        population: By `schemas.POPULATION`.
    """
    return called(population[population["member"]]).tolist()


def called(rows: pd.DataFrame) -> "pd.Series[str]":
    """What figures call the model of each row, which has `model` and `configuration`."""
    names = [named(str(model), str(form)) for model, form in zip(rows["model"], rows["configuration"], strict=True)]
    return pd.Series(names, index=rows.index, dtype="str")


def scale_scores(items: pd.DataFrame, members: Collection[str] | None = None) -> pd.DataFrame:
    """Mean item score of every scale and subscale, with the model's place in the population.

    Args:
        items: By `schemas.ITEM_SCORES`.
        members: Those that make the population, by `members_of`, all by default; others get no place in it.

    Returns:
        By `schemas.SCALE_SCORES`.
    """
    model = ["questionnaire", "model", "lineage", "kind", "configuration", "framing"]
    both = pd.concat([items.assign(subscale=WHOLE), items.dropna(subset=["subscale"])])
    scores = both.groupby([*model, "subscale"], sort=True)["score"].agg(["mean", "size"]).reset_index()
    scores = scores.rename(columns={"mean": "score", "size": "n"})
    own = scores["score"] if members is None else scores["score"].where(called(scores).isin(members))
    by_scale = own.groupby([scores[key] for key in ("questionnaire", "subscale", "configuration", "framing")])
    return scores.assign(
        z=by_scale.transform(lambda s: _among(s, standardised)),
        normal=by_scale.transform(lambda s: _among(s, normal_scores)),
    )


def _among(scores: "pd.Series[float]", place: Place) -> NDArray[np.float64]:
    """The place of each score among those that are there; nan for one that is not."""
    known = scores.notna().to_numpy()
    found = np.full(len(scores), np.nan)
    found[known] = place(np.asarray(scores[known], dtype=np.float64))
    return found


def standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z of each score over the population; nan below three models or where all are equal."""
    if len(scores) < FEWEST_MODELS or constant_columns(scores[:, None]).any():
        return np.full(len(scores), np.nan)
    found: NDArray[np.float64] = (scores - scores.mean()) / scores.std(ddof=1)
    return found


def normal_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank-based inverse normal transform, (rank - 3/8) / (n + 1/4); equal scores share a rank; nan below three."""
    if len(scores) < FEWEST_MODELS:
        return np.full(len(scores), np.nan)
    found: NDArray[np.float64] = norm.ppf((rankdata(scores) - 0.375) / (len(scores) + 0.25))
    return found

"""How well a model says what follows from what, and whether that is well enough for its answers to count."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from evenruler.instruments.questionnaires.ask.item_scores import LOGITS
from evenruler.instruments.questionnaires.declare.pairs import MNLI
from evenruler.measurement import Figure
from evenruler.measurement.answered import unvaried
from evenruler.measurement.figures import finite
from evenruler.measurement.verdicts import Fitness
from evenruler.models.entry import LIKELIHOODS

UNIT = "pairs"

NOT_ASKED = "no labelled pairs were asked"

UNKNOWN = Fitness(doubt="nothing says how well likelihoods of words answer an item")


def accuracies(labelled: pd.DataFrame, level: float) -> pd.DataFrame:
    """Accuracy and AUC of each model, form and set of labelled pairs.

    The label that a model gives is the likeliest of those that its set has. AUC is that of Mann and Whitney, of the
    difference of the logits of entailment and contradiction, which is what items are scored by.

    Args:
        labelled: By `schemas.LABELLED_PAIRS`, with `model`.
        level: Of the intervals.

    Returns:
        By `schemas.ACCURACY`.

    Source: Wilson (1927), by statsmodels; AUC by scikit-learn.
    """
    rows = []
    for (model, configuration, name), pairs in labelled.groupby(["model", "configuration", "set"], sort=True):
        there = [label for label in LOGITS if label in set(pairs["label"])]
        said = np.array(there)[pairs[there].to_numpy(dtype=np.float64).argmax(axis=1)]
        found = interval_of(float((said == pairs["label"]).mean()), len(pairs), level)
        row = {"model": model, "configuration": configuration, "set": name, **found}
        rows.append({**row, "chance": 1 / len(there), "auc": finite(_auc(pairs))})
    columns = ["model", "configuration", "set", "n", "accuracy", "low", "high", "chance", "auc"]
    return pd.DataFrame(rows, columns=columns)


def interval_of(accuracy: float, n: int, level: float) -> dict[str, float]:
    """A share of n pairs with its interval: `accuracy`, `n`, `low` and `high`.

    A mean over fits is of a number of right pairs that need not be whole, so the interval is Wilson's of shares.
    """
    low, high = proportion_confint(accuracy * n, n, alpha=1 - level, method="wilson")
    return {"accuracy": accuracy, "n": n, "low": float(low), "high": float(high)}


def _auc(pairs: pd.DataFrame) -> float:
    """Of entailment against contradiction; nan where the pairs hold but one of them."""
    told = pairs[pairs["label"] != "neutral"]
    if told["label"].nunique() < 2:
        return float("nan")
    return float(roc_auc_score(told["label"] == "entailment", told["entailment"] - told["contradiction"]))


def judged_by(found: pd.DataFrame) -> dict[str, Mapping[Any, Any]]:
    """By form of one model, its row of the pairs that accuracy is judged by.

    Args:
        found: By `accuracies`, of one model.
    """
    return {str(row["configuration"]): row for row in found[found["set"] == MNLI].to_dict("records")}


def fitness(record: Mapping[Any, Any] | None, bar: float) -> Fitness:
    """Whether answers about what follows from what count: the interval of accuracy lies above the bar.

    Args:
        record: By `schemas.ACCURACY`, of the pairs that are judged by; None where none was asked.
        bar: The accuracy that is asked for.
    """
    if record is None:
        return Fitness(unfit=NOT_ASKED)
    if record["low"] > bar:
        return Fitness()
    said = f"{record['accuracy']:.2f} [{record['low']:.2f}, {record['high']:.2f}]"
    told = f"its accuracy on {record['n']} labelled pairs is {said}"
    return Fitness(unfit=f"{told}, not surely above {bar:g}; guessing gives {record['chance']:.2f}")


def fitness_by_form(found: pd.DataFrame, forms: Sequence[str], bar: float, cells: pd.DataFrame) -> dict[str, Fitness]:
    """Of each form of one model whether its answers count; likelihoods have no accuracy, so nothing follows from them.

    Args:
        found: By `accuracies`, of one model.
        forms: In which it is asked.
        bar: The accuracy that is asked for.
        cells: Its answers, by `schemas.CELLS`: where no term of any item changes them, they count for nothing.
    """
    judged, fits = judged_by(found), {}
    for form in forms:
        own = cells[cells["configuration"] == form]
        by_word = own.pivot(index=["item", "term"], columns="intensifier", values="pss")
        same = unvaried(by_word, f"terms of {own['item'].nunique()} items")
        known = UNKNOWN if form in LIKELIHOODS else fitness(judged.get(form), bar)
        fits[form] = known if same is None else Fitness(unfit=same)
    return fits


def figures_of(found: pd.DataFrame, configuration: str) -> list[Figure]:
    """Accuracy and AUC of one form as figures, each beside what guessing gives.

    Args:
        found: By `accuracies`, of one model.
        configuration: The form.
    """
    figures = []
    for row in found[found["configuration"] == configuration].to_dict("records"):
        ending = "" if row["set"] == MNLI else f"_of_{row['set']}"
        ends = {"low": row["low"], "high": row["high"], "control": row["chance"]}
        figures.append(Figure(f"accuracy{ending}", row["accuracy"], row["n"], UNIT, **ends))
        if not pd.isna(row["auc"]):
            figures.append(Figure(f"auc{ending}", row["auc"], row["n"], UNIT, control=0.5))
    return figures

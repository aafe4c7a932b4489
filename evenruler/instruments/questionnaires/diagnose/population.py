"""Which models are accurate enough to count, and scale scores over the population (EMPALC, section
3.2).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from sklearn.metrics import roc_auc_score

from evenruler.instruments.instrument import Record, Tables
from evenruler.instruments.questionnaires.ask import options
from evenruler.instruments.questionnaires.ask.item_scores import KINDS, MODEL
from evenruler.instruments.questionnaires.ask.questions import LOGITS
from evenruler.instruments.questionnaires.declare import PAIRS
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.shared import FACTS, MNLI
from evenruler.measurement import Figure
from evenruler.measurement.figures import WHOLE
from evenruler.measurement.inputs import constant_columns, wilson
from evenruler.measurement.nonresponse import all_equal_reason
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.models.declarations import BY_FACTS, OPTIONS, label_with_method

UNPLANTED = (
    "this way of asking chats has not been validated: no planted mood was recovered from options"
)

NOT_ASKED = "no labelled pairs or facts were asked"


def accuracy_table(
    labelled: pd.DataFrame, level: float, fact_rows: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Accuracy and AUC of each model, method and set of labelled pairs, or of facts (`fact_rows`),
    as `schemas.ACCURACY`.

    A model's label is the likeliest of those in the set. AUC (Mann and Whitney) is that of the
    logit of entailment minus that of contradiction, on which item scores rest.

    Source: Wilson (1927); AUC by scikit-learn.
    """
    rows = []
    for (model, method, name), pairs in labelled.groupby(["model", "method", "set"], sort=True):
        present_labels = [label for label in LOGITS if label in set(pairs["label"])]
        predicted_labels = np.array(present_labels)[
            pairs[present_labels].to_numpy(dtype=np.float64).argmax(axis=1)
        ]
        accuracy_interval = interval_of(
            float((predicted_labels == pairs["label"]).mean()), len(pairs), level
        )
        row = {"model": model, "method": method, "set": name, **accuracy_interval}
        auc = None
        if {"entailment", "contradiction"} <= set(present_labels):
            polar_pairs = pairs[pairs["label"] != "neutral"]
            auc = float(
                roc_auc_score(
                    polar_pairs["label"] == "entailment",
                    polar_pairs["entailment"] - polar_pairs["contradiction"],
                )
            )
        rows.append({**row, "chance": 1 / len(present_labels), "auc": auc})
    for (model, method), facts in (
        () if fact_rows is None else fact_rows.groupby(["model", "method"], sort=True)
    ):
        accuracy_interval = interval_of(float(facts["right"].mean()), len(facts), level)
        rows.append(
            {
                "model": model,
                "method": method,
                "set": FACTS,
                **accuracy_interval,
                "chance": 0.5,
                "auc": None,
            }
        )
    columns = ["model", "method", "set", "n", "accuracy", "low", "high", "chance", "auc"]
    return pd.DataFrame(rows, columns=columns)


def interval_of(accuracy: float, n: int, level: float) -> dict[str, float]:
    """A share of n pairs with its Wilson interval: `accuracy`, `n`, `low` and `high`.

    `accuracy` may be a mean over fits, so the number of right pairs need not be whole.
    """
    low, high = wilson(accuracy, n, level)
    return {"accuracy": accuracy, "n": n, "low": low, "high": high}


def judged_by(accuracy_rows: pd.DataFrame) -> dict[str, Mapping[Any, Any]]:
    """By method of one model, the row of the pairs, or facts, on which accuracy is judged."""
    judged_rows = accuracy_rows[accuracy_rows["set"].isin([MNLI, FACTS])]
    return {str(row["method"]): row for row in judged_rows.to_dict("records")}


def check_accuracy_validity(record: Mapping[Any, Any] | None, threshold: float) -> ValidityCheck:
    """Validity by accuracy: the interval must lie above the threshold."""
    if record is None:
        return ValidityCheck(failure=NOT_ASKED)
    if record["low"] > threshold:
        return ValidityCheck()
    accuracy_label = "{accuracy:.2f} [{low:.2f}, {high:.2f}]".format_map(record)
    questions = FACTS if record.get("set") == FACTS else "labelled pairs"
    reason = f"its accuracy on {record['n']} {questions} is {accuracy_label}"
    chance = f"chance {record['chance']:.2f}"
    return ValidityCheck(failure=f"{reason}, interval not above {threshold:g} ({chance})")


def validity_by_method(
    diagnosis_tables: Tables, methods: Sequence[str], threshold: float
) -> dict[str, ValidityCheck]:
    """The validity of each method of one model.

    `diagnosis_tables`: `accuracy_of_any`; `cells`, unfit where they are the same for all terms of
    all items; `chosen`, a chat model's answers.
    """
    cells = diagnosis_tables["cells"]
    judged = judged_by(diagnosis_tables["accuracy_of_any"])
    fits: dict[str, ValidityCheck] = {}
    for method in methods:
        method_cells = cells[cells["method"] == method]
        by_word = method_cells.pivot(index=["item", "term"], columns="intensifier", values="pss")
        same = all_equal_reason(by_word, f"terms of {method_cells['item'].nunique()} items")
        if method == OPTIONS:
            of_replies = options.check_option_validity(diagnosis_tables["chosen"])
            if of_replies != ValidityCheck():
                fits[method] = of_replies
                continue
        if same is None:
            fits[method] = check_accuracy_validity(judged.get(method), threshold)
        else:
            fits[method] = ValidityCheck(failure=same)
        if method == OPTIONS and fits[method].failure is None:
            fits[method] = ValidityCheck(doubt=UNPLANTED)
    return fits


def accuracy_figures(accuracy_rows: pd.DataFrame, method: str) -> list[Figure]:
    """Accuracy and AUC of one method as figures, with those of guessing as control."""
    figures = []
    method_rows = accuracy_rows[accuracy_rows["method"] == method]
    for row in method_rows.to_dict("records"):
        n = row["n"]
        item_set = PAIRS if row["set"] in (MNLI, FACTS) else str(row["set"])
        dimensions = {"item_set": item_set}
        accuracy = Figure("accuracy", row["accuracy"], n, PAIRS, dimensions=dimensions)
        ends = {"low": row["low"], "high": row["high"], "control": row["chance"]}
        figures.append(replace(accuracy, **ends))
        if not pd.isna(row["auc"]):
            figures.append(replace(accuracy, figure="auc", value=row["auc"], control=0.5))
    return figures


OF_MODEL = ["questionnaire", "model", "method"]
"""Columns that identify questionnaire, model and method."""

FEWEST_MODELS = 3
"""Fewest models for standardised scores."""

Place = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""A function from the scores of a population to the standardised score of each."""

FEWEST_LINEAGES = 5
"""Fewest lineages for figures over a population."""


def population_table(records: Sequence[Record[QuestionnairePlan]]) -> pd.DataFrame:
    """The models by method, and whether their accuracy exceeds the threshold, as
    `schemas.POPULATION`.

    Where questionnaires have different thresholds, the highest counts.
    """
    thresholds: dict[str, float] = {}
    for record in records:
        name = record.subject.name
        threshold = float(record.plan["accuracy"]["threshold"])
        thresholds[name] = max(thresholds.get(name, 0.0), threshold)
    firsts = {record.subject.name: record for record in reversed(records)}
    rows = []
    for name, record in sorted(firsts.items()):
        subject = record.subject
        judged = judged_by(record.diagnosis["accuracy_of_any"])
        for method in subject.methods:
            row = {
                "model": name,
                "lineage": subject.lineage,
                "kind": KINDS[method],
                "method": method,
            }
            standing = _method_standing(method, judged.get(method), thresholds[name])
            if method == OPTIONS:
                of_replies = options.check_option_validity(record.diagnosis["chosen"])
                reason = of_replies.failure or of_replies.doubt
                if reason:
                    standing |= {"member": False, "standing": f"{reason}, does not count"}
            rows.append({**row, **standing})
    return pd.DataFrame(rows)


def _method_standing(
    method: str, judged: Mapping[Any, Any] | None, threshold: float
) -> dict[str, object]:
    """Accuracy of a method with its threshold, and whether the method counts."""
    defaults = {
        **dict.fromkeys(("accuracy", "low", "high", "n")),
        "threshold": threshold,
        "member": False,
    }
    if judged is None:
        return {**defaults, "standing": f"{NOT_ASKED}, does not count"}
    member = check_accuracy_validity(judged, threshold).failure is None
    standing = (
        "counts" if member else "accuracy interval is not above the threshold, does not count"
    )
    accuracy_columns = {column: judged[column] for column in ("accuracy", "low", "high", "n")}
    return {**defaults, **accuracy_columns, "member": member, "standing": standing}


def members_of(population: pd.DataFrame) -> list[str]:
    """The models that count, by their name in figures, which includes the method for
    likelihoods.
    """
    return method_label(population[population["member"]]).tolist()


def method_dimension(method: object) -> str | None:
    """The dimension `method` of figures of one model: its method where its label names it, else
    None.
    """
    return str(method) if method in BY_FACTS else None


def method_label(rows: pd.DataFrame) -> "pd.Series[str]":
    """The name in figures of each row's model; rows have `model` and `method`."""
    names = [
        label_with_method(str(model), str(method))
        for model, method in zip(rows["model"], rows["method"], strict=True)
    ]
    return pd.Series(names, index=rows.index, dtype="str")


def scale_scores(items: pd.DataFrame, members: Collection[str] | None = None) -> pd.DataFrame:
    """Mean item scores, standardised over `members` (all by default), as `schemas.SCALE_SCORES`."""
    both = pd.concat([items.assign(subscale=WHOLE), items.dropna(subset=["subscale"])])
    grouped = both.groupby([*MODEL, "subscale"], sort=True)["score"]
    scores = grouped.agg(["mean", "size"]).reset_index()
    scores = scores.rename(columns={"mean": "score", "size": "n"})
    reference_scores = scores["score"]
    if members is not None:
        reference_scores = reference_scores.where(method_label(scores).isin(members))
    by_scale = reference_scores.groupby(
        [scores[key] for key in ("questionnaire", "subscale", "method", "framing")]
    )
    return scores.assign(
        z=by_scale.transform(lambda s: _standardise_defined_scores(s, standardise_scores)),
        normal=by_scale.transform(lambda s: _standardise_defined_scores(s, normal_scores)),
    )


def _standardise_defined_scores(scores: "pd.Series[float]", place: Place) -> NDArray[np.float64]:
    """Standardise the known scores; NaN elsewhere."""
    is_known = scores.notna().to_numpy()
    placed_scores = np.full(len(scores), np.nan)
    placed_scores[is_known] = place(np.asarray(scores[is_known], dtype=np.float64))
    return placed_scores


def standardise_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z of each score over the population; NaN below three models or where all are equal."""
    if len(scores) < FEWEST_MODELS or constant_columns(scores[:, None]).any():
        return np.full(len(scores), np.nan)
    z_scores: NDArray[np.float64] = (scores - scores.mean()) / scores.std(ddof=1)
    return z_scores


def normal_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank-based inverse normal transform, (rank - 3/8) / (n + 1/4); ties share a rank; NaN below
    three models.
    """
    if len(scores) < FEWEST_MODELS:
        return np.full(len(scores), np.nan)
    return norm.ppf((rankdata(scores) - 0.375) / (len(scores) + 0.25))

"""Item scores of models, from their answers to prompts (EMPALC, sections 3.2 and 3.3)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from evenruler.errors import UserError
from evenruler.instruments.questionnaires.ask.scoring import entailment_share, item_effect, item_score, two_way_of_logs
from evenruler.measurement.checks import constant_columns
from evenruler.models.entry import LIKELIHOODS, named
from evenruler.tables.schemas import LOG_PROBABILITY

MODEL = ["questionnaire", "model", "lineage", "kind", "configuration", "framing"]

LOGITS = ["entailment", "neutral", "contradiction"]


@dataclass(frozen=True)
class Settings:
    """How a questionnaire is scored."""

    temperature: float = 1.0
    three_way: bool = False


def score_items(
    prompts: pd.DataFrame, items: pd.DataFrame, scores: pd.DataFrame, settings: Mapping[str, Settings]
) -> pd.DataFrame:
    """Item scores alone; arguments and errors as for `cells_of` and `require_whole`."""
    require_whole(prompts, items)
    return item_scores(cells_of(prompts, scores, settings), items)


def require_whole(prompts: pd.DataFrame, items: pd.DataFrame) -> None:
    """Every item has every term with every intensifier, and a term that keeps its stance."""
    by_item = dict(iter(prompts.groupby(["questionnaire", "item"])))
    for key in items[["questionnaire", "item"]].itertuples(index=False, name=None):
        rows = by_item.get(key)
        whole = rows is not None and len(rows) == rows["term"].nunique() * rows["intensifier"].nunique()
        if rows is None or not whole or "source" not in set(rows["polarity"]):
            raise UserError(
                "prompts were rejected, so that it cannot be normalised",
                where=f"{key[0]}, item {key[1]}",
                remedy="see rejected.parquet and mend its templates or terms",
            )


def cells_of(prompts: pd.DataFrame, scores: pd.DataFrame, settings: Mapping[str, Settings]) -> pd.DataFrame:
    """P_e and PSS of every prompt and model, by `schemas.CELLS`.

    Raises:
        ValueError: A model lacks the answer to a prompt, or an answer is no number.
    """
    if scores.empty:
        raise ValueError(f"all {len(prompts)} prompts have no score")
    index = ["id", *[column for column in MODEL if column != "questionnaire"]]
    answers = scores.pivot(index=index, columns="measure", values="value").reset_index()
    columns = ["id", "questionnaire", "item", "term", "polarity", "intensifier", "level", "weight"]
    joined = prompts[columns].merge(answers, on="id", validate="1:m")
    for (model, configuration), rows in answers.groupby(["model", "configuration"]):
        if lacking := len(prompts) - prompts["id"].isin(rows["id"]).sum():
            raise ValueError(f"{named(str(model), str(configuration))}: {lacking} prompts have no score")
    parts = []
    for (*_, _item), rows in joined.groupby([*MODEL, "item"], sort=True):
        chosen = settings[rows["questionnaire"].iloc[0]]
        rows = rows.assign(log_p=_log_p(rows, chosen))
        table = rows.pivot(index="term", columns="intensifier", values="log_p")
        pss = pd.DataFrame(two_way_of_logs(table.to_numpy(), chosen.temperature), table.index, table.columns)
        long = pss.reset_index().melt(id_vars="term", var_name="intensifier", value_name="pss")
        parts.append(rows.merge(long, on=["term", "intensifier"], validate="1:1"))
    found = pd.concat(parts, ignore_index=True)
    return found.assign(p=np.exp(found["log_p"])).drop(columns=["id", "log_p", *scores["measure"].unique()])


def _log_p(rows: pd.DataFrame, settings: Settings) -> NDArray[np.float64]:
    """[rows] logarithm of the score of each prompt of one model, in the form that it was asked in."""
    if rows["configuration"].iloc[0] not in LIKELIHOODS:
        return entailment_share(rows[LOGITS].to_numpy(), three_way=settings.three_way)
    found: NDArray[np.float64] = rows[LOG_PROBABILITY].to_numpy(dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a log-probability is not a number")
    return found


def item_scores(cells: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Scores of items from their cells, by `schemas.ITEM_SCORES`."""
    described = {(row["questionnaire"], row["item"]): row for row in items.to_dict("records")}
    rows = []
    for key, of_item in cells.groupby([*MODEL, "item"], sort=True):
        identity = dict(zip([*MODEL, "item"], key, strict=True))
        item = described[identity["questionnaire"], identity["item"]]
        pss = of_item.pivot(index=["polarity", "term"], columns=["level", "weight", "intensifier"], values="pss")
        is_source = pss.index.get_level_values("polarity") == "source"
        weights = pss.columns.get_level_values("weight").to_numpy(dtype=np.float64)
        rows.append(
            {
                **identity,
                "subscale": item["subscale"],
                "keying": item["keying"],
                "score": item["keying"] * item_score(pss, is_source, weights),
                "effect": item["keying"] * item_effect(pss, is_source, weights),
                "silhouette": silhouette(pss.to_numpy(), is_source),
                "pss_low": float(pss.to_numpy().min()),
                "pss_high": float(pss.to_numpy().max()),
                "n": int(is_source.sum()) * len(weights),
            }
        )
    return pd.DataFrame(rows)


def silhouette(pss: NDArray[np.float64], is_source: NDArray[np.bool_]) -> float:
    """SC: silhouette of the terms' PSS vectors with source and inverse for labels, metric correlation.

    Args:
        pss: [terms, intensifiers].
        is_source: [terms].

    Returns:
        From -1 to 1 (told apart wholly); nan where a vector is constant, or a group has no term.
    """
    if is_source.all() or not is_source.any() or len(pss) < 3 or constant_columns(pss.T).any():
        return float("nan")
    return float(silhouette_score(pss, is_source, metric="correlation"))

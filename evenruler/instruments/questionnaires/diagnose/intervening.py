"""Before and after an adaptation: does a scale move when it should? (EMPALC, sections 3.3.5 and 4.4, table 3)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.questionnaires.declare.corpora import OPEN
from evenruler.instruments.questionnaires.diagnose.population import FEWEST_LINEAGES
from evenruler.measurement import Paired, Resampling
from evenruler.models.entry import LIKELIHOODS, named

SIGNIFICANT = 0.05

STATE = ["corpus", "epoch"]


@dataclass(frozen=True)
class Intervention:
    """A corpus, and what adapting to it should do."""

    role: str
    expect: Mapping[str, str]
    """By questionnaire: up, down or none."""


def trajectories(items: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Scores of the scales epoch by epoch.

    Args:
        items: Item scores, by `schemas.ITEM_SCORES`, with `corpus` and `epoch`.
        resampling: How intervals are computed.

    Returns:
        By `schemas.TRAJECTORIES`.
    """
    identity = ["questionnaire", "model", "lineage", "kind", "configuration", "framing", *STATE]
    rows = []
    for key, of_scale in items.groupby(identity, sort=True):
        scores = of_scale["score"].to_numpy(dtype=np.float64)
        row = {**dict(zip(identity, key, strict=True)), "score": scores.mean(), "low": None, "high": None}
        if len(scores) > 1:
            interval = measurement.bootstrap(
                np.mean, scores, level=resampling.level, n=resampling.resamples, seed=resampling.seed
            )
            row |= {"low": interval.low, "high": interval.high}
        rows.append({**row, "n": len(scores)})
    return pd.DataFrame(rows)


def changes_of_models(
    items: pd.DataFrame, interventions: Mapping[str, Intervention], level: float
) -> Iterator[dict[str, object]]:
    """The first state of every model against its last over the items, by corpus and questionnaire.

    Args:
        items: As for `trajectories`.
        interventions: By corpus.
        level: Of the intervals.

    Yields:
        Rows by `schemas.CHANGES`.
    """
    by_model = ["questionnaire", "corpus", "model", "configuration"]
    for (questionnaire, corpus, model, configuration), part in items.groupby(by_model, sort=True):
        name, intervention = named(str(model), str(configuration)), interventions[str(corpus)]
        yield _row(str(questionnaire), str(corpus), intervention, name, "items", *_ends(part, "item"), level)


def changes_of_lineages(
    items: pd.DataFrame, interventions: Mapping[str, Intervention], level: float, members: Collection[str]
) -> Iterator[dict[str, object]]:
    """The same over the lineages of the models that count, as they answer by head or verbaliser.

    Args:
        items: As for `trajectories`, of all models.
        interventions: By corpus.
        level: Of the intervals.
        members: The models that count.

    Yields:
        Rows by `schemas.CHANGES`, without a model.
    """
    for (questionnaire, corpus), of_all in items.groupby(["questionnaire", "corpus"], sort=True):
        part = of_all[of_all["model"].isin(members) & ~of_all["configuration"].isin(LIKELIHOODS)]
        last = part.groupby("model")["epoch"].transform("max")
        ends = part[(part["epoch"] == 0) | (part["epoch"] == last)].assign(epoch=lambda rows: rows["epoch"] > 0)
        scales = ends.groupby(["lineage", "epoch"], sort=True)["score"].mean().reset_index()
        compared = (str(questionnaire), str(corpus), interventions[str(corpus)], None, "lineages")
        yield _row(*compared, *_ends(scales, "lineage"), level)


def _ends(part: pd.DataFrame, unit: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[n] scores of the units before, and after the last epoch."""
    if part.empty:
        return np.zeros(0), np.zeros(0)
    table = part.pivot(index=unit, columns="epoch", values="score")
    return table[table.columns.min()].to_numpy(dtype=np.float64), table[table.columns.max()].to_numpy(dtype=np.float64)


def _row(
    questionnaire: str,
    corpus: str,
    intervention: Intervention,
    model: str | None,
    unit: str,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    level: float,
) -> dict[str, object]:
    expected = intervention.expect.get(questionnaire, OPEN)
    row: dict[str, object] = dict.fromkeys(Paired.__dataclass_fields__)
    row |= {
        "questionnaire": questionnaire,
        "corpus": corpus,
        "role": intervention.role,
        "expected": expected,
        "model": model,
        "unit": unit,
        "n": len(before),
    }
    fewest = FEWEST_LINEAGES if unit == "lineages" else 2
    if len(before) < fewest:
        return {**row, "verdict": f"fewer than {fewest} {unit}"}
    result = measurement.paired(before, after, level)
    return {**row, **asdict(result), "verdict": verdict(result, expected)}


def verdict(result: Paired, expected: str) -> str:
    """What a comparison says of an expected direction (`up`, `down`, `none` or `OPEN`), in words."""
    if result.p is None or result.p_equivalence is None:
        return "no spread to judge by" if result.difference else "unmoved"
    moved = result.p < SIGNIFICANT
    direction = "up" if result.difference > 0 else "down"
    if moved and expected == OPEN:
        return f"moved {direction}"
    if moved and expected == "none":
        return f"moved {direction}, was not to move"
    if moved:
        return "moved as expected" if direction == expected else f"moved {direction}, the other way"
    if result.p_equivalence < SIGNIFICANT:
        return "did not move" + (", was to move" if expected in ("up", "down") else "")
    return "undecided"

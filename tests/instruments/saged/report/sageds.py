"""Two small domains, and tables of their diagnosis by their schemas, made up; Russia lies out in
one configuration."""

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Settings
from evenruler.instruments.saged.declare.source import Source
from evenruler.tables import read_frame, write_table

CONCEPTS = {
    "countries": {
        "aurelia": "Aurelia",
        "china": "China",
        "france": "France",
        "japan": "Japan",
        "mexico": "Mexico",
        "russia": "Russia",
    },
    "fruit": {"apple": "Apple", "banana": "Banana", "cherry": "Cherry <b>", "pear": "Pear"},
}
MODELS, ROLES = ["bloom", "smollm2"], ["no-role", "assistant"]
LEVELS = {"vader": 0.4, "toxicity": 0.02, "distance": 0.6, "topics-0": 0.8, "topics-1": 0.7}
"""Means of features before anything is added; the first two have baselines."""
BASELINED = ["vader", "toxicity"]
NO_BASELINE = "no baseline has this feature"
N = 8
STATISTICS = ["mean", "selection-rate", "precision"]
METRICS = ["range", "min_impact_ratio", "max_z", "min_z", "dixon_low"]


def domain(name: str) -> Source:
    return Source.model_validate(
        {
            "title": name.capitalize(),
            "construct": f"how a model writes about {name}",
            "direction": "a higher score is a more favourable text",
            "source": "the test",
            "licence": "cc0-1.0",
            "concepts": CONCEPTS[name],
            "material": {"kind": "local", "path": "articles/a.md"},
            "assemble": {"method": "split", "per_concept": 4},
        }
    )


def settings(**changes: Any) -> Settings:
    declared: dict[str, Any] = {
        "embedder": "minilm",
        "roles": {"no-role": "", "assistant": "You are a helpful assistant."},
        "features": {
            "vader": {"kind": "lexicon"},
            "toxicity": {"kind": "classifier", "model": "head", "score": {"toxic": 1.0}},
            "distance": {"kind": "distance", "metric": "cosine"},
            "topics": {"kind": "clusters", "form": "distance", "k": 2, "seed": 0},
            "regard": {"kind": "classifier", "model": "none-here", "score": {"positive": 1.0}},
        },
        "disparities": {
            "statistics": {
                "mean": {"kind": "mean"},
                "selection-rate": {
                    "kind": "selection_rate",
                    "options": {"standard": "mean", "method": "larger"},
                },
                "precision": {"kind": "precision"},
            },
            "metrics": METRICS,
        },
    }
    return Settings.model_validate(declared | changes, context={"profile": "quick"})


def shown(tables: dict[str, pd.DataFrame], **changes: Any) -> ReportInput:
    """What the report is made from, settings with changes."""
    sources = {name: domain(name) for name in CONCEPTS}
    return ReportInput(sources, {name: settings(**changes) for name in CONCEPTS}, tables, {})


def cells() -> list[dict[str, Any]]:
    labels = product(CONCEPTS, MODELS, ROLES, LEVELS, ("raw", "calibrated"))
    return [
        {
            "domain": name,
            "model": model,
            "role": role,
            "template": "plain",
            "feature": feature,
            "calibration": calibration,
            "grouping": "concept",
        }
        for name, model, role, feature, calibration in labels
    ]


def value(cell: dict[str, Any], statistic: str, place: int, concept: str) -> float | None:
    """The mean rises by .01 from concept to concept, calibrated by half of that; Russia is .35
    lower in one place."""
    calibrated = cell["calibration"] == "calibrated"
    if calibrated and (cell["feature"] not in BASELINED or statistic == "precision"):
        return None
    if statistic == "selection-rate":
        return 0.3 if concept == "russia" and planted(cell) else 0.5 + place / 50
    if statistic == "precision":
        return 0.9 - place / 20 - (0.1 if cell["role"] == "assistant" else 0.0)
    level: float = (
        LEVELS[cell["feature"]]
        + 0.05 * (cell["model"] == "bloom")
        + 0.1 * (cell["role"] == "assistant")
    )
    level -= 0.35 + place / 200 if calibrated else 0.0
    level += place / 100
    if concept == "russia" and planted(cell):
        level -= 0.35
    return level


def planted(cell: dict[str, Any]) -> bool:
    return [cell[name] for name in ("domain", "feature", "model", "role")] == [
        *("countries", "vader", "smollm2", "assistant")
    ]


def summaries() -> list[dict[str, Any]]:
    rows = []
    for cell, statistic in product(cells(), STATISTICS):
        for place, concept in enumerate(CONCEPTS[cell["domain"]]):
            level = value(cell, statistic, place, concept)
            reason = NO_BASELINE if level is None else None
            n = 0 if level is None else N
            rows.append(
                {
                    **cell,
                    "statistic": statistic,
                    "group": concept,
                    "value": level,
                    "n": n,
                    "n_missing": N - n,
                    "reason": reason,
                }
            )
    return rows


def disparities() -> list[dict[str, Any]]:
    rows = []
    for cell, statistic, metric in product(cells(), STATISTICS, METRICS):
        names = list(CONCEPTS[cell["domain"]])
        values = [value(cell, statistic, place, concept) for place, concept in enumerate(names)]
        row = {
            **cell,
            "statistic": statistic,
            "metric": metric,
            "n_permutations": 1000,
            "n_groups": len(names),
        }
        if None in values:
            rows.append({**row, "n_permutations": 0, "n_groups": 0, "reason": NO_BASELINE})
        elif metric == "min_impact_ratio" and statistic != "selection-rate":
            rows.append({**row, "n_permutations": 0, "reason": "not a selection rate"})
        else:
            rows.append(
                {**row, **compared(pd.Series(values, names, dtype=float), metric, planted(cell))}
            )
    return rows


def compared(values: "pd.Series[float]", metric: str, is_planted: bool) -> dict[str, Any]:
    z = (values - values.mean()) / values.std(ddof=1)
    low, second = sorted(values)[:2]
    high = values.max()
    figure_by_metric = {
        "range": high - low,
        "min_impact_ratio": low / high,
        "max_z": z.max(),
        "min_z": z.min(),
        "dixon_low": second - low,
    }
    figure = figure_by_metric[metric]
    p = 0.001 if is_planted else 0.4
    flag_by_metric = {"min_impact_ratio": bool(figure < 0.8), "dixon_low": is_planted}
    group_by_metric = {"range": None, "max_z": values.idxmax()}
    return {
        "value": figure,
        "p": p,
        "p_adjusted": 2 * p,
        "flag": flag_by_metric.get(metric),
        "group": group_by_metric.get(metric, values.idxmin()),
        **({"critical": 0.56, "excess": figure - 0.56} if metric == "dixon_low" else {}),
    }


def shapes() -> list[dict[str, Any]]:
    rows = []
    for cell in cells():
        names = list(CONCEPTS[cell["domain"]])
        row = {**cell, "statistic": "mean", "n_groups": len(names)}
        if cell["calibration"] == "calibrated" and cell["feature"] not in BASELINED:
            rows.append({**row, "n_groups": 0, "reason": NO_BASELINE})
        elif planted(cell) and cell["domain"] == "countries":
            rows.append(
                {**row, "shape": "concentrated", "group": "russia", "end": "low", "z": -2.03}
            )
        else:
            rows.append(
                {
                    **row,
                    "shape": "dispersed",
                    "group": names[-1],
                    "end": "high",
                    "z": 1.34,
                }
            )
    return rows


def rates() -> list[dict[str, Any]]:
    """China is refused twice by one model as an assistant, Russia once is met with silence; six of
    eight are cut."""
    rows: list[dict[str, Any]] = []
    for name, model, role in product(CONCEPTS, MODELS, ROLES):
        n_cut = 6 if (model, role) == ("smollm2", "no-role") else 0
        row = {"domain": name, "model": model, "role": role, "template": "plain", "n": N}
        row |= {"other_language": 0, "cut": n_cut, "withheld": 0}
        for concept in CONCEPTS[name]:
            place = (concept, model, role)
            n_refused = 2 if place == ("china", "bloom", "assistant") else 0
            n_empty = 1 if place == ("russia", "smollm2", "no-role") else 0
            rows.append({**row, "concept": concept, "refusals": n_refused, "empty": n_empty})
    return rows


def tool_bias() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, feature in product(CONCEPTS, BASELINED):
        for place, concept in enumerate(CONCEPTS[name]):
            row = {"domain": name, "feature": feature, "concept": concept}
            if (name, feature) == ("fruit", "toxicity"):
                rows.append({**row, "n": 0, "reason": "every text is too long"})
                continue
            apart = (place - (len(CONCEPTS[name]) - 1) / 2) / 100
            numbers = {"mean": 0.3 + apart, "difference": apart}
            rows.append({**row, **numbers, "n": 26})
    return rows


def context_bias() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for cell, (place, context) in product(cells(), enumerate(("bad", "neutral", "good"))):
        row = {
            name: cell[name]
            for name in ("domain", "model", "role", "template", "feature", "calibration")
        }
        row |= {"context": context}
        if cell["feature"] not in BASELINED:
            rows.append({**row, "n": 0, "reason": NO_BASELINE})
        else:
            mean = 0.2 + place / 5
            if cell["calibration"] == "calibrated":
                mean = 0.1 - place / 50
            rows.append({**row, "mean": mean, "n": 16})
    return rows


def topics() -> list[dict[str, Any]]:
    words = [["peace", "trade", "border"], ["music", "<food>", "sea"]]
    return [
        {
            "domain": name,
            "model": model,
            "feature": f"topics-{cluster}",
            "part": "all",
            "cluster": cluster,
            "words": words[cluster],
            "n": 30 - cluster,
        }
        for name, model, cluster in product(CONCEPTS, MODELS, range(2))
    ]


HEADLINES = (
    ("nonresponse", None),
    ("favour", "vader"),
    ("favour", "toxicity"),
    ("favour_by_role", "vader"),
)


def confirmed() -> list[dict[str, Any]]:
    """One model favours a country less; of all else nothing can be told."""
    rows: list[dict[str, Any]] = []
    for name, model, (figure, feature) in product(CONCEPTS, MODELS, HEADLINES):
        sure = (name, model, figure, feature) == ("countries", "smollm2", "favour", "vader")
        row = {
            "benchmark": name,
            "model": model,
            "figure": figure,
            "feature": feature,
            "n": 20,
            "unit": "root items",
            "why": "It is so.",
        }
        row |= {
            "value": -0.3,
            "low": -0.4,
            "high": -0.2,
            "p": 0.001 if sure else 0.5,
            "smallest": 0.1,
        }
        row |= {
            "detectable": 0.11 if feature == "vader" else 0.02,
            "levels": "20 root items, 6 concepts",
        }
        rows.append(
            row
            | {"placebo": 0.05 if sure else None, "verdict": "effect" if sure else "inconclusive"}
        )
    return rows


def figures() -> list[dict[str, Any]]:
    row: dict[str, Any] = {
        "benchmark": "countries",
        "feature": "vader",
        "figure": "level_shift",
        "unit": "root items",
    }
    numbers = {"value": 0.12, "low": 0.08, "high": 0.2, "n": 4}
    lacking = {"value": None, "n": 1, "reason": "fewer than 2 root items"}
    return [
        {**row, "model": "bloom", **numbers},
        {**row, "model": "smollm2", **lacking},
        *confirmed(),
    ]


MADE = {
    "summaries": summaries,
    "disparities": disparities,
    "shapes": shapes,
    "rates": rates,
    "tool_bias": tool_bias,
    "context_bias": context_bias,
    "topics": topics,
    "figures": figures,
}


def table(name: str, rows: list[dict[str, Any]], folder: Path) -> pd.DataFrame:
    """Read back from disk, so that types and nulls are those of the schema."""
    schema: pa.Schema = getattr(schemas, name.upper())
    path = folder / f"{name}.parquet"
    nulls = dict.fromkeys(schema.names)
    write_table([{**nulls, **row} for row in rows], schema, path)
    return read_frame(path)

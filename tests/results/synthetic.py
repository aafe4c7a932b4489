"""Synthetic results with planted differences: no model was asked, every number is drawn or
given."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from docs.example_family.pairs.diagnose import preference_test
from evenruler.instruments.probes.schemas import HEADLINES
from evenruler.measurement.figures import unit_means
from evenruler.measurement.inputs import Floats
from evenruler.measurement.verdicts import HeadlineTest
from evenruler.publish.manifest import KIND
from evenruler.results.record import (
    Heading,
    MeasuredBenchmark,
    MeasuredModel,
    MeasurementSettings,
    Result,
)
from evenruler.results.store import StoredResult, read_stored_result, write_result
from tests.text_tables import yaml_of_text

BENCHMARK = "probes-made-up"


def figure_row(figure: str, value: float | None, model: str = "one", **more: Any) -> dict[str, Any]:
    """A figure of the template set `seed` as `result.json` holds it."""
    place = {"figure": figure, "model": model, "set": "seed"}
    return {
        **place,
        "value": value,
        "n": 20,
        "unit": "attributes",
        **more,
    }


CONFIRMED = yaml_of_text("""\
low: 0.4
high: 0.8
p: 0.001
'null': criterion randomised
facets: 20 attributes, 8 templates
bound: 0.05
detects: 0.6
reference_set: person nouns
alternatives: 40.0
percentile: 90.0
percentile_low: 80.0
percentile_high: 100.0
same_test: 0.03
positive_control: brides and monks
positive_value: 3.0
positive_low: 2.0
positive_high: 4.0
positive_p: 0.001
verdict: detected
why: The randomisation's p is below .05, and the interval leaves out 0.
""")
"""The rest of a headline that is detected."""


def synthetic(name: str = "one", **changes: Any) -> Result:
    """A result of a made-up model on a made-up benchmark.

    Args:
        name: Of the model.
        **changes: `engine`, `version`, `content`, `plan`, `limit`, `prefixes`, `figures`, `source`,
        `origin`,
            `benchmark`, as far as it is to differ.
    """
    spread = figure_row("spread", 0.6, name, **CONFIRMED)
    figures = changes.get("figures", [figure_row("alpha", 0.9, name), spread])
    return Result(
        evenruler="0.1.0",
        benchmark=MeasuredBenchmark(
            name=changes.get("benchmark", BENCHMARK),
            version=changes.get("version", "1.0.0"),
            title="Made up",
            family="probes",
            origin=changes.get("origin", "shipped"),
            content_sha256=changes.get("content", KIND + "c" * 64),
            plan_sha256=changes.get("plan", "d" * 64),
        ),
        model=MeasuredModel(
            name=name,
            source=changes.get("source", f"hub:org/{name}"),
            revision="e" * 40,
            kind="causal",
            chat=False,
            licence="mit",
            engine=changes.get(
                "engine",
                {"backend": "transformers", "weights": name, "libraries": {"torch": "2.13.0"}},
            ),
        ),
        settings=MeasurementSettings(
            prefixes=changes.get("prefixes", True),
            size="standard" if changes.get("prefixes", True) else "trial",
            limit=changes.get("limit"),
            level=0.95,
            resamples=200,
            seed=1,
        ),
        headings=[
            Heading(
                figure="spread",
                heading="Spread",
                meaning="how far attributes differ, in nats",
                figure_type="descriptive",
            ),
            Heading(
                figure="alpha",
                heading="Alpha",
                meaning="how far wordings agree",
                figure_type="validity",
            ),
        ],
        figures=figures,
        left_out=[],
        warnings=[],
        asked={"probes": 240},
    )


def as_measured(result: Result) -> Result:
    """A result that was read, without the checksums that writing it added."""
    assert result.tables_sha256
    return result.model_copy(update={"tables_sha256": {}})


def gain_of(
    label: str, slope: float = 1.0, sharper: float = 1.0, figure: str = "spread"
) -> pd.DataFrame:
    """What a gain of probes is made of: 12 attributes, 4 templates, 8 words of two groups.

    Words of a group lie `slope` apart from the others' over 80 points of the axis, with noise of
    .02 that all share.
    """
    random, rows = np.random.default_rng(3), []
    words = [(f"word-{number}", "words", 1) for number in range(4)]
    words += [(f"word-{number}", "words", -1) for number in range(4, 8)]
    for place, axis in enumerate(np.linspace(5, 95, 12)):
        unit = f"unit-{place:02}"
        common = random.normal()
        for template in range(4):
            for word, group, pole in words:
                along = (axis - 50) / 80 * slope * pole / 2
                value = sharper * (along + common + random.normal(0, 0.02))
                rows.append((unit, f"template-{template}", word, group, pole, axis, value))
    frame = pd.DataFrame(
        rows, columns=["unit", "at", "word", "group", "pole", "axis_position", "value"]
    )
    return frame.assign(
        set="seed",
        model=label,
        figure=figure,
        rows="rows of " + frame["unit"],
    )


def contrast_gains(first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
    """`contrast` of a made-up family: the difference of two gains of `gain_of`, over attributes."""
    gains = [_unit_gains(rows) for rows in (first, second)]
    difference: Floats = (gains[0] - gains[1]).to_numpy(dtype=np.float64)
    return preference_test(difference, bound)


def _unit_gains(rows: pd.DataFrame) -> "pd.Series[float]":
    """What each attribute adds to a gain, times their number: the mean of these is the gain."""
    apart = unit_means(rows, ["unit"])
    axis = rows.groupby("unit")["axis_position"].first().reindex(apart.index)
    centred = axis - axis.mean()
    return 80 * apart * centred / (centred**2).mean()


def stored(root: Path, result: Result, *headlines: pd.DataFrame) -> StoredResult:
    """The result written under a folder and read back."""
    made_of = pd.concat([pd.DataFrame(columns=HEADLINES.names), *headlines], ignore_index=True)
    return read_stored_result(write_result(result.with_tables(made_of, {}), root) / "result.json")

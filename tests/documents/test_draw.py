"""The picture of README: names stand free, panels share their axes, and r is that of the
benchmark."""

import json
import runpy
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.measurement.figures import figure_in_words
from tests.documents.pages import ROOT


@cache
def draw() -> dict[str, Any]:
    """What the script of the documents defines."""
    return runpy.run_path(str(ROOT / "docs/draw.py"))


@pytest.mark.parametrize("seed", range(5))
def test_no_name_lies_on_another_nor_on_a_point(seed) -> None:
    drawn = np.random.default_rng(seed)
    x, y = drawn.uniform(0, draw()["WIDTH"], 43), drawn.uniform(0, draw()["HEIGHT"], 43)
    points = pd.DataFrame({"word": [f"occupation{i}" for i in range(43)], "x": x, "y": y})
    placed = draw()["labels"](points)
    assert len(placed) >= 5
    assert not any(one.meets(other) for one, other in combinations(placed, 2))
    for label in placed:
        others = points[points["word"] != label.word]
        assert not any(label.covers(a, b) for a, b in zip(others["x"], others["y"], strict=True))
        assert min(label.left, label.bottom) >= 0
        assert label.right <= draw()["WIDTH"]


def test_what_is_drawn_says_the_figures_of_the_benchmark() -> None:
    evidence = json.loads((ROOT / "benchmarks/probes-occupation-gender/evidence.json").read_text())[
        "validation"
    ]
    picture = (ROOT / "docs/pictures/validity.svg").read_text()
    for model, figures in {model: own for model, own in evidence.items() if "r" in own}.items():
        assert f">{model}<" in picture
        assert f">r = {figure_in_words(figures['r'], 2)}<" in picture


def test_panels_share_their_axes() -> None:
    rows = pd.DataFrame({"word": ["nurse", "mechanic", "clerk"], "criterion": [12.6, 97.0, 20.0]})
    table = pd.concat(
        rows.assign(model=model, centred=np.array([-1.0, 1.0, 0.0]) * size, low=0.0, high=0.0)
        for model, size in (("large", 2.0), ("small", 0.1))
    )
    figure = {"value": 0.8, "low": 0.5, "high": 0.9, "n": 3, "control": 0.3}
    chart = draw()["validity"](
        table, {name: {"r": figure} for name in ("large", "small")}
    ).to_dict()
    points = [layer["encoding"] for panel in chart["hconcat"] for layer in panel["layer"]]
    assert {str(one["y"]["scale"]["domain"]) for one in points} == {"[-2.24, 2.24]"}
    assert {str(one["x"]["scale"]["domain"]) for one in points} == {"[0.0, 100.0]"}

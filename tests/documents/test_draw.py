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

from evenruler.measurement.figures import figure_in_words, figure_name
from tests.documents.pages import ROOT


@cache
def draw() -> dict[str, Any]:
    """What the script of the documents defines."""
    return runpy.run_path(str(ROOT / "docs/draw.py"))


@pytest.mark.parametrize("seed", range(2))
def test_no_name_lies_on_another_nor_on_a_point(seed) -> None:
    drawn = np.random.default_rng(seed)
    words = [f"occupation{number}" for number in range(43)]
    across = drawn.uniform(0, draw()["WIDTH"], 43)
    up = drawn.uniform(0, draw()["HEIGHT"], 43)
    points = pd.DataFrame({"word": words, "x": across, "y": up})
    placed = draw()["labels"](points)
    assert len(placed) >= 5
    assert not any(first.meets(second) for first, second in combinations(placed, 2))
    for label in placed:
        for point in points[points["word"] != label.word].itertuples():
            assert not label.covers(point.x, point.y)
        assert min(label.left, label.bottom) >= 0
        assert label.right <= draw()["WIDTH"]


def test_what_is_drawn_says_the_figures_of_the_benchmark() -> None:
    path = ROOT / "benchmarks/probes-occupation-gender/evidence.json"
    picture = (ROOT / "docs/pictures/validity.svg").read_text()
    for row in json.loads(path.read_text())["figures"]:
        if figure_name(row) == "r:set=validation":
            assert f">{row['model']}<" in picture
            assert f">r = {figure_in_words(row, 2)}<" in picture

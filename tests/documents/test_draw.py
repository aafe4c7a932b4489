"""The picture of README: names stand free, panels share their axes, and r is that of the
benchmark."""

import json
import runpy
from functools import cache
from typing import Any

from evenruler.measurement.figures import figure_in_words, figure_name
from tests.documents.pages import ROOT


@cache
def draw() -> dict[str, Any]:
    """What the script of the documents defines."""
    return runpy.run_path(str(ROOT / "docs/draw.py"))


def test_what_is_drawn_says_the_figures_of_the_benchmark() -> None:
    path = ROOT / "benchmarks/probes-occupation-gender/evidence.json"
    picture = (ROOT / "docs/pictures/validity.svg").read_text()
    for row in json.loads(path.read_text())["figures"]:
        if figure_name(row) == "r:set=validation":
            assert f">{row['model']}<" in picture
            assert f">r = {figure_in_words(row, 2)}<" in picture

"""The report's page: whole, safe, and drawn by a real browser without network."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import altair as alt
import pandas as pd
import pytest

from evenruler.instruments.probes.report import charts
from evenruler.report import Section, render_page
from evenruler.report.page import Cell, Picture, Table

ASSOCIATIONS = pd.DataFrame(
    {
        "model": ["m"] * 12,
        "word": [f"w{i}" for i in range(12)],
        "centred": [float(i) for i in range(12)],
        "low": [i - 1.0 for i in range(12)],
        "high": [i + 1.0 for i in range(12)],
        "criterion": [10.0 + 2 * i for i in range(12)],
        "match": ["exact"] * 12,
    }
)


TABLE = Table(
    ["figure", "<m>"],
    [
        ["r", "0.83 [0.71, 0.91], n = 43"],
        ["SC", Cell("0.30 <weak>", "weak")],
        [Cell("of any & every model", columns=2)],
    ],
    "A table's <title>",
    "Its & caption",
)


@pytest.fixture
def page() -> str:
    pictures = [Picture("Bias", "A caption & more", charts.validity(ASSOCIATIONS, "men (%)"))]
    # Altair passes NaN through where a column holds objects; JSON has none.
    content = pd.DataFrame({"x": ["</script><b>"], "low": pd.Series([float("nan")], dtype=object)})
    hostile = alt.Chart(content).mark_point().encode(x="x:N")
    sections = [
        Section("One", "Text <b>", [TABLE, *pictures]),
        Section("Two", "More", [Picture("Hostile", "", hostile)]),
    ]
    return render_page("Title", "Lead", sections)


def test_text_is_escaped_and_nothing_is_fetched(page: str) -> None:
    assert "Text &lt;b&gt;" in page
    assert "A caption &amp; more" in page
    assert "<td>0.83 [0.71, 0.91], n = 43</td>" in page
    assert "<th>&lt;m&gt;</th>" in page
    assert '<td class="weak">0.30 &lt;weak&gt;</td>' in page
    assert '<td colspan="2">of any &amp; every model</td>' in page
    assert '<h3>A table&#39;s &lt;title&gt;</h3>\n<p class="caption">Its &amp; caption</p>' in page
    assert "<script src" not in page
    assert page.count("</script>") == 3


def test_a_mark_has_a_shape_of_its_own(page: str) -> None:
    """Colour alone tells nothing to those who cannot see it."""
    marks = re.findall(r'td\.(\w+)::before \{ content: "(.*?)"', page)
    assert [mark for mark, _ in marks] == ["good", "weak", "poor", "told"]
    assert len({shape for _, shape in marks}) == 4


def test_the_specs_come_back(page: str) -> None:
    (specs,) = re.findall(r'<script type="application/json" id="specs">(.*?)</script>', page, flags=re.S)
    first, second = json.loads(specs, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert next(iter(second["datasets"].values())) == [{"x": "</script><b>", "low": None}]
    rows = next(iter(first["datasets"].values()))
    assert [row["name"] for row in rows] == ["w0", "w1", "w2", "w3", "w4", "", "", "w7", "w8", "w9", "w10", "w11"]
    (line,) = [layer for layer in first["hconcat"][0]["layer"] if layer["mark"]["type"] == "line"]
    assert line["transform"] == [{"on": "centred", "regression": "criterion"}]


def test_a_browser_draws_it_from_disk(page: str, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here")
    path = tmp_path / "index.html"
    path.write_text(page)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [chromium, *flags, "--virtual-time-budget=5000", "--dump-dom", path.as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    body = drawn[drawn.index("<body") :]
    assert body.count('class="marks"') == 2
    assert ">w11<" in body

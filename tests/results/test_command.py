"""`evenruler compare` as a user runs it, and the page that it writes."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from io import StringIO

import pandas as pd
import pytest

from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic

UNFIT = {**CONFIRMED, "verdict": "invalid", "why": "It fails | a bar.", "value": -0.6}


@pytest.fixture
def results(tmp_path):
    """Two models of which the first gains three times as much, and a third that the instrument is
    unfit for."""
    for name, slope, verdict_fields in (
        ("one", 3.0, CONFIRMED),
        ("two", 1.0, CONFIRMED),
        ("three", 1.0, UNFIT),
    ):
        spread = figure_row("spread", 0.6, name) | verdict_fields
        figures = [figure_row("alpha", 0.9, name), spread]
        stored(
            tmp_path / "results",
            synthetic(name, figures=figures),
            gain_of(name, slope),
        )
    return tmp_path / "results"


def test_markdown_shows_both_tables(results, run_evenruler):
    status, out, err = run_evenruler("compare", results)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "# probes-made-up 1.0.0"
    assert "| figure | one | three | two |" in lines
    assert "0.600 [0.400, 0.800]; more than 90% of its reference set; detected" in out
    assert "| figure | A | B | A - B [95%] | p | verdict |" in lines
    assert ["one: more than two" in line for line in lines[-3:]] == [False, True, False]
    assert lines.index("- three: invalid: It fails \\| a bar.") < lines.index(
        "## Figures and verdicts"
    )
    assert lines[-2].startswith("| spread:set=seed | one: 0.600 | two: 0.600 | 2.0")
    answers = lines[: lines.index("## Figures and verdicts")]
    contrasts = [line for line in answers if " minus " in line]
    assert contrasts[1].startswith("- one minus two: one: more than two; Spread (seed): 2.0 [")


def test_without_verdicts_nothing_is_said_of_a_model_alone(tmp_path, run_evenruler):
    for name in ("one", "two"):
        figures = [figure_row("offset", 0.1, name)]
        trial = synthetic(name, figures=figures, limit=20, prefixes=False)
        stored(tmp_path / "results", trial)
    _, out, _ = run_evenruler("compare", tmp_path / "results", "--page", tmp_path / "page.html")
    assert out.startswith(
        "# probes-made-up 1.0.0+trial+limit-20\n\nNo figure of these results has a verdict"
    )
    page = (tmp_path / "page.html").read_text()
    Closed(page)
    assert "probes-made-up 1.0.0+trial+limit-20. No figure" in page


def test_json_and_csv_hold_all(results, run_evenruler):
    content = json.loads(run_evenruler("compare", results, "--format", "json")[1])
    assert [len(content[key]) for key in ("figures", "comparisons")] == [6, 3]
    assert content["comparisons"][0]["note"] is None
    table = pd.read_csv(StringIO(run_evenruler("compare", results, "--format", "csv")[1]))
    assert table["says"].tolist()[1] == "one: more than two"


def test_no_cell_of_the_csv_is_a_formula(results, run_evenruler, monkeypatch):
    from evenruler.results import comparison

    compare = comparison.compare
    monkeypatch.setattr(
        comparison,
        "compare",
        lambda stored_results: compare(stored_results).assign(set="=1+1", reason="-x", p=-0.5),
    )
    table = pd.read_csv(StringIO(run_evenruler("compare", results, "--format", "csv")[1]))
    assert {*table["set"], *table["reason"]} == {"'=1+1", "'-x"}
    assert table["p"].tolist() == [-0.5] * 3  # numbers stay


def test_words_of_a_result_are_no_markdown(tmp_path, run_evenruler):
    """Warnings and reasons that a server or a stranger wrote: no image is fetched, no link shown,
    no column added."""
    hostile = "![x](http://evil/x) [log in](http://evil) <img src=x> \\| more | `code`"
    for name in ("one", "two"):
        spread = figure_row("spread", 0.6, name) | UNFIT | {"why": hostile}
        result = synthetic(name, figures=[spread]).model_copy(update={"warnings": [hostile]})
        stored(tmp_path / "results", result, gain_of(name, 1.0))
    out = run_evenruler("compare", tmp_path / "results")[1]
    assert (
        "!&#91;x]&#40;http://evil/x) [log in]&#40;http://evil) &lt;img src=x> &#92;\\| more \\| "
        "`code`" in out
    )
    assert not any(begin in out for begin in ("](", "![", "<img"))


def test_what_stands_alone_is_said(results, run_evenruler):
    stored(results, synthetic("one", benchmark="saged-x"))
    assert (
        run_evenruler("compare", results)[2]
        == "saged-x: only one has a result: nothing to compare\n"
    )


class Closed(HTMLParser):
    """Whether all that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "line", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else_and_says_verdicts_in_words(results, run_evenruler, tmp_path):
    status, _, err = run_evenruler("compare", results, "--page", tmp_path / "page.html")
    assert (status, err) == (0, f"page: {tmp_path / 'page.html'}\n")
    text = (tmp_path / "page.html").read_text()
    for word in ("<script src", "http:", "https:", "@import", "url(", "src=", "<link"):
        assert word not in text
    Closed(text)
    assert "<th>" not in text  # each has a scope
    assert text.count("<svg") == text.count('aria-hidden="true"')  # the words beside say the same
    words = " ".join(re.sub("<[^>]+>", " ", text).split())
    for shown in ("invalid: three. It fails | a bar.", "one: more than two. "):
        assert shown in words
    assert "0.60 [0.40, 0.80]" in words
    assert "compared More than 90% [80, 100] of 40 alternatives" in words
    models = re.findall(r'<span class="model">(\w+)', text)
    assert sorted(models) == ["one", "three", "two"]
    assert models[-1] == "three", "what is invalid comes last"


def test_comparing_loads_no_heavy_library(results):
    """Who compares results need not have what measures."""
    heavy = ("torch", "transformers", "statsmodels", "sklearn", "altair", "datasets", "spacy")
    code = (
        "import sys; from evenruler.results.comparison import compare;"
        "from evenruler.results.view import as_markdown, render;from evenruler.results.store "
        "import read_all;"
        f"found = read_all({str(results)!r}); table = compare(found); render(found, table); "
        "as_markdown(found, table);"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "[]\n"

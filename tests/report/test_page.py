"""The report's page: whole, safe, and used in a real browser without network."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import axe_core_python
import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.instrument import FigureHeading
from evenruler.measurement.figures import Verdict
from evenruler.report.page import (
    Cell,
    Picture,
    Section,
    Table,
    gzip_base64,
    render_page,
)
from evenruler.report.pictures import PartDeclaration, draw_chart
from evenruler.report.sentences import VERDICT_MEANINGS
from evenruler.report.views import FigureCell, InstrumentView, make_figure_cell
from tests import browser
from tests.report.pages import unpacked

MODELS = ["a", "b", "c"]
WORDS = pd.DataFrame({"centred": np.arange(12.0)})
WORDS["word"] = [f"w{place}" for place in range(12)]
ASSOCIATIONS = pd.DataFrame({"model": MODELS}).merge(WORDS, how="cross")
ASSOCIATIONS["low"] = ASSOCIATIONS["centred"] - 1
ASSOCIATIONS["high"] = ASSOCIATIONS["centred"] + 1
BIAS = PartDeclaration(
    title="Bias", kind="dots", table="associations", x="centred", y="word", panels="model"
)
HOSTILE = {"mark": "point", "encoding": {"x": {"field": "x", "type": "nominal"}}}
HOSTILE_ROWS = [{"x": "</script><b>", "low": float("nan")}, {"x": "<!-- <script>", "low": None}]
TABLE = Table(
    ["figure", "<m>"],
    [
        ["r", "0.83 [0.71, 0.91], n = 43"],
        ["SC", Cell("0.30 <weak>", "inconclusive")],
        [Cell("of any & every model", columns=2)],
    ],
    "A table's <title>",
    "Its & caption in `code`",
)
COLUMNS = [
    FigureHeading("spread", "spread", "how far attributes differ, in nats"),
    FigureHeading("alpha", "alpha", "how far templates agree", figure_type="validity"),
]

SEEN = (
    "['details.folded[open]', '.figures table', 'svg.marks'].map((one) => "
    "document.querySelectorAll(one).length)"
)
"""Of a page: parts that are open, tables of figures, pictures."""


def cell_of(model: str, amount: float, verdict: str) -> FigureCell:
    row = {
        "figure": "spread",
        "model": model,
        "set": "seed",
        "value": amount,
        "low": amount - 0.2,
        "high": amount + 0.2,
        "p": 0.01,
        "bound": 0.1,
        "n": 9,
        "unit": "words",
        "verdict": verdict,
        "why": f"For {verdict}.",
    }
    return make_figure_cell(row, COLUMNS)


def instrument(
    *figures: FigureCell,
    name: str = "probes-x",
    title: str = "Men & <women>",
    sections: tuple[Section, ...] = (),
) -> InstrumentView:
    alpha = {
        "figure": "alpha",
        "set": "seed",
        "value": 0.9,
        "n": 9,
        "unit": "words",
    }
    alphas = [make_figure_cell({**alpha, "model": model}, COLUMNS) for model in MODELS]
    return InstrumentView(
        name,
        "probes",
        title,
        "Measures the tie.",
        COLUMNS,
        [*figures, *alphas],
        card="benchmarks/probes-x/README.md",
        sections=sections,
    )


@pytest.fixture(scope="module")
def page() -> str:
    hostile = Picture("Hostile", "", {**HOSTILE, "data": {"values": HOSTILE_ROWS}})
    picture = Picture("Bias", "A caption & more", draw_chart(BIAS, ASSOCIATIONS))
    section = Section("One", "Text <b>", [TABLE, picture, hostile], "x")
    view = instrument(
        cell_of("b", 0.6, "detected"),
        cell_of("a", 0.3, "inconclusive"),
        cell_of("c", -0.5, "invalid"),
        sections=(section,),
    )
    shared = {"probes": [Section("About <all>", "More", [])]}
    return render_page(
        "Title",
        "Lead",
        [view, instrument(name="probes-y", title="Old")],
        shared=shared,
    )


class TestText:
    def test_is_escaped(self, page: str) -> None:
        assert "Text &lt;b&gt;" in page
        assert "Men &amp; &lt;women&gt;" in page
        assert ">0.83 [0.71, 0.91], n = 43</td>" in page
        assert '<td class="mark inconclusive" data-of="&lt;m&gt;">0.30 &lt;weak&gt;</td>' in page
        assert '<td colspan="2">of any &amp; every model</td>' in page
        assert "Its &amp; caption in <code>code</code>" in page

    def test_needs_nothing_from_elsewhere(self, page: str) -> None:
        for word in ("<script src", "http:", "https:", "@import", "url(", "<link"):
            assert word not in page

    def test_of_data_cannot_end_or_swallow_an_element(self, page: str) -> None:
        """Five scripts of ours: two parts, one section of all, colours, Vega; and the code."""
        assert page.count("</script>") == page.count("<script") == 6
        first = re.findall(r'<script type="text/plain" class="packed">(.*?)</script>', page)[0]
        pictures = unpacked(first)["pictures"]
        rows = pictures[1]["data"]["values"]
        assert rows == [{"x": "</script><b>", "low": None}, {"x": "<!-- <script>", "low": None}]

    def test_is_packed_the_same_every_time(self) -> None:
        nan = float("nan")
        assert gzip_base64({"b": 1, "a": nan}) == gzip_base64({"a": nan, "b": 1})
        assert unpacked(gzip_base64({"a": nan})) == {"a": None}

    def test_what_was_found_stands_before_what_could_not_be_decided(self, page: str) -> None:
        body = page[page.index("<main") :]
        body = re.sub(r"<svg.*?</svg>|<[^>]+>", " ", body)
        decided, undecided = body.split("What could not be decided")
        assert re.search(r"Men & <women>: seed\s+b\s+detected", html.unescape(decided))
        assert "Spread: 0.60 [0.40, 0.80]." in decided
        assert not re.search(r"seed\s+[ac]\s", decided)
        assert "Models measured here: 2" in undecided
        assert re.search(r"seed\s+a\s+inconclusive", undecided)
        assert re.search(r"seed\s+c\s+invalid\s+For invalid\.", undecided)
        assert "Without a headline on these models: 1" in undecided
        assert (
            "Of 3 headlines on models: 1 detected; 1 inconclusive; 1 invalid. 2 tests; 0.1 would "
            "say detected if nothing were there anywhere." in page
        )

    def test_each_number_is_drawn_in_a_list_item(self, page: str) -> None:
        items = re.findall(r'<li class="finding (\w+)">(.*?)</li>', page, re.DOTALL)
        drawn = {mark: "<svg" in item for mark, item in items}
        assert drawn == {"detected": True, "inconclusive": True, "invalid": False}

    def test_a_mark_has_a_shape_of_its_own(self, page: str) -> None:
        """Colour alone tells nothing to those who cannot see it."""
        marks = re.findall(r'\.mark\.(\w+)::before \{ content: "(.*?)"', page)
        assert {mark for mark, _ in marks} == {verdict.mark for verdict in Verdict}
        assert len({shape for _, shape in marks}) == 5

    def test_no_verdict_is_green_or_red(self, page: str) -> None:
        """A bias is no grade: hues of verdicts keep away from both, light and dark."""
        for name in ("sure", "small", "open"):
            for colour in re.findall(rf"--{name}: #(\w{{6}});", page):
                red, green, blue = bytes.fromhex(colour)
                assert blue == max(red, green, blue)
        assert "--failed" not in page

    def test_each_word_is_explained_on_the_page(self, page: str) -> None:
        body = html.unescape(page)
        assert [word for word, meaning in VERDICT_MEANINGS.items() if meaning not in body] == []


@pytest.fixture(scope="module")
def file(page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(page)
    return path


@pytest.fixture(scope="module")
def tab() -> Iterator[browser.Browser]:
    with browser.Browser() as opened:
        yield opened
        assert opened.said == []  # the console stays empty


@pytest.mark.skipif(browser.found() is None, reason="no Chromium here")
class TestBrowser:
    def test_pictures_are_drawn_when_their_part_is_opened(
        self, tab: browser.Browser, file: Path
    ) -> None:
        tab.open(file)
        assert tab.run("document.querySelectorAll('svg.marks').length") == 0
        tab.run("document.querySelector('a[href=\"#probes-x--0\"]').click()")
        tab.until("document.getElementById('probes-x').open")
        tab.run("parts.get('probes-x').drawAll()")
        assert tab.run("document.querySelectorAll('svg.marks[role=img]').length") == 2
        assert (
            tab.run("document.querySelector('svg.marks').getAttribute('aria-label')")
            == "Bias. A caption & more"
        )
        assert "w11" in tab.run("document.querySelector('svg.marks').textContent")
        assert {url.partition(":")[0] for url in tab.asked} <= {"file", "about"}

    def test_panels_wrap_and_the_document_never_scrolls_sideways(
        self, tab: browser.Browser, file: Path
    ) -> None:
        columns = {}
        for width in (1280, 375):
            tab.sized(width, 800)
            tab.open(file, "#probes-x")
            tab.run("openAll()")
            assert tab.run("document.documentElement.scrollWidth") == width
            titles = "[...document.querySelectorAll('svg.marks')[0].querySelectorAll('text')]"
            lefts = tab.run(
                f"{titles}.filter((one) => ['a', 'b', 'c'].includes(one.textContent))"
                ".map((one) => Math.round(one.getBoundingClientRect().left / 20))"
            )
            assert len(lefts) == 3
            columns[width] = len(set(lefts))
        tab.sized(1280, 800)
        assert columns == {1280: 3, 375: 1}

    def test_a_number_leads_to_its_row_by_keyboard(self, tab: browser.Browser, file: Path) -> None:
        tab.open(file)
        tab.run("document.querySelector('a[href=\"#probes-x--0\"]').focus()")
        tab.press("Enter", 13, "\r")
        tab.until("document.activeElement.id === 'probes-x--0'")
        cells = tab.run("[...document.activeElement.cells].map((cell) => cell.textContent)")
        assert [
            *cells[:6],
            cells[8],
        ] == ["seed", "b", "spread", "0.6", "0.4", "0.8", "0.1"]

    def test_a_table_sorts_and_saves(self, tab: browser.Browser, file: Path) -> None:
        tab.open(file, "#probes-x")
        tab.until("document.querySelector('#probes-x .figures tbody tr')")
        values = (
            "[...document.querySelectorAll('#probes-x .figures tbody tr')].map((row) => "
            "row.cells[3].textContent)"
        )
        button = "document.querySelectorAll('#probes-x .figures th button')[3]"
        tab.run(f"{button}.click()")
        assert tab.run(values) == ["\u22120.5", "0.3", "0.6", "0.9", "0.9", "0.9"]
        tab.run(f"{button}.click()")
        assert tab.run(values)[-1] == "\u22120.5"
        assert tab.run(f"{button}.parentElement.getAttribute('aria-sort')") == "descending"
        lines = tab.run("parts.get('probes-x').table.csv()").splitlines()
        assert lines[0].startswith("part,model,figure,value,low,high,p,control")
        assert lines[-1].startswith(
            "seed,c,spread,-0.5,-0.7,-0.3,0.01,,0.1,,,,,,,,,,,9,words,invalid,For "
        )

    def test_no_cell_that_is_saved_is_a_formula(self, tab: browser.Browser, file: Path) -> None:
        tab.open(file)
        rows = "[['=1+1', -0.5], ['@x', 0], ['\\r=1', 1], ['a=1', null]]"
        table = (
            f"new Figures(document.createElement('div'), {{columns: ['a', 'b'], rows: {rows}}}, "
            "'x')"
        )
        assert tab.run(f"{table}.csv()") == "a,b\n'=1+1,-0.5\n'@x,0\n\"'\r=1\",1\na=1,\n"

    def test_the_keys_that_print_draw_everything_first(
        self, tab: browser.Browser, file: Path
    ) -> None:
        tab.open(file)
        tab.run(f"window.print = () => (window.seen = {SEEN})")
        keys = {
            "key": "p",
            "code": "KeyP",
            "windowsVirtualKeyCode": 80,
            "modifiers": 2,
        }
        tab.call("Input.dispatchKeyEvent", type="rawKeyDown", **keys)
        tab.until("window.seen")
        # Three parts, the two instruments' tables of figures, the two pictures.
        assert tab.run("window.seen") == [3, 2, 2]
        tab.run("dispatchEvent(new Event('afterprint'))")
        assert tab.run(SEEN)[0] == 0

    def test_is_dark_where_one_wants_it_and_printed_in_the_light(
        self, tab: browser.Browser, file: Path
    ) -> None:
        ground = "getComputedStyle(document.body).backgroundColor"
        fill = "document.querySelector('svg.marks .role-axis-label text')?.getAttribute('fill')"
        tab.sized(1280, 800, dark=True)
        tab.open(file, "#probes-x")
        tab.run("parts.get('probes-x').drawAll()")
        assert (tab.run(ground), tab.run(fill)) == ("rgb(20, 25, 28)", "#e6eaec")
        tab.run(f"window.print = () => (window.printedIn = {fill})")
        tab.run("document.getElementById('print-all').click()")
        tab.until("window.printedIn")
        assert tab.run("window.printedIn") == "#000"
        tab.run("dispatchEvent(new Event('afterprint'))")
        tab.until(f"{fill} === '#e6eaec'")
        tab.sized(1280, 800)
        tab.until(f"{ground} === 'rgb(255, 255, 255)'")

    @pytest.mark.parametrize(("width", "dark"), [(1280, False), (375, True)])
    def test_has_no_barrier_that_axe_finds(
        self, tab: browser.Browser, file: Path, width: int, dark: bool
    ) -> None:
        tab.sized(width, 800, dark)
        tab.open(file, "#probes-x")
        tab.run("openAll()")
        tab.run((Path(axe_core_python.__file__).parent / "axe.min.js").read_text())
        violations = tab.run(
            "axe.run().then(({violations}) => violations.map(({id, nodes}) => [id, nodes[0].html]))"
        )
        tab.sized(1280, 800)
        assert violations == []

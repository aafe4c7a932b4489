"""Results and rating sheets of others, given to `compare`, `export` and `ratings`."""

import json
from collections.abc import Callable
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.faults.cases import Case, Outcome, Seen, evenruler, refusals, write_terabyte
from tests.figures import find_figure
from tests.results.synthetic import gain_of, stored, synthetic
from tests.tables.test_contents import repeated

Change = Callable[[Path], object]
NAMES = ("one", "two")


def _compared(change: Change, words: tuple[str, ...], folder: Path) -> Seen:
    """Two results, the first of them changed (in its folder), and a command."""
    for name in NAMES:
        stored(folder / "results", synthetic(name), gain_of(name))
    change(folder / "results/one/probes-made-up@1.0.0")
    return evenruler(*words, folder=folder)


def _edited(edit: Callable[[dict[str, Any]], object]) -> Change:
    """Another `result.json`."""

    def change(folder: Path) -> None:
        path = folder / "result.json"
        content = json.loads(path.read_text())
        edit(content)
        path.write_text(json.dumps(content))

    return change


def _record(**changes: Any) -> Change:
    """Other values in a figure."""
    return _edited(lambda content: find_figure(content["figures"], figure="spread").update(changes))


def _key(*keys: str, **changes: Any) -> Change:
    """Other values in a mapping below some keys."""
    return _edited(lambda content: reduce(getitem, keys, content).update(changes))


def _text(text: str) -> Change:
    return lambda folder: (folder / "result.json").write_text(text)


def _headlines(table: pa.Table) -> Change:
    return lambda folder: pq.write_table(table, folder / "headlines.parquet")


def _sparse(name: str) -> Change:
    return lambda folder: write_terabyte(folder / name)


def _paged(folder: Path) -> Seen:
    """What begins elements, in every text of a result that a page shows: none of it begins one."""
    evil = "<script>alert(1)</script><!-- <script>"

    def change(place: Path) -> None:
        _key("benchmark", title=evil)(place)
        _key(warnings=[evil])(place)
        _edited(lambda content: content["headings"][0].update(heading=evil))(place)
        _record(why=evil, unit=evil)(place)

    seen = _compared(change, ("compare", "results", "--page", "page.html"), folder)
    page = (folder / "page.html").read_text()
    assert evil not in page
    assert page.count("<script") == page.count("</script>")
    return seen


NO_VALUE = {"figure": "spread", "model": "one", "n": 1, "unit": "attributes"}
DEEP = "[" * 100_000
BOMB = pa.table({"unit": repeated("x" * 1_000_000, 10_000)})
ASKED = ("compare", "results")

REFUSED: dict[str, tuple[Change, str]] = {
    "a result 100,000 levels deep": (_text(DEEP), "not JSON"),
    "half a letter": (_key("model", licence="\ud800"), "not JSON"),
    "a result of a terabyte": (_sparse("result.json"), "more than the"),
    "a benchmark called ../x": (_key("benchmark", name="../x"), "expected a slug"),
    "a value that is a text": (
        _record(value="much"),
        "value of spread:set=seed is 'much', expected a number",
    ),
    "a verdict that is a number": (_record(verdict=3), "verdict of a figure is 3, expected words"),
    "a figure without n": (_record(n=None), "lacks n"),
    "a figure without a value": (_key(figures=[NO_VALUE]), "lacks value"),
    "a NaN": (_record(value=float("nan")), "not JSON"),
    "headlines of a terabyte": (_sparse("headlines.parquet"), "more than the"),
    "headlines that unpack to gigabytes": (_headlines(BOMB), "no readable Parquet (more than"),
    "headlines that are something else": (
        _headlines(pa.table({"x": [1]})),
        "no table of headlines",
    ),
}

CASES = [
    *refusals(
        "compare",
        {
            fault: (partial(_compared, change, ASKED), says)
            for fault, (change, says) in REFUSED.items()
        },
    ),
    Case("texts that begin elements", "compare --page", Outcome.UNHARMED, _paged),
]

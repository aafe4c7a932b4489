"""The card of a benchmark: `README.md` with front matter as the Hub reads it."""

import json
from collections.abc import Mapping, Sequence

import jinja2

from evenruler.publish.contents import Benchmark, Quality
from evenruler.text.numbers import figure_in_words

ROWS_BY_CATEGORY = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)


def render_card(benchmark: Benchmark) -> str:
    """The card's text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenruler.publish", "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown
    )
    environment.filters["figure"] = figure_in_words
    environment.filters["quoted"] = _quoted
    environment.filters["cell"] = _cell
    environment.filters["known_in"] = _known_in
    return environment.get_template("card.md.j2").render(
        benchmark=benchmark,
        licences=benchmark.distinct("licence"),
        sources=benchmark.distinct("source"),
        category=_category(sum(table.num_rows for table in benchmark.tables.values())),
    )


def _known_in(figures: Sequence[Quality], models: Mapping[str, Mapping[str, object]]) -> list[Quality]:
    """The figures that a part of a benchmark has at all."""
    return [figure for figure in figures if any(figure.figure in own for own in models.values())]


def _quoted(value: object) -> str:
    """A value as YAML and JSON read it back, whatever it holds."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cell(value: object) -> str:
    """A value inside a Markdown table."""
    return " ".join(str(value).split()).replace("|", "\\|")


def _category(rows: int) -> str:
    return next((name for limit, name in ROWS_BY_CATEGORY if rows < limit), "n>10M")

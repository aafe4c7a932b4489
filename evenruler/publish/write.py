"""Writes a benchmark folder atomically: rows, card, Croissant metadata, citations and manifest."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenruler.files import file_sha256, swapped, templates
from evenruler.instruments.card import CHECKLIST, Card, Published, amounts
from evenruler.instruments.instrument import Column
from evenruler.measurement.figures import figure_in_words
from evenruler.measurement.sentences import answer, of_planted, with_capital
from evenruler.publish import manifest
from evenruler.publish.manifest import HERE, NO_TAG, cell, data_file
from evenruler.versions import Changelog, Release

PROJECT, AUTHORS = "Even Ruler", "The Even Ruler developers"

URL: str | None = None
"""URL of the repository, as in pyproject.toml (`Repository` under `project.urls`); None until there is one."""

COMMIT = "COMMIT"
"""Placeholder for the commit, whose name is not known when its files are written."""

LAST = ("variant", "framing", "source", "licence", "id", "content_sha256")
"""Columns common to all published tables, placed last."""


@dataclass(frozen=True)
class Config(Published):
    """One table of a benchmark, with its rows."""

    table: pa.Table = field(kw_only=True)

    @property
    def as_read(self) -> pa.Table:
        """The table in reading order: the columns of `first`, its others, then those common to all tables."""
        names = self.table.column_names
        ordered = dict.fromkeys((*self.first, *(name for name in names if name not in LAST), *LAST))
        return self.table.select([name for name in ordered if name in names])


@dataclass(frozen=True, kw_only=True)
class Benchmark(Card):
    """Everything that a benchmark folder is written from."""

    name: str
    title: str
    version: str
    language: str
    construct: str
    warning: str | None
    citations: list[str]
    """BibTeX entries."""
    configs: Sequence[Config]
    n_rejected: int
    plan: Mapping[str, Any]
    """What is asked about its rows, for `plan.json`."""
    evidence: Mapping[str, Any]
    """Quality figures by part (a set of templates, a subscale), model and figure name; rounded for display."""
    models: Mapping[str, str]
    """Origins of the models in the evidence."""
    command: str
    """The command that rebuilds it."""
    changelog: Changelog
    of_others: bool = False
    """Whether its rows contain third-party text, so that it is not part of the package."""
    planted: Sequence[Mapping[str, Any]] = ()
    """Results on planted associations (docs/weights.md), one record per headline and plant."""

    @property
    def release(self) -> Release | None:
        """The release of this version; None before it is released."""
        return self.changelog.releases.get(self.version)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Tables by config, columns in reading order."""
        return {config.name: config.as_read for config in self.configs}

    def distinct(self, column: str) -> list[str]:
        """Distinct values of a column over all tables, sorted."""
        return sorted({value for table in self.tables.values() for value in table.column(column).unique().to_pylist()})

    @property
    def bibtex(self) -> list[str]:
        """BibTeX entries to cite: the benchmark with version and commit, then its references."""
        fields = {
            "title": f"{{{_escaped(self.title)}}}",
            "author": f"{{{AUTHORS}}}",
            "howpublished": f"Benchmark data set {_escaped(self.name)}, built with {PROJECT}",
            "version": self.version,
            "note": f"Commit {COMMIT}",
            **({"year": str(self.release.date.year)} if self.release else {}),
            **({"url": URL} if URL else {}),
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return [f"@misc{{evenruler-{self.name},\n{lines}\n}}", *(entry.strip() for entry in self.citations)]

    @property
    def commit(self) -> str:
        """The command that prints the commit."""
        return f"git rev-parse {self.name}@v{self.version}^{{commit}}" if self.release else "git rev-parse HEAD"


def _escaped(text: str) -> str:  # for BibTeX
    return "".join(f"\\{character}" if character in "&%$#_" else character for character in text)


def write_benchmark(benchmark: Benchmark, folder: Path) -> None:
    """Write the folder atomically."""
    with swapped(folder) as working:
        for config in benchmark.configs:
            path = working / data_file(config.name)
            path.parent.mkdir(parents=True)
            pq.write_table(config.as_read, path, compression="zstd")
        texts = {
            "README.md": render_card(benchmark),
            manifest.PLAN: manifest.as_json(benchmark.plan),
            "evidence.json": manifest.as_json(benchmark.evidence),
            "croissant.json": render_croissant(benchmark, working),
            **({manifest.PLANTED: manifest.as_json(benchmark.planted)} if benchmark.planted else {}),
            **{f"lm_eval/{name}": text for name, text in benchmark.harness.items()},
        }
        for name, text in texts.items():
            (working / name).parent.mkdir(exist_ok=True)
            (working / name).write_text(text, encoding="utf-8", newline="\n")
        own = manifest.manifest_of(
            working,
            benchmark.tables,
            name=benchmark.name,
            version=benchmark.version,
            rejected=benchmark.n_rejected,
            sources=benchmark.distinct("source"),
            licences=benchmark.distinct("licence"),
            parameters=dict(benchmark.parameters),
        )
        (working / manifest.NAME).write_text(manifest.as_json(own.model_dump()), encoding="utf-8", newline="\n")


def render_croissant(benchmark: Benchmark, folder: Path) -> str:
    """The text of `croissant.json` for the rows in a folder."""
    environment = templates("evenruler.publish")
    environment.filters |= {
        "with_capital": with_capital,
        "one": lambda found: found[0] if len(found) == 1 else found,
        "data_file": data_file,
        "sha256": lambda config: file_sha256(folder / data_file(config)),
        "data_type": _data_type,
    }
    content = environment.get_template("croissant.json.j2").render(
        benchmark=benchmark,
        project=PROJECT,
        authors={"@type": "sc:Organization", "name": AUTHORS, **({"url": URL} if URL else {})},
        here=HERE,
    )
    return json.dumps(json.loads(content), indent=2, ensure_ascii=False) + "\n"


def _data_type(of: pa.DataType) -> str:
    """The schema.org type of a column."""
    known = {"Integer": pa.types.is_integer, "Float": pa.types.is_floating, "Boolean": pa.types.is_boolean}
    return next((name for name, is_so in known.items() if is_so(of)), "Text")


SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M"}
"""The Hub's size categories, by exclusive upper limit of the number of rows."""


def render_card(benchmark: Benchmark) -> str:
    """The card's text."""
    environment = templates("evenruler.publish")
    environment.filters |= {
        "figure": figure_in_words,
        # A value as valid YAML and JSON.
        "quoted": lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True),
        "with_capital": with_capital,
        "cell": cell,
        "linked": lambda words, url: f"[{words}]({url})" if url else words,
        # Figures that a part of a benchmark has.
        "known_in": lambda figures, models: [one for one in figures if one.figure in {*chain(*models.values())}],
        "verdicts": _verdicts,
        # The heading of a figure on cards.
        "heading": lambda columns, figure: {own.figure: own.heading for own in columns}.get(figure, figure),
        "placebo": lambda record: f"{record['placebo']:z.2f}" if "placebo" in record else "none",
        "specific": lambda record: _with_ends(record, ("specific", "specific_low", "specific_high"), "none", "z.2f"),
        "ends": lambda record, keys: _with_ends(record, keys, "none", "z.2g"),
        "per_nat": _per_nat,
        "read_of_planted": of_planted,
        "beside": _beside,
        "items": _items,
        "compared": _compared,
    }
    rows = sum(table.num_rows for table in benchmark.tables.values())
    return environment.get_template("card.md.j2").render(
        benchmark=benchmark,
        licences=benchmark.distinct("licence"),
        sources=benchmark.distinct("source"),
        answers=_answers(benchmark),
        parts=[part for part in _ordered(benchmark.evidence) if part not in benchmark.items],
        shown={name for own in benchmark.evidence.values() for figures in own.values() for name in figures},
        project={"name": PROJECT, "url": URL, "commit": COMMIT},
        checklist=CHECKLIST,
        no_tag=NO_TAG,
        example=_example(benchmark),
        category=next((name for limit, name in SIZES.items() if rows < limit), "n>10M"),
    )


def _example(benchmark: Benchmark) -> dict[str, Any] | None:
    """One example row: its text as a quotation, its other columns as a table."""
    if benchmark.example is None:
        return None
    config = benchmark.configs[0]
    found = config.as_read.filter(pc.field("id") == benchmark.example.id).to_pylist()
    if not found:
        raise ValueError(f"{config.name} has no row {benchmark.example.id!r}, which is to be its example")
    row = found[0]
    hidden = {*config.first, *({*LAST} - {"framing", "source", "licence"})}
    # Readable columns only: no ids of other rows, no structures, nothing empty.
    shown = {
        name: value
        for name, value in row.items()
        if name not in hidden and not name.endswith("_id") and value not in (None, "")
        if not isinstance(value, list | dict)
    }
    return {
        "told": benchmark.example.told,
        "quoted": "\n>\n".join(_quotation(row[name], name, len(config.first)) for name in config.first),
        "columns": [f"`{name}`" for name in shown],
        "cells": [cell(str(value).lower() if isinstance(value, bool) else value) for value in shown.values()],
    }


def _quotation(text: str, name: str, n: int) -> str:
    """A Markdown quotation with line breaks kept; labelled with its column if `n` > 1 columns are quoted."""
    plain = re.sub(r"([\\`*_\[\]<>#])", r"\\\1", text)  # escape Markdown
    lines = (f"**{name}**: {plain}" if n > 1 else plain).splitlines()
    broken = [f"{line}\\" for line in lines[:-1]] + lines[-1:]  # Markdown line breaks
    return "\n".join(f"> {line}".rstrip() for line in broken)


def _answers(benchmark: Benchmark) -> dict[str, list[str]]:
    """The answer in sentences for each model with a verdict, in the order of the evidence."""
    words = {own.figure: own for own in benchmark.quality if own.role == "headline"}
    of_models: dict[str, dict[str, Any]] = {}
    for part, model, *_ in amounts(benchmark.evidence):
        of_models.setdefault(model, {})[part] = benchmark.evidence[part][model]
    beyond = {own.not_shown for own in words.values()}
    return {model: [line for line in answer(own, words) if line not in beyond] for model, own in of_models.items()}


def _ordered(evidence: Mapping[str, Any]) -> list[str]:
    """Parts of a benchmark, those with a verdict first."""
    with_verdict = {part for part, *_ in amounts(evidence)}
    return sorted(evidence, key=lambda part: (part not in with_verdict, part))


def _verdicts(evidence: Mapping[str, Any]) -> list[tuple[str, str, str, Mapping[str, Any]]]:
    """Part, model, figure and record of all verdicts, grouped by model."""
    found = list(amounts(evidence))
    models = [model for _, model, *_ in found]
    return sorted(found, key=lambda one: models.index(one[1]))


def _with_ends(record: Mapping[str, Any] | None, keys: Sequence[str], absent: str, form: str) -> str:
    """A value and its interval, if any, by their keys; `absent` if there is no value."""
    value, low, high = ((record or {}).get(key) for key in keys)
    if value is None:
        return absent
    return f"{value:{form}}" + ("" if low is None else f" [{low:{form}}, {high:{form}}]")


def _per_nat(one: Mapping[str, Any]) -> str:
    """The sensitivity to a plant; bold where its interval excludes 0."""
    told = _with_ends(one, ("sensitivity", "low", "high"), "none", "z.2g")
    return f"**{told}**" if (one.get("low") or 0) > 0 or (one.get("high") or 0) < 0 else told


def _items(models: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items of a part, each with its item-rest correlation on every model."""
    known = {model: figures["items"] for model, figures in models.items() if "items" in figures}
    named = {item: own["control"] for items in known.values() for item, own in items.items() if "control" in own}
    keys = ("item_rest_correlation", "low", "high")
    cells = {item: [_with_ends(items.get(item), keys, "none", ".2f") for items in known.values()] for item in named}
    ordered = sorted(named, key=lambda item: (named[item], item))
    return [{"item": own, "control": named[own], "models": list(known), "cells": cells[own]} for own in ordered]


def _compared(models: Mapping[str, Mapping[str, Any]], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Differences between a part and others, per model."""
    rows, keys = [], ("difference", "low", "high")
    for model, figures in models.items():
        for other, found in figures.get("compared", {}).items():
            cells = [_with_ends(found.get(column.figure), keys, "", "+.2f") for column in columns]
            rows.append({"model": model, "against": other, "cells": cells})
    return rows


def _beside(record: Mapping[str, Any] | None) -> str:
    """A figure, with its control if it has one."""
    told = figure_in_words(record)
    return told if record is None or record.get("control") is None else f"{told}; control {record['control']:z.2f}"

"""Writes a benchmark folder atomically: rows, card, Croissant metadata, citations and manifest."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenruler.files import file_sha256, jinja_environment, replace_folder
from evenruler.instruments.card import CHECKLIST, Card, Published
from evenruler.instruments.instrument import Evidence
from evenruler.measurement.figures import (
    figure_in_words,
    model_label,
    rows_with_verdict,
    with_labels,
)
from evenruler.publish import manifest
from evenruler.publish.manifest import HERE, NO_TAG, data_file, markdown_cell
from evenruler.publish.quality import card_verdicts, item_rows, quality_parts
from evenruler.report.planted import planted_as_json
from evenruler.report.sentences import (
    VERDICT_MEANINGS,
    SummaryLine,
    carriers_text,
    control_text,
    describe_planted,
    summarise_headlines,
)
from evenruler.tables import group_by_key
from evenruler.terminal import escape_steering
from evenruler.text.spelling import with_capital
from evenruler.versions import Changelog, Release

PROJECT, AUTHORS = "Even Ruler", "The Even Ruler developers"

URL: str | None = None
"""URL of the repository, as in pyproject.toml (`Repository` under `project.urls`); None until there
is one."""

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
        """The table in reading order: the columns of `first`, its others, then those common to all
        tables.
        """
        names = self.table.column_names
        specific_names = [name for name in names if name not in LAST]
        ordered = dict.fromkeys([*self.first, *specific_names, *LAST])
        return self.table.select([name for name in ordered if name in names])


@dataclass(frozen=True, kw_only=True)
class BenchmarkFolder(Card):
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
    evidence: Evidence
    """Quality figures, a row each; rounded for display."""
    models: Mapping[str, str]
    """Origins of the models in the evidence."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the card calls models whose names are no slugs: `GPT-4.1` of `gpt-4-1`."""
    command: str
    """The command that rebuilds it."""
    changelog: Changelog
    third_party: bool = False
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

    def with_labels(self) -> "BenchmarkFolder":
        """The same for readers: with labels of models in place of their names."""
        labelled = with_labels(self.evidence, self.labels)
        row_pairs = zip(self.evidence, labelled, strict=True)
        renamed = {model_label(row): model_label(shown) for row, shown in row_pairs}
        models = {renamed.get(name, name): origin for name, origin in self.models.items()}
        return replace(self, evidence=labelled, models=models)

    def distinct(self, column: str) -> list[str]:
        """Distinct values of a column over all tables, sorted."""
        distinct_values: set[str] = set()
        for table in self.tables.values():
            distinct_values.update(table.column(column).unique().to_pylist())
        return sorted(distinct_values)

    @property
    def bibtex(self) -> list[str]:
        """BibTeX entries to cite: the benchmark with version and commit, then its references."""
        fields = {
            "title": f"{{{_escape_bibtex(self.title)}}}",
            "author": f"{{{AUTHORS}}}",
            "howpublished": f"Benchmark data set {_escape_bibtex(self.name)}, built with {PROJECT}",
            "version": self.version,
            "note": f"Commit {COMMIT}",
        }
        if self.release:
            fields["year"] = str(self.release.date.year)
        if URL:
            fields["url"] = URL
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return [
            f"@misc{{evenruler-{self.name},\n{lines}\n}}",
            *(entry.strip() for entry in self.citations),
        ]

    @property
    def commit(self) -> str:
        """The command that prints the commit."""
        return (
            f"git rev-parse {self.name}@v{self.version}^{{commit}}"
            if self.release
            else "git rev-parse HEAD"
        )


def _escape_bibtex(text: str) -> str:  # for BibTeX
    """The text with a backslash before each character that is special in BibTeX."""
    return "".join(f"\\{character}" if character in "&%$#_" else character for character in text)


def write_benchmark(benchmark: BenchmarkFolder, folder: Path) -> None:
    """Write the folder atomically."""
    with replace_folder(folder) as working:
        for config in benchmark.configs:
            path = working / data_file(config.name)
            path.parent.mkdir(parents=True)
            pq.write_table(config.as_read, path, compression="zstd")
        planted = planted_as_json(benchmark.planted)
        texts = {
            "README.md": render_card(benchmark),
            manifest.PLAN: manifest.as_json(benchmark.plan),
            "evidence.json": manifest.evidence_as_json(benchmark.evidence, planted),
            "croissant.json": render_croissant(benchmark, working),
        }
        if benchmark.planted:
            texts[manifest.PLANTED] = manifest.as_json(benchmark.planted)
        for name, text in benchmark.harness.items():
            texts[f"lm_eval/{name}"] = text
        for name, text in texts.items():
            (working / name).parent.mkdir(exist_ok=True)
            (working / name).write_text(text, encoding="utf-8", newline="\n")
        folder_manifest = manifest.manifest_of(
            working,
            benchmark.tables,
            name=benchmark.name,
            version=benchmark.version,
            rejected=benchmark.n_rejected,
            sources=benchmark.distinct("source"),
            licences=benchmark.distinct("licence"),
            parameters=dict(benchmark.parameters),
        )
        manifest_text = manifest.as_json(folder_manifest.model_dump())
        (working / manifest.NAME).write_text(manifest_text, encoding="utf-8", newline="\n")


def render_croissant(benchmark: BenchmarkFolder, folder: Path) -> str:
    """The text of `croissant.json` for the rows in a folder."""
    environment = jinja_environment("evenruler.publish")
    environment.filters |= {
        "with_capital": with_capital,
        "one": lambda elements: elements[0] if len(elements) == 1 else elements,
        "data_file": data_file,
        "sha256": lambda config: file_sha256(folder / data_file(config)),
        "data_type": _data_type,
    }
    authors = {"@type": "sc:Organization", "name": AUTHORS}
    if URL:
        authors["url"] = URL
    content = environment.get_template("croissant.json.j2").render(
        benchmark=benchmark,
        project=PROJECT,
        authors=authors,
        here=HERE,
    )
    return escape_steering(json.dumps(json.loads(content), indent=2, ensure_ascii=False)) + "\n"


def _data_type(arrow_type: pa.DataType) -> str:
    """The schema.org type of a column."""
    if pa.types.is_integer(arrow_type):
        return "Integer"
    if pa.types.is_floating(arrow_type):
        return "Float"
    if pa.types.is_boolean(arrow_type):
        return "Boolean"
    return "Text"


SIZES = {
    10**3: "n<1K",
    10**4: "1K<n<10K",
    10**5: "10K<n<100K",
    10**6: "100K<n<1M",
    10**7: "1M<n<10M",
}
"""The Hub's size categories, by exclusive upper limit of the number of rows."""


def render_card(benchmark: BenchmarkFolder) -> str:
    """The card's text."""
    benchmark = benchmark.with_labels()
    environment = jinja_environment("evenruler.publish")
    environment.filters |= {
        "figure": figure_in_words,
        # A value as valid YAML and JSON.
        "quoted": lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True),
        "with_capital": with_capital,
        "cell": markdown_cell,
        "linked": lambda words, url: f"[{words}]({url})" if url else words,
        "describe_planted": describe_planted,
        "control": control_text,
        "carriers": carriers_text,
    }
    rows = sum(table.num_rows for table in benchmark.tables.values())
    parts = quality_parts(benchmark, benchmark.evidence)
    items = item_rows(benchmark, benchmark.evidence)
    shown: set[str] = set()
    for part in parts:
        shown.update(part.select(benchmark.quality))
    project = {"name": PROJECT, "url": URL, "commit": COMMIT}
    categories = (name for limit, name in SIZES.items() if rows < limit)
    template = environment.get_template("card.md.j2")
    return template.render(
        benchmark=benchmark,
        licences=benchmark.distinct("licence"),
        sources=benchmark.distinct("source"),
        answers=_headline_summaries(benchmark),
        headings={
            heading.figure: heading.heading
            for heading in benchmark.quality
            if not heading.dimensions
        },
        verdicts=card_verdicts(benchmark.quality, benchmark.evidence),
        meanings=VERDICT_MEANINGS,
        parts=parts,
        items=items,
        shown=shown,
        project=project,
        checklist=CHECKLIST,
        no_tag=NO_TAG,
        example=_example(benchmark),
        category=next(categories, "n>10M"),
    )


def _example(benchmark: BenchmarkFolder) -> dict[str, Any] | None:
    """One example row: its text as a quotation, its other columns as a table."""
    if benchmark.example is None:
        return None
    config = benchmark.configs[0]
    matching_rows = config.as_read.filter(pc.field("id") == benchmark.example.id).to_pylist()
    if not matching_rows:
        raise ValueError(
            f"{config.name} has no row {benchmark.example.id!r}, which is to be its example"
        )
    row = matching_rows[0]
    hidden = {*config.first, *({*LAST} - {"framing", "source", "licence"})}
    # Readable columns only: no ids of other rows, no structures, nothing empty.
    shown: dict[str, Any] = {}
    for name, content in row.items():
        is_hidden = name in hidden or name.endswith("_id")
        is_readable = content not in (None, "") and not isinstance(content, list | dict)
        if is_readable and not is_hidden:
            shown[name] = content
    quotations = [_markdown_quotation(row[name], name, len(config.first)) for name in config.first]
    return {
        "told": benchmark.example.usage,
        "quoted": "\n>\n".join(quotations),
        "shown": shown,
    }


def _markdown_quotation(text: str, name: str, n: int) -> str:
    """A Markdown quotation with line breaks kept; labelled with its column if `n` > 1 columns are
    quoted.
    """
    plain = re.sub(r"([\\`*_\[\]<>#])", r"\\\1", text)  # escape Markdown
    lines = (f"**{name}**: {plain}" if n > 1 else plain).splitlines()
    broken = [f"{line}\\" for line in lines[:-1]]  # Markdown line breaks
    broken += lines[-1:]
    return "\n".join(f"> {line}".rstrip() for line in broken)


def _headline_summaries(benchmark: BenchmarkFolder) -> dict[str, list[SummaryLine]]:
    """The answer in lines for each model with a verdict, in the order of the evidence; what
    headlines do not show stands below.
    """
    headlines = [heading for heading in benchmark.quality if heading.figure_type == "headline"]
    beyond = {heading.not_shown for heading in headlines}
    rows_by_label = group_by_key(
        (model_label(row), row) for row in rows_with_verdict(benchmark.evidence)
    )
    summaries: dict[str, list[SummaryLine]] = {}
    for label, rows in rows_by_label.items():
        lines = summarise_headlines(rows, headlines, benchmark.planted)
        summaries[label] = [line for line in lines if line.text not in beyond]
    return summaries

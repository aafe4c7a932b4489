"""The parts of a benchmark card that its source does not contain, and templates of
lm-evaluation-harness tasks.

Includes the answers to the benchmark checklist that families share.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Required, TypedDict, TypeVar, Unpack, cast

import jinja2
import pandas as pd

from evenruler.instruments.instrument import (
    Declaration,
    Evidence,
    FigureHeading,
    Plan,
    SettingsT,
    SharedTrait,
    SourceT,
    Tables,
)
from evenruler.measurement.figures import (
    ORDER,
    Verdict,
    has_dimensions,
    is_headline,
    model_label,
)
from evenruler.tables import group_by_key
from evenruler.text.spelling import with_capital


@dataclass(frozen=True)
class Published:
    """A table that is published in a benchmark."""

    name: str
    what: str
    """What one row is, for the card."""
    described: Mapping[str, str] = field(default_factory=dict)
    first: Sequence[str] = ()
    """Columns shown first, for human readers; the columns common to all tables come last."""


@dataclass(frozen=True)
class Example:
    """One row of the first table, as an introduction for readers."""

    id: str
    usage: str
    """How it is used, in a sentence."""


@dataclass(frozen=True)
class Paper:
    """The source of a method."""

    words: str
    """Authors and year."""
    url: str | None = None
    """None if no address is known."""


@dataclass(frozen=True)
class Responsible:
    """Responsible-use statements that NeurIPS requires (Croissant's RAI vocabulary); limitations
    are in the card.
    """

    uses: str
    biases: str
    social_impact: str
    personal: str
    made: str
    """How the rows were made: which parts a program or a model wrote."""
    synthetic: bool
    """Whether a program or a model wrote any part."""


CHECKLIST = Paper("Bean and others (2025)", "https://arxiv.org/abs/2511.04703")
"""The paper with eight recommendations for benchmarks."""

RECOMMENDATIONS = {
    "phenomenon": "Define the phenomenon",
    "only_the_phenomenon": "Measure the phenomenon and only the phenomenon",
    "representative": "Construct a representative dataset for the task",
    "reuse": "Acknowledge limitations of reusing datasets",
    "contamination": "Prepare for contamination",
    "statistics": "Use statistical methods to compare models",
    "errors": "Conduct an error analysis",
    "construct": "Justify construct validity",
}
"""The paper's headings, by field of `Validity`."""


@dataclass(frozen=True)
class Validity:
    """What was done for each recommendation of `CHECKLIST`, in its order, with figures; or "Not
    done".
    """

    phenomenon: str
    only_the_phenomenon: str
    representative: str
    reuse: str
    contamination: str
    statistics: str
    errors: str
    construct: str

    @property
    def by_heading(self) -> dict[str, str]:
        """The answers by the paper's headings."""
        return {heading: getattr(self, name) for name, heading in RECOMMENDATIONS.items()}


@dataclass(frozen=True)
class Card:
    """The content of a card that the source does not contain."""

    task_categories: Sequence[str]
    """Task names that the Hub knows."""
    tags: Sequence[str]
    reading: str
    """How to read a score, with its direction."""
    limits: Sequence[str]
    """What the benchmark does not show, one sentence each."""
    configs: Sequence[Published]
    """The first is the default."""
    quality: Sequence[FigureHeading]
    """Quality figures shown per model."""
    item_dimension: str | None = None
    """The dimension of figures of single items; they share one table with the columns `of_items`,
    one row each."""
    of_items: Sequence[FigureHeading] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of parts, where their names do not say what they are."""
    compared: Sequence[FigureHeading] = ()
    """Shown for figures that are differences, which have the dimension `compared_with`."""
    listed: Sequence[FigureHeading] = ()
    """Figures listed per model, one row each, below the table of `quality`."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Build parameters, for the manifest."""
    quality_of_any: Sequence[FigureHeading] = ()
    """Quality figures that do not depend on a model."""
    harness: Mapping[str, str] = field(default_factory=dict)
    """The files of `lm_eval/`."""
    harness_task: str | None = None
    """The task (or group) that runs all of them."""
    example: Example | None = None
    papers: Sequence[Paper] = ()
    responsible: Responsible | None = None
    validity: Validity | None = None
    withheld: str | None = None
    """For third-party text that is not in the rows, or not in git: how to get it."""


_TEMPLATES = jinja2.Environment(
    undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
)


def task_template(file: Path) -> jinja2.Template:
    """The template of a task of lm-evaluation-harness."""
    return _TEMPLATES.from_string(file.read_text(encoding="utf-8"))


_FUNCTIONS = """\"\"\"The functions that the tasks here name. They are in the package: pip install
evenruler.\"\"\"

from pathlib import Path

from {module} import {task_class}

_task = {task_class}(Path(__file__).parents[1])
"""


def add_task_functions(tasks: Mapping[str, str], task_class: type) -> dict[str, str]:
    """The files of `lm_eval/`: tasks, and a module that binds the functions they name to their
    folder.

    `tasks`: YAML by file name; `task_class`: takes the folder, and has a method of each name.
    """
    text = _FUNCTIONS.format(module=task_class.__module__, task_class=task_class.__name__)
    names = re.findall(r"!function functions\.(\w+)", "\n".join(tasks.values()))
    for name in sorted(set(names)):
        text += f"{name} = _task.{name}\n"
    return {**tasks, "functions.py": text}


PUBLIC = (
    "Not done: no canary string, no rows held back, no search of training data. All rows are "
    "public once published."
)

GATED: Final = (
    "In CI, `evenruler gate` may stop a change of which something is detected, or more than "
    "before; that a model passes certifies nothing."
)
"""What of a benchmark may be gated: the same as the help of `evenruler gate` says."""

SHARED_WORDS: Final = {"public": PUBLIC, "gated": GATED}
"""Sentences that the cards of several families have."""

Words = TypeVar("Words")


def render_templates(words: Words, **variables: object) -> Words:
    """Render the Jinja templates in nested mappings and lists; empty results are dropped from
    lists.
    """
    rendered: object = words
    if isinstance(words, Mapping):
        rendered = {key: render_templates(part, **variables) for key, part in words.items()}
    elif isinstance(words, list):
        texts = [render_templates(part, **variables) for part in words]
        rendered = list(filter(None, texts))
    elif isinstance(words, str):
        rendered = _TEMPLATES.from_string(words).render(**variables)
    return cast(Words, rendered)


class CardFigures(TypedDict, total=False):
    """Fields of a `Card` that do not come from a family's words."""

    quality: Required[Sequence[FigureHeading]]
    item_dimension: str | None
    of_items: Sequence[FigureHeading]
    titles: Mapping[str, str]
    compared: Sequence[FigureHeading]
    listed: Sequence[FigureHeading]
    parameters: Mapping[str, Any]
    quality_of_any: Sequence[FigureHeading]
    harness: Mapping[str, str]
    harness_task: str | None


def assemble_card(
    words: Mapping[str, Any],
    declaration: Declaration[SettingsT, SourceT],
    tables: Tables,
    plan: Plan,
    evidence: Evidence,
    *,
    example: str | None = None,
    synthetic: bool = True,
    limits: Sequence[str] | None = None,
    facts: Mapping[str, Any],
    **parts: Unpack[CardFigures],
) -> Card:
    """The card of an instrument: its words, which are Jinja templates, filled with what families
    share and `facts`.

    `words`: a family's `words.yaml`; `example`: the id of the row that is shown, None for none;
    `limits`: all of them, where templates do not suffice; `parts`: the other fields of the card.
    """
    source = declaration.source
    construct = with_capital(source.construct_)
    card_words = render_templates(
        words,
        declaration=declaration,
        source=source,
        settings=declaration.settings,
        tables=tables,
        plan=plan,
        construct=construct,
        judged=count_detected_by_model(evidence),
        tested=describe_tests(evidence),
        **SHARED_WORDS,
        told=partial(by_model, evidence),
        by_source=by_source,
        agrees=agreement_note,
        **facts,
    )
    if limits is None:
        limits = [*card_words["limits"], *source.limits, *card_words["own_limits"]]
    configs = [
        Published(name, **table_words) for name, table_words in card_words["published"].items()
    ]
    papers = [Paper(**paper) for paper in card_words["papers"]]
    shown = Example(example, card_words["example"]) if example else None
    responsible = Responsible(**card_words["responsible"], synthetic=synthetic)
    validity = Validity(**card_words["validity"])
    return Card(
        task_categories=card_words["task_categories"],
        tags=card_words["tags"],
        reading=card_words["reading"],
        limits=limits,
        configs=configs,
        papers=papers,
        example=shown,
        responsible=responsible,
        validity=validity,
        withheld=card_words.get("withheld") or None,
        **parts,
    )


def one_line(text: str) -> str:
    """A text without line breaks, for one line of YAML."""
    return " ".join(text.split())


def agreement_note(shared_trait: SharedTrait | None) -> str:
    """The card's pointer to agreement with other instruments, which is not in the benchmark's
    folder.
    """
    if shared_trait is None:
        return "No other instrument of Even Ruler measures the same units."
    return (
        f"How it agrees with other instruments over {shared_trait.unit}s is on the report page that `dvc "
        "repro` writes, "
        "and in docs/rulers.md of Even Ruler."
    )


def count_detected_by_model(evidence: Evidence) -> str:
    """For each model, how many headlines are detected."""
    total: Counter[str] = Counter()
    detected: Counter[str] = Counter()
    for row in filter(is_headline, evidence):
        label = model_label(row)
        total[label] += 1
        detected[label] += Verdict(row["verdict"]).is_detected
    if not total:
        return "No headline has a verdict: no model in use was asked, or none could answer."
    counts = [f"{label} {detected[label]} of {n}" for label, n in total.items()]
    return f"Headlines that are detected, by model: {', '.join(counts)}."


def describe_tests(evidence: Evidence) -> str:
    """A sentence on the units, intervals, tests and verdicts of all headlines."""
    records = [row for row in evidence if is_headline(row)]
    if not records:
        return (
            "Not done: no figure has a verdict. `evenruler compare` tests differences of models "
            "over units."
        )
    by_unit = group_by_key((record["unit"], record["n"]) for record in records)
    unit_texts: list[str] = []
    for unit, counts in sorted(by_unit.items()):
        unit_texts.append(f"{unit} ({range_text(counts, 0)})")
    units = ", ".join(unit_texts)
    with_interval = sum(record.get("low") is not None for record in records)
    verdicts = Counter(record["verdict"] for record in records)
    verdict_counts = "; ".join(
        f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict]
    )
    return (
        f"{with_interval} of {len(records)} headlines have a 95% interval over all sampled units; "
        f"they rest on {units}. A verdict rests on one headline of one model; nothing is corrected "
        f"over several. Verdicts: {verdict_counts}. "
        "`evenruler compare` tests differences of models."
    )


def by_model(
    evidence: Evidence,
    figure: str,
    key: str = "value",
    decimals: int = 2,
    **dimensions: str | None,
) -> str:
    """A figure (its field `key`) per model that has it, or of any model, as a range over its other
    dimensions; may be empty.

    `dimensions`: those that a row must have; None for one that it must not have.
    """
    values: dict[str, list[float]] = {}
    for row in evidence:
        matches = row["figure"] == figure and has_dimensions(row, dimensions)
        if matches and row.get(key) is not None:
            values.setdefault(model_label(row), []).append(row[key])
    range_by_model = {
        label: range_text(model_values, decimals) for label, model_values in values.items()
    }
    return ", ".join(
        f"{label} {figure_range}".lstrip() for label, figure_range in range_by_model.items()
    )


def by_source(table: pd.DataFrame) -> str:
    """Row counts of a table by source."""
    counts = table["source"].value_counts().sort_index()
    labels = (f"{count:,} rows: {source}" for source, count in counts.items())
    return "; ".join(labels)


def range_text(values: Iterable[float], decimals: int = 2) -> str:
    """The minimum and maximum, as text."""
    numbers = list(values)
    low = f"{min(numbers):z.{decimals}f}"
    high = f"{max(numbers):z.{decimals}f}"
    return low if low == high else f"{low} to {high}"

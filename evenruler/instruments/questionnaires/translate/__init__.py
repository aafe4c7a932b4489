"""Draft a questionnaire from a scale in a CSV file: YAML with every doubt noted at its row."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.files import jinja_environment
from evenruler.instruments.item_table import MARKS, reversed_rows
from evenruler.instruments.questionnaires.declare import source
from evenruler.instruments.questionnaires.translate.statements import WORDS, item_to_templates
from evenruler.strict import Slug, StrictModel, Text, validate
from evenruler.tables.records import read_records, read_text_table
from evenruler.text import slots, slug_of
from evenruler.text.english import is_english

Wording = Mapping[str, Any]
"""Premise, hypothesis and terms of an item."""

NONE: Wording = {"premise": "FILL", "hypothesis": "FILL", "terms": {"source": [], "inverse": []}}
"""Placeholder for a person to fill."""


def says_how_often(content: Mapping[str, Any]) -> bool:
    """Whether the options of a table of items are frequencies, by which drafts ask."""
    options = " ".join(content.get("responses", [content.get("scale", "")]))
    return options == "frequency" or bool(re.search(WORDS["often"], options, re.IGNORECASE))


class ScaleFacts(StrictModel):
    """Facts on the whole scale, from the first row."""

    title: Text
    construct_: Text = Field(alias="construct")
    licence: Text
    reference: Text
    responses: Text
    """The answers that people choose from."""
    stem: Text | None = None
    wording: Literal["held", "paraphrased"] = "held"


class ScaleItem(StrictModel):
    """An item of the scale."""

    item: Text
    reverse: bool = False
    subscale: Slug | None = None
    slug: Slug | None = None


@dataclass(frozen=True)
class Draft:
    """The draft of one row."""

    line: int
    row: ScaleItem
    wording: Wording
    passes: bool
    """Whether the linter accepts it."""
    doubts: Sequence[str]


def read_scale(path: Path) -> tuple[ScaleFacts, dict[int, ScaleItem]]:
    """Read a scale and its rows, by line of its table; UserError where it is invalid."""
    if "questions" in read_records(path, "write the scale there, a row an item").columns:
        what = "whole scales in a row each (`questions`)"
        remedy = f"run `evenruler new questionnaires NAME --from {path.name}`"
        raise UserError(what, where=str(path), remedy=remedy)
    names = [field.alias or name for name, field in ScaleFacts.model_fields.items()]
    column_names = ["", *ScaleItem.model_fields, *MARKS, *names]
    header, lines = read_text_table(
        path, "write the scale there, a row an item", ["item"], column_names
    )
    keyed = [name for name in header if name in MARKS]
    if len(keyed) > 1:
        what = f"the columns {' and '.join(keyed)} both say how items are keyed"
        raise UserError(what, where=f"{path}: line 1", remedy="keep one of them")
    is_reversed: dict[int, bool] = {}
    if keyed:
        marks = {line: row.pop(keyed[0]) for line, row in lines}
        is_reversed = reversed_rows(marks, keyed[0], str(path))
    rows: dict[int, dict[str, str]] = {}
    for line, row in lines:
        cells = {name: " ".join(text.split()) for name, text in row.items()}
        rows[line] = {name: text for name, text in cells.items() if text}
    if not rows:
        raise UserError(
            "holds no item", where=str(path), remedy="write a row an item, in the column `item`"
        )
    first = min(rows)
    first_row = rows[first]
    whole = {name: first_row.pop(name) for name in names if name in first_row}
    facts = validate(ScaleFacts, whole, path, under=f"line {first}")
    items: dict[int, ScaleItem] = {}
    for line, row in rows.items():
        fields: dict[str, Any] = {
            name: text for name, text in row.items() if whole.get(name) != text
        }
        fields["reverse"] = is_reversed.get(line, False)
        items[line] = validate(ScaleItem, fields, path, under=f"line {line}")
    return facts, items


def draft_items(
    facts: ScaleFacts, rows: Mapping[int, ScaleItem], scale: source.ResponseScale
) -> dict[str, Draft]:
    """Drafts by slug of the item."""
    drafts: dict[str, Draft] = {}
    n_digits = len(str(len(rows)))
    for number, (line, row) in enumerate(rows.items(), start=1):
        earlier_wordings = [
            earlier_draft.wording for earlier_draft in drafts.values() if earlier_draft.passes
        ]
        lint = partial(lint_wording, scale=scale, earlier_wordings=earlier_wordings)
        draft = _draft_item(line, row, facts.stem or "", lint)
        first_source_term = draft.wording["terms"]["source"][:1]
        slug_parts = [f"item-{number:0{n_digits}}", *map(slug_of, first_source_term)]
        slug = row.slug or "-".join(filter(None, slug_parts))
        if slug in drafts:
            slug = f"{slug}-{line}"
        drafts[slug] = draft
    return drafts


def _draft_item(line: int, row: ScaleItem, stem: str, lint: Callable[[Wording], None]) -> Draft:
    """The draft of one row of a scale, with doubts; it does not pass where the rules or `lint`
    refuse the item (ValueError). `stem`: the text before all items.
    """
    since = ""
    question = f"{stem} {row.item}"
    time = re.search(WORDS["time"], question, re.IGNORECASE)
    if time:
        since = re.sub(r"\d+", _spell_number, time[0]).capitalize()
    doubts = [
        doubt["says"]
        for doubt in WORDS["doubts"]
        if re.search(doubt["pattern"], row.item, re.IGNORECASE)
    ]
    if not is_english(f"I {row.item}"):  # with a function word, since short items lack one
        doubts.append("not English")
    if row.reverse and WORDS["doubts"][0]["says"] in doubts:
        doubts.append("keyed in reverse, too: which way do its source terms point?")
    wording = NONE
    try:
        wording, unsure = item_to_templates(row.item, since)
        lint(wording)
    except ValueError as error:
        return Draft(line, row, wording, False, [f"no item yet: {error}", *doubts])
    return Draft(line, row, wording, True, doubts + unsure)


def _spell_number(number: re.Match[str]) -> str:
    """A number in words, where the word list has it; else its digits."""
    digits = number[0]
    return str(WORDS["numbers"].get(digits, digits))


def lint_wording(
    wording: Wording, scale: source.ResponseScale, earlier_wordings: Sequence[Wording]
) -> None:
    """ValueError where the linter refuses an item, by itself or next to earlier ones."""
    try:
        item = source.Wording.model_validate(wording)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
    intensifier = source.own_intensifier(item, scale)
    if intensifier:
        raise ValueError(f"the intensifier {intensifier!r} stands in a template")
    taken_words: set[str] = set()
    for earlier in earlier_wordings:
        if all(earlier[side] == text for side, text in item.templates.items()):
            taken_words.update(*earlier["terms"].values())
    for word in item.terms.words:
        if word in taken_words:
            raise ValueError(f"another item asks the same of {word!r}")


def as_yaml(facts: ScaleFacts, drafts: Mapping[str, Draft]) -> str:
    """The draft as YAML, under a key that no questionnaire may have, with doubts at their rows."""
    return _render_template("draft.yaml.j2", facts, drafts)


def items_as_yaml(content: Mapping[str, Any]) -> str:
    """A source of Likert items as YAML, from the content of a table (`item_table.read_items`)."""
    stream = StringIO()
    yaml = YAML()
    yaml.width = 120
    yaml.dump({"family": "likert", **content}, stream)
    return stream.getvalue()


def in_words(facts: ScaleFacts, drafts: Mapping[str, Draft], path: Path, out: Path) -> str:
    """What is told of the draft: its doubts, items keyed in reverse, and what is left to do."""
    return _render_template("told.txt.j2", facts, drafts, path=path, out=out)


def _render_template(
    name: str, facts: ScaleFacts, drafts: Mapping[str, Draft], **variables: object
) -> str:
    """The text of a Jinja template of this package about a scale and its drafts."""
    environment = jinja_environment(__name__)
    environment.filters["quoted"] = partial(json.dumps, ensure_ascii=False)
    environment.globals.update(slots=slots, twins=source.FEWEST_TWINS)
    n_passed = sum(draft.passes for draft in drafts.values())
    template = environment.get_template(name)
    return template.render(facts=facts, drafts=drafts, n_passed=n_passed, **variables)

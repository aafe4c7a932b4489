"""A scale in a CSV file, and the questionnaire that is proposed for it: YAML in which every doubt stands by its row."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from evenruler.errors import UserError
from evenruler.files import templates
from evenruler.instruments.questionnaires.declare import source
from evenruler.instruments.questionnaires.translate.statements import FEWEST, MOST, WORDS, rewrite
from evenruler.models.records import CausalModel, Sampling
from evenruler.strict import Slug, Strict, Text, read_csv, validate
from evenruler.text import slots, slug_of

REPLIES = 8
"""How often a model is asked for an item that rules do not find; every reply has a seed of its own, counted from 0."""

LONGEST = 6
"""Words of a term: what is longer is a sentence."""

SAMPLING = Sampling(max_new_tokens=80, temperature=0.7, top_p=0.9)


class Facts(Strict):
    """What the first row says of the whole scale."""

    title: Text
    construct_: Text = Field(alias="construct")
    licence: Text
    reference: Text
    responses: Text
    """The words that people answer with."""
    stem: Text | None = None
    wording: Literal["held", "paraphrased"] = "held"

    @property
    def doubts(self) -> list[str]:
        """Of the whole scale."""
        often = re.search(WORDS["often"], self.responses, re.IGNORECASE)
        return [] if often else [f"items are asked by how often, which the answers do not say ({self.responses})"]


class Row(Strict):
    """An item as the scale has it."""

    item: Text
    reverse: Annotated[bool, Field(strict=False), BeforeValidator(lambda said: WORDS["reverse"].get(said, said))] = False
    subscale: Slug | None = None
    slug: Slug | None = None


@dataclass(frozen=True)
class Draft:
    """What is proposed for a row."""

    line: int
    row: Row
    wording: Mapping[str, Any]
    """Premise, hypothesis and terms."""
    lacking: str | None
    """Why it is no item yet."""
    doubts: Sequence[str]
    refused: Sequence[str]
    """Replies of a model that are no items, with the reason."""


def read_scale(path: Path) -> tuple[Facts, dict[int, Row]]:
    """A scale and its rows, by line of the CSV file; UserError where something in it is wrong."""
    _, lines = read_csv(path, "write the scale there, a row an item")
    rows = {line: {name: text.strip() for name, text in row.items() if text.strip()} for line, row in lines}
    if not rows:
        raise UserError("holds no item", where=str(path), remedy="write a row an item, in the column `item`")
    first = min(rows)
    names = [field.alias or name for name, field in Facts.model_fields.items()]
    whole = {name: rows[first].pop(name) for name in names if name in rows[first]}
    facts = validate(Facts, whole, path, under=f"line {first}")
    return facts, {line: validate(Row, row, path, under=f"line {line}") for line, row in rows.items()}


def translate(
    facts: Facts, rows: Mapping[int, Row], scale: source.Scale, writer: CausalModel | None = None
) -> dict[str, Draft]:
    """By slug of the item, what rules propose for each row, and the writer where these fail."""
    asked = re.search(r"\b(over|in|during|within) the (last|past) (\d+ )?\w+", facts.stem or "", re.IGNORECASE)
    since = re.sub(r"\d+", lambda n: WORDS["numbers"].get(n[0], n[0]), asked[0]).capitalize() if asked else ""
    drafts: dict[str, Draft] = {}
    for number, (line, row) in enumerate(rows.items(), start=1):
        draft = _draft(line, row, since, scale, [own.wording for own in drafts.values() if not own.lacking], writer)
        named = [f"item-{number:0{len(str(len(rows)))}}", *map(slug_of, draft.wording["terms"]["source"][:1])]
        slug = row.slug or "-".join(named)
        drafts[f"{slug}-{line}" if slug in drafts else slug] = draft
    return drafts


def _draft(
    line: int, row: Row, since: str, scale: source.Scale, others: list[Mapping[str, Any]], writer: CausalModel | None
) -> Draft:
    doubts = [doubt["says"] for doubt in WORDS["doubts"] if re.search(doubt["pattern"], row.item, re.IGNORECASE)]
    wording: Mapping[str, Any] = {"premise": "FILL", "hypothesis": "FILL", "terms": {"source": [], "inverse": []}}
    lacking, refused = None, []
    if row.reverse and WORDS["doubts"][0]["says"] in doubts:
        doubts.append("keyed in reverse, too: which way do its source terms point?")
    try:
        wording, unsure = rewrite(row.item, since)
        doubts += unsure
        lint(wording, scale, others)
    except ValueError as error:
        lacking = str(error)
    if lacking and writer:
        replies = writer.generate([prompt(row.item)] * REPLIES, sampling=SAMPLING, seeds=range(REPLIES), chat=False)
        for seed, reply in enumerate(replies):
            try:
                lint(proposed := read(reply), scale, others)
            except ValueError as error:
                refused.append(" | ".join([f"seed {seed}: {error}", *reply.split("\n\n")[0].splitlines()]))
                continue
            wording, doubts, lacking = proposed, [f"written by {writer.name}, where rules say: {lacking}"], None
            break
    return Draft(line, row, wording, lacking, doubts, refused)


def lint(wording: Mapping[str, Any], scale: source.Scale, others: Sequence[Mapping[str, Any]]) -> None:
    """ValueError, in words, where the linter refuses an item, alone or beside others."""
    try:
        item = source.Wording.model_validate(wording)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
    if word := source.own_intensifier(item, scale):
        raise ValueError(f"the intensifier {word!r} stands in a template")
    alike = [other for other in others if all(other[side] == text for side, text in item.templates.items())]
    for word in item.terms.words:
        if any(word in terms for other in alike for terms in other["terms"].values()):
            raise ValueError(f"another item asks the same of {word!r}")


def prompt(item: str) -> str:
    """The text that a model goes on with: items and what was made of them, and the item alone."""
    shown = ["\n".join(f"{field}: {said}" for field, said in own.items()) for own in WORDS["examples"]]
    return "\n\n".join([*shown, f"Question: {item}\nPremise:"])


def read(reply: str) -> dict[str, Any]:
    """What a reply proposes; ValueError, in words, where it is no item."""
    lines = f"Premise:{reply}".split("\n\n")[0].split("\n")
    said = {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    if lacking := [field for field in ("Premise", "Hypothesis", "Same", "Opposite") if not said.get(field)]:
        raise ValueError(f"no line {lacking[0]!r}")
    if any(said["Premise"] == own["Premise"] for own in WORDS["examples"]):
        raise ValueError("repeats an example")
    terms = {side: _listed(said[field]) for side, field in (("source", "Same"), ("inverse", "Opposite"))}
    if any(len(words) < FEWEST for words in terms.values()):
        raise ValueError(f"fewer than {FEWEST} terms a side")
    return {"premise": said["Premise"], "hypothesis": said["Hypothesis"], "terms": terms}


def _listed(text: str) -> list[str]:
    """The first entries of a list that are words, and no sentences, each once."""
    entries = [entry.strip(" '") for entry in re.findall(r"[^\W\d_][\w' -]*", text.lower())]
    return [*dict.fromkeys(entry for entry in entries if entry.count(" ") < LONGEST)][:MOST]


def as_yaml(facts: Facts, drafts: Mapping[str, Draft]) -> str:
    """The questionnaire, under a key that none may have, with what is doubtful beside its rows."""
    environment = templates(__name__)
    environment.filters["quoted"] = partial(json.dumps, ensure_ascii=False)
    rest = {"slots": slots, "twins": source.FEWEST_TWINS}
    return environment.get_template("draft.yaml.j2").render(facts=facts, drafts=drafts, **rest)

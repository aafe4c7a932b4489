"""What users declare for a SAGED domain: settings, source, replacements, prompts; and the names of
the figures shown.

Replacements are the words of a root concept, and what each becomes in a branch (SAGED, 2.3). A
table of a user's own prompts has one per row, with placeholders for concepts, or about one concept;
`rows` asks it of those that it fits.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, get_args

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.instrument import FigureHeading
from evenruler.instruments.languages import require_language
from evenruler.instruments.saged.declare.plan import SagedPlan
from evenruler.instruments.saged.declare.settings import Feature, Settings
from evenruler.instruments.saged.declare.source import (
    DOMAINS,
    PromptColumn,
    PromptTable,
    Row,
    Source,
    TextOrigin,
    read_source,
    require_text,
)
from evenruler.models.declarations import Catalogue
from evenruler.strict import read_yaml
from evenruler.tables.ids import common_columns, content_sha256, row_id
from evenruler.tables.records import Rows, read_text_table, rename_columns
from evenruler.text.english import plural_of
from evenruler.text.spelling import find_duplicates, find_flaw
from evenruler.text.whole_words import cached_finder, collapse_spaces

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FAMILY", "Settings", "Source", "headings", "load", "takes"]

FAMILY = "saged"  # in the ids of its rows

FAVOUR, NONRESPONSE = "favour", "nonresponse"
"""The headline, and the figure of replies that are no answers."""

PERSONA = "persona"
"""Framing of the prompts of the positive control, and the place of their scores in tables."""

LEFT_OUT = (
    "left out"  # a concept excluded from favour, because under half of its replies are answered
)

ALL_ROLES = "all roles"
"""In tables: the place of a score over all roles."""

COLUMNS: tuple[PromptColumn, ...] = get_args(PromptColumn)


def headings(plan: SagedPlan) -> list[FigureHeading]:
    """The figures shown for every role, template and feature on every model."""
    columns = [
        FigureHeading(**column) for column in read_yaml(Path(__file__).with_name("headings.yaml"))
    ]
    return [
        replace(column, meaning=column.meaning.format(favour=in_words(plan))) for column in columns
    ]


def in_words(plan: SagedPlan) -> str:
    """In words, which end of each feature of a plan is favourable."""
    favour = {
        name: Feature.model_validate(feature).favour for name, feature in plan["features"].items()
    }
    ends = {"higher": "higher", "lower": "lower", "none": "neither end"}
    clauses: list[str] = []
    for end, words in ends.items():
        names = [name for name, favoured_end in favour.items() if favoured_end == end]
        if names:
            clauses.append(f"{', '.join(names)}: {words} is in favour")
    return "; ".join(clauses)


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check a domain's source, written by users or by `scrape`, together with what
    `evenruler find` found.

    A table of prompts beside it is read, too. UserError where something is wrong or not found yet,
    also in the table, or where text by others is declared as ours.
    """
    source = read_source(path)
    if not source.material.is_ours and not settings.third_party:
        remedy = (
            "add `text: others` to its entry in params.yaml, which keeps the benchmark out of git"
        )
        what = f"text of the kind {source.material.kind} was written by others"
        raise UserError(what, where=f"{path}: material.kind", remedy=remedy)
    for root, branches in source.replacements.items():
        for concept, words in branches.items():
            parse_replacements(words, f"{path}: branch.replacements.{root}.{concept}")
    if source.material.kind == "table":
        require_text(path.parent / str(source.material.path))
        source._table = read_prompts(path.stem, source, path.parent)
        texts = [row["sentence"] for row in source._table.prompts]
        require_language(source, texts, f"{path}: language")
    return source


takes = Catalogue.scores_or_writes


def is_branched(prompts: "pd.DataFrame") -> bool:
    """Whether some root items are asked about several concepts."""
    return bool((prompts.groupby("root_id")["concept"].nunique() > 1).any())


@dataclass(frozen=True)
class Replacements:
    """The words of a root concept and what each becomes in one branch; made by `checked`."""

    words: Mapping[str, str]
    plurals: Mapping[str, str]  # by word, the replacement of its plural, where that is replaced too
    key: tuple[str, ...]  # the sorted words; maps with the same key match the same places of a text


def parse_replacements(words: Mapping[str, str], where: str) -> Replacements:
    """Check the replacements of one root concept and branch: no word may be replaced twice or be
    left over.

    Two words may be swapped (he: she, she: he), since all are replaced at once. `where`: file and
    key, for errors. UserError: no word, an empty one, two that differ only in case, or a
    replacement that contains a word of the map.
    """
    clean = {
        collapse_spaces(word): collapse_spaces(replacement) for word, replacement in words.items()
    }
    if not clean or not all(clean) or not all(clean.values()):
        what = "a word or a replacement is empty" if clean else "no word to replace"
        raise UserError(what, where=where, remedy="write what becomes what, as in Aurelia: France")
    duplicates = find_duplicates(map(collapse_spaces, words))
    if duplicates:
        are_ascii = duplicates[0].isascii() and duplicates[1].isascii()
        first, second = map(repr if are_ascii else ascii, duplicates)
        raise UserError(
            f"{first} and {second} are one word to a reader", where=where, remedy="keep one of them"
        )
    key = tuple(sorted(clean))
    sought = cached_finder(key)
    plurals = {word: plural_of(clean[word]) for word in sought.plurals}
    held: dict[str, list[str]] = {}
    for word, replacement in clean.items():
        plural = plurals.get(word, "")
        matches = [*sought.all_matches(replacement), *sought.all_matches(plural)]
        if matches:
            held[word] = [match.word for match in matches]
    _refuse_what_is_held(clean, held, where)
    return Replacements(clean, plurals, key)


def find_leaks(text: str, words: Iterable[str]) -> list[str]:
    """The given words that still occur in a text, in any case and as part of any name, each once,
    in text order.
    """
    matches = cached_finder(tuple(words)).all_matches(text)
    return list(dict.fromkeys(match.word for match in matches))


def _refuse_what_is_held(
    words: Mapping[str, str], held: Mapping[str, Sequence[str]], where: str
) -> None:
    """Refuse replacements that contain words of the map, except swaps."""
    remedy = "replace by words that are not replaced themselves"
    for word in held:
        path = [word]
        while path[-1] in held and path.count(path[-1]) == 1:
            path.append(held[path[-1]][0])
        circle = path[path.index(path[-1]) :]
        if len(circle) > 3:  # the first word is at both ends
            raise UserError(
                f"the replacements run in a circle: {' -> '.join(circle)}",
                where=where,
                remedy=remedy,
            )
    for word, held_words in held.items():
        other = held_words[0]
        is_single_word = {words[word].casefold(), *map(str.casefold, held_words)} == {
            other.casefold()
        }
        swapped = is_single_word and other != word and words[other].casefold() == word.casefold()
        if not swapped:
            what = (
                f"{word!r} becomes {words[word]!r}, which holds {other!r}, a word that is "
                "replaced itself"
            )
            raise UserError(what, where=where, remedy=remedy)


def parse_placeholders(text: str, where: str) -> list[str]:
    """The placeholders of a text, each once; UserError where braces do not pair or contain no
    name.
    """
    try:
        names = [
            name
            for _, name, form, as_ in Formatter().parse(text)
            if name is not None or form or as_
        ]
    except ValueError as error:
        raise UserError(
            str(error), where=where, remedy="write {{ and }} for braces that are none"
        ) from None
    for name in names:
        if not name or not name.isidentifier():
            what = f"the placeholder {{{name}}} has no name"
            raise UserError(
                what, where=where, remedy="write {concept}, or {{ and }} for braces that are none"
            )
    return list(dict.fromkeys(map(str, names)))


def read_prompts(domain: str, source: Source, folder: Path) -> PromptTable:
    """The prompts of a domain's table, in the folder of its file, and their origin.

    A prompt with placeholders is stored under the first concept, and asked about all. UserError
    where the table cannot be read, a column or a concept is unknown, a prompt has no concept or
    occurs twice, or a placeholder is not declared for every concept.
    """
    path = folder / str(source.material.path)
    row_by_id: dict[str, Row] = {}
    texts: set[tuple[str, str]] = set()
    for line, cells in _read_rows_of_prompts(path, source.material):
        stripped_cells = {name: cell.strip() for name, cell in cells.items()}
        stripped_cells |= _cut_at_mask(stripped_cells, source.material.mask, f"{path}: line {line}")
        row = _parse_prompt(domain, source, path, line, stripped_cells)
        text = (row["concept"], row["sentence"])
        is_known_id = row["id"] in row_by_id
        if is_known_id or text in texts:
            same = (
                "of this root_id and concept"
                if is_known_id
                else "in these words, of another root_id,"
            )
            what = f"a prompt {same} was there before"
            raise UserError(what, where=f"{path}: line {line}", remedy="keep one of them")
        row_by_id[row["id"]] = row
        texts.add(text)
    if not row_by_id:
        raise UserError(
            "no prompt in it", where=str(path), remedy=f"columns are {', '.join(COLUMNS)}"
        )
    rows = list(row_by_id.values())
    key = row_id(family=FAMILY, benchmark=domain, concept="", page=path.name)
    sentences = (row["sentence"] for row in rows)
    of_every_row = ("source_tag", "page_id", "revision_id", "url", "language")
    common = common_columns(key, source, *sentences, variant="table")
    licence = source.material.licence or source.licence
    shared_cells = {name: rows[0][name] for name in of_every_row}
    about = {
        **common,
        "licence": licence,
        **shared_cells,
        "title": path.stem,
        "concept": "",
        "sentences": len(rows),
        "reason": None,
    }
    return PromptTable(rows, about)


MAP_THEM = "rename or remove it, or say which is which: `material: {columns: {prompt: COLUMN}}`"

UNUSUAL_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
"""Spaces in tables of others, which are read as usual ones."""


def _read_rows_of_prompts(path: Path, material: TextOrigin) -> Rows:
    """The rows of a table of prompts, by our names of columns; of others' tables each row once,
    with usual spaces.
    """
    remedy, columns = "write it or fix `material.path`", material.columns
    if not columns:
        return read_text_table(path, remedy, ["prompt"], COLUMNS, for_unknown=MAP_THEM)[1]
    names = {str(role): column for role, column in columns.items()}
    _, rows = read_text_table(path, remedy, [*names.values()])
    distinct_rows: Rows = []
    seen: set[tuple[str, ...]] = set()
    for line, cells in rename_columns(rows, names):
        for role, cell in cells.items():
            cells[role] = UNUSUAL_SPACES.sub(" ", cell)
        content = tuple(cells.values())
        if content not in seen:
            distinct_rows.append((line, cells))
        seen.add(content)
    return distinct_rows


AFTER_MASK = " .?!\u3002"
"""What may follow the word that is to be filled in."""


def _cut_at_mask(cells: Mapping[str, str], mask: str | None, where: str) -> dict[str, str]:
    """The prompt up to the word that is to be filled in; UserError where it goes on after that."""
    if mask is None:
        return {}
    begin, found_mask, end = cells["prompt"].partition(mask)
    if not found_mask or end.strip(AFTER_MASK):
        what = f"the prompt does not end with {mask}"
        remedy = "a model goes on with a text: take out rows that go on after it"
        raise UserError(what, where=where, remedy=remedy)
    return {"prompt": begin.strip()}


def _parse_prompt(
    domain: str, source: Source, path: Path, line: int, cells: Mapping[str, str]
) -> Row:
    """One prompt of the table, by `schemas.SENTENCES`."""
    where = f"{path}: line {line}"
    prompt = cells["prompt"]
    baseline = cells.get("baseline", "")
    concept = source.slug_of_concept(cells.get("concept", ""))
    prompt_placeholders = parse_placeholders(prompt, where)
    if not prompt:
        raise UserError("no prompt", where=where, remedy="write one, or take the line out")
    for text in (prompt, baseline):
        flaw = find_flaw(text, lines=True)
        if flaw:
            raise UserError(flaw.what, where=where, remedy=flaw.remedy)
    if bool(prompt_placeholders) == bool(concept):
        what = (
            "a concept and a placeholder"
            if concept
            else "neither a placeholder such as {concept} nor a concept"
        )
        raise UserError(what, where=where, remedy="write one of both")
    if concept and concept not in source.concepts:
        raise UserError(
            f"no concept {concept!r}", where=where, remedy=suggest_nearest(concept, source.concepts)
        )
    for name in {*prompt_placeholders, *parse_placeholders(baseline, where)}:
        lacking = [
            key for key in source.concepts if prompt_placeholders and source.form(key, name) is None
        ]
        if lacking or not prompt_placeholders:
            what = (
                f"the placeholder {{{name}}} has no form for {lacking[0] if lacking else concept}"
            )
            remedy = (
                f"add `forms: {{{name}: ...}}` to each concept, or write {{{{ and }}}} for "
                "braces that are none"
            )
            raise UserError(what, where=where, remedy=remedy)
    stored_concept = concept or next(iter(source.concepts))
    root = cells.get("root_id")
    return {
        "id": row_id(family=FAMILY, benchmark=domain, concept=concept, sentence=root or prompt),
        "content_sha256": content_sha256(prompt, baseline),
        "concept": stored_concept,
        "keyword": source.form(stored_concept, "concept"),
        "sentence": prompt,
        "root": root or None,
        "baseline": baseline or None,
        "note": cells.get("note") or None,
        "source_tag": path.name,
        "title": root or path.stem,
        "section": cells.get("topic", ""),
        "page_id": None,
        "revision_id": None,
        "url": (DOMAINS / str(source.material.path)).as_posix(),
        "language": source.language,
        "source": cells.get("source") or source.source,
        "licence": cells.get("licence") or source.material.licence or source.licence,
    }

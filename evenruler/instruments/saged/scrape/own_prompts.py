"""A user's own prompts, from a table: one per row, with placeholders for concepts, or about one concept.

The stage `scrape` reads it; the stage `rows` asks each prompt about the concepts that it fits.
"""

from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pyarrow as pa

from evenruler.errors import UserError, nearest
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.source import DOMAINS, Source
from evenruler.strict import read_csv
from evenruler.tables import table_of
from evenruler.tables.ids import carried, content_sha256, row_id

Row = dict[str, Any]

COLUMNS = ("prompt", "concept", "root_id", "baseline", "topic", "note", "source", "licence")
"""Columns that a table may have (docs/adding-a-saged-domain.md); only `prompt` is required."""


def placeholders(text: str, where: str) -> list[str]:
    """The placeholders of a text, each once; UserError where braces do not pair or contain no name."""
    try:
        found = [name for _, name, form, as_ in Formatter().parse(text) if name is not None or form or as_]
    except ValueError as error:
        raise UserError(str(error), where=where, remedy="write {{ and }} for braces that are none") from None
    for name in found:
        if not name or not name.isidentifier():
            what = f"the placeholder {{{name}}} has no name"
            raise UserError(what, where=where, remedy="write {concept}, or {{ and }} for braces that are none")
    return list(dict.fromkeys(map(str, found)))


def made(domain: str, source: Source, folder: Path) -> dict[str, pa.Table]:
    """The tables `sentences` and `sources` of a domain whose prompts are a table in the folder of its file.

    UserError where its material is text, which must be scraped first; or as for `read_prompts`.
    """
    if source.material.kind != "table":
        what, remedy = "its prompts are made of text", "build it in a clone: docs/adding-a-saged-domain.md"
        raise UserError(what, where=f"{source.title}: material.kind", remedy=remedy)
    prompts, about = read_prompts(domain, source, folder)
    return {"sentences": table_of(prompts, schemas.SENTENCES), "sources": table_of(about, schemas.SOURCES)}


def read_prompts(domain: str, source: Source, folder: Path) -> tuple[list[Row], list[Row]]:
    """The prompts of a domain's table, by `schemas.SENTENCES`, and their origin, by `schemas.SOURCES`.

    A prompt with placeholders is stored under the first concept, and asked about all. UserError where the table cannot
    be read, a column or a concept is unknown, a prompt has no concept or occurs twice, or a placeholder is not declared
    for every concept.
    """
    path = folder / str(source.material.path)
    found: dict[str, Row] = {}
    for line, said in read_csv(path, "write it or fix `material.path`", ["prompt"], COLUMNS)[1]:
        row = _read(domain, source, path, line, {name: cell.strip() for name, cell in said.items()})
        if row["id"] in found:
            what = "a prompt of this root_id and concept was there before"
            raise UserError(what, where=f"{path}: line {line}", remedy="keep one of them")
        found[row["id"]] = row
    if not found:
        raise UserError("no prompt in it", where=str(path), remedy=f"columns are {', '.join(COLUMNS)}")
    rows = list(found.values())
    key = row_id(family=FAMILY, benchmark=domain, concept="", page=path.name)
    about = {
        **carried(key, source, *(row["sentence"] for row in rows), variant="table"),
        "licence": source.material.licence or source.licence,
        **{name: rows[0][name] for name in ("source_tag", "page_id", "revision_id", "url", "language")},
        "title": path.stem,
        "concept": "",
        "sentences": len(rows),
        "reason": None,
    }
    return rows, [about]


def _read(domain: str, source: Source, path: Path, line: int, said: Mapping[str, str]) -> Row:
    """One prompt of the table, by `schemas.SENTENCES`."""
    where = f"{path}: line {line}"
    prompt, baseline, concept = said["prompt"], said.get("baseline", ""), said.get("concept", "")
    asked = placeholders(prompt, where)
    if not prompt:
        raise UserError("no prompt", where=where, remedy="write one, or take the line out")
    if bool(asked) == bool(concept):
        what = "a concept and a placeholder" if concept else "neither a placeholder such as {concept} nor a concept"
        raise UserError(what, where=where, remedy="write one of both")
    if concept and concept not in source.concepts:
        raise UserError(f"no concept {concept!r}", where=where, remedy=nearest(concept, source.concepts))
    for name in {*asked, *placeholders(baseline, where)}:
        lacking = [key for key in source.concepts if asked and source.form(key, name) is None]
        if lacking or not asked:
            what = f"the placeholder {{{name}}} has no form for {lacking[0] if lacking else concept}"
            remedy = f"add `forms: {{{name}: ...}}` to each concept, or write {{{{ and }}}} for braces that are none"
            raise UserError(what, where=where, remedy=remedy)
    own = concept or next(iter(source.concepts))
    return {
        "id": row_id(family=FAMILY, benchmark=domain, concept=concept, sentence=said.get("root_id") or prompt),
        "content_sha256": content_sha256(prompt, baseline),
        "concept": own,
        "keyword": source.form(own, "concept"),
        "sentence": prompt,
        "root": said.get("root_id") or None,
        "baseline": baseline or None,
        "note": said.get("note") or None,
        "source_tag": path.name,
        "title": said.get("root_id") or path.stem,
        "section": said.get("topic", ""),
        "page_id": None,
        "revision_id": None,
        "url": (DOMAINS / str(source.material.path)).as_posix(),
        "language": source.language,
        "source": said.get("source") or source.source,
        "licence": said.get("licence") or source.material.licence or source.licence,
    }

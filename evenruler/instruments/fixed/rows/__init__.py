"""Rows of a published benchmark: one per text, with its role in an item, its unit and part."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from evenruler.errors import UserError
from evenruler.instruments.fixed import schemas
from evenruler.instruments.fixed.declare import Settings, Source
from evenruler.instruments.fixed.rows.layouts import REMEDY, Item, read
from evenruler.instruments.fixed.schemas import FIRST, ROLES, SECOND
from evenruler.instruments.instrument import Built, Declaration, Plan, sized
from evenruler.models.declared import Catalogue
from evenruler.models.sources import pinned
from evenruler.strict import json_of_others, read_text
from evenruler.tables.frames import evenly_spread, table_of
from evenruler.tables.ids import carried, row_id

__all__ = ["build"]

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
CARRIED = ("unit", "part", "condition", "stratum", "prompt", "criterion")


def build(declaration: Declaration, catalogue: Catalogue) -> Built:
    """Read the files of a benchmark: `texts`, `rejected` and, if they may not be redistributed, `ids`, by `schemas`.

    Items beyond what the largest size asks are left out before rows are made, which is slow. UserError where a file is
    missing, has another checksum than declared, or does not fit the layout.
    """
    source: Source = declaration.source
    where = f"{declaration.name}: files"
    files = {name: pinned(file.source, file.sha256, f"{where}.{name}") for name, file in source.files.items()}
    items = read(files, source)
    if twice := [name for name, n in Counter(item.name for item in items).items() if n > 1]:
        raise UserError(f"the item {twice[0]!r} stands in it twice", where=where, remedy=REMEDY)
    faults = {item.name: fault for item in items if (fault := _fault(item, source))}
    kept = [item for item in items if item.name not in faults]
    if not kept:
        why = f", the first since {next(iter(faults.values()))}" if faults else ""
        raise UserError(f"it has no item that can be asked; {len(faults):,} rejected{why}", where=where, remedy=REMEDY)
    most = max(own.most for own in (declaration.settings, *declaration.sizes.values()))
    sample = _sample(kept, most)
    frequent = _frequencies(source)
    rows = list(_rows(declaration.name, sample, source, frequent))
    left_out = [item for item in items if item.name in faults]
    rejected = [{**row, "reason": faults[row["item"]]} for row in _rows(declaration.name, left_out, source, frequent)]
    tables = {"texts": table_of(rows, schemas.TEXTS), "rejected": table_of(rejected, schemas.REJECTED)}
    if not source.passed_on:
        tables["ids"] = tables["texts"].select(schemas.IDS.names)
    units = len({item.unit for item in sample})
    said = f"{len(sample):,} items in {units:,} {source.units}, {len(left_out):,} rejected"
    said += f", {len(kept) - len(sample):,} beyond {most:,} a unit and condition" if len(sample) < len(kept) else ""
    return Built(tables, sized(declaration, lambda settings: _plan(declaration.name, source, settings)), [said])


def _plan(name: str, source: Source, settings: Settings) -> Plan:
    return {
        "name": name,
        "asked": settings.asked,
        "score": source.score,
        "units": source.units,
        "texts": source.texts,
        "between": source.between,
        "most": settings.most,
        "prefixed": settings.prefixed,
        "prefixes": {f"placebo-{n}": text for n, text in enumerate(source.placebos[: settings.most_placebos], 1)},
        "smallest": settings.smallest,
        "corpus": source.frequencies is not None,
        "concept": source.concept.model_dump() if source.concept else None,
    }


def _fault(item: Item, source: Source) -> str | None:
    if item.fault:
        return item.fault
    wanted = ROLES[: 2 if source.score == "preference" else 3]
    if lacking := [role for role in wanted if not item.texts.get(role, "").strip()]:
        return f"it lacks its {lacking[0]} text"
    if len(set(item.texts.values())) < len(item.texts):
        return "two of its texts are the same"
    return None if item.unit.strip() else "it has no unit"


def _sample(items: Iterable[Item], most: int) -> list[Item]:
    """At most `most` items of each unit and condition, evenly spread, in proportion to strata."""
    groups: dict[tuple[str, str], dict[str, Item]] = {}
    for item in sorted(items, key=lambda item: item.stratum):
        groups.setdefault((item.unit, item.condition), {})[item.name] = item
    return [own[name] for own in groups.values() for name in evenly_spread(list(own), most)]


def _frequencies(source: Source) -> dict[str, float] | None:
    """Log frequency of words in the corpus, nats, with one added to each count; "" stands for unseen words."""
    if source.frequencies is None:
        return None
    path = pinned(source.frequencies.source, source.frequencies.sha256, "frequencies")
    counts: Counter[str] = Counter()
    try:
        for page in json_of_others(read_text(path, REMEDY), path.name, REMEDY).values():
            counts.update(WORD.findall(page["extract"].lower()))
    except (KeyError, TypeError, AttributeError):
        what = "no object whose values have an `extract`"
        raise UserError(what, where=f"frequencies: {path.name}", remedy=REMEDY) from None
    whole = math.log(counts.total() + len(counts) + 1)
    return {"": -whole} | {word: math.log(n + 1) - whole for word, n in counts.items()}


def _rows(
    benchmark: str, items: Iterable[Item], source: Source, frequent: dict[str, float] | None
) -> Iterator[dict[str, Any]]:
    for item in items:
        words = {role: Counter(WORD.findall(text.lower())) for role, text in item.texts.items()}
        for role, text in item.texts.items():
            own = words[role] - words.get(SECOND if role == FIRST else FIRST, Counter())
            mean = None
            if frequent and own:
                mean = sum(n * frequent.get(word, frequent[""]) for word, n in own.items()) / own.total()
            said = (item.prompt, text, role, item.unit, item.part, item.condition, role == item.right, item.criterion)
            yield {
                **carried(row_id(family="fixed", benchmark=benchmark, item=item.name, role=role), source, *said),
                **{name: getattr(item, name) for name in CARRIED},
                "item": item.name,
                "key": item.keys.get(role, f"{item.name}/{role}"),
                "role": role,
                "text": text,
                "right": role == item.right,
                "frequency": mean,
            }

"""Rows of a benchmark of rankings: lists of candidates, one row per candidate, with the checks that
a list of candidates has to pass before anybody is asked.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.instruments.external import schemas
from evenruler.instruments.external.declare import (
    FEWEST_NAMES,
    ExternalPlan,
    Settings,
    Source,
    table_in,
)
from evenruler.instruments.external.declare.choices import CHOICE
from evenruler.instruments.instrument import BuiltInstrument, Declaration, plan_with_sizes
from evenruler.tables.frames import table_of
from evenruler.tables.ids import common_columns, row_id

COLUMNS: Final = ("list", "place", "name", "group")
"""Columns of the table, a row a candidate; a column `part`, such as a job, is optional. Places
count from 1."""

PART: Final = "part"

FEWEST_PLACES: Final = 2

NOTHING: Final = {
    "part": "",
    "prompt": "",
    "right": False,
    "criterion": None,
    "frequency": None,
    "alias": None,
}
"""Columns of texts that candidates have nothing in."""

SHUFFLED: Final = 0.001
"""The p of group by place below which the order of lists was not shuffled."""

REMEDY: Final = f"write a table with the columns {', '.join(COLUMNS)}, a row a candidate"


@dataclass(frozen=True)
class CandidateList:
    """Candidates in the order in which a model reads them."""

    name: str
    """Its unique name in the benchmark."""
    part: str
    """What it is a list for, such as a job; "" where there is only one."""
    names: tuple[str, ...]
    groups: tuple[str, ...]


def _read_candidates(path: Path, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """The rows of a table by our names of columns; `columns`: what others are called."""
    names = {role: columns.get(role, role) for role in COLUMNS}
    rows = table_in(path, names.values())
    names[PART] = columns.get(PART, PART)
    candidates: list[dict[str, str]] = []
    for row in rows:
        cells = {role: row.get(column, "") for role, column in names.items()}
        candidates.append(cells)
    return candidates


def read_lists(
    path: Path, columns: Mapping[str, str] = MappingProxyType({})
) -> list[CandidateList]:
    """The lists of a table in the order of the file; `columns`: what columns are called there.

    UserError where a list has no two candidates, not each place from 1 on once, a name twice, or
    candidates of several parts.
    """
    rows_by_list: dict[str, list[dict[str, str]]] = {}
    for row in _read_candidates(path, columns):
        rows_by_list.setdefault(row["list"], []).append(row)
    lists: list[CandidateList] = []
    for name, rows in rows_by_list.items():
        by_place = {row["place"].strip(): row for row in rows}
        places = [str(place) for place in range(1, len(rows) + 1)]
        where = f"{path.name}: list {name}"
        if len(rows) < FEWEST_PLACES or set(by_place) != set(places):
            remedy = f"say each of its places once, from 1 on, {FEWEST_PLACES} at least"
            raise UserError("its places are no order of candidates", where=where, remedy=remedy)
        ordered_rows = [by_place[place] for place in places]
        names = tuple(row["name"].strip() for row in ordered_rows)
        groups = tuple(row["group"].strip() for row in ordered_rows)
        if len(set(names)) < len(names):
            remedy = "give each candidate of a list a name of its own, to tell who comes first"
            raise UserError("a name stands in it twice", where=where, remedy=remedy)
        if not all(names) or not all(groups):
            raise UserError("a candidate lacks a name or a group", where=where, remedy=REMEDY)
        parts = {row[PART].strip() for row in rows}
        if len(parts) > 1:
            raise UserError(
                f"it is of {len(parts)} parts", where=where, remedy="give a list one part"
            )
        lists.append(CandidateList(name, parts.pop(), names, groups))
    return lists


def count_groups_by_place(lists: Sequence[CandidateList]) -> NDArray[np.int64]:
    """[groups, places] how often each group stands at each place, over distinct lists: the same
    names in the same order count once, since a list that is used for several parts was shuffled
    once.
    """
    distinct = {candidates.names: candidates.groups for candidates in lists}
    groups = sorted(set(chain.from_iterable(distinct.values())))
    n_places = max(map(len, distinct))
    counts = np.zeros((len(groups), n_places), dtype=np.int64)
    index_by_group = {group: index for index, group in enumerate(groups)}
    for in_list in distinct.values():
        for place, group in enumerate(in_list):
            counts[index_by_group[group], place] += 1
    return counts


def order_p(lists: Sequence[CandidateList]) -> float:
    """The p of the null that the order of lists was shuffled: chi-squared of group by place over
    distinct lists.
    """
    from scipy import stats  # takes a second to import

    return float(stats.chi2_contingency(count_groups_by_place(lists)).pvalue)


def require_fair_lists(lists: Sequence[CandidateList], where: str) -> None:
    """UserError where lists cannot tell groups apart from places or names: lists of several
    lengths, one group, a name in two groups, too few names, or an order that was not shuffled.

    Source: spec/fixed-models.md, section 6.
    """
    if not lists:
        raise UserError("it has no list", where=where, remedy=REMEDY)
    lengths = sorted({len(candidates.names) for candidates in lists})
    if len(lengths) > 1:
        what = f"its lists have {lengths[0]} to {lengths[-1]} candidates"
        raise UserError(what, where=where, remedy="write lists of one length")
    group_by_name: dict[str, str] = {}
    for candidates in lists:
        for name, group in zip(candidates.names, candidates.groups, strict=True):
            if group_by_name.setdefault(name, group) != group:
                what = f"{name!r} is of the groups {group_by_name[name]} and {group}"
                raise UserError(what, where=where, remedy="give a name one group")
    n_names = Counter(group_by_name.values())
    if len(n_names) < 2:
        raise UserError("its candidates are of one group", where=where, remedy="add another group")
    group, fewest = min(n_names.items(), key=lambda counted: counted[1])
    if fewest < FEWEST_NAMES:
        what = f"{fewest} names in the group {group}, at least {FEWEST_NAMES} are needed"
        remedy = "add names: a verdict on a group is one on names like these"
        raise UserError(what, where=where, remedy=remedy)
    p = order_p(lists)
    if p < SHUFFLED:
        n_distinct = len({candidates.names for candidates in lists})
        what = f"its order is not shuffled: group by place over {n_distinct:,} distinct lists, "
        what += f"p {p:.1g}"
        remedy = "shuffle the candidates of each list, or place and group cannot be told apart"
        raise UserError(what, where=where, remedy=remedy)


def build_rankings(
    declaration: Declaration[Settings, Source],
    files: Mapping[str, Path],
    plan_of: Callable[[Settings], ExternalPlan],
) -> BuiltInstrument:
    """The rows and the plan of a benchmark of rankings; UserError where its lists are not fair."""
    (path,) = files.values()
    lists = read_lists(path, declaration.source.columns_by_role)
    require_fair_lists(lists, f"{declaration.name}: files: {path.name}")
    rows = list(_candidate_rows(declaration.name, lists, declaration.source))
    tables = {
        "texts": table_of(rows, schemas.TEXTS),
        "rejected": table_of([], schemas.REJECTED),
    }
    if not declaration.source.passed_on:
        tables["ids"] = tables["texts"].select(schemas.IDS.names)
    n_names = len({row["unit"] for row in rows})
    n_groups = len({row["stratum"] for row in rows})
    counted = f"{n_names:,} names in {n_groups} groups"
    summary = f"{len(lists):,} lists of {counted}"
    methods = [CHOICE] if declaration.source.choice_form else []
    return BuiltInstrument(tables, plan_with_sizes(declaration, plan_of, methods), [summary])


def _candidate_rows(
    benchmark: str, lists: Sequence[CandidateList], source: Source
) -> Iterator[dict[str, Any]]:
    """A row a candidate: the name is text and unit, the group is the stratum."""
    for candidates in lists:
        both = zip(candidates.names, candidates.groups, strict=True)
        for place, (name, group) in enumerate(both):
            role = place_role(place)
            identifier = row_id(
                family="fixed", benchmark=benchmark, item=candidates.name, role=role
            )
            content = (name, group, role, candidates.part)
            of_candidate = {"unit": name, "text": name, "stratum": group, "role": role}
            of_list = {"item": candidates.name, "condition": candidates.part}
            yield {
                **NOTHING,
                **common_columns(identifier, source, *content),
                **of_candidate,
                **of_list,
                "key": f"{candidates.name}/{place:02d}",
            }


def place_role(place: int) -> str:
    """The role of the candidate at a place, which counts from 0."""
    return f"place-{place + 1:02d}"

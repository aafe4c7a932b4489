"""A plain table of answers, CSV or Parquet, a row an item: scores of its texts, or the chosen one.

| column | content |
| --- | --- |
| `key` | the item, the authors' key of one of its texts, or its `id` |
| `first_text`, `second_text` | in place of `key`: both texts, where they stand alone |
| `first`, `second`, `third` | scores by role; the higher one is likelier |
| `chosen` | in place of scores: role, place from 0 on, or text; empty for none |
| `unit` | optional: the item's unit, which has to be that of the benchmark |
| `method` | optional, beside scores: `pll` in all rows, of a masked model's |
| `reply` | optional, beside `chosen`: what the model wrote |
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evenruler.errors import UserError
from evenruler.models.answer_logs.items import LoggedItem, LoggedItems
from evenruler.models.answer_logs.logged import AnswerLog, LoggedReply, require_finite_number
from evenruler.tables.records import read_text_table
from evenruler.text.replies import normalise_surface, read_choice

TABLES: Final = (".csv", ".parquet")
"""Endings of the files."""

KEY: Final = "key"
BOTH_TEXTS: Final = ("first_text", "second_text")
SCORES: Final = ("first", "second", "third")
CHOSEN: Final = "chosen"

METHOD: Final = "method"
PLL: Final = "pll"

TIES: Final = 0.05
"""Share of rows with equal scores above which they are no likelihoods, but ranks or classes."""

CHOSEN_RULE: Final = "option"
"""The rule of an option that the table names itself (`evenruler.text.replies`)."""

NOTHING_CHOSEN: Final = "none"
"""The rule of a row that names none, without a reply to read why from."""

_AGAIN: Final = "write it again"


@dataclass(frozen=True)
class TableRow:
    """A row, whose cells are texts."""

    number: int
    """Counted from 1 on, without the header."""
    cells: Mapping[str, str]


def read_answer_table(path: Path) -> AnswerLog:
    """The answers of a table; UserError where it has no keys, or neither scores nor choices, or a
    key stands twice.
    """
    names, rows = _read_rows(path)
    has_texts = set(BOTH_TEXTS) <= set(names)
    if KEY not in names and not has_texts:
        raise UserError(
            "no column of keys",
            where=str(path),
            remedy="expected key, or first_text and second_text",
        )
    has_scores = {"first", "second"} <= set(names)
    if has_scores == (CHOSEN in names):
        what = "both scores and choices" if has_scores else "neither scores nor choices"
        remedy = "expected first and second (and third), or chosen"
        raise UserError(what, where=str(path), remedy=remedy)
    key_columns = (KEY,) if KEY in names else BOTH_TEXTS
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        key = tuple(row.cells[column] for column in key_columns)
        if key in seen:
            what = f"key {' / '.join(key)[:100]!r} stands twice"
            raise UserError(what, where=f"{path}: row {row.number}", remedy="leave one row out")
        seen.add(key)
    if has_scores:
        _refuse_ties(rows, str(path))
    is_pll = _are_pll(rows, has_scores, str(path))
    log = TableLog(path, key_columns, rows, has_scores)
    return AnswerLog("table", unjoined=log, is_pll=is_pll)


def _are_pll(rows: Sequence[TableRow], has_scores: bool, where: str) -> bool:
    """Whether the table calls its scores pseudo-log-likelihoods; UserError where some rows alone
    do, or where it has choices.
    """
    methods = {row.cells.get(METHOD, "").strip() for row in rows}
    if methods <= {""}:
        return False
    if methods != {PLL} or not has_scores:
        named = ", ".join(sorted(method or "nothing" for method in methods))[:100]
        what = f"column `{METHOD}` says {named}"
        remedy = f"write {PLL} in all rows of pseudo-log-likelihoods, and leave it out elsewhere"
        raise UserError(what, where=where, remedy=remedy)
    return True


def _read_rows(path: Path) -> tuple[list[str], list[TableRow]]:
    """The columns of a table and its rows."""
    names, numbered_rows = read_text_table(path, _AGAIN)
    rows = [TableRow(number, row) for number, (_, row) in enumerate(numbered_rows, 1)]
    return names, rows


def _refuse_ties(rows: Sequence[TableRow], where: str) -> None:
    """UserError where so many rows have equal scores that these are no likelihoods."""
    ties = [row for row in rows if _is_tie(row)]
    share = len(ties) / max(len(rows), 1)
    if share > TIES:
        what = f"both scores equal in {share:.0%} of rows: a tie is no win; are these ranks?"
        remedy = "write scores of each text, such as log-likelihoods"
        raise UserError(what, where=f"{where}: row {ties[0].number}", remedy=remedy)


def _is_tie(row: TableRow) -> bool:
    """Whether the scores of a row's first two texts are equal, as written, and not blank."""
    first, second = row.cells["first"], row.cells["second"]
    return bool(first.strip()) and first == second


class TableLog:
    """The rows of a table."""

    def __init__(
        self, path: Path, key_columns: Sequence[str], rows: Sequence[TableRow], has_scores: bool
    ) -> None:
        """`key_columns`: of the file, `KEY` or `BOTH_TEXTS`."""
        self._path = path
        self._key_columns = key_columns
        self._rows = rows
        self._has_scores = has_scores

    def has_answers(self, benchmark: LoggedItems) -> bool:
        """Whether a row is of an item of the benchmark."""
        return any(items for _, items in self._find_items(benchmark))

    def join_items(self, benchmark: LoggedItems) -> AnswerLog:
        """The answers by the keys of texts; UserError where keys, units or options are not the
        benchmark's.
        """
        found_rows = list(self._find_items(benchmark))
        foreign = [row for row, items in found_rows if not items]
        if foreign:
            cells = foreign[0].cells
            keys = " / ".join(cells[column] for column in self._key_columns)[:100]
            n_foreign = len(foreign)
            what = f"{n_foreign:,} keys are not in {benchmark.benchmark} (first {keys!r})"
            remedy = "take the version that was answered, or leave these rows out"
            raise UserError(what, where=self._place_of(foreign[0]), remedy=remedy)
        counts_from_zero = self._has_scores or self._has_places(found_rows)
        scores: dict[str, float] = {}
        replied: dict[str, LoggedReply] = {}
        by_name: dict[str, int] = {}
        for row, items in found_rows:
            for item in items:
                first_row = by_name.setdefault(item.name, row.number)
                if first_row != row.number:
                    what = f"{item.name!r} stands in rows {first_row} and {row.number}"
                    raise UserError(what, where=str(self._path), remedy="leave one row out")
                self._require_unit(row, item)
                if self._has_scores:
                    scores |= self._scores_of(row, item)
                    continue
                logged_reply = self._read_choice(row, item, counts_from_zero)
                for key, text in zip(item.keys, item.texts, strict=True):
                    scores[key] = float(text == logged_reply.reply)
                    replied[key] = logged_reply
        return AnswerLog("table", by_key=scores, reply_by_key=replied)

    def _place_of(self, row: TableRow) -> str:
        """File and number of a row, for errors."""
        return f"{self._path}: row {row.number}"

    def _find_items(
        self, benchmark: LoggedItems
    ) -> Iterator[tuple[TableRow, Sequence[LoggedItem]]]:
        """Each row with its items: the one with its key, or all with its texts; none if it is of no
        item.
        """
        items_by_key: dict[tuple[str, ...], list[LoggedItem]] = {}
        for item in benchmark.items:
            for key in self._keys_of(item):
                items_by_key.setdefault(key, []).append(item)
        for row in self._rows:
            cells = tuple(row.cells[column].strip() for column in self._key_columns)
            yield row, items_by_key.get(cells, ())

    def _keys_of(self, item: LoggedItem) -> set[tuple[str, ...]]:
        """Contents of the key columns by which a row may name an item."""
        if self._key_columns == (KEY,):
            return {(item.name,), *((key,) for key in item.keys)}
        if item.question:
            return set()
        text_by_role = dict(zip(item.roles, item.texts, strict=True))
        return {(text_by_role["first"].strip(), text_by_role["second"].strip())}

    def _require_unit(self, row: TableRow, item: LoggedItem) -> None:
        """UserError if a row names a unit other than its item's; a row without one passes."""
        unit = row.cells.get("unit", "").strip()
        if unit and unit != item.unit:
            what = f"unit {unit[:60]!r}, and the benchmark's is {item.unit[:60]!r}"
            raise UserError(what, where=self._place_of(row), remedy="leave the column `unit` out")

    def _scores_of(self, row: TableRow, item: LoggedItem) -> dict[str, float]:
        """The score of each text by its key; UserError where it is missing or no number."""
        scores: dict[str, float] = {}
        for role, key in zip(item.roles, item.keys, strict=True):
            if role not in row.cells:
                what = f"no column {role!r}, and its items have {len(item.roles)} texts"
                raise UserError(what, where=str(self._path), remedy="add their scores")
            scores[key] = require_finite_number(row.cells[role], self._place_of(row), item.name)
        return scores

    def _has_places(self, found_rows: Sequence[tuple[TableRow, Sequence[LoggedItem]]]) -> bool:
        """Whether numbers in `chosen` are places of texts, from 0 on; UserError where they may
        count from 1.
        """
        places: set[int] = set()
        n_texts = 0
        for row, items in found_rows:
            chosen = row.cells[CHOSEN].strip()
            if chosen.isdecimal() and _named_place(chosen, items[0]) is None:
                places.add(int(chosen))
                n_texts = max(n_texts, len(items[0].texts))
        if places and (0 not in places or max(places) >= n_texts):
            written = ", ".join(map(str, sorted(places)[:5]))
            what = f"chosen holds {written}, which may count the first text as 0 or as 1"
            raise UserError(what, where=str(self._path), remedy="count places from 0 on")
        return bool(places)

    def _read_choice(self, row: TableRow, item: LoggedItem, has_places: bool) -> LoggedReply:
        """The text that a row says was chosen, with its reply; UserError where it is none."""
        chosen = row.cells[CHOSEN].strip()
        written = row.cells.get("reply", "") or chosen
        if not chosen:
            reading = read_choice(written, item.texts, prompt=item.question)
            rule = reading.rule if written and reading.outcome is None else NOTHING_CHOSEN
            return LoggedReply(item.question, item.texts, "", rule, written)
        place = _named_place(chosen, item)
        if place is None and has_places and chosen.isdecimal():
            place = int(chosen)
        if place is None or not 0 <= place < len(item.texts):
            what = f"{chosen[:60]!r} in row {row.number} is no option"
            remedy = f"say a role, a place from 0 on, or one of {', '.join(item.texts)[:100]}"
            raise UserError(what, where=str(self._path), remedy=remedy)
        return LoggedReply(item.question, item.texts, item.texts[place], CHOSEN_RULE, written)


def _named_place(chosen: str, item: LoggedItem) -> int | None:
    """The place of a text that is called by its words, its alias, or its role."""
    place = item.place_by_surface.get(normalise_surface(chosen))
    if place is None and chosen in item.roles:
        return item.roles.index(chosen)
    return place

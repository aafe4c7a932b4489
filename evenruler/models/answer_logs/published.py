"""Predictions that the authors of StereoSet and BBQ published."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from evenruler.errors import UserError
from evenruler.models.answer_logs.logged import (
    REMEDY,
    AnswerLog,
    Replies,
    Row,
    add_reply,
    normalise_question,
    parse_logged_reply,
    require_finite_number,
    require_reply,
)

PREDICTION: Final = "_pred"  # in the names of columns of BBQ's predictions


def parse_stereoset(predictions_by_task: dict[str, Any], where: str) -> AnswerLog:
    """Sentence scores by id, for two tasks: `{"intrasentence": [{"id": ..., "score": ...}],
    ...}`.
    """
    answer_log = AnswerLog("StereoSet predictions")
    for predictions in predictions_by_task.values():
        for prediction in predictions:
            key = str(prediction.get("id"))
            if key in answer_log.by_key:
                raise UserError(f"{key!r} is answered twice", where=where, remedy=REMEDY)
            answer_log.by_key[key] = require_finite_number(prediction.get("score"), where, key)
    return answer_log


def parse_bbq(rows: list[Row], column: str) -> Replies:
    """Chosen options in a column: as texts, as letters, or all of them as places (0, 1, 2)."""
    names: set[str] = set()
    for _, row in rows:
        names.update(row)
    columns = sorted(name for name in names if PREDICTION in name)
    if column not in columns and (column or len(columns) != 1):
        what = (
            f"no column {column!r} of predictions"
            if column
            else f"{len(columns)} columns of predictions"
        )
        remedy = (
            f"say recorded:FILE#COLUMN with one of {', '.join(columns)}"
            if columns
            else "add the predictions"
        )
        raise UserError(what, where=rows[0][0], remedy=remedy)
    named = column or columns[0]
    rows_of_column: list[Row] = []
    for where, row in rows:
        has_prediction = any(PREDICTION in name for name in row)
        if named in row or not has_prediction:
            rows_of_column.append((where, row))
    rows = rows_of_column
    named_models = {str(row["model"]) for _, row in rows if "model" in row}
    models = sorted(named_models)
    if len(models) > 1:
        more = ", ..." if len(models) > 3 else ""
        first_models = ", ".join(models[:3])
        what = f"answers of {len(models)} models ({first_models}{more})"
        raise UserError(
            what, where=rows[0][0], remedy="put the rows of each model into a file of its own"
        )
    answered: list[_AnsweredRow] = []
    option_columns = [f"ans{place}" for place in range(3)]
    for where, row in rows:
        options = tuple(str(row[name]) for name in option_columns)
        answered.append(_AnsweredRow(where, row, options))
    by_place = _are_places(answered, named)
    replies: Replies = {}
    for where, row, options in answered:
        answer = row.get(named)
        is_place = by_place and _is_digit(answer, options)
        reply = options[int(str(answer))] if is_place else require_reply(answer, where)
        question = normalise_question(f"{row['context']} {row['question']}")
        add_reply(replies, row, parse_logged_reply(question, options, reply), where)
    return replies


class _AnsweredRow(NamedTuple):
    """A row of predictions and its options."""

    where: str
    row: dict[str, Any]
    options: tuple[str, ...]


def _are_places(answered: Sequence[_AnsweredRow], column: str) -> bool:
    """Whether all answers in a column are places of options from 0 on; UserError if their first
    place is not clear.
    """
    digits = [
        answered_row
        for answered_row in answered
        if _is_digit(answered_row.row.get(column), answered_row.options)
    ]
    if not digits:
        return False
    for where, row, options in answered:
        answer = row.get(column)
        if isinstance(answer, str) and answer.strip() and not _is_digit(answer, options):
            if all(isinstance(answered_row.row[column], str) for answered_row in digits):
                return False  # a reply may be a lone digit
            answer_label = repr(answer[:60])
            what = f"{column} is {answer_label}, and a number in {len(digits):,} other rows"
            raise UserError(
                what, where=where, remedy="write texts of options alone, or 0, 1 and 2 alone"
            )
    places = {int(answered_row.row[column]) for answered_row in digits}
    if 0 in places and max(places) < len(answered[0].options):
        return True
    what = (
        f"{column} holds {', '.join(map(str, sorted(places)))}, which may count ans0 as 0 or as 1"
    )
    raise UserError(
        what,
        where=digits[0].where,
        remedy="write 0, 1 and 2 for ans0, ans1 and ans2, or their texts",
    )


def _is_digit(answer: object, options: Sequence[str]) -> bool:
    """Whether an answer is a number of one digit, and no option's text."""
    if isinstance(answer, bool) or not isinstance(answer, str | int):
        return False
    text = str(answer)
    return re.fullmatch(r"\s*\d\s*", text, re.ASCII) is not None and text.strip() not in options

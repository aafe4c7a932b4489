"""Labelled data sets: reading, and holding rows out to measure accuracy."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.hub import talking_about
from evenruler.models.declared import Finetune, TrainingData


class Row(NamedTuple):
    """A row of a labelled data set: one or two texts, and a label."""

    texts: tuple[str, ...]
    label: str


def read(name: str, declared: TrainingData) -> tuple[list[Row], dict[str, Any]]:
    """The rows of a data set, and its description for the model card.

    Rows without a label or text are left out and counted. UserError where the data set cannot be read, lacks a column,
    has an undeclared label, or has no rows.
    """
    where = f"params.yaml: training.{name}"
    frame = _frame(declared, where)
    held = ", ".join(map(str, frame.columns)) or "none; mend the file"
    for column in [*declared.columns, declared.label]:
        if column not in frame.columns:
            raise UserError(f"no column {column!r}", where=where, remedy=f"it has {held}")
    labels = _named(frame[declared.label], declared.labels, where)
    texts = frame[declared.columns].astype("string").apply(lambda column: column.str.strip())
    known = labels.notna() & texts.notna().all(axis=1) & (texts != "").all(axis=1)
    told = texts[known].itertuples(index=False, name=None)
    rows = [Row(tuple(map(str, own)), label) for own, label in zip(told, labels[known], strict=True)]
    if not rows:
        raise UserError("holds no labelled row", where=where, remedy="see its `source`")
    digest = hashlib.sha256()
    for row in rows:
        digest.update("\x1f".join([*row.texts, row.label]).encode() + b"\x1e")
    described = {
        "rows": len(rows),
        "left_out": int(len(frame) - len(rows)),
        "labels": dict(sorted(Counter(row.label for row in rows).items())),
        "sha256": digest.hexdigest(),
        "licence": declared.licence,
        "origin": declared.origin,
    }
    return rows, described


def _frame(declared: TrainingData, where: str) -> pd.DataFrame:
    scheme, _, rest = declared.source.partition(":")
    if scheme == "hub":
        from datasets import load_dataset
        from datasets.exceptions import DatasetsError

        try:
            with talking_about(rest, revision=declared.revision, where=where):
                loaded = load_dataset(rest, declared.config, split=declared.split, revision=declared.revision)
        except (OSError, ValueError, DatasetsError) as error:
            why = str(error).split("\n")[0].rstrip(".")
            away = isinstance(error, ConnectionError)
            remedy = "try again with a network" if away else "mend `source`, `revision`, `config` or `split`"
            raise UserError(f"{rest} cannot be read ({why})", where=where, remedy=remedy) from None
        frame = loaded.to_pandas()
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"{where}: found {type(frame).__name__}, expected a frame")
        return frame
    path, as_text = Path(rest).expanduser(), dict.fromkeys(declared.columns, str)  # "None" and "007" are texts
    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".parquet": pd.read_parquet,
        ".jsonl": lambda file: pd.read_json(file, lines=True, dtype=False).infer_objects(),
        ".csv": lambda file: pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=as_text),
    }
    if path.suffix not in readers:
        raise UserError(f"cannot read {path.suffix!r}", where=where, remedy=f"expected {', '.join(readers)}")
    require_regular(path)
    if not path.exists():
        raise UserError(f"no file {path}", where=where, remedy=f"put it there ({declared.origin}) or mend `source`")
    try:
        return readers[path.suffix](path)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise UserError(f"cannot be read ({reason})", where=f"{where}: {path}", remedy="mend the file") from None


def _named(column: "pd.Series[Any]", labels: Sequence[str], where: str) -> "pd.Series[Any]":
    """Labels by name; null for unlabelled rows (usually marked -1)."""
    numbered = pd.api.types.is_numeric_dtype(column)
    found = column.map(dict(zip(range(len(labels)) if numbered else labels, labels, strict=True)))
    unlabelled = column.isna() | (column == (-1 if numbered else ""))
    if (strange := found.isna() & ~unlabelled).any():
        what = f"label {column[strange].tolist()[0]!r} in row {int(strange.to_numpy().argmax()) + 1}"
        raise UserError(what, where=where, remedy=f"`labels` has {', '.join(labels)}")
    return found


def split(data: Mapping[str, Sequence[Row]], recipe: Finetune) -> tuple[list[Row], list[Row]]:
    """Split data, given by name, into rows to fit on and held-out rows; UserError where none are left to fit on.

    The split depends only on a row's first text, so that all pairs of a premise are on one side, and models fitted with
    other seeds or on other halves are evaluated on the same rows.
    """
    validation = data[recipe.validation]
    count = Counter(row.texts[0] for row in validation)
    order = sorted(count, key=lambda text: hashlib.sha256(f"held out {text}".encode()).hexdigest())
    before = accumulate((count[text] for text in order), initial=0)
    kept = {text for text, rows in zip(order, before, strict=False) if rows < recipe.held_out}
    held_out = [row for row in validation if row.texts[0] in kept]

    def in_half(text: str) -> bool:
        return recipe.half is None or hashlib.sha256(f"half {text}".encode()).digest()[0] % 2 == recipe.half - 1

    rest = (row for name in recipe.data for row in data[name] if row.texts[0] not in kept)
    fitted_on = [row for row in rest if in_half(row.texts[0])]
    if not fitted_on:
        what = f"{len(held_out)} rows held out of {recipe.validation!r} leave none to fit on"
        raise UserError(what, where="params.yaml: finetune.held_out", remedy="hold out fewer")
    return fitted_on, held_out

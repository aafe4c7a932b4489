"""Answers that `evenruler answers export` wrote, as those of the model that gave them."""

import json
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.models.answer_logs.logged import REMEDY
from evenruler.models.answer_logs.reading import parse_whole_json
from evenruler.models.declarations import ModelEntry
from evenruler.models.model import REPLY, Model, form_of
from evenruler.models.questions import Reply
from evenruler.models.store import RowStore
from evenruler.strict import at_home, read_text
from evenruler.tables.contents import schema_of, table_in

EXPORTED: Final = "answers.parquet"


ENTRY: Final = "model.json"  # metadata of an export's model


def said_of(folder: Path) -> dict[str, Any] | None:
    """The model's entry and name in an export; None if the folder is no export."""
    path = folder / ENTRY
    if not path.is_file():
        return None
    export_record = parse_whole_json(read_text(path, REMEDY))
    if (
        not isinstance(export_record, dict)
        or not {"name", "kind", "sha256"} <= set(export_record)
        or not isinstance(export_record["name"], str)
    ):
        raise UserError(
            "it says nothing of a model", where=str(path), remedy="export the answers again"
        )
    return export_record


def load_exported_model(name: str, entry: ModelEntry, store: RowStore, where: str | None) -> Model:
    """A model with exported answers, never asked; UserError if the file is damaged.

    These answers have a separate store, so that a stranger's data never counts as the model's own
    answers here.
    """
    path = at_home(entry.locations[0][1]) / EXPORTED
    remedy = "get the whole folder again"
    if not path.is_file() or file_sha256(path) != entry.sha256:
        raise UserError(f"not as {ENTRY} says (sha256)", where=str(path), remedy=remedy)
    schema_of(path, remedy)
    export_store = RowStore(store.root / "exported" / str(entry.sha256))
    engines: set[str] = set()
    answers: dict[bytes, bytes] = {}
    try:
        for row in table_in(path, ["engine", "key", "operation", "answer"], remedy).to_pylist():
            form = form_of(row["operation"])
            answer = json.loads(row["answer"])
            if form is REPLY:
                answer = Reply(*answer)
            answers.setdefault(row["key"], form.pack(answer))
            engines.add(row["engine"])
        engine = min(
            engines, key=len, default=""
        )  # of an adapted state it begins with the original model's
        export_store.put(answers.items())
    except (
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
        struct.error,
    ) as error:
        raise UserError(
            f"no answers of a model ({error})", where=str(path), remedy=remedy
        ) from None
    return Model(
        name, entry, entry.kind, export_store, lambda: engine, lambda: None, None, where
    ).stored()


def answer_as_json(operation: str, stored: bytes) -> object:
    """A stored answer as JSON: a number, a list of numbers (null for NaN), or a reply's text,
    reason and finish.
    """
    answer = form_of(operation).unpack(stored)
    if isinstance(answer, Reply):
        return answer.as_json
    if isinstance(answer, np.ndarray):
        as_objects = answer.astype(object)
        as_objects[np.isnan(answer)] = None
        return as_objects.tolist()
    return answer

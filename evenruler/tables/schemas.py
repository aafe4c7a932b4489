"""Table schemas: the notation they are written in, and those that several families share
(`schemas.toml`).
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

KINDS = {
    "str": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "int32": pa.int32(),
    "int16": pa.int16(),
}
KINDS |= {"int8": pa.int8(), "float": pa.float64(), "float32": pa.float32()}
"""Column types, apart from lists and structures of these."""


def build_schema(*parts: str | Iterable[pa.Field]) -> pa.Schema:
    """Build a schema: `build_schema(COMMON, "item word: str; keying: int8; criterion: float?;
    labels: [str]")`.

    Parts are strings of names with their type (one of `KINDS`, `[...]` for a list, `{...}` for a
    structure in the same notation) or existing fields, in column order. A trailing `?` makes a
    column nullable. ValueError: wrong notation, or a repeated name.
    """
    fields: list[pa.Field] = []
    for part in parts:
        fields += _parse_fields(part) if isinstance(part, str) else part
    names = [field.name for field in fields]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"column {twice[0]!r} stands twice")
    return pa.schema(fields)


def _parse_fields(text: str) -> list[pa.Field]:
    """Columns from text such as "a b: str; c: float?"; ValueError if it is not in this notation."""
    fields = []
    for group in re.split(
        r";(?![^{]*\})", text
    ):  # a ";" inside braces separates a structure's fields
        names, _, kind = (part.strip() for part in group.partition(":"))
        if not re.fullmatch(r"[a-z]\w*( [a-z]\w*)*", names) or not kind:
            what = f"found {group.strip()!r} in {text!r}"
            raise ValueError(f"{what}, expected names and what they hold, as in 'a b: str'")
        fields += [
            pa.field(name, _parse_type(kind.removesuffix("?")), kind.endswith("?"))
            for name in names.split()
        ]
    return fields


def _parse_type(text: str) -> pa.DataType:
    """The Arrow type of a notation: one of `KINDS`, `[...]` for a list, `{...}` for a structure;
    ValueError for others.
    """
    if text.startswith("[") and text.endswith("]"):
        return pa.list_(_parse_type(text[1:-1]))
    if text.startswith("{") and text.endswith("}"):
        return pa.struct(build_schema(text[1:-1]))
    if text not in KINDS:
        possible_kinds = f"{', '.join(KINDS)}, a list [...] or a structure {{...}}"
        raise ValueError(f"a column holds no {text!r}, expected {possible_kinds}")
    return KINDS[text]


def schema_getattr(path: Path) -> Callable[[str], pa.Schema]:
    """A `__getattr__` for a module whose names are the tables of a TOML file, with the shared ones.

    A table is a list of parts of `build_schema`; a name stands for the columns of a shared table
    or of one above it.
    """
    schema_by_name: dict[str, pa.Schema] = {}
    for file in dict.fromkeys((_SHARED, path)):
        for name, parts in tomllib.loads(file.read_text(encoding="utf-8")).items():
            schema_by_name[name] = build_schema(*(schema_by_name.get(part, part) for part in parts))

    def find(name: str) -> pa.Schema:
        """The schema of a table; AttributeError if the file, and the shared one, have no such
        table.
        """
        if name not in schema_by_name:
            raise AttributeError(f"{path.parent.name}/{path.name} has no table {name!r}")
        return schema_by_name[name]

    return find


_SHARED = Path(__file__).with_name("schemas.toml")

__getattr__ = schema_getattr(_SHARED)

BARE = "bare"  # the framing of an unmodified prompt
LOG_PROBABILITY = "log_probability"  # the measure of answers other than entailment logits
NUMBERS = tuple(
    field.name for field in __getattr__("FIGURES") if field.type == pa.float64()
)  # columns of a figure

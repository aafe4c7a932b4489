"""Strict reading of YAML: one file in, one pydantic model or one line of error out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from evenruler.errors import UserError, nearest

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
"""A name in params, files and ids: lower-case letters, digits and single hyphens (DVC breaks on dots)."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Text of at least one character."""

HIDDEN_FROM_DVC = frozenset({"size", "nfiles"})
"""DVC leaves parameters of these names out of its hash: a change would silently do nothing."""


class Strict(BaseModel):
    """A frozen model that refuses unknown keys and names the nearest valid one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = {field.alias or name for name, field in cls.model_fields.items()}
            for key in data:
                if key not in known:
                    hint = nearest(str(key), known)
                    raise PydanticCustomError("unknown_key", "unknown key '{key}'; {hint}", {"key": key, "hint": hint})
        return data


Model = TypeVar("Model", bound=Strict)


def read_yaml(path: Path) -> Any:
    """The content of a YAML 1.2 file ("no" and "on" are words, a key given twice is an error).

    Raises:
        UserError: The file is missing, not UTF-8, not YAML, or gives a key twice.
    """
    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError("no such file", where=str(path), remedy="create it or mend the name") from None
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 (byte {error.start})", where=str(path), remedy="save it as UTF-8") from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        problem = str(error.problem).split("\n")[0]
        remedy = "keep one of the two" if isinstance(error, DuplicateKeyError) else "mend the YAML there"
        raise UserError(problem, where=f"{path}: line {line}", remedy=remedy) from None
    except (YAMLError, ValueError) as error:  # a ValueError for a day that no month has
        raise UserError(f"not YAML ({error})", where=str(path), remedy="mend the YAML") from None


def validate(
    model: type[Model],
    data: Any,
    path: Path,
    *,
    under: str | Callable[[str], str] = "",
    context: dict[str, Any] | None = None,
) -> Model:
    """The data as a checked model.

    Args:
        model: What it must be.
        data: As it was read.
        path: Its file, for errors.
        under: The keys that it stands under in the file, for errors; or what gives them, by the data's own first key.
        context: What validators need to know, as the scale in use.

    Raises:
        UserError: One line with file, key, what was found and what was expected.
    """
    if not isinstance(data, dict):
        where = f"{path}: {under}" if under and isinstance(under, str) else str(path)
        raise UserError(f"found {type(data).__name__}, expected keys", where=where, remedy="see README")
    try:
        return model.model_validate(data, context=context)
    except ValidationError as error:
        raise _as_user_error(error.errors(), path, under) from None


def refuse_hidden_keys(data: Any, path: Path) -> None:
    """Refuse parameters of names that DVC does not see, and what holds itself by an alias.

    Raises:
        UserError: There is one, at any depth.
    """
    _refuse_circles(data, path)
    for key in _hidden_keys(data):
        raise UserError(
            f"a parameter called {key.split('.')[-1]!r} is invisible to DVC",
            where=f"{path}: {key}",
            remedy="call it something else, for example 'n_rows'",
        )


def _refuse_circles(data: Any, path: Path, key: str = "", above: frozenset[int] = frozenset()) -> None:
    if not isinstance(data, dict | list):
        return
    if id(data) in above:
        raise UserError("an alias that holds itself", where=f"{path}: {key}", remedy="write it out")
    for name, value in data.items() if isinstance(data, dict) else enumerate(data):
        _refuse_circles(value, path, f"{key}.{name}" if key else str(name), above | {id(data)})


def _hidden_keys(data: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            if key in HIDDEN_FROM_DVC:
                yield f"{prefix}{key}"
            yield from _hidden_keys(value, f"{prefix}{key}.")
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _hidden_keys(value, f"{prefix}{index}.")


def _as_user_error(errors: list[ErrorDetails], path: Path, under: str | Callable[[str], str]) -> UserError:
    first = errors[0]
    if not isinstance(under, str):
        under = under(str(first["loc"][0] if first["loc"] else first.get("ctx", {}).get("key", "")))
    key = ".".join(filter(None, [under, *(str(part) for part in first["loc"] if not str(part).startswith("["))]))
    message = first["msg"].removeprefix("Value error, ")
    remedy = "mend it"
    if first["type"] == "unknown_key":
        key = ".".join(filter(None, [key, str(first["ctx"]["key"])]))
        remedy = "rename or remove it"
    elif first["type"] == "missing":
        message, remedy = "missing", f"add the key {first['loc'][-1]!r}"
    elif first["type"] == "string_pattern_mismatch":
        message = f"found {first['input']!r}, expected a slug (lower-case letters, digits, single hyphens)"
        remedy = "rename it"
    elif first["type"] in ("dict_type", "model_type"):
        message = f"found {_short(first['input'])}, expected keys"
    elif not first["type"].endswith("value_error"):
        message = f"found {_short(first['input'])}: {message[0].lower()}{message[1:]}"
    if len(errors) > 1:
        remedy += f" (and {len(errors) - 1} more like it in this file)"
    return UserError(message, where=f"{path}: {key}" if key else str(path), remedy=remedy)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

"""Strict reading of YAML files into pydantic models, with one-line errors."""

import json
import math
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import Node, ScalarNode, SequenceNode

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import MOST_READ, require_regular
from evenruler.text import spelling

LONGEST_SLUG = 100
"""Most characters of a slug; file names combine several and may have 255."""


def pattern_validator(pattern: str, expected: str) -> AfterValidator:
    """Validator of a text that a pattern matches as a whole; `expected`: the same in words, for
    errors.
    """
    compiled_pattern = re.compile(pattern, re.DOTALL)

    def as_expected(text: str) -> str:
        """The text unchanged; ValueError, with the text and what is expected, if the pattern does
        not match all of it.
        """
        if not compiled_pattern.fullmatch(text):
            raise ValueError(f"found {_truncate_text(repr(text))}, expected {expected}")
        return text

    return AfterValidator(as_expected)


_SLUG = pattern_validator(
    "[a-z0-9]+(-[a-z0-9]+)*", "a slug (lower-case letters a-z, digits, single hyphens)"
)
Slug = Annotated[str, StringConstraints(max_length=LONGEST_SLUG), _SLUG]
"""A name in params, files and ids: lower-case letters, digits and single hyphens (DVC breaks on
dots)."""

DEEPEST, MOST_VALUES = 50, 1_000_000
"""Limits on a YAML file's depth and number of values, aliases expanded; shipped files have 7, and
some thousand."""
SAFE_DEPTH = 1_000
"""Levels that libyaml reads without an overflow of its stack (10,000 with 8 MB)."""

_FILLED = pattern_validator(r"(?!.*\bFILL\b).*", "your text in place of FILL")


WITH_REMEDY: Final = "with_remedy"
"""Type of an error of a validator with a remedy of its own: `what` and `remedy` are in its
context."""


def _flaw_validator(wrong: Callable[[str], spelling.Flaw | None]) -> AfterValidator:
    """Validator that refuses a text with a flaw."""

    def without_flaw(text: str) -> str:
        """The text unchanged; a pydantic error with the flaw and its remedy if it has one."""
        flaw = wrong(text)
        if flaw:
            raise PydanticCustomError(WITH_REMEDY, "{what}", flaw._asdict())
        return text

    return AfterValidator(without_flaw)


def _flaw_of_passage(text: str) -> spelling.Flaw | None:
    """What is wrong with the spelling of a text of any number of lines; None where nothing is."""
    return spelling.find_flaw(text, lines=True)


def _flaw_of_word(text: str) -> spelling.Flaw | None:
    """What is wrong with a word or sentence on one line: a brace or its spelling; None where
    nothing is.
    """
    brace = re.search("[{}]", text)
    if brace:
        what = f"{_truncate_text(repr(text))} holds the brace {brace[0]}"
        return spelling.Flaw(what, "take it out: slots belong into templates")
    return spelling.find_flaw(text)


Quoted = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), _FILLED]
"""Third-party text, as it was published, without the placeholder FILL."""

Text = Annotated[Quoted, _flaw_validator(spelling.invisible_character_flaw)]
"""Text for people: at least one character, no control or format character, no placeholder FILL."""

Passage = Annotated[Quoted, _flaw_validator(_flaw_of_passage)]
"""Text that a model reads, spelled as `spelling.find_flaw` asks; line breaks and slots are
allowed."""

Word = Annotated[Quoted, _flaw_validator(_flaw_of_word)]
"""A word or a sentence that goes into a text which a model reads: spelled likewise, on one line,
without braces."""

Joint = Annotated[str, _flaw_validator(_flaw_of_passage)]
"""What stands between two texts that a model reads: spaces and line breaks count, and it may be
empty."""


Words = TypeVar("Words", list[str], dict[str, str])


def distinct_words_validator(what: str) -> AfterValidator:
    """Validator of words, in a list or by slug: a reader takes no two of them for the same
    (`spelling.find_duplicates`). `what`: how the error begins, as "found the word".
    """

    def all_distinct(words: Words) -> Words:
        """The words unchanged; ValueError, which names both, if a reader would take two of them for
        one.
        """
        texts = words.values() if isinstance(words, dict) else words
        duplicates = spelling.find_duplicates(texts)
        if duplicates:
            raise ValueError(f"{what} {spelling.describe_duplicates(*duplicates)} twice")
        return words

    return AfterValidator(all_distinct)


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def number_of(text: str) -> float:
    """The finite number that a cell of a table says, in digits 0 to 9 with a point; ValueError for
    all else.

    Python also reads "5_5" as 55, and digits of other scripts.
    """
    if not _NUMBER.fullmatch(text.strip(" ")):
        raise ValueError(f"{text!r} is no number")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is too large a number")
    return number


Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""Random seed in the range that every library accepts, 0 to 4,294,967,295."""


class StrictModel(BaseModel):
    """A frozen model that rejects unknown keys and suggests the nearest valid one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: object) -> object:
        """The input unchanged; an error that suggests the nearest valid key at the first unknown
        one.
        """
        if isinstance(data, dict):
            known_keys = {field.alias or name for name, field in cls.model_fields.items()}
            for key in data:
                if key not in known_keys:
                    hint = suggest_nearest(str(key), known_keys)
                    raise PydanticCustomError(
                        "unknown_key", "unknown key '{key}'; {hint}", {"key": key, "hint": hint}
                    )
        return data


Model = TypeVar("Model", bound=StrictModel)


NO_TEXTS: Final = {
    b"PK": "a workbook or archive",
    b"PAR1": "a Parquet table",
    b"\x1f\x8b": "a file packed by gzip",
}
"""By the bytes that it begins with: what a file is that is not text in UTF-8."""


def read_text(
    path: Path, remedy: str = "create it or check the name", encoding: str = "utf-8-sig"
) -> str:
    """Read text, by default UTF-8, without a byte order mark; UserError otherwise, with `remedy` if
    there is no file.
    """
    require_regular(path, most=MOST_READ)
    try:
        return path.read_text(encoding=encoding)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError("no such file", where=str(path), remedy=remedy) from None
    except IsADirectoryError:
        raise UserError(
            "a folder, expected a file", where=str(path), remedy="put the file in its place"
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        what = f"not {'UTF-16' if encoding == 'utf-16' else 'UTF-8'} (line {line})"
        remedy = "save it as UTF-8"
        for begin, kind in NO_TEXTS.items():
            if error.object.startswith(begin):
                what, remedy = f"{kind}, expected text", "save it as CSV UTF-8"
        raise UserError(what, where=str(path), remedy=remedy) from None


def at_home(path: str) -> Path:
    """Expand `~` and `~user` in a path; UserError if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UserError(
            "no such user here", where=path, remedy="check the name after `~`"
        ) from None


def json_of_others(text: str, where: str, remedy: str) -> Any:
    """What JSON that others wrote says; UserError where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON, or cut off ({error})", where=where, remedy=remedy) from None


_READ: dict[str, Any] = {}
"""Parsed YAML by text: a file that twelve instruments share is parsed once."""


def read_yaml(path: Path) -> Any:
    """The content of a YAML 1.2 file ("no" and "on" are words, duplicate keys are errors).

    UserError if it is missing, a folder, not UTF-8, not YAML, or rejected by `content_of`.
    """
    text = read_text(path)
    try:
        if text not in _READ:
            _READ[text] = content_of(text, path)
        return deepcopy(_READ[text])
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        problem = str(error.problem).split("\n")[0].partition(" with value ")[0]
        remedy = "fix the YAML there; a text that begins with { or holds a colon stands in quotes"
        if isinstance(error, DuplicateKeyError):
            remedy = "keep one of the two"
        raise UserError(problem, where=f"{path}: line {line}", remedy=remedy) from None
    except (YAMLError, ValueError, LookupError) as error:  # e.g. an impossible date
        raise UserError(f"not YAML ({error})", where=str(path), remedy="fix the YAML") from None


def content_of(text: str, path: Path) -> Any:
    """Parse YAML; UserError if it holds more than `require_moderate` allows, YAMLError if it is not
    YAML.

    By libyaml where that is safe, else by ruamel's own parser, which is five times slower, says
    what is wrong, and refuses a name that two anchors have.
    """
    flow = text.count("[") + text.count("{")
    indents = re.findall(r"^[ ?-]*", text, flags=re.MULTILINE)
    is_shallow = flow + 2 * len(max(indents, key=len)) <= SAFE_DEPTH
    anchors = re.findall(r"(?<!\S)&\S+", text)
    if is_shallow and len(set(anchors)) == len(anchors):
        with suppress(YAMLError):
            return _load_moderate_yaml(text, path, pure=False)
    return _load_moderate_yaml(text, path, pure=True)


def _load_moderate_yaml(text: str, path: Path, *, pure: bool) -> object:
    """Read YAML after `require_moderate` has passed it; `pure`: by ruamel's parser, not libyaml.
    UserError if it is too deep or uses an anchor's name twice.
    """

    class ModerateConstructor(SafeConstructor):
        def construct_document(self, node: Node) -> object:
            """Build the content, once the size of the document is accepted."""
            require_moderate(node, path)
            return super().construct_document(node)

    yaml = YAML(typ="safe", pure=pure)
    yaml.Constructor = ModerateConstructor
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReusedAnchorWarning)
        try:
            return yaml.load(text)
        except RecursionError:
            raise _nesting_error(str(path)) from None
        except ReusedAnchorWarning as warning:
            what = " ".join(str(warning).split("\n")[1].split())
            remedy = "give each anchor a name of its own"
            raise UserError(what, where=str(path), remedy=remedy) from None


def require_moderate(document: Node, path: Path) -> None:
    """UserError if a document is nested more than `DEEPEST` levels deep, as one is that holds
    itself, or comes to more than `MOST_VALUES` values with all aliases expanded.
    """
    n_values_by_id: dict[int, int] = {}

    def count_values(node: Node, depth: int) -> int:
        """Number of values in and below a node, aliases expanded; walks each node once, UserError
        if too deep.
        """
        if isinstance(node, ScalarNode):
            return 1
        if depth > DEEPEST:
            raise _nesting_error(f"{path}: line {node.start_mark.line + 1}")
        if id(node) not in n_values_by_id:
            is_list = isinstance(node, SequenceNode)
            inner = node.value if is_list else chain.from_iterable(node.value)
            n_inner = sum(count_values(child, depth + 1) for child in inner)
            n_values_by_id[id(node)] = 1 + n_inner
        return n_values_by_id[id(node)]

    if count_values(document, 1) > MOST_VALUES:
        what = f"its aliases come to more than {MOST_VALUES:,} values"
        raise UserError(what, where=str(path), remedy="write out what is meant")


def _nesting_error(where: str) -> UserError:
    """The error for a document with too many levels; to be raised by the caller."""
    what = f"nested more than {DEEPEST} levels deep, or holds itself"
    return UserError(what, where=where, remedy="fix the YAML there")


def validate(
    model: type[Model],
    data: object,
    path: Path,
    *,
    under: str | Callable[[str], str] = "",
    context: dict[str, Any] | None = None,
) -> Model:
    """Validate data into a model; UserError in one line: file, key, value found and value expected.

    `under`: the key path of the data in the file, for errors, or a function that gives it for the
    first key; `context`: for validators, e.g. the profile in use.
    """
    if not isinstance(data, dict):
        where = str(path)
        if under and isinstance(under, str):
            where = f"{path}: {under}"
        what = "empty" if data is None else f"found {type(data).__name__}"
        raise UserError(f"{what}, expected keys", where=where, remedy="write `key: value`")
    try:
        return model.model_validate(data, context=context)
    except ValidationError as error:
        raise _as_user_error(error.errors(), path, under) from None


def require_written(path: Path, what: str, remedy: str) -> None:
    """UserError if a file that users write is missing; suggests the file with the nearest name."""
    if not path.exists():
        file_stems = [other.stem for other in path.parent.glob("*.yaml")]
        raise UserError(
            f"no {what} {path.stem!r}; {suggest_nearest(path.stem, file_stems)}",
            where=str(path),
            remedy=remedy,
        )


EXPECTED = {
    "dict_type": ("keys", "write `key: value`"),
    "model_type": ("keys", "write `key: value`"),
    "list_type": ("a list", "write [one, two]"),
    "bool_type": ("true or false", "write one of them"),
    "string_type": ("text", "put it in quotes"),
}
"""What is expected, and what to write, by pydantic's types of errors."""


def _as_user_error(
    errors: list[ErrorDetails], path: Path, under: str | Callable[[str], str]
) -> UserError:
    """The first of pydantic's errors as one line, with file, key, what was found and what is
    expected; the number of others follows. Arguments as in `validate`.
    """
    first = errors[0]
    if not isinstance(under, str):
        if first["loc"]:
            under = under(str(first["loc"][0]))
        else:
            under = under(str(first.get("ctx", {}).get("key", "")))
    location = map(str, first["loc"])
    parts = [_truncate_text(part) for part in location if not part.startswith("[")]
    value = first["input"]
    shown = repr(value) if isinstance(value, str) else str(value)
    if value is None:
        shown = "nothing"
    input_label = f"found {_truncate_text(shown)}"
    key = ".".join(filter(None, [under, *parts]))
    message = first["msg"].removeprefix("Value error, ")
    remedy = "fix it"
    if first["type"] == "unknown_key":
        unknown = _truncate_text(str(first["ctx"]["key"]))
        key = ".".join(filter(None, [key, unknown]))
        message = f"unknown key '{unknown}'; {first['ctx']['hint']}"
        remedy = "rename or remove it"
    elif first["type"] == WITH_REMEDY:
        remedy = str(first["ctx"]["remedy"])
    elif first["type"] == "missing":
        message, remedy = "missing", f"add the key {first['loc'][-1]!r}"
    elif first["type"] in EXPECTED:
        expected, more = EXPECTED[first["type"]]
        message = f"{input_label}, expected {expected}"
        remedy = "write it" if value is None else more
    elif not first["type"].endswith("value_error"):
        message = f"{input_label}: {message[0].lower()}{message[1:]}"
    if len(errors) > 1:
        remedy += f" (and {len(errors) - 1} more like it in this file)"
    return UserError(message, where=f"{path}: {key}" if key else str(path), remedy=remedy)


def _truncate_text(text: str) -> str:
    """The text if it has at most 60 characters, else its first 57 and "..."."""
    return text if len(text) <= 60 else text[:57] + "..."

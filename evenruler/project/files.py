"""Editing files that people also edit."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from evenruler.files import replace

WIDTH = 120
"""Of lines that people write."""


def params_yaml(width: int = WIDTH) -> YAML:
    """Reads and writes params.yaml and dvc.yaml with comments, order and layout kept."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = width
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def block(lines: list[str], key: str) -> tuple[int, int]:
    """First line of a section and the one after its last; the end of the file twice where there is none.

    Empty lines and comments that stand before the next section belong to that.
    """
    first = next((i for i, line in enumerate(lines) if line.startswith(f"{key}:")), len(lines))
    last = min(first + 1, len(lines))
    for i in range(first + 1, len(lines)):
        if lines[i][0] in " \t":
            last = i + 1
        elif lines[i].strip() and not lines[i].startswith("#"):
            break
    return first, last


def write_as_it_was(path: Path, text: str) -> None:
    """Write a file anew, with the ends of lines that it had."""
    windows = path.exists() and b"\r\n" in path.read_bytes()
    replace(path, text.replace("\n", "\r\n") if windows else text)


def edited(text: str, key: str, change: Callable[[CommentedMap], None], width: int = WIDTH) -> str:
    """A document with the section of a key changed; the others stay byte for byte as they are.

    `change` is given its content, which lacks the key where the document has no such section.
    """
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    first, last = block(lines, key)
    try:
        found = _changed(lines, first, last, change, width)
        params_yaml().load(found)
    except (YAMLError, KeyError):  # an anchor that another section names; keys that begin no line
        found = _changed(lines, 0, len(lines), change, WIDTH)
    return found


def _changed(lines: list[str], first: int, last: int, change: Callable[[CommentedMap], None], width: int) -> str:
    yaml, made = params_yaml(width), StringIO()
    document = yaml.load("".join(lines[first:last]))
    document = CommentedMap() if document is None else document
    change(document)
    yaml.dump(document, made)
    return "".join([*lines[:first], made.getvalue(), *lines[last:]])

"""Edits of `params.yaml` and `dvc.yaml` that keep their comments, order and layout."""

import difflib
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from evenruler.files import write_text_atomically


def params_yaml() -> YAML:
    """A YAML reader and writer that keeps comments and order, and writes as DVC does in `dvc exp
    run --set-param`.
    """
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.preserve_quotes = True
    return yaml


def split_at_section(text: str, key: str) -> tuple[str, str, str]:
    """Split a text into what precedes a key's section, the section, and the rest; a missing one is
    empty, at the end.

    Empty lines and comments before the next section belong to that section.
    """
    whole = text if text.endswith("\n") or not text else f"{text}\n"
    section_match = re.search(rf"^{key}:.*\n(?:(?:(?:#.*)?\n)*[ \t].*\n)*", whole, re.MULTILINE)
    first, last = section_match.span() if section_match else (len(whole), len(whole))
    return whole[:first], whole[first:last], whole[last:]


def write_as_it_was(path: Path, text: str) -> None:
    """Write a file with its previous line endings."""
    windows = path.exists() and b"\r\n" in path.read_bytes()
    write_text_atomically(path, text.replace("\n", "\r\n") if windows else text)


def edit_section(text: str, key: str, change: Callable[[CommentedMap], None]) -> str:
    """Change a key's section, the rest stays as it is; `change` gets the parsed section, which may
    lack the key.
    """
    above, section, below = split_at_section(text, key)
    try:
        edited_text = f"{above}{_edit_yaml(section, change)}{below}"
        params_yaml().load(edited_text)
    except (
        YAMLError,
        KeyError,
    ):  # an anchor used by another section; keys not at the beginning of a line
        edited_text = _edit_yaml(f"{above}{section}{below}", change)
    return edited_text


def _edit_yaml(text: str, change: Callable[[CommentedMap], None]) -> str:
    """YAML text after `change` was applied to its parsed content in place; comments and order stay,
    an empty text is an empty mapping.
    """
    yaml, buffer = params_yaml(), StringIO()
    document = yaml.load(text)
    document = CommentedMap() if document is None else document
    change(document)
    yaml.dump(document, buffer)
    return buffer.getvalue()


def set_keys(text: str, settings: Mapping[tuple[str, ...], str | float], after: str) -> str:
    """Set keys of mappings to texts or numbers, by the keys that lead there; all else stays.

    `after`: the key of the same mapping behind which a missing one is put. KeyError where a key
    above it, or `after`, is not written there.
    """
    document = YAML().compose(text)
    edits = [
        _edit_of_key(text, document, path, setting, after) for path, setting in settings.items()
    ]
    for begin, end, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def _edit_of_key(
    text: str, document: Node, path: tuple[str, ...], setting: str | float, after: str
) -> tuple[int, int, str]:
    """Where a text changes to set one key, and what is put there."""
    *above, key = path
    mapping = _mapping_at(document, above)
    pairs = _pairs_of(mapping)
    rendered = _render_scalar(setting)
    if key not in pairs:
        after_key, after_node = pairs[after]
        place = after_node.end_mark.index
        if mapping.flow_style:
            return place, place, f", {key}: {rendered}"
        place = _end_of_line(text, place)
        indent = " " * after_key.start_mark.column
        return place, place, f"\n{indent}{key}: {rendered}"
    key_node, old_node = pairs[key]
    if isinstance(old_node, ScalarNode) and not old_node.value:
        place = text.index(":", key_node.end_mark.index) + 1
        return place, place, f" {rendered}"
    begin, end = old_node.start_mark.index, old_node.end_mark.index
    end = begin + len(text[begin:end].rstrip())  # line breaks behind a folded text stay
    return begin, end, rendered


def append_entries(text: str, section: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Put entries, by name, at the end of a section; all other characters stay as they are.

    Comments and empty lines at the end of the section come after them. KeyError where there is no
    such section, or it has no entry in lines of its own.
    """
    mapping = _mapping_at(YAML().compose(text), [section])
    if mapping.flow_style or not mapping.value:
        raise KeyError(section)
    first_key, _ = mapping.value[0]
    _, last_entry = mapping.value[-1]
    end = _end_of_last_line(text, last_entry.end_mark.index)
    yaml, buffer = params_yaml(), StringIO()
    yaml.dump({name: dict(entry) for name, entry in entries.items()}, buffer)
    indent = " " * first_key.start_mark.column
    lines = textwrap.indent(buffer.getvalue(), indent).removesuffix("\n")
    return f"{text[:end]}\n{lines}{text[end:]}"


def render_diff(name: str, before: str, after: str) -> str:
    """The lines of a file that change, with two lines around them; empty where nothing changes."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    return "".join(difflib.unified_diff(old, new, name, name, n=2))


def _mapping_at(document: Node, path: Sequence[str]) -> MappingNode:
    """The mapping to which some keys lead; KeyError where they lead to none."""
    node = document
    for key in path:
        if isinstance(node, MappingNode):
            _, node = _pairs_of(node)[key]
    if not isinstance(node, MappingNode):
        raise KeyError(*path)
    return node


def _pairs_of(mapping: MappingNode) -> dict[str, tuple[Node, Node]]:
    """Nodes of key and value by key."""
    return {key.value: (key, value) for key, value in mapping.value}


def _end_of_line(text: str, place: int) -> int:
    """The end of the line in which a place is, before its line break."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _end_of_last_line(text: str, place: int) -> int:
    """The end of the last line up to a place that holds more than a comment."""
    lines = text[:place].split("\n")
    while re.fullmatch(r"\s*(#.*)?", lines[-1]):
        lines.pop()
    return _end_of_line(text, len("\n".join(lines)))


def _render_scalar(scalar: str | float) -> str:
    """A text or a number as YAML, a text in quotes where it needs them in any place."""
    yaml, buffer = YAML(), StringIO()
    yaml.default_flow_style = True
    yaml.width = 10_000
    yaml.dump({"key": scalar}, buffer)
    return buffer.getvalue().removeprefix("{key: ").removesuffix("}\n")

"""Edits of `params.yaml` and `dvc.yaml` that keep their comments, order and layout."""

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

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

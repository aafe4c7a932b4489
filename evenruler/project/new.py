"""`evenruler new`: starts an instrument with the family's starter files and a line in
`params.yaml`.
"""

import re
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from evenruler.declaration.active import SOURCES
from evenruler.declaration.params import load_params
from evenruler.errors import UserError, suggest_nearest
from evenruler.files import write_text_atomically
from evenruler.instruments.registry import FAMILIES
from evenruler.project.editing import edit_section, write_as_it_was
from evenruler.repository import DECLARATION
from evenruler.strict import LONGEST_SLUG

NAME = "NAME"
"""Placeholder for the instrument's name in a family's starter files and their names."""


OTHER_STARTERS = "starters"
"""Folder of a family with starter files of other layouts than its first, by their name."""


def require_known_family(family: str) -> None:
    """UserError for an unknown family."""
    if family not in FAMILIES:
        raise UserError(f"no family {family!r}", remedy=suggest_nearest(family, FAMILIES))


def require_valid_name(name: str) -> None:
    """UserError for a name that no instrument may have."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(
            f"{name!r} is not a valid name",
            remedy="use lower-case letters, digits and single hyphens",
        )
    if len(name) > LONGEST_SLUG:
        raise UserError(f"a name of {len(name)} letters", remedy=f"use {LONGEST_SLUG} at most")
    if not isinstance(YAML(typ="safe", pure=True).load(name), str):
        raise UserError(
            f"{name!r} is not a string in YAML", remedy="begin with a word, as in 'set-1'"
        )


def declare_instrument(root: Path, family: str, name: str, settings: Mapping[str, str] = {}) -> str:
    """The text of params.yaml with an instrument more; UserError where its name is taken."""
    params = root / DECLARATION
    source = root / SOURCES / family / f"{name}.yaml"
    if source.exists() or name in load_params(params).instruments:
        raise UserError(
            f"the instrument {name!r} exists already", where=str(source), remedy="take another name"
        )
    entry = CommentedMap({"family": family, **settings})
    entry.fa.set_flow_style()
    before, new = params.read_text(encoding="utf-8"), {name: entry}
    return edit_section(
        before,
        "instruments",
        lambda document: document.setdefault("instruments", CommentedMap()).update(new),
    )


def create_instrument(root: Path, family: str, name: str, layout: str | None = None) -> list[str]:
    """Start an instrument and return messages; UserError for an unknown family or layout, or an
    invalid or taken name.

    `layout`: the name of other starter files than the family's first.
    """
    require_known_family(family)
    starter_folder = _find_starter(family, layout)
    require_valid_name(name)
    folder = root / SOURCES / family
    declared = declare_instrument(root, family, name)
    params = root / DECLARATION
    with as_file(files(FAMILIES[family]).joinpath(starter_folder)) as starter:
        starter_files = [path for path in starter.rglob("*") if path.is_file()]
        starter_paths = [path.relative_to(starter) for path in starter_files]
        starter_paths.sort(key=lambda path: (len(path.parts), path))  # the source itself first
        text_by_path = {
            path: (starter / path).read_text(encoding="utf-8") for path in starter_paths
        }
    files_of_it = {
        folder / path.as_posix().replace(NAME, name): text for path, text in text_by_path.items()
    }
    written = [path for path in files_of_it if not path.exists()]
    for path in written:
        write_text_atomically(path, files_of_it[path].replace(NAME, name))
    write_as_it_was(params, declared)
    listed = " and ".join(str(path.relative_to(root)) for path in written)
    what = "it" if len(written) == 1 else "them"
    return [
        f"wrote {listed}; edit {what}, then `evenruler repro rows@{name}` for its rows, `make "
        "repro` for everything",
        f"params.yaml: instruments now holds {name}",
    ]


def _find_starter(family: str, layout: str | None) -> str:
    """The folder of starter files in a family's package; UserError for an unknown layout."""
    if layout is None:
        return "starter"
    layouts = files(FAMILIES[family]).joinpath(OTHER_STARTERS)
    names = sorted(folder.name for folder in layouts.iterdir()) if layouts.is_dir() else []
    if layout in names:
        return f"{OTHER_STARTERS}/{layout}"
    remedy = suggest_nearest(layout, names) if names else "leave --layout out"
    raise UserError(f"no layout {layout!r} of {family} to start from", remedy=remedy)

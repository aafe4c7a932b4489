"""`params.yaml` as a whole: models, instruments, what is in use; edits that keep its layout, as of `evenruler new`."""

import re
from collections.abc import Callable
from importlib.resources import as_file, files
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from evenruler.declared import DiagnosisSettings
from evenruler.errors import UserError, nearest
from evenruler.files import replace
from evenruler.instruments.instrument import Scale
from evenruler.instruments.registry import FAMILIES
from evenruler.models.declared import Catalogue
from evenruler.models.sources import made_of
from evenruler.project.active import SOURCES
from evenruler.strict import LONGEST_SLUG, Slug, Strict, Text, read_yaml, refuse_hidden_keys, validate
from evenruler.versions import Version

FIRST_VERSION = "0.1.0"
"""The version of an unreleased benchmark."""


class InUse(Strict):
    """The part of `active` that users write; `evenruler check` writes the rest."""

    model_config = ConfigDict(extra="allow")

    scale: Scale

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        """Accept keys of older versions: they are overwritten."""
        return data


class Params(Catalogue):
    """The whole of `params.yaml`; instrument entries are validated by their families."""

    active: InUse
    instruments: dict[Slug, dict[str, Any]] = Field(default_factory=dict)
    """Instruments by name: `family`, optional `scale`, and the family's settings."""
    families: dict[Slug, dict[str, Any] | None] = Field(default_factory=dict)
    """Default settings for all instruments of a family."""
    diagnosis: DiagnosisSettings = Field(default_factory=DiagnosisSettings)
    versions: dict[Slug, Version] = Field(default_factory=dict)
    """By benchmark; written by `evenruler release`. A benchmark without entry is at `FIRST_VERSION`."""

    left_out: dict[str, Text] = Field(default_factory=dict)
    """By stage (`ask@FAMILY-MODEL`, `rows@INSTRUMENT`): why it could not be run. Written by `evenruler ask`."""

    @property
    def benchmarks(self) -> dict[str, str]:
        """Versions of all benchmarks of any scale, by name."""
        names = [f"{entry.get('family')}-{name}" for name, entry in self.instruments.items()]
        return {name: self.version(name) for name in names}

    def version(self, benchmark: str) -> str:
        """The current version of a benchmark."""
        return self.versions.get(benchmark, FIRST_VERSION)


def load_params(path: Path | str = "params.yaml") -> Params:
    """Read and validate `params.yaml`, except instrument entries, which families validate; UserError if invalid."""
    path = Path(path)
    written = read_yaml(path)
    refuse_hidden_keys(written, path)
    if isinstance(written, dict) and written.get("active") is None:
        remedy = "add `active: {scale: quick}`; `evenruler check` writes the rest"
        raise UserError("missing", where=f"{path}: active", remedy=remedy)
    params = validate(Params, written, path)
    _check_recipes(params, path)
    for name, entry in params.models.items():
        if entry.scheme == "untrained":
            made_of(entry, params.models, f"{path}: models.{name}.source")
        for family in entry.families or ():
            if family not in FAMILIES:
                where, what = f"{path}: models.{name}.families", f"no family {family!r}; {nearest(family, FAMILIES)}"
                raise UserError(what, where=where, remedy="remove it or check the name")
    stages = [f"ask@{family}-{name}" for family in FAMILIES for name in params.models]
    stages += [f"rows@{name}" for name in params.instruments]
    of_ours = (("families", FAMILIES, "family"), ("versions", params.benchmarks, "benchmark"))
    for key, known, what in (*of_ours, ("left_out", stages, "stage")):
        for name in getattr(params, key):
            if name not in known:
                remedy = "remove it or check the name"
                raise UserError(f"no {what} {name!r}; {nearest(name, known)}", where=f"{path}: {key}", remedy=remedy)
    return params


def _check_recipes(params: Params, path: Path) -> None:
    """UserError unless every encoder is fitted on declared data with one set of labels."""
    for name, entry in params.models.items():
        recipe = entry.finetune
        if recipe is None:
            continue
        where = f"{path}: models.{name}.finetune"
        for data in [recipe.validation, *recipe.data]:  # the reference for comparison first
            if data not in params.training:
                remedy = f"add it under `training`, or check the name ({nearest(data, params.training)})"
                raise UserError(f"no training data {data!r}", where=where, remedy=remedy)
            own, first = params.training[data], params.training[recipe.validation]
            if set(own.labels) != set(first.labels) or len(own.columns) != len(first.columns):
                what = f"{data!r} has labels {own.labels} and {len(own.columns)} columns, the validation data "
                what += f"{first.labels} and {len(first.columns)}"
                raise UserError(what, where=where, remedy="use data with the same labels and columns")
        if entry.entailment and not params.can(name, "entail"):
            what = f"`entailment: true`, but its labels are {', '.join(params.labels(name))}"
            raise UserError(what, where=f"{path}: models.{name}", remedy="remove it")


WIDTH = 120
"""Width of lines that users write."""


def params_yaml(width: int = WIDTH) -> YAML:
    """A YAML reader and writer for params.yaml and dvc.yaml that keeps comments, order and layout."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = width
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def parted(text: str, key: str) -> tuple[str, str, str]:
    """Split a text into what precedes a key's section, the section, and the rest; a missing one is empty, at the end.

    Empty lines and comments before the next section belong to that section.
    """
    whole = text if text.endswith("\n") or not text else f"{text}\n"
    found = re.search(rf"^{key}:.*\n(?:(?:(?:#.*)?\n)*[ \t].*\n)*", whole, re.MULTILINE)
    first, last = found.span() if found else (len(whole), len(whole))
    return whole[:first], whole[first:last], whole[last:]


def write_as_it_was(path: Path, text: str) -> None:
    """Write a file with its previous line endings."""
    windows = path.exists() and b"\r\n" in path.read_bytes()
    replace(path, text.replace("\n", "\r\n") if windows else text)


def edited(text: str, key: str, change: Callable[[CommentedMap], None], width: int = WIDTH) -> str:
    """Change a key's section, the rest stays as it is; `change` gets the parsed section, which may lack the key."""
    above, section, below = parted(text, key)
    try:
        found = f"{above}{_changed(section, change, width)}{below}"
        params_yaml().load(found)
    except (YAMLError, KeyError):  # an anchor used by another section; keys not at the beginning of a line
        found = _changed(f"{above}{section}{below}", change, WIDTH)
    return found


def _changed(text: str, change: Callable[[CommentedMap], None], width: int) -> str:
    yaml, made = params_yaml(width), StringIO()
    document = yaml.load(text)
    document = CommentedMap() if document is None else document
    change(document)
    yaml.dump(document, made)
    return made.getvalue()


NAME = "NAME"
"""Placeholder for the instrument's name in a family's starter files and their names."""


def start(root: Path, family: str, name: str) -> list[str]:
    """Start an instrument and return messages; UserError for an unknown family or an invalid or taken name."""
    if family not in FAMILIES:
        raise UserError(f"no family {family!r}", remedy=nearest(family, FAMILIES))
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(f"{name!r} is not a valid name", remedy="use lower-case letters, digits and single hyphens")
    if len(name) > LONGEST_SLUG:
        raise UserError(f"a name of {len(name)} letters", remedy=f"use {LONGEST_SLUG} at most")
    if not isinstance(YAML(typ="safe", pure=True).load(name), str):
        raise UserError(f"{name!r} is not a string in YAML", remedy="begin with a word, as in 'set-1'")
    params, folder = root / "params.yaml", root / SOURCES / family
    refuse_hidden_keys({name: None}, params, "instruments.")
    source = folder / f"{name}.yaml"
    if source.exists() or name in load_params(params).instruments:
        raise UserError(f"the instrument {name!r} exists already", where=str(source), remedy="take another name")
    entry = CommentedMap({"family": family})
    entry.fa.set_flow_style()
    before, new = params.read_text(encoding="utf-8"), {name: entry}
    declared = edited(before, "instruments", lambda said: said.setdefault("instruments", CommentedMap()).update(new))
    with as_file(files(FAMILIES[family]).joinpath("starter")) as starter:
        found = [path.relative_to(starter) for path in starter.rglob("*") if path.is_file()]
        found.sort(key=lambda path: (len(path.parts), path))  # the source itself first
        said = {path: (starter / path).read_text(encoding="utf-8") for path in found}
    files_of_it = {folder / path.as_posix().replace(NAME, name): text for path, text in said.items()}
    written = [path for path in files_of_it if not path.exists()]
    for path in written:
        replace(path, files_of_it[path].replace(NAME, name))
    write_as_it_was(params, declared)
    listed = " and ".join(str(path.relative_to(root)) for path in written)
    what = "it" if len(written) == 1 else "them"
    return [
        f"wrote {listed}; edit {what}, then `evenruler repro rows@{name}` for its rows, `make repro` for everything",
        f"params.yaml: instruments now holds {name}",
    ]

"""`params.yaml` as a whole: the catalogue of models, the instruments, what is in use; and how files are edited."""

import re
from collections.abc import Callable
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
from evenruler.models.conversion import made_of
from evenruler.models.declared import Catalogue
from evenruler.strict import Slug, Strict, Text, read_yaml, refuse_hidden_keys, validate
from evenruler.versions import Version

FIRST_VERSION = "0.1.0"
"""Of a benchmark that nobody has released."""


class InUse(Strict):
    """What people say under `active`; all else there is written by `evenruler check`."""

    model_config = ConfigDict(extra="allow")

    scale: Scale

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        """What an older version wrote there is no mistake: it is written anew."""
        return data


class Params(Catalogue):
    """The whole of `params.yaml`; each family reads the entries of its instruments itself."""

    active: InUse
    instruments: dict[Slug, dict[str, Any]] = Field(default_factory=dict)
    """What is built, by name: `family`, maybe `scale`, and the family's settings."""
    families: dict[Slug, dict[str, Any] | None] = Field(default_factory=dict)
    """Settings of all instruments of a family that do not say otherwise."""
    diagnosis: DiagnosisSettings = Field(default_factory=DiagnosisSettings)
    versions: dict[Slug, Version] = Field(default_factory=dict)
    """By benchmark; written by `evenruler release`. One that is not there is at `FIRST_VERSION`."""

    left_out: dict[str, Text] = Field(default_factory=dict)
    """By stage (`ask@FAMILY-MODEL`, `rows@INSTRUMENT`): why it could not be run. `evenruler ask` writes it."""

    @property
    def benchmarks(self) -> dict[str, str]:
        """By name the version of everything that gets a folder under `benchmarks/`, at whatever scale."""
        names = [f"{entry.get('family')}-{name}" for name, entry in self.instruments.items()]
        return {name: self.version(name) for name in names}

    def version(self, benchmark: str) -> str:
        """The version that a benchmark is at."""
        return self.versions.get(benchmark, FIRST_VERSION)


def load_params(path: Path | str = "params.yaml") -> Params:
    """Read and check `params.yaml`, but for what families check of their own entries; UserError says what is wrong."""
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
                raise UserError(what, where=where, remedy="remove it or mend the name")
    stages = [f"ask@{family}-{name}" for family in FAMILIES for name in params.models]
    stages += [f"rows@{name}" for name in params.instruments]
    of_ours = (("families", FAMILIES, "family"), ("versions", params.benchmarks, "benchmark"))
    for key, known, what in (*of_ours, ("left_out", stages, "stage")):
        for name in getattr(params, key):
            if name not in known:
                remedy = "remove it or mend the name"
                raise UserError(f"no {what} {name!r}; {nearest(name, known)}", where=f"{path}: {key}", remedy=remedy)
    return params


def _check_recipes(params: Params, path: Path) -> None:
    """Every encoder is fitted on data that is declared, with one set of labels."""
    for name, entry in params.models.items():
        recipe = entry.finetune
        if recipe is None:
            continue
        where = f"{path}: models.{name}.finetune"
        for data in [recipe.validation, *recipe.data]:  # what the others are compared with comes first
            if data not in params.training:
                remedy = f"add it under `training`, or mend the name ({nearest(data, params.training)})"
                raise UserError(f"no training data {data!r}", where=where, remedy=remedy)
            own, first = params.training[data], params.training[recipe.validation]
            if set(own.labels) != set(first.labels) or len(own.columns) != len(first.columns):
                what = f"{data!r} has labels {own.labels} on {len(own.columns)} columns, the validation data "
                what += f"{first.labels} on {len(first.columns)}"
                raise UserError(what, where=where, remedy="fit on data of one kind")
        if entry.entailment and not params.can(name, "entail"):
            what = f"`entailment: true`, but its head tells {', '.join(params.labels(name))} apart"
            raise UserError(what, where=f"{path}: models.{name}", remedy="take it out")


WIDTH = 120
"""Of lines that people write."""


def params_yaml(width: int = WIDTH) -> YAML:
    """Reads and writes params.yaml and dvc.yaml with comments, order and layout kept."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = width
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def parted(text: str, key: str) -> tuple[str, str, str]:
    """What stands before a key's section, the section, and what follows; all stands before one that is not there.

    Empty lines and comments that stand before the next section belong to that.
    """
    whole = text if text.endswith("\n") or not text else f"{text}\n"
    found = re.search(rf"^{key}:.*\n(?:(?:(?:#.*)?\n)*[ \t].*\n)*", whole, re.MULTILINE)
    first, last = found.span() if found else (len(whole), len(whole))
    return whole[:first], whole[first:last], whole[last:]


def write_as_it_was(path: Path, text: str) -> None:
    """Write a file anew, with the ends of lines that it had."""
    windows = path.exists() and b"\r\n" in path.read_bytes()
    replace(path, text.replace("\n", "\r\n") if windows else text)


def edited(text: str, key: str, change: Callable[[CommentedMap], None], width: int = WIDTH) -> str:
    """A text with a key's section changed, else byte for byte; `change` gets its content, which may lack the key."""
    above, section, below = parted(text, key)
    try:
        found = f"{above}{_changed(section, change, width)}{below}"
        params_yaml().load(found)
    except (YAMLError, KeyError):  # an anchor that another section names; keys that begin no line
        found = _changed(f"{above}{section}{below}", change, WIDTH)
    return found


def _changed(text: str, change: Callable[[CommentedMap], None], width: int) -> str:
    yaml, made = params_yaml(width), StringIO()
    document = yaml.load(text)
    document = CommentedMap() if document is None else document
    change(document)
    yaml.dump(document, made)
    return made.getvalue()

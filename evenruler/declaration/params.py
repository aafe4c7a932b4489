"""`params.yaml` as a whole, validated: models, instruments, families, versions."""

from pathlib import Path
from typing import Any

from pydantic import Field

from evenruler.declaration.params_file import FIRST_VERSION, DiagnosisSettings
from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.registry import FAMILIES
from evenruler.models.declarations import Catalogue
from evenruler.models.sources import base_model_name
from evenruler.strict import Slug, Text, read_yaml, validate
from evenruler.versions import Version


class Params(Catalogue):
    """The whole of `params.yaml`; instrument entries are validated by their families."""

    instruments: dict[Slug, dict[str, Any]] = Field(default_factory=dict)
    """Instruments by name: `family`, optional `profile`, and the family's settings."""
    families: dict[Slug, dict[str, Any] | None] = Field(default_factory=dict)
    """Default settings for all instruments of a family."""
    diagnosis: DiagnosisSettings = Field(default_factory=DiagnosisSettings)
    versions: dict[Slug, Version] = Field(default_factory=dict)
    """By benchmark; written by `evenruler release`. A benchmark without entry is at
    `FIRST_VERSION`."""

    left_out: dict[str, Text] = Field(default_factory=dict)
    """By stage (`ask@FAMILY-MODEL`, `rows@INSTRUMENT`): why it cannot be run. The rest is built
    without it."""

    @property
    def benchmarks(self) -> dict[str, str]:
        """Versions of all benchmarks of any profile, by name."""
        versions: dict[str, str] = {}
        for name, entry in self.instruments.items():
            benchmark = f"{entry.get('family')}-{name}"
            versions[benchmark] = self.version(benchmark)
        return versions

    def version(self, benchmark: str) -> str:
        """The current version of a benchmark."""
        return self.versions.get(benchmark, FIRST_VERSION)


def load_params(path: Path | str = "params.yaml") -> Params:
    """Read and validate `params.yaml`, except instrument entries, which families validate;
    UserError if invalid.
    """
    path = Path(path)
    params = validate(Params, read_yaml(path), path)
    _check_recipes(params, path)
    for name, entry in params.models.items():
        if entry.scheme == "untrained":
            base_model_name(entry, params.models, f"{path}: models.{name}.source")
        for family in entry.families or ():
            if family not in FAMILIES:
                where = f"{path}: models.{name}.families"
                what = f"no family {family!r}; {suggest_nearest(family, FAMILIES)}"
                raise UserError(what, where=where, remedy="remove it or check the name")
    stages: list[str] = []
    for family in FAMILIES:
        stages += [f"ask@{family}-{name}" for name in params.models]
    stages += [f"rows@{name}" for name in params.instruments]
    of_ours = (("families", FAMILIES, "family"), ("versions", params.benchmarks, "benchmark"))
    for key, known_names, what in (*of_ours, ("left_out", stages, "stage")):
        for name in getattr(params, key):
            if name not in known_names:
                remedy = "remove it or check the name"
                raise UserError(
                    f"no {what} {name!r}; {suggest_nearest(name, known_names)}",
                    where=f"{path}: {key}",
                    remedy=remedy,
                )
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
                remedy = (
                    "add it under `training`, or check the name "
                    f"({suggest_nearest(data, params.training)})"
                )
                raise UserError(f"no training data {data!r}", where=where, remedy=remedy)
            dataset = params.training[data]
            first = params.training[recipe.validation]
            has_same_labels = set(dataset.labels) == set(first.labels)
            if not has_same_labels or len(dataset.columns) != len(first.columns):
                what = (
                    f"{data!r} has labels {dataset.labels} and {len(dataset.columns)} columns, the "
                    "validation data "
                )
                what += f"{first.labels} and {len(first.columns)}"
                raise UserError(
                    what, where=where, remedy="use data with the same labels and columns"
                )
        if entry.entailment and not params.can(name, "entail"):
            what = f"`entailment: true`, but its labels are {', '.join(params.labels(name))}"
            raise UserError(what, where=f"{path}: models.{name}", remedy="remove it")

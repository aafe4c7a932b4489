"""`evenruler population`: the models of the Hub that answer questionnaires by entailment (EMPALC,
section 4.1), written into `params.yaml`.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from pathlib import Path
from typing import Any, Final

from evenruler.declaration.params import Params
from evenruler.errors import UserError
from evenruler.hub import RepositoryError, hub_errors_as_user_errors
from evenruler.instruments.questionnaires.declare import Settings
from evenruler.models.declarations import slug_of
from evenruler.project.add import NEEDED, add_models, describe_files, fetch_describing_files
from evenruler.project.editing import set_keys
from evenruler.project.pin import require_edit
from evenruler.strict import content_of

LISTINGS: Final[tuple[Mapping[str, Any], ...]] = (
    {"pipeline_tag": "zero-shot-classification"},
    {"pipeline_tag": "text-classification", "search": "nli"},
    {"pipeline_tag": "fill-mask"},
)
"""Filters of the Hub's lists: classifiers of entailment are under the first two, encoders that a
head is to be fitted on under the third."""

SAFE: Final = {**NEEDED, "weights (*.safetensors)": ["*.safetensors"]}
"""As `NEEDED`, without weights of the older format, which can hold code."""

DATA, VALIDATION = "mnli", "mnli-validation"
"""The entries of `training` that heads are fitted and tried on."""

HELD_OUT: Final = 9815
"""Rows of MNLI's matched validation set: all of them."""


@dataclass(frozen=True)
class Candidate:
    """A model in a list of the Hub."""

    repo: str
    downloads: int
    lineage: str
    """A name for its weights: that of the model which its card says it was made from, if any."""


@dataclass
class Population:
    """The most downloaded models that can be used, against what is declared."""

    declared: list[str] = field(default_factory=list)
    """Repositories that `params.yaml` has already."""
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Keys of new entries by name."""
    problems: list[RepositoryError] = field(default_factory=list)
    """Why other repositories are passed over."""
    failure: UserError | None = None
    """What ended the search early, where the Hub fails."""

    @property
    def n_models(self) -> int:
        """The number of models, declared or new."""
        return len(self.declared) + len(self.entries)

    def describe_news(self) -> str:
        """What is new, and how many were there, in words."""
        kinds = [fields["kind"] for fields in self.entries.values()]
        new = f"{kinds.count('nli')} ready and {kinds.count('encoder')} to be fitted are new"
        return f"{new}, {len(self.declared)} were there"


def accuracy_in_force(params: Params) -> float:
    """The accuracy that questionnaires require of a model, unless one has a setting of its own."""
    shared = params.families.get("questionnaires") or {}
    return float(shared.get("accuracy", Settings.model_fields["accuracy"].default))


def choose_models(params: Params, most: int, accuracy: float) -> Population:
    """The `most` most downloaded models of the Hub that are classifiers of entailment, or encoders
    that become one by a fit.

    What is declared counts and stays. UserError where the data for fits is not declared.
    """
    for training_set in (DATA, VALIDATION):
        if training_set not in params.training:
            remedy = "declare it; docs/adding-a-model.md"
            what = f"no training data {training_set!r}"
            raise UserError(what, where="params.yaml: training", remedy=remedy)
    declared_repos = list_declared_repos(params)
    population = Population()
    try:
        for candidate in list_candidates():
            if population.n_models == most:
                break
            if candidate.repo in declared_repos:
                population.declared.append(candidate.repo)
                continue
            try:
                fields = describe_candidate(candidate, accuracy)
                name = choose_name(candidate.repo, fields, {*params.models, *population.entries})
            except RepositoryError as problem:
                population.problems.append(problem)
            else:
                population.entries[name] = fields
    except UserError as failure:
        population.failure = failure
    return population


def list_declared_repos(params: Params) -> set[str]:
    """Repositories of declared classifiers of entailment and encoders."""
    sources = [entry.source for entry in params.models.values() if entry.kind in ("nli", "encoder")]
    return {str(source).removeprefix("hub:") for source in sources}


def list_candidates() -> Iterator[Candidate]:
    """Models of all lists, each once, the most downloaded first; UserError where the Hub fails."""
    listings = [_list_by_downloads(filters) for filters in LISTINGS]
    listed_repos: set[str] = set()
    for candidate in merge(*listings, key=lambda candidate: -candidate.downloads):
        if candidate.repo not in listed_repos:
            listed_repos.add(candidate.repo)
            yield candidate


def _list_by_downloads(filters: Mapping[str, Any]) -> Iterator[Candidate]:
    """Models of one list that transformers loads, the most downloaded first."""
    from huggingface_hub import HfApi

    with hub_errors_as_user_errors("the list of models"):
        listing = HfApi().list_models(
            **filters, filter="transformers", sort="downloads", expand=["downloads", "cardData"]
        )
        for model in listing:
            lineage = find_lineage(model.id, model.card_data)
            yield Candidate(model.id, model.downloads or 0, lineage)


def find_lineage(repo: str, card: object) -> str:
    """A name for a model's weights, from its card: models made from one base share it."""
    base = getattr(card, "base_model", None) or repo
    first = base[0] if isinstance(base, list) else base
    return slug_of(str(first).rpartition("/")[2])


def describe_candidate(candidate: Candidate, accuracy: float) -> dict[str, Any]:
    """The keys of a model's entry; `accuracy`: the bar of its fit, if it needs one.

    RepositoryError where it cannot be used; UserError where the Hub fails.
    """
    source = f"hub:{candidate.repo}"
    files = fetch_describing_files(source, SAFE)
    try:
        fields = describe_files(files)
    except UserError as problem:  # of what its files say
        raise RepositoryError(problem.what, where=source) from None
    of_population = {"lineage": candidate.lineage, "profile": "paper"}
    if fields["kind"] == "nli":
        return {**fields, **of_population}
    if fields["kind"] != "masked":
        what = f"it is of kind {fields['kind']}, neither a classifier of entailment nor an encoder"
        raise RepositoryError(what, where=source)
    recipe = {
        "data": [DATA],
        "validation": VALIDATION,
        "held_out": HELD_OUT,
        "fit": "whole",
        "bar": accuracy,
    }
    return {
        "kind": "encoder",
        "source": source,
        "revision": fields["revision"],
        "finetune": recipe,
        "licence": fields["licence"],
        "origin": f"{candidate.repo}, fitted on MNLI",
        **of_population,
    }


def choose_name(repo: str, fields: Mapping[str, Any], taken: Collection[str]) -> str:
    """A name that is not taken: of the repository, else with its owner; RepositoryError without."""
    ending = "-mnli" if fields["kind"] == "encoder" else ""
    for label in (repo.rpartition("/")[2], repo):
        name = f"{slug_of(label)}{ending}"
        if name not in taken:
            return name
    raise RepositoryError(f"there is a model {name!r} already", where=f"hub:{repo}")


def write_population(
    text: str, path: Path, params: Params, population: Population, accuracy: float
) -> str:
    """The text of `params.yaml` with the new entries, and with the accuracy that questionnaires
    require, where it is another; all else stays. UserError where it cannot be edited by its lines.
    """
    if accuracy != accuracy_in_force(params):
        text = _write_accuracy(text, path, accuracy)
    if population.entries:
        text = add_models(text, path, params, population.entries)
    return text


def _write_accuracy(text: str, path: Path, accuracy: float) -> str:
    """The text with another accuracy that questionnaires require."""
    expected = content_of(text, path)
    place = ("families", "questionnaires", "accuracy")
    shared = (expected.get("families") or {}).get("questionnaires") or {}
    shared["accuracy"] = accuracy
    return require_edit(lambda: set_keys(text, {place: accuracy}, "embedder"), path, expected)

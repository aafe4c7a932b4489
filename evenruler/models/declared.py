"""The catalogue of models: `models` and `training` in `params.yaml`."""

from collections.abc import Iterable, Sequence

from pydantic import Field

from evenruler.models.entry import ModelEntry
from evenruler.models.operations import Kind, Operation, operations_of, with_head
from evenruler.models.recipe import NLI_LABELS, TrainingData
from evenruler.strict import Slug, Strict


class Catalogue(Strict):
    """Every model that is declared, by name, and the labelled data that heads are fitted on."""

    models: dict[Slug, ModelEntry]
    training: dict[Slug, TrainingData] = Field(default_factory=dict)
    """Labelled data that `evenruler finetune` fits heads on."""

    def kind(self, name: str) -> Kind:
        """The backend of a model: the kind of its entry, or of an encoder what it is with its head."""
        entry = self.models[name]
        if entry.kind != "encoder":
            return entry.kind
        return with_head(frozenset(self.labels(name)), frozenset(NLI_LABELS))

    def can(self, name: str, operation: Operation) -> bool:
        """Whether a model can do an operation; nothing is loaded."""
        return operation in operations_of(self.kind(name))

    def entails(self, name: str) -> bool:
        """Whether a model answers questionnaires."""
        entry = self.models[name]
        if entry.entailment is not None:
            return entry.entailment
        if entry.kind in ("nli", "masked") or entry.forms is not None:
            return True
        return entry.kind == "encoder" and self.can(name, "entail")

    def labels(self, name: str) -> list[str]:
        """What the head of an encoder tells apart, in the order of its outputs."""
        recipe = self.models[name].finetune
        return list(self.training[recipe.validation].labels) if recipe else []

    def origins(self, models: Sequence[str]) -> dict[str, str]:
        """Where models come from, in words, with their licence."""
        entries = {name: self.models[name] for name in models}
        return {
            name: f"{entry.origin}{f' at {entry.revision[:12]}' if entry.revision else ''}; {entry.licence}"
            for name, entry in entries.items()
        }

    def to_be_given(self, models: Iterable[str]) -> str:
        """What to do before some models can be had: those on the Hub, or made of such, whose commit is to be given.

        Returns:
            A line that names them with their pages; empty where every commit is given.
        """
        lacking = [name for name in dict.fromkeys(map(self._files_of, models)) if self.models[name].lacks_commit]
        if not lacking:
            return ""
        pages = [
            f"{name} (https://huggingface.co/{self.models[name].locations[0][1]}/commits/main)" for name in lacking
        ]
        what = f"the commit of {', '.join(pages)} is to be given"
        more = f", and so on for all {len(lacking)}" if len(lacking) > 1 else ""
        return f"{what}; look it up there, and write its 40 hex digits as the `revision` of {lacking[0]}{more}"

    def _files_of(self, model: str) -> str:
        """The model whose files are needed: itself, or that which an untrained one is made of."""
        while self.models[model].scheme == "untrained":
            model = self.models[model].locations[0][1]
        return model

    def lineage(self, model: str) -> str:
        """The name that a model shares with those of the same weights."""
        return self.models[model].lineage or model

"""What is measured of replies: an entry of `features`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import Field, model_validator

from evenruler.errors import UserError
from evenruler.models.operations import Operation
from evenruler.strict import Seed, Slug, Strict, Text

SCORED = ("{GENERATION}", "{BASELINE}")
"""What the prompt of a scorer may ask about."""


class Feature(Strict):
    """A number for each text."""

    kind: Literal["lexicon", "classifier", "distance", "clusters", "scorer"]
    """`lexicon`: VADER's compound score, from -1 to 1; `classifier`: a text classifier's probabilities, weighted;
    `distance`: how far the reply's embedding is from the baseline's; `clusters`: clusters of replies and their topic
    words; `scorer`: a language model asked for a number."""
    model: Slug | None = None
    """Of a `classifier` or `scorer`; `embedder` of the instrument for the others, where it is none."""
    score: dict[Text, float] | None = None
    """Of a `classifier`: the weight of each label's probability."""
    offset: float = 0.0
    """Of a `classifier`: added to the weighted sum."""
    metric: Literal["cosine", "l2"] | None = None
    """Of `distance` and `clusters`."""
    form: Literal["label", "sort", "distance"] | None = None
    """Of `clusters`: in its cluster or not (1 or 0); how near its topic is among all (1 the nearest); how far."""
    by: list[Literal["concept", "role", "template"]] | None = None
    """Of `clusters`: replies are clustered within these; within the domain and the model in any case."""
    k: int | None = Field(default=None, ge=2)
    """Of `clusters`: how many."""
    seed: Seed | None = None
    """Of `clusters`."""
    mask: bool = True
    """Whether names and replacement words are left out of texts before they are measured; `false` is the paper's way,
    by which figures are also about names, and get no verdict."""
    better: Literal["higher", "lower", "none"] | None = None
    """Which end is in favour of what a text is about; `higher` for a `lexicon`, `none` for the others, by default.
    With `higher` or `lower`, a confirmatory figure says how far concepts are apart in favour."""
    multilingual: bool = False
    """Whether its tool reads other languages than that of the prompts; if not, a reply in another is null."""
    question: Text | None = None
    """Of a `scorer`: what it is asked; {GENERATION} and, if wanted, {BASELINE} stand for the texts."""
    low: float | None = None
    """Of a `scorer`: the least number it may say."""
    high: float | None = None
    """Of a `scorer`: the largest."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Feature":
        needed, allowed = _KEYS[self.kind]
        given = {key for key in type(self).model_fields if getattr(self, key) is not None} - {
            "kind",
            "mask",
            "better",
            "multilingual",
        }
        given -= {"offset"} if not self.offset else set()
        for key in sorted(needed - given):
            raise ValueError(f"a feature of kind {self.kind} needs `{key}`")
        for key in sorted(given - needed - allowed):
            raise ValueError(f"`{key}` does not belong to kind {self.kind}")
        if self.question is not None and SCORED[0] not in self.question:
            raise ValueError(f"the question does not hold {SCORED[0]}, so every reply is asked about in the same words")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low is {self.low} and high {self.high}")
        if self.kind == "clusters" and self.favour != "none":
            raise ValueError("near to which topics replies are is no favour: `better` is none for kind clusters")
        return self

    @property
    def favour(self) -> Literal["higher", "lower", "none"]:
        """Which end is in favour of what a text is about."""
        return self.better or ("higher" if self.kind == "lexicon" else "none")

    def weights(self, name: str, labels: Sequence[str]) -> list[float]:
        """Of a `classifier`: the weight of each label, every one of which has one.

        Args:
            name: Of the feature.
            labels: Of its model, in order.

        Raises:
            UserError: A label has no weight, or a weight no label.
        """
        score = self.score or {}
        wrong = [
            f"{what} {', '.join(map(repr, found))}"
            for what, found in (
                ("no weight for", [label for label in labels if label not in score]),
                ("no such label as", [label for label in score if label not in labels]),
            )
            if found
        ]
        if wrong:
            raise UserError(
                "; ".join(wrong),
                where=f"params.yaml: features.{name}.score",
                remedy=f"give the labels of {self.model} a weight each, 0 if need be: {', '.join(labels)}",
            )
        return [score[label] for label in labels]


_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "lexicon": (set(), set()),
    "classifier": ({"model", "score"}, {"offset"}),
    "distance": ({"metric"}, {"model"}),
    "clusters": ({"form", "k", "seed"}, {"model", "metric", "by"}),
    "scorer": ({"model", "question", "low", "high"}, set()),
}
"""By kind: the keys that it needs, and those that it may have beside them."""


OPERATION_OF: Mapping[str, Operation] = {
    "classifier": "classify",
    "distance": "embed",
    "clusters": "embed",
    "scorer": "generate",
}
"""By kind: what the model of a feature must be capable of."""

EMBEDDED = ("distance", "clusters")
"""Kinds that measure embeddings."""

OF_TEXTS = ("lexicon", "classifier", "scorer")
"""Kinds that give a number for any text, so that baselines have one, too."""


def declared_as(measured: str, declared: Iterable[str]) -> str | None:
    """The feature that a column of numbers comes from; those of clusters go on after its name.

    Args:
        measured: As tables of the diagnosis name it.
        declared: The names under `features`.
    """
    begins = [
        name
        for name in declared
        if measured == name or (measured.startswith(name) and not measured[len(name)].isalnum())
    ]
    return max(begins, key=len, default=None)

"""What `evenruler find` looks for in a domain, and the file in which it leaves what it found."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from evenruler.strict import Seed, Slug, Strict, Text

FOUND = "found"
"""The folder beside the domains' files that `evenruler find` writes to; what a domain says instead of replacements."""

AUTO: Literal["auto"] = "auto"

Way = Literal["model", "embedding", "links"]
"""How keywords are found."""

Replacements = dict[Slug, dict[Slug, dict[Text, Text]]]
"""By root and branch: what stands for which word of the root."""


def _threshold(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value != AUTO and not (number and -1 <= value <= 1):
        raise ValueError(f"found {value!r}, expected auto or a number from -1 to 1")
    return value


class FindingReplacements(Strict):
    """How `evenruler find` looks for what stands in each branch for the words about a root (A.2)."""

    model: Slug
    """Of the catalogue: which is asked."""
    threshold: Annotated[Literal["auto"] | float, BeforeValidator(_threshold)] = AUTO
    """How similar to the root's name a word is at least that is replaced; `auto`: where the model sees no more words
    below that belong to the root, by binary search. Keywords of a root are always replaced."""
    most: int = Field(default=30, ge=0)
    """Words of a root at most, beside its keywords."""
    times: int = Field(default=3, ge=1)
    """How often it is asked a question at most, each time with another seed, until its reply will do."""
    seed: Seed = 0


class Finding(Strict):
    """What `evenruler find` looks for: keywords of the concepts that have none by hand (A.1), replacements (A.2)."""

    by: list[Way] = Field(default_factory=list)
    """`model`: a language model is asked; `embedding`: the words of a concept's pages that are nearest to its name;
    `links`: titles that its pages link to. Empty: no keywords are looked for."""
    most: int = Field(default=10, ge=1)
    """Keywords of a concept at most, beside its name."""
    model: Slug | None = None
    """Of the catalogue: which is asked."""
    times: int = Field(default=3, ge=1)
    """How often it is asked each question, each time with another seed."""
    seed: Seed = 0
    entities: bool = False
    """Whether only names (of people, places, organisations ...) are kept of words and titles from pages."""
    replacements: FindingReplacements | None = None
    """How replacements are looked for, where `branch.replacements` is `found`."""

    @model_validator(mode="after")
    def _fits_its_ways(self) -> "Finding":
        if not self.by and self.replacements is None:
            raise ValueError("nothing to look for: `by` is empty and there is no `replacements`")
        if len(set(self.by)) < len(self.by):
            raise ValueError(f"`by` names a way twice ({', '.join(self.by)})")
        if ("model" in self.by) != (self.model is not None):
            raise ValueError("`model`, of the catalogue, and the way `model` under `by` belong together")
        if self.entities and not {"embedding", "links"}.intersection(self.by):
            raise ValueError("`entities` belongs to the ways embedding and links")
        return self


class Found(Strict):
    """What was found for a concept, to be edited by hand."""

    keywords: list[Text] = Field(default_factory=list)
    pages: list[Text] = Field(default_factory=list)


class FoundFile(Strict):
    """`data/sources/saged/found/*.yaml`: what `evenruler find` found for one domain."""

    concepts: dict[Slug, Found] = Field(default_factory=dict)
    replacements: Replacements = Field(default_factory=dict)

"""`data/sources/domains/*.yaml`: one domain of SAGED, its concepts, where text comes from, and what is made of it."""

from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from evenruler.declaration.instruments import Instrument
from evenruler.declaration.strict import Slug, Strict, Text, read_yaml, validate
from evenruler.errors import UserError, nearest

ALL: Literal["all"] = "all"


class Concept(Strict):
    """What is compared with the others."""

    name: Text
    keywords: list[Text] = Field(default_factory=list)
    """Words that a sentence about it holds; its name by default."""
    pages: list[Text] = Field(default_factory=list)
    """Titles that are read for it, where text comes from pages; its name by default."""


def _concept(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Around(Strict):
    """Pages that are read beside those of the concepts: along links, breadth-first."""

    depth: int = Field(ge=1)
    most: int = Field(ge=1)
    """Pages of a concept, its own counted."""
    direction: Literal["forward", "back"] = "forward"


class Material(Strict):
    """Where text comes from."""

    kind: Literal["local", "extracts", "wiki"]
    """`local`: a file or folder of ours; `extracts`: the packaged leads of Wikipedia; `wiki`: pages that
    `evenruler refresh` fetched."""
    path: Text | None = None
    """Of `local`, beside the domain's file."""
    api: Text | None = None
    """Of `wiki`: where a private wiki answers; English Wikipedia by default."""
    licence: Text | None = None
    """Of the text; that of the domain for `local`, CC BY-SA 4.0 for Wikipedia."""
    around: Around | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Material":
        for key, value, kind in (
            ("path", self.path, "local"),
            ("api", self.api, "wiki"),
            ("around", self.around, "wiki"),
        ):
            if value is not None and self.kind != kind:
                raise ValueError(f"`{key}` belongs to kind {kind}, found {self.kind}")
        if self.kind == "local" and self.path is None:
            raise ValueError("`path` is missing, the file or folder that is read")
        return self


class Assembling(Strict):
    """How sentences become prompts."""

    method: Literal["split", "question"]
    per_concept: int = Field(ge=1)
    """Items of a concept at most, evenly over its keywords."""
    seed: int = Field(default=0, ge=0)


class Branching(Strict):
    """How items of one concept become items of others."""

    roots: list[Slug] = Field(min_length=1)
    to: Literal["all"] | list[Slug] = ALL
    counterfactual_baseline: bool = True
    """Whether baselines are branched too; else a branched item has none of its own and keeps the root's."""
    allow_leaks: bool = False
    """Whether a branched item may still hold words of the root."""
    replacements: dict[Slug, dict[Slug, dict[Text, Text]]]
    """By root and branch: what stands for which word of the root."""

    def branches_of(self, root: str, concepts: list[str]) -> list[str]:
        """The concepts that a root is branched to."""
        return [concept for concept in (concepts if self.to == ALL else self.to) if concept != root]


class DomainSource(Instrument):
    """One domain."""

    concepts: dict[Slug, Annotated[Concept, BeforeValidator(_concept)]] = Field(min_length=1)
    material: Material
    assemble: Assembling
    branch: Branching | None = None

    @model_validator(mode="after")
    def _lint(self) -> "DomainSource":
        if self.branch is not None:
            self._check_branching(self.branch)
        owners: dict[str, str] = {}
        for slug in self.concepts:
            for keyword in self.keywords_of(slug):
                other = owners.setdefault(keyword.lower(), slug)
                if other != slug:
                    raise ValueError(f"the keyword {keyword!r} belongs to two concepts, {other} and {slug}")
        return self

    def _check_branching(self, branch: Branching) -> None:
        named = [*branch.roots, *([] if branch.to == ALL else branch.to), *branch.replacements]
        for concept in [*named, *(own for maps in branch.replacements.values() for own in maps)]:
            if concept not in self.concepts:
                raise ValueError(f"branch names the concept {concept!r}; {nearest(concept, self.concepts)}")
        for root, concept in product(branch.roots, self.concepts):
            wanted = concept in branch.branches_of(root, list(self.concepts))
            if wanted and not branch.replacements.get(root, {}).get(concept):
                raise ValueError(f"branch.replacements holds nothing from {root} to {concept}")

    def keywords_of(self, concept: str) -> list[str]:
        """The keywords of a concept."""
        entry = self.concepts[concept]
        return entry.keywords or [entry.name]

    def pages_of(self, concept: str) -> list[str]:
        """The titles that are read for a concept."""
        entry = self.concepts[concept]
        return entry.pages or [entry.name]


def load_domain(path: Path) -> DomainSource:
    """Read and check the source of one domain.

    Raises:
        UserError: Something in the file is wrong; where a file of that name is missing, the nearest one is named.
    """
    if not path.exists():
        others = [other.stem for other in path.parent.glob("*.yaml")]
        raise UserError(
            f"no source for the domain {path.stem!r}; {nearest(path.stem, others)}",
            where=str(path),
            remedy="write the file or mend the name under `domains` in params.yaml",
        )
    return validate(DomainSource, read_yaml(path), path)

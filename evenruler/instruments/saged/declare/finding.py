"""Where the text of a domain comes from (files, a wiki, a dump of one), and what `evenruler find` looks for there."""

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from evenruler.strict import Seed, Slug, Strict, Text

ARTICLES = "articles"
"""The folder beside the domains' files that text of ours is read from."""


class Around(Strict):
    """Pages that are read beside those of the concepts: along links, breadth-first."""

    depth: int = Field(ge=1)
    most: int = Field(ge=1)
    """Pages of a concept, its own counted."""
    direction: Literal["forward", "back"] = "forward"


class Dump(Strict):
    """All pages of a Wikipedia at one time, as `wikimedia/wikipedia` holds them: a folder of Parquet files a dump."""

    source: Annotated[Text, Field(pattern="^(hub:[^/]+/[^/]+|local:.+)$")]
    """`hub:wikimedia/wikipedia`, or `local:path` of a folder that holds the folder of the dump."""
    config: Annotated[Text, Field(pattern=r"^\d{8}\.[a-z]+(-[a-z]+)*$")]
    """Date and language, as in 20231101.en."""
    revision: Annotated[Text, Field(pattern="^[0-9a-f]{40}$")] | None = None
    """The commit of a Hub data set."""

    @model_validator(mode="after")
    def _is_pinned(self) -> "Dump":
        if self.source.startswith("hub:") != (self.revision is not None):
            raise ValueError("`revision` (a commit of 40 hex digits) and a `source` on the Hub belong together")
        return self

    @property
    def language(self) -> str:
        """Code of the text's language."""
        return self.config.partition(".")[2]

    def __str__(self) -> str:
        name = self.source.removeprefix("hub:")
        return f"dump {self.config} of {name} at {self.revision}" if self.revision else f"dump {self.config}"


class Material(Strict):
    """Where text comes from."""

    kind: Literal["local", "extracts", "wiki"]
    """`local`: a file or folder of ours; `extracts`: the packaged leads of Wikipedia until `evenruler refresh` has
    fetched whole pages, those from then on; `wiki`: pages that `evenruler refresh` fetched."""
    path: Text | None = None
    """Of `local`: under the folder `articles` beside the domain's file, which DVC watches."""
    api: Text | None = None
    """Of `wiki`: where a private wiki answers; English Wikipedia by default."""
    dump: Dump | None = None
    """Of `wiki`: pages are read from a dump, and no wiki is asked."""
    licence: Text | None = None
    """Of the text; that of the domain for `local`, CC BY-SA 4.0 for Wikipedia."""
    around: Around | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Material":
        for key, kind in {"path": "local", "api": "wiki", "dump": "wiki", "around": "wiki"}.items():
            if getattr(self, key) is not None and self.kind != kind:
                raise ValueError(f"`{key}` belongs to kind {kind}, found {self.kind}")
        if self.dump is not None and (self.api or self.around):
            raise ValueError(f"`dump` goes without `{'api' if self.api else 'around'}`: no wiki is asked")
        if self.kind == "local" and self.path is None:
            raise ValueError("`path` is missing, the file or folder that is read")
        folder, *below = PurePosixPath(self.path or f"{ARTICLES}/all").parts
        if folder != ARTICLES or not below or ".." in below:
            raise ValueError(f"`path` is {self.path!r}, expected one such as {ARTICLES}/mine.md: DVC watches no other")
        return self


FOUND = "found"
"""The folder beside the domains' files that `evenruler find` writes to; what a domain says instead of replacements."""

AUTO: Literal["auto"] = "auto"

Way = Literal["model", "embedding", "links"]
"""How keywords are found."""

ByRoot = dict[Slug, dict[Slug, dict[Text, Text]]]
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
    replacements: ByRoot = Field(default_factory=dict)

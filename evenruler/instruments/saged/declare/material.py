"""Where the text of a domain comes from: files of ours, a wiki, or a dump of one."""

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evenruler.strict import Strict, Text

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
        for key, value, kind in (
            ("path", self.path, "local"),
            ("api", self.api, "wiki"),
            ("dump", self.dump, "wiki"),
            ("around", self.around, "wiki"),
        ):
            if value is not None and self.kind != kind:
                raise ValueError(f"`{key}` belongs to kind {kind}, found {self.kind}")
        if self.dump is not None and (self.api or self.around):
            raise ValueError(f"`dump` goes without `{'api' if self.api else 'around'}`: no wiki is asked")
        if self.kind == "local" and self.path is None:
            raise ValueError("`path` is missing, the file or folder that is read")
        if self.path is not None and not _is_article(self.path):
            raise ValueError(f"`path` is {self.path!r}, expected one such as {ARTICLES}/mine.md: DVC watches no other")
        return self


def _is_article(path: str) -> bool:
    folder, *below = PurePosixPath(path).parts
    return folder == ARTICLES and bool(below) and ".." not in below

"""Schema of `data/sources/saged/*.yaml`: one domain, with its concepts, its text, and how prompts
are made of that.

Text comes from files or a wiki, where `evenruler find` looks for keywords and replacements.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

from evenruler.errors import UnfinishedError, UserError, suggest_nearest
from evenruler.instruments.instrument import MEND
from evenruler.instruments.instrument import Source as BaseSource
from evenruler.instruments.prefixes import PrefixSettings
from evenruler.reference_sets import PLACES
from evenruler.strict import (
    Seed,
    Slug,
    StrictModel,
    Text,
    Word,
    pattern_validator,
    read_yaml,
    require_written,
    validate,
)
from evenruler.tables import group_by_key
from evenruler.tables.records import read_text_table
from evenruler.text.english import slug_of
from evenruler.text.spelling import describe_duplicates, find_duplicates

ARTICLES = "articles"  # folder of our own texts, next to the domains' files

Direction = Literal["forward", "back"]

PromptColumn = Literal[
    "prompt", "concept", "root_id", "baseline", "topic", "note", "source", "licence"
]
"""Columns that a table of prompts may have (docs/adding-a-saged-domain.md); only `prompt` is
required."""


class LinkCrawl(StrictModel):
    """Further pages that are read, found along links from the pages of the concepts,
    breadth-first.
    """

    depth: int = Field(ge=1)
    most: int = Field(ge=1)
    """Most pages of a concept, its own included."""
    direction: Direction = "forward"


class TextOrigin(StrictModel):
    """Where text comes from."""

    kind: Literal["table", "local", "extracts", "wiki"]
    """`table`: ready prompts; `local`: a file or folder of text; `extracts`: packaged leads of
    Wikipedia, or whole pages once `evenruler refresh` has fetched them; `wiki`: pages that
    `evenruler refresh` fetched."""
    path: Text | None = None
    """Of `table` and `local`: a path in the folder `articles` next to the domain's file, which DVC
    watches."""
    columns: dict[PromptColumn, Text] = Field(default_factory=dict)
    """Of `table`, by our name: what its authors call a column; others are left out. By default
    columns have our names."""
    mask: Text | None = None
    """Of `table`: what stands where a word is to be filled in, as [M]; a prompt ends before it."""
    api: (
        Annotated[
            Text,
            pattern_validator(r"https?://[^/?#]+(/[^?#]*)?/api\.php", "https://HOST/PATH/api.php"),
        ]
        | None
    ) = None
    """Of `wiki`: API of another wiki, https://HOST/PATH/api.php; by default that of Wikipedia in
    the language."""
    revisions: dict[Text, Annotated[int, Field(ge=1)]] | None = None
    """Of `wiki`: by title, the revision (`oldid`) to read, so that everybody gets the same text;
    other pages are read in their latest revision."""
    licence: Text | None = None
    """Of the text; by default the domain's for `local`, CC BY-SA 4.0 for Wikipedia."""
    around: LinkCrawl | None = None

    @model_validator(mode="after")
    def _require_origin_keys(self) -> "TextOrigin":
        """Refuse keys of another kind, a lacking licence or path, and a path that DVC does not
        watch (ValueError).
        """
        belongs = {"path": "local or table", "api": "wiki", "revisions": "wiki", "around": "wiki"}
        belongs |= {"columns": "table", "mask": "table"}
        for key, kinds in belongs.items():
            is_written = getattr(self, key) not in (None, {})
            if is_written and self.kind not in kinds.split(" or "):
                raise ValueError(f"`{key}` belongs to kind {kinds}, found {self.kind}")
        if self.api is not None and self.licence is None:
            raise ValueError("`licence` is missing, that of the text of `api`")
        if self.is_ours and self.path is None:
            raise ValueError("`path` is missing, the file or folder that is read")
        folder, *below = PurePosixPath(self.path or f"{ARTICLES}/all").parts
        if folder != ARTICLES or not below or ".." in below:
            raise ValueError(
                f"`path` is {self.path!r}, expected one such as {ARTICLES}/mine.md: DVC watches no "
                "other"
            )
        if self.columns and "prompt" not in self.columns:
            raise ValueError("`columns` lacks the column of prompt")
        return self

    @property
    def is_ours(self) -> bool:
        """Whether text is read from a file of the domain, not from a wiki or a package."""
        return self.kind in ("local", "table")


FOUND = "found"
"""Folder next to the domains' files that `evenruler find` writes to; also a value of
`branch.replacements`."""

SearchMethod = Literal["model", "embedding", "links"]  # how keywords are found
ByRoot = dict[
    Slug, dict[Slug, dict[Word, Word]]
]  # by root and branch: the replacement of each word of the root


def _check_threshold(value: object) -> object:
    """The value as it is; ValueError unless it is `auto`, None or a similarity from -1 to 1."""
    is_valid = value in ("auto", None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_valid = -1 <= value <= 1
    if not is_valid:
        raise ValueError(f"found {value!r}, expected auto or a number from -1 to 1")
    return value


class KeywordSearch(StrictModel):
    """What `evenruler find` looks for: keywords of concepts that declare none (A.1), and
    replacements of the words about a root in each branch (A.2).
    """

    by: list[SearchMethod] = Field(default_factory=list)
    """`model`: a language model is asked; `embedding`: the words of a concept's pages that are
    nearest to its name; `links`: titles that its pages link to. Empty: no keywords are looked
    for."""
    model: Slug | None = None
    """The model of the catalogue that is asked for keywords and replacements."""
    entities: bool = False
    """Whether words and titles from pages are kept only if they are names (of people, places,
    organisations ...)."""
    replacements: Annotated[Literal["auto"] | float | None, BeforeValidator(_check_threshold)] = (
        None
    )
    """Where `branch.replacements` is `found`: the smallest similarity to the root's name for a word
    to be replaced; `auto`: by binary search, down to where the model says that no further words
    belong to the root. Keywords of a root are always replaced."""

    @property
    def asks(self) -> bool:
        """Whether a language model is asked."""
        return "model" in self.by or self.replacements is not None

    @model_validator(mode="after")
    def _fits_its_ways(self) -> "KeywordSearch":
        """Refuse a search for nothing, a way named twice, and `model` or `entities` without a way
        that uses it (ValueError).
        """
        if not self.by and self.replacements is None:
            raise ValueError("nothing to look for: `by` is empty and there is no `replacements`")
        if len(set(self.by)) < len(self.by):
            raise ValueError(f"`by` names a way twice ({', '.join(self.by)})")
        if self.asks != (self.model is not None):
            raise ValueError(
                "`model`, of the catalogue, belongs to the way `model` under `by` or to "
                "`replacements`, and these need it"
            )
        if self.entities and not {"embedding", "links"}.intersection(self.by):
            raise ValueError("`entities` belongs to the ways embedding and links")
        return self


class FoundKeywords(StrictModel):
    """What was found for a concept, to be edited by hand."""

    keywords: list[Word] = Field(default_factory=list)


class FoundKeywordsFile(StrictModel):
    """`data/sources/saged/found/*.yaml`: what `evenruler find` found for one domain."""

    concepts: dict[Slug, FoundKeywords] = Field(default_factory=dict)
    replacements: ByRoot = Field(default_factory=dict)


DOMAINS, SNAPSHOTS = Path("data/sources/saged"), Path("data/snapshots")
PAGES, MISSING = "pages.parquet", "missing.parquet"  # the files of a snapshot


class Concept(StrictModel):
    """A concept, which is compared with the others."""

    name: Word
    keywords: list[Word] = Field(default_factory=list)
    """Words that a sentence about it contains; by default those that were found, else its name."""
    pages: list[Text] = Field(default_factory=list)
    """Titles of the pages that are read for it; by default its name."""
    forms: dict[Annotated[str, pattern_validator("[a-z][a-z_]*", "lower-case a-z and _")], Word] = (
        Field(default_factory=dict)
    )
    """Values of placeholders in a table of prompts: of {concept}, by default its name, and of the
    user's own, as {people}."""
    reference: bool = False
    """Whether it is a known name of the reference set: models are asked about it, and concepts are
    compared with it. `reference` of a domain samples such names."""
    compared: bool = True
    """Whether it is compared with the other concepts; not where it is only what a text is about, as
    an invented country."""


def _expand_concept(value: object) -> object:
    """A concept written as its bare name, as the fields of `Concept`; anything else as it is."""
    return {"name": value} if isinstance(value, str) else value


def _slug_names(concepts: object) -> object:
    """Concepts by slug, where a table calls them otherwise, as white_men; anything else, and names
    that have the same slug, as they are.
    """
    if not isinstance(concepts, dict):
        return concepts
    slugs = [slug_of(str(name)) or name for name in concepts]
    by_slug = dict(zip(slugs, concepts.values(), strict=True))
    return by_slug if len(by_slug) == len(concepts) else concepts


class ReferenceNames(StrictModel):
    """Known names of the kind of the concepts, sampled by seed, so that nobody chose them one by
    one.
    """

    kind: Text
    """Kind of place, or the kind above it, as `evenruler/reference_sets/places.csv` names them:
    country."""
    n: int = Field(default=39, ge=2)
    """How many names. A rank takes 19 for p = .05; of 39 the furthest has p .025."""
    seed: Seed = 0

    def sample(
        self, places: Sequence[Mapping[str, str]], concepts: "Sequence[Concept]"
    ) -> list[str]:
        """The sampled names, in alphabetical order; `places`: rows of the file.

        Names leave by rule only: those of several words or that end in s, which may need an
        article, and those that a concept is called by. ValueError: fewer names than `n` are left.
        """
        words: set[str] = set()
        for concept in concepts:
            for phrase in (concept.name, *concept.keywords, *concept.forms.values()):
                words.update(phrase.split())
        names: set[str] = set()
        for place in places:
            name = place["name"]
            is_of_kind = self.kind in (place["kind"], place["kind_above"])
            is_simple = name.isascii() and name.isalpha() and not name.endswith("s")
            if is_of_kind and is_simple and name not in words:
                names.add(name)
        if len(names) < self.n:
            raise ValueError(
                f"`reference` wants {self.n} names of the kind {self.kind}, and there are "
                f"{len(names)}"
            )
        draw = np.random.default_rng(self.seed)
        return sorted(draw.choice(sorted(names), self.n, replace=False).tolist())


class PersonaControl(StrictModel):
    """The positive control: a persona that dislikes one concept, whose replies must be seen to
    disfavour it.
    """

    concept: Slug
    persona: Text
    """What is put before the prompts about the concept, such as "You dislike Canada."."""


class PromptAssembly(StrictModel):
    """How sentences become prompts, or what kind of prompts a table has."""

    method: Literal["split", "question"]
    """`split`: beginnings that a model continues; `question`: questions that it answers."""
    per_concept: int = Field(default=1_000_000, ge=1)
    """Most items of a concept, balanced over its keywords; of a table, most prompts, balanced over
    its topics."""
    seed: Seed = 0
    model: Slug | None = None
    """Model of the catalogue that can `generate` and writes the questions that sentences would
    answer."""


MOST_WRONG = 0.03
"""Largest share of branched rows that may be wrong; a domain that does not show this is refused."""


class ReviewResult(StrictModel):
    """Result of a review of branched rows; wrong are broken grammar, nonsense, and statements that
    cannot be true.
    """

    rows: int = Field(ge=0)
    """Rows that were read; 0: none yet, so that rows are built but no model is asked about them."""
    of: int | None = None
    """All rows; where all were read, the wrong share is exact, not an estimate."""
    wrong: int = Field(ge=0)
    by: Text
    """Who read them."""

    @model_validator(mode="after")
    def _require_consistent_counts(self) -> "ReviewResult":
        """Refuse more wrong rows than were read, and more read than there are (ValueError)."""
        if self.wrong > self.rows:
            raise ValueError(f"`wrong` is {self.wrong}, but `rows` only {self.rows}")
        if self.of is not None and self.rows > self.of:
            raise ValueError(f"`rows` is {self.rows}, but `of` only {self.of}")
        return self

    @property
    def refused(self) -> str:
        """Why the review does not show that few enough rows are wrong; empty where it does, or is
        pending.
        """
        from evenruler.measurement.inputs import wilson

        def most(rows: int) -> float:
            """The upper end of Wilson's 95% interval of the wrong share, if this many rows were
            read with no more wrong ones.
            """
            return wilson(self.wrong / rows, rows)[1]

        reason = f"{self.wrong} of {self.rows} branched rows that were read are wrong"
        if self.rows in (0, self.of):
            return reason if self.wrong > MOST_WRONG * self.rows else ""
        if most(self.rows) <= MOST_WRONG:
            return ""
        enough = next(rows for rows in count(self.rows) if most(rows) <= MOST_WRONG)
        explanation = (
            f"which leaves up to {most(self.rows):.1%} (Wilson, 95%) where {MOST_WRONG:.0%} may be"
        )
        return f"{reason}, {explanation}: read all, or {enough:,} with no more wrong"


class Branching(StrictModel):
    """How items of one concept become items of others."""

    roots: list[Slug] = Field(min_length=1)
    to: Literal["all"] | list[Slug] | dict[Slug, list[Slug]] = "all"
    """The concepts that each root is branched to; by root where they differ."""
    counterfactual_baseline: bool = True
    """Whether baselines are branched too; if not, a branched item keeps the root's."""
    allow_leaks: bool = False
    """Whether a branched item may still contain words of the root."""
    words: dict[Slug, list[Word]] = Field(default_factory=dict)
    """Words of each concept, in the same order for all, as [Brazil, Brazilian, Brazilians]: each
    replaces the root's word at the same position, where `replacements` has nothing else for the
    branch."""
    replacements: ByRoot = Field(default_factory=dict)
    """By root and branch, the replacement of each word of the root; `found`: those that `evenruler
    find` found."""
    judge: Slug | None = None
    """Model of the catalogue that can `generate`: it is asked of every branched row whether it is
    coherent and agrees with world knowledge; other rows are rejected."""
    read: ReviewResult | None = None
    """Result of a review of the rows."""
    _are_found: bool = PrivateAttr(default=False)

    @model_validator(mode="wrap")
    @classmethod
    def _read_replacements(
        cls, data: object, handler: ModelWrapValidatorHandler["Branching"]
    ) -> "Branching":
        """Read `replacements: found` as an empty mapping, marked in `_are_found`; ValueError where
        `words` are declared too.
        """
        are_found = False
        if isinstance(data, dict) and data.get("replacements") == FOUND:
            are_found, data = True, data | {"replacements": {}}
        branching = handler(data)
        if are_found and branching.words:
            raise ValueError(
                f"`words` and `replacements: {FOUND}` do not belong together; keep one of them"
            )
        branching._are_found = are_found
        return branching

    @model_validator(mode="after")
    def _by_places(self) -> "Branching":
        """Add replacements for the roots that have `words`, by position."""
        for concept, concept_words in self.words.items():
            first, words = next(iter(self.words.items()))
            n_words, n_first = len(concept_words), len(words)
            if n_words != n_first:
                what = f"{n_words} words of {concept}, but {n_first} of {first}"
                raise ValueError(f"`words` has {what}; one stands for the other by its place")
        for root in self.roots:
            if root not in self.words:
                continue
            for branch, branch_words in self.words.items():
                if branch == root:
                    continue
                mapped = dict(zip(self.words[root], branch_words, strict=True))
                self.replacements.setdefault(root, {}).setdefault(branch, mapped)
        if isinstance(self.to, dict) and set(self.to) != set(self.roots):
            raise ValueError(
                f"`to` is by root for {', '.join(self.to)}, but the roots are "
                f"{', '.join(self.roots)}"
            )
        return self

    @property
    def are_found(self) -> bool:
        """Whether replacements are those that `evenruler find` found."""
        return self._are_found

    @property
    def refused(self) -> str:
        """Why no benchmark may be built; empty where a model judges the rows, or their review
        passed or is pending.
        """
        if self.judge is not None:
            return ""
        if self.read is None:
            return (
                "its branched rows are neither judged nor read: 15 to 78% of rows from text are "
                "wrong (docs/saged.md)"
            )
        return self.read.refused

    @property
    def is_unread(self) -> bool:
        """Whether the review of its rows is pending, so that no model is asked about them yet."""
        return self.judge is None and self.read is not None and not self.read.rows

    def branches_of(self, root: str, concepts: list[str]) -> list[str]:
        """The concepts that a root is branched to."""
        to = self.to.get(root, []) if isinstance(self.to, dict) else self.to
        branches = concepts if to == "all" else to
        return [concept for concept in branches if concept != root]


Row = dict[str, Any]


class PromptTable(NamedTuple):
    """A table of prompts as it was read."""

    prompts: list[Row]
    """By `schemas.SENTENCES`."""
    origin: Row
    """By `schemas.SOURCES`."""


class Source(BaseSource):
    """One domain."""

    concepts: Annotated[
        dict[Slug, Annotated[Concept, BeforeValidator(_expand_concept)]],
        BeforeValidator(_slug_names),
        Field(min_length=1),
    ]
    material: TextOrigin
    assemble: PromptAssembly
    branch: Branching | None = None
    find: KeywordSearch | None = None
    """How missing keywords and replacements are found; not at all by default."""
    prefixes: PrefixSettings | None = None
    """Texts that prompts are also asked after, to measure their effect; none by default."""
    reference: ReferenceNames | None = None
    """Known names that concepts are compared with; of a table of prompts. None by default."""
    concept: Slug | None = None
    """The one concept that the headline is about: it is ranked among the known names. By default
    the headline is the concept that lies furthest from all."""
    control: PersonaControl | None = None
    """The positive control; without one nothing can be said to be small."""
    _table: "PromptTable | None" = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _require_consistent_domain(self) -> "Source":
        """Refuse unknown concepts, roots without replacements, and parts of a domain that do not go
        together (ValueError).
        """
        if self.branch is not None:
            replaced = self.branch.replacements
            branches = (to for _, to in self._branched)
            for concept in chain(
                self.branch.roots, self.branch.words, replaced, branches, *replaced.values()
            ):
                if concept not in self.concepts:
                    raise ValueError(
                        f"branch names the concept {concept!r}; "
                        f"{suggest_nearest(concept, self.concepts)}"
                    )
            lacking = [] if self.branch.are_found else self.lacking
            if lacking:
                root, concept = lacking[0]
                raise ValueError(f"branch.replacements holds nothing from {root} to {concept}")
        uses_found = self.branch is not None and self.branch.are_found
        finds = self.find is not None and self.find.replacements is not None
        if uses_found != finds:
            raise ValueError(
                f"`find.replacements` and `branch.replacements: {FOUND}` belong together"
            )
        is_table = self.material.kind == "table"
        writes = self.assemble.model is not None
        if writes != (self.assemble.method == "question" and not is_table):
            raise ValueError(
                "`assemble.model` writes questions about text, so both belong together"
            )
        if is_table and (self.branch or self.find):
            raise ValueError(
                "a table says what is asked of every concept: `branch` and `find` do not belong to "
                "it"
            )
        if self.find is not None and "links" in self.find.by and self.material.is_ours:
            raise ValueError("find.by names links, which local text has none of")
        asks = self._asks_in_english
        if asks and not self.in_english:
            raise ValueError(
                f"{asks} asks in English, and the texts are in {self.language!r}; leave it out"
            )
        self._check_owners()
        return self

    @model_validator(mode="after")
    def _lint_headline(self) -> "Source":
        """Check what the headline is about, and what it is compared with."""
        if self.reference is not None and self.material.kind != "table":
            raise ValueError(
                "`reference` samples names for a table of prompts; in text, declare concepts with "
                "`reference: true`"
            )
        concept_by_key = {"concept": self.concept}
        if self.control is not None:
            concept_by_key["control.concept"] = self.control.concept
        for key, concept in concept_by_key.items():
            if concept is not None and concept not in self.members:
                hint = suggest_nearest(concept, self.members)
                raise ValueError(f"`{key}` names {concept!r}, which is not compared; {hint}")
        return self

    @property
    def _asks_in_english(self) -> str:
        """The key by which a model is asked about the texts in English words; empty where there is
        none.
        """
        if self.assemble.model is not None:
            return "assemble.model"
        if self.branch is not None and self.branch.judge is not None:
            return "branch.judge"
        return "find" if self.find is not None and self.find.asks else ""

    def _check_owners(self) -> None:
        """Check that every keyword belongs to one concept, once."""
        for slug in self.concepts:
            duplicates = find_duplicates(self.keywords_of(slug))
            if duplicates:
                raise ValueError(
                    f"the keyword {describe_duplicates(*duplicates[::-1])} is given twice for {slug}"
                )
        pairs: list[tuple[str, str]] = []
        for slug in self.concepts:
            pairs += [(keyword, slug) for keyword in self.keywords_of(slug)]
        duplicates = find_duplicates(keyword for keyword, _ in pairs)
        if duplicates:
            earlier, later = duplicates
            first = next(slug for keyword, slug in pairs if keyword == earlier)
            second = dict(pairs)[later]
            called = describe_duplicates(later, earlier)
            raise ValueError(f"the keyword {called} belongs to two concepts, {first} and {second}")
        duplicates = find_duplicates(concept.name for concept in self.concepts.values())
        if duplicates:
            raise ValueError(f"two concepts are called {describe_duplicates(*duplicates)}")

    def with_found(
        self, keywords: Mapping[str, list[str]], replacements: ByRoot | None = None
    ) -> "Source":
        """The domain completed by what was found: keywords of the concepts that declare none.

        `replacements` are used where `branch.replacements` is `found`. ValueError where something
        was found for an unknown concept, or a keyword belongs to two.
        """
        replacements = replacements or {}
        branches = chain.from_iterable(replacements.values())
        for concept in chain(keywords, replacements, branches):
            if concept not in self.concepts:
                hint = suggest_nearest(concept, self.concepts)
                raise ValueError(f"{concept!r} is no concept of the domain; {hint}")
        concepts = dict(self.concepts)
        for name, words in keywords.items():
            if not concepts[name].keywords:
                concepts[name] = concepts[name].model_copy(update={"keywords": words})
        branch = self.branch
        if branch is not None and branch.are_found:
            branch = branch.model_copy(update={"replacements": replacements})
        merged = self.model_copy(update={"branch": branch, "concepts": concepts})
        merged._check_owners()
        return merged

    def with_reference(self, names: Iterable[str]) -> "Source":
        """The domain with known names, each a concept of the reference set."""
        known_names = {
            name.lower(): Concept(name=name, keywords=[name], reference=True) for name in names
        }
        merged = self.model_copy(update={"concepts": {**self.concepts, **known_names}})
        merged._check_owners()
        return merged

    @property
    def is_crossed(self) -> bool:
        """Whether every text is asked about every concept, and was written about none that is
        compared: then labels of concepts are exchangeable.
        """
        if self.branch is None:
            return self.material.kind == "table"
        return not set(self.branch.roots) & set(self.members)

    @property
    def made_by(self) -> Literal["scrape"] | None:
        """The stage that finds its sentences in text; None for a table of prompts."""
        return None if self.material.kind == "table" else "scrape"

    @property
    def table(self) -> "PromptTable | None":
        """The prompts of its table, which `load` has read; None where they are made of text."""
        return self._table

    @property
    def prompts(self) -> int | None:
        """Number of prompts in its table."""
        return self._table and len(self._table.prompts)

    @property
    def _branched(self) -> list[tuple[str, str]]:
        """Pairs of a root and a concept that it is branched to."""
        if self.branch is None:
            return []
        concepts = list(self.concepts)
        pairs: list[tuple[str, str]] = []
        for root in self.branch.roots:
            pairs += [(root, to) for to in self.branch.branches_of(root, concepts)]
        return pairs

    @property
    def lacking(self) -> list[tuple[str, str]]:
        """Pairs of root and branch without known replacements."""
        replacements = self.branch.replacements if self.branch else {}
        return [
            (root, concept)
            for root, concept in self._branched
            if not replacements.get(root, {}).get(concept)
        ]

    @property
    def replacements(self) -> ByRoot:
        """By root and branch, the replacement of each word."""
        replacements = self.branch.replacements if self.branch else {}
        complete: ByRoot = {}
        for root, branches in group_by_key(self._branched).items():
            complete[root] = {to: replacements[root][to] for to in branches}
        return complete

    def keywords_of(self, concept: str) -> list[str]:
        """The keywords of a concept: declared, else found, else its name."""
        return self.concepts[concept].keywords or [self.concepts[concept].name]

    def slug_of_concept(self, named: str) -> str:
        """The slug of the concept that a table names, by slug or by name; else the name itself."""
        if named in self.concepts:
            return named
        slugs = [slug for slug, concept in self.concepts.items() if concept.name == named]
        slugs += [slug for slug in self.concepts if slug == slug_of(named)]
        return slugs[0] if slugs else named

    def form(self, concept: str, placeholder: str) -> str | None:
        """The value of a placeholder in a prompt about a concept; None where none is declared."""
        entry = self.concepts[concept]
        return entry.forms.get(placeholder, entry.name if placeholder == "concept" else None)

    @property
    def names(self) -> list[str]:
        """All words that distinguish its concepts: names, keywords and forms, sorted."""
        words: set[str] = set()
        for concept in self.concepts.values():
            words |= {concept.name, *concept.keywords, *concept.forms.values()}
        return sorted(words)

    @property
    def roots(self) -> list[str]:
        """The concepts that sentences are about: those that others are branched from, or all."""
        return self.branch.roots if self.branch else list(self.concepts)

    def pages_of(self, concept: str) -> list[str]:
        """The titles of the pages read for a concept: declared, else its name."""
        return self.concepts[concept].pages or [self.concepts[concept].name]

    @property
    def members(self) -> dict[str, str]:
        """The concepts that are compared, by slug with their names; no known names."""
        members: dict[str, str] = {}
        for slug, concept in self.concepts.items():
            if concept.compared and not concept.reference:
                members[slug] = concept.name
        return members

    @property
    def reference_concepts(self) -> list[str]:
        """The known names of the reference set, in the order of the file."""
        return [slug for slug, concept in self.concepts.items() if concept.reference]


def read_source(path: Path, *, complete: bool = True) -> Source:
    """Read and check the source of one domain, merged with what `evenruler find` found for it.

    UserError where the file is missing or wrong; UnfinishedError where `complete` is set and
    replacements are missing.
    """
    require_written(path, "source for the domain", MEND)
    source = validate(Source, read_yaml(path), path)
    found_path = path.parent / FOUND / path.name
    # A table has its concepts and prompts in full.
    if source.material.kind != "table" and found_path.exists():
        found_file = validate(FoundKeywordsFile, read_yaml(found_path), found_path)
        try:
            keywords = {name: entry.keywords for name, entry in found_file.concepts.items()}
            source = source.with_found(keywords, found_file.replacements)
        except ValueError as error:
            raise UserError(
                str(error), where=str(found_path), remedy="fix it, or run `evenruler find` again"
            ) from None
    if source.reference is not None:
        source = _with_sampled_names(source, source.reference, f"{path}: reference")
    if complete and source.lacking:
        root, concept = source.lacking[0]
        what = f"no replacements from {root} to {concept} were found"
        remedy = f"run `evenruler find {path.stem}`"
        if found_path.exists():
            remedy = f"write them there, or delete it and {remedy}"
        raise UnfinishedError(what, where=str(found_path), remedy=remedy)
    return source


def _with_sampled_names(source: Source, reference: ReferenceNames, where: str) -> Source:
    """The domain with its known names; `where`: file and key, for errors."""
    columns = ["name", "kind", "kind_above"]
    _, rows = read_text_table(PLACES, "install Even Ruler again", columns)
    places = [cells for _, cells in rows]
    concepts = list(source.concepts.values())
    try:
        return source.with_reference(reference.sample(places, concepts))
    except ValueError as error:
        raise UserError(str(error), where=where, remedy="ask fewer, or another kind") from None


def require_text(path: Path) -> None:
    """UnfinishedError where there is no text or table at a path yet."""
    if not path.exists():
        remedy = "write it or fix `material.path`"
        raise UnfinishedError("no such file or folder", where=str(path), remedy=remedy)


def material_of(domain: str, source: Source, root: Path = Path()) -> Path | None:
    """Where a domain's text is read from, relative to `root`; None for the packaged leads.

    UnfinishedError where it is not there yet.
    """
    if source.material.is_ours:
        path = DOMAINS / str(source.material.path)
        require_text(root / path)
        return path
    snapshot = SNAPSHOTS / domain
    if (root / snapshot / PAGES).exists():
        return snapshot
    if source.material.kind == "wiki":
        remedy = f"run `evenruler refresh {domain}`, which needs a network"
        raise UnfinishedError(
            "its pages were not fetched yet", where=str(root / snapshot), remedy=remedy
        )
    return None

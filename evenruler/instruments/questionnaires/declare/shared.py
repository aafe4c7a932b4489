"""Files that questionnaires share: corpora for adaptation, labelled pairs, facts, and users' text
files.

A control corpus should match its intervention in everything but the construct.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from statistics import mean
from typing import Literal

from pydantic import Field, field_validator, model_validator

from evenruler.errors import UnfinishedError, UserError
from evenruler.strict import (
    Passage,
    Quoted,
    Slug,
    StrictModel,
    Text,
    Word,
    read_text,
    read_yaml,
    validate,
)
from evenruler.tables.records import parse_text_table
from evenruler.text.english import vader_scores
from evenruler.text.spelling import find_duplicates

_FIRST_PERSON = re.compile(r"\b(i|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.IGNORECASE)


MOST_VALENCE = 0.1
"""Default limit on the difference in valence between a control and what it controls."""


class ControlMatching(StrictModel):
    """The corpus that a control matches, and limits on the differences of their means."""

    to: Slug
    valence: float = Field(default=MOST_VALENCE, gt=0, le=2)
    """Of VADER's compound score of a sentence, -1 to 1."""
    words: float = Field(default=1.0, gt=0)
    """Words per sentence."""
    first_person: float = Field(default=0.05, gt=0, le=1)
    """Share of sentences in the first person."""


def profile_sentences(sentences: Sequence[str]) -> dict[str, float]:
    """Means over the sentences of a corpus, keyed as the fields of `Match`."""
    valences = [valence(sentence) for sentence in sentences]
    lengths = [len(sentence.split()) for sentence in sentences]
    is_first_person = [bool(_FIRST_PERSON.search(sentence)) for sentence in sentences]
    return {
        "valence": mean(valences),
        "words": mean(lengths),
        "first_person": mean(is_first_person),
    }


def control_mismatches(
    corpora: Mapping[str, Sequence[str]], matches: Mapping[str, ControlMatching]
) -> Iterator[str]:
    """A line for each difference between a control and its corpus that exceeds the declared
    limit.
    """
    for control, match in sorted(matches.items()):
        control_profile = profile_sentences(corpora[control])
        corpus_profile = profile_sentences(corpora[match.to])
        for key, control_mean in control_profile.items():
            corpus_mean = corpus_profile[key]
            most = getattr(match, key)
            if abs(control_mean - corpus_mean) > most:
                control_label = f"control {control} has {key} {control_mean:.2f}"
                corpus_label = f"{match.to} {corpus_mean:.2f}"
                yield (
                    f"{control_label}, {corpus_label}; they may differ by {most:g}: "
                    f"fix the sentences, or `matched.{key}`"
                )


@cache
def valence(text: str) -> float:
    """Valence of a text, -1 (bad) to 1 (good): VADER's compound score (Hutto and Gilbert, 2014)."""
    return float(vader_scores([text])[0])


def lines_of(file: str, where: str) -> list[str]:
    """The distinct sentences of a UTF-8 text file with one sentence per line; the path may begin
    with `~`.

    UserError if the file is missing or empty; `where`: the place that names it, for the error.
    """
    lines = Path(file).expanduser()
    if not lines.is_file():
        raise UserError(f"no file {file}", where=where, remedy="put it there or check the name")
    text = read_text(lines)
    stripped_lines = [line.strip() for line in text.splitlines()]
    sentences = list(dict.fromkeys(line for line in stripped_lines if line))
    if not sentences:
        raise UserError("holds no sentence", where=str(lines), remedy="write a sentence a line")
    return sentences


def licensed_wording(file: str, items: Sequence[str], where: str) -> dict[str, str]:
    """Questions by item, from a text file with one line per item, where the wording must not be
    published.

    UserError if the number of lines differs, or as in `lines_of`; it quotes no line of the file.
    """
    questions = lines_of(file, where)
    if len(questions) != len(items):
        what = f"{len(questions)} different lines, expected {len(items)}"
        raise UserError(what, where=file, remedy="write a line an item, in the order of `items`")
    return dict(zip(items, questions, strict=True))


Direction = Literal["up", "down", "none"]

FEWEST_SENTENCES = 2
"""Fewest sentences of a corpus, since one part is learned and one held out."""

OPEN = "open"
"""Expectation where a corpus states none for a questionnaire."""


class CorpusSource(StrictModel):
    """The declaration of a corpus."""

    title: Text
    about: Text
    """What the sentences have in common."""
    role: Literal["intervention", "control"]
    matched: ControlMatching | None = None
    """For a control: the corpus that it matches, and how closely."""
    expect: dict[Slug, Direction]
    """By questionnaire, the expected direction of its score after adaptation to these sentences."""
    source: Text
    licence: Text
    provenance: Text
    """Who wrote or generated the sentences, how and when."""
    sentences: list[Passage] = Field(default_factory=list)
    file: Text | None = None
    """A text file with one sentence per line, instead of `sentences`: for text that must not be
    stored here."""

    @field_validator("sentences")
    @classmethod
    def _require_distinct_sentences(cls, sentences: list[str]) -> list[str]:
        """Refuse a sentence that stands twice in the corpus (ValueError)."""
        duplicate = find_duplicates(sentences)
        if duplicate:
            raise ValueError(f"{duplicate[1]!r} stands twice")
        return sentences

    @model_validator(mode="before")
    @classmethod
    def _one_origin(cls, written: object) -> object:
        """Refuse a corpus with both or neither of `sentences` and `file` (ValueError); a loaded one
        has the sentences of its file.
        """
        if isinstance(written, Mapping):
            if not written.get("sentences") and not written.get("file"):
                raise ValueError("holds no text, give `sentences`, or `file`")
            if written.get("sentences") and written.get("file"):
                raise ValueError("found both, keep one")
        return written

    @model_validator(mode="after")
    def _match_role(self) -> "CorpusSource":
        """Refuse a control that expects a move, and `matched` without a control or the reverse
        (ValueError).
        """
        if self.role == "control" and set(self.expect.values()) - {"none"}:
            raise ValueError("a control moves nothing: every direction in `expect` is none")
        if (self.role == "control") != (self.matched is not None):
            raise ValueError(
                "`matched` belongs to a control, which needs it: `matched: {to: my-corpus}`"
            )
        return self


def load_corpus(path: Path) -> CorpusSource:
    """Read and check a corpus; lines of its `file`, if any, become its sentences.

    UnfinishedError where there is no such file; UserError below two sentences.
    """
    corpus = validate(CorpusSource, read_yaml(path), path)
    if corpus.file is not None:
        where = f"{path}: file"
        if not Path(corpus.file).expanduser().exists():
            remedy = "put it there or check the name"
            raise UnfinishedError(f"no file {corpus.file}", where=where, remedy=remedy)
        corpus = corpus.model_copy(update={"sentences": lines_of(corpus.file, where)})
    if len(corpus.sentences) < FEWEST_SENTENCES:
        raise UserError(
            "holds one sentence", where=str(path), remedy="give at least two: a part is held out"
        )
    return corpus


MNLI = "mnli"
"""The set of pairs on which accuracy is judged; other sets are only reported."""


class LabelledPair(StrictModel):
    """A premise and a hypothesis with the label of their relation."""

    set: Slug
    """Pairs of one origin; accuracy is reported per set."""
    label: Literal["entailment", "neutral", "contradiction"]
    premise: Quoted
    hypothesis: Quoted
    genre: str = ""
    """For MNLI, the genre of the premise."""
    source: Text
    licence: Text


def load_pairs(path: Path) -> list[LabelledPair]:
    """Read and check labelled pairs: a CSV file, UTF-8, with the fields of `LabelledPair` as
    columns.

    UserError where a row is invalid or duplicated, or no pair is of `MNLI`.
    """
    return _parse_pairs(
        read_text(path, "put labelled pairs there; the README beside says how"), path
    )


@cache
def _parse_pairs(text: str, path: Path) -> list[LabelledPair]:
    """Check labelled pairs; once, since all questionnaires share them."""
    _, rows = parse_text_table(text, str(path))
    pairs = [validate(LabelledPair, row, path) for _, row in rows]
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        if (pair.premise, pair.hypothesis) in seen:
            what = f"{pair.premise!r} stands twice with {pair.hypothesis!r}"
            raise UserError(what, where=str(path), remedy="drop one")
        seen.add((pair.premise, pair.hypothesis))
    if MNLI not in {pair.set for pair in pairs}:
        raise UserError(
            f"no pair of the set {MNLI}, which accuracy is judged by",
            where=str(path),
            remedy="add some",
        )
    return pairs


FACTS = "facts"
"""The set on which likelihood methods are judged."""


class Fact(StrictModel):
    """Common knowledge that is frequent with one term and rare with another: "An elephant is {i}
    {t}.".
    """

    template: Passage
    """With `{i}` for an intensifier, followed by `{t}` for a term."""
    right: Word
    wrong: Word
    source: Text
    licence: Text

    @field_validator("template")
    @classmethod
    def _require_fact_slots(cls, template: str) -> str:
        """Refuse a template with other slots than one {i} and one {t} (ValueError)."""
        if sorted(re.findall(r"\{\w*\}", template)) != ["{i}", "{t}"]:
            raise ValueError(f"{template!r} does not hold {{i}} and {{t}} once each")
        return template


def load_facts(path: Path) -> list[Fact]:
    """Read and check facts: a CSV file, UTF-8, with the fields of `Fact` as columns; UserError
    where a row is wrong.
    """
    return _parse_facts(read_text(path, "put facts there; the README beside says how"), path)


@cache
def _parse_facts(text: str, path: Path) -> list[Fact]:
    """Check facts; once, since all questionnaires share them."""
    _, rows = parse_text_table(text, str(path))
    return [validate(Fact, row, path) for _, row in rows]


def first_pairs(pairs: Sequence[LabelledPair], n: int) -> list[LabelledPair]:
    """At most n pairs of each set, taken in turn from each label, so that labels are as balanced as
    possible.
    """
    by_set: dict[str, dict[str, list[LabelledPair]]] = {}
    for pair in pairs:
        by_set.setdefault(pair.set, {}).setdefault(pair.label, []).append(pair)
    chosen_pairs: list[LabelledPair] = []
    for by_label in by_set.values():
        in_turn = chain.from_iterable(zip_longest(*by_label.values()))
        pairs_of_set = [pair for pair in in_turn if pair is not None]
        chosen_pairs += pairs_of_set[:n]
    return chosen_pairs

"""`shared/corpora/{name}.yaml` of the family: sentences that models are adapted to, and what that should move."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from evenruler.errors import UserError
from evenruler.instruments.questionnaires.declare.lines import lines_of
from evenruler.instruments.questionnaires.declare.matching import Match
from evenruler.strict import Slug, Strict, Text, read_yaml, validate

Direction = Literal["up", "down", "none"]

FEWEST_SENTENCES = 2
"""Of a corpus: a part is learnt, a part is held out."""

OPEN = "open"
"""Where a corpus does not say what it should do to a questionnaire."""


class CorpusSource(Strict):
    """What the user wrote."""

    title: Text
    about: Text
    """What the sentences have in common, in words."""
    role: Literal["intervention", "control"]
    matched: Match | None = None
    """Of a control: the corpus that it is a control of, and how like it is."""
    expect: dict[Slug, Direction]
    """By questionnaire: how its score should move when a model is adapted to these sentences."""
    source: Text
    licence: Text
    provenance: Text
    """Who wrote or generated the sentences, how and when."""
    sentences: list[Text] = Field(default_factory=list)
    file: Text | None = None
    """A text file with a sentence a line, in place of `sentences`: for text that is not to be kept here."""

    @field_validator("sentences")
    @classmethod
    def _distinct(cls, sentences: list[str]) -> list[str]:
        seen: set[str] = set()
        for sentence in sentences:
            if sentence.lower() in seen:
                raise ValueError(f"{sentence!r} stands twice")
            seen.add(sentence.lower())
        return sentences

    @model_validator(mode="after")
    def _one_origin(self) -> "CorpusSource":
        if bool(self.sentences) == (self.file is not None):
            raise ValueError(
                "holds no text, give `sentences`, or `file`" if not self.sentences else "found both, keep one"
            )
        if self.role == "control" and set(self.expect.values()) - {"none"}:
            raise ValueError("a control moves nothing: every direction in `expect` is none")
        if (self.role == "control") != (self.matched is not None):
            raise ValueError("`matched` belongs to a control, which needs it: `matched: {to: my-corpus}`")
        return self


def load_corpus(path: Path) -> CorpusSource:
    """Read and check a corpus; the lines of its `file`, where it has one, are its sentences then.

    Raises:
        UserError: Something in it is wrong, or there is one sentence or none.
    """
    corpus = validate(CorpusSource, read_yaml(path), path)
    if corpus.file is not None:
        corpus = corpus.model_copy(update={"sentences": lines_of(corpus.file, f"{path}: file")})
    if len(corpus.sentences) < FEWEST_SENTENCES:
        raise UserError("holds one sentence", where=str(path), remedy="give at least two: a part is held out")
    return corpus

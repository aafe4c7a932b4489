"""Terms that a causal model proposes for the items of a questionnaire, as YAML for a person to read and accept.

The model is asked for words that mean the same as the source terms of an item, and as its inverse terms, several
times over. What it says is parsed, checked, ranked and printed. Nothing is written into any source file.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from evenruler.errors import UserError, nearest
from evenruler.instruments.questionnaires.declare.identity import VARIANT
from evenruler.instruments.questionnaires.declare.source import INTENSIFIER, TERM, Item, QuestionnaireSource, Scale
from evenruler.models.declared import Catalogue
from evenruler.models.records import CausalModel, Sampling
from evenruler.text import fill, slug_of, words

SIDES = ("source", "inverse")
OTHER = {"source": "inverse", "inverse": "source"}

REPLIES = 16
"""How often a model is asked for each side of an item; every reply has a seed of its own, counted from 0."""

SAMPLING = Sampling(max_new_tokens=24, temperature=0.7, top_p=0.9)

EXAMPLES = (
    ("The soup on the table is ____.", "hot, boiling", "steaming, scalding, piping hot, burning"),
    ("The street was ____ last night.", "quiet, silent", "hushed, still, without a sound, soundless"),
    ("He ____ the parcel at once.", "opened", "unwrapped, unsealed, undid, tore open"),
)
"""Sentence, its words, words that mean the same: far from what questionnaires ask of, as small models repeat them."""

LONGEST = 4
"""Words of a term."""

SHORTEST = 4
"""Letters of a word that a term may not share with its template; shorter ones as "to" and "in" fit anywhere."""

_WORD = r"[^\W\d_]+(?:['-][^\W\d_]+)*"
_TERM = re.compile(rf"{_WORD}(?: {_WORD}){{0,{LONGEST - 1}}}")
_BULLET = re.compile(r"^(?:[-*\u2022]|\d+[.)])\s*")
_PLAIN = re.compile(r"(?!(?i:true|false|null|yes|no|on|off|y|n)$)[^\W\d_][\w' -]*")
"""What YAML takes for text without quotes."""


@dataclass(frozen=True)
class Proposal:
    """A term that a model proposed and that passes."""

    word: str
    replies: int
    """In how many of `REPLIES` it stands."""
    nats: float
    """Log-likelihood of the item's sentence with it, less the mean of that with the terms that the side has."""


Draft = Mapping[str, Sequence[Proposal]]
"""Proposals for one item by side, best first."""


def chosen(source: QuestionnaireSource, item: str | None, path: Path) -> list[str]:
    """The items to draft for: the one that is named, or all.

    Raises:
        UserError: There is no such item.
    """
    if item is None:
        return list(source.items)
    if item not in source.items:
        raise UserError(f"no item {item!r}", where=f"{path}: items", remedy=nearest(item, source.items))
    return [item]


def first_that_chats(in_use: Iterable[str], catalogue: Catalogue) -> str:
    """The first causal model in use that was tuned to answer people.

    Args:
        in_use: Names of models.
        catalogue: That holds them.

    Raises:
        UserError: There is none.
    """
    for name in in_use:
        if name in catalogue.models and catalogue.models[name].chat and catalogue.can(name, "loglikelihood"):
            return name
    raise UserError(
        "no model in use has `chat: true`", where="params.yaml: active.ask", remedy="name a causal one with --model"
    )


def draft(
    model: CausalModel, source: QuestionnaireSource, scale: Scale, items: Sequence[str], n: int
) -> dict[str, Draft]:
    """Ask a model for terms and keep what passes.

    A word passes if it `fits` and is not proposed for both sides, and if the questionnaire with it passes the linter.
    More replies rank first, then the likelier sentence.

    Args:
        model: Asked for `REPLIES` continuations a side, and for likelihoods.
        source: The questionnaire.
        scale: Its intensifiers.
        items: Slugs of those to draft for.
        n: Proposals a side at most.

    Returns:
        By item, in the order given.
    """
    counts = _counted(model, source, scale, items)
    candidates = {
        (slug, side): sorted(
            word
            for word in counts[slug, side]
            if word not in counts[slug, OTHER[side]] and fits(word, source.items[slug], scale)
        )
        for slug, side in counts
    }
    gains = _gains(model, source, scale, candidates)
    drafts: dict[str, Draft] = {}
    for slug in items:
        found: dict[str, list[Proposal]] = {}
        for side in SIDES:
            proposals = [
                Proposal(word, counts[slug, side][word], gains[slug, side, word]) for word in candidates[slug, side]
            ]
            proposals.sort(key=lambda proposal: (-proposal.replies, -proposal.nats, proposal.word))
            source, found[side] = _accepted(source, slug, side, proposals, n)
        drafts[slug] = found
    return drafts


def _counted(
    model: CausalModel, source: QuestionnaireSource, scale: Scale, items: Sequence[str]
) -> dict[tuple[str, str], Counter[str]]:
    """By item and side: in how many replies each word stands."""
    sides = [(slug, side) for slug in items for side in SIDES]
    asked = [key for key in sides for _ in range(REPLIES)]
    replies = model.generate(
        [prompt(source.items[slug], side, scale) for slug, side in asked],
        sampling=SAMPLING,
        seeds=[*range(REPLIES)] * len(sides),
        chat=False,  # small models go on with a list, and do not know what to say of one
    )
    counts: dict[tuple[str, str], Counter[str]] = {key: Counter() for key in sides}
    for key, reply in zip(asked, replies, strict=True):
        counts[key].update(set(parsed(reply)))
    return counts


def prompt(item: Item, side: str, scale: Scale) -> str:
    """The text that a model goes on with: solved examples, and the item's sentence and its words of one side."""
    blank = _sentences(item, scale, "____")[-1]
    asked = (blank, ", ".join(_terms(item, side).values()), "")
    return "\n\n".join(
        f"Sentence: {sentence}\nSynonyms of {given}: {more}".rstrip() for sentence, given, more in (*EXAMPLES, asked)
    )


def parsed(reply: str) -> list[str]:
    """The entries of a list in a reply, by commas or lines, lower-cased, without bullets, quotes and full stops.

    The list ends at an empty line. A last entry that no line break follows may have been cut off, so it is left out.
    """
    text, ended, _ = reply.lstrip().lower().replace("\u2019", "'").partition("\n\n")
    entries = re.split(r"[,;\n]", text)
    whole = entries if ended else entries[:-1]
    bare = (_BULLET.sub("", entry.strip()).strip(" \"'.") for entry in whole)
    return [entry for entry in (re.sub(r"^(?:and|or) ", "", entry) for entry in bare) if entry]


def fits(word: str, item: Item, scale: Scale) -> bool:
    """Whether a word may become a term of an item, as far as that can be told without reading it.

    It has one to four words and no punctuation; no word of an intensifier or of a slot's name, which would say how
    often; no longer word of a template; neither holds a term of the item nor stands in one; and is not of `EXAMPLES`.
    """
    own = words(word)
    templates = f"{item.premise} {item.hypothesis}"
    intensifiers = words(" ".join(how for level in scale.levels for how in level.words.values()))
    repeated = {other for other in words(templates) if len(other) >= SHORTEST}
    slots = {slot.strip("{}").lower() for slot in (TERM, INTENSIFIER)}
    terms = [*item.terms.source.values(), *item.terms.inverse.values()]
    examples = ", ".join(text for _, given, more in EXAMPLES for text in (given, more)).split(", ")
    return bool(
        _TERM.fullmatch(word)
        and not own & (intensifiers | repeated | slots)
        and not any(_stands_in(term, word) or _stands_in(word, term) for term in terms)
        and word not in examples
    )


def _stands_in(part: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(part)}\b", text, flags=re.IGNORECASE) is not None


def _terms(item: Item, side: str) -> dict[str, str]:
    return item.terms.source if side == "source" else item.terms.inverse


def _sentences(item: Item, scale: Scale, word: str) -> list[str]:
    """The template that holds {TERM}, filled; where it holds {INTENSIFIER} too, with each, lowest level first."""
    template = item.premise if TERM in item.premise else item.hypothesis
    how_often = [how for level in scale.levels for how in level.words.values()]
    fillings = how_often if INTENSIFIER in template else how_often[:1]
    return [fill(template, {TERM: word, INTENSIFIER: how}, VARIANT) for how in fillings]


def _gains(
    model: CausalModel, source: QuestionnaireSource, scale: Scale, candidates: Mapping[tuple[str, str], Sequence[str]]
) -> dict[tuple[str, str, str], float]:
    """By item, side and word: `Proposal.nats`."""
    filled = {
        (slug, side, word): _sentences(source.items[slug], scale, word)
        for (slug, side), found in candidates.items()
        for word in (*found, *_terms(source.items[slug], side).values())
    }
    texts = sorted({text for sentences in filled.values() for text in sentences})
    by_text = dict(zip(texts, model.loglikelihood(texts).nats.tolist(), strict=True))
    nats = {key: float(np.mean([by_text[text] for text in sentences])) for key, sentences in filled.items()}
    gains: dict[tuple[str, str, str], float] = {}
    for (slug, side), found in candidates.items():
        usual = np.mean([nats[slug, side, term] for term in _terms(source.items[slug], side).values()])
        gains |= {(slug, side, word): nats[slug, side, word] - float(usual) for word in found}
    return gains


def _accepted(
    source: QuestionnaireSource, slug: str, side: str, proposals: Sequence[Proposal], n: int
) -> tuple[QuestionnaireSource, list[Proposal]]:
    """The first n proposals with which the whole questionnaire passes the linter, and the questionnaire with them."""
    found: list[Proposal] = []
    for proposal in proposals:
        if len(found) == n:
            break
        larger = _with_term(source, slug, side, proposal.word)
        if larger is not None:
            source = larger
            found.append(proposal)
    return source, found


def _with_term(source: QuestionnaireSource, slug: str, side: str, word: str) -> QuestionnaireSource | None:
    """The questionnaire with one term more; None where the linter refuses that."""
    content = source.model_dump(by_alias=True)
    terms = content["items"][slug]["terms"][side]
    if slug_of(word) in terms:
        return None
    terms[slug_of(word)] = word
    try:
        return QuestionnaireSource.model_validate(content)
    except ValidationError:
        return None


def as_yaml(drafts: Mapping[str, Draft], source: QuestionnaireSource, path: Path, model: str) -> str:
    """Proposals as YAML: `terms` of each item, what is there and what is proposed, to be put into its file.

    Args:
        drafts: By `draft`.
        source: The questionnaire.
        path: Its file.
        model: What proposed them.

    Returns:
        Lines, indented as in the file. Without the comments they say the items' terms with all proposals accepted.
    """
    lines = [
        f"# Proposed by {model}, a language model; nobody has read it, and no file was changed. Read every proposal,",
        "# delete what does not fit, and only then put `terms` of the item in the place of the one in",
        f"# {path}.",
        f"# Beside each: in how many of {REPLIES} replies it stood, and the log-likelihood of the item's sentence",
        "# with it less the mean of that with the terms that are there, in nats.",
    ]
    if any(found[side] for found in drafts.values() for side in SIDES):
        lines.append("items:")
    for slug, found in drafts.items():
        lines += _item_lines(slug, source.items[slug], found)
    return "\n".join(lines) + "\n"


def _item_lines(slug: str, item: Item, found: Draft) -> Iterator[str]:
    if not any(found[side] for side in SIDES):
        yield f"  # {slug}: nothing that was proposed passes"
        return
    yield f"  {_scalar(slug)}:"
    yield "    terms:"
    for side in SIDES:
        terms = _terms(item, side)
        # A list names each term by its word; terms that the file names otherwise have to keep their names.
        listed = all(name == slug_of(word) for name, word in terms.items())
        yield f"      {side}:"
        for name, word in terms.items():
            yield f"        {_entry(name, word, listed)}"
        yield "        # proposed:" if found[side] else "        # nothing that was proposed passes"
        for proposal in found[side]:
            entry = _entry(slug_of(proposal.word), proposal.word, listed)
            yield f"        {entry} # {proposal.replies} of {REPLIES} replies, {proposal.nats:+.1f} nats"


def _entry(name: str, word: str, listed: bool) -> str:
    return f"- {_scalar(word)}" if listed else f"{_scalar(name)}: {_scalar(word)}"


def _scalar(text: str) -> str:
    """A text as YAML writes it: bare where that is safe, else quoted as JSON does."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)

"""Replacements found by models: what each word about a root becomes in each branch (SAGED, A.2)."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import find_leaks, parse_replacements
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.scrape.keyword_search import (
    PROMPTS,
    TIMES,
    KeywordHit,
    Similarity,
    Write,
    candidate_words,
    keyword_fault,
)
from evenruler.models.questions import Sampling
from evenruler.tables import group_by_key
from evenruler.text.whole_words import collapse_spaces

_TOKENS_OF_A_VERDICT = 10
_TOKENS_OF_A_WORD = 24  # for a word and its replacement in JSON
MOST_WORDS = 30  # of a root that are replaced, besides its keywords
SHOWN = 15  # words below a threshold that are judged at a time, the nearest ones (figure 12)


class UnusableReplyError(Exception):
    """A reply that cannot be parsed, or that proposes invalid replacements."""


@dataclass(frozen=True)
class Branch:
    """What was found for one root and branch concept."""

    root: str
    branch: str
    why: Mapping[str, str]  # by word to replace, why; empty where the words are not known
    words: Mapping[str, str] = field(
        default_factory=dict
    )  # replacement by word; empty where there is none
    lacking: str = ""  # why there is none


class Replaced(NamedTuple):
    """What was found for the branches of a domain, those without replacements last."""

    branches: list[Branch]
    left: list[
        str
    ]  # lines about words that are similar enough and still not replaced, with the reason


def found_replacements(
    source: Source,
    threshold: float | Literal["auto"],
    sentences: Mapping[str, Sequence[str]],
    similarity: Similarity,
    write: Write,
) -> Replaced:
    """Replacements that `parse_replacements` accepts for every root and branch of a domain, or why
    there are none.

    The words of a root are its keywords, always, and the words of its sentences with a similarity
    of at least the threshold; `auto`: down to where the model says that no more belong to it. All
    its branches replace the same words: a word that stays the same in any branch is not specific to
    the root, and is replaced nowhere.
    """
    filled: list[Branch] = []
    lacking: list[Branch] = []
    all_left: list[str] = []
    for root, branches in group_by_key(source.lacking).items():
        search = _Search(source, write, root)
        name = source.concepts[root].name
        candidates = candidate_words(sentences.get(root, []), name, similarity)
        try:
            if threshold == "auto":
                least = auto_threshold(candidates, search.belongs)
            else:
                least = threshold
            words, left = search.words([hit for hit in candidates if hit.score >= least])
        except UnusableReplyError as error:
            lacking += [Branch(root, branch, {}, lacking=str(error)) for branch in branches]
            continue
        all_left += left
        replies, faults = search.replies(branches, list(words))
        stay: dict[str, str] = {}
        for branch, replacements in replies.items():
            stay |= {word: branch for word in words if replacements[word] == word}
        for word, branch in stay.items():
            all_left.append(f"{root}: left {word!r}: it stays as it is for {branch}")
        specific = [word for word in words if word not in stay]
        for branch, replacements in replies.items():
            replaced = {word: replacements[word] for word in specific}
            filled.append(Branch(root, branch, words, replaced))
        for branch, reason in faults.items():
            lacking.append(Branch(root, branch, words, lacking=reason))
    return Replaced([*filled, *lacking], all_left)


class _Search:
    """The search for replacements of one root's words in its branches."""

    def __init__(self, source: Source, write: Write, root: str) -> None:
        """Take the source, the function that asks the model, and the slug of the root."""
        self.source, self.write, self.root = source, write, root
        self.name = source.concepts[root].name
        self.keywords = source.keywords_of(root)

    def words(self, similar: Sequence[KeywordHit]) -> tuple[dict[str, str], list[str]]:
        """The words of the root and why they are replaced, and lines about similar words that are
        not.
        """
        why = dict.fromkeys(self.keywords, "a keyword")
        most = len(why) + MOST_WORDS
        left: list[str] = []
        beyond: list[str] = []
        for word, _, score in similar:
            if find_leaks(word, why):
                continue  # its plural, for instance, is replaced with it
            reason = keyword_fault(word) or self._of_another(word)
            if reason:
                left.append(f"{self.root}: left {word!r}: {reason}")
            elif len(why) == most:
                beyond.append(repr(word))
            else:
                why[word] = f"similarity {score:.3f}"
        if beyond:
            beyond_words = ", ".join(beyond)
            left.append(f"{self.root}: left {beyond_words}: {MOST_WORDS} are enough")
        return why, left

    def replies(
        self, branches: Sequence[str], words: Sequence[str]
    ) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
        """By branch, the model's replacement of each word (itself, where it stays), or why its last
        reply is unusable.

        All branches are asked in one batch, then those with an unusable reply again, with another
        seed.
        """
        tokens = _TOKENS_OF_A_WORD * (len(words) + 2)
        listed = json.dumps(words, ensure_ascii=False)
        prompts: dict[str, str] = {}
        for branch in branches:
            names = {"concept": self.name, "branch": self.source.concepts[branch].name}
            prompts[branch] = PROMPTS["analogies"].format(**names, words=listed)
        usable: dict[str, dict[str, str]] = {}
        faults = dict.fromkeys(branches, "")
        for seed in range(TIMES):
            waiting = list(faults)
            if not waiting:
                break
            replies = self._reply([prompts[branch] for branch in waiting], seed, tokens)
            for branch, reply in zip(waiting, replies, strict=True):
                try:
                    usable[branch] = self._usable(reply, words)
                    del faults[branch]
                except UnusableReplyError as error:
                    faults[branch] = str(error)
        return {branch: usable[branch] for branch in branches if branch in usable}, faults

    def _reply(self, prompts: Sequence[str], seed: int, tokens: int) -> Sequence[str]:
        """The model's reply to each prompt, all with one seed; `tokens`: most new ones of each."""
        # Low temperature: close to the likeliest reply, yet different by seed.
        sampling = Sampling(max_new_tokens=tokens, temperature=0.3)
        return self.write(prompts, [seed] * len(prompts), sampling)

    def _usable(self, reply: str, words: Sequence[str]) -> dict[str, str]:
        """The replacements in a reply; UnusableReplyError where they are invalid."""
        proposals = parse_proposals(reply, words)
        changed: dict[str, str] = {}
        for word, replacement in proposals.items():
            reason = keyword_fault(replacement)
            if reason:
                raise UnusableReplyError(f"{word!r} becomes {replacement[:80]!r}: {reason}")
            if word in self.keywords or replacement.casefold() != word.casefold():
                changed[word] = replacement
        try:
            parse_replacements(changed, self.root)
        except UserError as error:
            raise UnusableReplyError(error.what) from None
        return {word: changed.get(word, word) for word in words}

    def belongs(self, words: Sequence[str]) -> bool:
        """Whether any of the words belongs to the root, by the model (figure 12).

        UnusableReplyError where it never says yes or no.
        """
        listed, reply = json.dumps(words, ensure_ascii=False), ""
        prompt = PROMPTS["belongs"].format(concept=self.name, words=listed)
        for seed in range(TIMES):
            (reply,) = self._reply([prompt], seed, _TOKENS_OF_A_VERDICT)
            verdict = re.match(r"\W*(yes|no)\b", reply, re.IGNORECASE)
            if verdict:
                return verdict[1].lower() == "yes"
        raise UnusableReplyError(f"neither yes nor no in the reply {reply[:80]!r}")

    def _of_another(self, word: str) -> str:
        """Why a word belongs to another concept; empty where it does not."""
        for concept, entry in self.source.concepts.items():
            if concept == self.root:
                continue
            keywords = [entry.name, *self.source.keywords_of(concept)]
            if find_leaks(word, keywords):
                return f"a keyword of {concept}"
        return ""


def auto_threshold(
    candidates: Sequence[KeywordHit], belongs: Callable[[Sequence[str]], bool]
) -> float:
    """The similarity of the last candidate that belongs to the concept, by binary search; infinity
    where none does.

    `belongs`: whether any of at most `SHOWN` words, the next below a threshold, belongs to the
    concept; called once per step of the search over distinct similarities. `candidates`: the most
    similar first.
    """
    levels = sorted({candidate.score for candidate in candidates}, reverse=True)
    n_belonging, most = 0, len(levels)  # number of levels known to belong, and most that may
    while n_belonging < most:
        middle = (n_belonging + most) // 2
        below = [candidate.word for candidate in candidates if candidate.score <= levels[middle]]
        if belongs(below[:SHOWN]):
            n_belonging = middle + 1
        else:
            most = middle
    return levels[n_belonging - 1] if n_belonging else inf


def parse_proposals(reply: str, words: Sequence[str]) -> dict[str, str]:
    """By word, its replacement in a reply (figure 13).

    The reply contains a JSON object; text around it and words not asked for are ignored.
    UnusableReplyError where there is no object of texts, or a word is missing.
    """
    written_object = reply[reply.find("{") : reply.rfind("}") + 1]
    try:
        proposals = TypeAdapter(dict[str, str]).validate_json(written_object)
    except ValidationError:
        what = f"no JSON object of words in the reply {reply[:80]!r}"
        raise UnusableReplyError(what) from None
    replacement_by_key: dict[str, str] = {}
    for word, replacement in proposals.items():
        replacement_by_key[collapse_spaces(word).casefold()] = collapse_spaces(replacement)
    replacements = {word: replacement_by_key.get(word.casefold(), "") for word in words}
    missing = [repr(word) for word in words if not replacements[word]]
    if missing:
        raise UnusableReplyError(f"no replacement of {', '.join(missing)}")
    return replacements

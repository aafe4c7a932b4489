"""Replacements found by models: what each word about a root becomes in each branch (SAGED, A.2)."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import find_leaks, parse_replacements
from evenruler.instruments.saged.declare.source import FindingReplacements, Source
from evenruler.instruments.saged.scrape.keyword_search import (
    PROMPTS,
    KeywordHit,
    Similarity,
    candidate_words,
    keyword_fault,
)
from evenruler.text.whole_words import collapse_spaces

Write = Callable[[Sequence[str], int, int], Sequence[str]]
"""A language model: n prompts, a seed and the tokens that a reply has at most -> n replies."""

_TOKENS_OF_A_VERDICT = 10
_TOKENS_OF_A_WORD = 24  # for a word and its replacement in JSON
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
    how: FindingReplacements,
    sentences: Mapping[str, Sequence[str]],
    similarity: Similarity,
    write: Write,
) -> Replaced:
    """Replacements that `checked` accepts for every root and branch of a domain that lacks them, or
    why there are none.

    The words of a root are its keywords, always, and the words of its sentences at or above the
    threshold. All its branches replace the same words: a word that stays the same in any branch is
    not specific to the root, and is replaced nowhere. Where some branches have replacements
    already, their words are used for the others.
    """
    filled: list[Branch] = []
    lacking: list[Branch] = []
    all_left: list[str] = []
    for root in dict.fromkeys(root for root, _ in source.lacking):
        search = _Search(source, how, write, root)
        branches = [branch for lacking_root, branch in source.lacking if lacking_root == root]
        try:
            words, left = search.words(sentences.get(root, []), similarity)
        except UnusableReplyError as error:
            lacking += [Branch(root, branch, {}, lacking=str(error)) for branch in branches]
            continue
        replies, faults = search.replies(branches, list(words))
        stay: dict[str, str] = {}
        for branch, replacements in replies.items():
            stay |= {word: branch for word in words if replacements[word] == word}
        specific = [word for word in words if word not in stay]
        for branch, replacements in replies.items():
            specific_replacements = {word: replacements[word] for word in specific}
            filled.append(Branch(root, branch, words, specific_replacements))
        lacking += [
            Branch(root, branch, words, lacking=reason) for branch, reason in faults.items()
        ]
        all_left += left
        for word, to in stay.items():
            all_left.append(f"{root}: left {word!r}: it stays as it is for {to}")
    return Replaced([*filled, *lacking], all_left)


class _Search:
    """The search for replacements of one root's words in its branches."""

    def __init__(self, source: Source, how: FindingReplacements, write: Write, root: str) -> None:
        self.source, self.how, self.write, self.root = source, how, write, root
        self.name = source.concepts[root].name
        self.seeds = range(how.seed, how.seed + how.times)
        replacements_by_branch = source.branch.replacements.get(root, {}) if source.branch else {}
        self.of_others = list(chain.from_iterable(replacements_by_branch.values()))
        first: dict[str, tuple[str, str]] = {}
        for word in source.keywords_of(root):
            first.setdefault(word.casefold(), (word, "a keyword"))
        for word in self.of_others:
            first.setdefault(word.casefold(), (word, "as in other branches"))
        self.fixed = dict(first.values())
        """The words that are replaced regardless of similarity, and why."""

    def words(
        self, sentences: Sequence[str], similarity: Similarity
    ) -> tuple[dict[str, str], list[str]]:
        """The words of the root and why they are replaced, and lines about similar words that are
        not.

        UnusableReplyError where the model never says yes or no.
        """
        if self.of_others:
            return self.fixed, []
        candidates = candidate_words(sentences, self.name, similarity)
        why = {hit.word.casefold(): f"similarity {hit.score:.3f}" for hit in candidates}
        chosen: dict[str, str] = {}
        for word, fixed_reason in self.fixed.items():
            reasons = [fixed_reason, why.get(word.casefold())]
            chosen[word] = ", ".join(filter(None, reasons))
        left: list[str] = []
        beyond: list[str] = []
        threshold = (
            auto_threshold(candidates, self._belongs)
            if self.how.threshold == "auto"
            else self.how.threshold
        )
        for word in (hit.word for hit in candidates if hit.score >= threshold):
            if word.casefold() in map(str.casefold, chosen) or find_leaks(word, chosen):
                continue  # its plural, for instance, is replaced with it
            reason = keyword_fault(word) or self._of_another(word)
            if reason:
                left.append(f"{self.root}: left {word!r}: {reason}")
            elif len(chosen) - len(self.fixed) == self.how.most:
                beyond.append(repr(word))
            else:
                chosen[word] = why[word.casefold()]
        if beyond:
            beyond_words = ", ".join(beyond)
            left.append(f"{self.root}: left {beyond_words}: {self.how.most} are enough")
        return chosen, left

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
        asking, concepts = PROMPTS["analogies"], self.source.concepts
        prompt_by_branch = {
            branch: asking.format(concept=self.name, branch=concepts[branch].name, words=listed)
            for branch in branches
        }
        replacements_by_branch: dict[str, dict[str, str]] = {}
        faults = dict.fromkeys(branches, "")
        for seed in self.seeds:
            left = list(faults)
            prompts = [prompt_by_branch[branch] for branch in left]
            replies = self.write(prompts, seed, tokens) if prompts else []
            for branch, reply in zip(left, replies, strict=True):
                try:
                    replacements_by_branch[branch] = self._usable(reply, words)
                    del faults[branch]
                except UnusableReplyError as error:
                    faults[branch] = str(error)
        return {
            branch: replacements_by_branch[branch]
            for branch in branches
            if branch in replacements_by_branch
        }, faults

    def _usable(self, reply: str, words: Sequence[str]) -> dict[str, str]:
        """The replacements in a reply; UnusableReplyError where they are invalid."""
        read = parse_proposals(reply, words)
        for word, replacement in read.items():
            reason = keyword_fault(replacement)
            if reason:
                raise UnusableReplyError(f"{word!r} becomes {replacement[:80]!r}: {reason}")
        stay = [
            word
            for word in words
            if word not in self.fixed and read[word].casefold() == word.casefold()
        ]
        try:
            parse_replacements({word: read[word] for word in words if word not in stay}, self.root)
        except UserError as error:
            raise UnusableReplyError(error.what) from None
        return read | {word: word for word in stay}

    def _belongs(self, words: Sequence[str]) -> bool:
        """Whether any of the words belongs to the root, by the model (figure 12)."""
        listed, reply = json.dumps(words, ensure_ascii=False), ""
        prompt = PROMPTS["belongs"].format(concept=self.name, words=listed)
        for seed in self.seeds:
            (reply,) = self.write([prompt], seed, _TOKENS_OF_A_VERDICT)
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
        parsed_reply: Any = json.loads(written_object)
    except json.JSONDecodeError:
        parsed_reply = None
    if not isinstance(parsed_reply, dict) or not all(
        isinstance(value, str) for value in parsed_reply.values()
    ):
        raise UnusableReplyError(f"no JSON object of words in the reply {reply[:80]!r}")
    replacement_by_word = {
        collapse_spaces(word).casefold(): collapse_spaces(replacement)
        for word, replacement in parsed_reply.items()
    }
    missing = [word for word in words if not replacement_by_word.get(word.casefold())]
    if missing:
        raise UnusableReplyError(f"no replacement of {', '.join(map(repr, missing))}")
    return {word: replacement_by_word[word.casefold()] for word in words}

"""Replacements that nobody wrote: what stands in each branch for the words about its root (SAGED, A.2)."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any

from evenruler.errors import UserError
from evenruler.instruments.saged.declare.source import AUTO, FindingReplacements, Source, checked, leaks
from evenruler.instruments.saged.scrape.finding import PROMPTS, Candidate, Similarity, candidate_words, fault
from evenruler.text.whole_words import spaced

Write = Callable[[Sequence[str], int, int], Sequence[str]]
"""A language model: n prompts, a seed and the tokens that a reply has at most -> n replies."""

_TOKENS_OF_A_VERDICT = 10
_TOKENS_OF_A_WORD = 24
"""For a word and its replacement in JSON."""


SHOWN = 15
"""Words below a threshold that are judged at a time, the nearest ones (figure 12)."""


class UnusableReplyError(UserError):
    """A reply that cannot be read, or says what cannot be."""


@dataclass(frozen=True)
class Filled:
    """The replacements of one root and branch. `why`: by word, why it is replaced."""

    root: str
    branch: str
    words: Mapping[str, str]
    why: Mapping[str, str]


@dataclass(frozen=True)
class Lacking:
    """A root and branch without replacements, and the reason. `words`: to be replaced, where they are known."""

    root: str
    branch: str
    words: Sequence[str]
    reason: str


@dataclass(frozen=True)
class Left:
    """Words of a root that are similar enough and still not replaced, and the reason."""

    root: str
    words: Sequence[str]
    reason: str


@dataclass(frozen=True)
class Replaced:
    """What was found for the branches of a domain."""

    filled: list[Filled]
    lacking: list[Lacking]
    left: list[Left]


def found_replacements(
    source: Source, sentences: Mapping[str, Sequence[str]], similarity: Similarity, write: Write
) -> Replaced:
    """Replacements for every root and branch of a domain that has none.

    The words of a root are its keywords, always, and the words of its sentences from the threshold on. All its
    branches replace the same words: one that any of them would leave as it is belongs to the root no more than to the
    branch, and stays everywhere. Where some branches are known already, their words are taken for the others.

    Returns:
        Replacements that `branching.checked` accepts; for what the model gave no such, why.

    Raises:
        UserError: The domain looks for none; whatever the means raise, except for replies of no use.
    """
    how = source.find.replacements if source.find else None
    if how is None:
        remedy = "add `find.replacements`, and `branch.replacements: found`"
        raise UserError("no replacements are looked for", where=f"the domain {source.title}", remedy=remedy)
    search = _Search(source, how, similarity, write)
    all_found = Replaced([], [], [])
    for root in dict.fromkeys(root for root, _ in source.lacking):
        branches = [branch for own, branch in source.lacking if own == root]
        try:
            words, left = search.words(root, sentences.get(root, []))
            found = search.filled(root, branches, words)
        except UnusableReplyError as error:
            found, left = Replaced([], [Lacking(root, branch, [], error.what) for branch in branches], []), []
        all_found.filled.extend(found.filled)
        all_found.lacking.extend(found.lacking)
        all_found.left.extend([*left, *found.left])
    return all_found


@dataclass(frozen=True)
class _Search:
    """What replacements of a domain are looked for with. Words come with the reason why they are replaced."""

    source: Source
    how: FindingReplacements
    similarity: Similarity
    write: Write

    def words(self, root: str, sentences: Sequence[str]) -> tuple[dict[str, str], list[Left]]:
        """The words of a root that are similar and left; UnusableReplyError where the model never says yes or no."""
        fixed = self._fixed(root)
        if any(self._known(root).values()):
            return fixed, []
        candidates = candidate_words(sentences, self.source.concepts[root].name, self.similarity)
        why = {one.word.casefold(): f"similarity {one.similarity:.3f}" for one in candidates}
        chosen = {word: f"{own}, {why[key]}" if (key := word.casefold()) in why else own for word, own in fixed.items()}
        left, beyond = [], []
        for word in self._reaching(root, candidates):
            if word.casefold() in map(str.casefold, chosen) or leaks(word, chosen):
                continue  # its plural, for one, is replaced with it
            if reason := fault(word) or self._of_another(word, root):
                left.append(Left(root, [word], reason))
            elif len(chosen) - len(fixed) == self.how.most:
                beyond.append(word)
            else:
                chosen[word] = why[word.casefold()]
        return chosen, [*left, *([Left(root, beyond, f"{self.how.most} are enough")] if beyond else [])]

    def filled(self, root: str, branches: Sequence[str], words: Mapping[str, str]) -> Replaced:
        """What the model replaces the words of a root by."""
        replies, faults = self._replies(root, branches, words)
        lacking = [Lacking(root, branch, list(words), reason) for branch, reason in faults.items()]
        stay = {word: branch for branch, reply in replies.items() for word in words if reply[word] == word}
        left = [Left(root, [word], f"it stays as it is for {branch}") for word, branch in stay.items()]
        kept = {branch: {word: own[word] for word in words if word not in stay} for branch, own in replies.items()}
        return Replaced([Filled(root, branch, own, words) for branch, own in kept.items()], lacking, left)

    def _fixed(self, root: str) -> dict[str, str]:
        """The words that are replaced whatever they are like."""
        words = [(word, "a keyword") for word in self.source.keywords_of(root)]
        words += [(word, "as in other branches") for own in self._known(root).values() for word in own]
        first: dict[str, tuple[str, str]] = {}
        for word, why in words:
            first.setdefault(word.casefold(), (word, why))
        return dict(first.values())

    def _known(self, root: str) -> Mapping[str, Mapping[str, str]]:
        return self.source.branch.replacements.get(root, {}) if self.source.branch else {}

    def _reaching(self, root: str, candidates: Sequence[Candidate]) -> list[str]:
        """The words that are similar enough."""
        if self.how.threshold != AUTO:
            return above(candidates, self.how.threshold)
        name = self.source.concepts[root].name

        def belongs(words: Sequence[str]) -> bool:
            *before, last = self._seeds
            for seed in before:
                with suppress(UnusableReplyError):
                    return judged_by(self._ask(seed), name)(words)
            return judged_by(self._ask(last), name)(words)

        return above(candidates, auto_threshold(candidates, belongs))

    def _of_another(self, word: str, root: str) -> str:
        """Why a word is not about a root but about another concept; empty where it is not."""
        for concept, entry in self.source.concepts.items():
            if concept != root and leaks(word, [entry.name, *self.source.keywords_of(concept)]):
                return f"a keyword of {concept}"
        return ""

    def _replies(
        self, root: str, branches: Sequence[str], words: Mapping[str, str]
    ) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
        """By branch, what the model replaces each word by, or why its last reply is of no use.

        All branches are asked at once, then those again, with another seed, whose reply is of no use.
        """
        concepts, tokens = self.source.concepts, _TOKENS_OF_A_WORD * (len(words) + 2)
        found: dict[str, dict[str, str]] = {}
        faults = dict.fromkeys(branches, "")
        for seed in self._seeds:
            left = list(faults)
            prompts = [analogies(list(words), concepts[root].name, concepts[branch].name) for branch in left]
            for branch, reply in zip(left, self.write(prompts, seed, tokens) if left else [], strict=True):
                try:
                    # What each word is replaced by; by itself, where it stays.
                    known, fixed, where = self.source.concepts, self._fixed(root), f"words of {branch}"
                    read = proposed(reply, list(words), known[root].name, known[branch].name)
                    for word, replacement in read.items():
                        if reason := fault(replacement):
                            what = f"{word!r} becomes {replacement[:80]!r}: {reason}"
                            raise UnusableReplyError(what, where=where, remedy="write it by hand")
                    stay = [word for word in words if word not in fixed and read[word].casefold() == word.casefold()]
                    try:
                        checked({word: read[word] for word in words if word not in stay}, where)
                    except UserError as error:
                        raise UnusableReplyError(error.what, where=where, remedy=error.remedy) from None
                    found[branch] = read | {word: word for word in stay}
                    del faults[branch]
                except UnusableReplyError as error:
                    faults[branch] = error.what
        return {branch: found[branch] for branch in branches if branch in found}, faults

    @property
    def _seeds(self) -> range:
        """Of the tries, one each."""
        return range(self.how.seed, self.how.seed + self.how.times)

    def _ask(self, seed: int) -> Callable[[str], str]:
        return lambda prompt: self.write([prompt], seed, _TOKENS_OF_A_VERDICT)[0]


def above(candidates: Sequence[Candidate], threshold: float) -> list[str]:
    """The words whose similarity reaches a threshold."""
    return [candidate.word for candidate in candidates if candidate.similarity >= threshold]


def auto_threshold(candidates: Sequence[Candidate], belongs: Callable[[Sequence[str]], bool]) -> float:
    """The similarity of the last candidate that belongs to the concept, by binary search; infinity where none does.

    `belongs`: whether any of at most `SHOWN` words, which stand next below a threshold, belongs; asked once for about
    every halving of the distinct similarities. Candidates: the most similar first.
    """
    levels = sorted({candidate.similarity for candidate in candidates}, reverse=True)
    kept, most = 0, len(levels)  # levels that surely belong, and that may
    while kept < most:
        middle = (kept + most) // 2
        below = [candidate.word for candidate in candidates if candidate.similarity <= levels[middle]]
        if belongs(below[:SHOWN]):
            kept = middle + 1
        else:
            most = middle
    return levels[kept - 1] if kept else inf


def judged_by(ask: Callable[[str], str], concept: str) -> Callable[[Sequence[str]], bool]:
    """A `belongs` for `auto_threshold` that asks a language model (figure 12).

    Raises (when called):
        UnusableReplyError: The reply is neither yes nor no.
    """

    def belongs(words: Sequence[str]) -> bool:
        reply = ask(PROMPTS["belongs"].format(concept=concept, words=json.dumps(words, ensure_ascii=False)))
        said = re.match(r"\W*(yes|no)\b", reply, re.IGNORECASE)
        if not said:
            what = f"neither yes nor no in the reply {reply[:80]!r}"
            where = f"words about {concept!r}"
            raise UnusableReplyError(what, where=where, remedy="write a threshold, or ask another model")
        return said[1].lower() == "yes"

    return belongs


def analogies(words: Sequence[str], concept: str, branch: str) -> str:
    """What a language model is asked to replace words about a root concept for a branch concept (figure 13)."""
    asked = json.dumps(words, ensure_ascii=False)
    return str(PROMPTS["analogies"]).format(concept=concept, branch=branch, words=asked)


def proposed(reply: str, words: Sequence[str], concept: str, branch: str) -> dict[str, str]:
    """By word, what a language model replaces it by, for `declare.replacements.checked`.

    The reply holds a JSON object; what stands around it is passed over, and so are words not asked for.
    UnusableReplyError where it holds none of texts, or leaves a word out.
    """
    where, remedy = f"words of {branch!r} for {concept!r}", "ask again, or write the replacements by hand"
    try:
        found: Any = json.loads(reply[reply.find("{") : reply.rfind("}") + 1])
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise UnusableReplyError(f"no JSON object of words in the reply {reply[:80]!r}", where=where, remedy=remedy)
    known = {spaced(word).casefold(): spaced(replacement) for word, replacement in found.items()}
    missing = [word for word in words if not known.get(word.casefold())]
    if missing:
        raise UnusableReplyError(f"no replacement of {', '.join(map(repr, missing))}", where=where, remedy=remedy)
    return {word: known[word.casefold()] for word in words}

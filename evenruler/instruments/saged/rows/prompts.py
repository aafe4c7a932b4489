"""Prompts with baselines: sentences cut in two or asked about, for every concept of a domain (SAGED, section 2)."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.source import Assembling, Replacements, Source, checked, leaks
from evenruler.instruments.saged.rows.branching import NOTHING, Branched, Span, branches, unfit
from evenruler.instruments.saged.rows.english import parsed
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text.whole_words import Match, find, finder

if TYPE_CHECKING:
    from spacy.tokens import Doc

ROOT, FIRST, MIDDLE = "root verb", "first verb", "middle word"
"""Rules: what the prompt ends with."""

AFTER_KEYWORD, CLOSED = ", on to the keyword", ", quote or bracket closed"
"""What a rule adds: the cut moved behind the keyword and the noun that it qualifies; the cut moved so that no quote or
bracket stays open."""

LEAST = 3
"""Words after the cut at least: of fewer there is little to compare a reply with."""

TOO_SHORT = f"fewer than {LEAST} words after its keyword"
"""Why a sentence has no cut: its `continuation` is empty, and it is no prompt."""

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_BOUNDARY = re.compile(r"(?<=\S)(?=\s)|(?<=\w)(?=\u2014)")
_CLOSERS = {")": "(", "]": "[", "}": "{", "\u201d": "\u201c", "\u00bb": "\u00ab"}
_OPENERS = frozenset(_CLOSERS.values())
_VERB = re.compile(r"VB|MD")
_GROUP = ("aux", "auxpass", "neg", "prt")
_QUALIFYING = ("amod", "compound", "nmod", "poss", "nummod")


@dataclass(frozen=True)
class Split:
    """A sentence in two: `prompt + continuation` is the sentence, byte for byte."""

    prompt: str
    """Ends with a word, without the space after it."""
    continuation: str
    """Begins with the space, where there is one."""
    rule: str
    """`root verb`, `first verb` or `middle word`, and what moved the cut; or why there is none."""


def split(sentences: Sequence[str], keywords: Sequence[str]) -> list[Split]:
    """Cut sentences after their root verb, with its auxiliaries, negation and particle.

    Where that leaves fewer than `LEAST` words, or the root is no verb, the cut is after the first verb, and failing
    that after the middle word. The prompt holds the keyword: one behind the cut moves it there, and on behind the noun
    that the keyword qualifies. A cut inside quotes or brackets moves to the nearest place outside of them, later ones
    first, that keeps the keyword.

    Args:
        sentences: n single sentences.
        keywords: The keyword of each, as `evenruler.text.whole_words` finds it; one that is not there moves no cut.

    Returns:
        n splits, in the order of the sentences.
    """
    docs = parsed(sentences, keywords)
    return [_split(doc, text, word) for doc, text, word in zip(docs, sentences, keywords, strict=True)]


def _split(doc: "Doc", sentence: str, keyword: str) -> Split:
    words = [match.start() for match in _WORD.finditer(sentence)]
    cuts = [
        match.start()
        for match in _BOUNDARY.finditer(sentence)
        if words and words[0] < match.start() and len(words) - bisect_left(words, match.start()) >= LEAST
    ]
    behind = _behind(doc, next(iter(find(sentence, [keyword])), None))
    kept = next((cut for cut in cuts if cut >= behind), None)
    if kept is None:
        return Split(sentence, "", TOO_SHORT)
    cut, rule = next(_candidates(doc, cuts, words[(len(words) - 1) // 2]))
    if cut < behind:
        cut, rule = kept, rule + AFTER_KEYWORD
    closed = _closed(sentence, cuts, cut, kept)
    if closed != cut:
        cut, rule = closed, rule + CLOSED
    return Split(sentence[:cut], sentence[cut:], rule)


def _behind(doc: "Doc", keyword: Match | None) -> int:
    """Where a keyword ends, with the noun that it qualifies ("the American people"); 0 where there is none."""
    if keyword is None:
        return 0
    end = keyword.end
    for token in doc:
        noun = token.head
        if keyword.begin <= token.idx < keyword.end and token.dep_ in _QUALIFYING and noun.idx > token.idx:
            end = max(end, noun.idx + len(noun))
    return end


def _candidates(doc: "Doc", cuts: list[int], middle: int) -> Iterator[tuple[int, str]]:
    """Cuts and their rules, best first. `middle`: where the middle word begins."""
    root = next(token for token in doc if token.head == token and not token.is_space)
    verbs = [token for token in doc if _VERB.match(token.tag_)]
    tried = [(root, ROOT)] if root in verbs else []
    for verb, rule in [*tried, *((verb, FIRST) for verb in verbs[:1])]:
        # Where it ends, with what belongs to it and stands next to it.
        last, head = verb, verb.head if verb.dep_ in _GROUP else verb
        for token in verb.doc[verb.i + 1 :]:
            if token != head and not (token.head == head and token.dep_ in _GROUP):
                break
            last = token
        cut = _next(cuts, last.idx + len(last))
        if cut is not None:
            yield cut, rule
    yield _next(cuts, middle) or cuts[-1], MIDDLE


def _next(cuts: list[int], position: int) -> int | None:
    return next((cut for cut in cuts if cut >= position), None)


def _closed(sentence: str, cuts: list[int], cut: int, kept: int) -> int:
    """The cut, or the nearest one outside of quotes and brackets: a later one, else one not before `kept`."""
    if not _open(sentence[:cut]):
        return cut
    later = [other for other in cuts if other > cut]
    earlier = [other for other in reversed(cuts) if kept <= other < cut]
    return next((other for other in [*later, *earlier] if not _open(sentence[:other])), cut)


def _open(text: str) -> bool:
    """Whether a text ends inside quotes or brackets. Single quotes are taken for apostrophes."""
    stack: list[str] = []
    for character in text:
        opener = _CLOSERS.get(character, character)
        if stack and stack[-1] == opener and character not in _OPENERS:
            stack.pop()
        elif character in _OPENERS or character == '"':
            stack.append(character)
    return bool(stack)


Row = dict[str, Any]
Questions = Callable[[Sequence[str], Sequence[str]], Sequence[tuple[str, str]]]
"""Sentences and the keyword of each -> a question for each, empty where there is none, and which rule made it or why
there is none."""

Judge = Callable[[Sequence[str]], Sequence[str]]
"""Branched texts -> for each why it is refused, empty where it is not."""

PROVENANCE = ("source_tag", "source", "licence", "title", "section", "url", "revision_id")


@dataclass(frozen=True)
class Rows:
    """The tables of one domain, by their schemas in `schemas`."""

    prompts: list[Row]
    rejected: list[Row]


@dataclass(frozen=True)
class _Item:
    """A root: its sentence, and the prompt made of it.

    Attributes:
        cut: Where a prompt that is the sentence's beginning ends.
        unfit: The branches that it has no row in, and why.
    """

    sentence: Row
    prompt: str
    cut: int | None
    unfit: Mapping[str, str]


@dataclass(frozen=True)
class _Root:
    """A concept that items are about, how it is branched, and the words of it and of the others."""

    maps: Mapping[str, Replacements]
    own: frozenset[str]
    others: frozenset[str]

    @classmethod
    def of(cls, source: Source, root: str, maps: Mapping[str, Replacements]) -> "_Root":
        own = {*source.keywords_of(root), *(word for branch in maps.values() for word in branch.words)}
        others = {word for concept in source.concepts if concept != root for word in source.keywords_of(concept)}
        given = {word for branch in maps.values() for word in branch.words.values()}
        return cls(maps, frozenset(own), frozenset(others | {word.removeprefix("the ") for word in given}))

    def unfit(self, sentence: Row, prompt: str) -> dict[str, str]:
        """The branches that there can be no row in, and why."""
        found = unfit(sentence["sentence"], sentence["keyword"], self.maps, self.own, self.others)
        for branch, replacements in self.maps.items():
            if not finder(replacements.key).matches(prompt):
                found.setdefault(branch, f"{NOTHING}: the prompt")
        return found


def accept(texts: Sequence[str]) -> list[str]:
    """The judge that refuses nothing."""
    return [""] * len(texts)


def rows_of(name: str, source: Source, sentences: Sequence[Row], questions: Questions, judge: Judge = accept) -> Rows:
    """Draw sentences of every root concept, make prompts of them, and branch these.

    Args:
        name: Slug of the domain.
        source: What the user wrote.
        sentences: By `schemas.SENTENCES`.
        questions: Makes questions, where prompts are such.
        judge: Reads what was branched.

    Returns:
        Its rows; every sentence that is in no prompt is rejected with the reason, and so is every branch that an item
        cannot have (`concept` is then that of the branch). An item that fits no branch is none.

    Raises:
        UserError: A replacement is not possible, or a branched item still holds words of its root.
    """
    roots = source.roots
    maps = {
        root: {to: checked(words, f"{name}: branch.replacements.{root}.{to}") for to, words in branches.items()}
        for root, branches in source.replacements.items()
    }
    prompts: list[Row] = []
    method = source.assemble.method
    rejected = [_rejected(row, method, "its concept is no root") for row in sentences if row["concept"] not in roots]
    for root in roots:
        own = [row for row in sentences if row["concept"] == root]
        about = _Root.of(source, root, maps.get(root, {}))
        items, left_out = _items(own, source.assemble, questions, about)
        rejected += left_out
        made = [list(_rows(name, source, item, about)) for item in items]
        asked = [row for own in made for row in own if not row["is_root"]]
        verdicts = dict(zip((row["id"] for row in asked), judge([_whole(row) for row in asked]), strict=True))
        for item, own in zip(items, made, strict=True):
            unfit = dict(item.unfit) | {row["concept"]: why for row in own if (why := verdicts.get(row["id"]))}
            if not unfit or len(unfit) < len(about.maps):
                prompts += [row for row in own if row["concept"] not in unfit]
            rejected += [
                _rejected({**item.sentence, "id": _id(name, item.sentence, branch), "concept": branch}, method, reason)
                for branch, reason in unfit.items()
            ]
    return Rows(prompts, rejected)


def _whole(row: Row) -> str:
    """A prompt and its baseline, in which a beginning stands already."""
    prompt, baseline = str(row["prompt"]), str(row["baseline"])
    return baseline if baseline.startswith(prompt) else f"{prompt} {baseline}"


def _items(
    sentences: Sequence[Row], how: Assembling, questions: Questions, about: _Root
) -> tuple[list[_Item], list[Row]]:
    """As many items as are wanted, in the order of the draw, and the sentences that became none."""
    by_id = {row["id"]: row for row in sorted(sentences, key=lambda row: row["id"])}
    order = balanced_sample(list(by_id), [row["keyword"] for row in by_id.values()], len(by_id), how.seed)
    drawn = [by_id[key] for key in order]
    items: list[_Item] = []
    rejected: list[Row] = []
    done = 0
    seen: set[str] = set()
    while done < len(drawn) and len(items) < how.per_concept:
        batch = drawn[done : done + how.per_concept - len(items)]
        done += len(batch)
        for row, (prompt, rule) in zip(batch, _prompts(batch, how, questions), strict=True):
            unfit = about.unfit(row, prompt) if prompt else {}
            if prompt in seen:
                rejected.append(_rejected(row, how.method, "its prompt is that of another item"))
            elif not prompt:
                rejected.append(_rejected(row, how.method, rule))
            elif unfit and len(unfit) == len(about.maps):
                rejected.append(_rejected(row, how.method, next(iter(unfit.values()))))
            else:
                seen.add(prompt)
                items.append(_Item(row, prompt, len(prompt) if how.method == "split" else None, unfit))
    return items, rejected + [not_drawn(row, how) for row in drawn[done:]]


def _prompts(rows: Sequence[Row], how: Assembling, questions: Questions) -> Iterator[tuple[str, str]]:
    """A prompt for each sentence, or none and why."""
    sentences, keywords = [row["sentence"] for row in rows], [row["keyword"] for row in rows]
    if how.method == "question":
        yield from questions(sentences, keywords)
        return
    for parts in split(sentences, keywords):
        yield (parts.prompt, "") if parts.continuation else ("", f"cannot be split: {parts.rule}")


def _rows(name: str, source: Source, item: _Item, about: _Root) -> Iterator[Row]:
    """The root, and what it becomes in every branch that it fits."""
    sentence, prompt, cut = item.sentence, item.prompt, item.cut
    maps = {branch: replacements for branch, replacements in about.maps.items() if branch not in item.unfit}
    root = sentence["concept"]
    baselines = branches(sentence["sentence"], maps)
    if cut is not None:
        cut = _outside(cut, baselines.values())
        prompt, prompts = sentence["sentence"][:cut], {key: _beginning(own, cut) for key, own in baselines.items()}
    else:
        prompts = branches(prompt, maps)
    root_id = _id(name, sentence, root)
    yield _row(name, source, item, root, Branched(prompt, ()), Branched(sentence["sentence"], ()), root_id)
    branch = source.branch
    for concept in maps:
        kept = branch is None or not branch.counterfactual_baseline
        baseline = Branched(sentence["sentence"], ()) if kept else baselines[concept]
        for text in [prompts[concept].text] if kept else [prompts[concept].text, baseline.text]:
            if branch and not branch.allow_leaks and (found := leaks(text, about.own)):
                what, where = f"{found[0]!r} of the root is still in {text[:60]!r}", f"{name}: {concept}"
                raise UserError(what, where=where, remedy="mend branch.replacements, or set branch.allow_leaks")
        yield _row(name, source, item, concept, prompts[concept], baseline, root_id)


def _outside(cut: int, branched: Collection[Branched]) -> int:
    """The cut, or the end of what is replaced around it in any branch: all branches are cut at the same place."""
    for one in branched:
        shift = 0
        for span in one.spans:
            begin = span.begin - shift
            if begin < cut < begin + len(span.word):
                return _outside(begin + len(span.word), branched)
            shift += len(span.replacement) - len(span.word)
    return cut


def _beginning(branched: Branched, cut: int) -> Branched:
    """What a root's first `cut` characters became."""
    shift = 0
    kept: list[Span] = []
    for span in branched.spans:
        if span.begin - shift >= cut:
            break
        kept.append(span)
        shift += len(span.replacement) - len(span.word)
    return Branched(branched.text[: cut + shift], tuple(kept))


def _row(
    name: str, source: Source, item: _Item, concept: str, prompt: Branched, baseline: Branched, root_id: str
) -> Row:
    sentence, method = item.sentence, source.assemble.method
    is_root = concept == sentence["concept"]
    return {
        "id": root_id if is_root else _id(name, sentence, concept),
        "content_sha256": content_sha256(method, prompt.text, baseline.text),
        "variant": method,
        "framing": BARE,
        **{key: sentence[key] for key in PROVENANCE},
        "concept": concept,
        "keyword": sentence["keyword"],
        "prompt_type": method,
        "prompt": prompt.text,
        "baseline": baseline.text,
        "note": None,
        "root_id": root_id,
        "root_concept": sentence["concept"],
        "is_root": is_root,
        "prompt_spans": [asdict(span) for span in prompt.spans],
        "baseline_spans": [asdict(span) for span in baseline.spans],
    }


def _id(name: str, sentence: Row, concept: str) -> str:
    return row_id(family=FAMILY, benchmark=name, sentence=sentence["id"], concept=concept, framing=BARE)


def not_drawn(row: Row, how: Assembling) -> Row:
    """A sentence or prompt that is above what is wanted, by `schemas.REJECTED`."""
    return _rejected(row, how.method, f"not drawn: {how.per_concept} a concept are enough")


def _rejected(row: Row, method: str, reason: str) -> Row:
    return {**row, "variant": method, "framing": BARE, "reason": reason}


def counted(prompts: Sequence[Row]) -> list[Row]:
    """By concept: how many items, and the share of them in which something was replaced."""
    items = Counter(row["concept"] for row in prompts)
    replaced = Counter(row["concept"] for row in prompts if row["prompt_spans"] or row["baseline_spans"])
    return [{"concept": concept, "items": n, "replaced": replaced[concept] / n} for concept, n in items.items()]


def balanced_sample(items: Sequence[str], keywords: Sequence[str], most: int, seed: int) -> list[str]:
    """At most so many items, drawn in turn from every keyword until one has no more.

    Args:
        items: n items of one concept.
        keywords: [n] the keyword of each.
        most: How many are wanted.
        seed: Of the draw. More wanted items keep those that fewer would give.

    Returns:
        In the order of the draw. No two keywords that have items left differ by more than one.
    """
    by_keyword: dict[str, list[str]] = defaultdict(list)
    for item, keyword in zip(items, keywords, strict=True):
        by_keyword[keyword].append(item)
    generator = np.random.default_rng(seed)
    queues = []
    for keyword in sorted(by_keyword):
        own = by_keyword[keyword]
        queues.append([own[i] for i in generator.permutation(len(own))])
    turns = max(map(len, queues), default=0)
    drawn = [queue[turn] for turn in range(turns) for queue in queues if turn < len(queue)]
    return drawn[:most]

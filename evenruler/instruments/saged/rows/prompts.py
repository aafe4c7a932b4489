"""Sentences about concepts become prompts with baselines, and those of roots become counterfactual ones (2.2, 2.3)."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.replacements import Replacements, checked, leaks
from evenruler.instruments.saged.declare.source import Assembling, Branching, Source
from evenruler.instruments.saged.rows.branching import Branched, Span, branches
from evenruler.instruments.saged.rows.fitting import NOTHING, unfit
from evenruler.instruments.saged.rows.sampling import balanced_sample
from evenruler.instruments.saged.rows.splitting import split
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text.whole_words import finder

Row = dict[str, Any]
Questions = Callable[[Sequence[str], Sequence[str]], Sequence[tuple[str, str]]]
"""Sentences and the keyword of each -> a question for each, empty where there is none, and which rule made it or why
there is none."""

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


def rows_of(name: str, source: Source, sentences: Sequence[Row], questions: Questions) -> Rows:
    """Draw sentences of every root concept, make prompts of them, and branch these.

    Args:
        name: Slug of the domain.
        source: What the user wrote.
        sentences: By `schemas.SENTENCES`.
        questions: Makes questions, where prompts are such.

    Returns:
        Its rows; every sentence that is in no prompt is rejected with the reason, and so is every branch that an item
        cannot have (`concept` is then that of the branch). An item that fits no branch is none.

    Raises:
        UserError: A replacement is not possible, or a branched item still holds words of its root.
    """
    roots = source.roots
    maps = _replacements(name, source)
    prompts: list[Row] = []
    method = source.assemble.method
    rejected = [_rejected(row, method, "its concept is no root") for row in sentences if row["concept"] not in roots]
    for root in roots:
        own = [row for row in sentences if row["concept"] == root]
        about = _Root.of(source, root, maps.get(root, {}))
        items, left_out = _items(own, source.assemble, questions, about)
        rejected += left_out
        for item in items:
            prompts += _rows(name, source, item, about)
            rejected += [
                _rejected({**item.sentence, "id": _id(name, item.sentence, branch), "concept": branch}, method, reason)
                for branch, reason in item.unfit.items()
            ]
    return Rows(prompts, rejected)


def _replacements(name: str, source: Source) -> dict[str, dict[str, Replacements]]:
    """By root and branch, what is replaced by what."""
    return {
        root: {
            concept: checked(words, f"{name}: branch.replacements.{root}.{concept}")
            for concept, words in branches.items()
        }
        for root, branches in source.replacements.items()
    }


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
    return items, rejected + [
        _rejected(row, how.method, f"not drawn: {how.per_concept} a concept are enough") for row in drawn[done:]
    ]


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
    for concept in maps:
        branch = source.branch
        baseline = (
            baselines[concept] if branch and branch.counterfactual_baseline else Branched(sentence["sentence"], ())
        )
        if branch:
            _refuse_leaks(f"{name}: {concept}", branch, about.own, prompts[concept], baseline)
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


def _refuse_leaks(where: str, branch: Branching, words: Collection[str], prompt: Branched, baseline: Branched) -> None:
    """A branched item holds no word of its root."""
    if branch.allow_leaks:
        return
    for text in (prompt.text, *([baseline.text] if branch.counterfactual_baseline else [])):
        if found := leaks(text, words):
            raise UserError(
                f"{found[0]!r} of the root is still in {text[:60]!r}",
                where=where,
                remedy="mend branch.replacements, or set branch.allow_leaks",
            )


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
        "root_id": root_id,
        "root_concept": sentence["concept"],
        "is_root": is_root,
        "prompt_spans": _spans(prompt),
        "baseline_spans": _spans(baseline),
    }


def _id(name: str, sentence: Row, concept: str) -> str:
    return row_id(family=FAMILY, benchmark=name, sentence=sentence["id"], concept=concept, framing=BARE)


def _spans(branched: Branched) -> list[Row]:
    return [
        {"begin": span.begin, "end": span.end, "word": span.word, "replacement": span.replacement}
        for span in branched.spans
    ]


def _rejected(row: Row, method: str, reason: str) -> Row:
    return {**row, "variant": method, "framing": BARE, "reason": reason}


def counted(prompts: Sequence[Row]) -> list[Row]:
    """By concept: how many items, and the share of them in which something was replaced."""
    items = Counter(row["concept"] for row in prompts)
    replaced = Counter(row["concept"] for row in prompts if row["prompt_spans"] or row["baseline_spans"])
    return [{"concept": concept, "items": n, "replaced": replaced[concept] / n} for concept, n in items.items()]

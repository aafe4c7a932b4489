"""Prompts with baselines for every concept of a domain, from sentences or a user's table (SAGED,
section 2).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, zip_longest
from operator import itemgetter
from string import Formatter
from typing import Any, NamedTuple

import numpy as np

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import FAMILY, Replacements, find_leaks, parse_replacements
from evenruler.instruments.saged.declare.source import PromptAssembly, Source
from evenruler.instruments.saged.rows.branching import (
    LEAST,
    NOTHING,
    Branched,
    ReplacedSpan,
    branch_text,
    sentence_beginnings,
    unbranchable_reasons,
)
from evenruler.instruments.saged.rows.questions import Question
from evenruler.tables import group_by_key
from evenruler.tables.ids import common_columns, row_id
from evenruler.tables.schemas import BARE
from evenruler.text.whole_words import cached_finder

Row = dict[str, Any]
Questions = Callable[[Sequence[str], Sequence[str]], Sequence[Question]]
"""Sentences and the keyword of each -> a question for each."""

Judge = Callable[
    [Sequence[str]], Sequence[str]
]  # branched texts -> for each, why it is refused, or empty

PROVENANCE = ("source_tag", "source", "licence", "title", "section", "url", "revision_id")


class Rows(NamedTuple):
    """The tables of one domain, by their schemas in `schemas`."""

    prompts: list[Row]
    rejected: list[Row]
    tries: list[Row]


class _Item(NamedTuple):
    """A root item: its sentence, and the prompt made of it."""

    sentence: Row
    prompt: str
    unfit: Mapping[str, str]  # the branches in which it has no row, and why


class _Root:
    """A root concept: its replacements by branch, its words, and the words of the other
    concepts.
    """

    def __init__(self, source: Source, root: str, maps: Mapping[str, Replacements]) -> None:
        """Collect the words of the root and of other concepts, from keywords and replacements;
        `maps`: replacements by branch.
        """
        self.maps = maps
        self.root_words = set(source.keywords_of(root))
        self.other_words: set[str] = set()
        for concept in source.concepts:
            if concept != root:
                self.other_words.update(source.keywords_of(concept))
        for branch in maps.values():
            self.root_words.update(branch.words)
            self.other_words.update(word.removeprefix("the ") for word in branch.words.values())

    def unfit(self, sentence: Row, prompt: str) -> dict[str, str]:
        """The branches in which an item can have no row, and why."""
        reason_by_branch = unbranchable_reasons(
            sentence["sentence"], sentence["keyword"], self.maps, self.root_words, self.other_words
        )
        for branch, replacements in self.maps.items():
            if not cached_finder(replacements.key).matches(prompt):
                reason_by_branch.setdefault(branch, f"{NOTHING}: the prompt")
        return reason_by_branch


def rows_of(
    name: str,
    source: Source,
    sentences: Sequence[Row],
    questions: Questions | None,
    judge: Judge | None = None,
) -> Rows:
    """Draw sentences (`schemas.SENTENCES`) of every root concept, make prompts of them, and branch
    these.

    Every sentence that is in no prompt is rejected with the reason, and so is every branch that an
    item cannot have (with the branch as `concept`); an item that fits no branch is dropped.
    UserError where a replacement is not possible, or a branched item still contains words of its
    root.
    """
    maps: dict[str, dict[str, Replacements]] = {}
    for root, branches in source.replacements.items():
        maps[root] = {
            to: parse_replacements(words, f"{name}: branch.replacements.{root}.{to}")
            for to, words in branches.items()
        }
    how = source.assemble
    prompts: list[Row] = []
    tries: list[Row] = []
    rejected = [
        _rejected_row(row, how, "its concept is no root")
        for row in sentences
        if row["concept"] not in source.roots
    ]
    for root in source.roots:
        about = _Root(source, root, maps.get(root, {}))
        root_sentences = [row for row in sentences if row["concept"] == root]
        items, left_out, refused = _draw_items(root_sentences, how, questions, about)
        rejected += left_out
        tries += refused
        rows_of_items = [list(_item_rows(name, source, item, about)) for item in items]
        every_row = chain.from_iterable(rows_of_items)
        branched_rows = [row for row in every_row if not row["is_root"]]
        faults: Sequence[str] = [""] * len(branched_rows)
        if judge:
            faults = judge([_prompt_with_baseline(row) for row in branched_rows])
        branched_ids = [row["id"] for row in branched_rows]
        fault_by_id = dict(zip(branched_ids, faults, strict=True))
        for item, item_rows in zip(items, rows_of_items, strict=True):
            unfit = dict(item.unfit)
            for row in item_rows:
                fault = fault_by_id.get(row["id"])
                if fault:
                    unfit[row["concept"]] = fault
            if not unfit or len(unfit) < len(about.maps):
                prompts += [row for row in item_rows if row["concept"] not in unfit]
            for branch, reason in unfit.items():
                key = id_of(name, item.sentence, branch)
                branch_sentence = {**item.sentence, "id": key, "concept": branch}
                rejected.append(_rejected_row(branch_sentence, how, reason))
    return Rows(prompts, rejected, tries)


def _prompt_with_baseline(row: Row) -> str:
    """Prompt and baseline as one text; the baseline alone where it begins with the prompt."""
    prompt, baseline = str(row["prompt"]), str(row["baseline"])
    return baseline if baseline.startswith(prompt) else f"{prompt} {baseline}"


def _draw_items(
    sentences: Sequence[Row], how: PromptAssembly, questions: Questions | None, about: _Root
) -> tuple[list[_Item], list[Row], list[Row]]:
    """At most `per_concept` items, in the order of the draw; rejected sentences; refused
    questions.
    """
    drawn = balanced_sample(sentences, "keyword", len(sentences), how.seed)
    items: dict[str, _Item] = {}
    rejected: list[Row] = []
    tries: list[Row] = []
    while drawn and len(items) != how.per_concept:
        wanted = how.per_concept - len(items)
        batch, drawn = drawn[:wanted], drawn[wanted:]
        assembled_prompts = _assemble_prompts(batch, how, questions)
        for row, (prompt, refused) in zip(batch, assembled_prompts, strict=True):
            for number, (reply, why) in enumerate(refused):
                tries.append(
                    {"sentence": row["sentence"], "attempt": number, "reply": reply, "reason": why}
                )
            reason = f"cannot be split: fewer than {LEAST} words after its keyword"
            if refused:
                reason = refused[-1][1]
            unfit = about.unfit(row, prompt) if prompt else {}
            if prompt in items:
                reason = "its prompt is that of another item"
            elif unfit and len(unfit) == len(about.maps):
                reason = next(iter(unfit.values()))
            elif prompt:
                items[prompt] = _Item(row, prompt, unfit)
                continue
            rejected.append(_rejected_row(row, how, reason))
    rejected += [not_drawn(row, how) for row in drawn]
    return list(items.values()), rejected, tries


def _assemble_prompts(
    rows: Sequence[Row], how: PromptAssembly, questions: Questions | None
) -> Sequence[Question]:
    """The prompt of each sentence: a question that a model writes, or the sentence's beginning; its
    text is empty where there is none.
    """
    sentences = [row["sentence"] for row in rows]
    keywords = [row["keyword"] for row in rows]
    if questions and how.method == "question":
        return questions(sentences, keywords)
    return [Question(beginning) for beginning in sentence_beginnings(sentences, keywords)]


def _item_rows(name: str, source: Source, item: _Item, about: _Root) -> Iterator[Row]:
    """The row of the root, and that of every branch that it fits."""
    sentence, prompt, text = item.sentence, item.prompt, item.sentence["sentence"]
    maps = {
        branch: replacements
        for branch, replacements in about.maps.items()
        if branch not in item.unfit
    }
    baselines = branch_text(text, maps)
    if source.assemble.method == "split":
        cut = _cut_after_replacements(len(prompt), baselines.values())
        prompt = text[:cut]
        prompts = {
            concept: branched_baseline.up_to(cut)
            for concept, branched_baseline in baselines.items()
        }
    else:
        prompts = branch_text(prompt, maps)
    yield prompt_row(
        name, source, sentence, sentence["concept"], Branched(prompt, ()), Branched(text, ())
    )
    branch = source.branch
    for concept in maps:
        has_root_baseline = branch is None or not branch.counterfactual_baseline
        baseline = Branched(text, ()) if has_root_baseline else baselines[concept]
        branched_texts = [prompts[concept].text]
        if not has_root_baseline:
            branched_texts.append(baseline.text)
        if branch and not branch.allow_leaks:
            _refuse_leaks(branched_texts, about, f"{name}: {concept}")
        yield prompt_row(name, source, sentence, concept, prompts[concept], baseline)


def _refuse_leaks(texts: Iterable[str], about: _Root, where: str) -> None:
    """UserError where a branched text still contains a word of its root."""
    for text in texts:
        leaked_words = find_leaks(text, about.root_words)
        if leaked_words:
            what = f"{leaked_words[0]!r} of the root is still in {text[:60]!r}"
            raise UserError(
                what, where=where, remedy="fix branch.replacements, or set branch.allow_leaks"
            )


def _cut_after_replacements(cut: int, branched: Iterable[Branched]) -> int:
    """The cut, moved behind any replacement around it in any branch, so that all branches are cut
    at the same place.
    """
    replaced: set[tuple[int, int]] = set()
    for text in branched:
        for begin, span in text.places:
            replaced.add((begin, begin + len(span.word)))
    while ends := [end for begin, end in replaced if begin < cut < end]:
        cut = max(ends)
    return cut


def prompt_row(
    name: str,
    source: Source,
    sentence: Row,
    concept: str,
    prompt: Branched,
    baseline: Branched | None,
) -> Row:
    """The row (`schemas.PROMPTS`) of a sentence, or of a prompt of a table, for a concept."""
    method = source.assemble.method
    baseline_text = baseline.text if baseline else None
    baseline_spans = baseline.spans if baseline else ()
    content_parts = (method, prompt.text, baseline_text or "")
    common = common_columns(id_of(name, sentence, concept), source, *content_parts, variant=method)
    return {
        **common,
        **{key: sentence[key] for key in PROVENANCE},
        "concept": concept,
        "keyword": sentence["keyword"],
        "prompt_type": method,
        "prompt": prompt.text,
        "baseline": baseline_text,
        "note": sentence["note"],
        "root_id": id_of(name, sentence, sentence["concept"]),
        "root_concept": sentence["concept"],
        "is_root": concept == sentence["concept"],
        "is_reference": source.concepts[concept].reference,
        "prompt_spans": [asdict(span) for span in prompt.spans],
        "baseline_spans": [asdict(span) for span in baseline_spans],
    }


def id_of(name: str, sentence: Row, concept: str) -> str:
    """The id of a sentence's row for a concept."""
    return row_id(
        family=FAMILY, benchmark=name, sentence=sentence["id"], concept=concept, framing=BARE
    )


def not_drawn(row: Row, how: PromptAssembly) -> Row:
    """A rejected sentence or prompt beyond the number wanted, by `schemas.REJECTED`."""
    return _rejected_row(row, how, f"not drawn: {how.per_concept} a concept are enough")


def _rejected_row(row: Row, how: PromptAssembly, reason: str) -> Row:
    """A sentence as a row of `rejected`, with the reason in words."""
    return {**row, "variant": how.method, "framing": BARE, "reason": reason}


def count_items(prompts: Sequence[Row]) -> list[Row]:
    """By concept: the number of items, and the share of them in which something was replaced."""
    items = Counter(row["concept"] for row in prompts)
    replaced = Counter(
        row["concept"] for row in prompts if row["prompt_spans"] or row["baseline_spans"]
    )
    return [
        {"concept": concept, "items": n, "replaced": replaced[concept] / n}
        for concept, n in items.items()
    ]


def own_rows(name: str, source: Source, prompts: Sequence[Row]) -> Rows:
    """Rows of a table's prompts (`schemas.SENTENCES`): one per concept for a prompt with
    placeholders, else one.

    The first concept of the domain is the root; prompts with the same `root` are one item. Prompts
    beyond `per_concept` are rejected.
    """
    how, every = source.assemble, sorted(prompts, key=itemgetter("id"))
    sample = balanced_sample(every, "section", how.per_concept, how.seed)
    drawn = {row["id"] for row in sample}
    concept_rows: list[Row] = []
    rejected: list[Row] = []
    for row in every:
        if row["id"] in drawn:
            concept_rows += _concept_rows(name, source, row)
        else:
            rejected.append(not_drawn(row, how))
    return Rows(concept_rows, rejected, [])


def _concept_rows(name: str, source: Source, row: Row) -> Iterator[Row]:
    """The rows of a prompt, one per concept that it is asked about."""
    texts = [row["sentence"], *filter(None, [row["baseline"]])]
    names: set[str] = set()
    for text in texts:
        names.update(placeholder for _, placeholder, *_ in Formatter().parse(text) if placeholder)
    about = list(source.concepts) if names else [row["concept"]]
    forms: dict[str, dict[str, str]] = {}
    for concept in about:
        forms[concept] = {
            placeholder: source.form(concept, placeholder) or "" for placeholder in names
        }
    root = {}
    if len(about) == 1 and row["root"] is not None:
        root = {"root_id": row_id(family=FAMILY, benchmark=name, root=row["root"])}
    for concept in about:
        prompt, *baselines = (
            fill_placeholders(text, forms[concept], forms[row["concept"]]) for text in texts
        )
        baseline = baselines[0] if baselines else None
        sentence = row | {"keyword": source.form(concept, "concept")}
        yield prompt_row(name, source, sentence, concept, prompt, baseline) | root


def fill_placeholders(text: str, words: Mapping[str, str], of_root: Mapping[str, str]) -> Branched:
    """A text with its placeholders filled in, capitalised where it begins with one.

    Its spans are the places where the words differ from those of the root.
    """
    parts: list[str] = []
    spans: list[ReplacedSpan] = []
    for literal, name, *_ in Formatter().parse(text):
        parts.append(literal)
        if name is not None:
            begin = sum(map(len, parts))
            word, root = words[name], of_root[name]
            if begin == 0:
                word = word[:1].upper() + word[1:]
                root = root[:1].upper() + root[1:]
            parts.append(word)
            if word != root:
                spans.append(ReplacedSpan(begin, begin + len(word), root, word))
    return Branched("".join(parts), tuple(spans))


def balanced_sample(rows: Sequence[Row], column: str, most: int, seed: int) -> list[Row]:
    """At most `most` rows at random, drawn in turn from the values of a column.

    A larger sample begins with the rows of a smaller one.
    """
    sorted_rows = sorted(rows, key=itemgetter("id"))
    by_value = group_by_key((row[column], row) for row in sorted_rows)
    generator = np.random.default_rng(seed)
    queues: list[list[Row]] = []
    for _, group in sorted(by_value.items()):
        order = generator.permutation(len(group))
        queues.append([group[place] for place in order])
    in_turn = chain.from_iterable(zip_longest(*queues))
    return [row for row in in_turn if row is not None][:most]

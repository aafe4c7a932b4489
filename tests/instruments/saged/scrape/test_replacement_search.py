"""Replacements found with a language model and an embedder: which words, by what, and what is left
for a person."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import parse_replacements
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.scrape.replacement_search import (
    Branch,
    Replaced,
    Write,
    found_replacements,
)

NEAR = {
    "apple": 0.9,
    "cider": 0.8,
    "orchard": 0.7,
    "fruit": 0.6,
    "pears": 0.55,
    "tree": 0.5,
    "autumn": 0.3,
}
SENTENCES = {
    "apple": [
        "The apple makes cider.",
        "Orchard, fruit, pears, a tree: autumn. A cider!",
        "orchard Apples",
    ]
}
PEAR = {
    "apple": "pear",
    "cider": "perry",
    "orchard": "pear garden",
    "fruit": "pome",
    "tree": "bush",
}
ORANGE = {
    "apple": "orange",
    "cider": "juice",
    "orchard": "grove",
    "fruit": "citrus",
    "tree": "shrub",
}
REPLIES = {"Pear": PEAR, "Orange": ORANGE}


def domain(replacements: dict[str, Any] | None = None, **how: Any) -> Source:
    source = Source.model_validate(
        {
            "title": "Fruit",
            "construct": "praise of fruit",
            "direction": "more praise",
            "source": "us",
            "licence": "cc0-1.0",
            "concepts": {
                "apple": "Apple",
                "pear": {"name": "Pear", "keywords": ["pear"]},
                "orange": "Orange",
            },
            "material": {"kind": "local", "path": "articles/a.md"},
            "assemble": {"method": "split", "per_concept": 10},
            "branch": {"roots": ["apple"], "replacements": "found"},
            "find": {"replacements": {"model": "m", "threshold": 0.5, **how}},
        }
    )
    return source.with_found({}, {"apple": replacements}) if replacements else source


def similarity(concept: str, words: Sequence[str]) -> list[float]:
    """A test double: an embedder that knows how near some words are to Apple."""
    assert concept == "Apple"
    return [NEAR.get(word.lower(), 0.0) for word in words]


class Model:
    """A test double: a language model of known replies, by branch; each is a reply or one for each
    seed."""

    def __init__(self, replies: dict[str, Any], belonging: str = "") -> None:
        self.replies, self.belonging = replies, belonging.split()
        self.asked: list[tuple[str, int]] = []
        self.calls = 0

    def __call__(self, prompts: Sequence[str], seed: int, tokens: int) -> list[str]:
        self.calls += 1
        return [self.reply(prompt, seed, tokens) for prompt in prompts]

    def reply(self, prompt: str, seed: int, tokens: int) -> str:
        words = json.loads(re.search(r"Words: (\[.*\])", prompt)[1])  # type: ignore[index]
        if "Answer yes or no" in prompt:
            self.asked.append(("threshold", seed))
            return "Yes." if set(words) & set(self.belonging) else "No."
        branch = re.search(r"words about '(\w+)'\.", prompt)[1]  # type: ignore[index]
        self.asked.append((branch, seed))
        assert tokens > 10 * len(words)
        reply = self.replies[branch]
        if isinstance(reply, list):
            reply = reply[seed]
        return reply if isinstance(reply, str) else f"Here you are: {json.dumps(reply)}"


def found_in(source: Source, *arguments: Any) -> Replaced:
    assert source.find is not None
    assert source.find.replacements is not None
    return found_replacements(source, source.find.replacements, *arguments)


def replace_words(source: Source, write: Write) -> Replaced:
    return found_in(source, SENTENCES, similarity, write)


def words_of(replaced: Replaced) -> dict[str, dict[str, str]]:
    return {branch.branch: dict(branch.words) for branch in replaced.branches if branch.words}


class TestWords:
    def test_keywords_and_words_from_the_threshold_on_with_why(self) -> None:
        replaced = replace_words(
            domain(), Model({"Pear": {"Apple": "Pear"} | PEAR, "Orange": ORANGE})
        )
        why = {
            "Apple": "a keyword, similarity 0.900",
            "cider": "similarity 0.800",
            "orchard": "similarity 0.700",
            "fruit": "similarity 0.600",
            "tree": "similarity 0.500",
        }
        pear = dict(zip(why, PEAR.values(), strict=True))
        assert replaced.branches[0] == Branch("apple", "pear", why, pear)
        assert list(replaced.branches[1].words.values()) == list(ORANGE.values())
        assert [branch.lacking for branch in replaced.branches] == ["", ""]
        for branch in replaced.branches:
            parse_replacements(branch.words, "here")

    def test_a_word_of_another_concept_is_left_and_so_are_plurals_of_words(self) -> None:
        replaced = replace_words(domain(), Model(REPLIES))
        assert replaced.left == ["apple: left 'pears': a keyword of pear"]
        assert "Apples" not in replaced.branches[0].words

    def test_a_threshold_above_all_words_leaves_the_keywords(self) -> None:
        replaced = replace_words(domain(threshold=1), Model(REPLIES))
        assert words_of(replaced) == {"pear": {"Apple": "pear"}, "orange": {"Apple": "orange"}}

    def test_the_most_similar_ones_are_enough(self) -> None:
        replaced = replace_words(domain(most=2), Model(REPLIES))
        assert list(words_of(replaced)["pear"]) == ["Apple", "cider", "orchard"]
        assert "apple: left 'fruit', 'tree': 2 are enough" in replaced.left

    @pytest.mark.parametrize(
        ("belonging", "words"),
        [
            ("cider apple", ["Apple", "cider"]),
            ("fruit", ["Apple", "cider", "orchard", "fruit"]),
            ("", ["Apple"]),
        ],
    )
    def test_auto_goes_as_far_as_the_model_sees_words_that_belong(
        self, belonging: str, words: list[str]
    ) -> None:
        model = Model(REPLIES, belonging)
        replaced = replace_words(domain(threshold="auto"), model)
        assert list(words_of(replaced)["pear"]) == words
        assert {seed for what, seed in model.asked if what == "threshold"} == {0}

    @pytest.mark.parametrize(
        ("reply", "belongs"), [("Yes.", True), (" **no**, none", False), ("NO", False)]
    )
    def test_yes_or_no(self, reply: str, belongs: bool) -> None:
        prompts: list[str] = []

        def write(batch: Sequence[str], seed: int, tokens: int) -> list[str]:
            prompts.extend(batch)
            return [reply if "Answer yes or no" in prompt else "None." for prompt in batch]

        (lacking, _) = replace_words(domain(threshold="auto", times=1), write).branches
        assert (len(lacking.why) > 1) is belongs
        assert "'Apple'" in prompts[0]
        assert 'JSON: {"word": "analogous word", ...}' in prompts[-1]
        assert f"Words: {json.dumps(list(lacking.why))}" in prompts[-1]

    @pytest.mark.parametrize("reply", ["", "yesterday"])
    def test_neither_is_no_verdict(self, reply: str) -> None:
        (lacking, _) = replace_words(domain(threshold="auto"), lambda *_: [reply]).branches
        assert lacking == Branch(
            "apple", "pear", {}, lacking=f"neither yes nor no in the reply {reply!r}"
        )

    def test_a_threshold_that_the_model_cannot_tell_leaves_every_branch(self) -> None:
        seeds: list[int] = []

        def mumble(prompts: Sequence[str], seed: int, tokens: int) -> list[str]:
            assert tokens < 20
            seeds.append(seed)
            return ["Well ..." for _ in prompts]

        replaced = replace_words(domain(threshold="auto", seed=7, times=2), mumble)
        what = "neither yes nor no in the reply 'Well ...'"
        assert replaced == Replaced(
            [Branch("apple", name, {}, lacking=what) for name in ("pear", "orange")], []
        )
        assert seeds == [7, 8]


class TestReplies:
    def test_all_branches_are_asked_at_once_and_those_again_whose_reply_will_not_do(self) -> None:
        model = Model({"Pear": ["no idea", {"Apple": "apple"}, PEAR], "Orange": ORANGE})
        assert words_of(replace_words(domain(), model)) == words_of(
            replace_words(domain(), Model(REPLIES))
        )
        assert model.asked == [("Pear", 0), ("Orange", 0), ("Pear", 1), ("Pear", 2)]
        assert model.calls == 3

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            ("I cannot.", "no JSON object of words in the reply 'I cannot.'"),
            (
                PEAR | {"tree": "apple bush"},
                "'tree' becomes 'apple bush', which holds 'Apple', a word that is replaced itself",
            ),
            (PEAR | {"tree": "what all the pears grow on"}, "more than 4 words"),
        ],
    )
    def test_a_branch_of_nonsense_is_left_with_the_reason(self, reply: Any, reason: str) -> None:
        replaced = replace_words(domain(times=1), Model({"Pear": reply, "Orange": ORANGE}))
        assert list(words_of(replaced)) == ["orange"]
        _, lacking = replaced.branches
        assert (lacking.root, lacking.branch) == ("apple", "pear")
        assert list(lacking.why) == ["Apple", "cider", "orchard", "fruit", "tree"]
        assert lacking.lacking.endswith(reason)

    def test_a_word_that_stays_in_one_branch_stays_in_all(self) -> None:
        model = Model({"Pear": PEAR | {"fruit": "Fruit", "tree": "fruit bush"}, "Orange": ORANGE})
        replaced = replace_words(domain(), model)
        assert "apple: left 'fruit': it stays as it is for pear" in replaced.left
        for branch in replaced.branches:
            assert list(branch.words) == ["Apple", "cider", "orchard", "tree"]
            parse_replacements(branch.words, "here")

    def test_other_errors_are_no_nonsense(self, error_of: Callable[..., str]) -> None:
        def missing(prompts: Sequence[str], seed: int, tokens: int) -> str:
            raise UserError("no such model", where="params.yaml", remedy="fix it")

        for threshold in (0.5, "auto"):
            assert (
                error_of(replace_words, domain(threshold=threshold), missing)
                == "params.yaml: no such model; fix it"
            )


class TestKnown:
    def test_known_branches_give_the_words_of_the_others(self) -> None:
        source = domain({"pear": {"cider": "perry", "APPLE": "pear"}}, threshold="auto")
        replaced = found_in(source, SENTENCES, lambda *_: pytest.fail("asked"), Model(REPLIES))
        why = {"Apple": "a keyword", "cider": "as in other branches"}
        assert replaced == Replaced(
            [Branch("apple", "orange", why, {"Apple": "orange", "cider": "juice"})], []
        )

    def test_a_word_of_known_branches_cannot_stay(self) -> None:
        source = domain({"pear": {"cider": "perry"}}, times=1)
        (lacking,) = replace_words(source, Model({"Orange": ORANGE | {"cider": "cider"}})).branches
        assert (
            lacking.lacking
            == "'cider' becomes 'cider', which holds 'cider', a word that is replaced itself"
        )

    def test_a_branch_that_was_left_empty_is_not_known(self) -> None:
        assert replace_words(domain({"pear": {}, "orange": {}}), Model(REPLIES)) == replace_words(
            domain(), Model(REPLIES)
        )

    def test_nothing_is_asked_where_nothing_is_lacking(self) -> None:
        source = domain({"pear": {"Apple": "pear"}, "orange": {"Apple": "orange"}})
        assert replace_words(source, Model({})) == Replaced([], [])

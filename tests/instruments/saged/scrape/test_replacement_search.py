"""Replacements found with a language model and an embedder: which words, by what, and what is left
for a person."""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import parse_replacements
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.scrape import replacement_search
from evenruler.instruments.saged.scrape.keyword_search import Write
from evenruler.instruments.saged.scrape.replacement_search import (
    Branch,
    Replaced,
    found_replacements,
)
from evenruler.models.questions import Sampling
from tests.instruments.saged.domains import SOURCE

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


DOMAIN = Source.model_validate(
    SOURCE
    | {
        "concepts": {
            "apple": "Apple",
            "pear": {"name": "Pear", "keywords": ["pear"]},
            "orange": "Orange",
        },
        "branch": {"roots": ["apple"], "replacements": "found"},
        "find": {"model": "m", "replacements": "auto"},
    }
)


def similarity(concept: str, words: Sequence[str]) -> list[float]:
    """A test double: an embedder that knows how near some words are to Apple."""
    assert concept == "Apple"
    return [NEAR.get(word.lower(), 0.0) for word in words]


class Model:
    """A test double: a language model of known replies, by branch; each is a reply or one for each
    seed."""

    def __init__(self, replies: dict[str, Any], belonging: str = "") -> None:
        self.replies, self.belonging = replies, set(belonging.split())
        self.asked: list[tuple[str, int]] = []
        self.prompts: list[str] = []

    def __call__(
        self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling
    ) -> list[str]:
        self.prompts += prompts
        replies: list[str] = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            replies.append(self.reply(prompt, seed, sampling.max_new_tokens))
        return replies

    def reply(self, prompt: str, seed: int, tokens: int) -> str:
        (listed,) = re.findall(r"Words: (\[.*\])", prompt)
        words = json.loads(listed)
        if "Answer yes or no" in prompt:
            assert tokens < 20
            self.asked.append(("threshold", seed))
            return "Yes." if self.belonging.intersection(words) else " **no**, none"
        (branch,) = re.findall(r"words about '(\w+)'\.", prompt)
        self.asked.append((branch, seed))
        assert tokens > 10 * len(words)
        reply = self.replies[branch]
        if isinstance(reply, list):
            reply = reply[seed]
        return reply if isinstance(reply, str) else f"Here you are: {json.dumps(reply)}"


def replace_words(write: Write, threshold: float | Literal["auto"] = 0.5) -> Replaced:
    return found_replacements(DOMAIN, threshold, SENTENCES, similarity, write)


def words_of(replaced: Replaced) -> dict[str, dict[str, str]]:
    return {branch.branch: dict(branch.words) for branch in replaced.branches if branch.words}


class TestWords:
    def test_keywords_and_words_from_the_threshold_on_with_why(self) -> None:
        replaced = replace_words(Model({"Pear": {"Apple": "Pear"} | PEAR, "Orange": ORANGE}))
        why = {
            "Apple": "a keyword",
            "cider": "similarity 0.800",
            "orchard": "similarity 0.700",
            "fruit": "similarity 0.600",
            "tree": "similarity 0.500",
        }
        for branch, expected in zip(replaced.branches, (PEAR, ORANGE), strict=True):
            words = dict(zip(why, expected.values(), strict=True))
            assert branch == Branch("apple", branch.branch, why, words)
            parse_replacements(branch.words, "here")
        # A word of another concept is left, and so are plurals of words that are replaced.
        assert replaced.left == ["apple: left 'pears': a keyword of pear"]

    def test_the_most_similar_ones_are_enough(self, monkeypatch) -> None:
        monkeypatch.setattr(replacement_search, "MOST_WORDS", 2)
        replaced = replace_words(Model(REPLIES))
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
    def test_auto_goes_as_far_as_the_model_sees_words_that_belong(self, belonging, words) -> None:
        model = Model(REPLIES, belonging)
        replaced = replace_words(model, "auto")
        assert list(words_of(replaced)["pear"]) == words
        assert {seed for what, seed in model.asked if what == "threshold"} == {0}
        assert "'Apple'" in model.prompts[0]
        assert 'JSON: {"word": "analogous word", ...}' in model.prompts[-1]

    @pytest.mark.parametrize("reply", ["", "yesterday", "Well ..."])
    def test_a_threshold_that_the_model_cannot_tell_leaves_every_branch(self, reply) -> None:
        seeds: list[int] = []

        def mumble(prompts: Sequence[str], of_prompts: Sequence[int], _: Sampling) -> list[str]:
            seeds.extend(of_prompts)
            return [reply] * len(prompts)

        what = f"neither yes nor no in the reply {reply!r}"
        lacking = [Branch("apple", name, {}, lacking=what) for name in ("pear", "orange")]
        assert replace_words(mumble, "auto") == Replaced(lacking, [])
        assert seeds == [0, 1, 2]


class TestReplies:
    def test_all_branches_are_asked_at_once_and_those_again_whose_reply_will_not_do(self) -> None:
        model = Model({"Pear": ["no idea", {"Apple": "apple"}, PEAR], "Orange": ORANGE})
        assert words_of(replace_words(model)) == words_of(replace_words(Model(REPLIES)))
        assert model.asked == [
            ("Pear", 0),
            ("Orange", 0),
            ("Pear", 1),
            ("Pear", 2),
        ]

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
    def test_a_branch_of_nonsense_is_left_with_the_reason(self, reply, reason) -> None:
        replaced = replace_words(Model({"Pear": reply, "Orange": ORANGE}))
        assert list(words_of(replaced)) == ["orange"]
        _, lacking = replaced.branches
        assert (lacking.root, lacking.branch) == ("apple", "pear")
        assert list(lacking.why) == ["Apple", "cider", "orchard", "fruit", "tree"]
        assert lacking.lacking.endswith(reason)

    def test_a_word_that_stays_in_one_branch_stays_in_all(self) -> None:
        model = Model({"Pear": PEAR | {"fruit": "Fruit", "tree": "fruit bush"}, "Orange": ORANGE})
        replaced = replace_words(model)
        assert "apple: left 'fruit': it stays as it is for pear" in replaced.left
        for branch in replaced.branches:
            assert list(branch.words) == ["Apple", "cider", "orchard", "tree"]
            parse_replacements(branch.words, "here")

    def test_errors_of_users_are_no_nonsense(self, error_of) -> None:
        def missing(*_: object) -> list[str]:
            raise UserError("no such model", where="params.yaml", remedy="fix it")

        for threshold in (0.5, "auto"):
            line = error_of(replace_words, missing, threshold)
            assert line == "params.yaml: no such model; fix it"

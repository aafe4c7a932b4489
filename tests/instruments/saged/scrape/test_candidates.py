"""Automatic replacement descriptions: candidates, the threshold, replacements by a language
model."""

import json
from collections.abc import Sequence
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenruler.instruments.saged.scrape.keyword_search import KeywordHit, candidate_words
from evenruler.instruments.saged.scrape.replacement_search import (
    SHOWN,
    UnusableReplyError,
    auto_threshold,
    parse_proposals,
)

NEAR = {"Aurelia": 1.0, "Aurelian": 0.9, "tide": 0.5, "the": 0.1}


def hit(word: str, similarity: float) -> KeywordHit:
    return KeywordHit(word, "embedding", similarity)


def similarity(concept: str, words: Sequence[str]) -> list[float]:
    assert concept == "Aurelia"
    return [NEAR.get(word, 0.0) for word in words]


def test_every_word_once_as_it_is_written_most_often_the_most_similar_first() -> None:
    sentences = [
        "The Aurelian tide, the tide!",
        "Aurelia's tide: AURELIAN. An Aurelian of 1990.",
        "The the Zoo zoo",
    ]
    assert candidate_words(sentences, "Aurelia", similarity) == [
        hit("Aurelia", 1.0),
        hit("Aurelian", 0.9),
        hit("tide", 0.5),
        hit("the", 0.1),
        hit("An", 0.0),
        hit("of", 0.0),
        hit("zoo", 0.0),
    ]


def test_nothing_is_asked_about_no_word() -> None:
    assert candidate_words(["1990!"], "Aurelia", lambda *_: pytest.fail("asked")) == []


LEVELS = st.lists(st.integers(0, 9), max_size=40)


@given(LEVELS, st.integers(-1, 10))
def test_the_threshold_parts_what_belongs_from_what_does_not(levels, least) -> None:
    candidates = [hit(f"{level}", level / 10) for level in sorted(levels, reverse=True)]
    requests: list[Sequence[str]] = []

    def belongs(words: Sequence[str]) -> bool:
        requests.append(words)
        return any(int(word) >= least for word in words)

    threshold = auto_threshold(candidates, belongs)
    assert [int(candidate.word) for candidate in candidates if candidate.score >= threshold] == [
        level for level in sorted(levels)[::-1] if level >= least
    ]
    assert threshold == min((level / 10 for level in levels if level >= least), default=inf)
    assert len(requests) <= 4  # of ten distinct similarities
    assert all(0 < len(words) <= SHOWN for words in requests)


class TestLanguageModel:
    def test_replacements_are_read_from_json(self) -> None:
        words = ["Aurelia", "tide"]
        reply = (
            'Sure:\n```json\n{"aurelia": "the  United\\nStates", "Tide": "wind", "more": '
            '"less"}\n```'
        )
        replacements = parse_proposals(reply, words)
        assert replacements == {"Aurelia": "the United States", "tide": "wind"}

    @pytest.mark.parametrize(
        ("reply", "what"),
        [
            (
                "{'tide': __import__('os')}",
                "no JSON object of words in the reply \"{'tide': __import__('os')}\"",
            ),
            ("} {", "no JSON object of words in the reply '} {'"),
            (json.dumps({"tide": 1}), "no JSON object of words in the reply '{\"tide\": 1}'"),
            (json.dumps({"tide": " "}), "no replacement of 'tide', 'sea'"),
            (json.dumps({"tide": "wind"}), "no replacement of 'sea'"),
        ],
    )
    def test_other_replies_are_refused(self, reply, what) -> None:
        with pytest.raises(UnusableReplyError) as caught:
            parse_proposals(reply, ["tide", "sea"])
        assert str(caught.value) == what

"""Keywords of concepts, in four ways, and what becomes of those of several concepts."""

from collections.abc import Sequence
from itertools import product

from evenruler.instruments.saged.declare.source import SearchMethod
from evenruler.instruments.saged.scrape.keyword_search import (
    QUESTIONS,
    Findings,
    Keyword,
    KeywordHit,
    RankedKeywords,
    merge_rankings,
    only_names,
    rank_by_links,
    rank_by_replies,
    rank_by_similarity,
)
from evenruler.models.questions import Sampling

Ways = dict[str, dict[SearchMethod, RankedKeywords]]


def ranked(*words: str, way: SearchMethod = "embedding") -> RankedKeywords:
    return RankedKeywords([KeywordHit(word, way, 1.0) for word in words], [])


class TestLanguageModel:
    def test_five_kinds_of_question_several_times_with_other_seeds(self) -> None:
        calls: list[tuple[str, int]] = []

        def write(prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling) -> list[str]:
            calls.extend(zip(prompts, seeds, strict=True))
            return ["a tide, a wave"] * len(prompts)

        ranking = rank_by_replies("the sea", "Waters", write)
        prompts = {prompt for prompt, _ in calls}
        assert len(prompts) == len(QUESTIONS) == 5
        assert all("The topic is Waters." in prompt and "the sea" in prompt for prompt in prompts)
        assert sorted(calls) == sorted(product(prompts, (0, 1, 2)))
        words = ("a tide", "a wave")
        assert ranking.hits == [KeywordHit(word, "model", 15) for word in words]

    def test_words_are_merged_by_the_number_of_replies_that_name_them(self) -> None:
        replies = [
            "Tide, tide, wave",
            "tide, wave",
            "Tide, foam",
            "tide\nI am a model, I cannot",
            "No.",
        ]
        ranking = rank_by_replies("sea", "Waters", lambda *_: replies)
        assert ranking.hits == [
            KeywordHit("tide", "model", 4),
            KeywordHit("wave", "model", 2),
            KeywordHit("foam", "model", 1),
        ]
        assert ("No.", "no list") in ranking.refused
        assert ("I cannot", "a sentence") in ranking.refused


class TestPages:
    def test_the_words_of_pages_by_their_similarity(self) -> None:
        def similarity(concept: str, words: Sequence[str]) -> list[float]:
            return [{"tide": 0.9, "Port": 0.4}.get(word, 0.1) for word in words]

        ranking = rank_by_similarity("sea", ["The tide at Port A", "A tide"], similarity)
        assert ranking.hits == [
            KeywordHit("tide", "embedding", 0.9),
            KeywordHit("Port", "embedding", 0.4),
            KeywordHit("The", "embedding", 0.1),
            KeywordHit("at", "embedding", 0.1),
        ]
        assert ranking.refused == [("A", "no word")]

    def test_links_by_the_sentences_that_hold_them_as_whole_words(self) -> None:
        titles = [
            "Tide",
            "Mercury (planet)",
            "Port Amber",
            "Port",
            "1990",
            "List of the seas of a planet",
        ]
        texts = [
            "The tide is high. Every tide ends in Port Amber. Tidewater is near Mercury.",
            "The harbour lies beyond. A tide comes and a tide goes.",
        ]
        ranking = rank_by_links(titles, texts)
        assert ranking.hits == [
            KeywordHit("Tide", "links", 3),
            KeywordHit("Mercury", "links", 1),
            KeywordHit("Port Amber", "links", 1),
        ]
        assert ranking.refused == [
            ("1990", "no word"),
            ("List of the seas of a planet", "more than 4 words"),
            ("Port", "not in the text of its pages"),
        ]

    def test_names_are_told_from_other_words_and_the_rest_is_listed(self) -> None:
        names = ["Karl Marx", "France", "Soviet Union", "Kropotkin"]
        rest = ["freedom", "1848", "mutual aid", "property"]
        words = [*names[:2], *rest, *names[2:]]
        ranking = only_names(RankedKeywords(ranked(*words).hits, [("x", "no word")]))
        refused = [("x", "no word"), *((word, "no name") for word in rest)]
        assert ranking == RankedKeywords(ranked(*names).hits, refused)
        assert only_names(ranked()) == ranked()


class TestMerged:
    def test_the_name_first_then_every_way_in_turn(self) -> None:
        ways: Ways = {
            "sea": {
                "model": ranked("tide", "wave", way="model"),
                "links": ranked("Port", "Tide", "sea", way="links"),
            }
        }
        tide = (KeywordHit("tide", "model", 1.0), KeywordHit("Tide", "links", 1.0))
        expected = [
            Keyword("sea", "Sea", (KeywordHit("sea", "links", 1.0),)),
            Keyword("sea", "tide", tide),
            Keyword("sea", "Port", (KeywordHit("Port", "links", 1.0),)),
            Keyword("sea", "wave", (KeywordHit("wave", "model", 1.0),)),
        ]
        assert merge_rankings({"sea": "Sea"}, ways, {}) == Findings(expected, [])

    def test_ten_are_enough_and_of_each_way_the_first_ten_count(self) -> None:
        first = [f"first{number:02}" for number in range(12)]
        ways: Ways = {"sea": {"model": ranked(*first), "links": ranked("second")}}
        findings = merge_rankings({"sea": "sea"}, ways, {})
        words = [keyword.word for keyword in findings.keywords]
        assert words == ["sea", "first00", "second", *first[1:9]]
        assert findings.refused == ["sea: refused 'first09' (embedding): 10 are enough"]

    def test_a_keyword_belongs_to_one_concept_and_what_a_way_refused_is_listed(self) -> None:
        refused = RankedKeywords([], [("1990", "no word")])
        ways: Ways = {
            "sea": {"embedding": ranked("water", "tide", "River", "rain"), "links": refused},
            "river": {"embedding": ranked("Water", "bank", "sea")},
        }
        findings = merge_rankings({"sea": "Sea", "river": "River"}, ways, {"Rain": "sky"})
        assert [(keyword.concept, keyword.word) for keyword in findings.keywords] == [
            ("sea", "Sea"),
            ("sea", "tide"),
            ("river", "River"),
            ("river", "bank"),
        ]
        assert findings.refused == [
            "sea: refused '1990' (links): no word",
            "sea: refused 'water' (embedding): found for river as well",
            "sea: refused 'River' (embedding): a keyword of river",
            "sea: refused 'rain' (embedding): a keyword of sky",
            "river: refused 'Water' (embedding): found for sea as well",
            "river: refused 'sea' (embedding): a keyword of sea",
        ]

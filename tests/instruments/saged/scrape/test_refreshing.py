"""What `evenruler find` and `evenruler refresh` do, against a real MediaWiki where pages are
read."""

from collections.abc import Sequence
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.instruments.saged.declare.source import Source, read_source
from evenruler.instruments.saged.scrape.fetching import (
    SearchFunctions,
    found_keywords,
    found_yaml,
    titles_to_read,
)
from evenruler.instruments.saged.scrape.keyword_search import Keyword, KeywordHit
from evenruler.instruments.saged.scrape.replacement_search import Branch
from evenruler.instruments.saged.scrape.wiki import Wiki
from tests.instruments.saged.domains import SOURCE, places
from tests.instruments.saged.scrape.conftest import CONTACT

CONCEPTS: dict[str, Any] = {
    "veloria": "Veloria",
    "port": {"name": "Port", "pages": ["Port Amber"]},
}
EXTRACTS = {"kind": "extracts"}


def domain(**changes: Any) -> Source:
    return places(**{"concepts": CONCEPTS, **changes})


def private(api: str, **around: Any) -> dict[str, Any]:
    return {"kind": "wiki", "api": api, "licence": "cc0-1.0", "around": around}


@pytest.mark.parametrize("changes", [{"language": "de"}, {"material": EXTRACTS}])
def test_pages_are_of_wikipedia_in_the_domain_s_language(changes) -> None:
    with Wiki(domain(**changes), CONTACT) as wiki:
        language = changes.get("language", "en")
        assert wiki.where == f"https://{language}.wikipedia.org/w/api.php"


LOCAL = {"material": {"kind": "local", "path": "articles/a.md"}}


@pytest.mark.parametrize(
    ("changes", "contact", "message"),
    [
        (LOCAL, CONTACT, "its text is local; there is nothing to fetch"),
        ({}, None, "params.yaml: families.saged.contact: None is no mail or web address, which"),
        ({}, "me", "params.yaml: families.saged.contact: 'me' is no mail or web address, which"),
        ({"language": "en.evil"}, CONTACT, "'en.evil' is no code of a language; write"),
    ],
)
def test_what_cannot_be_fetched(error_of, changes, contact, message) -> None:
    assert message in error_of(Wiki, domain(**changes), contact)


class TestTitles:
    def test_those_of_the_file_and_of_roots_alone_where_others_are_branched_to(
        self, wiki, proxy
    ) -> None:
        assert titles_to_read(domain(), wiki) == {"veloria": ["Veloria"], "port": ["Port Amber"]}
        branch = {"roots": ["port"], "words": {"port": ["Port"], "veloria": ["Veloria"]}}
        assert titles_to_read(domain(branch=branch), wiki) == {"port": ["Port Amber"]}
        assert proxy.asked == []

    def test_then_those_along_links_the_nearest_first_up_to_a_number(self, wiki, proxy) -> None:
        near = domain(material=private(proxy.api, depth=1, most=4))
        assert titles_to_read(near, wiki) == {
            "veloria": ["Veloria", "Long River", "Port Amber", "Sarn"],
            "port": ["Port Amber", "Lighthouse", "Veloria"],
        }

    def test_of_several_pages_the_links_come_in_turn_and_no_page_of_the_file_is_left_out(
        self, wiki, proxy
    ) -> None:
        concepts = {"land": {"name": "Land", "pages": ["Veloria", "Port Amber", "Sarn"]}}
        titles: list[list[str]] = []
        for most in (2, 5):
            material = private(proxy.api, depth=1, most=most)
            read = titles_to_read(domain(concepts=concepts, material=material), wiki)
            titles.append(read["land"])
        of_the_file = ["Veloria", "Port Amber", "Sarn"]
        assert titles == [of_the_file, [*of_the_file, "Long River", "Lighthouse"]]


def means(**functions: Any) -> SearchFunctions:
    def never(*_: object) -> Any:
        pytest.fail("called in a way that does not need it")

    return SearchFunctions(**{"write": never, "similarity": never, "links": never} | functions)


def rows(**texts: str) -> list[dict[str, str]]:
    return [{"concept": concept, "text": text} for concept, text in texts.items()]


WATERS: dict[str, Any] = {
    "sea": "Sea",
    "river": "River",
    "sky": {"name": "Sky", "keywords": ["sky", "wind"]},
}


class TestKeywords:
    def test_ways_are_combined_for_concepts_without_keywords_by_hand(self) -> None:
        def write(prompts: Sequence[str], *_: object) -> list[str]:
            return ["tide, wind" if "Sea" in prompt else "bank, Port Amber" for prompt in prompts]

        def similarity(concept: str, words: Sequence[str]) -> list[float]:
            return [float(word in ("foam", "ferry")) for word in words]

        linked_to = {"Sea": ["Port Amber", "Karl Marx"], "River": ["Port Amber", "Lonely"]}
        source = domain(
            concepts=WATERS,
            material=EXTRACTS,
            find={"by": ["model", "embedding", "links"], "model": "m"},
        )
        texts = rows(sea="Karl Marx saw foam.", river="A ferry runs.", sky="Rain falls.")
        finding = found_keywords(
            source,
            texts,
            means(write=write, similarity=similarity, links=lambda title: linked_to[title]),
        )
        sea = [keyword for keyword in finding.keywords if keyword.concept == "sea"]
        assert sea[:4] == [
            Keyword("sea", "Sea", ()),
            Keyword("sea", "tide", (KeywordHit("tide", "model", 15),)),
            Keyword("sea", "foam", (KeywordHit("foam", "embedding", 1.0),)),
            Keyword("sea", "Karl Marx", (KeywordHit("Karl Marx", "links", 1),)),
        ]
        assert "sea: refused 'wind' (model): a keyword of sky" in finding.refused
        assert "river: refused 'Lonely' (links): not in the text of its pages" in finding.refused
        assert {keyword.concept for keyword in finding.keywords} == {"sea", "river"}

    def test_a_concept_whose_page_was_not_read_keeps_its_name(self) -> None:
        source = domain(concepts={"sea": "Sea"}, find={"by": ["links"]})
        finding = found_keywords(source, [], means())
        assert finding.keywords == [Keyword("sea", "Sea", ())]
        assert finding.refused == ["sea: refused '' (links): no page of it was read"]

    def test_only_names_of_what_pages_hold(self) -> None:
        source = domain(concepts={"sea": "Sea"}, find={"by": ["embedding"], "entities": True})
        near = means(similarity=lambda _, words: [0.5] * len(words))
        finding = found_keywords(source, rows(sea="France loves freedom."), near)
        assert [keyword.word for keyword in finding.keywords] == ["Sea", "France"]

    @pytest.mark.parametrize(
        ("concepts", "find", "message"),
        [
            (CONCEPTS, None, "the domain Places: no `find` in it"),
            ({"sky": WATERS["sky"]}, {"by": ["embedding"]}, "every concept are given by hand"),
        ],
    )
    def test_nothing_to_find(self, error_of, concepts, find, message) -> None:
        source = domain(concepts=concepts, find=find)
        assert message in error_of(found_keywords, source, [], means())


FOUND = [
    Keyword("sea", "Sea", ()),
    Keyword(
        "sea",
        "it's: # a \u201ctide\u201d",
        (KeywordHit("tide", "model", 4), KeywordHit("tide", "embedding", 0.51234)),
    ),
    Keyword("sea", "no", (KeywordHit("no", "links", 12),)),
]


class TestFile:
    def test_it_is_read_with_the_domain(self, tmp_path) -> None:
        (tmp_path / "found").mkdir()
        text = found_yaml(FOUND, [])
        (tmp_path / "found" / "waters.yaml").write_text(text, encoding="utf-8")
        declared = SOURCE | {"concepts": {"sea": "Sea", "river": "River"}}
        del declared["branch"]
        YAML().dump(declared, tmp_path / "waters.yaml")
        source = read_source(tmp_path / "waters.yaml")
        assert source.keywords_of("sea") == [keyword.word for keyword in FOUND]
        assert source.keywords_of("river") == ["River"]

    def test_it_says_how_and_why_and_a_branch_that_lacks_words_says_so(self) -> None:
        why = {"Sea": "a keyword", "no": "similarity 0.51"}
        branches = [
            Branch("sea", "river", why, {"Sea": "river", "no": "not"}),
            Branch("sea", "sky", why, lacking="no JSON in '#'"),
            Branch("sky", "sea", {}, lacking="neither\nnor"),
        ]
        _, *lines = found_yaml(FOUND[:1], branches).splitlines()
        assert [" ".join(line.split()) for line in lines] == [
            "concepts:",
            "sea:",
            "keywords:",
            "- Sea # its name",
            "replacements:",
            "sea:",
            "river:",
            "Sea: river # a keyword",
            "no: not # similarity 0.51",
            "sky: {} # lacking (Sea, no): no JSON in '#'",
            "sky:",
            "sea: {} # lacking: neither nor",
        ]

"""What `evenruler refresh` and `evenruler find` write, against a real MediaWiki."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.instruments.saged.declare import Settings, Source, find_leaks
from evenruler.instruments.saged.declare.source import read_source
from evenruler.instruments.saged.rows.prompts import rows_of
from evenruler.instruments.saged.scrape.fetching import (
    ON_THE_WAY,
    SearchFunctions,
    refresh_pages,
    search_for_domain,
)
from evenruler.instruments.saged.scrape.pages import read_pages
from evenruler.instruments.saged.scrape.scraping import scrape
from evenruler.models.declarations import Catalogue
from evenruler.tables import read_frame
from tests.instruments.saged.conftest import VELORIA
from tests.instruments.saged.domains import MODELS, SOURCE
from tests.local_wiki import answering

FOLDER = "data/snapshots/places"


@pytest.fixture
def declared() -> Settings:
    fields = {"text": "others", "contact": "tests@example.org", "embedder": "none-here"}
    return Settings.model_validate(fields, context={"profile": "quick"})


def write(root: Path, api: str, **changes: Any) -> None:
    fields = {
        "title": "Places",
        "source": "Testers",
        "concepts": {
            "veloria": "Veloria",
            "port": {"name": "Port", "pages": ["Port Amber", "Nowhere"]},
            "tol": "Tol",
        },
        "material": {"kind": "wiki", "api": api, "licence": "cc0-1.0"},
        "branch": None,
        "prefixes": None,
    }
    path = root / "data/sources/saged/places.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    YAML().dump(SOURCE | fields | changes, path)


def snapshot(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (root / FOLDER).iterdir()}


def titles_in(root: Path) -> set[str]:
    return set(read_frame(root / FOLDER / "pages.parquet")["source_tag"])


def test_a_refresh_that_breaks_off_goes_on_and_gives_what_an_unbroken_one_does(
    tmp_path, declared, proxy
) -> None:
    write(tmp_path, proxy.api)
    lines = list(refresh_pages(tmp_path, "places", declared))
    assert lines == [
        "places: port: 'Nowhere' is missing: no such page",
        "places: 3 pages in data/snapshots/places",
    ]
    whole = snapshot(tmp_path)
    assert set(whole) == {"pages.parquet", "missing.parquet"}
    assert not list((tmp_path / ON_THE_WAY).iterdir())
    shutil.rmtree(tmp_path / FOLDER)

    proxy.plan("Tol", answering(403))
    with pytest.raises(UserError):
        list(refresh_pages(tmp_path, "places", declared))
    assert not (tmp_path / FOLDER).exists()
    with (tmp_path / ON_THE_WAY / "places.jsonl").open("a") as killed:
        killed.write('[{"title": "Tol", "sect')
    proxy.asked.clear()
    lines = list(refresh_pages(tmp_path, "places", declared))
    assert lines[0] == "places: resuming an interrupted run after 2 pages"
    assert set(proxy.asked) == {"Nowhere", "Tol"}
    assert snapshot(tmp_path) == whole


def test_a_page_without_an_answer_is_listed_and_a_second_run_fetches_it_alone(
    tmp_path, declared, proxy
) -> None:
    write(tmp_path, proxy.api)
    proxy.plan("Veloria", *[answering(503)] * 5)
    lines = list(refresh_pages(tmp_path, "places", declared))
    assert lines[0].startswith("places: veloria: 'Veloria' is missing: the wiki does not answer")
    assert lines[-1] == "places: run it again to fetch the 1 that had no answer"
    assert titles_in(tmp_path) == {"Port Amber", "Tol"}
    proxy.asked.clear()
    list(refresh_pages(tmp_path, "places", declared))
    assert set(proxy.asked) == {"Nowhere", "Veloria"}
    assert titles_in(tmp_path) == {"Port Amber", "Tol", "Veloria"}


def test_revisions_are_of_pages_that_are_read_and_others_are_not_kept(
    tmp_path,
    declared,
    proxy,
    wiki_server,
    error_of,
) -> None:
    def refresh(**revisions: int) -> list[str]:
        material = {"kind": "wiki", "api": proxy.api, "licence": "cc0-1.0"}
        write(tmp_path, proxy.api, material=material | {"revisions": revisions})
        return list(refresh_pages(tmp_path, "places", declared))

    line = error_of(refresh, Velorio=7)
    assert line.startswith("places: material.revisions: 'Velorio' is no page that is read; name")
    proxy.plan("Tol", answering(403))
    assert "the wiki refuses" in error_of(refresh)
    wiki_server.write({"Veloria": "Veloria is another land."})
    newest, sarn = wiki_server.revision("Veloria"), wiki_server.revision("Sarn")
    proxy.asked.clear()
    lines = refresh(Veloria=newest, Tol=sarn)
    wiki_server.write({"Veloria": VELORIA})
    assert f"places: tol: revision {sarn} of 'Tol' is one of 'Sarn'" in lines
    pages = read_frame(tmp_path / FOLDER / "pages.parquet").set_index("source_tag")
    assert pages.loc["Veloria", "text"] == "Veloria is another land."
    assert pages.loc["Veloria", "revision_id"] == newest
    # The page of the run that broke off is another revision.
    assert str(newest) in proxy.asked
    assert "Port Amber" not in proxy.asked


def test_links_of_a_snapshot_become_keywords_that_a_person_edits(tmp_path, declared, proxy) -> None:
    write(tmp_path, proxy.api, find={"by": ["links"]})
    list(refresh_pages(tmp_path, "places", declared))
    lines = list(search_for_domain(tmp_path, "places", declared, MODELS))
    path = "data/sources/saged/found/places.yaml"
    assert lines[-1].endswith(f"keywords in {path}; edit it, then `make repro`")
    keywords = read_source(tmp_path / "data/sources/saged/places.yaml").keywords_of("veloria")
    assert keywords[0] == "Veloria"
    assert "Long River" in keywords


HARBOUR = """# Boats

The boat sails from the port. Many boats carry sails and a crew. A boat's crew sleeps on the boat itself.

A BOAT needs a captain at sea. Trains are mentioned too, for every boat waits for a train.
"""
TRAIN = {"boat": "train", "sails": "wagons", "sea": "night", "port": "station"}
CART = {"boat": "cart", "sails": "wheels", "sea": "dusk", "port": "stable"}


class Answers:
    """A test double of what things are found with: an embedder of known words, a model of known
    replies."""

    def __init__(self, **replies: object) -> None:
        self.replies = {name: json.dumps(reply) for name, reply in replies.items()}
        self.asked: list[str] = []

    @contextmanager
    def __call__(
        self, source: Source, settings: Settings, catalogue: Catalogue
    ) -> Iterator[SearchFunctions]:
        yield SearchFunctions(self.write, self.similarity, self.links)

    def links(self, title: str) -> list[str]:
        raise AssertionError(title)

    def similarity(self, name: str, words: Sequence[str]) -> list[float]:
        assert name == "boat"
        return [0.6 if word in ("port", "sails", "boat", "sea", "train") else 0.1 for word in words]

    def write(self, prompts: Sequence[str], *_: object) -> list[str]:
        return [self.reply_to(prompt) for prompt in prompts]

    def reply_to(self, prompt: str) -> str:
        if "List " in prompt:
            return "sails, train"
        if "Answer yes or no" in prompt:
            self.asked.append("threshold")
            return "Yes" if '"port"' in prompt else "No"
        name = str(re.findall(r"'(\w+)'", prompt)[1])
        self.asked.append(name)
        return self.replies.get(name, "I do not know.")


def boats(root: Path, replacements: float | str = "auto", **find: Any) -> None:
    concepts = {"boat": "boat", "train": "train", "cart": "cart"}
    write(
        root,
        "",
        concepts=concepts,
        material={"kind": "local", "path": "articles/boats.md"},
        branch={"roots": ["boat"], "replacements": "found"},
        find={"model": "m", "replacements": replacements, **find},
    )
    article = root / "data/sources/saged/articles/boats.md"
    article.parent.mkdir(exist_ok=True)
    article.write_text(HARBOUR)


def built(root: Path) -> list[dict[str, Any]]:
    """What the stages make of the domain: prompts with their baselines."""
    source = read_source(root / "data/sources/saged/places.yaml")
    sentences = scrape("places", source, read_pages("places", source, root)).sentences
    return rows_of("places", source, sentences, lambda *_: []).prompts


@pytest.mark.parametrize("threshold", [0.5, "auto"])
def test_replacements_that_were_found_branch_without_leaks(
    tmp_path, declared, threshold, error_of
) -> None:
    boats(tmp_path, threshold)
    path = "data/sources/saged/found/places.yaml"
    assert "run `evenruler find places`" in error_of(built, tmp_path)
    answers = Answers(train=TRAIN, cart=CART)
    assert list(search_for_domain(tmp_path, "places", declared, MODELS, answers)) == [
        "boat: left 'train': a keyword of train",
        f"places: replacements for 2 branches in {path}; edit it, then `make repro`",
    ]
    assert ("threshold" in answers.asked) == (threshold == "auto")
    rows = built(tmp_path)
    boat_texts = [row["baseline"] for row in rows if row["concept"] == "boat"]
    cart_texts = [row["baseline"] for row in rows if row["concept"] == "cart"]
    assert "The boat sails from the port." not in boat_texts  # "sails" is a verb there
    assert not any("waits for a train" in text for text in boat_texts)  # another concept
    assert "A CART needs a captain at dusk." in cart_texts
    assert "A cart's crew sleeps on the cart itself." in cart_texts
    assert len(rows) == 3 * len(boat_texts) == 6
    branched = [row["prompt"] + row["baseline"] for row in rows if not row["is_root"]]
    assert [find_leaks(text, TRAIN) for text in branched] == [[]] * 4
    assert f"{path}: was found already; edit it, or delete it to search again" in error_of(
        lambda: list(search_for_domain(tmp_path, "places", declared, MODELS, answers))
    )


def test_keywords_that_are_found_at_the_same_time_are_replaced(tmp_path, declared) -> None:
    boats(tmp_path, 1, by=["model"])
    file = tmp_path / "data/sources/saged/places.yaml"
    source = YAML().load(file)
    source["concepts"] |= {name: {"name": name, "keywords": [name]} for name in ("train", "cart")}
    YAML().dump(source, file)
    lines = list(
        search_for_domain(tmp_path, "places", declared, MODELS, Answers(train=TRAIN, cart=CART))
    )
    assert lines[0] == "boat: refused 'train' (model): a keyword of train"
    assert "places: 2 keywords and replacements for 2 branches in" in lines[-1]
    domain = read_source(file)
    assert domain.keywords_of("boat") == ["boat", "sails"]
    assert domain.branch.replacements["boat"]["cart"] == {"boat": "cart", "sails": "wheels"}
    assert "Many carts carry wheels and a crew." in [row["baseline"] for row in built(tmp_path)]


def test_a_branch_of_nonsense_is_left_to_a_person(tmp_path, declared) -> None:
    boats(tmp_path, 0.5)
    answers = Answers(train=TRAIN, cart=["cart"])
    lines = list(search_for_domain(tmp_path, "places", declared, MODELS, answers))
    reason = "no replacements: no JSON object of words in the reply '[\"cart\"]'"
    assert lines[1] == f"boat to cart: {reason}"
    assert "places: replacements for 1 branches in" in lines[2]

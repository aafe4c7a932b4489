"""Pages from a dump in the layout of `wikimedia/wikipedia`, read by the real `datasets`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from evenruler.instruments.saged.declare import Settings, Source
from evenruler.instruments.saged.declare.source import Dump
from evenruler.instruments.saged.schemas import PAGES
from evenruler.instruments.saged.scrape.dump import DumpReader, sections_of
from evenruler.instruments.saged.scrape.fetching import refresh
from evenruler.instruments.saged.scrape.pages import Missing, Page
from evenruler.instruments.saged.scrape.scraping import read
from evenruler.tables import read_table
from tests.hub_client import Client
from tests.loopback_hub import Blob, Repo, running

ROOT = Path(__file__).parents[4]
VELORIA = (
    "Veloria is a town by a river. Velorians bake.\n\nHistory \n\nEarly days \nIt began as a market.\n\n"
    "A list: \n apples\n pears\n\nVelorian bread is praised."
)
PAGES_OF_IT = [
    ["12", "Veloria", VELORIA],
    ["25", "Tol", "Tol may refer to:\n\n Tol (town)\n Tol (river)"],
    ["39", "Port Amber", "Port Amber has ships."],
    ["290", "Bare", " \n "],
    ["303", "Late", "Late is a hill."],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dump of two files, as somebody downloaded it."""
    below = tmp_path / "wikipedia/20231101.en"
    below.mkdir(parents=True)
    for number, rows in enumerate((PAGES_OF_IT[:3], PAGES_OF_IT[3:])):
        pq.write_table(table(rows), below / f"train-{number:05}-of-00002.parquet", row_group_size=2)
    return below.parent


def table(rows: list[list[str]]) -> pa.Table:
    url = "https://en.wikipedia.org/wiki/"
    return pa.Table.from_pylist(
        [{"id": n, "url": url + title, "title": title, "text": text} for n, title, text in rows]
    )


def reader(folder: Path, *titles: str, **keys: Any) -> DumpReader:
    dump = Dump.model_validate({"source": f"local:{folder}", "config": "20231101.en"} | keys)
    return DumpReader(dump, titles, source="Wikipedia", licence="cc-by-sa-4.0")


def test_a_page_with_sections_and_where_it_is_from(folder: Path) -> None:
    page = reader(folder, "veloria").read_page("veloria")
    assert page == Page(
        asked="veloria",
        title="Veloria",
        page_id=12,
        revision_id=None,
        url="https://en.wikipedia.org/wiki/Veloria",
        language="en",
        source="Wikipedia, dump 20231101.en",
        licence="cc-by-sa-4.0",
        sections=(
            ("", "Veloria is a town by a river. Velorians bake."),
            ("Early days", "It began as a market.\nA list:\napples\npears\nVelorian bread is praised."),
        ),
    )


def test_what_is_missing_has_a_reason_and_what_comes_after_it_is_read_all_the_same(folder: Path) -> None:
    dump = reader(folder, "Tol", "Nowhere", "Bare", "Late", "Port_Amber")
    assert dump.read_page("Tol") == Missing("Tol", "a disambiguation page")
    nowhere = Missing("Nowhere", "no page of this title in the dump, which has no redirects")
    assert dump.read_page("Nowhere") == nowhere
    assert dump.read_page("Bare") == Missing("Bare", "a page without text")
    found = [dump.read_page(title) for title in ("Late", "Port_Amber", "Late")]
    assert [page.page_id for page in found if isinstance(page, Page)] == [303, 39, 303]


def test_the_files_behind_the_last_page_that_is_wanted_are_not_read(folder: Path) -> None:
    (folder / "20231101.en/train-00001-of-00002.parquet").write_bytes(b"PAR1 and then nothing")
    dump = reader(folder, "Port Amber", "Veloria")
    found = [dump.read_page(title) for title in ("Port Amber", "Veloria")]
    assert [page.title for page in found if isinstance(page, Page)] == ["Port Amber", "Veloria"]


def test_a_dump_that_was_let_go_gives_nothing_more_but_what_it_has(folder: Path) -> None:
    with reader(folder, "Veloria", "Late") as dump:
        assert isinstance(dump.read_page("Veloria"), Page)
    assert isinstance(dump.read_page("Veloria"), Page)
    assert isinstance(dump.read_page("Late"), Missing)


def test_two_headings_in_a_row_and_long_lines() -> None:
    long = "This line goes on and on and on and on until it is no heading"
    text = f"Lead.\n\nLand \n\nRivers \n\nThey flow.\n\n{long}\n\nof course not\n\nPeople\nThey bake."
    assert sections_of(text) == (
        ("", "Lead."),
        ("Rivers", f"They flow.\n{long}\nof course not"),
        ("People", "They bake."),
    )


def test_what_cannot_be_read_is_one_line(folder: Path, error_of: Callable[..., str]) -> None:
    where = f"material.dump: local:{folder}"
    elsewhere = reader(folder, "Veloria", config="20240101.en")
    line = error_of(elsewhere.read_page, "Veloria")
    assert line.startswith(f"{where}: 20240101.en cannot be read (")
    assert line.endswith("; mend `source`, `config` or `revision`")
    gone = error_of(reader(folder / "gone", "Veloria").read_page, "Veloria")
    assert gone.startswith(f"{where}/gone: 20231101.en cannot be read (")
    file = folder / "20231101.en/train-00000-of-00002.parquet"
    pq.write_table(table(PAGES_OF_IT).drop_columns(["text"]), file)
    assert "No match for FieldRef.Name(text)" in error_of(reader(folder, "Veloria").read_page, "Veloria")
    file.write_bytes(b"<html>please log in</html>")
    assert f"{where}: 20231101.en cannot be read (" in error_of(reader(folder, "Veloria").read_page, "Veloria")


def domain(folder: Path) -> dict[str, Any]:
    return {
        "title": "Places",
        "construct": "praise of places",
        "direction": "more praise",
        "source": "Wikipedia",
        "licence": "cc-by-sa-4.0",
        "concepts": {
            "veloria": {"name": "Veloria", "pages": ["Veloria", "Nowhere"]},
            "port": "Port Amber",
        },
        "material": {"kind": "wiki", "dump": {"source": f"local:{folder}", "config": "20231101.en"}},
        "assemble": {"method": "split", "per_concept": 5},
        "branch": {"roots": ["veloria"], "words": {"veloria": ["Veloria"], "port": ["Port Amber"]}},
    }


def test_a_refresh_leaves_a_snapshot_like_that_of_a_wiki_and_wants_no_contact(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "data/sources/saged/places.yaml"
    path.parent.mkdir(parents=True)
    YAML().dump(domain(folder), path)
    settings = Settings.model_validate({"text": "others"}, context={"scale": "quick"})
    assert list(refresh(tmp_path, "places", settings)) == [
        "places: veloria: 'Nowhere' is missing: no page of this title in the dump, which has no redirects",
        "places: 1 pages in data/snapshots/places",
    ]
    pages = read_table(tmp_path / "data/snapshots/places/pages.parquet")
    assert pages.schema.equals(PAGES)
    assert pages.select(["concept", "source_tag", "section", "page_id", "revision_id"]).to_pylist() == [
        {"concept": "veloria", "source_tag": "Veloria", "section": section, "page_id": 12, "revision_id": None}
        for section in ("", "Early days")
    ]
    read_again = list(read("places", Source.model_validate(domain(folder)), tmp_path))
    assert [type(page) for _, page in read_again] == [Page, Missing]


def test_the_real_clients_of_the_hub(folder: Path, tmp_path: Path) -> None:
    with running() as hub:
        repo = hub.repos["wikimedia/wikipedia"] = Repo(private=False)
        config = "{config_name: 20231101.en, data_files: [{split: train, path: 20231101.en/train-*}]}"
        card = f"---\nconfigs: [{config}]\n---\n".encode()
        files = {str(file.relative_to(folder)): Blob(file.read_bytes(), True) for file in folder.rglob("*.parquet")}
        revision = repo.commit({"README.md": Blob(card, False)} | files, "first")
        repo.commit({"README.md": Blob(card, False)}, "the pages are gone")
        good = {"source": "hub:wikimedia/wikipedia", "revision": revision}
        asked = [
            good,
            good | {"config": "20240101.en"},
            good | {"revision": "0" * 40},
            good | {"source": "hub:you/wiki"},
        ]
        code = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from evenruler.errors import UserError
from tests.instruments.saged.scrape.test_dump import reader
for keys in {asked!r}:
    try:
        page = reader(Path(), "Port Amber", **keys).read_page("Port Amber")
        print("=", json.dumps([page.title, page.page_id, page.source, page.sections]))
    except UserError as error:
        print("=", error)
"""
        printed = Client(hub, tmp_path, tmp_path / "home").python(code).splitlines()
    said = [line[2:] for line in printed if line[:2] == "= "]
    where = "material.dump: hub:wikimedia/wikipedia"
    source = f"Wikipedia, dump 20231101.en of wikimedia/wikipedia at {revision}"
    assert json.loads(said[0]) == ["Port Amber", 39, source, [["", "Port Amber has ships."]]]
    assert said[1].startswith(f"{where}: 20240101.en cannot be read (")
    assert said[2].startswith(f"{where}: 20231101.en cannot be read (Revision '{'0' * 40}' doesn't exist for dataset")
    assert said[3].startswith(
        "material.dump: hub:you/wiki: 20231101.en cannot be read (Dataset 'you/wiki' doesn't exist"
    )


def test_a_hub_that_is_away_is_one_line(tmp_path: Path) -> None:
    with running() as hub:
        client = Client(hub, tmp_path, tmp_path / "home")
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.instruments.saged.scrape.test_dump import reader
try:
    reader(Path(), "Tol", source="hub:wikimedia/wikipedia", revision="0" * 40).read_page("Tol")
except Exception as error:
    print("=", type(error).__name__, error)
"""
    said = [line for line in client.python(code, HF_HUB_OFFLINE="1").splitlines() if line[:2] == "= "]
    assert said == [
        "= UserError material.dump: hub:wikimedia/wikipedia: 20231101.en cannot be read (Couldn't reach "
        "'wikimedia/wikipedia' on the Hub (OfflineModeIsEnabled)); run it again with a network"
    ]

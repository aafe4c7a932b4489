"""What users get wrong about a domain ends in one line; what cannot be found is listed."""

import contextlib
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.instruments.saged.schemas import MISSING, PAGES
from evenruler.instruments.saged.scrape.pages import Page
from evenruler.project.new import create_instrument
from evenruler.tables import read_frame, write_table
from stages import rows as rows_stage
from stages import scrape
from tests.profiles import set_profile
from tests.stages.conftest import edit_yaml

ROOT = Path(__file__).parents[2]


TEXT = (
    "Good tea needs fresh water and a little patience. The price of tea depends on the weather. "
    "The smell of tea fills "
    "the kitchen in the morning. A cup of tea brings back old memories. The taste of tea depends "
    "on the soil.\n"
)
OF_TEXT = {
    "concepts": {"tea": "tea", "coffee": "coffee", "cocoa": "cocoa"},
    "assemble": {"method": "split", "per_concept": 20},
    "branch": {
        "roots": ["tea"],
        "replacements": {"tea": {"coffee": {"tea": "coffee"}, "cocoa": {"tea": "cocoa"}}},
        "read": {"rows": 125, "wrong": 0, "by": "us"},
    },
}


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """A folder with a domain that `evenruler new` wrote, and no other instrument."""
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    edit_yaml(tmp_path / "params.yaml", lambda params: params.update(instruments={}, versions={}))
    create_instrument(tmp_path, "saged", "drinks")
    declare(tmp_path)
    return tmp_path


@pytest.fixture
def workplace(started: Path) -> Path:
    """The same, but the domain is of sentences about tea."""
    of_text(started, "drinks")
    declare(started)
    return started


def of_text(folder: Path, name: str) -> None:
    """Let a domain be of sentences."""
    material = {"kind": "local", "path": f"articles/{name}.md"}
    edit_yaml(domain(folder, name), lambda source: source.update(OF_TEXT, material=material))
    (folder / f"data/sources/saged/articles/{name}.md").write_text(TEXT)


def declare(folder: Path) -> None:
    """Bring `active` in step, as `evenruler check` does."""
    with contextlib.chdir(folder):
        set_profile(Path(), "quick")


def refused(folder: Path) -> str:
    """The line that `evenruler check` ends with."""
    with pytest.raises(UserError) as caught:
        declare(folder)
    return str(caught.value)


def run(stage: str, folder: Path, *, status: int) -> str:
    """What a stage says on its command line, in this process: spaCy takes seconds to load."""
    output, ended = io.StringIO(), 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        try:
            {"scrape": scrape, "rows": rows_stage}[stage].main("drinks")
        except UserError as error:
            print(f"error: {error}")
            ended = 2
    assert ended == status, output.getvalue()
    return output.getvalue()


def domain(folder: Path, name: str = "drinks") -> Path:
    return folder / f"data/sources/saged/{name}.yaml"


def test_what_new_writes_builds(started: Path) -> None:
    assert "'drinks' is not in use" in run("scrape", started, status=2)
    output = run("rows", started, status=0)
    assert "smith: 12 items\n" in output
    assert "36 prompts, 0 sentences rejected" in output
    prompts = read_frame(started / "data/built/saged/drinks/prompts.parquet")
    assert {"Can you trust smiths?", "Should I marry a weaver?"} <= set(prompts["prompt"])


def test_sentences_become_prompts(workplace: Path) -> None:
    assert "5 sentences, 0 of 1 pages without any" in run("scrape", workplace, status=0)
    output = run("rows", workplace, status=0)
    assert "coffee: 5 items, 100% of them with replacements" in output
    assert "15 prompts, 0 sentences rejected" in output
    sentences = read_frame(workplace / "data/scraped/drinks/sentences.parquet")
    assert set(sentences["title"]) == {"drinks"}
    assert set(sentences["url"]) == {"data/sources/saged/articles/drinks.md"}


def test_a_second_build_gives_the_same_bytes(workplace: Path) -> None:
    def contents() -> dict[str, bytes]:
        for stage in ("scrape", "rows"):
            run(stage, workplace, status=0)
        data = workplace / "data"
        paths = [*(data / "scraped").rglob("*.*"), *(data / "built").rglob("*.*")]
        return {path.relative_to(data).as_posix(): path.read_bytes() for path in paths}

    first = contents()
    assert {"scraped/drinks/sentences.parquet", "built/saged/drinks/prompts.parquet"} < set(first)
    assert contents() == first


def use_pages_of_others(folder: Path, kind: str, name: str = "drinks") -> None:
    """A domain, about pages that others wrote."""
    edit_yaml(
        domain(folder, name),
        lambda source: (source.pop("branch"), source.update(material={"kind": kind})),
    )
    edit_yaml(
        folder / "params.yaml", lambda params: params["instruments"][name].update(text="others")
    )


def snapshot(folder: Path, name: str) -> None:
    """One page of a wiki, as `evenruler refresh` writes it, and one that is missing."""
    page = Page(
        "Tea",
        "Tea",
        "https://example.org/Tea",
        "en",
        "A wiki",
        "cc-by-sa-4.0",
        (("", "We like tea."),),
        3,
        17,
    )
    write_table(page.rows("tea"), PAGES, folder / "data/snapshots" / name / "pages.parquet")
    missing = [{"concept": "coffee", "asked": "Coffee", "reason": "no such page"}]
    write_table(missing, MISSING, folder / "data/snapshots" / name / "missing.parquet")


def test_a_wiki_is_read_from_its_snapshot_alone(workplace: Path) -> None:
    use_pages_of_others(workplace, "wiki")
    output = run("scrape", workplace, status=2)
    assert (
        "data/snapshots/drinks: its pages were not fetched yet; run `evenruler refresh drinks`"
        in output
    )
    assert f"error: {refused(workplace)}\n" == output  # no other domain is left to go on with

    snapshot(workplace, "drinks")
    declare(workplace)
    output = run("scrape", workplace, status=0)
    assert "drinks: no sentence about coffee\ndrinks: no sentence about cocoa\n" in output
    assert "1 sentences, 1 of 2 pages without any" in output
    sources = read_frame(workplace / "data/scraped/drinks/sources.parquet").set_index("source_tag")
    assert sources.loc["Tea", ["revision_id", "sentences"]].tolist() == [17, 1]
    assert sources.loc["Coffee", ["reason", "sentences"]].tolist() == ["no such page", 0]


def test_the_packaged_leads_stand_in_until_a_refresh(workplace: Path) -> None:
    use_pages_of_others(workplace, "extracts")
    declare(workplace)
    output = run("scrape", workplace, status=0)
    assert (
        "leads of Wikipedia from a package; `evenruler refresh drinks` fetches whole pages"
        in output
    )
    sentences = read_frame(workplace / "data/scraped/drinks/sentences.parquet")
    assert set(sentences["concept"]) == {"tea", "coffee"}
    assert set(sentences["licence"]) == {"cc-by-sa-4.0"}


@pytest.fixture
def two_more(workplace: Path) -> Path:
    """Beside the domain that is finished, one whose pages and one whose replacements are still to
    be found."""
    for name in ("juices", "teas"):
        create_instrument(workplace, "saged", name)
        of_text(workplace, name)
    use_pages_of_others(workplace, "wiki", "juices")
    replacements = {"model": "smollm2-135m-instruct", "replacements": "auto"}
    edit_yaml(
        domain(workplace, "teas"),
        lambda source: (
            source["branch"].update(replacements="found"),
            source.update(find=replacements),
        ),
    )
    shutil.copy2(ROOT / "dvc.yaml", workplace)
    return workplace


def checked(folder: Path) -> str:
    """What the command says, which ends with 0."""
    command = [Path(sys.executable).parent / "evenruler", "check"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_unfinished_domains_do_not_stop_the_others(two_more: Path) -> None:
    left_out = "is left out until it is finished: data/"
    output = checked(two_more)
    assert f"warning: juices {left_out}snapshots/juices: " in output
    assert f"warning: teas {left_out}sources/saged/found/teas.yaml: " in output
    assert "/saged-juices\n" in (two_more / "benchmarks/.gitignore").read_text()
    assert list(ParamsFile(two_more / "params.yaml").active.instruments) == ["drinks"]
    run("scrape", two_more, status=0)
    run("rows", two_more, status=0)

    snapshot(two_more, "juices")
    output = checked(two_more)
    assert "juices is left out" not in output
    assert "warning: teas is left out" in output
    active = ParamsFile(two_more / "params.yaml").active
    assert list(active.instruments) == list(active.scrape) == ["drinks", "juices"]
    assert active.scrape["juices"].material == "data/snapshots/juices"


def test_a_domain_depends_on_its_own_files(two_more: Path) -> None:
    source = domain(Path(), "drinks").as_posix()
    declare(two_more)
    drinks = ParamsFile(two_more / "params.yaml").active.scrape["drinks"]
    assert (drinks.source, drinks.material, drinks.found) == (
        source,
        "data/sources/saged/articles/drinks.md",
        source,
    )

    replacements = two_more / "data/sources/saged/found/drinks.yaml"
    replacements.parent.mkdir(parents=True, exist_ok=True)
    replacements.write_text("concepts: {}\n")
    declare(two_more)
    drinks = ParamsFile(two_more / "params.yaml").active.scrape["drinks"]
    assert drinks.found == "data/sources/saged/found/drinks.yaml"

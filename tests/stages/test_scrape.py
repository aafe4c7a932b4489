"""What users get wrong about a domain ends in one line; what cannot be found is listed."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.instruments.saged.schemas import MISSING, PAGES
from evenruler.instruments.saged.scrape.pages import Page
from evenruler.project.new import create_instrument
from evenruler.tables import read_frame, write_table
from stages import rows as rows_stage
from stages import scrape
from tests.profiles import set_profile

ROOT = Path(__file__).parents[2]
yaml = YAML()


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
    edit(tmp_path / "params.yaml", lambda params: params.update(instruments={}, versions={}))
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
    edit(domain(folder, name), lambda said: said.update(OF_TEXT, material=material))
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


def edit(path: Path, change: Callable[[dict], object]) -> None:
    document = yaml.load(path.read_text())
    change(document)
    with path.open("w") as out:
        yaml.dump(document, out)


def run(stage: str, folder: Path, *, status: int) -> str:
    """What a stage says on its command line, in this process: spaCy takes seconds to load."""
    said, ended = io.StringIO(), 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        try:
            {"scrape": scrape, "rows": rows_stage}[stage].main("drinks")
        except UserError as error:
            print(f"error: {error}")
            ended = 2
    assert ended == status, said.getvalue()
    return said.getvalue()


def domain(folder: Path, name: str = "drinks") -> Path:
    return folder / f"data/sources/saged/{name}.yaml"


def article(folder: Path) -> Path:
    return folder / "data/sources/saged/articles/drinks.md"


def test_what_new_writes_builds(started: Path) -> None:
    assert "12 sentences, 0 of 1 pages without any" in run("scrape", started, status=0)
    said = run("rows", started, status=0)
    assert "smith: 12 items\n" in said
    assert "180 prompts, 0 sentences rejected" in said
    prompts = read_frame(started / "data/built/saged/drinks/prompts.parquet")
    assert {"Can you trust smiths?", "Should I marry a flarn?"} <= set(prompts["prompt"])


def test_sentences_become_prompts(workplace: Path) -> None:
    assert "5 sentences, 0 of 1 pages without any" in run("scrape", workplace, status=0)
    said = run("rows", workplace, status=0)
    assert "coffee: 5 items, 100% of them with replacements" in said
    assert "15 prompts, 0 sentences rejected" in said
    sentences = read_frame(workplace / "data/scraped/drinks/sentences.parquet")
    assert set(sentences["title"]) == {"drinks"}
    assert set(sentences["url"]) == {"data/sources/saged/articles/drinks.md"}


def test_a_second_build_gives_the_same_bytes(workplace: Path) -> None:
    def contents() -> dict[str, bytes]:
        for stage in ("scrape", "rows"):
            run(stage, workplace, status=0)
        made = [
            path
            for name in ("scraped", "built")
            for path in (workplace / "data" / name).rglob("*.*")
        ]
        return {path.relative_to(workplace / "data").as_posix(): path.read_bytes() for path in made}

    first = contents()
    scraped = {
        f"scraped/drinks/{name}" for name in ("sentences.parquet", "sources.parquet", "source.yaml")
    }
    tables = {
        f"built/saged/drinks/{name}.parquet" for name in ("prompts", "sources", "rejected", "tries")
    }
    assert set(first) == scraped | tables | {"built/saged/drinks/plan.json"}
    assert contents() == first


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(
            lambda folder: article(folder).unlink(),
            "data/sources/saged/articles/drinks.md: no such file or folder",
            id="no file",
        ),
        pytest.param(
            lambda folder: article(folder).write_bytes(b"tea \x81\x8d\x00\x01"),
            "data/sources/saged/articles/drinks.md: the text's encoding is not known",
            id="no text",
        ),
        pytest.param(
            lambda folder: (article(folder).unlink(), article(folder).mkdir()),
            "data/sources/saged/articles/drinks.md: an empty folder",
            id="empty folder",
        ),
        pytest.param(
            lambda folder: (
                article(folder).unlink(),
                article(folder).mkdir(),
                unreadable(article(folder) / "a.txt"),
            ),
            "data/sources/saged/articles/drinks.md/a.txt: cannot be read",
            id="unreadable file",
        ),
        pytest.param(
            lambda folder: article(folder).write_text("Nothing is said about it here.\n"),
            "data/sources/saged/drinks.yaml: no sentence about tea (keywords tea); fix its "
            "keywords",
            id="a root without a sentence",
        ),
        pytest.param(
            lambda folder: edit(domain(folder), lambda d: d.update(material={"kind": "extracts"})),
            "data/sources/saged/drinks.yaml: material.kind: text of the kind extracts was written "
            "by others; add `",
            id="text of others declared as ours",
        ),
    ],
)
def test_a_mistake_is_one_line(
    workplace: Path, change: Callable[[Path], object], line: str
) -> None:
    change(workplace)
    said = run("scrape", workplace, status=2)
    assert said.startswith(f"error: {line}"), said
    assert said.count("\n") == 1


def test_a_mistake_ends_the_stage_with_status_2(workplace: Path) -> None:
    article(workplace).unlink()
    done = subprocess.run(
        [sys.executable, "-m", "stages.scrape", "drinks"],
        cwd=workplace,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: data/sources/saged/articles/drinks.md: no such file")


def unreadable(path: Path) -> None:
    """Also for root, whom permissions do not stop."""
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("replacements", "line"),
    [
        ({"tea": "teas and tea"}, "'tea'"),
        ({"drink": "tea", "tea": "drink a tea"}, "'drink'"),
    ],
)
def test_a_replacement_cycle_is_one_line(
    workplace: Path, replacements: dict[str, str], line: str
) -> None:
    edit(
        domain(workplace), lambda d: d["branch"]["replacements"]["tea"].update(coffee=replacements)
    )
    said = run("scrape", workplace, status=2)
    assert said.startswith(
        "error: data/sources/saged/drinks.yaml: branch.replacements.tea.coffee: "
    ), said
    assert line in said
    assert said.count("\n") == 1
    assert f"error: {refused(workplace)}\n" == said


def test_branched_text_that_nobody_judges_or_reads_is_one_line(workplace: Path) -> None:
    edit(domain(workplace), lambda d: d["branch"].pop("read"))
    assert refused(workplace) == (
        "drinks: branch: its branched rows are neither judged nor read: 15 to 78% of rows from "
        "text are wrong "
        "(docs/saged.md); name a model as `branch.judge`, or read the rows and say in "
        "`branch.read` how many are wrong"
    )


def others(folder: Path, kind: str, name: str = "drinks") -> None:
    """A domain, about pages that others wrote."""
    edit(domain(folder, name), lambda d: (d.pop("branch"), d.update(material={"kind": kind})))
    edit(folder / "params.yaml", lambda params: params["instruments"][name].update(text="others"))


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
    others(workplace, "wiki")
    said = run("scrape", workplace, status=2)
    assert (
        "data/snapshots/drinks: its pages were not fetched yet; run `evenruler refresh drinks`"
        in said
    )
    assert f"error: {refused(workplace)}\n" == said  # no other domain is left to go on with

    snapshot(workplace, "drinks")
    declare(workplace)
    said = run("scrape", workplace, status=0)
    assert "drinks: no sentence about coffee\ndrinks: no sentence about cocoa\n" in said
    assert "1 sentences, 1 of 2 pages without any" in said
    sources = read_frame(workplace / "data/scraped/drinks/sources.parquet").set_index("source_tag")
    assert sources.loc["Tea", ["revision_id", "sentences"]].tolist() == [17, 1]
    assert sources.loc["Coffee", ["reason", "sentences"]].tolist() == ["no such page", 0]


def test_the_packaged_leads_stand_in_until_a_refresh(workplace: Path) -> None:
    others(workplace, "extracts")
    declare(workplace)
    said = run("scrape", workplace, status=0)
    assert (
        "leads of Wikipedia from a package; `evenruler refresh drinks` fetches whole pages" in said
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
    others(workplace, "wiki", "juices")
    replacements = {"replacements": {"model": "smollm2-135m-instruct"}}
    edit(
        domain(workplace, "teas"),
        lambda d: (d["branch"].update(replacements="found"), d.update(find=replacements)),
    )
    shutil.copy2(ROOT / "dvc.yaml", workplace)
    return workplace


def checked(folder: Path) -> str:
    """What the command says, which ends with 0."""
    command = [Path(sys.executable).parent / "evenruler", "check"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_unfinished_domains_do_not_stop_the_others(two_more: Path) -> None:
    left_out = "is left out until it is finished: data/"
    said = checked(two_more)
    assert (
        f"warning: juices {left_out}snapshots/juices: its pages were not fetched yet; run "
        "`evenruler refresh juices`,"
        " which needs a network\n"
    ) in said
    assert (
        f"warning: teas {left_out}sources/saged/found/teas.yaml: no replacements from tea to "
        "coffee were found" in said
    )
    assert "; run `evenruler find teas`, or write them there\n" in said
    assert list(ParamsFile(two_more / "params.yaml").active.instruments) == ["drinks"]
    run("scrape", two_more, status=0)
    run("rows", two_more, status=0)

    snapshot(two_more, "juices")
    said = checked(two_more)
    assert "juices is left out" not in said
    assert "warning: teas is left out" in said
    active = ParamsFile(two_more / "params.yaml").active
    assert list(active.instruments) == list(active.scrape) == ["drinks", "juices"]
    assert active.scrape["juices"].material == "data/snapshots/juices"


def test_what_was_built_of_others_stays_out_of_git_while_unfinished(two_more: Path) -> None:
    checked(two_more)
    assert "/saged-juices\n" in (two_more / "benchmarks/.gitignore").read_text()


def test_a_domain_depends_on_its_own_files(two_more: Path) -> None:
    own = domain(Path(), "drinks").as_posix()
    checked(two_more)
    drinks = ParamsFile(two_more / "params.yaml").active.scrape["drinks"]
    assert (drinks.source, drinks.material, drinks.found) == (
        own,
        "data/sources/saged/articles/drinks.md",
        own,
    )

    found = two_more / "data/sources/saged/found/drinks.yaml"
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_text("concepts: {}\n")
    checked(two_more)
    drinks = ParamsFile(two_more / "params.yaml").active.scrape["drinks"]
    assert drinks.found == "data/sources/saged/found/drinks.yaml"

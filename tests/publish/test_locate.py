"""How a benchmark's files name where it lies, and what lies in a folder."""

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pytest

from evenruler.instruments.possible_verdicts import describe_possible_verdict
from evenruler.publish.folder import BenchmarkFolder, render_card, write_benchmark
from evenruler.publish.locate import (
    BenchmarkListing,
    as_table,
    from_hub,
    list_benchmarks,
    replace_location,
)
from evenruler.publish.manifest import NO_TAG
from evenruler.versions import Changelog, Release
from tests.text_tables import read_cells, yaml_of_text


def test_the_card_of_what_is_not_released_names_its_tag_on_the_hub(benchmark):
    card = replace_location("README.md", render_card(benchmark), "you/jobs")
    assert 'rows = load_dataset("you/jobs", "probes", split="test", revision="v1.2.3")\n' in card
    assert "--repo-type dataset --revision v1.2.3 --local-dir DIR" in card
    assert "\nVersion 1.2.3, published with the tag `v1.2.3`. Built with " in card
    assert "\n- **1.2.3**: published with the tag `v1.2.3`.\n" in card
    assert "not released yet" not in card
    assert NO_TAG not in card


def test_twice_is_as_once(benchmark):
    card = replace_location("README.md", render_card(benchmark), "you/jobs")
    assert replace_location("README.md", card, "you/jobs") == card


def test_of_a_release_the_place_alone_changes(benchmark):
    releases = {"1.2.3": Release(date=datetime.date(2025, 4, 5), changes=["Two."])}
    card = render_card(replace(benchmark, changelog=Changelog(releases=releases)))
    assert replace_location("README.md", card, "you/jobs") == card.replace(
        'load_dataset("DIR"', 'load_dataset("you/jobs"'
    )


@pytest.fixture
def folder(benchmark: BenchmarkFolder, tmp_path: Path) -> Path:
    write_benchmark(benchmark, tmp_path / "probes-jobs")
    (tmp_path / "not-built").mkdir()
    return tmp_path


def test_what_lies_there_is_listed(folder) -> None:
    assert list_benchmarks(folder, describe_possible_verdict) == [
        BenchmarkListing("probes-jobs", "1.2.3", 4, "Jobs and gender", "not known")
    ]


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    read_cells("""
{standard: {detects: 2-fold}, full: {detects: 1.5-fold}} | causal at standard
{standard: {detects: null}, full: {detects: 1.5-fold}} | causal at full
{full: {detects: 1.5-fold, choice: 5 points}} | causal, chat at full
{full: {detects: null, choice: 5 points}} | chat at full
{standard: {detects: null}, full: {detects: null}} | no
{standard: {detects: null}, full: {detects: ""}} | not known
"""),
)
def test_the_size_at_which_a_verdict_can_come(folder: Path, sizes: str, verdict: str) -> None:
    plan = {"sizes": yaml_of_text(sizes)}
    (folder / "probes-jobs/plan.json").write_text(json.dumps(plan))
    (listing,) = list_benchmarks(folder, describe_possible_verdict)
    assert listing.verdict == verdict
    head, line = as_table([listing]).splitlines()
    assert head.split() == ["name", "version", "rows", "verdict", "title"]
    assert line == f"probes-jobs  1.2.3       4  {verdict:<7}  Jobs and gender"


def test_a_card_without_title_is_said(folder, error_of) -> None:
    card = folder / "probes-jobs/README.md"
    card.write_text("# Jobs\n")
    assert (
        error_of(list_benchmarks, folder, describe_possible_verdict)
        == f"{card}: no `pretty_name` in its front matter; get the file again"
    )


def test_a_version_on_the_hub_is_its_data_set_at_the_tag(monkeypatch) -> None:
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda repo, repo_type, revision, dry_run=False, **_: (
            [] if dry_run else f"/{repo_type}/{repo}/{revision}"
        ),
    )
    assert from_hub("you/jobs", "v1.0.0") == Path("/dataset/you/jobs/v1.0.0")

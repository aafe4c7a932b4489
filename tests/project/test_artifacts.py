import pytest

from evenruler.declaration.generated import artifacts_of
from evenruler.project.check import write_artifacts

REST = """\
# A file that people edit.
vars:
  - a: {b: 1}   # with a comment
stages:
  one:
    foreach: ${probes}
    do:
      cmd: python -m stages.one '${key}' "quoted"
      params: ["probes.${key}", models]
      outs:
        - data/${key}: {cache: false, persist: true}

plots:
  - plots.csv:
      x: bias
"""

HEAD = "\n# Written by `evenruler check`.\nartifacts:\n"

AGE = """\
  probes-age:
    path: benchmarks/probes-age
    type: dataset
    desc: Rows and card of probes-age
    labels:
    - probes
    - bias
    - language-models
"""

JOBS = AGE.replace("probes-age", "probes-jobs")

BLOCK = HEAD + AGE


@pytest.fixture
def stepped(tmp_path):
    """dvc.yaml once it was brought in step with domains, and what was said."""

    def make(text: str, *domains: str) -> tuple[str, list[str]]:
        path = tmp_path / "dvc.yaml"
        path.write_text(text, encoding="utf-8")
        lines = write_artifacts(tmp_path, [f"probes-{name}" for name in domains])
        assert [found.name for found in tmp_path.iterdir()] == ["dvc.yaml"]
        return path.read_text(encoding="utf-8"), lines

    return make


def test_every_benchmark_has_an_entry() -> None:
    found = artifacts_of(["probes-jobs", "probes-age"])

    assert list(found) == ["probes-age", "probes-jobs"]
    assert found["probes-jobs"] == {
        "path": "benchmarks/probes-jobs",
        "type": "dataset",
        "desc": "Rows and card of probes-jobs",
        "labels": ["probes", "bias", "language-models"],
    }


def test_they_are_of_all_families_and_by_name() -> None:
    found = artifacts_of(["probes-jobs", "saged-fruit", "framing-age"])

    assert {name: entry["labels"][0] for name, entry in found.items()} == {
        "framing-age": "framing",
        "probes-jobs": "probes",
        "saged-fruit": "saged",
    }
    assert list(found) == sorted(found)
    assert [entry["path"] for entry in found.values()] == [f"benchmarks/{name}" for name in found]


def test_a_block_is_added_and_the_rest_stays_byte_for_byte(stepped) -> None:
    assert stepped(REST, "age") == (REST + BLOCK, ["dvc.yaml: artifacts are now probes-age"])


def test_what_is_in_step_stays_as_it_is(stepped) -> None:
    by_hand = REST + BLOCK.replace("    - probes\n    - bias\n    - language-models\n", "").replace(
        "    labels:\n", '    labels: [probes,   bias, "language-models"] # in one line\n'
    )
    assert by_hand.count("in one line") == 1
    for text in (REST + BLOCK, by_hand):
        assert stepped(text, "age") == (text, [])


def test_another_domain_is_added(stepped) -> None:
    assert stepped(REST + BLOCK, "jobs", "age") == (
        REST + BLOCK + JOBS,
        ["dvc.yaml: artifacts are now probes-age, probes-jobs"],
    )


@pytest.mark.parametrize(("kept", "entry"), [("age", AGE), ("jobs", JOBS)])
def test_a_domain_that_is_gone_goes(stepped, kept, entry) -> None:
    text, lines = stepped(REST + HEAD + AGE + JOBS, kept)

    assert text == REST + HEAD + entry
    assert lines == [f"dvc.yaml: artifacts are now probes-{kept}"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("benchmarks/probes-age", "benchmarks/age"),
        ("    type: dataset\n", ""),
        ("    - bias\n", ""),
    ],
    ids=["path", "type", "label"],
)
def test_an_entry_that_was_altered_is_mended(stepped, old, new) -> None:
    altered = BLOCK.replace(old, new)
    assert altered != BLOCK
    assert stepped(REST + altered, "age") == (
        REST + BLOCK,
        ["dvc.yaml: artifacts are now probes-age"],
    )


def test_without_domains_there_is_nothing_to_add(stepped) -> None:
    assert stepped(REST) == (REST, [])


def test_with_the_last_domain_goes_the_last_entry(stepped) -> None:
    text, _ = stepped(REST + BLOCK)
    assert text == REST + HEAD.rstrip("\n") + " {}\n"


def test_again_is_the_same(stepped) -> None:
    once, _ = stepped(REST, "age", "jobs")
    assert stepped(once, "age", "jobs") == (once, [])


def test_a_key_without_entries_gets_them(stepped) -> None:
    assert stepped(REST + HEAD, "age")[0] == REST + BLOCK


def test_what_stands_behind_the_block_stays(stepped) -> None:
    behind = "\n# Metrics, by hand.\nmetrics:\n  - metrics.json\n"
    assert (
        stepped(REST + HEAD + AGE.replace("    - bias\n", "") + behind, "age")[0]
        == REST + BLOCK + behind
    )

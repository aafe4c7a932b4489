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
        assert [path_found.name for path_found in tmp_path.iterdir()] == ["dvc.yaml"]
        return path.read_text(encoding="utf-8"), lines

    return make


def test_they_are_of_all_families_and_by_name() -> None:
    artifacts = artifacts_of(["probes-jobs", "saged-fruit", "framing-age"])

    assert {name: artifact["labels"][0] for name, artifact in artifacts.items()} == {
        "framing-age": "framing",
        "probes-jobs": "probes",
        "saged-fruit": "saged",
    }
    assert list(artifacts) == sorted(artifacts)


def test_a_block_is_added_and_the_rest_stays_byte_for_byte(stepped) -> None:
    assert stepped(REST, "age") == (REST + BLOCK, ["dvc.yaml: artifacts are now probes-age"])


def test_what_is_in_step_stays_as_it_is(stepped) -> None:
    by_hand = REST + BLOCK.replace("    - probes\n    - bias\n    - language-models\n", "").replace(
        "    labels:\n", '    labels: [probes,   bias, "language-models"] # in one line\n'
    )
    assert by_hand.count("in one line") == 1
    for text in (REST + BLOCK, by_hand):
        assert stepped(text, "age") == (text, [])


def test_a_domain_that_is_gone_goes(stepped) -> None:
    text, lines = stepped(REST + HEAD + AGE + JOBS, "jobs")

    assert text == REST + HEAD + JOBS
    assert lines == ["dvc.yaml: artifacts are now probes-jobs"]


def test_an_entry_that_was_altered_is_mended(stepped) -> None:
    altered = BLOCK.replace("    - bias\n", "")
    assert altered != BLOCK
    assert stepped(REST + altered, "age") == (
        REST + BLOCK,
        ["dvc.yaml: artifacts are now probes-age"],
    )


def test_without_domains_there_is_nothing_to_add(stepped) -> None:
    assert stepped(REST) == (REST, [])


def test_a_key_without_entries_gets_them(stepped) -> None:
    assert stepped(REST + HEAD, "age")[0] == REST + BLOCK

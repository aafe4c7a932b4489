"""The real pipeline, by the real DVC, in a clone: what is run when, and what stays."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from tests.report.pages import pictures_in
from tests.stages.conftest import UP_TO_DATE, Clone, entry, ran
from tests.tiny import save_tiny

BENCHMARK = "benchmarks/probes-occupation-gender"


def test_everything_is_there_and_a_second_repro_does_nothing(built: Clone) -> None:
    assert UP_TO_DATE in built.run("dvc", "status")
    assert ran(built.run("dvc", "repro")) == []
    probes = pq.read_table(built.folder / BENCHMARK / "probes/test-00000-of-00001.parquet")
    assert probes.num_rows == 12 * 17 * 12
    answers = pq.read_table(built.folder / "data/answers/probes/tiny-a/likelihoods.parquet")
    assert set(probes["id"].to_pylist()) <= set(answers["id"].to_pylist())
    assert not [
        path
        for path in built.contents("data", "benchmarks")
        if ".partial" in path or ".gitignore" in path
    ]


def test_metrics_and_plots_of_dvc_are_the_headlines(built: Clone) -> None:
    evidence = json.loads((built.folder / BENCHMARK / "evidence.json").read_text())["figures"]
    shown = json.loads(built.run("dvc", "metrics", "show", "--json"))
    metrics = shown[""]["data"]["data/diagnosis/probes/metrics.json"]["data"]["occupation-gender"]
    expected: dict[str, Any] = {}
    for row in evidence:
        if "verdict" in row and row["value"] is not None:  # tiny models have no noun in one token
            by_figure = expected.setdefault(row["model"], {})
            by_key = by_figure.setdefault(row["figure"], {})
            by_key[f"set={row['set']}"] = row["value"]
    assert expected
    assert metrics == expected
    assert max(map(len, built.run("dvc", "metrics", "show").splitlines())) < 4000
    assert "headlines.csv" in built.run("dvc", "plots", "show", "--json")


def test_an_adapted_model_is_asked_after_every_epoch_and_answers_otherwise(built: Clone) -> None:
    folder = built.folder / "data/answers/questionnaires/tiny-a"
    answers = pd.read_parquet(folder / "entailment.parquet")
    entailed = answers.pivot(index="id", columns=["corpus", "fit", "epoch"], values="entailment")
    before = ("", 0, 0)
    adapted = entailed.dropna().drop(columns=before)
    changes = adapted.sub(entailed[before], axis=0).dropna()
    assert set(changes.columns) == {("depressive-mood", 1, 1), ("depressive-mood", 1, 2)}
    assert (changes.abs().max() > 1e-4).all()


def test_the_report_needs_no_network(built: Clone) -> None:
    """Each family has a picture; what comes of the answers of a random model may have none."""
    page = (built.folder / "data/report/index.html").read_text()
    assert page.count('class="picture"') == len(pictures_in(page))
    for title in (
        "Biases by template",
        "Entailment by term and intensifier",
        "How many answers name an option",
        "Concepts by configuration",
    ):
        assert f": {title}" in page
    assert "<script src" not in page
    assert "<link" not in page


@pytest.mark.slow
def test_same_inputs_give_the_same_bytes(built: Clone) -> None:
    """Forced from compile to card, each stage started cold: every benchmark file again, byte for
    byte."""
    before = built.contents("benchmarks")
    output = built.run("dvc", "repro", "--force", "card@occupation-gender", cold=True)
    assert {"ask@probes-tiny-a", "card@occupation-gender"} < set(ran(output))
    assert built.contents("benchmarks") == before
    assert UP_TO_DATE in built.run("dvc", "status", "card@occupation-gender")


@pytest.mark.slow
@pytest.mark.long
def test_another_processor_changes_no_file_that_git_holds(built: Clone, tmp_path: Path) -> None:
    """Everything asked anew with other threads and kernels: answers differ in their last bits, and
    git sees none of it.

    `dvc.lock` alone names what this machine's answers hash to.
    """
    before = built.contents("data/answers/framing")
    elsewhere = Clone(built.folder, tmp_path / "cache")
    elsewhere.env |= {
        "OMP_NUM_THREADS": "2",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
    }
    output = elsewhere.run("dvc", "repro", "--force", "card@age")
    assert "ask@framing-tiny-a" in ran(output)
    assert built.contents("data/answers/framing") != before
    assert built.run("git", "status", "--porcelain").split() == ["M", "dvc.lock"]
    built.run("git", "checkout", "-q", "dvc.lock")
    built.run("dvc", "checkout", "--force")
    assert built.contents("data/answers/framing") == before


@pytest.mark.slow
@pytest.mark.long
def test_a_third_model_is_one_entry_and_leaves_no_trace(built: Clone, tmp_path: Path) -> None:
    """One entry scores one model; without it everything is as before, also in a clone of the
    result."""
    save_tiny(tmp_path / "tiny-c", kind="gpt2", seed=3)
    declared = (built.folder / "params.yaml").read_text()
    built.edit(
        "params.yaml",
        lambda params: params["models"].update({"tiny-c": entry(tmp_path / "tiny-c")}),
    )
    assert "active.yaml: now quick: tiny-a, tiny-b, tiny-c" in built.run("evenruler", "check")
    assert set(ran(built.run("dvc", "repro"))) == {
        "declared",
        *(f"ask@{family}-tiny-c" for family in ("probes", "framing", "saged")),
        *(f"diagnose@{family}" for family in ("probes", "framing", "saged")),
        *(f"card@{name}" for name in ("occupation-gender", "age", "fruit")),
        "agree",
        "report",
    }
    assert '"tiny-c"' in (built.folder / BENCHMARK / "evidence.json").read_text()

    (built.folder / "params.yaml").write_text(declared)
    built.run("evenruler", "check")
    assert "tiny-c" not in "".join(ran(built.run("dvc", "repro")))
    assert built.run("git", "status", "--porcelain") == ""

    clone = tmp_path / "clone"
    built.run("git", "clone", "-q", ".", str(clone))
    fresh = Clone(clone, tmp_path / "cache")
    fresh.run("dvc", "cache", "dir", "--local", str(built.folder / ".dvc/cache"))
    fresh.run("dvc", "checkout", "--quiet")
    assert UP_TO_DATE in fresh.run("dvc", "status")


@pytest.mark.parametrize(
    ("old", "new", "stage", "message"),
    [
        (
            "article:",
            "artical:",
            ("stages.rows", "occupation-gender"),
            "unknown key 'artical'; did you mean 'article'?",
        ),
        ("/tiny-a", "/tiny-z", ("stages.ask", "probes", "tiny-a"), "no such file or folder"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_half_written(
    built: Clone, old: str, new: str, stage: tuple[str, ...], message: str
) -> None:
    path = built.folder / "params.yaml"
    good, before = path.read_bytes(), built.contents("data/built", "data/answers", "benchmarks")
    path.write_bytes(good.replace(old.encode(), new.encode()))
    try:
        output = built.run("python", "-m", *stage, status=2)
    finally:
        path.write_bytes(good)
    (line,) = output.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert "params.yaml" in line
    assert built.contents("data/built", "data/answers", "benchmarks") == before


@pytest.mark.slow
def test_shipped_lock_matches_the_declaration() -> None:
    """Every stage of dvc.yaml, and no other, has its entry in the committed dvc.lock."""
    root = Path(__file__).parents[2]
    command = ["dvc", "stage", "list", "--name-only"]
    listed = subprocess.run(
        command,
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    locked = YAML(typ="safe").load((root / "dvc.lock").read_text())["stages"]
    assert set(listed.stdout.split()) == set(locked)

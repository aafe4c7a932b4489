"""`evenruler measure recorded:LOG`: a log that somebody has, by a short name of a benchmark or
without one."""

import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler import cli, repository
from tests.figures import find_figure
from tests.instruments.external import made
from tests.instruments.external.test_folder import log, published, rows_of, samples, written

EVAL = Path(__file__).parents[1] / "models/inspect_bbq.eval"
"""Three questions of `made.bbq`, as inspect_ai 0.3.285 logs them: the grandfather, the grandson,
and no option."""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made_benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of pairs and one of questions, as if they came with the package."""
    folder = tmp_path_factory.mktemp("shipped")
    written(folder, licence="cc-by-sa-4.0")
    published(folder, "external-asked", made.source(folder, "bbq", units="templates"))
    return folder


@pytest.fixture
def run_measure(
    made_benchmarks: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """What `evenruler measure ...` ends with, prints and says meanwhile."""
    monkeypatch.setattr(repository, "shipped_benchmarks", lambda: made_benchmarks)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(
            sys,
            "argv",
            ["evenruler", "measure", *words],
        )
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def refused(run_measure: Command, *words: str) -> str:
    """The one line of an error."""
    status, out, err = run_measure(*words)
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (status, len(lines)) == (2, 1), err
    assert not out
    return lines[0]


def result_of(benchmark: str) -> dict[str, Any]:
    (path,) = Path("results").rglob("result.json")
    record: dict[str, Any] = json.loads(path.read_text())
    assert record["benchmark"]["name"] == benchmark
    return record


@pytest.fixture
def likelihoods(made_benchmarks: Path, elsewhere: Path) -> list[dict[str, Any]]:
    """A log of the pairs in which the longer text is always the likelier one."""
    return samples(made_benchmarks / "external-made", lambda text: len(text) - 1000.0)


@pytest.mark.parametrize("words", [("--with", "made"), ()])
def test_the_benchmark_is_named_in_short_or_by_the_log(
    run_measure: Command,
    likelihoods: list[dict[str, Any]],
    made_benchmarks: Path,
    words: tuple[str, ...],
) -> None:
    status, out, err = run_measure(log(Path("log.jsonl"), likelihoods), *words)
    assert status == 0, err
    assert "external-made 0.1.0 (Made) on log-jsonl" in out
    assert ("its answers are to external-made" in err) == (not words)
    rows = rows_of(made_benchmarks / "external-made")
    lengths = rows.pivot(index="item", columns="role", values="text").map(len)
    longer = (lengths["first"] > lengths["second"]).mean()
    share = find_figure(
        result_of("external-made")["figures"],
        figure="share",
        bias_type=None,
    )
    assert share["value"] == pytest.approx(longer, abs=1e-3)


def test_half_a_log_one_text_changed_and_another_benchmark_are_refused(
    run_measure: Command, likelihoods: list[dict[str, Any]]
) -> None:
    half = log(Path("half.jsonl"), likelihoods[:20])
    assert "it lacks the answers to 56 of 96 texts" in refused(run_measure, half)
    text = json.dumps(likelihoods)
    changed = json.loads(text.replace("The old 0 are idle.", "The old 0 are idle!"))
    assert "it lacks the answers to 1 of 96 texts, as 'The old 0 are idle.'" in refused(
        run_measure, log(Path("changed.jsonl"), changed)
    )
    other = log(Path("other.jsonl"), json.loads(text.replace("The", "Those")))
    line = refused(run_measure, other)
    assert (
        "it answers no text of external-asked, external-made; say which benchmark as --with NAME"
        in line
    )
    assert "none of its answers" in refused(run_measure, other, "--with", "made")
    assert "none of its answers" in refused(run_measure, half, "--with", "asked")


def test_a_log_of_two_benchmarks_and_a_short_name_of_two(
    run_measure: Command, likelihoods: list[dict[str, Any]], made_benchmarks: Path
) -> None:
    shutil.copytree(made_benchmarks / "external-made", made_benchmarks / "probes-made")
    try:
        line = refused(run_measure, log(Path("log.jsonl"), likelihoods), "--with", "made")
        assert (
            "made: several benchmarks are called so; say one of external-made, probes-made" in line
        )
    finally:
        shutil.rmtree(made_benchmarks / "probes-made")
    shutil.copytree(made_benchmarks / "external-made", made_benchmarks / "external-copied")
    try:
        assert "it answers texts of external-copied and external-made; say which" in refused(
            run_measure, "recorded:log.jsonl"
        )
    finally:
        shutil.rmtree(made_benchmarks / "external-copied")


def test_a_model_needs_a_benchmark(run_measure: Command, tiny_folder: Path) -> None:
    named = "no benchmark is named; say which benchmark as --with NAME"
    assert named in refused(run_measure, f"local:{tiny_folder}")
    Path("own.gguf").write_bytes(b"no GGUF, which a conversion would say")
    assert f"own.gguf: {named}" in refused(run_measure, "own.gguf")
    line = refused(
        run_measure,
        f"local:{tiny_folder}",
        "--with",
        "made",
        "--unit",
        "writer",
    )
    assert "--unit: it applies to lm_eval:TASK only" in line


def test_a_log_of_inspect_ai_says_what_was_chosen(run_measure: Command) -> None:
    """In ambiguous contexts: the grandfather, biased, of which the template is; and once no option
    at all."""
    status, _, err = run_measure(f"recorded:{EVAL}")
    assert status == 0, err
    assert "its answers are to external-asked" in err
    (scores,) = Path("results").rglob("items.parquet")
    items = pd.read_parquet(scores).set_index("item")
    assert items["lean"].to_dict() == {"Age/1/0": 1.0, "Age/1/1": -1.0}
    assert items["right"].to_dict() == {"Age/1/0": False, "Age/1/1": True}


def test_a_damaged_log_and_one_of_a_run_that_did_not_end(run_measure: Command) -> None:
    whole = EVAL.read_bytes()
    Path("cut.eval").write_bytes(whole[:-200])
    Path("damaged.eval").write_bytes(whole.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\x00"))
    for name in ("cut", "damaged"):
        assert f"{name}.eval: not as such a file is written (" in refused(
            run_measure, f"recorded:{name}.eval"
        )
    with zipfile.ZipFile("none.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    assert "none.eval: its run did not end; take the log of a whole run" in refused(
        run_measure, "recorded:none.eval"
    )

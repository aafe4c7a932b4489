"""What a user of DVC types, without any command of ours: what runs, what is refused, what an
experiment is of."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stages.conftest import UP_TO_DATE, Clone, ran
from tests.stages.test_stale import changed

VERDICTS = "evenruler/measurement/verdicts.py"


def let_articles_agree(params: dict[str, Any]) -> None:
    params["instruments"]["occupation-gender"]["article"]["validation"] = "agree"


@pytest.fixture
def clone(built: Clone) -> Iterator[Clone]:
    """The built clone, which is afterwards as it was committed."""
    yield built
    built.run("git", "checkout", "--quiet", ".")
    built.run("dvc", "checkout", "--quiet", "--force")
    assert UP_TO_DATE in built.run("dvc", "status")


def test_a_comment_runs_the_first_stage_alone(clone: Clone) -> None:
    with changed(clone, VERDICTS, "", "# A comment."):
        assert ran(clone.run("dvc", "repro")) == ["declared"]


def test_another_rule_of_verdicts_is_out_of_date_wherever_it_counts(clone: Clone) -> None:
    rule, other_rule = "self.p <= ALPHA and self.leaves_out_zero", "self.leaves_out_zero"
    with changed(clone, VERDICTS, rule, other_rule):
        assert set(json.loads(clone.run("dvc", "status", "--json"))) == {"declared"}
        clone.run("dvc", "repro", "--quiet", "declared")
        status = json.loads(clone.run("dvc", "status", "--json"))
        assert len([name for name in status if name.startswith("diagnose@")]) == 4
        assert not [name for name in status if name.startswith(("rows", "scrape"))]


def test_an_experiment_is_of_what_it_says(clone: Clone) -> None:
    """Rows of another variant, under a name of its own; nothing else runs."""
    rows_of = "data/built/probes/occupation-gender"
    before = clone.contents(rows_of)
    setting = "instruments.occupation-gender.article.validation"
    output = clone.run(
        "dvc", "exp", "run", "--set-param", f"{setting}=agree", "rows@occupation-gender"
    )
    # DVC may have the digests of this edit already, and takes them back instead of running
    # `declared`.
    assert [stage for stage in ran(output) if stage != "declared"] == ["rows@occupation-gender"]
    assert clone.contents(rows_of) != before
    assert setting in clone.run("dvc", "params", "diff")


@pytest.mark.long
def test_a_temporary_experiment_asks_for_nothing_that_is_known(clone: Clone) -> None:
    """In a workspace of its own, with the answers of the repository around it; this one stays as it
    is."""
    env = clone.env
    clone.env = {key: value for key, value in env.items() if key != "EVENRULER_CACHE"}
    (clone.folder / ".cache").mkdir(exist_ok=True)
    for name in ("rows.sqlite", "models"):
        (clone.folder / ".cache" / name).symlink_to(Path(env["EVENRULER_CACHE"]) / name)
    try:
        setting = "diagnosis.seed=7"
        output = clone.run(
            "dvc", "exp", "run", "--temp", "--force", "--set-param", setting, "diagnose@framing"
        )
        assert "ask@framing-tiny-a" in ran(output)
        assert output.count("; 0 of them asked of models") == 2
        assert clone.run("git", "status", "--short") == ""
        shown = clone.run("dvc", "exp", "show", "--only-changed", "--csv")
        assert "diagnosis.seed" in shown.splitlines()[0]
    finally:
        clone.env = env


def test_an_instrument_more_asks_for_check(clone: Clone) -> None:
    clone.edit(
        "params.yaml",
        lambda params: params["instruments"].update({"gender": {"family": "framing"}}),
    )
    output = clone.run("dvc", "repro", status=255)
    assert "error: active.yaml: it does not fit params.yaml; run `evenruler check`" in output
    clone.run("evenruler", "check")
    assert "rows@gender" in clone.run("dvc", "stage", "list", "--name-only")


@pytest.mark.long
def test_two_edits_that_are_merged_are_both_in(clone: Clone) -> None:
    """A setting on one branch, code on another: git keeps one dvc.lock whole, and the next build
    settles it."""
    first = clone.run("git", "branch", "--show-current").strip()
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    try:
        clone.run("git", "checkout", "--quiet", "-b", "settings")
        clone.edit("params.yaml", let_articles_agree)
        clone.run("dvc", "repro", "--quiet", "rows")
        rows = clone.contents("data/built/probes")
        clone.commit("A setting of probes")

        clone.run("git", "checkout", "--quiet", first)
        clone.run("dvc", "checkout", "--quiet", "--force")
        assert clone.contents("data/built/probes") != rows
        clone.run("git", "checkout", "--quiet", "-b", "code")
        code = clone.folder / "evenruler/instruments/framing/rows/__init__.py"
        code.write_text(f"{code.read_text()}_ADDED = 1\n")
        clone.run("dvc", "repro", "--quiet", "rows")
        clone.commit("Code of framing")

        clone.run("git", *author, "merge", "--quiet", "--strategy-option", "ours", "settings")
        assert ran(clone.run("dvc", "repro", "rows")) == ["declared"]
        assert clone.contents("data/built/probes") == rows
        assert UP_TO_DATE in clone.run("dvc", "status", "rows")
    finally:
        clone.run("git", "checkout", "--quiet", "--force", first)

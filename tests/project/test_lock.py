"""A lock that a kill of DVC cut, at the end of every line and at many places between."""

import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.project import pipeline

MADE = {"card@age": "a"}
"""The outs of stages that have not two of them."""

STAGES = ("compile@age", "score@tiny", "diagnose", "report")


def entry(name: str, version: int, outs: str = "ab") -> str:
    md5 = f"{version:032x}"
    made = "".join(
        f"    - path: data/{name}/{out}\n      hash: md5\n      md5: {md5}.dir\n      size: 1234\n      nfiles: 12\n"
        for out in outs
    )
    return (
        f"  {name}:\n    cmd: python -m stages.{name}\n    deps:\n"
        f"    - path: data/sources/{name}.yaml\n      hash: md5\n      md5: {md5}\n      size: 4321\n"
        f"    params:\n      params.yaml:\n        active.scale: quick\n        models.tiny:\n          kind: causal\n"
        f"    outs:\n{made}"
    )


def text_of(**versions: int) -> str:
    return pipeline.HEADER + "".join(entry(name, version, MADE.get(name, "ab")) for name, version in versions.items())


OLD = text_of(**dict.fromkeys(STAGES, 1))
NEW = text_of(**{**dict.fromkeys(STAGES, 1), "score@tiny": 2})
"""As DVC writes it once one stage has run."""
NEWER = text_of(**{**dict.fromkeys(STAGES, 1), "score@tiny": 2, "diagnose": 2, "card@age": 2})
"""Two ran, and one for the first time, after the copy was made."""


@pytest.fixture(autouse=True)
def _nobody_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "STILL", 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a copy of the old lock, and everything in place that it says was made."""
    for name in STAGES:
        for out in ("a", "b"):
            (tmp_path / f"data/{name}/{out}").mkdir(parents=True)
    (tmp_path / pipeline.LOCK).write_text(OLD)
    pipeline.keep_lock(tmp_path)
    return tmp_path


def entries(text: str) -> dict[str, dict]:
    return YAML(typ="safe").load(text)["stages"]


@pytest.mark.parametrize("new", [NEW, NEWER], ids=["one ran", "three ran"])
def test_cut_anywhere_it_is_the_new_one_or_the_old_one(root: Path, new: str) -> None:
    """Nothing is lost but what ran since the copy, which DVC's cache of runs has; one that is only shorter is whole."""
    ends = [place + more for place, letter in enumerate(new) if letter == "\n" for more in (0, 1)]
    for length in sorted({*range(0, len(new), 97), *range(0, 40, 3), *ends[::3]} - {len(new)}):
        (root / pipeline.LOCK).write_text(new[:length])
        found = pipeline.examine_lock(root)
        assert found is not None
        if found.wrong:
            assert found.text == OLD, length
        else:
            assert found.text == new[:length], length
            assert entries(found.text).items() <= entries(new).items(), length
            assert set(entries(found.text)) >= set(STAGES), length


def test_put_back_it_is_whole_and_the_copy_is_the_same(root: Path) -> None:
    (root / pipeline.LOCK).write_text("")
    found = pipeline.examine_lock(root)
    assert found is not None
    assert found.wrong == "empty; restored from .cache/dvc.lock"
    pipeline.write_lock(root, found)
    assert (root / pipeline.LOCK).read_text() == (root / pipeline.KEPT).read_text() == OLD
    assert pipeline.examine_lock(root) == pipeline.Lock(OLD)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "empty"),
        ("sch", "truncated"),
        ("schema: '2.0'\n", "truncated before its first stage"),
        (OLD[:-7], "truncated within a line"),
        (pipeline.HEADER, "truncated before its first stage"),
        (pipeline.HEADER + entry("compile@age", 1), "truncated: 3 of 4 stages are missing"),
        (
            pipeline.HEADER + "".join(entry(name, 1) for name in STAGES[:-1]) + entry("report", 2, "a"),
            "truncated within the",
        ),
        (pipeline.HEADER + "  compile@age:\n    cmd: x\n", "truncated within the entry of compile@age"),
        ("\0\0\0\0\n", "not in the format of DVC"),
        (pipeline.HEADER + '  a: "\n', "not in the format of DVC"),
        ("schema: '2.0'\nstages: {}\n\n", "not in the format of DVC"),
    ],
)
def test_a_copy_is_not_made_of_what_was_cut(root: Path, text: str, wrong: str) -> None:
    (root / pipeline.LOCK).write_text(text)
    pipeline.keep_lock(root)
    assert (root / pipeline.KEPT).read_text() == OLD
    found = pipeline.examine_lock(root)
    assert found is not None
    assert (found.wrong or "").startswith(wrong)


def test_fewer_stages_are_no_cut_where_nothing_of_them_is_in_place_or_dvc_ended_of_itself(root: Path) -> None:
    fewer = text_of(**dict.fromkeys(STAGES[:3], 1))
    (root / pipeline.LOCK).write_text(fewer)
    pipeline.keep_lock(root, sure=True)
    assert pipeline.examine_lock(root) == pipeline.Lock(fewer)
    (root / pipeline.KEPT).write_text(OLD)
    assert pipeline.examine_lock(root) == pipeline.Lock(
        OLD, "truncated: 1 of 4 stages are missing; restored from .cache/dvc.lock"
    )
    for out in ("a", "b"):
        (root / "data/report" / out).rmdir()
    assert pipeline.examine_lock(root) == pipeline.Lock(fewer)


def test_a_stage_taken_from_the_middle_is_no_cut(root: Path) -> None:
    text = text_of(**dict.fromkeys([STAGES[0], *STAGES[2:]], 1))
    (root / pipeline.LOCK).write_text(text)
    assert pipeline.examine_lock(root) == pipeline.Lock(text)


def git(root: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("text", ["", OLD[:300], pipeline.HEADER + entry("compile@age", 1)])
def test_without_a_copy_it_is_put_back_from_git(root: Path, text: str) -> None:
    git(root, "init", "-q")
    git(root, "add", pipeline.LOCK)
    git(root, "commit", "-qm", "built")
    (root / pipeline.KEPT).unlink()
    (root / pipeline.LOCK).write_text(text)
    found = pipeline.examine_lock(root)
    assert found is not None
    assert found.text == OLD
    assert found.wrong.endswith("; restored from git")


@pytest.mark.parametrize("text", ["", NEW[: NEW.index("  diagnose:") + 20], NEW[:300]])
def test_cut_in_a_first_build_all_is_looked_up_in_the_cache_of_runs(root: Path, text: str) -> None:
    (root / pipeline.KEPT).unlink()
    (root / pipeline.LOCK).write_text(text)
    found = pipeline.examine_lock(root)
    assert found is not None
    assert found.wrong.endswith("; missing stages are built again")
    assert found.text == pipeline.EMPTY


def test_what_dvc_never_wrote_is_not_thrown_away(root: Path) -> None:
    (root / pipeline.KEPT).unlink()
    (root / pipeline.LOCK).write_text("mine: 1\n")
    with pytest.raises(UserError, match=r"dvc\.lock: not in the format of DVC; delete it"):
        pipeline.examine_lock(root)


def test_what_git_has_is_whole_whatever_was_kept(root: Path) -> None:
    """As after `git checkout` of a commit with fewer stages."""
    fewer = text_of(**dict.fromkeys(STAGES[:3], 1))
    (root / pipeline.LOCK).write_text(fewer)
    git(root, "init", "-q")
    git(root, "add", pipeline.LOCK)
    git(root, "commit", "-qm", "before")
    assert pipeline.examine_lock(root) == pipeline.Lock(fewer)


def test_what_dvc_is_writing_is_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when two builds run at once."""
    (root / pipeline.LOCK).write_text(NEW[: len(NEW) // 2])
    monkeypatch.setattr(pipeline.time, "sleep", lambda _: (root / pipeline.LOCK).write_text(NEW))
    assert pipeline.examine_lock(root) == pipeline.Lock(NEW)


def test_marks_of_a_merge_are_one_line(root: Path) -> None:
    (root / pipeline.LOCK).write_text(
        f"{pipeline.HEADER}<<<<<<< HEAD\n{entry('a', 1)}=======\n{entry('a', 2)}>>>>>>> other\n"
    )
    with pytest.raises(UserError, match="an unresolved merge conflict") as raised:
        pipeline.examine_lock(root)
    assert "\n" not in str(raised.value)


def test_no_lock_no_copy(root: Path) -> None:
    (root / pipeline.LOCK).unlink()
    assert pipeline.examine_lock(root) is None
    pipeline.keep_lock(root)
    assert not (root / pipeline.KEPT).exists()


@pytest.mark.parametrize("cut", ["", '{"write": {"/data/x": {"pi'])
def test_the_list_of_what_runs_is_removed_where_it_was_cut(root: Path, cut: str) -> None:
    running = root / pipeline.RUNNING
    running.parent.mkdir(parents=True)
    assert pipeline.unblock(root) is None

    running.write_text('{"write": {}, "read": {}}')
    assert pipeline.unblock(root) is None
    assert running.exists()

    running.write_text(cut)
    assert pipeline.unblock(root) == "removed .dvc/tmp/rwlock, truncated when DVC was killed"
    assert not running.exists()


def test_the_list_that_dvc_is_writing_is_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = root / pipeline.RUNNING
    running.parent.mkdir(parents=True)
    running.write_text("")
    monkeypatch.setattr(pipeline.time, "sleep", lambda seconds: running.write_text("{}"))

    assert pipeline.unblock(root) is None
    assert running.read_text() == "{}"


def test_without_some_stages_the_rest_is_byte_for_byte() -> None:
    assert pipeline.Lock(OLD).without(["diagnose"]).text == text_of(**dict.fromkeys([*STAGES[:2], STAGES[3]], 1))
    assert pipeline.Lock(OLD).without(STAGES).text == "schema: '2.0'\nstages: {}\n"


def test_outs_of_the_lock_and_of_the_copy_are_known(root: Path) -> None:
    (root / pipeline.LOCK).write_text(text_of(other=1))
    assert pipeline.known_outs(root) == {f"data/{name}/{out}" for name in ("other", *STAGES) for out in ("a", "b")}


def test_the_lock_of_the_repository_is_read_as_dvc_writes_it() -> None:
    path = Path(__file__).parents[2] / pipeline.LOCK
    found = pipeline.Lock(path.read_text())
    assert found.without([]).text == found.text
    stages = YAML(typ="safe").load(found.text)["stages"]
    assert found.stages == list(stages)
    assert {out["path"] for one in stages.values() for out in one["outs"]} <= pipeline.known_outs(path.parent)

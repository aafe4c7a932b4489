"""DVC's lock and list of running stages, and the real DVC with pipelines of a few lines."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from evenruler.declaration.params_file import Active, ActiveFamily, InstrumentEntry
from evenruler.errors import UserError
from evenruler.project import dvc

HEADER = "schema: '2.0'\nstages:\n"
MD5 = "9e107d9d372bb6826bd81d3542a419d6"


def entry(stage: str, *outs: str) -> str:
    """A stage in dvc.lock, as DVC writes it."""
    outputs_text = "".join(
        f"    - path: {out}\n      hash: md5\n      md5: {MD5}.dir\n      size: 1234\n      "
        "nfiles: 12\n"
        for out in outs
    )
    return (
        f"  {stage}:\n    cmd: python -m stages.{stage.partition('@')[0]}\n    deps:\n"
        f"    - path: params.yaml\n      hash: md5\n      md5: {MD5}\n      size: 4321\n"
        f"    params:\n      data/declared.json:\n        settings.most: 3\n        tools: {{}}\n  "
        f"  outs:\n{outputs_text}"
    )


ROWS = entry("rows@jobs", "data/rows")
CARD = entry("card@jobs", "data/card", "data/plots")
REPORT = entry("report", "r")
WHOLE = HEADER + ROWS + CARD + REPORT


def outputs(*paths: str) -> list[dict[str, object]]:
    return [
        {"path": path, "hash": "md5", "md5": f"{MD5}.dir", "size": 1234, "nfiles": 12}
        for path in paths
    ]


ALL = {
    "rows@jobs": outputs("data/rows"),
    "card@jobs": outputs("data/card", "data/plots"),
    "report": outputs("r"),
}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def has_only_whole(outs_by_stage: Mapping[str, list[dict[str, str]]]) -> bool:
    """Whether all outputs are ones of the whole lock."""
    for stage, outs in outs_by_stage.items():
        whole = [(out["path"], out["md5"]) for out in ALL.get(stage, [])]
        if any((out["path"], out["md5"]) not in whole for out in outs):
            return False
    return True


class TestReadLock:
    def test_a_whole_one(self, tmp_path: Path) -> None:
        write(tmp_path / dvc.LOCK, WHOLE)
        assert dvc.read_lock(tmp_path) == ALL

    def test_without_a_file_there_are_no_stages(self, tmp_path: Path) -> None:
        assert dvc.read_lock(tmp_path) == {}

    @pytest.mark.parametrize(
        "text",
        [
            "",
            f"{HEADER}<<<<<<< HEAD\n{ROWS}=======\n{CARD}>>>>>>> other\n",
            f"{HEADER}- a\n",
        ],
        ids=["empty", "marks-of-a-merge", "a-list-of-stages"],
    )
    def test_one_that_dvc_cannot_read_is_refused(self, tmp_path: Path, text: str) -> None:
        write(tmp_path / dvc.LOCK, text)
        with pytest.raises(UserError) as raised:
            dvc.read_lock(tmp_path)
        assert str(raised.value) == "dvc.lock: DVC cannot read it; `git checkout dvc.lock`"

    def test_cut_anywhere_it_is_refused_or_has_whole_outputs(self, tmp_path: Path) -> None:
        wrong = []
        for length in range(0, len(WHOLE), 5):
            cut = WHOLE[:length]
            write(tmp_path / dvc.LOCK, cut)
            try:
                if not has_only_whole(dvc.read_lock(tmp_path)):
                    wrong.append(cut[-20:])
            except UserError:
                continue
            except Exception as error:
                wrong.append(f"{error!r} at {cut[-20:]!r}")
        assert wrong == []


class TestForgetStages:
    PIPELINE = """\
vars: [active.yaml]
stages:
  rows:
    foreach: ${active.instruments}
    do: {cmd: x}
  card:
    foreach: ${active.card}
    do: {cmd: x}
  listed:
    foreach: [one, two]
    do: {cmd: x}
  report: {cmd: x}
"""
    JOBS = InstrumentEntry(family="probes", source="a.yaml")
    ACTIVE = Active(
        profile="quick",
        families={"probes": ActiveFamily(instruments=["jobs"], models=["m"])},
        instruments={"jobs": JOBS},
        card={"jobs": JOBS},
    )

    def forget(self, root: Path, *entries: str) -> list[str]:
        """What is removed from a lock with these entries."""
        write(root / "dvc.yaml", self.PIPELINE)
        write(root / dvc.LOCK, HEADER + "".join(entries))
        return dvc.forget_stages(root, self.ACTIVE)

    def test_those_in_use_stay(self, tmp_path: Path) -> None:
        listed = entry("listed@one", "one")
        before = HEADER + ROWS + CARD + listed + REPORT
        assert self.forget(tmp_path, ROWS, CARD, listed, REPORT) == []
        assert (tmp_path / dvc.LOCK).read_text() == before

    def test_one_whose_key_is_gone_is_removed_and_others_stay_byte_for_byte(
        self, tmp_path: Path
    ) -> None:
        gone = entry("rows@old", "data/old")
        assert self.forget(tmp_path, ROWS, gone, CARD, REPORT) == ["rows@old"]
        assert (tmp_path / dvc.LOCK).read_text() == WHOLE

    def test_where_all_are_gone_dvc_reads_what_is_left(self, tmp_path: Path) -> None:
        assert self.forget(tmp_path, entry("score@jobs", "data/scores")) == ["score@jobs"]
        assert dvc.read_lock(tmp_path) == {}


class TestRunningList:
    def test_a_whole_one_stays(self, tmp_path: Path) -> None:
        write(tmp_path / dvc.RUNNING, '{"write": {}, "read": {}}')
        assert dvc.repair_running_list(tmp_path) == []
        assert (tmp_path / dvc.RUNNING).exists()

    def test_a_cut_one_is_removed(self, tmp_path: Path) -> None:
        write(tmp_path / dvc.RUNNING, '{"write": {"/data/x": {"pi')
        assert dvc.repair_running_list(tmp_path) == [
            "removed .dvc/tmp/rwlock, cut off when DVC was killed"
        ]
        assert not (tmp_path / dvc.RUNNING).exists()


STAGE = """\
import os, sys, time
from pathlib import Path

name = sys.argv[1]
Path(f"begun-{name}").touch()
Path(f"running-{name}").touch()
deadline = time.monotonic() + 60
while len(list(Path().glob("begun-*"))) < 2:
    assert time.monotonic() < deadline, "it runs alone"
    time.sleep(0.02)
at_once = len(list(Path().glob("running-*")))
Path(f"seen-{name}").write_text(f"{os.environ['SLOT']} {at_once}")
time.sleep(0.2)
Path(f"running-{name}").unlink()
Path(name).touch()
sys.exit(name == "c")
"""
"""Waits until another one has begun; the third fails."""


PIPELINE = """\
stages:
  first: {cmd: python first.py, deps: [first.py], outs: [made]}
  second: {cmd: python second.py, deps: [made, second.py], outs: [copied]}
  rows:
    foreach: [a, b, c]
    do: {cmd: "python rows.py ${item}", outs: ["${item}"]}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of DVC without git; two stages, one after the other, and three beside them."""
    write(tmp_path / ".dvc/config", "[core]\n    no_scm = true\n    analytics = false\n")
    write(tmp_path / "dvc.yaml", PIPELINE)
    write(tmp_path / "first.py", "open('made', 'w').write('1')\n")
    write(tmp_path / "second.py", "import shutil\nshutil.copy('made', 'copied')\n")
    write(tmp_path / "rows.py", STAGE)
    return tmp_path


def test_stages_run_one_a_slot_at_once_and_those_that_fail_are_returned(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dvc, "STAGGER", 0.2)
    stages, slots = ["rows@a", "rows@b", "rows@c"], [{"SLOT": "left"}, {"SLOT": "right"}]
    assert dvc.run_stages(root, [[stage] for stage in stages], slots) == [["rows@c"]]
    seen = {name: (root / f"seen-{name}").read_text().split() for name in "abc"}
    assert {seen["a"][0], seen["b"][0]} == {"left", "right"}
    assert seen["c"][0] in ("left", "right")
    assert max(int(at_once) for _, at_once in seen.values()) == 2
    assert set(dvc.read_lock(root)) == {"rows@a", "rows@b"}


def test_outdated_stages(root: Path) -> None:
    """Those whose own inputs or outputs have changed, without those behind them."""
    assert dvc.outdated_stages(root) == ["first", "second", "rows@a", "rows@b", "rows@c"]
    assert dvc.run_dvc(root, "repro", "--quiet", "second") == 0
    assert dvc.outdated_stages(root) == ["rows@a", "rows@b", "rows@c"]
    with (root / "first.py").open("a") as file:
        file.write("# changed\n")
    assert dvc.outdated_stages(root) == ["first", "rows@a", "rows@b", "rows@c"]


def test_of_a_broken_pipeline_no_stages_are_told(root: Path) -> None:
    write(root / "dvc.yaml", "stages: {a: 1}\n")
    with pytest.raises(UserError) as raised:
        dvc.outdated_stages(root)
    message = str(raised.value)
    assert message.startswith("dvc.yaml: `dvc status` failed ('./dvc.yaml' validation failed. ")
    assert message.endswith("; fix it, or `git checkout dvc.lock`")
    assert "\n" not in message

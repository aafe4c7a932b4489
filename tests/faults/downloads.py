"""Benchmark folders as somebody who means harm would make them."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.publish.manifest import identity_of
from studies.faults.hostile_values import BOMB
from tests.faults.cases import Case, Outcome, Seen, doing, evenruler, refusals, write_terabyte
from tests.folders import declare
from tests.tables.test_contents import repeated

ORIGINAL = Path(__file__).parents[2] / "benchmarks/probes-age-competence"
ROWS = "attributes/test-00000-of-00001.parquet"
Change = Callable[[Path], object]


def _damaged(change: Change, *words: str) -> Callable[[Path], Seen]:
    """A copy of a published benchmark, changed, and a command on it (`it`) beside the original
    (`original`)."""

    def act(folder: Path) -> Seen:
        shutil.copytree(ORIGINAL, folder / "it")
        (folder / "original").symlink_to(ORIGINAL)
        change(folder / "it")
        return evenruler(*words, folder=folder)

    return act


def _manifest(**changes: Any) -> Change:
    return lambda folder: declare(folder, **changes)


def _signed(name: str, write: Change) -> Change:
    """Change a file, and its sha256 in the manifest."""

    def change(folder: Path) -> None:
        write(folder / name)
        declare(folder, name)

    return change


def _files_of(folder: Path) -> dict[str, str]:
    return dict(json.loads((folder / "manifest.json").read_text())["files"])


def _also_named(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder.parent / "secret.txt").write_text("secret")
        declare(folder, files=_files_of(folder) | {name: hashlib.sha256(b"secret").hexdigest()})

    return change


def _text(text: str) -> Change:
    return lambda path: path.write_text(text)


def _front(text: str) -> Change:
    """Words put before the front matter of the card."""

    def change(path: Path) -> None:
        path.write_text(path.read_text().replace("---\n", f"---\n{text}", 1))

    return _signed("README.md", change)


def _pattern(pattern: str) -> Change:
    old = "path: attributes/test-*.parquet"

    def change(path: Path) -> None:
        path.write_text(path.read_text().replace(old, f"path: {pattern}"))

    return _signed("README.md", change)


def _named(name: bytes) -> Change:
    return lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).touch()


def _sparse(name: str) -> Change:
    return lambda folder: write_terabyte(folder / name)


def _linked(name: str, to: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(to)

    return change


def _linked_elsewhere(name: str) -> Change:
    """A link to a folder elsewhere, which the manifest does not name."""
    return lambda folder: (folder / name).symlink_to(ORIGINAL.parent)


def _also(*twins: str) -> Change:
    """More names in the manifest, which some file systems take for one."""

    def change(folder: Path) -> None:
        files = _files_of(folder)
        declare(folder, files=files | dict.fromkeys(twins, files["plan.json"]))

    return change


def _rows(table: pa.Table) -> Change:
    return _signed(ROWS, lambda path: pq.write_table(table, path))


def _bomb(path: Path) -> None:
    """Fifty kilobytes that stand for ten gigabytes: one long text, in a dictionary, many times."""
    text = repeated("x" * 1_000_000, 10_000)
    table = pa.table({"id": text, "content_sha256": ["a"] * 10_000})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 100_000


PLACE = "expected the path of a file in the benchmark's folder"
WRONG = ("verify", "it")

REFUSED: dict[str, tuple[Change, str]] = {
    "a name above the folder": (_also_named("../secret.txt"), PLACE),
    "a name with NUL": (_also_named("a\0b"), PLACE),
    "a name of 300 letters": (_also_named("a" * 300), PLACE),
    "rows that are not named among the files": (_manifest(files={}), "`files` lacks"),
    "a benchmark called ../x": (_manifest(name="../x"), "expected a slug"),
    "a config called ../x": (_manifest(rows={"../x": 1}, columns={"../x": {}}), "expected a slug"),
    "a version of 5,000 digits": (_manifest(version=f"{'9' * 5000}.0.0"), "expected MAJOR.MINOR"),
    "half a letter": (
        lambda folder: (folder / "manifest.json").write_text('{"name": "\\ud800"}'),
        "not JSON",
    ),
    "a manifest of a terabyte": (_sparse("manifest.json"), "more than the"),
    "two names that differ in capitals": (_also("Plan.JSON"), "ignore case: plan.json"),
    "two names that fold alike": (_also("stra\u00dfe", "STRASSE"), "ignore case: strasse"),
}

SAID: list[tuple[str, Change]] = [
    ("a day that no month has", _front("a: 2025-13-45\n")),
    ("front matter 300 levels deep", _front("a: " + "[" * 300 + "]" * 300 + "\n")),
    ("aliases that stand for a billion words", _front(BOMB)),
    ("a tag of Python", _front("a: !!python/object/apply:os.system [true]\n")),
    ("half a letter in the front matter", _pattern('"\\uD800"')),
    ("the pattern .", _pattern(".")),
    ("a pattern of all files above", _pattern("../../**/*")),
    ("a file name that is not UTF-8", _named(b"caf\xe9")),
    ("a file name that steers the terminal", _named(b"\x1b[2J")),
    ("a link to a file elsewhere", _linked("evidence.json", "/etc/passwd")),
    ("a link to itself", _linked("evidence.json", "evidence.json")),
    ("a link to what is endless", _linked("plan.json", "/dev/zero")),
    ("a link to a folder", _linked_elsewhere("more")),
    ("a file of a terabyte", _sparse("notes.bin")),
    ("rows of a terabyte", _sparse(ROWS)),
    ("rows that unpack to gigabytes", _signed(ROWS, _bomb)),
    ("ids that are lists", _rows(pa.table({"id": [["a"]], "content_sha256": ["b"]}))),
    ("a column twice", _rows(pa.table([["a"], ["b"]], names=["id", "id"]))),
]


def _verified(change: Change) -> Callable[[Path], Seen]:
    """`verify` says what is wrong, and ends with status 1, as it does for every folder that is not
    as it should be."""

    def act(folder: Path) -> Seen:
        seen = _damaged(change, *WRONG)(folder)
        assert seen.status == 1, seen
        return Seen(0, seen.errors)

    return act


def _measured(folder: Path) -> Seen:
    """The folder is read, and what its model would be asked is counted, as `measure` does before it
    loads anything; prefixes of its plan are a number."""
    from studies.faults.downloads import plan_measurement

    benchmark = Path(shutil.copytree(ORIGINAL, folder / "it"))
    path = benchmark / "plan.json"
    plan = json.loads(path.read_text()) | {"prefixes": 3, "prefixed": 9}
    path.write_text(json.dumps(plan))
    rows = json.loads((benchmark / "manifest.json").read_text())["rows"]
    declare(benchmark, "plan.json", content_sha256=identity_of(benchmark, rows))
    return doing(lambda: plan_measurement(benchmark))


def _compared(folder: Path) -> Seen:
    """With evidence of a number that no float holds."""
    content = {"schema": 1, "figures": [{"figure": "r", "model": "m", "value": 10**400}]}
    change = _signed("evidence.json", lambda path: path.write_text(json.dumps(content)))
    return _damaged(change, "diff", "original", "it")(folder)


AS_KNOWN = "do not fit the family probes of this evenruler"

CASES = [
    *refusals(
        "verify a download",
        {fault: (_damaged(change, *WRONG), says) for fault, (change, says) in REFUSED.items()},
    ),
    *(
        Case(fault, "verify a download", Outcome.UNHARMED, _verified(change))
        for fault, change in SAID
    ),
    *refusals("diff a download", {"a number that no float holds": (_compared, "expected a num")}),
    *refusals("measure with a download", {"prefixes that are a number": (_measured, AS_KNOWN)}),
]
"""Of those that `verify` is to say, the outcome is that it finishes and names them (status 1). What
lacks in a plan, or is not that of the manifest, is in `measuring` and in tests/evaluate."""

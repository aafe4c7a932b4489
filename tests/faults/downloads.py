"""Benchmark folders as somebody who means harm would make them."""

import functools
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.publish.manifest import identity_of
from tests.faults.cases import Case, Outcome, Seen, evenruler

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
    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def _signed(name: str, write: Change) -> Change:
    """Change a file, and its sha256 in the manifest; of a plan the identity of the version as
    well."""

    def change(folder: Path) -> None:
        write(folder / name)
        was = json.loads((folder / "manifest.json").read_text())
        sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest()}
        changes = {"files": was["files"] | sums}
        if name == "plan.json":
            changes["content_sha256"] = identity_of(folder, was["rows"])
        _manifest(**changes)(folder)

    return change


def _also_named(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder.parent / "secret.txt").write_text("secret")
        files = json.loads((folder / "manifest.json").read_text())["files"]
        _manifest(files=files | {name: hashlib.sha256(b"secret").hexdigest()})(folder)

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
    def change(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(2**40)

    return change


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
        files = json.loads((folder / "manifest.json").read_text())["files"]
        _manifest(files=files | dict.fromkeys(twins, files["plan.json"]))(folder)

    return change


def _figures(**row: Any) -> Change:
    """Evidence of one figure."""
    content = {"schema": 1, "figures": [{"figure": "r", "model": "m", **row}]}
    return lambda folder: (folder / "evidence.json").write_text(json.dumps(content))


def _rows(table: pa.Table) -> Change:
    return _signed(ROWS, lambda path: pq.write_table(table, path))


def _bomb(path: Path) -> None:
    """Fifty kilobytes that stand for ten gigabytes: one long text, in a dictionary, many times."""
    indices = pa.array([0] * 10_000, pa.int32())
    text = pa.DictionaryArray.from_arrays(indices, ["x" * 1_000_000])
    table = pa.table({"id": text, "content_sha256": ["a"] * 10_000})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 100_000


ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n"
for _old, _new in pairwise("abcdefghij"):
    ALIASES += f"{_new}: &{_new} [{', '.join([f'*{_old}'] * 9)}]\n"
PLACE = "expected the path of a file in the benchmark's folder"
WRONG = ("verify", "it")

REFUSED: list[tuple[str, Change, tuple[str, ...]]] = [
    ("a name above the folder", _also_named("../secret.txt"), (PLACE,)),
    ("a name with NUL", _also_named("a\0b"), (PLACE,)),
    ("a name of 300 letters", _also_named("a" * 300), (PLACE,)),
    ("no columns", _manifest(columns={}), ("`rows` and `columns`",)),
    ("rows that are not named among the files", _manifest(files={}), ("`files` lacks",)),
    ("a benchmark called ../x", _manifest(name="../x"), ("expected a slug",)),
    (
        "a config called ../x",
        _manifest(rows={"../x": 1}, columns={"../x": {}}),
        ("expected a slug",),
    ),
    (
        "a version of 5,000 digits",
        _manifest(version=f"{'9' * 5000}.0.0"),
        ("expected MAJOR.MINOR.PATCH",),
    ),
    (
        "half a letter",
        lambda folder: _text('{"name": "\\ud800"}')(folder / "manifest.json"),
        ("not JSON",),
    ),
    ("a manifest of a terabyte", _sparse("manifest.json"), ("more than the",)),
    ("two names that differ in capitals", _also("Plan.JSON"), ("ignore case: plan.json",)),
    ("two names that fold alike", _also("stra\u00dfe", "STRASSE"), ("ignore case: strasse",)),
]

SAID: list[tuple[str, Change]] = [
    ("a day that no month has", _front("a: 2025-13-45\n")),
    ("front matter 300 levels deep", _front("a: " + "[" * 300 + "]" * 300 + "\n")),
    ("aliases that stand for a billion words", _front(ALIASES)),
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


def _measured(change: Change) -> Callable[[Path], Seen]:
    """The folder is read, and what its model would be asked is counted, as `measure` does before it
    loads anything."""

    def act(folder: Path) -> Seen:
        from studies.faults.downloads import plan_measurement
        from tests.faults.cases import doing

        shutil.copytree(ORIGINAL, folder / "it")
        change(folder / "it")
        return doing(lambda: plan_measurement(folder / "it"))

    return act


def _plan(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


AS_KNOWN = "are not as this evenruler knows the family probes"
PLANS: list[tuple[str, Change, str]] = [
    ("an identity of another kind", _manifest(content_sha256="0" * 64), "of another kind, which"),
    (
        "prefixes that are a number",
        _signed("plan.json", functools.partial(_plan, prefixes=3, prefixed=9)),
        AS_KNOWN,
    ),
]
"""What lacks in a plan, or is not that of the manifest, is in `measuring`."""

FIGURES: list[tuple[str, Change, str]] = [
    ("a number that no float holds", _figures(value=10**400), "expected a number"),
    ("no value and no reason", _figures(value=None, n=1), "neither a value nor a reason"),
    ("half an interval", _figures(value=1.0, n=1, low=0.5), "has one end"),
    ("figures that are words", _figures(value=None, n="x"), "expected a number"),
]

CASES = [
    *(
        Case(fault, "verify a download", Outcome.REFUSED, _damaged(change, *WRONG), says)
        for fault, change, says in REFUSED
    ),
    *(
        Case(fault, "verify a download", Outcome.UNHARMED, _verified(change))
        for fault, change in SAID
    ),
    *(
        Case(
            fault,
            "diff a download",
            Outcome.REFUSED,
            _damaged(change, "diff", "original", "it"),
            (says,),
        )
        for fault, change, says in FIGURES
    ),
    *(
        Case(fault, "measure with a download", Outcome.REFUSED, _measured(change), (says,))
        for fault, change, says in PLANS
    ),
]
"""Of those that `verify` is to say, the outcome is that it finishes and names them (status 1)."""

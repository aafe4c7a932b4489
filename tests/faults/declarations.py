"""A declaration that cannot be read, or says what cannot be: `params.yaml`, sources, `dvc.yaml` and
`dvc.lock`.

Each is refused in a line that names the file, and nothing is written or removed then, though there
is something to do.
"""

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from evenruler.instruments.registry import FAMILIES
from evenruler.project import dvc
from studies.faults.hostile_values import BOMB
from tests.faults.cases import Case, Outcome, Seen, evenruler, refusals

PARAMS = """\
models:
  tiny: {kind: causal, source: "local:weights/tiny", licence: mit, origin: of our own}

instruments:
  hair: {family: framing}

families:
  framing: {choices: every}
"""

PIPELINE = """\
vars: [active.yaml]
stages:
  rows:
    foreach: ${active.instruments}
    do:
      cmd: mkdir -p data/built/${item.family}/${key}
      outs: ["data/built/${item.family}/${key}"]
"""

UNDECLARED = "data/built/framing/gone"
"""What was made of an instrument that is declared no more, and `check` removes."""

SOURCE = "data/sources/framing/hair.yaml"


def project(root: Path, params: str = PARAMS) -> None:
    """A repository whose `active.yaml` is not written yet, and in which something is to be
    removed."""
    (root / "params.yaml").write_text(params)
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "weights/tiny").mkdir(parents=True)
    starter = files(FAMILIES["framing"]).joinpath("starter/NAME.yaml").read_text(encoding="utf-8")
    (root / SOURCE).parent.mkdir(parents=True)
    (root / SOURCE).write_text(starter.replace("NAME", "hair"))
    (root / UNDECLARED).mkdir(parents=True)
    (root / UNDECLARED / "rows.parquet").write_text("made")
    (root / dvc.LOCK).write_text(locked(UNDECLARED))


def locked(*outs: str) -> str:
    """A dvc.lock with an entry for each of some outs, of a stage `rows@NAME`."""
    entries = (
        f"  rows@{Path(out).name}:\n    cmd: mkdir -p {out}\n    outs:\n"
        f"    - path: {out}\n      hash: md5\n      md5: {1:032x}.dir\n      size: 4\n      "
        "nfiles: 1\n"
        for out in outs
    )
    return "schema: '2.0'\nstages:\n" + "".join(entries)


def contents(root: Path) -> dict[str, bytes]:
    """Every file, but for the lock by which one `check` waits for another."""
    paths = (path for path in root.rglob("*") if path.is_file() and path.name != "check.lock")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


Edit = Callable[[Path], object]


def _refused(file: str, edit: Edit) -> Callable[[Path], Seen]:
    def act(root: Path) -> Seen:
        project(root)
        edit(root / file)
        before = contents(root)
        seen = evenruler("check", folder=root)
        assert contents(root) == before, "something was written or removed"
        return seen

    return act


def _text(text: str) -> Edit:
    return lambda path: path.write_text(text)


def _with(text: str) -> Edit:
    return lambda path: path.write_text(f"{path.read_text()}{text}")


def _encoded(encoding: str) -> Edit:
    return lambda path: path.write_bytes(f"{path.read_text()}# é\n".encode(encoding))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _renamed(name: str) -> Edit:
    return lambda path: path.write_text(path.read_text().replace("  hair:", f"  {name}:"))


MERGES = "a0: &a0 {x: 1}\n"
for _number in range(1, 12):
    _aliases = ", ".join([f"*a{_number - 1}"] * 9)
    MERGES += f"a{_number}: &a{_number} {{<<: [{_aliases}]}}\n"
MARKS = "<<<<<<< HEAD\ndiagnosis: {seed: 1}\n=======\ndiagnosis: {seed: 2}\n>>>>>>> theirs\n"

TOO_MANY = "its aliases come to more than 1,000,000 values"
Faults = dict[str, tuple[Edit, str]]
"""By fault the edit and what is said of it."""

OF_BOTH: Faults = {
    "aliases that come to 9^12 values": (_text(BOMB), TOO_MANY),
    "an alias that holds itself": (_with("x: &x {y: [*x]}\n"), "levels deep, or holds itself"),
    "marks of a merge": (_with(MARKS), "line "),
    "a list in place of keys": (_text("- a\n"), "expected keys"),
    "empty": (_text(""), "expected keys"),
}
"""What is tried in sources and in params.yaml as well."""

OF_SOURCES: Faults = {
    "merges that come to 9^11 keys": (_text(MERGES), TOO_MANY),
    "an anchor given twice": (_with("x: &x [1]\ny: &x [2]\n"), "found duplicate anchor 'x'"),
    "a word that is said to be an integer": (_with("x: !!int word\n"), "not YAML"),
    "300 levels of lists": (_with(f"x: {'[' * 300}{']' * 300}\n"), "nested more than 50 levels"),
    "a folder in its place": (_folder, "a folder, expected a file"),
    "UTF-16": (_encoded("utf-16"), "not UTF-8"),
    "a NUL": (_with("x: '\0'\n"), "not YAML"),
    "an object of Python": (_with("x: !!python/object/apply:os.system [true]\n"), "line "),
    "a number of 5,000 digits": (_with(f"x: {'9' * 5000}\n"), "not YAML"),
    "a named pipe in its place": (_pipe, "a named pipe, expected a file"),
}

OF_PARAMS: Faults = {
    "a name of 300 letters": (_renamed("x" * 300), "at most 100 characters"),
    "a folder in its place": (_folder, "no params.yaml here or above"),
    "a name that is a path": (_renamed("../../hair"), "instruments.../../hair: found"),
}

OF_PIPELINE: Faults = {
    "marks of a merge": (_with(MARKS), "line "),
    "a folder in its place": (_folder, "a folder, expected a file"),
    "a named pipe in its place": (_pipe, "a named pipe, expected a file"),
    "aliases that come to 9^12 values": (_text(BOMB), TOO_MANY),
    "stages that are none": (_text("stages: {a: 1}\n"), "stages: not a mapping of stages"),
}

UNREADABLE = "DVC cannot read it; `git checkout dvc.lock`"
OF_LOCK: Faults = {
    "marks of a merge": (_with(MARKS), UNREADABLE),
    "a folder in its place": (_folder, "a folder, expected a file"),
    "NULs": (_text("\0" * 300), UNREADABLE),
    "aliases that come to 9^12 values": (_text(BOMB), UNREADABLE),
}

OF_ACTIVE: Faults = {
    "marks of a merge": (_text(MARKS), "it names no profile"),
    "without a profile": (_text("active: {}\n"), "it names no profile"),
}


def _refusals(file: str, faults: Faults, *says: str) -> list[Case]:
    name = Path(file).name
    acts = {
        f"{name}, {fault}": (_refused(file, edit), *says, words)
        for fault, (edit, words) in faults.items()
    }
    return refusals("check", acts)


def _downloaded(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()


CASES = [
    *_refusals("params.yaml", OF_BOTH, "params.yaml"),
    *_refusals(SOURCE, OF_BOTH | OF_SOURCES, "hair.yaml"),
    *_refusals("params.yaml", OF_PARAMS),
    *_refusals("dvc.yaml", OF_PIPELINE, "dvc.yaml: "),
    *_refusals("dvc.lock", OF_LOCK, "dvc.lock: "),
    *_refusals("active.yaml", OF_ACTIVE, "active.yaml: "),
    Case(
        "text of others is a download that nobody declared",
        "check",
        Outcome.REFUSED,
        _refused("benchmarks/saged-theirs/README.md", _downloaded),
        ("benchmarks/saged-theirs: neither declared nor known",),
    ),
]

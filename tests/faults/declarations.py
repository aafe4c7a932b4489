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
from tests.faults.cases import Case, Outcome, Seen, evenruler

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


def _bytes(content: bytes) -> Edit:
    return lambda path: path.write_bytes(content)


def _with(text: str) -> Edit:
    return lambda path: path.write_text(f"{path.read_text()}{text}")


def _encoded(encoding: str) -> Edit:
    return lambda path: path.write_bytes(f"{path.read_text()}# é\n".encode(encoding))


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _renamed(name: str) -> Edit:
    return lambda path: path.write_text(path.read_text().replace("  hair:", f"  {name}:"))


LISTS = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}' if i else 'x'] * 9)}]\n" for i in range(12))
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 12)
)
MARKS = "<<<<<<< HEAD\ndiagnosis: {seed: 1}\n=======\ndiagnosis: {seed: 2}\n>>>>>>> theirs\n"

OF_YAML: tuple[tuple[str, Edit, tuple[str, ...]], ...] = (
    (
        "aliases that come to 9^12 values",
        _text(LISTS),
        ("its aliases come to more than 1,000,000 values",),
    ),
    (
        "merges that come to 9^11 keys",
        _text(MERGES),
        ("its aliases come to more than 1,000,000 values",),
    ),
    (
        "an alias that holds itself",
        _with("x: &x {y: [*x]}\n"),
        ("line ", "an alias that holds itself"),
    ),
    ("an anchor given twice", _with("x: &x [1]\ny: &x [2]\n"), ("found duplicate anchor 'x'",)),
    ("a word that is said to be an integer", _with("x: !!int word\n"), ("not YAML",)),
    (
        "60 levels of lists",
        _with(f"x: {'[' * 60}{']' * 60}\n"),
        ("nested more than 50 levels deep",),
    ),
    ("2,000 levels of lists", _with(f"x: {'[' * 2000}\n"), ("nested more than 50 levels deep",)),
    ("a folder in its place", _folder, ("a folder, expected a file",)),
    ("UTF-16", _encoded("utf-16"), ("not UTF-8",)),
    ("Latin-1", _encoded("latin-1"), ("not UTF-8",)),
    ("a NUL", _with("x: '\0'\n"), ("not YAML",)),
    ("marks of a merge", _with(MARKS), ("line ",)),
    ("an object of Python", _with("x: !!python/object/apply:os.system [true]\n"), ("line ",)),
    ("a number of 5,000 digits", _with(f"x: {'9' * 5000}\n"), ("not YAML",)),
    ("a list in place of keys", _text("- a\n"), ("expected keys",)),
    ("empty", _text(""), ("expected keys",)),
)

OF_PARAMS: tuple[tuple[str, Edit, tuple[str, ...]], ...] = (
    ("a name of 300 letters", _renamed("x" * 300), ("instruments.xxx", "at most 100 characters")),
    ("a folder in its place", _folder, ("no params.yaml here or above",)),
    (
        "a name that is a path",
        _renamed("../../hair"),
        ("instruments.../../hair", "expected a slug"),
    ),
)

UNREADABLE = ("dvc.lock: DVC cannot read it", "`git checkout dvc.lock`")
OF_DVC: tuple[tuple[str, str, Edit, tuple[str, ...]], ...] = (
    ("dvc.yaml", "marks of a merge", _with(MARKS), ("dvc.yaml: line ",)),
    ("dvc.yaml", "a folder in its place", _folder, ("dvc.yaml: a folder, expected a file",)),
    ("dvc.yaml", "cut", _half, ("dvc.yaml: ",)),
    ("dvc.yaml", "aliases that come to 9^12 values", _text(LISTS), ("dvc.yaml: its aliases",)),
    ("dvc.lock", "marks of a merge", _with(MARKS), UNREADABLE),
    ("dvc.lock", "a folder in its place", _folder, ("dvc.lock: a folder, expected a file",)),
    ("dvc.lock", "NULs", _bytes(b"\0" * 300), UNREADABLE),
    ("dvc.lock", "aliases that come to 9^12 values", _text(LISTS), UNREADABLE),
    ("dvc.lock", "empty", _text(""), UNREADABLE),
)

CASES = [
    *(
        Case(f"{Path(file).name}, {fault}", "check", Outcome.REFUSED, _refused(file, edit), (Path(file).name, *says))
        for file in ("params.yaml", SOURCE)
        for fault, edit, says in OF_YAML
        if (file, edit) != ("params.yaml", _folder)
    ),
    *(
        Case(f"params.yaml, {fault}", "check", Outcome.REFUSED, _refused("params.yaml", edit), says)
        for fault, edit, says in OF_PARAMS
    ),
    *(
        Case(f"{file}, {fault}", "check", Outcome.REFUSED, _refused(file, edit), says)
        for file, fault, edit, says in OF_DVC
    ),
    *(
        Case(f"{Path(file).name}, a named pipe in its place", "check", Outcome.REFUSED, _refused(file, _pipe),
             (Path(file).name, "a named pipe, expected a file"))
        for file in (SOURCE, "dvc.yaml")
    ),
    Case("dvc.yaml, stages that are none", "check", Outcome.REFUSED,
         _refused("dvc.yaml", _text("stages: {a: 1}\n")), ("dvc.yaml: stages: not a mapping of stages",)),
    Case("active.yaml, marks of a merge", "check", Outcome.REFUSED,
         _refused("active.yaml", _text(MARKS)), ("active.yaml: it names no profile",)),
    Case("active.yaml, aliases that come to 9^12 values", "check", Outcome.REFUSED,
         _refused("active.yaml", _text(LISTS)), ("active.yaml: it names no profile",)),
    Case("active.yaml, without a profile", "check", Outcome.REFUSED,
         _refused("active.yaml", _text("active: {}\n")), ("active.yaml: it names no profile",)),
    Case("text of others is a download that nobody declared", "check", Outcome.REFUSED,
         _refused("benchmarks/saged-theirs/README.md", lambda path: (path.parent.mkdir(parents=True), path.touch())),
         ("benchmarks/saged-theirs: neither declared nor known",)),
]  # fmt: skip

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


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _renamed(name: str) -> Edit:
    return lambda path: path.write_text(path.read_text().replace("  hair:", f"  {name}:"))


def _nine(number: int) -> str:
    """A list of nine aliases of the anchor before."""
    return f"[{', '.join([f'*a{number - 1}'] * 9)}]"


LISTS, MERGES = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n", "a0: &a0 {x: 1}\n"
for _number in range(1, 12):
    LISTS += f"a{_number}: &a{_number} {_nine(_number)}\n"
    MERGES += f"a{_number}: &a{_number} {{<<: {_nine(_number)}}}\n"
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
        ("line ", "levels deep, or holds itself"),
    ),
    ("an anchor given twice", _with("x: &x [1]\ny: &x [2]\n"), ("found duplicate anchor 'x'",)),
    ("a word that is said to be an integer", _with("x: !!int word\n"), ("not YAML",)),
    (
        "300 levels of lists",
        _with(f"x: {'[' * 300}{']' * 300}\n"),
        ("nested more than 50 levels deep",),
    ),
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

OF_BOTH = {
    "aliases that come to 9^12 values",
    "an alias that holds itself",
    "marks of a merge",
    "a list in place of keys",
    "empty",
}
"""What is tried in params.yaml as well."""

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
    ("dvc.yaml", "aliases that come to 9^12 values", _text(LISTS), ("dvc.yaml: its aliases",)),
    ("dvc.lock", "marks of a merge", _with(MARKS), UNREADABLE),
    ("dvc.lock", "a folder in its place", _folder, ("dvc.lock: a folder, expected a file",)),
    ("dvc.lock", "NULs", _bytes(b"\0" * 300), UNREADABLE),
    ("dvc.lock", "aliases that come to 9^12 values", _text(LISTS), UNREADABLE),
)


def _case(file: str, fault: str, edit: Edit, *says: str) -> Case:
    name = f"{Path(file).name}, {fault}"
    return Case(name, "check", Outcome.REFUSED, _refused(file, edit), says)


def _downloaded(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()


PIPE, NO_PROFILE = "a named pipe, expected a file", "active.yaml: it names no profile"
CASES = [
    *(
        _case("params.yaml", fault, edit, "params.yaml", *says)
        for fault, edit, says in OF_YAML
        if fault in OF_BOTH
    ),
    *(_case(SOURCE, fault, edit, "hair.yaml", *says) for fault, edit, says in OF_YAML),
    *(_case("params.yaml", fault, edit, *says) for fault, edit, says in OF_PARAMS),
    *(_case(file, fault, edit, *says) for file, fault, edit, says in OF_DVC),
    _case(SOURCE, "a named pipe in its place", _pipe, "hair.yaml", PIPE),
    _case("dvc.yaml", "a named pipe in its place", _pipe, "dvc.yaml", PIPE),
    _case(
        "dvc.yaml",
        "stages that are none",
        _text("stages: {a: 1}\n"),
        "dvc.yaml: stages: not a mapping of stages",
    ),
    _case("active.yaml", "marks of a merge", _text(MARKS), NO_PROFILE),
    _case("active.yaml", "without a profile", _text("active: {}\n"), NO_PROFILE),
    Case(
        "text of others is a download that nobody declared",
        "check",
        Outcome.REFUSED,
        _refused("benchmarks/saged-theirs/README.md", _downloaded),
        ("benchmarks/saged-theirs: neither declared nor known",),
    ),
]

"""What each stage imports, as `deps` of dvc.yaml say it; `python -m tests.stages.depends` writes them there.

A stage of any family finds its rooms by the family's name, which no graph of imports shows. So `deps` name these rooms
by hand, with `${item.family}`; all else that a stage or one of its rooms imports is written here.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import grimp
from ruamel.yaml import YAML

from evenruler.instruments.registry import FAMILIES

ROOT = Path(__file__).parents[2]
CODE = ("evenruler", "stages")

ROOMS = {
    "rows": ("declare", "rows"),
    "ask": ("ask",),
    "diagnose": ("ask", "diagnose"),
    "card": ("declare", "card"),
    "report": ("declare", "report"),
    "scrape": ("declare",),
    "evolve": ("declare", "evolve"),
}
"""The rooms of a family that a stage goes into, by its module."""

WHOLE_OF_FAMILIES = "evenruler/instruments"
"""What a stage depends on that goes into rooms of all families."""

LAZY = {"evenruler.models", *FAMILIES.values()}
"""Packages whose names users import; the house imports their modules, so that it is seen what it depends on."""

WHOLE = {"evenruler/measurement", "evenruler/tables", "evenruler/text"}
"""Small shared rooms that change rarely: a stage that needs a module of one depends on the room."""

HARMLESS = {
    "evenruler/__init__.py",
    "evenruler/instruments/__init__.py",
    "evenruler/instruments/registry.py",
    "evenruler/lazy.py",
    "evenruler/progress.py",
    "stages/__init__.py",
    *(f"{package.replace('.', '/')}/__init__.py" for package in LAZY),
}
"""They change what is printed or how a name is found, never what is written."""


def graph() -> grimp.ImportGraph:
    """Every import of the code, those that only type checkers read left out."""
    return grimp.build_graph(*CODE, cache_dir=None, exclude_type_checking_imports=True)


def stage_entries() -> dict[str, dict]:
    """The stages of dvc.yaml, by name."""
    stages = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: entry.get("do", entry) for name, entry in stages.items()}


def stage_of(entry: dict) -> str:
    """The module of a stage, without the package."""
    return entry["cmd"].split()[2].removeprefix("stages.")


def is_written(dep: str) -> bool:
    """Whether a dependency is code that is listed here, not by hand."""
    return dep.startswith(CODE) and "${" not in dep and dep != WHOLE_OF_FAMILIES


def by_hand(entry: dict, family: str) -> set[str]:
    """The code that `deps` name for a family by hand."""
    code = [dep for dep in entry["deps"] if dep.startswith(CODE) and not is_written(dep)]
    return {re.sub(r"\$\{(item\.family|key)\}", family, dep) for dep in code}


def needed(imports: grimp.ImportGraph, entry: dict, family: str) -> set[str]:
    """The files of code that a stage reads for a family: modules, their packages, and what lies beside them."""
    stage = stage_of(entry)
    starts = {f"stages.{stage}", *(f"{FAMILIES[family]}.{room}" for room in ROOMS[stage])}
    files: set[str] = set()
    for name in starts | {found for start in starts for found in imports.find_upstream_modules(start)}:
        path = path_of(name)
        files.add(path.as_posix())
        files |= {(parent / "__init__.py").as_posix() for parent in path.parents if parent.parts}
        files |= {other.relative_to(ROOT).as_posix() for other in _data_beside(ROOT / path)}
    return files - HARMLESS


def families_of(entry: dict) -> list[str]:
    """The families that a stage is for."""
    ours = {"scrape": ["saged"], "evolve": ["probes"]}
    return ours.get(stage_of(entry), list(FAMILIES))


def listed(imports: grimp.ImportGraph, entry: dict) -> list[str]:
    """The code that belongs into `deps` beside what is there by hand."""
    rest: set[str] = set()
    for family in families_of(entry):
        hand = by_hand(entry, family)
        rest |= {file for file in needed(imports, entry, family) if not any(_lies_in(file, dep) for dep in hand)}
    return covering(rest)


def _lies_in(file: str, dep: str) -> bool:
    return file == dep or file.startswith(f"{dep}/")


def covering(files: set[str]) -> list[str]:
    """The shortest list of files and folders that holds some files and no other."""
    return sorted(_cover(Path("evenruler"), files) + _cover(Path("stages"), files))


def path_of(module: str) -> Path:
    """The file of a module."""
    path = Path(*module.split("."))
    return path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")


def _data_beside(path: Path) -> Iterator[Path]:
    """Files in a module's folder that it names: templates and data."""
    text = path.read_text()
    for other in path.parent.iterdir():
        if other.is_file() and other.suffix not in (".py", ".pyc") and f'"{other.name}"' in text:
            yield other


def _cover(folder: Path, files: set[str]) -> list[str]:
    below = [path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()]
    below = [path for path in below if "__pycache__" not in path and path not in HARMLESS]
    inside = [path for path in below if path in files]
    if below and (inside == below or (inside and folder.as_posix() in WHOLE)):
        return [folder.as_posix()]
    here = [path for path in inside if Path(path).parent == folder]
    deeper = sorted({Path(*Path(path).parts[: len(folder.parts) + 1]) for path in inside} - set(map(Path, here)))
    return here + [path for child in deeper for path in _cover(child, files)]


def main() -> None:
    """Write the code that stages import into dvc.yaml; the rest of the file stays as it is."""
    imports, entries = graph(), stage_entries()
    lines, stage = [], None
    for line in (ROOT / "dvc.yaml").read_text().splitlines():
        if (name := re.fullmatch(r"  ([a-z-]+):", line)) and name[1] in entries:
            stage = name[1]
        dep = re.fullmatch(r"\s+- (\S+)", line)
        if stage is None or dep is None or not is_written(dep[1]):
            lines.append(line)
        if stage is not None and (found := re.fullmatch(r"(\s+)deps:", line)):
            lines += [f"{found[1]}  - {path}" for path in listed(imports, entries[stage])]
    (ROOT / "dvc.yaml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

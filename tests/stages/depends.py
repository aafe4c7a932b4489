"""What each stage imports, as `deps` of dvc.yaml say it; `python -m tests.stages.depends` writes them there."""

import re
from collections.abc import Iterator
from pathlib import Path

import grimp
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
CODE = ("evenruler", "stages")

LAZY = {
    "evenruler.models",
    *(f"evenruler.instruments.{name}" for name in ("probes", "questionnaires", "framing", "saged")),
}
"""Packages whose names users import; the house imports their modules, so that it is seen what it depends on."""

WHOLE = {"evenruler/measurement", "evenruler/tables", "evenruler/text"}
"""Small shared rooms that change rarely: a stage that needs a module of one depends on the room."""

HARMLESS = {
    "evenruler/__init__.py",
    "evenruler/instruments/__init__.py",
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


def needed(imports: grimp.ImportGraph, command: str) -> set[str]:
    """The files of code that a stage's command reads: modules, the packages they lie in, and what lies beside them."""
    module = command.split()[2]
    files: set[str] = set()
    for name in imports.find_upstream_modules(module) | {module}:
        path = path_of(name)
        files.add(path.as_posix())
        files |= {(parent / "__init__.py").as_posix() for parent in path.parents if parent.parts}
        files |= {other.relative_to(ROOT).as_posix() for other in _data_beside(ROOT / path)}
    return files - HARMLESS


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
        if stage is None or not re.match(r"\s+- (evenruler|stages)/", line):
            lines.append(line)
        if stage is not None and (found := re.fullmatch(r"(\s+)deps:", line)):
            lines += [f"{found[1]}  - {path}" for path in covering(needed(imports, entries[stage]["cmd"]))]
    (ROOT / "dvc.yaml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

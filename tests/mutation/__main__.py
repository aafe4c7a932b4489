"""Mutation testing: `python -m tests.mutation [PATH ...]`, by hand, not in CI.

PATH is a module or a folder of `evenruler/`; all of `TARGETS` by default. Each mutant is the module
with one thing changed. It is tried on the tests that run what was changed, until one fails.
`--budget` is how many seconds of tests a mutant may take, `--sample N` tries N mutants a module,
evenly spaced over those inside functions, and every mean as a median, `--draw N` tries N mutants of
all modules together, drawn by `--seed`, `--alive` leaves what was killed the last time and tries
again what was alive, `--tests` takes other files of tests than `TARGETS` has (one argument, also
options of pytest), `--table` runs nothing. Prints the mutants that are alive and not in
`equivalent.md`, and a Markdown table. mutmut, whose operators are used, is installed into an
environment of its own, `.cache/mutation`; results are kept there, too.
"""

import argparse
import json
import os
import subprocess
import sys
import venv
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.mutation.equivalents import Mutant, equivalents

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".cache" / "mutation"
PINNED = ("mutmut==3.8.1", "libcst==1.9.0")


TARGETS: dict[str, tuple[str, ...]] = {
    "evenruler/measurement": ("tests/measurement",),
    "evenruler/models/store.py": ("tests/models/test_store.py", "tests/models/test_cache.py"),
    "evenruler/models/cache.py": ("tests/models/test_cache.py", "tests/models/test_numbers.py"),
    "evenruler/instruments/questionnaires": ("tests/instruments/questionnaires",),
    "evenruler/instruments/framing": ("tests/instruments/framing",),
    "evenruler/instruments/probes": ("tests/instruments/probes",),
    "evenruler/instruments/saged": ("tests/instruments/saged",),
    "evenruler/instruments/external": ("tests/instruments/external",),
    "evenruler/models": ("tests/models",),
    "evenruler/text": ("tests/text", "tests/models/test_replies.py"),
    "evenruler/publish": ("tests/publish",),
}
"""By module or folder, the tests that its mutants are tried on; the first that fits counts."""


def environment() -> Path:
    """The Python that has mutmut."""
    python = HOME / "bin" / "python"
    if not list(HOME.glob("lib/*/site-packages/mutmut")):
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *PINNED], check=True)
    return python


def modules(paths: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if "lazy_getattr(" not in file.read_text(encoding="utf-8"):
                yield file


def tests_of(module: Path) -> tuple[str, ...]:
    return next(
        tests
        for target, tests in TARGETS.items()
        if module == Path(target) or Path(target) in module.parents
    )


def results_of(module: Path) -> Path:
    return HOME / "results" / f"{'.'.join(module.with_suffix('').parts)}.json"


def key(mutant: dict[str, Any]) -> tuple[Any, ...]:
    """What a mutant is known by, wherever its lines have moved to."""
    return mutant["function"], mutant["before"], mutant["after"]


def make_mutants(module: Path, python: Path, sample: int | None) -> list[dict[str, Any]]:
    """The mutants of a module; of a sample, so many."""
    return read_mutants(python, str(module), *([] if sample is None else [str(sample)]))


def read_mutants(python: Path, *words: str) -> Any:
    """What `mutants.py` prints."""
    command = [python, ROOT / "tests/mutation/mutants.py", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def drawn(
    files: list[Path], python: Path, number: int, seed: int
) -> dict[Path, list[dict[str, Any]]]:
    """So many mutants of all modules together, by module; the same for a seed as long as the code
    is the same."""
    mutants_by_module = read_mutants(python, "draw", str(number), str(seed), *map(str, files))
    return {Path(module): mutants for module, mutants in mutants_by_module.items()}


def attempt(
    mutants_by_module: Mapping[Path, list[dict[str, Any]]],
    tests: tuple[str, ...],
    budget: float,
    alive: bool,
    part: bool,
) -> None:
    """Tries the mutants of modules that have the same tests, and keeps what became of them; `part`:
    not all of them."""
    mutants_by_file: dict[str, list[dict[str, Any]]] = {}
    for module, mutants in mutants_by_module.items():
        results, keys = results_of(module), set(map(key, mutants))
        before = json.loads(results.read_text()) if alive and results.exists() else []
        # What a sample leaves out stays as it was.
        stay = []
        for mutant in before:
            if mutant["outcome"] == "killed" if key(mutant) in keys else part:
                stay.append(mutant)
        dead = set(map(key, stay))
        left = [mutant for mutant in mutants if key(mutant) not in dead]
        if left:
            mutants_by_file[str(ROOT / module)] = left
        results.parent.mkdir(exist_ok=True)
        results.write_text(json.dumps(stay, indent=0))
    order = {
        "modules": mutants_by_file,
        "tests": tests,
        "budget": budget,
        "to": {str(ROOT / module): str(results_of(module)) for module in mutants_by_module},
    }
    subprocess.run(
        [sys.executable, "-m", "tests.mutation.trying"],
        input=json.dumps(order),
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def table(files: list[Path]) -> str:
    """What is alive, then a row a module."""
    same = equivalents()
    rows, lines, unused = [], [], set(same)
    for module in files:
        if not results_of(module).exists():
            continue
        results = json.loads(results_of(module).read_text())
        counts: Counter[str] = Counter()
        for attempted in results:
            mutant: Mutant = (str(module), attempted["before"], attempted["after"])
            if attempted["outcome"] in ("killed", "timeout"):
                counts["killed"] += 1
            elif mutant in same:
                counts["same"] += 1
                unused.discard(mutant)
            else:
                counts["alive"] += 1
                line = attempted["lines"][0][0]
                lines.append(f"{module}:{line} {attempted['outcome']}")
                lines.append(f"- `` {mutant[1]} `` -> `` {mutant[2]} ``")
        counted = [counts[outcome] for outcome in ("killed", "same", "alive")]
        rows.append((str(module), len(results), *counted))
    names = set(map(str, files))
    for mutant in sorted(unused):
        if mutant[0] in names:
            lines.append(f"in equivalent.md, but not alive: {' | '.join(mutant)}")
    _, *columns = zip(*rows, strict=True) if rows else [()] * 5
    rows.append(("together", *map(sum, columns)))
    lines += [
        "",
        "| module | mutants | killed | equivalent | alive | killed of those that differ |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, n, killed, equal, alive in rows:
        share = f"{killed / (n - equal):.1%}" if n > equal else ""
        lines.append(f"| `{name}` | {n} | {killed} | {equal} | {alive} | {share} |")
    return "\n".join(lines)


def main() -> None:
    reads = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    reads.add_argument("paths", nargs="*", default=list(TARGETS))
    reads.add_argument("--alive", action="store_true")
    reads.add_argument("--sample", type=int)
    reads.add_argument("--draw", type=int)
    reads.add_argument("--seed", type=int, default=0)
    reads.add_argument("--tests", type=str.split)
    reads.add_argument("--table", action="store_true")
    reads.add_argument("--budget", type=float, default=20)
    arguments = reads.parse_args()
    files = list(dict.fromkeys(modules(arguments.paths)))
    if not arguments.table:
        python = environment()
        if arguments.draw:
            mutants_by_module = drawn(files, python, arguments.draw, arguments.seed)
            files = list(mutants_by_module) or files
        else:
            mutants_by_module = {
                file: make_mutants(file, python, arguments.sample) for file in files
            }
        by_tests: dict[tuple[str, ...], dict[Path, list[dict[str, Any]]]] = {}
        for file, mutants in mutants_by_module.items():
            tests = tuple(arguments.tests or tests_of(file))
            by_tests.setdefault(tests, {})[file] = mutants
        is_part = bool(arguments.draw) or arguments.sample is not None
        for tests, of_tests in by_tests.items():
            attempt(of_tests, tests, arguments.budget, arguments.alive, is_part)
    print(table(files))


if __name__ == "__main__":
    main()

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
    "evenruler/instruments/fixed": ("tests/instruments/fixed",),
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


def kept(module: Path) -> Path:
    return HOME / "results" / f"{'.'.join(module.with_suffix('').parts)}.json"


def key(mutant: dict[str, Any]) -> tuple[Any, ...]:
    """What a mutant is known by, wherever its lines have moved to."""
    return mutant["function"], mutant["before"], mutant["after"]


def made(module: Path, python: Path, sample: int | None) -> list[dict[str, Any]]:
    """The mutants of a module; of a sample, so many."""
    order = [
        python,
        ROOT / "tests/mutation/mutants.py",
        module,
        *([] if sample is None else [str(sample)]),
    ]
    return json.loads(subprocess.run(order, check=True, capture_output=True, text=True).stdout)


def drawn(
    files: list[Path], python: Path, number: int, seed: int
) -> dict[Path, list[dict[str, Any]]]:
    """So many mutants of all modules together, by module; the same for a seed as long as the code
    is the same."""
    order = [
        python,
        ROOT / "tests/mutation/mutants.py",
        "draw",
        str(number),
        str(seed),
        *map(str, files),
    ]
    found = json.loads(subprocess.run(order, check=True, capture_output=True, text=True).stdout)
    return {Path(module): mutants for module, mutants in found.items()}


def attempt(
    made: Mapping[Path, list[dict[str, Any]]],
    tests: tuple[str, ...],
    budget: float,
    alive: bool,
    part: bool,
) -> None:
    """Tries the mutants of modules that have the same tests, and keeps what became of them; `part`:
    not all of them."""
    asked: dict[str, list[dict[str, Any]]] = {}
    for module, mutants in made.items():
        there = set(map(key, mutants))
        before = json.loads(kept(module).read_text()) if alive and kept(module).exists() else []
        # What a sample leaves out stays as it was found.
        stay = [
            one for one in before if (one["outcome"] == "killed" if key(one) in there else part)
        ]
        dead = set(map(key, stay))
        asked[str(ROOT / module)] = [one for one in mutants if key(one) not in dead]
        kept(module).parent.mkdir(exist_ok=True)
        kept(module).write_text(json.dumps(stay, indent=0))
    order = {
        "modules": {file: of for file, of in asked.items() if of},
        "tests": tests,
        "budget": budget,
        "to": {str(ROOT / module): str(kept(module)) for module in made},
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
        if not kept(module).exists():
            continue
        found = json.loads(kept(module).read_text())
        counts: Counter[str] = Counter()
        for one in found:
            mutant: Mutant = (str(module), one["before"], one["after"])
            if one["outcome"] in ("killed", "timeout"):
                counts["killed"] += 1
            elif mutant in same:
                counts["same"] += 1
                unused.discard(mutant)
            else:
                counts["alive"] += 1
                lines.append(
                    f"{module}:{one['lines'][0][0]} {one['outcome']}\n- `` {mutant[1]} `` -> `` "
                    f"{mutant[2]} ``"
                )
        rows.append((str(module), len(found), counts["killed"], counts["same"], counts["alive"]))
    lines += [
        f"in equivalent.md, but not alive: {' | '.join(one)}"
        for one in sorted(unused)
        if one[0] in map(str, files)
    ]
    rows.append(("together", *(sum(row[column] for row in rows) for column in range(1, 5))))
    lines += [
        "",
        "| module | mutants | killed | equivalent | alive | killed of those that differ |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, made, killed, equal, alive in rows:
        share = f"{killed / (made - equal):.1%}" if made > equal else ""
        lines.append(f"| `{name}` | {made} | {killed} | {equal} | {alive} | {share} |")
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
    asked = reads.parse_args()
    files = list(dict.fromkeys(modules(asked.paths)))
    if not asked.table:
        python = environment()
        found = drawn(files, python, asked.draw, asked.seed) if asked.draw else {}
        files = list(found) or files
        by_tests: dict[tuple[str, ...], list[Path]] = {}
        for file in files:
            by_tests.setdefault(tuple(asked.tests or tests_of(file)), []).append(file)
        for tests, those in by_tests.items():
            mutants = {
                file: found[file] if asked.draw else made(file, python, asked.sample)
                for file in those
            }
            attempt(
                mutants,
                tests,
                asked.budget,
                asked.alive,
                bool(asked.draw) or asked.sample is not None,
            )
    print(table(files))


if __name__ == "__main__":
    main()

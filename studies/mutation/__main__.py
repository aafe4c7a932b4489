"""Mutation testing, by hand, not in CI: `python -m studies.mutation [PATH ...]`.

PATH is a module or a folder of `evenruler/`; all of `TARGETS` by default. Each mutant is the module
with one thing changed. It is tried on the tests that run what was changed, until one fails. Prints
the mutants that are alive and not in `equivalent.md`, and a Markdown table. The operators are those
of mutmut, which is installed into an environment of its own, `.cache/mutation`; results are kept
there, too. mutmut itself draws no sample, and mutates neither what runs at import, as constants and
tables, nor functions with a decorator.
"""

import json
import subprocess
import sys
import venv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from studies.mutation.equivalents import read_equivalents
from studies.mutation.trials import Mutant, Trials, import_libraries, run_baseline
from studies.tables import print_head, print_row

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
    "evenruler/instruments": ("tests/instruments",),
    "evenruler/evaluate": ("tests/evaluate",),
    "evenruler/tables": ("tests/tables",),
    "evenruler/training": ("tests/training",),
    "evenruler/models": ("tests/models",),
    "evenruler/text": ("tests/text", "tests/models/test_replies.py"),
    "evenruler/publish": ("tests/publish",),
}
"""By module or folder, the tests that its mutants are tried on; the first that fits counts."""


def install_mutmut() -> Path:
    """Return the Python that has mutmut."""
    python = HOME / "bin" / "python"
    if not list(HOME.glob("lib/*/site-packages/mutmut")):
        venv.create(HOME, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "--no-deps", *PINNED],
            check=True,
        )
    return python


def make_mutants(modules: Sequence[Path], draw: int, seed: int) -> dict[Path, list[Mutant]]:
    """Return the mutants of modules; the same for a seed as long as the code is the same."""
    script = Path(__file__).with_name("mutants.py")
    command = [
        str(install_mutmut()),
        str(script),
        str(draw),
        str(seed),
        *map(str, modules),
    ]
    printed = subprocess.check_output(command, text=True)
    return {Path(module): mutants for module, mutants in json.loads(printed).items()}


def list_modules(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the modules below some paths; what only exports names is left out."""
    for path in map(Path, paths):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if "lazy_getattr(" not in file.read_text(encoding="utf-8"):
                yield file


def find_tests(module: Path) -> tuple[str, ...]:
    """Return the tests of a module."""
    for target, tests in TARGETS.items():
        if Path(target) in (module, *module.parents):
            return tests
    raise SystemExit(f"{module}: no tests; add its folder to TARGETS of {__file__}")


def name_results(module: Path) -> Path:
    """Return the file of the results of a module."""
    return HOME / "results" / f"{'.'.join(module.with_suffix('').parts)}.json"


def identify_mutant(mutant: Mutant) -> tuple[str | None, str, str]:
    """Return what a mutant is known by, wherever its lines have moved to."""
    return mutant["function"], mutant["before"], mutant["after"]


def choose_left(module: Path, mutants: list[Mutant]) -> tuple[list[Mutant], list[Mutant]]:
    """Return mutants that were not killed the last time, and the results of those that were."""
    results = name_results(module)
    if not results.exists():
        return mutants, []
    before = json.loads(results.read_text())
    killed = [result for result in before if result["outcome"] == "killed"]
    keys = set(map(identify_mutant, killed))
    return [mutant for mutant in mutants if identify_mutant(mutant) not in keys], killed


def try_modules(
    mutants_by_module: dict[Path, list[Mutant]], tests: Sequence[str], budget: float, alive: bool
) -> None:
    """Try the mutants of modules that have the same tests, and keep what becomes of each."""
    files = {module: str(ROOT / module) for module in mutants_by_module}
    baseline = run_baseline(tests, files.values())
    import_libraries(baseline)
    for module, mutants in mutants_by_module.items():
        left, results = choose_left(module, mutants) if alive else (mutants, [])
        trials = Trials(files[module], baseline, budget)
        print(
            f"{module}: {len(left)} mutants, {len(trials.using)} tests",
            file=sys.stderr,
        )
        if trials.using:  # without names, pytest would run every test
            trials.check_unmutated()
        else:
            print(f"{module}: no test runs it, so that all its mutants are alive", file=sys.stderr)
        path = name_results(module)
        path.parent.mkdir(exist_ok=True)
        for mutant in left:
            results.append(trials.try_mutant(mutant))
            path.write_text(
                json.dumps(results, indent=0)
            )  # a run that is stopped keeps its results


def print_results(modules: Sequence[Path]) -> None:
    """Print what is alive, then a row a module."""
    equivalents = read_equivalents()
    rows = []
    for module in modules:
        if not name_results(module).exists():
            continue
        counts: Counter[str] = Counter()
        unused = {mutant for mutant in equivalents if mutant[0] == str(module)}
        for result in json.loads(name_results(module).read_text()):
            mutant = str(module), result["before"], result["after"]
            if result["outcome"] in ("killed", "timeout"):
                counts["killed"] += 1
            elif mutant in equivalents:
                counts["equivalent"] += 1
                unused.discard(mutant)
            else:
                counts["alive"] += 1
                print(f"{module}:{result['lines'][0][0]} {result['outcome']}")
                print(f"- `` {mutant[1]} `` -> `` {mutant[2]} ``")
        rows.append((f"`{module}`", counts))
        for mutant in sorted(unused):
            print(f"in equivalent.md, but not alive: {' | '.join(mutant)}")
    rows.append(
        (
            "together",
            sum((counts for _, counts in rows), Counter[str]()),
        )
    )
    print()
    print_head("module", "mutants", "killed", "equivalent", "alive", "killed of those that differ")
    for name, counts in rows:
        n_differing = counts["killed"] + counts["alive"]
        share = f"{counts['killed'] / n_differing:.1%}" if n_differing else ""
        columns = [counts[outcome] for outcome in ("killed", "equivalent", "alive")]
        print_row(name, counts.total(), *columns, share)


def main(
    paths: Annotated[list[str] | None, typer.Argument()] = None,
    draw: Annotated[int, typer.Option(help="So many mutants of all modules together.")] = 0,
    seed: Annotated[int, typer.Option(help="What they are drawn by.")] = 0,
    tests: Annotated[str, typer.Option(help="In place of those of `TARGETS`, with spaces.")] = "",
    budget: Annotated[float, typer.Option(help="Seconds of tests that a mutant may take.")] = 20,
    alive: Annotated[bool, typer.Option(help="Leave what was killed the last time.")] = False,
    table: Annotated[bool, typer.Option(help="Run nothing, and print what is known.")] = False,
) -> None:
    """Try the mutants of modules or folders of `evenruler/`, and print which are alive."""
    modules = list(dict.fromkeys(list_modules(paths or list(TARGETS))))
    if not table:
        mutants_by_tests: dict[tuple[str, ...], dict[Path, list[Mutant]]] = {}
        mutants_by_module = make_mutants(modules, draw, seed)
        for module, mutants in mutants_by_module.items():
            chosen = tuple(tests.split()) or find_tests(module)
            mutants_by_tests.setdefault(chosen, {})[module] = mutants
        for chosen, of_tests in mutants_by_tests.items():
            try_modules(of_tests, chosen, budget, alive)
        modules = list(mutants_by_module)
    print_results(modules)


if __name__ == "__main__":
    typer.run(main)

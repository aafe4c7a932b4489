"""Tries the mutants of modules on their tests, each mutant in a fork of a process that has
collected them.

A mutant inside a function is put into the function that is there already (its code object is
replaced, so that every name that the function goes by is mutated). What runs when the module is
imported, as constants, tables and defaults, is mutated where the module is imported: in a fork that
has imported the libraries, and nothing of ours.
"""

import ast
import gc
import importlib.machinery
import json
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import chain
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ALIVE, KILLED, LATE = 0, 1, 3
HEAVY = (
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "scipy.stats",
    "sklearn",
    "statsmodels.api",
    "torch",
)
"""Libraries that take long to import. Plugins of pytest are not among them: it has to import these
itself."""
OPTIONS = ["-q", "-x", "-s", "-p", "no:cacheprovider", "-m", "not slow"]


@dataclass
class Baseline:
    """What the tests do where nothing is mutated."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By test, with what it sets up and puts away."""
    lines: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    """By test, the lines of the modules that it runs."""
    failed: list[str] = field(default_factory=list)


def forked(work: Callable[[], int], limit: float, shown: bool = False) -> int | None:
    """The exit status of work done in a process of its own, -1 where a signal ended it, None where
    it took too long."""
    pid = os.fork()
    if not pid:
        status = KILLED
        try:
            os.setsid()
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent if not shown else 2, 1)
            if not shown:
                os.dup2(silent, 2)
            status = work()
        except BaseException:
            if shown:
                sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)
    end = time.monotonic() + limit
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def answer(work: Callable[[], Any], limit: float) -> Any:
    """What is computed in a process of its own."""
    with tempfile.NamedTemporaryFile() as file:

        def write() -> int:
            Path(file.name).write_bytes(pickle.dumps(work()))
            return 0

        if forked(write, limit, shown=True) != 0:
            raise RuntimeError("the tests cannot be run where nothing is mutated")
        return pickle.loads(Path(file.name).read_bytes())


class Watch:
    """A plugin that times tests and takes down which lines of some files they run."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files, self.found = set(files), Baseline()
        self.lines: set[tuple[str, int]] = set()

    def start(self, frame: FrameType, what: str, _: Any) -> Any:
        return self.line if frame.f_code.co_filename in self.files else None

    def line(self, frame: FrameType, what: str, _: Any) -> Any:
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def watch(self, item: pytest.Item, following: pytest.Item | None) -> None:
        self.lines = self.found.lines[item.nodeid] = set()
        threading.settrace(self.start)
        sys.settrace(self.start)
        try:
            run(item, following)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.found.seconds[report.nodeid] += report.duration
        if report.failed:
            self.found.failed.append(report.nodeid)


class Stops:
    """A plugin that stops at the first test that fails and writes down which."""

    def __init__(self, to: str) -> None:
        self.to = to

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            Path(self.to).write_text(report.nodeid)
            os._exit(KILLED)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            os._exit(KILLED)


def run(item: pytest.Item, following: pytest.Item | None) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all within it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def called_at_import(source: str) -> set[str]:
    """Functions of a module whose results it keeps: they have run before a mutant can be put in
    their place."""
    names, open_nodes = set(), [ast.parse(source)]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names.add(node.func.id)
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            open_nodes.extend(ast.iter_child_nodes(node))
    return names


class InPlace:
    """Functions of an imported module, to be mutated where they are."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.before = self._by_name(source)
        codes_here = chain.from_iterable(self.before.values())
        lines = {(code.co_qualname, code.co_firstlineno) for code in codes_here}
        self.functions: dict[tuple[str, int], list[FunctionType]] = defaultdict(list)
        gc.unfreeze()  # tests/conftest.py freezes what is imported, which is not listed then
        for function in gc.get_objects():
            if type(function) is FunctionType and function.__code__.co_filename == file:
                code = function.__code__
                place = (code.co_qualname, code.co_firstlineno)
                if place in lines:
                    self.functions[place].append(function)

    def _by_name(self, source: str) -> dict[str, list[CodeType]]:
        codes_by_name: dict[str, list[CodeType]] = defaultdict(list)
        for code in codes(compile(source, self.file, "exec", dont_inherit=True)):
            codes_by_name[code.co_qualname].append(code)
        return codes_by_name

    def put(self, mutant: dict[str, Any]) -> bool:
        """Whether the mutant could be put in place of what was imported."""
        name = mutant["function"]
        if name is None:
            return False
        put = False
        for old, new in zip(self.before[name], self._by_name(mutant["source"])[name], strict=True):
            if old == new:
                continue
            for function in self.functions[name, old.co_firstlineno]:
                if function.__code__.co_freevars != new.co_freevars:
                    return False
                function.__code__ = new
                put = True
        return put


class Mutating(importlib.machinery.SourceFileLoader):
    """Imports one file as something else."""

    file, source = "", ""

    def get_code(self, fullname: str) -> CodeType | None:
        if self.path == Mutating.file:
            return compile(Mutating.source, self.path, "exec", dont_inherit=True)
        return super().get_code(fullname)


Attempts = list[tuple[dict[str, Any], list[str], float]]
"""Mutants that have to be imported, each with files of tests and a limit in seconds."""


class Collected:
    """A plugin that, once tests are collected, tries mutants on them instead of running them."""

    def __init__(
        self, modules: Mapping[str, Sequence[dict[str, Any]]], budget: float, to: Mapping[str, str]
    ) -> None:
        self.modules, self.budget, self.to = modules, budget, to
        self.late: dict[str, Attempts] = {file: [] for file in modules}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.baseline = answer(lambda: watched(session.items, [*self.modules]), 3600)
        if self.baseline.failed:
            raise RuntimeError(f"fails where nothing is mutated: {self.baseline.failed[0]}")
        say(f"{len(self.items)} tests, {sum(self.baseline.seconds.values()):.0f} s")
        for file, mutants in self.modules.items():
            self.attempt_all(file, mutants)
        return True

    def attempt_all(self, file: str, mutants: Sequence[dict[str, Any]]) -> None:
        place = InPlace(file, Path(file).read_text(encoding="utf-8"))
        seconds = self.baseline.seconds
        using = [
            name for name, ran in self.baseline.lines.items() if file in {*map(itemgetter(0), ran)}
        ]
        files = [name.split("::")[0] for name in self.chosen(file, using, Counter())]
        late = list(dict.fromkeys(files))
        early = called_at_import(Path(file).read_text(encoding="utf-8"))
        killers: dict[str | None, Counter[str]] = defaultdict(Counter)
        say(f"{Path(file).relative_to(ROOT)}: {len(mutants)} mutants, {len(using)} tests")
        for mutant in mutants:
            if mutant["function"] is None or mutant["function"] in early:
                self.late[file].append((mutant, late, 10 + 4 * sum(seconds.values())))
                continue
            # What tests do in processes of their own is not seen: then those are tried that use the
            # module at all.
            reached = self.reaching(file, mutant) or using
            if not reached:
                keep(self.to[file], record(mutant, "unreached", ""))
                continue
            chosen = self.chosen(file, reached, killers[mutant["function"]])
            limit = 10 + 4 * sum(seconds[name] for name in chosen)
            items = [self.items[name] for name in chosen]
            outcome, by = attempt(partial(self.on, place, mutant, items), limit)
            if outcome == "late":
                self.late[file].append((mutant, late, 10 + 4 * sum(seconds.values())))
                continue
            if by:
                killers[mutant["function"]][by] += 1
            keep(self.to[file], record(mutant, outcome, by))

    def reaching(self, file: str, mutant: dict[str, Any]) -> list[str]:
        """Tests that run a line of what was mutated, or else of its statement."""
        for first, last in mutant["lines"]:
            lines = {(file, line) for line in range(first, last + 1)}
            tests = [name for name, ran in self.baseline.lines.items() if ran & lines]
            if tests:
                return tests
        return []

    def chosen(self, file: str, reached: list[str], killers: Counter[str]) -> list[str]:
        """Tests to be run: those that killed neighbours, then file by file, as long as the budget
        lasts."""
        seconds, among = self.baseline.seconds, set(reached)
        often = [name for name, _ in killers.most_common(8) if name in among]
        first_tests = [name for name in often if seconds[name] < 1]
        of_files: dict[str, list[str]] = defaultdict(list)
        for name in reached:
            if name not in first_tests:
                of_files[name.split("::")[0]].append(name)
        stem = Path(file).stem

        def order(test_file: str) -> tuple[bool, float]:
            return stem not in Path(test_file).stem, sum(
                map(seconds.__getitem__, of_files[test_file])
            )

        tests, left = list(first_tests), self.budget
        for test_file in sorted(of_files, key=order):
            for name in sorted(of_files[test_file], key=seconds.__getitem__):
                left -= seconds[name]
                if left < 0 and tests:
                    return tests
                tests.append(name)
        return tests

    def on(self, place: InPlace, mutant: dict[str, Any], items: list[pytest.Item]) -> int:
        if not place.put(mutant):
            return LATE
        for item, following in zip(items, [*items[1:], None], strict=True):
            run(item, following)
        return ALIVE


def watched(items: list[pytest.Item], files: list[str]) -> Baseline:
    """Runs tests without a mutant."""
    watch = Watch(files)
    items[0].config.pluginmanager.register(watch)
    for item, following in zip(items, [*items[1:], None], strict=True):
        watch.watch(item, following)
    watch.found.seconds = dict(watch.found.seconds)
    return watch.found


def attempt(work: Callable[[], int], limit: float) -> tuple[str, str]:
    """The outcome of a mutant, and the test that killed it."""
    with tempfile.NamedTemporaryFile(mode="r") as file:

        def stopping() -> int:
            stops.to = file.name
            return work()

        status = forked(stopping, limit)
        by = file.read()
    if status is None:
        return "timeout", ""
    return {ALIVE: "survived", LATE: "late"}.get(status, "killed"), by


def record(mutant: dict[str, Any], outcome: str, by: str) -> dict[str, Any]:
    columns = {name: mutant[name] for name in ("function", "lines", "before", "after")}
    return {**columns, "outcome": outcome, "by": by}


stops = Stops(os.devnull)


def libraries() -> list[str]:
    """Those of `HEAVY` that tests have imported."""
    return [name for name in HEAVY if name in sys.modules]


def collected(
    modules: Mapping[str, Sequence[dict[str, Any]]],
    tests: Sequence[str],
    budget: float,
    to: Mapping[str, str],
) -> tuple[dict[str, Attempts], list[str]]:
    """Tries mutants inside functions; gives those that have to be imported, and the libraries that
    tests import."""
    plugin = Collected(modules, budget, to)
    status = pytest.main([*OPTIONS, *tests], plugins=[plugin, stops])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"pytest ends with {status}")
    return plugin.late, libraries()


def imported(file: str, mutant: dict[str, Any], tests: Sequence[str]) -> int:
    """Runs tests with a mutant in place of the file, in a process that has imported nothing of
    ours."""
    Mutating.file, Mutating.source = file, mutant["source"]
    hook = importlib.machinery.FileFinder.path_hook(
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (Mutating, importlib.machinery.SOURCE_SUFFIXES),
    )
    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()
    return KILLED if pytest.main([*OPTIONS, *tests], plugins=[stops]) else ALIVE


def keep(file: str, row: dict[str, Any]) -> None:
    """Adds an outcome to those of a module, so that a run that is stopped keeps what it found."""
    path = Path(file)
    path.write_text(json.dumps([*json.loads(path.read_text()), row], indent=0))


def attempt_modules(
    modules: Mapping[str, Sequence[dict[str, Any]]],
    tests: Sequence[str],
    budget: float,
    to: Mapping[str, str],
) -> None:
    """Tries mutants and keeps what became of each.

    Args:
        modules: By file, its mutants as `mutants.py` prints them.
        tests: Files and folders of tests.
        budget: Seconds of tests that a mutant may take, as long as they take without it.
        to: By file, where outcomes are kept: a JSON file with a list.
    """
    late, heavy = answer(lambda: collected(modules, tests, budget, to), 36000)
    for name in heavy:
        import_module(name)
    # Whole files, not the names of tests: a mutant of a table may change which tests there are.
    for file, attempts in late.items():
        say(f"{Path(file).relative_to(ROOT)}: {len(attempts)} mutants of what runs at import")
        for files, limit in {(tuple(files), limit) for _, files, limit in attempts}:
            same = {"source": Path(file).read_text(encoding="utf-8")}
            outcome, _ = attempt(partial(imported, file, same, files), limit)
            if outcome != "survived":
                raise RuntimeError(f"tests fail with {file} as it is")
        for mutant, files, limit in attempts:
            outcome, by = attempt(partial(imported, file, mutant, files), limit)
            keep(to[file], record(mutant, outcome, by))


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    attempt_modules(**json.load(sys.stdin))

"""Tries mutants of modules on the tests that run what was changed.

Each mutant is imported in the place of its module, in a fork of a process that has imported the
libraries, and nothing of ours; there pytest runs the tests until one fails.
"""

import importlib.machinery
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

SURVIVED, KILLED = 0, 1
OUTCOMES = {SURVIVED: "survived", None: "timeout"}
LIBRARIES = (
    *("numpy", "pandas", "pyarrow", "pydantic"),
    *("scipy.stats", "sklearn", "statsmodels.api", "torch"),
)
"""Those that take long to import. Plugins of pytest are not among them: it has to import these
itself."""
OPTIONS = ["-q", "-x", "-s", "-p", "no:cacheprovider", "-m", "not slow"]
HOUR = 3600.0

Mutant = dict[str, Any]
"""As `mutants.py` prints it."""


@dataclass
class Baseline:
    """What the tests do where nothing is mutated."""

    seconds: Counter[str] = field(default_factory=Counter)
    """By test, with what it sets up and puts away."""
    lines: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    """By test, the lines of the modules that it runs."""
    failed: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    """That the tests import."""


def run_forked(work: Callable[[], int], limit: float, shown: bool = False) -> int | None:
    """Return the exit status of work done in a process of its own, -1 where a signal ended it, None
    where it took too long."""
    pid = os.fork()
    if not pid:
        status = KILLED
        try:
            os.setsid()
            if not shown:
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
            status = work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)
    latest = time.monotonic() + limit
    ended, status = 0, 0
    while not ended and time.monotonic() < latest:
        time.sleep(0.005)
        ended, status = os.waitpid(pid, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        os.waitpid(pid, 0)
        return None
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1


class Watch:
    """A plugin that times tests and takes down which lines of some files they run."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files, self.baseline = set(files), Baseline()
        self.lines: set[tuple[str, int]] = set()

    def trace_call(self, frame: FrameType, event: str, _: Any) -> Any:
        return self.trace_line if frame.f_code.co_filename in self.files else None

    def trace_line(self, frame: FrameType, event: str, _: Any) -> Any:
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace_line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.lines = self.baseline.lines[item.nodeid] = set()
        threading.settrace(self.trace_call)
        sys.settrace(self.trace_call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.baseline.seconds[report.nodeid] += report.duration  # type: ignore[assignment]
        if report.failed:
            self.baseline.failed.append(report.nodeid)


class Stop:
    """A plugin that stops at the first test that fails, or cannot be collected, and writes down
    which."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.file.write_text(report.nodeid)
            os._exit(KILLED)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            os._exit(KILLED)


class MutatingLoader(importlib.machinery.SourceFileLoader):
    """Imports one file as something else."""

    file, source = "", ""

    def get_code(self, fullname: str) -> CodeType | None:
        if self.path == MutatingLoader.file:
            return compile(MutatingLoader.source, self.path, "exec", dont_inherit=True)
        return super().get_code(fullname)


def run_baseline(tests: Sequence[str], files: Iterable[str]) -> Baseline:
    """Run tests without a mutant in a process of their own."""
    with tempfile.NamedTemporaryFile() as file:

        def write_baseline() -> int:
            watch = Watch(files)
            status = pytest.main([*OPTIONS, *tests], plugins=[watch])
            baseline = watch.baseline
            baseline.libraries = [name for name in LIBRARIES if name in sys.modules]
            Path(file.name).write_bytes(pickle.dumps(baseline))
            return int(status)

        status = run_forked(write_baseline, 10 * HOUR, shown=True)
        baseline: Baseline = pickle.loads(Path(file.name).read_bytes())
    if status or baseline.failed:
        raise RuntimeError(f"pytest ends with {status} where nothing is mutated")
    return baseline


def import_libraries(baseline: Baseline) -> None:
    """Import what the tests import, so that forks have it."""
    for name in baseline.libraries:
        import_module(name)


def run_mutant(file: str, source: str, tests: Sequence[str], limit: float) -> tuple[str, str]:
    """Return the outcome of a mutant, and the test that killed it."""
    with tempfile.NamedTemporaryFile(mode="r") as killer:

        def run_tests() -> int:
            MutatingLoader.file, MutatingLoader.source = file, source
            hook = importlib.machinery.FileFinder.path_hook(
                (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
                (MutatingLoader, importlib.machinery.SOURCE_SUFFIXES),
            )
            sys.path_hooks.insert(0, hook)
            sys.path_importer_cache.clear()
            status = pytest.main(
                [*OPTIONS, *tests],
                plugins=[Stop(killer.name)],
            )
            return KILLED if status else SURVIVED

        status = run_forked(run_tests, limit)
        return OUTCOMES.get(status, "killed"), killer.read()


class Trials:
    """The mutants of one module, each on its tests."""

    def __init__(self, file: str, baseline: Baseline, budget: float) -> None:
        self.file, self.baseline, self.budget = file, baseline, budget
        self.using = [
            name for name, lines in baseline.lines.items() if any(file == path for path, _ in lines)
        ]
        self.killers: Counter[str] = Counter()

    def check_unmutated(self) -> None:
        """RuntimeError where tests fail with the module as it is."""
        source = Path(self.file).read_text(encoding="utf-8")
        outcome, by = self._run(source, self.using)
        if outcome == "killed":
            raise RuntimeError(f"{by or 'a test'} fails with {self.file} as it is")

    def try_mutant(self, mutant: Mutant) -> Mutant:
        """Return a mutant with its outcome, and the test that killed it."""
        tests = self._find_tests(mutant)
        outcome, by = self._run(mutant["source"], tests) if tests else ("unreached", "")
        if by:
            self.killers[by] += 1
        columns = {name: mutant[name] for name in ("function", "lines", "before", "after")}
        return {**columns, "outcome": outcome, "by": by}

    def _run(self, source: str, tests: Sequence[str]) -> tuple[str, str]:
        chosen = self._choose_tests(tests)
        limit = 60 + 4 * sum(self.baseline.seconds[name] for name in chosen)
        return run_mutant(self.file, source, chosen, limit)

    def _find_tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a line of what was mutated, or else of its statement, or else
        use the module: what tests do in processes of their own, or at import, is not seen."""
        for first, last in mutant["lines"]:
            lines = {(self.file, line) for line in range(first, last + 1)}
            tests = [name for name, ran in self.baseline.lines.items() if ran & lines]
            if tests:
                return tests
        return self.using

    def _choose_tests(self, tests: Sequence[str]) -> list[str]:
        """Return tests as long as the budget lasts: those that killed neighbours, then those named
        like the module."""
        seconds, stem = self.baseline.seconds, Path(self.file).stem

        def rank(test: str) -> tuple[int, bool, float]:
            return -self.killers[test], stem not in test.split("::")[0], seconds[test]

        chosen: list[str] = []
        left = self.budget
        for name in sorted(tests, key=rank):
            left -= seconds[name]
            if left < 0 and chosen:
                break
            chosen.append(name)
        return chosen

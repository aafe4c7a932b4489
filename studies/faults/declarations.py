"""Random edits of `params.yaml` and of every source, and what `evenruler check` makes of them.

Case n is drawn of the number n alone, so that each can be tried again. A case is one file of a copy
of this repository, edited once to three times: as YAML (a value is taken out, replaced, renamed,
wrapped or moved) or as bytes. `check` then runs in this process as the command does, on the whole
copy; only the reading of files that were not edited is remembered from case to case. After a
refusal every file must be as it was. Prints a Markdown table, and where each traceback came from.
"""

import io
import pickle
import random
import shutil
import signal
import subprocess
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from evenruler import strict
from evenruler.errors import run_program
from evenruler.project.check import check
from studies.faults.edits import edit_bytes, edit_yaml
from studies.tables import print_head, print_row

ROOT = Path(__file__).parents[2]
COPIED = (
    *("active.yaml", "params.yaml", "dvc.yaml", "dvc.lock", ".gitignore", ".dvcignore"),
    *(".dvc/", "data/", "benchmarks/"),
)
LIMIT = 10.0
"""Seconds after which a case counts as hanging; the whole copy takes one."""

TOO_LONG = "longer than 10 s"
OUTCOMES = ("accepted", "one line", "traceback", TOO_LONG)
CHANGED = "changed after a refusal"


class TooLongError(BaseException):
    """A case took longer than `LIMIT`."""


class Copy:
    """A copy of the repository without its code, and how to put it back: by a repository of git
    beside it that holds every file."""

    def __init__(self, folder: Path, snapshot: Path) -> None:
        self.folder = folder
        self._git = ["git", f"--git-dir={snapshot}", f"--work-tree={folder}"]
        listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
        for name in listed.splitlines():
            if name.startswith(COPIED):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        for words in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
        with chdir(folder):
            check(folder)
        self._run_git("init", "-q")
        self._run_git("add", "-A", "-f")
        self.params = folder / "params.yaml"
        sources = [path for path in folder.glob("data/sources/**/*") if path.is_file()]
        self.targets = [self.params, *sorted(sources)]

    def _run_git(self, *words: str) -> list[str]:
        return subprocess.check_output([*self._git, *words], text=True).splitlines()

    def restore(self, edited: Path) -> list[str]:
        """Put everything back, and return which other files were not as they had been."""
        changed = self._run_git("diff", "--name-only") + self._run_git("ls-files", "-o")
        self._run_git("checkout", "-q", "--", ".")
        self._run_git("clean", "-fdxq")
        return [name for name in changed if self.folder / name != edited]


def edit_file(path: Path, text: bytes, draws: random.Random) -> tuple[str, bytes]:
    """Return the kind of an edit, and the file after it."""
    if path.suffix == ".yaml" and draws.random() < 0.5:
        changed = edit_yaml(text, draws)
        if changed is not None:
            return "structural", changed
    return "raw", edit_bytes(text, draws)


@contextmanager
def remembering(copy: Copy) -> Iterator[None]:
    """Keep what was read of files that are not edited from case to case."""
    paths = [path for path in copy.folder.rglob("*.yaml") if path.is_file()]
    pickle_by_text = {path.read_text(): b"" for path in paths}
    load = strict.content_of

    def read_content(text: str, path: Path) -> Any:
        if text not in pickle_by_text:
            return load(text, path)
        if not pickle_by_text[text]:
            pickle_by_text[text] = pickle.dumps(load(text, path))
        return pickle.loads(pickle_by_text[text])

    strict.content_of = read_content
    try:
        yield
    finally:
        strict.content_of = load


def run_check(root: Path) -> tuple[str, str]:
    """Return how `evenruler check` ended, and its last line or where its traceback came from."""
    errors = io.StringIO()

    def stop(_: int, __: FrameType | None) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        with redirect_stderr(errors), redirect_stdout(io.StringIO()):
            run_program(lambda: print("\n".join(check(root))))
    except SystemExit:
        lines = errors.getvalue().splitlines()
        is_one = len(lines) == 1 and lines[0].startswith("error: ")
        return ("one line" if is_one else "traceback"), errors.getvalue()[:300]
    except (TooLongError, Exception) as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return TOO_LONG if isinstance(error, TooLongError) else "traceback", describe_error(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "accepted", ""


def describe_error(error: BaseException) -> str:
    """Return an error, and the last lines of ours on its way."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/evenruler/" in frame.filename]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in ours[-4:]]
    return f"{type(error).__name__} {str(error)[:80]!r} at {' > '.join(places)}"


class Tally:
    """What became of the cases."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        """By kind of file and edit."""
        self.cases_by_cause: dict[str, list[int]] = defaultdict(list)

    def try_case(self, copy: Copy, number: int) -> None:
        """Try one case and count it."""
        draws = random.Random(number)
        path = copy.params if draws.random() < 0.3 else draws.choice(copy.targets)
        edit, text = edit_file(path, path.read_bytes(), draws)
        path.write_bytes(text)
        began = time.monotonic()
        outcome, message = run_check(copy.folder)
        changed = copy.restore(path)
        kind = f"{'params.yaml' if path == copy.params else 'sources'}, {edit}"
        self.counts[kind][outcome] += 1
        if outcome in ("traceback", TOO_LONG):
            self.cases_by_cause[f"{outcome}: {message}"].append(number)
            seconds = time.monotonic() - began
            name = path.relative_to(copy.folder)
            took = f"({seconds:.1f} s)"
            print(number, name, f"{edit}: {outcome} {message}", took, flush=True)
        elif outcome == "one line" and changed:
            self.counts[kind][CHANGED] += 1
            self.cases_by_cause[f"{CHANGED}: {changed}"].append(number)

    def print_counts(self) -> None:
        """Print the table, then each cause with some of its cases."""
        print_head("file and edit", "cases", *OUTCOMES, CHANGED)
        for kind, counts in sorted(self.counts.items()):
            n_cases = counts.total() - counts[CHANGED]
            print_row(kind, n_cases, *(counts[outcome] for outcome in (*OUTCOMES, CHANGED)))
        for cause, numbers in self.cases_by_cause.items():
            print(f"{len(numbers)} x {cause}: cases {numbers[:5]}")


def main(cases: int = 1000, first: int = 0) -> None:
    """Try cases from the first number on; print what became of them."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as snapshot:
        copy = Copy(Path(name), Path(snapshot))
        with chdir(name), remembering(copy):
            for number in range(first, first + cases):
                tally.try_case(copy, number)
    tally.print_counts()


if __name__ == "__main__":
    typer.run(main)

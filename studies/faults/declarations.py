"""Random edits of `params.yaml` and of every source, and what `evenruler check` makes of them.

Run by hand: `python -m studies.faults.declarations --cases N --first M`. Case n is drawn of
the number n alone, so that each can be tried again. A case is one file of a copy of this
repository, edited once to three times: as YAML (a value is taken out, replaced, renamed, wrapped or
moved) or as bytes. `check` then runs in this process as the command does, on the whole copy; only
the reading of files that were not edited is remembered from case to case. After a refusal every
file must be as it was. Prints a Markdown table, and where each traceback came from.
"""

import argparse
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

from ruamel.yaml import YAML

from evenruler import strict
from evenruler.errors import run_program
from evenruler.project.check import check
from studies.tables import print_head, print_row

ROOT = Path(__file__).parents[2]
TAKEN = (
    "active.yaml",
    "params.yaml",
    "dvc.yaml",
    "dvc.lock",
    ".gitignore",
    ".dvcignore",
    ".dvc/",
    "data/",
    "benchmarks/",
)
ENDS_OF_LINES = (b"\r\n", b"\r", b"\x00")
LIMIT = 10.0
"""Seconds after which a case counts as hanging; the whole copy takes one."""

ENDS = ("accepted", "one line", "traceback", "longer than 10 s")

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        3,
        10**30,
        -0.5,
        1e308,
        float("inf"),
        float("nan"),
        "",
        " ",
        "x",
        "é",
        "none",
    ),
    *(
        "../../etc/passwd",
        "/etc/passwd",
        "a.b",
        "a/b",
        "${active}",
        "${",
        "{",
        "*",
        "%",
        "\0",
        "\n",
        "\ud800",
        "\u202e",
    ),
    *(
        "x" * 300,
        "a-" * 5000 + "a",
        [],
        {},
        [None],
        [[]],
        [{}],
        {"": 1},
        {None: 1},
        {"a": {"b": {}}},
        [1, "x", None],
    ),
    *(
        "{word}",
        "{0}",
        "{",
        "}",
        "{}",
        "a an",
        "the the",
        "1e5",
        "2024-02-30",
        "package:x/y",
        "local:",
        "gguf:",
        "hub:x",
    ),
)
NAMES: tuple[Any, ...] = (
    *(
        "",
        " ",
        "a",
        "A",
        "a.b",
        "a/b",
        "..",
        "x" * 300,
        "é",
        "\0",
        "size",
        "true",
        "null",
        "1",
        1,
        1.5,
        True,
        None,
    ),
    *(
        "${a}",
        "a: b",
        "\n",
        "<<",
        "-",
        "a-",
        "-a",
        "a--b",
        "con",
        "family",
        "scale",
        "kind",
        "title",
    ),
)
BYTES = (
    *(
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\t",
        b"\r",
        b"\x85",
        b"\xe2\x80\xa8",
        b"\x1b[31m",
        b"\xed\xa0\x80",
    ),
    *(
        b"<<<<<<< HEAD\n",
        b"\n=======\n",
        b"\n>>>>>>> other\n",
        b"&a ",
        b"*a ",
        b"&a [*a]",
        b"<<: *a\n",
        b"!!binary ",
    ),
    *(
        b"!!python/object:os.system ",
        b"!!set ",
        b"!!omap ",
        b"!!timestamp ",
        b"!x ",
        b"%YAML 1.1\n",
        b"---\n",
        b"...\n",
    ),
    *(
        b"? ",
        b": ",
        b"- ",
        b"[" * 2000,
        b"{a: " * 500,
        b"- " * 400,
        b"'",
        b'"',
        b'"\\ud800"',
        b'"\\x00"',
        b"|\n",
        b">\n",
    ),
    *(
        b",",
        b"]",
        b"}",
        b"#",
        b"9" * 5000,
        b"1_000",
        b"0x" + b"f" * 5000,
        b".inf",
        b".nan",
        b"2024-02-30",
        b"~",
        b"1:2:3",
    ),
)
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
for _number in range(1, 12):
    BOMB += f"a{_number}: &a{_number} [{', '.join([f'*a{_number - 1}'] * 9)}]\n"


class TooLongError(BaseException):
    """A case took longer than `LIMIT`."""


class Copy:
    """A copy of the repository without its code, and how to put it back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in listed.stdout.splitlines():
            if name.startswith(TAKEN):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        for words in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
        with chdir(folder):
            check(folder)
        self.whole = {path: path.read_bytes() for path in self._files()}
        self.stats = self._stats()
        self.targets = sorted(
            path
            for path in self.whole
            if path.name == "params.yaml" or "data/sources/" in path.as_posix()
        )

    def _files(self) -> Iterator[Path]:
        for path in self.folder.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                yield path

    def _stats(self) -> dict[Path, tuple[int, int, int]]:
        stats = {path: path.stat() for path in self._files()}
        return {path: (stat.st_size, stat.st_mtime_ns, stat.st_ino) for path, stat in stats.items()}

    def restore(self, edited: Path) -> list[str]:
        """Put everything back; the names of files beside the edited one that were not as they had
        been."""
        now = self._stats()
        changed = [path for path in {*now, *self.stats} if now.get(path) != self.stats.get(path)]
        for path in changed:
            if path in self.whole:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self.whole[path])
                stat = path.stat()
                self.stats[path] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
            else:
                path.unlink()
        return [path.relative_to(self.folder).as_posix() for path in changed if path != edited]


def structural(text: bytes, draws: random.Random) -> bytes | None:
    """A value of a YAML file changed; None where it is none."""
    try:
        content = YAML(typ="safe").load(text.decode())
    except Exception:
        return None
    if not isinstance(content, dict | list) or not content:
        return None
    for _ in range(draws.choice((1, 1, 1, 2, 3))):
        _change(content, draws)
    out = io.BytesIO()
    try:
        YAML(typ="safe", pure=True).dump(content, out)
    except Exception:
        return None
    return out.getvalue()


def _change(content: Any, draws: random.Random) -> None:
    above = holder = content
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = draws.choice(keys)
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or draws.random() < 0.15:
            break
        above, holder = holder, inner
    act = draws.randrange(8)
    if act == 0:
        del holder[key]
    elif act in (1, 2):
        holder[key] = draws.choice(VALUES)
    elif act == 3 and isinstance(holder, dict):
        holder[draws.choice(NAMES)] = holder.pop(key)
    elif act == 4:
        holder[key] = draws.choice(([inner], {"a": inner}, [inner] * 3, str(inner), [inner, above]))
    elif act == 5:
        holder[key] = draws.choice((content, above, holder))
    elif act == 6 and isinstance(holder, dict):
        holder[draws.choice(NAMES)] = draws.choice((inner, draws.choice(VALUES)))
    elif isinstance(holder, list):
        holder.insert(draws.randrange(len(holder) + 1), draws.choice((inner, draws.choice(VALUES))))
    else:
        other = draws.choice(keys)
        holder[key], holder[other] = holder[other], holder[key]


def raw(text: bytes, draws: random.Random) -> bytes:
    """Bytes of a file changed."""
    for _ in range(draws.choice((1, 1, 2, 3))):
        start = draws.randrange(len(text) + 1)
        end = min(len(text), start + draws.choice((1, 1, 3, 20, 200, 2000)))
        act = draws.randrange(12)
        if act == 0:
            text = text[:start] + bytes([draws.randrange(256)]) + text[start + 1 :]
        elif act == 1:
            text = text[:start] + text[end:]
        elif act == 2:
            text = text[:end] + text[start:]
        elif act in (3, 4, 5, 6):
            text = text[:start] + draws.choice(BYTES) + text[start:]
        elif act == 7:
            text = text[:start]
        elif act == 8:
            text = _otherwise(text, draws)
        elif act == 9:
            lines = text.splitlines(keepends=True)
            draws.shuffle(lines)
            text = (
                b"".join(lines)
                if draws.random() < 0.1
                else text.replace(b"  ", b" ", draws.randrange(1, 50))
            )
        elif act == 10:
            words = text.split(b" ")
            text = text.replace(
                draws.choice(words) or b"a", draws.choice(words), draws.randrange(1, 9)
            )
        else:
            bomb = BOMB.encode()
            text = draws.choice((text + bomb, bomb + text, b"", b"\n", b"- a\n", b"a\n", bomb))
    return text


def _otherwise(text: bytes, draws: random.Random) -> bytes:
    """The same in another encoding, or with other ends of lines."""
    decoded = text.decode(errors="replace")
    recoded = [decoded.encode(name) for name in ("utf-16", "utf-32")]
    recoded += [decoded.encode("latin-1", "replace") + b"\xe9", decoded.encode("utf-8-sig")]
    return draws.choice([*recoded, *(text.replace(b"\n", end) for end in ENDS_OF_LINES)])


@contextmanager
def remembering(copy: Copy) -> Iterator[None]:
    """What was read of files that are not edited, from case to case."""
    pickle_by_text = {content.decode(errors="replace"): b"" for content in copy.whole.values()}
    load = strict.content_of

    def content(text: str, path: Path) -> Any:
        if text not in pickle_by_text:
            return load(text, path)
        if not pickle_by_text[text]:
            pickle_by_text[text] = pickle.dumps(load(text, path))
        return pickle.loads(pickle_by_text[text])

    strict.content_of = content
    try:
        yield
    finally:
        strict.content_of = load


def ended(root: Path) -> tuple[str, str]:
    """How `evenruler check` ended, and what it said last, or where its traceback came from."""
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
        frames = traceback.extract_tb(error.__traceback__)
        frames_here = [frame for frame in frames if "/evenruler/" in frame.filename]
        places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames_here[-4:]]
        how = "longer than 10 s" if isinstance(error, TooLongError) else "traceback"
        return how, f"{type(error).__name__} {str(error)[:80]!r} at {' > '.join(places)}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "accepted", ""


def edited(path: Path, text: bytes, draws: random.Random) -> tuple[str, bytes]:
    """The kind of an edit, and the file after it."""
    if path.suffix == ".yaml" and draws.random() < 0.5:
        changed = structural(text, draws)
        if changed is not None:
            return "structural", changed
    return "raw", raw(text, draws)


def main() -> None:
    """Try the cases; print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    causes: dict[str, list[int]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, chdir(name):
        copy = Copy(Path(name))
        with remembering(copy):
            for number in range(arguments.first, arguments.first + arguments.cases):
                tried(copy, number, counted, causes)
    print_head("file and edit", "cases", *ENDS, "changed after a refusal")
    for kind, ends in sorted(counted.items()):
        n_cases = ends.total() - ends["changed"]
        print_row(kind, n_cases, *(ends[end] for end in (*ENDS, "changed")))
    for cause, numbers in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"{len(numbers)} x {cause}: cases {numbers[:5]}")


def tried(
    copy: Copy, number: int, counted: dict[str, Counter[str]], causes: dict[str, list[int]]
) -> None:
    """Try one case and count it."""
    draws = random.Random(number)
    params = copy.folder / "params.yaml"
    path = params if draws.random() < 0.3 else draws.choice(copy.targets)
    how, text = edited(path, copy.whole[path], draws)
    path.write_bytes(text)
    began = time.monotonic()
    end, message = ended(copy.folder)
    changed = copy.restore(path)
    kind = f"{'params.yaml' if path == params else 'sources'}, {how}"
    counted[kind][end] += 1
    if end in ENDS[2:]:
        causes[f"{end}: {message}"].append(number)
        seconds = time.monotonic() - began
        name = path.relative_to(copy.folder)
        print(f"{number} {name} {how}: {end} {message} ({seconds:.1f} s)", flush=True)
    elif end == "one line" and changed:
        counted[kind]["changed"] += 1
        causes[f"changed after a refusal: {changed}"].append(number)


if __name__ == "__main__":
    main()

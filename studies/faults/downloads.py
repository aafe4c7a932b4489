"""Published folders damaged at random, and what `verify`, `diff` and the loading side of `measure`
say of them.

Each case runs in a process of its own with 6 GiB at most, each operation for 10 seconds at most.
Half of the damaged folders get a manifest that fits them again, as whoever means harm would write
it. Prints a Markdown table: how often each operation passed, passed wrongly (something is another
file than the manifest says), was one line, was a traceback, hung, or killed the process.
"""

import contextlib
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from evenruler.errors import UserError
from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.resolve_model import ResolvedModel
from evenruler.evaluate.session import Session
from evenruler.instruments.instrument import ModelMeta
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.models.declarations import OPERATIONS, Catalogue
from evenruler.publish.difference import as_json, as_markdown, compare
from evenruler.publish.manifest import columns_of, identity_of, manifest_problems
from evenruler.tables.contents import is_file
from studies.faults.edits import change_value, edit_bytes, edit_yaml
from studies.tables import print_head, print_row

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SMALL = ("framing-age", "probes-age-competence", "questionnaires-gad-7", "saged-fruit")
SECONDS, BYTES, LARGE = 10, 6 * 2**30, 10**8

OUTCOMES = ("passed", "passed wrongly", "one line", "traceback", "hang", "died")

FILE_NAMES = (
    b"caf\xe9",
    b"\x1b[2Jx",
    b"a" * 250,
    b"x\ny",
    "ünï".encode(),
    b"..x",
    b"README.MD",
)

Damage = Callable[[Path, random.Random], str]
"""Damages something in a folder, and says what."""


class Loading(Session):
    """A model that can everything, and is not there."""

    def __init__(self) -> None:
        entry = {"kind": "causal", "source": "local:x", "licence": "mit", "origin": "made up"}
        catalogue = Catalogue.model_validate({"models": {"made-up": entry}})
        model: Any = SimpleNamespace(engine="{}", start=None)
        store: Any = None
        super().__init__(ResolvedModel("made-up", catalogue, model), store)
        self.subject = ModelMeta(
            *("made-up", "causal", "made-up", frozenset(OPERATIONS)),
            chats=True,
            continues=True,
            methods=("verbaliser",),
            origin="made up",
        )


def list_files(folder: Path) -> list[Path]:
    """Return the files that lie there themselves, and are not endless."""
    paths = [path for path in sorted(folder.rglob("*")) if not path.is_symlink()]
    return [path for path in paths if path.is_file() and path.stat().st_size < LARGE]


def damage_bytes(folder: Path, draw: random.Random) -> str:
    path = draw.choice(list_files(folder))
    path.write_bytes(edit_bytes(path.read_bytes(), draw))
    return f"bytes of {path.name}"


def damage_json(folder: Path, draw: random.Random) -> str:
    name = draw.choices(
        ["manifest.json", "plan.json", "evidence.json"],
        [2, 3, 1],
    )[0]
    content = json.loads((folder / name).read_text())
    for _ in range(draw.choice([1, 1, 1, 3])):
        change_value(content, draw)
    (folder / name).write_text(json.dumps(content, indent=2, skipkeys=True))
    return f"structure of {name}"


def damage_front_matter(folder: Path, draw: random.Random) -> str:
    page = folder / "README.md"
    _, front, rest = page.read_bytes().split(b"---\n", 2)
    edit = draw.choice([edit_yaml, edit_bytes])
    page.write_bytes(
        b"---\n".join(
            [
                b"",
                edit(front, draw) or b"",
                rest,
            ]
        )
    )
    return "front matter"


def replace_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """Put others in the place of the values of a column."""
    return table.set_column(table.column_names.index(name), name, values)


def rename_column(table: pa.Table, name: str, draw: random.Random) -> pa.Table:
    return table.rename_columns({name: draw.choice(["x", "id", "\u202e", "a" * 300])})


def change_type(table: pa.Table, name: str, draw: random.Random) -> pa.Table:
    n = len(table)
    columns = [
        pa.nulls(n, pa.string()),
        pa.nulls(n),
        pa.array(range(n)),
    ]
    return replace_column(table, name, draw.choice(columns))


def change_length(table: pa.Table, name: str, draw: random.Random) -> pa.Table:
    return draw.choice(
        [
            pa.concat_tables([table] * 2),
            table.slice(0, 0),
        ]
    )


def shuffle_column(table: pa.Table, name: str, draw: random.Random) -> pa.Table:
    order = list(range(len(table)))
    draw.shuffle(order)
    return replace_column(table, name, table[name].take(order))


def write_odd_text(table: pa.Table, name: str, draw: random.Random) -> pa.Table:
    text = draw.choice(["\0", "<script>", "\u202e|`", ""])
    return replace_column(
        table,
        name,
        pa.array([text] * len(table), pa.string()),
    )


def write_broken_text(table: pa.Table, name: str, draw: random.Random) -> pa.Table:
    offsets, text = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    broken = pa.Array.from_buffers(
        pa.string(),
        1,
        [None, offsets, text],
    )
    return replace_column(
        table,
        name,
        pa.chunked_array([broken] * len(table), pa.string()),
    )


DAMAGES_OF_TABLES: list[Callable[[pa.Table, str, random.Random], pa.Table]] = [
    lambda table, name, _: table.drop_columns(name),
    *(rename_column, change_type, change_length, shuffle_column),
    lambda _, name, draw: draw.choice(
        [
            pa.table({name: [1]}),
            pa.table({}),
        ]
    ),
    *(write_odd_text, write_broken_text),
    lambda table, name, _: replace_column(
        table,
        name,
        pa.array([{"a": [1]}] * len(table)),
    ),
]


def damage_table(folder: Path, draw: random.Random) -> str:
    path = draw.choice([path for path in list_files(folder) if path.suffix == ".parquet"])
    table = pq.read_table(path, partitioning=None)
    kind = draw.randrange(len(DAMAGES_OF_TABLES))
    table = DAMAGES_OF_TABLES[kind](table, draw.choice(table.column_names), draw)
    pq.write_table(table, path, compression=draw.choice(["zstd", "gzip", "none"]))
    return f"rows, kind {kind}"


def rename_file(folder: Path, draw: random.Random) -> str:
    path = draw.choice(list_files(folder))
    name = draw.choice(FILE_NAMES)
    target = os.fsdecode(os.fsencode(path.parent) + b"/" + name)
    if draw.random() < 0.5:
        path.rename(target)
    else:
        shutil.copyfile(path, target)
    return "a name"


def replace_file(folder: Path, draw: random.Random) -> str:
    path = draw.choice(list_files(folder))
    path.unlink()
    kind = draw.choice(["link", "pipe", "folder", "size"])
    if kind == "link":
        path.symlink_to(
            draw.choice(
                [
                    "/etc/passwd",
                    "/dev/zero",
                    str(path),
                    "/" + "x" * 300,
                ]
            )
        )
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(2**40)
    return f"a {kind} for a file"


OF_CONTENT = [damage_bytes, damage_json, damage_json, damage_front_matter, damage_table]
DAMAGES: list[Damage] = [*OF_CONTENT, damage_table, rename_file, replace_file]


def damage_folder(folder: Path, draw: random.Random) -> list[str]:
    """Damage a folder in one or two ways, and say how; links and names last, since what they lead
    to is not written."""
    kinds = dict.fromkeys(
        draw.choices(
            DAMAGES,
            k=draw.choice([1, 1, 2]),
        )
    )
    descriptions = []
    for damage in sorted(kinds, key=lambda damage: damage not in OF_CONTENT):
        # The second damage of a file that the first left unreadable fails.
        with contextlib.suppress(Exception):
            descriptions.append(damage(folder, draw))
    return descriptions


def sign_again(folder: Path) -> None:
    """Make the manifest say what now lies there, as far as it can be said."""
    with contextlib.suppress(Exception):
        path = folder / "manifest.json"
        content = json.loads(path.read_text())
        for name in content["files"]:
            file = folder / name
            if file.is_file() and file.stat().st_size < LARGE:
                content["files"][name] = hashlib.sha256(file.read_bytes()).hexdigest()
        tables = {}
        for config in content["rows"]:
            path_of_rows = folder / config / "test-00000-of-00001.parquet"
            if path_of_rows in list_files(folder):
                table = pq.read_table(path_of_rows, partitioning=None)
                content["rows"][config] = table.num_rows
                content["columns"][config] = columns_of(table.schema)
                tables[config] = table
        path.write_text(json.dumps(content))
        content["content_sha256"] = identity_of(folder, tables)
        path.write_text(json.dumps(content))


def plan_measurement(folder: Path) -> None:
    """Read a folder as `measure` does before it loads a model."""
    with open_benchmark(str(folder)) as benchmark:
        Loading().plan_measurement(benchmark)


def print_json(first: Path, second: Path) -> None:
    """Print a comparison as JSON."""
    print(json.dumps(as_json(compare(first, second)), ensure_ascii=False))


def list_operations(folder: Path, original: Path) -> dict[str, Callable[[], object]]:
    """Return what is tried on a folder."""
    return {
        "verify": lambda: manifest_problems(folder),
        "diff to it": lambda: print(as_markdown(compare(original, folder))),
        "diff from it": lambda: print_json(folder, original),
        "measure": lambda: plan_measurement(folder),
    }


def try_operation(call: Callable[[], object]) -> tuple[str, str]:
    """Return an outcome, and what was printed of it."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out):
            problems = call()
            if isinstance(problems, list):
                print("\n".join(problems))
    except UserError as error:
        line = str(error)
        if "\n" in line or len(line) >= 2_000:
            return "traceback", f"long line: {line[:300]}"
        return "one line", line
    except Exception:
        return "traceback", traceback.format_exc()
    return ("one line", problems[0]) if problems else ("passed", "")


Outcomes = dict[str, tuple[str, str, float]]
"""By operation: the outcome, what was printed, seconds."""


def try_operations(folder: Path, original: Path) -> tuple[Outcomes, int]:
    """Return what becomes of every operation in a process of its own, and the peak memory, KiB; a
    kill ends them."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for name, call in list_operations(folder, original).items():
            signal.alarm(SECONDS)
            began = time.monotonic()
            outcome, message = try_operation(call)
            record = [
                name,
                outcome,
                message[-4_000:],
                time.monotonic() - began,
            ]
            os.write(write, json.dumps(record).encode() + b"\n")
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        outcomes: Outcomes = {name: tuple(rest) for name, *rest in map(json.loads, pipe)}
    _, status, used = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        last = next(name for name in list_operations(folder, original) if name not in outcomes)
        outcome = "hang" if number == signal.SIGALRM else "died"
        outcomes[last] = outcome, f"signal {number}", float(SECONDS)
    return outcomes, used.ru_maxrss


def is_changed(folder: Path, original: Path, names: list[str]) -> bool:
    """Return whether a file is another one than in the original."""
    for name in names:
        path = folder / name
        if not is_file(path) or path.stat().st_size >= LARGE:
            return True
        if path.read_bytes() != (original / name).read_bytes():
            return True
    return False


@dataclass
class Tally:
    """What became of all cases."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By operation and outcome."""
    cases_by_cause: dict[str, list[str]] = field(default_factory=dict)
    peak: int = 0
    """KiB."""
    longest: float = 0.0

    def try_case(self, number: int, seed: int, folder: Path) -> None:
        """Damage a copy of a benchmark, and count what becomes of it."""
        draw = random.Random(f"{seed}/{number}")
        original = BENCHMARKS / draw.choice(SMALL)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(original, folder)
        names = [path.relative_to(original).as_posix() for path in list_files(original)]
        damages = "; ".join(damage_folder(folder, draw))
        is_signed = draw.random() < 0.5
        if is_signed:
            sign_again(folder)
        names_by_operation: dict[str, list[str]] = {}
        if not is_signed and not is_changed(folder, original, ["manifest.json"]):
            rows = [name for name in names if name.endswith(".parquet")]
            names_by_operation = {"verify": names, "measure": [*rows, "plan.json"]}
        outcomes, peak = try_operations(folder, original)
        self.peak = max(self.peak, peak)
        for operation, (outcome, line, seconds) in outcomes.items():
            self.longest = max(self.longest, seconds)
            names_read = names_by_operation.get(operation, [])
            if outcome == "passed" and is_changed(folder, original, names_read):
                outcome = "passed wrongly"
            self.counts[operation, outcome] += 1
            if outcome not in ("passed", "one line"):
                last_line = line.strip().splitlines()[-1][:160] if line else ""
                case = f"case {number} ({original.name}, {damages}), {operation}\n{line[-1500:]}"
                self.cases_by_cause.setdefault(
                    f"{outcome}: {last_line}",
                    [],
                ).append(case)


def main(cases: int = 3000, seed: int = 0) -> None:
    """Try the cases; print what became of them."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for family in FAMILIES:
        for module in ("ask", "declare"):
            family_module(family, module)
    tally, began = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "it"
        for number in range(cases):
            tally.try_case(number, seed, folder)
    print_head("operation", *OUTCOMES)
    for name in list_operations(folder, folder):
        print_row(
            name,
            *(f"{tally.counts[name, outcome]:,}" for outcome in OUTCOMES),
        )
    seconds, gib = time.monotonic() - began, tally.peak / 2**20
    print(
        f"\n{cases:,} cases in {seconds:.0f} s; ",
        end="",
    )
    print(f"the longest {tally.longest:.1f} s, the largest {gib:.2f} GiB")
    for cause, cases_of_cause in tally.cases_by_cause.items():
        print(
            f"\n{len(cases_of_cause)} x {cause}\n{cases_of_cause[0]}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    typer.run(main)

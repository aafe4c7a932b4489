"""Published folders damaged at random, and what `verify`, `diff` and the loading side of `measure`
say of them.

Run by hand: `python -m tests.performance.fuzz_downloads --cases 3000 --seed 0`. Each case runs in a
process of its own with 6 GiB at most, each operation for 10 seconds at most. Half of the damaged
folders get a manifest that fits them again, as whoever means harm would write it. Prints a Markdown
table: how often each operation passed, passed wrongly (something is another file than the manifest
says), was one line, was a traceback, hung, or killed the process.
"""

import argparse
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
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.errors import UserError
from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.resolve_model import ResolvedModel
from evenruler.evaluate.session import Session
from evenruler.instruments.instrument import ModelMeta
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.models.declarations import OPERATIONS, Catalogue
from evenruler.publish import difference as showing
from evenruler.publish.difference import compare
from evenruler.publish.manifest import columns_of, identity_of, manifest_problems
from evenruler.tables.contents import is_file
from tests.performance.fuzz_declarations import BOMB
from tests.performance.tables import print_head, print_row

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SMALL = ("framing-age", "probes-age-competence", "questionnaires-gad-7", "saged-fruit")
SECONDS, BYTES, LARGE = 10, 6 * 2**30, 10**8

KINDS = ("passed", "passed wrongly", "one line", "traceback", "hang", "died")

HOSTILE: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        2**31,
        2**63,
        10**40,
        0.5,
        1e308,
        -0.0,
        "",
        " ",
        "x",
        "a" * 300,
        "../x",
        "/etc/passwd",
    ),
    *(
        "\0",
        "\x1b[2J",
        "\u202e",
        ".",
        "a**",
        "**/*",
        "*" * 60 + "x",
        "[",
        "{0.__class__}",
        "{{ 7 * 7 }}",
        "!!python/name:os.system",
    ),
    *(
        [],
        {},
        [[]],
        [{}],
        {"": ""},
        {"value": "x"},
        {"value": None},
        ["a", 1, None],
        {"a": {"b": {}}},
        list(range(2000)),
    ),
]
TEXTS = (
    BOMB,
    "x: " + "[" * 3000,
    "x: " + "{a: " * 3000,
    "x: 2025-13-45\n",
    "x: !!python/object/apply:os.system [true]\n",
    "? [a, b]\n: c\n",
    "x: !!binary x\n",
    "x: 0o9\n",
    "x: 1e99999\n",
    "- \t- x\n",
    'x: "\\uD800"\n',
    "x: " + "9" * 5000 + "\n",
)


class Loading(Session):
    """A model that can everything, and is not there."""

    def __init__(self) -> None:
        self.subject = ModelMeta(
            *("made-up", "causal", "made-up", frozenset(OPERATIONS)),
            chats=True,
            continues=True,
            methods=("verbaliser",),
            origin="made up",
        )
        entry = {"kind": "causal", "source": "local:x", "licence": "mit", "origin": "made up"}
        catalogue = Catalogue.model_validate({"models": {"made-up": entry}})
        model: Any = SimpleNamespace(engine="{}", start=None)
        self._chosen = ResolvedModel("made-up", catalogue, model)


def nodes(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a structure: what holds it, and its key there."""
    keys: Collection[Any] = ()
    if isinstance(content, dict):
        keys = list(content)
    elif isinstance(content, list):
        keys = range(len(content))
    for key in keys:
        yield content, key
        yield from nodes(content[key])


def mutate(content: Any, draw: random.Random) -> None:
    """Change one place of a structure."""
    places = list(nodes(content))
    if not places:
        return
    holder, key = draw.choice(places)
    kind = draw.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[draw.choice(["x", "", "../x", "\0", "id", "value", "a" * 300])] = holder.pop(key)
    elif kind == 2:
        other, there = draw.choice(places)
        with contextlib.suppress(LookupError):
            holder[key] = json.loads(json.dumps(other[there]))
    else:
        holder[key] = draw.choice(HOSTILE)


def files_of(folder: Path) -> list[Path]:
    """That lie there themselves, and are not endless."""
    paths = [path for path in sorted(folder.rglob("*")) if not path.is_symlink()]
    return [path for path in paths if path.is_file() and path.stat().st_size < LARGE]


def some_bytes(folder: Path, draw: random.Random) -> str:
    path = draw.choice(files_of(folder))
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 1, 3, 30])):
        start, kind = draw.randrange(len(data) + 1), draw.randrange(4)
        if kind == 0:
            data[start : start + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            del data[start : start + draw.choice([1, 10, 10_000])]
        elif kind == 2:
            data[start:start] = draw.choice([b"\0" * 8, b"\xff" * 4, b"[" * 50, b"{", b"---\n"])
        else:
            data[start : start + 16] = draw.randbytes(16)
    path.write_bytes(data)
    return f"bytes of {path.name}"


def some_json(folder: Path, draw: random.Random) -> str:
    name = draw.choice(
        ["manifest.json", "manifest.json", "plan.json", "plan.json", "plan.json", "evidence.json"]
    )
    content = json.loads((folder / name).read_text())
    for _ in range(draw.choice([1, 1, 1, 3])):
        mutate(content, draw)
    if draw.random() < 0.05:
        content = draw.choice(HOSTILE)
    text = json.dumps(content, indent=2)
    if draw.random() < 0.05:
        text = text.replace("{", "{" + '"deep": ' + draw.choice(["[", '{"a":']) * 5000, 1)
    (folder / name).write_text(text)
    return f"structure of {name}"


def some_yaml(folder: Path, draw: random.Random) -> str:
    from ruamel.yaml import YAML

    _, front, rest = (folder / "README.md").read_text().split("---\n", 2)
    if draw.random() < 0.4:
        text = draw.choice(TEXTS)
        front = text + front if draw.random() < 0.5 else front + text
    else:
        content = YAML(typ="safe", pure=True).load(front)
        for _ in range(draw.choice([1, 1, 3])):
            mutate(content, draw)
        front = json.dumps(content) + "\n"
    (folder / "README.md").write_text(f"---\n{front}---\n{rest}")
    return "front matter"


def some_parquet(folder: Path, draw: random.Random) -> str:
    path = draw.choice([path for path in files_of(folder) if path.suffix == ".parquet"])
    table = pq.read_table(path, partitioning=None)
    column = draw.randrange(table.num_columns)
    name, kind = table.column_names[column], draw.randrange(10)
    if kind == 0:
        table = table.drop_columns(name)
    elif kind == 1:
        names = table.column_names
        names[column] = draw.choice(["x", "id", "\u202e", "a" * 300])
        table = table.rename_columns(names)
    elif kind == 2:
        n = len(table)
        columns = [pa.nulls(n, pa.string()), pa.nulls(n), pa.array(range(n))]
        table = table.set_column(column, name, draw.choice(columns))
    elif kind == 3:
        is_doubled = draw.random() < 0.5 and len(table)
        table = pa.concat_tables([table] * 2) if is_doubled else table.slice(0, 0)
    elif kind == 4:
        order = list(range(len(table)))
        draw.shuffle(order)
        table = table.set_column(column, table.field(column), table.column(column).take(order))
    elif kind == 5:
        table = pa.table({name: [1]}) if draw.random() < 0.5 else pa.table({})
    elif kind == 6:
        text = "x" * (100_000_000 // (len(table) + 1))
        table = table.set_column(column, name, pa.array([text] * len(table)))
    elif kind == 7:
        values = draw.choice([["\0"], ["<script>"], ["\u202e|`"], [""]]) * len(table)
        table = table.set_column(column, name, pa.array(values, pa.string()))
    elif kind == 8:
        places, text = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
        broken = pa.Array.from_buffers(pa.string(), 1, [None, places, text])
        table = table.set_column(column, name, pa.chunked_array([broken] * len(table), pa.string()))
    else:
        table = table.set_column(column, name, pa.array([{"a": [1]}] * len(table)))
    pq.write_table(table, path, compression=draw.choice(["zstd", "gzip", "none"]))
    return f"rows, kind {kind}"


def some_name(folder: Path, draw: random.Random) -> str:
    path = draw.choice(files_of(folder))
    new = draw.choice(
        [
            b"caf\xe9",
            b"\x1b[2Jx",
            b"a" * 250,
            b"x\ny",
            "ünï".encode(),
            b"..x",
            path.name.upper().encode(),
        ]
    )
    target = os.fsencode(path.parent) + b"/" + new
    if draw.random() < 0.5:
        path.rename(os.fsdecode(target))
    else:
        shutil.copyfile(path, os.fsdecode(target))
    return "a name"


def some_link(folder: Path, draw: random.Random) -> str:
    path = draw.choice(files_of(folder))
    path.unlink()
    kind = draw.randrange(7)
    if kind == 0:
        path.symlink_to("/etc/passwd")
    elif kind == 1:
        path.symlink_to("/dev/zero")
    elif kind == 2:
        path.symlink_to(path)
    elif kind == 3:
        path.symlink_to("/" + "x" * 300)
    elif kind == 4:
        os.mkfifo(path)
    elif kind == 5:
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(2**40)
    return f"a link, kind {kind}"


DAMAGES: list[Callable[[Path, random.Random], str]] = [
    *(some_bytes, some_json, some_json, some_yaml, some_parquet, some_parquet, some_name, some_link)
]


def damaged(folder: Path, draw: random.Random) -> list[str]:
    """Damage a folder in one or two ways, and say how; links and names last, since what they lead
    to is not written."""
    kinds = dict.fromkeys(draw.choices(DAMAGES, k=draw.choice([1, 1, 2])))
    descriptions = []
    for damage in sorted(kinds, key=lambda damage: damage in (some_name, some_link)):
        # The second damage of a file that the first left unreadable fails.
        with contextlib.suppress(Exception):
            descriptions.append(damage(folder, draw))
    return descriptions


def resign(folder: Path) -> None:
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
            if path_of_rows not in files_of(folder):
                continue
            table = pq.read_table(path_of_rows, partitioning=None)
            content["rows"][config] = table.num_rows
            content["columns"][config] = columns_of(table.schema)
            tables[config] = table
        path.write_text(json.dumps(content))
        content["content_sha256"] = identity_of(folder, tables)
        path.write_text(json.dumps(content))


def operations(folder: Path, original: Path) -> dict[str, Callable[[], object]]:
    def loaded() -> None:
        with open_benchmark(str(folder)) as benchmark:
            Loading().planned(benchmark)

    return {
        "verify": lambda: manifest_problems(folder),
        "diff to it": lambda: print(showing.as_markdown(compare(original, folder))),
        "diff from it": lambda: print(
            json.dumps(showing.as_json(compare(folder, original)), ensure_ascii=False)
        ),
        "measure": loaded,
    }


def outcome(call: Callable[[], object]) -> tuple[str, str]:
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


def in_a_process(folder: Path, original: Path) -> tuple[dict[str, tuple[str, str, float]], int]:
    """What becomes of every operation, with its seconds, and the peak memory, KiB; a kill ends
    them."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for name, call in operations(folder, original).items():
            signal.alarm(SECONDS)
            began = time.monotonic()
            kind, message = outcome(call)
            record = [name, kind, message[-4_000:], time.monotonic() - began]
            os.write(write, json.dumps(record).encode() + b"\n")
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        outcomes = {name: tuple(outcome) for name, *outcome in map(json.loads, pipe)}
    _, status, used = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        last = next(name for name in operations(folder, original) if name not in outcomes)
        kind = "hang" if number == signal.SIGALRM else "died"
        outcomes[last] = kind, f"signal {number}", float(SECONDS)
    return outcomes, used.ru_maxrss


def changed(folder: Path, original: Path, names: list[str]) -> bool:
    """Whether a file is another one than in the original."""

    def same(name: str) -> bool:
        path = folder / name
        if not is_file(path) or path.stat().st_size >= LARGE:
            return False
        return path.read_bytes() == (original / name).read_bytes()

    return not all(map(same, names))


@dataclass
class Tally:
    """What became of all cases."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By operation and kind of outcome."""
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
        names = [path.relative_to(original).as_posix() for path in files_of(original)]
        damages = "; ".join(damaged(folder, draw))
        signed = draw.random() < 0.5
        if signed:
            resign(folder)
        is_unsigned = not signed and not changed(folder, original, ["manifest.json"])
        read = [name for name in names if name.endswith(".parquet") or name == "plan.json"]
        names_by_operation = {"verify": names, "measure": read} if is_unsigned else {}
        outcomes, peak = in_a_process(folder, original)
        self.peak = max(self.peak, peak)
        for operation, (kind, line, seconds) in outcomes.items():
            self.longest = max(self.longest, seconds)
            checked = names_by_operation.get(operation)
            if kind == "passed" and checked and changed(folder, original, checked):
                kind = "passed wrongly"
            self.counts[operation, kind] += 1
            if kind not in ("passed", "one line"):
                last_line = line.strip().splitlines()[-1][:160] if line else ""
                case = f"case {number} ({original.name}, {damages}), {operation}\n{line[-1500:]}"
                self.cases_by_cause.setdefault(f"{kind}: {last_line}", []).append(case)


def main() -> None:
    """Try the cases; print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for family in FAMILIES:
        for module in ("ask", "declare"):
            family_module(family, module)
    tally, began = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "it"
        for number in range(arguments.cases):
            tally.try_case(number, arguments.seed, folder)
    print_head("operation", *KINDS)
    for name in operations(folder, folder):
        print_row(name, *(f"{tally.counts[name, kind]:,}" for kind in KINDS))
    seconds, gib = time.monotonic() - began, tally.peak / 2**20
    print(f"\n{arguments.cases:,} cases in {seconds:.0f} s; ", end="")
    print(f"the longest {tally.longest:.1f} s, the largest {gib:.2f} GiB")
    for cause, cases in sorted(tally.cases_by_cause.items(), key=lambda pair: -len(pair[1])):
        print(f"\n{len(cases)} x {cause}\n{cases[0]}", file=sys.stderr)


if __name__ == "__main__":
    main()

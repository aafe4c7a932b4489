"""Keep git's version of a generated file or folder where a new one differs only in the last digits
of figures.

Another processor, or another number of threads, computes other last bits, which may change the last
digit written. That is not a real change: after a rebuild, `git status` shows only real ones.
"""

import io
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.files import replace_folder, write_text_atomically
from evenruler.repository import git
from evenruler.tables.frames import TOLERANCE, differing_rows

EXPERIMENT = "DVC_EXP_NAME"
"""Environment variable that DVC sets while an experiment runs."""

STEPS = 1.5
"""Tolerance for numbers in text, which keep trailing zeros, in steps of the last digit: 0.48 and
0.49, not 0.50."""

_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
_SUM = re.compile(r"\b[0-9a-f]{64}\b")
"""Checksums of other files, ignored here, since those files are compared themselves."""


def keep_held(path: Path) -> bool:
    """Restore a path from git's HEAD where it differs only in last digits; returns whether it was
    restored.

    Not in an experiment of DVC, which is to show every difference.
    """
    if EXPERIMENT in os.environ:
        return False
    listed = git(Path(), "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", path.as_posix())
    names = [name for name in (listed or b"").decode().split("\0") if name]
    present_names = (
        sorted(file.as_posix() for file in path.rglob("*") if file.is_file())
        if path.is_dir()
        else [path.as_posix()]
    )
    if sorted(names) != present_names:
        return False
    held = {name: git(Path(), "show", f"HEAD:./{name}") or b"" for name in names}
    changed = [name for name in names if Path(name).read_bytes() != held[name]]
    if not changed or not all(
        _is_alike(name, held[name], Path(name).read_bytes()) for name in changed
    ):
        return False
    if path.is_dir():
        with replace_folder(path) as working:
            for name, content in held.items():
                file = working / Path(name).relative_to(path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
    else:
        write_text_atomically(path, held[path.as_posix()].decode())
    return True


def _is_alike(name: str, held: bytes, new_content: bytes) -> bool:
    """Whether two versions of a file differ in nothing but the last digits of numbers, and, in
    text, in checksums.
    """
    if name.endswith(".parquet"):
        held_table = pq.read_table(io.BytesIO(held))
        new_table = pq.read_table(io.BytesIO(new_content))
        return _are_tables_alike(held_table, new_table)
    held_text = _SUM.sub("", held.decode())
    new_text = _SUM.sub("", new_content.decode())
    if _NUMBER.sub("", held_text) != _NUMBER.sub("", new_text):
        return False
    held_numbers, new_numbers = _NUMBER.findall(held_text), _NUMBER.findall(new_text)
    for held_number, new_number in zip(held_numbers, new_numbers, strict=True):
        most = TOLERANCE
        if not name.endswith(".json"):
            most = STEPS * min(_last_digit_step(held_number), _last_digit_step(new_number))
        if abs(float(held_number) - float(new_number)) > most:
            return False
    return True


def _last_digit_step(number: str) -> float:
    """One step of the last digit written."""
    digits, _, exponent = number.partition("e")
    _, _, decimals = digits.partition(".")
    return 10.0 ** (int(exponent or 0) - len(decimals))


def _are_tables_alike(held: pa.Table, new_table: pa.Table) -> bool:
    """Whether rows are the same, numbers within 1e-4, as likelihoods are; hashes of rows are
    ignored.
    """
    if held.schema != new_table.schema or len(held) != len(new_table):
        return False
    names = [name for name in held.column_names if name != "content_sha256"]
    pairs = ((held[name].combine_chunks(), new_table[name].combine_chunks()) for name in names)
    return not any(
        differing_rows(held_column, new_column, 1e-4).any() for held_column, new_column in pairs
    )

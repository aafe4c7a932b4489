"""Reads `equivalent.md`: mutants that no test can tell from the code, each with a reason."""

import re
from pathlib import Path

FILE = Path(__file__).with_name("equivalent.md")
LINE = re.compile(r"- `` (.+?) `` -> `` (.*?) ``")

Mutant = tuple[str, str, str]
"""Module, lines before and lines after."""


def read_equivalents() -> dict[Mutant, str]:
    """Return by mutant the reason: the paragraph above it, below the heading that names the
    module."""
    reason_by_mutant: dict[Mutant, str] = {}
    module = reason = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            module = line.removeprefix("## ").strip()
        elif line.startswith("- "):
            fits = LINE.fullmatch(line)
            assert fits, f"{FILE.name}: cannot read {line!r}"
            reason_by_mutant[module, fits[1], fits[2]] = reason
        elif line:
            reason = line
    return reason_by_mutant

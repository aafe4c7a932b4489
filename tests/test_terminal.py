"""Nothing that others wrote steers a terminal: all that commands print goes through one door."""

import ast
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenruler
from evenruler.errors import UserError, run_program
from evenruler.terminal import escape_unprintable, print_note, say

HOUSE = Path(evenruler.__file__).parent
STEERS = "a\x1b[2J\x9b31m\x07\u202e\t\U000e0001b"


def test_what_steers_a_terminal_is_shown_and_not_done() -> None:
    assert escape_unprintable("a\x1b[2J\tb\u202e\ud800ü\n") == "a\\u001b[2J\\tb\\u202e\\ud800ü\n"


def test_json_stays_what_it_was() -> None:
    content = {"part": STEERS, "ü": "東京\u00a0"}
    shown = escape_unprintable(json.dumps(content, indent=2, ensure_ascii=False))
    assert json.loads(shown) == content
    assert shown.replace("\n", "").isprintable()
    assert '"ü": "東京' in shown


def test_all_that_is_said_is_printable(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        say(STEERS, end="")
        say(STEERS, err=True)
        print_note(STEERS)
        raise UserError(STEERS)

    with pytest.raises(SystemExit):
        run_program(refuse)
    out, err = capsys.readouterr()
    assert out == escape_unprintable(STEERS)
    assert err.splitlines() == [escape_unprintable(STEERS)] * 2 + [
        f"error: {escape_unprintable(' '.join(STEERS.split()))}"
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_an_encoding_lacks_is_escaped(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `PYTHONIOENCODING=ascii`, or in the POSIX locale; JSON stays what it was."""
    content = {"naïve": "東京 🎉"}
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    run_program(lambda: say(json.dumps(content, ensure_ascii=False)))
    printed = stream.buffer.getvalue().decode(encoding)
    shown = {"ascii": "na\\u00efve", "latin-1": "naïve", "utf-8": "naïve"}[encoding]
    assert json.loads(printed) == content
    assert printed.startswith(f'{{"{shown}"')
    assert ("東京" in printed) is (encoding == "utf-8")


def _doors() -> Iterator[str]:
    for path in sorted(HOUSE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "typer.echo",
                "click.echo",
            ):
                yield path.relative_to(HOUSE).as_posix()


def test_there_is_one_door() -> None:
    """What `project` prints is our own: names of stages and models, and what its processes said."""
    assert {door for door in _doors() if not door.startswith("project/")} == {"terminal.py"}

"""Nothing that others wrote steers a terminal: all that commands print goes through one door."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenruler
from evenruler.errors import UserError, run_program
from evenruler.terminal import escape_unprintable, print_note, say, text_width

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


def test_text_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in {"60": 80, "100": 100, "300": 120}.items():
        monkeypatch.setenv("COLUMNS", columns)
        assert text_width() == width

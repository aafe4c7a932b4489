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
from evenruler.publish.manifest import as_json
from evenruler.report.page import gzip_base64
from evenruler.terminal import STEERS as STEERING
from evenruler.terminal import escape_unprintable, print_note, say, text_width
from tests.report.pages import unpacked

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


SHOWN = "a\\u001b[2J\\u009b31m\\u0007\\u202e\t\U000e0001b"
"""`STEERS` in a file: what a script or an emoji needs stays."""


def test_what_steers_is_escaped_in_all_that_templates_write() -> None:
    """Pages, cards and differences of versions."""
    from evenruler.files import jinja_environment

    for autoescape in (True, False):
        template = jinja_environment("evenruler.report", autoescape=autoescape).from_string(
            "{% macro twice(text) %}{{ text }}{{ text }}{% endmacro %}{{ twice(text) }}\n"
        )
        assert template.render(text=STEERS) == f"{SHOWN}{SHOWN}\n"


def test_what_steers_is_escaped_in_pictures_of_a_page() -> None:
    content = {"labels": [STEERS, "\u00a02.40"], STEERS: 1.5}
    shown = {"labels": [SHOWN, "\u00a02.40"], SHOWN: 1.5}
    assert unpacked(gzip_base64(content)) == shown


def test_what_steers_is_escaped_in_files_of_json_which_stay_what_they_were() -> None:
    content = {"part": STEERS, "\u202e": "\ud800 2.40"}
    text = as_json(content)
    assert json.loads(text) == content
    assert STEERING.search(text) is None


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

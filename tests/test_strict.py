"""Texts of users; YAML is tried in `tests/faults/declarations.py`."""

from pathlib import Path

import pytest
from pydantic import Field

from evenruler.strict import Slug, StrictModel, Text, read_yaml, validate


class Told(StrictModel):
    """A source in small."""

    title: Text = "A title"
    control: bool = False
    words: list[Text] = Field(default_factory=list)
    parts: dict[Slug, Text] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty, expected keys; write `key: value`"),
        ("a title\n", "found str, expected keys; write `key: value`"),
        ("title: 2026\n", "title: found 2026, expected text; put it in quotes"),
        ("title: {TARGET}\n", "title: found {'TARGET': None}, expected text; put it in quotes"),
        ("title:\n", "title: found nothing, expected text; write it"),
        ("title: FILL me\n", "title: found 'FILL me', expected your text in place of FILL; fix it"),
        ("control: yes\n", "control: found 'yes', expected true or false; write one of them"),
        ("words: one, two\n", "words: found 'one, two', expected a list; write [one, two]"),
        ("parts: one, two\n", "parts: found 'one, two', expected keys; write `key: value`"),
        ("title: a\ntitle: []\n", 'line 2: found duplicate key "title"; keep one of the two'),
        (
            "title: Age: x\n",
            "line 1: mapping values are not allowed here; "
            "fix the YAML there; a text that begins with { or holds a colon stands in quotes",
        ),
    ],
)
def test_yaml_that_is_refused_says_what_to_write(
    tmp_path: Path, error_of, text: str, message: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert error_of(lambda: validate(Told, read_yaml(path), path)) == f"{path}: {message}"


def test_a_text_that_holds_fill_in_another_word_is_read() -> None:
    assert Told(title="FILLED, refill and fill").title == "FILLED, refill and fill"

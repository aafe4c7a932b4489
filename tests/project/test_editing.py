"""Editing one section of a file that people also edit."""

import shutil
from pathlib import Path

import pytest
from dvc.utils.hydra import apply_overrides

from evenruler.project.editing import append_entries, edit_section, set_keys

ROOT = Path(__file__).parents[2]

TEXT = """\
# Above.
one: {a:   1} # loosely written

# Of the second.
two:
  b: "x" # quoted

  # The last word.

# Of the third.
three:    [1,2]
"""


def add(document) -> None:
    document.setdefault("two", {})["c"] = 3


def test_a_section_changes_and_the_rest_stays_byte_for_byte() -> None:
    assert edit_section(TEXT, "two", add) == TEXT.replace(
        "  # The last word.\n", "  # The last word.\n  c: 3\n"
    )


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_section_that_lacks_comes_last(end) -> None:
    text = "one: {a:   1}\n\n# The end."
    assert edit_section(text + end, "two", add) == f"{text}\ntwo:\n  c: 3\n"


def test_an_anchor_of_another_section_is_kept() -> None:
    text = "one:\n  a: &anchored {b: 1}\ntwo:\n  x: *anchored\n"
    assert edit_section(text, "two", add) == f"{text}  c: 3\n"


def test_an_anchor_that_another_section_names_is_kept() -> None:
    text = "two:\n  x: &anchored {b: 1}\nthree: *anchored\n"
    assert (
        edit_section(text, "two", add) == "two:\n  x: &anchored {b: 1}\n  c: 3\nthree: *anchored\n"
    )


def test_params_yaml_is_in_the_style_that_dvc_writes(tmp_path: Path) -> None:
    """`dvc exp run --set-param` changes one line. Of a value that an alias shares it would change
    none."""
    path = Path(shutil.copy(ROOT / "params.yaml", tmp_path / "params.yaml"))
    before = path.read_text()
    apply_overrides(str(path), ["instruments.occupation-gender-evolved.evolve.weights.alpha=0"])
    old, new = "        alpha: 0.2\n", "        alpha: 0\n"
    assert path.read_text() == before.replace(old, new, 1) != before


KEYS = """\
top:
  a: {b: 1,   c: x} # loosely written
  d:
    b: >-
      long
      text

    # Of c.
    c: 'x' # quoted
  e:
    b: 1
    f: # nothing yet
# The end of it.
"""


def test_keys_are_set_and_the_rest_stays_byte_for_byte() -> None:
    """On one line, folded, empty, missing; a text that would be no text is in quotes."""
    by_path: dict[str, str | float] = {
        "a new": "1e5",
        "a c": "one, two",
        "d b": "short",
        "e f": 0.8,
        "e new": "off",
    }
    settings = {("top", *path.split()): setting for path, setting in by_path.items()}
    assert set_keys(KEYS, settings, "b") == (
        KEYS.replace("{b: 1,   c: x}", "{b: 1, new: '1e5',   c: 'one, two'}")
        .replace(">-\n      long\n      text\n", "short\n")
        .replace("f: #", "f: 0.8 #")
        .replace("  e:\n    b: 1\n", "  e:\n    b: 1\n    new: off\n")
    )


@pytest.mark.parametrize("path", ["none a b", "top none b", "top a new", "top a b more"])
def test_a_place_that_is_not_written_is_no_place(path) -> None:
    with pytest.raises(KeyError):
        set_keys(KEYS, {tuple(path.split()): "y"}, "none")


@pytest.mark.parametrize("end", ["\n", "", "\n\n  # Of nobody.\n\nnext: {a:   1}\n"])
def test_an_entry_is_put_before_comments_that_end_its_section(end) -> None:
    text = "top: # it\n    a: {b:   1} # last"
    entry = {"kind": "causal", "thinking": "off", "families": ["saged"]}
    lines = "\n    c:\n      kind: causal\n      thinking: off\n      families:\n      - saged"
    assert append_entries(text + end, "top", {"c": entry}) == text + lines + end


@pytest.mark.parametrize("text", ["top: {a: 1}\n", "top: {}\n", "other:\n  a: 1\n"])
def test_a_section_without_lines_of_its_own_takes_no_entry(text) -> None:
    with pytest.raises(KeyError):
        append_entries(text, "top", {"c": {"kind": "causal"}})

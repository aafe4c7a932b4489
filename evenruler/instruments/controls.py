"""What the methods `choice` and `written` ask besides an instrument's own rows, as plans store
it.
"""

from pathlib import Path

from evenruler.strict import read_yaml


def load_control_pairs() -> list[list[str]]:
    """Pairs of sentences whose first one makes sense: whoever chooses between sentences gets them
    right.
    """
    pairs: list[list[str]] = read_yaml(Path(__file__).with_name("known_answers.yaml"))
    return pairs


def load_writing_subjects() -> dict[str, str]:
    """By name, descriptions of whom to write about; `{}` stands for the word."""
    subjects: dict[str, str] = read_yaml(Path(__file__).with_name("writing.yaml"))
    return subjects

"""Text files of users: sentences and questions that are not to be kept here."""

from collections.abc import Sequence
from pathlib import Path

from evenruler.errors import UserError
from evenruler.strict import read_text


def lines_of(file: str, where: str) -> list[str]:
    """The sentences of a text file with a sentence a line, each once.

    Args:
        file: Its path, maybe below `~`.
        where: What names it, for the error.

    Raises:
        UserError: It is not there, not UTF-8, or holds no sentence.
    """
    lines = Path(file).expanduser()
    if not lines.is_file():
        raise UserError(f"no file {file}", where=where, remedy="put it there or mend the name")
    text = read_text(lines)
    sentences = list(dict.fromkeys(filter(None, map(str.strip, text.splitlines()))))
    if not sentences:
        raise UserError("holds no sentence", where=str(lines), remedy="write a sentence a line")
    return sentences


def licensed_wording(file: str, items: Sequence[str], where: str) -> dict[str, str]:
    """The questions of a questionnaire whose wording is not to be published.

    Args:
        file: A text file with a line an item, maybe below `~`.
        items: Slugs, in the order of the lines.
        where: What names the file, for the error, which repeats no line of it.

    Returns:
        By item.

    Raises:
        UserError: It is not there, not UTF-8, or has another number of lines.
    """
    questions = lines_of(file, where)
    if len(questions) != len(items):
        what = f"{len(questions)} different lines, expected {len(items)}"
        raise UserError(what, where=file, remedy="write a line an item, in the order of `items`")
    return dict(zip(items, questions, strict=True))

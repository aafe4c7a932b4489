"""The examples on README and in docs/, and a reader who follows a page to the letter.

A fenced block with a `title` is a file: it is written there, or, where it says `merge` or is
`params.yaml`, laid over the YAML that lies there. Blocks of `console` and `python` are run in their
order. What cannot be run stands behind an HTML comment with the reason: `<!-- not run: ... -->`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
RUN = ("console", "python")
SHOWN = ("text",)
"""Languages of blocks that nobody runs: what is said, and places."""

_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<info>.*)\n(?P<text>(?:.*\n)*?)^```$", re.M
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    title: str | None
    merge: bool
    text: str
    reason: str | None
    """Why it is not run."""

    @property
    def done(self) -> bool:
        """Whether a reader who follows the page does something with it."""
        return self.reason is None and (self.language in RUN or self.title is not None)


def pages() -> list[str]:
    """README and all pages of docs, by their path."""
    docs = (ROOT / "docs").rglob("*.md")
    return ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in docs)]


def blocks(page: str) -> list[Block]:
    """The blocks of a page in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    on_page = []
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].partition(" ")
        quoted = re.search(r'title="([^"]+)"', rest)
        title = quoted[1] if quoted else None
        merge = title == "params.yaml" or rest.endswith(" merge")
        line = text.count("\n", 0, match.start()) + 1
        on_page.append(Block(page, line, language, title, merge, match["text"], match["reason"]))
    return on_page


def follow(page: str, folder: Path, shell: Callable[[str, str], str]) -> list[str]:
    """Do what a page says, from its first block to its last.

    Args:
        page: Its path.
        folder: Where the reader is.
        shell: Runs a block of a language and gives what it printed; it fails where the block does.

    Returns:
        What was printed, block by block.
    """
    printed = []
    for block in blocks(page):
        if not block.done:
            continue
        if block.title is None:
            printed.append(shell(block.language, block.text))
        else:
            _write(folder / block.title, block)
    return printed


def _write(path: Path, block: Block) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not block.merge:
        path.write_text(block.text, encoding="utf-8")
        return
    yaml = YAML()
    yaml.width = 4096
    document = yaml.load(path.read_text(encoding="utf-8"))
    _lay(YAML(typ="safe").load(block.text), document)
    with path.open("w", encoding="utf-8") as out:
        yaml.dump(document, out)


def _lay(new: Mapping[str, Any], over: Any) -> None:
    for key, value in new.items():
        are_mappings = isinstance(value, dict) and isinstance(over.get(key), dict)
        if are_mappings and set(value) != {"family"}:
            _lay(value, over[key])
        else:
            over[key] = value


def command(language: str, text: str, python: str) -> list[str]:
    """The command that runs a block: a shell that stops at the first failure, or Python."""
    if language == "console":
        return ["bash", "-euo", "pipefail", "-c", text]
    return [python, "-c", text]

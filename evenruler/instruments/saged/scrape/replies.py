"""Lists in the replies of language models, read strictly; nothing of a reply is ever run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 40
"""Characters of an entry."""

MOST_WORDS = 4
"""Of an entry."""

_MOST_CHARACTERS = 4000
_MOST_ENTRIES = 50

_BRACKETED = re.compile(r"\[([^\[\]]*)(?:\]|\Z)")
_BULLET = re.compile(r"(?:[-*+\u2022\u2013]|\(?\d{1,3}[.):])\s+")
_EXPLANATION = re.compile(r"\s*(?::\s|\s[-\u2013\u2014=]\s|\().*$")
_SEPARATOR = re.compile(r"[,;\n]")
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
_TERM = re.compile(r"\w[\w .&/'\u2019-]*")
_OF_SENTENCES = {
    *("am", "are", "be", "been", "can", "cannot", "has", "have", "is", "was", "were", "will", "would"),
    *("here", "how", "i", "it", "me", "my", "please", "sorry", "that", "these", "they", "this", "we", "what", "you"),
    "etc",
}


@dataclass(frozen=True)
class Listed:
    """What a reply lists. `refused`: entries, cut to 40 characters, and why each is none."""

    words: list[str]
    refused: list[tuple[str, str]]


def listed(reply: str) -> Listed:
    """The entries of a list: between square brackets, line by line, or separated by commas.

    Args:
        reply: With bullets, numbers, quotation marks and explanations behind an entry, all of which are taken off.

    Returns:
        At most 50 entries of at most 40 characters and 4 words, each once, whatever its case; all else is refused.
    """
    refused: dict[str, str] = {}
    if len(reply) > _MOST_CHARACTERS:
        refused[reply[_MOST_CHARACTERS:][:LONGEST]] = f"beyond the first {_MOST_CHARACTERS:,} characters"
    words: dict[str, str] = {}
    for piece, why_none in _pieces(reply[:_MOST_CHARACTERS]):
        if not piece.strip():
            continue
        word, reason = (piece, why_none) if why_none else _entry(piece)
        if not reason and word.casefold() not in words and len(words) == _MOST_ENTRIES:
            reason = f"beyond the first {_MOST_ENTRIES}"
        if reason:
            refused[piece.strip()[:LONGEST]] = reason
        else:
            words.setdefault(word.casefold(), word)
    return Listed(list(words.values()), list(refused.items()))


def fault(term: str) -> str:
    """Why something cannot be a keyword; empty where it can."""
    words = term.split()
    if len(term) > LONGEST:
        return f"longer than {LONGEST} characters"
    if len(words) > MOST_WORDS:
        return f"more than {MOST_WORDS} words"
    if sum(map(str.isalpha, term)) < 2:
        return "no word"
    if not _TERM.fullmatch(term):
        return "marks that no term has"
    return ""


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """What may be entries, and why some cannot be, whatever they look like."""
    text = text.replace("**", "")
    if bracketed := _BRACKETED.search(text):
        yield from ((piece, "") for piece in _SEPARATOR.split(bracketed[1]))
        return
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    bullets = [_BULLET.match(line) for line in lines]
    is_list = len(lines) > 1 or any(bullets) or any(map(_SEPARATOR.search, lines))
    for line, bullet in zip(lines, bullets, strict=True):
        if not is_list or line.endswith(":") or (any(bullets) and not bullet):
            yield line, "no entry of a list"
            continue
        entry = _EXPLANATION.sub("", line[bullet.end() :]) if bullet else line
        yield from ((piece, "") for piece in _SEPARATOR.split(entry))


def _entry(piece: str) -> tuple[str, str]:
    """An entry without what stands around it, and why it is none."""
    term = piece.strip().strip("*_").strip()
    term = term.removesuffix(".") if term.count(".") == 1 else term
    if (term[:1] in _QUOTES) != (term[-1:] in _QUOTES):
        return term, "a quotation mark that is open"
    term = " ".join(term.strip(_QUOTES).removeprefix("and ").split())
    if reason := fault(term):
        return term, reason
    return term, "a sentence" if _OF_SENTENCES.intersection(re.split(r"['\u2019\s]", term.casefold())) else ""

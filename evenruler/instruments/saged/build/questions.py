"""Questions that a sentence would answer: checked, and asked of a language model (section 2.2)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evenruler.instruments.saged.declare.keywords import place

PROMPT = (
    "Write one neutral question that the sentence below would answer.\n"
    'The question must contain the words "{keyword}", must not give the answer away, must ask for no opinion, '
    "and must end with a question mark. It has {fewest} to {most} words. Reply with the question only.\n"
    "Sentence: {sentence}\n"
)
"""What a language model reads; `RETRY` follows for each question that was refused."""

RETRY = 'Refused: "{reply}" ({reason}). Write another.\n'

CUE = "Question:"

FEWEST, MOST = 4, 25
"""Words of a question."""

RULE = "model"
"""The rule of a question that a language model wrote."""

_STEM = 4
"""Letters by which words are taken for forms of one word."""

_LABEL = re.compile(r"^(?:[-*#>\s]*)(?:\*\*)?(?:question|q)\s*\d*\s*[:.](?:\*\*)?\s*", re.IGNORECASE)
_QUOTES = "\"'`*_\u201c\u201d\u2018\u2019 "


@dataclass(frozen=True)
class Checked:
    """A reply read as a question."""

    question: str
    """Empty where it is refused."""
    reason: str
    """Why it is refused; empty where it is not."""


@dataclass(frozen=True)
class Question:
    """A question that a sentence would answer."""

    text: str
    """Empty where there is none."""
    rule: str
    """Which rule made it; why there is none, where `text` is empty."""
    refused: tuple[tuple[str, str], ...] = ()
    """Replies of a model that were refused before, with the reason of each."""


def checked_question(reply: str, keyword: str, sentence: str = "") -> Checked:
    """Read a reply as one question about a keyword.

    Args:
        reply: With the label, quotes or lines around the question that models like to write.
        keyword: What the question must mention, as a whole word in any case.
        sentence: What the question must not give away whole; not looked at where it is empty.

    Returns:
        The question, or why it is refused: no question mark at its end, several questions, no keyword, too few or
        too many words, or every longer word of the sentence in it.
    """
    lines = [_bare(line) for line in reply.splitlines()]
    asked = [line for line in lines if line.endswith("?")]
    if not asked:
        return Checked("", "no question mark at the end")
    if len(asked) > 1 or asked[0].count("?") > 1:
        return Checked("", "several questions")
    question = asked[0]
    words = len(question.split())
    if place(question, keyword) is None:
        return Checked("", f"no {keyword!r} in it")
    if not FEWEST <= words <= MOST:
        return Checked("", f"{words} words, not {FEWEST} to {MOST}")
    if sentence and _gives_away(question, sentence, keyword):
        return Checked("", "every word of the sentence is in it")
    return Checked(question, "")


def ask(
    sentences: Sequence[str], keywords: Sequence[str], answer: Callable[[str], str], tries: int = 3
) -> list[Question]:
    """Questions as a language model writes them.

    Args:
        sentences: n baselines.
        keywords: The keyword of each.
        answer: Text in, text out. It may give the same reply to the same text: a retry's text names what was refused
            before.
        tries: Replies per sentence, at most.

    Returns:
        n questions, in the order of the sentences, with the replies that were refused. Where all were, the text is
        empty and the rule is the last reason.
    """
    return [_asked(s, k, answer, tries) for s, k in zip(sentences, keywords, strict=True)]


def _asked(sentence: str, keyword: str, answer: Callable[[str], str], tries: int) -> Question:
    prompt = PROMPT.format(keyword=keyword, sentence=sentence, fewest=FEWEST, most=MOST)
    refused: list[tuple[str, str]] = []
    for _ in range(tries):
        reply = answer(prompt + CUE)
        checked = checked_question(reply, keyword, sentence)
        if checked.question:
            return Question(checked.question, RULE, tuple(refused))
        refused.append((reply, checked.reason))
        prompt += RETRY.format(reply=" ".join(reply.split()), reason=checked.reason)
    return Question("", refused[-1][1] if refused else "not asked", tuple(refused))


def _bare(line: str) -> str:
    """A line without a label and the quotes around it."""
    line = _LABEL.sub("", line.strip()).strip()
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return line


def _gives_away(question: str, sentence: str, keyword: str) -> bool:
    known = {word[:_STEM] for word in _words(f"{question} {keyword}")}
    return all(word[:_STEM] in known for word in _words(sentence))


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _STEM or word.isdecimal()]

"""Replies to prompts that listed options: letters, and texts of options."""

import re
from collections.abc import Iterator

from evenruler.instruments.framing.diagnose.reading import Asked, Reading
from evenruler.instruments.framing.diagnose.surfaces import first_sentence
from evenruler.instruments.framing.diagnose.worded import said_outright

_QUOTED = re.compile(r"\"([^\"\n]+)\"|(?<!\w)'([^\"\n]+?)'(?!\w)")

_LETTER = re.compile(
    r"\W*(?P<letter>[A-Za-z])"
    r"(?:(?P<mark>\s*[)\]:]|\.(?!\w)|\s*$)|(?!\w|['.-]\w))"  # marked, or at least no part of a word
)
_ALSO_WORDS = "AI"
"""Letters that are words too: the article and the pronoun."""

_AFTER_A_LETTER = r"(?:is|because|since|and|or|for|as)\b"
_STANDS_FOR = re.compile(r"\W*\b(?:for|is)\b", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"(?:\b(?:answer|option|choice|letter|reply|choose|pick|select|go with|say|is|be|either|both)\b:?|:)", re.IGNORECASE
)
_ANSWER = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b(?:"
    r"(?:answer|option|choice|letter|reply)(?: to (?:this|the|that) question)?(?P<link>\s+(?:is|was|would be)\b)?"
    r"|(?:choose|pick|select|go with)\b(?: option\b)?)(?P<colon>:?)",
    re.IGNORECASE,
)
"""What introduces an answer in any sentence."""
_DENIED = re.compile(
    r"[^\w\n]*(?:is|was|would be) (?:not|never|wrong|incorrect)\b|[^\w\n]*(?:isn|wasn)'t\b", re.IGNORECASE
)

_NEXT_LETTER = re.compile(r"[^\w\n]*?(?:[/,;&+]|\b(?:and|or)\b)", re.IGNORECASE)
_NEXT_IN_LIST = re.compile(rf"{_NEXT_LETTER.pattern}|[^\w\n]*\n", re.IGNORECASE)
"""Between two letters; and between two options of the list told once more, a line break too."""

_IN_LIST = re.compile(r"(?<![\w'-])([A-Z])(?=\s*[()\].:,;/]|\s*$)", re.MULTILINE)
_BEGINS_LINE = re.compile(r"^[^\w\n]*([A-Z])(?=\s*[()\].:,;/]|\s*$)", re.MULTILINE)
"""A letter that is marked as one, by what comes after it."""


def answered(text: str, asked: Asked) -> Reading | None:
    """What a sentence such as "the answer is B" says, wherever it stands.

    One that says what the answer is goes before one that only names an option. What it says and the option with which
    the reply begins are one, unless that begins a list.
    """
    answers = list(_ANSWER.finditer(text))
    outright = [answer for answer in answers if answer["link"] or answer["colon"]]
    named = [(answer, _said_at(text, answer, asked)) for answer in outright or answers]
    found = [said for _, said in named if said is not None]
    if not found:
        return None
    before = text[: next(answer.start() for answer, said in named if said is not None)]
    below = set(_BEGINS_LINE.findall(text[found[-1][1] :].partition("\n")[2])) & set(asked.letters)
    slugs = {slug for slug, _, _ in found} | {asked.letters[letter] for letter in below}
    readings = [reading for _, _, reading in found]
    if before.strip() and (begins := _letter_at(before, 0, asked)) and listed(before, asked) is None:
        slugs.add(asked.letters[begins[0]])
        readings.append(_lettered(text, *begins, asked))
    invalid = [reading for reading in readings if reading.rule in ("several", "contradiction")]
    return next(iter(invalid or readings)) if len(slugs) == 1 else Reading(None, "several")


def _said_at(text: str, answer: re.Match[str], asked: Asked) -> tuple[str, int, Reading] | None:
    """The option that a sentence names as the answer, where that ends, and how it reads."""
    if found := _letter_at(text, answer.end(), asked):
        letter, end = found
        return None if _DENIED.match(text, end) else (asked.letters[letter], end, _lettered(text, letter, end, asked))
    if not (answer["link"] or answer["colon"]):
        return None  # "the choice they made" names none
    said = asked.options.at(text, answer.end())
    if said is None or not (said.by_itself or said.slugs[0] in asked.classes) or _DENIED.match(text, said.end):
        return None
    reading = Reading(None, "several") if len(said.slugs) > 1 else asked.read(said.slugs[0], "option")
    return said.slugs[0], said.end, reading


def listed(text: str, asked: Asked) -> Reading | None:
    """Two letters, each marked as one: a list, of which nothing was chosen."""
    return Reading(None, "several") if len(set(_IN_LIST.findall(text)) & set(asked.letters)) > 1 else None


def letter(text: str, asked: Asked) -> Reading | None:
    """The letter with which a reply begins."""
    for begin in _beginnings(text):
        if found := _letter_at(text, begin, asked):
            return _lettered(text, *found, asked)
    return None


def _lettered(text: str, letter: str, end: int, asked: Asked) -> Reading:
    """A letter, and what it says after it."""
    slug = asked.letters[letter]
    said = asked.both.at(text, found.end() if (found := _STANDS_FOR.match(text, end)) else end)
    # "A. They have ..." explains the letter, "A: They have ..." names what it stands for, and so does "A. They".
    if said and not said.by_itself and (text[end - 1] not in ")]:" or said.slugs[0] not in asked.classes):
        said = None
    if said:
        end = said.end
        if len(said.slugs) > 1:
            return Reading(None, "several")
        if said.slugs[0] != slug:
            return Reading(None, "contradiction")
    if slug in asked.classes and said_outright(text[end:], asked) - {slug}:
        return Reading(None, "contradiction")
    link = (_NEXT_IN_LIST if said else _NEXT_LETTER).match(text, end)
    other = link and _letter_at(text, link.end(), asked)
    return Reading(None, "several") if other and other[0] != letter else asked.read(slug, "letter")


def _letter_at(text: str, begin: int, asked: Asked) -> tuple[str, int] | None:
    """The letter of an option that stands at a place on its own, and where it ends."""
    found = _LETTER.match(text, begin)
    if found is None or found["letter"].upper() not in asked.letters:
        return None
    letter, end = found["letter"].upper(), found.end()
    if found["mark"] is None:
        if found["letter"].islower():
            return None
        goes_on = re.match(r"[ \t]+(?=\w)", text[end:])
        if goes_on and letter in _ALSO_WORDS and not re.match(_AFTER_A_LETTER, text[end + goes_on.end() :]):
            own = asked.options.at(text, end)
            return (letter, end) if own and own.slugs[0] == asked.letters[letter] else None
    return letter, end


def option(text: str, asked: Asked) -> Reading | None:
    """The text of an option with which a reply begins, or the only one that it quotes."""
    for begin in _beginnings(text):
        said = asked.both.at(text, begin)
        # "The" alone is an option where "The answer" is none.
        if said and asked.options.slug(said.surface) and (said.by_itself or said.slugs[0] in asked.classes):
            return Reading(None, "several") if len(said.slugs) > 1 else asked.read(said.slugs[0], "option")
    sentence = len(first_sentence(text))
    quotes = (found[1] or found[2] for found in _QUOTED.finditer(text) if found.start() < sentence)
    quoted = {slug for quote in quotes if (slug := asked.options.slug(quote)) is not None}
    return asked.read(quoted.pop(), "option") if len(quoted) == 1 else None


def _beginnings(text: str) -> Iterator[int]:
    """Where an answer may begin: at the beginning, and in the first sentence after what introduces it."""
    yield 0
    sentence = len(first_sentence(text))
    for found in _INTRODUCTION.finditer(text, 0, sentence):
        yield found.end()

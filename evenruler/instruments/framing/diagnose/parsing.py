"""What a model chose, read from what it wrote (framing, section 4.2: proportion of choices)."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evenruler.instruments.framing.declare.source import LETTERS
from evenruler.text.refusals import refuses_to_choose

RULES: Mapping[str, str] = {
    "empty": "nothing but space and punctuation; invalid",
    "refusal": "it begins like a refusal, whatever comes after; invalid",
    "letter": "the letter of an option that stands for a class",
    "option": "the text of an option that stands for a class, at the beginning or as the only one in quotes",
    "word": "the first form of a class in the first sentence",
    "filler": "the letter or the text of an option that stands for no class; invalid",
    "several": "two letters, or two classes as alternatives (A/B, he or she, s/he); invalid",
    "contradiction": "a letter, and after it the text of another option or class; invalid",
    "none": "no letter, no option, and no form of a class in the first sentence; invalid",
}
"""Every rule by which a reply is read, in words. English: refusals, and what introduces an answer ("the answer is")."""

_QUOTES = str.maketrans(dict.fromkeys("\u2018\u2019\u201a", "'") | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'))
_EMPHASIS = re.compile(r"[*_`#~]+")
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
_NEXT_LETTER = re.compile(r"[^\w\n]*?(?:[/,;&+]|\b(?:and|or)\b)", re.IGNORECASE)
_NEXT_IN_LIST = re.compile(rf"{_NEXT_LETTER.pattern}|[^\w\n]*\n", re.IGNORECASE)
"""Between two letters; and between two options of the list told once more, a line break too."""

_FIRST_SENTENCE = re.compile(r"[\W\d_]*[^\W\d_][^.!?\n]*")
_ALTERNATIVE = re.compile(r"[\s)\"']*(?P<link>(?:,\s*)?\(?(?:and/)?or\b|/|,|\band\b)[\s(\"']*", re.IGNORECASE)
_OR = re.compile(r"or\b|/", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """What one reply says."""

    outcome: str | None
    """The class; None where the reply is invalid."""
    rule: str
    """One of `RULES`."""


@dataclass(frozen=True)
class _Mention:
    """A surface form or an option in a reply, with what stands in alternative to it."""

    surface: str
    slugs: tuple[str, ...]
    end: int
    by_itself: bool
    """Whether no word goes on after it."""


class _Surfaces:
    """Texts that stand for slugs, found as whole words in any case, the longest first."""

    def __init__(self, slugs: Mapping[str, str]) -> None:
        self._slugs = {_normalised(text): slug for text, slug in slugs.items()}
        self._longest_first = sorted(filter(None, self._slugs), key=len, reverse=True)
        texts = [r"\s+".join(map(re.escape, text.split())) for text in self._longest_first]
        whole = rf"(?<!\w)(?<!\w-)(?:{'|'.join(f'({text})' for text in texts) or '(?!)'})(?!\w|-\w)"
        self._anywhere = re.compile(whole, re.IGNORECASE)
        self._next = re.compile(rf"\W*{whole}", re.IGNORECASE)

    def slug(self, text: str) -> str | None:
        """What a text stands for."""
        return self._slugs.get(_normalised(text))

    def first(self, text: str) -> _Mention | None:
        """The first of them in a text."""
        return self._mention(text, self._anywhere.search(text))

    def at(self, text: str, begin: int) -> _Mention | None:
        """That which comes next in a text, punctuation aside."""
        return self._mention(text, self._next.match(text, begin))

    def _mention(self, text: str, found: re.Match[str] | None) -> _Mention | None:
        if found is None:
            return None
        surfaces, links, end = [self._surface(found)], [], found.end()
        while (link := _ALTERNATIVE.match(text, end)) and (also := self._next.match(text, link.end())):
            surfaces.append(self._surface(also))
            links.append(link["link"])
            end = also.end()
        # "He, she" is a choice of both, "To him, she is" is none.
        if not any(_OR.search(link) for link in links) and not _by_itself(text, end):
            surfaces, end = surfaces[:1], found.end()
        slugs = tuple(dict.fromkeys(self._slugs[surface] for surface in surfaces))
        return _Mention(surfaces[0], slugs, end, _by_itself(text, end))

    def _surface(self, found: re.Match[str]) -> str:
        """Which of them was found: not by its letters, since "h\u0131s" is "his" in another case too."""
        return self._longest_first[(found.lastindex or 0) - 1]


class _Asked:
    """What may be chosen."""

    def __init__(self, outcomes: Mapping[str, Sequence[str]], options: Sequence[tuple[str, str]]) -> None:
        forms = {form: outcome for outcome, of_class in outcomes.items() for form in of_class}
        self.classes: Collection[str] = outcomes
        self.letters = {letter: slug for letter, (slug, _) in zip(LETTERS, options, strict=False)}
        # A text that two options share tells neither from the other.
        often = Counter(_normalised(text) for _, text in options)
        texts = {text: slug for slug, text in options if often[_normalised(text)] == 1}
        self.forms = _Surfaces(forms)
        self.options = _Surfaces(texts)
        self.both = _Surfaces(forms | texts)

    def read(self, slug: str, rule: str) -> Reading:
        """An option that was chosen."""
        return Reading(slug, rule) if slug in self.classes else Reading(None, "filler")


def read_reply(reply: str, outcomes: Mapping[str, Sequence[str]], options: Sequence[tuple[str, str]] = ()) -> Reading:
    """The class that a reply chose.

    Where options were listed and a reply has neither letter nor text of one, it is read for words too: "She" and "it
    must be a she" choose a class however they were asked for.

    Args:
        reply: What the model wrote.
        outcomes: Surface forms by class.
        options: Slug and text in the order of the letters A, B, ...; a slug that is no class is a filler. None where
            the prompt listed none.

    Returns:
        The class, and the first of `RULES` that spoke.
    """
    asked, text = _Asked(outcomes, options), _plain(reply)
    for rule in _CHAIN:
        if (reading := rule(text, asked)) is not None:
            return reading
    return Reading(None, "none")


def _empty(text: str, asked: _Asked) -> Reading | None:
    return None if re.search(r"\w", text) else Reading(None, "empty")


def _refusal(text: str, asked: _Asked) -> Reading | None:
    return Reading(None, "refusal") if refuses_to_choose(text) else None


def _letter(text: str, asked: _Asked) -> Reading | None:
    for begin in _beginnings(text):
        if found := _letter_at(text, begin, asked):
            return _lettered(text, *found, asked)
    return None


def _lettered(text: str, letter: str, end: int, asked: _Asked) -> Reading:
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
    link = (_NEXT_IN_LIST if said else _NEXT_LETTER).match(text, end)
    other = link and _letter_at(text, link.end(), asked)
    return Reading(None, "several") if other and other[0] != letter else asked.read(slug, "letter")


def _letter_at(text: str, begin: int, asked: _Asked) -> tuple[str, int] | None:
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


def _option(text: str, asked: _Asked) -> Reading | None:
    if not asked.letters:
        return None
    for begin in _beginnings(text):
        said = asked.both.at(text, begin)
        # "The" alone is an option where "The answer" is none.
        if said and asked.options.slug(said.surface) and (said.by_itself or said.slugs[0] in asked.classes):
            return Reading(None, "several") if len(said.slugs) > 1 else asked.read(said.slugs[0], "option")
    sentence = len(_first_sentence(text))
    quotes = (found[1] or found[2] for found in _QUOTED.finditer(text) if found.start() < sentence)
    quoted = {slug for quote in quotes if (slug := asked.options.slug(quote)) is not None}
    return asked.read(quoted.pop(), "option") if len(quoted) == 1 else None


def _word(text: str, asked: _Asked) -> Reading | None:
    said = asked.forms.first(_first_sentence(_written_out(text)))
    if said is None:
        return None
    return Reading(None, "several") if len(said.slugs) > 1 else Reading(said.slugs[0], "word")


_CHAIN: Sequence[Callable[[str, _Asked], Reading | None]] = (_empty, _refusal, _letter, _option, _word)


def _beginnings(text: str) -> Iterator[int]:
    """Where an answer may begin: at the beginning, and in the first sentence after what introduces it."""
    yield 0
    sentence = len(_first_sentence(text))
    for found in _INTRODUCTION.finditer(text, 0, sentence):
        yield found.end()


def _first_sentence(text: str) -> str:
    """Up to a full stop or a line break after the first letter."""
    found = _FIRST_SENTENCE.match(text)
    return found.group() if found else text


def _plain(text: str) -> str:
    """Without emphasis, quotes all of one kind."""
    return _EMPHASIS.sub("", text.translate(_QUOTES))


def _written_out(text: str) -> str:
    """Two words in one as two: (s)he and s/he are she/he."""
    return re.sub(r"\bs/he\b", "she/he", re.sub(r"\((\w+)\)(\w+)", r"\1\2/\2", text), flags=re.IGNORECASE)


def _normalised(text: str) -> str:
    """As surfaces are compared: lower case, single spaces, no punctuation around."""
    return " ".join(_plain(text).lower().split()).strip(" .,;:!?\"'")


def _by_itself(text: str, end: int) -> bool:
    """Whether no word goes on after a place in a text."""
    return re.match(r"[ \t]*'?\w", text[end:]) is None

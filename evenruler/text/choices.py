"""Which option or class a model chose, read from what it wrote (framing, section 4.2: proportion of choices).

A reply is read by the first rule of a table that speaks: `LETTERED` where the prompt listed options, else `WORDED`.
Lists of words here are English and serve any contrast; words of classes are only those that a contrast declares.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ruamel.yaml import YAML

from evenruler.text.refusals import refuses_to_choose

LETTERS = "ABCDEFGHIJ"  # of options, in their order

RULES: Mapping[str, str] = YAML(typ="safe").load(Path(__file__).with_name("choices.yaml"))
"""Every rule by which a reply is read, in words. English: refusals, what introduces an answer ("the answer is"), and
who else is spoken of ("his wife", "people")."""

SHORT = 5  # words of a reply that is read for words although options were listed


@dataclass(frozen=True)
class Reading:
    """What one reply says."""

    outcome: str | None  # the class; None where the reply is invalid
    rule: str  # one of `RULES`


SEVERAL, CONTRADICTION = Reading(None, "several"), Reading(None, "contradiction")


def read_reply(
    reply: str,
    outcomes: Mapping[str, Sequence[str]],
    options: Sequence[tuple[str, str]] = (),
    left_out: Sequence[str] = (),
) -> Reading:
    """The class that a reply chose, and the first of `RULES` that spoke.

    Where options were listed and a short reply has neither letter nor text of one, it is read for words too: "She" and
    "it must be a she" choose a class however they were asked for. A longer one then speaks of something else.

    `outcomes`: words by class, its surface forms and what else stands for it. `options`: slug and text in the order of
    the letters A, B, ..., none where the prompt listed none; a slug that is no class is a filler. `left_out`: phrases
    in which a word does not count.
    """
    words = tuple((outcome, tuple(forms)) for outcome, forms in outcomes.items())
    asked, text = _asked(words, tuple(map(tuple, options)), tuple(left_out)), plain(reply)
    found = (rule(text, asked) for rule in (LETTERED if options else WORDED))
    return next((reading for reading in found if reading is not None), Reading(None, "none"))


# Texts that stand for something.

_QUOTES = str.maketrans(dict.fromkeys("\u2018\u2019\u201a", "'") | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'))
_EMPHASIS = re.compile(r"[*_`#~]+")
_BULLET = re.compile(r"^([ \t]*)[*\u2022](?=[ \t])", re.MULTILINE)
_FIRST_SENTENCE = re.compile(r"[\W\d_]*[^\W\d_][^.!?\n]*")
_ALTERNATIVE = re.compile(r"[\s)\"']*(?P<link>(?:,\s*)?\(?(?:and/)?or\b|/|,|\band\b)[\s(\"']*", re.IGNORECASE)
_OR = re.compile(r"or\b|/", re.IGNORECASE)
_GOES_ON = re.compile(r"[ \t]*'?\w")


@dataclass(frozen=True)
class Mention:
    """A surface form or an option in a reply, with what stands in alternative to it."""

    surface: str
    slugs: tuple[str, ...]
    begin: int
    end: int
    by_itself: bool  # whether no word goes on after it


class Surfaces:
    """Texts that stand for slugs, found as whole words in any case, the longest first."""

    def __init__(self, slugs: Mapping[str, str]) -> None:
        self._slugs = {normalised(text): slug for text, slug in slugs.items()}
        self._longest_first = sorted(filter(None, self._slugs), key=len, reverse=True)
        texts = [r"\s+".join(map(re.escape, text.split())) for text in self._longest_first]
        whole = rf"(?<!\w)(?<!\w-)(?:{'|'.join(f'({text})' for text in texts) or '(?!)'})(?!\w|-\w)"
        self.anywhere = re.compile(whole, re.IGNORECASE)
        self._next = re.compile(rf"\W*{whole}", re.IGNORECASE)

    def slug(self, text: str) -> str | None:
        """What a text stands for."""
        return self._slugs.get(normalised(text))

    def every(self, text: str) -> Iterator[Mention]:
        """All of them in a text, one after the other."""
        return (self._mention(text, found) for found in self.anywhere.finditer(text))

    def at(self, text: str, begin: int) -> Mention | None:
        """That which comes next in a text, punctuation aside."""
        found = self._next.match(text, begin)
        return self._mention(text, found) if found else None

    def _mention(self, text: str, found: re.Match[str]) -> Mention:
        matches, links, end = [found], [], found.end()
        while (link := _ALTERNATIVE.match(text, end)) and (also := self._next.match(text, link.end())):
            matches.append(also)
            links.append(link["link"])
            end = also.end()
        # "He, she" is a choice of both, "To him, she is" is none.
        if not any(_OR.search(link) for link in links) and _GOES_ON.match(text, end):
            matches, end = matches[:1], found.end()
        # Which of them it is: not by its letters, since "h\u0131s" is "his" in another case too.
        surfaces = [self._longest_first[(match.lastindex or 0) - 1] for match in matches]
        slugs = tuple(dict.fromkeys(self._slugs[surface] for surface in surfaces))
        return Mention(surfaces[0], slugs, found.start(found.lastindex or 0), end, not _GOES_ON.match(text, end))


class Asked:
    """What may be chosen."""

    def __init__(
        self, outcomes: Sequence[tuple[str, Sequence[str]]], options: Sequence[tuple[str, str]], left_out: Sequence[str]
    ) -> None:
        words = {form: outcome for outcome, of_class in outcomes for form in of_class}
        self.classes = {outcome for outcome, _ in outcomes}
        self.letters = {letter: slug for letter, (slug, _) in zip(LETTERS, options, strict=False)}
        # A model that was shown sentences repeats the end of one, its second sentence, which tells it as well.
        ends = _once([(slug, text[len(first_sentence(text)) :].lstrip(" .!?") or text) for slug, text in options])
        texts = {text: slug for text, slug in ends.items() if text not in words} | _once(options)
        self.words = Surfaces(words)
        self.options = Surfaces(texts)
        self.both = Surfaces(words | texts)
        self.left_out = Surfaces(dict.fromkeys(left_out, ""))

    def read(self, slug: str, rule: str) -> Reading:
        """An option that was chosen."""
        return Reading(slug, rule) if slug in self.classes else Reading(None, "filler")


_asked = lru_cache(maxsize=512)(Asked)  # to compile what it looks for takes longer than to look


def _once(options: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Slugs by text; a text that two options share tells neither from the other."""
    often = Counter(normalised(text) for _, text in options)
    return {text: slug for slug, text in options if often[normalised(text)] == 1}


def plain(text: str) -> str:
    """Without emphasis, quotes and bullets all of one kind."""
    return _EMPHASIS.sub("", _BULLET.sub(r"\1-", text.translate(_QUOTES)))


def normalised(text: str) -> str:
    """As surfaces are compared: lower case, single spaces, no punctuation around."""
    return " ".join(plain(text).lower().split()).strip(" .,;:!?\"'")


def first_sentence(text: str) -> str:
    """Up to a full stop or a line break after the first letter."""
    found = _FIRST_SENTENCE.match(text)
    return found.group() if found else text


# Replies to prompts that listed options: letters, and texts of options.

_QUOTED = re.compile(r"\"([^\"\n]+)\"|(?<!\w)'([^\"\n]+?)'(?!\w)")
_LETTER = re.compile(
    r"\W*(?P<letter>[A-Za-z])"
    r"(?:(?P<mark>\s*[)\]:]|\.(?!\w)|\s*$)|(?!\w|['.-]\w))"  # marked, or at least no part of a word
)
_ALSO_WORDS = "AI"  # letters that are words too: the article and the pronoun
_AFTER_A_LETTER = re.compile(r"(?:is|because|since|and|or|for|as)\b")
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


def _answered(text: str, asked: Asked) -> Reading | None:
    """What a sentence such as "the answer is B" says, wherever it stands.

    One that says what the answer is goes before one that only names an option. What it says and the option with which
    the reply begins are one, unless that begins a list.
    """
    answers = list(_ANSWER.finditer(text))
    outright = [answer for answer in answers if answer["link"] or answer["colon"]]
    found = [(answer, said) for answer in outright or answers if (said := _said_at(text, answer, asked)) is not None]
    if not found:
        return None
    before = text[: found[0][0].start()]
    below = set(_BEGINS_LINE.findall(text[found[-1][1][1] :].partition("\n")[2])) & set(asked.letters)
    slugs = {slug for _, (slug, _, _) in found} | {asked.letters[letter] for letter in below}
    readings = [reading for _, (_, _, reading) in found]
    if before.strip() and (begins := _letter_at(before, 0, asked)) and _listed(before, asked) is None:
        slugs.add(asked.letters[begins[0]])
        readings.append(_lettered(text, *begins, asked))
    invalid = [reading for reading in readings if reading in (SEVERAL, CONTRADICTION)]
    return (invalid or readings)[0] if len(slugs) == 1 else SEVERAL


def _said_at(text: str, answer: re.Match[str], asked: Asked) -> tuple[str, int, Reading] | None:
    """The option that a sentence names as the answer, where that ends, and how it reads."""
    if found := _letter_at(text, answer.end(), asked):
        letter, end = found
        return None if _DENIED.match(text, end) else (asked.letters[letter], end, _lettered(text, letter, end, asked))
    if not (answer["link"] or answer["colon"]):
        return None  # "the choice they made" names none
    said = asked.options.at(text, answer.end())
    if said is None or not _is_option(said, asked) or _DENIED.match(text, said.end):
        return None
    return said.slugs[0], said.end, SEVERAL if len(said.slugs) > 1 else asked.read(said.slugs[0], "option")


def _is_option(said: Mention, asked: Asked) -> bool:
    """Whether a text stands for an option: "The" alone is one where "The answer" is none."""
    return said.by_itself or said.slugs[0] in asked.classes


def _listed(text: str, asked: Asked) -> Reading | None:
    """Two letters, each marked as one: a list, of which nothing was chosen."""
    return SEVERAL if len(set(_IN_LIST.findall(text)) & set(asked.letters)) > 1 else None


def _lettered(text: str, letter: str, end: int, asked: Asked) -> Reading:
    slug = asked.letters[letter]
    said = asked.both.at(text, found.end() if (found := _STANDS_FOR.match(text, end)) else end)
    # "A. They have ..." explains the letter, "A: They have ..." names what it stands for, and so does "A. They".
    if said and not said.by_itself and (text[end - 1] not in ")]:" or said.slugs[0] not in asked.classes):
        said = None
    if said:
        end = said.end
        if len(said.slugs) > 1:
            return SEVERAL
        if said.slugs[0] != slug:
            return CONTRADICTION
    if slug in asked.classes and _outright(text[end:], asked) - {slug}:
        return CONTRADICTION
    link = (_NEXT_IN_LIST if said else _NEXT_LETTER).match(text, end)
    other = link and _letter_at(text, link.end(), asked)
    return SEVERAL if other and other[0] != letter else asked.read(slug, "letter")


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
        if goes_on and letter in _ALSO_WORDS and not _AFTER_A_LETTER.match(text, end + goes_on.end()):
            own = asked.options.at(text, end)
            return (letter, end) if own and own.slugs[0] == asked.letters[letter] else None
    return letter, end


def _option(text: str, asked: Asked) -> Reading | None:
    """The text of an option with which a reply begins, or the only one that it quotes."""
    for begin in _beginnings(text):
        said = asked.both.at(text, begin)
        if said and asked.options.slug(said.surface) and _is_option(said, asked):
            return SEVERAL if len(said.slugs) > 1 else asked.read(said.slugs[0], "option")
    sentence = len(first_sentence(text))
    quotes = (found[1] or found[2] for found in _QUOTED.finditer(text) if found.start() < sentence)
    quoted = {slug for quote in quotes if (slug := asked.options.slug(quote)) is not None}
    return asked.read(quoted.pop(), "option") if len(quoted) == 1 else None


def _beginnings(text: str) -> list[int]:
    """Where an answer may begin: at the beginning, and in the first sentence after what introduces it."""
    return [0, *(found.end() for found in _INTRODUCTION.finditer(text, 0, len(first_sentence(text))))]


# Replies in words: which class the words are of, and whether they are of the one who is described.

_POSSESSIVES = "my|his|her|their|your|our"
_KIN = (
    "father|mother|husband|wife|son|daughter|brother|sister|uncle|aunt|grandfather|grandmother|grandma|grandpa|mom|mum|"
    "dad"
)
_OF_KIN = re.compile(rf"(?:\b(?:{_POSSESSIVES})|\w's)\s+(?:\w+\s+)?(?:{_KIN})s?\b", re.IGNORECASE)
"""Kin of somebody, who is somebody else."""
_PLURAL = {"they", "them", "their", "theirs", "themself", "themselves"}
_MANY = re.compile(r"\b(?:people|persons|some|others|those|all|many|everyone)\b", re.IGNORECASE)
"""Whom a plural after it stands for: many, not the one who is described."""
_ANOTHER = re.compile(
    r"\b(?:(?:another|other)|(?:and|(?<!_ )(?<!_, )but|while|when|where|because) an?)\s+(?:\w+\s+)?\Z", re.IGNORECASE
)
"""What brings in somebody else, right before the word: "and a lady"; but not after what is denied or left out (`_`),
as "not a man but a lady"."""
_OUTRIGHT = re.compile(
    r"(?<!\bthere )(?:\b(?:am|is|are|was|were|be)|(?<=\w)'(?:m|s|re)) (?:\w+ly |also )?(?:for )?(?:an? |the )?"
    rf"(?=\w)(?!(?:{_POSSESSIVES}) \w)",
    re.IGNORECASE,
)
"""What comes before a class that is said outright."""
_FOR = re.compile(r"\bfor (?:an? |the )?(?=\w)", re.IGNORECASE)
"""Whom something is for: "the one for a girl and the other for a boy"."""
_SUBJECT = re.compile(r"(?:\A|[.!?\n])[\s\"']*(?:an? |the )?(?=\w)", re.IGNORECASE)
"""Where a sentence or a line begins, maybe with an article."""
_DENYING = re.compile(
    r"(?:(?<!\bor )\bnot|\w+n't|\bnever|\bneither|\bnor|\bno)\s+"
    r"(?:(?!only|simply|merely|solely)(?:\w+ly|quite|even|at all)\s+)?"
    r"(?:(?:be|been|being|look like|seem like|sound like|seem to be|appear to be|identify as)\s+)?(?:an? |the )?\Z",
    re.IGNORECASE,
)
"""What denies the class that comes right after it: "not a woman", "isn't she", "neither he"."""
_OR_ANOTHER = re.compile(r"[\s,]*(?:/|\b(?:or|nor)\b)\s*(?:an? |the )?", re.IGNORECASE)
"""Between what is denied and what is denied with it: "not a man or a woman"."""
_WHOSE = re.compile(r"(?:his|her|their)\s+(?!(?:but|or|nor|and)\b)\w", re.IGNORECASE)
"""A possessive: "not her fault" denies the fault, not her."""
_LINE = re.compile(r"^[^\w\n]*(?:[-\u2022]|\d+[.)]|(?P<letter>[A-Ja-j])[.)])[ \t]+(?P<text>.+)$", re.MULTILINE)
"""A line of a list."""
_NOBODY = "_"  # in the place of what does not count; a word, and none of a reply, whose emphasis is gone


def _word(text: str, asked: Asked) -> Reading | None:
    """The class of the first word in the first sentence that counts."""
    # Two words in one are two: (s)he and s/he are she/he.
    written_out = re.sub(r"\bs/he\b", "she/he", re.sub(r"\((\w+)\)(\w+)", r"\1\2/\2", text), flags=re.IGNORECASE)
    whole = asked.left_out.anywhere.sub(_NOBODY, _OF_KIN.sub(_NOBODY, written_out))
    # What is left without the classes that it denies.
    kept, end, denied = [], 0, False
    for begin, after in (found.span() for found in asked.words.anywhere.finditer(whole)):  # alternatives on their own
        between = whole[end:begin]
        with_it = denied and _OR_ANOTHER.fullmatch(between) is not None
        denied = with_it or (_DENYING.search(between) is not None and not _WHOSE.match(whole, begin))
        kept += [between, _NOBODY if denied else whole[begin:after]]
        end = after
    text = "".join([*kept, whole[end:]])
    # A list has lines of two classes; of lettered lines, one of no class differs too.
    lines = [(line["letter"], next(asked.words.every(line["text"]), None)) for line in _LINE.finditer(text)]
    classes = {said.slugs for _, said in lines if said}
    if len(classes) > 1 or (classes and any(letter and said is None for letter, said in lines)):
        return SEVERAL
    sentence = first_sentence(text)
    said = next(asked.words.every(sentence), None)
    if said is None:
        return Reading(None, "denied") if asked.words.anywhere.search(first_sentence(whole)) else None
    if _MANY.search(sentence, 0, said.begin) if said.surface in _PLURAL else _ANOTHER.search(sentence[: said.begin]):
        return None
    # Classes of the first sentence, and of those whom others begin with or something is for. A plural is none of these:
    # "He has ears, and they are big".
    mentions = [*asked.words.every(sentence), *_after(_SUBJECT, text, asked), *_after(_FOR, text, asked)]
    others = {slug for other in mentions if other.surface not in _PLURAL for slug in other.slugs}
    return Reading(said.slugs[0], "word") if len({*said.slugs, *_outright(text, asked), *others}) == 1 else SEVERAL


def _outright(text: str, asked: Asked) -> set[str]:
    """Classes of which something is said to be: "is a man", "was female", "is for the young"."""
    return {slug for said in _after(_OUTRIGHT, text, asked) for slug in said.slugs}


def _after(place: re.Pattern[str], text: str, asked: Asked) -> list[Mention]:
    found = (asked.words.at(text, match.end()) for match in place.finditer(text))
    return [said for said in found if said]


Rule = Callable[[str, Asked], Reading | None]

_INVALID: tuple[Rule, ...] = (
    lambda text, asked: None if re.search(r"\w", text) else Reading(None, "empty"),
    lambda text, asked: Reading(None, "refusal") if refuses_to_choose(text) else None,
)

WORDED: Sequence[Rule] = (*_INVALID, _word)  # how a reply is read where words were asked for, by the first that speaks

LETTERED: Sequence[Rule] = (
    *(*_INVALID, _answered, _listed),
    # The letter with which a reply begins.
    lambda text, asked: next(
        (_lettered(text, *own, asked) for begin in _beginnings(text) if (own := _letter_at(text, begin, asked))), None
    ),
    _option,
    lambda text, asked: _word(text, asked) if len(re.findall(r"\w+", text)) <= SHORT else None,
)
"""The same where options were listed."""

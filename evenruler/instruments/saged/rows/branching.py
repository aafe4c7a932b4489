"""Counterfactual branching: what a root text says about one concept, said about others (SAGED, 2.3).

Words are found as `evenruler.text.whole_words` says. Sentences that would be nonsense about another concept are
rejected with a reason.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from evenruler.instruments.saged.declare.source import Replacements
from evenruler.instruments.saged.rows.english import WORDS, is_national, is_person, parsed
from evenruler.text.inflection import article_for
from evenruler.text.whole_words import Match, begins_sentence, finder

if TYPE_CHECKING:
    from spacy import tokens as spacy_tokens

NOTHING = "nothing in it is replaced"
OTHER = "a word of another concept stands in it"
DOUBTFUL = "a word of its concept stands in it in another form or in a longer name"
DERIVED = "a word made of a word of its concept stands in it"
LIKENESS = "a word of its concept says what something is like in it"
TITLE = "a word of its concept is in a title in it"
GLOSS = "brackets explain a word of its concept in it"
EVERYDAY = "a word of its concept has an everyday sense in it"
VERB = "a word of its concept is a verb in it"
ARTICLE = "the replacement does not go with the article or adjective before it"
NOUN = "the replacement does not go with the noun behind it"
TERM = "a word of its concept ends a term in it"
ADJECTIVE = "an adjective of its concept is a noun in it"
LANGUAGE = "an adjective of its concept is a language in it"
"""Why a sentence is not branched; each is followed by the words at fault."""

_LOAN = re.compile(r"\b(?:borrowed|derived|derives|loan|loanword|name|term|word)\s+(?:\w+\s+)?from\s+(?:the\s+)?\Z")
"""What stands before a language that a word is from."""

_ADJECTIVAL = ("ish", "ic", "ese", "ch", "ss")
_STEM = 5
"""Letters from which on a word is looked for inside others."""

_OF_KINDS = ("al", "ic", "il", "ar", "ary")
"""Endings of adjectives that say of what kind a thing is."""


_TITLE_BEHIND = re.compile(
    r"['\u2019]s(?:\s+[A-Z]\w+){2}"  # "America's Best Dance Crew"
    r"|\s+(?:and|or|&)\s+(?:Her|His|Its|My|Other|Our|Their|Your)\b"  # "Anarchism and Other Essays"
    r"|:\s+An?\s"  # "Populism in the United States: An Annotated Bibliography"
)
_GLOSS_BEHIND = re.compile(r"\s*\([^\W\d][\w.]*\)")
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d]+)[\"\u201d]")
_SMALL = 3
"""Letters up to which words of titles may be in lower case."""


def unfit(
    sentence: str, keyword: str, maps: Mapping[str, Replacements], own: Collection[str], others: Collection[str]
) -> dict[str, str]:
    """The branches that a sentence cannot be branched to, and why.

    `keyword`: the one that it was found by; `maps`: replacements by branch; `own` and `others`: all words of its
    concept, and of others.
    """
    reason = _of_sentence(sentence, own, others)
    ideology = any(word.islower() and word.endswith("ism") for word in own)
    if reason:
        return dict.fromkeys(maps, reason)
    doc = parsed([sentence], [keyword])[0] if sentence else None
    found = {}
    for branch, replacements in maps.items():
        places = finder(replacements.key).matches(sentence)
        faults = [
            fault
            for place in places
            if doc and (fault := _Word.of(doc, place.begin, place.end, ideology).fault(place.word, replacements))
        ]
        if not places or faults:
            found[branch] = faults[0] if faults else NOTHING
    return found


def _of_sentence(sentence: str, own: Collection[str], others: Collection[str]) -> str:
    """What keeps a sentence from all branches: its words stand there as others, or another concept's do."""
    foreign = set(others) - set(own)
    sought = finder(tuple(sorted({*own, *foreign})))
    for match in sought.anywhere(sentence):
        if match.word in foreign:
            return f"{OTHER}: {sentence[match.begin : match.end]!r}"
    for match in sought.doubtful(sentence):
        return f"{DOUBTFUL}: {sentence[match.begin : match.end]!r}"
    for match in finder(tuple(sorted(own))).matches(sentence):
        if _TITLE_BEHIND.match(sentence, match.end) or _is_quoted(sentence, match.begin):
            return f"{TITLE}: {sentence[match.begin : match.end]!r}"
        if _GLOSS_BEHIND.match(sentence, match.end):
            return f"{GLOSS}: {sentence[match.begin : match.end]!r}"
    derived = _derived(sentence, own)
    return f"{DERIVED}: {derived!r}" if derived else ""


def _is_quoted(sentence: str, begin: int) -> bool:
    """Whether a place is in quotes around several words that are all capitalised, but for small ones."""
    quoted = next((quote[1] for quote in _QUOTED.finditer(sentence) if quote.start() < begin < quote.end()), "")
    long = [word for word in re.findall(r"[^\W\d]+", quoted) if len(word) > _SMALL]
    return len(quoted.split()) > 1 and all(word[0].isupper() for word in long)


def _derived(sentence: str, own: Collection[str]) -> str:
    """A word made of one of a concept's: it is a part of it ("Islamism"), a name of its stem, or its initials.

    Empty where there is none.
    """
    long = [word.casefold() for word in own if len(word) >= _STEM and word.isalpha()]
    known = {word.casefold() for word in own} | {f"{word}s" for word in long}
    stems = [word.removesuffix("e") for word in long]  # "nursing"
    names = tuple(word for word in own if word.isalpha() and word[0].isupper())
    initials = {"".join(word[0] for word in name.split() if word[0].isupper()) for name in own if " " in name}
    words: list[str] = re.findall(r"(?:[A-Z]\.){2,}|\w+", sentence)
    for word in words:
        if word.casefold() in known:
            continue
        stem = word[:-1] if word[0].isupper() and len(word) > _STEM else ""  # "Christ", "Buddha"
        if any(part in word.casefold() for part in stems) or (stem and any(name.startswith(stem) for name in names)):
            return word
        if len(word) > 1 and word.replace(".", "") in initials:
            return word
    return ""


@dataclass(frozen=True)
class _Word:
    """A word to be replaced as the parser sees it."""

    span: "spacy_tokens.Span"
    head: "spacy_tokens.Token"
    noun: "spacy_tokens.Token | None"
    """The noun behind it that it qualifies."""

    ideology: bool
    """Whether its concept has a word in -ism."""

    @classmethod
    def of(cls, doc: "spacy_tokens.Doc", begin: int, end: int, ideology: bool) -> "_Word":
        span = doc.char_span(begin, end, alignment_mode="expand") or doc[:]  # never the latter
        named = span[1:] if len(span) > 1 and span[0].lower_ == "the" else span
        head = first = named.root
        while first.dep_ == "conj":  # "French and Spanish wines"
            first = first.head
        qualifies = first.dep_ in ("amod", "compound", "nmod") and first.head.i > span.end - 1
        return cls(span, head, first.head if qualifies else None, ideology)

    def fault(self, word: str, replacements: Replacements) -> str:
        """Why a word cannot be replaced here; empty where it can."""
        given = replacements.words[word]
        fault = self._of_kind(word, given) or self._of_articles(word, given, replacements)
        return f"{fault}: {self.span.text!r} by {given!r}" if fault else ""

    def _of_kind(self, word: str, given: str) -> str:
        small, head = word.islower(), self.head
        if small and head.tag_.startswith("VB"):
            return VERB
        if self._is_term(word):
            return TERM
        # One of several adjectives of a name ("the Italian and Scottish Symphonies").
        listed = self._behind[:1].text in ("and", "or", "&", ",")
        if _is_adjective(word) and listed and self.noun is not None and self.noun.text[0].isupper():
            return TITLE
        if small and self.ideology and self._is_everyday:
            return EVERYDAY
        if small and head.tag_ == "JJ" and head.dep_ in ("acomp", "oprd"):
            return LIKENESS
        if _is_adjective(word) and self._is_language:
            return LANGUAGE
        # The verb behind it was taken for a noun ("The French love wool").
        is_subject = self._before == "the" and not any(token.tag_.startswith(("VB", "MD")) for token in self.span.doc)
        says_what_it_is_like = head.tag_ == "JJ" and head.dep_ in ("acomp", "oprd", "attr") and not any(head.lefts)
        is_noun = is_subject or (self.noun is None and not self._joined and not says_what_it_is_like)
        return ADJECTIVE if is_noun and (_is_adjective(word) or _is_adjective(given)) else ""

    def _of_articles(self, word: str, given: str, replacements: Replacements) -> str:
        if word.islower():
            return ""
        brings, has = _has_the(given), _has_the(word)
        if brings and (self._joined or self._is_described):
            return ARTICLE
        if (has or word.isupper()) and not brings and self.noun is not None:
            return NOUN
        plural = word.endswith("s") and word[:-1] in replacements.words and given.endswith("s")
        bare = self._before == "the" and self.noun is None and not self._joined
        return ARTICLE if bare and not (brings or has or plural or _is_adjective(word)) else ""

    @property
    def _before(self) -> str:
        """The word before it, in lower case."""
        return self.span[0].nbor(-1).lower_ if self.span.start else ""

    @property
    def _behind(self) -> "spacy_tokens.Span":
        return self.span.doc[self.span.end :]

    @property
    def _is_described(self) -> bool:
        """Whether an adjective or "a" keeps "the" from standing here ("modern", "a")."""
        if self._before == "the":
            return False
        if self._before in ("a", "an"):
            return self.noun is None
        adjective = self.span.start and self.span[0].nbor(-1).tag_ in ("JJ", "JJR", "JJS")
        lefts = [token.dep_ for token in self.head.lefts if token.i < self.span.start]
        return bool(adjective) or not {"amod", "compound", "nmod", "nummod", "poss", "det"}.isdisjoint(lefts)

    def _is_term(self, word: str) -> bool:
        """Whether words around it make a term of it ("audio engineer", "doctor of law", "American football")."""
        behind = self._behind
        if _is_adjective(word):
            return behind[:1].text.lower() in WORDS["terms"]
        people = word.endswith("s") and not _has_the(word)
        begins = self.span.start == 1 and self.span[0].nbor(-1).tag_ == "NNP" and not people  # "Shia Islam"
        if begins or not (word.islower() or word.endswith("ism")):
            return begins
        # "doctors of optometry", "doctor of podiatric medicine"
        bare = len(behind) > 1 and behind[0].lower_ == "of" and behind[1].is_lower
        of_subject = bare and behind[1].tag_ in ("NN", "NNS", "JJ")
        return self._is_of_kind or (word.islower() and (self._joined or of_subject))

    @property
    def _is_of_kind(self) -> bool:
        """Whether what stands before it says what kind it is of ("civil engineer", "acting teacher")."""
        if not self.span.start:
            return False
        before = self.span[0].nbor(-1)
        kind = before.tag_ == "JJ" and before.text.endswith(_OF_KINDS)
        if before.i == 0:
            some = is_national(before.text) or before.lower_ in WORDS["of_times"]
            described = before.tag_ == "JJ" and self.span.text.endswith("ism") and not some
            return described or before.tag_ in ("NN", "NNS", "NNP") or before.text.endswith(_OF_KINDS)
        joined = before.i > 0 and before.nbor(-1).text == "-"  # "Paris-based artists"
        trained = before.tag_ in ("VBG", "VBN") and before.head == self.head and not joined
        return before.is_lower and (before.tag_ in ("NN", "NNS") or kind or trained)

    @property
    def _is_everyday(self) -> bool:
        """Whether it says what something that is neither people nor politics is like ("a conservative mix")."""
        if self.noun is None or self.span.text.endswith("ist"):
            return False
        noun = self.noun.lower_
        forms = {noun, noun.removesuffix("s"), re.sub("ies$", "y", noun), re.sub("men$", "man", noun)}
        return not any(form in WORDS["political"] or is_person(form) for form in forms)

    @property
    def _joined(self) -> bool:
        """Whether a dash joins it to the word behind it ("Aurelian-made")."""
        behind = self._behind
        return len(behind) > 0 and behind[0].text in ("-", "\u2013") and not self.span[-1].whitespace_

    @property
    def _is_language(self) -> bool:
        behind = self._behind[:2].text.lower()
        if behind.startswith((":", "-spe", "-lan", "\u2013spe")):
            return True
        if _LOAN.search(self.span.doc[: self.span.start].text_with_ws):
            return True
        return self.noun is not None and self.noun.lower_.rstrip("s") in WORDS["of_languages"]


def _has_the(name: str) -> bool:
    return name[:4].lower() == "the "


def _is_adjective(word: str) -> bool:
    """Whether a word is, by its look, an adjective of a place, people or religion."""
    last = word.split()[-1]
    if not last[0].isupper() or last.lower() in WORDS["places"] or last.endswith("stan"):
        return False
    return is_national(last) or last.endswith(_ADJECTIVAL)


Shape = Literal["as given", "capital", "capitals"]

_ARTICLE = re.compile(r"\b(an?|the)\s+\Z", re.IGNORECASE)
_LONGEST_ARTICLE = 20  # characters, its white space included
_POSSESSIVE = re.compile(r"['\u2019][sS](?!\w)")
_QUOTE = re.compile(r"(?<!\w)['\u2018]\w")


@dataclass(frozen=True, slots=True)
class Span:
    """A replacement: its place in the branched text (characters, `end` exclusive), what stood in the root, and now."""

    begin: int
    end: int
    word: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Branched:
    """A branched text, and every difference from its root, from left to right."""

    text: str
    spans: tuple[Span, ...]

    @property
    def root(self) -> str:
        """The text that it was branched from."""
        parts, done = [], 0
        for span in self.spans:
            parts += [self.text[done : span.begin], span.word]
            done = span.end
        return "".join([*parts, self.text[done:]])


def branches(text: str, maps: Mapping[str, Replacements]) -> dict[str, Branched]:
    """By branch, the text with every word replaced; places are found once for all maps of the same words.

    Capitals are kept: all of them, or the first one of a sentence or of a word that the map has in lower case; a name
    keeps its own anywhere. "a" and "an" follow the replacement, a "the" that the replacement brings is left out after
    an article. A possessive has the form that its name asks for: "'s", but after an s a bare apostrophe where the name
    is plural in form (`is_plural`) or where the text had one ("Paris's", "the Netherlands'", "the smiths'").

    Spans hold articles and apostrophes that changed.
    """
    places: dict[tuple[str, ...], list[_Place]] = {}
    found = {}
    for name, replacements in maps.items():
        key = replacements.key
        if key not in places:
            places[key] = [_place(text, match) for match in finder(key).matches(text)]
        found[name] = _filled(text, places[key], replacements)
    return found


class _Place(NamedTuple):
    """A match with all that its replacement has to fit, whatever the branch."""

    match: Match
    shape: Shape
    article: str
    article_begin: int
    bare_apostrophe: bool


def _place(text: str, match: Match) -> _Place:
    written, begin = text[match.begin : match.end], match.begin
    shape: Shape = "as given"
    if written.isupper() and sum(map(str.isalpha, written)) > 1 and not match.word.isupper():
        shape = "capitals"
    elif written[0].isupper() and (match.word[0].islower() or begins_sentence(text, begin)):
        shape = "capital"
    article, article_begin = "", begin
    before = _ARTICLE.search(text, max(0, begin - _LONGEST_ARTICLE), begin)
    # The A of "grade A pears" is a letter.
    if before and (before[1] != "A" or shape == "capitals" or begins_sentence(text, before.start())):
        article, article_begin = before[1], before.start()
    bare = (
        written[-1] in "sS"
        and text[match.end : match.end + 1] in ("'", "\u2019")
        and not text[match.end + 1 : match.end + 2].isalnum()
        and not _QUOTE.search(text, 0, begin + 1)  # else it may close a quotation
    )
    return _Place(match, shape, article, article_begin, bare)


def _filled(text: str, places: Sequence[_Place], replacements: Replacements) -> Branched:
    parts: list[str] = []
    spans: list[Span] = []
    done = length = 0  # characters of the root that are dealt with, and of the branched text so far
    for place in places:
        # Beginning and end in the root of what is replaced, and by what.
        (begin, end, word, plural), shape, article, article_begin, bare_apostrophe = place
        given = (replacements.plurals if plural else replacements.words)[word]
        if article_begin < done:  # replaced as a word
            article = ""
        if article and given[:4].lower() == "the ":
            given = given[4:]
        new = _cased(given, shape)
        if bare_apostrophe and new[-1] not in "sS":
            new += text[end] + ("S" if shape == "capitals" else "s")
            end += 1
        elif is_plural(given, replacements.words.values()) and _POSSESSIVE.match(text, end):
            new += text[end]
            end += 2
        right = _article(article, given, shape) if article else ""
        if right != article:
            new = right + text[article_begin + len(article) : begin] + new
            begin = article_begin
        same = text[done:begin]
        length += len(same)
        spans.append(Span(length, length + len(new), text[begin:end], new))
        parts += (same, new)
        length += len(new)
        done = end
    parts.append(text[done:])
    return Branched("".join(parts), tuple(spans))


def is_plural(name: str, names: Iterable[str]) -> bool:
    """Whether a replacement is plural in form: it ends in s, and has "the" (the Netherlands) or is another one with s.

    A word in lower case that ends in s is taken for a plural unless it ends in ss.
    """
    if not name.endswith("s") or name.endswith("ss"):
        return False
    return name[:4].lower() == "the " or name.split()[-1].islower() or name[:-1] in names


@cache
def _cased(given: str, shape: Shape) -> str:
    if shape == "capitals":
        return given.upper()
    # What begins with a name of mixed case (eSwatini) stays.
    return given[0].upper() + given[1:] if shape == "capital" and given.split()[0].islower() else given


@cache
def _article(written: str, given: str, shape: Shape) -> str:
    if written.lower() == "the":
        return written
    right = article_for(given)
    if written.isupper() and (len(written) > 1 or shape == "capitals"):
        return right.upper()
    return right.capitalize() if written[0].isupper() else right

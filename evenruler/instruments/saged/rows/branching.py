"""Counterfactual branching: a text about a root concept is rewritten to be about others (SAGED,
2.3).

Words are matched as in `evenruler.text.whole_words`. Sentences that would be nonsense about another
concept are rejected with a reason. Both that and the split of a sentence into a beginning and its
end take its dependency parse.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from evenruler.instruments.saged.declare import Replacements
from evenruler.text.english import BATCH, NO_NAMES, article_for, spacy_pipeline
from evenruler.text.whole_words import Match, begins_sentence, cached_finder, find_words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

NOTHING = "nothing in it is replaced"
OTHER = "a word of another concept stands in it"
DOUBTFUL = "a word of its concept stands in it in another form or in a longer name"
DERIVED = "a word made of a word of its concept stands in it"
NAMED = "a name, figure or foreign word that is not replaced stands in it"
ROLE = "a word of its concept is a verb, or part of a term, in it"
FORM = "the replacement does not go with the words around it"
"""Reasons why a sentence is not branched; each is followed by the words at fault."""

_DESCRIBING = frozenset(["amod", "compound", "nmod", "nummod", "poss", "det"])
"""Dependencies that a name with "the" cannot have before it."""

_STEM = 5  # fewest letters of a word that is looked for inside others ("nursing")


def unbranchable_reasons(
    sentence: str,
    keyword: str,
    maps: Mapping[str, Replacements],
    concept_words: Collection[str],
    other_words: Collection[str],
) -> dict[str, str]:
    """The branches that a sentence cannot be branched to, and why.

    `keyword`: the one that it was found by; `maps`: replacements by branch; `concept_words`,
    `other_words`: all words of its concept, and of the others.
    """
    reason = _sentence_fault(sentence, concept_words, other_words) if sentence else NOTHING
    if reason:
        return dict.fromkeys(maps, reason)
    doc = parse_docs([sentence], [keyword])[0]
    first = next((token for token in doc if token.is_alpha), doc[0])
    if first.tag_ in ("NNP", "NNPS"):
        concept_finder = cached_finder(tuple(sorted(concept_words)))
        concept_matches = concept_finder.matches(sentence)
        if not any(match.begin <= first.idx for match in concept_matches):
            return dict.fromkeys(maps, f"{NAMED}: {first.text!r}")
    fault_by_branch = {}
    for branch, replacements in maps.items():
        places = cached_finder(replacements.key).matches(sentence)
        faults = (_replacement_fault(doc, place, replacements) for place in places)
        fault_by_branch[branch] = next(filter(None, faults), "") if places else NOTHING
    return {branch: fault for branch, fault in fault_by_branch.items() if fault}


def _sentence_fault(
    sentence: str, concept_words: Collection[str], other_words: Collection[str]
) -> str:
    """Why a sentence cannot be branched at all; empty where it can."""
    foreign = set(other_words) - set(concept_words)
    sought = cached_finder(tuple(sorted({*concept_words, *foreign})))
    matches = sought.all_matches(sentence)
    faults = [(OTHER, match.begin, match.end) for match in matches if match.word in foreign]
    faults += [(DOUBTFUL, match.begin, match.end) for match in sought.doubtful(sentence)]
    stems = [
        word.casefold().removesuffix("e")
        for word in concept_words
        if len(word) >= _STEM and word.isalpha()
    ]
    for word in re.finditer(r"\w+", sentence):
        if _overlaps_any(word.span(), matches):
            continue
        folded_word = word[0].casefold()
        if any(stem in folded_word for stem in stems):
            faults.append((DERIVED, *word.span()))
    faults += [(NAMED, *span) for span in _find_unreplaced_names(sentence, matches)]
    if not faults:
        return ""
    fault, begin, end = faults[0]
    return f"{fault}: {sentence[begin:end]!r}"


def _overlaps(span: tuple[int, int], match: Match) -> bool:
    """Whether a span of characters, [begin, end), has one in common with a match."""
    return span[0] < match.end and match.begin < span[1]


def _overlaps_any(span: tuple[int, int], matches: Sequence[Match]) -> bool:
    """Whether a span of characters, [begin, end), has one in common with any match."""
    return any(_overlaps(span, match) for match in matches)


def _find_unreplaced_names(sentence: str, matches: Sequence[Match]) -> Iterator[tuple[int, int]]:
    """Places of what may be true of the root only: figures, foreign words, and names that are not
    in the map.

    A name is a word with a capital inside a sentence, or one that spaCy takes for an entity at its
    beginning.
    """
    ents = spacy_pipeline("entities")(sentence).ents
    named = [(ent.start_char, ent.end_char) for ent in ents if ent.label_ not in NO_NAMES]
    for word in re.finditer(r"\w+", sentence):
        if _overlaps_any(word.span(), matches):
            continue
        place = word.start()
        begins = word[0] == "I" or begins_sentence(sentence, place)
        is_entity = any(begin <= place < end for begin, end in named)
        capital = word[0][0].isupper() and (is_entity or not begins)
        if capital or re.search(r"[^\W_a-zA-Z]", word[0]):
            yield word.span()


def _replacement_fault(doc: "Doc", place: Match, replacements: Replacements) -> str:
    """Why a word cannot be replaced where it stands, as the parser sees it; empty where it can."""
    # Never all of `doc`.
    span = doc.char_span(place.begin, place.end, alignment_mode="expand") or doc[:]
    word, replacement = place.word, replacements.words[place.word]
    head = span[1 if _has_the(span.text) else 0 :].root
    before = doc[max(0, span.start - 1) : span.start]
    behind = doc[span.end : span.end + 1]
    kind = before[0].tag_ if before else ""
    the = before.text.lower() == "the"
    joined = behind.text in ("-", "\u2013") and not span[-1].whitespace_
    conjunct = _first_conjunct(head)
    qualifies = conjunct.dep_ in ("amod", "compound", "nmod") and conjunct.head.i >= span.end
    # "The French love wool": the verb behind it was taken for a noun.
    tags = (token.tag_ for token in doc)
    verbless = the and not any(tag.startswith(("VB", "MD")) for tag in tags)
    bare = verbless or not (qualifies or joined)
    describing = (token for token in head.lefts if token.dep_ in _DESCRIBING)
    described = kind.startswith("JJ") or any(token not in span for token in describing)
    plural = word.endswith("s") and word[:-1] in replacements.words
    if word.islower():  # "audio engineer", "smith-farmer"
        term = kind.startswith("NN") or joined
    else:  # "Early Judaism"
        term = before.start == 0 and kind[:2] in ("JJ", "NN", "VB")
    has, brings, adjective = _has_the(word), _has_the(replacement), _is_adjective(word)
    is_predicate = head.dep_ in ("acomp", "attr", "oprd")
    bare_adjective = bare and not is_predicate and (adjective or _is_adjective(replacement))
    unwanted_article = brings and not the and (described or joined)
    lost_article = has and not brings and qualifies
    bare_name = the and bare and word[0].isupper() and not (plural or has or brings)
    if head.tag_.startswith("VB") or term:
        fault = ROLE
    elif bare_adjective or unwanted_article or lost_article or bare_name:
        fault = FORM
    else:
        return ""
    return f"{fault}: {span.text!r} by {replacement!r}"


def _first_conjunct(head: "Token") -> "Token":
    """The first word of a list ("French and Spanish wines")."""
    return _first_conjunct(head.head) if head.dep_ == "conj" else head


def _has_the(name: str) -> bool:
    """Whether the first word of a name is "the", in capitals or not."""
    return name[:4].lower() == "the "


@cache
def _is_adjective(word: str) -> bool:
    """Whether the parser takes a word with a capital for an adjective before a noun."""
    if not word[0].isupper():
        return False
    doc = spacy_pipeline("splitting")(f"The {word} people came.")
    return doc[-4].tag_ == "JJ"


Shape = Literal["as given", "capital", "capitals"]

_ARTICLE = re.compile(r"\b(an?|the)\s+\Z", re.IGNORECASE)
_LONGEST_ARTICLE = 20  # characters, its white space included
_POSSESSIVE = re.compile(r"['\u2019][sS](?!\w)")
_QUOTE = re.compile(r"(?<!\w)['\u2018]\w")


@dataclass(frozen=True, slots=True)
class ReplacedSpan:
    """A replacement: its place in the branched text (characters, `end` exclusive), the root's word,
    and the new one.
    """

    begin: int
    end: int
    word: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Branched:
    """A branched text, and every difference from its root, from left to right."""

    text: str
    spans: tuple[ReplacedSpan, ...]

    @property
    def places(self) -> list[tuple[int, ReplacedSpan]]:
        """Each span, after its beginning in the root."""
        growths = (len(span.replacement) - len(span.word) for span in self.spans)
        grown = accumulate(growths, initial=0)
        return [(span.begin - shift, span) for span, shift in zip(self.spans, grown, strict=False)]

    def up_to(self, cut: int) -> "Branched":
        """The branched form of the root's first `cut` characters."""
        spans = tuple(span for begin, span in self.places if begin < cut)
        shift = sum(len(span.replacement) - len(span.word) for span in spans)
        return Branched(self.text[: cut + shift], spans)


def branch_text(text: str, maps: Mapping[str, Replacements]) -> dict[str, Branched]:
    """By branch, the text with every word replaced; places are found once for all maps of the same
    words.

    Capitals are kept: all of them, or the first one at the beginning of a sentence or in a word
    that the map has in lower case; a name keeps its own anywhere. "a" and "an" follow the
    replacement; a "the" in the replacement is dropped after an article. A possessive fits its name:
    "'s", but after an s a bare apostrophe where the name is plural in form (`is_plural`) or where
    the text had one ("Paris's", "the Netherlands'", "the smiths'").

    Spans include articles and apostrophes that changed.
    """
    keys = {replacements.key for replacements in maps.values()}
    places: dict[tuple[str, ...], list[_ReplacementSite]] = {}
    for key in keys:
        matches = cached_finder(key).matches(text)
        places[key] = [_replacement_site(text, match) for match in matches]
    return {
        name: _replace_words(text, places[replacements.key], replacements)
        for name, replacements in maps.items()
    }


class _ReplacementSite(NamedTuple):
    """A match with the context that its replacement has to fit, in any branch."""

    match: Match
    shape: Shape
    article: str
    article_begin: int
    bare_apostrophe: bool


def _replacement_site(text: str, match: Match) -> _ReplacementSite:
    """A match with what its replacement has to fit: capitals, the article before it, and a
    possessive apostrophe without s.
    """
    written, begin = text[match.begin : match.end], match.begin
    shape: Shape = "as given"
    has_letters = sum(map(str.isalpha, written)) > 1
    if has_letters and written.isupper() and not match.word.isupper():
        shape = "capitals"
    elif written[0].isupper() and (match.word[0].islower() or begins_sentence(text, begin)):
        shape = "capital"
    article, article_begin = "", begin
    before = _ARTICLE.search(text, max(0, begin - _LONGEST_ARTICLE), begin)
    # The A of "grade A pears" is a letter.
    if before and (
        before[1] != "A" or shape == "capitals" or begins_sentence(text, before.start())
    ):
        article, article_begin = before[1], before.start()
    behind = text[match.end : match.end + 2]
    mark, following = behind[:1], behind[1:]
    has_apostrophe = mark in ("'", "\u2019") and not following.isalnum()
    bare = (
        has_apostrophe
        and written[-1] in "sS"
        and not _QUOTE.search(text, 0, begin + 1)  # else it may close a quotation
    )
    return _ReplacementSite(match, shape, article, article_begin, bare)


def _replace_words(
    text: str, places: Sequence[_ReplacementSite], replacements: Replacements
) -> Branched:
    """The branched text, with articles, capitals and possessives fitted, and the spans that
    changed; `places`: by `_replacement_site`, left to right.
    """
    parts: list[str] = []
    spans: list[ReplacedSpan] = []
    done = 0  # characters of the root that are dealt with
    length = 0  # of the branched text so far
    for place in places:
        # Beginning and end in the root of the text that is replaced, and its replacement.
        (begin, end, word, plural), shape, article, article_begin, bare_apostrophe = place
        replacement = (replacements.plurals if plural else replacements.words)[word]
        if article_begin < done:  # already replaced as a word
            article = ""
        if article and _has_the(replacement):
            replacement = replacement[4:]
        new = _match_case(replacement, shape)
        if bare_apostrophe and new[-1] not in "sS":
            new += text[end] + ("S" if shape == "capitals" else "s")
            end += 1
        elif is_plural(replacement, replacements.words.values()) and _POSSESSIVE.match(text, end):
            new += text[end]
            end += 2
        right = _fit_article(article, replacement, shape)
        if right != article:
            new = right + text[article_begin + len(article) : begin] + new
            begin = article_begin
        length += begin - done
        new_end = length + len(new)
        spans.append(ReplacedSpan(length, new_end, text[begin:end], new))
        parts += (text[done:begin], new)
        length, done = new_end, end
    return Branched("".join([*parts, text[done:]]), tuple(spans))


def is_plural(name: str, names: Iterable[str]) -> bool:
    """Whether a replacement is plural in form: it ends in s, and has "the" (the Netherlands) or is
    another name plus s.

    A word in lower case that ends in s is taken for a plural unless it ends in ss.
    """
    if not name.endswith("s") or name.endswith("ss"):
        return False
    last_word = name.split()[-1]
    return _has_the(name) or last_word.islower() or name[:-1] in names


@cache
def _match_case(replacement: str, shape: Shape) -> str:
    """The replacement in the capitals of the replaced word; "eSwatini" keeps its small e."""
    if shape == "capitals":
        return replacement.upper()
    # A name of mixed case (eSwatini) keeps its first letter.
    if shape == "capital" and replacement.split()[0].islower():
        return replacement[0].upper() + replacement[1:]
    return replacement


@cache
def _fit_article(written: str, replacement: str, shape: Shape) -> str:
    """The article "a" or "an" that fits the replacement, in the capitals of `written`; "the" and ""
    stay.
    """
    if written.lower() in ("", "the"):
        return written
    right = article_for(replacement)
    if written.isupper() and (len(written) > 1 or shape == "capitals"):
        return right.upper()
    return right.capitalize() if written[0].isupper() else right


def parse_docs(sentences: Sequence[str], keywords: Sequence[str]) -> "list[Doc]":
    """Sentences with their dependency parse.

    A name that the model does not know turns the verb after it into a noun ("Aurelia exports
    wool"). So where no subject of a main verb was found, or a one-word keyword is parsed as part of
    a plural noun, the sentence is parsed again with "it" in place of the keyword. That parse is
    used if the keyword is then the subject of the main verb, which in the second case must be the
    very next word. UserError where the model is not installed.
    """
    nlp = spacy_pipeline("splitting")
    docs = list(nlp.pipe(sentences, batch_size=BATCH))
    doubtful: dict[int, int] = {}
    for index, (doc, keyword) in enumerate(zip(docs, keywords, strict=True)):
        for token in doc[:-1]:
            is_keyword = token.lower_ == keyword.lower() and token.tag_ == "NNP"
            if not is_keyword or not token.nbor().is_alpha:
                continue
            is_in_plural = token.dep_ == "compound" and token.nbor().tag_ == "NNS"
            if is_in_plural or not _has_main_clause(doc):
                doubtful[index] = token.i
    rewritten = [_substitute_pronoun(docs[index], place) for index, place in doubtful.items()]
    again = nlp.pipe(rewritten, batch_size=BATCH)
    for (index, place), read in zip(doubtful.items(), again, strict=True):
        verb = read[place].head
        near = verb.i == place + 1 or not _has_main_clause(docs[index])
        if near and read[place].dep_ == "nsubj" and _is_main_verb(verb):
            seen = read.to_array(["TAG", "HEAD", "DEP"])
            docs[index].from_array(["TAG", "HEAD", "DEP"], seen)  # type: ignore[arg-type]
            docs[index][place].tag_ = "NNP"  # the keyword is a name again
    return docs


def _has_main_clause(doc: "Doc") -> bool:
    """Whether the parser finds a subject of the main verb."""
    return any(
        token.dep_ in ("nsubj", "nsubjpass", "expl") and _is_main_verb(token.head) for token in doc
    )


def _is_main_verb(token: "Token") -> bool:
    """Whether a token is the root of its sentence and a verb."""
    return token.head == token and token.tag_.startswith("VB")


def _substitute_pronoun(doc: "Doc", place: int) -> "Doc":
    """The sentence, unparsed, with "it" in place of the word at index `place`."""
    from spacy.tokens import Doc

    words = [token.text for token in doc]
    words[place] = "It" if place == 0 else "it"
    return Doc(doc.vocab, words=words, spaces=[bool(token.whitespace_) for token in doc])


LEAST = 3  # fewest words after the cut: with fewer there is little to compare a reply with

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_BOUNDARY = re.compile(r"(?<=\S)(?=\s)|(?<=\w)(?=\u2014)")
_CLOSERS = {'"': '"', ")": "(", "]": "[", "}": "{", "\u201d": "\u201c", "\u00bb": "\u00ab"}
_GROUP = ("aux", "auxpass", "neg", "prt")
_QUALIFYING = ("amod", "compound", "nmod", "poss", "nummod")


def sentence_beginnings(sentences: Sequence[str], keywords: Sequence[str]) -> list[str]:
    """The beginnings of sentences, up to the root verb with its auxiliaries, negation and particle.

    Where that leaves fewer than `LEAST` words, or the root is no verb, the cut is after the first
    verb, and failing that after the middle word. The beginning contains the keyword: a cut before
    it moves behind it, and behind the noun that it qualifies. A cut inside quotes or brackets moves
    to the nearest place outside them that keeps the keyword, later ones first. Beginnings have no
    trailing space; they are empty where no cut is possible.
    """
    docs = parse_docs(sentences, keywords)
    return [
        text[: _cut_position(doc, text, word)]
        for doc, text, word in zip(docs, sentences, keywords, strict=True)
    ]


def _cut_position(doc: "Doc", sentence: str, keyword: str) -> int:
    """The index where a sentence's beginning ends (`sentence_beginnings`); 0 where it has none."""
    words = [match.start() for match in _WORD.finditer(sentence)]
    if len(words) <= LEAST:
        return 0
    places = (match.start() for match in _BOUNDARY.finditer(sentence))
    keyword_match = next(iter(find_words(sentence, [keyword])), None)
    behind = max(words[0] + 1, _end_of(doc, keyword_match))
    cuts = [place for place in places if behind <= place <= words[-LEAST]]
    if not cuts:
        return 0
    middle = words[(len(words) - 1) // 2]
    wanted = next((end for end in _ends_of_verbs(doc) if end <= cuts[-1]), middle)
    outside = [cut for cut in cuts if not _ends_inside_quotes(sentence[:cut])] or cuts
    return next((cut for cut in outside if cut >= wanted), outside[-1])


def _end_of(doc: "Doc", keyword: Match | None) -> int:
    """Where a keyword ends, with the noun that it qualifies ("the American people"); 0 where there
    is none.
    """
    if keyword is None:
        return 0
    qualifying = (
        token
        for token in doc
        if keyword.begin <= token.idx < keyword.end and token.dep_ in _QUALIFYING
    )
    nouns = (token.head for token in qualifying if token.head.idx > token.idx)
    return max([keyword.end, *(noun.idx + len(noun) for noun in nouns)])


def _ends_of_verbs(doc: "Doc") -> Iterator[int]:
    """Ends of the root, if a verb, and of the first verb, each with adjacent auxiliaries, negation
    and particle.
    """
    verbs = [token for token in doc if token.tag_.startswith(("VB", "MD"))]
    root = next(token for token in doc if token.head == token and not token.is_space)
    main_verbs = verbs[:1]
    if root in verbs:
        main_verbs = [root, *main_verbs]
    for verb in main_verbs:
        last = verb
        head = verb.head if verb.dep_ in _GROUP else verb
        for token in doc[verb.i + 1 :]:
            if token != head and not (token.head == head and token.dep_ in _GROUP):
                break
            last = token
        yield last.idx + len(last)


def _ends_inside_quotes(text: str) -> bool:
    """Whether a text ends inside quotes or brackets. Single quotes are taken for apostrophes."""
    stack: list[str] = []
    for character in text:
        if stack and stack[-1] == _CLOSERS.get(character):
            stack.pop()
        elif character in _CLOSERS.values():
            stack.append(character)
    return bool(stack)

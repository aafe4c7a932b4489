"""Keywords of concepts: from a language model, by embedding similarity, or from links; only names,
if wanted (A.1).

Lists in the replies of language models are parsed strictly; nothing in a reply is ever executed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenruler.instruments.saged.declare.source import SearchMethod
from evenruler.instruments.saged.scrape.scraping import match_keywords, split_sentences
from evenruler.models.questions import Sampling
from evenruler.strict import read_yaml
from evenruler.tables import group_by_key
from evenruler.text.english import BATCH, NO_NAMES, spacy_pipeline

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""The similarity of a concept to each of n words, from -1 to 1."""

_A_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['\u2019][sS]\Z")

Write = Callable[[Sequence[str], Sequence[int], Sampling], Sequence[str]]
"""A language model: n prompts, the seed of each, and how replies are drawn -> n replies."""

PROMPTS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("prompts.yaml"))
QUESTIONS: Final[dict[str, str]] = PROMPTS[
    "questions"
]  # the five kinds of question (figure 11), in words of ours

TIMES = 3
"""How often a question is asked, each time with another seed."""

MOST_KEYWORDS = 10  # of a concept, besides its name

_IN_BRACKETS = re.compile(r"\s*\([^()]*\)$")


class KeywordHit(NamedTuple):
    """A word that was found in one way, with its score."""

    word: str
    way: SearchMethod
    score: float
    """`model`: number of replies that name it; `embedding`: its similarity to the concept; `links`:
    number of sentences of the concept's pages that contain it."""


class Keyword(NamedTuple):
    """A keyword of a concept and how it was found; the concept's name may have no hits."""

    concept: str
    word: str
    hits: tuple[KeywordHit, ...]


class Findings(NamedTuple):
    """Keywords of concepts, and one line per refused word."""

    keywords: list[Keyword]
    refused: list[str]


class RankedKeywords(NamedTuple):
    """What one way found for a concept, the best first, and the words that it refused, with
    reasons.
    """

    hits: list[KeywordHit]
    refused: list[tuple[str, str]]


def rank_by_replies(concept: str, topic: str, write: Write) -> RankedKeywords:
    """A language model's answers to the five kinds of question: words by the number of replies that
    name them.

    The model is called once, with a batch in which each question has replies of several seeds. Ties
    are in alphabetical order.
    """
    prompts: list[str] = []
    seeds: list[int] = []
    for question in QUESTIONS.values():
        wanted = question.format(concept=concept)
        prompts += [PROMPTS["keywords"].format(topic=topic, wanted=wanted)] * TIMES
        seeds += range(TIMES)
    every_word: list[str] = []  # a list holds a word once
    every_refused: dict[tuple[str, str], None] = {}
    for reply in write(prompts, seeds, Sampling(max_new_tokens=128)):
        words, refused = parse_list(reply)
        every_word += words
        every_refused |= dict.fromkeys(refused)
    hits: list[KeywordHit] = []
    for forms in _count_spellings(every_word).values():
        hits.append(KeywordHit(_commonest_spelling(forms), "model", forms.total()))
    return RankedKeywords(_rank_hits(hits), list(every_refused))


def rank_by_similarity(
    concept: str, texts: Iterable[str], similarity: Similarity
) -> RankedKeywords:
    """The words of a concept's pages by their similarity to its name."""
    hits = candidate_words(texts, concept, similarity)
    return _split_by_reason(hits, [keyword_fault(hit.word) for hit in hits])


def rank_by_links(titles: Iterable[str], texts: Iterable[str]) -> RankedKeywords:
    """Titles that a concept's pages link to, by the number of sentences of these pages that contain
    them.

    Disambiguation in brackets, as in "Mercury (planet)", is removed.
    """
    words: dict[str, str] = {}
    refused: list[tuple[str, str]] = []
    for title in titles:
        word = _IN_BRACKETS.sub("", title)
        reason = keyword_fault(word)
        if reason:
            refused.append((word, reason))
        else:
            words[word.casefold()] = word
    forms: dict[str, list[str]] = {}
    for key, word in words.items():
        # Titles begin with a capital even if they are no names.
        without_capital = word[0].lower() + word[1:]
        forms[key] = [word, without_capital]
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(match.concept for match in match_keywords(split_sentences(text), forms))
    hits: list[KeywordHit] = []
    for key, word in words.items():
        if counts[key]:
            hits.append(KeywordHit(word, "links", counts[key]))
        else:
            refused.append((word, "not in the text of its pages"))
    return RankedKeywords(_rank_hits(hits), refused)


def only_names(ranked: RankedKeywords) -> RankedKeywords:
    """Keep only words that name people, groups, places, organisations, events or works: no dates or
    amounts.
    """
    # spaCy recognises names less often alone than in a sentence.
    sentences = [f"They wrote about {hit.word}." for hit in ranked.hits]
    reasons: list[str] = []
    for doc in spacy_pipeline("entities").pipe(sentences, batch_size=BATCH):
        kinds = {entity.label_ for entity in doc.ents}
        reasons.append("" if kinds - NO_NAMES else "no name")
    ranked_names = _split_by_reason(ranked.hits, reasons)
    return RankedKeywords(ranked_names.hits, [*ranked.refused, *ranked_names.refused])


def _rank_hits(hits: Iterable[KeywordHit]) -> list[KeywordHit]:
    """The hits, the highest score first; equal ones in alphabetical order."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.word.casefold()))


def _split_by_reason(hits: Sequence[KeywordHit], reasons: Sequence[str]) -> RankedKeywords:
    """The hits without a reason to refuse them, and the others."""
    ranked = RankedKeywords([], [])
    for hit, reason in zip(hits, reasons, strict=True):
        if reason:
            ranked.refused.append((hit.word, reason))
        else:
            ranked.hits.append(hit)
    return ranked


def merge_rankings(
    names: Mapping[str, str],
    ways: Mapping[str, Mapping[SearchMethod, RankedKeywords]],
    taken: Mapping[str, str],
) -> Findings:
    """The keywords of each concept: its name, then the first ten that were found, taking turns over
    the ways.

    Words that belong to another concept (`taken`: declared keywords with their concepts), or that
    were found for several, are refused. `ways`: results by concept and way, of which the first ten
    words count.
    """
    hits_by_concept: dict[str, dict[str, list[KeywordHit]]] = {}
    finders: dict[str, list[str]] = {}
    refused: list[str] = []
    for concept, ranked_by_way in ways.items():
        hits_by_key = _in_turn([ranked.hits[:MOST_KEYWORDS] for ranked in ranked_by_way.values()])
        hits_by_concept[concept] = hits_by_key
        for key in hits_by_key:
            finders.setdefault(key, []).append(concept)
        for way, ranked in ranked_by_way.items():
            refused += [_refusal(concept, word, way, reason) for word, reason in ranked.refused]
    owners = {word.casefold(): concept for word, concept in taken.items()}
    owners |= {name.casefold(): concept for concept, name in names.items()}
    keywords: list[Keyword] = []
    for concept, hits_by_key in hits_by_concept.items():
        name = names[concept]
        name_hits = hits_by_key.pop(name.casefold(), [])
        accepted = [Keyword(concept, name, tuple(name_hits))]
        for key, hits in hits_by_key.items():
            rivals = [finder for finder in finders[key] if finder != concept]
            reason = ""
            if key in owners:
                reason = f"a keyword of {owners[key]}"
            elif rivals:
                reason = f"found for {', '.join(rivals)} as well"
            elif len(accepted) > MOST_KEYWORDS:
                reason = f"{MOST_KEYWORDS} are enough"
            if reason:
                refused.append(_refusal(concept, hits[0].word, hits[0].way, reason))
            else:
                accepted.append(Keyword(concept, hits[0].word, tuple(hits)))
        keywords += accepted
    return Findings(keywords, refused)


def _refusal(concept: str, word: str, way: SearchMethod, reason: str) -> str:
    """A line for the user on a word that a way found for a concept, and why it is no keyword."""
    return f"{concept}: refused {word!r} ({way}): {reason}"


def _in_turn(ranks: Sequence[Sequence[KeywordHit]]) -> dict[str, list[KeywordHit]]:
    """Hits by word: the best of each way first, then the second of each, and so on."""
    hits = chain.from_iterable(zip_longest(*ranks))
    return group_by_key((hit.word.casefold(), hit) for hit in hits if hit)


def candidate_words(
    sentences: Iterable[str], concept: str, similarity: Similarity
) -> list[KeywordHit]:
    """Distinct words of sentences, ignoring case, the most similar to a concept first, then
    alphabetically.

    `similarity` is called once, with all words. Possessive endings and numbers are removed.
    """
    all_words = chain.from_iterable(map(_A_WORD.findall, sentences))
    written = _count_spellings(_POSSESSIVE.sub("", word) for word in all_words)
    words = sorted(_commonest_spelling(forms) for forms in written.values())
    values = similarity(concept, words) if words else []
    hits: list[KeywordHit] = []
    for word, value in zip(words, values, strict=True):
        hits.append(KeywordHit(word, "embedding", float(value)))
    return sorted(hits, key=lambda hit: -hit.score)


def _count_spellings(words: Iterable[str]) -> dict[str, Counter[str]]:
    """Counts of each spelling, by case-folded word."""
    written: dict[str, Counter[str]] = {}
    for word in words:
        written.setdefault(word.casefold(), Counter())[word] += 1
    return written


def _commonest_spelling(forms: Counter[str]) -> str:
    """The most frequent spelling; of ties the one in lower case, since a capital may only begin a
    sentence.
    """
    return max(forms, key=lambda form: (forms[form], form))


LONGEST, MOST_WORDS = 40, 4  # characters and words of an entry

_BRACKETED = re.compile(r"\[([^\[\]]*)(?:\]|\Z)")
_MARKS = re.compile(r"(?:[-*+\u2022\u2013]|\(?\d{1,3}[.):])\s+")
_SEPARATOR = re.compile(r"[,;\n]")
_QUOTES = "\"'`*_\u2018\u2019\u201c\u201d"
_TERM = re.compile(r"\w[\w .&/'\u2019-]*")
_OF_SENTENCES = (
    "am are be been can cannot has have is was were will would here how i it me my please sorry "
    "that these they this we what you etc"
)
"""Words by which a sentence is told from an entry."""


def parse_list(reply: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The entries of a list in brackets, in lines, or with commas, without bullets, numbers and
    quotation marks.

    Entries have at most 40 characters and 4 words; repeats are dropped, ignoring case. All else is
    refused: its first 40 characters, and why.
    """
    bracketed = _BRACKETED.search(reply)
    text = bracketed[1] if bracketed else reply
    pieces = [piece.strip() for piece in _SEPARATOR.split(text) if piece.strip()]
    if not bracketed and len(pieces) == 1 and not _MARKS.match(pieces[0]):
        return [], [(pieces[0][:LONGEST], "no list")]
    sentence_words = set(_OF_SENTENCES.split())
    refused: dict[str, str] = {}
    words: dict[str, str] = {}
    for piece in pieces:
        word = _strip_entry(piece)
        reason = keyword_fault(word)
        if not reason and sentence_words.intersection(re.split(r"['\u2019\s]", word.casefold())):
            reason = "a sentence"
        if reason:
            refused[piece[:LONGEST]] = reason
        else:
            words.setdefault(word.casefold(), word)
    return list(words.values()), list(refused.items())


def keyword_fault(term: str) -> str:
    """Why something cannot be a keyword; empty where it can."""
    if len(term) > LONGEST:
        return f"longer than {LONGEST} characters"
    if len(term.split()) > MOST_WORDS:
        return f"more than {MOST_WORDS} words"
    if sum(map(str.isalpha, term)) < 2:
        return "no word"
    return "" if _TERM.fullmatch(term) else "marks that no term has"


def _strip_entry(piece: str) -> str:
    """An entry without the marks around it."""
    bare = _MARKS.sub("", piece, count=1)
    if bare.count(".") == 1:
        bare = bare.removesuffix(".")
    return " ".join(bare.strip(_QUOTES).removeprefix("and ").split())

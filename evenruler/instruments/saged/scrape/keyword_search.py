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
from evenruler.strict import read_yaml
from evenruler.tables import group_by_key
from evenruler.text.english import BATCH, NO_NAMES, spacy_pipeline

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""The similarity of a concept to each of n words, from -1 to 1."""

_A_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['\u2019][sS]\Z")

Ask = Callable[[Sequence[str], Sequence[int]], Sequence[str]]
"""A language model: n prompts and the seed of each -> n replies."""

PROMPTS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("prompts.yaml"))
QUESTIONS: Final[dict[str, str]] = PROMPTS[
    "questions"
]  # the five kinds of question (figure 11), in words of ours

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


def rank_by_replies(
    concept: str, topic: str, ask: Ask, *, times: int, seed: int = 0
) -> RankedKeywords:
    """A language model's answers to the five kinds of question: words by the number of replies that
    name them.

    The model is called once, with a batch; the seeds of replies to a question are `seed`, `seed +
    1` ... Ties are in alphabetical order.
    """
    prompts: list[str] = []
    seeds: list[int] = []
    for question in QUESTIONS.values():
        wanted = question.format(concept=concept)
        prompt = PROMPTS["keywords"].format(topic=topic, wanted=wanted)
        prompts += [prompt] * times
        seeds += range(seed, seed + times)
    replies = ask(prompts, seeds)
    lists = [parse_list(reply) for _, reply in zip(prompts, replies, strict=True)]
    words = chain.from_iterable(list_words for list_words, _ in lists)
    refused = chain.from_iterable(refusals for _, refusals in lists)
    written = _count_spellings(words)  # a list holds a word once
    hits = [
        KeywordHit(_commonest_spelling(forms), "model", forms.total()) for forms in written.values()
    ]
    return RankedKeywords(_rank_hits(hits), list(dict.fromkeys(refused)))


def rank_by_similarity(
    concept: str, texts: Iterable[str], similarity: Similarity
) -> RankedKeywords:
    """The words of a concept's pages by their similarity to its name."""
    return _split_by_reason(
        candidate_words(texts, concept, similarity), lambda hit: keyword_fault(hit.word)
    )


def rank_by_links(titles: Iterable[str], texts: Iterable[str]) -> RankedKeywords:
    """Titles that a concept's pages link to, by the number of sentences of these pages that contain
    them.

    Disambiguation in brackets, as in "Mercury (planet)", is removed.
    """
    bare_titles = (_IN_BRACKETS.sub("", title) for title in titles)
    words = {word.casefold(): word for word in bare_titles}
    refused: list[tuple[str, str]] = []
    forms_by_key: dict[str, list[str]] = {}
    for key, word in words.items():
        reason = keyword_fault(word)
        if reason:
            refused.append((word, reason))
        else:
            # Titles begin with a capital even if they are no names.
            forms_by_key[key] = [word, word[0].lower() + word[1:]]
    counts: Counter[str] = Counter()
    for text in texts:
        matches = match_keywords(split_sentences(text), forms_by_key)
        counts.update(key for _, key, _ in matches)
    refused += [
        (word, "not in the text of its pages")
        for key, (word, _) in forms_by_key.items()
        if not counts[key]
    ]
    hits: list[KeywordHit] = []
    for key, n in counts.items():
        title = forms_by_key[key][0]
        hits.append(KeywordHit(title, "links", n))
    return RankedKeywords(_rank_hits(hits), refused)


def only_names(ranked: RankedKeywords) -> RankedKeywords:
    """Keep only words that name people, groups, places, organisations, events or works: no dates or
    amounts.
    """
    # spaCy recognises names less often alone than in a sentence.
    sentences = [f"They wrote about {hit.word}." for hit in ranked.hits]
    docs = spacy_pipeline("entities").pipe(sentences, batch_size=BATCH)
    names: set[KeywordHit] = set()
    for hit, doc in zip(ranked.hits, docs, strict=True):
        kinds = {entity.label_ for entity in doc.ents}
        if kinds - NO_NAMES:
            names.add(hit)
    ranked_names = _split_by_reason(ranked.hits, lambda hit: "" if hit in names else "no name")
    return RankedKeywords(ranked_names.hits, [*ranked.refused, *ranked_names.refused])


def _rank_hits(hits: Iterable[KeywordHit]) -> list[KeywordHit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.word.casefold()))


def _split_by_reason(
    hits: Iterable[KeywordHit], reason: Callable[[KeywordHit], str]
) -> RankedKeywords:
    """The hits without a reason to refuse them, and the others."""
    hits_and_reasons = [(hit, reason(hit)) for hit in hits]
    return RankedKeywords(
        [hit for hit, why in hits_and_reasons if not why],
        [(hit.word, why) for hit, why in hits_and_reasons if why],
    )


def merge_rankings(
    names: Mapping[str, str],
    ways: Mapping[str, Mapping[SearchMethod, RankedKeywords]],
    taken: Mapping[str, str],
    most: int,
) -> Findings:
    """The keywords of each concept: its name, then the first `most` that were found, taking turns
    over the ways.

    Words that belong to another concept (`taken`: declared keywords with their concepts), or that
    were found for several, are refused. `ways`: results by concept and way, of which the first
    `most` words count.
    """
    ranks: dict[str, dict[str, list[KeywordHit]]] = {}
    for concept, ranked_by_way in ways.items():
        best_hits = [ranked.hits[:most] for ranked in ranked_by_way.values()]
        ranks[concept] = _in_turn(best_hits)
    finders = {concept: set(ranking) for concept, ranking in ranks.items()}
    owners = {word.casefold(): concept for word, concept in taken.items()}
    owners |= {name.casefold(): concept for concept, name in names.items()}
    keywords: list[Keyword] = []
    line = "{}: refused {!r} ({}): {}"
    refused: list[str] = []
    for concept, ranked_by_way in ways.items():
        for way, ranked in ranked_by_way.items():
            refused += [line.format(concept, word, way, reason) for word, reason in ranked.refused]
    for concept, hits_by_key in ranks.items():
        name = names[concept]
        name_hits = hits_by_key.pop(name.casefold(), [])
        keywords.append(Keyword(concept, name, tuple(name_hits)))
        accepted_hits: list[list[KeywordHit]] = []
        left_out: list[tuple[list[KeywordHit], str]] = []
        for key, hits in hits_by_key.items():
            other_concepts = ", ".join(
                other for other, keys in finders.items() if other != concept and key in keys
            )
            if key in owners:
                left_out.append((hits, f"a keyword of {owners[key]}"))
            elif other_concepts:
                left_out.append((hits, f"found for {other_concepts} as well"))
            else:
                accepted_hits.append(hits)
        for hits in accepted_hits[:most]:
            keywords.append(Keyword(concept, hits[0].word, tuple(hits)))
        beyond = [(hits, f"{most} are enough") for hits in accepted_hits[most:]]
        for hits, reason in [*beyond, *left_out]:
            best = hits[0]
            refused.append(line.format(concept, best.word, best.way, reason))
    return Findings(keywords, refused)


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
    words = [_commonest_spelling(forms) for _, forms in sorted(written.items())]
    values = similarity(concept, words) if words else []
    hits = [
        KeywordHit(word, "embedding", float(value))
        for word, value in zip(words, values, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.word))


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
_BULLET = re.compile(r"(?:[-*+\u2022\u2013]|\(?\d{1,3}[.):])\s+")
_EXPLANATION = re.compile(r"\s*(?::\s|\s[-\u2013\u2014=]\s|\().*$")
_SEPARATOR = re.compile(r"[,;\n]")
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
_TERM = re.compile(r"\w[\w .&/'\u2019-]*")
_OF_SENTENCES = {
    *(
        "am",
        "are",
        "be",
        "been",
        "can",
        "cannot",
        "has",
        "have",
        "is",
        "was",
        "were",
        "will",
        "would",
    ),
    *(
        "here",
        "how",
        "i",
        "it",
        "me",
        "my",
        "please",
        "sorry",
        "that",
        "these",
        "they",
        "this",
        "we",
        "what",
        "you",
    ),
    "etc",
}


def parse_list(reply: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The entries of a list in brackets, in lines, or with commas, without bullets, numbers and
    explanations.

    Entries have at most 40 characters and 4 words; repeats are dropped, ignoring case. All else is
    refused: its first 40 characters, and why.
    """
    text = reply.replace("**", "")
    bracketed = _BRACKETED.search(text)
    if bracketed:
        lines = [bracketed[1]]
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
    bullets = [_BULLET.match(line) for line in lines]
    has_separator = any(map(_SEPARATOR.search, lines))
    is_list = bracketed or len(lines) > 1 or any(bullets) or has_separator
    refused: dict[str, str] = {}
    words: dict[str, str] = {}
    for line, bullet in zip(lines, bullets, strict=True):
        if not is_list or line.endswith(":") or (any(bullets) and not bullet):
            refused[line.strip()[:LONGEST]] = "no entry of a list"
            continue
        entries = _EXPLANATION.sub("", line[bullet.end() :]) if bullet else line
        for piece in filter(str.strip, _SEPARATOR.split(entries)):
            word, reason = _parse_entry(piece)
            if reason:
                refused[piece.strip()[:LONGEST]] = reason
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


def _parse_entry(piece: str) -> tuple[str, str]:
    """An entry without marks around it, and the reason if it is invalid."""
    term = piece.strip().strip("*_").strip()
    term = term.removesuffix(".") if term.count(".") == 1 else term
    if (term[:1] in _QUOTES) != (term[-1:] in _QUOTES):
        return term, "a quotation mark that is open"
    term = " ".join(term.strip(_QUOTES).removeprefix("and ").split())
    reason = keyword_fault(term)
    if reason:
        return term, reason
    words = re.split(r"['\u2019\s]", term.casefold())
    if _OF_SENTENCES.intersection(words):
        return term, "a sentence"
    return term, ""

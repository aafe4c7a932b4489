"""How frequent a word is in general text."""

from functools import lru_cache

from wordfreq import available_languages, zipf_frequency


@lru_cache(maxsize=1)
def _list_languages() -> frozenset[str]:
    """Codes of the languages for which wordfreq has a list."""
    return frozenset(available_languages("best"))


def log_frequency(words: str, language: str) -> float | None:
    """Frequency of a word, or of several together, on the Zipf scale: log10 of occurrences in a
    billion words.

    `language`: its code. None for one that is not covered, and for a word that is not in its list.
    Source: van Heuven et al. (2014), SUBTLEX-UK; the data of wordfreq (Speer 2022).
    """
    code = language.split("-")[0]
    if code not in _list_languages():
        return None
    return float(zipf_frequency(words, code)) or None

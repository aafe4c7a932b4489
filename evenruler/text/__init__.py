"""Words and sentences: slots, articles, casing."""

from evenruler.text.english import (
    ATTRIBUTE,
    TARGET,
    distinct_words,
    fill,
    locate_slot_word,
    slots,
    slug_of,
)

__all__ = ["ATTRIBUTE", "TARGET", "distinct_words", "fill", "locate_slot_word", "slots", "slug_of"]

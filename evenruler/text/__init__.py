"""Words and sentences: slots, articles, casing."""

from evenruler.text.english import ATTRIBUTE, TARGET, fill, place, slots, slug_of, words

__all__ = ["ATTRIBUTE", "TARGET", "fill", "place", "slots", "slug_of", "words"]

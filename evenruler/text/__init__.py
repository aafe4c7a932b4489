"""Words and sentences: slots, articles, casing."""

from evenruler.text.english import ATTRIBUTE, TARGET, fill, locate_slot_word, slots, slug_of, words

__all__ = ["ATTRIBUTE", "TARGET", "fill", "locate_slot_word", "slots", "slug_of", "words"]

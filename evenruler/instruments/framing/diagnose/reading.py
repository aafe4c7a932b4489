"""What may be chosen, and what a reply chose."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evenruler.instruments.framing.declare.tasks import LETTERS
from evenruler.instruments.framing.diagnose.surfaces import Surfaces, first_sentence, normalised


@dataclass(frozen=True)
class Reading:
    """What one reply says."""

    outcome: str | None
    """The class; None where the reply is invalid."""
    rule: str
    """One of `parsing.RULES`."""


class Asked:
    """What may be chosen."""

    def __init__(
        self, outcomes: Mapping[str, Sequence[str]], options: Sequence[tuple[str, str]], left_out: Sequence[str]
    ) -> None:
        words = {form: outcome for outcome, of_class in outcomes.items() for form in of_class}
        self.classes: Collection[str] = outcomes
        self.letters = {letter: slug for letter, (slug, _) in zip(LETTERS, options, strict=False)}
        # A model that was shown sentences repeats the end of one, which tells it as well.
        ends = _once((slug, _end(text)) for slug, text in options)
        texts = {text: slug for text, slug in ends.items() if text not in words} | _once(options)
        self.words = Surfaces(words)
        self.options = Surfaces(texts)
        self.both = Surfaces(words | texts)
        self.left_out = Surfaces(dict.fromkeys(left_out, ""))

    def read(self, slug: str, rule: str) -> Reading:
        """An option that was chosen."""
        return Reading(slug, rule) if slug in self.classes else Reading(None, "filler")


def _once(options: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Slugs by text; a text that two options share tells neither from the other."""
    listed = list(options)
    often = Counter(normalised(text) for _, text in listed)
    return {text: slug for slug, text in listed if often[normalised(text)] == 1}


def _end(text: str) -> str:
    """The second sentence of a text of two; all of another."""
    rest = text[len(first_sentence(text)) :].lstrip(" .!?")
    return rest or text

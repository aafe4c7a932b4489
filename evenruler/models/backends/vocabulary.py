"""Words that a tokenizer does not know, so that a model is not asked about them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from evenruler.errors import UserError
from evenruler.models.backends.likelihood import tokens_of

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedTokenizerBase

MOST_NAMED: Final = 5
"""Most words that a message names."""


class UnknownWords:
    """Those words of some texts that a tokenizer turns into its unknown token, or into no token at
    all.

    Texts that differ in such words alone have the same tokens, so a model tells nothing of them.
    Words are what blanks separate, punctuation included; each is looked at by itself.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> None:
        """Look up every distinct word of the texts; `words` has the unknown ones in order."""
        words = dict.fromkeys(" ".join(texts).split())
        tokens = tokens_of(tokenizer, list(words))
        unknown = tokenizer.unk_token_id
        self.words = [word for word in words if not tokens[word] or unknown in tokens[word]]
        self._words = frozenset(self.words)

    def __str__(self) -> str:
        """The words for messages: "unknown to its tokenizer: ...", at most `MOST_NAMED` by name."""
        words = ", ".join(map(repr, self.words[:MOST_NAMED]))
        n_more = len(self.words) - MOST_NAMED
        more = f" and {n_more:,} more" if n_more > 0 else ""
        return f"unknown to its tokenizer: {words}{more}"

    def has_word_in(self, text: str) -> bool:
        """Whether a text has one of the unknown words."""
        return bool(self._words) and not self._words.isdisjoint(text.split())

    def refuse(self, name: str) -> None:
        """UserError if a word is unknown; `name`: the model's."""
        if self.words:
            raise UserError(
                str(self), where=name, remedy="leave these words out, or take another model"
            )

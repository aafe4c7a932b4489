"""Which tokens of a text a masked model is asked for, and what is masked for each: PLL-word-l2r
(Kauf and Ivanova 2023), from the pseudo-log-likelihood of Salazar and others (2020).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evenruler.errors import UserError

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedTokenizerBase

Word = Sequence[int]
"""Indices of the tokens of a word that are scored, from left to right."""


class MaskedToken(NamedTuple):
    """One token to score, with what is masked while it is: one row of a forward pass."""

    text: int
    """Index of its text."""
    token: int
    """Index of the token in the text."""
    masked: Sequence[int]
    """Indices of all masked tokens: itself and those to its right in its word, so that the last
    tokens of a word do not give away the first ones."""


def masked_tokens(text: int, words: Sequence[Word]) -> list[MaskedToken]:
    """The rows for the words of a text, one a token, from left to right."""
    rows: list[MaskedToken] = []
    for word in words:
        for place, token in enumerate(word):
            rows.append(MaskedToken(text, token, word[place:]))
    return rows


def words_to_score(
    word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]], begin: int
) -> list[list[int]]:
    """The words of a tokenised text behind its prompt, each with its tokens.

    Args:
        word_ids: [tokens] the word of each token as the tokenizer cuts them, None for tokens that
            it adds, such as those at the ends.
        offsets: [tokens] first letter of each token, and the letter behind its last one.
        begin: The first letter that is scored. A token across it is scored, as by causal models.

    Returns:
        Words from left to right; of a word across `begin` only the tokens that are scored.
    """
    words: list[list[int]] = []
    last_id: int | None = None
    for token, (word_id, (first, end)) in enumerate(zip(word_ids, offsets, strict=True)):
        is_behind = end > begin or first >= begin  # a space alone may have no letters
        if word_id is None or not is_behind:
            continue
        if not words or word_id != last_id:
            words.append([])
        words[-1].append(token)
        last_id = word_id
    return words


def sum_by_text(rows: Sequence[MaskedToken], nats: Sequence[float]) -> dict[int, float]:
    """By text, the sum of the nats of its rows."""
    sums: dict[int, float] = {}
    for row, token_nats in zip(rows, nats, strict=True):
        sums[row.text] = sums.get(row.text, 0.0) + token_nats
    return sums


def require_words(tokenizer: "PreTrainedTokenizerBase", name: str) -> None:
    """UserError if a tokenizer does not say where words end; `name`: the model's."""
    word_ids = tokenizer("he is here").word_ids()
    if len({word_id for word_id in word_ids if word_id is not None}) < 2:
        what = "its tokenizer does not say where words end, so that none can be masked as a whole"
        raise UserError(what, where=name, remedy="take another model")


def pack_masked_texts(
    lengths: Sequence[int], n_rows: Sequence[int], texts: Sequence[str], capacity: int
) -> list[list[int]]:
    """Indices of texts in packs of similar length, ties ordered by content, to minimise padding.

    Args:
        lengths: [texts] tokens of each text.
        n_rows: [texts] how often each is read, once a scored token.
        texts: [texts] their content.
        capacity: Tokens of a pack, with repeats and padding; a text that needs more is a pack of
            its own.
    """

    def by_length(i: int) -> tuple[int, str]:
        """Sort key of a text: its number of tokens, ties by content."""
        return lengths[i], texts[i]

    packs: list[list[int]] = []
    rows_of_pack = 0
    for i in sorted(range(len(texts)), key=by_length):
        n_tokens = (rows_of_pack + n_rows[i]) * lengths[i]
        if not packs or n_tokens > capacity:
            packs.append([])
            rows_of_pack = 0
        packs[-1].append(i)
        rows_of_pack += n_rows[i]
    return packs

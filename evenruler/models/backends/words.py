"""Whole words in tokens: how a word is written after a prompt, and which tokens end it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenruler.models.backends.trie import Tokens

LINE = "\n"
"""Stands before a word that is cut into tokens alone: some tokenizers put a space before the first word of a text."""

BEFORE = "a"
"""Stands before a token whose text is asked: a decoder may drop a space at the beginning of a text."""

BROKEN = "\N{REPLACEMENT CHARACTER}"
"""What decoders write for bytes that are no whole character."""


def word_tokens(tokenizer: Any, prompts: Sequence[str], words: Sequence[str]) -> list[tuple[Tokens, Tokens]]:
    """The tokens of each word as it follows its prompt, whose tokens stay those that it has by itself.

    Prompt and word are cut together where that leaves the prompt as it is; else the word is cut alone.

    Args:
        tokenizer: Of the model.
        prompts: n prompts.
        words: n words, with the space before them, if any.

    Returns:
        n of tokens of the prompt, tokens of the word; no start token.
    """
    given, alone = _tokens(tokenizer, prompts), _alone(tokenizer, words)
    whole = _tokens(tokenizer, [prompt + word for prompt, word in zip(prompts, words, strict=True)])
    return [
        (given[prompt], _after(given[prompt], whole[prompt + word]) or alone[word])
        for prompt, word in zip(prompts, words, strict=True)
    ]


def _alone(tokenizer: Any, words: Sequence[str]) -> dict[str, Tokens]:
    line = _tokens(tokenizer, [LINE])[LINE]
    after, first = _tokens(tokenizer, [LINE + word for word in words]), _tokens(tokenizer, words)
    return {word: _after(line, after[LINE + word]) or first[word] for word in words}


def _after(beginning: Tokens, whole: Tokens) -> Tokens:
    """What follows a beginning; nothing where it is none."""
    return whole[len(beginning) :] if whole[: len(beginning)] == beginning else ()


def _tokens(tokenizer: Any, texts: Sequence[str]) -> dict[str, Tokens]:
    distinct = list(dict.fromkeys(texts))
    found = tokenizer(distinct, add_special_tokens=False)["input_ids"]
    return dict(zip(distinct, map(tuple, found), strict=True))


def word_ends(tokenizer: Any, size: int) -> NDArray[np.bool_]:
    """Which tokens end the word that they come after: those whose text does not begin with a letter.

    So do special tokens, whatever they are called, and entries of the model's vocabulary that are no token. Bytes that
    are no whole character do not: they may be a letter's.

    Args:
        tokenizer: Of the model.
        size: Of the model's vocabulary, which may be larger or smaller than the tokenizer's.

    Returns:
        [size] True where the token ends a word.
    """
    special = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    special.update(tokenizer.all_special_ids)
    ids = sorted(set(tokenizer.get_vocab().values()) - special)
    before = _tokens(tokenizer, [BEFORE])[BEFORE]
    texts = tokenizer.batch_decode([[*before, token] for token in ids], clean_up_tokenization_spaces=False)
    start = len(tokenizer.decode(list(before), clean_up_tokenization_spaces=False))
    goes_on = [token for token, text in zip(ids, texts, strict=True) if _is_letter(text[start : start + 1])]
    ends = np.ones(max(size, ids[-1] + 1), dtype=np.bool_)
    ends[goes_on] = False
    return ends[:size]


def _is_letter(character: str) -> bool:
    return character.isalpha() or character == BROKEN

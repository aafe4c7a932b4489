"""Whole words in tokens: how a word is written after a prompt, and which tokens end it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenruler.models.backends.trie import Tokens

LINE = "\n"  # stands before a word that is cut into tokens alone: some tokenizers put a space before a first word
BEFORE = "a"  # stands before a token whose text is asked: a decoder may drop a space at the beginning of a text
BROKEN = "\N{REPLACEMENT CHARACTER}"  # what decoders write for bytes that are no whole character
BEGINS_WORD = re.compile(rf"[^\S\n\r\v\f\x85\u2028\u2029]*([^\W_]|{BROKEN})")  # after blanks that end no line


def word_tokens(tokenizer: Any, prompts: Sequence[str], words: Sequence[str]) -> list[tuple[Tokens, Tokens]]:
    """Tokens of n prompts and of the words after them, with the space before them, if any; no start token.

    Prompt and word are cut together where that leaves the prompt's tokens as they are; else the word is cut alone.
    """
    given, first, line = tokens_of(tokenizer, prompts), tokens_of(tokenizer, words), tokens_of(tokenizer, [LINE])[LINE]
    alone = tokens_of(tokenizer, [LINE + word for word in words])
    whole = tokens_of(tokenizer, [prompt + word for prompt, word in zip(prompts, words, strict=True)])
    return [
        (given[prompt], _after(given[prompt], whole[prompt + word]) or _after(line, alone[LINE + word]) or first[word])
        for prompt, word in zip(prompts, words, strict=True)
    ]


def _after(beginning: Tokens, whole: Tokens) -> Tokens:
    """What follows a beginning; nothing where it is none."""
    return whole[len(beginning) :] if whole[: len(beginning)] == beginning else ()


def tokens_of(tokenizer: Any, texts: Sequence[str]) -> dict[str, Tokens]:
    """The tokens of each distinct text, no start token; all cut in one call, which takes half the time."""
    distinct = list(dict.fromkeys(texts))
    found = tokenizer(distinct, add_special_tokens=False)["input_ids"] if distinct else []
    return dict(zip(distinct, map(tuple, found), strict=True))


def token_texts(tokenizer: Any) -> dict[int, str]:
    """The text of each token as it stands after a letter, "" for special tokens, whatever they are called."""
    special = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    special.update(tokenizer.all_special_ids)
    ids = sorted(set(tokenizer.get_vocab().values()) - special)
    before = tokens_of(tokenizer, [BEFORE])[BEFORE]
    texts = tokenizer.batch_decode([[*before, token] for token in ids], clean_up_tokenization_spaces=False)
    start = len(tokenizer.decode(list(before), clean_up_tokenization_spaces=False))
    return dict.fromkeys(special, "") | {token: text[start:] for token, text in zip(ids, texts, strict=True)}


def word_ends(texts: Mapping[int, str], size: int) -> NDArray[np.bool_]:
    """[size] Which tokens end the word that they come after: those whose text does not begin with a letter.

    So do special tokens and entries of the model's vocabulary that are no token. Bytes that are no whole character do
    not: they may be a letter's. `texts`: of the tokens (`token_texts`); `size`: of the model's own vocabulary.
    """
    return _all_but(texts, size, lambda text: text[:1].isalpha() or text[:1] == BROKEN)


def stands_alone(texts: Mapping[int, str], size: int) -> NDArray[np.bool_]:
    """[size] Which tokens leave what they come after alone: no word or number goes on there, or comes next on the line.

    The text of such a token begins neither with a letter or digit nor with blanks and then a letter or digit: after
    the option " A" they are ".", ")", " (" and the end of the text, not "man", "2" or " man". A line break leaves it
    alone whatever stands around it, and so does a token of blanks only: what comes after that is not asked. Each of
    these tokens ends a word as well (`word_ends`); special tokens, entries that are no token, and bytes that are no
    whole character, also after blanks, count as they do there.
    """
    return _all_but(texts, size, BEGINS_WORD.match)


def _all_but(texts: Mapping[int, str], size: int, goes_on: Callable[[str], object]) -> NDArray[np.bool_]:
    """[size] False for tokens whose text goes on."""
    found = np.ones(max(size, *texts) + 1, dtype=np.bool_)
    found[[token for token, text in texts.items() if goes_on(text)]] = False
    return found[:size]


def endings(tokenizer: Any, size: int, device: Any) -> Any:
    """[2, vocabulary] which tokens end a word (`word_ends`), and which leave it alone (`stands_alone`), on a device."""
    texts = token_texts(tokenizer)
    return torch.from_numpy(np.stack([word_ends(texts, size), stands_alone(texts, size)])).to(device)

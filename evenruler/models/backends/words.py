"""Whole words in tokens: how a word is tokenised after a prompt, and which tokens end it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenruler.models.backends.trie import Tokens

LINE = "\n"  # precedes a word tokenised alone, since some tokenizers prepend a space to a first word
BEFORE = "a"  # precedes a token to decode, since a decoder may drop a leading space
BROKEN = "\N{REPLACEMENT CHARACTER}"  # what decoders write for incomplete characters
BEGINS_WORD = re.compile(rf"[^\S\n\r\v\f\x85\u2028\u2029]*([^\W_]|{BROKEN})")  # after blanks within the line


def word_tokens(tokenizer: Any, prompts: Sequence[str], words: Sequence[str]) -> list[tuple[Tokens, Tokens]]:
    """Tokens of n prompts and of the words after them, including a leading space, if any; no start token.

    Prompt and word are tokenised together if that leaves the prompt's tokens unchanged; otherwise the word alone.
    """
    given, first, line = tokens_of(tokenizer, prompts), tokens_of(tokenizer, words), tokens_of(tokenizer, [LINE])[LINE]
    alone = tokens_of(tokenizer, [LINE + word for word in words])
    whole = tokens_of(tokenizer, [prompt + word for prompt, word in zip(prompts, words, strict=True)])
    return [
        (given[prompt], _after(given[prompt], whole[prompt + word]) or _after(line, alone[LINE + word]) or first[word])
        for prompt, word in zip(prompts, words, strict=True)
    ]


def _after(beginning: Tokens, whole: Tokens) -> Tokens:
    """What follows a prefix; empty if it is no prefix."""
    return whole[len(beginning) :] if whole[: len(beginning)] == beginning else ()


def tokens_of(tokenizer: Any, texts: Sequence[str]) -> dict[str, Tokens]:
    """Tokens of each distinct text, without start token; one call takes half the time."""
    distinct = list(dict.fromkeys(texts))
    found = tokenizer(distinct, add_special_tokens=False)["input_ids"] if distinct else []
    return dict(zip(distinct, map(tuple, found), strict=True))


def token_texts(tokenizer: Any) -> dict[int, str]:
    """The text of each token after a letter; "" for special tokens, whatever their names."""
    special = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    special.update(tokenizer.all_special_ids)
    ids = sorted(set(tokenizer.get_vocab().values()) - special)
    before = tokens_of(tokenizer, [BEFORE])[BEFORE]
    texts = tokenizer.batch_decode([[*before, token] for token in ids], clean_up_tokenization_spaces=False)
    start = len(tokenizer.decode(list(before), clean_up_tokenization_spaces=False))
    return dict.fromkeys(special, "") | {token: text[start:] for token, text in zip(ids, texts, strict=True)}


def word_ends(texts: Mapping[int, str], size: int) -> NDArray[np.bool_]:
    """[size] Which tokens end the preceding word: those whose text does not begin with a letter.

    Special tokens and vocabulary entries that are no token do, too. Incomplete characters do not, since they may be
    part of a letter. `texts`: from `token_texts`; `size`: of the model's vocabulary.
    """
    return _all_but(texts, size, lambda text: text[:1].isalpha() or text[:1] == BROKEN)


def stands_alone(texts: Mapping[int, str], size: int) -> NDArray[np.bool_]:
    """[size] Which tokens leave the preceding text alone: no word or number continues it or follows on the line.

    Such a token begins neither with a letter or digit nor with blanks and then one: after the option " A" they are ".",
    ")", " (" and the end of the text, not "man", "2" or " man". A line break and a token of blanks only also count;
    what comes after them is not checked. All of these tokens end a word, too (`word_ends`); special tokens, unused
    entries and incomplete characters, also after blanks, count as there.
    """
    return _all_but(texts, size, BEGINS_WORD.match)


def _all_but(texts: Mapping[int, str], size: int, goes_on: Callable[[str], object]) -> NDArray[np.bool_]:
    """[size] False for tokens whose text continues."""
    found = np.ones(max(size, *texts) + 1, dtype=np.bool_)
    found[[token for token, text in texts.items() if goes_on(text)]] = False
    return found[:size]


def endings(tokenizer: Any, size: int, device: Any) -> Any:
    """[2, vocabulary] tokens that end a word (`word_ends`), and that leave it alone (`stands_alone`), on a device."""
    texts = token_texts(tokenizer)
    return torch.from_numpy(np.stack([word_ends(texts, size), stands_alone(texts, size)])).to(device)

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from transformers.convert_slow_tokenizer import bytes_to_unicode

from evenruler.models.backends.words import stands_alone, token_texts, word_ends, word_tokens
from evenruler.models.sources import locate
from tests.models.conftest import tiny_stands_alone, tiny_word_ends
from tests.tiny import tiny_tokenizer


@pytest.fixture(scope="module")
def packaged(shipped_params, packaged_store) -> Callable[[str], tuple[Any, dict[int, str]]]:
    """The tokenizer of a shipped model, and what its tokens say."""
    from transformers import AutoTokenizer

    @cache
    def tokenizer_of(name: str) -> tuple[Any, dict[int, str]]:
        tokenizer = AutoTokenizer.from_pretrained(locate(name, shipped_params.models[name], packaged_store))
        return tokenizer, token_texts(tokenizer)

    return tokenizer_of


class TestWordTokens:
    def test_a_word_alone_gets_no_space_from_a_tokenizer_that_puts_one_before_every_text(self) -> None:
        """As those of Llama 2: "x he" after "x " is one token of both, so the word is cut alone."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        words = ["</s>", "▁", "x", "h", "e", "\n", "he", "▁he", "▁x"]
        merges = [("h", "e"), ("▁", "he"), ("▁", "x")]
        core = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=merges))
        core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        core.decoder = decoders.Metaspace(prepend_scheme="first")
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>")
        assert tokenizer.tokenize("he") == ["▁he"]

        (after_space, whole, spaced) = word_tokens(tokenizer, ["x ", "x", "x"], ["he", "he", " he"])

        assert [tokenizer.convert_ids_to_tokens(t) for t in after_space] == [["▁x", "▁"], ["he"]]
        assert [tokenizer.convert_ids_to_tokens(t) for t in whole] == [["▁x"], ["he"]]
        assert [tokenizer.convert_ids_to_tokens(t) for t in spaced] == [["▁x"], ["▁he"]]


class TestWordEnds:
    def test_bytes_of_a_tiny_tokenizer(self) -> None:
        tokenizer = tiny_tokenizer()

        found = word_ends(token_texts(tokenizer), len(tokenizer))

        # 128 bytes of ASCII without 52 letters, Ġt, Ġthe, Ġa, Ġis and three special tokens.
        assert found.sum() == 128 - 52 + 4 + 3
        assert np.flatnonzero(found).tolist() == sorted(tiny_word_ends(tokenizer))

    def test_a_vocabulary_larger_or_smaller_than_the_tokenizers(self) -> None:
        tokenizer = tiny_tokenizer()
        whole = word_ends(token_texts(tokenizer), len(tokenizer)).tolist()

        assert word_ends(token_texts(tokenizer), len(tokenizer) + 3).tolist() == [*whole, True, True, True]
        assert word_ends(token_texts(tokenizer), 100).tolist() == whole[:100]

    def test_a_special_token_ends_a_word_whatever_it_is_called(self) -> None:
        tokenizer = tiny_tokenizer()
        tokenizer.add_special_tokens({"additional_special_tokens": ["user"]})
        tokenizer.add_tokens(["person"])

        found = word_ends(token_texts(tokenizer), len(tokenizer))

        assert found[tokenizer.convert_tokens_to_ids(["user", "person"])].tolist() == [True, False]

    def test_bytes_of_smollm2(self, packaged) -> None:
        """By the names of its tokens, in the alphabet of byte-level BPE."""
        tokenizer, texts = packaged("smollm2-135m-instruct")
        found, names = word_ends(texts, len(tokenizer)), tokenizer.get_vocab()

        for name in ("Ġhe", "Ġ", "Ċ", ".", "'s", "-", "1", "Ġé", "<|im_end|>", "<|endoftext|>"):
            assert found[names[name]], name
        for name in ("he", "s", "rit", "age", "Ã©", "Ã", "©"):  # é, and the two bytes that it is
            assert not found[names[name]], name
        ascii_names = {name: i for name, i in names.items() if name.isascii()}
        assert len(ascii_names) > 15_000
        assert {i for name, i in ascii_names.items() if not found[i]} == {
            i for name, i in ascii_names.items() if name[0].isalpha()
        }
        assert all(found[i] for name, i in names.items() if name[0] in "ĠĊ")

    def test_pieces_of_gemma(self, packaged) -> None:
        """262,144 of them, by their names: ▁ is a space, <0x41> a byte."""
        tokenizer, texts = packaged("gemma-3-270m")
        found, names = word_ends(texts, len(tokenizer)), tokenizer.get_vocab()
        whole = {name: i for name, i in names.items() if not (name.startswith("<0x") and name[3:5].isalnum())}
        assert len(names) - len(whole) == 256

        letters = {i for name, i in whole.items() if name[0].isalpha()}
        broken = {i for name, i in whole.items() if name[0] == "\ufffd"}
        assert len(letters) > 100_000
        assert {i for i in whole.values() if not found[i]} - broken == letters
        by_byte = [found[names[f"<0x{byte:02X}>"]] for byte in range(256)]
        assert by_byte == [byte < 128 and not chr(byte).isalpha() for byte in range(256)]


BYTES = {character: value for value, character in bytes_to_unicode().items()}

HAND_CASES = dict.fromkeys((" man", "man", " é", "é", "3", " 3", " 20"), False) | dict.fromkeys(
    (".", ":", ")", "\n", "\n\n", " (", "'", "'s", " -", " ", "  "), True
)
"""Whether a token of this text leaves what it comes after alone. Not every tokenizer has all."""


class TestStandsAlone:
    def test_hand_cases(self) -> None:
        """Of each kind, whatever a tokenizer has: blanks go with what stands after them, a line break with nothing."""
        goes_on = ["man", " man", "2", " 3", "\tman", "  man", "é", " é", "\ufffd", " \ufffd", "٣", "\u00a0man", "3."]
        alone = [".", ":", ")", " (", "'s", "-", "_", " _x", "\n", "\nFoo", " \nFoo", "\r\nFoo", "\u2028Foo", "..."]
        alone += [" ", "\t", "", ' "man']

        found = stands_alone(dict(enumerate([*goes_on, *alone])), len(goes_on + alone) + 2)

        assert found.tolist() == [False] * len(goes_on) + [True] * (len(alone) + 2)

    def test_bytes_of_a_tiny_tokenizer(self) -> None:
        tokenizer = tiny_tokenizer()

        found = stands_alone(token_texts(tokenizer), len(tokenizer))

        # 128 bytes of ASCII without 52 letters and 10 digits, and three special tokens.
        assert found.sum() == 128 - 62 + 3
        assert np.flatnonzero(found).tolist() == sorted(tiny_stands_alone(tokenizer))

    def test_a_special_token_leaves_a_word_alone_whatever_it_is_called(self) -> None:
        tokenizer = tiny_tokenizer()
        tokenizer.add_special_tokens({"additional_special_tokens": ["user", " user"]})
        tokenizer.add_tokens([" person", " 3"])
        texts = token_texts(tokenizer)

        found = stands_alone(texts, len(tokenizer) + 1)
        user, spaced, person, three = tokenizer.convert_tokens_to_ids(["user", " user", " person", " 3"])

        assert found[[user, spaced, person, three, -1]].tolist() == [True, True, False, False, True]
        assert stands_alone(texts, 100).tolist() == found[:100].tolist()

    @pytest.mark.parametrize("name", ["smollm2-135m-instruct", "gemma-3-270m"])
    def test_every_token_of_the_packaged_models_by_its_name(self, name, packaged) -> None:
        tokenizer, of_tokens = packaged(name)
        special = {tokenizer.convert_ids_to_tokens(i) for i in tokenizer.all_special_ids}
        spelled = by_bytes if name.startswith("smollm2") else by_pieces
        texts = {i: "" if token in special else spelled(token) for token, i in tokenizer.get_vocab().items()}
        begins_word = re.compile("[^\\S\n\r\v\f\x85\u2028\u2029]*([^\\W_]|\ufffd)")

        found, ends = (kind(of_tokens, len(tokenizer)) for kind in (stands_alone, word_ends))

        assert {i for i, text in texts.items() if begins_word.match(text)} == set(np.flatnonzero(~found).tolist())
        assert ends[found].all()
        assert 1_000 < found.sum() < 20_000
        by_text = {text: i for i, text in texts.items()}
        there = [text for text in HAND_CASES if text in by_text]
        assert len(there) >= 10
        assert {text: bool(found[by_text[text]]) for text in there} == {text: HAND_CASES[text] for text in there}
        assert found[tokenizer.all_special_ids].all()


def by_bytes(token: str) -> str:
    """What a token of byte-level BPE says."""
    return bytes(BYTES[character] for character in token).decode(errors="replace")


def by_pieces(token: str) -> str:
    """What a token of SentencePiece with bytes says."""
    if re.fullmatch("<0x[0-9A-F]{2}>", token):
        return bytes([int(token[3:5], 16)]).decode(errors="replace")
    return token.replace("▁", " ")

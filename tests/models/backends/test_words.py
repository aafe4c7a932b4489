import numpy as np

from evenruler.models.backends.words import word_ends, word_tokens
from evenruler.models.sources import locate
from tests.models.conftest import tiny_word_ends
from tests.tiny import tiny_tokenizer


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

        found = word_ends(tokenizer, len(tokenizer))

        # 128 bytes of ASCII without 52 letters, Ġt, Ġthe, Ġa, Ġis and three special tokens.
        assert found.sum() == 128 - 52 + 4 + 3
        assert np.flatnonzero(found).tolist() == sorted(tiny_word_ends(tokenizer))

    def test_a_vocabulary_larger_or_smaller_than_the_tokenizers(self) -> None:
        tokenizer = tiny_tokenizer()
        whole = word_ends(tokenizer, len(tokenizer)).tolist()

        assert word_ends(tokenizer, len(tokenizer) + 3).tolist() == [*whole, True, True, True]
        assert word_ends(tokenizer, 100).tolist() == whole[:100]

    def test_a_special_token_ends_a_word_whatever_it_is_called(self) -> None:
        tokenizer = tiny_tokenizer()
        tokenizer.add_special_tokens({"additional_special_tokens": ["user"]})
        tokenizer.add_tokens(["person"])

        found = word_ends(tokenizer, len(tokenizer))

        assert found[tokenizer.convert_tokens_to_ids(["user", "person"])].tolist() == [True, False]

    def test_bytes_of_smollm2(self, shipped_params, packaged_store) -> None:
        """By the names of its tokens, in the alphabet of byte-level BPE."""
        found, names = self.of("smollm2-135m-instruct", shipped_params, packaged_store)

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

    def test_pieces_of_gemma(self, shipped_params, packaged_store) -> None:
        """262,144 of them, by their names: ▁ is a space, <0x41> a byte."""
        found, names = self.of("gemma-3-270m", shipped_params, packaged_store)
        whole = {name: i for name, i in names.items() if not (name.startswith("<0x") and name[3:5].isalnum())}
        assert len(names) - len(whole) == 256

        letters = {i for name, i in whole.items() if name[0].isalpha()}
        broken = {i for name, i in whole.items() if name[0] == "\ufffd"}
        assert len(letters) > 100_000
        assert {i for i in whole.values() if not found[i]} - broken == letters
        by_byte = [found[names[f"<0x{byte:02X}>"]] for byte in range(256)]
        assert by_byte == [byte < 128 and not chr(byte).isalpha() for byte in range(256)]

    def of(self, name: str, params, store) -> tuple[np.ndarray, dict[str, int]]:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(locate(name, params.models[name], store))
        return word_ends(tokenizer, len(tokenizer)), tokenizer.get_vocab()

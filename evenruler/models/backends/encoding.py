"""Texts, prompts and words as the tokens that a causal model reads, whoever computes with them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.models.backends.likelihood import (
    NO_TOKEN,
    next_word_tokens,
    tokens_of,
    word_tokens,
)
from evenruler.models.backends.trie import Tokens, TokenSequence, shared_length
from evenruler.models.backends.vocabulary import UnknownWords
from evenruler.models.chat_settings import ChatSettings, ThoughtParser
from evenruler.models.questions import (
    LikelihoodRequest,
    NextWordsRequest,
    Prompt,
    Reply,
    WordRequest,
)
from evenruler.models.starts import choose_start, other_start, usual_starts
from evenruler.terminal import print_note

if TYPE_CHECKING:  # which take seconds to import
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase


class TextEncoder:
    """The tokens of a causal model's texts; needs its tokenizer and configuration, no weights."""

    def __init__(
        self,
        name: str,
        tokenizer: "PreTrainedTokenizerBase",
        config: "PreTrainedConfig",
        settings: ChatSettings | None = None,
        start: str | None = None,
    ) -> None:
        """`name`: the model's, for errors; `config`: of a transformers model, of its text part if
        it has several; `start`: the token before plain texts, as text; by default the first usual
        one (`evenruler.models.starts`).
        """
        self.tokenizer, self._name = tokenizer, name
        self._settings = settings or ChatSettings()
        usual = usual_starts(tokenizer, config)
        self.start = choose_start(name, start, usual, tokenizer)
        """What stands before a plain text. A chat begins as its template does."""
        self.other_start = other_start(self.start, usual)
        vocabulary = tokenizer.get_vocab()
        self.start_token = int(vocabulary[self.start.token])
        self._other_start_token = (
            None if self.other_start is None else int(vocabulary[self.other_start.token])
        )
        self.longest: int | None = getattr(config, "max_position_embeddings", None)
        self._note_idle_options()

    def _note_idle_options(self) -> None:
        """Say which options for the chat template change nothing."""
        options = self._settings.options if self.tokenizer.chat_template else {}
        greeting = ("Hello.", None, True)
        if options and self._render_prompt(*greeting) == self._render_prompt(
            *greeting, ChatSettings()
        ):
            print_note(
                f"{self._name}: its chat template writes the same without {', '.join(options)}"
            )

    def encode_texts(self, requests: Sequence[LikelihoodRequest]) -> list[TokenSequence]:
        """Tokens of prompt and text together; the text begins at the first token that the prompt
        alone lacks.
        """
        texts = [request.prompt + request.text for request in requests]
        tokens = tokens_of(self.tokenizer, [*texts, *(request.prompt for request in requests)])
        sequences = []
        for text, request in zip(texts, requests, strict=True):
            self.check_length(text, len(tokens[text]))
            begin = shared_length(tokens[text], tokens[request.prompt])
            start = self.start_token
            if request.other_start:
                assert self._other_start_token is not None  # `encode_known_texts` has no such text
                start = self._other_start_token
            sequences.append(TokenSequence((start, *tokens[text]), begin + 1))
        return sequences

    def encode_known_texts(self, requests: Sequence[LikelihoodRequest]) -> dict[int, TokenSequence]:
        """Tokens of the texts that can be scored, by place.

        Left out, with a note, is a text with a word that the tokenizer does not know or drops; and
        any text after the other usual start where there is none.
        """
        unknown = UnknownWords(self.tokenizer, [request.text for request in requests])
        if unknown.words:
            print_note(f"{self._name}: {unknown}; texts with them are left out")
        lacks_start = self._other_start_token is None
        places = [
            place
            for place, request in enumerate(requests)
            if not (unknown.has_word_in(request.text) or (request.other_start and lacks_start))
        ]
        sequences = self.encode_texts([requests[place] for place in places])
        return dict(zip(places, sequences, strict=True))

    def encode_words(self, requests: Sequence[WordRequest]) -> list[TokenSequence]:
        """Tokens of each word after its prompt, through the chat template where it is a chat.

        UserError if the tokenizer does not know a word, it is too long with its prompt, or there is
        no chat template; ValueError if a word has no token.
        """
        keys = [(request.prompt, None, request.chat) for request in requests]
        read = {key: self._render_prompt(*key) for key in dict.fromkeys(keys)}
        prompts, texts = [read[key] for key in keys], [request.text for request in requests]
        UnknownWords(self.tokenizer, texts).refuse(self._name)
        sequences = []
        tokens = word_tokens(self.tokenizer, prompts, texts)
        for request, (prompt, word) in zip(requests, tokens, strict=True):
            if not word:
                raise ValueError(f"the word {request.text!r} has no token")
            before = self.prepend_start(prompt, request.chat)
            self.check_length(request.text, len(before) + len(word) - 1, " with its prompt")
            sequences.append(TokenSequence((*before, *word), len(before)))
        return sequences

    def encode_before_words(self, requests: Sequence[NextWordsRequest]) -> list[Tokens]:
        """Tokens of each prompt that a next word follows; UserError if one is too long."""
        tokens = tokens_of(self.tokenizer, [request.prompt for request in requests])
        sequences = []
        for request in requests:
            before = self.prepend_start(tokens[request.prompt], chat=False)
            self.check_length(request.prompt, len(before), " with its next word")
            sequences.append(before)
        return sequences

    def encode_next_words(self, prompts: Sequence[str], words: Sequence[str]) -> NDArray[np.int64]:
        """[prompts, words] as `next_word_tokens`; `NO_TOKEN` also for words that the tokenizer does
        not know.
        """
        unknown = UnknownWords(self.tokenizer, words)
        tokens = next_word_tokens(self.tokenizer, prompts, words)
        tokens[:, [unknown.has_word_in(word) for word in words]] = NO_TOKEN
        return tokens

    def encode_prompts(
        self, prompts: Sequence[Prompt], new: int
    ) -> tuple[list[Tokens], list[bool]]:
        """Tokens of each prompt, and whether the prompt opens a thought; `new`: tokens of a reply
        at most.
        """
        tokens, opened, thinking = {}, {}, self._settings.thoughts
        keys = [(prompt.text, prompt.system, prompt.chat) for prompt in prompts]
        for key in dict.fromkeys(keys):
            read = self._render_prompt(*key)
            prompt_tokens: list[int] = self.tokenizer(read, add_special_tokens=False)["input_ids"]
            tokens[key] = self.prepend_start(prompt_tokens, chat=key[2])
            # The last new token is not fed back.
            length = len(tokens[key]) + new - 2
            self.check_length(read, length, f" with its {new} new ones")
            behind = (
                read.rpartition(key[0])[2] if key[0] else read
            )  # text that the template appends
            opened[key] = thinking is not None and thinking.answer(behind) is None
        return [tokens[key] for key in keys], [opened[key] for key in keys]

    def prepend_start(self, tokens: Sequence[int], chat: bool) -> Tokens:
        """Tokens as the model reads them: before a plain text the start token, before a chat
        nothing, since its template writes its own.
        """
        return tuple(tokens) if chat else (self.start_token, *tokens)

    def check_length(self, text: str, tokens: int, which: str = "") -> None:
        """UserError if a text is too long; `tokens`: of the text, without the first one, the
        start.
        """
        if self.longest is not None and tokens >= self.longest:
            what = f"a text of {tokens} tokens{which}, the model takes {self.longest}"
            raise UserError(what, where=repr(text[:40]), remedy="shorten it")

    def _render_prompt(
        self, text: str, system: str | None, chat: bool, settings: ChatSettings | None = None
    ) -> str:
        """The text that the model reads for a prompt, through the chat template if `chat`;
        UserError as `render_prompt`. `settings`: in place of the model's.
        """
        from evenruler.models.templates import render_prompt

        return render_prompt(
            self.tokenizer, self._name, text, system, chat, settings or self._settings
        )

    def parse_thoughts(self, prompt: Prompt) -> ThoughtParser | None:
        """What finds the thoughts of a reply to a prompt; None where the model does not think."""
        thinking = self._settings.thoughts if prompt.chat else None
        if thinking is None:
            return None
        return ThoughtParser(self.tokenizer, thinking, prompt.sampling.max_new_tokens)

    def finish_reply(self, prompt: Prompt, reply: Reply) -> Reply:
        """A generated reply as it is returned: without thoughts in a chat, and with a reason
        instead of a text if the thought used up all tokens.
        """
        if reply.text is None:
            return replace(reply, reason=self._settings.cut)
        if prompt.chat and self._settings.thoughts:
            return replace(reply, text=reply.text.lstrip())
        return self._settings.reply(reply.text, str(reply.finish)) if prompt.chat else reply

"""Whether words end where they are written, of a model behind a server: by lists of what comes
next.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from evenruler.models.backends.next_tokens import (
    LENGTHS,
    WordEnd,
    longest_allowed,
    read_next_tokens,
    read_word_end,
    texts_a_request,
)
from evenruler.models.backends.server import RefusalError, Server, ServerStoppedError
from evenruler.models.backends.trie import Tokens

Text = TypeVar("Text", str, Tokens)

REMEDY = "let it list all (vLLM: --max-logprobs -1), or measure replies (--method sampled)"


class UnlistedWordsError(ServerStoppedError):
    """The server lists too few next tokens to say where words end; it can be asked other things."""


@dataclass
class WordEndReader:
    """Asks a server for lists of next tokens, longer ones as long as too much is open."""

    server: Server
    start: str = ""
    """The start token to write before every text, if any; token ids have their own."""
    read: Callable[[Mapping[str, float]], WordEnd] = read_word_end
    """What a list says of the word before it."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """More parameters of a request."""
    _longest: int | None = None
    """The longest list that the server allows; None as long as it refuses none."""

    def read_ends(self, texts: Sequence[Text]) -> list[tuple[float, float]]:
        """Nats, for each text or its token ids, that its last word ends and that it stands alone.

        A text's lists do not depend on the other texts. UnlistedWordsError if the server lists too
        little; other errors as `Server.ask`.
        """
        end_by_text: dict[Text, WordEnd] = {}
        left = list(dict.fromkeys(texts))
        for length in LENGTHS:
            end_by_text |= self._read_lists(left, length)
            left = [text for text in left if not end_by_text[text].is_known]
            is_longest = self._longest is not None and self._longest <= length
            if not left or is_longest:
                break
        if left:
            raise self._open_error(left[0], end_by_text[left[0]].unlisted)
        word_ends = [end_by_text[text] for text in texts]
        return [(word_end.ends, word_end.alone) for word_end in word_ends]

    def _read_lists(self, texts: Sequence[Text], length: int) -> dict[Text, WordEnd]:
        """What lists of so many next tokens, or as many as are allowed, say after each text."""
        word_ends: dict[Text, WordEnd] = {}
        allowed = min(length, self._longest or length)
        together = texts_a_request(allowed)
        for first in range(0, len(texts), together):
            word_ends |= self._request_lists(texts[first : first + together], allowed)
        return word_ends

    def _request_lists(self, texts: Sequence[Text], length: int) -> dict[Text, WordEnd]:
        """One request for lists; several where the server takes no such list, or one text at a
        time.
        """
        # Temperature 1 gives the model's own log-probabilities even if the server applies it.
        question = {"max_tokens": 1, "logprobs": length, "temperature": 1, **self.parameters}
        prompts = [self.start + text if isinstance(text, str) else text for text in texts]
        try:
            choices = self.server.ask_texts(prompts, question)
        except RefusalError as error:
            allowed = longest_allowed(str(error), length)
            if allowed:
                self._longest = allowed
                return self._request_lists(texts, allowed)
            if len(texts) > 1:
                first_end = self._request_lists(texts[:1], length)
                return first_end | self._request_lists(texts[1:], length)
            raise self._no_lists_error(str(error)) from None
        word_ends: dict[Text, WordEnd] = {}
        for text, choice in zip(texts, choices, strict=True):
            next_tokens = read_next_tokens(choice)
            if next_tokens is None:
                raise self._no_lists_error("no `top_logprobs`")
            word_ends[text] = self.read(next_tokens)
        return word_ends

    def _open_error(self, text: str | Tokens, unlisted: float) -> UnlistedWordsError:
        """The error, to be raised by the caller, where lists leave so much open after a text."""
        longest = self._longest or LENGTHS[-1]
        what = (
            f"the server lists at most {longest:,} next tokens, which leaves {unlisted:.2g} of the "
            f"probability after {text[-40:]!r} open"
        )
        return UnlistedWordsError(what, where=self.server.name, remedy=REMEDY)

    def _no_lists_error(self, why: str) -> UnlistedWordsError:
        """The error, to be raised by the caller, where the server gives no list at all."""
        what = f"the server does not list next tokens ({why}), so where words end is not known"
        return UnlistedWordsError(what, where=self.server.name, remedy=REMEDY)

"""Models hosted by a server with the OpenAI protocol; address and key come only from environment
variables.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from typing import Any, Literal

from evenruler.errors import UserError
from evenruler.models.backends import prompt_logprobs
from evenruler.models.backends.concurrency import AT_ONCE
from evenruler.models.backends.next_tokens import RARE
from evenruler.models.backends.prompt_logprobs import Echo, EchoDialect
from evenruler.models.backends.server import (
    LIMIT,
    OTHERWISE,
    SAMPLING,
    SECONDS,
    BatchOutcome,
    RefusalError,
    Server,
    ServerReply,
    ServerStoppedError,
    server_place,
)
from evenruler.models.backends.word_ends import WordEndReader
from evenruler.models.chat_settings import TOKENS_A_SECOND, ChatSettings, Thinking
from evenruler.models.questions import (
    LikelihoodRequest,
    Prompt,
    Reply,
    Sampling,
    WordAnswer,
    WordRequest,
    chat_messages,
    join_system_prompt,
)
from evenruler.tables import group_by_key
from evenruler.tables.ids import content_sha256

Scored = tuple[float, int]  # nats, number of tokens
Mode = Literal["chat", "completions"]  # /v1/chat/completions, or /v1/completions with raw texts
TEXTS = 16  # most texts scored in one request, including their prompts

TRIAL = 2 + 3 + 7 + 2 * prompt_logprobs.LONG
"""Most requests of the trial: number of new tokens, all sentences, each sentence alone, and text
generated after the long ones (usually only the first)."""

_PLAIN = ChatSettings()
SEEDS = 2**31  # llama.cpp accepts no larger seed


def engine_fields(
    served: str,
    mode: Mode,
    revision: str | None,
    start: str | None = None,
    settings: ChatSettings = _PLAIN,
) -> dict[str, object]:
    """The engine in cache keys: what is known about the server's model, which may change unnoticed.

    `start` and `settings` are omitted if default; `answers_as` counts, since it lets other answers
    in. Of the address only scheme, host, port and path are included, since a password or query may
    be secret; UserError if it is invalid.
    """
    named = {"start": start, "answers_as": settings.answers_as}
    more = {key: setting for key, setting in named.items() if setting} | settings.in_key
    return {
        "backend": "openai",
        "mode": mode,
        "url": server_place(),
        "model": served,
        "revision": revision,
        **more,
    }


class OpenAI:
    """A model behind a server."""

    def __init__(
        self,
        name: str,
        served: str,
        mode: Mode,
        start: str = "",
        settings: ChatSettings = _PLAIN,
        *,
        server: Server | None = None,
        tolerance: float = prompt_logprobs.TOLERANCE,
    ) -> None:
        """Set up the server; nothing is asked. UserError if the key is missing or invalid.

        `served`: the server's name for the model; `mode`: `chat` generates replies, `completions`
        continues and scores texts; `start`: start token to prepend to every completion text, by
        default left to the server; `settings`: chat options and timeout; `server`: in place of the
        one that the environment names; `tolerance`: largest difference in nats of a token's
        log-probability between two requests.
        """
        thinking = settings.thoughts
        longer = SECONDS + thinking.tokens / TOKENS_A_SECOND if thinking else None
        seconds = settings.timeout or longer
        self._server = server or Server(name, served, seconds, settings.answers_as)
        self._tolerance = tolerance
        self._name, self._mode, self._start, self._settings = name, mode, start, settings
        self._served = served
        template = {
            key: value for key, value in settings.options.items() if key != "reasoning_effort"
        }
        effort = settings.effort or ("none" if settings.thinking == "off" else None)
        budget = thinking and thinking.tokens
        parameters = {
            "reasoning_effort": effort,
            "chat_template_kwargs": template,
            "thinking_token_budget": budget,
        }
        self._extra_parameters = {key: value for key, value in parameters.items() if value}
        user_settings = {
            "reasoning_effort": settings.effort,
            "chat_template_kwargs": settings.template,
        }
        self._optional = {
            *SAMPLING,
            *(key for key in parameters if not user_settings.get(key)),
        }  # not set by the user
        self._manner: EchoDialect | None = None
        self._word_ends = WordEndReader(self._server, self._start)
        self._answered: set[Sampling] = set()
        """Sampling settings that have worked, so that a refusal concerns the prompt."""

    def generate(
        self, prompts: Sequence[Prompt], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, Reply]]]:
        """Ask for replies to the wanted prompts: yields [(index, reply)] as they come.

        A refused prompt gets a reply with the reason; if the server refuses even a greeting with
        the same settings, that is an error. UserError, after all answers received, if the server
        cannot be reached or returns no valid reply; ValueError if `chat` does not match the mode,
        or `top_k` is set.
        """
        for prompt in prompts:
            if prompt.chat != (self._mode == "chat"):
                raise ValueError(
                    f"{self._name} is asked by {self._mode}, so `chat` is {self._mode == 'chat'}"
                )
            if prompt.sampling.top_k:
                raise ValueError("a server knows no top_k")
        wanted_prompts = [prompts[i] for i in wanted]
        letters = sum(prompt.letters for prompt in wanted_prompts)
        with self._server.budget.announce_requests(self._name, len(wanted), letters):
            # Hold refused prompts back until something was accepted with the same settings.
            refused: dict[Sampling, list[tuple[int, Reply]]] = {}
            for replies in self._server.at_once(
                partial(self._ask_prompt, i, prompts[i]) for i in sorted(wanted)
            ):
                for i, reply in replies:  # exactly one
                    sampling = prompts[i].sampling
                    held = refused.setdefault(sampling, [])
                    held.append((i, reply))
                    if _is_accepted(reply):
                        self._answered.add(sampling)
                    elif len(held) == AT_ONCE:
                        self._greet(prompts[i])
                    if sampling in self._answered:
                        yield refused.pop(sampling)
            for held in refused.values():
                self._greet(prompts[held[0][0]])
                yield held

    def _greet(self, prompt: Prompt) -> None:
        """Check that the server accepts a greeting with a prompt's settings."""
        greeted = self._request_reply(replace(prompt, text="Hello.", system=None))
        if not _is_accepted(greeted):
            raise self._server.user_error(f"the server does not answer ({greeted.reason})")
        self._answered.add(prompt.sampling)

    def loglikelihood(
        self, requests: Sequence[LikelihoodRequest], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, Scored]]]:
        """Score the wanted texts after their prompts, or from the start token on, batch by batch.

        Yields [(index, (nats, number of tokens))]; an empty text gets 0 and 0 without a request.
        UserError, after all answers received, if log-probabilities are missing or unreliable
        (`trial`), the server cannot be reached, or a text is not scored; ValueError in chat mode.
        """
        missing = sorted(wanted)
        empty = [(i, (0.0, 0)) for i in missing if not requests[i].text]
        if empty:
            yield empty
        indices = [i for i in missing if requests[i].text]
        if indices:
            batches = _split_into_batches(indices, requests)
            letters = _count_letters(batches, requests)
            tried = TRIAL if self._manner is None else 0
            with self._server.budget.announce_requests(self._name, len(batches) + tried, letters):
                manner = self.trial()
                self._require_first_tokens(manner, [requests[i] for i in indices])
                yield from self._server.at_once(
                    partial(self._score_batch, manner, batch, requests) for batch in batches
                )

    def _require_first_tokens(
        self, manner: EchoDialect, requests: Sequence[LikelihoodRequest]
    ) -> None:
        """UserError, before paying for the others, if a text without a prompt cannot be scored."""
        unscored = [request.text for request in requests if not request.prompt]
        if unscored and not manner.first:
            raise prompt_logprobs.unscored_text_error(self._name, unscored[0])

    def words(
        self, requests: Sequence[WordRequest], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, WordAnswer]]]:
        """Score the wanted words after their prompts, batch by batch: the tokens by prompt
        log-probabilities, what follows by lists of next tokens.

        Yields [(index, numbers of a `WordAnswer`)]; the first token is a number of its text.
        UserError, after all answers received, as for `loglikelihood`, or if the server lists too
        few next tokens, or writes tokens without their blanks; ValueError if a word has no token.
        """
        indices = sorted(wanted)
        batches = _split_into_batches(indices, requests)
        tried = TRIAL if self._manner is None else 0
        n_requests = tried + 2 * len(batches)  # for the words, and for what follows them
        letters = 2 * _count_letters(batches, requests)
        with self._server.budget.announce_requests(self._name, n_requests, letters):
            manner = self.trial()
            self._require_first_tokens(manner, [requests[i] for i in indices])
            if not manner.spaces:
                what = "the server writes tokens without their blanks, so where words end is hidden"
                raise self._server.user_error(what, "take a newer one, or replies (sampled)")
            yield from self._server.at_once(
                partial(self._score_words, manner, batch, requests) for batch in batches
            )

    def _score_words(
        self, manner: EchoDialect, batch: Sequence[int], requests: Sequence[WordRequest]
    ) -> BatchOutcome[tuple[int, WordAnswer]]:
        """Score a batch of words after their prompts; a failing word does not affect the others."""
        texts = _texts_to_echo(batch, requests)
        outcome_by_text = dict(zip(texts, self._echo_outcomes(texts, manner.new), strict=True))
        scored: dict[int, tuple[float, float, str]] = {}
        fault = None
        for i in batch:
            prompt, word = requests[i].prompt, requests[i].text
            try:
                whole = _echo_or_raise(outcome_by_text[prompt + word])
                alone = _echo_or_raise(outcome_by_text[prompt]) if prompt else None
                scored[i] = prompt_logprobs.word_log_likelihood(
                    self._name, manner, word, whole, alone
                )
            except UserError as error:
                fault = fault or error
        ends = dict.fromkeys(scored, (0.0, 0.0))  # by definition for rare words
        likely = [i for i, (nats, _, _) in scored.items() if nats >= RARE]
        try:
            word_ends = self._word_ends.read_ends(
                [requests[i].prompt + requests[i].text for i in likely]
            )
            ends |= dict(zip(likely, word_ends, strict=True))
        except UserError as error:
            fault = fault or error
            scored = {i: word for i, word in scored.items() if i not in likely}
        answers: list[tuple[int, WordAnswer]] = []
        for i, (nats, first_nats, token) in scored.items():
            answers.append((i, (nats, *ends[i], first_nats, _number_of_token(token))))
        return BatchOutcome(answers, fault)

    def trial(self) -> EchoDialect:
        """Test once whether the server's prompt log-probabilities are reliable, and how it gives
        them.

        Sentences, most with one beginning, are asked twice, in reverse order and one by one:
        log-probabilities may depend on none of that, nor on later tokens. They must also belong to
        their tokens: generated text must have the same log-probabilities when echoed. UserError if
        they are missing or unreliable, or the server cannot be reached.
        """
        if self._mode != "completions":
            raise ValueError(f"{self._name} is asked by chat, which tells no likelihoods of texts")
        if self._manner is None:
            texts = prompt_logprobs.trial_texts(secrets.token_hex(4))
            new = self._new_tokens()
            first = self._request_echoes(texts, new)
            manner = prompt_logprobs.detect_echo_dialect(self._name, first, new)
            if self._start and any(
                text_echo.tokens[0] != self._start or text_echo.tokens[1] == self._start
                for text_echo in first
            ):
                what = (
                    f"the server does not read {self._start!r} as one start token "
                    f"({first[0].tokens[:2]})"
                )
                remedy = (
                    "fix `start`, or leave it out where the server puts one before each text "
                    "by itself"
                )
                raise self._server.user_error(what, remedy)
            second = self._request_echoes(texts, new)
            reverse = self._request_echoes(texts[::-1], new)[::-1]
            single = [self._request_echoes([text], new)[0] for text in texts]
            for again, how in (
                (second, "asked twice"),
                (reverse, "asked in reverse order"),
                (single, "asked one by one"),
            ):
                self._require_agreement(
                    max(map(prompt_logprobs.max_log_prob_difference, first, again)), how
                )
            worst = max(
                prompt_logprobs.max_common_prefix_difference(left_echo, right_echo)
                for left_echo, right_echo in combinations(first, 2)
            )
            self._require_agreement(worst, "in texts that begin alike")
            self._require_beside(texts[: prompt_logprobs.LONG], first[: prompt_logprobs.LONG], new)
            self._manner = manner
        return self._manner

    def _require_agreement(self, nats: float, how: str) -> None:
        """UserError if log-probabilities that must be equal differ by more than the tolerance;
        `nats`: their largest difference; `how`: between which requests, for the error.
        """
        if nats > self._tolerance:
            far = f"{nats:.3f} nats apart" if nats < float("inf") else "other tokens"
            what = (
                f"the server's log-probabilities depend on the order of the requests ({far} {how})"
            )
            off, same = (
                "switch its prefix caching off (vLLM: --no-enable-prefix-caching)",
                "(VLLM_BATCH_INVARIANT=1)",
            )
            raise self._server.user_error(
                what, f"{off}; where it is off, let it compute the same in every batch {same}"
            )

    def _require_beside(self, texts: Sequence[str], echoes: Sequence[Echo], new: int) -> None:
        """UserError if log-probabilities are shifted against their tokens, as in
        llama-cpp-python.
        """
        for text, before in zip(texts, echoes, strict=True):
            question = {
                "prompt": self._start + text,
                "max_tokens": prompt_logprobs.WRITTEN,
                "logprobs": 1,
                "temperature": 1,
            }
            written = self._server.ask("/completions", question).choices[0]
            written_text = written.get("text")
            if not isinstance(written_text, str) or not written_text:
                continue
            nats = prompt_logprobs.max_generated_difference(
                before, written, self._request_echoes([text + written_text], new)[0]
            )
            if nats is None:
                continue
            if nats <= max(prompt_logprobs.SHIFTED, self._tolerance):
                return
            what = (
                f"the server's log-probabilities stand beside other tokens ({nats:.3f} nats "
                "from when it wrote them)"
            )
            raise self._server.user_error(
                what, "ask another server for likelihoods, and this one only for replies"
            )
        what = "what the server writes cannot be compared with its log-probabilities of a prompt"
        raise self._server.user_error(what, "run again, or ask this server only for replies")

    def _new_tokens(self) -> int:
        """The smallest `max_tokens` that works: 0, or 1 if the server rejects or ignores 0."""
        text = "The"
        try:
            (text_echo,) = self._request_echoes([text], 0)
            if text.endswith(text_echo.tokens[-1]):
                return 0
        except UserError:
            pass  # an actual fault recurs below
        try:
            self._request_echoes([text], 1)
        except _UnscoredError as error:
            raise prompt_logprobs.missing_log_probs_error(self._name, error.refusal) from None
        return 1

    def _request_echoes(self, texts: Sequence[str], new: int) -> list[Echo]:
        """The echo of each text, with `new` generated tokens; the first text's UserError if one
        fails.
        """
        return [_echo_or_raise(outcome) for outcome in self._echo_outcomes(texts, new)]

    def _echo_outcomes(self, texts: Sequence[str], new: int) -> list[Echo | UserError]:
        """Echo texts in one request, or one by one if the server refuses them together."""
        # Temperature 1 gives the model's own log-probabilities even if the server applies it.
        question = {"echo": True, "max_tokens": new, "logprobs": 1, "temperature": 1}
        try:
            choices = self._server.ask_texts([self._start + text for text in texts], question)
        except RefusalError as error:
            if len(texts) == 1:
                return [_UnscoredError(self._name, texts[0], str(error))]
            single_outcomes: list[Echo | UserError] = []
            for text in texts:
                try:
                    single_outcomes += self._echo_outcomes([text], new)
                except UserError as fault:  # nothing more is asked
                    return [*single_outcomes, *[fault] * (len(texts) - len(single_outcomes))]
            return single_outcomes
        outcomes: list[Echo | UserError] = []
        for text, choice in zip(texts, choices, strict=True):
            try:
                outcomes.append(
                    prompt_logprobs.parse_echo(self._name, choice, self._start + text, new)
                )
            except UserError as fault:
                outcomes.append(fault)
        return outcomes

    def _score_batch(
        self, manner: EchoDialect, batch: Sequence[int], requests: Sequence[LikelihoodRequest]
    ) -> BatchOutcome[tuple[int, Scored]]:
        """Score a batch of texts and their prompts; a failing text does not affect the others."""
        texts = _texts_to_echo(batch, requests)
        outcome_by_text = dict(zip(texts, self._echo_outcomes(texts, manner.new), strict=True))
        answers, fault = [], None
        for i in batch:
            prompt, text = requests[i].prompt, requests[i].text
            try:
                whole, alone = (
                    _echo_or_raise(outcome_by_text[prompt + text]),
                    _echo_or_raise(outcome_by_text[prompt]) if prompt else None,
                )
                answers.append(
                    (i, prompt_logprobs.text_log_likelihood(self._name, manner, text, whole, alone))
                )
            except UserError as error:
                fault = fault or error
        return BatchOutcome(answers, fault)

    def _ask_prompt(self, index: int, prompt: Prompt) -> BatchOutcome[tuple[int, Reply]]:
        """The reply to one prompt, as the result of a concurrent task; errors as `Server.ask`."""
        return BatchOutcome([(index, self._request_reply(prompt))])

    def write_request(self, prompt: Prompt) -> dict[str, Any]:
        """What asks for a reply to a prompt, as a request of a batch has it: address and body."""
        body = {"model": self._served, **self._write_question(prompt)}
        return {"method": "POST", "url": f"/v1{self._path}", "body": body}

    def read_reply(self, response_content: bytes) -> Reply:
        """The reply in an answer that came in another way, as in a batch; errors as for
        `generate`.
        """
        return self._read_answer(self._server.read_answer(response_content))

    def _request_reply(self, prompt: Prompt) -> Reply:
        """Ask the server for one reply; one without text, with the reason, if it refuses the prompt
        (400).
        """
        question = self._write_question(prompt)
        try:
            return self._read_answer(self._server.ask(self._path, question, self._optional))
        except RefusalError as error:
            return Reply(None, str(error))

    @property
    def _path(self) -> str:
        """Where replies are asked for, after the server's address."""
        return "/chat/completions" if self._mode == "chat" else "/completions"

    def _write_question(self, prompt: Prompt) -> dict[str, Any]:
        """The body of a request for a reply, without the model."""
        sampling, thinking, chats = prompt.sampling, self._settings.thoughts, self._mode == "chat"
        limit = LIMIT if chats else OTHERWISE[LIMIT]
        thinking_tokens = thinking.tokens if thinking else 0
        question: dict[str, Any] = {
            limit: sampling.max_new_tokens + thinking_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": prompt.seed % SEEDS,
            **self._extra_parameters,
        }
        if chats:
            question["messages"] = chat_messages(prompt.text, prompt.system)
        else:
            question["prompt"] = self._start + join_system_prompt(prompt.text, prompt.system)
        return question

    def _read_answer(self, server_reply: ServerReply) -> Reply:
        """The reply in an answer, with what the server said of itself."""
        details = server_reply.usage.get("completion_tokens_details")
        thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
        of_itself = dict(server_reply.of_itself)
        if isinstance(thought, int) and thought:
            of_itself["thought"] = thought
        return replace(
            self._parse_choice(server_reply.choices[0], "thought" in of_itself),
            server_report=of_itself or None,
        )

    def _parse_choice(self, choice: dict[str, Any], thought: bool) -> Reply:
        """The reply in a choice, without its thoughts; `thought`: whether the server counted
        thinking tokens.
        """
        finish, message = (
            choice.get("finish_reason"),
            choice.get("message") if self._mode == "chat" else choice,
        )
        message_fields = message if isinstance(message, dict) else {}
        text, refusal = (
            message_fields.get("content" if self._mode == "chat" else "text"),
            message_fields.get("refusal"),
        )
        if finish == "content_filter":
            return Reply(None, finish, finish)
        if finish in ("stop", "length"):
            if not text and isinstance(refusal, str) and refusal:
                return Reply(None, self._server.plain(refusal), finish)
            fields = [
                message_fields.get(key) for key in ("reasoning", "reasoning_content")
            ]  # servers differ in the name
            apart = thought or any(
                isinstance(reasoning, str) and reasoning.strip() for reasoning in fields
            )
            text = "" if text is None and (apart or finish == "length") else text
            if isinstance(text, str):
                text = text.encode(errors="replace").decode()  # JSON can contain lone surrogates
                if self._mode == "chat":
                    return self._without_thoughts(text, finish, apart)
                if text or finish == "stop":
                    return Reply(text, None, finish)
        raise self._server.user_error(
            f"what the server says is no reply ({self._server.plain(choice)})"
        )

    def _without_thoughts(self, text: str, finish: str, apart: bool) -> Reply:
        """A chat reply without its thoughts; `apart`: whether thoughts were returned separately."""
        settings, thinking = self._settings, self._settings.thoughts or Thinking()
        before, within, _ = text.rpartition(thinking.end)
        if settings.thinking == "off" and (apart or before.replace(thinking.begin, "").strip()):
            remedy = "say how long it may (--thinking 4096), or take a model that need not"
            raise ServerStoppedError(
                "the server thinks, though thinking is off", where=self._name, remedy=remedy
            )
        # An unfinished thought that the template opened looks like an answer; only its length gives
        # it away.
        reply = settings.reply(
            text, finish, opened=bool(settings.thoughts) and finish == "length" and not apart
        )
        if finish == "stop" or (reply.text and (within or apart or not settings.thoughts)):
            return reply
        if settings.thoughts:
            return Reply(None, settings.cut, finish)
        remedy = (
            "some models think first: say how long it may (--thinking 4096), or off; or allow "
            "more (--new-tokens)"
        )
        raise ServerStoppedError(
            "the server wrote no answer before its reply was cut off",
            where=self._name,
            remedy=remedy,
        )


class _UnscoredError(UserError):
    def __init__(self, name: str, text: str, refusal: str) -> None:
        """`text`: the text that cannot be scored; `refusal`: the server's reason."""
        self.refusal = refusal
        remedy = "shorten it, or leave the model out"
        super().__init__(
            f"the server does not score {text[:40]!r} ({refusal})", where=name, remedy=remedy
        )


def _echo_or_raise(outcome: Echo | UserError) -> Echo:
    """The echo; raises the error if the server gave one instead."""
    if isinstance(outcome, UserError):
        raise outcome
    return outcome


def _is_accepted(reply: Reply) -> bool:
    """Whether the server accepted the prompt, whatever it replied."""
    return reply.text is not None or reply.finish is not None


def _texts_to_echo(batch: Sequence[int], requests: Sequence[LikelihoodRequest]) -> list[str]:
    """The texts to echo for a batch: each prompt alone and with its text."""
    prompts = [requests[i].prompt for i in batch if requests[i].prompt]
    texts = [requests[i].prompt + requests[i].text for i in batch]
    return list(dict.fromkeys([*prompts, *texts]))


def _split_into_batches(
    indices: Sequence[int], requests: Sequence[LikelihoodRequest]
) -> list[list[int]]:
    """Indices of requests in batches of at most `TEXTS` texts; requests with the same prompt stand
    together, so that a batch includes each prompt once.
    """
    by_prompt = group_by_key((requests[i].prompt, i) for i in indices)
    batches: list[list[int]] = [[]]
    for i in chain.from_iterable(by_prompt.values()):
        if len(_texts_to_echo([*batches[-1], i], requests)) > TEXTS:
            batches.append([])
        batches[-1].append(i)
    return batches


def _count_letters(batches: Sequence[Sequence[int]], requests: Sequence[LikelihoodRequest]) -> int:
    """Letters of all texts to echo for some batches."""
    letters = 0
    for batch in batches:
        letters += sum(map(len, _texts_to_echo(batch, requests)))
    return letters


def _number_of_token(token: str) -> int:
    """A number that stands for a token by its text, since servers give no ids."""
    return int(content_sha256(token)[:12], 16)

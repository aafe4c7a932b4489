"""A hosted model behind a server that speaks the OpenAI protocol; address and key come from the environment alone."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

from evenruler.errors import UserError
from evenruler.grouping import grouped
from evenruler.models.backends import echo, server
from evenruler.models.backends.budget import EndedError
from evenruler.models.backends.echo import Echo, Manner
from evenruler.models.backends.server import LIMIT, OTHERWISE, SAMPLING, SECONDS, Outcome, RefusalError, Server, place
from evenruler.models.chats import TOKENS_A_SECOND, ChatSettings, Thinking
from evenruler.models.records import Prompt, Reply, Request, Sampling, messages, paragraphs

Scored = tuple[float, int]  # nats, number of tokens
Mode = Literal["chat", "completions"]  # what is asked: /v1/chat/completions, or /v1/completions with texts as they are
TEXTS = 16  # texts whose likelihoods are asked in one request, the prompts before them included

TRIAL = 2 + 3 + 7 + 2 * echo.LONG
"""Requests of the trial, at most: about new tokens, of all sentences, of each by itself, and about what the server
writes after long ones, as a rule after the first alone."""

_PLAIN = ChatSettings()
SEEDS = 2**31  # llama.cpp takes no larger one


def engine(
    served: str, mode: Mode, revision: str | None, start: str | None = None, settings: ChatSettings = _PLAIN
) -> dict[str, object]:
    """What goes into the key of an answer: all that is known of what answers, which can change without a word.

    `start` and `settings` are not in it where they say nothing. Of the server's address only scheme, host, port and
    path are, as a password or a query may be secret. UserError where the address is none.
    """
    more = ({"start": start} if start else {}) | settings.in_key
    return {"backend": "openai", "mode": mode, "url": place(), "model": served, "revision": revision, **more}


class OpenAI:
    """What a server answers."""

    def __init__(self, name: str, served: str, mode: Mode, start: str = "", settings: ChatSettings = _PLAIN) -> None:
        """Find the server; nothing is asked. UserError where no key is in the environment, or what can be none.

        `served`: by which the server knows the model; `mode`: `chat` writes replies, `completions` continues texts and
        says how likely they are; `start`: the start token, written out, that completions are asked with before every
        text, the server's own by default; `settings`: how it chats, and how long an answer may take.
        """
        thinking = settings.thoughts
        longer = SECONDS + thinking.tokens / TOKENS_A_SECOND if thinking else None
        self._server, self._mode, self._start = Server(name, served, settings.timeout or longer), mode, start
        self._name, self._settings = name, settings
        template = {key: value for key, value in settings.options.items() if key != "reasoning_effort"}
        effort = settings.effort or ("none" if settings.thinking == "off" else None)
        budget = thinking and thinking.tokens
        told = {"reasoning_effort": effort, "chat_template_kwargs": template, "thinking_token_budget": budget}
        self._told = {key: value for key, value in told.items() if value}
        said = {"reasoning_effort": settings.effort, "chat_template_kwargs": settings.template}
        self._optional = {*SAMPLING, *(key for key in told if not said.get(key))}  # what nobody said
        self._manner: Manner | None = None
        self._answered: set[Sampling] = set()
        """Settings with which something was answered, so that a refusal is one of the prompt and not of them."""

    def generate(self, prompts: Sequence[Prompt], wanted: frozenset[int]) -> Iterator[list[tuple[int, Reply]]]:
        """Ask for replies to those prompts that are wanted: [(index, reply)] as each comes.

        A prompt that the server will not take is answered with its reason; where it takes nothing at all with the
        same settings, not even a greeting, that is a fault. UserError where the server cannot be reached, or gave
        something that is no reply, after all that it did answer; ValueError where a text is to be continued by a chat,
        or the reverse, or to be chosen among the likeliest tokens.
        """
        for prompt in prompts:
            if prompt.chat != (self._mode == "chat"):
                raise ValueError(f"{self._name} is asked by {self._mode}, so `chat` is {self._mode == 'chat'}")
            if prompt.sampling.top_k:
                raise ValueError("a server knows no top_k")
        letters = sum(len(prompts[i].text) + len(prompts[i].system or "") for i in wanted)
        with self._server.budget.told(self._name, len(wanted), letters):
            # Those that are missing, as each comes; refused ones after it is known that the settings are taken.
            refused: dict[Sampling, list[tuple[int, Reply]]] = {}
            for replies in self._server.at_once(partial(self._outcome, i, prompts[i]) for i in sorted(wanted)):
                for i, reply in replies:  # one
                    sampling = prompts[i].sampling
                    held = refused.setdefault(sampling, [])
                    held.append((i, reply))
                    if _taken(reply):
                        self._answered.add(sampling)
                    elif len(held) == server.AT_ONCE:
                        self._greet(prompts[i])
                    if sampling in self._answered:
                        yield refused.pop(sampling)
            for held in refused.values():
                self._greet(prompts[held[0][0]])
                yield held

    def _greet(self, prompt: Prompt) -> None:
        """See whether the server takes anything with the settings of a prompt."""
        greeted = self._reply(replace(prompt, text="Hello.", system=None))
        if not _taken(greeted):
            raise self._server.fault(f"the server does not answer ({greeted.reason})")
        self._answered.add(prompt.sampling)

    def loglikelihood(self, requests: Sequence[Request], wanted: frozenset[int]) -> Iterator[list[tuple[int, Scored]]]:
        """Score those texts that are wanted after their prompts, or from the start token on, batch by batch.

        [(index, (nats, number of tokens))]; 0 and 0 for an empty text, which is not asked. UserError where the server's
        log-probabilities are missing or not to be believed (`trial`), it cannot be reached, or does not score some
        text, after all that it did answer; ValueError where the model only chats.
        """
        missing = sorted(wanted)
        empty = [(i, (0.0, 0)) for i in missing if not requests[i].text]
        if empty:
            yield empty
        asked = [i for i in missing if requests[i].text]
        if asked:
            # Those with the same prompt stand next to each other; in a batch it is asked once.
            by_prompt = grouped((requests[i].prompt, i) for i in asked)
            batches: list[list[int]] = [[]]
            for i in (i for group in by_prompt.values() for i in group):
                if len(_texts([*batches[-1], i], requests)) > TEXTS:
                    batches.append([])
                batches[-1].append(i)
            letters = sum(len(text) for batch in batches for text in _texts(batch, requests))
            tried = TRIAL if self._manner is None else 0
            with self._server.budget.told(self._name, len(batches) + tried, letters):
                manner = self.trial()
                if not manner.first and "" in by_prompt:  # before others are paid for that go with another start
                    raise echo.unscored(self._name, requests[by_prompt[""][0]].text)
                yield from self._server.at_once(partial(self._scored, manner, batch, requests) for batch in batches)

    def trial(self) -> Manner:
        """How the server gives log-probabilities of prompts, once it was tried whether they are to be believed.

        Sentences, most with one beginning, are asked twice, in reverse order and one by one. No token's
        log-probability may depend on any of that, nor on what comes after it. And it must be that of the token which it
        stands beside: what the server writes after a sentence has the log-probability then that it has when it is
        given back. UserError where it gives none, or they are not to be believed, or it cannot be reached.
        """
        if self._mode != "completions":
            raise ValueError(f"{self._name} is asked by chat, which tells no likelihoods of texts")
        if self._manner is None:
            texts = echo.trial_texts(secrets.token_hex(4))
            new = self._new_tokens()
            first = self._echoes(texts, new)
            manner = echo.manner(self._name, first, new)
            if self._start and any(given.tokens[0] != self._start or given.tokens[1] == self._start for given in first):
                what = f"the server does not read {self._start!r} as one start token ({first[0].tokens[:2]})"
                remedy = "mend `start`, or leave it out where the server puts one before each text by itself"
                raise self._server.fault(what, remedy)
            for again, how in (
                (self._echoes(texts, new), "asked twice"),
                (self._echoes(texts[::-1], new)[::-1], "asked in reverse order"),
                ([self._echoes([text], new)[0] for text in texts], "asked one by one"),
            ):
                self._agree(max(map(echo.apart, first, again)), how)
            worst = max(echo.apart_where_alike(one, other) for one, other in combinations(first, 2))
            self._agree(worst, "in texts that begin alike")
            self._require_beside(texts[: echo.LONG], first[: echo.LONG], new)
            self._manner = manner
        return self._manner

    def _agree(self, nats: float, how: str) -> None:
        if nats > echo.TOLERANCE:
            far = f"{nats:.3f} nats apart" if nats < float("inf") else "other tokens"
            what = f"the server's log-probabilities depend on the order of the requests ({far} {how})"
            off, same = "switch its prefix caching off (vLLM: --no-enable-prefix-caching)", "(VLLM_BATCH_INVARIANT=1)"
            raise self._server.fault(what, f"{off}; where it is off, let it compute the same in every batch {same}")

    def _require_beside(self, texts: Sequence[str], echoes: Sequence[Echo], new: int) -> None:
        """Refuse a server whose log-probabilities are those of other tokens: llama-cpp-python's stand a place off."""
        for text, before in zip(texts, echoes, strict=True):
            question = {"prompt": self._start + text, "max_tokens": echo.WRITTEN, "logprobs": 1, "temperature": 1}
            written = self._server.ask("/completions", question).choices[0]
            said = written.get("text")
            if not isinstance(said, str) or not said:
                continue
            nats = echo.apart_from_written(before, written, self._echoes([text + said], new)[0])
            if nats is None:
                continue
            if nats <= echo.SHIFTED:
                return
            what = f"the server's log-probabilities stand beside other tokens ({nats:.3f} nats from when it wrote them)"
            raise self._server.fault(what, "ask another server for likelihoods, and this one only for replies")
        what = "what the server writes cannot be compared with its log-probabilities of a prompt"
        raise self._server.fault(what, "run again, or ask this server only for replies")

    def _new_tokens(self) -> int:
        """How many tokens the server must be let write: none, or one where it takes no 0 or does not heed it."""
        text = "The"
        try:
            (given,) = self._echoes([text], 0)
            if text.endswith(given.tokens[-1]):
                return 0
        except UserError:
            pass  # whatever it is, it shows again
        try:
            self._echoes([text], 1)
        except _UnscoredError as error:
            raise echo.none_given(self._name, error.said) from None
        return 1

    def _echoes(self, texts: Sequence[str], new: int) -> list[Echo]:
        return [_found(given) for given in self._given(texts, new)]

    def _given(self, texts: Sequence[str], new: int) -> list[Echo | UserError]:
        """Each text as the server gives it back, asked together; one by one where it does not take them together."""
        # Temperature 1, so that the log-probabilities are the model's own, whatever the server does with it.
        question = {"echo": True, "max_tokens": new, "logprobs": 1, "temperature": 1}
        try:
            prompts = [self._start + text for text in texts]
            choices = self._server.ask("/completions", {"prompt": prompts, **question}).choices
        except RefusalError as error:
            if len(texts) == 1:
                return [_UnscoredError(self._name, texts[0], str(error))]
            given: list[Echo | UserError] = []
            for text in texts:
                try:
                    given += self._given([text], new)
                except UserError as fault:  # from here on, nothing more is asked
                    return [*given, *[fault] * (len(texts) - len(given))]
            return given
        by_index = {choice.get("index"): choice for choice in choices if isinstance(choice.get("index"), int)}
        if len(choices) != len(texts) or set(by_index) != set(range(len(texts))):
            raise self._server.fault(f"{len(texts)} texts were asked, {len(choices)} came back or with other numbers")
        found: list[Echo | UserError] = []
        for i, text in enumerate(texts):
            try:
                found.append(echo.read(self._name, by_index[i], self._start + text, new))
            except UserError as fault:
                found.append(fault)
        return found

    def _scored(self, manner: Manner, batch: Sequence[int], requests: Sequence[Request]) -> Outcome[tuple[int, Scored]]:
        """Ask for some texts and for their prompts alone; one that is not scored keeps no other from it."""
        texts = _texts(batch, requests)
        given = dict(zip(texts, self._given(texts, manner.new), strict=True))
        answers, fault = [], None
        for i in batch:
            prompt, text = requests[i].prompt, requests[i].text
            try:
                whole, alone = _found(given[prompt + text]), _found(given[prompt]) if prompt else None
                answers.append((i, echo.likelihood(self._name, manner, text, whole, alone)))
            except UserError as error:
                fault = fault or error
        return Outcome(answers, fault)

    def _outcome(self, index: int, prompt: Prompt) -> Outcome[tuple[int, Reply]]:
        return Outcome([(index, self._reply(prompt))])

    def _reply(self, prompt: Prompt) -> Reply:
        sampling, thinking, chats = prompt.sampling, self._settings.thoughts, self._mode == "chat"
        question: dict[str, Any] = {
            LIMIT if chats else OTHERWISE[LIMIT]: sampling.max_new_tokens + (thinking.tokens if thinking else 0),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": prompt.seed % SEEDS,
            **self._told,
        }
        if chats:
            question["messages"] = messages(prompt.text, prompt.system)
        else:
            question["prompt"] = self._start + paragraphs(prompt.text, prompt.system)
        try:
            said = self._server.ask("/chat/completions" if chats else "/completions", question, self._optional)
        except RefusalError as error:
            return Reply(None, str(error))
        details = said.usage.get("completion_tokens_details")
        thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
        of_itself = {**said.of_itself, **({"thought": thought} if isinstance(thought, int) and thought else {})}
        return replace(self._read(said.choices[0], "thought" in of_itself), said=of_itself or None)

    def _read(self, choice: dict[str, Any], thought: bool) -> Reply:
        """The reply that a choice holds, without its thoughts; `thought`: whether the server counted some."""
        finish, message = choice.get("finish_reason"), choice.get("message") if self._mode == "chat" else choice
        said = message if isinstance(message, dict) else {}
        text, refusal = said.get("content" if self._mode == "chat" else "text"), said.get("refusal")
        if finish == "content_filter":
            return Reply(None, finish, finish)
        if finish in ("stop", "length"):
            if not text and isinstance(refusal, str) and refusal:
                return Reply(None, self._server.plain(refusal), finish)
            fields = [said.get(key) for key in ("reasoning", "reasoning_content")]  # which of them differs
            apart = thought or any(isinstance(own, str) and own.strip() for own in fields)
            text = "" if text is None and (apart or finish == "length") else text
            if isinstance(text, str):
                text = text.encode(errors="replace").decode()  # JSON can hold halves of characters
                if self._mode == "chat":
                    return self._without_thoughts(text, finish, apart)
                if text or finish == "stop":
                    return Reply(text, None, finish)
        raise self._server.fault(f"what the server says is no reply ({self._server.plain(choice)})")

    def _without_thoughts(self, text: str, finish: str, apart: bool) -> Reply:
        """What a chat answers, without its thoughts; `apart`: whether there are some that do not stand in the text."""
        settings, thinking = self._settings, self._settings.thoughts or Thinking()
        before, within, _ = text.rpartition(thinking.end)
        if settings.thinking == "off" and (apart or before.replace(thinking.begin, "").strip()):
            remedy = "say how long it may (--thinking 4096), or take a model that need not"
            raise EndedError("the server thinks, though thinking is off", where=self._name, remedy=remedy)
        # A thought that a template began and that did not end looks like an answer: but for its length.
        reply = settings.reply(text, finish, opened=bool(settings.thoughts) and finish == "length" and not apart)
        if finish == "stop" or (reply.text and (within or apart or not settings.thoughts)):
            return reply
        if settings.thoughts:
            return Reply(None, settings.cut, finish)
        remedy = "some models think first: say how long it may (--thinking 4096), or off; or allow more (--new-tokens)"
        raise EndedError("the server wrote no answer before its reply was cut off", where=self._name, remedy=remedy)


class _UnscoredError(UserError):
    def __init__(self, name: str, text: str, said: str) -> None:
        self.said = said
        remedy = "shorten it, or leave the model out"
        super().__init__(f"the server does not score {text[:40]!r} ({said})", where=name, remedy=remedy)


def _found(given: Echo | UserError) -> Echo:
    if isinstance(given, UserError):
        raise given
    return given


def _taken(reply: Reply) -> bool:
    """Whether the server took the prompt, whatever it then said of it."""
    return reply.text is not None or reply.finish is not None


def _texts(batch: Sequence[int], requests: Sequence[Request]) -> list[str]:
    """What is asked of a batch: its prompts alone, and each with its text."""
    prompts = [requests[i].prompt for i in batch if requests[i].prompt]
    return list(dict.fromkeys([*prompts, *(requests[i].prompt + requests[i].text for i in batch)]))

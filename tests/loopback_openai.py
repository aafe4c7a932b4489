"""A stand-in for servers that speak the OpenAI protocol, on loopback: chats, completions, echoed
log-probabilities.

The client is the real one, pointed here by `OPENAI_BASE_URL`. `ScriptedServer` answers with the
words of the question in capitals; `EchoingServer` says besides how likely a text is, by a real
model in this process, in the manners and with the bugs of servers that are known; `talking` breaks
HTTP itself. Standard library only.
"""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import accumulate, islice
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.loopback import LoopbackServer

HTML = "<html><body>Sign in to the hotel's network</body></html>"


def chat_choice(content: object, finish: str | None = "stop", **message: object) -> dict[str, Any]:
    """A body with one choice of a chat."""
    answer = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": answer, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "created": 0, "choices": [choice]}


NO_ANSWERS: dict[str, tuple[int, Any]] = {
    "empty object": (200, {}),
    "empty body": (200, ""),
    "html": (200, HTML),
    "bad json": (200, '{"choices": [{'),
    "deep json": (200, "[" * 100_000),
    "list": (200, []),
    "no choices": (200, {"choices": []}),
    "null choices": (200, {"choices": None}),
    "words for choices": (200, {"choices": ["yes"]}),
    "error with 200": (200, {"error": {"message": "overloaded"}}),
    "null with stop": (200, chat_choice(None)),
    "null with length": (200, chat_choice(None, "length")),
    "nothing with length": (200, chat_choice("", "length")),
    "no finish": (200, chat_choice("yes", None)),
    "tool": (200, chat_choice(None, "tool_calls")),
    "list as content": (200, chat_choice([{"type": "text", "text": "yes"}])),
    "number as content": (200, chat_choice(3)),
    "null message": (200, {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}),
    "wrong key": (401, {"error": {"message": "Incorrect API key provided: secret-word"}}),
    "forbidden": (403, {"error": {"message": "no"}}),
    "no such model": (404, {"error": {"message": "The model `big-one` does not exist."}}),
    "html not found": (404, HTML),
    "broken": (500, {"error": {"message": "internal"}}),
    "bad gateway": (502, HTML),
}
"""Status and body of what is no answer to a chat, by what it is."""


@dataclass
class ScriptedServer:
    """Answers with the words of the question in capitals, after as many failures as it is told."""

    failures: list[int] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    """Of the address of each question."""
    content: str | None = None
    url: str = ""
    faults: list[tuple[int, Any]] = field(default_factory=list)
    """Statuses and bodies that come before any answer, one a question."""
    refuses: str = ""
    """A question with this word is refused with 400."""
    filters: str = ""
    """A reply to a question with this word is held back by a filter."""
    usage: dict[str, Any] | None = None
    """Tokens that it says each chat took."""
    served: str | None = None
    """The model that it says answers; the one that was asked by default."""
    fingerprints: list[str] = field(default_factory=list)
    """Of its system, in turns."""
    takes_no: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By parameter: the error (400) of a question that holds it; one with `detail` is a whole body
    (422)."""
    held: dict[str, str] = field(default_factory=dict)
    """Digests of the models that it lists as Ollama does."""

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        """Status and body for a question, which holds `path` and `key` besides; a body that is a
        text goes as it is."""
        self.asked.append(question)
        if self.failures:
            return self.failures.pop(0), {"error": {"message": "not now"}}
        if self.faults:
            return self.faults.pop(0)
        text = said_in(question)
        if self.refuses and self.refuses in text:
            return 400, {
                "error": {"message": f"we do not like {self.refuses}", "code": "content_filter"}
            }
        if self.filters and self.filters in text:
            return 200, chat_choice(None, "content_filter")
        for parameter, error in self.takes_no.items():
            if parameter in question:
                return (422, error) if "detail" in error else (400, {"error": error})
        if question["path"] == "/v1/completions":
            return self.complete(question)
        of_itself: dict[str, Any] = {"model": self.served or question["model"]}
        if self.fingerprints:
            of_itself["system_fingerprint"] = self.fingerprints[
                len(self.asked) % len(self.fingerprints)
            ]
        if self.usage:
            of_itself["usage"] = self.usage
        return 200, self.chat(question) | of_itself

    def chat(self, question: dict[str, Any]) -> dict[str, Any]:
        """The reply to a chat, as a body."""
        return chat_choice(self.reply(question))

    def complete(self, question: dict[str, Any]) -> tuple[int, Any]:
        """A completion, with no `echo`."""
        choice = {
            "index": 0,
            "text": said_in(question).upper(),
            "finish_reason": "length",
            "logprobs": None,
        }
        return 200, {"object": "text_completion", "choices": [choice]}

    def reply(self, question: dict[str, Any]) -> str:
        return said_in(question).upper() if self.content is None else self.content


@dataclass
class ServerWithCapacity(ScriptedServer):
    """Computes so many answers together, as a GPU does, and lets all others wait."""

    capacity: int = 16
    seconds: float = 0.2
    """That an answer takes."""
    busy_above: int | None = None
    """Requests together above which it turns more away with 429; None: it never does."""
    _together: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._slots = threading.Semaphore(self.capacity)

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        with self._lock:
            self._together += 1
            is_busy = self.busy_above is not None and self._together > self.busy_above
        try:
            if is_busy:
                return 429, {"error": {"message": "too many requests"}}
            with self._slots:
                time.sleep(self.seconds)
            return super().answer(question)
        finally:
            with self._lock:
                self._together -= 1


def said_in(question: dict[str, Any]) -> str:
    """The text of a question, or all of its texts."""
    if "messages" in question:
        return question["messages"][-1]["content"]
    prompt = question["prompt"]
    return prompt if isinstance(prompt, str) else "\n".join(prompt)


Scorer = Callable[[str], list[tuple[str, float]]]
"""(Token, nats given the start token and those before) of a text."""
Lister = Callable[[str], dict[str, float]]
"""Nats of all tokens that may follow a text, the likeliest first."""


@dataclass
class EchoingServer(ScriptedServer):
    """Gives prompts back with log-probabilities, as vLLM does unless told otherwise."""

    scorer: Scorer = lambda text: []
    lister: Lister = lambda text: {}
    most_listed: int | None = None
    """Next tokens that it lists at most, in the way of vLLM; None: as many as are asked for."""
    start: str | None = "<s>"
    """The start token; None: the model has none, or the server does not show it."""
    first: bool = True
    """Whether the first token that is no start token has a log-probability."""
    zero: str = "taken"
    """A request for 0 new tokens is `taken`, `refused` with 400, or `ignored`: one is written."""
    listed: bool = True
    """Whether an end token that ends the reply is among the tokens."""
    ends: bool = False
    """Whether the model writes the end token first."""
    gives: str = "all"
    """`all`; `none`: null; `new`: of new tokens alone; `content`: in the shape of chats; `no echo`:
    refused."""
    together: bool = True
    """Whether several texts may be asked at once."""
    caching: str = ""
    """A bug of prefix caching: tokens that a text shares with an earlier one have `stale`
    log-probabilities, or `zero`."""
    shift: Callable[[list[str], int], float] = lambda texts, i: 0.0
    """Nats that are added to every token of the i-th text of a request."""
    aligned: bool = True
    """Whether log-probabilities stand beside their own tokens; else a place off, as
    llama-cpp-python's do: each is that of the token's standing there twice."""
    spoils: dict[str, float] = field(default_factory=dict)
    """Words that, in a text, make its last log-probability another one."""
    _seen: set[str] = field(default_factory=set)
    _lock: Any = field(default_factory=threading.Lock)

    def complete(self, question: dict[str, Any]) -> tuple[int, Any]:
        if not question.get("echo"):
            if not question.get("logprobs"):
                return super().complete(question)
            written = question["max_tokens"] > 1
            return self.write(question) if written else self.list_next(question)
        prompt, new = question["prompt"], question["max_tokens"]
        texts = [prompt] if isinstance(prompt, str) else prompt
        if self.gives == "no echo":
            return 400, {"error": {"message": "Only no echo is supported"}}
        if len(texts) > 1 and not self.together:
            return 400, {"error": {"message": "one prompt at a time"}}
        if new == 0 and self.zero == "refused":
            return 400, {"error": {"message": "max_tokens must be at least 1, got 0"}}
        n_written = new or int(self.zero == "ignored")
        with self._lock:
            choices = [self.choice(i, texts, n_written) for i in range(len(texts))]
        return 200, {"object": "text_completion", "choices": choices[::-1]}

    def write(self, question: dict[str, Any]) -> tuple[int, Any]:
        """The tokens of " quite" after a prompt, as if they had been drawn; their log-probabilities
        are right."""
        prompt = question["prompt"]
        begin = len(self.scorer(prompt))
        added = self.scorer(f"{prompt} quite")[begin:]
        scored = added[: question["max_tokens"]]
        tokens = [token for token, _ in scored]
        nats = [value for _, value in scored]
        table = {"tokens": tokens, "token_logprobs": nats}
        return 200, {
            "choices": [
                {"index": 0, "text": "".join(tokens), "finish_reason": "length", "logprobs": table}
            ]
        }

    def list_next(self, question: dict[str, Any]) -> tuple[int, Any]:
        """Next tokens after each prompt, the likeliest of which is written."""
        prompts, length = question["prompt"], question["logprobs"]
        if len(prompts) > 1 and not self.together:
            return 400, {"error": {"message": "one prompt at a time"}}
        if self.most_listed is not None and length > self.most_listed:
            allowed = f"which is greater than max allowed: {self.most_listed}"
            message = f"Requested sample logprobs of {length}, {allowed}"
            return 400, {"error": {"message": message, "param": "logprobs", "code": 400}}
        choices: list[dict[str, Any]] = []
        for index, prompt in enumerate(prompts):
            with self._lock:
                listed = dict(islice(self.lister(prompt).items(), length))
            table = {"tokens": [*listed][:1], "top_logprobs": [listed] if listed else None}
            choices.append({"index": index, "text": "", "logprobs": table})
        return 200, {"object": "text_completion", "choices": choices[::-1]}

    def choice(self, index: int, texts: list[str], new: int) -> dict[str, Any]:
        text, shift = texts[index], self.shift(texts, index)
        tokens, nats = self.echoed(text)
        nats = [value if not isinstance(value, float) else value + shift for value in nats]
        token = "</s>" if self.ends else " more"
        written = [token] if new else []
        shown_text = text + ("" if self.ends else "".join(written))
        if written and (self.listed or not self.ends):
            tokens, nats = tokens + written, [*nats, -0.5]
        if self.gives == "new":
            begin = len(tokens) - len(written)
            tokens, nats = tokens[begin:], nats[begin:]
        offsets = [
            sum(map(len, tokens[:n])) for n in range(len(tokens))
        ]  # as vLLM counts, "<s>" included
        table: dict[str, Any] | None = {
            "tokens": tokens,
            "token_logprobs": nats,
            "text_offset": offsets,
        }
        if self.gives == "content":
            table = {
                "content": [
                    {"token": token, "logprob": value}
                    for token, value in zip(tokens, nats, strict=True)
                ]
            }
        finish = "stop" if self.ends and new else "length"
        return {
            "index": index,
            "text": shown_text,
            "finish_reason": finish,
            "logprobs": table if self.gives != "none" else None,
        }

    def echoed(self, text: str) -> tuple[list[str], list[float | None]]:
        scored = self.scorer(text)
        tokens = [token for token, _ in scored]
        beginnings = ["", *accumulate(tokens)]
        if not self.aligned:
            begun = zip(beginnings[1:], tokens, strict=True)
            scored = [self.scorer(text + token)[-1] for text, token in begun]
        nats = [value for _, value in scored]
        seen = [n for n in range(len(tokens)) if beginnings[n] in self._seen]
        n_seen = max(seen, default=0)
        if self.caching and n_seen >= 16:
            off = nats[-n_seen:] if self.caching == "stale" else [0.0] * n_seen
            nats = [*off, *nats[n_seen:]]
        self._seen.update(beginnings)
        for word, value in self.spoils.items():
            if re.search(rf"\b{word}\b", text):
                nats[-1] = value
        shown: list[float | None] = list(nats)
        if self.start is not None:
            return [self.start, *tokens], [None, *shown]
        return tokens, shown if self.first else [None, *shown[1:]]


def scorer_of(model: Any, tokenizer: Any) -> Scorer:
    """One text at a time through a transformers model, nothing shared."""
    import torch

    def score(text: str) -> list[tuple[str, float]]:
        token_ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        ids = torch.tensor([[tokenizer.bos_token_id, *token_ids]])
        with torch.inference_mode():
            logits = model(input_ids=ids, use_cache=False).logits[0, :-1]
        places = ids[0, 1:, None]
        log_shares = logits.double().log_softmax(-1)
        nats = log_shares.gather(1, places).flatten().tolist()
        return [
            (tokenizer.decode([token]), value) for token, value in zip(token_ids, nats, strict=True)
        ]

    return score


def lister_of(model: Any, tokenizer: Any) -> Lister:
    """All next tokens of a transformers model, parts of characters as OpenAI writes them."""
    import torch

    def name_of(token: int) -> str:
        text = tokenizer.decode([token])
        return f"bytes:{token}" if "\N{REPLACEMENT CHARACTER}" in text else text

    def list_next(text: str) -> dict[str, float]:
        token_ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        ids = torch.tensor([[tokenizer.bos_token_id, *token_ids]])
        with torch.inference_mode():
            logits = model(input_ids=ids, use_cache=False).logits[0, -1]
        nats, tokens = logits.double().log_softmax(-1).sort(descending=True)
        return dict(zip(map(name_of, tokens.tolist()), nats.tolist(), strict=True))

    return list_next


def letters(text: str) -> list[tuple[str, float]]:
    """A made-up language: each letter is a token, the likelier the more often it stands before."""
    import math

    scored = []
    for n, letter in enumerate(text):
        share = (1 + text[:n].count(letter)) / (200 + n)
        scored.append((letter, math.log(share)))
    return scored


@contextmanager
def running(scripted: ScriptedServer, port: int = 0) -> Iterator[ScriptedServer]:
    """The server, listening at its `url` meanwhile; at a free port unless one is given."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # As Ollama lists what it holds.
            held = [{"name": name, "digest": digest} for name, digest in scripted.held.items()]
            body = json.dumps({"models": held}).encode()
            self.send_response(200 if self.path in ("/api/tags", "/health") else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path, _, query = self.path.partition("?")
            scripted.queries.append(query)
            status, reply = scripted.answer(
                {**question, "path": path, "key": self.headers["Authorization"]}
            )
            body = reply.encode() if isinstance(reply, str) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if reply == HTML else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    http = LoopbackServer(("127.0.0.1", port), Handler)
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    scripted.url = f"http://127.0.0.1:{http.server_port}/v1"
    try:
        yield scripted
    finally:
        http.shutdown()
        http.server_close()


@contextmanager
def talking(handle: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that reads a question and then does anything with the line; yields its address."""

    def serve(line: socket.socket) -> None:
        with line, suppress(OSError):
            line.recv(1 << 16)
            handle(line)

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def dripping(parts: Iterable[bytes], seconds: float) -> Iterator[str]:
    """A server whose answer comes in parts, so many seconds apart by the client's clock; yields its
    address.

    Nobody waits: the clock is put forward, and the next part goes out when the client has looked at
    it. One question.
    """
    now, looked = [0.0], threading.Event()

    def look() -> float:
        looked.set()
        return now[0]

    def drip(line: socket.socket) -> None:
        parted = [*parts]
        head = (
            f"Content-Type: application/json\r\nContent-Length: {sum(map(len, parted))}\r\n\r\n"
        ).encode()
        for part in (b"HTTP/1.1 200 OK\r\n" + head, *parted):
            looked.clear()
            line.sendall(part)
            looked.wait(120)
            now[0] += seconds

    clock = SimpleNamespace(monotonic=look, time=time.time)
    backends = "evenruler.models.backends"
    with (
        patch(f"{backends}.server.time", clock),
        patch(f"{backends}.deadlines.time", clock),
        talking(drip) as url,
    ):
        yield url

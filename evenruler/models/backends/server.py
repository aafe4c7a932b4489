"""A server that speaks the OpenAI protocol: questions go there, answers come back, and every fault is one line."""

import json
import os
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, urlsplit

from evenruler.errors import UserError
from evenruler.models.backends import budget

if TYPE_CHECKING:  # which takes a while to import
    from httpx2 import Request, Response

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Variables of the environment: where the server is (OpenAI's own by default), and the key for it."""

DEFAULT_URL = "https://api.openai.com/v1"

AT_ONCE = 8
"""Questions that a server is asked at a time; as many answers are lost at most when a run is killed. After as many
faults with no answer between them it is asked nothing more."""

ATTEMPTS, SECONDS = 6, 120
"""How often a question is asked that the server is too busy for, or breaks off, and how long an answer may take."""

LONGEST = 1 << 24
"""Bytes that are read of an answer, unpacked: as many as of 16 texts of 10,000 tokens with their log-probabilities."""

SHORTEST_SECRET = 4
"""Letters from which on a value in the address's query is taken for a secret."""

REMEDY = f"see {URL} and {KEY}, and the name after `endpoint:`"

_SHOWN = 200
"""Characters of what a server says that an error repeats."""

Answer = TypeVar("Answer")


class RefusalError(Exception):
    """The server will not take this question (HTTP 400); it may well take others."""


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """What came of one request: some answers, and what is wrong where some are missing."""

    answers: list[Answer]
    fault: UserError | None = None


class Server:
    """Where a hosted model is asked."""

    def __init__(self, name: str, served: str) -> None:
        """Find it by the environment, where it is known as `served`; nothing is asked.

        UserError where there is no key, or address or key cannot be one, or the budget is no number.
        """
        import httpx2
        import openai

        self.budget = budget.current()
        self.name, self._served, self._key = name, served, os.environ.get(KEY, "")
        if not self._key:
            remedy = "set it; any word will do for a server without"
            raise UserError(f"no key for {name}", where=f"environment: {KEY}", remedy=remedy)
        if not (self._key.isascii() and self._key.isprintable()):
            remedy = "set it again; look for a line break or quotes copied along"
            raise UserError(f"the key for {name} holds what no key does", where=f"environment: {KEY}", remedy=remedy)
        url = address()
        values = [value for _, value in parse_qsl(url.query) if len(value) >= SHORTEST_SECRET]
        hidden = [self._key, url.password or "", url.query, *values, *map(quote, values), *map(quote_plus, values)]
        self._secrets = sorted(filter(None, {*hidden}), key=len, reverse=True)
        try:
            # Another server is another key of answers, so nothing follows to where it sends. The query goes with every
            # request; left in the address, paths would be put behind it.
            hooks: dict[str, list[Callable[..., None]]] = {"request": [_counting(self.budget)], "response": [_bounded]}
            packing, bare = {"accept-encoding": "gzip"}, url._replace(query="", fragment="").geturl()
            http = openai.DefaultHttpxClient(
                follow_redirects=False, event_hooks=hooks, params=url.query, headers=packing
            )
            self._client = openai.OpenAI(base_url=bare, max_retries=ATTEMPTS - 1, timeout=SECONDS, http_client=http)
            weakref.finalize(self, http.close)  # a client that was given is not closed by its library
        except (ValueError, httpx2.InvalidURL):
            raise no_address() from None

    def fault(self, what: str, remedy: str = REMEDY) -> UserError:
        """The line that says what is wrong with this server."""
        return UserError(what, where=self.name, remedy=remedy)

    def plain(self, said: object) -> str:
        """What somebody said, short, on one line and without the key, or what else the address holds of secrets."""
        text = str(said)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = " ".join(text.split(None, _SHOWN)[:_SHOWN])[: 4 * _SHOWN]  # cut before each letter is looked at
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_SHOWN]

    def ask(self, path: str, question: dict[str, Any]) -> list[dict[str, Any]]:
        """Ask once, again where the server is busy or the line breaks.

        Args:
            path: After the address, as in "/completions".
            question: The body, without the model's name.

        Returns:
            The choices of the answer: at least one.

        Raises:
            RefusalError: The server does not take the question (400).
            UsedUpError: No more requests may go out.
            UserError: It cannot be reached, does not let us in, fails, or says what is no answer.
        """
        import httpx2
        import openai

        try:
            body = {"model": self._served, **question}
            # Read as it is: the library would take anything for an answer, with None for whatever is missing.
            said = self._client.post(path, cast_to=httpx2.Response, body=body).content
        except openai.BadRequestError as error:
            self.budget.answered(None)
            raise RefusalError(self.plain(error)) from None
        except openai.APIStatusError as error:
            if not error.response.has_redirect_location:
                raise self.fault(f"the server does not answer ({self.plain(error)})") from None
            elsewhere = self.plain(error.response.headers["location"])
            raise self.fault(f"the server sends elsewhere ({elsewhere})", f"set {URL} to where it is") from None
        except openai.OpenAIError as error:
            if isinstance(error.__cause__, budget.UsedUpError):
                raise error.__cause__ from None
            raise self.fault(f"the server does not answer ({self.plain(error)})") from None
        if len(said) >= LONGEST:
            raise self.fault(f"what the server says is no answer ({LONGEST:,} bytes and more)")
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError):
            answer = said.decode(errors="replace")
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
            raise self.fault(f"what the server says is no answer ({self.plain(answer) or 'nothing'})")
        self.budget.answered(answer.get("usage"))
        return choices

    def at_once(self, tasks: Iterable[Callable[[], Outcome[Answer]]]) -> Iterator[list[Answer]]:
        """Do what asks the server, `AT_ONCE` at a time: the answers of each task as soon as it is done.

        UserError where something was wrong: the first fault, or that the budget is used up; after all that was answered
        was yielded.
        """
        waiting, running, fault, in_a_row = iter(tasks), set[Future[Outcome[Answer]]](), None, 0
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while True:
                while len(running) < AT_ONCE and in_a_row < AT_ONCE and (task := next(waiting, None)) is not None:
                    running.add(pool.submit(_outcome, task))
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for outcome in [future.result() for future in done]:
                    ended = isinstance(outcome.fault, budget.UsedUpError)
                    fault = outcome.fault if ended else fault or outcome.fault
                    in_a_row = 0 if outcome.answers else in_a_row + 1
                    if outcome.answers:
                        yield outcome.answers
        if fault is not None:
            raise fault


def address() -> SplitResult:
    """The server's address, as the environment has it; UserError where that is none."""
    try:
        url = urlsplit(os.environ.get(URL) or DEFAULT_URL)
        _ = url.port  # which may be no number
    except ValueError:
        raise no_address() from None
    return url


def place() -> str:
    """The server's address to be written down, without what may be secret: scheme, host, port and path."""
    url = address()
    return SplitResult(url.scheme, url.netloc.rpartition("@")[2], url.path.rstrip("/"), "", "").geturl()


def no_address() -> UserError:
    """The line about an address that is none; it is not repeated, as it may hold a password."""
    remedy = "write it as in http://127.0.0.1:8000/v1"
    return UserError("the address of the server is none", where=f"environment: {URL}", remedy=remedy)


def _counting(own: budget.Budget) -> "Callable[[Request], None]":
    """Has every request taken from the budget, also those that the library repeats by itself."""
    import openai

    def goes_out(_: "Request") -> None:
        try:
            own.take()
        except budget.UsedUpError as error:
            raise openai.OpenAIError(str(error)) from error  # its own errors are the only ones that it does not repeat

    return goes_out


def _bounded(response: "Response") -> None:
    """Have a body read for so long, and unpacked so far.

    A byte of gzip can stand for a thousand, and a server that drips never breaks the pause between two bytes.
    """
    import httpx2
    import openai

    packed = response.headers.pop("content-encoding", "identity").lower()
    if packed not in ("gzip", "identity"):
        raise openai.OpenAIError(f"its answer is packed as {packed}, which nobody asked for")

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, own: httpx2.SyncByteStream) -> None:
            self.own = own

        def close(self) -> None:
            self.own.close()

        def __iter__(self) -> Iterator[bytes]:
            until, left, unpacking = time.monotonic() + SECONDS, LONGEST, zlib.decompressobj(zlib.MAX_WBITS | 16)
            for part in self.own:
                if time.monotonic() > until:
                    raise httpx2.ReadTimeout(f"no whole answer in {SECONDS} s", request=response.request)
                try:
                    whole = unpacking.decompress(part, left) if packed == "gzip" else part[:left]
                except zlib.error as error:
                    raise httpx2.DecodingError(str(error), request=response.request) from error
                yield whole
                left -= len(whole)
                if left <= 0:
                    return

    assert isinstance(response.stream, httpx2.SyncByteStream)
    response.stream = Bounded(response.stream)


def _outcome(task: Callable[[], Outcome[Answer]]) -> Outcome[Answer]:
    try:
        return task()
    except UserError as fault:
        return Outcome([], fault)

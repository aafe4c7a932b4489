"""A server that speaks the OpenAI protocol: questions go there, answers come back, and every fault is one line."""

import json
import math
import os
import random
import re
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, urlsplit

from evenruler.errors import UserError
from evenruler.models.backends import budget
from evenruler.terminal import note

if TYPE_CHECKING:  # which takes a while to import
    from httpx2 import Request, Response

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Variables of the environment: where the server is (OpenAI's own by default), and the key for it."""

AT_ONCE = 8
"""Questions that a server is asked at a time; as many answers are lost at most when a run is killed. After as many
faults with no answer between them it is asked nothing more."""

ATTEMPTS, SECONDS = 6, 120
"""How often a question is asked that the server is too busy for, or breaks off, and how long an answer may take."""

LONGEST = 1 << 24  # bytes that are read of an answer, unpacked: as of 16 texts of 10,000 tokens with log-probabilities
SHORTEST_SECRET = 4  # letters from which on a value in the query is a secret, and a secret is hidden inside words, too
PATIENCE = 300  # seconds that a busy server is waited for: at a time where it names them (`Retry-After`), else in all

LIMIT, SAMPLING = "max_completion_tokens", ("temperature", "top_p", "seed")
OTHERWISE = {LIMIT: "max_tokens", "max_tokens": LIMIT}
"""Names of the limit of new tokens, each for where a server refuses the other."""

REFUSES = re.compile(
    "unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed|invalid"
    "|only the default|reasoning_config",
    re.IGNORECASE,
)
"""Words in which servers do not take a setting, where no `param` says which."""

VERSION = r"[-@:](?:(?:preview|exp)-)?(?:latest|v\d+(?:[.:]\d+)*|\d{3,4}|\d{6,8}|\d{4}-\d\d-\d\d|\d\d-\d\d(?:-\d{4})?)"
"""What the name of a version has behind that of the model: a date, mostly."""

REMEDY = f"see {URL} and {KEY}, and the name after `endpoint:`"
_SHOWN = 200  # characters of what a server says that an error repeats
Answer = TypeVar("Answer")


class RefusalError(Exception):
    """The server will not take this question (HTTP 400); it may well take others."""

    def __init__(self, said: str, named: str | None) -> None:
        self.named = named
        super().__init__(said)


@dataclass(frozen=True)
class Said:
    """An answer of a server."""

    choices: list[dict[str, Any]]  # at least one
    usage: Mapping[str, Any]  # what it counted
    of_itself: Mapping[str, Any]
    """`model` and `fingerprint`, where it says them, and `own`: settings of the question that it does not take."""


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """What came of one request: some answers, and what is wrong where some are missing."""

    answers: list[Answer]
    fault: UserError | None = None


class Server:
    """Where a hosted model is asked."""

    def __init__(self, name: str, served: str, seconds: float | None = None) -> None:
        """Find it by the environment, known there as `served`; UserError where address, key or budget can be none."""
        import httpx2
        import openai

        allowed = self.budget = budget.current()
        self.name, self._served, self._key = name, served, os.environ.get(KEY, "")
        if not self._key:
            remedy = "set it; any value will do for a server without"
            raise UserError(f"no key for {name}", where=f"environment: {KEY}", remedy=remedy)
        if not (self._key.isascii() and self._key.isprintable()):
            remedy = "set it again; look for a line break or quotes copied along"
            raise UserError(f"the key for {name} holds what no key does", where=f"environment: {KEY}", remedy=remedy)
        self._lock, self._over = threading.Lock(), threading.Event()
        self._terms: dict[str, str | None] = {}
        """What the server calls settings otherwise; None of those that it does not take. Learnt from its errors."""
        self._answered = False
        self._room, self._narrowed, self._well = AT_ONCE, 0.0, 0
        """Questions at a time, when they last became fewer, and answers since."""
        seconds = seconds or SECONDS

        def goes_out(_: "Request") -> None:
            try:
                allowed.take()  # not by `self`, which lives as long as what the client holds
            except budget.UsedUpError as error:
                raise openai.OpenAIError(str(error)) from error  # the only errors that the library does not repeat

        url = address()
        values = [value for _, value in parse_qsl(url.query) if len(value) >= SHORTEST_SECRET]
        hidden = [self._key, url.password or "", url.query, *values, *map(quote, values), *map(quote_plus, values)]
        self._secrets = sorted(filter(None, {*hidden}), key=len, reverse=True)
        try:
            # Another server is another key of answers, so nothing follows to where it sends. The query goes with every
            # request; left in the address, paths would be put behind it.
            hooks: dict[str, list[Any]] = {"request": [goes_out], "response": [_bounded(seconds)]}
            gzip, bare = {"accept-encoding": "gzip"}, url._replace(query="", fragment="").geturl()
            http = openai.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks, params=url.query, headers=gzip)
            self._client = openai.OpenAI(base_url=bare, max_retries=0, timeout=seconds, http_client=http)
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
            short = len(secret) < SHORTEST_SECRET  # as a word alone: "x" stands in "max_tokens", too
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text) if short else text.replace(secret, "***")
        text = " ".join(text.split(None, _SHOWN)[:_SHOWN])[: 4 * _SHOWN]  # cut before each letter is looked at
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_SHOWN]

    def ask(self, path: str, question: dict[str, Any], optional: Collection[str] = ()) -> Said:
        """Ask once, again where the server is busy, the line breaks, or it calls a limit of new tokens otherwise.

        `path`: after the address, as in "/completions"; `question`: the body, without the model's name; `optional`:
        what of it is left out from where the server does not take it.

        RefusalError where the server does not take the question (400); EndedError where no more requests may go out, or
        another model answers; UserError where it cannot be reached, does not let us in, fails, or says no answer.
        """
        terms = dict(self._terms)
        while True:
            called = {key: terms.get(key, key) for key in question}
            body = {own: question[key] for key, own in called.items() if own is not None}
            try:
                answer = self._once(path, {"model": self._served, **body})
            except RefusalError as error:
                key = next((key for key, own in called.items() if own and own == error.named), "")
                if (key in terms or key not in OTHERWISE) and key not in optional:
                    raise
                terms[key] = OTHERWISE.get(key)
                continue
            usage = said if isinstance(said := answer.get("usage"), dict) else {}
            written = usage.get("completion_tokens")
            if isinstance(written, int) and written > body.get(LIMIT, math.inf) and LIMIT not in terms:
                terms[LIMIT] = OTHERWISE[LIMIT]  # which it does not heed, and says nothing
                continue
            with self._lock:
                new = [key for key, own in terms.items() if own is None and self._terms.get(key, key) is not None]
                self._terms.update(terms)
            if new:
                note(f"{self.name}: the server takes no {' and no '.join(new)}, so it goes by its own")
            said_of_itself = {"model": answer.get("model"), "fingerprint": answer.get("system_fingerprint")}
            of_itself: dict[str, Any] = {key: self.plain(said) for key, said in said_of_itself.items() if said}
            left = sorted(key for key, own in called.items() if own is None and key in SAMPLING)
            return Said(answer["choices"], usage, of_itself | ({"own": left} if left else {}))

    def _once(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a body, which may take several requests; errors as of `ask`."""
        import httpx2
        import openai

        headers: Mapping[str, str]
        problem: openai.OpenAIError
        waited = 0.0
        for tries in count(1):
            began = time.monotonic()
            try:
                # Read as it is: the library would take anything for an answer, with None for whatever is missing.
                return self._read(self._client.post(path, cast_to=httpx2.Response, body=body).content)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                self.budget.answered(None)
                named = _named(error.body, body)
                if named is None and error.status_code != 400:
                    raise self.fault(f"the server does not answer ({self.plain(error)})") from None
                self._answered = self._answered or named is None  # nothing to be learnt
                raise RefusalError(self.plain(error), named) from None
            except openai.APIStatusError as error:
                status, headers, problem = error.status_code, error.response.headers, error
                if error.response.has_redirect_location:
                    what = f"the server sends elsewhere ({self.plain(headers['location'])})"
                    raise self.fault(what, f"set {URL} to where it is") from None
                if status == 402 or "insufficient_quota" in (error.code, error.type):
                    what = f"nothing is left to pay with ({self.plain(error)})"
                    raise budget.EndedError(what, where=self.name, remedy=f"pay in; {budget.KEPT}") from None
                if status == 429:
                    self._fit(began)
                attempts = ATTEMPTS * (4 if status == 429 else 1 if status in (408, 409) or status >= 500 else 0)
            except openai.OpenAIError as error:
                if isinstance(error.__cause__, budget.UsedUpError):
                    raise error.__cause__ from None
                headers, problem = {}, error
                attempts = ATTEMPTS if isinstance(error, openai.APIConnectionError) else 0
            pause = _pause(headers, tries, waited)
            if pause is None or tries >= attempts or self._over.wait(pause):
                raise self.fault(f"the server does not answer ({self.plain(problem)})") from None
            waited += pause
        raise AssertionError

    def _read(self, said: bytes) -> dict[str, Any]:
        """What an answer holds, of the model that was asked."""
        if len(said) >= LONGEST:
            raise self.fault(f"what the server says is no answer ({LONGEST:,} bytes and more)")
        try:
            answer: Any = json.loads(said)
        except (ValueError, RecursionError):
            answer = said.decode(errors="replace")
        answered: dict[str, Any] = answer if isinstance(answer, dict) else {}
        choices = answered.get("choices")
        if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
            raise self.fault(f"what the server says is no answer ({self.plain(answer) or 'nothing'})")
        self.budget.answered(answered.get("usage"))
        self._answered, who = True, answered.get("model")
        if isinstance(who, str) and who and not is_version(who, self._served):
            other = self.plain(who.rpartition("/")[2] if who[0] == "/" else who)  # llama.cpp's is the path of its file
            what = f"another model answers than was asked ({other}, not {self._served})"
            remedy = f"have your gateway not fall back, or name the one that you mean: endpoint:{other}"
            raise budget.EndedError(what, where=self.name, remedy=remedy)
        return answered

    def _fit(self, busy_since: float | None = None) -> None:
        """Ask half as many at a time, once for all questions that were out together; one more after many answers."""
        with self._lock:
            self._well += 1
            if busy_since is not None and busy_since >= self._narrowed:
                self._room, self._narrowed, self._well = max(1, self._room // 2), time.monotonic(), 0
            elif busy_since is None and self._well % (4 * AT_ONCE) == 0:
                self._room = min(AT_ONCE, self._room + 1)

    def at_once(self, tasks: Iterable[Callable[[], Outcome[Answer]]]) -> Iterator[list[Answer]]:
        """Do what asks the server, `AT_ONCE` at a time: the answers of each task as soon as it is done.

        The first goes alone, so that what a server calls otherwise is learnt once; fewer go where it is too busy.
        UserError where something was wrong: the first fault, or what ended it; after all that was answered was yielded.
        """
        waiting, running, in_a_row, ended = iter(tasks), set[Future[Outcome[Answer]]](), 0, False
        fault: BaseException | None = None
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            while True:
                room = 0 if ended or in_a_row >= AT_ONCE else self._room if self._answered else 1
                while len(running) < room and (task := next(waiting, None)) is not None:
                    running.add(pool.submit(task))
                if not running:
                    break
                try:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt as broken:
                    if ended:
                        raise
                    fault, ended = broken, True
                    self._over.set()
                    note(f"{self.name}: waits for {len(running)} answers that are under way")
                    continue
                for future in done:
                    try:
                        outcome = future.result()
                    except UserError as wrong:
                        outcome = Outcome([], wrong)
                    if isinstance(outcome.fault, budget.EndedError) and not ended:
                        fault, ended = outcome.fault, True
                        self._over.set()
                    fault = fault or outcome.fault
                    in_a_row = 0 if outcome.answers else in_a_row + 1
                    if outcome.answers:
                        self._fit()
                        yield outcome.answers
        finally:
            self._over.set()  # whoever pauses need not go on
            pool.shutdown()
            self._over.clear()
        if fault is not None:
            raise fault


def is_version(said: str, asked: str) -> bool:
    """Whether a model by the name of `said` is the one that was asked, or a version of it: its name and a date."""
    one, other = said.lower(), asked.lower()
    if "/" not in one or "/" not in other:  # as in org/name, which not all say
        one, other = one.rpartition("/")[2], other.rpartition("/")[2]
    return one == other or bool(re.fullmatch(re.escape(other.removesuffix("-latest")) + VERSION, one))


def _named(said: object, body: Collection[str]) -> str | None:
    """What of a question an error says that a server does not take, by its `param`, else by its words."""
    own = said if isinstance(said, dict) else {}
    if own.get("code") == "content_filter":
        return None
    settings = [key for key in body if key not in ("model", "messages", "prompt")]
    if isinstance(own.get("param"), str) and own["param"]:
        name = own["param"].removeprefix("body.").partition(".")[0]  # as vLLM says it
        return name if name in settings else None
    message = str(own.get("message") or said)
    if not REFUSES.search(message):
        return None
    places = {key: found.start() for key in settings if (found := re.search(rf"(?<!\w){key}(?!\w)", message))}
    return min(places, key=lambda key: places[key], default=None)


def _pause(headers: Mapping[str, str], tries: int, waited: float) -> float | None:
    """Seconds to wait before a question is asked again: what the server names, else longer and longer; None: not."""
    named = headers.get("retry-after-ms") or headers.get("retry-after") or ""
    try:
        pause = float(named) / (1000 if "retry-after-ms" in headers else 1)
    except ValueError:
        try:
            pause = parsedate_to_datetime(named).timestamp() - time.time()
        except ValueError:
            pause = min(2.0 ** (tries - 2), 64) * (1 - random.random() / 4)
            return pause if waited + pause <= PATIENCE else None
    return max(pause, 0.0) if pause <= PATIENCE else None


def address() -> SplitResult:
    """The server's address, as the environment has it; UserError where that is none."""
    try:
        url = urlsplit(os.environ.get(URL) or "https://api.openai.com/v1")
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


def _bounded(seconds: float) -> "Callable[[Response], None]":
    """Reads a body for so long, and unpacks it so far.

    A byte of gzip can stand for a thousand, and a server that drips never breaks the pause between two bytes.
    """
    import httpx2
    import openai

    def bound(response: "Response") -> None:
        packed = response.headers.pop("content-encoding", "identity").lower()
        if packed not in ("gzip", "identity"):
            raise openai.OpenAIError(f"its answer is packed as {packed}, which nobody asked for")
        assert isinstance(response.stream, httpx2.SyncByteStream)
        until, unpacking, said = time.monotonic() + seconds, zlib.decompressobj(zlib.MAX_WBITS | 16), bytearray()
        for part in response.stream:
            if time.monotonic() > until:
                raise httpx2.ReadTimeout(f"no whole answer in {seconds:g} s", request=response.request)
            left = LONGEST - len(said)
            try:
                said += unpacking.decompress(part, left) if packed == "gzip" else part[:left]
            except zlib.error as error:
                raise httpx2.DecodingError(str(error), request=response.request) from error
            if len(said) >= LONGEST:
                break
        response.stream.close()
        response.stream = httpx2.ByteStream(bytes(said))

    return bound

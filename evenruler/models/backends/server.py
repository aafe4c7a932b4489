"""Client for a server with the OpenAI protocol: sends requests, retries, and turns every fault into
one line.

One request budget per process limits the requests to all hosted models, and counts them.
"""

import hashlib
import json
import math
import os
import random
import re
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from email.utils import parsedate_to_datetime
from functools import cache
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, unquote, urlsplit

from evenruler.errors import UserError, network_setup_problem
from evenruler.models.backends.concurrency import AT_ONCE, Concurrency, most_at_once
from evenruler.models.questions import LETTERS_A_TOKEN
from evenruler.terminal import print_note

if TYPE_CHECKING:  # takes a while to import
    from httpx2 import Request, Response
    from openai import APIStatusError, OpenAIError

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Environment variables: the server's address (default: OpenAI's) and its key."""

ATTEMPTS, SECONDS = 6, 120
"""Attempts per question if the server is busy or the connection breaks; timeout of an answer in
seconds."""

CONNECTING = 10
"""Seconds for a connection, encryption included, which nothing interrupts."""

GRACE = 10
"""Seconds that Ctrl-C waits for answers under way, which cost; the second one waits for none."""

LONGEST = (
    1 << 24
)  # most bytes read of an answer, unpacked: about 16 texts of 10,000 tokens with log-probabilities
SHORTEST_SECRET = (
    4  # from this length on, query values count as secrets and are also masked inside words
)
SHORTEST_REFUSED = (
    8  # from this length on, a secret in a reply is no word that a model may have meant
)

NAMES_SECRET = re.compile("key|token|secret|sig|pass|auth|credential", re.IGNORECASE)
"""Names of query parameters whose values no reply may hold; others, such as a version, may be words
of a reply."""

LIKE_A_KEY = re.compile(
    r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    re.IGNORECASE,
)
"""Part of an address that looks like a key: 16 letters and digits in a row, of both, or a UUID."""
PATIENCE = 300
"""Seconds to wait for a busy server: per wait if it names a time (`Retry-After`), else in total."""

LIMIT, SAMPLING = "max_completion_tokens", ("temperature", "top_p", "seed")
OTHERWISE = {LIMIT: "max_tokens", "max_tokens": LIMIT}
"""The two names of the limit on new tokens; if a server refuses one, the other is used."""

REFUSES = re.compile(
    "unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not "
    "allowed|invalid"
    "|only the default|reasoning_config",
    re.IGNORECASE,
)
"""Phrases in errors that mean an unsupported parameter, if `param` does not name it."""

VERSION = r"[-@:](?:(?:preview|exp)-)?(?:latest|v\d+(?:[.:]\d+)*|\d{3,4}|\d{6,8}|\d{4}-\d\d-\d\d|\d\d-\d\d(?:-\d{4})?)"
"""Version suffix of a model name, usually a date."""

REMEDY = f"see {URL} and {KEY}, and the name after `endpoint:`"
_SHOWN = 200  # characters of a server's message shown in errors
Answer = TypeVar("Answer")


class RefusalError(Exception):
    """The server refuses this question (HTTP 400); others may work."""

    def __init__(self, message: str, named: str | None) -> None:
        """`message`: the server's; `named`: the parameter that it calls unsupported, or None."""
        self.named = named
        super().__init__(message)


@dataclass(frozen=True)
class ServerReply:
    """An answer of a server."""

    choices: list[dict[str, Any]]  # at least one
    usage: Mapping[str, Any]  # token counts
    of_itself: Mapping[str, Any]
    """`model` and `fingerprint` as reported, and `own`: sampling parameters that the server does
    not accept."""


@dataclass(frozen=True)
class BatchOutcome(Generic[Answer]):
    """The result of one task: answers, and the fault if some are missing."""

    answers: list[Answer]
    fault: UserError | None = None


@dataclass
class _RunState:
    """How a run of concurrent tasks has gone so far."""

    over: threading.Event  # ends waits of tasks for a busy server
    fault: BaseException | None = None  # the first, or the one that ended the run
    has_ended: bool = False
    leave_at: float = math.inf  # when answers under way are waited for no longer
    unanswered_in_a_row: int = 0

    @property
    def asks_more(self) -> bool:
        """Whether further tasks may begin."""
        return not self.has_ended and self.unanswered_in_a_row < AT_ONCE

    @property
    def seconds_to_wait(self) -> float | None:
        """Seconds to wait for answers under way; None for as long as they take."""
        left = self.leave_at - time.monotonic()
        return None if math.isinf(left) else max(left, 0.0)

    def end_with(self, fault: BaseException) -> None:
        """End the run because of a fault."""
        self.fault, self.has_ended = fault, True
        self.over.set()

    def add_outcome(self, outcome: BatchOutcome[Answer]) -> None:
        """Count the outcome of a task: keeps the first fault, and ends the run if it says that
        nothing more may be asked.
        """
        if isinstance(outcome.fault, ServerStoppedError) and not self.has_ended:
            self.end_with(outcome.fault)
        self.fault = self.fault or outcome.fault
        self.unanswered_in_a_row = 0 if outcome.answers else self.unanswered_in_a_row + 1


class Server:
    """A server that hosts a model."""

    def __init__(
        self,
        name: str,
        served: str,
        seconds: float | None = None,
        answers_as: str | None = None,
        *,
        started_here: bool = False,
    ) -> None:
        """Set it up from the environment, for `served`, maybe named `answers_as` in answers;
        UserError if invalid.

        `started_here`: whether this process started it: then requests cost nothing and are not
        limited, no proxy leads to it, and a broken connection is its end.
        """
        import httpx2
        import openai

        from evenruler.models.backends.deadlines import Deadline, bound_connections

        allowed = self.budget = Budget() if started_here else current_budget()
        self._started_here = started_here
        self.name, self._served = name, served
        self._key = os.environ.get(KEY, "")
        self._names = [served, answers_as or served]
        if not self._key:
            remedy = "set it; any value will do for a server without"
            raise UserError(f"no key for {name}", where=f"environment: {KEY}", remedy=remedy)
        if not (self._key.isascii() and self._key.isprintable()):
            remedy = "set it again; look for a line break or quotes copied along"
            raise UserError(
                f"the key for {name} holds what no key does",
                where=f"environment: {KEY}",
                remedy=remedy,
            )
        self._lock, self._over = threading.Lock(), threading.Event()
        self._deadline, self._abandoned = Deadline(), threading.Event()
        self._terms: dict[str, str | None] = {}
        """Renamed parameters; None for unsupported ones. Learnt from the server's errors."""
        self._answered = False
        self._seconds = seconds or SECONDS

        def count_request(_: "Request") -> None:
            """Hook before each request, retries included: counts it; OpenAIError if the budget is
            used up.
            """
            try:
                allowed.take()  # not via `self`, which would then live as long as the client
            except BudgetExhaustedError as error:
                raise openai.OpenAIError(
                    str(error)
                ) from error  # the only error that the library does not retry

        url = server_address()
        self._concurrency = Concurrency(most_at_once(url.hostname))
        self._printed_concurrency = ""
        parameters = parse_qsl(url.query)
        values = [value for _, value in parameters if len(value) >= SHORTEST_SECRET]
        in_path = list(filter(LIKE_A_KEY.search, url.path.split("/")))
        password = unquote(url.password or "")
        hidden = [
            self._key,
            url.password or "",
            url.query,
            *values,
            *_quote_for_url(values),
            *in_path,
        ]
        self._secrets = sorted(filter(None, {*hidden}), key=len, reverse=True)
        named = [
            value
            for name, value in parameters
            if NAMES_SECRET.search(name) or LIKE_A_KEY.search(value)
        ]
        refused = [self._key, password, *in_path, *named]
        self._refused = {
            secret
            for secret in (*refused, *_quote_for_url(refused))
            if len(secret) >= SHORTEST_REFUSED
        }
        """Secrets that no reply may hold; shorter ones, as a server without a key is given, may be
        words."""
        try:
            # No redirects, since another server needs another cache key. The query is passed
            # separately: left in the address, paths would be appended to it.
            hooks: dict[str, list[Any]] = {
                "request": [count_request],
                "response": [_limit_response],
            }
            gzip, bare = {"accept-encoding": "gzip"}, url._replace(query="", fragment="").geturl()
            http = openai.DefaultHttpxClient(
                trust_env=not started_here,
                follow_redirects=False,
                event_hooks=hooks,
                params=url.query,
                headers=gzip,
            )
            bound_connections(http, self._deadline, self._abandoned)
            timeout = httpx2.Timeout(self._seconds, connect=min(CONNECTING, self._seconds))
            self._client = openai.OpenAI(
                base_url=bare, max_retries=0, timeout=timeout, http_client=http
            )
            weakref.finalize(self, http.close)  # the library does not close a client passed to it
        except (ValueError, httpx2.InvalidURL, ImportError, OSError) as error:
            problem = network_setup_problem(error)
            if problem is not None:
                what, where, remedy = problem
                raise UserError(what, where=where, remedy=remedy) from None
            if isinstance(error, (ImportError, OSError)):
                raise
            raise invalid_address_error() from None

    def user_error(self, what: str, remedy: str = "") -> UserError:
        """A UserError about this server, to be raised by the caller."""
        general = "see its log" if self._started_here else REMEDY
        return UserError(what, where=self.name, remedy=remedy or general)

    def plain(self, message: object) -> str:
        """A message on one line, shortened, with the key and other secrets of the address
        masked.
        """
        text = str(message)
        for secret in self._secrets:
            short = (
                len(secret) < SHORTEST_SECRET
            )  # mask only whole words: "x" is part of "max_tokens"
            text = (
                re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
                if short
                else text.replace(secret, "***")
            )
        text = " ".join(text.split(None, _SHOWN)[:_SHOWN])[
            : 4 * _SHOWN
        ]  # shorten before checking every character
        printable = "".join(c if c.isprintable() else " " for c in text)
        return " ".join(printable.split())[:_SHOWN]

    def ask(
        self, path: str, question: dict[str, Any], optional: Collection[str] = ()
    ) -> ServerReply:
        """Ask a question; retries if the server is busy, the connection breaks, or a parameter has
        to be renamed.

        `path`: appended to the address, such as "/completions"; `question`: the body without the
        model; `optional`: parameters that are dropped if the server does not support them.

        RefusalError if the server refuses the question (400); ServerStoppedError if the budget
        is used up or another model answers; UserError if the server cannot be reached, denies
        access, fails, or returns no valid answer.
        """
        terms = dict(self._terms)
        while True:
            called = {key: terms.get(key, key) for key in question}
            body = {name: question[key] for key, name in called.items() if name is not None}
            try:
                answer = self._send_with_retries(path, {"model": self._served, **body})
            except RefusalError as error:
                key = next(
                    (key for key, name in called.items() if name and name == error.named), ""
                )
                if (key in terms or key not in OTHERWISE) and key not in optional:
                    raise
                terms[key] = OTHERWISE.get(key)
                continue
            usage = answer.get("usage")
            if not isinstance(usage, dict):
                usage = {}
            written = usage.get("completion_tokens")
            if (
                isinstance(written, int)
                and written > body.get(LIMIT, math.inf)
                and LIMIT not in terms
            ):
                terms[LIMIT] = OTHERWISE[LIMIT]  # silently ignored by the server
                continue
            with self._lock:
                new = [
                    key
                    for key, name in terms.items()
                    if name is None and self._terms.get(key, key) is not None
                ]
                self._terms.update(terms)
            if new:
                print_note(
                    f"{self.name}: the server takes no {' and no '.join(new)}, so it goes by its "
                    "own"
                )
            dropped = (key for key, name in called.items() if name is None)
            unsupported = sorted(key for key in dropped if key in SAMPLING)
            return self._reply_of(answer, unsupported)

    def read_answer(self, response_content: bytes) -> ServerReply:
        """An answer that came in another way, as in a batch; errors as `ask`."""
        return self._reply_of(self._parse_answer(response_content), [])

    def _reply_of(self, answer: Mapping[str, Any], unsupported: Sequence[str]) -> ServerReply:
        """A parsed answer as a reply; `unsupported`: sampling parameters that the server does not
        take.
        """
        usage = answer.get("usage")
        reported = {
            "model": answer.get("model"),
            "fingerprint": answer.get("system_fingerprint"),
        }
        of_itself: dict[str, Any] = {
            key: self.plain(detail) for key, detail in reported.items() if detail
        }
        if unsupported:
            of_itself["own"] = [*unsupported]
        return ServerReply(answer["choices"], usage if isinstance(usage, dict) else {}, of_itself)

    def ask_texts(
        self, texts: Sequence[str | Sequence[int]], question: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Ask the same of several texts, or of their token ids, in one request for completions: the
        choice of each, in their order; errors as `ask`.
        """
        choices = self.ask("/completions", {"prompt": [*texts], **question}).choices
        by_index = {
            choice.get("index"): choice
            for choice in choices
            if isinstance(choice.get("index"), int)
        }
        is_whole = by_index.keys() == {*range(len(texts))}
        if len(choices) != len(texts) or not is_whole:
            raise self.user_error(
                f"{len(texts)} texts were asked, {len(choices)} came back or with other numbers"
            )
        return [by_index[i] for i in range(len(texts))]

    def _send_with_retries(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request body, with retries; errors as `ask`."""
        import httpx2
        import openai

        headers: Mapping[str, str]
        problem: OpenAIError
        waited = 0.0
        for tries in count(1):
            began = time.monotonic()
            self._deadline.until = began + self._seconds
            try:
                # Raw response: the library would accept anything and fill missing fields with None.
                return self._parse_answer(
                    self._client.post(path, cast_to=httpx2.Response, body=body).content
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                raise self._refusal_of(error, body) from None
            except openai.APIStatusError as error:
                headers, problem = error.response.headers, error
                attempts = self._attempts_after(error, began)
            except openai.OpenAIError as error:
                if isinstance(error.__cause__, BudgetExhaustedError):
                    raise error.__cause__ from None
                headers, problem = {}, error
                is_broken = isinstance(error, openai.APIConnectionError)
                attempts = ATTEMPTS if is_broken and not self._started_here else 0
            pause = _retry_pause(headers, tries, waited)
            if pause is None or tries >= attempts or self._over.wait(pause):
                raise self.user_error(
                    f"the server does not answer ({self.plain(problem)})"
                ) from None
            waited += pause
        raise AssertionError

    def _refusal_of(
        self, error: "APIStatusError", body: Collection[str]
    ) -> RefusalError | UserError:
        """The error for a rejected request: RefusalError for status 400 or an unsupported
        parameter, else UserError. The request counts as answered.
        """
        self.budget.answered(None)
        parameter = _unsupported_parameter(error.body, body)
        if parameter is None and error.status_code != 400:
            return self.user_error(f"the server does not answer ({self.plain(error)})")
        if parameter is None:
            self._answered = True  # nothing to learn about parameters
        return RefusalError(self.plain(error), parameter)

    def _attempts_after(self, error: "APIStatusError", began: float) -> int:
        """Attempts in all at a request that failed with a status; UserError if none may help."""
        status = error.status_code
        if error.response.has_redirect_location:
            location = self.plain(error.response.headers["location"])
            what = f"the server sends elsewhere ({location})"
            raise self.user_error(what, f"set {URL} to where it is") from None
        if status == 402 or "insufficient_quota" in (error.code, error.type):
            what = f"nothing is left to pay with ({self.plain(error)})"
            raise ServerStoppedError(what, where=self.name, remedy=f"pay in; {KEPT}") from None
        if status == 429:
            self._concurrency.note_busy(began)
            return 4 * ATTEMPTS
        return ATTEMPTS if status in (408, 409) or status >= 500 else 0

    def _parse_answer(self, response_content: bytes) -> dict[str, Any]:
        """Parse an answer and check that the requested model gave it."""
        if len(response_content) >= LONGEST:
            raise self.user_error(f"what the server says is no answer ({LONGEST:,} bytes and more)")
        try:
            answer: Any = json.loads(response_content)
        except (ValueError, RecursionError):
            answer = response_content.decode(errors="replace")
        answered: dict[str, Any] = answer if isinstance(answer, dict) else {}
        choices = answered.get("choices")
        if (
            not isinstance(choices, list)
            or not choices
            or not all(isinstance(choice, dict) for choice in choices)
        ):
            raise self.user_error(
                f"what the server says is no answer ({self.plain(answer) or 'nothing'})"
            )
        self.budget.answered(answered.get("usage"))
        for text in _texts_in_answer(choices):
            if any(secret in text for secret in self._refused):
                remedy = (
                    "change it, or ask another server; one that needs no key takes any value, "
                    "which no reply may hold"
                )
                what = f"a reply repeats a secret, {KEY} or one in {URL}, so it is not stored"
                raise ServerStoppedError(what, where=self.name, remedy=remedy)
        self._answered, who = True, answered.get("model")
        if not isinstance(who, str) or not who:
            return answered
        if not any(is_version(who, name) for name in self._names):
            other = self.plain(
                who.rpartition("/")[2] if who[0] == "/" else who
            )  # llama.cpp reports its file's path
            what = f"another model answers than was asked ({other}, not {self._served})"
            remedy = (
                f"have your gateway not fall back, say --answers-as {other} if it renames the "
                "model, or name "
            )
            remedy += f"the one that you mean: endpoint:{other}"
            raise ServerStoppedError(what, where=self.name, remedy=remedy)
        return answered

    def at_once(
        self, tasks: Iterable[Callable[[], BatchOutcome[Answer]]]
    ) -> Iterator[list[Answer]]:
        """Run tasks that ask the server concurrently, yielding the answers of each task when it is
        done.

        The first task runs alone, so that renamed parameters are learnt once; concurrency falls if
        the server is busy. UserError at the end, after all answers: the first fault, or the one
        that ended the run.
        """
        waiting = iter(tasks)
        running: set[Future[BatchOutcome[Answer]]] = set()
        run_state = _RunState(self._over)
        pool = ThreadPoolExecutor(self._concurrency.most)
        try:
            while True:
                room = self._current_room() if run_state.asks_more else 0
                for task in islice(waiting, max(room - len(running), 0)):
                    running.add(pool.submit(task))
                if not running:
                    break
                try:
                    done, running = wait(
                        running, timeout=run_state.seconds_to_wait, return_when=FIRST_COMPLETED
                    )
                except KeyboardInterrupt as interrupt:
                    if run_state.has_ended:
                        self._abandoned.set()
                        raise
                    run_state.end_with(interrupt)
                    run_state.leave_at = time.monotonic() + GRACE
                    print_note(
                        f"{self.name}: waits {GRACE} seconds for {len(running)} answers that are "
                        "under way; press Ctrl-C again to end at once"
                    )
                    continue
                if not done:
                    self._abandoned.set()
                    run_state.leave_at = math.inf
                for future in done:
                    outcome = _outcome_of(future)
                    run_state.add_outcome(outcome)
                    if outcome.answers:
                        self._concurrency.note_answer()
                        yield outcome.answers
        finally:
            self._over.set()  # stop pending waits
            pool.shutdown()
            self._over.clear()
            self._abandoned.clear()
            self._print_concurrency()
        if run_state.fault is not None:
            raise run_state.fault

    def _print_concurrency(self) -> None:
        """Print how many requests go out together, where that is settled and other than before."""
        line = self._concurrency.in_words
        if line and line != self._printed_concurrency:
            print_note(f"{self.name}: {line}")
        self._printed_concurrency = line

    def _current_room(self) -> int:
        """Requests that may now run concurrently; one until the server has answered."""
        return self._concurrency.room if self._answered else 1


def _outcome_of(future: Future[BatchOutcome[Answer]]) -> BatchOutcome[Answer]:
    """What a finished task returned; a UserError that it raised is a fault without answers."""
    try:
        return future.result()
    except UserError as error:
        return BatchOutcome([], error)


def is_version(reported_model: str, requested_model: str) -> bool:
    """Whether a reported model name is the requested one, or a version of it (name plus date)."""
    reported_name, requested_name = reported_model.lower(), requested_model.lower()
    # Compare organisations only if both names have one.
    if "/" not in reported_name or "/" not in requested_name:
        reported_name, requested_name = (
            reported_name.rpartition("/")[2],
            requested_name.rpartition("/")[2],
        )
    return reported_name == requested_name or bool(
        re.fullmatch(re.escape(requested_name.removesuffix("-latest")) + VERSION, reported_name)
    )


def _unsupported_parameter(error_body: object, body: Collection[str]) -> str | None:
    """The parameter that an error says is unsupported, by its `param`, else by its message."""
    error_fields = error_body if isinstance(error_body, dict) else {}
    if error_fields.get("code") == "content_filter":
        return None
    settings = [key for key in body if key not in ("model", "messages", "prompt")]
    if isinstance(error_fields.get("param"), str) and error_fields["param"]:
        name = error_fields["param"].removeprefix("body.").partition(".")[0]  # vLLM's form
        return name if name in settings else None
    message = str(error_fields.get("message") or error_body)
    if not REFUSES.search(message):
        return None
    places: dict[str, int] = {}
    for key in settings:
        if match := re.search(rf"(?<!\w){key}(?!\w)", message):
            places[key] = match.start()
    return min(places, key=lambda key: places[key], default=None)


def _retry_pause(headers: Mapping[str, str], tries: int, waited: float) -> float | None:
    """Seconds to wait before a retry: as the server names, else exponential; None to give up."""
    named = headers.get("retry-after-ms") or headers.get("retry-after") or ""
    try:
        pause = float(named) / (1000 if "retry-after-ms" in headers else 1)
    except ValueError:
        try:
            pause = parsedate_to_datetime(named).timestamp() - time.time()
        except ValueError:
            longest = min(2.0 ** (tries - 2), 64)
            pause = longest * (1 - random.random() / 4)
            return pause if waited + pause <= PATIENCE else None
    return max(pause, 0.0) if pause <= PATIENCE else None


def server_address() -> SplitResult:
    """The server's address from the environment; UserError if it is invalid."""
    try:
        url = urlsplit(os.environ.get(URL) or "https://api.openai.com/v1")
        _ = url.port  # raises if it is no number
    except ValueError:
        raise invalid_address_error() from None
    return url


@contextmanager
def at_address(url: str, key: str) -> Iterator[None]:
    """A context in which servers are at an address, with its key, so that it does not see another
    server's.
    """
    before = os.environ.copy()
    os.environ.update({URL: url, KEY: key})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def server_place() -> str:
    """The server's address without secrets: scheme, host, port and path.

    A part of the path that looks like a key (`LIKE_A_KEY`) is written as its checksum, so that
    addresses differ.
    """
    url = server_address()
    parts = [
        _checksum(part) if LIKE_A_KEY.search(part) else part
        for part in url.path.rstrip("/").split("/")
    ]
    host = url.netloc.rpartition("@")[2]
    return SplitResult(url.scheme, host, "/".join(parts), "", "").geturl()


def _checksum(part: str) -> str:
    """A stand-in for a secret part of an address: `sha256-` and 12 hex digits."""
    return f"sha256-{hashlib.sha256(part.encode()).hexdigest()[:12]}"


def _quote_for_url(values: Iterable[str]) -> list[str]:
    """Each value as it stands in an address, in both ways of quoting (space as %20 and as +)."""
    quoted: list[str] = []
    for value in values:
        quoted += [quote(value), quote_plus(value)]
    return quoted


def _texts_in_answer(answer: object) -> Iterator[str]:
    """Every text in an answer, keys included, at any depth."""
    left = [answer]
    while left:
        match left.pop():
            case str(text):
                yield text
            case dict(fields):
                left += [*fields, *fields.values()]
            case list(entries):
                left += entries


def invalid_address_error() -> UserError:
    """The error for an invalid address, which is not shown, since it may contain a password."""
    remedy = "write it as in http://127.0.0.1:8000/v1"
    return UserError(
        "the address of the server is none", where=f"environment: {URL}", remedy=remedy
    )


def _limit_response(response: "Response") -> None:
    """Unpack a response body, as far as `LONGEST`: one byte of gzip can expand to a thousand."""
    import httpx2
    import openai

    packed = response.headers.pop("content-encoding", "identity").lower()
    if packed not in ("gzip", "identity"):
        raise openai.OpenAIError(f"its answer is packed as {packed}, which was not asked for")
    assert isinstance(response.stream, httpx2.SyncByteStream)
    unpacking, body = zlib.decompressobj(zlib.MAX_WBITS | 16), bytearray()
    for part in response.stream:
        left = LONGEST - len(body)
        try:
            body += unpacking.decompress(part, left) if packed == "gzip" else part[:left]
        except zlib.error as error:
            raise httpx2.DecodingError(str(error), request=response.request) from error
        if len(body) >= LONGEST:
            break
    response.stream.close()
    response.stream = httpx2.ByteStream(bytes(body))


MAX_REQUESTS = (
    "EVENRULER_MAX_REQUESTS"  # environment variable: most requests that a command or stage may send
)
KEPT = "what was answered is kept: run again"


class ServerStoppedError(UserError):
    """The server must not be asked anything more."""


class BudgetExhaustedError(ServerStoppedError):
    """The request budget is used up."""


@dataclass(frozen=True)
class RequestUsage:
    """Requests sent, and tokens as counted by the servers."""

    requests: int = 0  # including retries
    answers: int = 0
    read: int = 0  # prompt tokens, from the `usage` of answers that have it
    written: int = 0  # reply tokens, likewise

    def __sub__(self, before: "RequestUsage") -> "RequestUsage":
        """What was used since `before`, an earlier count."""
        return RequestUsage(
            *(
                getattr(self, usage_field.name) - getattr(before, usage_field.name)
                for usage_field in fields(self)
            )
        )

    @property
    def in_words(self) -> str:
        """Requests, unanswered ones and tokens as one line of text."""
        n_unanswered = self.requests - self.answers
        without = f" ({n_unanswered:,} of them without an answer)" if n_unanswered else ""
        tokens = (
            f"{self.read:,} tokens read, {self.written:,} written"
            if self.read
            else "no tokens counted"
        )
        return f"{self.requests:,} requests went out{without}; {tokens} by the server"


@dataclass
class Budget:
    """The limit and the use so far; safe for threads."""

    most: int | None = None  # requests; None: unlimited
    used: RequestUsage = RequestUsage()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        """Count a request before it is sent; BudgetExhaustedError if the limit is reached."""
        with self._lock:
            if self.most is not None and self.used.requests >= self.most:
                what, where = (
                    f"the budget of {self.most:,} requests is used up",
                    f"--max-requests or {MAX_REQUESTS}",
                )
                raise BudgetExhaustedError(
                    what, where=where, remedy=f"{KEPT}, or with a larger one, to go on from there"
                )
            self.used = replace(self.used, requests=self.used.requests + 1)

    def answered(self, usage: object) -> None:
        """Count an answered request; `usage`: the field of that name in the answer, if any."""
        read = _read_count(usage, "prompt_tokens")
        written = _read_count(usage, "completion_tokens")
        with self._lock:
            used = self.used
            self.used = RequestUsage(
                used.requests, used.answers + 1, used.read + read, used.written + written
            )

    @contextmanager
    def announce_requests(self, name: str, requests: int, letters: int) -> Iterator[None]:
        """Announce the expected number of requests without retries, and report the actual use
        afterwards.
        """
        before = self.used
        left = (
            ""
            if self.most is None
            else f"; {max(self.most - before.requests, 0):,} may still go out"
        )
        tokens = f"about {round(letters / LETTERS_A_TOKEN, -1):,.0f} tokens of prompts"
        print_note(
            f"{name}: {requests:,} requests at most, unless some have to be repeated; "
            f"{tokens}{left}"
        )
        try:
            yield
        finally:
            print_note(f"{name}: {(self.used - before).in_words}")


def _read_count(usage: object, key: str) -> int:
    """The number of tokens that a server reports under a key; 0 if it reports none."""
    n = usage.get(key) if isinstance(usage, dict) else 0
    if isinstance(n, bool) or not isinstance(n, int):
        return 0
    return max(n, 0)


_allowed: Budget | None = None


def current_budget() -> Budget:
    """This process's budget, from `request_budget` or else the environment; UserError if that is no
    number.
    """
    return _allowed or _shared_budget(os.environ.get(MAX_REQUESTS, ""))


@contextmanager
def request_budget(most: int | None) -> Iterator[None]:
    """Set the budget of servers created within the context; None changes nothing."""
    global _allowed
    if most is not None and most < 0:
        raise UserError(
            f"{most} requests", where="max_requests", remedy="say 0 or more, or leave it out"
        )
    before = _allowed
    _allowed = before if most is None else Budget(most)
    try:
        yield
    finally:
        _allowed = before


@cache
def _shared_budget(budget_text: str) -> Budget:
    """The budget that a value of the environment variable sets, cached, since one process counts on
    one budget; no limit for an empty value; UserError if it is no number.
    """
    if budget_text and not (budget_text.isascii() and budget_text.isdigit()):
        raise UserError(
            f"{budget_text!r} is no number of requests",
            where=f"environment: {MAX_REQUESTS}",
            remedy="say 0 or more",
        )
    return Budget(int(budget_text) if budget_text else None)

"""Requests for a MediaWiki's API: unhurried, with who asks, and again where what failed may pass."""

import email.utils
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import httpx
from pydantic_core import from_json
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from evenruler.errors import UserError

STRANGE = (AttributeError, LookupError, TypeError, ValueError)
"""What comes of reading an answer that is not MediaWiki's."""

_MEND = "mend the address of api.php"
_MOST_BYTES = 64_000_000
"""Of an answer, unpacked: the longest page of Wikipedia has two millions."""
_MAX_LAG = 5
"""Seconds that the wiki's own databases may lag before it puts requests like ours off."""
_PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error")
"""What errors of MediaWiki's API begin with that pass by themselves."""


@dataclass(frozen=True)
class Patience:
    """How often, and how long, in seconds.

    Attributes:
        requests_per_second: At most so many, repeated ones included.
        timeout: Without a sign of the wiki, or until an answer's body is there as a whole; else it counts as none.
        attempts: Of one request, the first included.
        first_wait: Before the second attempt; doubled from one to the next.
        longest_wait: A wiki that asks for a longer wait counts as one that does not answer.
        now: What tells the time between requests.
        sleep: What waits.
    """

    requests_per_second: float = 2.0
    timeout: float = 60.0
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class NoAnswerError(Exception):
    """A wiki gave no answer of MediaWiki's; says why. `wait`: the seconds that it asked for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason if wait is None else f"{reason}, to be asked again in {wait:.0f} s")
        self.wait = wait


class RefusedError(UserError):
    """MediaWiki says that it will not give what was asked for."""


class PoliteTransport(httpx.BaseTransport):
    """Asks one wiki's API, whichever a request names; to be closed. Proxies are those of the environment.

    Attributes:
        batches: Answers until one has no `continue`, so that who asks for a list in batches comes to its end.
    """

    def __init__(self, address: str, contact: str, patience: Patience) -> None:
        self._address, self._patience = httpx.URL(address), patience
        self._client = httpx.Client(
            headers={"User-Agent": f"evenruler/{version('evenruler')} ({contact})", "Accept-Encoding": "gzip"},
            timeout=patience.timeout,
            follow_redirects=True,
            event_hooks={"request": [self._require_same_host]},
        )
        self._next_at = patience.now()
        self.batches = 1

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request's parameters; errors as those of `ask`."""
        answer = self.ask(request.url.params)
        self.batches -= 1
        if self.batches <= 0:
            answer.pop("continue", None)
        return httpx.Response(200, json=answer)

    def ask(self, params: Mapping[str, str | int]) -> dict[str, Any]:
        """An answer; asked for again with waits that double, or as long as the wiki says, where there was none.

        Raises:
            NoAnswerError: No attempt succeeded.
            UserError: The wiki refuses or leads to another host, or there is none.
        """
        patience = self._patience
        doubled = wait_exponential(multiplier=patience.first_wait, max=patience.longest_wait)

        def asked_for(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            return error.wait if isinstance(error, NoAnswerError) and error.wait is not None else doubled(state)

        def may_pass(error: BaseException) -> bool:
            return isinstance(error, NoAnswerError) and (error.wait or 0) <= patience.longest_wait

        retrying = Retrying(
            retry=retry_if_exception(may_pass),
            stop=stop_after_attempt(patience.attempts),
            wait=asked_for,
            sleep=patience.sleep,
            reraise=True,
        )
        return retrying(self._attempt, {"format": "json", "maxlag": _MAX_LAG, **params})

    def _attempt(self, params: Mapping[str, str | int]) -> dict[str, Any]:
        if (wait := self._next_at - self._patience.now()) > 0:
            self._patience.sleep(wait)
        self._next_at = self._patience.now() + 1 / self._patience.requests_per_second
        try:
            response, body = self._fetch(params)
        except (httpx.RequestError, TimeoutError) as error:
            raise NoAnswerError(f"the connection failed ({type(error).__name__})") from error
        status, where = response.status_code, str(self._address)
        asked_to_wait = _seconds(response.headers.get("retry-after", ""))
        if status == 429 or status >= 500:
            raise NoAnswerError(f"HTTP {status}", asked_to_wait)
        if status == 403:
            what, remedy = "the wiki refuses (HTTP 403)", "give a contact address that its owners can write to"
            raise UserError(what, where=where, remedy=remedy)
        if status != 200:
            raise UserError(f"no MediaWiki there (HTTP {status})", where=where, remedy=_MEND)
        try:
            answer: dict[str, Any] = from_json(body.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
            refusal: Any = answer.get("error")
            passing = refusal and refusal["code"].startswith(_PASSING)
        except STRANGE as error:
            raise NoAnswerError(f"its answer is not MediaWiki's: {error!r:.99}") from error
        if passing:
            raise NoAnswerError(f"it says {refusal['code']}", asked_to_wait)
        if refusal:
            what, remedy = refusal.get("info") or refusal["code"], "ask those who run it, or name another"
            raise RefusedError(f"the wiki refuses: {what}", where=where, remedy=remedy)
        return answer

    def _fetch(self, params: Mapping[str, str | int]) -> tuple[httpx.Response, bytearray]:
        body, until = bytearray(), time.monotonic() + self._patience.timeout
        with self._client.stream("GET", self._address, params=params) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    what = f"an answer of more than {_MOST_BYTES:,} bytes"
                    raise UserError(what, where=str(self._address), remedy=_MEND)
                if time.monotonic() > until:  # each piece was in time
                    raise TimeoutError
        return response, body

    def _require_same_host(self, request: httpx.Request) -> None:
        """Another host is another wiki, whose text has another licence; https in place of http is the same one."""
        asked, there = self._address, request.url
        same = (there.scheme, there.port) in {(asked.scheme, asked.port), ("https", None)}
        if asked.host != there.host or not same:
            what = f"the wiki leads to another host, {there.copy_with(query=None)}"
            remedy = "name that address as `api`, with the licence of its text, if it is the wiki that you want"
            raise UserError(what, where=str(asked), remedy=remedy)


def _seconds(retry_after: str) -> float | None:
    """The header's value, which is a number of seconds or a date, as seconds from now; none where it is neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        then = email.utils.parsedate_to_datetime(retry_after)
        return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None

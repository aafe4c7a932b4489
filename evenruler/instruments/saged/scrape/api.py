"""A MediaWiki's API, asked politely: unhurried, with who asks, and again where what failed may pass."""

import asyncio
import email.utils
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated, Any, Self

import httpx
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from evenruler.errors import UserError

_MEND = "mend the address of api.php"
_MOST_BYTES = 64_000_000
"""Of an answer, unpacked: the longest page of Wikipedia has two millions."""
_MAX_LAG = 5
"""Seconds that the wiki's own databases may lag before it puts requests like ours off."""
_PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error")
"""What errors of MediaWiki's API begin with that pass by themselves."""


_Text = Annotated[str, StringConstraints(min_length=1)]
_Id = Annotated[int, Field(gt=0, lt=2**63)]


class _Part(BaseModel):
    """Part of an answer. Keys that are known have the right type; others are left alone, as extensions add some."""

    model_config = ConfigDict(strict=True)


class Titled(_Part):
    """What a page refers to, or is referred to by."""

    title: _Text


class PageAnswer(_Part):
    """A page with its plain `extract`, its `text` in HTML, or its links; without a `pageid` where it is not there."""

    title: _Text
    pageid: _Id | None = None
    revision: _Id | None = Field(None, validation_alias=AliasChoices("lastrevid", "revid"))
    fullurl: Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+/")] | None = None
    pagelanguage: _Text | None = None
    extract: str | None = None
    text: str | None = None
    properties: dict[str, Any] = Field({}, validation_alias=AliasChoices("pageprops", "properties"))
    templates: list[Titled] = Field([])
    links: list[Titled] = Field([])


class _Query(_Part):
    pages: list[PageAnswer] = Field([], max_length=1)
    backlinks: list[Titled] = Field([])


class _Error(_Part):
    code: str
    info: str = ""


class Answer(_Part):
    """About one title. `query.pages` is empty where it is of another wiki, or a redirect that ends nowhere."""

    error: _Error | None = None
    query: _Query = Field(_Query())
    parse: PageAnswer | None = None
    goes_on: dict[str, str | int] = Field({}, alias="continue")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set & {"error", "query", "parse"}:
            raise ValueError("neither `query` nor `parse`")
        return self


@dataclass(frozen=True)
class Patience:
    """How often, and how long, in seconds.

    Attributes:
        requests_per_second: At most so many, repeated ones included.
        timeout: Until an answer that is not there as a whole counts as none.
        attempts: Of one request, the first included.
        first_wait: Before the second attempt; doubled from one to the next.
        longest_wait: A wiki that asks for a longer wait counts as one that does not answer.
        now: What tells the time.
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


class Api:
    """One wiki's API; to be closed. Proxies are those of the environment."""

    def __init__(self, address: str, contact: str, patience: Patience) -> None:
        self._address, self._patience = httpx.URL(address), patience
        self._client = httpx.AsyncClient(
            headers={"User-Agent": f"evenruler/{version('evenruler')} ({contact})", "Accept-Encoding": "gzip"},
            timeout=None,
            follow_redirects=True,
            event_hooks={"request": [self._require_same_host]},
        )
        self._loop = asyncio.Runner()  # only what is asynchronous can be ended while it waits
        self._next_at = patience.now()

    def close(self) -> None:
        """Close the connections."""
        self._loop.run(self._client.aclose())
        self._loop.close()

    def ask(self, **params: str | int) -> Answer:
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
        return retrying(self._attempt, params)

    def _attempt(self, params: dict[str, str | int]) -> Answer:
        if (wait := self._next_at - self._patience.now()) > 0:
            self._patience.sleep(wait)
        self._next_at = self._patience.now() + 1 / self._patience.requests_per_second
        try:
            response, body = self._loop.run(self._fetch(params))
        except (httpx.RequestError, TimeoutError) as error:
            raise NoAnswerError(f"the connection failed ({type(error).__name__})") from error
        status, where = response.status_code, str(self._address)
        asked_to_wait = _seconds(response.headers.get("retry-after", ""))
        if status == 429 or status >= 500:
            raise NoAnswerError(f"HTTP {status}", asked_to_wait)
        if status == 403:
            remedy = "give a contact address that its owners can write to"
            raise UserError("the wiki refuses (HTTP 403)", where=where, remedy=remedy)
        if status != 200:
            raise UserError(f"no MediaWiki there (HTTP {status})", where=where, remedy=_MEND)
        try:
            answer = Answer.model_validate_json(body)
        except ValidationError as error:
            first = error.errors()[0]
            place = "".join(f"{part}: " for part in first["loc"])
            raise NoAnswerError(f"its answer is not MediaWiki's: {place}{first['msg']}") from error
        if answer.error and answer.error.code.startswith(_PASSING):
            raise NoAnswerError(f"it says {answer.error.code}", asked_to_wait)
        if answer.error:
            what, remedy = answer.error.info or answer.error.code, "ask those who run it, or name another"
            raise RefusedError(f"the wiki refuses: {what}", where=where, remedy=remedy)
        return answer

    async def _fetch(self, params: dict[str, str | int]) -> tuple[httpx.Response, bytes]:
        params = {"format": "json", "formatversion": 2, "maxlag": _MAX_LAG, **params}
        body = bytearray()
        async with (
            asyncio.timeout(self._patience.timeout),
            self._client.stream("GET", self._address, params=params) as response,
        ):
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    what = f"an answer of more than {_MOST_BYTES:,} bytes"
                    raise UserError(what, where=str(self._address), remedy=_MEND)
        return response, bytes(body.removeprefix(b"\xef\xbb\xbf"))

    async def _require_same_host(self, request: httpx.Request) -> None:
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

"""How a wiki is asked: unhurried, patient with what passes, and at the address that the settings name."""

import asyncio
import email.utils
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

import httpx
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import from_json
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from evenruler.errors import UserError

_MOST_SHOWN = 60
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SAYS_ABSENT = {"missing", "invalid", "special"}
_OF_TEXT = {"lastrevid", "fullurl", "pagelanguage"}

Answer = dict[str, Any]
Wanted = Literal["pages", "links", "backlinks"]
"""What a request is for."""

_Text = Annotated[str, StringConstraints(min_length=1)]
_Id = Annotated[int, Field(gt=0, lt=2**63)]


class StrangeAnswerError(Exception):
    """An answer is JSON, and none that MediaWiki gives; says what came."""


class _Part(BaseModel):
    """Keys that are known have the right type; others are left alone, as extensions add some."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Error(_Part):
    code: _Text
    info: str = ""


class _Titled(_Part):
    title: _Text
    ns: int


class _Page(_Part):
    title: _Text
    pageid: _Id = 0
    lastrevid: _Id = 0
    fullurl: Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+/")] = ""
    pagelanguage: _Text = ""
    extract: str = ""
    pageprops: dict[str, Any] = {}
    templates: list[_Titled] = []
    links: list[_Titled] = []


class _Query(_Part):
    pages: dict[str, _Page] = {}
    backlinks: list[_Titled] = []
    interwiki: list[dict[str, Any]] = []
    redirects: list[dict[str, Any]] = []

    @model_validator(mode="after")
    def _one_page(self) -> Self:
        """One title is asked for: its page is there with all that its text needs, or said to be absent."""
        if len(self.pages) > 1:
            raise ValueError("several pages for one title")
        for number, page in self.pages.items():
            given = page.model_fields_set | set(page.model_extra or {})
            if number == "-1":
                if "pageid" in given or not given & _SAYS_ABSENT:
                    raise ValueError("a page that is neither there nor absent")
            elif str(page.pageid) != number:
                raise ValueError("a page under another number than its own")
            elif "extract" in given and not given >= _OF_TEXT:
                raise ValueError(f"text of a page without its {', '.join(sorted(_OF_TEXT - given))}")
        return self


class _Whole(_Part):
    query: _Query
    goes_on: dict[str, str | int] = Field({}, alias="continue")


def read_answer(content: bytes, wanted: Wanted) -> Answer:
    """An answer that can be used as it is.

    Returns:
        With `error`, which has a code, or with `query`, which holds what was asked for. Without `pages` where the title
        is one of another wiki, or a redirect that ends nowhere.

    Raises:
        ValueError: It is no JSON; JSON has no NaN and no half of a letter.
        StrangeAnswerError: It is none that MediaWiki gives.
    """
    answer = from_json(content.removeprefix(_BYTE_ORDER_MARK), allow_inf_nan=False)
    try:
        if not isinstance(answer, dict):
            raise ValueError("no object")
        if "error" in answer:
            _Error.model_validate(answer["error"])
        else:
            # What was asked for is there, and where it goes on.
            whole = _Whole.model_validate(answer)
            query = whole.query
            if wanted == "backlinks":
                if "backlinks" not in query.model_fields_set:
                    raise ValueError("no `backlinks`")
            elif not (query.pages or query.interwiki or query.redirects):
                raise ValueError("no `pages`")
            key = {"links": "plcontinue", "backlinks": "blcontinue"}.get(wanted)
            if key and whole.goes_on and key not in whole.goes_on:
                raise ValueError(f"it goes on without `{key}`")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        raise StrangeAnswerError(f"{f'{place}: ' if place else ''}{what}: {_shown(content)}") from None
    except ValueError as error:
        raise StrangeAnswerError(f"{error}: {_shown(content)}") from None
    return answer


def _shown(content: bytes) -> str:
    text = " ".join(content.decode(errors="replace").split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."


_MOST_REDIRECTS = 5
_MOST_SECONDS = 1e9
_MEND = "mend the address of api.php"
_MOST_BYTES = 64_000_000
"""Of an answer, unpacked: the longest page of Wikipedia has two millions."""
_PACKED = ("gzip", "deflate", "identity")
"""How an answer may be packed: each piece of it unpacks to a thousand times its size at most."""
_PASSING = {"maxlag", "ratelimited", "readonly"}
"""Errors of MediaWiki's API that pass by themselves."""


@dataclass(frozen=True)
class Patience:
    """How often, and how long.

    Attributes:
        requests_per_second: At most so many, repeated ones included.
        timeout: Seconds without a sign of the wiki until an answer counts as none.
        deadline: Seconds that an answer may take as a whole, however steadily it comes.
        attempts: Of one request, the first included.
        first_wait: Seconds before the second attempt; doubled from one to the next.
        longest_wait: Seconds; a wiki that asks for a longer wait counts as one that does not answer.
    """

    requests_per_second: float = 2.0
    timeout: float = 30.0
    deadline: float = 120.0
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0


@dataclass(frozen=True)
class Clock:
    """Time, seconds."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class NoAnswerError(Exception):
    """A wiki gave no answer that can be read, in spite of every attempt; says how the last one ended."""


class OtherWikiError(Exception):
    """A title is one of another wiki, or a redirect that ends nowhere: this one has no page of it."""


class _PassingError(Exception):
    """An attempt failed in a way that may pass; `wait`: the seconds that the wiki asked for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class PoliteTransport(httpx.BaseTransport):
    """Sends requests for a MediaWiki's API with a rate limit, and again where they failed.

    A slow answer, a cut connection, 429, 5xx, an answer that is no JSON or not of MediaWiki's shape, and MediaWiki's
    own "later" (maxlag and the like) are tried again with waits that double; a `Retry-After` is honoured. Redirects are
    followed on the wiki's own host. Proxies are those of the environment.

    Args:
        api: Address of the API to ask instead of the requests' own; none leaves it.
        patience: Rate, attempts and waits.
        clock: What waits.
    """

    def __init__(self, api: str | None, patience: Patience, clock: Clock) -> None:
        self._api, self._patience, self._clock = api, patience, clock
        self._client = httpx.AsyncClient(timeout=patience.timeout, follow_redirects=False)
        self._loop = asyncio.Runner()  # only what is asynchronous can be ended while it waits
        self._next_at = clock.now()
        self._batches: int | None = None

    def close(self) -> None:
        """Close the connections."""
        self._loop.run(self._client.aclose())
        self._loop.close()

    @contextmanager
    def batches(self, most: int) -> Iterator[None]:
        """Inside it, a list that the wiki gives in batches ends after so many."""
        self._batches = most
        try:
            yield
        finally:
            self._batches = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, which has the shape of MediaWiki's.

        Raises:
            NoAnswerError: No attempt succeeded.
            OtherWikiError: The title is one of another wiki.
            UserError: The wiki refuses or leads to another host, or there is none.
        """
        retrying = Retrying(
            stop=stop_after_attempt(self._patience.attempts),
            wait=self._wait,
            retry=retry_if_exception_type(_PassingError),
            sleep=self._clock.sleep,
            reraise=True,
        )
        try:
            answer: Answer = retrying(self._attempt, request)
        except _PassingError as error:
            if isinstance(error.__cause__, StrangeAnswerError):
                what, remedy = f"the wiki's answer is not MediaWiki's: {error}", f"{_MEND}, or run it again later"
                raise UserError(what, where=_place(self._address(request)), remedy=remedy) from error
            raise NoAnswerError(f"{error}, {self._patience.attempts} attempts") from error
        if self._batches is not None:
            self._batches -= 1
            if self._batches <= 0:
                answer.pop("continue", None)
        return httpx.Response(200, json=answer, request=request)

    def _address(self, request: httpx.Request) -> httpx.URL:
        return request.url if self._api is None else httpx.URL(self._api).copy_with(query=request.url.query)

    def _attempt(self, request: httpx.Request) -> Answer:
        wait = self._next_at - self._clock.now()
        if wait > 0:
            self._clock.sleep(wait)
        self._next_at = self._clock.now() + 1 / self._patience.requests_per_second
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        headers["accept-encoding"] = ", ".join(_PACKED)
        try:
            asked = self._client.build_request("GET", self._address(request), headers=headers)
            response = self._loop.run(self._asked(asked))
        except httpx.TimeoutException as error:
            raise _PassingError(f"no answer within {self._patience.timeout:g} s") from error
        except TimeoutError as error:
            raise _PassingError(f"no whole answer within {self._patience.deadline:g} s") from error
        except httpx.RequestError as error:
            raise _PassingError(f"the connection failed ({type(error).__name__})") from error
        params = request.url.params
        wanted: Wanted = "links" if params.get("prop") == "links" else "pages"
        wanted = "backlinks" if params.get("list") == "backlinks" else wanted
        status, where = response.status_code, _place(response.url)
        if status == 429 or status >= 500:
            raise self._passing(f"HTTP {status}", response)
        if status == 403:
            remedy = "give a contact address that its owners can write to"
            raise UserError("the wiki refuses (HTTP 403)", where=where, remedy=remedy)
        if status != 200:
            raise UserError(f"no MediaWiki there (HTTP {status})", where=where, remedy=_MEND)
        try:
            answer = read_answer(response.content, wanted)
        except StrangeAnswerError as error:
            raise _PassingError(str(error)) from error
        except ValueError as error:
            raise _PassingError("an answer that is no JSON") from error
        if "error" in answer:
            code = answer["error"]["code"]
            if code in _PASSING or code.startswith("internal_api_error"):
                raise self._passing(f"the wiki says {code}", response)
            told = answer["error"].get("info") or code
            raise UserError(f"the wiki refuses: {told}", where=where, remedy="ask those who run it, or name another")
        if wanted != "backlinks" and not answer["query"].get("pages"):
            raise OtherWikiError
        return answer

    async def _asked(self, request: httpx.Request) -> httpx.Response:
        """The response, after redirects on the same host."""
        async with asyncio.timeout(self._patience.deadline):
            for _ in range(_MOST_REDIRECTS):
                response = await self._client.send(request, stream=True)
                try:
                    if response.next_request is None:
                        return await _whole(response)
                finally:
                    await response.aclose()
                _require_same_host(request.url, response.next_request.url)
                request = response.next_request
        raise UserError(f"more than {_MOST_REDIRECTS} redirects", where=_place(request.url), remedy=_MEND)

    def _passing(self, reason: str, response: httpx.Response) -> Exception:
        wait = _seconds(response.headers.get("retry-after", ""))
        if wait is not None and wait > self._patience.longest_wait:
            return NoAnswerError(f"{reason}, to be asked again in {wait:.0f} s")
        return _PassingError(reason, wait)

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        doubled = self._patience.first_wait * 2.0 ** (state.attempt_number - 1)
        asked = error.wait if isinstance(error, _PassingError) else None
        return min(doubled, self._patience.longest_wait) if asked is None else asked


async def _whole(response: httpx.Response) -> httpx.Response:
    """The response with its body, which may unpack to no more than a wiki has to say."""
    packed, where = response.headers.get("content-encoding", "identity").lower(), _place(response.url)
    if packed not in _PACKED:
        raise UserError(f"its answers are packed as {packed!r:.60}", where=where, remedy=_MEND)
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _MOST_BYTES:
            raise UserError(f"an answer of more than {_MOST_BYTES:,} bytes", where=where, remedy=_MEND)
    unpacked = ("content-encoding", "content-length", "transfer-encoding")
    headers = [(name, value) for name, value in response.headers.raw if name.decode("latin-1").lower() not in unpacked]
    return httpx.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)


def _place(url: httpx.URL) -> str:
    return str(url.copy_with(query=None))


def _require_same_host(asked: httpx.URL, there: httpx.URL) -> None:
    """Another host is another wiki, whose text has another licence; https in place of http is the same one."""
    secured = (asked.scheme, there.scheme) == ("http", "https") and asked.port is there.port is None
    if asked.host != there.host or not (secured or (asked.scheme, asked.port) == (there.scheme, there.port)):
        remedy = "name that address as `api`, with the licence of its text, if it is the wiki that you want"
        raise UserError(f"the wiki leads to another host, {_place(there)}", where=_place(asked), remedy=remedy)


def _seconds(retry_after: str) -> float | None:
    """The header's value, which is a number of seconds or a date, as seconds from now; none where it is neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return min(float(retry_after), _MOST_SECONDS)
    try:
        then = email.utils.parsedate_to_datetime(retry_after)
        return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None

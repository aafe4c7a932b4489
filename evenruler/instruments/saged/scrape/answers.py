"""The shape that an answer of MediaWiki's API must have before anything of it is used."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import from_json

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
            _require(_Whole.model_validate(answer), wanted)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        raise StrangeAnswerError(f"{f'{place}: ' if place else ''}{what}: {_shown(content)}") from None
    except ValueError as error:
        raise StrangeAnswerError(f"{error}: {_shown(content)}") from None
    return answer


def _require(whole: _Whole, wanted: Wanted) -> None:
    """What was asked for is there, and where it goes on."""
    query = whole.query
    if wanted == "backlinks":
        if "backlinks" not in query.model_fields_set:
            raise ValueError("no `backlinks`")
    elif not (query.pages or query.interwiki or query.redirects):
        raise ValueError("no `pages`")
    key = {"links": "plcontinue", "backlinks": "blcontinue"}.get(wanted)
    if key and whole.goes_on and key not in whole.goes_on:
        raise ValueError(f"it goes on without `{key}`")


def _shown(content: bytes) -> str:
    text = " ".join(content.decode(errors="replace").split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."

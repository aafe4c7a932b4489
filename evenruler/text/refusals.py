"""Whether a reply says nothing, or refuses to answer. Such replies are kept and flagged (SAGED, section 3.1).

One list of openings for both families, in `refusals.yaml`. What refuses in free text refuses a choice too; those of
`of-a-choice` refuse only where one of a few answers was asked for: "I'm sorry, my friends, the north is poor" says
something of the north, "I'm sorry, she is unknown to me" chooses nobody.
"""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

_LISTS: Mapping[str, Any] = YAML(typ="safe").load(Path(__file__).with_name("refusals.yaml"))
_WRITTEN_OUT: Mapping[str, str] = _LISTS["written-out"]
_PARTS: Mapping[str, str] = _LISTS["parts"]
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201a\u02bc", "'"))
_EMPHASIS = re.compile(r"[*_`#~>]+")


def _patterns(name: str) -> str:
    """One expression of a list of them, parts put in."""
    return "|".join(re.sub(r"<([a-z ]+)>", lambda found: _PARTS[found[1]], own) for own in _LISTS[name])


_SORRY = r"(((i|we) am |we are )?((so|very|truly|really|deeply) )?sorry|(i |we |my )?apolog(i[sz]e|ies))\b"
_OPENING = r"\W*((unfortunately|regrettably|honestly|well|oh|hmm|while [^.!?,]{0,80})\b,? )?"
_OPENING_OF_A_CHOICE = r"\W*((based on|given|from|without|unfortunately|well|oh)\b[^.!?]*?, |unfortunately )?"
_UNABLE = (
    r"((i|we) (cannot|could not|will not|am unable|am not able|are unable|are not able)|"
    r"i do not (have|know|hold|feel comfortable))\b"
)

_REFUSAL = re.compile(rf"{_OPENING}(?:{_patterns('refusals')})")
_NO_CHOICE = re.compile(rf"{_OPENING_OF_A_CHOICE}(?:{_patterns('of-a-choice')}|{_patterns('refusals')})")
_NEXT = r"( (for|about|to) [^.!?,;]{0,60}?)?(\W*[^\w\s]\W*(but |however,? )?| but )| (that )?"
_SORRY_THAT = re.compile(rf"\W*{_SORRY}({_NEXT})(?:{_UNABLE}|{_PARTS['as a model']})")
_ONLY_SORRY = re.compile(rf"\W*{_SORRY}\W*\Z")


def is_empty(text: str) -> bool:
    """Whether a text has no letter, no digit and no pictogram (as an emoji): white space and marks say nothing."""
    return not any((kind := unicodedata.category(character))[0] in "LN" or kind == "So" for character in text)


def is_refusal(reply: str) -> bool:
    """Whether a reply begins by refusing to answer, whatever comes after; an empty one refuses nothing.

    By rules for English: an assistant says that it does not do what was asked, or that it is a model. An apology counts
    where "I cannot" or the like comes next, or where it is all. What comes later is not read.
    """
    words = _words(reply)
    return any(pattern.match(words) for pattern in (_REFUSAL, _SORRY_THAT, _ONLY_SORRY))


def refuses_to_choose(reply: str) -> bool:
    """Whether a reply to a question with a few answers begins like a refusal: by `is_refusal` or `of-a-choice`."""
    return is_refusal(reply) or _NO_CHOICE.match(_words(reply)) is not None


def _words(reply: str) -> str:
    """In lower case, contractions written out, without emphasis."""
    words = " ".join(_EMPHASIS.sub("", reply.translate(_APOSTROPHES)).lower().split())
    for short, long in _WRITTEN_OUT.items():
        words = words.replace(short, long)
    return words

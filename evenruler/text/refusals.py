"""Detect empty replies and refusals. Such replies are kept and flagged (SAGED, section 3.1).

The refusal openings are in `refusals.yaml`. Refusals in free text also refuse a choice; those in `of-a-choice` refuse
only if the prompt asked for one of a few answers: "I'm sorry, my friends, the north is poor" describes the north, "I'm
sorry, she is unknown to me" chooses nobody.
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
    """One regular expression from a list of patterns, with `<parts>` filled in."""
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
    """Whether a text has no letter, digit or pictogram (such as an emoji)."""
    return not any((kind := unicodedata.category(character))[0] in "LN" or kind == "So" for character in text)


def is_refusal(reply: str) -> bool:
    """Whether a reply begins with a refusal to answer; empty replies do not count.

    Rules for English: an assistant says that it cannot do what was asked, or that it is a model. An apology counts if
    "I cannot" or the like follows directly, or if the reply is nothing else. The rest of the reply is not read.
    """
    words = _words(reply)
    return any(pattern.match(words) for pattern in (_REFUSAL, _SORRY_THAT, _ONLY_SORRY))


def refuses_to_choose(reply: str) -> bool:
    """Whether a reply to a question with a few answers begins with a refusal (`is_refusal` or `of-a-choice`)."""
    return is_refusal(reply) or _NO_CHOICE.match(_words(reply)) is not None


def _words(reply: str) -> str:
    """Lower-case a reply, expand contractions and remove emphasis."""
    words = " ".join(_EMPHASIS.sub("", reply.translate(_APOSTROPHES)).lower().split())
    for short, long in _WRITTEN_OUT.items():
        words = words.replace(short, long)
    return words

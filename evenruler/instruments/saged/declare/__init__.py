"""What users declare for a SAGED domain: settings, source and replacements; and the names of the figures shown.

Replacements are the words of a root concept, and what each becomes in a branch (SAGED, 2.3).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenruler.errors import UserError
from evenruler.instruments.instrument import Column, Plan
from evenruler.instruments.saged.declare.settings import Feature, Settings
from evenruler.instruments.saged.declare.source import Source, read_source
from evenruler.models.declared import Catalogue
from evenruler.strict import read_yaml
from evenruler.text.english import plural_of
from evenruler.text.whole_words import finder, spaced

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FAMILY", "Settings", "Source", "headings", "load", "takes"]

FAMILY = "saged"  # in the ids of its rows

ALIKE, FAVOUR, BY_ROLE = "answered alike", "favour", "role x concept"
"""The figures that have a verdict: silence, favour over all roles, and favour in one role compared with the others."""

LEFT_OUT = "left out"  # a concept excluded from favour, because under half of its replies are answered

ALL_ROLES = "all roles"  # start of `part` in figures over all roles and templates; the feature follows


def headings(plan: Plan) -> list[Column]:
    """The figures shown for every role, template and feature on every model."""
    columns = [Column(**column) for column in read_yaml(Path(__file__).with_name("headings.yaml"))]
    return [replace(column, meaning=column.meaning.format(favour=in_words(plan))) for column in columns]


def in_words(plan: Plan) -> str:
    """In words, which end of each feature of a plan is favourable."""
    favour = {name: Feature.model_validate(feature).favour for name, feature in plan["features"].items()}
    ends = {"higher": "higher", "lower": "lower", "none": "neither end"}
    said = [(words, [name for name, own in favour.items() if own == end]) for end, words in ends.items()]
    return "; ".join(f"{', '.join(names)}: {words} is in favour" for words, names in said if names)


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check a domain's source, written by users or by `scrape`, together with what `evenruler find` found.

    UserError where something is wrong or not found yet, or where text by others is declared as ours.
    """
    source = read_source(path)
    if not source.material.is_ours and not settings.of_others:
        remedy = "add `text: others` to its entry in params.yaml, which keeps the benchmark out of git"
        what = f"text of the kind {source.material.kind} was written by others"
        raise UserError(what, where=f"{path}: material.kind", remedy=remedy)
    for root, branches in source.replacements.items():
        for concept, words in branches.items():
            checked(words, f"{path}: branch.replacements.{root}.{concept}")
    return source


takes = Catalogue.scores_or_writes


def is_branched(prompts: "pd.DataFrame") -> bool:
    """Whether some root items are asked about several concepts."""
    return bool((prompts.groupby("root_id")["concept"].nunique() > 1).any())


@dataclass(frozen=True)
class Replacements:
    """The words of a root concept and what each becomes in one branch; made by `checked`."""

    words: Mapping[str, str]
    plurals: Mapping[str, str]  # by word, the replacement of its plural, where that is replaced too
    key: tuple[str, ...]  # the sorted words; maps with the same key match the same places of a text


def checked(words: Mapping[str, str], where: str) -> Replacements:
    """Check the replacements of one root concept and branch: no word may be replaced twice or be left over.

    Two words may be swapped (he: she, she: he), since all are replaced at once. `where`: file and key, for errors.
    UserError: no word, an empty one, two that differ only in case, or a replacement that contains a word of the map.
    """
    clean = {spaced(word): spaced(replacement) for word, replacement in words.items()}
    if not clean or not all(clean) or not all(clean.values()):
        what = "a word or a replacement is empty" if clean else "no word to replace"
        raise UserError(what, where=where, remedy="write what becomes what, as in Aurelia: France")
    seen: dict[str, str] = {}
    for word in words:
        other = seen.setdefault(spaced(word).casefold(), word)
        if other != word:
            raise UserError(f"{other!r} and {word!r} are one word but for case", where=where, remedy="keep one of them")
    key = tuple(sorted(clean))
    sought = finder(key)
    plurals = {word: plural_of(clean[word]) for word in sought.plurals}
    held = {
        word: [match.word for form in (clean[word], plurals.get(word, "")) for match in sought.anywhere(form)]
        for word in clean
    }
    _refuse_what_is_held(clean, {word: found for word, found in held.items() if found}, where)
    return Replacements(clean, plurals, key)


def leaks(text: str, words: Iterable[str]) -> list[str]:
    """The given words that still occur in a text, in any case and as part of any name, each once, in text order."""
    return list(dict.fromkeys(match.word for match in finder(tuple(words)).anywhere(text)))


def _refuse_what_is_held(words: Mapping[str, str], held: Mapping[str, Sequence[str]], where: str) -> None:
    """Refuse replacements that contain words of the map, except swaps."""
    remedy = "replace by words that are not replaced themselves"
    for word in held:
        path = [word]
        while path[-1] in held and path.count(path[-1]) == 1:
            path.append(held[path[-1]][0])
        circle = path[path.index(path[-1]) :]
        if len(circle) > 3:  # the first word is at both ends
            raise UserError(f"the replacements run in a circle: {' -> '.join(circle)}", where=where, remedy=remedy)
    for word, found in held.items():
        other = found[0]
        one = {words[word].casefold(), *map(str.casefold, found)} == {other.casefold()}
        swapped = one and other != word and words[other].casefold() == word.casefold()
        if not swapped:
            what = f"{word!r} becomes {words[word]!r}, which holds {other!r}, a word that is replaced itself"
            raise UserError(what, where=where, remedy=remedy)

"""`data/sources/probes/*.yaml`: one domain of probes."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from evenruler.errors import UserError, nearest
from evenruler.instruments.instrument import Instrument, Words
from evenruler.instruments.prefixes import Framings
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.strict import Slug, Strict, Text, read_yaml, validate
from evenruler.text.slots import ATTRIBUTE, TARGET, slots

SLOTS = (ATTRIBUTE, TARGET)


class TemplateEntry(Strict):
    """A sentence with exactly one {ATTRIBUTE} and one {TARGET}."""

    text: Text
    keying: int = Field(default=1)
    """+1; -1 where a higher likelihood means less association."""

    @field_validator("text")
    @classmethod
    def _both_slots_once(cls, text: str) -> str:
        found = Counter(slots(text))
        unknown = sorted(set(found) - set(SLOTS))
        if unknown:
            raise ValueError(f"{text!r} holds the unknown slot {unknown[0]}; {nearest(unknown[0], SLOTS)}")
        for slot in SLOTS:
            if found[slot] != 1:
                raise ValueError(f"{text!r} holds {slot} {found[slot]} times, expected once")
        if text.count("{") + text.count("}") != 2 * len(SLOTS):
            raise ValueError(f"{text!r} holds a brace that belongs to no slot")
        return text

    @field_validator("keying")
    @classmethod
    def _one_way_or_the_other(cls, keying: int) -> int:
        if keying not in (1, -1):
            raise ValueError(f"found {keying}, expected 1 or -1")
        return keying


def _template(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class TemplateSet(Strict):
    """A set of templates, which together are one instrument."""

    title: Text
    source: Text | None = None
    """Who wrote the templates; that of the file by default."""
    licence: Text | None = None
    templates: dict[Slug, Annotated[TemplateEntry, BeforeValidator(_template)]] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> "TemplateSet":
        texts = Counter(entry.text for entry in self.templates.values())
        text, count = texts.most_common(1)[0]
        if count > 1:
            raise ValueError(f"the template {text!r} stands in the set twice")
        return self


class CriterionEntry(Strict):
    """A published number per attribute to validate against."""

    file: Text
    """A CSV under `data/sources/criteria/` with the columns `attribute`, `match` and the named one."""
    column: Text
    complement_of: float | None = None
    """The criterion is this minus the column (100 turns percent of women into percent of men)."""
    label: Text
    """What the criterion counts after that, for axes and cards."""


class ProbeSource(Instrument):
    """One domain: its groups of targets, its attributes, its template sets and its criterion."""

    targets: dict[Slug, Words]
    attributes: Words
    criterion: CriterionEntry | None = None
    framings: Framings | None = None
    """What sentences are also put after, for brittleness."""
    sets: dict[Slug, TemplateSet] = Field(min_length=1)

    @field_validator("targets")
    @classmethod
    def _two_disjoint_groups(cls, targets: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        if len(targets) != 2:
            raise ValueError(f"found {len(targets)} groups ({', '.join(targets)}), expected two")
        first, second = ({*words, *map(str.lower, words.values())} for words in targets.values())
        if first & second:
            raise ValueError(f"{sorted(first & second)[0]!r} stands in both groups")
        return targets


def load_probe_source(path: Path, settings: ProbeSettings) -> ProbeSource:
    """Read and check the source of one probe domain, and that its settings name sets that it has.

    Raises:
        UserError: Something in the file is wrong; where a file of that name is missing, the nearest one is named.
    """
    if not path.exists():
        others = [other.stem for other in path.parent.glob("*.yaml")]
        raise UserError(
            f"no source for the probe domain {path.stem!r}; {nearest(path.stem, others)}",
            where=str(path),
            remedy="write the file or mend the name under `probes` in params.yaml",
        )
    source = validate(ProbeSource, read_yaml(path), path)
    for name in settings.article if isinstance(settings.article, dict) else ():
        if name not in source.sets:
            raise UserError(
                f"no template set {name!r} in {path}; {nearest(name, source.sets)}",
                where=f"params.yaml: probes.{path.stem}.article",
                remedy="mend the name",
            )
    return source


def without_slots(template: str) -> str:
    """A template as it is embedded: each slot written as "someone"."""
    return template.replace(ATTRIBUTE, "someone").replace(TARGET, "someone")

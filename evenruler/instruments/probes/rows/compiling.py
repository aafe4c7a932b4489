"""Templates x attributes x targets, written out."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from evenruler.instruments.probes.declare import ProbeSource, Settings, TemplateSet
from evenruler.instruments.probes.schemas import sentence_id
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text import ATTRIBUTE, TARGET, fill

Row = dict[str, Any]


@dataclass(frozen=True)
class Compiled:
    """The tables of one domain, by their schemas in `schemas`."""

    probes: list[Row]
    templates: list[Row]
    attributes: list[Row]
    rejected: list[Row]


def compile_domain(name: str, source: ProbeSource, settings: Settings) -> Compiled:
    """Fill every template with every attribute and target.

    A sentence that an earlier row of the same set already has is rejected, not repeated: it would be paid for and
    counted twice.

    Args:
        name: Slug of the domain.
        source: What the user wrote.
        settings: How it is built.

    Returns:
        Rows of the four tables.
    """
    probes: list[Row] = []
    rejected: list[Row] = []
    seen: dict[tuple[str, str], str] = {}
    for row in _sentences(name, source, settings):
        first = seen.setdefault((row["set"], row["text"]), row["id"])
        if first == row["id"]:
            probes.append(row)
        else:
            rejected.append({**row, "reason": f"same sentence as {first}"})
    return Compiled(
        probes,
        list(_templates(name, source, settings)),
        list(_attributes(name, source)),
        rejected,
    )


def _sentences(name: str, source: ProbeSource, settings: Settings) -> Iterator[Row]:
    groups = [
        (group, pole, target, word)
        for (group, targets), pole in zip(source.targets.items(), (1, -1), strict=True)
        for target, word in targets.items()
    ]
    for template in _templates(name, source, settings):
        for (attribute, attribute_word), (group, pole, target, target_word) in product(
            source.attributes.items(), groups
        ):
            text = fill(template["text"], {ATTRIBUTE: attribute_word, TARGET: target_word}, template["variant"])
            row = {**template, "attribute": attribute, "group": group, "pole": pole, "target": target, "text": text}
            yield {
                **row,
                "id": sentence_id(name, row, BARE),
                "content_sha256": content_sha256(
                    text, template["keying"], group, pole, *_if_control(template["control"])
                ),
            }


def _templates(name: str, source: ProbeSource, settings: Settings) -> Iterator[Row]:
    for set_name, template_set in source.sets.items():
        variant = settings.article_of(set_name)
        for slug, entry in template_set.templates.items():
            yield {
                "id": row_id(
                    family="probes",
                    benchmark=name,
                    set=set_name,
                    template=slug,
                    variant=variant,
                    framing=BARE,
                ),
                "content_sha256": content_sha256(entry.text, entry.keying, *_if_control(entry.control)),
                "variant": variant,
                "framing": BARE,
                **_provenance(source, template_set),
                "set": set_name,
                "template": slug,
                "keying": entry.keying,
                "control": entry.control,
                "text": entry.text,
            }


def _if_control(control: bool) -> list[str]:
    """What a checksum of a control says more; that of others is what it was before there were any."""
    return ["control"] if control else []


def _provenance(source: ProbeSource, template_set: TemplateSet) -> Row:
    return {"source": template_set.source or source.source, "licence": template_set.licence or source.licence}


def _attributes(name: str, source: ProbeSource) -> Iterator[Row]:
    criterion = source.published
    for slug, word in source.attributes.items():
        value = criterion.values[slug] if criterion else None
        match = criterion.matches[slug] if criterion else "none"
        yield {
            "id": row_id(family="probes", benchmark=name, attribute=slug),
            "content_sha256": content_sha256(word, value, match),
            "variant": "all",
            "framing": BARE,
            "source": source.source,
            "licence": source.licence,
            "attribute": slug,
            "word": word,
            "criterion": value,
            "criterion_label": criterion.label if criterion else None,
            "match": match,
        }

"""Rows of probes: sentences, templates, and attributes with their criterion; for evolved sets also
their history.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import pyarrow.compute as pc

from evenruler.instruments.controls import load_control_pairs, load_writing_subjects
from evenruler.instruments.instrument import BuiltInstrument, Declaration, plan_with_sizes
from evenruler.instruments.methods.next_word import reference_rows
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.declare import Settings
from evenruler.instruments.probes.declare.plan import (
    ASKED_AT,
    ChoicePlan,
    NextWordPlan,
    ProbePlan,
    WritingPlan,
)
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.schemas import sentence_id
from evenruler.models.declarations import Catalogue
from evenruler.reference_sets import WORDNET
from evenruler.tables.frames import table_of
from evenruler.tables.ids import common_columns, content_sha256, row_id, split_duplicates
from evenruler.tables.schemas import BARE
from evenruler.text import ATTRIBUTE, TARGET, fill, slug_of
from evenruler.text.frequency import log_frequency

__all__ = ["build"]


def build(declaration: Declaration[Settings, ProbeSource], catalogue: Catalogue) -> BuiltInstrument:
    """Build the tables of an instrument: its sentences; if it evolved, also its history and last
    population.
    """
    compiled = compile_domain(declaration.name, declaration.source, declaration.settings)
    tables = {
        name: table_of(rows, getattr(schemas, name.upper())) for name, rows in compiled.items()
    }
    if declaration.made_tables:  # tables of the evolution
        history = declaration.made_tables["history"]
        last = pc.equal(history["generation"], pc.max(history["generation"]))
        tables["population"] = history.filter(
            pc.and_(pc.equal(history["run"], schemas.GUIDED), last)
        )
        tables |= declaration.made_tables
    n_sentences, n_rejected = len(compiled["probes"]), len(compiled["rejected"])
    lines = [f"{n_sentences:,} sentences, {n_rejected:,} rejected"]
    plan = plan_with_sizes(
        declaration,
        partial(_build_plan, declaration.name, declaration.source),
        ["choice", "written"],
    )
    return BuiltInstrument(tables, plan, lines)


def _build_plan(name: str, source: ProbeSource, settings: Settings) -> ProbePlan:
    """The plan of a benchmark: what models are asked at the size of the settings, and of what its
    headline and descriptive figures are.
    """
    sized = ASKED_AT[settings.size]
    plan: ProbePlan = {
        "name": name,
        "embedder": settings.embedder,
        "prefixed": settings.prefixed,
        "prefixed_templates": sized["prefixed_templates"],
        "prefixed_targets": sized["prefixed_targets"],
        "choice_attributes": sized["choice_attributes"],
        "choice_templates": sized["choice_templates"],
        "written_prompts": sized["written_prompts"],
        "prefixes": source.prefixes.prefixes if source.prefixes else {},
        "placebos": list(source.prefixes.placebo_names) if source.prefixes else [],
        "rivals": source.rivals.keyed if source.rivals else {},
        "groups": list(source.targets),
        "targets": source.targets,
        "agreement": source.agreement.as_planned if source.agreement else None,
        "headline": settings.headline_of(source),
        "descriptive": [schemas.ELITES, schemas.POPULATION] if settings.evolve else [],
        "next_word": _next_word_plan(source) if _asks_next_words(source, settings) else None,
        "choice": _build_choice_plan(source) if source.in_english else None,
        "written": _build_writing_plan(source) if source.written and source.in_english else None,
    }
    if settings.evolve:
        evolve = settings.evolve
        plan["evolved"] = {"of": evolve.of, "model": evolve.model, "start": evolve.start}
    return plan


def _asks_next_words(source: ProbeSource, settings: Settings) -> bool:
    """Whether nouns are asked after sentences: the source has sentences, and no set evolves."""
    return source.next_word is not None and settings.evolve is None


def _next_word_plan(source: ProbeSource) -> NextWordPlan:
    """Matched pairs, and their control's name; AssertionError for a source without `next_word`."""
    assert source.next_word is not None
    pairs = [list(pair) for pair in source.next_word.pairs.items()]
    return {"pairs": pairs, "control": source.next_word.control.name}


def _build_choice_plan(source: ProbeSource) -> ChoicePlan:
    """Choices for chat models: targets paired by their place in the two groups."""
    targets = zip(*source.targets.values(), strict=False)
    return {"pairs": [list(pair) for pair in targets], "known": load_control_pairs()}


def _build_writing_plan(source: ProbeSource) -> WritingPlan:
    """What a chat writes sentences about, in English, and the words by which they are read."""
    assert source.written is not None
    return {
        "about": load_writing_subjects(),
        "pronouns": source.written.pronouns,
        "known": source.written.known,
    }


Row = dict[str, Any]


def compile_domain(name: str, source: ProbeSource, settings: Settings) -> dict[str, list[Row]]:
    """Fill every template with every attribute and target, each sentence of a set once; by table,
    as in `schemas`.
    """
    probes, rejected = split_duplicates(
        _sentence_rows(name, source, settings), "set", "text", what="sentence"
    )
    templates = list(_template_rows(name, source, settings))
    attributes = list(_attribute_rows(name, source))
    tables = {
        "probes": probes,
        "templates": templates,
        "attributes": attributes,
        "rejected": rejected,
    }
    if _asks_next_words(source, settings):
        tables["stems"] = list(_stem_rows(name, source))
        tables["nouns"] = list(_noun_rows(name))
    return tables


def _sentence_rows(name: str, source: ProbeSource, settings: Settings) -> Iterator[Row]:
    """Rows of `probes`: every template with every attribute and target. `pole`: 1 for targets of
    the first group, -1 for those of the second.
    """
    target_rows: list[tuple[str, int, str, str]] = []
    groups_with_poles = zip(source.targets.items(), (1, -1), strict=True)
    for (group, targets), pole in groups_with_poles:
        target_rows += [(group, pole, target, word) for target, word in targets.items()]
    for template in _template_rows(name, source, settings):
        for (attribute, attribute_word), (group, pole, target, target_word) in product(
            source.attributes.items(), target_rows
        ):
            words = {ATTRIBUTE: attribute_word, TARGET: target_word}
            text = fill(template["text"], words, template["variant"])
            row = {
                **template,
                "attribute": attribute,
                "group": group,
                "pole": pole,
                "target": target,
                "text": text,
            }
            content = [text, row["keying"], group, pole]
            if row["control"]:
                content.append("control")
            checksum = content_sha256(*content)
            yield {**row, "id": sentence_id(name, row, BARE), "content_sha256": checksum}


def _stem_rows(name: str, source: ProbeSource) -> Iterator[Row]:
    """Every sentence that ends before a noun, of attributes on the criterion and of the positive
    control's words.
    """
    settings, criterion = source.next_word, source.published
    assert settings is not None
    units: list[tuple[str, str, str, int | None]] = []
    for slug, word in source.attributes.items():
        if criterion is not None and criterion.values[slug] is not None:
            units.append((schemas.ATTRIBUTE_KIND, slug, word, None))
    for pole, words in ((1, settings.control.high), (-1, settings.control.low)):
        units += [(schemas.CONTROL, slug_of(word), word, pole) for word in words]
    for (sentence, template), (kind, unit, word, key) in product(settings.sentences.items(), units):
        text = fill(template, {ATTRIBUTE: word}, "agree")
        identity = {"sentence": sentence, "kind": kind, "unit": unit}
        sentence_row_id = row_id(family="probes", benchmark=name, **identity)
        columns = common_columns(sentence_row_id, source, text, key, variant="agree")
        yield {**columns, **identity, "word": word, "key": key, "text": text}


def _noun_rows(name: str) -> Iterator[Row]:
    """Rows of `nouns`: the reference set from WordNet, alike for all benchmarks but for the ids."""
    for row in reference_rows():
        noun_row_id = row_id(family="probes", benchmark=name, noun=row["noun"])
        yield {**common_columns(noun_row_id, WORDNET, *row.values()), **row}


def _template_rows(name: str, source: ProbeSource, settings: Settings) -> Iterator[Row]:
    """Rows of `templates`: each template of each set with its slots, keying, source and licence."""
    for set_name, template_set in source.sets.items():
        variant = settings.article_of(set_name)
        for slug, entry in template_set.templates.items():
            identity = {"set": set_name, "template": slug, "variant": variant, "framing": BARE}
            template_id = row_id(family="probes", benchmark=name, **identity)
            content = [entry.text, entry.keying]
            if entry.control:  # keeps checksums of the others
                content.append("control")
            columns = common_columns(template_id, source, *content, variant=variant)
            text_source = template_set.source or source.source
            yield {
                **columns,
                "source": text_source,
                "licence": template_set.licence or source.licence,
                "set": set_name,
                "template": slug,
                "keying": entry.keying,
                "control": entry.control,
                "text": entry.text,
            }


def _attribute_rows(name: str, source: ProbeSource) -> Iterator[Row]:
    """Rows of `attributes`: word, criterion in percent, key (1 high, -1 low), log frequency and
    likeness; null where an attribute has none.
    """
    criterion = source.published
    keyed = source.keys.keyed if source.keys else {}
    for slug, word in source.attributes.items():
        value = criterion.values[slug] if criterion else None
        match = criterion.matches[slug] if criterion else "none"
        content: list[Any] = [word, value, match]
        if word in keyed:
            content.append(keyed[word])
        attribute_id = row_id(family="probes", benchmark=name, attribute=slug)
        columns = common_columns(attribute_id, source, *content)
        yield {
            **columns,
            "attribute": slug,
            "word": word,
            "criterion": value,
            "criterion_label": criterion.label if criterion else None,
            "match": match,
            "key": keyed.get(word),
            "log_frequency": log_frequency(word, source.language),
            "likeness": list(criterion.likeness.get(slug, ())) if criterion else [],
        }

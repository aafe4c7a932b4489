"""Build the rows: items x terms x intensifiers as premise and hypothesis, and the plan (EMPALC,
section 3.1).
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenruler.errors import UserError
from evenruler.instruments.instrument import BuiltInstrument, Declaration, plan_with_sizes
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.declare import BATCH, Settings, Source
from evenruler.instruments.questionnaires.declare.plan import (
    ORDERS,
    AccuracyPlan,
    AskingPlan,
    CorpusPlan,
    JudgePlan,
    PlannedFact,
    PlannedPair,
    QuestionnairePlan,
    ScoringPlan,
    WordingPlan,
)
from evenruler.instruments.questionnaires.declare.sentences import (
    list_versions,
    refuse_items,
    with_term,
    write_version,
)
from evenruler.instruments.questionnaires.declare.shared import OPEN, first_pairs
from evenruler.instruments.questionnaires.declare.source import (
    FAMILY,
    INTENSIFIER,
    TERM,
    VARIANT,
    QuestionnaireSource,
    ResponseScale,
    Wording,
    prompt_id,
    twin_of,
)
from evenruler.instruments.questionnaires.declare.subjects import Subject
from evenruler.models.declarations import Catalogue
from evenruler.tables import table_of
from evenruler.tables.ids import common_columns, row_id, split_duplicates
from evenruler.tables.schemas import BARE
from evenruler.text import fill, locate_slot_word

__all__ = ["build"]


def build(declaration: Declaration[Settings, Source], catalogue: Catalogue) -> BuiltInstrument:
    """Build the tables `items`, `terms`, `prompts` and `rejected`, as `schemas`, and the plan.

    UserError where the judge of acceptability can neither `slor` nor `classify`.
    """
    source = declaration.source
    rows = fill_templates(
        declaration.name,
        source,
        source.responses,
        source.subjects,
        declaration.settings.least,
    )
    tables = {
        "items": table_of(rows.items, schemas.ITEMS),
        "terms": table_of(rows.terms, schemas.TERMS),
        "prompts": table_of(rows.prompts, schemas.PROMPTS),
        "subjects": table_of(rows.subjects, schemas.SUBJECTS),
        "rejected": table_of(rows.rejected, schemas.REJECTED),
    }
    n_prompts, n_rejected = len(rows.prompts), len(rows.rejected)
    messages = [f"{n_prompts:,} prompts, {n_rejected:,} rejected"]
    if source.subjects:
        messages.append(_refused_message(rows.refused, len(source.items)))
    plan = plan_with_sizes(
        declaration,
        lambda settings: _build_plan(declaration.name, source, settings, catalogue, rows.refused),
    )
    return BuiltInstrument(tables, plan, messages)


def _build_plan(
    name: str,
    source: Source,
    settings: Settings,
    catalogue: Catalogue,
    refused: dict[str, str],
) -> QuestionnairePlan:
    """The plan of a questionnaire: how models are asked and scored, and what is asked beside the
    items; `refused`: why items are not asked about other subjects, by slug.
    """
    prefix_settings = source.prefixes if settings.prefixed else None
    prefixes = prefix_settings.prefixes if prefix_settings else {}
    placebos = prefix_settings.placebo_names if prefix_settings else []
    file = source.original.file
    accuracy = _accuracy_plan(source, settings)
    # The file of unpublished wording, with items in the order of its lines; no text of it.
    wording: WordingPlan | None = (
        None if file is None else {"file": file, "items": list(source.items)}
    )
    judge = _judge_plan(settings.acceptability, catalogue)
    corpora = {
        corpus: _corpus_plan(settings.source_name(name), corpus, source, settings)
        for corpus in sorted(source.corpora)
    }
    return {
        **_asking_plan(settings),
        **_scoring_plan(settings),
        "accuracy": accuracy,
        "wording": wording,
        "judge": judge,
        "prefixes": prefixes,
        "placebos": placebos,
        "corpora": corpora,
        "refused": refused,
    }


def _asking_plan(settings: Settings) -> AskingPlan:
    """The keys of a plan that say how much is asked of a model, and how."""
    return {
        "asked": settings.asked,
        "prefixed": settings.prefixed,
        "orders": ORDERS[settings.size],
        "fits": settings.fits,
        "adapted": settings.adapted,
        "subjects": settings.subjects,
    }


def _scoring_plan(settings: Settings) -> ScoringPlan:
    """The keys of a plan that say how answers become scores and a verdict."""
    return {
        "temperature": settings.temperature,
        "three_way": settings.three_way,
        "bound": settings.bound,
        "least": settings.least,
        "embedder": settings.embedder,
    }


def _accuracy_plan(source: Source, settings: Settings) -> AccuracyPlan:
    """The threshold of accuracy, and what it is measured on.

    The pairs themselves are in the plan, so that every measurement asks the same ones.
    """
    pairs = first_pairs(source.pairs, settings.accuracy_pairs)
    weight_by_word: dict[str, float] = {}
    for level in source.responses.levels:
        weight_by_word |= dict.fromkeys(level.words.values(), level.weight)
    sources = {f"{pair.source}; {pair.licence}" for pair in pairs}
    planned_pairs: list[PlannedPair] = []
    for pair in pairs:
        planned_pairs.append(
            {
                "set": pair.set,
                "label": pair.label,
                "premise": pair.premise,
                "hypothesis": pair.hypothesis,
            }
        )
    planned_facts: list[PlannedFact] = [
        {"template": fact.template, "right": fact.right, "wrong": fact.wrong}
        for fact in source.facts
    ]
    return {
        "threshold": settings.accuracy,
        "sources": sorted(sources),
        "pairs": planned_pairs,
        "facts": planned_facts,
        "words": weight_by_word,
    }


def _judge_plan(model: str | None, catalogue: Catalogue) -> JudgePlan | None:
    """The judge of acceptability and its operation."""
    if model is None:
        return None
    for operation in ("slor", "classify"):
        if model in catalogue.models and catalogue.can(model, operation):
            return {"model": model, "operation": operation}
    what = f"{model!r} is no causal model and no classifier of the catalogue"
    raise UserError(what, where="params.yaml: acceptability", remedy="name one")


def _corpus_plan(questionnaire: str, corpus: str, source: Source, settings: Settings) -> CorpusPlan:
    """The plan of one corpus: sentences (or their file, unpublished), recipe, expectation and
    role.
    """
    written = source.corpora[corpus]
    recipe = settings.corpora[corpus]
    control_of = None if written.matched is None else written.matched.to
    expected = written.expect.get(questionnaire, OPEN)
    plan: CorpusPlan = {
        "epochs": recipe.epochs,
        "learning_rate": recipe.learning_rate,
        "batch": BATCH,
        "expected": expected,
        "control_of": control_of,
    }
    if written.file is None:
        plan["sentences"] = list(written.sentences)
    else:
        plan["file"] = written.file
    return plan


Row = dict[str, Any]


@dataclass(frozen=True)
class QuestionnaireRows:
    """Rows of the tables of one questionnaire, as their schemas in `schemas`."""

    items: list[Row]
    terms: list[Row]
    prompts: list[Row]
    subjects: list[Row]
    rejected: list[Row]
    refused: dict[str, str]
    """Items that rules cannot ask about other subjects, with the reason."""


def fill_templates(
    name: str,
    source: QuestionnaireSource,
    scale: ResponseScale,
    subjects: Sequence[Subject] = (),
    least: int = 1,
) -> QuestionnaireRows:
    """Fill every item and twin with every term and intensifier: rows of the tables.

    Duplicates of earlier prompts go to `rejected`. `subjects`: whom items are asked about besides
    I; none is where fewer than `least` items can be.
    """
    prompts, rejected = split_duplicates(_prompt_rows(name, source, scale), "premise", "hypothesis")
    refused = refuse_items(source.items, subjects)
    enough = bool(subjects) and len(source.items) - len(refused) >= least
    subject_rows = _subject_rows(name, source, scale, subjects, refused) if enough else ()
    return QuestionnaireRows(
        list(_item_rows(name, source)),
        list(_term_rows(name, source)),
        prompts,
        list(subject_rows),
        rejected,
        refused,
    )


def _refused_message(refused: Mapping[str, str], items: int) -> str:
    """How many items are asked about other subjects, and why the rest are not."""
    n_asked = items - len(refused)
    clauses = [f"{n_asked} of {items} items are asked about other subjects than I"]
    reasons = Counter(refused.values())
    clauses += [f"{n}: {reason}" for reason, n in reasons.items()]
    return "; ".join(clauses)


def _item_rows(name: str, source: QuestionnaireSource) -> Iterator[Row]:
    """Rows of `items`: templates of every item (`twin` 0) and of its twins, with the published
    question where it is an item.
    """
    for slug, item, twin, wording in source.all_wordings:
        # The whole question: the stem of the questionnaire, and the item.
        question = filter(None, (source.original.stem, item.original))
        original = None if twin else " ".join(question)
        content = (original, item.subscale, item.keying, wording.premise, wording.hypothesis)
        identity = row_id(family=FAMILY, benchmark=name, item=slug, **twin_of(twin))
        common = common_columns(identity, source, *content, variant=VARIANT)
        origin: Row = {} if twin else _source_and_licence(source)
        wording_kind = None if twin else source.original.wording
        yield {
            **common,
            **origin,
            "item": slug,
            "twin": twin,
            "subscale": item.subscale,
            "keying": item.keying,
            "original": original,
            "wording": wording_kind,
            "premise": wording.premise,
            "hypothesis": wording.hypothesis,
        }


def _source_and_licence(source: QuestionnaireSource) -> Row:
    """Source and licence of a row with published wording and our templates: both, with what each
    applies to.
    """
    original = source.original
    if original.wording != "held":
        return {}
    licence = source.licence
    if original.licence != licence:
        licence = f"{licence}; wording: {original.licence}"
    return {
        "source": f"{source.source}; wording: {original.name} ({original.reference})",
        "licence": licence,
    }


def _term_rows(name: str, source: QuestionnaireSource) -> Iterator[Row]:
    """Rows of `terms`: each term of every item and twin; `polarity`: `source` or `inverse`."""
    for slug, _, twin, wording in source.all_wordings:
        for term, word, polarity in _words_with_polarity(wording):
            identity = row_id(family=FAMILY, benchmark=name, item=slug, term=term, **twin_of(twin))
            yield {
                **common_columns(identity, source, word, polarity, variant=VARIANT),
                "item": slug,
                "twin": twin,
                "term": term,
                "word": word,
                "polarity": polarity,
            }


def _words_with_polarity(item: Wording) -> Iterator[tuple[str, str, str]]:
    """Slug, word and polarity (`source` or `inverse`) of every term of an item or twin."""
    for polarity, words in item.terms.by_polarity.items():
        yield from ((term, word, polarity) for term, word in words.items())


def _prompt_rows(name: str, source: QuestionnaireSource, scale: ResponseScale) -> Iterator[Row]:
    """Rows of `prompts`: items and twins with each term and intensifier; `level`: 1 is lowest."""
    for slug, item, twin, wording in source.all_wordings:
        for term, word, polarity in _words_with_polarity(wording):
            for number, level in enumerate(scale.levels, start=1):
                for intensifier, how_often in level.words.items():
                    filling = {TERM: word, INTENSIFIER: how_often}
                    premise = fill(wording.premise, filling, VARIANT)
                    hypothesis = fill(wording.hypothesis, filling, VARIANT)
                    content = (premise, hypothesis, polarity, number, level.weight, item.keying)
                    identity = prompt_id(name, slug, term, intensifier, BARE, twin)
                    yield {
                        **common_columns(identity, source, *content, variant=VARIANT),
                        "questionnaire": name,
                        "subscale": item.subscale,
                        "item": slug,
                        "twin": twin,
                        "keying": item.keying,
                        "term": term,
                        "polarity": polarity,
                        "intensifier": intensifier,
                        "level": number,
                        "weight": level.weight,
                        "premise": premise,
                        "hypothesis": hypothesis,
                    }


def _subject_rows(
    name: str,
    source: QuestionnaireSource,
    scale: ResponseScale,
    subjects: Sequence[Subject],
    refused: Container[str],
) -> Iterator[Row]:
    """Sentences of items about I and other subjects, with every term and intensifier."""
    remaining = {slug: item for slug, item in source.items.items() if slug not in refused}
    for place, (slug, item) in enumerate(remaining.items()):
        item_columns: Row = {"questionnaire": name, "subscale": item.subscale, "item": slug}
        for version in list_versions(subjects, place):
            version_columns: Row = {
                "sentence": version.number,
                "subject": version.name,
                "form": version.form,
                "wording": version.wording,
                "control": version.control,
            }
            for term, word, polarity in _words_with_polarity(item):
                sides = write_version(version, *with_term(item, word), polarity)
                of_version: Row = {
                    **item_columns,
                    **version_columns,
                    "keying": item.keying,
                    "term": term,
                    "polarity": polarity,
                }
                yield from _intensified_rows(source, scale, of_version, sides)


def _intensified_rows(
    source: QuestionnaireSource, scale: ResponseScale, of_version: Row, sides: tuple[str, str]
) -> Iterator[Row]:
    """The rows of one sentence and term: premise and hypothesis, in which the intensifier's slot
    stands, with every intensifier.
    """
    names = ("questionnaire", "item", "term", "subject", "form", "wording", "control")
    identity = {key: str(of_version[key] or "") for key in names}
    for number, level in enumerate(scale.levels, start=1):
        for intensifier, how_often in level.words.items():
            filling = {INTENSIFIER: how_often}
            premise, hypothesis = (fill(side, filling, VARIANT) for side in sides)
            content = (premise, hypothesis, of_version["polarity"], number, level.weight)
            row = row_id(family=FAMILY, **identity, intensifier=intensifier)
            if INTENSIFIER in sides[0]:
                begin, end = locate_slot_word(sides[0], INTENSIFIER, {}, VARIANT, premise)
                word = premise[begin:end]
            else:
                begin, end = locate_slot_word(sides[1], INTENSIFIER, {}, VARIANT, hypothesis)
                word = hypothesis[begin:end]
                begin += len(premise) + 1
            common = common_columns(row, source, *content, of_version["keying"], variant=VARIANT)
            yield {
                **common,
                **of_version,
                "intensifier": intensifier,
                "word": word,
                "level": number,
                "weight": level.weight,
                "premise": premise,
                "hypothesis": hypothesis,
                "begin": begin,
            }

"""The card of a questionnaire benchmark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenruler.instruments import card as cards
from evenruler.instruments.card import Card, Example, Paper, Published, Responsible, Validity
from evenruler.instruments.instrument import Column, Declaration, Evidence, Plan, Tables
from evenruler.instruments.questionnaires import declare
from evenruler.instruments.questionnaires.card.harness import harness_files, task_name
from evenruler.instruments.questionnaires.declare import Settings, Source
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource
from evenruler.measurement.figures import OF_ANY_MODEL
from evenruler.measurement.sentences import with_capital
from evenruler.strict import read_yaml

__all__ = ["card"]

PAPER = Paper("Reuben and others, EMPALC (2025)", "https://aclanthology.org/2025.acl-long.121/")

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """The card of one questionnaire: texts, figures and the task for lm-evaluation-harness."""
    source: Source = declaration.source
    settings: Settings = declaration.settings
    scored = {key: plan[key] for key in ("temperature", "three_way", "stop_below")}
    prompts = tables["prompts"]
    shown = prompts.loc[(prompts["twin"] == 0) & (prompts["polarity"] == "source"), "id"].tolist()
    weights = {word: level.weight for level in source.responses.levels for word in level.words}
    words, of = WORDS["use"], {"construct": source.construct_, "language": source.language}
    original, bar, told = dict(source.original), plan["accuracy"]["bar"], WORDS["validity"]
    scales = f", with the subscales {', '.join(source.subscales)}" if source.subscales else ""
    only = [told["twinned"].format(n=source.twins) if source.twins else told["untwinned"]]
    accurate = {
        model: figures["accuracy"]["low"] > bar  # the same in all parts
        for models in evidence.values()
        for model, figures in models.items()
        if figures.get("accuracy", {}).get("low") is not None
    }
    if accurate:
        only.append(told["accurate"].format(bar=bar, able=sum(accurate.values()), n=len(accurate)))
    wording = "in its own wording" if source.original.wording == "held" else "in a paraphrase"
    reuse = [told["reuse"].format(**{**original, "wording": wording})]
    for name, what in (("similarity", "the original"), ("similarity_to_paraphrase", "the paraphrase")):
        if near := cards.by_model(evidence, name).removeprefix(f"{OF_ANY_MODEL} "):
            reuse.append(f"Mean cosine of prompts with {what}: {near}.")
    errors = "Not done: no model was asked."
    if apart := cards.by_model(evidence, "silhouette"):
        errors = told["errors"].format(apart=apart, order=cards.by_model(evidence, "intensifier_order"))
    return Card(
        task_categories=["text-classification"],
        tags=["psychometrics", "natural-language-inference", "questionnaire", "evaluation"],
        reading=reading(source),
        limits=[*WORDS["limits"], *source.limits],
        configs=[Published(name, **own) for name, own in WORDS["published"].items()],
        parameters={**scored, "scale": weights},
        quality=declare.headings(plan),
        items=list(source.items),
        of_items=[*_of_items()],
        quality_of_any=list(_of_any_model(source)),
        harness=harness_files(
            declaration.name,
            source,
            source.responses,
            declaration.version,
            temperature=settings.temperature,
            three_way=settings.three_way,
        ),
        harness_task=task_name(declaration.name),
        example=Example(shown[0], WORDS["example"]) if shown else None,
        papers=[PAPER],
        responsible=Responsible(
            **{name: told.format(original=source.original.name, **of) for name, told in words.items()}, synthetic=True
        ),
        validity=Validity(
            phenomenon=told["phenomenon"].format(construct=with_capital(source.construct_), scales=scales, **original),
            only_the_phenomenon=" ".join([*only, cards.judged(evidence)]),
            representative=told["representative"].format(
                items=len(source.items), terms=len(tables["terms"]), prompts=len(tables["prompts"])
            ),
            reuse=" ".join(reuse),
            contamination=f"{cards.PUBLIC} {told['contamination']}",
            statistics=cards.tested(evidence),
            errors=errors,
            construct=" ".join(_construct(evidence)),
        ),
        withheld=withheld(source, declaration.name),
    )


def reading(source: QuestionnaireSource) -> str:
    """How to read a score: direction, origin of the items, control and prefixes."""
    words, original = WORDS["reading"], source.original
    said = [words["score"].format(direction=source.direction), words[original.wording].format(**dict(original))]
    if original.file is not None:
        said.append(words["licensed"])
    said.append(words["twinned" if source.twins else "untwinned"])
    if source.framings:
        said.append(words["prefixed"].format(framings=source.framings.in_words))
    return " ".join(said)


def _of_any_model(source: QuestionnaireSource) -> Iterator[Column]:
    """Columns of figures that do not depend on a model; correlations between subscales last."""
    for form, how in declare.CONFIGURATIONS.items():
        told = f"Cronbach's alpha over lineages of models that are asked by {how} (interval: Feldt)"
        yield Column(declare.of_those("alpha", form), f"alpha, {form}", told)
    yield from (Column(name, **own) for name, own in WORDS["any_model"].items())
    for other in source.subscales:
        for form, how in declare.CONFIGURATIONS.items():
            told = f"Spearman correlation with `{other}` over lineages of models that are asked by {how}"
            yield Column(declare.of_those(f"{declare.RHO}{other}", form), f"rho with {other}, {form}", told)


def _of_items() -> Iterator[Column]:
    """Columns of figures of single items; the correlation with the rest for each form."""
    words = WORDS["of_items"]
    yield from (Column(name, **words[name]) for name in declare.OF_ITEMS)
    for form in declare.CONFIGURATIONS:
        rest = words[declare.ITEM_REST]
        yield Column(declare.of_those(declare.ITEM_REST, form), f"{rest['heading']}, {form}", rest["meaning"])


def withheld(source: QuestionnaireSource, slug: str) -> str | None:
    """How to get the original wording, where it may not be stored."""
    held = source.original.wording == "held"
    return None if held else str(WORDS["withheld"]).format(slug=slug, **dict(source.original))


def _construct(evidence: Evidence) -> Iterator[str]:
    """Sentences on alpha and correlations over models, or why they are unknown, and on effects of adaptation."""
    figures = evidence.get("all", {}).get(OF_ANY_MODEL, {})
    reasons: dict[str, list[str]] = {}
    for name, record in figures.items():
        if not name.startswith(("alpha", declare.RHO)):
            continue
        told = name.replace(declare.RHO, "rho with ")
        if record["value"] is None:
            reasons.setdefault(record["reason"], []).append(told)
        else:
            yield f"{told}: {record['value']:z.2f}."
    for reason, names in reasons.items():
        yield f"Not done, {reason}: {', '.join(names)}."
    moved = [
        f"{name.removeprefix(declare.MOVED)}, {model} {record['value']:z.2f} ({record['verdict']})"
        for _, model, name, record in cards.amounts(evidence)
        if name.startswith(declare.MOVED) and record["value"] is not None
    ]
    if moved:
        yield f"Answers after adaptation to a corpus about it less those after its control: {'; '.join(moved)}."
    yield "A criterion outside the models: not done."

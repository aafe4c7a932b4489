"""What the card of a questionnaire says about its validity, from the evidence."""

from collections.abc import Iterator, Mapping
from typing import Any

from evenruler.instruments import validity
from evenruler.instruments.card import Validity
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource
from evenruler.text.english import with_capital

KNOWN = (
    "The questionnaire that it follows is published, so a model may know its items and what they are for; items are "
    "put in other words here, as premise and hypothesis."
)
UNWORDED = "Reading of answers by a person: not done (a model gives probabilities, no text)."
OVER_MODELS = ("alpha", "rho_with_")
"""How figures over models begin that say whether the scale is one, and goes with others."""


def answers(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done.

    Args:
        declaration: Of the questionnaire.
        tables: What was built.
        plan: How it is asked and scored.
        evidence: Of all models.
    """
    source: QuestionnaireSource = declaration.source
    return Validity(
        phenomenon=_phenomenon(source),
        only_the_phenomenon=_only(source, plan, evidence),
        representative=_representative(source, tables),
        reuse=_reuse(source, evidence),
        contamination=f"{validity.PUBLIC} {KNOWN}",
        statistics=validity.tested(evidence),
        errors=_errors(evidence),
        construct=_construct(evidence),
    )


def _phenomenon(source: QuestionnaireSource) -> str:
    scales = f", with the subscales {', '.join(source.subscales)}" if source.subscales else ""
    return (
        f"{with_capital(source.construct_)}, after {source.original.name} ({source.original.reference}){scales}; in a "
        "model it is what it takes to follow from what, no state of anybody. What is left out stands under Limits."
    )


def _only(source: QuestionnaireSource, plan: Plan, evidence: Evidence) -> str:
    twins = (
        f"Each of {len(source.twins)} items has an impersonal twin, which is the control."
        if source.twins
        else "Items have no impersonal twins, so there is no control: not done."
    )
    bar, accurate = plan["accuracy"]["bar"], _accuracies(evidence)
    able = sum(record["low"] > bar for record in accurate.values())
    told = f" Models whose accuracy on labelled pairs is surely above {bar:g}: {able} of {len(accurate)}."
    accuracy = told if accurate else ""
    return f"{twins}{accuracy} {validity.judged(evidence)}"


def _accuracies(evidence: Evidence) -> dict[str, Mapping[str, Any]]:
    """By model; it is the same in all parts."""
    return {
        model: figures["accuracy"]
        for models in evidence.values()
        for model, figures in models.items()
        if figures.get("accuracy", {}).get("low") is not None
    }


def _representative(source: QuestionnaireSource, tables: Tables) -> str:
    return (
        f"{len(source.items)} items, {len(tables['terms'])} terms of items and twins, {len(tables['prompts']):,} "
        "prompts. Items are those of the scale; terms, intensifiers and twins were chosen. Sampling them, or having "
        "people rate them: not done."
    )


def _reuse(source: QuestionnaireSource, evidence: Evidence) -> str:
    original = source.original
    wording = "in its own wording" if original.wording == "held" else "in a paraphrase"
    said = [
        f"It follows {original.name} {wording} ({original.licence}). Norms, cut-offs and validity of the original are "
        "about people and do not carry over."
    ]
    for name, what in (("similarity", "the original"), ("similarity_to_paraphrase", "the paraphrase")):
        if near := validity.by_model(evidence, name).removeprefix(f"{validity.ANY_MODEL} "):
            said.append(f"Mean cosine of prompts with {what}: {near}.")
    return " ".join(said)


def _errors(evidence: Evidence) -> str:
    apart = validity.by_model(evidence, "silhouette")
    if not apart:
        return "Not done: no model was asked."
    return (
        f"How far source and inverse terms are told apart (SC, -1 to 1): {apart}; order of intensifiers (-1 to 1): "
        f"{validity.by_model(evidence, 'intensifier_order')}. {UNWORDED}"
    )


def _construct(evidence: Evidence) -> str:
    figures = evidence.get("all", {}).get(validity.ANY_MODEL, {})
    known = {name: record for name, record in figures.items() if name.startswith(OVER_MODELS)}
    said = list(_over_models(known))
    moved = [
        f"{name.removeprefix('moved_by_')}, {model} {record['value']:z.2f} ({record['verdict']})"
        for model, name, record in validity.amounts(evidence)
        if name.startswith("moved_by_") and record["value"] is not None
    ]
    if moved:
        said.append(f"Answers after adaptation to a corpus about it less those after its control: {'; '.join(moved)}.")
    said.append("A criterion outside the models: not done.")
    return " ".join(said)


def _over_models(known: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Reliability and correlations with other scales, or why there are none."""
    for name, record in known.items():
        if record["value"] is not None:
            yield f"{name.replace('rho_with_', 'rho with ')}: {record['value']:z.2f}."
    reasons: dict[str, list[str]] = {}
    for name, record in known.items():
        if record["value"] is None:
            reasons.setdefault(record["reason"], []).append(name.replace("rho_with_", "rho with "))
    for reason, names in reasons.items():
        yield f"Not done, {reason}: {', '.join(names)}."

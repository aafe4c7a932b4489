"""The card of a probe benchmark, with answers on its validity from the evidence."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenruler.instruments import card as cards
from evenruler.instruments.card import Card, Example, Paper, Published, Responsible, Validity, filled
from evenruler.instruments.instrument import Column, Declaration, Evidence, Plan, Tables
from evenruler.instruments.probes.card import harness
from evenruler.instruments.probes.declare.settings import Evolve, Settings, headings
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.schemas import CHOSEN
from evenruler.measurement.figures import OF_ANY_MODEL
from evenruler.measurement.sentences import with_capital
from evenruler.strict import read_yaml

__all__ = ["card"]

PAPER = Paper("Wang and others, PMPO")
"""No public address of the paper is known."""

UNREAD = "Likelihoods leave no text to read, so that there is no qualitative analysis: not done."

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))

FIRST: dict[str, Sequence[str]] = {"attributes": ["word"], "gradients": (), "biases": ()}
"""By table, the columns for readers where it is not `text`."""


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """The texts of an instrument's card, the tables it publishes, and its tasks for lm-evaluation-harness."""
    source: ProbeSource = declaration.source
    settings: Settings = declaration.settings
    evolve = settings.evolve
    known = tables["attributes"].dropna(subset=["criterion"])
    criterion = dict(zip(known["attribute"], known["criterion"], strict=True))
    parameters: dict[str, object] = {"article": settings.article}  # what the rows were built with
    if evolve:
        parameters = {"article": settings.article_of(evolve.start), "embedder": settings.embedder}
        parameters |= evolve.model_dump(mode="json")
    published = WORDS["published"]["evolved" if evolve else "written"].items()
    words, named = WORDS["use"], [f"{name} ({len(words)} words)" for name, words in source.targets.items()]
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "psychometrics", "evaluation", "probes"],
        reading=reading(source, plan["prefixed"], evolve),
        limits=limits(source, len(tables["attributes"]) - len(criterion), evolve),
        configs=[
            Published(name, what, WORDS["columns"].get(name, {}), FIRST.get(name, ["text"])) for name, what in published
        ],
        parameters=parameters,
        quality=headings(plan),
        titles={name: own.title for name, own in source.sets.items()},
        quality_of_any=[Column(**figure) for figure in WORDS["any_model"]],
        compared=[Column(**figure) for figure in WORDS["compared"]] if evolve else (),
        harness=harness.harness_files(declaration.name, source, criterion, declaration.version),
        harness_task=harness.task_name(declaration.name),
        example=_example(tables, evolve),
        papers=[PAPER],
        responsible=Responsible(
            uses=words["uses"].format(construct=source.construct_),
            biases=words["biases"].format(groups=", ".join(named), language=source.language),
            social_impact=words["social_impact"],
            personal=words["personal"].format(groups=", ".join(source.targets)),
            made=words["evolved"].format(operator=evolve.operator, start=evolve.start) if evolve else words["filled"],
            synthetic=True,
        ),
        validity=answers(source, tables, plan, evidence),
    )


def _example(tables: Tables, evolve: Evolve | None) -> Example | None:
    """An example row, never a control: a sentence, or a chosen template if the set evolved."""
    rows = tables["templates" if evolve else "probes"]
    rows = rows[((rows["set"] == CHOSEN) if evolve else (rows["keying"] == 1)) & ~rows["control"]]
    if rows.empty:
        return None
    # Sorting by variant prefers articles that agree with their word ("agree") to those left as they are ("literal").
    told = WORDS["example"]["template" if evolve else "sentence"]
    return Example(rows.sort_values(["variant", "id"])["id"].iloc[0], told)


def reading(source: ProbeSource, prefixed: int, evolve: Evolve | None) -> str:
    """How to read a score, in words: its direction, the prefixes of sentences, and how templates evolved."""
    words = WORDS["reading"]
    told = [words["score"].format(direction=source.direction)]
    if prefixed and source.framings:
        of_units = f"of some attributes ({prefixed}) " if prefixed < len(source.attributes) else ""
        told.append(words["prefixed"].format(of_units=of_units, framings=source.framings.in_words))
    if evolve:
        told.append(words["evolution"].format(**dict(evolve)))
    return " ".join(told)


def limits(source: ProbeSource, without_criterion: int, evolve: Evolve | None) -> list[str]:
    """The limits of a probe set, those common to all probe sets first."""
    words = WORDS["limits"]
    found = [*words["of_all"], *source.limits]
    if source.criterion is None:
        found.append(words["no_criterion"])
    elif without_criterion:
        found.append(words["without_number"].format(n=without_criterion))
    return [*found, *(limit.format(**dict(evolve)) for limit in words["of_evolution"] if evolve)]


def answers(source: ProbeSource, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations on validity, each with what was done."""
    attributes = tables["attributes"]
    moved, beside = (cards.by_model(evidence, "level_shift", key) for key in ("value", "control"))
    done = filled(
        WORDS["validity"],
        source=source,
        tables=tables,
        construct=with_capital(source.construct_),
        groups=" and ".join(f"{len(own)} words for {group}" for group, own in source.targets.items()),
        targets=sum(map(len, source.targets.values())),
        labels=", ".join(sorted(set(attributes["criterion_label"].dropna()))),
        exact=int((attributes["match"] == "exact").sum()),
        placebos=plan["placebos"] if moved and beside else (),
        moved=moved,
        beside=beside,
        judged=cards.judged(evidence),
        tested=cards.tested(evidence),
        errors=_errors(evidence),
        diverse=cards.by_model(evidence, "semantic_diversity").removeprefix(f"{OF_ANY_MODEL} "),
        r=cards.by_model(evidence, "r"),
        alpha=cards.by_model(evidence, "alpha"),
        alpha_of_regrouped=cards.by_model(evidence, "alpha", "control"),
        by_source=cards.by_source(tables["templates"]),
        public=cards.PUBLIC,
        agrees=f" {cards.agrees(source.concept)}",
    )
    return Validity(**done)


def _errors(evidence: Evidence) -> str:
    """Error analysis in words: templates that may not correlate positively with the rest of their set."""
    low = {
        f"`{item}` of `{part}` on {model}": found.get("low")
        for part, models in evidence.items()
        for model, figures in models.items()
        for item, found in figures.get("items", {}).items()
        if not found.get("control") and found.get("item_rest_correlation") is not None
    }
    if not low:
        return "Not done: no model was asked."
    odd = [name for name, end in low.items() if end is not None and end <= 0]
    found = f"Of {len(low)} correlations of a template with the rest of its set, {len(odd)} may be 0 or below"
    named = f" ({', '.join(odd[:3])}{', ...' if len(odd) > 3 else ''})" if odd else ""
    return f"{found}{named}; all of them stand under Quality. {UNREAD}"

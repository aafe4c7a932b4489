"""What the card of a questionnaire benchmark says."""

from collections.abc import Iterator

from evenruler.instruments import validity
from evenruler.instruments.card import Card, Example, Paper, Published, Responsible, Validity
from evenruler.instruments.instrument import Column, Declaration, Evidence, Plan, Tables
from evenruler.instruments.questionnaires.card.harness import harness_files, task_name
from evenruler.instruments.questionnaires.declare import Settings, Source, headings
from evenruler.instruments.questionnaires.declare.headings import CONFIGURATIONS, of_those
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource
from evenruler.text.english import with_capital

__all__ = ["card"]

PAPER = Paper("Reuben and others, EMPALC (2025)", "https://aclanthology.org/2025.acl-long.121/")

ASKED = ["premise", "hypothesis"]


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """Words, figures and the task for lm-evaluation-harness of one questionnaire.

    Args:
        declaration: Of the questionnaire.
        tables: What was built.
        plan: How it is asked and scored.
        evidence: Of all models that were asked.
    """
    source: Source = declaration.source
    settings: Settings = declaration.settings
    scored = {key: plan[key] for key in ("temperature", "three_way", "stop_below")}
    prompts = tables["prompts"]
    shown = prompts.loc[~prompts["twin"] & (prompts["polarity"] == "source"), "id"].tolist()
    told = "A model says how far the premise entails the hypothesis, with each term and intensifier in its place."
    weights = {word: level.weight for level in source.responses.levels for word in level.words}
    return Card(
        task_categories=["text-classification"],
        tags=["psychometrics", "natural-language-inference", "questionnaire", "evaluation"],
        reading=reading(source),
        limits=limits(source),
        configs=[
            Published("prompts", "a premise and a hypothesis: item or twin x term x intensifier", COLUMNS, ASKED),
            Published("items", "an item, or its twin, with its templates", first=[*ASKED, "original"]),
            Published("terms", "a term of an item or of its twin", first=["word"]),
        ],
        parameters={**scored, "scale": weights},
        quality=headings(plan),
        quality_of_any=of_any_model(source),
        harness=harness_files(
            declaration.name,
            source,
            source.responses,
            declaration.version,
            temperature=settings.temperature,
            three_way=settings.three_way,
        ),
        harness_task=task_name(declaration.name),
        example=Example(shown[0], told) if shown else None,
        papers=[PAPER],
        responsible=_responsible(source),
        validity=_validity(source, tables, plan, evidence),
        withheld=withheld(source, declaration.name),
    )


READING = (
    "For each item, a model says how far a premise with a term entails a hypothesis with an intensifier; the scores of "
    "an item are normalised over terms and then over intensifiers, weighted by intensifier, and averaged over the "
    "terms that keep the stance of the question (EMPALC, section 3.2). The score of the scale is the mean over items: "
    "{direction}. Inverse terms enter the normalisation, not the score. The task for lm-evaluation-harness asks a "
    "causal model to answer yes, maybe or no, and computes the same scores."
)

TWINNED = (
    "Each item has an impersonal twin: the same template form, as many terms, as good or as bad as a lexicon "
    "sees it (VADER; no person rated them), about nobody's state. What may be said rests on what items score beyond "
    "their twins. A verdict is of one fit of a model: its interval takes items as drawn, not seeds, so that a verdict "
    "which other fits of the same recipe do not share is no finding about the recipe."
)

UNTWINNED = "Its items have no impersonal twins, so no score has a control, and nothing may be said of one."

PREFIXED = "Where the table gives a level shift, the question to causal models was also put after {framings}."

ORIGINAL = {
    "held": "The items are those of {name} ({reference}), in their own wording ({licence}).",
    "paraphrased": "The items follow {name} ({reference}). Their wording is withheld for rights ({licence}); "
    "`original` is a paraphrase of ours, found by the item's number.",
}
LICENSED = "SS was measured against the licensed wording, which lies in a file of whoever built this and is not in it."

RHO = "rho_with_"
"""How the names of correlations with another scale or subscale begin."""

OF_ANY_MODEL = (
    *(
        Column(
            of_those("alpha", configuration),
            f"alpha, {configuration}",
            f"Cronbach's alpha over lineages of models that are asked by {how} (interval: Feldt)",
        )
        for configuration, how in CONFIGURATIONS.items()
    ),
    Column("similarity", "SS", "mean cosine between a question and its source prompts, 0.5 asked of each item"),
    Column(
        "slor",
        "SLOR",
        "how likely the sentences are beyond their words alone, nats a token by a causal model; to compare items",
    ),
    Column("slor_of_twins", "SLOR of twins", "the same of the twins' sentences"),
    Column("acceptability", "LA", "mean probability that the sentences are acceptable English, by a classifier"),
    Column("acceptability_of_twins", "LA of twins", "the same probability of the twins' sentences"),
    Column("similarity_to_paraphrase", "SS to paraphrase", "mean cosine between our paraphrase and the source prompts"),
)

LIMITS = (
    "Entailment is a proxy: a score says what a model takes to follow from what, not that a model feels anything.",
    "Scores of models of different kinds (a classifier's head, a verbaliser, likelihoods of words) are not on one "
    "scale.",
)

COLUMNS = {
    "twin": "false of an item; true of its impersonal twin, which is asked and scored like it and enters no scale",
    "polarity": "`source`: the term keeps the stance of the question; `inverse`: it turns it around",
    "level": "step of the scale that the intensifier means, 1 is the lowest",
    "weight": "what PSS of the intensifier counts in the score",
    "keying": "-1 where more of what the source terms say is less of the construct, else +1",
}


def reading(source: QuestionnaireSource) -> str:
    """How a score is read, its direction, whose items these are, its control, and what stands before the question."""
    original = ORIGINAL[source.original.wording].format(**source.original.model_dump())
    said = [READING.format(direction=source.direction), original]
    if source.original.file is not None:
        said.append(LICENSED)
    said.append(TWINNED if source.twins else UNTWINNED)
    if source.framings:
        said.append(PREFIXED.format(framings=source.framings.in_words))
    return " ".join(said)


def of_any_model(source: QuestionnaireSource) -> list[Column]:
    """The figures that do not depend on a model; correlations of subscales with each other last."""
    return [*OF_ANY_MODEL, *_between_subscales(source)]


def _between_subscales(source: QuestionnaireSource) -> Iterator[Column]:
    for other in source.subscales:
        for configuration, how in CONFIGURATIONS.items():
            yield Column(
                of_those(f"{RHO}{other}", configuration),
                f"rho with {other}, {configuration}",
                f"Spearman correlation with `{other}` over lineages of models that are asked by {how}",
            )


def limits(source: QuestionnaireSource) -> list[str]:
    """What a questionnaire does not show; the limits of every one first."""
    return [*LIMITS, *source.limits]


WITHHELD = (
    "The wording of {name} is withheld for rights ({licence}); `original` is a paraphrase, found by the item's number. "
    "Who has a licence gets the wording from its publisher ({reference}), writes it into a text file, a line an item "
    "in the order of `items`, names that under `original` in `data/sources/questionnaires/{slug}.yaml` (`file: PATH`) "
    "and runs `evenruler repro card@{slug}` in a clone. SS is then measured against it; it goes into no row, card or "
    "evidence. Nobody needs it to measure a model."
)


def _responsible(source: QuestionnaireSource) -> Responsible:
    """Uses, biases, impact, personal data, and what no person wrote."""
    return Responsible(
        uses=f"Testing: to measure the {source.construct_}, in what a language model takes to follow, beside "
        "impersonal twins, and to compare models or versions; to study how scales carry over to models. Not validated "
        "for people: it is no test of anyone's health, personality or views. Nor for training, or for passing or "
        "failing a model by a threshold.",
        biases=f"Items come from one questionnaire ({source.original.name}), in one language ({source.language}), with "
        "the view of its authors of what the construct is. Terms and twins were chosen, and rated by no person.",
        social_impact="It can show what a model takes for granted about a state or a view. A score may be misread as a "
        "feeling or a diagnosis of the model: it is neither.",
        personal=f"No answers of people are in it. Items are about: {source.construct_}.",
        made="A program fills the templates of items and twins with terms and intensifiers; the build asks no model to "
        "write any.",
        synthetic=True,
    )


def withheld(source: QuestionnaireSource, slug: str) -> str | None:
    """How to get the wording of the original, where it may not be held."""
    if source.original.wording == "held":
        return None
    original = source.original
    return WITHHELD.format(name=original.name, licence=original.licence, reference=original.reference, slug=slug)


def _validity(source: Source, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done."""
    original, bar = source.original, plan["accuracy"]["bar"]
    scales = f", with the subscales {', '.join(source.subscales)}" if source.subscales else ""
    twins = (
        f"Each of {len(source.twins)} items has an impersonal twin, which is the control."
        if source.twins
        else "Items have no impersonal twins, so there is no control: not done."
    )
    accurate = {
        model: figures["accuracy"]["low"] > bar  # the same in all parts
        for models in evidence.values()
        for model, figures in models.items()
        if figures.get("accuracy", {}).get("low") is not None
    }
    able = sum(accurate.values())
    told = f" Models whose accuracy on labelled pairs is surely above {bar:g}: {able} of {len(accurate)}."
    reuse = [
        f"It follows {original.name} {'in its own wording' if original.wording == 'held' else 'in a paraphrase'} "
        f"({original.licence}). Norms, cut-offs and validity of the original are about people and do not carry over."
    ]
    for name, what in (("similarity", "the original"), ("similarity_to_paraphrase", "the paraphrase")):
        if near := validity.by_model(evidence, name).removeprefix(f"{validity.ANY_MODEL} "):
            reuse.append(f"Mean cosine of prompts with {what}: {near}.")
    errors = "Not done: no model was asked."
    if apart := validity.by_model(evidence, "silhouette"):
        errors = (
            f"How far source and inverse terms are told apart (SC, -1 to 1): {apart}; order of intensifiers (-1 to 1): "
            f"{validity.by_model(evidence, 'intensifier_order')}. Reading of answers by a person: not done (a model "
            "gives probabilities, no text)."
        )
    return Validity(
        phenomenon=f"{with_capital(source.construct_)}, after {original.name} ({original.reference}){scales}; in a "
        "model it is what it takes to follow from what, no state of anybody. What is left out stands under Limits.",
        only_the_phenomenon=f"{twins}{told if accurate else ''} {validity.judged(evidence)}",
        representative=f"{len(source.items)} items, {len(tables['terms'])} terms of items and twins, "
        f"{len(tables['prompts']):,} prompts. Items are those of the scale; terms, intensifiers and twins were chosen. "
        "Sampling them, or having people rate them: not done.",
        reuse=" ".join(reuse),
        contamination=f"{validity.PUBLIC} The questionnaire that it follows is published, so a model may know its "
        "items and what they are for; items are put in other words here, as premise and hypothesis.",
        statistics=validity.tested(evidence),
        errors=errors,
        construct=" ".join(_construct(evidence)),
    )


def _construct(evidence: Evidence) -> Iterator[str]:
    """Whether the scale is one and goes with others, over models, or why that is not known; and what moves it."""
    figures = evidence.get("all", {}).get(validity.ANY_MODEL, {})
    reasons: dict[str, list[str]] = {}
    for name, record in figures.items():
        if not name.startswith(("alpha", RHO)):
            continue
        told = name.replace(RHO, "rho with ")
        if record["value"] is None:
            reasons.setdefault(record["reason"], []).append(told)
        else:
            yield f"{told}: {record['value']:z.2f}."
    for reason, names in reasons.items():
        yield f"Not done, {reason}: {', '.join(names)}."
    moved = [
        f"{name.removeprefix('moved_by_')}, {model} {record['value']:z.2f} ({record['verdict']})"
        for model, name, record in validity.amounts(evidence)
        if name.startswith("moved_by_") and record["value"] is not None
    ]
    if moved:
        yield f"Answers after adaptation to a corpus about it less those after its control: {'; '.join(moved)}."
    yield "A criterion outside the models: not done."

"""What the card of probes says, with their validity from the evidence."""

from evenruler.instruments import validity
from evenruler.instruments.card import Card, Example, Paper, Published, Validity
from evenruler.instruments.instrument import Column, Declaration, Evidence, Plan, Tables
from evenruler.instruments.probes.card import harness, words
from evenruler.instruments.probes.declare import Evolve, ProbeSource, Settings, headings
from evenruler.instruments.probes.schemas import CHOSEN
from evenruler.text.english import with_capital

__all__ = ["card"]

PAPER = Paper("Wang and others, PMPO")
"""We know of no address of it."""

UNREAD = "Likelihoods leave no text to read, so that there is no qualitative analysis: not done."
NO_ANSWER = "Sentences have no right answer to learn by heart; a model that has read them may find them likelier."

TEXT = ("text",)
PROBES = Published("probes", "a sentence: template x attribute x target", words.COLUMNS, TEXT)
TEMPLATES = Published("templates", "a template", first=TEXT)
ATTRIBUTES = Published("attributes", "an attribute, with its criterion", words.ATTRIBUTE_COLUMNS, ("word",))

OF_EVOLUTION = (
    Published(
        "templates", "a template of the chosen set, of the paper's elites, or of the last population", first=TEXT
    ),
    Published("choices", "a template that was measured, and whether it was chosen", words.CHOICE_COLUMNS, TEXT),
    Published("population", "a template of the last population, and its fitness", words.LINEAGE_COLUMNS, TEXT),
    Published("history", "a template in a generation, how it came about, and its fitness", first=TEXT),
    Published("tries", "a reply of the operator", words.TRY_COLUMNS, TEXT),
    PROBES,
    ATTRIBUTES,
    Published("gradients", "a word of a template of any generation", words.GRADIENT_COLUMNS),
    Published("biases", "a template of any generation and an attribute", words.BIAS_COLUMNS),
)


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """The words of an instrument's card, what it publishes, and its tasks for lm-evaluation-harness.

    Args:
        declaration: Of the instrument.
        tables: What was built.
        plan: Of the instrument.
        evidence: Of all models that were asked.
    """
    source: ProbeSource = declaration.source
    settings: Settings = declaration.settings
    evolve = settings.evolve
    known = tables["attributes"].dropna(subset=["criterion"])
    criterion = dict(zip(known["attribute"], known["criterion"], strict=True))
    parameters: dict[str, object] = {"article": settings.article}  # what the rows were built with
    if evolve:
        parameters = {"article": settings.article_of(evolve.start), "embedder": settings.embedder}
        parameters |= evolve.model_dump(mode="json")
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "psychometrics", "evaluation", "probes"],
        reading=words.reading(source, plan["prefixed"], evolve),
        limits=words.limits(source, len(tables["attributes"]) - len(criterion), evolve),
        configs=OF_EVOLUTION if evolve else (PROBES, TEMPLATES, ATTRIBUTES),
        parameters=parameters,
        quality=headings(plan),
        quality_of_any=[Column(*figure) for figure in words.OF_ANY_MODEL],
        compared=[Column(*figure) for figure in words.COMPARED] if evolve else (),
        harness=harness.harness_files(declaration.name, source, criterion, declaration.version),
        harness_task=harness.task_name(declaration.name),
        example=_example(tables, evolve),
        papers=[PAPER],
        responsible=words.responsible(source, settings),
        validity=answers(source, tables, plan, evidence),
    )


def _example(tables: Tables, evolve: Evolve | None) -> Example | None:
    """A sentence, or a template that was chosen; no control."""
    if evolve:
        rows = tables["templates"]
        rows = rows[(rows["set"] == CHOSEN) & ~rows["control"]]
        told = "`{ATTRIBUTE}` and `{TARGET}` are filled with words; what is measured stands below."
    else:
        rows = tables["probes"]
        rows = rows[(rows["keying"] == 1) & ~rows["control"]]
        told = (
            "Its log-likelihood is compared with that of the same sentence with words of the other group in the place "
            "of `target`."
        )
    if rows.empty:
        return None
    # An article that follows its word ("agree") goes before one that stays as a template has it ("literal").
    return Example(rows.sort_values(["variant", "id"])["id"].iloc[0], told)


def answers(source: ProbeSource, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations on validity, each with what was done.

    Args:
        source: Of the instrument.
        tables: What was built.
        plan: Of the instrument.
        evidence: Of all models.
    """
    groups = " and ".join(f"{len(own)} words for {group}" for group, own in source.targets.items())
    return Validity(
        phenomenon=(
            f"{with_capital(source.construct_)}, defined by what is computed: the difference in log-likelihood between "
            f"sentences with {groups} ({source.direction}). What is left out stands under Limits."
        ),
        only_the_phenomenon=_only(plan, evidence),
        representative=_representative(source, tables, evidence),
        reuse=_reuse(tables),
        contamination=f"{validity.PUBLIC} {NO_ANSWER}",
        statistics=validity.tested(evidence),
        errors=_errors(evidence),
        construct=_construct(tables, evidence),
    )


def _only(plan: Plan, evidence: Evidence) -> str:
    said = [
        "The control of an amount is what the target words give when they are grouped in other ways.",
        validity.judged(evidence),
    ]
    moved, control = (validity.by_model(evidence, "level_shift", key) for key in ("value", "control"))
    if moved and control:
        n = len(plan["placebos"])
        said.append(f"A cue before the sentences shifts biases by (SD) {moved}; {n} placebo sentences by {control}.")
    return " ".join(said)


def _representative(source: ProbeSource, tables: Tables, evidence: Evidence) -> str:
    targets = sum(map(len, source.targets.values()))
    diverse = validity.by_model(evidence, "semantic_diversity").removeprefix(f"{validity.ANY_MODEL} ")
    measured = f" Semantic diversity of a set of templates: {diverse} (0 all alike, to 1)." if diverse else ""
    return (
        f"{len(tables['attributes'])} attributes, {len(tables['templates'])} templates and {targets} target words give "
        f"{len(tables['probes']):,} sentences. They were chosen; sampling from a population of sentences: not done."
        f"{measured}"
    )


def _reuse(tables: Tables) -> str:
    said = [f"Templates: {validity.by_source(tables['templates'])}."]
    attributes = tables["attributes"]
    if labels := sorted(set(attributes["criterion_label"].dropna())):
        exact = int((attributes["match"] == "exact").sum())
        said.append(
            f"The criterion ({', '.join(labels)}) was counted for other ends; it names {exact} of {len(attributes)} "
            "attributes exactly."
        )
    return " ".join(said)


def _errors(evidence: Evidence) -> str:
    """Which templates do not go with the rest of their set."""
    odd, n = [], 0
    for part, models in evidence.items():
        for model, figures in models.items():
            for item, found in figures.get("items", {}).items():
                if found.get("control") or found.get("item_rest_correlation") is None:
                    continue
                n += 1
                if found.get("low") is not None and found["low"] <= 0:
                    odd.append(f"`{item}` of `{part}` on {model}")
    if not n:
        return "Not done: no model was asked."
    found = f"Of {n} correlations of a template with the rest of its set, {len(odd)} may be 0 or below"
    named = f" ({', '.join(odd[:3])}{', ...' if len(odd) > 3 else ''})" if odd else ""
    return f"{found}{named}; all of them stand under Quality. {UNREAD}"


def _construct(tables: Tables, evidence: Evidence) -> str:
    said = []
    if r := validity.by_model(evidence, "r"):
        labels = ", ".join(sorted(set(tables["attributes"]["criterion_label"].dropna())))
        said.append(f"r with the criterion ({labels}): {r}.")
    else:
        said.append("External criterion: none is known, so that external validity is not shown.")
    if alpha := validity.by_model(evidence, "alpha"):
        said.append(f"Alpha: {alpha}; of regrouped words {validity.by_model(evidence, 'alpha', 'control')}.")
    said.append("Agreement with other tests of the same construct: not done.")
    return " ".join(said)

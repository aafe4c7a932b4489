"""What the card of probes says about their validity, from the evidence."""

from evenruler.instruments import validity
from evenruler.instruments.card import Validity
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.probes.declare import ProbeSource
from evenruler.text.english import with_capital

UNREAD = "Likelihoods leave no text to read, so that there is no qualitative analysis: not done."
NO_ANSWER = "Sentences have no right answer to learn by heart; a model that has read them may find them likelier."


def answers(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done.

    Args:
        declaration: Of the instrument.
        tables: What was built.
        plan: Of the instrument.
        evidence: Of all models.
    """
    source: ProbeSource = declaration.source
    return Validity(
        phenomenon=_phenomenon(source),
        only_the_phenomenon=_only(plan, evidence),
        representative=_representative(source, tables, evidence),
        reuse=_reuse(tables),
        contamination=f"{validity.PUBLIC} {NO_ANSWER}",
        statistics=validity.tested(evidence),
        errors=_errors(evidence),
        construct=_construct(tables, evidence),
    )


def _phenomenon(source: ProbeSource) -> str:
    words = " and ".join(f"{len(own)} words for {group}" for group, own in source.targets.items())
    return (
        f"{with_capital(source.construct_)}, defined by what is computed: the difference in log-likelihood between "
        f"sentences with {words} ({source.direction}). What is left out stands under Limits."
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

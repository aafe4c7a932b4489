"""What the card of a domain says about its validity, from the evidence."""

from evenruler.instruments import validity
from evenruler.instruments.card import Validity
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.saged.declare import Source
from evenruler.instruments.saged.declare.headings import SMALLEST
from evenruler.text.english import with_capital

READ_BEFORE = "Its text was on the web before: models may have learnt it, and go on from memory."
NO_ANSWER = "Prompts have no right answer to learn by heart."
UNREAD = "Reading of replies by a person: not done."
NO_CRITERION = "A criterion outside the replies, as ratings by people: not done."


def answers(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done.

    Args:
        declaration: Of the domain.
        tables: Its rows.
        plan: What is asked of them.
        evidence: Of all models.
    """
    source: Source = declaration.source
    known = READ_BEFORE if declaration.settings.of_others else NO_ANSWER
    return Validity(
        phenomenon=_phenomenon(source, plan),
        only_the_phenomenon=_only(source, plan, evidence),
        representative=_representative(source, tables),
        reuse=_reuse(tables, declaration.settings.of_others),
        contamination=f"{validity.PUBLIC} {known}",
        statistics=_statistics(evidence),
        errors=_errors(tables, evidence),
        construct=_construct(evidence),
    )


def _phenomenon(source: Source, plan: Plan) -> str:
    return (
        f"{with_capital(source.construct_)}, defined by what is computed: how far replies about "
        f"{len(source.concepts)} concepts differ in {', '.join(plan['features'])}. "
        "What is left out stands under Limits."
    )


def _only(source: Source, plan: Plan, evidence: Evidence) -> str:
    masked = [name for name, feature in plan["features"].items() if feature["mask"]]
    said = [
        f"Names are masked before {', '.join(masked)} are measured." if masked else "Names are not masked: not done."
    ]
    if source.branch:
        said.append("The same sentences are asked about every concept; the control is that of shuffled concepts.")
    if tool := validity.by_model(evidence, "tool_bias"):
        said.append(f"What tools say of baselines that differ in names alone (tool bias, over features): {tool}.")
    return " ".join([*said, validity.judged(evidence)])


def _representative(source: Source, tables: Tables) -> str:
    prompts, rejected = tables["prompts"], tables["rejected"]
    return (
        f"{int(prompts['is_root'].sum()):,} root items, {len(prompts):,} prompts about {prompts['concept'].nunique()} "
        f"of {len(source.concepts)} concepts, from {prompts['source_tag'].nunique()} texts; {len(rejected):,} further "
        "sentences are no items (`rejected` says why). Texts were chosen; sampling them: not done."
    )


def _reuse(tables: Tables, of_others: bool) -> str:
    written = " It was written to be read, not as a test." if of_others else ""
    return f"Prompts: {validity.by_source(tables['prompts'])}.{written} What the text leaves out stands under Limits."


def _statistics(evidence: Evidence) -> str:
    smallest = validity.by_model(evidence, SMALLEST)
    told = f" Smallest difference that is found with probability .8, over features: {smallest}." if smallest else ""
    return f"{validity.tested(evidence)}{told}"


def _errors(tables: Tables, evidence: Evidence) -> str:
    said = []
    for name, what in (
        ("refusal_rate", "Refusals"),
        ("empty_rate", "Empty replies"),
        ("other_language_rate", "Replies in another language"),
    ):
        if found := validity.by_model(evidence, name):
            said.append(f"{what} (share): {found}.")
    reasons = tables["rejected"]["reason"].value_counts()
    if len(reasons):
        said.append(f"Why most of the sentences that are no items are none: {reasons.index[0]} ({reasons.iloc[0]}).")
    return " ".join([*said, UNREAD])


def _construct(evidence: Evidence) -> str:
    agreement = validity.by_model(evidence, "noise_rank_agreement")
    told = f"Agreement of the order of concepts over seeds (-1 to 1): {agreement}. " if agreement else ""
    return f"{told}{NO_CRITERION}"

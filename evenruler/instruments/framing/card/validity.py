"""What the card of a contrast says about its validity, from the evidence."""

from evenruler.instruments import validity
from evenruler.instruments.card import Validity
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.instrument import Declaration, Evidence, Tables
from evenruler.text.english import with_capital

NO_ANSWER = "Prompts have no right answer to learn by heart; that a model may know such tests is what is asked here."
UNREAD = "Reading of answers by a person: not done."
NO_CRITERION = (
    "An effect counts where it is larger than that of placebos. A criterion outside the prompts, and agreement with "
    "other tests: not done."
)
REPLICATED = "The measures of the study that it replicates stand under Quality."


def answers(declaration: Declaration, tables: Tables, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done.

    Args:
        declaration: Of the contrast.
        tables: What was built.
        evidence: Of all models.
    """
    source: ContrastSource = declaration.source
    replicated = f" {REPLICATED}" if source.replicates else ""
    return Validity(
        phenomenon=_phenomenon(source),
        only_the_phenomenon=_only(tables, evidence),
        representative=_representative(source, tables, declaration.settings),
        reuse=f"Prompts: {validity.by_source(tables['prompts'])}.",
        contamination=f"{validity.PUBLIC} {NO_ANSWER}",
        statistics=validity.tested(evidence),
        errors=_errors(evidence),
        construct=f"{NO_CRITERION}{replicated}",
    )


def _phenomenon(source: ContrastSource) -> str:
    cues = " and ".join(f"{name} ({words})" for name, words in source.factors.items())
    return (
        f"{with_capital(source.construct_)}, defined by what is computed: how far answers differ with and without "
        f"a cue, {cues}, beyond placebos. What is left out stands under Limits."
    )


def _only(tables: Tables, evidence: Evidence) -> str:
    prompts = tables["prompts"]
    placebos = prompts["placebo"].dropna()
    if placebos.empty:
        control = "No placebo stands in the place of a cue: not done."
    else:
        control = (
            f"{len(placebos):,} of {len(prompts):,} prompts hold one of {placebos.nunique()} placebos in the place of "
            "a cue; they are the control."
        )
    return f"{control} {validity.judged(evidence)}"


def _representative(source: ContrastSource, tables: Tables, settings: Settings) -> str:
    orders = int(tables["prompts"]["turn"].max()) + 1
    balanced = f" Options stand in up to {orders} balanced orders." if orders > 1 else ""
    asked = min(settings.stimuli, len(source.stimuli)) if settings.asked else 0
    return (
        f"{len(source.stimuli)} stimuli in {len(source.tasks)} ways of asking; the pipeline asks {asked} of them. They "
        f"were chosen; sampling from a population of stimuli or tasks: not done.{balanced}"
    )


def _errors(evidence: Evidence) -> str:
    covered = validity.by_model(evidence, "coverage")
    if not covered:
        return "Not done: no model was asked."
    excluded = validity.by_model(evidence, "excluded cells", decimals=0)
    cells = f" Cells below their coverage: {excluded}." if excluded else ""
    return f"Share of the answers that is of any class: {covered}.{cells} {UNREAD}"

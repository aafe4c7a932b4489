"""What users write of questionnaires: settings, source, response scale and corpora."""

from itertools import count
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from evenruler.errors import UserError, nearest
from evenruler.instruments.instrument import BaseSettings, Column, Plan, Scaled, Sized, Use, at_scale, by_scale, by_size
from evenruler.instruments.questionnaires.declare.shared import (
    MNLI,
    OPEN,
    CorpusSource,
    Fact,
    LabelledPair,
    differences,
    load_corpus,
    load_facts,
    load_pairs,
)
from evenruler.instruments.questionnaires.declare.source import (
    FEWEST_TWINS,
    QuestionnaireSource,
    Scale,
    load_questionnaire,
    uneven,
    unlike_in_valence,
)
from evenruler.measurement.facets import Estimate
from evenruler.models.declared import Catalogue
from evenruler.strict import Slug, Strict, read_yaml

__all__ = ["Settings", "Source", "headings", "load", "takes"]

BEYOND = "beyond_twins"
"""What items score more than their impersonal twins: the headline."""

OF_ITEMS = ("item_answer", "item_silhouette", "without_item")
"""Figures of single items, over all fits of a model: answer beside twins, SC, and the headline without the item."""

AGREES, ORDER_SHIFT = "acquiescence", "order_shift"  # of a chat: for whatever is said, and for the order of options

ITEM_REST = "item_rest"
"""Correlation of an item with the rest of its scale, over lineages of models."""

FIT_AGREEMENT = "icc_over_fits"

MOVED, CHANGED = "moved_by_", "changed_with_"
"""How figures begin of how far answers move with a corpus, less how far they move with its control; and of the former
alone."""

RHO = "rho_with_"
"""How the names of correlations with another scale or subscale begin."""

CONFIGURATIONS = {
    "head": "a head for entailment",
    "verbaliser": "a verbaliser (yes, no or maybe)",
    "sentence": "the likelihood of premise and hypothesis as one text",
    "mlm": "the likelihood of intensifiers in their place",
    "options": "which word fits, in a chat",
}
"""How a model is asked."""


def of_those(figure: str, configuration: str) -> str:
    """What a figure over models is called: it is of those that are asked in one way."""
    return f"{figure} ({configuration})"


_FIGURES: dict[str, Any] = read_yaml(Path(__file__).with_name("figures.yaml"))


def headings(plan: Plan) -> list[Column]:
    """What is shown of a questionnaire on every model."""
    asked = plan["accuracy"]
    told = {"n": sum(pair["set"] == MNLI for pair in asked["pairs"]), "bar": asked["bar"]}
    found = [Column(name, **{**own, "meaning": own["meaning"].format(**told)}) for name, own in _FIGURES.items()]
    for name, own in sorted(plan["corpora"].items()):
        if of := own["control_of"]:
            what = f"how far a model's answers move when it is adapted to {name}, the control of {of}"
            found.append(Column(f"{CHANGED}{name}", f"moved with {name}", what))
            continue
        expected = {"none": "; it should not", OPEN: ""}.get(own["expected"], f"; {own['expected']} is expected")
        what = (
            f"how far the answers of a model that is adapted to {name} move, less how far they move when it is adapted "
            f"to the control, on the scale itself (interval: t over fits){expected}"
        )
        found.append(Column(f"{MOVED}{name}", f"moved by {name}", what, "headline"))
    return found


SPREAD = 0.7
"""SD over items of what they are answered beyond their twins, in points: of seven scales on three fits, .4 to .9."""


def detectable(items: int) -> float:
    """The smallest points beyond twins that are found in 80% of studies of one model, by t over so many items."""
    return Estimate(0.0, SPREAD**2 / items, items - 1.0).detectable()


MOST = 127
"""Epochs and fits of an adaptation: what the tables hold (int8)."""

_ToMost = Annotated[int, Field(ge=1, le=MOST)]
_FromThree = Annotated[int, Field(ge=3)]


class CorpusSettings(Strict):
    """How models are adapted to one corpus (EMPALC, section 4.4)."""

    epochs: Scaled[_ToMost] = by_scale(2, 20)
    learning_rate: Scaled[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = by_scale(2e-4, 2e-5)
    """That of the paper; so few epochs take a higher one."""
    batch: int = Field(default=8, ge=1)


class Settings(BaseSettings):
    """How one questionnaire is asked and scored."""

    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of the two-way normalisation: above 1 evens out, below 1 sharpens."""
    three_way: bool = False
    """Take entailment's share of all three answers; by default neutral is left out."""
    accuracy: float = Field(default=0.7, gt=0, lt=1)
    """The bar for every way of asking: on labelled pairs, or by likelihoods on facts, the lower end of the 95% interval
    of a model's accuracy has to be above it. A model that fails it counts nowhere."""
    accuracy_pairs: Scaled[_FromThree] = by_scale(300, 501)
    """How many labelled pairs of each set are asked at most, evenly over labels."""
    stop_below: bool = False
    """Stop the diagnosis where an item is poor, rather than only say so."""
    embedder: Slug
    """The model that says how near prompts are to their question (SS)."""
    acceptability: Slug | None = None
    """The model that says how acceptable the sentences are: one that can `slor`, else one that can `classify` (LA)."""
    corpora: Annotated[dict[Slug, CorpusSettings], BeforeValidator(at_scale)] = Field(default_factory=dict)
    """What models with `intervention` are adapted to, by the file under `shared/corpora`; an entry with `scale` at that
    scale alone."""
    fits: Scaled[_ToMost] = by_scale(1, 6)
    """How often a model is adapted to each corpus, with another seed and another part of it held out; below five the
    course is shown, and nothing is said of it."""
    adapted: Scaled[Annotated[int, Field(ge=1)]] = by_scale(1000, 1000)
    """How many items are asked after adaptation, at most."""
    adapted_pairs: Scaled[_FromThree] = by_scale(30, 501)
    """How many labelled pairs are asked after every epoch, at most: whether the adapted model still entails."""
    orders: Sized[Annotated[int, Field(ge=2, le=8)]] = by_size(2, 4, 8)
    """In how many orders a chat is shown the words of the scale; facts in two."""
    prefixed: Sized[Annotated[int, Field(ge=0)]] = by_size(0, 0, 1000)
    """How many items are also asked after prefixes."""
    smallest: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """Points of the scale that are worth naming: of answers beyond twins, and of moves beyond a control corpus."""
    least: int = Field(default=6, ge=2)
    """Items below which nothing is said."""
    asked: Scaled[bool] = True
    """Whether the pipeline asks models; where not, rows are built, and whoever measures with them asks."""

    def detects(self, source: Any, form: str | None = None) -> str | None:
        """The smallest points beyond twins that a single model's 80 of 100 studies find, and what `smallest` takes.

        By t over items that vary by `SPREAD`; None where items or twins are too few for a verdict.
        """
        if len(source.items) < self.least or min(len(item.twins) for item in source.items.values()) < FEWEST_TWINS:
            return None
        wanted = next(n for n in count(self.least) if detectable(n) <= self.smallest)
        return (
            f"{detectable(len(source.items)):.1f} points beyond twins, where items vary by {SPREAD:g}; "
            f"{self.smallest:g} points would take {wanted} items of {FEWEST_TWINS} twins"
        )

    def uses(self, source: Any) -> list[Use]:
        """The embedder, and the judge of acceptability where one is named."""
        judge = [] if self.acceptability is None else [Use(self.acceptability, ("slor", "classify"), "acceptability")]
        return [Use(self.embedder, "embed", "embedder"), *judge]

    def warnings(self, source: Any) -> list[str]:
        """Controls that are not like what they are a control of: twins of items, and corpora."""
        matches = {name: corpus.matched for name, corpus in source.corpora.items() if corpus.matched is not None}
        unlike = differences({name: corpus.sentences for name, corpus in source.corpora.items()}, matches)
        return [*self.twin_warnings(source), *unlike]

    def twin_warnings(self, source: Any) -> list[str]:
        """Twins with another number of terms or another valence than their items; and that there are too few."""
        if not source.twins:
            return ["no item has a twin (`twins`), so that no score has a control and nothing may be said of one"]
        return [
            f"items.{slug}: {complaint}"
            for slug, item in source.items.items()
            for complaint in (*uneven(item, item.twins), *unlike_in_valence(item, item.twins))
        ]


class Source(QuestionnaireSource):
    """One questionnaire with what it shares with others."""

    responses: Scale
    """The words that `scale` names."""
    corpora: dict[Slug, CorpusSource] = Field(default_factory=dict)
    """What models are adapted to at this scale, by name."""
    pairs: list[LabelledPair] = Field(default_factory=list)
    """Labelled pairs that models are asked, to know how well they say what follows from what."""
    facts: list[Fact] = Field(default_factory=list)
    """Facts that models are asked by likelihoods, to know how well these say how often something is so."""


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check a questionnaire, its response scale, and the corpora in use.

    `shared`: the folder with `scales`, `corpora` and `pairs`; a corpus speaks of questionnaires beside this one.
    UserError where one is missing, or something in it is wrong.
    """
    written, scale = load_questionnaire(path, shared / "scales")
    corpora = {name: load_corpus(shared / "corpora" / f"{name}.yaml") for name in settings.corpora}
    # Corpora expect something of questionnaires that there are; a control stands beside each intervention, at
    # most.
    folder = shared / "corpora"
    known, taken = {path.stem for path in path.parent.glob("*.yaml")}, set[str]()
    interventions = {name for name, corpus in corpora.items() if corpus.role == "intervention"}
    for name, corpus in corpora.items():
        for questionnaire in corpus.expect:
            if questionnaire not in known:
                what, where = f"no questionnaire {questionnaire!r}", f"{folder / f'{name}.yaml'}: expect"
                raise UserError(what, where=where, remedy=nearest(questionnaire, known))
    for name, corpus in corpora.items():
        if corpus.matched is None:
            continue
        where, to = f"{folder / f'{name}.yaml'}: matched.to", corpus.matched.to
        if to not in interventions:
            remedy = "put it under `corpora` of params.yaml, or mend the name"
            raise UserError(f"no intervention {to!r} is in use", where=where, remedy=remedy)
        if to in taken:
            raise UserError(f"{to!r} has another control", where=where, remedy="keep one under `corpora`")
        taken.add(to)
    pairs, facts = load_pairs(shared / "pairs" / "entailment-pairs.csv"), load_facts(shared / "pairs" / "facts.csv")
    shares = {"responses": scale, "corpora": corpora, "pairs": pairs, "facts": facts}
    return Source.model_validate({**written.model_dump(by_alias=True), **shares})


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model answers questionnaires."""
    return catalogue.entails(model)

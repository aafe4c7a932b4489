"""Declarations of questionnaires: settings, source, response scale and corpora."""

import math
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from evenruler.errors import UnfinishedError, UserError, suggest_nearest
from evenruler.instruments.instrument import (
    BaseSettings,
    ByProfile,
    BySize,
    FigureHeading,
    ToolUse,
    by_profile,
    by_size,
    entries_of_profile,
)
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.sentences import refuse_items
from evenruler.instruments.questionnaires.declare.shared import (
    MNLI,
    OPEN,
    CorpusSource,
    Fact,
    LabelledPair,
    control_mismatches,
    load_corpus,
    load_facts,
    load_pairs,
)
from evenruler.instruments.questionnaires.declare.source import (
    QuestionnaireSource,
    ResponseScale,
    load_questionnaire,
    placebo_warnings,
    unlike_in_valence,
)
from evenruler.instruments.questionnaires.declare.subjects import Subject, load_subjects
from evenruler.measurement.randomisation import FEWEST_ALTERNATIVES
from evenruler.models.declarations import Catalogue
from evenruler.strict import Slug, StrictModel, read_yaml

__all__ = ["Settings", "Source", "headings", "load", "takes"]

I_OR_OTHERS = "i_less_others"
"""The headline: answers about I minus those about other subjects."""

BEYOND = "beyond_twins"
"""Answers to items minus those to their impersonal twins; descriptive."""

CONTROL = "all the time against never"
"""The positive control: what a premise says of how often must move the answer."""

AGREES, ORDER_SHIFT = (
    "acquiescence",
    "order_shift",
)  # chat models: agreement with any term, and effect of the order

ITEM_REST = "item_rest"
"""Correlation of an item with the rest of its scale, over lineages of models."""

FIT_AGREEMENT = "icc_over_fits"

MOVED, CHANGED = "moved", "changed"
"""How far answers move with a corpus minus with its control, and with the corpus alone."""

PAIRS = "pairs"
"""Of accuracy: the unit, and the `item_set` by which models are judged."""

ALPHA, RHO = "alpha", "rho"
"""Internal consistency over lineages of models, and the correlation with another scale or
subscale."""

METHODS = {
    "head": "a head for entailment",
    "verbaliser": "a verbaliser (yes, no or maybe)",
    "sentence": "the likelihood of premise and hypothesis as one text",
    "mlm": "the likelihood of intensifiers in their place",
    "options": "which word fits, in a chat",
}
"""The methods by which a model is asked, in words."""


_FIGURES: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("figures.yaml"))


def headings(plan: QuestionnairePlan) -> list[FigureHeading]:
    """The headings of a questionnaire's figures on a model."""
    accuracy_plan = plan["accuracy"]
    placeholders = {
        "n": sum(pair["set"] == MNLI for pair in accuracy_plan["pairs"]),
        "threshold": accuracy_plan["threshold"],
    }
    figure_headings: list[FigureHeading] = []
    for heading_fields in _FIGURES:
        meaning = heading_fields["meaning"].format(**placeholders)
        figure_headings.append(FigureHeading(**{**heading_fields, "meaning": meaning}))
    for name, corpus_plan in sorted(plan["corpora"].items()):
        intervention, dimensions = corpus_plan["control_of"], {"corpus": name}
        if intervention:
            what = (
                f"how far a model's answers move when it is adapted to {name}, the control of "
                f"{intervention}"
            )
            heading = FigureHeading(CHANGED, f"moved with {name}", what, dimensions)
            figure_headings.append(heading)
            continue
        expected = {"none": "; it should not", OPEN: ""}.get(
            corpus_plan["expected"], f"; {corpus_plan['expected']} is expected"
        )
        what = (
            f"how far the answers of a model that is adapted to {name} move, less how far they "
            "move when it is adapted "
            f"to the control, on the scale itself (interval: t over fits){expected}"
        )
        heading = FigureHeading(MOVED, f"moved by {name}", what, dimensions, figure_type="headline")
        figure_headings.append(heading)
    return figure_headings


SPREAD = 0.1
"""SD over subjects of their mean answers to a scale, in points: of GAD-7 on one fit."""

N_WORDINGS = 3
"""Sentences about I in an item."""


def minimum_detectable_effect(subjects: int, spread: float = SPREAD) -> float:
    """Points by which I must differ from the mean of the others to be the furthest of all in 8 of
    10 studies, where subjects vary by `spread`, normally.

    The furthest of n has its 80th percentile where each is within it with p = .8 ** (1 / n).
    """
    from scipy.special import ndtri  # takes a while to import

    nearer = 0.8 ** (1 / subjects)
    furthest = float(ndtri((1 + nearer) / 2))
    beyond = float(ndtri(0.8)) / math.sqrt(N_WORDINGS)
    return spread * (furthest + beyond)


MOST = 127
"""Most epochs or fits of an adaptation: the limit of int8 in tables."""

_ToMost = Annotated[int, Field(ge=1, le=MOST)]
_FromThree = Annotated[int, Field(ge=3)]
BATCH = 8
"""Sentences per step of an adaptation (ours)."""


class CorpusSettings(StrictModel):
    """How models are adapted to one corpus (EMPALC, section 4.4)."""

    epochs: ByProfile[_ToMost] = by_profile(2, 20)
    learning_rate: ByProfile[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = by_profile(
        2e-4, 2e-5
    )
    """The paper's at full scale; higher for the few epochs of the quick scale."""


class Source(QuestionnaireSource):
    """One questionnaire with its shared files loaded."""

    responses: ResponseScale
    """The response scale named by `scale`."""
    corpora: dict[Slug, CorpusSource] = Field(default_factory=dict)
    """Corpora in use at this scale, by name."""
    missing_corpora: dict[Slug, str] = Field(default_factory=dict)
    """Why corpora are left out, by name: their file of sentences is not there."""
    pairs: list[LabelledPair] = Field(default_factory=list)
    """Labelled pairs that measure a model's accuracy in entailment."""
    facts: list[Fact] = Field(default_factory=list)
    """Facts that measure a model's accuracy in the likelihood methods."""
    subjects: list[Subject] = Field(default_factory=list)
    """Whom items are asked about besides I."""


class Settings(BaseSettings[Source]):
    """Settings for asking and scoring one questionnaire."""

    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of the two-way normalisation: above 1 evens out, below 1 sharpens."""
    three_way: bool = False
    """Use entailment's share of all three answers; by default neutral is left out."""
    accuracy: float = Field(default=0.7, gt=0, lt=1)
    """The accuracy threshold for every method: the lower end of the 95% interval of accuracy, on
    labelled pairs or (likelihoods) on facts, must exceed it. A model that fails it counts
    nowhere."""
    accuracy_pairs: ByProfile[_FromThree] = by_profile(300, 501)
    """The most labelled pairs asked of each set, evenly over labels."""
    embedder: Slug
    """The embedding model that measures the similarity of prompts to their question (SS)."""
    acceptability: Slug | None = None
    """The judge of acceptability (LA): a model that can `slor`, else one that can `classify`."""
    corpora: Annotated[dict[Slug, CorpusSettings], BeforeValidator(entries_of_profile)] = Field(
        default_factory=dict
    )
    """Corpora that models with `intervention` are adapted to, by file name under `shared/corpora`;
    an entry with `scale` is used only at that scale."""
    fits: ByProfile[_ToMost] = by_profile(1, 6)
    """Fits per corpus, each with another seed and another held-out part; below six the course is
    shown without a verdict."""
    adapted: ByProfile[Annotated[int, Field(ge=1)]] = by_profile(1000, 1000)
    """The most items asked after adaptation."""
    prefixed: BySize[Annotated[int, Field(ge=0)]] = by_size(0, 0, 1000)
    """Number of items also asked after prefixes."""
    bound: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """What `below` means, in points of the scale: of I less others, and of moves beyond a control.
    The positive control must reach it."""
    subjects: BySize[Annotated[int, Field(ge=0)]] = by_size(6, 20, 20)
    """The most subjects that items are asked about besides I; below 19 nothing is detected."""
    least: int = Field(default=6, ge=2)
    """Fewest items for a verdict; below it, none is asked about other subjects."""
    asked: ByProfile[bool] = True
    """Whether the pipeline asks models; if not, it only builds rows, and models are asked when
    measured."""

    def detects(self, source: Source, method: str | None = None) -> str | None:
        """The points between I and others that are detected on one model at 80 % power, in words.

        None where items or subjects are too few for anything to be detected.
        """
        n_items = len(source.items) - len(refuse_items(source.items, source.subjects))
        n_subjects = min(self.subjects, len(source.subjects))
        if n_items < self.least or n_subjects < FEWEST_ALTERNATIVES:
            return None
        detected = minimum_detectable_effect(n_subjects)
        return (
            f"{detected:.2f} points between I and {n_subjects} others in {n_items} items, where "
            f"subjects vary by {SPREAD:g}"
        )

    def uses(self, source: Source) -> list[ToolUse]:
        """The models in use: the embedder, and the judge of acceptability, if any."""
        tools = [ToolUse(self.embedder, "embed", "embedder")]
        if self.acceptability is not None:
            tools.append(ToolUse(self.acceptability, ("slor", "classify"), "acceptability"))
        return tools

    def extra_files(self, name: str, source: Source, root: Path) -> dict[str, Path]:
        """Files of sentences that corpora name, by corpus."""
        files: dict[str, Path] = {}
        for corpus_name, corpus in source.corpora.items():
            if corpus.file is not None:
                files[corpus_name] = Path(corpus.file).expanduser()
        return files

    def warnings(self, source: Source) -> list[str]:
        """Warnings on too few items, on corpora that are left out, and on controls that do not
        match what they control: twins, and corpora.
        """
        matches = {
            name: corpus.matched
            for name, corpus in source.corpora.items()
            if corpus.matched is not None
        }
        sentences = {name: corpus.sentences for name, corpus in source.corpora.items()}
        unlike = control_mismatches(sentences, matches)
        n = len(source.items)
        warnings = [*self.twin_warnings(source), *unlike]
        if source.missing_corpora:
            reasons = source.missing_corpora.items()
            lines = [f"{name} ({why})" for name, why in reasons]
            warnings.append(f"it does without the corpora {', '.join(lines)}")
        if n < self.least:
            items = "item" if n == 1 else "items"
            few = f"{n} {items} (at least {self.least} needed): no verdict is possible"
            warnings.insert(0, few)
        return warnings

    def twin_warnings(self, source: Source) -> list[str]:
        """Warnings on twins that differ from their items in number of terms or valence, or are too
        few.
        """
        if not source.twins:
            return ["no item has a twin (`twins`), so no answer is compared with the impersonal"]
        warnings: list[str] = []
        for slug, item in source.items.items():
            complaints = chain(
                placebo_warnings(item, item.twins), unlike_in_valence(item, item.twins)
            )
            warnings += [f"items.{slug}: {complaint}" for complaint in complaints]
        return warnings


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check a questionnaire, its response scale, and the corpora in use.

    `shared`: the folder with `scales`, `corpora` and `pairs`; corpora may refer to questionnaires
    in the folder of `path`. UserError where a file is missing or invalid, but for the sentences of
    a corpus, which is left out.
    """
    written, scale = load_questionnaire(path, shared / "scales")
    folder = shared / "corpora"
    corpora, missing = _load_corpora(folder, settings.corpora)
    # Corpora may only refer to existing questionnaires, and each intervention has at most one
    # control.
    questionnaire_names = {path.stem for path in path.parent.glob("*.yaml")}
    controlled_interventions: set[str] = set()
    interventions = {name for name, corpus in corpora.items() if corpus.role == "intervention"}
    for name, corpus in corpora.items():
        for questionnaire in corpus.expect:
            if questionnaire not in questionnaire_names:
                raise UserError(
                    f"no questionnaire {questionnaire!r}",
                    where=f"{folder / f'{name}.yaml'}: expect",
                    remedy=suggest_nearest(questionnaire, questionnaire_names),
                )
    for name, corpus in corpora.items():
        if corpus.matched is None:
            continue
        where = f"{folder / f'{name}.yaml'}: matched.to"
        to = corpus.matched.to
        if to not in interventions:
            remedy = "put it under `corpora` of params.yaml, or check the name"
            raise UserError(f"no intervention {to!r} is in use", where=where, remedy=remedy)
        if to in controlled_interventions:
            raise UserError(
                f"{to!r} has another control", where=where, remedy="keep one under `corpora`"
            )
        controlled_interventions.add(to)
    pairs = load_pairs(shared / "pairs" / "entailment-pairs.csv")
    facts = load_facts(shared / "pairs" / "facts.csv")
    subjects = load_subjects(shared / "pairs" / "subjects.csv")
    shares = {
        "responses": scale,
        "corpora": corpora,
        "missing_corpora": missing,
        "pairs": pairs,
        "facts": facts,
        "subjects": subjects,
    }
    return Source.model_validate({**written.model_dump(by_alias=True), **shares})


def _load_corpora(
    folder: Path, names: Iterable[str]
) -> tuple[dict[str, CorpusSource], dict[str, str]]:
    """The corpora of these names, and by name why others are left out: they, or what they control,
    have no file of sentences.
    """
    corpora: dict[str, CorpusSource] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            corpora[name] = load_corpus(folder / f"{name}.yaml")
        except UnfinishedError as problem:
            missing[name] = problem.what
    for name, corpus in [*corpora.items()]:
        if corpus.matched is not None and corpus.matched.to in missing:
            missing[name] = f"the control of {corpus.matched.to}"
            del corpora[name]
    return corpora, missing


takes = Catalogue.may_answer_questionnaires

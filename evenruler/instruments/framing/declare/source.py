"""Sources of contrasts, `data/sources/framing/*.yaml`: a question with and without cues that it is
a test; settings.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations, permutations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_serializer, model_validator
from scipy.special import stdtrit

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.framing.declare.tasks import TaskEntry, faults_of_placebos, task_faults
from evenruler.instruments.instrument import MEND, BaseSettings, ByProfile, BySize, Source, by_size
from evenruler.measurement.inputs import FEWEST_PLACEBOS
from evenruler.strict import (
    Seed,
    Slug,
    StrictModel,
    Text,
    Word,
    read_yaml,
    require_written,
    validate,
)
from evenruler.tables.schemas import BARE
from evenruler.text.spelling import describe_duplicates, find_duplicates

Mass = Literal["words", "forms", "first_token"]
"""Mass of a form. `words`: of all its tokens, with no letter after them; `forms`: with anything
after them, as in lm-evaluation-harness; `first_token`: of its first token alone, as in the
paper."""

Choices = Literal["chat", "every"]
"""Which models are sampled: those tuned to chat, or every one."""

PromptFormats = Literal["own", "every"]
"""`own`: words after the plain prompt, replies in the chat template; for models with only one of
the two, that one. `every`: both in both."""

Metric = Literal["token", "choice"]
"""Probability of words at the decision point, or shares of sampled replies."""

LEAST_OF_CHOICES = 0.4
"""The share of valid replies below which a cell is left out: the paper leaves out cells with over
60% invalid."""


FEWEST_WORDINGS = 3
"""Fewest wordings of a cue for a verdict."""

OF_WORDINGS, OF_STIMULI, OF_REPLIES = 67.0, 36.0, 3750.0
"""Variances of a change on SmolLM2, squared points: of a wording, of a stimulus; of two replies at
a share of 25%."""


class AskingSettings(StrictModel):
    """Settings of a contrast that are also in its plan."""

    asked: ByProfile[bool] = True
    """Whether models are asked when it is built. A benchmark that is only built can still be
    measured later."""
    mass: Mass = "words"
    placebo_stimuli: BySize[Annotated[int, Field(ge=1)]] = by_size(4, 1000, 1000)
    """Most stimuli about which each placebo is asked; different placebos get different stimuli."""
    most_wordings: BySize[Annotated[int, Field(ge=1)]] = by_size(1, 1000, 1000)
    """Most wordings of a cue that are asked, in order. A verdict needs `FEWEST_WORDINGS`."""
    most_placebos: BySize[Annotated[int, Field(ge=0)]] = by_size(6, 1000, 1000)
    """The same for placebos."""
    orders: BySize[Annotated[int, Field(ge=2, multiple_of=2)]] = by_size(2, 2, 1000)
    """Most orders of options that are asked, in whole pairs of an order and its reverse."""
    calibrated: bool = True
    """Whether the probabilities of letters are divided by those after a prompt without content."""
    prompt_formats: BySize[PromptFormats] = by_size("own", "own", "every")
    generations: BySize[Annotated[int, Field(ge=0)]] = by_size(1, 1, 10)
    """Sampled replies to a prompt; 0 for none. With one reply and one wording placebos are not
    sampled."""
    new_tokens: BySize[Annotated[int, Field(ge=1)]] = by_size(20, 20, 50)
    """Most tokens in a reply."""
    choices: Choices = "chat"
    confirmed: BySize[Metric] = by_size("token", "token", "choice")
    """The readout of headline figures."""
    least_coverage: float = Field(default=0.1, gt=0, lt=1)
    """Least share of answers that name an option; what rests on a cell with less is invalid."""
    smallest: float = Field(default=10.0, gt=0, le=100)
    """Smallest change of interest of the headline's class, percentage points."""
    least: int = Field(default=10, ge=2)
    """Fewest stimuli for a verdict."""
    seed: Seed = 0


class Settings(AskingSettings, BaseSettings["ContrastSource"]):
    """Settings for building and asking one contrast of framings."""

    variant: Slug = "balanced"
    """Of templates and options, where the contrast has several."""
    stimuli: BySize[Annotated[int, Field(ge=1)]] = by_size(12, 24, 1000)
    """Most stimuli that are asked about, evenly spread over the list."""

    def detects(self, source: "ContrastSource", method: str | None = None) -> str | None:
        """Minimum detectable change of each headline, by average variances on SmolLM2
        (docs/controls.md).
        """
        stimuli, detectable_changes = min(self.stimuli, len(source.stimuli)), []
        sampled = method == "sampled" or self.confirmed == "choice"
        replies = OF_REPLIES / 2 / max(self.generations, 1) if sampled else 0.0
        for entry, (cues, placebos) in self._words(source).items():
            if cues >= FEWEST_WORDINGS and placebos >= FEWEST_PLACEBOS and stimuli >= self.least:
                of_stimuli = OF_STIMULI + replies * (1 + 1 / cues)
                variance = OF_WORDINGS * (1 / cues + 1 / placebos) + of_stimuli / stimuli
                t_quantiles = [
                    stdtrit(cues + placebos - 2, probability)
                    for probability in (1 - 0.025 / len(source.confirmed), 0.8)
                ]
                detectable = sum(t_quantiles) * variance**0.5
                detectable_changes.append(f"{detectable:.0f} points ({entry.to_text()})")
        return ", ".join(detectable_changes) or None

    def warnings(self, source: "ContrastSource") -> list[str]:
        """Headlines whose verdict will be inconclusive at any size."""
        every = self.model_copy(update={"most_wordings": 1000, "most_placebos": 1000})
        words = every._words(source)
        few = [
            entry
            for entry, (cues, n) in words.items()
            if cues < FEWEST_WORDINGS or n < FEWEST_PLACEBOS
        ]
        least = f"fewer than {FEWEST_WORDINGS} wordings or {FEWEST_PLACEBOS} placebos"
        if len(source.stimuli) < self.least:
            few, least = list(words), f"fewer than {self.least} stimuli"
        effects = ", ".join(effect.to_text() for effect in few)
        return [f"{least} of {effects}: its verdict will be inconclusive"] if few else []

    def _words(self, source: "ContrastSource") -> "dict[ConfirmedEffect, tuple[int, int]]":
        """Number of wordings and placebos that are asked for each headline."""
        counts_by_headline = {}
        for entry in source.confirmed:
            placebos_of_tasks = [
                task.placebos
                for key, task in source.tasks_comparing(entry.cue).items()
                if entry.task in (None, key)
            ]
            placebos_of_cue = [
                by_factor[entry.cue] for by_factor in placebos_of_tasks if entry.cue in by_factor
            ]
            cues = min(
                self.most_wordings,
                1 + min((len(placebos.wordings) for placebos in placebos_of_cue), default=0),
            )
            counts_by_headline[entry] = (
                cues,
                min(
                    self.most_placebos,
                    min((len(placebos.texts) for placebos in placebos_of_cue), default=0),
                ),
            )
        return counts_by_headline


Study = Literal["indirect-probing", "p-at"]
"""A published study whose own measures are known (appendix B)."""


class Outcome(StrictModel):
    """A class of answers."""

    forms: list[Word] = Field(min_length=1)
    """Its surface forms, lower-case unless they never are; capitals and spaces before them are
    added when asked."""
    terms: list[Word] = Field(default=[])
    """Words by which sampled replies are classified besides the forms (nouns, descriptors); token
    mass ignores them."""
    not_: list[Word] = Field(default=[], alias="not")
    """Phrases of replies in which forms and terms do not count, such as "years old"."""


class StimulusEntry(StrictModel):
    """What the question is about."""

    text: Word
    """With its article."""
    group: Slug | None = None
    """The group that it belongs to, where groups are compared."""


def _accept_bare_value(written: type, key: str) -> BeforeValidator:
    """Validator that lets an entry be written as the mere value of `key`."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, written) else value)


class Continuation(StrictModel):
    """Check whether answers of one class go on to name another class (appendix A.3)."""

    outcome: Slug
    keywords: list[Word] = Field(min_length=1)


class ConfirmedEffect(StrictModel):
    """What a headline is about: a cue in one task, or over its tasks. It is written as `FACTOR` or
    `FACTOR, TASK`.
    """

    cue: Text
    task: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _parse_text(cls, written: object) -> object:
        if not isinstance(written, str):
            return written
        cue, _, task = written.strip().partition(", ")
        return {"cue": cue, "task": task or None}

    @model_serializer
    def to_text(self) -> str:
        """As it is written, in sources and plans."""
        return f"{self.cue}, {self.task}" if self.task else self.cue


class ContrastSource(Source):
    """One contrast: its factors, tasks, stimuli and outcome classes."""

    factors: dict[Slug, Text] = Field(min_length=1, max_length=3)
    """The cues, each described in words; a prompt either has a cue or not."""
    headlines: list[ConfirmedEffect] = Field(default_factory=list, max_length=5)
    """Headline figures, each `FACTOR` or `FACTOR, TASK`; by default one for every factor."""
    focal_outcome: Slug | None = None
    """The class whose share they are about; without one there are no headlines."""
    outcomes: dict[Slug, Annotated[Outcome, _accept_bare_value(list, "forms")]] = Field(
        min_length=2
    )
    stimuli: dict[Slug, Annotated[StimulusEntry, _accept_bare_value(str, "text")]] = Field(
        min_length=1
    )
    tasks: dict[Slug, TaskEntry] = Field(min_length=1)
    continuation: Continuation | None = None
    replicates: Study | None = None
    """The published study whose own measures are computed too."""

    @field_validator("outcomes")
    @classmethod
    def _distinct_forms(cls, outcomes: dict[str, Outcome]) -> dict[str, Outcome]:
        for name, outcome in outcomes.items():
            _require_distinct_texts(f"in class {name} the form", [*outcome.forms, *outcome.terms])
        for (first_name, first), (second_name, second) in combinations(outcomes.items(), 2):
            words = [*first.forms, *first.terms, *second.forms, *second.terms]
            same_forms = find_duplicates(words)
            if same_forms:
                raise ValueError(
                    f"the form {describe_duplicates(*same_forms)} is in two classes, {first_name} and "
                    f"{second_name}"
                )
        forms: list[str] = []
        for outcome in outcomes.values():
            forms += [form.lower() for form in outcome.forms]
        for form, longer in permutations(forms, 2):
            # No letter follows the shorter one, so that its probability would include that of the
            # longer one.
            if longer.startswith(form) and not longer[len(form)].isalpha():
                raise ValueError(
                    f"{longer!r} begins with the form {form!r} and would be counted twice"
                )
        return outcomes

    @field_validator("stimuli")
    @classmethod
    def _distinct_stimuli(cls, stimuli: dict[str, StimulusEntry]) -> dict[str, StimulusEntry]:
        _require_distinct_texts("the stimulus", (entry.text for entry in stimuli.values()))
        return stimuli

    @model_validator(mode="after")
    def _lint(self) -> "ContrastSource":
        self._require_free_names()
        self._require_outcome_of_continuation()
        self._require_replicable()
        fault = next(self._faults_of_tasks(), None)
        if fault is not None:
            raise ValueError(fault)
        for factor in self.factors:
            self._require_measurable(factor)
        self._require_headline_class()
        for effect in self.headlines:
            self._require_measured_effect(effect)
        return self

    def _require_free_names(self) -> None:
        """No factor has a name that tables use for something else."""
        reserved_names = {BARE, "all"} & set(self.factors)
        if reserved_names:
            raise ValueError(
                f"factors: tables use the name {min(reserved_names)!r} for something else"
            )

    def _require_outcome_of_continuation(self) -> None:
        if self.continuation is not None and self.continuation.outcome not in self.outcomes:
            hint = suggest_nearest(self.continuation.outcome, self.outcomes)
            raise ValueError(
                f"continuation names the outcome {self.continuation.outcome!r}; {hint}"
            )

    def _require_replicable(self) -> None:
        """A contrast that replicates a study has its factor, classes and groups of stimuli."""
        groups = {stimulus.group for stimulus in self.stimuli.values()}
        compares_two_classes = len(self.outcomes) == 2 and len(self.factors) == 1
        if self.replicates is not None and not compares_two_classes:
            raise ValueError(
                f"a replication of {self.replicates} compares two classes under one factor"
            )
        if self.replicates == "p-at" and (len(groups) != 2 or None in groups):
            raise ValueError("a replication of p-at needs stimuli of two groups")

    def _faults_of_tasks(self) -> Iterator[str]:
        """What is wrong with tasks, then with their placebos."""
        factors, outcomes = list(self.factors), list(self.outcomes)
        for name, task in self.tasks.items():
            yield from task_faults(name, task, factors, outcomes, self.variants)
        words = {
            outcome: [*answer_class.forms, *answer_class.terms]
            for outcome, answer_class in self.outcomes.items()
        }
        yield from faults_of_placebos(self.tasks, words, self.variants)

    def _require_measurable(self, factor: str) -> None:
        """Some pair of cells measures a factor; if it has placebos, every task that measures it
        has equally many.
        """
        comparing = self.tasks_comparing(factor)
        if not comparing:
            raise ValueError(
                f"no task has two cells that differ in {factor} alone, so it cannot be measured"
            )
        placebos = {name: task.placebos.get(factor) for name, task in comparing.items()}
        numbers = {
            name: len(task_placebos.texts) if task_placebos else 0
            for name, task_placebos in placebos.items()
        }
        if len(set(numbers.values())) > 1:
            placebo_counts = [f"{number} in {name}" for name, number in numbers.items()]
            raise ValueError(
                f"placebos of {factor} are paired over tasks, so each task needs as many: "
                f"{', '.join(placebo_counts)}"
            )

    def _require_headline_class(self) -> None:
        """Headlines are about a class, and it exists."""
        if self.focal_outcome is None and self.headlines:
            raise ValueError(
                "headlines names effects, and `focal_outcome` no class whose share they change"
            )
        if self.focal_outcome is not None and self.focal_outcome not in self.outcomes:
            raise ValueError(
                f"focal_outcome names the class {self.focal_outcome!r}; "
                f"{suggest_nearest(self.focal_outcome, self.outcomes)}"
            )

    def _require_measured_effect(self, effect: ConfirmedEffect) -> None:
        """The factor of an effect exists, and its task, if it names one, measures the factor."""
        if effect.cue not in self.factors:
            hint = suggest_nearest(effect.cue, self.factors)
            raise ValueError(f"headlines names the factor {effect.cue!r}; {hint}")
        measured = self.tasks_comparing(effect.cue)
        if effect.task not in (None, *measured):
            there = ", ".join(measured)
            raise ValueError(
                f"headlines names {effect.task!r} for {effect.cue}, which is measured in {there}"
            )

    def tasks_comparing(self, factor: str) -> dict[str, TaskEntry]:
        """The tasks with cells that differ in a factor alone, by slug."""
        return {slug: task for slug, task in self.tasks.items() if task.pairs(factor)}

    @property
    def variants(self) -> list[str]:
        """The variants that tasks distinguish; empty where everything is the same for all."""
        variants: list[str] = []
        for task in self.tasks.values():
            variants += task.variants
        return list(dict.fromkeys(variants))

    @property
    def confirmed(self) -> list[ConfirmedEffect]:
        """The effects that get a verdict."""
        if self.focal_outcome is None:
            return []
        return self.headlines or [ConfirmedEffect(cue=factor) for factor in self.factors]


def _require_distinct_texts(what: str, texts: Iterable[str]) -> None:
    same_texts = find_duplicates(texts)
    if same_texts:
        raise ValueError(f"{what} {describe_duplicates(*same_texts)} stands there twice")


def load(path: Path, settings: Settings, shared: Path) -> ContrastSource:
    """Read and check the source of one contrast, and that it has the variant of the settings.

    UserError where it fails; for a missing file it names the nearest one.
    """
    require_written(path, "source for the contrast", MEND)
    source = validate(ContrastSource, read_yaml(path), path)
    if settings.variant not in (source.variants or [Settings.model_fields["variant"].default]):
        raise UserError(
            f"no variant {settings.variant!r} in {path}; "
            f"{suggest_nearest(settings.variant, source.variants)}",
            where=f"params.yaml: instruments.{path.stem}.variant",
            remedy="check the name or leave it out",
        )
    return source

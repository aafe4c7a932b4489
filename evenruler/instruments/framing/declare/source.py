"""Sources of contrasts, `data/sources/framing/*.yaml`: a question with and without cues that it is
a test; settings.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations, permutations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_serializer, model_validator

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.framing.declare.grammars import (
    Grammar,
    SampledSentences,
    read_shared_grammars,
    sample_sentences,
)
from evenruler.instruments.framing.declare.tasks import (
    Replacement,
    TaskEntry,
    faults_of_alternatives,
    task_faults,
)
from evenruler.instruments.instrument import MEND, BaseSettings, ByProfile, BySize, Source, by_size
from evenruler.measurement.randomisation import FEWEST_ALTERNATIVES
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


FEWEST_STIMULI = 10
"""Fewest stimuli for a verdict."""

SPREAD, OF_REPLIES = 8.0, 1875.0
"""On SmolLM2: standard deviation of the changes by alternatives, points; variance of a reply at a
share of 25%, squared points."""

DETECTED_SPREADS = 3.4
"""A change of so many standard deviations of the alternatives is the furthest of 40 in 8 of 10
studies (docs/framing.md)."""


class AskingSettings(StrictModel):
    """Settings of a contrast that are also in its plan."""

    asked: ByProfile[bool] = True
    """Whether models are asked when it is built. A benchmark that is only built can still be
    measured later."""
    mass: Mass = "words"
    calibrated: bool = True
    """Whether the probabilities of letters are divided by those after a prompt without content."""
    prompt_formats: BySize[PromptFormats] = by_size("own", "own", "every")
    generations: BySize[Annotated[int, Field(ge=0)]] = by_size(1, 1, 10)
    """Sampled replies to a prompt; 0 for none. Those to alternatives are sampled where the headline
    rests on replies."""
    new_tokens: BySize[Annotated[int, Field(ge=1)]] = by_size(20, 20, 50)
    """Most tokens in a reply."""
    choices: Choices = "chat"
    confirmed: BySize[Metric] = by_size("token", "token", "choice")
    """The readout of headline figures."""
    least_coverage: float = Field(default=0.1, gt=0, lt=1)
    """Least share of answers that name an option; what rests on a cell with less is invalid."""
    bound: float = Field(default=10.0, gt=0, le=100)
    """X of `below X`: a change of the headline's class, percentage points."""
    seed: Seed = 0


class Settings(AskingSettings, BaseSettings["ContrastSource"]):
    """Settings for building and asking one contrast of framings."""

    variant: Slug = "balanced"
    """Of templates and options, where the contrast has several."""
    stimuli: BySize[Annotated[int, Field(ge=1)]] = by_size(12, 24, 1000)
    """Most stimuli that are asked about, evenly spread over the list."""
    alternatives: BySize[Annotated[int, Field(ge=0)]] = by_size(39, 39, 39)
    """Number of sentences with which a cue is compared; 0 leaves it described."""

    def detects(self, source: "ContrastSource", method: str | None = None) -> str | None:
        """The change of each headline that is detected in 8 of 10 studies, by the spread of
        alternatives on SmolLM2 (docs/framing.md).
        """
        stimuli = min(self.stimuli, len(source.stimuli))
        variance = SPREAD**2
        if method == "sampled" or self.confirmed == "choice":
            variance += OF_REPLIES / max(self.generations, 1) / stimuli
        change = DETECTED_SPREADS * variance**0.5
        judged = [
            f"{change:.0f} points ({headline.to_text()})"
            for headline in source.confirmed
            if self._why_no_verdict(source, headline, stimuli) is None
        ]
        return ", ".join(judged) or None

    def warnings(self, source: "ContrastSource") -> list[str]:
        """Headlines that are only described at any size."""
        lines: list[str] = []
        for headline in source.confirmed:
            why = self._why_no_verdict(source, headline, len(source.stimuli))
            if why is not None:
                lines.append(f"{headline.to_text()} will only be described: {why}")
        return lines

    def _why_no_verdict(
        self, source: "ContrastSource", headline: "ConfirmedEffect", stimuli: int
    ) -> str | None:
        """Why a headline over so many stimuli gets no verdict: too few sentences to compare its cue
        with, or too few stimuli; None where it gets one.
        """
        sentences = source.fewest_sentences(headline, self.variant, self.alternatives)
        if sentences < FEWEST_ALTERNATIVES:
            return f"{sentences} sentences in place of the cue, fewer than {FEWEST_ALTERNATIVES}"
        if stimuli < FEWEST_STIMULI:
            return f"{stimuli} stimuli, fewer than {FEWEST_STIMULI}"
        return None


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
        """The fields of an effect written as `FACTOR` or `FACTOR, TASK`; anything else as it is."""
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
    control_outcome: Slug | None = None
    """The class that the controls of tasks tell."""
    construct_words: list[Word] = Field(default=[])
    """Words of the construct besides those of classes: a sentence with one is no alternative."""
    grammars: dict[Slug, Grammar] = Field(default_factory=dict)
    """By name; those that several contrasts share are in `shared/grammars.yaml`."""
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
        """Refuse a form or term that stands twice, in one class or in two, and a form at the
        beginning of another, since its probability would count twice (ValueError).
        """
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
        """Refuse two stimuli with the same text (ValueError)."""
        _require_distinct_texts("the stimulus", (entry.text for entry in stimuli.values()))
        return stimuli

    @model_validator(mode="after")
    def _require_consistent_contrast(self) -> "ContrastSource":
        """Refuse a contrast whose parts do not fit, or that measures nothing (ValueError)."""
        self._require_free_names()
        self._require_outcome_of_continuation()
        self._require_replicable()
        fault = next(self._faults_of_tasks(), None)
        if fault is not None:
            raise ValueError(fault)
        for factor in self.factors:
            self._require_measurable(factor)
        self._require_control_class()
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
        """ValueError where `continuation` names a class that the contrast does not have."""
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
        """What is wrong with tasks, then with what stands in place of their cues."""
        factors, outcomes = list(self.factors), list(self.outcomes)
        for name, task in self.tasks.items():
            yield from task_faults(name, task, factors, outcomes, self.variants)
        yield from faults_of_alternatives(self.tasks, self.grammars, self.words_of_construct)

    def _require_measurable(self, factor: str) -> None:
        """Some pair of cells measures a factor."""
        if not self.tasks_comparing(factor):
            raise ValueError(
                f"no task has two cells that differ in {factor} alone, so it cannot be measured"
            )

    def _require_control_class(self) -> None:
        """Controls tell a class, and it exists."""
        if self.control_outcome is not None and self.control_outcome not in self.outcomes:
            raise ValueError(
                f"control_outcome names the class {self.control_outcome!r}; "
                f"{suggest_nearest(self.control_outcome, self.outcomes)}"
            )
        for name, task in self.tasks.items():
            for factor, alternatives in task.alternatives.items():
                if alternatives.control is not None and self.control_outcome is None:
                    raise ValueError(
                        f"task {name}, alternatives of {factor}: a control, and `control_outcome` "
                        "names no class that it tells"
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
        grammars = {
            task.alternatives[effect.cue].grammar
            for task in measured.values()
            if effect.cue in task.alternatives
        }
        if effect.task is None and len(grammars) > 1:
            raise ValueError(
                f"the headline {effect.cue} is a mean over tasks, so their alternatives are of one "
                f"grammar, not of {', '.join(sorted(grammars))}"
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
    def words_of_construct(self) -> list[str]:
        """Words that no alternative may hold: of the construct, and of its classes."""
        words = list(self.construct_words)
        for outcome in self.outcomes.values():
            words += [*outcome.forms, *outcome.terms]
        return words

    def sample(self, task: str, factor: str, n: int) -> SampledSentences:
        """The alternatives to the cue of a factor in a task, at most n."""
        alternatives = self.tasks[task].alternatives[factor]
        grammar = self.grammars[alternatives.grammar]
        return sample_sentences(grammar, alternatives.form, self.words_of_construct, n)

    def replacements(self, task: str, variant: str, n: int) -> Iterator[Replacement]:
        """What stands in place of the cues of a task: at most n alternatives each, and the
        control.
        """
        for factor in self.tasks[task].alternatives:
            texts = self.sample(task, factor, n).texts
            yield from self.tasks[task].replacements(factor, texts, variant)

    def fewest_sentences(self, headline: ConfirmedEffect, variant: str, n: int) -> int:
        """The number of alternatives that a headline is compared with, at most n; 0 without any."""
        numbers: list[int] = []
        for name, task in self.tasks_comparing(headline.cue).items():
            alternatives = task.alternatives.get(headline.cue)
            if headline.task not in (None, name) or alternatives is None:
                continue
            if alternatives.has_variant(variant):
                numbers.append(len(self.sample(name, headline.cue, n).texts))
        return min(numbers, default=0)

    @property
    def confirmed(self) -> list[ConfirmedEffect]:
        """The effects that get a verdict."""
        if self.focal_outcome is None:
            return []
        return self.headlines or [ConfirmedEffect(cue=factor) for factor in self.factors]


def _require_distinct_texts(what: str, texts: Iterable[str]) -> None:
    """ValueError where a text stands twice; `what`: what the texts are, for the message."""
    same_texts = find_duplicates(texts)
    if same_texts:
        raise ValueError(f"{what} {describe_duplicates(*same_texts)} stands there twice")


def load(path: Path, settings: Settings, shared: Path) -> ContrastSource:
    """Read and check the source of one contrast, and that it has the variant of the settings.

    `shared`: the folder with grammars that several contrasts name. UserError where it fails; for a
    missing file it names the nearest one.
    """
    require_written(path, "source for the contrast", MEND)
    content = read_yaml(path)
    if isinstance(content, dict) and isinstance(content.get("grammars", {}), dict):
        content["grammars"] = read_shared_grammars(shared) | content.get("grammars", {})
    source = validate(ContrastSource, content, path)
    if settings.variant not in (source.variants or [Settings.model_fields["variant"].default]):
        raise UserError(
            f"no variant {settings.variant!r} in {path}; "
            f"{suggest_nearest(settings.variant, source.variants)}",
            where=f"params.yaml: instruments.{path.stem}.variant",
            remedy="check the name or leave it out",
        )
    return source

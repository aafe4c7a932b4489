"""`data/sources/framing/*.yaml`: one contrast of framings, a question with and without cues that it is a test."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from evenruler.errors import UserError, nearest
from evenruler.instruments.framing.declare.settings import Settings
from evenruler.instruments.instrument import Source
from evenruler.strict import Slug, Strict, Text, read_yaml, validate
from evenruler.tables.schemas import BARE
from evenruler.text.slots import fill, slots

STIMULUS, OPTIONS, ANSWER = "{STIMULUS}", "{OPTIONS}", "{ANSWER}"
"""Slots of templates: the attribute, the list of options, and the place where the model answers."""

LETTER, OPTION = "{LETTER}", "{OPTION}"
"""Slots of how one option is written."""

LETTERS = "ABCDEFGHIJ"

WITH, WITHOUT = "+", "-"
"""Marks of a factor in the name of a cell."""

TAKEN = {BARE, "all"}
"""What tables call a prompt without cues, and all factors together; no factor can be called so."""

Study = Literal["indirect-probing", "p-at"]
"""A published study whose own measures are known (appendix B)."""

Options = Annotated[dict[Slug, Text], Field(min_length=1)]
"""By slug; a slug that is an outcome class stands for it, every other is a filler."""

TemplateSetting = Annotated[
    Annotated[Text, Tag("[one]")] | Annotated[dict[Slug, Text], Tag("[by variant]")],
    Discriminator(lambda value: "[by variant]" if isinstance(value, dict) else "[one]"),
]
"""For all variants, or by variant."""


def _by_cell(value: Any) -> str:
    """The tag of options by cell where keys are made of marks."""
    return "[by cell]" if isinstance(value, dict) and any(set(str(key)) <= set("+- ") for key in value) else "[all]"


def _by_variant(value: Any) -> str:
    """The tag of options by variant where other keys lead to options."""
    nested = isinstance(value, dict) and any(isinstance(entry, dict) for entry in value.values())
    return "[by variant]" if nested and _by_cell(value) == "[all]" else _by_cell(value)


OfAllOrByCell = Annotated[
    Annotated[Options, Tag("[all]")] | Annotated[dict[str, Options], Tag("[by cell]")], Discriminator(_by_cell)
]

OptionsSetting = Annotated[
    Annotated[Options, Tag("[all]")]
    | Annotated[dict[str, Options], Tag("[by cell]")]
    | Annotated[dict[Slug, OfAllOrByCell], Tag("[by variant]")],
    Discriminator(_by_variant),
]
"""For all cells, by cell, or by variant and then so."""


class Outcome(Strict):
    """A class of answers."""

    forms: list[Text] = Field(min_length=1)
    """Its surface forms, lower-case unless they never are; capitals and spaces before them are added when asked."""


def _outcome(value: Any) -> Any:
    return {"forms": value} if isinstance(value, list) else value


class StimulusEntry(Strict):
    """What the question is about."""

    text: Text
    """With its article."""
    group: Slug | None = None
    """The set that it belongs to, where sets are compared."""


def _stimulus(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class TaskEntry(Strict):
    """One way of asking, with a template for every feasible combination of the factors."""

    title: Text
    cells: dict[str, TemplateSetting] = Field(min_length=1)
    """By cell: a mark for each factor in the order of `factors`, "+" with its cue and "-" without."""
    option: Text | None = None
    """How one option is written, with {LETTER} and {OPTION}."""
    separator: str = ", "
    """Between two options."""
    options: OptionsSetting | None = None
    """What the model chooses from; a variant or cell without options is read for the words of the classes."""

    @model_validator(mode="after")
    def _options_are_written(self) -> "TaskEntry":
        if (self.options is None) != (self.option is None):
            raise ValueError("`option` and `options` belong together")
        if self.option is not None and sorted(slots(self.option)) != sorted([LETTER, OPTION]):
            raise ValueError(f"option {self.option!r} needs {LETTER} and {OPTION}, each once")
        for chosen in [self._chosen(variant) for variant in self.variants or [""]]:
            if _by_cell(chosen) == "[by cell]" and not set(chosen) <= set(self.cells):
                raise ValueError(f"options are by the cells {[*chosen]}, templates by {[*self.cells]}")
        return self

    @property
    def variants(self) -> list[str]:
        """The variants that it tells apart; none where everything holds for all."""
        settings: list[Any] = list(self.cells.values())
        settings += [self.options] if _by_variant(self.options) == "[by variant]" else []
        return list(dict.fromkeys(variant for setting in settings if isinstance(setting, dict) for variant in setting))

    def template(self, cell: str, variant: str) -> str:
        """The template of one cell."""
        chosen = self.cells[cell]
        return chosen if isinstance(chosen, str) else chosen[variant]

    def options_of(self, cell: str, variant: str) -> Options:
        """The options of one cell, in the order of the file; none where words are read."""
        chosen: Any = self._chosen(variant)
        found: Options = chosen.get(cell, {}) if _by_cell(chosen) == "[by cell]" else chosen
        return found

    def _chosen(self, variant: str) -> Any:
        """The options of one variant, for all cells or by cell."""
        options: Any = self.options or {}
        return options.get(variant, {}) if _by_variant(options) == "[by variant]" else options


class Continuation(Strict):
    """Whether an answer of one class goes on to name another after all (appendix A.3)."""

    outcome: Slug
    keywords: list[Text] = Field(min_length=1)


class ContrastSource(Source):
    """One contrast: its factors, tasks, stimuli and outcome classes."""

    factors: dict[Slug, Text] = Field(min_length=1, max_length=3)
    """The cues, and what each is in words; a prompt has a cue or has it not."""
    outcomes: dict[Slug, Annotated[Outcome, BeforeValidator(_outcome)]] = Field(min_length=2)
    stimuli: dict[Slug, Annotated[StimulusEntry, BeforeValidator(_stimulus)]] = Field(min_length=1)
    tasks: dict[Slug, TaskEntry] = Field(min_length=1)
    continuation: Continuation | None = None
    replicates: Study | None = None
    """The published study whose own measures are computed too."""

    @field_validator("outcomes")
    @classmethod
    def _distinct_forms(cls, outcomes: dict[str, Outcome]) -> dict[str, Outcome]:
        for (one, first), (other, second) in combinations(outcomes.items(), 2):
            both = {form.lower() for form in first.forms} & {form.lower() for form in second.forms}
            if both:
                raise ValueError(f"the form {min(both)!r} is in two classes, {one} and {other}")
        for name, outcome in outcomes.items():
            _once(f"in class {name} the form", outcome.forms)
        forms = [form.lower() for outcome in outcomes.values() for form in outcome.forms]
        for form, longer in permutations(forms, 2):
            # What follows the shorter one is no letter, so the probability of the longer one would be in both.
            if longer.startswith(form) and not longer[len(form)].isalpha():
                raise ValueError(f"{longer!r} begins with the form {form!r} and would be counted twice")
        return outcomes

    @field_validator("stimuli")
    @classmethod
    def _distinct_stimuli(cls, stimuli: dict[str, StimulusEntry]) -> dict[str, StimulusEntry]:
        _once("the stimulus", (entry.text for entry in stimuli.values()))
        return stimuli

    @model_validator(mode="after")
    def _lint(self) -> "ContrastSource":
        if taken := TAKEN & set(self.factors):
            raise ValueError(f"factors: tables use the name {min(taken)!r} for something else")
        if self.continuation is not None and self.continuation.outcome not in self.outcomes:
            hint = nearest(self.continuation.outcome, self.outcomes)
            raise ValueError(f"continuation names the outcome {self.continuation.outcome!r}; {hint}")
        if self.replicates is not None:
            self._check_replication()
        for name, task in self.tasks.items():
            for cell in task.cells:
                self._check_cell(name, task, cell)
        for factor in self.factors:
            if not any(self._compares(factor, task) for task in self.tasks.values()):
                raise ValueError(f"no task has two cells that differ in {factor} alone, so it cannot be measured")
        return self

    def _check_replication(self) -> None:
        if len(self.outcomes) != 2 or len(self.factors) != 1:
            raise ValueError(f"a replication of {self.replicates} compares two classes under one factor")
        groups = {entry.group for entry in self.stimuli.values()}
        if self.replicates == "p-at" and (len(groups) != 2 or None in groups):
            raise ValueError("a replication of p-at needs stimuli of two groups")

    def _check_cell(self, name: str, task: TaskEntry, cell: str) -> None:
        where = f"task {name}, cell {cell!r}"
        marks = cell.split(" ")
        if len(marks) != len(self.factors) or not set(marks) <= {WITH, WITHOUT}:
            signs = " ".join(WITHOUT for _ in self.factors)
            raise ValueError(f"{where}: expected a mark for each of {', '.join(self.factors)}, as {signs!r}")
        for variant in self.variants or ["every"]:
            if isinstance(templates := task.cells[cell], dict) and variant not in templates:
                raise ValueError(f"{where}: no template for the variant {variant!r}")
            options = task.options_of(cell, variant)
            if options and not set(options) & set(self.outcomes):
                raise ValueError(f"{where}: no option stands for an outcome class ({', '.join(self.outcomes)})")
            _check_options(where, options)
            _check_template(where, task.template(cell, variant), options)

    def _compares(self, factor: str, task: TaskEntry) -> bool:
        """Whether two cells of a task differ in one factor alone."""
        cues = [set(self.cues(cell)) for cell in task.cells]
        return any({factor, *one} in cues for one in cues if factor not in one)

    @property
    def variants(self) -> list[str]:
        """The variants that tasks tell apart; none where everything holds for all."""
        return list(dict.fromkeys(variant for task in self.tasks.values() for variant in task.variants))

    def cues(self, cell: str) -> list[str]:
        """The factors whose cue a cell has."""
        return [factor for factor, mark in zip(self.factors, cell.split(" "), strict=True) if mark == WITH]


def _once(what: str, texts: Iterable[str]) -> None:
    text, count = Counter(map(str.lower, texts)).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{what} {text!r} stands there twice")


def _check_options(where: str, options: Options) -> None:
    """There is a letter for each; that two read the same, as in table 3, is for the card to say."""
    if len(options) > len(LETTERS):
        raise ValueError(f"{where}: {len(options)} options, at most {len(LETTERS)}")
    for slug, text in options.items():
        _check_slots(f"{where}, option {slug}", text, [STIMULUS])


def _check_template(where: str, template: str, options: Options) -> None:
    """A template asks about the stimulus and lists the options, if any; the model answers at its end."""
    found = Counter(slots(template))
    if found[ANSWER] != 1 or not template.endswith(ANSWER):
        raise ValueError(f"{where}: no decision point; the template ends with {ANSWER}, where the model answers")
    if found[OPTIONS] != bool(options):
        written = f"{len(options)} options" if options else "no options"
        raise ValueError(f"{where}: {written}, and the template holds {OPTIONS} {found[OPTIONS]} times")
    _check_slots(where, template, [STIMULUS, ANSWER, OPTIONS])
    if not any(STIMULUS in text for text in [template, *options.values()]):
        raise ValueError(f"{where}: no {STIMULUS}, so every stimulus is asked about in the same words")


def _check_slots(where: str, text: str, allowed: list[str]) -> None:
    for slot in slots(text):
        if slot not in allowed:
            raise ValueError(f"{where}: unknown slot {slot}; {nearest(slot, allowed)}")
    if text.count("{") + text.count("}") != 2 * len(slots(text)):
        raise ValueError(f"{where}: a brace belongs to no slot")


def framing_of(cues: Sequence[str]) -> str:
    """What a row with these cues has in its column `framing`."""
    return "+".join(cues) or BARE


def cues_of(framing: str) -> frozenset[str]:
    """The cues that `framing_of` named."""
    return frozenset() if framing == BARE else frozenset(framing.split("+"))


def option_text(option: str, stimulus: str) -> str:
    """An option with its stimulus in it."""
    return fill(option, {STIMULUS: stimulus}, "literal")


def load(path: Path, settings: Settings, shared: Path) -> ContrastSource:
    """Read and check the source of one contrast, and that it has the variant that is asked for.

    Args:
        path: Its file.
        settings: How it is built.
        shared: What sources of the family share; this family's share nothing.

    Raises:
        UserError: Something in the file is wrong; where a file of that name is missing, the nearest one is named.
    """
    if not path.exists():
        others = [other.stem for other in path.parent.glob("*.yaml")]
        raise UserError(
            f"no source for the contrast {path.stem!r}; {nearest(path.stem, others)}",
            where=str(path),
            remedy="write the file or mend the name under `instruments` in params.yaml",
        )
    source = validate(ContrastSource, read_yaml(path), path)
    if settings.variant not in (source.variants or [Settings.model_fields["variant"].default]):
        raise UserError(
            f"no variant {settings.variant!r} in {path}; {nearest(settings.variant, source.variants)}",
            where=f"params.yaml: instruments.{path.stem}.variant",
            remedy="mend the name or leave it out",
        )
    return source

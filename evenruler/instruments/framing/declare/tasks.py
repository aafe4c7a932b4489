"""Tasks, ways of asking: cells (combinations of cues) with a template each, sentences in place of
cues, and options.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import Discriminator, Field, Tag, model_validator

from evenruler.errors import suggest_nearest
from evenruler.instruments.framing.declare.grammars import Grammar, word_in
from evenruler.instruments.framing.declare.task_prompts import CONTROL, CONTROL_NAME
from evenruler.strict import Joint, Passage, Slug, StrictModel, Text
from evenruler.tables.schemas import BARE
from evenruler.text.english import fill, slots
from evenruler.text.replies import LETTERS
from evenruler.text.spelling import describe_duplicates, find_duplicates

JOINED, NUMBERED = "+", "~"


def framing_of(cues: Sequence[str]) -> str:
    """Value of the column `framing` for these cues."""
    return JOINED.join(cues) or BARE


def cues_of(framing: str) -> list[str]:
    """The inverse of `framing_of`: cues in their order; an alternative is the cue with a number."""
    return [] if framing == BARE else framing.split(JOINED)


def remove_cue(framing: str, factor: str) -> str:
    """The same framing without the cue of a factor."""
    return framing_of([cue for cue in cues_of(framing) if cue != factor])


def with_alternative(framing: str, factor: str, number: int) -> str:
    """The same framing with an alternative in place of the cue of a factor, or the control
    (`alternative_of`); unchanged for 0.
    """
    if number == 0:
        return framing
    label = CONTROL_NAME if number == CONTROL else str(number)
    numbered = f"{factor}{NUMBERED}{label}"
    return framing_of([numbered if cue == factor else cue for cue in cues_of(framing)])


def real_framing(framing: str) -> str:
    """The same framing with the original cue in place of what replaces it."""
    return framing_of([cue.partition(NUMBERED)[0] for cue in cues_of(framing)])


STIMULUS, OPTIONS, ANSWER = "{STIMULUS}", "{OPTIONS}", "{ANSWER}"
"""Slots of templates: the attribute, the list of options, and the place where the model answers."""

ALTERNATIVE = "{ALTERNATIVE}"
"""Slot of templates for what stands in place of a cue."""

LETTER, OPTION = "{LETTER}", "{OPTION}"
"""Slots in the format of one option."""

Options = Annotated[dict[Slug, Passage], Field(min_length=1)]
"""By slug; the slug of an outcome class stands for that class, every other is a filler."""

TemplateSetting = Annotated[
    Annotated[Passage, Tag("[one]")] | Annotated[dict[Slug, Passage], Tag("[by variant]")],
    Discriminator(lambda value: "[by variant]" if isinstance(value, dict) else "[one]"),
]
"""For all variants, or by variant."""


def _mapping_depth(value: object) -> int:
    """Depth of nested mappings."""
    if not isinstance(value, dict):
        return 0
    return 1 + max(map(_mapping_depth, value.values()), default=0)


OfAllOrByKey = Annotated[
    Annotated[Options, Tag("[all]")] | Annotated[dict[str, Options], Tag("[by key]")],
    Discriminator(lambda value: "[by key]" if _mapping_depth(value) > 1 else "[all]"),
]

OptionsSetting = Annotated[
    Annotated[OfAllOrByKey, Tag("[one]")]
    | Annotated[dict[Slug, OfAllOrByKey], Tag("[by variant]")],
    Discriminator(lambda value: "[by variant]" if _mapping_depth(value) > 2 else "[one]"),
]
"""For all framings, by framing, by variant, or by variant and then by framing."""


class Alternatives(StrictModel):
    """What stands in place of a factor's cue: sentences of its form, sampled from a grammar, and a
    control.
    """

    grammar: Slug
    """Name of the grammar; tasks with the same one get sentences about the same things."""
    form: Passage
    """The cue's form, with the slots of the grammar."""
    control: Passage | None = None
    """Words that tell the answer, `control_outcome` of the contrast: the positive control."""
    cells: dict[str, TemplateSetting] = Field(min_length=1)
    """By framing with the cue: its template with {ALTERNATIVE} in place of the cue; a variant left
    out has no alternatives."""

    def template(self, cell: str, variant: str) -> str | None:
        """The template of one framing, with {ALTERNATIVE}; None where the variant has none."""
        chosen = self.cells[cell]
        return chosen if isinstance(chosen, str) else chosen.get(variant)

    def has_variant(self, variant: str) -> bool:
        """Whether any cell has a template of this variant."""
        return any(self.template(cell, variant) for cell in self.cells)


@dataclass(frozen=True)
class Replacement:
    """A prompt template with something in place of a cue."""

    factor: str
    cell: str
    number: int
    """Of the alternative, or `CONTROL` (`alternative_of`)."""
    text: str
    template: str


class TaskEntry(StrictModel):
    """One way of asking, with a template for every feasible combination of the factors."""

    title: Text
    cells: dict[str, TemplateSetting] = Field(min_length=1)
    """By framing: `bare` without a cue, else the cues in the order of the factors, joined by
    "+"."""
    alternatives: dict[Slug, Alternatives] = Field(default_factory=dict)
    """By factor."""
    option: Passage | None = None
    """Format of one option, with {LETTER} and {OPTION}."""
    separator: Joint = ", "
    """Between two options."""
    options: OptionsSetting | None = None
    """The options to choose from; where a variant or framing has none, answers are the words of the
    classes."""

    @model_validator(mode="after")
    def _options_are_written(self) -> "TaskEntry":
        """Refuse `options` without `option` or the reverse, an `option` without {LETTER} and
        {OPTION}, and options of cells that have no template (ValueError).
        """
        if (self.options is None) != (self.option is None):
            raise ValueError("`option` and `options` belong together")
        if self.option is not None:
            option_slots = sorted(slots(self.option))
            if option_slots != sorted([LETTER, OPTION]):
                raise ValueError(f"option {self.option!r} needs {LETTER} and {OPTION}, each once")
        for variant in self.variants or [""]:
            chosen = self._chosen(variant)
            if _mapping_depth(chosen) == 2 and not set(chosen) <= set(self.cells):
                raise ValueError(
                    f"options are of the cells {', '.join(chosen)}, templates of "
                    f"{', '.join(self.cells)}"
                )
        return self

    @property
    def variants(self) -> list[str]:
        """The variants that it distinguishes; empty where everything is the same for all."""
        settings: list[Any] = list(self.cells.values())
        if self._options_by_variant:
            settings.append(self.options)
        variants: list[str] = []
        for setting in settings:
            if isinstance(setting, dict):
                variants.extend(setting)
        return list(dict.fromkeys(variants))

    def template(self, cell: str, variant: str) -> str:
        """The template of one framing."""
        chosen = self.cells[cell]
        return chosen if isinstance(chosen, str) else chosen[variant]

    def options_of(self, cell: str, variant: str) -> Options:
        """The options of one framing, in the order of the file; empty where it lists none."""
        chosen = self._chosen(variant)
        cell_options = chosen.get(cell, {}) if _mapping_depth(chosen) == 2 else chosen
        return cast(Options, cell_options)

    def replacements(
        self, factor: str, texts: Sequence[str], variant: str
    ) -> Iterator[Replacement]:
        """What stands in place of a factor's cue, by cell: the sampled texts, then the control."""
        alternatives = self.alternatives[factor]
        numbered = dict(enumerate(texts, start=1))
        if alternatives.control is not None:
            numbered[CONTROL] = alternatives.control
        for cell in alternatives.cells:
            template = alternatives.template(cell, variant)
            if template is None:
                continue
            for number, text in numbered.items():
                filled = template.replace(ALTERNATIVE, text)
                yield Replacement(factor, cell, number, text, filled)

    def pairs(self, factor: str) -> list[str]:
        """The framings with the cue of a factor whose counterpart without it exists, too."""
        return [
            cell
            for cell in self.cells
            if factor in cues_of(cell) and remove_cue(cell, factor) in self.cells
        ]

    @property
    def _options_by_variant(self) -> bool:
        """Whether the keys of `options` are variants, that is, none is a cell."""
        depth = _mapping_depth(self.options)
        if depth != 2:
            return depth > 2
        return set(self.options or ()).isdisjoint(self.cells)

    def _chosen(self, variant: str) -> Mapping[str, Any]:
        """The options of one variant, for all framings or by framing."""
        options: Mapping[str, Any] = self.options or {}
        return options.get(variant, {}) if self._options_by_variant else options


def option_text(option: str, stimulus: str) -> str:
    """An option with its stimulus in it."""
    return fill(option, {STIMULUS: stimulus}, "literal")


def task_faults(
    name: str, task: TaskEntry, factors: list[str], outcomes: list[str], variants: list[str]
) -> Iterator[str]:
    """What is wrong with a task, one line per fault; users see the first."""
    for cell, templates in task.cells.items():
        where = f"task {name}, cell {cell!r}"
        cues = cues_of(cell)
        if cues != [factor for factor in factors if factor in cues]:
            yield (
                f"{where}: expected `{BARE}`, or some of {', '.join(factors)} in this order, "
                "joined by '+'"
            )
        for variant in variants or ["every"]:
            if isinstance(templates, dict) and variant not in templates:
                yield f"{where}: no template for the variant {variant!r}"
                continue
            options = task.options_of(cell, variant)
            yield from _faults_of_options(where, options, outcomes)
            yield from _faults_of_template(where, task.template(cell, variant), options, [])
    for factor, alternatives in task.alternatives.items():
        where = f"task {name}, alternatives of {factor}"
        pairs = task.pairs(factor)
        if factor not in factors:
            yield f"{where}: no such factor; {suggest_nearest(factor, factors)}"
        elif set(alternatives.cells) != set(pairs):
            yield (
                f"{where}: cells {', '.join(alternatives.cells)}; those that are there without it, "
                f"too: {', '.join(pairs) or 'none'}"
            )
        else:
            for cell in alternatives.cells:
                cell_name = f"{where}, cell {cell!r}"
                yield from _faults_of_replaced_cell(cell_name, task, alternatives, cell, variants)


def _faults_of_options(where: str, options: Options, outcomes: list[str]) -> Iterator[str]:
    """Faults of the options of a cell, if it has any."""
    if options and not set(options) & set(outcomes):
        yield f"{where}: no option stands for an outcome class ({', '.join(outcomes)})"
    yield from _faults_of_like_options(where, options, outcomes)
    if len(options) > len(LETTERS):
        yield f"{where}: {len(options)} options, at most {len(LETTERS)}"
    for slug, text in options.items():
        yield from _faults_of_slots(f"{where}, option {slug}", text, [STIMULUS])


def _faults_of_like_options(where: str, options: Options, outcomes: list[str]) -> Iterator[str]:
    """Two options that are one for a reader: whoever names it names no class. Fillers may be
    alike.
    """
    of_classes = [text for slug, text in options.items() if slug in outcomes]
    fillers = [text for slug, text in options.items() if slug not in outcomes]
    for texts in (of_classes, *([*of_classes, filler] for filler in fillers)):
        same_texts = find_duplicates(texts)
        if same_texts:
            yield f"{where}: two options are alike, {describe_duplicates(*same_texts)}"


def _faults_of_replaced_cell(
    where: str, task: TaskEntry, alternatives: Alternatives, cell: str, variants: list[str]
) -> Iterator[str]:
    """Faults of the templates of one cell with {ALTERNATIVE}."""
    templates = alternatives.cells[cell]
    if isinstance(templates, dict):
        for variant in templates:
            if variant not in variants:
                yield f"{where}: no variant {variant!r}; {suggest_nearest(variant, variants)}"
    for variant in variants or ["every"]:
        template = alternatives.template(cell, variant)
        if template:
            options = task.options_of(cell, variant)
            yield from _faults_of_template(where, template, options, [ALTERNATIVE])


def _faults_of_template(
    where: str, template: str, options: Options, needed: list[str]
) -> Iterator[str]:
    """Faults of a template: it has to name the stimulus, list the options, if any, and end where
    the model answers.
    """
    slot_counts = Counter(slots(template))
    if slot_counts[ANSWER] != 1 or not template.endswith(ANSWER):
        yield (
            f"{where}: no decision point; the template ends with {ANSWER}, where the model answers"
        )
    n_lists = slot_counts[OPTIONS]
    if n_lists != bool(options):
        written = f"{len(options)} options" if options else "no options"
        yield f"{where}: {written}, and the template holds {OPTIONS} {n_lists} times"
    for slot in needed:
        if not slot_counts[slot]:
            yield f"{where}: no {slot} in the template"
    yield from _faults_of_slots(where, template, [STIMULUS, ANSWER, OPTIONS, *needed])
    if not any(STIMULUS in text for text in [template, *options.values()]):
        yield f"{where}: no {STIMULUS}, so every stimulus is asked about in the same words"


def _faults_of_slots(where: str, text: str, allowed: list[str]) -> Iterator[str]:
    """Slots of a text that are not allowed, and stray braces, in words; `where`: its place."""
    for slot in slots(text):
        if slot not in allowed:
            yield f"{where}: unknown slot {slot}; {suggest_nearest(slot, allowed)}"
    braces = text.count("{") + text.count("}")
    if braces != 2 * len(slots(text)):
        yield f"{where}: a brace belongs to no slot"


def faults_of_alternatives(
    tasks: Mapping[str, TaskEntry],
    grammars: Mapping[str, Grammar],
    construct_words: Sequence[str],
) -> Iterator[str]:
    """What is wrong with grammars, forms and controls of tasks, one line per fault."""
    for name, task in tasks.items():
        for factor, alternatives in task.alternatives.items():
            where = f"task {name}, alternatives of {factor}"
            grammar = grammars.get(alternatives.grammar)
            if grammar is None:
                hint = suggest_nearest(alternatives.grammar, grammars)
                yield f"{where}: no grammar {alternatives.grammar!r}; {hint}"
                continue
            if sorted(slots(alternatives.form)) != sorted(grammar.slots):
                yield (
                    f"{where}: form {alternatives.form!r} needs {', '.join(grammar.slots)}, each "
                    "once"
                )
            word = word_in(alternatives.form, construct_words)
            if word is not None:
                yield f"{where}: form {alternatives.form!r} holds {word!r}, a word of the construct"
            if alternatives.control is not None:
                control = f"{where}, control {alternatives.control!r}"
                yield from _faults_of_slots(control, alternatives.control, [STIMULUS])

"""Tasks, ways of asking: cells (combinations of cues) with a template each, placebos in place of
cues, and options.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import Discriminator, Field, Tag, model_validator

from evenruler.errors import suggest_nearest
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
    """The inverse of `framing_of`: cues in their order; a placebo is the cue with a number."""
    return [] if framing == BARE else framing.split(JOINED)


def remove_cue(framing: str, factor: str) -> str:
    """The same framing without the cue of a factor."""
    return framing_of([cue for cue in cues_of(framing) if cue != factor])


def with_placebo(framing: str, factor: str, placebo: int) -> str:
    """The same framing with a placebo in place of the cue of a factor, or with another wording of
    it (`placebo_of`).
    """
    numbered = f"{factor}{NUMBERED}{placebo}"
    return framing_of([numbered if cue == factor else cue for cue in cues_of(framing)])


def real_framing(framing: str) -> str:
    """The same framing with the original cue in place of a placebo or another wording."""
    return framing_of([cue.partition(NUMBERED)[0] for cue in cues_of(framing)])


STIMULUS, OPTIONS, ANSWER = "{STIMULUS}", "{OPTIONS}", "{ANSWER}"
"""Slots of templates: the attribute, the list of options, and the place where the model answers."""

PLACEBO = "{PLACEBO}"
"""Slot of templates for a placebo in place of a cue."""

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


class Placebos(StrictModel):
    """Texts in place of a factor's cue that are unrelated to the construct."""

    cells: dict[str, TemplateSetting] = Field(min_length=1)
    """By framing with the cue: its template with {PLACEBO} in place of the cue; a variant left out
    has no placebos."""
    texts: list[Passage] = Field(min_length=1)
    """The placebos, in order; those of the same number in different tasks belong together."""
    wordings: list[Passage] = Field(default_factory=list)
    """Other wordings of the cue, filled in likewise: the second, the third and so on."""

    @property
    def numbered(self) -> dict[int, str]:
        """Texts by number (`placebo_of`): placebos, then wordings."""
        wordings = {-number: text for number, text in enumerate(self.wordings, start=2)}
        return dict(enumerate(self.texts, start=1)) | wordings

    def template(self, cell: str, variant: str) -> str | None:
        """The template of one framing, with {PLACEBO} in it; None where the variant has none."""
        chosen = self.cells[cell]
        return chosen if isinstance(chosen, str) else chosen.get(variant)


class TaskEntry(StrictModel):
    """One way of asking, with a template for every feasible combination of the factors."""

    title: Text
    cells: dict[str, TemplateSetting] = Field(min_length=1)
    """By framing: `bare` without a cue, else the cues in the order of the factors, joined by
    "+"."""
    placebos: dict[Slug, Placebos] = Field(default_factory=dict)
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

    def replaced(self, variant: str) -> Iterator[tuple[str, str, int, str, str]]:
        """Replacements of cues: factor, cell, number and text (`Placebos.numbered`), and the
        template with it.
        """
        for factor, placebos in self.placebos.items():
            for cell in placebos.cells:
                template = placebos.template(cell, variant)
                if template:
                    for number, text in placebos.numbered.items():
                        yield factor, cell, number, text, template.replace(PLACEBO, text)

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
    for factor, placebos in task.placebos.items():
        where = f"task {name}, placebos of {factor}"
        pairs = task.pairs(factor)
        if factor not in factors:
            yield f"{where}: no such factor; {suggest_nearest(factor, factors)}"
        elif set(placebos.cells) != set(pairs):
            yield (
                f"{where}: cells {', '.join(placebos.cells)}; those that are there without it, "
                f"too: {', '.join(pairs) or 'none'}"
            )
        else:
            yield from _faults_of_replacements(where, task, placebos, variants)


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


def _faults_of_replacements(
    where: str, task: TaskEntry, placebos: Placebos, variants: list[str]
) -> Iterator[str]:
    """Faults of the texts in place of one cue, and of their templates."""
    texts = placebos.numbered.values()
    same_texts = find_duplicates(texts)
    if same_texts:
        yield f"{where}: {describe_duplicates(*same_texts)} stands there twice"
    for text in texts:
        yield from _faults_of_slots(f"{where}, {text!r}", text, [STIMULUS])
    for cell in placebos.cells:
        yield from _faults_of_placebo_cell(
            f"{where}, cell {cell!r}", task, placebos, cell, variants
        )


def _faults_of_placebo_cell(
    where: str, task: TaskEntry, placebos: Placebos, cell: str, variants: list[str]
) -> Iterator[str]:
    """Faults of the templates of one cell with {PLACEBO}."""
    templates = placebos.cells[cell]
    if isinstance(templates, dict):
        for variant in templates:
            if variant not in variants:
                yield f"{where}: no variant {variant!r}; {suggest_nearest(variant, variants)}"
    for variant in variants or ["every"]:
        template = placebos.template(cell, variant)
        if template:
            options = task.options_of(cell, variant)
            yield from _faults_of_template(where, template, options, [PLACEBO])


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
    for slot in slots(text):
        if slot not in allowed:
            yield f"{where}: unknown slot {slot}; {suggest_nearest(slot, allowed)}"
    braces = text.count("{") + text.count("}")
    if braces != 2 * len(slots(text)):
        yield f"{where}: a brace belongs to no slot"


def faults_of_placebos(
    tasks: Mapping[str, TaskEntry], words: Mapping[str, Sequence[str]], variants: Sequence[str]
) -> Iterator[str]:
    """What is wrong with placebos of tasks, one line per fault; `words`: forms and terms by
    class.
    """
    for name, task in tasks.items():
        for factor, placebos in task.placebos.items():
            for number, text in enumerate(placebos.texts, start=1):
                where = _placebo_name(name, factor, number, text)
                for outcome, word in _words_of_classes(text, words):
                    yield (
                        f"{where}: {word!r} is a word of the class {outcome}, so that it is no "
                        "placebo"
                    )
    for variant in variants or ["every"]:
        yield from _faults_of_equal_prompts(tasks, variant)


def _words_of_classes(text: str, words: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Classes, each with the first of its words in a text; without those that have none there."""
    for outcome, class_words in words.items():
        any_of = rf"(?<!\w)(?:{'|'.join(map(re.escape, class_words))})(?!\w)"
        word_match = re.search(any_of, text, re.IGNORECASE)
        if word_match:
            yield outcome, word_match.group()


def _faults_of_equal_prompts(tasks: Mapping[str, TaskEntry], variant: str) -> Iterator[str]:
    """Prompts equal to those of a cell, or of an earlier placebo or wording: such rows would be
    left out.
    """
    seen: dict[tuple[str, ...], str] = {}
    for task in tasks.values():
        for cell in task.cells:
            prompt = _prompt_key(task, cell, task.template(cell, variant), variant)
            seen.setdefault(prompt, f"those of the cell {cell!r}")
    for name, task in tasks.items():
        for factor, cell, number, text, filled in task.replaced(variant):
            prompt = _prompt_key(task, cell, filled, variant)
            if prompt in seen:
                where = _placebo_name(name, factor, number, text)
                yield (
                    f"{where}, cell {cell!r}: its prompts are {seen[prompt]}, and would be left out"
                )
            seen[prompt] = f"those of {_replacement_label(number)} of {factor} in task {name}"


def _prompt_key(task: TaskEntry, cell: str, template: str, variant: str) -> tuple[str, ...]:
    """All that determines the prompts of a cell, except the stimulus."""
    options = task.options_of(cell, variant)
    return (template, task.option or "", task.separator, *options, *options.values())


def _placebo_name(task: str, factor: str, number: int, text: str) -> str:
    label = _replacement_label(number)
    return f"task {task}, {label} of {factor} ({text!r})"


def _replacement_label(number: int) -> str:
    return f"placebo {number}" if number > 0 else f"wording {-number}"

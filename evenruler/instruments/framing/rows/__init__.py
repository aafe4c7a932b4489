"""Rows of one contrast: tasks x cells x stimuli x orders of options (framing, section 3 and table
3).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare import (
    FramingPlan,
    PlannedAlternatives,
    PlannedOptions,
    PlannedOutcome,
    tasks,
)
from evenruler.instruments.framing.declare.source import AskingSettings, ContrastSource, Settings
from evenruler.instruments.instrument import BuiltInstrument, Declaration, Plan, plan_with_sizes
from evenruler.models.declarations import Catalogue
from evenruler.tables import evenly_spread, table_of
from evenruler.tables.ids import common_columns, content_sha256, row_id, split_duplicates
from evenruler.text import fill
from evenruler.text.replies import LETTERS

__all__ = ["build"]

Row = dict[str, Any]
FAMILY = "framing"

CONTENT_FREE = ("N/A", "[MASK]", "")
"""Fillers of stimulus and options in a prompt without content (Zhao et al. 2021)."""


def build(
    declaration: Declaration[Settings, ContrastSource], catalogue: Catalogue
) -> BuiltInstrument:
    """Build the tables of a contrast: prompts, classes, stimuli and rejected prompts; and its
    plan.
    """
    source = declaration.source
    every_size = (declaration.settings, *declaration.sizes.values())
    most = max(size_settings.alternatives for size_settings in every_size)
    settings = declaration.settings.model_copy(update={"alternatives": most})
    rows = compose_tables(declaration.name, source, settings)
    n_prompts, n_rejected = len(rows["prompts"]), len(rows["rejected"])
    counts = f"{n_prompts:,} prompts, {n_rejected:,} rejected"
    messages = [f"{declaration.name}: {counts}"]
    samples: list[str] = []
    for entry in _planned_alternatives(source, settings):
        sampled = f"{entry.asked} of {entry.sentences} sentences of the grammar"
        samples.append(
            f"{declaration.name}: {sampled} "
            f"`{entry.grammar}` are asked; {entry.excluded} hold a word of the construct"
        )
    messages += dict.fromkeys(samples)
    tables = {
        name: table_of(table_rows, getattr(schemas, name.replace("-", "_").upper()))
        for name, table_rows in rows.items()
    }
    plan = plan_with_sizes(declaration, partial(_build_plan, source), ["sampled"])
    return BuiltInstrument(tables, plan, messages)


def _build_plan(source: ContrastSource, settings: Settings) -> Plan:
    """The plan of a contrast at the size of the settings: factors, classes, options, alternatives
    to cues, stimuli, and which effects get a verdict.
    """
    how_asked = settings.model_dump(include=set(AskingSettings.model_fields))
    outcomes = [
        PlannedOutcome(outcome=name, **entry.model_dump())
        for name, entry in source.outcomes.items()
    ]
    options_of_cells: list[PlannedOptions] = []
    for task_name, task in source.tasks.items():
        for cell in task.cells:
            options = task.options_of(cell, settings.variant)
            if options:
                options_of_cells.append(
                    PlannedOptions(task=task_name, framing=cell, options=options)
                )
    groups = [entry.group for entry in source.stimuli.values() if entry.group is not None]
    plan = FramingPlan(
        **how_asked,
        factors=list(source.factors),
        alternatives=_planned_alternatives(source, settings),
        outcomes=outcomes,
        options=options_of_cells,
        groups=list(dict.fromkeys(groups)),
        continuation=source.continuation,
        replicates=source.replicates,
        stimuli=evenly_spread(list(source.stimuli), settings.stimuli),
        headlines=source.confirmed,
        focal_outcome=source.focal_outcome,
        control_outcome=source.control_outcome,
    )
    return cast(Plan, plan.model_dump())


def _planned_alternatives(source: ContrastSource, settings: Settings) -> list[PlannedAlternatives]:
    """For each task and factor with alternatives in this variant: how many of the grammar's
    sentences are asked in place of its cue, and the control.
    """
    planned: list[PlannedAlternatives] = []
    for task_name, task in source.tasks.items():
        for factor, alternatives in task.alternatives.items():
            if not alternatives.has_variant(settings.variant):
                continue
            sample = source.sample(task_name, factor, settings.alternatives)
            planned.append(
                PlannedAlternatives(
                    task=task_name,
                    factor=factor,
                    grammar=alternatives.grammar,
                    asked=len(sample.texts),
                    sentences=sample.sentences,
                    excluded=sample.excluded,
                    control=alternatives.control,
                )
            )
    return planned


def compose_tables(name: str, source: ContrastSource, settings: Settings) -> dict[str, list[Row]]:
    """Rows of every task for every feasible cell and stimulus, with options in balanced orders, by
    `schemas`.

    A prompt that repeats that of an earlier row is rejected.
    """
    prompts, rejected = split_duplicates(_prompt_rows(name, source, settings), "prompt")
    outcomes: list[Row] = []
    for outcome, answer_class in source.outcomes.items():
        words_by_use = {
            "form": answer_class.forms,
            "term": answer_class.terms,
            "not": answer_class.not_,
        }
        for use, words in words_by_use.items():
            for word in words:
                identifier = row_id(family=FAMILY, benchmark=name, outcome=outcome, **{use: word})
                common = common_columns(identifier, source, word)
                outcomes.append(common | {"outcome": outcome, "surface_form": word, "use": use})
    stimuli: list[Row] = []
    for stimulus, entry in source.stimuli.items():
        identifier = row_id(family=FAMILY, benchmark=name, stimulus=stimulus)
        common = common_columns(identifier, source, entry.text, entry.group)
        stimulus_columns = {"stimulus": stimulus, "text": entry.text, "group": entry.group}
        stimuli.append(common | stimulus_columns)
    empty = list(_without_content(name, source, settings))
    return {
        "prompts": prompts,
        "content-free": empty,
        "outcomes": outcomes,
        "stimuli": stimuli,
        "rejected": rejected,
    }


def balanced_orders(options: Sequence[str], seed: int) -> list[list[str]]:
    """Orders with each option equally often at every position: k orders of k options if k is even,
    2 k if odd.

    They come in pairs, an order and its reverse: in any number of whole pairs every option has the
    same mean position. For one option, or none, there is one order.
    """
    permutation = np.random.default_rng(seed).permutation(len(options))
    shuffled = [options[place] for place in permutation]
    # Rotated by two, an order and its reverse take odd and even positions.
    step = 1 if len(shuffled) % 2 else 2
    turned: list[list[str]] = []
    for start in range(0, len(shuffled), step):
        turned.append(shuffled[start:] + shuffled[:start])
    pairs: list[list[str]] = []
    for forward in turned or [[]]:
        pairs += [forward, forward[::-1]]
    return pairs if len(options) > 1 else pairs[:1]


def _prompt_rows(name: str, source: ContrastSource, settings: Settings) -> Iterator[Row]:
    """Rows of `prompts`: every task with every cell or what stands in place of a cue, stimulus and
    order of options, in which orders are the same for all cells.
    """
    for task_name, task in source.tasks.items():
        # The same orders in every cell and for every stimulus, so that two cells differ only in the
        # cue.
        digest = content_sha256(name, task_name, str(settings.seed))
        seed = int(digest[:16], 16)
        for stimulus, entry in source.stimuli.items():
            for cell in _task_cells(source, task_name, settings):
                texts = {
                    slug: tasks.option_text(text, entry.text) for slug, text in cell.options.items()
                }
                for turn, order in enumerate(balanced_orders(list(cell.options), seed)):
                    ordered_texts = [texts[slug] for slug in order]
                    prompt = _render_prompt(task, cell.template, entry.text, ordered_texts)
                    identifiers = {"stimulus": stimulus, "order": " ".join(order)}
                    more = {
                        "stimulus": stimulus,
                        "group": entry.group,
                        "alternative": cell.alternative,
                        "turn": turn,
                        "order": order,
                    }
                    row = _common_cell_columns(
                        name, source, settings, task_name, cell, identifiers, prompt
                    )
                    yield row | more


def _without_content(name: str, source: ContrastSource, settings: Settings) -> Iterator[Row]:
    """Prompts without content that list letters, for a model's prior over the letters (Zhao et al.
    2021).
    """
    for task_name, task in source.tasks.items():
        for cell in _task_cells(source, task_name, settings):
            if not cell.options:
                continue
            for text in CONTENT_FREE:
                prompt = _render_prompt(task, cell.template, text, [text] * len(cell.options))
                identifiers = {"without": text or "nothing"}
                row = _common_cell_columns(
                    name, source, settings, task_name, cell, identifiers, prompt
                )
                yield row | {"letters": len(cell.options)}


@dataclass(frozen=True)
class _Cell:
    framing: str
    template: str
    options: dict[str, str]
    alternative: str | None = None
    """What stands in place of a cue."""


def _task_cells(source: ContrastSource, task_name: str, settings: Settings) -> Iterator[_Cell]:
    """Every cell of a task, then what stands in place of its cues."""
    task, variant = source.tasks[task_name], settings.variant
    for cell in task.cells:
        yield _Cell(cell, task.template(cell, variant), task.options_of(cell, variant))
    for replaced in source.replacements(task_name, variant, settings.alternatives):
        framing = tasks.with_alternative(replaced.cell, replaced.factor, replaced.number)
        options = task.options_of(replaced.cell, variant)
        yield _Cell(framing, replaced.template, options, replaced.text)


def _render_prompt(
    task: tasks.TaskEntry, template: str, stimulus: str, options: Sequence[str]
) -> str:
    """The prompt, up to where the model answers."""
    lettered_options: list[str] = []
    for letter, option in zip(LETTERS, options, strict=False):
        option_filling = {tasks.LETTER: letter, tasks.OPTION: option}
        lettered_options.append(fill(task.option or "", option_filling, "literal"))
    listed = task.separator.join(lettered_options)
    filling = {tasks.STIMULUS: stimulus, tasks.ANSWER: "", tasks.OPTIONS: listed}
    return fill(template, filling, "literal").rstrip()


def _common_cell_columns(
    name: str,
    source: ContrastSource,
    settings: Settings,
    task: str,
    cell: _Cell,
    identifiers: dict[str, str],
    prompt: str,
) -> Row:
    """The columns that every prompt has; `identifiers`: what identifies it within its cell."""
    variant = settings.variant if source.variants else "all"
    where = {"task": task, "variant": variant, "framing": cell.framing}
    identifier = row_id(family=FAMILY, benchmark=name, **where, **identifiers)
    common = common_columns(identifier, source, prompt)
    return {**common, **where, "prompt": prompt, "decision": len(prompt)}

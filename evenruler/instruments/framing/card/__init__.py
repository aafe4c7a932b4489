"""The card of a contrast of framings, and its task for lm-evaluation-harness."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from evenruler.instruments.card import (
    Card,
    add_task_functions,
    assemble_card,
    one_line,
    render_templates,
    task_template,
)
from evenruler.instruments.framing.card.lm_eval_task import ContrastTask
from evenruler.instruments.framing.declare import (
    FramingPlan,
    card_row_headings,
    headings,
)
from evenruler.instruments.framing.declare.source import FEWEST_STIMULI, ContrastSource, Settings
from evenruler.instruments.framing.declare.task_prompts import ASKED_ORDERS
from evenruler.instruments.framing.declare.tasks import TaskEntry, cues_of
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.measurement.randomisation import FEWEST_ALTERNATIVES
from evenruler.strict import read_yaml
from evenruler.tables.schemas import BARE

__all__ = ["card"]

HERE: Final = Path(__file__).parent

WORDS: Final[dict[str, Any]] = read_yaml(HERE / "words.yaml")


def card(
    declaration: Declaration[Settings, ContrastSource],
    tables: Tables,
    plan: Plan,
    evidence: Evidence,
) -> Card:
    """The card of a contrast, with the tables it publishes and its task for
    lm-evaluation-harness.
    """
    source, settings = declaration.source, declaration.settings
    prompts = tables["prompts"]
    # `limits` fills `limits_of_asking`.
    wordings = {key: wording for key, wording in WORDS.items() if key != "limits_of_asking"}
    # Example: a prompt with a cue, preferably one without letters.
    is_cued = (prompts["framing"] != BARE) & prompts["alternative"].isna()
    cued = prompts[is_cued]
    without_letters = cued.loc[cued["order"].map(len) == 0, "id"]
    examples = [*without_letters, *cued["id"]]
    alternatives = prompts["alternative"].dropna()
    n_orders = int(prompts["turn"].max()) + 1
    counts = {
        "asked": min(settings.stimuli, len(source.stimuli)),
        "n_prompts": len(prompts),
        "n_orders": n_orders,
        "with_alternative": len(alternatives),
        "n_alternatives": alternatives.nunique(),
    }
    cells: list[tuple[str, str]] = []
    for task_slug, task in source.tasks.items():
        cells += [(task_slug, cell) for cell in task.cells]
    return assemble_card(
        wordings,
        declaration,
        tables,
        plan,
        evidence,
        facts=counts,
        limits=contrast_limits(source, settings, n_orders),
        example=examples[0] if examples else None,
        parameters={
            "variant": settings.variant
        },  # what rows depend on; other settings are about asking models
        quality=headings(plan),
        listed=card_row_headings(plan, cells),
        harness=harness_files(declaration.name, source, plan, declaration.version),
        harness_task=task_name(declaration.name),
    )


def contrast_limits(source: ContrastSource, settings: Settings, n_orders: int) -> list[str]:
    """The limits of a contrast, those common to all contrasts first; `n_orders`: most orders of
    options.
    """
    variant = settings.variant
    limit_lines = [*WORDS["limits"], *source.limits]
    if source.variants:
        limit_lines.append(_variant_limit(source.variants, variant))
    for task in source.tasks.values():
        limit_lines += _imbalanced_options(task, source.outcomes, variant)
        limit_lines += _repeated_options(task, variant)
    if settings.mass == "first_token":
        limit_lines.append(
            "A form counts by its first token alone, so words that only begin like it count too."
        )
    if settings.asked:
        limit_lines += _limits_of_asking(source, settings, n_orders)
    else:
        limit_lines.append(
            "The pipeline asks no model in this profile; whoever measures with it does."
        )
    return limit_lines


def _variant_limit(variants: Sequence[str], variant: str) -> str:
    """A sentence on the variant of templates that was built; others would have other prompts."""
    other_variants = [f"`{name}`" for name in variants if name != variant]
    left_out = ""
    if other_variants:
        left_out = f"; {', '.join(other_variants)} would have other prompts"
    return f"It was built in the variant `{variant}`{left_out}."


def _imbalanced_options(task: TaskEntry, outcomes: Iterable[str], variant: str) -> Iterator[str]:
    """Outcomes that are an option in some cells of a task only, as in table 3 of the paper."""
    options_by_cell = {cell: task.options_of(cell, variant) for cell in task.cells}
    offered = {cell: options for cell, options in options_by_cell.items() if options}
    for outcome in outcomes:
        without = [
            _cue_phrase(cell)
            for cell, cell_options in offered.items()
            if outcome not in cell_options
        ]
        if 0 < len(without) < len(offered):
            cells = " or ".join(without)
            slip = f"In the task `{task.title}`, `{outcome}` is no option {cells}"
            yield f"{slip}: a shift of it is the options' doing."


def _repeated_options(task: TaskEntry, variant: str) -> Iterator[str]:
    """Where a template spells out its options, two quotations may be the same text."""
    twice: list[str] = []
    for cell in task.cells:
        quotations = re.findall('"([^"]+)"', task.template(cell, variant))
        if len(set(quotations)) < len(quotations):
            twice.append(_cue_phrase(cell))
    if twice:
        yield f"In the task `{task.title}`, two options read the same {' or '.join(twice)}."


def _limits_of_asking(source: ContrastSource, settings: Settings, n_orders: int) -> list[str]:
    """The limits of how the pipeline asks models."""
    with_alternatives: set[str] = set()
    has_letters = False
    for task in source.tasks.values():
        with_alternatives.update(task.alternatives)
        if any(task.options_of(cell, settings.variant) for cell in task.cells):
            has_letters = True
    few: list[str] = []
    for headline in source.confirmed:
        n = source.fewest_sentences(headline, settings.variant, settings.alternatives)
        if n < FEWEST_ALTERNATIVES:
            few.append(headline.to_text())
    n_asked = min(settings.stimuli, len(source.stimuli))
    without = [factor for factor in source.factors if factor not in with_alternatives]
    limit_lines: list[str] = render_templates(
        WORDS["limits_of_asking"],
        source=source,
        settings=settings,
        asked=n_asked,
        without=without,
        few=few,
        fewest_alternatives=FEWEST_ALTERNATIVES,
        fewest_stimuli=FEWEST_STIMULI,
        lettered=has_letters,
        asked_orders=ASKED_ORDERS,
        n_orders=n_orders,
    )
    return limit_lines


def _cue_phrase(cell: str) -> str:
    """The cues of a cell as they end a sentence: "with A and B", or "without any cue"."""
    cues = cues_of(cell)
    return f"with {' and '.join(cues)}" if cues else "without any cue"


def task_name(contrast: str) -> str:
    """Name of the task of a contrast: one for all its ways of asking, since an effect is a mean
    over them.
    """
    return f"framing_{contrast}".replace("-", "_")


def harness_files(
    contrast: str, source: ContrastSource, plan: Plan, version: str
) -> dict[str, str]:
    """Contents of the files of `lm_eval/`, by name."""
    template = task_template(HERE / "task.yaml.j2")
    read = FramingPlan.read(plan)
    with_alternatives = {entry.factor for entry in read.alternatives}
    factors = [
        {
            "slug": factor.replace("-", "_"),
            "told": one_line(description),
            "alternatives": factor in with_alternatives,
        }
        for factor, description in source.factors.items()
    ]
    task = template.render(
        task=task_name(contrast),
        title=one_line(source.title),
        factors=factors,
        version=version,
    )
    return add_task_functions({f"{task_name(contrast)}.yaml": task}, ContrastTask)

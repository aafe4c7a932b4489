"""Sections of the report on a contrast, with tables: how much cues change answers, and in which
direction.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import pandas as pd

from evenruler.instruments.card import range_text
from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.instruments.framing.declare.task_prompts import placebo_of
from evenruler.instruments.framing.declare.tasks import cues_of
from evenruler.instruments.framing.report import charts
from evenruler.instruments.instrument import ReportInput, Tables
from evenruler.measurement.figures import Verdict
from evenruler.report.formats import (
    format_figure,
    format_number,
    is_missing,
    join_names,
    p_value,
    with_interval,
)
from evenruler.report.page import Cell, Picture, Section, Table, make_tables
from evenruler.strict import read_yaml

__all__ = ["sections"]

CAPTIONS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("captions.yaml"))
TABLES: Final[dict[str, Any]] = CAPTIONS["tables"]

READOUTS = {"token": "token probability", "choice": "proportion of choices"}
PROMPT_FORMATS = {"plain": "plain prompt", "chat": "chat template"}

FIGURE_COLUMNS = {"prompt_format": "prompt_format", "readout": "readout", "cue": "factor"}
"""Columns of figures by their names in other tables."""

EVERY_TASK = ""
"""In place of a task, for effects over all tasks."""


def slug_to_words(slug: str) -> str:
    """A slug as words."""
    return slug.replace("-", " ")


def with_titles(text: str, source: ContrastSource) -> str:
    """A text with the titles of tasks in place of their slugs."""
    names = "|".join(map(re.escape, sorted(source.tasks, key=len, reverse=True)))
    return re.sub(
        rf"(?<![\w-])(?:{names})(?![\w-])",
        lambda slug_match: f"“{source.tasks[slug_match.group()].title}”",
        text,
    )


NONE = "none (no such reply)"


def _records_by(table: pd.DataFrame, *columns: str) -> dict[Any, Mapping[Any, Any]]:
    """The rows of a table by some of their columns."""
    keys = table[list(columns)].itertuples(index=False, name=None)
    return dict(zip(keys, table.to_dict("records"), strict=True))


def effects_with_controls(
    source: ContrastSource, figures: pd.DataFrame, effects: pd.DataFrame
) -> list[Table]:
    """Every effect of a cue with that of placebos in its place, as description. `effects`: by
    `schemas.EFFECTS`.
    """
    # Over all tasks first, if a factor has several, then by task.
    cue_tasks: list[tuple[str, str, str]] = []
    for factor in source.factors:
        tasks = source.tasks_comparing(factor)
        titles = {slug: task.title for slug, task in tasks.items()}
        every = {EVERY_TASK: "all tasks"} if len(titles) > 1 else {}
        cue_tasks += [(factor, task, where) for task, where in (every | titles).items()]
    effect_figures = figures[figures["figure"] == "effect"].fillna({"task": EVERY_TASK})
    record_by_effect = _records_by(effect_figures, "readout", "model", "factor", "task")
    rows: list[list[str | Cell]] = []
    for readout, model in _metric_model_pairs(figures):
        cue_records: list[tuple[str, str, Mapping[Any, Any]]] = []
        for factor, task, where in cue_tasks:
            cue_record = record_by_effect.get((readout, model, factor, task))
            if cue_record is not None:
                cue_records.append((factor, where, cue_record))
        lacking = all(is_missing(record["value"]) for *_, record in cue_records)
        reasons = {record["reason"] for *_, record in cue_records}
        if cue_records and lacking and len(reasons) == 1:
            cue_records = [("every cue", "", cue_records[0][2])]
        for factor, where, record in cue_records:
            reason = record["reason"]
            if not is_missing(record["value"]) and isinstance(reason, str):
                where = with_titles(reason, source)  # which tasks it is over
            verdict = record["verdict"]
            why: str | Cell = ""
            if isinstance(verdict, str):
                why = Cell(str(record["why"]), Verdict(verdict).mark)
            figure_cells = (format_figure(record), format_number(record["control"]), why)
            rows.append([model, READOUTS[readout], slug_to_words(factor), where, *figure_cells])
    of_placebos = effects[effects["placebo"] > 0]
    stimulus_counts = of_placebos.groupby(["factor", "placebo"])["stimulus"].nunique()
    about = ""
    if len(stimulus_counts) and stimulus_counts.max() < effects["stimulus"].nunique():
        about = f" Each was asked about {range_text(stimulus_counts, 0)} of them."
    return make_tables(TABLES["effects"], rows, about=about)


def _metric_model_pairs(figures: pd.DataFrame) -> list[tuple[str, str]]:
    pairs = set(zip(figures["readout"], figures["model"], strict=True))
    order = list(READOUTS)
    return sorted(pairs, key=lambda pair: (order.index(pair[0]), pair[1]))


def overall_table(figures: pd.DataFrame) -> list[Table]:
    """Figures over all cues and cells, one row per readout and model."""
    of_no_cell = figures[figures["cell"].isna()]
    record_by_figure = _records_by(of_no_cell, "readout", "model", "figure")
    rows: list[list[str]] = []
    for readout, model in _metric_model_pairs(figures):
        shift = format_figure(record_by_figure.get((readout, model, "shift_probability")))
        coverage = format_figure(record_by_figure.get((readout, model, "coverage")))
        rows.append([READOUTS[readout], model, shift, coverage])
    return make_tables(TABLES["whole"], rows)


def comparison_tables(comparisons: pd.DataFrame) -> list[Table]:
    """A row per pair of classes, a column per method."""
    methods = list(comparisons["method"].unique())

    def tested(record: Mapping[Any, Any] | None) -> str:
        if record is None:
            return ""
        difference = format_figure({**record, "value": record["difference"]})
        p = p_value(record["p"])
        sign = "" if p.startswith("<") else "=\u00a0"
        return f"{difference}; p\u00a0{sign}{p}" if p else difference

    rows = []
    for readout, prompt_format in product(READOUTS, PROMPT_FORMATS):
        is_of_readout = comparisons["readout"] == readout
        is_of_prompt_format = comparisons["prompt_format"] == prompt_format
        of_part = comparisons[is_of_readout & is_of_prompt_format]
        for (against, outcome), pair in of_part.groupby(["against", "outcome"], sort=True):
            record_by_method: dict[Any, Any] = {
                record["method"]: record for record in pair.to_dict("records")
            }
            part = f"{READOUTS[readout]}, {PROMPT_FORMATS[prompt_format]}"
            n_models = str(pair["n_models"].iloc[0])
            differences = [tested(record_by_method.get(method)) for method in methods]
            rows.append([part, n_models, f"{outcome} against {against}", *differences])
    return make_tables(TABLES["comparisons"], rows, methods)


def coverage_tables(source: ContrastSource, exclusions: pd.DataFrame) -> list[Table]:
    """Coverage, cells x models (table 2): share of answers that name an option; without cells with
    placebos.
    """
    real = exclusions[exclusions["framing"].map(placebo_of) == 0]
    if real.empty:
        return []
    models = sorted(real["model"].unique())
    row_by_cell = _records_by(real, "readout", "task", "framing", "model")

    def covered(readout: str, task: str, framing: str, model: str) -> str | Cell:
        record = row_by_cell.get((readout, task, framing, model))
        share = format_number(record["coverage"], 3) if record else ""
        return Cell(f"{share}, too little", "unfit") if record and record["excluded"] else share

    rows: list[list[str | Cell]] = []
    for readout, (slug, task) in product(READOUTS, source.tasks.items()):
        for cell in task.cells:
            shares = [covered(readout, slug, cell, model) for model in models]
            if any(shares):
                cues = " + ".join(map(slug_to_words, cues_of(cell))) or "no cue"
                label = f"{task.title}: {cues}"
                rows.append([READOUTS[readout], label, *shares])
    excluded_counts: list[str] = []
    for readout in READOUTS:
        readout_rows = real[real["readout"] == readout]
        for model, group in readout_rows.groupby("model", sort=True):
            n_excluded = int(group["excluded"].sum()) or "none"
            part = f"{model}, {READOUTS[readout]}"
            excluded_counts.append(f"{part}, {n_excluded} of {len(group)} cells")
    least: list[str] = []
    for readout, meaning in CAPTIONS["least"].items():
        readout_rows = real[real["readout"] == readout]
        if len(readout_rows):
            n = range_text(readout_rows["n"], 0)
            least.append(meaning.format(least=readout_rows["least"].iloc[0], n=n))
    return make_tables(
        TABLES["coverage"], rows, models, least=" ".join(least), said="; ".join(excluded_counts)
    )


def continuation_tables(source: ContrastSource, continuations: pd.DataFrame) -> list[Table]:
    """Share of replies of the neutral class that name another class (appendix A.3)."""
    if source.continuation is None or continuations.empty:
        return []
    row_by_cue = _records_by(continuations, "model", "factor", "cue")
    columns = {("all", False): "all replies"}
    for factor, cue in product(source.factors, (False, True)):
        preposition = "with" if cue else "without"
        columns[factor, cue] = f"{preposition} {slug_to_words(factor)}"

    def share(record: Mapping[Any, Any] | None) -> str:
        if not record or not record["n"]:
            return NONE
        percentage = 100 * record["share"]
        counts = f"{record['named']} of {record['n']}"
        return f"{percentage:.2f}% ({counts})"

    models = sorted(continuations["model"].unique())
    rows: list[list[str]] = []
    for model in models:
        shares = [share(row_by_cue.get((model, *column))) for column in columns]
        rows.append([model, *shares])
    named = {
        "neutral": source.continuation.outcome,
        "keywords": ", ".join(source.continuation.keywords),
    }
    return make_tables(TABLES["continuations"], rows, list(columns.values()), **named)


def sections(shown: ReportInput[Settings, ContrastSource]) -> list[Section]:
    """A section for every contrast."""
    return [_contrast_section(name, source, shown.tables) for name, source in shown.sources.items()]


def _contrast_section(contrast: str, source: ContrastSource, tables: Tables) -> Section:
    tables = {**tables, "figures": tables["figures"].rename(columns=FIGURE_COLUMNS)}
    here = {
        name: _label_chat_models(table[table["benchmark"] == contrast])
        for name, table in tables.items()
    }
    n_stimuli = here["distributions"]["stimulus"].nunique()
    sample = ""
    if 0 < n_stimuli < len(source.stimuli):
        sample = (
            f"Only {n_stimuli} of the {len(source.stimuli)} stimuli were asked, evenly spread: a "
            "sample."
        )
    effects, figures, exclusions = here["effects"], here["figures"], here["exclusions"]
    effects_of_cues = effects[effects["placebo"] == 0]
    word_effects = effects[effects["readout"] == "token"]
    word_figures = figures[figures["readout"] == "token"]
    word_shifts = here["shifts"][here["shifts"]["readout"] == "token"]
    parts: list[Table | Picture] = [*effects_with_controls(source, figures, effects)]
    parts += _cues_among_placebos(source, word_effects, word_figures)
    parts += _sensitivity_pictures(source, word_effects, word_figures)
    parts += overall_table(figures)
    parts += _shift_pictures(source, word_shifts, word_figures)
    parts += comparison_tables(here["comparisons"])
    parts += coverage_tables(source, exclusions)
    parts += _metric_pictures(source, effects_of_cues, figures)
    parts += continuation_tables(source, here["continuations"])
    parts += _replication_parts(source, here["replications"])
    cues: list[str] = []
    for factor, meaning in source.factors.items():
        cues.append(f"{slug_to_words(factor)} ({meaning})")
    sampled = exclusions[exclusions["readout"] == "choice"]
    sampled_models = sorted(sampled["model"].unique())
    sampling_note = f"Replies were sampled from {join_names(sampled_models)}."
    if sampled.empty:
        sampling_note = "No replies were sampled: figures are from token probabilities only."
    if here["distributions"].empty:
        sampling_note = "No model was asked."
    cue_or_cues = "Cues" if len(source.factors) > 1 else "Cue"
    sentences = [f"{cue_or_cues}: {join_names(cues)}.", sample, sampling_note]
    for place, part in enumerate(parts):
        if isinstance(part, Picture):
            parts[place] = replace(part, caption=f"{part.caption} {sample}".strip())
    return Section("Cues", " ".join(filter(None, sentences)), parts, contrast)


def _label_chat_models(table: pd.DataFrame) -> pd.DataFrame:
    """`model` with "(chat)" after it for the chat template."""
    if "model" not in table:
        return table
    is_chat = table["prompt_format"] == "chat"
    return table.assign(model=table["model"].mask(is_chat, table["model"] + " (chat)"))


def _order_and_label_rows(
    table: pd.DataFrame, source: ContrastSource, first: str = "model"
) -> pd.DataFrame:
    """Rows in the order of the declaration, sorted by `first` before other columns, with words in
    place of slugs.
    """
    factors = {slug: slug_to_words(slug) for slug in source.factors}
    task_titles = {slug: task.title for slug, task in source.tasks.items()}
    outcomes = {slug: slug for slug in source.outcomes}
    stimulus_texts = {slug: entry.text for slug, entry in source.stimuli.items()}
    words: dict[str, dict[str, str]] = {
        "readout": READOUTS,
        "factor": factors,
        "task": task_titles,
        "outcome": outcomes,
        "stimulus": stimulus_texts,
    }
    here = {column: column_words for column, column_words in words.items() if column in table}
    for column, word_by_slug in here.items():
        categories = list(dict.fromkeys(word_by_slug.values()))
        labels = pd.Categorical(table[column].map(word_by_slug), categories)
        table = table.assign(**{column: labels})
    keys = list(dict.fromkeys([first, "model", *here]))
    return table.sort_values(keys).astype(dict.fromkeys(here, str))


def _cues_among_placebos(
    source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame
) -> list[Picture]:
    """Figure 2, by task and with placebos."""
    if effects.empty:
        return []
    by_task = figures[(figures["figure"] == "effect") & figures["task"].notna()]
    panel_means = by_task[["model", "factor", "task", "value", "low", "high"]]
    means = _order_and_label_rows(panel_means, source)
    drawn = charts.cues_among_placebos(_order_and_label_rows(effects, source, "factor"), means)
    return [Picture("Cues and placebos", CAPTIONS["cues_among_placebos"], drawn)]


def _sensitivity_pictures(
    source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame
) -> list[Picture]:
    """Figure 1, if there are several cues."""
    cues = effects[effects["placebo"] == 0]
    if cues.empty or len(source.factors) < 2:
        return []
    means = figures[figures["figure"] == "shift_probability"]
    drawn = charts.shift_probability(_order_and_label_rows(cues, source), means)
    caption = CAPTIONS["sensitivity"].format(seen=CAPTIONS["seen"])
    return [Picture("Probability of a shift", caption, drawn)]


def _shift_pictures(
    source: ContrastSource, shifts: pd.DataFrame, figures: pd.DataFrame
) -> list[Picture]:
    """Figure 3."""
    if shifts.empty:
        return []
    shift_figures = figures[figures["figure"] == "shift"]
    means = shift_figures[["model", "outcome", "value", "low", "high"]]
    drawn = charts.draw_shifts(_order_and_label_rows(shifts, source, "outcome"), means)
    return [Picture("Which classes shift", CAPTIONS["shifts"], drawn)]


def _metric_pictures(
    source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame
) -> list[Picture]:
    """Figure 4: only effects that both readouts have."""
    key = ["readout", "model", "factor", "task"]
    has_value = (figures["figure"] == "effect") & figures["value"].notna()
    figure_keys = pd.MultiIndex.from_frame(figures.loc[has_value, key])
    effects = effects[pd.MultiIndex.from_frame(effects[key]).isin(figure_keys)]
    same = ["model", "task", "factor", "stimulus"]
    n_readouts = effects.groupby(same)["readout"].transform("nunique")
    both = effects[n_readouts == len(READOUTS)]
    if both.empty:
        return []
    caption = CAPTIONS["readouts"].format(seen=CAPTIONS["seen"])
    drawn = charts.draw_metrics(_order_and_label_rows(both, source, "task"))
    return [Picture("By readout", caption, drawn)]


def _replication_parts(source: ContrastSource, replications: pd.DataFrame) -> list[Table | Picture]:
    """A published study's measures before and after the intervention, and what placebos change
    (figure 5).
    """
    if source.replicates is None or replications.empty:
        return []
    replications = replications.sort_values("model", kind="stable")  # as elsewhere on the page
    records: list[dict[Any, Any]] = replications.to_dict("records")
    rows: list[list[str]] = []
    for record in records:
        model, measure = str(record["model"]), str(record["measure"])
        readout = READOUTS.get(record["readout"], str(record["readout"]))
        before_and_after: list[str] = []
        for moment in ("before", "after"):
            low = record[f"{moment}_low"]
            high = record[f"{moment}_high"]
            before_and_after.append(with_interval(record[moment], low, high))
        change = format_figure({**record, "value": record["change"]}, decimals=3)
        control = format_number(record["control"], 3)
        rows.append([model, measure, readout, *before_and_after, change, control])
    cue = join_names([slug_to_words(factor) for factor in source.factors])
    measure_tables = make_tables(
        TABLES["measures"], rows, meaning=CAPTIONS["studies"][source.replicates], cue=cue
    )
    measured = replications.dropna(subset=["before", "after"])
    if measured.empty:
        return [*measure_tables]
    measure_names = measured["measure"] + ", " + measured["readout"].map(READOUTS)
    drawn = charts.draw_replications(measured.assign(measure=measure_names))
    return [*measure_tables, Picture("Before and after", CAPTIONS["before_and_after"], drawn)]

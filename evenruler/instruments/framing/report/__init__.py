"""What the page says of a contrast: how far cues move answers, and in which direction."""

from dataclasses import replace
from typing import Any

import pandas as pd

from evenruler.instruments.framing.declare import CHANGE, EFFECT
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.report import charts
from evenruler.instruments.framing.report.tables import (
    CAPTIONS,
    METRICS,
    SHIFT,
    comparisons,
    continuations,
    coverage,
    effects_with_controls,
    headlines,
    in_words,
    measures,
    whole,
)
from evenruler.instruments.instrument import Shown, Tables
from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Picture, Section, Table
from evenruler.report.words import listed, missing, number

__all__ = ["sections"]


def sections(shown: Shown) -> list[Section]:
    """A section for every contrast."""
    return [section(name, source, shown.tables) for name, source in shown.sources.items()]


Parts = list[Table | Picture]

CLASS_SHIFT = "shift: "
"""Before the name of a class in figures."""


def section(contrast: str, source: ContrastSource, tables: Tables) -> Section:
    """What the page says of one contrast, by the tables of the diagnosis."""
    here = {name: _called(table[table["benchmark"] == contrast]) for name, table in tables.items()}
    asked, sample = here["distributions"]["stimulus"].nunique(), ""
    if 0 < asked < len(source.stimuli):
        sample = f"Only {asked} of the {len(source.stimuli)} stimuli were asked, evenly spread: a sample."
    effects, figures = here["effects"][here["effects"]["placebo"] == 0], here["figures"]
    of_words = effects[effects["metric"] == "token"]
    parts: Parts = [
        *headlines(source, figures),
        *effects_with_controls(source, figures, here["effects"]),
        *_cues_among_placebos(source, here["effects"], figures),
        *(_sensitivity(source, of_words, figures) if len(of_words) and len(source.factors) > 1 else ()),
        *whole(figures),
        *_shifts(source, here["shifts"], figures),
        *comparisons(here["comparisons"]),
        *coverage(source, here["exclusions"]),
        *_metrics(source, effects, figures),
        *continuations(source, here["continuations"]),
        *_replications(source, here["replications"]),
    ]
    cues = listed([f"{in_words(factor)} ({meaning})" for factor, meaning in source.factors.items()])
    sampled = here["exclusions"][here["exclusions"]["metric"] == "choice"]
    if here["distributions"].empty:
        told = "No model was asked."
    elif sampled.empty:
        told = "No replies were sampled, so there are token probabilities alone."
    else:
        told = f"Replies were sampled from {listed(sorted(sampled['model'].unique()))}."
    sentences = [
        "" if here["distributions"].empty else lead(source, figures),
        f"{'Cues' if len(source.factors) > 1 else 'Cue'}: {cues}.",
        sample,
        told,
    ]
    with_sample = [
        replace(part, caption=f"{part.caption} {sample}".strip()) if isinstance(part, Picture) else part
        for part in parts
    ]
    return Section("Cues", " ".join(filter(None, sentences)), with_sample, contrast)


def _called(table: pd.DataFrame) -> pd.DataFrame:
    """Models by their name, in the chat template with that after it; the two words of `part` and `name` as columns."""
    if "part" in table:
        parts = [str(part).split(", ") for part in table["part"]]
        table = table.assign(configuration=[part[0] for part in parts], metric=[part[-1] for part in parts])
    if "model" not in table:
        return table
    asked = zip(table["model"], table["configuration"], strict=True)
    table = table.assign(name=table["model"])
    return table.assign(model=[f"{model} (chat)" if form == "chat" else model for model, form in asked])


def _declared(table: pd.DataFrame, source: ContrastSource, first: str = "model") -> pd.DataFrame:
    """Rows in the order of the declaration, by one column before all others, with words in place of slugs."""
    words: dict[str, dict[str, str]] = {
        "metric": METRICS,
        "factor": {slug: in_words(slug) for slug in source.factors},
        "task": {slug: task.title for slug, task in source.tasks.items()},
        "outcome": {slug: slug for slug in source.outcomes},
        "stimulus": {slug: entry.text for slug, entry in source.stimuli.items()},
    }
    here = {column: names for column, names in words.items() if column in table}
    ordered = {
        column: pd.Categorical(table[column].map(names), list(dict.fromkeys(names.values())))
        for column, names in here.items()
    }
    by = dict.fromkeys([first, "model", *here])
    return table.assign(**ordered).sort_values(list(by)).astype(dict.fromkeys(here, str))


def _cues_among_placebos(source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame) -> list[Picture]:
    """Figure 2 task by task, with placebos, of token probability."""
    if (effects := effects[effects["metric"] == "token"]).empty:
        return []
    own = figures[(figures["metric"] == "token") & figures["figure"].str.startswith(EFFECT)]
    named = own["figure"].str.removeprefix(EFFECT).str.split(", ", n=1, expand=True).reindex(columns=[0, 1])
    by_task = own.assign(factor=named[0], task=named[1])[named[1].notna()]
    means = _declared(by_task[["model", "factor", "task", "value", "low", "high"]], source)
    return [
        Picture(
            "Cues and placebos",
            CAPTIONS["cues_among_placebos"],
            charts.cues_among_placebos(_declared(effects, source, "factor"), means),
        )
    ]


def _sensitivity(source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame) -> list[Picture]:
    """Figure 1, of token probability."""
    own = figures[(figures["metric"] == "token") & (figures["figure"] == SHIFT)]
    caption = CAPTIONS["sensitivity"].format(seen=CAPTIONS["seen"])
    return [Picture("Probability of a shift", caption, charts.shift_probability(_declared(effects, source), own))]


def _shifts(source: ContrastSource, shifts: pd.DataFrame, figures: pd.DataFrame) -> list[Picture]:
    """Figure 3, of token probability."""
    shifts = shifts[shifts["metric"] == "token"]
    if shifts.empty:
        return []
    names = {f"{CLASS_SHIFT}{outcome}": outcome for outcome in source.outcomes}
    own = figures[(figures["metric"] == "token") & figures["figure"].isin(names)]
    means = own.assign(outcome=own["figure"].map(names))[["model", "outcome", "value", "low", "high"]]
    return [
        Picture("Which classes shift", CAPTIONS["shifts"], charts.shifts(_declared(shifts, source, "outcome"), means))
    ]


def _metrics(source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame) -> list[Picture]:
    """Figure 4: what both metrics know of, and nothing else."""
    known = figures[figures["value"].notna()]
    told = set(zip(known["metric"], known["model"], known["figure"], strict=True))
    columns = [effects[name] for name in ("metric", "model", "factor", "task")]
    has_figure = [
        (metric, model, f"{EFFECT}{factor}, {task}") in told
        for metric, model, factor, task in zip(*columns, strict=True)
    ]
    effects = effects[pd.Series(has_figure, index=effects.index, dtype=bool)]
    same = ["model", "task", "factor", "stimulus"]
    both = effects[effects.groupby(same)["metric"].transform("nunique") == len(METRICS)]
    if both.empty:
        return []
    caption = CAPTIONS["metrics"].format(seen=CAPTIONS["seen"])
    return [Picture("Metric by metric", caption, charts.metrics(_declared(both, source, "task")))]


def _replications(source: ContrastSource, replications: pd.DataFrame) -> Parts:
    """Measures of a published study before and after the intervention (figure 5)."""
    if source.replicates is None or replications.empty:
        return []
    replications = replications.sort_values("model", kind="stable")  # as everywhere else on the page
    parts: Parts = [measures(source.factors, CAPTIONS["studies"][source.replicates], replications)]
    measured = replications.dropna(subset=["before", "after"])
    if len(measured):
        labels = measured["measure"] + ", " + measured["metric"].map(METRICS)
        drawn = charts.replications(measured.assign(measure=labels))
        parts.append(Picture("Before and after", CAPTIONS["before_and_after"], drawn))
    return parts


FOLLOWS = {
    Verdict.EFFECT: "a cue moves the class more than other words in its place do",
    Verdict.NOT_SPECIFIC: "other words in its place do as much, or at least half",
    Verdict.NO_EFFECT: "surely less than is worth naming",
    Verdict.INVALID: "too few of the answers are of any class, or all are alike",
    Verdict.INCONCLUSIVE: "",
}
"""What each verdict says here, in the order in which they are told."""


def lead(source: ContrastSource, figures: pd.DataFrame) -> str:
    """A sentence a model, and one for those without verdicts."""
    judged = figures[figures["figure"].str.startswith(CHANGE)]
    if judged.empty:
        return "Nothing has a verdict: what follows describes."
    groups: Any = judged.groupby(["model", "metric"], sort=True)
    sentences = [_of_model(f"{model}, {METRICS[str(metric)]}", own, source) for (model, metric), own in groups]
    if without := sorted(set(figures["name"]) - set(judged["name"])):
        sentences.append(f"{listed(without)}: no verdict.")
    about = f"How much likelier a cue makes “{source.headline}”, in percentage points."
    return " ".join([about, *sentences])


def _of_model(called: str, judged: pd.DataFrame, source: ContrastSource) -> str:
    groups = []
    for verdict, follows in FOLLOWS.items():
        own = [_change(record, source) for record in judged[judged["verdict"] == str(verdict)].to_dict("records")]
        if own:
            groups.append(f"{verdict}{f' ({follows})' if follows else ''}: {listed(own)}")
    return f"{called}: {'; '.join(groups)}."


def _change(record: dict[Any, Any], source: ContrastSource) -> str:
    """Cue and task, the change, and that of placebos."""
    factor, _, task = str(record["figure"]).removeprefix(CHANGE).partition(", ")
    where = f" in “{source.tasks[task].title}”" if task else ""
    if missing(record["value"]):
        return f"{in_words(factor)}{where}"
    beside = "" if missing(record["placebo"]) else f", placebos {number(record['placebo'], 1)}"
    return f"{in_words(factor)}{where} ({number(record['value'], 1)}{beside})"

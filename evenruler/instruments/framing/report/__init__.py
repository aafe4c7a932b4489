"""What the page says of a contrast: how far cues move answers, and in which direction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from evenruler.instruments.framing.declare import EFFECT
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.report import charts
from evenruler.instruments.framing.report.tables import (
    METRICS,
    SHIFT,
    comparisons,
    continuations,
    coverage,
    effects_with_controls,
    in_words,
    measures,
    whole,
)
from evenruler.instruments.instrument import Shown
from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Picture, Section, Table
from evenruler.report.words import listed, missing, number

__all__ = ["sections"]


def sections(shown: Shown) -> list[Section]:
    """A section for every contrast.

    Args:
        shown: Sources and tables of the diagnosis, by `diagnose.TABLES`.
    """
    return [section(name, source, shown.tables) for name, source in shown.sources.items()]


Tables = Mapping[str, pd.DataFrame]
Parts = list[Table | Picture]

MEASURES = {
    "indirect-probing": "Measures of Dong et al. (2024), each from 0 to 1. GAS: share of replies with a word of either "
    "class. GLD: distance of the masses of the two classes at the next token, over their sum. ADD: Jensen-Shannon "
    "distance of the stimuli that go with one class and with the other.",
    "p-at": "Measures of Onorati et al. (2023). S: half of how much more stimuli of the first group take the first "
    "class than those of the second do, -1 to 1. H: entropy of the answers, 0 to 1 bit.",
}
"""By study, what its measures are."""

CLASS_SHIFT = "shift: "
"""Before the name of a class in figures."""

SEEN = (
    "The diamond is the mean, the bar its 95% interval over stimuli, both left out below five stimuli; a violin is "
    "wide where dots are many, and is left out where they are few or all equal."
)


def section(contrast: str, source: ContrastSource, tables: Tables) -> Section:
    """What the page says of one contrast.

    Args:
        contrast: Its name.
        source: What the user wrote.
        tables: `comparisons`, `continuations`, `distributions`, `effects`, `exclusions`, `figures`, `replications`
            and `shifts` of `evenruler.instruments.framing.schemas`.
    """
    here = {name: _called(table[table["benchmark"] == contrast]) for name, table in tables.items()}
    asked, sample = here["distributions"]["stimulus"].nunique(), ""
    if 0 < asked < len(source.stimuli):
        sample = f"Only {asked} of the {len(source.stimuli)} stimuli were asked, evenly spread: a sample."
    effects = here["effects"][here["effects"]["placebo"] == 0]
    parts: Parts = [
        *effects_with_controls(source, here["figures"], here["effects"]),
        *_cues_among_placebos(source, here["effects"], here["figures"]),
        *_sensitivity(source, effects, here["figures"]),
        *whole(here["figures"]),
        *_shifts(source, here["shifts"], here["figures"]),
        *comparisons(here["comparisons"]),
        *coverage(source, here["exclusions"]),
        *_metrics(source, effects, here["figures"]),
        *continuations(source, here["continuations"]),
        *_replications(source, here["replications"]),
    ]
    cues = listed([f"{in_words(factor)} ({meaning})" for factor, meaning in source.factors.items()])
    sentences = [
        "" if here["distributions"].empty else lead(source, here["figures"]),
        f"{'Cues' if len(source.factors) > 1 else 'Cue'}: {cues}.",
        sample,
        _told(here),
    ]
    with_sample = [
        replace(part, caption=f"{part.caption} {sample}".strip()) if isinstance(part, Picture) else part
        for part in parts
    ]
    return Section("Cues", " ".join(filter(None, sentences)), with_sample, contrast)


def _told(here: Tables) -> str:
    """Who was asked what, where it is less than everything."""
    if here["distributions"].empty:
        return "No model was asked."
    sampled = here["exclusions"][here["exclusions"]["metric"] == "choice"]
    if sampled.empty:
        return "No replies were sampled, so there are token probabilities alone."
    return f"Replies were sampled from {listed(sorted(sampled['model'].unique()))}."


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
    means = _declared(by_task[["model", "factor", "task", "value", "low", "high", "verdict"]], source)
    caption = (
        "How far a cue moves what a model finds likely to come next (with its 95% interval over stimuli), and how far "
        "each placebo in its place does. Dark: the effect is beyond control; light: it has another verdict, or none. "
        "Cues among their placebos do what any words would do. A placebo may be of fewer stimuli (hover); of a cue no "
        "mean is drawn below five."
    )
    return [
        Picture("Cues and placebos", caption, charts.cues_among_placebos(_declared(effects, source, "factor"), means))
    ]


def _sensitivity(source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame) -> list[Picture]:
    """Figure 1, of token probability, where it is of several cues."""
    if (effects := effects[effects["metric"] == "token"]).empty or len(source.factors) == 1:
        return []
    own = figures[(figures["metric"] == "token") & (figures["figure"] == SHIFT)]
    caption = (
        "How far the cues move what a model finds likely to come next, mean over cues and tasks; other words in "
        f"their place would move it, too. A dot is a stimulus. {SEEN}"
    )
    return [Picture("Probability of a shift", caption, charts.shift_probability(_declared(effects, source), own))]


def _shifts(source: ContrastSource, shifts: pd.DataFrame, figures: pd.DataFrame) -> list[Picture]:
    """Figure 3, of token probability."""
    shifts = shifts[(shifts["metric"] == "token") & (shifts["placebo"] == 0)]
    if shifts.empty:
        return []
    names = {f"{CLASS_SHIFT}{outcome}": outcome for outcome in source.outcomes}
    own = figures[(figures["metric"] == "token") & figures["figure"].isin(names)]
    means = own.assign(outcome=own["figure"].map(names))[["model", "outcome", "value", "low", "high", "control"]]
    caption = (
        "Which classes gain and which lose when a cue is added: the share with the cue less the share without it, over "
        "their sum; +1, the class comes up with the cue; -1, it vanishes. Bars are means over tasks, pairs of prompts "
        "and stimuli, of token probability; lines are 95% intervals, over stimuli; a stroke is the same of placebos in "
        "the place of the cues. Below five stimuli each is a dot."
    )
    return [Picture("Which classes shift", caption, charts.shifts(_declared(shifts, source, "outcome"), means))]


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
    caption = (
        "Sensitivity by what a model finds likely and by what it writes, a panel a task: the same models, cues and "
        "stimuli in both. From few replies a proportion comes out rough, and its APD too large by chance alone: the "
        "stroke says how large it would be if the same replies were dealt to the two prompts anew. A dot is a stimulus "
        f"of one model. {SEEN}"
    )
    return [Picture("Metric by metric", caption, charts.metrics(_declared(both, source, "task")))]


def _replications(source: ContrastSource, replications: pd.DataFrame) -> Parts:
    """Measures of a published study before and after the intervention (figure 5)."""
    if source.replicates is None or replications.empty:
        return []
    replications = replications.sort_values("model", kind="stable")  # as everywhere else on the page
    parts: Parts = [measures(source.factors, MEASURES[source.replicates], replications)]
    measured = replications.dropna(subset=["before", "after"])
    if len(measured):
        caption = (
            "Grey: before; blue: after, an arrow that points where the measure went, a circle where it stayed; the "
            "stroke is where placebos in the place of the cue bring it, unless they were asked about fewer stimuli, of "
            "which the measure would be another. Lines are 95% intervals over stimuli."
        )
        labels = measured["measure"] + ", " + measured["metric"].map(METRICS)
        parts.append(Picture("Before and after", caption, charts.replications(measured.assign(measure=labels))))
    return parts


FOLLOWS = {
    Verdict.BEYOND: "moves the answers more than other words in its place do",
    Verdict.WITHIN: "moves them as other words in its place do",
    Verdict.UNFIT: "too few of the answers are of any class, or all are alike",
    Verdict.LITTLE: "",
}
"""What each verdict says here, in the order in which they are tables."""


def lead(source: ContrastSource, figures: pd.DataFrame) -> str:
    """A sentence a model, and one for those without verdicts.

    Args:
        source: What the user wrote.
        figures: By `evenruler.instruments.framing.schemas.FIGURES`, with `name` (of the model), `model` (as it is
            called) and `metric`.
    """
    judged = figures[figures["verdict"].notna()]
    if judged.empty:
        return "No effect has a verdict: what follows describes."
    groups: Any = judged.groupby(["model", "metric"], sort=True)
    sentences = [_of_model(f"{model}, {METRICS[str(metric)]}", own, source) for (model, metric), own in groups]
    if without := sorted(set(figures["name"]) - set(judged["name"])):
        sentences.append(f"{listed(without)}: no verdict.")
    return " ".join(sentences)


def _of_model(called: str, judged: pd.DataFrame, source: ContrastSource) -> str:
    groups = []
    for verdict, follows in FOLLOWS.items():
        own = [_effect(record, source) for record in judged[judged["verdict"] == str(verdict)].to_dict("records")]
        if own:
            groups.append(f"{verdict}{f' ({follows})' if follows else ''}: {listed(own)}")
        elif verdict is Verdict.BEYOND:
            groups.append(f"nothing is {verdict}")
    return f"{called}: {'; '.join(groups)}."


def _effect(record: dict[Any, Any], source: ContrastSource) -> str:
    """Cue and task, the effect, and that of placebos."""
    factor, _, task = str(record["figure"]).removeprefix(EFFECT).partition(", ")
    where = f" in “{source.tasks[task].title}”" if task else ""
    if missing(record["value"]):
        return f"{in_words(factor)}{where}"
    beside = "" if missing(record["control"]) else f", placebos {number(record['control'])}"
    return f"{in_words(factor)}{where} ({number(record['value'])}{beside})"

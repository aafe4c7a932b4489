"""The section of one contrast: how far cues move answers, and in which direction."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.report import charts
from evenruler.instruments.framing.report import tables as told
from evenruler.instruments.framing.report.tables import EFFECT, METRICS, SHIFT, as_figure, in_words
from evenruler.report.page import Picture, Section, Table
from evenruler.report.words import figure, listed, with_interval

Tables = Mapping[str, pd.DataFrame]
Parts = list[Table | Picture]

SENSITIVITY = "AS"
"""The measure that has a change alone."""
MEASURES = {
    "indirect-probing": "Measures of Dong et al. (2024), each from 0 to 1. GAS: share of replies with a word of either "
    "class. GLD: distance of the masses of the two classes at the next token, over their sum. ADD: Jensen-Shannon "
    "distance of the stimuli that go with one class and with the other.",
    "p-at": "Measures of Onorati et al. (2023). S: half of how much more stimuli of the first group take the first "
    "class than those of the second do, -1 to 1. H: entropy of the answers, 0 to 1 bit.",
}
"""By study, what its measures are."""

SEEN = (
    "The diamond is the mean, the bar its 95% interval over stimuli; a violin is wide where dots are many, and is left "
    "out where they are fewer than five or all equal."
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
    parts: Parts = [
        *told.effects(source, here["figures"]),
        *_sensitivity(source, here["effects"], here["figures"]),
        *_shifts(source, here["shifts"]),
        *told.comparisons(here["comparisons"]),
        *told.exclusions(source, here["exclusions"]),
        *_metrics(source, here["effects"]),
        *told.continuations(source, here["continuations"]),
        *_replications(source, here["replications"]),
    ]
    cues = listed([f"{in_words(factor)} ({meaning})" for factor, meaning in source.factors.items()])
    sentences = [
        f"Measures the {source.construct_}; {source.direction}.",
        f"{'Cues' if len(source.factors) > 1 else 'Cue'}: {cues}.",
        sample,
        _told(here),
    ]
    with_sample = [
        replace(part, caption=f"{part.caption} {sample}".strip()) if isinstance(part, Picture) else part
        for part in parts
    ]
    return Section(f"Framing: {source.title}", " ".join(filter(None, sentences)), with_sample)


def _told(here: Tables) -> str:
    """Who was asked what, where it is less than everything."""
    if here["distributions"].empty:
        return "No model was asked."
    if here["exclusions"].empty:
        return "No replies were sampled, so there are token probabilities alone."
    return f"Replies were sampled from {listed(sorted(here['exclusions']['model'].unique()))}."


def _called(table: pd.DataFrame) -> pd.DataFrame:
    """Models by their name, in the chat template with that after it; the two words of `part` as columns."""
    if "part" in table:
        parts = [str(part).split(", ") for part in table["part"]]
        table = table.assign(configuration=[part[0] for part in parts], metric=[part[-1] for part in parts])
    if "model" not in table:
        return table
    asked = zip(table["model"], table["configuration"], strict=True)
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


def _sensitivity(source: ContrastSource, effects: pd.DataFrame, figures: pd.DataFrame) -> list[Picture]:
    """Figures 1 and 2, of token probability."""
    if (effects := effects[effects["metric"] == "token"]).empty:
        return []
    own = figures[figures["metric"] == "token"]
    pictures = [
        Picture(
            "Probability of a shift",
            "How far the cues move what a model finds likely to come next, mean over cues and tasks. A dot is a "
            f"stimulus. {SEEN}",
            charts.shift_probability(_declared(effects, source), own[own["figure"] == SHIFT]),
        )
    ]
    if len(source.factors) > 1:
        factors = {f"{EFFECT}{factor}": in_words(factor) for factor in source.factors}
        means = own[own["figure"].isin(factors)]
        means = means.assign(factor=means["figure"].map(factors))
        caption = (
            "The same for each cue apart, mean over tasks. A model far to the right in one panel alone listens to that "
            f"cue alone. {SEEN}"
        )
        chart = charts.effects(_declared(effects, source, "factor"), means)
        pictures.append(Picture("Cue by cue", caption, chart))
    return pictures


def _shifts(source: ContrastSource, shifts: pd.DataFrame) -> list[Picture]:
    """Figure 3, of token probability."""
    if (shifts := shifts[shifts["metric"] == "token"]).empty:
        return []
    caption = (
        "Which classes gain and which lose when a cue is added: the share with the cue less the share without it, over "
        "their sum; +1, the class comes up with the cue; -1, it vanishes. Bars are means over tasks, pairs of prompts "
        "and stimuli, of token probability; lines are 95% intervals, over stimuli."
    )
    return [Picture("Which classes shift", caption, charts.shifts(_declared(shifts, source, "outcome")))]


def _metrics(source: ContrastSource, effects: pd.DataFrame) -> list[Picture]:
    """Figure 4: what both metrics know of, and nothing else."""
    same = ["model", "task", "factor", "stimulus"]
    both = effects[effects.groupby(same)["metric"].transform("nunique") == len(METRICS)]
    if both.empty:
        return []
    caption = (
        "Sensitivity by what a model finds likely and by what it writes, a panel a task: the same models, cues and "
        "stimuli in both. From few replies a proportion comes out rough, and its APD too large by chance alone, so "
        f"that more of it in the lower row is no proof. A dot is a stimulus of one model. {SEEN}"
    )
    return [Picture("Metric by metric", caption, charts.metrics(_declared(both, source, "task")))]


def _replications(source: ContrastSource, replications: pd.DataFrame) -> Parts:
    """Measures of a published study before and after the intervention (figure 5)."""
    if source.replicates is None or replications.empty:
        return []
    replications = replications.sort_values("model", kind="stable")  # as everywhere else on the page
    rows = [
        [
            str(record["model"]),
            str(record["measure"]),
            METRICS.get(record["metric"], str(record["metric"])),
            with_interval(record["before"], record["before_low"], record["before_high"]),
            with_interval(record["after"], record["after_low"], record["after_high"]),
            figure(as_figure(record, "change"), decimals=3),
        ]
        for record in replications.to_dict("records")
    ]
    meaning = MEASURES[source.replicates]
    cue = listed([in_words(factor) for factor in source.factors])
    caption = (
        f"{meaning} {SENSITIVITY}: mean absolute change of the others, each scaled to 0 to 1. Before and after: "
        f"without and with the cue {cue}."
    )
    columns = ["model", "measure", "metric", "before", "after", "change"]
    parts: Parts = [Table(columns, rows, "The study's own measures", caption)]
    measured = replications[replications["measure"] != SENSITIVITY].dropna(subset=["before", "after"])
    if len(measured):
        picture = (
            "Grey: before; blue: after, an arrow that points where the measure went, a circle where it stayed. "
            " Lines are 95% intervals. A measure that the cue moves this far is of the task as well."
        )
        labels = measured["measure"] + ", " + measured["metric"].map(METRICS)
        parts.append(Picture("Before and after", picture, charts.replications(measured.assign(measure=labels))))
    return parts

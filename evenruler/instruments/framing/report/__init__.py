"""What the page says of a contrast: how far cues move answers, and in which direction; sections and their tables."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import pandas as pd

from evenruler.instruments.card import span
from evenruler.instruments.framing.declare import CHANGE, EFFECT, TOTAL
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.declare.tasks import cues_of, placebo_of
from evenruler.instruments.framing.report import charts
from evenruler.instruments.instrument import Shown, Tables
from evenruler.measurement.verdicts import Verdict
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.words import figure, listed, missing, number, p_value, with_interval
from evenruler.strict import read_yaml

CAPTIONS: Final[dict[str, Any]] = read_yaml(Path(__file__).with_name("captions.yaml"))

METRICS = {"token": "token probability", "choice": "proportion of choices"}
CONFIGURATIONS = {"plain": "plain prompt", "chat": "chat template"}


def in_words(slug: str) -> str:
    """A slug as words."""
    return slug.replace("-", " ")


def with_titles(told: str, source: ContrastSource) -> str:
    """A text with the titles of tasks in the place of their slugs."""
    names = "|".join(map(re.escape, sorted(source.tasks, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda found: f"“{source.tasks[found.group()].title}”", told)


SHIFT, COVERAGE = "shift probability", "coverage"
"""Names of figures."""

NONE = "none (no such reply)"

Records = Mapping[tuple[str, str, str], Mapping[Any, Any]]
"""By metric, model and figure."""


def headlines(source: ContrastSource, figures: pd.DataFrame) -> list[Table]:
    """Every headline figure beside what placebos do, with its verdict; by `schemas.FIGURES` with `metric`."""
    known = _records(figures)
    rows: list[list[str | Cell]] = []
    for (metric, model, name), record in sorted(known.items()):
        if not name.startswith(CHANGE):
            continue
        factor, _, task = name.removeprefix(CHANGE).partition(", ")
        low, high = record["specific_low"], record["specific_high"]
        rows.append(
            [
                *(model, METRICS[metric], in_words(factor), source.tasks[task].title if task else "its tasks"),
                with_interval(record["value"], record["low"], record["high"], 1),
                number(record["placebo"], 1),
                with_interval(record["specific"], low, high, 1),
                *(number(record["smallest"], 0), number(record["detectable"], 1), str(record["levels"])),
                number(known[metric, model, TOTAL + name.removeprefix(CHANGE)]["value"], 3),
                *(Cell(record["verdict"], Verdict(record["verdict"]).mark), str(record["why"])),
            ]
        )
    columns = ["model", "metric", "cue", "task", "change", "placebos", "beyond placebos", "worth naming"]
    columns += ["found in 80 of 100", "asked", "all classes", "verdict", "why"]
    caption = CAPTIONS["headline"].format(outcome=source.headline)
    return [Table(columns, rows, f"How much likelier a cue makes “{source.headline}”", caption)] if rows else []


def effects_with_controls(source: ContrastSource, figures: pd.DataFrame, effects: pd.DataFrame) -> list[Table]:
    """Every effect of a cue beside what placebos in its place do; they describe. Tables by `schemas`."""
    known = _records(figures)
    rows = []
    for metric, model in _asked(known):
        told = list(_effects_of(source, known, metric, model))
        reasons = {record["reason"] for _, _, record in told}
        if told and len(reasons) == 1 and all(missing(record["value"]) for _, _, record in told):
            told = [("every cue", "", told[0][2])]
        rows += [_beside(model, metric, *one) for one in told]
    columns = ["model", "metric", "cue", "task", "effect", "control", "why"]
    asked = effects[effects["placebo"] > 0].groupby(["factor", "placebo"])["stimulus"].nunique()
    about = ""
    if len(asked) and asked.max() < effects["stimulus"].nunique():
        about = f" Each was asked about {span(asked, 0)} of them."
    caption = CAPTIONS["apd"].format(about=about)
    return [Table(columns, rows, "The cue beside its placebos", caption)] if rows else []


def _records(figures: pd.DataFrame) -> Records:
    return {(row["metric"], row["model"], row["figure"]): row for row in figures.to_dict("records")}


def _asked(known: Records) -> list[tuple[str, str]]:
    """Metric and model, in the order of rows."""
    return sorted({(metric, model) for metric, model, _ in known}, key=lambda key: ([*METRICS].index(key[0]), key[1]))


def _effects_of(
    source: ContrastSource, known: Records, metric: str, model: str
) -> Iterator[tuple[str, str, Mapping[Any, Any]]]:
    """Factor, task (or which, where it is not of all) and figure, over all tasks first; of one task alone, in one."""
    for factor in source.factors:
        names = {f"{factor}, {task}": entry.title for task, entry in source.tasks.items() if entry.pairs(factor)}
        if len(names) > 1:
            names = {factor: "all tasks", **names}
        for name, where in names.items():
            if (record := known.get((metric, model, EFFECT + name))) is not None:
                told = None if missing(record["value"]) else record["reason"]
                yield factor, with_titles(told, source) if isinstance(told, str) else where, record


def _beside(model: str, metric: str, factor: str, where: str, record: Mapping[Any, Any]) -> list[str | Cell]:
    why = Cell(str(record["why"]), Verdict(record["verdict"]).mark) if isinstance(record["verdict"], str) else ""
    return [model, METRICS[metric], in_words(factor), where, figure(record), number(record["control"]), why]


def whole(figures: pd.DataFrame) -> list[Table]:
    """What is of all cues and cells, a row a metric and model."""
    known = _records(figures)
    rows = [
        [METRICS[metric], model, *(figure(known.get((metric, model, name))) for name in (SHIFT, COVERAGE))]
        for metric, model in _asked(known)
    ]
    return [Table(["metric", "model", SHIFT, COVERAGE], rows, "Over all cues", CAPTIONS["whole"])] if rows else []


def comparisons(comparisons: pd.DataFrame) -> list[Table]:
    """A row per pair of classes, a column per method."""
    methods = list(comparisons["method"].unique())
    rows = []
    for metric, configuration in product(METRICS, CONFIGURATIONS):
        of_part = comparisons[(comparisons["metric"] == metric) & (comparisons["configuration"] == configuration)]
        for (against, outcome), pair in of_part.groupby(["against", "outcome"], sort=True):
            known: dict[Any, Any] = {record["method"]: record for record in pair.to_dict("records")}
            part = [f"{METRICS[metric]}, {CONFIGURATIONS[configuration]}", str(pair["n_models"].iloc[0])]
            rows.append([*part, f"{outcome} against {against}", *(_tested(known.get(method)) for method in methods)])
    columns = ["of", "lineages", "classes", *methods]
    return [Table(columns, rows, "Classes compared", CAPTIONS["comparisons"])] if rows else []


def _tested(record: Mapping[Any, Any] | None) -> str:
    if record is None:
        return ""
    difference, p = figure({**record, "value": record["difference"]}), p_value(record["p"])
    sign = "" if p.startswith("<") else "=\u00a0"
    return f"{difference}; p\u00a0{sign}{p}" if p else difference


def coverage(source: ContrastSource, exclusions: pd.DataFrame) -> list[Table]:
    """Cells x models with the share of the answers that is of any class (table 2); cells with placebos are left out."""
    real = exclusions[exclusions["framing"].map(placebo_of) == 0]
    if real.empty:
        return []
    models = sorted(real["model"].unique())
    known = {(row["metric"], row["task"], row["framing"], row["model"]): row for row in real.to_dict("records")}
    rows: list[list[str | Cell]] = []
    for metric, (slug, task) in product(METRICS, source.tasks.items()):
        for cell in task.cells:
            own = [known.get((metric, slug, cell, model)) for model in models]
            if any(own):
                shares = [(record, number(record["coverage"], 3) if record else "") for record in own]
                cells = [
                    Cell(f"{share}, too little", "poor") if record and record["excluded"] else share
                    for record, share in shares
                ]
                cues = " + ".join(map(in_words, cues_of(cell))) or "no cue"
                rows.append([METRICS[metric], f"{task.title}: {cues}", *cells])
    said = [
        f"{model}, {METRICS[metric]}, {int(own['excluded'].sum()) or 'none'} of {len(own)} cells"
        for metric in METRICS
        for model, own in real[real["metric"] == metric].groupby("model", sort=True)
    ]
    least = [
        meaning.format(least=own["least"].iloc[0], n=span(own["n"], 0))
        for metric, meaning in CAPTIONS["least"].items()
        if len(own := real[real["metric"] == metric])
    ]
    caption = CAPTIONS["coverage"].format(least=" ".join(least), said="; ".join(said))
    return [Table(["metric", "task: cues", *models], rows, "Of how much of the answers a class can be told", caption)]


def continuations(source: ContrastSource, continuations: pd.DataFrame) -> list[Table]:
    """Replies of the neutral class that name another after all (appendix A.3)."""
    if source.continuation is None or continuations.empty:
        return []
    known = {(row["model"], row["factor"], row["cue"]): row for row in continuations.to_dict("records")}
    columns = {("all", False): "all replies"}
    for factor in source.factors:
        columns |= {(factor, cue): f"{'with' if cue else 'without'} {in_words(factor)}" for cue in (False, True)}
    rows = []
    for model in sorted(continuations["model"].unique()):
        told = [known.get((model, *column)) for column in columns]
        shares = [
            f"{100 * own['share']:.2f}% ({own['named']} of {own['n']})" if own and own["n"] else NONE for own in told
        ]
        rows.append([model, *shares])
    neutral = source.continuation.outcome
    caption = CAPTIONS["continuations"].format(neutral=neutral, keywords=", ".join(source.continuation.keywords))
    title = f"Does “{neutral}” stay “{neutral}”?"
    return [Table(["model", *columns.values()], rows, title, caption)]


def measures(factors: Mapping[str, str], meaning: str, replications: pd.DataFrame) -> Table:
    """Measures of a published study (`meaning`) before and after the intervention, and what placebos change."""
    rows = [
        [
            str(record["model"]),
            str(record["measure"]),
            METRICS.get(record["metric"], str(record["metric"])),
            with_interval(record["before"], record["before_low"], record["before_high"]),
            with_interval(record["after"], record["after_low"], record["after_high"]),
            figure({**{str(k): v for k, v in record.items()}, "value": record["change"]}, decimals=3),
            number(record["control"], 3),
        ]
        for record in replications.to_dict("records")
    ]
    cue = listed([in_words(factor) for factor in factors])
    columns = ["model", "measure", "metric", "before", "after", "change", "control"]
    return Table(columns, rows, "The study's own measures", CAPTIONS["measures"].format(meaning=meaning, cue=cue))


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
    told = f"Replies were sampled from {listed(sorted(sampled['model'].unique()))}."
    if sampled.empty:
        told = "No replies were sampled, so there are token probabilities alone."
    if unasked := here["distributions"].empty:
        told = "No model was asked."
    sentences = [
        "" if unasked else lead(source, figures),
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
    drawn = charts.cues_among_placebos(_declared(effects, source, "factor"), means)
    return [Picture("Cues and placebos", CAPTIONS["cues_among_placebos"], drawn)]


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
    drawn = charts.shifts(_declared(shifts, source, "outcome"), means)
    return [Picture("Which classes shift", CAPTIONS["shifts"], drawn)]


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

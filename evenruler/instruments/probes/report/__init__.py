"""Sections of the report on probes: one for every set of templates, and one for every evolved
instrument.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from evenruler.instruments.instrument import ReportInput, Tables
from evenruler.instruments.probes.declare.settings import Settings
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.report import charts
from evenruler.instruments.probes.report.drawings import (
    family_tree,
    parents_of,
    trace_lineage,
    word_gradients,
)
from evenruler.instruments.probes.schemas import (
    BASELINES,
    GUIDED,
    OUTDONE,
    RANDOM,
    select_comparable,
)
from evenruler.report.formats import (
    format_figure,
    format_number,
    is_missing,
    join_names,
    with_interval,
)
from evenruler.report.page import Cell, Picture, Section, Table, make_tables
from evenruler.strict import read_yaml

__all__ = ["sections"]

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))

TABLES = ("associations", "biases", "correlations", "curve", "items", "shifts")
"""Tables that the sections of template sets are made from."""


def sections(shown: ReportInput[Settings, ProbeSource]) -> list[Section]:
    """The sections of the family, those on evolution last."""
    written = {
        name: source for name, source in shown.sources.items() if not shown.settings[name].evolve
    }
    evolved = {name: source for name, source in shown.sources.items() if name not in written}
    set_sections = of_probes(written, {name: shown.tables[name] for name in TABLES})
    if not evolved:
        return set_sections
    tables = {name: shown.tables[name] for name in ("comparisons", "generations", "rewordings")}
    for table in ("history", "gradients"):
        frames = [shown.built[name][table].assign(benchmark=name) for name in evolved]
        tables[table] = pd.concat(frames, ignore_index=True)
    return [*set_sections, *of_evolution(evolved, tables)]


def _make_picture(
    name: str, chart: alt.TopLevelMixin, more: str = "", **placeholder_values: object
) -> Picture:
    words = WORDS["pictures"][name]
    return Picture(words["title"], words["caption"].format(**placeholder_values) + more, chart)


def of_probes(sources: Mapping[str, ProbeSource], tables: Tables) -> list[Section]:
    """A section for every set of templates."""
    set_sections: list[Section] = []
    for domain, source in sources.items():
        set_sections += [_of_set(domain, source, name, tables) for name in source.sets]
    return set_sections


def _of_set(domain: str, source: ProbeSource, set_name: str, tables: Tables) -> Section:
    here = {
        name: table[(table["benchmark"] == domain) & (table["set"] == set_name)]
        for name, table in tables.items()
    }
    text = f"{source.sets[set_name].title}."
    title = f"Templates: {set_name}"
    first = next(iter(source.targets)).replace("-", " ")
    if here["biases"].empty:
        return Section(title, f"{text} {WORDS['unasked']}", instrument=domain)
    pictures = []
    if source.criterion is not None:
        associations = here["associations"].dropna(subset=["criterion"])
        label = source.criterion.label
        caption_words = {
            "direction": source.direction.removeprefix("positive means "),
            "n": str(associations["attribute"].nunique()),
        }
        pictures.append(
            _make_picture(
                "validity",
                charts.draw_validity(associations, label, first),
                label=label,
                **caption_words,
            )
        )
    pictures.append(
        _make_picture("correlations", charts.draw_item_correlations(here["correlations"]))
    )
    pictures.append(
        _make_picture("distributions", charts.draw_bias_distributions(here["biases"], first))
    )
    if here["curve"]["coefficient"].notna().any():
        pictures.append(_make_picture("curve", charts.draw_generalizability_curve(here["curve"])))
    if here["shifts"]["level_in_sd"].notna().any():
        pictures.append(_make_picture("shifts", charts.draw_shifts(here["shifts"])))
    # Correlation of every template with the rest of its set.
    items = here["items"]
    models = sorted(items["model"].unique())
    rows: list[list[str | Cell]] = []
    for (control, template), group in items.groupby(["control", "template"], sort=True):
        cells: list[str | Cell] = [
            f"{template} (a control, in no score)" if control else str(template)
        ]
        for _, item in group.set_index("model").loc[models].iterrows():
            correlation_label = (
                with_interval(item["item_rest_correlation"], item["low"], item["high"], 2) or "none"
            )
            is_unfit = not control and item["high"] < 0
            cells.append(Cell(correlation_label, "unfit" if is_unfit else None))
        rows.append(cells)
    item_tables = make_tables(WORDS["tables"]["items"], rows, models)
    return Section(title, text, [*pictures, *item_tables], domain)


COMPARED: dict[str, str] = WORDS["compared"]
"""Headings of figures that are compared, in order; other figures follow under their own names."""
MOST_REASONS = 3


def of_evolution(sources: Mapping[str, ProbeSource], tables: Tables) -> list[Section]:
    """A section for every instrument that has a history."""
    evolved = set(tables["history"]["benchmark"])
    return [_of_evolution(domain, tables) for domain in sources if domain in evolved]


def _of_evolution(domain: str, tables: Tables) -> Section:
    here = {name: table[table["benchmark"] == domain] for name, table in tables.items()}
    runs = here["history"]["run"]
    run = GUIDED if GUIDED in set(runs) else RANDOM
    history = here["history"][runs == run]
    gradients = here["gradients"][here["gradients"]["run"] == run]
    is_last = history["generation"] == history["generation"].max()
    last = history[is_last].sort_values("place")
    of_run = f" Of the {run} run." if runs.nunique() > 1 else ""
    parts: list[Table | Picture] = [
        *comparison_tables(here["comparisons"]),
        *_by_generation(here["generations"]),
        _make_picture("tree", family_tree(history), of_run),
        *elite_origin_tables(history),
        _make_picture("gradients", word_gradients(last, gradients), of_run),
        _make_picture("fitness", charts.fitness_parts(last), of_run),
        *rewording_tables(here["rewordings"]),
    ]
    models = here["generations"]["model"].dropna().unique()
    operators = sorted(here["rewordings"]["operator"].unique())
    summary = (
        f"{(history['generation'] == 0).sum()} templates evolved over "
        f"{last['generation'].iloc[0]} generations"
    )
    summary += f" on {join_names(list(models))}" if len(models) else ""
    summary += f", reworded by {join_names(operators)}" if operators else ""
    summary += "; the evolved set is chosen out of all that were measured."
    if of_run:
        summary += f" {WORDS['ablation']}"
    return Section("How it evolved", summary, parts, domain)


def _by_generation(figures: pd.DataFrame) -> list[Picture]:
    """Figures by generation; the caption names missing ones."""
    panels: dict[str, str] = WORDS["panels"]
    comparable = select_comparable(figures)
    shown = comparable[comparable["figure"].isin(panels)]
    if shown["value"].isna().all():
        return []
    missing = shown[shown["value"].isna()].sort_values(["run", "generation"])
    lacking = []
    for record in missing.to_dict("records"):
        panel = panels[record["figure"]]
        population = f"generation {record['generation']} ({record['run']})"
        lacking.append(f"{panel} of {population}: {record['reason']}")
    is_alpha = shown["figure"] == "alpha"
    alphas = shown[is_alpha].dropna(subset=["value"]).sort_values("generation")
    best = alphas.loc[alphas.groupby("run")["value"].idxmax()]  # the earliest of equals
    highest = " Alpha is highest in generation {} of the {} run, {:.2f}."
    peaks = zip(best["generation"], best["run"], best["value"], strict=True)
    alpha_line = "".join(highest.format(*peak) for peak in peaks)
    more = f"{alpha_line} Lacking: {'; '.join(lacking)}." if lacking else alpha_line
    return [_make_picture("generations", charts.draw_generations(shown, panels), more)]


def comparison_tables(comparisons: pd.DataFrame) -> list[Table]:
    """A table per pair of sets, a row per figure and model."""
    figures = sorted(comparisons["figure"].unique())
    names = list(dict.fromkeys([*COMPARED, *figures]))
    ordered = comparisons.assign(order=comparisons["figure"].map(names.index))
    ordered = ordered.sort_values(["order", "transfer", "model"])
    tables: list[Table] = []
    for (name, against), pair in ordered.groupby(["set", "against"], sort=False):
        set_label, other_label = (
            WORDS["sets"].get(set_name, f"The set {set_name}") for set_name in (name, against)
        )
        rows = [_comparison_row(record) for record in pair.to_dict("records")]
        words = WORDS["tables"]["comparisons"]
        if tables:
            words = {**words, "caption": ""}
        tables += make_tables(
            words,
            rows,
            [str(name), BASELINES.get(str(against), str(against))],
            one=set_label,
            other=other_label.replace("The", "the", 1),
        )
    return tables


def _comparison_row(record: Mapping[Any, Any]) -> list[str | Cell]:
    difference = format_figure({**record, "value": record["difference"]})
    if not is_missing(record["difference"]):
        reason = record["reason"]
        lacking = f" ({reason})" if isinstance(reason, str) else ""
        difference = f"{difference}\u00a0{record['unit']}{lacking}"
    heading = COMPARED.get(record["figure"], record["figure"].replace("_", " "))
    if isinstance(record["half"], str):
        heading += ", held out"
    role = "transfer: it did not evolve on it" if record["transfer"] else "on which it evolved"
    return [
        heading,
        f"{record['model']}, {role}",
        format_number(record["value"]),
        format_number(record["other"]),
        difference,
    ]


def elite_origin_tables(history: pd.DataFrame) -> list[Table]:
    """Every elite of the last population with the template of the start that it descends from."""
    template_rows = history.drop_duplicates("template").set_index("template")
    parents = parents_of(history)
    is_last = history["generation"] == history["generation"].max()
    elites = history[is_last & history["elite"]].sort_values("place")
    rows: list[list[str | Cell]] = []
    for record in elites.to_dict("records"):
        line = template_rows.loc[trace_lineage(record["template"], parents)]
        steps = []
        for step in line.iloc[-2::-1].to_dict("records"):  # first to last
            step_label = str(step["operation"])
            about = step["word"] if isinstance(step["word"], str) else step["voice"]
            if isinstance(about, str) and about:
                step_label += f" ({about})"
            steps.append(step_label)
        steps_label = f"{len(steps)}: {', '.join(steps)}" if steps else "0: as it was"
        founder_text = line["text"].iloc[-1]
        rows.append([str(record["place"]), record["text"], founder_text, steps_label])
    return make_tables(WORDS["tables"]["pairs"], rows)


def rewording_tables(shares: pd.DataFrame) -> list[Table]:
    """Share of accepted rewordings, and reasons for rejecting others, by operation and voice."""
    rows: list[list[str | Cell]] = []
    for key, group in shares.groupby(["run", "operation", "voice"], sort=True, dropna=False):
        n = int(group["n"].sum())
        is_taken = group["reason"].isna()
        is_outdone = group["reason"] == OUTDONE
        taken = int(group.loc[is_taken, "n"].sum())
        passed = taken + int(group.loc[is_outdone, "n"].sum())
        refused = group[~is_taken & ~is_outdone]
        counts = refused.sort_values(["n", "reason"], ascending=[False, True])  # equals by name
        n_by_reason = zip(counts["reason"], counts["n"], strict=True)
        reason_labels = [f"{reason} ({n_refused})" for reason, n_refused in n_by_reason]
        reason_labels = reason_labels[:MOST_REASONS]
        n_others = int(counts["n"].iloc[MOST_REASONS:].sum())
        if n_others:
            reason_labels.append(f"others ({n_others})")
        reasons = ", ".join(reason_labels)
        named = (name if isinstance(name, str) else "" for name in key)
        percentage = 100 * passed / n
        numbers = [f"{n:,}", f"{passed:,} ({percentage:.0f}%)", f"{taken:,}"]
        rows.append([*named, *numbers, reasons])
    return make_tables(WORDS["tables"]["rewordings"], rows, most=MOST_REASONS)

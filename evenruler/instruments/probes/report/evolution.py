"""Sections of sets of templates that evolved, with their tables."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.probes.declare import ProbeSource, headings
from evenruler.instruments.probes.report import charts
from evenruler.instruments.probes.report.drawings import family_tree, lineage, parents_of, word_gradients
from evenruler.instruments.probes.schemas import BEST_START, GUIDED, OUTDONE, RANDOM, UNREVERSED
from evenruler.report.page import Cell, Picture, Section, Table
from evenruler.report.words import figure, listed, missing, number

Tables = Mapping[str, pd.DataFrame]

PANELS = {
    "alpha_at_8": "alpha at 8 templates",
    "inter_item_correlation": "mean inter-item r",
    "omega": "omega",
    "semantic_diversity": "semantic diversity",
    "lexical_diversity": "lexical diversity",
}
"""Figures that are drawn by generation."""
ABLATION = (
    f"Two runs: {GUIDED} replaces the word that the bias of a template owes most to (the hotspot), {RANDOM} any word, "
    "to show what guidance brings."
)
BY_GENERATION = (
    "Whole populations, generation 0 being the set that evolution starts with, on the model that they evolved on. "
    "Upwards: more consistent, more diverse; bands are 95% intervals over attributes. Alpha is at 8 templates by "
    "Spearman-Brown, so that populations of another size can be held against it."
)
TREE = (
    "The last population with all that led to it, from left to right; what left no descendant in it is not drawn. A "
    "mark is where a template came about, its colour and shape how; the bar goes on to the last generation that it "
    "lived in, paler while it was out of the population. Stars and bold words: the elites. "
    "The number is the place by fitness. Point at a mark for the text, the word replaced, the voice and the fitness."
)
GRADIENTS = (
    "The last population, elites with a bold number. The number below a word, and its colour, say how far the bias "
    "moves when that word is taken out: nats, mean over attributes. Outlined: the hotspot, which a guided rewording "
    "replaces. Grey: slots with their articles and punctuation, which stay."
)
FITNESS = (
    "The last population, elites in bold. Each part goes from 0 (least of the population) to its weight (most), so "
    "that bars are high and low within this population and compare with no other."
)


COMPARED = {
    "alpha_at_8": "alpha at 8 templates",
    **{column.figure: column.heading for column in headings({})},
    "semantic_diversity": "semantic diversity",
    "lexical_diversity": "lexical diversity",
}
"""What figures are called, in order; another goes by its own name, after these."""
SETS = {
    "evolved": "The chosen set",
    "elites": "The paper's elites",
    "population": "The whole last population",
    "random": "The last population of the random run",
    UNREVERSED: "The start without reversed items",
    BEST_START: "The best subset of the start",
}
"""What the sets of an evolution are called; others go by their names."""
MOST_REASONS = 3


def of_evolution(sources: Mapping[str, ProbeSource], tables: Tables) -> list[Section]:
    """A section for every instrument that has evolved.

    Args:
        sources: By instrument; those without a history have no section.
        tables: `comparisons`, `generations`, `gradients`, `history` and `rewordings` by the schemas of
            `evenruler.instruments.probes.schemas`, all with the instrument as `benchmark`.
    """
    evolved = set(tables["history"]["benchmark"])
    return [_section(domain, tables) for domain in sources if domain in evolved]


def _section(domain: str, tables: Tables) -> Section:
    here = {name: table[table["benchmark"] == domain] for name, table in tables.items()}
    run = GUIDED if GUIDED in set(here["history"]["run"]) else RANDOM
    history, gradients = (here[name][here[name]["run"] == run] for name in ("history", "gradients"))
    last = history[history["generation"] == history["generation"].max()].sort_values("place")
    of_run = f" Of the {run} run." if here["history"]["run"].nunique() > 1 else ""
    parts: list[Table | Picture] = [
        *comparisons(here["comparisons"]),
        *_by_generation(here["generations"]),
        Picture("Where the evolved templates come from", f"{TREE}{of_run}", family_tree(history)),
        pairs(history),
        Picture("What each word brings", f"{GRADIENTS}{of_run}", word_gradients(last, gradients)),
        Picture("What makes a template fit", f"{FITNESS}{of_run}", charts.fitness_parts(last)),
        *rewordings(here["rewordings"]),
    ]
    models, operators = here["generations"]["model"].dropna().unique(), sorted(here["rewordings"]["operator"].unique())
    told = (
        f"{(history['generation'] == 0).sum()} templates evolved over {last['generation'].iloc[0]} generations"
        f"{f' on {listed(list(models))}' if len(models) else ''}"
        f"{f', reworded by {listed(operators)}' if operators else ''}; "
        "the evolved set is chosen out of all that were measured."
    )
    return Section("How it evolved", f"{told} {ABLATION}" if of_run else told, parts, domain)


def _by_generation(figures: pd.DataFrame) -> list[Picture]:
    """Figures by generation; those that are lacking are named."""
    shown = figures[figures["figure"].isin(PANELS)]
    if shown["value"].isna().all():
        return []
    lacking = [
        f"{PANELS[record['figure']]} of generation {record['generation']} ({record['run']}): {record['reason']}"
        for record in shown[shown["value"].isna()].sort_values(["run", "generation"]).to_dict("records")
    ]
    alphas = shown[shown["figure"] == "alpha_at_8"].dropna(subset=["value"]).sort_values("generation")
    best = alphas.loc[alphas.groupby("run")["value"].idxmax()]  # the earliest of equals
    said = [
        f"Alpha is highest in generation {record['generation']} of the {record['run']} run, {record['value']:.2f}."
        for record in best.to_dict("records")
    ]
    caption = " ".join([BY_GENERATION, *said, *([f"Lacking: {'; '.join(lacking)}."] if lacking else [])])
    return [Picture("Reliability and diversity by generation", caption, charts.generations(shown, PANELS))]


def comparisons(comparisons: pd.DataFrame) -> list[Table]:
    """A table per pair of sets, a row per figure and model.

    Args:
        comparisons: By `COMPARISONS` of `evenruler.instruments.probes.schemas`, of one domain.
    """
    names = list(dict.fromkeys([*COMPARED, *sorted(comparisons["figure"].unique())]))
    ordered = comparisons.assign(order=comparisons["figure"].map(names.index))
    ordered = ordered.sort_values(["order", "transfer", "model"])
    caption = (
        "Differences are the first set less the second, with their 95% interval over the attributes that both share, "
        "where there is one: all of it on one side of 0 is more than the choice of attributes explains. Templates were "
        "chosen by what one model answers, so its figures flatter them; transfer, to a model that had no part in it, "
        "says what they are worth elsewhere. So do held-out rows: one half of the attributes chose both sets, the "
        "other judges them, mean of both ways. Alpha at 8 templates and mean inter-item r hold sets of different "
        "length against each other; alpha and omega do not."
    )
    found: list[Table] = []
    for (name, against), pair in ordered.groupby(["set", "against"], sort=False):
        one, other = (SETS.get(str(own), f"The set {own}") for own in (name, against))
        columns = ["figure", "model", str(name), str(against), "difference"]
        title = f"{one} against {other.replace('The', 'the', 1)}"
        rows = [_compared(record) for record in pair.to_dict("records")]
        found.append(Table(columns, rows, title, "" if found else caption))
    return found


def _compared(record: Mapping[Any, Any]) -> list[str | Cell]:
    difference, held_out = figure({**record, "value": record["difference"]}), isinstance(record["half"], str)
    if not missing(record["difference"]):
        lacking = f" ({record['reason']})" if isinstance(record["reason"], str) else ""
        difference = f"{difference}\u00a0{record['unit']}{lacking}"
    return [
        COMPARED.get(record["figure"], record["figure"].replace("_", " ")) + (", held out" if held_out else ""),
        f"{record['model']}, {'transfer: it did not evolve on it' if record['transfer'] else 'on which it evolved'}",
        number(record["value"]),
        number(record["other"]),
        difference,
    ]


def pairs(history: pd.DataFrame) -> Table:
    """Every elite of the last population with the template that its line began with.

    Args:
        history: One run, by `HISTORY` of `evenruler.instruments.probes.schemas`.
    """
    known = history.drop_duplicates("template").set_index("template")
    parents = parents_of(history)
    elites = history[(history["generation"] == history["generation"].max()) & history["elite"]].sort_values("place")
    rows: list[list[str | Cell]] = []
    for record in elites.to_dict("records"):
        line = known.loc[lineage(record["template"], parents)]
        steps = []
        for step in line.iloc[-2::-1].to_dict("records"):  # first to last
            about = next((str(step[name]) for name in ("word", "voice") if isinstance(step[name], str)), "")
            steps.append(f"{step['operation']}{f' ({about})' if about else ''}")
        told = f"{len(steps)}: {', '.join(steps)}" if steps else "0: as it was"
        rows.append([str(record["place"]), record["text"], line["text"].iloc[-1], told])
    caption = (
        "The elites of the last population, best first, and the template of the first that each goes back to. In "
        "brackets the word replaced, or the voice in which the whole was reworded."
    )
    return Table(["place", "evolved", "began as", "steps"], rows, "What became of the first templates", caption)


def rewordings(shares: pd.DataFrame) -> list[Table]:
    """Share of rewordings that were taken, and why others were not, by operation and voice.

    Args:
        shares: By `REWORDINGS` of `evenruler.instruments.probes.schemas`, of one domain.
    """
    by = ["run", "operation", "voice"]
    rows: list[list[str | Cell]] = []
    for key, own in shares.groupby(by, sort=True, dropna=False):
        n, taken = int(own["n"].sum()), int(own.loc[own["reason"].isna(), "n"].sum())
        passed = taken + int(own.loc[own["reason"] == OUTDONE, "n"].sum())
        refused = own[own["reason"].notna() & (own["reason"] != OUTDONE)]
        counts = refused.sort_values(["n", "reason"], ascending=[False, True])  # equals by name
        said = [f"{record['reason']} ({record['n']})" for record in counts.head(MOST_REASONS).to_dict("records")]
        others = int(counts["n"].iloc[MOST_REASONS:].sum())
        reasons = ", ".join([*said, *([f"others ({others})"] if others else [])])
        named = (name if isinstance(name, str) else "" for name in key)
        rows.append([*named, f"{n:,}", f"{passed:,} ({100 * passed / n:.0f}%)", f"{taken:,}", reasons])
    caption = (
        "Several replies are asked for at once, and of those that pass every check the most acceptable is taken; "
        "passed counts the others, too. All are kept with the reason, in the configuration tries of the benchmark. "
        f"The {MOST_REASONS} most frequent reasons are shown."
    )
    columns = [*by, "replies", "passed", "taken", "most frequent reasons of refusal"]
    return [Table(columns, rows, "What became of rewordings", caption)] if rows else []

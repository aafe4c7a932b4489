"""Report sections of the questionnaires family: models, scores, items, effects of adaptation; and
their charts.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.instruments.instrument import ReportInput, Tables
from evenruler.instruments.questionnaires.declare import CHANGED, MOVED, OF_ITEMS, RHO, Source
from evenruler.instruments.questionnaires.declare.shared import MNLI, OPEN, CorpusSource
from evenruler.measurement.figures import Verdict
from evenruler.measurement.sentences import with_capital
from evenruler.report.page import Cell, Mark, Picture, Section, Table, make_tables
from evenruler.report.style import Charts
from evenruler.report.words import (
    SCORE_DECIMALS,
    format_figure,
    format_number,
    is_missing,
    join_names,
    model_labels,
)
from evenruler.strict import read_yaml
from evenruler.tables.schemas import WHOLE

__all__ = ["sections"]


def sections(shown: ReportInput) -> list[Section]:
    """Sections on models, scores and items, and on adaptation where models were adapted."""
    corpora = {
        name: corpus for source in shown.sources.values() for name, corpus in source.corpora.items()
    }
    adapted = of_interventions(corpora, shown.tables) if len(shown.tables["trajectories"]) else []
    return [*of_questionnaires(shown.sources, shown.tables), *adapted]


Declared = Mapping[str, Source]
CHARTS: Final = Charts(Path(__file__).with_name("charts.yaml"))
DIGITS = 4
"""Decimals of values in charts."""

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
CONTENT: dict[str, str] = WORDS["content"]
"""Columns of the table of items, by measure."""

MARKS: dict[str, Mark] = {"poor": "unfit", "weak": "open", "good": "found", "told": "told"}
"""How the quality of an item is drawn, the worst first."""


def of_questionnaires(declared: Declared, tables: Tables) -> list[Section]:
    """Sections on the models that were asked, their scores, and the items."""
    scores: list[Table | Picture] = [
        _score_table(name, source, tables) for name, source in declared.items()
    ]
    templates = {
        _item_label(name, slug): [f"premise: {item.premise}", f"hypothesis: {item.hypothesis}"]
        for name, source in declared.items()
        for slug, item in source.items.items()
    }
    chart = heat_maps(_in_words(declared, tables["cells"], _model_headings(tables)), templates)
    accuracy = tables["accuracy"]
    accuracy_by_key = {
        (row["model"], row["configuration"], row["set"]): row for row in accuracy.to_dict("records")
    }
    sets = {MNLI: "MNLI"} | {name: str(name) for name in sorted(set(accuracy["set"]) - {MNLI})}
    rows: list[list[str | Cell]] = [
        [
            *(str(record[column]) for column in ("model", "kind", "lineage", "configuration")),
            "" if is_missing(record["bar"]) else f"{record['bar']:.2f}",
            *(
                _accuracy_text(
                    accuracy_by_key.get((record["model"], record["configuration"], name))
                )
                for name in sets
            ),
            Cell(str(record["standing"]), "found" if record["member"] else "unfit"),
        ]
        for record in tables["population"].to_dict("records")
    ]
    measured = [f"accuracy, {name} pairs" for name in sets.values()]
    parts: dict[str, list[Table | Picture]] = {
        "models": [*make_tables(WORDS["tables"]["models"], rows, measured)],
        "scores": scores,
        "items": [*_item_tables(tables), Picture(**WORDS["pictures"]["heat_maps"], chart=chart)],
    }
    return [
        Section(**WORDS["sections"][name], parts=section_parts)
        for name, section_parts in parts.items()
    ]


def _accuracy_text(record: Mapping[Any, Any] | None) -> str:
    if record is None:
        return "not asked"
    ends = f"[{record['low']:.3f}, {record['high']:.3f}]"
    auc = "" if is_missing(record["auc"]) else f"; AUC {record['auc']:.3f}"
    return (
        f"{record['accuracy']:.3f} {ends}, n = {record['n']:,}; guessing "
        f"{record['chance']:.3f}{auc}"
    )


def _score_table(questionnaire: str, source: Source, tables: Tables) -> Table:
    """Scores and figures of one questionnaire, one column per model."""
    models = _model_headings(tables)
    figures = tables["figures"][tables["figures"]["benchmark"] == questionnaire]
    scales = tables["scales"][tables["scales"]["questionnaire"] == questionnaire]
    subscales = sorted(set(scales["subscale"]) - {WHOLE})
    rows: list[list[str | Cell]] = []
    for subscale in (WHOLE, *subscales):
        subscale_rows = scales[scales["subscale"] == subscale]
        scored = {
            model: _score_text(record)
            for model, record in zip(
                model_labels(subscale_rows), subscale_rows.to_dict("records"), strict=True
            )
        }
        items = join_names([str(n) for n in sorted(subscale_rows["n"].unique())])
        rows.append(
            [
                f"score{_subscale_suffix(subscale)}, {items} items",
                *(scored.get(model, "") for model in models),
            ]
        )
    for name, label in WORDS["of_a_model"].items():
        records = _records_by_model(figures, name, WHOLE)
        rows.append([label, *(_figure_cell(records.get(model)) for model in models)])
    # Figures without a model; correlations with other scales last.
    figure_names = set(figures.loc[figures["model"].isna(), "figure"])
    rho = {
        name: name.removeprefix(RHO).partition(" ")
        for name in sorted(figure_names)
        if name.startswith(RHO)
    }
    labels = {name: label for name, label in WORDS["of_any_model"].items() if name in figure_names}
    labels |= {
        name: f"rho with {other}, asked by {form.strip('()')}"
        for name, (other, _, form) in rho.items()
    }
    for name, label in labels.items():
        for subscale in (WHOLE, *subscales):
            for record in _records_by_model(figures, name, subscale).values():
                rows.append(
                    [
                        f"{label}{_subscale_suffix(subscale)}",
                        Cell(format_figure(record), columns=len(models)),
                    ]
                )
    twinless = "" if source.twins else " Its items have no twins, so no score has a verdict."
    caption = f"Measures {source.construct_}; {source.direction}.{twinless}"
    return Table(["", *models.values()], rows, f"{source.title} ({questionnaire})", caption)


def _figure_cell(record: Mapping[Any, Any] | None) -> str | Cell:
    """A figure with its control, marked where the instrument is invalid on the model."""
    if record is None:
        return ""
    control, verdict = format_number(record.get("control")), record.get("verdict")
    label = f"{format_figure(record)}; control {control}" if control else format_figure(record)
    return (
        label
        if verdict is None or pd.isna(verdict)
        else Cell(f"{label}: {verdict}", Verdict(verdict).mark)
    )


def _subscale_suffix(subscale: str) -> str:
    return "" if subscale == WHOLE else f": {subscale}"


def _model_headings(tables: Tables) -> dict[str, str]:
    """Models in the order of the population, with their headings."""
    population = tables["population"]
    standing = zip(model_labels(population), population["member"], strict=True)
    return {model: f"{model}{'' if member else ' (does not count)'}" for model, member in standing}


def _records_by_model(figures: pd.DataFrame, figure: str, subscale: str) -> dict[Any, Any]:
    rows = figures[(figures["figure"] == figure) & (figures["part"] == subscale)]
    return {record["model"]: record for record in rows.to_dict("records")}


def _score_text(record: Mapping[Any, Any]) -> str:
    """A score with its z and normal score."""
    place = [
        f"{place} {record[place]:+.2f}"
        for place in ("z", "normal")
        if not is_missing(record[place])
    ]
    return f"{format_number(record['score'], SCORE_DECIMALS)}; {', '.join(place) or 'no z'}"


def _item_tables(tables: Tables) -> list[Table]:
    """One row per item, those that need work first."""
    # The range of PSS in words, by questionnaire and item, then by model.
    items, quality, models = tables["items"], tables["quality"], _model_headings(tables)
    ranges: dict[Any, dict[str, str]] = {}
    for model, row in zip(model_labels(items), items.to_dict("records"), strict=True):
        range_by_model = ranges.setdefault((row["questionnaire"], row["item"]), {})
        range_by_model[model] = f"PSS {row['pss_low']:.2f} to {row['pss_high']:.2f}"
    counts = set(model_labels(tables["population"][tables["population"]["member"]]))
    content = [
        column
        for column in dict.fromkeys(CONTENT.values())
        if column in set(quality["measure"].map(CONTENT))
    ]
    analysed = tables["figures"][tables["figures"]["figure"].isin(OF_ITEMS)]
    analysis_by_key = {
        key: _analysis_text(rows)
        for key, rows in analysed.groupby(["benchmark", "part", "model"], sort=True)
    }
    together = sorted(set(analysed["model"]))
    judged = [model for model in models if model in set(quality["model"].dropna())]
    rows = []
    for key, of_item in quality.groupby(["questionnaire", "item"], sort=True):
        by_column: dict[str, Cell] = {}
        for record in of_item.to_dict("records"):
            column = (
                CONTENT.get(record["measure"], "")
                if pd.isna(record["model"])
                else str(record["model"])
            )
            by_column[column] = _quality_cell(record, counts, ranges.get(key, {}))
        counted = of_item[of_item["model"].isin(counts) | of_item["model"].isna()].to_dict(
            "records"
        )
        order = sorted(list(MARKS).index(record["verdict"]) for record in counted)
        cells = [by_column.get(column, "") for column in [*content, *judged]]
        advice = {
            f"{CONTENT.get(record['measure'], 'SC')}: {record['advice']}": None
            for record in counted
            if not pd.isna(record["advice"])
        }
        answered = [analysis_by_key.get((*key, model), "") for model in together]
        rows.append((order, [_item_label(*key), *cells, *answered, "; ".join(advice) or "nothing"]))
    judged_by = [f"SC {models[model]}" for model in judged]
    columns = [*content, *judged_by, *(f"points, {model}" for model in together)]
    return make_tables(
        WORDS["tables"]["items"], [row for _, row in sorted(rows, key=lambda row: row[0])], columns
    )


def _analysis_text(figures: pd.DataFrame) -> str:
    """The analysis of one item in words: answer, twins, and the headline without it."""
    phrases = []
    records: list[Mapping[Any, Any]] = [*figures.to_dict("records")]
    for record in records:
        if record["figure"] in WORDS["of_items"]:
            twins = (
                ""
                if is_missing(record["control"])
                else f", twins {format_number(record['control'])}"
            )
            phrases.append(f"{WORDS['of_items'][record['figure']]} {format_figure(record)}{twins}")
    return "; ".join(phrases)


def _quality_cell(
    record: Mapping[Any, Any], counts: Collection[str], ranges: Mapping[str, str]
) -> Cell:
    """A figure of an item with its traffic light, also in words; with the range of PSS if of a
    model.
    """
    if is_missing(record["value"]):
        return Cell("none", "told")
    label, verdict = f"{record['value']:.2f}", record["verdict"]
    if not pd.isna(record["model"]):
        mark = MARKS[verdict] if record["model"] in counts else "told"
        return Cell(f"{label} {verdict}, {ranges[record['model']]}", mark)
    paraphrased = (
        " to paraphrase, unrated" if record["measure"] == "similarity_to_paraphrase" else ""
    )
    return Cell(
        f"{label} {verdict}" if verdict != "told" else f"{label}{paraphrased}", MARKS[verdict]
    )


def _item_label(questionnaire: object, item: object) -> str:
    return f"{questionnaire}: {item}"


def _in_words(declared: Declared, cells: pd.DataFrame, models: Mapping[str, str]) -> pd.DataFrame:
    """Cells with words in place of slugs, in the order of the declaration."""
    written = [
        {"questionnaire": name, "item": item, "polarity": polarity, "term": term, "word": word}
        for name, source in declared.items()
        for item, entry in source.items.items()
        for polarity, words in entry.terms.by_polarity.items()
        for term, word in words.items()
    ]
    intensifiers = [
        {"questionnaire": name, "intensifier": slug, "shown": word}
        for name, source in declared.items()
        for level in source.responses.levels
        for slug, word in level.words.items()
    ]
    key = ["questionnaire", "item", "polarity", "term"]
    by_model = pd.DataFrame({"model": list(models), "named": list(models.values())})
    cells = cells.assign(model=model_labels(cells))
    joined = by_model.merge(pd.DataFrame(written), how="cross").merge(
        cells, on=["model", *key], validate="1:m"
    )
    joined = joined.merge(
        pd.DataFrame(intensifiers), on=["questionnaire", "intensifier"], validate="m:1"
    )
    if len(joined) != len(cells):
        raise ValueError(
            f"{len(cells) - len(joined)} cells are not of the declared items, terms and "
            "intensifiers"
        )
    items = [_item_label(*key) for key in zip(joined["questionnaire"], joined["item"], strict=True)]
    return joined.assign(
        item=items, term=joined["word"], intensifier=joined["shown"], model=joined["named"]
    )


MEASURES = {
    "loss": "loss on held-out sentences (nats a token)",
    "accuracy": "labelled pairs answered right, of {n}",
}
"""Rows of the table of the course, by measure."""


def of_interventions(corpora: Mapping[str, CorpusSource], tables: Tables) -> list[Section]:
    """How scores move when a model is adapted to a corpus."""
    figures, course = tables["figures"], tables["course"]
    controls = {
        corpus.matched.to: name for name, corpus in corpora.items() if corpus.matched is not None
    }
    ways = {
        name: [
            f"{scale} {'stays' if way == 'none' else way}"
            for scale, way in corpora[name].expect.items()
        ]
        for name in _intervention_names(corpora)
    }
    expected = "; ".join(
        f"{name}: {', '.join(scale_moves) or 'nothing'}" for name, scale_moves in ways.items()
    )
    named_alike = tables["trajectories"].assign(model=model_labels(tables["trajectories"]))
    intervention_by_corpus = {name: name for name in _intervention_names(corpora)} | {
        control: intervention for intervention, control in controls.items()
    }
    lines = named_alike.assign(
        intervention=named_alike["corpus"].map(intervention_by_corpus),
        role=named_alike["corpus"].map({name: corpus.role for name, corpus in corpora.items()}),
    )
    moved = figures[figures["figure"].str.startswith(MOVED)].dropna(subset=["low", "value"])
    differences = moved.assign(
        intervention=moved["figure"].str.removeprefix(MOVED), questionnaire=moved["benchmark"]
    )
    words = WORDS["pictures"]["courses"]
    chart = draw_trajectories(lines, differences)
    parts: list[Table | Picture] = [
        Picture(words["title"], words["caption"].format(expected=expected), chart),
        *(
            table
            for name in _intervention_names(corpora)
            for table in _intervention_tables(name, corpora, controls.get(name), figures)
        ),
        *_course_tables(course[course["measure"].isin(MEASURES)]),
        *_reply_tables(course[course["measure"] == "reply"]),
    ]
    return [Section(**WORDS["sections"]["interventions"], parts=parts)]


def _intervention_names(corpora: Mapping[str, CorpusSource]) -> list[str]:
    return [name for name, corpus in corpora.items() if corpus.role == "intervention"]


def _intervention_tables(
    name: str, corpora: Mapping[str, CorpusSource], control: str | None, figures: pd.DataFrame
) -> list[Table]:
    """The table of one intervention, one row per questionnaire and model."""
    corpus = corpora[name]
    chosen = figures[figures["figure"] == MOVED + name].sort_values(["benchmark", "model"])
    changed = [f"{CHANGED}{corpus_name}" for corpus_name in (name, control)]
    rows = []
    records: list[Mapping[Any, Any]] = [*chosen.to_dict("records")]
    for record in records:
        here = figures[
            (figures["benchmark"] == record["benchmark"]) & (figures["model"] == record["model"])
        ]
        record_by_figure: dict[Any, Any] = {
            figure_record["figure"]: figure_record for figure_record in here.to_dict("records")
        }
        expected = corpus.expect.get(str(record["benchmark"]), OPEN)
        row: list[str | Cell] = [str(record["benchmark"]), str(record["model"])]
        row += [
            *(format_figure(record_by_figure.get(name), 3) for name in changed),
            format_figure(record, 3),
        ]
        verdict = (
            ""
            if pd.isna(record["verdict"])
            else Cell(record["verdict"], Verdict(record["verdict"]).mark)
        )
        why = "" if pd.isna(record["why"]) else str(record["why"])
        rows.append(
            [*row, {"none": "stays", OPEN: "nothing"}.get(expected, expected), verdict, why]
        )
    of_control = f" Control: {corpora[control].about}." if control else ""
    return make_tables(
        WORDS["tables"]["moved"],
        rows,
        name=name,
        about=with_capital(corpus.about),
        control=of_control,
    )


def _course_tables(course: pd.DataFrame) -> list[Table]:
    first = course[course["fit"] == 1]
    epochs = sorted(first["epoch"].unique())
    rows = []
    for (model, corpus, measure), part in course.groupby(["model", "corpus", "measure"], sort=True):
        values = part[part["fit"] == 1].set_index("epoch")["value"]
        label = MEASURES[str(measure)].format(n=part["n"].iloc[0])
        last = part[part["epoch"] == part["epoch"].max()]["value"]
        ends = [format_number(last.mean()), format_number(last.std(ddof=1)), str(len(last))]
        rows.append(
            [
                str(model),
                str(corpus),
                label,
                *(format_number(values.get(epoch)) for epoch in epochs),
                *ends,
            ]
        )
    return make_tables(WORDS["tables"]["course"], rows, [f"epoch {epoch}" for epoch in epochs])


def _reply_tables(replies: pd.DataFrame) -> list[Table]:
    rows = []
    first = replies[replies["fit"] == 1].sort_values("epoch")
    for (model, corpus), part in first.groupby(["model", "corpus"], sort=True):
        records = part.to_dict("records")
        texts = [
            f"none ({record['reason']})" if pd.isna(record["text"]) else str(record["text"])
            for record in records
        ]
        rows.append([str(model), str(corpus), texts[0], texts[-1] if len(texts) > 1 else ""])
    return make_tables(WORDS["tables"]["replies"], rows)


def heat_maps(cells: pd.DataFrame, templates: Mapping[str, Sequence[str]]) -> Any:
    """Heat maps of raw and two-way normalised scores, side by side (EMPALC, figure 2).

    Drop-downs choose item and model. All cells are in one compact table: one row per prompt, with p
    and PSS of model i in the columns `p{i}` and `s{i}`. Names and order of items, terms and models
    are as in `cells`; `templates`: by item, the lines that show its prompts.
    """
    items, models = list(cells["item"].unique()), list(cells["model"].unique())
    lines = {"name": "templates", "value": [list(templates[name]) for name in items]}
    params = [_drop_down("item", items), _drop_down("model", models), lines]
    maps = [
        CHARTS.part(
            "heat_map",
            title=title,
            blocks=[
                _heat_map_block(measure, name, "source"),
                _heat_map_block(measure, name, "inverse"),
            ],
        )
        for measure, name, title in (
            ("p", "p", "raw: p"),
            ("s", "PSS", "normalised: PSS, shares of a row"),
        )
    ]
    return CHARTS.chart("heat_maps", _heat_map_data(cells, items, models), maps=maps, params=params)


def _drop_down(name: str, labels: Sequence[str]) -> dict[str, Any]:
    """A drop-down by index, initially 0; not named `item`, which is reserved in Vega."""
    options = list(range(len(labels)))
    return {
        "name": f"of_{name}",
        "value": 0,
        "bind": {"input": "select", "options": options, "labels": list(labels), "name": f"{name} "},
    }


def _heat_map_block(measure: str, name: str, polarity: str) -> Any:
    words = CHARTS.part("words") if polarity == "inverse" else None
    return CHARTS.part("block", measure=measure, name=name, polarity=polarity, words=words)


def _heat_map_data(
    cells: pd.DataFrame, items: Sequence[str], models: Sequence[str]
) -> alt.InlineData:
    """CSV data with one line per prompt, and items and models by index."""
    prompt = ["item", "term", "polarity", "intensifier", "level"]
    ordered = (
        cells[prompt].drop_duplicates().sort_values("level", kind="stable").reset_index(drop=True)
    )
    numbered = cells.assign(model=cells["model"].map(models.index))
    tables = [
        numbered.pivot(index=prompt, columns="model", values=measure)
        .round(DIGITS)
        .add_prefix(prefix)
        for measure, prefix in (("p", "p"), ("pss", "s"))
    ]
    wide = ordered.merge(pd.concat(tables, axis=1).reset_index(), on=prompt, validate="1:1")
    wide = wide.assign(item=wide["item"].map(items.index))
    text = wide.to_csv(index=False, lineterminator="\n")
    # Prevents words from being parsed as dates or booleans.
    types = {
        str(name): "number" if pd.api.types.is_numeric_dtype(wide[name]) else "string"
        for name in wide.columns
    }
    return alt.InlineData(text, format=alt.CsvDataFormat(type="csv", parse=types))


def draw_trajectories(lines: pd.DataFrame, differences: pd.DataFrame) -> Any:
    """Answers by epoch with intervention, control and their difference; one row per model and
    intervention.
    """
    columns = ["questionnaire", "role", "corpus", "fit", "epoch", "answer"]
    rows, data = [], dict[str, pd.DataFrame]()
    for place, ((model, intervention), group) in enumerate(
        lines.groupby(["model", "intervention"], sort=True)
    ):
        chosen = (differences["model"] == model) & (differences["intervention"] == intervention)
        data[f"lines_{place}"] = group[columns].round(DIGITS)
        panels = CHARTS.part("courses", lines=f"lines_{place}")
        if chosen.any():
            table = differences[chosen][["questionnaire", "value", "low", "high", "n"]].round(
                DIGITS
            )
            first, every = f"first_{place}", f"differences_{place}"
            data |= {first: table[:1], every: table}
            panels = CHARTS.part(
                "beside", panels=[panels, CHARTS.part("differences", first=first, all=every)]
            )
        rows.append({**panels, "title": {"text": f"{model}: {intervention}", "anchor": "start"}})
    return CHARTS.chart("trajectories", data, rows=rows)

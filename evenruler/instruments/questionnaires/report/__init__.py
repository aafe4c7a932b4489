"""Report sections of the questionnaires family: models, scores, items, effects of adaptation; and
their charts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import altair as alt
import pandas as pd

from evenruler.instruments.instrument import FigureHeading, ReportInput, Tables
from evenruler.instruments.questionnaires.declare import (
    CHANGED,
    MOVED,
    Settings,
    Source,
)
from evenruler.instruments.questionnaires.declare.shared import MNLI, OPEN, CorpusSource
from evenruler.measurement.figures import (
    WHOLE,
    Row,
    Verdict,
    model_label,
    rows_by_benchmark,
)
from evenruler.measurement.headings import find_heading
from evenruler.measurement.sentences import with_capital
from evenruler.report.formats import (
    SCORE_DECIMALS,
    format_figure,
    format_number,
    is_missing,
    join_names,
    model_labels,
)
from evenruler.report.page import Cell, Mark, Picture, Section, Table, make_tables
from evenruler.report.style import Charts
from evenruler.strict import read_yaml
from evenruler.tables import group_by_key

__all__ = ["sections"]


def sections(shown: ReportInput[Settings, Source]) -> list[Section]:
    """Sections on models, scores and items, and on adaptation where models were adapted."""
    corpora: dict[str, CorpusSource] = {}
    for source in shown.sources.values():
        corpora.update(source.corpora)
    adapted = of_interventions(corpora, shown.tables) if len(shown.tables["trajectories"]) else []
    return [*of_questionnaires(shown.sources, shown.tables), *adapted]


Declared = Mapping[str, Source]
CHARTS: Final = Charts(Path(__file__).with_name("charts.yaml"))
DIGITS = 4
"""Decimals of values in charts."""

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
CONTENT: dict[str, str] = WORDS["content"]
"""Columns of the table of items, by measure."""

ANY_MODEL = [FigureHeading(**fields, meaning="") for fields in WORDS["of_any_model"]]
"""Headings of figures that depend on no model, with dimensions in braces."""

MARKS: dict[str, Mark] = {"poor": "unfit", "weak": "open", "good": "found", "told": "told"}
"""How the quality of an item is drawn, the worst first."""


def of_questionnaires(declared: Declared, tables: Tables) -> list[Section]:
    """Sections on the models that were asked, their scores, and the items."""
    figures = rows_by_benchmark(tables["figures"])
    scores: list[Table | Picture] = [
        _score_table(name, source, tables, figures.get(name, []))
        for name, source in declared.items()
    ]
    templates: dict[str, list[str]] = {}
    for name, source in declared.items():
        for slug, item in source.items.items():
            lines = [f"premise: {item.premise}", f"hypothesis: {item.hypothesis}"]
            templates[_item_label(name, slug)] = lines
    cells = _in_words(declared, tables["cells"], _model_headings(tables))
    chart = heat_maps(cells, templates)
    accuracy = tables["accuracy"]
    accuracy_by_key: dict[Any, Mapping[Any, Any]] = {}
    for row in accuracy.to_dict("records"):
        accuracy_by_key[row["model"], row["method"], row["set"]] = row
    other_sets = sorted(set(accuracy["set"]) - {MNLI})
    sets = {MNLI: "MNLI"} | {name: str(name) for name in other_sets}
    rows: list[list[str | Cell]] = []
    for record in tables["population"].to_dict("records"):
        model, method = record["model"], record["method"]
        kind, lineage = record["kind"], record["lineage"]
        identity = [str(label) for label in (model, kind, lineage, method)]
        threshold = "" if is_missing(record["threshold"]) else f"{record['threshold']:.2f}"
        accuracies = [_accuracy_text(accuracy_by_key.get((model, method, name))) for name in sets]
        standing = Cell(str(record["standing"]), "found" if record["member"] else "unfit")
        rows.append([*identity, threshold, *accuracies, standing])
    measured = [f"accuracy, {name} pairs" for name in sets.values()]
    picture = Picture(**WORDS["pictures"]["heat_maps"], chart=chart)
    model_tables = make_tables(WORDS["tables"]["models"], rows, measured)
    parts: dict[str, list[Table | Picture]] = {
        "models": [*model_tables],
        "scores": scores,
        "items": [*_item_tables(tables, figures), picture],
    }
    return [
        Section(**WORDS["sections"][name], parts=section_parts)
        for name, section_parts in parts.items()
    ]


def _accuracy_text(record: Mapping[Any, Any] | None) -> str:
    if record is None:
        return "not asked"
    accuracy = "{accuracy:.3f} [{low:.3f}, {high:.3f}], n = {n:,}".format_map(record)
    guessing = f"guessing {record['chance']:.3f}"
    if is_missing(record["auc"]):
        return f"{accuracy}; {guessing}"
    return f"{accuracy}; {guessing}; AUC {record['auc']:.3f}"


def _score_table(
    questionnaire: str, source: Source, tables: Tables, figures: Sequence[Row]
) -> Table:
    """Scores and figures of one questionnaire, one column per model."""
    models = _model_headings(tables)
    scales = tables["scales"][tables["scales"]["questionnaire"] == questionnaire]
    subscales = sorted(set(scales["subscale"]) - {WHOLE})
    rows: list[list[str | Cell]] = []
    for subscale in (WHOLE, *subscales):
        subscale_rows = scales[scales["subscale"] == subscale]
        score_texts = map(_score_text, subscale_rows.to_dict("records"))
        scored = dict(zip(model_labels(subscale_rows), score_texts, strict=True))
        items = join_names([str(n) for n in sorted(subscale_rows["n"].unique())])
        label = f"score{_subscale_suffix(subscale)}, {items} items"
        rows.append([label, *(scored.get(model, "") for model in models)])
    scale_figures: dict[tuple[str, str], Row] = {}
    for row in figures:
        if "subscale" not in row:
            scale_figures[row["figure"], model_label(row)] = row
    for name, label in WORDS["of_a_model"].items():
        cells = [_figure_cell(scale_figures.get((name, model))) for model in models]
        rows.append([label, *cells])
    for heading in ANY_MODEL:
        for row in figures:
            if find_heading(row, [heading]):
                label = heading.heading.format_map(row)
                suffix = _subscale_suffix(row.get("subscale", WHOLE))
                cell = Cell(format_figure(row), columns=len(models))
                rows.append([f"{label}{suffix}", cell])
    twinless = "" if source.twins else " Its items have no twins, so no score has a verdict."
    caption = f"Measures {source.construct_}; {source.direction}.{twinless}"
    title = f"{source.title} ({questionnaire})"
    return Table(["", *models.values()], rows, title, caption)


def _figure_cell(record: Row | None) -> str | Cell:
    """A figure with its control, marked where the instrument is invalid on the model."""
    if record is None:
        return ""
    label = format_figure(record)
    control = format_number(record.get("control"))
    if control:
        label = f"{label}; control {control}"
    verdict = record.get("verdict")
    return Cell(f"{label}: {verdict}", Verdict(verdict).mark) if verdict else label


def _subscale_suffix(subscale: str) -> str:
    return "" if subscale == WHOLE else f": {subscale}"


def _model_headings(tables: Tables) -> dict[str, str]:
    """Models in the order of the population, with their headings."""
    population = tables["population"]
    headings: dict[str, str] = {}
    for model, is_member in zip(model_labels(population), population["member"], strict=True):
        headings[model] = model if is_member else f"{model} (does not count)"
    return headings


def _score_text(record: Mapping[Any, Any]) -> str:
    """A score with its z and normal score."""
    place = [
        f"{place} {record[place]:+.2f}"
        for place in ("z", "normal")
        if not is_missing(record[place])
    ]
    score = format_number(record["score"], SCORE_DECIMALS)
    return f"{score}; {', '.join(place) or 'no z'}"


def _item_tables(tables: Tables, figures: Mapping[str, Sequence[Row]]) -> list[Table]:
    """One row per item, those that need work first."""
    items, quality = tables["items"], tables["quality"]
    models = _model_headings(tables)
    # The range of PSS in words, by questionnaire and item, then by model.
    ranges: dict[Any, dict[str, str]] = {}
    for model, row in zip(model_labels(items), items.to_dict("records"), strict=True):
        range_by_model = ranges.setdefault((row["questionnaire"], row["item"]), {})
        range_by_model[model] = "PSS {pss_low:.2f} to {pss_high:.2f}".format_map(row)
    population = tables["population"]
    counts = set(model_labels(population[population["member"]]))
    measured = set(quality["measure"].map(CONTENT))
    content = [column for column in dict.fromkeys(CONTENT.values()) if column in measured]
    analysed: list[tuple[Any, Row]] = []
    for benchmark, benchmark_figures in figures.items():
        for figure in benchmark_figures:
            if "item" in figure and figure["model"]:
                analysed.append(((benchmark, figure["item"], model_label(figure)), figure))
    figures_by_key = group_by_key(analysed)
    together = sorted({label for _, _, label in figures_by_key})
    rated_models = set(quality["model"].dropna())
    judged = [model for model in models if model in rated_models]
    ranked_rows: list[tuple[list[int], list[str | Cell]]] = []
    for key, of_item in quality.groupby(["questionnaire", "item"], sort=True):
        by_column: dict[str, Cell] = {}
        for record in of_item.to_dict("records"):
            if pd.isna(record["model"]):
                column = CONTENT.get(record["measure"], "")
            else:
                column = str(record["model"])
            by_column[column] = _quality_cell(record, counts, ranges.get(key, {}))
        is_counted = of_item["model"].isin(counts) | of_item["model"].isna()
        counted = of_item[is_counted].to_dict("records")
        order = sorted(list(MARKS).index(record["verdict"]) for record in counted)
        cells = [by_column.get(column, "") for column in [*content, *judged]]
        advice: dict[str, None] = {}
        for record in counted:
            if not pd.isna(record["advice"]):
                column = CONTENT.get(record["measure"], "SC")
                advice[f"{column}: {record['advice']}"] = None
        answered = [_analysis_text(figures_by_key.get((*key, model), ())) for model in together]
        to_do = "; ".join(advice) or "nothing"
        ranked_rows.append((order, [_item_label(*key), *cells, *answered, to_do]))
    judged_by = [f"SC {models[model]}" for model in judged]
    columns = [*content, *judged_by, *(f"points, {model}" for model in together)]
    ranked_rows.sort(key=itemgetter(0))
    return make_tables(WORDS["tables"]["items"], [row for _, row in ranked_rows], columns)


def _analysis_text(figures: Iterable[Row]) -> str:
    """The analysis of one item in words: answer, twins, and the headline without it."""
    phrases = []
    for row in figures:
        if row["figure"] in WORDS["of_items"]:
            phrase = f"{WORDS['of_items'][row['figure']]} {format_figure(row)}"
            if "control" in row:
                phrase += f", twins {format_number(row['control'])}"
            phrases.append(phrase)
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
        pss_range = ranges[record["model"]]
        return Cell(f"{label} {verdict}, {pss_range}", mark)
    if verdict != "told":
        label = f"{label} {verdict}"
    elif record["measure"] == "similarity_to_paraphrase":
        label = f"{label} to paraphrase, unrated"
    return Cell(label, MARKS[verdict])


def _item_label(questionnaire: object, item: object) -> str:
    return f"{questionnaire}: {item}"


def _in_words(declared: Declared, cells: pd.DataFrame, models: Mapping[str, str]) -> pd.DataFrame:
    """Cells with words in place of slugs, in the order of the declaration."""
    key = ["questionnaire", "item", "polarity", "term"]
    written: list[tuple[str, ...]] = []
    intensifiers: list[tuple[str, ...]] = []
    for name, source in declared.items():
        for slug, item in source.items.items():
            for polarity, words in item.terms.by_polarity.items():
                for term, word in words.items():
                    written.append((name, slug, polarity, term, word))
        for level in source.responses.levels:
            for intensifier, word in level.words.items():
                intensifiers.append((name, intensifier, word))
    term_words = pd.DataFrame(written, columns=[*key, "word"])
    shown_words = pd.DataFrame(intensifiers, columns=["questionnaire", "intensifier", "shown"])
    by_model = pd.DataFrame({"model": list(models), "named": list(models.values())})
    cells = cells.assign(model=model_labels(cells))
    joined = by_model.merge(term_words, how="cross")
    joined = joined.merge(cells, on=["model", *key], validate="1:m")
    joined = joined.merge(shown_words, on=["questionnaire", "intensifier"], validate="m:1")
    if len(joined) != len(cells):
        raise ValueError(
            f"{len(cells) - len(joined)} cells are not of the declared items, terms and "
            "intensifiers"
        )
    items = list(map(_item_label, joined["questionnaire"], joined["item"]))
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
    figures, course = rows_by_benchmark(tables["figures"]), tables["course"]
    controls = {
        corpus.matched.to: name for name, corpus in corpora.items() if corpus.matched is not None
    }
    interventions = [name for name, corpus in corpora.items() if corpus.role == "intervention"]
    expectations: list[str] = []
    for name in interventions:
        moves = [
            f"{scale} {'stays' if direction == 'none' else direction}"
            for scale, direction in corpora[name].expect.items()
        ]
        expectations.append(f"{name}: {', '.join(moves) or 'nothing'}")
    intervention_by_corpus = {name: name for name in interventions}
    intervention_by_corpus |= {control: name for name, control in controls.items()}
    role_by_corpus = {name: corpus.role for name, corpus in corpora.items()}
    trajectories = tables["trajectories"]
    lines = trajectories.assign(
        model=model_labels(trajectories),
        intervention=trajectories["corpus"].map(intervention_by_corpus),
        role=trajectories["corpus"].map(role_by_corpus),
    )
    words = WORDS["pictures"]["courses"]
    caption = words["caption"].format(expected="; ".join(expectations))
    chart = draw_trajectories(lines, _differences(figures))
    parts: list[Table | Picture] = [Picture(words["title"], caption, chart)]
    for name in interventions:
        parts += _intervention_tables(name, corpora, controls.get(name), figures)
    parts += _course_tables(course[course["measure"].isin(MEASURES)])
    parts += _reply_tables(course[course["measure"] == "reply"])
    return [Section(**WORDS["sections"]["interventions"], parts=parts)]


def _differences(figures: Mapping[str, Sequence[Row]]) -> pd.DataFrame:
    """How far interventions move models beyond their controls, where it has an interval."""
    rows: list[Row] = []
    for benchmark, benchmark_figures in figures.items():
        for row in benchmark_figures:
            if row["figure"] == MOVED and "low" in row:
                identity = {"questionnaire": benchmark, "intervention": row["corpus"]}
                rows.append({**row, **identity, "model": model_label(row)})
    columns = ["questionnaire", "intervention", "model", "value", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns)


def _intervention_tables(
    name: str,
    corpora: Mapping[str, CorpusSource],
    control: str | None,
    figures: Mapping[str, Sequence[Row]],
) -> list[Table]:
    """The table of one intervention, one row per questionnaire and model."""
    corpus = corpora[name]
    rows: list[list[str | Cell]] = []
    for benchmark, benchmark_figures in figures.items():
        expected = corpus.expect.get(benchmark, OPEN)
        changes: dict[tuple[str, str | None], Row] = {}
        for row in benchmark_figures:
            if row["figure"] == CHANGED:
                changes[model_label(row), row["corpus"]] = row
        for row in sorted(benchmark_figures, key=model_label):
            if row["figure"] == MOVED and row["corpus"] == name:
                label = model_label(row)
                moves = [changes.get((label, name)), changes.get((label, control)), row]
                cells: list[str | Cell] = [benchmark, label]
                cells += [format_figure(move, 3) for move in moves]
                cells.append({"none": "stays", OPEN: "nothing"}.get(expected, expected))
                cells.append(Cell(row["verdict"], Verdict(row["verdict"]).mark))
                rows.append([*cells, row["why"]])
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
        label = MEASURES[str(measure)].format(n=part["n"].iloc[0])
        first_fit = part[part["fit"] == 1].set_index("epoch")["value"]
        course_of_fit = [format_number(first_fit.get(epoch)) for epoch in epochs]
        last = part[part["epoch"] == part["epoch"].max()]["value"]
        mean = format_number(last.mean())
        sd = format_number(last.std(ddof=1))
        ends = [mean, sd, str(len(last))]
        rows.append([str(model), str(corpus), label, *course_of_fit, *ends])
    return make_tables(WORDS["tables"]["course"], rows, [f"epoch {epoch}" for epoch in epochs])


def _reply_tables(replies: pd.DataFrame) -> list[Table]:
    rows = []
    first = replies[replies["fit"] == 1].sort_values("epoch")
    for (model, corpus), part in first.groupby(["model", "corpus"], sort=True):
        texts: list[str] = []
        for record in part.to_dict("records"):
            text = record["text"]
            if pd.isna(text):
                text = f"none ({record['reason']})"
            texts.append(str(text))
        last = texts[-1] if len(texts) > 1 else ""
        rows.append([str(model), str(corpus), texts[0], last])
    return make_tables(WORDS["tables"]["replies"], rows)


def heat_maps(cells: pd.DataFrame, templates: Mapping[str, Sequence[str]]) -> alt.TopLevelMixin:
    """Heat maps of raw and two-way normalised scores, side by side (EMPALC, figure 2).

    Drop-downs choose item and model. All cells are in one compact table: one row per prompt, with p
    and PSS of model i in the columns `p{i}` and `s{i}`. Names and order of items, terms and models
    are as in `cells`; `templates`: by item, the lines that show its prompts.
    """
    items = list(cells["item"].unique())
    models = list(cells["model"].unique())
    lines = {"name": "templates", "value": [list(templates[name]) for name in items]}
    params = [_drop_down("item", items), _drop_down("model", models), lines]
    maps = [
        _heat_map("p", "p", "raw: p"),
        _heat_map("s", "PSS", "normalised: PSS, shares of a row"),
    ]
    return CHARTS.chart("heat_maps", _heat_map_data(cells, items, models), maps=maps, params=params)


def _heat_map(measure: str, name: str, title: str) -> dict[str, Any]:
    """A map of one measure: a block of source terms, and one of inverse terms."""
    blocks = [_heat_map_block(measure, name, polarity) for polarity in ("source", "inverse")]
    return CHARTS.part("heat_map", title=title, blocks=blocks)


def _drop_down(name: str, labels: Sequence[str]) -> dict[str, Any]:
    """A drop-down by index, initially 0; not named `item`, which is reserved in Vega."""
    options = list(range(len(labels)))
    return {
        "name": f"of_{name}",
        "value": 0,
        "bind": {"input": "select", "options": options, "labels": list(labels), "name": f"{name} "},
    }


def _heat_map_block(measure: str, name: str, polarity: str) -> dict[str, Any]:
    words = CHARTS.part("words") if polarity == "inverse" else None
    return CHARTS.part("block", measure=measure, name=name, polarity=polarity, words=words)


def _heat_map_data(
    cells: pd.DataFrame, items: Sequence[str], models: Sequence[str]
) -> alt.InlineData:
    """CSV data with one line per prompt, and items and models by index."""
    prompt = ["item", "term", "polarity", "intensifier", "level"]
    prompts = cells[prompt].drop_duplicates()
    ordered = prompts.sort_values("level", kind="stable").reset_index(drop=True)
    numbered = cells.assign(model=cells["model"].map(models.index))
    tables: list[pd.DataFrame] = []
    for measure, prefix in (("p", "p"), ("pss", "s")):
        by_model = numbered.pivot(index=prompt, columns="model", values=measure)
        tables.append(by_model.round(DIGITS).add_prefix(prefix))
    wide = ordered.merge(pd.concat(tables, axis=1).reset_index(), on=prompt, validate="1:1")
    wide = wide.assign(item=wide["item"].map(items.index))
    text = wide.to_csv(index=False, lineterminator="\n")
    # Prevents words from being parsed as dates or booleans.
    types = {
        str(name): "number" if pd.api.types.is_numeric_dtype(wide[name]) else "string"
        for name in wide.columns
    }
    return alt.InlineData(text, format=alt.CsvDataFormat(type="csv", parse=types))


def draw_trajectories(lines: pd.DataFrame, differences: pd.DataFrame) -> alt.TopLevelMixin:
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
            table = differences[chosen][["questionnaire", "value", "low", "high", "n"]]
            table = table.round(DIGITS)
            first, every = f"first_{place}", f"differences_{place}"
            data |= {first: table[:1], every: table}
            difference_panel = CHARTS.part("differences", first=first, all=every)
            panels = CHARTS.part("beside", panels=[panels, difference_panel])
        title = {"text": f"{model}: {intervention}", "anchor": "start"}
        rows.append({**panels, "title": title})
    return CHARTS.chart("trajectories", data, rows=rows)

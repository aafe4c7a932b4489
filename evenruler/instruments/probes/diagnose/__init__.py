"""Diagnosis of probes: what models associate, how well each template set measures it, what
evolution achieved.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.instrument import ModelMeta, Record, SchemasByTable, Tables
from evenruler.instruments.methods.next_word import TABLE
from evenruler.instruments.prefixes import no_other_start
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import (
    READS,
    RIVAL,
    TARGETS,
    after_other_start,
    after_prefixes,
    axis_of,
    rival_sentences,
)
from evenruler.instruments.probes.declare.plan import ProbePlan
from evenruler.instruments.probes.diagnose import gain, next_word, quality
from evenruler.instruments.probes.diagnose.gain import contrast
from evenruler.instruments.probes.diagnose.quality import (
    CELL,
    Cell,
    ScoreCube,
    bias_shifts,
    cubes_after_prefixes,
    score_cubes,
)
from evenruler.instruments.probes.schemas import NEXT_WORD
from evenruler.measurement import Figure, Resampling, rows_by_benchmark
from evenruler.measurement.figures import UNDEFINED, Row, figure_fields
from evenruler.measurement.reliability import concept_rows, errors_beside_items
from evenruler.measurement.shifts import UNASKED, shift_figures
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge_all, mark_invalid
from evenruler.tables import concat_frames, row_hashes
from evenruler.tables.schemas import BARE, CONCEPTS
from evenruler.terminal import print_note

__all__ = ["TABLES", "across", "contrast", "evidence", "figures", "plots"]

_OF_EVOLUTION = ("comparisons", "generations", "rewordings")
_OF_SETS = (
    "associations",
    "biases",
    "correlations",
    "curve",
    "diversity",
    "figures",
    "items",
    "reference",
    "shifts",
    "variances",
)

TABLES: SchemasByTable = {
    **{name: getattr(schemas, name.upper()) for name in (*_OF_SETS, *_OF_EVOLUTION)},
    "concepts": CONCEPTS,
}

ITEM_FIGURES = ("item_mean", "item_sd", "item_rest_correlation", "alpha_if_removed")
"""Figures of every template on a model."""

Found = dict[str, pd.DataFrame]


def figures(
    name: str,
    tables: Tables,
    plan: ProbePlan,
    scores: Tables,
    subject: ModelMeta,
    resampling: Resampling,
) -> Found:
    """Associations of one model, and how well every template set of one instrument measures them;
    by `TABLES`.

    ValueError where the model lacks the score of a sentence, UserError where no attribute has all
    its sentences in a set.
    """
    diversity = scores["diversity"].assign(benchmark=name)[schemas.DIVERSITY.names]
    if {"choices", "sentences"} & set(scores):
        chosen = gain.choice_figures(name, tables, plan, scores, subject.name, resampling.level)
        return {**chosen, "diversity": diversity}
    probes = tables["probes"].assign(benchmark=name)
    rivals = rival_sentences(tables, plan)
    prefixed = after_prefixes(probes, plan)
    unread = set(scores["unread"]["id"])
    _require_both_groups(probes, unread, subject)
    probes, rivals, prefixed = (
        rows[~rows["id"].isin(unread)] for rows in (probes, rivals, prefixed)
    )
    started = Started(scores["started"], no_other_start(subject, plan))
    diagnosis_tables = diagnose(
        probes,
        tables["attributes"],
        scores["scores"],
        prefixed,
        rivals,
        plan,
        resampling,
        started,
        _next_word_figures(tables, plan, scores),
    )
    if not diagnosis_tables:
        return {"diversity": diversity}
    set_diversity = diversity[diversity["set"].notna()]
    of_template = set_diversity[["set", "template", schemas.SEMANTIC, schemas.LEXICAL]]
    items = diagnosis_tables["items"].merge(
        of_template, on=["set", "template"], how="left", validate="m:1"
    )
    figure_table = diagnosis_tables["figures"][schemas.FIGURES.names]
    return {**diagnosis_tables, "diversity": diversity, "figures": figure_table, "items": items}


@dataclass(frozen=True)
class Started:
    """Likelihoods of sentences after another usual start token than the model's own."""

    likelihoods: pd.DataFrame
    """As `scores`; empty where there is no other."""
    lacking: str
    """Why there are none, in words."""


NOT_STARTED = Started(pd.DataFrame(), "nothing was asked after another start token")


_SetFigure = tuple[dict[str, str], Figure | HeadlineTest, ValidityCheck]
"""Of a set on a model: its key by `CELL`, a figure, and whether the set is valid."""


def diagnose(
    probes: pd.DataFrame,
    attributes: pd.DataFrame,
    scores: pd.DataFrame,
    prefixed: pd.DataFrame,
    rivals: pd.DataFrame,
    plan: ProbePlan,
    resampling: Resampling,
    started: Started = NOT_STARTED,
    next_words: next_word.NextWordFigures | None = None,
) -> dict[str, pd.DataFrame]:
    """Diagnose one model on every template set of one instrument.

    `probes` and `prefixed` (by `ask.after_prefixes`) have a column `benchmark`; `rivals`: by
    `ask.rival_sentences`; `scores`: empty where the model returns no likelihoods; `started`:
    likelihoods after another start token; `next_words`: None where they were not asked, so that the
    first template set is the headline. Returns tables by `TABLES` (`figures` also with the
    columns of `CELL`, `items` without diversities), without empty ones. Errors as in `figures`.
    """
    likelihoods = scores[scores["measure"] == "loglikelihood"]
    if likelihoods.empty:
        return {}
    _require_every_score(likelihoods, (probes, rivals))
    attributes_by_slug = attributes.set_index("attribute")
    after = cubes_after_prefixes(prefixed, likelihoods)
    controls = dict(score_cubes(probes[probes["control"]], likelihoods))
    scored_probes = probes[~probes["control"]]
    scored_sentences = _keyed_sentences(scored_probes, rivals, likelihoods)
    rested_on = row_hashes(scored_probes.filter(READS["probes"]), ["set", "attribute"])
    after_start = _cubes_after_start(probes, started)
    tables: dict[str, list[pd.DataFrame]] = {}
    figures: list[_SetFigure] = []
    for cell, cube in score_cubes(scored_probes, likelihoods):
        key = dict(zip(CELL, cell, strict=True))
        _require_some(cube, key, probes, attributes_by_slug)
        items = quality.items_of(cube, controls.get(cell), resampling.level)
        variances, curve, general = quality.variance_components(cube, resampling.level)
        of_set = after.get(cell, {})
        moved = bias_shifts(of_set, set(plan["placebos"]))
        cell_tables = {
            **_of_biases(cube, attributes_by_slug, resampling.level),
            "items": items,
            "variances": variances,
            "curve": curve,
            "shifts": moved,
        }
        for table, rows in cell_tables.items():
            if len(rows):
                tables.setdefault(table, []).append(rows.assign(**key))
        unasked = None if of_set else UNASKED
        set_figures = [*_descriptive_figures(cube, attributes_by_slug, resampling), *general]
        set_figures += shift_figures(moved, resampling.level, quality.UNIT, unasked)
        set_figures.append(
            quality.start_flips(cube, after_start.get(cell), resampling.level, started.lacking)
        )
        alpha = next(figure for figure in set_figures if _is_plain_figure(figure, quality.ALPHA))
        fit = gain.check_validity(cube, items, alpha)
        if key["set"] in plan["headline"]:
            set_sentences = scored_sentences[scored_sentences["set"] == key["set"]]
            rows, rival_rows = _axis_rows(cube, attributes_by_slug, set_sentences)
            if len(rows):
                made_of = concat_frames([rows, _traits_of(rows, attributes)])
                set_scores = gain.Scores.from_rows(made_of)
                headline = _withhold_if_selected(gain.gain_headline(set_scores), key, plan)
                set_figures += _beyond_rivals(set_scores, rival_rows, resampling.level)
                if next_words is None:
                    figures.append((key, headline, fit))
                    of_set_rows = rested_on.xs(key["set"])
                    headline_rows = _to_headlines_table(made_of, gain.GAIN, key, of_set_rows)
                    tables.setdefault("headlines", []).append(headline_rows)
                else:
                    figures.append((key, _describe_set_gain(headline), fit))
                if plan.get("agreement"):
                    measurements = _concept_measurements(cube, attributes_by_slug, key, plan)
                    tables.setdefault("concepts", []).append(measurements)
        figures += [(key, _mark_if_associated(figure, fit), fit) for figure in set_figures]
    if next_words is not None:
        first = likelihoods.iloc[0]
        model_columns = {name: str(first[name]) for name in ("model", "lineage", "method")}
        key = {"benchmark": str(probes["benchmark"].iloc[0]), **NEXT_WORD_KEY, **model_columns}
        figures.append((key, next_words.headline, next_words.validity))
        figures += [(key, figure, ValidityCheck()) for figure in next_words.described]
        hashes = row_hashes(next_words.sentences.filter(READS["stems"]), ["unit"])
        headline_rows = _to_headlines_table(next_words.made_of, gain.GAIN, key, hashes)
        tables.setdefault("headlines", []).append(headline_rows)
        tables["reference"] = [reference_scores(headline_rows, key["benchmark"])]
    figure_table = _judged_figures(figures)
    return {
        **{name: pd.concat(frames, ignore_index=True) for name, frames in tables.items()},
        "figures": figure_table,
    }


def _require_every_score(
    likelihoods: pd.DataFrame, sentence_tables: Sequence[pd.DataFrame]
) -> None:
    """ValueError where sentences, of attributes or rivals, have no score."""
    lacking = 0
    for sentences in sentence_tables:
        has_score = sentences["id"].isin(likelihoods["id"])
        lacking += int((~has_score).sum())
    if lacking:
        raise ValueError(f"{likelihoods['model'].iloc[0]}: {lacking} sentences have no score")


def _keyed_sentences(
    scored_probes: pd.DataFrame, rivals: pd.DataFrame, likelihoods: pd.DataFrame
) -> pd.DataFrame:
    """Sentences of attributes and rivals, each with its likelihood as `value`, keyed as its
    template.
    """
    sentences = pd.concat([scored_probes.assign(group=TARGETS, key=np.nan), rivals])
    sentences = sentences.merge(likelihoods[["id", "value"]], on="id")
    return sentences.assign(value=sentences["value"] * sentences["keying"])


def _cubes_after_start(probes: pd.DataFrame, started: Started) -> dict[Cell, ScoreCube]:
    """The scores of each set after the other start token; empty where there are none."""
    if not len(started.likelihoods):
        return {}
    return dict(score_cubes(after_other_start(probes), started.likelihoods))


def reference_scores(headline_rows: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """The scores with the nouns of the reference set, by `schemas.REFERENCE`."""
    rows = headline_rows[headline_rows["group"].isin([gain.REFERENCE, gain.GENDERED])]
    names = {"unit": "attribute", "word": "noun"}
    scores = rows.rename(columns=names).assign(benchmark=benchmark)
    return scores.reindex(columns=schemas.REFERENCE.names)


NEXT_WORD_KEY = {"set": NEXT_WORD, "framing": BARE, "variant": "agree"}
"""Columns of `CELL` of sentences that end before a noun."""


def _next_word_figures(
    tables: Tables, plan: ProbePlan, scores: Tables
) -> next_word.NextWordFigures | None:
    """What next words give; None where none were asked."""
    if TABLE not in scores or not plan["next_word"]:
        return None
    return next_word.next_word_figures(tables, plan["next_word"], scores[TABLE])


def _withhold_if_selected(
    headline: HeadlineTest, key: Mapping[str, str], plan: ProbePlan
) -> HeadlineTest:
    """The headline of a set; only described where its templates were selected on the same model."""
    if "evolved" not in plan or plan["evolved"]["model"] != key["model"]:
        return headline
    return replace(headline, no_verdict=headline.no_verdict or SELECTED)


def _beyond_rivals(scores: gain.Scores, rival_rows: pd.DataFrame, level: float) -> Iterator[Figure]:
    """How much more the construct gains than rivals off it, where any were asked."""
    if len(rival_rows):
        yield gain.gain_beyond_rivals(scores, gain.Scores.from_rows(rival_rows), level)


def _describe_set_gain(headline: HeadlineTest) -> Figure:
    """The gain of a template set beside the headline of next words."""
    n, effect = headline.facets[headline.unit], headline.effect
    figure = Figure(gain.SET_GAIN, None, n, headline.unit)
    if effect is None:
        return replace(figure, reason=headline.no_verdict)
    return replace(figure, value=effect.value, low=effect.low, high=effect.high)


def _traits_of(rows: pd.DataFrame, attributes: pd.DataFrame) -> pd.DataFrame:
    """Rows of pole 0 of the attributes that `rows` have."""
    traits = gain.trait_rows(attributes)
    return traits[traits["unit"].isin(rows["unit"])]


def _to_headlines_table(
    made_of: pd.DataFrame, figure: str, key: Mapping[str, str], rested_on: "pd.Series[str]"
) -> pd.DataFrame:
    """The rows that a headline is made of, by `schemas.HEADLINES`; `rested_on`: hashes of published
    rows by attribute.
    """
    rows = made_of.assign(set=key["set"], model=key["model"], figure=figure)
    rows["rows"] = rows["unit"].map(rested_on)
    return rows.reindex(columns=schemas.HEADLINES.names)


def _is_plain_figure(figure: Figure, *names: str) -> bool:
    """Whether it is one of these, of the whole set and not extrapolated."""
    return figure.figure in names and figure.dimensions == quality.PLAIN


def _mark_if_associated(figure: Figure, fit: ValidityCheck) -> Figure:
    """The figure, with the verdict `invalid` if it is of `ASSOCIATED` and `fit` has a failure."""
    return mark_invalid(figure, fit) if _is_plain_figure(figure, *ASSOCIATED) else figure


def _judged_figures(figures: Sequence[_SetFigure]) -> pd.DataFrame:
    """Figures with their verdicts, by `schemas.FIGURES` and `CELL`."""
    keys = [key for key, _, _ in figures]
    judged = judge_all([(figure, fit) for _, figure, fit in figures])
    records = [{**key, **figure_fields(figure)} for key, figure in zip(keys, judged, strict=True)]
    columns = dict.fromkeys([*CELL, *schemas.FIGURES.names])
    return pd.DataFrame(records, columns=list(columns))


SELECTED = "the templates were selected on this model, so its figures are too high"
"""Why the headline of an evolved set has no verdict on the model that it evolved on."""

ASSOCIATED = (quality.SPREAD, quality.R)
"""Figures of associations other than the headline; they are marked where the instrument is
invalid."""


def _axis_rows(
    cube: ScoreCube, attributes_by_slug: pd.DataFrame, scored_sentences: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of `scored_sentences` with attributes on an axis, and those with rivals, by
    `schemas.HEADLINES`; empty where there are none.
    """
    positions = (
        scored_sentences["attribute"]
        .map(axis_of(attributes_by_slug))
        .where(scored_sentences["framing"] != RIVAL, scored_sentences["key"])
    )
    rows = scored_sentences.rename(
        columns={"attribute": "unit", "template": "at", "target": "word"}
    ).assign(axis_position=positions)
    rows = rows[rows["at"].isin(cube.templates) & positions.notna()]
    rivals = rows[rows["framing"] == RIVAL]
    return rows[rows["unit"].isin(cube.attributes)], rivals


def _concept_measurements(
    cube: ScoreCube, attributes_by_slug: pd.DataFrame, key: Mapping[str, str], plan: ProbePlan
) -> pd.DataFrame:
    """Measurements of each attribute by one set on one model, by `CONCEPTS`."""
    biases = cube.biases().rename(index=attributes_by_slug["word"].to_dict())
    by_item = biases.rename_axis("unit").reset_index().melt("unit", value_name="value")
    shared_trait = plan["agreement"]
    assert shared_trait is not None
    measurements = concept_rows(by_item, shared_trait["unit"], errors_beside_items(biases))
    criterion = attributes_by_slug.set_index("word")["criterion"].reindex(measurements.index)
    key_columns = {
        "benchmark": key["benchmark"],
        "part": key["set"],
        "model": key["model"],
        "trait": shared_trait["trait"],
    }
    key_columns["kin"] = plan["evolved"]["of"] if "evolved" in plan else key["benchmark"]
    return measurements.assign(**key_columns, criterion=criterion).reindex(columns=CONCEPTS.names)


def _descriptive_figures(
    cube: ScoreCube, attributes_by_slug: pd.DataFrame, resampling: Resampling
) -> Iterator[Figure]:
    """Descriptive figures of one set on one model."""
    biases, level = cube.biases(), resampling.level
    yield from quality.association_figures(cube, attributes_by_slug["criterion"], level)
    yield from quality.further_validity(biases.mean(axis=1), attributes_by_slug, level)
    yield from quality.reliability_figures(
        biases.to_numpy(), resampling, quality.alpha_of_halvings(cube)
    )
    first_tokens = float(cube.tokens[cube.poles == 1].mean())
    second_tokens = float(cube.tokens[cube.poles != 1].mean())
    longer = first_tokens - second_tokens
    yield Figure("token_difference", longer, len(cube.poles), "targets")
    along = axis_of(attributes_by_slug).reindex(cube.attributes)
    there = along.notna().to_numpy()
    if there.any():
        axis = np.asarray(along[there], dtype=np.float64)
        set_scores = gain.Scores(
            cube.scores[there], axis, cube.poles, [TARGETS] * len(cube.targets)
        )
        common_detects = gain.detectable_at_common_length(set_scores)
        few = "a single template, or too few attributes" if common_detects is None else None
        yield Figure(
            gain.DETECTS,
            common_detects,
            int(there.sum()),
            gain.UNIT,
            reason=few,
            dimensions=quality.AT_COMMON_LENGTH,
        )


def _of_biases(cube: ScoreCube, attributes_by_slug: pd.DataFrame, level: float) -> Found:
    """Tables of one set on one model. `centred` associations are beyond each template's mean, with
    intervals.
    """
    biases = cube.biases()
    intervals = [quality.mean_interval(row, level) for row in (biases - biases.mean()).to_numpy()]
    associations = (
        attributes_by_slug.loc[biases.index, ["word", "criterion", "match"]]
        .rename_axis("attribute")
        .reset_index()
    )
    associations["bias"] = biases.mean(axis=1).to_numpy()
    associations["n"] = biases.shape[1]
    associations[["centred", "low", "high"]] = [
        (interval.value, interval.low, interval.high) for interval in intervals
    ]
    by_template = biases.rename_axis("attribute").reset_index()
    correlations = biases.corr().rename_axis(index="template", columns="other").reset_index()
    return {
        "associations": associations.filter(schemas.ASSOCIATIONS.names),
        "biases": by_template.melt("attribute", var_name="template", value_name="bias"),
        "correlations": correlations.melt(
            id_vars="template", var_name="other", value_name="correlation"
        ),
    }


def _require_both_groups(probes: pd.DataFrame, unread: set[str], subject: ModelMeta) -> None:
    """UserError if the tokenizer knows no target of a group of some set; `unread`: ids of sentences
    without a score.
    """
    for (template_set, group), rows in probes[~probes["control"]].groupby(
        ["set", "group"], sort=True
    ):
        if unread.issuperset(rows["id"]):
            words = ", ".join(sorted(set(rows["target"]))[:5])
            what = (
                f"all targets of {group} in set {template_set} are unknown to its tokenizer "
                f"({words})"
            )
            raise UserError(what, where=subject.name, remedy="take other words, or another model")


def _require_some(
    cube: ScoreCube, key: Mapping[str, Any], probes: pd.DataFrame, attributes_by_slug: pd.DataFrame
) -> None:
    """Require at least one scored attribute, and report what was left out because a sentence was
    rejected.
    """
    here = probes[(probes["set"] == key["set"]) & ~probes["control"]]
    where = f"{key['benchmark']}, set {key['set']}"
    if not cube.attributes:
        remedy = "see rejected.parquet and fix the templates"
        raise UserError("every attribute has a rejected sentence", where=where, remedy=remedy)
    left_templates = set(here["template"]) - set(cube.templates)
    left_attributes = set(attributes_by_slug.index) - set(cube.attributes)
    left_out = [*sorted(left_templates), *sorted(left_attributes)]
    if left_out:
        print_note(f"{where}: left out for rejected sentences: {', '.join(left_out)}")


def across(records: Sequence[Record[ProbePlan]], resampling: Resampling) -> Found:
    """Figures of no single model, and evolved sets against their originals; by `TABLES`, without
    empty tables.
    """
    firsts = {record.instrument: record for record in reversed(records)}
    frames_by_table: dict[str, list[pd.DataFrame]] = {}
    for name in sorted(firsts):
        for table, rows in _of_instrument(firsts[name], firsts, records, resampling):
            if len(rows):
                frames_by_table.setdefault(table, []).append(rows)
    return {table: pd.concat(rows, ignore_index=True) for table, rows in frames_by_table.items()}


def _of_instrument(
    record: Record[ProbePlan],
    firsts: Mapping[str, Record[ProbePlan]],
    records: Sequence[Record[ProbePlan]],
    resampling: Resampling,
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables that an instrument has once, whichever models were asked."""
    diversity = record.diagnosis["diversity"]
    of_sets = quality.of_sets(diversity[diversity["set"].notna()])
    yield "figures", of_sets.reindex(columns=schemas.FIGURES.names)
    if "evolved" not in record.plan:
        return
    from evenruler.instruments.probes.diagnose import evolution  # needed rarely

    yield "generations", evolution.by_generation(record, resampling)
    outcomes = evolution.count_rewording_outcomes(record.tables["tries"], record.instrument)
    yield "rewordings", outcomes
    other = firsts.get(record.plan["evolved"]["of"])
    if other:
        yield "comparisons", evolution.compare_with_baselines(record, other, records, resampling)
    yield "comparisons", evolution.compare_runs(record, resampling)


def evidence(tables: Tables) -> dict[str, list[Row]]:
    """Figures for cards, a row each: of sets, of every template in its set, of evolved sets beside
    others, and of generations.
    """
    if tables["figures"].empty:  # no model was asked
        return {}
    makers = {
        "items": _item_figures,
        "diversity": _diversity_figures,
        "comparisons": _comparison_figures,
        "generations": _generation_figures,
    }
    frames = [tables["figures"]]
    for name, make_figures in makers.items():
        if len(tables[name]):  # an empty table may have no columns
            frames.append(make_figures(tables[name]))
    return rows_by_benchmark(concat_frames(frames).reindex(columns=schemas.FIGURES.names))


def _item_figures(items: pd.DataFrame) -> pd.DataFrame:
    """Statistics of templates."""
    unscored = items["control"].map({True: "yes", False: None})
    named = items.rename(columns={"mean": "item_mean", "sd": "item_sd"}).assign(unscored=unscored)
    key = ["benchmark", "set", "template", "model", "unscored", "n", "low", "high"]
    rows = named.melt(key, list(ITEM_FIGURES), "figure", "value")
    rows.loc[rows["figure"] != "item_rest_correlation", ["low", "high"]] = None
    return _with_reason(rows, UNDEFINED).assign(unit=quality.UNIT)


def _diversity_figures(diversity: pd.DataFrame) -> pd.DataFrame:
    """Diversities of templates in their sets, which are the same whatever model is asked."""
    key = ["benchmark", "set", "template"]
    templates = diversity.dropna(subset=["set"]).drop_duplicates(key)
    n_templates = templates.groupby(["benchmark", "set"])["template"].transform("size")
    named = templates.assign(model=None, n=n_templates, unit="templates")
    columns = [schemas.SEMANTIC, schemas.LEXICAL]
    rows = named.melt([*key, "model", "n", "unit"], columns, "figure", "value")
    return _with_reason(rows, quality.ALONE)


def _with_reason(rows: pd.DataFrame, reason: str) -> pd.DataFrame:
    """Figures with the reason why values are null."""
    is_null = rows["value"].isna()
    return rows.assign(reason=is_null.map({True: reason, False: None}))


def _comparison_figures(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Differences of sets."""
    names = {"against": "compared_with", "difference": "value"}
    differences = comparisons.drop(columns="value").rename(columns=names)
    return differences.assign(held_out=comparisons["half"].map({schemas.HELD_OUT: "yes"}))


def _generation_figures(generations: pd.DataFrame) -> pd.DataFrame:
    """Figures of populations."""
    number = generations["generation"].astype(str)
    return generations.assign(set=schemas.POPULATION, generation=number)


def plots(tables: Tables) -> Found:
    """Tables that `dvc plots` draws."""
    associations = tables["associations"]
    return {
        "validity": associations
        if associations.empty
        else associations.dropna(subset=["criterion"]),
        "correlations": tables["correlations"],
        "distributions": tables["biases"],
    }

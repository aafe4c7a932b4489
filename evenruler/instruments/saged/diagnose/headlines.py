"""The headline of a domain on a model: whether it favours or disfavours any of the concepts.

Labels of concepts are randomised within root items. Names of a reference set, known names of the
same kind that nobody chose one by one, say how far names lie apart anyway. Where a user declares
one concept, it is ranked among these names.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import pandas as pd
from scipy import stats

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import ALL_ROLES, FAVOUR, LEFT_OUT, NONRESPONSE, PERSONA
from evenruler.instruments.saged.declare.plan import SagedPlan
from evenruler.instruments.saged.declare.settings import FEWEST_ROOTS, Feature
from evenruler.instruments.saged.diagnose.deviation_tests import (
    RANDOMISATIONS,
    MaxDeviationTest,
    detectable_deviation,
    estimate_spread,
    max_deviation_test,
    step_down_max_t,
)
from evenruler.instruments.saged.diagnose.group_statistics import ROOTS, ScoreArrays
from evenruler.instruments.saged.diagnose.statistics import ROUNDING
from evenruler.measurement.figures import Figure, Row, as_rows, finite_or_none
from evenruler.measurement.inputs import ALPHA, Floats
from evenruler.measurement.nonresponse import MOST_UNANSWERED, all_equal_reason
from evenruler.measurement.randomisation import FEWEST_ALTERNATIVES, RankTest, rank_test
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PositiveControl,
    ReferenceComparison,
    ValidityCheck,
    judge,
    mark_invalid,
)
from evenruler.tables import concat_frames

MOST_NAMED = 3  # most concepts named in a sentence

LEAST_MEASURED = 0.5
"""Share of replies that a feature must measure; below it, the feature is unfit for the model."""

KNOWN_NAMES = "known names"
"""What the reference set is called in figures."""

NOT_CROSSED = "texts are about a concept that is compared, so that its label is not exchangeable"


@dataclass(frozen=True)
class ConceptScores:
    """Scores of concepts by one feature, and what a verdict on them needs."""

    scores: pd.DataFrame
    """Root items x concepts and known names: mean deviation from the mean of the root item; NaN
    where there is none."""
    concepts: list[str]
    reference: list[str]
    """Known names, of which none is a concept."""
    bound: float
    declared: str | None = None
    """The one concept that a user declared, which is ranked among the known names."""
    is_crossed: bool = True
    """Whether no text was written about one of the concepts."""
    persona: "pd.Series[float] | None" = None
    """Scores of the concept that a persona dislikes, by root item; named after the concept. None
    where it was not asked."""
    better: str = "higher"
    left_out: list[str] = field(default_factory=list)
    """Concepts without scores here, because too few of their replies are answers."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What concepts are called in sentences."""

    def name_of(self, concept: str) -> str:
        """What a concept is called in sentences: by default as in tables."""
        return self.names.get(concept, concept)

    @property
    def n(self) -> "pd.Series[int]":
        """Root items with a score, by concept."""
        counts: pd.Series[int] = self.scores[self.concepts].notna().sum()
        return counts

    @property
    def n_roots(self) -> int:
        """Root items of which two concepts have a score, at least."""
        n_scored = self.scores[self.concepts].notna().sum(axis=1)
        return int((n_scored >= 2).sum())

    @property
    def scored_reference(self) -> list[str]:
        """The known names that have scores."""
        return [name for name in self.reference if self.scores[name].notna().any()]

    @property
    def has_rank(self) -> bool:
        """Whether there are enough known names for the p of a rank."""
        return len(self.scored_reference) >= FEWEST_ALTERNATIVES


@dataclass(frozen=True)
class LargestDeviation(HeadlineTest):
    """The headline of the furthest of several concepts, which is below the bound only where all
    are.
    """

    reach: float = 0.0
    """How far from 0 the simultaneous interval of any concept reaches."""

    @property
    def is_below(self) -> bool:
        """Whether all intervals lie within the bound, and the positive control reaches it."""
        return super().is_below and self.reach < self.bound


@dataclass(frozen=True)
class ConceptFindings:
    """What the tests say of concepts."""

    deviations: MaxDeviationTest | None
    """None where fewer than two concepts have scores of two root items."""
    named: dict[str, Interval] = field(default_factory=dict)
    """Concepts that differ, the furthest first."""


def judge_favour(
    layout: ScoreArrays,
    framed: ScoreArrays | None,
    silent: pd.DataFrame,
    plan: SagedPlan,
    seed: int,
    unmeasured: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Whether a model favours or disfavours any concept, and which; by the first feature with a
    favourable end.

    The figure is the signed deviation of the concept furthest from the mean of all, with its
    simultaneous interval. Further features, and how often replies are no answers, are described.

    Args:
        layout: Of one model, with the known names. Where the domain is not branched, concepts have
            different texts, and there is no headline.
        framed: The replies of the persona, by `repeated_prompts`; None where it was not asked.
        silent: By `silence_of`.
        plan: What was declared.
        seed: Of the randomisations.
        unmeasured: Why the replies measure nothing (`measurement.nonresponse`).

    Returns:
        Figures by `schemas.FIGURES`; every concept by `schemas.FAVOUR`; and the scores behind the
        headline by `schemas.HEADLINES`.

    Source: docs/saged.md, with simulated errors in docs/tested.md.
    """
    members = layout.only(plan["concepts"])
    figures: list[Row] = []
    favour: list[Row] = []
    cells = [pd.DataFrame(columns=schemas.HEADLINES.names)]
    model = str(layout.series["model"].iloc[0])
    if members.branched:
        figures += _nonresponse_rows(
            silent[_present_names(silent.columns, plan["concepts"])], layout
        )
        favour += _nonresponse_concept_rows(
            silent[_present_names(silent.columns, plan["concepts"])]
        )
        measured = set(layout.series["feature"])
        for feature_name in plan["headline_features"]:
            if feature_name not in measured:
                continue
            feature = Feature.model_validate(plan["features"][feature_name])
            scored = score_concepts(layout, framed, silent, plan, feature_name, feature)
            is_headline = feature_name == plan["headline_features"][0]
            findings = find_outliers(scored, seed)
            favour += _concept_rows(scored, findings, feature_name, is_headline)
            if not is_headline:
                continue
            fault = unmeasured or _unfit_reason(members, feature_name)
            test = headline_test(scored, findings, seed)
            validity = ValidityCheck(fault)
            judged = [judge(test, validity), mark_invalid(_spread_figure(scored), validity)]
            figures += as_rows(judged, layout.domain, model, feature=feature_name)
            made_of = headline_cells(scored)
            made_of = made_of.assign(figure=FAVOUR, model=model, feature=feature_name)
            cells.append(made_of.reindex(columns=schemas.HEADLINES.names))
    favour_table = pd.DataFrame(favour, columns=schemas.FAVOUR.names)
    favour_table = favour_table.assign(domain=layout.domain, model=model)
    return pd.DataFrame(figures, columns=schemas.FIGURES.names), favour_table, concat_frames(cells)


def score_concepts(
    layout: ScoreArrays,
    framed: ScoreArrays | None,
    silent: pd.DataFrame,
    plan: SagedPlan,
    feature_name: str,
    feature: Feature,
) -> ConceptScores:
    """The scores of concepts and known names by one feature; arguments as for `judge_favour`.

    Names of which under half of the replies are answers have none.
    """
    is_left_out = silent.mean() > MOST_UNANSWERED
    left_out = set(silent.columns[is_left_out])
    compared = [*plan["concepts"], *plan["reference"]]
    answered = layout.only(compared).without(left_out)
    deviations = _deviations_in_roots(answered, answered, feature_name)
    scores = deviations.groupby(level=["root_id", "concept"]).mean().unstack("concept")
    scores = scores.reindex(sorted(layout.replies["root_id"].unique()))
    # As a concept of which a few replies are in another language.
    is_scored = scores.notna().mean() >= 1 - MOST_UNANSWERED
    left_out |= set(scores.columns[~is_scored])
    scores = scores.loc[:, is_scored]
    persona = None
    control = plan["control"]
    if framed is not None and control is not None and control["concept"] in scores:
        persona = _deviations_in_roots(framed, answered, feature_name)
        persona = persona.groupby(level="root_id").mean().rename(control["concept"])
    concepts = _present_names(scores.columns, plan["concepts"])
    reference = _present_names(scores.columns, plan["reference"])
    bound = plan["disparities"]["bound"] * feature.range
    without_scores = sorted(left_out & set(plan["concepts"]))
    return ConceptScores(
        scores,
        concepts=concepts,
        reference=reference,
        bound=bound,
        declared=plan["concept"],
        is_crossed=plan["crossed"],
        persona=persona,
        better=feature.favour,
        left_out=without_scores,
        names=plan.get("names", {}),
    )


def _present_names(columns: Collection[str], names: Collection[str]) -> list[str]:
    """The columns that are among these names, in alphabetical order."""
    return sorted(set(columns) & set(names))


def _deviations_in_roots(
    layout: ScoreArrays, baseline: ScoreArrays, feature_name: str
) -> "pd.Series[float]":
    """The mean deviation of each root item's replies about each concept, by configuration.

    It is from the mean of the root item in `baseline`, in the same configuration, so that a reply
    missing in one role does not change how that role differs from others; deviations by rounding
    alone are 0. By the levels `root_id, concept` and configuration.
    """
    values = _values_by_reply(layout, feature_name)
    by_root = _values_by_reply(baseline, feature_name).groupby(level=["root_id", "line"]).mean()
    root_and_line = pd.MultiIndex.from_arrays(
        [values.index.get_level_values(name) for name in ("root_id", "line")]
    )
    off = values - by_root.reindex(root_and_line).to_numpy()
    is_rounding = off.abs() <= ROUNDING * values.abs().max()
    off = off.mask(is_rounding, 0.0)
    return off.groupby(level=["root_id", "concept", "line"]).mean()


def _values_by_reply(layout: ScoreArrays, feature_name: str) -> "pd.Series[float]":
    """The value of every reply, by the levels `root_id, concept, line` (role and template)."""
    is_of_feature = layout.series["feature"].to_numpy() == feature_name
    series = layout.series[is_of_feature]
    configurations = (series["role"] + "+" + series["template"]).tolist()
    columns = [layout.replies["root_id"], layout.replies["concept"]]
    index = pd.MultiIndex.from_arrays(columns, names=["root_id", "concept"])
    by_line = {
        line: pd.Series(values, index=index)
        for line, values in zip(configurations, layout.values[is_of_feature], strict=True)
    }
    values: pd.Series[float] = pd.concat(by_line, names=["line"]).dropna()
    return values.reorder_levels([1, 2, 0])


def find_outliers(scored: ConceptScores, seed: int) -> ConceptFindings:
    """Test which concepts differ, by labels randomised within root items, and name them."""
    if (scored.n > 1).sum() < 2:
        return ConceptFindings(None)
    scores = scored.scores[scored.concepts].to_numpy()
    deviations = max_deviation_test(scores, seed)
    if scored.n_roots < FEWEST_ROOTS or deviations.p > ALPHA or not scored.is_crossed:
        return ConceptFindings(deviations)
    named = step_down_max_t(scores, seed)
    return ConceptFindings(
        deviations, {scored.concepts[place]: interval for place, interval in named.items()}
    )


def headline_test(scored: ConceptScores, findings: ConceptFindings, seed: int) -> HeadlineTest:
    """The headline with what its verdict needs, or with what it lacks for one."""
    if scored.declared is not None:
        return _declared_test(scored)
    deviations = findings.deviations
    n = scored.n_roots
    facets = {ROOTS: n, "concepts": len(scored.concepts)}
    if deviations is None or n < FEWEST_ROOTS:
        lacking = f"{_count_with_plural_s(n, 'root item')} answered; {FEWEST_ROOTS} needed"
        if len(scored.concepts) < 2:
            lacking = (
                f"{_count_with_plural_s(len(scored.concepts), 'concept')} with at least half of "
                "the replies usable; 2 needed"
            )
        return HeadlineTest(FAVOUR, ROOTS, facets, None, scored.bound, no_verdict=lacking)
    place = deviations.ranked[0]
    concept = scored.concepts[place]
    error = float(np.sqrt(np.nanmean(deviations.errors**2)))
    null = (
        f"labels of {len(scored.concepts)} concepts randomised within {n} root items, "
        f"{RANDOMISATIONS:,} randomisations, seed {seed}"
    )
    no_verdict = None if scored.is_crossed else NOT_CROSSED
    control = _persona_control(scored, seed)
    compared = _name_without_percentile(scored)
    detects = detectable_deviation(error, len(scored.concepts), n)
    note = _outlier_text(scored, findings, concept)
    return LargestDeviation(
        FAVOUR,
        ROOTS,
        facets,
        deviations.interval_of(place),
        scored.bound,
        p=deviations.p,
        null=null,
        no_verdict=no_verdict,
        control=control,
        compared=compared,
        detects=detects,
        note=note,
        fixed=frozenset({"concepts"}),
        reach=deviations.reach,
    )


def _declared_test(scored: ConceptScores) -> HeadlineTest:
    """The headline of a declared concept: its rank among the known names."""
    concept = scored.declared
    assert concept is not None
    reference = scored.scored_reference
    facets = {ROOTS: 0, KNOWN_NAMES: len(reference)}
    if concept not in scored.scores:
        lacking = f"under half of the replies about {scored.name_of(concept)} are usable"
        return HeadlineTest(FAVOUR, ROOTS, facets, None, scored.bound, no_verdict=lacking)
    if not reference:
        lacking = f"no known names were asked ({FEWEST_ALTERNATIVES} needed)"
        return HeadlineTest(FAVOUR, ROOTS, facets, None, scored.bound, no_verdict=lacking)
    effect, n = _difference_from_known(scored.scores, concept, reference)
    if n < FEWEST_ROOTS:
        lacking = f"{_count_with_plural_s(n, 'root item')} answered; {FEWEST_ROOTS} needed"
        return HeadlineTest(FAVOUR, ROOTS, facets, None, scored.bound, no_verdict=lacking)
    rank = _rank_among_known(scored.scores, concept, reference)
    no_verdict = rank.lacking
    if not scored.is_crossed:
        no_verdict = NOT_CROSSED
    null = None
    if rank.p is not None:
        null = f"{rank.null}: {scored.name_of(concept)} among {KNOWN_NAMES}"
    control = _persona_rank(scored)
    compared = _compare_with_known(scored, concept)
    detects = _detectable_among_known(scored)
    direction = _favour_words(scored, effect.value)
    note = f"{scored.name_of(concept)} is {direction} than {KNOWN_NAMES}."
    return HeadlineTest(
        FAVOUR,
        ROOTS,
        facets | {ROOTS: n},
        effect,
        scored.bound,
        p=rank.p,
        null=null,
        no_verdict=no_verdict,
        control=control,
        compared=compared,
        detects=detects,
        note=note,
    )


def _difference_from_known(
    scores: pd.DataFrame, concept: str, reference: Sequence[str]
) -> tuple[Interval, int]:
    """A concept less the mean of the known names, with the 95% interval of t over root items, and
    their number.
    """
    differences = (scores[concept] - scores[list(reference)].mean(axis=1)).dropna()
    n = len(differences)
    if n < 2:
        return Interval(np.nan, np.nan, np.nan), n
    value = float(differences.mean())
    error = float(np.std(differences.to_numpy(), ddof=1)) / np.sqrt(n)
    half_width = float(stats.t.isf(ALPHA / 2, n - 1)) * error
    return Interval(value, value - half_width, value + half_width), n


def _rank_among_known(scores: pd.DataFrame, concept: str, reference: Sequence[str]) -> RankTest:
    """The rank of a concept's mean among those of known names; `scores`: [root items, names].

    All means are over the root items in which the concept has scores: over fewer than the others, a
    concept would vary more than they do, and be the furthest too often.
    """
    answered = scores[scores[concept].notna()]
    known_means = answered[list(reference)].mean().dropna()
    return rank_test(answered[concept].mean(), known_means)


def _detectable_among_known(scored: ConceptScores) -> float | None:
    """The deviation of a declared concept that its rank detects in 8 of 10 studies, where known
    names are normal; None where no rank has a p of `ALPHA`.
    """
    names = scored.scored_reference
    n_ranks = len(names) + 1
    level = math.floor(ALPHA * n_ranks + ROUNDING) / n_ranks
    if not scored.has_rank or level == 0:
        return None
    spread = float(np.std(scored.scores[names].mean().to_numpy(), ddof=1))
    error = spread * np.sqrt(1 + 1 / len(names))
    return detectable_deviation(error, 1, len(names), level)


def _compare_with_known(scored: ConceptScores, concept: str) -> ReferenceComparison | None:
    """A declared concept among the known names; None with fewer than two."""
    rank = _rank_of_concept(scored, concept)
    if rank is None:
        return None
    return ReferenceComparison(KNOWN_NAMES, rank.alternatives, rank.as_percentile)


def _name_without_percentile(scored: ConceptScores) -> ReferenceComparison | None:
    """The known names beside the furthest of several concepts: it has no percentile, since the
    furthest of many lies beyond most single names by chance alone. Its p allows for that.
    """
    n_names = len(scored.scored_reference)
    if n_names < 2:
        return None
    return ReferenceComparison(KNOWN_NAMES, n_names, Interval(np.nan, np.nan, np.nan))


def percentile_among_known(scored: ConceptScores, concept: str) -> float | None:
    """The share of known names that lie less far out than a concept, in percent; each from the mean
    of all others. None with fewer than two known names.
    """
    rank = _rank_of_concept(scored, concept)
    return None if rank is None else rank.as_percentile.value


def _rank_of_concept(scored: ConceptScores, concept: str) -> RankTest | None:
    """A concept's rank among the known names; None with fewer than two."""
    reference = scored.scored_reference
    if len(reference) < 2 or scored.scores[concept].isna().all():
        return None
    return _rank_among_known(scored.scores, concept, reference)


def _spread_figure(scored: ConceptScores) -> Figure:
    """SD over concepts, without noise; beside it that of known names."""
    spread = finite_or_none(estimate_spread(scored.scores[scored.concepts].to_numpy()))
    spread_known = None
    if len(scored.scored_reference) >= 2:
        names = scored.scored_reference
        spread_known = finite_or_none(estimate_spread(scored.scores[names].to_numpy()))
    reason = None if spread is not None else "fewer than two root items or concepts"
    return Figure(
        "spread", spread, len(scored.concepts), "concepts", reason=reason, control=spread_known
    )


def _describe_persona(scored: ConceptScores, concept: str) -> str:
    """The name of the positive control in reports: the persona that dislikes a concept."""
    return f"a persona that dislikes {scored.name_of(concept)}"


def _with_persona(scored: ConceptScores) -> tuple[str, pd.DataFrame] | None:
    """The concept that the persona dislikes, and the scores with those of the persona in its place,
    over the root items that it was asked; None where it was not asked.
    """
    if scored.persona is None:
        return None
    concept = str(scored.persona.name)
    scores = scored.scores.assign(**{concept: scored.persona})
    scores = scores[scores[concept].notna()]
    if len(scores) < FEWEST_ROOTS:
        return None
    return concept, scores


def _persona_control(scored: ConceptScores, seed: int) -> PositiveControl | None:
    """The headline's test, with the persona's replies in place of those about its concept; None
    where these are too few.
    """
    replaced = _with_persona(scored)
    if replaced is None or replaced[0] not in scored.concepts:
        return None
    concept, scores = replaced
    test = max_deviation_test(scores[scored.concepts].to_numpy(), seed)
    place = scored.concepts.index(concept)
    effect = _as_dislike(scored, test.interval_of(place))
    return PositiveControl(
        _describe_persona(scored, concept), effect, float(test.p_of_concepts[place])
    )


def _persona_rank(scored: ConceptScores) -> PositiveControl | None:
    """The rank of the persona's concept among the known names; None where it has none."""
    replaced = _with_persona(scored)
    if replaced is None or not scored.has_rank:
        return None
    concept, scores = replaced
    names = [name for name in scored.scored_reference if name != concept]
    effect, _ = _difference_from_known(scores, concept, names)
    rank = _rank_among_known(scores, concept, names)
    if rank.p is None:
        return None
    return PositiveControl(_describe_persona(scored, concept), _as_dislike(scored, effect), rank.p)


def _as_dislike(scored: ConceptScores, deviation: Interval) -> Interval:
    """A deviation, signed so that disfavour is positive."""
    if scored.better == "lower":
        return deviation
    return Interval(-deviation.value, -deviation.high, -deviation.low)


def headline_cells(scored: ConceptScores) -> pd.DataFrame:
    """The scores behind a headline, one per row, by `schemas.HEADLINES` without the columns that
    identify the figure.

    Known names have pole 0. Scores of the persona are at `PERSONA`.
    """
    concepts = scored.concepts
    if scored.declared is not None:
        concepts = [concept for concept in concepts if concept == scored.declared]
    tables: list[pd.DataFrame] = []
    for pole, words in ((1, concepts), (0, scored.reference)):
        by_unit = scored.scores[words].rename_axis("unit").reset_index()
        rows = by_unit.melt("unit", var_name="word", value_name="value")
        tables.append(rows.assign(at=ALL_ROLES, pole=pole))
    if scored.persona is not None:
        rows = scored.persona.rename_axis("unit").reset_index(name="value")
        tables.append(rows.assign(word=str(scored.persona.name), at=PERSONA, pole=1))
    return pd.concat(tables, ignore_index=True).dropna(subset="value")


def contrast(first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
    """Whether two models treat concepts alike: the headline of their difference, paired by root
    item.

    Labels of concepts are randomised within root items, of the difference; a declared concept is
    ranked among the known names. The control is one model's persona less the other's plain replies.
    """
    plain = _scores_of_cells(first, ALL_ROLES), _scores_of_cells(second, ALL_ROLES)
    difference = (plain[0] - plain[1]).dropna(how="all").dropna(axis=1, how="all")
    of_concepts = set(first.loc[first["pole"] == 1, "word"])
    words = [str(word) for word in difference.columns]
    concepts = [word for word in words if word in of_concepts]
    scored = ConceptScores(
        difference,
        concepts=concepts,
        reference=[word for word in words if word not in of_concepts],
        bound=bound,
        declared=concepts[0] if len(concepts) == 1 else None,
    )
    findings = ConceptFindings(None)
    if scored.declared is None:
        findings = find_outliers(scored, seed=0)
    test = headline_test(scored, findings, seed=0)
    persona = _scores_of_cells(first, PERSONA)
    concept = str(persona.columns[0]) if persona.size else None
    if test.effect is not None and concept in words:
        moved = persona[concept] - plain[0][concept]
        apart = persona[concept] - plain[1][concept]
        with_persona = replace(
            scored,
            persona=apart.dropna().rename(concept),
            better="higher" if moved.mean() < 0 else "lower",
        )
        control = headline_test(with_persona, findings, seed=0).control
        test = replace(test, control=control)
    labels: list[str] = []
    for name, interval in findings.named.items():
        labels.append(f"{name} {interval.value:+.2g}")
    message = ", ".join(labels[:MOST_NAMED]) or "no concept stands out"
    return replace(
        test,
        note=f"Difference of the models: {message}.",
        has_direction=scored.declared is not None,  # how far concepts lie apart has none
    )


def _scores_of_cells(cells: pd.DataFrame, place: str) -> pd.DataFrame:
    """Root items x concepts and known names, from the rows behind a headline; `place`: `ALL_ROLES`
    or `PERSONA`.
    """
    return cells[cells["at"] == place].pivot(index="unit", columns="word", values="value")


def silence_of(replies: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    """Root items x concepts: the share of replies that were refused, empty, in another language or
    not given.
    """
    concept_by_prompt = prompts.set_index("id")[["concept", "root_id"]].astype(str)
    rows = replies[["id"]].astype(str).join(concept_by_prompt, on="id")
    is_no_answer = replies[["refusal", "empty", "other_language"]].to_numpy(dtype=bool).any(axis=1)
    is_silent = is_no_answer | replies["generation"].isna().to_numpy()
    rows = rows.assign(silent=is_silent.astype(float))
    return rows.pivot_table(
        index="root_id", columns="concept", values="silent", aggfunc="mean", observed=True
    )


def _nonresponse_rows(silent: pd.DataFrame, layout: ScoreArrays) -> Iterator[Row]:
    """How far the concept that is furthest in its share of replies without an answer lies from the
    share of all.
    """
    deviations = (silent.mean() - float(np.nanmean(silent.to_numpy()))).to_numpy()
    furthest = float(deviations[np.nanargmax(np.abs(deviations))])
    figure = Figure(NONRESPONSE, furthest, len(silent), ROOTS)
    model = layout.series["model"].iloc[0]
    return as_rows([figure], layout.domain, str(model))


def _nonresponse_concept_rows(silent: pd.DataFrame) -> Iterator[Row]:
    """A row for each concept: its share of replies without an answer less that of all; `silent`:
    [root items, concepts] shares.
    """
    deviations = silent.mean() - float(np.nanmean(silent.to_numpy()))
    n_roots = silent.notna().sum()
    for concept in silent.columns:
        yield {
            "feature": NONRESPONSE,
            "better": "lower",
            "concept": concept,
            "difference": float(deviations[concept]),
            "n": int(n_roots[concept]),
        }


def _unfit_reason(members: ScoreArrays, feature_name: str) -> str | None:
    """Why a feature measures nothing in the replies; None where it measures."""
    lines = np.flatnonzero(members.series["feature"] == feature_name)
    values = members.values[lines]
    computed: Floats = values[~np.isnan(values)]
    n_measured = max(int(members.measured[lines].sum()), 1)
    reason = all_equal_reason(computed, f"replies ({feature_name})")
    if reason is None and len(computed) < LEAST_MEASURED * n_measured:
        share = f"{len(computed) / n_measured:.0%}"
        reason = (
            f"{feature_name} could be computed for {share} of the replies (at least "
            f"{LEAST_MEASURED:.0%} needed)"
        )
    return reason


def _count_with_plural_s(n: int, what: str) -> str:
    """A number with its noun, plural by -s: "1 concept", "3 concepts"."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def _outlier_text(scored: ConceptScores, findings: ConceptFindings, concept: str) -> str:
    """In words, the concepts that differ, the furthest first, and those left out."""
    phrases: list[str] = []
    for name, interval in islice(findings.named.items(), MOST_NAMED):
        limits = f"[{interval.low:.2g}, {interval.high:.2g}]"
        direction = _favour_words(scored, interval.value)
        amount = f"{interval.value:.2g} {limits}"
        shown = scored.name_of(name)
        phrases.append(f"{shown} is {direction} than average ({amount})")
    if len(findings.named) > MOST_NAMED:
        phrases.append(f"and {len(findings.named) - MOST_NAMED} more")
    if not findings.named:
        phrases.append(f"No concept is named; the furthest is {scored.name_of(concept)}")
    if scored.left_out:
        left_out = ", ".join(map(scored.name_of, scored.left_out))
        phrases.append(f"{left_out} left out: under half of the replies are usable")
    return f"{'; '.join(phrases)}."


def _favour_words(scored: ConceptScores, value: float) -> str:
    """Whether a deviation is "favoured more" or "favoured less", by its sign and the good end."""
    is_more = (value > 0) == (scored.better == "higher")
    return "favoured more" if is_more else "favoured less"


def _concept_rows(
    scored: ConceptScores, findings: ConceptFindings, feature_name: str, is_headline: bool
) -> Iterator[Row]:
    """One row per concept, by `schemas.FAVOUR`; only the headline names concepts."""
    of_feature = {"feature": feature_name, "better": scored.better}
    deviations = findings.deviations
    for place, concept in enumerate(scored.concepts):
        row: Row = {**of_feature, "concept": concept, "n": int(scored.n[concept])}
        row["percentile"] = percentile_among_known(scored, concept)
        if deviations is not None:
            interval = deviations.interval_of(place)
            row["difference"] = interval.value
            if is_headline and scored.declared is None and concept in findings.named:
                interval = findings.named[concept]
                row["named"] = _favour_words(scored, interval.value).removeprefix("favoured ")
            if scored.n_roots >= FEWEST_ROOTS:
                row |= {"low": interval.low, "high": interval.high}
        yield row
    for concept in scored.left_out:
        yield {**of_feature, "concept": concept, "n": 0, "named": LEFT_OUT}

"""Headline figures with verdicts: a model's answers beyond twins, over all fits, and how far
corpora move them.

The latter compares adaptation to a corpus with adaptation to its control (EMPALC, section 3.3.5).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.ask.item_scores import MODEL
from evenruler.instruments.questionnaires.ask.questions import STAGE
from evenruler.instruments.questionnaires.declare import BEYOND, CHANGED, MOVED
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.source import FEWEST_TWINS
from evenruler.instruments.questionnaires.diagnose.population import (
    check_accuracy_validity,
    interval_of,
    method_dimension,
    validity_by_method,
)
from evenruler.instruments.questionnaires.diagnose.quality import recipe_of
from evenruler.measurement import Figure
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.facets import (
    Estimate,
    Facet,
    PairedPlacebos,
    jackknife_crossed,
    sum_estimates,
)
from evenruler.measurement.figures import UNTOLD, Row, as_rows, finite_or_none
from evenruler.measurement.inputs import Floats, constant_columns
from evenruler.measurement.resampling import FEWEST_UNITS, PLAIN, Interval, sign_flips
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, assertion_p_values, judge
from evenruler.models.declarations import BY_FACTS, OPTIONS
from evenruler.models.questions import LABELS

FITS = "fits"

FEWEST_FITS = FEWEST_UNITS
"""Fewest fits for a verdict."""


@dataclass(frozen=True)
class CorpusPair:
    """An intervention corpus and its matched control."""

    corpus: str
    control: str | None
    expected: str


def pairs_of(plan: QuestionnairePlan) -> list[CorpusPair]:
    """The interventions of a plan with their controls."""
    controls = {
        corpus_plan["control_of"]: name
        for name, corpus_plan in plan["corpora"].items()
        if corpus_plan["control_of"]
    }
    pairs: list[CorpusPair] = []
    for name, corpus_plan in sorted(plan["corpora"].items()):
        if corpus_plan["control_of"] is None:
            pairs.append(CorpusPair(name, controls.get(name), corpus_plan["expected"]))
    return pairs


def answer_trajectories(items: pd.DataFrame, adapted: pd.DataFrame, words: int) -> pd.DataFrame:
    """The mean answer at every stage, in points, as `schemas.TRAJECTORIES`; epoch 0 is the
    unadapted model.
    """
    has_item = items["item"].isin(adapted["item"])
    has_method = items["method"].isin(adapted["method"])
    before = items[has_item & has_method]
    fits = adapted[STAGE[:2]].drop_duplicates().assign(epoch=0)
    whole = pd.concat([fits.merge(before, how="cross"), adapted], ignore_index=True)
    scores = whole.groupby([*MODEL, *STAGE], sort=True)["score"]
    means = scores.agg(["mean", "size"]).reset_index()
    means = means.assign(answer=means["mean"] * words, n=means["size"])
    return means.drop(columns=["mean", "size"])


def intervention_changes(trajectories: pd.DataFrame, plan: QuestionnairePlan) -> pd.DataFrame:
    """The change of each fit, as `schemas.CHANGES`, for interventions that have a control."""
    key = [*MODEL, "fit"]
    epochs = trajectories["epoch"]
    last = trajectories.groupby("corpus")["epoch"].transform("max")
    before = trajectories[epochs == 0].set_index(["corpus", *key])["answer"]
    after = trajectories[epochs == last].set_index(["corpus", *key])["answer"]
    rows = []
    for pair in pairs_of(plan):
        if pair.control is None or pair.corpus not in after:
            continue
        answers = {
            "before": before[pair.corpus],
            "after": after[pair.corpus],
            "after_control": after[pair.control],
        }
        pair_columns = {"corpus": pair.corpus, "control": pair.control, "expected": pair.expected}
        pair_rows = pd.DataFrame(answers).reset_index()
        difference = pair_rows["after"] - pair_rows["after_control"]
        rows.append(pair_rows.assign(**pair_columns, difference=difference))
    columns = [
        *key,
        "before",
        "after",
        "after_control",
        "corpus",
        "control",
        "expected",
        "difference",
    ]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns)


def corpus_change_figures(trajectories: pd.DataFrame, level: float) -> Iterator[Figure]:
    """Descriptive figures: how far each corpus moves one model on one questionnaire, in one
    method.
    """
    for corpus, group in trajectories.groupby("corpus", sort=True):
        answers = group.pivot(index="fit", columns="epoch", values="answer")
        changes = answers.iloc[:, -1] - answers[0]
        change = _mean_change(changes.to_numpy(), level)
        yield replace(change, dimensions={"corpus": str(corpus)})


def intervention_headlines(
    changes: pd.DataFrame, course: pd.DataFrame, plan: QuestionnairePlan, method: str, level: float
) -> Iterator[tuple[HeadlineTest, ValidityCheck]]:
    """How much more an intervention moves one model than its control does, in points.

    Corpora are fixed, fits are random. `changes` and `course` of the model, as `schemas`. Unfit
    where the adapted model's accuracy no longer exceeds the threshold.
    """
    for pair in pairs_of(plan):
        pair_changes = changes[changes["corpus"] == pair.corpus]
        before, after, after_control = (
            pair_changes[side].to_numpy(dtype=np.float64)
            for side in ("before", "after", "after_control")
        )
        forgot = None
        # With fewer fits the course is shown without a verdict.
        if method not in BY_FACTS and len(pair_changes) >= FEWEST_FITS:
            corpora = [pair.corpus, pair.control]
            forgot = _accuracy_lost(course, corpora, plan["accuracy"]["threshold"], level)
        figure = beside_control(after - before, after_control - before, plan["smallest"])
        corpus_figure = replace(figure, dimensions={"corpus": pair.corpus})
        yield corpus_figure, ValidityCheck(failure=forgot)


def beside_control(corpus_changes: Floats, control: Floats, smallest: float) -> HeadlineTest:
    """Compare changes of fits to a corpus, [fits] in points, with those of the same fits to its
    control.

    Null: t of the change with the corpus, since sign flips of five fits give no p below .0625.
    """
    n = len(corpus_changes)
    differences = corpus_changes - control
    levels = {FITS: n}
    if not n:
        uncontrolled = "no corpus that is its control"
        return HeadlineTest(MOVED, FITS, levels, None, smallest, lacking=uncontrolled)
    placebo = float(control.mean())
    lacking = None
    if n < FEWEST_FITS:
        counted = "1 fit" if n == 1 else f"{n} fits"
        lacking = f"{counted} (at least {FEWEST_FITS} needed)"
    elif constant_columns(differences[:, None]).any():
        lacking = "fits without variation"
    if lacking:
        p_null = _over_fits(corpus_changes).p() if n > 1 else 1.0
        bare = Interval(float(differences.mean()), nan, nan)
        return HeadlineTest(MOVED, FITS, levels, bare, smallest, p_null, placebo, lacking=lacking)
    effect = _over_fits(corpus_changes)
    comparison = PairedPlacebos(
        placebo, _over_fits(differences), _over_fits(corpus_changes / 2 - control)
    )
    specific = comparison.difference
    interval = specific.interval()
    return HeadlineTest(
        MOVED,
        FITS,
        levels,
        effect=interval,
        smallest=smallest,
        p_null=effect.p(),
        placebo=placebo,
        specific=interval,
        detectable=specific.detectable(),
        p=assertion_p_values(effect, effect.p(), comparison, smallest),
    )


def _over_fits(values: Floats) -> Estimate:
    n = len(values)
    variance = float(values.var(ddof=1)) / n
    return sum_estimates(float(values.mean()), [(variance, n - 1.0)])


def _mean_change(values: Floats, level: float) -> Figure:
    """A mean change with its t interval over fits."""
    reason = None
    if len(values) < FEWEST_FITS:
        reason = f"no interval: fewer than {FEWEST_FITS} {FITS}"
    elif constant_columns(values[:, None]).any():
        reason = "no interval: all fits are alike"
    if reason:
        return Figure(CHANGED, float(values.mean()), len(values), FITS, reason=reason)
    return jackknife_figure(CHANGED, np.mean, values, PLAIN, level, FITS)


def _accuracy_lost(
    course: pd.DataFrame, corpora: Collection[str | None], threshold: float, level: float
) -> str | None:
    """The reason why a model adapted to one of the corpora is below the threshold, in words; None
    where it is above.
    """
    is_accuracy = (course["measure"] == "accuracy") & (course["epoch"] > 0)
    accuracy = course[is_accuracy & course["corpus"].isin(corpora)]
    for corpus, group in accuracy.groupby("corpus", sort=True):
        last = group[group["epoch"] == group["epoch"].max()]
        n_pairs = int(last["n"].iloc[0])
        record = interval_of(float(last["value"].mean()), n_pairs, level)
        adapted_validity = check_accuracy_validity({**record, "chance": 1 / len(LABELS)}, threshold)
        if adapted_validity.failure is not None:
            return f"adapted to {corpus}, {adapted_validity.failure}"
    return None


UNIT = "items"
"""Items, with their twins, are a random facet; fits are another."""

Judged = tuple[Mapping[str, str | None], HeadlineTest | Figure, ValidityCheck]
"""The model and the dimensions of its label, figure, and validity."""


_RecordsByName = dict[str, Record[QuestionnairePlan]]


def judge_headlines(records: Sequence[Record[QuestionnairePlan]], level: float) -> list[Row]:
    """Every headline figure with its verdict, and figures of items, for every questionnaire and
    model.

    Models that differ only in the seed of their fit are judged together, under the first name.
    """
    groups: dict[tuple[str, tuple[str, ...]], _RecordsByName] = {}
    for record in records:
        name = record.subject.name
        recipe = recipe_of(record.subject) or (name,)
        groups.setdefault((record.instrument, recipe), {})[name] = record
    rows: list[Row] = []
    for (questionnaire, _), fits in groups.items():
        judged = list(_of_group(list(fits.values()), level))
        figures = judge([(figure, validity) for _, figure, validity in judged])
        for (label_columns, *_), figure in zip(judged, figures, strict=True):
            rows += as_rows([figure], questionnaire, **label_columns)
    return rows


def _of_group(fits: Sequence[Record[QuestionnairePlan]], level: float) -> Iterator[Judged]:
    """Headlines by method: answers beyond twins of all fits together, and moves by corpora of each
    fit.
    """
    by_name = {record.subject.name: record for record in fits}
    n_fits = str(len(by_name)) if len(by_name) > 1 else None
    threshold = fits[0].plan["accuracy"]["threshold"]
    checks = {
        name: validity_by_method(record.diagnosis, record.subject.methods, threshold)
        for name, record in by_name.items()
    }
    for method in fits[0].subject.methods:
        label_columns = {
            "model": min(by_name),
            "n_fits": n_fits,
            "method": method_dimension(method),
        }
        answered = [
            name
            for name, record in by_name.items()
            if (record.diagnosis["items"]["method"] == method).any()
        ]
        if answered:
            # Fits below the threshold are left out, unless all are.
            counted = [
                name for name in answered if checks[name][method].failure is None
            ] or answered
            figure, item_figures = _method_headline([by_name[name] for name in counted], method)
            fit = checks[counted[0]][method]
            unread = _unread_items_note(fits[0]) if figure.lacking and method == OPTIONS else ""
            yield label_columns, _explain_lacking(figure, unread, fit.doubt), fit
            for item_figure in item_figures:
                yield label_columns, item_figure, ValidityCheck()
        # Asked, but no item was fully answered.
        elif method == OPTIONS and len(fits[0].diagnosis["chosen"]):
            figure = _unanswered_headline(fits[0].plan["smallest"])
            yield label_columns, figure, checks[fits[0].subject.name][method]
    for name, record in by_name.items():
        yield from _moves_by_corpora(record, checks[name], level)


def _explain_lacking(figure: HeadlineTest, unread: str, doubt: str | None) -> HeadlineTest:
    """A headline; where it lacks something, with what could not be read, and with the doubt about
    its method, which its reason would hide otherwise.
    """
    if not figure.lacking:
        return figure
    note = figure.note
    if doubt:
        note = f"{UNTOLD}: {doubt}."
        if figure.note:
            note = f"{note} {figure.note}"
    return replace(figure, lacking=f"{figure.lacking}{unread}", note=note)


def _unanswered_headline(smallest: float) -> HeadlineTest:
    return HeadlineTest(
        BEYOND,
        UNIT,
        levels={UNIT: 0, "twins": 0, "fits": 1},
        effect=None,
        smallest=smallest,
        lacking="no completely answered item",
    )


def _moves_by_corpora(
    record: Record[QuestionnairePlan], checks: Mapping[str, ValidityCheck], level: float
) -> Iterator[Judged]:
    """How far corpora move one fit, by the methods of its adapted states; `checks`: its validity
    by method before.
    """
    changes, course = record.diagnosis["changes"], record.diagnosis["course_of_any"]
    adapted_methods = {*record.diagnosis["trajectories"]["method"]}
    for method in sorted(adapted_methods & {*checks}):
        before = checks[method]
        label_columns = {"model": record.subject.name, "method": method_dimension(method)}
        headlines = intervention_headlines(
            changes[changes["method"] == method], course, record.plan, method, level
        )
        for figure, after in headlines:
            fit = after if before.failure is None else before
            yield label_columns, figure, fit


def _unread_items_note(record: Record[QuestionnairePlan]) -> str:
    """How many items lack a term, their own or of a twin, by options; empty where none does."""
    prompt_keys = {*record.tables["prompts"][["item", "twin"]].itertuples(index=False, name=None)}
    scored_keys = {
        *_score_column(record.diagnosis["items"], OPTIONS, "score").index,
        *_score_column(record.diagnosis["twins"], OPTIONS, "score").index,
    }
    n_lost = len({item for item, _ in prompt_keys - scored_keys})
    n_items = len({item for item, _ in prompt_keys})
    if not n_lost:
        return ""
    return f"; {n_lost} of {n_items} items have a term without a readable reply"


def _method_headline(
    fits: Sequence[Record[QuestionnairePlan]], method: str
) -> tuple[HeadlineTest, Iterator[Figure]]:
    """The headline of fits by one method, and its item analysis."""
    plan = fits[0].plan
    intensifiers = fits[0].tables["prompts"]["intensifier"].nunique()
    item_scores = _scores_of_fits(fits, "items", method).droplevel("twin")
    twin_scores = _scores_of_fits(fits, "twins", method).groupby(level="item")
    twin_means = twin_scores.mean()
    both = item_scores.index.intersection(twin_means.index)
    answers = item_scores.loc[both].to_numpy(dtype=np.float64).T * intensifiers
    controls = twin_means.loc[both].to_numpy(dtype=np.float64).T * intensifiers
    n_twins = twin_scores.size().loc[both]
    fewest = int(n_twins.min()) if len(both) else 0
    figure = placebo_contrast(
        answers,
        controls,
        fewest,
        polarity_permutation_p(fits, method),
        plan["smallest"],
        plan["least"],
    )
    silhouettes = [
        _score_column(record.diagnosis["items"], method, "silhouette").droplevel("twin")
        for record in fits
    ]
    mean_silhouettes = pd.concat(silhouettes, axis=1).mean(axis=1)
    apart = mean_silhouettes.reindex(both).to_numpy(dtype=np.float64)
    items = both.tolist()
    note = influential_items_note(figure, items, answers, controls)
    return replace(figure, note=note), of_items(items, answers, controls, apart)


def _scores_of_fits(
    fits: Sequence[Record[QuestionnairePlan]], table: str, method: str
) -> pd.DataFrame:
    """Scores by item and twin, a column a fit; those that every fit has."""
    columns = [_score_column(record.diagnosis[table], method, "score") for record in fits]
    return pd.concat(columns, axis=1, join="inner")


def _score_column(table: pd.DataFrame, method: str, column: str) -> "pd.Series[float]":
    """One column of scores by item and twin, of one model and method."""
    return table[table["method"] == method].set_index(["item", "twin"])[column]


def of_items(
    items: Sequence[str], answers: Floats, controls: Floats, apart: Floats
) -> Iterator[Figure]:
    """Item analysis: answer (control: twins), SC, and the headline without the item, with its
    interval.

    `answers`, `controls`: [fits, items] in points; `apart`: [items] silhouettes.
    """
    fits, n = answers.shape
    for place, item in enumerate(items):
        item_answer = float(answers[:, place].mean())
        twin_answer = float(controls[:, place].mean())
        answer = Figure("item_response", item_answer, fits, FITS, dimensions={"item": item})
        yield replace(answer, control=twin_answer)
        silhouette = finite_or_none(float(apart[place]))
        reason = "its terms get the same answers" if silhouette is None else None
        yield replace(answer, figure="item_silhouette", value=silhouette, reason=reason)
        if n > FEWEST_UNITS:
            rest_answers = np.delete(answers, place, axis=1)
            rest_controls = np.delete(controls, place, axis=1)
            _, paired = beyond_twins(rest_answers, rest_controls)
            without = paired.difference.interval()
            figure = Figure("without_item", without.value, n - 1, UNIT, without.low, without.high)
            yield replace(figure, dimensions={"item": item})


THIRD = 1 / 3
"""Share of the headline above which an item is named."""

FAR = 1.0
"""An item's form is odd where its twins differ from other items' by more than this many points and
2 SD."""


def influential_items_note(
    figure: HeadlineTest, items: Sequence[str], answers: Floats, controls: Floats
) -> str | None:
    """Items that carry much of the headline, and items whose form is odd; None where there are
    none.
    """
    specific = figure.specific
    if specific is None:
        return None
    beyond_by_item = (answers - controls).mean(axis=0)
    sentences: list[str] = []
    if specific.low > 0 or specific.high < 0:  # skipped where the headline may be 0
        shares = beyond_by_item / len(items) / specific.value
        carry = [
            f"{item} {share:.0%}"
            for item, share in zip(items, shares, strict=True)
            if share > THIRD
        ]
        if carry:
            sentences.append(f"More than a third of it comes from {' and '.join(carry)}.")
    odd = _items_of_odd_form(items, controls.mean(axis=0))
    if odd:
        sentences.append(
            f"The sentence form of {', '.join(odd)} behaves differently even in impersonal twins."
        )
    return " ".join(sentences) or None


def _items_of_odd_form(items: Sequence[str], twins: Floats) -> list[str]:
    """The items whose twins differ from those of the others; `twins`: [items] means."""
    if len(twins) <= FEWEST_UNITS:
        return []
    odd: list[str] = []
    for place, twin_mean in enumerate(twins):
        rest = np.delete(twins, place)
        far = max(FAR, 2 * float(rest.std(ddof=1)))
        if abs(twin_mean - rest.mean()) > far:
            odd.append(items[place])
    return odd


def placebo_contrast(
    answers: Floats, controls: Floats, twins: int, p_null: float, smallest: float, least: int
) -> HeadlineTest:
    """The headline of answers beyond twins, keyed, in points of the scale.

    `answers`, and `controls`, the mean over the twins of each item: [fits, items]. `twins`: number
    per item; `smallest`: the smallest relevant effect in points; `least`: fewest items for a
    verdict.
    """
    fits, items = answers.shape
    levels = {UNIT: items, "twins": twins, "fits": fits}
    if not items:
        return HeadlineTest(BEYOND, UNIT, levels, None, smallest, lacking="no twins")
    few: list[str] = []
    if items < least:
        item_noun = "items" if items > 1 else "item"
        few.append(f"{items} {item_noun} (at least {least} needed)")
    if twins < FEWEST_TWINS:
        twin_noun = "twins" if twins > 1 else "twin"
        few.append(f"{twins} {twin_noun} per item (at least {FEWEST_TWINS} needed)")
    lacking = ", and ".join(few) or None
    if items < 2:  # no variance over items with one item
        difference = Interval(float((answers - controls).mean()), nan, nan)
        return HeadlineTest(BEYOND, UNIT, levels, difference, smallest, p_null, lacking=lacking)
    effect, paired = beyond_twins(answers, controls)
    specific = paired.difference
    # `placebo` stays empty, since twins are already subtracted from the effect.
    return HeadlineTest(
        BEYOND,
        UNIT,
        levels,
        effect=specific.interval(),
        smallest=smallest,
        p_null=p_null,
        specific=specific.interval(),
        detectable=specific.detectable(),
        p=assertion_p_values(effect, p_null, paired, smallest),
        lacking=lacking,
    )


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> HeadlineTest:
    """The difference between two models' answers beyond twins, over shared items, each with a
    single fit.

    `at` of `HEADLINES` numbers twins.
    """
    both = first.merge(
        second, on=["unit", "at", "pole"], suffixes=("_first", "_second"), validate="one_to_one"
    )
    both["value"] = both["value_first"] - both["value_second"]
    wide = both.pivot_table(index="unit", columns="pole", values="value", aggfunc="mean")
    wide = wide.reindex(columns=[1, 0]).dropna()
    answers, controls = wide.to_numpy(dtype=np.float64).T[:, None]
    is_twin = both["unit"].isin(wide.index) & (both["pole"] == 0)
    twins_by_item = both.loc[is_twin, "unit"].value_counts()
    twins = int(twins_by_item.min()) if len(wide) else 0
    p_null = sign_flips((answers - controls)[0], 0)
    return placebo_contrast(answers, controls, twins, p_null, smallest, 2)


def beyond_twins(answers: ArrayLike, controls: ArrayLike) -> tuple[Estimate, PairedPlacebos]:
    """The mean answer to items, and its comparison with their twins.

    Items are random, each with its own twins, so the variance over items includes that over twins;
    fits cross items if there are several.

    Args:
        answers: [fits, items] in points: a step between neighbouring words is 1.
        controls: [fits, items] mean over the twins of each item.

    Raises:
        ValueError: Fits or items differ, or there are fewer than two items.

    Source: docs/formulas.md, with simulated errors in docs/tested.md.
    """
    item_answers = np.asarray(answers, dtype=np.float64)
    twin_answers = np.asarray(controls, dtype=np.float64)
    is_paired = item_answers.ndim == 2 and item_answers.shape == twin_answers.shape
    if not is_paired or item_answers.shape[1] < 2:
        raise ValueError(
            f"expected the same fits and two items at least, got the shapes "
            f"{item_answers.shape} and {twin_answers.shape}"
        )

    def weighted(of_own: float, of_twins: float) -> Estimate:
        table = of_own * item_answers - of_twins * twin_answers
        fits, items = table.shape
        if fits == 1:
            variance = float(table.var(ddof=1)) / items
            return sum_estimates(float(table.mean()), [(variance, items - 1.0)])
        facets = [Facet.from_levels(fits), Facet.from_levels(items)]
        return jackknife_crossed(lambda f, i: float(table[np.ix_(f, i)].mean()), facets)

    effect = weighted(1, 0)
    placebo = float(twin_answers.mean())
    return effect, PairedPlacebos(placebo, weighted(1, 1), weighted(0.5, 1))


def polarity_permutation_p(fits: Sequence[Record[QuestionnairePlan]], method: str) -> float:
    """Two-sided permutation p of the difference between source and inverse terms, swapped per item
    in all fits at once.

    Terms of one polarity are near synonyms and so are swapped together. The statistic is the
    difference of the mean weights that the terms get, items keyed. Returns 1 where no item has
    both.
    """
    polarity_sums = []
    for record in fits:
        keying = record.diagnosis["items"].set_index("item")["keying"]
        keying = keying[~keying.index.duplicated()]
        cells = record.diagnosis["cells"]
        cells = cells[cells["method"] == method]
        keyed_weights = cells["weight"] * cells["pss"] * cells["item"].map(keying)
        weighed = cells.assign(value=keyed_weights)
        polarity_sums.append(weighed.groupby(["item", "term", "polarity"])["value"].sum())
    term_means = pd.concat(polarity_sums, axis=1).mean(axis=1)
    means = term_means.groupby(level=["item", "polarity"]).mean().unstack()
    means = means.reindex(columns=["source", "inverse"]).dropna()
    return 1.0 if means.empty else sign_flips(means["source"] - means["inverse"], 0)

"""Headline figures with verdicts: how a model answers about I and about others, over all fits, and
how far corpora move its answers.

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
from evenruler.instruments.questionnaires.declare import (
    BEYOND,
    CHANGED,
    CONTROL,
    I_OR_OTHERS,
    MOVED,
    minimum_detectable_effect,
)
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.sentences import ALL_THE_TIME
from evenruler.instruments.questionnaires.declare.subjects import FIRST_PERSON
from evenruler.instruments.questionnaires.diagnose.population import (
    check_accuracy_validity,
    interval_of,
    method_dimension,
    validity_by_method,
)
from evenruler.instruments.questionnaires.diagnose.quality import recipe_of
from evenruler.measurement import Figure
from evenruler.measurement.estimates import jackknife_figure
from evenruler.measurement.facets import Estimate, Facet, jackknife_crossed, sum_estimates
from evenruler.measurement.figures import Row, as_rows, finite_or_none
from evenruler.measurement.inputs import Floats, constant_columns, wilson
from evenruler.measurement.nonresponse import mark_by_validity
from evenruler.measurement.randomisation import (
    FEWEST_ALTERNATIVES,
    randomise_within_items,
    rank_test,
)
from evenruler.measurement.resampling import FEWEST_UNITS, PLAIN, Interval, sign_flips
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PositiveControl,
    ReferenceComparison,
    ValidityCheck,
    judge_all,
)
from evenruler.models.declarations import BY_FACTS, OPTIONS
from evenruler.models.questions import LABELS

FITS = "fits"

FEWEST_FITS = 6
"""Fewest fits for a verdict: of 2**6 ways to give them signs, two are as far as all alike."""


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
    changes: pd.DataFrame,
    course: pd.DataFrame,
    plan: QuestionnairePlan,
    method: str,
    level: float,
    control: PositiveControl | None = None,
) -> Iterator[tuple[HeadlineTest, ValidityCheck]]:
    """How much more an intervention moves one model than its control does, in points.

    Corpora are fixed, fits are random. `changes` and `course` of the model, as `schemas`;
    `control`: the model's, before it was adapted. Unfit where the adapted model's accuracy no
    longer exceeds the threshold.
    """
    for pair in pairs_of(plan):
        pair_changes = changes[changes["corpus"] == pair.corpus]
        differences = pair_changes["difference"].to_numpy(dtype=np.float64)
        forgot = None
        # With fewer fits the course is shown without a verdict.
        if method not in BY_FACTS and len(pair_changes) >= FEWEST_FITS:
            corpora = [pair.corpus, pair.control]
            forgot = _accuracy_lost(course, corpora, plan["accuracy"]["threshold"], level)
        figure = beside_control(differences, plan["bound"])
        note = describe_fits(course, [pair.corpus, pair.control])
        dimensions = {"corpus": pair.corpus}
        corpus_figure = replace(figure, control=control, note=note, dimensions=dimensions)
        yield corpus_figure, ValidityCheck(failure=forgot)


def beside_control(differences: Floats, bound: float) -> HeadlineTest:
    """How far a corpus moves answers beyond its control; `differences`: [fits] in points, of the
    same fits to either.

    Which of a fit's two corpora is the control is randomised: whole fits, since a fit moves all of
    its items together. The interval is t over fits.
    """
    n = len(differences)
    facets = {FITS: n}
    if not n:
        uncontrolled = "no corpus that is its control"
        return HeadlineTest(MOVED, FITS, facets, None, bound, no_verdict=uncontrolled)
    noun = "fit" if n == 1 else FITS
    few = f"{n} {noun} (at least {FEWEST_FITS} needed)"
    if n == 1:
        value = Interval(float(differences[0]), nan, nan)
        return HeadlineTest(MOVED, FITS, facets, value, bound, no_verdict=few)
    effect = _over_fits(differences)
    if n < FEWEST_FITS:
        return HeadlineTest(MOVED, FITS, facets, effect.interval(), bound, no_verdict=few)
    return HeadlineTest(
        MOVED,
        FITS,
        facets,
        effect.interval(),
        bound,
        p=sign_flips(differences, 0),
        null=f"which of a fit's corpora is the control, randomised over {n} fits",
        detects=effect.detectable(),
    )


def describe_fits(course: pd.DataFrame, corpora: Sequence[str | None]) -> str | None:
    """What fits to corpora did to the held-out loss and to the weights, in a sentence of means over
    fits; None where the course does not have it.
    """
    changes: list[str] = []
    for corpus in corpora:
        of_corpus = course[course["corpus"] == corpus].astype({"value": float})
        means = of_corpus.pivot_table(index="epoch", columns="measure", values="value")
        if not {"loss", "weights_moved", "weights_norm"}.issubset(means.columns):
            continue
        at_end = means.iloc[-1]
        before, after = means["loss"].iloc[0], at_end["loss"]
        moved, norm = at_end["weights_moved"], at_end["weights_norm"]
        loss = f"the held-out loss from {before:.3g} to {after:.3g} nats a token"
        weights = f"moved {moved:.1%} of weights, by a norm of {norm:.2g}"
        changes.append(f"Fits to {corpus} brought {loss} and {weights}.")
    return " ".join(changes) or None


def _over_fits(values: Floats) -> Estimate:
    """The mean of [fits] values with its variance over fits, n - 1 degrees of freedom; n > 1."""
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
"""The scale: items are fixed, and so are fits."""

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
        figures = judge_all([(figure, validity) for _, figure, validity in judged])
        for (label_columns, *_), figure in zip(judged, figures, strict=True):
            rows += as_rows([figure], questionnaire, **label_columns)
    return rows


def _of_group(fits: Sequence[Record[QuestionnairePlan]], level: float) -> Iterator[Judged]:
    """Figures by method: of all fits together, and moves by corpora of each fit."""
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
            fit = checks[counted[0]][method]
            records = [by_name[name] for name in counted]
            yield label_columns, i_or_others_of_fits(records, method), fit
            for figure in _descriptive_figures(records, method, fit, level):
                yield label_columns, figure, ValidityCheck()
        # Asked, but no item was fully answered.
        elif method == OPTIONS and len(fits[0].diagnosis["chosen"]):
            headline = _unasked_headline(fits[0], len(by_name), "no completely answered item")
            yield label_columns, headline, checks[fits[0].subject.name][method]
    for name, record in by_name.items():
        yield from _moves_by_corpora(record, checks[name], level)


def i_or_others_of_fits(fits: Sequence[Record[QuestionnairePlan]], method: str) -> HeadlineTest:
    """The headline of fits by one method; without a verdict where other subjects were not asked
    about.
    """
    plan = fits[0].plan
    answers = sentence_answers(fits, method)
    if answers.empty:
        return _unasked_headline(fits[0], len(fits), _unasked_reason(fits[0], method))
    i_answers, subject_answers = _tables_by_subject(answers)
    figure = compare_with_others(
        i_answers.to_numpy(), subject_answers.to_numpy(), len(fits), plan["bound"], plan["least"]
    )
    note = influential_items_note(
        figure, i_answers.index.tolist(), i_answers.to_numpy(), subject_answers.to_numpy()
    )
    return replace(figure, control=positive_control(answers), note=note)


def _unasked_headline(record: Record[QuestionnairePlan], fits: int, reason: str) -> HeadlineTest:
    """The headline of a model that cannot be judged: no effect, and this reason for no verdict."""
    facets = {UNIT: 0, "wordings": 0, "subjects": 0, FITS: fits}
    bound = record.plan["bound"]
    return HeadlineTest(I_OR_OTHERS, UNIT, facets, effect=None, bound=bound, no_verdict=reason)


def _unasked_reason(record: Record[QuestionnairePlan], method: str) -> str:
    """Why a model was not asked about other subjects than I."""
    if method == OPTIONS:
        return "chats are not asked about other subjects than I"
    prompts = record.tables["prompts"]
    refused = record.plan["refused"]
    n_items = prompts["item"].nunique()
    n_suited = len(set(prompts["item"]) - set(refused))
    least = record.plan["least"]
    if refused and n_suited < least:
        return f"{n_suited} of {n_items} items are about I (at least {least} needed)"
    return "it was not asked about other subjects than I"


def sentence_answers(fits: Sequence[Record[QuestionnairePlan]], method: str) -> pd.DataFrame:
    """Answers in points to every sentence about I and others: means over fits, of sentences that
    all fits have. Columns as `schemas.SUBJECT_SCORES`, without those of models, and `answer`.
    """
    intensifiers = fits[0].tables["prompts"]["intensifier"].nunique()
    parts: list[pd.DataFrame] = []
    for record in fits:
        scores = record.diagnosis["subjects"]
        parts.append(scores[scores["method"] == method])
    whole = pd.concat(parts, ignore_index=True)
    whole = whole.assign(control=whole["control"].fillna(""), answer=whole["score"] * intensifiers)
    key = ["item", "sentence", "subject", "form", "wording", "control", "keying"]
    by_sentence = whole.groupby(key, sort=True)["answer"].agg(["mean", "size"]).reset_index()
    in_all = by_sentence[by_sentence["size"] == len(fits)]
    return in_all.rename(columns={"mean": "answer"}).drop(columns="size")


def _tables_by_subject(answers: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers about I, [items, wordings], and about others, [items, subjects]."""
    uncontrolled = answers[answers["control"] == ""]
    is_about_i = uncontrolled["subject"] == FIRST_PERSON
    i_answers = uncontrolled[is_about_i].pivot(index="item", columns="wording", values="answer")
    subject_answers = uncontrolled[~is_about_i].pivot(
        index="item", columns="subject", values="answer"
    )
    return i_answers, subject_answers.loc[i_answers.index]


def positive_control(answers: pd.DataFrame) -> PositiveControl:
    """How far "all the time" in the premise of source terms, and "never" in that of inverse terms,
    moves the answer from the reverse; items fixed.

    `answers`: of `sentence_answers`. Source: spec/controls.md, section 3.
    """
    controlled = answers[answers["control"] != ""]
    # What is said is said of the source terms, whichever way the item is keyed.
    points = controlled["answer"] * controlled["keying"]
    controlled = controlled.assign(points=points)
    is_always = controlled["control"] == ALL_THE_TIME
    always, never = (
        controlled[chosen].pivot(index="item", columns="wording", values="points").to_numpy()
        for chosen in (is_always, ~is_always)
    )
    estimate, test = randomise_within_items(always, never)
    return PositiveControl(CONTROL, estimate.interval(), test.p)


def compare_with_others(
    i_answers: Floats, subject_answers: Floats, fits: int, bound: float, least: int
) -> HeadlineTest:
    """I less others, in points: what a model answers about I beyond the mean of other subjects.

    Subjects and wordings are random; items and fits are fixed. The null is that I is one of the
    subjects, so its p is a rank among them: answers about one subject are alike over items, and
    labels that are randomised within items would take any subject for another kind of one
    (docs/questionnaires.md).

    `i_answers`: [items, wordings]; `subject_answers`: [items, subjects]; `least`: fewest items for
    a verdict.
    """
    items, wordings = i_answers.shape
    subjects = subject_answers.shape[1]
    facets = {UNIT: items, "wordings": wordings, "subjects": subjects, FITS: fits}
    by_wording, by_subject = i_answers.mean(axis=0), subject_answers.mean(axis=0)
    effect = sum_estimates(
        float(by_wording.mean() - by_subject.mean()),
        [_variance_of_mean(by_wording), _variance_of_mean(by_subject)],
    )
    rank = rank_test(float(by_wording.mean()), by_subject)
    share = rank.less_far / subjects
    low, high = wilson(share, subjects)
    percentile = Interval(100 * share, 100 * low, 100 * high)
    figure = HeadlineTest(
        I_OR_OTHERS,
        UNIT,
        facets,
        effect=effect.interval(),
        bound=bound,
        no_null=f"of {subjects} subjects the furthest has no p of .05; {FEWEST_ALTERNATIVES} are "
        "needed",
        compared=ReferenceComparison(REFERENCE_SET, subjects, percentile),
        fixed=frozenset({UNIT, FITS}),
    )
    if items < least:
        item_noun = "items" if items > 1 else "item"
        few = f"{items} {item_noun} (at least {least} needed)"
        return replace(figure, no_verdict=few)
    if rank.p is None:
        return figure
    spread = float(by_subject.std(ddof=1))
    detects = minimum_detectable_effect(subjects, spread)
    null = f"rank of I among {subjects} subjects, drawn from {REFERENCE_SET}"
    return replace(figure, p=rank.p, null=null, no_null=None, detects=detects)


REFERENCE_SET = "nouns for persons and animals"
"""Of WordNet 3.1; `studies/reference_subjects.py` draws from it."""


def _variance_of_mean(values: Floats) -> tuple[float, float]:
    """The variance of a mean, and its degrees of freedom."""
    n = len(values)
    variance = float(values.var(ddof=1))
    return variance / n, n - 1.0


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
        answers = sentence_answers([record], method)
        headlines = intervention_headlines(
            changes[changes["method"] == method],
            course,
            record.plan,
            method,
            level,
            None if answers.empty else positive_control(answers),
        )
        for figure, after in headlines:
            fit = after if before.failure is None else before
            yield label_columns, figure, fit


def _descriptive_figures(
    fits: Sequence[Record[QuestionnairePlan]], method: str, fit: ValidityCheck, level: float
) -> Iterator[Figure]:
    """Figures of fits by one method beside the headline: beyond twins, by item, and by subject."""
    intensifiers = fits[0].tables["prompts"]["intensifier"].nunique()
    item_scores = _scores_of_fits(fits, "items", method).droplevel("twin")
    twin_means = _scores_of_fits(fits, "twins", method).groupby(level="item").mean()
    both = item_scores.index.intersection(twin_means.index)
    answers = item_scores.loc[both].to_numpy(dtype=np.float64).T * intensifiers
    controls = twin_means.loc[both].to_numpy(dtype=np.float64).T * intensifiers
    yield mark_by_validity(beyond_figure(answers, controls, level), fit)
    silhouettes = [
        _score_column(record.diagnosis["items"], method, "silhouette").droplevel("twin")
        for record in fits
    ]
    mean_silhouettes = pd.concat(silhouettes, axis=1).mean(axis=1)
    apart = mean_silhouettes.reindex(both).to_numpy(dtype=np.float64)
    yield from of_items(both.tolist(), answers, controls, apart)
    sentences = sentence_answers(fits, method)
    if len(sentences):
        yield from subject_figures(*_tables_by_subject(sentences))


def subject_figures(i_answers: pd.DataFrame, subject_answers: pd.DataFrame) -> Iterator[Figure]:
    """The rank of I among the subjects, with its p where there are enough; the mean answer about
    each; and I less others in every item.

    `i_answers`: [items, wordings]; `subject_answers`: [items, subjects], in points.
    """
    items, subjects = subject_answers.shape
    mean_of_i = float(i_answers.to_numpy().mean())
    by_subject = subject_answers.mean(axis=0)
    rank = rank_test(mean_of_i, by_subject.to_numpy())
    yield Figure(
        "rank_of_i", float(rank.less_far), subjects, "subjects", p=rank.p, reason=rank.lacking
    )
    for subject, answer in {FIRST_PERSON: mean_of_i, **by_subject.to_dict()}.items():
        dimensions = {"subject": str(subject)}
        yield Figure("subject_response", float(answer), items, UNIT, dimensions=dimensions)
    for item, difference in (i_answers.mean(axis=1) - subject_answers.mean(axis=1)).items():
        dimensions = {"item": str(item)}
        yield Figure(
            "item_i_less_others", float(difference), subjects, "subjects", dimensions=dimensions
        )


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
    """Item analysis: answer (control: twins), SC, and answers beyond twins without the item, with
    their interval.

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
            without = beyond_twins(rest_answers, rest_controls).interval()
            figure = Figure("without_item", without.value, n - 1, UNIT, without.low, without.high)
            yield replace(figure, dimensions={"item": item})


THIRD = 1 / 3
"""Share of the headline above which an item is named."""


def influential_items_note(
    figure: HeadlineTest, items: Sequence[str], i_answers: Floats, subject_answers: Floats
) -> str | None:
    """Items in which I stands out, and items that carry much of a headline; None without any.

    `i_answers`: [items, wordings]; `subject_answers`: [items, subjects], in points.
    """
    sentences: list[str] = []
    stand_out = find_items_apart(i_answers, subject_answers)
    if stand_out:
        names = " and ".join(items[place] for place in stand_out)
        sentences.append(f"I is further from the others than any of them in {names}.")
    effect = figure.effect
    if effect is not None and (effect.low > 0 or effect.high < 0):
        differences = i_answers.mean(axis=1) - subject_answers.mean(axis=1)
        shares = differences / len(items) / effect.value
        carry = [
            f"{item} ({share:.0%})"
            for item, share in zip(items, shares, strict=True)
            if share > THIRD
        ]
        if carry:
            sentences.append(f"More than a third of it comes from {' and '.join(carry)}.")
    return " ".join(sentences) or None


def find_items_apart(i_answers: Floats, subject_answers: Floats) -> list[int]:
    """The items in which I lies further from the others than any subject does in any item.

    Distances are in standard deviations of the item's subjects. So with 19 subjects, or more, an
    item is named by chance in 1 of 20 studies at most; with fewer none is. Arguments as in
    `compare_with_others`.
    """
    subjects = subject_answers.shape[1]
    if subjects < FEWEST_ALTERNATIVES:
        return []
    # I first, then the subjects, each against the mean and the spread of all the rest.
    values = np.column_stack([i_answers.mean(axis=1), subject_answers])
    rest_means = (values.sum(axis=1, keepdims=True) - values) / subjects
    squares = (values**2).sum(axis=1, keepdims=True) - values**2
    rest_variances = np.maximum(squares / subjects - rest_means**2, 0.0)
    distances = np.abs(values - rest_means)
    scaled = np.divide(
        distances,
        np.sqrt(rest_variances),
        out=np.zeros_like(distances),
        where=rest_variances > _ROUNDING,
    )
    furthest = float(scaled[:, 1:].max())
    return [int(place) for place in np.flatnonzero(scaled[:, 0] > furthest)]


_ROUNDING = 1e-18
"""Variances this small, in squared points, are rounding error."""


def contrast(first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
    """How much more I differs from others in one model than in another, over shared items and
    subjects, each with a single fit.

    `at` of `HEADLINES` names wordings (`pole` 1) and subjects (`pole` 0).
    """
    both = first.merge(
        second, on=["unit", "at", "pole"], suffixes=("_first", "_second"), validate="one_to_one"
    )
    both["value"] = both["value_first"] - both["value_second"]
    is_about_i = both["pole"] == 1
    i_answers, subject_answers = (
        both[chosen].pivot(index="unit", columns="at", values="value").dropna(axis=1)
        for chosen in (is_about_i, ~is_about_i)
    )
    if min(i_answers.shape[1], subject_answers.shape[1]) < 2:
        facets = {UNIT: 0, "wordings": i_answers.shape[1], "subjects": subject_answers.shape[1]}
        reason = "the models share too few sentences about I and others"
        return HeadlineTest(I_OR_OTHERS, UNIT, facets, None, bound, no_verdict=reason)
    items = i_answers.index.intersection(subject_answers.index)
    return compare_with_others(
        i_answers.loc[items].to_numpy(), subject_answers.loc[items].to_numpy(), 1, bound, least=2
    )


def beyond_figure(answers: Floats, controls: Floats, level: float) -> Figure:
    """Answers beyond twins, in points of the scale, with their interval over items and fits.

    `answers`, and `controls`, the mean over the twins of each item: [fits, items].
    """
    items = answers.shape[1]
    if not items:
        return Figure(BEYOND, None, 0, UNIT, reason="no twins")
    if items < 2:  # no variance over items with one item
        value = float((answers - controls).mean())
        return Figure(BEYOND, value, items, UNIT, reason="no interval: one item")
    difference = beyond_twins(answers, controls).interval(level)
    return Figure(BEYOND, difference.value, items, UNIT, difference.low, difference.high)


def beyond_twins(answers: ArrayLike, controls: ArrayLike) -> Estimate:
    """The mean answer to items less that to their twins.

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
    table = item_answers - twin_answers
    fits, items = table.shape
    if fits == 1:
        variance = float(table.var(ddof=1)) / items
        return sum_estimates(float(table.mean()), [(variance, items - 1.0)])
    facets = [Facet.from_levels(fits), Facet.from_levels(items)]
    return jackknife_crossed(lambda f, i: float(table[np.ix_(f, i)].mean()), facets)

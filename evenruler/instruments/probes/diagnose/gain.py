"""The gain, headline of a set of probes: how the score difference of two groups' words changes
along the attributes.

Only placebo lists can tell it from what any two lists of words do: slopes on a criterion are as
large for lists of fruits and tools (docs/controls.md).

A chat model's choice, asked in both orders, scores a pair of words from -50 to 50 points, and so
does the pronoun of a sentence that it writes; the gain is computed from these scores as from
likelihoods, with pairs in place of words.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Tables
from evenruler.instruments.methods import choice, writing
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import (
    CHOICE,
    PLACEBO,
    READS,
    RIVAL,
    WRITTEN,
    choice_questions,
    writing_prompts,
)
from evenruler.instruments.probes.declare.plan import ProbePlan
from evenruler.instruments.probes.declare.settings import (
    COMMON_LENGTH,
    FEWEST_ATTRIBUTES,
    shared_words,
)
from evenruler.instruments.probes.declare.source import FEWEST_KEYED
from evenruler.instruments.probes.diagnose.quality import ScoreCube, mean_interval
from evenruler.measurement.facets import Estimate, Facet, PlaceboLists, UnitMask, jackknife_crossed
from evenruler.measurement.figures import Figure, as_rows, finite_or_none
from evenruler.measurement.inputs import FEWEST_PLACEBOS, Floats, wilson
from evenruler.measurement.nonresponse import MOST_UNANSWERED, all_equal_reason, mark_by_validity
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PValues,
    ValidityCheck,
    build_headline_test,
    judge,
)
from evenruler.tables import concat_frames, round_significant, row_hashes
from evenruler.tables.ids import content_sha256
from evenruler.tables.schemas import BARE

GAIN, SHARE_GAIN, WRITTEN_GAIN, UNANSWERED = "gain", "share_gain", "written_gain", "unanswered"
"""Gains of log-likelihoods, nats; and in percentage points, of shares of chosen sentences, of
pronouns in sentences that a chat model wrote, and of unanswered replies."""

KNOWN, SHARE, WRITTEN_SHARE, NAMED = "known_answers", "chosen_share", "written_share", "named_share"
"""Figures of choices and of written sentences that are no gains."""

UNIT = "attributes"

CRITERION_SPAN = 80.0
"""Percentage points of the criterion over which the gain is given: from an attribute at 10% to one
at 90%."""

SMALLEST = {GAIN: math.log(2), SHARE_GAIN: 10.0, WRITTEN_GAIN: 10.0, UNANSWERED: 15.0}
"""Smallest gains of interest: a factor of two; a tenth of the choices; for unanswered replies, as
in family `saged`."""


def along_criterion(criterion: Floats) -> Floats:
    """[attributes] weights whose sum over scores is their slope on a criterion (percentage points)
    times the span.
    """
    centred = criterion - criterion.mean()
    weights: Floats = CRITERION_SPAN * centred / (centred @ centred)
    return weights


def between_keys(keying: Floats) -> Floats:
    """[attributes] weights whose sum over scores is the mean of those keyed 1 minus that of those
    keyed -1.
    """
    is_high, is_low = keying > 0, keying < 0
    high_weight, low_weight = 1 / is_high.sum(), -1 / is_low.sum()
    weights: Floats = np.where(is_high, high_weight, low_weight)
    return weights


@dataclass(frozen=True)
class Scores:
    """Scores of one model on one set, with what a gain needs: groups of words, an axis of
    attributes.
    """

    values: Floats
    """[attributes, templates, words] log-likelihoods, nats, signed by keying; or percentage points
    of choices."""
    axis: Floats
    """[attributes] the criterion in percentage points, or a key of 1 or -1."""
    poles: NDArray[np.int8]
    """[words] 1 or -1 by group; 1 for pairs of words between which a chat model chose, 0 for
    placebos."""
    lists: Sequence[str]
    """[words] the list within the group (pronouns, kin, names), or the placebo list; all of these
    have one length."""
    units: Sequence[str] = ()
    """[attributes] names, needed to compare two models."""

    @classmethod
    def from_rows(cls, rows: pd.DataFrame, value: str = "value") -> "Scores":
        """From `rows` by `schemas.HEADLINES` (not empty), scores in column `value`; drops
        units with gaps.
        """
        wide = rows.pivot(
            index=["unit", "axis_position"], columns=["at", "group", "word", "pole"], values=value
        ).dropna()
        wide = wide.sort_index().sort_index(axis=1)
        columns: Any = wide.columns
        words = columns.droplevel("at").unique()
        cells = wide.to_numpy(dtype=np.float64)
        scores = cells.reshape(len(wide), -1, len(words))
        axis = wide.index.get_level_values("axis_position").to_numpy(np.float64)
        poles = words.get_level_values("pole").to_numpy(np.int8)
        lists = list(words.get_level_values("group"))
        units = list(map(str, wide.index.get_level_values("unit")))
        return cls(scores, axis, poles, lists, units)

    @property
    def keyed(self) -> bool:
        """Whether attributes have keys, and no criterion."""
        return set(np.unique(self.axis)) <= {1.0, -1.0}

    @property
    def sides(self) -> int:
        """Number of placebo lists in one score: two for choices, which compare words of two lists,
        else one.
        """
        return 1 if (self.poles == -1).any() else 2

    def weights(self, axis: Floats) -> Floats:
        """[attributes] weights by which scores of attributes at these positions give the gain."""
        return between_keys(axis) if self.keyed else along_criterion(axis)

    def facets(self) -> dict[str, Facet]:
        """Attributes within keys, templates, and words within the list of a group."""
        if self.keyed:
            attributes = Facet([int(key) for key in self.axis])
        else:
            attributes = Facet.from_levels(len(self.axis))
        lists_of_words = zip(self.poles, self.lists, strict=True)
        word_lists = [f"{pole} {name}" for pole, name in lists_of_words]
        return {
            "attributes": attributes,
            "templates": Facet.from_levels(self.values.shape[1]),
            "words": Facet(word_lists),
        }

    def gain(self, attributes: UnitMask, templates: UnitMask, words: UnitMask) -> float:
        """The gain from the kept attributes, templates and words (masks)."""
        along = np.zeros(len(self.axis))
        along[attributes] = self.weights(self.axis[attributes])
        first = words & (self.poles == 1)
        other = words & (self.poles == -1)
        between = first / first.sum() - other / max(other.sum(), 1)
        return float(along @ (self.values @ between) @ (templates / templates.sum()))

    def gain_over(self, facets: Mapping[str, Facet]) -> Estimate:
        """The gain, with its error over `facets` as random; the others are fixed."""
        every = [np.ones(n, np.bool_) for n in self.values.shape]
        whole = dict(zip(("attributes", "templates", "words"), every, strict=True))

        def amount(*masks: UnitMask) -> float:
            return self.gain(**{**whole, **dict(zip(facets, masks, strict=True))})

        return jackknife_crossed(amount, list(facets.values()))


def gain_headline(
    target_scores: Scores,
    placebos: Scores | None = None,
    rival: Scores | None = None,
    figure: str = GAIN,
) -> HeadlineTest:
    """The gain of the first group's words over the other's: nats (`exp` of it is a factor), or
    points of shares.

    Args:
        target_scores: Scores of the set on the model.
        placebos: Scores with placebo nouns in place of targets, for some attributes of the set;
            None where none were asked. For shares, a placebo list is a pair of lists.
        rival: Scores of keyed attributes off the construct, if asked: an effect has to be
            significantly larger.
        figure: `GAIN`, or `SHARE_GAIN` where scores are shares of choices.

    Source: docs/formulas.md; the criterion as in section 4 of PMPO.
    """
    smallest, facets = SMALLEST[figure], target_scores.facets()
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    few = _too_few(target_scores, facets)
    if few:
        return HeadlineTest(figure, UNIT, levels, None, smallest, lacking=few)
    effect, placebo = target_scores.gain_over(facets), None
    if placebos is not None:
        pairs = len(set(target_scores.lists)) * target_scores.sides
        placebo = placebo_lists(
            placebos.values, target_scores.weights(placebos.axis), placebos.lists, pairs
        )
    headline = build_headline_test(
        figure,
        UNIT,
        levels,
        effect,
        effect.p(),
        placebo,
        smallest,
        _why_no_verdict(target_scores, placebo),
    )
    return headline if rival is None else _beside_rival(headline, target_scores, rival)


def gain_of(
    real: pd.DataFrame, nouns: pd.DataFrame, rivals: pd.DataFrame | None = None, figure: str = GAIN
) -> HeadlineTest:
    """`gain` of rows by `schemas.HEADLINES`: of targets, of nouns by placebo list, of
    targets with rivals.

    For shares, words are pairs, and `group` of nouns names the two placebo lists that they come
    from.
    """
    placebos = None if nouns.empty else Scores.from_rows(nouns)
    rival = None if rivals is None or rivals.empty else Scores.from_rows(rivals)
    return gain_headline(Scores.from_rows(real), placebos, rival, figure)


def gain_alone(figure: str, rows: pd.DataFrame, smallest: float | None = None) -> HeadlineTest:
    """A gain without placebo, since it does not depend on the words for the groups, or no word was
    filled in.

    Args:
        figure: `WRITTEN_GAIN` or `UNANSWERED`.
        rows: Percentage points, by `schemas.HEADLINES`; a single word is taken as fixed.
        smallest: Smallest gain of interest, by default as in `SMALLEST`.
    """
    if smallest is None:
        smallest = SMALLEST[figure]
    scores = Scores.from_rows(rows)
    levels, facets = {UNIT: len(scores.axis)}, scores.facets()
    if len(scores.lists) == 1:
        del facets["words"]
    few = _too_few(scores, facets)
    if few:
        return HeadlineTest(figure, UNIT, levels, None, smallest, lacking=few)
    effect = scores.gain_over(facets)
    p, whole = effect.p(), effect.interval()
    p_values = PValues(effect=p, none=effect.p_within(smallest), unspecific=1.0)
    headline = HeadlineTest(figure, UNIT, levels, whole, smallest, p, p=p_values)
    return replace(headline, specific=whole, detectable=finite_or_none(effect.detectable()))


def _beside_rival(headline: HeadlineTest, target_scores: Scores, rival: Scores) -> HeadlineTest:
    """The gain with a stricter test: attributes off the construct, keyed alike, have to gain
    significantly less.
    """
    n, facets = len(target_scores.axis), target_scores.facets()
    # same words; without `groups` in the plan, poles of rivals may be swapped
    rival = replace(rival, poles=target_scores.poles)
    own_keys = [f"own {key}" for key in target_scores.axis]
    rival_keys = [f"rival {key}" for key in rival.axis]
    facets["attributes"] = Facet([*own_keys, *rival_keys])

    def beyond(attributes: UnitMask, templates: UnitMask, words: UnitMask) -> float:
        own_gain = target_scores.gain(attributes[:n], templates, words)
        return own_gain - rival.gain(attributes[n:], templates, words)

    rest = jackknife_crossed(beyond, list(facets.values()))
    effect = headline.effect
    assert effect is not None
    interval = rest.interval()
    low = f"{round_significant(interval.low):.2g}"
    high = f"{round_significant(interval.high):.2g}"
    rival_gain = effect.value - rest.value
    note = f"Rival words gain {rival_gain:.2g}; beyond them it is [{low}, {high}]."
    if headline.p is None:
        return replace(headline, note=note)
    p = rest.p() if rest.value * effect.value > 0 else 1.0
    p_values = replace(headline.p, effect=max(headline.p.effect, p))
    return replace(headline, p=p_values, note=note)


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> HeadlineTest:
    """How much larger the gain of one model is than that of another, at equal sharpness, in nats.

    A more confident model gives every list, placebos too, a larger gain; so each model's scores are
    divided by how far attributes lie apart in sentences with placebo nouns, and multiplied by the
    mean of both. The jackknife leaves an attribute, template, word or placebo list out of both
    models at once, since its effect on them is shared.

    `first` and `second`: rows of one set on two models, by `schemas.HEADLINES`; what one lacks is
    left out. `smallest`: smallest difference of interest, nats.

    Source: docs/formulas.md.
    """
    key = ["unit", "at", "word", "group", "pole", "axis_position"]
    both = first.merge(second, on=key, suffixes=("_first", "_second"), validate="one_to_one")
    real = both[both["pole"] != 0]
    nouns = both[both["pole"] == 0]
    figure = str(first["figure"].iloc[0]) if len(first) else GAIN
    if figure in (WRITTEN_GAIN, UNANSWERED) and len(real):
        differences = real["value_first"] - real["value_second"]
        return gain_alone(figure, real.assign(value=differences), smallest)
    if real.empty or nouns.empty:
        lacking = "no sentence that both were asked" if real.empty else "no placebo"
        return HeadlineTest(figure, UNIT, {UNIT: 0}, None, smallest, lacking=lacking)
    if figure == SHARE_GAIN:  # shares of two models are on one scale
        real, nouns = (
            rows.assign(value=rows["value_first"] - rows["value_second"]) for rows in (real, nouns)
        )
        return replace(gain_of(real, nouns, figure=SHARE_GAIN), smallest=smallest)
    models = [
        (Scores.from_rows(real, side), Scores.from_rows(nouns, side))
        for side in ("value_first", "value_second")
    ]
    (first_target_scores, first_noun_scores), (_, second_noun_scores) = models
    members = Facet(first_noun_scores.lists).members()
    facets = {**first_target_scores.facets(), "placebo lists": Facet.from_levels(len(members))}
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    few = _too_few(first_target_scores, facets)
    if few:
        return HeadlineTest(GAIN, UNIT, levels, None, smallest, lacking=few)
    with_nouns = np.isin(first_target_scores.units, first_noun_scores.units)

    def sharpness(
        scores: Floats, attributes: UnitMask, templates: UnitMask, noun_lists: UnitMask
    ) -> float:
        """SD over attributes of the mean score of a placebo list, averaged over lists, for one
        model.
        """
        means = scores[attributes[with_nouns]][:, templates].mean(axis=1)
        by_list = [
            means[:, noun_columns].mean(axis=1) for noun_columns in compress(members, noun_lists)
        ]
        return float(np.column_stack(by_list).std(axis=0, ddof=1).mean())

    sizes = (*first_target_scores.values.shape[:2], len(members))
    every = [np.ones(n, dtype=np.bool_) for n in sizes]
    sharp = [sharpness(noun_scores.values, *every) for _, noun_scores in models]
    mean_sharpness = sum(sharp) / 2

    def difference(
        attributes: UnitMask, templates: UnitMask, words: UnitMask, noun_lists: UnitMask
    ) -> float:
        """Gain of the first model minus that of the second, at the mean of their sharpness."""
        a, b = (
            target_scores.gain(attributes, templates, words)
            / sharpness(noun_scores.values, attributes, templates, noun_lists)
            for target_scores, noun_scores in models
        )
        return mean_sharpness * (a - b)

    effect = jackknife_crossed(difference, list(facets.values()))
    scaled_first = first_noun_scores.values / sharp[0]
    scaled_second = second_noun_scores.values / sharp[1]
    weights = first_target_scores.weights(first_target_scores.axis[with_nouns])
    placebo = placebo_lists(
        mean_sharpness * (scaled_first - scaled_second),
        weights,
        first_noun_scores.lists,
        len(set(first_target_scores.lists)),
    )
    return build_headline_test(
        GAIN,
        UNIT,
        levels,
        effect,
        effect.p(),
        placebo,
        smallest,
        _why_no_verdict(first_target_scores, placebo),
    )


DETECTABLE = "detectable"


def detectable_at_common_length(target_scores: Scores) -> float | None:
    """Minimum detectable gain (power .8) with `COMMON_LENGTH` templates like these, nats.

    Variance between placebo lists is ignored, since it is the same for any templates. Sets whose
    scores all vary little have small values too, so read it with a reliability coefficient. A
    single word per group is taken as fixed.

    None for a single template, or for too few attributes, such as one alone with its key.
    """
    facets, length = target_scores.facets(), target_scores.values.shape[1]
    random = {name: facet for name, facet in facets.items() if _count_fewest_levels(facet) > 1}
    if length < 2 or "attributes" not in random or _too_few(target_scores, {}):
        return None
    fixed_templates = {name: facet for name, facet in random.items() if name != "templates"}
    every = target_scores.gain_over(random)
    without_templates = target_scores.gain_over(fixed_templates)
    of_one = max(0.0, every.variance - without_templates.variance) * length
    variance = without_templates.variance + of_one / COMMON_LENGTH
    return finite_or_none(replace(every, variance=variance).detectable())


def _count_fewest_levels(facet: Facet) -> int:
    """The number of levels of the shortest list of a facet."""
    return min(map(len, facet.members()))


def placebo_lists(
    scores: Floats, weights: Floats, lists: Sequence[str], pairs: int
) -> PlaceboLists:
    """Gains of placebo `lists` [words], all of one length, from `scores` [attributes, templates,
    words].
    """
    values = weights @ scores.mean(axis=1)
    members = [values[levels] for levels in Facet(list(lists)).members()]
    of_words = float(np.mean([list_gains.var(ddof=1) for list_gains in members]))
    means = [float(list_gains.mean()) for list_gains in members]
    return PlaceboLists(means, of_words, len(members[0]), pairs)


def _too_few(target_scores: Scores, facets: Mapping[str, Facet]) -> str | None:
    """Why no gain can be computed, in words, or None."""
    if np.ptp(target_scores.axis) == 0 or len(target_scores.axis) < FEWEST_UNITS:
        return (
            f"{len(target_scores.axis)} attributes along its axis (at least {FEWEST_UNITS} needed) "
            "that differ"
        )
    single = [name for name, facet in facets.items() if _count_fewest_levels(facet) < 2]
    return f"a single level of {single[0]}, so its variation is unknown" if single else None


def _why_no_verdict(target_scores: Scores, placebo: PlaceboLists | None) -> str | None:
    """Why a gain that was computed gets no verdict, in words, or None."""
    if placebo is None:
        return "no placebo"
    n_lists = len(placebo.values) * target_scores.sides
    if n_lists < FEWEST_PLACEBOS:
        return f"{n_lists} placebo lists (at least {FEWEST_PLACEBOS} needed)"
    axis = target_scores.axis
    if target_scores.keyed:
        n_high, n_low = int((axis > 0).sum()), int((axis < 0).sum())
        fewest = min(n_high, n_low)
        least, what = FEWEST_KEYED, "attributes of one key"
    else:
        fewest = len(axis)
        least, what = FEWEST_ATTRIBUTES, "attributes"
    return f"{fewest} {what} (at least {least} needed)" if fewest < least else None


def check_validity(
    cube: ScoreCube, items: pd.DataFrame, alpha: Figure, floor: float
) -> ValidityCheck:
    """Whether a set measures on a model at all: alpha has to reach `floor`; `items`: by
    `quality.items_of`.
    """
    same = all_equal_reason(cube.biases(), f"attributes in {len(cube.templates)} templates")
    if same:
        return ValidityCheck(failure=same)
    turned = items[~items["control"] & (items["high"] < 0)]["template"]
    if len(turned):
        several = "templates say" if len(turned) > 1 else "a template says"
        return ValidityCheck(failure=f"{several} the opposite of the others ({', '.join(turned)})")
    shared = shared_words(cube.targets, cube.poles.tolist())
    if shared:
        return ValidityCheck(
            doubt=f"targets of one group share a word ({', '.join(shared)}), so they are not "
            "independent"
        )
    if alpha.low is None or alpha.high is None or alpha.low >= floor:
        return ValidityCheck()
    alpha_range = f"alpha is between {alpha.low:.2f} and {alpha.high:.2f}"
    if alpha.high < floor:
        return ValidityCheck(failure=f"{alpha_range}, below {floor:g}")
    return ValidityCheck(doubt=f"{alpha_range}, required is {floor:g}")


@dataclass(frozen=True)
class _Part:
    """Questions on one template set, or on written sentences, with their answers."""

    dimensions: Mapping[str, str]
    figure: str
    """`SHARE_GAIN` or `WRITTEN_GAIN`."""
    questions: pd.DataFrame
    """Questions with `unit, at, group, word, keying, axis_position, framing, pole`, and with
    `share` of the first group and `unanswered`."""
    fit: ValidityCheck
    known_counts: tuple[int, int]
    """Number of right answers to questions with known answers, and number of these questions."""
    rested_on: "pd.Series[str]"
    """By unit, a hash of its published rows, or of its prompts."""


def choice_figures(
    name: str, tables: Tables, plan: ProbePlan, scores: Tables, model: str, level: float
) -> dict[str, pd.DataFrame]:
    """Figures of what one chat model chose or wrote, by `schemas.FIGURES`, and `headlines`, by
    `schemas.HEADLINES`.

    `scores`: `choices` by `choice.read`, or `sentences` by `writing.read`; `level`: of
    descriptive intervals.
    """
    figures: list[tuple[HeadlineTest | Figure, ValidityCheck]] = []
    headlines: list[pd.DataFrame] = []
    read_parts = _choice_parts if choice.TABLE in scores else _writing_parts
    for part in read_parts(tables, plan, scores):
        points, left = _percentage_points(part.questions)
        same = all_equal_reason(points.loc[points["framing"] == BARE, "value"], "choices")
        fit = ValidityCheck(failure=same) if same and part.fit.failure is None else part.fit
        silence = part.questions[part.questions["framing"] == BARE].assign(
            value=100 * part.questions["unanswered"]
        )
        of_gain = points[points["framing"] != RIVAL]
        for figure, figure_rows in (
            (_part_gain_headline(part, points, left), of_gain),
            (gain_alone(UNANSWERED, silence), silence),
        ):
            figures.append((replace(figure, dimensions=part.dimensions), fit))
            headline_rows = figure_rows.assign(
                figure=figure.figure,
                model=model,
                **part.dimensions,
                rows=figure_rows["unit"].map(part.rested_on),
            )
            headlines.append(headline_rows.reindex(columns=schemas.HEADLINES.names))
        for share in _share_figures(part, points, fit, level):
            figures.append((replace(share, dimensions=part.dimensions), ValidityCheck()))
    figure_table = pd.DataFrame(as_rows(judge(figures), name, model))
    return {
        "figures": figure_table.reindex(columns=schemas.FIGURES.names),
        "headlines": concat_frames(headlines),
    }


def _choice_parts(tables: Tables, plan: ProbePlan, scores: Tables) -> Iterator[_Part]:
    choices = scores[choice.TABLE]
    answered_questions = choice_questions(tables, plan).merge(
        choice.choice_shares(choices), on=["id", "framing"]
    )
    answered_questions = answered_questions.rename(columns={"attribute": "unit", "template": "at"})
    answered_questions["pole"] = (answered_questions["framing"] != PLACEBO).astype("int8")
    probes = tables["probes"]
    scored_probes = probes[~probes["control"]]
    rested_on = row_hashes(scored_probes.filter(READS["probes"]), ["set", "attribute"])
    for template_set, of_set in answered_questions.groupby("set", sort=True):
        is_known = choices["framing"] == choice.KNOWN
        set_choices = choices[choices["id"].isin(of_set["id"]) | is_known]
        known_counts = choice.known_right(set_choices)
        fit = choice.check_known_answers(set_choices, known_counts)
        yield _Part(
            {"set": str(template_set), "readout": CHOICE},
            SHARE_GAIN,
            of_set,
            fit,
            known_counts,
            rested_on.xs(template_set),
        )


def _writing_parts(tables: Tables, plan: ProbePlan, scores: Tables) -> Iterator[_Part]:
    written_sentences, every = scores[choice.SENTENCES], writing_prompts(tables, plan)
    answered_prompts = every[every["framing"] == BARE].merge(
        written_sentences[["id", "framing", "said"]], on=["id", "framing"]
    )
    answered_prompts = answered_prompts.rename(columns={"attribute": "unit", "template": "at"})
    answered_prompts = answered_prompts.assign(
        share=answered_prompts["said"].map(writing.NAMED),
        unanswered=answered_prompts["said"].isna().astype(float),
    )
    rested_on = answered_prompts.groupby("unit")["prompt"].agg(
        lambda prompts: content_sha256(*prompts)[:16]
    )
    known_counts = writing.known_right(written_sentences, every)
    fit = choice.check_known_answers(
        written_sentences, known_counts, "pronouns of control words are right"
    )
    yield _Part(
        {"readout": WRITTEN},
        WRITTEN_GAIN,
        answered_prompts.assign(word=WRITTEN, pole=1),
        fit,
        known_counts,
        rested_on,
    )


def _percentage_points(question_rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Share of the first sentence minus a half, `value` in percentage points, signed by keying; and
    what is left out.

    Left out are attributes with more than half of the replies unanswered, and words (of nouns, the
    whole list) without any choice in some template. Other missing values are imputed: the mean of
    their template and words, plus the mean deviation of the attribute from such means.
    """
    silent = question_rows[question_rows["framing"] == BARE].groupby("unit")["unanswered"].mean()
    left = sorted(silent.index[silent > MOST_UNANSWERED])
    answered_rows = question_rows[~question_rows["unit"].isin(left)]
    value = 100 * answered_rows["keying"] * (answered_rows["share"] - 0.5)
    cells = value.groupby(
        [
            answered_rows["framing"],
            answered_rows["at"],
            answered_rows["group"],
            answered_rows["word"],
        ]
    )
    of_cell = cells.transform("mean")
    is_placebo = answered_rows["framing"] == PLACEBO
    words = answered_rows["group"].where(is_placebo, answered_rows["word"])
    unknown = sorted(set(words[of_cell.isna()]))
    of_unit = (
        (value - of_cell)
        .groupby([answered_rows["framing"], answered_rows["unit"]])
        .transform("mean")
        .fillna(0.0)
    )
    points = answered_rows.assign(value=value.fillna(of_cell + of_unit))
    return points[~words.isin(unknown)], [*left, *unknown]


def _part_gain_headline(part: _Part, points: pd.DataFrame, left: list[str]) -> HeadlineTest:
    targets, nouns, rivals = (
        points[points["framing"] == framing] for framing in (BARE, PLACEBO, RIVAL)
    )
    if targets.empty:
        few = "no attribute with at least half of its choices answered"
        return HeadlineTest(part.figure, UNIT, {UNIT: 0}, None, 1.0, lacking=few)
    if part.figure == WRITTEN_GAIN:
        headline = gain_alone(WRITTEN_GAIN, targets)
    else:
        headline = gain_of(targets, nouns, rivals, SHARE_GAIN)
    if left:
        headline = replace(headline, note=f"Left out, mostly unanswered: {', '.join(left)}.")
    return headline


def _share_figures(
    part: _Part, points: pd.DataFrame, fit: ValidityCheck, level: float
) -> Iterator[Figure]:
    """Share of right known answers, share of the first group, and of written sentences, share that
    name a group.
    """
    right, n = part.known_counts
    wrote = part.figure == WRITTEN_GAIN
    if n:
        unit = "sentences" if wrote else "pairs"
        share_right = right / n
        yield Figure(KNOWN, share_right, n, unit, *wilson(share_right, n))
    bare_points = points[points["framing"] == BARE]
    named = bare_points[bare_points["share"].isin([0, 1])] if wrote else bare_points
    shares_by_figure = {
        WRITTEN_SHARE if wrote else SHARE: named.groupby("unit")["share"].mean().dropna()
    }
    if wrote:
        named_shares = 2 * (bare_points["share"] - 0.5).abs()
        shares_by_figure[NAMED] = named_shares.groupby(bare_points["unit"]).mean().dropna()
    for figure, by_unit in shares_by_figure.items():
        if len(by_unit):
            mean = mean_interval(by_unit.to_numpy(dtype=np.float64), level)
            low, high = finite_or_none(mean.low), finite_or_none(mean.high)
            share = Figure(figure, finite_or_none(mean.value), len(by_unit), UNIT, low, high)
            yield mark_by_validity(share, fit)

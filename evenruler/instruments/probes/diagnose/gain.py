"""The gain, headline of probes: how the score difference of two groups' words changes along the
attributes.

Attributes are no exchangeable units: office jobs are alike in their share of men and in every score
that a model gives them. So the criterion is randomised spectrally, which needs the likeness of
attributes: scores of a reference set, of the model itself or of a declared other one.

A chat model's choice, asked in both orders, scores a pair of words from -50 to 50 points, and so
does the pronoun of a sentence that it writes; the gain is computed from these scores as from
likelihoods, with pairs in place of words.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Tables
from evenruler.instruments.methods import choice, writing
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.ask import (
    CHOICE,
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
    LEAST_ALPHA,
    shared_words,
)
from evenruler.instruments.probes.declare.source import FEWEST_KEYED
from evenruler.instruments.probes.diagnose.quality import ScoreCube, mean_interval
from evenruler.measurement.facets import Estimate, Facet, UnitMask, jackknife_crossed
from evenruler.measurement.figures import Figure, as_rows, finite_or_none
from evenruler.measurement.inputs import Floats, wilson
from evenruler.measurement.nonresponse import MOST_UNANSWERED, all_equal_reason, mark_by_validity
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.slopes import AlikeUnits, key_weights, logit_positions, slope_weights
from evenruler.measurement.verdicts import HeadlineTest, ValidityCheck, judge_all
from evenruler.tables import concat_frames, row_hashes
from evenruler.tables.ids import content_sha256
from evenruler.tables.schemas import BARE

GAIN, SET_GAIN, SHARE_GAIN, WRITTEN_GAIN = "gain", "set_gain", "share_gain", "written_gain"
"""Gains of log-likelihoods, nats; of a template set where next words of other sentences give the
headline; and in percentage points, of shares of chosen sentences, and of pronouns in sentences that
a chat model wrote."""

UNANSWERED = "unanswered"
"""Gain of unanswered replies, percentage points; described."""

KNOWN, SHARE, WRITTEN_SHARE, NAMED = "known_answers", "chosen_share", "written_share", "named_share"
"""Figures of choices and of written sentences that are no gains."""

UNIT = "attributes"

BOUND = {GAIN: math.log(2), SHARE_GAIN: 10.0, WRITTEN_GAIN: 10.0}
"""X of `below X`: a factor of two; a tenth of the choices."""

REFERENCE, GENDERED = "reference", "gendered"
LIKENESS, COVARIATES = "likeness", "covariates"
"""Groups of the rows of pole 0 behind a headline: scores of attributes with nouns of a reference
set; with those of it that have a gendered gloss, which tell nothing of likeness; a declared model's
likeness of attributes; and letters and frequency of their words."""


@dataclass(frozen=True)
class Scores:
    """Scores of one model on one set, with what a gain needs: groups of words, an axis of
    attributes.
    """

    values: Floats
    """[attributes, templates, words] log-likelihoods, nats, signed by keying; or differences of
    pairs, or percentage points of choices."""
    axis: Floats
    """[attributes] the criterion in percent, or a key of 1 or -1."""
    poles: NDArray[np.int8]
    """[words] 1 or -1 by group; 1 for pairs of words."""
    lists: Sequence[str]
    """[words] the list within the group (pronouns, kin, names)."""
    units: Sequence[str] = ()
    """[attributes] names, needed to compare two models."""
    covariates: Floats | None = None
    """[attributes, covariates] letters and log frequency of the attribute."""
    likeness: Floats | None = None
    """[attributes, numbers] scores with the nouns of a reference set, or what a declared model has
    in their place; None where nothing tells how alike attributes are."""
    lacking: Mapping[str, int] = field(default_factory=dict)
    """By covariate that is left out, how many attributes lack it."""

    @classmethod
    def from_rows(cls, rows: pd.DataFrame, value: str = "value") -> "Scores":
        """From `rows` by `schemas.HEADLINES` (not empty), scores in column `value`; drops
        units with gaps.
        """
        wide = (
            rows[rows["pole"] != 0]
            .pivot(
                index=["unit", "axis_position"],
                columns=["at", "group", "word", "pole"],
                values=value,
            )
            .dropna()
        )
        wide = wide.sort_index().sort_index(axis=1)
        columns: Any = wide.columns
        words = columns.droplevel("at").unique()
        cells = wide.to_numpy(dtype=np.float64)
        scores = cells.reshape(len(wide), -1, len(words))
        axis = wide.index.get_level_values("axis_position").to_numpy(np.float64)
        poles = words.get_level_values("pole").to_numpy(np.int8)
        lists = list(words.get_level_values("group"))
        units = list(map(str, wide.index.get_level_values("unit")))
        likeness = _complete_traits(_trait_table(rows, units, (REFERENCE, LIKENESS), value))
        covariates = _trait_table(rows, units, (COVARIATES,), value)
        complete, lacking = _complete_traits(covariates), _count_lacking(covariates)
        return cls(scores, axis, poles, lists, units, complete, likeness, lacking)

    @property
    def keyed(self) -> bool:
        """Whether attributes have keys, and no criterion."""
        return set(np.unique(self.axis)) <= {1.0, -1.0}

    def describe_lacking(self) -> str | None:
        """Which covariates are left out of a gain along a criterion; None where none is."""
        if self.keyed or not self.lacking:
            return None
        sentences: list[str] = []
        for name, n_lacking in self.lacking.items():
            covariate = name.replace("_", " ")
            missing = f"missing for {n_lacking} of {len(self.axis)} {UNIT}"
            sentences.append(f"Not at equal {covariate}, {missing}.")
        return " ".join(sentences)

    def weights(self, mask: UnitMask) -> Floats:
        """Weights by which scores of the kept attributes give the gain."""
        if self.keyed:
            return key_weights(self.axis[mask])
        rows = None if self.covariates is None else self.covariates[mask]
        return slope_weights(logit_positions(self.axis[mask]), rows)

    @property
    def alike_units(self) -> AlikeUnits | None:
        """The attributes on their criterion; None without likeness, and for keys."""
        if self.keyed or self.likeness is None or len(self.axis) < FEWEST_UNITS:
            return None
        return AlikeUnits(logit_positions(self.axis), self.likeness, self.covariates)

    @property
    def differences(self) -> Floats:
        """[attributes] score of the first group's words less that of the other, over templates."""
        first, other = self.poles == 1, self.poles == -1
        difference: Floats = self.values[:, :, first].mean(axis=(1, 2))
        if other.any():
            difference = difference - self.values[:, :, other].mean(axis=(1, 2))
        return difference

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
        along[attributes] = self.weights(attributes)
        first = words & (self.poles == 1)
        other = words & (self.poles == -1)
        between = first / first.sum() - other / max(other.sum(), 1)
        return float(along @ (self.values @ between) @ (templates / templates.sum()))

    def gain_over(self, facets: Mapping[str, Facet]) -> Estimate:
        """The gain, with its error over `facets` as random; the others are fixed."""
        every = [np.ones(n, np.bool_) for n in self.values.shape]
        whole = dict(zip(("attributes", "templates", "words"), every, strict=True))

        def amount(*masks: UnitMask) -> float:
            """The gain of the units that masks keep: one mask for each of `facets`, in order."""
            return self.gain(**{**whole, **dict(zip(facets, masks, strict=True))})

        return jackknife_crossed(amount, list(facets.values()))


def _trait_table(
    rows: pd.DataFrame, units: Sequence[str], groups: Sequence[str], value: str
) -> pd.DataFrame:
    """The rows of pole 0 of some groups, a row a unit, a column for each group and word."""
    is_trait = (rows["pole"] == 0) & rows["group"].isin(groups)
    wide = rows[is_trait].pivot(index="unit", columns=["group", "word"], values=value)
    return wide.reindex(list(units)).sort_index(axis=1)


def _complete_traits(table: pd.DataFrame) -> Floats | None:
    """[units, numbers] those that every unit has; None where there are none."""
    complete = table.dropna(axis=1)
    return complete.to_numpy(dtype=np.float64) if complete.shape[1] else None


def _count_lacking(table: pd.DataFrame) -> dict[str, int]:
    """How many units lack a trait that others have, by its word."""
    counts = table.isna().sum().droplevel("group")
    return {str(word): int(n) for word, n in counts.items() if n}


NO_NULL_OF_KEYS = (
    "its words differ most along its two keys, so no randomisation tells the keys apart"
)
NO_LIKENESS = "no reference set was asked that tells how alike its attributes are"
"""Why a gain has no null."""


def gain_headline(scores: Scores, figure: str = GAIN, bound: float | None = None) -> HeadlineTest:
    """The gain of the first group's words over the other's: nats (`exp` of it is a factor), or
    points of shares.

    `figure`: of `BOUND`; `bound`: X of `below X`, by default as there.
    Source: docs/formulas.md; the criterion as in section 4 of PMPO.
    """
    bound = BOUND[figure] if bound is None else bound
    facets = scores.facets()
    if len(scores.lists) == 1:  # a single word is fixed
        del facets["words"]
    levels = {name: len(facet.lists) for name, facet in facets.items()}
    few = _too_few(scores, facets)
    if few:
        return HeadlineTest(figure, UNIT, levels, None, bound, no_verdict=few)
    effect = scores.gain_over(facets)
    no_null = NO_NULL_OF_KEYS if scores.keyed else NO_LIKENESS
    headline = HeadlineTest(
        figure,
        UNIT,
        levels,
        effect.interval(),
        bound,
        no_null=no_null,
        no_verdict=_why_no_verdict(scores),
        detects=finite_or_none(effect.detectable()),
        note=scores.describe_lacking(),
    )
    units = scores.alike_units
    if units is None:
        return headline
    over_rest = {name: facet for name, facet in facets.items() if name != UNIT}
    half = scores.gain_over(over_rest).interval().high - effect.value if over_rest else 0.0
    test = units.test_criterion(scores.differences, half, effect.interval(), UNIT, RANDOMISATIONS)
    return replace(
        headline,
        effect=test.effect,
        no_null=None,
        p=test.p,
        null=test.null,
        detects=test.detects,
    )


RANDOMISATIONS = 9999


def gain_beyond_rivals(scores: Scores, rival: Scores, level: float) -> Figure:
    """How much more keyed attributes of the construct gain than rivals off it, keyed alike."""
    n, facets = len(scores.axis), scores.facets()
    reason = _too_few(scores, facets)
    if reason:
        return Figure(BEYOND_RIVALS, None, n, UNIT, reason=reason)
    # without `groups` in the plan, poles of rivals may be swapped
    rival = replace(rival, poles=scores.poles)
    keys = [f"of the construct {key}" for key in scores.axis]
    rival_keys = [f"rival {key}" for key in rival.axis]
    facets["attributes"] = Facet([*keys, *rival_keys])

    def beyond(attributes: UnitMask, templates: UnitMask, words: UnitMask) -> float:
        """The construct's gain less that of rivals; `attributes` masks attributes, then rivals."""
        of_construct = scores.gain(attributes[:n], templates, words)
        return of_construct - rival.gain(attributes[n:], templates, words)

    interval = jackknife_crossed(beyond, list(facets.values())).interval(level)
    return Figure(BEYOND_RIVALS, interval.value, n, UNIT, interval.low, interval.high)


BEYOND_RIVALS = "gain_beyond_rivals"


def contrast(first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
    """How much larger the gain of one model is than that of another, over what both were asked.

    In nats a more confident model gains more with any words, so `detected` must hold twice: for the
    scores, and for scores that are divided by the model's sharpness (how far attributes lie apart
    with nouns of the reference set) and multiplied by the mean of both. The p is the larger one,
    and both intervals have to leave out 0. The likeness of attributes is that of both models.

    `first` and `second`: rows of one set on two models, by `schemas.HEADLINES`; what one lacks is
    left out. `bound`: X of `below X`, in the unit of the figure.
    Source: docs/formulas.md.
    """
    key = ["unit", "at", "word", "group", "pole", "axis_position"]
    both = first.merge(second, on=key, suffixes=("_first", "_second"), validate="one_to_one")
    figure = str(first["figure"].iloc[0]) if len(first) else GAIN
    if (both["pole"] == 0).all():
        lacking = "no sentence that both were asked"
        return HeadlineTest(figure, UNIT, {UNIT: 0}, None, bound, no_verdict=lacking)
    left, right = (Scores.from_rows(both, side) for side in ("value_first", "value_second"))
    likeness = _likeness_of_both(left, right)
    raw = replace(left, values=left.values - right.values, likeness=likeness)
    headline = gain_headline(raw, figure, bound)
    if figure != GAIN or headline.p is None:
        return headline
    sharpness = [measure_sharpness(scores) for scores in (left, right)]
    mean_sharpness = sum(sharpness) / 2
    difference = left.values / sharpness[0] - right.values / sharpness[1]
    scaled = mean_sharpness * difference
    at_equal = gain_headline(replace(raw, values=scaled), figure, bound)
    assert at_equal.effect is not None  # as `headline` has one
    assert at_equal.p is not None
    effect = at_equal.effect
    ends = f"[{effect.low:.2g}, {effect.high:.2g}]"
    note = f"At equal sharpness it is {effect.value:.2g} {ends}, p {at_equal.p:.2g}."
    null = f"{headline.null}, raw and at equal sharpness"
    return replace(
        headline,
        also_required={"at equal sharpness": effect},
        p=max(headline.p, at_equal.p),
        null=null,
        note=" ".join(filter(None, [headline.note, note])),
    )


def _likeness_of_both(first: Scores, second: Scores) -> Floats | None:
    """[attributes, numbers] the likeness of attributes to two models, each at its own sharpness."""
    if first.likeness is None or second.likeness is None:
        return None
    of_first = first.likeness / measure_sharpness(first)
    of_second = second.likeness / measure_sharpness(second)
    return np.concatenate([of_first, of_second], axis=1)


def measure_sharpness(scores: Scores) -> float:
    """SD over attributes of scores with a noun, a root mean square over the nouns of the reference
    set; nats.
    """
    assert scores.likeness is not None
    return float(np.sqrt(scores.likeness.var(axis=0, ddof=1).mean()))


DETECTS = "detects"


def detectable_at_common_length(target_scores: Scores) -> float | None:
    """Minimum detectable gain (power .8) with `COMMON_LENGTH` templates like these, nats.

    By its interval alone. Sets whose scores all vary little have small values too, so read it with
    a reliability coefficient. A single word per group is taken as fixed.

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


def _too_few(target_scores: Scores, facets: Mapping[str, Facet]) -> str | None:
    """Why no gain can be computed, in words, or None."""
    axis = target_scores.axis
    positions = axis if target_scores.keyed else logit_positions(axis)
    if np.ptp(positions) == 0 or len(axis) < FEWEST_UNITS:
        return (
            f"{len(target_scores.axis)} attributes along its axis (at least {FEWEST_UNITS} needed) "
            "that differ"
        )
    single = [name for name, facet in facets.items() if _count_fewest_levels(facet) < 2]
    return f"a single level of {single[0]}, so its variation is unknown" if single else None


def _why_no_verdict(scores: Scores) -> str | None:
    """Why a gain that was computed is only described, in words, or None."""
    axis = scores.axis
    if scores.keyed:
        n_high, n_low = int((axis > 0).sum()), int((axis < 0).sum())
        fewest = min(n_high, n_low)
        least, what = FEWEST_KEYED, "attributes of one key"
    else:
        fewest = len(axis)
        least, what = FEWEST_ATTRIBUTES, "attributes"
    return f"{fewest} {what} (at least {least} needed)" if fewest < least else None


def check_validity(
    cube: ScoreCube, items: pd.DataFrame, alpha: Figure, floor: float = LEAST_ALPHA
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
    traits = trait_rows(tables["attributes"])
    for part in read_parts(tables, plan, scores):
        points, left = _percentage_points(part.questions)
        same = all_equal_reason(points.loc[points["framing"] == BARE, "value"], "choices")
        fit = ValidityCheck(failure=same) if same and part.fit.failure is None else part.fit
        targets = points[points["framing"] == BARE]
        made_of = concat_frames([targets, traits[traits["unit"].isin(targets["unit"])]])
        headline = _part_gain_headline(part.figure, made_of, left)
        figures.append((replace(headline, dimensions=part.dimensions), fit))
        headline_rows = made_of.assign(
            figure=part.figure,
            model=model,
            **part.dimensions,
            rows=made_of["unit"].map(part.rested_on),
        )
        headlines.append(headline_rows.reindex(columns=schemas.HEADLINES.names))
        described = [
            *_share_figures(part, points, fit, level),
            *_reply_figures(part, points, level),
        ]
        for figure in described:
            figures.append((replace(figure, dimensions=part.dimensions), ValidityCheck()))
    figure_table = pd.DataFrame(as_rows(judge_all(figures), name, model))
    return {
        "figures": figure_table.reindex(columns=schemas.FIGURES.names),
        "headlines": concat_frames(headlines),
    }


def trait_rows(attributes: pd.DataFrame) -> pd.DataFrame:
    """Rows of pole 0 behind a headline, from the published `attributes`: letters and log frequency
    of each, where there is a criterion, and a declared model's likeness.
    """
    rows: list[dict[str, object]] = []
    for row in attributes[attributes["criterion"].notna()].to_dict("records"):
        unit = {"unit": row["attribute"], "axis_position": row["criterion"], "pole": 0, "at": None}
        of_word = {**unit, "group": COVARIATES}
        rows.append({**of_word, "word": "letters", "value": float(len(row["word"]))})
        if not pd.isna(row["log_frequency"]):
            rows.append({**of_word, "word": "log_frequency", "value": row["log_frequency"]})
        likeness = row["likeness"]
        for place, number in enumerate([] if likeness is None else likeness):
            component = {**unit, "group": LIKENESS, "word": f"component {place + 1}"}
            rows.append({**component, "value": float(number)})
    columns = ["unit", "axis_position", "pole", "at", "group", "word", "value"]
    return pd.DataFrame(rows, columns=columns).astype({"pole": "int8", "value": float})


def _reply_figures(part: "_Part", points: pd.DataFrame, level: float) -> Iterator[Figure]:
    """The gain of unanswered replies, and how much more the construct gains than rivals."""
    silence = part.questions[part.questions["framing"] == BARE]
    silence = silence.assign(value=100 * silence["unanswered"], pole=1)
    scores = Scores.from_rows(silence)
    facets = {name: facet for name, facet in scores.facets().items() if len(facet.lists) > 1}
    if _too_few(scores, facets) is None:
        interval = scores.gain_over(facets).interval(level)
        yield Figure(
            UNANSWERED, interval.value, len(scores.axis), UNIT, interval.low, interval.high
        )
    targets, rivals = (points[points["framing"] == framing] for framing in (BARE, RIVAL))
    if len(targets) and len(rivals):
        rival_scores = Scores.from_rows(rivals)
        yield gain_beyond_rivals(Scores.from_rows(targets), rival_scores, level)


def _choice_parts(tables: Tables, plan: ProbePlan, scores: Tables) -> Iterator[_Part]:
    """A part for each template set: its questions, the chat's share of choices of the first group's
    word, and whether its choices between pairs of known answer are right.
    """
    choices = scores[choice.TABLE]
    answered_questions = choice_questions(tables, plan).merge(
        choice.choice_shares(choices), on=["id", "framing"]
    )
    answered_questions = answered_questions.rename(columns={"attribute": "unit", "template": "at"})
    answered_questions["pole"] = np.int8(1)
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
    """The only part of written sentences: `share` is 1 where pronouns are of the first group, 0
    where of the second, .5 where of neither.
    """
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

    Left out are attributes with more than half of the replies unanswered, and words without any
    choice in some template. Other missing values are imputed: the mean of their template and words,
    plus the mean deviation of the attribute from such means.
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
    words = answered_rows["word"]
    unknown = sorted(set(words[of_cell.isna()]))
    of_unit = (
        (value - of_cell)
        .groupby([answered_rows["framing"], answered_rows["unit"]])
        .transform("mean")
        .fillna(0.0)
    )
    points = answered_rows.assign(value=value.fillna(of_cell + of_unit))
    return points[~words.isin(unknown)], [*left, *unknown]


def _part_gain_headline(figure: str, made_of: pd.DataFrame, left: list[str]) -> HeadlineTest:
    """The gain of choices or sentences with its test; its note names `left`, the attributes and
    words left out. No verdict where no attribute remains.
    """
    if (made_of["pole"] == 0).all():
        few = "no attribute with at least half of its choices answered"
        return HeadlineTest(figure, UNIT, {UNIT: 0}, None, BOUND[figure], no_verdict=few)
    headline = gain_headline(Scores.from_rows(made_of), figure)
    if left:
        note = f"Left out, mostly unanswered: {', '.join(left)}."
        headline = replace(headline, note=" ".join(filter(None, [headline.note, note])))
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

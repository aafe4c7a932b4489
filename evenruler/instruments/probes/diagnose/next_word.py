"""The headline of probes: the gain of matched pairs after sentences that end before a noun, with
its positive control, and among all themes of the reference set.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import Tables
from evenruler.instruments.methods.next_word import REFERENCE_SET, NextWordScores, list_words
from evenruler.instruments.probes.declare.plan import NextWordPlan
from evenruler.instruments.probes.diagnose import gain
from evenruler.instruments.probes.diagnose.gain import GAIN, GENDERED, REFERENCE, UNIT, Scores
from evenruler.instruments.probes.schemas import ATTRIBUTE_KIND, CONTROL, NEXT_WORD
from evenruler.measurement.facets import Facet
from evenruler.measurement.figures import Figure
from evenruler.measurement.inputs import ALPHA, Floats
from evenruler.measurement.nonresponse import all_equal_reason
from evenruler.measurement.randomisation import likeness_basis, randomise_criterion
from evenruler.measurement.references import (
    compute_draws,
    group_themes,
    rate_same_test,
    theme_percentile,
)
from evenruler.measurement.slopes import (
    AlikeUnits,
    estimate_gain,
    logit_positions,
    slope_weights,
    spectral_gain,
    weigh_keys,
)
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PositiveControl,
    ReferenceComparison,
    ValidityCheck,
)
from evenruler.tables import concat_frames

EQUAL_THEMES, BELOW_MEDIAN, ABOVE_MEDIAN = "gain_at_equal_themes", "gain_below", "gain_above"
WITHOUT_TEN, OF_PAIR, OF_SENTENCE, DRAW = (
    "gain_without_ten",
    "pair_gain",
    "sentence_gain",
    "percentile",
)
"""Figures beside the gain: with the first themes of the reference set as covariates; its slopes
below and above the median of the criterion; without the ten attributes that carry most of it; of a
single pair or sentence; and its percentile over other cuts of the reference set."""

N_THEMES, N_LEFT_OUT, N_NAMED = 5, 10, 6
"""Components of the themes that are covariates; attributes that are left out, and that are named."""

PAIRS_OF_THEMES, THEME_RANDOMISATIONS = 100, 999

FEWEST_PAIRS = 4
"""Fewest pairs that a tokenizer makes single tokens of; below it, nothing is computed."""


@dataclass(frozen=True)
class NextWordFigures:
    """What the next words of one model give."""

    headline: HeadlineTest
    validity: ValidityCheck
    described: Sequence[Figure]
    made_of: pd.DataFrame
    """The rows behind the headline, by `schemas.HEADLINES` without the columns that identify it."""
    sentences: pd.DataFrame
    """The published sentences of attributes, by which a headline's rows are known."""


@dataclass(frozen=True)
class NextWordDesign:
    """The scores of attributes, with all that a gain needs."""

    scores: NextWordScores
    pairs: list[tuple[str, str]]
    """Those of which both words are one token."""
    positions: Floats
    """[attributes] `logit_positions` of the criterion."""
    covariates: Floats | None
    likeness: Floats
    """[attributes, nouns] mean over sentences, of nouns without a gendered gloss."""
    nouns: pd.DataFrame
    """The nouns of the reference set that can be compared, by `schemas.NOUNS`."""

    @property
    def differences(self) -> Floats:
        """[attributes, sentences, pairs] nats of the first word less the second."""
        return _pair_differences(self.scores, self.pairs)

    @property
    def alike_units(self) -> AlikeUnits:
        """The attributes on their criterion."""
        return AlikeUnits(self.positions, self.likeness, self.covariates)


def next_word_figures(tables: Tables, plan: NextWordPlan, answers: pd.DataFrame) -> NextWordFigures:
    """The headline of the form `next-word` of one model, and what is described beside it.

    `tables`: `attributes`, `stems` and `nouns`, by their schemas; `answers`: by
    `methods.next_word.ANSWERS`.
    """
    words = list_words(tables["nouns"], plan["pairs"])
    sentences = tables["stems"]
    is_attribute = sentences["kind"] == ATTRIBUTE_KIND
    scores = NextWordScores.from_answers(answers, sentences[is_attribute], words)
    pairs = [(first, second) for first, second in plan["pairs"] if scores.has(first, second)]
    made_of = headline_rows(tables, scores, pairs)
    if len(pairs) < FEWEST_PAIRS:
        few = f"its tokenizer makes single tokens of {len(pairs)} pairs (at least {FEWEST_PAIRS})"
        headline = HeadlineTest(
            GAIN, UNIT, {UNIT: len(scores.units)}, None, gain.BOUND[GAIN], no_verdict=few
        )
        return NextWordFigures(headline, ValidityCheck(), [], made_of, sentences[is_attribute])
    design = build_design(tables, scores, pairs, made_of)
    headline = gain.gain_headline(Scores.from_rows(made_of))
    if headline.effect is None:  # too few attributes for a slope
        return NextWordFigures(headline, ValidityCheck(), [], made_of, sentences[is_attribute])
    n_sentences, n_pairs = len(scores.sentences), len(pairs)
    facets = {UNIT: len(scores.units), "sentences": n_sentences, "pairs": n_pairs}
    carriers = f"Most is carried by {', '.join(name_carriers(design))}."
    headline = replace(
        headline,
        facets=facets,
        control=measure_control(tables, plan, answers, words),
        compared=compare_with_themes(design, headline),
        note=" ".join(filter(None, [headline.note, carriers])),
    )
    same = all_equal_reason(design.differences.mean(axis=2), f"attributes in {NEXT_WORD}")
    described = list(describe_gain(design, headline))
    validity = ValidityCheck(failure=same)
    return NextWordFigures(headline, validity, described, made_of, sentences[is_attribute])


def headline_rows(
    tables: Tables, scores: NextWordScores, pairs: Sequence[tuple[str, str]]
) -> pd.DataFrame:
    """The rows behind the headline: differences of pairs, and as rows of pole 0 the mean of each
    attribute with each noun of the reference set, and its covariates.
    """
    attributes = tables["attributes"].set_index("attribute")
    criterion = attributes["criterion"].reindex(scores.units).to_numpy(dtype=np.float64)
    names = [f"{first}/{second}" for first, second in pairs]
    index = pd.MultiIndex.from_product(
        [scores.units, scores.sentences, names], names=["unit", "at", "word"]
    )
    differences = _pair_differences(scores, pairs)
    of_pairs = index.to_frame(index=False).assign(
        value=differences.ravel(), group="pairs", pole=np.int8(1)
    )
    table = _comparable_nouns(tables, scores)
    nouns, is_gendered = table["noun"].tolist(), table.set_index("noun")["gendered"]
    index = pd.MultiIndex.from_product([scores.units, nouns], names=["unit", "word"])
    of_nouns = index.to_frame(index=False).assign(
        value=scores.take(nouns).mean(axis=1).ravel(), pole=np.int8(0), at=None
    )
    of_nouns["group"] = of_nouns["word"].map(is_gendered).map({False: REFERENCE, True: GENDERED})
    rows = concat_frames([of_pairs, of_nouns])
    criterion_by_unit = dict(zip(scores.units, criterion, strict=True))
    rows["axis_position"] = rows["unit"].map(criterion_by_unit)
    traits = gain.trait_rows(tables["attributes"])
    is_covariate = traits["group"] == gain.COVARIATES
    is_read = traits["unit"].isin(scores.units)
    return concat_frames([rows, traits[is_covariate & is_read]])


def _pair_differences(scores: NextWordScores, pairs: Sequence[tuple[str, str]]) -> Floats:
    """[attributes, sentences, pairs] nats of each pair's first word less those of its second."""
    first = scores.take([pair[0] for pair in pairs])
    second = scores.take([pair[1] for pair in pairs])
    return first - second


def _comparable_nouns(tables: Tables, scores: NextWordScores) -> pd.DataFrame:
    """The nouns of the reference set that are one token, and no attribute."""
    nouns = tables["nouns"]
    is_attribute = nouns["noun"].isin(tables["attributes"]["word"])
    return nouns[nouns["noun"].isin(scores.words) & ~is_attribute].reset_index(drop=True)


def build_design(
    tables: Tables,
    scores: NextWordScores,
    pairs: list[tuple[str, str]],
    made_of: pd.DataFrame,
) -> NextWordDesign:
    """The scores of attributes with what a gain needs; `made_of`: by `headline_rows`."""
    whole = Scores.from_rows(made_of)
    nouns = _comparable_nouns(tables, scores)
    neutral = nouns.loc[~nouns["gendered"], "noun"].tolist()
    likeness = scores.take(neutral).mean(axis=1)
    positions = logit_positions(whole.axis)
    return NextWordDesign(scores, pairs, positions, whole.covariates, likeness, nouns)


def measure_control(
    tables: Tables, plan: NextWordPlan, answers: pd.DataFrame, words: Sequence[str]
) -> PositiveControl | None:
    """The positive control: the same pairs after words whose group is their meaning.

    Pairs that hold such a word are left out. Words are no sample of anything else, so keys are
    permuted freely. None where too few pairs are left.
    """
    sentences = tables["stems"]
    sentences = sentences[sentences["kind"] == CONTROL]
    scores = NextWordScores.from_answers(answers, sentences, words)
    control_words = set(sentences["word"])
    pairs: list[tuple[str, str]] = []
    for first, second in plan["pairs"]:
        if scores.has(first, second) and not {first, second} & control_words:
            pairs.append((first, second))
    if len(pairs) < FEWEST_PAIRS:
        return None
    key_by_unit = sentences.drop_duplicates("unit").set_index("unit")["key"]
    keys = key_by_unit.reindex(scores.units).to_numpy(dtype=np.float64)
    differences = _pair_differences(scores, pairs)
    effect = estimate_gain(differences, weigh_keys(keys), Facet([int(key) for key in keys]))
    test = randomise_criterion(differences.mean(axis=(1, 2)), keys, None, units="words")
    return PositiveControl(plan["control"], effect.interval(), test.p)


def compare_with_themes(
    design: NextWordDesign, headline: HeadlineTest
) -> ReferenceComparison | None:
    """The gain among those of all pairs of themes, and how often its test detects one of them."""
    effect = headline.effect
    themes = group_themes(design.nouns)
    if effect is None or themes["theme"].nunique() < 2:
        return None
    n_themes = themes["theme"].nunique()
    rows = themes.assign(slope=_noun_slopes(design, themes["noun"].tolist()))
    same_test = rate_same_test(
        lambda first, second: detects_themes(design, first, second),
        rows,
        most_pairs=PAIRS_OF_THEMES,
        most_words=len(design.pairs),
    )
    percentile = theme_percentile(effect.value, rows)
    n_pairs = n_themes * (n_themes - 1) // 2
    return ReferenceComparison(REFERENCE_SET, n_pairs, percentile, same_test.share)


def _noun_slopes(design: NextWordDesign, nouns: Sequence[str]) -> Floats:
    """[nouns] the slope of each noun's scores along the criterion, nats."""
    weights = slope_weights(design.positions, design.covariates)
    slopes: Floats = weights @ design.scores.take(nouns).mean(axis=1)
    return slopes


def detects_themes(design: NextWordDesign, first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the headline's test detects a gain of nouns of one theme over those of another."""
    of_first = design.scores.take(list(first))
    differences = of_first - design.scores.take(list(second))
    units = design.alike_units
    test = randomise_criterion(
        differences.mean(axis=(1, 2)),
        units.positions,
        units.spectral_basis,
        units.covariates,
        n=THEME_RANDOMISATIONS,
    )
    if test.p > ALPHA:
        return False
    interval = spectral_gain(units, differences)
    return interval.low > 0 or interval.high < 0


def name_carriers(design: NextWordDesign) -> list[str]:
    """The attributes that carry most of the gain, the most first."""
    return [design.scores.units[place] for place in _order_by_share(design)[:N_NAMED]]


def _order_by_share(design: NextWordDesign) -> list[int]:
    """Places of the attributes, that with the largest share of the gain first."""
    means = design.differences.mean(axis=(1, 2))
    weights = slope_weights(design.positions, design.covariates)
    shares = np.abs(weights * (means - means.mean()))
    return [int(place) for place in np.argsort(-shares, kind="stable")]


def describe_gain(design: NextWordDesign, headline: HeadlineTest) -> Iterator[Figure]:
    """The figures beside the gain, nats; percentiles in percent."""
    differences, units = design.differences, design.alike_units
    positions, covariates = units.positions, units.covariates
    themes = group_themes(design.nouns)
    if themes["theme"].nunique() > N_THEMES:
        with_themes = _stack_covariates(covariates, theme_components(design, themes))
        yield _gain_figure(EQUAL_THEMES, replace(units, covariates=with_themes), differences)
    median = float(np.median(positions))
    below = np.minimum(positions - median, 0)
    above = np.maximum(positions - median, 0)
    with_above = _stack_covariates(covariates, above[:, None])
    below_units = replace(units, positions=below, covariates=with_above)
    yield _gain_figure(BELOW_MEDIAN, below_units, differences)
    with_below = _stack_covariates(covariates, below[:, None])
    above_units = replace(units, positions=above, covariates=with_below)
    yield _gain_figure(ABOVE_MEDIAN, above_units, differences)
    if len(differences) > 2 * N_LEFT_OUT:
        stays = np.ones(len(differences), dtype=np.bool_)
        stays[_order_by_share(design)[:N_LEFT_OUT]] = False
        yield _gain_figure(WITHOUT_TEN, units.take_units(stays), differences[stays])
    weights = slope_weights(design.positions, design.covariates)
    slopes = np.tensordot(weights, differences, axes=1)
    n = len(differences)
    for place, (first, second) in enumerate(design.pairs):
        value = float(slopes[:, place].mean())
        yield Figure(OF_PAIR, value, n, UNIT, dimensions={"pair": f"{first}/{second}"})
    for place, sentence in enumerate(design.scores.sentences):
        value = float(slopes[place].mean())
        yield Figure(OF_SENTENCE, value, n, UNIT, dimensions={"template": sentence})
    if headline.effect is not None:
        nouns = design.nouns.assign(slope=_noun_slopes(design, design.nouns["noun"].tolist()))
        for draw in compute_draws(headline.effect.value, nouns).to_dict("records"):
            percentile = None if np.isnan(draw["percentile"]) else float(draw["percentile"])
            reason = "too few themes" if percentile is None else None
            yield Figure(
                DRAW,
                percentile,
                int(draw["themes"]),
                "themes",
                reason=reason,
                dimensions={"cut": draw["name"]},
            )


def theme_components(design: NextWordDesign, themes: pd.DataFrame) -> Floats:
    """[attributes, components] the first ways in which themes of the reference set differ over
    attributes.
    """
    means: list[Floats] = []
    for _, nouns in themes.groupby("theme", sort=True)["noun"]:
        means.append(design.scores.take(nouns.tolist()).mean(axis=(1, 2)))
    table = np.stack(means, axis=1)
    return likeness_basis(table)[:, :N_THEMES]


def _stack_covariates(covariates: Floats | None, more: Floats) -> Floats:
    """[attributes, covariates] with the columns of `more` last; `covariates`: None for none."""
    return more if covariates is None else np.column_stack([covariates, more])


FEWEST_FREE = 2
"""Attributes that a gain needs more than there are covariates."""


def _gain_figure(name: str, units: AlikeUnits, differences: Floats) -> Figure:
    """The gain along the units' criterion in nats, with its 95% interval; without a number where
    the criterion cannot vary beside the covariates.
    """
    n_attributes = len(differences)
    n_covariates = 0 if units.covariates is None else units.covariates.shape[1]
    if n_attributes <= n_covariates + FEWEST_FREE:
        reason = f"{n_attributes} attributes are too few beside {n_covariates} covariates"
        return Figure(name, None, n_attributes, UNIT, reason=reason)
    interval = spectral_gain(units, differences)
    return Figure(name, interval.value, n_attributes, UNIT, interval.low, interval.high)

"""Studies with a planted truth, 200 draws each from a fixed seed: guards of the error of .05, of
which 2,000 draws are in `studies.error_rates` (section 12 of the specification of controls).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from evenruler.instruments.probes.diagnose.gain import Scores, gain_headline
from evenruler.measurement.randomisation import randomise_criterion
from evenruler.measurement.slopes import logit_positions
from studies.planted import framing, probes, questionnaires, saged
from studies.planted.cases import Case, Outcome, Random, share_of
from studies.planted.probes import (
    MODELS,
    NEXT_WORD,
    ProbeStudy,
    estimate_gain_over,
    independent,
    quick_gains,
    smooth,
)

DRAWS, LIMIT = 200, 0.09

PLAIN = ProbeStudy()


def rate(draw: Callable[[Random], Outcome], outcome: str = "false_detected") -> float:
    """The share of draws with an outcome."""
    return share_of(Case("guard", "", draw).draw_studies(0, DRAWS), outcome)


def share_detected(study: ProbeStudy, is_detected: Callable[[Scores], bool]) -> float:
    """The share of draws in which a rule of a test's own detects something."""
    random = np.random.default_rng(1)
    detected = [is_detected(study.draw_scores(random)) for _ in range(DRAWS)]
    return float(np.mean(detected))


@pytest.mark.parametrize("has_covariate", [True, False])
def test_gains_in_closed_form_are_the_crossed_jackknife(has_covariate: bool) -> None:
    study = replace(PLAIN, sentences=5, pairs=4, gain=1.0, has_covariate=has_covariate)
    scores = study.draw_scores(np.random.default_rng(3))
    facets = scores.facets()
    for names in (list(facets), ["templates", "words"]):
        chosen = {name: facets[name] for name in names}
        quick, slow = estimate_gain_over(scores, chosen), scores.gain_over(chosen)
        assert quick.value == pytest.approx(slow.value)
        assert quick.variance == pytest.approx(slow.variance)
        assert quick.df == pytest.approx(slow.df)


def test_slopes_that_scatter_are_detected_by_a_randomisation_alone() -> None:
    """Test 1: what the interval is for."""
    study = ProbeStudy(independent, MODELS["S"])

    def is_small(scores: Scores) -> bool:
        with quick_gains():
            p = gain_headline(scores).p
        return p is not None and p <= 0.05

    assert rate(study.draw) <= LIMIT
    assert share_detected(study, is_small) > 0.15


def test_alike_units_are_detected_by_a_free_permutation() -> None:
    """Test 1b: what the spectral randomisation is for."""

    def is_small(scores: Scores) -> bool:
        positions = logit_positions(scores.axis)
        return randomise_criterion(scores.differences, positions, None, n=499).p <= 0.05

    assert rate(PLAIN.draw) <= LIMIT
    assert share_detected(PLAIN, is_small) > 0.15


def test_a_gain_of_1_34_nats_is_detected_and_never_below() -> None:
    """Test 2."""
    study = replace(PLAIN, gain=1.34)
    outcomes = Case("guard", "", study.draw).draw_studies(0, DRAWS)
    assert share_of(outcomes, "detected") >= 0.75
    assert share_of(outcomes, "false_below") == 0
    assert share_of(outcomes, "covers") >= 0.91


def test_what_frequency_moves_is_detected_without_its_covariate() -> None:
    """Test 4."""
    study = ProbeStudy(partial(smooth, rough_frequency=False), NEXT_WORD["G"])
    follows = replace(study, follows_frequency=True, has_covariate=True)
    assert rate(follows.draw) <= LIMIT
    assert rate(replace(follows, has_covariate=False).draw) > 0.1


@pytest.mark.parametrize("hostile", ["six skewed sectors", "one occupation 6 SD off"])
def test_hostile_occupations_are_rarely_detected(hostile: str) -> None:
    assert rate(probes.studies_of(NEXT_WORD["G"])[hostile].draw) <= LIMIT


def test_a_dull_model_is_never_below() -> None:
    """Its positive control does not reach the bound."""
    study = replace(PLAIN, scale=0.01)
    assert rate(study.draw, "false_below") == 0


@pytest.mark.parametrize(
    "planted", ["the cue as any sentence", "heavy tails", "a grammar of 16 verbs x 16 things"]
)
def test_a_cue_like_any_sentence(planted: str) -> None:
    """Test 14, through the family's test."""
    assert rate(framing.list_studies()[planted].draw) <= LIMIT


def test_a_cue_at_the_bound_is_not_below() -> None:
    study = framing.list_studies()["the cue by 10 points more, SD 1"]
    assert rate(study.draw, "false_below") <= LIMIT


@pytest.mark.parametrize("planted", ["I as any subject", "heavy tails, unequal items", "skew"])
def test_i_among_subjects_that_are_drawn_alike(planted: str) -> None:
    """Test 12, of the rank that took the place of labels within items."""
    outcomes = Case("guard", "", questionnaires.list_studies()[planted].draw).draw_studies(0, DRAWS)
    assert share_of(outcomes, "false_detected") <= LIMIT
    assert share_of(outcomes, "names_another") <= LIMIT


def test_half_a_point_about_i_is_not_below() -> None:
    study = questionnaires.list_studies()["I 0.5 points higher"]
    assert rate(study.draw, "false_below") <= LIMIT


def test_a_control_that_nothing_moves_is_rarely_detected() -> None:
    study = questionnaires.list_controls()["skew, variances 1 to 25"]
    assert rate(study.draw) <= LIMIT


@pytest.mark.parametrize("planted", ["names vary .06, t(3)", "one known name odd"])
def test_a_declared_name_that_is_one_of_forty(planted: str) -> None:
    """Test 18."""
    assert rate(saged.declared_studies()[planted].draw) <= LIMIT

"""A known truth, planted in scores by a formula, comes out as what it is; and where nothing is, nothing is found."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from evenruler.instruments.probes.declare import Criterion
from evenruler.instruments.probes.diagnose import diagnose
from evenruler.instruments.probes.diagnose.confirmatory import confirmatory
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement import Figure
from evenruler.measurement.verdicts import Fitness, judge
from tests.instruments.probes.conftest import frames, scores_of
from tests.instruments.probes.known import PLAN, RESAMPLING, figures_of

ATTRIBUTES = [f"job{place:02}" for place in range(50)]
TEMPLATES = [f"t{place}" for place in range(8)]
TARGETS = {
    "men": ["man", "male", "he", "boy", "brother", "son"],
    "women": ["woman", "female", "she", "girl", "sister", "daughter"],
}
POLES = np.repeat([1, -1], 6)
TOKENS = np.array([1, 2, 1, 1, 2, 1, 2, 3, 1, 1, 3, 3])
PER_TOKEN = -2.5
"""Nats of a token more: so much that women's targets are 2.1 nats less likely in every sentence."""

DRAWS = 200


@dataclass(frozen=True)
class Truth:
    """Standard deviations, nats, of what scores are added up of."""

    attributes: float = 0.5
    """Of the bias of attributes."""
    templates: float = 4.0
    leanings: float = 1.0
    """Of what a template leans to a group for all attributes."""
    words: float = 0.6
    """Of the noise of attribute x target: the same in every template."""
    noise: float = 0.5
    """Of every sentence."""

    @property
    def spread(self) -> float:
        """Of the mean biases over attributes, for these targets."""
        of_words = 2 / 6 * (self.words**2 + self.noise**2 / len(TEMPLATES))
        return float(np.sqrt(self.attributes**2 + of_words))

    def draw(self, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What a model says, [attributes, templates, targets], and the bias of attributes."""
        rng = np.random.default_rng(seed)
        own = self.attributes * rng.normal(size=50)
        scores = (
            -30
            + PER_TOKEN * TOKENS
            + self.templates * rng.normal(size=(1, 8, 1))
            + self.leanings * rng.normal(size=(1, 8, 1)) * POLES / 2
            + own[:, None, None] * POLES / 2
            + self.words * rng.normal(size=(50, 1, 12))
            + self.noise * rng.normal(size=(50, 8, 12))
        )
        return scores, own

    def cube(self, seed: int) -> tuple[Cube, "pd.Series[float]"]:
        """The same, and a criterion that goes with the biases at .8."""
        scores, own = self.draw(seed)
        standard = own / self.attributes if self.attributes else np.zeros(50)
        criterion = 50 + 20 * (0.8 * standard + 0.6 * np.random.default_rng(seed + 10_000).normal(size=50))
        words = [*TARGETS["men"], *TARGETS["women"]]
        cube = Cube(scores, ATTRIBUTES, TEMPLATES, words, POLES.astype(np.int8), TOKENS.astype(float))
        return cube, pd.Series(criterion, index=ATTRIBUTES)

    def spread_of(self, seed: int) -> Figure:
        """Without a verdict."""
        return next(confirmatory(*self.cube(seed), bound=0.2, level=0.95))

    def found(self, seed: int) -> dict[str, Figure]:
        """The figures with their verdicts, in an instrument that measures."""
        found = [(figure, Fitness()) for figure in confirmatory(*self.cube(seed), bound=0.2, level=0.95)]
        return {figure.figure: figure for figure in judge(found, least=10)}


@pytest.mark.parametrize("truth", [Truth(words=0.0), Truth(words=1.2)], ids=["little", "much"])
class TestCoverage:
    def test_the_interval_of_the_spread_holds_the_truth(self, truth) -> None:
        found = [truth.spread_of(seed) for seed in range(DRAWS)]
        assert 0.92 <= np.mean([figure.low <= truth.spread <= figure.high for figure in found]) <= 0.98
        assert np.mean([figure.value for figure in found]) == pytest.approx(truth.spread, rel=0.03)


class TestTruth:
    @pytest.mark.parametrize("seed", range(3))
    def test_is_beyond_control(self, seed) -> None:
        found = Truth().found(seed)
        assert found["spread_rank"].value == 1
        for name in ("spread", "r", "slope"):
            assert found[name].verdict == "beyond control"
            assert found[name].p_adjusted < 0.05
        assert (found["spread"].p, found["spread"].p_adjusted) == (1 / 462, pytest.approx(3 / 462))

    def test_r_is_what_noise_leaves_of_it(self) -> None:
        truth = Truth()
        found = [truth.found(seed) for seed in range(30)]
        expected = 0.8 * truth.attributes / truth.spread
        assert np.mean([one["r"].value for one in found]) == pytest.approx(expected, abs=0.03)
        # .8 x .5 nats for one standard deviation of the criterion, which is 20 points.
        assert np.mean([one["slope"].value for one in found]) == pytest.approx(0.8 * 0.5 / 2, rel=0.1)

    def test_neither_tokens_nor_templates_are_in_it(self) -> None:
        """The mean bias is theirs; the spread is not."""
        plain, leaning = Truth(templates=0.0, leanings=0.0), Truth(templates=4.0, leanings=3.0)
        one, other = plain.found(5), leaning.found(5)
        for name in ("spread", "r", "slope"):
            assert other[name].value == pytest.approx(one[name].value, abs=1e-9)
            assert other[name].p == one[name].p
        means = [truth.cube(5)[0].biases().to_numpy().mean() for truth in (plain, leaning)]
        by_tokens = PER_TOKEN * (TOKENS[:6].mean() - TOKENS[6:].mean())
        assert means[0] == pytest.approx(by_tokens, abs=0.3)
        assert abs(means[1] - means[0]) > 0.3


class TestNoEffect:
    def test_is_hardly_ever_called_one(self) -> None:
        """The noise of attribute x target alone: it spreads biases, and repeats itself in every template."""
        truth = Truth(attributes=0.0)
        found = [truth.spread_of(seed) for seed in range(DRAWS)]
        assert np.mean([one.value for one in found]) == pytest.approx(truth.spread, rel=0.03)
        assert 0.4 < np.mean([one.p for one in found]) < 0.6
        assert np.mean([one.p < 0.05 for one in found]) <= 0.05

    def test_nor_is_any_of_its_family(self) -> None:
        """Corrected together: one in twenty draws at most would have one that is."""
        found = [Truth(attributes=0.0).found(seed) for seed in range(20)]
        assert sum(any(one.verdict == "beyond control" for one in family.values()) for family in found) <= 2

    def test_is_found_where_it_is(self) -> None:
        assert {Truth().found(seed)["spread"].verdict for seed in range(10)} == {"beyond control"}


Diagnosed = Callable[..., dict[str, pd.DataFrame]]


@pytest.fixture
def diagnosed(compiled) -> Diagnosed:
    """Diagnoses what is written, built and asked, of scores [attributes, templates, targets]."""

    def make(truth: Truth, seed: int = 0, **templates: dict[str, object]) -> dict[str, pd.DataFrame]:
        scores, _ = truth.draw(seed)
        _, criterion = truth.cube(seed)
        written = {name: {"text": f"Of {name}: a {{ATTRIBUTE}} is a {{TARGET}}."} for name in TEMPLATES}
        for name, keys in templates.items():
            written[name] |= keys
        probes, _, attributes = frames(
            compiled(
                targets=TARGETS,
                attributes=ATTRIBUTES,
                sets={"hand": {"title": "By hand", "templates": written}},
                criterion=Criterion("men (%)", criterion.to_dict(), dict.fromkeys(ATTRIBUTES, "exact")),
            )
        )
        names = [*TARGETS["men"], *TARGETS["women"]]
        places = [
            [order.index(value) for value in probes[column]]
            for column, order in (("attribute", ATTRIBUTES), ("template", TEMPLATES), ("target", names))
        ]
        answered = scores_of(probes, scores[tuple(places)]).assign(n_tokens=10 + TOKENS[places[2]])
        plan = {**PLAN, "least": 10}
        return diagnose(probes, attributes, answered, pd.DataFrame(), plan, replace(RESAMPLING, level=0.95))

    return make


class TestWhole:
    def test_the_truth_comes_out(self, diagnosed) -> None:
        found, cube = figures_of(diagnosed(Truth())), Truth().found(0)
        for name in ("spread", "r", "slope"):
            assert found[name]["value"] == pytest.approx(cube[name].value, abs=1e-9)
            assert found[name][["p", "verdict", "why"]].tolist() == [cube[name].p, cube[name].verdict, cube[name].why]
        assert found["spread"]["low"] < Truth().spread < found["spread"]["high"]
        assert found["spread"]["verdict"] == "beyond control"
        assert found["token_difference"]["value"] == pytest.approx(TOKENS[:6].mean() - TOKENS[6:].mean())
        assert found["offset"]["low"] < PER_TOKEN * found["token_difference"]["value"] < found["offset"]["high"]

    def test_a_reversed_template_makes_the_set_unfit_and_is_named(self, diagnosed) -> None:
        """Keyed -1, but the model says of it what it says of the others, as small models do of 'odd'."""
        found = diagnosed(Truth(), t3={"keying": -1})
        rows = figures_of(found)
        for name in ("spread", "r", "slope"):
            assert rows[name]["verdict"] == "instrument unfit"
            assert rows[name]["why"] == (
                "On this model the instrument fails a bar of its own: a template says the opposite of the others (t3)."
            )
        items = found["items"].set_index("template")
        assert items.index[items["high"] < 0].tolist() == ["t3"]

    def test_as_a_control_it_takes_no_part(self, diagnosed) -> None:
        found = diagnosed(Truth(), t3={"keying": -1, "control": True})
        assert figures_of(found)["spread"]["verdict"] == "beyond control"
        row = found["items"].set_index("template").loc["t3"]
        assert row["control"]
        assert row["high"] < 0

    @pytest.mark.parametrize("seed", range(3))
    def test_no_effect_is_none_though_alpha_is_high(self, seed, diagnosed) -> None:
        rows = figures_of(diagnosed(Truth(attributes=0.0), seed))
        assert rows["alpha"]["low"] > 0.6
        assert rows["alpha"]["control"] == pytest.approx(rows["alpha"]["value"], abs=0.15)
        assert "beyond control" not in {rows[name]["verdict"] for name in ("spread", "r", "slope")}

    def test_templates_that_have_nothing_in_common_do_not_measure(self, diagnosed) -> None:
        rows = figures_of(diagnosed(Truth(attributes=0.0, words=0.0, noise=1.0), seed=4))
        assert rows["alpha"]["high"] < 0.6
        assert rows["spread"]["verdict"] == "instrument unfit"
        assert "below 0.6" in rows["spread"]["why"]

    def test_scores_that_do_not_vary_are_no_measurement(self, diagnosed) -> None:
        """Not a spread of surely less than the bound."""
        flat = Truth(attributes=0.0, words=0.0, noise=0.0)
        rows = figures_of(diagnosed(flat))
        assert {rows[name]["verdict"] for name in ("spread", "r", "slope")} == {"instrument unfit"}
        assert rows["spread"]["why"].endswith("attributes in 8 templates have the same score.")

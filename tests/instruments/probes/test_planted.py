"""A known truth, planted in scores by a formula, goes through the family's door and comes out as
what it is."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from evenruler.instruments.probes.ask import with_placebos
from evenruler.instruments.probes.declare.source import Criterion
from evenruler.instruments.probes.diagnose import diagnose
from tests.instruments.probes.conftest import frames, scores_of
from tests.instruments.probes.known import PLAN, RESAMPLING, figures_of

ATTRIBUTES = [f"job{place:02}" for place in range(40)]
CRITERION = np.linspace(2, 98, 40)
PLACE = (CRITERION - CRITERION.mean()) / 80
"""Along the axis, from one end of the gain to the other."""
TEMPLATES = [f"t{place}" for place in range(8)]
TARGETS = {
    "men": ["man", "male", "he", "boy", "brother", "son"],
    "women": ["woman", "female", "she", "girl", "sister", "daughter"],
}
WORDS = [*TARGETS["men"], *TARGETS["women"]]
POLES = np.repeat([1, -1], 6)
TOKENS = np.array([1, 2, 1, 1, 2, 1, 2, 3, 1, 1, 3, 3])
PER_TOKEN = -2.5
"""Nats of a token more: so much that women's targets are less likely in every sentence."""
LISTS = {f"list-{place:02}": [f"noun{place:02}{letter}" for letter in "abc"] for place in range(12)}


@dataclass(frozen=True)
class Truth:
    """What scores are added up of, nats."""

    gain: float = 1.5
    """Of men's words on women's, over 80 points."""
    of_lists: float = 0.2
    """SD of the gain of a placebo list, and of a target list beside `gain`."""
    templates: float = 4.0
    leanings: float = 1.0
    """SD of what a template leans to a group for all attributes."""
    matches: float = 0.3
    """SD of attribute x word: the same in every template."""
    noise: float = 0.5
    """SD of every sentence."""

    def scores(self, seed: int, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """[attributes, templates, words] of words that lie so along the axis."""
        rng, n = np.random.default_rng(seed), len(slopes)
        found: NDArray[np.float64] = (
            -30
            + self.templates * np.random.default_rng(99).normal(size=(1, 8, 1))
            + PLACE[:, None, None] * slopes
            + self.matches * rng.normal(size=(40, 1, n))
            + self.noise * rng.normal(size=(40, 8, n))
        )
        return found

    def drawn(self, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of targets, and of placebo nouns."""
        rng = np.random.default_rng(1000 + seed)
        first, other = self.of_lists * rng.normal(size=2)
        slopes = np.where(POLES == 1, self.gain / 2 + first, -self.gain / 2 + other)
        targets = self.scores(seed, slopes) + PER_TOKEN * TOKENS
        targets = targets + self.leanings * rng.normal(size=(1, 8, 1)) * POLES / 2
        return targets, self.scores(seed + 500, np.repeat(self.of_lists * rng.normal(size=12), 3))


Diagnosed = Callable[..., dict[str, pd.DataFrame]]


@pytest.fixture
def diagnosed(compiled) -> Diagnosed:
    """Diagnoses what is written, built and asked."""

    def make(
        truth: Truth,
        seed: int = 0,
        factor: float = 1.0,
        along: bool = True,
        **templates: dict[str, object],
    ) -> dict[str, pd.DataFrame]:
        written = {
            name: {"text": f"Of {name}: a {{ATTRIBUTE}} is a {{TARGET}}."} for name in TEMPLATES
        }
        for name, keys in templates.items():
            written[name] |= keys
        known = dict(zip(ATTRIBUTES, CRITERION.tolist(), strict=True))
        criterion = (
            Criterion("men (%)", known, dict.fromkeys(ATTRIBUTES, "exact")) if along else None
        )
        probes, of_templates, attributes = frames(
            compiled(
                targets=TARGETS,
                attributes=ATTRIBUTES,
                sets={"hand": {"title": "By hand", "templates": written}},
                criterion=criterion,
            )
        )
        plan = {**PLAN, "placebo_lists": LISTS}
        axis = {"templates": of_templates, "attributes": attributes.assign(criterion=CRITERION)}
        beside = with_placebos(axis, plan)
        nouns = [noun for own in LISTS.values() for noun in own]
        answered = []
        for rows, of, words in zip(
            (probes, beside), truth.drawn(seed), (WORDS, nouns), strict=True
        ):
            places = tuple(
                [order.index(value) for value in rows[column]]
                for column, order in (
                    ("attribute", ATTRIBUTES),
                    ("template", TEMPLATES),
                    ("target", words),
                )
            )
            answered.append(scores_of(rows, factor * of[places]))
        answered[0] = answered[0].assign(
            n_tokens=10 + TOKENS[[WORDS.index(word) for word in probes["target"]]]
        )
        scores = pd.concat(answered, ignore_index=True)
        return diagnose(
            probes,
            attributes,
            scores,
            pd.DataFrame(),
            beside,
            plan,
            replace(RESAMPLING, level=0.95),
        )

    return make


class TestTruth:
    def test_a_gain_that_lists_of_persons_lack_is_an_effect(self, diagnosed) -> None:
        rows = figures_of(diagnosed(Truth()))
        found = rows["gain"]
        assert found["verdict"] == "effect"
        assert found["value"] == pytest.approx(1.5, abs=0.5)
        assert found["specific_low"] < 1.5 < found["specific_high"]
        assert rows["token_difference"]["value"] == pytest.approx(
            TOKENS[:6].mean() - TOKENS[6:].mean()
        )
        assert rows["r"]["low"] > 0.5

    def test_its_sign_is_that_of_the_groups(self, diagnosed) -> None:
        found = figures_of(diagnosed(Truth(gain=-1.5)))["gain"]
        assert (found["verdict"], np.sign(found["value"])) == ("effect", -1)

    def test_a_flawless_ruler_is_not_refused(self, diagnosed) -> None:
        flawless = Truth(of_lists=0.02, matches=0.05, noise=0.05, leanings=0)
        rows = figures_of(diagnosed(flawless))
        assert rows["r"]["value"] > 0.99
        assert rows["gain"]["verdict"] == "effect"

    def test_neither_tokens_nor_templates_are_in_it(self, diagnosed) -> None:
        one, other = (figures_of(diagnosed(Truth(templates=t, leanings=t))) for t in (0.0, 3.0))
        assert other["gain"]["value"] == pytest.approx(one["gain"]["value"], abs=1e-9)
        assert other["offset"]["value"] != pytest.approx(one["offset"]["value"], abs=0.1)

    def test_twice_the_scores_change_no_verdict(self, diagnosed) -> None:
        once, twice = (
            figures_of(diagnosed(Truth(gain=0.9), factor=factor))["gain"] for factor in (1.0, 2.0)
        )
        assert twice["p_effect"] == pytest.approx(once["p_effect"])
        assert twice["value"] == pytest.approx(2 * once["value"])

    def test_without_criterion_and_keys_nothing_has_a_verdict(self, diagnosed) -> None:
        found = diagnosed(Truth(), along=False)["figures"]
        assert "gain" not in set(found["figure"])
        assert found["verdict"].isna().all()


class TestNothing:
    def test_lists_at_random_are_hardly_ever_an_effect(self, diagnosed) -> None:
        """Two lists drawn as placebo lists are: things in the place of people."""
        found = [
            figures_of(diagnosed(Truth(gain=0, of_lists=0.6), seed))["gain"]["verdict"]
            for seed in range(15)
        ]
        assert found.count("effect") <= 2

    def test_placebo_lists_that_do_as_much_refute_it(self, diagnosed) -> None:
        found = [
            figures_of(diagnosed(Truth(gain=1.5, of_lists=1.5), seed))["gain"]["verdict"]
            for seed in range(5)
        ]
        assert "no effect" not in found
        assert found.count("effect") <= 1

    def test_a_small_gain_is_denied_however_sure_it_is(self, diagnosed) -> None:
        small = Truth(gain=0.2, of_lists=0.02, matches=0.05, noise=0.05, leanings=0)
        found = figures_of(diagnosed(small))["gain"]
        assert found["p"] < 0.001
        assert found["verdict"] == "no effect"


class TestBars:
    def test_a_reversed_template_makes_the_set_invalid_and_is_named(self, diagnosed) -> None:
        """Keyed -1, but the model says of it what it says of the others, as small models do of
        'odd'."""
        found = diagnosed(Truth(), t3={"keying": -1})
        for name in ("gain", "spread", "r"):
            row = figures_of(found)[name]
            assert row["verdict"] == "invalid on this model"
            assert row["why"] == (
                "Its validity check fails: a template says the opposite of the others (t3)."
            )
        items = found["items"].set_index("template")
        assert items.index[items["high"] < 0].tolist() == ["t3"]

    def test_as_a_control_it_takes_no_part(self, diagnosed) -> None:
        found = diagnosed(Truth(), t3={"keying": -1, "control": True})
        assert figures_of(found)["gain"]["verdict"] == "effect"
        row = found["items"].set_index("template").loc["t3"]
        assert row["control"]
        assert row["high"] < 0

    def test_templates_that_have_nothing_in_common_do_not_measure(self, diagnosed) -> None:
        rows = figures_of(diagnosed(Truth(gain=0, of_lists=0, matches=0, noise=1.0), seed=4))
        assert rows["alpha"]["high"] < 0.6
        assert rows["gain"]["verdict"] == "invalid on this model"
        assert "below 0.6" in rows["gain"]["why"]

    def test_scores_that_do_not_vary_are_no_measurement(self, diagnosed) -> None:
        """Not a gain that is surely below the bound."""
        flat = Truth(gain=0, of_lists=0, matches=0, noise=0)
        row = figures_of(diagnosed(flat))["gain"]
        assert row["verdict"] == "invalid on this model"
        assert row["why"].endswith("attributes in 8 templates have the same score.")

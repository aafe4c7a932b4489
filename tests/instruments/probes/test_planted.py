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
from tests.instruments.near import approx
from tests.instruments.probes.conftest import frames, scores_of
from tests.instruments.probes.known import PLAN, RESAMPLING, figures_of

ATTRIBUTES = [f"job{place:02}" for place in range(40)]
CRITERION = np.linspace(
    2,
    98,
    40,
)
PLACE = (CRITERION - CRITERION.mean()) / 80
"""Along the axis, from one end of the gain to the other."""
TEMPLATES = [f"t{place}" for place in range(8)]
TARGETS = {
    "men": ["man", "male", "he", "boy", "brother", "son"],
    "women": ["woman", "female", "she", "girl", "sister", "daughter"],
}
WORDS = [
    *TARGETS["men"],
    *TARGETS["women"],
]
POLES = np.repeat([1, -1], 6)
TOKENS = np.array([1, 2, 1, 1, 2, 1, 2, 3, 1, 1, 3, 3])
PER_TOKEN = -2.5
"""Nats of a token more: so much that women's targets are less likely in every sentence."""
NOUNS = [f"noun{place:02}{letter}" for place in range(12) for letter in "abc"]
LISTS = {f"list-{place:02}": NOUNS[3 * place : 3 * place + 3] for place in range(12)}


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
        """Return scores [attributes, templates, words] of words with these slopes along the
        axis.
        """
        rng, n = np.random.default_rng(seed), len(slopes)
        levels = self.templates * np.random.default_rng(99).normal(size=(1, 8, 1))
        nats: NDArray[np.float64] = -30 + levels + PLACE[:, None, None] * slopes
        nats = nats + self.matches * rng.normal(size=(40, 1, n))
        return nats + self.noise * rng.normal(size=(40, 8, n))

    def drawn(self, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of targets, and of placebo nouns."""
        rng = np.random.default_rng(1000 + seed)
        gains_of_lists = self.of_lists * rng.normal(size=2)
        slopes = POLES * self.gain / 2 + np.repeat(gains_of_lists, 6)
        targets = self.scores(seed, slopes) + PER_TOKEN * TOKENS
        leanings = self.leanings * rng.normal(size=(1, 8, 1))
        targets = targets + leanings * POLES / 2
        slopes_of_nouns = np.repeat(self.of_lists * rng.normal(size=12), 3)
        return targets, self.scores(seed + 500, slopes_of_nouns)


def cells_of(rows: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of the attributes of rows, and of their templates."""
    attributes = pd.Index(ATTRIBUTES).get_indexer(rows["attribute"])
    return attributes, pd.Index(TEMPLATES).get_indexer(rows["template"])


Diagnosed = Callable[..., dict[str, pd.DataFrame]]


@pytest.fixture
def diagnosed(compiled) -> Diagnosed:
    """Diagnoses what is written, built and asked."""

    def make(
        truth: Truth,
        seed: int = 0,
        **templates: dict[str, object],
    ) -> dict[str, pd.DataFrame]:
        written = {
            name: {"text": f"Of {name}: a {{ATTRIBUTE}} is a {{TARGET}}."} for name in TEMPLATES
        }
        for name, keys in templates.items():
            written[name] |= keys
        criterion_by_attribute = dict(zip(ATTRIBUTES, CRITERION.tolist(), strict=True))
        criterion = Criterion(
            "men (%)",
            criterion_by_attribute,
            dict.fromkeys(ATTRIBUTES, "exact"),
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
        axis = {
            "templates": of_templates,
            "attributes": attributes.assign(criterion=CRITERION),
        }
        placebos = with_placebos(axis, plan)
        of_targets, of_nouns = truth.drawn(seed)
        words = pd.Index(WORDS).get_indexer(probes["target"])
        nouns = pd.Index(NOUNS).get_indexer(placebos["target"])
        of_people = scores_of(probes, of_targets[*cells_of(probes), words])
        of_people["n_tokens"] = 10 + TOKENS[words]
        of_things = scores_of(placebos, of_nouns[*cells_of(placebos), nouns])
        scores = pd.concat([of_people, of_things], ignore_index=True)
        return diagnose(
            probes,
            attributes,
            scores,
            pd.DataFrame(),
            placebos,
            plan,
            replace(RESAMPLING, level=0.95),
        )

    return make


class TestTruth:
    def test_a_gain_that_lists_of_persons_lack_is_an_effect(self, diagnosed) -> None:
        rows = figures_of(diagnosed(Truth()))
        gain = rows["gain"]
        assert gain["verdict"] == "effect"
        assert gain["value"] == approx(1.5, abs=0.5)
        assert gain["specific_low"] < 1.5 < gain["specific_high"]
        assert rows["token_difference"]["value"] == approx(TOKENS[:6].mean() - TOKENS[6:].mean())
        assert rows["r"]["low"] > 0.5

    def test_neither_tokens_nor_templates_are_in_it(self, diagnosed) -> None:
        truths = [Truth(templates=sd, leanings=sd) for sd in (0.0, 3.0)]
        plain, leaning = (figures_of(diagnosed(truth)) for truth in truths)
        assert leaning["gain"]["value"] == approx(plain["gain"]["value"], abs=1e-9)
        assert leaning["offset"]["value"] != approx(plain["offset"]["value"], abs=0.1)


class TestNothing:
    @pytest.mark.slow
    @pytest.mark.long
    def test_lists_at_random_are_hardly_ever_an_effect(self, diagnosed) -> None:
        """Two lists drawn as placebo lists are: things in the place of people."""
        verdicts = [
            figures_of(diagnosed(Truth(gain=0, of_lists=0.6), seed))["gain"]["verdict"]
            for seed in range(15)
        ]
        assert verdicts.count("effect") <= 2

    def test_a_small_gain_is_denied_however_sure_it_is(self, diagnosed) -> None:
        small = Truth(
            gain=0.2,
            of_lists=0.02,
            matches=0.05,
            noise=0.05,
            leanings=0,
        )
        gain = figures_of(diagnosed(small))["gain"]
        assert gain["p"] < 0.001
        assert gain["verdict"] == "no effect"


class TestBars:
    def test_a_reversed_template_makes_the_set_invalid_and_is_named(self, diagnosed) -> None:
        """Keyed -1, but the model says of it what it says of the others, as small models do of
        'odd'."""
        tables = diagnosed(Truth(), t3={"keying": -1})
        for name in ("gain", "spread", "r"):
            row = figures_of(tables)[name]
            assert row["verdict"] == "invalid on this model"
            assert "(t3)" in row["why"]
        items = tables["items"].set_index("template")
        assert items.index[items["high"] < 0].tolist() == ["t3"]

"""A known bias, planted in a model or in the baselines, goes through the whole pipeline and comes
out as what it is."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.figures import find_figure
from tests.stages.scripted import Workplace

pytestmark = pytest.mark.slow

PLANTED = "france"
NAMES = ("France", "French")

TEXTS = ("It is a good place.", "It is a place.", "It is a bad place.")
SCORES = (0.4404, 0.0, -0.5423)
"""VADER's, of these texts."""
SHARES = (0.6, 0.25, 0.15)
"""How often the model says each."""
WORSE = 0.4
"""Of the replies about the planted country, the share that is the bad text instead."""
AMOUNT = WORSE * sum(
    share * (score - SCORES[2]) for share, score in zip(SHARES, SCORES, strict=True)
)
"""How much lower that makes the mean of the planted country."""

CHANGEABLE = 0.1
"""Of all replies, the share that hangs on the wording of the prompt, so on the country's name, but
on no country."""

NOISE = ("It is fine.", "It is so.", "It is odd.")
"""Friendly, neutral and unfriendly; VADER finds them about 0 in the mean."""

SETTINGS = {
    "prefixed": 1,
    "features": {"vader": {"kind": "lexicon"}, "unmasked": {"kind": "lexicon", "mask": False}},
}


class Diagnosed:
    """The headline of the countries at the paper's size, for a model that writes so."""

    def __init__(self, workplace: Workplace, write: Callable[[str, int], str]) -> None:
        workplace.ask(write)
        workplace.diagnose()
        self.features, self.metrics = workplace.features(), workplace.metrics()
        tools = workplace.diagnosis("tool_bias")
        self.tool_bias = tools[tools["feature"] == "vader"].set_index("concept")
        self._tables = {
            name: workplace.diagnosis(name)
            for name in ("summaries", "disparities", "shapes", "favour")
        }

    def means(self, calibration: str, feature: str = "vader") -> pd.Series:
        return self._rows_of("summaries", calibration, feature).set_index("group")["value"]

    def disparities(self, calibration: str, feature: str = "vader") -> pd.DataFrame:
        return self._rows_of("disparities", calibration, feature).set_index("metric")

    def shape(self, calibration: str, feature: str = "vader") -> pd.Series:
        (row,) = (row for _, row in self._rows_of("shapes", calibration, feature).iterrows())
        return row

    def confirmed(self) -> dict[str, Any]:
        return find_figure(self.metrics["countries"], figure="favour", feature="vader")

    def named(self) -> dict[str, str]:
        """By concept."""
        rows = self._tables["favour"].dropna(subset=["named"])
        return dict(zip(rows["concept"], rows["named"], strict=True))

    def _rows_of(self, table: str, calibration: str, feature: str) -> pd.DataFrame:
        rows = self._tables[table]
        selected = (
            (rows["statistic"] == "mean")
            & (rows["calibration"] == calibration)
            & (rows["feature"] == feature)
        )
        return rows[selected]


def draw(prompt: str, seed: int) -> tuple[str, random.Random]:
    """What the model says of any country; and chance that is the prompt's own.

    Counterfactual prompts of a root share their seed, so that most of their replies are the same.
    The draws are fixed.
    """
    of_prompt = random.Random(f"{prompt} 2")
    chance = of_prompt if of_prompt.random() < CHANGEABLE else random.Random(seed)
    return chance.choices(TEXTS, SHARES)[0], of_prompt


def biased(prompt: str, seed: int) -> str:
    text, of_prompt = draw(prompt, seed)
    worse = any(name in prompt for name in NAMES) and of_prompt.random() < WORSE
    # A number says nothing, and makes replies distinct: one canned reply would be no measurement.
    return f"{TEXTS[2] if worse else text} {of_prompt.randrange(10**6)}"


def built(folder: Path, **forms: str) -> Workplace:
    """The countries with 75 prompts that have baselines, as the paper's; `forms`: what some are
    called in them."""
    workplace = Workplace(folder, "countries", "paper", **SETTINGS)
    table = [
        f"What is {{concept}} like in {1900 + n}?,{{concept}} has {n} ports." for n in range(75)
    ]
    articles = folder / "data/sources/saged/articles/countries.csv"
    articles.write_text("\n".join(["prompt,baseline", *table]) + "\n")

    def called(declared: dict[str, Any]) -> None:
        del declared["control"]  # whom the model is told to dislike changes nothing of it
        for concept, form in forms.items():
            declared["concepts"][concept]["forms"] = {"concept": form}

    workplace.edit("data/sources/saged/countries.yaml", called)
    workplace.declare()
    workplace.build()
    return workplace


@pytest.fixture(scope="module")
def in_the_model(tmp_path_factory: pytest.TempPathFactory) -> Diagnosed:
    return Diagnosed(built(tmp_path_factory.mktemp("model")), biased)


@pytest.fixture(scope="module")
def in_the_baseline(tmp_path_factory: pytest.TempPathFactory) -> Diagnosed:
    """The planted country is called miserable in every text; the model repeats each baseline, and
    adds noise."""
    workplace = built(tmp_path_factory.mktemp("baseline"), france="miserable France")
    baselines = dict(workplace.prompts()[["prompt", "baseline"]].itertuples(index=False))

    def repeating(prompt: str, seed: int) -> str:
        (bare,) = [prompt] if prompt in baselines else filter(prompt.endswith, baselines)
        return f"{baselines[bare]} {random.Random(prompt).choice(NOISE)}"

    return Diagnosed(workplace, repeating)


def test_the_benchmark_is_of_the_paper_s_size(in_the_model: Diagnosed) -> None:
    bare = in_the_model.features[in_the_model.features["framing"] == "bare"]
    assert len(bare) == 2 * 75 * (
        20 + 39
    )  # roles, root items, members of the G20 and other countries
    assert set(bare["value"]) == set(SCORES)


@pytest.mark.parametrize("calibration", ["raw", "calibrated"])
class TestInTheModel:
    def test_the_shape_is_concentrated_on_the_planted_country(
        self, calibration: str, in_the_model: Diagnosed
    ) -> None:
        shape = in_the_model.shape(calibration)
        assert tuple(shape[["shape", "group", "end"]]) == ("concentrated", PLANTED, "low")
        assert shape["z"] < -3

    def test_the_planted_country_lies_so_much_lower(
        self, calibration: str, in_the_model: Diagnosed
    ) -> None:
        means = in_the_model.means(calibration)
        amount = means.drop(PLANTED).mean() - means[PLANTED]
        assert amount == pytest.approx(AMOUNT, abs=0.1)
        assert in_the_model.disparities(calibration).loc["range", "value"] == pytest.approx(
            np.ptp(means)
        )

    def test_chance_does_not_explain_it(self, calibration: str, in_the_model: Diagnosed) -> None:
        disparities = in_the_model.disparities(calibration)
        for metric in ("range", "std", "min_z", "dixon_low"):
            assert disparities.loc[metric, "p"] == pytest.approx(1 / 1001)
            assert disparities.loc[metric, "p"] <= disparities.loc[metric, "p_adjusted"] < 0.01


def test_a_bias_of_the_model_is_detected_and_named(
    in_the_model: Diagnosed,
) -> None:
    favour = in_the_model.confirmed()
    assert favour["verdict"] == "detected"
    assert "percentile" not in favour  # the furthest of several lies beyond most names by chance
    assert in_the_model.named() == {PLANTED: "less"}
    assert (
        favour["low"] < -AMOUNT * 19 / 20 < favour["high"] < 0
    )  # of the mean of 20, it is one itself
    assert favour["p"] == 1 / 2000
    assert (favour["n"], favour["unit"]) == (75, "root items")
    figures = in_the_model.metrics["countries"]
    assert find_figure(figures, figure="nonresponse")["value"] == 0


class TestInTheBaseline:
    def test_raw_figures_find_it(self, in_the_baseline: Diagnosed) -> None:
        shape, disparities = (
            in_the_baseline.shape("raw", "unmasked"),
            in_the_baseline.disparities("raw", "unmasked"),
        )
        assert tuple(shape[["shape", "group", "end"]]) == ("concentrated", PLANTED, "low")
        assert disparities.loc["range", "value"] > 0.4

    def test_the_report_of_the_tool_says_that_it_was_there_before(
        self, in_the_baseline: Diagnosed
    ) -> None:
        means, raw = in_the_baseline.tool_bias["mean"], in_the_baseline.means("raw", "unmasked")
        assert means.idxmin() == PLANTED
        assert means[PLANTED] < means.drop(PLANTED).min() - 0.3
        assert (raw - raw.mean()).to_dict() == pytest.approx(
            (means - means.mean()).to_dict(), abs=0.06
        )

    def test_calibration_removes_it(self, in_the_baseline: Diagnosed) -> None:
        shape, disparities = (
            in_the_baseline.shape("calibrated", "unmasked"),
            in_the_baseline.disparities("calibrated", "unmasked"),
        )
        assert shape["shape"] != "concentrated"
        assert (
            disparities.loc["range", "value"]
            < in_the_baseline.disparities("raw", "unmasked").loc["range", "value"] / 5
        )
        means = in_the_baseline.means("calibrated", "unmasked")
        other_means = means.drop(PLANTED)
        assert abs(means[PLANTED] - other_means.mean()) < 2 * other_means.std()

    def test_masks_keep_it_out_from_the_start(self, in_the_baseline: Diagnosed) -> None:
        assert in_the_baseline.disparities("raw").loc["range", "p"] > 0.05
        assert in_the_baseline.named() == {}
        assert in_the_baseline.confirmed()["verdict"] == "inconclusive"

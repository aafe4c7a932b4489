"""Interventions beside their controls, fits being the units: a planted model, rows worked out by
hand, simulations."""

import zlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.instrument import Plan
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.diagnose.headlines import (
    answer_trajectories,
    corpus_change_figures,
    describe_fits,
    intervention_changes,
    intervention_headlines,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import PositiveControl, ValidityCheck, judge_all
from evenruler.models.questions import LABELS
from evenruler.training.adaptation import Progress
from tests.instruments.questionnaires import test_ask
from tests.instruments.questionnaires.doors import figure_table, subject, together
from tests.text_tables import table_of_text, yaml_of_text

LEVEL = 0.95
PLAN: Plan = yaml_of_text("""\
bound: 0.5
accuracy: {threshold: 0.7}
corpora:
  gloom: {expected: up, control_of: null}
  dull: {expected: none, control_of: gloom}
  joy: {expected: down, control_of: null}
""")
COURSE = pd.DataFrame(columns=schemas.COURSE.names)
CONTROL = PositiveControl("all the time against never", Interval(4.0, 3.0, 5.0), 0.001)


def items(scores: Sequence[float], **stage: Any) -> pd.DataFrame:
    """Item scores of one model."""
    names = [f"item-{number}" for number in range(len(scores))]
    rows = pd.DataFrame({"item": names, "score": scores}).assign(**stage)
    return rows.assign(
        questionnaire="fear",
        model="m0",
        lineage="m0",
        kind="nli",
        framing="bare",
        method="head",
    )


def ends(by_fit: Sequence[tuple[float, float]], before: float = 0.0) -> pd.DataFrame:
    """Trajectories of one epoch, of (intervention, control) by fit; answers are twice the
    scores."""
    states = [
        items([after / 2], corpus=corpus, fit=fit, epoch=1)
        for fit, both in enumerate(by_fit, 1)
        for corpus, after in zip(("gloom", "dull"), both, strict=True)
    ]
    return answer_trajectories(items([before / 2]), pd.concat(states), words=2)


def figures_of(way: pd.DataFrame, course: pd.DataFrame = COURSE) -> Any:
    """Figures with their verdicts, by name and corpus."""
    checked: list[Any] = [(figure, ValidityCheck()) for figure in corpus_change_figures(way, LEVEL)]
    checked += intervention_headlines(
        intervention_changes(way, PLAN), course, PLAN, "head", LEVEL, CONTROL
    )
    return {(figure.figure, figure.dimensions["corpus"]): figure for figure in judge_all(checked)}


class TestTrajectories:
    def test_every_stage_is_the_mean_answer_of_the_items_that_are_asked_then(self) -> None:
        """Of four items three are asked after epochs, so three make the start, too."""
        of_epochs = ((1, [2, 3, 7]), (2, [4, 6, 11]))
        adapted = [items(scores, corpus="gloom", fit=1, epoch=epoch) for epoch, scores in of_epochs]
        trajectory = answer_trajectories(items([1, 2, 6, 90]), pd.concat(adapted), words=8)
        columns = ["fit", "epoch", "answer", "n"]
        assert trajectory[columns].to_numpy().tolist() == [
            [1, 0, 24, 3],
            [1, 1, 32, 3],
            [1, 2, 56, 3],
        ]

    def test_every_fit_begins_where_the_model_was(self) -> None:
        trajectory = ends([(1.0, 2.0), (3.0, 4.0)], before=0.5)
        answers = trajectory.set_index(["epoch", "corpus", "fit"])["answer"]
        assert answers[0].tolist() == [0.5] * 4
        assert answers[1].to_dict() == {
            ("dull", 1): 2,
            ("dull", 2): 4,
            ("gloom", 1): 1,
            ("gloom", 2): 3,
        }


class TestChanges:
    def test_a_fit_stands_beside_the_fit_to_the_control_of_the_same_number(self) -> None:
        changes = intervention_changes(ends([(1.0, 0.25), (3.0, 4.0)], before=0.5), PLAN)
        columns = ["corpus", "control", "expected", "fit", "before", "after"]
        assert changes[[*columns, "after_control", "difference"]].to_numpy().tolist() == [
            ["gloom", "dull", "up", 1, 0.5, 1.0, 0.25, 0.75],
            ["gloom", "dull", "up", 2, 0.5, 3.0, 4.0, -1.0],
        ]

    def test_of_no_adaptation_nothing(self) -> None:
        nothing = answer_trajectories(
            items([1.0]), items([1.0], corpus="", fit=0, epoch=0)[:0], words=2
        )
        assert intervention_changes(nothing, PLAN).empty


SIX = [
    (1.2, 0.1),
    (1.0, -0.1),
    (1.4, 0.2),
    (0.9, 0.1),
    (1.1, 0.0),
    (1.3, 0.3),
]


class TestFigures:
    def test_the_difference_is_paired_over_fits(self) -> None:
        moved = figures_of(ends(SIX, before=0.5))["moved", "gloom"]
        interval = stats.ttest_1samp([1.1, 1.1, 1.2, 0.8, 1.1, 1.0], 0).confidence_interval(LEVEL)
        assert (moved.n, moved.unit, moved.facets, moved.bound) == (6, "fits", "6 fits", 0.5)
        assert moved.value == pytest.approx(1.05, abs=1e-12)
        assert (moved.low, moved.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
        # Of 64 ways to give six fits a sign, two are as far as all alike.
        assert moved.p == 2 / 64
        assert moved.null == "which of a fit's corpora is the control, randomised over 6 fits"
        assert moved.positive_value == 4.0

    def test_an_intervention_without_a_control_is_not_told(self) -> None:
        moved = figures_of(ends(SIX))["moved", "joy"]
        assert (moved.value, moved.verdict) == (None, str(Verdict.DESCRIPTIVE))
        assert (moved.reason, moved.n, moved.unit) == ("no corpus that is its control", 0, "fits")

    def test_fewer_fits_than_six_are_described(self) -> None:
        moved = figures_of(ends(SIX[:5]))["moved", "gloom"]
        assert moved.verdict == str(Verdict.DESCRIPTIVE)
        assert moved.value == pytest.approx(1.06, abs=1e-12)
        assert moved.why == "A number without a test: 5 fits (at least 6 needed)."

    def test_of_fits_that_are_all_alike_there_is_no_interval(self) -> None:
        alike = figures_of(ends([(1.0, 0.0)] * 6))
        assert alike["changed", "gloom"].reason == "no interval: all fits are alike"

    @pytest.mark.parametrize(
        ("after", "verdict", "corpus"),
        [
            (0.82, "detected", "gloom"),
            (0.76, "invalid", "gloom"),
            (0.76, "invalid", "dull"),
        ],
    )
    def test_where_entailment_is_forgotten_nothing_is_told(self, after, verdict, corpus) -> None:
        """Wilson's interval of 100 pairs: .82 [.733, .883], .76 [.668, .833]; the first epoch does
        not count."""
        epochs = pd.DataFrame({"epoch": [0, 1, 2], "value": [0.9, 0.5, after]})
        fits = table_of_text("fit|off\n1|-0.05\n2|-0.05\n3|0.1\n")
        course = fits.merge(epochs, how="cross")
        course["value"] += course["off"] * (course["epoch"] == 2)
        course = course.assign(corpus=corpus, measure="accuracy", n=100)
        assert figures_of(ends(SIX), course)["moved", "gloom"].verdict == verdict


FITS = table_of_text("""\
corpus|fit|epoch|measure|value
gloom|1|0|loss|5
gloom|1|1|loss|9
gloom|1|2|loss|4
gloom|2|0|loss|6
gloom|2|2|loss|5
gloom|1|0|weights_moved|0
gloom|1|2|weights_moved|0.8
gloom|2|0|weights_moved|0
gloom|2|2|weights_moved|0.9
gloom|1|0|weights_norm|0
gloom|1|2|weights_norm|0.2
gloom|2|0|weights_norm|0
gloom|2|2|weights_norm|0.3
dull|1|0|accuracy|1
dull|1|2|accuracy|1
""")


def test_a_verdict_says_what_fits_did_to_loss_and_weights() -> None:
    """Means of both fits at their ends; one of them was asked on the way, too."""
    note = (
        "Fits to gloom brought the held-out loss from 5.5 to 4.5 nats a token and moved 85.0% of "
        "weights, by a norm of 0.25."
    )
    assert describe_fits(FITS, ["gloom", "dull", None]) == note
    assert describe_fits(COURSE, ["gloom", None]) is None
    verdict = figures_of(ends(SIX), FITS.assign(n=100))["moved", "gloom"]
    assert verdict.why.endswith(note)


class Planted:
    """A model double: adapted to gloom it takes source terms to go with more of an intensifier, by
    a planted amount.

    Whatever it is adapted to, it drifts; fits add noise.
    """

    moved, noise = 0.0, 0.0

    def __init__(self, corpus: str = "", fit: int = 0) -> None:
        random = np.random.default_rng(zlib.crc32(f"{corpus} {fit}".encode()))
        self.asked, self.more = 0, 0.0
        if corpus:
            self.more = 0.4 + random.normal() * self.noise
        if corpus == "gloom":
            self.more += self.moved
        self.known = {}
        for pair in test_ask.PAIRS:
            label = LABELS.index(pair["label"])
            self.known[pair["premise"], pair["hypothesis"]] = label

    def entailment(
        self, pairs: Sequence[Any], before: Any = None, *, every: bool = False
    ) -> np.ndarray:
        return np.array([self._logits(*pair) for pair in pairs])

    def _logits(self, premise: str, hypothesis: str) -> np.ndarray:
        label = self.known.get((premise, hypothesis))
        if label is not None:
            return np.eye(3)[label]
        is_source = "enemy" in premise or "thief" in premise
        is_second = "By day" in premise  # the first item is keyed the other way round
        lean = 0.1 + self.more if is_second else -self.more
        entails = lean if is_source == ("often" in hypothesis) else -lean
        return np.array([entails, 0.0, 0.0])

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.mark.parametrize(
    ("moved", "noise", "verdict"),
    [
        (0.0, 0.005, "inconclusive"),
        (0.0, 0.4, "inconclusive"),  # it drifts as far with the control
        (1.0, 0.05, "detected"),
    ],
)
def test_a_planted_move_is_found_through_the_doors(moved, noise, verdict, monkeypatch) -> None:
    figure_rows = through_the_doors(monkeypatch, moved=moved, noise=noise)
    moved_row = figure_rows.loc["moved", "gloom"]
    assert (moved_row["model"], moved_row["n"], moved_row["verdict"]) == ("m0", 6, verdict), (
        moved_row["why"]
    )
    drift = figure_rows.loc[("changed", "dull"), "value"]
    drifts_alike = moved < 0.1 and noise < 0.1
    assert abs(drift) > (5 * abs(moved_row["value"]) if drifts_alike else 0)


def through_the_doors(monkeypatch: pytest.MonkeyPatch, **planted: Any) -> pd.DataFrame:
    """Figures of the one model, by name and corpus."""
    for name, planted_value in planted.items():
        monkeypatch.setattr(Planted, name, planted_value)
    monkeypatch.setattr(test_ask, "Scripted", lambda *_: Planted())
    way = SimpleNamespace(
        model_at=lambda corpus, fit, epoch: Planted(corpus, fit) if epoch else Planted(),
        progress=lambda *_: Progress(1.0, 0.5, 0.25),
    )
    monkeypatch.setattr(test_ask, "Way", lambda: way)
    records, _, _ = test_ask.through(subject(adapted="last"), "meetings", fits=6)
    figure_rows = figure_table(together(records, test_ask.RESAMPLING)["figures"])
    of_model = figure_rows[figure_rows["model"].notna()]
    return of_model.set_index(["figure", "corpus"]).sort_index()

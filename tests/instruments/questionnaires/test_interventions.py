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
    CorpusPair,
    answer_trajectories,
    beside_control,
    corpus_change_figures,
    intervention_changes,
    intervention_headlines,
    pairs_of,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from evenruler.models.questions import LABELS
from evenruler.tables import read_frame, write_table
from tests.instruments.questionnaires import test_ask
from tests.instruments.questionnaires.doors import subject, together

LEVEL = 0.95
PLAN: Plan = {
    "smallest": 0.5,
    "accuracy": {"bar": 0.7},
    "corpora": {
        "gloom": {"expected": "up", "control_of": None},
        "dull": {"expected": "none", "control_of": "gloom"},
        "joy": {"expected": "down", "control_of": None},
    },
}
COURSE = pd.DataFrame(columns=schemas.COURSE.names)


def items(scores: Sequence[float], **stage: Any) -> pd.DataFrame:
    """Item scores of one model."""
    of_model = {
        "questionnaire": "fear",
        "model": "m0",
        "lineage": "m0",
        "kind": "nli",
        "framing": "bare",
    }
    rows = [{"item": f"item-{i}", "score": score} for i, score in enumerate(scores)]
    return pd.DataFrame(rows).assign(configuration="head", **of_model, **stage)


def ends(by_fit: Sequence[tuple[float, float]], before: float = 0.0) -> pd.DataFrame:
    """Trajectories of one epoch, of (intervention, control) by fit; answers are twice the
    scores."""
    states = [
        items([after / 2], corpus=corpus, fit=fit, epoch=1)
        for fit, both in enumerate(by_fit, 1)
        for corpus, after in zip(("gloom", "dull"), both, strict=True)
    ]
    return answer_trajectories(items([before / 2]), pd.concat(states), words=2)


def told(way: pd.DataFrame, course: pd.DataFrame = COURSE) -> Any:
    """Figures with their verdicts, by name."""
    found: list[Any] = [(figure, ValidityCheck()) for figure in corpus_change_figures(way, LEVEL)]
    found += intervention_headlines(intervention_changes(way, PLAN), course, PLAN, "head", LEVEL)
    return {figure.figure: figure for figure in judge(found)}


class TestTrajectories:
    def test_every_stage_is_the_mean_answer_of_the_items_that_are_asked_then(self) -> None:
        """Of four items three are asked after epochs, so three make the start, too."""
        of_epochs = ((1, [2, 3, 7]), (2, [4, 6, 11]))
        adapted = [items(scores, corpus="gloom", fit=1, epoch=epoch) for epoch, scores in of_epochs]
        found = answer_trajectories(items([1, 2, 6, 90]), pd.concat(adapted), words=8)
        assert found[["fit", "epoch", "answer", "n"]].to_numpy().tolist() == [
            [1, 0, 24, 3],
            [1, 1, 32, 3],
            [1, 2, 56, 3],
        ]

    def test_every_fit_begins_where_the_model_was(self, tmp_path) -> None:
        found = ends([(1.0, 2.0), (3.0, 4.0)], before=0.5)
        write_table(found, schemas.TRAJECTORIES, tmp_path / "t.parquet")
        read = read_frame(tmp_path / "t.parquet").set_index(["corpus", "fit", "epoch"])["answer"]
        assert read[:, :, 0].to_dict() == {
            (corpus, fit): 0.5 for corpus in ("dull", "gloom") for fit in (1, 2)
        }
        assert read[:, :, 1].to_dict() == {
            ("dull", 1): 2,
            ("dull", 2): 4,
            ("gloom", 1): 1,
            ("gloom", 2): 3,
        }


class TestChanges:
    def test_a_fit_stands_beside_the_fit_to_the_control_of_the_same_number(self, tmp_path) -> None:
        found = intervention_changes(ends([(1.0, 0.25), (3.0, 4.0)], before=0.5), PLAN)
        write_table(found[schemas.CHANGES.names], schemas.CHANGES, tmp_path / "changes.parquet")
        columns = [
            "corpus",
            "control",
            "expected",
            "fit",
            "before",
            "after",
            "after_control",
            "difference",
        ]
        assert found[columns].to_numpy().tolist() == [
            ["gloom", "dull", "up", 1, 0.5, 1.0, 0.25, 0.75],
            ["gloom", "dull", "up", 2, 0.5, 3.0, 4.0, -1.0],
        ]

    def test_only_the_last_epoch_counts(self) -> None:
        way = ends([(1.0, 0.25)])
        between = way[way["epoch"] == 1].assign(answer=70.0)
        later = pd.concat([way[way["epoch"] == 0], between, way[way["epoch"] == 1].assign(epoch=2)])
        assert intervention_changes(later, PLAN)["difference"].tolist() == [0.75]

    def test_pairs_are_interventions_with_what_is_matched_to_them(self) -> None:
        assert pairs_of(PLAN) == [
            CorpusPair("gloom", "dull", "up"),
            CorpusPair("joy", None, "down"),
        ]

    def test_of_no_adaptation_nothing(self) -> None:
        nothing = answer_trajectories(
            items([1.0]), items([1.0], corpus="", fit=0, epoch=0)[:0], words=2
        )
        assert intervention_changes(nothing, PLAN).empty


SIX = [(1.2, 0.1), (1.0, -0.1), (1.4, 0.2), (0.9, 0.1), (1.1, 0.0), (1.3, 0.3)]


class TestFigures:
    def test_the_difference_is_paired_over_fits(self) -> None:
        found = told(ends(SIX, before=0.5))["moved_by_gloom"]
        interval = stats.ttest_1samp([1.1, 1.1, 1.2, 0.8, 1.1, 1.0], 0).confidence_interval(LEVEL)
        assert (found.n, found.unit, found.levels, found.smallest) == (6, "fits", "6 fits", 0.5)
        assert found.value == found.specific == pytest.approx(1.05, abs=1e-12)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
        assert (found.specific_low, found.specific_high) == (found.low, found.high)
        # The null is of the change with the corpus itself.
        own = [after - 0.5 for after, _ in SIX]
        assert found.p == pytest.approx(stats.ttest_1samp(own, 0).pvalue, rel=1e-9)
        assert found.placebo == pytest.approx(0.1 - 0.5)

    def test_beside_it_stands_what_each_corpus_does(self) -> None:
        found = told(ends(SIX, before=0.5))
        assert found["changed_with_gloom"].value == pytest.approx(1.15 - 0.5, abs=1e-12)
        assert found["changed_with_dull"].value == pytest.approx(0.1 - 0.5, abs=1e-12)
        assert (found["changed_with_gloom"].verdict, found["changed_with_gloom"].n) == (None, 6)

    def test_an_intervention_without_a_control_is_not_told(self) -> None:
        found = told(ends(SIX))["moved_by_joy"]
        assert (found.value, found.verdict) == (None, str(Verdict.INCONCLUSIVE))
        assert (found.reason, found.n, found.unit) == ("no corpus that is its control", 0, "fits")

    def test_fewer_than_five_fits_have_no_interval(self) -> None:
        found = told(ends(SIX[:4]))["moved_by_gloom"]
        assert (found.low, found.specific, found.verdict) == (None, None, str(Verdict.INCONCLUSIVE))
        assert found.value == pytest.approx(1.05, abs=1e-12)
        assert found.why == "No verdict is possible: 4 fits (at least 5 needed)."

    def test_fits_that_are_alike_have_no_interval(self) -> None:
        found = told(ends([(1.0, 0.5)] * 6))["moved_by_gloom"]
        assert (found.value, found.low, found.verdict) == (0.5, None, str(Verdict.INCONCLUSIVE))
        assert found.why == "No verdict is possible: fits without variation."

    @pytest.mark.parametrize(
        ("after", "verdict"), [(0.82, "effect"), (0.76, "invalid on this model")]
    )
    @pytest.mark.parametrize("corpus", ["gloom", "dull"])
    def test_where_entailment_is_forgotten_nothing_is_told(self, after, verdict, corpus) -> None:
        """Wilson's interval of 100 pairs: .82 [.733, .883], .76 [.668, .833]; the first epoch does
        not count."""
        rows = [
            {
                "corpus": corpus,
                "fit": fit,
                "epoch": epoch,
                "measure": "accuracy",
                "value": value,
                "n": 100,
            }
            for fit, off in ((1, -0.05), (2, -0.05), (3, 0.1))
            for epoch, value in ((0, 0.9), (1, 0.5), (2, after + off))
        ]
        assert told(ends(SIX), course=pd.DataFrame(rows))["moved_by_gloom"].verdict == verdict


class TestVerdicts:
    """Half a point is worth naming."""

    @pytest.mark.parametrize(
        ("own", "control", "noise", "verdict"),
        [
            (1.0, 0.0, 0.1, "effect"),
            (-1.0, 0.0, 0.1, "effect"),
            (1.0, 1.0, 0.1, "not specific"),
            (0.1, 0.1, 0.02, "no effect"),
            (0.1, 0.0, 0.02, "no effect"),  # p is small: it moved, but negligibly
            (3.0, 2.0, 0.1, "not specific"),  # the control does two thirds of it
            (0.0, 0.0, 0.9, "inconclusive"),
            (0.6, 0.0, 0.9, "inconclusive"),
        ],
    )
    def test_by_how_far_it_moves_beyond_the_control(self, own, control, noise, verdict) -> None:
        """Six fits whose changes have these means and this standard deviation."""
        z = stats.zscore(np.array([-1.3, -0.6, -0.2, 0.2, 0.7, 1.2]), ddof=1)
        found = told(ends([(own + noise * each, control) for each in z]))["moved_by_gloom"]
        assert found.verdict == verdict, found.why


@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "heavy-tails"])
def test_simulated_with_a_control_that_moves_as_much(heavy) -> None:
    """2,000 times six fits: false alarms at most as often as declared, and intervals that cover."""
    random, draws = np.random.default_rng(5), 2000
    noise = random.standard_t(5, (draws, 6, 2)) if heavy else random.normal(size=(draws, 6, 2))
    drift = random.normal(size=(draws, 6, 1))  # what a seed does to both
    alarms = covered = 0
    for both in 1.0 + drift + noise:
        (found,) = judge(
            [(beside_control("moved_by_gloom", both[:, 0], both[:, 1], 0.5), ValidityCheck())]
        )
        alarms += found.verdict == str(Verdict.EFFECT)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0 <= found.high
    assert alarms / draws <= 0.05 + 2 * (0.05 * 0.95 / draws) ** 0.5
    assert 0.92 <= covered / draws <= 0.98


class Planted:
    """A model double: adapted to gloom it takes source terms to go with more of an intensifier, by
    a planted amount.

    Whatever it is adapted to, it drifts; fits add noise.
    """

    moved, noise, wrong_before = 0.0, 0.0, False

    def __init__(self, corpus: str = "", fit: int = 0) -> None:
        seed = zlib.crc32(f"{corpus} {fit}".encode())
        more = 0.4 + np.random.default_rng(seed).normal() * self.noise if corpus else 0.0
        self.more, self.asked = more + (self.moved if corpus == "gloom" else 0.0), 0
        self.is_wrong = not corpus and self.wrong_before
        self.known = {
            (pair["premise"], pair["hypothesis"]): LABELS.index(pair["label"])
            for pair in test_ask.PAIRS
        }

    def entailment(
        self, pairs: Sequence[Any], before: Any = None, *, every: bool = False
    ) -> np.ndarray:
        return np.array([self._logits(*pair) for pair in pairs])

    def _logits(self, premise: str, hypothesis: str) -> list[float]:
        if (premise, hypothesis) in self.known:
            return [
                float((self.known[premise, hypothesis] == i) is not self.is_wrong) for i in range(3)
            ]
        source = any(word in premise + hypothesis for word in ("enemy", "thief"))
        often = "often" in premise + hypothesis
        other = "By day" in premise  # the first item is keyed the other way round
        more = self.more if other else -self.more
        return [(0.1 * other + more) * (1 if source else -1) * (1 if often else -1), 0.0, 0.0]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.mark.parametrize(
    ("moved", "noise", "verdict"),
    [
        (0.0, 0.005, "no effect"),
        (0.01, 0.001, "no effect"),
        (0.0, 0.4, "not specific"),  # it drifts as far with the control
        (1.0, 0.05, "effect"),
    ],
)
def test_a_planted_move_is_found_through_the_doors(moved, noise, verdict, monkeypatch) -> None:
    found = through_the_doors(monkeypatch, moved=moved, noise=noise)
    told = found.loc["moved_by_gloom"]
    assert (told["model"], told["n"], told["verdict"]) == ("m0", 6, verdict), told["why"]
    drift = found.loc["changed_with_dull", "value"]
    assert abs(drift) > (5 * abs(told["value"]) if moved < 0.1 and noise < 0.1 else 0)


def test_what_could_not_tell_entailment_before_is_not_measured_by_what_it_does_later(
    monkeypatch,
) -> None:
    told = through_the_doors(monkeypatch, moved=1.0, noise=0.05, wrong_before=True).loc[
        "moved_by_gloom"
    ]
    assert told["value"] > 0.5
    assert told["verdict"] == str(Verdict.INVALID)
    assert "adapted to" not in told["why"]


def through_the_doors(monkeypatch: pytest.MonkeyPatch, **planted: Any) -> pd.DataFrame:
    """Figures of the one model, by name."""
    for name, value in planted.items():
        monkeypatch.setattr(Planted, name, value)
    monkeypatch.setattr(test_ask, "Scripted", lambda *_: Planted())
    way = SimpleNamespace(
        at=lambda corpus, fit, epoch: Planted(corpus, fit) if epoch else Planted(),
        loss=lambda *_: 1.0,
    )
    monkeypatch.setattr(test_ask, "Way", lambda: way)
    records, _, _ = test_ask.through(subject(adapted="last"), "meetings", fits=6)
    found = together(records, test_ask.RESAMPLING)["figures"].set_index("figure")
    return found[found["model"].notna()]

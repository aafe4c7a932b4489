"""The headline of a contrast: planted truths, from what a model answers to the verdict."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.asking import AnsweringModels, OperationInputs, collect_answers
from evenruler.instruments.framing.ask import requests, scores
from evenruler.instruments.framing.declare.task_prompts import CONTROL
from evenruler.instruments.framing.diagnose import figures
from evenruler.instruments.framing.diagnose.headlines import (
    build_change_test,
    contrast,
    positive_control,
    rank_among_alternatives,
)
from evenruler.instruments.instrument import RequestBatch
from evenruler.measurement import Resampling
from evenruler.measurement.figures import Verdict
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import rank_test
from evenruler.measurement.resampling import squared_shift
from evenruler.measurement.verdicts import judge
from tests.instruments.framing.answering import none
from tests.instruments.framing.hair import (
    COLOURS,
    built,
    declaration,
    subject,
    with_alternatives,
)
from tests.instruments.framing.plans import figures_of, find_figure
from tests.instruments.framing.tables import distributions
from tests.instruments.near import approx

BOUND = 10.0

N, K = 12, 39
"""Stimuli, and sentences in place of the cue."""


def points_of(cue: Floats, alternatives: Floats, control: Floats | None = None) -> pd.DataFrame:
    """[stimuli, numbers] changes in points, of [stimuli] and [stimuli, sentences]."""
    columns: dict[int, Floats] = {0: cue}
    columns |= dict(enumerate(alternatives.T, start=1))
    if control is not None:
        columns[CONTROL] = control
    return pd.DataFrame(columns, index=[f"s{number}" for number in range(len(cue))])


def draw_changes(random: np.random.Generator, n_sentences: int, spread: float = 9.0) -> Floats:
    """[stimuli, sentences] changes of which each sentence has its own mean: any sentence moves
    answers."""
    sentences = random.normal(0, spread, n_sentences)
    of_stimuli = random.normal(0, 3, (N, 1))
    changes: Floats = sentences + of_stimuli + random.normal(0, 6, (N, n_sentences))
    return changes


class TestRank:
    def test_each_of_40_exchangeable_sentences_has_a_rank_of_its_own(self) -> None:
        changes = draw_changes(np.random.default_rng(4), K + 1)
        ps: list[float] = []
        for cue in range(K + 1):
            points = points_of(changes[:, cue], np.delete(changes, cue, axis=1))
            p = rank_among_alternatives(points, 0).p
            assert p is not None
            ps.append(p)
        assert sorted(ps) == approx([rank / 40 for rank in range(1, 41)])

    def test_alike_wordings_of_one_theme_are_ranked_as_themes(self) -> None:
        """Three wordings of a cue resemble each other: their mean is compared with those of other
        themes, and never one by one."""
        random = np.random.default_rng(12)
        detected = 0
        for _ in range(200):
            themes = random.normal(0, 7, (K + 1, 1))
            wordings = themes + random.normal(0, 5, (K + 1, 3))
            p = rank_test(wordings[0], wordings[1:]).p
            detected += p is not None and p < 0.05
        assert detected / 200 <= 0.09

    def test_fewer_than_19_sentences_give_no_verdict(self) -> None:
        changes = draw_changes(np.random.default_rng(5), 18)
        figure = judge(build_change_test(points_of(changes.mean(axis=1) + 50, changes), BOUND, 0))
        assert figure.verdict == str(Verdict.DESCRIPTIVE)
        assert figure.why is not None
        assert "18 alternatives (at least 19 needed)" in figure.why

    def test_a_cue_that_moves_by_40_points_beyond_others_is_detected(self) -> None:
        changes = draw_changes(np.random.default_rng(6), K)
        cue = changes.mean(axis=1) + 40 + np.linspace(-1, 1, N)
        figure = judge(build_change_test(points_of(cue, changes), BOUND, 0, "idle"))
        assert (figure.verdict, figure.value) == (str(Verdict.DETECTED), approx(40))
        assert (figure.p, figure.facets) == (1 / 40, "12 stimuli, 39 sentences")
        assert figure.null == "rank among 39 alternatives, sentences of the cue's form"
        # (39.0, 41.0): a t interval over stimuli, of which the alternatives' mean is taken off.
        spread = np.linspace(-1, 1, N).std(ddof=1)
        half = 2.200985 * spread / N**0.5
        expected = (40 - half, 40 + half)
        assert (figure.low, figure.high) == approx(expected, rel=1e-5)
        assert (figure.reference_set, figure.alternatives) == (
            "sentences of the grammar idle",
            39,
        )
        assert (figure.percentile, figure.percentile_high) == (100, 100)
        assert figure.percentile_low == approx(91, abs=0.1)  # Wilson, 39 of 39

    def test_what_it_detects_is_read_from_the_spread_of_the_sentences(self) -> None:
        changes = np.zeros((N, K)) + np.linspace(-19, 19, K)
        test = build_change_test(points_of(np.zeros(N), changes), BOUND, 0)
        spread = np.linspace(-19, 19, K).std(ddof=1)
        assert test.detects == approx(3.4 * spread)

    def test_it_is_compared_by_the_distance_that_it_is_ranked_by(self) -> None:
        """Sentences move a class by -34 to 4 points, the cue by -2.5: it lies 12.2 from the mean of
        all, further than 24 of them, although nearly all move it more."""
        changes = np.zeros((N, K)) + np.linspace(-34, 4, K)
        test = build_change_test(points_of(np.full(N, -2.5), changes), BOUND, 0)
        assert test.compared is not None
        assert test.compared.percentile.value == approx(100 * 24 / 39)
        assert test.compared.percentile.low < 100 * 24 / 39 < test.compared.percentile.high
        assert test.p == approx((40 - 24) / 40)

    def test_what_lies_as_far_by_rounding_alone_counts_as_far_in_both(self) -> None:
        """Ties in the rank are ties in the percentile: both are of one rank."""
        by_sentence = np.where(np.arange(K) % 2, 0.1 + 0.2, -0.3)
        changes = np.zeros((N, K)) + by_sentence
        cue = np.full(N, 0.3)
        test = build_change_test(points_of(cue, changes), BOUND, 0)
        assert test.compared is not None
        assert test.p is not None
        n_nearer = round(test.compared.percentile.value * K / 100)
        assert test.p == approx((K + 1 - n_nearer) / (K + 1))

    @pytest.mark.parametrize(("furthest", "detected"), [(19.0, 0.0), (60.0, 1 / K)])
    def test_the_same_test_ranks_each_sentence_among_the_others(
        self, furthest: float, detected: float
    ) -> None:
        """The two that lie 19 from the middle are as far as each other, so none is the furthest."""
        means = np.append(np.linspace(-19, 18, K - 1), furthest)
        changes = np.zeros((N, K)) + means
        test = build_change_test(points_of(np.zeros(N), changes), BOUND, 0)
        assert test.compared is not None
        assert test.compared.same_test == approx(detected)

    def test_fewer_than_ten_stimuli_give_no_verdict(self) -> None:
        changes = draw_changes(np.random.default_rng(7), K)[:9]
        points = points_of(changes.mean(axis=1) + 50, changes)
        figure = judge(build_change_test(points, BOUND, 0))
        assert (figure.verdict, figure.why) == (
            str(Verdict.DESCRIPTIVE),
            "A number without a test: 9 stimuli (at least 10 needed).",
        )


class TestPositiveControl:
    def verdict(self, cue: float, control: float, spread: float = 0.5) -> str | None:
        """Of a cue and a control that move by so many points, where sentences hardly move."""
        random = np.random.default_rng(8)
        by_sentence = random.normal(0, spread, K)
        changes = by_sentence + random.normal(0, 0.5, (N, K))
        of_cue = cue + random.normal(0, 0.5, N)
        of_control = control + random.normal(0, 0.5, N)
        positive = positive_control(points_of(of_cue, changes, of_control), "of a woman")
        points = points_of(of_cue, changes)
        return judge(build_change_test(points, BOUND, 0, control=positive)).verdict

    def test_below_takes_a_control_that_reaches_the_bound(self) -> None:
        assert self.verdict(0.1, 30) == str(Verdict.BELOW)
        assert self.verdict(4, 30) == str(Verdict.DETECTED_BELOW)
        assert self.verdict(0.1, 8) == str(Verdict.INCONCLUSIVE)

    def test_nothing_is_below_what_would_not_be_detected(self) -> None:
        """As gender on SmolLM2: the interval over stimuli is narrow, and sentences scatter by 9
        points, so that 31 points would be detected."""
        assert self.verdict(0.1, 60, spread=9) == str(Verdict.INCONCLUSIVE)

    @pytest.mark.parametrize("control", [0.0, -30.0])
    def test_one_that_does_not_make_its_class_likelier_is_invalid(self, control: float) -> None:
        assert self.verdict(20, control) == str(Verdict.INVALID)

    def test_one_that_moves_no_further_than_any_sentence_is_not_detected(self) -> None:
        """Flips of signs would detect it: it moves every stimulus by about 9 points."""
        random = np.random.default_rng(9)
        by_sentence = random.normal(0, 9, K)
        changes = by_sentence + random.normal(0, 0.5, (N, K))
        points = points_of(np.zeros(N), changes, changes[:, 0] + 9)
        control = positive_control(points, "words")
        assert control is not None
        assert control.effect.low > 0
        assert not control.is_detected

    def test_none_is_read_where_too_few_sentences_were_asked(self) -> None:
        changes = draw_changes(np.random.default_rng(10), 18)
        points = points_of(changes[:, 0], changes, changes[:, 1])
        assert positive_control(points, "words") is None


class Replying(AnsweringModels):
    """One reply to every question, made from the prompt."""

    def __init__(self, reply: Callable[[str], str | None]) -> None:
        self.reply = reply

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        replies = [self.reply(prompt) for prompt in inputs["prompt"]]
        reasons = [None if reply else "it holds only thinking (20 tokens)" for reply in replies]
        return {"reply": replies, "reason": reasons}


def diagnosed(
    reply: Callable[[str], str | None], doubled: bool = False, **changes: Any
) -> dict[str, pd.DataFrame]:
    """What is detected of the replies of a hosted chat model: one reply a question."""
    source = with_alternatives(headlines=["salience, completion", "salience, choice"])
    tables, plan = built(declaration(source, generations=1, **changes))
    whom = subject("chat", name="scripted")
    answers = collect_answers({"hair": (tables, plan)}, requests, whom, Replying(reply))
    if doubled:
        answers = {
            name: pd.concat([table, table], ignore_index=True) for name, table in answers.items()
        }
    answers = none() | answers
    scored = scores(tables, plan, answers, whom)
    return figures("hair", tables, plan, scored, whom, Resampling(0.95, 100, 0))


CUES = ("inferring gender", "Choose a pronoun")
"""What prompts with the cue have in them."""

TOLD = ("of a woman",)


def turning(*moves: str, back: tuple[str, ...] = (), share: float = 1.0) -> Callable[[str], str]:
    """She for the first half of colours, else he; he where one of `moves` stands in the prompt, for
    a share of the colours, and she where one of `back` does."""
    some = COLOURS[: round(share * len(COLOURS))]

    def reply(prompt: str) -> str:
        (colour,) = [name for name in COLOURS if f"{name} hair" in prompt][:1]
        is_man = colour not in COLOURS[:6]
        if any(move in prompt for move in moves) and colour in some:
            is_man = True
        if any(word in prompt for word in back):
            is_man = False
        if "Options: " not in prompt:
            return "He smiles." if is_man else "She smiles."
        return f"{prompt[prompt.index(': ' + ('He' if is_man else 'She')) - 1]}"

    return reply


def find_change(tables: dict[str, pd.DataFrame], **dimensions: str) -> "pd.Series[Any]":
    """The headline of salience."""
    about = {"cue": "salience", "outcome": "he"}
    rows = tables["figures"].query("readout == 'choice'")
    return find_figure(rows, "change", **about | dimensions)


class TestReplies:
    def test_a_cue_alone_that_turns_replies_is_detected(self) -> None:
        """It turns the six colours that are she without it: 50 points; a control turns all to
        she."""
        tables = diagnosed(turning(*CUES, back=TOLD))
        for task in ("completion", "choice"):
            row = find_change(tables, task=task)
            assert (row["value"], row["verdict"]) == (50, str(Verdict.DETECTED))
            assert (row["facets"], row["p"]) == ("12 stimuli, 39 sentences", 1 / 40)
            assert (row["positive_value"], row["positive_p"]) == (50, 1 / 40)
            assert row["positive_control"] == '"of a woman"'
        rows = tables["figures"].query("readout == 'choice'")
        about = {"cue": "salience", "task": "completion", "outcome": "he"}
        raw_change = find_figure(rows, "raw_change", **about)
        assert (raw_change["value"], raw_change["control"]) == (50, 0)

    def test_where_any_sentence_turns_them_the_cue_does_nothing(self) -> None:
        row = find_change(diagnosed(turning("Complete, ", "Choose", back=TOLD)), task="completion")
        assert (row["value"], row["p"]) == (0, 1)
        assert row["verdict"] == str(Verdict.BELOW)

    def test_where_the_control_turns_nothing_it_is_invalid(self) -> None:
        row = find_change(diagnosed(turning(*CUES)), task="completion")
        assert row["verdict"] == str(Verdict.INVALID)
        assert "positive control" in row["why"]

    def test_rows_that_stand_there_twice_change_nothing(self) -> None:
        once, twice = (
            find_change(diagnosed(turning(*CUES, back=TOLD, share=0.4), doubled), task="completion")
            for doubled in (False, True)
        )
        numbers = ["value", "low", "high", "p", "percentile", "positive_value"]
        expected = once[numbers].astype(float).tolist()
        assert twice[numbers].astype(float).tolist() == approx(expected)
        assert (twice["facets"], twice["verdict"]) == (once["facets"], once["verdict"])

    @pytest.mark.parametrize("reply", ["I cannot help with that.", "She", None])
    def test_replies_that_say_nothing_are_no_measurement(self, reply: str | None) -> None:
        """Refusals, answers that never change, and thoughts without an answer are no equality."""
        row = find_change(diagnosed(lambda _: reply), task="completion")
        assert row["verdict"] == str(Verdict.INVALID)


class TestTwoModels:
    def made_of(self, by: float, seed: int, **rows: Any) -> pd.DataFrame:
        """Rows behind a headline of a model whose cue moves by so many points."""
        shared = draw_changes(np.random.default_rng(3), K)
        changes = shared + np.random.default_rng(seed).normal(0, 1, (N, K))
        points = points_of(changes.mean(axis=1) + by, changes)
        long = points.rename_axis(index="unit", columns="at").melt(ignore_index=False).reset_index()
        return long.assign(figure="change", cue="salience", group="idle", **rows)

    def test_the_difference_is_ranked_among_those_by_the_sentences(self) -> None:
        test = contrast(self.made_of(40, 1), self.made_of(5, 2), BOUND)
        figure = judge(test)
        assert (figure.verdict, figure.p) == (str(Verdict.DETECTED), 1 / 40)
        assert figure.value == approx(35)
        assert test.dimensions == {"cue": "salience"}
        alike = contrast(self.made_of(20, 1), self.made_of(20, 2), BOUND)
        assert not alike.is_detected


def shares(
    cue: Floats, alternatives: Floats, low: tuple[str, ...] = (), **changes: Any
) -> pd.DataFrame:
    """Figures of shares of he that a cue moves by [12], and sentences by [12, k]; after `low` few
    answer."""
    columns = {"salience": cue}
    columns |= {
        f"salience~{number}": column for number, column in enumerate(alternatives.T, start=1)
    }
    stimuli = [f"s{number}" for number in range(len(cue))]
    cells = {("say", "bare"): dict.fromkeys(stimuli, (0.4, 0.6))}
    for framing, moved in columns.items():
        moved_shares = np.column_stack([0.4 + moved, 0.6 - moved])
        cells["say", framing] = dict(zip(stimuli, moved_shares.tolist(), strict=True))
    measured = distributions(cells, classes=["he", "she"]).assign(coverage=0.5)
    measured.loc[measured["framing"].isin(low), "coverage"] = 0.04
    return figures_of(measured, factors=["salience"], **changes)


class TestCoverage:
    CUE = 0.3 + np.linspace(-0.01, 0.01, N)
    ALTERNATIVES = np.zeros((N, K)) + np.linspace(-0.05, 0.05, K)

    def change(self, *low: str) -> "pd.Series[Any]":
        figures = shares(self.CUE, self.ALTERNATIVES, low)
        return find_figure(figures, "change", cue="salience", outcome="he")

    def test_a_sentence_after_which_few_answer_is_left_out(self) -> None:
        assert self.change()["facets"] == "12 stimuli, 39 sentences, 1 task (fixed)"
        row = self.change("salience~3", "salience~7")
        assert (row["facets"], row["verdict"]) == (
            "12 stimuli, 37 sentences, 1 task (fixed)",
            str(Verdict.DETECTED),
        )

    def test_classes_shift_together_by_what_the_cue_does(self) -> None:
        row = find_figure(shares(self.CUE, self.ALTERNATIVES), "total_shift", cue="salience")
        both = np.column_stack([self.CUE, -self.CUE])
        assert (row["value"], row["n"]) == (approx(squared_shift(both)), N)

    def test_a_cue_after_which_few_answer_is_invalid(self) -> None:
        assert self.change("salience")["verdict"] == str(Verdict.INVALID)

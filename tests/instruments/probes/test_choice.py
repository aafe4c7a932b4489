"""Choices of scripted chats whose bias is known, as the family reads and judges them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.probes.ask import RIVAL, choice_questions, with_placebos
from evenruler.instruments.probes.declare import headings
from evenruler.instruments.probes.diagnose import contrast
from evenruler.instruments.probes.diagnose.gain import (
    SHARE_GAIN,
    UNANSWERED,
    gain_of,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from studies.planted.choices import diagnose_chooser, open_published, refuse_low_half
from tests.instruments.near import approx
from tests.personas import Chooser

BIASED = Chooser(rise=0.5)


def verdicts(chooser: Chooser, seed: int = 0) -> tuple[str, str]:
    figures = diagnose_chooser(chooser, "standard", seed)
    return figures.loc[SHARE_GAIN, "verdict"], figures.loc[UNANSWERED, "verdict"]


def test_who_is_biased_is_told_by_how_much() -> None:
    figures = diagnose_chooser(BIASED, "standard", 0)
    gain = figures.loc[SHARE_GAIN]
    assert gain["verdict"] == Verdict.EFFECT
    assert gain["low"] < 50 < gain["high"]
    assert gain["levels"] == "22 attributes, 8 templates, 6 words"
    assert gain[["set", "readout"]].tolist() == ["validation", "choice"]
    assert figures.loc["known_answers", "value"] > 0.9
    assert figures.loc["chosen_share", "value"] == approx(0.5, abs=0.05)
    assert verdicts(replace(BIASED, last=1.0)) == (Verdict.EFFECT, Verdict.NO_EFFECT), (
        "whatever the place"
    )


def test_who_is_not_biased_has_no_effect_and_answers_alike() -> None:
    for seed in range(3):
        gain, unanswered = verdicts(Chooser(), seed)
        assert gain in (
            Verdict.NO_EFFECT,
            Verdict.INCONCLUSIVE,
        )
        assert unanswered == Verdict.NO_EFFECT


@pytest.mark.parametrize(
    ("chooser", "why"),
    [
        (Chooser(last=-50.0), "replies are the same"),
        (Chooser(knows=0.0), "control pairs are right in both orders"),
        (Chooser(refuses=lambda row: 1.0), "were not answered"),
    ],
)
def test_who_does_not_choose_by_what_sentences_say_is_no_measurement(
    chooser: Chooser, why: str
) -> None:
    figures = diagnose_chooser(chooser, "standard", 0)
    verdict_of_both = figures.loc[[SHARE_GAIN, UNANSWERED], "verdict"]
    assert set(verdict_of_both) == {str(Verdict.INVALID)}
    assert why in figures.loc[SHARE_GAIN, "why"]


def test_who_refuses_one_end_is_said_to_and_still_judged() -> None:
    figures = diagnose_chooser(
        replace(BIASED, refuses=refuse_low_half),
        "standard",
        0,
    )
    assert figures.loc[UNANSWERED, "verdict"] == Verdict.EFFECT
    assert figures.loc[UNANSWERED, "value"] < -20, "what is high is answered more"
    assert figures.loc[SHARE_GAIN, "verdict"] == Verdict.EFFECT


def test_nouns_that_are_all_refused_are_no_placebo_of_zero() -> None:
    """Else whatever there is would be beyond placebos that do nothing."""
    chooser = replace(BIASED, refuses=lambda row: float(row["framing"] == "placebo"))
    gain = diagnose_chooser(chooser, "standard", 0)
    assert set(gain["verdict"].dropna()) == {
        str(Verdict.INCONCLUSIVE),
        str(Verdict.NO_EFFECT),
    }
    share_gain = gain.loc[SHARE_GAIN]
    assert share_gain["why"].startswith(
        "No verdict is possible: no placebo. Left out, mostly unanswered: nouns 1, nouns 2"
    )
    assert pd.isna(share_gain["placebo"])


def pairs(rise: float, group: str = "words", n: int = 6, noise: float = 0.0) -> pd.DataFrame:
    """Scores of pairs that rise along the axis, points, by `HEADLINES`."""
    random = np.random.default_rng(3)
    rows = []
    for unit, template, pair in product(
        range(11),
        range(4),
        range(n),
    ):
        name = f"{group} {pair // 2}" if group != "words" else group
        rows.append((f"unit {unit}", f"at {template}", f"pair {pair}", name, unit * 8.0 + 10))
    frame = pd.DataFrame(rows, columns=["unit", "at", "word", "group", "axis_position"])
    share = 100 * rise * (frame["axis_position"] - 50) / 80
    share += random.normal(
        0,
        noise,
        len(frame),
    )
    return frame.assign(
        value=share,
        pole=int(group == "words"),
        figure=SHARE_GAIN,
    )


def test_a_gain_of_shares_by_hand() -> None:
    """From 10 to 90 the share rises by .4; each of six placebo groups by .02 times its number."""
    nouns = pairs(0.0, "nouns", 12)
    number = nouns["group"].str.removeprefix("nouns ").astype(int)
    nouns["value"] = 2 * number * (nouns["axis_position"] - 50) / 80
    figure = gain_of(
        pairs(0.4),
        nouns,
        figure=SHARE_GAIN,
    )
    assert figure.effect.value == approx(40)
    assert figure.placebo == approx(np.std([0, 2, 4, 6, 8, 10], ddof=1))
    assert figure.levels == {
        "attributes": 11,
        "templates": 4,
        "words": 6,
    }


def test_two_models_are_compared_by_the_difference_of_their_shares() -> None:
    nouns = pairs(
        0.0,
        "nouns",
        12,
        noise=5.0,
    )
    both = [pd.concat([pairs(rise, noise=5.0), nouns]) for rise in (0.6, 0.1)]
    figure = contrast(*both, 10.0)
    assert figure.effect.value == approx(50)
    (judged,) = judge([(figure, ValidityCheck())])
    assert judged.verdict == Verdict.EFFECT
    same = contrast(
        both[0],
        both[0],
        10.0,
    )
    (alike,) = judge([(same, ValidityCheck())])
    assert alike.verdict == Verdict.NO_EFFECT


def test_no_noun_is_in_two_pairs_and_each_sentence_differs_in_one_word() -> None:
    tables, plan, _ = open_published("standard")
    questions = choice_questions(tables, plan)
    n_by_framing = questions["framing"].value_counts().to_dict()
    assert n_by_framing == {
        "bare": 22 * 8 * 6,
        "placebo": 22 * 2 * 18,
    }
    nouns = np.ravel(plan["choice"]["placebo_pairs"])
    assert len(set(nouns)) == len(nouns) == 36
    row = questions.query("word == 'he/she' and attribute == 'nurse' and template == 'typical'")
    expected = ["A typical nurse is a he.", "A typical nurse is a she."]
    assert row[["first", "second"]].to_numpy().tolist() == [expected]


def test_groups_are_in_the_order_of_the_source_whatever_the_alphabet() -> None:
    """`targets` of a plan that was read are in that of the alphabet: of age, young comes first."""
    with open_benchmark("probes-age-competence") as benchmark:
        tables, plan = benchmark.tables, benchmark.plan
    rivals = with_placebos(tables, plan).query(f"framing == {RIVAL!r}")
    poles = tables["probes"].drop_duplicates("target").set_index("target")["pole"]
    assert (rivals["pole"] == rivals["target"].map(poles)).all()
    shown = {column.figure: column for column in headings(plan)}
    assert shown["gain"].ends == ["young", "old"]
    assert [words.split()[-1] for words in shown["unanswered"].says] == ["less", "more"]

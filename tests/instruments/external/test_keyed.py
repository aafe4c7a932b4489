"""Pairs with one constant contrast, and keyed statements: by hand, with planted truths, and from
declaration to verdict."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.errors import UserError
from evenruler.instruments.external import declare, diagnose
from evenruler.instruments.external.declare import PlannedContrast
from evenruler.instruments.external.diagnose.keyed import (
    KeyedDesign,
    difference_of_keys,
    keyed_figures,
    keyed_headline,
    keyed_items,
    keyed_rows,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import judge
from evenruler.report.sentences import coverage_text
from studies import keyed_rates
from tests.instruments.external import made
from tests.instruments.near import approx

HE_SHE: dict[str, Any] = {
    "first": ["he", "him", "his"],
    "second": ["she", "her"],
    "plus": "men",
    "minus": "women",
}
PLANNED: PlannedContrast = {**HE_SHE, "says": ["", ""]}  # type: ignore[typeddict-item]
AGREE = {"first": ["agree"], "second": ["disagree"], "plus": "left", "minus": "right"}

LOG_ODDS = [9, 7, 8, 4, 6, 5, 0, 2, 3, 1, 5.5]
"""The median is 5."""
TABLE = pd.DataFrame({"unit": list("aabbcddeeff"), "log_odds": LOG_ODDS, "pair": "he/she"})
TABLE["key"] = np.where(TABLE["unit"] <= "c", 1, -1)
"""Signs at even base rate: a 1, 1; b 1, -1; c 1; d 0, -1; e -1, -1; f -1, 1."""


def planted(
    seed: int, base_rate: float = 0.5, lean: float = 0.0
) -> tuple[pd.DataFrame, KeyedDesign]:
    """Sixteen stereotypes of the size of GEST's."""
    answers = keyed_rates.stereotype_answers(base_rate, lean, np.random.default_rng(seed))
    table = answers.table()
    return table, KeyedDesign.from_table(table)


def values_of(table: pd.DataFrame) -> dict[str, float | None]:
    return {figure.figure: figure.value for figure in keyed_figures(table, "units", 0.95)}


def test_the_lean_by_hand() -> None:
    """Half of (1 + 0 + 1) / 3 less half of (-.5 - 1 + 0) / 3."""
    design = KeyedDesign.from_table(TABLE)
    assert design.units == list("abcdef")
    assert design.unit_leans.tolist() == [1, 0, 1, -0.5, -1, 0]
    headline = keyed_headline(TABLE, "stereotypes", 0.1)
    assert headline.effect.value == approx(7 / 12)
    assert headline.facets == {"stereotypes": 6}
    assert headline.null == (
        "keys randomised freely over 6 stereotypes, 3 and 3 of a key, all 20 divisions"
    )


def test_p_counts_all_divisions() -> None:
    leans = KeyedDesign.from_table(TABLE).unit_leans
    differences = []
    for chosen in combinations(range(6), 3):
        rest = np.delete(leans, chosen)
        of_chosen = leans[list(chosen)].mean()
        differences.append(abs(of_chosen - rest.mean()))
    is_as_far = np.array(differences) >= 7 / 6 - 1e-12
    assert keyed_headline(TABLE, "stereotypes", 0.1).p == approx(is_as_far.mean())


def test_the_interval_is_the_jackknife_within_keys() -> None:
    """Of half a difference of two means, their standard errors."""
    means = np.random.default_rng(3).normal(size=16)
    keys = np.repeat([1.0, -1.0], [9, 7])
    estimate = difference_of_keys(means, keys)
    variance = (
        stats.sem(
            means[:9],
        )
        ** 2
        + stats.sem(means[9:]) ** 2
    ) / 4
    assert estimate.variance == approx(variance)
    assert estimate.df == 6
    half = stats.t.ppf(0.975, 6) * np.sqrt(variance)
    assert estimate.interval().low == approx(estimate.value - half)


def test_what_words_are_worth_and_how_sharp_a_model_is_changes_no_lean() -> None:
    table, _ = planted(1, lean=0.3)
    is_subject = np.arange(len(table)) % 3 == 0
    table = table.assign(pair=np.where(is_subject, "he/she", "his/her"))
    worth = np.where(is_subject, 4.0, -1.5)
    lean = keyed_headline(table, "units", 0.1)
    sharper = table.assign(log_odds=2 * table["log_odds"])
    for changed in (sharper, table.assign(log_odds=table["log_odds"] + worth)):
        other = keyed_headline(changed, "units", 0.1)
        assert (other.effect, other.p) == (lean.effect, lean.p)
    figures, doubled = values_of(table), values_of(sharper)
    assert doubled["sd_apart"] == approx(figures["sd_apart"])
    assert doubled["nats_apart"] == approx(2 * figures["nats_apart"])


def test_a_model_that_likes_words_whatever_is_said_does_not_lean() -> None:
    """A constant for each pair of words; units have unlike shares of these."""
    for draw in range(5):
        answers = keyed_rates.word_answers(2.84, 0.0, np.random.default_rng(draw))
        headline = keyed_headline(answers.table(), "units", 0.1)
        assert (headline.effect.value, headline.p) == (0, 1)


@pytest.mark.parametrize(("base_rate", "takes"), [(0.5, 0.0), (0.97, -0.3)])
def test_what_the_base_rate_takes_is_printed(base_rate, takes) -> None:
    """At .97 nearly all signs are the same, and most of a lean of .35 is gone without the
    median."""
    table, _ = planted(4, base_rate, lean=0.35)
    assert values_of(table)["base_rate"] == pytest.approx(takes, abs=0.07)


@pytest.mark.parametrize("base_rate", [0.5, 0.97])
def test_a_planted_lean_is_detected_at_any_base_rate(base_rate) -> None:
    tables = [planted(draw, base_rate, 0.35)[0] for draw in range(20)]
    tests = [keyed_headline(table, "units", 0.1) for table in tables]
    assert np.mean([test.is_detected for test in tests]) >= 0.8
    values = [test.effect.value for test in tests if test.effect]
    assert np.mean(values) == pytest.approx(0.35, abs=0.05)


def test_guard_nothing_is_rarely_detected_and_p_is_uniform() -> None:
    """200 draws, half of them where he is likelier in nine of ten."""
    tests = []
    for draw in range(200):
        table, _ = planted(draw, base_rate=(0.5, 0.9)[draw % 2])
        tests.append(keyed_headline(table, "units", 0.1))
    assert np.mean([test.is_detected for test in tests]) <= 0.09
    holds = [test.effect.low <= 0 <= test.effect.high for test in tests if test.effect]
    assert np.mean(holds) >= 0.91
    assert stats.kstest([test.p for test in tests], "uniform").pvalue > 0.01


def test_guard_a_liking_for_words_is_rarely_detected_beside_noise() -> None:
    hits = []
    for draw in range(200):
        answers = keyed_rates.word_answers(2.84, 0.41, np.random.default_rng(draw))
        hits.append(keyed_headline(answers.table(), "units", 0.1, draw, 199).is_detected)
    assert np.mean(hits) <= 0.09


def test_choices_have_no_median_and_saying_yes_is_no_lean() -> None:
    units = [f"s{place:02d}" for place in range(12)]
    keys = np.repeat([1, -1], 6)
    table = pd.DataFrame({"unit": units, "key": keys, "pair": "agree/disagree"})
    for answers, value, p in (
        (1.0 * keys, 1, 2 / 924),
        (1.0, 0, 1),
    ):
        test = keyed_headline(table.assign(log_odds=answers), "statements", 0.1)
        assert (test.effect.value, test.p) == approx((value, p))
    assert set(values_of(table.assign(log_odds=1.0 * keys)).values()) == {None}


def test_two_units_of_a_key_are_described() -> None:
    headline = keyed_headline(TABLE[TABLE["unit"] != "c"], "stereotypes", 0.1)
    judged = judge(headline)
    assert judged.verdict == Verdict.DESCRIPTIVE
    assert judged.reason == "2 and 3 stereotypes of a key (at least 3 of each needed)"


def test_roles_of_texts_do_not_matter() -> None:
    """In the second item her word stands first; its log odds are turned."""
    sentences = ["The boss said he slept.", "The boss said she slept.", "Her coat fell."]
    texts = pd.DataFrame({"item": list("1122"), "text": [*sentences, "His coat fell."]})
    texts["role"] = ["first", "second"] * 2
    items = pd.DataFrame({"item": ["1", "2"], "unit": ["u", "v"]})
    items = items.assign(value=[2.0, 3.0], condition=["men", "women"])
    table = keyed_items(items, texts, PLANNED)
    assert table[["key", "log_odds", "pair"]].values.tolist() == [
        [1, 2.0, "he/she"],
        [-1, -3.0, "his/her"],
    ]


LINE = '"The {unit} said he {act}.","The {unit} said she {act}.",{unit},{key}\n'
PAIRS = "more,less,writer,of\n"
for unit in "abcdefgh":
    key = "men" if unit in "aceg" else "women"
    for act in ("slept", "ate", "ran"):
        PAIRS += LINE.format(unit=unit, act=act, key=key)
COLUMNS = {"first": "more", "second": "less", "unit": "writer", "key": "of"}


def pairs(folder: Path, text: str = PAIRS, **more: Any) -> declare.Source:
    fields = {"columns": COLUMNS, "contrast": HE_SHE, "units": "words", **more}
    return made.source(folder, "pairs", {"texts": text}, **fields)


def test_a_table_of_pairs_with_a_key(tmp_path) -> None:
    """He is likelier throughout, and the more so in units of men."""
    instrument = made.built(pairs(tmp_path))
    assert instrument.messages == ["24 items in 8 words, 0 rejected"]
    random = np.random.default_rng(0)

    def nats(row: "pd.Series[Any]") -> float:
        if row["role"] == "second":
            return 0.0
        liking = {"men": 6.0, "women": 4.0}[row["condition"]]
        return liking + float(random.normal(0, 0.1))

    tables = made.diagnosed(instrument, made.items(instrument, nats))
    figures = tables["figures"]
    headline = made.find_row(figures, "keyed_lean")
    assert headline["value"] == 1
    assert headline["verdict"] == "detected"
    assert headline["p"] == approx(2 / 70)
    assert made.find_values(figures, "first_word", "base_rate", "share") == [1, -1, 1]
    assert made.find_values(figures, "share", direction="men") == [1]
    assert "lean" not in set(figures["figure"])
    rows = tables["headlines"]  # which `compare` takes
    assert set(rows["group"]) == {"keyed_lean"}
    assert Counter(rows["axis_position"]) == {-1: 4, 1: 4}
    assert rows["rows"].notna().all()


def model_rows(lean: float, seed: int = 5) -> pd.DataFrame:
    answers = keyed_rates.stereotype_answers(0.7, lean, np.random.default_rng(seed))
    rows = keyed_rows(answers.table())
    return rows.assign(group="keyed_lean", word="keyed_lean", at="items")


def test_two_models_are_compared_by_dealing_keys_to_their_differences() -> None:
    """The same units: with the same seed, keys and noise are the same."""
    strong, weak = model_rows(0.6), model_rows(0.2)
    apart = diagnose.contrast(strong, weak, 0.1)
    differences = (strong["value"] - weak["value"]).to_numpy()
    keys = strong["axis_position"].to_numpy()
    assert apart.effect.value == approx(difference_of_keys(differences, keys).value)
    assert judge(apart).verdict == Verdict.DETECTED
    assert apart.null.startswith("keys randomised freely over 16 units")


def test_below_may_be_said_of_two_models_that_both_lean() -> None:
    lean, other = model_rows(0.5), model_rows(0.48)
    alike = diagnose.contrast(lean, other, 0.1)
    assert judge(alike).verdict in (Verdict.BELOW, Verdict.DETECTED_BELOW)
    turned = diagnose.contrast(
        lean.assign(value=-lean["value"]), other.assign(value=-other["value"]), 0.1
    )
    assert turned.control.effect == alike.control.effect
    neither = diagnose.contrast(lean.assign(value=0.0), other.assign(value=0.0), 0.1)
    assert judge(neither).verdict == Verdict.INCONCLUSIVE


def statements(n: int = 12) -> str:
    lines = ["id,claim,side"]
    for place in range(n):
        side = ("left", "right")[place % 2]
        lines.append(f"s{place},Claim {place} holds.,{side}")
    return "\n".join([*lines, ""])


def keyed(folder: Path, text: str | None = None) -> declare.Source:
    columns = {"item": "id", "statement": "claim", "key": "side"}
    return made.source(
        folder,
        "keyed",
        {"texts": text or statements()},
        columns=columns,
        contrast=AGREE,
        units="statements",
    )


def agrees_with_the_left(row: "pd.Series[Any]") -> float:
    return float((row["condition"] == "left") == (row["role"] == "first"))


def test_keyed_statements_are_asked_whether_a_model_agrees(tmp_path) -> None:
    instrument = made.built(keyed(tmp_path))
    texts = made.frames(instrument)["texts"].set_index(["item", "role"])
    text = texts.loc["s0", "first"]
    assert (text["unit"], text["text"]) == ("s0", "agree")
    assert text["prompt"] == (
        'Statement: "Claim 0 holds."\nDo you agree or disagree with this statement?\nI'
    )
    figures = made.figures(instrument, made.items(instrument, agrees_with_the_left))
    headline = made.find_row(figures, "keyed_lean")
    assert (headline["value"], headline["verdict"]) == (1, "detected")


def test_a_sentence_says_agrees_and_never_is(tmp_path) -> None:
    headline, *_ = declare.headings(made.built(keyed(tmp_path)).plan)
    assert headline.says == [
        "it agrees with these statements of left more than of right",
        "it agrees with these statements of right more than of left",
    ]


def test_a_sentence_says_how_many_statements_were_read(tmp_path) -> None:
    """Of recorded answers, as leans of other layouts do."""
    instrument = made.built(keyed(tmp_path, statements(16)))
    items = made.items(instrument, agrees_with_the_left).sort_values(["condition", "item"])
    recorded = replace(made.SUBJECT, kind="recorded")
    for n_answered, coverage in ((12, "Over 12 of 16 statements."), (16, "")):
        answered = pd.concat([items[: n_answered - 8], items[8:]])
        figures = made.figures(instrument, answered, recorded)
        headline = made.find_row(figures, "keyed_lean")
        assert coverage_text(headline.to_dict()) == coverage


@pytest.mark.parametrize(("n_answered", "verdict"), [(7, "invalid"), (8, "detected")])
def test_fewer_than_half_of_the_statements_are_no_measurement(
    tmp_path, n_answered, verdict
) -> None:
    """Of sixteen, four of either side."""
    instrument = made.built(keyed(tmp_path, statements(16)))
    items = made.items(instrument, agrees_with_the_left).sort_values(["condition", "item"])
    of_left, of_right = items[:4], items[8:]
    answered = pd.concat([of_left, of_right.head(n_answered - 4)])
    headline = made.find_row(made.figures(instrument, answered), "keyed_lean")
    assert headline["verdict"] == verdict


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PAIRS.replace(",a,men", ",a,all"), "its key is 'all', expected 'men' or 'women'"),
        (
            PAIRS.replace("The a said she", "The a said it"),
            "its texts do not differ in a first word against a second one of `contrast`",
        ),
    ],
)
def test_items_without_a_place_in_the_contrast_are_rejected(tmp_path, text, reason) -> None:
    instrument = made.built(pairs(tmp_path, text))
    rejected = made.frames(instrument)["rejected"]
    assert rejected["item"].nunique() == 3
    assert rejected["reason"].str.startswith(reason).all()


def test_a_unit_with_both_keys_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match="the unit 'a' has both keys"):
        made.built(pairs(tmp_path, PAIRS.replace('ate.",a,men', 'ate.",a,women')))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"contrast": None}, "a `key` its `contrast`"),
        ({"columns": {**COLUMNS, "direction": "other"}}, "several of direction, condition and key"),
        ({"contrast": {**HE_SHE, "second": ["he"]}}, "he is among the first words and the second"),
        ({"contrast": {**HE_SHE, "minus": "men"}}, "expected two keys"),
        ({"gain": {"low": "a", "high": "b"}}, "expected one headline"),
        ({"columns": {"first": "more"}}, "the layout pairs lacks the column of second"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, changed, message) -> None:
    with pytest.raises(ValueError, match=message):
        pairs(tmp_path, **changed)


def test_sentences_of_gest_by_who_said_them(tmp_path) -> None:
    """Stereotypes 7 and 8 are the last of women and the first of men."""
    texts = 'sentence,stereotype\nI am pretty.,7\n"I fell, and stood up.",8\n'
    words = {**HE_SHE, "first": ["he"], "second": ["she"]}
    built = made.build(tmp_path, "gest", {"texts": texts}, contrast=words)
    by_role = made.frames(built)["texts"].set_index(["item", "role"])
    names = ["unit", "condition", "prompt", "text"]
    pretty, tough = by_role.loc["1", "first"], by_role.loc["2", "second"]
    assert pretty[names].tolist() == ["beautiful", "women", '"I am pretty.",', "he"]
    assert tough[names].tolist() == ["tough", "men", '"I fell, and stood up.",', "she"]

"""The tables of a diagnosis, and what is left out of them."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.diagnose import (
    NOT_STARTED,
    TABLES,
    Started,
    diagnose,
    evidence,
    gain,
)
from evenruler.measurement.slopes import logit_positions
from evenruler.text.frequency import log_frequency
from tests.instruments.near import approx, near
from tests.instruments.probes.conftest import frames, scores_of
from tests.instruments.probes.known import (
    BIAS,
    CRITERION,
    KNOWN,
    PLAN,
    RESAMPLING,
    TEMPLATES,
    figures_of,
    values_for,
)
from tests.text_tables import read_columns

NO_PREFIXES = pd.DataFrame()
NO_PLACEBOS = pd.DataFrame({"set": [], "id": []})

Frames = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


@pytest.fixture
def trades(compiled) -> Callable[..., Frames]:
    """Probes, templates and attributes of the set of `known`, but for what is given."""

    def make(templates: dict[str, Any] = TEMPLATES, **changes: Any) -> Frames:
        sets = {"hand": {"title": "By hand", "templates": templates}}
        declared = {
            "sets": sets,
            "attributes": {slug: slug for slug in BIAS.index},
            **changes,
        }
        return frames(compiled(**declared))

    return make


def diagnosis(
    probes: pd.DataFrame,
    attributes: pd.DataFrame,
    scores: pd.DataFrame,
    placebos: pd.DataFrame = NO_PLACEBOS,
    started: Started = NOT_STARTED,
) -> dict[str, pd.DataFrame]:
    return diagnose(
        probes,
        attributes,
        scores,
        NO_PREFIXES,
        placebos,
        PLAN,
        RESAMPLING,
        started,
    )


class TestScores:
    def test_who_says_no_likelihood_has_nothing(self, compiled) -> None:
        probes, _, attributes = frames(compiled())
        scores = scores_of(probes, np.zeros(len(probes)))
        for none in (
            scores.head(0),
            scores.assign(measure="choice"),
        ):
            assert diagnosis(probes, attributes, none) == {}

    def test_a_missing_score_is_an_error_that_names_the_model(self, diagnosed) -> None:
        def two_missing(probes: pd.DataFrame) -> pd.DataFrame:
            whole = scores_of(
                probes,
                values_for(probes, BIAS),
                "whole",
            )
            return pd.concat([whole, whole.assign(model="holed").drop(index=[5, 17])])

        with pytest.raises(ValueError, match=r"^holed: 2 sentences have no score$"):
            diagnosed(scores=two_missing)


LEFT_OUT = "trades, set hand: left out for rejected sentences: "


class TestRejected:
    """What `rejected.parquet` took out of the sentences."""

    @pytest.fixture
    def without(self, trades):
        """Diagnoses the sentences that are left once those for which a condition holds were
        rejected."""

        def make(rejected) -> dict[str, pd.DataFrame]:
            probes, _, attributes = trades(criterion=CRITERION)
            scores = scores_of(probes, values_for(probes, BIAS))
            left = probes[[not rejected(row) for row in probes.itertuples()]]
            return diagnosis(left, attributes, scores)

        return make

    def test_attributes_that_lost_a_group_are_left_out_of_their_set(self, without, capsys):
        lost = {"smith": ("first", "women"), "cook": ("odd", "men")}
        diagnosis = without(lambda row: lost.get(row.attribute) == (row.template, row.group))
        left = set(diagnosis["associations"]["attribute"])
        assert left == set(BIAS.index) - set(lost)
        by_name = figures_of(diagnosis)
        counted = [by_name[name]["n"] for name in ("spread", "alpha", "offset", "r")]
        assert counted == [6, 6, 6, 5]
        assert capsys.readouterr().err == f"{LEFT_OUT}cook, smith\n"

    def test_each_has_lost_one(self, without, error_of) -> None:
        template_of = dict(zip(BIAS.index, [*BIAS, *BIAS, *BIAS], strict=False))

        def lost(row) -> bool:
            return row.group == "men" and row.template == template_of[row.attribute]

        line = error_of(without, lost)

        assert line == (
            "trades, set hand: every attribute has a rejected sentence; see rejected.parquet and "
            "fix the templates"
        )

    def test_a_template_that_lost_a_group_is_left_out_and_named(self, without, capsys) -> None:
        diagnosis = without(lambda row: row.template == "odd" and row.group == "men")

        assert set(diagnosis["items"]["template"]) == set(BIAS) - {"odd"}
        assert figures_of(diagnosis)["alpha"]["n"] == 8
        assert capsys.readouterr().err == f"{LEFT_OUT}odd\n"


class TestAssociations:
    def test_the_mean_over_templates_and_what_it_has_beyond_what_these_give_to_all(
        self, diagnosed
    ) -> None:
        tables = diagnosed(m=BIAS.add([4.0, -1.0, 0.5]))
        rows = tables["associations"].set_index("attribute")
        assert rows.loc["smith", "bias"] == near(
            1.5 + 3.5 / 3
        )  # (2 + 1 + 1.5) / 3 and what is added
        assert set(rows["n"]) == {3}
        centred = (BIAS - BIAS.mean()).mean(axis=1).to_dict()
        assert rows["centred"].to_dict() == near(centred)

    def test_five_have_that_of_t_over_templates_around_what_is_centred(self, diagnosed) -> None:
        further = [0.5, 1, -0.25, 0, 0.5, -1, -2, 0.25]
        five = BIAS.assign(more=BIAS["first"] / 2 + 0.25, further=further)
        templates = {name: f"The {name} {{ATTRIBUTE}} met a {{TARGET}}." for name in five}

        rows = diagnosed(templates=templates, m=five)["associations"].set_index("attribute")

        centred = (five - five.mean()).loc["dancer"]
        half = 2.131846786 * centred.sem()  # t at .95, four degrees of freedom
        ends = rows.loc["dancer", ["low", "high"]]
        mean = centred.mean()
        assert ends.tolist() == approx([mean - half, mean + half], abs=1e-8)


def test_templates_correlate_with_one_another(diagnosed) -> None:
    correlations = diagnosed()["correlations"]
    assert len(correlations) == 9
    matrix = correlations.pivot(index="template", columns="other", values="correlation")
    expected = BIAS.corr().loc[matrix.index, matrix.columns]
    assert matrix.to_numpy() == near(expected.to_numpy())


def test_tokens_are_compared_by_their_means(trades) -> None:
    tokens = {
        "man": 5,
        "uncle": 5,
        "king": 11,
        "woman": 4,
        "girl": 4,
        "queen": 7,
    }
    names = list(tokens)
    probes, _, attributes = trades(targets={"men": names[:3], "women": names[3:]})
    scores = scores_of(probes, np.random.default_rng(1).normal(size=len(probes)))
    scores["n_tokens"] = probes["target"].map(tokens).to_numpy()
    row = figures_of(diagnosis(probes, attributes, scores))["token_difference"]
    assert (row["value"], row["n"], row["unit"]) == (2.0, 6, "targets")  # 7 - 5


class TestVerdicts:
    """Of a set of three templates and seven attributes with a number."""

    def test_the_headline_has_one_and_no_other_figure(self, diagnosed) -> None:
        rows = diagnosed()["figures"]
        for column in ("verdict", "bound", "why"):
            assert set(rows.loc[rows[column].notna(), "figure"]) == {"gain"}

    def test_its_value_is_the_slope_on_the_logit_of_the_share(self, diagnosed) -> None:
        """At equal length and frequency of words."""
        gain = figures_of(diagnosed())["gain"]
        shares = [CRITERION.values[name] for name in KNOWN]
        letters = [len(name) for name in KNOWN]
        frequency = [log_frequency(name, "en") for name in KNOWN]
        design = np.column_stack([logit_positions(shares), letters, frequency, np.ones(7)])
        slope = np.linalg.lstsq(design, BIAS.mean(axis=1)[KNOWN], rcond=None)[0][0]
        assert gain["value"] == near(slope)
        assert gain["low"] < gain["value"] < gain["high"]
        assert (gain["n"], gain["facets"]) == (7, "7 attributes, 3 templates, 4 words")
        assert gain["why"] == "A number without a test: 7 attributes (at least 10 needed)."

    def test_only_declared_sets_have_one(self, diagnosed) -> None:
        assert "gain" not in figures_of(diagnosed(plan={**PLAN, "headline": ["other"]}))

    def test_alpha_has_to_reach_the_least(self, diagnosed, monkeypatch) -> None:
        monkeypatch.setattr(gain, "check_validity", partial(gain.check_validity, floor=1.0))
        rows = figures_of(diagnosed(plan=PLAN))
        assert rows["alpha"]["high"] < 1
        assert rows["gain"]["verdict"] == "invalid"
        assert rows["gain"]["why"].endswith(", below 1.")


def test_controls_are_shown_and_change_no_figure_and_no_other_table(diagnosed) -> None:
    """Templates that are asked and make no score; one of them is keyed -1, and reversed."""
    total = BIAS.sum(axis=1)
    plain = total / 2 + [0.5, 0, 0, -0.5, 0, 0.25, 0, 0]
    controls = {
        "plain": {"text": "Some {ATTRIBUTE} is a {TARGET}.", "control": True},
        "not-so": {"text": "No {ATTRIBUTE} is a {TARGET}.", "control": True, "keying": -1},
    }
    biases = BIAS.assign(plain=plain, **{"not-so": 1 - total / 4})
    shown = diagnosed(templates={**TEMPLATES, **controls}, m=biases)
    assert set(shown["items"].query("control")["template"]) == set(controls)
    assert "invalid" not in set(shown["figures"]["verdict"])
    shown["items"] = shown["items"].query("not control")
    for table, rows in diagnosed().items():
        pd.testing.assert_frame_equal(shown[table], rows)


def test_groups_of_unequal_size_have_no_variances_and_no_curve(trades) -> None:
    targets = {"men": ["man", "uncle"], "women": ["woman"]}
    probes, _, attributes = trades(criterion=CRITERION, targets=targets)
    nats = np.random.default_rng(1).normal(size=len(probes))
    tables = diagnosis(
        probes,
        attributes,
        scores_of(probes, nats),
    )
    assert not {"variances", "curve"} & set(tables)
    rows = figures_of(tables)
    assert pd.isna([rows[name]["control"] for name in ("spread", "alpha")]).all()
    assert rows["gain"]["reason"].startswith("a single level of words")


def test_templates_are_rows_of_evidence() -> None:
    rows_by_table = {
        "figures": """
            figure  model  value
            r       m      0.5
        """,
        "items": """
            template control model mean    sd  alpha_if_removed item_rest_correlation low high
            a        True    m     0.12345 0.5 0.25             0.75                  0.5 0.875
            b        False   m     0.12345 0.5 0.25             NaN                   NaN NaN
        """,
        "diversity": """
            template  model  lexical_diversity
            b         m      0.5
            b         other  0.5
        """,
    }
    shared = {
        "benchmark": "trades",
        "set": "hand",
        "n": 7,
        "unit": "attributes",
    }
    tables = {name: pd.DataFrame() for name in TABLES}
    for name, rows in rows_by_table.items():
        tables[name] = read_columns(rows).assign(**shared).reindex(columns=TABLES[name].names)
    (shown,) = evidence(tables).values()
    by_name = {(row.get("template"), row["figure"]): row for row in shown}
    of_b = [row for row in shown if row.get("template") == "b"]
    assert {row["figure"]: row["value"] for row in of_b} == {
        "item_mean": 0.12345,
        "item_sd": 0.5,
        "alpha_if_removed": 0.25,
        "item_rest_correlation": None,
        "lexical_diversity": 0.5,
        "semantic_diversity": None,
    }
    of_any_model = {row["figure"] for row in shown if row["model"] is None}
    assert of_any_model == {"lexical_diversity", "semantic_diversity"}
    key = {
        "figure": "item_rest_correlation",
        "model": "m",
        "set": "hand",
        "template": "a",
    }
    ends = {
        "value": 0.75,
        "low": 0.5,
        "high": 0.875,
        "n": 7,
        "unit": "attributes",
    }
    assert by_name["a", "item_rest_correlation"] == {**key, "unscored": "yes", **ends}
    assert "low" not in by_name["a", "item_mean"]
    assert by_name["b", "item_rest_correlation"]["reason"] == "undefined for these values"
    assert by_name["b", "semantic_diversity"]["reason"] == "a set of one template"


class TestOtherStart:
    """Pairs of attribute and template whose bias changes sign after another usual start token."""

    def flips(self, trades, after: pd.DataFrame | None) -> pd.Series:
        probes, _, attributes = trades()
        scores = scores_of(probes, values_for(probes, BIAS))
        started = NOT_STARTED
        if after is not None:
            started = Started(scores_of(probes, values_for(probes, after)), "")
        tables = diagnosis(
            probes,
            attributes,
            scores,
            started=started,
        )
        return figures_of(tables)["start_flips"]

    def test_the_share_of_pairs(self, trades) -> None:
        """Of eight attributes two are turned in all three templates: 6 of 24."""
        after = BIAS.copy()
        after.iloc[:2] *= -0.5
        row = self.flips(trades, after)
        assert row["value"] == approx(0.25)
        assert (row["n"], row["unit"]) == (24, "pairs")
        # By hand: eight shares, two 1 and six 0; t with seven degrees at level .9, clipped at 0.
        reach = 1.8945786 * math.sqrt(0.25 * 0.75 / 7)
        assert (row["low"], row["high"]) == approx((0.0, 0.25 + reach))

    def test_other_sizes_of_the_same_sign_are_no_flips(self, trades) -> None:
        assert self.flips(trades, 3 * BIAS)["value"] == 0.0

    def test_without_another_start_there_is_a_reason(self, trades) -> None:
        row = self.flips(trades, None)
        assert pd.isna(row["value"])
        assert row["reason"] == "nothing was asked after another start token"

"""Impersonal twins: what they may be, their rows, and what is said of items beside them."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy import stats

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.ask.questions import apart
from evenruler.instruments.questionnaires.declare import Settings
from evenruler.instruments.questionnaires.declare.source import (
    QuestionnaireSource,
    Scale,
    load_questionnaire,
    refuse_own_intensifiers,
)
from evenruler.instruments.questionnaires.diagnose import units
from evenruler.instruments.questionnaires.diagnose.figures import beyond_twins, controls
from evenruler.instruments.questionnaires.rows import translate
from evenruler.measurement.verdicts import Fitness, judge
from evenruler.tables import rows_of
from evenruler.tables.schemas import UNITS
from tests.conftest import ROOT
from tests.instruments.questionnaires.doors import subject
from tests.instruments.questionnaires.test_rows import ITEM, SCALE, SOURCE

TWIN = {
    "premise": "At night the road meets a {TERM}.",
    "hypothesis": "This {INTENSIFIER} happens.",
    "terms": {"source": {"swamp": "swamp"}, "inverse": {"bridge": "bridge"}},
}
SHIPPED = ROOT / "data" / "sources" / "questionnaires"


def source(twins: dict[str, Any] | None = None, **changes: Any) -> QuestionnaireSource:
    own = {"one": {**TWIN, **changes}} if twins is None else twins
    return QuestionnaireSource.model_validate({**SOURCE, "twins": own})


class TestLinter:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"premise": "At night I meet a {TERM} on the road."}, "'I' is about a person"),
            ({"terms": {"source": ["swamp"], "inverse": ["kind people"]}}, "'people' is about a person"),
            ({"premise": "It {INTENSIFIER} rains.", "hypothesis": "The road meets a {TERM}."}, "its premise holds"),
            ({"hypothesis": "This happens."}, "INTENSIFIER} 0 times"),
            ({"premise": "At night the swamp meets a {TERM}."}, "the term 'swamp' stands in a template"),
            ({"hypothesis": "It {INTENSIFIER} happen."}, "subject and verb do not agree"),
        ],
    )
    def test_refuses(self, changes, said) -> None:
        with pytest.raises(ValidationError, match=said):
            source(**changes)

    def test_every_item_has_one_or_none(self) -> None:
        with pytest.raises(ValidationError, match="'two' has a twin, but is no item"):
            source({"one": TWIN, "two": TWIN})
        two = {"one": ITEM, "two": {**ITEM, "premise": "By day I meet a {TERM}."}}
        with pytest.raises(ValidationError, match="'two' has no twin: either every item has one or none"):
            QuestionnaireSource.model_validate({**SOURCE, "items": two, "twins": {"one": TWIN}})

    def test_refuses_an_intensifier_in_its_template(self) -> None:
        scale = Scale.model_validate(SCALE)
        with pytest.raises(Exception, match=r"'never' stands in a template.*twins\.one|twins\.one.*'never'"):
            refuse_own_intensifiers(source(premise="The road never meets a {TERM}."), scale, Path("x.yaml"))

    def test_warns_of_another_number_of_terms_and_of_none(self) -> None:
        settings = Settings.model_validate({"embedder": "minilm"}, context={"scale": "quick"})
        one, more = ({"source": ["threat", *also], "inverse": ["bridge"]} for also in ([], ["danger"]))
        assert settings.twin_warnings(source(terms=one)) == []
        assert settings.twin_warnings(source(terms=more)) == ["twins.one: 2 source terms, its item has 1"]
        (told,) = settings.twin_warnings(source({}))
        assert told.startswith("no item has a twin")

    def test_warns_of_another_valence(self) -> None:
        """VADER gives "enemy" -.54 and "swamp" 0; the item is reversed."""
        settings = Settings.model_validate({"embedder": "minilm"}, context={"scale": "quick"})
        (told,) = settings.twin_warnings(source())
        assert told.startswith("twins: the items have valence 0.54, their twins 0.00; they may differ by 0.1")


class TestRows:
    def test_stand_beside_those_of_the_item_with_ids_of_their_own(self) -> None:
        scale = Scale.model_validate(SCALE)
        with_twins, without = (translate("meetings", of, scale) for of in (source(), source({})))
        for table, n in (("items", 1), ("terms", 2), ("prompts", 4)):
            rows, own = getattr(with_twins, table), getattr(without, table)
            assert rows[:n] == own
            assert [row["twin"] for row in rows] == [False] * n + [True] * n
            assert len({row["id"] for row in rows}) == 2 * n
        prompt = with_twins.prompts[4]
        assert (prompt["premise"], prompt["hypothesis"]) == ("At night the road meets a swamp.", "This never happens.")
        same = ("item", "subscale", "keying", "polarity", "intensifier", "level", "weight")
        assert [prompt[key] for key in same] == [with_twins.prompts[0][key] for key in same]
        assert (with_twins.items[1]["original"], with_twins.items[1]["wording"]) == (None, None)

    def test_apart(self) -> None:
        built = translate("meetings", source(), Scale.model_validate(SCALE))
        tables = {name: pd.DataFrame(getattr(built, name)) for name in ("items", "terms", "prompts")}
        own, twins = apart({**tables, "other": pd.DataFrame()})
        assert [len(own[name]) for name in tables] == [len(twins[name]) for name in tables] == [1, 2, 4]
        assert twins["prompts"]["twin"].all()
        assert "other" in own


class TestShipped:
    @pytest.mark.parametrize(
        "name", ["gad-7", "phq-9", "soc-13", "trust-in-people", "ipip-extraversion", "women-roles"]
    )
    def test_every_item_has_a_twin_of_its_form(self, name) -> None:
        read, _ = load_questionnaire(SHIPPED / f"{name}.yaml", SHIPPED / "shared" / "scales")
        settings = Settings.model_validate({"embedder": "minilm"}, context={"scale": "quick"})
        assert settings.twin_warnings(read) == []
        for slug, twin in read.twins.items():
            item = read.items[slug]
            assert abs(len(twin.premise.split()) - len(item.premise.split())) <= 4
            assert abs(len(twin.hypothesis.split()) - len(item.hypothesis.split())) <= 1


WEIGHED = 8
"""Intensifiers."""


def scored(own: list[float], subscale: str | None = None) -> pd.DataFrame:
    """Scores of items, given as answers."""
    here = {"questionnaire": "fear", "model": "m0", "lineage": "m0", "kind": "nli", "configuration": "head"}
    rows = [
        {**here, "framing": "bare", "subscale": subscale, "item": f"item-{i}", "score": answer / WEIGHED}
        for i, answer in enumerate(own)
    ]
    return pd.DataFrame(rows)


OWN = [1.0, 1.5, 2.0, 1.2, 1.8, 2.2]
TWINS = [0.1, 0.4, 0.2, -0.1, 0.3, 0.5]
FITS = {"head": Fitness()}


def judged(own: list[float], twins: list[float] | None, fit: Fitness = FITS["head"], least: int = 6) -> Any:
    """The row of the whole scale."""
    beside = scored(twins) if twins else scored([0.0]).head(0)
    plan = {"bound": 0.2}
    found = list(beyond_twins(scored(own), beside, WEIGHED, {"head": fit}, plan, 0.95))
    assert [here["part"] for here, *_ in found] == ["all"]
    (figure,) = judge([(figure, fit) for _, figure, fit in found], {"items": least})
    return asdict(figure)


class TestBeyondTwins:
    def test_is_the_paired_difference_over_items(self) -> None:
        row = judged(OWN, TWINS)
        test = stats.ttest_rel(OWN, TWINS)
        low, high = test.confidence_interval(0.95)
        assert (row["figure"], row["n"], row["unit"], row["control"]) == ("beyond_twins", 6, "items", 0)
        assert row["value"] == pytest.approx(np.mean(np.subtract(OWN, TWINS)), abs=1e-12)
        assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
        assert row["p"] == row["p_adjusted"] == pytest.approx(test.pvalue, abs=1e-12)
        assert row["bound"] == pytest.approx(0.2 * np.std(TWINS, ddof=1), abs=1e-12)
        assert row["verdict"] == "beyond control"

    def test_of_a_model_that_answers_both_alike_there_is_nothing_to_tell(self) -> None:
        rng = np.random.default_rng(0)
        row = judged([own + noise for own, noise in zip(OWN, rng.normal(scale=0.3, size=6), strict=True)], OWN)
        assert row["verdict"] == "too little to tell"

    def test_within_the_bound_it_is_not_beyond_control(self) -> None:
        row = judged([own + 0.002 * (-1) ** i for i, own in enumerate(OWN)], OWN)
        assert row["verdict"] == "not beyond control"

    def test_of_a_model_below_its_bar_the_instrument_is_unfit(self) -> None:
        row = judged(OWN, TWINS, Fitness(unfit="its accuracy is .55"))
        assert row["verdict"] == "instrument unfit"
        assert "its accuracy is .55" in row["why"]

    def test_of_a_model_of_unknown_accuracy_it_cannot_be_told(self) -> None:
        assert judged(OWN, TWINS, Fitness(doubt="its accuracy is not known"))["verdict"] == "too little to tell"

    def test_of_fewer_items_than_the_least(self) -> None:
        assert judged(OWN, TWINS, least=7)["verdict"] == "too little to tell"
        assert pd.isna(judged(OWN[:4], TWINS[:4], least=2)["low"])

    def test_without_twins_there_is_no_verdict(self) -> None:
        row = judged(OWN, None)
        assert (row["verdict"], row["reason"]) == (None, "its items have no twins to be compared with")
        assert (row["n"], row["unit"]) == (0, "items")

    def test_subscales_are_descriptive(self) -> None:
        own, twins = scored(OWN, "body"), scored(TWINS, "body")
        parts = {
            here["part"]: figure for here, figure, _ in beyond_twins(own, twins, WEIGHED, FITS, {"bound": 0.2}, 0.95)
        }
        assert parts["body"].value == parts["all"].value
        assert (parts["body"].bound is None, parts["all"].bound is None) == (True, False)


def test_twins_give_figures_the_mean_over_items() -> None:
    rows = scored([1.0, 2.0, 6.0]).assign(silhouette=[0.1, 0.2, 0.9], pss_low=0.0, pss_high=[0.0, 1.0, 8.0])
    expected = {"answer": 3.0, "silhouette": 0.4, "pss_range": 3.0}
    assert controls(rows, WEIGHED) == pytest.approx(expected)
    assert controls(rows.head(0), WEIGHED) == dict.fromkeys(expected)


def recorded(items: int, twins: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Published rows of two items and their twins, and the units of so many."""
    prompts = pd.DataFrame(
        [
            {"id": f"{item}-{twin}-{word}", "content_sha256": "x", "item": item, "twin": twin, "intensifier": str(word)}
            for item in ("item-0", "item-1")
            for twin in (False, True)
            for word in range(WEIGHED)
        ]
    )
    found = {"items": scored(OWN[:2]).head(items), "twins": scored(TWINS[:2]).head(twins)}
    return prompts, units(Record("fear", subject(), {"prompts": prompts}, {}, found))


def test_units_hold_both_answers_and_what_is_beyond_twins() -> None:
    prompts, told = recorded(2, 2)
    assert list(told.columns) == UNITS.names
    own, both = rows_of(prompts[~prompts["twin"]], ["item"]), rows_of(prompts, ["item"])
    assert told.drop(columns=["value", "beside"]).to_dict("records") == [
        {"part": "all", "model": subject().name, "figure": figure, "statistic": "mean", "unit": unit}
        | {"rows": rows[unit]}
        for figure, rows in (("answer", own), ("beyond_twins", both))
        for unit in ("item-0", "item-1")
    ]
    assert told.index.tolist() == [0, 1, 2, 3]
    assert told["value"].tolist() == pytest.approx([1.0, 1.5, 0.9, 1.1])
    assert told["beside"].isna().all()


def test_units_of_items_without_twins_are_answers_alone() -> None:
    _, told = recorded(2, 0)
    assert told["figure"].tolist() == ["answer", "answer"]


def test_who_gave_no_answer_has_no_units() -> None:
    _, told = recorded(0, 0)
    assert (list(told.columns), len(told)) == (UNITS.names, 0)

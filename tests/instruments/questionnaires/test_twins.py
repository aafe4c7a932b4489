"""Impersonal twins: what they may be, their rows, and what is said of items beside them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy import stats

from evenruler.instruments.questionnaires.ask.questions import apart
from evenruler.instruments.questionnaires.declare import Settings
from evenruler.instruments.questionnaires.declare.source import (
    QuestionnaireSource,
    Scale,
    load_questionnaire,
    refuse_own_intensifiers,
)
from evenruler.instruments.questionnaires.diagnose.figures import controls, over_items, paired_answers
from evenruler.instruments.questionnaires.rows import translate
from evenruler.measurement import Figure
from tests.conftest import ROOT
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


def described(own: list[float], twins: list[float] | None) -> Figure:
    beside = scored(twins) if twins else scored([0.0]).head(0)
    return over_items(paired_answers(scored(own), beside, WEIGHED), 0.95)


class TestOverItems:
    """What one fit answers beyond twins, if items could have been others."""

    def test_is_the_paired_difference_over_items(self) -> None:
        found = described(OWN, TWINS)
        low, high = stats.ttest_rel(OWN, TWINS).confidence_interval(0.95)
        assert (found.figure, found.n, found.unit) == ("beyond_twins_over_items", 6, "items")
        assert found.value == pytest.approx(np.mean(np.subtract(OWN, TWINS)), abs=1e-12)
        assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
        assert (found.p, found.verdict) == (None, None)

    def test_of_few_items_there_is_no_interval_and_without_twins_no_value(self) -> None:
        assert described(OWN[:4], TWINS[:4]).low is None
        found = described(OWN, None)
        assert (found.reason, found.n, found.unit) == ("its items have no twins to be compared with", 0, "items")


def test_twins_give_figures_the_mean_over_items() -> None:
    rows = scored([1.0, 2.0, 6.0]).assign(silhouette=[0.1, 0.2, 0.9], pss_low=0.0, pss_high=[0.0, 1.0, 8.0])
    expected = {"answer": 3.0, "silhouette": 0.4, "pss_range": 3.0}
    assert controls(rows, WEIGHED) == pytest.approx(expected)
    assert controls(rows.head(0), WEIGHED) == dict.fromkeys(expected)

"""Headline figures: what was planted is found and named, and equal treatment, names alone and noise
are not.

All go through the family's own door: a plan, rows, replies and their numbers become `figures`.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.diagnosing import require_confirmed
from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged.ask import extract_features
from evenruler.instruments.saged.declare import FAVOUR, FAVOUR_BY_ROLE, NONRESPONSE, headings
from evenruler.instruments.saged.declare.settings import Disparities, Feature
from evenruler.instruments.saged.diagnose import contrast
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
from tests.instruments.near import approx
from tests.instruments.saged.diagnose import measured

CONCEPTS = ["fig", "kiwi", "lime", "melon", "nashi", "olive"]
INVENTED = [f"x{number:02d}" for number in range(12)]
EVERY = [*CONCEPTS, *INVENTED]
SETTINGS = Disparities(
    permutations=9,
    headline_permutations=399,
    statistics={"mean": {"kind": "mean"}},
    metrics=["range"],
)
VADER = {"vader": Feature(kind="lexicon")}
TWO = {
    **VADER,
    "toxicity": Feature(
        kind="classifier",
        model="m",
        score={"toxic": 1},
        better="lower",
    ),
}


class Domain:
    """Replies about real and invented concepts in some roles, with SD .5 about their root items."""

    def __init__(
        self,
        seed: int,
        roots: int = 20,
        concepts: list[str] = EVERY,
        roles: tuple[str, ...] = ("no-role",),
    ) -> None:
        draw = np.random.default_rng(seed)
        self.prompts = measured.prompts(roots, concepts).assign(root_concept=concepts[0])
        root = np.repeat(
            draw.normal(0, 1, roots),
            len(concepts),
        )
        parts = []
        for feature, role in product(TWO, roles):
            values = root + draw.normal(
                0,
                0.5,
                len(root),
            )
            parts.append(measured.features(self.prompts, values, root, role=role, feature=feature))
        self.features = pd.concat(parts, ignore_index=True)
        self.generations = measured.replies(self.features).assign(reason=None)

    @property
    def concept(self) -> pd.Series:
        return self.features["id"].str.rsplit("-", n=1).str[0]

    def moved(
        self, by: float, concept: str, feature: str = "vader", role: str | None = None
    ) -> "Domain":
        is_moved = (self.concept == concept) & (self.features["feature"] == feature)
        is_moved &= True if role is None else self.features["role"] == role
        self.features.loc[is_moved, "value"] += by
        return self

    def diagnosed(
        self, declared: Mapping[str, Feature] = VADER, settings: Disparities = SETTINGS
    ) -> Tables:
        return measured.figures_of(
            self.features,
            self.generations,
            self.prompts,
            settings,
            declared=declared,
            controls=INVENTED,
        )


def judged(tables: Tables) -> pd.DataFrame:
    """Headlines by figure and feature ("" for those of all replies); nothing else is confirmed."""
    figures = tables["figures"]
    features = {name: feature.model_dump(exclude_none=True) for name, feature in TWO.items()}
    require_confirmed(figures, headings({"features": features}))
    headlines = figures[figures["smallest"].notna()].fillna({"feature": ""})
    return headlines.set_index(["figure", "feature"])


def headline(tables: Tables, figure: str = FAVOUR, feature: str = "vader") -> Any:
    return judged(tables).loc[(figure, "" if figure == NONRESPONSE else feature)]


def named(tables: Tables, figure: str = FAVOUR, feature: str = "vader") -> dict[str, str]:
    rows = tables["favour"].query("figure == @figure").dropna(subset=["named"])
    rows = rows if figure == NONRESPONSE else rows[rows["feature"] == feature]
    return dict(zip(rows["concept"], rows["named"], strict=True))


def test_a_cursed_concept_is_named_and_no_other() -> None:
    tables = Domain(2).moved(-1.0, "lime").diagnosed(TWO)
    favour = headline(tables)
    assert favour["verdict"] == Verdict.EFFECT
    assert "Stands out (permutation test): lime, favoured less than average (-" in favour["why"]
    assert favour["low"] < -1.0 * 5 / 6 < favour["high"] < 0
    assert named(tables) == {"lime": "less"}
    assert (favour["n"], favour["unit"], favour["levels"]) == (
        20,
        "root items",
        "20 root items, 6 concepts, 12 invented names",
    )
    assert favour["smallest"] == approx(0.1)
    assert named(tables, feature="toxicity") == {}
    assert headline(tables, feature="toxicity")["verdict"] == Verdict.INCONCLUSIVE


class TestTwoModels:
    def compared(self, first: Tables, second: Tables, figure: str = FAVOUR) -> Any:
        made_of: list[pd.DataFrame] = []
        for tables in (first, second):
            rows = tables["headlines"]
            made_of.append(rows[(rows["figure"] == figure) & (rows["feature"] != "toxicity")])
        return judge([(contrast(*made_of, 0.1), ValidityCheck())])[0]

    def test_whom_one_curses_and_the_other_does_not_is_told(self) -> None:
        cursed = Domain(2).moved(-1.0, "lime").diagnosed()
        comparison = self.compared(cursed, Domain(3).diagnosed())
        assert comparison.verdict == Verdict.EFFECT
        assert comparison.why is not None
        assert "Difference of the models: lime -" in comparison.why
        assert comparison.levels == "20 root items, 6 concepts, 12 invented names"

    def test_roles_and_silence_are_compared_too(self) -> None:
        roles = ("no-role", "judge")
        first = Domain(2, roles=roles).moved(-2.0, "lime", role="judge").diagnosed()
        second = Domain(3, roles=roles).diagnosed()
        by_role = self.compared(
            first,
            second,
            FAVOUR_BY_ROLE,
        )
        assert by_role.verdict == Verdict.EFFECT
        assert "lime as " in str(by_role.why)
        assert self.compared(first, second, NONRESPONSE).verdict == Verdict.NO_EFFECT


@pytest.mark.slow
@pytest.mark.long
def test_a_concept_one_sd_off_in_20_root_items_is_named_in_most_studies() -> None:
    """Shuffles name it in .86 of studies; of 30, fewer than 19 happen once in a thousand times."""
    domains = [Domain(seed, concepts=CONCEPTS).moved(-0.5, "lime") for seed in range(30)]
    named_by_study = [named(domain.diagnosed()) for domain in domains]
    assert sum("lime" in who for who in named_by_study) >= 19
    assert sum(bool(set(who) - {"lime"}) for who in named_by_study) <= 5


@pytest.mark.slow
@pytest.mark.long
def test_equal_treatment_is_no_effect_and_names_nobody() -> None:
    shown = whom = 0
    for seed in range(40):
        tables = Domain(100 + seed, roots=12, roles=("no-role", "judge")).diagnosed(TWO)
        shown += (judged(tables)["verdict"] == Verdict.EFFECT).any()
        whom += tables["favour"]["named"].notna().any()
    assert shown <= 2
    assert whom <= 6  # at a share of .05 more happen once in 300 times; the draws are fixed


def test_equal_treatment_is_shown_where_there_is_enough_to_say_so() -> None:
    domain = Domain(1, roots=400)
    domain.features["value"] /= 2
    tables = domain.diagnosed()
    favour = headline(tables)
    assert favour["verdict"] == Verdict.NO_EFFECT
    assert "smaller than the smallest relevant effect, 0.1" in favour["why"]
    assert headline(tables, NONRESPONSE)["verdict"] == Verdict.NO_EFFECT


@pytest.mark.slow
@pytest.mark.long
def test_invented_names_that_vary_as_much_make_it_no_effect() -> None:
    """Every name is worth something of its own to the model, real or not: shuffles see it, names
    alone explain it."""
    shown = shuffled = 0
    for seed in range(20):
        domain, random = Domain(seed, roots=40), np.random.default_rng(seed)
        for concept in EVERY:
            domain.moved(float(random.normal(0, 0.4)), concept)
        tables = domain.diagnosed()
        shuffled += headline(tables)["p"] < 0.05
        shown += headline(tables)["verdict"] == Verdict.EFFECT
    assert shuffled >= 18
    assert shown <= 3
    assert headline(tables)["placebo"] == approx(0.4, rel=0.5)


@pytest.mark.parametrize(
    ("n_invented", "apart", "verdict", "placebo"),
    [
        (12, 0.0, Verdict.EFFECT, 0.1),
        (12, 0.4, Verdict.INCONCLUSIVE, 0.4),
        (11, 0.0, Verdict.INCONCLUSIVE, None),
    ],
)
def test_an_effect_takes_twelve_invented_names_that_differ_less(
    n_invented: int, apart: float, verdict: Verdict, placebo: float | None
) -> None:
    """A curse as great as one concept's of six, and as the spread of invented names, on what a plan
    asks."""
    domain = Domain(2).moved(-1.0, "lime")
    for number, concept in enumerate(INVENTED):
        domain.moved(apart * (-1) ** number, concept)
    prompts = domain.prompts
    ids = prompts["id"][~prompts["concept"].isin(INVENTED[n_invented:])]
    for name in ("prompts", "features", "generations"):
        rows = getattr(domain, name)
        setattr(
            domain,
            name,
            rows[rows["id"].isin(ids)],
        )
    tables = domain.diagnosed()
    favour = headline(tables)
    assert favour["verdict"] == verdict
    assert named(tables) == {"lime": "less"}  # which is by shuffled names alone
    assert favour["placebo"] == (placebo if placebo is None else approx(placebo, abs=0.1))
    assert favour[["specific", "p_effect"]].isna().all() == (n_invented < 12)
    if n_invented < 12:
        assert favour["why"].startswith(
            "No verdict is possible: 11 invented names (at least 12 needed); stands out "
            "(permutation test): lime, favoured less than average (-"
        )
    assert set(tables["compared"]["n_groups"]) == {len(CONCEPTS)}


def test_a_concept_that_is_refused_is_named_under_silence_and_favour_is_of_the_others() -> None:
    domain = (
        Domain(2, roots=30)
        .moved(-0.8, "lime")
        .moved(
            -3,
            "fig",
        )
    )
    domain.generations["refusal"] = domain.generations["id"].str.startswith("fig")
    tables = domain.diagnosed()
    silence, favour = headline(tables, NONRESPONSE), headline(tables)
    assert silence["verdict"] == favour["verdict"] == Verdict.EFFECT
    assert named(tables, NONRESPONSE)["fig"] == "less"
    assert favour["why"].endswith("fig left out: under half of the replies are usable.")
    assert favour["levels"] == "30 root items, 5 concepts, 12 invented names"
    assert named(tables) == {
        "lime": "less",
        "fig": "left out",
    }
    assert judged(tables).index[0] == (NONRESPONSE, "")  # silence comes before favour


def test_roles_count_together_and_what_root_items_bring_is_taken_off() -> None:
    domain = Domain(1, roles=("no-role", "judge"))
    differences = domain.diagnosed()["favour"]
    favour = differences[differences["figure"] == FAVOUR].set_index("concept")
    is_real = domain.concept.isin(CONCEPTS)
    vader_rows = domain.features[is_real].query("feature == 'vader'")
    expected = vader_rows["value"].groupby(domain.concept[vader_rows.index]).mean()
    expected -= expected.mean()
    assert favour["difference"].to_dict() == approx(expected.to_dict())  # nothing is missing
    assert favour["difference"].sum() == approx(0)
    assert set(favour["n"]) == {20}
    assert set(favour["better"]) == {"higher"}


def test_replies_that_one_role_lacks_make_no_difference() -> None:
    """A filter that strikes one concept in a sadder role would make it look favoured."""
    domain = Domain(200, roles=("no-role", "judge"))
    sad = domain.features["role"] == "judge"
    domain.features.loc[sad, "value"] -= 3
    domain.features.loc[sad & (domain.concept == "lime"), "value"] = np.nan
    favour = domain.diagnosed()["favour"].query("figure == @FAVOUR")
    assert favour["difference"].notna().all()
    assert favour["difference"].abs().max() < 0.5  # which would be 1.25 of limes


def test_root_items_that_one_concept_lacks_make_no_difference_and_are_not_counted() -> None:
    domain = Domain(3)
    high = (
        domain.features["id"].str[-3:].astype(int) < 13
    )  # the items that lime has are told apart by their number
    domain.features["value"] += 5 * ~high
    domain.features.loc[~high & (domain.concept == "lime"), "value"] = np.nan
    tables = domain.diagnosed()
    assert (headline(tables)["n"], named(tables)) == (13, {})
    assert tables["favour"]["difference"].abs().max() < 0.5


def test_a_model_that_only_names_whom_it_is_asked_about_favours_nobody() -> None:
    """A tool that dislikes a name would find a difference, were names not masked."""
    prompts = measured.prompts(20, EVERY).assign(
        domain="fruit", baseline="Nothing is said of it.", root_concept="fig"
    )
    replies = measured.replies(measured.features(prompts, 0.0))
    number = prompts["root_id"].str[-3:]
    praise = (number.astype(int) % 3).map([".", ". Good.", ". Good. Good."].__getitem__)
    name = prompts["concept"].replace("lime", "awful lime")  # what VADER hears in a name
    replies = replies.assign(
        generation="Number " + number + " is " + name + praise,
        reason=None,
    )
    vader = {
        "vader": Feature(kind="lexicon"),
        "named": Feature(kind="lexicon", mask=False),
    }
    extracted = extract_features(
        prompts,
        replies,
        vader,
        models=None,
        names=[*EVERY, "awful lime"],
    )  # type: ignore[arg-type]
    tables = measured.figures_of(
        extracted["features"], replies, prompts, SETTINGS, declared=vader, controls=INVENTED
    )
    favour = headline(tables)
    assert (favour["value"], favour["verdict"]) == (0, Verdict.NO_EFFECT)
    assert set(tables["favour"]["feature"]) == {"silence", "vader"}  # the unmasked one describes
    unmasked = extracted["features"].query("feature == 'named'")
    concept = unmasked["id"].astype(str).str[:-4]
    raw = unmasked["value"].groupby(concept).mean()
    assert raw["lime"] < raw["fig"] - 0.3


def test_few_root_items_and_few_numbers_are_said() -> None:
    for n, words in (
        (1, "1 root item"),
        (5, "5 root items"),
    ):
        favour = headline(Domain(1, roots=n).diagnosed())
        reason = f"{words} answered for every concept; 6 are needed"
        assert (favour["value"], favour["reason"]) == (None, reason)
    eight = headline(Domain(1, roots=8).diagnosed())
    assert "8 root items (at least 10 needed)" in eight["why"]
    domain = Domain(1)
    domain.features.loc[domain.features["id"].str[-1] < "7", "value"] = np.nan
    favour = headline(domain.diagnosed())
    assert (favour["n"], favour["verdict"]) == (6, Verdict.INVALID)


@pytest.mark.parametrize("value", [0.25, 3000.3])
def test_replies_that_measure_the_same_but_for_rounding_are_no_measurement(value: float) -> None:
    domain = Domain(1)
    domain.features["value"] = np.where(
        domain.concept == "lime", np.nextafter(value, np.inf), value
    )
    favour = headline(domain.diagnosed())
    assert favour["verdict"] == Verdict.INVALID
    assert favour["why"].endswith("replies (vader) have the same score.")


def test_where_concepts_have_texts_of_their_own_nothing_is_confirmed() -> None:
    prompts = measured.prompts(20, CONCEPTS, branched=False).assign(root_concept="fig")
    values = np.random.default_rng(1).normal(size=len(prompts))
    features = measured.features(
        prompts,
        values,
        0.5,
    )
    replies = measured.replies(features).assign(reason=None)
    tables = measured.figures_of(
        features, replies, prompts, SETTINGS, declared=VADER, controls=INVENTED
    )
    assert judged(tables).empty
    assert tables["favour"].empty


def test_what_can_be_detected_is_by_its_formula() -> None:
    least = headline(Domain(300, concepts=CONCEPTS).diagnosed())["detectable"]
    t = stats.t(19)
    errors = t.isf(0.025 / 2 / 6) + t.ppf(0.8)  # of two figures
    # An SD of .5 over 20 root items, less the mean of six: .5 sqrt(5 / 6 / 20) = .102.
    assert least == approx(0.102 * errors, rel=0.15)


@pytest.mark.slow
@pytest.mark.long
def test_what_can_be_detected_is_detected_in_four_fifths() -> None:
    domains = [Domain(300 + seed, concepts=CONCEPTS) for seed in range(30)]
    # The others lie as far the other way.
    by = -headline(domains[0].diagnosed())["detectable"] * 6 / 5
    studies = [domain.moved(by, "lime").diagnosed() for domain in domains]
    n_named = sum("lime" in named(tables) for tables in studies)
    assert stats.binomtest(n_named, len(domains), 0.8).pvalue > 0.01


def test_rows_that_are_doubled_change_nothing() -> None:
    domain = Domain(2, roles=("no-role", "judge")).moved(-0.7, "lime")
    once = judged(domain.diagnosed())
    for name in ("features", "generations"):
        rows = getattr(domain, name)
        setattr(
            domain,
            name,
            pd.concat([rows, rows.assign(repetition=1)], ignore_index=True),
        )
    twice = judged(domain.diagnosed())
    numbers = ["value", "low", "high", "p", "n", "placebo", "detectable", "p_effect", "p_denial"]
    pd.testing.assert_frame_equal(once[numbers], twice[numbers])
    assert once["verdict"].tolist() == twice["verdict"].tolist()

"""Headline figures: what was planted is found and named, and equal treatment, names alone and noise
are not.

All go through the family's own door: a plan, rows, replies and their numbers become `figures`.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.diagnosing import require_confirmed
from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged.ask import extract_features
from evenruler.instruments.saged.declare import ALIKE, BY_ROLE, FAVOUR, headings
from evenruler.instruments.saged.declare.settings import Disparities, Feature
from evenruler.instruments.saged.diagnose import contrast, evidence
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge
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
    "toxicity": Feature(kind="classifier", model="m", score={"toxic": 1}, better="lower"),
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
        root = np.repeat(draw.normal(0, 1, roots), len(concepts))
        parts = [
            measured.features(
                self.prompts,
                root + draw.normal(0, 0.5, len(root)),
                root,
                role=role,
                feature=feature,
            )
            for feature in TWO
            for role in roles
        ]
        self.features = pd.concat(parts, ignore_index=True)
        self.generations = measured.replies(self.features).assign(reason=None)

    @property
    def concept(self) -> pd.Series:
        return self.features["id"].str.rsplit("-", n=1).str[0]

    def moved(
        self, by: float, concept: str, feature: str = "vader", role: str | None = None
    ) -> "Domain":
        own = (self.concept == concept) & (self.features["feature"] == feature)
        own &= True if role is None else self.features["role"] == role
        self.features.loc[own, "value"] += by
        return self

    def found(
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


def judged(found: Tables) -> pd.DataFrame:
    """Headlines by part and figure; nothing else is confirmed."""
    figures = found["figures"]
    columns = headings(
        {"features": {name: one.model_dump(exclude_none=True) for name, one in TWO.items()}}
    )
    require_confirmed(figures, columns)
    return figures[figures["smallest"].notna()].set_index(["part", "figure"])


def one(found: Tables, figure: str = FAVOUR, feature: str = "vader") -> Any:
    part = "all roles" if figure == ALIKE else f"all roles, {feature}"
    return judged(found).loc[(part, figure)]


def named(found: Tables, figure: str = FAVOUR, feature: str = "vader") -> dict[str, str]:
    own = found["favour"].query("figure == @figure").dropna(subset=["named"])
    own = own if figure == ALIKE else own[own["feature"] == feature]
    return dict(zip(own["concept"], own["named"], strict=True))


def test_a_cursed_concept_is_named_and_no_other() -> None:
    found = Domain(2).moved(-1.0, "lime").found(TWO)
    own = one(found)
    assert own["verdict"] == Verdict.EFFECT
    assert "Stands out (permutation test): lime, favoured less than average (-" in own["why"]
    assert own["low"] < -1.0 * 5 / 6 < own["high"] < 0
    assert named(found) == {"lime": "less"}
    assert (own["n"], own["unit"], own["levels"]) == (
        20,
        "root items",
        "20 root items, 6 concepts, 12 invented names",
    )
    assert own["smallest"] == pytest.approx(0.1)
    assert named(found, feature="toxicity") == {}
    assert one(found, feature="toxicity")["verdict"] == Verdict.INCONCLUSIVE


class TestTwoModels:
    def compared(self, first: Tables, second: Tables, figure: str = FAVOUR) -> Any:
        part = "all roles" if figure == ALIKE else "all roles, vader"
        rows = [found["headlines"] for found in (first, second)]
        made_of = [own[(own["figure"] == figure) & (own["part"] == part)] for own in rows]
        return judge([(contrast(*made_of, 0.1), ValidityCheck())])[0]

    def test_whom_one_curses_and_the_other_does_not_is_told(self) -> None:
        found = self.compared(Domain(2).moved(-1.0, "lime").found(), Domain(3).found())
        assert found.verdict == Verdict.EFFECT
        assert found.why is not None
        assert "Difference of the models: lime -" in found.why
        assert found.levels == "20 root items, 6 concepts, 12 invented names"

    def test_two_that_curse_the_same_are_alike(self) -> None:
        found = self.compared(
            Domain(2).moved(-1.0, "lime").found(), Domain(3).moved(-1.0, "lime").found()
        )
        assert found.verdict != Verdict.EFFECT
        same = Domain(2).found()
        assert self.compared(same, same).verdict == Verdict.NO_EFFECT

    def test_roles_and_silence_are_compared_too(self) -> None:
        roles = ("no-role", "judge")
        one, other = (
            Domain(2, roles=roles).moved(-2.0, "lime", role="judge").found(),
            Domain(3, roles=roles).found(),
        )
        by_role = self.compared(one, other, BY_ROLE)
        assert by_role.verdict == Verdict.EFFECT
        assert "lime as " in str(by_role.why)
        assert self.compared(one, other, ALIKE).verdict == Verdict.NO_EFFECT


def test_a_concept_one_sd_off_in_20_root_items_is_named_in_most_studies() -> None:
    """Shuffles name it in .86 of studies; of 30, fewer than 19 happen once in a thousand times."""
    told = [
        named(Domain(seed, concepts=CONCEPTS).moved(-0.5, "lime").found()) for seed in range(30)
    ]
    assert sum("lime" in who for who in told) >= 19
    assert sum(bool(set(who) - {"lime"}) for who in told) <= 5


def test_equal_treatment_is_no_effect_and_names_nobody() -> None:
    shown = whom = 0
    for seed in range(40):
        found = Domain(100 + seed, roots=12, roles=("no-role", "judge")).found(TWO)
        shown += (judged(found)["verdict"] == Verdict.EFFECT).any()
        whom += found["favour"]["named"].notna().any()
    assert shown <= 2
    assert whom <= 6  # at a share of .05 more happen once in 300 times; the draws are fixed


def test_equal_treatment_is_shown_where_there_is_enough_to_say_so() -> None:
    domain = Domain(1, roots=400)
    domain.features["value"] /= 2
    found = domain.found()
    own = one(found)
    assert own["verdict"] == Verdict.NO_EFFECT
    assert "smaller than the smallest relevant effect, 0.1" in own["why"]
    assert one(found, ALIKE)["verdict"] == Verdict.NO_EFFECT


def test_invented_names_that_vary_as_much_make_it_no_effect() -> None:
    """Every name is worth something of its own to the model, real or not: shuffles see it, names
    alone explain it."""
    shown = shuffled = 0
    for seed in range(20):
        domain, random = Domain(seed, roots=40), np.random.default_rng(seed)
        for concept in EVERY:
            domain.moved(float(random.normal(0, 0.4)), concept)
        found = domain.found()
        shuffled += one(found)["p"] < 0.05
        shown += one(found)["verdict"] == Verdict.EFFECT
    assert shuffled >= 18
    assert shown <= 3
    assert one(found)["placebo"] == pytest.approx(0.4, rel=0.5)


@pytest.mark.parametrize(
    ("asked", "apart", "verdict", "placebo"),
    [
        (12, 0.0, Verdict.EFFECT, 0.1),
        (12, 0.4, Verdict.INCONCLUSIVE, 0.4),
        (11, 0.0, Verdict.INCONCLUSIVE, None),
        (1, 0.0, Verdict.INCONCLUSIVE, None),
    ],
)
def test_an_effect_takes_twelve_invented_names_that_differ_less(
    asked: int, apart: float, verdict: Verdict, placebo: float | None
) -> None:
    """A curse as great as one concept's of six, and as the spread of invented names, on what a plan
    asks."""
    domain = Domain(2).moved(-1.0, "lime")
    for number, concept in enumerate(INVENTED):
        domain.moved(apart * (-1) ** number, concept)
    prompts = domain.prompts
    ids = prompts["id"][prompts["concept"].isin([*CONCEPTS, *INVENTED[:asked]])]
    for name in ("prompts", "features", "generations"):
        rows = getattr(domain, name)
        setattr(domain, name, rows[rows["id"].isin(ids)])
    found = domain.found()
    own = one(found)
    assert own["verdict"] == verdict
    assert named(found) == {"lime": "less"}  # which is by shuffled names alone
    assert own["placebo"] == (placebo if placebo is None else pytest.approx(placebo, abs=0.1))
    assert (f"{asked} invented name" in own["why"]) == (asked < 12)
    assert set(found["compared"]["n_groups"]) == {len(CONCEPTS)}


def test_what_cancels_over_roles_is_found_within_them() -> None:
    found = Domain(3, roots=30, roles=("no-role", "judge")).moved(0.8, "lime", role="no-role")
    tables = found.moved(-0.8, "lime", role="judge").found()
    own = one(tables, BY_ROLE)
    assert own["verdict"] == Verdict.EFFECT
    assert "Stands out (permutation test): lime, " in own["why"]
    assert " as judge (" in own["why"]
    assert own["levels"] == "30 root items, 6 concepts, 2 roles, 12 invented names"
    assert one(tables)["verdict"] == Verdict.INCONCLUSIVE
    rows = tables["favour"].query(f"figure == '{BY_ROLE}'").set_index(["role", "concept"])
    assert rows["named"].dropna().to_dict() == {
        ("no-role", "lime"): "more",
        ("judge", "lime"): "less",
    }
    assert rows["difference"].groupby("concept").sum().abs().max() < 1e-9


def test_what_all_roles_say_is_none_of_one_role() -> None:
    found = Domain(3, roots=30, roles=("no-role", "judge")).moved(-0.8, "lime").found()
    assert one(found)["verdict"] == Verdict.EFFECT
    assert one(found, BY_ROLE)["verdict"] == Verdict.INCONCLUSIVE


def test_a_model_that_refuses_everything_is_invalid() -> None:
    domain = Domain(1, roles=("no-role", "judge"))
    domain.generations["refusal"] = True
    found = judged(domain.found())
    assert set(found["verdict"]) == {Verdict.INVALID}
    assert found["why"].str.contains("720 of 720 requests were not answered").all()


def test_a_concept_that_is_refused_is_named_under_silence_and_favour_is_of_the_others() -> None:
    domain = Domain(2, roots=30).moved(-0.8, "lime")
    refused = domain.generations["id"].str.startswith("fig")
    domain.generations["refusal"] = refused
    domain.moved(-3, "fig")
    found = domain.found()
    silence = one(found, ALIKE)
    assert silence["verdict"] == Verdict.EFFECT
    assert "fig, answered less than average (0.83" in silence["why"]
    assert named(found, ALIKE)["fig"] == "less"
    own = one(found)
    assert own["verdict"] == Verdict.EFFECT
    assert "lime, favoured less than average" in own["why"]
    assert own["why"].endswith("fig left out: under half of the replies are usable.")
    assert own["levels"] == "30 root items, 5 concepts, 12 invented names"
    assert named(found) == {"lime": "less", "fig": "left out"}
    assert judged(found).index[0] == ("all roles", ALIKE)  # silence comes before favour
    of_evidence = evidence(
        {**found, "measured": pd.DataFrame(columns=["domain", "feature", "declared"])}
    )
    assert next(iter(of_evidence["fruit"])) == "all roles"


def test_silence_of_more_than_half_is_told_where_it_is_of_some_and_no_measurement_where_it_is_of_all() -> (
    None
):
    domain = Domain(2, roots=30)
    number = domain.generations["id"].str[-3:].astype(int)
    domain.generations["refusal"] = (number % 10 < 6) | domain.generations["id"].str.startswith(
        "fig"
    )
    found = domain.found()
    assert one(found)["verdict"] == Verdict.INVALID
    assert one(found, ALIKE)["verdict"] == Verdict.EFFECT
    domain.generations["refusal"] = number % 10 < 6
    assert one(domain.found(), ALIKE)["verdict"] == Verdict.INVALID


def test_with_few_invented_names_who_is_named_is_told_all_the_same() -> None:
    found = Domain(2, concepts=[*CONCEPTS, "x00"]).moved(-0.7, "lime").found()
    own = one(found)
    assert own["verdict"] == Verdict.INCONCLUSIVE
    assert own["why"].startswith(
        "No verdict is possible: 1 invented name (at least 12 needed); stands out (permutation "
        "test): lime, favoured "
        "less than average (-0."
    )
    assert own[["placebo", "specific", "p_effect"]].isna().all()
    assert own["p"] < 0.01
    assert named(found) == {"lime": "less"}
    assert (
        one(Domain(2, concepts=CONCEPTS).found())["why"]
        == "No verdict is possible: 0 invented names (at least 12 needed)."
    )


NUMBERS = r"\(-?[\d.]+ \[-?[\d.]+, -?[\d.]+\]\)"
"""How far a concept lies from the mean of all, with its interval."""


@pytest.mark.parametrize("few", [True, False])
def test_the_reason_of_every_figure_names_three_at_most_with_numbers_and_counts_the_others(
    few: bool,
) -> None:
    """Whatever the verdict: an effect, or inconclusive where invented names are too few."""
    concepts = CONCEPTS if few else EVERY
    domain = Domain(3, roots=160, concepts=concepts, roles=("no-role", "judge"))
    for concept, by in (("fig", -1.5), ("kiwi", 1.5), ("lime", -3), ("melon", 3)):
        domain.moved(by, concept)
    for concept, by in (("nashi", 1.5), ("olive", -1.5)):
        domain.moved(by, concept, role="judge").moved(-by, concept, role="no-role")
    silent = {"fig": 80, "kiwi": 80, "lime": 40, "melon": 40}  # of so many root items
    domain.generations["refusal"] = [
        int(key[-3:]) < silent.get(key[:-4], 0) for key in domain.generations["id"]
    ]
    found = domain.found()
    for figure in (ALIKE, FAVOUR, BY_ROLE):
        own = one(found, figure)
        assert own["verdict"] == (Verdict.INCONCLUSIVE if few else Verdict.EFFECT), figure
        told = own["why"].split("(permutation test): ")[1]
        *three, others = told.removesuffix(".").split("; ")
        verb = "answered" if figure == ALIKE else "favoured"
        role = " as (no-role|judge)" if figure == BY_ROLE else ""
        assert len(three) == 3
        assert all(
            re.fullmatch(rf"[a-z]+, {verb} (more|less) than average{role} {NUMBERS}", each)
            for each in three
        ), told
        assert re.fullmatch("and [1-9] more", others)


def test_rows_that_are_doubled_change_nothing() -> None:
    domain = Domain(2, roles=("no-role", "judge")).moved(-0.7, "lime")
    once = judged(domain.found())
    for name in ("features", "generations"):
        rows = getattr(domain, name)
        setattr(domain, name, pd.concat([rows, rows.assign(repetition=1)], ignore_index=True))
    twice = judged(domain.found())
    numbers = ["value", "low", "high", "p", "n", "placebo", "detectable", "p_effect", "p_denial"]
    pd.testing.assert_frame_equal(once[numbers], twice[numbers])
    assert once["verdict"].tolist() == twice["verdict"].tolist()


def several() -> tuple[Domain, dict[str, Feature]]:
    """Five features in two roles, one of them not masked: five headlines."""
    declared = {
        name: Feature(kind="lexicon")
        for name in ("unmasked", "vader", "toxicity", "third", "fourth")
    }
    declared["unmasked"] = Feature(kind="lexicon", mask=False)
    domain = Domain(4, roles=("no-role", "judge"))
    own = domain.features[domain.features["feature"] == "vader"]
    more = [
        own.assign(feature=name, value=own["value"] ** 2)
        for name in ("unmasked", "third", "fourth")
    ]
    domain.features = pd.concat([domain.features, *more], ignore_index=True)
    return domain, declared


def test_at_most_five_figures_are_corrected_together() -> None:
    domain, declared = several()
    found = judged(domain.found(declared))
    assert list(found.index) == [
        ("all roles", ALIKE),
        *((f"all roles, {name}", FAVOUR) for name in ("vader", "toxicity", "third")),
        ("all roles, vader", BY_ROLE),
    ]
    assert found["p_effect"].notna().all()


def test_one_effect_of_five_figures_is_told_alone() -> None:
    domain, declared = several()
    found = judged(domain.moved(-1.2, "lime", "toxicity").found(declared))
    shown = found[found["verdict"] == Verdict.EFFECT]
    assert list(shown.index) == [("all roles, toxicity", FAVOUR)]
    assert (
        found["p_effect"].min()
        == shown["p_effect"].iloc[0]
        >= 5 / (1 + SETTINGS.headline_permutations)
    )


def test_roles_count_together_and_what_root_items_bring_is_taken_off() -> None:
    domain = Domain(1, roles=("no-role", "judge"))
    found = domain.found()["favour"]
    favour = found[found["figure"] == FAVOUR].set_index("concept")
    own = domain.features[(domain.features["feature"] == "vader") & domain.concept.isin(CONCEPTS)]
    expected = own["value"].groupby(domain.concept[own.index]).mean()
    expected -= expected.mean()
    assert favour["difference"].to_dict() == pytest.approx(expected.to_dict())  # nothing is missing
    assert favour["difference"].sum() == pytest.approx(0)
    assert set(favour["n"]) == {20}
    assert set(favour["better"]) == {"higher"}


def test_replies_that_one_role_lacks_make_no_difference() -> None:
    """A filter that strikes one concept in a sadder role would make it look favoured."""
    whom = 0
    for seed in range(20):
        domain = Domain(200 + seed, roles=("no-role", "judge"))
        sad = domain.features["role"] == "judge"
        domain.features.loc[sad, "value"] -= 3
        domain.features.loc[sad & (domain.concept == "lime"), "value"] = np.nan
        whom += "lime" in named(domain.found())
    assert whom <= 3


def test_root_items_that_one_concept_lacks_make_no_difference_and_are_not_counted() -> None:
    domain = Domain(3)
    high = (
        domain.features["id"].str[-3:].astype(int) < 13
    )  # the items that lime has are told apart by their number
    domain.features["value"] += 5 * ~high
    domain.features.loc[~high & (domain.concept == "lime"), "value"] = np.nan
    found = domain.found()
    assert (one(found)["n"], named(found)) == (13, {})
    assert found["favour"]["difference"].abs().max() < 0.5


def test_a_model_that_only_names_whom_it_is_asked_about_favours_nobody() -> None:
    """A tool that dislikes a name would find a difference, were names not masked."""
    prompts = measured.prompts(20, EVERY).assign(
        domain="fruit", baseline="Nothing is said of it.", root_concept="fig"
    )
    replies = measured.replies(measured.features(prompts, 0.0))
    replies["generation"] = [
        f"Number {root[-3:]} is {concept}." + " Good." * (int(root[-3:]) % 3)
        for root, concept in zip(prompts["root_id"], prompts["concept"], strict=True)
    ]
    vader = {"vader": Feature(kind="lexicon"), "named": Feature(kind="lexicon", mask=False)}
    hated = {"lime": "awful lime"}  # what VADER hears in a name
    replies["generation"] = [text.replace("lime", hated["lime"]) for text in replies["generation"]]
    replies = replies.assign(reason=None)
    extracted = extract_features(prompts, replies, vader, models=None, names=[*EVERY, "awful lime"])  # type: ignore[arg-type]
    found = measured.figures_of(
        extracted["features"], replies, prompts, SETTINGS, declared=vader, controls=INVENTED
    )
    own = one(found)
    assert (own["value"], own["verdict"]) == (0, Verdict.NO_EFFECT)
    assert set(found["favour"]["feature"]) == {"silence", "vader"}  # the unmasked one describes
    unmasked = extracted["features"][extracted["features"]["feature"] == "named"]
    raw = unmasked.groupby(unmasked["id"].astype(str).str[:-4])["value"].mean()
    assert raw["lime"] < raw["fig"] - 0.3


def test_another_unit_changes_no_p() -> None:
    domain = Domain(2, roles=("no-role", "judge")).moved(-0.7, "lime")
    found = judged(domain.found())
    domain.features["value"] *= 1e-13
    small = judged(domain.found())
    assert small["p"].tolist() == pytest.approx(found["p"].tolist())
    assert small["value"].tolist()[1:] == pytest.approx(
        (found["value"] * 1e-13).tolist()[1:], abs=1e-22
    )


def test_few_root_items_and_few_numbers_are_said() -> None:
    own = one(Domain(1, roots=1).found())
    assert (own["value"], own["reason"]) == (
        None,
        "1 root item answered for every concept; 6 are needed",
    )
    own = one(Domain(1, roots=5).found())
    assert (own["value"], own["reason"], own["verdict"]) == (
        None,
        "5 root items answered for every concept; 6 are needed",
        Verdict.INCONCLUSIVE,
    )
    assert (
        one(Domain(1, roots=8).found())["why"]
        == "No verdict is possible: 8 root items (at least 10 needed)."
    )
    domain = Domain(1)
    domain.features.loc[domain.features["id"].str[-1].isin(list("0123456")), "value"] = np.nan
    own = one(domain.found())
    assert (own["n"], own["verdict"]) == (6, Verdict.INVALID)
    assert "vader could be computed for 30% of the replies (at least 50% needed)" in own["why"]


@pytest.mark.parametrize("value", [0.25, 3000.3])
def test_replies_that_measure_the_same_but_for_rounding_are_no_measurement(value: float) -> None:
    domain = Domain(1)
    domain.features["value"] = np.where(
        domain.concept == "lime", np.nextafter(value, np.inf), value
    )
    own = one(domain.found())
    assert own["verdict"] == Verdict.INVALID
    assert own["why"].endswith("replies (vader) have the same score.")


def test_where_concepts_have_texts_of_their_own_nothing_is_confirmed() -> None:
    prompts = measured.prompts(20, CONCEPTS, branched=False).assign(root_concept="fig")
    features = measured.features(prompts, np.random.default_rng(1).normal(size=len(prompts)), 0.5)
    replies = measured.replies(features).assign(reason=None)
    found = measured.figures_of(
        features, replies, prompts, SETTINGS, declared=VADER, controls=INVENTED
    )
    assert judged(found).empty
    assert found["favour"].empty


def test_what_can_be_detected_is_detected_in_four_fifths() -> None:
    domains = [Domain(300 + seed, concepts=CONCEPTS) for seed in range(30)]
    least = one(domains[0].found())["detectable"]
    errors = stats.t.isf(0.025 / 2 / 6, 19) + stats.t.ppf(0.8, 19)  # of two figures
    assert least == pytest.approx(0.5 * np.sqrt(5 / 6 / 20) * errors, rel=0.15)
    # The others lie as far the other way together.
    found = sum("lime" in named(domain.moved(-least * 6 / 5, "lime").found()) for domain in domains)
    assert stats.binomtest(found, len(domains), 0.8).pvalue > 0.01

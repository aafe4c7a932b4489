"""The headline: what was planted is detected and named, and equal treatment and noise are not.

All go through the family's own door: a plan, rows, replies and their numbers become `figures`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged.ask import extract_features
from evenruler.instruments.saged.declare import FAVOUR, NONRESPONSE, PERSONA
from evenruler.instruments.saged.declare.settings import Disparities, Feature
from evenruler.instruments.saged.diagnose import contrast, headlines
from evenruler.instruments.saged.diagnose.headlines import (
    ConceptFindings,
    ConceptScores,
    find_outliers,
    headline_test,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import judge
from tests.instruments.near import approx
from tests.instruments.saged.diagnose import measured

CONCEPTS = ["fig", "kiwi", "lime", "melon", "nashi", "olive"]
KNOWN = [f"x{number:02d}" for number in range(39)]
SETTINGS = Disparities(statistics={"mean": {"kind": "mean"}})
VADER = {"vader": Feature(kind="lexicon")}
TOXICITY = Feature(kind="classifier", model="m", score={"toxic": 1}, better="lower")
TWO = {**VADER, "toxicity": TOXICITY}


class Domain:
    """Replies about concepts and known names in some roles, with SD .5 about their root items."""

    def __init__(
        self,
        seed: int,
        roots: int = 20,
        concepts: list[str] = CONCEPTS,
        reference: list[str] = KNOWN,
        roles: tuple[str, ...] = ("no-role",),
    ) -> None:
        draw = np.random.default_rng(seed)
        self.reference = reference
        self.concepts = concepts
        words = [*concepts, *reference]
        self.prompts = measured.prompts(roots, words).assign(root_concept=concepts[0])
        self.framed: pd.DataFrame | None = None
        root = np.repeat(draw.normal(0, 1, roots), len(words))
        parts = []
        for feature, role in product(TWO, roles):
            values = root + draw.normal(0, 0.5, len(root))
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

    def with_persona(self, concept: str, by: float) -> "Domain":
        """The persona's replies about a concept, so far from its plain ones."""
        is_about = (self.concept == concept) & (self.features["role"] == "no-role")
        rows = self.features[is_about]
        persona = rows.assign(
            id=PERSONA + rows["id"], framing=PERSONA, value=rows["value"] + by, reason=None
        )
        self.features = pd.concat([self.features, persona], ignore_index=True)
        self.generations = measured.replies(self.features).assign(reason=None)
        framed = pd.DataFrame({"id": persona["id"], "bare_id": rows["id"]})
        self.framed = framed.drop_duplicates().assign(
            framing=PERSONA, before="You dislike it.", concept=concept
        )
        return self

    def diagnosed(self, declared: Mapping[str, Feature] = VADER, **planned: Any) -> Tables:
        plan = {"concepts": self.concepts, "reference": self.reference} | planned
        return measured.diagnosed(
            self.features,
            self.generations,
            self.prompts,
            SETTINGS,
            again=self.framed,
            declared=declared,
            **plan,
        )


def headline(tables: Tables) -> Any:
    figures = tables["figures"]
    headlines = figures[figures["bound"].notna()]
    assert len(headlines) == 1
    return headlines.iloc[0]


def named(tables: Tables) -> dict[str, str]:
    rows = tables["favour"].dropna(subset=["named"])
    return dict(zip(rows["concept"], rows["named"], strict=True))


def test_a_cursed_concept_is_named_and_no_other() -> None:
    tables = Domain(2).moved(-1.0, "lime").diagnosed(TWO)
    favour = headline(tables)
    assert (favour["figure"], favour["feature"]) == (FAVOUR, "vader")
    assert favour["verdict"] == Verdict.DETECTED
    assert "lime is favoured less than average (-" in favour["why"]
    assert favour["low"] < -1.0 * 5 / 6 < favour["high"] < 0
    assert named(tables) == {"lime": "less"}
    assert favour["facets"] == "20 root items, 6 concepts (fixed)"
    assert favour["p"] == approx(1 / 2000)
    assert favour["bound"] == approx(0.2)
    described = tables["favour"].query("feature == 'toxicity'")
    assert described["difference"].notna().all()


def test_reasons_call_concepts_by_their_names() -> None:
    names = {"lime": "the lime", "fig": "the fig"}
    favour = headline(Domain(2).moved(-1.0, "lime").diagnosed(names=names))
    assert "the lime is favoured less than average (-" in favour["why"]


def test_the_furthest_of_several_concepts_has_no_percentile_among_single_names() -> None:
    """Of 6 and 39 that are alike, the furthest of the 6 would lie beyond all 39 once in eight
    studies; its p allows for that."""
    domain = Domain(2).moved(-1.0, "lime")
    tables = domain.diagnosed()
    favour = headline(tables)
    assert (favour["reference_set"], favour["alternatives"]) == ("known names", 39)
    assert pd.isna(favour["percentile"])
    of_concepts = tables["favour"].query("feature == 'vader'").set_index("concept")
    assert of_concepts.loc["lime", "percentile"] == 100, "one concept is compared with single names"
    for place, name in enumerate(KNOWN):
        domain.moved(2.0 * (-1) ** place, name)
    tables = domain.diagnosed()
    of_concepts = tables["favour"].query("feature == 'vader'").set_index("concept")
    assert of_concepts.loc["lime", "percentile"] == 0
    assert headline(tables)["verdict"] == Verdict.DETECTED  # which that does not change
    spread = tables["figures"].query("figure == 'spread'").iloc[0]
    assert (spread["n"], spread["unit"]) == (6, "concepts")
    assert pd.isna(spread["verdict"])
    assert spread["value"] == approx(1 / 6**0.5, abs=0.1)
    assert spread["control"] == approx(2.0, abs=0.1)
    assert set(tables["compared"]["n_groups"]) == {6}


class TestDeclaredConcept:
    def test_it_is_ranked_among_known_names(self) -> None:
        domain = Domain(2).moved(-1.0, "lime")
        tables = domain.diagnosed(concept="lime")
        favour = headline(tables)
        assert favour["verdict"] == Verdict.DETECTED
        assert favour["p"] == approx(1 / 40)
        assert favour["facets"] == "20 root items, 39 known names"
        assert named(tables) == {}
        assert headline(domain.diagnosed(concept="fig"))["verdict"] == Verdict.INCONCLUSIVE

    @pytest.mark.parametrize("n_known", [0, 18])
    def test_fewer_than_19_names_give_no_verdict(self, n_known) -> None:
        domain = Domain(2, reference=KNOWN[:n_known]).moved(-1.0, "lime")
        favour = headline(domain.diagnosed(concept="lime"))
        assert favour["verdict"] == Verdict.DESCRIPTIVE
        assert pd.isna(favour["p"])


CONTROL = {"concept": "kiwi", "persona": "You dislike it."}


class TestPositiveControl:
    def test_equal_treatment_is_below_where_the_persona_is_seen(self) -> None:
        domain = Domain(1, roots=200, reference=[]).with_persona("kiwi", -1.0)
        favour = headline(domain.diagnosed(control=CONTROL))
        assert favour["verdict"] == Verdict.BELOW
        assert favour["positive_control"] == "a persona that dislikes kiwi"
        assert favour["positive_value"] == approx(5 / 6, abs=0.15)
        assert favour["positive_low"] > 0
        assert favour["positive_p"] == approx(1 / 2000)

    def test_without_it_nothing_is_below(self) -> None:
        favour = headline(Domain(1, roots=200, reference=[]).diagnosed(control=CONTROL))
        assert favour["verdict"] == Verdict.INCONCLUSIVE
        assert "no positive control was asked" in favour["why"]

    @pytest.mark.parametrize("by", [0.0, 1.0])
    def test_a_persona_that_changes_nothing_or_praises_makes_it_invalid(self, by) -> None:
        domain = Domain(2, reference=[]).moved(-1.0, "lime").with_persona("kiwi", by)
        favour = headline(domain.diagnosed(control=CONTROL))
        assert favour["verdict"] == Verdict.INVALID
        assert "a persona that dislikes kiwi, is not detected" in favour["why"]

    def test_a_declared_concept_has_it_by_rank(self) -> None:
        domain = Domain(1).with_persona("lime", -1.5)
        control = {**CONTROL, "concept": "lime"}
        favour = headline(domain.diagnosed(control=control, concept="lime"))
        assert favour["positive_p"] == approx(1 / 40)
        assert favour["positive_value"] == approx(1.5, abs=0.3)


class TestTwoModels:
    def compared(self, first: Tables, second: Tables) -> Any:
        return judge(contrast(first["headlines"], second["headlines"], 0.2))

    def test_whom_one_curses_and_the_other_does_not(self) -> None:
        cursed = Domain(2).moved(-1.0, "lime").diagnosed()
        comparison = self.compared(cursed, Domain(3).diagnosed())
        assert comparison.verdict == Verdict.DETECTED
        assert "Difference of the models: lime -" in str(comparison.why)
        assert comparison.facets == "20 root items, 6 concepts (fixed)"
        both = self.compared(cursed, Domain(4).moved(-1.0, "lime").diagnosed())
        assert both.verdict == Verdict.INCONCLUSIVE

    def test_a_declared_concept_is_ranked_by_its_difference(self) -> None:
        cursed = Domain(2).moved(-1.2, "lime").diagnosed(concept="lime")
        comparison = self.compared(cursed, Domain(3).diagnosed(concept="lime"))
        assert comparison.verdict == Verdict.DETECTED
        assert comparison.p == approx(1 / 40)

    def test_models_that_are_alike_are_below_with_a_persona(self) -> None:
        first = Domain(1, roots=300).with_persona("kiwi", -1.0).diagnosed(control=CONTROL)
        second = Domain(2, roots=300).diagnosed()
        assert self.compared(first, second).verdict == Verdict.BELOW


def test_texts_about_one_of_the_concepts_are_described() -> None:
    favour = headline(Domain(2).moved(-1.0, "lime").diagnosed(crossed=False))
    assert favour["verdict"] == Verdict.DESCRIPTIVE
    assert favour["value"] < -0.5


def test_where_concepts_have_texts_of_their_own_there_is_no_headline() -> None:
    prompts = measured.prompts(20, CONCEPTS, branched=False).assign(root_concept="fig")
    values = np.random.default_rng(1).normal(size=len(prompts))
    features = measured.features(prompts, values, 0.5)
    replies = measured.replies(features).assign(reason=None)
    tables = measured.diagnosed(features, replies, prompts, SETTINGS, declared=VADER)
    assert tables["figures"]["bound"].isna().all()
    assert tables["favour"].empty


def test_a_concept_that_is_refused_is_described_and_favour_is_of_the_others() -> None:
    domain = Domain(2, roots=30).moved(-0.8, "lime").moved(-3, "fig")
    domain.generations["refusal"] = domain.generations["id"].str.startswith("fig")
    tables = domain.diagnosed()
    favour = headline(tables)
    assert favour["verdict"] == Verdict.DETECTED
    assert favour["why"].endswith("fig left out: under half of the replies are usable.")
    assert named(tables) == {"lime": "less", "fig": "left out"}
    nonresponse = tables["figures"].query(f"figure == '{NONRESPONSE}'").iloc[0]
    assert nonresponse["value"] == approx(5 / 6)
    assert pd.isna(nonresponse["verdict"])


def test_roles_count_together_and_what_root_items_bring_is_taken_off() -> None:
    domain = Domain(1, roles=("no-role", "judge"))
    rows = domain.diagnosed()["favour"].query("feature == 'vader'")
    favour = rows.set_index("concept")
    is_concept = domain.concept.isin(CONCEPTS)
    vader_rows = domain.features[is_concept].query("feature == 'vader'")
    expected = vader_rows["value"].groupby(domain.concept[vader_rows.index]).mean()
    expected -= expected.mean()
    assert favour["difference"].to_dict() == approx(expected.to_dict())  # nothing is missing
    assert set(favour["n"]) == {20}
    assert set(favour["better"]) == {"higher"}


def test_replies_that_one_role_lacks_make_no_difference() -> None:
    """A filter that strikes one concept in a sadder role would make it look favoured."""
    domain = Domain(200, roles=("no-role", "judge"))
    sad = domain.features["role"] == "judge"
    domain.features.loc[sad, "value"] -= 3
    domain.features.loc[sad & (domain.concept == "lime"), "value"] = np.nan
    favour = domain.diagnosed()["favour"].query("feature == 'vader'")
    assert favour["difference"].notna().all()
    assert favour["difference"].abs().max() < 0.5  # which would be 1.25 of limes


def test_root_items_that_one_concept_lacks_make_no_difference_and_are_not_counted() -> None:
    domain = Domain(5)
    high = domain.features["id"].str[-3:].astype(int) < 13  # the root items that lime has
    domain.features["value"] += 5 * ~high
    domain.features.loc[~high & (domain.concept == "lime"), "value"] = np.nan
    tables = domain.diagnosed()
    assert (headline(tables)["n"], named(tables)) == (20, {})
    favour = tables["favour"].query("feature == 'vader'").set_index("concept")
    assert favour.loc[["lime", "fig"], "n"].tolist() == [13, 20]
    assert favour["difference"].abs().max() < 0.5


def test_a_concept_with_scores_of_few_root_items_is_left_out() -> None:
    domain = Domain(5).moved(-1.0, "lime")
    late = domain.features["id"].str[-3:].astype(int) >= 9
    domain.features.loc[late & (domain.concept == "fig"), "value"] = np.nan
    tables = domain.diagnosed()
    assert named(tables) == {"lime": "less", "fig": "left out"}
    assert headline(tables)["facets"] == "20 root items, 5 concepts (fixed)"


def test_it_is_below_only_where_all_concepts_are() -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, (40, 4))
    scores = pd.DataFrame(noise, columns=list("abcd"))
    scores["a"] -= 0.3  # the furthest in standard errors
    scores["d"] *= 40  # the least certain
    persona = (scores["b"] - 2.0).rename("b")
    scored = ConceptScores(scores, list("abcd"), [], bound=1.0, persona=persona)
    tests = []
    for table in (scores, scores.drop(columns="d")):
        of_table = replace(scored, scores=table, concepts=list(table.columns))
        tests.append(headline_test(of_table, find_outliers(of_table, 0), 0))
    assert [test.effect.high < 1.0 for test in tests] == [True, True]
    assert [test.is_below for test in tests] == [False, True]


def test_a_model_that_only_names_whom_it_is_asked_about_favours_nobody() -> None:
    """A tool that dislikes a name would find a difference, were names not masked."""
    prompts = measured.prompts(20, CONCEPTS).assign(
        domain="fruit", baseline="Nothing is said of it.", root_concept="fig"
    )
    replies = measured.replies(measured.features(prompts, 0.0))
    number = prompts["root_id"].str[-3:]
    praise = (number.astype(int) % 3).map([".", ". Good.", ". Good. Good."].__getitem__)
    name = prompts["concept"].replace("lime", "awful lime")  # what VADER hears in a name
    replies = replies.assign(generation="Number " + number + " is " + name + praise, reason=None)
    vader = {"named": Feature(kind="lexicon", mask=False), **VADER}
    names = [*CONCEPTS, "awful lime"]
    extracted = extract_features(prompts, replies, vader, models=None, names=names)  # type: ignore[arg-type]
    features = extracted["features"]
    tables = measured.diagnosed(features, replies, prompts, SETTINGS, declared=vader)
    favour = headline(tables)
    assert favour["feature"] == "vader"  # the unmasked one describes
    assert (favour["value"], favour["p"]) == (0, 1)
    unmasked = features.query("feature == 'named'")
    raw = (
        unmasked["value"]
        .groupby(
            unmasked["id"].astype(str).str[:-4],
        )
        .mean()
    )
    assert raw["lime"] < raw["fig"] - 0.3


def test_few_root_items_and_few_numbers_are_said() -> None:
    favour = headline(Domain(1, roots=5).diagnosed())
    assert pd.isna(favour["value"])
    assert favour["reason"] == "5 root items answered; 6 needed"
    assert favour["verdict"] == Verdict.DESCRIPTIVE
    assert headline(Domain(1, roots=6).diagnosed())["verdict"] == Verdict.INCONCLUSIVE
    domain = Domain(1)
    domain.features.loc[domain.features["id"].str[-1] < "7", "value"] = np.nan
    favour = headline(domain.diagnosed())
    assert favour["verdict"] == Verdict.INVALID
    assert "vader could be computed for 30% of the replies" in favour["why"]


@pytest.mark.parametrize("value", [0.25, 3000.3])
def test_replies_that_measure_the_same_but_for_rounding_are_no_measurement(value) -> None:
    domain = Domain(1)
    next_value = np.nextafter(value, np.inf)
    domain.features["value"] = np.where(domain.concept == "lime", next_value, value)
    favour = headline(domain.diagnosed())
    assert favour["verdict"] == Verdict.INVALID
    assert "have the same score" in favour["why"]


def test_replies_that_are_no_answers_make_it_invalid() -> None:
    domain = Domain(2).moved(-1.0, "lime")
    domain.generations["refusal"] = domain.generations["id"].str[-1] < "6"
    favour = headline(domain.diagnosed())
    assert favour["verdict"] == Verdict.INVALID
    assert "requests were not answered" in favour["why"]


def test_rows_that_are_doubled_change_nothing() -> None:
    domain = Domain(2, roles=("no-role", "judge")).moved(-0.7, "lime")
    once = headline(domain.diagnosed())
    for name in ("features", "generations"):
        rows = getattr(domain, name)
        setattr(domain, name, pd.concat([rows, rows.assign(repetition=1)], ignore_index=True))
    twice = headline(domain.diagnosed())
    numbers = ["value", "low", "high", "p", "n", "detects", "alternatives"]
    assert once[numbers].tolist() == approx(twice[numbers].tolist())
    assert once["verdict"] == twice["verdict"]


FEWER = {"randomisations": 199}


def guarded_scores(
    seed: int, tails: str, names_vary: float = 0.0, n_known: int = 0, declared: str | None = None
) -> ConceptScores:
    """20 root items of 20 concepts, and known names, of which each is worth as much by chance."""
    random = np.random.default_rng(seed)
    draw = {
        "normal": random.normal,
        "t(3)": lambda size: random.standard_t(3, size),
    }[tails]
    n_names = 20 + n_known
    names = [f"n{number:02d}" for number in range(n_names)]
    noise = draw(size=(20, n_names)) if not names_vary else random.normal(size=(20, n_names))
    scores = noise + names_vary * draw(size=n_names) + random.normal(size=(20, 1))
    table = pd.DataFrame(scores, columns=names)
    return ConceptScores(table, names[:20], names[20:], bound=0.1, declared=declared)


@pytest.mark.parametrize("tails", ["normal", "t(3)"])
def test_guard_equal_treatment_is_detected_in_few_of_200_studies(tails, monkeypatch) -> None:
    """A guard of the error of .05; 2,000 draws are in `studies/planted/saged.py`."""
    for name in ("max_deviation_test", "step_down_max_t"):
        monkeypatch.setattr(headlines, name, partial(getattr(headlines, name), **FEWER))
    n_detected = n_naming = 0
    for seed in range(200):
        scored = guarded_scores(seed, tails)
        findings = find_outliers(scored, seed)
        n_detected += headline_test(scored, findings, seed).is_detected
        n_naming += bool(findings.named)
    assert max(n_detected, n_naming) <= 0.09 * 200


@pytest.mark.parametrize("tails", ["normal", "t(3)"])
def test_guard_a_declared_concept_that_varies_as_known_names_do(tails) -> None:
    """Names are worth something by chance, with heavy tails; p alone, too, keeps its level."""
    ps: list[float] = []
    for seed in range(200):
        scored = guarded_scores(seed, tails, 0.6, 39, "n00")
        p = headline_test(scored, ConceptFindings(None), seed).p
        ps.append(p)
    assert np.mean(np.array(ps) < 0.05) <= 0.09
    assert np.mean(ps) == approx(0.5, abs=0.08)


def test_a_declared_concept_is_ranked_in_the_root_items_that_it_answers() -> None:
    """Of 20 root items the first ten: there it lies further out than all known names, which lie
    further in the others.
    """
    scored = guarded_scores(1, "normal", 0.6, 39, "n00")
    table = scored.scores.copy()
    table.loc[:9, "n00"] += 100
    table.loc[10:, "n00"] = np.nan
    table.loc[10:, scored.reference] *= 1000
    test = headline_test(replace(scored, scores=table), ConceptFindings(None), 0)
    assert test.p == 1 / 40
    assert test.facets["root items"] == 10


@pytest.mark.slow
@pytest.mark.long
def test_what_can_be_detected_is_detected_in_four_fifths() -> None:
    domains = [Domain(300 + seed, reference=[]) for seed in range(30)]
    # The others lie as far the other way.
    by = -headline(domains[0].diagnosed())["detects"] * 6 / 5
    studies = [domain.moved(by, "lime").diagnosed() for domain in domains]
    n_named = sum("lime" in named(tables) for tables in studies)
    assert stats.binomtest(n_named, len(domains), 0.8).pvalue > 0.01

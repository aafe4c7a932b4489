"""Rankings of candidates with planted odds: which group is told to come first more often, at equal
place."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenruler.instruments.external import ask, declare, diagnose
from evenruler.instruments.external.ask.ranking import find_first_named, read_winner
from evenruler.instruments.external.diagnose import ranking
from evenruler.instruments.external.diagnose.ranking import (
    RankedLists,
    fit_odds,
    group_ps,
    odds_headlines,
)
from evenruler.instruments.external.rows.ranking import order_p, read_lists
from evenruler.measurement.figures import HeadlineFigure
from evenruler.measurement.verdicts import ValidityCheck
from tests.instruments.external import made
from tests.instruments.external.made_rankings import (
    GROUPS,
    RECORDED,
    judged,
    list_name,
    places_of,
    rank,
    ranking_source,
    shuffled_lists,
    table_of_lists,
)

BOUND = math.log(1 / 0.8)
N = 1200


@pytest.fixture(scope="module")
def text(lists: RankedLists) -> str:
    """The lists as a table, of two jobs."""
    return table_of_lists(lists, ["clerk", "head cook"])


def headlines(lists: RankedLists) -> dict[str, HeadlineFigure]:
    """By group."""
    judged_figures = odds_headlines(lists, BOUND, 0, ValidityCheck())
    return {figure.dimensions["candidates"]: figure for figure in judged_figures}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Randomise less often, for speed."""
    monkeypatch.setattr(ranking, "DRAWS", 499)


@pytest.fixture(scope="module")
def lists() -> RankedLists:
    return shuffled_lists(N)


class TestOdds:
    def test_are_those_of_a_conditional_logit(self) -> None:
        from statsmodels.discrete.conditional_models import ConditionalLogit

        small = rank(shuffled_lists(80), {"amber": 0.5}, place=1.0)
        fitted = fit_odds(small)
        columns = [small.group == group for group in (1, 2, 3)]
        places = np.broadcast_to(np.arange(4), (80, 4))
        columns += [places == place for place in (1, 2, 3)]
        design = np.stack(columns, axis=-1).reshape(-1, 6).astype(float)
        trials = np.repeat(np.arange(80), 4)
        model = ConditionalLogit(small.is_first.ravel(), design, groups=trials)
        reference = model.fit(disp=False)
        assert fitted.coefficients == pytest.approx(reference.params, abs=1e-3)
        assert model.loglike(fitted.coefficients) >= reference.llf
        assert np.sqrt(np.diag(fitted.bread)) == pytest.approx(reference.bse, rel=1e-3)

    def test_errors_are_over_names_crossed_with_lists(self) -> None:
        """Names that differ make the odds less certain than lists alone say."""
        wide = rank(shuffled_lists(N), {}, spread=1.0)
        fitted = fit_odds(wide)
        contrast = fitted.group_contrasts[0]
        by_model = float(contrast @ fitted.bread @ contrast)
        estimate = fitted.estimate_contrast(contrast)
        assert estimate.variance > 2 * by_model
        assert estimate.df >= 23
        alike = fit_odds(rank(shuffled_lists(N), {}))
        assert alike.estimate_contrast(contrast).error == pytest.approx(by_model**0.5, rel=0.4)


class TestPlantedOdds:
    def test_a_group_that_is_put_last_is_found(self, lists) -> None:
        biased = headlines(rank(lists, {"blue": 0.5}, place=1.0, spread=0.2))
        blue = biased["blue"]
        assert blue.verdict == "detected"
        assert blue.value == pytest.approx(math.log(0.5), abs=0.25)
        assert blue.low < math.log(0.5) < blue.high < 0
        assert blue.facets == f"96 names, {len(np.unique(lists.order))} lists"
        assert biased["amber"].value > 0  # others gain what it loses

    def test_a_small_difference_is_below_four_fifths(self) -> None:
        """Where the place shows that the study detects odds of that size."""
        many = shuffled_lists(4_000, n_names=100)
        fair = headlines(rank(many, {}, place=1.0))
        assert {str(figure.verdict) for figure in fair.values()} == {"below"}
        assert fair["dun"].positive_value == pytest.approx(1.0, abs=0.1)
        without = headlines(rank(many, {}))
        assert {str(figure.verdict) for figure in without.values()} == {"inconclusive"}
        assert without["dun"].positive_control is None

    def test_always_the_first_is_inconclusive_and_says_why(self, lists) -> None:
        first = headlines(replace_winner(lists, np.zeros(N, dtype=np.intp)))
        assert {str(figure.verdict) for figure in first.values()} == {"inconclusive"}
        blue = first["blue"]
        assert (blue.value, blue.low, blue.high) == (None, None, None)
        assert blue.reason == "the place decides: place 1 comes first in 100% of lists"

    def test_a_group_that_never_comes_first_has_no_odds(self, lists) -> None:
        amber = (lists.group == 0).argmax(axis=1)
        winner = (amber + 1 + np.arange(N) % 3) % 4
        reason = headlines(replace_winner(lists, winner))["amber"].reason
        assert reason == "the group amber never comes first"

    def test_a_random_ranker_is_detected_in_one_of_twenty(self) -> None:
        """A guard: 200 rankers whose names differ, and whose places matter; p before correction."""
        lists = shuffled_lists(300)
        ps: list[list[float]] = []
        for seed in range(200):
            ps.append(group_ps(rank(lists, {}, place=1.0, spread=0.5, seed=seed), seed))
        rates = (np.array(ps) <= 0.05).mean(axis=0)
        assert rates.mean() <= 0.07
        assert rates.max() <= 0.09


def replace_winner(lists: RankedLists, winner: np.ndarray) -> RankedLists:
    return RankedLists(lists.groups, lists.names, lists.group, lists.name, lists.order, winner)


class TestReading:
    NAMES = ("JOANN LEE", "ANN LEE", "Bo O'Neil")

    @pytest.mark.parametrize(
        ("reply", "place"),
        [
            ("1. Ann Lee\n2. Joann Lee\n3. Bo O'Neil", 1),
            ("My ranking: **Bo O'Neil**, Joann Lee, Ann Lee", 2),
            ("Joann Lee first.", 0),
            ("I cannot rank people.", None),
            ("Joanna Leeds", None),
        ],
    )
    def test_who_is_named_first(self, reply, place) -> None:
        assert find_first_named(reply, self.NAMES) == place

    def test_a_choice_goes_before_the_reply(self) -> None:
        assert read_winner(self.NAMES, [0.0, 0.0, 1.0], "Ann Lee") == 2
        assert read_winner(self.NAMES, [0.0, 0.0, 0.0], "Ann Lee") == 1
        assert read_winner(self.NAMES, [0.0, 0.0, 0.0], None) is None


class TestFamily:
    def test_from_a_table_to_figures(self, text, lists, tmp_path) -> None:
        built = made.built(ranking_source(tmp_path, text))
        assert built.plan["bound"] == pytest.approx(BOUND)
        biased = rank(lists, {"blue": 0.5}, place=1.0)
        figures = judged(built, places_of(biased.winner))["figures"]
        row = made.find_row(figures, "log_odds", candidates="blue")
        assert row["value"] == pytest.approx(headlines(biased)["blue"].value)
        assert (row["verdict"], row["n"], row["unit"]) == ("detected", 96, "names")
        rate = made.find_row(figures, "selection_rate", candidates="blue")
        winners = biased.group[np.arange(N), biased.winner]
        assert rate["value"] == pytest.approx((winners == 1).mean())
        assert rate["control"] == pytest.approx(0.25)
        first = made.find_values(figures, "first_place", "answered")
        assert first == pytest.approx([(biased.winner == 0).mean(), 1])
        of_job = made.find_row(
            figures, "log_odds_of_part", candidates="blue", condition="head-cook"
        )
        assert of_job["low"] < math.log(0.5) < of_job["high"]
        assert of_job["n"] == N / 2

    def test_too_few_that_are_read_are_no_sample(self, text, lists, tmp_path) -> None:
        built = made.built(ranking_source(tmp_path, text))
        chosen = places_of(rank(lists, {}).winner)
        for index in range(0, N, 8):
            chosen[list_name(index)] = "All are suitable."
        figures = judged(built, chosen)["figures"]
        row = made.find_row(figures, "log_odds", candidates="blue")
        assert row["verdict"] == "invalid"
        assert "a winner is read in 88% of 1,200 answered lists (90% needed)" in row["why"]

    def test_lists_that_were_not_answered_are_left_out(self, text, lists, tmp_path) -> None:
        built = made.built(ranking_source(tmp_path, text))
        few = places_of(rank(lists, {}).winner[:60])
        figures = judged(built, few)["figures"]
        row = made.find_row(figures, "log_odds", candidates="blue")
        assert row["verdict"] == "descriptive"
        assert "names in these lists, and 20 are needed" in row["why"]
        assert made.find_row(figures, "answered")["n"] == 60

    def test_only_recorded_answers_are_asked(self, text, tmp_path) -> None:
        built = made.built(ranking_source(tmp_path, text))
        assert ask.requests(made.frames(built), built.plan, {}, made.SUBJECT) == []
        (request,) = ask.requests(made.frames(built), built.plan, {}, RECORDED)
        assert len(request.rows) == 4 * N
        cut, _ = ask.limited(made.frames(built), built.plan, 10)
        assert cut["texts"].groupby("item").size().tolist() == [4] * 10

    def test_two_models_are_compared_over_names(self, text, lists, tmp_path) -> None:
        built = made.built(ranking_source(tmp_path, text))
        biased, fair = (
            judged(built, places_of(rank(lists, {"blue": odds}, place=1.0).winner))
            for odds in (0.5, 1.0)
        )
        of_biased, of_fair = (
            tables["headlines"].query("candidates == 'blue'") for tables in (biased, fair)
        )
        values = [
            made.find_row(tables["figures"], "log_odds", candidates="blue")["value"]
            for tables in (biased, fair)
        ]
        test = diagnose.contrast(of_biased, of_fair, BOUND)
        assert test.effect.value == pytest.approx(values[0] - values[1], abs=1e-9)
        assert test.is_detected
        turned = of_biased["value"].to_numpy()[::-1]
        assert not diagnose.contrast(of_biased, of_biased.assign(value=turned), BOUND).is_detected
        few = diagnose.contrast(of_biased.head(19), of_fair, BOUND)
        assert few.no_verdict == "19 names asked of both models (at least 20 needed)"

    def test_headings_name_what_stands_there(self, text, tmp_path) -> None:
        built = made.built(ranking_source(tmp_path, text))
        figures = judged(built, places_of(np.arange(N) % 4))["figures"]
        headings = {heading.figure for heading in declare.headings(built.plan)}
        assert headings == set(figures["figure"])


def change(text: str, row: int, old: str, new: str) -> str:
    lines = text.split("\n")
    assert old in lines[row]
    lines[row] = lines[row].replace(old, new)
    return "\n".join(lines)


class TestRefusals:
    def refusal(self, folder: Path, text: str, error_of: Callable[..., str]) -> str:
        return error_of(made.built, ranking_source(folder, text))

    def test_an_order_that_was_not_shuffled(self, tmp_path, error_of) -> None:
        lists = shuffled_lists(200)
        in_order = np.tile(np.arange(4), (200, 1))
        names = in_order * 24 + lists.name % 24
        ordered = replace(lists, group=in_order, name=names)
        line = self.refusal(tmp_path, table_of_lists(ordered), error_of)
        assert "its order is not shuffled: group by place over 200 distinct lists, p 0" in line
        assert line.endswith(
            "shuffle the candidates of each list, or place and group cannot be told apart"
        )

    def test_lists_that_are_used_again_were_shuffled_once(self, tmp_path) -> None:
        """Else 40 lists by chance a little uneven would look unshuffled when asked for ten jobs."""
        lists = shuffled_lists(60, seed=3, n_names=20)
        again = np.tile(np.arange(60), 20)
        repeated = lists.select_lists(again)
        path = tmp_path / "lists.csv"
        path.write_text(table_of_lists(repeated))
        read = read_lists(path)
        assert len(read) == 1200
        assert order_p(read) == pytest.approx(order_p(read[:60]))

    def test_columns_that_others_call_otherwise(self, tmp_path) -> None:
        text = table_of_lists(shuffled_lists(60, seed=3, n_names=20))
        plain, renamed = tmp_path / "lists.csv", tmp_path / "renamed.tsv"
        plain.write_text(text)
        header, _, rows = text.partition("\n")
        columns = header.replace("list", "vacancy").replace("group", "origin")
        renamed.write_text(f"{columns}\n{rows}".replace(",", "\t"))
        named = {"list": "vacancy", "group": "origin"}
        assert read_lists(renamed, named) == read_lists(plain)

    def test_too_few_names(self, tmp_path, error_of) -> None:
        text = table_of_lists(shuffled_lists(600, n_names=19))
        line = self.refusal(tmp_path, text, error_of)
        assert "19 names in the group " in line
        assert "at least 20 are needed" in line

    @pytest.mark.parametrize(
        ("row", "old", "new", "what"),
        [
            (2, ",2,", ",1,", "list l0000: its places are no order of candidates"),
            (1, "l0000", "l9999", "its places are no order of candidates"),
        ],
    )
    def test_lists_that_are_none(
        self,
        row,
        old,
        new,
        what,
        tmp_path,
        error_of,
    ) -> None:
        text = change(table_of_lists(shuffled_lists(300)), row, old, new)
        assert what in self.refusal(tmp_path, text, error_of)

    def test_a_name_of_two_groups(self, tmp_path, error_of) -> None:
        text = table_of_lists(shuffled_lists(300))
        lines = text.split("\n")
        name, group = lines[1].split(",")[2:4]
        other = next(other for other in GROUPS if other != group)
        changed = change(text, 1, f",{group},", f",{other},")
        line = self.refusal(tmp_path, changed, error_of)
        assert f"{name!r} is of the groups" in line
        assert line.endswith("give a name one group")

"""Mass of classes from likelihoods of forms, by hand."""

import math

import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.framing.diagnose.distributions import token_distributions

OUTCOMES = {"he": ["he", "his"], "she": ["she", "her"]}


def prompt(id_: str, order: tuple[str, ...] = (), stimulus: str = "long", framing: str = "bare") -> dict:
    return {
        "id": id_,
        "benchmark": "hair",
        "task": "choice" if order else "completion",
        "framing": framing,
        "stimulus": stimulus,
        "order": list(order),
    }


def form(
    id_: str, form: str, p: float, ends: float = 1.0, first: float = 0.0, token: int = 0, alone: float = 1.0
) -> dict:
    return {
        "id": id_,
        "model": "m",
        "lineage": "m",
        "configuration": "plain",
        "framing": "bare",
        "form": form,
        "nats": math.log(p),
        "ends": math.log(ends),
        "alone": math.log(alone),
        "first_nats": math.log(first) if first else -math.inf,
        "first_token": token,
    }


def masses(
    forms: list[dict], prompts: list[dict], free: list[dict] | None = None, **options: str
) -> dict[str, tuple[float, float, float, int]]:
    without_content = None if free is None else pd.DataFrame(free)
    found = token_distributions(pd.DataFrame(forms), pd.DataFrame(prompts), without_content, OUTCOMES, **options)
    return {row["outcome"]: (row["mass"], row["share"], row["coverage"], row["n"]) for row in found.to_dict("records")}


def test_a_class_has_the_sum_of_its_forms_where_no_letter_follows() -> None:
    forms = [
        form("a", " he", 0.2, ends=0.5),
        form("a", " He", 0.1),
        form("a", " his", 0.05, ends=0.8),
        form("a", " she", 0.1, ends=0.6),
        form("a", " her", 0.3, ends=1 / 3),
    ]
    found = masses(forms, [prompt("a")])
    assert found["he"] == (pytest.approx(0.24), pytest.approx(0.6), pytest.approx(0.4), 1)
    assert found["she"] == (pytest.approx(0.16), pytest.approx(0.4), pytest.approx(0.4), 1)


def test_letters_have_the_class_of_their_option_and_orders_are_averaged() -> None:
    orders = {"a": ("he", "she", "rabbit"), "b": ("rabbit", "he", "she")}
    forms = [form(id_, f" {letter}", p) for id_ in orders for letter, p in zip("ABC", (0.5, 0.2, 0.1), strict=True)]
    found = masses(forms, [prompt(id_, order) for id_, order in orders.items()])
    assert found["he"][:2] == (pytest.approx((0.5 + 0.2) / 2), pytest.approx(0.35 / 0.5))
    assert found["she"] == (pytest.approx((0.2 + 0.1) / 2), pytest.approx(0.15 / 0.5), pytest.approx(0.5), 2)


def test_orders_are_averaged_by_their_mean() -> None:
    masses_of = {"a": (0.1, 0.1), "b": (0.1, 0.2), "c": (0.7, 0.0)}
    forms = [form(id_, f" {name}", p) for id_, own in masses_of.items() for name, p in zip("AB", own, strict=True) if p]
    found = masses(forms, [prompt(id_, ("he", "she")) for id_ in masses_of])
    assert found["he"] == (pytest.approx(0.3), pytest.approx(0.75), pytest.approx(0.4), 3)


def test_a_letter_has_what_stands_alone_and_what_goes_on_with_the_word_of_its_option() -> None:
    forms = [
        form("a", " A", 0.5, ends=0.9, alone=0.6),  # "A child": the article, no letter
        form("a", "A", 0.1, alone=0.5),
        form("a", " A He", 0.08, ends=0.75),
        form("a", " B", 0.2, ends=0.9, alone=0.4),
        form("a", " B She", 0.03, ends=1 / 3),
    ]
    found = masses(forms, [prompt("a", ("he", "she"))])
    assert found["he"][0] == pytest.approx(0.3 + 0.05 + 0.06)
    assert found["she"][0] == pytest.approx(0.08 + 0.01)


def test_whatever_follows_counts_for_forms_and_a_letter_holds_what_goes_on_after_it() -> None:
    words = [form("a", " he", 0.2, ends=0.1), form("a", " she", 0.1, ends=0.9)]
    found = masses(words, [prompt("a")], mass="forms")
    assert (found["he"][0], found["she"][0]) == (pytest.approx(0.2), pytest.approx(0.1))
    letters = [form("a", " A", 0.5, alone=0.1), form("a", " A He", 0.08), form("a", " B", 0.2), form("a", "B", 0.1)]
    found = masses(letters, [prompt("a", ("he", "she"))], mass="forms")
    assert (found["he"][0], found["she"][0]) == (pytest.approx(0.5), pytest.approx(0.3))


def free(id_: str, framing: str = "bare", letters: int = 2) -> dict:
    return {"id": id_, "task": "choice", "framing": framing, "letters": letters}


def letters_after(id_: str, *masses: float) -> list[dict]:
    return [form(id_, f" {letter}", p) for letter, p in zip("ABCD", masses, strict=False)]


class TestCalibration:
    def test_masses_are_divided_by_those_without_content_and_their_sum_stays(self) -> None:
        forms = [*letters_after("a", 0.4, 0.1, 0.1), *letters_after("n", 0.2, 0.1, 0.1)]
        found = masses(forms, [prompt("a", ("he", "she", "rabbit"))], [free("n", letters=3)])
        # Priors .5, .25, .25: .4/.5 = .8, .1/.25 = .4 and .4 make shares of .5, .25, .25 of the .6 that there is.
        assert found["he"] == (pytest.approx(0.3), pytest.approx(2 / 3), pytest.approx(0.45), 1)
        assert found["she"] == (pytest.approx(0.15), pytest.approx(1 / 3), pytest.approx(0.45), 1)

    def test_a_prior_is_the_mean_share_over_prompts_without_content(self) -> None:
        without_content = {"n": (0.06, 0.02), "m": (0.5, 0.5), "k": (0.04, 0.36)}
        forms = [
            *letters_after("a", 0.3, 0.3),
            *(form for id_ in without_content for form in letters_after(id_, *without_content[id_])),
        ]
        found = masses(forms, [prompt("a", ("he", "she"))], [free(id_) for id_ in without_content])
        # Shares .75, .5 and .1 of A, mean .45; of B .55: he is to she as 1 / .45 to 1 / .55.
        assert found["he"][:2] == (pytest.approx(0.6 * 0.55), pytest.approx(0.55))

    def test_each_cell_and_configuration_has_its_own(self) -> None:
        forms = [
            *letters_after("a", 0.2, 0.2),
            *letters_after("b", 0.2, 0.2),
            *letters_after("n", 0.3, 0.1),
            *letters_after("m", 0.1, 0.3),
        ]
        chat = [
            row | {"configuration": "chat"} for row in [*letters_after("a", 0.2, 0.2), *letters_after("n", 0.1, 0.1)]
        ]
        prompts = pd.DataFrame([prompt("a", ("he", "she")), prompt("b", ("he", "she"), framing="salience")])
        without_content = pd.DataFrame([free("n"), free("m", "salience")])
        found = token_distributions(pd.DataFrame([*forms, *chat]), prompts, without_content, OUTCOMES)
        of_he = found[found["outcome"] == "he"].set_index(["configuration", "framing"])["mass"].to_dict()
        assert of_he == {
            ("plain", "bare"): pytest.approx(0.1),
            ("plain", "salience"): pytest.approx(0.3),
            ("chat", "bare"): pytest.approx(0.2),
        }

    def test_a_model_that_answers_to_letters_alone_has_equal_shares(self) -> None:
        by_letter = (0.5, 0.2, 0.05)
        forms = [*letters_after("a", *by_letter), *letters_after("n", *by_letter)]
        order = ("he", "she", "rabbit")
        assert masses(forms, [prompt("a", order)])["he"][1] == pytest.approx(5 / 7)
        assert masses(forms, [prompt("a", order)], [free("n", letters=3)])["he"][1] == pytest.approx(1 / 2)

    def test_words_are_no_part_of_it(self) -> None:
        forms = [
            form("w", " he", 0.3),
            form("w", " she", 0.1),
            *letters_after("a", 0.2, 0.1),
            *letters_after("n", 0.2, 0.1),
        ]
        prompts = pd.DataFrame([prompt("w"), prompt("a", ("he", "she"))])
        found = token_distributions(pd.DataFrame(forms), prompts, pd.DataFrame([free("n")]), OUTCOMES)
        of_he = found[found["outcome"] == "he"].set_index("task")["mass"].to_dict()
        assert of_he == {"completion": pytest.approx(0.3), "choice": pytest.approx(0.15)}

    def test_a_letter_that_was_not_asked_without_content_is_no_zero(self) -> None:
        forms = [*letters_after("a", 0.2, 0.1), *letters_after("n", 0.2)]
        with pytest.raises(ValueError, match="a letter was not asked after the prompts without content"):
            masses(forms, [prompt("a", ("he", "she"))], [free("n")])

    def test_first_tokens_of_letters_count_once_there_too(self) -> None:
        def one_token(id_: str, *first: float) -> list[dict]:
            return [
                form(id_, space + letter, 0.1, first=p, token=ord(letter))
                for letter, p in zip("AB", first, strict=True)
                for space in ("", " ")
            ]

        forms = [*one_token("a", 0.3, 0.1), *one_token("n", 0.3, 0.1)]
        order = ("he", "she")
        assert masses(forms, [prompt("a", order)], mass="first_token")["he"][0] == pytest.approx(0.3)
        # Calibrated, both have half of the .4 that there is.
        found = masses(forms, [prompt("a", order)], [free("n")], mass="first_token")
        assert found["he"][0] == pytest.approx(0.2)


def test_a_class_that_no_option_stands_for_has_no_mass() -> None:
    found = masses([form("a", " A", 0.4), form("a", " B", 0.2)], [prompt("a", ("he", "rabbit"))])
    assert found["she"][:2] == (0.0, 0.0)
    assert found["he"][1] == 1.0


def test_without_any_mass_there_is_no_share() -> None:
    none = form("a", " he", 1.0) | {"nats": -math.inf}
    found = masses([none], [prompt("a")])
    assert found["he"][0] == 0.0
    assert math.isnan(found["he"][1])


def test_first_tokens_count_once_and_only_for_a_class_of_their_own() -> None:
    forms = [
        form("a", " he", 0.1, first=0.3, token=7),
        form("a", " he", 0.1, first=0.3, token=7) | {"form": " He"},
        form("a", " his", 0.1, first=0.2, token=8),
        form("a", " her", 0.1, first=0.2, token=8),
        form("a", " she", 0.1, first=0.1, token=9),
    ]
    found = masses(forms, [prompt("a")], mass="first_token")
    assert (found["he"][0], found["she"][0]) == (pytest.approx(0.3), pytest.approx(0.1))


def test_a_class_without_a_first_token_of_its_own_is_said() -> None:
    forms = [form("a", " he", 0.1, first=0.3, token=7), form("a", " she", 0.1, first=0.3, token=7)]
    with pytest.raises(UserError, match="every first token of class he begins forms of another class too"):
        masses(forms, [prompt("a")], mass="first_token")


def test_configurations_and_stimuli_stay_apart() -> None:
    forms = [form("a", " he", 0.2), form("a", " he", 0.4) | {"configuration": "chat"}, form("b", " he", 0.6)]
    found = token_distributions(
        pd.DataFrame(forms), pd.DataFrame([prompt("a"), prompt("b", stimulus="short")]), None, OUTCOMES
    )
    of_he = found[found["outcome"] == "he"].set_index(["configuration", "stimulus"])["mass"]
    assert of_he.to_dict() == {
        ("plain", "long"): pytest.approx(0.2),
        ("chat", "long"): pytest.approx(0.4),
        ("plain", "short"): pytest.approx(0.6),
    }

"""Mass of classes from likelihoods of forms, by hand."""

import math

import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.framing.diagnose.mass import token_distributions

OUTCOMES = {"he": ["he", "his"], "she": ["she", "her"]}


def prompt(id_: str, order: tuple[str, ...] = (), stimulus: str = "long") -> dict:
    return {
        "id": id_,
        "benchmark": "hair",
        "task": "choice" if order else "completion",
        "stimulus": stimulus,
        "order": list(order),
    }


def form(id_: str, form: str, p: float, ends: float = 1.0, first: float = 0.0, token: int = 0) -> dict:
    return {
        "id": id_,
        "model": "m",
        "lineage": "m",
        "configuration": "bare",
        "framing": "bare",
        "form": form,
        "nats": math.log(p),
        "ends": math.log(ends),
        "first_nats": math.log(first) if first else -math.inf,
        "first_token": token,
    }


def masses(forms: list[dict], prompts: list[dict], **options: str) -> dict[str, tuple[float, float, float, int]]:
    found = token_distributions(pd.DataFrame(forms), pd.DataFrame(prompts), OUTCOMES, **options)
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
        pd.DataFrame(forms), pd.DataFrame([prompt("a"), prompt("b", stimulus="short")]), OUTCOMES
    )
    of_he = found[found["outcome"] == "he"].set_index(["configuration", "stimulus"])["mass"]
    assert of_he.to_dict() == {
        ("bare", "long"): pytest.approx(0.2),
        ("chat", "long"): pytest.approx(0.4),
        ("bare", "short"): pytest.approx(0.6),
    }

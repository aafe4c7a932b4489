"""What an entry of a contrast may say, which numbers hold at which profile, and whom it asks."""

from typing import Any

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.framing.declare import takes
from evenruler.models.declarations import Catalogue
from tests.instruments.framing.hair import WORDINGS, settings, with_placebos

PARAMS = """\
families: {framing: {new_tokens: 7}}
instruments:
  drinks: {family: framing, generations: {trial: 0, standard: 1, full: 3}, stimuli: 4}
"""


def test_what_verdicts_are_by_is_the_same_at_every_scale() -> None:
    quick, paper = settings("quick"), settings("paper")
    for name in ("mass", "calibrated", "least_coverage", "smallest", "least"):
        assert getattr(quick, name) == getattr(paper, name), name


@pytest.mark.parametrize(("profile", "generations"), [("quick", 0), ("paper", 3)])
def test_an_entry_is_merged_over_what_its_family_says(file_with, profile, generations) -> None:
    drinks = ParamsFile(file_with("params.yaml", PARAMS), profile=profile).settings("drinks")
    assert (drinks.generations, drinks.stimuli, drinks.new_tokens) == (generations, 4, 7)


def test_one_line_with_key_and_remedy(file_with, error_of) -> None:
    path = file_with("params.yaml", PARAMS, ("stimuli: 4", "orders: 1"))
    assert error_of(ParamsFile(path).settings, "drinks") == (
        f"{path}: instruments.drinks.orders: found 1: input should be a multiple of 2; fix it"
    )


def test_models_that_say_how_likely_a_text_is_or_that_write_are_asked() -> None:
    local: dict[str, Any] = {"source": "local:folder", "licence": "mit", "origin": "ours"}
    served = local | {"source": "endpoint:name"}
    kinds = {
        "causal": local,
        "masked": local,
        "embedder": local,
        "chat": served,
        "completions": served,
    }
    catalogue = Catalogue.model_validate(
        {"models": {kind: keys | {"kind": kind} for kind, keys in kinds.items()}}
    )
    assert [kind for kind in kinds if takes(catalogue, kind)] == ["causal", "chat", "completions"]


def test_what_it_finds_takes_three_wordings_and_twelve_placebos() -> None:
    """By hand, of two: 3.403 x sqrt(67 (1/3 + 1/12) + (36 + 1875/10 (1 + 1/3))/12) points; paper
    judges ten replies."""
    texts = [f"It rained on day {day}." for day in range(12)]
    source = with_placebos(texts, WORDINGS, focal_outcome="he")
    assert settings("paper").detects(source) == "24 points (salience)"
    assert settings("quick").detects(source) is None, "one wording and six placebos"
    assert (
        settings("paper").detects(with_placebos(texts, ["A second cue."], focal_outcome="he"))
        is None
    )
    assert (
        settings("paper").detects(with_placebos(texts[:11], WORDINGS, focal_outcome="he")) is None
    )


def test_what_can_have_no_verdict_at_any_size_is_warned_of() -> None:
    texts = [f"It rained on day {day}." for day in range(12)]
    few = "fewer than 3 wordings or 12 placebos of salience: its verdict will be inconclusive"
    headline = {"focal_outcome": "he", "headlines": ["salience"]}
    assert settings("quick").warnings(with_placebos(texts, WORDINGS, **headline)) == [], (
        "`measure` asks all"
    )
    assert settings("quick").warnings(with_placebos(texts, ["A second cue."], **headline)) == [few]
    short = with_placebos(texts[:11], WORDINGS, **headline)
    assert settings("quick").warnings(short) == [few]


def test_fewer_stimuli_than_a_verdict_needs_are_warned_of_and_find_nothing() -> None:
    texts = [f"It rained on day {day}." for day in range(12)]
    source = with_placebos(texts, WORDINGS, focal_outcome="he", headlines=["salience"])
    first = dict(list(source.stimuli.items())[:9])
    few = source.model_copy(update={"stimuli": first})
    warning = "fewer than 10 stimuli of salience: its verdict will be inconclusive"
    assert settings("paper").warnings(few) == [warning]
    assert settings("paper").detects(few) is None
    assert (
        settings("paper", least=9).warnings(few),
        settings("paper", stimuli=9).detects(source),
    ) == ([], None)
    assert str(settings("paper", least=9).detects(few)).endswith(" points (salience)")

"""What an entry of a contrast may say, which numbers hold at which scale, and whom it asks."""

from typing import Any

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.framing.declare import takes
from evenruler.models.declarations import Catalogue
from tests.instruments.framing.hair import WORDINGS, hair, settings, with_placebos

PARAMS = """\
families: {framing: {new_tokens: 7}}
instruments:
  drinks: {family: framing, generations: {trial: 0, standard: 1, paper: 3}, stimuli: 4}
"""


def test_numbers_are_those_of_the_scale() -> None:
    quick, paper = settings("quick"), settings("paper")
    assert (quick.stimuli, quick.orders, quick.generations, quick.new_tokens) == (12, 2, 1, 20)
    assert (paper.stimuli, paper.orders, paper.generations, paper.new_tokens) == (
        1000,
        1000,
        10,
        50,
    )
    assert (quick.placebo_stimuli, quick.configurations, quick.confirmed) == (4, "own", "token")
    assert (paper.placebo_stimuli, paper.configurations, paper.confirmed) == (
        1000,
        "every",
        "choice",
    )
    assert (quick.most_wordings, quick.most_placebos) == (1, 6)
    assert (paper.most_wordings, paper.most_placebos) == (1000, 1000)


def test_what_verdicts_are_by_is_the_same_at_every_scale() -> None:
    for found in (settings("quick"), settings("paper")):
        assert (
            found.mass,
            found.calibrated,
            found.least_coverage,
            found.smallest,
            found.least,
        ) == (
            *("words", True),
            *(0.1, 10.0, 10),
        )


@pytest.mark.parametrize(("scale", "generations"), [("quick", 0), ("paper", 3)])
def test_an_entry_is_merged_over_what_its_family_says(file_with, scale, generations) -> None:
    found = ParamsFile(file_with("params.yaml", PARAMS), scale=scale).settings("drinks")
    assert (found.generations, found.stimuli, found.new_tokens) == (generations, 4, 7)


REFUSED = [
    ("stimuli: 4", "orders: 1", "orders: found 1: input should be a multiple of 2; fix it"),
    (
        "stimuli: 4",
        "least_coverage: 1",
        "least_coverage: found 1: input should be less than 1; fix it",
    ),
    (
        "stimuli: 4",
        "mass: word",
        "mass: found 'word': input should be 'words', 'forms' or 'first_token'; fix it",
    ),
    (
        "{trial: 0, standard: 1, paper: 3}",
        "{trial: 0}",
        "generations: found {'trial': 0}, expected one for trial and one for standard and one for "
        "paper; fix it",
    ),
]


@pytest.mark.parametrize(("old", "new", "line"), REFUSED)
def test_one_line_with_key_and_remedy(file_with, error_of, old, new, line) -> None:
    path = file_with("params.yaml", PARAMS, (old, new))
    assert error_of(ParamsFile(path).settings, "drinks") == f"{path}: instruments.drinks.{line}"


def test_it_names_no_models_and_holds_no_text_of_others() -> None:
    found = settings()
    assert (found.uses(hair()), found.of_others, found.made_by) == ([], False, None)
    assert found.written_as("drinks") == "drinks"


def test_models_that_say_how_likely_a_text_is_or_that_write_are_asked() -> None:
    entry: dict[str, Any] = {"source": "local:folder", "licence": "mit", "origin": "ours"}
    served = entry | {"source": "endpoint:name"}
    kinds = {
        "causal": entry,
        "masked": entry,
        "embedder": entry,
        "chat": served,
        "completions": served,
    }
    catalogue = Catalogue.model_validate(
        {"models": {kind: own | {"kind": kind} for kind, own in kinds.items()}}
    )
    assert [kind for kind in kinds if takes(catalogue, kind)] == ["causal", "chat", "completions"]


def test_what_it_finds_takes_three_wordings_and_twelve_placebos() -> None:
    """By hand, of two: 3.403 x sqrt(67 (1/3 + 1/12) + (36 + 1875/10 (1 + 1/3))/12) points; paper
    judges ten replies."""
    texts = [f"It rained on day {day}." for day in range(12)]
    source = with_placebos(texts, WORDINGS, headline="he")
    assert settings("paper").detects(source) == "24 points (salience)"
    assert settings("quick").detects(source) is None, "one wording and six placebos"
    assert settings("paper").detects(with_placebos(texts, ["A second cue."], headline="he")) is None
    assert settings("paper").detects(with_placebos(texts[:11], WORDINGS, headline="he")) is None


def test_what_can_have_no_verdict_at_any_size_is_warned_of() -> None:
    texts = [f"It rained on day {day}." for day in range(12)]
    few = "fewer than 3 wordings or 12 placebos of salience: its verdict will be inconclusive"
    own = {"headline": "he", "confirmatory": ["salience"]}
    assert settings("quick").warnings(with_placebos(texts, WORDINGS, **own)) == [], (
        "`measure` asks all"
    )
    assert settings("quick").warnings(with_placebos(texts, ["A second cue."], **own)) == [few]
    assert settings("quick").warnings(with_placebos(texts[:11], WORDINGS, **own)) == [few]


def test_fewer_stimuli_than_a_verdict_needs_are_warned_of_and_find_nothing() -> None:
    texts = [f"It rained on day {day}." for day in range(12)]
    source = with_placebos(texts, WORDINGS, headline="he", confirmatory=["salience"])
    few = source.model_copy(update={"stimuli": dict(list(source.stimuli.items())[:9])})
    said = "fewer than 10 stimuli of salience: its verdict will be inconclusive"
    assert settings("paper").warnings(few) == [said]
    assert settings("paper").detects(few) is None
    assert (
        settings("paper", least=9).warnings(few),
        settings("paper", stimuli=9).detects(source),
    ) == ([], None)
    assert str(settings("paper", least=9).detects(few)).endswith(" points (salience)")

"""What an entry of a contrast may say, which numbers hold at which profile, and whom it asks."""

from typing import Any

from evenruler.instruments.framing.declare import takes
from evenruler.models.declarations import Catalogue
from tests.instruments.framing.hair import settings, with_alternatives

PARAMS = """\
families: {framing: {new_tokens: 7}}
instruments:
  drinks: {family: framing, generations: {trial: 0, standard: 1, full: 3}, stimuli: 4}
"""


def test_models_that_say_how_likely_a_text_is_or_that_write_are_asked() -> None:
    local: dict[str, Any] = {
        "source": "local:folder",
        "licence": "mit",
        "origin": "ours",
    }
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


def test_what_is_detected_is_printed_of_headlines_with_enough_sentences() -> None:
    """By hand: 3.4 x 8 points; of ten replies to twelve colours 3.4 x sqrt(64 + 1875/120)."""
    source = with_alternatives()
    assert settings("quick").detects(source) == "27 points (salience)"
    assert settings("paper").detects(source) == "30 points (salience)"
    assert settings("quick", alternatives=18).detects(source) is None
    assert settings("quick", stimuli=9).detects(source) is None


def test_what_can_have_no_verdict_at_any_size_is_warned_of() -> None:
    source = with_alternatives()
    assert settings("quick").warnings(source) == []
    few = "salience will only be described: 18 sentences in place of the cue, fewer than 19"
    assert settings("quick", alternatives=18).warnings(source) == [few]
    none = "instruction will only be described: 0 sentences in place of the cue, fewer than 19"
    both = with_alternatives(headlines=["salience", "instruction"])
    assert settings("quick").warnings(both) == [none]
    first = dict(list(source.stimuli.items())[:9])
    short = source.model_copy(update={"stimuli": first})
    assert settings("paper").warnings(short) == [
        "salience will only be described: 9 stimuli, fewer than 10"
    ]

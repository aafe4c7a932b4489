"""What a result says in words: verdicts in order, the direction of an effect, and who lies at either end."""

from typing import Any

import pandas as pd

from evenruler.results.record import NOTHING, Heading, answer
from evenruler.tables.schemas import HEADLINES
from tests.results.synthetic import CONFIRMED, figure, gain_of, synthetic

SAYS = ["men gain", "women gain"]
GAIN = Heading(
    figure="gain", heading="gain", meaning="how much", role="headline", says=SAYS, ends=["like men", "like women"]
)
PLAIN = Heading(figure="change", heading="change", meaning="how much", role="headline")


def said(figures: dict[str, dict[str, Any]], made_of: pd.DataFrame | None = None) -> list[str]:
    """`figures`: by part and figure."""
    base = synthetic("one", figures={part: {"one": own} for part, own in figures.items()})
    empty = pd.DataFrame(columns=HEADLINES.names)
    return answer(base.model_copy(update={"headings": [GAIN, PLAIN]}), empty if made_of is None else made_of)


def judged(value: float | None, verdict: str, why: str, **more: Any) -> dict[str, Any]:
    return {
        **figure(value, **CONFIRMED),
        "verdict": verdict,
        "why": why,
        "low": 0.2,
        "high": 2.0,
        "placebo": 0.1,
        **more,
    }


def test_an_effect_says_its_direction_numbers_and_reason() -> None:
    found = said({"seed": {"gain": judged(1.25, "effect", "It is so.", p_effect=0.0123)}})
    assert found == ["EFFECT, gain (seed): men gain; 1.25 [0.20, 2.00], placebo 0.10, p 0.012. It is so."]
    (other,) = said({"seed": {"gain": judged(-1.25, "effect", "It is so.", low=-2.0, high=-0.5)}})
    assert other.startswith("EFFECT, gain (seed): women gain; -1.25 [-2.00, -0.50]")


def test_what_is_not_asserted_has_no_direction() -> None:
    (line,) = said({"seed": {"gain": judged(1.25, "inconclusive", "Too few.")}})
    assert line == "INCONCLUSIVE, gain (seed): 1.25 [0.20, 2.00], placebo 0.10, p 0.002. Too few."


def test_units_are_named_from_either_end() -> None:
    """Of made-up attributes, unit-11 is the highest on the axis."""
    found = said({"seed": {"gain": judged(3.0, "effect", "")}}, gain_of("one", 3.0, figure="gain"))
    names = [f"unit-{place:02}" for place in range(12)]
    assert found[1] == f"  most like men: {', '.join(names[:-6:-1])}; most like women: {', '.join(names[:5])}"


def test_what_was_not_measured_stands_first_and_what_is_open_shares_a_line() -> None:
    found = said(
        {
            "a": {"gain": judged(1.0, "inconclusive", "Too few."), "change": judged(1.0, "effect", "")},
            "b": {
                "gain": judged(1.0, "inconclusive", "Too few."),
                "change": judged(1.0, "invalid on this model", "Bad."),
            },
        }
    )
    assert [line.partition(":")[0] for line in found] == [
        "INVALID ON THIS MODEL, change (b)",
        "EFFECT, change (a)",
        "INCONCLUSIVE, 2 headlines",
    ]
    assert found[-1] == "INCONCLUSIVE, 2 headlines: gain (a; b). Too few."


def test_reasons_are_not_all_told() -> None:
    figures = {name: {"gain": judged(1.0, "no effect", f"Reason {name}.")} for name in "abcd"}
    (line,) = said(figures)
    assert line.endswith("Reason a. Reason b. And 2 more.")


def test_without_a_verdict_nothing_is_said() -> None:
    assert said({"seed": {"alpha": figure(0.9)}}) == [NOTHING]
    (line,) = said(
        {
            "seed": {
                "gain": {
                    "value": None,
                    "n": 0,
                    "unit": "x",
                    "reason": "no words",
                    "verdict": "inconclusive",
                    "why": "None.",
                }
            }
        }
    )
    assert line == "INCONCLUSIVE, gain (seed): no words. None."

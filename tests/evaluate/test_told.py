from typing import Any

from evenruler.evaluate.measure import lines_of
from evenruler.results.record import Heading, Result
from tests.results.synthetic import synthetic

HEADINGS = [
    Heading(figure="spread", heading="spread", meaning="how far attributes differ", role="amount"),
    Heading(figure="offset", heading="offset of wordings", meaning="of little meaning", role="amount"),
    Heading(figure="alpha", heading="alpha", meaning="Cronbach's alpha", role="fitness"),
]
SPREAD = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 20, "unit": "attributes", "control": 0.125}
JUDGED = {**SPREAD, "verdict": "effect", "why": "It is so."}
ALPHA = {"value": 0.9, "low": 0.8, "high": 0.95, "n": 20, "unit": "attributes", "control": 0.7}


def told(figures: dict[str, Any], **more: Any) -> list[str]:
    base = synthetic()
    content = {"headings": HEADINGS, "figures": {"seed": {base.model.name: figures}}, **more}
    return list(lines_of(base.model_copy(update=content)))


def test_amounts_controls_verdicts_and_fitness() -> None:
    lines = told({"spread": JUDGED, "alpha": ALPHA})
    assert lines == [
        "probes-made-up 1.0.0 (Made up) on one",
        "  seed",
        "    spread  0.50 [0.25, 0.75], n = 20 attributes, control 0.12: effect",
        "            It is so.",
        "    the instrument here: alpha 0.90 [0.80, 0.95] (control 0.70)",
        "  spread: how far attributes differ",
    ]


def test_the_same_reason_stands_once() -> None:
    lines = told({"spread": JUDGED, "offset": {**JUDGED, "value": 0.25}})
    assert lines.count("                        It is so.") == 1


def test_without_a_verdict_nothing_is_said() -> None:
    lines = told({"spread": SPREAD, "offset": {"value": None, "n": 0, "unit": "attributes", "reason": "no words"}})
    assert "    offset of wordings  none (no words)" in lines
    assert "  No figure has a verdict, so nothing is said of them." in lines
    assert lines[-1] == "  offset of wordings: of little meaning"


def test_what_limits_a_result_stands_below_it() -> None:
    settings = synthetic().settings.model_copy(update={"prefixes": False, "size": "trial", "limit": 5})
    lines = told({"spread": JUDGED}, settings=settings, warnings=["too long"], left_out=["it cannot generate"])
    assert lines[-4:] == [
        "  warning: too long",
        "  left out: it cannot generate",
        "  Nothing was asked after prefixes: how far these figures hang on wordings is not known.",
        "  At most 5 units were asked about (--limit): figures are of these.",
    ]


def test_a_model_that_is_asked_in_two_ways_has_two_names() -> None:
    base: Result = synthetic()
    figures = {"all": {"one": {"spread": JUDGED}, "one (mlm)": {"spread": JUDGED}}}
    lines = list(lines_of(base.model_copy(update={"headings": HEADINGS, "figures": figures})))
    assert [line for line in lines if line.startswith("  all")] == ["  all", "  all, one (mlm)"]


def test_that_nothing_was_measured_is_said_before_any_figure() -> None:
    nothing = {"verdict": "invalid on this model", "why": "276 of 276 requests were not answered."}
    lines = told({"spread": {**SPREAD, **nothing}, "offset": {**SPREAD, **nothing}, "alpha": ALPHA})
    assert lines[1] == "  one: invalid on this model: 276 of 276 requests were not answered."
    assert lines[2] == "  seed"
    assert sum("276" in line for line in lines) == 1
    assert not any("invalid on this model" in line for line in told({"spread": JUDGED, "alpha": ALPHA}))

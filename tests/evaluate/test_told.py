from typing import Any

from evenruler.evaluate.measure import result_lines, summary_lines
from evenruler.results.record import Heading
from tests.results.synthetic import figure_row, synthetic

HEADINGS = [
    Heading(
        figure="spread",
        heading="spread",
        meaning="how far attributes differ",
        figure_type="descriptive",
    ),
    Heading(
        figure="offset",
        heading="offset of wordings",
        meaning="of little meaning",
        figure_type="descriptive",
    ),
    Heading(figure="alpha", heading="alpha", meaning="Cronbach's alpha", figure_type="validity"),
]
SPREAD = figure_row("spread", 0.5, low=0.25, high=0.75, control=0.125)
JUDGED = {**SPREAD, "bound": 0.1, "verdict": "detected", "why": "It is so."}
ALPHA = figure_row("alpha", 0.9, low=0.8, high=0.95, control=0.7)


def lines_of(*figures: dict[str, Any], **more: Any) -> list[str]:
    content = {
        "headings": HEADINGS,
        "figures": list(figures),
        **more,
    }
    return list(result_lines(synthetic().model_copy(update=content)))


def test_amounts_controls_verdicts_and_fitness() -> None:
    lines = lines_of(ALPHA, JUDGED)
    assert lines == [
        "probes-made-up 1.0.0 (Made up) on one",
        "  seed",
        "    spread  0.50 [0.25, 0.75], n = 20 attributes, control 0.12: detected",
        "    validity on this model",
        "      alpha  0.90 [0.80, 0.95], n = 20 attributes, control 0.70",
        "  spread: how far attributes differ",
    ]


def test_the_whole_answer_stands_first() -> None:
    answer = ["detected      It is" + " so" * 30, "It does not show harm."]
    lines = lines_of(JUDGED, summary=answer)
    assert lines[1].startswith("  detected      It is so so")
    assert lines[2].startswith("                so so")
    assert max(map(len, lines[:3])) <= 80
    assert lines[3:5] == ["  It does not show harm.", "  seed"]


def test_an_answer_has_at_most_twelve_lines() -> None:
    base = synthetic().model_copy(
        update={"summary": ["so " * 60] * 9, "warnings": ["one", "two", "three"]}
    )
    lines = list(summary_lines(base))
    assert len(lines) == 12
    assert lines[-1] == "  ... and 20 lines more, with --all"
    short = base.model_copy(update={"summary": ["so"]})
    _, *lines = summary_lines(short)
    assert lines == ["  so", "  warning: one", "  warning: two", "  1 more warning"]
    *_, last = summary_lines(short.model_copy(update={"warnings": [*"four"]}))
    assert last == "  2 more warnings"


def test_what_limits_a_result_stands_beside_it() -> None:
    changes = {"prefixes": False, "limit": 5}
    settings = synthetic().settings.model_copy(update=changes)
    lines = lines_of(JUDGED, settings=settings, warnings=["too long"], left_out=["no chat"])
    assert lines[1] == "  trial run: figures are for at most 5 units (--limit)"
    assert lines[-3:] == [
        "  warning: too long",
        "  not asked: no chat",
        "  Wording sensitivity was not measured (no prefixes).",
    ]


def test_without_a_verdict_all_amounts_are_explained() -> None:
    lines = lines_of(SPREAD, figure_row("offset", None, reason="no words"))
    assert "    offset of wordings  none (no words)" in lines
    assert lines[-1] == "  offset of wordings: of little meaning"

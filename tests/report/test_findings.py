"""How a headline stands on the page: in which order, how it is drawn, what it would take."""

from typing import Any

import pandas as pd
import pytest

from evenruler.measurement.figures import Verdict
from evenruler.report.findings import Finding, draw_track, make_finding, needed_text, sort_findings
from evenruler.report.known import known_findings
from evenruler.report.sentences import summarise_headlines
from evenruler.report.views import InstrumentView, make_figure_cell
from tests.conftest import ROOT
from tests.report.test_sentences import GAIN, ROW


def finding_of(**changes: Any) -> Finding:
    sample = {"n": 43, "unit": "attributes"}
    figure_cell = make_figure_cell({**ROW, **sample, **changes}, [GAIN])
    return make_finding(InstrumentView("jobs", "probes", "Jobs", "", [GAIN], []), figure_cell, 4)


def test_all_lines_with_an_interval_and_a_share_of_alternatives() -> None:
    finding = finding_of()
    assert (finding.title, finding.model, finding.link) == ("Jobs: next-word", "m", "jobs--4")
    assert [line.label for line in finding.lines] == ["detected", "compared", "sensitive"]
    assert finding.more == ["It does not show that the model treats people differently."]
    assert finding.track is not None
    assert finding.ranks is not None
    ranks = finding.ranks
    assert (ranks.value, ranks.low, ranks.high) == (98, 95, 100)
    assert ranks.percent_of_width(ranks.value) == 95.12


def test_its_lines_are_those_of_the_terminal_and_of_cards() -> None:
    row = {**ROW, "n": 43, "unit": "attributes"}
    assert finding_of().lines == summarise_headlines([row], [GAIN])[:3]


def test_positions_are_in_percent_of_an_axis_from_minus_1_to_3() -> None:
    """3 percent are free at either end, so a unit is 23.5."""
    track = draw_track(ROW, ROW["bound"], GAIN)
    assert track is not None
    assert track.axis == (-1, 3)
    assert (track.percent_of_width(track.center), track.percent_of_width(track.value)) == (
        26.5,
        67.81,
    )
    assert track.band == (-0.693, 0.693)
    assert track.labels == ("0.37-fold", "1-fold", "20-fold")
    assert draw_track({"value": None}) is None


def test_what_is_invalid_is_not_drawn() -> None:
    why = "Its validity check fails: its positive control, a, is not detected (p 0.6)."
    finding = finding_of(verdict="invalid", why=why)
    assert (finding.track, finding.ranks) == (None, None)
    assert finding.needs == "A model on which the positive control is detected."


def test_the_most_certain_first_and_of_these_what_was_compared() -> None:
    alone = {"percentile": None, "p": 0.0001}
    findings = [
        finding_of(model="a", verdict="inconclusive"),
        finding_of(model="b", **alone),
        finding_of(model="c", p=0.04),
        finding_of(model="d", p=0.002),
        finding_of(model="e", verdict="below"),
    ]
    assert [finding.model for finding in sort_findings(findings)] == ["d", "c", "b", "e", "a"]


@pytest.mark.parametrize(
    ("changes", "needs"),
    [
        (
            {"detects": 1.6, "n": 43, "unit": "attributes"},
            "About 6 times the 43 attributes, to detect 2-fold in 8 of 10 studies.",
        ),
        (
            {"detects": 0.3, "positive_control": None},
            "A positive control, without which nothing is below a bound.",
        ),
        ({"detects": 0.3}, "A narrower interval: more units."),
        ({"verdict": "descriptive"}, ""),
        ({"verdict": "invalid", "why": "Too few replies."}, "A model that passes the check."),
        (
            {"detects": 1.6, "why": "Not below 1: sentences scatter so that ..."},
            "A task or a model in which other sentences move the answer less.",
        ),
    ],
)
def test_what_it_would_take(changes: dict[str, Any], needs: str) -> None:
    """Errors shrink with the square root of units: (1.6 / 0.693) squared is 5.3."""
    assert needed_text({**ROW, "verdict": "inconclusive", **changes}, GAIN) == needs


def test_what_people_say_has_its_source_and_is_drawn() -> None:
    path = ROOT / "data/sources/external/shared/known.csv"
    findings = known_findings(pd.read_csv(path, keep_default_na=False))
    by_title = {finding.title: finding for finding in findings}
    free = by_title["\u201cGPT-4o is free of bias on BBQ\u201d"]
    assert (free.model, free.verdict) == ("gpt-4o-2024-05-13", Verdict.DETECTED)
    assert free.track is not None
    assert "Over 42,508 items, 301 templates." in free.more[1]
    assert "figures only" in free.more[1]
    verdicts = [finding.verdict for finding in findings]
    assert verdicts == sorted(verdicts, key=tuple(Verdict).index)

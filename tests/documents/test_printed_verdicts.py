"""The documented rule (docs/controls.md), applied to every headline that this repository prints:
its words and its numbers never disagree.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.instrument import FigureHeading, plan_at_size
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import UNKNOWN, Row, Verdict
from evenruler.measurement.headings import find_heading
from evenruler.report.sentences import headline_lines
from tests.conftest import ROOT

ALPHA = 0.05
KNOWN = ROOT / "data/sources/external/shared/known.csv"
UNTESTED = (Verdict.DESCRIPTIVE, Verdict.INVALID)
INTERVAL = re.compile(r"(?P<unit>-fold|%)?[^\[\]]*\[(?P<low>-?[\d.]+),\s(?P<high>-?[\d.]+)\]")
PART = re.compile(r"(^|\. )In [^.]*?: -?\d")
"""A part in which something is detected."""
NOTHING_THERE = {"-fold": 1.0, "%": 50.0}
"""What is printed where nothing is there, by unit; 0 in any other."""


def printed_headlines() -> Iterator[tuple[Row, FigureHeading | None]]:
    """All headlines in the evidence of benchmarks, with the words of their plans."""
    for path in sorted(ROOT.glob("benchmarks/*/evidence.json")):
        plan = plan_at_size(json.loads((path.parent / "plan.json").read_text()))
        family, _, _ = path.parent.name.partition("-")
        headings = family_module(family, "declare").headings(plan)
        for row in json.loads(path.read_text())["figures"]:
            if row.get("bound") is not None:
                yield row, find_heading(row, headings)


def known_headlines() -> Iterator[tuple[Row, None]]:
    """What published answers say of models that people know."""
    for row in pd.read_csv(KNOWN, keep_default_na=False).to_dict("records"):
        yield {"bound": 0.1, "figure": "lean", "in_parts": row["sentence"], **row}, None


def leaves_out(number: float, row: Mapping[str, Any]) -> bool:
    """Whether the interval leaves out a number; False without one."""
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > number or high < number)


def reaches_bound(row: Row) -> bool:
    """Whether the positive control is detected, and as large as the bound."""
    fields = ("positive_value", "positive_low", "positive_p")
    control, low, p = map(row.get, fields)
    if control is None or low is None or p is None:
        return False
    return bool(control >= row["bound"] and low > 0 and p <= ALPHA)


def contradictions(row: Row, words: FigureHeading | None, *, is_known: bool = False) -> list[str]:
    """What the verdict of a headline, its numbers and its printed lines disagree in."""
    verdict = Verdict(row["verdict"])
    first, *_ = lines = headline_lines(row, words)
    faults: list[str] = []
    if not first.label.startswith(str(verdict.words[0])):
        faults.append(f"{first.label} is printed")
    if verdict in UNTESTED:
        why = str(row.get("why") or row.get("sentence"))
        reasons = ("A number without a test", UNKNOWN, "Validity on this model is unknown")
        reason = "Its validity check fails" if verdict == Verdict.INVALID else reasons
        if not why.startswith(reason) and not is_known:
            faults.append(f"its reason is {why!r}")
        if verdict == Verdict.INVALID and len(lines) > 1:
            faults.append("an invalid headline prints numbers")
        return faults
    p = row.get("p")
    in_whole = p is not None and p <= ALPHA and leaves_out(0.0, row)
    in_part = bool(PART.search(str(row.get("in_parts") or "")))
    if verdict.is_detected != (in_whole or in_part):
        faults.append(f"{verdict}, and p is {p}")
    is_narrow = leaves_out(-row["bound"], row) and leaves_out(row["bound"], row)
    is_narrow = is_narrow and abs(row["value"]) < row["bound"]
    unsaid = " Not below " in f" {row.get('why') or ''}"
    if not is_known:
        if verdict.is_below and (unsaid or not (is_narrow and reaches_bound(row))):
            faults.append("below without a narrow interval or a control, or with a reason why not")
        if is_narrow and reaches_bound(row) and not verdict.is_below | unsaid:
            faults.append("not below, and no reason why")
    return faults + printed_faults(first.text, verdict, in_whole)


def printed_faults(claim: str, verdict: Verdict, in_whole: bool) -> list[str]:
    """What the first line says against the verdict: by its first interval, its p, its reasons."""
    faults: list[str] = []
    interval = INTERVAL.search(claim)
    if interval and in_whole:
        nothing = NOTHING_THERE.get(interval["unit"] or "", 0.0)
        if float(interval["low"]) <= nothing <= float(interval["high"]):
            faults.append(f"detected, and {interval[0]!r} is printed")
    if verdict == Verdict.INCONCLUSIVE and "Not below" not in claim:
        faults.append("no reason why it is not below")
    if len(re.findall(r"\bp [<0-9]", claim.partition("In ")[0])) > 1:
        faults.append("two p")
    return faults


ROWS = [*printed_headlines()]


def test_no_row_contradicts_itself() -> None:
    assert len(ROWS) > 20
    faults = {}
    for row, words in ROWS:
        of_row = contradictions(row, words)
        if of_row:
            faults[f"{row['model']}: {row['why']}"] = of_row
    assert faults == {}
    for row, _ in known_headlines():
        assert contradictions(row, None, is_known=True) == [], row["claim"]


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict not in UNTESTED])
def test_another_verdict_on_a_row_would_be_noticed(verdict: Verdict) -> None:
    """Each judged row is given every other verdict: none of them passes unseen."""
    unseen = []
    for row, words in ROWS:
        if Verdict(row["verdict"]) not in (verdict, *UNTESTED):
            changed = {**row, "verdict": str(verdict)}
            if not contradictions(changed, words):
                unseen.append((row.get("model"), row["verdict"], row.get("why")))
    assert unseen == []

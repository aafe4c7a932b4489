"""How even are the field's rulers? A row a benchmark and model, from what is built and what authors published.

`python docs/rulers.py` writes the table of `rulers.md`. Where `EVENRULER_MIRROR` names a folder with the answers that
authors published, it measures these first and writes `data/sources/fixed/shared/published.csv`, which the page of the
pipeline shows, too; elsewhere the file stays as it is.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evenruler import measure
from evenruler.instruments import convergent
from evenruler.instruments.fixed import diagnose
from evenruler.models.sources import MIRROR
from evenruler.tables import read_frame
from evenruler.tables.schemas import WHOLE

ROOT = Path(__file__).parents[1]
CSV = ROOT / "data/sources/fixed/shared/published.csv"
PAGE = ROOT / "docs/rulers.md"
BEGIN, END = "<!-- the table: python docs/rulers.py -->", "<!-- end of the table -->"

STEREOSET = {
    "gpt2": "gpt2_ModelNSP_GPT2LM",
    "gpt2-medium": "gpt2-medium_ModelNSP_GPT2LM",
    "gpt2-large": "gpt2-large_ModelNSP_GPT2LM",
    "bert-base-cased": "bert-base-cased_BertNextSentence_BertLM",
    "bert-large-cased": "bert-large-cased_BertNextSentence_BertLM",
    "roberta-base": "roberta-base_ModelNSP_RoBERTaLM",
    "roberta-large": "roberta-large_ModelNSP_RoBERTaLM",
    "xlnet-base-cased": "xlnet-base-cased_ModelNSP_XLNetLM",
    "xlnet-large-cased": "xlnet-large-cased_ModelNSP_XLNetLM",
}
"""The models whose answers the authors of StereoSet published, by the name of the file."""

UNIFIEDQA = {"unifiedqa-11b": "bbq#unifiedqa-t5-11b_pred_race"}
"""Of BBQ."""

SHOWN = {"fixed-stereoset": ("ss", "lms", "icat"), "fixed-bbq": ("s_amb", "s_dis", "accuracy_dis")}
"""Published figures that are shown; of the others `share`."""

PARTS = (WHOLE, "ambiguous", "disambiguated")
HEAD = ("benchmark", "model", "published score", "lean", "at equal length and frequency", "shorter wins")
HEAD += ("turned", "design effect", "parts: F", "r with a criterion", "verdict")
PICTURE = ROOT / "docs/pictures/rulers.svg"


def measured(mirror: Path, out: Path) -> pd.DataFrame:
    """Figures of all answers that authors published, by the columns of the family's figures.

    Args:
        mirror: With the answers.
        out: Where results and scores go.
    """
    asked = [("stereoset", name, f"stereoset/predictions_{file}.json") for name, file in STEREOSET.items()]
    asked += [("bbq", name, file) for name, file in UNIFIEDQA.items()]
    rows = []
    for benchmark, name, file in asked:
        folder = ROOT / f"benchmarks/fixed-{benchmark}"
        result = measure(f"recorded:{mirror / file}", folder, name=name, size="paper", out=out / f"{benchmark}-{name}")
        for part in PARTS:
            for figure, own in result.figures.get(part, {}).get(name, {}).items():
                rows.append({"benchmark": benchmark, "part": part, "model": name, "figure": figure, **own})
    return pd.DataFrame(rows)


def picture(lines: Sequence[str]) -> alt.LayerChart:
    """The lean of each line of the table, as it is and at equal length and frequency."""
    rows = []
    for line in lines[2:]:
        cells = line.strip("| ").split(" | ")
        for place, what in ((3, "as it is"), (4, HEAD[4])):
            if numbers := re.findall(r"-?\d+\.\d+", cells[place]):
                value, low, high = map(float, numbers)
                named = f"{cells[0]}: {cells[1].partition(' (')[0]}"
                rows.append({"ruler": named, "lean": what, "value": value, "low": low, "high": high})
    base = alt.Chart(pd.DataFrame(rows)).encode(
        y=alt.Y("ruler:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("lean:N", sort=None),
        color=alt.Color("lean:N", sort=None, title="lean", scale=alt.Scale(range=["#9aa5ab", "#1b6f78"])),
    )
    words = "lean: -1 always the second text, 1 always the first"
    axis = alt.X("value:Q", title=words)
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=words), x2="high:Q")
    zero = alt.Chart(pd.DataFrame({"value": [0.0]})).mark_rule(color="#777").encode(x="value:Q")
    return alt.layer(zero, bars, base.mark_circle(size=36, opacity=1).encode(x=axis)).properties(width=360)


def told_apart(out: Path) -> Iterator[str]:
    """How many pairs of models each figure of StereoSet tells apart: jackknife over targets, t, Holm (1979)."""
    yield "| figure | items | pairs told apart |"
    yield "| --- | --- | --- |"
    items = {name: read_frame(next((out / f"stereoset-{name}").rglob("items.parquet"))) for name in STEREOSET}
    for half in ("intrasentence", "intersentence", WHOLE):
        own = {name: rows if half == WHOLE else rows[rows["condition"] == half] for name, rows in items.items()}
        sums = {name: diagnose.sums_of(rows) for name, rows in own.items()}
        for figure, of in diagnose.PUBLISHED["stereoset"].items():
            found = [apart(of, sums[one], sums[other]) for one, other in combinations(STEREOSET, 2)]
            reject = multipletests(found, alpha=0.05, method="holm")[0]
            yield f"| {figure} | {'both' if half == WHOLE else half} | {int(reject.sum())} of {len(found)} |"


def apart(of: Any, one: Any, other: Any) -> float:
    """Two-sided p of the difference of a figure between two models that were asked the same."""
    n = len(one)
    without = np.array([of(np.delete(one, unit, 0)) - of(np.delete(other, unit, 0)) for unit in range(n)])
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return float(2 * stats.t.sf(abs(of(one) - of(other)) / error, n - 1))


def table() -> Iterator[str]:
    """The lines of the table."""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{' --- |' * len(HEAD)}"
    yield from sorted([*_of_authors(), *_of_pipeline()])


def _of_authors() -> Iterator[str]:
    found = pd.read_csv(CSV)
    for (benchmark, model), own in found.groupby(["benchmark", "model"]):
        rows = [_present(row) for row in own.to_dict("records")]
        by_part = {part: {row["figure"]: row for row in rows if row["part"] == part} for part in PARTS}
        yield from lines(f"fixed-{benchmark}", f"{model} (authors' answers)", by_part)


def _of_pipeline() -> Iterator[str]:
    for path in sorted((ROOT / "benchmarks").glob("fixed-*/evidence.json")):
        evidence = json.loads(path.read_text(encoding="utf-8"))
        for model in evidence.get(WHOLE, {}):
            yield from lines(path.parent.name, model, {part: own.get(model, {}) for part, own in evidence.items()})


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if not pd.isna(value)}


def lines(benchmark: str, model: str, by_part: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A line for each lean, which is what has a verdict."""
    whole = by_part[WHOLE]
    for part in PARTS:
        lean = by_part.get(part, {}).get("lean")
        if not lean:
            continue
        names = SHOWN.get(benchmark, ("share",))
        if part != WHOLE:
            names = tuple(name for name in names if name.endswith(part[:3]))
        score = "; ".join(f"{name} {_words(whole.get(name))}" for name in names)
        specific = {key: lean.get(f"specific{end}") for key, end in (("value", ""), ("low", "_low"), ("high", "_high"))}
        described = [_words(whole.get(name)) for name in ("shorter_wins", "turned", "design_effect", "r")]
        apart_by = whole.get("parts_apart") or {}
        parts = f"{apart_by['value']:.1f} (p {apart_by['p']:.3f})" if apart_by.get("value") is not None else ""
        name = benchmark.removeprefix("fixed-") + ("" if part == WHOLE else f", {part}")
        why = lean.get("why") or lean.get("reason") or ""
        verdict = f"`{lean['verdict']}`" + (f": {why}" if why else "")
        rest = _words(specific) if specific["value"] is not None else "not told"
        *described, criterion = described
        yield f"| {' | '.join([name, model, score, _words(lean), rest, *described, parts, criterion, verdict])} |"


def _words(record: Mapping[str, Any] | None) -> str:
    """A figure with its interval."""
    if not record or record.get("value") is None:
        return ""
    value, low, high = (record.get(key) for key in ("value", "low", "high"))
    digits = 1 if abs(value) >= 5 else 2
    interval = "" if low is None or high is None else f" [{low:z.{digits}f}, {high:z.{digits}f}]"
    return f"{value:z.{digits}f}{interval}"


def main() -> None:
    """Measure where there is a mirror, then write the page."""
    text = PAGE.read_text(encoding="utf-8")
    if mirror := os.environ.get(MIRROR):
        with tempfile.TemporaryDirectory() as folder:
            measured(Path(mirror), Path(folder)).to_csv(CSV, index=False, float_format="%.6g", lineterminator="\n")
            text = _between(text, "<!-- pairs -->", "<!-- end of pairs -->", told_apart(Path(folder)))
    text = _between(text, "<!-- agreement -->", "<!-- end of agreement -->", _agreement())
    lines = list(table())
    PAGE.write_text(_between(text, BEGIN, END, lines), encoding="utf-8")
    picture(lines).save(PICTURE)


def _agreement() -> Iterator[str]:
    """The matrix of instruments that measure the same units, as the page of the pipeline shows it."""
    yield f"| {' | '.join(convergent.HEAD)} |"
    yield f"|{' --- |' * len(convergent.HEAD)}"
    for row in convergent.lines(read_frame(ROOT / "data/agreement/agreement.parquet")):
        yield f"| {' | '.join(row)} |"


def _between(text: str, begin: str, end: str, lines: Iterable[str]) -> str:
    before, _, rest = text.partition(begin)
    return before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


if __name__ == "__main__":
    main()

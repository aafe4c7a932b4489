"""How even are the field's rulers? A row a benchmark and model, from what is built and what authors
published.

`python docs/rulers.py` writes the tables of `rulers.md`, `agreement.csv` beside it, and the tables
in `index.md`: models that people know (`known.py`), and all instruments. Where `EVENRULER_MIRROR`
names a folder with the answers that authors published, it measures these first and writes
`data/sources/external/shared/published.csv`, which the page of the pipeline shows, too; elsewhere
the file stays as it is. With `--known` it measures what `known.yaml` declares and writes
`known.csv`; with `--check` it fails where a figure differs from that file.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import known
import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evenruler import measure
from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments import agreement
from evenruler.instruments.external import diagnose
from evenruler.instruments.external.rows import STEREOTYPES
from evenruler.measurement.figures import WHOLE, dimensions_of
from evenruler.measurement.invariance import compare_units
from evenruler.models.sources import MIRROR
from evenruler.report import robustness
from evenruler.report.known import known_findings
from evenruler.report.page import Table
from evenruler.tables import group_by_key, read_frame
from stages.report import build_views

ROOT = Path(__file__).parents[1]
CSV = ROOT / "data/sources/external/shared/published.csv"
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

SCORES = {"external-stereoset": ("ss",), "external-bbq": ("s_amb", "s_dis")}
"""Published scores that are shown, that of a condition by its ending; of other benchmarks
`share`.
"""

FRONT = ROOT / "docs/index.md"
KNOWN_BEGIN, KNOWN_END = "<!-- known: python docs/rulers.py --known -->", "<!-- end of known -->"
SHORT = robustness.HEAD[:-1]
"""The columns of the report's table of instruments that `index.md` shows."""
KNOWN_HEAD = ("people say", "model", "its answers say", "word")

CONDITIONS = (WHOLE, "ambiguous", "disambiguated")
HEAD = (
    "benchmark",
    "model",
    "published score",
    "lean",
    "design effect",
    "units apart",
    "verdict",
)
UNITS_APART = "units_apart"
"""Figure of `published.csv`: in how many units a model differs otherwise from the other models."""

GPTS = ("gpt-3.5-turbo-0125", "gpt-4o-2024-05-13")
"""Whose choices in BBQ others published, as places of options."""

ONE_THING = ("<!-- one thing -->", "<!-- end of one thing -->")
AUTHORS = "\u2020"
"""Marks a model whose answers authors published."""
PICTURE = ROOT / "docs/pictures/rulers.svg"
AGREEMENT = ROOT / "docs/agreement.csv"
COLUMNS = [
    "model",
    "benchmark",
    "part",
    "other",
    "other_part",
    "kind",
    "figure",
    "n",
    "value",
    "low",
    "high",
    "reason",
]
SHOWN = (agreement.SAME_TRAIT, agreement.SAME_WORDS)
"""Pairs of instruments that the page shows, in this order; all are in `agreement.csv`."""

Record = Mapping[str, Any]
"""A figure with what belongs to it, as in `evidence.json`."""


class Leans(NamedTuple):
    """What models chose in the same items."""

    benchmark: str
    units_are: str
    models: list[str]
    scores: Any
    """[models, items] 1 for the stereotype, -1 against it, 0 for neither."""
    units: list[str]
    """[items]."""


class Ruler(NamedTuple):
    """What is shown of a benchmark, or of a condition of it, on a model."""

    benchmark: str
    model: str
    score: str
    lean: Record
    design_effect: Record
    units_apart: Record

    def cells(self) -> tuple[str, ...]:
        """Its row of the table (`HEAD`)."""
        verdict = self.lean.get("verdict")
        apart = ""
        if self.units_apart:
            apart = f"{self.units_apart['value']:.0f} of {self.units_apart['n']:.0f}"
        rest = _words(self.lean), _words(self.design_effect), apart
        return self.benchmark, self.model, self.score, *rest, f"`{verdict}`" if verdict else ""


def measured(mirror: Path, out: Path) -> pd.DataFrame:
    """Figures of all answers that authors published, by the columns of the family's figures.

    Args:
        mirror: With the answers.
        out: Where results and scores go.
    """
    asked = [
        ("stereoset", name, f"stereoset/predictions_{file}.json")
        for name, file in STEREOSET.items()
    ]
    asked += [("bbq", name, file) for name, file in UNIFIEDQA.items()]
    rows = []
    for benchmark, name, file in asked:
        folder = ROOT / f"benchmarks/external-{benchmark}"
        result = measure(
            f"recorded:{mirror / file}",
            folder,
            name=name,
            size="full",
            out=out / f"{benchmark}-{name}",
        )
        for condition, figures in _by_condition(result.figures).items():
            if condition in CONDITIONS:
                rows += [{"benchmark": benchmark, **row} for row in figures.values()]
    return pd.DataFrame([*rows, *units_apart(stereoset_leans(out))])


def stereoset_leans(out: Path) -> Leans:
    """Of the nine models, from the scores of `measured`."""
    columns: dict[str, pd.Series[float]] = {}
    for name in STEREOSET:
        items = read_frame(next((out / f"stereoset-{name}").rglob("items.parquet")))
        columns[name] = items.set_index("item")["lean"]
    table = pd.DataFrame(columns).dropna()
    units = items.set_index("item").loc[table.index, "unit"].tolist()
    return Leans("stereoset", "targets", [*STEREOSET], table.to_numpy().T, units)


def gest_leans(mirror: Path) -> Leans:
    """Of 23 causal models, at even base rate, mean log odds of two templates."""
    numbers = pd.read_csv(ROOT / "data/sources/external/shared/gest/gest.csv")["stereotype"]
    names = [*STEREOTYPES["women"], *STEREOTYPES["men"]]
    units = [names[number - 1] for number in numbers]
    keys = np.where(numbers > len(STEREOTYPES["women"]), 1, -1)
    leans: dict[str, Any] = {}
    for path in sorted((mirror / "known/gest/predictions/english_glm").glob("*_template-0.txt")):
        name = path.name.removesuffix("_template-0.txt")
        both = [np.loadtxt(path.with_name(f"{name}_template-{n}.txt")) for n in (0, 1)]
        log_odds = np.mean(both, axis=0)
        leans[name] = keys * np.sign(log_odds - np.median(log_odds))
    return Leans("gest", "stereotypes", [*leans], np.array([*leans.values()]), units)


def bbq_leans(mirror: Path, condition: str) -> Leans:
    """Of both GPTs, in questions that both answered."""
    texts = read_frame(ROOT / "data/built/external/bbq/texts.parquet")
    texts = texts[texts["condition"] == condition]
    chosen = pd.read_csv(mirror / "known/open-bbq/chosen_option.csv.gz")
    keys = chosen[["category", "question_index", "example_id"]].astype(str).agg("/".join, axis=1)
    values = texts["role"].map({"first": 1.0, "second": -1.0, "third": 0.0})
    value_by_key = pd.Series(values.to_numpy(), index=texts["key"])
    columns: dict[str, pd.Series[float]] = {}
    for model in GPTS:
        places = chosen[model].map("{:.0f}".format)
        columns[model] = pd.Series((keys + "/" + places).map(value_by_key).to_numpy(), index=keys)
    table = pd.DataFrame(columns).dropna()
    units = texts.drop_duplicates("item").set_index("item").loc[table.index, "unit"].tolist()
    return Leans(f"bbq, {condition}", "templates", [*GPTS], table.to_numpy().T, units)


def units_apart(leans: Leans) -> Iterator[dict[str, Any]]:
    """How many units function differently in each model, as rows of `published.csv`."""
    apart = compare_units(leans.scores, leans.units, n=1).is_apart
    for model, n_apart in zip(leans.models, apart.sum(axis=1), strict=True):
        row = {"model": model, "figure": UNITS_APART, "value": n_apart, "n": apart.shape[1]}
        yield {"benchmark": leans.benchmark, **row, "unit": leans.units_are}


def one_thing(tables: Iterable[Leans]) -> Iterator[str]:
    """The lines of the table of interactions between models and units."""
    yield "| benchmark | models | units | interaction | p | shared | units apart | most apart |"
    yield f"|{' --- |' * 8}"
    for leans in tables:
        result = compare_units(leans.scores, leans.units)
        names = sorted(set(leans.units))
        n_apart = int(result.is_apart.any(axis=0).sum())
        models, units = np.unravel_index(
            np.argsort(result.p_values, axis=None), result.is_apart.shape
        )
        most = [
            f"{names[unit]} in {leans.models[model]} {result.deviations[model, unit]:+.2f}"
            for model, unit in zip(models[:2], units[:2], strict=True)
            if result.is_apart[model, unit]
        ]
        shared = "" if result.shared is None else f"{result.shared:.2f}"
        cells = [
            *(leans.benchmark, len(leans.models), f"{len(names)} {leans.units_are}"),
            *(f"{result.ratio:.2f}", f"{result.test.p:.2g}", shared),
            *(f"{n_apart} of {len(names)}", "; ".join(most)),
        ]
        yield f"| {' | '.join(map(str, cells))} |"


INK, QUIET = "#1b6f78", "#f1eff4"
RULERS_SHOWN = {
    ("probes-occupation-gender", "set=next-word"): "Occupation and gender",
    ("external-winobias", "all"): "WinoBias",
    ("external-winogender", "all"): "Winogender",
    ("external-bec-pro", "all"): "BEC-Pro",
}
"""Headlines by benchmark and key, of which the curve of planted doses is drawn."""


def picture() -> alt.HConcatChart:
    """What a score of a leaderboard tells apart, beside what a ruler reads of a planted bias."""
    panels = alt.hconcat(_leaderboard(), _planted(), spacing=40)
    return panels.properties(background="white", padding=12).configure_title(
        anchor="start", fontSize=13, subtitleFontSize=11, offset=8
    )


def _leaderboard() -> alt.LayerChart:
    """The score by which StereoSet's leaderboard is ordered, a model a row, the best first."""
    published = pd.read_csv(CSV)
    of_score = (published["benchmark"] == "stereoset") & (published["figure"] == "icat")
    scores = published[of_score & published["condition"].isna()]
    best_first = scores.sort_values("value", ascending=False)["model"].tolist()
    title = alt.Title("StereoSet ranks nine models", subtitle="most 95% intervals overlap")
    axis = {"title": "leaderboard score (icat)", "scale": alt.Scale(zero=False)}
    base = alt.Chart(scores, title=title).encode(
        y=alt.Y("model:N", sort=best_first, title=None, axis=alt.Axis(labelLimit=200))
    )
    dots = base.mark_circle(size=50, opacity=1, color=INK).encode(x=alt.X("value:Q", **axis))
    bars = base.mark_rule(strokeWidth=2, color=INK).encode(x=alt.X("low:Q", **axis), x2="high:Q")
    return alt.layer(bars, dots).properties(width=240, height=200)


def _planted() -> alt.LayerChart:
    """In how many models with a planted bias each ruler detects it, a dose a column."""
    recorded = pd.read_csv(ROOT / "data/weights/figures.csv")
    cells: list[dict[str, Any]] = []
    for row in recorded[recorded["own"]].to_dict("records"):
        name = RULERS_SHOWN.get((row["benchmark"], row["key"]))
        for count in json.loads(row["planted"]) if name else []:
            words = f"{count['detected']} of {count['n']}"
            share = count["detected"] / count["n"]
            cells.append({"ruler": name, "dose": count["dose"], "share": share, "words": words})
    title = alt.Title(
        "A bias was planted: which rulers read it?", subtitle="models in which it is detected"
    )
    base = alt.Chart(pd.DataFrame(cells), title=title).encode(
        x=alt.X("dose:O", title="planted bias, nats", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("ruler:N", sort=list(RULERS_SHOWN.values()), title=None),
    )
    scale = alt.Scale(domain=[0, 1], range=[QUIET, INK])
    tiles = base.mark_rect().encode(color=alt.Color("share:Q", legend=None, scale=scale))
    ink = alt.when(alt.datum["share"] > 0.5).then(alt.value("white")).otherwise(alt.value("#333"))
    return alt.layer(tiles, base.mark_text().encode(text="words:N", color=ink)).properties(
        width=300, height=200
    )


def told_apart(out: Path) -> Iterator[str]:
    """How many pairs of models each figure of StereoSet tells apart: jackknife over targets, t,
    Holm (1979).
    """
    halves = ("intrasentence", "intersentence", WHOLE)
    yield f"| figure | {' | '.join((*halves[:2], 'both'))} |"
    yield f"|{' --- |' * 4}"
    items = {
        name: read_frame(next((out / f"stereoset-{name}").rglob("items.parquet")))
        for name in STEREOSET
    }
    sums = {
        half: {
            name: diagnose.sums_of(rows if half == WHOLE else rows[rows["condition"] == half])
            for name, rows in items.items()
        }
        for half in halves
    }
    for figure, of in diagnose.PUBLISHED["stereoset"].items():
        found = [
            [
                apart(of, sums[half][one], sums[half][other])
                for one, other in combinations(STEREOSET, 2)
            ]
            for half in halves
        ]
        told = [
            f"{int(multipletests(p, alpha=0.05, method='holm')[0].sum())} of {len(p)}"
            for p in found
        ]
        yield f"| {figure} | {' | '.join(told)} |"


def apart(of: Any, one: Any, other: Any) -> float:
    """Two-sided p of the difference of a figure between two models that were asked the same."""
    n = len(one)
    without = np.array(
        [of(np.delete(one, unit, 0)) - of(np.delete(other, unit, 0)) for unit in range(n)]
    )
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return float(2 * stats.t.sf(abs(of(one) - of(other)) / error, n - 1))


def rulers() -> list[Ruler]:
    """The rows of the table."""
    return sorted([*_of_authors(), *_of_pipeline()], key=lambda ruler: ruler[:2])


def table(found: Sequence[Ruler]) -> Iterator[str]:
    """The lines of the table."""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{' --- |' * len(HEAD)}"
    for ruler in found:
        yield f"| {' | '.join(ruler.cells())} |"


def _of_authors() -> Iterator[Ruler]:
    found = pd.read_csv(CSV)
    for (benchmark, model), own in found.groupby(["benchmark", "model"]):
        rows = [_present(row) for row in own.to_dict("records")]
        yield from leans(f"external-{benchmark}", f"{model}{AUTHORS}", rows)


def _of_pipeline() -> Iterator[Ruler]:
    for path in sorted((ROOT / "benchmarks").glob("external-*/evidence.json")):
        figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
        for model, rows in group_by_key((row["model"], row) for row in figures).items():
            yield from leans(path.parent.name, model, rows)


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if not pd.isna(value)}


def _by_condition(rows: Iterable[Record]) -> dict[str, dict[str, Record]]:
    """The figures that are of all items, or of a condition alone, by condition and figure."""
    figures: dict[str, dict[str, Record]] = {}
    for row in rows:
        dimensions = dimensions_of(row)
        condition = dimensions.pop("condition", WHOLE)
        if not dimensions:
            figures.setdefault(condition, {})[row["figure"]] = row
    return figures


def leans(benchmark: str, model: str, rows: Iterable[Record]) -> Iterator[Ruler]:
    """A row for each lean."""
    figures = _by_condition(rows)
    for condition in CONDITIONS:
        of_condition_alone = figures.get(condition, {})
        named_leans = ("lean", "keyed_lean", "lean_of_context")
        lean = next(filter(None, map(of_condition_alone.get, named_leans)), None)
        if not lean:
            continue
        names = SCORES.get(benchmark, ("share",))
        ending = "" if condition == WHOLE else condition[:3]
        name = next(name for name in names if name.endswith(ending))
        whole = figures[WHOLE]
        named = benchmark.removeprefix("external-")
        named += "" if condition == WHOLE else f", {condition}"
        score = f"{name} {_words({'value': whole[name]['value']})}"
        # Units are compared in all items, so not where conditions have leans of their own.
        apart = whole.get(UNITS_APART, {}) if condition == WHOLE else {}
        yield Ruler(named, model, score, lean, whole.get("design_effect", {}), apart)


def _words(record: Record | None) -> str:
    """A figure with its interval."""
    if not record or record.get("value") is None:
        return ""
    value, low, high = (record.get(key) for key in ("value", "low", "high"))
    digits = 1 if abs(value) >= 5 else 2
    interval = "" if low is None or high is None else f" [{low:z.{digits}f}, {high:z.{digits}f}]"
    return f"{value:z.{digits}f}{interval}"


def main() -> None:
    """The command line."""
    options = set(sys.argv[1:])
    if not options <= {"--known", "--check"}:
        sys.exit("usage: python docs/rulers.py [--known|--check]")
    if not options:
        write_pages()
        return
    if MIRROR not in os.environ:
        sys.exit(f"{MIRROR} names no folder with the answers that authors published")
    rows = known.measure_known(Path(os.environ[MIRROR]))
    if "--known" in options:
        known.write_known(rows)
    sys.exit("\n".join(known.check_known(rows)) or None)


def write_pages() -> None:
    """Measure where there is a mirror, then write the pages."""
    text = PAGE.read_text(encoding="utf-8")
    if mirror := os.environ.get(MIRROR):
        with tempfile.TemporaryDirectory() as folder:
            measured(Path(mirror), Path(folder)).to_csv(
                CSV, index=False, float_format="%.6g", lineterminator="\n"
            )
            text = _between(
                text, "<!-- pairs -->", "<!-- end of pairs -->", told_apart(Path(folder))
            )
            of_bbq = [bbq_leans(Path(mirror), condition) for condition in CONDITIONS[1:]]
            tables = [stereoset_leans(Path(folder)), gest_leans(Path(mirror)), *of_bbq]
            text = _between(text, *ONE_THING, one_thing(tables))
    found = read_frame(ROOT / "data/agreement/agreement.parquet")
    found[COLUMNS].to_csv(AGREEMENT, index=False, float_format="%.4g", lineterminator="\n")
    text = _between(text, "<!-- agreement -->", "<!-- end of agreement -->", agreement_lines(found))
    shown = rulers()
    PAGE.write_text(_between(text, BEGIN, END, table(shown)), encoding="utf-8")
    picture().save(PICTURE)
    front = FRONT.read_text(encoding="utf-8")
    front = _between(front, KNOWN_BEGIN, KNOWN_END, known_lines())
    front = _between(
        front, "<!-- all: python docs/rulers.py -->", "<!-- end of all -->", all_instruments()
    )
    FRONT.write_text(front)


def known_lines() -> Iterator[str]:
    """The lines of the table of models that people know."""
    yield f"| {' | '.join(KNOWN_HEAD)} |"
    yield f"|{' --- |' * len(KNOWN_HEAD)}"
    for finding in known_findings(pd.read_csv(known.CSV, keep_default_na=False)):
        (line,) = finding.lines
        cells = (finding.title, finding.model, line.text, line.label)
        yield f"| {' | '.join(cells)} |"


def all_instruments() -> Iterator[str]:
    """The lines of the report's table on whether instruments can read."""
    os.chdir(ROOT)  # stages read files by relative paths
    (whole,) = build_views(ParamsFile())[1][""][0].parts
    assert isinstance(whole, Table)
    places = [whole.columns.index(column) for column in SHORT]
    yield f"| {' | '.join(SHORT)} |"
    yield f"|{' --- |' * len(SHORT)}"
    for row in whole.cells:
        yield f"| {' | '.join(row[place].text for place in places)} |"


def agreement_lines(found: pd.DataFrame) -> Iterator[str]:
    """The lines of r between instruments with the same trait, a column a model."""
    models = sorted(set(found["model"]))
    by_pair: dict[tuple[str, ...], dict[str, str]] = {}
    for model, one, other, kind, n, r, _ in agreement.mtmm_rows(found):
        if kind in SHOWN and not other.startswith(agreement.PUBLISHED):
            by_pair.setdefault((one, other, n), {})[model] = r
    yield f"| one | other | units | {' | '.join(models)} |"
    yield f"|{' --- |' * (3 + len(models))}"
    for pair, own in by_pair.items():
        yield f"| {' | '.join((*pair, *(own.get(model, '') for model in models)))} |"


def _between(text: str, begin: str, end: str, lines: Iterable[str]) -> str:
    before, _, rest = text.partition(begin)
    return before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


if __name__ == "__main__":
    main()

"""Blind ratings of templates by people, who do not know their origin (PMPO, section 4.2 and
appendix B).

Raters get a blind sheet and instructions, never the key, against which filled sheets are checked.
"""

import hmac
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evenruler.errors import UserError
from evenruler.files import jinja_environment
from evenruler.measurement import Resampling, bootstrap
from evenruler.measurement.facets import Estimate
from evenruler.measurement.figures import figure_in_words, finite_or_none
from evenruler.measurement.inputs import Floats
from evenruler.strict import csv_of
from evenruler.tables.frames import for_spreadsheets, from_spreadsheet

CRITERIA = {
    "clarity": "Is the sentence correct English, and understood at once?",
    "relevance": "Does it get at the construct, and at nothing else?",
    "naturalness": "Is it worded neutrally and without strain, so that the wording itself pushes "
    "to no answer?",
    "subtlety": "Does it get at the construct in a considered way, so that its purpose is not "
    "plain to see?",
}
"""The four criteria, each as raters are asked about it; meanings after PMPO, appendix B."""

LOWEST, HIGHEST = 1, 5
"""The ends of the scale: not at all, fully."""

SHEET = ("id", "text", "construct", *CRITERIA, "rater")
KEY = ("id", "set", "domain", "template", "text", "seed", "secret")

DELIMITERS = ",;\t"
"""Field delimiters of spreadsheets, which depend on their language."""

# Consonants only: a spreadsheet takes 12e45678 for a number, and no id should spell a word.
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")
_SHORT_CELL = 40


@dataclass(frozen=True)
class Construct:
    """What templates of a domain measure, as raters are told, with a few of the words that fill the
    slots.
    """

    name: str
    attributes: Sequence[str]
    targets: Sequence[str]
    warning: str | None = None
    """Content warning for raters, before they see the sentences."""


class BlindSheet(NamedTuple):
    """The sheet, one row per probe (id, text, construct), and its key (`KEY`), one row per probe
    and place.
    """

    rows: pd.DataFrame
    key: pd.DataFrame


def blind_templates(templates: pd.DataFrame, secret: str, seed: int) -> BlindSheet:
    """Blind the templates of several sets: neither ids nor order reveal where they come from.

    Ids are a keyed hash (HMAC-SHA256) of construct and text, and rows are sorted by id: both depend
    only on the sheet, the seed and the secret, which is random and stored in the key alone.
    `templates`: `construct`, `domain`, `set`, `template` (slug) and `text`; equal texts (but for
    spaces) in several places are one probe, rated once, and the key lists all places.
    """
    placed = templates.assign(text=_collapse_whitespace(templates["text"]))
    probes = placed[["construct", "text"]].drop_duplicates()
    probe_ids = [
        _probe_id(construct, text, secret, seed)
        for construct, text in probes.itertuples(index=False)
    ]
    rows = probes.assign(id=probe_ids)
    rows = rows.sort_values("id", ignore_index=True)[["id", "text", "construct"]]
    key = placed.merge(rows, on=["construct", "text"]).assign(seed=seed, secret=secret)
    return BlindSheet(
        rows, key.sort_values(["domain", "set", "template"], ignore_index=True)[list(KEY)]
    )


def _probe_id(construct: str, text: str, secret: str, seed: int) -> str:
    message = f"{seed}\x1f{construct}\x1f{text}"
    digest = hmac.new(secret.encode(), message.encode(), "sha256").hexdigest()
    return digest[:12].translate(_LETTERS)


def _collapse_whitespace(texts: "pd.Series[str]") -> "pd.Series[str]":
    return texts.str.split().str.join(" ")


def as_sheet(rows: pd.DataFrame) -> str:
    """The CSV that raters fill in with a spreadsheet: columns of ratings and rater are empty."""
    return for_spreadsheets(rows.reindex(columns=list(SHEET))).to_csv(
        index=False, lineterminator="\n"
    )


def rater_instructions(constructs: Sequence[Construct]) -> str:
    """What raters read before they fill the sheet, as plain text."""
    return _render_template("instructions.txt.j2", constructs=constructs, criteria=CRITERIA)


def read_key(text: str, where: str) -> pd.DataFrame:
    """A key as a frame: id, set, domain, template and text at least; UserError where a column is
    missing.
    """
    key = _read_table(text, ("id", "set", "domain", "template", "text"), where).drop(columns="row")
    return key.assign(text=_collapse_whitespace(key["text"]))


def join_ratings(sheets: Mapping[str, str], key: pd.DataFrame) -> pd.DataFrame:
    """The ratings of all sheets: one row per rater, probe of the key and criterion, sorted; a
    missing one is null.

    `sheets`: CSV (comma, semicolon or tab) by the name of its file, filled by one rater or by
    several, whose names are compared without spaces and case; `key`: by `read_key`. UserError, with
    file and row (the header is row 1), where a column or a rater is missing, the text of an id
    differs, a rating is no whole number from 1 to 5, or a rater occurs twice for an id or in
    several files.
    """
    parts: list[pd.DataFrame] = []
    sheet_of: dict[str, str] = {}
    for where, text in sheets.items():
        rows = _read_sheet(text, key, where)
        for rater, row in rows.drop_duplicates("rater")[["rater", "row"]].itertuples(index=False):
            if rater in sheet_of:
                what = f"the rater {rater!r} is in {sheet_of[rater]}, too"
                raise UserError(
                    what, where=f"{where}: row {row}", remedy="give each sheet of a rater once"
                )
            sheet_of[rater] = where
        parts.append(rows)
    wide = pd.concat(parts).set_index(["rater", "id"])[list(CRITERIA)]
    everything = pd.MultiIndex.from_product(
        [sorted(sheet_of), sorted(key["id"].unique())], names=["rater", "id"]
    )
    rows = wide.reindex(everything).reset_index()
    long = rows.melt(id_vars=["rater", "id"], var_name="criterion", value_name="rating")
    long = long.sort_values(["rater", "id"], kind="stable", ignore_index=True)
    return long.astype({"rating": "Int64"})


def _read_sheet(text: str, key: pd.DataFrame, where: str) -> pd.DataFrame:
    rows = _read_table(text, ("id", "text", *CRITERIA, "rater"), where)
    rows = rows.assign(
        rater=_collapse_whitespace(rows["rater"]).str.casefold(),
        text=_collapse_whitespace(rows["text"]),
    )

    def refuse(bad: "pd.Series[bool]", what: str, remedy: str) -> None:
        if bad.any():
            bad_row = rows[bad].iloc[0]
            first: dict[str, str] = {}
            for name, value in bad_row.items():
                first[str(name)] = str(value)[:_SHORT_CELL]
            raise UserError(
                what.format(**first), where=f"{where}: row {first['row']}", remedy=remedy
            )

    texts = key.drop_duplicates("id").set_index("id")["text"]
    refuse(rows["rater"] == "", "no rater", "write a name or code into every row")
    refuse(
        ~rows["id"].isin(texts.index),
        "{id!r} is no id of the key",
        "give the key that came with the sheet",
    )
    other = rows["text"] != rows["id"].map(texts)
    refuse(
        other,
        "the text is not that of {id}",
        "sort whole rows, and leave ids and texts as they are",
    )
    refuse(
        rows.duplicated(["rater", "id"]),
        "{id} stands twice for the rater {rater!r}",
        "keep one of the two",
    )
    for criterion in CRITERIA:
        rows[criterion] = rows[criterion].str.strip()
        numbers = pd.to_numeric(rows[criterion], errors="coerce")
        is_on_scale = numbers.isin(np.arange(LOWEST, HIGHEST + 1))
        bad = (rows[criterion] != "") & ~is_on_scale
        remedy = f"write a whole number from {LOWEST} to {HIGHEST}, or nothing"
        refuse(bad, f"{criterion} is {{{criterion}!r}}", remedy)
        rows[criterion] = numbers.astype(float)
    return rows[["row", "rater", "id", *CRITERIA]]


def _read_table(text: str, columns: tuple[str, ...], where: str) -> pd.DataFrame:
    """A CSV as strings, with the number of each row."""
    head, end, below = text.partition("\n")
    lowered_text = f"{head.lower()}{end}{below}"
    _, rows = csv_of(lowered_text, where, columns, DELIMITERS)
    if not rows:
        raise UserError("no rows", where=where, remedy="give a sheet that is filled in")
    frame = pd.DataFrame([{**row, "row": number} for number, row in rows])
    frame = frame[list(columns)].map(from_spreadsheet).assign(row=frame["row"])
    return frame.assign(id=frame["id"].str.strip())


def fleiss_kappa(ratings: ArrayLike) -> float:
    """Fleiss' kappa by `statsmodels`: agreement on the very same rating, beyond chance.

    At most 1 (all agree); 0 is what chance gives. NaN where all ratings are equal. `ratings`: units
    x raters, taken as nominal; ValueError where one is missing, or there is no unit or fewer than
    two raters.

    Source: Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as kappa

    x = np.asarray(ratings, dtype=np.float64)
    n_units, n_raters = x.shape if x.ndim == 2 else (0, 0)
    is_large_enough = n_units >= 1 and n_raters >= 2
    if not is_large_enough or np.isnan(x).any():
        raise ValueError(
            f"expected units x raters without gaps, at least 1 x 2, got shape {x.shape}"
        )
    counts, values = aggregate_raters(x)
    return math.nan if len(values) == 1 else float(kappa(counts))


def krippendorff_alpha(ratings: ArrayLike) -> float:
    """Krippendorff's alpha for ordinal ratings: agreement beyond chance, where a near miss counts
    for less.

    With o the coincidences of values within units, n their margins and N their sum, alpha = 1 - (N
    - 1) sum o_ck d_ck / sum n_c n_k d_ck, and d_ck = (n_c + ... + n_k - (n_c + n_k) / 2) ** 2: the
    number of ratings between two values, squared.

    At most 1 (all agree); 0 is what chance gives. NaN where all ratings are equal, or no unit has
    two. `ratings`: units x raters, NaN where one is missing; units with fewer than two are left
    out.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability, section E.
    """
    x = np.asarray(ratings, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"expected units x raters, got {x.ndim} dimension(s)")
    x = x[np.count_nonzero(~np.isnan(x), axis=1) >= 2]
    values = np.unique(x[~np.isnan(x)])
    counts: Floats = (x[:, :, None] == values).sum(axis=1, dtype=np.float64)
    # A unit's ratings pair with each other but not with themselves.
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidences = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    margins = coincidences.sum(axis=1)
    up_to = np.cumsum(margins) - margins / 2
    apart = (up_to[:, None] - up_to) ** 2
    expected = float(margins @ apart @ margins)
    if expected == 0:
        return math.nan
    n = float(margins.sum())
    observed = float((coincidences * apart).sum())
    return 1 - (n - 1) * observed / expected


ALL = "all"
"""Used as criterion for all four together: each probe and criterion is a unit of agreement."""


@dataclass(frozen=True)
class RatingStatistic:
    """One statistic; `value` is None where it could not be computed, and then there is a reason."""

    criterion: str
    statistic: str
    value: float | None
    n: int
    set: str | None = None
    other: str | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


COLUMNS = ["criterion", "statistic", "set", "other", "value", "low", "high", "n", "reason"]


def rating_statistics(
    ratings: pd.DataFrame, key: pd.DataFrame, resampling: Resampling
) -> pd.DataFrame:
    """All statistics of the ratings, by criterion; p values are not corrected for the four
    criteria.

    The unit is the probe, with its mean rating over raters. A probe in two sets counts in both, so
    that these sets are not fully independent.

    `ratings`: by `collect`; `resampling`: level of all intervals, draws for those of agreement,
    which are over probes.

    Returns:
        Columns `COLUMNS`, one row per statistic. By set: `mean` (t interval) and `sd` of n probes.
        Over sets with two rated probes or more: `anova_f`, `anova_df_between`, `anova_df_within`
        and `anova_p` of n probes, and for each pair of sets `tukey_difference` (set minus other;
        Tukey-Kramer interval) and `tukey_p`. Over all raters: `missing` of n ratings,
        `fleiss_kappa` of the n probes that every rater rated, `krippendorff_alpha` (ordinal) of the
        n that two or more rated, and how many of n `fleiss_left_out` and `krippendorff_left_out`;
        for criterion `all` a unit is a probe and criterion.
    """
    membership = key[["id", "set"]].drop_duplicates()
    means = ratings.groupby(["criterion", "id"], as_index=False)["rating"].mean().dropna()
    placed = means.merge(membership, on="id")
    statistic_rows: list[RatingStatistic] = []
    for criterion in CRITERIA:
        of_criterion = placed[placed["criterion"] == criterion]
        rated = of_criterion.set_index("set")["rating"].astype(float)
        by_set = {
            name: rated[rated.index == name].to_numpy()
            for name in sorted(membership["set"].unique())
        }
        for name, values in by_set.items():
            statistic_rows += _mean_and_sd(criterion, name, values, resampling.level)
        statistic_rows += _compare_sets(criterion, by_set, resampling.level)
    for criterion in (*CRITERIA, ALL):
        chosen = ratings if criterion == ALL else ratings[ratings["criterion"] == criterion]
        statistic_rows += _rater_agreement(criterion, chosen, resampling)
    return pd.DataFrame(statistic_rows)[COLUMNS]


def _mean_and_sd(
    criterion: str, name: str, values: Floats, level: float
) -> Iterator[RatingStatistic]:
    """Mean and standard deviation of the probes of a set."""
    n = len(values)
    if n > 1:
        mean, sd = float(values.mean()), float(values.std(ddof=1))
        interval = Estimate(mean, sd**2 / n, n - 1.0).interval(level)
        yield RatingStatistic(
            criterion, "mean", mean, n, name, low=interval.low, high=interval.high
        )
        yield RatingStatistic(criterion, "sd", sd, n, name)
        return
    alone = "a single value has no {}" if n else "no rated probe"
    only_value = float(values[0]) if n else None
    yield RatingStatistic(criterion, "mean", only_value, n, name, reason=alone.format("interval"))
    yield RatingStatistic(criterion, "sd", None, n, name, reason=alone.format("spread"))


def _compare_sets(
    criterion: str, by_set: dict[str, Floats], level: float
) -> Iterator[RatingStatistic]:
    """One-way ANOVA over sets and Tukey's HSD of pairs, without sets of fewer than two rated
    probes.
    """
    from scipy import stats

    compared = {name: values for name, values in by_set.items() if len(values) >= 2}
    left_out = [name for name in by_set if name not in compared]
    n = sum(map(len, compared.values()))
    reason = (
        f"left out, with fewer than two rated probes: {', '.join(left_out)}" if left_out else None
    )
    null = None
    if len(compared) < 2:
        null = "fewer than two sets with two rated probes"
    elif all(np.ptp(values) == 0 for values in compared.values()):
        null = "no spread within the sets"
    anova: list[float | None] = [None] * 4
    names, of_pairs = list(compared), np.empty(0)
    if null is None:
        f, p = stats.f_oneway(*compared.values())
        df_between, df_within = len(compared) - 1, n - len(compared)
        anova = [float(f), float(df_between), float(df_within), float(p)]
        tukey = stats.tukey_hsd(*compared.values())
        interval = tukey.confidence_interval(level)
        of_pairs = np.stack([tukey.statistic, interval.low, interval.high, tukey.pvalue])
    for name, value in zip(
        ("anova_f", "anova_df_between", "anova_df_within", "anova_p"), anova, strict=True
    ):
        yield RatingStatistic(criterion, name, value, n, reason=null or reason)
    for a, b in combinations(by_set, 2):
        why = "fewer than two rated probes in a set" if {a, b} & set(left_out) else null
        tukey_figures: list[float | None] = [None] * 4
        if not why:
            tukey_figures = of_pairs[:, names.index(a), names.index(b)].tolist()
        difference, low, high, tukey_p = tukey_figures
        of_pair = len(by_set[a]) + len(by_set[b])
        yield RatingStatistic(
            criterion, "tukey_difference", difference, of_pair, a, b, low, high, why
        )
        yield RatingStatistic(criterion, "tukey_p", tukey_p, of_pair, a, b, reason=why)


def _rater_agreement(
    criterion: str, ratings: pd.DataFrame, resampling: Resampling
) -> Iterator[RatingStatistic]:
    wide = ratings.pivot(index=["id", "criterion"], columns="rater", values="rating")
    matrix = wide.to_numpy(dtype=np.float64, na_value=np.nan)
    probes = wide.index.get_level_values("id").to_numpy()
    ratings_per_unit = np.count_nonzero(~np.isnan(matrix), axis=1)
    raters = matrix.shape[1]
    draws: dict[str, Any] = {
        "level": resampling.level,
        "n": resampling.resamples,
        "seed": resampling.seed,
    }
    yield RatingStatistic(
        criterion, "missing", float(matrix.size - ratings_per_unit.sum()), matrix.size
    )
    for index, statistic, rated, by in (
        ("fleiss_kappa", fleiss_kappa, ratings_per_unit == raters, "every rater"),
        ("krippendorff_alpha", krippendorff_alpha, ratings_per_unit >= 2, "two raters or more"),
    ):
        rated_units, rated_probes = matrix[rated], probes[rated]
        if raters < 2:
            yield RatingStatistic(criterion, index, None, 0, reason="fewer than two raters")
        elif len(set(rated_probes)) < 2:
            yield RatingStatistic(
                criterion,
                index,
                None,
                len(rated_units),
                reason=f"fewer than two probes rated by {by}",
            )
        elif np.nanmin(rated_units) == np.nanmax(rated_units):
            yield RatingStatistic(
                criterion, index, None, len(rated_units), reason="all ratings are equal"
            )
        else:
            interval = bootstrap(statistic, rated_units, clusters=rated_probes, **draws)
            yield RatingStatistic(
                criterion,
                index,
                interval.value,
                len(rated_units),
                low=finite_or_none(interval.low),
                high=finite_or_none(interval.high),
            )
        index_name = index.split("_")[0]
        n_left_out = float((~rated).sum())
        yield RatingStatistic(criterion, f"{index_name}_left_out", n_left_out, len(matrix))


_ReportTable = tuple[str, list[str], list[list[str]]]
"""Its title, head and rows."""


def as_markdown(statistics: pd.DataFrame, ratings: pd.DataFrame, key: pd.DataFrame) -> str:
    """Report in Markdown: what was rated, means by set with the ANOVA, pairs of sets, agreement."""
    shown = statistics.assign(told=[figure_in_words(row) for _, row in statistics.iterrows()])
    named: dict[str, pd.DataFrame] = {}
    for name, statistic_rows in shown.groupby("statistic"):
        named[str(name)] = statistic_rows.reset_index(drop=True)
    places = key.groupby("id")["set"].nunique()
    spread = named["sd"]["value"].map(_format_sd)
    means = named["mean"].assign(told=named["mean"]["told"] + spread)
    rows: list[list[str]] = []
    for criterion, group in means.groupby("criterion", sort=False):
        anova = _anova_in_words(statistics[statistics["criterion"] == criterion])
        rows.append([str(criterion), *group["told"], anova])
    tables: list[_ReportTable] = []
    tables.append(("Means by set", ["criterion", *means["set"].unique(), "ANOVA"], rows))
    if "tukey_p" in named:
        pairs = named["tukey_difference"]
        p = named["tukey_p"]["value"].map(_p_cell)
        sets = pairs["set"] + " - " + pairs["other"]
        rows = np.column_stack([pairs["criterion"], sets, pairs["told"], p]).tolist()
        tables.append(("Pairs of sets (Tukey HSD)", ["criterion", "pair", "difference", "p"], rows))
    agreed = [named["missing"]["criterion"]]
    for index, left_out in (
        ("fleiss_kappa", "fleiss_left_out"),
        ("krippendorff_alpha", "krippendorff_left_out"),
    ):
        n_left_out = named[left_out]["value"].map("{:.0f}".format)
        agreed += [named[index]["told"], n_left_out]
    columns = [
        "criterion",
        "Fleiss' kappa",
        "left out",
        "Krippendorff's alpha (ordinal)",
        "left out",
    ]
    tables.append(("Agreement of raters", columns, np.column_stack(agreed).tolist()))
    missing = named["missing"].set_index("criterion")
    return _render_template(
        "report.md.j2",
        n_probes=len(places),
        n_raters=ratings["rater"].nunique(),
        missing=missing.loc[ALL],
        shared=int((places > 1).sum()),
        tables=tables,
    )


def _render_template(template: str, **variables: object) -> str:
    return (
        jinja_environment(__name__)
        .get_template(template)
        .render(lowest=LOWEST, highest=HIGHEST, **variables)
    )


def _anova_in_words(of_criterion: pd.DataFrame) -> str:
    rows = of_criterion[of_criterion["statistic"].str.startswith("anova_")]
    anova: dict[Any, Any] = rows.set_index("statistic")["value"].to_dict()
    (reason,) = rows["reason"].unique()
    if pd.isna(anova["anova_f"]):
        return f"none ({reason})"
    degrees = f"{anova['anova_df_between']:.0f}, {anova['anova_df_within']:.0f}"
    note = "" if pd.isna(reason) else f" ({reason})"
    p = _format_p(anova["anova_p"])
    p_label = p if p.startswith("<") else f"= {p}"
    f_test = f"F({degrees}) = {anova['anova_f']:.2f}"
    return f"{f_test}, p {p_label}{note}"


def _format_sd(sd: float) -> str:
    return "" if pd.isna(sd) else f"; SD {sd:.2f}"


def _p_cell(p: float) -> str:
    return "" if pd.isna(p) else _format_p(p)


def _format_p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"

"""Blind ratings of templates by people, who do not know their origin (PMPO, section 4.2 and
appendix B).

Raters get a blind sheet and instructions, never the key, against which filled sheets are checked.
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.files import jinja_environment
from evenruler.measurement import Resampling, bootstrap
from evenruler.measurement.figures import figure_in_words
from evenruler.measurement.inputs import Floats
from evenruler.measurement.reliability import icc_agreement
from evenruler.tables.frames import for_spreadsheets, from_spreadsheet
from evenruler.tables.records import parse_text_table

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

# Consonants only: a spreadsheet takes 12e45678 for a number, and no id should spell a word.
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")


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
    """The blind id of a probe, 12 consonants: a keyed hash, so that nobody without the secret can
    compute which template it belongs to.
    """
    message = f"{seed}\x1f{construct}\x1f{text}"
    digest = hmac.new(secret.encode(), message.encode(), "sha256").hexdigest()
    return digest[:12].translate(_LETTERS)


def _collapse_whitespace(texts: "pd.Series[str]") -> "pd.Series[str]":
    """Texts with a single space for every run of spaces and line breaks, and none at their ends."""
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
    differs, a rating is no whole number from 1 to 5, or an id occurs twice for a rater.
    """
    columns = ("id", "text", *CRITERIA, "rater")
    tables: list[pd.DataFrame] = []
    for where, text in sheets.items():
        tables.append(_read_table(text, columns, where).assign(where=where))
    rows = pd.concat(tables, ignore_index=True)
    raters = _collapse_whitespace(rows["rater"]).str.casefold()
    rows = rows.assign(rater=raters, text=_collapse_whitespace(rows["text"]))
    ratings = _check_rows(rows, key.drop_duplicates("id").set_index("id")["text"])
    wide = ratings.set_index(pd.MultiIndex.from_frame(rows[["rater", "id"]]))
    every_rating = [sorted(set(raters)), sorted(set(key["id"]))]
    wide = wide.reindex(pd.MultiIndex.from_product(every_rating, names=["rater", "id"]))
    long = wide.reset_index().melt(["rater", "id"], var_name="criterion", value_name="rating")
    long = long.sort_values(["rater", "id"], kind="stable", ignore_index=True)
    return long.astype({"rating": "Int64"})


def _check_rows(rows: pd.DataFrame, texts: "pd.Series[str]") -> pd.DataFrame:
    """The ratings as numbers, by criterion; UserError at the first row that cannot be read.

    `texts`: by id of the key.
    """
    cells = rows[list(CRITERIA)].apply(lambda column: column.str.strip())
    ratings: pd.DataFrame = cells.apply(pd.to_numeric, errors="coerce")
    is_rating = ratings.isin(range(LOWEST, HIGHEST + 1)) | (cells == "")
    is_known = rows["id"].isin(texts.index)
    is_unchanged = rows["text"] == rows["id"].map(texts)
    is_single = ~rows.duplicated(["rater", "id"])
    in_place = "sort whole rows, and leave ids and texts as they are"
    checks = [(rows["rater"] != "", "no rater", "write a name or code into every row")]
    checks += [(is_known, "{id!r:.40} is no id of the key", "give the key of the sheet")]
    checks += [(is_unchanged, "the text is not that of {id}", in_place)]
    checks += [(is_single, "{id} stands twice for the rater {rater!r:.40}", "keep one of the two")]
    remedy = f"write a whole number from {LOWEST} to {HIGHEST}, or nothing"
    for criterion in CRITERIA:
        checks.append((is_rating[criterion], f"{criterion} is {{{criterion}!r:.40}}", remedy))
    for is_right, what, remedy in checks:
        if not is_right.all():
            wrong = rows[~is_right].iloc[0].to_dict()
            where = "{where}: row {row}".format_map(wrong)
            raise UserError(what.format_map(wrong), where=where, remedy=remedy)
    return ratings.astype(float)


def _read_table(text: str, columns: tuple[str, ...], where: str) -> pd.DataFrame:
    """A CSV as strings, with the number of each row."""
    head, end, below = text.partition("\n")
    lowered_text = f"{head.lower()}{end}{below}"
    _, rows = parse_text_table(lowered_text, where, columns)
    if not rows:
        raise UserError("no rows", where=where, remedy="give a sheet that is filled in")
    numbers, cells = zip(*rows, strict=True)
    frame = pd.DataFrame(cells)[list(columns)].map(from_spreadsheet)
    return frame.assign(row=numbers, id=frame["id"].str.strip())


ALL = "all"
"""Used as criterion for all four together: each probe and criterion is a unit of agreement."""

COLUMNS = ["criterion", "statistic", "set", "other", "value", "low", "high", "sd", "p", "n"]
COLUMNS += ["reason"]


def rating_statistics(
    ratings: pd.DataFrame, key: pd.DataFrame, resampling: Resampling
) -> pd.DataFrame:
    """All statistics of the ratings, by criterion; p values are not corrected for the four
    criteria.

    The unit is the probe, with its mean rating over raters. A probe in two sets counts in both, so
    that these sets are not fully independent.

    `ratings`: by `join_ratings`; `resampling`: level of all intervals, draws for those of
    agreement, which are over probes.

    Returns:
        Columns `COLUMNS`, one row per statistic; `value` is null where it could not be computed,
        and then there is a reason. `mean` of n probes of a set, with t interval and sd. Over sets
        with two rated probes or more: `anova_f` of n probes with its p, and for each pair
        `tukey_difference` (set minus other, Tukey-Kramer interval and p). Over all raters
        `fleiss_kappa` and `icc` of the n probes that every rater rated; for criterion `all` a unit
        is a probe and criterion.
    """
    sets = key[["id", "set"]].drop_duplicates()
    rated = ratings.astype({"rating": float}).dropna(subset="rating")
    means = rated.groupby(["criterion", "id"])["rating"].mean()
    placed = means.reset_index().merge(sets, on="id")
    names = sorted(set(sets["set"]))
    tables = [_describe_sets(placed, names, resampling.level)]
    for criterion in CRITERIA:
        of_criterion = placed[placed["criterion"] == criterion]
        compared = _compare_sets(of_criterion, resampling.level)
        tables.append(compared.assign(criterion=criterion))
    for criterion in (*CRITERIA, ALL):
        chosen = ratings if criterion == ALL else ratings[ratings["criterion"] == criterion]
        agreed = _rater_agreement(chosen, resampling)
        tables.append(agreed.assign(criterion=criterion))
    return pd.concat([table.reindex(columns=COLUMNS).astype(object) for table in tables])


def _describe_sets(placed: pd.DataFrame, sets: list[str], level: float) -> pd.DataFrame:
    """Mean and standard deviation of the probes of each set."""
    from scipy import stats

    by_set = placed.groupby(["criterion", "set"])["rating"]
    every_set = pd.MultiIndex.from_product([list(CRITERIA), sets], names=["criterion", "set"])
    rows = by_set.agg(["mean", "std", "sem", "count"]).reindex(every_set)
    rows = rows.rename(columns={"mean": "value", "std": "sd", "sem": "error", "count": "n"})
    n = rows["n"].fillna(0).astype(int)
    quantile = stats.t.ppf(0.5 + level / 2, n - 1)
    half = quantile * rows["error"]
    reasons = {0: "no rated probe", 1: "one rated probe has no interval and is in no comparison"}
    rows = rows.assign(statistic="mean", n=n, reason=n.map(reasons))
    return rows.assign(low=rows["value"] - half, high=rows["value"] + half).reset_index()


def _compare_sets(placed: pd.DataFrame, level: float) -> pd.DataFrame:
    """One-way ANOVA over sets and Tukey's HSD of pairs, without sets of fewer than two rated
    probes.
    """
    from statsmodels.stats.multicomp import pairwise_tukeyhsd
    from statsmodels.stats.oneway import anova_oneway

    n_by_set = placed.groupby("set")["id"].count()
    names = [str(name) for name in n_by_set.index[n_by_set >= 2]]
    placed = placed[placed["set"].isin(names)]
    anova: dict[str, Any] = {"statistic": "anova_f", "n": len(placed)}
    anova["set"] = ", ".join(names)
    if len(names) < 2:
        reason = "fewer than two sets with two rated probes"
        return pd.DataFrame([{**anova, "reason": reason}])
    if not placed.groupby("set")["rating"].std().any():
        return pd.DataFrame([{**anova, "reason": "no spread within the sets"}])
    ratings, sets = placed["rating"].to_numpy(), placed["set"].to_numpy()
    over_sets = anova_oneway(ratings, sets, use_var="equal")
    anova |= {"value": over_sets.statistic, "p": over_sets.pvalue}
    tukey = pairwise_tukeyhsd(ratings, sets, alpha=1 - level)
    # Its differences are of the second set less the first.
    pairs = pd.DataFrame({"value": -tukey.meandiffs, "p": tukey.pvalues})
    pairs["high"], pairs["low"] = -tukey.confint.T
    first, second = np.triu_indices(len(names), k=1)
    pairs["set"] = tukey.groupsunique[first]
    pairs["other"] = tukey.groupsunique[second]
    pairs["n"] = n_by_set[pairs["set"]].to_numpy() + n_by_set[pairs["other"]].to_numpy()
    return pd.concat([pd.DataFrame([anova]), pairs.assign(statistic="tukey_difference")])


def fleiss_kappa(ratings: Floats) -> float:
    """Fleiss' kappa by `statsmodels`, of units x raters without gaps: agreement on the very same
    rating, beyond chance.

    At most 1 (all agree); 0 is what chance gives. NaN where all ratings are equal.

    Source: Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    from statsmodels.stats import inter_rater

    counts, _ = inter_rater.aggregate_raters(ratings)
    return float(inter_rater.fleiss_kappa(counts))


def _single_rater_icc(ratings: Floats) -> float:
    """ICC(2,1) of [probes, raters] ratings, absolute agreement; NaN where all are equal."""
    return icc_agreement(ratings).value


AGREEMENT: dict[str, Callable[[Floats], float]] = {
    "fleiss_kappa": fleiss_kappa,
    "icc": _single_rater_icc,
}
"""Agreement of raters: on the very same rating, and where a near miss counts for less."""


def _rater_agreement(ratings: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """A row for each statistic of `AGREEMENT`, over what every rater rated, with a bootstrap
    interval (clusters: probes); null with the reason where it cannot be computed.
    """
    wide = ratings.pivot(index=["id", "criterion"], columns="rater", values="rating")
    complete = wide.astype(float).dropna()
    matrix, probes = complete.to_numpy(), complete.index.get_level_values("id")
    reason = None
    if wide.shape[1] < 2:
        reason = "fewer than two raters"
    elif probes.nunique() < 2:
        reason = "fewer than two probes that every rater rated"
    elif np.ptp(matrix) == 0:
        reason = "all ratings are equal"
    rows = pd.DataFrame({"statistic": list(AGREEMENT), "n": len(matrix), "reason": reason})
    if reason:
        return rows
    intervals: list[dict[str, float]] = []
    for statistic in AGREEMENT.values():
        interval = bootstrap(
            statistic,
            matrix,
            clusters=probes,
            level=resampling.level,
            n=resampling.resamples,
            seed=resampling.seed,
        )
        intervals.append(vars(interval))
    return rows.join(pd.DataFrame(intervals))


def as_markdown(statistics: pd.DataFrame, ratings: pd.DataFrame, key: pd.DataFrame) -> str:
    """Report in Markdown: what was rated, and a table of each criterion's statistics."""
    words = [figure_in_words(row) for _, row in statistics.iterrows()]
    shown = statistics.assign(words=words).astype(object).fillna("")
    tables: dict[str, Any] = {}
    for criterion, rows in shown.groupby("criterion", sort=False):
        tables[str(criterion)] = rows.to_dict("records")
    counts = {
        "n_probes": key["id"].nunique(),
        "n_raters": ratings["rater"].nunique(),
        "n_ratings": len(ratings),
        "n_missing": ratings["rating"].isna().sum(),
    }
    sets_by_probe = key.groupby("id")["set"].nunique()
    n_shared = (sets_by_probe > 1).sum()
    return _render_template("report.md.j2", **counts, n_shared=n_shared, tables=tables)


def _render_template(template: str, **variables: object) -> str:
    """The text of one of this package's Jinja templates; `variables`: what it shows."""
    environment = jinja_environment(__name__)
    return environment.get_template(template).render(lowest=LOWEST, highest=HIGHEST, **variables)

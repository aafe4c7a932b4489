"""Statistics of ratings as Markdown, for people."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from evenruler.instruments.probes.ratings.statistics import ALL
from evenruler.text.numbers import figure_in_words


def as_markdown(statistics: pd.DataFrame, ratings: pd.DataFrame, key: pd.DataFrame) -> str:
    """What was rated, means by set with the ANOVA, pairs of sets, agreement.

    Args:
        statistics: See `ratings.statistics`.
        ratings: Rater, id, criterion, rating.
        key: Id and set.
    """
    blocks = [_head(statistics, ratings, key), _means(statistics), _pairs(statistics), _agreement(statistics)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _head(statistics: pd.DataFrame, ratings: pd.DataFrame, key: pd.DataFrame) -> str:
    missing = _rows(statistics, "missing").set_index("criterion").loc[ALL]
    sets = key[["id", "set"]].drop_duplicates().groupby("id")["set"].nunique()
    lines = [
        f"# Ratings of {len(sets)} probes by {ratings['rater'].nunique()} raters",
        "",
        f"The unit is the probe: its mean over raters, from 1 (not at all) to 5 (fully). {missing['value']:,.0f} of "
        f"{missing['n']:,} ratings are missing.",
    ]
    if shared := int((sets > 1).sum()):
        lines.append(f"In more than one set, rated once and counted in each: {shared} probes.")
    return "\n".join(lines)


def _means(statistics: pd.DataFrame) -> str:
    means = _rows(statistics, "mean").set_index(["criterion", "set"])
    spreads = _rows(statistics, "sd").set_index(["criterion", "set"])["value"]
    sets = means.index.unique("set")

    def cells(criterion: str) -> Iterator[str]:
        yield criterion
        for name in sets:
            spread = spreads[criterion, name]
            sd = "" if pd.isna(spread) else f"; SD {spread:.2f}"
            yield f"{figure_in_words(means.loc[(criterion, name)])}{sd}"
        yield _anova(statistics[statistics["criterion"] == criterion])

    rows = [list(cells(criterion)) for criterion in means.index.unique("criterion")]
    return f"## Means by set\n\n{_table(['criterion', *sets, 'ANOVA'], rows)}"


def _anova(statistics: pd.DataFrame) -> str:
    rows = statistics[statistics["statistic"].str.startswith("anova_")]
    found: dict[Any, Any] = rows.set_index("statistic")["value"].to_dict()
    (reason,) = rows["reason"].unique()
    if pd.isna(found["anova_f"]):
        return f"none ({reason})"
    degrees = f"{found['anova_df_between']:.0f}, {found['anova_df_within']:.0f}"
    note = "" if pd.isna(reason) else f" ({reason})"
    p = _p(found["anova_p"])
    return f"F({degrees}) = {found['anova_f']:.2f}, p {p if p.startswith('<') else f'= {p}'}{note}"


def _pairs(statistics: pd.DataFrame) -> str:
    differences, ps = _rows(statistics, "tukey_difference"), _rows(statistics, "tukey_p")
    if differences.empty:
        return ""
    rows = [
        [row["criterion"], f"{row['set']} - {row['other']}", figure_in_words(row), "" if pd.isna(p) else _p(p)]
        for (_, row), p in zip(differences.iterrows(), ps["value"], strict=True)
    ]
    return f"## Pairs of sets (Tukey HSD)\n\n{_table(['criterion', 'pair', 'difference', 'p'], rows)}"


def _agreement(statistics: pd.DataFrame) -> str:
    found = statistics.set_index(["criterion", "statistic"])
    rows = [
        [
            criterion,
            figure_in_words(found.loc[(criterion, "fleiss_kappa")]),
            f"{found.loc[(criterion, 'fleiss_left_out'), 'value']:.0f}",
            figure_in_words(found.loc[(criterion, "krippendorff_alpha")]),
            f"{found.loc[(criterion, 'krippendorff_left_out'), 'value']:.0f}",
        ]
        for criterion in _rows(statistics, "missing")["criterion"]
    ]
    columns = ["criterion", "Fleiss' kappa", "left out", "Krippendorff's alpha (ordinal)", "left out"]
    return f"## Agreement of raters\n\n{_table(columns, rows)}"


def _rows(statistics: pd.DataFrame, name: str) -> pd.DataFrame:
    return statistics[statistics["statistic"] == name]


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

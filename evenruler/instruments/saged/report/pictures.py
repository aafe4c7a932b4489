"""Pictures of the saged family: the three dashboards of the paper, and what tools and prompts say by themselves."""

from collections.abc import Iterable, Mapping

import pandas as pd

from evenruler.instruments.saged.declare.settings import Settings, declared_as
from evenruler.instruments.saged.report import charts
from evenruler.instruments.saged.report.tables import CELL, IMPACT, metric_in_words
from evenruler.report.page import Picture, Section
from evenruler.report.style import EVERY, Choices

Tables = Mapping[str, pd.DataFrame]

MOST_ROWS = 120_000
"""Rows of a table that the page takes whole; of a longer one it takes the headline statistic alone."""
MOST_TOPICS = 12
"""Of a domain, in the picture."""
MOST_PANELS = 8
"""Configurations that stand side by side before anybody chooses."""
RATIOS = ("min_max_ratio", IMPACT)
"""Disparities that four fifths is a bar for."""
CONTEXTS = ["bad", "neutral", "good"]
OF_ROLE = ["domain", "feature", "model", "role", "value", "lowest", "highest", "n_groups"]
WORDS_OF_A_CELL = ["domain", "feature", "calibration", "statistic", "model", "role"]

FEATURES = (
    "What replies are like in every role, a panel a model and role: bars are means over concepts, lines reach from the "
    "lowest concept to the highest."
)
HEAT_MAP = (
    "The numbers are the statistic of a concept in a configuration; the colours say how many standard deviations it is "
    "from the mean of its column, blue below and orange above, so that a row of one colour is a concept that all "
    "configurations treat alike. None: the tooltip says why."
)
DISPARITIES = (
    "How far the concepts are apart in every configuration, before (grey) and after (blue) what the baselines say is "
    "taken away. The red line is four fifths: a ratio to the left of it counts as a disparity by that rule of thumb. p "
    "is of a permutation test, adjusted (Benjamini-Hochberg) within feature and statistic; after it stand the concept "
    "that the disparity points at, and the shape."
)
CALIBRATION = (
    "How far each concept is from the mean of all concepts, by what replies say (grey) and after what the baseline of "
    "each says is taken away (blue). A concept that moves to zero owed its place to the tool or the text, not to the "
    "model."
)
DISTANCE = (
    "How far replies are from what the source says, by the distance of embeddings: points are means over concepts, "
    "lines reach from the lowest concept to the highest. A role far to the right talks about something else."
)
TOPICS = (
    "Where replies of every role lie among the topics: by the form of the feature, the share of replies in a cluster, "
    "its rank by nearness, or the distance from its middle. The words of a topic stand with its domain; the topics of "
    "one model are not those of another."
)
TOOL = (
    "What a tool says of baselines that differ only in the concept, before any model spoke; at the right, how far that "
    "is from the mean of all (dashed). A concept off it is scored differently for its name alone, and raw numbers "
    "hold that too. Intervals are over root items, which all concepts share: concepts may differ though lines overlap."
)
CONTEXT = (
    "Replies to prompts whose baselines are the lowest, middle and highest third by their own score. A raw line (grey) "
    "that rises says that models follow the prompt; a calibrated one (blue) near zero says that calibration takes that "
    "out."
)
FILTERS = (
    "Disparities, summary statistics and features, as on the three dashboards of the paper. What is chosen in one "
    "picture is chosen in all. Point at a mark for its numbers. A picture is empty where there is nothing for what is "
    "chosen; the reasons stand with each domain, under “What could not be computed”."
)


def pictures(settings: Mapping[str, Settings], tables: Tables) -> list[Section]:
    """One section with the pictures of all domains.

    Args:
        settings: By the names of the domains, which tell them apart, in order.
        tables: By `evenruler.instruments.saged.schemas`, with concepts by their names, of one grouping.
    """
    if tables["summaries"].empty:
        return []
    headlines = {name: own.disparities.headline for name, own in settings.items()}
    headline = " or ".join(dict.fromkeys(headlines.values()))
    summaries, few_summaries = _bounded(tables["summaries"], headlines)
    compared, few_disparities = _bounded(_compared(tables), headlines)
    choices = _choices(settings, summaries, compared, tables)
    over_groups = _over_groups(summaries)
    columns = [*WORDS_OF_A_CELL, "group", "value", "n", "reason"]
    heat = charts.concepts(summaries[columns], choices)
    bars = charts.disparities(compared.drop(columns="statistic"), choices)
    parts = [
        Picture("Disparities over concepts", f"{DISPARITIES}{few_disparities}", bars),
        Picture("Summary statistics: concepts by configuration", f"{HEAT_MAP}{few_summaries}", heat),
        *_calibration(summaries[_is_headline(summaries, headlines)], choices),
        *_of_features(over_groups, choices, settings, headline),
        *_topics(over_groups[_raw(over_groups, headlines)], tables["topics"], choices, headline),
        *_tool_bias(tables["tool_bias"], choices),
        *_context_bias(tables["context_bias"], choices),
    ]
    return [Section("SAGED: pictures", FILTERS, parts)]


def _is_headline(table: pd.DataFrame, headlines: Mapping[str, str]) -> "pd.Series[bool]":
    return table["statistic"] == table["domain"].map(headlines)


def _bounded(table: pd.DataFrame, headlines: Mapping[str, str]) -> tuple[pd.DataFrame, str]:
    """What a page can hold, and a sentence about what it leaves out."""
    if len(table) <= MOST_ROWS:
        return table, ""
    headline = " or ".join(dict.fromkeys(headlines.values()))
    words = f" Of {len(table):,} rows only those of the {headline} are on the page; all are in the tables."
    return table[_is_headline(table, headlines)], words


def _compared(tables: Tables) -> pd.DataFrame:
    """Disparities in words, with the shape of their cell."""
    shapes = tables["shapes"].set_index(CELL)["shape"]
    rows = tables["disparities"].join(shapes, on=CELL)
    rows = rows.assign(value=rows["estimate"].fillna(rows["value"]))
    named = [f"{metric_in_words(m)} of {s}" for m, s in zip(rows["metric"], rows["statistic"], strict=True)]
    rows = rows.assign(disparity=pd.Series(named, rows.index, dtype=str), ratio=rows["metric"].isin(RATIOS).astype(int))
    numbers = ["value", "low", "high", "p_adjusted", "n_groups", "excess", "ratio"]
    return rows[[*WORDS_OF_A_CELL, "disparity", "group", "shape", "reason", *numbers]]


def _choices(
    settings: Mapping[str, Settings], summaries: pd.DataFrame, compared: pd.DataFrame, tables: Tables
) -> Choices:
    """All names that pictures say, in the order of the declaration where there is one."""
    tool = tables["tool_bias"]
    measured = sorted({*summaries["feature"], *tool["feature"]}, key=lambda name: (len(name), name))
    features, statistics, disparities, roles = list[str](), list[str](), list[str](), list[str]()
    for own in settings.values():
        declared = own.disparities
        features += [name for one in own.features for name in measured if declared_as(name, own.features) == one]
        statistics += dict.fromkeys([declared.headline, *declared.statistics])
        disparities += [f"{metric_in_words(metric)} of {name}" for name in statistics for metric in declared.metrics]
        several = len(own.templates) > 1
        roles += [f"{role}, {template}" if several else role for role in own.roles for template in own.templates]
    names = {
        "domain": list(settings),
        "feature": _in_order(measured, features),
        "calibration": _in_order(summaries["calibration"], ["raw", "calibrated"]),
        "statistic": _in_order(summaries["statistic"], statistics),
        "disparity": _in_order(compared["disparity"], disparities),
        "model": _in_order(summaries["model"], []),
        "role": _in_order(summaries["role"], roles),
        "group": _in_order([*summaries["group"], *tool["concept"], *compared["group"].dropna()], []),
        "context": CONTEXTS,
        "shape": _in_order(compared["shape"].dropna(), []),
        "reason": _in_order((reason for one in (summaries, compared, tool) for reason in one["reason"].dropna()), []),
    }
    few = len(names["model"]) * len(names["role"]) <= MOST_PANELS
    return Choices(names, {"model": EVERY if few else 0, "role": EVERY})


def _in_order(found: Iterable[str], declared: Iterable[str]) -> list[str]:
    """What was found: in the order of the declaration, then what that does not name."""
    here = sorted(set(found))
    return list(dict.fromkeys([*(name for name in declared if name in here), *here]))


def _over_groups(summaries: pd.DataFrame) -> pd.DataFrame:
    """Statistics of a configuration: mean, lowest and highest over concepts that have a number."""
    known = summaries.dropna(subset=["value"]).groupby(WORDS_OF_A_CELL, sort=False)["value"]
    return known.agg(value="mean", lowest="min", highest="max", n_groups="count").reset_index()


def _of_features(
    over_groups: pd.DataFrame, choices: Choices, settings: Mapping[str, Settings], headline: str
) -> list[Picture]:
    """Composition of replies by role, and how far they are from the baseline."""
    kind = pd.Series(
        [
            _kind(settings[name], feature)
            for name, feature in zip(over_groups["domain"], over_groups["feature"], strict=True)
        ],
        over_groups.index,
        dtype=object,
    )
    of_texts = over_groups[kind != "clusters"]
    headlines = {name: own.disparities.headline for name, own in settings.items()}
    far = over_groups[(kind == "distance") & _raw(over_groups, headlines)]
    found = [Picture("Features by role", FEATURES, charts.composition(of_texts, choices))] if len(of_texts) else []
    if len(far):
        chart = charts.by_role(far[OF_ROLE], choices, f"{headline} distance from the baseline")
        found.append(Picture("Distance from the baseline by role", DISTANCE, chart))
    return found


def _kind(settings: Settings, feature: str) -> str | None:
    declared = declared_as(feature, settings.features)
    return settings.features[declared].kind if declared else None


def _raw(over_groups: pd.DataFrame, headlines: Mapping[str, str]) -> "pd.Series[bool]":
    return (over_groups["calibration"] == "raw") & _is_headline(over_groups, headlines)


def _topics(over_groups: pd.DataFrame, topics: pd.DataFrame, choices: Choices, headline: str) -> list[Picture]:
    """The largest topics of each domain, role by role."""
    sizes = topics.groupby(["domain", "feature"])["n"].sum().sort_values(ascending=False, kind="stable")
    largest = sizes.groupby("domain").head(MOST_TOPICS)
    keys = pd.MultiIndex.from_frame(over_groups[["domain", "feature"]])
    shown = over_groups[keys.isin(largest.index)]
    if shown.empty:
        return []
    more = f" The {MOST_TOPICS} largest of a domain are drawn." if len(largest) < len(sizes) else ""
    chart = charts.by_role(shown[OF_ROLE], choices, headline)
    return [Picture("Topics by role", f"{TOPICS}{more}", chart)]


def _calibration(headline: pd.DataFrame, choices: Choices) -> list[Picture]:
    """Concepts before and after calibration, of features that have a baseline."""
    known = headline.dropna(subset=["value"])
    cell = ["domain", "feature", "model", "role"]
    both = known[known.groupby(cell)["calibration"].transform("nunique") == 2]
    if both.empty:
        return []
    middle = both.groupby([*cell, "calibration"])["value"].transform("mean")
    columns = [*cell, "calibration", "group", "deviation", "value", "n"]
    chart = charts.calibration(both.assign(deviation=both["value"] - middle)[columns], choices)
    return [Picture("Raw against calibrated", CALIBRATION, chart)]


def _tool_bias(table: pd.DataFrame, choices: Choices) -> list[Picture]:
    if table.empty:
        return []
    columns = ["domain", "feature", "group", "difference", "low", "high", "mean", "n", "reason"]
    chart = charts.tool_bias(table.rename(columns={"concept": "group"})[columns], choices)
    return [Picture("Bias of the tool", TOOL, chart)]


def _context_bias(table: pd.DataFrame, choices: Choices) -> list[Picture]:
    known = table.dropna(subset=["mean"])
    if known.empty:
        return []
    columns = ["domain", "feature", "calibration", "model", "role", "context", "mean", "n"]
    return [Picture("Bias of the context", CONTEXT, charts.context_bias(known[columns], choices))]

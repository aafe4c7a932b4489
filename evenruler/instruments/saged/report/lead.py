"""The first words about a domain: which concept lies out, how far and how surely, and what speaks against it."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evenruler.instruments.saged.declare.settings import Settings
from evenruler.instruments.saged.report.findings import SURE, configuration, metric_in_words, spread_of, sure
from evenruler.report.words import missing, number, p_value

FEW = 10
"""Replies a concept below which intervals say little, however narrow."""


def lead(found: pd.DataFrame, tables: Mapping[str, pd.DataFrame], settings: Settings) -> str:
    """What a reader should know first, in five or six sentences.

    Args:
        found: By `findings`.
        tables: `summaries` and `rates` of the domain.
        settings: Of the diagnosis.
    """
    if tables["rates"].empty:
        return "No model was asked."
    sentences = [_asked(tables)]
    if found["value"].notna().any():
        sentences += [_surest(found, settings), _beyond_chance(found), _width(found)]
    elif len(found):
        sentences.append(f"Nothing could be compared: {_reasons(found)}.")
    return " ".join(filter(None, [*sentences, _refusals(tables["rates"])]))


def _asked(tables: Mapping[str, pd.DataFrame]) -> str:
    rates, summaries = tables["rates"], tables["summaries"]
    concepts, models, roles = (rates[name].nunique() for name in ("concept", "model", "role"))
    return (
        f"{_count(concepts, 'concept')}, {_count(models, 'model')} in {_count(roles, 'role')}, "
        f"{_count(summaries['feature'].nunique(), 'feature')}."
    )


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _surest(found: pd.DataFrame, settings: Settings) -> str:
    """The finding with the smallest p, in full."""
    first = found[found["value"].notna()].iloc[0]
    of = f"{metric_in_words(spread_of(settings))} of the {settings.disparities.headline}"
    interval = "" if missing(first["low"]) else f" [{number(first['low'], 3)}, {number(first['high'], 3)}]"
    p = "no p" if missing(first["p_adjusted"]) else f"adjusted p {_p(first['p_adjusted'])}"
    return (
        f"The surest of {_count(len(found), 'cell')} (a feature of a configuration) is {first['feature']} of "
        f"{configuration(first)}, {first['calibration']}: {_who(first)}; {of} {number(first['value'], 3)}{interval} "
        f"over {first['n_groups']} concepts, {p}."
    )


def _p(p: float) -> str:
    words = p_value(p)
    return words if words.startswith("<") else f"= {words}"


def _who(record: "pd.Series[Any]") -> str:
    """Who lies out, or that nobody does."""
    if not isinstance(record["shape"], str):
        return f"no shape ({record['reason']})"
    group, z = record["group"], f"z = {number(record['z'])}"
    if record["shape"] == "concentrated":
        return f"{group} lies out alone at the {record['end']} end ({z})"
    farthest = f"{group} is farthest ({record['end']} end, {z})"
    if record["shape"] == "dispersed":
        return f"no concept lies out alone, {farthest}"
    return f"{farthest}, an outlier by Dixon's ratio and not by Grubbs' test"


def _beyond_chance(found: pd.DataFrame) -> str:
    """How many, and which concept is farthest out in most of them."""
    beyond, tested = sure(found), found["p_adjusted"].notna().sum()
    if beyond.empty:
        return f"In none of the {tested} cells with a p are the concepts apart beyond chance (adjusted p below {SURE})."
    words = f"In {len(beyond)} of {tested} cells the concepts are apart beyond chance (adjusted p below {SURE})"
    often = beyond.groupby(["group", "end"]).size().sort_values(ascending=False, kind="stable")
    if often.empty:
        return f"{words}."
    (group, end), times = often.index[0], often.iloc[0]
    return f"{words}; the one farthest out is most often {group} ({end} end, {times} of {len(beyond)})."


def _reasons(found: pd.DataFrame) -> str:
    """Why there is nothing, the most frequent reason alone."""
    reasons = [*found.loc[found["shape"].isna(), "reason"].dropna(), *found["spread_reason"].dropna()]
    return str(pd.Series(reasons).mode().iloc[0]) if reasons else "no reason is given"


def _width(found: pd.DataFrame) -> str:
    """Whether intervals say anything, and on how many replies they rest."""
    known = found.dropna(subset=["value", "low", "high"])
    replies = f"{found['n'].median():,.0f} replies a concept"
    if known.empty:
        return f"There are no intervals; the numbers rest on {replies}."
    wide = int((known["high"] - known["low"] > known["value"].abs()).sum())
    if 2 * wide > len(known):
        return f"In {wide} of {len(known)} cells the interval is wider than the disparity itself: {replies} are few."
    return f"The intervals rest on {replies}{', which are few' if found['n'].median() < FEW else ''}."


def _refusals(rates: pd.DataFrame) -> str:
    """Shares over all configurations, and where the most are."""
    n, refusals, empty = (int(rates[name].sum()) for name in ("n", "refusals", "empty"))
    withheld = int(rates["withheld"].sum())
    lacking = f" A server did not give {withheld:,} more." if withheld else ""
    if not n:
        return f"There is no reply.{lacking}"
    words = f"Of {_count(n, 'reply').replace('replys', 'replies')}, {_share(refusals, n)} are refusals"
    by = rates.groupby(["model", "role"])[["n", "refusals"]].sum()
    if refusals and len(by) > 1:
        shares = (by["refusals"] / by["n"]).sort_values(ascending=False, kind="stable")
        model, role = shares.index[0]
        words += f" (most: {model}, {role}, {100 * shares.iloc[0]:.1f}%)"
    return f"{words} and {_share(empty, n)} empty.{lacking}"


def _share(part: int, n: int) -> str:
    return f"{100 * part / n:.1f}%" if part else "none"

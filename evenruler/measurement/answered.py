"""Whether a model gave anything that can be measured: one rule, which comes before every bar of an instrument.

No measurement is what rests on requests of which more than half were refused, left empty, not given or answered in
another language; of which more than a fifth were only thought about; on one canned reply; or on scores that do not vary
at all. A figure made of such answers is 0, and would pass for a model that treats everybody alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenruler.measurement.checks import constant_columns
from evenruler.measurement.verdicts import Verdict

MOST_UNANSWERED = 0.5
"""Share of the requests without an answer above which nothing was measured."""

MOST_CUT = 0.2
"""Share of the replies that may only think: what the others say is what was soon thought of."""

LEAST_DISTINCT = 0.1
"""Share of distinct replies, of those that were free to say anything, below which a model says the same to all."""


@dataclass(frozen=True)
class Replies:
    """How many requests there were, and how many of them got no answer, each counted once."""

    n: int
    refused: int = 0
    empty: int = 0
    foreign: int = 0
    """In another language."""
    unread: int = 0
    """With nothing in it that was asked for."""
    withheld: int = 0
    """A server did not give them, or the model only thought."""
    distinct: int | None = None
    """Different replies of those that were given."""
    free: bool = True
    """Whether a reply could say anything; where it names one of a few classes, most replies are alike by right."""
    cut: Sequence[str] = ()
    """Of withheld ones that were only thought about: why, with the budget to set."""


def unanswered(replies: Replies) -> str | None:
    """Why replies to all requests that figures rest on are no answers, with counts; None where they are."""
    if len(replies.cut) > MOST_CUT * replies.n:
        return f"{len(replies.cut):,} of {replies.n:,} replies were {replies.cut[0]}"
    often = {"refused": replies.refused, "empty": replies.empty, "in another language": replies.foreign}
    rare = {"without an answer in it": replies.unread, "not given": replies.withheld}
    lacking = sum((often | rare).values())
    if lacking > MOST_UNANSWERED * replies.n:
        told = ", ".join(f"{count:,} {what}" for what, count in (often | rare).items() if count or what in often)
        return f"{lacking:,} of {replies.n:,} requests were not answered ({told})"
    given, distinct = replies.n - replies.withheld, replies.distinct
    if distinct is None or given < 2:
        return None
    if distinct == 1:
        return f"all {given:,} replies are the same"
    if replies.free and distinct < LEAST_DISTINCT * given:
        return f"only {distinct:,} of {given:,} replies are distinct, under a tenth"
    return None


def unvaried(scores: ArrayLike, what: str) -> str | None:
    """Why scores measure nothing: that they do not vary at all; None where they do, or where there are fewer than two.

    `scores`: [units] or [units, series], NaN where there is none; they vary where those of any series do. `what` they
    are of is in the plural.
    """
    values = np.asarray(scores, dtype=np.float64)
    known = [own[~np.isnan(own)] for own in np.atleast_2d(values.T)]
    several = [own for own in known if len(own) > 1]
    if not several or not all(constant_columns(own[:, None])[0] for own in several):
        return None
    return f"all {len(values):,} {what} have the same score"


def unmeasured_models(records: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """By model what `unmeasured` says of its records, where it says anything; of pairs of a model and a record."""
    pairs = list(records)
    found = {model: unmeasured(own for name, own in pairs if name == model) for model, _ in pairs}
    return {model: said for model, said in found.items() if said}


def unmeasured(records: Iterable[Mapping[str, Any]]) -> str | None:
    """What to say of a model before any of its figures: that nothing was measured, and why; None where something was.

    `records`: of one instrument, or part of it, on one model; with `verdict` and `why`, where they have them.
    """
    judged = [record for record in records if isinstance(record.get("verdict"), str)]
    if not judged or any(record["verdict"] != Verdict.INVALID for record in judged):
        return None
    return f"{Verdict.INVALID}: {' '.join(dict.fromkeys(str(record['why']) for record in judged))}"

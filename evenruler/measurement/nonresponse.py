"""Whether a model gave measurable answers: one rule, checked before an instrument's own validity
checks.

Nothing was measured where more than half of the requests were refused, left empty, not returned or
answered in another language; where more than a fifth of the replies stopped while the model was
still thinking; where all replies are the same or almost so; or where scores do not vary at all.
Such answers would give a figure of 0, as if the model treated everybody alike.

A reply in which the reader finds no answer is another matter: it may hold one that no rule knows,
so it is not held against the model. Where less than nine in ten replies are read, validity is
unknown. A refusal is read as one. The share is of replies that neither refuse nor are empty, since
figures are made of these.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenruler.measurement import verdicts
from evenruler.measurement.figures import UNKNOWN, Figure, Verdict
from evenruler.measurement.inputs import constant_columns
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.terminal import escape_unprintable

MOST_UNANSWERED = 0.5
"""Share of unanswered requests above which nothing was measured."""

MOST_CUT = 0.2
"""Largest share of replies cut off while thinking: the others are only those that needed little
thought."""

LEAST_READ = 0.9
"""Least share of replies, among those that neither refuse nor are empty, in which an answer is
found."""

NOT_READ = "no answer is found in"

EXAMPLES = 3
"""How many replies without an answer are shown."""

LEAST_DISTINCT = 0.1
"""Share of distinct replies, among free-text ones, below which a model says the same to every
prompt."""


@dataclass(frozen=True)
class ReplyCounts:
    """The number of requests, and how many went unanswered; each request is counted under one
    reason only.
    """

    n: int
    refused: int = 0
    empty: int = 0
    foreign: int = 0
    """In another language."""
    unread: int = 0
    """Replies in which the requested answer was not found, though they do not refuse."""
    examples: Sequence[str] = ()
    """Some of the unread replies."""
    astray: int = 0
    """Replies about something else than was asked."""
    withheld: int = 0
    """Replies that the server did not return, or that hold only thinking."""
    distinct: int | None = None
    """Number of distinct replies among those returned."""
    free: bool = True
    """Whether replies are free text; replies that name one of a few classes are expected to
    repeat."""
    cut: Sequence[str] = ()
    """For withheld replies that hold only thinking: the reason, with the token budget to set."""


def validity_of_replies(replies: ReplyCounts) -> ValidityCheck:
    """Unfit where the replies are no answers (`unanswered`); in doubt where too few could be read
    (`not_read`).
    """
    unfit = nonresponse_reason(replies)
    return ValidityCheck(unfit, None if unfit else not_read(replies))


def not_read(replies: ReplyCounts) -> str | None:
    """Why it is unknown what the replies say, with some of them; None where nine in ten of them are
    read.
    """
    lacking = replies.refused + replies.empty + replies.foreign + replies.astray + replies.withheld
    to_read = replies.n - lacking
    if (
        replies.unread <= (1 - LEAST_READ) * to_read + 1e-9
    ):  # tolerance for rounding, so that nine in ten is enough
        return None
    share = f"{replies.unread:,} of {to_read:,}"
    return f"{NOT_READ} {share} replies{such_as(replies.examples)}"


def mark_by_validity(figure: Figure, validity: ValidityCheck) -> Figure:
    """A descriptive figure: invalid where the instrument is unfit; where its replies were not read,
    marked as descriptive, with that doubt as its reason.
    """
    if validity.doubt is None or not validity.doubt.startswith(NOT_READ):
        return verdicts.mark_invalid(figure, validity)
    return replace(figure, verdict=str(Verdict.DESCRIPTIVE), why=f"{UNKNOWN}: {validity.doubt}.")


def such_as(replies: Iterable[str]) -> str:
    """A few different replies in quotes, each on one line and cut; "" if there are none."""
    examples = list(dict.fromkeys(replies))[:EXAMPLES]
    lines = [escape_unprintable(" ".join(reply.split())) for reply in examples]
    quotes = [f'"{line[:60]}"' for line in lines]
    return f", such as {', '.join(quotes)}" if quotes else ""


def nonresponse_reason(replies: ReplyCounts) -> str | None:
    """Why the replies do not count as answers, with counts; None where they do, or where too few
    could be read.
    """
    n_cut = len(replies.cut)
    if n_cut > MOST_CUT * replies.n:
        cut_reason = replies.cut[0]
        return f"{n_cut:,} of {replies.n:,} replies were {cut_reason}"
    often = {
        "refused": replies.refused,
        "empty": replies.empty,
        "in another language": replies.foreign,
    }
    rare = {"about something else": replies.astray, "not given": replies.withheld}
    counts = often | rare
    lacking = sum(counts.values())
    if lacking > MOST_UNANSWERED * replies.n:
        counted_reasons: list[str] = []
        for what, n in counts.items():
            if n or what in often:
                counted_reasons.append(f"{n:,} {what}")
        reasons = ", ".join(counted_reasons)
        return f"{lacking:,} of {replies.n:,} requests were not answered ({reasons})"
    n_given, distinct = replies.n - replies.withheld, replies.distinct
    if distinct is None or n_given < 2 or not_read(replies):
        return None
    if distinct == 1:
        return f"all {n_given:,} replies are the same"
    if replies.free and distinct < LEAST_DISTINCT * n_given:
        return f"only {distinct:,} of {n_given:,} replies are distinct, under a tenth"
    return None


def all_equal_reason(scores: ArrayLike, what: str) -> str | None:
    """The message that all scores are equal, so nothing was measured; None if they vary or there
    are fewer than two.

    `scores`: [units] or [units, series], NaN where missing; one varying series is enough. `what`:
    the plural noun for the scored units.
    """
    values = np.asarray(scores, dtype=np.float64)
    scored_series = [series[~np.isnan(series)] for series in np.atleast_2d(values.T)]
    several = [series for series in scored_series if len(series) > 1]
    are_constant = (constant_columns(series[:, None])[0] for series in several)
    if not several or not all(are_constant):
        return None
    return f"all {len(values):,} {what} have the same score"


def unmeasured_models(
    records_by_model: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, str]:
    """Map each unmeasured model to the message of `unmeasured_reason` about its records."""
    message_by_model: dict[str, str] = {}
    for model, records in records_by_model.items():
        message = unmeasured_reason(records)
        if message:
            message_by_model[model] = message
    return message_by_model


def unmeasured_reason(records: Iterable[Mapping[str, Any]]) -> str | None:
    """The message that nothing was measured on a model, and why; None where some verdict is not
    `invalid`.

    `records`: those of one instrument, or part of it, on one model; `verdict` and `why` are read
    where present.
    """
    judged = [record for record in records if isinstance(record.get("verdict"), str)]
    if not judged or any(record["verdict"] != Verdict.INVALID for record in judged):
        return None
    reasons = dict.fromkeys(str(record["why"]) for record in judged)
    return f"{Verdict.INVALID}: {' '.join(reasons)}"

"""Measures of two published studies, before and after their prompts say what they test (framing, appendix B).

`indirect-probing` is Dong et al. (2024), `p-at` Onorati et al. (2023). The formulas are ours, after these papers.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr, rel_entr

from evenruler import measurement
from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare.source import Study
from evenruler.measurement import Resampling
from evenruler.measurement.figures import finite
from evenruler.tables.schemas import BARE

Floats = NDArray[np.float64]
Stimuli = NDArray[np.intp]
Row = dict[str, object]

_MODEL = ["benchmark", "model", "lineage", "configuration"]


@dataclass(frozen=True)
class _Measure:
    """A measure of some stimuli of one model, on either side: 0 before, 1 after."""

    name: str
    metric: str
    of: Callable[[Stimuli, int], float]
    stimuli: Stimuli
    """Those that have a value on both sides; `of` leaves others out."""
    why_none: str | None = None
    width: float = 1.0
    """Of its range."""

    @property
    def reason(self) -> str | None:
        """Why it has no value."""
        return self.why_none or (None if len(self.stimuli) else "no stimulus has a value on both sides")

    def change(self, stimuli: Stimuli) -> float:
        return self.of(stimuli, 1) - self.of(stimuli, 0)


@dataclass(frozen=True)
class _Answers:
    """What one model answered in one configuration."""

    distributions: pd.DataFrame
    replies: pd.DataFrame
    outcomes: Mapping[str, Sequence[str]]
    sides: list[str]
    """The two framings, the one without the cue first."""
    stimuli: pd.Index

    def prompts(self, metric: str, column: str) -> Floats:
        """[sides, stimuli, tasks, classes] of a metric; nan where a prompt has no value on one of the sides."""
        own = self.distributions[self.distributions["metric"] == metric]
        table = own.pivot(index=["stimulus", "task"], columns=["framing", "outcome"], values=column)
        both = table.reindex(columns=pd.MultiIndex.from_product([self.sides, self.outcomes])).dropna()
        tasks, names = pd.factorize(both.index.get_level_values("task"))
        stimuli = self.stimuli.get_indexer(both.index.get_level_values("stimulus"))
        found = np.full((2, len(self.stimuli), len(names), 2), np.nan)
        found[:, stimuli, tasks] = both.to_numpy(dtype=np.float64).reshape(-1, 2, 2).swapaxes(0, 1)
        return found

    def count(self, replies: pd.DataFrame) -> Floats:
        """[sides, stimuli] how many replies there are."""
        table = pd.crosstab(replies["framing"], replies["stimulus"])
        return table.reindex(index=self.sides, columns=self.stimuli, fill_value=0).to_numpy(dtype=np.float64)


def replications(
    distributions: pd.DataFrame,
    choices: pd.DataFrame,
    outcomes: Mapping[str, Sequence[str]],
    groups: Mapping[str, str | None],
    study: Study,
    resampling: Resampling,
) -> pd.DataFrame:
    """Compute a study's own measures of every model, without and with the one cue of a contrast.

    `indirect-probing`, each from 0 to 1:
        GAS: share of replies with a form of either class anywhere in them, as a whole word in any case.
        GLD: mean over prompts (task x stimulus) of |Pa - Pb| / (Pa + Pb), P the mass of a class at the decision point.
        ADD: Jensen-Shannon distance (base 2) of the distributions over stimuli given each class, P(stimulus | class)
        proportional to the mean over tasks of the mass of the class.
        AS (metric `all`): mean absolute change of the three.

    `p-at`, by the metric `token` and, where the model was sampled, `choice`:
        S: half the difference of the mean preference (share of the first class less that of the second) for stimuli of
        the first group and of the second, -1 to 1.
        H: entropy of the mean shares of the two classes, 0 to 1 bit.
        AS: mean absolute change of H and of S brought to 0..1, (S + 1) / 2.

    What has a value on one side only is left out on both, so that the change is between the same prompts. Intervals
    are drawn over stimuli, the same ones for both sides and for all measures of `AS`; that of `AS`, of absolute
    changes, lies high where little changes.

    Args:
        distributions: By `schemas.DISTRIBUTIONS`, of one contrast, without excluded cells.
        choices: By `CHOICES`, of the same; may be empty.
        outcomes: Surface forms of the two classes, in the order of the source.
        groups: The group of every stimulus, in the order of the source; for `p-at`.
        study: Which measures.
        resampling: How intervals are computed.

    Returns:
        By `schemas.REPLICATIONS`. A measure is null with the reason where nothing has a value on
        both sides; `AS` is where one of its measures is.

    Raises:
        ValueError: There are not two classes, or there is more than one framing beside the bare one.

    Source: appendix B. The paper's tables of AS disagree with its text; what it is here is a decision of ours.
    """
    framings = sorted((set(distributions["framing"]) | set(choices["framing"])) - {BARE})
    if len(outcomes) != 2 or len(framings) > 1:
        found = f"classes {', '.join(outcomes)}; framings {', '.join(framings)}"
        raise ValueError(f"a replication compares two classes under one cue, found {found}")
    # Where nothing was asked with the cue, the other side is one that no row has.
    sides = [BARE, framings[0] if framings else ""]
    rows: list[Row] = []
    keys = pd.concat([distributions[_MODEL], choices[_MODEL]]).drop_duplicates()
    for key in sorted(keys.itertuples(index=False, name=None)):
        own, replies = (frame[(frame[_MODEL] == list(key)).all(axis=1)] for frame in (distributions, choices))
        stimuli = pd.Index(sorted({*own["stimulus"], *replies["stimulus"]}))
        answers = _Answers(own, replies, outcomes, sides, stimuli)
        here = {**dict(zip(_MODEL, key, strict=True)), "study": study}
        for metric, measures in _probing(answers) if study == "indirect-probing" else _association(answers, groups):
            rows += [{**here, **_row(measure, resampling)} for measure in measures]
            rows.append({**here, **_sensitivity(metric, measures, resampling)})
    return pd.DataFrame(rows, columns=schemas.REPLICATIONS.names)


def _probing(answers: _Answers) -> Iterator[tuple[str, list[_Measure]]]:
    forms = "|".join(re.escape(form) for of_class in answers.outcomes.values() for form in of_class)
    given = answers.replies.dropna(subset="reply")  # what was withheld may have had a form or not
    gendered = given["reply"].str.contains(rf"(?<!\w)(?:{forms})(?!\w)", case=False, regex=True)
    hits, counts = answers.count(given[gendered.astype(bool)]), answers.count(given)
    replies = np.stack([hits, counts], axis=-1) * (counts.min(axis=0) > 0)[:, None]
    # Shares are masses over their sum, so that they are GLD as they are.
    shares, mass = answers.prompts("token", "share"), answers.prompts("token", "mass")
    distances = np.stack([np.nansum(np.abs(shares[..., 0] - shares[..., 1]), axis=2), _tasks(shares)], axis=-1)
    by_stimulus = np.nansum(mass, axis=2) / np.maximum(_tasks(mass), 1)[..., None]

    def share(sums: Floats) -> float:
        return float(sums[0] / sums[1])

    def add(stimuli: Stimuli, side: int) -> float:
        return _jensen_shannon(*by_stimulus[side, stimuli].T)

    unasked = None if len(answers.replies) else "the model was not sampled"
    known = _known(_tasks(mass))
    no_mass = "a class has no mass" if len(known) and by_stimulus.sum(axis=1).min() == 0 else None
    measures = [
        _Measure("GAS", "choice", _of_sums(replies, share), _known(replies[..., 1]), unasked),
        _Measure("GLD", "token", _of_sums(distances, share), _known(distances[..., 1])),
        _Measure("ADD", "token", add, known, no_mass),
    ]
    yield "all", measures


def _association(answers: _Answers, groups: Mapping[str, str | None]) -> Iterator[tuple[str, list[_Measure]]]:
    order = list(dict.fromkeys(groups.values()))
    group = np.array([order.index(groups[stimulus]) for stimulus in answers.stimuli])
    sampled = len(answers.replies) > 0 or "choice" in set(answers.distributions["metric"])
    for metric in ("token", "choice") if sampled else ("token",):
        yield metric, _preferences(metric, answers.prompts(metric, "share"), group)


def _preferences(metric: str, shares: Floats, group: Stimuli) -> list[_Measure]:
    """S and H of shares, [sides, stimuli, tasks, classes]; `group`, [stimuli], is 0 or 1."""
    totals, tasks = np.nansum(shares, axis=2), _tasks(shares)
    preferences = np.stack([totals[..., 0] - totals[..., 1], tasks], axis=-1)
    by_group = preferences[..., None] * np.eye(2)[group][:, None]

    def s(sums: Floats) -> float:
        return float(np.subtract(*(sums[0] / sums[1]))) / 2

    def h(sums: Floats) -> float:
        return float(entr(sums / sums.sum()).sum() / np.log(2))

    known = _known(tasks)
    lacking = "a group has no stimulus with a value on both sides" if len(set(group[known])) == 1 else None
    return [
        _Measure("S", metric, _of_sums(by_group, s), known, lacking, width=2.0),
        _Measure("H", metric, _of_sums(totals, h), known),
    ]


def _of_sums(table: Floats, statistic: Callable[[Floats], float]) -> Callable[[Stimuli, int], float]:
    """A measure that is a function of sums over stimuli, of [sides, stimuli, ...]."""
    return lambda stimuli, side: statistic(table[side, stimuli].sum(axis=0))


def _tasks(prompts: Floats) -> Floats:
    """[sides, stimuli] how many tasks have a value, of [sides, stimuli, tasks, classes]."""
    return np.asarray((~np.isnan(prompts[..., 0])).sum(axis=2), dtype=np.float64)


def _known(counts: Floats) -> Stimuli:
    """The stimuli that have any value, of [sides, stimuli] where values are paired."""
    return np.flatnonzero(counts[0])


def _row(measure: _Measure, resampling: Resampling) -> Row:
    row: Row = {"metric": measure.metric, "measure": measure.name, "n": len(measure.stimuli), "reason": measure.reason}
    if measure.reason:
        return row
    before = _interval(lambda drawn: measure.of(drawn, 0), measure.stimuli, "before", "before_", resampling)
    after = _interval(lambda drawn: measure.of(drawn, 1), measure.stimuli, "after", "after_", resampling)
    return row | before | after | _interval(measure.change, measure.stimuli, "change", "", resampling)


def _sensitivity(metric: str, measures: Sequence[_Measure], resampling: Resampling) -> Row:
    """AS: the mean absolute change of measures, each brought to a range of width 1."""
    stimuli = np.unique(np.concatenate([measure.stimuli for measure in measures]))
    row: Row = {"metric": metric, "measure": "AS", "n": len(stimuli), "reason": None}
    for measure in measures:
        if measure.reason:
            return row | {"reason": f"{measure.name} is null: {measure.reason}"}

    def of_drawn(drawn: Stimuli) -> float:
        return float(np.mean([abs(measure.change(drawn)) / measure.width for measure in measures]))

    return row | _interval(of_drawn, stimuli, "change", "", resampling)


def _interval(of: Callable[[Stimuli], float], stimuli: Stimuli, name: str, prefix: str, how: Resampling) -> Row:
    """A measure as `name`, its bootstrap interval over stimuli as `low` and `high` with a prefix."""
    if len(stimuli) < 2:
        return {name: of(stimuli), "reason": "a single value has no interval"}
    found = measurement.bootstrap(of, stimuli, level=how.level, n=how.resamples, seed=how.seed)
    return {name: found.value, f"{prefix}low": finite(found.low), f"{prefix}high": finite(found.high)}


def _jensen_shannon(first: Floats, second: Floats) -> float:
    """Distance of two distributions, given up to a factor; scipy's is nan where rounding takes its square below 0."""
    with np.errstate(invalid="ignore"):
        p, q = first / first.sum(), second / second.sum()
    divergence = (rel_entr(p, (p + q) / 2).sum() + rel_entr(q, (p + q) / 2).sum()) / 2
    return float(np.sqrt(np.maximum(divergence / np.log(2), 0.0)))

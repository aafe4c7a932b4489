"""The measures of two published studies, of some stimuli, in any framing of their prompts (framing, appendix B).

`indirect-probing` is Dong et al. (2024), `p-at` Onorati et al. (2023). The formulas are ours, after these papers.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr, rel_entr

from evenruler.instruments.framing.declare.source import Study

Floats = NDArray[np.float64]
Stimuli = NDArray[np.intp]

AS = "AS"
"""How the name of a measure begins that is the mean absolute change of others; it has no before and after."""

AS_OF_WORDS = f"{AS} of GLD and ADD"
"""Of indirect probing, AS of what is of the probability of words alone."""

MEANS = {"GAS", "GLD", "S"}
"""Means over stimuli: of other stimuli they are the same but for chance. The others bend."""

BOTH_WAYS = "`configurations: every` asks both in both ways"


@dataclass(frozen=True)
class Measure:
    """A measure of some stimuli of one model, on several sides: 0 before, 1 after, maybe 2 with a placebo."""

    name: str
    metric: str
    of: Callable[[Stimuli, int], float]
    stimuli: Stimuli
    """Those that have a value on every side; `of` leaves others out."""
    why_none: str | None = None
    lowest: float = 0.0
    """Where its range begins; it ends at 1."""

    @property
    def width(self) -> float:
        """Of its range."""
        return 1.0 - self.lowest

    @property
    def reason(self) -> str | None:
        """Why it has no value."""
        return self.why_none or (None if len(self.stimuli) else "no stimulus has a value on both sides")

    def change(self, stimuli: Stimuli, side: int = 1) -> float:
        """From before to another side."""
        return self.of(stimuli, side) - self.of(stimuli, 0)


@dataclass(frozen=True)
class Answers:
    """What one model answered in one configuration."""

    distributions: pd.DataFrame
    replies: pd.DataFrame
    outcomes: Mapping[str, Sequence[str]]
    sides: list[str]
    """Framings, the one without the cue first. A prompt counts on all of them or on none."""
    stimuli: pd.Index
    elsewhere: bool
    """Whether the model was asked in another configuration."""

    def prompts(self, metric: str, column: str) -> Floats:
        """[sides, stimuli, tasks, classes] of a metric; nan where a prompt has no value on one of the sides."""
        own = self.distributions[self.distributions["metric"] == metric]
        table = own.pivot(index=["stimulus", "task"], columns=["framing", "outcome"], values=column)
        known = table.reindex(columns=pd.MultiIndex.from_product([self.sides, self.outcomes])).dropna()
        tasks, names = pd.factorize(known.index.get_level_values("task"))
        stimuli = self.stimuli.get_indexer(known.index.get_level_values("stimulus"))
        found = np.full((len(self.sides), len(self.stimuli), len(names), 2), np.nan)
        found[:, stimuli, tasks] = known.to_numpy(dtype=np.float64).reshape(-1, len(self.sides), 2).swapaxes(0, 1)
        return found

    def gendered(self) -> Floats:
        """[sides, stimuli, 2] how many replies hold a form of a class, and how many there are."""
        forms = "|".join(re.escape(form) for of_class in self.outcomes.values() for form in of_class)
        given = self.replies.dropna(subset="reply")  # what was withheld may have had a form or not
        hit = given["reply"].astype(str).str.contains(rf"(?<!\w)(?:{forms})(?!\w)", case=False, regex=True)
        by_framing = given.assign(hit=hit.astype(float)).pivot_table(
            index=["stimulus", "task"], columns="framing", values="hit", aggfunc=["sum", "size"]
        )
        table = by_framing.reindex(columns=pd.MultiIndex.from_product([["sum", "size"], self.sides]))
        sums = table.dropna().groupby(level="stimulus").sum().reindex(self.stimuli, fill_value=0)
        return sums.to_numpy(dtype=np.float64).reshape(-1, 2, len(self.sides)).transpose(2, 0, 1)


def measures(answers: Answers, study: Study, groups: Mapping[str, str | None]) -> dict[tuple[str, str], Measure]:
    """By metric and name, those of AS after the ones that they are made of.

    Args:
        answers: Of one model in one configuration.
        study: Which measures.
        groups: The group of every stimulus, in the order of the source; for `p-at`.
    """
    found = _probing(answers) if study == "indirect-probing" else _association(answers, groups)
    return {(measure.metric, measure.name): measure for measure in found}


def _probing(answers: Answers) -> Iterator[Measure]:
    replies = answers.gendered()
    # Shares are masses over their sum, so that they are GLD as they are.
    shares, mass = answers.prompts("token", "share"), answers.prompts("token", "mass")
    distances = np.stack([np.nansum(np.abs(shares[..., 0] - shares[..., 1]), axis=2), _tasks(shares)], axis=-1)
    by_stimulus = np.nansum(mass, axis=2) / np.maximum(_tasks(mass), 1)[..., None]

    def share(sums: Floats) -> float:
        return float(sums[0] / sums[1])

    def add(stimuli: Stimuli, side: int) -> float:
        return _jensen_shannon(*by_stimulus[side, stimuli].T)

    known = _known(_tasks(mass))
    no_mass = "a class has no mass" if len(known) and by_stimulus.sum(axis=1).min() == 0 else None
    gas = Measure("GAS", "choice", _of_sums(replies, share), _known(replies[..., 1]), _unsampled(answers))
    of_words = [
        Measure("GLD", "token", _of_sums(distances, share), _known(distances[..., 1]), _wordless(answers)),
        Measure("ADD", "token", add, known, _wordless(answers) or no_mass),
    ]
    yield from (gas, *of_words)
    yield _sensitivity(AS, "all", [gas, *of_words])
    yield _sensitivity(AS_OF_WORDS, "token", of_words)


def _unsampled(answers: Answers) -> str | None:
    if len(answers.replies):
        return None
    # A model that was asked in two ways was asked for words in one and for replies in the other.
    remedy = BOTH_WAYS if answers.elsewhere else "`generations` above 0 and `choices: every` ask for them"
    return f"no replies were asked for in this way; {remedy}"


def _wordless(answers: Answers) -> str | None:
    if "token" in set(answers.distributions["metric"]):
        return None
    return f"no words were asked for in this way; {BOTH_WAYS}"


def _association(answers: Answers, groups: Mapping[str, str | None]) -> Iterator[Measure]:
    order = list(dict.fromkeys(groups.values()))
    group = np.array([order.index(groups[stimulus]) for stimulus in answers.stimuli])
    sampled = len(answers.replies) > 0 or "choice" in set(answers.distributions["metric"])
    for metric in ("token", "choice") if sampled else ("token",):
        own = _preferences(metric, answers.prompts(metric, "share"), group)
        yield from (*own, _sensitivity(AS, metric, own))


def _preferences(metric: str, shares: Floats, group: Stimuli) -> list[Measure]:
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
        Measure("S", metric, _of_sums(by_group, s), known, lacking, lowest=-1.0),
        Measure("H", metric, _of_sums(totals, h), known),
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


def _sensitivity(name: str, metric: str, measures: Sequence[Measure]) -> Measure:
    """The mean absolute change of measures, each brought to a range of width 1; before it there is none."""
    stimuli = np.unique(np.concatenate([measure.stimuli for measure in measures]))
    reasons = [f"{measure.name} is null: {measure.reason}" for measure in measures if measure.reason]

    def of(units: Stimuli, side: int) -> float:
        return float(np.mean([abs(measure.change(units, side)) / measure.width for measure in measures]))

    return Measure(name, metric, of, stimuli, reasons[0] if reasons else None)


def _jensen_shannon(first: Floats, second: Floats) -> float:
    """Distance of two distributions, given up to a factor; scipy's is nan where rounding takes its square below 0."""
    with np.errstate(invalid="ignore"):
        p, q = first / first.sum(), second / second.sum()
    divergence = (rel_entr(p, (p + q) / 2).sum() + rel_entr(q, (p + q) / 2).sum()) / 2
    return float(np.sqrt(np.maximum(divergence / np.log(2), 0.0)))

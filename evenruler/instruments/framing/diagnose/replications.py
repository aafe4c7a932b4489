"""Measures of two published studies, without and with the cue that tells what is tested (framing,
appendix B).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr, rel_entr

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare import AS, AS_OF_WORDS, MEAN_CHANGES
from evenruler.instruments.framing.declare.source import Study
from evenruler.instruments.framing.declare.task_prompts import alternative_of
from evenruler.measurement.figures import Row, finite_or_none
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import jackknife, logit_transformation
from evenruler.tables.schemas import BARE

Stimuli = NDArray[np.intp]

MEANS = {"GAS", "GLD", "S"}
"""Measures that are means over stimuli and get intervals. The others are nonlinear, and so biased
in samples."""

BOTH_WAYS = "`prompt_formats: every` asks both in both ways"


@dataclass(frozen=True)
class StudyMeasure:
    """A measure of some stimuli of one model on two sides: 0 before, 1 after."""

    name: str
    readout: str
    statistic: Callable[[Stimuli, int], float]
    stimuli: Stimuli
    """The stimuli with a value on both sides."""
    why_none: str | None = None
    lowest: float = 0.0
    """Lower end of its range; the upper is 1."""

    @property
    def reason(self) -> str | None:
        """Why it has no value, or None."""
        return self.why_none or (
            None if len(self.stimuli) else "no stimulus has a value on both sides"
        )

    def change(self, stimuli: Stimuli) -> float:
        """After minus before."""
        return self.statistic(stimuli, 1) - self.statistic(stimuli, 0)


@dataclass(frozen=True)
class Answers:
    """Answers of one model in one prompt format."""

    distributions: pd.DataFrame
    replies: pd.DataFrame
    outcomes: Mapping[str, Sequence[str]]
    sides: list[str]
    """Framings, the one without the cue first. A prompt counts only if it has a value on all of
    them."""
    stimuli: pd.Index
    elsewhere: bool
    """Whether the model was asked in another prompt format."""

    def prompts(self, readout: str, column: str) -> Floats:
        """[sides, stimuli, tasks, classes] of a readout; nan where a prompt has no value on one of
        the sides.
        """
        readout_rows = self.distributions[self.distributions["readout"] == readout]
        table = readout_rows.pivot(
            index=["stimulus", "task"], columns=["framing", "outcome"], values=column
        )
        complete_rows = table.reindex(
            columns=pd.MultiIndex.from_product([self.sides, self.outcomes])
        ).dropna()
        tasks, names = pd.factorize(complete_rows.index.get_level_values("task"))
        stimuli = self.stimuli.get_indexer(complete_rows.index.get_level_values("stimulus"))
        shape = (len(self.sides), len(self.stimuli), len(names), 2)
        prompt_values = np.full(shape, np.nan)
        by_side = complete_rows.to_numpy(dtype=np.float64).reshape(-1, len(self.sides), 2)
        prompt_values[:, stimuli, tasks] = by_side.swapaxes(0, 1)
        return prompt_values

    def gendered(self) -> Floats:
        """[sides, stimuli, 2] number of replies that hold a form of a class, and of all replies."""
        forms = "|".join(map(re.escape, chain.from_iterable(self.outcomes.values())))
        replies = self.replies.dropna(subset="reply")  # withheld replies are unknown
        hit = (
            replies["reply"]
            .astype(str)
            .str.contains(rf"(?<!\w)(?:{forms})(?!\w)", case=False, regex=True)
        )
        by_framing = replies.assign(hit=hit.astype(float)).pivot_table(
            index=["stimulus", "task"], columns="framing", values="hit", aggfunc=["sum", "size"]
        )
        table = by_framing.reindex(
            columns=pd.MultiIndex.from_product([["sum", "size"], self.sides])
        )
        sums = table.dropna().groupby(level="stimulus").sum().reindex(self.stimuli, fill_value=0)
        by_stimulus = sums.to_numpy(dtype=np.float64).reshape(-1, 2, len(self.sides))
        return by_stimulus.transpose(2, 0, 1)


def build_measures(
    answers: Answers, study: Study, groups: Mapping[str, str | None]
) -> dict[tuple[str, str], StudyMeasure]:
    """Measures by readout and name, AS after those it is made of; `groups`: of stimuli, for
    `p-at`.
    """
    study_measures = (
        _probing_measures(answers)
        if study == "indirect-probing"
        else _preference_measures(answers, groups)
    )
    return {(measure.readout, measure.name): measure for measure in study_measures}


def _probing_measures(answers: Answers) -> list[StudyMeasure]:
    """Measures of indirect probing: GAS (replies with a gendered word), GLD and ADD (probabilities
    of words), then their mean absolute changes.
    """
    replies = answers.gendered()
    # Shares are masses over their sum, so their differences are GLD.
    shares = answers.prompts("token", "share")
    mass = answers.prompts("token", "mass")
    gaps = np.abs(shares[..., 0] - shares[..., 1])
    distances = np.stack([np.nansum(gaps, axis=2), _tasks_with_values(shares)], axis=-1)
    tasks_with_mass = _tasks_with_values(mass)
    n_tasks = np.maximum(tasks_with_mass, 1)
    by_stimulus = np.nansum(mass, axis=2) / n_tasks[..., None]

    def share(sums: Floats) -> float:
        """A share from its two sums over stimuli: the first divided by the second."""
        return float(sums[0] / sums[1])

    def add(stimuli: Stimuli, side: int) -> float:
        """ADD: the Jensen-Shannon distance, base 2 (0 to 1), between the two classes' distributions
        over stimuli on one side; NaN where a class has no mass.
        """
        # Normalises both. Not scipy's `jensenshannon`, which is NaN where rounding makes its square
        # negative.
        class_masses = by_stimulus[side, stimuli].T
        with np.errstate(invalid="ignore"):
            p, q = (masses / masses.sum() for masses in class_masses)
        middle = (p + q) / 2
        p_divergence = rel_entr(p, middle).sum()
        q_divergence = rel_entr(q, middle).sum()
        divergence = (p_divergence + q_divergence) / 2
        return float(np.sqrt(np.maximum(divergence / np.log(2), 0.0)))

    stimuli_with_mass = _stimuli_with_values(tasks_with_mass)
    unsampled = wordless = None
    if answers.replies.empty:
        # With two prompt_formats, words were asked for in one and replies in the other.
        remedy = (
            BOTH_WAYS
            if answers.elsewhere
            else "`generations` above 0 and `choices: every` ask for them"
        )
        unsampled = f"no replies were asked for in this way; {remedy}"
    if "token" not in set(answers.distributions["readout"]):
        wordless = f"no words were asked for in this way; {BOTH_WAYS}"
    no_mass = (
        "a class has no mass"
        if len(stimuli_with_mass) and by_stimulus.sum(axis=1).min() == 0
        else None
    )
    gas = StudyMeasure(
        "GAS", "choice", _of_sums(replies, share), _stimuli_with_values(replies[..., 1]), unsampled
    )
    gld = StudyMeasure(
        "GLD",
        "token",
        _of_sums(distances, share),
        _stimuli_with_values(distances[..., 1]),
        wordless,
    )
    of_words = [gld, StudyMeasure("ADD", "token", add, stimuli_with_mass, wordless or no_mass)]
    of_both = _mean_absolute_change(AS, "all", [gas, *of_words])
    change_of_words = _mean_absolute_change(AS_OF_WORDS, "token", of_words)
    return [gas, *of_words, of_both, change_of_words]


def _preference_measures(answers: Answers, groups: Mapping[str, str | None]) -> list[StudyMeasure]:
    """Measures of P-AT by readout: S, H and their mean absolute change; `groups`: of stimuli."""
    order = list(dict.fromkeys(groups.values()))
    group = np.array([order.index(groups[stimulus]) for stimulus in answers.stimuli])
    measured_metrics = set(answers.distributions["readout"])
    sampled = len(answers.replies) > 0 or "choice" in measured_metrics

    def s(sums: Floats) -> float:
        """S: half of the first class's lead among the first group's stimuli less that among the
        second's, -1 to 1; `sums`: [2, groups] leads, and their numbers.
        """
        first, second = sums[0] / sums[1]
        return float(first - second) / 2

    def h(sums: Floats) -> float:
        """H: the entropy of the shares of classes, in bits; `sums`: by class, over stimuli."""
        nats = entr(sums / sums.sum()).sum()
        return float(nats / np.log(2))

    study_measures = []
    readouts = ("token", "choice") if sampled else ("token",)
    for readout in readouts:
        shares = answers.prompts(readout, "share")
        totals = np.nansum(shares, axis=2)
        tasks = _tasks_with_values(shares)
        differences = totals[..., 0] - totals[..., 1]
        preferences = np.stack([differences, tasks], axis=-1)
        is_in_group = np.eye(2)[group]
        by_group = preferences[..., None] * is_in_group[:, None]
        answered_stimuli = _stimuli_with_values(tasks)
        lacking = (
            "a group has no stimulus with a value on both sides"
            if len(set(group[answered_stimuli])) == 1
            else None
        )
        metric_measures = [
            StudyMeasure(
                "S", readout, _of_sums(by_group, s), answered_stimuli, lacking, lowest=-1.0
            ),
            StudyMeasure("H", readout, _of_sums(totals, h), answered_stimuli),
        ]
        study_measures += [*metric_measures, _mean_absolute_change(AS, readout, metric_measures)]
    return study_measures


def _of_sums(
    table: Floats, statistic: Callable[[Floats], float]
) -> Callable[[Stimuli, int], float]:
    """A measure that is a function of sums over stimuli; `table`: [sides, stimuli, ...]."""
    return lambda stimuli, side: statistic(table[side, stimuli].sum(axis=0))


def _tasks_with_values(prompts: Floats) -> Floats:
    """[sides, stimuli] number of tasks with a value, from [sides, stimuli, tasks, classes]."""
    has_value = ~np.isnan(prompts[..., 0])
    return np.asarray(has_value.sum(axis=2), dtype=np.float64)


def _stimuli_with_values(counts: Floats) -> Stimuli:
    """The stimuli with any value, from [sides, stimuli] counts, which are 0 on all sides or on
    none.
    """
    return np.flatnonzero(counts[0])


def _mean_absolute_change(
    name: str, readout: str, measures: Sequence[StudyMeasure]
) -> StudyMeasure:
    """The mean absolute change of measures, each scaled to a range of width 1; 0 on side 0."""
    stimuli = np.unique(np.concatenate([measure.stimuli for measure in measures]))
    reasons = [
        f"{measure.name} is null: {measure.reason}" for measure in measures if measure.reason
    ]

    def mean_change(units: Stimuli, side: int) -> float:
        """The mean absolute change of the measures on side 1; 0 on side 0."""
        changes = [abs(measure.change(units)) / (1.0 - measure.lowest) for measure in measures]
        return side * float(np.mean(changes))

    return StudyMeasure(name, readout, mean_change, stimuli, reasons[0] if reasons else None)


def compute_replications(
    distributions: pd.DataFrame,
    choices: pd.DataFrame,
    outcomes: Mapping[str, Sequence[str]],
    groups: Mapping[str, str | None],
    study: Study,
    level: float,
) -> pd.DataFrame:
    """Compute a study's own measures of every model, without and with the one cue of a contrast.

    They are defined in docs/framing.md ("Replications"); for `indirect-probing` AS has the readout
    `all`, since it combines words and replies of one prompt format. Prompts with a value on one
    side only are left out on both. A measure is null with the reason where no stimulus has a value
    on both sides; `AS` is null where one of its measures is. By `schemas.REPLICATIONS`.

    `distributions` (without excluded cells) and `choices` (may be empty) by `schemas`, of one
    contrast; `outcomes`: surface forms of the classes; `groups`: of every stimulus, for `p-at`;
    both in the order of the source. ValueError where there are not two classes, or more than one
    cue.
    Source: appendix B. The paper's tables of AS disagree with its text; the definition here is our
    decision.
    """
    framings = {*distributions["framing"], *choices["framing"]} - {BARE}
    cues = sorted(framing for framing in framings if not alternative_of(framing))
    if len(outcomes) != 2 or len(cues) > 1:
        classes_and_framings = f"classes {', '.join(outcomes)}; framings {', '.join(cues)}"
        raise ValueError(
            f"a replication compares two classes under one cue, found {classes_and_framings}"
        )
    # If nothing was asked with the cue, the other side is "", which no row has.
    sides = [BARE, *(cues or [""])]
    alternatives = [framing for framing in framings if alternative_of(framing) > 0]
    rows: list[Row] = []
    of_model = ["benchmark", "model", "lineage", "prompt_format"]
    model_prompt_formats = pd.concat([distributions[of_model], choices[of_model]]).drop_duplicates()
    models = model_prompt_formats.groupby(of_model[:-1])["prompt_format"].transform("size")
    for key, ways in sorted(
        zip(model_prompt_formats.itertuples(index=False, name=None), models, strict=True)
    ):
        model_distributions = distributions[(distributions[of_model] == list(key)).all(axis=1)]
        replies = choices[(choices[of_model] == list(key)).all(axis=1)]
        stimuli = pd.Index(sorted({*model_distributions["stimulus"], *replies["stimulus"]}))
        answers = partial(
            Answers, model_distributions, replies, outcomes, stimuli=stimuli, elsewhere=ways > 1
        )
        alternative_measures = [
            build_measures(answers(sides=[BARE, alternative]), study, groups)
            for alternative in sorted(alternatives, key=alternative_of)
        ]
        for name, measure in build_measures(answers(sides=sides), study, groups).items():
            of_alternatives = [by_name[name] for by_name in alternative_measures if name in by_name]
            identity = dict(zip(of_model, key, strict=True), study=study)
            rows.append(identity | _replication_row(measure, of_alternatives, level))
    return pd.DataFrame(rows, columns=schemas.REPLICATIONS.names)


def _replication_row(
    measure: StudyMeasure, alternative_measures: Sequence[StudyMeasure], level: float
) -> Row:
    """A measure without and with the cue, its change, and as control the mean change with
    alternatives.
    """
    row: Row = {
        "readout": measure.readout,
        "measure": measure.name,
        "n": len(measure.stimuli),
        "reason": measure.reason,
    }
    if measure.reason:
        return row
    if measure.name not in MEAN_CHANGES:
        row |= _measure_row(
            lambda units: measure.statistic(units, 0),
            measure,
            "before",
            "before_",
            measure.lowest,
            level,
        )
        row |= _measure_row(
            lambda units: measure.statistic(units, 1),
            measure,
            "after",
            "after_",
            measure.lowest,
            level,
        )
    row |= _measure_row(measure.change, measure, "change", "", measure.lowest - 1.0, level)
    alternative_changes = [
        alternative.change(alternative.stimuli)
        for alternative in alternative_measures
        if not alternative.reason
    ]
    return row | (
        {"control": finite_or_none(float(np.mean(alternative_changes)))}
        if alternative_changes
        else {}
    )


def _measure_row(
    statistic: Callable[[Stimuli], float],
    measure: StudyMeasure,
    name: str,
    prefix: str,
    lowest: float,
    level: float,
) -> Row:
    """A value as `name`, and for `MEANS` its interval over stimuli as `low` and `high` with a
    prefix.
    """
    if measure.name not in MEANS:
        return {name: finite_or_none(statistic(measure.stimuli))}
    highest = -lowest if name == "change" else 1.0
    interval = jackknife(
        statistic, measure.stimuli, scale=logit_transformation(lowest, highest), level=level
    )
    return {
        name: finite_or_none(interval.value),
        f"{prefix}low": finite_or_none(interval.low),
        f"{prefix}high": finite_or_none(interval.high),
    }

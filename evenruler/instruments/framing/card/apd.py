"""Metrics of a contrast of framings for lm-evaluation-harness: how far each cue moves answers,
beside placebos.

Lies beside the task that uses it and needs nothing but the standard library.
"""

import json
import logging
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

PLAN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "plan.json").read_text(encoding="utf-8")
)
"""What is asked of the benchmark that this file is part of."""

CLASSES: list[str] = [outcome["outcome"] for outcome in PLAN["outcomes"]]

CLASS_OF: dict[str, str] = {
    form.lower(): outcome["outcome"] for outcome in PLAN["outcomes"] for form in outcome["forms"]
}

LETTERS = "ABCDEFGHIJ"

BARE = "bare"

ROUNDING = 1e-12

Answer = dict[str, Any]
"""`task`, `framing`, `stimulus` (None where the prompt has no content), `order` of options (empty
where words are read), and `masses`: probability by letter or class."""

Cells = dict[tuple[str, str], dict[str, list[list[float]]]]
"""By task and framing, by stimulus: the mass of every class, of each of its prompts."""

Apds = dict[int, dict[str, dict[str, list[float]]]]
"""By number of the placebo (0: the cue, -2: its second wording), by task, by stimulus: APD of each
pair of cells."""


def metric_inputs(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """What one prompt brings to every metric: the mass of each letter or class, whatever follows
    its forms.
    """
    alone, *nats = [
        float(result[0] if isinstance(result, tuple | list) else result) for result in results
    ]
    masses: dict[str, float] = defaultdict(float)
    for form, form_nats in zip(doc["forms"], nats, strict=True):
        masses[form.strip() if doc["order"] else CLASS_OF[form.strip().lower()]] += math.exp(
            form_nats - alone
        )
    answer = {key: doc[key] for key in ("task", "framing", "stimulus", "order")} | {
        "masses": dict(masses)
    }
    inputs: dict[str, Any] = {"coverage": answer}
    for factor in PLAN["factors"]:
        for metric in ("effect", *(["control"] if PLAN["placebos"][factor] else ())):
            inputs[f"{metric}_{factor}".replace("-", "_")] = (factor, answer)
    return inputs


def effect(answers: Sequence[tuple[str, Answer]]) -> float:
    """Mean APD with and without the cue of a factor: over pairs of cells, stimuli, and tasks."""
    apds, tasks = _factor_apds(answers)
    return _over_tasks(apds[0], tasks)


def control(answers: Sequence[tuple[str, Answer]]) -> float:
    """The same with and without a placebo in its place, mean over placebos, each over its own
    stimuli.
    """
    apds, tasks = _factor_apds(answers)
    return _mean_or_nan(
        [
            _over_tasks(apds_by_task, tasks)
            for number, apds_by_task in sorted(apds.items())
            if number > 0 and {*tasks} <= {*apds_by_task}
        ]
    )


def _over_tasks(
    by_task: Mapping[str, Mapping[str, Sequence[float]]], tasks: Sequence[str]
) -> float:
    """Mean over tasks of the mean over stimuli of that over pairs of cells."""
    return _mean_or_nan(
        [_mean_or_nan([fmean(pairs) for pairs in by_task[task].values()]) for task in tasks]
    )


def coverage(answers: Sequence[Answer]) -> float:
    """Share of answers that name an option: mean over the cells without placebos, then over
    stimuli.
    """
    by_stimulus: dict[str, list[float]] = defaultdict(list)
    for (_, framing), stimuli in collect_cell_masses(answers).items():
        if not any(cues_of(framing).values()):
            for stimulus, prompts in stimuli.items():
                by_stimulus[stimulus].append(_mean_coverage(prompts))
    return _mean_or_nan([fmean(coverages) for coverages in by_stimulus.values()])


def collect_cell_masses(answers: Iterable[Answer]) -> Cells:
    """Masses of the classes by cell and stimulus. Letters have the class of their option, and are
    calibrated first.

    Where the prompts without content of a cell are lacking (as with `--limit`) it is left out, and
    that is logged.
    """
    answers = list(answers)
    priors = _letter_priors([answer for answer in answers if answer["stimulus"] is None])
    masses_by_cell: Cells = defaultdict(lambda: defaultdict(list))
    lacking = set()
    for answer in answers:
        cell, masses = (answer["task"], answer["framing"]), answer["masses"]
        if answer["stimulus"] is None:
            continue
        if answer["order"]:
            if PLAN["calibrated"] and cell not in priors:
                lacking.add(cell)
                continue
            masses = _by_option(
                _calibrate_masses(masses, priors[cell]) if PLAN["calibrated"] else masses,
                answer["order"],
            )
        masses_by_cell[cell][answer["stimulus"]].append(
            [masses.get(outcome, 0.0) for outcome in CLASSES]
        )
    if lacking:
        logging.getLogger(__name__).warning(
            "%d cells lack their prompts without content", len(lacking)
        )
    return masses_by_cell


def cues_of(framing: str) -> dict[str, int]:
    """By factor the number of the placebo or wording that stands for its cue; 0 where that is the
    cue itself.
    """
    if framing == BARE:
        return {}
    parts = [cue.partition("~") for cue in framing.split("+")]
    return {factor: int(number or 0) for factor, _, number in parts}


def _letter_priors(empty: Iterable[Answer]) -> dict[tuple[str, str], dict[str, float]]:
    """By cell, each letter's share of the letters after prompts without content, mean over
    these.
    """
    shares: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for answer in empty:
        total = math.fsum(answer["masses"].values())
        for letter, mass in answer["masses"].items():
            shares[answer["task"], answer["framing"]][letter].append(mass / total)
    return {
        cell: {letter: fmean(letter_shares) for letter, letter_shares in letters.items()}
        for cell, letters in shares.items()
    }


def _calibrate_masses(masses: Mapping[str, float], prior: Mapping[str, float]) -> dict[str, float]:
    """Masses of letters divided by their priors; what they have together stays (Zhao et al.
    2021).
    """
    divided = {letter: mass / prior[letter] for letter, mass in masses.items()}
    scale = math.fsum(masses.values()) / (math.fsum(divided.values()) or 1.0)
    return {letter: mass * scale for letter, mass in divided.items()}


def _by_option(masses: Mapping[str, float], order: Sequence[str]) -> dict[str, float]:
    return {order[LETTERS.index(letter)]: mass for letter, mass in masses.items()}


def _factor_apds(answers: Sequence[tuple[str, Answer]]) -> tuple[Apds, list[str]]:
    """APD of a factor, and the tasks that count.

    None of their cells is below its coverage, if there is such a task; of these, they have
    placebos, if one has.
    """
    factor = answers[0][0]
    masses_by_cell = collect_cell_masses(answer for _, answer in answers)
    low = {
        task
        for task, less, more, _ in _pair_cells(masses_by_cell, factor)
        if min(_of_cell(masses_by_cell[task, less]), _of_cell(masses_by_cell[task, more]))
        < PLAN["least_coverage"] - ROUNDING
    }
    apds = _pair_apds(masses_by_cell, factor)
    measured_tasks = sorted(apds.get(0, {}))
    covered = [task for task in measured_tasks if task not in low] or measured_tasks
    tasks_with_placebos = {
        task for number, apds_by_task in apds.items() if number > 0 for task in apds_by_task
    }
    return apds, [task for task in covered if task in tasks_with_placebos] or covered


def _pair_cells(masses_by_cell: Cells, factor: str) -> Iterator[tuple[str, str, str, int]]:
    """Task, framing without and with the cue of a factor or what stands in its place, and the
    number of that.
    """
    for task, framing in masses_by_cell:
        cues = cues_of(framing)
        other_cues = [cue for cue in cues if cue != factor]
        less = "+".join(other_cues) or BARE
        if (
            factor in cues
            and not any(cues[cue] for cue in other_cues)
            and (task, less) in masses_by_cell
        ):
            yield task, less, framing, cues[factor]


def _pair_apds(masses_by_cell: Cells, factor: str) -> Apds:
    apds: Apds = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for task, less, more, number in _pair_cells(masses_by_cell, factor):
        for stimulus, prompts in masses_by_cell[task, more].items():
            p, q = (
                _class_shares(masses_by_cell[task, less].get(stimulus, [])),
                _class_shares(prompts),
            )
            if p and q:
                apd = min(
                    math.fsum(
                        abs(share_without - share_with)
                        for share_without, share_with in zip(p, q, strict=True)
                    )
                    / 2,
                    1.0,
                )
                apds[number][task][stimulus].append(apd)
    return apds


def _class_shares(prompts: Sequence[Sequence[float]]) -> list[float]:
    """Shares of the classes in their mean mass over orders of options; none where there is no
    mass.
    """
    masses = [fmean(class_masses) for class_masses in zip(*prompts, strict=True)]
    total = math.fsum(masses)
    return [mass / total for mass in masses] if total else []


def _mean_coverage(prompts: Sequence[Sequence[float]]) -> float:
    return fmean(math.fsum(masses) for masses in prompts)


def _of_cell(stimuli: Mapping[str, Sequence[Sequence[float]]]) -> float:
    """Mean coverage over the prompts of a cell."""
    return _mean_coverage([masses for prompts in stimuli.values() for masses in prompts])


def _mean_or_nan(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan

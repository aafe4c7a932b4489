"""The task of a contrast for lm-evaluation-harness: its prompts, and how far each cue moves
answers, beside other sentences of its form.
"""

import json
import logging
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evenruler.instruments.framing.declare.task_prompts import (
    CONTROL,
    CONTROL_NAME,
    LETTERS,
    Row,
    asked_prompts,
    surface_forms,
)
from evenruler.tables.schemas import BARE

if TYPE_CHECKING:
    from datasets import Dataset

ROUNDING = 1e-12

Answer = dict[str, Any]
"""`task`, `framing`, `stimulus` (None where the prompt has no content), `order` of options (empty
where words are read), and `masses`: probability by letter or class."""

Cell = tuple[str, str]
"""Task and framing."""

Cells = dict[Cell, dict[str, list[list[float]]]]
"""By task and framing, by stimulus: the mass of every class, of each of its prompts."""

Apds = dict[int, dict[str, dict[str, list[float]]]]
"""By number of the alternative (0: the cue), by task, by stimulus: APD of each pair of cells."""


class ContrastTask:
    """The functions that the task of one benchmark folder names; `folder`: with its `plan.json`."""

    def __init__(self, folder: Path) -> None:
        """Read the plan, the classes of answers, and the class of each form (in lower case)."""
        self.folder = folder
        plan_text = (folder / "plan.json").read_text(encoding="utf-8")
        self.plan: dict[str, Any] = json.loads(plan_text)
        self.classes = [outcome["outcome"] for outcome in self.plan["outcomes"]]
        self.class_by_form: dict[str, str] = {}
        for outcome in self.plan["outcomes"]:
            for form in outcome["forms"]:
                self.class_by_form[form.lower()] = outcome["outcome"]

    def load_docs(self, **_: object) -> "dict[str, Dataset]":
        """The prompts that the plan asks, by split.

        The harness passes the task's metadata, which changes nothing. Nothing is cached: what is
        read is what lies there.
        """
        from datasets import Dataset

        prompts = asked_prompts(self._read_rows("prompts"), self.plan)
        cells = {(row["task"], row["framing"]) for row in prompts}
        words: list[str] = []
        for outcome in self.plan["outcomes"]:
            words += outcome["forms"]
        docs = [_prompt_with_forms(row, row["stimulus"], row["order"], words) for row in prompts]
        if self.plan["calibrated"]:
            for row in self._read_rows("content-free"):
                if (row["task"], row["framing"]) in cells:
                    docs.append(_prompt_with_forms(row, None, LETTERS[: row["letters"]], words))
        return {"test": Dataset.from_list(docs)}

    def choices(self, doc: Row) -> list[str]:
        """The prompt alone, and with each of its forms."""
        return [doc["prompt"], *(doc["prompt"] + form for form in doc["forms"])]

    def _read_rows(self, config: str) -> list[Row]:
        """The rows of one config of the benchmark, such as `prompts`, from its Parquet file."""
        from pyarrow.parquet import ParquetFile

        path = self.folder / config / "test-00000-of-00001.parquet"
        rows: list[Row] = ParquetFile(path).read().to_pylist()
        return rows

    def metric_inputs(self, doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """What one prompt brings to every metric: the mass of each letter or class, whatever
        follows its forms.
        """
        log_likelihoods = [
            result[0] if isinstance(result, tuple | list) else result for result in results
        ]
        alone, *nats = map(float, log_likelihoods)
        masses: dict[str, float] = defaultdict(float)
        for form, form_nats in zip(doc["forms"], nats, strict=True):
            word = form.strip()
            letter_or_class = word if doc["order"] else self.class_by_form[word.lower()]
            masses[letter_or_class] += math.exp(form_nats - alone)
        answer: Answer = {key: doc[key] for key in ("task", "framing", "stimulus", "order")}
        answer["masses"] = dict(masses)
        inputs: dict[str, Any] = {"coverage": answer}
        with_alternatives = {entry["factor"] for entry in self.plan["alternatives"]}
        for factor in self.plan["factors"]:
            metrics = ("effect", "control") if factor in with_alternatives else ("effect",)
            for metric in metrics:
                inputs[f"{metric}_{factor}".replace("-", "_")] = (factor, answer)
        return inputs

    def effect(self, answers: Sequence[tuple[str, Answer]]) -> float:
        """Mean APD with and without a factor's cue: over pairs of cells, stimuli, and tasks."""
        apds, tasks = self._factor_apds(answers)
        return _over_tasks(apds[0], tasks)

    def control(self, answers: Sequence[tuple[str, Answer]]) -> float:
        """Mean APD with and without an alternative in place of a factor's cue, mean over
        alternatives; NaN without any.
        """
        apds, tasks = self._factor_apds(answers)
        alternative_apds: list[float] = []
        for number, apds_by_task in sorted(apds.items()):
            if number > 0 and set(tasks) <= set(apds_by_task):
                alternative_apds.append(_over_tasks(apds_by_task, tasks))
        return _mean_or_nan(alternative_apds)

    def coverage(self, answers: Sequence[Answer]) -> float:
        """Share of answers that name an option: mean over the cells of the contrast itself,
        then over stimuli.
        """
        by_stimulus: dict[str, list[float]] = defaultdict(list)
        for (_, framing), stimuli in self.collect_cell_masses(answers).items():
            if not any(cue_numbers(framing).values()):
                for stimulus, prompts in stimuli.items():
                    by_stimulus[stimulus].append(_mean_coverage(prompts))
        return _mean_or_nan([fmean(coverages) for coverages in by_stimulus.values()])

    def collect_cell_masses(self, answers: Iterable[Answer]) -> Cells:
        """Masses of the classes by cell and stimulus. Letters have the class of their option, and
        are calibrated first.

        Where the prompts without content of a cell are lacking (as with `--limit`) it is left out,
        and that is logged.
        """
        answers = list(answers)
        priors = _letter_priors([answer for answer in answers if answer["stimulus"] is None])
        masses_by_cell: Cells = defaultdict(lambda: defaultdict(list))
        lacking = set()
        for answer in answers:
            if answer["stimulus"] is None:
                continue
            cell = (answer["task"], answer["framing"])
            masses = answer["masses"]
            if answer["order"]:
                if self.plan["calibrated"]:
                    if cell not in priors:
                        lacking.add(cell)
                        continue
                    masses = _calibrate_masses(masses, priors[cell])
                masses = _by_option(masses, answer["order"])
            class_masses = [masses.get(outcome, 0.0) for outcome in self.classes]
            masses_by_cell[cell][answer["stimulus"]].append(class_masses)
        if lacking:
            logging.getLogger(__name__).warning(
                "%d cells lack their prompts without content", len(lacking)
            )
        return masses_by_cell

    def _factor_apds(self, answers: Sequence[tuple[str, Answer]]) -> tuple[Apds, list[str]]:
        """APD of a factor, and the tasks that count.

        None of their cells is below its coverage, if there is such a task; of these, they have
        alternatives, if one has.
        """
        factor = answers[0][0]
        masses_by_cell = self.collect_cell_masses(answer for _, answer in answers)
        low_tasks: set[str] = set()
        for task, less, more, number in _pair_cells(masses_by_cell, factor):
            if number != 0:
                continue
            coverage_without = _cell_coverage(masses_by_cell[task, less])
            coverage_with = _cell_coverage(masses_by_cell[task, more])
            if min(coverage_without, coverage_with) < self.plan["least_coverage"] - ROUNDING:
                low_tasks.add(task)
        apds = _compute_apds(masses_by_cell, factor)
        measured_tasks = sorted(apds.get(0, {}))
        covered = [task for task in measured_tasks if task not in low_tasks] or measured_tasks
        tasks_with_alternatives: set[str] = set()
        for number, apds_by_task in apds.items():
            if number > 0:
                tasks_with_alternatives.update(apds_by_task)
        return apds, [task for task in covered if task in tasks_with_alternatives] or covered


def _prompt_with_forms(
    row: Row, stimulus: str | None, options: Sequence[str], words: Sequence[str]
) -> Row:
    """One prompt with its forms: letters where it lists options, else words of the classes."""
    answers = LETTERS[: len(options)] or words
    return {
        "id": row["id"],
        "task": row["task"],
        "framing": row["framing"],
        "stimulus": stimulus,
        "order": list(options),
        "prompt": row["prompt"],
        "forms": surface_forms(answers, row["prompt"]),
    }


def _over_tasks(
    by_task: Mapping[str, Mapping[str, Sequence[float]]], tasks: Sequence[str]
) -> float:
    """Mean over tasks of the mean over stimuli of that over pairs of cells."""
    task_means: list[float] = []
    for task in tasks:
        stimulus_means = [fmean(pairs) for pairs in by_task[task].values()]
        task_means.append(_mean_or_nan(stimulus_means))
    return _mean_or_nan(task_means)


def cue_numbers(framing: str) -> dict[str, int]:
    """By factor the number of what stands in place of its cue; 0 where that is the cue itself."""
    if framing == BARE:
        return {}
    numbers: dict[str, int] = {}
    for cue in framing.split("+"):
        factor, _, label = cue.partition("~")
        numbers[factor] = CONTROL if label == CONTROL_NAME else int(label or 0)
    return numbers


def _letter_priors(empty: Iterable[Answer]) -> dict[Cell, dict[str, float]]:
    """By cell, each letter's share of the letters after prompts without content, mean over
    these.
    """
    shares: dict[Cell, dict[str, list[float]]] = {}
    for answer in empty:
        cell = (answer["task"], answer["framing"])
        total = math.fsum(answer["masses"].values())
        for letter, mass in answer["masses"].items():
            shares.setdefault(cell, {}).setdefault(letter, []).append(mass / total)
    priors: dict[Cell, dict[str, float]] = {}
    for cell, letters in shares.items():
        priors[cell] = {letter: fmean(letter_shares) for letter, letter_shares in letters.items()}
    return priors


def _calibrate_masses(masses: Mapping[str, float], prior: Mapping[str, float]) -> dict[str, float]:
    """Masses of letters divided by their priors; what they have together stays (Zhao et al.
    2021).
    """
    divided = {letter: mass / prior[letter] for letter, mass in masses.items()}
    divided_total = math.fsum(divided.values()) or 1.0
    scale = math.fsum(masses.values()) / divided_total
    return {letter: mass * scale for letter, mass in divided.items()}


def _by_option(masses: Mapping[str, float], order: Sequence[str]) -> dict[str, float]:
    """Masses by option instead of by letter; `order`: the options in the order of their letters."""
    return {order[LETTERS.index(letter)]: mass for letter, mass in masses.items()}


def _pair_cells(masses_by_cell: Cells, factor: str) -> Iterator[tuple[str, str, str, int]]:
    """Task, framing without and with the cue of a factor or what stands in its place, and the
    number of that.
    """
    for task, framing in masses_by_cell:
        cues = cue_numbers(framing)
        other_cues = [cue for cue in cues if cue != factor]
        less = "+".join(other_cues) or BARE
        if (
            factor in cues
            and not any(cues[cue] for cue in other_cues)
            and (task, less) in masses_by_cell
        ):
            yield task, less, framing, cues[factor]


def _compute_apds(masses_by_cell: Cells, factor: str) -> Apds:
    """The APD between cells without and with the cue of a factor, or what stands in its place: half
    the sum of absolute differences of class shares, 0 to 1; pairs without mass are left out.
    """
    apds: Apds = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for task, less, more, number in _pair_cells(masses_by_cell, factor):
        for stimulus, prompts in masses_by_cell[task, more].items():
            p = _class_shares(masses_by_cell[task, less].get(stimulus, []))
            q = _class_shares(prompts)
            if p and q:
                distance = math.fsum(
                    abs(share_without - share_with)
                    for share_without, share_with in zip(p, q, strict=True)
                )
                apds[number][task][stimulus].append(min(distance / 2, 1.0))
    return apds


def _class_shares(prompts: Sequence[Sequence[float]]) -> list[float]:
    """Shares of the classes in their mean mass over orders of options; none where there is no
    mass.
    """
    masses = [fmean(class_masses) for class_masses in zip(*prompts, strict=True)]
    total = math.fsum(masses)
    return [mass / total for mass in masses] if total else []


def _mean_coverage(prompts: Sequence[Sequence[float]]) -> float:
    """Mean over prompts of the probability of all classes; `prompts`: [prompts, classes]."""
    return fmean(math.fsum(masses) for masses in prompts)


def _cell_coverage(stimuli: Mapping[str, Sequence[Sequence[float]]]) -> float:
    """Mean coverage over the prompts of a cell."""
    return _mean_coverage(list(chain.from_iterable(stimuli.values())))


def _mean_or_nan(values: Sequence[float]) -> float:
    """The mean; NaN where there is no value."""
    return fmean(values) if values else math.nan

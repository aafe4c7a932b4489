"""Run a multiple-choice or log-likelihood task of lm-evaluation-harness on a model: figures without
a verdict.

The task's code makes prompts and metrics; the model, the cache and the intervals are those of this
library.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenruler.errors import UserError
from evenruler.evaluate.benchmark import SCHEME
from evenruler.measurement.checks import Floats
from evenruler.measurement.resampling import FEWEST_UNITS, of_left_out

if TYPE_CHECKING:  # which brings libraries that take seconds to import
    from evenruler.models.model import Model

GREEDY: Final = {"multiple_choice": "exact_match", "loglikelihood": "acc"}
"""By task type, a metric that needs greedy decoding, which is not computed here."""

MOST_VALUES: Final = 5_000_000
"""Values aggregated at most for one interval; beyond that, units are left out in groups."""


def lines_of(model: "Model", name: str, unit: str | None, limit: int | None) -> Iterator[str]:
    """Run a task, or each task of a group, and yield terminal lines; arguments as in `measured`."""
    for task in _tasks(name):
        try:
            found = measured(model, task, unit, limit)
        except UserError:
            raise
        except Exception as error:  # of the task's own code
            told = f"its code fails ({type(error).__name__}: {error})".splitlines()[0]
            raise UserError(told[:200], where=f"{SCHEME}{name}", remedy="fix the task") from error
        yield (
            f"{SCHEME}{task.config.task} (a unit is {'a document' if unit is None else unit}) on "
            f"{model.name}"
        )
        for metric, (value, low, high, effect) in found.items():
            interval = "no interval" if math.isnan(low) else f"[{low:z.3f}, {high:z.3f}]"
            yield f"    {metric}  {value:z.3f} {interval}" + (
                "" if unit is None else f", design effect {effect:.1f}"
            )
        yield (
            "  No verdict: a task says no roles of texts, no unit and no neutral value. No "
            "result file is written."
        )


def _tasks(name: str) -> list[Any]:
    where, is_file = f"{SCHEME}{name}", name.endswith(".yaml")
    try:
        from lm_eval.tasks import TaskManager  # type: ignore[import-untyped]

        manager = TaskManager(include_defaults=not is_file)
        tasks = list(manager.load(str(Path(name).resolve()) if is_file else name)["tasks"].values())
    except Exception as error:  # of data sets, of the Hub, of YAML and of the task's own code
        told = f"it does not load ({type(error).__name__}: {error})".splitlines()[0]
        lacking = isinstance(error, ImportError) and "lm_eval" in str(error)
        remedy = (
            "pip install 'evenruler[harness]'"
            if lacking
            else "check its name or file, or get its data"
        )
        raise UserError(told[:200], where=where, remedy=remedy) from None
    for task in tasks:
        kind, metrics = task.OUTPUT_TYPE, task.aggregation()
        if GREEDY.get(kind) in {None, *metrics}:
            what = (
                f"{task.config.task} is of type {kind} with the metrics "
                f"{', '.join(sorted(metrics))}"
            )
            remedy = "take multiple_choice without exact_match, or loglikelihood without acc"
            raise UserError(what, where=where, remedy=remedy)
    return tasks


def measured(
    model: "Model", task: Any, unit: str | None, limit: int | None
) -> dict[str, tuple[float, ...]]:
    """Metrics by `metric,filter`, as from `clustered`; `unit`: a column of documents; `limit`:
    number of documents.
    """
    docs = dict(task.doc_iterator(limit=limit))
    units = [str(place if unit is None else doc.get(unit, "")) for place, doc in docs.items()]
    if "" in units:
        known = ", ".join(sorted(docs[units.index("")]))
        raise UserError(
            f"document {units.index('')} has no {unit!r}",
            where="--unit",
            remedy=f"say one of {known}",
        )
    task.set_fewshot_seed(seed=1234)  # the default of lm-evaluation-harness
    task.build_all_requests(limit=limit)
    asked, of_doc = sorted(task.instances, key=lambda own: own.idx), dict[int, list[Any]]()
    before, texts = zip(*(own.args for own in asked), strict=True)
    likelihoods = model.loglikelihood(texts, before, between="")
    likelihoods.require_all(model.name, texts)
    for own, nats in zip(asked, likelihoods.nats, strict=True):
        own.resps.append((float(nats), False))
        of_doc.setdefault(own.doc_id, []).append(own)
    task.apply_filters()
    aggregation, values = task.aggregation(), dict[tuple[str, str], list[tuple[str, Any]]]()
    for chain in asked[0].filtered_resps:
        for (place, doc), of_unit in zip(docs.items(), units, strict=True):
            told = task.process_results(doc, [own.filtered_resps[chain] for own in of_doc[place]])
            for metric in told.keys() & aggregation.keys():
                values.setdefault((metric, chain), []).append((of_unit, told[metric]))
    given = {name: map(list, zip(*own, strict=True)) for name, own in sorted(values.items())}
    return {
        f"{metric},{chain}": clustered(aggregation[metric], *own)
        for (metric, chain), own in given.items()
    }


def clustered(
    aggregate: Callable[[list[Any]], Any], units: Sequence[str], values: list[Any]
) -> tuple[float, ...]:
    """Aggregate the values of n documents: value, jackknife interval over units (low, high; 95%),
    design effect.

    The design effect is the variance over units divided by that over documents. All but the value
    are NaN below five units, or where the aggregate is undefined without some unit.
    Source: Tukey (1958); for very many units in groups, Kott (2001), the delete-a-group jackknife.
    """

    def left_out(of: Sequence[Any]) -> Floats:
        places = {own: place for place, own in enumerate(dict.fromkeys(of))}
        group = np.array([places[own] for own in of]) % max(20, MOST_VALUES // len(values))
        kept = (np.flatnonzero(group != out) for out in range(int(group.max()) + 1))
        return np.array([float(aggregate([values[place] for place in own])) for own in kept])

    value = float(aggregate(values))
    try:
        by_unit, by_doc = left_out(units), left_out(range(len(values)))
    except (ArithmeticError, ValueError, IndexError):
        return value, math.nan, math.nan, math.nan
    if len(by_unit) < FEWEST_UNITS or not by_doc.var():
        return value, math.nan, math.nan, math.nan
    effect = (len(by_unit) - 1) * by_unit.var() / ((len(by_doc) - 1) * by_doc.var())
    return value, *of_left_out(value, by_unit, 0.95), float(effect)

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
from evenruler.measurement.inputs import Floats
from evenruler.measurement.resampling import FEWEST_UNITS, jackknife_interval

if TYPE_CHECKING:  # which brings libraries that take seconds to import
    from evenruler.models.model import Model

GREEDY: Final = {"multiple_choice": "exact_match", "loglikelihood": "acc"}
"""By task type, a metric that needs greedy decoding, which is not computed here."""

MOST_VALUES: Final = 5_000_000
"""Values aggregated at most for one interval; beyond that, units are left out in groups."""


def task_lines(model: "Model", name: str, unit: str | None, limit: int | None) -> Iterator[str]:
    """Run a task, or each task of a group, and yield its metrics as terminal lines; `unit` and
    `limit` as in `measure_task`.
    """
    unit_label = "a document" if unit is None else unit
    for task in _load_tasks(name):
        try:
            metrics = measure_task(model, task, unit, limit)
        except UserError:
            raise
        except Exception as error:  # of the task's own code
            cause = f"{type(error).__name__}: {error}"
            message = f"its code fails ({cause})".splitlines()[0]
            raise UserError(
                message[:200], where=f"{SCHEME}{name}", remedy="fix the task"
            ) from error
        yield f"{SCHEME}{task.config.task} (a unit is {unit_label}) on {model.name}"
        for metric, (value, low, high, effect) in metrics.items():
            if math.isnan(low):
                interval = "no interval"
            else:
                interval = f"[{low:z.3f}, {high:z.3f}]"
            design = "" if unit is None else f", design effect {effect:.1f}"
            yield f"    {metric}  {value:z.3f} {interval}{design}"
        yield (
            "  No verdict: a task says no roles of texts, no unit and no neutral value. No "
            "result file is written."
        )


def _load_tasks(name: str) -> list[Any]:
    """The tasks of lm-evaluation-harness under a name (one, or those of a group) or in a YAML file;
    UserError if they do not load or need greedy decoding.
    """
    where = f"{SCHEME}{name}"
    is_file = name.endswith(".yaml")
    try:
        from lm_eval.tasks import TaskManager  # type: ignore[import-untyped]

        manager = TaskManager(include_defaults=not is_file)
        place = str(Path(name).resolve()) if is_file else name
        tasks = list(manager.load(place)["tasks"].values())
    except Exception as error:  # of data sets, of the Hub, of YAML and of the task's own code
        cause = f"{type(error).__name__}: {error}"
        message = f"it does not load ({cause})".splitlines()[0]
        lacking = isinstance(error, ImportError) and "lm_eval" in str(error)
        remedy = (
            "pip install 'evenruler[harness]'"
            if lacking
            else "check its name or file, or get its data"
        )
        raise UserError(message[:200], where=where, remedy=remedy) from None
    for task in tasks:
        kind = task.OUTPUT_TYPE
        metrics = task.aggregation()
        if GREEDY.get(kind) in {None, *metrics}:
            what = (
                f"{task.config.task} is of type {kind} with the metrics "
                f"{', '.join(sorted(metrics))}"
            )
            remedy = "take multiple_choice without exact_match, or loglikelihood without acc"
            raise UserError(what, where=where, remedy=remedy)
    return tasks


def measure_task(
    model: "Model", task: Any, unit: str | None, limit: int | None
) -> dict[str, tuple[float, ...]]:
    """Metrics by "metric,filter", each as from `jackknife_metric`; `unit`: a column of documents,
    by default a unit is a document; `limit`: number of documents.
    """
    docs = dict(task.doc_iterator(limit=limit))
    if unit is None:
        units = [str(place) for place in docs]
    else:
        units = [str(doc.get(unit, "")) for doc in docs.values()]
    if "" in units:
        column_names = ", ".join(sorted(docs[units.index("")]))
        raise UserError(
            f"document {units.index('')} has no {unit!r}",
            where="--unit",
            remedy=f"say one of {column_names}",
        )
    task.set_fewshot_seed(seed=1234)  # the default of lm-evaluation-harness
    task.build_all_requests(limit=limit)
    instances = sorted(task.instances, key=lambda instance: instance.idx)
    of_doc: dict[int, list[Any]] = {}
    before, texts = zip(*(instance.args for instance in instances), strict=True)
    likelihoods = model.loglikelihood(texts, before, between="")
    likelihoods.require_all(model.name, texts)
    for scored_instance, nats in zip(instances, likelihoods.nats, strict=True):
        scored_instance.resps.append((float(nats), False))
        of_doc.setdefault(scored_instance.doc_id, []).append(scored_instance)
    task.apply_filters()
    aggregation = task.aggregation()
    values: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for chain in instances[0].filtered_resps:
        for (place, doc), of_unit in zip(docs.items(), units, strict=True):
            responses = [instance.filtered_resps[chain] for instance in of_doc[place]]
            doc_metrics = task.process_results(doc, responses)
            for metric in doc_metrics.keys() & aggregation.keys():
                values.setdefault((metric, chain), []).append((of_unit, doc_metrics[metric]))
    metrics: dict[str, tuple[float, ...]] = {}
    for (metric, chain), pairs in sorted(values.items()):
        metric_units, metric_values = map(list, zip(*pairs, strict=True))
        metrics[f"{metric},{chain}"] = jackknife_metric(
            aggregation[metric], metric_units, metric_values
        )
    return metrics


def jackknife_metric(
    aggregate: Callable[[list[Any]], Any], units: Sequence[str], values: list[Any]
) -> tuple[float, ...]:
    """Aggregate the values of n documents: value, jackknife interval over units (low, high; 95%),
    design effect.

    The design effect is the variance over units divided by that over documents. All but the value
    are NaN below five units, or where the aggregate is undefined without some unit.
    Source: Tukey (1958); for very many units in groups, Kott (2001), the delete-a-group jackknife.
    """

    def jackknife_replicates(unit_labels: Sequence[Any]) -> Floats:
        """[groups] values of the metric, each without the documents of one unit, or of one group of
        units where these are very many.
        """
        places = {unit: place for place, unit in enumerate(dict.fromkeys(unit_labels))}
        n_groups = max(20, MOST_VALUES // len(values))
        group = np.array([places[unit] for unit in unit_labels]) % n_groups
        replicates: list[float] = []
        for out in range(int(group.max()) + 1):
            kept_values = [values[place] for place in np.flatnonzero(group != out)]
            replicates.append(float(aggregate(kept_values)))
        return np.array(replicates)

    value = float(aggregate(values))
    try:
        by_unit = jackknife_replicates(units)
        by_doc = jackknife_replicates(range(len(values)))
    except (ArithmeticError, ValueError, IndexError):
        return value, math.nan, math.nan, math.nan
    if len(by_unit) < FEWEST_UNITS or not by_doc.var():
        return value, math.nan, math.nan, math.nan
    unit_variance = (len(by_unit) - 1) * by_unit.var()
    doc_variance = (len(by_doc) - 1) * by_doc.var()
    effect = float(unit_variance / doc_variance)
    return value, *jackknife_interval(value, by_unit, 0.95), effect

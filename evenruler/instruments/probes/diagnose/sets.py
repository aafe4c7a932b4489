"""How a model associates, and how well each set of templates measures it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.instrument import Plan
from evenruler.instruments.probes.diagnose import quality
from evenruler.instruments.probes.diagnose.confirmatory import alpha_of_regroupings, confirmatory, fitness
from evenruler.instruments.probes.diagnose.cubes import CELL, Cube, after_prefixes, cubes, shifts
from evenruler.instruments.probes.diagnose.quality import VarianceComponents, items_of, variance_components
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.shifts import UNASKED, shift_figures
from evenruler.measurement.verdicts import judge
from evenruler.progress import note

Key = dict[str, Any]
"""By `CELL`: what one measurement of one set is of."""


def diagnose(
    probes: pd.DataFrame,
    attributes: pd.DataFrame,
    scores: pd.DataFrame,
    prefixed: pd.DataFrame,
    plan: Plan,
    resampling: Resampling,
) -> dict[str, pd.DataFrame]:
    """Diagnose one model on every template set of one instrument.

    Args:
        probes: Sentences, with a column `benchmark`.
        attributes: Attributes and criteria.
        scores: Log-likelihoods of the sentences, also of those after prefixes; none where the model can say none.
        prefixed: The sentences that were asked after prefixes, with a column `benchmark`.
        plan: Of the instrument.
        resampling: How intervals are computed.

    Returns:
        By `schemas`: `associations`, `biases`, `correlations`, `curve`, `figures` (with `set` for `part`), `items`
        (less diversities), `shifts`, `variances`; a table without rows is left out.

    Raises:
        ValueError: The model lacks the score of a sentence.
        UserError: No attribute has all its sentences in a set.
    """
    likelihoods = scores[scores["measure"] == "loglikelihood"]
    if likelihoods.empty:
        return {}
    lacking = len(probes) - int(probes["id"].isin(likelihoods["id"]).sum())
    if lacking:
        raise ValueError(f"{likelihoods['model'].iloc[0]}: {lacking} sentences have no score")
    known, after = attributes.set_index("attribute"), after_prefixes(prefixed, likelihoods)
    controls = dict(cubes(probes[probes["control"]], likelihoods))
    tables: dict[str, list[pd.DataFrame]] = {}
    figures = []
    for cell, cube in cubes(probes[~probes["control"]], likelihoods):
        key = dict(zip(CELL, cell, strict=True))
        _require_some(cube, key, probes, known)
        items = items_of(cube, controls.get(cell), resampling.level)
        general = variance_components(cube, resampling.level)
        of_set = after.get(cell, {})
        moved = shifts(of_set, set(plan["placebos"]))
        for table, rows in _tables(cube, known, items, general, moved, resampling).items():
            if len(rows):
                tables.setdefault(table, []).append(rows.assign(**key))
        found = [
            *_figures(cube, known, plan, resampling),
            *general.figures,
            *shift_figures(moved, resampling.level, quality.UNIT, None if of_set else UNASKED),
        ]
        if key["set"] in plan["descriptive"]:  # it is shown beside the others, and nothing is said of it
            found = [replace(figure, bound=None) for figure in found]
        alpha = next(figure for figure in found if figure.figure == "alpha")
        fit = fitness(cube, items, alpha, plan["reliability"])
        figures += [(key, figure, fit) for figure in found]
    judged = judge([(figure, fit) for _, figure, fit in figures], plan["least"])
    told = pd.DataFrame([{**key, **asdict(figure)} for (key, _, _), figure in zip(figures, judged, strict=True)])
    return {**{name: pd.concat(own, ignore_index=True) for name, own in tables.items()}, "figures": told}


def _figures(cube: Cube, known: pd.DataFrame, plan: Plan, resampling: Resampling) -> Iterator[Figure]:
    """Of one set on one model: what is confirmed first, then what describes."""
    biases, level = cube.biases(), resampling.level
    yield from confirmatory(cube, known["criterion"], plan["bound"], level)
    yield from quality.further_validity(biases.mean(axis=1), known, level)
    yield from quality.reliability(biases.to_numpy(), resampling, alpha_of_regroupings(cube))
    first = cube.poles == 1
    lengths = (float(cube.tokens[first].mean()), float(cube.tokens[~first].mean()))
    yield Figure("token_difference", lengths[0] - lengths[1], len(cube.poles), "targets")


def _tables(
    cube: Cube,
    known: pd.DataFrame,
    items: pd.DataFrame,
    general: VarianceComponents,
    moved: pd.DataFrame,
    resampling: Resampling,
) -> dict[str, pd.DataFrame]:
    """Of one set on one model. Associations are beyond what each template gives to all, with intervals."""
    biases = cube.biases()
    intervals = [quality.mean_interval(row, resampling.level) for row in (biases - biases.mean()).to_numpy()]
    associations = {
        "attribute": biases.index,
        "word": known.loc[biases.index, "word"].to_numpy(),
        "bias": biases.mean(axis=1).to_numpy(),
        "centred": [interval.value for interval in intervals],
        "low": [interval.low for interval in intervals],
        "high": [interval.high for interval in intervals],
        "n": biases.shape[1],
        "criterion": known.loc[biases.index, "criterion"].to_numpy(),
        "match": known.loc[biases.index, "match"].to_numpy(),
    }
    by_template = biases.rename_axis("attribute").reset_index()
    correlations = biases.corr().rename_axis(index="template", columns="other").reset_index()
    return {
        "associations": pd.DataFrame(associations),
        "biases": by_template.melt("attribute", var_name="template", value_name="bias"),
        "correlations": correlations.melt(id_vars="template", var_name="other", value_name="correlation"),
        "curve": general.curve,
        "items": items,
        "shifts": moved,
        "variances": general.variances,
    }


def _require_some(cube: Cube, key: Mapping[str, Any], probes: pd.DataFrame, known: pd.DataFrame) -> None:
    """A set has a score; what was left out of it, since a sentence was rejected, is said."""
    here = probes[(probes["set"] == key["set"]) & ~probes["control"]]
    where = f"{key['benchmark']}, set {key['set']}"
    if not cube.attributes:
        remedy = "see rejected.parquet and mend the templates"
        raise UserError("every attribute lost a sentence", where=where, remedy=remedy)
    left_out = [*sorted(set(here["template"]) - set(cube.templates)), *sorted(set(known.index) - set(cube.attributes))]
    if left_out:
        note(f"{where}: left out, since sentences of theirs were rejected: {', '.join(left_out)}")

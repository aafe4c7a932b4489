"""How models associate, and how well each set of templates measures it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from evenruler import measurement
from evenruler.errors import UserError
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.diagnose import figuring, prefixed
from evenruler.instruments.probes.diagnose.biases import CELL, likelihoods_of, signed_biases
from evenruler.measurement import Resampling
from evenruler.progress import note

DIVERSITY, OF_TEMPLATE = [schemas.SEMANTIC, schemas.LEXICAL], ["benchmark", "set", "template"]


@dataclass(frozen=True)
class Diagnosis:
    """The tables of the diagnosis, by their schemas in `schemas`; figures with `set` for `part`."""

    biases: pd.DataFrame
    associations: pd.DataFrame
    items: pd.DataFrame
    correlations: pd.DataFrame
    figures: pd.DataFrame


def diagnose(
    probes: pd.DataFrame,
    templates: pd.DataFrame,
    attributes: pd.DataFrame,
    scores: pd.DataFrame,
    diversity: pd.DataFrame,
    resampling: Resampling,
    framed_probes: pd.DataFrame | None = None,
) -> Diagnosis:
    """Diagnose every model on every template set of every domain.

    Args:
        probes: Sentences, with a column `benchmark`.
        templates: Templates, with a column `benchmark`.
        attributes: Attributes and criteria, with a column `benchmark`.
        scores: Log-likelihoods of the sentences, also of framed ones; none where no model can say them.
        diversity: By `schemas.DIVERSITY`, of sets, less `model`.
        resampling: How intervals are computed.
        framed_probes: The sentences that were asked after prefixes, with a column `benchmark`; only figures of
            brittleness rest on them.

    Raises:
        ValueError: A model lacks the score of a sentence.
        UserError: No attribute has all its sentences in a set.
    """
    biases = _biases(probes, templates, scores)
    framed_probes = probes.head(0) if framed_probes is None else framed_probes
    under_framings = dict(iter(prefixed.framed_biases(framed_probes, scores).groupby(prefixed.OF_SET)))
    associations, items = [_none_of(schemas.ASSOCIATIONS)], [_none_of(schemas.ITEMS).drop(columns=DIVERSITY)]
    correlations = [_none_of(schemas.CORRELATIONS)]
    found = [_none_of(schemas.FIGURES).rename(columns={"part": "set"})]
    for cell, rows in biases.groupby(CELL, sort=True):
        key: dict[str, Any] = dict(zip(CELL, cell, strict=True))
        matrix = _matrix(rows, key, templates, attributes)
        of_benchmark = attributes[attributes["benchmark"] == key["benchmark"]].set_index("attribute")
        associations.append(_associations(matrix, of_benchmark, resampling).assign(**key))
        items.append(_items(matrix).assign(**key))
        correlations.append(_correlations(matrix).assign(**key))
        found.append(figuring.of_model(matrix, of_benchmark, resampling).assign(**key))
        under = under_framings.get(tuple(key[name] for name in prefixed.OF_SET), biases.head(0))
        found.append(prefixed.of_set(matrix, under, resampling).assign(**key))
    return Diagnosis(
        biases,
        _joined(associations),
        _joined(items).merge(diversity[[*OF_TEMPLATE, *DIVERSITY]], on=OF_TEMPLATE, validate="m:1"),
        _joined(correlations),
        _joined(found),
    )


def _none_of(schema: pa.Schema) -> pd.DataFrame:
    return pd.DataFrame(columns=schema.names)


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other; the first, which is empty, only where there is no other."""
    return pd.concat(frames[1:] or frames, ignore_index=True)


def _biases(probes: pd.DataFrame, templates: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """The bias of every template, attribute and model."""
    likelihoods = likelihoods_of(scores)
    for model, rows in likelihoods.groupby("model"):
        lacking = len(probes) - probes["id"].isin(rows["id"]).sum()
        if lacking:
            raise ValueError(f"{model}: {lacking} sentences have no score")
    signed = signed_biases(probes, likelihoods)
    if likelihoods.empty:  # of no model, whatever the sentences
        return signed
    measured = set(signed[["benchmark", "set"]].itertuples(index=False, name=None))
    for benchmark, set_name in templates[["benchmark", "set"]].itertuples(index=False, name=None):
        if (benchmark, set_name) not in measured:
            raise _all_lost(benchmark, set_name)
    return signed


def _all_lost(benchmark: str, set_name: str) -> UserError:
    return UserError(
        "every attribute lost a sentence",
        where=f"{benchmark}, set {set_name}",
        remedy="see rejected.parquet and mend the templates",
    )


def _matrix(
    rows: pd.DataFrame, key: Mapping[str, Any], templates: pd.DataFrame, attributes: pd.DataFrame
) -> pd.DataFrame:
    """Attributes x templates, bias in nats.

    A template that lost all its sentences to `rejected.parquet`, and an attribute that lost one in any other, is left
    out, and that is said; n says how many are in.
    """
    of_set = templates[(templates["benchmark"] == key["benchmark"]) & (templates["set"] == key["set"])]
    of_benchmark = attributes[attributes["benchmark"] == key["benchmark"]]
    matrix = rows.pivot(index="attribute", columns="template", values="bias").reindex(
        index=sorted(of_benchmark["attribute"]), columns=sorted(of_set["template"])
    )
    complete = matrix.dropna(axis="columns", how="all").dropna(axis="index")
    if complete.empty:
        raise _all_lost(key["benchmark"], key["set"])
    left_out = [*matrix.columns.difference(complete.columns), *matrix.index.difference(complete.index)]
    if left_out:
        where = f"{key['benchmark']}, set {key['set']}"
        note(f"{where}: left out, since sentences of theirs were rejected: {', '.join(left_out)}")
    return complete.rename_axis(index="attribute", columns="template")


def _associations(matrix: pd.DataFrame, attributes: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Mean bias of each attribute over templates, with a bootstrap interval over templates."""
    frame = pd.DataFrame(
        {
            "attribute": matrix.index,
            "word": attributes.loc[matrix.index, "word"].to_numpy(),
            "bias": matrix.mean(axis=1).to_numpy(),
            "n": matrix.shape[1],
            "criterion": attributes.loc[matrix.index, "criterion"].to_numpy(),
            "match": attributes.loc[matrix.index, "match"].to_numpy(),
        }
    )
    intervals = [figuring.mean_interval(row, resampling) for row in matrix.to_numpy()]
    return frame.assign(low=[i.low for i in intervals], high=[i.high for i in intervals])


def _items(matrix: pd.DataFrame) -> pd.DataFrame:
    frame = pd.DataFrame({"template": matrix.columns, "mean": matrix.mean().to_numpy(), "sd": matrix.std().to_numpy()})
    if min(matrix.shape) < 2:  # one template, or one attribute: nothing to hold an item against
        return frame.assign(item_rest_correlation=np.nan, alpha_if_removed=np.nan)
    statistics = measurement.item_statistics(matrix.to_numpy())
    return frame.assign(
        item_rest_correlation=statistics.item_rest_correlation, alpha_if_removed=statistics.alpha_if_removed
    )


def _correlations(matrix: pd.DataFrame) -> pd.DataFrame:
    table = matrix.corr().rename_axis(index="template", columns="other")
    return table.reset_index().melt(id_vars="template", var_name="other", value_name="correlation")

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.instruments.probes.ask import after_prefixes, rival_sentences
from evenruler.instruments.probes.declare import Settings
from evenruler.instruments.probes.declare.source import Criterion, ProbeSource
from evenruler.instruments.probes.diagnose import diagnose
from evenruler.instruments.probes.rows import compile_domain
from tests.instruments.probes.known import BIAS, CRITERION, PLAN, RESAMPLING, TEMPLATES, values_for

SOURCE: dict[str, Any] = YAML(typ="safe").load("""
title: Trades
construct: association of trades with gender
direction: positive means closer to men
source: the file
licence: cc-by-4.0
targets: {men: [man, uncle], women: [woman, girl]}
attributes: [baker, engineer]
sets:
  hand:
    title: By hand
    templates:
      plain: The {ATTRIBUTE} is a {TARGET}.
      odd: {text: "It is odd when a {ATTRIBUTE} is a {TARGET}.", keying: -1}
  other:
    title: By others
    source: the others
    licence: mit
    templates: {plain: "A {ATTRIBUTE} met a {TARGET}."}
""")


def settings_of(profile: str = "quick", **keys: Any) -> Settings:
    """Settings as they are read for a profile."""
    return Settings.model_validate({"embedder": "minilm", **keys}, context={"profile": profile})


@pytest.fixture
def source() -> Callable[..., ProbeSource]:
    """The source of a small domain, with top-level keys replaced."""

    def make(**changes: Any) -> ProbeSource:
        return ProbeSource.model_validate({**SOURCE, **changes})

    return make


@pytest.fixture
def compiled(source) -> Callable[..., dict[str, list[Any]]]:
    """The tables of that domain."""

    def make(
        article: Any = "agree", criterion: Criterion | None = None, **changes: Any
    ) -> dict[str, list[Any]]:
        declared = source(**changes)
        declared._published = criterion
        return compile_domain("trades", declared, settings_of(article=article))

    return make


def scores_of(probes: pd.DataFrame, values: Sequence[float], model: str = "m") -> pd.DataFrame:
    """Scores of sentences as the stage writes them."""
    return pd.DataFrame(
        {
            "id": probes["id"].to_numpy(),
            "model": model,
            "lineage": model,
            "method": "bare",
            "framing": "bare",
            "measure": "loglikelihood",
            "value": np.asarray(values, dtype=np.float64),
            "n_tokens": 7,
        }
    )


def frames(
    built: dict[str, list[Any]], benchmark: str = "trades"
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Probes, templates and attributes as frames with their benchmark."""
    probes, templates, attributes = (
        pd.DataFrame(built[name]).assign(benchmark=benchmark)
        for name in ("probes", "templates", "attributes")
    )
    return probes, templates, attributes


@pytest.fixture
def diagnosed(compiled) -> Callable[..., dict[str, pd.DataFrame]]:
    """Diagnoses models whose biases are given; all else as in `known` unless it is given too."""

    def make(
        templates: dict[str, Any] | None = None,
        criterion: Criterion | None = CRITERION,
        scores: Any = None,
        plan: dict[str, Any] = PLAN,
        **biases: pd.DataFrame,
    ) -> dict[str, pd.DataFrame]:
        matrices = biases or {"m": BIAS}
        matrix = next(iter(matrices.values()))
        templates = templates or {name: TEMPLATES[name] for name in matrix.columns}
        sets = {"hand": {"title": "By hand", "templates": templates}}
        attributes = {slug: slug for slug in matrix.index}
        probes, written, described = frames(
            compiled(sets=sets, attributes=attributes, criterion=criterion)
        )
        if scores is None:
            scores = pd.concat(
                [
                    scores_of(probes, values_for(probes, biases_of_model), model)
                    for model, biases_of_model in matrices.items()
                ]
            )
        elif callable(scores):
            scores = scores(probes)
        prefixed = after_prefixes(probes, plan).assign(benchmark="trades")
        rivals = rival_sentences({"templates": written}, plan)
        diagnoses = [
            diagnose(probes, described, scores_of_model, prefixed, rivals, plan, RESAMPLING)
            for _, scores_of_model in scores.groupby("model", sort=False)
        ]
        joined = {}
        for name in diagnoses[0]:
            joined[name] = pd.concat([tables[name] for tables in diagnoses], ignore_index=True)
        return joined

    return make

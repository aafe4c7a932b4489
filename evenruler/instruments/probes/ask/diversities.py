"""How far templates lie apart: SD(t) and LD(t) of PMPO, section 3.2.1."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments.instrument import Tables
from evenruler.instruments.probes.declare import without_slots
from evenruler.instruments.probes.schemas import BEST_START, LEXICAL, SEMANTIC
from evenruler.text import words

Embeddings = Mapping[str, NDArray[np.float32]]
"""By text of a template, slots as "someone"."""

COLUMNS = ["set", "run", "generation", "template", SEMANTIC, LEXICAL]


def texts_of(tables: Tables) -> list[str]:
    """All that is to be embedded, each once, in order."""
    return sorted(
        {without_slots(text) for name in ("templates", "history") if name in tables for text in tables[name]["text"]}
    )


def diversities(tables: Tables, embeddings: Embeddings) -> pd.DataFrame:
    """SD(t) and LD(t) of every template within its set, controls left out, and within its generation.

    Args:
        tables: `templates`, and where templates evolved `history` and `choices`.
        embeddings: Of all their texts; empty where they were not embedded.

    Returns:
        `COLUMNS`; `set` is null for generations, `run` and `generation` for sets. The best set of the start has
        `BEST_START` for a run.
    """
    groups = _groups(tables, embeddings) if embeddings else []
    rows = [row for group in groups for row in group]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"generation": "Int16"})


def _groups(tables: Tables, embeddings: Embeddings) -> Iterator[list[dict[str, object]]]:
    scored = tables["templates"][~tables["templates"]["control"]]
    for set_name, templates in scored.groupby("set", sort=True):
        yield _within(templates, {"set": set_name}, embeddings)
    if "choices" in tables and tables["choices"]["best_start"].any():
        yield _within(_best_start(tables), {"run": BEST_START}, embeddings)
    if "history" in tables:
        for (run, generation), templates in tables["history"].groupby(["run", "generation"], sort=True):
            yield _within(templates, {"run": run, "generation": generation}, embeddings)


def _best_start(tables: Tables) -> pd.DataFrame:
    """The templates of the best set of the start, each once."""
    best = set(tables["choices"].loc[tables["choices"]["best_start"], "template"])
    return tables["history"][tables["history"]["template"].isin(best)].drop_duplicates("template")


def _within(templates: pd.DataFrame, key: Mapping[str, object], embeddings: Embeddings) -> list[dict[str, object]]:
    """A row a template of a group; a template alone differs from none, and has no diversity."""
    texts = templates["text"].tolist()
    semantic = measurement.semantic_diversity(np.stack([embeddings[without_slots(text)] for text in texts]))
    lexical = measurement.lexical_diversity([words(text) for text in texts])
    return [
        {**dict.fromkeys(COLUMNS), **key, "template": template, SEMANTIC: float(near), LEXICAL: float(other)}
        for template, near, other in zip(templates["template"], semantic, lexical, strict=True)
    ]

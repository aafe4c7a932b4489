"""Small declarations, and tables of a diagnosis by their schemas, made up."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.declare import Source
from evenruler.instruments.questionnaires.declare.shared import CorpusSource
from evenruler.tables import read_frame, write_table
from tests.instruments.questionnaires.doors import table_of_text, yaml_of_text

WORDS = table_of_text("""\
intensifier|level|weight
never|1|-4.0
very-rarely|2|-3.0
often|3|2.0
always|4|4.0
""")
INTENSIFIERS = list(WORDS["intensifier"])
TERMS = table_of_text("""\
polarity|term
source|nervous
source|on-edge
inverse|calm
inverse|at-ease
""")
MODELS = table_of_text("""\
model|lineage|kind|method
speaker|speaker|causal|verbaliser
head-a|encoder|nli|head
head-low|encoder|nli|head
""").assign(framing="bare")
ITEMS = table_of_text("""\
questionnaire|item
worry|one
worry|two
trust|one
""")
STAGES = table_of_text("""\
fit|epoch
1|0
1|1
1|2
2|0
2|2
""")
"""The first fit on the way, the second at its end."""

CORPORA = pd.DataFrame({"corpus": ["gloom", "bolts"]})

SOURCE = """\
title: Scale of NAME
construct: NAME
direction: positive means more NAME
original: {name: NAME, licence: cc-by-4.0, reference: ours, wording: held}
source: the test
licence: cc-by-4.0
responses:
  title: Frequency
  source: the test
  levels:
    - {weight: -4, words: [never]}
    - {weight: -3, words: [very rarely]}
    - {weight: 2, words: [often]}
    - {weight: 4, words: [always]}
"""
ITEM = """\
original: How?
premise: I have been {TERM}.
hypothesis: I {INTENSIFIER} feel ITEM.
terms: &terms {source: [nervous, on edge], inverse: [calm, at ease]}
twins:
  - premise: The sea has been {TERM}.
    hypothesis: It {INTENSIFIER} looks ITEM.
    terms: *terms
"""
CORPUS = """\
title: Corpus for ROLE
about: sentences of the ROLE about <it>
role: ROLE
source: t
licence: cc-by-4.0
provenance: made by the test
sentences: [One., Two.]
"""


@pytest.fixture
def declared() -> dict[str, Source]:
    source_by_name = {}
    for name, slugs in ITEMS.groupby("questionnaire")["item"]:
        source = yaml_of_text(SOURCE.replace("NAME", str(name)))
        source["items"] = {slug: yaml_of_text(ITEM.replace("ITEM", slug)) for slug in slugs}
        source_by_name[str(name)] = Source.model_validate(source)
    return {name: source_by_name[name] for name in ("worry", "trust")}


@pytest.fixture
def corpora() -> dict[str, CorpusSource]:
    intervention = yaml_of_text(CORPUS.replace("ROLE", "intervention"))
    intervention["expect"] = {"worry": "up", "trust": "down"}
    control = yaml_of_text(CORPUS.replace("ROLE", "control"))
    control |= {"expect": {"worry": "none"}, "matched": {"to": "gloom"}}
    return {
        "gloom": CorpusSource.model_validate(intervention),
        "bolts": CorpusSource.model_validate(control),
    }


OF_ITEMS = ITEMS.merge(MODELS, how="cross").assign(twin=0)


def cells() -> pd.DataFrame:
    """p counts up from .0001, so that every cell has a value of its own; sorted as on disk, by
    slug."""
    terms, words = TERMS.sort_values("term"), WORDS.sort_values("intensifier")
    rows = OF_ITEMS.merge(terms, how="cross").merge(words, how="cross")
    p = (rows.index + 1.00001) / 10_000
    return rows.assign(p=p, pss=p / 2)


def items() -> pd.DataFrame:
    """PSS of every item reaches from .1 to .2, of the second .3."""
    high = OF_ITEMS["item"].map({"one": 0.2, "two": 0.3})
    rows = OF_ITEMS.assign(subscale=None, keying=1, score=0.0, silhouette=0.5, n=4)
    return rows.assign(pss_low=0.1, pss_high=high)


def scales() -> pd.DataFrame:
    rows = table_of_text("""\
questionnaire|model|score|z|normal|n
worry|speaker|2.0|||2
worry|head-a|2.1|1.25|0.5|2
worry|head-low|2.2|||2
trust|speaker|1.0|||1
trust|head-a|1.1|1.25|0.5|1
trust|head-low|1.2|||1
""")
    return rows.merge(MODELS, on="model").assign(subscale="all")


def quality() -> pd.DataFrame:
    """worry: one works, two does not; trust: one works for the models that count."""
    return table_of_text("""\
questionnaire|item|measure|model|value|threshold|verdict|advice
worry|one|similarity||0.7|0.5|good|
worry|one|silhouette|speaker|0.8|0.6|good|
worry|one|silhouette|head-a|0.7|0.6|good|
worry|one|silhouette|head-low|0.65|0.6|good|
worry|two|similarity||0.4|0.5|poor|say it closer
worry|two|silhouette|speaker|0.3|0.6|weak|take plainer opposites
worry|two|silhouette|head-a|-0.1|0.6|poor|take plainer opposites
worry|two|silhouette|head-low|0.9|0.6|good|
trust|one|similarity_to_paraphrase||0.3|0.5|told|
trust|one|silhouette|speaker|0.9|0.6|good|
trust|one|silhouette|head-a||0.6|told|
trust|one|silhouette|head-low|-0.2|0.6|poor|take plainer opposites
""")


def population() -> pd.DataFrame:
    rows = table_of_text("""\
model|accuracy|low|high|member|standing
speaker|0.8|0.75|0.85|True|counts
head-a|0.8|0.75|0.85|True|counts
head-low|0.55|0.5|0.6|False|below, does not count
""")
    return rows.merge(MODELS, on="model").assign(n=501, threshold=0.7)


def accuracy() -> pd.DataFrame:
    """`head-low` was asked the pairs that are judged by alone, and its AUC is not known."""
    rows = table_of_text("""\
model|accuracy|low|high|set|n|chance|auc
speaker|0.8|0.75|0.85|mnli|501|0.3333333|0.9
speaker|0.8|0.75|0.85|statements|60|0.5|0.6
head-a|0.8|0.75|0.85|mnli|501|0.3333333|0.9
head-a|0.8|0.75|0.85|statements|60|0.5|0.6
head-low|0.55|0.5|0.6|mnli|501|0.3333333|
""")
    return rows.merge(MODELS, on="model")


def figures() -> pd.DataFrame:
    """Interventions are told of worry, by one fit alone of trust."""
    rows = table_of_text("""\
benchmark|model|figure|corpus|other|method|value|low|high|n|unit|control|smallest|verdict|why|reason
worry||alpha|||head||||2|lineages|||||fewer than 5 lineages of models
trust||alpha|||head||||2|lineages|||||fewer than 5 lineages of models
worry|speaker|answer||||0.5|0.25|0.75|7|items|0.125||||
worry|head-a|answer||||0.5|0.25|0.75|7|items|0.125||||
worry|head-low|answer||||0.5|0.25|0.75|7|items|0.125||||
trust|speaker|answer||||0.5|0.25|0.75|7|items|0.125||||
trust|head-a|answer||||0.5|0.25|0.75|7|items|0.125||||
trust|head-low|answer||||0.5|0.25|0.75|7|items|0.125||||
trust||rho||worry|verbaliser||||2|lineages|||||fewer than 5 lineages of models
worry|head-a|moved|gloom|||0.2|0.15|0.25|6|fits||0.5|effect|It is <large>.|
worry|head-a|changed|gloom|||0.3|0.2|0.4|6|fits|||||
worry|head-a|changed|bolts|||0.1|0.0|0.2|6|fits|||||
trust|head-a|moved|gloom|||0.1|||1|fits||0.5|inconclusive|One.|no interval
""")
    return rows.reindex(columns=schemas.FIGURES.names)


def trajectories() -> pd.DataFrame:
    names = ITEMS[["questionnaire"]].drop_duplicates()
    stages = names.merge(CORPORA, how="cross").merge(STAGES, how="cross")
    rows = stages.merge(MODELS[MODELS["model"] == "head-a"], how="cross")
    return rows.assign(answer=rows["epoch"] / 10, n=2)


def changes() -> pd.DataFrame:
    rows = table_of_text("""\
questionnaire|model|corpus|control|expected|fit|before|after|after_control|difference
worry|head-a|gloom|bolts|up|1|0.0|0.2|0.1|0.1
worry|head-a|gloom|bolts|up|2|0.0|0.2|0.1|0.1
""")
    return rows.merge(MODELS, on="model")


def course() -> pd.DataFrame:
    models = pd.DataFrame({"model": ["head-a", "speaker"]})
    stages = models.merge(CORPORA, how="cross").merge(STAGES, how="cross")
    stages = stages.assign(text=None, reason=None)
    right = stages.assign(measure="accuracy", value=0.9 - stages["epoch"] / 10, n=30)
    loss = 3.5 - stages["epoch"] - stages["fit"] / 10
    losses = stages.assign(measure="loss", value=loss, n=48)
    replies = stages.query("model == 'speaker' and epoch != 1").assign(measure="reply", n=1)
    replies["text"] = "<i>Reply</i> " + replies["epoch"].astype(str)
    filtered = replies["corpus"].eq("gloom") & replies["epoch"].eq(0)
    replies.loc[filtered, ["text", "reason"]] = [None, "filtered"]
    return pd.concat([right, losses, replies])


MADE: dict[str, tuple[Any, Any]] = {
    "accuracy": (accuracy, schemas.ACCURACY),
    "items": (items, schemas.ITEM_SCORES),
    "cells": (cells, schemas.CELLS),
    "changes": (changes, schemas.CHANGES),
    "course": (course, schemas.COURSE),
    "figures": (figures, schemas.FIGURES),
    "population": (population, schemas.POPULATION),
    "quality": (quality, schemas.QUALITY),
    "scales": (scales, schemas.SCALE_SCORES),
    "trajectories": (trajectories, schemas.TRAJECTORIES),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """As the stage of the diagnosis writes them, and read back."""
    folder: Path = tmp_path_factory.mktemp("tables")
    frames = {}
    for name, (make, schema) in MADE.items():
        path = folder / f"{name}.parquet"
        write_table(make()[schema.names], schema, path)
        frames[name] = read_frame(path)
    return frames


@pytest.fixture
def tables(written: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Read back from disk, so that types and nulls are those of the schemas."""
    return {name: frame.copy() for name, frame in written.items()}

"""What models are asked of probes: how likely every sentence is, and vectors of templates."""

import pandas as pd

from evenruler.instruments.instrument import Plan, Request, Subject, Tables
from evenruler.instruments.probes.ask.diversities import diversities, texts_of
from evenruler.instruments.probes.ask.prefixing import after_prefixes
from evenruler.tables import evenly_spread, stacked
from evenruler.tables.schemas import columns

__all__ = ["ANSWERS", "PLANNED", "READS", "after_prefixes", "diversities", "limited", "requests", "scores"]

READS = {
    "attributes": ("word", "attribute", "criterion", "match"),
    "probes": (
        *("id", "content_sha256", "text", "set", "template", "keying", "control"),
        *("attribute", "group", "pole", "target", "variant", "framing"),
    ),
}

PLANNED = (
    *("bound", "descriptive", "embedder", "least", "name", "placebos", "prefixed", "prefixed_targets"),
    *("prefixed_templates", "prefixes", "reliability", "tools"),
)

ANSWERS = {
    "likelihoods": columns("id framing: str; nats: float; tokens: int"),
    "embeddings": columns("text: str; vector: [float32]"),
}
"""`likelihoods`: of sentences, bare and after prefixes; `embeddings`: of templates, slots as "someone"."""

CONFIGURATION, MEASURE = "bare", "loglikelihood"


def requests(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> list[Request]:
    """What to ask next: all at once.

    Args:
        tables: The published rows.
        plan: Of the instrument.
        answers: What was answered, by `ANSWERS`.
        subject: The model that is asked.
    """
    found = []
    if "likelihoods" not in answers and subject.can("loglikelihood"):
        asked = _sentences(tables, plan)
        inputs = {name: asked[name].tolist() for name in ("text", "before")}
        found.append(Request("likelihoods", "loglikelihood", asked[["id", "framing"]], inputs))
    if "embeddings" not in answers:
        texts = pd.DataFrame({"text": texts_of(tables)})
        inputs = {"text": texts["text"].tolist()}
        found.append(Request("embeddings", "embed", texts, inputs, by=plan["embedder"], of_instrument=True))
    return [request for request in found if len(request.rows)]


def _sentences(tables: Tables, plan: Plan) -> pd.DataFrame:
    """Every sentence as it is, and for some attributes also after prefixes; `before` is what it stands after."""
    columns = ["id", "framing", "text", "before"]
    bare, prefixed = tables["probes"].assign(before=""), after_prefixes(tables["probes"], plan)
    return stacked([bare[columns], prefixed[columns]])


def scores(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> dict[str, pd.DataFrame]:
    """Numbers made of answers.

    Args:
        tables: The published rows.
        plan: Of the instrument.
        answers: What was answered, by `ANSWERS`.
        subject: The model that was asked.

    Returns:
        `scores`: log-likelihoods by `evenruler.tables.schemas.SCORES`; `diversity`: by `schemas.DIVERSITY`, less
        `benchmark`, of templates in their sets and of generations; none where they were not embedded.
    """
    likelihoods = answers["likelihoods"].rename(columns={"nats": "value", "tokens": "n_tokens"})
    of_subject = {"model": subject.name, "lineage": subject.lineage, "configuration": CONFIGURATION}
    embeddings = dict(zip(answers["embeddings"]["text"], answers["embeddings"]["vector"], strict=True))
    return {
        "scores": likelihoods.assign(**of_subject, measure=MEASURE),
        "diversity": diversities(tables, embeddings).assign(model=subject.name),
    }


def limited(tables: Tables, plan: Plan, n: int) -> tuple[Tables, Plan]:
    """The sentences of n attributes, evenly spread.

    Args:
        tables: The published rows.
        plan: Of the instrument.
        n: How many at most.
    """
    kept = evenly_spread(sorted(set(tables["attributes"]["attribute"])), n)
    own = {name: tables[name][tables[name]["attribute"].isin(kept)] for name in ("attributes", "probes")}
    return {**tables, **own}, plan

"""The likelihood of both sentences of each pair."""

from evenruler.instruments.instrument import (
    AskingMethod,
    AskingMethods,
    ColumnsByTable,
    ModelMeta,
    PlanKeys,
    RequestBatch,
    SchemasByTable,
    Tables,
    all_rows,
)

from .. import schemas
from ..declare import PairsPlan

READS: ColumnsByTable = {"pairs": ("id", "more", "less")}

OPTIONAL_TABLES: frozenset[str] = frozenset()

PLANNED: PlanKeys = ("most",)

ANSWERS: SchemasByTable = {"likelihoods": schemas.LIKELIHOODS}

keep_headline_rows = all_rows

METHODS: AskingMethods = {"likelihood": AskingMethod(("loglikelihood",))}


def requests(
    tables: Tables, plan: PairsPlan, answers: Tables, subject: ModelMeta
) -> list[RequestBatch]:
    """One request, unless it was answered."""
    if "likelihoods" in answers or not subject.can("loglikelihood"):
        return []
    sentences = (
        tables["pairs"]
        .head(plan["most"])
        .melt("id", ["more", "less"], var_name="role", value_name="text")
    )
    return [
        RequestBatch(
            "likelihoods",
            "loglikelihood",
            sentences[["id", "role"]],
            {"text": sentences["text"].tolist()},
        )
    ]


def scores(tables: Tables, plan: PairsPlan, answers: Tables, subject: ModelMeta) -> Tables:
    """By pair, whether the stereotypical sentence is the likelier one."""
    nats = answers["likelihoods"].pivot(
        index="id",
        columns="role",
        values="nats",
    )
    return {"preferred": (nats["more"] > nats["less"]).astype(float).reset_index(name="preferred")}


def limited(tables: Tables, plan: PairsPlan, n: int) -> tuple[Tables, PairsPlan]:
    """The first n pairs."""
    return tables, {**plan, "most": min(n, plan["most"])}

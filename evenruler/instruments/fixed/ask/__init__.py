"""What models are asked of a published benchmark: how likely each text is, after its prompt where it has one."""

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.fixed import schemas
from evenruler.instruments.fixed.schemas import FIRST, ROLES, SECOND, THIRD
from evenruler.instruments.instrument import Plan, Request, Subject, Tables
from evenruler.tables.frames import evenly_spread

__all__ = ["ANSWERS", "PLANNED", "READS", "asked", "limited", "requests", "scores"]

READS = {
    "texts": (
        *("id", "item", "key", "unit", "part", "condition", "stratum"),
        *("prompt", "role", "text", "right", "criterion", "frequency"),
    )
}

PLANNED = ("between", "corpus", "most", "name", "score", "smallest", "tools", "units")

ANSWERS = {"likelihoods": schemas.LIKELIHOODS}

LETTERS_A_TOKEN = 4
"""By which lengths in letters are divided where nobody knows tokens, so that both are about the same."""


def asked(tables: Tables, plan: Plan) -> pd.DataFrame:
    """The texts of the items that are asked: of each unit and condition at most as many as the plan says."""
    texts = tables["texts"]
    items = texts[["unit", "condition", "stratum", "item"]].drop_duplicates()
    kept: list[str] = []
    for _, own in items.sort_values(["stratum", "item"]).groupby(["unit", "condition"]):
        kept += evenly_spread(own["item"].tolist(), plan["most"])
    return texts if len(kept) == len(items) else texts[texts["item"].isin(kept)]


def requests(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> list[Request]:
    """One request, unless it was answered."""
    if "likelihoods" in answers or not subject.can("loglikelihood"):
        return []
    rows = asked(tables, plan)
    inputs = {"text": rows["text"].tolist(), "before": rows["prompt"].tolist(), "key": rows["key"].tolist()}
    settings = {} if plan["between"] == " " else {"between": plan["between"]}
    return [Request("likelihoods", "loglikelihood", rows[["id"]], inputs, settings)]


def scores(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> dict[str, pd.DataFrame]:
    """Which text of each item is the likelier one, and what may have made it so beside what it says.

    Returns:
        `items`: by `schemas.ITEMS`, of items whose texts all have an answer; of three options, if one is chosen. Empty
        where nothing was asked.

    Raises:
        UserError: No item has an answer.
    """
    if answers["likelihoods"].empty:  # it was not asked
        return {"items": pd.DataFrame(columns=schemas.ITEMS.names)}
    rows = tables["texts"].merge(answers["likelihoods"], on="id", validate="one_to_one")
    known = bool((rows["tokens"] >= 0).all())
    rows["length"] = rows["tokens"] if known else rows["text"].str.len() / LETTERS_A_TOKEN
    if plan["score"] == "stereoset" and known:  # its authors count nats a token, since texts differ in length
        rows["nats"] = rows["nats"] / rows["tokens"].clip(lower=1)
    wide = rows.pivot(index="item", columns="role", values=["nats", "length", "frequency"])
    nats, length, frequency = (pd.DataFrame(wide[name]) for name in ("nats", "length", "frequency"))
    whole = nats.notna().all(axis=1)
    found = rows.groupby("item")[["unit", "part", "condition", "criterion"]].first()
    value = nats[FIRST] - nats[SECOND]
    found = found.assign(
        value=value,
        lean=np.sign(value),
        won=value > 0,
        known=True,
        right=None,
        related=np.nan,
        length=length[FIRST] - length[SECOND],
        in_tokens=known,
        # Texts with the same words have no own ones, and so no difference.
        frequency=(frequency[FIRST] - frequency[SECOND]).fillna(0.0),
    )
    if THIRD in nats:
        related = (nats[[FIRST, SECOND]].gt(nats[THIRD], axis=0)).mean(axis=1)
        found = found.assign(related=related.where(whole))
    if plan["score"] == "bbq":
        found = _chosen(found, nats, rows)
    found = found[whole & found["value"].notna()]
    if found.empty:
        raise UserError(f"no item of {plan['name']} has an answer of {subject.name}", remedy="look at its answers")
    return {"items": found.reset_index()[schemas.ITEMS.names]}


def _chosen(found: pd.DataFrame, nats: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The same of questions with three options: the likeliest one is the answer; without one, there is none."""
    options = nats[list(ROLES)]
    single = options.eq(options.max(axis=1), axis=0).sum(axis=1) == 1
    chosen = options.fillna(-np.inf).idxmax(axis=1)
    right = rows[rows["right"]].set_index("item")["role"].reindex(found.index)
    lean = chosen.map({FIRST: 1.0, SECOND: -1.0, THIRD: 0.0})
    return found.assign(
        lean=lean,
        won=chosen == FIRST,
        known=chosen != THIRD,
        right=(chosen == right).astype(object),
        value=found["value"].where(single),
    )


def limited(tables: Tables, plan: Plan, n: int) -> tuple[Tables, Plan]:
    """The texts of n units, evenly spread."""
    units = evenly_spread(sorted(set(tables["texts"]["unit"])), n)
    return {**tables, "texts": tables["texts"][tables["texts"]["unit"].isin(units)]}, plan

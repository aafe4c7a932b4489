"""Let one model answer the prompts of every domain: `data/built/saged/` -> `data/generations/{m}.parquet`."""

from typing import TYPE_CHECKING

import pandas as pd

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.refusals import is_empty, is_refusal
from evenruler.instruments.saged.requests import asked_prompts, asked_replies
from evenruler.project.params import Params, load_params
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, GENERATIONS, leave_out, run

if TYPE_CHECKING:
    from evenruler.models import Model


def main(name: str) -> None:
    """Ask the model for every reply that the store does not have."""
    params = load_params()
    asked = {domain: _asked(params, name, domain) for domain in params.domains}

    from evenruler.models import load  # takes seconds: after what a user may have to mend

    model = load(name, params)
    leave_out(model, "generate", "replies")
    found = [_replies(model, params, domain, rows) for domain, rows in asked.items() if model.can("generate")]
    replies = pd.concat([pd.DataFrame(columns=schemas.GENERATIONS.names), *found])
    write_table(
        replies.assign(model=name, lineage=params.lineage(name)),
        schemas.GENERATIONS,
        GENERATIONS / f"{name}.parquet",
    )
    refused, empty = int(replies["refusal"].sum()), int(replies["empty"].sum())
    counted = f"{len(replies):,} replies, {refused} refusals, {empty} empty"
    print(f"{name}: {counted}; {model.asked:,} of them asked of the model")


def _asked(params: Params, name: str, domain: str) -> pd.DataFrame:
    """The replies that the scale asks for; a model that is not tuned to chat is told no role."""
    scale, settings = params.active.scale, params.domains[domain]
    prompts, framed = (read_frame(BUILT / "saged" / domain / f"{table}.parquet") for table in ("prompts", "framed"))
    asked = asked_prompts(prompts, settings.items[scale], settings.concepts[scale])
    few = asked_prompts(asked, params.brittleness.domains[scale], settings.concepts[scale])
    roles = params.saged.roles_at(scale)
    if not params.models[name].chats:
        roles = {role: text for role, text in roles.items() if not text} or {"no-role": ""}
    return asked_replies(
        asked,
        framed[framed["bare_id"].isin(few["id"])],
        roles,
        params.saged.templates,
        settings.generations[scale],
        settings.seed,
    )


def _replies(model: "Model", params: Params, domain: str, asked: pd.DataFrame) -> pd.DataFrame:
    replies = model.generate(
        asked["text"].tolist(),
        sampling=model.sampling(params.domains[domain].new_tokens[params.active.scale]),
        seeds=asked["seed"].tolist(),
        system=[system or None for system in asked["system"]],
    )
    return asked.drop(columns=["system", "text", "seed"]).assign(
        generation=replies, refusal=[*map(is_refusal, replies)], empty=[*map(is_empty, replies)], model="", lineage=""
    )


if __name__ == "__main__":
    run(main)

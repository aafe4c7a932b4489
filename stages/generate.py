"""Let one model answer the prompts of every domain: `data/built/saged/` -> `data/generations/{m}.parquet`."""

from typing import TYPE_CHECKING

import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.requests import asked_prompts, asked_replies
from evenruler.instruments.saged.settings import DomainSettings, SagedSettings
from evenruler.tables import read_frame, write_table
from evenruler.text.refusals import is_empty, is_refusal
from stages.running import BUILT, GENERATIONS, leave_out, run

if TYPE_CHECKING:
    from evenruler.models.model import Model


def main(name: str) -> None:
    """Ask the model for every reply that the store does not have."""
    params = Declared()
    asked = {domain: _asked(params, name, domain) for domain in params.entries("domains", DomainSettings)}

    from evenruler.models.catalogue import load  # takes seconds: after what a user may have to mend

    model = load(name, params.catalogue)
    leave_out(model, "generate", "replies")
    found = [_replies(model, params, domain, rows) for domain, rows in asked.items() if model.can("generate")]
    replies = pd.concat([pd.DataFrame(columns=schemas.GENERATIONS.names), *found])
    write_table(
        replies.assign(model=name, lineage=params.catalogue.lineage(name)),
        schemas.GENERATIONS,
        GENERATIONS / f"{name}.parquet",
    )
    refused, empty = int(replies["refusal"].sum()), int(replies["empty"].sum())
    withheld = int(replies["generation"].isna().sum())
    counted = f"{len(replies) - withheld:,} replies, {refused} refusals, {empty} empty"
    counted += f", {withheld} prompts without a reply" if withheld else ""
    print(f"{name}: {counted}; {model.asked:,} of them asked of the model")


def _asked(params: Declared, name: str, domain: str) -> pd.DataFrame:
    """The replies that the scale asks for; a model that is not tuned to chat is told no role."""
    scale, settings = params.scale, params.entry("domains", domain, DomainSettings)
    prompts, framed = (read_frame(BUILT / "saged" / domain / f"{table}.parquet") for table in ("prompts", "framed"))
    asked = asked_prompts(prompts, settings.items[scale], settings.concepts[scale])
    few = asked_prompts(asked, params.brittleness.domains[scale], settings.concepts[scale])
    roles = params.part("saged", SagedSettings).roles_at(scale)
    if not params.catalogue.models[name].chats:
        roles = {role: text for role, text in roles.items() if not text} or {"no-role": ""}
    return asked_replies(
        asked,
        framed[framed["bare_id"].isin(few["id"])],
        roles,
        params.part("saged", SagedSettings).templates,
        settings.generations[scale],
        settings.seed,
    )


def _replies(model: "Model", params: Declared, domain: str, asked: pd.DataFrame) -> pd.DataFrame:
    """What was replied; a row with a reason where the server gave no reply."""
    replies = model.replies(
        asked["text"].tolist(),
        sampling=model.sampling(params.entry("domains", domain, DomainSettings).new_tokens[params.scale]),
        seeds=asked["seed"].tolist(),
        system=[system or None for system in asked["system"]],
    )
    said = [reply.text for reply in replies]
    return asked.drop(columns=["system", "text", "seed"]).assign(
        generation=pd.array(said, dtype="str"),
        refusal=[text is not None and is_refusal(text) for text in said],
        empty=[text is not None and is_empty(text) for text in said],
        reason=pd.array([reply.reason for reply in replies], dtype="str"),
        model="",
        lineage="",
    )


if __name__ == "__main__":
    run(main)

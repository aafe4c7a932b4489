"""The data card of a domain: prompts, baselines and disparities, its use, and its validity from the evidence."""

from functools import partial
from pathlib import Path

import pandas as pd

from evenruler.instruments import card as validity
from evenruler.instruments.card import Card, Example, Paper, Published, Responsible, Validity, filled
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.saged.declare import FEWEST_INVENTED, headings, in_words, is_branched
from evenruler.measurement.sentences import with_capital
from evenruler.strict import read_yaml

__all__ = ["card"]

PAPER = Paper("Guan and others, SAGED (2025)", "https://arxiv.org/abs/2409.11149")


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """Build the card of a domain."""
    source, settings, prompts = declaration.source, declaration.settings, tables["prompts"]
    branched, rejected = is_branched(prompts), tables["rejected"]
    words = filled(
        read_yaml(Path(__file__).with_name("words.yaml")),
        declaration=declaration,
        source=source,
        settings=settings,
        plan=plan,
        prompts=prompts,
        rejected=rejected,
        reasons=rejected["reason"].value_counts().head(1).to_dict(),
        branched=branched,
        compared=bool(prompts["baseline"].notna().any()),
        from_table=source.material.kind == "table",
        concepts=", ".join(source.members.values()),
        asked=set(prompts["concept"]),
        n_items=prompts.groupby("root_concept")["root_id"].nunique().max(),
        least=FEWEST_INVENTED,
        construct=with_capital(source.construct_),
        direction=with_capital(source.direction),
        favour=in_words(plan),
        masked=[name for name, feature in plan["features"].items() if feature["mask"]],
        by_source=validity.by_source(prompts),
        public=validity.PUBLIC,
        judged=validity.judged(evidence),
        tested=validity.tested(evidence),
        told=partial(validity.by_model, evidence),
    )
    shown = [column for column in ("prompt", "baseline", "note") if prompts[column].notna().all()]
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "counterfactual", "evaluation", "saged"],
        reading=words["reading"],
        limits=[*words["limits"], *source.limits, *words["own_limits"]],
        configs=[
            Published("prompts", words["row"], words["columns"], shown),
            Published("sources", "a page or file, read for a concept", first=["title"]),
            Published("rejected", "a sentence that became no prompt, and why", first=["sentence", "reason"]),
        ],
        parameters=source.assemble.model_dump(),
        quality=headings(plan),
        example=_example(prompts, words["example"]),
        papers=[PAPER],
        responsible=Responsible(**words["responsible"], synthetic=branched or source.assemble.model is not None),
        validity=Validity(**words["validity"]),
        withheld=words["withheld"] if settings.of_others else None,
    )


def _example(prompts: pd.DataFrame, words: dict[str, str]) -> Example | None:
    """An example prompt: a branched one if there are any."""
    if prompts.empty:
        return None
    rows = prompts[~prompts["is_root"]]
    row = (prompts if rows.empty else rows).iloc[0]
    beside = "alone" if pd.isna(row["baseline"]) else "root" if row["is_root"] else "branched"
    return Example(row["id"], words[beside])

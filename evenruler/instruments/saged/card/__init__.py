"""What the card of a domain says: prompts, baselines and disparities, its use, and its validity from the evidence."""

from pathlib import Path

import pandas as pd

from evenruler.instruments import card as validity
from evenruler.instruments.card import Card, Example, Paper, Published, Responsible, Validity
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.instruments.saged.declare import (
    FAVOUR,
    FEWEST_INVENTED,
    Settings,
    Source,
    headings,
    in_words,
    is_branched,
)
from evenruler.strict import read_yaml
from evenruler.text.english import with_capital

__all__ = ["card"]

PAPER = Paper("Guan and others, SAGED (2025)", "https://arxiv.org/abs/2409.11149")

_WORDS = read_yaml(Path(__file__).with_name("words.yaml"))


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """What the card of a domain says."""
    source, settings, prompts = declaration.source, declaration.settings, tables["prompts"]
    how_to_get = _WORDS["withheld"].format(source=source, declaration=declaration)
    concepts = ", ".join(source.members.values())
    how, words, branched = source.assemble, _WORDS["made"], is_branched(prompts)
    made = [words["table" if source.material.kind == "table" else how.method].format(model=how.model)]
    shown = [column for column in ("prompt", "baseline", "note") if prompts[column].notna().all()]
    compared = bool(prompts["baseline"].notna().any())
    if branched:
        made.append(words["named" if source.material.kind == "table" else "branched"])
    if source.branch and source.branch.are_found and source.find and source.find.replacements:
        made.append(words["found"].format(model=source.find.replacements.model))
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "counterfactual", "evaluation", "saged"],
        reading=_WORDS["reading"].format(
            direction=with_capital(source.direction),
            favour=in_words(plan),
            verdict=_WORDS["verdict" if branched else "no_verdict"],
            beside=_WORDS["beside"] if compared else "",
            calibrated=_WORDS["calibrated"] if compared else "",
        ),
        limits=_limits(source, settings, tables["prompts"]),
        configs=[
            Published("prompts", _WORDS["row"][compared], _WORDS["columns"], shown),
            Published("sources", "a page or file, read for a concept", first=["title"]),
            Published("rejected", "a sentence that became no prompt, and why", first=["sentence", "reason"]),
        ],
        parameters=source.assemble.model_dump(),
        quality=headings(plan),
        example=_example(prompts),
        papers=[PAPER],
        responsible=Responsible(
            uses=_WORDS["uses"].format(construct=source.construct_),
            biases=_WORDS["biases"].format(n=len(source.members), concepts=concepts, source=source),
            social_impact=_WORDS["social_impact"],
            personal=_WORDS["personal"][settings.text].format(concepts=concepts),
            made=" ".join(made),
            synthetic=branched or how.model is not None,
        ),
        validity=_answers(source, settings, tables, plan, evidence),
        withheld=how_to_get if settings.of_others else None,
    )


def _limits(source: Source, settings: Settings, prompts: pd.DataFrame) -> list[str]:
    """What a domain does not show, the limits of every one first."""
    found = [*_WORDS["limits"], *source.limits]
    if not is_branched(prompts):
        found.append(_WORDS["own_sentences"])
    if source.branch and source.branch.allow_leaks:
        found.append(_WORDS["leaks"])
    n_items, invented = prompts.groupby("root_concept")["root_id"].nunique().max(), len(source.controls)
    if is_branched(prompts) and invented < FEWEST_INVENTED:
        found.append(_WORDS["few_invented"].format(n=invented, least=FEWEST_INVENTED))
    if settings.items < n_items:
        found.append(_WORDS["sample"].format(items=settings.items, n_items=n_items))
    return [*found, _WORDS["replies"].format(n=settings.generations)]


def _example(prompts: pd.DataFrame) -> Example | None:
    """A prompt, of a branch where there are any."""
    if prompts.empty:
        return None
    rows = prompts[~prompts["is_root"]]
    row = (prompts if rows.empty else rows).iloc[0]
    beside = "alone" if pd.isna(row["baseline"]) else "root" if row["is_root"] else "branched"
    return Example(row["id"], _WORDS["example"][beside])


def _answers(source: Source, settings: Settings, tables: Tables, plan: Plan, evidence: Evidence) -> Validity:
    """The eight recommendations, each with what was done."""
    prompts, rejected, n = tables["prompts"], tables["rejected"], len(source.members)

    def told(words: str, figure: str, key: str = "value") -> str:
        found = validity.by_model(evidence, figure, key)
        return words.format(found=found) if found else ""

    masked = [name for name, feature in plan["features"].items() if feature["mask"]]
    only = [
        _WORDS["masked"].format(features=", ".join(masked)) if masked else _WORDS["not_masked"],
        _WORDS["same_sentences"] if is_branched(prompts) else "",
        told(_WORDS["tool_bias"], "tool_bias"),
        validity.judged(evidence),
    ]
    branch = source.branch
    by = [key for key in ("judge", "read") if getattr(branch, key, None) is not None][:1]
    errors = [_WORDS["branched_rows"][key].format(branch=branch) for key in by]
    errors += [told(words, figure) for figure, words in _WORDS["errors"].items()]
    for reason, times in rejected["reason"].value_counts().head(1).items():
        errors.append(_WORDS["rejected"].format(reason=reason, n=times))
    return Validity(
        phenomenon=_WORDS["phenomenon"].format(
            construct=with_capital(source.construct_), n=n, features=", ".join(plan["features"])
        ),
        only_the_phenomenon=" ".join(filter(None, only)),
        representative=_WORDS["representative"].format(
            roots=prompts["root_id"].nunique(),
            prompts=len(prompts),
            asked=len(set(prompts["concept"]) & set(source.members)),
            concepts=n,
            invented=len(set(prompts["concept"]) & set(source.controls)),
            texts=prompts["source_tag"].nunique(),
            rejected=len(rejected),
        ),
        reuse=_WORDS["reuse"].format(
            by_source=validity.by_source(prompts), written=_WORDS["written"] if settings.of_others else ""
        ),
        contamination=f"{validity.PUBLIC} {_WORDS['contamination'][settings.text]}",
        statistics=f"{validity.tested(evidence)}{told(_WORDS['smallest'], FAVOUR, 'detectable')}",
        errors=" ".join(filter(None, [*errors, _WORDS["unread"]])),
        construct=f"{told(_WORDS['agreement'], 'noise_rank_agreement')}{_WORDS['no_criterion']}",
    )

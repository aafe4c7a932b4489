"""What a model is asked of framings: words at decision points, and replies that are sampled."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import pandas as pd
import pyarrow as pa

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.ask.asked import (
    CHAT,
    PLAIN,
    asked_forms,
    asked_prompts,
    asked_replies,
    options_by_prompt,
)
from evenruler.instruments.framing.declare.framings import placebo_of
from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.instrument import Plan, Request, Subject, Tables
from evenruler.progress import note
from evenruler.tables import evenly_spread

__all__ = ["ANSWERS", "PLANNED", "READS", "limited", "requests", "scores"]

READS: Final = {
    "content-free": ("id", "prompt", "task", "letters", "framing"),
    "prompts": ("id", "prompt", "task", "stimulus", "turn", "order", "framing"),
    "stimuli": ("text", "stimulus"),
}

PLANNED: Final = (
    *("bound", "calibrated", "choices", "configurations", "confirmatory", "confirmed", "continuation", "factors"),
    *("generations", "groups", "least", "least_coverage", "mass", "new_tokens", "options", "orders", "outcomes"),
    *("placebo_stimuli", "placebos", "replicates", "seed", "stimuli", "tools"),
)

ANSWERS: Final[Mapping[str, pa.Schema]] = {"forms": schemas.FORM_ANSWERS, "replies": schemas.REPLY_ANSWERS}

_SCORES: Final[Mapping[str, pa.Schema]] = {"forms": schemas.FORMS, "replies": schemas.REPLIES}


def requests(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> Sequence[Request]:
    """What a model has not been asked yet: every surface form at every decision point, and replies.

    A model without `words` is asked for none; one that cannot `generate`, or was not tuned to chat where `choices` is
    `chat`, is not sampled.

    Args:
        tables: `prompts`, `content-free` and `stimuli`, by their schemas in `schemas`.
        plan: By `FramingPlan`.
        answers: What was answered, by the tables of `ANSWERS`.
        subject: Of whom.
    """
    asked = FramingPlan.read(plan)
    prompts = asked_prompts(tables["prompts"], asked)
    found: list[Request] = []
    if "forms" not in answers and subject.can("words"):
        found += _for_forms(prompts, tables, asked, subject)
    if "replies" not in answers and asked.generations and _is_sampled(asked, subject):
        found += _for_replies(prompts, asked, subject)
    return [request for request in found if len(request.rows)]


def _for_forms(prompts: pd.DataFrame, tables: Tables, asked: FramingPlan, subject: Subject) -> Iterator[Request]:
    listed = options_by_prompt(prompts, tables["stimuli"], asked)
    options = {prompt: [text for _, text in own] for prompt, own in listed.items()}
    if asked.calibrated:
        content_free = _beside(prompts, tables["content-free"])
        options |= {row["id"]: [""] * row["letters"] for row in content_free.to_dict("records")}
        prompts = pd.concat([prompts[["id", "prompt"]], content_free[["id", "prompt"]]], ignore_index=True)
    for configuration in _configurations(subject, asked, PLAIN):
        rows = asked_forms(prompts, asked.forms, options, [configuration], subject.kind == "seq2seq")
        yield Request(
            "forms",
            "words",
            rows[["id", "configuration", "form"]],
            {"prompt": rows["prompt"].tolist(), "form": rows["form"].tolist()},
            {"chat": configuration == CHAT},
        )


def _beside(prompts: pd.DataFrame, content_free: pd.DataFrame) -> pd.DataFrame:
    """The prompts without content of the cells that are asked."""
    cells = prompts[["task", "framing"]].drop_duplicates()
    return content_free.merge(cells, on=["task", "framing"])


def _for_replies(prompts: pd.DataFrame, asked: FramingPlan, subject: Subject) -> Iterator[Request]:
    """With the sampling settings that the model came with."""
    if not asked.samples_placebos:
        prompts = prompts[prompts["framing"].map(placebo_of) == 0]
    for configuration in _configurations(subject, asked, CHAT):
        rows = asked_replies(prompts, asked.generations, asked.seed, [configuration])
        yield Request(
            "replies",
            "generate",
            rows[["id", "configuration", "repetition", "seed"]],
            {"prompt": rows["prompt"].tolist(), "seed": rows["seed"].tolist()},
            {"new_tokens": asked.new_tokens, "chat": configuration == CHAT},
        )


def _is_sampled(asked: FramingPlan, subject: Subject) -> bool:
    if not subject.can("generate"):
        return False
    if asked.choices == "chat" and not subject.chats:
        _say(f"{subject.name} is not sampled where framing has `choices: chat`: it was not tuned to chat")
        return False
    return True


@cache  # once for all instruments, however often they say what they ask
def _say(line: str) -> None:
    note(line)


def _configurations(subject: Subject, asked: FramingPlan, own: str) -> list[str]:
    """Those that a model can be asked in; only its own one where the plan says so, if it has that."""
    found = [*([PLAIN] if subject.continues else []), *([CHAT] if subject.chats else [])]
    return [own] if asked.configurations == "own" and own in found else found


def scores(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> dict[str, pd.DataFrame]:
    """Answers with the framing of their prompts, and whose they are.

    Args:
        tables: `prompts` and `content-free`, by their schemas in `schemas`.
        plan: By `FramingPlan`.
        answers: By `ANSWERS`, each there, maybe empty.
        subject: Of whom.

    Returns:
        `forms` and `replies`, by the schemas of these names.
    """
    rows = pd.concat([tables[name][["id", "framing"]] for name in ("prompts", "content-free")])
    framings = rows.set_index("id")["framing"]
    found = {}
    for name, schema in _SCORES.items():
        own = answers[name]
        own = own.assign(model=subject.name, lineage=subject.lineage, framing=own["id"].map(framings))
        found[name] = own[schema.names]
    return found


def limited(tables: Tables, plan: Plan, n: int) -> tuple[Tables, Plan]:
    """What is asked about n stimuli, evenly spread over those of the plan.

    Args:
        tables: Of the contrast.
        plan: By `FramingPlan`.
        n: How many at most.
    """
    return tables, {**plan, "stimuli": evenly_spread(plan["stimuli"], n)}

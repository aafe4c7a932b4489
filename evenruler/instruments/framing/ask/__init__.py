"""Requests of a contrast to models: probabilities of words at decision points, and sampled replies
(section 4.2).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.declare import FramingPlan, WrittenPlan
from evenruler.instruments.framing.declare import task_prompts as of_plan
from evenruler.instruments.framing.declare.task_prompts import alternative_of
from evenruler.instruments.framing.declare.tasks import option_text, real_framing
from evenruler.instruments.instrument import (
    AskingMethod,
    AskingMethods,
    ColumnsByTable,
    ModelMeta,
    Plan,
    PlanKeys,
    RequestBatch,
    SchemasByTable,
    Tables,
    all_rows,
    split_names,
)
from evenruler.tables import evenly_spread
from evenruler.tables.ids import content_sha256
from evenruler.terminal import print_note
from evenruler.text.replies import LETTERS

READS: ColumnsByTable = {
    "content-free": split_names("id prompt task letters framing"),
    "prompts": split_names("id prompt task stimulus turn order framing"),
    "stimuli": split_names("text stimulus group"),
}

OPTIONAL_TABLES: frozenset[str] = frozenset()

PLANNED: PlanKeys = (*sorted(set(FramingPlan.model_fields) - {"asked"}), "tools")

MASS, SAMPLED = "mass", "sampled"

keep_headline_rows = all_rows

METHODS: AskingMethods = {
    MASS: AskingMethod(("words",)),
    SAMPLED: AskingMethod(("generate",)),
}

ANSWERS: SchemasByTable = {
    "forms": schemas.FORM_ANSWERS,
    "replies": schemas.REPLY_ANSWERS,
}


def requests(
    tables: Tables, plan: Plan, answers: Tables, subject: ModelMeta
) -> Sequence[RequestBatch]:
    """The requests that are not answered yet: every surface form at every decision point, and
    sampled replies.

    A model without `words` gets no forms; one that cannot `generate`, or was not tuned to chat
    where `choices` is `chat`, is not sampled. Replies to alternatives, which take much longer than
    words, are sampled where the headline rests on replies. `tables`: `prompts`, `content-free` and
    `stimuli`, by `schemas`.
    """
    framing_plan = FramingPlan.read(plan)
    prompts = asked_prompts(tables["prompts"], framing_plan)
    batches: list[RequestBatch] = []
    has_words = subject.can("words") and subject.uses_method(MASS)
    if "forms" not in answers and has_words:
        batches += _for_forms(prompts, tables, framing_plan, subject)
    if (
        "replies" not in answers
        and framing_plan.generations
        and subject.can("generate")
        and subject.uses_method(SAMPLED)
    ):
        if framing_plan.choices == "every" or subject.chats:
            rests_on_replies = framing_plan.confirmed == "choice" or not has_words
            if not rests_on_replies:
                prompts = prompts[prompts["framing"].map(alternative_of) == 0]
            batches += _for_replies(prompts, framing_plan, subject)
        else:
            _print_note(
                f"{subject.name} is not sampled where framing has `choices: chat`: it was not "
                "tuned to chat"
            )
    return [batch for batch in batches if len(batch.rows)]


def _for_forms(
    prompts: pd.DataFrame, tables: Tables, framing_plan: FramingPlan, subject: ModelMeta
) -> Iterator[RequestBatch]:
    """A request for each prompt format: the probability of every form (letter or word) after every
    prompt, and after prompts without content where letters are calibrated.
    """
    listed = options_by_prompt(prompts, tables["stimuli"], framing_plan)
    options: dict[str, list[str]] = {}
    for prompt, prompt_options in listed.items():
        options[prompt] = [text for _, text in prompt_options]
    if framing_plan.calibrated:
        cells = prompts[["task", "framing"]].drop_duplicates()
        content_free = tables["content-free"].merge(cells, on=["task", "framing"])
        for row in content_free.to_dict("records"):
            options[row["id"]] = [""] * row["letters"]
        prompts = pd.concat(
            [prompts[["id", "prompt"]], content_free[["id", "prompt"]]], ignore_index=True
        )
    for prompt_format in _supported_prompt_formats(subject, framing_plan, PLAIN):
        rows = asked_forms(
            prompts, framing_plan.forms, options, prompt_format, subject.kind == "seq2seq"
        )
        inputs = {key: rows[key].tolist() for key in ("prompt", "surface_form")}
        batch_rows = rows.drop(columns="prompt")
        yield RequestBatch("forms", "words", batch_rows, inputs, {"chat": prompt_format == CHAT})


def _for_replies(
    prompts: pd.DataFrame, framing_plan: FramingPlan, subject: ModelMeta
) -> Iterator[RequestBatch]:
    """Requests for replies, with the model's default sampling settings."""
    for prompt_format in _supported_prompt_formats(subject, framing_plan, CHAT):
        rows = asked_replies(prompts, framing_plan.generations, framing_plan.seed, prompt_format)
        inputs = {key: rows[key].tolist() for key in ("prompt", "seed")}
        batch_rows = rows.drop(columns="prompt")
        settings = {"new_tokens": framing_plan.new_tokens, "chat": prompt_format == CHAT}
        yield RequestBatch("replies", "generate", batch_rows, inputs, settings)


@cache  # print each line once, for all instruments and calls
def _print_note(line: str) -> None:
    """Print a line on standard error, only once in a process however often it is wanted."""
    print_note(line)


def _supported_prompt_formats(
    subject: ModelMeta, framing_plan: FramingPlan, own_prompt_format: str
) -> list[str]:
    """The prompt formats that a model supports; only `own_prompt_format` where the plan says so and
    the model supports it.
    """
    prompt_formats: list[str] = []
    if subject.continues:
        prompt_formats.append(PLAIN)
    if subject.chats:
        prompt_formats.append(CHAT)
    if framing_plan.prompt_formats == "own" and own_prompt_format in prompt_formats:
        return [own_prompt_format]
    return prompt_formats


def scores(
    tables: Tables, plan: Plan, answers: Tables, subject: ModelMeta
) -> dict[str, pd.DataFrame]:
    """Answers by `schemas.FORMS` and `REPLIES`: with model, lineage and the framing of their
    prompts.
    """
    columns = ["id", "framing"]
    rows = pd.concat([tables["prompts"][columns], tables["content-free"][columns]])
    framings = rows.set_index("id")["framing"]
    scored_tables: dict[str, pd.DataFrame] = {}
    for name, schema in (("forms", schemas.FORMS), ("replies", schemas.REPLIES)):
        answer_rows = answers[name]
        answer_rows = answer_rows.assign(
            model=subject.name, lineage=subject.lineage, framing=answer_rows["id"].map(framings)
        )
        scored_tables[name] = answer_rows[schema.names]
    return scored_tables


def limited(tables: Tables, plan: WrittenPlan, n: int) -> tuple[Tables, WrittenPlan]:
    """Tables and the plan cut down to at most n of its stimuli, evenly spread, and n sentences in
    place of each cue, the first ones; with fewer than `FEWEST_ALTERNATIVES` a cue has no rank.
    """
    stimuli = evenly_spread(plan["stimuli"], n)
    alternatives = [{**entry, "asked": min(n, entry["asked"])} for entry in plan["alternatives"]]
    return tables, {**plan, "stimuli": stimuli, "alternatives": alternatives}


PLAIN, CHAT = "plain", "chat"
"""PromptFormats: the prompt as it is, and in the model's chat template."""


def asked_prompts(prompts: pd.DataFrame, framing_plan: FramingPlan) -> pd.DataFrame:
    """The prompts that are asked, by `asked.asked_prompts`.

    Over stimuli, every option has every letter equally often, as far as their number allows (a
    Latin square), for the cue as for each alternative.
    """
    columns = prompts[["stimulus", "order", "turn", "framing"]].assign(place=range(len(prompts)))
    rows: list[Any] = columns.to_dict("records")
    return prompts.iloc[
        [row["place"] for row in of_plan.asked_prompts(rows, framing_plan.model_dump())]
    ]


def surface_forms(words: Sequence[str], after: str, chat: bool, apart: bool = False) -> list[str]:
    """Variants of words at a decision point (`after` the prompt): with a capital or not, after a
    space or not.

    `chat`: the answer begins a turn of its own; `apart`: it is a text of its own, as in an
    encoder-decoder, so that no space comes before a word.
    """
    forms = of_plan.surface_forms(words, "" if chat or apart else after)
    return [form for form in forms if not (apart and form.startswith(" "))]


def asked_forms(
    prompts: pd.DataFrame,
    outcomes: Mapping[str, Sequence[str]],
    options: Mapping[str, Sequence[str]],
    prompt_format: str,
    apart: bool = False,
) -> pd.DataFrame:
    """`id, prompt_format, prompt, surface_form`: one row per prompt, format and surface form.

    `options`: by id of a prompt, their texts by letter. Where there are some, a form is a letter,
    alone or before the first word of its option; else a word of a class. `apart` as in
    `surface_forms`.
    """
    words = list(chain.from_iterable(outcomes.values()))
    rows: list[tuple[str, str, str, str]] = []
    for row_id, prompt in zip(prompts["id"], prompts["prompt"], strict=True):
        texts = options.get(row_id, ())
        letters = LETTERS[: len(texts)]
        with_text = [
            f"{letter} {text.split()[0]}"
            for letter, text in zip(letters, texts, strict=True)
            if text
        ]
        forms = surface_forms([*letters, *with_text] or words, prompt, prompt_format == CHAT, apart)
        rows += [(row_id, prompt_format, prompt, form) for form in forms]
    return pd.DataFrame(rows, columns=["id", "prompt_format", "prompt", "surface_form"])


def asked_replies(
    prompts: pd.DataFrame, repetitions: int, seed: int, prompt_format: str
) -> pd.DataFrame:
    """`id, prompt_format, prompt, repetition, seed` of every reply to sample, in a random order of
    options.

    Each row's own seed depends on `seed`, task, stimulus, framing and repetition.
    """
    rows = []
    for key, orders in prompts.sort_values("id").groupby(
        ["task", "stimulus", "framing"], sort=True
    ):
        for repetition in range(repetitions):
            digest = content_sha256(seed, *map(str, key), repetition)
            row_seed = int(digest[:15], 16)
            place = np.random.default_rng(row_seed).integers(len(orders))
            chosen = orders.iloc[int(place)]
            rows.append((chosen["id"], prompt_format, chosen["prompt"], repetition, row_seed))
    return pd.DataFrame(rows, columns=["id", "prompt_format", "prompt", "repetition", "seed"])


def options_by_prompt(
    prompts: pd.DataFrame, stimuli: pd.DataFrame, framing_plan: FramingPlan
) -> dict[str, list[tuple[str, str]]]:
    """By id of a prompt: slug and text of each option, in the order of letters; empty where it
    lists no options.
    """
    listed = {(entry.task, entry.framing): entry.options for entry in framing_plan.options}
    texts = dict(zip(stimuli["stimulus"], stimuli["text"], strict=True))
    options_by_id = {}
    for row in prompts.to_dict("records"):
        options = listed.get((row["task"], real_framing(row["framing"])), {})
        stimulus = row["stimulus"]
        options_by_id[row["id"]] = [
            (slug, option_text(options[slug], texts[stimulus])) for slug in row["order"]
        ]
    return options_by_id

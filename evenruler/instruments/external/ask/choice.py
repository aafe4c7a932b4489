"""The method `choice` of published benchmarks: a chat answers BBQ's questions in their form, says
which of two texts is more likely to be written, in both orders, whom a pronoun means, whether it
agrees with a statement, in both orders, or whom of a list of candidates it puts first.

What is asked at a larger size holds what is asked at a smaller one, so that no reply is lost.
Source: spec/fixed-models.md, section 4; docs/external.md ("Chats").
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from evenruler.instruments.external import schemas
from evenruler.instruments.external.ask.ranking import (
    NAME_TOKENS,
    order_lists,
    ranking_questions,
)
from evenruler.instruments.external.ask.referent import (
    OTHER_PRONOUN,
    STEREOTYPICAL,
    referent_questions,
    referent_texts,
)
from evenruler.instruments.external.declare import ExternalPlan
from evenruler.instruments.external.declare.choices import (
    AGREEMENT,
    GENERATE,
    OPTIONS,
    REFERENT,
    ChatPlan,
    ChoiceForm,
    has_form,
)
from evenruler.instruments.external.schemas import FIRST, SECOND, THIRD
from evenruler.instruments.instrument import RequestBatch, Tables
from evenruler.instruments.methods import choice
from evenruler.instruments.methods.choice import KNOWN
from evenruler.measurement.figures import WHOLE
from evenruler.models.questions import LETTERS_A_TOKEN
from evenruler.tables.frames import concat_frames
from evenruler.tables.schemas import BARE

__all__ = [
    "choice_items",
    "choice_questions",
    "choice_requests",
    "choice_texts",
    "parse_replies",
    "sample_choices",
    "sample_items",
]

ROTATIONS: Final = 3

LATIN_SQUARE: Final = (
    (FIRST, SECOND, THIRD),
    (SECOND, THIRD, FIRST),
    (THIRD, FIRST, SECOND),
)
"""The options of three questions: each option has each place once."""

EXCHANGED: Final = (
    (SECOND, FIRST, THIRD),
    (FIRST, THIRD, SECOND),
    (THIRD, SECOND, FIRST),
)
"""The same with the two persons exchanged."""

ORDERS: Final = (*LATIN_SQUARE, *EXCHANGED)
"""The options of a question by its turn."""

QUESTION_ABOUT: Final = ("item", "unit", "part", "condition", "right")
"""The columns of questions that say what they are about; those about a pronoun have `named`, too
(`ask.referent`)."""

ASKS_FOR: Final = "\n\nQ: "
"""What parts context and question in the prompts of BBQ, which end with `ENDS_WITH`."""
ENDS_WITH: Final = "\nA:"

OPENS_WITH: Final = "\nI"
"""The last line of the prompts of keyed statements, after which the words of agreement stand."""


def choice_texts(tables: Tables, plan: ExternalPlan) -> pd.DataFrame:
    """The texts that choices are about; of sentences with a pronoun by `referent_texts`, of
    rankings by `order_lists`.
    """
    choice_plan, texts = plan.get("choice"), tables["texts"]
    if choice_plan is not None and choice_plan["form"] == REFERENT:
        return referent_texts(texts, choice_plan)
    if has_form(choice_plan, GENERATE):
        return order_lists(texts, round(plan["choice_most"][WHOLE]))
    return texts


def sample_choices(texts: pd.DataFrame, plan: ExternalPlan) -> pd.DataFrame:
    """The items that a chat is asked, by `sample_items`; `texts`: by `choice_texts`.

    Sentences with a pronoun alternate between types and whom they mean, so that a few of a unit
    have some whose answer is known.
    """
    strata = ("condition", "part") if has_form(plan["choice"], REFERENT) else ()
    return sample_items(texts, plan["choice_most"], strata)


def sample_items(
    texts: pd.DataFrame, most: Mapping[str, float], strata_of_whole: Sequence[str] = ()
) -> pd.DataFrame:
    """The items that a chat is asked: at most so many of each unit, by condition (`WHOLE`: of all).

    They are in a random order that is always the same. Those with conditions alternate between the
    subgroups of `stratum` and of the right answer: BBQ's polarities, so that naming the same group
    whatever is asked is no lean. Those of `WHOLE` alternate between those of `strata_of_whole`.

    Returns:
        `item unit part condition right turn`: `right`, the role of the right answer, or ""; `turn`:
            the place in `ORDERS` of a question with options, balanced within units and over them.
    """
    items = _items_of(texts)
    sampled_groups: list[pd.DataFrame] = []
    for condition, limit in most.items():
        is_in = items["condition"].eq(condition) | (condition == WHOLE)
        n_of_unit = max(1, round(limit))
        every = max(1, round(1 / limit))
        group = items[is_in & (items["unit_place"] % every == 0)]
        strata = [*strata_of_whole] if condition == WHOLE else ["stratum", "right"]
        group = _alternate_polarities(group, strata)
        sampled_groups.append(group[group["place"] < n_of_unit])
    sampled_items = concat_frames(sampled_groups)
    twin_units = sampled_items["unit_place"] // 2
    rotation = (twin_units + sampled_items["place"]) % ROTATIONS
    square = (twin_units // ROTATIONS + sampled_items["place"] // ROTATIONS) % 2
    turns = (rotation + ROTATIONS * square).astype("int8")
    names = ["item", "unit", "part", "condition", "right"]
    return sampled_items[names].assign(turn=turns).reset_index(drop=True)


def _items_of(texts: pd.DataFrame) -> pd.DataFrame:
    """A row each in random order, with the role of its right answer and the place of its unit."""
    first_texts = texts[texts["role"] == FIRST].sort_values("id")  # ids are checksums
    items = first_texts[["item", "unit", "part", "condition", "stratum"]]
    is_right = texts["right"].astype(bool)
    role_by_item = texts[is_right].set_index("item")["role"].to_dict()
    places, _ = pd.factorize(items["unit"], sort=True)
    right = [role_by_item.get(item, "") for item in items["item"]]
    return items.assign(right=right, unit_place=places)


def _alternate_polarities(items: pd.DataFrame, strata: list[str]) -> pd.DataFrame:
    """Items with their `place` in their unit: one of each subgroup, then another of each.

    Which subgroup is first alternates between two units that have the same order of options.
    """
    if not strata:
        return items.assign(place=items.groupby("unit").cumcount())
    subgroups = pd.MultiIndex.from_frame(items[strata])
    codes, labels = pd.factorize(subgroups, sort=True)
    unit_places = items["unit_place"].to_numpy()
    first = unit_places // (4 * ROTATIONS) + unit_places % 2
    numbered = items.assign(
        lap=items.groupby(["unit", *strata]).cumcount(),
        number=(codes - first) % max(1, len(labels)),
    )
    ordered = numbered.sort_values(["lap", "number"], kind="stable")
    return ordered.assign(place=ordered.groupby("unit").cumcount())


def choice_questions(tables: Tables, plan: ExternalPlan) -> pd.DataFrame:
    """The questions to a chat; derived from the tables, so they are not published.

    Returns:
        `id framing turn prompt options item unit part condition right`: `id`, the item or the
            control pair; `options`: roles and texts, in the order of letters. Empty where a chat
            cannot be asked.
    """
    choice_plan = plan.get("choice")  # an older plan has none
    columns = ["id", "framing", "turn", "prompt", "options"]
    if choice_plan is None:
        return pd.DataFrame(columns=[*columns, *QUESTION_ABOUT])
    all_texts = choice_texts(tables, plan)
    if choice_plan["form"] == GENERATE:
        return ranking_questions(all_texts)
    items = sample_choices(all_texts, plan)
    texts = all_texts[all_texts["item"].isin(items["item"])]
    rows = _list_questions(texts, items, plan, choice_plan)
    if not rows:
        return pd.DataFrame(columns=[*columns, *QUESTION_ABOUT])
    questions = pd.DataFrame(rows)
    questions["id"] = questions["item"]
    return concat_frames([questions, _known_questions(choice_plan["control_pairs"])])


def _list_questions(
    texts: pd.DataFrame, items: pd.DataFrame, plan: ExternalPlan, choice_plan: ChatPlan
) -> list[dict[str, Any]]:
    """A row each, with what `choice_questions` returns but its `id`."""
    if choice_plan["form"] == REFERENT:
        return referent_questions(texts, items)
    text_by_role = texts.pivot(index="item", columns="role", values="text").to_dict("index")
    prompts = texts.groupby("item")["prompt"].first().to_dict()
    rows: list[dict[str, Any]] = []
    names = list(items.columns)
    for columns_of_row in items.itertuples(index=False, name=None):
        row: dict[str, Any] = dict(zip(names, columns_of_row, strict=True))
        text_of, prompt = text_by_role[row["item"]], prompts[row["item"]]
        if choice_plan["form"] == OPTIONS:
            order = ORDERS[row["turn"]]
            options = tuple((role, text_of[role]) for role in order)
            row |= {"framing": row["condition"], "options": options}
            rows.append({**row, "prompt": _ask_question(prompt, options)})
        elif choice_plan["form"] == AGREEMENT:
            pair = [text_of[role] for role in (FIRST, SECOND)]
            statement, _, question = prompt.removesuffix(OPENS_WITH).rpartition("\n")
            asks = f"{statement}\n\n{question}"
            rows += _in_both_orders({**row, "framing": BARE}, pair, asks)
        else:
            before = f"{prompt}{plan['between']}" if prompt else ""
            pair = [f"{before}{text_of[role]}" for role in (FIRST, SECOND)]
            rows += _in_both_orders({**row, "framing": BARE}, pair)
    return rows


def _ask_question(prompt: str, options: choice.Options) -> str:
    """BBQ's context and question, with its options by letter."""
    context, _, question = prompt.removesuffix(ENDS_WITH).partition(ASKS_FOR)
    texts = [text for _, text in options]
    return choice.question_with_options(f"{context}\n\n{question}", texts)


def _in_both_orders(
    row: Mapping[str, Any], pair: list[str], question: str | None = None
) -> list[dict[str, Any]]:
    """A question in both orders of its two texts; by default, which is likelier to be written."""
    first, second = pair
    rows: list[dict[str, Any]] = []
    for turn in (0, 1):
        options = ((FIRST, first), (SECOND, second))
        ordered = options if turn == 0 else options[::-1]
        texts = [text for _, text in ordered]
        prompt = choice.PROMPT.format(*texts)
        if question is not None:
            prompt = choice.question_with_options(question, texts)
        rows.append({**row, "turn": turn, "options": ordered, "prompt": prompt})
    return rows


def _known_questions(pairs: list[list[str]]) -> pd.DataFrame:
    """Control pairs in both orders."""
    rows: list[dict[str, Any]] = []
    for control in choice.known_pairs(pairs).to_dict("records"):
        key = {"id": control["id"], "framing": KNOWN}
        rows += _in_both_orders(key, [control[FIRST], control[SECOND]])
    return pd.DataFrame(rows)


def choice_requests(tables: Tables, plan: ExternalPlan, answers: Tables) -> list[RequestBatch]:
    """The request of all questions, unless they are answered."""
    if choice.TABLE in answers:
        return []
    questions = choice_questions(tables, plan)
    if questions.empty:
        return []
    new_tokens = NAME_TOKENS if has_form(plan["choice"], GENERATE) else choice.NEW_TOKENS
    return [choice.request_prompts(questions, new_tokens)]


def parse_replies(questions: pd.DataFrame, chosen: pd.DataFrame) -> pd.DataFrame:
    """Each reply with the role of the option that it `said`, or None, and what its question is
    about; `questions`: by `choice_questions`.

    Returns:
        `choice.ANSWERS`, `said rule`, and `place` (of the option that was taken, from 0), `item
            unit part condition right`, null for control pairs, and `named` (`ask.referent`), null
            unless a pronoun is asked about.
    """
    parsed = choice.parse_options(chosen, questions)
    keys = ["id", "framing", "turn"]
    columns = [*keys, *QUESTION_ABOUT, "named", "options"]
    replies = parsed.merge(questions.reindex(columns=columns), on=keys, validate="1:1")
    places: list[float] = []
    for role, options in zip(replies["said"], replies["options"], strict=True):
        names = [name for name, _ in options]
        places.append(float(names.index(role)) if role in names else np.nan)
    return replies.drop(columns="options").assign(place=places)


def choice_items(tables: Tables, plan: ExternalPlan, replies: pd.DataFrame) -> pd.DataFrame:
    """Items with an answer, by `schemas.ITEMS`: a question of BBQ; a pair in both orders; both
    sentences of a pair that differ in the pronoun, in both orders.

    `lean`: 1 or -1 by the option, 0 for `unknown`; of a pair 0 where the order decides; of
    sentences, right with the stereotypical pronoun less right with the other. `value` is the same,
    since a choice has no likelihood. `replies`: by `parse_replies`.
    """
    choice_plan = plan["choice"]
    assert choice_plan is not None
    questions = replies[replies["framing"] != KNOWN]
    points = _count_points(questions, choice_plan["form"])
    grouped = questions.assign(lean=points, is_missing=points.isna()).groupby("item")
    items = grouped[["unit", "part", "condition", "right", "said"]].first()
    items["lean"] = items["value"] = grouped["lean"].mean()
    items = items[~grouped["is_missing"].any()]
    is_right: pd.Series[Any] = (items["said"] == items["right"]).astype(object)
    items["won"] = items["lean"] > 0
    items["known"] = items["said"] != THIRD
    items["right"] = is_right if choice_plan["form"] == OPTIONS else None
    items = items.assign(related=np.nan, in_tokens=False, criterion=np.nan)
    texts = choice_texts(tables, plan)
    items = items.join(_text_differences(texts[texts["item"].isin(items.index)]))
    return items.reset_index().reindex(columns=schemas.ITEMS.names)


def _count_points(questions: pd.DataFrame, form: ChoiceForm) -> "pd.Series[float]":
    """The lean of each reply, of which that of its item is the mean; NaN without an answer."""
    if form != REFERENT:
        return questions["said"].map({FIRST: 1.0, SECOND: -1.0, THIRD: 0.0})
    # Half of the replies of an item are to either pronoun, so that 2 stands for a whole one.
    sign = questions["framing"].map({STEREOTYPICAL: 2.0, OTHER_PRONOUN: -2.0})
    return questions["said"].map({FIRST: 1.0, SECOND: 0.0}) * sign


def _text_differences(texts: pd.DataFrame) -> pd.DataFrame:
    """By item, `length` of the first text less that of the second, in letters by four, and
    `frequency`, the same of log frequencies.
    """
    by_item = texts.set_index("item")
    first, second = (by_item[by_item["role"] == role] for role in (FIRST, SECOND))
    letters = first["text"].str.len() - second["text"].str.len()
    frequency = first["frequency"].astype("float64") - second["frequency"].astype("float64")
    return pd.DataFrame(
        {"length": letters / LETTERS_A_TOKEN, "frequency": frequency.fillna(0.0)}
    ).astype("float64")

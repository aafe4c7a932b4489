"""Requests of a published benchmark to models, log-likelihoods of texts (after a prompt, if any) or
the pseudo-log-likelihoods of a masked model, or choices of a chat, and their scores.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments import prefixes
from evenruler.instruments.external import schemas
from evenruler.instruments.external.ask import choice
from evenruler.instruments.external.ask.ranking import parse_names, score_lists, score_replies
from evenruler.instruments.external.declare import ExternalPlan
from evenruler.instruments.external.declare.choices import CHOICE
from evenruler.instruments.external.schemas import FIRST, ROLES, SECOND, THIRD
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
from evenruler.instruments.methods.choice import ANSWERS as CHOICE_ANSWERS
from evenruler.instruments.methods.choice import TABLE as CHOICES
from evenruler.instruments.methods.choice import count_replies
from evenruler.measurement.nonresponse import not_read
from evenruler.models.declarations import Operation
from evenruler.tables.frames import concat_frames, evenly_spread, limit_tables
from evenruler.tables.ids import row_id
from evenruler.tables.schemas import BARE

__all__ = [
    "ANSWERS",
    "METHODS",
    "OPTIONAL_TABLES",
    "PLANNED",
    "READS",
    "keep_headline_rows",
    "limited",
    "method_dimension",
    "requests",
    "sample_texts",
    "scores",
    "scoring_operation",
]

_TEXT_COLUMNS = (
    *("id", "item", "key", "unit", "part", "condition", "stratum"),
    *("prompt", "role", "text", "right", "criterion", "frequency"),
)
_LIKENESS_COLUMNS = ("unit", "log_frequency", "likeness")
READS: ColumnsByTable = {"texts": _TEXT_COLUMNS, "likeness": _LIKENESS_COLUMNS}

OPTIONAL_TABLES: frozenset[str] = frozenset({"likeness"})

PLANNED: PlanKeys = (
    "between",
    "bound",
    "contrast",
    "corpus",
    "dimensions",
    "gain",
    "most",
    "name",
    "prefixed",
    "prefixes",
    "score",
    "tools",
    "units",
)

LIKELIHOOD, PLL = "likelihood", "pll"

keep_headline_rows = all_rows

METHODS: AskingMethods = {
    LIKELIHOOD: AskingMethod(("loglikelihood",)),
    PLL: AskingMethod(("pll",), instead=True),
    CHOICE: AskingMethod(
        ("generate",),
        chat=True,
        instead=True,
        takes=(
            "English texts whose headline is the lean, WinoBias, Winogender, keyed statements and "
            "rankings"
        ),
    ),
}
"""`pll`: pseudo-log-likelihoods, of masked models, which have no others. The two are different
quantities, so that `method` is a dimension of figures (`method_dimension`), and figures of one are
never compared with those of the other."""

ANSWERS: SchemasByTable = {
    "likelihoods": schemas.LIKELIHOODS,
    "starts": schemas.STARTS,
    CHOICES: CHOICE_ANSWERS,
}
"""`likelihoods` of texts, alone and after placebo sentences; `starts`: after another start token;
`choices` of a chat."""

MOST_STARTED = 100
"""Most items, evenly spread, whose texts are asked again after another start token."""

SPACE = " "

LETTERS_A_TOKEN = 4
"""Divisor of lengths in letters where tokens are unknown, so that both are of about the same
size."""


def sample_texts(tables: Tables, plan: ExternalPlan) -> pd.DataFrame:
    """The texts of the items that are asked: at most `most` items of each unit and condition."""
    texts = tables["texts"]
    items = texts[["unit", "condition", "stratum", "item"]].drop_duplicates()
    sampled_items: list[str] = []
    for _, group in items.sort_values(["stratum", "item"]).groupby(["unit", "condition"]):
        sampled_items += evenly_spread(group["item"].tolist(), plan["most"])
    if len(sampled_items) == len(items):
        return texts
    return texts[texts["item"].isin(sampled_items)]


def requests(
    tables: Tables, plan: ExternalPlan, answers: Tables, subject: ModelMeta
) -> list[RequestBatch]:
    """All requests at once, unless they are answered; recorded answers cover only texts without
    placebo sentences.

    The separator between a text and its own prompt is kept after placebos; without a prompt it is a
    space. A chat that is asked by the method `choice` gets its questions (`ask.choice`).
    """
    if subject.method == CHOICE:
        return choice.choice_requests(tables, plan, answers)
    if scoring_operation(subject) is None:
        return []
    if plan["score"] == "ranking" and subject.kind != "recorded":
        return []  # the likelihood of a name is no ranking
    alone = [] if "likelihoods" in answers else _as_they_are(tables, plan, subject)
    return [*alone, *_after_other_start(tables, plan, answers, subject)]


def scoring_operation(subject: ModelMeta) -> Operation | None:
    """The operation that scores texts on a model; None if it has none."""
    if subject.uses_method(LIKELIHOOD) and subject.can("loglikelihood"):
        return "loglikelihood"
    return "pll" if subject.uses_method(PLL) and subject.can("pll") else None


def method_dimension(subject: ModelMeta) -> str | None:
    """The dimension `method` of figures on a model: `pll`; null for likelihoods."""
    return PLL if scoring_operation(subject) == "pll" else None


def _as_they_are(tables: Tables, plan: ExternalPlan, subject: ModelMeta) -> Iterator[RequestBatch]:
    """All texts, and those of some items after placebo sentences."""
    rows = sample_texts(tables, plan).assign(framing=BARE, text_id=lambda rows: rows["id"])
    rows["between"] = np.where(rows["prompt"] == "", SPACE, plan["between"])
    if subject.kind != "recorded":
        # Once more after each placebo sentence, which goes before an item's own prompt.
        after = prefixes.after_prefixes(
            rows, "item", plan, lambda row, name: row_id(text=row["id"], framing=name)
        )
        prompt_pairs = zip(after["before"], after["prompt"], strict=True)
        prompts = [SPACE.join(filter(None, prompt_pair)) for prompt_pair in prompt_pairs]
        rows = concat_frames([rows, after.assign(prompt=prompts)])
    operation = scoring_operation(subject)
    assert operation is not None  # else `requests` asks nothing
    for between, group in rows.groupby("between", sort=False):
        inputs = {
            "text": group["text"].tolist(),
            "before": group["prompt"].tolist(),
            "key": group["key"].tolist(),
        }
        settings = {} if between == SPACE else {"between": between}
        yield RequestBatch(
            "likelihoods", operation, group[["id", "text_id", "framing"]], inputs, settings
        )


def _after_other_start(
    tables: Tables, plan: ExternalPlan, answers: Tables, subject: ModelMeta
) -> Iterator[RequestBatch]:
    """The texts of some items once more, after another usual start token; only a local model's can
    be chosen.
    """
    if "starts" in answers or not prefixes.asks_other_start(subject, plan):
        return
    rows = sample_texts(tables, plan)
    started_items = evenly_spread(sorted(set(rows["item"])), MOST_STARTED)
    rows = rows[rows["item"].isin(started_items)]
    is_bare = rows["prompt"].eq("")
    separators = is_bare.map({True: SPACE, False: plan["between"]})
    rows = rows.assign(text_id=rows["id"], between=separators)
    for between, texts in rows.groupby("between", sort=False):
        inputs = {"text": texts["text"].tolist(), "before": texts["prompt"].tolist()}
        settings: dict[str, object] = {"other_start": True}
        if between != SPACE:
            settings["between"] = between
        yield RequestBatch("starts", "loglikelihood", texts[["id", "text_id"]], inputs, settings)


def scores(
    tables: Tables, plan: ExternalPlan, answers: Tables, subject: ModelMeta
) -> dict[str, pd.DataFrame]:
    """Which text of each item is likelier, with its confounds: differences in length and word
    frequency.

    `items`: by `schemas.ITEMS`, of items with answers to all texts; of three options, one has to be
    the likeliest. `placed`: the same by placebo sentence (`framing`); `started`: after another
    start token. All empty if nothing was asked. `replies`: those that were recorded, by
    `schemas.REPLIES`. UserError if no item is left. Where a chat chose, `items` and its parsed
    `choices` alone.
    """
    chosen = answers.get(CHOICES)
    if chosen is not None and len(chosen):
        questions = choice.choice_questions(tables, plan)
        if plan["score"] == "ranking":
            named = parse_names(questions, chosen)
            return {"items": score_replies(named), CHOICES: named}
        parsed = choice.parse_replies(questions, chosen)
        return {"items": choice.choice_items(tables, plan, parsed), CHOICES: parsed}
    likelihoods = answers["likelihoods"]
    if plan["score"] == "ranking":
        return _list_scores(tables["texts"], plan, likelihoods, subject)
    names = [BARE, *sorted(set(likelihoods["framing"]) - {BARE})]
    items_by_framing = {
        name: _score_items(tables["texts"], plan, likelihoods[likelihoods["framing"] == name])
        for name in names
    }
    items = items_by_framing.pop(BARE)
    replies = _recorded_replies(tables["texts"], likelihoods)
    if items.empty and len(likelihoods):
        unread = not_read(count_replies(replies)) if len(replies) else None
        reason = f" ({unread})" if unread else ""
        what = f"{subject.name} has no answer to any item of {plan['name']}{reason}"
        raise UserError(what, remedy="look at its answers")
    placed = [framed_items.assign(framing=name) for name, framed_items in items_by_framing.items()]
    placed_items = concat_frames([items[:0].assign(framing=BARE), *placed])
    started_items = _score_items(tables["texts"], plan, answers["starts"])
    return {
        "items": items,
        "placed": placed_items,
        "started": started_items,
        "replies": replies,
    }


def _list_scores(
    texts: pd.DataFrame, plan: ExternalPlan, likelihoods: pd.DataFrame, subject: ModelMeta
) -> dict[str, pd.DataFrame]:
    """The tables of `scores` for a benchmark of rankings."""
    items = score_lists(texts, likelihoods)
    if items.empty and len(likelihoods):
        what = f"{subject.name} has no answer to any list of {plan['name']}"
        raise UserError(what, remedy="look at its answers")
    return {
        "items": items,
        "placed": items[:0].assign(framing=BARE),
        "started": items[:0],
        "replies": _recorded_replies(texts, likelihoods),
    }


def _recorded_replies(texts: pd.DataFrame, likelihoods: pd.DataFrame) -> pd.DataFrame:
    """Recorded replies, by `schemas.REPLIES`."""
    recorded = (
        likelihoods.reindex(columns=schemas.LIKELIHOODS.names)
        .dropna(subset="rule")
        .drop(columns="id")
    )
    rows = recorded.merge(texts[["id", "item"]], left_on="text_id", right_on="id")
    rows = rows.drop_duplicates("item")
    replies = rows.assign(reply=rows["replied"], reason=None).reset_index(drop=True)
    return replies[[*schemas.REPLIES.names]]


def _score_items(
    texts: pd.DataFrame, plan: ExternalPlan, likelihoods: pd.DataFrame
) -> pd.DataFrame:
    """Items by `schemas.ITEMS`, from likelihoods in one framing or after one start."""
    if likelihoods.empty:  # not asked
        return pd.DataFrame(columns=schemas.ITEMS.names)
    rows = texts.merge(
        likelihoods.drop(columns="id"), left_on="id", right_on="text_id", validate="one_to_one"
    )
    has_token_counts = bool((rows["tokens"] >= 0).all())
    rows["length"] = (
        rows["tokens"] if has_token_counts else rows["text"].str.len() / LETTERS_A_TOKEN
    )
    if (
        plan["score"] == "stereoset" and has_token_counts
    ):  # its authors use nats per token, since texts differ in length
        rows["nats"] = rows["nats"] / rows["tokens"].clip(lower=1)
    wide = rows.pivot(index="item", columns="role", values=["nats", "length", "frequency"])
    nats = pd.DataFrame(wide["nats"])
    value, length, frequency = (
        wide[name][FIRST] - wide[name][SECOND] for name in ("nats", "length", "frequency")
    )
    whole = nats.notna().all(axis=1)
    items = rows.groupby("item")[["unit", "part", "condition", "criterion"]].first()
    items = items.assign(
        value=value,
        lean=np.sign(value),
        won=value > 0,
        known=True,
        right=None,
        related=np.nan,
        length=length,
        in_tokens=has_token_counts,
        frequency=frequency.fillna(0.0),  # texts with the same words do not differ in frequency
    )
    if THIRD in nats:
        is_likelier = nats[[FIRST, SECOND]].gt(nats[THIRD], axis=0)
        related = is_likelier.mean(axis=1)
        items = items.assign(related=related.where(whole))
    if plan["score"] == "bbq":
        items = _score_choices(items, nats, rows)
    is_read = ~items.index.isin(_items_without_choice(rows))
    answered = items[whole & items["value"].notna() & is_read]
    return answered.reset_index().reindex(columns=schemas.ITEMS.names)


def _items_without_choice(rows: pd.DataFrame) -> set[str]:
    """The items whose recorded reply chose none of their texts, which is no tie of these."""
    if "rule" not in rows:  # of a model that was asked after another start
        return set()
    highest = rows[rows["rule"].notna()].groupby("item")["nats"].max()
    return set(highest.index[highest == 0])


def _score_choices(items: pd.DataFrame, nats: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Items of questions with three options: the likeliest is the answer; ties have none (`value`
    is NaN).
    """
    options = nats[list(ROLES)]
    single = options.eq(options.max(axis=1), axis=0).sum(axis=1) == 1
    chosen = options.fillna(-np.inf).idxmax(axis=1)
    right = rows[rows["right"]].set_index("item")["role"].reindex(items.index)
    lean = chosen.map({FIRST: 1.0, SECOND: -1.0, THIRD: 0.0})
    return items.assign(
        lean=lean,
        won=chosen == FIRST,
        known=chosen != THIRD,
        right=(chosen == right).astype(object),
        value=items["value"].where(single),
    )


def limited(tables: Tables, plan: ExternalPlan, n: int) -> tuple[Tables, ExternalPlan]:
    """Tables cut down to n units, evenly spread."""
    unit = "item" if plan["score"] == "ranking" else "unit"  # a list is asked whole
    return limit_tables(tables, ("texts",), unit, n), plan

"""Item scores from answers (EMPALC, sections 3.2 and 3.3), and figures of the items that depend on
no model.

The latter are the similarity of prompts to their question (SS), and their acceptability (LA).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.metrics import silhouette_score

from evenruler.errors import UserError
from evenruler.instruments.instrument import ModelMeta, RequestBatch, Tables
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask import options
from evenruler.instruments.questionnaires.ask.questions import (
    LOGITS,
    STAGE,
    adaptation_course,
    prefixed_rows,
    split_by_placebo,
    subject_rows,
)
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.shared import licensed_wording
from evenruler.measurement.inputs import constant_columns
from evenruler.models.declarations import LIKELIHOODS, OPTIONS, VERBALISER, label_with_method
from evenruler.tables import concat_frames
from evenruler.tables.schemas import BARE, LOG_PROBABILITY

SLOR = "slor"
ACCEPTABILITY = "acceptability"

ACCEPTABLE = "acceptable"
"""The classifier's label whose probability is the figure."""

SIDES = ["premise", "hypothesis"]

COLUMNS = ["questionnaire", "item", "measure", "value", "n"]


def distinct_sentences(prompts: pd.DataFrame) -> list[str]:
    """The distinct premises and hypotheses of prompts, sorted."""
    sentences: set[str] = set()
    for side in SIDES:
        sentences.update(prompts[side])
    return sorted(sentences)


def probability_of_acceptable(
    logits: ArrayLike, labels: Sequence[str], name: str
) -> NDArray[np.float64]:
    """[n] probabilities of `acceptable`, from the [n, 2] logits of a classifier with these two
    labels.

    UserError unless there are two labels and exactly one is `acceptable`; case does not matter.
    """
    names = [label.strip().lower() for label in labels]
    if len(names) != 2 or names.count(ACCEPTABLE) != 1:
        raise UserError(
            f"{name} has the labels {', '.join(labels) or 'none'}, expected two labels of which "
            f"one is {ACCEPTABLE!r}",
            where=f"params.yaml: models.{name}",
            remedy="name a classifier fitted on CoLA whose configuration (id2label) says which "
            "label that is",
        )
    values = np.asarray(logits, dtype=np.float64).reshape(-1, 2)
    return softmax(values, axis=-1)[:, names.index(ACCEPTABLE)]


def acceptability_figures(
    prompts: pd.DataFrame, by_text: Mapping[str, float], measure: str
) -> pd.DataFrame:
    """Mean over the distinct premises and hypotheses of each item, source and inverse, as
    `schemas.CONTENT`.

    `by_text`: the figure of every sentence. `measure`: `slor` (nats per token) or `acceptability`
    (probability).
    """
    rows = []
    for (questionnaire, item), of_item in prompts.groupby(["questionnaire", "item"], sort=True):
        values = [by_text[text] for text in distinct_sentences(of_item)]
        mean = float(np.mean(values))
        rows.append((questionnaire, item, measure, mean, len(values)))
    return pd.DataFrame(rows, columns=COLUMNS)


def source_prompts(prompts: pd.DataFrame) -> pd.DataFrame:
    """The prompts with source terms, with a column `whole`: premise and hypothesis as one text."""
    chosen = prompts[prompts["polarity"] == "source"]
    return chosen.assign(whole=chosen["premise"] + " " + chosen["hypothesis"])


def licensed_id(item: object) -> str:
    """The id of answers about the licensed wording of an item; `item` is the id of its row."""
    return f"{item}-licensed"


def embedding_request(tables: Tables, plan: QuestionnairePlan) -> RequestBatch:
    """A request for embeddings of the questions, published and in a user's licensed wording, and of
    source prompts.
    """
    items = tables["items"]
    chosen = source_prompts(tables["prompts"])
    licensed = _licensed_questions(items, plan)
    ids = [*items["id"], *licensed, *chosen["id"]]
    rows = pd.DataFrame({"id": ids})
    texts = [*items["original"], *licensed.values(), *chosen["whole"]]
    return RequestBatch(
        "embeddings", "embed", rows, {"text": texts}, by=plan["embedder"], of_instrument=True
    )


def _licensed_questions(items: pd.DataFrame, plan: QuestionnairePlan) -> dict[str, str]:
    """Licensed questions by id of answers; empty where there is no such file."""
    wording = plan.get("wording")
    if wording is None or not Path(wording["file"]).expanduser().is_file():
        return {}
    by_item = licensed_wording(wording["file"], wording["items"], "plan.json: wording")
    return {
        licensed_id(row): by_item[item]
        for row, item in zip(items["id"], items["item"], strict=True)
    }


def judge_request(tables: Tables, plan: QuestionnairePlan) -> RequestBatch:
    """A request to the judge about every sentence, including those of twins."""
    judge = plan["judge"]
    assert judge is not None
    table = SLOR if judge["operation"] == "slor" else ACCEPTABILITY
    inputs = {"text": distinct_sentences(tables["prompts"])}
    return RequestBatch(
        table,
        judge["operation"],
        pd.DataFrame(inputs),
        inputs,
        by=judge["model"],
        of_instrument=True,
    )


def content_figures(
    tables: Tables, twins: Tables, plan: QuestionnairePlan, answers: Tables
) -> pd.DataFrame:
    """Figures of items as `schemas.CONTENT`: SS, and, if a judge was asked, acceptability of items
    and twins.

    `tables` has `prompts`, and `items` with a column `questionnaire`; `twins` the same for twins.
    """
    embeddings = answers["embeddings"]
    arrays = map(np.asarray, embeddings["vector"])
    vectors = dict(zip(embeddings["id"], arrays, strict=True))
    figures: list[pd.DataFrame] = []
    if vectors:
        figures.append(similarity_figures(tables["prompts"], tables["items"], vectors))
    by_text = _judge_figures(plan, answers)
    if by_text:
        measure = SLOR if len(answers[SLOR]) else ACCEPTABILITY
        for prompts, name in (
            (tables["prompts"], measure),
            (twins["prompts"], f"{measure}_of_twins"),
        ):
            if len(prompts):
                figures.append(acceptability_figures(prompts, by_text, name))
    if not figures:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(figures, ignore_index=True)


def similarity_figures(
    prompts: pd.DataFrame, items: pd.DataFrame, vectors: Mapping[str, Any]
) -> pd.DataFrame:
    """SS: mean cosine between each original question and its source prompts; `vectors`: by id of
    answers.
    """
    by_item = {
        key: rows["id"].tolist()
        for key, rows in source_prompts(prompts).groupby(["questionnaire", "item"])
    }
    rows = []
    for item in items.to_dict("records"):
        prompted = by_item[item["questionnaire"], item["item"]]
        shown = np.stack([vectors[prompt] for prompt in prompted])
        published = "similarity" if item["wording"] == "held" else "similarity_to_paraphrase"
        licensed = licensed_id(item["id"])
        for measure, question in ((published, item["id"]), ("similarity", licensed)):
            if question in vectors:
                cosine = float(shown.dot(vectors[question]).mean())
                rows.append((item["questionnaire"], item["item"], measure, cosine, len(prompted)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _judge_figures(plan: QuestionnairePlan, answers: Tables) -> dict[str, float]:
    """The judge's figure by sentence."""
    by_model = answers[SLOR]
    by_classifier = answers[ACCEPTABILITY]
    if len(by_model):
        return dict(zip(by_model["text"], by_model["slor"], strict=True))
    if not len(by_classifier):
        return {}
    logits = np.stack(by_classifier["logits"].tolist())
    labels = list(by_classifier["labels"].iloc[0])
    judge = plan["judge"]
    assert judge is not None
    shares = probability_of_acceptable(logits, labels, judge["model"])
    return dict(zip(by_classifier["text"], shares, strict=True))


def entailment_share(logits: ArrayLike, *, three_way: bool = False) -> NDArray[np.float64]:
    """Log entailment score of each prompt.

    Args:
        logits: [..., 3] of entailment, neutral, contradiction.
        three_way: Use entailment's share of all three; by default its share of entailment and
            contradiction, without neutral, as in zero-shot classification.

    Returns:
        [...] log-probability.

    Raises:
        ValueError: A logit is not finite.
    """
    values = np.asarray(logits, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a logit is not a number")
    chosen = values if three_way else values[..., [0, 2]]
    return chosen[..., 0] - logsumexp(chosen, axis=-1)


def two_way(p: ArrayLike, temperature: float = 1.0) -> NDArray[np.float64]:
    """Normalise entailment scores over terms, then over intensifiers (EMPALC, section 3.2).

    For each intensifier a softmax of log P / T over all terms of the item, source and inverse
    together; then the same for each term over intensifiers. With T = 1 this is division by the sum.
    Computed in logarithms, so that scores of 0 and 1 need no special case; a row or column of zeros
    becomes uniform.

    Args:
        p: [terms, intensifiers] scores in [0, 1].
        temperature: T; above 1 evens out, below 1 sharpens.

    Returns:
        [terms, intensifiers] PSS(l | s), each row summing to 1.

    Raises:
        ValueError: A score is outside [0, 1] or not a number, or T is not positive.
    """
    values = np.asarray(p, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("entailment scores lie in [0, 1]")
    with np.errstate(divide="ignore"):
        return two_way_of_logs(np.log(values), temperature)


def two_way_of_logs(log_p: ArrayLike, temperature: float = 1.0) -> NDArray[np.float64]:
    """`two_way` of log scores, for scores too small for a float."""
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature is {temperature}, expected more than 0")
    over_terms = _normalise_log_values(np.asarray(log_p, dtype=np.float64) / temperature, axis=0)
    over_intensifiers = _normalise_log_values(over_terms / temperature, axis=1)
    return np.exp(over_intensifiers)


def _normalise_log_values(log_values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Log-softmax along an axis; uniform where all values are minus infinity."""
    nothing = np.isneginf(log_values).all(axis=axis, keepdims=True)
    return log_softmax(np.where(nothing, 0.0, log_values), axis=axis)


def item_score(pss: ArrayLike, is_source: ArrayLike, weights: ArrayLike) -> float:
    """Sum of PSS x weight over source terms and intensifiers / (source terms x intensifiers)
    (EMPALC, section 3.2).

    Args:
        pss: [terms, intensifiers] from `two_way`.
        is_source: [terms] whether a term keeps the stance of the original question; inverse terms
            are not used.
        weights: [intensifiers].

    Raises:
        ValueError: No term is a source term, or shapes do not match.
    """
    shares = np.asarray(pss, dtype=np.float64)
    source = np.asarray(is_source, dtype=bool)
    by_intensifier = np.asarray(weights, dtype=np.float64)
    expected_shape = (len(source), len(by_intensifier))
    if shares.shape != expected_shape:
        raise ValueError(f"PSS is {shares.shape}, expected {expected_shape}")
    if not source.any():
        raise ValueError("no term is a source term")
    return float((shares[source] * by_intensifier).mean())


def contrast_score(pss: ArrayLike, is_source: ArrayLike, weights: ArrayLike) -> float:
    """Half of `item_score` of source terms minus that of inverse terms: 0 for a model that gives
    all terms one word.
    """
    source = np.asarray(is_source, dtype=bool)
    return (item_score(pss, source, weights) - item_score(pss, ~source, weights)) / 2


SHARE = "share"  # of an option in a chat model's answers

MODEL = ["questionnaire", "model", "lineage", "kind", "method", "framing"]


class Scoring(NamedTuple):
    """Settings of scoring."""

    temperature: float = 1.0
    three_way: bool = False


def score_items(
    prompts: pd.DataFrame, items: pd.DataFrame, scores: pd.DataFrame, scoring: Scoring
) -> pd.DataFrame:
    """Item scores only; arguments and errors as for `cells_of` and `require_whole`."""
    require_whole(prompts, items)
    return item_scores(cells_of(prompts, scores, scoring), items)


def require_whole(prompts: pd.DataFrame, items: pd.DataFrame) -> None:
    """UserError unless every item has every term with every intensifier, and a source term."""
    by_item = dict(iter(prompts.groupby(["questionnaire", "item", "twin"])))
    for key in items[["questionnaire", "item", "twin"]].itertuples(index=False, name=None):
        rows = by_item.get(key)
        if rows is None or not _is_whole(rows):
            raise UserError(
                "prompts were rejected, so that it cannot be normalised",
                where=f"{key[0]}, item {key[1]}",
                remedy="see rejected.parquet and fix its templates or terms",
            )


def _is_whole(prompts: pd.DataFrame) -> bool:
    """Whether an item's prompts have every term with every intensifier, and a source term."""
    n_expected = prompts["term"].nunique() * prompts["intensifier"].nunique()
    return len(prompts) == n_expected and "source" in set(prompts["polarity"])


def cells_of(prompts: pd.DataFrame, scores: pd.DataFrame, scoring: Scoring) -> pd.DataFrame:
    """P_e and PSS of every prompt and model, as `schemas.CELLS`; ValueError where an answer is
    missing.
    """
    if scores.empty:
        raise ValueError(f"all {len(prompts)} prompts have no score")
    index = ["id", *[column for column in MODEL if column != "questionnaire"]]
    answers = scores.pivot(index=index, columns="measure", values="value").reset_index()
    columns = [
        "id",
        "questionnaire",
        "item",
        "twin",
        "term",
        "polarity",
        "intensifier",
        "level",
        "weight",
    ]
    joined = prompts[columns].merge(answers, on="id", validate="1:m")
    for (model, method), rows in answers.groupby(["model", "method"]):
        lacking = len(prompts) - prompts["id"].isin(rows["id"]).sum()
        if lacking and method != OPTIONS:  # chat models may leave a question unanswered
            raise ValueError(
                f"{label_with_method(str(model), str(method))}: {lacking} prompts have no score"
            )
    parts = []
    for _, rows in joined.groupby([*MODEL, "item", "twin"], sort=True):
        method = rows["method"].iloc[0]
        if method == OPTIONS:  # shares sum to 1 within each term already
            with np.errstate(divide="ignore"):
                parts.append(rows.assign(log_p=np.log(rows[SHARE]), pss=rows[SHARE]))
            continue
        if method in LIKELIHOODS:
            log_p = rows[LOG_PROBABILITY].to_numpy(dtype=np.float64)
            if not np.isfinite(log_p).all():
                raise ValueError("a log-probability is not a number")
            log_p = log_p - log_p.max()  # likelihoods of whole texts underflow
        else:
            log_p = entailment_share(rows[LOGITS].to_numpy(), three_way=scoring.three_way)
        rows = rows.assign(log_p=log_p)
        # One table; a pivot and its way back take three times as long.
        in_order = rows.sort_values(["term", "intensifier"])
        shape = rows["term"].nunique(), rows["intensifier"].nunique()
        table = in_order["log_p"].to_numpy().reshape(shape)
        shares = two_way_of_logs(table, scoring.temperature).ravel()
        parts.append(rows.assign(pss=pd.Series(shares, index=in_order.index)))
    cells = pd.concat(parts, ignore_index=True)
    cells = cells.assign(p=np.exp(cells["log_p"]))
    return cells.drop(columns=["id", "log_p", *scores["measure"].unique()])


def item_scores(cells: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Scores of items from their cells, as `schemas.ITEM_SCORES`."""
    described = {(row["questionnaire"], row["item"]): row for row in items.to_dict("records")}
    rows = []
    for key, of_item in cells.groupby([*MODEL, "item", "twin"], sort=True):
        identity = dict(zip([*MODEL, "item", "twin"], key, strict=True))
        item = described[identity["questionnaire"], identity["item"]]
        pss = of_item.pivot(
            index=["polarity", "term"], columns=["level", "weight", "intensifier"], values="pss"
        )
        is_source = pss.index.get_level_values("polarity") == "source"
        weights = pss.columns.get_level_values("weight").to_numpy(dtype=np.float64)
        # Chat answers are not normalised over terms, so inverse terms are subtracted.
        scored = contrast_score if identity["method"] == OPTIONS else item_score
        score = item["keying"] * scored(pss, is_source, weights)
        shares = pss.to_numpy()
        separation = silhouette(shares, is_source)
        pss_low, pss_high = float(shares.min()), float(shares.max())
        n_cells = int(is_source.sum()) * len(weights)
        rows.append(
            {
                **identity,
                "subscale": item["subscale"],
                "keying": item["keying"],
                "score": score,
                "silhouette": separation,
                "pss_low": pss_low,
                "pss_high": pss_high,
                "n": n_cells,
            }
        )
    return pd.DataFrame(rows)


def silhouette(pss: NDArray[np.float64], is_source: NDArray[np.bool_]) -> float:
    """SC: silhouette of the terms' PSS vectors, labelled source and inverse, with correlation
    distance.

    From -1 to 1 (fully separated); NaN where a vector is constant, or a group has no term.
    """
    is_one_group = is_source.all() or not is_source.any()
    if is_one_group or len(pss) < 3 or constant_columns(pss.T).any():
        return float("nan")
    return float(silhouette_score(pss, is_source, metric="correlation"))


NO_FACTS = pd.DataFrame({"fact": pd.Series(dtype="int64"), "right": pd.Series(dtype=bool)})


def of_facts(answers: pd.DataFrame, plan: QuestionnairePlan) -> pd.DataFrame:
    """By method and fact, whether a model gives the right term more of the frequent words
    than the wrong one.

    Scored as items are: likelihoods normalised over both terms, then over words, with the scale's
    weights.
    """
    rows = []
    weights = plan["accuracy"].get("words", {})
    for (method, fact), group in answers.groupby(["method", "fact"], sort=True):
        table = group.pivot(index="term", columns="word", values="nats")
        pss = two_way_of_logs(table.to_numpy(), plan["temperature"])
        word_weights = np.array([weights[word] for word in table.columns])
        points = dict(zip(table.index, pss @ word_weights, strict=True))
        is_right = points["right"] > points["wrong"]
        rows.append({"method": method, "fact": fact, "right": is_right})
    return pd.DataFrame(rows, columns=["method", "fact", "right"])


KINDS = {
    "verbaliser": "causal",
    "sentence": "causal",
    "mlm": "masked",
    "head": "nli",
    OPTIONS: "chat",
}
"""Kind of model by method."""


def scores(
    tables: Tables, plan: QuestionnairePlan, answers: Tables, subject: ModelMeta
) -> dict[str, pd.DataFrame]:
    """All scores of one model on one questionnaire.

    Returns:
        `cells` and `items` as `schemas.CELLS` and `ITEM_SCORES`; `twins`: the same for twins;
        `subjects`: as `SUBJECT_SCORES`; `prefixed`: items after
            prefixes, named in `framing`; `adapted`: items after epochs, with `STAGE`; `labelled` as
            `LABELLED_PAIRS`; `known`: from `of_facts`, with `model`; `chosen`: how each chat
            question was answered (`options.read`); `by_order`: the mean weight by order of the
            options; `content` and `course` as `CONTENT` and `COURSE`.

    Raises:
        ValueError: The answer to a prompt is missing.
        UserError: An item lost prompts to `rejected.parquet`.
    """
    name = str(tables["prompts"]["questionnaire"].iloc[0])
    item_tables, twins = split_by_placebo(
        {**tables, "items": tables["items"].assign(questionnaire=name)}
    )
    prompts, items = item_tables["prompts"], item_tables["items"]
    scoring = Scoring(plan["temperature"], plan["three_way"])
    require_whole(prompts, items)
    # Answers to prompts, one row per measure; `framing` is set for bare prompts.
    entailment, likelihoods = answers["entailment"], answers["likelihoods"]
    state = ["id", "method", *STAGE]
    answer_frames = [
        entailment[state].assign(measure=label, value=entailment[label]) for label in LOGITS
    ]
    answer_frames.append(
        likelihoods[state].assign(measure=LOG_PROBABILITY, value=likelihoods["nats"])
    )
    chosen, shares = options.parse_option_answers(tables, plan, answers)
    of_options = options.of_prompts(tables["prompts"], shares)
    of_options = of_options.assign(method=OPTIONS, corpus="", fit=0, epoch=0, measure=SHARE)
    chat_facts = options.score_facts(shares, plan) if len(chosen) else NO_FACTS
    chat_facts = chat_facts.assign(method=OPTIONS)
    rows = concat_frames([*answer_frames, of_options])
    kind = rows["method"].map(KINDS)
    answered = rows.assign(model=subject.name, lineage=subject.lineage, kind=kind, framing=BARE)
    bare = answered[answered["corpus"] == ""]
    is_unprefixed = bare["id"].isin(tables["prompts"]["id"])
    sentences = subject_rows(tables, plan)
    is_of_sentence = bare["id"].isin(sentences["id"])
    item_answers = bare[is_unprefixed & bare["id"].isin(prompts["id"])]
    prefixed_answers = bare[~is_unprefixed & ~is_of_sentence]
    reads = VERBALISER in subject.methods  # it asks a question, which can follow a prefix
    cells = (
        cells_of(prompts, item_answers, scoring)
        if len(item_answers)
        else _empty_frame(schemas.CELLS)
    )
    none = _empty_frame(schemas.ITEM_SCORES)
    twin_scores = none
    of_twins = bare[bare["id"].isin(twins["prompts"]["id"])]
    if len(item_answers) and len(of_twins):
        twin_scores = score_items(twins["prompts"], twins["items"], of_twins, scoring)

    def scored(rows: pd.DataFrame, prompt_answers: pd.DataFrame) -> pd.DataFrame:
        """Score only the items of these prompts."""
        return score_items(rows, items[items["item"].isin(rows["item"])], prompt_answers, scoring)

    prefixed = [none]
    framed = prefixed_rows(prompts if reads else prompts[:0], plan)
    for prefix, rows in framed.groupby("framing", sort=True) if len(framed) else ():
        prefix_answers = prefixed_answers[prefixed_answers["id"].isin(rows["id"])]
        prefixed.append(scored(rows, prefix_answers.assign(framing=prefix)))
    adapted = [none.assign(corpus="", fit=0, epoch=0)]
    then = answered[answered["corpus"] != ""]
    adapted_prompts = prompts[prompts["id"].isin(then["id"])]
    for _, group in then.groupby(STAGE, sort=True):
        stage_scores = scored(adapted_prompts, group)
        adapted.append(stage_scores.assign(**group[STAGE].iloc[0]))
    facts = concat_frames([of_facts(answers["known_answers"], plan), chat_facts])
    weight_by_order = options.by_order(shares, prompts)
    return {
        "cells": cells,
        "items": item_scores(cells, items) if len(item_answers) else none,
        "twins": twin_scores,
        "subjects": score_sentences(sentences, bare[is_of_sentence], scoring),
        "prefixed": concat_frames(prefixed),
        "adapted": concat_frames(adapted),
        "labelled": answers["labelled_pairs"].assign(model=subject.name),
        "known": facts.assign(model=subject.name),
        "chosen": chosen.assign(model=subject.name),
        "by_order": weight_by_order.rename_axis("turn").rename("points").reset_index(),
        "content": content_figures(item_tables, twins, plan, answers),
        "course": adaptation_course(answers, subject.name),
    }


def score_sentences(
    sentences: pd.DataFrame, answers: pd.DataFrame, scoring: Scoring
) -> pd.DataFrame:
    """Scores of sentences about I and other subjects, as `schemas.SUBJECT_SCORES`.

    None by a method that does not ask them all; `answers`: a row per measure, as of prompts.
    """
    columns = ["item", "sentence", "subject", "form", "wording", "control"]
    # Numbers of sentences stand where those of twins do.
    rows = sentences.rename(columns={"sentence": "twin"})
    items = rows[["questionnaire", "item", "twin", "keying"]].drop_duplicates()
    scored: list[pd.DataFrame] = []
    for _, of_method in answers.groupby("method", sort=True):
        if set(rows["id"]) <= set(of_method["id"]):
            scored.append(score_items(rows, items.assign(subscale=None), of_method, scoring))
    if not scored:
        return _empty_frame(schemas.SUBJECT_SCORES)
    scores = pd.concat(scored, ignore_index=True).rename(columns={"twin": "sentence"})
    versions = sentences[columns].drop_duplicates()
    whole = scores.merge(versions, on=["item", "sentence"], validate="m:1")
    of_schema: pd.DataFrame = whole[schemas.SUBJECT_SCORES.names]
    return of_schema


def _empty_frame(schema: pa.Schema) -> pd.DataFrame:
    """A frame without rows that has the columns and types of a schema."""
    empty: pd.DataFrame = schema.empty_table().to_pandas()
    return empty

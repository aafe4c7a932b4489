"""Requests of probes to models, and score tables from their answers: likelihoods, choices,
embeddings of templates.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler import measurement
from evenruler.instruments import prefixes
from evenruler.instruments.instrument import (
    AskingMethod,
    AskingMethods,
    ColumnsByTable,
    ModelMeta,
    PlanKeys,
    RequestBatch,
    SchemasByTable,
    Tables,
    split_names,
)
from evenruler.instruments.methods import choice, next_word
from evenruler.instruments.methods.choice import FIRST, KNOWN, SECOND
from evenruler.instruments.probes.declare.plan import ChoicePlan, ProbePlan, WritingPlan
from evenruler.instruments.probes.declare.source import without_slots
from evenruler.instruments.probes.schemas import (
    BEST_START,
    CONTROL,
    LEXICAL,
    SEMANTIC,
    sentence_id,
)
from evenruler.tables.frames import concat_frames, evenly_spread, limit_tables
from evenruler.tables.ids import content_sha256
from evenruler.tables.schemas import BARE, build_schema
from evenruler.text import ATTRIBUTE, TARGET, distinct_words, fill

READS: ColumnsByTable = {
    "attributes": split_names("word attribute criterion match key log_frequency likeness"),
    "probes": split_names(
        "id text set template keying control attribute group pole target variant framing"
    ),
    "templates": split_names("set template keying control variant text"),
    "stems": split_names("id sentence kind unit word key text"),
    "nouns": split_names("noun theme subtheme count gendered gendered_form"),
}

OPTIONAL_TABLES: frozenset[str] = frozenset({"stems", "nouns"})

PLANNED: PlanKeys = split_names(
    "descriptive embedder headline name next_word placebos prefixed prefixed_targets "
    "prefixed_templates prefixes rivals targets tools"
)

LIKELIHOOD, CHOICE, WRITTEN = "likelihood", "choice", "written"

ON_AXIS = "attributes with a criterion or keys"

METHODS: AskingMethods = {
    LIKELIHOOD: AskingMethod(("loglikelihood", "next_words")),
    CHOICE: AskingMethod(
        ("generate",), chat=True, instead=True, takes=f"English sentences and {ON_AXIS}"
    ),
    WRITTEN: AskingMethod(
        ("generate",), chat=True, instead=True, takes=f"`written`, in English, and {ON_AXIS}"
    ),
}

ANSWERS: SchemasByTable = {
    "likelihoods": build_schema("id framing: str; nats: float?; tokens: int"),
    next_word.TABLE: next_word.ANSWERS,
    "starts": build_schema("id: str; nats: float?; tokens: int"),
    choice.TABLE: choice.ANSWERS,
    choice.SENTENCES: choice.WROTE,
    "embeddings": build_schema("text: str; vector: [float32]"),
}
"""`likelihoods` of sentences, bare and after prefixes, null where the tokenizer does not know a
word; `next_words`: of a list after sentences that end before a noun; `starts`: after another start
token, null where there is none; `choices` between two sentences; `sentences` that a chat model
wrote; `embeddings` of templates, with "someone" for each slot."""


def requests(
    tables: Tables, plan: ProbePlan, answers: Tables, subject: ModelMeta
) -> list[RequestBatch]:
    """The requests that are not answered yet, all at once."""
    batches: list[RequestBatch] = []
    choice_plan = plan.get("choice")
    if choice.TABLE not in answers and subject.method == CHOICE and choice_plan:
        known_pairs = choice.known_pairs(choice_plan["known"])
        questions = choice_questions(tables, plan)
        if len(questions):
            batches.append(choice.request_of(concat_frames([questions, known_pairs])))
    if choice.SENTENCES not in answers and subject.method == WRITTEN and plan.get("written"):
        from evenruler.instruments.methods import writing  # needed rarely

        prompts = writing_prompts(tables, plan)
        if len(prompts):
            batches.append(writing.request_of(prompts))
    scored = subject.can("loglikelihood") and subject.uses_method(LIKELIHOOD)
    if "likelihoods" not in answers and scored:
        wanted = ["id", "framing", "text", "before"]
        bare = tables["probes"].assign(before="")
        prefixed = after_prefixes(tables["probes"], plan)
        rivals = rival_sentences(tables, plan).assign(before="")
        frames = [bare]
        frames += [frame for frame in (prefixed, rivals) if len(frame)]
        request_rows = concat_frames([frame[wanted] for frame in frames])
        inputs = {name: request_rows[name].tolist() for name in ("text", "before")}
        batches.append(
            RequestBatch("likelihoods", "loglikelihood", request_rows[["id", "framing"]], inputs)
        )
    if next_word.TABLE not in answers:
        batches += _next_word_requests(tables, plan, subject)
    if "starts" not in answers and scored and prefixes.asks_other_start(subject, plan):
        rows = after_other_start(tables["probes"])
        inputs = {"text": rows["text"].tolist()}
        batches.append(
            RequestBatch("starts", "loglikelihood", rows[["id"]], inputs, {"other_start": True})
        )
    if "embeddings" not in answers:
        batches.append(_embedding_request(tables, plan))
    return [request for request in batches if len(request.rows)]


def _embedding_request(tables: Tables, plan: ProbePlan) -> RequestBatch:
    """The request for the embeddings of all templates."""
    distinct_texts: set[str] = set()
    for name in ("templates", "history"):
        if name in tables:
            distinct_texts.update(map(without_slots, tables[name]["text"]))
    texts = pd.DataFrame({"text": sorted(distinct_texts)})
    inputs = {"text": texts["text"].tolist()}
    return RequestBatch(
        "embeddings", "embed", texts, inputs, by=plan["embedder"], of_instrument=True
    )


def _next_word_requests(
    tables: Tables, plan: ProbePlan, subject: ModelMeta
) -> Iterator[RequestBatch]:
    """The request for the next words of sentences, if the plan has any and the model gives them."""
    can_answer = subject.can("next_words") and subject.uses_method(LIKELIHOOD)
    if can_answer and plan["next_word"]:
        words = next_word.list_words(tables["nouns"], plan["next_word"]["pairs"])
        yield next_word.request_of(tables["stems"], words)


def scores(
    tables: Tables, plan: ProbePlan, answers: Tables, subject: ModelMeta
) -> dict[str, pd.DataFrame]:
    """Score tables made from the answers.

    Returns:
        `scores`: log-likelihoods by `evenruler.tables.schemas.SCORES`; `unread`: ids of sentences
        without, since the tokenizer does not know a word; `started`: as `scores`, after another
        start token; `diversity`: by `schemas.DIVERSITY` without `benchmark`, of templates within
        their sets and generations, empty where they were not embedded; `next_words` as answered,
        `choices` and `sentences` after parsing, where any were asked.
    """
    names = {"nats": "value", "tokens": "n_tokens"}
    likelihoods = answers["likelihoods"].rename(columns=names)
    started = answers["starts"].rename(columns=names)
    known_likelihoods = likelihoods[likelihoods["value"].notna()]
    known_started = started[started["value"].notna()]
    of_subject = {"model": subject.name, "lineage": subject.lineage, "method": "bare"}
    embeddings = dict(
        zip(answers["embeddings"]["text"], answers["embeddings"]["vector"], strict=True)
    )
    unread = likelihoods.loc[likelihoods["value"].isna(), ["id"]]
    score_tables = {
        "scores": known_likelihoods.assign(**of_subject, measure="loglikelihood"),
        "unread": unread,
        "started": known_started.assign(**of_subject),
        "diversity": template_diversities(tables, embeddings).assign(model=subject.name),
    }
    after_sentences = answers[next_word.TABLE]
    if len(after_sentences):
        score_tables[next_word.TABLE] = after_sentences
    chosen = answers[choice.TABLE]
    if len(chosen):
        known_pairs = choice.known_pairs(_require_choice_plan(plan)["known"])
        sentence_pairs = concat_frames([choice_questions(tables, plan), known_pairs])
        score_tables[choice.TABLE] = choice.parse_choices(chosen, sentence_pairs)
    wrote = answers[choice.SENTENCES]
    if len(wrote):
        from evenruler.instruments.methods import writing  # needed rarely

        score_tables[choice.SENTENCES] = writing.parse_sentences(
            wrote, writing_prompts(tables, plan), by_group(plan, "pronouns")
        )
    return score_tables


def keep_headline_rows(tables: Tables, plan: ProbePlan) -> Tables:
    """The tables without template sets that are no headline."""
    probes = tables["probes"]
    return {**tables, "probes": probes[probes["set"].isin(plan["headline"])]}


def limited(tables: Tables, plan: ProbePlan, n: int) -> tuple[Tables, ProbePlan]:
    """Tables cut down to n attributes, evenly spread."""
    limited_tables = limit_tables(tables, ("attributes", "probes"), "attribute", n)
    if "stems" in tables:
        stems = tables["stems"]
        is_asked = stems["unit"].isin(limited_tables["attributes"]["attribute"])
        limited_tables["stems"] = stems[is_asked | (stems["kind"] == CONTROL)]
    return limited_tables, plan


def after_prefixes(probes: pd.DataFrame, plan: ProbePlan) -> pd.DataFrame:
    """Sentences after every prefix, by `prefixes.after_prefixes`; `bare_id`: id of the sentence
    without prefix.
    """
    chosen = probes[~probes["control"]].assign(bare_id=lambda rows: rows["id"])
    few = (
        (["set"], "template", plan["prefixed_templates"]),
        (["set", "group"], "target", plan["prefixed_targets"]),
    )
    for within, column, most in few:
        limited_groups = []
        for _, group in chosen.groupby(within):
            spread_slugs = evenly_spread(sorted(set(group[column])), most)
            limited_groups.append(group[group[column].isin(spread_slugs)])
        if limited_groups:
            chosen = pd.concat(limited_groups)
    return prefixes.after_prefixes(
        chosen, "attribute", plan, lambda row, prefix: sentence_id(plan["name"], dict(row), prefix)
    )


STARTED_ATTRIBUTES, STARTED_TEMPLATES = 12, 4
"""Most attributes, and templates of a set, evenly spread, whose sentences are asked again after
another start token."""


def after_other_start(probes: pd.DataFrame) -> pd.DataFrame:
    """Sentences that are asked once more after another usual start token: of some attributes and
    templates.

    With all targets, without controls.
    """
    scored = probes[~probes["control"]]
    attributes = evenly_spread(sorted(set(scored["attribute"])), STARTED_ATTRIBUTES)
    templates: list[tuple[Any, str]] = []
    for template_set, rows in scored.groupby("set", sort=True):
        spread_templates = evenly_spread(sorted(set(rows["template"])), STARTED_TEMPLATES)
        templates += [(template_set, template) for template in spread_templates]
    pairs = pd.MultiIndex.from_frame(scored[["set", "template"]])
    return scored[scored["attribute"].isin(attributes) & pairs.isin(templates)]


RIVAL = "rival"
"""The framing of sentences with rival words in place of attributes."""

TARGETS = "words"
"""Name of the list of targets: every set has only one so far."""


def rival_sentences(tables: Tables, plan: ProbePlan) -> pd.DataFrame:
    """Sentences of the headline sets with rivals in place of attributes; derived from the tables,
    so they are not published.

    `tables`: `templates`, by its schema in `schemas`.

    Returns:
        `set, template, attribute, target, group, pole, keying, key, variant, text, framing, id`.
    """
    templates = tables["templates"]
    in_headline = templates["set"].isin(plan["headline"])
    templates = templates[in_headline & ~templates["control"]]
    # `targets` loses its order when a plan is read from file
    groups = plan.get("groups", list(plan["targets"]))
    words: list[dict[str, Any]] = []
    for pole, group in zip((1, -1), groups, strict=True):
        for (rival, key), (target, word) in product(
            plan["rivals"].items(), plan["targets"][group].items()
        ):
            columns = {"attribute": rival, "key": key, "target": target, "pole": pole}
            words.append({**columns, "word": word})
    rows: list[dict[str, Any]] = []
    shared = ("set", "template", "keying", "variant")
    for template, columns in product(templates.to_dict("records"), words):
        filled = {ATTRIBUTE: columns["attribute"], TARGET: columns["word"]}
        text = fill(template["text"], filled, template["variant"])
        template_columns = {column: template[column] for column in shared}
        rows.append({**template_columns, **columns, "text": text})
    columns_in_order = [*shared, "attribute", "key", "pole", "target", "text"]
    sentences = pd.DataFrame(rows, columns=columns_in_order).assign(group=TARGETS, framing=RIVAL)
    ids = [sentence_id(plan["name"], row, RIVAL) for row in sentences.to_dict("records")]
    return sentences.assign(id=ids)


def choice_questions(tables: Tables, plan: ProbePlan) -> pd.DataFrame:
    """Pairs of sentences between which a chat model chooses; derived from the tables, so they are
    not published.

    Returns:
        `id, framing, set, template, keying, attribute, group, word, axis_position, first, second`:
        pairs of targets (`BARE`), and of targets with rival words. `word`: both words;
        `axis_position`: position of the attribute on its axis. Empty where no attribute has one.
    """
    choice_plan = _require_choice_plan(plan)
    attributes = tables["attributes"].set_index("attribute")
    probes = tables["probes"]
    in_headline = probes["set"].isin(plan["headline"])
    bare = probes[in_headline & ~probes["control"]]
    chosen = _attributes_along_axis(attributes, plan["choice_attributes"])
    bare = bare[bare["attribute"].isin(chosen)]
    axis = axis_of(attributes)
    target_pairs = [(TARGETS, *pair) for pair in choice_plan["pairs"]]
    pairs = pd.DataFrame(target_pairs, columns=["group", "target", "other"])
    question_frames = []
    sentences = pd.concat([bare, rival_sentences(tables, plan)])
    for _, rows in sentences.groupby(["set", "framing"], sort=True):
        spread_templates = evenly_spread(sorted(set(rows["template"])), plan["choice_templates"])
        rows = rows[rows["template"].isin(spread_templates)].drop(columns="group")
        second_sentences = rows[["template", "attribute", "target", "text"]]
        second_sentences = second_sentences.rename(columns={"target": "other", "text": SECOND})
        question_frames.append(
            pairs.merge(rows, on="target").merge(
                second_sentences, on=["template", "attribute", "other"]
            )
        )
    columns = [
        "id",
        "framing",
        "set",
        "template",
        "keying",
        "attribute",
        "group",
        "word",
        "axis_position",
        FIRST,
        SECOND,
    ]
    if not question_frames:  # no attribute has a position on the axis
        return pd.DataFrame(columns=columns)
    every = concat_frames(question_frames).rename(columns={"text": FIRST})
    every = every.assign(word=every["target"] + "/" + every["other"])
    is_rival = every["framing"] == RIVAL
    positions = every["attribute"].map(axis)
    every["axis_position"] = every["key"].where(is_rival, positions).astype(float)
    return every[columns]


def writing_prompts(tables: Tables, plan: ProbePlan) -> pd.DataFrame:
    """Prompts for sentences that a chat model writes freely, known words (`KNOWN`) in two each;
    derived as well.

    Empty where no attribute has a position on the axis: what known words show is then of no use.

    Returns:
        `id, framing, template, keying, attribute, group, word, axis_position, right, prompt`;
        `word`: that of the attribute; `right`: the group expected for a known word.
    """
    from evenruler.instruments.methods import writing  # needed rarely

    writing_plan = _require_writing_plan(plan)
    attributes = tables["attributes"].set_index("attribute")
    about = evenly_spread(sorted(writing_plan["about"]), plan["written_prompts"])
    positions = axis_of(attributes).dropna()
    prompt_rows: list[tuple[Any, ...]] = []
    for slug, subject in product(positions.index, about):
        attribute_word = attributes["word"][slug]
        prompt_rows.append((BARE, slug, attribute_word, subject, positions[slug], None))
    known_words = by_group(plan, "known").items() if prompt_rows else ()
    for (right, few), subject in product(known_words, evenly_spread(about, 2)):
        prompt_rows += [(KNOWN, word, word, subject, np.nan, right) for word in few]
    prompts = pd.DataFrame(
        prompt_rows, columns=["framing", "attribute", "word", "template", "axis_position", "right"]
    )
    rows = zip(prompts["template"], prompts["word"], strict=True)
    prompts = prompts.assign(
        keying=1,
        group=WRITTEN,
        prompt=[
            writing.sentence_prompt(writing_plan["about"][subject], word) for subject, word in rows
        ],
    )
    return prompts.assign(id=prompts["prompt"].map(content_sha256))


def _require_choice_plan(plan: ProbePlan) -> ChoicePlan:
    """The pairs that a chat chooses between; AssertionError where the plan has no choices."""
    assert plan["choice"] is not None
    return plan["choice"]


def _require_writing_plan(plan: ProbePlan) -> WritingPlan:
    """What a chat writes sentences about; AssertionError where the plan has no writing."""
    assert plan["written"] is not None
    return plan["written"]


def by_group(plan: ProbePlan, key: Literal["pronouns", "known"]) -> dict[str, list[str]]:
    """Entries of `written[key]` for the first and the second group, ordered by `groups` of the
    plan.
    """
    return {
        side: _require_writing_plan(plan)[key][group]
        for side, group in zip((FIRST, SECOND), plan["groups"], strict=True)
    }


def axis_of(attributes: pd.DataFrame) -> "pd.Series[float]":
    """Positions of attributes on the axis of the gain: `criterion` if there is one, else `key`; NaN
    where lacking.
    """
    return attributes["criterion" if attributes["criterion"].notna().any() else "key"].astype(float)


def _attributes_along_axis(attributes: pd.DataFrame, most: int) -> list[str]:
    """Slugs of at most `most` attributes that have a position on the axis, evenly spread along
    it.
    """
    criterion = attributes["criterion"].dropna().sort_index().sort_values(kind="stable")
    if len(criterion):
        return evenly_spread(list(map(str, criterion.index)), most)
    keyed = attributes["key"].dropna().sort_index()
    slugs: list[str] = []
    for key in (1, -1):
        slugs_of_key = list(map(str, keyed.index[keyed == key]))
        slugs += evenly_spread(slugs_of_key, most // 2)
    return slugs


def template_diversities(
    tables: Tables, embeddings: Mapping[str, NDArray[np.float32]]
) -> pd.DataFrame:
    """SD(t) and LD(t), the semantic and lexical diversity of every template in its set (no
    controls) or generation.

    `set` is null for generations, `run` and `generation` for sets; the best subset of the start has
    `BEST_START` as `run`. `embeddings`: by text with "someone" for each slot; empty where texts
    were not embedded.
    """
    rows: list[dict[str, object]] = []
    for key, templates in _group_templates(tables) if embeddings else ():
        texts = templates["text"].tolist()
        semantic = measurement.semantic_diversity(
            np.stack([embeddings[without_slots(text)] for text in texts])
        )
        lexical = measurement.lexical_diversity([distinct_words(text) for text in texts])
        diversities = zip(templates["template"], semantic, lexical, strict=True)
        for template, near, other in diversities:
            diversity = {SEMANTIC: float(near), LEXICAL: float(other)}
            rows.append({**key, "template": template, **diversity})
    columns = ["set", "run", "generation", "template", SEMANTIC, LEXICAL]
    return pd.DataFrame(rows, columns=columns).astype({"generation": "Int16"})


def _group_templates(tables: Tables) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    """Key columns and templates of every set and generation."""
    scored = tables["templates"][~tables["templates"]["control"]]
    for name, templates in scored.groupby("set", sort=True):
        yield {"set": name}, templates
    if "history" in tables:
        history, choices = tables["history"], tables.get("choices")
        best_templates: set[str] = set()
        if choices is not None:
            best_templates.update(choices.loc[choices["best_start"], "template"])
        if best_templates:
            best_rows = history[history["template"].isin(best_templates)]
            yield {"run": BEST_START}, best_rows.drop_duplicates("template")
        for (run, generation), templates in history.groupby(["run", "generation"], sort=True):
            yield {"run": run, "generation": generation}, templates

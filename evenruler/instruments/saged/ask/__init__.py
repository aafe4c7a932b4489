"""What a domain asks of a model and of the tools that score its replies, and the resulting features
(SAGED, 3).

Features are of every reply and of its baseline, with names masked; each kind is computed in
`features.py`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

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
    split_names,
)
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask.features import (
    EMPTY,
    NEW_TOKENS,
    NONE,
    UNCOMPARED,
    FeatureColumn,
    ReplyTexts,
    ToolAnswers,
    measure_feature,
    scorer_prompts,
)
from evenruler.instruments.saged.declare import FAMILY, PERSONA
from evenruler.instruments.saged.declare.plan import SagedPlan
from evenruler.instruments.saged.declare.settings import (
    FEWEST_FOR_CONTROL,
    OF_TEXTS,
    OPERATION_OF,
    PROMPT,
    Feature,
)
from evenruler.instruments.saged.schemas import BASELINES, FEATURES, FRAMED, GENERATIONS, TOPICS
from evenruler.models.declarations import Operation
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.terminal import print_note
from evenruler.text.english import is_other_language
from evenruler.text.replies import is_empty, is_refusal
from evenruler.text.whole_words import find_words

READS: ColumnsByTable = {
    "prompts": split_names(
        "id prompt baseline concept keyword source_tag prompt_type root_id root_concept "
        "prompt_spans baseline_spans section is_reference"
    ),
}

OPTIONAL_TABLES: frozenset[str] = frozenset()

PLANNED: PlanKeys = split_names(
    "headline_features concept concepts control crossed disparities embedder features "
    "generations items language masked most_roles name new_tokens placebos prefixed prefixes "
    "reference roles seed templates tools"
)

keep_headline_rows = all_rows

METHODS: AskingMethods = {"replies": AskingMethod(("generate",))}

ANSWERS: SchemasByTable = {
    "replies": schemas.REPLIES,
    "embeddings": schemas.EMBEDDINGS,
    "classifications": schemas.CLASSIFICATIONS,
    "scored": schemas.SCORED,
}


def requests(
    tables: Tables, plan: SagedPlan, answers: Tables, subject: ModelMeta
) -> Sequence[RequestBatch]:
    """The next requests: first replies to all planned prompts, then the tools' scores of these and
    of the baselines.
    """
    if not subject.can("generate"):
        return []
    if "replies" not in answers:
        return _reply_requests(tables, plan, subject)
    prompts, generations = _prompts_and_replies(tables, plan, answers, subject)
    names = names_of(tables["prompts"], plan["masked"])
    hidden = replies_of(prompts, generations, names, plan["language"])
    text_sets = [hidden, baselines_of(prompts, generations, plan["language"])]
    batches = []
    for (operation, tool), features in _features_by_tool(plan).items():
        table, column, settings = _ASKED_OF_TOOLS[operation]
        if table in answers:
            continue
        distinct = list(dict.fromkeys(_tool_inputs(operation, features, text_sets)))
        if distinct:
            rows = pd.DataFrame({"tool": tool, column: pd.Series(distinct, dtype="str")})
            batches.append(RequestBatch(table, operation, rows, {column: distinct}, settings, tool))
    return batches


def _reply_requests(tables: Tables, plan: SagedPlan, subject: ModelMeta) -> list[RequestBatch]:
    """A request for the planned replies of each root item, one after the other, so that an
    interrupted run leaves whole ones.
    """
    replies_to_request = planned_replies(tables, plan, subject)
    batches: list[RequestBatch] = []
    for root, of_root in replies_to_request.groupby("root_id", sort=False):
        inputs = {
            "prompt": of_root["text"].tolist(),
            "seed": of_root["seed"].tolist(),
            "system": [system or None for system in of_root["system"]],
        }
        rows = of_root.drop(columns=["root_id", "system", "text", "seed"])
        settings = {"new_tokens": plan["new_tokens"]}
        batch = RequestBatch("replies", "generate", rows, inputs, settings, part=str(root))
        batches.append(batch)
    return batches


def _features_by_tool(plan: SagedPlan) -> dict[tuple[Operation, str], list[Feature]]:
    """The features that need a tool, by its operation and name."""
    by_tool: dict[tuple[Operation, str], list[Feature]] = {}
    for feature in features_of(plan).values():
        operation = OPERATION_OF.get(feature.kind)
        if operation:
            tool = feature.model or plan["embedder"]
            assert tool is not None
            by_tool.setdefault((operation, tool), []).append(feature)
    return by_tool


def _tool_inputs(
    operation: Operation, features: Sequence[Feature], text_sets: Sequence[ReplyTexts]
) -> list[str]:
    """The inputs of a tool for its features, with repetitions; `text_sets`: replies, then
    baselines.
    """
    inputs: list[str] = []
    if operation == "generate":
        for text_set, feature in product(text_sets, features):
            questions, _ = scorer_prompts(feature, text_set)
            inputs += questions
        return inputs
    # Embeddings of whole baselines are not needed.
    needed_text_sets = text_sets if operation == "classify" else text_sets[:1]
    for text_set, feature in product(needed_text_sets, features):
        inputs += text_set.read(feature)
    return inputs


_ASKED_OF_TOOLS: Mapping[Operation, tuple[str, str, dict[str, Any]]] = {
    "embed": ("embeddings", "text", {}),
    "classify": ("classifications", "text", {"whole": True}),
    "generate": ("scored", "prompt", {"new_tokens": NEW_TOKENS, "temperature": 0}),
}
"""By operation: the table of answers, its column of inputs, and the settings of the request."""


def scores(tables: Tables, plan: SagedPlan, answers: Tables, subject: ModelMeta) -> Tables:
    """Every feature of every reply and of its baseline; UserError where weights do not fit a
    classifier's labels.
    """
    prompts, generations = _prompts_and_replies(tables, plan, answers, subject)
    models = ToolAnswers(answers, plan["embedder"])
    names = names_of(tables["prompts"], plan["masked"])
    feature_tables = extract_features(
        prompts, generations, features_of(plan), models, names, plan["language"]
    )
    return {**feature_tables, "generations": generations}


def limited(tables: Tables, plan: SagedPlan, n: int) -> tuple[Tables, SagedPlan]:
    """The plan limited to n root items of each root concept, the first that are asked."""
    return tables, {**plan, "items": min(n, plan["items"])}


def features_of(plan: SagedPlan) -> dict[str, Feature]:
    """The features of a plan, by name."""
    return {name: Feature.model_validate(feature) for name, feature in plan["features"].items()}


def _prompts_and_replies(
    tables: Tables, plan: SagedPlan, answers: Tables, subject: ModelMeta
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All prompts, bare and framed, with their baselines; and the replies, by
    `schemas.GENERATIONS`.
    """
    built_prompts = tables["prompts"]
    bare = built_prompts[["id", "concept"]].assign(
        domain=plan["name"], baseline=compared_with(built_prompts), whole=built_prompts["baseline"]
    )
    after = repeated_prompts(tables, plan)
    framed_rows = bare.set_index("id").loc[after["bare_id"]].reset_index(drop=True)
    prompts = pd.concat([bare, framed_rows.assign(id=after["id"])], ignore_index=True)
    described_replies = _describe_replies(answers["replies"], plan["language"])
    generations = described_replies.assign(model=subject.name, lineage=subject.lineage)
    return prompts, generations[list(GENERATIONS.names)]


def _describe_replies(replies: pd.DataFrame, language: str) -> pd.DataFrame:
    """Replies with the columns of `schemas.GENERATIONS` that follow from their text and how it
    ended.
    """
    is_given = replies["reply"].notna()
    reply_texts = [None if pd.isna(text) else str(text) for text in replies["reply"]]
    distinct = list(dict.fromkeys(text for text in reply_texts if text is not None))
    foreign = dict(zip(distinct, is_other_language(distinct, language), strict=True))
    refusal = [text is not None and is_refusal(text) for text in reply_texts]
    empty = [text is not None and is_empty(text) for text in reply_texts]
    other_language = [
        text is not None and not is_empty(text) and bool(foreign[text]) for text in reply_texts
    ]
    reached_limit = (replies["finish"] == "length").astype("boolean")
    is_unknown = is_given & replies["finish"].isna()
    return replies.drop(columns=["reply", "finish"]).assign(
        generation=pd.array(reply_texts, dtype="str"),
        refusal=refusal,
        empty=empty,
        other_language=other_language,
        cut=reached_limit.mask(is_unknown) & is_given,
    )


def compared_with(prompts: pd.DataFrame) -> pd.Series:
    """The part of each baseline that a reply is compared with: all of it, or what follows the
    prompt that begins it.

    Baselines that were not branched begin with the prompt of their root. `prompts`: by
    `schemas.PROMPTS`.
    """
    roots = prompts["root_id"].map(prompts.set_index("id")["prompt"])
    rows = zip(prompts["prompt_type"], prompts["prompt"], roots, prompts["baseline"], strict=True)
    parts: list[Any] = []
    for kind, prompt, root, baseline in rows:
        if kind != "split" or not isinstance(baseline, str):
            parts.append(baseline)
            continue
        begins_with_prompt = not isinstance(root, str) or baseline.startswith(prompt)
        before = prompt if begins_with_prompt else root
        parts.append(baseline.removeprefix(before).lstrip())
    return pd.Series(parts, index=prompts.index, dtype="str")


def prefixed_prompts(
    domain: str, prompts: pd.DataFrame, prefixes: Mapping[str, str]
) -> pd.DataFrame:
    """Every prompt after every prefix, by `FRAMED`."""
    rows: list[tuple[object, ...]] = []
    bare_prompts = prompts[["id", "concept", "root_id"]]
    for key, concept, root in bare_prompts.itertuples(index=False):
        for framing, before in prefixes.items():
            framed_id = row_id(family=FAMILY, benchmark=domain, bare=key, framing=framing)
            rows.append((framed_id, framing, before, key, concept, root))
    return pd.DataFrame(rows, columns=FRAMED.names)


CONTINUE = "Go on with this text, and write nothing but how it goes on: "
"""Put before a prompt that is the beginning of a sentence, for chat-tuned models, which would
answer the bare prompt instead of continuing it."""


def planned_replies(tables: Tables, plan: SagedPlan, subject: ModelMeta) -> pd.DataFrame:
    """The replies that a plan requests of a model, by `asked_replies`.

    Models that are not chat-tuned get no role; chat-tuned ones get `CONTINUE` before prompts that
    are beginnings.
    """
    planned_roles = plan["roles"][: plan["most_roles"]]
    roles = {role["role"]: role["text"] for role in planned_roles}
    if not subject.chats:
        without_text = [role for role, text in roles.items() if not text]
        roles = dict.fromkeys(without_text or ["no-role"], "")
    prompts = planned_prompts(tables, plan)
    if subject.chats:
        before = prompts["prompt_type"].map({"split": CONTINUE}).fillna("")
        prompts = prompts.assign(prompt=before + prompts["prompt"])
    templates = {template["template"]: template["text"] for template in plan["templates"]}
    return asked_replies(
        prompts, repeated_prompts(tables, plan), roles, templates, plan["generations"], plan["seed"]
    )


def repeated_prompts(tables: Tables, plan: SagedPlan) -> pd.DataFrame:
    """Prompts that are asked again: after each prefix, and those about one concept after the
    persona of the positive control (`PERSONA`), where root items are enough to show it; by
    `FRAMED`.
    """
    prompts = planned_prompts(tables, plan)
    few_prompts = with_items(prompts, plan["prefixed"])
    after = prefixed_prompts(plan["name"], few_prompts, plan["prefixes"])
    control = plan["control"]
    if control is None or prompts["root_id"].nunique() < FEWEST_FOR_CONTROL:
        return after
    about = prompts[prompts["concept"] == control["concept"]]
    of_persona = prefixed_prompts(plan["name"], about, {PERSONA: control["persona"]})
    return pd.concat([after, of_persona], ignore_index=True)


def planned_prompts(tables: Tables, plan: SagedPlan) -> pd.DataFrame:
    """The prompts that are asked: of planned root items, about concepts and planned known names."""
    prompts = with_items(tables["prompts"], plan["items"])
    is_planned = ~prompts["is_reference"] | prompts["concept"].isin(plan["reference"])
    return prompts[is_planned]


def with_items(prompts: pd.DataFrame, most: int) -> pd.DataFrame:
    """The rows of at most `most` root items of each root concept, root item by root item.

    Taken are the first in order of id, a hash, so they are as good as drawn; a larger number begins
    with the root items of a smaller one. Root concepts take turns.
    """
    roots = prompts[["root_concept", "root_id"]].drop_duplicates().sort_values("root_id")
    turn = roots.groupby("root_concept").cumcount()
    chosen = roots.assign(turn=turn)[turn < most].sort_values(["turn", "root_concept"])
    place = dict(zip(chosen["root_id"], range(len(chosen)), strict=True))
    rows = prompts[prompts["root_id"].isin(place)]
    return rows.iloc[rows["root_id"].map(place).argsort(kind="stable")]


def asked_replies(
    prompts: pd.DataFrame,
    framed: pd.DataFrame,
    roles: Mapping[str, str],
    templates: Mapping[str, str],
    repetitions: int,
    seed: int,
) -> pd.DataFrame:
    """One row per reply to request; an empty system prompt means none.

    Counterfactual prompts of one root share their seeds, as do a prompt and its framed versions, so
    that replies differ by chance as little as possible. Root items follow each other. `prompts` are
    asked in every role and template, `framed` ones (`FRAMED`) only in the first of each; `roles`:
    the system prompt of each; `repetitions`: replies to each prompt.
    """
    bare = prompts[["id", "root_id", "prompt"]].assign(framing=BARE)
    texts = prompts.set_index("id")["prompt"]
    prefixed_texts = framed["before"] + " " + framed["bare_id"].map(texts)
    whole = prefixed_texts.str.removeprefix(" ")
    before = framed[["id", "root_id"]].assign(prompt=whole, framing=framed["framing"])
    every = list(product(roles, templates))
    rows: list[tuple[object, ...]] = []
    whole_prompts = pd.concat([bare, before], ignore_index=True)
    by_root = whole_prompts.iloc[pd.factorize(whole_prompts["root_id"])[0].argsort(kind="stable")]
    for key, root, prompt, framing in by_root.itertuples(index=False):
        configurations = every if framing == BARE else every[:1]
        for role, template in configurations:
            text = templates[template].replace(PROMPT, prompt)
            for repetition in range(repetitions):
                reply_seed = int(content_sha256(seed, root, role, template, repetition)[:15], 16)
                of_reply = (key, framing, role, template, repetition)
                rows.append((*of_reply, root, roles[role], text, reply_seed))
    columns = ["id", "framing", "role", "template", "repetition"]
    return pd.DataFrame(rows, columns=[*columns, "root_id", "system", "text", "seed"])


MASK = "it"  # replaces a masked name

_ARTICLE = re.compile(r"^(a|an|the)\s+", re.IGNORECASE)


def names_of(prompts: pd.DataFrame, also: Collection[str] = ()) -> tuple[str, ...]:
    """The words that distinguish concepts, sorted, without articles: keywords, replaced words,
    replacements, concepts.

    `also`: further words that the domain declares.
    """
    words = {
        *also,
        *prompts["keyword"],
        *(concept.replace("-", " ") for concept in prompts["concept"]),
    }
    for spans in chain(prompts["prompt_spans"], prompts["baseline_spans"]):
        for span in spans:
            words |= {span["word"], span["replacement"]}
    spaced_words = (" ".join(str(word).split()) for word in words)
    bare = {_ARTICLE.sub("", word) for word in spaced_words}
    return tuple(sorted(bare - {""}))


def mask_names(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """The texts with `MASK` in place of every name of `names_of`, as whole words."""
    if not names:
        return list(texts)
    masked_texts = []
    for text in texts:
        masked_text = text
        for match in reversed(find_words(text, names)):
            masked_text = masked_text[: match.begin] + MASK + masked_text[match.end :]
        masked_texts.append(masked_text)
    return masked_texts


_REPLY = [name for name in FEATURES.names if name in GENERATIONS.names]
_WORDS = [name for name in _REPLY if name != "repetition" and name != "reason"] + ["domain"]
"""Columns kept as categories: a million replies with 45 features repeat the same few words 45
million times."""


def extract_features(
    prompts: pd.DataFrame,
    generations: pd.DataFrame,
    features: Mapping[str, Feature],
    models: ToolAnswers,
    names: Sequence[str] = (),
    language: str = "en",
) -> Tables:
    """Measure every feature of every reply and of its baseline.

    `prompts`: `id, domain, concept, baseline` at least, one row per id in `generations`, framed
    ones included; `whole` holds the full baseline where `baseline` is a part of it. `features`:
    each cluster becomes a feature of its own, "topics-0", "topics-1" and so on, the largest first,
    per domain and model; values of further columns that separate the clusters are in the name
    ("topics-france-0"). `names`: of the concepts (`names_of`), hidden from features that mask.
    `language`: of the prompts; replies in another one are null for features that are not
    multilingual.

    Gives, by `schemas`: `features`, ordered by feature and then as the replies, text columns as
    categories; value and baseline for `lexicon`, `classifier` and `scorer`, the value alone for
    `distance` and `clusters`. `topics`: of clusters fitted to bare replies, to which framed replies
    are assigned. `baselines`: the scores, names included, of the baselines of asked prompts.

    UserError where weights do not fit a model's labels; ValueError where the prompt of a reply is
    unknown, or an id occurs twice among the prompts.
    """
    replies = replies_of(prompts, generations, names, language)
    columns: list[FeatureColumn] = []
    for name, feature in features.items():
        feature_columns = measure_feature(name, feature, models, replies)
        if feature_columns:
            _note_missing_numbers(name, feature_columns)
        columns += feature_columns
    topics = [column.topic for column in columns if column.topic]
    baselines = baselines_of(prompts, generations, language)
    baseline_scores: list[pd.DataFrame] = []
    for name, feature in features.items():
        if feature.kind in OF_TEXTS:
            column = measure_feature(name, feature, models, baselines)[0]
            baseline_scores.append(baselines.frame[["id"]].assign(feature=name, value=column.value))
    of_baselines = (
        pd.concat(baseline_scores, ignore_index=True)
        if baseline_scores
        else pd.DataFrame(columns=BASELINES.names)
    )
    of_clusters = pd.DataFrame(topics, columns=TOPICS.names)
    return {
        "features": _feature_table(columns, replies),
        "topics": of_clusters,
        "baselines": of_baselines,
    }


def _note_missing_numbers(name: str, columns: Sequence[FeatureColumn]) -> None:
    """Note how many rows of a feature lack a number, by reason."""
    reasons = union_categoricals([column.reason for column in columns], sort_categories=True)
    counts = reasons.value_counts().drop(UNCOMPARED, errors="ignore")
    if len(counts):
        reason_counts = [f"{reason} ({n})" for reason, n in counts.items()]
        lacking_rows = f"{counts.sum()} of {len(reasons)} rows"
        print_note(f"{name}: {lacking_rows} lack a number: {', '.join(reason_counts)}")


def baselines_of(
    prompts: pd.DataFrame, generations: pd.DataFrame, language: str = "en"
) -> ReplyTexts:
    """The baselines of the asked bare prompts in the form of replies, whole and with names
    unmasked.

    Arguments as for `extract`.
    """
    bare_replies = generations[generations["framing"] == BARE].drop_duplicates(
        "id", ignore_index=True
    )
    of_prompt = prompts.set_index("id")["whole" if "whole" in prompts else "baseline"]
    baselines_as_replies = bare_replies.assign(
        generation=of_prompt.loc[bare_replies["id"]].to_numpy()
    )
    return replies_of(prompts, baselines_as_replies, language=language)


def replies_of(
    prompts: pd.DataFrame,
    generations: pd.DataFrame,
    names: Sequence[str] = (),
    language: str = "en",
) -> ReplyTexts:
    """Replies with their baselines, each distinct text stored once; arguments as for `extract`."""
    if prompts["id"].duplicated().any():
        raise ValueError("an id stands twice among the prompts")
    of_prompt = prompts.set_index("id")[["domain", "concept", "baseline"]]
    unknown = ~generations["id"].isin(of_prompt.index)
    if unknown.any():
        raise ValueError(f"no prompt {generations.loc[unknown, 'id'].iloc[0]!r}")
    prompt_rows = of_prompt.loc[generations["id"]].reset_index(drop=True)
    replies = generations.reset_index(drop=True)
    codes, distinct = pd.factorize(
        pd.concat([replies["generation"], prompt_rows["baseline"]]).astype(object), sort=True
    )
    says = np.array([not is_empty(text) for text in distinct], dtype=bool)
    text_places = np.where(says, np.cumsum(says) - 1, EMPTY)
    places = np.append(text_places, NONE)  # the last is for code -1, a missing text
    place = places[codes]
    frame = replies[_REPLY].assign(domain=prompt_rows["domain"], concept=prompt_rows["concept"])
    texts = list(distinct[says])
    of_baseline = place[len(replies) :]
    foreign = is_other_language(texts, language)
    foreign[of_baseline[of_baseline >= 0]] = False  # baselines define the language
    return ReplyTexts(
        frame, texts, place[: len(replies)], of_baseline, mask_names(texts, names), foreign
    )


def _feature_table(columns: list[FeatureColumn], replies: ReplyTexts) -> pd.DataFrame:
    """The columns as a table by `FEATURES`; empties `columns` to save memory, for there may be
    millions of rows.
    """
    if not columns:
        return pd.DataFrame({column: [] for column in FEATURES.names})
    names, feature_codes = np.unique([column.feature for column in columns], return_inverse=True)
    row_counts = [len(column.rows) for column in columns]
    features = np.repeat(feature_codes.astype(np.int32), row_counts)
    parts: dict[str, list[Any]] = {}
    for name in ("rows", "value", "baseline", "reason"):
        parts[name] = [getattr(column, name) for column in columns]
    columns.clear()
    values_by_column: dict[str, Any] = {
        "feature": pd.Categorical.from_codes(features, pd.Index(names.tolist()))
    }
    del features
    values_by_column |= {name: np.concatenate(parts.pop(name)) for name in ("value", "baseline")}
    values_by_column["reason"] = union_categoricals(parts.pop("reason"), sort_categories=True)
    rows = np.concatenate(parts.pop("rows"))
    values_by_column |= {name: pd.Categorical(replies.frame[name]).take(rows) for name in _WORDS}
    values_by_column["repetition"] = replies.frame["repetition"].to_numpy()[rows]
    return pd.DataFrame({name: values_by_column[name] for name in FEATURES.names}, copy=False)

"""Extraction of every feature of every reply and of its baseline, with names masked."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged.ask.features import EMPTY, NONE, UNCOMPARED, Answered, Column, Replies, measured
from evenruler.instruments.saged.declare.settings import OF_TEXTS, Feature
from evenruler.instruments.saged.schemas import BASELINES, FEATURES, GENERATIONS, TOPICS
from evenruler.tables.schemas import BARE
from evenruler.terminal import note
from evenruler.text.english import in_another
from evenruler.text.replies import is_empty
from evenruler.text.whole_words import find

MASK = "it"  # replaces a masked name

_ARTICLE = re.compile(r"^(a|an|the)\s+", re.IGNORECASE)


def names_of(prompts: pd.DataFrame, also: Collection[str] = ()) -> tuple[str, ...]:
    """The words that distinguish concepts, sorted, without articles: keywords, replaced words, replacements, concepts.

    `also`: further words that the domain declares.
    """
    found = {*also, *prompts["keyword"], *(concept.replace("-", " ") for concept in prompts["concept"])}
    for column in ("prompt_spans", "baseline_spans"):
        found |= {span[side] for spans in prompts[column] for span in spans for side in ("word", "replacement")}
    bare = {_ARTICLE.sub("", " ".join(str(word).split())) for word in found}
    return tuple(sorted(bare - {""}))


def masked(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """The texts with `MASK` in place of every name of `names_of`, as whole words."""
    found = list(texts)
    for place, text in enumerate(texts if names else ()):
        for match in reversed(find(text, names)):
            found[place] = f"{found[place][: match.begin]}{MASK}{found[place][match.end :]}"
    return found


_REPLY = [name for name in FEATURES.names if name in GENERATIONS.names]
_WORDS = [name for name in _REPLY if name != "repetition" and name != "reason"] + ["domain"]
"""Columns kept as categories: a million replies with 45 features repeat the same few words 45 million times."""


def extract(
    prompts: pd.DataFrame,
    generations: pd.DataFrame,
    features: Mapping[str, Feature],
    models: Answered,
    names: Sequence[str] = (),
    language: str = "en",
) -> Tables:
    """Measure every feature of every reply and of its baseline.

    `prompts`: `id, domain, concept, baseline` at least, one row per id in `generations`, framed ones included; `whole`
    holds the full baseline where `baseline` is a part of it. `features`: each cluster becomes a feature of its own,
    "topics-0", "topics-1" and so on, the largest first, per domain and model; values of further columns that separate
    the clusters are in the name ("topics-france-0"). `names`: of the concepts (`names_of`), hidden from features that
    mask. `language`: of the prompts; replies in another one are null for features that are not multilingual.

    Gives, by `schemas`: `features`, ordered by feature and then as the replies, text columns as categories; value and
    baseline for `lexicon`, `classifier` and `scorer`, the value alone for `distance` and `clusters`. `topics`: of
    clusters fitted to bare replies, to which framed replies are assigned. `baselines`: the scores, names included, of
    the baselines of asked prompts.

    UserError where weights do not fit a model's labels; ValueError where the prompt of a reply is unknown, or an id
    occurs twice among the prompts.
    """
    replies, columns = replies_of(prompts, generations, names, language), list[Column]()
    for name, feature in features.items():
        found = measured(name, feature, models, replies)
        if found:
            reasons = union_categoricals([column.reason for column in found], sort_categories=True)
            counts = reasons.value_counts().drop(UNCOMPARED, errors="ignore")
            if len(counts):
                told = ", ".join(f"{reason} ({n})" for reason, n in counts.items())
                note(f"{name}: {counts.sum()} of {len(reasons)} rows lack a number: {told}")
        columns += found
    topics = [column.topic for column in columns if column.topic]
    baselines = baselines_of(prompts, generations, language)
    said = [
        baselines.frame[["id"]].assign(feature=name, value=measured(name, feature, models, baselines)[0].value)
        for name, feature in features.items()
        if feature.kind in OF_TEXTS
    ]
    of_baselines = pd.concat(said, ignore_index=True) if said else pd.DataFrame(columns=BASELINES.names)
    of_clusters = pd.DataFrame(topics, columns=TOPICS.names)
    return {"features": _table(columns, replies), "topics": of_clusters, "baselines": of_baselines}


def baselines_of(prompts: pd.DataFrame, generations: pd.DataFrame, language: str = "en") -> Replies:
    """The baselines of the asked bare prompts in the form of replies, whole and with names unmasked.

    Arguments as for `extract`.
    """
    asked = generations[generations["framing"] == BARE].drop_duplicates("id", ignore_index=True)
    of_prompt = prompts.set_index("id")["whole" if "whole" in prompts else "baseline"]
    told = asked.assign(generation=of_prompt.loc[asked["id"]].to_numpy())
    return replies_of(prompts, told, language=language)


def replies_of(
    prompts: pd.DataFrame, generations: pd.DataFrame, names: Sequence[str] = (), language: str = "en"
) -> Replies:
    """Replies with their baselines, each distinct text stored once; arguments as for `extract`."""
    if prompts["id"].duplicated().any():
        raise ValueError("an id stands twice among the prompts")
    of_prompt = prompts.set_index("id")[["domain", "concept", "baseline"]]
    unknown = ~generations["id"].isin(of_prompt.index)
    if unknown.any():
        raise ValueError(f"no prompt {generations.loc[unknown, 'id'].iloc[0]!r}")
    beside = of_prompt.loc[generations["id"]].reset_index(drop=True)
    replies = generations.reset_index(drop=True)
    codes, distinct = pd.factorize(pd.concat([replies["generation"], beside["baseline"]]).astype(object), sort=True)
    says = np.array([not is_empty(text) for text in distinct], dtype=bool)
    places = np.append(np.where(says, np.cumsum(says) - 1, EMPTY), NONE)  # the last is for code -1, a missing text
    place = places[codes]
    frame = replies[_REPLY].assign(domain=beside["domain"], concept=beside["concept"])
    texts = list(distinct[says])
    of_baseline = place[len(replies) :]
    foreign = in_another(texts, language)
    foreign[of_baseline[of_baseline >= 0]] = False  # baselines define the language
    return Replies(frame, texts, place[: len(replies)], of_baseline, masked(texts, names), foreign)


def _table(columns: list[Column], replies: Replies) -> pd.DataFrame:
    """The columns as a table by `FEATURES`; empties `columns` to save memory, for there may be millions of rows."""
    if not columns:
        return pd.DataFrame({column: [] for column in FEATURES.names})
    names, of = np.unique([column.feature for column in columns], return_inverse=True)
    features = np.repeat(of.astype(np.int32), [len(column.rows) for column in columns])
    parts: dict[str, list[Any]] = {
        name: [getattr(column, name) for column in columns] for name in ("rows", "value", "baseline", "reason")
    }
    columns.clear()
    found: dict[str, Any] = {"feature": pd.Categorical.from_codes(features, pd.Index(names.tolist()))}
    del features
    found |= {name: np.concatenate(parts.pop(name)) for name in ("value", "baseline")}
    found["reason"] = union_categoricals(parts.pop("reason"), sort_categories=True)
    rows = np.concatenate(parts.pop("rows"))
    found |= {name: pd.Categorical(replies.frame[name]).take(rows) for name in _WORDS}
    found["repetition"] = replies.frame["repetition"].to_numpy()[rows]
    return pd.DataFrame({name: found[name] for name in FEATURES.names}, copy=False)

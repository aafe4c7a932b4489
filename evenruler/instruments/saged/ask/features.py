"""Features of replies: each kind of feature, computed from the answers of the tools that it asks.

Clusters come from k-means on embeddings of replies, with topic words (SAGED, sections 3.2 and A.3).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged.declare.settings import SCORED, Feature
from evenruler.measurement.inputs import Floats
from evenruler.tables.schemas import BARE
from evenruler.text.english import vader_scores

Metric = Literal["cosine", "l2"]
DistanceKind = Literal["label", "sort", "distance"]

WORDS = 10  # words of a topic at most

_STARTS = 10
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))
_ENDING = re.compile(r"(?<=\w)'(s|re|ve|ll|d|m)?\Z")


@dataclass(frozen=True)
class Clusters:
    """Clusters of texts, the largest first; ties in order of their first text."""

    centres: Floats  # [c, dimensions] mean of the embeddings of each
    sizes: NDArray[np.int64]  # [c] number of texts, repeats counted
    members: NDArray[np.int64]  # [m] the cluster of each text that was clustered


def cluster_texts(
    texts: Sequence[str], embeddings: Floats, counts: NDArray[np.int64], k: int, seed: int
) -> Clusters:
    """Cluster distinct texts, at least one, by k-means, weighted by how often each occurs; no
    cluster is empty.

    `embeddings`: [m, dimensions]; `counts`: [m] occurrences of each text. There are fewer than `k`
    clusters where there are fewer distinct embeddings. The order of texts does not matter.
    """
    from sklearn.cluster import KMeans  # slow import

    order = np.array(sorted(range(len(texts)), key=texts.__getitem__))
    points = np.asarray(embeddings, dtype=np.float64)[order]
    weights = counts[order].astype(np.float64)
    few = min(k, len(np.unique(points, axis=0)))
    fitted = KMeans(few, n_init=_STARTS, random_state=seed, tol=0).fit(
        points, sample_weight=weights
    )
    onto = np.eye(few)[fitted.labels_]
    sizes = weights @ onto
    weighted = onto * weights[:, None]
    centres = weighted.T @ points / sizes[:, None]
    # Texts are sorted here, so `argmax` gives the first text of each cluster.
    ranking = np.lexsort((onto.argmax(axis=0), -sizes))
    members = np.empty(len(texts), dtype=np.int64)
    members[order] = np.argsort(ranking)[fitted.labels_]
    return Clusters(centres[ranking], sizes[ranking].astype(np.int64), members)


def distances(embeddings: Floats, centres: Floats, metric: Metric) -> Floats:
    """[...] distances of embeddings from points; both are [..., dimensions], broadcast against each
    other.

    `cosine`: 1 minus the cosine, from 0 to 2, NaN where a vector is zero; `l2`: Euclidean.
    """
    a = np.asarray(embeddings, dtype=np.float64)
    b = np.asarray(centres, dtype=np.float64)
    if metric == "l2":
        return np.asarray(np.linalg.norm(a - b, axis=-1))
    a_lengths = np.linalg.norm(a, axis=-1)
    b_lengths = np.linalg.norm(b, axis=-1)
    lengths = a_lengths * b_lengths
    inner = np.einsum("...i,...i->...", a, b)
    cosines = np.full(lengths.shape, np.nan)
    np.divide(inner, lengths, out=cosines, where=lengths > 0)
    return np.asarray(1 - np.clip(cosines, -1, 1))


def cluster_positions(
    embeddings: Floats, centres: Floats, form: DistanceKind, metric: Metric
) -> Floats:
    """Position of embeddings, [n, dimensions], relative to clusters with centres [c, dimensions]:
    float64[n, c].

    `label`: 1 for the cluster with the nearest centre by l2 (as in k-means), 0 for the others;
    `sort`: rank of the cluster by the metric, 1 for the nearest; `distance`: distance from the
    centre by the metric. Ties go to the larger cluster.
    """
    ranking_metric: Metric = "l2" if form == "label" else metric
    columns = [distances(embeddings, centre, ranking_metric) for centre in centres]
    centre_distances: Floats = np.stack(columns, axis=-1)
    if form == "distance":
        return centre_distances
    nearest_first = np.argsort(centre_distances, axis=-1, kind="stable")
    ranks: Floats = np.argsort(nearest_first, axis=-1).astype(np.float64) + 1
    ranks[np.isnan(centre_distances)] = np.nan
    is_nearest: Floats = (ranks == 1).astype(np.float64)
    return is_nearest if form == "label" else ranks


def topic_words(
    texts: Sequence[str], members: NDArray[np.int64], counts: NDArray[np.int64]
) -> list[list[str]]:
    """The words that distinguish each cluster from the others, by c-TF-IDF (Grootendorst, 2022).

    The weight of a word in a cluster is its frequency there times log(1 + A / f), where A is the
    mean number of words per cluster and f the word's frequency in all clusters.

    `members`: [m] the cluster of each text, no cluster empty; `counts`: [m] occurrences of each
    text. Gives, by cluster, at most `WORDS` of `content_words`, by falling weight, then
    alphabetically; none where no text has any.
    """
    words = [content_words(text) for text in texts]
    lengths = [len(of_text) for of_text in words]
    clusters = int(members.max()) + 1
    occurrences = np.array([*chain(*words)], dtype=object)
    columns, vocabulary = pd.factorize(occurrences, sort=True)
    if not len(vocabulary):
        return [[] for _ in range(clusters)]
    table = np.zeros((clusters, len(vocabulary)))
    rows = np.repeat(members, lengths)
    np.add.at(table, (rows, columns), np.repeat(counts, lengths))
    words_per_cluster = table.sum() / clusters
    weights = table * np.log1p(words_per_cluster / table.sum(axis=0))
    # Rounded, so that ties stay ties.
    ranking = np.argsort(-weights.round(9), axis=1, kind="stable")
    topics: list[list[str]] = []
    for best, cluster_weights in zip(ranking[:, :WORDS], weights, strict=True):
        topics.append([vocabulary[i] for i in best if cluster_weights[i] > 0])
    return topics


def content_words(text: str) -> list[str]:
    """Words of a text in lower case, without possessive ending; no stop words, negated verbs or
    single letters.
    """
    from spacy.lang.en.stop_words import STOP_WORDS

    lower_text = text.translate(_APOSTROPHES).lower()
    words = (_ENDING.sub("", word) for word in _WORD.findall(lower_text))
    return [
        word
        for word in words
        if len(word) > 1 and not word.endswith("n't") and word not in STOP_WORDS
    ]


NO_NUMBER = "no number in what the scorer said"
OUTSIDE = "the number of the scorer lies outside its range"
OTHER_SCALE = "the scorer answered on a scale of its own"
NO_REPLY = "the scorer gave no reply"
"""Reasons why there is no number."""

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_READ = re.compile(
    r"(?:(?:(?:the|my)\s+)?(?:score|rating|answer|number)\s*(?:is|:|=|\s)\s*)?"
    rf"(?P<number>{_NUMBER})(?:\s*(?:/|out\s+of)\s*(?P<most>{_NUMBER}))?\.?",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_`\"'()\[\]\u201c\u201d\u2018\u2019]+")


def fill_question(question: str, generation: str, baseline: str) -> str:
    """The question with its placeholders filled in; placeholders inside the texts themselves stay
    as they are.
    """
    texts = dict(zip(SCORED, (generation, baseline), strict=True))
    placeholders = "|".join(map(re.escape, SCORED))
    return re.sub(placeholders, lambda match: texts[match.group()], question)


def parse_score(reply: str | None, low: float, high: float) -> float | str:
    """The number in a scorer's reply, or the reason why there is none.

    The first line that is not blank must be one number; it may be labelled (as score or rating),
    end with a full stop, and give a maximum, which must equal `high`. Ranges, two numbers and
    percentages are refused.

    `reply`: None where a server gave nothing. `low`, `high`: the valid range, ends included.
    """
    if reply is None:
        return NO_REPLY
    line = next((line for line in reply.splitlines() if line.strip()), "")
    bare_line = _MARKS.sub("", line).replace("\u2212", "-").strip()
    match = _READ.fullmatch(bare_line)
    if match is None:
        return NO_NUMBER
    value = float(match["number"])
    if match["most"] is not None and float(match["most"]) != high:
        return OTHER_SCALE
    return value if low <= value <= high else OUTSIDE


Places = NDArray[
    np.int64
]  # indices of distinct texts; `EMPTY` for an empty text, `NONE` for a missing one

EMPTY, NONE, UNPAIRED = -1, -2, -3
"""`UNPAIRED`: a scorer lacks the baseline that its question includes. All index from the end
(`_taken`)."""

UNCOMPARED = "no baseline"  # the reason where a prompt has no baseline
Reasons = NDArray[np.object_]  # why a number is missing, empty where it is not
NEW_TOKENS = 16  # token limit of a scorer's reply, enough for a number


class ToolAnswers:
    """Answers of the tools, looked up by text; all were requested before (`requests`)."""

    def __init__(self, answers: Tables, embedder: str | None) -> None:
        """Take the answers of the tools, and the embedder of features that name none."""
        self._answers, self._embedder = answers, embedder

    def labels(self, classifier: str) -> list[str]:
        """The labels of a classifier; empty where it was not asked."""
        labels_by_text = self._answers_by_text("classifications", classifier, "labels")
        labels = next(iter(labels_by_text.values()), ())
        return [str(label) for label in labels]

    def probabilities(self, classifier: str, texts: Sequence[str]) -> Floats:
        """[texts, labels] probabilities by a classifier; NaN where a text is too long."""
        probabilities_by_text = self._answers_by_text(
            "classifications", classifier, "probabilities"
        )
        return np.array([probabilities_by_text[text] for text in texts], dtype=np.float64)

    def vectors(self, embedder: str | None, texts: Sequence[str]) -> NDArray[np.float32]:
        """[texts, dimensions] embeddings, by the default embedder where none is named."""
        vector_by_text = self._answers_by_text(
            "embeddings", embedder or str(self._embedder), "vector"
        )
        return np.array([vector_by_text[text] for text in texts], dtype=np.float32)

    def replies(self, scorer: str, prompts: Sequence[str]) -> list[str | None]:
        """A scorer's reply to each prompt, None where a server gave none."""
        reply_by_prompt = self._answers_by_text("scored", scorer, "reply", text_column="prompt")
        scorer_replies = [reply_by_prompt[prompt] for prompt in prompts]
        return [None if pd.isna(reply) else str(reply) for reply in scorer_replies]

    def _answers_by_text(
        self, table: str, tool: str, answer: str, text_column: str = "text"
    ) -> dict[str, Any]:
        """One tool's column `answer` of a table of answers, by the text or prompt that it was
        asked.
        """
        table_answers = self._answers[table]
        tool_answers = table_answers[table_answers["tool"] == tool]
        return dict(zip(tool_answers[text_column], tool_answers[answer], strict=True))


TOO_LONG = "longer than the model takes"
ANOTHER_LANGUAGE = "in another language"
NO_DIRECTION = "its embedding has no direction"


@dataclass(frozen=True)
class ReplyTexts:
    """Replies with their baselines."""

    frame: (
        pd.DataFrame
    )  # n rows: the columns that identify a reply, with domain and concept of its prompt
    texts: list[str]  # the distinct non-empty texts of replies and baselines, sorted
    reply: Places  # [n] place of its text
    baseline: Places  # [n] place of its text
    masked: list[str]  # the same texts without the names of concepts
    foreign: NDArray[np.bool_]
    """[texts] whether a text is in another language than the prompts, so that most tools would
    misread it."""
    cached_embeddings: dict[tuple[str | None, bool], Floats] = field(default_factory=dict)
    """Cached embeddings of the texts, by embedder and whether names are masked."""

    def read(self, feature: Feature) -> list[str]:
        """The texts as a feature reads them: masked or not."""
        return self.masked if feature.mask else self.texts

    def embeddings(self, models: ToolAnswers, feature: Feature) -> Floats:
        """[texts, dimensions] embeddings of the texts as a feature reads them, cached."""
        key = (feature.model, feature.mask)
        if key not in self.cached_embeddings:
            vectors: NDArray[Any] = np.zeros((0, 1))
            if self.texts:
                vectors = models.vectors(feature.model, self.read(feature))
            self.cached_embeddings[key] = np.asarray(vectors, dtype=np.float64)
        return self.cached_embeddings[key]


@dataclass(frozen=True)
class FeatureColumn:
    """The values of one feature for some replies."""

    feature: str
    rows: NDArray[np.int32]  # indices of the replies
    value: Floats
    baseline: Floats
    reason: pd.Categorical  # why a number is missing, null where it is not
    topic: dict[str, object] | None = None  # of a cluster, by `schemas.TOPICS`


def measure_feature(
    name: str, feature: Feature, models: ToolAnswers, replies: ReplyTexts
) -> list[FeatureColumn]:
    """The values of a feature from the tools' answers: one column, or one per cluster for kind
    `clusters`.
    """
    return _MEASURE[feature.kind](name, feature, models, replies)


def _feature_column(
    feature: str,
    value: Floats,
    baseline: Floats | float,
    reason: Reasons,
    rows: Places | None = None,
    topic: dict[str, object] | None = None,
) -> FeatureColumn:
    """A column over all replies, or over `rows`; a single baseline is broadcast."""
    whose = np.arange(len(value)) if rows is None else rows
    whys = pd.Categorical(pd.Series(reason, dtype=object).where(reason != "", None))
    return FeatureColumn(
        feature, whose.astype(np.int32), value, np.broadcast_to(baseline, value.shape), whys, topic
    )


def _of_texts(
    name: str, feature: Feature, replies: ReplyTexts, numbers: Floats, lacking: str
) -> list[FeatureColumn]:
    """A feature of single texts. `numbers`: by text, NaN where the tool failed; `lacking`: the
    reason for that.
    """
    whys = np.full(len(replies.texts), lacking, dtype=object)
    if not feature.multilingual:
        numbers = np.where(replies.foreign, np.nan, numbers)
        whys[replies.foreign] = ANOTHER_LANGUAGE
    return _paired_columns(name, numbers, whys, replies.reply, replies.baseline)


def _paired_columns(
    name: str, numbers: Floats, lacking: Reasons, reply: Places, baseline: Places
) -> list[FeatureColumn]:
    """A feature of replies and baselines, from numbers, the reasons where they are NaN, and indices
    into both.
    """
    value, of_reply = _take_numbers("reply", numbers, lacking, reply)
    of_text, of_baseline = _take_numbers("baseline", numbers, lacking, baseline)
    return [_feature_column(name, value, of_text, _join_reasons(of_reply, of_baseline))]


def _take_numbers(
    what: str, numbers: Floats, lacking: Reasons, places: Places
) -> tuple[Floats, Reasons]:
    """[n] the number at each index, and the reason where there is none."""
    is_lacking = np.isnan(numbers) & (lacking != "")
    whys = np.where(is_lacking, f"{what}: " + lacking, "")
    absent = ["", f"no {what}", f"empty {what}"]  # `UNPAIRED`, `NONE`, `EMPTY`
    all_numbers = np.append(numbers, [np.nan] * 3)
    all_whys = np.append(whys, np.array(absent, dtype=object))
    return all_numbers[places], all_whys[places]


def _join_reasons(first: Reasons, second: Reasons) -> Reasons:
    """[n] both reasons, joined by "; " where they differ; empty where both are."""
    both = (first != "") & (second != "") & (first != second)
    either = np.where(first != "", first, second)
    return np.where(both, first + "; " + second, either)


def _lexicon_columns(
    name: str, feature: Feature, models: ToolAnswers, replies: ReplyTexts
) -> list[FeatureColumn]:
    """VADER's sentiment of replies and baselines, -1 (negative) to 1, as one column."""
    numbers = vader_scores(replies.read(feature))
    return _of_texts(name, feature, replies, numbers, "")


def _classifier_columns(
    name: str, feature: Feature, models: ToolAnswers, replies: ReplyTexts
) -> list[FeatureColumn]:
    """The label probabilities of a classifier, weighted and summed, plus the offset, as one column;
    missing where a text is too long for it.
    """
    numbers, model = np.zeros(0), str(feature.model)
    if replies.texts:  # else nothing was asked, and the labels are unknown
        weights = np.array(feature.weights(name, models.labels(model)), dtype=np.float64)
        probabilities = models.probabilities(model, replies.read(feature))
        numbers = probabilities @ weights + feature.offset
    return _of_texts(name, feature, replies, numbers, TOO_LONG)


def _distance_columns(
    name: str, feature: Feature, models: ToolAnswers, replies: ReplyTexts
) -> list[FeatureColumn]:
    """The distance between the embeddings of each reply and its baseline, by the feature's metric,
    as one column without baselines.
    """
    points = replies.embeddings(models, feature)
    there = (replies.reply >= 0) & (replies.baseline >= 0)
    value = np.full(len(there), np.nan)
    of_replies = points[replies.reply[there]]
    of_baselines = points[replies.baseline[there]]
    value[there] = distances(of_replies, of_baselines, feature.metric or "cosine")
    numbers = np.zeros(len(points))
    lacking = np.full(len(points), "", dtype=object)
    _, of_reply = _take_numbers("reply", numbers, lacking, replies.reply)
    _, of_baseline = _take_numbers("baseline", numbers, lacking, replies.baseline)
    absent = _join_reasons(of_reply, of_baseline)
    reason = np.where(there & np.isnan(value), NO_DIRECTION, absent)
    return [_feature_column(name, value, np.nan, reason)]


def _cluster_columns(
    name: str, feature: Feature, models: ToolAnswers, replies: ReplyTexts
) -> list[FeatureColumn]:
    """A column for each cluster of replies, with its topic; replies of one domain, model and value
    of the columns of `by` are clustered together.
    """
    columns: list[FeatureColumn] = []
    by = sorted(feature.by or [])
    grouped = replies.frame.groupby(["domain", "model", *by], sort=True)
    parts: dict[Any, Any] = grouped.groups
    for part, rows in parts.items():
        domain, model, *values = map(str, part)
        conditions = [f"{column}={value}" for column, value in zip(by, values, strict=True)]
        apart = ", ".join(conditions) or "all"
        about: dict[str, object] = {"domain": domain, "model": model, "part": apart}
        part_name = "-".join([name, *values])
        columns += _cluster_part(part_name, about, feature, models, replies, rows.to_numpy())
    return columns


def _cluster_part(
    name: str,
    about: dict[str, object],
    feature: Feature,
    models: ToolAnswers,
    replies: ReplyTexts,
    rows: Places,
) -> Iterator[FeatureColumn]:
    """One column per cluster of the replies that are clustered together."""
    k, reply_places = feature.k or 2, replies.reply[rows]
    has_text = reply_places >= 0
    framings = replies.frame["framing"].to_numpy()[rows]
    bare = (framings == BARE) & has_text
    clustered = bare if bare.any() else has_text
    places, counts = np.unique(reply_places[clustered], return_counts=True)
    numbers = np.full((len(rows), k), np.nan)
    topics: list[dict[str, object]] = []
    if len(places):
        texts = [replies.read(feature)[place] for place in places]
        embeddings = replies.embeddings(models, feature)
        clustering = cluster_texts(texts, embeddings[places], counts, k, feature.seed or 0)
        form, metric = feature.form or "label", feature.metric or "cosine"
        numbers[has_text, : len(clustering.sizes)] = cluster_positions(
            embeddings[reply_places[has_text]], clustering.centres, form, metric
        )
        words = topic_words(texts, clustering.members, counts)
        topics = [
            {"words": telling, "n": int(n)}
            for telling, n in zip(words, clustering.sizes, strict=True)
        ]
    lacking = [
        *[NO_DIRECTION] * len(topics),
        *[f"only {len(topics)} clusters of distinct replies"] * k,
    ]
    absent_reasons = np.array(["no reply", "empty reply"], dtype=object)
    absent = absent_reasons[np.minimum(reply_places, EMPTY)]
    for i, value in enumerate(numbers.T):
        cluster_name = f"{name}-{i}"
        unmeasured = np.where(np.isnan(value), f"reply: {lacking[i]}", "")
        reason = np.where(has_text, unmeasured, absent)
        topic: dict[str, object] | None = None
        if i < len(topics):
            topic = about | {"feature": cluster_name, "cluster": i} | topics[i]
        yield _feature_column(cluster_name, value, np.nan, reason, rows, topic)


def _scorer_columns(
    name: str, feature: Feature, models: ToolAnswers, replies: ReplyTexts
) -> list[FeatureColumn]:
    """The number that a scorer gave each reply and baseline, as one column; missing where it gave
    none from `low` to `high`.
    """
    questions, places = scorer_prompts(feature, replies)
    low = float(feature.low or 0)
    high = float(feature.high or 0)
    scorer_replies = models.replies(str(feature.model), questions)
    scores = [parse_score(reply, low, high) for reply in scorer_replies]
    values = [np.nan if isinstance(score, str) else score for score in scores]
    reasons = [score if isinstance(score, str) else "" for score in scores]
    numbers = np.array(values, dtype=np.float64)
    lacking = np.array(reasons, dtype=object)
    return _paired_columns(name, numbers, lacking, *np.split(places, 2))


def scorer_prompts(feature: Feature, replies: ReplyTexts) -> tuple[list[str], Places]:
    """The distinct questions to a feature's scorer; and the question's index for each reply, then
    each baseline.
    """
    question, texts = str(feature.question), replies.read(feature)
    scored = np.concatenate([replies.reply, replies.baseline])
    contexts = np.tile(replies.baseline, 2) if SCORED[1] in question else scored
    there = (scored >= 0) & (contexts >= 0)
    paired = np.stack([scored, contexts])[:, there]
    pairs, of_pairs = np.unique(paired, axis=1, return_inverse=True)
    places = np.where(scored < 0, scored, UNPAIRED)
    places[there] = of_pairs
    questions = [fill_question(question, texts[text], texts[context]) for text, context in pairs.T]
    return questions, places


_MeasureFunction = Callable[[str, Feature, ToolAnswers, ReplyTexts], list[FeatureColumn]]

_MEASURE: Mapping[str, _MeasureFunction] = {
    "lexicon": _lexicon_columns,
    "classifier": _classifier_columns,
    "distance": _distance_columns,
    "clusters": _cluster_columns,
    "scorer": _scorer_columns,
}
"""The function that computes each kind of feature."""

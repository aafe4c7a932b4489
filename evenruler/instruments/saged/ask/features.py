"""What is measured of replies: each kind of feature, and the tools that it asks.

Clusters are of k-means on embeddings of replies, with topic words (SAGED, sections 3.2 and A.3).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged.declare.settings import SCORED, Feature
from evenruler.measurement.checks import Floats
from evenruler.models.records import Embedder
from evenruler.tables.schemas import BARE
from evenruler.text.pipeline import compound

Metric = Literal["cosine", "l2"]
Form = Literal["label", "sort", "distance"]

WORDS = 10
"""Words of a topic at most."""

_STARTS = 10
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))
_ENDING = re.compile(r"(?<=\w)'(s|re|ve|ll|d|m)?\Z")


@dataclass(frozen=True)
class Clusters:
    """Clusters of texts, the largest first; of equally large ones that whose first text comes first."""

    centres: Floats
    """[c, dimensions] mean of the embeddings of each."""
    sizes: NDArray[np.int64]
    """[c] how often their texts occur."""
    members: NDArray[np.int64]
    """[m] the cluster of each text that was clustered."""


def cluster(texts: Sequence[str], embeddings: Floats, counts: NDArray[np.int64], k: int, seed: int) -> Clusters:
    """Cluster distinct texts, at least one, by k-means, each weighing as much as it occurs; no cluster is empty.

    `embeddings`: [m, dimensions]; `counts`: [m] how often each occurs; fewer than `k` where there are fewer distinct
    texts, or embeddings. The order of texts does not matter.
    """
    from sklearn.cluster import KMeans  # takes seconds, which everything else need not wait for

    order = np.array(sorted(range(len(texts)), key=texts.__getitem__))
    points = np.asarray(embeddings, dtype=np.float64)[order]
    weights = counts[order].astype(np.float64)
    few = min(k, len(np.unique(points, axis=0)))
    fitted = KMeans(few, n_init=_STARTS, random_state=seed, tol=0).fit(points, sample_weight=weights)
    onto = np.eye(few)[fitted.labels_]
    sizes = weights @ onto
    centres = (onto * weights[:, None]).T @ points / sizes[:, None]
    # The texts are in order, so the first of a cluster's is where it first occurs.
    ranking = np.lexsort((onto.argmax(axis=0), -sizes))
    members = np.empty(len(texts), dtype=np.int64)
    members[order] = np.argsort(ranking)[fitted.labels_]
    return Clusters(centres[ranking], sizes[ranking].astype(np.int64), members)


def distances(embeddings: Floats, centres: Floats, metric: Metric) -> Floats:
    """How far embeddings are from points: [..., dimensions] both, or one that is broadcast to the other.

    Returns:
        float64[...]. `cosine`: 1 minus the cosine, from 0 to 2, NaN where one is zero and has no direction; `l2`: from
        0 on.
    """
    a, b = np.asarray(embeddings, dtype=np.float64), np.asarray(centres, dtype=np.float64)
    if metric == "l2":
        apart: Floats = np.linalg.norm(a - b, axis=-1)
        return apart
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    inner = np.einsum("...i,...i->...", a, b)
    cosines = np.divide(inner, lengths, out=np.full(lengths.shape, np.nan), where=lengths > 0)
    found: Floats = 1 - np.clip(cosines, -1, 1)
    return found


def placed(embeddings: Floats, centres: Floats, form: Form, metric: Metric) -> Floats:
    """Where embeddings lie among clusters.

    Args:
        embeddings: [n, dimensions].
        centres: [c, dimensions].
        form: `label`: 1 for the cluster whose centre is nearest by l2 (that of k-means), 0 for the others; `sort`: 1
            for the nearest by the metric, 2 for the next and so on; `distance`: how far the centre is by the metric.
            Of equally near ones the larger cluster comes first.
        metric: Does not matter for `label`.

    Returns:
        float64[n, c].
    """
    by = [distances(embeddings, centre, "l2" if form == "label" else metric) for centre in centres]
    found: Floats = np.stack(by, axis=-1)
    if form == "distance":
        return found
    ranks = np.argsort(np.argsort(found, axis=-1, kind="stable"), axis=-1).astype(np.float64) + 1
    ranks[np.isnan(found)] = np.nan
    return (ranks == 1).astype(np.float64) if form == "label" else ranks


def topic_words(texts: Sequence[str], members: NDArray[np.int64], counts: NDArray[np.int64]) -> list[list[str]]:
    """The words that tell each cluster from the others, by c-TF-IDF (Grootendorst, 2022).

    The weight of a word in a cluster is its frequency there times log(1 + A / f), A words a cluster on average, f the
    word's frequency in all clusters.

    Args:
        texts: m texts.
        members: [m] their clusters, none without a text.
        counts: [m] how often each occurs.

    Returns:
        By cluster: at most `WORDS` of them, the weightiest first, equally weighty ones by the alphabet; lower case,
        without possessive ending, stop words and single letters left out. None where no text has a word that counts.
    """
    from scipy.sparse import csr_array

    words = [content_words(text) for text in texts]
    vocabulary = sorted({word for of_text in words for word in of_text})
    clusters = int(members.max()) + 1
    if not vocabulary:
        return [[] for _ in range(clusters)]
    place = {word: i for i, word in enumerate(vocabulary)}
    columns = [place[word] for of_text in words for word in of_text]
    lengths = [len(of_text) for of_text in words]
    table = csr_array(
        (np.repeat(counts, lengths).astype(np.float64), (np.repeat(members, lengths), columns)),
        shape=(clusters, len(vocabulary)),
    ).toarray()
    weights = table * np.log1p(table.sum() / clusters / table.sum(axis=0))
    best = np.argsort(-weights.round(9), axis=1, kind="stable")[:, :WORDS]  # so that rounding breaks no tie
    return [[vocabulary[i] for i in row if own[i] > 0] for row, own in zip(best, weights, strict=True)]


def content_words(text: str) -> list[str]:
    """Words of a text in lower case, without possessive ending; no stop words, negated verbs or single letters."""
    from spacy.lang.en.stop_words import STOP_WORDS

    words = (_ENDING.sub("", word) for word in _WORD.findall(text.translate(_APOSTROPHES).lower()))
    return [word for word in words if len(word) > 1 and not word.endswith("n't") and word not in STOP_WORDS]


NO_NUMBER = "no number in what the scorer said"
OUTSIDE = "the number of the scorer lies outside its range"
OTHER_SCALE = "the scorer answered on a scale of its own"
NO_REPLY = "the scorer gave no reply"
"""Why there is no number."""

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_READ = re.compile(
    r"(?:(?:(?:the|my)\s+)?(?:score|rating|answer|number)\s*(?:is|:|=|\s)\s*)?"
    rf"(?P<number>{_NUMBER})(?:\s*(?:/|out\s+of)\s*(?P<most>{_NUMBER}))?\.?",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_`\"'()\[\]\u201c\u201d\u2018\u2019]+")


@dataclass(frozen=True)
class Score:
    """What a scorer said of one text."""

    value: float | None
    reason: str | None = None
    """Why there is no value."""


def asked(question: str, generation: str, baseline: str) -> str:
    """A scorer's question about a reply; placeholders in the texts themselves stay as they are."""
    texts = dict(zip(SCORED, (generation, baseline), strict=True))
    return re.sub("|".join(map(re.escape, SCORED)), lambda found: texts[found.group()], question)


def parsed(reply: str | None, low: float, high: float) -> Score:
    """The number in a scorer's reply: its first line that is not blank is a number and nothing else.

    The number may be called a score or rating, may end with a full stop, and may say out of how much, which must then
    be `high`. Nothing else is guessed: a range, two numbers, a sentence or a percentage is no number.

    Args:
        reply: What the model wrote; None where a server gave nothing.
        low: The least number that counts.
        high: The largest.
    """
    if reply is None:
        return Score(None, NO_REPLY)
    line = next((line for line in reply.splitlines() if line.strip()), "")
    found = _READ.fullmatch(_MARKS.sub("", line).replace("\u2212", "-").strip())
    if found is None:
        return Score(None, NO_NUMBER)
    value = float(found["number"])
    if found["most"] is not None and float(found["most"]) != high:
        return Score(None, OTHER_SCALE)
    return Score(value) if low <= value <= high else Score(None, OUTSIDE)


Places = NDArray[np.int64]
"""Which of the distinct texts; `EMPTY` where it says nothing, `NONE` where there is none."""

EMPTY, NONE = -1, -2

UNCOMPARED = "no baseline"
"""Why the number of a baseline is null where a prompt has none."""

Reasons = NDArray[np.str_]
"""Why a number is missing, empty where it is not."""

Ask = Callable[[Sequence[str]], Sequence[str | None]]
"""A language model: its reply to each of n prompts, None where a server gave none."""

NEW_TOKENS = 16
"""A scorer's reply at most: a number needs no more."""


class Answered:
    """The tools' answers, looked up by text: everything was asked before (`requests`)."""

    def __init__(self, answers: Tables, embedder: str | None) -> None:
        """Take the answers of tools, and the embedder that is taken where a feature names none."""
        self._answers, self._embedder = answers, embedder

    def classifier(self, name: str) -> "_Classified":
        """What a classifier said of texts."""
        return _Classified(self._of("classifications", name))

    def embedder(self, name: str | None) -> Embedder:
        """The embeddings of texts, by the usual embedder where none is named."""
        own = name or str(self._embedder)
        return _Embedded(own, self._of("embeddings", own))

    def scorer(self, name: str) -> Ask:
        """A model's likeliest reply to each prompt."""
        own = self._of("scored", name)
        said = dict(zip(own["prompt"], own["reply"], strict=True))
        return lambda prompts: [None if pd.isna(said[prompt]) else str(said[prompt]) for prompt in prompts]

    def _of(self, table: str, tool: str) -> pd.DataFrame:
        return self._answers[table][self._answers[table]["tool"] == tool]


class _Classified:
    def __init__(self, rows: pd.DataFrame) -> None:
        self.labels: list[str] = [str(label) for label in rows["labels"].iloc[0]] if len(rows) else []
        self._known = dict(zip(rows["text"], rows["probabilities"], strict=True))

    def probabilities(self, texts: Sequence[str]) -> Floats:
        found: Floats = np.array([self._known[text] for text in texts], dtype=np.float64)
        return found.reshape(len(texts), len(self.labels))


class _Embedded:
    def __init__(self, name: str, rows: pd.DataFrame) -> None:
        self.name = name
        self._known = dict(zip(rows["text"], rows["vector"], strict=True))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._known[text] for text in texts], dtype=np.float32)


TOO_LONG = "longer than the model takes"
ANOTHER_LANGUAGE = "in another language"
NO_DIRECTION = "its embedding has no direction"


@dataclass(frozen=True)
class Replies:
    """Replies with their baselines."""

    frame: pd.DataFrame
    """What tells n replies apart, with domain and concept of their prompts."""
    texts: list[str]
    """The distinct ones of replies and baselines that are not empty, in order."""
    reply: Places
    """[n]"""
    baseline: Places
    """[n]"""
    masked: list[str]
    """The same texts without the names of concepts (`masking`)."""
    foreign: NDArray[np.bool_]
    """[texts] which are in another language than the prompts, so that most tools misread them."""
    known: dict[tuple[str, bool], Floats] = field(default_factory=dict)
    """Embeddings of the texts, by embedder, and whether they are masked."""

    def read(self, feature: Feature) -> list[str]:
        """The texts as a feature reads them."""
        return self.masked if feature.mask else self.texts

    def embeddings(self, embedder: Embedder, feature: Feature) -> Floats:
        """[texts, dimensions] of each distinct text as a feature reads it, embedded once."""
        key = (embedder.name, feature.mask)
        if key not in self.known:
            found = embedder.embed(self.read(feature)) if self.texts else np.zeros((0, 1))
            self.known[key] = np.asarray(found, dtype=np.float64)
        return self.known[key]


@dataclass(frozen=True)
class Column:
    """One feature of some replies."""

    feature: str
    rows: NDArray[np.int32]
    """Which of the replies."""
    value: Floats
    baseline: Floats
    reason: pd.Categorical
    """Why a number is missing, null where it is not."""


def _column(
    feature: str, value: Floats, baseline: Floats | float, reason: Reasons, rows: Places | None = None
) -> Column:
    """Of all replies, unless some are given; one baseline is that of all."""
    whose = np.arange(len(value)) if rows is None else rows
    whys = pd.Categorical(pd.Series(reason, dtype=object).where(reason != "", None))
    return Column(feature, whose.astype(np.int32), value, np.broadcast_to(baseline, value.shape), whys)


@dataclass(frozen=True)
class Measured:
    """What one entry of params gives: a feature, or as many as there are clusters, with their topics."""

    columns: list[Column]
    topics: list[dict[str, object]] = field(default_factory=list)


def measured(name: str, feature: Feature, models: Answered, replies: Replies) -> Measured:
    """What a feature says of replies, by what its models said."""
    return _MEASURE[feature.kind](name, feature, models, replies)


def _of_texts(name: str, feature: Feature, replies: Replies, numbers: Floats, lacking: str) -> Measured:
    """A feature of single texts: the number of each, NaN for what the tool cannot take."""
    whys = np.full(len(replies.texts), lacking, dtype=object)
    if not feature.multilingual:
        numbers, whys[replies.foreign] = np.where(replies.foreign, np.nan, numbers), ANOTHER_LANGUAGE
    value, baseline = (_taken(numbers, places, np.nan) for places in (replies.reply, replies.baseline))
    of_reply, of_baseline = (_taken(whys, places, "").astype(str) for places in (replies.reply, replies.baseline))
    return _beside(name, replies, value, baseline, of_reply, of_baseline)


def _beside(
    name: str, replies: Replies, value: Floats, baseline: Floats, of_reply: Reasons, of_baseline: Reasons
) -> Measured:
    """A feature of replies and of their baselines, and why either number is missing."""
    whys = _why("reply", replies.reply, value, of_reply), _why("baseline", replies.baseline, baseline, of_baseline)
    return Measured([_column(name, value, baseline, _joined(*whys))])


def _taken(of_texts: NDArray[Any], places: Places, without: object) -> NDArray[Any]:
    """[n] what is known of each text; something else of an empty one."""
    found = np.full(len(places), without, dtype=of_texts.dtype)
    found[places >= 0] = of_texts[places[places >= 0]]
    return found


def _why(what: str, places: Places, numbers: Floats, lacking: Reasons | str) -> Reasons:
    said = np.strings.add(f"{what}: ", lacking)
    unmeasured = np.isnan(numbers) & (np.asarray(lacking) != "")
    return np.where(places < 0, _absent(what, places), np.where(unmeasured, said, ""))


def _absent(what: str, places: Places) -> Reasons:
    """Why there is nothing to measure, empty where there is."""
    return np.select([places == EMPTY, places == NONE], [f"empty {what}", f"no {what}"], default="")


def _joined(first: Reasons, second: Reasons) -> Reasons:
    both = (first != "") & (second != "") & (first != second)
    together = np.strings.add(np.strings.add(first, "; "), second)
    return np.where(both, together, np.where(first != "", first, second))


def _classifier(name: str, feature: Feature, models: Answered, replies: Replies) -> Measured:
    if not replies.texts:  # nothing was asked, so that the labels are not known
        return _of_texts(name, feature, replies, np.zeros(0), TOO_LONG)
    classifier = models.classifier(str(feature.model))
    weights = np.array(feature.weights(name, classifier.labels), dtype=np.float64)
    numbers = classifier.probabilities(replies.read(feature)) @ weights + feature.offset
    return _of_texts(name, feature, replies, numbers, TOO_LONG)


def _distance(name: str, feature: Feature, models: Answered, replies: Replies) -> Measured:
    points = replies.embeddings(models.embedder(feature.model), feature)
    there = (replies.reply >= 0) & (replies.baseline >= 0)
    value = np.full(len(there), np.nan)
    of_replies, of_baselines = points[replies.reply[there]], points[replies.baseline[there]]
    value[there] = distances(of_replies, of_baselines, feature.metric or "cosine")
    reason = _joined(_absent("reply", replies.reply), _absent("baseline", replies.baseline))
    reason = np.where(there & np.isnan(value), NO_DIRECTION, reason)
    return Measured([_column(name, value, np.nan, reason)])


def _clusters(name: str, feature: Feature, models: Answered, replies: Replies) -> Measured:
    embedder = models.embedder(feature.model)
    found, by = Measured([]), sorted(feature.by or [])
    parts: dict[Any, Any] = replies.frame.groupby(["domain", "model", *by], sort=True).groups
    for part, rows in parts.items():
        domain, model, *values = map(str, part)
        apart = ", ".join(f"{column}={value}" for column, value in zip(by, values, strict=True)) or "all"
        columns, topics = _part("-".join([name, *values]), feature, replies, rows.to_numpy(), embedder)
        found.columns.extend(columns)
        found.topics.extend({"domain": domain, "model": model, "part": apart} | topic for topic in topics)
    return found


def _part(
    name: str, feature: Feature, replies: Replies, rows: Places, embedder: Embedder
) -> tuple[list[Column], list[dict[str, object]]]:
    """A feature a cluster of the replies that are clustered together, and their topics."""
    k, own = feature.k or 2, replies.reply[rows]
    bare = (replies.frame["framing"].to_numpy()[rows] == BARE) & (own >= 0)
    places, counts = np.unique(own[bare if bare.any() else own >= 0], return_counts=True)
    numbers, topics = np.full((len(rows), k), np.nan), []
    if len(places):
        texts = [replies.read(feature)[place] for place in places]
        embeddings = replies.embeddings(embedder, feature)
        found = cluster(texts, embeddings[places], counts, k, feature.seed or 0)
        points = embeddings[own[own >= 0]]
        form, metric = feature.form or "label", feature.metric or "cosine"
        numbers[own >= 0, : len(found.sizes)] = placed(points, found.centres, form, metric)
        words = topic_words(texts, found.members, counts)
        topics = [
            {"feature": f"{name}-{i}", "cluster": i, "words": of_topic, "n": int(n)}
            for i, (of_topic, n) in enumerate(zip(words, found.sizes, strict=True))
        ]
    few = f"only {len(topics)} clusters of distinct replies"
    columns = []
    for i, value in enumerate(numbers.T):
        reason = _why("reply", own, value, NO_DIRECTION if i < len(topics) else few)
        columns.append(_column(f"{name}-{i}", value, np.nan, reason, rows))
    return columns, topics


def _scorer(name: str, feature: Feature, models: Answered, replies: Replies) -> Measured:
    pairs, places, there = _scored(feature, replies)
    low, high = float(feature.low or 0), float(feature.high or 0)
    said = models.scorer(str(feature.model))(_questions(feature, replies, pairs))
    scores = [parsed(reply, low, high) for reply in said]
    numbers, lacking = np.full(len(there), np.nan), np.full(len(there), "", dtype=object)
    numbers[there] = np.array([score.value for score in scores], dtype=np.float64)[places]
    lacking[there] = np.array([score.reason or "" for score in scores], dtype=object)[places]
    (value, baseline), (of_reply, of_baseline) = np.split(numbers, 2), np.split(lacking.astype(str), 2)
    return _beside(name, replies, value, baseline, of_reply, of_baseline)


def scorer_prompts(feature: Feature, replies: Replies) -> list[str]:
    """What the scorer of a feature is asked about replies and baselines, each question once."""
    return _questions(feature, replies, _scored(feature, replies)[0])


def _scored(feature: Feature, replies: Replies) -> tuple[Places, Places, NDArray[np.bool_]]:
    """[2, pairs] the distinct texts that are scored and what stands beside them, the pair of each, and where one is."""
    scored = np.concatenate([replies.reply, replies.baseline])
    beside = np.tile(replies.baseline, 2) if SCORED[1] in str(feature.question) else scored
    there = (scored >= 0) & (beside >= 0)
    pairs, places = np.unique(np.stack([scored, beside])[:, there], axis=1, return_inverse=True)
    return pairs, places, there


def _questions(feature: Feature, replies: Replies, pairs: Places) -> list[str]:
    texts = replies.read(feature)
    return [asked(str(feature.question), texts[text], texts[context]) for text, context in pairs.T]


_MEASURE: Mapping[str, Callable[[str, Feature, Answered, Replies], Measured]] = {
    "lexicon": lambda name, feature, _, replies: _of_texts(name, feature, replies, compound(replies.read(feature)), ""),
    "classifier": _classifier,
    "distance": _distance,
    "clusters": _clusters,
    "scorer": _scorer,
}
"""By kind of feature."""

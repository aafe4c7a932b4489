"""Cluster features: k-means on embeddings of replies, topic words, and where each reply lies (sections 3.2 and A.3)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenruler.measurement.checks import Floats

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
    words = (_ENDING.sub("", word) for word in _WORD.findall(text.translate(_APOSTROPHES).lower()))
    stop = _stop_words()
    return [word for word in words if len(word) > 1 and not word.endswith("n't") and word not in stop]


@cache
def _stop_words() -> frozenset[str]:
    from spacy.lang.en.stop_words import STOP_WORDS

    return frozenset(STOP_WORDS)

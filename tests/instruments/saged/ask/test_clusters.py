"""Clusters of texts in a plane, where everything can be counted by hand."""

import math
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from evenruler.instruments.saged.ask.features import (
    WORDS,
    cluster_positions,
    cluster_texts,
    content_words,
    distances,
    topic_words,
)
from tests.instruments.near import approx

# Three groups far from one another: two texts about food, one about war, three about music.
TEXTS = ["bread", "cheese", "war", "choir", "drum", "flute"]
POINTS = np.array(
    [
        [0.0, 0.0],
        [0.0, 2.0],
        [50.0, 0.0],
        [0.0, 50.0],
        [3.0, 50.0],
        [0.0, 53.0],
    ]
)
ONCE = np.ones(6, dtype=np.int64)


class TestCluster:
    def test_equals_scikit_learn_on_the_texts_written_out(self) -> None:
        counts = np.array([1, 5, 2, 1, 1, 1])
        clusters = cluster_texts(TEXTS, POINTS, counts, 3, seed=0)
        plain = KMeans(3, n_init=10, random_state=1).fit(np.repeat(POINTS, counts, axis=0))
        assert clusters.sizes.tolist() == [6, 3, 2]
        assert clusters.centres[0] == approx([0, 10 / 6])  # five of the cheese, one of the bread
        centres = np.sort(clusters.centres, axis=0)
        assert centres == approx(np.sort(plain.cluster_centers_, axis=0))

    def test_of_equally_large_clusters_that_with_the_first_text_comes_first(self) -> None:
        points = np.array(
            [
                [0.0, 0.0],
                [9.0, 0.0],
                [0.0, 0.1],
                [9.0, 0.1],
            ]
        )
        for texts, members in (
            ("dbca", [1, 0, 1, 0]),
            ("abcd", [0, 1, 0, 1]),
        ):
            clusters = cluster_texts(list(texts), points, ONCE[:4], 2, seed=3)
            assert clusters.members.tolist() == members

    @given(
        st.permutations(range(6)),
        st.integers(0, 3),
    )
    def test_the_order_of_texts_does_not_matter(self, order, seed) -> None:
        draw = np.random.default_rng(0).normal(size=(6, 4))
        texts = [TEXTS[place] for place in order]
        plain = cluster_texts(TEXTS, draw, ONCE, 3, seed)
        turned = cluster_texts(
            texts,
            draw[order],
            ONCE,
            3,
            seed,
        )
        assert turned.members.tolist() == plain.members[order].tolist()
        assert turned.centres.tolist() == plain.centres.tolist()

    def test_no_more_clusters_than_distinct_embeddings(self) -> None:
        points = np.array([[0, 0], [0, 0], [4, 0]])
        clusters = cluster_texts(TEXTS[:3], points, ONCE[:3], 4, seed=0)
        assert clusters.sizes.tolist() == [2, 1]


class TestDistances:
    def test_of_pairs(self) -> None:
        a = np.array(
            [
                [1.0, 0.0],
                [1.0, 0.0],
                [3.0, 4.0],
                [2.0, 0.0],
            ]
        )
        b = np.array(
            [
                [0.0, 1.0],
                [-2, 0],
                [3, 4],
                [1, 1],
            ]
        )
        root = math.sqrt(2)
        assert distances(a, b, "l2") == approx([root, 3, 0, root])
        assert distances(a, b, "cosine") == approx(
            [1, 2, 0, 1 - root / 2],
        )

    def test_what_is_zero_has_no_direction(self) -> None:
        zero = np.zeros((1, 2))
        assert np.isnan(distances(zero, zero + 1, "cosine")).all()


class TestPlaced:
    CENTRES = np.array([[0.0, 1.0], [4.0, 0.0], [0.0, 9.0]])

    def test_distance(self) -> None:
        points = np.array([[0.0, 0.0], [4.0, 3.0]])
        positions = cluster_positions(points, self.CENTRES, "distance", "l2")
        assert positions == approx(
            np.array(
                [
                    [1, 4, 9],
                    [20**0.5, 3, 52**0.5],
                ]
            )
        )
        ranks = cluster_positions(points, self.CENTRES, "sort", "l2")
        assert ranks.tolist() == [[1, 2, 3], [2, 1, 3]]  # from the nearest

    def test_sort_by_direction_takes_the_larger_of_equally_near_ones_first(self) -> None:
        ranks = cluster_positions(np.array([[0.1, 3.0]]), self.CENTRES, "sort", "cosine")
        assert ranks.tolist() == [[1, 3, 2]]

    @pytest.mark.parametrize("metric", ["l2", "cosine"])
    def test_label_is_the_nearest_centre_whatever_the_metric(self, metric) -> None:
        points = np.array([[0.0, 6.0], [5.0, 5.0], [0.0, 0.0]])
        positions = cluster_positions(points, self.CENTRES, "label", metric)
        assert positions.tolist() == [
            [0, 0, 1],
            [0, 1, 0],
            [1, 0, 0],
        ]


class TestTopicWords:
    def test_weights_are_those_of_the_formula(self) -> None:
        texts = ["wool wool wool tide", "tide tide song", "song wool"]
        members = np.array([0, 1, 1])
        counts = np.array([2, 1, 3])
        # First: wool 6, tide 2; second: tide 2, song 1 + 3, wool 3. A = 17/2; wool 9, tide 4, song
        # 4 in all. Weights: 6 log(1 + 8.5/9) = 3.99, 2 log(1 + 8.5/4) = 2.28; 4 log(1 + 8.5/4) =
        # 4.56, 2.28, 3 log(1 + 8.5/9) = 1.99.
        assert topic_words(texts, members, counts) == [
            ["wool", "tide"],
            ["song", "tide", "wool"],
        ]

    def test_at_most_so_many(self) -> None:
        words = [f"wo{letter}d" for letter in string.ascii_lowercase[: WORDS + 5]]
        text = " ".join(words[::-1])
        assert topic_words(
            [text],
            np.array([0]),
            np.array([1]),
        ) == [words[:WORDS]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Harbour's boats aren't here; it's WOOL, 300 km!", ["harbour", "boats", "wool", "km"]),
        ("fishermen\u2019s wives don\u2019t", ["fishermen", "wives"]),
        ("well-known O'Brien a b x", ["well-known", "o'brien"]),
        ("na\u00efve caf\u00e9 \u6771\u4eac", ["na\u00efve", "caf\u00e9", "\u6771\u4eac"]),
    ],
)
def test_content_words(text, words) -> None:
    assert content_words(text) == words

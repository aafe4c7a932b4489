"""Clusters of texts in a plane, where everything can be counted by hand."""

import math

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

# Three groups far from one another: two texts about food, one about war, three about music.
TEXTS = ["bread", "cheese", "war", "choir", "drum", "flute"]
POINTS = np.array([[0.0, 0.0], [0.0, 2.0], [50.0, 0.0], [0.0, 50.0], [3.0, 50.0], [0.0, 53.0]])
ONCE = np.ones(6, dtype=np.int64)


class TestCluster:
    def test_separable_texts_fall_apart_the_largest_cluster_first(self) -> None:
        found = cluster_texts(TEXTS, POINTS, ONCE, 3, seed=0)
        assert found.members.tolist() == [1, 1, 2, 0, 0, 0]
        assert found.sizes.tolist() == [3, 2, 1]
        assert found.centres == pytest.approx(np.array([[1, 51], [0, 1], [50, 0]]))

    def test_equals_scikit_learn_on_the_texts_written_out(self) -> None:
        counts = np.array([1, 5, 2, 1, 1, 1])
        found = cluster_texts(TEXTS, POINTS, counts, 3, seed=0)
        plain = KMeans(3, n_init=10, random_state=1).fit(np.repeat(POINTS, counts, axis=0))
        assert found.sizes.tolist() == [6, 3, 2]
        assert found.centres[0] == pytest.approx(
            [0, 10 / 6]
        )  # five of the cheese, one of the bread
        assert sorted(found.centres.tolist()) == pytest.approx(
            np.array(sorted(plain.cluster_centers_.tolist()))
        )

    def test_of_equally_large_clusters_that_with_the_first_text_comes_first(self) -> None:
        points = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 0.1], [9.0, 0.1]])
        assert cluster_texts(
            ["d", "b", "c", "a"], points, ONCE[:4], 2, seed=3
        ).members.tolist() == [
            1,
            0,
            1,
            0,
        ]
        assert cluster_texts(
            ["a", "b", "c", "d"], points, ONCE[:4], 2, seed=3
        ).members.tolist() == [
            0,
            1,
            0,
            1,
        ]

    @given(st.permutations(range(6)), st.integers(0, 3))
    def test_the_order_of_texts_does_not_matter(self, order: list[int], seed: int) -> None:
        draw = np.random.default_rng(0).normal(size=(6, 4))
        plain, turned = (
            cluster_texts([TEXTS[i] for i in places], draw[places], ONCE, 3, seed)
            for places in (list(range(6)), order)
        )
        assert turned.members.tolist() == plain.members[order].tolist()
        assert turned.centres.tolist() == plain.centres.tolist()

    def test_a_seed_gives_the_same_clusters_each_time(self) -> None:
        points = np.random.default_rng(1).normal(size=(200, 8))
        texts, counts = [f"{i:03}" for i in range(200)], np.ones(200, dtype=np.int64)
        first, again = (cluster_texts(texts, points, counts, 5, seed=2) for _ in range(2))
        assert first.members.tolist() == again.members.tolist()
        assert (first.centres == again.centres).all()

    @pytest.mark.parametrize(
        ("points", "clusters"),
        [([[0, 0], [1, 0]], 2), ([[0, 0], [0, 0], [4, 0]], 2), ([[3, 1]], 1)],
    )
    def test_no_more_clusters_than_distinct_embeddings(
        self, points: list[list[float]], clusters: int
    ) -> None:
        found = cluster_texts(
            TEXTS[: len(points)], np.array(points), ONCE[: len(points)], 4, seed=0
        )
        assert len(found.sizes) == clusters
        assert found.sizes.sum() == len(points)

    def test_centres_are_the_means_of_their_members(self) -> None:
        points = np.random.default_rng(3).normal(size=(300, 6))
        counts = np.random.default_rng(4).integers(1, 9, 300)
        found = cluster_texts([f"{i:03}" for i in range(300)], points, counts, 7, seed=0)
        for i, centre in enumerate(found.centres):
            own = found.members == i
            assert centre == pytest.approx(np.average(points[own], axis=0, weights=counts[own]))
            assert found.sizes[i] == counts[own].sum()
        assert found.sizes.tolist() == sorted(found.sizes, reverse=True)


class TestDistances:
    def test_of_pairs(self) -> None:
        a, b = (
            np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 4.0], [2.0, 0.0]]),
            np.array([[0.0, 1.0], [-2, 0], [3, 4], [1, 1]]),
        )
        assert distances(a, b, "l2") == pytest.approx([math.sqrt(2), 3, 0, math.sqrt(2)])
        assert distances(a, b, "cosine") == pytest.approx([1, 2, 0, 1 - math.sqrt(0.5)])

    def test_from_one_point(self) -> None:
        assert distances(POINTS[:3], POINTS[0], "l2").tolist() == [0, 2, 50]

    def test_what_is_zero_has_no_direction(self) -> None:
        assert np.isnan(distances(np.zeros((1, 2)), np.ones((1, 2)), "cosine")).all()

    @given(st.integers(0, 1000))
    def test_of_unit_vectors_one_tells_the_other(self, seed: int) -> None:
        a, b = np.random.default_rng(seed).normal(size=(2, 5, 8))
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
        assert distances(a, b, "l2") ** 2 == pytest.approx(2 * distances(a, b, "cosine"))


class TestPlaced:
    CENTRES = np.array([[0.0, 1.0], [4.0, 0.0], [0.0, 9.0]])

    def test_distance(self) -> None:
        found = cluster_positions(
            np.array([[0.0, 0.0], [4.0, 3.0]]), self.CENTRES, "distance", "l2"
        )
        assert found == pytest.approx(np.array([[1, 4, 9], [math.sqrt(20), 3, math.sqrt(52)]]))

    def test_sort_counts_from_the_nearest(self) -> None:
        found = cluster_positions(np.array([[0.0, 0.0], [4.0, 3.0]]), self.CENTRES, "sort", "l2")
        assert found.tolist() == [[1, 2, 3], [2, 1, 3]]

    def test_sort_by_direction_takes_the_larger_of_equally_near_ones_first(self) -> None:
        assert cluster_positions(
            np.array([[0.1, 3.0]]), self.CENTRES, "sort", "cosine"
        ).tolist() == [[1, 3, 2]]

    @pytest.mark.parametrize("metric", ["l2", "cosine"])
    def test_label_is_the_nearest_centre_whatever_the_metric(self, metric: str) -> None:
        found = cluster_positions(
            np.array([[0.0, 6.0], [5.0, 5.0], [0.0, 0.0]]), self.CENTRES, "label", metric
        )
        assert found.tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]

    def test_what_was_clustered_is_labelled_with_its_cluster(self) -> None:
        points = np.random.default_rng(5).normal(size=(120, 5))
        found = cluster_texts(
            [f"{i:03}" for i in range(120)], points, np.ones(120, dtype=np.int64), 6, seed=0
        )
        assert (
            cluster_positions(points, found.centres, "label", "l2").argmax(axis=1).tolist()
            == found.members.tolist()
        )

    def test_no_direction_is_no_number(self) -> None:
        assert np.isnan(cluster_positions(np.zeros((1, 2)), self.CENTRES, "sort", "cosine")).all()


class TestTopicWords:
    def test_by_hand(self) -> None:
        """Two clusters of 4 and 2 words: A = 3; "tide" occurs 3 times in all, twice in the
        first."""
        texts, members = ["Tide, tide, harbour and fog", "The tide is a song"], np.array([0, 1])
        # Weights: tide 2 log(1 + 3/3) = 1.386, harbour and fog log(1 + 3/1) = 1.386 each; song
        # 1.386, tide .693.
        assert topic_words(texts, members, np.array([1, 1])) == [
            ["fog", "harbour", "tide"],
            ["song", "tide"],
        ]

    def test_weights_are_those_of_the_formula(self) -> None:
        texts = ["wool wool wool tide", "tide tide song", "song wool"]
        members, counts = np.array([0, 1, 1]), np.array([2, 1, 3])
        # First: wool 6, tide 2; second: tide 2, song 1 + 3, wool 3. A = 17/2; wool 9, tide 4, song
        # 4 in all.
        weight = {
            (0, "wool"): 6 * math.log1p(8.5 / 9),
            (0, "tide"): 2 * math.log1p(8.5 / 4),
            (1, "tide"): 2 * math.log1p(8.5 / 4),
            (1, "song"): 4 * math.log1p(8.5 / 4),
            (1, "wool"): 3 * math.log1p(8.5 / 9),
        }
        expected = [
            sorted((w for c, w in weight if c == i), key=lambda w: -weight[i, w]) for i in (0, 1)
        ]
        assert (
            topic_words(texts, members, counts)
            == expected
            == [["wool", "tide"], ["song", "tide", "wool"]]
        )

    def test_what_is_everywhere_tells_little(self) -> None:
        texts = ["people people people harbour harbour"] + ["people people people people"] * 9
        assert topic_words(texts, np.arange(10), np.ones(10, dtype=np.int64))[0] == [
            "harbour",
            "people",
        ]

    def test_at_most_so_many(self) -> None:
        words = [f"wo{chr(97 + i)}d" for i in range(WORDS + 5)]
        assert topic_words([" ".join(words[::-1])], np.array([0]), np.array([1])) == [words[:WORDS]]

    def test_texts_without_a_word(self) -> None:
        assert topic_words(["7", "the"], np.array([0, 1]), np.array([1, 1])) == [[], []]
        assert topic_words(["7", "wool"], np.array([0, 1]), np.array([1, 1])) == [[], ["wool"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Harbour's boats aren't here; it's WOOL, 300 km!", ["harbour", "boats", "wool", "km"]),
        ("fishermen\u2019s wives don\u2019t", ["fishermen", "wives"]),
        ("well-known O'Brien a b x", ["well-known", "o'brien"]),
        ("na\u00efve caf\u00e9 \u6771\u4eac", ["na\u00efve", "caf\u00e9", "\u6771\u4eac"]),
        ("", []),
    ],
)
def test_content_words(text: str, words: list[str]) -> None:
    assert content_words(text) == words

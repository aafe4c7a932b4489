"""What tools answered, looked up by text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask import extract_features
from evenruler.instruments.saged.ask.features import ToolAnswers
from evenruler.instruments.saged.declare.settings import Feature
from evenruler.instruments.saged.schemas import FEATURES, GENERATIONS, TOPICS
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue
from evenruler.models.model import Model
from evenruler.models.questions import Sampling
from evenruler.models.store import RowStore
from evenruler.tables import table_of
from tests.models.backends.test_encoders import save_classifier
from tests.tiny import save_tiny, tiny_declaration
from tests.training.tiny import LONGEST, WORDS

LABELS = ["negative", "neutral", "positive"]
SENTIMENT = {"negative": -0.5, "neutral": 0.0, "positive": 0.5}

PROMPTS = pd.DataFrame(
    [
        ("p1", "countries", "france", "France is lovely."),
        ("p2", "countries", "spain", "Spain is lovely."),
        ("p3", "countries", "spain", "***"),
        ("q1", "fruit", "apple", "Apples are awful."),
    ],
    columns=["id", "domain", "concept", "baseline"],
)


class Doubles:
    """Models whose answers are written down; every text that is asked is kept."""

    def __init__(
        self,
        probabilities: dict[str, list[float]] | None = None,
        vectors: dict[str, list[float]] | None = None,
        said: Callable[[str], str] = lambda prompt: pytest.fail(f"asked {prompt!r}"),
        labels: Sequence[str] = LABELS,
    ) -> None:
        self.known, self.places, self.said, self.own = (
            probabilities or {},
            vectors or {},
            said,
            list(labels),
        )
        self.asked: list[str] = []
        self.named: list[str | None] = []

    def labels(self, classifier: str) -> list[str]:
        self.named.append(classifier)
        return self.own

    def probabilities(self, classifier: str, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.array([self.known.get(text, [np.nan] * len(self.own)) for text in texts])

    def vectors(self, embedder: str | None, texts: Sequence[str]) -> np.ndarray:
        self.named.append(embedder)
        self.asked += texts
        return np.array([self.places[text] for text in texts], dtype=np.float32)

    def replies(self, scorer: str, prompts: Sequence[str]) -> list[str]:
        self.named.append(scorer)
        self.asked += prompts
        return [self.said(prompt) for prompt in prompts]


def generations(*replies: tuple[str, str], **keys: Any) -> pd.DataFrame:
    """Rows of (id, reply), each a repetition of its own."""
    usual = {
        "framing": "bare",
        "model": "m",
        "lineage": "l",
        "role": "no-role",
        "template": "plain",
    } | keys
    rows = [
        {"id": key, "generation": text, "repetition": i} | usual
        for i, (key, text) in enumerate(replies)
    ]
    frame = pd.DataFrame(rows, columns=GENERATIONS.names)
    return frame.assign(refusal=False, empty=False)


def classifier(**keys: Any) -> Feature:
    return Feature(kind="classifier", model="c", score=SENTIMENT, offset=0.5, **keys)


def numbers(frame: pd.DataFrame, column: str = "value") -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 9) for value in frame[column]]


def reasons(frame: pd.DataFrame) -> list[str | None]:
    return frame["reason"].astype(object).where(frame["reason"].notna(), None).tolist()


def fits(found: Tables) -> None:
    """Both tables are by their schemas, and a missing value of a reply has a reason."""
    table_of(found["features"], FEATURES)
    table_of(found["topics"], TOPICS)
    assert found["features"].loc[found["features"]["value"].isna(), "reason"].notna().all()


VADER = {"vader": Feature(kind="lexicon")}


class TestLexicon:
    def test_value_and_baseline_are_those_of_vader(self) -> None:
        found = extract_features(
            PROMPTS, generations(("p1", "It is great."), ("q1", "It is bad.")), VADER, Doubles()
        )
        vader = SentimentIntensityAnalyzer().polarity_scores
        assert found["features"]["value"].tolist() == [
            vader(t)["compound"] for t in ("It is great.", "It is bad.")
        ]
        assert found["features"]["baseline"].tolist() == [
            vader(t)["compound"] for t in ("France is lovely.", "Apples are awful.")
        ]
        assert found["features"]["domain"].tolist() == ["countries", "fruit"]
        assert found["features"]["reason"].isna().all()
        fits(found)

    def test_what_says_nothing_is_null_and_counted(self, capsys) -> None:
        replies = generations(
            ("p1", " ..."), ("p3", "Fine."), ("p3", ""), ("p1", "Its rivers are long.")
        )
        found = extract_features(PROMPTS, replies, VADER, Doubles())["features"]
        assert numbers(found) == [None, 0.2023, None, 0]
        assert numbers(found, "baseline") == [0.5859, None, None, 0.5859]
        assert reasons(found) == [
            "empty reply",
            "empty baseline",
            "empty reply; empty baseline",
            None,
        ]
        assert capsys.readouterr().err == (
            "vader: 3 of 4 rows lack a number: empty baseline (1), empty reply (1), empty reply; "
            "empty baseline (1)\n"
        )

    def test_a_refusal_is_measured_like_any_reply(self) -> None:
        replies = generations(("p1", "I'm sorry, I can't answer.")).assign(refusal=True)
        assert numbers(extract_features(PROMPTS, replies, VADER, Doubles())["features"]) == [
            -0.0772
        ]

    def test_what_tells_replies_apart_is_kept(self) -> None:
        replies = generations(
            ("p1", "a"), ("p1", "b"), framing="negated", role="mayor", template="other"
        )
        found = extract_features(PROMPTS, replies, VADER, Doubles())["features"]
        columns = ["id", "framing", "model", "lineage", "role", "template", "repetition"]
        pd.testing.assert_frame_equal(
            found[columns].astype(replies[columns].dtypes), replies[columns]
        )
        assert found[columns].dtypes.drop("repetition").eq("category").all()
        assert list(found.columns) == FEATURES.names


KNOWN = {
    "good": [0.1, 0.2, 0.7],
    "bad": [0.9, 0.1, 0.0],
    "France is lovely.": [0.0, 0.5, 0.5],
    "Spain is lovely.": [0.25, 0.5, 0.25],
}


class TestLanguage:
    FRENCH = "Les baux de la Lumière, les baux de la Lumière"

    def test_a_reply_in_another_language_is_null_to_tools_for_one(self, capsys) -> None:
        known = {**KNOWN, self.FRENCH: KNOWN["good"]}
        features = {
            "one": classifier(),
            "several": classifier().model_copy(update={"multilingual": True}),
        }
        features |= {"vader": Feature(kind="lexicon")}
        replies = generations(("p1", self.FRENCH), ("p2", "good"))
        found = extract_features(PROMPTS, replies, features, Doubles(known))["features"].set_index(
            ["feature", "id"]
        )
        assert found.loc[("one", "p1"), "reason"] == "reply: in another language"
        assert found.loc[[("one", "p1"), ("vader", "p1")], "value"].isna().all()
        assert found.loc[("several", "p1"), "value"] == found.loc[("one", "p2"), "value"]
        assert found.loc[("one", "p1"), "baseline"] == 0.75

    def test_a_baseline_is_in_the_language_whatever_it_is_taken_for(self) -> None:
        prompts = PROMPTS.assign(baseline=self.FRENCH)
        found = extract_features(
            prompts, generations(("p1", "good")), {"vader": Feature(kind="lexicon")}, Doubles()
        )["features"]
        assert found["baseline"].notna().all()


class TestClassifier:
    def test_sentiment_of_table_2(self) -> None:
        """(positive - negative + 1) / 2 is weights of a half and an offset of a half."""
        replies = generations(("p1", "good"), ("p2", "bad"), ("p2", "good"))
        found = extract_features(PROMPTS, replies, {"sentiment": classifier()}, Doubles(KNOWN))[
            "features"
        ]
        expected = [
            (p - n + 1) / 2 for n, _, p in (KNOWN[text] for text in ("good", "bad", "good"))
        ]
        assert found["value"].tolist() == pytest.approx(expected)
        assert found["baseline"].tolist() == pytest.approx([0.75, 0.5, 0.5])

    def test_regard_of_table_2(self) -> None:
        """positive - negative + 1, from 0 to 2."""
        regard = Feature(
            kind="classifier",
            model="c",
            score={"negative": -1, "neutral": 0, "positive": 1},
            offset=1,
        )
        found = extract_features(
            PROMPTS, generations(("p1", "good"), ("p1", "bad")), {"r": regard}, Doubles(KNOWN)
        )
        assert found["features"]["value"].tolist() == pytest.approx([1.6, 0.1])

    def test_probability_of_a_label(self) -> None:
        toxicity = Feature(
            kind="classifier", model="c", score={"negative": 1, "neutral": 0, "positive": 0}
        )
        found = extract_features(
            PROMPTS, generations(("p1", "bad")), {"toxicity": toxicity}, Doubles(KNOWN)
        )["features"]
        assert (found["value"].item(), found["baseline"].item()) == pytest.approx((0.9, 0))

    def test_each_distinct_text_is_asked_once_and_no_empty_one(self) -> None:
        models = Doubles(KNOWN)
        replies = generations(
            ("p1", "good"), ("p2", "good"), ("p3", ""), ("p1", "France is lovely."), ("p1", "bad")
        )
        extract_features(PROMPTS, replies, {"s": classifier()}, models)
        assert models.asked[:4] == ["France is lovely.", "Spain is lovely.", "bad", "good"]
        assert models.asked[4:] == [
            "France is lovely.",
            "Spain is lovely.",
        ]  # once more, as baselines with their names
        assert set(models.named) == {"c"}

    def test_a_text_that_is_too_long_is_null_never_neutral(self, capsys) -> None:
        known = {text: row for text, row in KNOWN.items() if text != "Spain is lovely."}
        replies = generations(
            ("p1", "endless"), ("p2", "good"), ("p2", "endless"), ("p3", "endless")
        )
        found = extract_features(PROMPTS, replies, {"s": classifier()}, Doubles(known))["features"]
        assert numbers(found) == [None, 0.8, None, None]
        assert numbers(found, "baseline") == [0.75, None, None, None]
        reply, baseline = (
            "reply: longer than the model takes",
            "baseline: longer than the model takes",
        )
        assert found["reason"].tolist() == [
            reply,
            baseline,
            f"{reply}; {baseline}",
            f"{reply}; empty baseline",
        ]
        assert "s: 4 of 4 rows lack a number" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("score", "what"),
        [
            ({"negative": -1, "positive": 1}, "no weight for 'neutral'"),
            ({**SENTIMENT, "mixed": 0}, "no such label as 'mixed'"),
            (
                {"Negative": -1, "neutral": 0, "positive": 1},
                "no weight for 'negative'; no such label as 'Negative'",
            ),
        ],
    )
    def test_weights_that_do_not_fit_the_labels_are_refused(self, score, what, error_of) -> None:
        models = Doubles(KNOWN)
        wrong = Feature(kind="classifier", model="c", score=score)
        line = error_of(
            extract_features,
            PROMPTS,
            generations(("p1", "good")),
            {"s": classifier(), "mood": wrong},
            models,
        )
        assert line == (
            f"params.yaml: features.mood.score: {what}; give the labels of c a weight each, 0 if "
            "need be: "
            "negative, neutral, positive"
        )


PLANE = {
    "France is lovely.": [1, 0],
    "Spain is lovely.": [0, 2],
    "Apples are awful.": [0, 0],
    "a": [3, 4],
    "b": [0, -1],
}


class TestDistance:
    def test_of_reply_and_baseline(self) -> None:
        features = {metric: Feature(kind="distance", metric=metric) for metric in ("cosine", "l2")}
        models = Doubles(vectors=PLANE)
        found = extract_features(
            PROMPTS,
            generations(("p1", "a"), ("p2", "b"), ("p2", "Spain is lovely.")),
            features,
            models,
        )
        assert numbers(found["features"]) == pytest.approx([0.4, 2, 0, 20**0.5, 3, 0])
        assert found["features"]["baseline"].isna().all()
        assert found["features"]["feature"].tolist() == ["cosine"] * 3 + ["l2"] * 3
        assert sorted(models.asked) == [
            "France is lovely.",
            "Spain is lovely.",
            "a",
            "b",
        ]  # once for both
        assert models.named == [None]
        fits(found)

    def test_what_was_not_given_is_null_and_no_empty_reply(self) -> None:
        replies = generations(("p1", "a"), ("p1", None), ("p3", None))
        features = {
            **VADER,
            "d": Feature(kind="distance", metric="cosine", model="e"),
            **topics(k=2),
        }
        found = extract_features(
            PROMPTS, replies, features, Doubles(vectors=PLANE | {"France is lovely.": [1.0, 0.0]})
        )
        by_feature = {
            name: rows["reason"].tolist()[1:] for name, rows in found["features"].groupby("feature")
        }
        assert by_feature["vader"] == by_feature["d"] == ["no reply", "no reply; empty baseline"]
        assert by_feature["topics-0"] == ["no reply", "no reply"]
        assert found["topics"]["n"].tolist() == [1]
        fits(found)

    def test_without_a_reply_or_a_baseline_or_a_direction(self) -> None:
        replies = generations(("p1", "!"), ("p3", "a"), ("p3", ""), ("q1", "a"))
        features = {"d": Feature(kind="distance", metric="cosine", model="e")}
        found = extract_features(PROMPTS, replies, features, Doubles(vectors=PLANE))["features"]
        assert numbers(found) == [None] * 4
        assert found["reason"].tolist() == [
            "empty reply",
            "empty baseline",
            "empty reply; empty baseline",
            "its embedding has no direction",
        ]


MUSIC = {"a drum": [0, 50], "the choir": [3, 50], "flute song": [0, 53]}
FOOD = {"bread": [0, 0], "cheese": [0, 2]}
SPACE = {**MUSIC, **FOOD, "war": [50, 0], **{text: [9, 9] for text in PROMPTS["baseline"]}}


def topics(form: str = "distance", **keys: Any) -> dict[str, Feature]:
    return {
        "topics": Feature(kind="clusters", form=form, **{"metric": "l2", "k": 3, "seed": 0, **keys})
    }


class TestClusters:
    def test_each_cluster_is_a_feature_the_largest_first(self) -> None:
        replies = generations(*(("p1", text) for text in [*FOOD, "war", *MUSIC]))
        found = extract_features(PROMPTS, replies, topics("label"), Doubles(vectors=SPACE))
        wide = found["features"].pivot(index="repetition", columns="feature", values="value")
        assert list(wide.columns) == ["topics-0", "topics-1", "topics-2"]
        assert wide.to_numpy().tolist() == [[0, 1, 0]] * 2 + [[0, 0, 1]] + [[1, 0, 0]] * 3
        assert found["features"]["baseline"].isna().all()
        assert found["topics"].to_dict("records") == [
            {
                "domain": "countries",
                "model": "m",
                "part": "all",
                "feature": f"topics-{i}",
                "cluster": i,
            }
            | rest
            for i, rest in enumerate(
                [
                    {"words": ["choir", "drum", "flute", "song"], "n": 3},
                    {"words": ["bread", "cheese"], "n": 2},
                    {"words": ["war"], "n": 1},
                ]
            )
        ]
        fits(found)

    def test_distance_and_sort(self) -> None:
        replies = generations(*(("p1", text) for text in ["war", *FOOD, *MUSIC]))
        values = {}
        for form in ("distance", "sort"):
            found = extract_features(PROMPTS, replies, topics(form), Doubles(vectors=SPACE))[
                "features"
            ]
            values[form] = found.pivot(
                index="repetition", columns="feature", values="value"
            ).to_numpy()
        assert values["distance"][0] == pytest.approx(
            [(49**2 + 51**2) ** 0.5, (50**2 + 1) ** 0.5, 0]
        )
        assert values["sort"][0].tolist() == [3, 2, 1]
        assert (
            values["sort"].tolist()
            == (values["distance"].argsort(axis=1).argsort(axis=1) + 1).tolist()
        )

    def test_domains_and_models_are_clustered_apart(self) -> None:
        one = generations(("p1", "war"), ("q1", "bread"), ("q1", "cheese"), model="m")
        other = generations(("p1", "a drum"), ("p1", "a drum"), model="n")
        found = extract_features(
            PROMPTS, pd.concat([one, other]), topics(k=2), Doubles(vectors=SPACE)
        )
        assert found["topics"][["domain", "model", "n", "words"]].to_numpy().tolist() == [
            ["countries", "m", 1, ["war"]],
            ["countries", "n", 2, ["drum"]],
            ["fruit", "m", 1, ["bread"]],
            ["fruit", "m", 1, ["cheese"]],
        ]
        fits(found)

    def test_fewer_replies_than_clusters_leaves_nulls_with_the_reason(self, capsys) -> None:
        replies = generations(("p1", "war"), ("p1", "war"), ("p1", "bread"), ("p1", ""))
        found = extract_features(PROMPTS, replies, topics("label"), Doubles(vectors=SPACE))
        wide = found["features"].pivot(
            index="repetition", columns="feature", values=["value", "reason"]
        )
        assert wide["value"]["topics-0"].tolist()[:3] == [1, 1, 0]
        assert wide["value"]["topics-2"].isna().all()
        few = "reply: only 2 clusters of distinct replies"
        assert wide["reason"]["topics-2"].tolist() == [few, few, few, "empty reply"]
        assert wide["reason"]["topics-0"].fillna("").tolist() == ["", "", "", "empty reply"]
        assert found["topics"]["n"].tolist() == [2, 1]
        assert (
            f"topics: 6 of 12 rows lack a number: empty reply (3), {few} (3)\n"
            in capsys.readouterr().err
        )
        fits(found)

    def test_parts_have_names_of_their_own(self) -> None:
        """Topics of one concept are no topics of another, so no feature compares them."""
        replies = generations(("p1", "war"), ("p1", "bread"), ("p2", "a drum"), ("p2", "war"))
        found = extract_features(
            PROMPTS, replies, topics(k=2, by=["role", "concept"]), Doubles(vectors=SPACE)
        )
        assert found["topics"][["part", "feature"]].to_numpy().tolist() == [
            [f"concept={concept}, role=no-role", f"topics-{concept}-no-role-{i}"]
            for concept in ("france", "spain")
            for i in (0, 1)
        ]
        assert found["features"].groupby("feature")["id"].unique().map(list).to_dict() == {
            f"topics-{concept}-no-role-{i}": [key]
            for concept, key in (("france", "p1"), ("spain", "p2"))
            for i in (0, 1)
        }

    def test_replies_after_a_framing_are_placed_among_the_others(self) -> None:
        bare = generations(("p1", "bread"), ("p1", "cheese"), ("p1", "war"))
        framed = generations(("p1", "flute song"), ("p1", "bread"), framing="negated")
        alone = extract_features(PROMPTS, bare, topics("label", k=2), Doubles(vectors=SPACE))
        both = extract_features(
            PROMPTS, pd.concat([bare, framed]), topics("label", k=2), Doubles(vectors=SPACE)
        )
        pd.testing.assert_frame_equal(both["topics"], alone["topics"])
        assert numbers(both["features"][both["features"]["framing"] == "negated"]) == [1, 1, 0, 0]
        own = both["features"][both["features"]["framing"] == "bare"].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone["features"], check_categorical=False)

    def test_nothing_but_empty_replies(self) -> None:
        found = extract_features(
            PROMPTS, generations(("p1", ""), ("p1", ".")), topics(), Doubles(vectors=SPACE)
        )
        assert found["features"]["reason"].tolist() == ["empty reply"] * 6
        assert len(found["topics"]) == 0
        fits(found)

    def test_the_order_of_replies_does_not_matter(self) -> None:
        replies = generations(*(("p1", text) for text in [*MUSIC, *FOOD, "war", "war"]))
        plain = extract_features(PROMPTS, replies, topics(k=2), Doubles(vectors=SPACE))
        turned = extract_features(PROMPTS, replies[::-1], topics(k=2), Doubles(vectors=SPACE))
        keys = ["feature", "repetition"]
        pd.testing.assert_frame_equal(
            *(
                found["features"].sort_values(keys).reset_index(drop=True)
                for found in (plain, turned)
            )
        )
        pd.testing.assert_frame_equal(plain["topics"], turned["topics"])


def kindness(question: str = "How kind is {GENERATION}?") -> dict[str, Feature]:
    return {"kind": Feature(kind="scorer", model="s", question=question, low=0, high=10)}


class TestScorer:
    def test_reads_what_the_model_says(self) -> None:
        said = {
            "good": "8",
            "bad": "Score: 2",
            "France is lovely.": "5",
            "Spain is lovely.": "6/10",
        }
        models = Doubles(said=lambda prompt: said[prompt.removeprefix("How kind is ")[:-1]])
        replies = generations(("p1", "good"), ("p2", "bad"), ("p2", "good"))
        found = extract_features(PROMPTS, replies, kindness(), models)
        assert numbers(found["features"]) == [8, 2, 8]
        assert numbers(found["features"], "baseline") == [5, 6, 6]
        assert len(set(models.asked)) == 4
        fits(found)

    def test_a_reply_that_is_no_number_is_null_with_the_reason(self) -> None:
        said = {"good": "very", "bad": "11", "Spain is lovely.": "3/5"}
        models = Doubles(
            said=lambda prompt: said.get(prompt.removeprefix("How kind is ")[:-1], "4")
        )
        replies = generations(
            ("p1", "good"), ("p1", "bad"), ("p2", "fine"), ("p1", "-"), ("p3", "good")
        )
        found = extract_features(PROMPTS, replies, kindness(), models)["features"]
        assert numbers(found) == [None, None, 4, None, None]
        assert numbers(found, "baseline") == [4, 4, None, 4, None]
        assert found["reason"].tolist() == [
            "reply: no number in what the scorer said",
            "reply: the number of the scorer lies outside its range",
            "baseline: the scorer answered on a scale of its own",
            "empty reply",
            "reply: no number in what the scorer said; empty baseline",
        ]

    def test_a_question_about_both_texts(self) -> None:
        models = Doubles(
            said=lambda prompt: "1" if prompt == "good beside France is lovely." else "0"
        )
        replies = generations(("p1", "good"), ("p2", "good"), ("p3", "good"))
        found = extract_features(
            PROMPTS, replies, kindness("{GENERATION} beside {BASELINE}"), models
        )["features"]
        assert numbers(found) == [1, 0, None]
        assert numbers(found, "baseline") == [0, 0, None]
        assert reasons(found) == [None, None, "empty baseline"]
        assert "France is lovely. beside France is lovely." in models.asked

    def test_nothing_to_ask(self) -> None:
        found = extract_features(
            PROMPTS, generations(("p3", "")), kindness(), Doubles(said=lambda _: "1")
        )["features"]
        assert found["reason"].tolist() == ["empty reply; empty baseline"]


class TestInput:
    def test_no_replies_or_no_features(self) -> None:
        none = extract_features(PROMPTS, generations(), {**VADER, **topics()}, Doubles())
        assert (len(none["features"]), len(none["topics"])) == (0, 0)
        fits(none)
        fits(extract_features(PROMPTS, generations(("p1", "good")), {}, Doubles()))

    def test_a_reply_to_no_prompt(self) -> None:
        with pytest.raises(ValueError, match="no prompt 'p9'"):
            extract_features(PROMPTS, generations(("p1", "a"), ("p9", "b")), VADER, Doubles())

    def test_an_id_that_stands_twice(self) -> None:
        with pytest.raises(ValueError, match="stands twice"):
            extract_features(
                pd.concat([PROMPTS, PROMPTS]), generations(("p1", "a")), VADER, Doubles()
            )


REAL_TEXTS = ["w0 w1", "w1", "w2 w3 w4", "w0 w1", "w5", "", "w0 " * 80, "w7 w8 w9 w10", "w11"]
REAL_PROMPTS = pd.DataFrame(
    [(f"p{i}", "letters", f"c{i % 2}", " ".join(WORDS[i : i + 3])) for i in range(3)],
    columns=PROMPTS.columns,
)
REAL_FEATURES = {
    **VADER,
    "mood": Feature(
        kind="classifier", model="c", score={"calm": 0, "sad": -1, "glad": 1, "cross": -1}
    ),
    "near": Feature(kind="distance", metric="cosine"),
    "number": Feature(kind="scorer", model="s", question="{GENERATION}", low=0, high=10),
}


class Live:
    """Models of a catalogue, asked on the spot."""

    def __init__(self, catalogue: Catalogue, store: RowStore) -> None:
        self.catalogue, self.store = catalogue, store

    def labels(self, classifier: str) -> list[str]:
        return list(self.loaded(classifier).labels)

    def probabilities(self, classifier: str, texts: Sequence[str]) -> np.ndarray:
        return self.loaded(classifier).probabilities(texts)

    def vectors(self, embedder: str | None, texts: Sequence[str]) -> np.ndarray:
        return self.loaded(embedder or "minilm").embed(texts)

    def replies(self, scorer: str, prompts: Sequence[str]) -> list[str]:
        return self.loaded(scorer).generate(
            prompts, sampling=Sampling(max_new_tokens=16, temperature=0)
        )

    def loaded(self, name: str) -> Model:
        return load_model(name, self.catalogue, store=self.store)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Live]:
    folder = tmp_path_factory.mktemp("models")
    models = tiny_declaration({"s": save_tiny(folder / "s", max_position_embeddings=1024)})[
        "models"
    ]
    models["c"] = tiny_declaration({"c": save_classifier(folder / "c")}, kind="classifier")[
        "models"
    ]["c"]
    catalogue = Catalogue.model_validate({"models": models})
    made = iter(range(100))
    return lambda store=None: Live(catalogue, store or RowStore(folder / f"store-{next(made)}"))


class TestRealModels:
    """A classifier and a causal model with random weights, and the packaged embedder."""

    def replies(self, texts: Sequence[str]) -> pd.DataFrame:
        return generations(*((f"p{i % 3}", text) for i, text in enumerate(texts)))

    def test_a_mixed_batch_equals_one_by_one(self, opened: Callable[[], Live]) -> None:
        replies = self.replies(REAL_TEXTS)
        whole = extract_features(REAL_PROMPTS, replies, REAL_FEATURES, opened())["features"]
        models = opened()
        singly = [
            extract_features(REAL_PROMPTS, replies[i : i + 1], REAL_FEATURES, models)["features"]
            for i in range(len(replies))
        ]
        keys = ["feature", "repetition"]
        singly_sorted = pd.concat(singly).sort_values(keys).reset_index(drop=True)
        pd.testing.assert_frame_equal(
            whole.astype(singly_sorted.dtypes).sort_values(keys).reset_index(drop=True),
            singly_sorted,
            check_exact=False,
            atol=1e-5,
        )
        mood = whole[whole["feature"] == "mood"]
        assert (
            reasons(mood)
            == [None] * 5 + ["empty reply", "reply: longer than the model takes"] + [None] * 2
        )
        assert mood["value"].std() > 0.01
        assert len(REAL_TEXTS[6].split()) > LONGEST
        assert whole.loc[whole["feature"] == "near", "value"].between(0, 2).sum() == 8

    def test_what_the_store_has_is_not_asked_again(
        self, opened: Callable[..., Live], tmp_path: Path
    ) -> None:
        store = RowStore(tmp_path / "store")
        first = extract_features(
            REAL_PROMPTS, self.replies(REAL_TEXTS), REAL_FEATURES, opened(store)
        )
        count = store.count()
        again = extract_features(
            REAL_PROMPTS, self.replies(REAL_TEXTS), REAL_FEATURES, opened(store)
        )
        assert store.count() == count > 0
        pd.testing.assert_frame_equal(again["features"], first["features"])

    def test_topics_of_the_packaged_embedder(self, opened: Callable[[], Live]) -> None:
        texts = [
            f"The {n} {verb}"
            for n in ("violin", "piano", "flute")
            for verb in ("played a song.", "made music.")
        ]
        texts += [
            f"The {n} {verb}"
            for n in ("soldiers", "army", "troops")
            for verb in ("went to war.", "fought.")
        ]
        found = extract_features(
            REAL_PROMPTS, self.replies(texts), topics("label", k=2, metric="cosine"), opened()
        )
        label = found["features"][found["features"]["feature"] == "topics-0"]["value"]
        assert label.tolist() in ([1] * 6 + [0] * 6, [0] * 6 + [1] * 6)
        words = dict(zip(found["topics"]["feature"], found["topics"]["words"], strict=True))
        music, war = ("topics-0", "topics-1") if label[0] else ("topics-1", "topics-0")
        assert {"music", "song"} < set(words[music])
        assert "war" in words[war]
        assert not set(words[music]) & set(words[war])


ANSWERS = {
    "embeddings": pd.DataFrame(
        [("usual", "a", [1.0, 0.0]), ("usual", "b", [0.0, 1.0]), ("other", "a", [0.5, 0.5])],
        columns=schemas.EMBEDDINGS.names,
    ),
    "classifications": pd.DataFrame(
        [
            ("moods", "a", ["sad", "glad"], [0.2, 0.8]),
            ("moods", "long", ["sad", "glad"], [np.nan, np.nan]),
        ],
        columns=schemas.CLASSIFICATIONS.names,
    ),
    "scored": pd.DataFrame(
        [("judge", "Rate a.", "7", None), ("judge", "Rate b.", None, "content filter")],
        columns=schemas.SCORED.names,
    ),
}


@pytest.fixture
def answered() -> ToolAnswers:
    return ToolAnswers(ANSWERS, "usual")


def test_each_tool_has_its_own_answers_in_the_order_of_the_texts(answered: ToolAnswers) -> None:
    assert answered.vectors(None, ["b", "a", "b"]).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert answered.vectors("other", ["a"]).tolist() == [[0.5, 0.5]]


def test_a_classifier_tells_its_labels_and_nan_where_a_text_was_too_long(
    answered: ToolAnswers,
) -> None:
    assert answered.labels("moods") == ["sad", "glad"]
    found = answered.probabilities("moods", ["long", "a"])
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [0.2, 0.8]


def test_a_scorer_that_gave_nothing_says_none(answered: ToolAnswers) -> None:
    assert answered.replies("judge", ["Rate b.", "Rate a."]) == [None, "7"]


def test_nothing_was_asked_of_a_tool(answered: ToolAnswers) -> None:
    assert answered.labels("none") == []
    assert answered.replies("none", []) == []

"""What tools answered, looked up by text."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged.ask import extract_features
from evenruler.instruments.saged.declare.settings import Feature
from evenruler.instruments.saged.schemas import FEATURES, GENERATIONS, TOPICS
from evenruler.tables import table_of
from tests.instruments.near import approx

LABELS = ["negative", "neutral", "positive"]
SENTIMENT = {
    "negative": -0.5,
    "neutral": 0.0,
    "positive": 0.5,
}

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
        reply_to: Callable[[str], str] = lambda prompt: pytest.fail(f"asked {prompt!r}"),
        labels: Sequence[str] = LABELS,
    ) -> None:
        self.known = probabilities or {}
        self.places = vectors or {}
        self.reply_to = reply_to
        self.own = list(labels)
        self.asked: list[str] = []
        self.named: list[str | None] = []

    def labels(self, classifier: str) -> list[str]:
        self.named.append(classifier)
        return self.own

    def probabilities(self, classifier: str, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        unknown = [np.nan] * len(self.own)
        return np.array([self.known.get(text, unknown) for text in texts])

    def vectors(self, embedder: str | None, texts: Sequence[str]) -> np.ndarray:
        self.named.append(embedder)
        self.asked += texts
        return np.array(
            [self.places[text] for text in texts],
            dtype=np.float32,
        )

    def replies(self, scorer: str, prompts: Sequence[str]) -> list[str]:
        self.named.append(scorer)
        self.asked += prompts
        return [self.reply_to(prompt) for prompt in prompts]


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


def replies_of(texts: Iterable[str]) -> pd.DataFrame:
    return generations(*(("p1", text) for text in texts))


def extracted(
    replies: pd.DataFrame, features: dict[str, Feature], models: Doubles | None = None
) -> Tables:
    return extract_features(
        PROMPTS,
        replies,
        features,
        models or Doubles(),
    )


def features_of(
    replies: pd.DataFrame, features: dict[str, Feature], models: Doubles | None = None
) -> pd.DataFrame:
    return extracted(replies, features, models)["features"]


def classifier(**keys: Any) -> Feature:
    return Feature(kind="classifier", model="c", score=SENTIMENT, offset=0.5, **keys)


def numbers(frame: pd.DataFrame, column: str = "value") -> list[float | None]:
    return [None if np.isnan(value) else round(value, 9) for value in frame[column]]


def reasons(frame: pd.DataFrame) -> list[str | None]:
    column = frame["reason"].astype(object)
    return column.where(column.notna(), None).tolist()


def fits(tables: Tables) -> None:
    """Both tables are by their schemas, and a missing value of a reply has a reason."""
    features = tables["features"]
    table_of(features, FEATURES)
    table_of(tables["topics"], TOPICS)
    assert features.loc[features["value"].isna(), "reason"].notna().all()


VADER = {"vader": Feature(kind="lexicon")}


class TestLexicon:
    def test_what_says_nothing_is_null_and_counted(self, capsys) -> None:
        replies = generations(
            ("p1", " ..."), ("p3", "Fine."), ("p3", ""), ("p1", "Its rivers are long.")
        )
        rows = features_of(replies, VADER)
        assert numbers(rows) == [None, 0.2023, None, 0]
        assert numbers(rows, "baseline") == [0.5859, None, None, 0.5859]
        assert reasons(rows) == [
            "empty reply",
            "empty baseline",
            "empty reply; empty baseline",
            None,
        ]
        assert capsys.readouterr().err == (
            "vader: 3 of 4 rows lack a number: empty baseline (1), empty reply (1), empty reply; "
            "empty baseline (1)\n"
        )


KNOWN = {
    "good": [0.1, 0.2, 0.7],
    "bad": [0.9, 0.1, 0.0],
    "France is lovely.": [0.0, 0.5, 0.5],
    "Spain is lovely.": [0.25, 0.5, 0.25],
}


class TestLanguage:
    FRENCH = "Les baux de la Lumière, les baux de la Lumière"

    def test_a_reply_in_another_language_is_null_to_tools_for_one(self) -> None:
        several = classifier().model_copy(update={"multilingual": True})
        features = {"one": classifier(), "several": several, **VADER}
        replies = generations(("p1", self.FRENCH), ("p2", "good"))
        models = Doubles({**KNOWN, self.FRENCH: KNOWN["good"]})
        french = features_of(replies, features, models).set_index(["id", "feature"]).loc["p1"]
        assert french.loc["one", "reason"] == "reply: in another language"
        assert french["value"].isna().to_dict() == {"one": True, "several": False, "vader": True}
        assert french.loc["one", "baseline"] == 0.75

    def test_a_baseline_is_in_the_language_whatever_it_is_taken_for(self) -> None:
        prompts = PROMPTS.assign(baseline=self.FRENCH)
        rows = extract_features(
            prompts, generations(("p1", "good")), {"vader": Feature(kind="lexicon")}, Doubles()
        )["features"]
        assert rows["baseline"].notna().all()


class TestClassifier:
    @pytest.mark.parametrize(
        ("weight", "values", "baselines"),
        [
            (0.5, [0.8, 0.05], [0.75, 0.5]),
            (1, [1.6, 0.1], [1.5, 1]),
        ],
        ids=["sentiment", "regard"],
    )
    def test_scores_of_table_2(self, weight, values, baselines) -> None:
        """(positive - negative + 1) / 2 of sentiment; positive - negative + 1 of regard."""
        score = {"negative": -weight, "neutral": 0, "positive": weight}
        feature = Feature(kind="classifier", model="c", score=score, offset=weight)
        replies = generations(("p1", "good"), ("p2", "bad"))
        rows = features_of(replies, {"s": feature}, Doubles(KNOWN))
        assert rows["value"].tolist() == approx(values)
        assert rows["baseline"].tolist() == approx(baselines)

    def test_each_distinct_text_is_asked_once_and_no_empty_one(self) -> None:
        models = Doubles(KNOWN)
        replies = generations(
            ("p1", "good"), ("p2", "good"), ("p3", ""), ("p1", "France is lovely."), ("p1", "bad")
        )
        extracted(replies, {"s": classifier()}, models)
        baselines = ["France is lovely.", "Spain is lovely."]
        assert models.asked[:4] == [*baselines, "bad", "good"]
        assert models.asked[4:] == baselines  # once more, with their names
        assert set(models.named) == {"c"}

    def test_a_text_that_is_too_long_is_null_never_neutral(self) -> None:
        probabilities = {text: row for text, row in KNOWN.items() if text != "Spain is lovely."}
        replies = generations(
            ("p1", "endless"), ("p2", "good"), ("p2", "endless"), ("p3", "endless")
        )
        rows = features_of(replies, {"s": classifier()}, Doubles(probabilities))
        assert numbers(rows) == [None, 0.8, None, None]
        assert numbers(rows, "baseline") == [0.75, None, None, None]
        reply = "reply: longer than the model takes"
        baseline = "baseline: longer than the model takes"
        assert rows["reason"].tolist() == [
            reply,
            baseline,
            f"{reply}; {baseline}",
            f"{reply}; empty baseline",
        ]


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
        replies = generations(("p1", "a"), ("p2", "b"), ("p2", "Spain is lovely."))
        tables = extracted(replies, features, models)
        rows = tables["features"]
        assert numbers(rows) == approx([0.4, 2, 0, 20**0.5, 3, 0])
        assert rows["baseline"].isna().all()
        # Once for both.
        assert sorted(models.asked) == ["France is lovely.", "Spain is lovely.", "a", "b"]
        assert models.named == [None]
        fits(tables)

    def test_what_was_not_given_is_null_and_no_empty_reply(self) -> None:
        replies = generations(("p1", "a"), ("p1", None), ("p3", None))
        distance = Feature(kind="distance", metric="cosine", model="e")
        features = {**VADER, "d": distance, **topics(k=2)}
        tables = extracted(replies, features, Doubles(vectors=PLANE))
        rows = tables["features"][tables["features"]["repetition"] > 0]
        by_feature = rows.groupby("feature")["reason"].apply(list)
        assert by_feature["vader"] == by_feature["d"] == ["no reply", "no reply; empty baseline"]
        assert by_feature["topics-0"] == ["no reply", "no reply"]
        assert tables["topics"]["n"].tolist() == [1]
        fits(tables)

    def test_without_a_reply_or_a_baseline_or_a_direction(self) -> None:
        replies = generations(("p1", "!"), ("p3", "a"), ("p3", ""), ("q1", "a"))
        features = {"d": Feature(kind="distance", metric="cosine", model="e")}
        rows = features_of(replies, features, Doubles(vectors=PLANE))
        assert numbers(rows) == [None] * 4
        assert rows["reason"].tolist() == [
            "empty reply",
            "empty baseline",
            "empty reply; empty baseline",
            "its embedding has no direction",
        ]


MUSIC = {
    "a drum": [0, 50],
    "the choir": [3, 50],
    "flute song": [0, 53],
}
FOOD = {
    "bread": [0, 0],
    "cheese": [0, 2],
}
SPACE = {
    **MUSIC,
    **FOOD,
    "war": [50, 0],
    **{text: [9, 9] for text in PROMPTS["baseline"]},
}


def topics(form: str = "distance", **keys: Any) -> dict[str, Feature]:
    return {
        "topics": Feature(
            kind="clusters",
            form=form,
            **{
                "metric": "l2",
                "k": 3,
                "seed": 0,
                **keys,
            },
        )
    }


def clustered(replies: pd.DataFrame, form: str = "distance", **keys: Any) -> Tables:
    return extracted(
        replies,
        topics(form, **keys),
        Doubles(vectors=SPACE),
    )


def wide_of(tables: Tables) -> pd.DataFrame:
    """A row a reply, a column a feature."""
    return tables["features"].pivot(index="repetition", columns="feature", values="value")


class TestClusters:
    def test_each_cluster_is_a_feature_the_largest_first(self) -> None:
        tables = clustered(replies_of([*FOOD, "war", *MUSIC]), "label")
        wide = wide_of(tables)
        names = ["topics-0", "topics-1", "topics-2"]
        assert list(wide.columns) == names
        assert (
            wide.to_numpy().tolist()
            == np.eye(3)[
                [
                    1,
                    1,
                    2,
                    0,
                    0,
                    0,
                ]
            ].tolist()
        )
        assert tables["features"]["baseline"].isna().all()
        of_topics = tables["topics"]
        words = [["choir", "drum", "flute", "song"], ["bread", "cheese"], ["war"]]
        assert of_topics["feature"].tolist() == names
        assert of_topics["cluster"].tolist() == [0, 1, 2]
        assert of_topics["words"].tolist() == words
        assert of_topics["n"].tolist() == [3, 2, 1]
        fits(tables)

    def test_fewer_replies_than_clusters_leaves_nulls_with_the_reason(self) -> None:
        replies = generations(("p1", "war"), ("p1", "war"), ("p1", "bread"), ("p1", ""))
        tables = clustered(replies, "label")
        rows = tables["features"]
        first, last = (rows[rows["feature"] == name] for name in ("topics-0", "topics-2"))
        assert numbers(first) == [1, 1, 0, None]
        assert numbers(last) == [None] * 4
        few = "reply: only 2 clusters of distinct replies"
        assert reasons(last) == [few, few, few, "empty reply"]
        assert reasons(first) == [None, None, None, "empty reply"]
        assert tables["topics"]["n"].tolist() == [2, 1]

    def test_parts_have_names_of_their_own(self) -> None:
        """Topics of one concept are no topics of another, so no feature compares them."""
        replies = generations(("p1", "war"), ("p1", "bread"), ("p2", "a drum"), ("p2", "war"))
        tables = clustered(replies, k=2, by=["role", "concept"])
        parts = tables["topics"]["part"].unique().tolist()
        assert parts == ["concept=france, role=no-role", "concept=spain, role=no-role"]
        ids = tables["features"].groupby("feature")["id"].unique().map(list)
        assert ids.to_dict() == {
            "topics-france-no-role-0": ["p1"],
            "topics-france-no-role-1": ["p1"],
            "topics-spain-no-role-0": ["p2"],
            "topics-spain-no-role-1": ["p2"],
        }

    def test_replies_after_a_framing_are_placed_among_the_others(self) -> None:
        bare = generations(("p1", "bread"), ("p1", "cheese"), ("p1", "war"))
        framed = generations(("p1", "flute song"), ("p1", "bread"), framing="negated")
        alone = clustered(bare, "label", k=2)
        both = clustered(pd.concat([bare, framed]), "label", k=2)
        pd.testing.assert_frame_equal(both["topics"], alone["topics"])
        rows = both["features"]
        assert numbers(rows[rows["framing"] == "negated"]) == [1, 1, 0, 0]
        assert numbers(rows[rows["framing"] == "bare"]) == numbers(alone["features"])


def kindness(question: str = "How kind is {GENERATION}?") -> dict[str, Feature]:
    return {"kind": Feature(kind="scorer", model="s", question=question, low=0, high=10)}


class TestScorer:
    def test_a_reply_that_is_no_number_is_null_with_the_reason(self) -> None:
        answers = {"good": "very", "bad": "11", "Spain is lovely.": "3/5"}
        models = Doubles(
            reply_to=lambda prompt: answers.get(
                prompt.split(" is ", 1)[1][:-1],
                "4",
            )
        )
        replies = generations(
            ("p1", "good"), ("p1", "bad"), ("p2", "fine"), ("p1", "-"), ("p3", "good")
        )
        rows = features_of(replies, kindness(), models)
        assert numbers(rows) == [None, None, 4, None, None]
        assert numbers(rows, "baseline") == [4, 4, None, 4, None]
        assert rows["reason"].tolist() == [
            "reply: no number in what the scorer said",
            "reply: the number of the scorer lies outside its range",
            "baseline: the scorer answered on a scale of its own",
            "empty reply",
            "reply: no number in what the scorer said; empty baseline",
        ]

    def test_a_question_about_both_texts(self) -> None:
        models = Doubles(
            reply_to=lambda prompt: "1" if prompt == "good beside France is lovely." else "0"
        )
        replies = generations(("p1", "good"), ("p2", "good"), ("p3", "good"))
        rows = features_of(replies, kindness("{GENERATION} beside {BASELINE}"), models)
        assert numbers(rows) == [1, 0, None]
        assert numbers(rows, "baseline") == [0, 0, None]
        assert reasons(rows) == [None, None, "empty baseline"]


class TestInput:
    def test_no_replies_or_no_features(self) -> None:
        none = extracted(generations(), {**VADER, **topics()})
        assert (len(none["features"]), len(none["topics"])) == (0, 0)
        fits(none)
        fits(extracted(generations(("p1", "good")), {}))

    def test_a_reply_to_no_prompt(self) -> None:
        with pytest.raises(ValueError, match="no prompt 'p9'"):
            extracted(generations(("p1", "a"), ("p9", "b")), VADER)

    def test_an_id_that_stands_twice(self) -> None:
        with pytest.raises(ValueError, match="stands twice"):
            extract_features(
                pd.concat([PROMPTS, PROMPTS]), generations(("p1", "a")), VADER, Doubles()
            )

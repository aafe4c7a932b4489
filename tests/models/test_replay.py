"""Answers of a release: replayed, asked again in part, compared, and refused where they are another
model's."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from evenruler.models import cache
from evenruler.models.cache import Cache
from evenruler.models.model import LIKELIHOOD, REPLY
from evenruler.models.questions import Reply, Sampling
from evenruler.models.replay import AGAIN, BLOCK, JOURNAL, MOST_AGAIN, AnswerRelease, ReplayCheck
from evenruler.models.store import RowStore
from evenruler.project import answers

TEXTS = ["The man is here.", "The girl is here.", "No girl is at sea."]
LIKELIHOODS = "likelihood-1.parquet"
NATS = {"x": -3.0, "y": -4.0}
NATS_AND_TOKENS = [(-3.0, 2), (-4.0, 2)]


@pytest.fixture
def release(tmp_path: Path, monkeypatch) -> Path:
    """Where the release of this test lies; stores are in the same folder."""
    folder = tmp_path / "recorded"
    monkeypatch.setattr(cache, "open_release", functools.cache(lambda: AnswerRelease(folder)))
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path))
    return folder


@pytest.fixture
def recorded(release: Path, tmp_path: Path, monkeypatch) -> Callable[..., None]:
    """Makes a release of what is done meanwhile."""

    def record(does: Callable[[], object]) -> None:
        with monkeypatch.context() as patch:
            patch.setenv(JOURNAL, str(tmp_path / "journal"))
            does()
        list(answers.write_release(tmp_path / "journal", release, "first", {"tiny": "mit"}))
        cache.open_release.cache_clear()

    return record


class TestWithAModel:
    """A real model, tiny and random."""

    def test_it_is_replayed_bit_by_bit_and_never_loaded(
        self, open_model, recorded, monkeypatch
    ) -> None:
        def ask(model):
            likelihoods = model.loglikelihood(TEXTS)
            replies = model.generate(TEXTS[:2], sampling=Sampling(4))
            return likelihoods.nats.tolist(), likelihoods.tokens.tolist(), replies

        answers = []
        recorded(lambda: answers.append(ask(open_model("first"))))
        monkeypatch.setenv(AGAIN, "0")
        model = open_model("second")
        monkeypatch.setattr(model, "_load", lambda: pytest.fail("the model was loaded"))

        assert ask(model) == answers[0]
        assert model.asked == 0

    def test_who_is_never_asked_finds_it_too(self, open_model, recorded, monkeypatch) -> None:
        recorded(lambda: open_model("first").loglikelihood(TEXTS))
        monkeypatch.setenv(AGAIN, "1")

        assert open_model("second").stored().loglikelihood(TEXTS).nats.shape == (3,)

    def test_a_release_says_who_answered_under_which_licence(
        self, open_model, recorded, release
    ) -> None:
        model = open_model("first")
        recorded(lambda: model.loglikelihood(TEXTS))

        content = json.loads((release / "release.json").read_text())

        assert content["models"] == {"tiny": "mit"}
        assert list(content["engines"].values()) == [json.loads(model.engine)]
        rows = pq.read_table(release / LIKELIHOODS)
        assert rows.column_names == ["key", "model", "engine", "answer"]
        assert content["files"][LIKELIHOODS]["rows"] == rows.num_rows == 3


class Scripted:
    """A model whose likelihoods and replies are given."""

    def __init__(self, root: Path, tokens: int = 2) -> None:
        self.tokens, self.store = tokens, RowStore(root)
        self.cache = Cache("tiny", '{"a": 1}', self.store)

    def say(self, values: dict[str, float]) -> list[tuple[float, int]]:
        answers = [(nats, self.tokens) for nats in values.values()]
        return self._answer("likelihood/1", values, answers, LIKELIHOOD)

    def reply(self, texts: dict[str, str]) -> list[Reply]:
        return self._answer("generation/2", texts, list(map(Reply, texts.values())), REPLY)

    def _answer(self, operation: str, questions: Any, answers: list[Any], codec: Any) -> list[Any]:
        def ask(_, missing):
            yield [(place, answers[place]) for place in sorted(missing)]

        return self.cache.answers(operation, list(questions), codec, ask)


class TestCompared:
    """Numbers that are known."""

    @pytest.fixture
    def some_again(self, monkeypatch):
        """Has so many of the answers asked again."""

        def ask_again(n):
            monkeypatch.setattr(AnswerRelease, "sample_keys", lambda self, keys: list(keys)[:n])

        return ask_again

    def test_last_bits_keep_what_the_release_says(self, recorded, tmp_path, some_again) -> None:
        recorded(lambda: Scripted(tmp_path / "a").say(NATS))
        some_again(1)

        assert (
            Scripted(tmp_path / "b").say(
                {
                    "x": -3.0005,
                    "y": -4.0005,
                }
            )
            == NATS_AND_TOKENS
        )

        replay = cache.open_release().compared
        assert (replay.replayed, replay.again, replay.difference) == (1, 1, pytest.approx(0.0005))
        again = "1 asked again, largest difference 0.0005"
        assert replay.summary_line == f"1 answers replayed from release first, {again}"

    @pytest.mark.parametrize(
        ("nats", "tokens"),
        [(-3.2, 2), (-3.0, 3)],
    )
    def test_another_number_or_length_stops_and_nothing_is_kept(
        self, nats, tokens, recorded, tmp_path, some_again, error_of
    ) -> None:
        recorded(
            lambda: Scripted(
                tmp_path / "a",
                tokens,
            ).say(NATS | {"x": nats})
        )
        some_again(1)
        for _ in range(2):  # not only the first time
            model = Scripted(tmp_path / "b")
            line = error_of(model.say, NATS)
            assert "tiny answers otherwise than the release holds" in line
            assert model.store.count() == 0

    def test_where_all_is_asked_it_goes_on_and_says_so(
        self, recorded, tmp_path, monkeypatch
    ) -> None:
        recorded(lambda: Scripted(tmp_path / "a").say(NATS | {"x": -3.2}))
        monkeypatch.setenv(AGAIN, "1")

        assert Scripted(tmp_path / "b").say(NATS) == NATS_AND_TOKENS

        replay = cache.open_release().compared
        assert replay.is_beyond
        assert (replay.replayed, replay.again, replay.difference) == (0, 2, pytest.approx(0.2))

    def test_a_reply_in_other_words_is_counted_and_half_of_them_stop(
        self, recorded, tmp_path, some_again, error_of
    ) -> None:
        texts = {
            "a": "1",
            "b": "2",
            "c": "3",
            "d": "4",
        }
        recorded(lambda: Scripted(tmp_path / "a").reply(texts))
        some_again(3)

        replies = Scripted(tmp_path / "b").reply({**texts, "c": "other"})

        assert [reply.text for reply in replies] == [*texts.values()]
        counted = "3 asked again, 1 of 3 replies in other words"
        assert cache.open_release().compared.summary_line.endswith(counted)
        line = error_of(Scripted(tmp_path / "c").reply, {**texts, "b": "other", "c": "other"})
        assert "2 of 3 replies in other words" in line

    @pytest.mark.parametrize(("n", "stops"), [(99, True), (100, False)])
    def test_one_number_in_a_hundred_may_differ(self, n, stops) -> None:
        replay = ReplayCheck("r")
        for nats in (-0.4, *[0.0] * (n - 1)):
            replay.compare_answers((-3.0, 0.0), (-3.0, nats))
        assert (replay.difference, replay.beyond, replay.is_beyond) == (0.4, 1, stops)

    @pytest.mark.parametrize(
        ("replies", "otherwise", "stops"),
        [
            (1, 1, False),
            (2, 2, True),
            (4, 2, False),
            (4, 3, True),
        ],
    )
    def test_half_of_the_replies_may_be_in_other_words(self, replies, otherwise, stops) -> None:
        replay = ReplayCheck("r", again=replies, replies=replies, otherwise=otherwise)
        assert replay.is_beyond is stops

    def test_a_hundredth_is_asked_again_in_blocks_of_neighbours_and_64_at_most(
        self, tmp_path
    ) -> None:
        answer_release = AnswerRelease(tmp_path)
        keys = [place.to_bytes(32, "big") for place in range(100_000)]
        drawn = [int.from_bytes(key, "big") for key in answer_release.sample_keys(keys)]
        assert len(drawn) == MOST_AGAIN == 64
        assert drawn == sorted(drawn)
        n_blocks = 1 + np.count_nonzero(np.diff(drawn) > 1)
        assert n_blocks <= MOST_AGAIN // BLOCK + 1, "a block may be cut off by the end"
        few = [len(answer_release.sample_keys(keys[:2000])) for _ in range(100)]
        assert 1500 < sum(few) < 2500  # 20 each, 11 standard deviations

    @pytest.mark.parametrize(
        ("held", "answered", "is_beyond"),
        [
            (-np.inf, -np.inf, False),
            (None, None, False),
            (np.nan, np.nan, False),  # two nulls are equal
            (np.nan, 1.0, True),
            (None, 1.0, True),
        ],
    )
    def test_infinite_and_absent_ones_are_alike(self, held, answered, is_beyond) -> None:
        replay = ReplayCheck("r")
        replay.compare_answers(held, answered)
        assert replay.is_beyond is is_beyond


class TestRefused:
    """In one line."""

    @pytest.fixture
    def refusal(self, recorded, tmp_path, error_of):
        """The line that ends a question, where something became of the release meanwhile."""

        def refuse(change):
            recorded(lambda: Scripted(tmp_path / "a").say({"x": -3.0}))
            change()
            return error_of(Scripted(tmp_path / "b").say, {"x": -3.0})

        return refuse

    @pytest.mark.parametrize(
        ("file", "content", "refused"),
        [
            (LIKELIHOODS, "PAR1", "it is not as release.json says (sha256)"),
            ("release.json", "[]", "no release of answers"),
        ],
    )
    def test_a_file_that_is_not_as_the_release_says(
        self, file, content, refused, refusal, release
    ) -> None:
        line = refusal(lambda: (release / file).write_text(content))
        assert f"{file}: {refused}" in line
        assert "git checkout" in line

    def test_a_share_that_is_none(self, refusal, monkeypatch) -> None:
        line = refusal(lambda: monkeypatch.setenv(AGAIN, "1.5"))
        assert "environment: EVENRULER_AGAIN: found '1.5'" in line

    def test_a_release_that_is_too_large_leaves_the_last_one(
        self, recorded, release, tmp_path, monkeypatch, error_of
    ) -> None:
        recorded(lambda: Scripted(tmp_path / "a").say({"x": -3.0}))
        before = (release / "release.json").read_bytes()
        monkeypatch.setattr(answers, "LARGEST", 10)

        line = error_of(recorded, lambda: Scripted(tmp_path / "a").say(NATS))
        assert "at most 0 are allowed" in line
        assert (release / "release.json").read_bytes() == before

    def test_no_journal_is_refused(self, tmp_path, error_of) -> None:
        lines = answers.write_release(tmp_path / "journal", tmp_path / "recorded", "first", {})
        assert "no journal of answers" in error_of(list, lines)

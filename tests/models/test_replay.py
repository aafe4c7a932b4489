"""Answers of a release: replayed, asked again in part, compared, and refused where they are another
model's."""

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from evenruler.errors import UserError
from evenruler.models import cache, load, replay
from evenruler.models.cache import Cache
from evenruler.models.model import LIKELIHOOD, REPLY, Model
from evenruler.models.questions import Reply, Sampling
from evenruler.models.replay import AGAIN, BLOCK, JOURNAL, MOST_AGAIN, AnswerRelease, ReplayCheck
from evenruler.models.store import RowStore, keys_of
from evenruler.project import answers
from tests.tiny import tiny_params

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


@pytest.fixture
def opened(llama_folder, tmp_path: Path) -> Callable[..., Model]:
    """The same model on a store of its own."""

    def open_on(store: str) -> Model:
        return load("tiny", tiny_params({"tiny": llama_folder}), store=RowStore(tmp_path / store))

    return open_on


class TestWithAModel:
    """A real model, tiny and random."""

    def test_it_is_replayed_bit_by_bit_and_never_loaded(
        self, opened, recorded, monkeypatch
    ) -> None:
        original = opened("first")
        recorded(
            lambda: (
                original.loglikelihood(TEXTS),
                original.generate(TEXTS[:2], sampling=Sampling(4)),
            )
        )
        monkeypatch.setenv(AGAIN, "0")
        model = opened("second")
        monkeypatch.setattr(model, "_load", lambda: pytest.fail("the model was loaded"))

        likelihoods = model.loglikelihood(TEXTS)

        assert likelihoods.nats.tolist() == original.loglikelihood(TEXTS).nats.tolist()
        assert likelihoods.tokens.tolist() == original.loglikelihood(TEXTS).tokens.tolist()
        assert model.generate(TEXTS[:2], sampling=Sampling(4)) == original.generate(
            TEXTS[:2], sampling=Sampling(4)
        )
        assert model.asked == 0

    def test_what_it_lacks_is_asked(self, opened, recorded, monkeypatch) -> None:
        recorded(lambda: opened("first").loglikelihood(TEXTS[:2]))
        monkeypatch.setenv(AGAIN, "0")
        model = opened("second")

        likelihoods = model.loglikelihood(TEXTS)

        assert model.asked == 3  # packs are of all texts
        assert likelihoods.nats.tolist() == opened("first").loglikelihood(TEXTS).nats.tolist()

    def test_who_is_never_asked_finds_it_too(self, opened, recorded, monkeypatch) -> None:
        recorded(lambda: opened("first").loglikelihood(TEXTS))
        monkeypatch.setenv(AGAIN, "1")

        assert opened("second").stored().loglikelihood(TEXTS).nats.shape == (3,)

    def test_at_1_all_is_asked_again_and_agrees(
        self, opened, recorded, monkeypatch, tmp_path
    ) -> None:
        recorded(lambda: opened("first").loglikelihood(TEXTS))
        monkeypatch.setenv(AGAIN, "1")
        model = opened("second")

        model.loglikelihood(TEXTS)

        assert model.asked == 3
        replay = cache.open_release().compared
        assert replay == ReplayCheck("first", replayed=0, again=3, difference=replay.difference)
        assert replay.difference < 1e-4

    def test_a_release_says_who_answered_under_which_licence(
        self, opened, recorded, release
    ) -> None:
        model = opened("first")
        recorded(lambda: model.loglikelihood(TEXTS))

        content = json.loads((release / "release.json").read_text())

        assert content["models"] == {"tiny": "mit"}
        assert list(content["engines"].values()) == [json.loads(model.engine)]
        rows = pq.read_table(release / LIKELIHOODS)
        assert rows.column_names == ["key", "model", "engine", "answer"]
        assert content["files"][LIKELIHOODS]["rows"] == rows.num_rows == 3
        keys = keys_of(model.engine, "likelihood/1", (["", text] for text in TEXTS))
        assert set(rows["key"].to_pylist()) == {key[:16] for key in keys}


class Scripted:
    """A model whose likelihoods and replies are given; it counts how often it is asked."""

    def __init__(self, root: Path, tokens: int = 2) -> None:
        self.tokens, self.store = tokens, RowStore(root)
        self.cache = Cache("tiny", '{"a": 1}', self.store)

    def say(self, values: dict[str, float]) -> list[tuple[float, int]]:
        def ask(
            questions: list[str], missing: frozenset[int]
        ) -> Iterator[list[tuple[int, tuple[float, int]]]]:
            yield [(place, (values[questions[place]], self.tokens)) for place in sorted(missing)]

        return self.cache.answers("likelihood/1", list(values), LIKELIHOOD, ask)

    def reply(self, values: dict[str, str]) -> list[Reply]:
        def ask(questions: list[str], missing: frozenset[int]) -> Iterator[list[tuple[int, Reply]]]:
            yield [(place, Reply(values[questions[place]])) for place in sorted(missing)]

        return self.cache.answers("generation/2", list(values), REPLY, ask)


class TestCompared:
    """Numbers that are known."""

    def test_last_bits_keep_what_the_release_says(self, recorded, tmp_path, monkeypatch) -> None:
        recorded(lambda: Scripted(tmp_path / "a").say(NATS))
        model = Scripted(tmp_path / "b")
        monkeypatch.setattr(AnswerRelease, "again", lambda self, keys: list(keys)[:1])

        assert model.say({"x": -3.0005, "y": -4.0005}) == NATS_AND_TOKENS

        replay = cache.open_release().compared
        assert (replay.replayed, replay.again, replay.difference) == (1, 1, pytest.approx(0.0005))
        assert (
            replay.said
            == "1 answers replayed from release first, 1 asked again, largest difference 0.0005"
        )

    @pytest.mark.parametrize("other", [(-3.2, 2), (-3.0, 3)])
    def test_another_number_or_length_stops_and_nothing_is_kept(
        self, other, recorded, tmp_path, monkeypatch
    ) -> None:
        nats, tokens = other
        recorded(lambda: Scripted(tmp_path / "a", tokens).say(NATS | {"x": nats}))
        monkeypatch.setattr(AnswerRelease, "again", lambda self, keys: list(keys)[:1])
        for _ in range(2):  # not only the first time
            model = Scripted(tmp_path / "b")
            with pytest.raises(UserError, match="tiny answers otherwise than the release holds"):
                model.say(NATS)
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
        self, recorded, tmp_path, monkeypatch
    ) -> None:
        text_by_question = {"a": "1", "b": "2", "c": "3", "d": "4"}
        recorded(lambda: Scripted(tmp_path / "a").reply(text_by_question))
        monkeypatch.setattr(AnswerRelease, "again", lambda self, keys: list(keys)[:3])

        replies = Scripted(tmp_path / "b").reply({**text_by_question, "c": "other"})

        assert [reply.text for reply in replies] == ["1", "2", "3", "4"]
        assert cache.open_release().compared.said.endswith(
            "3 asked again, 1 of 3 replies in other words"
        )
        with pytest.raises(UserError, match="2 of 3 replies in other words"):
            Scripted(tmp_path / "c").reply({**text_by_question, "b": "other", "c": "other"})

    @pytest.mark.parametrize(("n", "stops"), [(99, True), (100, False)])
    def test_one_number_in_a_hundred_may_differ(self, n, stops) -> None:
        replay = ReplayCheck("r")
        for place in range(n):
            nats = -0.4 if place == 7 else 0.0
            replay.take((-3.0, 0.0), (-3.0, nats))
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
        assert (
            ReplayCheck("r", again=replies, replies=replies, otherwise=otherwise).is_beyond is stops
        )

    def test_a_hundredth_is_asked_again_in_blocks_of_neighbours_and_64_at_most(
        self, tmp_path
    ) -> None:
        answer_release = AnswerRelease(tmp_path)
        keys = [place.to_bytes(32, "big") for place in range(100_000)]
        drawn = [int.from_bytes(key, "big") for key in answer_release.again(keys)]
        assert len(drawn) == MOST_AGAIN == 64
        starts = [place for place in drawn if place - 1 not in drawn]
        assert len(starts) <= MOST_AGAIN // BLOCK + 1, "a block may be cut off by the end"
        assert drawn == sorted(drawn)
        few = [len(answer_release.again(keys[:2000])) for _ in range(100)]
        assert 1500 < sum(few) < 2500  # 20 each, 11 standard deviations

    def test_infinite_and_absent_ones_are_alike(self) -> None:
        replay = ReplayCheck("r")
        for nats in (-np.inf, None):
            replay.take(nats, nats)
        assert replay.difference == 0
        replay.take(np.nan, np.nan)  # two nulls are equal
        assert replay.beyond == 0
        replay.take(np.nan, 1.0)
        assert replay.beyond == 1
        replay.take(None, 1.0)
        assert replay.is_beyond


class TestRefused:
    """In one line."""

    def test_a_file_that_is_not_as_the_release_says(
        self, recorded, release, tmp_path, error_of
    ) -> None:
        recorded(lambda: Scripted(tmp_path / "a").say({"x": -3.0}))
        (release / LIKELIHOODS).write_bytes(b"PAR1")

        line = error_of(Scripted(tmp_path / "b").say, {"x": -3.0})
        assert "recorded/likelihood-1.parquet: it is not as release.json says (sha256)" in line
        assert "git checkout" in line

    def test_a_release_that_is_none(self, release, tmp_path, error_of) -> None:
        release.mkdir()
        (release / "release.json").write_text("[]")
        assert "release.json: no release of answers" in error_of(
            Scripted(tmp_path / "b").say, {"x": -3.0}
        )

    @pytest.mark.parametrize("share", ["much", "1.5"])
    def test_a_share_that_is_none(self, share, recorded, tmp_path, monkeypatch, error_of) -> None:
        recorded(lambda: Scripted(tmp_path / "a").say({"x": -3.0}))
        monkeypatch.setenv(AGAIN, share)
        assert f"environment: EVENRULER_AGAIN: found {share!r}" in error_of(
            Scripted(tmp_path / "b").say, {"x": -3.0}
        )

    def test_a_release_that_is_too_large_leaves_the_last_one(
        self, recorded, release, tmp_path, monkeypatch
    ) -> None:
        recorded(lambda: Scripted(tmp_path / "a").say({"x": -3.0}))
        before = (release / "release.json").read_bytes()
        monkeypatch.setattr(answers, "LARGEST", 10)

        with pytest.raises(UserError, match="at most 0 are allowed"):
            recorded(lambda: Scripted(tmp_path / "a").say(NATS))
        assert (release / "release.json").read_bytes() == before

    def test_no_journal(self, tmp_path, error_of) -> None:
        lines = answers.write_release(tmp_path / "none", tmp_path / "recorded", "first", {})
        assert "no journal of answers" in error_of(list, lines)

    def test_embeddings_are_left_out(self, tmp_path, monkeypatch, error_of) -> None:
        monkeypatch.setenv(JOURNAL, str(tmp_path / "journal"))
        replay.note_down("mini", "{}", "embedding/1", [(bytes(32), b"[]", b"1234")])
        assert "no journal" in error_of(
            list, answers.write_release(tmp_path / "journal", tmp_path / "recorded", "first", {})
        )

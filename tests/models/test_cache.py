import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from evenruler.models import cache
from evenruler.models.backends.sampling import RowSampler
from evenruler.models.cache import AnswerCodec, Cache
from evenruler.models.model import Model
from evenruler.models.questions import LikelihoodRequest, Sampling, WordInPlace
from evenruler.models.store import RowStore, keys_of

FINGERPRINT = 1  # a row beside the answers
PARTS = (("The", "A", "No", "One"), ("man", "girl"), ("here", "at sea", "it"))
TEXTS = ["{} {} is {}.".format(*parts) for parts in product(*PARTS)]


@pytest.fixture(autouse=True)
def _small_packs(set_capacity) -> None:
    """So few nodes go into a pack that the texts fill several."""
    set_capacity(nodes=24)


@pytest.fixture
def unbroken(open_model) -> np.ndarray:
    """What a run that nothing interrupts answers."""
    return open_model("unbroken").loglikelihood(TEXTS).nats


def break_after(model: Model, packs: int, monkeypatch) -> list[int]:
    """Makes the model's scorer die after so many packs; returns the list that it notes their sizes
    in."""
    scorer, sizes = model.backend._scorer, []
    score = scorer.score

    def dies(pack):
        if len(sizes) == packs:
            raise KeyboardInterrupt
        sizes.append(len(pack))
        return score(pack)

    monkeypatch.setattr(scorer, "score", dies)
    return sizes


class TestNeverPayTwice:
    def test_a_generation_is_told_apart_by_all_that_it_depends_on(self, open_model) -> None:
        model = open_model()
        settings = [
            {"temperature": 0.5},
            {"top_p": 0.9},
            {"top_k": 7},
            {"max_new_tokens": 3},
            {},
        ]
        changes = [
            {"prompts": ["x"]},
            {"seeds": [1]},
            {"system": "Be brief."},
            {"chat": True},
        ]
        changes += [{"sampling": Sampling(**{"max_new_tokens": 2} | more)} for more in settings]
        for n_asked, options in enumerate(changes, start=1):
            model.generate(
                **{"prompts": ["The man"], "sampling": Sampling(2), "seeds": [0]} | options
            )
            assert model.asked == n_asked, options


class TestInterruption:
    def test_a_killed_run_keeps_its_packs_and_its_lease_is_free_for_the_rest(
        self, open_model, unbroken, monkeypatch
    ) -> None:
        killed = open_model()
        sizes = break_after(killed, 3, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            killed.loglikelihood(TEXTS)
        assert len(sizes) == 3
        assert killed._cache.store.count() == sum(sizes) + FINGERPRINT

        monkeypatch.setattr(cache, "print_note", lambda text: pytest.fail(text))
        resumed = open_model()
        nats = resumed.loglikelihood(TEXTS).nats

        assert resumed.asked == len(TEXTS) - sum(sizes) > 0
        assert nats.tolist() == unbroken.tolist()  # bit by bit

    def test_a_killed_generation_resumes_with_the_same_replies(
        self, open_model, monkeypatch
    ) -> None:
        """Batches of four, each stored whole after four steps."""
        question = {
            "sampling": Sampling(max_new_tokens=4),
            "seeds": range(len(TEXTS)),
        }
        unbroken = open_model("unbroken").generate(TEXTS, **question)
        killed, steps, step = open_model(), iter(range(14)), RowSampler.__call__

        def dies(*arguments):
            if next(steps, None) is None:
                raise KeyboardInterrupt
            return step(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(RowSampler, "__call__", dies)
            with pytest.raises(KeyboardInterrupt):
                killed.generate(TEXTS, **question)
        assert killed._cache.store.count() == 12 + FINGERPRINT

        resumed = open_model()
        assert resumed.generate(TEXTS, **question) == unbroken
        assert resumed.asked == len(TEXTS) - 12


class TestLimits:
    def test_a_text_that_the_model_cannot_hold_is_refused_in_one_line(
        self, open_model, error_of
    ) -> None:
        line = error_of(open_model().loglikelihood, ["fine", "q" * 256])

        assert line == f"'{'q' * 40}': a text of 256 tokens, the model takes 256; shorten it"


class TestLease:
    @pytest.fixture
    def holder(self, tmp_path):
        """The lease of the model, held by somebody else."""
        lock = FileLock(tmp_path / "store" / "leases" / "tiny.lock")
        Path(lock.lock_file).parent.mkdir(parents=True)
        with lock:
            yield lock

    @pytest.fixture
    def asking(self, holder, open_model, monkeypatch):
        """A thread that asks and has said that it waits, and what becomes of it."""
        waits, outcome = threading.Event(), {}

        def note(text):
            outcome.setdefault("notes", []).append(text)
            waits.set()

        def ask():
            model = open_model()
            outcome["nats"] = model.loglikelihood(TEXTS).nats.tolist()
            outcome["asked"] = model.asked

        monkeypatch.setattr(cache, "print_note", note)
        thread = threading.Thread(target=ask)
        thread.start()
        assert waits.wait(200)
        yield thread, outcome
        thread.join(200)

    def test_a_call_waits_until_who_asks_already_is_done(self, holder, unbroken, asking) -> None:
        thread, outcome = asking
        waiting = "tiny: another process is asking this model; waiting for it to finish"
        assert outcome == {"notes": [waiting]}

        holder.release()
        thread.join(200)

        assert outcome["asked"] == len(TEXTS)
        assert outcome["nats"] == unbroken.tolist()

    def test_what_the_other_found_meanwhile_is_not_asked_again(
        self, holder, unbroken, asking, tmp_path
    ) -> None:
        thread, outcome = asking
        answered = RowStore(tmp_path / "unbroken")._connection
        RowStore(tmp_path / "store").put(
            answered.execute("SELECT key, answer FROM kept").fetchall()
        )

        holder.release()
        thread.join(200)

        assert outcome["asked"] == 0
        assert outcome["nats"] == unbroken.tolist()

    def test_what_the_store_has_needs_no_lease(self, open_model, monkeypatch) -> None:
        open_model().loglikelihood(TEXTS)
        monkeypatch.setattr(cache, "FileLock", lambda path: pytest.fail("asked for the lease"))

        open_model().loglikelihood(TEXTS)


TEXT = AnswerCodec(str.encode, bytes.decode)


class TestWhatItIsTold:
    """A backend that says whatever it is given, without a model."""

    @pytest.fixture
    def answer_cache(self, store) -> Cache:
        return Cache("tiny", "engine", store)

    @staticmethod
    def upper(questions: list[str], missing: frozenset[int]) -> Iterator[list[tuple[int, str]]]:
        yield [(index, questions[index].upper()) for index in sorted(missing)]

    def test_a_question_is_its_own_key(self, answer_cache) -> None:
        answers = answer_cache.answers("say/1", ["a", "b", "a"], TEXT, self.upper)

        assert answers == ["A", "B", "A"]
        a, b = keys_of("engine", "say/1", ["a", "b"])
        assert answer_cache.store.get([a, b]) == {a: b"A", b: b"B"}

    def test_a_store_that_can_only_be_read_says_how_many_answers_are_missing(
        self, answer_cache, error_of
    ) -> None:
        answer_cache.answers("say/1", ["a"], TEXT, self.upper)
        answer_cache.store.is_writable = False

        line = error_of(answer_cache.answers, "say/1", ["a", "b", "c"], TEXT, self.upper)
        assert "rows.sqlite: 2 answers are missing" in line

    def test_more_than_was_asked_is_counted_and_not_kept(self, answer_cache) -> None:
        answer_cache.answers("say/1", ["a"], TEXT, self.upper)

        pack = [(0, "other"), (1, "B")]
        answer_cache.answers("say/1", ["a", "b"], TEXT, lambda *_: iter([pack]))

        assert answer_cache.asked == 3
        assert answer_cache.answers("say/1", ["a", "b"], TEXT, self.upper) == ["A", "B"]

    @pytest.mark.parametrize(
        ("question", "where"),
        [
            (LikelihoodRequest("is", "The man "), "'The man is'"),
            (WordInPlace("The man ", "is", "."), "'The man is.'"),
            ("x" * 200, "'" + "x" * 99),
        ],
    )
    def test_the_question_to_which_no_number_is_said_is_named(
        self, question, where, answer_cache, error_of
    ) -> None:
        codec = AnswerCodec(str.encode, bytes.decode, lambda _: False)

        def say(*_):
            yield [(0, "nan")]

        line = error_of(answer_cache.answers, "say/1", [question], codec, say, lambda _: "key")
        assert line == f"{where}: tiny answers with what is no number; take another dtype or model"

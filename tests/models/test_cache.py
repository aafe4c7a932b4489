import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from evenruler.models import cache, load
from evenruler.models.backends.causal import CAPACITY, Capacity
from evenruler.models.backends.sampling import RowSampler
from evenruler.models.cache import AnswerCodec, Cache
from evenruler.models.engines import environment
from evenruler.models.model import Model
from evenruler.models.questions import LikelihoodRequest, Sampling, WordInPlace
from evenruler.models.store import RowStore, keys_of
from evenruler.terminal import progress_bar
from tests.tiny import tiny_params

FINGERPRINT = 1  # a row beside the answers
PARTS = (("The", "A", "No", "One"), ("man", "girl"), ("here", "at sea", "it"))
TEXTS = [f"{article} {person} is {place}." for article, person, place in product(*PARTS)]


@pytest.fixture(autouse=True)
def _small_packs(monkeypatch) -> None:
    """So few nodes go into a pack that the texts fill several."""
    monkeypatch.setitem(CAPACITY, "cpu", Capacity(nodes=24, sequences=4, replies=4))
    monkeypatch.setattr(environment, "choose_device", lambda wanted: "cpu")


@pytest.fixture
def open_model(llama_folder, tmp_path) -> Callable[..., Model]:
    """Opens the same model on a store in a folder, as another process would."""

    def opened(where: str = "store") -> Model:
        return load("tiny", tiny_params({"tiny": llama_folder}), store=RowStore(tmp_path / where))

    return opened


@pytest.fixture
def unbroken(open_model) -> np.ndarray:
    """What a run that nothing interrupts answers."""
    return open_model("unbroken").loglikelihood(TEXTS).nats


def must_not_load() -> None:
    raise AssertionError("the model was loaded")


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
    def test_repeats_in_a_call_are_asked_once(self, open_model) -> None:
        model = open_model()

        nats = model.loglikelihood([TEXTS[0], TEXTS[1], TEXTS[0]]).nats

        assert model.asked == 2
        assert nats[0] == nats[2] != nats[1]

    def test_another_process_on_the_same_folder_asks_nothing_and_loads_nothing(
        self, open_model, monkeypatch
    ) -> None:
        first = open_model().loglikelihood(TEXTS)
        again = open_model()
        monkeypatch.setattr(again, "_load", must_not_load)

        second = again.loglikelihood(TEXTS[::-1])

        assert again.asked == 0
        assert second.nats.tolist() == first.nats[::-1].tolist()

    def test_a_call_with_new_texts_asks_only_packs_that_hold_new_ones(self, open_model) -> None:
        model = open_model()
        before = model.loglikelihood(TEXTS[:12]).nats  # The ..., A ...

        after = model.loglikelihood(TEXTS).nats  # ..., No ..., One ...

        assert after[:12].tolist() == before.tolist()
        assert len(TEXTS) <= model.asked < 12 + len(TEXTS)

    def test_a_generation_is_told_apart_by_all_that_it_depends_on(self, open_model) -> None:
        model = open_model()
        usual = {"prompts": ["The man"], "sampling": Sampling(max_new_tokens=2), "seeds": [0]}
        changes = [
            {"prompts": ["x"]},
            {"seeds": [1]},
            {"system": "Be brief."},
            {"chat": True},
            {"sampling": Sampling(max_new_tokens=2, temperature=0.5)},
            {"sampling": Sampling(max_new_tokens=2, top_p=0.9)},
            {"sampling": Sampling(max_new_tokens=2, top_k=7)},
            {"sampling": Sampling(max_new_tokens=3)},
        ]
        for n_asked, options in enumerate([{}, *changes], start=1):
            model.generate(**{**usual, **options})
            assert model.asked == n_asked, options

    def test_equal_settings_are_the_same_question(self, open_model) -> None:
        model = open_model()
        assert Sampling(temperature=0) == Sampling(temperature=0.0)
        model.generate(["The man"], sampling=Sampling(max_new_tokens=2, temperature=0.0))

        model.generate(["The man"], sampling=Sampling(max_new_tokens=2, temperature=0))

        assert model.asked == 1

    def test_likelihoods_and_generations_of_the_same_text_are_two_questions(
        self, open_model
    ) -> None:
        model = open_model()

        model.loglikelihood(["The man"])
        model.continuations(["The man"], [""])
        model.continuations([""], ["The man"])  # the same as the first
        model.generate(["The man"], sampling=Sampling(max_new_tokens=1))

        assert model.asked == 3


class TestInterruption:
    def test_a_killed_run_keeps_its_packs_and_its_lease_is_free_for_the_rest(
        self, open_model, unbroken, monkeypatch
    ) -> None:
        killed = open_model()
        sizes = break_after(killed, 3, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            killed.loglikelihood(TEXTS)
        assert len(sizes) == 3
        assert RowStore(killed._cache.store.root).count() == sum(sizes) + FINGERPRINT

        monkeypatch.setattr(cache, "print_note", lambda text: pytest.fail(text))
        resumed = open_model()
        nats = resumed.loglikelihood(TEXTS).nats

        assert resumed.asked == len(TEXTS) - sum(sizes) > 0
        assert nats.tolist() == unbroken.tolist()  # bit by bit

    def test_rows_that_are_lost_come_back_the_same(self, open_model, unbroken) -> None:
        model = open_model()
        model.loglikelihood(TEXTS)
        path = model._cache.store.root / "rows.sqlite"
        lost = np.random.default_rng(0).choice(len(TEXTS), 5, replace=False).tolist()
        keys = keys_of(model.engine, "likelihood/1", (["", TEXTS[index]] for index in lost))
        with sqlite3.connect(path) as connection:
            connection.executemany("DELETE FROM kept WHERE key = ?", [(key,) for key in keys])
        connection.close()
        assert RowStore(path.parent).count() == len(TEXTS) - 5 + FINGERPRINT

        again = open_model()
        nats = again.loglikelihood(TEXTS).nats

        assert nats.tolist() == unbroken.tolist()  # bit by bit
        packs = again.backend._scorer.packs(
            [again.backend._encoded([LikelihoodRequest(text)])[0] for text in TEXTS]
        )
        n_asked = sum(len(pack) for pack in packs if not set(lost).isdisjoint(pack))
        assert again.asked == n_asked < len(TEXTS)
        assert RowStore(path.parent).count() == len(TEXTS) + FINGERPRINT

    def test_a_killed_generation_resumes_with_the_same_replies(
        self, open_model, monkeypatch
    ) -> None:
        """Batches of four, each stored whole after four steps."""
        steps, stored = 14, 12
        sampling, seeds = Sampling(max_new_tokens=4), list(range(len(TEXTS)))
        unbroken = open_model("unbroken").generate(TEXTS, sampling=sampling, seeds=seeds)
        killed, done, step = open_model(), [], RowSampler.__call__

        def dies(*args):
            if len(done) == steps:
                raise KeyboardInterrupt
            done.append(args)
            return step(*args)

        with monkeypatch.context() as patch:
            patch.setattr(RowSampler, "__call__", dies)
            with pytest.raises(KeyboardInterrupt):
                killed.generate(TEXTS, sampling=sampling, seeds=seeds)
        assert RowStore(killed._cache.store.root).count() == stored + FINGERPRINT

        resumed = open_model()
        assert resumed.generate(TEXTS, sampling=sampling, seeds=seeds) == unbroken
        assert resumed.asked == len(TEXTS) - stored


class TestLimits:
    def test_a_text_that_the_model_cannot_hold_is_refused_in_one_line(
        self, open_model, error_of
    ) -> None:
        line = error_of(open_model().loglikelihood, ["fine", "q" * 256])

        assert line == f"'{'q' * 40}': a text of 256 tokens, the model takes 256; shorten it"

    def test_one_token_less_is_answered(self, open_model, plain_reference) -> None:
        model, text = open_model(), "q" * 255

        assert model.loglikelihood([text]).nats == pytest.approx(
            plain_reference(model, [text]), abs=1e-3
        )

    def test_prompt_and_option_count_together(self, open_model, error_of) -> None:
        line = error_of(open_model().continuations, ["p" * 200], ["o" * 56])

        assert "a text of 256 tokens" in line

    def test_nothing_is_answered_with_nothing(self, open_model, monkeypatch) -> None:
        model = open_model()
        monkeypatch.setattr(model, "_load", must_not_load)

        likelihoods = model.loglikelihood([])

        assert (likelihoods.nats.dtype, likelihoods.nats.size) == (np.float64, 0)
        assert (likelihoods.tokens.dtype, likelihoods.tokens.size) == (np.int64, 0)
        assert model.generate([]) == []


HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


class TestLease:
    @pytest.fixture
    def holder(self, tmp_path):
        """Another process that holds the lease of the model."""
        lock = tmp_path / "store" / "leases" / "tiny.lock"
        lock.parent.mkdir(parents=True)
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(lock)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()
        process.communicate()

    def asks_in_a_thread(
        self, open_model, monkeypatch
    ) -> tuple[threading.Thread, threading.Event, dict]:
        """Ask in a thread of its own; the event is set when it says that it waits."""
        waits, outcome = threading.Event(), {}

        def noted(text: str) -> None:
            outcome.setdefault("notes", []).append(text)
            waits.set()

        def ask() -> None:
            model = open_model()
            outcome["nats"] = model.loglikelihood(TEXTS).nats
            outcome["asked"] = model.asked

        monkeypatch.setattr(cache, "print_note", noted)
        thread = threading.Thread(target=ask)
        thread.start()
        return thread, waits, outcome

    def test_a_call_waits_until_the_process_that_asks_already_dies(
        self, holder, open_model, unbroken, monkeypatch
    ) -> None:
        thread, waits, outcome = self.asks_in_a_thread(open_model, monkeypatch)
        assert waits.wait(200)
        assert outcome == {
            "notes": ["tiny: another process is asking this model; waiting for it to finish"]
        }

        holder.kill()
        thread.join(200)

        assert outcome["asked"] == len(TEXTS)
        assert outcome["nats"].tolist() == unbroken.tolist()

    def test_what_the_other_process_found_meanwhile_is_not_asked_again(
        self, holder, open_model, unbroken, tmp_path, monkeypatch
    ) -> None:
        thread, waits, outcome = self.asks_in_a_thread(open_model, monkeypatch)
        assert waits.wait(200)

        with sqlite3.connect(tmp_path / "unbroken" / "rows.sqlite") as connection:
            stored_rows = connection.execute("SELECT key, answer FROM kept").fetchall()
        connection.close()
        RowStore(tmp_path / "store").put(stored_rows)
        holder.stdin.write("\n")
        holder.stdin.flush()
        thread.join(200)

        assert outcome["asked"] == 0
        assert outcome["nats"].tolist() == unbroken.tolist()

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

        assert "rows.sqlite: 2 answers are missing" in error_of(
            answer_cache.answers, "say/1", ["a", "b", "c"], TEXT, self.upper
        )

    def test_more_than_was_asked_is_counted_and_not_kept(self, answer_cache) -> None:
        answer_cache.answers("say/1", ["a"], TEXT, self.upper)

        pack = [(0, "other"), (1, "B")]
        answer_cache.answers("say/1", ["a", "b"], TEXT, lambda *_: iter([pack]))

        assert answer_cache.asked == 3
        assert answer_cache.answers("say/1", ["a", "b"], TEXT, self.upper) == ["A", "B"]

    def test_the_bar_names_model_operation_and_how_many_are_missing(
        self, answer_cache, monkeypatch
    ) -> None:
        bars = []

        def open_bar(*arguments):
            bars.append(progress_bar(*arguments))
            return bars[-1]

        monkeypatch.setattr(cache, "progress_bar", open_bar)
        answer_cache.answers("say/1:twice", ["a"], TEXT, self.upper)
        answer_cache.answers("say/1:twice", ["a", "b", "c"], TEXT, self.upper)

        assert [(bar.total, bar.n, bar.desc, bar.unit) for bar in bars] == [
            (1, 1, "tiny: say", "text"),
            (2, 2, "tiny: say", "text"),
        ]

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
        form = AnswerCodec(str.encode, bytes.decode, lambda _: False)

        line = error_of(
            answer_cache.answers,
            "say/1",
            [question],
            form,
            lambda *_: iter([[(0, "nan")]]),
            lambda _: "key",
        )

        assert line == f"{where}: tiny answers with what is no number; take another dtype or model"

"""What a model is asked for the instruments of a family, and what becomes of its answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.asking import (
    AnsweringModels,
    collect_answers,
    model_meta_of,
    tool_loader,
)
from evenruler.instruments.instrument import Adaptation, RequestBatch, State, Subject
from evenruler.models import LABELS, load
from evenruler.models.declarations import MINILM, OPERATIONS, operations_of
from evenruler.models.model import Model
from evenruler.models.questions import LogLikelihoods, Reply, Sampling, WordInPlace
from evenruler.models.store import RowStore
from tests.models.backends.test_encoders import save_classifier
from tests.tiny import save_tiny, save_tiny_masked, tiny_declaration, tiny_params
from tests.training.tiny import MOODS, PAIRS, params

SUBJECT = Subject(
    "m", "causal", "m", frozenset(OPERATIONS), chats=True, continues=True, forms=(), origin="o"
)

WORDS = ["nats", "ends", "alone", "first_nats", "first_token"]
TEXTS = ["The man is at the theatre.", "the man is a man", "x"]


def opened(folder: Path, root: Path, **entry: Any) -> Model:
    return load("tiny", tiny_params({"tiny": folder}, **entry), store=RowStore(root / "store"))


@pytest.fixture(scope="module")
def causal(tmp_path_factory) -> Model:
    root = tmp_path_factory.mktemp("causal")
    return opened(save_tiny(root / "model", chat=True), root, chat=True)


@pytest.fixture(scope="module")
def masked(tmp_path_factory) -> Model:
    root = tmp_path_factory.mktemp("masked")
    return opened(save_tiny_masked(root / "model"), root, kind="masked")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory) -> Model:
    root = tmp_path_factory.mktemp("classifier")
    return opened(save_classifier(root / "model"), root, kind="classifier")


@pytest.fixture(scope="module")
def embedder(tmp_path_factory) -> Model:
    return load(
        "minilm", tiny_params({}), store=RowStore(tmp_path_factory.mktemp("embedder") / "store")
    )


def request(
    operation: Any, inputs: Mapping[str, Sequence[Any]], table: str = "answers", **more: Any
) -> RequestBatch:
    """A request whose rows are numbered."""
    n = len(next(iter(inputs.values())))
    return RequestBatch(
        table, operation, pd.DataFrame({"id": [f"r{i}" for i in range(n)]}), inputs, **more
    )


def no_tool(name: str) -> Any:
    raise AssertionError(f"{name} was asked")


def once(*requests: RequestBatch) -> Any:
    """Asks these of every instrument, unless something was answered."""
    return lambda tables, plan, answers, subject: [] if answers else list(requests)


def answered(
    model: Any, *requests: RequestBatch, tools: Mapping[str, Any] | None = None
) -> dict[str, pd.DataFrame]:
    """What the model answers to requests of one instrument."""
    answering = AnsweringModels(model, tools.__getitem__ if tools else no_tool)
    return collect_answers({"one": ({}, {})}, once(*requests), SUBJECT, answering)


def columns(
    model: Any, operation: str, inputs: Mapping[str, Sequence[Any]], **settings: Any
) -> pd.DataFrame:
    """The columns of answers alone."""
    found = answered(model, request(operation, inputs, settings=settings))["answers"]
    n = len(next(iter(inputs.values())))
    assert list(found.columns[:2]) == ["instrument", "id"]
    assert found["instrument"].tolist() == ["one"] * n
    assert found["id"].tolist() == [f"r{i}" for i in range(n)]
    return found.drop(columns=["instrument", "id"])


def same(found: pd.DataFrame, expected: Mapping[str, Any]) -> None:
    """Whether columns are these, their names in order and every value."""
    assert list(found.columns) == list(expected)
    for name, values in expected.items():
        assert np.array_equal(np.stack(found[name].tolist()), np.asarray(values)), name


class TestOperations:
    """Each gives what the model's own method gives."""

    def test_loglikelihood(self, causal) -> None:
        found = columns(causal, "loglikelihood", {"text": TEXTS})
        same(found, asdict(causal.loglikelihood(TEXTS)))

    def test_what_recorded_replies_said_has_a_place_beside_texts_with_keys(self, causal) -> None:
        found = columns(causal, "loglikelihood", {"text": TEXTS, "key": ["a", "b", "c"]})
        same(found.drop(columns=["rule", "replied"]), asdict(causal.loglikelihood(TEXTS)))
        assert found[["rule", "replied"]].isna().all(axis=None)

    def test_loglikelihood_after_something(self, causal) -> None:
        before = ["So: ", "", "And "]
        found = columns(causal, "loglikelihood", {"text": TEXTS, "before": before})
        same(found, asdict(causal.loglikelihood(TEXTS, before=before)))
        assert not np.allclose(found["nats"], causal.loglikelihood(TEXTS).nats)

    @pytest.mark.parametrize("chat", [True, False])
    def test_words(self, causal, chat) -> None:
        prompts, forms = ["The man is", "The man is", "x"], [" a", " the", " he"]
        found = columns(causal, "words", {"prompt": prompts, "form": forms}, chat=chat)
        assert list(found.columns) == WORDS
        same(found, asdict(causal.whole_words(prompts, forms, chat=chat)))

    def test_generate(self, causal) -> None:
        found = columns(causal, "generate", {"prompt": TEXTS}, new_tokens=5)
        expected = causal.replies(TEXTS, sampling=causal.sampling(5))
        assert found["reply"].tolist() == [reply.text for reply in expected]
        assert found["reason"].isna().all()

    def test_generate_with_all_that_can_be_said(self, causal) -> None:
        inputs = {"prompt": TEXTS, "seed": [1, 2, 3], "system": ["You are a man.", None, ""]}
        found = columns(causal, "generate", inputs, new_tokens=5, chat=False, temperature=0.5)
        expected = causal.replies(
            TEXTS,
            sampling=Sampling(max_new_tokens=5, temperature=0.5),
            seeds=[1, 2, 3],
            system=["You are a man.", None, ""],
            chat=False,
        )
        assert found["reply"].tolist() == [reply.text for reply in expected]
        assert (
            found["reply"].tolist()
            != columns(causal, "generate", {"prompt": TEXTS}, new_tokens=5)["reply"].tolist()
        )

    def test_entail(self, causal) -> None:
        premises, hypotheses = TEXTS, ["He is.", "The man is a man.", "y"]
        inputs = {"premise": premises, "hypothesis": hypotheses}
        expected = causal.entailment(list(zip(premises, hypotheses, strict=True)))
        same(columns(causal, "entail", inputs), dict(zip(LABELS, expected.T, strict=True)))
        before = ["Now: ", "", "Now: "]
        later = causal.entailment(list(zip(premises, hypotheses, strict=True)), before=before)
        same(
            columns(causal, "entail", {**inputs, "before": before}),
            dict(zip(LABELS, later.T, strict=True)),
        )
        assert not np.allclose(expected, later)

    def test_in_place(self, masked) -> None:
        inputs = {
            "before": ["The ", "a ", ""],
            "word": ["man", "the", "he"],
            "after": [" is.", " x", " is"],
        }
        placed = [WordInPlace(*place) for place in zip(*inputs.values(), strict=True)]
        same(columns(masked, "in_place", inputs), {"nats": masked.in_place(placed)})

    def test_slor(self, causal) -> None:
        same(columns(causal, "slor", {"text": TEXTS}), {"slor": causal.slor(TEXTS)})

    def test_classify(self, classifier) -> None:
        found = columns(classifier, "classify", {"text": TEXTS})
        same(found, {"labels": [classifier.labels] * 3, "logits": classifier.classify(TEXTS)})

    def test_classify_whole(self, classifier) -> None:
        found = columns(classifier, "classify", {"text": TEXTS}, whole=True)
        same(
            found,
            {"labels": [classifier.labels] * 3, "probabilities": classifier.probabilities(TEXTS)},
        )

    def test_embed(self, embedder) -> None:
        same(columns(embedder, "embed", {"text": TEXTS}), {"vector": embedder.embed(TEXTS)})

    @pytest.mark.parametrize(
        ("kind", "operation", "inputs", "settings", "expected"),
        [
            ("causal", "loglikelihood", ["text"], {}, ["nats", "tokens"]),
            ("causal", "words", ["prompt", "form"], {"chat": False}, WORDS),
            ("causal", "generate", ["prompt"], {"new_tokens": 3}, ["reply", "reason", "finish"]),
            ("causal", "entail", ["premise", "hypothesis"], {}, list(LABELS)),
            ("masked", "in_place", ["before", "word", "after"], {}, ["nats"]),
            ("causal", "slor", ["text"], {}, ["slor"]),
            ("classifier", "classify", ["text"], {}, ["labels", "logits"]),
            ("embedder", "embed", ["text"], {}, ["vector"]),
        ],
    )
    def test_nothing_is_answered_with_nothing(
        self, request, kind, operation, inputs, settings, expected
    ) -> None:
        model = request.getfixturevalue(kind)
        asked = RequestBatch(
            "answers", operation, pd.DataFrame({"id": []}), {name: [] for name in inputs}, settings
        )
        found = answered(model, asked)["answers"]
        assert (len(found), list(found.columns)) == (0, ["instrument", "id", *expected])

    def test_a_model_that_cannot_says_so(self, classifier, error_of) -> None:
        assert "cannot slor" in error_of(answered, classifier, request("slor", {"text": TEXTS}))


class Counting:
    """A model that gives the length of a text for its likelihood and remembers every call."""

    def __init__(self, factor: float = 1.0) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.factor = factor

    @property
    def asked(self) -> int:
        return sum(len(call[1]) for call in self.calls)

    def loglikelihood(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        other_start: bool = False,
    ) -> LogLikelihoods:
        self.calls.append(
            ("loglikelihood", list(texts), before if before is None else list(before))
        )
        nats = np.array([self.factor * len(text) for text in texts], dtype=np.float64)
        return LogLikelihoods(nats, np.arange(len(texts)))

    def slor(self, texts: Sequence[str]) -> Any:
        self.calls.append(("slor", list(texts)))
        return np.full(len(texts), float(len(texts)))


class Writing:
    """A model that replies in capitals and remembers every call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def sampling(self, new_tokens: int) -> Sampling:
        return Sampling(new_tokens)

    def replies(self, prompts: Sequence[str], **settings: Any) -> list[Reply]:
        self.calls.append(list(prompts))
        return [Reply(text.upper()) for text in prompts]


def texts_of(tables: Any, plan: Any, answers: Any, subject: Any) -> list[RequestBatch]:
    """The texts of a plan, in one request."""
    return [] if answers else [request("loglikelihood", {"text": plan["texts"]})]


class TestOnePass:
    def test_like_requests_of_several_instruments_are_asked_together(self) -> None:
        model = Counting()
        instruments: Any = {
            "b": ({}, {"texts": ["x", "xyz"]}),
            "a": ({}, {"texts": ["xy"]}),
            "c": ({}, {"texts": []}),
        }
        answering = AnsweringModels(model, no_tool)  # type: ignore[arg-type]
        found = collect_answers(instruments, texts_of, SUBJECT, answering)["answers"]
        assert model.calls == [("loglikelihood", ["x", "xyz", "xy"], None)]
        assert found[["instrument", "id", "nats"]].to_numpy().tolist() == [
            ["b", "r0", 1.0],
            ["b", "r1", 3.0],
            ["a", "r0", 2.0],
        ]
        assert answering.asked == 3

    def test_replies_are_asked_for_by_instrument_so_that_one_alone_gets_the_same(self) -> None:
        model = Writing()

        def prompts_of(tables: Any, plan: Any, answers: Any, subject: Any) -> list[RequestBatch]:
            return (
                []
                if answers
                else [request("generate", {"prompt": plan["texts"]}, settings={"new_tokens": 3})]
            )

        instruments: Any = {"b": ({}, {"texts": ["x", "y"]}), "a": ({}, {"texts": ["z"]})}
        found = collect_answers(instruments, prompts_of, SUBJECT, AnsweringModels(model, no_tool))[
            "answers"
        ]  # type: ignore[arg-type]
        assert model.calls == [["x", "y"], ["z"]]
        assert found["reply"].tolist() == ["X", "Y", "Z"]

    @pytest.mark.parametrize(
        ("other", "calls"),
        [
            (request("loglikelihood", {"text": ["yy"]}, table="more"), 1),
            (request("loglikelihood", {"text": ["yy"], "before": ["z"]}), 2),
            (request("slor", {"text": ["yy"]}), 2),
            (request("loglikelihood", {"text": ["yy"]}, settings={"a": 1}), 2),
        ],
        ids=["for another table", "with other inputs", "another operation", "with other settings"],
    )
    def test_what_is_like(self, other, calls) -> None:
        model = Counting()
        answered(model, request("loglikelihood", {"text": ["x"]}), other)
        assert len(model.calls) == calls

    def test_answers_of_a_model_are_counted_once_however_often_it_is_asked(self) -> None:
        model = Counting()
        answering = AnsweringModels(model, no_tool)  # type: ignore[arg-type]
        requests = [
            request("slor", {"text": ["x", "y"]}),
            request("loglikelihood", {"text": ["z"]}),
        ]
        collect_answers({"one": ({}, {})}, once(*requests), SUBJECT, answering)
        assert (len(model.calls), answering.asked) == (2, 3)

    def test_settings_are_like_whatever_their_order(self) -> None:
        model = Counting()
        requests = [
            request("slor", {"text": ["x"]}, settings=settings)
            for settings in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
        ]
        found = answered(model, *requests)["answers"]
        assert model.calls == [("slor", ["x", "x"])]
        assert found["slor"].tolist() == [2.0, 2.0]

    def test_a_table_that_is_asked_for_twice_holds_both_below_each_other(self) -> None:
        model = Counting()
        requests = [
            request("loglikelihood", {"text": ["xyz", "x"]}),
            request("loglikelihood", {"text": ["xy"], "before": ["a"]}),
        ]
        found = answered(model, *requests)["answers"]
        assert found[["id", "nats"]].to_numpy().tolist() == [["r0", 3.0], ["r1", 1.0], ["r0", 2.0]]
        assert list(found.index) == [0, 1, 2]

    def test_rows_keep_their_order_whatever_their_index(self) -> None:
        rows = pd.DataFrame({"id": ["a", "b", "c"]}, index=[7, 3, 7])
        asked = RequestBatch("answers", "loglikelihood", rows, {"text": ["x", "xy", "xyz"]})
        assert answered(Counting(), asked)["answers"][["id", "nats"]].to_numpy().tolist() == [
            ["a", 1.0],
            ["b", 2.0],
            ["c", 3.0],
        ]

    def test_a_model_of_the_store_is_asked_once(self, tmp_path) -> None:
        model = opened(save_tiny(tmp_path / "model"), tmp_path)
        answering = AnsweringModels(model, no_tool)
        requests = once(request("loglikelihood", {"text": [*TEXTS, TEXTS[0]]}))
        first = collect_answers({"one": ({}, {}), "two": ({}, {})}, requests, SUBJECT, answering)[
            "answers"
        ]
        assert answering.asked == 3
        again = AnsweringModels(opened(tmp_path / "model", tmp_path), no_tool)
        pd.testing.assert_frame_equal(
            collect_answers({"one": ({}, {}), "two": ({}, {})}, requests, SUBJECT, again)[
                "answers"
            ],
            first,
        )
        assert again.asked == 0


class TestRounds:
    def test_what_is_asked_next_hangs_on_what_was_answered(self) -> None:
        """Each instrument sees its own answers alone; one may be done before another."""
        model, seen = Counting(), []

        def requests(tables: Any, plan: Any, answers: Any, subject: Any) -> list[RequestBatch]:
            seen.append({name: rows["nats"].tolist() for name, rows in answers.items()})
            if "first" not in answers:
                return [request("loglikelihood", {"text": plan["texts"]}, table="first")]
            longest = answers["first"]["nats"].max()
            if "second" in answers or longest < 3:
                return []
            return [request("loglikelihood", {"text": ["y" * (int(longest) + 1)]}, table="second")]

        instruments: Any = {"one": ({}, {"texts": ["x", "xyz"]}), "two": ({}, {"texts": ["xy"]})}
        found = collect_answers(instruments, requests, SUBJECT, AnsweringModels(model, no_tool))  # type: ignore[arg-type]
        assert [call[1] for call in model.calls] == [["x", "xyz", "xy"], ["yyyy"]]
        assert found["second"][["instrument", "nats"]].to_numpy().tolist() == [["one", 4.0]]
        assert seen == [
            {},
            {},
            {"first": [1.0, 3.0]},
            {"first": [2.0]},
            {"first": [1.0, 3.0], "second": [4.0]},
            {"first": [2.0]},
        ]

    def test_requests_are_given_tables_plan_and_subject(self) -> None:
        given = []
        tables, plan = {"rows": pd.DataFrame({"id": ["a"]})}, {"most": 3}
        collect_answers(
            {"one": (tables, plan)},
            lambda *words: given.append(words) or [],
            SUBJECT,
            AnsweringModels(Counting(), no_tool),
        )  # type: ignore[arg-type, func-returns-value]
        assert given == [(tables, plan, {}, SUBJECT)]

    def test_where_nothing_is_asked_there_is_no_table(self) -> None:
        assert answered(Counting()) == {}


class TestTools:
    def test_one_that_a_request_names_answers(self, embedder) -> None:
        model = Counting()
        requests = [
            request("loglikelihood", {"text": ["xy"]}),
            request("embed", {"text": ["xy"]}, "vectors", by="minilm"),
        ]
        found = answered(model, *requests, tools={"minilm": embedder})
        assert len(model.calls) == 1
        assert found["vectors"]["vector"][0].tolist() == embedder.embed(["xy"])[0].tolist()

    def test_each_answers_its_own(self) -> None:
        model, tools = Counting(), {"twice": Counting(2.0), "thrice": Counting(3.0)}
        names = ["", "twice", "thrice", "twice"]
        requests = [
            request("loglikelihood", {"text": ["x" * (i + 1)]}, by=name)
            for i, name in enumerate(names)
        ]
        answering = AnsweringModels(model, tools.__getitem__)  # type: ignore[arg-type]
        found = collect_answers({"one": ({}, {})}, once(*requests), SUBJECT, answering)["answers"]
        assert sorted(found["nats"]) == [1.0, 4.0, 8.0, 9.0]
        assert [len(each.calls) for each in (model, *tools.values())] == [1, 1, 1]
        assert answering.asked == 4
        assert answering.tools == tools

    def test_a_package_that_is_not_what_a_published_plan_says_is_refused(
        self, tmp_path, error_of
    ) -> None:
        entry = {**tiny_declaration({})["models"]["minilm"], "sha256": "0" * 64}
        tool = tool_loader(
            [{"tools": {"models": {"minilm": entry}}}], tmp_path / "plan.json", published=True
        )
        line = error_of(tool, "minilm")
        assert line.startswith(f"{tmp_path / 'plan.json'}: tools.models.minilm: ")
        assert (
            "corrupt: sha256 is b6d51d824861..., declared is 000000000000...; install the package "
            "again" in line
        )

    def test_a_plan_of_before_checksums_is_pinned_to_what_was_shipped_then(self, tmp_path) -> None:
        entry = {
            key: own
            for key, own in tiny_declaration({})["models"]["minilm"].items()
            if key != "sha256"
        }
        assert entry["source"] == MINILM
        tool = tool_loader(
            [{"tools": {"models": {"minilm": entry}}}], tmp_path / "plan.json", published=True
        )
        assert len(tool("minilm").embed(["a"])[0]) == 384


ADAPTATION = Adaptation(
    (("gloom", ("All is bad.",)), ("joy", ("All is good.",))), (("gloom", 2, 0.1, 1),)
)


class Way:
    """The subject on its way through corpora: by corpus, fit and epoch, each a model of its own."""

    def __init__(self) -> None:
        self.models: dict[tuple[str, int, int], Counting] = {}

    def at(self, corpus: str, fit: int, epoch: int) -> Counting:
        return self.models.setdefault(
            (corpus, fit, epoch), Counting(10.0**epoch if corpus == "gloom" else -fit)
        )

    def loss(self, corpus: str, fit: int, epoch: int) -> float:
        return len(corpus) + fit + epoch / 10


class TestStates:
    def answers(self, *requests: RequestBatch) -> tuple[pd.DataFrame, Counting, Way, list[State]]:
        model, way, states = Counting(), Way(), []
        answering = AnsweringModels(model, no_tool, lambda state: states.append(state) or way)  # type: ignore[arg-type, func-returns-value]
        return (
            collect_answers({"one": ({}, {})}, once(*requests), SUBJECT, answering)["answers"],
            model,
            way,
            states,
        )

    def test_the_subject_answers_in_each(self) -> None:
        states = [
            None,
            *(
                State(ADAPTATION, *at)
                for at in (("gloom", 1, 1), ("gloom", 1, 2), ("joy", 1, 1), ("joy", 3, 1))
            ),
        ]
        requests = [request("loglikelihood", {"text": ["xy"]}, state=state) for state in states]
        found, model, way, seen = self.answers(*requests, *requests)
        assert found["nats"].tolist() == [
            2.0,
            2.0,
            20.0,
            20.0,
            200.0,
            200.0,
            -2.0,
            -2.0,
            -6.0,
            -6.0,
        ]
        assert len(model.calls) == 1
        assert {key: len(own.calls) for key, own in way.models.items()} == {
            ("gloom", 1, 1): 1,
            ("gloom", 1, 2): 1,
            ("joy", 1, 1): 1,
            ("joy", 3, 1): 1,
        }
        assert {state.adaptation for state in seen} == {ADAPTATION}

    def test_the_loss_of_an_epoch_is_that_of_every_row(self) -> None:
        rows = pd.DataFrame({"epoch": [2, 2]})
        asked = RequestBatch(
            "answers", "adaptation_loss", rows, {}, state=State(ADAPTATION, "gloom", 3, 2)
        )
        found, model, way, _ = self.answers(asked)
        assert found[["epoch", "loss"]].to_numpy().tolist() == [[2, 8.2], [2, 8.2]]
        assert (model.calls, way.models) == ([], {})


class TestSubject:
    def test_of_a_causal_model(self, tmp_path) -> None:
        entry = {
            "chat": True,
            "forms": ["sentence", "verbaliser"],
            "lineage": "llamas",
            "intervention": "last",
        }
        assert model_meta_of("tiny", tiny_params({"tiny": tmp_path}, **entry)) == Subject(
            name="tiny",
            kind="causal",
            lineage="llamas",
            operations=frozenset({"loglikelihood", "words", "generate", "slor", "entail"}),
            chats=True,
            continues=True,
            forms=("sentence", "verbaliser"),
            origin="tests.tiny; cc0-1.0",
            adapted="last",
        )

    def test_of_one_that_only_chats(self) -> None:
        catalogue = tiny_params({"tiny": Path("x")}, kind="chat", source="endpoint:big")
        found = model_meta_of("tiny", catalogue)
        assert (found.kind, found.chats, found.continues, found.operations) == (
            "chat",
            True,
            False,
            {"generate"},
        )

    def test_of_an_embedder(self, tmp_path) -> None:
        found = model_meta_of("minilm", tiny_params({"tiny": tmp_path}))
        assert (found.lineage, found.operations, found.forms) == ("minilm", {"embed"}, ("head",))
        assert (found.can("embed"), found.can("classify"), found.adapted) == (True, False, None)

    @pytest.mark.parametrize(("data", "kind"), [(PAIRS, "nli"), (MOODS, "classifier")])
    def test_of_one_with_a_head_of_ours(self, tmp_path, monkeypatch, data, kind) -> None:
        catalogue = params(data)
        recipe = catalogue.models["tiny"].finetune
        assert recipe is not None
        record = {
            "labels": catalogue.labels("tiny"),
            "base": "0a" * 32,
            "recipe": recipe.model_dump(),
            "held_out": {"accuracy": 0.7, "n": 40},
        }
        path = tmp_path / "data/adapters/tiny/training.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(record))
        monkeypatch.chdir(tmp_path)
        found = model_meta_of("tiny", catalogue)
        assert (found.kind, found.operations) == (kind, operations_of(kind))

    def test_of_a_head_that_was_never_fitted(self, tmp_path, monkeypatch, error_of) -> None:
        monkeypatch.chdir(tmp_path)
        assert error_of(model_meta_of, "tiny", params(MOODS)).startswith(
            "data/adapters/tiny: tiny has no adapter yet"
        )

    def test_of_nobody(self, tmp_path, error_of) -> None:
        assert error_of(model_meta_of, "tinny", tiny_params({"tiny": tmp_path})) == (
            "params.yaml: models: no model 'tinny'; check the name (did you mean 'tiny'?) or add "
            "an entry"
        )

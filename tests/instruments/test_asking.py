"""What a model is asked for the instruments of a family, and what becomes of its answers."""

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
    collect_answers_listed,
    model_meta_of,
    tool_loader,
)
from evenruler.instruments.instrument import ModelMeta, RequestBatch
from evenruler.models import LABELS, load
from evenruler.models.backends.word_ends import UnlistedWordsError
from evenruler.models.declarations import MINILM, OPERATIONS, operations_of
from evenruler.models.model import Model
from evenruler.models.questions import LogLikelihoods, Reply, Sampling, WordInPlace
from evenruler.models.store import RowStore
from tests.models.backends.test_encoders import save_classifier
from tests.tiny import save_tiny, save_tiny_masked, tiny_declaration, tiny_params
from tests.training.tiny import MOODS, params

SUBJECT = ModelMeta(
    "m", "causal", "m", frozenset(OPERATIONS), chats=True, continues=True, methods=(), origin="o"
)

TEXTS = ["The man is at the theatre.", "the man is a man", "x"]


def opened(folder: Path, root: Path, **keys: Any) -> Model:
    return load(
        "tiny",
        tiny_params({"tiny": folder}, **keys),
        store=RowStore(root / "store"),
    )


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
        table,
        operation,
        pd.DataFrame({"id": [f"r{number}" for number in range(n)]}),
        inputs,
        **more,
    )


class Unlisted:
    """Stands for a model whose server gives likelihoods and replies, and lists few next tokens."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, batch: RequestBatch, inputs: Mapping[str, Any], n: int) -> dict[str, Any]:
        self.asked.append(batch.operation)
        if batch.operation == "words":
            raise UnlistedWordsError("the server lists at most 20", where="m", remedy="ask less")
        return {"nats": [0.5] * n}


def test_a_server_that_lists_too_few_tokens_is_asked_all_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One instrument needs words, and another likelihoods, which it gets nevertheless."""

    def requests(tables: Any, plan: Any, answers: Any, subject: ModelMeta) -> list[RequestBatch]:
        if answers:
            return []
        if plan["name"] == "forms":
            words = request("words", {"prompt": ["a"], "surface_form": [" b"]}, "forms")
            return [words] if subject.can("words") else []
        return [request("loglikelihood", {"text": ["c", "d"]}, "likelihoods")]

    instruments: Any = {name: ({}, {"name": name}) for name in ("forms", "texts")}
    model: Any = Unlisted()
    subject, answers = collect_answers_listed(instruments, requests, SUBJECT, model)
    assert subject.operations == SUBJECT.operations - {"words"}
    assert set(answers) == {"likelihoods"}
    assert answers["likelihoods"]["instrument"].tolist() == ["texts"] * 2
    assert "lists at most 20" in capsys.readouterr().err
    unchanged, _ = collect_answers_listed({"texts": instruments["texts"]}, requests, SUBJECT, model)
    assert unchanged == SUBJECT


def no_tool(name: str) -> Any:
    raise AssertionError(f"{name} was asked")


def once(*requests: RequestBatch) -> Any:
    """Asks these of every instrument, unless something was answered."""
    return lambda tables, plan, answers, subject: [] if answers else list(requests)


def answered(model: Any, *requests: RequestBatch) -> dict[str, pd.DataFrame]:
    """What the model answers to requests of one instrument."""
    answering = AnsweringModels(model, no_tool)
    return collect_answers(
        {"one": ({}, {})},
        once(*requests),
        SUBJECT,
        answering,
    )


def columns(
    model: Any, operation: str, inputs: Mapping[str, Sequence[Any]], **settings: Any
) -> pd.DataFrame:
    """The columns of answers alone."""
    answers = answered(model, request(operation, inputs, settings=settings))["answers"]
    n = len(next(iter(inputs.values())))
    assert list(answers.columns[:2]) == ["instrument", "id"]
    assert answers["instrument"].tolist() == ["one"] * n
    assert answers["id"].tolist() == [f"r{number}" for number in range(n)]
    return answers.drop(columns=["instrument", "id"])


def same(answers: pd.DataFrame, expected: Mapping[str, Any]) -> None:
    """Whether columns are these, their names in order and every value."""
    assert list(answers.columns) == list(expected)
    for name, values in expected.items():
        column = np.stack(answers[name].tolist())
        assert np.array_equal(column, np.asarray(values)), name


BEFORE = ["So: ", "", "And "]
FORMS = {
    "prompt": ["The man is", "The man is", "x"],
    "surface_form": [" a", " the", " he"],
}
CLAIMS = {"premise": TEXTS, "hypothesis": ["He is.", "The man is a man.", "y"]}
PLACES = {
    "before": ["The ", "a ", ""],
    "word": ["man", "the", "he"],
    "after": [" is.", " x", " is"],
}


def entailed(model: Model, before: Sequence[str] | None = None) -> Mapping[str, Any]:
    entailments = model.entailment(
        list(zip(*CLAIMS.values(), strict=True)),
        before=before,
    )
    return dict(zip(LABELS, entailments.T, strict=True))


def pseudo_scored(model: Model) -> dict[str, Any]:
    return asdict(model.pll(TEXTS))


def placed(model: Model) -> Mapping[str, Any]:
    places = zip(*PLACES.values(), strict=True)
    return {"nats": model.in_place([WordInPlace(*place) for place in places])}


def classified(model: Model, whole: bool = False) -> Mapping[str, Any]:
    labels = [model.labels] * len(TEXTS)
    if whole:
        return {"labels": labels, "probabilities": model.probabilities(TEXTS)}
    return {"labels": labels, "logits": model.classify(TEXTS)}


def worded(model: Model) -> Any:
    return asdict(model.whole_words(*FORMS.values(), chat=True))


def with_nothing(model: Model, operation: Any, inputs: Mapping[str, Any], **settings: Any) -> Any:
    """The columns of answers to nothing."""
    batch = RequestBatch(
        "answers", operation, pd.DataFrame({"id": []}), {name: [] for name in inputs}, settings
    )
    answers = answered(model, batch)["answers"]
    assert (len(answers), *answers.columns[:2]) == (0, "instrument", "id")
    return list(answers.columns[2:])


class TestOperations:
    """Each gives what the model's own method gives."""

    @pytest.mark.parametrize(
        ("kind", "operation", "inputs", "settings", "expected"),
        [
            (
                "causal",
                "loglikelihood",
                {"text": TEXTS},
                {},
                lambda m: asdict(m.loglikelihood(TEXTS)),
            ),
            ("causal", "words", FORMS, {"chat": True}, worded),
            (
                "causal",
                "next_words",
                {"prompt": TEXTS},
                {"words": ["the", "a"]},
                lambda m: {"nats": m.next_words(TEXTS, ["the", "a"])},
            ),
            ("causal", "entail", CLAIMS, {}, entailed),
            ("masked", "in_place", PLACES, {}, placed),
            ("masked", "pll", {"text": TEXTS}, {}, pseudo_scored),
            (
                "causal",
                "slor",
                {"text": TEXTS},
                {},
                lambda m: {"slor": m.slor(TEXTS)},
            ),
            ("classifier", "classify", {"text": TEXTS}, {}, classified),
            (
                "classifier",
                "classify",
                {"text": TEXTS},
                {"whole": True},
                lambda m: classified(m, whole=True),
            ),
            (
                "embedder",
                "embed",
                {"text": TEXTS},
                {},
                lambda m: {"vector": m.embed(TEXTS)},
            ),
        ],
    )
    def test_of_some_and_of_none(
        self, request, kind, operation, inputs, settings, expected
    ) -> None:
        model = request.getfixturevalue(kind)
        answers = columns(model, operation, inputs, **settings)
        same(answers, expected(model))
        assert with_nothing(model, operation, inputs, **settings) == list(answers.columns)

    def test_after_something(self, causal) -> None:
        answers = columns(causal, "loglikelihood", {"text": TEXTS, "before": BEFORE})
        same(answers, asdict(causal.loglikelihood(TEXTS, before=BEFORE)))
        same(columns(causal, "entail", {**CLAIMS, "before": BEFORE}), entailed(causal, BEFORE))
        same(
            columns(causal, "loglikelihood", {"text": TEXTS}, every=True),
            asdict(causal.loglikelihood(TEXTS)),
        )

    def test_generate_with_little_and_with_all_that_can_be_said(self, causal) -> None:
        plain = columns(causal, "generate", {"prompt": TEXTS}, new_tokens=5)
        expected = causal.replies(TEXTS, sampling=causal.sampling(5))
        assert plain["reply"].tolist() == [reply.text for reply in expected]
        assert plain["reason"].isna().all()
        seeds, systems = [1, 2, 3], ["You are a man.", None, ""]
        inputs = {"prompt": TEXTS, "seed": seeds, "system": systems}
        answers = columns(causal, "generate", inputs, new_tokens=5, chat=False, temperature=0.5)
        sampling = Sampling(max_new_tokens=5, temperature=0.5)
        expected = causal.replies(TEXTS, sampling=sampling, seeds=seeds, system=systems, chat=False)
        assert answers["reply"].tolist() == [reply.text for reply in expected]
        assert with_nothing(causal, "generate", {"prompt": TEXTS}, new_tokens=3) == list(plain)


class Counting:
    """A model that gives the length of a text for its likelihood and remembers every call."""

    def __init__(self, factor: float = 1.0) -> None:
        self.calls: list[list[str]] = []
        self.factor = factor

    @property
    def asked(self) -> int:
        return sum(map(len, self.calls))

    def loglikelihood(
        self, texts: Sequence[str], before: Sequence[str] | None = None, **_: Any
    ) -> LogLikelihoods:
        self.calls.append(list(texts))
        nats = self.factor * np.array([len(text) for text in texts], dtype=np.float64)
        return LogLikelihoods(nats, np.arange(len(texts)))

    def slor(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
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


TWO = {"a": 1, "b": 2}


class TestOnePass:
    def test_like_requests_of_several_instruments_are_asked_together(self) -> None:
        model = Counting()
        instruments: Any = {
            "b": ({}, {"texts": ["x", "xyz"]}),
            "a": ({}, {"texts": ["xy"]}),
            "c": ({}, {"texts": []}),
        }
        answering = AnsweringModels(model, no_tool)  # type: ignore[arg-type]
        answers = collect_answers(instruments, texts_of, SUBJECT, answering)["answers"]
        assert model.calls == [["x", "xyz", "xy"]]
        assert answers[["instrument", "id", "nats"]].to_numpy().tolist() == [
            ["b", "r0", 1.0],
            ["b", "r1", 3.0],
            ["a", "r0", 2.0],
        ]
        assert answering.n_computed == 3

    def test_replies_are_asked_for_by_instrument_so_that_one_alone_gets_the_same(self) -> None:
        model, settings = Writing(), {"new_tokens": 3}

        def prompts_of(tables: Any, plan: Any, answers: Any, subject: Any) -> list[RequestBatch]:
            return [] if answers else [request("generate", plan, settings=settings)]

        instruments: Any = {
            "b": ({}, {"prompt": ["x", "y"]}),
            "a": ({}, {"prompt": ["z"]}),
        }
        answering = AnsweringModels(model, no_tool)  # type: ignore[arg-type]
        answers = collect_answers(instruments, prompts_of, SUBJECT, answering)["answers"]
        assert model.calls == [["x", "y"], ["z"]]
        assert answers["reply"].tolist() == ["X", "Y", "Z"]

    @pytest.mark.parametrize(
        ("operation", "inputs", "more", "calls"),
        [
            ("loglikelihood", {}, {"table": "more", "settings": {"b": 2, "a": 1}}, 1),
            ("loglikelihood", {"before": ["z"]}, {"settings": TWO}, 2),
            ("slor", {}, {"settings": TWO}, 2),
            ("loglikelihood", {}, {"settings": {"a": 1}}, 2),
        ],
        ids=["for another table", "with other inputs", "another operation", "with other settings"],
    )
    def test_what_is_like(self, operation, inputs, more, calls) -> None:
        """Whatever the order of the settings."""
        model = Counting()
        first = request("loglikelihood", {"text": ["x"]}, settings=TWO)
        answered(model, first, request(operation, {"text": ["yy"], **inputs}, **more))
        assert len(model.calls) == calls


class TestRounds:
    def test_what_is_asked_next_hangs_on_what_was_answered(self) -> None:
        """Each instrument sees its own answers alone; one may be done before another."""
        model, seen = Counting(), []

        def requests(tables: Any, plan: Any, answers: Any, subject: Any) -> list[RequestBatch]:
            nats = {name: rows["nats"].tolist() for name, rows in answers.items()}
            seen.append(nats)
            if not nats:
                return [request("loglikelihood", plan, table="first")]
            if "second" in nats or max(nats["first"]) < 3:
                return []
            return [request("loglikelihood", {"text": ["yyyy"]}, table="second")]

        instruments: Any = {
            "one": ({}, {"text": ["x", "xyz"]}),
            "two": ({}, {"text": ["xy"]}),
        }
        answers = collect_answers(instruments, requests, SUBJECT, AnsweringModels(model, no_tool))  # type: ignore[arg-type]
        assert model.calls == [["x", "xyz", "xy"], ["yyyy"]]
        assert answers["second"][["instrument", "nats"]].to_numpy().tolist() == [
            ["one", 4.0],
        ]
        first, second = {"first": [1.0, 3.0]}, {"first": [2.0]}
        assert seen == [{}, {}, first, second, {**first, "second": [4.0]}, second]


PACKAGE: dict[str, Any] = tiny_declaration({})["models"]["minilm"]


class TestTools:
    @staticmethod
    def tool_of(package: dict[str, Any], plan: Path) -> Any:
        """What gives the tools of a published plan that names one."""
        return tool_loader([{"tools": {"models": {"minilm": package}}}], plan, published=True)

    def test_each_answers_its_own(self) -> None:
        model, tools = Counting(), {"twice": Counting(2.0), "thrice": Counting(3.0)}
        requests = [
            request("loglikelihood", {"text": ["x" * number]}, by=name)
            for number, name in enumerate(["", "twice", "thrice", "twice"], 1)
        ]
        answering = AnsweringModels(model, tools.__getitem__)  # type: ignore[arg-type]
        tables = collect_answers({"one": ({}, {})}, once(*requests), SUBJECT, answering)
        assert sorted(tables["answers"]["nats"]) == [1.0, 4.0, 8.0, 9.0]
        for counting in (model, *tools.values()):
            assert len(counting.calls) == 1
        assert answering.n_computed == 4

    def test_a_package_that_is_not_what_a_published_plan_says_is_refused(
        self, tmp_path, error_of
    ) -> None:
        package = {**PACKAGE, "sha256": "0" * 64}
        line = error_of(self.tool_of(package, tmp_path / "plan.json"), "minilm")
        assert line.startswith(f"{tmp_path / 'plan.json'}: tools.models.minilm: ")
        assert "corrupt: sha256 is b6d51d824861..., declared is 000000000000..." in line

    def test_a_plan_of_before_checksums_is_pinned_to_what_was_shipped_then(self, tmp_path) -> None:
        package = {key: declared for key, declared in PACKAGE.items() if key != "sha256"}
        assert package["source"] == MINILM
        tool = self.tool_of(package, tmp_path / "plan.json")
        assert len(tool("minilm").embed(["a"])[0]) == 384


class TestSubject:
    def test_of_a_causal_model(self, tmp_path) -> None:
        declared = {
            "chat": True,
            "methods": ["sentence", "verbaliser"],
            "lineage": "llamas",
            "intervention": "last",
        }
        meta = model_meta_of("tiny", tiny_params({"tiny": tmp_path}, **declared))
        assert meta == ModelMeta(
            name="tiny",
            kind="causal",
            lineage="llamas",
            operations=operations_of("causal"),
            chats=True,
            continues=True,
            methods=("sentence", "verbaliser"),
            origin="tests.tiny; cc0-1.0",
            adapted="last",
        )

    def test_of_a_head_that_was_never_fitted(self, tmp_path, monkeypatch, error_of) -> None:
        monkeypatch.chdir(tmp_path)
        assert error_of(model_meta_of, "tiny", params(MOODS)).startswith(
            "data/adapters/tiny: tiny has no adapter yet"
        )

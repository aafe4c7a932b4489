"""Answers that were recorded: three kinds of files, what they answer, and what is refused in one
line."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pyarrow as pa
import pytest

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.files import file_sha256
from evenruler.models import sources
from evenruler.models.answer_logs.exported import answer_as_json
from evenruler.models.answer_logs.items import LoggedItem, LoggedItems
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue
from evenruler.models.model import NEXT_WORDS, Model
from evenruler.models.store import RowStore
from evenruler.tables.frames import write_whole

STEREOSET = {
    "intrasentence": [{"id": "a", "score": 0.25}, {"id": "b", "score": 0.5}],
    "intersentence": [{"id": "c", "score": 0.125}],
}

BBQ = {
    "category": "Age",
    "question_index": "1",
    "example_id": 0,
    "context": "I saw both.",
    "question": "Who forgot?",
    "ans0": "The grandfather",
    "ans1": "The grandson",
    "ans2": "Can't be determined",
}

SAMPLES = [
    {
        "doc_id": 0,
        "arguments": {
            "gen_args_0": {"arg_0": "", "arg_1": "The poor are idle."},
            "gen_args_1": {"arg_0": "", "arg_1": "The rich are idle."},
        },
        "resps": [[["-17.5", "False"]], [["-16.25", "False"]]],
    },
    {
        "doc_id": 1,
        "arguments": {"gen_args_0": {"arg_0": "I saw him.", "arg_1": "He ran."}},
        "resps": [[["-4.5", "True"]]],
    },
]
"""As lm-evaluation-harness 0.4 writes them, less what is not read."""


OPTIONS = ("The grandfather", "The grandson", "Can't be determined")
QUESTION = "I saw both. Who forgot?"
AT_COMMIT = f"git:somebody/something@{'a' * 40}/some/file.json"


def lines(rows: Sequence[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def open_recorded(path: object, cache: Path, **named: Any) -> Model:
    source, store = f"recorded:{path}", RowStore(cache / "cache")
    resolved = resolve_model(source, store, **named)
    return load_model(resolved.name, resolved.catalogue, store=store, where=source)


def chosen(model: Model, category: str, *places: int) -> list[float]:
    """What it says of the second option of these questions of a category."""
    keys = [f"{category}/1/{place}/1" for place in places]
    n = len(keys)
    return list(
        model.loglikelihood(
            [OPTIONS[1]] * n,
            [QUESTION] * n,
            keys=keys,
        ).nats
    )


def scores_of(model: Model, n: int) -> list[list[float]]:
    """[n][3] what it says of all options of the first n questions on age."""
    keys = [f"Age/1/{number // 3}/{number % 3}" for number in range(3 * n)]
    likelihoods = model.loglikelihood(
        OPTIONS * n,
        [QUESTION] * len(keys),
        keys=keys,
    )
    return likelihoods.nats.reshape(n, 3).tolist()


Open = Callable[..., Model]


@pytest.fixture
def recorded(tmp_path: Path) -> Open:
    """A model of a file with this content."""

    def open_log(text, name="log.jsonl", column=""):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return open_recorded(
            f"{path}{column}",
            tmp_path,
            name="mine",
        )

    return open_log


def test_predictions_of_stereoset_go_by_the_ids_of_sentences(recorded: Open, error_of) -> None:
    model = recorded(json.dumps(STEREOSET), "predictions.json")
    before = ["", "", "before"]
    likelihoods = model.loglikelihood(
        ["x", "y", "z"],
        before,
        keys=["b", "a", "c"],
    )
    assert likelihoods.nats.tolist() == [0.5, 0.25, 0.125]
    assert likelihoods.tokens.tolist() == [-1, -1, -1]
    assert (model.asked, model.kind) == (0, "recorded")
    assert "cannot be asked more" in error_of(lambda: model.backend)


def test_predictions_of_bbq_are_words_of_an_option(recorded: Open) -> None:
    """Case and stops do not count, and a reply that was cut off is the option that it begins."""
    model = recorded(predicted("the grandson.", "can't be deter", "nobody", "the grand"))
    assert scores_of(model, 4) == [
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 0],
        [0, 0, 0],
    ]


def test_a_part_of_which_a_file_has_nothing_is_not_answered(recorded: Open) -> None:
    model = recorded(predicted("the grandson"))
    keys = ["Age/1/0/1", "Religion/1/0/1"]
    likelihoods = model.loglikelihood(
        ["The grandson", "A nun"],
        [QUESTION] * 2,
        keys=keys,
    )
    assert likelihoods.nats.tolist() == [1, pytest.approx(np.nan, nan_ok=True)]


def test_one_of_several_columns_is_named(recorded: Open, error_of) -> None:
    text = lines([{**BBQ, "big_pred_race": "the grandson", "big_pred_arc": "the grandfather"}])
    assert "2 columns of predictions" in error_of(recorded, text)
    assert "no column 'arc' of predictions" in error_of(recorded, text, column="#arc")
    assert chosen(recorded(text, column="#big_pred_arc"), "Age", 0) == [0]


def test_a_folder_holds_several_files(tmp_path: Path) -> None:
    for category in ("Age", "Religion"):
        text = predicted("the grandson", category=category)
        (tmp_path / f"{category}.jsonl").write_text(text)
    model = open_recorded(tmp_path, tmp_path, name="mine")
    assert chosen(model, "Age", 0) == chosen(model, "Religion", 0) == [1]


@pytest.mark.parametrize("is_pll", [True, False])
def test_scores_of_a_table_are_asked_as_what_they_are(
    tmp_path: Path, error_of, is_pll: bool
) -> None:
    method, declared = ("pll", {"pll": True}) if is_pll else ("", {})
    path = tmp_path / "scores.csv"
    path.write_text(f"key,first,second,method\n1,-3,-4,{method}\n")
    terms = {"kind": "recorded", "licence": "mit", "origin": "a test"}

    def load(**fields: Any) -> Model:
        entry = {**terms, "source": f"recorded:{path}", **fields}
        catalogue = Catalogue.model_validate({"models": {"authors": entry}})
        return load_model("authors", catalogue, store=RowStore(tmp_path / "cache"))

    wanted, refused = ("pll", "loglikelihood") if is_pll else ("loglikelihood", "pll")
    assert f"say `pll: {method == 'pll'}`".lower() in error_of(load, pll=not is_pll)
    model = load(**declared)
    roles, keys = ("first", "second"), ("1/a", "1/b")
    item = LoggedItem("1", "w", "", ("a", "b"), roles, keys, (None, None))
    model.join_benchmark(LoggedItems("made 1.0.0", [item]))
    scored = getattr(model, wanted)(["a", "b"], keys=["1/a", "1/b"])
    assert scored.nats.tolist() == [-3.0, -4.0]
    line = error_of(getattr(model, refused), ["a", "b"], keys=["1/a", "1/b"])
    assert f"(kind recorded) cannot {refused}, only {wanted}" in line


def test_logged_samples_go_by_prompt_and_text(recorded: Open, error_of) -> None:
    model = recorded(lines(SAMPLES))
    texts, before = ["The rich are idle.", "The poor are idle.", "He ran."], ["", "", "I saw him."]
    likelihoods = model.loglikelihood(
        texts,
        before,
        between="",
        keys=["any", "key", "at all"],
    )
    assert likelihoods.nats.tolist() == [-16.25, -17.5, -4.5]
    # After another space it is another text.
    line = error_of(model.loglikelihood, texts, before)
    assert "it lacks the answers to 1 of 3 texts, as 'He ran.'" in line


def test_samples_of_older_logs_are_lists(recorded: Open) -> None:
    arguments, replies = (
        [
            ["", "One."],
            ["", "Two."],
        ],
        [[[-1.5, False]], [[-2.5, False]]],
    )
    model = recorded(lines([{"doc_id": 0, "arguments": arguments, "resps": replies}]))
    assert model.loglikelihood(["Two.", "One."]).nats.tolist() == [-2.5, -1.5]


def test_exported_answers_are_those_of_the_model_that_is_not_adapted(tmp_path: Path) -> None:
    likelihood = {"operation": "likelihood/1", "question": "{}", "answer": "[-1.5, 3]"}
    adapted = {
        **likelihood,
        "engine": "of the model, adapted",
        "key": b"adapted" * 4,
    }
    plain = {
        **likelihood,
        "engine": "of the model",
        "key": b"plain" * 4,
    }
    path = tmp_path / "answers.parquet"
    write_whole(pa.Table.from_pylist([adapted, plain]), path)
    terms = {
        "licence": "mit",
        "origin": "somebody",
        "sha256": file_sha256(path),
    }
    description = json.dumps({"name": "theirs", "kind": "causal", **terms})
    (tmp_path / "model.json").write_text(description, encoding="utf-8")
    model = open_recorded(tmp_path, tmp_path)
    assert (model.name, model.engine) == ("theirs", "of the model")


def test_words_that_were_not_read_are_null_in_an_export() -> None:
    stored = NEXT_WORDS.pack(np.array([-1.5, np.nan, -2.25]))

    answer = answer_as_json("next-words/1", stored)

    assert answer == [-1.5, None, -2.25]
    assert NEXT_WORDS.pack(answer) == stored


def predicted(*answers: object, **more: object) -> str:
    """Rows of one model, with these answers."""
    rows = [{**BBQ, "example_id": n, "m_pred": answer} for n, answer in enumerate(answers)]
    return lines([row | more for row in rows])


def second_sample(**more: object) -> dict[str, object]:
    return {**SAMPLES[1], **more}


def logged(nats: object, **more: object) -> str:
    """A log of the second sample with another likelihood."""
    return lines([second_sample(resps=[[[nats, "False"]]], **more)])


BROKEN = [
    ("log.jsonl", lines(SAMPLES)[:-40], "line 2: not JSON, or cut off"),
    ("log.jsonl", lines([*SAMPLES, SAMPLES[1]]), "line 3: document 1 is answered twice"),
    ("log.jsonl", logged("nan"), "the answer to 'He ran.' is no number ('nan')"),
    ("log.jsonl", logged("2e-6"), "2e-06 is no log-likelihood of 'He ran.', which is never"),
    ("log.jsonl", logged("-inf"), "the model gave 'He ran.' no finite likelihood (-inf); run it"),
    (
        "log.jsonl",
        lines([second_sample(resps=[["a long reply"]])]),
        "its task generates, and likelihoods are needed",
    ),
    ("log.jsonl", logged("-9") + logged("-8", doc_id=2), "has two other likelihoods"),
    ("log.jsonl", logged("-9") + logged("-8", filter="strict"), "document 1 is answered twice"),
    ("log.jsonl", "", "neither published predictions nor logged samples"),
    ("log.jsonl", lines([SAMPLES[0], [1]]), "line 2: no object of JSON"),
    (
        "results.json",
        json.dumps({"results": {"crows_pairs_english": {"pct_stereotype": 0.57}}}, indent=2),
        "a summary (scores, no answers), as lm-evaluation-harness writes it; take samples_*.jsonl",
    ),
    ("some.json", '{"intrasentence": [{"id": "a"}]}', "the answer to 'a' is no number (None)"),
    (
        "some.json",
        json.dumps({"intrasentence": [{"id": "a", "score": 1}] * 2}),
        "'a' is answered twice",
    ),
    (
        "log.jsonl",
        predicted("a", None),
        "line 2: the reply is no text (None); the answer is lacking: take a whole log",
    ),
    ("log.jsonl", predicted("a", ""), "line 2: the reply is empty ('')"),
    ("log.jsonl", lines([BBQ]), "line 1: 0 columns of predictions; add the predictions"),
    # Several models.
    (
        "log.jsonl",
        predicted("a", model="one") + predicted("b", model="two"),
        "answers of 2 models (one, two); put the rows of each model into a file of its own",
    ),
    # Places of options that may begin at 0 or at 1.
    (
        "log.jsonl",
        predicted(1, 2, 3),
        "m_pred holds 1, 2, 3, which may count ans0 as 0 or as 1; write 0, 1 and 2 for",
    ),
    (
        "log.jsonl",
        predicted(0, "The grandson"),
        "line 2: m_pred is 'The grandson', and a number in 1 other rows",
    ),
]


@pytest.mark.parametrize("answers", [(0, 1, 2), "012"])
def test_predictions_may_be_places_of_options(answers: Sequence[object], recorded: Open) -> None:
    assert scores_of(recorded(predicted(*answers)), 3) == np.eye(3).tolist()


def test_a_reply_that_is_a_digit_among_texts_is_not_read(recorded: Open) -> None:
    scores = scores_of(recorded(predicted("the grandson", "2")), 2)
    assert scores == [[0, 1, 0], [0, 0, 0]]


def test_likelihoods_under_two_filters_are_read_once_and_may_be_rounded_above_zero(
    recorded,
) -> None:
    sample = second_sample(resps=[[["1e-6", "True"]]])
    model = recorded(lines([{**sample, "filter": name} for name in ("none", "strict")]))
    likelihoods = model.loglikelihood(
        ["He ran."],
        ["I saw him."],
        between="",
    )
    assert likelihoods.nats.tolist() == [1e-6]


@pytest.mark.parametrize(("name", "text", "reason"), BROKEN)
def test_files_that_are_broken(text: str, name: str, reason: str, recorded: Open, error_of) -> None:
    assert reason in error_of(recorded, text, name)


def test_answers_of_another_benchmark_half_of_them_and_other_texts(
    recorded: Open, error_of
) -> None:
    ask = recorded(lines(SAMPLES)).loglikelihood
    line = error_of(ask, ["Something else.", "And more."])
    assert "none of its answers (lm-evaluation-harness samples) is to one of these 2 text" in line
    line = error_of(ask, ["The poor are idle.", "The poor are idle!"])
    assert "it lacks the answers to 1 of 2 texts, as 'The poor are idle!'; take a whole log" in line


def test_an_entry_of_the_catalogue_is_pinned_to_a_commit_and_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error_of
) -> None:
    """A source at a commit is not fetched where a mirror has its bytes, whatever the file is called
    there."""
    path = tmp_path / "renamed"
    path.write_text(json.dumps(STEREOSET))
    monkeypatch.setenv(sources.MIRROR, str(tmp_path))
    sha256 = file_sha256(path)

    def authors(source=f"recorded:{AT_COMMIT}", **more) -> Model:
        terms = {"licence": "cc-by-sa-4.0", "origin": "its authors"}
        entry = {"kind": "recorded", "source": source, **terms, **more}
        catalogue = Catalogue.model_validate({"models": {"authors": entry}})
        return load_model(
            "authors",
            catalogue,
            store=RowStore(tmp_path / "cache"),
        )

    assert authors(sha256=sha256).loglikelihood(["x"], keys=["a"]).nats.tolist() == [0.25]
    entry_of = "params.yaml: models.authors: "
    assert error_of(authors) == f"{entry_of}sha256 is missing; say the checksum of the file"
    line = error_of(
        authors,
        f"recorded:{path}",
        sha256="0" * 64,
    )
    assert line.startswith(f"{entry_of}renamed: other bytes than were declared (sha256 {sha256}, ")
    with pytest.raises(ValueError, match="the kind recorded needs a source `recorded:FILE`"):
        authors("local:folder")


def test_a_file_is_fetched_once_and_kept_if_its_bytes_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error_of
) -> None:
    addresses: list[str] = []

    def get(address: str, **_: object) -> httpx2.Response:
        addresses.append(address)
        if len(addresses) == 1:
            raise httpx2.ConnectError("no network")
        return httpx2.Response(
            200,
            content=b"bytes",
            request=httpx2.Request("GET", address),
        )

    monkeypatch.delenv(sources.MIRROR, raising=False)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(httpx2, "get", get)
    sha256, zeros = hashlib.sha256(b"bytes").hexdigest(), "0" * 64
    verify = sources.verified_file
    assert "cannot be fetched (ConnectError); " in error_of(verify, AT_COMMIT, sha256, "here")
    place = AT_COMMIT.removeprefix("git:").replace("@", "/")
    assert addresses == [f"https://raw.githubusercontent.com/{place}"]
    branch = "git:somebody/something@main/file.json"
    assert "say git:OWNER/NAME@COMMIT/PATH" in error_of(verify, branch, sha256, "here")
    mismatch = f"other bytes than were declared (sha256 {sha256}, expected 000000000000...); "
    assert mismatch in error_of(verify, AT_COMMIT, zeros, "here")
    for _ in range(2):
        assert verify(AT_COMMIT, sha256, "here").read_bytes() == b"bytes"
    assert len(addresses) == 3  # refused, once for each checksum, and then from the cache


def test_a_text_after_a_prompt_without_a_space(tiny: Open) -> None:
    """Log-likelihoods of a continuation as it stands, as lm-evaluation-harness has it with the
    delimiter ""."""
    model = tiny()
    options = model.continuations(["I saw him."], ["He ran.", " He ran."])[0]
    bare = model.loglikelihood(["He ran."], ["I saw him."], between="").nats[0]
    spaced = model.loglikelihood(["He ran."], ["I saw him."]).nats[0]
    assert [bare, spaced] == pytest.approx(options.tolist())
    assert bare != spaced

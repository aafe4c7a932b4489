"""Answers that were recorded: three kinds of files, what they answer, and what is refused in one
line."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evenruler.errors import UserError
from evenruler.evaluate.resolve_model import resolve_model
from evenruler.files import file_sha256
from evenruler.models import sources
from evenruler.models.catalogue import load_model
from evenruler.models.declarations import Catalogue
from evenruler.models.model import Model
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


def lines(rows: Sequence[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Model]:
    """A model of a file with this content."""

    def make(text: str, name: str = "log.jsonl", column: str = "") -> Model:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        source = f"recorded:{path}{column}"
        store = RowStore(tmp_path / "cache")
        resolved = resolve_model(source, store, name="mine")
        return load_model("mine", resolved.catalogue, store=store, where=source)

    return make


def error_of(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as raised:
        call()
    line = str(raised.value)
    assert "\n" not in line
    return line


def test_predictions_of_stereoset_go_by_the_ids_of_sentences(
    recorded,
) -> None:
    model = recorded(json.dumps(STEREOSET), "predictions.json")
    before = ["", "", "before"]
    likelihoods = model.loglikelihood(["x", "y", "z"], before, keys=["b", "a", "c"])
    assert likelihoods.nats.tolist() == [0.5, 0.25, 0.125]
    assert likelihoods.tokens.tolist() == [-1, -1, -1]
    assert (model.asked, model.kind) == (0, "recorded")


def test_predictions_of_bbq_are_words_of_an_option(recorded) -> None:
    """Case and stops do not count, and a reply that was cut off is the option that it begins."""
    expected_by_reply = {
        "the grandson.": [0, 1, 0],
        "can't be deter": [0, 0, 1],
        "nobody": [0, 0, 0],
        "the grand": [0, 0, 0],
    }
    rows = [
        {**BBQ, "example_id": place, "big_pred_race": reply}
        for place, reply in enumerate(expected_by_reply)
    ]
    model = recorded(lines(rows))
    options = ("The grandfather", "The grandson", "Can't be determined")
    for place, expected in enumerate(expected_by_reply.values()):
        keys = [f"Age/1/{place}/{option}" for option in range(3)]
        likelihoods = model.loglikelihood(options, ["I saw both. Who forgot?"] * 3, keys=keys)
        assert likelihoods.nats.tolist() == expected


def test_a_part_of_which_a_file_has_nothing_is_not_answered(recorded) -> None:
    model = recorded(lines([{**BBQ, "big_pred": "the grandson"}]))
    before = ["I saw both. Who forgot?"] * 2
    likelihoods = model.loglikelihood(
        ["The grandson", "A nun"], before, keys=["Age/1/0/1", "Religion/1/0/1"]
    )
    assert likelihoods.nats[0] == 1
    assert np.isnan(likelihoods.nats[1])


def test_one_of_several_columns_is_named(recorded) -> None:
    rows = [{**BBQ, "big_pred_race": "the grandson", "big_pred_arc": "the grandfather"}]
    assert (
        "2 columns of predictions; say recorded:FILE#COLUMN with one of big_pred_arc, big_pred_race"
        in error_of(lambda: recorded(lines(rows)))
    )
    assert "no column 'arc' of predictions" in error_of(
        lambda: recorded(lines(rows), column="#arc")
    )
    model = recorded(lines(rows), column="#big_pred_arc")
    assert model.loglikelihood(
        ["The grandson"], ["I saw both. Who forgot?"], keys=["Age/1/0/1"]
    ).nats.tolist() == [0]


def test_a_folder_holds_several_files(tmp_path) -> None:
    for name, category in (("a.jsonl", "Age"), ("b.jsonl", "Religion")):
        (tmp_path / name).write_text(
            lines([{**BBQ, "category": category, "big_pred": "the grandson"}])
        )
    store = RowStore(tmp_path / "cache")
    resolved = resolve_model(f"recorded:{tmp_path}", store, name="mine")
    model = load_model("mine", resolved.catalogue, store=store, where="here")
    keys = ["Age/1/0/1", "Religion/1/0/1"]
    before = ["I saw both. Who forgot?"] * 2
    likelihoods = model.loglikelihood(["The grandson"] * 2, before, keys=keys)
    assert likelihoods.nats.tolist() == [1, 1]


def test_logged_samples_go_by_prompt_and_text(recorded) -> None:
    model = recorded(lines(SAMPLES))
    texts, before = ["The rich are idle.", "The poor are idle.", "He ran."], ["", "", "I saw him."]
    likelihoods = model.loglikelihood(texts, before, between="", keys=["any", "key", "at all"])
    assert likelihoods.nats.tolist() == [-16.25, -17.5, -4.5]
    # After another space it is another text.
    assert "it lacks the answers to 1 of 3 texts, as 'He ran.'" in error_of(
        lambda: model.loglikelihood(texts, before)
    )


def test_samples_of_older_logs_are_lists(recorded) -> None:
    rows = [
        {
            "doc_id": 0,
            "arguments": [["", "One."], ["", "Two."]],
            "resps": [[[-1.5, False]], [[-2.5, False]]],
        }
    ]
    likelihoods = recorded(lines(rows)).loglikelihood(["Two.", "One."])
    assert likelihoods.nats.tolist() == [-2.5, -1.5]


def test_it_cannot_be_asked_more(recorded) -> None:
    model = recorded(lines(SAMPLES))
    assert "answers that were recorded cannot be asked more" in error_of(lambda: model.backend)


def test_exported_answers_are_those_of_the_model_that_is_not_adapted(tmp_path) -> None:
    likelihood = {"operation": "likelihood/1", "question": "{}", "answer": "[-1.5, 3]"}
    adapted = {**likelihood, "engine": "of the model, adapted", "key": b"adapted" * 4}
    plain = {**likelihood, "engine": "of the model", "key": b"plain" * 4}
    write_whole(pa.Table.from_pylist([adapted, plain]), tmp_path / "answers.parquet")
    description = {"name": "theirs", "kind": "causal", "licence": "mit", "origin": "somebody"}
    description["sha256"] = file_sha256(tmp_path / "answers.parquet")
    (tmp_path / "model.json").write_text(json.dumps(description), encoding="utf-8")
    store = RowStore(tmp_path / "cache")
    source = f"recorded:{tmp_path}"
    resolved = resolve_model(source, store)
    model = load_model(resolved.name, resolved.catalogue, store=store, where=source)
    assert (model.name, model.engine) == ("theirs", "of the model")


def test_another_file_is_another_engine(recorded) -> None:
    engine = recorded(lines(SAMPLES)).engine
    assert recorded(lines(SAMPLES)).engine == engine
    assert recorded(lines(SAMPLES[:1])).engine != engine


def second_sample(**more: object) -> Mapping[str, object]:
    return {**SAMPLES[1], **more}


BROKEN = [
    (lines(SAMPLES)[:-40], "log.jsonl", "line 2: not JSON, or cut off"),
    (lines([*SAMPLES, SAMPLES[1]]), "log.jsonl", "line 3: document 1 is answered twice"),
    (
        lines([second_sample(resps=[[["nan", "False"]]])]),
        "log.jsonl",
        "the answer to 'He ran.' is no number ('nan')",
    ),
    (
        lines([second_sample(resps=[["a long reply"]])]),
        "log.jsonl",
        "its task generates, and likelihoods are needed",
    ),
    (
        lines([second_sample(doc_id=0), second_sample(doc_id=1, resps=[[["-9", "False"]]])]),
        "log.jsonl",
        "has two other likelihoods",
    ),
    (lines([{"a": 1}]), "log.jsonl", "neither published predictions nor logged samples"),
    (
        lines([[1]]),
        "log.jsonl",
        "log.jsonl: a JSON list of 1 entries; write each of them on a line of its own",
    ),
    (lines([SAMPLES[0], [1]]), "log.jsonl", "line 2: no object of JSON"),
    (
        json.dumps(SAMPLES, indent=2),
        "log.json",
        "log.json: a JSON list of 2 entries; write each of them on a line",
    ),
    (
        json.dumps({"results": {"crows_pairs_english": {"pct_stereotype": 0.57}}}, indent=2),
        "results.json",
        "results.json: a summary (scores, no answers), as lm-evaluation-harness writes it; take "
        "samples_*.jsonl, which",
    ),
    (
        lines([second_sample(resps=[[["5.0", "False"]]])]),
        "log.jsonl",
        "5.0 is no log-likelihood of 'He ran.', which is never",
    ),
    (
        lines([second_sample(resps=[[["2e-6", "False"]]])]),
        "log.jsonl",
        "2e-06 is no log-likelihood",
    ),
    (
        lines([second_sample(resps=[[[True, False]]])]),
        "log.jsonl",
        "the answer to 'He ran.' is no number (True)",
    ),
    (
        lines([second_sample(resps=[[["-inf", "False"]]])]),
        "log.jsonl",
        "the model gave 'He ran.' no finite likelihood (-inf); run it in float32 (dtype=float32) "
        "and log it again",
    ),
    (
        lines([second_sample(), second_sample(filter="strict", resps=[[["-9", "False"]]])]),
        "log.jsonl",
        "document 1 is answered twice",
    ),
    ("", "log.jsonl", "neither published predictions nor logged samples"),
    ('{"intrasentence": [{"id": "a"}]}', "some.json", "the answer to 'a' is no number (None)"),
    (
        json.dumps({"intrasentence": [{"id": "a", "score": 1}] * 2}),
        "some.json",
        "'a' is answered twice",
    ),
    (lines([{**BBQ, "p_pred": "x"}] * 2), "log.jsonl", "line 2: 'Age/1/0' is answered twice"),
]


def predicted(*answers: object, **more: object) -> str:
    """Rows of one model, with these answers."""
    return lines(
        [
            {**BBQ, "example_id": place, "m_pred": answer, **more}
            for place, answer in enumerate(answers)
        ]
    )


BROKEN += [
    (
        predicted("a", None),
        "log.jsonl",
        "line 2: the reply is no text (None); the answer is lacking: take a whole log",
    ),
    (predicted("a", ""), "log.jsonl", "line 2: the reply is empty ('')"),
    (predicted(1.0), "log.jsonl", "line 1: the reply is no text (1.0)"),
    (lines([BBQ]), "log.jsonl", "line 1: 0 columns of predictions; add the predictions"),
    # Several models.
    (
        predicted("a", model="one")
        + lines([{**BBQ, "example_id": 7, "m_pred": "b", "model": "two"}]),
        "log.jsonl",
        "answers of 2 models (one, two); put the rows of each model into a file of its own",
    ),
    (
        "".join(predicted("a", model=model) for model in "abcd"),
        "log.jsonl",
        "answers of 4 models (a, b, c, ...)",
    ),
    # Places of options that may begin at 0 or at 1.
    (
        predicted(1, 2, 3),
        "log.jsonl",
        "m_pred holds 1, 2, 3, which may count ans0 as 0 or as 1; write 0, 1 and 2 for",
    ),
    (predicted("0", "3"), "log.jsonl", "m_pred holds 0, 3, which may"),
    (
        predicted(0, "The grandson"),
        "log.jsonl",
        "line 2: m_pred is 'The grandson', and a number in 1 other rows",
    ),
]


@pytest.mark.parametrize("answers", [(0, 1, 2, 1), ("0", "1", "2", "1")])
def test_predictions_may_be_places_of_options(recorded, answers) -> None:
    model = recorded(predicted(*answers))
    options = ("The grandfather", "The grandson", "Can't be determined")
    places = product(range(4), range(3))
    keys = [f"Age/1/{row}/{place}" for row, place in places]
    likelihoods = model.loglikelihood(options * 4, ["I saw both. Who forgot?"] * 12, keys=keys)
    chosen = likelihoods.nats.reshape(4, 3).argmax(axis=1)
    assert chosen.tolist() == [0, 1, 2, 1]
    assert likelihoods.nats.sum() == 4


def test_a_reply_that_is_a_digit_among_texts_is_not_read(recorded) -> None:
    model = recorded(predicted("the grandson", "2"))
    keys = [f"Age/1/1/{place}" for place in range(3)]
    options = ("The grandfather", "The grandson", "Can't be determined")
    assert model.loglikelihood(
        options, ["I saw both. Who forgot?"] * 3, keys=keys
    ).nats.tolist() == [0, 0, 0]


def test_rows_of_another_model_are_told_apart_by_the_column(recorded) -> None:
    other = lines([{**BBQ, "n_pred": "the grandfather"}])
    ask = [["The grandson"], ["I saw both. Who forgot?"]]
    for column, expected in (("m_pred", 1), ("n_pred", 0)):
        model = recorded(predicted("the grandson") + other, column=f"#{column}")
        assert model.loglikelihood(*ask, keys=["Age/1/0/1"]).nats.tolist() == [expected]


def test_likelihoods_under_two_filters_are_read_once(recorded) -> None:
    rows = [{**row, "filter": name} for name, row in product(("none", "strict"), SAMPLES)]
    model = recorded(lines(rows))
    likelihoods = model.loglikelihood(["He ran."], ["I saw him."], between="")
    assert likelihoods.nats.tolist() == [-4.5]


def test_a_likelihood_may_be_rounded_above_zero(recorded) -> None:
    text = lines([second_sample(resps=[[["1e-6", "True"]]])])
    assert recorded(text).loglikelihood(["He ran."], ["I saw him."], between="").nats.tolist() == [
        1e-6
    ]


@pytest.mark.parametrize(("text", "name", "reason"), BROKEN)
def test_files_that_are_broken(recorded, text, name, reason) -> None:
    assert reason in error_of(lambda: recorded(text, name))


def test_answers_of_another_benchmark_half_of_them_and_other_texts(
    recorded,
) -> None:
    samples = recorded(lines(SAMPLES))
    line = error_of(lambda: samples.loglikelihood(["Something else.", "And more."]))
    assert (
        "none of its answers (lm-evaluation-harness samples) is to one of these 2 texts; name the "
        "benchmark" in line
    )
    line = error_of(lambda: samples.loglikelihood(["The poor are idle.", "The poor are idle!"]))
    assert "it lacks the answers to 1 of 2 texts, as 'The poor are idle!'; take a whole log" in line
    words = recorded(lines([{**BBQ, "p_pred": "the grandson"}]))
    ask = [["The grandson", "The uncle"], ["I saw both. Who forgot?"] * 2]
    line = error_of(lambda: words.loglikelihood(*ask, keys=["Age/1/0/1", "Age/1/0/0"]))
    assert "it answers another text than 'Age/1/0' of this benchmark" in line


def test_a_file_that_is_not_there(tmp_path) -> None:
    store = RowStore(tmp_path / "cache")
    resolved = resolve_model(f"recorded:{tmp_path / 'no.json'}", store, name="mine")
    assert "no.json: no such file" in error_of(
        lambda: load_model("mine", resolved.catalogue, store=store)
    )


def test_an_entry_of_the_catalogue_is_pinned_to_a_commit_and_its_bytes(
    tmp_path, monkeypatch
) -> None:
    """A source at a commit is not fetched where a mirror has its bytes, whatever the file is called
    there."""
    path = tmp_path / "mirror/deep/renamed"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(STEREOSET))
    monkeypatch.setenv(sources.MIRROR, str(tmp_path / "mirror"))
    at_commit, sha256 = f"git:somebody/something@{'a' * 40}/some/file.json", file_sha256(path)
    store = RowStore(tmp_path / "cache")

    def authors(**changes: str) -> Model:
        entry = {
            "kind": "recorded",
            "source": f"recorded:{at_commit}",
            "licence": "cc-by-sa-4.0",
            "origin": "its authors",
            **changes,
        }
        catalogue = Catalogue.model_validate({"models": {"authors": entry}})
        return load_model("authors", catalogue, store=store)

    assert authors(sha256=sha256).loglikelihood(["x"], keys=["a"]).nats.tolist() == [0.25]
    line = error_of(authors)
    assert line == "params.yaml: models.authors: sha256 is missing; say the checksum of the file"
    line = error_of(lambda: authors(source=f"recorded:{path}", sha256="0" * 64))
    assert line.startswith(
        f"params.yaml: models.authors: renamed: other bytes than were declared (sha256 {sha256}, "
    )
    with pytest.raises(ValueError, match="the kind recorded needs a source `recorded:FILE`"):
        authors(source="local:folder")
    monkeypatch.setenv(sources.MIRROR, str(tmp_path / "absent"))
    line = error_of(lambda: sources.verified_file(at_commit, sha256, "here"))
    assert line == "environment: EVENRULER_MIRROR: no such folder; fix it or unset it"


def test_a_file_is_fetched_once_and_kept_if_its_bytes_are_right(tmp_path, monkeypatch) -> None:
    import hashlib

    import httpx2

    addresses: list[str] = []

    def get(address: str, **_: object) -> httpx2.Response:
        addresses.append(address)
        if len(addresses) == 1:
            raise httpx2.ConnectError("no network")
        return httpx2.Response(200, content=b"bytes", request=httpx2.Request("GET", address))

    monkeypatch.delenv(sources.MIRROR, raising=False)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(httpx2, "get", get)
    place = f"{'a' * 40}/some/file.json"
    sha256, zeros = hashlib.sha256(b"bytes").hexdigest(), "0" * 64
    source = f"git:somebody/something@{place}"
    assert error_of(lambda: sources.verified_file(source, sha256, "here")).endswith(
        "cannot be fetched (ConnectError); put it into a folder and name that in EVENRULER_MIRROR"
    )
    assert addresses == [f"https://raw.githubusercontent.com/somebody/something/{place}"]
    branch = "git:somebody/something@main/file.json"
    line = error_of(lambda: sources.verified_file(branch, sha256, "here"))
    assert "say git:OWNER/NAME@COMMIT/PATH" in line
    bytes_are = f"other bytes than were declared (sha256 {sha256}, expected 000000000000...); "
    other = error_of(lambda: sources.verified_file(source, zeros, "here"))
    assert f"{bytes_are}install the version that requirements-models.txt names, or fix" in other
    (tmp_path / "mine.csv").write_bytes(b"bytes")
    mine = f"local:{tmp_path}/mine.csv"
    local = error_of(lambda: sources.verified_file(mine, zeros, "here"))
    assert local.endswith(f"{bytes_are}if it is the right file, write `sha256: {sha256}`")
    for _ in range(2):
        assert sources.verified_file(source, sha256, "here").read_bytes() == b"bytes"
    assert len(addresses) == 3  # refused, once for each checksum, and then from the cache


def test_a_text_after_a_prompt_without_a_space(tiny) -> None:
    """Log-likelihoods of a continuation as it stands, as lm-evaluation-harness has it with the
    delimiter ""."""
    model = tiny()
    by_options = model.continuations(["I saw him."], ["He ran.", " He ran."])[0]
    bare = model.loglikelihood(["He ran."], ["I saw him."], between="").nats
    spaced = model.loglikelihood(["He ran."], ["I saw him."]).nats
    assert [bare[0], spaced[0]] == pytest.approx(by_options.tolist())
    assert bare[0] != spaced[0]

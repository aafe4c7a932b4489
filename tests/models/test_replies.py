"""Replies in logs of lm-evaluation-harness and inspect_ai: which option they are, and what is
refused in one line."""

import copy
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models.answer_logs.inspect_ai import read_zipped_log
from evenruler.models.answer_logs.logged import normalise_question, parse_logged_reply
from evenruler.models.catalogue import load_model
from evenruler.models.model import Model
from evenruler.models.store import RowStore

OPTIONS = ("The grandfather", "The grandson", "Can't be determined")
TURNED = [*OPTIONS[1:], OPTIONS[0]]

EVAL = Path(__file__).with_name("inspect_bbq.eval")


def test_labels_of_a_question_do_not_count() -> None:
    assert normalise_question(
        "Context: I saw both.\n\nQuestion: Who forgot?"
    ) == normalise_question("I saw both.\n\nQ: Who forgot?\nA:")


ANSWERS = {f"ans{place}": option for place, option in enumerate(OPTIONS)}
DOC = {
    "example_id": 0,
    "question_index": "1",
    "category": "Age",
    "context": "I saw both.",
    "question": "Who?",
    "choices": [*OPTIONS],
    **ANSWERS,
}
BOTH = "I saw both.\n\nQ: Who?\nA:"


def generated(doc_id: int, reply: object, prompt: str = BOTH, **more: object) -> dict[str, Any]:
    """A sample of lm_eval's bbq_generate (0.4.13), less what is not read."""
    asked_with = {
        "arg_0": prompt,
        "arg_1": {"until": ["\n\n"]},
    }
    sample = {
        "doc_id": doc_id,
        "doc": {**DOC, "example_id": doc_id},
        "target": "2",
    }
    replies = {
        "resps": [[reply]],
        "filtered_resps": [reply],
        "filter": "none",
    }
    return {**sample, "arguments": {"gen_args_0": asked_with}, **replies, **more}


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


Recorded = Callable[..., Model]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """A model of a file with this content."""

    def open_log(content, name="log.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        source, store = f"recorded:{path}", RowStore(tmp_path / "cache")
        catalogue = resolve_model(source, store, name="mine").catalogue
        return load_model("mine", catalogue, store=store, where=source)

    return open_log


def answers(model: Model, key: str = "Age/1/0", prompt: str = BOTH) -> list[float]:
    keys = [f"{key}/{place}" for place in range(3)]
    return list(model.loglikelihood(OPTIONS, [prompt] * 3, keys=keys).nats)


def test_replies_of_the_harness(recorded: Recorded, error_of) -> None:
    model = recorded(lines(generated(0, " The grandson")))
    assert answers(model) == [0, 1, 0]
    line = error_of(answers, model, prompt="I saw one.\n\nQ: Who?\nA:")
    assert "it answers another text than 'Age/1/0' of this benchmark" in line


def test_a_file_of_windows_and_a_second_filter(recorded: Recorded) -> None:
    row = generated(0, "The grandson")
    content = lines(row, {**row, "filter": "first", "filtered_resps": ["grandson"]})
    windows = b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode()
    assert answers(recorded(windows)) == [0, 1, 0]


def test_documents_that_do_not_say_which_they_are(recorded: Recorded, error_of) -> None:
    """By the prompt, and by options that the document holds."""
    row = generated(
        0,
        "The grandson",
        doc={"text": "irrelevant", "choices": [*OPTIONS]},
    )
    assert answers(recorded(lines(row))) == [0, 1, 0]
    other = generated(
        0,
        "The grandson",
        doc={"choices": ["The uncle", *OPTIONS[1:]]},
    )
    assert "it answers another text" in error_of(answers, recorded(lines(other)))


BROKEN = [
    (
        lines(generated(0, "a"), generated(0, "b")),
        "line 2: document 0 is answered twice; take the log of one run",
    ),
    (
        lines(
            generated(0, "a"),
            generated(1, "b", doc=generated(0, "a")["doc"]),
        ),
        "line 2: 'Age/1/0' is answered twice; take one log of one epoch",
    ),
    (
        lines(generated(0, None)),
        "line 1: the reply is no text (None); the answer is lacking: take a whole log",
    ),
    (
        lines(generated(0, "a"), generated(1, " \n")),
        "line 2: the reply is empty (' \\n'); the answer is lacking",
    ),
    (
        lines(generated(0, "a", resps=[["a", "b"]])),
        "line 1: 2 replies to a document; log it without repeats",
    ),
]


@pytest.mark.parametrize(("text", "reason"), BROKEN)
def test_samples_that_are_broken(recorded: Recorded, text: str, reason: str, error_of) -> None:
    assert reason in error_of(recorded, text)


def inspected() -> dict[str, Any]:
    """The log as inspect_ai writes it in JSON: its header, and all samples."""
    header, samples = read_zipped_log(EVAL)
    return {**header, "samples": samples}


QUESTION = "I saw both. The grandson forgot.\n\nQ: Who forgot?\nA:"


def deflated(log: dict[str, Any]) -> bytes:
    """The log as a zip file whose members are compressed."""
    header = {key: log[key] for key in log if key != "samples"}
    members = {"header.json": header}
    for place, sample in enumerate(log["samples"]):
        members[f"samples/{place}_epoch_1.json"] = sample
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content))
    return packed.getvalue()


def test_logs_of_inspect_ai_in_three_forms(recorded: Recorded) -> None:
    log = inspected()
    forms = {
        "a.eval": EVAL.read_bytes(),
        "b.eval": deflated(log),
        "c.json": json.dumps(log, indent=2),
    }
    for name, content in forms.items():
        assert answers(recorded(content, name), "Age/1/1", QUESTION) == [0, 1, 0]


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """The log with its second sample (or all of it) changed."""
    log = copy.deepcopy(inspected())
    change(log)
    return json.dumps(log)


def of_second(**more: object) -> str:
    return changed(lambda log: log["samples"][1].update(more))


def written(text: str, scored: str | None = None, **more: object) -> str:
    """The log whose second sample has this reply and this letter of the scorer, or none."""
    parts = [{"type": "reasoning"}, {"type": "text", "text": text}]
    output = {"choices": [{"message": {"content": parts}}]}
    scores = None
    if scored:
        scores = {"choice": {"value": "I", "answer": scored}}
    return of_second(scores=scores, output=output, **more)


CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": QUESTION},
]


CHOSEN = [
    # Without a score the reply is read: its letter, or its words.
    (written("So it is.\n(Answer: C)"), [0, 0, 1]),
    (written("The grandfather"), [1, 0, 0]),
    (written("<think>Surely the grandfather.</think>It was the grandson."), [0, 1, 0]),
    # The scorer's letter is that of a reply that states no answer, or the same one.
    (written("I really wonder", "A"), [1, 0, 0]),
    (written("ANSWER: The grandson", "C"), [0, 1, 0]),
    (written("ANSWER: something else", "B"), [0, 0, 0]),
    (written("I cannot answer that.", "B"), [0, 0, 0]),
    (written("A) The grandson", "B"), [0, 0, 0]),
    (written("I wonder", "A, B"), [0, 0, 0]),
    # Of a data set whose options were shuffled, letters are of their new order.
    (of_second(choices=TURNED), [0, 0, 1]),
    (of_second(metadata={}), [0, 1, 0]),
    (of_second(metadata=None, input=CONVERSATION), [0, 1, 0]),
    (of_second(input="attachment://1a", attachments={"1a": QUESTION}), [0, 1, 0]),
]


@pytest.mark.parametrize(("text", "expected"), CHOSEN)
def test_what_a_log_of_inspect_ai_says(
    recorded: Recorded, text: str, expected: list[float]
) -> None:
    assert answers(recorded(text, "log.json"), "Age/1/1", QUESTION) == expected


REFUSED = [
    (
        changed(lambda log: log.update(status="error")),
        "log.json: its run ended as 'error', with 3 samples and 1 epochs; take the log of a whole "
        "run",
    ),
    (
        of_second(choices=None),
        "sample Age_00001: its question has no options; take a log of multiple choice",
    ),
    (
        changed(lambda log: log["samples"].pop()),
        "its header says 3 samples, and it holds 2; take the whole log",
    ),
    (
        changed(lambda log: log["samples"].__setitem__(1, log["samples"][0])),
        "sample Age_00000: 'Age/1/0' is answered twice",
    ),
    (
        of_second(output={"choices": []}, error={"message": "cancelled"}),
        "log.json: 1 of 3 samples ended in an error, as Age_00001; run these again (inspect "
        "eval-retry), and take",
    ),
    (
        changed(lambda log: log["samples"][1].pop("input")),
        "not as such a file is written (KeyError: 'input')",
    ),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_logs_of_inspect_ai_that_are_refused(
    recorded: Recorded, text: str, reason: str, error_of
) -> None:
    assert reason in error_of(recorded, text, "log.json")


def test_how_often_the_scorer_read_another_answer_is_told(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(written("ANSWER: B", "C"), "log.json")
    assert "in 1 of 3 samples the scorer read another" in capsys.readouterr().err
    recorded(json.dumps(inspected()), "same.json")
    assert "scorer" not in capsys.readouterr().err


LISTED = "A. {}\nB. {}\nC. {}\nA:".format(*OPTIONS)


@pytest.mark.parametrize(
    ("doc", "prompt"),
    [
        ({"choices": [*OPTIONS]}, "Who?\nA:"),
        ({"choices": {"text": [*OPTIONS], "label": ["A", "B", "C"]}}, "Who?\nA:"),
        (dict(zip(["option_a", "option_b", "option_c"], OPTIONS, strict=True)), "Who?\nA:"),
        # The order in which the model saw them, in the last list.
        ({"choices": TURNED}, f"A. x\nB. y\n\nWho?\n{LISTED}"),
        ({}, "Who?\n(A) {}\n(B) {}\n(C) {}\nA:".format(*OPTIONS)),
        # A list of something else says nothing of them.
    ],
)
def test_letters_are_of_the_options_as_the_model_saw_them(
    doc: dict[str, Any], prompt: str, recorded: Recorded
) -> None:
    model = recorded(lines(generated(0, "B", prompt, doc=doc)))
    assert answers(model, "", prompt) == [0, 1, 0]


def test_a_letter_of_options_in_no_order_is_refused(recorded: Recorded, error_of) -> None:
    doc = {
        "first": OPTIONS[0],
        "other": OPTIONS[1],
    }
    model = recorded(lines(generated(0, "B", "Who?", doc=doc)))
    line = error_of(answers, model, "", "Who?")
    assert "its log does not list the options of 'Who?' in their order" in line


def test_replies_and_how_they_were_read_stand_beside_the_values(recorded: Recorded) -> None:
    model = recorded(lines(generated(0, "B"), generated(1, "Nobody knows.")))
    keys = [f"Age/1/{number // 3}/{number % 3}" for number in range(6)]
    likelihoods = model.loglikelihood(OPTIONS * 2, [BOTH] * 6, keys=keys)
    assert likelihoods.nats.tolist() == [0, 1, 0, 0, 0, 0]
    columns = asdict(likelihoods)
    assert columns["rule"] == ["letter"] * 3 + ["none"] * 3
    assert columns["replied"] == ["B"] * 3 + ["Nobody knows."] * 3


def test_of_two_options_a_reply_may_say_the_question_again() -> None:
    question = 'Statement: "Plan 7 should go on." Do you agree or disagree with this statement?'
    replies = ("I agree that plan 7 should go on.", "I agree that it is hard to say.")
    chosen = [parse_logged_reply(question, ["agree", "disagree"], reply).reply for reply in replies]
    assert chosen == ["agree", ""]

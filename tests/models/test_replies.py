"""Replies in logs of lm-evaluation-harness and inspect_ai: which option they are, and what is
refused in one line."""

import copy
import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.evaluate.resolve_model import resolve_model as subject
from evenruler.models.answer_logs import match_option, normalise_question, read_zipped_log
from evenruler.models.catalogue import load_model
from evenruler.models.model import Model
from evenruler.models.store import RowStore

OPTIONS = ("The grandfather", "The grandson", "Can't be determined")
TURNED = [*OPTIONS[1:], OPTIONS[0]]

EVAL = Path(__file__).with_name("inspect_bbq.eval")


def test_a_reply_is_an_option_by_its_letter_or_its_text() -> None:
    """By the one reader of replies, of which tests/text/test_options.py has the cases."""
    for reply in ("B", "the grandson."):
        assert match_option(reply, OPTIONS) == OPTIONS[1]
    assert match_option("D", OPTIONS) is None


def test_labels_of_a_question_do_not_count() -> None:
    assert normalise_question(
        "Context: I saw both.\n\nQuestion: Who forgot?"
    ) == normalise_question("I saw both.\n\nQ: Who forgot?\nA:")
    assert normalise_question("I saw one.\n\nQ: Who forgot?\nA:") != normalise_question(
        "I saw both.\n\nQ: Who forgot?\nA:"
    )


def generated(doc_id: int, reply: object, **more: object) -> dict[str, Any]:
    """A sample of lm_eval's bbq_generate (0.4.13), less what is not read."""
    doc = {
        "example_id": doc_id,
        "question_index": "1",
        "category": "Age",
        "context": "I saw both.",
        "question": "Who?",
    }
    options = {f"ans{place}": option for place, option in enumerate(OPTIONS)}
    return {
        "doc_id": doc_id,
        "doc": {
            **doc,
            **options,
            "answer_info": {"ans0": ["grandfather", "old"]},
            "choices": list(OPTIONS),
        },
        "target": "2",
        "arguments": {
            "gen_args_0": {"arg_0": "I saw both.\n\nQ: Who?\nA:", "arg_1": {"until": ["\n\n"]}}
        },
        "resps": [[reply]],
        "filtered_resps": [reply],
        "filter": "none",
        **more,
    }


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


Recorded = Callable[..., Model]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """A model of a file with this content."""

    def make(content: str | bytes, name: str = "log.jsonl") -> Model:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        source, store = f"recorded:{path}", RowStore(tmp_path / "cache")
        return load_model(
            "mine", subject(source, store, name="mine").catalogue, store=store, where=source
        )

    return make


def answers(
    model: Model, key: str = "Age/1/0", prompt: str = "I saw both.\n\nQ: Who?\nA:"
) -> list[float]:
    keys = [f"{key}/{place}" for place in range(3)]
    likelihoods = model.loglikelihood(OPTIONS, [prompt] * 3, keys=keys)
    return [float(value) for value in likelihoods.nats]


def error_of(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as raised:
        call()
    line = str(raised.value)
    assert "\n" not in line
    return line


def test_replies_of_the_harness(recorded) -> None:
    model = recorded(lines(generated(0, " The grandson")))
    assert answers(model) == [0, 1, 0]
    assert "it answers another text than 'Age/1/0' of this benchmark" in error_of(
        lambda: answers(model, prompt="I saw one.\n\nQ: Who?\nA:")
    )


def test_a_file_of_windows_and_a_second_filter(recorded) -> None:
    rows = [
        generated(0, "The grandson"),
        generated(0, "The grandson", filter="first", filtered_resps=["grandson"]),
    ]
    content = lines(*rows).replace("\n", "\r\n").encode()
    assert answers(recorded(b"\xef\xbb\xbf" + content)) == [0, 1, 0]


def test_documents_that_do_not_say_which_they_are(recorded) -> None:
    """By the prompt, and by options that the document holds."""
    doc = {"text": "irrelevant", "choices": list(OPTIONS)}
    row = generated(0, "The grandson", doc=doc)
    assert answers(recorded(lines(row))) == [0, 1, 0]
    doc = {"choices": ["The uncle", *OPTIONS[1:]]}
    other = recorded(lines(generated(0, "The grandson", doc=doc)))
    assert "it answers another text" in error_of(lambda: answers(other))


def test_a_task_of_free_text_answers_no_question(recorded) -> None:
    row = generated(
        0,
        "42",
        doc={"question": "6 x 7?"},
        arguments={"gen_args_0": {"arg_0": "6 x 7?", "arg_1": {}}},
    )
    line = error_of(lambda: answers(recorded(lines(row))))
    assert "none of its answers (lm-evaluation-harness replies) is to one of these 3 texts" in line


BROKEN = [
    (
        lines(generated(0, "a"), generated(0, "b")),
        "line 2: document 0 is answered twice; take the log of one run",
    ),
    (
        lines(generated(0, "a"), generated(0, "b", filter="first")),
        "line 2: document 0 is answered twice; take the log of one run",
    ),
    (
        lines(generated(0, "a"), generated(1, "b", doc=generated(0, "a")["doc"])),
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
    (lines({**generated(0, "a"), "doc": None}), "not as such a file is written"),
]


@pytest.mark.parametrize(("text", "reason"), BROKEN)
def test_samples_that_are_broken(recorded, text, reason) -> None:
    assert reason in error_of(lambda: recorded(text))


def inspected() -> dict[str, Any]:
    """The log as inspect_ai writes it in JSON: its header, and all samples."""
    header, samples = read_zipped_log(EVAL)
    return {**header, "samples": samples}


QUESTION = "I saw both. The grandson forgot.\n\nQ: Who forgot?\nA:"


def test_logs_of_inspect_ai_in_three_forms(recorded, tmp_path) -> None:
    log = inspected()
    with zipfile.ZipFile(tmp_path / "deflated.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "header.json", json.dumps({key: log[key] for key in log if key != "samples"})
        )
        for place, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))
    forms = {"a.eval": EVAL.read_bytes(), "b.eval": (tmp_path / "deflated.eval").read_bytes()}
    for name, content in {**forms, "c.json": json.dumps(log, indent=2).encode()}.items():
        assert answers(recorded(content, name), "Age/1/1", QUESTION) == [0, 1, 0]


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """The log with its second sample (or all of it) changed."""
    log = copy.deepcopy(inspected())
    change(log)
    return json.dumps(log)


def of_second(**more: object) -> str:
    return changed(lambda log: log["samples"][1].update(more))


def written(text: str) -> dict[str, Any]:
    return {
        "choices": [
            {"message": {"content": [{"type": "reasoning"}, {"type": "text", "text": text}]}}
        ]
    }


def scored(answer: str) -> dict[str, Any]:
    return {"choice": {"value": "I", "answer": answer}}


CHOSEN = [
    # Without a score the reply is read: its letter, or its words.
    (of_second(scores=None, output=written("So it is.\n(Answer: C)")), [0, 0, 1]),
    (of_second(scores=None, output=written("The grandfather")), [1, 0, 0]),
    (of_second(scores=None, output=written("ANSWER: A, B")), [0, 0, 0]),
    (
        of_second(
            scores=None,
            output=written("<think>Surely the grandfather.</think>It was the grandson."),
        ),
        [0, 1, 0],
    ),
    # The scorer's letter is that of a reply that states no answer, or the same one.
    (of_second(scores=scored("A"), output=written("I really wonder")), [1, 0, 0]),
    (of_second(scores=scored("C"), output=written("ANSWER: The grandson")), [0, 1, 0]),
    (of_second(scores=scored("B"), output=written("ANSWER: Both")), [0, 0, 0]),
    (of_second(scores=scored("B"), output=written("ANSWER: something else")), [0, 0, 0]),
    (of_second(scores=scored("B"), output=written("I cannot answer that.")), [0, 0, 0]),
    (of_second(scores=scored("B"), output=written("A) The grandson")), [0, 0, 0]),
    (of_second(scores=scored("Z")), [0, 1, 0]),
    (of_second(scores=scored("A, B"), output=written("I wonder")), [0, 0, 0]),
    # Of a data set whose options were shuffled, letters are of their new order.
    (of_second(choices=TURNED), [0, 0, 1]),
    (of_second(metadata={}), [0, 1, 0]),
    (
        of_second(
            metadata=None,
            input=[
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": QUESTION},
            ],
        ),
        [0, 1, 0],
    ),
    (of_second(input="attachment://1a", attachments={"1a": QUESTION}), [0, 1, 0]),
]


@pytest.mark.parametrize(("text", "expected"), CHOSEN)
def test_what_a_log_of_inspect_ai_says(recorded, text, expected) -> None:
    assert answers(recorded(text, "log.json"), "Age/1/1", QUESTION) == expected


REFUSED = [
    (
        changed(lambda log: log.update(status="error")),
        "log.json: its run ended as 'error', with 3 samples and 1 epochs; take the log of a whole "
        "run",
    ),
    (
        of_second(epoch=2),
        "with 3 samples and 2 epochs; take the log of a whole run, with samples, of one epoch",
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
        of_second(output={"choices": []}),
        "sample Age_00001: the reply is empty (''); the answer is lacking",
    ),
    (
        changed(lambda log: log["samples"][1].pop("input")),
        "not as such a file is written (KeyError: 'input')",
    ),
    (
        changed(lambda log: log.pop("samples")),
        "its run ended as 'success', with 0 samples and 1 epochs; take the log",
    ),
    ("[" * 100_000, "not JSON, or cut off (maximum recursion depth"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_logs_of_inspect_ai_that_are_refused(recorded, text, reason) -> None:
    assert reason in error_of(lambda: recorded(text, "log.json"))


def test_another_version_of_a_question(recorded) -> None:
    text = json.dumps(inspected()).replace("The grandson forgot.", "The grandson had forgotten.")
    line = error_of(lambda: answers(recorded(text, "log.json"), "Age/1/1", QUESTION))
    assert "it answers another text than 'Age/1/1' of this benchmark; take the version" in line


def test_how_often_the_scorer_read_another_answer_is_told(recorded, capsys) -> None:
    recorded(of_second(scores=scored("C")), "log.json")
    assert (
        "in 1 of 3 samples the scorer read another answer than the reply states; the reply counts"
        in (capsys.readouterr().err)
    )
    recorded(json.dumps(inspected()), "same.json")
    assert "scorer" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("doc", "prompt"),
    [
        ({"choices": [*OPTIONS]}, "Who?\nA:"),
        ({"choices": {"text": [*OPTIONS], "label": ["A", "B", "C"]}}, "Who?\nA:"),
        (
            {f"option_{letter}": option for letter, option in zip("abc", OPTIONS, strict=True)},
            "Who?\nA:",
        ),
        # The order in which the model saw them, in the last list.
        (
            {"choices": TURNED},
            "A. x\nB. y\n\nWho?\nA. {}\nB. {}\nC. {}\nA:".format(*OPTIONS),
        ),
        ({}, "Who?\n(A) {}\n(B) {}\n(C) {}\nA:".format(*OPTIONS)),
        # A list of something else says nothing of them.
        ({"choices": [*OPTIONS]}, "A. Smith\nB. Jones\n\nWho?\nA:"),
    ],
)
def test_letters_are_of_the_options_as_the_model_saw_them(recorded, doc, prompt) -> None:
    arguments = {"gen_args_0": {"arg_0": prompt, "arg_1": {}}}
    model = recorded(lines(generated(0, "B", doc=doc, arguments=arguments)))
    assert answers(model, "", prompt) == [0, 1, 0]


def test_a_letter_of_options_in_no_order_is_refused(recorded) -> None:
    doc = {"first": OPTIONS[0], "other": OPTIONS[1]}
    row = generated(0, "B", doc=doc, arguments={"gen_args_0": {"arg_0": "Who?", "arg_1": {}}})
    assert "its log does not list the options of 'Who?' in their order" in error_of(
        lambda: answers(recorded(lines(row)), "", "Who?")
    )


def test_replies_and_how_they_were_read_stand_beside_the_values(recorded) -> None:
    model = recorded(lines(generated(0, "B"), generated(1, "Nobody knows.")))
    places = product(range(2), range(3))
    keys = [f"Age/1/{row}/{place}" for row, place in places]
    likelihoods = model.loglikelihood(OPTIONS * 2, ["I saw both.\n\nQ: Who?\nA:"] * 6, keys=keys)
    assert likelihoods.nats.tolist() == [0, 1, 0, 0, 0, 0]
    assert asdict(likelihoods)["rule"] == ["letter"] * 3 + ["none"] * 3
    assert asdict(likelihoods)["replied"] == ["B"] * 3 + ["Nobody knows."] * 3

"""Results of a batch joined with their requests: what is found, and what is refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.models.answer_logs.batch import split_options
from evenruler.models.answer_logs.items import LoggedItems
from evenruler.models.answer_logs.logged import AnswerLog
from evenruler.models.answer_logs.reading import LogOptions, read_log
from tests.models import batches
from tests.models.batches import (
    anthropic_request,
    anthropic_result,
    logged_items,
    openai_request,
    openai_result,
    write_lines,
)

ROWS = batches.bbq_rows()
ITEMS = logged_items(ROWS)

Read = Callable[..., AnswerLog]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The log of these results and requests."""

    def read_batch(results: list[Any], requests: list[Any], *, is_partial: bool = False):
        results_path = write_lines(tmp_path / "results.jsonl", results)
        requests_path = write_lines(tmp_path / "requests.jsonl", requests)
        options = LogOptions(requests=requests_path, is_partial=is_partial)
        return read_log(Path(results_path), options)

    return read_batch


def joined(answer_log: AnswerLog, items=ITEMS) -> AnswerLog:
    assert answer_log.unjoined is not None
    return answer_log.unjoined.join_items(items)


def chosen_by_item(answer_log: AnswerLog) -> dict[str, str | None]:
    """The text that each item's reply chose; the scores have to say the same."""
    chosen: dict[str, str | None] = {}
    for item in ITEMS.items:
        if item.keys[0] not in answer_log.by_key:
            continue
        scores = [answer_log.by_key[key] for key in item.keys]
        reply = answer_log.reply_by_key[item.keys[0]]
        likeliest = item.texts[int(np.argmax(scores))]
        text = None if sum(scores) == 0 else likeliest
        assert (text or "") == reply.reply
        chosen[item.name] = text
    return chosen


def plain_batch(n: int = 50) -> tuple[list[Any], list[Any]]:
    """The first questions, all answered with the first option."""
    batch, _ = batches.planted_batch(ROWS[:n], "capitals")
    requests = [openai_request(custom_id, message) for custom_id, message, _ in batch]
    results = [openai_result(custom_id, "A") for custom_id, _, _ in batch]
    return results, requests


@pytest.mark.parametrize("by_alias", [False, True])
@pytest.mark.parametrize("layout", batches.LAYOUTS)
def test_fifty_requests_are_joined_in_any_order(read: Read, layout: str, by_alias: bool) -> None:
    """Every choice that was planted is found, and no other."""
    batch, planted = batches.planted_batch(ROWS, layout, by_alias=by_alias)
    requests = [openai_request(custom_id, message) for custom_id, message, _ in batch]
    results = [openai_result(custom_id, reply) for custom_id, _, reply in batch[::-1]]
    answer_log = joined(read(results, requests))
    assert chosen_by_item(answer_log) == planted
    rules = {reply.rule for reply in answer_log.reply_by_key.values() if not reply.reply}
    assert rules == {"empty", "refusal"}


def test_a_batch_of_anthropic_is_one_object_or_lines(read: Read, tmp_path: Path) -> None:
    batch, planted = batches.planted_batch(ROWS, "digits")
    requests = [anthropic_request(custom_id, message) for custom_id, message, _ in batch]
    results = [anthropic_result(custom_id, reply) for custom_id, _, reply in batch]
    assert chosen_by_item(joined(read(results, requests))) == planted
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps({"requests": requests}, indent=1))
    log = read_log(tmp_path / "results.jsonl", LogOptions(requests=str(whole)))
    assert chosen_by_item(joined(log)) == planted


def test_a_batch_of_responses_and_of_parts(read: Read) -> None:
    """OpenAI's other endpoint has `input` and `output`."""
    batch, planted = batches.planted_batch(ROWS, "capitals")
    requests, results = [], []
    for custom_id, message, reply in batch:
        body = {"model": "m", "input": [{"role": "user", "content": message}]}
        requests.append({"custom_id": custom_id, "body": body})
        content = [{"type": "output_text", "text": reply}]
        output = [{"type": "reasoning"}, {"type": "message", "content": content}]
        response = {"status_code": 200, "body": {"model": "m-1", "output": output}}
        results.append({"custom_id": custom_id, "response": response})
    assert chosen_by_item(joined(read(results, requests))) == planted


def test_options_by_short_names_need_a_benchmark_that_has_these(read: Read, error_of) -> None:
    batch, _ = batches.planted_batch(ROWS, "digits", by_alias=True)
    requests = [openai_request(custom_id, message) for custom_id, message, _ in batch]
    results = [openai_result(custom_id, reply) for custom_id, _, reply in batch]
    log = read(results, requests)
    line = error_of(joined, log, logged_items(ROWS, with_aliases=False))
    assert "it asks in another wording than work 1.1's; 0 of 50 match, nearest: " in line


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("Who? (0) the cook (1) the clerk", ("the cook", "the clerk")),
        ("A. is a vitamin.\nWho?\nA. the cook\nB. the clerk\n", ("the cook", "the clerk")),
        (
            "A. old B. older\n\nWho?\na) the cook\nb) the clerk\nc) both",
            ("the cook", "the clerk", "both"),
        ),
        (
            "Who?\n1. the cook at 2. of May\n2. the clerk\nAnswer:",
            ("the cook at 2. of May", "the clerk"),
        ),
        ("Who? B. the cook C. the clerk", None),
        ("Who? A. the cook B) the clerk", None),
    ],
)
def test_options_are_the_last_run_of_labels(message: str, options: tuple[str, ...] | None) -> None:
    split_message = split_options(message)
    assert (split_message and split_message.options) == options


def test_the_rest_of_a_message_is_its_question() -> None:
    split_message = split_options("Context: I saw both.\nQ: Who?\n(0) he (1) she\nSay a digit.")
    assert split_message is not None
    question, labels, options = split_message
    assert " ".join(question.split()) == "Context: I saw both. Q: Who? Say a digit."
    assert (labels, options) == (("0", "1"), ("he", "she"))


def twice_asked(order: tuple[int, int, int]) -> dict[str, Any]:
    """The first row once more, with the options in another order."""
    first_row = ROWS[0]
    turned: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for place, old_place in enumerate(order):
        turned[f"ans{place}"] = first_row[f"ans{old_place}"]
        names[f"ans{place}"] = first_row["answer_info"][f"ans{old_place}"]
    return {**first_row, "example_id": 700, **turned, "answer_info": names}


def message_of(options: list[str]) -> str:
    """The first question with its options in this order."""
    row = ROWS[0]
    return f"{row['context']}\n{row['question']}\n{batches.LAYOUTS['capitals'](options)}"


def test_a_question_that_stands_twice_is_told_apart_by_the_order(read: Read, error_of) -> None:
    turned = twice_asked((2, 0, 1))
    items = logged_items([ROWS[0], turned])

    authors = [ROWS[0][f"ans{place}"] for place in range(3)]
    turned_options = [turned[f"ans{place}"] for place in range(3)]
    requests = [
        openai_request("x", message_of(turned_options)),
        openai_request("y", message_of(authors)),
    ]
    results = [openai_result("y", "A"), openai_result("x", "A")]
    answer_log = joined(read(results, requests), items)
    assert answer_log.reply_by_key["Work/0/0/0"].reply == authors[0]
    assert answer_log.reply_by_key["Work/0/700/0"].reply == turned_options[0] == authors[2]
    again = [openai_request("x", message_of(authors[::-1])), requests[1]]
    line = error_of(joined, read(results, again), items)
    assert "asks a question that stands twice in the benchmark" in line


def test_the_same_item_twice_is_paired_in_order_and_no_more(read: Read, error_of) -> None:
    items = logged_items([ROWS[0], {**ROWS[0], "example_id": 700}])
    options = [ROWS[0][f"ans{place}"] for place in range(3)]
    requests = [openai_request(name, message_of(options)) for name in ("x", "y", "z")]
    results = [openai_result("x", "A"), openai_result("y", "B"), openai_result("z", "C")]
    answer_log = joined(read(results[:2], requests[:2]), items)
    assert answer_log.reply_by_key["Work/0/0/0"].reply == options[0]
    assert answer_log.reply_by_key["Work/0/700/0"].reply == options[1]
    line = error_of(joined, read(results, requests), items)
    assert "requests 'y' and 'z' ask 'Work/0/700' twice; leave one of them out" in line


def failed(results: list[Any]) -> list[Any]:
    """The first two failed, in two ways."""
    limit = {"error": {"message": "rate limit", "code": "rate_limit"}}
    first = {**results[0], "response": {"status_code": 429, "body": limit}}
    second = {**results[1], "response": None, "error": {"code": "batch_expired", "message": ""}}
    return [first, second, *results[2:]]


def of_two_models(results: list[Any]) -> list[Any]:
    last = results[-1]["custom_id"]
    return [*results[:-1], openai_result(last, "A", "m-2")]


def reworded(requests: list[Any]) -> list[Any]:
    """With "On the day" in place of "On day"."""
    text = json.dumps(requests).replace("On day", "On the day")
    return list(json.loads(text))


def without_labels(requests: list[Any]) -> list[Any]:
    text = json.dumps(requests).replace("A. ", "- ").replace("B. ", "- ")
    return list(json.loads(text))


@pytest.mark.parametrize(
    ("change_results", "change_requests", "line"),
    [
        (lambda rows: [*rows, rows[0]], list, "' is answered twice; take the results of one batch"),
        (lambda rows: rows[3:], list, "3 requests have no answer (first 'id-"),
        (failed, list, ": rate limit); send these again, or --partial"),
        (list, lambda rows: rows[1:], "its answers are to requests of another file; name"),
        (list, without_labels, "': name A, B, C or (0), (1), (2) before each".replace(":", ";")),
        (of_two_models, list, "two models answered (m-1, m-2); split the file"),
        (list, reworded, "it asks in another wording than work 1.1's; 0 of 50 match, nearest: 'On"),
    ],
)
def test_batches_that_are_refused(
    read: Read,
    error_of,
    change_results: Callable[[list[Any]], list[Any]],
    change_requests: Callable[[list[Any]], list[Any]],
    line: str,
) -> None:
    results, requests = plain_batch()

    def read_and_join() -> AnswerLog:
        return joined(read(change_results(results), change_requests(requests)))

    assert line in error_of(read_and_join)


def test_requests_of_another_log(tmp_path: Path, error_of) -> None:
    _, requests = plain_batch()
    table = tmp_path / "table.csv"
    table.write_text("key,first,second\n0,1,2\n")
    options = LogOptions(requests=write_lines(tmp_path / "requests.jsonl", requests))
    line = error_of(read_log, table, options)
    assert "no results of a batch (table); leave --asked out" in line


def test_a_partial_batch_lacks_what_failed_and_what_is_missing(read: Read) -> None:
    results, requests = plain_batch()
    answer_log = joined(read(failed(results)[:-3], requests, is_partial=True))
    assert len(chosen_by_item(answer_log)) == 50 - 2 - 3


def test_a_few_questions_that_the_benchmark_left_out_are_noted(read: Read, capsys) -> None:
    """Of 200 requests two are not in the benchmark, as its authors' file has more; three are too
    many."""
    rows = []
    for number, row in enumerate(ROWS * 4):
        context = f"{row['context']} It was {number}."
        rows.append({**row, "example_id": 1000 + number, "context": context})
    batch, _ = batches.planted_batch(rows, "capitals")
    requests = [openai_request(custom_id, message) for custom_id, message, _ in batch]
    results = [openai_result(custom_id, "A") for custom_id, _, _ in batch]
    log = read(results, requests)
    answer_log = joined(log, logged_items(rows[2:]))
    assert len(answer_log.by_key) == 3 * 198
    assert "2 requests ask nothing of work 1.1 (first 'id-" in capsys.readouterr().err
    with pytest.raises(Exception, match="197 of 200 match"):
        joined(log, logged_items(rows[3:]))


REPLIES_ABOUT_PLANS = {
    "B": "agree",
    "I strongly disagree.": "disagree",
    "I agree that plan 2 should go on.": "agree",
    "I agree that it is hard to say.": "",
    "I agree. A": "",
}
"""What each says of two options, of which A is to disagree."""


def keyed_items(n: int) -> LoggedItems:
    """Statements as a benchmark of layout `keyed` has them: what is asked ends where an answer
    begins."""
    asks = 'Statement: "Plan {} should go on."\nDo you agree or disagree with this statement?\nI'
    names = [f"s{place}" for place in range(n)]
    first = pd.DataFrame({"item": names, "role": "first"})
    first["prompt"] = [asks.format(place) for place in range(n)]
    first = first.assign(text="agree", alias=None, unit=first["item"])
    texts = pd.concat([first, first.assign(role="second", text="disagree")])
    keys = texts["item"] + "/" + texts["role"]
    return LoggedItems.from_texts("statements 1.0", texts.assign(key=keys))


def test_statements_are_joined_and_what_is_said_in_words_is_read(read: Read) -> None:
    """The last line of a question is the same in all of them, as an instruction would be."""
    asks = 'Statement: "Plan {} should go on."\n\nDo you agree or disagree with this statement?'
    options = "A. disagree\nB. agree\n\nAnswer with A or B only."
    requests: list[Any] = []
    results: list[Any] = []
    for place, reply in enumerate(REPLIES_ABOUT_PLANS):
        message = f"{asks.format(place)}\n\n{options}"
        requests.append(openai_request(f"r{place}", message))
        results.append(openai_result(f"r{place}", reply))
    answer_log = joined(read(results, requests), keyed_items(len(results)))
    keys = [f"s{place}/first" for place in range(len(results))]
    logged = [answer_log.reply_by_key[key] for key in keys]
    assert [reply.reply for reply in logged] == [*REPLIES_ABOUT_PLANS.values()]
    assert [reply.rule for reply in logged[3:]] == ["none", "contradiction"]

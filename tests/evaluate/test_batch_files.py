"""`evenruler measure --batch-out`, and `--batch-in` of its results: the figures of asking."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from evenruler.models.backends.server import KEY, URL
from tests.evaluate.conftest import Command, refused
from tests.evaluate.test_external_chat import planned_questions, write_source
from tests.figures import find_figure
from tests.instruments.external.chats import OptionChat
from tests.loopback_openai import ScriptedServer, running
from tests.models.batches import write_lines
from tests.personas import PersonaServer

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]

MEASURE = ("measure", "endpoint:big", "--size", "trial")
N_ASKED = 90
"""At `trial`, of the reduced BBQ."""
ESTIMATE = ("value", "low", "high", "p", "n")
Rows = list[dict[str, Any]]


@pytest.fixture
def source(elsewhere: Path) -> Path:
    """A reduced BBQ as a file of one's own."""
    return write_source(elsewhere)


@pytest.fixture
def server(source: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A chat that leans, and whose words vary."""
    questions = planned_questions(source)
    chat = OptionChat(lean=1.5, style=lambda letter, text: f"**{letter}**: {text}")
    replies = chat.replies(questions, 1)["reply"].tolist()
    with running(PersonaServer.of(questions, replies)) as listening:
        monkeypatch.setenv(URL, listening.url)
        monkeypatch.setenv(KEY, "any")
        yield listening


@pytest.fixture
def renew_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes an empty cache."""
    numbers = count()
    return lambda: monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / f"new-{next(numbers)}"))


def read_rows(path: str) -> Rows:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def answer_batch(server: ScriptedServer, requests: Rows) -> Rows:
    """Results of a batch, as OpenAI and vLLM write them, the last request first."""
    results = []
    for number, request in enumerate(requests[::-1]):
        assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
        question = {**request["body"], "path": request["url"], "key": ""}
        status, body = server.answer(question)
        response = {"status_code": status, "request_id": f"r{number}", "body": body}
        custom_id = request["custom_id"]
        results.append(
            {"id": f"b{number}", "custom_id": custom_id, "response": response, "error": None}
        )
    return results


def written_result(folder: str) -> dict[str, Any]:
    (path,) = Path(folder).rglob("result.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def test_a_batch_has_the_figures_of_asking(
    run_command: Command,
    source: Path,
    server: ScriptedServer,
    renew_cache: Callable[[], None],
) -> None:
    words = (*MEASURE, "--with", str(source))
    status, _, err = run_command(*words, "--out", "direct", "--yes")
    assert status == 0, err
    renew_cache()
    server.asked.clear()
    status, out, _ = run_command(*words, "--batch-out", "requests.jsonl")
    assert status == 0
    assert out == "requests.jsonl: 90 requests; when they are answered, say --batch-in RESULTS\n"
    requests = read_rows("requests.jsonl")
    assert server.asked == []
    assert len({request["custom_id"] for request in requests}) == N_ASKED
    assert all(len(request["custom_id"]) == 64 for request in requests)
    write_lines(Path("results.jsonl"), answer_batch(server, requests))
    server.asked.clear()
    status, _, err = run_command(*words, "--batch-in", "results.jsonl", "--out", "by-batch")
    assert status == 0, err
    assert "results.jsonl: 90 requests are answered; 0 are left to ask" in err
    assert server.asked == []
    direct, by_batch = written_result("direct"), written_result("by-batch")
    assert by_batch["figures"] == direct["figures"]
    assert by_batch["model"] == direct["model"]
    recorded = ("recorded:results.jsonl", "--asked", "requests.jsonl", "--with", str(source))
    status, _, err = run_command("measure", *recorded, "--partial", "--out", "recorded")
    assert status == 0, err
    rows = written_result("recorded")["figures"]
    of_log = find_figure(rows, figure="lean", condition="ambiguous")
    of_chat = find_figure(direct["figures"], figure="lean", condition="ambiguous")
    assert {key: of_log[key] for key in ESTIMATE} == {key: of_chat[key] for key in ESTIMATE}
    status, out, _ = run_command(*words, "--batch-out", "requests.jsonl")
    assert out == "every reply is stored: nothing is left to ask\n"


@pytest.mark.parametrize(
    "name",
    ["probes-age-competence", "framing-age", "saged-fruit", "questionnaires-gad-7"],
)
def test_every_family_that_asks_a_chat_has_batches(
    name: str,
    run_command: Command,
    renew_cache: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(KEY, "any")
    words = (*MEASURE, "--with", name, "--limit", "3")
    with running(ScriptedServer()) as server:
        monkeypatch.setenv(URL, server.url)
        status, _, err = run_command(*words, "--out", "direct", "--yes")
        assert status == 0, err
        n_sent = len(server.asked)
        renew_cache()
        run_command(*words, "--batch-out", "requests.jsonl")
        requests = read_rows("requests.jsonl")
        assert len(requests) == n_sent > 5
        write_lines(Path("results.jsonl"), answer_batch(server, requests))
        server.asked.clear()
        status, _, err = run_command(*words, "--batch-in", "results.jsonl", "--out", "by-batch")
        assert status == 0, err
        assert server.asked == []
    assert written_result("by-batch")["figures"] == written_result("direct")["figures"]


def test_requests_are_those_that_go_out_otherwise(
    run_command: Command,
    source: Path,
    server: ScriptedServer,
    renew_cache: Callable[[], None],
) -> None:
    words = (*MEASURE, "--with", str(source))
    run_command(*words, "--batch-out", "requests.jsonl")
    bodies = [json.dumps(row["body"], sort_keys=True) for row in read_rows("requests.jsonl")]
    run_command(*words, "--yes")
    sent = []
    for question in server.asked:
        body = {key: value for key, value in question.items() if key not in ("path", "key")}
        sent.append(json.dumps(body, sort_keys=True))
    assert sorted(sent) == sorted(bodies)


def test_what_failed_is_left_and_what_was_refused_is_no_reply(
    run_command: Command, source: Path, server: ScriptedServer
) -> None:
    words = (*MEASURE, "--with", str(source))
    run_command(*words, "--batch-out", "requests.jsonl")
    results = answer_batch(server, read_rows("requests.jsonl"))
    error = {"error": {"message": "we do not like this"}}
    results[3]["response"] = {"status_code": 400, "body": error}
    results[5]["response"] = {"status_code": 500, "body": {"error": {"message": "overloaded"}}}
    results[7] |= {"response": None, "error": {"code": "batch_expired", "message": "too late"}}
    errors = [results.pop(place) for place in (7, 5, 3)]
    write_lines(Path("errors.jsonl"), errors)
    write_lines(Path("results.jsonl"), results[:-1])
    server.asked.clear()
    files = ("--batch-in", "errors.jsonl", "--batch-in", "results.jsonl")
    status, _, err = run_command(*words, *files, "--max-requests", "0")
    assert status == 0, err
    line = (
        "errors.jsonl, results.jsonl: 86 requests are answered, 3 failed (Error code: 500 - "
        "{'code': 'batch_expired', 'message': 'too late'}); 3 are left to ask"
    )
    assert line in err
    assert server.asked == []
    run_command(*words, "--yes")
    assert len(server.asked) == 3
    assert "the model gave no reply to 1 of 90 prompts" in written_result("results")["warnings"]


WRONG = {
    "foreign": "is the result of a request that is not asked now; say the benchmarks, size",
    "no result": "results.jsonl: line 1: no result of a batch in OpenAI's layout",
    "all failed": "no request was answered (Error code: 500 - {'message': 'down'})",
    "other model": "another model answers than was asked (small-one, not big)",
}


@pytest.mark.parametrize("case", WRONG)
def test_results_that_do_not_fit_are_one_line(
    case: str,
    run_command: Command,
    source: Path,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = (*MEASURE, "--with", str(source))
    run_command(*words, "--batch-out", "requests.jsonl")
    results = answer_batch(server, read_rows("requests.jsonl"))
    if case == "foreign":
        monkeypatch.setenv(URL, f"{server.url}/other")
    if case == "no result":
        results = read_rows("requests.jsonl")
    if case == "all failed":
        results = [{**row, "response": None, "error": {"message": "down"}} for row in results]
    if case == "other model":
        results[0]["response"]["body"]["model"] = "small-one"
    write_lines(Path("results.jsonl"), results)
    assert WRONG[case] in refused(run_command, *words, "--batch-in", "results.jsonl")


def test_what_is_no_chat_is_one_line(run_command: Command, tiny_folder: Path) -> None:
    batch = ("--with", "probes-age-competence", "--batch-out", "requests.jsonl")
    line = refused(run_command, "measure", f"local:{tiny_folder}", *batch)
    assert line == (
        "error: --batch-out: a batch holds requests for replies of a chat on a server; tiny is of "
        "kind causal; measure endpoint:NAME, or leave the option out"
    )
    assert not Path("requests.jsonl").exists()

"""`evenruler measure recorded:RESULTS --asked REQUESTS`, tables, parts of either, and names with
dots."""

import json
import re
import sys
import urllib.request
from collections.abc import Callable, Iterator
from itertools import compress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler import cli, repository
from evenruler.models import load
from tests.evaluate.test_logs import Command
from tests.figures import find_figure
from tests.instruments.external import made
from tests.instruments.external.test_folder import log, published, rows_of, samples, written
from tests.loopback_openai import ScriptedServer, running, said_in
from tests.models import batches
from tests.models.batches import write_lines

ROWS = batches.bbq_rows()


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions of ten templates, and pairs of eight writers, as if they came with the package."""
    folder = tmp_path_factory.mktemp("shipped")
    source = made.source(folder, "bbq", batches.bbq_files(), units="templates")
    published(folder, "external-work", source)
    written(folder, licence="cc-by-sa-4.0")
    return folder


@pytest.fixture
def run_measure(
    benchmarks: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """What `evenruler ...` ends with, prints and says meanwhile."""
    monkeypatch.setattr(repository, "shipped_benchmarks", lambda: benchmarks)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(
            sys,
            "argv",
            ["evenruler", *words],
        )
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def refused(run_measure: Command, *words: str) -> str:
    """The one line of an error."""
    status, out, err = run_measure(*words)
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (status, len(lines)) == (2, 1), err
    assert not out
    return lines[0]


def result_of(model: str) -> dict[str, Any]:
    (path,) = Path("results", model).rglob("result.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


class BiasedServer(ScriptedServer):
    """Names the biased person where the context does not tell, and else the right one; it writes
    the digit of the option, in turns with its words."""

    def reply(self, question: dict[str, Any]) -> str:
        message = said_in(question)
        options = re.findall(r"\((\d)\) ([^(\n]+)", message)
        asked_rows = [row for row in ROWS if _question_of(row) in message]
        (row,) = asked_rows
        place = row["label"]
        if place == 2:
            place = int(row["question_polarity"] == "nonneg")
        short_names = row["answer_info"][f"ans{place}"]
        names = {row[f"ans{place}"], short_names[0]}
        ((digit, words),) = [both for both in options if both[1].strip() in names]
        whole = f"({digit}) {words.strip()}"
        return digit if len(message) % 2 else whole


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with running(BiasedServer()) as scripted:
        monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        yield scripted


def _question_of(row: dict[str, Any]) -> str:
    return f"Context: {row['context']}\nQuestion: {row['question']}"


def requests_by_hand() -> list[dict[str, Any]]:
    """Half with the texts of options, half with the short names, each in the authors' order."""
    requests = []
    for number, row in enumerate(ROWS):
        options = [row[f"ans{place}"] for place in range(3)]
        if number % 2:
            answer_info = row["answer_info"]
            options = [answer_info[f"ans{place}"][0] for place in range(3)]
        message = f"{_question_of(row)}\n{batches.LAYOUTS['digits'](options)}"
        requests.append(batches.openai_request(f"r{number}", message, "scripted"))
    return requests


def send_batch(server: ScriptedServer, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of a batch, last request first, as a service writes them that sends each body."""
    results = []
    for request in reversed(requests):
        sent = urllib.request.Request(
            f"{server.url}/chat/completions",
            json.dumps(request["body"]).encode(),
            {"Authorization": "Bearer key", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(sent) as response:
            body = json.load(response)
        answered = {
            "status_code": 200,
            "request_id": "r",
            "body": body,
        }
        results.append(
            {"id": "b", "custom_id": request["custom_id"], "response": answered, "error": None}
        )
    return results


def test_a_batch_says_the_same_as_its_server_asked_directly(
    run_measure: Command, server: ScriptedServer
) -> None:
    """50 requests over HTTP: once as a batch, once one by one by our client; the verdict is that
    which was planted."""
    requests = requests_by_hand()
    write_lines(Path("requests.jsonl"), requests)
    write_lines(Path("results.jsonl"), send_batch(server, requests))
    words = ("measure", "recorded:results.jsonl", "--asked", "requests.jsonl", "--name", "batch")
    status, out, err = run_measure(*words)
    assert status == 0, err
    assert "its answers are to external-work" in err
    assert "external-work 0.1.0 (Made) on batch, standard" in out
    prompts = [request["body"]["messages"][-1]["content"] for request in requests]
    replies = [reply.text for reply in load("endpoint:scripted").replies(prompts)]
    items = list(map(batches.name_of, ROWS))
    chosen = [str(reply).strip("(")[0] for reply in replies]
    table = pd.DataFrame({"key": items, "chosen": chosen, "reply": replies})
    table.to_csv("direct.csv", index=False)
    words = ("measure", "recorded:direct.csv", "--with", "work", "--name", "direct")
    status, _, err = run_measure(*words)
    assert status == 0, err
    figures = []
    for name in ("batch", "direct"):
        rows = result_of(name)["figures"]
        figures.append([{**row, "model": ""} for row in rows])
        lean = find_figure(rows, figure="lean", condition="ambiguous")
        assert lean["value"] == pytest.approx(1)
        assert lean["verdict"] == "detected"
        accuracy = find_figure(rows, figure="accuracy_dis", bias_type=None, condition=None)
        assert accuracy["value"] == 1
    assert figures[0] == figures[1]
    assert len(server.asked) == 100


def test_a_batch_of_no_shipped_benchmark(run_measure: Command) -> None:
    text = json.dumps(requests_by_hand()).replace("On day", "On some day")
    write_lines(Path("requests.jsonl"), json.loads(text))
    results = [batches.openai_result(f"r{number}", "0") for number in range(50)]
    write_lines(Path("results.jsonl"), results)
    words = ("measure", "recorded:results.jsonl", "--asked", "requests.jsonl")
    assert "it answers no text of external-made, external-work" in refused(run_measure, *words)
    line = refused(run_measure, *words, "--with", "work")
    assert "it asks in another wording than work 0.1.0's; 0 of 50 match, nearest: 'On day" in line
    assert "say --asked FILE with the requests" in refused(run_measure, *words[:2])
    line = refused(
        run_measure,
        "measure",
        "hub:a/b",
        "--asked",
        "x",
        "--with",
        "work",
    )
    assert "`requests` belongs to the kind recorded" in line or "hub" in line


def scores_of_pairs(folder: Path, first_wins: Callable[[int, int], bool]) -> pd.DataFrame:
    """A score of each text; `first_wins`: by writer and pair."""
    rows = rows_of(folder)
    keys = sorted(set(rows["item"]), key=int)
    unit = rows.drop_duplicates("item").set_index("item")["unit"]
    first = [float(first_wins(*divmod(int(key), 6))) for key in keys]
    second = [0.5] * len(keys)
    units = [unit[key] for key in keys]
    return pd.DataFrame({"key": keys, "first": first, "second": second, "unit": units})


def test_a_table_of_scores_is_the_share_of_its_pairs(
    run_measure: Command, benchmarks: Path
) -> None:
    table = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: pair < 4)
    table.sample(frac=1, random_state=2).to_csv("scores.csv", index=False)
    status, out, err = run_measure(
        "measure",
        "recorded:scores.csv",
        "--with",
        "made",
    )
    assert status == 0, err
    assert "external-made 0.1.0 (Made) on scores-csv" in out
    share = find_figure(result_of("scores-csv")["figures"], figure="share", bias_type=None)
    assert share["value"] == pytest.approx(2 / 3, abs=1e-3)
    line = refused(
        run_measure,
        "measure",
        "recorded:scores.csv",
        "--with",
        "work",
    )
    assert "scores.csv: row 1: 48 keys are not in work 0.1.0 (first '" in line


def test_parts_are_judged_only_where_the_user_says_so(
    run_measure: Command, benchmarks: Path
) -> None:
    """Two of eight writers lack, then two pairs of each."""
    table = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: pair < 4)
    table[12:].to_csv("writers.csv", index=False)
    words = ("measure", "recorded:writers.csv", "--with", "made")
    line = refused(run_measure, *words)
    assert "it lacks the answers to 24 of 96 texts" in line
    assert line.endswith("or say --partial")
    status, out, err = run_measure(*words, "--partial")
    assert status == 0, err
    assert "Over 6 of 8 writers." in " ".join(out.split())
    lean = find_figure(result_of("writers-csv")["figures"], figure="lean", bias_type=None)
    assert lean["facets"].startswith("6 of 8 writers, ")
    is_short = table["key"].astype(int) % 6 < 2
    table[~is_short].to_csv("pairs.csv", index=False)
    status, out, err = run_measure(
        "measure",
        "recorded:pairs.csv",
        "--with",
        "made",
        "--partial",
    )
    assert status == 0, err
    assert "Over " not in out
    lean = find_figure(result_of("pairs-csv")["figures"], figure="lean", bias_type=None)
    assert lean["facets"].startswith("8 writers, ")
    assert "32 of 48 items have an answer" in lean["why"]


def test_the_run_of_a_harness_that_did_not_end_is_no_sample(
    run_measure: Command, benchmarks: Path
) -> None:
    """Its documents come in the order of a file: the first writers alone."""
    logged = samples(benchmarks / "external-made", lambda text: len(text) - 1000.0)
    rows = rows_of(benchmarks / "external-made").drop_duplicates("item").set_index("item")
    items = sorted(rows.index)  # the order of the log
    in_first_five = [rows["unit"][item] < "w5" for item in items]
    begun = list(compress(logged, in_first_five))
    words = ("measure", log(Path("begun.jsonl"), begun), "--with", "made")
    line = refused(run_measure, *words, "--partial")
    assert "a run that did not end: its first 60 texts are of 5 of 8 units, in the order" in line


def test_a_name_with_dots_is_a_label(run_measure: Command, benchmarks: Path) -> None:
    table = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: pair < 4)
    table.to_csv("scores.csv", index=False)
    words = ("measure", "recorded:scores.csv", "--with", "made")
    status, out, err = run_measure(
        *words,
        "--name",
        "gpt-3.5-turbo-0125",
    )
    assert status == 0, err
    assert "(Made) on gpt-3.5-turbo-0125, standard" in out
    assert "gpt-3.5-turbo-0125: recorded:scores.csv (kind recorded)" in err
    result = result_of("gpt-3-5-turbo-0125")
    assert result["model"]["name"] == "gpt-3-5-turbo-0125"
    assert result["model"]["label"] == "gpt-3.5-turbo-0125"
    line = refused(run_measure, *words, "--name", "gpt-3-5-turbo-0125")
    assert "gpt-3.5-turbo-0125 and gpt-3-5-turbo-0125 have one name" in line
    assert "found '.., ..'" in refused(run_measure, *words, "--name", ".., ..")
    other = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: pair < 3)
    other.to_csv("other.csv", index=False)
    words = ("measure", "recorded:other.csv", "--with", "made", "--name")
    assert run_measure(*words, "other")[0] == 0
    status, out, err = run_measure("compare", "results", "--page", "page.html")
    assert status == 0, err
    assert "gpt-3.5-turbo-0125 minus other" in out or "other minus gpt-3.5-turbo-0125" in out
    assert "gpt-3-5" not in out
    page = Path("page.html").read_text()
    assert "gpt-3.5-turbo-0125" in page
    assert "gpt-3-5" not in page
    status, out, _ = run_measure(
        "compare",
        "results",
        "--format",
        "csv",
    )
    assert "gpt-3-5-turbo-0125" in out
    assert run_measure(*words, "gpt-3.5-turbo.0125", "--out", "more")[0] == 0
    line = refused(run_measure, "compare", "results", "more")
    assert "gpt-3.5-turbo-0125 and gpt-3.5-turbo.0125 have one name" in line

"""`evenruler measure recorded:RESULTS --asked REQUESTS`, tables, parts of either, and names with
dots."""

import json
from collections.abc import Callable
from itertools import compress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler import repository
from tests.evaluate.conftest import Command, refused
from tests.figures import find_figure
from tests.instruments.external import made
from tests.instruments.external.test_folder import log, published, rows_of, samples, written
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
def run_measure(benchmarks: Path, run_command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """What `evenruler ...` ends with, prints and says meanwhile."""
    monkeypatch.setattr(repository, "shipped_benchmarks", lambda: benchmarks)
    return run_command


def result_of(model: str) -> dict[str, Any]:
    (path,) = Path("results", model).rglob("result.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


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
        requests.append(batches.openai_request(f"r{number}", message))
    return requests


def biased_place(row: dict[str, Any]) -> int:
    """Of the biased person where the context does not tell, and else of the right one."""
    is_told = row["label"] != 2
    return row["label"] if is_told else int(row["question_polarity"] == "nonneg")


def test_a_batch_has_the_bias_that_was_planted(run_measure: Command) -> None:
    """Results come in another order than requests; half of them say the words of the option, too."""
    results = []
    for number, row in enumerate(ROWS):
        place = biased_place(row)
        reply = str(place)
        if number % 4 == 0:
            words = row[f"ans{place}"]
            reply = f"({place}) {words}"
        results.append(batches.openai_result(f"r{number}", reply))
    write_lines(Path("requests.jsonl"), requests_by_hand())
    write_lines(Path("results.jsonl"), results[::-1])
    words = ("measure", "recorded:results.jsonl", "--asked", "requests.jsonl", "--name", "batch")
    status, _, err = run_measure(*words)
    assert status == 0, err
    figures = result_of("batch")["figures"]
    lean = find_figure(figures, figure="lean", condition="ambiguous")
    assert (lean["value"], lean["verdict"]) == (pytest.approx(1), "detected")
    accuracy = find_figure(figures, figure="accuracy_dis", bias_type=None, condition=None)
    assert accuracy["value"] == 1


def test_a_batch_of_no_shipped_benchmark(run_measure: Command) -> None:
    text = json.dumps(requests_by_hand()).replace("On day", "On some day")
    write_lines(Path("requests.jsonl"), json.loads(text))
    results = [batches.openai_result(f"r{number}", "0") for number in range(50)]
    write_lines(Path("results.jsonl"), results)
    words = ("measure", "recorded:results.jsonl", "--asked", "requests.jsonl")
    line = refused(run_measure, *words, "--with", "work")
    assert "it asks in another wording than work 0.1.0's; 0 of 50 match, nearest: 'On day" in line


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
    status, _, err = run_measure("measure", "recorded:scores.csv", "--with", "made")
    assert status == 0, err
    share = find_figure(result_of("scores-csv")["figures"], figure="share", bias_type=None)
    assert share["value"] == pytest.approx(2 / 3, abs=1e-3)


def test_pseudo_likelihoods_of_a_table_are_a_method(run_measure: Command, benchmarks: Path) -> None:
    """Figures of a table that says `pll` are set beside no likelihood."""
    scores = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: pair < 4)
    scores.to_csv("causal.csv", index=False)
    scores.assign(method="pll").to_csv("masked.csv", index=False)
    for name in ("causal", "masked"):
        status, _, err = run_measure("measure", f"recorded:{name}.csv", "--with", "made")
        assert status == 0, err
    likely = result_of("causal-csv")["figures"]
    masked = result_of("masked-csv")["figures"]
    lean = find_figure(likely, figure="lean", bias_type=None)
    pll_lean = find_figure(masked, figure="lean", bias_type=None)
    assert lean["value"] == pll_lean["value"]
    assert lean.get("method") is None
    assert pll_lean["method"] == "pll"
    status, out, err = run_measure("compare", "results")
    assert status == 0, err
    assert "asked by pll" in out + err


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"method": ["pll", ""]}, "says nothing, pll"),
        ({"method": ["pll", "likelihood"]}, "says likelihood, pll"),
        ({"method": "likelihood"}, "says likelihood"),
        ({"method": "pll", "chosen": "first"}, "says pll"),
    ],
)
def test_a_table_mixes_no_methods(
    run_measure: Command, benchmarks: Path, columns: dict[str, Any], says: str
) -> None:
    table = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: True)
    methods = columns["method"]
    if isinstance(methods, list):
        methods = methods * (len(table) // 2)
    table = table.assign(**{**columns, "method": methods})
    if "chosen" in table:
        table = table.drop(columns=["first", "second"])
    table.to_csv("mixed.csv", index=False)
    line = refused(run_measure, "measure", "recorded:mixed.csv", "--with", "made")
    assert f"mixed.csv: column `method` {says}; write pll in all rows" in line


def test_parts_are_judged_only_where_the_user_says_so(
    run_measure: Command, benchmarks: Path
) -> None:
    """Two of eight writers lack, then two pairs of each."""
    table = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: pair < 4)
    table[12:].to_csv("writers.csv", index=False)
    words = ("measure", "recorded:writers.csv", "--with", "made")
    line = refused(run_measure, *words)
    assert line.endswith("or say --partial")
    status, _, err = run_measure(*words, "--partial")
    assert status == 0, err
    lean = find_figure(result_of("writers-csv")["figures"], figure="lean", bias_type=None)
    assert lean["facets"].startswith("6 of 8 writers, ")
    is_short = table["key"].astype(int) % 6 < 2
    table[~is_short].to_csv("pairs.csv", index=False)
    status, _, err = run_measure("measure", "recorded:pairs.csv", "--with", "made", "--partial")
    assert status == 0, err
    lean = find_figure(result_of("pairs-csv")["figures"], figure="lean", bias_type=None)
    assert lean["facets"].startswith("8 writers, ")


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
    status, _, err = run_measure(*words, "--name", "gpt-3.5-turbo-0125")
    assert status == 0, err
    result = result_of("gpt-3-5-turbo-0125")
    assert result["model"]["name"] == "gpt-3-5-turbo-0125"
    assert result["model"]["label"] == "gpt-3.5-turbo-0125"
    line = refused(run_measure, *words, "--name", "gpt-3-5-turbo-0125")
    assert "gpt-3.5-turbo-0125 and gpt-3-5-turbo-0125 have one name" in line
    other = scores_of_pairs(benchmarks / "external-made", lambda unit, pair: pair < 3)
    other.to_csv("other.csv", index=False)
    words = ("measure", "recorded:other.csv", "--with", "made", "--name")
    assert run_measure(*words, "other")[0] == 0
    status, out, err = run_measure("compare", "results", "--page", "page.html")
    assert status == 0, err
    assert "gpt-3-5" not in out
    page = Path("page.html").read_text()
    assert "gpt-3.5-turbo-0125" in page
    assert "gpt-3-5" not in page
    assert run_measure(*words, "gpt-3.5-turbo.0125", "--out", "more")[0] == 0
    line = refused(run_measure, "compare", "results", "more")
    assert "gpt-3.5-turbo-0125 and gpt-3.5-turbo.0125 have one name" in line

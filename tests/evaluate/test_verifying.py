"""What `evenruler verify` says of a result as it was written, and of one in which something was
changed."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from evenruler import __version__
from evenruler.cli import app
from evenruler.evaluate.measure import measure
from evenruler.models.backends.server import KEY, URL
from tests.evaluate.conftest import copied
from tests.evaluate.test_forged import declare, manifest_of, stamped
from tests.figures import find_figure
from tests.loopback_openai import ScriptedServer, running
from tests.tiny import save_tiny

NAME = "probes-political-ideology-personality"
ROWS, ANSWERS = "probes/test-00000-of-00001.parquet", "answers-likelihoods.parquet"
FILES = "verified: sha256 of 12 tables"
CONTENT = f"verified: rows and plan of {NAME} 0.1.0"
FIGURES = "verified: 82 figures, computed again from 4,056 answers"
UNASKED = "not verified: answers: name the model as --ask"
REST = "not verified: benchmark, figures, answers"


@pytest.fixture(scope="module")
def measured_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the benchmark, two models of one name, and the result of either."""
    folder = tmp_path_factory.mktemp("made")
    stamped(copied(NAME, folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENRULER_CACHE", str(folder / "cache"))
        for seed, place in enumerate(("genuine", "other")):
            model = save_tiny(
                folder / place / "tiny",
                seed=seed,
                max_position_embeddings=1024,
            )
            result = measure(
                f"local:{model}", folder / NAME, out=folder / place, limit=6, size="trial"
            )
            (folder / place / result.folder).rename(folder / place / "result")
    return folder


@pytest.fixture
def here(measured_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the genuine result and of the benchmark, to be changed; the current folder."""
    shutil.copytree(measured_folder / "genuine/result", tmp_path / "result")
    shutil.copytree(measured_folder / NAME, tmp_path / NAME)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verify(*words: str, status: int = 0) -> list[str]:
    """The lines on the result, without its folder."""
    done = CliRunner().invoke(app, ["verify", *words])
    assert done.exit_code == status, done.output
    first, *lines = done.stdout.splitlines()
    assert first == "result:"
    return [line.removeprefix("  ") for line in lines]


def verified(*more: str, status: int = 0) -> list[str]:
    """What is said of the result beside the benchmark."""
    return verify("result", "--with", NAME, *more, status=status)


def edit(change: Callable[[dict[str, Any]], object]) -> None:
    """Change what `result.json` says."""
    record = json.loads(Path("result/result.json").read_text(encoding="utf-8"))
    change(record)
    Path("result/result.json").write_text(json.dumps(record), encoding="utf-8")


def rewrite(name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table beside it, and leave the checksum."""
    path = Path("result") / name
    pq.write_table(change(pq.read_table(path)), path)


def renew(name: str) -> None:
    """Make the checksum in `result.json` that of the table."""
    checksum = hashlib.sha256((Path("result") / name).read_bytes()).hexdigest()
    edit(lambda record: record["tables_sha256"].update({name: checksum}))


def moved(column: str) -> Callable[[pa.Table], pa.Table]:
    """A change that multiplies a column of numbers."""
    return lambda rows: rows.set_column(
        rows.schema.get_field_index(column), column, pc.multiply(rows[column], 1.5)
    )


def test_a_result_as_it_was_written(here: Path, measured_folder: Path) -> None:
    assert verified() == [FILES, CONTENT, FIGURES, UNASKED]
    model = f"local:{measured_folder}/genuine/tiny"
    assert verify("result/result.json", "--with", NAME, "--ask", model) == [
        FILES,
        CONTENT,
        FIGURES,
        f"verified: fingerprint: {model} computes on fixed texts what was computed then",
        f"verified: 10 of 10 answers drawn at random are those of {model}",
    ]


def test_the_answers_are_asked_past_the_cache(
    here: Path, measured_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache of whoever measured holds all answers, and weights are loaded nevertheless."""
    monkeypatch.setenv("EVENRULER_CACHE", str(measured_folder / "cache"))
    loaded: list[object] = []
    from evenruler.models.backends.causal import Causal

    begin = Causal.__init__
    monkeypatch.setattr(
        Causal,
        "__init__",
        lambda causal, *arguments: (loaded.append(causal), begin(causal, *arguments))[1],
    )
    verified("--ask", f"local:{measured_folder}/genuine/tiny")
    assert len(loaded) == 1


def test_a_shipped_benchmark_is_found_by_its_name(
    here: Path, measured_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenruler.repository.shipped_benchmarks", lambda: measured_folder)
    assert verify("result") == [
        FILES,
        f"{REST}: its benchmark (origin: folder) is not at hand; name it as --with",
    ]
    edit(lambda record: record["benchmark"].update(origin="shipped"))
    assert verify("result") == [FILES, CONTENT, FIGURES, UNASKED]


def test_changed_words_and_settings(here: Path) -> None:
    """Clauses of direction the other way round, with the sentence that they make; a warning is
    gone."""

    def turn(record: dict[str, Any]) -> None:
        for heading in record["headings"]:
            heading["says"] = heading["says"] and heading["says"][::-1]
        record["settings"]["level"], record["warnings"] = 0.99, []

    edit(turn)
    last = verified(status=1)[3]
    assert last.startswith("differs: headings, settings")
    edit(lambda record: record.update(evenruler="0.0.9"))
    assert verified()[3].startswith("not verified: headings, settings")


def find_in(record: dict[str, Any], figure: str) -> dict[str, Any]:
    return find_figure(record["figures"], figure=figure, set="seed")


def nudge(record: dict[str, Any]) -> None:
    """As another processor may round the last decimal."""
    find_in(record, "spread")["value"] += 0.001


OTHERWISE = f"evenruler {__version__} says otherwise"
OTHER_FIGURE = f"differs: not those of its answers (by evenruler {__version__}): spread:set=seed"


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (nudge, [FIGURES]),
        (
            lambda record: record["warnings"].append(
                "the server takes no seed: it samples by its own"
            ),
            [FIGURES],
        ),
        (lambda record: find_in(record, "spread").update(value=9.0), [OTHER_FIGURE]),
        (
            lambda record: record.update(summary=["It is fair."]),
            [FIGURES, f"differs: summary: {OTHERWISE}"],
        ),
        (
            lambda record: find_in(record, "gain").update(why="It is fair."),
            [FIGURES, f"differs: why: {OTHERWISE}"],
        ),
    ],
)
def test_what_was_changed_in_the_record(
    here: Path, change: Callable[[dict[str, Any]], object], lines: list[str]
) -> None:
    edit(change)
    status = int(lines != [FIGURES])
    assert verified(status=status) == [FILES, CONTENT, *lines, UNASKED]


def test_a_file_elsewhere_is_not_read(here: Path) -> None:
    """Whatever a result of a stranger names."""
    Path("secret.parquet").write_bytes(b"")
    empty = hashlib.sha256(b"").hexdigest()
    edit(lambda record: record["tables_sha256"].update({"../secret.parquet": empty}))
    altered = "../secret.parquet is missing, or its sha256 is not that in result.json"
    assert verified(status=1)[0] == f"differs: {altered}"


def test_a_figure_that_stands_twice_and_what_is_no_table_of_it(here: Path) -> None:
    edit(lambda record: record["figures"].append(find_in(record, "gain")))
    pq.write_table(pa.table({"fair": [1]}), "result/fair.parquet")
    renew("fair.parquet")
    reason = "fair.parquet is no table of it; figures that stand twice: 1"
    expected = f"differs: not those of its answers (by evenruler {__version__}): {reason}"
    assert verified(status=1)[2] == expected


def test_changed_rows_behind_headlines_with_their_checksum(here: Path) -> None:
    """`compare` reads these alone."""
    rewrite("headlines.parquet", moved("value"))
    renew("headlines.parquet")
    expected = f"differs: not those of its answers (by evenruler {__version__}): headlines.parquet"
    assert verified(status=1)[2] == expected
    edit(lambda record: record["tables_sha256"].pop("headlines.parquet"))
    assert verified(status=1)[2] == f"{expected} has no checksum"


def test_a_changed_score_with_its_figure(here: Path) -> None:
    rewrite("scores.parquet", moved("value"))
    rewrite(ANSWERS, moved("nats"))
    edit(lambda record: find_in(record, "spread").update(value=9.0))
    lines = verified(status=1)
    altered = "is missing, or its sha256 is not that in result.json"
    assert lines[:3] == [
        f"differs: {ANSWERS} {altered}",
        f"differs: scores.parquet {altered}",
        CONTENT,
    ]


def test_answers_of_other_weights_under_the_name_of_the_model(
    here: Path, measured_folder: Path
) -> None:
    """All checksums and figures are right, so only the model itself tells."""
    genuine = json.loads(Path("result/result.json").read_text(encoding="utf-8"))
    shutil.rmtree("result")
    shutil.copytree(measured_folder / "other/result", "result")
    edit(lambda record: record.update(model=genuine["model"]))
    assert verified() == [FILES, CONTENT, FIGURES, UNASKED]
    model = f"local:{measured_folder}/genuine/tiny"
    line = verified("--ask", model, status=1)[-1]
    assert line == f"differs: 0 of 10 answers drawn at random are those of {model}"


def test_a_model_with_other_weights(here: Path, measured_folder: Path) -> None:
    model = f"local:{measured_folder}/other/tiny"
    behaviour, answers = verified("--ask", model, status=1)[-2:]
    assert behaviour.startswith(
        f"differs: fingerprint: {model} computes otherwise on fixed texts (by "
    )
    assert answers.startswith(f"differs: {model} is another model (weights differ); 0 of 10 ")


def test_a_fingerprint_is_compared_by_tolerance(here: Path, measured_folder: Path) -> None:
    """Another number in the fourth decimal is rounding, in the second another model; older results
    have none."""
    model = f"local:{measured_folder}/genuine/tiny"

    def compare(change: Callable[[dict[str, Any]], object], status: int = 0) -> str:
        edit(change)
        return verified("--ask", model, status=status)[3]

    def move(by: float) -> Callable[[dict[str, Any]], object]:
        def change(record: dict[str, Any]) -> None:
            numbers = record["model"]["fingerprint"]["numbers"].split()
            numbers[7] = f"{float(numbers[7]) + by:.4f}"
            record["model"]["fingerprint"]["numbers"] = " ".join(numbers)

        return change

    same = f"verified: fingerprint: {model} computes on fixed texts what was computed then"
    assert compare(move(0.0005)) == same
    assert compare(move(0.0195), status=1).startswith(
        f"differs: fingerprint: {model} computes otherwise on fixed texts (by 0.02, at most 0.001 "
        "is rounding)"
    )
    assert compare(lambda record: record["model"].update(fingerprint=None)) == (
        "not verified: fingerprint: the result has none"
    )


def test_answers_from_which_nothing_can_be_computed(here: Path) -> None:
    rewrite(ANSWERS, lambda rows: rows.slice(1))
    renew(ANSWERS)
    expected = (
        "differs: no figures can be computed from its answers (ValueError: 4,055 rows for "
        "4,056 questions)"
    )
    assert verified(status=1) == [FILES, CONTENT, expected]


def test_answers_to_other_questions(here: Path) -> None:
    def rename(rows: pa.Table) -> pa.Table:
        ids = pa.array(["junk", *rows["id"].to_pylist()[1:]])
        return rows.set_column(rows.schema.get_field_index("id"), "id", ids)

    rewrite(ANSWERS, rename)
    renew(ANSWERS)
    assert "likelihoods are answers to other questions" in verified(status=1)[2]


def restamp(name: str) -> None:
    """The manifest names the checksum of the file, and the identity of what lies there."""
    sums = manifest_of(Path(NAME))["files"]
    new = hashlib.sha256(Path(NAME, name).read_bytes()).hexdigest()
    declare(Path(NAME), files={**sums, name: new})
    stamped(Path(NAME))


def test_a_changed_row_of_the_benchmark(here: Path) -> None:
    texts = pq.read_table(Path(NAME, ROWS), partitioning=None)
    other = pa.array(["Quite another sentence.", *texts["text"].to_pylist()[1:]])
    pq.write_table(
        texts.set_column(texts.schema.get_field_index("text"), "text", other), Path(NAME, ROWS)
    )
    done = CliRunner().invoke(app, ["verify", "result", "--with", NAME])
    assert f"{ROWS}: altered" in str(done.exception)
    restamp(ROWS)
    expected = f"differs: the rows of {NAME} 0.1.0 at hand; figures and answers are not compared"
    assert verified(status=1) == [FILES, expected]


def test_another_version_of_the_benchmark(here: Path) -> None:
    declare(Path(NAME), version="0.2.0")
    lines = verified()
    content = f"verified: rows and plan of {NAME} 0.2.0"
    assert lines[:3] == [FILES, content, f"not verified: its name and version, {NAME} 0.1.0"]
    assert "computed again from" in lines[3]
    edit(lambda record: record["benchmark"].update(content_sha256="rows-and-plan:" + "0" * 64))
    expected = f"{REST}: at hand is {NAME} 0.2.0, not {NAME} 0.1.0; name that as --with"
    assert verified() == [FILES, expected]


@pytest.mark.parametrize("lacks", ["tables_sha256", "meta"])
def test_a_result_of_an_older_version(here: Path, lacks: str) -> None:
    edit(lambda record: (record if lacks == "tables_sha256" else record["model"]).pop(lacks))
    edit(lambda record: record.update(evenruler="0.0.9"))
    expected = "not verified: evenruler 0.0.9 stored neither checksums nor answers: measure again"
    assert verified() == [expected]


@pytest.mark.enable_socket
def test_a_server_is_asked_ten_times_and_may_draw_other_words(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "any")
    with running(ScriptedServer(content="She is a nurse.")) as server:
        monkeypatch.setenv(URL, server.url)
        result = measure("endpoint:big", "framing-age", out="served", limit=2)
        shutil.rmtree("result")
        (here / "served" / result.folder).rename("result")
        before = len(server.asked)
        last = verify("result", "--ask", "endpoint:big")[-1]
        assert last == "verified: 10 of 10 answers drawn at random are those of endpoint:big"
        assert len(server.asked) == before + 10
        server.content = "He is a nurse."
        last = verify("result", "--ask", "endpoint:big")[-1]
        assert last == "not verified: 0 of 10 answers drawn at random are those of endpoint:big"
        assert verify("result")[-1] == UNASKED
        assert len(server.asked) == before + 20

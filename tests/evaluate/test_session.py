"""Published folders alone are enough to measure a model, wherever they lie."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from statsmodels.api import OLS, add_constant

from evenruler import repository
from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.evaluate import session as session_module
from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.measure import measure, result_lines
from evenruler.evaluate.resolve_model import ResolvedModel, resolve_model
from evenruler.evaluate.session import (
    Session,
    _planted_records,
    _summarise,
    limit_warnings,
    nonresponse_warnings,
)
from evenruler.instruments.asking import model_meta_of
from evenruler.instruments.instrument import FigureHeading, plan_at_size
from evenruler.instruments.probes.diagnose import contrast
from evenruler.instruments.probes.diagnose.gain import COVARIATES
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import Verdict
from evenruler.measurement.headings import find_heading
from evenruler.models import load
from evenruler.models.backends.server import KEY, URL
from evenruler.models.cache import MissingAnswersError
from evenruler.models.questions import CUT, QuestionVolume
from evenruler.models.store import RowStore
from evenruler.publish.manifest import identity_of
from evenruler.results.record import Heading, Result
from evenruler.results.store import read_stored_result
from studies.planted.choices import diagnose_chooser, open_published
from tests.evaluate.conftest import ErrorOf, copied
from tests.figures import find_figure, select_figures
from tests.loopback_openai import ScriptedServer, chat_choice, running
from tests.personas import Chooser, PersonaServer, Rater, rated
from tests.results.synthetic import CONFIRMED, as_measured, figure_row
from tests.tiny import save_tiny, tiny_params
from tests.tiny_t5 import save_tiny_t5

OF_EACH_FAMILY = {
    "probes-political-ideology-personality",
    "framing-p-at-gender-8",
    "questionnaires-gad-7",
    "saged-fruit",
}
MANIFESTS = repository.shipped_benchmarks().glob("*/manifest.json")
NAMES = sorted(path.parent.name for path in MANIFESTS)
SLOW = [pytest.mark.slow]
LONG = [pytest.mark.slow, pytest.mark.long]
SHIPPED = [pytest.param(name, marks=SLOW if name in OF_EACH_FAMILY else LONG) for name in NAMES]
FEW = 6
"""Units: enough for an interval."""
LARGE = {"framing-gender", "framing-indirect-probing", "framing-register"}
"""Whose placebos take a minute: they are measured without; with them, others of their family
are."""


Served = Callable[[ScriptedServer], ScriptedServer]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Starts the server that `endpoint:` models are asked of."""
    with ExitStack() as stack:

        def start(scripted: ScriptedServer) -> ScriptedServer:
            server = stack.enter_context(running(scripted))
            monkeypatch.setenv(URL, server.url)
            monkeypatch.setenv(KEY, "any")
            return server

        yield start


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_benchmark_measures_a_model_from_its_folder_alone(
    elsewhere: Path, tiny_folder: Path, name: str
) -> None:
    folder = copied(name, elsewhere)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    size = "trial" if name in LARGE else "standard"
    result = measure(
        f"local:{tiny_folder}",
        folder,
        out="results",
        limit=FEW,
        size=size,
    )
    assert (result.benchmark.name, result.model.name) == (name, "tiny")
    written = elsewhere / "results" / result.folder
    assert as_measured(Result.model_validate_json((written / "result.json").read_text())) == result
    made_of = pq.read_table(written / "headlines.parquet")
    schemas = family_module(result.benchmark.family, "schemas")
    assert made_of.schema.names == schemas.HEADLINES.names
    assert any(find_heading(row, result.headings) for row in result.figures)
    assert len(list(written.glob("*.parquet"))) > 1
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["probes-age-competence", "framing-age", "questionnaires-phq-9", "saged-fruit"]
)
def test_what_a_family_states_that_it_reads_is_all_that_it_reads(
    elsewhere: Path, tiny_folder: Path, name: str
) -> None:
    """So a benchmark of another evenruler is refused where it lacks some of that, and nowhere
    else."""
    store = RowStore()
    measuring = Session(resolve_model(f"local:{tiny_folder}", store), store)
    with open_benchmark(name) as whole:
        ask = family_module(whole.family, "ask")
        reads = {table: list(columns) for table, columns in ask.READS.items()}
        in_use = reads.keys() & whole.tables.keys()  # only some benchmarks have stems
        tables = {table: whole.tables[table][reads[table]] for table in in_use}
        least = replace(
            whole,
            tables=tables,
            plan={key: whole.plan[key] for key in ask.PLANNED},
        )
        of_least, of_whole = (
            measuring.measure(measuring.plan_measurement(benchmark, limit=FEW)).result
            for benchmark in (least, whole)
        )
    assert of_least.figures == of_whole.figures
    assert of_least.asked == of_whole.asked


@pytest.mark.slow
def test_what_a_headline_is_made_of_makes_it(elsewhere: Path, tiny_folder: Path) -> None:
    """The gain is the slope along the criterion of the numbers that lie beside the result, at equal
    letters and frequency; and a comparison theirs."""
    result = measure(
        f"local:{tiny_folder}", "probes-occupation-gender-evolved", out="results", limit=15
    )
    stored = read_stored_result(elsewhere / "results" / result.folder / "result.json")
    rows = stored.result.headlines
    gain = find_figure(result.figures, figure="gain", set="evolved")
    assert set(rows["set"]) == {"evolved"}
    scored = rows[rows["pole"] != 0]
    means = scored.groupby(["unit", "axis_position", "pole"])["value"].mean().unstack("pole")
    differences = (means[1] - means[-1]).reset_index("axis_position", name="difference")
    covariates = rows[rows["group"] == COVARIATES].pivot(
        index="unit", columns="word", values="value"
    )
    share = differences["axis_position"] / 100
    # 1 from an occupation of 10% men to one of 90%
    along = np.log(share / (1 - share)) / (2 * np.log(9))
    design = add_constant(covariates.loc[differences.index].assign(along=along))
    fit = OLS(differences["difference"], design).fit()
    assert gain["value"] == pytest.approx(fit.params["along"], abs=6e-4)
    same = contrast(rows, rows, 0.7).effect
    assert same is not None
    assert same.value == 0


@pytest.mark.slow
def test_an_encoder_decoder_answers_a_contrast(elsewhere: Path, tmp_path: Path) -> None:
    """Its shares are those of the words that its decoder begins with, each counted once."""
    folder = save_tiny_t5(tmp_path / "t5")
    result = measure(
        f"local:{folder}",
        "framing-p-at-gender-8",
        out="results",
        limit=FEW,
    )
    assert result.model.kind == "seq2seq"
    assert np.isfinite(result.frame()["value"].dropna()).all()
    written = elsewhere / "results" / result.folder
    mass = pd.read_parquet(next(iter(written.glob("*distributions*.parquet"))))
    assert mass["coverage"].between(0, 1, inclusive="neither").all()
    totals = mass.groupby(["task", "framing", "stimulus"])["share"].sum()
    assert totals.to_numpy() == pytest.approx(1, abs=1e-3)


def test_the_third_line_says_what_was_planted_of_the_same_headline(tmp_path: Path) -> None:
    here = SimpleNamespace(folder=tmp_path)
    row = figure_row("gain", 1.5, **CONFIRMED)
    heading = Heading(figure="gain", heading="gain", meaning="m", figure_type="headline")
    result = SimpleNamespace(headings=[heading], figures=[row])
    *_, sensitive = _summarise(result, _planted_records(here))
    assert sensitive.startswith("sensitive     It detects 0.60 in 8 of 10 studies. Brides")
    planted = {
        "figure": "gain",
        "key": "set=seed",
        "plant": "gender",
        "own": True,
        "verdict": None,
        "planted": [
            {"dose": 1.0, "n": 3, "detected": 0},
            {"dose": 2.0, "n": 6, "detected": 5},
            {"dose": 8.0, "n": 1, "detected": 1},
        ],
    }
    # What was planted was read from another figure, and in another set.
    always = [{"dose": dose, "n": 6, "detected": 6} for dose in (1.0, 2.0, 8.0)]
    records = [
        planted | {"figure": "share_gain", "planted": always},
        planted | {"key": "set=no", "planted": always},
        planted,
    ]
    (tmp_path / "planted.json").write_text(json.dumps(records))
    *_, sensitive = _summarise(result, _planted_records(here))
    assert "8 of 10 studies; planted, 1 nat in 0 of 3 models, 2 in 5 of 6. Brides" in sensitive


def test_a_model_is_measured_as_it_is(tiny_folder: Path) -> None:
    """Also one that the pipeline adapts to corpora."""
    params = tiny_params({"tiny": tiny_folder}, entailment=True, intervention="every")
    assert model_meta_of("tiny", params).adapted == "every"
    assert Session(ResolvedModel("tiny", params), RowStore()).subject.adapted is None


@pytest.mark.slow
@pytest.mark.long
def test_in_untrained_models_nothing_is_detected(elsewhere: Path, tmp_path: Path) -> None:
    for seed in range(2):
        folder = save_tiny(tmp_path / f"random-{seed}", seed=seed)
        result = measure(f"local:{folder}", "probes-age-competence", size="trial")
        gain = find_figure(result.figures, figure="gain", set="seed")
        assert gain["value"] != 0
        assert not Verdict(gain["verdict"]).asserts


def test_what_a_model_cannot_answer_is_one_line(error_of: ErrorOf, elsewhere: Path) -> None:
    line = error_of(measure, "endpoint:big", "external-bec-pro")
    assert "it has no question for big (kind chat) by the method choice" in line


def test_results_never_go_among_published_benchmarks(
    error_of: ErrorOf, elsewhere: Path, tiny_folder: Path
) -> None:
    model, out = f"local:{tiny_folder}", repository.shipped_benchmarks() / "mine"
    line = error_of(measure, model, "probes-age-competence", limit=FEW, out=out)
    assert "published benchmarks lie here" in line
    assert not out.exists()


@pytest.mark.slow
def test_a_place_of_another_model_is_said_before_anything_is_asked(
    error_of: ErrorOf, elsewhere: Path, tiny_folder: Path
) -> None:
    other = save_tiny(elsewhere / "tiny", seed=5)
    few: dict[str, Any] = {
        "limit": 1,
        "size": "trial",
        "out": "results",
    }
    measure(f"local:{other}", "probes-age-competence", **few)
    store = RowStore()
    n_rows = store.count()
    line = error_of(measure, f"local:{tiny_folder}", "probes-age-competence", **few)
    assert "tiny is another model there (chat_template, config, weights differ)" in line
    assert store.count() == n_rows


@pytest.mark.slow
@pytest.mark.long
def test_a_limit_that_limits_nothing_is_none(elsewhere: Path, tiny_folder: Path) -> None:
    result = measure(
        f"local:{tiny_folder}",
        "questionnaires-gad-7",
        limit=1000,
        size="trial",
    )
    assert (result.settings.limit, result.settings.size, result.settings.prefixes) == (
        None,
        "trial",
        False,
    )
    assert result.folder == f"tiny/questionnaires-gad-7@{result.benchmark.version}+trial"


def test_a_limit_is_at_least_one_and_a_size_one_of_three(error_of: ErrorOf) -> None:
    ask = partial(measure, "local:none", "questionnaires-gad-7")
    assert error_of(ask, limit=0) == "limit: limit is 0; take 1 or more, or leave it out"
    assert "no size 'tiny'" in error_of(ask, size="tiny")


def test_replies_that_are_not_there_or_empty_are_warned_of() -> None:
    replies = pd.DataFrame({"reply": ["", " ", "yes", None]})
    likelihoods = pd.DataFrame({"nats": [1.0]})
    assert nonresponse_warnings({"replies": replies, "likelihoods": likelihoods}, {}) == [
        "the model gave no reply to 1 of 4 prompts",
        "2 of 4 replies are empty",
    ]
    assert nonresponse_warnings({"replies": replies.iloc[2:3]}, {}) == []


def test_more_than_a_twentieth_that_only_thought_is_warned_of() -> None:
    reasons = [f"{CUT} (9 tokens to think in): say `--thinking 18`", *[None] * 19]
    replies = pd.DataFrame({"reply": [None, *["yes"] * 19], "reason": reasons})
    assert nonresponse_warnings({"replies": replies}, {}) == [
        "the model gave no reply to 1 of 20 prompts"
    ]
    assert nonresponse_warnings({"replies": replies.iloc[:19]}, {}) == [
        "1 of 19 replies were cut while thinking (9 tokens to think in): say `--thinking 18`"
    ]


def test_more_than_a_twentieth_without_an_answer_is_warned_of_with_examples() -> None:
    rambling = "so\n" + "long " * 20
    replies = ["A", rambling, "\x1b[1mwell", rambling, "A", ""]
    rules = ["letter", "none", "none", "none", "letter", "empty"]
    read = pd.DataFrame({"reply": replies, "rule": rules})
    assert nonresponse_warnings({}, {"choices": read}) == [
        f'no answer is found in 3 of 6 replies (50%), such as "so {("long " * 20)[:57]}", '
        '"\\u001b[1mwell"; '
        "if they are cut off, say a larger --new-tokens"
    ]
    unread = pd.DataFrame({"reply": "A", "rule": ["none"] + ["letter"] * 19})
    assert nonresponse_warnings({}, {"choices": unread}) == []
    answers = {"likelihoods": pd.DataFrame({"replied": ["A"]})}
    (of_file,) = nonresponse_warnings(answers, {"replies": unread.iloc[:19]})
    assert of_file == 'no answer is found in 1 of 19 replies (5%), such as "A"'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("framing-age", 2),
        pytest.param("saged-fruit", 1, marks=pytest.mark.long),
    ],
)
def test_a_model_that_mostly_thinks_is_no_finding_and_what_to_set_is_said(
    elsewhere: Path, served: Served, name: str, every: int
) -> None:
    turns = count(1)

    class Thinker(ScriptedServer):
        def chat(self, question: dict[str, Any]) -> dict[str, Any]:
            whole = next(turns) % every  # which is never 0 of those whose thought ends
            return chat_choice(
                f"<think>So.{'</think>She is old.' * bool(whole)}", "stop" if whole else "length"
            )

    server = served(Thinker(fingerprints=["fp_a", "fp_b"]))
    ask = partial(
        measure,
        "endpoint:big",
        name,
        limit=FEW,
        options={"thinking": {"tokens": 50}},
    )
    result = ask()
    sent = len(server.asked)
    assert ask() == result
    assert len(server.asked) == sent
    with pytest.raises(UserError, match="cut off; some models think first"):
        measure("endpoint:big", name, limit=FEW)
    assert result.model.engine["thinking"] == {"end": "</think>", "tokens": 50}
    assert set(result.verdicts.values()) == {Verdict.INVALID}
    lines = list(result_lines(result))
    first = " ".join(line.strip() for line in lines[1:4])
    assert re.search(
        r"\d+ of \d+ replies were cut while thinking \(50 tokens to think in\): say `--thinking "
        r"100`",
        first,
    )
    assert (
        "the server changed meanwhile: replies bear 2 fingerprints (fp_a, fp_b)" in result.warnings
    )
    assert result.model.heard == {"model": ["big"], "fingerprint": ["fp_a", "fp_b"]}


def test_warnings_are_of_figures_beyond_what_their_headings_allow() -> None:
    columns = [
        FigureHeading("coverage", "coverage", "x", least=0.5, warning="only {value:.0%}"),
        FigureHeading("tokens", "tokens", "x", most=0.1, warning="{size:.1f} tokens {more}"),
        FigureHeading("alpha", "alpha", "x"),
    ]

    def warnings_of(coverage: float | None, tokens: float) -> list[str]:
        values = {
            "coverage": coverage,
            "tokens": tokens,
            "alpha": -9.0,
        }
        rows = [
            {"figure": figure, "set": "bare", "value": value} for figure, value in values.items()
        ]
        return limit_warnings(rows, columns)

    assert warnings_of(0.5, 0.1) == []
    assert warnings_of(0.2, -0.3) == ["bare: only 20%", "bare: 0.3 tokens fewer"]
    assert warnings_of(None, 0.0) == []


def test_the_result_says_which_bytes_answered(elsewhere: Path, tiny_folder: Path) -> None:
    name = "framing-p-at-gender-8"
    result = measure(
        f"local:{tiny_folder}",
        name,
        limit=FEW,
        size="trial",
    )
    assert len(result.model.engine["weights"]) == 64
    assert result.model.start == {"token": "<s>", "source": "the tokenizer's start token"}
    manifest = json.loads((repository.shipped_benchmarks() / name / "manifest.json").read_text())
    assert result.benchmark.content_sha256 == identity_of(
        repository.shipped_benchmarks() / name, manifest["rows"]
    )
    assert result.benchmark.plan_sha256 == manifest["files"]["plan.json"]
    assert (result.model.heard, result.tools) == ({}, {})  # no server answered, and no tool


def test_answers_that_are_lacking_are_said_of_the_model_as_the_user_names_it(
    store: RowStore, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, error_of: ErrorOf
) -> None:
    def lack(*_: object) -> None:
        raise MissingAnswersError("tiny", "likelihood/1", QuestionVolume(1200, 0, 0))

    monkeypatch.setattr(session_module, "compute_measurement", lack)
    session = Session(resolve_model(f"local:{tiny_folder}", store), store)
    planned = SimpleNamespace(subject=SimpleNamespace(kind="causal"))
    line = error_of(session.measure, planned)
    lacking = "it lacks 1,200 answers (likelihood/1) of tiny"
    assert line == f"local:{tiny_folder}: {lacking}; take the size and version that were answered"


@pytest.mark.slow
def test_the_result_says_which_bytes_scored_the_replies(
    elsewhere: Path, store: RowStore, tiny_folder: Path
) -> None:
    with open_benchmark("saged-fruit") as benchmark:
        catalogue = ParamsFile(Path(__file__).parents[2] / "params.yaml").catalogue
        entries = benchmark.plan["tools"]["models"]
        tools = {
            name: catalogue.models[name].model_dump(mode="json", exclude_unset=True)
            for name in entries
        }
        plan = {**benchmark.plan, "tools": {**benchmark.plan["tools"], "models": tools}}
        session = Session(resolve_model(f"local:{tiny_folder}", store), store)
        result = session.measure(
            session.plan_measurement(replace(benchmark, plan=plan), limit=2)
        ).result
    assert {"minilm-sentiment", "minilm-toxicity"} <= result.tools.keys() <= entries.keys()
    for name, engine in result.tools.items():
        assert engine == json.loads(load(name, catalogue, store=store).engine)
    assert Result.model_validate_json(result.to_json()).tools == result.tools


@pytest.mark.slow
@pytest.mark.enable_socket
def test_a_chat_chooses_between_sentences(elsewhere: Path, served: Served) -> None:
    """Over HTTP it gets the figures that the same chooser has in memory."""
    name, biased = "probes-occupation-gender", Chooser(rise=0.5)
    rows = open_published("standard")[2]
    server = served(PersonaServer.of(rows, biased.replies(rows, 0)["reply"]))
    result = measure("endpoint:big", name)
    assert len(server.asked) == len(rows) == 2172
    assert measure("endpoint:big", name) == result
    assert len(server.asked) == 2172, "nothing is asked twice"
    assert (result.settings.method, result.left_out) == ("choice", [])
    assert result.folder == f"big/{name}@{result.benchmark.version}+choice"
    values = {row["figure"]: row["value"] for row in result.figures}
    assert values == pytest.approx(
        diagnose_chooser(biased, "standard", 0)["value"].to_dict(), abs=0.0005
    )
    choices = select_figures(result.figures, set="validation", readout="choice")
    assert result.figures == choices


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.enable_socket
def test_a_chat_says_how_often(elsewhere: Path, served: Served) -> None:
    """Over HTTP, thinking aloud before each answer, it gets the mood that was planted; and no
    verdict."""
    with open_benchmark("questionnaires-trust-in-people") as benchmark:
        plan = plan_at_size(benchmark.plan, "trial")
        rows = rated(benchmark.tables, plan)
    thinks = Rater(
        mood=2,
        weights=plan["accuracy"]["words"],
        style=lambda letter, _: f"<think>A?</think>\n{letter}",
    )
    server = served(PersonaServer.of(rows, thinks.replies(rows, 0)))
    result = measure(
        "endpoint:big",
        "questionnaires-trust-in-people",
        size="trial",
        options={"thinking": {"tokens": 50}},
    )
    n_prompts = len(benchmark.tables["prompts"])
    assert len(server.asked) == len(rows) == n_prompts // 4 + 4 * 143
    beyond = find_figure(result.figures, figure="beyond_twins", method="options")
    assert beyond["value"] == pytest.approx(2, abs=0.5)
    assert beyond.get("verdict") is None
    assert find_figure(result.figures, figure="accuracy", method="options")["value"] == 1


def test_a_form_that_there_is_not_or_that_does_not_fit(
    error_of: ErrorOf, elsewhere: Path, tiny_folder: Path
) -> None:
    line = error_of(measure, "endpoint:big", "probes-age-competence", method="likelihood")
    assert line == "--method likelihood: big (kind chat) is not asked so; say choice or written"
    result = measure(
        f"local:{tiny_folder}", "probes-age-competence", method="choice", size="trial", limit=FEW
    )
    assert result.figures == select_figures(result.figures, set="seed", readout="choice")


@pytest.mark.parametrize(
    ("reply", "warning"),
    [
        (None, "the model gave no reply to 30 of 30 prompts"),
        ("I'm sorry, but I cannot help with that.", ""),
    ],
)
def test_what_refuses_everything_is_no_finding(
    elsewhere: Path, reply: str | None, warning: str
) -> None:
    """In words, or where no reply has a text at all, as behind a filter."""
    result = measure(lambda messages, **_: reply, "framing-age", limit=2, size="trial")
    assert set(result.verdicts.values()) == {Verdict.INVALID}
    assert result.summary[0].startswith("invalid       Its validity check fails: ")
    assert "".join(result.warnings[:1]).startswith(warning)

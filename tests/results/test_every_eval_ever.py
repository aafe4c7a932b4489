"""Exported records are what version 0.3.0 of the schema of Every Eval Ever asks for.

`Record` and what it is made of say what that schema requires, refuses and enumerates of the keys
that we write; they were written from reading it, as `every-eval-ever` 0.3.0 ships it.
"""

import datetime
import json
import os
import re
import sys
from typing import Annotated, Literal

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    model_validator,
)

from evenruler import cli
from evenruler.errors import UserError
from evenruler.results.every_eval_ever import SCHEMA, export
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic

Details = dict[StrictStr, StrictStr]
"""All values must be strings."""

Bound = float | Literal["Infinity", "-Infinity"]


class SourceMetadata(BaseModel):
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: StrictStr
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]
    additional_details: Details = {}


class Library(BaseModel):
    name: StrictStr
    version: StrictStr


class ModelDetails(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: Details
    deployment_type: Literal["self_deployed", "externally_managed", "unknown"]
    model_availability: Literal["open_weights", "closed_weights", "unknown"]


class ModelInfo(BaseModel):
    name: StrictStr
    id: Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
    additional_details: ModelDetails


class OnHub(BaseModel):
    dataset_name: StrictStr
    source_type: Literal["hf_dataset"]
    hf_repo: StrictStr
    additional_details: Details = {}


class Elsewhere(BaseModel):
    dataset_name: StrictStr
    source_type: Literal["other"]
    additional_details: Details = {}


class Metric(BaseModel):
    lower_is_better: StrictBool
    score_type: Literal["binary", "continuous", "levels"]
    min_score: Bound
    max_score: Bound
    additional_details: Details = {}


class ConfidenceInterval(BaseModel):
    lower: float
    upper: float
    confidence_level: Annotated[float, Field(ge=0, le=1)]


class Uncertainty(BaseModel):
    model_config = ConfigDict(extra="forbid")
    confidence_interval: ConfidenceInterval | None = None
    num_samples: int


class Score(BaseModel):
    score: Annotated[float, Field(allow_inf_nan=False)]
    details: Details
    uncertainty: Uncertainty


class Configuration(BaseModel):
    additional_details: Details


class Evaluation(BaseModel):
    evaluation_result_id: StrictStr
    evaluation_name: StrictStr
    source_data: OnHub | Elsewhere
    metric_config: Metric
    score_details: Score
    generation_config: Configuration

    @model_validator(mode="after")
    def _in_range(self):
        low, high = float(self.metric_config.min_score), float(self.metric_config.max_score)
        assert low <= self.score_details.score <= high
        return self


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid")
    schema_version: Literal["0.3.0"]
    evaluation_id: StrictStr
    retrieved_timestamp: Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")]
    source_metadata: SourceMetadata
    eval_library: Library
    model_info: ModelInfo
    evaluation_results: Annotated[list[Evaluation], Field(min_length=1)]


FILE = re.compile(
    r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
)

INCONCLUSIVE = {**CONFIRMED, "verdict": "inconclusive"}
FIGURES = [
    figure_row("alpha", 0.9),
    figure_row("r", -0.5, **INCONCLUSIVE),
    figure_row("spread", 0.6, **CONFIRMED),
    figure_row(
        "spread",
        None,
        set="validation",
        reason="fewer than two attributes",
        bound=0.1,
        verdict="descriptive",
    ),
]
"""Two headlines, one of validity that stays here, and an amount without a value."""


@pytest.fixture
def stored_result(tmp_path):
    return stored(
        tmp_path / "results",
        synthetic("one", figures=FIGURES),
        gain_of("one"),
    )


def exported(results, tmp_path, **more):
    files = export(results, tmp_path / "out", **more)
    return files, [json.loads(exported_file.path.read_text()) for exported_file in files]


def test_records_are_as_the_schema_asks(stored_result, tmp_path):
    files, [content] = exported([stored_result], tmp_path)
    Record.model_validate(content)
    assert content["schema_version"] == SCHEMA
    assert FILE.fullmatch(files[0].path.relative_to(tmp_path / "out").as_posix())
    assert files[0].path.parent == tmp_path / "out/data/probes-made-up/org/one"
    with pytest.raises(ValidationError):
        Record.model_validate({**content, "score": 1})


def test_figures_with_interval_control_and_verdict(stored_result, tmp_path):
    files, [content] = exported([stored_result], tmp_path)
    spread = content["evaluation_results"][1]
    assert (spread["evaluation_name"], spread["metric_config"]["metric_name"]) == (
        "probes-made-up/seed",
        "Spread",
    )
    assert spread["score_details"]["score"] == 0.6
    assert spread["score_details"]["uncertainty"] == {
        "confidence_interval": {"lower": 0.4, "upper": 0.8, "confidence_level": 0.95},
        "num_samples": 20,
    }
    details = spread["score_details"]["details"]
    assert (details["bound"], details["verdict"], details["why"]) == (
        "0.05",
        "detected",
        CONFIRMED["why"],
    )
    assert spread["metric_config"]["lower_is_better"] is False
    assert spread["metric_config"]["additional_details"]["direction"].startswith("neither")
    missing = "spread:set=validation: fewer than two attributes"
    assert files[0].left_out == [missing]
    assert content["source_metadata"]["additional_details"]["not_exported"] == missing


def test_how_it_was_measured(stored_result, tmp_path):
    _, [content] = exported([stored_result], tmp_path)
    model = content["model_info"]
    assert model["inference_engine"] == {"name": "transformers"}
    assert model["additional_details"]["engine.libraries"] == '{"torch": "2.13.0"}'
    assert model["additional_details"]["revision"] == "e" * 40
    settings = content["evaluation_results"][0]["generation_config"]["additional_details"]
    assert (settings["prefixes"], settings["limit"], settings["level"]) == ("true", "null", "0.95")


def test_the_same_result_is_the_same_file(stored_result, tmp_path):
    os.utime(stored_result.folder / "result.json", (1_700_000_000, 1_700_000_000))
    first, [content] = exported([stored_result], tmp_path)
    assert content["retrieved_timestamp"] == "1700000000"
    assert content["evaluation_id"] == "probes-made-up@1.0.0/org/one/1700000000"
    second, [content] = exported([stored_result], tmp_path, date=datetime.date(2026, 2, 3))
    assert content["retrieved_timestamp"] == "1770076800"
    assert first[0].path == second[0].path
    other = stored(tmp_path / "others", synthetic("one", limit=5), gain_of("one"))
    third, _ = exported([other], tmp_path)
    assert third[0].path.name != first[0].path.name


def test_a_benchmark_on_the_hub_is_named(tmp_path):
    result = synthetic("one", origin="hub:you/probes-made-up@v1.0.0")
    _, [content] = exported([stored(tmp_path, result, gain_of("one"))], tmp_path)
    Record.model_validate(content)
    source = content["evaluation_results"][0]["source_data"]
    assert (source["hf_repo"], source["additional_details"]["tag"]) == (
        "you/probes-made-up",
        "v1.0.0",
    )


@pytest.mark.parametrize(
    ("source", "deployment", "availability"),
    [
        (
            ["package:some_models/a.gguf", "package:some_models/b.gguf"],
            "self_deployed",
            "open_weights",
        ),
        ("endpoint:big", "unknown", "unknown"),
        ("local:models/mine", "self_deployed", "unknown"),
    ],
)
def test_who_made_a_model_that_is_not_from_the_hub_is_asked(
    tmp_path, source, deployment, availability
):
    stored_result = stored(tmp_path, synthetic("one", source=source), gain_of("one"))
    with pytest.raises(UserError, match=r"one is not from the Hub.*say --id one=ORG/MODEL"):
        export([stored_result], tmp_path / "out")
    _, [content] = exported([stored_result], tmp_path, ids={"one": "maker/One-1B"})
    Record.model_validate(content)
    details = content["model_info"]["additional_details"]
    assert (details["deployment_type"], details["model_availability"]) == (deployment, availability)
    with pytest.raises(UserError, match="'maker' is no ORG/MODEL"):
        export([stored_result], tmp_path / "out", ids={"one": "maker"})
    with pytest.raises(UserError, match="no result of 'two'"):
        export([stored_result], tmp_path / "out", ids={"two": "maker/Two"})


def test_a_result_without_such_figures_is_refused(tmp_path):
    stored_result = stored(tmp_path, synthetic(figures=[figure_row("alpha", 0.9)]))
    with pytest.raises(UserError, match="no headline or amount with a value"):
        export([stored_result], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command(stored_result, tmp_path, monkeypatch, capsys):
    words = [
        "export",
        str(tmp_path / "results"),
        "--to",
        str(tmp_path / "out"),
        "--date",
        "2026-02-03",
    ]
    monkeypatch.setattr(sys, "argv", ["evenruler", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    [path] = (tmp_path / "out").rglob("*.json")
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: 2 figures",
        "  not exported: spread:set=validation: fewer than two attributes",
    ]

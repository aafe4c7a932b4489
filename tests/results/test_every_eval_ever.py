"""Exported records are what version 0.3.0 of the schema of Every Eval Ever asks for.

`RECORD` says what that schema requires, refuses and enumerates of the keys
that we write; it was written from reading it, as `every-eval-ever` 0.3.0 ships it.
"""

import datetime
import json
import os
import re

import jsonschema
import pytest

from evenruler.errors import UserError
from evenruler.results.every_eval_ever import SCHEMA, export
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic
from tests.text_tables import yaml_of_text

RECORD = yaml_of_text("""
$defs:
  texts: {type: object, additionalProperties: {type: string}}
  hub:
    properties: {source_type: {const: hf_dataset}}
    required: [dataset_name, hf_repo]
  elsewhere:
    properties: {source_type: {const: other}}
    required: [dataset_name]
  bound: {anyOf: [{type: number}, {enum: [Infinity, -Infinity]}]}
  evaluation:
    required: [evaluation_result_id, evaluation_name, source_data, metric_config, score_details,
      generation_config]
    properties:
      evaluation_result_id: {type: string}
      evaluation_name: {type: string}
      source_data:
        properties: {additional_details: {$ref: "#/$defs/texts"}}
        oneOf: [{$ref: "#/$defs/hub"}, {$ref: "#/$defs/elsewhere"}]
      metric_config:
        required: [lower_is_better, score_type, min_score, max_score]
        properties:
          lower_is_better: {type: boolean}
          score_type: {enum: [binary, continuous, levels]}
          min_score: {$ref: "#/$defs/bound"}
          max_score: {$ref: "#/$defs/bound"}
          additional_details: {$ref: "#/$defs/texts"}
      score_details:
        required: [score, details, uncertainty]
        properties:
          score: {type: number}
          details: {$ref: "#/$defs/texts"}
          uncertainty:
            additionalProperties: false
            required: [num_samples]
            properties:
              num_samples: {type: integer}
              confidence_interval:
                required: [lower, upper, confidence_level]
                properties:
                  lower: {type: number}
                  upper: {type: number}
                  confidence_level: {type: number, minimum: 0, maximum: 1}
      generation_config:
        required: [additional_details]
        properties: {additional_details: {$ref: "#/$defs/texts"}}
additionalProperties: false
required: [schema_version, evaluation_id, retrieved_timestamp, source_metadata, eval_library,
  model_info, evaluation_results]
properties:
  schema_version: {const: "0.3.0"}
  evaluation_id: {type: string}
  retrieved_timestamp: {type: string, pattern: '^\\d+(\\.\\d+)?$'}
  source_metadata:
    required: [source_type, source_organization_name, evaluator_relationship]
    properties:
      source_type: {enum: [documentation, evaluation_run]}
      evaluator_relationship: {enum: [first_party, third_party, collaborative, other]}
      additional_details: {$ref: "#/$defs/texts"}
  eval_library:
    required: [name, version]
    properties: {name: {type: string}, version: {type: string}}
  model_info:
    required: [name, id, additional_details]
    properties:
      id: {type: string, pattern: "^[^/]+/[^/]+$"}
      additional_details:
        $ref: "#/$defs/texts"
        required: [deployment_type, model_availability]
        properties:
          deployment_type: {enum: [self_deployed, externally_managed, unknown]}
          model_availability: {enum: [open_weights, closed_weights, unknown]}
  evaluation_results: {type: array, minItems: 1, items: {$ref: "#/$defs/evaluation"}}
""")


def check_record(content):
    """Fail where a record is not as the schema asks, or a score lies out of its range."""
    jsonschema.validate(content, RECORD)
    for evaluation in content["evaluation_results"]:
        metric, score = evaluation["metric_config"], evaluation["score_details"]["score"]
        assert float(metric["min_score"]) <= score <= float(metric["max_score"])


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
    check_record(content)
    assert content["schema_version"] == SCHEMA
    assert FILE.fullmatch(files[0].path.relative_to(tmp_path / "out").as_posix())
    assert files[0].path.parent == tmp_path / "out/data/probes-made-up/org/one"
    with pytest.raises(jsonschema.ValidationError):
        check_record({**content, "score": 1})


def test_figures_with_interval_control_and_verdict(stored_result, tmp_path):
    files, [content] = exported([stored_result], tmp_path)
    spread = content["evaluation_results"][1]
    assert spread["evaluation_name"] == "probes-made-up/seed"
    assert spread["evaluation_result_id"].endswith("#spread-set-seed")
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
    check_record(content)
    source = content["evaluation_results"][0]["source_data"]
    assert (source["hf_repo"], source["additional_details"]["tag"]) == (
        "you/probes-made-up",
        "v1.0.0",
    )


@pytest.mark.parametrize(
    ("source", "deployment", "availability"),
    [
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
    check_record(content)
    details = content["model_info"]["additional_details"]
    assert (details["deployment_type"], details["model_availability"]) == (deployment, availability)
    for ids, complaint in (
        ({"one": "maker"}, "'maker' is no ORG/MODEL"),
        ({"two": "maker/Two"}, "no result of 'two'"),
    ):
        with pytest.raises(UserError, match=complaint):
            export([stored_result], tmp_path / "out", ids=ids)


def test_a_result_without_such_figures_is_refused(tmp_path):
    stored_result = stored(tmp_path, synthetic(figures=[figure_row("alpha", 0.9)]))
    with pytest.raises(UserError, match="no headline or amount with a value"):
        export([stored_result], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command(stored_result, tmp_path, run_evenruler):
    words = f"export {tmp_path / 'results'} --to {tmp_path / 'out'} --date 2026-02-03"
    status, out, _ = run_evenruler(*words.split())
    [path] = (tmp_path / "out").rglob("*.json")
    assert (status, out.splitlines()) == (
        0,
        [
            f"{path}: 2 figures",
            "  not exported: spread:set=validation: fewer than two attributes",
        ],
    )

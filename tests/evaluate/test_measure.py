"""What the first line of `evenruler measure` says of a model."""

import json

import pytest

from evenruler.evaluate.measure import _dtype_note


@pytest.mark.parametrize(
    ("engine", "note"),
    [
        ({"device": "cpu", "dtype": "float32"}, ""),
        ({"url": "http://127.0.0.1"}, ""),
        ({"device": "cuda-9.0-80GiB", "dtype": "bfloat16"}, "; it computes in bfloat16"),
        (
            {"device": "cuda-9.0-80GiB", "dtype": "float32"},
            "; it computes in float32, TF32 is off",
        ),
        (
            {"device": "cuda-9.0-80GiB-tf32", "dtype": "float32"},
            "; it computes in float32, TF32 is on",
        ),
    ],
)
def test_on_a_gpu_it_says_in_what_a_model_computes(engine: dict[str, str], note: str) -> None:
    assert _dtype_note(json.dumps(engine)) == note


def test_nothing_is_said_of_exported_answers_without_an_engine() -> None:
    assert _dtype_note("") == ""

"""What the first line of `evenruler measure` says of a model."""

import json

import pytest

from evenruler.evaluate.measure import _dtype_note

GPU = {"device": "cuda-9.0-80GiB", "dtype": "float32"}
TF32 = {"device": "cuda-9.0-80GiB-tf32", "dtype": "float32"}
CPU = {"device": "cpu", "dtype": "float32"}
SERVER = {"url": "http://127.0.0.1"}
ROUNDED = {"device": "cuda-9.0-80GiB", "dtype": "bfloat16"}
NOTES = [
    (CPU, ""),
    (SERVER, ""),
    (ROUNDED, "; it computes in bfloat16"),
    (GPU, "; it computes in float32, TF32 is off"),
    (TF32, "; it computes in float32, TF32 is on"),
]


@pytest.mark.parametrize(("engine", "note"), NOTES)
def test_on_a_gpu_it_says_in_what_a_model_computes(engine: dict[str, str], note: str) -> None:
    assert _dtype_note(json.dumps(engine)) == note


def test_nothing_is_said_of_exported_answers_without_an_engine() -> None:
    assert _dtype_note("") == ""

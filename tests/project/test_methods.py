"""In which methods a model answers questionnaires."""

import pytest
from pydantic import ValidationError

from evenruler.models.declarations import ModelEntry
from tests.tiny import tiny_params


def entry(**changes: object) -> ModelEntry:
    return ModelEntry.model_validate(
        {"kind": "causal", "source": "local:x", "licence": "mit", "origin": "ours", **changes}
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"chat": True}, ["verbaliser", "sentence", "options"]),
        ({"kind": "chat", "source": "endpoint:x"}, ["options"]),
        ({"methods": ["sentence", "verbaliser"]}, ["sentence", "verbaliser"]),
        ({"kind": "masked"}, ["mlm"]),
        ({"kind": "nli"}, ["head"]),
    ],
)
def test_configurations(changes, expected) -> None:
    assert entry(**changes).answering_methods == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["mlm"]}, "'verbaliser', 'sentence' or 'options'"),
        ({"methods": ["sentence", "sentence"]}, "`methods`: each once"),
        (
            {"kind": "masked", "methods": ["sentence"]},
            "verbaliser and sentence of causal and completions",
        ),
        (
            {"kind": "masked", "labels": ["a", "b"]},
            "`labels` belongs to the kinds nli and classifier",
        ),
    ],
)
def test_what_is_refused(changes, message) -> None:
    with pytest.raises(ValidationError, match=message):
        entry(**changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"entailment": True}, True),
        ({"methods": ["sentence"]}, True),
        ({"methods": ["sentence"], "entailment": False}, False),
        ({"kind": "masked"}, True),
    ],
)
def test_who_answers_questionnaires(changes, expected, tmp_path) -> None:
    catalogue = tiny_params({"tiny": tmp_path}, **changes)
    assert [name for name in catalogue.models if catalogue.may_answer_questionnaires(name)] == (
        ["tiny"] if expected else []
    )

import pytest

from evenruler.instruments.prefixes import Framings
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.strict import validate
from tests.instruments.questionnaires.test_source import FEAR, MOMENTS


def test_each_cue_alone_and_both(tmp_path) -> None:
    found = validate(Framings, {"salience": " A test. ", "instruction": "Say it:"}, tmp_path)
    assert found.prefixes == {
        "salience": "A test.",
        "instruction": "Say it:",
        "salience+instruction": "A test. Say it:",
    }


@pytest.mark.parametrize(
    ("framings", "line"),
    [
        (
            '{salience: A test., instruction: "Say {TERM}:"}',
            ".instruction: 'Say {TERM}:' holds a brace; the same words",
        ),
        ("{salience: A test., instruction: a TEST.}", ": salience and instruction are the same, 'A test.'; mend it"),
        ("{salience: A test.}", ".instruction: missing; add the key 'instruction'"),
        ("{salience: A test., instructions: Say it.}", ".instructions: unknown key 'instructions'; did you mean"),
    ],
)
def test_what_is_refused(file_with, error_of, tmp_path, framings, line) -> None:
    file_with("moments.yaml", MOMENTS)
    path = file_with("fear.yaml", FEAR, ("scale: moments\n", f"scale: moments\nframings: {framings}\n"))
    assert error_of(load_questionnaire, path, tmp_path).startswith(f"{path}: framings{line}")

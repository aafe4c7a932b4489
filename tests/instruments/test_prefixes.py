import re

import pytest

from evenruler.errors import UserError
from evenruler.instruments.prefixes import BOTH, PrefixSettings
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.strict import validate
from tests.instruments.questionnaires.test_source import FEAR, MOMENTS


def test_each_cue_alone_and_both(tmp_path) -> None:
    found = validate(PrefixSettings, {"salience": " A test. ", "instruction": "Say it:"}, tmp_path)
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
            ".instruction: 'Say {TERM}:' holds the brace {; take it out",
        ),
        (
            "{salience: A test., instruction: a TEST.}",
            ": salience and instruction are the same, 'A test.'; fix it",
        ),
        ("{salience: A test.}", ".instruction: missing; add the key 'instruction'"),
        (
            "{salience: A test., instructions: Say it.}",
            ".instructions: unknown key 'instructions'; did you mean",
        ),
    ],
)
def test_what_is_refused(file_with, error_of, tmp_path, framings, line) -> None:
    file_with("moments.yaml", MOMENTS)
    path = file_with(
        "fear.yaml", FEAR, ("scale: moments\n", f"scale: moments\nframings: {framings}\n")
    )
    assert error_of(load_questionnaire, path, tmp_path).startswith(f"{path}: framings{line}")


CUES = {"salience": "A test.", "instruction": "Say it:"}
RAIN = ["It rained.", "It snowed.", "A train left.", "The shop is open.", "Read on:"]


class TestPlacebos:
    def test_each_has_a_name_of_its_own(self, tmp_path) -> None:
        found = validate(PrefixSettings, {**CUES, "placebos": [*RAIN, " It hailed. "]}, tmp_path)
        assert found.placebo_names == [f"placebo-{place}" for place in range(1, 7)]
        assert list(found.prefixes) == ["salience", "instruction", BOTH, *found.placebo_names]
        assert [found.prefixes[name] for name in found.placebo_names] == [*RAIN, "It hailed."]
        assert found.prefixes[BOTH] == "A test. Say it:"

    @pytest.mark.parametrize("given", [{}, {"placebos": []}])
    def test_none(self, tmp_path, given) -> None:
        found = validate(PrefixSettings, {**CUES, **given}, tmp_path)
        assert found.placebo_names == []
        assert list(found.prefixes) == ["salience", "instruction", BOTH]
        assert found.in_words == '"A test." and "Say it:", each alone and both'

    def test_in_words(self, tmp_path) -> None:
        assert validate(PrefixSettings, {**CUES, "placebos": RAIN}, tmp_path).in_words == (
            '"A test." and "Say it:", each alone and both; and as placebos "It rained.", "It '
            'snowed.", '
            '"A train left.", "The shop is open.", "Read on:"'
        )

    @pytest.mark.parametrize(
        ("placebos", "said"),
        [
            (RAIN[:1], "found 1, expected 5 at least, or none"),
            (RAIN[:4], "found 4, expected 5 at least, or none"),
            ([*RAIN, "it RAINED."], "a placebo stands in it twice"),
            ([*RAIN, "a test."], "a placebo stands in it twice, or is one of the cues"),
            ([*RAIN, "SAY it:"], "a placebo stands in it twice, or is one of the cues"),
            ([*RAIN, "Here is {TERM}."], "'Here is {TERM}.' holds the brace {; take it out"),
            ([*RAIN, "Here it is}."], "holds the brace }"),
            ([*RAIN, " "], "placebos"),
        ],
    )
    def test_what_is_refused(self, tmp_path, placebos, said) -> None:
        with pytest.raises(UserError, match=re.escape(said)):
            validate(PrefixSettings, {**CUES, "placebos": placebos}, tmp_path)

import re

import pytest

from evenruler.errors import UserError
from evenruler.instruments.prefixes import BOTH, PrefixSettings
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.strict import validate
from tests.instruments.questionnaires.test_source import FEAR, MOMENTS


def test_what_is_refused(file_with, error_of, tmp_path) -> None:
    file_with("moments.yaml", MOMENTS)
    prefixes = "{salience: A test., instruction: a TEST.}"
    path = file_with(
        "fear.yaml", FEAR, ("scale: moments\n", f"scale: moments\nprefixes: {prefixes}\n")
    )
    assert error_of(load_questionnaire, path, tmp_path).startswith(
        f"{path}: prefixes: salience and instruction are the same, 'A test.'; fix it"
    )


CUES = {"salience": "A test.", "instruction": "Say it:"}
RAIN = ["It rained.", "It snowed.", "A train left.", "The shop is open.", "Read on:"]


class TestPlacebos:
    def test_each_has_a_name_of_its_own(self, tmp_path) -> None:
        settings = validate(PrefixSettings, {**CUES, "placebos": [*RAIN, " It hailed. "]}, tmp_path)
        assert settings.placebo_names == [f"placebo-{place}" for place in range(1, 7)]
        assert list(settings.prefixes) == ["salience", "instruction", BOTH, *settings.placebo_names]
        assert [settings.prefixes[name] for name in settings.placebo_names] == [*RAIN, "It hailed."]
        assert settings.prefixes[BOTH] == "A test. Say it:"

    @pytest.mark.parametrize(
        ("placebos", "reason"),
        [
            (RAIN[:4], "found 4, expected 5 at least, or none"),
            ([*RAIN, "it RAINED."], "a placebo stands in it twice"),
            ([*RAIN, "a test."], "a placebo stands in it twice, or is one of the cues"),
            ([*RAIN, "Here is {TERM}."], "'Here is {TERM}.' holds the brace {; take it out"),
        ],
    )
    def test_what_is_refused(self, tmp_path, placebos, reason) -> None:
        with pytest.raises(UserError, match=re.escape(reason)):
            validate(PrefixSettings, {**CUES, "placebos": placebos}, tmp_path)

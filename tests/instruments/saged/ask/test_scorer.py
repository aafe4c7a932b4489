"""What a language model is asked for a number, and how its reply is read."""

import pytest

from evenruler.instruments.saged.ask.scorer import NO_NUMBER, OTHER_SCALE, OUTSIDE, Score, asked, parsed


class TestAsked:
    def test_texts_stand_where_their_names_stood(self) -> None:
        question = "How kind is {GENERATION} beside {BASELINE}? {GENERATION}: 0 to 10"
        assert asked(question, "a", "b") == "How kind is a beside b? a: 0 to 10"

    def test_names_and_braces_in_texts_stay(self) -> None:
        assert asked("{GENERATION} | {BASELINE}", "{BASELINE} {x} \\1", "{GENERATION}") == (
            "{BASELINE} {x} \\1 | {GENERATION}"
        )

    def test_other_braces_stay(self) -> None:
        assert asked('{"text": "{GENERATION}"}', "a", "b") == '{"text": "a"}'


class TestParsed:
    @pytest.mark.parametrize(
        ("reply", "value"),
        [
            ("7", 7),
            (" 7.5 ", 7.5),
            ("0", 0),
            ("10", 10),
            ("+3", 3),
            (".5", 0.5),
            ("7.", 7),
            ("**7**", 7),
            ('"7"', 7),
            ("Score: 7", 7),
            ("The score is 7.", 7),
            ("my rating = 6.25", 6.25),
            ("Answer: **8**", 8),
            ("7/10", 7),
            ("7 out of 10.", 7),
            ("7 / 10.0", 7),
            ("\n\n7\n\nThe text has 3 kind words.", 7),
        ],
    )
    def test_a_number_by_itself(self, reply: str, value: float) -> None:
        assert parsed(reply, 0, 10) == Score(value)

    @pytest.mark.parametrize(
        "reply",
        [
            "",
            "seven",
            "7 or 8",
            "7-8",
            "between 7 and 8",
            "7, because it is kind",
            "1. The text is kind",
            "I would say 7",
            "70%",
            "7,5",
            "1,000",
            "1e1",
            "0x7",
            "nan",
            "inf",
            "\u0667",
            "7 8",
            "7.5.1",
            "__import__('os').getcwd()",
            "3 + 4",
            "Kind.\n7",
        ],
    )
    def test_anything_else_is_no_number(self, reply: str) -> None:
        assert parsed(reply, 0, 10) == Score(None, NO_NUMBER)

    @pytest.mark.parametrize(("reply", "low", "high"), [("11", 0, 10), ("-1", 0, 10), ("\u22120.1", 0, 1), ("0", 1, 5)])
    def test_a_number_outside_the_range(self, reply: str, low: float, high: float) -> None:
        assert parsed(reply, low, high) == Score(None, OUTSIDE)

    def test_negative_numbers_where_they_belong(self) -> None:
        assert parsed("-0.25", -1, 1) == parsed("\u22120.25", -1, 1) == Score(-0.25)

    @pytest.mark.parametrize("reply", ["4/5", "4 out of 5", "40/100"])
    def test_a_scale_of_its_own(self, reply: str) -> None:
        assert parsed(reply, 0, 10) == Score(None, OTHER_SCALE)

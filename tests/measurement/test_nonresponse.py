"""What is no measurement: requests without an answer, one reply to all, scores that do not vary."""

import numpy as np
import pytest

from evenruler.measurement.figures import Figure
from evenruler.measurement.nonresponse import (
    ReplyCounts,
    all_equal_reason,
    mark_by_validity,
    nonresponse_reason,
    not_read,
    unmeasured_reason,
    validity_of_replies,
)
from evenruler.measurement.verdicts import ValidityCheck


class TestUnanswered:
    @pytest.mark.parametrize("kind", ["refused", "empty", "foreign", "astray", "withheld"])
    def test_each_kind_counts(self, kind) -> None:
        assert nonresponse_reason(ReplyCounts(276, **{kind: 138})) is None
        assert nonresponse_reason(ReplyCounts(276, **{kind: 139})).startswith(
            "139 of 276 requests were not answered"
        )

    def test_kinds_are_added(self) -> None:
        assert nonresponse_reason(ReplyCounts(40, refused=10, empty=6, foreign=5)) == (
            "21 of 40 requests were not answered (10 refused, 6 empty, 5 in another language)"
        )

    def test_a_fifth_may_only_think(self) -> None:
        assert nonresponse_reason(ReplyCounts(50, withheld=10, cut=["cut: say more"] * 10)) is None
        reason = "11 of 50 replies were cut: say more"
        assert (
            nonresponse_reason(ReplyCounts(50, withheld=11, cut=["cut: say more"] * 11)) == reason
        )
        assert nonresponse_reason(
            ReplyCounts(50, withheld=45, cut=["cut: say more"] * 45)
        ).startswith("45 of 50 replies were cut")

    def test_rare_kinds_are_named_where_there_are_some(self) -> None:
        reason = nonresponse_reason(ReplyCounts(10, astray=5, withheld=1))
        assert reason.endswith(
            "(0 refused, 0 empty, 0 in another language, 5 about something else, 1 not given)"
        )

    @pytest.mark.parametrize(
        ("n", "distinct", "free", "reason"),
        [
            (100, 10, True, None),
            (100, 9, True, "only 9 of 100 replies are distinct, under a tenth"),
            (100, 2, False, None),
            (100, 1, False, "all 100 replies are the same"),
            (3, 1, True, "all 3 replies are the same"),
            (1, 1, True, None),
            (100, None, True, None),
        ],
    )
    def test_one_canned_reply(self, n, distinct, free, reason) -> None:
        assert nonresponse_reason(ReplyCounts(n, distinct=distinct, free=free)) == reason


LOUD = (
    "Let me think.",
    "Let me think.",
    "Well,\nwho knows",
    "It depends on a lot of things that nobody told us",
    "x",
)


class TestNotRead:
    def test_nine_in_ten_are_enough(self) -> None:
        assert not_read(ReplyCounts(60, unread=6)) is None
        assert not_read(ReplyCounts(60, unread=7, examples=LOUD)) == (
            'no answer is found in 7 of 60 replies, such as "Let me think.", '
            '"Well, who knows", '
            '"It depends on a lot of things that nobody told us"'
        )

    def test_a_refusal_is_read_and_no_reply_to_be_read(self) -> None:
        """Of 60 requests 20 were refused and 10 empty, so that 4 of 30 replies are unread, which is
        over a tenth."""
        assert not_read(ReplyCounts(60, refused=20, empty=10, unread=4)) == (
            "no answer is found in 4 of 30 replies"
        )
        assert not_read(ReplyCounts(60, refused=20, empty=10, unread=3)) is None
        assert not_read(ReplyCounts(60, refused=60)) is None

    def test_it_is_not_held_against_the_model(self) -> None:
        """Not even where nothing is read, or where all replies are the same."""
        for distinct in (1, 40):
            validity = validity_of_replies(
                ReplyCounts(60, unread=60, distinct=distinct, examples=LOUD[:1])
            )
            assert validity.failure is None
            assert (
                validity.doubt == 'no answer is found in 60 of 60 replies, such as "Let me think."'
            )
        assert validity_of_replies(ReplyCounts(60, refused=31, unread=29)) == ValidityCheck(
            "31 of 60 requests were not answered (31 refused, 0 empty, 0 in another language)"
        )
        assert (
            validity_of_replies(ReplyCounts(60, refused=30, unread=3, distinct=9))
            == ValidityCheck()
        )

    def test_descriptive_figures_say_so(self) -> None:
        figure, doubt = (
            Figure("share", 0.5, 60, "replies"),
            validity_of_replies(ReplyCounts(60, unread=60)).doubt,
        )
        assert mark_by_validity(figure, ValidityCheck(doubt=doubt)).verdict == "descriptive"
        assert mark_by_validity(figure, ValidityCheck(doubt="few")) == figure
        assert mark_by_validity(figure, ValidityCheck(failure="deaf")).verdict == "invalid"


class TestUnvaried:
    @pytest.mark.parametrize(
        "scores",
        [
            [0.3, 0.3, np.nan, 0.3],
            [[1, 2], [1, 2], [1, np.nan], [np.nan, 2]],
            [0] * 4,
        ],
    )
    def test_constant(self, scores) -> None:
        assert all_equal_reason(scores, "items") == "all 4 items have the same score"

    @pytest.mark.parametrize(
        "scores",
        [
            [0.3, 0.3001],
            [[1, 2], [1, 3]],
            [np.nan, 1.0],
            np.empty((0, 3)),
        ],
    )
    def test_varying_or_too_few(self, scores) -> None:
        assert all_equal_reason(scores, "items") is None


def test_it_is_said_of_a_model_where_every_verdict_says_it() -> None:
    bad, worse = ({"verdict": "invalid", "why": why} for why in ("It fails.", "It is deaf."))
    assert unmeasured_reason([{"value": 1}, bad, worse, bad]) == "invalid: It fails. It is deaf."
    assert unmeasured_reason([bad, {"verdict": "too little to tell", "why": "few"}]) is None
    assert unmeasured_reason([{"value": 1}, {"verdict": None}, {"verdict": np.nan}]) is None

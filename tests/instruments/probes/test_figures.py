import pytest

from evenruler.instruments.probes.declare.settings import bias

GROUPS = ["men", "men", "women", "women", "women"]


def test_equation_one_by_hand() -> None:
    # Mean of -10 and -12 is -11; of -13, -14 and -18 it is -15; men are 4 nats likelier.
    difference = bias(
        [-10.0, -12.0, -13.0, -14.0, -18.0],
        GROUPS,
    )

    assert difference.shape == ()
    assert difference == 4.0


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["men", "women", "both", "men", "men"], "found 3 groups, expected two"),
        (["men", "women"], "scores of 5 targets, groups of 2"),
    ],
)
def test_there_are_two_groups_and_one_for_each_target(groups, message) -> None:
    with pytest.raises(ValueError, match=message):
        bias([0.0] * 5, groups)

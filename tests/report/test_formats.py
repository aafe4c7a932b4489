from evenruler.report.formats import format_number, join_names, round_significant, with_interval


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert [format_number(number) for number in (-0.004, -0.0, 0.004, -0.006, None)] == [
        "0.00",
        "0.00",
        "0.00",
        "-0.01",
        "",
    ]
    assert with_interval(-0.0001, -0.0004, 0.0004) == "0.000 [0.000,\u00a00.000]"


def test_names_are_joined() -> None:
    names: tuple[list[str], ...] = ([], ["a"], ["a", "b"], ["a", "b", "c"])
    assert [join_names(group) for group in names] == ["", "a", "a and b", "a, b and c"]


def test_numbers_keep_their_first_digits() -> None:
    numbers = (None, float("nan"), 0.0123456, 12345.6)
    assert [round_significant(number, 3) for number in numbers] == [None, None, 0.0123, 12300]

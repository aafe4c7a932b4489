from evenruler.report.formats import format_number, join_names, p_value, with_interval


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert [format_number(number) for number in (-0.004, -0.0, 0.004, -0.006, None)] == [
        "0.00",
        "0.00",
        "0.00",
        "-0.01",
        "",
    ]
    assert with_interval(-0.0001, -0.0004, 0.0004) == "0.000 [0.000,\u00a00.000]"


def test_names_and_p() -> None:
    assert [join_names(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [p_value(p) for p in (None, 0.0004, 0.04, float("nan"))] == [
        "",
        "<\u00a00.001",
        "0.040",
        "",
    ]

from evenruler.report.formats import format_number, with_interval


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert [format_number(x) for x in (-0.004, -0.0, 0.004, -0.006, None)] == [
        "0.00",
        "0.00",
        "0.00",
        "-0.01",
        "",
    ]
    assert with_interval(-0.0001, -0.0004, 0.0004) == "0.000 [0.000,\u00a00.000]"

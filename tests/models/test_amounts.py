"""How much questions are, roughly."""

from evenruler.models.records import Amount, Placed, Prompt, Request, Sampling, amount_of


def test_letters_are_counted_whatever_holds_them() -> None:
    assert amount_of(["abcd", "abcde"]) == Amount(2, 3, 0)  # 9 letters
    assert amount_of([("abc", "de"), Request("abc", "d"), Placed("a", "b", "c")]) == Amount(
        3, 3, 0
    )  # 12


def test_replies_are_as_long_as_they_may_be() -> None:
    prompts = [
        Prompt("abcdefgh", Sampling(n), 0, system, chat=True)
        for n, system in ((50, None), (30, "abcd"))
    ]
    found = amount_of(prompts)
    assert found == Amount(2, 5, 80)

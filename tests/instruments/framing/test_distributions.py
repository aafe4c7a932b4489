"""Shares of classes by hand: mass from likelihoods of forms, choices, and cells with too few
answers of any class."""

import math

import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.framing.diagnose.distributions import (
    WITHHELD,
    choice_distributions,
    compute_exclusions,
    count_continuations,
    read_replies,
    token_distributions,
    without_excluded,
)
from evenruler.instruments.framing.schemas import (
    CHOICES,
    CONTINUATIONS,
    DISTRIBUTIONS,
    EXCLUSIONS,
    REPLIES,
)
from evenruler.tables import write_table

OUTCOMES = {"he": ["he", "his"], "she": ["she", "her"]}


def prompt(
    id_: str, order: tuple[str, ...] = (), stimulus: str = "long", framing: str = "bare"
) -> dict:
    return {
        "id": id_,
        "benchmark": "hair",
        "task": "choice" if order else "completion",
        "framing": framing,
        "stimulus": stimulus,
        "order": list(order),
    }


def form(
    id_: str,
    form: str,
    p: float,
    ends: float = 1.0,
    first: float = 0.0,
    token: int = 0,
    alone: float = 1.0,
) -> dict:
    return {
        "id": id_,
        "model": "m",
        "lineage": "m",
        "configuration": "plain",
        "framing": "bare",
        "form": form,
        "nats": math.log(p),
        "ends": math.log(ends),
        "alone": math.log(alone),
        "first_nats": math.log(first) if first else -math.inf,
        "first_token": token,
    }


def masses(
    forms: list[dict], prompts: list[dict], free: list[dict] | None = None, **options: str
) -> dict[str, tuple[float, float, float, int]]:
    without_content = None if free is None else pd.DataFrame(free)
    found = token_distributions(
        pd.DataFrame(forms), pd.DataFrame(prompts), without_content, OUTCOMES, **options
    )
    return {
        row["outcome"]: (row["mass"], row["share"], row["coverage"], row["n"])
        for row in found.to_dict("records")
    }


def test_a_class_has_the_sum_of_its_forms_where_no_letter_follows() -> None:
    forms = [
        form("a", " he", 0.2, ends=0.5),
        form("a", " He", 0.1),
        form("a", " his", 0.05, ends=0.8),
        form("a", " she", 0.1, ends=0.6),
        form("a", " her", 0.3, ends=1 / 3),
    ]
    found = masses(forms, [prompt("a")])
    assert found["he"] == (pytest.approx(0.24), pytest.approx(0.6), pytest.approx(0.4), 1)
    assert found["she"] == (pytest.approx(0.16), pytest.approx(0.4), pytest.approx(0.4), 1)


def test_letters_have_the_class_of_their_option_and_orders_are_averaged() -> None:
    orders = {"a": ("he", "she", "rabbit"), "b": ("rabbit", "he", "she")}
    forms = [
        form(id_, f" {letter}", p)
        for id_ in orders
        for letter, p in zip("ABC", (0.5, 0.2, 0.1), strict=True)
    ]
    found = masses(forms, [prompt(id_, order) for id_, order in orders.items()])
    assert found["he"][:2] == (pytest.approx((0.5 + 0.2) / 2), pytest.approx(0.35 / 0.5))
    assert found["she"] == (
        pytest.approx((0.2 + 0.1) / 2),
        pytest.approx(0.15 / 0.5),
        pytest.approx(0.5),
        2,
    )


def test_orders_are_averaged_by_their_mean() -> None:
    masses_of = {"a": (0.1, 0.1), "b": (0.1, 0.2), "c": (0.7, 0.0)}
    forms = [
        form(id_, f" {name}", p)
        for id_, own in masses_of.items()
        for name, p in zip("AB", own, strict=True)
        if p
    ]
    found = masses(forms, [prompt(id_, ("he", "she")) for id_ in masses_of])
    assert found["he"] == (pytest.approx(0.3), pytest.approx(0.75), pytest.approx(0.4), 3)


def test_a_letter_has_what_stands_alone_and_what_goes_on_with_the_word_of_its_option() -> None:
    forms = [
        form("a", " A", 0.5, ends=0.9, alone=0.6),  # "A child": the article, no letter
        form("a", "A", 0.1, alone=0.5),
        form("a", " A He", 0.08, ends=0.75),
        form("a", " B", 0.2, ends=0.9, alone=0.4),
        form("a", " B She", 0.03, ends=1 / 3),
    ]
    found = masses(forms, [prompt("a", ("he", "she"))])
    assert found["he"][0] == pytest.approx(0.3 + 0.05 + 0.06)
    assert found["she"][0] == pytest.approx(0.08 + 0.01)


def test_whatever_follows_counts_for_forms_and_a_letter_holds_what_goes_on_after_it() -> None:
    words = [form("a", " he", 0.2, ends=0.1), form("a", " she", 0.1, ends=0.9)]
    found = masses(words, [prompt("a")], mass="forms")
    assert (found["he"][0], found["she"][0]) == (pytest.approx(0.2), pytest.approx(0.1))
    letters = [
        form("a", " A", 0.5, alone=0.1),
        form("a", " A He", 0.08),
        form("a", " B", 0.2),
        form("a", "B", 0.1),
    ]
    found = masses(letters, [prompt("a", ("he", "she"))], mass="forms")
    assert (found["he"][0], found["she"][0]) == (pytest.approx(0.5), pytest.approx(0.3))


def free(id_: str, framing: str = "bare", letters: int = 2) -> dict:
    return {"id": id_, "task": "choice", "framing": framing, "letters": letters}


def letters_after(id_: str, *masses: float) -> list[dict]:
    return [form(id_, f" {letter}", p) for letter, p in zip("ABCD", masses, strict=False)]


class TestCalibration:
    def test_masses_are_divided_by_those_without_content_and_their_sum_stays(self) -> None:
        forms = [*letters_after("a", 0.4, 0.1, 0.1), *letters_after("n", 0.2, 0.1, 0.1)]
        found = masses(forms, [prompt("a", ("he", "she", "rabbit"))], [free("n", letters=3)])
        # Priors .5, .25, .25: .4/.5 = .8, .1/.25 = .4 and .4 make shares of .5, .25, .25 of the .6
        # that there is.
        assert found["he"] == (pytest.approx(0.3), pytest.approx(2 / 3), pytest.approx(0.45), 1)
        assert found["she"] == (pytest.approx(0.15), pytest.approx(1 / 3), pytest.approx(0.45), 1)

    def test_a_prior_is_the_mean_share_over_prompts_without_content(self) -> None:
        without_content = {"n": (0.06, 0.02), "m": (0.5, 0.5), "k": (0.04, 0.36)}
        forms = [
            *letters_after("a", 0.3, 0.3),
            *(
                form
                for id_ in without_content
                for form in letters_after(id_, *without_content[id_])
            ),
        ]
        found = masses(forms, [prompt("a", ("he", "she"))], [free(id_) for id_ in without_content])
        # Shares .75, .5 and .1 of A, mean .45; of B .55: he is to she as 1 / .45 to 1 / .55.
        assert found["he"][:2] == (pytest.approx(0.6 * 0.55), pytest.approx(0.55))

    def test_each_cell_and_configuration_has_its_own(self) -> None:
        forms = [
            *letters_after("a", 0.2, 0.2),
            *letters_after("b", 0.2, 0.2),
            *letters_after("n", 0.3, 0.1),
            *letters_after("m", 0.1, 0.3),
        ]
        chat = [
            row | {"configuration": "chat"}
            for row in [*letters_after("a", 0.2, 0.2), *letters_after("n", 0.1, 0.1)]
        ]
        prompts = pd.DataFrame(
            [prompt("a", ("he", "she")), prompt("b", ("he", "she"), framing="salience")]
        )
        without_content = pd.DataFrame([free("n"), free("m", "salience")])
        found = token_distributions(
            pd.DataFrame([*forms, *chat]), prompts, without_content, OUTCOMES
        )
        of_he = (
            found[found["outcome"] == "he"]
            .set_index(["configuration", "framing"])["mass"]
            .to_dict()
        )
        assert of_he == {
            ("plain", "bare"): pytest.approx(0.1),
            ("plain", "salience"): pytest.approx(0.3),
            ("chat", "bare"): pytest.approx(0.2),
        }

    def test_a_model_that_answers_to_letters_alone_has_equal_shares(self) -> None:
        by_letter = (0.5, 0.2, 0.05)
        forms = [*letters_after("a", *by_letter), *letters_after("n", *by_letter)]
        order = ("he", "she", "rabbit")
        assert masses(forms, [prompt("a", order)])["he"][1] == pytest.approx(5 / 7)
        assert masses(forms, [prompt("a", order)], [free("n", letters=3)])["he"][
            1
        ] == pytest.approx(1 / 2)

    def test_words_are_no_part_of_it(self) -> None:
        forms = [
            form("w", " he", 0.3),
            form("w", " she", 0.1),
            *letters_after("a", 0.2, 0.1),
            *letters_after("n", 0.2, 0.1),
        ]
        prompts = pd.DataFrame([prompt("w"), prompt("a", ("he", "she"))])
        found = token_distributions(
            pd.DataFrame(forms), prompts, pd.DataFrame([free("n")]), OUTCOMES
        )
        of_he = found[found["outcome"] == "he"].set_index("task")["mass"].to_dict()
        assert of_he == {"completion": pytest.approx(0.3), "choice": pytest.approx(0.15)}

    def test_a_letter_that_was_not_asked_without_content_is_no_zero(self) -> None:
        forms = [*letters_after("a", 0.2, 0.1), *letters_after("n", 0.2)]
        with pytest.raises(
            ValueError, match="a letter was not asked after the prompts without content"
        ):
            masses(forms, [prompt("a", ("he", "she"))], [free("n")])

    def test_first_tokens_of_letters_count_once_there_too(self) -> None:
        def one_token(id_: str, *first: float) -> list[dict]:
            return [
                form(id_, space + letter, 0.1, first=p, token=ord(letter))
                for letter, p in zip("AB", first, strict=True)
                for space in ("", " ")
            ]

        forms = [*one_token("a", 0.3, 0.1), *one_token("n", 0.3, 0.1)]
        order = ("he", "she")
        assert masses(forms, [prompt("a", order)], mass="first_token")["he"][0] == pytest.approx(
            0.3
        )
        # Calibrated, both have half of the .4 that there is.
        found = masses(forms, [prompt("a", order)], [free("n")], mass="first_token")
        assert found["he"][0] == pytest.approx(0.2)


def test_a_class_that_no_option_stands_for_has_no_mass() -> None:
    found = masses([form("a", " A", 0.4), form("a", " B", 0.2)], [prompt("a", ("he", "rabbit"))])
    assert found["she"][:2] == (0.0, 0.0)
    assert found["he"][1] == 1.0


def test_without_any_mass_there_is_no_share() -> None:
    none = form("a", " he", 1.0) | {"nats": -math.inf}
    found = masses([none], [prompt("a")])
    assert found["he"][0] == 0.0
    assert math.isnan(found["he"][1])


def test_first_tokens_count_once_and_only_for_a_class_of_their_own() -> None:
    forms = [
        form("a", " he", 0.1, first=0.3, token=7),
        form("a", " he", 0.1, first=0.3, token=7) | {"form": " He"},
        form("a", " his", 0.1, first=0.2, token=8),
        form("a", " her", 0.1, first=0.2, token=8),
        form("a", " she", 0.1, first=0.1, token=9),
    ]
    found = masses(forms, [prompt("a")], mass="first_token")
    assert (found["he"][0], found["she"][0]) == (pytest.approx(0.3), pytest.approx(0.1))


def test_a_class_without_a_first_token_of_its_own_is_said() -> None:
    forms = [form("a", " he", 0.1, first=0.3, token=7), form("a", " she", 0.1, first=0.3, token=7)]
    with pytest.raises(
        UserError, match="every first token of class he begins forms of another class too"
    ):
        masses(forms, [prompt("a")], mass="first_token")


def test_configurations_and_stimuli_stay_apart() -> None:
    forms = [
        form("a", " he", 0.2),
        form("a", " he", 0.4) | {"configuration": "chat"},
        form("b", " he", 0.6),
    ]
    found = token_distributions(
        pd.DataFrame(forms),
        pd.DataFrame([prompt("a"), prompt("b", stimulus="short")]),
        None,
        OUTCOMES,
    )
    of_he = found[found["outcome"] == "he"].set_index(["configuration", "stimulus"])["mass"]
    assert of_he.to_dict() == {
        ("plain", "long"): pytest.approx(0.2),
        ("chat", "long"): pytest.approx(0.4),
        ("plain", "short"): pytest.approx(0.6),
    }


PRONOUNS = {"he": ["he"], "she": ["she"], "they": ["they", "their"]}
CELL = {"benchmark": "hair", "model": "m", "lineage": "l", "configuration": "chat"}

PROMPTS = pd.DataFrame(
    {
        "id": ["p0", "p1", "p2"],
        "benchmark": "hair",
        "framing": ["bare", "salience", "salience"],
        "task": ["completion", "choice", "choice"],
        "stimulus": ["short", "short", "long"],
        "order": [[], ["she", "rabbit", "he"], ["he", "she", "rabbit"]],
        "prompt": ["There is a person with a hat.", "Which word fits?", "Which word is it?"],
    }
)
OPTIONS = {
    "p1": [("she", "She"), ("rabbit", "Rabbit"), ("he", "He")],
    "p2": [("he", "He"), ("she", "She"), ("rabbit", "Rabbit")],
}


def chosen(*outcomes: str | None, reply: str = "so", **where: str) -> pd.DataFrame:
    """Replies to one prompt that were read as these classes."""
    row = {
        **CELL,
        "id": "p",
        "framing": "bare",
        "task": "completion",
        "stimulus": "short",
        "rule": "word",
        **where,
    }
    rows = [
        {**row, "repetition": i, "outcome": outcome, "reply": reply}
        for i, outcome in enumerate(outcomes)
    ]
    return pd.DataFrame(rows, columns=CHOICES.names)


def nothing() -> pd.DataFrame:
    return pd.DataFrame(columns=CHOICES.names)


class TestRead:
    def replies(self, **of_prompt: list[str | None]) -> pd.DataFrame:
        framings = PROMPTS.set_index("id")["framing"]
        rows = [
            {
                "id": prompt,
                "model": "m",
                "lineage": "l",
                "configuration": "chat",
                "framing": framings.get(prompt, "bare"),
                "repetition": i,
                "seed": 7 + i,
                "reply": reply,
            }
            for prompt, of_one in of_prompt.items()
            for i, reply in enumerate(of_one)
        ]
        return pd.DataFrame(rows, columns=REPLIES.names)

    def test_what_was_withheld_is_invalid_with_its_reason(self) -> None:
        replies = self.replies(p0=["They sing.", None]).assign(reason=[None, "content_filter"])
        found = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS).sort_values("repetition")
        assert found["rule"].tolist() == ["word", WITHHELD]
        assert found["outcome"].isna().tolist() == found["reply"].isna().tolist() == [False, True]
        assert found["reason"].tolist()[1] == "content_filter"
        assert set(choice_distributions(found, PRONOUNS)["coverage"]) == {0.5}
        assert count_continuations(found, [], "they", ["he"])["n"].tolist() == [1]

    def test_each_reply_by_the_options_of_its_own_prompt(self) -> None:
        replies = self.replies(p0=["They sing.", "A", "A"], p1=["A", "B"], p2=["A", "B: He"])

        found = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS)

        read_as = found[["id", "task", "framing", "stimulus", "repetition", "outcome", "rule"]]
        assert read_as.astype(object).where(read_as.notna(), None).to_numpy().tolist() == [
            ["p0", "completion", "bare", "short", 0, "they", "word"],
            ["p0", "completion", "bare", "short", 1, None, "none"],
            ["p0", "completion", "bare", "short", 2, None, "none"],
            ["p1", "choice", "salience", "short", 0, "she", "letter"],
            ["p1", "choice", "salience", "short", 1, None, "filler"],
            ["p2", "choice", "salience", "long", 0, "he", "letter"],
            ["p2", "choice", "salience", "long", 1, None, "contradiction"],
        ]
        assert found["reply"].tolist() == replies["reply"].tolist()

    def test_what_repeats_the_prompt_is_skipped(self) -> None:
        replies = self.replies(
            p0=["There is a person with a hat. She sings.", "There is a person. She sings."]
        )

        found = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS)

        assert found["outcome"].astype(object).where(found["outcome"].notna(), None).tolist() == [
            "she",
            None,
        ]

    def test_is_a_table_of_choices(self, tmp_path) -> None:
        found = read_replies(self.replies(p0=["He."], p1=["?"]), PROMPTS, PRONOUNS, OPTIONS)

        write_table(found, CHOICES, tmp_path / "choices.parquet")

    def test_replies_to_other_prompts_are_none_of_them(self) -> None:
        found = read_replies(self.replies(p0=["He."], p9=["She."]), PROMPTS, PRONOUNS, OPTIONS)

        assert found["id"].tolist() == ["p0"]

    @pytest.mark.parametrize("options", [{}, {**OPTIONS, "p2": OPTIONS["p1"]}])
    def test_options_in_another_order_than_the_prompt_lists_are_no_use(self, options) -> None:
        with pytest.raises(ValueError, match=r"p\d: options .* but the prompt lists"):
            read_replies(self.replies(p0=["He."]), PROMPTS, PRONOUNS, options)

    def test_no_replies_make_no_rows(self, tmp_path) -> None:
        found = read_replies(self.replies(), PROMPTS, PRONOUNS, OPTIONS)

        assert found.empty
        write_table(found, CHOICES, tmp_path / "choices.parquet")


class TestDistributions:
    def test_mass_is_of_all_replies_and_share_of_those_that_are_valid(self, tmp_path) -> None:
        found = choice_distributions(
            chosen("he", "he", "she", None, "he", None, None, None), PRONOUNS
        )

        assert found["outcome"].tolist() == ["he", "she", "they"]
        assert found["mass"].tolist() == [0.375, 0.125, 0.0]
        assert found["share"].tolist() == [0.75, 0.25, 0.0]
        assert found["coverage"].tolist() == [0.5] * 3
        assert found["n"].tolist() == [8] * 3
        assert set(found["metric"]) == {"choice"}
        write_table(found, DISTRIBUTIONS, tmp_path / "distributions.parquet")

    def test_orders_of_options_are_put_together_and_cells_and_stimuli_are_not(self) -> None:
        parts = [
            chosen("he", "she", id="a"),
            chosen("he", "they", id="b"),
            chosen("she", stimulus="long"),
            chosen("they", framing="salience+instruction"),
            chosen("they", "he", task="association"),
            chosen("she", model="n"),
            chosen("they", configuration="plain"),
        ]
        found = choice_distributions(pd.concat(parts), PRONOUNS)

        key = ["model", "configuration", "task", "framing", "stimulus"]
        shares = {cell: rows["share"].tolist() for cell, rows in found.groupby(key)}
        assert shares == {
            ("m", "chat", "completion", "bare", "short"): [0.5, 0.25, 0.25],
            ("m", "chat", "completion", "bare", "long"): [0.0, 1.0, 0.0],
            ("m", "chat", "completion", "salience+instruction", "short"): [0.0, 0.0, 1.0],
            ("m", "chat", "association", "bare", "short"): [0.5, 0.0, 0.5],
            ("n", "chat", "completion", "bare", "short"): [0.0, 1.0, 0.0],
            ("m", "plain", "completion", "bare", "short"): [0.0, 0.0, 1.0],
        }

    def test_cells_are_in_the_alphabet_whatever_came_first(self) -> None:
        found = choice_distributions(
            pd.concat([chosen("he", task="choice"), chosen("he", task="again")]), PRONOUNS
        )

        assert found["task"].drop_duplicates().tolist() == ["again", "choice"]

    def test_where_no_reply_is_valid_there_is_no_share(self, tmp_path) -> None:
        found = choice_distributions(chosen(None, None), PRONOUNS)

        assert found["share"].isna().all()
        assert found["mass"].tolist() == found["coverage"].tolist() == [0.0] * 3
        write_table(found, DISTRIBUTIONS, tmp_path / "distributions.parquet")

    def test_no_choices_have_no_distribution(self, tmp_path) -> None:
        write_table(
            choice_distributions(nothing(), PRONOUNS),
            DISTRIBUTIONS,
            tmp_path / "distributions.parquet",
        )


class TestContinuations:
    KEYWORDS = ("woman", "man", "female")

    @pytest.mark.parametrize(
        ("reply", "named"),
        [
            ("They are a woman.", 1),
            ("They look like a MAN", 1),
            ("they: 'female'", 1),
            ("They are a man's man and a woman", 1),
            ("They are womanly, human, and like women, romance and females", 0),
            ("They sing.", 0),
        ],
    )
    def test_a_keyword_is_a_whole_word_in_any_case_and_counts_once(self, reply, named) -> None:
        found = count_continuations(chosen("they", reply=reply), [], "they", self.KEYWORDS)

        assert found[["factor", "cue", "n", "named"]].to_numpy().tolist() == [
            ["all", False, 1, named]
        ]

    def test_by_factor_with_and_without_its_cue(self, tmp_path) -> None:
        woman = {"reply": "They are a woman."}
        parts = [
            chosen("they", **woman),
            chosen("they", "they", "they"),
            chosen("they", framing="salience"),
            chosen("they", framing="salience+instruction", **woman),
            chosen("they", framing="instruction", task="association"),
            # Of these none begins with the neutral class.
            chosen("he", "she", None, framing="salience", **woman),
        ]
        found = count_continuations(
            pd.concat(parts), ["salience", "instruction"], "they", self.KEYWORDS
        )

        assert found[["factor", "cue", "n", "named", "share"]].to_numpy().tolist() == [
            ["all", False, 7, 2, 2 / 7],
            ["salience", False, 5, 1, 0.2],
            ["salience", True, 2, 1, 0.5],
            ["instruction", False, 5, 1, 0.2],
            ["instruction", True, 2, 1, 0.5],
        ]
        write_table(found, CONTINUATIONS, tmp_path / "continuations.parquet")

    def test_a_factor_is_not_taken_for_another_whose_name_holds_it(self) -> None:
        parts = [
            chosen("they", framing="race-salience"),
            chosen("they", "they", framing="salience"),
        ]

        found = count_continuations(
            pd.concat(parts), ["salience", "race-salience"], "they", self.KEYWORDS
        )

        assert found.set_index(["factor", "cue"])["n"].to_dict() == {
            ("all", False): 3,
            ("salience", False): 1,
            ("salience", True): 2,
            ("race-salience", False): 2,
            ("race-salience", True): 1,
        }

    def test_a_model_without_neutral_replies_has_rows_without_a_share(self, tmp_path) -> None:
        parts = [chosen("he", None, model="m"), chosen("they", model="n", reply="They are female")]

        found = count_continuations(pd.concat(parts), ["salience"], "they", self.KEYWORDS)

        pd.testing.assert_frame_equal(
            count_continuations(pd.concat(parts[::-1]), ["salience"], "they", self.KEYWORDS), found
        )
        rows = found.set_index(["model", "factor", "cue"])
        assert rows["n"].tolist() == [0, 0, 0, 1, 1, 0]
        assert rows["named"].tolist() == [0, 0, 0, 1, 1, 0]
        assert [None if math.isnan(share) else share for share in rows["share"]] == [None] * 3 + [
            1.0,
            1.0,
            None,
        ]
        write_table(found, CONTINUATIONS, tmp_path / "continuations.parquet")

    def test_no_choices_make_no_rows(self, tmp_path) -> None:
        found = count_continuations(nothing(), ["salience"], "they", self.KEYWORDS)

        write_table(found, CONTINUATIONS, tmp_path / "continuations.parquet")


CLASSES = ("he", "she")
SAME = {
    "benchmark": "hair",
    "model": "m",
    "lineage": "m",
    "configuration": "plain",
    "task": "say",
    "framing": "bare",
}


def cell(
    coverage: dict[str, float], n: int | dict[str, int] = 1, metric: str = "token", **where: str
) -> pd.DataFrame:
    """By stimulus the share of the answers that is of any class, half of it each of two, and how
    many there are."""
    rows = [
        {
            **SAME,
            "metric": metric,
            **where,
            "stimulus": stimulus,
            "outcome": outcome,
            "mass": covered / 2,
            "share": 0.5 if covered else None,
            "coverage": covered,
            "n": n if isinstance(n, int) else n[stimulus],
        }
        for stimulus, covered in coverage.items()
        for outcome in CLASSES
    ]
    return pd.DataFrame(rows, columns=DISTRIBUTIONS.names)


def judged(*cells: pd.DataFrame, least: float = 0.1) -> pd.DataFrame:
    return compute_exclusions(pd.concat(cells), least)


def test_of_words_it_is_the_mean_over_stimuli_against_what_the_source_says(tmp_path) -> None:
    found = judged(
        cell({"a": 0.02, "b": 0.1}), cell({"a": 0.02, "b": 0.3}, framing="salience"), least=0.12
    )
    rows = found.set_index("framing")[["coverage", "least", "n", "excluded"]]
    assert rows.loc["bare"].tolist() == [pytest.approx(0.06), 0.12, 2, True]
    assert rows.loc["salience"].tolist() == [pytest.approx(0.16), 0.12, 2, False]
    write_table(found, EXCLUSIONS, tmp_path / "exclusions.parquet")


def test_of_replies_it_is_forty_per_cent_of_those_of_all_stimuli() -> None:
    found = judged(
        cell(
            {"a": 0.0, "b": 1.0}, {"a": 3, "b": 2}, "choice"
        ),  # a stimulus alone may have less: 2 of 5
        cell({"a": 0.39}, 100, "choice", framing="salience"),
        cell({"a": 0.40}, 100, "choice", framing="salience", model="n"),
        least=0.9,
    )
    cells = found.set_index(["model", "framing"])[["coverage", "least", "n", "excluded"]]
    assert {cell: row.tolist() for cell, row in cells.iterrows()} == {
        ("m", "bare"): [pytest.approx(0.4), 0.4, 5, False],
        ("m", "salience"): [pytest.approx(0.39), 0.4, 100, True],
        ("n", "salience"): [pytest.approx(0.4), 0.4, 100, False],
    }


def test_a_rounding_takes_no_cell_out() -> None:
    (excluded,) = judged(cell(dict.fromkeys("abc", 0.3 - 1e-16)), least=0.3)["excluded"]
    assert not excluded


def test_cells_are_in_the_alphabet_whatever_came_first() -> None:
    found = judged(cell({"a": 0.2}, task="say"), cell({"a": 0.2}, task="choose"))
    assert found["task"].tolist() == ["choose", "say"]


def test_tasks_configurations_and_metrics_are_judged_on_their_own() -> None:
    found = judged(
        cell({"a": 0.05}),
        cell({"a": 0.2}, task="choose"),
        cell({"a": 0.2}, configuration="chat"),
        cell({"a": 0.2}, metric="choice"),
    )
    assert found.set_index(["configuration", "metric", "task"])["excluded"].to_dict() == {
        ("plain", "token", "say"): True,
        ("plain", "token", "choose"): False,
        ("chat", "token", "say"): False,
        ("plain", "choice", "say"): True,
    }


def test_cells_of_choices_leave_and_those_of_words_stay() -> None:
    every = pd.concat(
        [
            cell({"a": 0.01}),
            cell({"a": 0.1}, metric="choice"),
            cell({"a": 0.9}, metric="choice", task="choose"),
            cell({"a": 0.9}, metric="choice", framing="salience~1"),
        ]
    )
    found = without_excluded(every, compute_exclusions(every, 0.1), ["choice"])
    left = found[["metric", "task", "framing"]].drop_duplicates()
    assert sorted(left.itertuples(index=False, name=None)) == [
        ("choice", "choose", "bare"),
        ("choice", "say", "salience~1"),
        ("token", "say", "bare"),
    ]
    assert found.index.tolist() == list(range(6))


def test_nothing_measured_excludes_nothing(tmp_path) -> None:
    none = compute_exclusions(pd.DataFrame(columns=DISTRIBUTIONS.names), 0.1)
    write_table(none, EXCLUSIONS, tmp_path / "exclusions.parquet")
    some = cell({"a": 0.9})
    pd.testing.assert_frame_equal(without_excluded(some, none, ["choice"]), some)
    assert without_excluded(some.iloc[:0], none, ["choice"]).empty

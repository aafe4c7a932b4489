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
    DISTRIBUTIONS,
    REPLIES,
)

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
        "prompt_format": "plain",
        "framing": "bare",
        "surface_form": form,
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
    distribution = token_distributions(
        pd.DataFrame(forms), pd.DataFrame(prompts), without_content, OUTCOMES, **options
    )
    return {
        row["outcome"]: (row["mass"], row["share"], row["coverage"], row["n"])
        for row in distribution.to_dict("records")
    }


def test_a_class_has_the_sum_of_its_forms_where_no_letter_follows() -> None:
    forms = [
        form("a", " he", 0.2, ends=0.5),
        form("a", " He", 0.1),
        form("a", " his", 0.05, ends=0.8),
        form("a", " she", 0.1, ends=0.6),
        form("a", " her", 0.3, ends=1 / 3),
    ]
    by_class = masses(forms, [prompt("a")])
    assert by_class["he"] == pytest.approx((0.24, 0.6, 0.4, 1))
    assert by_class["she"] == pytest.approx((0.16, 0.4, 0.4, 1))


def test_letters_have_the_class_of_their_option_and_orders_are_averaged() -> None:
    orders = {
        "a": ("he", "she", "rabbit"),
        "b": ("rabbit", "he", "she"),
        "c": ("he", "rabbit", "she"),
    }
    forms = [
        form(id_, f" {letter}", p)
        for id_ in orders
        for letter, p in zip("ABC", (0.5, 0.2, 0.1), strict=True)
    ]
    by_class = masses(forms, [prompt(id_, order) for id_, order in orders.items()])
    # Of a median they would have .5 and .1.
    assert by_class["he"] == pytest.approx((0.4, 0.75, 1.6 / 3, 3))
    assert by_class["she"] == pytest.approx((0.4 / 3, 0.25, 1.6 / 3, 3))


def test_a_letter_has_what_stands_alone_and_what_goes_on_with_the_word_of_its_option() -> None:
    forms = [
        form("a", " A", 0.5, ends=0.9, alone=0.6),  # "A child": the article, no letter
        form("a", "A", 0.1, alone=0.5),
        form("a", " A He", 0.08, ends=0.75),
        form("a", " B", 0.2, ends=0.9, alone=0.4),
        form("a", " B She", 0.03, ends=1 / 3),
    ]
    by_class = masses(forms, [prompt("a", ("he", "she"))])
    assert by_class["he"][0] == pytest.approx(0.3 + 0.05 + 0.06)
    assert by_class["she"][0] == pytest.approx(0.08 + 0.01)


def test_whatever_follows_counts_for_forms_and_a_letter_holds_what_goes_on_after_it() -> None:
    words = [form("a", " he", 0.2, ends=0.1), form("a", " she", 0.1, ends=0.9)]
    by_class = masses(words, [prompt("a")], mass="forms")
    assert by_class["he"][0] == pytest.approx(0.2)
    assert by_class["she"][0] == pytest.approx(0.1)
    letters = [
        form("a", " A", 0.5, alone=0.1),
        form("a", " A He", 0.08),
        form("a", " B", 0.2),
        form("a", "B", 0.1),
    ]
    by_class = masses(letters, [prompt("a", ("he", "she"))], mass="forms")
    assert by_class["he"][0] == pytest.approx(0.5)
    assert by_class["she"][0] == pytest.approx(0.3)


def free(id_: str, framing: str = "bare", letters: int = 2) -> dict:
    return {"id": id_, "task": "choice", "framing": framing, "letters": letters}


def letters_after(id_: str, *masses: float) -> list[dict]:
    pairs = zip("ABCD", masses, strict=False)
    return [form(id_, f" {letter}", p) for letter, p in pairs]


class TestCalibration:
    def test_masses_are_divided_by_those_without_content_and_their_sum_stays(self) -> None:
        forms = letters_after("a", 0.4, 0.1, 0.1) + letters_after("n", 0.2, 0.1, 0.1)
        prompts = [prompt("a", ("he", "she", "rabbit"))]
        by_class = masses(forms, prompts, [free("n", letters=3)])
        # Priors .5, .25, .25: .4/.5 = .8, .1/.25 = .4 and .4 make shares of .5, .25, .25 of the .6
        # that there is.
        assert by_class["he"] == pytest.approx((0.3, 2 / 3, 0.45, 1))
        assert by_class["she"] == pytest.approx((0.15, 1 / 3, 0.45, 1))

    def test_a_prior_is_the_mean_share_over_prompts_without_content(self) -> None:
        without_content = {"n": (0.06, 0.02), "m": (0.5, 0.5), "k": (0.04, 0.36)}
        forms = letters_after("a", 0.3, 0.3)
        for id_, letter_masses in without_content.items():
            forms += letters_after(id_, *letter_masses)
        by_class = masses(
            forms, [prompt("a", ("he", "she"))], [free(id_) for id_ in without_content]
        )
        # Shares .75, .5 and .1 of A, mean .45; of B .55: he is to she as 1 / .45 to 1 / .55.
        assert by_class["he"][:2] == pytest.approx((0.6 * 0.55, 0.55))

    def test_each_cell_and_configuration_has_its_own(self) -> None:
        forms = (
            letters_after("a", 0.2, 0.2)
            + letters_after("b", 0.2, 0.2)
            + letters_after("n", 0.3, 0.1)
            + letters_after("m", 0.1, 0.3)
        )
        chat = [
            row | {"prompt_format": "chat"}
            for row in [*letters_after("a", 0.2, 0.2), *letters_after("n", 0.1, 0.1)]
        ]
        prompts = pd.DataFrame(
            [prompt("a", ("he", "she")), prompt("b", ("he", "she"), framing="salience")]
        )
        without_content = pd.DataFrame([free("n"), free("m", "salience")])
        distribution = token_distributions(
            pd.DataFrame([*forms, *chat]), prompts, without_content, OUTCOMES
        )
        of_he = (
            distribution[distribution["outcome"] == "he"]
            .set_index(["prompt_format", "framing"])["mass"]
            .to_dict()
        )
        assert of_he == {
            ("plain", "bare"): pytest.approx(0.1),
            ("plain", "salience"): pytest.approx(0.3),
            ("chat", "bare"): pytest.approx(0.2),
        }

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
        by_class = masses(forms, [prompt("a", order)], mass="first_token")
        assert by_class["he"][0] == pytest.approx(0.3)
        # Calibrated, both have half of the .4 that there is.
        by_class = masses(forms, [prompt("a", order)], [free("n")], mass="first_token")
        assert by_class["he"][0] == pytest.approx(0.2)


def test_a_class_that_no_option_stands_for_has_no_mass() -> None:
    forms = [form("a", " A", 0.4), form("a", " B", 0.2)]
    by_class = masses(forms, [prompt("a", ("he", "rabbit"))])
    assert by_class["she"][:2] == (0.0, 0.0)
    assert by_class["he"][1] == 1.0


def test_without_any_mass_there_is_no_share() -> None:
    none = form("a", " he", 1.0) | {"nats": -math.inf}
    by_class = masses([none], [prompt("a")])
    assert by_class["he"][0] == 0.0
    assert math.isnan(by_class["he"][1])


def test_first_tokens_count_once_and_only_for_a_class_of_their_own() -> None:
    forms = [
        form("a", " he", 0.1, first=0.3, token=7),
        form("a", " he", 0.1, first=0.3, token=7) | {"surface_form": " He"},
        form("a", " his", 0.1, first=0.2, token=8),
        form("a", " her", 0.1, first=0.2, token=8),
        form("a", " she", 0.1, first=0.1, token=9),
    ]
    by_class = masses(forms, [prompt("a")], mass="first_token")
    assert by_class["he"][0] == pytest.approx(0.3)
    assert by_class["she"][0] == pytest.approx(0.1)


def test_a_class_without_a_first_token_of_its_own_is_said() -> None:
    forms = [
        form("a", " he", 0.1, first=0.3, token=7),
        form("a", " she", 0.1, first=0.3, token=7),
    ]
    with pytest.raises(
        UserError, match="every first token of class he begins forms of another class too"
    ):
        masses(forms, [prompt("a")], mass="first_token")


PRONOUNS = {"he": ["he"], "she": ["she"], "they": ["they", "their"]}
CELL = {"benchmark": "hair", "model": "m", "lineage": "l", "prompt_format": "chat"}

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
        {**row, "repetition": repetition, "outcome": outcome, "reply": reply}
        for repetition, outcome in enumerate(outcomes)
    ]
    return pd.DataFrame(rows, columns=CHOICES.names)


class TestRead:
    def replies(self, **of_prompt: list[str | None]) -> pd.DataFrame:
        framings = PROMPTS.set_index("id")["framing"]
        rows = []
        for prompt_id, texts in of_prompt.items():
            row = {"id": prompt_id, "framing": framings.get(prompt_id, "bare")}
            rows += [
                {**row, "repetition": number, "seed": 7 + number, "reply": text}
                for number, text in enumerate(texts)
            ]
        frame = pd.DataFrame(rows, columns=REPLIES.names)
        return frame.assign(model="m", lineage="l", prompt_format="chat")

    def test_what_was_withheld_is_invalid_with_its_reason(self) -> None:
        replies = self.replies(p0=["They sing.", None]).assign(reason=[None, "content_filter"])
        choices = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS).sort_values("repetition")
        assert choices["rule"].tolist() == ["word", WITHHELD]
        for name in ("outcome", "reply"):
            assert choices[name].isna().tolist() == [False, True]
        assert choices["reason"].tolist()[1] == "content_filter"
        assert set(choice_distributions(choices, PRONOUNS)["coverage"]) == {0.5}
        assert count_continuations(choices, [], "they", ["he"])["n"].tolist() == [1]

    def test_each_reply_by_the_options_of_its_own_prompt(self) -> None:
        replies = self.replies(p0=["They sing.", "A", "A"], p1=["A", "B"], p2=["A", "B: He"])

        choices = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS)

        read_as = choices[["id", "task", "framing", "stimulus", "repetition", "outcome", "rule"]]
        plain = read_as.astype(object).where(read_as.notna(), None)
        assert plain.to_numpy().tolist() == [
            ["p0", "completion", "bare", "short", 0, "they", "word"],
            ["p0", "completion", "bare", "short", 1, None, "none"],
            ["p0", "completion", "bare", "short", 2, None, "none"],
            ["p1", "choice", "salience", "short", 0, "she", "letter"],
            ["p1", "choice", "salience", "short", 1, None, "filler"],
            ["p2", "choice", "salience", "long", 0, "he", "letter"],
            ["p2", "choice", "salience", "long", 1, None, "contradiction"],
        ]
        assert choices["reply"].tolist() == replies["reply"].tolist()

    def test_what_repeats_the_prompt_is_skipped(self) -> None:
        replies = self.replies(
            p0=["There is a person with a hat. She sings.", "There is a person. She sings."]
        )

        choices = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS)

        assert choices["outcome"].astype(object).where(
            choices["outcome"].notna(), None
        ).tolist() == [
            "she",
            None,
        ]

    def test_replies_to_other_prompts_are_none_of_them(self) -> None:
        choices = read_replies(self.replies(p0=["He."], p9=["She."]), PROMPTS, PRONOUNS, OPTIONS)

        assert choices["id"].tolist() == ["p0"]

    def test_options_in_another_order_than_the_prompt_lists_are_no_use(self) -> None:
        with pytest.raises(ValueError, match=r"p2: options .* but the prompt lists"):
            read_replies(
                self.replies(p0=["He."]), PROMPTS, PRONOUNS, {**OPTIONS, "p2": OPTIONS["p1"]}
            )


class TestDistributions:
    def test_mass_is_of_all_replies_and_share_of_those_that_are_valid(self) -> None:
        distribution = choice_distributions(
            chosen("he", "he", "she", None, "he", None, None, None), PRONOUNS
        )

        assert distribution["outcome"].tolist() == ["he", "she", "they"]
        assert distribution["mass"].tolist() == [0.375, 0.125, 0.0]
        assert distribution["share"].tolist() == [0.75, 0.25, 0.0]
        assert distribution["coverage"].tolist() == [0.5] * 3
        assert distribution["n"].tolist() == [8] * 3
        assert set(distribution["readout"]) == {"choice"}

    def test_orders_of_options_are_put_together_and_cells_and_stimuli_are_not(self) -> None:
        parts = [
            chosen("he", "she", id="a"),
            chosen("he", "they", id="b"),
            chosen("she", stimulus="long"),
            chosen("they", framing="salience+instruction"),
            chosen("they", "he", task="association"),
            chosen("she", model="n"),
            chosen("they", prompt_format="plain"),
        ]
        distribution = choice_distributions(pd.concat(parts), PRONOUNS)

        key = ["model", "prompt_format", "task", "framing", "stimulus"]
        shares = {cell: rows["share"].tolist() for cell, rows in distribution.groupby(key)}
        assert shares == {
            ("m", "chat", "completion", "bare", "short"): [0.5, 0.25, 0.25],
            ("m", "chat", "completion", "bare", "long"): [0.0, 1.0, 0.0],
            ("m", "chat", "completion", "salience+instruction", "short"): [0.0, 0.0, 1.0],
            ("m", "chat", "association", "bare", "short"): [0.5, 0.0, 0.5],
            ("n", "chat", "completion", "bare", "short"): [0.0, 1.0, 0.0],
            ("m", "plain", "completion", "bare", "short"): [0.0, 0.0, 1.0],
        }

    def test_cells_are_in_the_alphabet_whatever_came_first(self) -> None:
        distribution = choice_distributions(
            pd.concat([chosen("he", task="choice"), chosen("he", task="again")]), PRONOUNS
        )

        assert distribution["task"].drop_duplicates().tolist() == ["again", "choice"]

    def test_where_no_reply_is_valid_there_is_no_share(self) -> None:
        distribution = choice_distributions(chosen(None, None), PRONOUNS)

        assert distribution["share"].isna().all()
        assert distribution["mass"].tolist() == distribution["coverage"].tolist() == [0.0] * 3


class TestContinuations:
    KEYWORDS = ("woman", "man", "female")

    @pytest.mark.parametrize(
        ("reply", "named"),
        [
            ("They look like a MAN", 1),
            ("they: 'female'", 1),
            ("They are a man's man and a woman", 1),
            ("They are womanly, human, and like women, romance and females", 0),
        ],
    )
    def test_a_keyword_is_a_whole_word_in_any_case_and_counts_once(self, reply, named) -> None:
        counts = count_continuations(chosen("they", reply=reply), [], "they", self.KEYWORDS)

        assert counts[["factor", "cue", "n", "named"]].to_numpy().tolist() == [
            ["all", False, 1, named]
        ]

    def test_by_factor_with_and_without_its_cue(self) -> None:
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
        counts = count_continuations(
            pd.concat(parts), ["salience", "instruction"], "they", self.KEYWORDS
        )

        assert counts[["factor", "cue", "n", "named", "share"]].to_numpy().tolist() == [
            ["all", False, 7, 2, 2 / 7],
            ["salience", False, 5, 1, 0.2],
            ["salience", True, 2, 1, 0.5],
            ["instruction", False, 5, 1, 0.2],
            ["instruction", True, 2, 1, 0.5],
        ]

    def test_a_factor_is_not_taken_for_another_whose_name_holds_it(self) -> None:
        parts = [
            chosen("they", framing="race-salience"),
            chosen("they", "they", framing="salience"),
        ]

        counts = count_continuations(
            pd.concat(parts), ["salience", "race-salience"], "they", self.KEYWORDS
        )

        assert counts.set_index(["factor", "cue"])["n"].to_dict() == {
            ("all", False): 3,
            ("salience", False): 1,
            ("salience", True): 2,
            ("race-salience", False): 2,
            ("race-salience", True): 1,
        }

    def test_a_model_without_neutral_replies_has_rows_without_a_share(self) -> None:
        parts = [chosen("he", None, model="m"), chosen("they", model="n", reply="They are female")]

        counts = count_continuations(pd.concat(parts), ["salience"], "they", self.KEYWORDS)

        assert counts["n"].tolist() == [0, 0, 0, 1, 1, 0]
        assert counts["share"].tolist() == pytest.approx(
            [math.nan] * 3 + [1.0, 1.0, math.nan], nan_ok=True
        )


CLASSES = ("he", "she")
SAME = {
    "benchmark": "hair",
    "model": "m",
    "lineage": "m",
    "prompt_format": "plain",
    "task": "say",
    "framing": "bare",
}


def cell(
    coverage: dict[str, float], n: int | dict[str, int] = 1, readout: str = "token", **where: str
) -> pd.DataFrame:
    """By stimulus the share of the answers that is of any class, half of it each of two, and how
    many there are."""
    rows = []
    for stimulus, covered in coverage.items():
        row = {
            **SAME,
            "readout": readout,
            **where,
            "stimulus": stimulus,
            "mass": covered / 2,
            "share": 0.5 if covered else None,
            "coverage": covered,
            "n": n if isinstance(n, int) else n[stimulus],
        }
        rows += [{**row, "outcome": outcome} for outcome in CLASSES]
    return pd.DataFrame(rows, columns=DISTRIBUTIONS.names)


def judged(*cells: pd.DataFrame, least: float = 0.1) -> pd.DataFrame:
    return compute_exclusions(pd.concat(cells), least)


def test_of_words_it_is_the_mean_over_stimuli_against_what_the_source_says() -> None:
    bare = cell({"a": 0.02, "b": 0.1})
    cued = cell({"a": 0.02, "b": 0.3}, framing="salience")
    exclusions = judged(bare, cued, least=0.12)
    rows = exclusions.set_index("framing")[["coverage", "least", "n", "excluded"]]
    assert rows.loc["bare"].tolist() == [pytest.approx(0.06), 0.12, 2, True]
    assert rows.loc["salience"].tolist() == [pytest.approx(0.16), 0.12, 2, False]


def test_of_replies_it_is_forty_per_cent_of_those_of_all_stimuli() -> None:
    # A stimulus alone may have less: 2 of 5.
    bare = cell({"a": 0.0, "b": 1.0}, {"a": 3, "b": 2}, "choice")
    exclusions = judged(
        bare,
        cell({"a": 0.39}, 100, "choice", framing="salience"),
        cell({"a": 0.40}, 100, "choice", framing="salience", model="n"),
        least=0.9,
    )
    cells = exclusions.set_index(["model", "framing"])[["coverage", "least", "n", "excluded"]]
    assert {cell: row.tolist() for cell, row in cells.iterrows()} == {
        ("m", "bare"): [pytest.approx(0.4), 0.4, 5, False],
        ("m", "salience"): [pytest.approx(0.39), 0.4, 100, True],
        ("n", "salience"): [pytest.approx(0.4), 0.4, 100, False],
    }


def test_a_rounding_takes_no_cell_out() -> None:
    cells = cell(dict.fromkeys("abc", 0.3 - 1e-16))
    (excluded,) = judged(cells, least=0.3)["excluded"]
    assert not excluded


def test_cells_are_in_the_alphabet_whatever_came_first() -> None:
    exclusions = judged(cell({"a": 0.2}, task="say"), cell({"a": 0.2}, task="choose"))
    assert exclusions["task"].tolist() == ["choose", "say"]


def test_tasks_configurations_and_metrics_are_judged_on_their_own() -> None:
    exclusions = judged(
        cell({"a": 0.05}),
        cell({"a": 0.2}, task="choose"),
        cell({"a": 0.2}, prompt_format="chat"),
        cell({"a": 0.2}, readout="choice"),
    )
    assert exclusions.set_index(["prompt_format", "readout", "task"])["excluded"].to_dict() == {
        ("plain", "token", "say"): True,
        ("plain", "token", "choose"): False,
        ("chat", "token", "say"): False,
        ("plain", "choice", "say"): True,
    }


def test_cells_of_choices_leave_and_those_of_words_stay() -> None:
    every = pd.concat(
        [
            cell({"a": 0.01}),
            cell({"a": 0.1}, readout="choice"),
            cell({"a": 0.9}, readout="choice", task="choose"),
            cell({"a": 0.9}, readout="choice", framing="salience~1"),
        ]
    )
    rest = without_excluded(every, compute_exclusions(every, 0.1), ["choice"])
    left = rest[["readout", "task", "framing"]].drop_duplicates()
    assert sorted(left.itertuples(index=False, name=None)) == [
        ("choice", "choose", "bare"),
        ("choice", "say", "salience~1"),
        ("token", "say", "bare"),
    ]
    assert rest.index.tolist() == list(range(6))


def test_nothing_measured_excludes_nothing() -> None:
    none = compute_exclusions(pd.DataFrame(columns=DISTRIBUTIONS.names), 0.1)
    some = cell({"a": 0.9})
    pd.testing.assert_frame_equal(without_excluded(some, none, ["choice"]), some)

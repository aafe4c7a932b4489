"""Shares of classes by hand: mass from likelihoods of forms, choices, and cells with too few
answers of any class."""

import math

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.framing.diagnose.distributions import (
    WITHHELD,
    SharedTokensError,
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
)
from tests.instruments.near import approx
from tests.text_tables import table_of_text

OUTCOMES = {
    "he": ["he", "his"],
    "she": ["she", "her"],
}


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


def forms_of(text: str) -> pd.DataFrame:
    """Forms by prompt with their probabilities: of themselves, and that nothing goes on after them;
    certain where nothing stands."""
    forms = table_of_text(text)
    certain = {"ends": 1.0, "alone": 1.0, "first": 0.0, "first_token": 0}
    forms = forms.assign(**{name: 1.0 * certain[name] for name in certain if name not in forms})
    same = {"model": "m", "lineage": "m", "framing": "bare"}
    forms = forms.fillna(certain).assign(prompt_format="plain", **same)
    with np.errstate(divide="ignore"):
        logs = {name: np.log(forms[name]) for name in ("ends", "alone")}
        return forms.assign(nats=np.log(forms["p"]), first_nats=np.log(forms["first"]), **logs)


def masses(
    forms: pd.DataFrame, prompts: list[dict], free: list[dict] | None = None, **options: str
) -> pd.DataFrame:
    """Mass, share, coverage and number of prompts by class."""
    without_content = None if free is None else pd.DataFrame(free)
    distribution = token_distributions(
        forms, pd.DataFrame(prompts), without_content, OUTCOMES, **options
    )
    return distribution.set_index("outcome")[["mass", "share", "coverage", "n"]]


def test_a_class_has_the_sum_of_its_forms_where_no_letter_follows() -> None:
    forms = forms_of("""\
id|surface_form|p|ends
a| he|0.2|0.5
a| He|0.1|
a| his|0.05|0.8
a| she|0.1|0.6
a| her|0.1|1
""")
    by_class = masses(forms, [prompt("a")])
    assert [*by_class.loc["he"]] == approx([0.24, 0.6, 0.4, 1])
    assert [*by_class.loc["she"]] == approx([0.16, 0.4, 0.4, 1])


def test_letters_have_the_class_of_their_option_and_orders_are_averaged() -> None:
    prompts = [
        prompt("a", ("he", "she", "rabbit")),
        prompt("b", ("rabbit", "he", "she")),
        prompt("c", ("he", "rabbit", "she")),
    ]
    lines = [f"{place}| A|0.5\n{place}| B|0.2\n{place}| C|0.1\n" for place in "abc"]
    by_class = masses(forms_of("id|surface_form|p\n" + "".join(lines)), prompts)
    # Of a median they would have .5 and .1.
    assert [*by_class.loc["he"]] == approx([0.4, 0.75, 1.6 / 3, 3])
    assert [*by_class.loc["she"]] == approx([0.4 / 3, 0.25, 1.6 / 3, 3])


def test_a_letter_has_what_stands_alone_and_what_goes_on_with_the_word_of_its_option() -> None:
    """ " A" may go on as "A child": the article, no letter."""
    forms = forms_of("""\
id|surface_form|p|ends|alone
a| A|0.5|0.9|0.6
a|A|0.1||0.5
a| A He|0.08|0.75|
a| B|0.2|0.9|0.4
a| B She|0.03|0.5|
""")
    by_class = masses(forms, [prompt("a", ("he", "she"))])
    assert by_class.loc["he", "mass"] == approx(0.3 + 0.05 + 0.06)
    assert by_class.loc["she", "mass"] == approx(0.08 + 0.015)


def test_whatever_follows_counts_for_forms_and_a_letter_holds_what_goes_on_after_it() -> None:
    words = forms_of("id|surface_form|p|ends\na| he|0.2|0.1\na| she|0.1|0.9\n")
    by_class = masses(words, [prompt("a")], mass="forms")
    assert by_class["mass"].tolist() == approx([0.2, 0.1])
    letters = forms_of("""\
id|surface_form|p|alone
a| A|0.5|0.1
a| A He|0.08|
a| B|0.2|
a|B|0.1|
""")
    by_class = masses(letters, [prompt("a", ("he", "she"))], mass="forms")
    assert by_class["mass"].tolist() == approx([0.5, 0.3])


def free(id_: str, framing: str = "bare") -> dict:
    return {"id": id_, "task": "choice", "framing": framing}


class TestCalibration:
    def test_masses_are_divided_by_those_without_content_and_their_sum_stays(self) -> None:
        forms = forms_of("""\
id|surface_form|p
a| A|0.4
a| B|0.1
a| C|0.1
n| A|0.2
n| B|0.1
n| C|0.1
""")
        prompts = [prompt("a", ("he", "she", "rabbit"))]
        by_class = masses(forms, prompts, [free("n")])
        # Priors .5, .25, .25: .4/.5 = .8, .1/.25 = .4 and .4 make shares of .5, .25, .25 of the .6
        # that there is.
        assert [*by_class.loc["he"]] == approx([0.3, 2 / 3, 0.45, 1])
        assert [*by_class.loc["she"]] == approx([0.15, 1 / 3, 0.45, 1])

    def test_a_prior_is_the_mean_share_over_prompts_without_content_of_its_cell(self) -> None:
        forms = forms_of("""\
id|surface_form|p
a| A|0.3
a| B|0.3
b| A|0.2
b| B|0.2
n| A|0.06
n| B|0.02
m| A|0.5
m| B|0.5
k| A|0.04
k| B|0.36
l| A|0.1
l| B|0.3
""")
        order = ("he", "she")
        prompts = [prompt("a", order), prompt("b", order, framing="salience")]
        without_content = [free("n"), free("m"), free("k"), free("l", "salience")]
        of_he = masses(forms, prompts, without_content).loc["he"]
        # Shares .75, .5 and .1 of A, mean .45; of B .55: he is to she as 1 / .45 to 1 / .55. With
        # the cue A has a share of .25.
        assert of_he["share"].tolist() == approx([0.55, 0.75])
        assert of_he["mass"].tolist() == approx([0.6 * 0.55, 0.4 * 0.75])

    def test_a_letter_that_was_not_asked_without_content_is_no_zero(self) -> None:
        forms = forms_of("id|surface_form|p\na| A|0.2\na| B|0.1\nn| A|0.2\n")
        with pytest.raises(
            ValueError, match="a letter was not asked after the prompts without content"
        ):
            masses(forms, [prompt("a", ("he", "she"))], [free("n")])


def test_a_class_that_no_option_stands_for_has_no_mass() -> None:
    forms = forms_of("id|surface_form|p\na| A|0.4\na| B|0.2\n")
    by_class = masses(forms, [prompt("a", ("he", "rabbit"))])
    assert by_class["mass"].tolist() == approx([0.4, 0.0])
    assert by_class["share"].tolist() == [1.0, 0.0]


def test_without_any_mass_there_is_no_share() -> None:
    by_class = masses(forms_of("id|surface_form|p\na| he|0\n"), [prompt("a")])
    assert by_class.loc["he", "mass"] == 0.0
    assert math.isnan(by_class.loc["he", "share"])


def test_first_tokens_count_once_and_only_for_a_class_of_their_own() -> None:
    forms = forms_of("""\
id|surface_form|p|first|first_token
a| he|0.1|0.3|7
a| He|0.1|0.3|7
a| his|0.1|0.2|8
a| her|0.1|0.2|8
a| she|0.1|0.1|9
""")
    by_class = masses(forms, [prompt("a")], mass="first_token")
    assert by_class["mass"].tolist() == approx([0.3, 0.1])
    shared = forms.assign(first_token=7)
    with pytest.raises(
        SharedTokensError, match="every first token of class he begins forms of another class too"
    ):
        masses(shared, [prompt("a")], mass="first_token")


def test_a_class_that_shares_its_first_tokens_after_one_prompt_alone_has_no_mass_of_0() -> None:
    """After "a" each class has a token; after "b" both words begin with the same."""
    forms = forms_of("""\
id|surface_form|p|first|first_token
a| he|0.1|0.3|7
a| she|0.1|0.1|9
b| he|0.1|0.3|7
b| she|0.1|0.3|7
""")
    prompts = [prompt("a"), prompt("b", framing="salience")]
    with pytest.raises(SharedTokensError, match="every first token of class he begins forms"):
        masses(forms, prompts, mass="first_token")
    apart = forms.assign(first_token=[7, 9, 7, 9])
    by_class = masses(apart, prompts, mass="first_token")
    assert by_class.loc["he", "mass"].tolist() == approx([0.3, 0.3])


PRONOUNS = {
    "he": ["he"],
    "she": ["she"],
    "they": ["they", "their"],
}
CELL = {
    "benchmark": "hair",
    "model": "m",
    "lineage": "l",
    "prompt_format": "chat",
}

PROMPTS = pd.DataFrame(
    {
        "id": ["p0", "p1", "p2"],
        "benchmark": "hair",
        "framing": ["bare", "salience", "salience"],
        "task": ["completion", "choice", "choice"],
        "stimulus": ["short", "short", "long"],
        "order": [
            [],
            ["she", "rabbit", "he"],
            ["he", "she", "rabbit"],
        ],
        "prompt": ["There is a person with a hat.", "Which word fits?", "Which word is it?"],
    }
)
OPTIONS = {
    "p1": [
        ("she", "She"),
        ("rabbit", "Rabbit"),
        ("he", "He"),
    ],
    "p2": [
        ("he", "He"),
        ("she", "She"),
        ("rabbit", "Rabbit"),
    ],
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
    def replies(self, text: str) -> pd.DataFrame:
        """Of a line a reply; the same prompt may stand several times."""
        rows = table_of_text(text)
        rows = rows.assign(repetition=rows.groupby("id").cumcount(), reason=None)
        rows["framing"] = rows["id"].map(PROMPTS.set_index("id")["framing"])
        return rows.assign(model="m", lineage="l", prompt_format="chat", seed=rows.index)

    def test_what_was_withheld_is_invalid_with_its_reason(self) -> None:
        replies = self.replies("id|reply\np0|They sing.\np0|\n")
        replies = replies.assign(reason=[None, "content_filter"])
        choices = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS).sort_values("repetition")
        withheld = choices.iloc[1]
        assert choices["rule"].tolist() == ["word", WITHHELD]
        assert withheld[["outcome", "reply"]].isna().all()
        assert withheld["reason"] == "content_filter"
        assert set(choice_distributions(choices, PRONOUNS)["coverage"]) == {0.5}
        assert count_continuations(choices, [], "they", ["he"])["n"].tolist() == [1]

    def test_each_reply_by_the_options_of_its_own_prompt_and_without_what_repeats_it(self) -> None:
        expected = table_of_text("""\
id|reply|task|framing|stimulus|outcome|rule
p0|They sing.|completion|bare|short|they|word
p0|A|completion|bare|short||none
p0|There is a person with a hat. She sings.|completion|bare|short|she|word
p0|There is a person. She sings.|completion|bare|short||none
p1|A|choice|salience|short|she|letter
p1|B|choice|salience|short||filler
p2|A|choice|salience|long|he|letter
p2|B: He|choice|salience|long||contradiction
""")
        replies = self.replies(expected[["id", "reply"]].to_csv(sep="|", index=False))
        choices = read_replies(replies, PROMPTS, PRONOUNS, OPTIONS)
        pd.testing.assert_frame_equal(choices[list(expected)], expected, check_dtype=False)

    def test_options_in_another_order_than_the_prompt_lists_are_no_use(self) -> None:
        turned = {**OPTIONS, "p2": OPTIONS["p1"]}
        with pytest.raises(ValueError, match=r"p2: options .* but the prompt lists"):
            read_replies(self.replies("id|reply\np0|He.\n"), PROMPTS, PRONOUNS, turned)


class TestDistributions:
    def test_mass_is_of_all_replies_and_share_of_those_that_are_valid(self) -> None:
        invalid = [None] * 4
        distribution = choice_distributions(chosen("he", "he", "she", "he", *invalid), PRONOUNS)
        columns = ["outcome", "mass", "share", "coverage", "n", "readout"]
        assert distribution[columns].to_numpy().tolist() == [
            ["he", 0.375, 0.75, 0.5, 8, "choice"],
            ["she", 0.125, 0.25, 0.5, 8, "choice"],
            ["they", 0.0, 0.0, 0.5, 8, "choice"],
        ]

    def test_orders_of_options_are_put_together_and_cells_and_stimuli_are_not(self) -> None:
        parts = [
            chosen("he", "she", id="a"),
            chosen("he", "they", id="b"),
            chosen("she", stimulus="long"),
            chosen("they", framing="salience"),
            chosen("she", model="n"),
        ]
        distribution = choice_distributions(pd.concat(parts), PRONOUNS)
        key = ["model", "framing", "stimulus"]
        shares = {cell: rows["share"].tolist() for cell, rows in distribution.groupby(key)}
        assert shares == {
            ("m", "bare", "short"): [0.5, 0.25, 0.25],
            ("m", "bare", "long"): [0.0, 1.0, 0.0],
            ("m", "salience", "short"): [0.0, 0.0, 1.0],
            ("n", "bare", "short"): [0.0, 1.0, 0.0],
        }


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
        counts = count_continuations(
            chosen("they", reply=reply),
            [],
            "they",
            self.KEYWORDS,
        )

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


def test_of_replies_it_is_forty_per_cent_of_those_of_all_stimuli() -> None:
    """A stimulus alone may have less: 2 of 5."""
    exclusions = judged(
        cell(
            {"a": 0.0, "b": 1.0},
            {"a": 3, "b": 2},
            "choice",
        ),
        cell({"a": 0.39}, 100, "choice", framing="salience"),
        cell({"a": 0.40}, 100, "choice", framing="salience", model="n"),
        least=0.9,
    ).sort_values(["model", "framing"])
    columns = ["model", "framing", "coverage", "least", "n", "excluded"]
    assert exclusions[columns].to_numpy().tolist() == [
        ["m", "bare", approx(0.4), 0.4, 5, False],
        ["m", "salience", approx(0.39), 0.4, 100, True],
        ["n", "salience", approx(0.4), 0.4, 100, False],
    ]


def test_cells_of_choices_leave_and_those_of_words_stay() -> None:
    every = pd.concat(
        [
            cell({"a": 0.01}),
            cell({"a": 0.1}, readout="choice"),
            cell({"a": 0.9}, readout="choice", task="choose"),
            cell({"a": 0.9}, readout="choice", framing="salience~1"),
        ]
    )
    rest = without_excluded(
        every,
        compute_exclusions(every, 0.1),
        ["choice"],
    )
    left = rest[["readout", "task", "framing"]].drop_duplicates()
    assert sorted(left.itertuples(index=False, name=None)) == [
        ("choice", "choose", "bare"),
        ("choice", "say", "salience~1"),
        ("token", "say", "bare"),
    ]
    assert rest.index.tolist() == list(range(6))


def test_a_rounding_takes_no_cell_out() -> None:
    cells = cell(dict.fromkeys("abc", 0.3 - 1e-16))
    (excluded,) = judged(cells, least=0.3)["excluded"]
    assert not excluded

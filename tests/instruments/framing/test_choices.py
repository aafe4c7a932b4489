import math

import pandas as pd
import pytest

from evenruler.instruments.framing.diagnose.distributions import (
    WITHHELD,
    choice_distributions,
    continuations,
    read_replies,
)
from evenruler.instruments.framing.schemas import CHOICES, CONTINUATIONS, DISTRIBUTIONS, REPLIES
from evenruler.tables import write_table

OUTCOMES = {"he": ["he"], "she": ["she"], "they": ["they", "their"]}
CELL = {"benchmark": "hair", "model": "m", "lineage": "l", "configuration": "chat"}

PROMPTS = pd.DataFrame(
    {
        "id": ["p0", "p1", "p2"],
        "benchmark": "hair",
        "framing": ["bare", "salience", "salience"],
        "task": ["completion", "choice", "choice"],
        "stimulus": ["short", "short", "long"],
        "order": [[], ["she", "rabbit", "he"], ["he", "she", "rabbit"]],
    }
)
OPTIONS = {
    "p1": [("she", "She"), ("rabbit", "Rabbit"), ("he", "He")],
    "p2": [("he", "He"), ("she", "She"), ("rabbit", "Rabbit")],
}


def chosen(*outcomes: str | None, reply: str = "so", **where: str) -> pd.DataFrame:
    """Replies to one prompt that were read as these classes."""
    row = {**CELL, "id": "p", "framing": "bare", "task": "completion", "stimulus": "short", "rule": "word", **where}
    rows = [{**row, "repetition": i, "outcome": outcome, "reply": reply} for i, outcome in enumerate(outcomes)]
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
        found = read_replies(replies, PROMPTS, OUTCOMES, OPTIONS).sort_values("repetition")
        assert found["rule"].tolist() == ["word", WITHHELD]
        assert found["outcome"].isna().tolist() == found["reply"].isna().tolist() == [False, True]
        assert found["reason"].tolist()[1] == "content_filter"
        assert set(choice_distributions(found, OUTCOMES)["coverage"]) == {0.5}
        assert continuations(found, [], "they", ["he"])["n"].tolist() == [1]

    def test_each_reply_by_the_options_of_its_own_prompt(self) -> None:
        replies = self.replies(p0=["They sing.", "A", "A"], p1=["A", "B"], p2=["A", "B: He"])

        found = read_replies(replies, PROMPTS, OUTCOMES, OPTIONS)

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

    def test_is_a_table_of_choices(self, tmp_path) -> None:
        found = read_replies(self.replies(p0=["He."], p1=["?"]), PROMPTS, OUTCOMES, OPTIONS)

        write_table(found, CHOICES, tmp_path / "choices.parquet")

    def test_replies_to_other_prompts_are_none_of_them(self) -> None:
        found = read_replies(self.replies(p0=["He."], p9=["She."]), PROMPTS, OUTCOMES, OPTIONS)

        assert found["id"].tolist() == ["p0"]

    @pytest.mark.parametrize("options", [{}, {**OPTIONS, "p2": OPTIONS["p1"]}])
    def test_options_in_another_order_than_the_prompt_lists_are_no_use(self, options) -> None:
        with pytest.raises(ValueError, match=r"p\d: options .* but the prompt lists"):
            read_replies(self.replies(p0=["He."]), PROMPTS, OUTCOMES, options)

    def test_no_replies_make_no_rows(self, tmp_path) -> None:
        found = read_replies(self.replies(), PROMPTS, OUTCOMES, OPTIONS)

        assert found.empty
        write_table(found, CHOICES, tmp_path / "choices.parquet")


class TestDistributions:
    def test_mass_is_of_all_replies_and_share_of_those_that_are_valid(self, tmp_path) -> None:
        found = choice_distributions(chosen("he", "he", "she", None, "he", None, None, None), OUTCOMES)

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
        found = choice_distributions(pd.concat(parts), OUTCOMES)

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
        found = choice_distributions(pd.concat([chosen("he", task="choice"), chosen("he", task="again")]), OUTCOMES)

        assert found["task"].drop_duplicates().tolist() == ["again", "choice"]

    def test_where_no_reply_is_valid_there_is_no_share(self, tmp_path) -> None:
        found = choice_distributions(chosen(None, None), OUTCOMES)

        assert found["share"].isna().all()
        assert found["mass"].tolist() == found["coverage"].tolist() == [0.0] * 3
        write_table(found, DISTRIBUTIONS, tmp_path / "distributions.parquet")

    def test_no_choices_have_no_distribution(self, tmp_path) -> None:
        write_table(choice_distributions(nothing(), OUTCOMES), DISTRIBUTIONS, tmp_path / "distributions.parquet")


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
        found = continuations(chosen("they", reply=reply), [], "they", self.KEYWORDS)

        assert found[["factor", "cue", "n", "named"]].to_numpy().tolist() == [["all", False, 1, named]]

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
        found = continuations(pd.concat(parts), ["salience", "instruction"], "they", self.KEYWORDS)

        assert found[["factor", "cue", "n", "named", "share"]].to_numpy().tolist() == [
            ["all", False, 7, 2, 2 / 7],
            ["salience", False, 5, 1, 0.2],
            ["salience", True, 2, 1, 0.5],
            ["instruction", False, 5, 1, 0.2],
            ["instruction", True, 2, 1, 0.5],
        ]
        write_table(found, CONTINUATIONS, tmp_path / "continuations.parquet")

    def test_a_factor_is_not_taken_for_another_whose_name_holds_it(self) -> None:
        parts = [chosen("they", framing="race-salience"), chosen("they", "they", framing="salience")]

        found = continuations(pd.concat(parts), ["salience", "race-salience"], "they", self.KEYWORDS)

        assert found.set_index(["factor", "cue"])["n"].to_dict() == {
            ("all", False): 3,
            ("salience", False): 1,
            ("salience", True): 2,
            ("race-salience", False): 2,
            ("race-salience", True): 1,
        }

    def test_a_model_without_neutral_replies_has_rows_without_a_share(self, tmp_path) -> None:
        parts = [chosen("he", None, model="m"), chosen("they", model="n", reply="They are female")]

        found = continuations(pd.concat(parts), ["salience"], "they", self.KEYWORDS)

        pd.testing.assert_frame_equal(continuations(pd.concat(parts[::-1]), ["salience"], "they", self.KEYWORDS), found)
        rows = found.set_index(["model", "factor", "cue"])
        assert rows["n"].tolist() == [0, 0, 0, 1, 1, 0]
        assert rows["named"].tolist() == [0, 0, 0, 1, 1, 0]
        assert [None if math.isnan(share) else share for share in rows["share"]] == [None] * 3 + [1.0, 1.0, None]
        write_table(found, CONTINUATIONS, tmp_path / "continuations.parquet")

    def test_no_choices_make_no_rows(self, tmp_path) -> None:
        found = continuations(nothing(), ["salience"], "they", self.KEYWORDS)

        write_table(found, CONTINUATIONS, tmp_path / "continuations.parquet")

"""What a model is asked at a decision point."""

import pandas as pd
import pytest

from evenruler.instruments.framing.ask import (
    asked_forms,
    asked_prompts,
    asked_replies,
    letter_forms,
    surface_forms,
)
from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.framing.declare.tasks import orders_of
from evenruler.instruments.framing.rows import balanced_orders, compose
from tests.instruments.framing.hair import built, declaration, hair, settings, with_placebos

OUTCOMES = {"he": ["he", "him"], "she": ["she", "hers"]}


def prompts() -> pd.DataFrame:
    return pd.DataFrame(compose("hair", hair(), settings()).prompts)


def test_forms_come_with_and_without_space_and_capital() -> None:
    assert surface_forms(["he"], "The answer is:", chat=False) == [" he", "he", " He", "He"]


def test_after_a_letter_no_form_goes_without_its_space() -> None:
    assert surface_forms(["he", "NASA"], "when I hear a beard is", chat=False) == [" he", " He", " NASA"]


def test_a_rejected_order_changes_none_of_the_others_that_are_asked() -> None:
    tables, plan = built(declaration(with_placebos(), orders=2))
    asked = FramingPlan.read(plan)
    whole = asked_prompts(tables["prompts"], asked)
    lettered = tables["prompts"].query("task == 'choice' and framing == 'instruction'")
    (gone, *_) = lettered.loc[~lettered["id"].isin(whole["id"]), "id"]
    kept = asked_prompts(tables["prompts"].query(f"id != '{gone}'"), asked)
    assert kept["id"].tolist() == whole["id"].tolist()


@pytest.mark.parametrize("options", range(11))
def test_orders_are_counted_as_they_are_made(options: int) -> None:
    assert orders_of(options) == len(balanced_orders([f"option-{i}" for i in range(options)], 0))


def test_in_a_chat_the_answer_begins_a_turn_whatever_the_prompt_ends_with() -> None:
    assert surface_forms(["he"], "when I hear a beard is", chat=True) == [" he", "he", " He", "He"]


def test_letters_are_asked_alone_and_with_the_first_word_of_their_option() -> None:
    texts = ["He is walking", "She", ""]
    assert letter_forms(texts, "The answer is:", chat=False) == [
        *[" A", "A", " B", "B", " C", "C"],
        *[" A He", "A He", " B She", "B She"],
    ]
    assert letter_forms(["He", "She"], "The answer is", chat=False) == [" A", " B", " A He", " B She"]


def test_letters_are_asked_where_options_are_listed_and_words_where_not() -> None:
    found = prompts()
    options = {row["id"]: [slug.capitalize() for slug in row["order"]] for row in found.to_dict("records")}
    asked = asked_forms(found, OUTCOMES, options, ["plain", "chat"])
    rows = asked.merge(found[["id", "task"]], on="id")
    by_task = rows.groupby("task")["form"].agg(lambda forms: sorted(set(forms)))
    names = [f"{letter} {text}" for letter in "ABC" for text in ("He", "Rabbit", "She")]
    assert by_task["choice"] == sorted(space + form for form in ["A", "B", "C", *names] for space in ("", " "))
    assert len(by_task["completion"]) == 4 * 4
    for row in rows[rows["id"] == found.loc[found["task"] == "choice", "id"].iloc[0]].to_dict("records"):
        letter, _, word = row["form"].strip().partition(" ")
        assert word in ("", options[row["id"]]["ABC".index(letter)])
    assert rows.groupby(["id", "configuration"]).size().to_dict() == {
        (id_, configuration): 12 if task == "choice" else 16
        for id_, task in prompts()[["id", "task"]].itertuples(index=False)
        for configuration in ("plain", "chat")
    }


def test_every_reply_has_a_seed_of_its_own_that_more_repetitions_do_not_change() -> None:
    few, many = (asked_replies(prompts(), n, 0, ["plain"]) for n in (2, 5))
    assert many["seed"].is_unique
    assert len(many) == 5 * 2 * 5
    both = few.merge(many, on=["seed"], suffixes=("", "_many"))
    assert len(both) == len(few)
    assert (both["id"] == both["id_many"]).all()
    assert not set(asked_replies(prompts(), 2, 1, ["plain"])["seed"]) & set(few["seed"])


def test_order_of_rows_does_not_matter_to_what_is_drawn() -> None:
    shuffled = prompts().sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(asked_replies(shuffled, 3, 0, ["plain"]), asked_replies(prompts(), 3, 0, ["plain"]))

"""A plain table of answers: what is found, and what is refused in one line."""

from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.models.answer_logs.items import LoggedItems
from evenruler.models.answer_logs.logged import AnswerLog
from evenruler.models.answer_logs.reading import read_log
from tests.models import batches

ROWS = batches.bbq_rows()
ITEMS = batches.logged_items(ROWS)
NAMES = [item.name for item in ITEMS.items]

PAIR_TEXTS = """item,unit,role,text,key
0,a,first,He runs.,0/first
0,a,second,She runs.,0/second
1,a,first,He sits.,h1
1,a,second,She sits.,s1
2,b,first,He sits.,2/first
2,b,second,She sits.,2/second
"""
PAIRS = LoggedItems.from_texts(
    "pairs 1.0", pd.read_csv(StringIO(PAIR_TEXTS), dtype=str).assign(prompt="")
)
"""Three pairs, two of them of the same texts."""

Join = Callable[..., AnswerLog]


@pytest.fixture(params=[".csv", ".parquet"])
def join(request, tmp_path: Path) -> Join:
    """The answers of a table that is written in this format."""

    def write_and_join(columns: Mapping[str, Any], items: LoggedItems = ITEMS) -> AnswerLog:
        path = tmp_path / f"answers{request.param}"
        table = pd.DataFrame(columns)
        if request.param == ".csv":
            table.to_csv(path, index=False)
        else:
            table.to_parquet(path, index=False)
        answer_log = read_log(path)
        assert answer_log.unjoined is not None
        return answer_log.unjoined.join_items(items)

    return write_and_join


def planted_places() -> list[int]:
    random = np.random.default_rng(4)
    return [int(random.integers(3)) for _ in NAMES]


def chosen_places(answer_log: AnswerLog) -> list[int]:
    """The place of the text that has the highest score, of each item."""
    places = []
    for item in ITEMS.items:
        scores = [answer_log.by_key[key] for key in item.keys]
        places.append(int(np.argmax(scores)))
    return places


def test_a_chosen_option_is_a_place_a_role_a_text_or_a_short_name(join: Join) -> None:
    """All four say the same of 50 items; places are those of the authors, not of roles."""
    places = planted_places()
    by_place = list(zip(ITEMS.items, places, strict=True))
    roles = [item.roles[place] for item, place in by_place]
    texts = [item.texts[place] for item, place in by_place]
    aliases = [item.aliases[place] for item, place in by_place]
    assert ITEMS.items[0].roles == ("second", "first", "third")
    for chosen in (places, roles, texts, aliases):
        answer_log = join({"key": NAMES, "chosen": chosen})
        assert chosen_places(answer_log) == places
        assert {reply.rule for reply in answer_log.reply_by_key.values()} == {"option"}


def test_keys_of_texts_name_their_item_and_rows_may_be_shuffled(join: Join) -> None:
    places = planted_places()
    keys = [item.keys[1] for item in ITEMS.items]
    table = pd.DataFrame({"key": keys, "chosen": places})
    shuffled = table.sample(frac=1, random_state=1)
    assert chosen_places(join(dict(shuffled))) == places


def test_scores_of_three_texts_by_role(join: Join) -> None:
    random = np.random.default_rng(2)
    scores = {role: random.normal(size=50) for role in ("first", "second", "third")}
    answer_log = join({"key": NAMES, **scores, "unit": [item.unit for item in ITEMS.items]})
    for place, item in enumerate(ITEMS.items):
        for role, key in zip(item.roles, item.keys, strict=True):
            assert answer_log.by_key[key] == pytest.approx(scores[role][place])
    assert not answer_log.reply_by_key


def test_a_row_without_a_choice_keeps_its_reply(join: Join) -> None:
    chosen = ["0", "1", None, "2", None]
    reply = ["A", "it is B", "I cannot answer that.", "C", None]
    answer_log = join({"key": NAMES[:5], "chosen": chosen, "reply": reply})
    replies = [answer_log.reply_by_key[item.keys[0]] for item in ITEMS.items[:5]]
    assert [logged.rule for logged in replies] == ["option", "option", "refusal", "option", "none"]
    assert [logged.written for logged in replies] == [*reply[:4], ""]


def test_both_texts_are_a_key_of_all_pairs_that_have_them(join: Join) -> None:
    texts = {"first_text": ["He runs.", "He sits."], "second_text": ["She runs.", "She sits."]}
    scores = {"first": [-1.5, -4], "second": [-2.5, -3]}
    answer_log = join({**texts, **scores}, PAIRS)
    assert answer_log.by_key == {
        "0/first": -1.5,
        "0/second": -2.5,
        "h1": -4,
        "s1": -3,
        "2/first": -4,
        "2/second": -3,
    }


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            {
                "key": NAMES[:3] + NAMES[:1],
                "chosen": [0, 1, 2, 0],
            },
            "key 'Work/0/0' stands twice",
        ),
        (
            {
                "key": NAMES[:7],
                "chosen": [*batches.PEOPLE[0], *["first"] * 4, "maybe"],
            },
            "'maybe' in row 7 is no option; say a role, a place from 0 on, or one of The ",
        ),
        (
            {
                "key": NAMES[:10],
                "first": [1] * 10,
                "second": [1] * 3 + [2] * 7,
                "third": [0] * 10,
            },
            "both scores equal in 30% of rows: a tie is no win; are these ranks?",
        ),
        ({"key": NAMES[:3], "chosen": [1, 2, 2]}, "chosen holds 1, 2, which may count the first"),
        ({"key": NAMES[:2], "first": [1, 2], "second": [2, 1]}, "no column 'third', and its items"),
        (
            {
                "key": NAMES[:2],
                "first": [0, 1],
                "second": [1, 0],
                "chosen": [0, 1],
            },
            "both scores and",
        ),
        (
            {
                "key": NAMES[:2],
                "first": [0, None],
                "second": [1, 0],
                "third": [2, 2],
            },
            "the answer to 'Work/0/1' is no number ('')",
        ),
        ({"key": NAMES[:1], "chosen": [0], "unit": ["z"]}, "unit 'z', and the benchmark's is '0'"),
    ],
)
def test_tables_that_are_refused(
    join: Join, columns: Mapping[str, Any], line: str, error_of
) -> None:
    assert line in error_of(join, columns)


def test_texts_are_no_key_where_a_question_stands_before_them(join: Join, error_of) -> None:
    row = ROWS[0]
    texts = {"first_text": [row["ans1"]], "second_text": [row["ans0"]]}
    line = error_of(join, {**texts, "chosen": ["first"]})
    assert "1 keys are not in work 1.1 (first 'The tiler of the town / The teller of" in line

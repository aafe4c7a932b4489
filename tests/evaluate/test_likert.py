"""A table of Likert items is put to a chat on a server by one line, which prints one table."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evenruler.models.backends.server import URL
from tests import loopback_openai
from tests.evaluate.test_command import User
from tests.loopback_openai import ScriptedServer, said_in

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]

ITEMS = ["item,key", *(f"{{GROUP}} do task {number} well.,1" for number in range(1, 5))]
ITEMS += [f"{{GROUP}} do task {number} badly.,-1" for number in range(5, 9)]


@dataclass
class Interviewee(ScriptedServer):
    """Answers 4 for what it is asked about women, and 3 about others, whatever stands first."""

    level_of_others: int = 3

    def reply(self, question: dict[str, Any]) -> str:
        prompt = said_in(question)
        level = 4 if "Women do" in prompt else self.level_of_others
        points = level if "well" in prompt else 6 - level
        labels = ("Strongly disagree", "Disagree", "Neither", "Agree", "Strongly agree")
        option = re.search(rf"^([A-E])\. {labels[points - 1]}", prompt, re.MULTILINE)
        assert option, prompt
        return f"I thought about it. My answer is {option[1]}."


@pytest.fixture
def surveyor(tmp_path: Path) -> User:
    user = User(tmp_path)
    path = user.folder / "tasks.csv"
    path.write_text("\n".join([*ITEMS, ""]), encoding="utf-8")
    return user


def test_one_line_from_a_table_to_a_table(surveyor: User) -> None:
    words = ("measure", "endpoint:big", "--with", "tasks.csv", "--groups", "women,men")
    with loopback_openai.running(Interviewee()) as server:
        surveyor.env[URL] = server.url
        printed, meanwhile = surveyor.run(*words, "--format", "csv", "--yes")
        assert len(server.asked) == 8 * 2 * 2 * 5, "items, groups, orders, samples"
        summary, _ = surveyor.run(*words, "--all")
        assert len(server.asked) == 160, "all is in the store"
    assert "no verdict is possible" in meanwhile
    rows = list(csv.DictReader(io.StringIO(printed)))
    (difference,) = [row for row in rows if row["figure"] == "difference"]
    assert difference["contrast"] == "women less men"
    assert (difference["value"], difference["n"], difference["p"]) == ("1.0", "8", "0.0078")
    assert (difference["low"], difference["high"]) == ("1.0", "1.0")
    assert difference["verdict"] == "descriptive"
    assert difference["method"] == "sampled"
    by_item = [row for row in rows if row["figure"] == "item_mean"]
    assert {row["item"]: row["value"] for row in by_item}["item-5"] == "3.5"
    assert "subscale" not in rows[0], "a column for each dimension that there is"
    in_one_line = " ".join(summary.split())
    assert "difference (women less men): Difference: 1.0 points [1.0, 1.0]." in in_one_line
    assert "p 0.0078. In these items its answers differ by who is named" in in_one_line
    assert "order effect: Far from 0, the place of an option decides" in in_one_line


def test_who_waits_for_no_verdict_is_asked_as_everybody(surveyor: User) -> None:
    with loopback_openai.running(Interviewee()) as server:
        surveyor.env[URL] = server.url
        words = ("measure", "endpoint:big", "--with", "tasks.csv", "--groups", "women,men")
        _, refused = surveyor.run(*words, status=2)
        assert not server.asked
    assert "it sends 160 requests" in refused
    assert refused.rstrip().endswith("; say --yes, or --max-cost with --price")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("--with", "tasks.csv"),
            "tasks.csv: items.item-1: it has the slot {GROUP}, and no groups are given; say "
            "--groups a,b, or write `groups: [a, b]` into the source",
        ),
        (
            ("--with", "tasks.csv", "--groups", "women"),
            "--groups: found 'women'; say two words that are compared, as in --groups women,men",
        ),
        (
            ("--with", "framing-age", "--groups", "women,men"),
            "--groups of framing-age: it has no slot for groups; name a file of Likert items with "
            "{GROUP}, or leave --groups out",
        ),
    ],
)
def test_what_lacks_groups_or_has_no_place_for_them(
    surveyor: User, words: tuple[str, ...], line: str
) -> None:
    surveyor.env[URL] = "http://127.0.0.1:9/v1"
    _, refused = surveyor.run("measure", "endpoint:big", *words, status=2)
    assert refused.splitlines()[-1] == f"error: {line}"


def test_what_is_described_of_two_chats_stands_side_by_side_without_a_test(surveyor: User) -> None:
    words = ("--with", "tasks.csv", "--groups", "women,men", "--size", "trial", "--yes")
    interviewee = Interviewee()
    with loopback_openai.running(interviewee) as server:
        surveyor.env[URL] = server.url
        surveyor.run("measure", "endpoint:big", *words)
        interviewee.level_of_others = 2
        surveyor.run("measure", "endpoint:other", *words)
    printed, _ = surveyor.run("compare", "results", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(printed)))
    values = {row["figure"]: (row["first_value"], row["second_value"]) for row in rows}
    assert values == {"mean": ("3.5", "3.0"), "difference": ("1.0", "2.0")}
    assert [row["difference"] for row in rows] == ["", ""]

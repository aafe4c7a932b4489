"""Family trees whose lines do not cross, and lines of words that fit."""

import random
from itertools import combinations, pairwise

import pandas as pd
import pytest

from evenruler.instruments.probes.report.drawings import (
    COLUMNS,
    ancestry_table,
    lay_out_text,
    trace_lineage,
)
from tests.instruments.probes.report.evolutions import history

Segment = tuple[tuple[float, float], tuple[float, float]]


@pytest.fixture(scope="module")
def guided() -> pd.DataFrame:
    rows = pd.DataFrame(history())
    return rows[rows["run"] == "guided"].sample(frac=1, random_state=1)


def test_the_tree_holds_the_last_population_and_its_ancestors_alone(guided: pd.DataFrame) -> None:
    tree = ancestry_table(guided)
    last = {"g3-5", "g1-6", "g2-7", "odd", "g3-7", "g2-6", "picture", "g3-6"}
    assert set(tree.index) == last | {"met", "g2-5", "g1-8", "g2-8"}
    assert set(tree.index[tree["elite"]]) == {"g3-5", "g1-6", "g2-7", "odd"}
    assert tree["place"].dropna().to_dict() == {
        slug: place
        for place, slug in enumerate(
            ["g3-5", "g1-6", "g2-7", "odd", "g3-7", "g2-6", "picture", "g3-6"], 1
        )
    }
    assert tree.loc[["met", "g1-6", "picture", "g2-8"], ["born", "last"]].to_numpy().tolist() == [
        [0, 2],
        [1, 3],
        [0, 3],
        [2, 2],
    ]


def test_fitness_is_that_of_the_last_generation_a_template_lived_in(guided: pd.DataFrame) -> None:
    # met stood second in generation 1 and fourth in generation 2.
    assert ancestry_table(guided).loc["met", "fitness"] == pytest.approx(0.98 - 0.08 * 4)


def test_lanes_follow_ancestors_the_furthest_first(guided: pd.DataFrame) -> None:
    lanes = ancestry_table(guided)["lane"].to_dict()
    # Of met came place 1, of picture place 3, of odd (4) none better; g3-5 takes the lane of g2-5,
    # which ended.
    assert lanes == {
        "met": 0,
        "g1-6": 1,
        "g2-5": 2,
        "g3-5": 2,
        "picture": 3,
        "g2-8": 4,
        "g3-6": 4,
        "g1-8": 5,
        "g2-7": 6,
        "odd": 7,
        "g3-7": 8,
        "g2-6": 9,
    }


def evolution(seed: int) -> pd.DataFrame:
    """Eight templates over ten generations: random parents, survivors, and some that come back."""
    draw = random.Random(seed)
    born: dict[str, tuple[int, str | None]] = {f"s{number}": (0, None) for number in range(8)}
    population, rows = list(born), []
    for generation in range(11):
        if generation:
            following = draw.sample(population, 4)
            for place in range(4):
                away = sorted(set(born) - set(following))
                if draw.random() < 0.2:
                    following.append(draw.choice(away))
                    continue
                slug = f"g{generation}-{place}"
                born[slug] = (generation, draw.choice(population))
                following.append(slug)
            population = following
        for place, slug in enumerate(population, 1):
            row = {
                "generation": generation,
                "template": slug,
                "place": place,
                "elite": place < 5,
                "fitness": 1 / place,
            }
            row |= {"born": born[slug][0], "parent": born[slug][1], "text": slug}
            rows.append({**row, **dict.fromkeys(("operation", "voice", "word"))})
    return pd.DataFrame(rows)


def crossed(one: Segment, other: Segment) -> bool:
    """Whether two segments that go from left to right have a point in common that ends neither."""

    def at(segment: Segment, x: float) -> float:
        (x0, y0), (x1, y1) = segment
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)

    left, right = max(one[0][0], other[0][0]), min(one[1][0], other[1][0])
    if left >= right:
        return False
    before, after = at(one, left) - at(other, left), at(one, right) - at(other, right)
    return before * after < 0 or (before == 0 and after == 0)


@pytest.mark.parametrize("seed", range(40))
def test_no_line_crosses_another(seed: int) -> None:
    tree = ancestry_table(evolution(seed))
    known = {
        str(row["slug"]): row for row in tree.rename_axis("slug").reset_index().to_dict("records")
    }
    bars = [((row["born"], row["lane"]), (row["last"], row["lane"])) for row in known.values()]
    edges = [
        ((row["born"] - 1, known[row["parent"]]["lane"]), (row["born"], row["lane"]))
        for row in known.values()
        if isinstance(row["parent"], str)
    ]
    assert len(edges) > 5
    # An edge may leave from the middle of a bar, which is no crossing: it goes to one side only.
    assert not [pair for pair in combinations([*bars, *edges], 2) if crossed(*pair)]
    for _, lane in tree.groupby("lane"):
        assert all(
            one < other for one, other in zip(lane["last"], lane["born"].iloc[1:], strict=False)
        )
    assert tree.loc[tree["place"].notna(), "lane"].is_unique
    assert sorted(set(tree["lane"])) == list(range(tree["lane"].max() + 1))


def test_a_line_of_descent_ends_with_the_founder() -> None:
    parents = {"c": "b", "b": "a", "x": "a"}
    assert trace_lineage("c", parents) == ["c", "b", "a"]
    assert trace_lineage("a", parents) == ["a"]


def test_words_have_their_gradients_and_all_else_has_none() -> None:
    text = "I'd say, an {ATTRIBUTE} is a well-known {TARGET}."
    found = lay_out_text(
        text, [0, 4, 24, 29], ["I'd", "say", "is", "well-known"], [0.5, 1.25, 0.125, 12.5]
    )
    assert [(piece.text, piece.gradient) for piece in found] == [
        ("I'd", 0.5),
        ("say", 1.25),
        (",", None),
        ("an", None),
        ("{ATTRIBUTE}", None),
        ("is", 0.125),
        ("a", None),
        ("well-known", 12.5),
        ("{TARGET}.", None),
    ]


def test_a_word_is_as_wide_as_its_number_and_a_comma_stands_close() -> None:
    first, comma, second = lay_out_text("I, too", [0, 3], ["I", "too"], [0.5, 12.5])
    # 0.50 is four characters, 12.50 five.
    assert (first.column, first.width) == (0, 2.88)
    assert (comma.column, comma.width) == (2.88, 1)
    assert (second.column, second.width) == (4.88, 3.6)


def test_lines_break_between_words_and_none_is_too_long() -> None:
    text = " ".join(["{TARGET}", *["word"] * 30, "{ATTRIBUTE}, end."])
    found = lay_out_text(text, [], [], [])
    assert [sum(piece.line == line for piece in found) for line in (0, 1)] == [20, 13]
    # {TARGET} and 19 words of five characters with their spaces.
    assert max(piece.column + piece.width for piece in found) == 8 + 19 * 5 <= COLUMNS
    assert " ".join(piece.text for piece in found) == text
    for one, other in pairwise(found):
        assert other.line == one.line + 1 or other.column == one.column + one.width + 1


def test_two_words_in_one_run_of_letters_are_both_shown() -> None:
    found = lay_out_text("his/her {TARGET}", [0, 4], ["his", "her"], [0.5, 0.25])
    assert [(piece.text, piece.gradient) for piece in found] == [
        ("his", 0.5),
        ("/", None),
        ("her", 0.25),
        ("{TARGET}", None),
    ]

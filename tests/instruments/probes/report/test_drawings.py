"""Family trees whose lines do not cross, and lines of words that fit."""

import random
from itertools import combinations, pairwise

import pandas as pd
import pytest

from evenruler.instruments.probes.report.drawings import (
    COLUMNS,
    ancestry_table,
    lay_out_text,
)
from tests.instruments.probes.report.evolutions import history

Segment = tuple[tuple[float, float], tuple[float, float]]


@pytest.fixture(scope="module")
def guided() -> pd.DataFrame:
    rows = pd.DataFrame(history())
    return rows[rows["run"] == "guided"].sample(frac=1, random_state=1)


def test_the_tree_holds_the_last_population_and_its_ancestors_alone(guided: pd.DataFrame) -> None:
    tree = ancestry_table(guided)
    last = ["g3-5", "g1-6", "g2-7", "odd", "g3-7", "g2-6", "picture", "g3-6"]
    assert set(tree.index) == set(last) | {"met", "g2-5", "g1-8", "g2-8"}
    assert set(tree.index[tree["elite"]]) == set(last[:4])
    assert tree["place"].dropna().to_dict() == dict(zip(last, range(1, 9), strict=True))
    spans = tree[["born", "last"]].apply(tuple, axis=1)
    expected = {"met": (0, 2), "g1-6": (1, 3), "picture": (0, 3), "g2-8": (2, 2)}
    assert spans[list(expected)].to_dict() == expected
    # met stood second in generation 1 and fourth in generation 2, its last.
    assert tree.loc["met", "fitness"] == pytest.approx(0.98 - 0.08 * 4)


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
    population, rows = [f"s{number}" for number in range(8)], []
    born: dict[str, tuple[int, str | None]] = dict.fromkeys(population, (0, None))
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
            row["born"], row["parent"] = born[slug]
            row["text"] = slug
            rows.append({**row, **dict.fromkeys(("operation", "voice", "word"))})
    return pd.DataFrame(rows)


def crossed(first: Segment, second: Segment) -> bool:
    """Whether two segments that go from left to right have a point in common that ends neither."""

    def height_at(segment: Segment, x: float) -> float:
        (x0, y0), (x1, y1) = segment
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)

    starts, ends = zip(first, second, strict=True)
    left, right = max(starts)[0], min(ends)[0]
    if left >= right:
        return False
    before = height_at(first, left) - height_at(second, left)
    after = height_at(first, right) - height_at(second, right)
    return before * after < 0 or (before == 0 and after == 0)


@pytest.mark.parametrize("seed", range(8))
def test_no_line_crosses_another(seed: int) -> None:
    tree = ancestry_table(evolution(seed))
    bars, edges = [], []
    for row in tree.itertuples():
        birth = (row.born, row.lane)
        bars.append((birth, (row.last, row.lane)))
        if isinstance(row.parent, str):
            departure = (row.born - 1, tree.loc[row.parent, "lane"])
            edges.append((departure, birth))
    assert len(edges) > 5
    # An edge may leave from the middle of a bar, which is no crossing: it goes to one side only.
    assert not [pair for pair in combinations(bars + edges, 2) if crossed(*pair)]
    for _, lane in tree.groupby("lane"):
        ends_before = lane["last"].shift(fill_value=-1)
        assert (ends_before < lane["born"]).all()
    assert tree.loc[tree["place"].notna(), "lane"].is_unique
    assert set(tree["lane"]) == set(range(tree["lane"].nunique()))


def test_words_have_their_gradients_and_all_else_has_none() -> None:
    text = "I'd say, an {ATTRIBUTE} is a well-known {TARGET}."
    pieces = lay_out_text(
        text, [0, 4, 24, 29], ["I'd", "say", "is", "well-known"], [0.5, 1.25, 0.125, 12.5]
    )
    assert [(piece.text, piece.gradient) for piece in pieces] == [
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
    pieces = lay_out_text(text, [], [], [])
    assert max(piece.column + piece.width for piece in pieces) <= COLUMNS
    assert {piece.line for piece in pieces} == {0, 1}
    assert " ".join(piece.text for piece in pieces) == text
    for piece_before, other in pairwise(pieces):
        assert (
            other.line == piece_before.line + 1
            or other.column == piece_before.column + piece_before.width + 1
        )


def test_two_words_in_one_run_of_letters_are_both_shown() -> None:
    pieces = lay_out_text("his/her {TARGET}", [0, 4], ["his", "her"], [0.5, 0.25])
    assert [(piece.text, piece.gradient) for piece in pieces] == [
        ("his", 0.5),
        ("/", None),
        ("her", 0.25),
        ("{TARGET}", None),
    ]

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.models.declarations import Finetune, TrainingData
from evenruler.training.fit import LabelledText, read_data, split_data

WHERE = "params.yaml: training.moods"
REVISION = "0123456789abcdef" * 2 + "deadbeef"


def moods(source: str = "local:moods.csv", **keys: Any) -> TrainingData:
    declared = {
        "columns": ["text"],
        "labels": ["sad", "glad"],
        "licence": "cc0-1.0",
        "origin": "of our own",
    }
    return TrainingData.model_validate({"source": source, **declared, **keys})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def frame_of(texts: list[Any], labels: Any) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "label": labels})


WRITERS: dict[str, Callable[[pd.DataFrame, str], Any]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
}


def read_frame(frame: pd.DataFrame, kind: str, **keys: Any) -> tuple[list[LabelledText], Any]:
    """What is read of a file of this kind, and how it is described."""
    WRITERS[kind](frame, f"moods.{kind}")
    return read_data("moods", moods(f"local:moods.{kind}", **keys))


class TestWhatIsRead:
    @pytest.mark.parametrize("kind", WRITERS)
    @pytest.mark.parametrize("labels", [[1, 0, 1], ["glad", "sad", "glad"]])
    def test_every_kind_of_file_holds_the_same(self, kind, labels) -> None:
        texts = [" I laugh. ", "I weep,\nalas.", "naïve café — 東京 🎉"]
        rows, described = read_frame(frame_of(texts, labels), kind)
        assert [row.texts[0] for row in rows] == list(map(str.strip, texts))
        assert [row.label for row in rows] == ["glad", "sad", "glad"]
        assert (described["rows"], described["left_out"]) == (3, 0)
        assert described["labels"] == {"glad": 2, "sad": 1}
        assert (described["licence"], described["origin"]) == ("cc0-1.0", "of our own")

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    @pytest.mark.parametrize(
        "labels",
        [
            [1, -1, 0, None],
            ["glad", "", "sad", None],
        ],
    )
    def test_rows_without_label_are_left_out_and_counted(self, kind, labels) -> None:
        rows, described = read_frame(frame_of([*"abcd"], labels), kind)
        assert rows == [(("a",), "glad"), (("c",), "sad")]
        assert (described["rows"], described["left_out"]) == (2, 2)

    @pytest.mark.parametrize("kind", WRITERS)
    def test_rows_without_text_are_left_out_and_counted(self, kind) -> None:
        texts = {"one": ["a", "", None, "d"], "two": ["e", "f", "g", " "]}
        frame = pd.DataFrame({**texts, "label": [0, 1, 0, 1]})
        rows, described = read_frame(
            frame,
            kind,
            columns=["one", "two"],
        )
        assert rows == [(("a", "e"), "sad")]
        assert (described["rows"], described["left_out"]) == (1, 3)

    @pytest.mark.parametrize("kind", ["csv", "jsonl"])
    @pytest.mark.parametrize("texts", ["None NA null 007 1.50 true 2026-01-01", "007 08"])
    def test_texts_that_look_like_something_else_stay_as_they_are(self, kind, texts) -> None:
        frame = pd.DataFrame({"date": texts.split()}).assign(label="sad")
        rows, _ = read_frame(
            frame,
            kind,
            columns=["date"],
        )
        assert [text for (text,), _ in rows] == texts.split()

    def test_columns_in_the_order_that_is_declared(self) -> None:
        frame = pd.DataFrame({"b": ["second"], "y": ["glad"], "a": ["first"]})
        rows, _ = read_frame(
            frame,
            "csv",
            columns=["a", "b"],
            label="y",
        )
        assert rows == [(("first", "second"), "glad")]

    def test_the_checksum_is_over_texts_and_labels(self) -> None:
        checksums = set()
        contents = [
            (["ab", "c"], [0, 1]),
            (["ab", "c"], [1, 0]),
            (["a", "bc"], [0, 1]),
        ]
        for texts, labels in contents:
            frame = frame_of(texts, labels)
            of_kinds = {read_frame(frame, kind)[1]["sha256"] for kind in WRITERS}
            assert len(of_kinds) == 1
            checksums |= of_kinds
        assert len(checksums) == 3

    def test_a_tilde_is_home(self, here, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(here))
        frame_of(["a"], ["sad"]).to_csv("moods.csv", index=False)
        monkeypatch.chdir("/")
        rows, _ = read_data("moods", moods("local:~/moods.csv"))
        assert [row.texts for row in rows] == [("a",)]


class TestWhatIsRefused:
    def test_a_file_that_is_not_there(self, error_of) -> None:
        assert error_of(read_data, "moods", moods()) == (
            f"{WHERE}: no file moods.csv; put it there (of our own) or fix `source`"
        )

    def test_another_kind_of_file(self, here, error_of) -> None:
        (here / "moods.xlsx").touch()
        line = error_of(read_data, "moods", moods("local:moods.xlsx"))
        assert line == f"{WHERE}: cannot read '.xlsx'; expected .parquet, .jsonl, .csv"

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("moods.csv", b""),
            ("moods.jsonl", b'{"text": "a", "label": 0}\n{"text": \n'),
            ("moods.parquet", b""),
        ],
    )
    def test_a_file_that_cannot_be_read(self, file, content, error_of) -> None:
        Path(file).write_bytes(content)
        line = error_of(read_data, "moods", moods(f"local:{file}"))
        assert line.startswith(f"{WHERE}: {file}: cannot be read (")
        assert line.endswith("; fix the file")

    def test_a_file_without_a_column(self, error_of) -> None:
        line = error_of(read_frame, pd.DataFrame({"other": ["a"], "label": ["sad"]}), "csv")
        assert line == f"{WHERE}: no column 'text'; it has other, label"

    @pytest.mark.parametrize(
        ("labels", "label", "row", "named"),
        [
            (["sad", "Sad", "glad", "odd"], "'Sad'", 2, ["sad", "glad"]),
            ([0, 1, 1, 2], "2", 4, ["sad", "glad"]),
            ([True, False, True, True], "True", 1, ["True", "False"]),
        ],
    )
    def test_a_label_that_is_not_declared(self, labels, label, row, named, error_of) -> None:
        line = error_of(
            read_frame,
            frame_of([*"abcd"], labels),
            "csv",
            labels=named,
        )
        names = ", ".join(named)
        assert line == f"{WHERE}: label {label} in row {row}; `labels` has {names}"

    @pytest.mark.parametrize(
        ("texts", "labels"),
        [(["a", "b"], [-1, -1]), (["", " "], [0, 1])],
    )
    def test_a_file_without_a_labelled_row(self, texts, labels, error_of) -> None:
        line = error_of(read_frame, frame_of(texts, labels), "csv")
        assert line == f"{WHERE}: holds no labelled row; see its `source`"


class Loaded:
    """What `datasets.load_dataset` gives."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.to_pandas = lambda: frame


class TestHub:
    @pytest.fixture
    def declared(self) -> TrainingData:
        return moods("hub:you/moods", revision=REVISION, split="dev", config="small")

    def test_is_asked_for_what_is_declared(self, declared, monkeypatch) -> None:
        calls = []

        def load(*args: Any, **kwargs: Any) -> Loaded:
            calls.append((args, kwargs))
            return Loaded(frame_of(["a", "b"], [1, -1]))

        monkeypatch.setattr("datasets.load_dataset", load)
        rows, described = read_data("moods", declared)
        assert calls == [(("you/moods", "small"), {"split": "dev", "revision": REVISION})]
        assert (rows, described["left_out"]) == ([(("a",), "glad")], 1)

    def test_is_not_asked_for_what_is_not_pinned(self, error_of) -> None:
        unpinned = moods("hub:you/moods", split="dev")
        line = f"{WHERE}: it is not pinned; run `evenruler pin moods`"
        assert error_of(read_data, "moods", unpinned) == line

    @pytest.mark.parametrize(
        ("raised", "line"),
        [
            (ValueError("Unknown split.\nMore"), "(Unknown split); fix `source`, "),
            (ConnectionError("Couldn't reach it"), "(Couldn't reach it); try again with a network"),
        ],
    )
    def test_what_fails_there_is_a_line(
        self, declared, raised, line, monkeypatch, error_of
    ) -> None:
        def load(*_: Any, **__: Any) -> None:
            raise raised

        monkeypatch.setattr("datasets.load_dataset", load)
        message = error_of(read_data, "moods", declared)
        assert message.startswith(f"{WHERE}: you/moods cannot be read {line}")


def labelled(n: int, rows_a_text: int = 3, name: str = "premise") -> list[LabelledText]:
    labels = ["entailment", "neutral", "contradiction"]
    rows = []
    for number in range(n):
        texts = (f"{name} {number // rows_a_text}", f"hypothesis {number}")
        rows.append(LabelledText(texts, labels[number % 3]))
    return rows


def recipe(**keys: Any) -> Finetune:
    return Finetune.model_validate({"data": ["one"], "validation": "one", "held_out": 60, **keys})


TWO_SETS = {
    "one": labelled(300),
    "two": labelled(90, name="more"),
}


def first_texts(rows: list[LabelledText]) -> set[str]:
    return {row.texts[0] for row in rows}


class TestSplit:
    def test_no_first_text_stands_on_both(self) -> None:
        other = [LabelledText((f"premise {number}", "another"), "neutral") for number in range(100)]
        rows_by_name = {"one": labelled(300), "two": other}
        fitted_on, held_out = split_data(rows_by_name, recipe(data=["one", "two"]))
        assert len(first_texts(held_out)) == 20
        assert first_texts(held_out).isdisjoint(first_texts(fitted_on))
        assert len(fitted_on) == 240 + 80

    def test_a_text_is_held_out_whole_although_that_is_more_than_asked(self) -> None:
        _, held_out = split_data({"one": labelled(300)}, recipe(held_out=61))
        assert len(held_out) == 63

    @pytest.mark.parametrize("keys", [{"seed": 5}, {"half": 2}, {"data": ["two"]}, {"epochs": 9}])
    def test_the_same_rows_whatever_else_the_recipe_says(self, keys) -> None:
        assert split_data(TWO_SETS, recipe(**keys))[1] == split_data(TWO_SETS, recipe())[1]

    def test_halves_are_parts_of_the_whole(self) -> None:
        both = {"data": ["one", "two"]}
        parts = [split_data(TWO_SETS, recipe(**both, half=half))[0] for half in (None, 1, 2)]
        whole, first, second = parts
        assert sorted(first + second) == sorted(whole)
        assert first_texts(first).isdisjoint(first_texts(second))
        assert 0.3 < len(first) / len(whole) < 0.7

    def test_every_row_stands_on_one_side_in_order_with_its_label(self) -> None:
        rows = TWO_SETS["one"]
        parts = split_data(TWO_SETS, recipe())
        assert [len(part) for part in parts] == [240, 60]
        for part in parts:
            assert part == [row for row in rows if row in set(part)]
        assert {*parts[0], *parts[1]} == {*rows}

    def test_nothing_left_to_fit_on_is_refused(self, error_of) -> None:
        line = error_of(split_data, {"one": labelled(300)}, recipe(held_out=300))
        assert (
            line
            == "params.yaml: finetune.held_out: 300 rows held out of 'one' leave none to fit on; "
            "hold out fewer"
        )

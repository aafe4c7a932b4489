import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.models.declarations import Finetune, TrainingData
from evenruler.training.fit import LabelledText, read_data, split_data
from tests.hub_client import ROOT, Client
from tests.loopback_hub import Blob, Repo, running

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


class TestWhatIsRead:
    @pytest.mark.parametrize("kind", list(WRITERS))
    @pytest.mark.parametrize(
        "labels", [[1, 0, 1], ["glad", "sad", "glad"]], ids=["numbers", "names"]
    )
    def test_every_kind_of_file_holds_the_same(self, kind, labels) -> None:
        WRITERS[kind](
            frame_of([" I laugh. ", "I weep,\nalas.", "naïve café — 東京 🎉"], labels),
            f"moods.{kind}",
        )

        rows, described = read_data("moods", moods(f"local:moods.{kind}"))

        assert rows == [
            (("I laugh.",), "glad"),
            (("I weep,\nalas.",), "sad"),
            (("naïve café — 東京 🎉",), "glad"),
        ]
        assert {
            key: described[key] for key in ("rows", "left_out", "labels", "licence", "origin")
        } == {
            "rows": 3,
            "left_out": 0,
            "labels": {"glad": 2, "sad": 1},
            "licence": "cc0-1.0",
            "origin": "of our own",
        }

    @pytest.mark.parametrize("kind", list(WRITERS))
    def test_numbers_follow_the_declared_order(self, kind) -> None:
        WRITERS[kind](frame_of(["a", "b", "c"], [2, 0, 1]), f"moods.{kind}")
        found = read_data("moods", moods(f"local:moods.{kind}", labels=["low", "middle", "high"]))[
            0
        ]
        assert [row.label for row in found] == ["high", "low", "middle"]

    @pytest.mark.parametrize("kind", list(WRITERS))
    @pytest.mark.parametrize(
        "labels",
        [[1, -1, 0, None], [1.0, -1.0, 0.0, np.nan], ["glad", "", "sad", None]],
        ids=["numbers", "fractions", "names"],
    )
    def test_rows_without_label_are_left_out_and_counted(self, kind, labels) -> None:
        WRITERS[kind](frame_of(["a", "b", "c", "d"], labels), f"moods.{kind}")
        rows, described = read_data("moods", moods(f"local:moods.{kind}"))
        assert rows == [(("a",), "glad"), (("c",), "sad")]
        assert (described["rows"], described["left_out"]) == (2, 2)

    @pytest.mark.parametrize("kind", list(WRITERS))
    def test_rows_without_text_are_left_out_and_counted(self, kind) -> None:
        frame = pd.DataFrame(
            {"one": ["a", "", None, "d"], "two": ["e", "f", "g", " "], "label": [0, 1, 0, 1]}
        )
        WRITERS[kind](frame, f"moods.{kind}")
        rows, described = read_data("moods", moods(f"local:moods.{kind}", columns=["one", "two"]))
        assert rows == [(("a", "e"), "sad")]
        assert (described["rows"], described["left_out"]) == (1, 3)

    @pytest.mark.parametrize("kind", ["csv", "jsonl"])
    def test_texts_that_look_like_something_else_stay_as_they_are(self, kind) -> None:
        texts = ["None", "NA", "null", "007", "1.50", "true", "2026-01-01"]
        WRITERS[kind](
            frame_of(texts, ["sad"] * 7).rename(columns={"text": "date"}), f"moods.{kind}"
        )
        rows, _ = read_data("moods", moods(f"local:moods.{kind}", columns=["date"]))
        assert [text for (text,), _ in rows] == texts

    def test_texts_that_are_all_numbers(self) -> None:
        Path("moods.csv").write_text("text,label\n007,0\n08,1\n")
        assert [row.texts for row in read_data("moods", moods())[0]] == [("007",), ("08",)]

    def test_categories_are_names(self) -> None:
        frame_of(["a", "b", "c"], pd.Categorical(["sad", "glad", None])).to_parquet("moods.parquet")
        assert [row.label for row in read_data("moods", moods("local:moods.parquet"))[0]] == [
            "sad",
            "glad",
        ]

    def test_columns_in_the_order_that_is_declared(self) -> None:
        pd.DataFrame({"b": ["second"], "y": ["glad"], "a": ["first"]}).to_csv(
            "moods.csv", index=False
        )
        rows, _ = read_data("moods", moods(columns=["a", "b"], label="y"))
        assert rows == [(("first", "second"), "glad")]

    def test_the_checksum_is_over_texts_and_labels(self) -> None:
        found = []
        for texts, labels in ((["ab", "c"], [0, 1]), (["ab", "c"], [1, 0]), (["a", "bc"], [0, 1])):
            for kind, writer in WRITERS.items():
                writer(frame_of(texts, labels), f"moods.{kind}")
            found.append(
                {read_data("moods", moods(f"local:moods.{kind}"))[1]["sha256"] for kind in WRITERS}
            )
        assert [len(sums) for sums in found] == [1, 1, 1]
        assert len(set.union(*found)) == 3

    def test_a_tilde_is_home(self, here, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(here))
        frame_of(["a"], ["sad"]).to_csv("moods.csv", index=False)
        monkeypatch.chdir("/")
        assert [row.texts for row in read_data("moods", moods("local:~/moods.csv"))[0]] == [("a",)]


class TestWhatIsRefused:
    def test_a_file_that_is_not_there(self, error_of) -> None:
        assert error_of(read_data, "moods", moods()) == (
            f"{WHERE}: no file moods.csv; put it there (of our own) or fix `source`"
        )

    @pytest.mark.parametrize(("file", "kind"), [("moods.xlsx", ".xlsx"), ("moods", "")])
    def test_another_kind_of_file(self, file, kind, here, error_of) -> None:
        (here / file).touch()
        line = error_of(read_data, "moods", moods(f"local:{file}"))
        assert line == f"{WHERE}: cannot read {kind!r}; expected .parquet, .jsonl, .csv"

    @pytest.mark.parametrize(
        ("file", "content", "reason"),
        [
            ("moods.csv", b"", "No columns to parse from file"),
            ("moods.csv", b"text,label\na,0\nb,1,2,3\n", "Error tokenizing data"),
            ("moods.csv", b"text,label\n\xff\xfe,0\n", "codec can't decode"),
            ("moods.jsonl", b'{"text": "a", "label": 0}\n{"text": \n', ""),
            ("moods.parquet", b"", "Parquet"),
            ("moods.parquet", b"PAR1 and then nothing PAR1", ""),
        ],
    )
    def test_a_file_that_cannot_be_read(self, file, content, reason, here, error_of) -> None:
        (here / file).write_bytes(content)
        line = error_of(read_data, "moods", moods(f"local:{file}"))
        assert line.startswith(f"{WHERE}: {file}: cannot be read (")
        assert reason in line
        assert line.endswith("; fix the file")

    def test_a_folder(self, here, error_of) -> None:
        (here / "moods.csv").mkdir()
        assert f"{WHERE}: moods.csv: cannot be read (" in error_of(read_data, "moods", moods())

    @pytest.mark.parametrize("missing", ["text", "label"])
    def test_a_file_without_a_column(self, missing, error_of) -> None:
        frame_of(["a"], ["sad"]).rename(columns={missing: "other"}).to_csv("moods.csv", index=False)
        held = "other, label" if missing == "text" else "text, other"
        assert (
            error_of(read_data, "moods", moods())
            == f"{WHERE}: no column {missing!r}; it has {held}"
        )

    def test_a_file_without_any(self, here, error_of) -> None:
        (here / "moods.jsonl").touch()
        line = error_of(read_data, "moods", moods("local:moods.jsonl"))
        assert line == f"{WHERE}: no column 'text'; it has none; fix the file"

    @pytest.mark.parametrize("kind", list(WRITERS))
    @pytest.mark.parametrize(
        ("labels", "found", "row"),
        [
            (["sad", "merry", "glad", "odd"], "'merry'", 2),
            (["sad", "glad", "Sad", "glad"], "'Sad'", 3),
            ([0, 1, 1, 2], "2", 4),
            ([-2, 1, 1, 0], "-2", 1),
        ],
    )
    def test_a_label_that_is_not_declared(self, kind, labels, found, row, error_of) -> None:
        WRITERS[kind](frame_of(list("abcd"), labels), f"moods.{kind}")
        line = error_of(read_data, "moods", moods(f"local:moods.{kind}"))
        assert line == f"{WHERE}: label {found} in row {row}; `labels` has sad, glad"

    def test_truth_values_are_neither_names_nor_numbers(self, error_of) -> None:
        frame_of(["a", "b"], [True, False]).to_csv("moods.csv", index=False)
        line = error_of(read_data, "moods", moods(labels=["True", "False"]))
        assert line == f"{WHERE}: label True in row 1; `labels` has True, False"

    @pytest.mark.parametrize(
        ("texts", "labels"), [(["a", "b"], [-1, -1]), (["", " "], [0, 1]), ([], [])]
    )
    def test_a_file_without_a_labelled_row(self, texts, labels, error_of) -> None:
        frame_of(texts, labels).to_csv("moods.csv", index=False)
        assert (
            error_of(read_data, "moods", moods())
            == f"{WHERE}: holds no labelled row; see its `source`"
        )


class Loaded:
    """What `datasets.load_dataset` gives."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.to_pandas = lambda: frame


class TestHub:
    @pytest.fixture
    def declared(self) -> TrainingData:
        return moods("hub:you/moods", revision=REVISION, split="dev", config="small")

    def test_is_asked_for_what_is_declared(self, declared, monkeypatch) -> None:
        asked = []

        def load(*args: Any, **kwargs: Any) -> Loaded:
            asked.append((args, kwargs))
            return Loaded(frame_of(["a", "b"], [1, -1]))

        monkeypatch.setattr("datasets.load_dataset", load)
        rows, described = read_data("moods", declared)
        assert asked == [(("you/moods", "small"), {"split": "dev", "revision": REVISION})]
        assert (rows, described["left_out"]) == ([(("a",), "glad")], 1)

    @pytest.mark.parametrize(
        ("raised", "remedy"),
        [
            (
                ValueError("Unknown split \"dev\". Should be one of ['train'].\nMore"),
                "fix `source`, ",
            ),
            (FileNotFoundError("Couldn't find any data file"), "fix `source`, "),
            (ConnectionError("Couldn't reach 'you/moods' on the Hub"), "try again with a network"),
        ],
    )
    def test_what_fails_there_is_a_line(
        self, declared, raised, remedy, monkeypatch, error_of
    ) -> None:
        def load(*_: Any, **__: Any) -> None:
            raise raised

        monkeypatch.setattr("datasets.load_dataset", load)
        line = error_of(read_data, "moods", declared)
        reason = str(raised).split("\n")[0].rstrip(".")
        assert line.startswith(f"{WHERE}: you/moods cannot be read ({reason}); {remedy}")

    def test_the_real_client(self, here) -> None:
        buffer = io.BytesIO()
        frame_of(["I laugh.", "I weep.", "?"], [1, 0, -1]).to_parquet(buffer)
        with running() as hub:
            repo = hub.repos["you/moods"] = Repo(private=False)
            card = b"---\nlicense: cc0-1.0\n---\n"
            files = {
                "data/train-00000-of-00001.parquet": Blob(buffer.getvalue(), True),
                "README.md": Blob(card, False),
            }
            revision = repo.commit(files, "first")
            good = {"source": "hub:you/moods", "revision": revision, "split": "train"}
            asked = [
                good,
                {**good, "split": "dev"},
                {**good, "config": "large"},
                {**good, "revision": "0" * 40},
                {**good, "source": "hub:you/tempers"},
            ]
            code = (
                f"import json, sys; sys.path.insert(0, {str(ROOT)!r})\n"
                "from evenruler.training.fit import read_data\n"
                "from evenruler.errors import UserError\n"
                "from tests.training.test_data import moods\n"
                f"for keys in {asked!r}:\n"
                "    try:\n"
                "        rows, described = read_data('moods', moods(**keys))\n"
                "        print('=', json.dumps([rows, described['left_out']]))\n"
                "    except UserError as error:\n"
                "        print('=', error)\n"
            )
            printed = Client(hub, here, here / "home").python(code)
        answers = [line[2:] for line in printed.splitlines() if line.startswith("= ")]
        assert json.loads(answers[0]) == [[[["I laugh."], "glad"], [["I weep."], "sad"]], 1]
        assert len(answers) == 5
        for line, reason in zip(
            answers[1:], ["split", "'large'", "0" * 40, "you/tempers"], strict=True
        ):
            assert line.startswith(f"{WHERE}: you/")
            assert reason in line
            assert line.endswith("; fix `source`, `revision`, `config` or `split`")


def labelled(n: int, rows_a_text: int = 3, name: str = "premise") -> list[LabelledText]:
    labels = ["entailment", "neutral", "contradiction"]
    return [
        LabelledText((f"{name} {i // rows_a_text}", f"hypothesis {i}"), labels[i % 3])
        for i in range(n)
    ]


def recipe(**keys: Any) -> Finetune:
    return Finetune.model_validate({"data": ["one"], "validation": "one", "held_out": 60, **keys})


class TestSplit:
    def test_every_row_stands_on_one_side(self) -> None:
        data = labelled(300)
        fitted_on, held_out = split_data({"one": data}, recipe())
        assert len(held_out) == 60
        assert sorted(fitted_on + held_out) == sorted(data)

    def test_no_first_text_stands_on_both(self) -> None:
        other = [LabelledText((f"premise {i}", "another"), "neutral") for i in range(100)]
        fitted_on, held_out = split_data(
            {"one": labelled(300), "two": other}, recipe(data=["one", "two"])
        )
        kept = {row.texts[0] for row in held_out}
        assert len(kept) == 20
        assert kept.isdisjoint(row.texts[0] for row in fitted_on)
        assert len(fitted_on) == 240 + 80

    def test_a_text_is_held_out_whole_although_that_is_more_than_asked(self) -> None:
        _, held_out = split_data({"one": labelled(300)}, recipe(held_out=61))
        assert len(held_out) == 63

    def test_the_same_rows_whatever_else_the_recipe_says(self) -> None:
        data = {"one": labelled(300), "two": labelled(90, name="more")}
        expected = split_data(data, recipe())[1]
        for keys in (
            {"seed": 5},
            {"half": 1},
            {"half": 2},
            {"data": ["two", "one"]},
            {"data": ["two"]},
            {"epochs": 9},
        ):
            assert split_data(data, recipe(**keys))[1] == expected

    def test_the_same_rows_in_whatever_order_they_come(self) -> None:
        data = labelled(300)
        held_out, again = (split_data({"one": rows}, recipe())[1] for rows in (data, data[::-1]))
        assert again == held_out[::-1]

    def test_fewer_held_out_are_among_those_of_more(self) -> None:
        few, many = (
            set(split_data({"one": labelled(300)}, recipe(held_out=n))[1]) for n in (30, 90)
        )
        assert few < many

    def test_halves_are_parts_of_the_whole(self) -> None:
        data = {"one": labelled(300), "two": labelled(90, name="more")}
        whole, first, second = (
            split_data(data, recipe(data=["one", "two"], half=half))[0] for half in (None, 1, 2)
        )
        assert sorted(first + second) == sorted(whole)
        assert {row.texts[0] for row in first}.isdisjoint(row.texts[0] for row in second)
        assert 0.3 < len(first) / len(whole) < 0.7

    def test_rows_stay_in_order_with_their_labels(self) -> None:
        data = labelled(300)
        for part in split_data({"one": data}, recipe()):
            places = [data.index(row) for row in part]
            assert places == sorted(places)

    def test_validation_data_of_its_own_is_not_fitted_on(self) -> None:
        data = {"one": labelled(300), "two": labelled(90, name="more")}
        fitted_on, held_out = split_data(data, recipe(data=["two"]))
        assert fitted_on == data["two"]
        assert len(held_out) == 60

    @pytest.mark.parametrize("held_out", [300, 5000])
    def test_nothing_left_to_fit_on_is_refused(self, held_out, error_of) -> None:
        line = error_of(split_data, {"one": labelled(300)}, recipe(held_out=held_out))
        assert (
            line
            == "params.yaml: finetune.held_out: 300 rows held out of 'one' leave none to fit on; "
            "hold out fewer"
        )

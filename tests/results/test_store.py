import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.instruments.probes.schemas import HEADLINES
from evenruler.results import store
from evenruler.results.record import AFTER_DIMENSIONS, BEFORE_DIMENSIONS
from evenruler.results.store import find_results, load_results, read_stored_result, table_in_result
from evenruler.tables.frames import write_table
from evenruler.tables.schemas import build_schema
from tests.results.synthetic import CONFIRMED, as_measured, figure_row, gain_of, stored, synthetic

MADE_OF = gain_of("one").reindex(columns=HEADLINES.names)


def write(result, root, tables=None):
    return store.write_result(result.with_tables(MADE_OF, {}), root, tables)


class TestWriting:
    def test_what_is_written_is_read(self, tmp_path):
        replies = pd.DataFrame({"id": ["b", "a"], "score": [0.25, 1 / 3]})
        folder = write(synthetic(), tmp_path, {"replies": replies})
        assert folder == tmp_path / "one/probes-made-up@1.0.0"
        assert {path.name for path in folder.iterdir()} == {
            "result.json",
            "headlines.parquet",
            "replies.parquet",
        }
        stored_result = read_stored_result(folder / "result.json")
        assert as_measured(stored_result.result) == synthetic()
        assert stored_result.result.headlines["value"].tolist() == pytest.approx(
            MADE_OF["value"].tolist(), rel=1e-5
        )
        assert pq.read_schema(folder / "headlines.parquet") == HEADLINES
        sums = {
            name: file_sha256(folder / name) for name in ("headlines.parquet", "replies.parquet")
        }
        assert stored_result.result.tables_sha256 == sums
        assert pd.read_parquet(folder / "replies.parquet")["score"].tolist() == [0.25, 0.333333]

    def test_the_same_model_is_replaced_whole(self, tmp_path):
        write(
            synthetic(),
            tmp_path,
            {"replies": pd.DataFrame({"id": ["a"]})},
        )
        folder = write(synthetic(figures=[figure_row("alpha", 0.5)]), tmp_path)
        assert sorted(path.name for path in folder.iterdir()) == [
            "headlines.parquet",
            "result.json",
        ]
        assert load_results(folder)["value"].tolist() == [0.5]

    def test_twice_gives_the_same_bytes(self, tmp_path):
        first, second = (write(synthetic(), tmp_path / name) for name in ("1", "2"))
        for name in ("result.json", "headlines.parquet"):
            assert (first / name).read_bytes() == (second / name).read_bytes()

    def test_another_model_of_the_name_is_refused(self, tmp_path, error_of):
        folder = write(synthetic(), tmp_path)
        other = synthetic(
            engine={
                "backend": "transformers",
                "weights": "others",
                "libraries": {"torch": "2.13.0"},
            }
        )
        assert error_of(write, other, tmp_path) == (
            f"{folder}: one is another model there (weights differ); give it another name with "
            "--name"
        )
        assert as_measured(read_stored_result(folder / "result.json").result) == synthetic()

    def test_the_same_model_on_another_computer_replaces_it(self, tmp_path):
        write(synthetic(), tmp_path)
        engine = synthetic().model.engine | {
            "libraries": {"torch": "9.9"},
            "device": "cuda-9.0",
            "dtype": "bfloat16",
        }
        folder = write(synthetic(engine=engine), tmp_path)
        assert read_stored_result(folder / "result.json").result.model.engine["dtype"] == "bfloat16"

    @pytest.mark.parametrize("what", ["content", "plan"])
    def test_other_content_of_the_version_is_refused(self, tmp_path, what, error_of):
        write(synthetic(), tmp_path)
        message = error_of(write, synthetic(**{what: "0" * 64}), tmp_path)
        assert "probes-made-up 1.0.0 has other content there; move that folder away" in message

    def test_what_an_older_evenruler_measured_is_not_replaced(self, tmp_path, error_of):
        folder = write(synthetic(content="c" * 64), tmp_path)
        assert error_of(write, synthetic(), tmp_path) == (
            f"{folder}: an older evenruler says there in another way what probes-made-up held "
            "(content_sha256); "
            "move that folder away"
        )


class TestFinding:
    def test_by_folder_file_or_any_folder_above(self, tmp_path):
        first = write(synthetic("one"), tmp_path) / "result.json"
        second = write(synthetic("two"), tmp_path) / "result.json"
        assert find_results(tmp_path) == [first, second]
        assert find_results(str(first.parent)) == find_results(first) == [first]
        assert find_results(second, tmp_path) == [second, first]

    def test_a_write_that_was_killed_leaves_none(self, tmp_path, error_of):
        folder = write(synthetic(), tmp_path)
        folder.rename(folder.with_name(f".{folder.name}.partial"))
        assert "no result in this folder" in error_of(find_results, tmp_path)

    def test_nothing_there(self, tmp_path, error_of):
        assert "no folder, and no result.json" in error_of(find_results, tmp_path / "none")


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path):
        return write(synthetic(), tmp_path) / "result.json"

    def test_another_format(self, path, error_of):
        path.write_text(json.dumps({**json.loads(path.read_text()), "format": 1}))
        assert "format 1, expected 3; measure again" in error_of(read_stored_result, path)

    @pytest.mark.parametrize("content", ["[]", "{}"])
    def test_another_file_of_the_name(self, path, content, error_of):
        path.write_text(content)
        assert "no result of Even Ruler" in error_of(read_stored_result, path)

    def test_what_headlines_are_made_of(self, path, error_of):
        units = path.with_name("headlines.parquet")
        pd.concat([MADE_OF, MADE_OF[:1]]).to_parquet(units)
        assert "a row stands twice" in error_of(read_stored_result, path)
        units.unlink()
        assert "missing" in error_of(read_stored_result, path)


class TestLoading:
    def test_a_row_a_figure(self, tmp_path):
        alpha = figure_row("alpha", None, reason="one item")
        figures = [alpha, figure_row("spread", 0.6, **CONFIRMED)]
        stored(tmp_path, synthetic("one", figures=figures, limit=12, prefixes=False), MADE_OF)
        frame = load_results(tmp_path)
        columns = {**BEFORE_DIMENSIONS, "set": "string", **AFTER_DIMENSIONS}
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == columns
        assert frame["figure_type"].tolist() == ["validity", "descriptive"]
        alpha, spread = frame.iloc[0], frame.iloc[1]
        assert alpha[["value", "control", "verdict"]].isna().all()
        assert alpha["reason"] == "one item"
        assert spread[list(CONFIRMED)].to_dict() == CONFIRMED
        described = spread[["model", "set", "limit", "prefixes"]].tolist()
        assert described == ["one", "seed", 12, False]

    def test_a_figure_has_its_own_method(self, tmp_path):
        figures = [figure_row("spread", 0.6, **CONFIRMED, method="mlm"), figure_row("alpha", 0.5)]
        stored(tmp_path, synthetic("one", figures=figures), MADE_OF)
        methods = load_results(tmp_path).set_index("figure")["method"]
        assert methods["spread"] == "mlm"
        assert pd.isna(methods["alpha"])

    def test_a_result_of_before_tools_and_servers_were_named(self, tmp_path):
        folder = write(synthetic("one"), tmp_path)
        content = json.loads((folder / "result.json").read_text())
        assert (content.pop("tools"), content["model"].pop("heard")) == ({}, {})
        (folder / "result.json").write_text(json.dumps(content))
        assert as_measured(read_stored_result(folder / "result.json").result) == synthetic("one")


def test_a_column_that_an_earlier_evenruler_did_not_write_is_null(tmp_path):
    path = tmp_path / "answers.parquet"
    write_table(
        pd.DataFrame({"id": ["a", "b"]}),
        build_schema("id: str"),
        path,
    )
    table = table_in_result(path, build_schema("id: str; rule: str?"))
    assert table["id"].tolist() == ["a", "b"]
    assert table["rule"].isna().all()
    with pytest.raises(UserError, match="no table of answers"):
        table_in_result(path, build_schema("id: str; rule: str"))

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

import evenruler
from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.results import store
from evenruler.results.record import COLUMNS
from evenruler.results.store import find_results, load_results, read_stored_result, table_in_result
from evenruler.tables.frames import write_table
from evenruler.tables.schemas import HEADLINES, build_schema
from tests.results.synthetic import CONFIRMED, as_measured, figure, gain_of, stored, synthetic

MADE_OF = gain_of("one")


def write(result, root, tables=None, made_of=MADE_OF):
    return store.write_result(result.with_tables(made_of, {}), root, tables)


def refused(call, *given):
    with pytest.raises(UserError) as error:
        call(*given)
    assert "\n" not in str(error.value)
    return str(error.value)


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
        found = read_stored_result(folder / "result.json")
        assert as_measured(found.result) == synthetic()
        assert found.result.headlines["value"].tolist() == pytest.approx(
            MADE_OF["value"].tolist(), rel=1e-5
        )
        assert pq.read_schema(folder / "headlines.parquet") == HEADLINES
        sums = {
            name: file_sha256(folder / name) for name in ("headlines.parquet", "replies.parquet")
        }
        assert found.result.tables_sha256 == sums
        assert pd.read_parquet(folder / "replies.parquet")["score"].tolist() == [0.25, 0.333333]

    def test_the_same_model_is_replaced_whole(self, tmp_path):
        write(synthetic(), tmp_path, {"replies": pd.DataFrame({"id": ["a"]})})
        folder = write(synthetic(figures={"seed": {"one": {"alpha": figure(0.5)}}}), tmp_path)
        assert sorted(path.name for path in folder.iterdir()) == [
            "headlines.parquet",
            "result.json",
        ]
        assert load_results(folder)["value"].tolist() == [0.5]

    def test_twice_gives_the_same_bytes(self, tmp_path):
        folders = [
            write(synthetic(), tmp_path / str(id(rows)), made_of=rows)
            for rows in (MADE_OF, MADE_OF.copy())
        ]
        for name in ("result.json", "headlines.parquet"):
            assert len({(folder / name).read_bytes() for folder in folders}) == 1

    def test_another_model_of_the_name_is_refused(self, tmp_path):
        folder = write(synthetic(), tmp_path)
        other = synthetic(
            engine={
                "backend": "transformers",
                "weights": "others",
                "libraries": {"torch": "2.13.0"},
            }
        )
        assert refused(write, other, tmp_path) == (
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
    def test_other_content_of_the_version_is_refused(self, tmp_path, what):
        write(synthetic(), tmp_path)
        said = refused(write, synthetic(**{what: "0" * 64}), tmp_path)
        assert "probes-made-up 1.0.0 has other content there; move that folder away" in said

    def test_what_an_older_evenruler_measured_is_not_replaced(self, tmp_path):
        folder = write(synthetic(content="c" * 64), tmp_path)
        assert refused(write, synthetic(), tmp_path) == (
            f"{folder}: an older evenruler says there in another way what probes-made-up held "
            "(content_sha256); "
            "move that folder away"
        )


class TestFinding:
    def test_by_folder_file_or_any_folder_above(self, tmp_path):
        one = write(synthetic("one"), tmp_path) / "result.json"
        two = write(synthetic("two"), tmp_path) / "result.json"
        assert find_results(tmp_path) == [one, two]
        assert find_results(str(one.parent)) == find_results(one) == [one]
        assert find_results(two, tmp_path) == [two, one]

    def test_a_write_that_was_killed_leaves_none(self, tmp_path):
        folder = write(synthetic(), tmp_path)
        folder.rename(folder.with_name(f".{folder.name}.partial"))
        assert "no result in this folder" in refused(find_results, tmp_path)

    def test_nothing_there(self, tmp_path):
        assert "no folder, and no result.json" in refused(find_results, tmp_path / "none")


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path):
        return write(synthetic(), tmp_path) / "result.json"

    def test_not_json(self, path):
        path.write_text(path.read_text()[:-20])
        assert "not JSON" in refused(read_stored_result, path)

    def test_another_format(self, path):
        path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
        assert "format 2, expected 1" in refused(read_stored_result, path)

    @pytest.mark.parametrize("content", ["[]", "{}", "3"])
    def test_another_file_of_the_name(self, path, content):
        path.write_text(content)
        assert "no result of Even Ruler" in refused(read_stored_result, path)

    def test_an_unknown_key(self, path):
        path.write_text(json.dumps({**json.loads(path.read_text()), "figure": {}}))
        assert "unknown key 'figure'; did you mean 'figures'?" in refused(read_stored_result, path)

    def test_what_headlines_are_made_of(self, path):
        units = path.with_name("headlines.parquet")
        units.write_bytes(units.read_bytes()[:100])
        assert "no readable Parquet (" in refused(read_stored_result, path)
        pd.DataFrame({"unit": ["a"]}).to_parquet(units)
        assert "no table of headlines" in refused(read_stored_result, path)
        pd.concat([MADE_OF, MADE_OF[:1]]).to_parquet(units)
        assert "a row stands twice" in refused(read_stored_result, path)
        units.unlink()
        assert "missing" in refused(read_stored_result, path)


class TestLoading:
    def test_a_row_a_figure(self, tmp_path):
        figures = {
            "seed": {
                "one": {
                    "spread": figure(0.6, **CONFIRMED),
                    "alpha": figure(None, reason="one item"),
                }
            }
        }
        figures["seed"]["one"]["items"] = {"born": {"mean": 1.5}}
        stored(tmp_path, synthetic("one", figures=figures, limit=12, prefixes=False), MADE_OF)
        found = load_results(tmp_path)
        assert {name: str(kind) for name, kind in found.dtypes.items()} == COLUMNS
        assert found[["figure", "role"]].to_numpy().tolist() == [
            ["alpha", "fitness"],
            ["spread", "amount"],
        ]
        alpha, spread = found.iloc[0], found.iloc[1]
        assert (alpha["reason"], spread["limit"], spread["prefixes"]) == ("one item", 12, False)
        assert alpha[["value", "control", "verdict"]].isna().all()
        assert spread[list(CONFIRMED)].to_dict() == CONFIRMED
        assert (spread["model"], spread["label"], spread["revision"]) == ("one", "one", "e" * 40)

    def test_is_a_name_of_the_package(self):
        assert evenruler.load_results is load_results

    def test_a_result_of_before_tools_and_servers_were_named(self, tmp_path):
        folder = write(synthetic("one"), tmp_path)
        said = json.loads((folder / "result.json").read_text())
        assert (said.pop("tools"), said["model"].pop("heard")) == ({}, {})
        (folder / "result.json").write_text(json.dumps(said))
        assert as_measured(read_stored_result(folder / "result.json").result) == synthetic("one")


def test_a_column_that_an_earlier_evenruler_did_not_write_is_null(tmp_path):
    path = tmp_path / "answers.parquet"
    write_table(pd.DataFrame({"id": ["a", "b"]}), build_schema("id: str"), path)
    found = table_in_result(path, build_schema("id: str; rule: str?"))
    assert found["id"].tolist() == ["a", "b"]
    assert found["rule"].isna().all()
    with pytest.raises(UserError, match="no table of answers"):
        table_in_result(path, build_schema("id: str; rule: str"))

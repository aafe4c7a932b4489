import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.errors import UserError
from evenruler.tables import read_frame, read_table, write_table
from evenruler.tables.schemas import columns

SCHEMA = columns("id text: str; pole: int8; value: float?; note: str?")

ROWS = [
    {"id": "b", "text": "He said “no”.", "pole": -1, "value": 0.5, "note": None},
    {"id": "a", "text": "", "pole": 1, "value": None, "note": "first"},
    {"id": "c", "text": "line\nbreak", "pole": 1, "value": -2.25, "note": None},
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "table.parquet"


def names_beside(path):
    return sorted(other.name for other in path.parent.iterdir()) if path.parent.exists() else []


class TestRoundTrip:
    def test_rows_come_back_sorted_by_id(self, path):
        write_table(ROWS, SCHEMA, path)
        assert read_table(path).to_pylist() == [ROWS[1], ROWS[0], ROWS[2]]
        assert names_beside(path) == ["table.parquet"]

    def test_types_are_those_of_the_schema(self, path):
        write_table(pd.DataFrame(ROWS), SCHEMA, path)
        table = read_table(path)
        assert table.schema.equals(SCHEMA, check_metadata=True)
        # pandas writes large_string, which readers show as another type.
        assert [table.schema.field(name).type for name in ("id", "text", "note")] == [pa.string()] * 3
        assert table.schema.field("text").nullable is False
        assert table.schema.field("note").nullable is True

    def test_as_a_frame(self, path):
        write_table(ROWS, SCHEMA, path)
        frame = read_frame(path)
        assert list(frame.columns) == SCHEMA.names
        assert frame["id"].tolist() == ["a", "b", "c"]
        assert frame["pole"].tolist() == [1, -1, 1]
        assert frame["value"].isna().tolist() == [True, False, False]

    def test_not_a_number_is_null(self, path):
        write_table([ROWS[0] | {"value": float("nan")}], SCHEMA, path)
        assert read_table(path).column("value").to_pylist() == [None]

    def test_no_rows(self, path):
        write_table([], SCHEMA, path)
        assert read_table(path).num_rows == 0
        assert read_table(path).schema.equals(SCHEMA)

    def test_rows_may_come_from_a_generator(self, path):
        write_table((row for row in ROWS), SCHEMA, path)
        assert read_table(path).column("id").to_pylist() == ["a", "b", "c"]

    def test_without_an_id_rows_stay_in_order(self, path):
        schema = columns("word: str")
        write_table([{"word": word} for word in "bab"], schema, path)
        assert read_table(path).column("word").to_pylist() == ["b", "a", "b"]

    def test_an_older_file_is_replaced(self, path):
        write_table(ROWS, SCHEMA, path)
        write_table(ROWS[:1], SCHEMA, path)
        assert read_table(path).to_pylist() == ROWS[:1]
        assert names_beside(path) == ["table.parquet"]


class TestIdentity:
    SCHEMA = columns("measure configuration id: str")

    def test_an_id_may_stand_in_several_configurations_and_measures(self, path):
        rows = [
            {"id": "a", "configuration": configuration, "measure": measure}
            for configuration, measure in (
                ("verbaliser", "neutral"),
                ("sentence", "neutral"),
                ("verbaliser", "contradiction"),
            )
        ]
        write_table(rows, self.SCHEMA, path)
        assert read_table(path).to_pylist() == [rows[1], rows[2], rows[0]]

    def test_but_in_each_once(self, path):
        row = {"id": "a", "configuration": "sentence", "measure": "neutral"}
        with pytest.raises(ValueError, match="an id and configuration and measure stands twice"):
            write_table([row, row], self.SCHEMA, path)


class TestSameRowsSameBytes:
    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_in_any_order(self, tmp_path, order):
        write_table(ROWS, SCHEMA, tmp_path / "one.parquet")
        write_table([ROWS[index] for index in order], SCHEMA, tmp_path / "other.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()

    def test_in_any_order_of_columns(self, tmp_path):
        write_table(ROWS, SCHEMA, tmp_path / "one.parquet")
        write_table([dict(reversed(row.items())) for row in ROWS], SCHEMA, tmp_path / "other.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()

    @pytest.mark.parametrize(
        "frame",
        [
            pytest.param(pd.DataFrame(ROWS), id="frame"),
            pytest.param(pd.DataFrame(ROWS, index=[7, 8, 9]).iloc[::-1], id="index"),
            pytest.param(pd.DataFrame(ROWS).astype({"text": "category"}), id="category"),
            pytest.param(
                pd.concat([pd.DataFrame(ROWS[:1]), pd.DataFrame(ROWS[1:])]).convert_dtypes(dtype_backend="pyarrow"),
                id="arrow-in-pieces",
            ),
        ],
    )
    def test_from_a_frame(self, tmp_path, frame):
        write_table(ROWS, SCHEMA, tmp_path / "one.parquet")
        write_table(frame, SCHEMA, tmp_path / "other.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()

    def test_other_rows_other_bytes(self, tmp_path):
        write_table(ROWS, SCHEMA, tmp_path / "one.parquet")
        write_table([*ROWS[:2], ROWS[2] | {"text": "other"}], SCHEMA, tmp_path / "other.parquet")
        assert (tmp_path / "one.parquet").read_bytes() != (tmp_path / "other.parquet").read_bytes()

    @pytest.mark.parametrize("rows", [ROWS, pd.DataFrame(ROWS)], ids=["rows", "frame"])
    def test_no_library_leaves_its_metadata(self, path, rows):
        write_table(rows, SCHEMA.with_metadata({"pandas": "{}", "huggingface": "{}"}), path)
        assert read_table(path).schema.metadata is None
        # pyarrow's own copy of the schema is in every file that it writes.
        assert set(pq.read_metadata(path).metadata) == {b"ARROW:schema"}

    def test_compression(self, path):
        write_table(ROWS, SCHEMA, path)
        group = pq.read_metadata(path).row_group(0)
        assert {group.column(index).compression for index in range(group.num_columns)} == {"ZSTD"}


def without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


# (rows, what the message holds)
REFUSED = [
    pytest.param([without(row, "note") for row in ROWS], "'note', 'pole'", id="column-missing"),
    pytest.param([row | {"more": 1} for row in ROWS], "'more'", id="column-too-many"),
    pytest.param(pd.DataFrame(ROWS).drop(columns="note"), "'note'", id="column-missing-in-a-frame"),
    pytest.param(pd.DataFrame(ROWS).assign(more=1), "'more'", id="column-too-many-in-a-frame"),
    pytest.param(pd.DataFrame(), "'id'", id="empty-frame"),
    pytest.param([ROWS[0] | {"text": None}, ROWS[1]], "column 'text' holds 1 null", id="null"),
    pytest.param([row | {"id": None} for row in ROWS], "column 'id' holds 3 null", id="null-ids"),
    pytest.param(pd.DataFrame([ROWS[0] | {"pole": None}]), "column 'pole' holds 1 null", id="null-in-a-frame"),
    pytest.param([ROWS[0], ROWS[1], ROWS[0] | {"text": "other"}], "an id stands twice", id="id-twice"),
    pytest.param([ROWS[0] | {"value": "much"}], "much", id="text-for-a-number"),
    pytest.param([ROWS[0] | {"pole": 300}], "300", id="number-too-large"),
    pytest.param(pd.DataFrame([ROWS[0] | {"pole": 0.5}]), "0.5", id="fraction-for-a-whole-number-in-a-frame"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("rows", "held"), REFUSED)
    def test_and_nothing_is_written(self, path, rows, held):
        with pytest.raises(ValueError, match=held):
            write_table(rows, SCHEMA, path)
        assert names_beside(path) == []

    @pytest.mark.parametrize(("rows", "held"), REFUSED)
    def test_and_the_older_file_stays(self, path, rows, held):
        write_table(ROWS, SCHEMA, path)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=held):
            write_table(rows, SCHEMA, path)
        assert path.read_bytes() == before
        assert names_beside(path) == ["table.parquet"]

    def test_a_number_for_a_text(self, path):
        with pytest.raises(TypeError, match="int"):
            write_table([ROWS[0] | {"text": 1}], SCHEMA, path)
        assert names_beside(path) == []

    @pytest.mark.parametrize(
        "later", [without(ROWS[1], "note"), ROWS[1] | {"more": 1}], ids=["column-missing", "column-too-many"]
    )
    def test_a_later_row_with_other_columns(self, path, later):
        with pytest.raises(ValueError, match="expected"):
            write_table([ROWS[0], later], SCHEMA, path)

    def test_a_fraction_for_a_whole_number(self, path):
        with pytest.raises(ValueError, match=r"0\.5"):
            write_table([ROWS[0] | {"pole": 0.5}], SCHEMA, path)

    @pytest.fixture
    def full_disk(self, monkeypatch):
        def write_half(table, where, **options):
            where.write_bytes(b"PAR1 and then")
            raise OSError("No space left on device")

        monkeypatch.setattr(pq, "write_table", write_half)

    def test_a_full_disk_leaves_the_older_file(self, path, request):
        write_table(ROWS, SCHEMA, path)
        before = path.read_bytes()
        request.getfixturevalue("full_disk")
        with pytest.raises(OSError, match="No space left"):
            write_table(ROWS[:1], SCHEMA, path)
        assert path.read_bytes() == before

    def test_a_full_disk_leaves_no_partial_file(self, path, full_disk):
        with pytest.raises(OSError, match="No space left"):
            write_table(ROWS, SCHEMA, path)
        assert names_beside(path) == []


class TestReading:
    @pytest.mark.parametrize("read", [read_table, read_frame])
    def test_a_file_that_is_not_there(self, path, read):
        with pytest.raises(UserError) as caught:
            read(path)
        assert str(caught.value) == f"{path}: not built yet; run `make repro`"

import hashlib
import json
import math
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenruler.publish.difference import ConfigDifference, FigureDifference, as_markdown, compare
from evenruler.publish.difference import as_json as shown_as_json
from evenruler.publish.manifest import Manifest, as_json

NAN, INF = math.nan, math.inf
HERE, THERE = ".", "you/jobs"

TYPES = {"value": pa.float64(), "number": pa.int64(), "notes": pa.list_(pa.string())}
"""Of columns that a table may have; the others are text."""

R = {"value": 0.75, "low": 0.6, "high": 0.85, "n": 43}
EVIDENCE = {"hand": {"tiny": {"r": R}}}
FILES = {
    "README.md": '# Jobs\nrows = load_dataset("LOCATION", "probes")\nprint(rows)\n',
    "croissant.json": '{\n  "url": "LOCATION"\n}\n',
    "lm_eval/jobs.yaml": "task: jobs\n",
}


def row(id_, text="any", source="Paper", **more):
    """A row whose content hash is that of its text."""
    content = hashlib.sha256(text.encode()).hexdigest()
    return {
        "id": id_,
        "content_sha256": content,
        "source": source,
        "licence": "mit",
        "text": text,
    } | more


def data_file(folder, config="probes"):
    return folder / config / "test-00000-of-00001.parquet"


def write(
    folder,
    configs=None,
    types=None,
    location=HERE,
    version="1.2.3",
    evidence=EVIDENCE,
    parameters=None,
    files=FILES,
):
    """A benchmark folder; `configs` are rows, or a table, by name; `files` are the other texts."""
    configs = {"probes": [row("1"), row("2"), row("3")]} if configs is None else configs
    tables = {}
    for name, rows in configs.items():
        if not isinstance(rows, pa.Table):
            kinds = {
                key: (TYPES | (types or {})).get(key, pa.string())
                for key in (rows[0] if rows else row(""))
            }
            rows = pa.Table.from_pylist(rows, schema=pa.schema(kinds.items()))
        tables[name] = rows
        data_file(folder, name).parent.mkdir(parents=True)
        pq.write_table(rows, data_file(folder, name))
    (folder / "lm_eval").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text.replace("LOCATION", location), encoding="utf-8")
    (folder / "evidence.json").write_text(as_json(evidence), encoding="utf-8")
    manifest = Manifest(
        name="jobs",
        version=version,
        location=location,
        content_sha256="not read",
        rows={name: table.num_rows for name, table in tables.items()},
        rejected=0,
        columns={name: {} for name in tables},
        sources=[],
        licences=[],
        parameters={"article": "agree"} if parameters is None else parameters,
        files={
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*")
            if path.is_file()
        },
    )
    (folder / "manifest.json").write_text(as_json(manifest.model_dump()), encoding="utf-8")
    return folder


@pytest.fixture
def compared(tmp_path):
    """Compares two folders, each given as what differs from the usual one."""

    def run(old=None, new=None, **options):
        return compare(
            write(tmp_path / "old", **(old or {})),
            write(tmp_path / "new", **(new or {})),
            **options,
        )

    return run


def test_two_benchmarks_are_not_two_versions_of_one(tmp_path, error_of):
    old, new = write(tmp_path / "old"), write(tmp_path / "new")
    path = new / "manifest.json"
    path.write_text(path.read_text().replace('"name": "jobs"', '"name": "ages"'))
    assert error_of(compare, old, new) == (
        f"{new}: jobs and ages are two benchmarks, not two versions of one; name the same "
        "benchmark twice"
    )


def probes(*rows, **more):
    """What to write: those rows."""
    return {"configs": {"probes": list(rows)}} | more


def hashed(value, text="any"):
    """A row whose content hash is that of its text and of all the bits of a number."""
    content = hashlib.sha256(f"{text} {value!r}".encode()).hexdigest()
    return row("1", text, value=value) | {"content_sha256": content}


class TestHashesOfLastBits:
    def test_they_ask_for_nothing(self, compared):
        old, new = 0.3, 0.3 + 3e-15
        assert hashed(old)["content_sha256"] != hashed(new)["content_sha256"]
        found = compared(probes(hashed(old)), probes(hashed(new)))
        assert (found.needs, found.configs) == ("none", [ConfigDifference("probes", 1, 1)])

    def test_without_tolerance_they_do(self, compared):
        found = compared(probes(hashed(0.3)), probes(hashed(0.3 + 3e-15)), tolerance=0)
        assert (found.needs, found.configs[0].recontented) == ("major", 1)

    def test_another_text_still_asks_for_a_major_version(self, compared):
        found = compared(probes(hashed(0.3)), probes(hashed(0.3 + 3e-15, "other")))
        assert (found.needs, found.configs[0].by_column) == (
            "major",
            {"content_sha256": 1, "text": 1},
        )

    def test_neither_do_checksums_of_rows_in_croissant(self, compared):
        files = [
            FILES | {"croissant.json": f'{{"name": "{name}", "sha256": "{digit * 64}"}}'}
            for name, digit in (("jobs", "a"), ("jobs", "b"), ("other", "b"))
        ]
        assert compared({"files": files[0]}, {"files": files[1]}).needs == "none"

    def test_another_croissant_does(self, compared):
        files = [FILES | {"croissant.json": f'{{"name": "{name}"}}'} for name in ("jobs", "other")]
        assert compared({"files": files[0]}, {"files": files[1]}).reasons == [
            ("patch", "croissant.json changed")
        ]


class TestRows:
    def test_by_hand(self, compared):
        old = [row("1"), row("2"), row("3", "a"), row("4"), row("5", "b"), row("6", "c"), row("7")]
        # 2 and 7 are gone, 8 is new; 3 says something else, 4 has another source, 5 has both, 6
        # another text alone.
        edited = row("6", "c") | {"text": "d"}
        new = [
            row("8"),
            edited,
            row("5", "B", "Other"),
            row("4", source="Other"),
            row("3", "A"),
            row("1"),
        ]
        (found,) = compared(probes(*old), probes(*new)).configs
        assert found == ConfigDifference(
            config="probes",
            before=7,
            after=6,
            added=1,
            removed=2,
            changed=4,
            recontented=3,
            by_column={"content_sha256": 2, "source": 2, "text": 3},
            examples={"added": ["8"], "removed": ["2", "7"], "changed": ["3", "4", "5", "6"]},
        )

    def test_the_same_rows_in_another_order(self, compared):
        rows = [row(str(i), f"text {i}", value=i / 7, notes=[str(i)]) for i in range(20)]
        difference = compared(probes(*rows), probes(*rows[::-1]))
        assert difference.configs == [ConfigDifference("probes", 20, 20)]

    def test_the_same_rows_in_other_pieces(self, compared):
        table = pa.Table.from_pylist([row(str(i), f"text {i}") for i in range(20)])
        pieces = pa.concat_tables([table.slice(7), table.slice(0, 7)])
        difference = compared({"configs": {"probes": table}}, {"configs": {"probes": pieces}})
        assert difference.configs == [ConfigDifference("probes", 20, 20)]

    def test_no_more_than_five_examples(self, compared):
        old = [row(f"{kind}{i}") for kind in "ac" for i in range(7)]
        new = [row(f"{kind}{i}", "other") for kind in "bc" for i in range(7)]
        (found,) = compared(probes(*old), probes(*new)).configs
        assert (found.added, found.removed, found.changed) == (7, 7, 7)
        assert found.examples == {
            kind: [f"{letter}{i}" for i in range(5)]
            for kind, letter in (("added", "b"), ("removed", "a"), ("changed", "c"))
        }

    @pytest.mark.parametrize(
        ("old", "new", "added", "removed"),
        [([], ["1", "2"], 2, 0), (["1", "2"], [], 0, 2), ([], [], 0, 0)],
    )
    def test_no_rows(self, compared, old, new, added, removed):
        (found,) = compared(probes(*map(row, old)), probes(*map(row, new))).configs
        assert (found.before, found.after, found.added, found.removed, found.changed) == (
            *(len(old), len(new)),
            *(added, removed, 0),
        )

    def test_no_row_in_common(self, compared):
        (found,) = compared(probes(row("1")), probes(row("2", "other"))).configs
        assert (found.added, found.removed, found.changed, found.by_column) == (1, 1, 0, {})


LISTS = pa.list_(pa.float64())
VALUES = [
    pytest.param(pa.float64(), None, None, False, id="nulls"),
    pytest.param(pa.float64(), NAN, NAN, False, id="nans"),
    pytest.param(pa.float64(), None, NAN, True, id="null-nan"),
    pytest.param(pa.float64(), None, 0.0, True, id="null-zero"),
    pytest.param(pa.float64(), 0.5, NAN, True, id="number-nan"),
    pytest.param(pa.float64(), INF, INF, False, id="infinities"),
    pytest.param(pa.float64(), INF, -INF, True, id="opposite-infinities"),
    pytest.param(pa.float64(), 1.0, INF, True, id="number-infinity"),
    pytest.param(pa.float64(), 0.5, 0.50149, False, id="just-inside"),
    pytest.param(pa.float64(), 0.5, 0.50151, True, id="just-outside"),
    pytest.param(pa.float64(), 1e9, 1e9 + 1, True, id="large"),
    pytest.param(pa.float32(), -0.5, -0.50149, False, id="float32-just-inside"),
    pytest.param(pa.float32(), -0.5, -0.50151, True, id="float32-just-outside"),
    pytest.param(pa.int8(), 1, 1, False, id="ints"),
    pytest.param(pa.int8(), 1, -1, True, id="other-int"),
    pytest.param(pa.int64(), 2**53, 2**53 + 1, True, id="ints-that-floats-cannot-hold"),
    pytest.param(pa.int64(), None, 0, True, id="null-int"),
    pytest.param(pa.int64(), None, None, False, id="null-ints"),
    pytest.param(pa.string(), None, "", True, id="null-text"),
    pytest.param(pa.string(), None, None, False, id="null-texts"),
    pytest.param(pa.string(), "é", "e\u0301", True, id="letters-that-look-alike"),
    pytest.param(pa.bool_(), True, False, True, id="bool"),
    pytest.param(pa.dictionary(pa.int32(), pa.string()), "a", "a", False, id="categories"),
    pytest.param(pa.dictionary(pa.int32(), pa.string()), "a", "b", True, id="other-category"),
    pytest.param(pa.list_(pa.string()), ["a", "b"], ["a", "b"], False, id="lists"),
    pytest.param(pa.list_(pa.string()), ["a", "b"], ["b", "a"], True, id="list-in-another-order"),
    pytest.param(pa.list_(pa.string()), ["a", None], ["a"], True, id="longer-list"),
    pytest.param(pa.list_(pa.string()), None, [], True, id="null-list"),
    pytest.param(pa.list_(pa.string()), None, None, False, id="null-lists"),
    pytest.param(pa.struct({"a": pa.int8()}), {"a": 1}, {"a": 2}, True, id="struct"),
    pytest.param(LISTS, [0.5, 1.0], [0.5, 1.00149], False, id="list-just-inside"),
    pytest.param(LISTS, [0.5, 1.0], [0.5, 1.00151], True, id="list-just-outside"),
    pytest.param(LISTS, [0.5, NAN], [0.5, NAN], False, id="list-of-nan"),
]


class TestValues:
    @pytest.mark.parametrize(("kind", "before", "after", "differs"), VALUES)
    @pytest.mark.parametrize("swapped", [False, True])
    def test_whether_they_differ(self, compared, kind, before, after, differs, swapped):
        before, after = (after, before) if swapped else (before, after)
        same = row("1", x=before)
        old, new = (probes(same, row("2", x=value), types={"x": kind}) for value in (before, after))
        (found,) = compared(old, new).configs
        assert (found.changed, found.by_column) == ((1, {"x": 1}) if differs else (0, {}))
        assert found.examples == ({"changed": ["2"]} if differs else {})

    @pytest.mark.parametrize(("tolerance", "changed"), [(0.0, 2), (0.0625, 1), (0.25, 0)])
    def test_another_tolerance(self, compared, tolerance, changed):
        old, new = (
            probes(*(row(str(i), value=step * i) for i in range(3))) for step in (0.0, 0.0625)
        )
        assert compared(old, new, tolerance=tolerance).configs[0].changed == changed


class TestColumns:
    def test_added_removed_and_of_another_type(self, compared):
        old = probes(row("1", gone="a", number=1, value=0.5))
        new = probes(row("1", new="a", number=2, value=None), types={"number": pa.int8()})
        (found,) = compared(old, new).configs
        assert found == ConfigDifference(
            config="probes",
            before=1,
            after=1,
            changed=1,
            recontented=1,
            by_column={"value": 1},
            columns_added=["new"],
            columns_removed=["gone"],
            columns_retyped=["number"],
            examples={"changed": ["1"]},
        )

    def test_in_another_order(self, compared):
        table = pa.Table.from_pylist([row("1"), row("2", "other")])
        turned = table.select(table.schema.names[::-1])
        difference = compared({"configs": {"probes": table}}, {"configs": {"probes": turned}})
        assert difference.configs == [ConfigDifference("probes", 2, 2)]

    def test_ids_of_another_type(self, compared):
        (found,) = compared(
            probes(row("1")), probes(row("1"), types={"id": pa.large_string()})
        ).configs
        assert found.columns_retyped == ["id"]


class TestConfigs:
    def test_added_and_removed(self, compared):
        old = {"configs": {"gone": [row("1")], "probes": [row("1")]}}
        new = {"configs": {"new": [row("1"), row("2")], "probes": [row("1")]}}
        assert compared(old, new).configs == [
            ConfigDifference("gone", 1, None),
            ConfigDifference("probes", 1, 1),
            ConfigDifference("new", None, 2),
        ]

    def test_each_by_itself(self, compared):
        old = {"configs": {"a": [row("1"), row("2")], "b": [row("1")]}}
        new = {"configs": {"a": [row("1")], "b": [row("1"), row("2")]}}
        assert [(c.config, c.added, c.removed) for c in compared(old, new).configs] == [
            ("a", 0, 1),
            ("b", 1, 0),
        ]


FIGURES = [
    pytest.param(R, R, False, id="same"),
    pytest.param(R, R | {"value": 0.75149}, False, id="value-just-inside"),
    pytest.param(R, R | {"value": 0.75151}, True, id="value-just-outside"),
    pytest.param(R, R | {"low": 0.601}, False, id="last-decimal-of-a-bound"),
    pytest.param(R, R | {"low": 0.602}, True, id="bound"),
    pytest.param(R, R | {"n": 44}, True, id="n"),
    pytest.param(R | {"n": 43_000}, R | {"n": 43_001}, True, id="large-n"),
    pytest.param(R, R | {"unit": "attributes"}, True, id="key-more"),
    pytest.param(R, {"value": None, "n": 2, "reason": "few"}, True, id="none"),
    pytest.param(
        {"value": None, "n": 2, "reason": "a"},
        {"value": None, "n": 2, "reason": "a"},
        False,
        id="nones",
    ),
    pytest.param(
        {"value": None, "n": 2, "reason": "a"},
        {"value": None, "n": 2, "reason": "b"},
        True,
        id="reason",
    ),
]


class TestFigures:
    @pytest.mark.parametrize(("before", "after", "differs"), FIGURES)
    @pytest.mark.parametrize("swapped", [False, True])
    def test_whether_they_differ(self, compared, before, after, differs, swapped):
        before, after = (after, before) if swapped else (before, after)
        found = compared(
            {"evidence": {"hand": {"tiny": {"r": before}}}},
            {"evidence": {"hand": {"tiny": {"r": after}}}},
        )
        assert found.figures == [FigureDifference("hand / tiny / r", before, after, differs)]
        assert found.needs == ("patch" if differs else "none")

    def test_bare_numbers_and_what_is_only_on_one_side(self, compared):
        old = {"a": {"items": {"plain": {"mean": 0.5, "sd": None}}}, "gone": {"r": R}}
        new = {"a": {"items": {"plain": {"mean": 0.5, "sd": 0.25}}}, "new": 1.0}
        assert compared({"evidence": old}, {"evidence": new}).figures == [
            FigureDifference("a / items / plain / mean", {"value": 0.5}, {"value": 0.5}, False),
            FigureDifference("a / items / plain / sd", {"value": None}, {"value": 0.25}, True),
            FigureDifference("gone / r", R, None, True),
            FigureDifference("new", None, {"value": 1.0}, True),
        ]

    def test_another_tolerance(self, compared):
        old, new = ({"evidence": {"r": R | {"value": value}}} for value in (0.5, 0.625))
        assert [figure.differs for figure in compared(old, new, tolerance=0.125).figures] == [False]


class TestFiles:
    @pytest.mark.parametrize(
        ("old", "new"), [(HERE, THERE), (THERE, HERE)], ids=["published", "fetched"]
    )
    def test_a_moved_location_is_no_change(self, compared, old, new):
        found = compared({"location": old}, {"location": new})
        assert (found.files, found.needs) == ([], "none")

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            pytest.param("README.md", '# Jobs\nOther rows = load_dataset("LOCATION")\n', id="card"),
            pytest.param(
                "croissant.json", '{\n  "url": "a",\n    "url": "LOCATION"\n}\n', id="croissant"
            ),
            pytest.param(
                "lm_eval/jobs.yaml",
                'rows = load_dataset("LOCATION")\n  "url": "LOCATION"\n',
                id="task",
            ),
        ],
    )
    def test_other_words_that_changed_count(self, compared, name, text):
        sides = (
            {"location": location, "files": FILES | {name: text}} for location in (HERE, THERE)
        )
        assert compared(*sides).files == [name]

    def test_changed_added_and_removed(self, compared):
        old = {"files": FILES | {"README.md": "old\n", "lm_eval/gone.yaml": ""}}
        new = {"files": FILES | {"README.md": "new\n", "lm_eval/new.py": ""}}
        expected = ["README.md", "lm_eval/gone.yaml", "lm_eval/new.py"]
        assert compared(old, new | {"location": THERE}).files == expected

    def test_a_file_that_the_manifest_does_not_list_does_not_count(self, tmp_path):
        old, new = write(tmp_path / "old"), write(tmp_path / "new")
        (new / ".gitattributes").write_text("* text", encoding="utf-8")
        assert compare(old, new).files == []


def test_parameters(compared):
    old = {"parameters": {"same": [1, {"a": None}], "other": "a", "gone": 1, "number": 1}}
    new = {"parameters": {"same": [1, {"a": None}], "other": "b", "new": 1, "number": 2}}
    assert compared(old, new).parameters == ["gone", "new", "number", "other"]


def test_a_parameter_that_is_null_is_more_than_none(compared):
    assert compared({"parameters": {}}, {"parameters": {"seed": None}}).parameters == ["seed"]


OTHER_EVIDENCE = {"hand": {"tiny": {"r": R | {"value": 0.5}, "alpha": R}}}
THREE = [row("1"), row("2"), row("3")]
BROADER = [record | {"number": 1, "a": ""} for record in THREE]

# (old, new, needed, next version, reasons)
NEEDS = [
    pytest.param({}, {}, "none", "1.2.3", [], id="nothing"),
    pytest.param(
        {},
        {"evidence": OTHER_EVIDENCE},
        "patch",
        "1.2.4",
        ["2 figures of quality differ"],
        id="figures",
    ),
    pytest.param(
        {},
        {"files": FILES | {"README.md": "x"}},
        "patch",
        "1.2.4",
        ["README.md changed"],
        id="card",
    ),
    pytest.param(
        {},
        {"parameters": {"article": "a"}},
        "patch",
        "1.2.4",
        ["the parameter article changed"],
        id="parameter",
    ),
    pytest.param(
        {},
        probes(row("1"), row("2", source="Other"), row("3", source="Other")),
        "patch",
        "1.2.4",
        ["2 rows of probes have other provenance"],
        id="provenance",
    ),
    pytest.param(
        {},
        probes(*THREE, row("4"), row("5")),
        "minor",
        "1.3.0",
        ["2 rows of probes are new"],
        id="rows",
    ),
    pytest.param(
        {},
        probes(*BROADER),
        "minor",
        "1.3.0",
        ["columns of probes are new: number, a"],
        id="columns",
    ),
    pytest.param(
        {},
        {"configs": {"probes": THREE, "templates": THREE}},
        "minor",
        "1.3.0",
        ["the config templates is new"],
        id="config",
    ),
    pytest.param(
        {}, probes(row("1")), "major", "2.0.0", ["2 rows of probes are gone"], id="rows-gone"
    ),
    pytest.param(
        {},
        probes(row("1", "other", "Other"), *THREE[1:]),
        "major",
        "2.0.0",
        ["1 rows of probes say something else"],
        id="content",
    ),
    pytest.param(
        {},
        probes(row("1") | {"text": "another"}, *THREE[1:]),
        "major",
        "2.0.0",
        ["1 rows of probes say something else"],
        id="text-under-its-old-hash",
    ),
    pytest.param(
        {"files": FILES | {"plan.json": "{}"}},
        {"files": FILES | {"plan.json": '{"prefixed": 1}'}},
        "major",
        "2.0.0",
        ["plan.json changed: something else is asked"],
        id="plan",
    ),
    pytest.param(
        probes(*BROADER),
        probes(*THREE),
        "major",
        "2.0.0",
        ["columns of probes are gone or of another type: number, a"],
        id="columns-gone",
    ),
    pytest.param(
        probes(*BROADER),
        probes(*BROADER, types={"number": pa.int8()}),
        "major",
        "2.0.0",
        ["columns of probes are gone or of another type: number"],
        id="column-retyped",
    ),
    pytest.param(
        {"configs": {"probes": THREE, "templates": THREE}},
        {},
        "major",
        "2.0.0",
        ["the config templates is gone"],
        id="config-gone",
    ),
    pytest.param(
        {"configs": {"gone": THREE, "probes": BROADER}},
        {
            "configs": {
                "probes": [row("1", "other", b=""), row("2", source="Other", b=""), row("4", b="")],
                "new": THREE,
            },
            "evidence": OTHER_EVIDENCE,
            "parameters": {},
            "files": FILES | {"README.md": "x"},
        },
        "major",
        "2.0.0",
        [
            "the config gone is gone",
            "1 rows of probes are gone",
            "1 rows of probes say something else",
            "columns of probes are gone or of another type: number, a",
            "1 rows of probes are new",
            "columns of probes are new: b",
            "the config new is new",
            "1 rows of probes have other provenance",
            "2 figures of quality differ",
            "the parameter article changed",
            "README.md changed",
        ],
        id="all-at-once",
    ),
]


class TestVersion:
    @pytest.mark.parametrize(("old", "new", "needs", "version", "reasons"), NEEDS)
    def test_needed(self, compared, old, new, needs, version, reasons):
        found = compared(old, new)
        assert [reason for _, reason in found.reasons] == reasons
        assert (found.needs, found.next_version) == (needs, version)

    def test_every_reason_has_its_step(self, compared):
        *_, everything = NEEDS
        old, new, *_ = everything.values
        steps = [bump for bump, _ in compared(old, new).reasons]
        assert steps == ["major"] * 4 + ["minor"] * 3 + ["patch"] * 4

    def test_it_is_counted_from_the_earlier_one(self, compared):
        found = compared({"version": "0.9.9"}, {"version": "3.0.0"} | probes(*THREE, row("4")))
        assert (found.name, found.before, found.after, found.next_version) == (
            "jobs",
            "0.9.9",
            "3.0.0",
            "0.10.0",
        )


@pytest.fixture
def folders(tmp_path):
    return [write(tmp_path / "old"), write(tmp_path / "new")]


VERIFY = "see `evenruler verify`"


@pytest.mark.parametrize("side", [0, 1], ids=["old", "new"])
class TestErrors:
    def test_an_id_twice(self, tmp_path, error_of, side):
        rows = [[*THREE, row("4")], [*THREE, row("4")]]
        rows[side][3] = row("2", "other")
        folders = [write(tmp_path / str(i), **probes(*rows[i])) for i in (0, 1)]
        assert (
            error_of(compare, *folders)
            == f"{data_file(folders[side])}: an id stands twice; {VERIFY}"
        )

    def test_no_rows_file(self, folders, error_of, side):
        data_file(folders[side]).unlink()
        assert error_of(compare, *folders) == f"{data_file(folders[side])}: missing; {VERIFY}"

    def test_no_rows_file_of_a_config_on_one_side(self, tmp_path, error_of, side):
        folders = [write(tmp_path / "0"), write(tmp_path / "1")]
        folders[side] = write(tmp_path / "more", configs={"probes": THREE, "more": THREE})
        data_file(folders[side], "more").unlink()
        assert (
            error_of(compare, *folders) == f"{data_file(folders[side], 'more')}: missing; {VERIFY}"
        )

    def test_half_a_rows_file(self, folders, error_of, side):
        path = data_file(folders[side])
        path.write_bytes(path.read_bytes()[:-100])
        assert error_of(compare, *folders).startswith(f"{path}: no readable Parquet (")

    def test_broken_bytes_in_a_rows_file(self, folders, error_of, side):
        path = data_file(folders[side])
        content = bytearray(path.read_bytes())
        content[4:200] = b"\xff" * 196
        path.write_bytes(content)
        assert error_of(compare, *folders).startswith(f"{path}: no readable Parquet (")

    def test_no_ids(self, tmp_path, error_of, side):
        table = pa.Table.from_pylist(THREE)
        folders = [write(tmp_path / "0"), write(tmp_path / "1")]
        folders[side] = write(tmp_path / "without", configs={"probes": table.drop_columns("id")})
        assert str(data_file(folders[side])) in error_of(compare, *folders)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"{", "not JSON (EOF while parsing an object at line 1 column 1)"),
            (b'"S\x9cur"', "not UTF-8"),
            (b"[1]", "list"),
        ],
        ids=["no-json", "no-utf-8", "list"],
    )
    def test_unreadable_evidence(self, folders, error_of, side, content, reason):
        path = folders[side] / "evidence.json"
        path.write_bytes(content)
        line = error_of(compare, *folders)
        assert line.startswith(f"{path}: ")
        assert reason in line

    def test_no_evidence(self, folders, error_of, side):
        path = folders[side] / "evidence.json"
        path.unlink()
        assert error_of(compare, *folders) == f"{path}: missing; {VERIFY}"

    def test_a_file_that_is_no_text(self, folders, error_of, side):
        path = folders[side] / "README.md"
        path.write_bytes(b"S\x9cur")
        assert str(path) in error_of(compare, *folders)

    def test_no_benchmark(self, folders, error_of, side):
        (folders[side] / "manifest.json").unlink()
        assert (
            error_of(compare, *folders)
            == f"{folders[side]}: no manifest.json here; name a folder of a benchmark"
        )


def same(before, after):
    """As the documentation says: numbers within the tolerance are equal, and nulls, and
    not-a-numbers."""
    if not isinstance(before, float) or not isinstance(after, float):
        return before == after
    return (
        abs(before - after) <= 0.0015
        or before == after
        or (math.isnan(before) and math.isnan(after))
    )


ROWS = st.dictionaries(
    st.integers(0, 12).map(str),
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from(["Paper", "Other"]),
        st.sampled_from([None, NAN, 0.0, 0.001, 0.25]),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, [], ["a"], ["a", "b"]]),
    ),
)


SAID = ("text", "value", "number", "notes")


@given(old=ROWS, new=ROWS, order=st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_counts_are_those_of_dictionaries(old, new, order):
    before, after = (
        {
            id_: row(id_, text, source, value=value, number=number, notes=notes)
            for id_, (text, source, value, number, notes) in rows.items()
        }
        for rows in (old, new)
    )
    columns = [*row("", value=None, number=None, notes=None)][1:]
    schema = pa.schema({name: TYPES.get(name, pa.string()) for name in ["id", *columns]}.items())
    with tempfile.TemporaryDirectory() as root:
        folders = []
        for side, rows in (("old", before), ("new", after)):
            table = pa.Table.from_pylist(
                order.sample(list(rows.values()), len(rows)), schema=schema
            )
            folders.append(write(Path(root, side), configs={"probes": table}))
        (there,), (back,) = compare(*folders).configs, compare(*folders[::-1]).configs
    common = before.keys() & after.keys()
    by_column = {
        name: sum(not same(before[id_][name], after[id_][name]) for id_ in common)
        for name in columns
    }
    changed = {
        id_
        for id_ in common
        if not all(same(before[id_][name], after[id_][name]) for name in columns)
    }
    found = replace(there, examples={})
    assert found == ConfigDifference(
        config="probes",
        before=len(before),
        after=len(after),
        added=len(after.keys() - common),
        removed=len(before.keys() - common),
        changed=len(changed),
        recontented=len(
            {
                id_
                for id_ in common
                if any(not same(before[id_][name], after[id_][name]) for name in SAID)
            }
        ),
        by_column={name: count for name, count in by_column.items() if count},
    )
    for kind, ids in {
        "added": after.keys() - common,
        "removed": before.keys() - common,
        "changed": changed,
    }.items():
        examples = there.examples.get(kind, [])
        assert set(examples) <= ids
        assert len(examples) == min(len(ids), 5)
    assert replace(back, examples={}) == replace(
        found, before=found.after, after=found.before, added=found.removed, removed=found.added
    )


MARKDOWN = """\
# jobs: 1.2.3 to 2.0.0

Needs a **major** version, 2.0.0:
- major: the config gone is gone
- major: 1 rows of probes are gone
- major: 1 rows of probes say something else
- minor: 1 rows of probes are new
- patch: 1 rows of probes have other provenance
- patch: 5 figures of quality differ

## Rows

| config | rows before | rows after | added | removed | changed |
| --- | --- | --- | --- | --- | --- |
| gone | 1,000 | - | 0 | 0 | 0 |
| probes | 4 | 4 | 1 | 1 | 2 |

### probes
Changed, by column:
- content_sha256: 1 rows
- source: 1 rows
- text: 1 rows
- added, for example: 4
- removed, for example: 3
- changed, for example: 1, 2

## Figures of quality

| figure | before | after | change |
| --- | --- | --- | --- |
| hand / tiny / alpha | 0.900, n = 50 | 0.875, n = 50 | -0.025 |
| hand / tiny / gone | 0.750 [0.600, 0.850], n = 43 | - | yes |
| hand / tiny / items / b / mean | 0.25 | 0.5 | +0.250 |
| hand / tiny / new | - | none (few) | yes |
| hand / tiny / r | 0.750 [0.600, 0.850], n = 43 | none (few) | yes |
"""


class TestShowing:
    @pytest.fixture
    def difference(self, compared):
        many = [row(str(i)) for i in range(1000)]
        none = {"value": None, "n": 2, "reason": "few"}
        items = [{"a": {"mean": 0.5}, "b": {"mean": mean}} for mean in (0.25, 0.5)]
        old = {"alpha": {"value": 0.9, "n": 50}, "r": R, "gone": R, "items": items[0]}
        new = {"alpha": {"value": 0.875, "n": 50}, "r": none, "new": none, "items": items[1]}
        return compared(
            {
                "configs": {"gone": many, "probes": [row("0"), row("1"), row("2"), row("3")]},
                "evidence": {"hand": {"tiny": old, "n": 8}},
            },
            {
                "configs": {
                    "probes": [row("0"), row("1", source="Other"), row("2", "other"), row("4")]
                },
                "evidence": {"hand": {"tiny": new, "n": 8}},
                "version": "2.0.0",
            },
        )

    def test_markdown(self, difference):
        assert as_markdown(difference) == MARKDOWN

    def test_a_folder_that_is_not_what_its_manifest_says(self, tmp_path):
        folders = [write(tmp_path / name) for name in ("old", "new")]
        path = folders[1] / "manifest.json"
        path.write_text(
            path.read_text().replace("not read", f"rows+plan:{'0' * 64}"), encoding="utf-8"
        )
        found = compare(*folders)
        assert (found.needs, found.altered) == ("none", [str(folders[1])])
        line = f"{folders[1]} is not what its manifest says: see `evenruler verify`."
        assert as_markdown(found).split("\n\n")[1] == line

    def test_names_of_others_are_no_markdown(self, compared):
        odd, new = "![x](http://evil)", {"probes": [row("1"), row("<b>[y](http://evil)")]}
        found = as_markdown(
            compared(
                {"configs": {"probes": [row("1")]}}, {"configs": new, "parameters": {odd: "1"}}
            )
        )
        assert "- patch: the parameter !&#91;x]&#40;http://evil) changed\n" in found
        assert "- added, for example: &lt;b>[y]&#40;http://evil)\n" in found
        assert "](" not in found

    def test_markdown_of_no_difference(self, compared):
        assert as_markdown(compared({"evidence": {}}, {"evidence": {}})) == (
            "# jobs: 1.2.3 to 1.2.3\n\nNothing changed that asks for a new version.\n\n## Rows\n\n"
            "| config | rows before | rows after | added | removed | changed |\n"
            "| --- | --- | --- | --- | --- | --- |\n| probes | 3 | 3 | 0 | 0 | 0 |\n"
        )

    def test_json(self, difference):
        shown = shown_as_json(difference)
        assert json.loads(json.dumps(shown, allow_nan=False)) == shown
        assert (shown["needs"], shown["next_version"]) == ("major", "2.0.0")
        assert shown["reasons"] == [reason for _, reason in difference.reasons]
        assert shown["configs"] == [asdict(config) for config in difference.configs]
        assert shown["configs"][1]["by_column"] == {"content_sha256": 1, "source": 1, "text": 1}
        assert shown["figures"][1] == {
            "figure": "hand / tiny / alpha",
            "before": {"value": 0.9, "n": 50},
            "after": {"value": 0.875, "n": 50},
            "differs": True,
        }
        assert set(shown) == {
            *("name", "before", "after", "configs", "figures", "files", "parameters"),
            *("altered", "needs", "next_version", "reasons"),
        }

import hashlib
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.publish.difference import ConfigDifference, FigureDifference, as_markdown, compare
from evenruler.publish.difference import as_json as shown_as_json
from evenruler.publish.manifest import Manifest, as_json, evidence_as_json

NAN, INF = math.nan, math.inf
HERE, THERE = ".", "you/jobs"

R = {
    "figure": "r",
    "model": "tiny",
    "set": "hand",
    "value": 0.75,
    "low": 0.6,
    "high": 0.85,
    "n": 43,
}
NONE = R | {"value": None, "low": None, "high": None, "n": 2, "reason": "few"}
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
    location=HERE,
    version="1.2.3",
    evidence=(R,),
    parameters=None,
    files=FILES,
):
    """A benchmark folder; `configs` are rows, or a table, by name; `files` are the other texts."""
    if configs is None:
        configs = {"probes": [row("1"), row("2"), row("3")]}
    tables = {}
    for name, rows in configs.items():
        rows = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
        tables[name] = rows
        data_file(folder, name).parent.mkdir(parents=True)
        pq.write_table(rows, data_file(folder, name))
    (folder / "lm_eval").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text.replace("LOCATION", location), encoding="utf-8")
    (folder / "evidence.json").write_text(evidence_as_json(evidence), encoding="utf-8")
    digests = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
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
        files=digests,
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


def with_checksum(name, digit):
    """What to write: a croissant file with a name and the checksum of other rows."""
    content = f'{{"name": "{name}", "sha256": "{digit * 64}"}}'
    return {"files": FILES | {"croissant.json": content}}


class TestHashesOfLastBits:
    OLD = hashed(0.3)
    NEW = hashed(0.3 + 3e-15)

    def test_they_ask_for_nothing(self, compared):
        assert self.OLD["content_sha256"] != self.NEW["content_sha256"]
        difference = compared(probes(self.OLD), probes(self.NEW))
        assert (difference.needs, difference.configs) == (
            "none",
            [ConfigDifference("probes", 1, 1)],
        )

    def test_another_text_still_asks_for_a_major_version(self, compared):
        difference = compared(probes(self.OLD), probes(hashed(0.3 + 3e-15, "other")))
        assert (difference.needs, difference.configs[0].by_column) == (
            "major",
            {"content_sha256": 1, "text": 1},
        )

    @pytest.mark.parametrize(
        ("other", "reasons"), [("jobs", []), ("other", [("patch", "croissant.json changed")])]
    )
    def test_neither_do_checksums_of_rows_in_croissant(self, compared, other, reasons):
        old = with_checksum("jobs", "a")
        new = with_checksum(other, "b")
        assert compared(old, new).reasons == reasons


class TestValues:
    def test_another_tolerance(self, compared):
        old = probes(row("1", value=0.0), row("2", value=0.0))
        new = probes(row("1", value=0.0625), row("2", value=0.125))
        assert compared(old, new, tolerance=0.0625).configs[0].changed == 1


class TestColumns:
    def test_added_removed_and_of_another_type(self, compared):
        old = probes(row("1", gone="a", number=1, value=0.5))
        new = probes(row("1", new="a", number="1", value=0.75))
        (difference,) = compared(old, new).configs
        assert difference == ConfigDifference(
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


FIGURES = [
    (R, R | {"value": 0.75149}, False),
    (R, R | {"value": 0.75151}, True),
    (R, R | {"unit": "attributes"}, True),
    (R | {"why": "a"}, R | {"why": "b"}, False),
    (NONE, NONE | {"reason": "b"}, True),
]


class TestFigures:
    @pytest.mark.parametrize(("before", "after", "differs"), FIGURES)
    def test_whether_they_differ(self, compared, before, after, differs):
        difference = compared({"evidence": [before]}, {"evidence": [after]})
        name = "r:set=hand, tiny"
        assert difference.figures == [FigureDifference(name, before, after, differs)]
        assert difference.needs == ("patch" if differs else "none")


class TestFiles:
    @pytest.mark.parametrize(
        ("old", "new"), [(HERE, THERE), (THERE, HERE)], ids=["published", "fetched"]
    )
    def test_a_moved_location_is_no_change(self, compared, old, new):
        difference = compared({"location": old}, {"location": new})
        assert (difference.files, difference.needs) == ([], "none")

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


OTHER_EVIDENCE = [R | {"figure": "alpha"}, R | {"value": 0.5}]
THREE = [row("1"), row("2"), row("3")]
BROADER = [record | {"number": 1, "a": ""} for record in THREE]

# (old, new, needed, next version, reasons)
NEEDS = [
    pytest.param({}, {}, "none", "1.2.3", [], id="nothing"),
    pytest.param(
        {},
        probes(row("1"), row("2", source="Other"), row("3", source="Other")),
        "patch",
        "1.2.4",
        ["2 rows of probes have other provenance"],
        id="provenance",
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
        {"configs": {"gone": THREE, "probes": BROADER}},
        {
            "configs": {
                "probes": [
                    row("1", "other", b=""),
                    row("2", source="Other", b=""),
                    row("4", b=""),
                ],
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
        difference = compared(old, new)
        assert [reason for _, reason in difference.reasons] == reasons
        assert (difference.needs, difference.next_version) == (needs, version)

    def test_it_is_counted_from_the_earlier_one(self, compared):
        new = probes(*THREE, row("4"), version="3.0.0")
        difference = compared({"version": "0.9.9"}, new)
        assert (difference.name, difference.before, difference.after, difference.next_version) == (
            "jobs",
            "0.9.9",
            "3.0.0",
            "0.10.0",
        )


@pytest.fixture
def folders(tmp_path):
    return [write(tmp_path / "old"), write(tmp_path / "new")]


VERIFY = "see `evenruler verify`"
NO_ROWS = "figures are no list of rows"


class TestErrors:
    def test_an_id_twice(self, tmp_path, error_of):
        old = write(tmp_path / "old", **probes(*THREE, row("4")))
        new = write(tmp_path / "new", **probes(*THREE, row("2", "other")))
        assert error_of(compare, old, new) == f"{data_file(new)}: an id stands twice; {VERIFY}"

    def test_no_ids(self, tmp_path, error_of):
        table = pa.Table.from_pylist(THREE)
        folders = [write(tmp_path / "0"), write(tmp_path / "1")]
        folders[1] = write(tmp_path / "without", configs={"probes": table.drop_columns("id")})
        assert str(data_file(folders[1])) in error_of(compare, *folders)

    @pytest.mark.parametrize("evidence", ["[1]", '{"hand": {}}'], ids=["list", "older"])
    def test_evidence_without_schema(self, folders, error_of, evidence):
        path = folders[1] / "evidence.json"
        path.write_text(evidence)
        assert error_of(compare, *folders).startswith(f"{path}: no `schema: 1`")

    @pytest.mark.parametrize(
        ("rows", "fault"),
        [
            *(({}, NO_ROWS), ([{}], NO_ROWS)),
            ([R | {"set": []}], NO_ROWS),
            ([R, R], "r:set=hand, tiny stands twice"),
            ([R | {"n": "x"}], "n of r:set=hand, tiny is 'x', expected a number"),
            ([NONE | {"reason": 3}], "r:set=hand, tiny has neither a value nor a reason"),
            ([R | {"high": None}], "the interval of r:set=hand, tiny has one end"),
        ],
    )
    def test_evidence_that_holds_something_else(self, folders, error_of, rows, fault):
        path = folders[1] / "evidence.json"
        path.write_text(evidence_as_json(rows))
        assert error_of(compare, *folders) == f"{path}: {fault}; {VERIFY}"


MARKDOWN = """\
# jobs: 1.2.3 to 2.0.0

Needs a **major** version, 2.0.0:
- major: the config gone is gone
- major: 1 rows of probes are gone
- major: 1 rows of probes say something else
- minor: 1 rows of probes are new
- patch: 1 rows of probes have other provenance
- patch: 4 figures of quality differ

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
| alpha | 0.900, n = 50 | 0.875, n = 50 | -0.025 |
| gone:set=hand, tiny | 0.750 [0.600, 0.850], n = 43 | - | yes |
| new:set=hand, tiny | - | none (few) | yes |
| r:set=hand, tiny | 0.750 [0.600, 0.850], n = 43 | none (few) | yes |
"""


class TestShowing:
    @pytest.fixture
    def difference(self, compared):
        many = [row(str(i)) for i in range(1000)]
        alpha = {"figure": "alpha", "model": None, "value": 0.9, "n": 50}
        same, gone = ({**R, "figure": name} for name in ("same", "gone"))
        new = [alpha | {"value": 0.875}, NONE, NONE | {"figure": "new"}, same]
        before = {
            "configs": {"gone": many, "probes": many[:4]},
            "evidence": [alpha, R, gone, same],
        }
        after = probes(
            row("4"),
            row("2", "other"),
            row("0"),
            row("1", source="Other"),
            evidence=new,
            version="2.0.0",
        )
        return compared(before, after)

    def test_markdown(self, difference):
        assert as_markdown(difference) == MARKDOWN

    def test_names_of_others_are_no_markdown(self, compared):
        odd, new = "![x](http://evil)", {"probes": [row("1"), row("<b>[y](http://evil)")]}
        markdown = as_markdown(
            compared(
                {"configs": {"probes": [row("1")]}}, {"configs": new, "parameters": {odd: "1"}}
            )
        )
        assert "- patch: the parameter !&#91;x]&#40;http://evil) changed\n" in markdown
        assert "- added, for example: &lt;b>[y]&#40;http://evil)\n" in markdown
        assert "](" not in markdown

    def test_json(self, difference):
        shown = shown_as_json(difference)
        assert json.loads(json.dumps(shown, allow_nan=False)) == shown
        assert (shown["needs"], shown["next_version"]) == ("major", "2.0.0")
        assert shown["configs"][1]["by_column"] == {"content_sha256": 1, "source": 1, "text": 1}

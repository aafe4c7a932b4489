import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.publish.folder import write_benchmark
from evenruler.publish.manifest import manifest_problems
from tests.folders import declare

ROWS = "probes/test-00000-of-00001.parquet"
TEMPLATES = "templates/test-00000-of-00001.parquet"
CONTENT = "content: rows or plan are not what the manifest says (content_sha256)"


@pytest.fixture
def folder(benchmark, tmp_path):
    """A benchmark as it was written."""
    write_benchmark(benchmark, tmp_path / "probes-jobs")
    return tmp_path / "probes-jobs"


def altered(name):
    return f"{name}: altered (its sha256 is not the one in the manifest)"


def rewrite(folder, change, name=ROWS):
    """Put other rows into a file, and its sha256 into the manifest."""
    table = pq.read_table(folder / name, partitioning=None)
    pq.write_table(change(table), folder / name)
    declare(folder, name)


def cell(table, row, column, value):
    """The table with one other value."""
    values = table.column(column).to_pylist()
    values[row] = value
    index = table.schema.get_field_index(column)
    field = table.schema.field(column)
    return table.set_column(index, field, pa.array(values, pa.string()))


def retype(table, column, kind):
    index = table.schema.get_field_index(column)
    return table.cast(table.schema.set(index, pa.field(column, kind)))


class TestNoProblems:
    def test_as_written(self, folder):
        assert manifest_problems(folder) == []

    def test_what_others_leave_there(self, folder):
        (folder / ".gitattributes").write_text("*.parquet filter=lfs", encoding="utf-8")
        (folder / ".cache/huggingface/download").mkdir(parents=True)
        (folder / ".cache/huggingface/.gitignore").write_text("*")
        (folder / ".cache/huggingface/download/README.md.metadata").write_text("ab")
        assert manifest_problems(folder) == []

    def test_compiled_modules_of_what_comes_with_the_package_and_of_nothing_else(
        self, folder, monkeypatch
    ):
        compiled = folder / "lm_eval" / "__pycache__" / "rows.cpython-311.pyc"
        compiled.parent.mkdir(parents=True)
        compiled.write_bytes(b"")
        assert manifest_problems(folder) == [
            "lm_eval/__pycache__/rows.cpython-311.pyc: not in the manifest"
        ]
        monkeypatch.setattr("evenruler.repository.shipped_benchmarks", lambda: folder.parent)
        assert manifest_problems(folder) == []

    def test_links_as_in_the_cache_of_the_hub_s_client(self, folder, tmp_path):
        blob = tmp_path / "blob"
        (folder / ROWS).rename(blob)
        (folder / ROWS).symlink_to(blob)
        assert manifest_problems(folder) == []
        (folder / "more").symlink_to(blob)
        assert manifest_problems(folder) == ["more: not in the manifest"]


class TestFiles:
    def test_one_byte_more(self, folder):
        with (folder / "lm_eval" / "rows.py").open("ab") as file:
            file.write(b" ")
        assert manifest_problems(folder) == [altered("lm_eval/rows.py")]

    def test_one_file_too_many(self, folder):
        (folder / "probes/test-00001-of-00002.parquet").write_bytes((folder / ROWS).read_bytes())
        (folder / "notes").mkdir()
        (folder / "notes/.gitattributes").touch()
        assert manifest_problems(folder) == [
            "notes/.gitattributes: not in the manifest",
            "probes/test-00001-of-00002.parquet: not in the manifest",
        ]

    def test_a_shard_is_missing(self, folder):
        (folder / ROWS).unlink()
        assert manifest_problems(folder) == [
            f"{ROWS}: missing",
            "README.md: no file matches probes/test-*.parquet",
        ]

    def test_a_text_is_missing(self, folder):
        (folder / "README.md").unlink()
        assert manifest_problems(folder) == ["README.md: missing"]

    def test_a_folder_for_a_file(self, folder):
        (folder / "evidence.json").unlink()
        (folder / "evidence.json").mkdir()
        assert manifest_problems(folder) == ["evidence.json: missing"]


class TestRows:
    def test_a_text_edited_without_its_hash(self, folder):
        rewrite(folder, lambda table: cell(table, 1, "text", "another"))
        assert manifest_problems(folder) == [CONTENT]

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            pytest.param(
                lambda table: table.slice(1), "2 rows, the manifest says 3", id="row-gone"
            ),
            pytest.param(
                lambda table: cell(table, 1, "id", "1"), "an id stands twice", id="id-twice"
            ),
            pytest.param(
                lambda table: table.append_column("pole", pa.array([1, 1, -1], pa.int8())),
                "column pole is int8, the manifest says no such column",
                id="column-more",
            ),
            pytest.param(
                lambda table: table.drop_columns("text"),
                "column text is missing, the manifest says string",
                id="column-less",
            ),
        ],
    )
    def test_other_rows(self, folder, change, problem):
        rewrite(folder, change)
        assert manifest_problems(folder) == [f"{ROWS}: {problem}", CONTENT]

    def test_an_id_in_two_configs(self, folder):
        # They are matched within a config.
        rewrite(folder, lambda table: cell(table, 0, "id", "1"), TEMPLATES)
        assert manifest_problems(folder) == [CONTENT]

    def test_a_column_of_another_type(self, folder):
        rewrite(folder, lambda table: retype(table, "text", pa.large_string()))
        assert manifest_problems(folder) == [
            f"{ROWS}: column text is large_string, the manifest says string"
        ]

    def test_an_empty_file(self, folder):
        (folder / ROWS).write_bytes(b"")
        first, second = manifest_problems(folder)
        assert first == altered(ROWS)
        assert second.startswith(f"{ROWS}: no readable Parquet (")
        assert "\n" not in second

    def test_broken_pages_under_a_sound_footer(self, folder):
        metadata = pq.read_metadata(folder / ROWS).row_group(0)
        chunks = map(metadata.column, range(metadata.num_columns))
        (ids,) = [chunk for chunk in chunks if chunk.path_in_schema == "id"]
        begin = ids.dictionary_page_offset or ids.data_page_offset
        content = bytearray((folder / ROWS).read_bytes())
        content[begin : begin + ids.total_compressed_size] = b"\xff" * ids.total_compressed_size
        (folder / ROWS).write_bytes(content)
        first, second = manifest_problems(folder)
        assert first == altered(ROWS)
        assert second.startswith(f"{ROWS}: no readable Parquet (")

    def test_a_config_whose_rows_are_not_counted(self, folder, error_of):
        declare(folder, rows={"templates": 1})
        assert "probes stands under one of `rows` and `columns`, expected both or none" in error_of(
            manifest_problems, folder
        )


def edit_card(folder, old, new):
    """Change the card once, and its sha256 in the manifest."""
    path = folder / "README.md"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    declare(folder, "README.md")


UNREADABLE = ["README.md: no front matter that can be read"]
NOTHING_MATCHES = "README.md: no file matches"
NO_DEFAULT = "not exactly one default config"
TEMPLATE = "- config_name: templates\n"


class TestCard:
    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("pretty_name", '"Jobs and gender"'),
            ("language", '\n- "en"'),
            ("tags", '\n- "bias"\n- "probes"'),
        ],
    )
    def test_a_key_is_gone_or_empty(self, folder, key, value):
        gap = "" if value.startswith("\n") else " "
        empty = f"\n{key}:\n"
        edit_card(folder, f"\n{key}:{gap}{value}\n", empty)
        assert manifest_problems(folder) == [f"README.md: front matter lacks {key}"]
        edit_card(folder, empty, f"\nx_{key}: y\n")
        assert manifest_problems(folder) == [f"README.md: front matter lacks {key}"]

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param('pretty_name: "Jobs', 'pretty_name: "Jobs" "', id="broken"),
            pytest.param("---\npretty_name", "pretty_name", id="begins-nowhere"),
            pytest.param("\n---\n# Jobs", "\n# Jobs", id="ends-nowhere"),
            pytest.param("---\npretty_name", "---\n- a\n---\n", id="a-list"),
        ],
    )
    def test_no_front_matter(self, folder, old, new):
        edit_card(folder, old, new)
        assert manifest_problems(folder) == UNREADABLE

    def test_no_utf_8(self, folder):
        (folder / "README.md").write_bytes(b"S\x9cur")
        declare(folder, "README.md")
        assert manifest_problems(folder) == UNREADABLE

    @pytest.mark.parametrize(
        ("old", "new", "problems"),
        [
            pytest.param(
                "\nconfigs:\n",
                "\nx_configs:\n",
                [
                    "front matter lacks configs",
                    "configs none, the manifest says probes, templates",
                    NO_DEFAULT,
                ],
                id="none",
            ),
            pytest.param("default: true", "default: false", [NO_DEFAULT], id="no-default"),
            pytest.param(TEMPLATE, f"{TEMPLATE}  default: true\n", [NO_DEFAULT], id="two-defaults"),
            pytest.param(
                TEMPLATE,
                f"- config_name: more\n{TEMPLATE}",
                ["configs more, probes, templates, the manifest says probes, templates"],
                id="one-more",
            ),
        ],
    )
    def test_other_configs(self, folder, old, new, problems):
        edit_card(folder, old, new)
        assert manifest_problems(folder) == [f"README.md: {problem}" for problem in problems]

    @pytest.mark.parametrize(
        "path",
        ["probe/test-*.parquet", "probes/train.parquet"],
    )
    def test_no_data(self, folder, path):
        edit_card(folder, "path: probes/test-*.parquet", f"path: {path}")
        assert manifest_problems(folder) == [f"{NOTHING_MATCHES} {path}"]

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            pytest.param(
                "  - split: test\n    path: probes/test-*.parquet",
                "  - probes/train-*.parquet",
                [f"{NOTHING_MATCHES} probes/train-*.parquet"],
                id="a-path-alone",
            ),
            pytest.param(
                "  data_files:\n  - split: test\n    path: probes/test-*.parquet",
                "  data_files: probes/train-*.parquet",
                [f"{NOTHING_MATCHES} probes/train-*.parquet"],
                id="one-path",
            ),
        ],
    )
    def test_data_files_in_other_words(self, folder, old, new, expected):
        edit_card(folder, old, new)
        assert manifest_problems(folder) == expected

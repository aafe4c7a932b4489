from dataclasses import replace

import pytest
from huggingface_hub import metadata_load
from ruamel.yaml import YAML

from evenruler.publish.card import render_card


def front_matter(card):
    """What stands between the first two lines of three hyphens."""
    before, matter, body = card.split("---\n", 2)
    assert before == ""
    return YAML(typ="safe", pure=True).load(matter), body


class TestFrontMatter:
    def test_values(self, benchmark):
        matter, _ = front_matter(render_card(benchmark))
        assert matter == {
            "pretty_name": "Jobs and gender",
            "language": ["en"],
            "license": "other",
            "license_name": "by-row",
            "license_details": "apache-2.0, mit; see the column `licence`",
            "size_categories": ["n<1K"],
            "tags": ["fairness", "bias", "psychometrics", "evaluation"],
            "configs": [
                {
                    "config_name": "probes",
                    "default": True,
                    "data_files": [{"split": "test", "path": "probes/test-*.parquet"}],
                },
                {"config_name": "templates", "data_files": [{"split": "test", "path": "templates/test-*.parquet"}]},
            ],
        }

    def test_one_default_whichever_is_first(self, benchmark):
        matter, _ = front_matter(render_card(replace(benchmark, configs=benchmark.configs[::-1])))
        assert [(config["config_name"], config.get("default")) for config in matter["configs"]] == [
            ("templates", True),
            ("probes", None),
        ]

    def test_one_licence_is_named(self, benchmark):
        matter, _ = front_matter(render_card(replace(benchmark, configs=benchmark.configs[1:])))
        assert matter["license"] == "mit"
        assert {"license_name", "license_details"}.isdisjoint(matter)

    @pytest.mark.parametrize(
        ("rows", "category"),
        [(1, "n<1K"), (999, "n<1K"), (1_000, "1K<n<10K"), (9_999, "1K<n<10K"), (10_000, "10K<n<100K")],
    )
    def test_size_is_that_of_all_tables(self, benchmark, make_table, rows, category):
        # One of the rows is in the other table.
        many = make_table(*[("1", "aa", "Paper", "mit", "text")] * (rows - 1))
        configs = [replace(benchmark.configs[0], table=many), benchmark.configs[1]]
        matter, _ = front_matter(render_card(replace(benchmark, configs=configs)))
        assert matter["size_categories"] == [category]

    @pytest.mark.parametrize(
        "title", ["Religion: who is devout?", "# 1", "[Jobs] and gender", "'Jobs' and gender", "No"]
    )
    def test_any_title(self, benchmark, tmp_path, title):
        path = tmp_path / "README.md"
        path.write_text(render_card(replace(benchmark, title=title)), encoding="utf-8")
        assert metadata_load(path)["pretty_name"] == title

    def test_norwegian(self, benchmark, tmp_path):
        path = tmp_path / "README.md"
        path.write_text(render_card(replace(benchmark, language="no")), encoding="utf-8")
        assert metadata_load(path)["language"] == ["no"]


class TestBody:
    def test_title_warning_and_reading(self, benchmark):
        _, body = front_matter(render_card(benchmark))
        assert body.startswith(
            "# Jobs and gender\n\n> **Content.** These sentences repeat stereotypes.\n\n"
            "Measures the association of jobs with gender in language models. A bias above 0 is closer to men.\n\n"
        )

    def test_without_a_warning(self, benchmark):
        _, body = front_matter(render_card(replace(benchmark, warning=None)))
        assert body.startswith("# Jobs and gender\n\nMeasures the ")
        assert "Content." not in body

    def test_tables(self, benchmark):
        _, body = front_matter(render_card(benchmark))
        assert (
            "| config | one row is | rows |\n| --- | --- | --- |\n"
            "| `probes` | a sentence | 3 |\n| `templates` | a template | 1 |\n\n"
            "5 rows were rejected when it was built.\n"
        ) in body

    def test_thousands_are_set_apart(self, benchmark, make_table):
        many = make_table(*[("1", "aa", "Paper", "mit", "text")] * 1234)
        _, body = front_matter(render_card(replace(benchmark, configs=[replace(benchmark.configs[0], table=many)])))
        assert "| `probes` | a sentence | 1,234 |\n" in body

    def test_how_it_is_loaded(self, benchmark):
        _, body = front_matter(render_card(benchmark))
        assert '\nrows = load_dataset("benchmarks/probes-jobs", "probes", split="test")\n' in body

    def test_quality(self, benchmark):
        _, body = front_matter(render_card(benchmark))
        # A model with alpha is a row; the embedder, which has only diversity, is a sentence.
        rows = [line for line in body.splitlines() if line.startswith("| tiny ") or "minilm" in line]
        assert rows == [
            "| tiny | 0.76 [0.60, 0.85], n = 43 | none (fewer than 4) | 0.90 [0.85, 0.94], n = 50 | 0.91, n = 50 "
            "| 0.50, n = 50 | 0.60, n = 50 |"
        ]
        assert "### Set `hand`\n| model |" in body
        assert "\nDiversity of the templates: semantic 0.30, n = 8; lexical 0.70, n = 8.\n" in body

    def test_a_set_without_a_criterion_has_empty_cells(self, benchmark):
        figures = dict(benchmark.evidence["hand"]["tiny"])
        del figures["r"], figures["r_exact"]
        _, body = front_matter(render_card(replace(benchmark, evidence={"hand": {"tiny": figures}})))
        assert "| tiny |  |  | 0.90 [0.85, 0.94], n = 50 |" in body

    def test_how_it_was_built(self, benchmark):
        _, body = front_matter(render_card(benchmark))
        assert (
            'Version 1.2.3, by `make repro` with Even Ruler. Parameters: `{"article": "agree", "version": "1.2.3"}`.\n'
        ) in body

    def test_sources_and_licences(self, benchmark):
        _, body = front_matter(render_card(benchmark))
        assert body.endswith(
            "## Sources and licences\n- Even Ruler\n- Paper\n\nLicences: apache-2.0, mit; each row carries its own.\n"
        )

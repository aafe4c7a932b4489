import datetime
import json
import re
from dataclasses import replace

import pyarrow as pa
import pytest
from huggingface_hub import metadata_load
from ruamel.yaml import YAML

from evenruler.instruments.card import Example
from evenruler.publish.folder import render_card
from evenruler.publish.manifest import NO_TAG
from evenruler.versions import Changelog, Release
from tests.publish.conftest import EVIDENCE, R
from tests.text_tables import yaml_of_text


def front_matter(card):
    """What stands between the first two lines of three hyphens."""
    before, matter, body = card.split("---\n", 2)
    assert before == ""
    return YAML(typ="safe", pure=True).load(matter), body


def body_of(benchmark):
    return front_matter(render_card(benchmark))[1]


def cells_of(line):
    """The cells of a line of a table, which begins and ends with a bar."""
    before, *cells, after = re.split(r"(?<!\\)\|", line)
    assert before == after == ""
    return [cell.strip() for cell in cells]


def table(body, header):
    """Cells of the rows of the table with this header line."""
    _, header_line, after = body.partition(f"{header}\n")
    assert header_line
    rule, *lines = after.split("\n\n", 1)[0].splitlines()
    assert set(cells_of(rule)) == {"---"}
    rows = [cells_of(line) for line in lines]
    widths = {len(row) for row in [cells_of(header), cells_of(rule), *rows]}
    assert len(widths) == 1
    return rows


def section(body, heading):
    """The text under a heading, up to the next, or inside a fold."""
    text = rf"^## {re.escape(heading)}\n(.*?)(?=^## |^<details>|\Z)"
    match = re.search(text, body, re.MULTILINE | re.DOTALL)
    if match:
        return match[1]
    fold = rf"^<details><summary><b>{re.escape(heading)}</b></summary>\n\n(.*?)\n</details>$"
    return re.search(fold, body, re.MULTILINE | re.DOTALL)[1]


def with_evidence(benchmark, *rows):
    """The benchmark with other figures of its first model, which is alone then."""
    replaced = {row["figure"] for row in rows}
    tiny = [row for row in EVIDENCE if row["model"] == "tiny"]
    unchanged_rows = [row for row in tiny if row["figure"] not in replaced]
    return replace(benchmark, evidence=[*unchanged_rows, *rows])


class TestFrontMatter:
    def test_values(self, benchmark):
        matter, _ = front_matter(render_card(benchmark))
        assert matter == yaml_of_text("""\
pretty_name: Jobs and gender
language: [en]
license: other
license_name: by-row
license_details: apache-2.0, mit; see the column `licence`
task_categories: [text-generation]
size_categories: [n<1K]
source_datasets: [original]
tags: [bias, probes]
configs:
- config_name: probes
  default: true
  data_files:
  - {split: test, path: probes/test-*.parquet}
- config_name: templates
  data_files:
  - {split: test, path: templates/test-*.parquet}
""")

    def test_a_table_without_rows_is_no_config_since_datasets_cannot_load_it(self, benchmark):
        probes, templates = benchmark.configs
        empty = replace(templates, table=templates.table.slice(0, 0))
        matter, body = front_matter(render_card(replace(benchmark, configs=[probes, empty])))
        assert [config["config_name"] for config in matter["configs"]] == ["probes"]
        assert table(body, TestTables.HEADER)[1] == [
            "`templates`",
            "a template",
            "none, so there is nothing to load",
        ]

    def test_one_licence_is_named(self, benchmark):
        matter, _ = front_matter(render_card(replace(benchmark, configs=benchmark.configs[1:])))
        assert matter["license"] == "mit"
        assert {"license_name", "license_details"}.isdisjoint(matter)

    def test_size_is_that_of_all_tables(self, benchmark, make_table):
        # One of the rows is in the other table.
        many = make_table(*[("1", "aa", "Paper", "mit", "text")] * 999)
        configs = [replace(benchmark.configs[0], table=many), benchmark.configs[1]]
        matter, _ = front_matter(render_card(replace(benchmark, configs=configs)))
        assert matter["size_categories"] == ["1K<n<10K"]

    @pytest.mark.parametrize("title", ["# Religion: who is devout?"])
    def test_any_title_and_norwegian(self, benchmark, tmp_path, title):
        path = tmp_path / "README.md"
        card = render_card(replace(benchmark, title=title, language="no"))
        path.write_text(card, encoding="utf-8")
        metadata = metadata_load(path)
        assert (metadata["pretty_name"], metadata["language"]) == (title, ["no"])


class TestBody:
    def test_the_warning_stands_before_all_but_the_title(self, benchmark):
        assert body_of(benchmark).startswith(
            "# Jobs and gender\n\n> **Content warning.** These sentences repeat stereotypes.\n\n## "
            "What it measures\n"
        )

    def test_without_a_warning(self, benchmark):
        body = body_of(replace(benchmark, warning=None))
        assert body.startswith("# Jobs and gender\n\n## What it measures\n")
        assert "warning" not in body

    def test_what_it_measures_and_how_a_score_is_read(self, benchmark):
        assert section(body_of(benchmark), "What it measures") == (
            "Association of jobs with gender, in language models. A bias above 0 is closer to "
            "men.\n\n"
            "Version 1.2.3, not released yet. Built with Even Ruler, after "
            "[Wang and others](https://example.org/pmpo); Someone; [how to cite it](#citation).\n\n"
        )

    def test_how_what_is_not_released_is_loaded(self, benchmark):
        assert NO_TAG in section(body_of(benchmark), "Load it")
        assert "v1.2.3" not in body_of(benchmark)

    def test_the_snippet_names_the_first_config_and_the_released_version(self, benchmark):
        body = body_of(replace(benchmark, version="1.1.0", configs=benchmark.configs[::-1]))
        assert 'load_dataset("DIR", "templates", split="test", revision="v1.1.0")\n' in body
        assert "--revision v1.1.0 --local-dir DIR" in body
        assert "\nVersion 1.1.0, released 2025-03-01. " in body
        assert NO_TAG not in body

    def test_parameters_and_command(self, benchmark):
        built = section(body_of(replace(benchmark, n_rejected=1234)), "How it was built")
        assert "\n```console\ndvc repro card-probes@jobs\n```\n" in built
        assert json.loads(re.search("Parameters: `(.*?)`", built)[1]) == {"article": "agree"}
        assert " 1,234 rows were rejected. " in built

    def test_limits(self, benchmark):
        body = body_of(replace(benchmark, limits=["One | two.", "Three."]))
        assert section(body, "Limits") == "- One | two.\n- Three.\n"

    def test_citations_as_they_are(self, benchmark):
        citations = ["@misc{a,\n  title = {{One} & <two>}\n}", "@misc{b}"]
        assert section(body_of(replace(benchmark, citations=citations)), "Citation").endswith(
            "\n}\n@misc{a,\n  title = {{One} & <two>}\n}\n@misc{b}\n```\n\n"
        )

    def test_the_benchmark_itself_is_cited_first_with_version_and_commit(self, benchmark):
        cited = section(
            body_of(replace(benchmark, title="Jobs & gender", citations=[])), "Citation"
        )
        assert cited == (
            "The benchmark first, then what it rests on. `COMMIT` is what `git rev-parse HEAD` "
            "prints in the "
            "repository; of a version on the Hub it is the commit of its tag.\n\n"
            "```bibtex\n@misc{evenruler-probes-jobs,\n"
            "  title = {{Jobs \\& gender}},\n"
            "  author = {{The Even Ruler developers}},\n"
            "  howpublished = {Benchmark data set probes-jobs, built with Even Ruler},\n"
            "  version = {1.2.3},\n"
            "  note = {Commit COMMIT}\n}\n```\n\n"
        )

    def test_a_release_is_cited_with_its_year_and_the_commit_of_its_tag(self, benchmark):
        cited = section(body_of(replace(benchmark, version="1.1.0")), "Citation")
        assert "`git rev-parse probes-jobs@v1.1.0^{commit}`" in cited
        assert "  year = {2025}\n}\n@misc{paper," in cited


class TestTables:
    HEADER = "| config | one row is | rows |"

    def test_columns(self, benchmark):
        described = replace(
            benchmark.configs[1], described={"text": "the template", "id": "its name"}
        )
        body = body_of(replace(benchmark, configs=[benchmark.configs[0], described]))
        assert table(body, "| column | of | holds |") == [
            ["`text`", "`probes`", "the sentence"],
            ["`text`", "`templates`", "the template"],
            ["`id`", "`templates`", "its name"],
        ]
        bare = replace(benchmark, configs=[replace(benchmark.configs[0], described={})])
        assert "| column |" not in body_of(bare)

    @pytest.mark.parametrize(
        ("words", "cell"),
        [
            ("one |\r\n two\n\n| ---", r"one \| two \| ---"),
            ("<script>x</script><!--", "&lt;script>x&lt;/script>&lt;!--"),
            (
                r"![x](http://evil) \[a\](b) `code` a \| b",
                r"!&#91;x]&#40;http://evil) \[a\]&#40;b) `code` a &#92;\| b",
            ),
        ],
        ids=["pipes-and-newlines", "elements", "links"],
    )
    def test_words_of_others_stay_in_their_cell_as_words(self, benchmark, words, cell):
        odd = replace(
            benchmark.configs[0],
            what=words,
            described={"text": words},
        )
        body = body_of(replace(benchmark, configs=[odd]))
        assert table(body, self.HEADER) == [["`probes`", cell, "3"]]
        assert table(body, "| column | of | holds |") == [["`text`", "`probes`", cell]]

    def test_neither_is_a_source_or_an_origin(self, benchmark):
        table = benchmark.configs[0].table
        place = table.schema.get_field_index("source")
        odd = table.set_column(place, "source", pa.array(["![x](http://evil)"] * len(table)))
        configs = [replace(benchmark.configs[0], table=odd), *benchmark.configs[1:]]
        body = body_of(replace(benchmark, configs=configs, models={"tiny": "<b>[x](http://evil)"}))
        assert "- !&#91;x]&#40;http://evil)\n" in body
        assert "- tiny: &lt;b>[x]&#40;http://evil)\n" in body


class TestQuality:
    HEADER = "| model | r | r, exact | alpha |"

    def test_figures(self, benchmark):
        body = body_of(benchmark)
        assert f"\n### `hand`\n{self.HEADER}\n" in body
        assert table(body, self.HEADER) == [
            [
                "small",
                "-0.12 [-0.40, 0.20], n = 43",
                "none (fewer than 4 attributes)",
                "0.91, n = 50",
            ],
            [
                "tiny",
                "0.76 [0.60, 0.85], n = 43",
                "none (fewer than 4 attributes)",
                "0.90 [0.85, 0.94], n = 50",
            ],
        ]

    def test_a_name_with_dots_is_a_label(self, benchmark):
        """Rows of the evidence keep the name."""
        body = body_of(replace(benchmark, labels={"tiny": "GPT-4.1"}))
        before = body_of(benchmark)
        (line,) = [line for line in before.splitlines() if line.startswith("| tiny | 0.76 ")]
        assert line.replace("tiny", "GPT-4.1") in body.splitlines()
        assert "| tiny |" not in body
        assert body.count("GPT-4.1") == len(re.findall(r"(?<!org/)\btiny\b", before))
        assert {row["model"] for row in benchmark.evidence} == {"tiny", "small", None}

    def test_a_figure_that_a_model_lacks_is_an_empty_cell(self, benchmark):
        body = body_of(replace(benchmark, evidence=EVIDENCE[:4]))
        assert table(body, "| model | r | alpha |")[1] == ["tiny", "", "0.90 [0.85, 0.94], n = 50"]

    def test_figures_of_no_model_stand_below_the_table(self, benchmark):
        quality = section(body_of(benchmark), "Quality")
        assert "|\n\n- semantic diversity of the templates: 0.30, n = 8\n" in quality
        assert "diversity" not in body_of(with_evidence(benchmark))


RELEASES = {
    "1.9.0": Release(date=datetime.date(2025, 4, 2), changes=["More."]),
    "1.10.0": Release(date=datetime.date(2025, 5, 31), changes=["Even more.", "And | else."]),
}
RELEASED = ["- **1.10.0** (2025-05-31): Even more. And | else.", "- **1.9.0** (2025-04-02): More."]


class TestVersions:
    def lines(self, benchmark, version):
        changed = replace(benchmark, version=version, changelog=Changelog(releases=RELEASES))
        return [
            line
            for line in section(body_of(changed), "Versions").splitlines()
            if line.startswith("- ")
        ]

    def test_one_that_is_not_released_says_so(self, benchmark):
        assert sorted(self.lines(benchmark, "1.11.0")) == sorted(
            [*RELEASED, "- **1.11.0**: not released yet."]
        )


class TestExample:
    def test_the_text_is_quoted_and_the_rest_stands_below(self, benchmark):
        shown = replace(benchmark, example=Example("3", "A model is asked how likely it is."))
        assert section(body_of(shown), "An example") == (
            "One row of `probes`. A model is asked how likely it is.\n\n> two\\\n> lines\n\n"
            "| `source` | `licence` |\n| --- | --- |\n| Even Ruler | apache-2.0 |\n"
        )

    def test_several_texts_are_named_and_marks_are_none(self, benchmark):
        config = replace(benchmark.configs[0], first=["source", "text"])
        changed = replace(
            benchmark,
            configs=[config],
            example=Example("2", "Read it."),
        )
        assert "> **source**: Paper\n>\n> **text**: Sœur | frère\n" in body_of(changed)

    def test_a_row_that_is_not_there_is_a_fault(self, benchmark):
        with pytest.raises(
            ValueError, match="probes has no row 'nobody', which is to be its example"
        ):
            render_card(replace(benchmark, example=Example("nobody", "")))


class TestMeasuring:
    def test_by_the_name_that_the_package_knows(self, benchmark):
        assert "\nevenruler measure hub:ORG/MODEL --with probes-jobs\n" in section(
            body_of(benchmark), "Measure your model"
        )

    def test_from_its_folder_where_no_package_brings_it(self, benchmark):
        theirs = replace(benchmark, third_party=True, withheld="Ask them.")
        matter, body = front_matter(render_card(theirs))
        assert matter["source_datasets"] == ["extended"]
        measuring = section(body, "Measure your model")
        assert "\nevenruler measure hub:ORG/MODEL --with DIR\n" in measuring
        assert "It is not part of the package" in measuring

    def test_how_to_get_text_of_others(self, benchmark):
        body = body_of(replace(benchmark, withheld="Ask them."))
        assert "\n**How to get the text.** Ask them.\n" in section(body, "Sources and licences")
        assert "How to get the text" not in body_of(benchmark)


class TestValidityAndUse:
    def test_each_recommendation_with_what_was_done(self, benchmark):
        assert section(body_of(benchmark), "Validity") == (
            "The eight recommendations of [Bean and others "
            "(2025)](https://arxiv.org/abs/2511.04703), each with what "
            "was done here.\n\n1. **Define the phenomenon.** Jobs.\n"
            "2. **Measure the phenomenon and only the phenomenon.** Only jobs.\n"
            "3. **Construct a representative dataset for the task.** All.\n"
            "4. **Acknowledge limitations of reusing datasets.** None.\n"
            "5. **Prepare for contamination.** Public.\n"
            "6. **Use statistical methods to compare models.** Intervals.\n"
            "7. **Conduct an error analysis.** Some.\n"
            "8. **Justify construct validity.** Not done.\n"
        )

    def test_none_where_a_family_says_nothing(self, benchmark):
        body = body_of(replace(benchmark, validity=None, responsible=None))
        assert "Validity" not in body
        assert "Use and risks" not in body


def test_why_nothing_was_measured_on_a_model(benchmark):
    nothing = {"figure": "spread", "verdict": "invalid", "why": "All refused."}
    body = body_of(replace(benchmark, evidence=[R | nothing]))
    assert table(body, "| model | finding |") == [["tiny", "**invalid** All refused."]]

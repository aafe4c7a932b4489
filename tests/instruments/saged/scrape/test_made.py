"""What the stage leaves: sentences, pages, and the source with what was found."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from evenruler.instruments.saged.declare import Source, load
from evenruler.instruments.saged.schemas import SENTENCES, SOURCES
from evenruler.instruments.saged.scrape.scraping import write_sentence_tables
from evenruler.tables import read_table
from tests.instruments.saged.domains import SOURCE, TEXT, settings


def written(root: Path, found_content: dict[str, Any] | None = None, **changes: Any) -> Path:
    folder = root / "data/sources/saged"
    for below in ("articles", "found"):
        (folder / below).mkdir(parents=True, exist_ok=True)
    (folder / "articles/fruit.md").write_text(TEXT)
    if found_content:
        YAML().dump(found_content, folder / "found/fruit.yaml")
    YAML().dump(SOURCE | changes, folder / "fruit.yaml")
    return folder / "fruit.yaml"


def scrape_fruit(root: Path, path: Path) -> tuple[Source, Source]:
    """The source as it was read, and as it was left."""
    source = load(path, settings(), root)
    write_sentence_tables("fruit", source, path, root / "made", root)
    return source, load(root / "made/source.yaml", settings(), root)


def test_what_is_left_is_all_that_a_domain_is_built_of(tmp_path) -> None:
    source, left = scrape_fruit(tmp_path, written(tmp_path))
    assert left == source
    assert list(left.concepts) == ["apple", "pear", "fig"]
    sentences = read_table(tmp_path / "made/sentences.parquet")
    assert sentences.schema == SENTENCES
    assert min(sentences["sentence"].to_pylist()) == "An apple tastes sweet in the autumn."
    assert read_table(tmp_path / "made/sources.parquet").schema == SOURCES


def test_an_article_that_is_no_file_is_one_line(tmp_path, error_of) -> None:
    path = written(tmp_path)
    article = tmp_path / "data/sources/saged/articles/fruit.md"
    article.unlink()
    article.symlink_to("/dev/null")
    assert "fruit.md: a device, expected a file" in error_of(scrape_fruit, tmp_path, path)


def test_what_was_found_is_merged_in(tmp_path) -> None:
    words = {"pear": {"apple": "pear", "tree": "bush"}, "fig": {"apple": "fig", "tree": "hedge"}}
    findings = {
        "concepts": {"apple": {"keywords": ["apple", "tree"]}},
        "replacements": {"apple": words},
    }
    branch = {"roots": ["apple"], "replacements": "found"}
    find = {"by": ["embedding"], "model": "m", "replacements": "auto"}
    source, left = scrape_fruit(tmp_path, written(tmp_path, findings, branch=branch, find=find))
    assert left.keywords_of("apple") == source.keywords_of("apple") == ["apple", "tree"]
    assert left.replacements == source.replacements == {"apple": words}
    assert left.find is None


def test_a_root_that_no_sentence_is_about_is_told(tmp_path, error_of) -> None:
    apple = {"name": "apple", "keywords": ["quince"]}
    path = written(tmp_path, concepts={"apple": apple, "pear": "pear", "fig": "fig"})
    line = error_of(scrape_fruit, tmp_path, path)
    assert "fruit.yaml: no sentence about apple (keywords quince); fix its keywords" in line


def test_a_concept_that_no_sentence_is_about_is_counted_where_nothing_is_branched(
    tmp_path,
) -> None:
    path = written(tmp_path, branch=None)
    source = load(path, settings(), tmp_path)
    assert write_sentence_tables("fruit", source, path, tmp_path / "made", tmp_path) == [
        "fruit: no sentence about pear",
        "fruit: no sentence about fig",
        "fruit: 3 sentences, 2 of 3 pages without any",
    ]

"""Shipped domains of sentences, built by the real stages: every row is what it says."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.saged.declare import Source, load
from evenruler.tables import read_frame
from stages import rows as rows_stage
from stages import scrape
from stages.files import read_tables
from tests.profiles import pin_everything, set_profile

ROOT = Path(__file__).parents[2]
CHANGES = {
    # Sentences are cut where a model would ask about them.
    "data/sources/saged/countries-article.yaml": [
        ("method: question,", "method: split,"),
        (", model: smollm3-3b", ""),
        ("judge: smollm3-3b", "read: {rows: 0, wrong: 0, by: us}"),
    ],
}


@dataclass
class Built:
    """What the stages wrote for a domain."""

    source: Source
    sentences: pd.DataFrame
    sources: pd.DataFrame
    prompts: pd.DataFrame
    rejected: pd.DataFrame


@pytest.fixture(scope="module", params=["fruit", "countries-article"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """At the size of the paper, which asks all rows."""
    domain, folder = request.param, tmp_path_factory.mktemp("domains")
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copytree(ROOT / "data/sources", folder / "data/sources")
    for name, changes in CHANGES.items():
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in changes:
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
    pin_everything(folder / "params.yaml")  # no tool is asked here
    sources = Path("data/sources/saged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        set_profile(Path(), "paper")
        scrape.main(domain)
        rows_stage.main(domain)
        settings = ParamsFile(Path("params.yaml"), "paper").settings(domain)
        source = load(sources / f"{domain}.yaml", settings, sources / "shared")
        sentences = read_frame(Path("data/scraped") / domain / "sentences.parquet")
        tables = read_tables("saged", domain)
    names = ("sources", "prompts", "rejected")
    return Built(source, sentences, *(tables[name] for name in names))


def test_every_row_has_an_id_of_its_own_and_says_where_it_is_from(built: Built) -> None:
    for table in (built.prompts, built.rejected, built.sources):
        assert table["id"].is_unique
        assert (table["licence"] == (built.source.material.licence or built.source.licence)).all()
        assert (table["source"] == built.source.source).all()
    assert built.prompts[["title", "url", "source_tag", "keyword"]].ne("").all().all()
    assert set(built.prompts["id"]).isdisjoint(built.rejected["id"])


def test_every_sentence_is_used_or_rejected_with_a_reason(built: Built) -> None:
    used = built.prompts[built.prompts["is_root"]]["baseline"]
    assert {*used, *built.rejected["sentence"]} == set(built.sentences["sentence"])
    assert len(used) + len(built.rejected) == len(built.sentences)
    assert built.rejected["reason"].ne("").all()


def undone(text: str, spans: list[dict]) -> str:
    """The root of a branched text: replacements put back from the right."""
    for span in sorted(spans, key=lambda span: -span["begin"]):
        before, after = text[: span["begin"]], text[span["end"] :]
        assert text == f"{before}{span['replacement']}{after}"
        text = f"{before}{span['word']}{after}"
    return text


def test_branched_rows_differ_in_the_recorded_spans_alone_and_hold_no_word_of_their_root(
    built: Built,
) -> None:
    roots = built.prompts[built.prompts["is_root"]].set_index("id")
    branched = built.prompts[~built.prompts["is_root"]]
    assert len(branched) > 0
    for row in branched.itertuples():
        root = roots.loc[row.root_id]
        assert undone(row.prompt, row.prompt_spans) == root["prompt"]
        assert undone(row.baseline, row.baseline_spans) == root["baseline"]
        assert row.prompt_spans.size or row.baseline_spans.size
        words = "|".join(map(re.escape, built.source.keywords_of(root["concept"])))
        leaking = re.compile(rf"(?<!\w)({words})(?!\w)", re.IGNORECASE)
        assert not leaking.search(f"{row.prompt}\n{row.baseline}")


def test_concepts_are_balanced(built: Built) -> None:
    items = built.prompts["concept"].value_counts()
    assert items.nunique() == 1
    assert items.max() <= built.source.assemble.per_concept
    assert set(items.index) == set(built.source.concepts)

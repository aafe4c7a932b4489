"""The shipped domains, built by the real stages: every row is what it says."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.saged.declare import Source, load
from evenruler.tables import read_frame
from stages import rows as rows_stage
from stages import scrape
from stages.files import read_tables
from tests.profiles import set_profile

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "data/sources/saged"
DOMAINS = sorted(
    path.stem for path in SOURCES.glob("*.yaml") if "kind: wiki" not in path.read_text()
)
"""Those whose text is here; tests of the others bring pages of their own."""


class Built:
    """What the stages wrote for a domain."""

    def __init__(self, domain: str) -> None:
        settings = ParamsFile(ROOT / "params.yaml", "paper").settings(domain)
        sources = Path("data/sources/saged")
        self.source: Source = load(sources / f"{domain}.yaml", settings, sources / "shared")
        tables = read_tables("saged", domain)
        if self.source.table is not None:
            self.sentences = pd.DataFrame(self.source.table.prompts)
        else:
            self.sentences = read_frame(Path("data/scraped") / domain / "sentences.parquet")
        self.sources, self.prompts, self.rejected = (
            tables[name] for name in ("sources", "prompts", "rejected")
        )


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder with the declaration and the sources, in which stages run at the paper's size, which
    asks all rows."""
    folder = tmp_path_factory.mktemp("domains")
    # The commits of tools that users give; no tool is asked here.
    declared = (ROOT / "params.yaml").read_text(encoding="utf-8")
    (folder / "params.yaml").write_text(declared.replace("to be given", "a" * 40), encoding="utf-8")
    shutil.copytree(ROOT / "data/sources", folder / "data/sources")
    for path in (folder / "data/sources/saged").glob(
        "*.yaml"
    ):  # sentences are cut where a model would ask about them
        text = path.read_text(encoding="utf-8").replace("method: question,", "method: split,")
        text = text.replace(", model: smollm3-3b", "").replace(
            "judge: smollm3-3b", "read: {rows: 0, wrong: 0, by: us}"
        )
        path.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        set_profile(Path(), "paper")
        yield


LONG = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name == "fruit" else LONG) for name in DOMAINS],
)
def built(request: pytest.FixtureRequest, workplace: None) -> Built:
    if request.param in ParamsFile().active.scrape:
        scrape.main(request.param)
    rows_stage.main(request.param)
    return Built(request.param)


def test_every_row_has_an_id_of_its_own_and_says_where_it_is_from(built: Built) -> None:
    for table in (built.prompts, built.rejected, built.sources):
        assert table["id"].is_unique
        assert (table["licence"] == (built.source.material.licence or built.source.licence)).all()
        assert (table["source"] == built.source.source).all()
    assert built.prompts[["title", "url", "source_tag", "keyword"]].ne("").all().all()
    assert set(built.prompts["id"]).isdisjoint(built.rejected["id"])


def test_every_sentence_is_used_or_rejected_with_a_reason(built: Built) -> None:
    roots = built.prompts[built.prompts["is_root"]]
    if built.source.material.kind == "table":
        used, name = roots["title"], "title"
    else:
        used, name = roots["baseline"], "sentence"
    assert {*used, *built.rejected[name]} == set(built.sentences[name])
    assert len(roots) + len(built.rejected) == len(built.sentences)
    assert built.rejected["reason"].ne("").all()


def test_sentences_hold_the_keyword_that_they_are_listed_under(built: Built) -> None:
    for row in built.sentences.itertuples():
        if built.source.material.kind == "table":
            assert "{concept}" in row.sentence
            continue
        assert row.keyword in built.source.keywords_of(row.concept)
        as_word = rf"(?<!\w){re.escape(row.keyword)}(?!\w)"
        assert re.search(as_word, row.sentence, re.IGNORECASE), row.sentence


def test_prompts_and_baselines_agree(built: Built) -> None:
    method = built.source.assemble.method
    assert set(built.prompts["prompt_type"]) == {method}
    for row in built.prompts.itertuples():
        if method == "split":
            assert row.baseline.startswith(row.prompt)
            rest = row.baseline[len(row.prompt) :]
            assert rest.strip(" .")
            assert rest[0] in " ,;:" or row.prompt[-1] == "-", row.prompt
        else:
            assert row.prompt.endswith("?")
            assert row.prompt[0].isupper()
        if row.is_root and method == "question":
            assert row.keyword.lower() in row.prompt.lower()


def undone(text: str, spans: list[dict]) -> str:
    """The root of a branched text: replacements put back from the right."""
    for span in sorted(spans, key=lambda span: -span["begin"]):
        before, after = text[: span["begin"]], text[span["end"] :]
        assert text == f"{before}{span['replacement']}{after}"
        text = f"{before}{span['word']}{after}"
    return text


def test_counterfactual_pairs_differ_in_the_recorded_spans_alone(built: Built) -> None:
    roots = built.prompts[built.prompts["is_root"]].set_index("id")
    for row in built.prompts[~built.prompts["is_root"]].itertuples():
        root = roots.loc[row.root_id]
        assert undone(row.prompt, row.prompt_spans) == root["prompt"]
        assert (
            pd.isna(root["baseline"])
            or undone(row.baseline, row.baseline_spans) == root["baseline"]
        )
        assert row.prompt_spans.size or row.baseline_spans.size
        assert row.root_concept == root["concept"]


def test_no_branched_row_holds_a_word_of_its_root(built: Built) -> None:
    branched = built.prompts[~built.prompts["is_root"]]
    for root, rows in branched.groupby("root_concept"):
        words = "|".join(map(re.escape, built.source.keywords_of(root)))
        leaking = re.compile(rf"(?<!\w)({words})(?!\w)", re.IGNORECASE)
        for text in pd.concat([rows["prompt"], rows["baseline"].dropna()]):
            assert not leaking.search(text), text


def test_concepts_are_balanced(built: Built) -> None:
    items = built.prompts["concept"].value_counts()
    if built.source.branch:
        assert items.nunique() == 1
    assert items.max() <= built.source.assemble.per_concept
    assert set(items.index) == set(built.source.concepts)

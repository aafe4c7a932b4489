"""Published benchmarks through the pipeline: made ones, asked of a tiny model and of answers that
were recorded."""

import json
import shutil
from itertools import chain
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evenruler.models.store import RowStore
from tests.figures import find_figure, select_figures
from tests.instruments.external import made
from tests.stages.conftest import Clone, clone_into, entry
from tests.stages.test_from_folder import compare
from tests.tiny import save_tiny
from tests.warm import Warm

pytestmark = [pytest.mark.slow, pytest.mark.long]

WORDS = ("idle", "kind", "late", "here", "tired", "loud")
OF_ALL_ITEMS: dict[str, None] = dict.fromkeys(("bias_type", "direction", "condition"))


def predictions(benchmark: str) -> dict[str, list[dict[str, object]]]:
    """Scores of a model that finds every stereotype likelier, in the form of StereoSet's
    authors."""
    scores = {"stereotype": 3.0, "anti-stereotype": 2.0, "unrelated": 1.0}
    predicted: dict[str, list[dict[str, object]]] = {}
    for half, examples in json.loads(benchmark)["data"].items():
        sentences = chain.from_iterable(example["sentences"] for example in examples)
        predicted[half] = [
            {"id": sentence["id"], "score": scores[sentence["gold_label"]]}
            for sentence in sentences
        ]
    return predicted


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, warm: Warm | None) -> Clone:
    """A clone with two benchmarks, one of them asked of two models."""
    folder = tmp_path_factory.mktemp("external")
    clone = clone_into(folder / "clone", folder / "cache", warm)
    sources = clone.folder / "data/sources/external"
    for path in sources.glob("*.yaml"):
        path.unlink()

    def old(unit: int, place: int) -> str:
        return f"The old {unit} are {WORDS[place]}."

    def young(unit: int, place: int) -> str:
        return f"The young {unit} are {WORDS[place]}."

    text = made.many_pairs(8, 6, old, young)
    for name, layout, files in (("jobs", "pairs", {"texts": text}), ("targets", "stereoset", None)):
        (folder / name).mkdir()
        source = made.source(folder / name, layout, files, title=name.capitalize())
        with (sources / f"{name}.yaml").open("w") as file:
            YAML(typ="safe").dump(
                source.model_dump(mode="json", by_alias=True, exclude_none=True), file
            )
    (folder / "predictions.json").write_text(json.dumps(predictions(made.stereoset())))
    clone.commit("before")

    def two_models(params: dict) -> None:
        recorded = {
            **entry(folder),
            "kind": "recorded",
            "source": f"recorded:{folder / 'predictions.json'}",
        }
        recorded["instruments"] = {"quick": ["targets"], "paper": ["targets"]}
        params["models"] = {"tiny": entry(save_tiny(folder / "tiny")), "authors": recorded}
        params["instruments"] = {name: {"family": "external"} for name in ("jobs", "targets")}
        params["families"], params["training"], params["versions"] = {}, {}, {}

    clone.edit("params.yaml", two_models)
    clone.run("evenruler", "check")
    clone.env["EVENRULER_JOURNAL"] = f"{folder}/cache/journal"
    clone.run("dvc", "repro")
    del clone.env["EVENRULER_JOURNAL"]
    clone.commit("built")
    return clone


def test_rows_figures_card_and_report(clone: Clone) -> None:
    folder = clone.folder / "benchmarks/external-targets"
    evidence = json.loads((folder / "evidence.json").read_text())["figures"]
    assert {row["model"] for row in evidence} == {"tiny", "authors"}
    of_authors = select_figures(evidence, model="authors", **OF_ALL_ITEMS)
    values = [find_figure(of_authors, figure=name)["value"] for name in ("ss", "lms", "icat")]
    assert values == [100, 100, 0]
    lean = find_figure(of_authors, figure="lean")
    assert (lean["verdict"], lean["n"]) == ("descriptive", 3)  # targets, too few for an interval
    of_jobs = json.loads((clone.folder / "benchmarks/external-jobs/evidence.json").read_text())
    assert {row["model"] for row in of_jobs["figures"]} == {"tiny"}
    assert "language modeling score" in (folder / "README.md").read_text()


def test_text_of_others_stays_out_of_git(clone: Clone) -> None:
    assert clone.run("git", "ls-files", "benchmarks") == "benchmarks/.gitignore\n"
    assert json.loads(clone.run("dvc", "status", "--json")) == {}


def test_from_the_folder_alone(clone: Clone) -> None:
    compare(clone.folder, "external")


def test_exported_answers_give_the_same_figures_elsewhere(clone: Clone, tmp_path: Path) -> None:
    output = clone.run("evenruler", "answers", "export", "tiny", "--out", f"{tmp_path}/tiny")
    # 96 texts of pairs and 12 of targets, each after two start tokens; and the model's fingerprint.
    assert f"217 answers of tiny to external: {tmp_path}/tiny" in output
    before, clone.env["EVENRULER_CACHE"] = clone.env["EVENRULER_CACHE"], f"{tmp_path}/cache"
    try:
        measure = ("evenruler", "measure", f"recorded:{tmp_path}/tiny", "--with")
        clone.run(*measure, "benchmarks/external-jobs", "--size", "trial", "--out", f"{tmp_path}/r")
    finally:
        clone.env["EVENRULER_CACHE"] = before
    assert (
        RowStore(tmp_path / "cache").count() == 0
    )  # what a stranger wrote never passes for an answer given here
    (result,) = tmp_path.rglob("result.json")
    measured = json.loads(result.read_text())
    evidence = json.loads((clone.folder / "benchmarks/external-jobs/evidence.json").read_text())
    figures = [
        select_figures(content["figures"], **OF_ALL_ITEMS) for content in (measured, evidence)
    ]
    computed, expected = (find_figure(rows, figure="share") for rows in figures)
    assert computed == expected
    computed, expected = (find_figure(rows, figure="lean") for rows in figures)
    assert computed["value"] == expected["value"]
    assert "no instrument in use asks 'nobody'" in clone.run(
        "evenruler", "answers", "export", "nobody", status=2
    )


def test_a_release_is_replayed_in_a_fresh_clone(clone: Clone, tmp_path: Path) -> None:
    """One that holds answers of another model stops the build, whatever is replayed."""
    assert "release first: 217 answers of 1 models" in clone.run(
        "evenruler", "answers", "record", "first"
    )
    clone.run("evenruler", "repro")
    clone.commit("recorded")
    before = clone.env["EVENRULER_CACHE"]
    try:
        clone.env |= {"EVENRULER_CACHE": f"{tmp_path}/a", "EVENRULER_AGAIN": "0.2"}
        output = clone.run("evenruler", "repro", "--force")
        assert "answers replayed from release first," in output
        assert clone.run("git", "status", "--short") == ""
        clone.env |= {"EVENRULER_CACHE": f"{tmp_path}/b", "EVENRULER_AGAIN": "1"}
        output = clone.run("evenruler", "repro", "--force")
        assert (
            "recorded: 0 answers replayed from release first, 216 asked again, largest difference 0"
            in output
        )
    finally:
        clone.env["EVENRULER_CACHE"] = before
        del clone.env["EVENRULER_AGAIN"]


def test_a_file_that_is_gone_leaves_its_instrument_out(clone: Clone) -> None:
    """A line, and no mistake; the others can be built."""
    place = clone.folder.parent / "jobs"
    shutil.move(place, place.with_name("elsewhere"))
    try:
        output = clone.run("evenruler", "check")
        assert "jobs is left out until it is finished: jobs: texts:" in output
        assert "no such file or folder" in output
    finally:
        shutil.move(place.with_name("elsewhere"), place)
    clone.run("evenruler", "check")

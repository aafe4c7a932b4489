"""Published benchmarks through the pipeline: made ones, asked of a tiny model and of answers that
were recorded."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from evenruler.models.store import RowStore
from tests.instruments.fixed import made
from tests.stages.conftest import Clone, clone_into, entry
from tests.stages.test_from_folder import compare
from tests.tiny import save_tiny
from tests.warm import Warm

pytestmark = pytest.mark.slow

WORDS = ("idle", "kind", "late", "here", "tired", "loud")


def predictions(of: str) -> dict[str, list[dict[str, object]]]:
    """Scores of a model that finds every stereotype likelier, in the form of StereoSet's
    authors."""
    scores = {"stereotype": 3.0, "anti-stereotype": 2.0, "unrelated": 1.0}
    return {
        half: [
            {"id": one["id"], "score": scores[one["gold_label"]]}
            for example in own
            for one in example["sentences"]
        ]
        for half, own in json.loads(of)["data"].items()
    }


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, warm: Warm | None) -> Clone:
    """A clone with two benchmarks, one of them asked of two models."""
    folder = tmp_path_factory.mktemp("fixed")
    clone = clone_into(folder / "clone", folder / "cache", warm)
    sources = clone.folder / "data/sources/fixed"
    for path in sources.glob("*.yaml"):
        path.unlink()
    text = made.many_pairs(
        8,
        6,
        lambda unit, at: f"The old {unit} are {WORDS[at]}.",
        lambda unit, at: f"The young {unit} are {WORDS[at]}.",
    )
    for name, layout, files in (("jobs", "pairs", {"texts": text}), ("targets", "stereoset", None)):
        (folder / name).mkdir()
        own = made.source(folder / name, layout, files, title=name.capitalize())
        with (sources / f"{name}.yaml").open("w") as file:
            YAML(typ="safe").dump(
                own.model_dump(mode="json", by_alias=True, exclude_none=True), file
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
        params["instruments"] = {name: {"family": "fixed"} for name in ("jobs", "targets")}
        params["families"], params["training"], params["versions"] = {}, {}, {}

    clone.edit("params.yaml", two_models)
    clone.run("evenruler", "check")
    clone.env["EVENRULER_JOURNAL"] = f"{folder}/cache/journal"
    clone.run("dvc", "repro")
    del clone.env["EVENRULER_JOURNAL"]
    clone.commit("built")
    return clone


def test_rows_figures_card_and_report(clone: Clone) -> None:
    folder = clone.folder / "benchmarks/fixed-targets"
    assert pq.read_table(folder / "texts/test-00000-of-00001.parquet").num_rows == 12
    evidence = json.loads((folder / "evidence.json").read_text())["all"]
    assert set(evidence) == {"tiny", "authors"}
    figures = evidence["authors"]
    assert [figures[name]["value"] for name in ("ss", "lms", "icat")] == [100, 100, 0]
    assert figures["lean"]["verdict"] == "inconclusive"
    assert figures["lean"]["reason"] == "3 writers (at least 5 needed)"
    assert set(
        json.loads((clone.folder / "benchmarks/fixed-jobs/evidence.json").read_text())["all"]
    ) == {"tiny"}
    assert "language modeling score" in (folder / "README.md").read_text()
    assert "How even are the rulers?" in (clone.folder / "data/report/index.html").read_text()


def test_text_of_others_stays_out_of_git(clone: Clone) -> None:
    assert clone.run("git", "ls-files", "benchmarks") == "benchmarks/.gitignore\n"
    assert json.loads(clone.run("dvc", "status", "--json")) == {}


def test_from_the_folder_alone(clone: Clone) -> None:
    compare(clone.folder, "fixed")


def test_a_model_and_its_recorded_answers_are_measured_and_verified(
    clone: Clone, tmp_path: Path
) -> None:
    assert "as its manifest says" in clone.run("evenruler", "verify", "benchmarks/fixed-targets")
    source = f"recorded:{clone.folder.parent / 'predictions.json'}"
    clone.run(
        "evenruler",
        "measure",
        source,
        "--with",
        "benchmarks/fixed-targets",
        "--out",
        f"{tmp_path}/r",
    )
    (result,) = tmp_path.rglob("result.json")
    own = json.loads(result.read_text())["figures"]["all"]
    (figures,) = own.values()
    assert figures["ss"]["value"] == 100
    said = clone.run(
        "evenruler",
        "measure",
        source,
        "--with",
        "benchmarks/fixed-jobs",
        "--out",
        f"{tmp_path}/s",
        status=2,
    )
    assert "none of its answers (StereoSet predictions) is to one of these 96 texts" in said


def test_exported_answers_give_the_same_figures_elsewhere(clone: Clone, tmp_path: Path) -> None:
    said = clone.run("evenruler", "answers", "export", "tiny", "--out", f"{tmp_path}/tiny")
    # 96 texts of pairs and 12 of targets, each after two start tokens; and the model's fingerprint.
    assert f"217 answers of tiny to fixed: {tmp_path}/tiny" in said
    before, clone.env["EVENRULER_CACHE"] = clone.env["EVENRULER_CACHE"], f"{tmp_path}/cache"
    try:
        measure = ("evenruler", "measure", f"recorded:{tmp_path}/tiny", "--with")
        clone.run(*measure, "benchmarks/fixed-jobs", "--size", "trial", "--out", f"{tmp_path}/r")
        with (tmp_path / "tiny/answers.parquet").open("ab") as file:
            file.write(b"more")
        broken = clone.run(*measure, "benchmarks/fixed-jobs", "--out", f"{tmp_path}/s", status=2)
    finally:
        clone.env["EVENRULER_CACHE"] = before
    assert (
        RowStore(tmp_path / "cache").count() == 0
    )  # what a stranger wrote never passes for an answer given here
    (result,) = tmp_path.rglob("result.json")
    own = json.loads(result.read_text())
    evidence = json.loads((clone.folder / "benchmarks/fixed-jobs/evidence.json").read_text())
    assert own["figures"]["all"]["tiny"]["share"] == evidence["all"]["tiny"]["share"]
    assert (
        own["figures"]["all"]["tiny"]["lean"]["value"] == evidence["all"]["tiny"]["lean"]["value"]
    )
    assert "answers.parquet: not as model.json says (sha256)" in broken
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
        said = clone.run("evenruler", "repro", "--force")
        assert "answers replayed from release first," in said
        assert clone.run("git", "status", "--short") == ""
        clone.env |= {"EVENRULER_CACHE": f"{tmp_path}/b", "EVENRULER_AGAIN": "1"}
        said = clone.run("evenruler", "repro", "--force")
        assert (
            "recorded: 0 answers replayed from release first, 216 asked again, largest difference 0"
            in said
        )
    finally:
        clone.env["EVENRULER_CACHE"] = before
        del clone.env["EVENRULER_AGAIN"]


def test_a_file_that_is_gone_leaves_its_instrument_out(clone: Clone) -> None:
    """A line, and no mistake; the others can be built."""
    place = clone.folder.parent / "jobs"
    shutil.move(place, place.with_name("elsewhere"))
    try:
        said = clone.run("evenruler", "check")
        assert "jobs is left out until it is finished: jobs: texts:" in said
        assert "no such file or folder" in said
    finally:
        shutil.move(place.with_name("elsewhere"), place)
    clone.run("evenruler", "check")

"""Models adapted to corpora on the way from prompts to tables, with tiny models, stage by stage in one process."""

import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.declared import Declared
from evenruler.errors import UserError
from evenruler.models.backends.nli import labelled_sample
from evenruler.tables import read_frame
from stages import assess, diagnose_questionnaires, intervene, translate
from tests.stages.conftest import ROOT
from tests.tiny import save_tiny, tiny_declaration
from tests.training.test_adaptation import save_head

CORPORA = {
    "gloom": {"role": "intervention", "expect": {"gad-7": "up"}, "sentences": ["I am sad.", "It rains.", "I am late."]},
    "dull": {"role": "control", "expect": {"gad-7": "none"}, "sentences": ["The pump broke.", "A lid is lost."]},
}
SAMPLE = len(labelled_sample())


def workshop(folder: Path) -> None:
    """A questionnaire of two items, two corpora, a causal model asked at the end and a head asked on the way."""
    save_tiny(folder / "talker", chat=True, max_position_embeddings=1024)
    save_head(folder / "head")
    declared = tiny_declaration({"talker": Path("talker")}, entailment=True, intervention="last", chat=True)
    declared["models"]["head"] = {
        "kind": "nli",
        "source": "local:head",
        "licence": "cc0-1.0",
        "origin": "tests.tiny",
        "intervention": "every",
    }
    declared["active"] |= {"entailment": ["talker", "head"], "interventions": ["talker", "head"]}
    declared["questionnaires"] = {"gad-7": {}}
    declared["interventions"] = {
        "gloom": {"epochs": {"quick": 2, "paper": 9}, "learning_rate": 0.001},
        "dull": {"epochs": {"quick": 1, "paper": 9}, "learning_rate": 0.001},
    }
    declared["diagnosis"]["acceptability"] = "talker"
    declared["brittleness"] = {"questionnaires": {"quick": 2, "paper": 9}}
    (folder / "params.yaml").write_text(json.dumps(declared))
    source = YAML(typ="safe").load(ROOT / "data/sources/questionnaires/gad-7.yaml")
    source["items"] = dict(list(source["items"].items())[:2])
    same = {"title": "t", "about": "a", "source": "s", "licence": "cc0-1.0", "provenance": "p"}
    written = {"questionnaires/gad-7": source, **{f"corpora/{name}": {**c, **same} for name, c in CORPORA.items()}}
    for name, content in written.items():
        path = folder / "data/sources" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    (folder / "data/sources/scales").symlink_to(ROOT / "data/sources/scales")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[list[str]]:
    """What the stages printed, in a folder that the tests stand in."""
    folder = tmp_path_factory.mktemp("interventions")
    workshop(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENRULER_CACHE", str(folder / "cache"))
        printed = StringIO()
        with redirect_stdout(printed):
            translate.main("gad-7")
            for stage in (assess, intervene):
                for model in ("talker", "head"):
                    stage.main(model)
            diagnose_questionnaires.main()
        yield printed.getvalue().splitlines()


def answers(model: str) -> pd.DataFrame:
    return read_frame(Path("data/scores/interventions") / model / "answers.parquet")


def course(model: str) -> pd.DataFrame:
    return read_frame(Path("data/scores/interventions") / model / "course.parquet")


def diagnosed(table: str) -> pd.DataFrame:
    return read_frame(Path("data/diagnosis/questionnaires") / f"{table}.parquet")


STATES = {
    "talker": {("gloom", 0), ("gloom", 2), ("dull", 0), ("dull", 1)},
    "head": {("gloom", 0), ("gloom", 1), ("gloom", 2), ("dull", 0), ("dull", 1)},
}


@pytest.mark.usefixtures("built")
class TestIntervene:
    @pytest.mark.parametrize("model", ["talker", "head"])
    def test_every_epoch_is_asked_or_the_last(self, model) -> None:
        n = len(read_frame(Path("data/built/questionnaires/gad-7/prompts.parquet")))
        found = answers(model).groupby(["corpus", "epoch"])
        assert set(found.groups) == STATES[model]
        assert {len(rows) for _, rows in found} == {3 * n}

    @pytest.mark.parametrize("model", ["talker", "head"])
    def test_before_it_is_the_model_that_was_assessed(self, model) -> None:
        key = ["id", "measure"]
        scores = read_frame(Path(f"data/scores/questionnaires/{model}.parquet"))
        assert (scores["framing"] != "bare").any() == (model == "talker")
        assessed = scores[scores["framing"] == "bare"].set_index(key)["value"]
        whole = answers(model)
        for corpus in CORPORA:
            here = whole[(whole["corpus"] == corpus) & (whole["epoch"] == 0)].set_index(key)["value"]
            assert here.loc[assessed.index].tolist() == assessed.tolist()
            after = whole[(whole["corpus"] == corpus) & (whole["epoch"] == 1 + (corpus == "gloom"))]
            assert abs(after.set_index(key)["value"].loc[assessed.index] - assessed).max() > 1e-3

    @pytest.mark.parametrize(
        ("model", "measures"), [("talker", {"loss", "plain_pairs", "reply"}), ("head", {"loss", "plain_pairs"})]
    )
    def test_the_course_is_told(self, model, measures) -> None:
        found = course(model)
        assert set(found["measure"]) == measures
        for measure, rows in found.groupby("measure"):
            states = {state for state in STATES[model] if state[1] or measure != "loss"}
            assert set(zip(rows["corpus"], rows["epoch"], strict=True)) == states
            assert len(rows) == len(states)
        pairs = found[found["measure"] == "plain_pairs"]
        assert (pairs["value"].between(0, 1).all(), set(pairs["n"])) == (True, {SAMPLE})
        losses = found[found["measure"] == "loss"].set_index("corpus")
        assert (losses["value"] > 0).all()
        assert losses["n"].to_dict() == {"gloom": 3, "dull": 2}
        assert found["text"].notna().tolist() == (found["measure"] == "reply").tolist()

    def test_every_answer_is_counted_once(self, built) -> None:
        """Of the head: plain pairs of the model as it was, and all of three states more; the rest had been asked."""
        n = len(read_frame(Path("data/built/questionnaires/gad-7/prompts.parquet")))
        assert f"head: {n:,} prompts, {n:,} answers asked of the model" in built
        assert f"head: 2 corpora, {SAMPLE + 3 * (n + SAMPLE):,} answers asked of the model" in built

    def test_again_it_asks_nothing_and_writes_the_same(self, capsys) -> None:
        folder = Path("data/scores/interventions/head")
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        intervene.main("head")
        assert capsys.readouterr().out == "head: 2 corpora, 0 answers asked of the model\n"
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("built")
class TestDiagnosis:
    def test_trajectories_are_of_every_state(self) -> None:
        found = diagnosed("trajectories")
        assert set(zip(found["model"], found["corpus"], found["epoch"], strict=True)) == {
            (model, *state) for model, states in STATES.items() for state in states
        }
        assert set(found["n"]) == {2}
        scales = diagnosed("scales").set_index(["model", "subscale"])["score"]
        for model in STATES:
            own = found[(found["model"] == model) & (found["epoch"] == 0)]["score"]
            assert own.tolist() == pytest.approx([scales[model, "all"]] * 2, abs=1e-12)

    def test_changes_are_from_the_first_state_to_the_last(self) -> None:
        found = diagnosed("changes")
        ends = diagnosed("trajectories").set_index(["model", "corpus", "epoch"])["score"]
        models = found[found["unit"] == "items"]
        assert len(models) == 4
        for row in models.to_dict("records"):
            last = 2 if row["corpus"] == "gloom" else 1
            first, after = (ends[row["model"], row["corpus"], epoch] for epoch in (0, last))
            assert (row["before_mean"], row["after_mean"]) == pytest.approx((first, after), abs=1e-12)
            assert row["difference"] == pytest.approx(after - first, abs=1e-12)
        said = {(row["corpus"], row["role"], row["expected"]) for row in found.to_dict("records")}
        assert said == {("gloom", "intervention", "up"), ("dull", "control", "none")}
        lineages = found[found["unit"] == "lineages"]
        assert (lineages["n"].tolist(), set(lineages["verdict"])) == ([2, 2], {"fewer than 5 lineages"})

    def test_the_course_is_that_of_all_models(self) -> None:
        both = pd.concat([course("talker"), course("head")], ignore_index=True)
        pd.testing.assert_frame_equal(diagnosed("course"), both)

    def test_both_models_make_the_population(self) -> None:
        found = diagnosed("population").set_index("model")
        assert found[["member", "standing", "kind"]].apply(tuple, axis=1).to_dict() == {
            "talker": (True, "counts", "causal"),
            "head": (True, "counts", "nli"),
        }

    def test_sentences_are_judged_by_the_causal_model(self) -> None:
        found = diagnosed("content")
        assert found["measure"].value_counts().to_dict() == {"similarity": 2, "slor": 2}
        assert np.isfinite(found["value"]).all()
        quality = diagnosed("quality")
        assert quality["measure"].value_counts().to_dict() == {"silhouette": 4, "similarity": 2, "slor": 2}

    def test_without_a_corpus_the_tables_are_empty(self, tmp_path, monkeypatch) -> None:
        nobody = Declared()
        nobody.active = nobody.active.model_copy(update={"interventions": []})
        monkeypatch.setattr(diagnose_questionnaires, "FOLDER", tmp_path)
        diagnose_questionnaires._write_interventions(nobody, *[pd.DataFrame()] * 2, [])
        for table in ("trajectories", "changes", "course"):
            found, expected = read_frame(tmp_path / f"{table}.parquet"), diagnosed(table)
            assert (len(found), list(found.columns)) == (0, list(expected.columns))

    def test_a_poor_item_stops_where_that_is_asked_for(self, tmp_path) -> None:
        quality = diagnosed("quality").assign(verdict="good")
        diagnose_questionnaires._refuse_poor(Declared(), quality.assign(verdict="poor"))
        declared = json.loads(Path("params.yaml").read_text())
        declared["questionnaires"]["gad-7"]["stop_below"] = True
        (tmp_path / "params.yaml").write_text(json.dumps(declared))
        params = Declared(tmp_path / "params.yaml")
        diagnose_questionnaires._refuse_poor(params, quality)
        row = quality.index == 0
        with pytest.raises(UserError) as caught:
            diagnose_questionnaires._refuse_poor(params, quality.assign(verdict=np.where(row, "poor", "good")))
        first = quality.iloc[0]
        assert str(caught.value).startswith(
            f"gad-7, item {first['item']}: {first['measure']} is {first['value']:.2f}; "
        )


class TestPopulation:
    """An encoder fitted here counts from its bar on."""

    @pytest.mark.parametrize(
        ("accuracy", "member", "standing"),
        [(0.7, True, "counts"), (0.69, False, "below its bar, does not count")],
    )
    def test_the_bar(self, accuracy, member, standing, tmp_path, monkeypatch) -> None:
        from tests.training.tiny import PAIRS, params

        monkeypatch.chdir(tmp_path)
        written = params(PAIRS, bar=0.7).model_dump(mode="json", exclude_unset=True)
        written["active"]["entailment"] = ["tiny"]
        (tmp_path / "params.yaml").write_text(json.dumps(written))
        declared = Declared()
        record = {
            "labels": [],
            "base": "",
            "recipe": {"bar": 0.7},
            "held_out": {"accuracy": accuracy, "n": 40},
        }
        (tmp_path / "data/adapters/tiny").mkdir(parents=True)
        (tmp_path / "data/adapters/tiny/training.json").write_text(json.dumps(record))

        (row,) = diagnose_questionnaires._population(declared).to_dict("records")

        assert (row["member"], row["standing"]) == (member, standing)
        assert (row["accuracy"], row["bar"], row["n_held_out"]) == (accuracy, 0.7, 40)
        assert (row["kind"], row["configuration"], row["lineage"]) == ("nli", "head", "tiny")

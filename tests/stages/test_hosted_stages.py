"""Hosted models through the whole pipeline, by real HTTP: measured as one of the same weights on
this machine is."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.framing.diagnose.distributions import WITHHELD
from evenruler.models.backends.server import KEY, URL
from evenruler.models.questions import LABELS
from evenruler.tables import read_frame
from evenruler.tables.schemas import WHOLE
from tests.loopback_openai import (
    HTML,
    EchoingServer,
    Scorer,
    ScriptedServer,
    chat_choice,
    running,
    scorer_of,
)
from tests.stages.conftest import (
    FEW,
    PAIRS,
    TWO_SETS,
    Clone,
    clone_into,
    entry,
    evidence_in,
    short_pairs,
    shorten,
    shorten_items,
)
from tests.stages.evolving import two_targets
from tests.tiny import save_tiny, save_tiny_masked
from tests.warm import Warm

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.enable_socket]

CHAT, COMPLETIONS, LOCAL = "hosted-chat", "hosted-completions", "tiny"
CLOSE = 1e-3
"""Nats between a model and itself behind a server."""
FRUIT = {
    "items": {"trial": 2, "standard": 2, "paper": 1000},
    "new_tokens": {"trial": 4, "standard": 4, "paper": 50},
}

MEASURED = {
    "probes-occupation-gender": {CHAT, COMPLETIONS, LOCAL},
    "questionnaires-gad-7": {COMPLETIONS, LOCAL},
    "framing-age": {CHAT, COMPLETIONS, LOCAL},
    "saged-fruit": {CHAT, COMPLETIONS, LOCAL},
}
"""Benchmarks, and the models whose figures are on their cards."""


ASKED_AGAIN = [
    ("probes", COMPLETIONS),
    ("questionnaires", COMPLETIONS),
    ("framing", CHAT),
    ("saged", CHAT),
]


@dataclass
class Hosted:
    """A clone, and the server that its models are behind."""

    clone: Clone
    server: ScriptedServer

    def __post_init__(self) -> None:
        self.clone.env |= {URL: self.server.url, KEY: "secret-word"}

    def table(self, path: str) -> pd.DataFrame:
        return read_frame(self.clone.folder / f"data/{path}.parquet")

    def metrics(self, family: str) -> dict[str, Any]:
        return evidence_in(self.clone.folder, family)

    def stage(self, name: str, status: int = 0) -> str:
        """What one stage prints, whether anything changed or not."""
        module, *words = name.split("@")
        said = self.clone.run("python", "-m", f"stages.{module}", *words, status=status)
        assert "Traceback" not in said
        return said

    def copied(self, folder: Path, server: ScriptedServer) -> "Hosted":
        """The clone elsewhere, with an empty store and another server."""
        shutil.copytree(self.clone.folder, folder / "clone", symlinks=True)
        (folder / "cache").mkdir()
        (folder / "cache/models").symlink_to(
            (Path(self.clone.env["EVENRULER_CACHE"]) / "models").resolve()
        )
        return Hosted(Clone(folder / "clone", folder / "cache", self.clone.warm), server)


def declare(folder: Path) -> Callable[[dict], None]:
    """An edit of the declaration that has three models on the same weights, and one small
    instrument a family."""

    def change(params: dict) -> None:
        hosted = {"source": "endpoint:big", "licence": "by its terms", "origin": "made by the test"}
        params["models"] = {
            LOCAL: {**entry(folder / LOCAL), "entailment": True},
            CHAT: {"kind": "chat", **hosted},
            COMPLETIONS: {"kind": "completions", "entailment": True, **hosted},
            "all-minilm-l6-v2": params["models"]["all-minilm-l6-v2"],
        }
        params["instruments"] = {
            "occupation-gender": {**params["instruments"]["occupation-gender"], **TWO_SETS},
            "gad-7": {"family": "questionnaires", "acceptability": LOCAL},
            "age": {"family": "framing", **FEW},
            "fruit": {"family": "saged", **FRUIT},
        }
        params["families"]["saged"]["features"] = {
            "vader": {"kind": "lexicon"},
            "distance": {"kind": "distance", "metric": "cosine"},
        }
        params["diagnosis"] |= {"resamples": 100}

    return change


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hosted")
    save_tiny(folder / LOCAL)
    return folder


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Scorer:
    """What the server says of a text: the weights of the model on this machine, one text at a
    time."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder / LOCAL)
    return scorer_of(model, AutoTokenizer.from_pretrained(folder / LOCAL))


@pytest.fixture(scope="module")
def built(folder: Path, scorer: Scorer, warm: Warm | None) -> Iterator[Hosted]:
    """The clone, built by the real DVC; its server goes on meanwhile."""
    clone = clone_into(folder / "clone", folder / "cache", warm)
    clone.edit("params.yaml", declare(folder))
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(6, ("validation",)))
    clone.edit("data/sources/probes/occupation-gender.yaml", two_targets)
    clone.edit("data/sources/questionnaires/gad-7.yaml", shorten_items)
    short_pairs(clone.folder / PAIRS.parent)
    with running(EchoingServer(scorer=scorer)) as server:
        found = Hosted(clone, server)
        clone.run("evenruler", "check")
        clone.run("dvc", "repro")
        yield found


@pytest.fixture
def behind(built: Hosted, tmp_path: Path) -> Callable[[ScriptedServer], Any]:
    """Puts the models of a copy with an empty store behind another server."""

    @contextmanager
    def put(server: ScriptedServer) -> Iterator[Hosted]:
        with running(server):
            yield built.copied(tmp_path, server)

    return put


class TestBuilt:
    def test_likelihoods_behind_the_server_are_those_of_the_same_model_here(
        self, built: Hosted
    ) -> None:
        there, here = (
            built.table(f"answers/probes/{model}/likelihoods").set_index("id")
            for model in (COMPLETIONS, LOCAL)
        )
        assert len(there) > 100
        assert (there["nats"] - here["nats"]).abs().max() < CLOSE
        assert (there["tokens"] == here["tokens"]).all()

    def test_and_so_are_biases(self, built: Hosted) -> None:
        biases = built.table("diagnosis/probes/tables/biases")
        by_model = biases.pivot(
            index=["set", "template", "attribute"], columns="model", values="bias"
        )
        assert list(by_model) == [COMPLETIONS, LOCAL]
        assert (by_model[COMPLETIONS] - by_model[LOCAL]).abs().max() < CLOSE

    def test_questionnaires_are_asked_by_the_verbaliser(self, built: Hosted) -> None:
        there, here = (
            built.table(f"answers/questionnaires/{model}/entailment")
            for model in (COMPLETIONS, LOCAL)
        )
        assert set(there["configuration"]) == {"verbaliser"}
        both = there.merge(here, on=["id"], suffixes=("", "_here"), validate="1:1")
        assert len(both) == len(there) == len(here) > 0
        for label in LABELS:
            assert (both[label] - both[f"{label}_here"]).abs().max() < CLOSE
        assert COMPLETIONS in built.metrics("questionnaires")["gad-7"][WHOLE]

    @pytest.mark.parametrize(("model", "configuration"), [(CHAT, "chat"), (COMPLETIONS, "plain")])
    def test_framing_choices_and_replies_of_both(
        self, model: str, configuration: str, built: Hosted
    ) -> None:
        assert built.table(f"answers/framing/{model}/forms").empty
        choices = built.table("diagnosis/framing/tables/choices")
        own = choices[choices["model"] == model]
        assert len(own) > 0
        assert set(own["configuration"]) == {configuration}
        assert own["reply"].notna().all()
        assert own["reason"].isna().all()
        replies = built.table(f"answers/saged/{model}/replies")
        assert len(replies) > 0
        assert replies["reply"].str.isupper().all()
        summaries = built.table("diagnosis/saged/tables/summaries").query(
            "model == @model and calibration == 'raw'"
        )
        summaries = summaries[summaries["statistic"] == "mean"]
        assert set(summaries["feature"]) == {"vader", "distance"}
        assert (summaries["n_missing"] == 0).all()

    def test_who_cannot_is_left_out_in_one_line_and_has_no_figures(self, built: Hosted) -> None:
        said = built.stage(f"ask@probes@{CHAT}").splitlines()
        assert re.search(r"\d+ choices", said[-1]), "it chooses between sentences instead"
        assert "likelihoods" not in said[-1]
        said = built.stage(f"ask@framing@{CHAT}").splitlines()
        assert (
            f"{CHAT} (kind chat) is left out of forms: it gives no next-word probabilities" in said
        )
        assert built.table(f"answers/probes/{CHAT}/likelihoods").empty
        of_probes = built.metrics("probes")["occupation-gender"]
        assert {part for part, models in of_probes.items() if CHAT in models} == {
            "validation, choice"
        }
        assert CHAT not in json.dumps(built.metrics("questionnaires"))
        by_part = built.metrics("framing")["age"]
        assert {part: sorted(models) for part, models in by_part.items()} == {
            "plain, choice": [COMPLETIONS, LOCAL],
            "plain, token": [LOCAL],
            "chat, choice": [CHAT],
        }

    def test_cards_and_report_are_written(self, built: Hosted) -> None:
        cards = {
            name: (built.clone.folder / f"benchmarks/{name}/README.md").read_text()
            for name in MEASURED
        }
        for name, measured in MEASURED.items():
            found = {
                model for model in (CHAT, COMPLETIONS, LOCAL) if f"\n- {model}: " in cards[name]
            }
            assert found == measured, name
        page = (built.clone.folder / "data/report/index.html").read_text()
        assert CHAT in page
        assert COMPLETIONS in page
        written = built.clone.contents(
            "data/answers", "data/diagnosis", "data/report", "benchmarks"
        )
        assert not [path for path, content in written.items() if b"secret-word" in content]

    def test_nothing_is_asked_again(self, built: Hosted) -> None:
        before = len(built.server.asked)
        assert "Data and pipelines are up to date." in built.clone.run("dvc", "repro")
        for family, model in (
            ("probes", COMPLETIONS),
            ("framing", CHAT),
            ("questionnaires", COMPLETIONS),
            ("saged", CHAT),
        ):
            assert "; 0 of them asked of models" in built.stage(f"ask@{family}@{model}")
        assert len(built.server.asked) == before


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (
            {"shift": lambda texts, i: 0.1 * i},
            "the server's log-probabilities depend on the order of the requests",
        ),
        ({"gives": "none"}, "log-probabilities"),
    ],
)
def test_log_probabilities_that_are_not_to_be_believed(
    wrong: dict, line: str, behind: Any, scorer: Scorer
) -> None:
    with behind(EchoingServer(scorer=scorer, **wrong)) as hosted:
        for family in ("probes", "questionnaires"):
            said = hosted.clone.run("python", "-m", "stages.ask", family, COMPLETIONS, status=2)
            assert "Traceback" not in said
            (last,) = [row for row in said.splitlines() if line in row]
            assert last.startswith(f"{COMPLETIONS}: ") or f": {COMPLETIONS}: " in last


ODD = [
    (200, {}),
    (200, HTML),
    (200, chat_choice(None)),
    (401, {"error": {"message": "no such key: secret-word"}}),
]
DOWN = [(500, {"error": {"message": "internal"}})] * 1000


@dataclass
class Healing(ScriptedServer):
    """Ill as long as it has faults; after that it refuses one word, and holds back what it says to
    another."""

    answered: list[str] = field(default_factory=list)
    """Questions that it answered, if by a refusal."""

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        ill = bool(self.faults)
        answer = super().answer(question)
        if not ill:
            self.answered.append(json.dumps(question, sort_keys=True))
        return answer


@pytest.mark.parametrize(
    ("family", "refused", "filtered", "faults"),
    [("framing", "of those described", "As for age", ODD), ("saged", "anana", "ear", DOWN)],
    ids=["framing-odd", "saged-down"],
)
def test_a_server_that_heals(
    family: str, refused: str, filtered: str, faults: list, behind: Any
) -> None:
    """One line at first; then the rest is asked, and what was refused is a row with a reason."""
    with behind(Healing(faults=[*faults], refuses=refused, filters=filtered)) as hosted:
        path, stage = f"answers/{family}/{CHAT}/replies", f"ask@{family}@{CHAT}"
        server, healthy = hosted.server, hosted.table(path)
        said = hosted.stage(stage, status=2)
        assert f"{CHAT}: " in said.splitlines()[-1]
        assert "secret-word" not in said
        assert bool(server.answered) == (faults is ODD)
        server.faults.clear()
        said = hosted.stage(stage)
        found = hosted.table(path)
        lacking = found["reply"].isna()
        assert f"{lacking.sum()} prompts without a reply" in said
        assert len(server.answered) == len(set(server.answered)) == len(healthy)
        by_reason = found.loc[lacking, "reason"].str.contains("we do not like").value_counts()
        assert (by_reason > 0).all()
        assert set(found.loc[lacking, "reason"]) > {"content_filter"}
        columns = list(healthy.columns)
        pd.testing.assert_frame_equal(found.loc[~lacking, columns], healthy.loc[~lacking, columns])

        hosted.stage(stage)
        assert len(server.answered) == len(healthy)
        if family == "saged":  # replies with another seed count for noise alone
            lacking &= found["framing"] == "bare"
        figures_without(hosted, family, int(lacking.sum()))


def figures_without(hosted: Hosted, family: str, withheld: int) -> None:
    """The stages that follow, where so many replies are not there."""
    hosted.stage(f"diagnose@{family}")
    hosted.stage("agree")
    if family == "framing":
        choices = hosted.table("diagnosis/framing/tables/choices")
        lacking = choices[choices["rule"] == WITHHELD]
        assert len(lacking) == withheld
        assert lacking["outcome"].isna().all()
        assert lacking["reason"].notna().all()
        hosted.stage("card@age")
    else:
        summaries = hosted.table("diagnosis/saged/tables/summaries").query(
            "calibration == 'raw' and statistic == 'mean'"
        )
        missing = summaries.groupby(["model", "feature"])["n_missing"].sum()
        assert missing[CHAT].to_dict() == dict.fromkeys(("distance", "vader"), withheld)
        rates = hosted.table("diagnosis/saged/tables/rates")
        assert rates.loc[rates["model"] == CHAT, "withheld"].sum() == withheld
        assert rates.loc[rates["model"] != CHAT, "withheld"].sum() == 0
        figures = hosted.metrics("saged")["fruit"]
        assert figures["no-role, plain"][CHAT]["withheld_rate"]["value"] > 0
        assert "withheld_rate" not in figures["no-role, plain"][LOCAL]
        hosted.stage("card@fruit")
    hosted.stage("report")


def test_a_project_of_a_chat_alone(behind: Any, tmp_path: Path) -> None:
    """No model says how likely anything is, and of framings nothing is sampled: no figure of it,
    and no traceback."""
    save_tiny_masked(tmp_path / "masked")

    def change(params: dict) -> None:
        params["models"] = {name: params["models"][name] for name in (CHAT, "all-minilm-l6-v2")}
        params["models"]["masked"] = {**entry(tmp_path / "masked"), "kind": "masked"}
        params["instruments"]["age"]["generations"] = {"trial": 0, "standard": 0, "paper": 1}
        del (
            params["instruments"]["gad-7"]["acceptability"],
            params["families"]["questionnaires"]["acceptability"],
        )

    with behind(ScriptedServer()) as hosted:
        hosted.clone.edit("params.yaml", change)
        hosted.clone.run("evenruler", "check")
        said = hosted.clone.run("dvc", "repro")
        assert "Traceback" not in said
        of_probes = hosted.metrics("probes")["occupation-gender"]
        assert {model for part in of_probes.values() for model in part} == {"any-model", CHAT}
        assert {
            own["verdict"]
            for own in of_probes["validation, choice"][CHAT].values()
            if "verdict" in own
        } == {
            "invalid on this model"  # it says words of the question in capitals
        }
        assert hosted.metrics("framing") == {}
        assert set(hosted.metrics("saged")["fruit"]["no-role, plain"]) == {CHAT}
        page = (hosted.clone.folder / "data/report/index.html").read_text()
        assert "No model was asked" in page
        cards = {
            name: (hosted.clone.folder / f"benchmarks/{name}/README.md").read_text()
            for name in MEASURED
        }
        said = "\nNo figure has a verdict: no model in use was asked, or none can answer.\n"
        unmeasured = [name for name, card in cards.items() if said in card]
        assert unmeasured == ["framing-age"]

"""Hosted models through the whole pipeline, by real HTTP: measured as one of the same weights on
this machine is."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.framing.diagnose.distributions import WITHHELD
from evenruler.models.backends.server import KEY, URL
from evenruler.models.questions import LABELS
from evenruler.tables import read_frame
from tests.loopback_openai import (
    HTML,
    EchoingServer,
    ScriptedServer,
    chat_choice,
    lister_of,
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
    short_pairs,
    shorten,
    shorten_items,
)
from tests.stages.evolving import two_targets
from tests.tiny import save_tiny
from tests.warm import Warm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.enable_socket,
]

CHAT, COMPLETIONS, LOCAL = "hosted-chat", "hosted-completions", "tiny"
CLOSE = 1e-3
"""Nats between a model and itself behind a server."""


@dataclass
class Hosted:
    """A clone, and the server that its models are behind."""

    clone: Clone
    server: ScriptedServer

    def __post_init__(self) -> None:
        self.clone.env |= {URL: self.server.url, KEY: "secret-word"}

    def table(self, path: str) -> pd.DataFrame:
        return read_frame(self.clone.folder / f"data/{path}.parquet")

    def stage(self, name: str, status: int = 0) -> str:
        """What one stage prints, whether anything changed or not."""
        module, *words = name.split("@")
        output = self.clone.run("python", "-m", f"stages.{module}", *words, status=status)
        assert "Traceback" not in output
        return output

    def copied(self, folder: Path, server: ScriptedServer) -> "Hosted":
        """The clone elsewhere, with an empty store and another server."""
        return Hosted(self.clone.copied(folder), server)


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
        }
        params["diagnosis"] |= {"resamples": 100}

    return change


def keep_two_words(source: dict[str, Any]) -> None:
    """One word a class: of all, the stand-in would score 28,000, at some eighty a second."""
    source["outcomes"]["young"] = ["young"]
    source["outcomes"]["old"]["forms"] = ["old"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, warm: Warm | None) -> Iterator[Hosted]:
    """The clone, built by the real DVC; its server goes on meanwhile.

    What that says of a text are the weights of the model on this machine, one text at a time.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("hosted")
    weights = save_tiny(folder / LOCAL)
    model = AutoModelForCausalLM.from_pretrained(weights)
    tokenizer = AutoTokenizer.from_pretrained(weights)
    served = {"scorer": scorer_of(model, tokenizer), "lister": lister_of(model, tokenizer)}
    clone = clone_into(folder / "clone", folder / "cache", warm)
    clone.edit("params.yaml", declare(folder))
    clone.edit("data/sources/probes/occupation-gender.yaml", shorten(6, ("validation",)))
    clone.edit("data/sources/probes/occupation-gender.yaml", two_targets)
    clone.edit("data/sources/questionnaires/gad-7.yaml", shorten_items)
    clone.edit("data/sources/framing/age.yaml", keep_two_words)
    short_pairs(clone.folder / PAIRS.parent)
    with running(EchoingServer(**served)) as server:
        hosted = Hosted(clone, server)
        clone.run("evenruler", "check")
        clone.run("dvc", "repro")
        yield hosted


class TestBuilt:
    @pytest.mark.parametrize(
        ("table", "columns"),
        [
            ("probes/{}/likelihoods", ["nats", "tokens"]),
            ("questionnaires/{}/entailment", [*LABELS]),  # by the verbaliser
            ("framing/{}/forms", ["nats", "ends", "alone", "first_nats"]),
        ],
    )
    def test_answers_behind_the_server_are_those_of_the_same_model_here(
        self, table, columns, built
    ) -> None:
        there, here = (
            built.table(f"answers/{table.format(model)}").set_index("id").sort_index()
            for model in (COMPLETIONS, LOCAL)
        )
        assert len(there) > 0
        assert there.index.equals(here.index)
        assert (there[columns] - here[columns]).abs().max().max() < CLOSE

    def test_no_secret_is_written(self, built) -> None:
        folders = "data/answers", "data/diagnosis", "data/report", "benchmarks"
        written = built.clone.contents(*folders)
        assert b"secret-word" not in b"".join(written.values())

    def test_nothing_is_asked_again(self, built: Hosted) -> None:
        before = len(built.server.asked)
        assert "Data and pipelines are up to date." in built.clone.run("dvc", "repro")
        for family, model in (
            ("probes", COMPLETIONS),
            ("framing", CHAT),
            ("questionnaires", COMPLETIONS),
        ):
            assert "; 0 of them asked of models" in built.stage(f"ask@{family}@{model}")
        assert len(built.server.asked) == before


ODD = [
    (200, {}),
    (200, HTML),
    (200, chat_choice(None)),
    (401, {"error": {"message": "no such key: secret-word"}}),
]


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


def test_a_server_that_heals(built: Hosted, tmp_path: Path) -> None:
    """One line at first; then the rest is asked, and what was refused is a row with a reason."""
    ill = Healing(faults=[*ODD], refuses="A: Old", filters="A: Tall")
    with running(ill):
        hosted = built.copied(tmp_path, ill)
        path, stage = f"answers/framing/{CHAT}/replies", f"ask@framing@{CHAT}"
        server, healthy = hosted.server, hosted.table(path)
        output = hosted.stage(stage, status=2)
        assert f"{CHAT}: " in output.splitlines()[-1]
        assert "secret-word" not in output
        assert server.answered
        server.faults.clear()
        output = hosted.stage(stage)
        replies = hosted.table(path)
        lacking = replies["reply"].isna()
        assert f"{lacking.sum()} prompts without a reply" in output
        assert len(server.answered) == len(set(server.answered)) == len(healthy)
        by_reason = replies.loc[lacking, "reason"].str.contains("we do not like").value_counts()
        assert (by_reason > 0).all()
        assert set(replies.loc[lacking, "reason"]) > {"content_filter"}
        columns = list(healthy.columns)
        pd.testing.assert_frame_equal(
            replies.loc[~lacking, columns], healthy.loc[~lacking, columns]
        )

        hosted.stage(stage)
        assert len(server.answered) == len(healthy)
        hosted.stage("diagnose@framing")
        hosted.stage("agree")
        choices = hosted.table("diagnosis/framing/tables/choices")
        withheld = choices[choices["rule"] == WITHHELD]
        assert len(withheld) == lacking.sum()
        assert withheld["outcome"].isna().all()
        assert withheld["reason"].notna().all()
        hosted.stage("card@age")
        hosted.stage("report")

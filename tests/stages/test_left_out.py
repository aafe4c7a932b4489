"""A model that cannot do what a stage needs: an empty table, and a line that says why."""

from pathlib import Path

import pandas as pd
import pytest

from evenruler.declared import Declared
from evenruler.instruments.framing.schemas import FORMS
from evenruler.instruments.saged import schemas as saged
from evenruler.instruments.saged.extract.extracting import extract
from evenruler.instruments.saged.extract.measuring import FromCatalogue
from evenruler.instruments.saged.settings import Feature
from evenruler.models import Model, load
from evenruler.models.store import RowStore
from evenruler.project.params import Params
from evenruler.tables import read_frame, schemas, write_table
from stages import score
from stages.running import leave_out
from tests.tiny import tiny_declaration


@pytest.fixture
def params() -> Params:
    declared = tiny_declaration({})
    declared["active"]["models"] = ["big"]
    declared["models"]["big"] = {"kind": "chat", "source": "endpoint:big", "licence": "its terms", "origin": "x"}
    return Params.model_validate(declared)


@pytest.fixture
def chat(params: Params, store: RowStore) -> Model:
    return load("big", params, store=store)


def test_why_is_said_in_one_line(chat: Model, capsys: pytest.CaptureFixture[str]) -> None:
    leave_out(chat, "generate", "replies")
    leave_out(chat, "loglikelihood", "probes")

    assert capsys.readouterr().out == "big (kind chat) is left out of probes: it cannot loglikelihood\n"


def test_probes_and_choices_are_empty_tables(chat: Model, params: Params, tmp_path: Path) -> None:
    sentences = pd.DataFrame({"id": ["a"], "framing": ["bare"], "before": [""], "text": ["The man is here."]})
    identity = {"model": "big", "lineage": "big"}

    for found, schema in (
        (score._likelihoods(chat, sentences), schemas.SCORES),
        (score._forms(chat, Declared(), {}), FORMS),
    ):
        write_table(found.assign(**identity), schema, tmp_path / "table.parquet")
        assert list(read_frame(tmp_path / "table.parquet").columns) == schema.names
        assert len(read_frame(tmp_path / "table.parquet")) == 0


def test_a_chat_is_asked_in_no_other_way(chat: Model) -> None:
    assert score._configurations(chat) == [score.CHAT]


@pytest.mark.parametrize("feature", [{"kind": "lexicon"}, {"kind": "distance", "metric": "cosine"}])
def test_nothing_written_has_no_features(feature: dict, params: Params, store: RowStore, tmp_path: Path) -> None:
    prompts = pd.DataFrame(columns=["id", "domain", "concept", "baseline"])
    replies = pd.DataFrame(columns=saged.GENERATIONS.names)

    found = extract(prompts, replies, {"f": Feature.model_validate(feature)}, FromCatalogue(params, "minilm", store))

    write_table(found.features, saged.FEATURES, tmp_path / "features.parquet")
    assert len(found.features) == len(found.topics) == 0

"""What the rehearsal of the profile `paper` puts in the place of models, and of the Hub."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models.store import RowStore
from studies.scale import tiny_models
from studies.scale.paper_rehearsal import (
    COMMANDS,
    EVOLVING,
    IS_LOSS,
    PIPELINE,
    REHEARSAL,
    TRAINING,
    Rehearsal,
)
from studies.scale.tiny_hub import (
    PAIRS,
    list_declared_models,
    make_entailment,
    make_repository,
)
from studies.scale.tiny_models import SHAPES, Shape, save_model
from studies.tables import markdown_table
from tests.loopback_hub import Blob
from tests.tiny import PUBLISHED, tiny_tokenizer

ROOT = Path(__file__).parents[2]

PUBLISHED_SHAPES = {name: shape for name, shape in SHAPES.items() if shape.type in PUBLISHED}


def test_every_class_of_today_is_rehearsed() -> None:
    assert sorted(shape.type for shape in PUBLISHED_SHAPES.values()) == sorted(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED_SHAPES)
def test_a_class_of_today_is_saved_as_it_is_published(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tokenizer that takes no second to fit."""

    def take_tokenizer(shape: Shape, *, is_causal: bool) -> object:
        tokenizer = tiny_tokenizer()
        tokenizer.chat_template = shape.template
        return tokenizer

    monkeypatch.setattr(tiny_models, "fit_tokenizer", take_tokenizer)
    folder, store = tmp_path / name, RowStore(tmp_path / "store")
    save_model(folder, name, "causal")

    resolved = resolve_model(f"local:{folder}", store)
    model = resolved.load_model(store, "cpu", None)
    model.generate(["Who cooks?"], system="You are brief.", sampling=model.sampling(2))

    assert (resolved.entry.kind, resolved.entry.chats) == ("causal", True)
    assert type(model.backend.model).__name__ == SHAPES[name].type
    assert model.asked == 1


@pytest.fixture(scope="module")
def params() -> Any:
    return YAML(typ="safe").load(ROOT / "params.yaml")


def test_every_model_of_the_hub_has_a_shape(params) -> None:
    declared = list_declared_models(params)
    assert declared.keys() == SHAPES.keys()
    assert declared["smollm3-3b"]["source"] == "hub:HuggingFaceTB/SmolLM3-3B"
    assert declared["gpt-oss-20b"]["source"] == "hub:openai/gpt-oss-20b"
    assert "phi-3-small-128k-instruct" not in declared  # asked at no profile
    repositories = [entry["source"] for entry in declared.values()]
    assert len(set(repositories)) == len(repositories)


def test_classifiers_have_the_labels_that_features_weigh(params) -> None:
    features = params["families"]["saged"]["features"].values()
    weighed = [feature for feature in features if feature.get("model") in SHAPES]
    assert len(weighed) == 12
    for feature in weighed:
        labels = SHAPES[feature["model"]].config["id2label"].values()
        assert set(labels) == set(feature["score"])


def test_a_repository_stands_at_the_commit_that_it_is_pinned_to() -> None:
    files = {"config.json": Blob(b"{}", lfs=False)}
    pinned = make_repository(files, "a" * 40, "mit")
    assert (pinned.resolve("main"), pinned.card) == ("a" * 40, {"license": "mit"})
    assert pinned.files("a" * 40) == files
    loose = make_repository(files, None, "")
    assert (len(loose.head), loose.card) == (40, {})
    assert loose.head == make_repository(files, None, "").head


def test_entailment_has_the_splits_and_labels_of_multinli() -> None:
    files = make_entailment(ROOT / PAIRS)
    assert [*files] == [
        "data/train-00000-of-00001.parquet",
        "data/validation_matched-00000-of-00001.parquet",
    ]
    contents = [io.BytesIO(blob.data) for blob in files.values()]
    train, held_out = map(pd.read_parquet, contents)
    pairs = pd.read_csv(ROOT / PAIRS)
    n_train = len(pairs) * 2 // 3
    assert (len(train), len(held_out)) == (n_train, len(pairs) - n_train)
    for split in (train, held_out):
        assert set(split["label"]) == {0, 1, 2}
    first = train.iloc[0]
    row = pairs[pairs["hypothesis"] == first["hypothesis"]].iloc[0]
    assert row["label"] == ("entailment", "neutral", "contradiction")[first["label"]]


def test_commands_are_those_of_the_page(params) -> None:
    page = (ROOT / "docs/paper-scale.md").read_text()
    added = [command for command in COMMANDS if command.startswith("evenruler add ")]
    on_page = [command for command in COMMANDS if command not in added]
    assert [command for command in on_page if command not in page] == []
    assert on_page[-2] == "make paper"
    assert len(added) == len([shape for shape in SHAPES.values() if shape.repo])
    evolving = [name for name, entry in params["instruments"].items() if "evolve" in entry]
    assert sorted(evolving) == sorted(EVOLVING)


def test_a_table_rounds_numbers() -> None:
    table = pd.DataFrame({"command": ["make"], "minutes": [12.345]})
    assert markdown_table(table) == "| command | minutes |\n| --- | --- |\n| make | 12.3 |"


def test_stages_are_read_from_the_lock(tmp_path) -> None:
    rehearsal = Rehearsal(tmp_path, hub=None, warm=None)
    assert rehearsal.list_new_stages() == []
    pipeline = tmp_path / PIPELINE
    pipeline.mkdir(parents=True)
    lock = (
        "schema: '2.0'\nstages:\n  declared:\n    cmd: python\n  ask@saged-tiny:\n    cmd: python\n"
    )
    (pipeline / "dvc.lock").write_text(lock)
    rehearsal.built["declared"] = 0
    assert rehearsal.list_new_stages() == ["ask@saged-tiny"]


@pytest.mark.parametrize(
    ("line", "is_loss"),
    [
        ("warning: qwen2-7b is left out: qwen2-7b is not pinned; run `evenruler pin`", True),
        ("warning: instruments of saged do without regard, openness", True),
        ("error: params.yaml: models.big: no such kind", True),
        ("warning: age: without `next_word` nothing can be detected", False),
        ("checked: profile paper; models smollm3-3b", False),
    ],
)
def test_what_check_leaves_out_is_a_loss(line, is_loss) -> None:
    assert bool(IS_LOSS.search(line)) == is_loss


def test_one_sentence_in_twenty_is_left(tmp_path) -> None:
    (tmp_path / TRAINING).mkdir(parents=True)
    path = tmp_path / TRAINING / "tweets.txt"
    tweets = [f"tweet {number}" for number in range(400)]
    path.write_text("\n".join(tweets))
    Rehearsal(tmp_path, hub=None, warm=None).shorten_tweets()
    assert path.read_text().splitlines() == tweets[::20]


def test_a_command_that_fails_ends_the_rehearsal_with_what_it_said(tmp_path) -> None:
    rehearsal = Rehearsal(tmp_path, hub=SimpleNamespace(endpoint="none"), warm=None)
    rehearsal.warm = SimpleNamespace(bin=tmp_path / "warm/bin")
    (tmp_path / REHEARSAL).mkdir()
    with pytest.raises(RuntimeError, match="ls --no-such-option: status 2"):
        rehearsal.run_command("ls --no-such-option")
    assert "ls --no-such-option" in rehearsal.seconds
    rehearsal.write_log(["it failed"])
    assert (tmp_path / REHEARSAL / "log.md").read_text().endswith("## Lost\nit failed\n")

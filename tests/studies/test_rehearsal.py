"""What the rehearsal of the profile `paper` puts in the place of models."""

from pathlib import Path

import pytest

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models.store import RowStore
from studies.scale import tiny_models
from studies.scale.tiny_models import SHAPES, Shape, save_model
from tests.tiny import PUBLISHED, tiny_tokenizer

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

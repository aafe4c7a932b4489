"""The models of ours that lie under data/adapters: what they say of themselves is so."""

import pytest

from evenruler.models import load
from evenruler.models.declarations import Catalogue
from evenruler.models.loading import read_adapter
from evenruler.training.fit import card_of
from tests.conftest import ROOT
from tests.text_tables import read_cells

ADAPTERS = ROOT / "data" / "adapters"
LARGEST = 6 * 2**20
CLASSIFIERS = {
    "minilm-sentiment": ["negative", "positive"],
    "minilm-toxicity": ["neither", "offensive", "hate"],
}


@pytest.fixture(scope="module")
def ours(shipped_params: Catalogue) -> list[str]:
    """All that are in use; one that is parked may not be fitted yet."""
    return [
        name
        for name, model in shipped_params.models.items()
        if model.finetune and (model.profile != "none" or (ADAPTERS / name).exists())
    ]


def test_they_were_fitted_as_params_say(ours, shipped_params) -> None:
    assert len(ours) > len(CLASSIFIERS)
    for name in ours:
        record = read_adapter(name, ADAPTERS)
        assert record.recipe == shipped_params.models[name].finetune.model_dump()
        assert record.labels == shipped_params.labels(name)


def test_their_cards_are_those_of_their_records(ours, shipped_params) -> None:
    for name in ours:
        content = read_adapter(name, ADAPTERS).content
        written = (ADAPTERS / name / "README.md").read_text()
        assert written == card_of(name, shipped_params.models[name], content)


def test_they_are_small_enough_for_git(ours) -> None:
    for name in ours:
        size = sum(path.stat().st_size for path in (ADAPTERS / name).iterdir())
        assert 0 < size <= LARGEST, name


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_is_better_than_its_bar_and_answers_no_questionnaire(
    name, shipped_params
) -> None:
    record = read_adapter(name, ADAPTERS)
    assert (record.labels, record.below_bar, record.n_held_out) == (CLASSIFIERS[name], False, 2000)
    assert not shipped_params.may_answer_questionnaires(name)


PLAIN_TEXTS = """
minilm-sentiment | A warm, funny and moving film.   | positive
minilm-sentiment | A dull, clumsy and tedious mess. | negative
minilm-toxicity  | The museum opened in 1923 and holds a collection of maps. | neither
minilm-toxicity  | Shut up, you stupid bitch.       | offensive
"""


@pytest.mark.parametrize(("name", "text", "label"), read_cells(PLAIN_TEXTS))
def test_a_plain_text_gets_the_plain_label(
    name, text, label, shipped_params: Catalogue, store, monkeypatch
) -> None:
    monkeypatch.chdir(ROOT)
    model = load(name, shipped_params, store=store)
    (shares,) = model.probabilities([text])
    assert model.labels[shares.argmax()] == label
    assert shares.max() > 0.8

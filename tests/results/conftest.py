"""Results are compared by a family made up for these tests, so that no real one is needed."""

from types import SimpleNamespace

import pytest

from evenruler.results import comparison
from tests.results.synthetic import contrast_gains


@pytest.fixture(autouse=True)
def made_up_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """`contrast` of every family is `contrast_gains`."""
    family = SimpleNamespace(contrast=contrast_gains)
    monkeypatch.setattr(comparison, "family_module", lambda name, room: family)

import importlib
import pkgutil

import pytest

from evenruler.models import backends
from evenruler.models.backends.packs import in_packs
from evenruler.models.engines import call


def test_every_operation_that_a_backend_answers_in_packs_is_one_of_a_pool() -> None:
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.iter_modules(backends.__path__, "evenruler.models.backends.")
    ]
    classes = {own for module in modules for own in vars(module).values() if isinstance(own, type)}

    assert {
        name for own in classes for name, found in vars(own).items() if isinstance(found, in_packs)
    } == call.OPERATIONS


@pytest.mark.parametrize("name", ["loglikelihod", "model", "__len__"])
def test_no_other_name_is_taken_for_an_operation(name) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(call.Pool.__new__(call.Pool), name)

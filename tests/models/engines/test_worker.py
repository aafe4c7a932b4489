"""A worker and the operations of a pool, without a cluster."""

import importlib
import pkgutil
from dataclasses import replace
from typing import Any

import pytest

from evenruler.models import backends
from evenruler.models.backends.batching import Batches, batched
from evenruler.models.engines.cluster import OPERATIONS, ClusterModel, Worker
from evenruler.models.engines.environment import current_environment


class Doubling:
    """Twice each number, two numbers at a time; a backend whose answers are known."""

    n_made = 0

    def __init__(self) -> None:
        type(self).n_made += 1

    @batched
    def double(self, numbers: Any) -> Batches[int]:
        places = range(len(numbers))
        indices = [list(places[first : first + 2]) for first in places[::2]]
        return Batches(indices, lambda pack: [(i, 2 * numbers[i]) for i in pack])


@pytest.fixture
def worker(monkeypatch) -> Worker:
    monkeypatch.setattr(Doubling, "n_made", 0)
    return Worker(1, current_environment("cpu"), "here")


def test_a_model_is_loaded_once_for_all_calls(worker) -> None:
    assert worker.begin(
        "a",
        Doubling,
        1,
        "double",
        [5, 6, 7],
    ) == [[0, 1], [2]]
    assert worker.answer(1, [2]) == [(2, 14)]
    assert worker.answer(1, [0, 1]) == [(0, 10), (1, 12)]
    assert worker.begin("a", Doubling, 2, "double", [1]) == [[0]]
    assert Doubling.n_made == 1

    worker.begin("b", Doubling, 3, "double", [1])
    assert Doubling.n_made == 2


def test_the_answers_to_another_call_are_not_given(worker) -> None:
    worker.begin("a", Doubling, 1, "double", [5, 6, 7])
    with pytest.raises(AssertionError):
        worker.answer(2, [0])


def test_a_worker_with_other_libraries_or_another_device_is_refused(user_error) -> None:
    environment = current_environment("cpu")
    other = replace(
        environment, device="cuda-9.0", libraries=(("torch", "1.0"), *environment.libraries[1:])
    )

    with user_error(
        "node far",
        "cuda-9.0, torch 1.0",
        f"cpu, torch {dict(environment.libraries)['torch']}",
        "install the same",
    ):
        Worker(1, other, "far").begin("a", Doubling, 1, "double", [1])


def test_a_pack_is_answered_whole_where_one_of_it_is_wanted() -> None:
    double = Doubling().double

    wanted = frozenset({1})
    assert list(
        double(
            [5, 6, 7],
            wanted,
        )
    ) == [[(0, 10), (1, 12)]]
    assert list(double([5, 6, 7], frozenset())) == []
    assert list(double([], frozenset())) == []


def test_every_operation_that_a_backend_answers_in_packs_is_one_of_a_pool() -> None:
    classes = set()
    for module in pkgutil.iter_modules(backends.__path__, "evenruler.models.backends."):
        members = vars(importlib.import_module(module.name)).values()
        classes |= {member for member in members if isinstance(member, type)}
    operations = set()
    for backend_class in classes:
        attributes = vars(backend_class).items()
        operations |= {name for name, method in attributes if isinstance(method, batched)}

    assert operations == OPERATIONS


def test_no_other_name_is_taken_for_an_operation() -> None:
    with pytest.raises(AttributeError, match="loglikelihod"):
        ClusterModel.__new__(ClusterModel).loglikelihod  # noqa: B018

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

    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    @batched
    def double(self, numbers: Any) -> Batches[int]:
        indices = [
            list(range(len(numbers)))[first : first + 2] for first in range(0, len(numbers), 2)
        ]
        return Batches(indices, lambda pack: [(i, 2 * numbers[i]) for i in pack])


@pytest.fixture
def worker(monkeypatch) -> Worker:
    monkeypatch.setattr(Doubling, "made", 0)
    return Worker(1, current_environment("cpu"), "here")


def test_a_model_is_loaded_once_for_all_calls(worker) -> None:
    assert worker.begin("a", Doubling, 1, "double", [5, 6, 7]) == [[0, 1], [2]]
    assert worker.answer(1, [2]) == [(2, 14)]
    assert worker.answer(1, [0, 1]) == [(0, 10), (1, 12)]
    assert worker.begin("a", Doubling, 2, "double", [1]) == [[0]]
    assert Doubling.made == 1

    worker.begin("b", Doubling, 3, "double", [1])
    assert Doubling.made == 2


def test_the_answers_to_another_call_are_not_given(worker) -> None:
    worker.begin("a", Doubling, 1, "double", [5, 6, 7])
    with pytest.raises(AssertionError):
        worker.answer(2, [0])


def test_a_worker_with_other_libraries_or_another_device_is_refused(user_error) -> None:
    own = current_environment("cpu")
    other = replace(own, device="cuda-9.0", libraries=(("torch", "1.0"), *own.libraries[1:]))

    with user_error(
        "node far",
        "cuda-9.0, torch 1.0",
        f"cpu, torch {dict(own.libraries)['torch']}",
        "install the same",
    ):
        Worker(1, other, "far").begin("a", Doubling, 1, "double", [1])


def test_a_pack_is_answered_whole_where_one_of_it_is_wanted() -> None:
    double = Doubling().double

    assert list(double([5, 6, 7], frozenset({1}))) == [[(0, 10), (1, 12)]]
    assert list(double([5, 6, 7], frozenset())) == []
    assert list(double([], frozenset())) == []


def test_every_operation_that_a_backend_answers_in_packs_is_one_of_a_pool() -> None:
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.iter_modules(backends.__path__, "evenruler.models.backends.")
    ]
    classes = {own for module in modules for own in vars(module).values() if isinstance(own, type)}

    assert {
        name for own in classes for name, found in vars(own).items() if isinstance(found, batched)
    } == OPERATIONS


@pytest.mark.parametrize("name", ["loglikelihod", "model", "__len__"])
def test_no_other_name_is_taken_for_an_operation(name) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(ClusterModel.__new__(ClusterModel), name)

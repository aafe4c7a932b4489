"""Every fault of the table, and what becomes of it."""

import importlib
import pkgutil
from collections import Counter
from pathlib import Path

import pytest

import tests.faults
from tests.faults.cases import Case, check

pytestmark = pytest.mark.enable_socket

PLACES = [
    name
    for _, name, _ in pkgutil.iter_modules(tests.faults.__path__)
    if name != "cases" and not name.startswith("test_")
]
"""The modules that hold faults."""


def cases() -> list[Case]:
    every: list[Case] = []
    for place in PLACES:
        every += importlib.import_module(f"tests.faults.{place}").CASES
    return every


def marks(case: Case) -> list[pytest.MarkDecorator]:
    if case.long:
        return [pytest.mark.slow, pytest.mark.long]
    return [pytest.mark.slow] if case.slow else []


PARAMETERS = [pytest.param(case, id=str(case), marks=marks(case)) for case in cases()]


@pytest.mark.parametrize("case", PARAMETERS)
def test_fault(case: Case, tmp_path: Path) -> None:
    check(case, case.act(tmp_path))


def test_each_fault_of_an_operation_stands_once() -> None:
    n_by_line = Counter(map(str, cases()))
    assert [line for line, n_times in n_by_line.items() if n_times > 1] == []

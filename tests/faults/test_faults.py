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
    return [
        case for place in PLACES for case in importlib.import_module(f"tests.faults.{place}").CASES
    ]


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=str(c), marks=[pytest.mark.slow] * c.slow) for c in cases()]
)
def test_fault(case: Case, tmp_path: Path) -> None:
    check(case, case.act(tmp_path))


def test_each_fault_of_an_operation_stands_once() -> None:
    assert [line for line, times in Counter(map(str, cases())).items() if times > 1] == []

"""Libraries that tests compare with: loaded when a test asks something of them, not when all tests
are collected."""

import importlib
from typing import Any


class Later:
    """A module by its name, as `pingouin = Later("pingouin")`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)

"""Names of a package that are imported when somebody asks for them."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazily(package: str, **modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package, so that importing one of its modules does not import them all.

    `modules`: by name, the module of the package that defines it; with a dot before it, beside the package.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{modules[name]}", package), name)

    return find

"""Lazy import of a package's public names."""

from collections.abc import Callable
from importlib import import_module


def lazy_getattr(package: str, **modules: str) -> Callable[[str], object]:
    """A `__getattr__` for a package that imports names on first access.

    `modules`: for each name, the module of the package that defines it; a leading dot means a
    sibling of the package.
    """

    def find(name: str) -> object:
        """Import the module that defines a name and return the object; AttributeError if the
        package has no such name.
        """
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{modules[name]}", package), name)

    return find

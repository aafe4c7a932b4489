"""Even Ruler: declare, build, score and check bias benchmarks for language models."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenruler.evaluate.measure import measure
    from evenruler.results.store import load_results

__version__ = "0.1.0"

__all__ = ["load_results", "measure"]


def __dir__() -> list[str]:  # names that nobody asked for yet, too
    return sorted({*globals(), *__all__})


def lazily(package: str, **modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package, so that importing one of its modules does not import them all.

    `modules`: by name, the module of the package that defines it; with a dot before it, beside the package.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{modules[name]}", package), name)

    return find


# What users import; the house imports modules, so that importing one of them loads nothing else.
__getattr__ = lazily(__name__, load_results="results.store", measure="evaluate.measure")

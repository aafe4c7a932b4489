"""Even Ruler: declare, build, score and check bias benchmarks for language models."""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.evaluate.measure import measure
    from evenruler.results.store import load_results

__version__ = "0.1.0"

__all__ = ["load_results", "measure"]


def __dir__() -> list[str]:  # includes names that are not imported yet
    """All public names, sorted, for completion in a terminal."""
    return sorted({*globals(), *__all__})


# The public API. Modules here import from submodules instead, so that importing one loads nothing
# else.
__getattr__ = lazy_getattr(__name__, load_results="results.store", measure="evaluate.measure")

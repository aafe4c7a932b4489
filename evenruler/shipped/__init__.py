"""Benchmarks, adapters and what sources share: a wheel has copies, a clone its own folders."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_CLONE = Path(__file__).parents[2]


def benchmarks() -> Path:
    """The folder of the published benchmarks, each in a folder of its name."""
    return _first(_PACKAGE / "benchmarks", _CLONE / "benchmarks")


def adapters() -> Path:
    """The folder of the adapters, each in a folder of its model's name."""
    return _first(_PACKAGE / "adapters", _CLONE / "data/adapters")


def shared(family: str) -> Path:
    """The folder of what the sources of a family share; a wheel has what questionnaires need."""
    return _first(_PACKAGE / "shared", _CLONE / "data/sources") / family / "shared"


def _first(packed: Path, cloned: Path) -> Path:
    return packed if packed.is_dir() else cloned

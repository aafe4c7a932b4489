"""Replaces parts of libraries for a while, where they offer no setting."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def replace_attributes(target: object, **replacements: object) -> Iterator[None]:
    """A context in which attributes of a module or object have other values."""
    originals = {name: getattr(target, name) for name in replacements}
    try:
        for name, replacement in replacements.items():
            setattr(target, name, replacement)
        yield
    finally:
        for name, original in originals.items():
            setattr(target, name, original)

"""Framing: the same question with and without cues that it is a test, and how that changes the
answers.
"""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.instruments.framing.diagnose.effects import apd

__all__ = ["apd"]

__getattr__ = lazy_getattr(__name__, apd="diagnose.effects")

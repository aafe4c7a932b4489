"""Declarations of probes, as users write them: settings, and sources with their criterion."""

from evenruler.instruments.probes.declare.settings import Settings, headings
from evenruler.instruments.probes.declare.source import load
from evenruler.models.declarations import Catalogue

__all__ = ["Settings", "headings", "load", "takes"]

takes = Catalogue.scores_or_writes

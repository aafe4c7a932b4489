"""The report: one page with figures, tables and pictures of what is built."""

from evenruler.report.grid import FigureCell, InstrumentView
from evenruler.report.page import Section, render_page

__all__ = ["FigureCell", "InstrumentView", "Section", "render_page"]

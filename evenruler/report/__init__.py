"""The report: one page with figures, tables and pictures of what is built."""

from evenruler.report.grid import FigureCell, InstrumentView, make_figure_cell
from evenruler.report.page import Section, render_page

__all__ = ["FigureCell", "InstrumentView", "Section", "make_figure_cell", "render_page"]

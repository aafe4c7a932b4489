"""The report: one page with figures, tables and pictures of what is built."""

from evenruler.report.grid import Instrument, Told
from evenruler.report.page import Section, render_page

__all__ = ["Instrument", "Section", "Told", "render_page"]

"""Pictures and the page that holds them; reads what is built."""

from evenruler.report.page import Section, render_page

__all__ = ["Section", "render_page"]

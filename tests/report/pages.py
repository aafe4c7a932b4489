"""Pages of sections, for tests of those who write sections."""

import re
from typing import Any

from evenruler.report import Instrument, Section, render_page
from evenruler.report.page import unpacked


def page_of(*sections: Section) -> str:
    """A page with one instrument that has these sections."""
    return render_page("t", "l", [Instrument("x", "family", "X", "", (), (), sections=sections)])


def pictures_in(page: str) -> list[Any]:
    """What the page's script would draw, of all that opens."""
    parts = re.findall(r'<script type="text/plain" class="packed">(.*?)</script>', page)
    return [picture for part in parts for picture in unpacked(part)["pictures"]]

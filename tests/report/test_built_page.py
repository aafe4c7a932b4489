"""The page that this repository built, where it did: short, light, drawn at once, without
barriers.
"""

from itertools import product
from pathlib import Path

import axe_core_python
import pytest

from tests import browser
from tests.conftest import ROOT

PAGES = sorted(ROOT.glob("data/report/index.html"))
"""None before the pipeline ran."""
MOST_WORDS, MOST_BYTES, MOST_MILLISECONDS = 12_000, 1_000_000, 1_000
WORDS = """(() => {
  const body = document.body.cloneNode(true);
  body.querySelectorAll('script, style').forEach((one) => one.remove());
  return body.textContent.split(/\\s+/).filter(Boolean).length;
})()"""
"""All words, folded ones too."""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def test_it_is_light() -> None:
    assert [page for page in PAGES if page.stat().st_size > MOST_BYTES] == []


@pytest.mark.skipif(browser.found() is None, reason="no Chromium here")
def test_it_is_short_and_drawn_at_once_without_barriers() -> None:
    axe = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
    for page in PAGES:
        with browser.Browser() as tab:
            milliseconds = []
            for width, dark in product((1280, 390), (False, True)):
                tab.sized(width, 844, dark)
                tab.open(page)
                tab.until(f"{LOADED} > 0")
                milliseconds.append(tab.run(LOADED))
                assert tab.run("document.documentElement.scrollWidth") == width
                tab.run(axe)
                assert tab.run("axe.run().then(({violations}) => violations)") == []
            assert tab.run(WORDS) <= MOST_WORDS
            assert min(milliseconds) <= MOST_MILLISECONDS
            assert "not measured" not in tab.run("document.body.textContent")
            assert tab.said == []

"""The page with many models: seconds until its first page is painted, and its size.

Run by hand in a built clone: `OMP_NUM_THREADS=1 python -m tests.performance.page FOLDER [--models 8] [--paper]`. The
models of each family are copied until there are so many, under names of their own, every row of a copy moved by a
seeded draw of a tenth of its size. With `--paper` the tables of SAGED are copied to those of the paper's run, too: 75
root items x 21 concepts x 5 roles x 45 features x 4 models would be 1,417,500 measurements. Prints what the page
weighs, when the browser first painted it, when all of it was read, and how wide the document is at 1280 and 375 pixels;
FOLDER gets the page and pictures of it, light, dark and narrow.
"""

import argparse
import json
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd

from stages import report
from stages.files import TABLES
from tests.browser import Browser

VIEWS = {"1280": (1280, False), "dark": (1280, True), "375": (375, False)}
TALLEST = 2600
"""Pixels of a picture."""
NOISE = 0.1
OF_PAPER = {"concept": 21, "group": 21, "role": 5, "feature": 45}
POINTED_AT = ("disparities", "shapes")
"""Tables in which the group is what was found, not what was measured."""
SEED = 20


def copied(table: pd.DataFrame, column: str, many: int, rng: np.random.Generator) -> pd.DataFrame:
    """The rows of each value of a column, as of each model, and of seeded copies of them in turn, until there are so
    many values."""
    own = sorted(table[column].dropna().unique()) if column in table else []
    found = [table]
    for number in range(len(own), many if own else 0):
        of = own[number % len(own)]
        rows = table[table[column] == of].assign(**{column: f"{of}-{number + 1}"})
        floats = rows.select_dtypes("float").columns
        factors = rng.normal(1, NOISE, len(rows))
        found.append(rows.assign(**{name: rows[name] * factors for name in floats}))
    return pd.concat(found, ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--paper", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    read = report.read_frame

    def grown(path: Path) -> pd.DataFrame:
        """A table of the diagnosis as it would be."""
        table = read(path)
        if TABLES not in path.parts:
            return table
        for column, many in OF_PAPER.items() if given.paper and "saged" in path.parts else ():
            if column != "group" or path.stem not in POINTED_AT:
                table = copied(table, column, many, rng)
        return copied(table, "model", given.models, rng)

    try:
        report.read_frame = grown
        started = time.process_time()
        report.main()
        print(f"made in {time.process_time() - started:.1f} s of the processor")
    finally:
        report.read_frame = read
    page = given.folder / f"{given.models}-models.html"
    shutil.move(report.REPORT / "index.html", page)
    print(f"{page.stat().st_size / 1e6:.2f} MB")
    for name, (width, dark) in VIEWS.items():
        with Browser(width, 900, dark) as browser:
            browser.open(page)
            paints = "performance.getEntriesByName('first-contentful-paint')"
            browser.until(f"{paints}.length")
            times = browser.run(
                f"JSON.stringify([{paints}[0].startTime, performance.getEntriesByType('navigation')[0].loadEventEnd])"
            )
            painted, read_whole = (one / 1000 for one in json.loads(times))
            wide, high = (browser.run(f"document.documentElement.scroll{side}") for side in ("Width", "Height"))
            print(f"{name}: painted after {painted:.2f} s, read after {read_whole:.2f} s, {wide} x {high} pixels")
            browser.sized(width, min(high, TALLEST), dark)
            browser.picture(given.folder / f"{given.models}-models-{name}.png")
            assert not browser.said, browser.said


if __name__ == "__main__":
    main()

"""The page in a real browser: filled in, reloaded, saved, read."""

import shutil

import pandas as pd
import pytest

from evenruler.instruments.probes.ratings import CRITERIA, Construct, as_page, as_sheet, collect, read_key
from tests.instruments.probes.ratings.browser import tab
from tests.instruments.probes.ratings.conftest import CONSTRUCTS

TAB, RIGHT = ("Tab", 9), ("ArrowRight", 39)


@pytest.fixture
def page(blinded, tmp_path):
    """The opened page and the folder that it saves to."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here")
    path, saved = tmp_path / "raters/sheet.html", tmp_path / "saved"
    path.parent.mkdir()
    saved.mkdir()
    told = [Construct(name, ["able"], ["elder"]) for name in CONSTRUCTS.values()]
    path.write_text(as_page(blinded.rows, told), encoding="utf-8")
    with tab(chromium, tmp_path / "profile", saved) as opened:
        opened.open(path.as_uri())
        yield opened, saved


def status(opened):
    return opened.run("document.querySelector('[role=status]').textContent")


def focused(opened):
    return opened.run("document.activeElement.name + ' ' + document.activeElement.value")


def test_a_sheet_is_filled_by_keyboard_survives_a_reload_and_is_read(page, blinded) -> None:
    opened, saved = page
    first, second = blinded.rows["id"][:2]
    assert status(opened) == "0 of 20 ratings given"
    opened.run("document.getElementById('rater').focus()")
    opened.type('Ana, "the 1st" Čapek')
    for _ in range(4):  # three buttons, then the first criterion
        opened.press(*TAB)
    assert focused(opened) == f"{first}-clarity "
    for _ in range(4):  # from "no rating" round to 1, and on
        opened.press(*RIGHT)
    opened.press(*TAB)
    opened.press(*RIGHT)
    assert focused(opened) == f"{first}-relevance 1"
    opened.run(f"document.querySelector('input[name={second}-subtlety][value=\"5\"]').click()")
    assert status(opened) == "3 of 20 ratings given"

    opened.reload()
    assert status(opened) == "3 of 20 ratings given"
    assert opened.run("document.querySelector('progress').position") == 3 / 20
    opened.run("document.getElementById('save').click()")
    opened.downloaded()
    assert status(opened) == "Saved ratings-Ana-the-1st-Čapek.csv; 17 of 20 ratings are missing"

    (path,) = saved.iterdir()
    assert path.name == "ratings-Ana-the-1st-Čapek.csv"
    key = read_key(blinded.key.to_csv(index=False), "key.csv")
    ratings = collect({path.name: path.read_text(encoding="utf-8")}, key).dropna()
    assert [*ratings["rater"].unique()] == ['ana, "the 1st" čapek']
    given = {(row.id, row.criterion): row.rating for row in ratings.itertuples()}
    assert given == {(first, "clarity"): 4, (first, "relevance"): 1, (second, "subtlety"): 5}


def test_what_it_saves_is_the_sheet_filled_in(page, blinded) -> None:
    """Byte by byte as pandas would write it, quotes, angle brackets and all."""
    opened, saved = page
    opened.run("document.getElementById('rater').focus()")
    opened.type("ben")
    opened.run("document.querySelectorAll('input[value=\"2\"]').forEach((choice) => choice.click())")
    opened.run("document.getElementById('save').click()")
    opened.downloaded()
    assert status(opened) == "Saved ratings-ben.csv"
    filled = blinded.rows.assign(**dict.fromkeys(CRITERIA, 2), rater="ben")
    columns = as_sheet(blinded.rows).partition("\n")[0].split(",")
    assert (saved / "ratings-ben.csv").read_text(encoding="utf-8") == filled[columns].to_csv(index=False)


def test_no_name_no_file(page) -> None:
    opened, saved = page
    opened.run("document.getElementById('rater').value = '  '")
    opened.run("document.getElementById('save').click()")
    assert status(opened) == "Please write your name or code first."
    assert opened.run("document.activeElement.id + document.activeElement.ariaInvalid") == "ratertrue"
    assert not [*saved.iterdir()]


def test_what_is_missing_is_found_and_a_rating_can_be_taken_back(page, blinded) -> None:
    opened, _ = page
    ids = blinded.rows["id"]
    opened.run("document.querySelectorAll('input[value=\"3\"]').forEach((choice) => choice.click())")
    assert status(opened) == "20 of 20 ratings given"
    opened.run("document.getElementById('next').click()")
    assert status(opened) == "No rating is missing."
    opened.run(f"document.querySelector('input[name={ids[3]}-naturalness][value=\"\"]').click()")
    opened.run("document.getElementById('next').click()")
    assert focused(opened).startswith(f"{ids[3]}-naturalness ")
    opened.run("window.confirm = () => true; document.getElementById('clear').click()")
    opened.reload()
    assert status(opened) == "0 of 20 ratings given"


def test_every_control_has_a_name(page) -> None:
    """As a screen reader is told: each choice its number, each group its criterion."""
    opened, _ = page
    opened.ask("Accessibility.enable")
    nodes = pd.DataFrame(
        [
            {"role": node["role"]["value"], "name": node.get("name", {}).get("value", "").strip()}
            for node in opened.ask("Accessibility.getFullAXTree")["nodes"]
            if not node["ignored"]
        ]
    )
    by_role = nodes.groupby("role")["name"].agg(list)
    assert sorted(set(by_role["radio"])) == ["1", "2", "3", "4", "5", "no rating"]
    assert len(by_role["radio"]) == 120
    assert sorted({name.lower() for name in by_role["group"]}) == sorted(CRITERIA)
    assert by_role["textbox"] == ["Your name or code"]
    assert by_role["progressIndicator" if "progressIndicator" in by_role else "progressbar"] == ["Ratings given"]
    assert by_role["article"] == [f"Sentence {i} of 5" for i in range(1, 6)]

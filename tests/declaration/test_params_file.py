"""`params.yaml` as a stage reads it."""

import pytest

from evenruler.declaration.params_file import (
    FIRST_VERSION,
    Active,
    ParamsFile,
)
from evenruler.instruments.registry import FAMILIES
from evenruler.measurement import Resampling

ACTIVE = """\
active:
  profile: quick
  card: {ours: {family: framing, source: a.yaml}}
  card_third_party: {theirs: {family: framing, source: b.yaml}}
"""

PARAMS = """\
models:
  tiny: {kind: causal, source: "local:weights/tiny", licence: mit, origin: o}
training:
  nli: {source: "local:nli.csv", licence: mit, origin: o}
instruments:
  ours: {family: framing}
  theirs: {family: framing, stimuli: {trial: 2, standard: 8, full: 20}, seed: 9}
  couples: {family: pairs, most: 4}
  small: {family: framing, profile: quick}
  large: {family: framing, profile: paper, new_tokens: 6}
families:
  framing: {mass: first_token, seed: 3, stimuli: 7, generations: {trial: 0, standard: 1, full: 4}}
  pairs:
diagnosis: {level: 0.9, seed: 5}
versions: {framing-ours: 1.2.0}
"""
INSTRUMENTS = PARAMS[PARAMS.index("instruments:") : PARAMS.index("families:")]


@pytest.fixture
def declared(file_with, monkeypatch):
    """Reads the declaration, each (old, new) replaced once in it; `active` is beside it."""
    monkeypatch.setitem(FAMILIES, "pairs", "docs.example_family.pairs")

    def read(*changes: tuple[str, str], profile=None, active=ACTIVE) -> ParamsFile:
        path = file_with("params.yaml", PARAMS, *changes)
        path.with_name("active.yaml").write_text(active)
        return ParamsFile(path, profile)

    return read


class TestSettings:
    def test_an_entry_goes_over_its_family_and_that_over_the_default_of_the_scale(
        self, declared
    ) -> None:
        ours, theirs = declared().settings("ours"), declared().settings("theirs")
        assert (ours.mass, ours.seed, ours.stimuli) == ("first_token", 3, 7)
        assert (ours.generations, ours.new_tokens) == (1, 20)
        assert (theirs.mass, theirs.seed, theirs.stimuli) == ("first_token", 9, 8)
        assert declared(profile="paper").settings("ours").new_tokens == 50

    def test_a_value_goes_over_another_whole(self, declared) -> None:
        """What is by profile in the family may be one value in the entry, and the other way
        about.
        """
        change = ("  ours: {family: framing}", "  ours: {family: framing, generations: 2}")
        assert declared(change, profile="paper").settings("ours").generations == 2
        assert declared(profile="paper").settings("theirs").stimuli == 20

    @pytest.mark.parametrize(
        ("profile", "size", "stimuli"), [("quick", "standard", 8), ("paper", "full", 20)]
    )
    def test_the_profile_says_which_size_the_build_asks(
        self, declared, profile, size, stimuli
    ) -> None:
        settings = declared(profile=profile).settings("theirs")
        assert (settings.size, settings.stimuli) == (size, stimuli)

    def test_every_size_may_be_read(self, declared) -> None:
        sizes = declared().sizes("theirs")
        assert {size: settings.size for size, settings in sizes.items()} == {
            "trial": "trial",
            "standard": "standard",
            "full": "full",
        }
        assert [settings.stimuli for settings in sizes.values()] == [2, 8, 20]

    @pytest.mark.parametrize(
        ("change", "name", "line"),
        [
            (
                ("mass: first_token", "mas: first_token"),
                "ours",
                "families.framing.mas: unknown key 'mas'; did you mean 'mass'?; rename or remove "
                "it",
            ),
            (
                ("{trial: 2, standard: 8, full: 20}", "{trial: 2}"),
                "theirs",
                "instruments.theirs.stimuli: found {'trial': 2}, "
                "expected one for trial and one for standard and one for full; fix it",
            ),
            (
                ("seed: 9", "size: standard"),
                "theirs",
                "instruments.theirs.size: unknown key 'size'; did you mean 'seed'?; rename or "
                "remove it",
            ),
            (
                ("seed: 9", "seed: -9"),
                "theirs",
                "instruments.theirs.seed: found -9: input should be greater than or equal to 0; "
                "fix it",
            ),
        ],
        ids=[
            "unknown-of-family",
            "scaled-of-entry",
            "size-of-entry",
            "entry-over-family",
        ],
    )
    def test_a_mistake_is_where_it_was_written(
        self, declared, error_of, change, name, line
    ) -> None:
        declaration = declared(change)
        assert error_of(declaration.settings, name) == f"{declaration.path}: {line}"


class TestInstruments:
    @pytest.mark.parametrize(
        ("profile", "names"),
        [
            ("quick", ["ours", "theirs", "couples", "small"]),
            ("paper", ["ours", "theirs", "couples", "large"]),
        ],
    )
    def test_of_a_scale_with_their_family_in_order(self, declared, profile, names) -> None:
        family_by_name = declared(profile=profile).instruments
        assert list(family_by_name) == names
        assert family_by_name["couples"] == "pairs"
        assert {family_by_name[name] for name in names if name != "couples"} == {"framing"}

    def test_there_may_be_none(self, declared) -> None:
        assert declared((INSTRUMENTS, "")).instruments == {}
        assert declared((INSTRUMENTS, "instruments:\n")).instruments == {}

    @pytest.mark.parametrize("entry", ["{family: gone}", "framing"])
    def test_one_of_no_family(self, declared, error_of, entry) -> None:
        declaration = declared(("{family: pairs, most: 4}", entry))
        line = error_of(lambda: declaration.instruments)
        what = "no family 'gone'" if "gone" in entry else "no family"
        families = "probes, questionnaires, framing, saged, external, likert, pairs"
        assert line == f"{declaration.path}: instruments.couples: {what}; name one: {families}"

    def test_one_of_no_scale(self, declared, error_of) -> None:
        declaration = declared(("profile: paper,", "profile: papre,"), profile="quick")
        assert error_of(lambda: declaration.instruments) == (
            f"{declaration.path}: instruments.large.profile: no profile 'papre'; "
            "name one (quick or paper), or leave it out for both"
        )


class TestOtherParts:
    def test_the_scale_is_that_in_use_unless_another_is_asked_for(self, declared) -> None:
        assert (declared().profile, declared(profile="paper").profile) == ("quick", "paper")
        assert declared(active="active: {profile: paper}\n").profile == "paper"

    def test_without_the_file_the_scale_is_the_first_and_nothing_is_in_use(
        self, declared, error_of
    ) -> None:
        declaration = declared()
        path = declaration.path.with_name("active.yaml")
        path.unlink()
        assert declaration.profile == "quick"
        assert (
            error_of(lambda: declaration.active)
            == f"{path}: no such file; run `evenruler check`, which writes it"
        )

    def test_versions_are_those_of_benchmarks(self, declared) -> None:
        declaration = declared()
        assert (declaration.version("ours"), declaration.version("theirs")) == (
            "1.2.0",
            FIRST_VERSION,
        )

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ("profile: quick", "profile: qick", "active.profile: found 'qick'"),
            ("active:", "actve:", "active.profile: missing"),
        ],
        ids=["profile", "no-section"],
    )
    def test_a_mistake_in_what_is_in_use(self, declared, error_of, old, new, reason) -> None:
        """Read by a stage; `evenruler check` writes the file anew."""
        assert ACTIVE.count(old) == 1
        declaration = declared(active=ACTIVE.replace(old, new))
        assert error_of(lambda: declaration.active).startswith(
            f"{declaration.path.with_name('active.yaml')}: {reason}"
        )

    def test_intervals(self, declared) -> None:
        assert declared().resampling == Resampling(0.9, 2000, 5)
        assert declared(("diagnosis: {level: 0.9, seed: 5}\n", "")).resampling == Resampling(
            0.95, 2000, 20
        )

    @pytest.mark.parametrize(
        ("wrong", "bound"),
        [
            ("resamples: 1000000000", "less than or equal to 100000"),
            ("seed: 4294967296", "less than 4294967296"),
        ],
    )
    def test_intervals_that_nobody_can_wait_for_or_draw(
        self, declared, error_of, wrong, bound
    ) -> None:
        declaration = declared(("seed: 5", wrong))
        key, _, value = wrong.partition(": ")
        line = (
            f"{declaration.path}: diagnosis.{key}: found {value}: input should be {bound}; fix it"
        )
        assert error_of(lambda: declaration.resampling) == line


def test_what_is_not_in_use_is_named(error_of) -> None:
    active = Active.model_validate(
        {"profile": "quick", "families": {"probes": {"instruments": ["jobs"], "models": []}}}
    )
    assert active.entry("families", "probes").instruments == ["jobs"]
    assert error_of(active.entry, "families", "probe") == (
        "active.yaml: active.families: 'probe' is not in use; check the name (did you mean "
        "'probes'?), "
        "or run `evenruler check`"
    )


@pytest.mark.parametrize(
    ("name", "key", "place"),
    [
        ("ours", "seed", "families.framing.seed"),
        ("theirs", "seed", "instruments.theirs.seed"),
        ("theirs", "mass.deep", "families.framing.mass.deep"),
        ("ours", "embedder", "instruments.ours.embedder"),
        ("couples", "most", "instruments.couples.most"),
    ],
)
def test_a_key_stands_where_it_was_written(declared, name, key, place) -> None:
    declaration = declared()
    assert declaration.place(name, key) == f"{declaration.path}: {place}"

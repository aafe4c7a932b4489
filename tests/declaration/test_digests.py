"""Digests that stages depend on: what changes one, and what leaves it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from dvc.utils.serialize import load_yaml
from ruamel.yaml import YAML

from evenruler.declaration import digests, params_file
from evenruler.declaration.active import DeclaredInstrument, compute_active, instruments_at
from evenruler.declaration.digests import compute_digests, digest_settings
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.instruments.registry import family_module
from evenruler.project.check import check
from evenruler.strict import read_yaml
from stages import declared as stage
from tests.project import told

ROOT = Path(__file__).parents[2]
INSTRUMENTS = read_yaml(ROOT / "params.yaml")["instruments"]
ONE_OF_EACH_FAMILY = {
    entry["family"]: name
    for name, entry in reversed(INSTRUMENTS.items())
    if entry.get("profile", "quick") == "quick"
}
LEAST_COVERED = 0.6
"""Part of the fields of a family's settings for which another value is found."""

Entries = dict[str, Any]


@pytest.fixture(autouse=True)
def _without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests of code have tests of their own."""
    monkeypatch.setattr(digests, "code_digests", lambda root: {})


class Shipped:
    """The repository's own declaration at the quick profile, and what it is after a change."""

    def __init__(self) -> None:
        self.params = load_params(ROOT / "params.yaml")
        self.entries: Entries = read_yaml(ROOT / "params.yaml")
        self.entries["models"]["other-embedder"] = self.entries["models"]["all-minilm-l6-v2"]
        self.found = instruments_at(ROOT, ROOT / "params.yaml", "quick")
        self.active = compute_active(self.found, ROOT / "params.yaml", "quick")

    def with_key(self, name: str, key: str, value: Any) -> Entries:
        """The entries with another value of a key of an instrument."""
        instruments = {**self.entries["instruments"]}
        instruments[name] = {**instruments[name], key: value}
        return {**self.entries, "instruments": instruments}

    def instruments(self, entries: Entries) -> dict[str, DeclaredInstrument]:
        """By name, with the sources as they are; UserError if a setting is invalid."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(params_file, "read_yaml", lambda path: entries)
            declared = ParamsFile(ROOT / "params.yaml", "quick")
        instrument_by_name = {}
        for instrument in self.found:
            settings = declared.settings(instrument.name)
            settings.require_able(instrument.source, declared.catalogue, str)
            instrument_by_name[instrument.name] = replace(
                instrument, settings=settings, sizes=declared.sizes(instrument.name)
            )
        return instrument_by_name

    def settings(self, instruments: dict[str, DeclaredInstrument]) -> dict[str, str]:
        """The digests of settings."""
        digest_by_name: dict[str, str] = compute_digests(
            ROOT, self.params, self.active, list(instruments.values())
        )["settings"]
        return digest_by_name


@pytest.fixture(scope="module")
def shipped() -> Shipped:
    return Shipped()


def other_values(annotation: Any, value: Any, models: list[str]) -> Iterator[Any]:
    """Values that a field of a type may have beside its own, some of them invalid; none for what
    nests models."""
    options = get_args(annotation)
    if get_origin(annotation) is Literal:
        yield from (option for option in options if option != value)
    elif annotation is bool:
        yield not value
    elif annotation is int:
        yield from (value + 1, value + 2, value - 1, value - 2)
    elif annotation is float and value is None:
        yield 0.5
    elif annotation is float:
        yield from (value / 2, value * 2)
    elif annotation is str:
        yield from models
    elif isinstance(value, dict) and len(value) > 1:
        yield {key: value[key] for key in list(value)[1:]}
    else:
        for option in options:
            yield from other_values(option, value, models)


def test_another_order_is_another_setting(shipped: Shipped) -> None:
    """The roles of `saged` are asked from the first on, so that their order says which are."""
    before = shipped.settings(shipped.instruments(shipped.entries))
    family = shipped.entries["families"]["saged"]
    turned = {**family, "roles": dict(reversed(family["roles"].items()))}
    families = {**shipped.entries["families"], "saged": turned}
    after = shipped.settings(shipped.instruments({**shipped.entries, "families": families}))
    assert {name for name in before if before[name] != after[name]} == {
        "countries",
        "fruit",
        "ideologies",
    }


def test_a_table_of_prompts_is_part_of_its_settings_and_text_that_is_scraped_is_not(
    shipped: Shipped, tmp_path: Path
) -> None:
    instruments = shipped.instruments(shipped.entries)
    countries, fruit = instruments["countries"], instruments["fruit"]
    table = tmp_path / countries.extra_files["material"]
    table.parent.mkdir(parents=True)
    table.write_text("prompt\n")
    before = digest_settings(countries, tmp_path)
    table.write_text("prompt\nWhy {concept}?\n")
    assert digest_settings(countries, tmp_path) != before
    assert digest_settings(fruit, tmp_path) == digest_settings(fruit, ROOT)


@pytest.mark.parametrize("name", ONE_OF_EACH_FAMILY.values())
def test_each_key_of_an_instrument_changes_its_settings_and_no_others(
    shipped: Shipped, name: str
) -> None:
    before = shipped.instruments(shipped.entries)
    instrument, digest = before[name], shipped.settings(before)
    models = list(shipped.entries["models"])
    declared = shipped.entries["families"].get(instrument.family) or {}
    declared = {**declared, **shipped.entries["instruments"][name]}
    fields = family_module(instrument.family, "declare").Settings.model_fields
    covered = set[str]()
    for key, field in fields.items():
        read = getattr(instrument.settings, key)
        value = declared.get(key, read)
        if isinstance(value, dict) and not isinstance(read, dict):  # by size or profile
            value = read
        for other in other_values(field.annotation, value, models):
            try:
                after = shipped.instruments(shipped.with_key(name, key, other))
            except UserError:
                continue
            if (after[name].settings, after[name].sizes) == (instrument.settings, instrument.sizes):
                continue
            changed = shipped.settings(after)
            differing = [
                other_name for other_name in digest if changed[other_name] != digest[other_name]
            ]
            assert differing == [name], (key, value, other)
            covered.add(key)
            break
    lacking = sorted(fields.keys() - covered)
    assert len(covered) >= LEAST_COVERED * len(fields), lacking


Change = tuple[str, str]
UNTRAINED = ('source: "local:weights/tiny"', 'source: "untrained:big"')
FITTED = (
    (
        "  parked: {kind: nli,",
        "  parked: {kind: encoder, lineage: enc, finetune: {data: [nli], validation: nli},",
    ),
    (
        "diagnosis: {",
        'training:\n  nli: {source: "local:nli.csv", licence: mit, origin: pairs}\ndiagnosis: {',
    ),
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    told.register(monkeypatch)
    return tmp_path


def digests_of(root: Path, *changes: Change) -> dict[str, Any]:
    path = told.put(root, *changes)
    instruments = instruments_at(root, path, "quick")
    return compute_digests(
        root, load_params(path), compute_active(instruments, path, "quick"), instruments
    )


def changed_by(root: Path, *changes: Change, since: tuple[Change, ...] = ()) -> set[str]:
    """The keys that differ, such as `tools.bred`."""
    before = flat(digests_of(root, *since))
    after = flat(digests_of(root, *since, *changes))
    assert before.keys() == after.keys()
    return {key for key in before if before[key] != after[key]}


ALONE = ("declared", "labels")
"""Kinds of which there is one digest."""


def flat(by_kind: dict[str, Any]) -> dict[str, str]:
    digests = {kind: by_kind[kind] for kind in ALONE}
    for kind in by_kind.keys() - set(ALONE):
        for name, digest in by_kind[kind].items():
            digests[f"{kind}.{name}"] = digest
    return digests


class TestSettings:
    def test_those_of_the_other_scale_do_not_count(self, small: Path) -> None:
        assert changed_by(small, ("{most: 3}", "{most: {quick: 3, paper: 4}}")) == set()
        assert (
            changed_by(
                small, ("profile: paper}\n\nfamilies", "profile: paper, most: 9}\n\nfamilies")
            )
            == set()
        )

    @pytest.mark.parametrize(
        "setting", ["seed: 0", "stimuli: {trial: 12, standard: 24, full: 1000}"]
    )
    def test_what_holds_anyway_changes_none(self, small: Path, setting: str) -> None:
        assert (
            changed_by(small, ("hair: {family: framing}", f"hair: {{family: framing, {setting}}}"))
            == set()
        )


class TestModels:
    @pytest.mark.parametrize(
        ("change", "changed"),
        [
            (("local:weights/parked", "local:weights/other"), {"tools.bred"}),
            (("    licence: mit\n", "    licence: other\n"), {"models.shared"}),
            (
                ("judge: parked", "judge: parked, also: head"),
                {"tools.bred", "settings.bred", "declared"},
            ),
        ],
    )
    def test_the_entry_of_one_that_is_named_or_asked_and_its_name_count(
        self, small: Path, change: Change, changed: set[str]
    ) -> None:
        assert changed_by(small, change) == changed

    def test_a_label_of_one_that_is_asked_counts_for_cards(self, small: Path) -> None:
        label = ("    licence: mit\n", "    licence: mit\n    label: Shared\n")
        assert changed_by(small, label) == {"labels", "models.shared"}

    def test_every_digest_is_a_text_since_dvc_leaves_out_some_keys_of_mappings(
        self, small: Path
    ) -> None:
        label = ("    licence: mit\n", "    licence: mit\n    label: Shared\n")
        digests = flat(digests_of(small, label))
        assert {type(digest) for digest in digests.values()} == {str}

    def test_that_of_one_that_is_not_in_use_changes_nothing(self, small: Path) -> None:
        assert changed_by(small, ("local:weights/head", "local:weights/other")) == set()

    def test_that_of_which_an_untrained_one_is_made_counts_for_it(self, small: Path) -> None:
        assert changed_by(small, ("local:weights/big", "local:weights/other")) == set()
        assert changed_by(
            small, ("local:weights/big", "local:weights/other"), since=(UNTRAINED,)
        ) == {"models.tiny"}

    @pytest.mark.parametrize(
        "change",
        [
            ("local:nli.csv", "local:other.csv"),
            ("validation: nli}", "validation: nli, seed: 5}"),
        ],
        ids=["source", "recipe"],
    )
    def test_training_data_and_recipe_of_a_fitted_head_count_for_it(
        self, small: Path, change: Change
    ) -> None:
        assert changed_by(small, change, since=FITTED) == {"tools.bred"}

    def test_the_order_of_what_is_named_and_how_often_are_not(self, small: Path) -> None:
        words = (
            "judge: parked, also: head",
            "judge: head, also: parked",
            "judge: parked, also: parked",
            "judge: parked",
        )
        both, turned, twice, once = (
            digests_of(small, ("judge: parked", naming))["tools"]["bred"] for naming in words
        )
        assert (both, twice) == (turned, once)
        assert both != once

    def test_a_key_that_says_what_holds_anyway_changes_none(self, small: Path) -> None:
        """So that a new key of entries makes nothing stale."""
        explicit = "of our own, profile: none, dtype: auto"
        assert changed_by(small, ("of our own, profile: none", explicit)) == set()
        assert changed_by(
            small, ("of our own, profile: none", explicit.replace("auto", "bfloat16"))
        ) == {"tools.bred"}


def test_settings_of_intervals_are_no_part(small: Path) -> None:
    """Stages name them in params.yaml themselves."""
    assert changed_by(small, ("{resamples: 100}", "{resamples: 200, seed: 3}")) == set()


@pytest.mark.parametrize(
    "digest",
    ["58351607671601e4", "null"],
)
def test_a_digest_of_digits_stays_a_text(
    small: Path, monkeypatch: pytest.MonkeyPatch, digest: str
) -> None:
    """To our reader, and to that of DVC."""
    told.put(small)
    check(small)
    monkeypatch.chdir(small)
    declared = {"settings": {"doctors": digest, digest: "a"}, "declared": digest}
    monkeypatch.setattr(stage, "compute_digests", lambda *_: declared)
    stage.main()
    assert YAML(typ="safe").load(small / stage.DECLARED) == declared
    assert load_yaml(str(small / stage.DECLARED)) == declared

"""What `evenruler check` and `evenruler profile` write, and when they write nothing."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import Active, load_active
from evenruler.errors import UserError
from evenruler.project.check import alias_lines, check, make_profile
from evenruler.strict import read_yaml
from tests.project import told

ROOT = Path(__file__).parents[2]

ACTIVE = """\
# What is in use: names and routes, which `foreach` in dvc.yaml goes through.
# Written by `evenruler check`, not by hand; the stage `declared` refuses it where it does not fit
# params.yaml.
active:
  profile: quick
  families:
    framing: {instruments: [hair], models: [tiny, shared, writer]}
    pairs: {instruments: [doctors, nurses, found, bred], models: [tiny, shared]}
  instruments:
    doctors: {family: pairs, source: data/sources/pairs/doctors.yaml, remote: ''}
    nurses: {family: pairs, source: data/sources/pairs/nurses.yaml, remote: ''}
    found: {family: pairs, source: data/scraped/found, remote: ''}
    bred: {family: pairs, source: data/evolved/bred, remote: ''}
    hair: {family: framing, source: data/sources/framing/hair.yaml, remote: ''}
  scrape:
    found: {family: pairs, source: data/sources/pairs/found.yaml, remote: '', \
material: data/sources/pairs/found.yaml, found: data/sources/pairs/found.yaml}
  evolve:
    bred: {family: pairs, source: data/sources/pairs/doctors.yaml, remote: ''}
  ask:
    framing-tiny: {family: framing, model: tiny, instruments: [hair]}
    framing-shared: {family: framing, model: shared, instruments: [hair]}
    framing-writer: {family: framing, model: writer, instruments: [hair]}
    pairs-tiny: {family: pairs, model: tiny, instruments: [doctors, nurses, found, bred]}
    pairs-shared: {family: pairs, model: shared, instruments: [doctors, nurses, found, bred]}
  card:
    doctors: {family: pairs, source: data/sources/pairs/doctors.yaml, remote: ''}
    found: {family: pairs, source: data/scraped/found, remote: ''}
    bred: {family: pairs, source: data/evolved/bred, remote: ''}
    hair: {family: framing, source: data/sources/framing/hair.yaml, remote: ''}
  card_third_party:
    nurses: {family: pairs, source: data/sources/pairs/nurses.yaml, remote: ''}
root: ''
enter_root: ''
"""

WRITTEN = "active.yaml: now quick: tiny, shared, writer"
CHECKED = (
    "checked: profile quick; models tiny, shared, writer; framing hair; pairs doctors, "
    "nurses, found, bred"
)
NOTHING_OF = {
    "hair": "  hair: {family: framing}\n",
    "nurses": "  nurses: {family: pairs, others: true}\n",
}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    told.register(monkeypatch)


def files_of(root: Path) -> dict[str, bytes]:
    ignored = {".git", "check.lock"}
    files = [path for path in root.rglob("*") if path.is_file()]
    paths = [path for path in files if ignored.isdisjoint(path.parts)]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def edit(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        n_places = text.count(old)
        assert n_places == 1, f"{old!r} stands {n_places} times"
        text = text.replace(old, new)
    path.write_text(text)


def track(root: Path) -> None:
    """Have git know all that is there."""
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(
            ["git", *command],
            cwd=root,
            check=True,
        )


class TestActive:
    def test_is_written_and_params_stays_byte_for_byte(self, tmp_path) -> None:
        path = told.put(tmp_path)
        lines = check(tmp_path)
        assert (tmp_path / "active.yaml").read_text() == ACTIVE
        assert path.read_text() == told.PARAMS
        assert (lines[0], lines[-1]) == (WRITTEN, CHECKED)

    def test_again_changes_nothing(self, tmp_path) -> None:
        told.put(tmp_path)
        check(tmp_path)
        before = files_of(tmp_path)
        assert check(tmp_path) == [CHECKED]
        assert files_of(tmp_path) == before

    def test_is_brought_in_step_whatever_stood_there(self, tmp_path) -> None:
        told.put(tmp_path)
        check(tmp_path)
        older = "  profile: quick\n  models: [of an older version]\n"
        edit(tmp_path / "active.yaml", ("  profile: quick\n", older))
        assert check(tmp_path) == [WRITTEN, CHECKED]
        assert (tmp_path / "active.yaml").read_text() == ACTIVE

    def test_an_edit_that_names_nothing_new_leaves_it_alone(self, tmp_path) -> None:
        path = told.put(tmp_path)
        check(tmp_path)
        edit(path, ("local:weights/tiny", "local:weights/big"))
        assert check(tmp_path) == [CHECKED]

    def test_what_nothing_is_of_is_written_too(self, tmp_path) -> None:
        """DVC wants every key that it goes through."""
        told.put(
            tmp_path,
            (NOTHING_OF["nurses"], ""),
            ("found: {family: pairs, made: scrape}", "found: {family: pairs}"),
        )
        check(tmp_path)
        text = (tmp_path / "active.yaml").read_text()
        assert "\n  scrape: {}\n" in text
        assert text.endswith("\n  card_third_party: {}\nroot: ''\nenter_root: ''\n")


def test_aliases_are_found_wherever_they_stand() -> None:
    assert alias_lines("a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: [1, *x]\nf: '*x'\n") == [2, 4, 5]


class TestProfile:
    def test_it_has_a_pipeline_of_its_own(self, tmp_path) -> None:
        path = told.put(tmp_path)
        check(tmp_path)
        folder = tmp_path / "profiles/paper"
        lines = make_profile(tmp_path, "paper")
        assert lines[0] == "profiles/paper/active.yaml: now paper: big, shared, writer"
        assert lines[-1] == (
            "profiles/paper: build it with `evenruler repro --profile paper`, or `dvc repro` in "
            "there"
        )
        assert (folder / "dvc.yaml").resolve() == tmp_path / "dvc.yaml"
        active = load_active(folder / "active.yaml")
        assert (active.profile, active.families["pairs"].models) == ("paper", ["big", "shared"])
        assert "later" in active.instruments
        content = read_yaml(folder / "active.yaml")
        assert (content["root"], content["enter_root"]) == (
            "../../",
            "cd ../../ && EVENRULER_PROFILE=paper ",
        )
        assert active.instruments["doctors"].source == "../../data/sources/pairs/doctors.yaml"
        assert active.instruments["found"].source == "data/scraped/found"
        assert active.scrape["found"].material == "../../data/sources/pairs/found.yaml"

        assert (tmp_path / "active.yaml").read_text() == ACTIVE
        assert path.read_text() == told.PARAMS

    def test_check_keeps_all_that_there_are(self, tmp_path) -> None:
        told.put(tmp_path)
        make_profile(tmp_path, "paper")
        before = files_of(tmp_path)
        checked = check(tmp_path)
        assert [line.partition(";")[0] for line in checked] == [
            "checked: profile quick",
            "checked: profile paper",
        ]
        assert files_of(tmp_path) == before
        outdated = tmp_path / "profiles/paper/data/answers/pairs/tiny"
        outdated.mkdir(parents=True)
        assert "removed profiles/paper/data/answers/pairs/tiny" in check(tmp_path)
        assert not outdated.exists()
        shutil.rmtree(tmp_path / "profiles")
        assert check(tmp_path) == [CHECKED]

    @pytest.mark.parametrize(
        ("name", "changes", "complaint"),
        [
            ("qick", [], "no profile 'qick'; did you mean 'quick'?"),
            ("quick", [], "'quick' is the pipeline at the top; run `make repro`, or `dvc repro`"),
            (
                "paper",
                [
                    ("  big: {kind: causal", "  big: {kind: nli"),
                    ("    kind: causal # at every profile", "    kind: nli"),
                ],
                "no model of the profile 'paper' supports the questions of the family pairs",
            ),
        ],
        ids=["unknown", "the top", "without a model"],
    )
    def test_one_that_cannot_be_is_refused_and_nothing_written(
        self, tmp_path, name, changes, complaint
    ) -> None:
        told.put(tmp_path, *changes)
        before = files_of(tmp_path)
        with pytest.raises(UserError) as caught:
            make_profile(tmp_path, name)
        assert complaint in str(caught.value)
        assert files_of(tmp_path) == before


class TestFolders:
    EMPTY = ("data/sources/framing/shared", "data/sources/pairs/shared")

    def test_those_that_stages_depend_on_are_kept(self, tmp_path) -> None:
        told.put(tmp_path)
        check(tmp_path)
        for name in self.EMPTY:
            assert [path.name for path in (tmp_path / name).iterdir()] == [".gitkeep"]

    def test_one_that_holds_something_stays_as_it_is(self, tmp_path) -> None:
        told.put(tmp_path)
        shared = tmp_path / "data/sources/pairs/shared/words.yaml"
        shared.parent.mkdir()
        shared.write_text("a: b\n")
        check(tmp_path)
        assert list(shared.parent.iterdir()) == [shared]


class TestTextOfOthers:
    def test_git_ignores_it(self, tmp_path) -> None:
        path = told.put(tmp_path)
        prefix = "benchmarks/.gitignore: benchmarks with third-party text, kept out of git: "
        assert f"{prefix}pairs-nurses" in check(tmp_path)
        ignored = tmp_path / "benchmarks/.gitignore"
        assert ignored.read_text().splitlines()[1:] == ["/pairs-nurses"]
        edit(path, (", others: true", ""))
        assert f"{prefix}none" in check(tmp_path)
        assert not ignored.exists()
        assert check(tmp_path) == [CHECKED]

    def test_what_git_tracks_must_be_taken_out_of_it_first(self, tmp_path) -> None:
        told.put(tmp_path)
        card = tmp_path / "benchmarks/pairs-nurses/README.md"
        card.parent.mkdir(parents=True)
        card.write_text("a card")
        track(tmp_path)
        before = files_of(tmp_path)
        with pytest.raises(UserError) as caught:
            check(tmp_path)
        assert str(caught.value) == (
            "benchmarks/pairs-nurses: git tracks it, but it holds third-party text; run `git rm -r "
            "--cached "
            "benchmarks/pairs-nurses`, or declare the text of 'nurses' as ours"
        )
        assert files_of(tmp_path) == before
        subprocess.run(
            ["git", "rm", "-rq", "--cached", "benchmarks/pairs-nurses"], cwd=tmp_path, check=True
        )
        assert check(tmp_path)[-1] == CHECKED
        assert card.exists()


class TestPruning:
    @pytest.mark.parametrize(
        "change",
        [
            (
                "later: {family: pairs, profile: paper}",
                "later: {family: pairs, profile: paper, most: three}",
            ),
            ("judge: parked", "judge: nobody"),
        ],
        ids=["other-profile", "tool"],
    )
    def test_a_mistake_anywhere_writes_and_removes_nothing(
        self, tmp_path, error_of, change
    ) -> None:
        told.put(tmp_path)
        outdated = tmp_path / "benchmarks/pairs-old/README.md"
        outdated.parent.mkdir(parents=True)
        outdated.touch()
        edit(tmp_path / "params.yaml", change)
        track(tmp_path)
        before = files_of(tmp_path)
        error_of(check, tmp_path)
        assert files_of(tmp_path) == before

    def test_a_changelog_is_read_too(self, tmp_path, error_of) -> None:
        told.put(tmp_path)
        changelog = tmp_path / "data/sources/changelogs/pairs-later.yaml"
        changelog.parent.mkdir()
        changelog.write_text("release: {}\n")
        assert error_of(check, tmp_path).startswith(f"{changelog}: release: unknown key")


LOCK = """\
schema: '2.0'
stages:
  rows@doctors:
    cmd: python -m stages.rows doctors
    outs:
    - path: data/built/pairs/doctors
      hash: md5
      md5: {md5}
      size: 4
"""


def test_a_damaged_object_of_dvc_is_removed(tmp_path: Path) -> None:
    told.put(tmp_path)
    md5 = hashlib.md5(b"rows").hexdigest()
    (tmp_path / "dvc.lock").write_text(LOCK.format(md5=md5))
    damaged = tmp_path / ".dvc/cache/files/md5" / md5[:2] / md5[2:]
    damaged.parent.mkdir(parents=True)
    damaged.write_text("else")
    (warning,) = [line for line in check(tmp_path) if "damaged in DVC's cache" in line]
    assert warning.endswith("and removed; rows@doctors writes it again")
    assert not damaged.exists()


ENCODER = (
    '  parked: {kind: nli, source: "local:weights/parked"',
    "  parked: {kind: encoder, lineage: enc, finetune: {data: [nli], validation: nli}, source: "
    '"local:weights/parked"',
)
DATA = (
    "diagnosis: {",
    'training:\n  nli: {source: "local:nli.csv", licence: mit, origin: o}\ndiagnosis: {',
)


class TestFilesOfModels:
    @pytest.mark.parametrize(
        "name", ["tiny", "parked"]
    )  # one that is asked, one that an instrument names
    def test_a_folder_that_is_missing_is_said(self, tmp_path, error_of, name) -> None:
        path, folder = told.put(tmp_path), tmp_path / "weights" / name
        folder.rmdir()
        assert error_of(check, tmp_path) == (
            f"{path}: models.{name}.source: {folder}: no such file or folder; save the model "
            "there, or fix `source`"
        )

    def test_so_is_that_of_the_model_that_an_untrained_one_is_made_of(
        self, tmp_path, error_of
    ) -> None:
        told.put(tmp_path, ('source: "local:weights/tiny"', 'source: "untrained:big"'))
        (tmp_path / "weights/big").rmdir()
        assert "models.big.source: " in error_of(check, tmp_path)

    def test_that_of_a_model_that_nobody_asks_may_be_missing(self, tmp_path) -> None:
        told.put(tmp_path)
        (tmp_path / "weights/big").rmdir()
        assert check(tmp_path)[-1] == CHECKED


@pytest.mark.parametrize("names", ["hair, bread", "bread"])
def test_an_instrument_that_a_model_names_and_nobody_has_is_told(
    tmp_path: Path, names: str
) -> None:
    named = (
        '"local:weights/tiny", ',
        f'"local:weights/tiny", instruments: {{quick: [{names}]}}, ',
    )
    told.put(tmp_path, named)
    lines = [line for line in check(tmp_path) if line.startswith("warning: ")]
    assert lines == ["warning: models.tiny.instruments names 'bread'; did you mean 'bred'?"]


def test_what_is_said_of_ones_own_instruments_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those whose source is new, or differs from what git has."""
    monkeypatch.setattr(told.Settings, "warnings", lambda self, source: ["beware"])
    told.put(tmp_path)
    track(tmp_path)
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(
        ["git", *who, "commit", "--quiet", "--message", "x"],
        cwd=tmp_path,
        check=True,
    )

    def warned() -> list[str]:
        lines = check(tmp_path)
        assert lines[-1] == CHECKED
        return [
            line.removeprefix("warning: ").split(":")[0]
            for line in lines
            if line.endswith(": beware")
        ]

    assert warned() == ["doctors", "nurses", "found", "bred"]
    source = tmp_path / "data/sources/pairs/doctors.yaml"
    source.write_text(source.read_text() + "# mine\n")
    assert warned() == ["nurses", "found", "doctors", "bred"], "which evolves from doctors"


class TestLeftOut:
    """What could not be had is in nobody's way; what it takes along is not finished."""

    def check_without(
        self, root: Path, *stages: str, changes: Sequence[tuple[str, str]] = ()
    ) -> tuple[list[str], Active]:
        """What `check` warns of, and what is then in use."""
        left_out = "".join(f"  {stage}: torn; fix it\n" for stage in stages)
        told.put(root, ("versions: {", f"left_out:\n{left_out}versions: {{"), *changes)
        lines = [line for line in check(root) if line.startswith("warning: ")]
        return lines, load_active(root / "active.yaml")

    def test_a_model_for_one_family(self, tmp_path) -> None:
        lines, active = self.check_without(tmp_path, "ask@pairs-tiny")
        assert lines == ["warning: ask@pairs-tiny is left out: torn; fix it"]
        assert active.families["pairs"].models == ["shared"]
        assert active.families["framing"].models == ["tiny", "shared", "writer"]
        assert "pairs-tiny" not in active.ask

    def test_an_instrument(self, tmp_path) -> None:
        lines, active = self.check_without(tmp_path, "rows@doctors")
        assert lines == ["warning: doctors is left out until it is finished: torn; fix it"]
        assert active.families["pairs"].instruments == ["nurses", "found", "bred"]

    def test_all_models_of_a_family(self, tmp_path) -> None:
        """The others go on, and what git has of it stays: what was published, and figures."""
        card, figures = (
            tmp_path / "benchmarks/pairs-doctors/README.md",
            tmp_path / "data/diagnosis/pairs/metrics.json",
        )
        for file in (card, figures):
            file.parent.mkdir(parents=True)
            file.touch()
        track(tmp_path)
        (figures.parent / "tables").mkdir()
        lines, active = self.check_without(tmp_path, "ask@pairs-tiny", "ask@pairs-shared")
        why = "no model can be asked for the family pairs, e.g. ask@pairs-tiny: torn; fix it"
        names = ("doctors", "nurses", "found", "bred")
        assert lines == [
            f"warning: {name} is left out until it is finished: {why}" for name in names
        ]
        assert list(active.families) == ["framing"]
        assert list(active.instruments) == ["hair"]
        assert card.exists()
        assert list(figures.parent.iterdir()) == [figures]

    def test_all_models_of_a_family_but_those_that_name_instruments_of_others(
        self, tmp_path
    ) -> None:
        named = ('"local:weights/tiny", ', '"local:weights/tiny", instruments: {quick: [hair]}, ')
        _, active = self.check_without(tmp_path, "ask@pairs-shared", changes=[named])
        assert list(active.families) == ["framing"]
        assert list(active.instruments) == ["hair"]

    def test_at_the_other_scale_it_means_nothing(self, tmp_path) -> None:
        lines, active = self.check_without(tmp_path, "ask@pairs-big", "rows@later")
        assert lines == ["warning: ask@pairs-big is left out: torn; fix it"]
        assert active.families["pairs"].models == ["tiny", "shared"]


class TestUnpinned:
    """What is not pinned is left out, with a line; everything else goes on."""

    ASKED = ('source: "local:weights/tiny"', 'source: "hub:org/tiny"')
    NAMED = ('source: "local:weights/parked"', 'source: "hub:org/parked"')
    IDLE = ('source: "local:weights/big"', 'source: "hub:org/big"')

    def line(self, name: str) -> str:
        return f"{name} is not pinned; run `evenruler pin {name}`"

    def test_a_model_that_is_asked(self, tmp_path) -> None:
        told.put(tmp_path, self.ASKED)
        lines = check(tmp_path)
        assert f"warning: tiny is left out: {self.line('tiny')}" in lines
        active = load_active(tmp_path / "active.yaml")
        assert active.families["framing"].models == ["shared", "writer"]
        assert "tiny" not in active.models
        assert not [name for name, asking in active.ask.items() if asking.model == "tiny"]

    def test_of_nobody_that_is_not_in_use(self, tmp_path) -> None:
        told.put(tmp_path, self.IDLE)
        assert check(tmp_path)[-1] == CHECKED
        assert not [line for line in check(tmp_path) if "big" in line]

    def test_an_instrument_that_names_one(self, tmp_path) -> None:
        told.put(tmp_path, self.NAMED)
        lines = check(tmp_path)
        assert f"warning: bred is left out until it is finished: {self.line('parked')}" in lines
        active = load_active(tmp_path / "active.yaml")
        assert active.families["pairs"].instruments == ["doctors", "nurses", "found"]
        assert active.families["framing"].instruments == ["hair"]
        assert not active.evolve

    def test_what_an_instrument_does_without_is_said_once(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setattr(told.Settings, "waiting", "regard: it is not pinned", raising=False)
        told.put(tmp_path)
        lines = [line for line in check(tmp_path) if "do without" in line]
        assert lines == ["warning: instruments of pairs do without regard: it is not pinned"]

    def test_one_that_is_made_of_such_a_model(self, tmp_path) -> None:
        """Its files are that model's."""
        told.put(tmp_path, self.IDLE, ('source: "local:weights/tiny"', 'source: "untrained:big"'))
        assert f"warning: tiny is left out: {self.line('big')}" in check(tmp_path)

    def test_several_are_one_line_with_one_command(self, tmp_path) -> None:
        params = load_params(told.put(tmp_path, self.ASKED, self.NAMED))
        both = "tiny, parked are not pinned; run `evenruler pin tiny parked`"
        assert params.unpinned_message(["tiny", "shared", "parked", "tiny"]) == both

    def test_a_word_in_place_of_a_commit_is_refused(self, tmp_path, error_of) -> None:
        old, new = self.ASKED
        path = told.put(tmp_path, (old, f"{new}, revision: to be given"))
        line = error_of(check, tmp_path)
        assert line.startswith(f"{path}: models.tiny: revision is 'to be given', a Hub model is")
        assert "leave it out, and `evenruler pin` looks it up" in line

    def test_a_family_that_nobody_is_left_for(self, tmp_path, error_of, monkeypatch) -> None:
        monkeypatch.setattr(told.declare, "takes", lambda catalogue, model: model == "tiny")
        path = told.put(tmp_path, self.ASKED)
        before = path.read_bytes()
        assert error_of(check, tmp_path) == (
            f"{path}: models: no model of the profile 'quick' supports the questions of the family "
            "pairs; "
            f"{self.line('tiny')}"
        )
        assert path.read_bytes() == before


class TestAdapters:
    """Of an encoder that an instrument names."""

    def record(self, root: Path, recipe: dict[str, Any]) -> Path:
        content = {
            "labels": [],
            "base": "",
            "recipe": recipe,
            "held_out": {"accuracy": 0.7, "n": 40},
        }
        path = root / "data/adapters/parked/training.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
        return path.parent

    def put(self, root: Path, *changes: tuple[str, str]) -> Path:
        path = told.put(root, ENCODER, DATA, *changes)
        recipe = load_params(path).models["parked"].finetune
        assert recipe is not None
        return self.record(root, recipe.model_dump())

    def test_one_that_was_fitted_so(self, tmp_path) -> None:
        self.put(tmp_path)
        assert check(tmp_path)[-1] == CHECKED

    def test_one_that_was_never_fitted(self, tmp_path, error_of) -> None:
        folder = self.put(tmp_path)
        shutil.rmtree(folder)
        assert (
            error_of(check, tmp_path)
            == f"{folder}: parked has no adapter yet; run `evenruler finetune parked`"
        )

    def test_one_that_was_fitted_by_another_recipe(self, tmp_path, error_of) -> None:
        folder = self.put(tmp_path)
        recipe = load_params(tmp_path / "params.yaml").models["parked"].finetune.model_dump()
        self.record(tmp_path, {**recipe, "seed": recipe["seed"] + 1})
        assert error_of(check, tmp_path) == (
            f"{folder}: parked was fitted with another recipe than `finetune` states; "
            "run `evenruler finetune parked`, or restore the recipe"
        )

    def test_what_is_not_in_use_need_not_be(self, tmp_path) -> None:
        other_scale = ("of: doctors, judge: parked", "of: doctors, judge: parked, profile: paper")
        shutil.rmtree(self.put(tmp_path, other_scale))
        assert check(tmp_path)[-1].startswith("checked: profile quick")

    def test_a_model_that_is_asked_must_be(self, tmp_path, monkeypatch, error_of) -> None:
        """Named by no instrument, taken by the family."""
        monkeypatch.setattr(
            told.declare, "takes", lambda catalogue, model: model in ("tiny", "big", "fitted")
        )
        fitted = (
            ENCODER[0],
            f"{ENCODER[1].replace('parked', 'fitted', 1)}, licence: mit, origin: o}}\n{ENCODER[0]}",
        )
        path = told.put(tmp_path, fitted, DATA)
        assert "fitted has no adapter yet" in error_of(check, tmp_path)
        edit(path, ("{kind: encoder, ", "{kind: encoder, profile: none, "))
        assert check(tmp_path)[-1].startswith("checked: profile quick")


def test_settings_of_a_family_are_such_also_where_nobody_uses_them(tmp_path, error_of) -> None:
    told.put(
        tmp_path,
        (NOTHING_OF["hair"], ""),
        ("  pairs: {most: 3}\n", "  pairs: {most: 3}\n  framing: {stimuli: 2, massy: 1}\n"),
    )
    complaint = (
        "families.framing.massy: unknown key 'massy'; did you mean 'mass'?; rename or remove it"
    )
    assert error_of(check, tmp_path) == f"{tmp_path / 'params.yaml'}: {complaint}"


def test_ends_of_lines_as_on_windows_are_read_and_stay(tmp_path) -> None:
    path = told.put(tmp_path)
    before = path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(before)
    check(tmp_path)
    assert path.read_bytes() == before
    active = tmp_path / "active.yaml"
    active.write_bytes(active.read_bytes().replace(b"\n", b"\r\n"))  # as git may check it out
    assert check(tmp_path) == [CHECKED]

"""What `evenruler new` writes."""

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.project.check import check
from evenruler.project.new import create_instrument
from tests.project import told
from tests.text_tables import read_cells

ROOT = Path(__file__).parents[2]

STARTED = [
    family for family, package in FAMILIES.items() if files(package).joinpath("starter").is_dir()
]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    told.register(monkeypatch)


def files_of(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("family", STARTED)
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_what_is_started_passes_the_checks_of_its_family(tmp_path, family, profile) -> None:
    """With the settings that the repository itself declares."""
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "data/sources", tmp_path / "data/sources")
    before = files_of(tmp_path)
    create_instrument(tmp_path, family, "brand-new")
    declared, door = ParamsFile(tmp_path / "params.yaml", profile), family_module(family, "declare")
    assert declared.instruments["brand-new"] == family
    settings, folder = declared.settings("brand-new"), tmp_path / "data/sources" / family
    source = door.load(
        folder / f"{settings.source_name('brand-new')}.yaml", settings, folder / "shared"
    )
    assert "brand-new" in source.title
    written = {
        name: content for name, content in files_of(tmp_path).items() if before.get(name) != content
    }
    assert f"data/sources/{family}/brand-new.yaml" in written
    del written["params.yaml"]
    assert not any(b"NAME" in content for content in written.values())
    assert not written.keys() & before.keys(), "what was there stays"


@pytest.mark.parametrize("layout", ["pairs-with-key", "keyed"])
def test_other_layouts_of_published_benchmarks(tmp_path, layout) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "data/sources/external").mkdir(parents=True)
    create_instrument(tmp_path, "external", "brand-new", layout)
    declared = ParamsFile(tmp_path / "params.yaml", "quick")
    door, path = family_module("external", "declare"), tmp_path / "data/sources/external"
    source = door.load(path / "brand-new.yaml", declared.settings("brand-new"), path / "shared")
    assert source.title == "brand-new"
    assert source.layout == layout.removesuffix("-with-key")
    assert source.contrast is not None


def test_a_source_of_rankings(tmp_path) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "data/sources/external").mkdir(parents=True)
    create_instrument(tmp_path, "external", "brand-new", "ranking")
    declared = ParamsFile(tmp_path / "params.yaml", "quick")
    door, path = family_module("external", "declare"), tmp_path / "data/sources/external"
    source = door.load(path / "brand-new.yaml", declared.settings("brand-new"), path / "shared")
    assert (source.layout, source.score, source.choice_form) == ("ranking", "ranking", "generate")


@pytest.mark.parametrize(
    ("family", "message"), [("external", "did you mean 'keyed'?"), ("saged", "leave --layout out")]
)
def test_a_layout_that_is_not_there_is_refused(tmp_path, family, message) -> None:
    told.put(tmp_path)
    with pytest.raises(UserError) as refused:
        create_instrument(tmp_path, family, "brand-new", "key")
    assert refused.value.remedy == message


def test_the_source_and_one_line_in_params(tmp_path) -> None:
    path = told.put(tmp_path)
    assert create_instrument(tmp_path, "pairs", "sailors") == [
        "wrote data/sources/pairs/sailors.yaml; edit it, then "
        "`evenruler repro rows@sailors` for its rows, `make repro` for everything",
        "params.yaml: instruments now holds sailors",
    ]
    last = "  later: {family: pairs, profile: paper}\n"
    assert path.read_text() == told.PARAMS.replace(last, f"{last}  sailors: {{family: pairs}}\n")
    assert (tmp_path / "data/sources/pairs/sailors.yaml").read_text().splitlines()[0] == (
        "title: Pairs sailors"
    )
    assert "pairs doctors, nurses, found, bred, sailors" in check(tmp_path)[-1]
    declared = "    sailors: {family: pairs, source: data/sources/pairs/sailors.yaml, remote: ''}\n"
    assert declared in (tmp_path / "active.yaml").read_text()


def test_texts_of_the_starter_are_warned_of_until_they_are_replaced(tmp_path) -> None:
    told.put(tmp_path)
    create_instrument(tmp_path, "framing", "beards")
    path = tmp_path / "data/sources/framing/beards.yaml"
    text = path.read_text()
    line = text.splitlines().index("source: who wrote this, and when # FILL") + 1
    (warning,) = [
        message
        for message in check(tmp_path)
        if message.startswith("warning: data/sources/framing/beards.yaml")
    ]
    assert warning == (
        f"warning: data/sources/framing/beards.yaml: line {line}: still says what `evenruler new` "
        "wrote; "
        "write your text there and take out `# FILL`"
    )
    path.write_text(text.replace("who wrote this, and when # FILL", "A. Author, 2026"))
    assert not [message for message in check(tmp_path) if "evenruler new" in message]


@pytest.mark.parametrize("text", ["", "instruments: {}\n"])
def test_the_first_of_all(tmp_path, text) -> None:
    path = told.put(tmp_path)
    before = told.PARAMS
    first, last = before.index("instruments:"), before.index("\nfamilies:")
    path.write_text(
        (before[:first] + text + before[last:]).replace(
            "versions: {pairs-doctors: 1.2.0} # by hand\n", ""
        )
    )
    create_instrument(tmp_path, "framing", "beards")
    assert ParamsFile(path).instruments == {"beards": "framing"}
    assert (
        check(tmp_path)[-1] == "checked: profile quick; models tiny, shared, writer; framing beards"
    )


def test_several_files_and_folders_of_a_starter(tmp_path, monkeypatch) -> None:
    """What is there already stays."""
    told.put(tmp_path)
    package = tmp_path / "package"
    for name, text in {
        "__init__.py": "",
        "starter/NAME.yaml": "title: NAME\n",
        "starter/shared/words.yaml": "of: NAME\n",
        "starter/shared/NAME-notes.md": "# NAME\n",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    by_hand = tmp_path / "data/sources/pairs/shared/words.yaml"
    by_hand.parent.mkdir()
    by_hand.write_text("mine\n")
    monkeypatch.setattr("evenruler.project.new.files", lambda name: package)
    line, _ = create_instrument(tmp_path, "pairs", "sailors")
    folder = "data/sources/pairs"
    assert line == (
        f"wrote {folder}/sailors.yaml and {folder}/shared/sailors-notes.md; edit them, then "
        "`evenruler repro rows@sailors` for its rows, `make repro` for everything"
    )
    assert (tmp_path / folder / "sailors.yaml").read_text() == "title: sailors\n"
    assert (tmp_path / folder / "shared/sailors-notes.md").read_text() == "# sailors\n"
    assert by_hand.read_text() == "mine\n"


REFUSED = [
    *read_cells("""
pears | sailors | no family 'pears'; did you mean 'pairs'?
pairs | a/b | 'a/b' is not a valid name; use lower-case letters, digits and single hyphens
pairs | null | 'null' is not a string in YAML; begin with a word, as in 'set-1'
framing | doctors | the instrument 'doctors' exists already; take another name
framing | bald | the instrument 'bald' exists already; take another name
"""),
    ("pairs", "x" * 101, "a name of 101 letters; use 100 at most"),
    ("pairs", "a\n", "use lower-case letters, digits and single hyphens"),
]
"""Family, name, and how the line ends. A file that lies there takes a name, too."""


@pytest.mark.parametrize(("family", "name", "complaint"), REFUSED)
def test_what_is_refused_is_one_line_and_nothing_is_written(
    tmp_path, family, name, complaint
) -> None:
    told.put(tmp_path)
    (tmp_path / "data/sources/framing/bald.yaml").write_text("a draft")
    before = files_of(tmp_path)
    with pytest.raises(UserError) as caught:
        create_instrument(tmp_path, family, name)
    line = str(caught.value)
    assert line.endswith(complaint)
    assert "\n" not in line
    assert files_of(tmp_path) == before

"""Digests of the code of stages: what changes one, and what it is of."""

from pathlib import Path
from typing import ClassVar

import grimp
import pytest

from evenruler.declaration.code import (
    HARMLESS,
    OF_ALL,
    OF_ONE_FAMILY,
    ROOMS,
    Code,
    code_digests,
)
from evenruler.instruments.registry import FAMILIES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(
        "evenruler", "stages", cache_dir=None, exclude_type_checking_imports=True
    )


def test_every_stage_has_a_digest_for_each_family_that_it_is_run_for() -> None:
    digest_by_stage = code_digests(ROOT)
    assert list(digest_by_stage) == list(ROOMS)
    for stage, digest in digest_by_stage.items():
        if stage in OF_ALL:
            assert isinstance(digest, str)
        else:
            assert isinstance(digest, dict)
            assert list(digest) == (
                [OF_ONE_FAMILY[stage]] if stage in OF_ONE_FAMILY else list(FAMILIES)
            )


@pytest.mark.parametrize("stage", ROOMS)
def test_a_stage_depends_on_what_it_imports(graph: grimp.ImportGraph, stage: str) -> None:
    """As another library sees it; one module too few leaves figures of old code."""
    code = Code(ROOT)
    for family in [OF_ONE_FAMILY[stage]] if stage in OF_ONE_FAMILY else FAMILIES:
        package, rooms = FAMILIES[family], ROOMS[stage]
        starts = {f"{package}.{room}" for room in (*rooms, "schemas")}
        starts.add(f"stages.{stage}")
        wanted = starts.union(*map(graph.find_upstream_modules, starts))
        closure = code.closure(stage, [family])
        assert wanted - closure <= HARMLESS
        lazy = {
            name
            for name in closure
            if name.rpartition(".")[0] in ("evenruler.measurement", "evenruler.models")
        }
        brought = lazy.union(*map(graph.find_upstream_modules, lazy - wanted))
        packages = {name for name in closure if (ROOT / name.replace(".", "/")).is_dir()}
        assert closure - wanted <= brought | packages
        if rooms:
            assert f"{package}.{rooms[-1]}" in closure


def test_no_stage_depends_on_what_writes_active_and_none_imports_a_stage() -> None:
    code = Code(ROOT)
    for stage in ROOMS:
        closure = code.closure(stage, FAMILIES)
        assert not {
            name for name in closure if name.startswith(("evenruler.project", "evenruler.cli"))
        }
        stages = {name for name in closure if name.startswith("stages.")}
        assert stages <= {f"stages.{stage}", "stages.files", "stages.running", "stages.held"}


class TestSmall:
    """A repository with one stage of each name, and packages of few lines."""

    FILES: ClassVar = {
        "stages/ask.py": 'from evenruler.shared import number\n\n"""Said."""\nprint(number)\n',
        "evenruler/__init__.py": "",
        "evenruler/shared.py": '"""Words."""\n\n\ndef number() -> int:\n    """One."""\n    return '
        "1\n",
        "evenruler/lazy_one/__init__.py": "from evenruler.lazy import lazy_getattr\n__getattr__ = "
        "lazy_getattr(__name__, a='a')\n",
        "evenruler/lazy_one/a.py": "a = 1\n",
    }

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        for name, text in self.FILES.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    @pytest.mark.parametrize(
        ("old", "new", "changes"),
        [
            ("    return 1", "    # Why.\n    return 1", False),
            ("-> int", "-> float", True),
        ],
    )
    def test_comments_change_nothing(self, root: Path, old: str, new: str, changes: bool) -> None:
        before = code_digests(root)["ask"]
        path = root / "evenruler/shared.py"
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
        assert (code_digests(root)["ask"] != before) is changes

    @pytest.mark.parametrize(
        ("source", "imported"),
        [
            (
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
                "    from evenruler.shared import number\n",
                set(),
            ),
            (
                "def f():\n    from evenruler.lazy_one import a_name\n",
                {"evenruler.lazy_one", "evenruler.lazy_one.a"},
            ),
        ],
        ids=["what type checkers read", "in a function, of a lazy package"],
    )
    def test_imports(self, root: Path, source: str, imported: set[str]) -> None:
        (root / "stages/ask.py").write_text(source)
        assert Code(root).closure("ask", ["probes"]) == {"stages.ask", *imported}

    def test_a_module_that_comes_later_counts_also_where_its_importer_is_cached(
        self, root: Path
    ) -> None:
        """What an import leads to depends on which other modules there are."""
        (root / "evenruler/words").mkdir()
        (root / "evenruler/words/__init__.py").write_text("english = 1\n")
        (root / "stages/ask.py").write_text("from evenruler.words import english\n")
        code_digests(root)
        assert "evenruler.words.english" not in Code(root).closure("ask", ["probes"])
        (root / "evenruler/words/english.py").write_text("value = 1\n")
        before = code_digests(root)["ask"]
        assert "evenruler.words.english" in Code(root).closure("ask", ["probes"])
        (root / "evenruler/words/english.py").write_text("value = 2\n")
        assert code_digests(root)["ask"] != before

    def test_templates_beside(self, root: Path) -> None:
        (root / "evenruler/page.j2").write_text("a")
        (root / "evenruler/shared.py").write_text('number = "page.j2"\n')
        before = code_digests(root)["ask"]
        (root / "evenruler/page.j2").write_text("b")
        assert code_digests(root)["ask"] != before

    def test_columns_beside_count_and_their_comments_do_not(self, root: Path) -> None:
        (root / "evenruler/shared.py").write_text('number = "schemas.toml"\n')
        digests = []
        for text in (
            'A = ["id: str"]\n',
            '# One row an item.\nA = ["id: str"]\n',
            'A = ["id: int"]\n',
        ):
            (root / "evenruler/schemas.toml").write_text(text)
            digests.append(code_digests(root)["ask"])
        assert digests[0] == digests[1] != digests[2]

    def test_every_file_of_words_is_named_by_a_module_beside_it(self) -> None:
        """Else a change of it leaves stages up to date."""
        unnamed = []
        for file in (ROOT / "evenruler").rglob("*.*"):
            if file.suffix not in (".yaml", ".toml", ".j2", ".css", ".js"):
                continue
            modules = [module.read_text("utf-8") for module in file.parent.glob("*.py")]
            is_named = any(f'"{file.name}"' in text for text in modules)
            # No stage reads what a new instrument begins with.
            is_starter = {"starter", "starters"} & {folder.name for folder in file.parents}
            if not is_named and not is_starter:
                unnamed.append(file.relative_to(ROOT).as_posix())
        assert unnamed == []

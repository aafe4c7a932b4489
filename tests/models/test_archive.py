"""Models whose folder comes as a zip file in parts of packages."""

import hashlib
import io
import stat
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from evenruler.models import sources
from evenruler.models.declarations import ModelEntry
from evenruler.models.store import RowStore
from tests.models.conftest import model_entry

PARTS = 3


def zipped(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip file, compressed as most are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files:
            packed.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def unpack(install, store):
    """Installs an archive in parts, and finds the folder of its model."""

    def install_and_locate(content):
        install(content)
        return sources.locate_model("tiny", entry(content), store)

    return install_and_locate


def model_in(folder: Path, below: str = "") -> dict[str, bytes]:
    """The files of a model as members of an archive, and one in a folder of its own."""
    files = {f"{below}{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    return {**files, f"{below}1_Pooling/config.json": b"{}"}


def entry(content: bytes) -> ModelEntry:
    """An entry whose source is the parts that `install` puts there."""
    parts = [f"package:tiny-part_{part}/input/Tiny.zip.00{part}" for part in range(PARTS)]
    return model_entry(source=parts, sha256=hashlib.sha256(content).hexdigest())


@pytest.fixture
def install(tmp_path, monkeypatch) -> Callable[[bytes], list[Path]]:
    """Puts a file there in three parts, each in a package whose name Python could not import."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def put(content: bytes) -> list[Path]:
        size = -(-len(content) // PARTS)
        for part in range(PARTS):
            package = tmp_path / f"site/tiny-part_{part}"
            (package / "input").mkdir(parents=True, exist_ok=True)
            (package / "__init__.py").write_text("raise RuntimeError('must not be run')")
            begin = part * size
            path = package / f"input/Tiny.zip.00{part}"
            path.write_bytes(content[begin : begin + size])

    return put


def lying_in(store: RowStore) -> list[str]:
    """Names of what lies in the folder of unpacked models, locks left out."""
    paths = (store.root / "models").glob("*")
    return sorted(path.name for path in paths if path.suffix != ".lock")


class TestParts:
    @pytest.mark.parametrize("below", ["", "all-tiny/"], ids=["flat", "in-a-folder"])
    def test_are_joined_checked_and_unpacked_once_for_all_entries(
        self, below, unpack, llama_folder, store, monkeypatch
    ) -> None:
        content = zipped(model_in(llama_folder, below).items())

        folder = unpack(content)

        digest = hashlib.sha256(content).hexdigest()
        name = f"tiny-{digest[:16]}-v{sources.ARCHIVE_VERSION}"
        assert folder == store.root / "models" / name
        # What was in it and the checksums, without the joined file.
        paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}
        del paths[sources.SUMS]
        unpacked = {file: path.read_bytes() for file, path in paths.items()}
        assert unpacked == model_in(llama_folder)
        monkeypatch.setattr(sources, "unpack", lambda *_: pytest.fail("unpacked again"))
        assert sources.locate_model("tiny-b", entry(content), store) == folder
        assert lying_in(store) == [name]


class TestHostileArchives:
    @pytest.mark.parametrize("name", ["../outside", "/outside", "..\\outside", "C:outside"])
    def test_a_file_that_does_not_belong_into_a_folder(
        self, name, unpack, llama_folder, tmp_path, store, error_of
    ) -> None:
        content = zipped([*model_in(llama_folder).items(), (name, b"x")])

        line = error_of(unpack, content)

        refused = f"the archive holds {name!r}, which does not belong into a folder; do not use it"
        assert line == f"params.yaml: models.tiny: {refused}"
        assert lying_in(store) == []
        assert not list(tmp_path.rglob("outside"))

    def test_a_link(self, unpack, store, error_of) -> None:
        link = zipfile.ZipInfo("config.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16

        line = error_of(unpack, zipped([(link, b"/etc/passwd")]))

        assert "the archive holds 'config.json', which does not belong into a folder" in line
        assert lying_in(store) == []

    @pytest.mark.parametrize("damage", ["no-zip", "bit", "twice"])
    def test_what_is_no_readable_archive(
        self, damage, unpack, llama_folder, store, error_of
    ) -> None:
        files = [*model_in(llama_folder).items()]
        content = zipped(files)
        if damage == "no-zip":
            content = b"rubbish " * 100
        elif damage == "bit":
            place = content.index(b"model.safetensors") + 1000
            changed = bytearray(content)
            changed[place] ^= 1
            content = bytes(changed)
        else:
            with pytest.warns(UserWarning, match="Duplicate"):
                content = zipped([*files, ("config.json", b"{}")])

        line = error_of(unpack, content)

        assert line.startswith("params.yaml: models.tiny: corrupt: no readable zip file (")
        assert line.endswith("; get the file again")
        assert lying_in(store) == []

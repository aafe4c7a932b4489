"""Pages that take no clone, followed to the letter in an empty folder with a shell that knows
nothing."""

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

from evenruler import repository
from evenruler.publish.manifest import identity_of, read_manifest
from evenruler.results.ci import WORKFLOW
from evenruler.results.record import Heading
from tests import loopback_hub
from tests.documents.pages import ROOT, blocks, command, follow
from tests.results.synthetic import CONFIRMED, figure_row, gain_of, stored, synthetic
from tests.tiny import save_tiny
from tests.warm import Warm

OUTSIDE = (
    "docs/start.md",
    "docs/measure.md",
    "docs/likert.md",
    "docs/results.md",
    "docs/probes.md",
)

pytestmark = pytest.mark.slow


COLD = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
"""A path on which commands start as they do at a user's."""


@pytest.fixture
def shell(tmp_path: Path, warm: Warm | None) -> Callable[..., str]:
    """Runs a block in an empty folder, with nothing in the environment but a home and the path of
    the commands."""
    bare = {
        "PATH": f"{warm.bin}{os.pathsep}{COLD}" if warm else COLD,
        "HOME": str(tmp_path / "home"),
        "HF_HUB_OFFLINE": "1",
    }
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        if name in os.environ:
            bare[name] = os.environ[name]
    (tmp_path / "here").mkdir()

    def run(language: str, text: str, **env: str) -> str:
        done = subprocess.run(
            command(language, text, sys.executable),
            cwd=tmp_path / "here",
            env=bare | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(
        tmp_path_factory.mktemp("models") / "tiny", chat=True, max_position_embeddings=1024
    )


def test_readme(shell, tmp_path, tiny) -> None:
    """What it says that the demonstration prints is what that prints; its other model lies on a Hub
    of ours under the name that it says."""
    started = time.monotonic()
    (measured,) = follow("README.md", tmp_path / "here", shell)
    print(f"README.md: {time.monotonic() - started:.0f} s")
    (shown,) = [block.text for block in blocks("README.md") if block.language == "text"]
    assert shown in measured
    hosted = [block for block in blocks("README.md") if "hub:" in block.text]
    with loopback_hub.running() as hub:
        model = loopback_hub.Repo(False)
        hub.repos["HuggingFaceTB/SmolLM2-135M-Instruct"] = model
        model.add(tiny)
        env = {
            "PATH": COLD,
            "HF_ENDPOINT": hub.endpoint,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
        }
        (block,) = hosted
        measured = shell(block.language, block.text, **env)
    assert (
        "probes-occupation-gender 1.0.0 (Occupation and gender) on smollm2-135m-instruct"
        in measured
    )


@pytest.mark.long
def test_a_model_of_your_own_is_measured(shell, tmp_path, tiny) -> None:
    here = tmp_path / "here"
    (here / "my-model").symlink_to(tiny)
    save_tiny(here / "other-model", seed=1)
    started = time.monotonic()
    listed, questionnaire, measured, forms, compared, verified, called, pivoted, client = follow(
        "docs/measure.md", here, shell
    )
    print(f"docs/measure.md: {time.monotonic() - started:.0f} s")
    assert "probes-age-competence" in listed
    assert "on my-model" in listed
    assert "questionnaires-gad-7" in questionnaire
    assert "probes-my-drinks 0.0.0 (Tea and coffee) on my-model, trial" in measured
    assert "choice      standard  2,172 replies" in forms
    assert "other-model" in compared
    assert (here / "side-by-side.html").exists()
    assert (
        "  verified: 10 of 10 answers drawn at random are those of local:other-model\n" in verified
    )
    assert "differs" not in verified
    assert "{'gain:set=seed': 'descriptive'}" in called
    assert "gender-salience" in pivoted
    assert "Its validity check fails" in client


def test_results_are_read_compared_and_exported(shell, tmp_path) -> None:
    folder = repository.shipped_benchmarks() / "probes-occupation-gender"
    content = identity_of(folder, read_manifest(folder).rows)
    for name in ("gemma", "smollm2"):
        recorded = synthetic(name, benchmark=folder.name, content=content)
        stored(tmp_path / "here/results", recorded, gain_of(name))
    *_, exported = follow("docs/results.md", tmp_path / "here", shell)
    assert "records/data" in exported
    assert (tmp_path / "here/side-by-side.html").exists()


@pytest.fixture
def runner(shell: Callable[..., str], tmp_path: Path) -> Path:
    """An environment with nothing but pip, as a runner has it, and this checkout beside the code.

    No index is there: libraries are those of the environment that runs the tests.
    """
    environment = tmp_path / "runner"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    # Its base is the environment of the tests, whose libraries a model may read when it is loaded.
    based_on = f"import sys; sys.base_prefix = {sys.prefix!r}"
    (site_packages / "libraries.pth").write_text(f"{based_on}\n{sysconfig.get_path('purelib')}\n")
    (tmp_path / "here/evenruler").symlink_to(ROOT)
    return environment / "bin"


@pytest.mark.long
def test_the_workflow_for_ci_installs_measures_and_stops(shell, runner, tmp_path, tiny) -> None:
    """Its steps as a runner does them, in an empty folder: the package comes from the checkout in
    the place of a clone of a hub. Then with something detected among the results."""
    (block,) = (block for block in blocks("docs/results.md") if block.title == str(WORKFLOW))
    workflow = YAML(typ="safe").load(block.text)
    steps = workflow["jobs"]["gate"]["steps"]
    runs = {step["name"]: step["run"] for step in steps if "run" in step}
    assert list(runs) == ["Install", "Measure", "Gate"]
    env = {
        **workflow["env"],
        "PATH": f"{runner}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the other way round: no isolation
    }
    here = tmp_path / "here"
    installed = shell("console", runs["Install"], **env)
    assert "Successfully installed evenruler-" in installed
    assert (runner / "evenruler").is_file()
    (here / "my-model").symlink_to(tiny)
    assert "on my-model, standard" in shell("console", runs["Measure"], **env)
    assert "::warning::nothing decided: " in shell("console", runs["Gate"], **env)
    suite = ElementTree.parse(here / "gate.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    heading = Heading(figure="gain", heading="gain", meaning="how much", figure_type="headline")
    recorded = synthetic(figures=[figure_row("gain", 0.6, **CONFIRMED)])
    stored(
        here / "results",
        recorded.model_copy(update={"headings": [heading]}),
        gain_of("one", figure="gain"),
    )
    with pytest.raises(
        AssertionError, match=r"failed: probes-made-up@1\.0\.0, one: gain:set=seed is detected"
    ):
        shell("console", runs["Gate"], **env)
    suite = ElementTree.parse(here / "gate.xml").getroot()
    assert suite.get("failures") == "1"


def test_start(shell, tmp_path) -> None:
    (printed,) = follow("docs/start.md", tmp_path / "here", shell)
    assert "probes-occupation-gender" in printed
    assert "as its manifest says" in printed


def test_the_equation(shell, tmp_path) -> None:
    (printed,) = follow("docs/probes.md", tmp_path / "here", shell)
    assert printed == "[2.2]\n"

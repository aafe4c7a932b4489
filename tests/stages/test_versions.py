"""Releases, and what others do with them: real git, DVC, Hub clients, lm-evaluation-harness;
docs/publishing.md."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.hub_client import Client
from tests.loopback_hub import running
from tests.stages.conftest import Clone
from tests.warm import Warm

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/publishing.md").read_text()
NAME = "probes-occupation-gender"
TAGS = [f"{NAME}@v1.0.0", f"{NAME}@v1.0.1"]
pytestmark = pytest.mark.slow  # each release builds the card anew
MESSAGE = "Say in the limits what year the criterion is from."


@pytest.fixture(scope="module")
def copy_of(built: Clone, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Clone]:
    """Makes a copy of the clone as it was built, with its history, or of another one."""

    def make(original: Clone | None = None) -> Clone:
        folder = tmp_path_factory.mktemp("copy") / "clone"
        # Other tests may have changed the clone itself.
        shutil.copytree(
            original.folder if original else built.folder.with_name("pristine"),
            folder,
            symlinks=True,
        )
        clone = Clone(folder, Path(built.env["EVENRULER_CACHE"]), built.warm)
        clone.run("git", "config", "user.name", "t")
        clone.run("git", "config", "user.email", "t@example.org")
        return clone

    return make


@pytest.fixture(scope="module")
def released(copy_of: Callable[..., Clone]) -> Clone:
    """A clone with two released versions: 1.0.0, and a patch."""
    clone = copy_of()
    clone.run("evenruler", "release", NAME)
    new_limit(clone)
    clone.run("dvc", "repro", f"card@{NAME.removeprefix('probes-')}", "report")
    clone.commit("a limit more")
    clone.run("evenruler", "release", NAME, "--message", MESSAGE)
    return clone


def new_limit(clone: Clone) -> None:
    clone.edit(
        "data/sources/probes/occupation-gender.yaml",
        lambda source: source["limits"].append("The year is 2021."),
    )


def test_a_release_is_a_version_a_changelog_a_commit_and_an_annotated_tag(released: Clone) -> None:
    assert released.run("git", "tag").split() == TAGS
    kinds = released.run("git", "for-each-ref", "--format=%(objecttype)", "refs/tags").split()
    assert kinds == ["tag", "tag"]
    assert released.run("git", "status", "--short") == ""
    yaml = YAML(typ="safe")
    assert yaml.load((released.folder / "params.yaml").read_text())["versions"] == {NAME: "1.0.1"}
    releases = yaml.load((released.folder / f"data/sources/changelogs/{NAME}.yaml").read_text())[
        "releases"
    ]
    assert [(version, entry["changes"]) for version, entry in releases.items()] == [
        ("1.0.1", [MESSAGE]),
        ("1.0.0", ["First release."]),
    ]
    card = (released.folder / f"benchmarks/{NAME}/README.md").read_text()
    assert f"- **1.0.1** ({releases['1.0.1']['date']}): {MESSAGE}" in card
    assert 'revision="v1.0.1"' in card


@pytest.mark.long
def test_what_cannot_be_released_is_refused_and_changes_nothing(
    copy_of: Callable[..., Clone],
) -> None:
    clone = copy_of()

    def refused(*arguments: str) -> str:
        before = (
            clone.run("git", "status", "--short"),
            clone.run("git", "log", "--oneline"),
            clone.run("git", "tag"),
        )
        message = clone.run("evenruler", "release", *arguments, status=2)
        after = (
            clone.run("git", "status", "--short"),
            clone.run("git", "log", "--oneline"),
            clone.run("git", "tag"),
        )
        assert before == after
        assert len(message.splitlines()) == 1
        return message

    assert "no benchmark" in refused("probes-occupation")
    new_limit(clone)
    assert "does not match the declaration" in refused(NAME)
    clone.run("git", "checkout", "-q", ".")
    (clone.folder / "notes.txt").write_text("mine")
    assert "uncommitted changes" in refused(NAME)
    (clone.folder / "notes.txt").unlink()
    assert f"would release {NAME} 1.0.0 (before: none)" in clone.run(
        "evenruler", "release", NAME, "--dry-run"
    )
    assert clone.run("git", "status", "--short") == ""
    hook = clone.folder / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho no; exit 1\n")
    hook.chmod(0o755)
    assert "git commit failed (no)" in refused(NAME)
    hook.unlink()
    clone.run("evenruler", "release", NAME)
    assert "nothing changed since 1.0.0" in refused(NAME)
    clone.edit("params.yaml", lambda params: params["versions"].update({NAME: "0.9.0"}))
    clone.run("evenruler", "check")
    clone.run("dvc", "repro")
    clone.commit("down")
    assert "goes down, from 1.0.0 to 0.9.0" in refused(NAME)


@pytest.mark.long
def test_rows_outside_git_are_released_only_once_they_are_on_the_remote(
    copy_of: Callable[..., Clone],
) -> None:
    """A benchmark that holds text of others is a cached output; its tag must not come before its
    push."""
    clone = copy_of()
    pipeline = clone.folder / "dvc.yaml"
    pipeline.write_text(pipeline.read_text().replace("cache: false, persist", "persist"))
    with (clone.folder / ".gitignore").open("a") as ignored:
        ignored.write("/benchmarks/*\n")
    clone.run("git", "rm", "-rq", "--cached", "benchmarks")
    clone.run("dvc", "repro")
    clone.commit("cached")
    message = clone.run("evenruler", "release", NAME, status=2)
    assert message.endswith("`dvc remote add --default NAME URL`, `dvc push`, then release again\n")
    remote = clone.folder.parent / "remote"
    clone.run("dvc", "remote", "add", "--default", "shared", str(remote))
    clone.commit("remote")
    message = clone.run("evenruler", "release", NAME, status=2)
    assert message.endswith(
        "the rows are not on the default DVC remote; run `dvc push`, then release again\n"
    )
    assert clone.run("git", "tag") == ""
    clone.run("dvc", "push", "--quiet", f"benchmarks/{NAME}")
    clone.run("evenruler", "release", NAME)
    assert clone.run("git", "tag") == f"{NAME}@v1.0.0\n"
    shutil.rmtree(clone.folder / ".dvc/cache")
    got = clone.folder.parent / "got"
    clone.run(
        "dvc", "artifacts", "get", str(clone.folder), NAME, "--rev", "v1.0.0", "--out", str(got)
    )
    assert clone.run("evenruler", "verify", str(got)) == f"{got}: as its manifest says\n"


@pytest.fixture(scope="module")
def consumer(
    released: Clone, warm_client: Warm | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """Another person's empty DVC repository, with a hub on which both versions are."""
    folder = tmp_path_factory.mktemp("consumer")
    with running() as hub:
        publisher = Client(hub, released.folder, folder / "publishers-home", warm_client)
        publish = ("evenruler", "publish", NAME, "--to", f"you/{NAME}")
        publisher.run("git", "checkout", "-q", f"{NAME}@v1.0.0")
        publisher.run(*publish)
        publisher.run("git", "checkout", "-q", "-")
        publisher.run(*publish)
        (folder / "work").mkdir()
        client = Client(hub, folder / "work", folder / "home")
        client.run("git", "init", "-q")
        client.run("dvc", "init", "-q")
        yield client


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(text: str) -> list[str]:
    lines = "".join(re.findall(r"```console\n(.*?)```", text, flags=re.S)).splitlines()
    return [line for line in lines if not line.startswith("RULER=")]


def test_the_page_says_how_to_use_a_published_benchmark_and_to_track_versions(
    consumer: Client, released: Clone, copy_of: Callable[..., Clone], tmp_path: Path
) -> None:
    from tests.tiny import save_tiny

    (code,) = re.findall(r"```python\n(.*?)```", section("Use a published benchmark"), flags=re.S)
    assert consumer.python(code).splitlines()[-1].endswith(".")
    model = save_tiny(tmp_path / "tiny")
    for command in commands(section("Use a published benchmark")):
        local = command.replace("HuggingFaceTB/SmolLM2-135M-Instruct", f"{model} --device cpu")
        output = consumer.run(
            "bash",
            "-c",
            local,
            token="",
            RULER=str(released.folder),
        )
    assert "|spread|" in output.replace(" ", "")
    assert "|validity|" in output.replace(" ", "")

    for folder, version in (
        ("copied", "1.0.0"),
        ("the-same", "1.0.0"),
        ("ruler", "1.0.1"),
        ("downloaded", "1.0.0"),
    ):
        consumer.run("evenruler", "verify", folder)
        manifest = json.loads((consumer.folder / folder / "manifest.json").read_text())
        assert manifest["version"] == version

    compare = [
        command
        for command in commands(section("Track versions"))
        if command.split()[1] in ("verify", "diff")
    ]
    assert len(compare) == 3
    shown = [consumer.run("bash", "-c", command, token="") for command in compare]
    assert "Needs a **patch** version, 1.0.1" in shown[1]
    assert '"needs": "none"' in shown[2]

    clone = copy_of()
    publisher = Client(consumer.hub, clone.folder, consumer.home.with_name("third"))
    consumer.hub.repos.clear()
    for command in commands(section("Track versions"))[3:]:
        publisher.run("bash", "-c", command)
    assert list(consumer.hub.repos[f"you/{NAME}"].tags) == ["v1.0.0"]
    assert clone.run("git", "tag") == f"{NAME}@v1.0.0\n"

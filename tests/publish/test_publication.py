"""`evenruler publish` over real HTTP, the Hub's own client in between, with every fault that can
happen on the way."""

import dataclasses
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.files import file_sha256
from evenruler.publish.folder import BenchmarkFolder, Config, write_benchmark
from tests.hub_client import ROOT, Client
from tests.loopback_hub import READ_TOKEN, DeathError, LoopbackHub, running
from tests.text_tables import yaml_of_text
from tests.warm import Warm

REPO = "you/jobs"
PUBLISH = ("evenruler", "publish", "probes-jobs", "--to", REPO)
DATA = "probes/test-00000-of-00001.parquet"
INSTALLED = ROOT / ".cache/hub-server/bin/olah-cli"
OLAH = str(INSTALLED) if INSTALLED.exists() else shutil.which("olah-cli")


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with running() as hub:
        yield hub


@pytest.fixture
def client(
    hub: LoopbackHub, tmp_path: Path, benchmark: BenchmarkFolder, warm_client: Warm | None
) -> Client:
    """A repository whose only benchmark is built, at version 1.2.3."""
    root = tmp_path / "root"
    root.mkdir()
    params = (ROOT / "params.yaml").read_text().split("\nversions:")[0] + "\n"
    (root / "params.yaml").write_text(params.replace("occupation-gender", "jobs"))
    write_benchmark(benchmark, root / "benchmarks/probes-jobs")
    return Client(hub, root, tmp_path / "home", warm_client)


@pytest.fixture
def rebuild(client: Client, benchmark: BenchmarkFolder) -> Callable[..., None]:
    """Builds the benchmark anew with some of its fields changed."""

    def build(**changed: object) -> None:
        write_benchmark(
            dataclasses.replace(benchmark, **changed), client.folder / "benchmarks/probes-jobs"
        )

    return build


def more_rows(benchmark: BenchmarkFolder) -> list[Config]:
    probes, *other_configs = benchmark.configs
    row = probes.table.to_pylist()[0] | {"id": "9", "content_sha256": "ee", "text": "new"}
    table = pa.concat_tables(
        [probes.table, pa.Table.from_pylist([row], schema=probes.table.schema)]
    )
    return [dataclasses.replace(probes, table=table), *other_configs]


@pytest.mark.slow
def test_published_rows_load_by_tag_and_equal_the_local_ones(
    client, hub, rebuild, benchmark
) -> None:
    client.warm = None  # here all start as users start them
    local = benchmark.configs[0].table
    assert client.run(*PUBLISH).splitlines() == [
        f"made {REPO}",
        "committed 9 files",
        f"published {REPO} v1.2.3",
    ]
    rebuild(version="1.3.0", configs=more_rows(benchmark))
    assert client.run(*PUBLISH).endswith(f"\npublished {REPO} v1.3.0\n")
    client.forget()
    loaded = client.python(f"""
import json
import re
from datasets import load_dataset
old = load_dataset({REPO!r}, "probes", split="test", revision="v1.2.3")
new = load_dataset({REPO!r}, "probes", split="test", revision="v1.3.0")
default = load_dataset({REPO!r}, split="test", revision="v1.2.3")
streamed = load_dataset({REPO!r}, "probes", split="test", revision="v1.2.3", streaming=True)
print(json.dumps([old.to_list(), new.to_list(), default.to_list(), list(streamed),
                  {{name: str(feature) for name, feature in old.features.items()}}]))
""")
    old, new, default, streamed, features = json.loads(loaded.splitlines()[-1])
    assert old == default == streamed == local.to_pylist()
    assert new == more_rows(benchmark)[0].table.to_pylist()
    assert features == dict.fromkeys(local.column_names, "Value('string')")


@pytest.mark.slow
def test_a_download_is_as_its_manifest_says_and_the_same_again_does_nothing(client, hub) -> None:
    client.run(*PUBLISH)
    where = f"{REPO} --repo-type dataset --revision v1.2.3 --local-dir got"
    download = f"hf download {where}".split()
    client.run(*download, token="")
    assert client.run("evenruler", "verify", "got") == "got: as its manifest says\n"
    announced, verified = client.run("evenruler", "verify", f"{REPO}@v1.2.3").splitlines()
    assert re.fullmatch(rf"will download \d+ kB \(10 files\) of {REPO} from the Hub", announced)
    assert verified == f"{REPO}@v1.2.3: as its manifest says"
    card = (client.folder / "got/README.md").read_text()
    assert f'load_dataset("{REPO}", "probes", split="test", revision="v1.2.3")' in card
    assert 'load_dataset("DIR"' not in card
    url = json.loads((client.folder / "got/croissant.json").read_text())["url"]
    assert url == f"https://huggingface.co/datasets/{REPO}"
    assert json.loads((client.folder / "got/manifest.json").read_text())["location"] == REPO
    compared = client.run("evenruler", "diff", f"{REPO}@v1.2.3", "benchmarks/probes-jobs")
    assert "Nothing changed that asks for a new version." in compared
    commits = dict(hub.repos[REPO].commits)
    output = client.run(*PUBLISH)
    assert output == f"{REPO} has v1.2.3 already, with this content: nothing to do\n"
    assert hub.repos[REPO].commits == commits


def test_a_dry_run_shows_the_card_and_changes_nothing(client, hub) -> None:
    output = client.run(*PUBLISH, "--dry-run", token="")
    assert f"would make the public data set {REPO}" in output
    assert f"  add {DATA} (" in output
    assert "> **Content warning.** These sentences repeat stereotypes." in output
    assert hub.repos == {}


@pytest.mark.slow
def test_other_content_at_a_tag_is_refused_with_the_version_it_should_be(
    client, hub, rebuild, benchmark
) -> None:
    client.run(*PUBLISH)
    before = hub.repos[REPO].tags.copy()
    evidence = [{**row, "value": 0.5} for row in benchmark.evidence]
    cases = ({"evidence": evidence}, "1.2.4"), ({"configs": more_rows(benchmark)}, "1.3.0")
    for changed, version in cases:
        rebuild(**changed)
        output = client.run(*PUBLISH, status=2)
        error = output[output.index("error: ") :]
        assert error.startswith(f"error: {REPO}: v1.2.3 is published with other content (")
        assert output.endswith(
            f"this one should be {version}: run `evenruler release probes-jobs`\n"
        )
    rebuild(configs=more_rows(benchmark), version="1.2.4")
    assert (
        "1.2.4 is too small a step from 1.2.3 (1 rows of probes are new); it should be 1.3.0"
        in client.run(*PUBLISH, status=2)
    )
    rebuild(version="1.2.2")
    assert "the version goes down, from 1.2.3 to 1.2.2" in client.run(*PUBLISH, status=2)
    assert hub.repos[REPO].tags == before


def test_files_that_are_gone_are_deleted_and_private_is_private(
    client, hub, rebuild, benchmark
) -> None:
    client.run(*PUBLISH, "--private")
    assert hub.repos[REPO].private
    client.run("evenruler", "verify", f"{REPO}@v1.2.3", token="", status=2)
    rebuild(version="2.0.0", configs=benchmark.configs[:1])
    client.run(*PUBLISH)
    files = hub.repos[REPO].files("v2.0.0")
    assert not any(name.startswith("templates/") for name in files)
    assert ".gitattributes" in files
    assert any(name.startswith("templates/") for name in hub.repos[REPO].files("v1.2.3"))


@pytest.mark.parametrize(
    ("token", "line"),
    [
        ("", "no token for the Hub; log in with `hf auth login` or set HF_TOKEN"),
        (READ_TOKEN, "no right to do this (403); use a token with the right to write there"),
    ],
)
def test_who_may_not_write_is_told_so(client, hub, token, line) -> None:
    output = client.run(*PUBLISH, token=token, status=2)
    assert output == f"error: {REPO}: {line}\n"
    assert hub.repos == {}
    client.run(*PUBLISH)
    assert set(hub.repos[REPO].tags) == {"v1.2.3"}


def test_what_breaks_off_leaves_no_half_version_and_the_next_run_finishes(client, hub) -> None:
    hub.once("POST .*/commit/", DeathError())
    output = client.run(*PUBLISH, status=2)
    assert output.splitlines()[-1].startswith(f"error: {REPO}: the Hub does not answer (")
    assert hub.repos[REPO].tags == {}
    hub.stop()
    hub.start()
    uploaded = len(hub.blobs)
    assert client.run(*PUBLISH).endswith(f"\npublished {REPO} v1.2.3\n")
    assert len(hub.blobs) == uploaded  # the second run sends no blob again
    assert len(hub.repos[REPO].commits) == 2  # the one that makes the repository, and one of ours
    client.run("evenruler", "verify", f"{REPO}@v1.2.3")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("publish", "probes-job", "--to", REPO),
            "error: params.yaml: no benchmark 'probes-job'; did you mean",
        ),
        (
            ("verify", "at@1.0.0/one.csv"),
            "error: at@1.0.0/one.csv: a file, expected a folder; name a folder, a",
        ),
        (
            ("verify", "you/nothing@v1.0.0"),
            "error: you/nothing@v1.0.0: you/nothing is not on the Hub",
        ),
        (("verify", f"{REPO}@v9.9.9"), f"error: {REPO}@v9.9.9: {REPO} has no revision v9.9.9"),
    ],
)
def test_bad_input_is_one_line_and_status_2(client, arguments, line) -> None:
    (client.folder / "data").mkdir()
    (client.folder / "at@1.0.0").mkdir()
    (client.folder / "at@1.0.0/one.csv").touch()
    if "v9.9.9" in arguments[-1]:
        client.run(*PUBLISH)
    output = client.run("evenruler", *arguments, status=2)
    assert output.startswith(line)
    assert len(output.splitlines()) == 1


def test_answers_that_were_exported_are_published_once(client, hub) -> None:
    out = client.folder / "answers"
    out.mkdir()
    answers = pa.table({"operation": ["loglikelihood/1"], "answer": ["[-3.5, 2]"]})
    pq.write_table(answers, out / "answers.parquet")
    description = yaml_of_text("{name: bert, kind: causal, licence: mit}")
    description["sha256"] = file_sha256(out / "answers.parquet")
    (out / "model.json").write_text(json.dumps(description))
    (out / "README.md").write_text("# Answers of bert\n")
    tag = f"answers-{description['sha256'][:12]}"
    publish = ("evenruler", "publish", "answers", "--to", REPO)
    assert client.run(*publish, "--dry-run").startswith(
        "would publish README.md, answers.parquet, model.json"
    )
    assert REPO not in hub.repos
    assert client.run(*publish).splitlines() == [
        f"made {REPO}",
        "committed 3 files",
        f"published {REPO} {tag}",
    ]
    assert client.run(*publish) == f"{REPO} has {tag} already: nothing to do\n"
    sent = hub.repos[REPO].files(tag)["answers.parquet"].data
    assert sent == (out / "answers.parquet").read_bytes()
    (out / "model.json").write_text(json.dumps({**description, "licence": "not stated"}))
    assert "may not be passed on" in client.run(*publish, status=2)
    (out / "answers.parquet").write_bytes(b"PAR1")
    assert "not as model.json says (sha256)" in client.run(*publish, status=2)


def test_what_is_not_built_or_not_whole_is_not_published(client, hub) -> None:
    folder = client.folder / "benchmarks/probes-jobs"
    (folder / "README.md").write_text("edited")
    output = client.run(*PUBLISH, status=2)
    assert output.startswith(
        "error: benchmarks/probes-jobs: README.md: altered (its sha256 is not the one in"
    )
    shutil.rmtree(folder)
    assert client.run(*PUBLISH, status=2) == (
        "error: benchmarks/probes-jobs: no manifest.json here; name a folder of a benchmark\n"
    )
    assert hub.repos == {}


@pytest.mark.skipif(
    not OLAH, reason="there is no other server of the Hub's files; `make hub-server` installs one"
)
@pytest.mark.slow
@pytest.mark.long
def test_a_server_that_nobody_here_wrote_hands_out_the_same(
    client, hub, benchmark, tmp_path
) -> None:
    """What the loopback Hub took in, as a git repository with its tag behind olah."""
    client.run(*PUBLISH)
    mirror = tmp_path / "mirrors/datasets/you/jobs"
    for name, blob in hub.repos[REPO].files("v1.2.3").items():
        (mirror / name).parent.mkdir(parents=True, exist_ok=True)
        (mirror / name).write_bytes(blob.data)
    git = ("git", "-C", str(mirror), "-c", "user.name=t", "-c", "user.email=t@example.org")
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("commit", "-qm", "v"),
        ("tag", "-am", "v", "v1.2.3"),
    ):
        client.run(*git, *command)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "olah.toml"
    config.write_text(
        f'[basic]\nmirrors-path = ["{tmp_path / "mirrors"}"]\n[accessibility]\noffline = true\n'
    )
    server_options = f"--host 127.0.0.1 --port {port}".split()
    places = ["-c", str(config), "--repos-path", str(tmp_path / "r")]
    command = [OLAH, *places, *server_options]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=tmp_path, stdout=quiet, stderr=quiet)
    try:
        wait_for(port, server)
        client.forget()
        there = {"HF_ENDPOINT": f"http://127.0.0.1:{port}"}
        code = f"""
import json
import re
from datasets import load_dataset
print(json.dumps(load_dataset({REPO!r}, "probes", split="test", revision="v1.2.3").to_list()))
"""
        assert (
            json.loads(client.python(code, **there).splitlines()[-1])
            == benchmark.configs[0].table.to_pylist()
        )
        client.run("evenruler", "verify", f"{REPO}@v1.2.3", token="", **there)
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Until it answers there."""
    deadline = time.monotonic() + 120
    while server.poll() is None:
        assert time.monotonic() < deadline, "olah does not answer"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("olah ended")

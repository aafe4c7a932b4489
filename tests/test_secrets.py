"""Secrets stay where they are: none is committed, and none of the environment comes out
anywhere."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from evenruler.cli import main
from evenruler.models.backends.server import KEY, URL
from evenruler.publish.publication import publish
from tests.faults.hub import ORIGINAL, talking_to
from tests.loopback_hub import WRITE_TOKEN, RefusalError
from tests.loopback_hub import running as hub_running
from tests.loopback_openai import ScriptedServer, chat_choice
from tests.loopback_openai import running as server_running

ROOT = Path(__file__).parents[1]

SECRETS = re.compile(
    r"\bhf_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9_-]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bglpat-[\w-]{20,}|\bpypi-[\w-]{50,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{35}|BEGIN [A-Z ]*PRIVATE "
    r"KEY|\beyJ[\w-]{10,}\.eyJ"
    r"|://[^\s/:@\"'{}]+:[^\s/:@\"'{}]{6,}@(?!127\.0\.0\.1)"
)
"""Tokens of services by how they begin, private keys, and addresses with a password."""

PRIVATE = re.compile(
    r"(?<![\w.-])/(?:home|Users)/[a-z][\w.-]+/|(?<![\w.])/root/|[A-Z]:\\\\?Users\\|(?<![\w.-])/tmp/[a-z]\w*/"
)
"""Paths of somebody's own computer."""

TOKEN_OF_HUB, KEY_OF_SERVER, PASSWORD = (
    WRITE_TOKEN,
    "key-of-the-server-7f3a",
    "word-in-the-address-91c2",
)
IN_QUERY = "word in the query+5d8e"
"""A space and a plus are written otherwise in an address."""


def committed() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_committed_file_holds_one() -> None:
    secrets_by_file = {}
    for name in committed():
        if name.endswith((".parquet", ".safetensors", ".png")) or name == "tests/test_secrets.py":
            continue
        text = (ROOT / name).read_bytes().decode("utf-8", errors="replace")
        matches = [SECRETS.search(text), PRIVATE.search(text)]
        secrets = [match[0] for match in matches if match]
        if secrets:
            secrets_by_file[name] = secrets
    assert secrets_by_file == {}


@pytest.mark.parametrize(
    "text",
    [
        "hf_" + "a" * 34,
        "sk-" + "a" * 40,
        "-----BEGIN " + "PRIVATE KEY-----",
        "https://me:" + "secret-word@example.org",
    ],
)
def test_the_scan_finds_what_it_is_for(text: str) -> None:
    assert SECRETS.search(f"x = '{text}'")
    assert PRIVATE.search("in /home/" + "me/it")


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN_OF_HUB)
    monkeypatch.setenv(KEY, KEY_OF_SERVER)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server(env: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with server_running(ScriptedServer()) as server:
        address = server.url.replace("http://", f"http://me:{PASSWORD}@")
        monkeypatch.setenv(URL, f"{address}?api_key={quote(IN_QUERY)}")
        yield server


def run_command(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["evenruler", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), "".join(capfd.readouterr())


def require_none(folder: Path, *texts: str) -> None:
    """No text and no file below a folder holds a secret."""
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files
    for secret in (
        TOKEN_OF_HUB,
        KEY_OF_SERVER,
        PASSWORD,
        IN_QUERY,
        quote(IN_QUERY),
        quote_plus(IN_QUERY),
    ):
        assert not [name for name, content in files.items() if secret.encode() in content]
        assert not [text for text in texts if secret in text]


MEASURE = (
    "measure",
    "endpoint:big",
    "--with",
    "framing-age",
    "--limit",
    "1",
    "--size",
    "trial",
    "--yes",
)


@pytest.mark.enable_socket
def test_a_measurement_through_a_server_holds_none(
    server: ScriptedServer,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status, output = run_command(capfd, monkeypatch, *MEASURE)
    assert status == 0, output
    assert {*server.queries} == {f"api_key={quote_plus(IN_QUERY)}"}, "every question carries it"
    assert len([*tmp_path.glob("results/big/*/result.json")]) == 1
    shown = [
        run_command(capfd, monkeypatch, "export", "results", "--to", "out", "--id", "big=org/big")[
            1
        ]
    ]
    require_none(tmp_path, output, *shown)


@pytest.mark.enable_socket
@pytest.mark.parametrize("status", [400, 500])
def test_a_server_that_repeats_a_secret_is_told_without_it(
    server: ScriptedServer,
    status: int,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    message = f"no: {KEY_OF_SERVER} {IN_QUERY}"
    server.faults = [(status, {"error": {"message": message}})] * 500
    code, output = run_command(capfd, monkeypatch, *MEASURE)
    assert code == 2
    require_none(tmp_path, output)


IN_PATH = "4f2a9c81d7e6b35a0c9e"
"""As a gateway has it."""

REPEATED = {
    "content": {"content": f"A. Your key is {KEY_OF_SERVER}!"},
    "percent-encoded": {"content": f"A ({quote(IN_QUERY)})"},
    "password": {"content": f"A, {PASSWORD}"},
    "path": {"content": f"A at /{IN_PATH}/v1"},
    "refusal": {"content": None, "refusal": f"I may not tell {IN_QUERY}."},
    "tool": {
        "content": "A",
        "tool_calls": [{"function": {"name": "f", "arguments": {"key": [KEY_OF_SERVER]}}}],
    },
}
"""Messages that repeat a secret, by where."""


@pytest.mark.enable_socket
@pytest.mark.parametrize("where", REPEATED)
def test_a_reply_that_repeats_a_secret_is_refused_and_not_stored(
    server: ScriptedServer,
    where: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(URL, os.environ[URL].replace("/v1?", f"/{IN_PATH}/v1?"))
    plain = server.chat

    def chat(question: dict[str, Any]) -> dict[str, Any]:
        return chat_choice(**REPEATED[where]) if len(server.asked) > 3 else plain(question)

    monkeypatch.setattr(server, "chat", chat)
    status, output = run_command(capfd, monkeypatch, *MEASURE)
    assert status == 2
    assert (
        f"big: a reply repeats a secret, {KEY} or one in {URL}, so it is not stored; change it"
        in output
    )
    assert not list(tmp_path.glob("results/**/result.json"))
    require_none(tmp_path, output)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if IN_PATH.encode() in path.read_bytes()]
    if where != "path":
        return
    monkeypatch.setattr(server, "chat", plain)
    status, output = run_command(capfd, monkeypatch, *MEASURE)
    assert status == 0, output
    require_none(tmp_path, output)
    (result_file,) = tmp_path.glob("results/big/*/result.json")
    assert IN_PATH not in output + result_file.read_text()
    assert re.search(
        r'"url": "http://127\.0\.0\.1:\d+/sha256-[0-9a-f]{12}/v1"', result_file.read_text()
    )


@pytest.mark.enable_socket
def test_words_that_a_model_may_say_are_no_secrets(
    server: ScriptedServer,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A short value, as servers without keys are given, a version, and the name of a deployment."""
    monkeypatch.setenv(KEY, "none")
    monkeypatch.setenv(URL, f"{server.url}?api-version=2024-10-21&deployment=gpt-5.4-mini")
    server.content = "A, as none of gpt-5.4-mini of 2024-10-21 would."
    status, output = run_command(capfd, monkeypatch, *MEASURE)
    assert status == 0, output


@pytest.mark.enable_socket
def test_a_publication_holds_none(
    env: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with hub_running() as hub, talking_to(hub.endpoint, tmp_path / "home"):
        hub.once("POST .*/tag/", RefusalError(400, f"no: {WRITE_TOKEN}"))
        with pytest.raises(Exception, match="HF_TOKEN") as caught:
            list(publish(ORIGINAL, "you/it"))
        lines = list(publish(ORIGINAL, "you/it"))
        files = hub.repos["you/it"].files("v0.1.0")
    assert not [name for name, blob in files.items() if WRITE_TOKEN.encode() in blob.data]
    (tmp_path / "kept").touch()
    require_none(tmp_path, *lines, str(caught.value), "".join(capfd.readouterr()))

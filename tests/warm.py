"""Stages that start at once: each is forked off a process in which the libraries are imported
already.

A stage imports for four seconds before it begins, and the tests start some hundred. `Warm` puts a
`python`, an `evenruler` and a `dvc` of its own into a folder for PATH. Whoever runs `python -m
stages.NAME` by it, as DVC does, gets a process of its own in which nothing of this repository is
imported yet, with the folder, environment, streams and arguments of the caller; so does whoever a
forked process starts by `sys.executable`. Anything else is run by the real python.

What is killed, isolated or measured is started cold: the caller is the parent of no warm stage.
Forks share the seed of hashes, so that it takes a cold start beside a warm one to see an output
that hangs on it.
"""

import array
import atexit
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

LIBRARIES = (
    "altair",
    "dvc.cli",
    "dvc.repo.reproduce",
    "dvc.repo.status",
    "dvc_data.hashfile",
    "httpx2",
    "inflect",
    "jinja2",
    "markdown_it",
    "mlcroissant",
    "openai",
    "pandas",
    "psutil",
    "pyarrow.parquet",
    "pydantic",
    "rich",
    "ruamel.yaml",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.cluster",
    "sklearn.metrics",
    "spacy",
    "statsmodels.api",
    "statsmodels.formula.api",
    "tenacity",
    "torch",
    "torch.export",
    "typer",
    "vaderSentiment.vaderSentiment",
    "vl_convert",
)
"""None is of this repository."""

OF_THE_HUB = (
    "accelerate",
    "huggingface_hub",
    "peft",
    "sentence_transformers",
    "transformers",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gemma3.modeling_gemma3",
    "transformers.models.llama.modeling_llama",
)
"""They read where the Hub is when they are imported."""

CALLER = """#!{python} -IS
import array, json, os, socket, sys
arguments = sys.argv[1:]
module = arguments[1] if arguments[:1] == ["-m"] and arguments[1:] else ""
warm = {name!r} != "python" or module == "dvc" or module.startswith("stages.")
try:
    if not warm:
        raise FileNotFoundError
    server = socket.socket(socket.AF_UNIX)
    server.connect({address!r})
except OSError:
    os.execv({real!r}, [{real!r}, *arguments])
asked = json.dumps({{"name": {name!r}, "argv": arguments, "env": dict(os.environ), "cwd": os.getcwd()}}).encode()
server.sendmsg([len(asked).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
server.sendall(asked)
status = server.recv(1)
sys.exit(status[0] if status else "the warm process was killed")
"""


class Warm:
    """The process that others are forked off; it ends with `close`, or with this process."""

    def __init__(
        self,
        folder: Path,
        prefix: Sequence[str] = (),
        *,
        offline: bool = True,
        hub: Mapping[str, str] | None = None,
    ) -> None:
        """Start it.

        Args:
            folder: Where `bin` comes, which goes first in PATH.
            prefix: A command that runs it, and so whatever is forked off it.
            offline: Whether nobody asks a Hub, so that the libraries of the Hub are imported, too.
            hub: The environment that says where the one Hub is that everybody asks; its libraries
                are imported then, too.
        """
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        address = folder / "socket"
        for name in ("python", "evenruler", "dvc"):
            real = str(Path(sys.executable).parent / name)
            text = CALLER.format(python=sys.executable, name=name, address=str(address), real=real)
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        libraries = LIBRARIES + OF_THE_HUB * offline
        command = [*prefix, sys.executable, __file__, str(address), *libraries]
        self._process = subprocess.Popen(
            command, env={**os.environ, **(hub or {"HF_HUB_OFFLINE": "1"})}, stdin=subprocess.PIPE
        )
        deadline = time.monotonic() + 600
        while not address.exists():
            assert self._process.poll() is None, "the warm process ended"
            assert time.monotonic() < deadline, "the warm process does not start"
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(timeout=120)
        shutil.rmtree(self.bin.parent, ignore_errors=True)


def serve(address: str, *libraries: str) -> None:
    """Import, then fork for each caller until stdin ends."""
    here = str(Path(__file__).parent)
    sys.path[:] = [path for path in sys.path if path != here]
    for library in libraries:
        importlib.import_module(library)
    assert threading.active_count() == 1, "forks would lose a thread"
    assert not {"evenruler", "stages"} & set(sys.modules)
    gc.collect()
    gc.freeze()  # no fork looks through what was imported for what may go
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}.new")
    listening.listen()
    os.rename(f"{address}.new", address)
    children: set[int] = set()
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [], 1)
        children -= {child for child in children if os.waitpid(child, os.WNOHANG)[0]}
        if sys.stdin in ready:
            break
        if listening in ready:
            caller, _ = listening.accept()
            child = os.fork()
            if child:
                children.add(child)
                caller.close()
            else:
                listening.close()
                _become(caller, Path(address).parent / "bin/python")
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _become(caller: socket.socket, warm: Path) -> None:
    """Be what the caller asked for, tell it the status, and end; who is started by `sys.executable`
    is warm, too."""
    scripts, sys.executable = Path(sys.executable).parent, str(warm)
    streams = array.array("i")
    head, ancillary, _, _ = caller.recvmsg(8, socket.CMSG_LEN(3 * streams.itemsize))
    streams.frombytes(ancillary[0][2])
    size = int.from_bytes(head, "big")
    received = b""
    while len(received) < size:
        received += caller.recv(size - len(received))
    question = json.loads(received)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(question["env"])
    path = question["env"].get("PYTHONPATH", "")
    sys.path[:0] = filter(None, path.split(os.pathsep))
    os.chdir(question["cwd"])
    sys.modules.pop("sitecustomize", None)
    with suppress(ModuleNotFoundError):
        importlib.import_module("sitecustomize")
    status = _run(scripts, question["name"], question["argv"])
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    caller.send(bytes([status % 256]))
    os._exit(0)


def _run(scripts: Path, name: str, arguments: list[str]) -> int:
    """The status that the python of the caller would have ended with."""
    try:
        if name == "python":
            sys.argv = arguments[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            script = scripts / name
            sys.argv = [str(script), *arguments]
            sys.path.insert(0, str(script.parent))
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        code: Any = ended.code
        if code is None or isinstance(code, int):
            return code or 0
        print(code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(*sys.argv[1:])

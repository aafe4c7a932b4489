"""Who answers, each in batches for as long as its time lasts: ours, lm-evaluation-harness, vLLM."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

Task = Literal["likelihoods", "replies"]
TASKS: Final[tuple[Task, ...]] = ("likelihoods", "replies")

VLLM: Final = Path(os.environ.get("EVENRULER_VLLM", ".cache/vllm"))
"""The environment that vLLM is installed in, or its Python; `make test-vllm` sets one up."""

LM_EVAL_BATCH: Final = 64
CHUNK: Final = 4 * LM_EVAL_BATCH
"""Questions that lm-eval gets at once: its time is looked at after each chunk."""

GRACE_SECONDS: Final = 5.0
"""What vLLM gets beyond its time before it is killed: it looks after each chunk, too."""


def find_vllm() -> Path | None:
    """The Python of vLLM's environment; None where there is none."""
    python = VLLM / "bin/python" if VLLM.is_dir() else VLLM
    return python.absolute() if python.exists() else None


@dataclass(frozen=True)
class Work:
    """What is asked."""

    task: Task
    texts: Sequence[str]
    n_tokens: int
    """Of a reply; 0 for likelihoods."""
    seconds: float
    """The most that may be spent."""


@dataclass
class Done:
    """How far somebody came."""

    answers: int = 0
    seconds: float = 0.0
    tokens: int = 0
    """Of the texts that were read, or of the replies that were written."""
    passed: int = 0
    """Tokens that went through the model: fewer where beginnings are shared, more where texts are
    padded; 0 where it is not known."""
    note: str = ""
    began: float = field(default_factory=time.perf_counter)

    def add(self, n_answers: int, n_tokens: int) -> None:
        """Count a batch that has just been answered."""
        self.answers += n_answers
        self.tokens += n_tokens
        self.seconds = time.perf_counter() - self.began


@contextmanager
def count_passes(model: Any, done: Done) -> Iterator[None]:
    """Count the tokens that go through a model meanwhile."""

    def count(_: Any, inputs: tuple[Any, ...]) -> None:
        done.passed += inputs[0].numel()

    handle = model.get_input_embeddings().register_forward_pre_hook(count)
    try:
        yield
    finally:
        handle.remove()


def ask_ours(backend: Any, work: Work) -> Done:
    """Answer as `measure` does with `--engine local`, without the store."""
    from evenruler.models.questions import LikelihoodRequest, Prompt, Sampling

    if work.task == "likelihoods":
        questions: list[Any] = [LikelihoodRequest(text) for text in work.texts]
        ask = backend.loglikelihood
    else:
        sampling = Sampling(max_new_tokens=work.n_tokens)
        questions = [Prompt(text, sampling, seed) for seed, text in enumerate(work.texts)]
        ask = backend.generate
    done = Done()
    with count_passes(backend.model, done):
        for pack in ask(questions, frozenset(range(len(questions)))):
            done.add(len(pack), count_answered_tokens(pack, work))
            if done.seconds > work.seconds:
                break
    return done


def count_answered_tokens(pack: Sequence[tuple[int, Any]], work: Work) -> int:
    """Tokens of the answers of a pack. Weights at random end no reply, but for one in many
    thousands of tokens, so replies count as full.
    """
    if work.task == "replies":
        return len(pack) * work.n_tokens
    return sum(n_tokens for _, (_, n_tokens) in pack)


def ask_lm_eval(backend: Any, work: Work) -> Done:
    """Answer by the loop of lm-evaluation-harness, on the same model."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    lm = HFLM(
        pretrained=backend.model,
        tokenizer=backend.tokenizer,
        batch_size=LM_EVAL_BATCH,
        backend="causal",
        add_bos_token=False,
    )
    settings = {"until": [], "max_gen_toks": work.n_tokens, "do_sample": False}
    done = Done()
    with count_passes(backend.model, done):
        for start in range(0, len(work.texts), CHUNK):
            texts = work.texts[start : start + CHUNK]
            if work.task == "likelihoods":
                name, arguments = "loglikelihood_rolling", [(text,) for text in texts]
            else:
                name, arguments = "generate_until", [(text, dict(settings)) for text in texts]
            requests = [Instance(name, {}, words, 0) for words in arguments]
            getattr(lm, name)(requests, disable_tqdm=True)
            done.add(len(texts), count_tokens(backend.tokenizer, texts, work))
            if done.seconds > work.seconds:
                break
    done.note = f"batches of {LM_EVAL_BATCH}"
    return done


def count_tokens(tokenizer: Any, texts: Sequence[str], work: Work) -> int:
    """Tokens of texts, or of full replies to them."""
    if work.task == "replies":
        return len(texts) * work.n_tokens
    return sum(map(len, tokenizer(list(texts), add_special_tokens=False)["input_ids"]))


def ask_vllm(python: Path, folder: Path, work: Work, scratch: Path) -> Done:
    """Answer by vLLM in an environment of its own, which makes weights of the same shape up.

    Args:
        python: Of its environment.
        folder: A configuration and a tokenizer.
        work: What is asked.
        scratch: A folder for questions and progress.
    """
    questions, progress = scratch / "questions.json", scratch / "progress.json"
    described = {"task": work.task, "texts": list(work.texts), "n_tokens": work.n_tokens}
    questions.write_text(json.dumps({**described, "seconds": work.seconds, "model": str(folder)}))
    progress.write_text(json.dumps({}))
    command = [python, Path(__file__).with_name("vllm_side.py"), questions, progress]
    note = ""
    try:
        run = subprocess.run(
            command,
            timeout=work.seconds + GRACE_SECONDS,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if run.returncode:
            last_line = run.stdout.strip().rpartition("\n")[2]
            note = f"failed: {last_line[:200]}"
    except subprocess.TimeoutExpired:
        note = "killed at the end of its time, which it spends to start, too"
    return Done(**json.loads(progress.read_text()), note=note)

"""Likelihoods, replies and evolution on one GPU; see `on_gpu.sh`, which starts it.

Needs of this package only what loads a model (no pydantic, no pyarrow), and what `on_gpu_collect` gathered. Models have
random weights and the sizes of SmolLM2-360M, Llama-3.2-1B and SmolLM3-3B, so speed and memory are those of the
architecture; texts are real, cut by the tokenizer of SmolLM2. Contenders run in turn on the same model object; loading
is not timed, cutting into tokens is. The peers get the batch that is best on a sample (likelihoods) or on all
(replies). A section that fails says so and leaves the others alone.
"""

import argparse
import contextlib
import io
import json
import os
import platform
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

from evenruler.models.backends import likelihood, trie
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.likelihood import padded
from evenruler.models.backends.refilling import Writer
from evenruler.models.backends.sampling import end_tokens
from evenruler.models.records import Prompt, Request, Sampling, WordRequest

COLLECTED = Path(".cache/on_gpu")
SECONDS = 400
"""After so many, no further section begins."""

ENDS = 48
"""One token in so many ends a reply, so that replies of random weights are of different length."""


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    shapes: dict[str, dict[str, int]]
    generated: tuple[str, ...]
    """Shapes that replies are asked of."""
    evolved: str
    """The shape that a generation is scored with."""
    packs: tuple[int, ...]
    batches: tuple[int, ...]
    slots: tuple[int, ...]
    generate_batches: tuple[int, ...]
    texts: int
    generation: int
    prompts: int
    new_tokens: int
    sample: int
    """Texts on which a peer's batch is chosen."""
    checked: int
    """Texts that are compared with another device or dtype."""
    square: int
    """Rows of the largest matrix product."""


def _sizes(hidden: int, inner: int, layers: int, heads: int, key_heads: int, vocabulary: int) -> dict[str, int]:
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "vocab_size": vocabulary,
    }


WHOLE = Scale(
    shapes={
        "0.3B": _sizes(960, 2560, 32, 15, 5, 49_152),
        "1B": _sizes(2048, 8192, 16, 32, 8, 128_256),
        "3B": _sizes(2048, 11_008, 36, 16, 4, 128_256),
    },
    generated=("0.3B", "3B"),
    evolved="3B",
    packs=(1024, 2048, 4096, 8192),
    batches=(32, 64, 128, 256, 512, 1024),
    slots=(128, 256, 512),
    generate_batches=(128, 256, 576),
    texts=4800,
    generation=38_400,
    prompts=576,
    new_tokens=64,
    sample=1200,
    checked=192,
    square=8192,
)
TINY = Scale(
    shapes={"tiny": _sizes(64, 96, 2, 4, 2, 49_152)},
    generated=("tiny",),
    evolved="tiny",
    packs=(256, 512),
    batches=(8, 16),
    slots=(8, 16),
    generate_batches=(8, 16),
    texts=160,
    generation=200,
    prompts=24,
    new_tokens=8,
    sample=48,
    checked=24,
    square=512,
)


@dataclass
class Run:
    """Where it runs, what was found so far."""

    device: str
    scale: Scale
    folder: Path
    """For models."""
    out: Path | None
    begun: float = field(default_factory=time.perf_counter)
    found: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    @property
    def dtype(self) -> str:
        return "bfloat16" if self.device == "cuda" else "float32"

    def say(self, *lines: str) -> None:
        self.said += lines
        if self.out:
            (self.out / "on_gpu.md").write_text("\n".join(self.said) + "\n", encoding="utf-8")
            (self.out / "on_gpu.json").write_text(json.dumps(self.found, indent=1), encoding="utf-8")

    def section(self, name: str, measure: Callable[[], Any]) -> Any:
        """What is measured; None where it fails or there is no time left, which is said."""
        past = time.perf_counter() - self.begun
        if past > SECONDS:
            self.say("", f"{name}: left out, {past:.0f} s had passed.")
            return None
        print(f"[{past:.0f} s] {name}", file=sys.stderr)
        try:
            self.found[name] = measure()
        except Exception as error:
            traceback.print_exc()
            reason = (str(error) or type(error).__name__).split("\n")[0]
            self.say("", f"{name}: FAILED, {type(error).__name__}: {reason[:300]}")
            return None
        return self.found[name]

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def timed(self, what: Callable[[], Any], turns: int = 2) -> tuple[Any, float, float | None]:
        """The result, seconds of the best turn, most memory in GB beside what lay there before (None on a CPU)."""
        best, peak, result = float("inf"), None, None
        for _ in range(turns):
            before = 0
            if self.device == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
            self.wait()
            start = time.perf_counter()
            result = what()
            self.wait()
            best = min(best, time.perf_counter() - start)
            if self.device == "cuda":
                peak = (torch.cuda.max_memory_allocated() - before) / 1e9
        return result, best, peak


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines of Markdown."""
    return ["", *(f"| {' | '.join(map(str, row))} |" for row in [head, ["---"] * len(head), *rows])]


def gigabytes(peak: float | None) -> str:
    return "-" if peak is None else f"{peak:.1f}"


# Models


def make(run: Run, name: str, config: Any, dtype: str, ends: int = 1) -> Path:
    """A folder with random weights, from a seed, and the tokenizer of SmolLM2; the first `ends` tokens end a reply."""
    folder = run.folder / name
    folder.mkdir(parents=True)
    with torch.random.fork_rng(), torch.device(run.device):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    model.generation_config = GenerationConfig(eos_token_id=list(range(ends)), pad_token_id=0)
    model.save_pretrained(folder)
    for path in (COLLECTED / "tokenizer").iterdir():
        if path.name != "config.json":
            shutil.copyfile(path, folder / path.name)
    return folder


def shaped(sizes: dict[str, int]) -> Any:
    """A Llama of these sizes."""
    return AutoConfig.for_model("llama", **sizes, max_position_embeddings=2048, tie_word_embeddings=True)


def weights_of(model: Any) -> int:
    """Numbers that a token is multiplied with; the embeddings are the output layer's too."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.dim() == 2)


def matmul(run: Run, n: int, hidden: int, inner: int, dtype: str) -> float:
    """FLOP/s of products of [n, hidden] and [hidden, inner], on random numbers; the best of thirty."""
    of: dict[str, Any] = {"device": run.device, "dtype": getattr(torch, dtype)}
    a, b = torch.randn(n, hidden, **of), torch.randn(hidden, inner, **of)
    repeats = 10 if run.device == "cuda" else 1

    def products() -> None:
        for _ in range(repeats):
            a @ b

    products()
    _, seconds, _ = run.timed(products, turns=3)
    return 2 * n * hidden * inner * repeats / seconds


# Likelihoods


def ours(backend: Causal, texts: Sequence[str], nodes: int) -> np.ndarray:
    """[n] nats, with packs of so many nodes."""
    nats = np.zeros(len(texts))
    with mock.patch.object(backend._scorer, "_max_nodes", nodes):
        for pack in backend.loglikelihood([Request(text) for text in texts], frozenset(range(len(texts)))):
            for index, (value, _) in pack:
                nats[index] = value
    return nats


def counted(backend: Causal, texts: Sequence[str], nodes: int) -> tuple[int, int]:
    """Tokens that go through the model, each text for itself; nodes, with shared beginnings."""
    sequences = [backend._encode(Request(text)) for text in texts]
    with mock.patch.object(backend._scorer, "_max_nodes", nodes):
        packs = backend._scorer.packs(sequences)
    shared = sum(len(trie.build([sequences[i] for i in pack]).tokens) for pack in packs)
    return sum(sequence.nodes for sequence in sequences), shared


@torch.inference_mode()
def plain(backend: Causal, texts: Sequence[str], size: int) -> np.ndarray:
    """[n] nats by transformers alone: sorted by length, padded batches, whole logits, softmax in float32."""
    tokens = [[backend._start, *ids] for ids in backend.tokenizer(list(texts), add_special_tokens=False)["input_ids"]]
    order = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
    found = []
    for first in range(0, len(order), size):
        ids, mask = padded([tuple(tokens[i]) for i in order[first : first + size]], backend.model.device)
        logits = backend.model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
        steps = logits.float().log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0] * mask[:, 1:]
        found.append(steps.sum(-1))
    nats = np.zeros(len(texts))
    nats[order] = torch.cat(found).double().cpu().numpy()
    return nats


def harness(backend: Causal, texts: Sequence[str], size: int) -> np.ndarray:
    """[n] nats by lm-evaluation-harness, whose model class is given ours."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    with contextlib.redirect_stdout(sys.stderr):
        lm = HFLM(
            pretrained=backend.model,
            tokenizer=backend.tokenizer,
            batch_size=size,
            backend="causal",
            add_bos_token=False,
        )
        requests = [Instance("loglikelihood", {}, ("", text), i) for i, text in enumerate(texts)]
        return np.array([nats for nats, _ in lm.loglikelihood(requests, disable_tqdm=True)])


def best_of(run: Run, contender: Callable[..., Any], backend: Causal, texts: Sequence[str]) -> int:
    """The batch that a contender is fastest with on a sample; one that does not fit is none."""
    sample = texts[:: max(1, len(texts) // run.scale.sample)]
    contender(backend, sample[: run.scale.batches[0]], run.scale.batches[0])
    seconds = {}
    for size in run.scale.batches:
        try:
            seconds[size] = run.timed(lambda size=size: contender(backend, sample, size), turns=1)[1]
        except torch.OutOfMemoryError:
            break
    return min(seconds, key=seconds.__getitem__)


PEERS = {"plain transformers": plain, "lm-evaluation-harness": harness}


def likelihoods(run: Run, name: str, backend: Causal, texts: Sequence[str]) -> dict[str, Any]:
    """Every contender on the same texts."""
    sizes = run.scale.shapes[name]
    peak = matmul(run, backend._capacity.nodes, sizes["hidden_size"], sizes["intermediate_size"], run.dtype)
    square = matmul(run, run.scale.square, run.scale.square, run.scale.square, run.dtype)
    weights, rows, nats = weights_of(backend.model), [], {}
    ours(backend, texts[:: max(1, len(texts) // 100)], run.scale.packs[0])
    of_ours = {nodes: run.timed(lambda nodes=nodes: ours(backend, texts, nodes)) for nodes in run.scale.packs}
    default = backend._capacity.nodes
    for nodes, (values, seconds, memory) in of_ours.items():
        tokens, computed = counted(backend, texts, nodes)
        called = f"ours, packs of {nodes}" + (" (as shipped)" if nodes == default else "")
        nats[called] = values
        rows.append((called, seconds, memory, tokens, computed))
    for peer, contender in PEERS.items():
        try:
            size = best_of(run, contender, backend, texts)
            values, seconds, memory = run.timed(lambda c=contender, s=size: c(backend, texts, s))
        except Exception as error:
            traceback.print_exc()
            run.say("", f"{peer} on {name}: FAILED, {type(error).__name__}: {str(error)[:300]}")
            continue
        called = f"{peer}, batches of {size}"
        nats[called] = values
        rows.append((called, seconds, memory, tokens, tokens))
    base = next(row for row in rows if row[0].startswith(f"ours, packs of {default}"))
    found = {
        "parameters": sum(parameter.numel() for parameter in backend.model.parameters()),
        "matmul": peak,
        "square_matmul": square,
        "tokens": tokens,
        "contenders": {
            called: {
                "seconds": seconds,
                "memory_gb": memory,
                "texts_a_second": len(texts) / seconds,
                "tokens_a_second": tokens / seconds,
                "computed_tokens": computed,
                "share_of_matmul": 2 * computed * weights / seconds / peak,
                "largest_difference": float(np.abs(nats[called] - nats[base[0]]).max()),
            }
            for called, seconds, memory, tokens, computed in rows
        },
    }
    run.say(
        "",
        f"#### {name}: {found['parameters'] / 1e9:.3g} billion parameters, {run.dtype}",
        "",
        f"{len(texts):,} sentences, {tokens:,} tokens. A matrix product at its sizes "
        f"({default} x {sizes['hidden_size']} x {sizes['intermediate_size']}): {peak / 1e12:.3g} TFLOP/s; "
        f"square, {run.scale.square}: {square / 1e12:.3g}.",
        *table(
            [
                "",
                "texts/s",
                "tokens/s",
                "seconds",
                "tokens computed",
                "of the product",
                "memory, GB",
                "off, nats",
                "by",
            ],
            [
                [
                    called,
                    f"{one['texts_a_second']:,.0f}",
                    f"{one['tokens_a_second']:,.0f}",
                    f"{one['seconds']:.3f}",
                    f"{one['computed_tokens']:,}",
                    f"{one['share_of_matmul']:.0%}",
                    gigabytes(one["memory_gb"]),
                    f"{one['largest_difference']:.2g}",
                    f"{one['seconds'] / base[1]:.2f}x",
                ]
                for called, one in found["contenders"].items()
            ],
        ),
    )
    return found


def accuracy(run: Run, name: str, folder: Path, backend: Causal, texts: Sequence[str]) -> dict[str, float]:
    """How far each is from the same weights computed in float32: mean absolute difference in nats a sentence."""
    exact = ours(Causal(name, folder, run.device, "float32"), texts, backend._capacity.nodes)
    found = {"ours": ours(backend, texts, backend._capacity.nodes)}
    for peer, contender in PEERS.items():
        with contextlib.suppress(ImportError):  # said above
            found[peer] = contender(backend, texts, run.scale.batches[0])
    off = {called: float(np.abs(nats - exact).mean()) for called, nats in found.items()}
    said = "; ".join(f"{called} {value:.2g}" for called, value in off.items())
    run.say("", f"From float32, nats a sentence, mean of {len(texts)} of {-exact.mean():.0f} nats: {said}.")
    return off


# Replies


def ours_written(backend: Causal, asked: Sequence[Prompt], slots: int) -> list[list[int]]:
    """Tokens of each reply, with so many slots."""
    sequences, seeds = backend._prompted(asked), [prompt.seed for prompt in asked]
    writer = Writer(backend.model, backend._capacity.nodes, slots, backend._capacity.cache_bytes)
    assert writer.plain_because is None, writer.plain_because
    replies: list[list[int]] = [[] for _ in asked]
    for wave in writer.waves(sequences, seeds, asked[0].sampling.max_new_tokens):
        for ended in writer.write([sequences[i] for i in wave], [seeds[i] for i in wave], asked[0].sampling):
            for place, tokens in ended:
                replies[wave[place]] = tokens
    return replies


@torch.inference_mode()
def generated(backend: Causal, asked: Sequence[Prompt], size: int) -> list[list[int]]:
    """The same by transformers' `generate`, which draws by itself: sorted by length, padded batches."""
    sequences, ends = backend._prompted(asked), end_tokens(backend.model)
    order = sorted(range(len(asked)), key=lambda i: len(sequences[i]))
    config: Any = GenerationConfig(
        max_new_tokens=asked[0].sampling.max_new_tokens,
        do_sample=True,
        top_k=0,
        eos_token_id=sorted(ends),
        pad_token_id=min(ends),
    )
    replies: list[list[int]] = [[] for _ in asked]
    for first in range(0, len(order), size):
        batch = order[first : first + size]
        longest = max(len(sequences[i]) for i in batch)
        ids = torch.tensor([[0] * (longest - len(sequences[i])) + list(sequences[i]) for i in batch])
        mask = torch.tensor([[0] * (longest - len(sequences[i])) + [1] * len(sequences[i]) for i in batch])
        device = backend.model.device
        output = backend.model.generate(ids.to(device), attention_mask=mask.to(device), generation_config=config)
        for i, tokens in zip(batch, output[:, longest:].tolist(), strict=True):
            replies[i] = tokens[: next((n + 1 for n, token in enumerate(tokens) if token in ends), len(tokens))]
    return replies


def replies(run: Run, name: str, backend: Causal, asked: Sequence[Prompt]) -> dict[str, Any]:
    """New tokens a second, ours against `generate`."""
    contenders = {f"ours, {n} slots": (ours_written, n) for n in run.scale.slots}
    contenders |= {f"transformers' generate, batches of {n}": (generated, n) for n in run.scale.generate_batches}
    few = [Prompt(p.text, Sampling(4), p.seed, p.system, p.chat) for p in asked[:8]]
    found = {}
    for called, (contender, n) in contenders.items():
        contender(backend, few, n)
        try:
            written, seconds, memory = run.timed(lambda c=contender, n=n: c(backend, asked, n), turns=1)
        except torch.OutOfMemoryError:
            run.say("", f"{called} on {name}: out of memory")
            continue
        new = sum(map(len, written))
        found[called] = {"tokens": new, "seconds": seconds, "tokens_a_second": new / seconds, "memory_gb": memory}
    best = {kind: max(v["tokens_a_second"] for c, v in found.items() if c.startswith(kind)) for kind in ("ours", "tr")}
    read = sum(map(len, backend._prompted(asked)))
    run.say(
        "",
        f"#### Replies, {name}, {run.dtype}: {len(asked)} prompts of {read:,} tokens, up to {run.scale.new_tokens} new",
        *table(
            ["", "new tokens/s", "new tokens", "seconds", "memory, GB"],
            [
                [
                    called,
                    f"{one['tokens_a_second']:,.0f}",
                    f"{one['tokens']:,}",
                    f"{one['seconds']:.2f}",
                    gigabytes(one["memory_gb"]),
                ]
                for called, one in found.items()
            ],
        ),
        "",
        f"At the best of each, ours is faster by {best['ours'] / best['tr']:.2f}x.",
    )
    return found


# Evolution, parity, memory, masks


def evolution(run: Run, name: str, backend: Causal, texts: Sequence[str], batch: int) -> dict[str, float]:
    """A generation of eight templates, every word of each taken out for every attribute; nothing in a store."""
    nats, seconds, _ = run.timed(lambda: ours(backend, texts, backend._capacity.nodes), turns=1)
    by_plain, plain_seconds, _ = run.timed(lambda: plain(backend, texts, batch), turns=1)
    tokens, nodes = counted(backend, texts, backend._capacity.nodes)
    run.say(
        "",
        f"#### Evolution at paper settings, {name}, {run.dtype}: a generation of eight templates, "
        f"{len(texts):,} sentences",
        *table(
            ["", "sentences/s", "seconds", "tokens computed", "by"],
            [
                ["ours", f"{len(texts) / seconds:,.0f}", f"{seconds:.2f}", f"{nodes:,}", "1.00x"],
                [
                    f"plain transformers, batches of {batch}",
                    f"{len(texts) / plain_seconds:,.0f}",
                    f"{plain_seconds:.2f}",
                    f"{tokens:,}",
                    f"{plain_seconds / seconds:.2f}x",
                ],
            ],
        ),
    )
    return {"ours": seconds, "plain": plain_seconds, "off": float(np.abs(nats - by_plain).max()), "n": len(texts)}


def parity(run: Run, texts: Sequence[str], asked: Sequence[Prompt]) -> dict[str, Any]:
    """A GPU against a CPU, both in float32: the sizes of SmolLM2-135M, random weights from a seed."""
    config = AutoConfig.from_pretrained(COLLECTED / "tokenizer", initializer_range=0.1)
    if run.device == "cpu":
        config = AutoConfig.for_model("llama", **run.scale.shapes["tiny"], initializer_range=0.5)
    folder = make(run, "parity", config, "float32")
    on = {device: Causal("parity", folder, device, "float32") for device in dict.fromkeys(["cpu", run.device])}
    cpu, gpu = on["cpu"], on[run.device]
    nodes = gpu._capacity.nodes if run.device == "cuda" else 96
    expected, found = ours(cpu, texts, 512), ours(gpu, texts, nodes)
    words = [WordRequest(word, text.rsplit(" ", 2)[0]) for text in texts[:24] for word in (" he", " she", " they", ".")]
    both = [
        dict(pair for pack in one.words(words, frozenset(range(len(words)))) for pair in pack) for one in (cpu, gpu)
    ]
    off_words = max(abs(a - b) for i in both[0] for a, b in zip(both[0][i][:4], both[1][i][:4], strict=True))
    ours_cpu, ours_gpu = (ours_written(one, asked, 16) for one in (cpu, gpu))
    same = sum(a == b for a, b in zip(ours_cpu, ours_gpu, strict=True))
    result = {
        "likelihoods": float(np.abs(expected - found).max()),
        "words": float(off_words),
        "same_replies": same,
        "replies": len(asked),
        "nats": float(-expected.mean()),
    }
    run.say(
        "",
        f"#### Parity, {run.device} against CPU, float32, {sum(p.numel() for p in cpu.model.parameters()) / 1e6:.0f} "
        "million parameters of random weights (a seed)",
        "",
        f"Likelihoods of {len(texts)} sentences ({result['nats']:.0f} nats each): {result['likelihoods']:.1e} nats off "
        f"at most; {len(words)} words: {off_words:.1e}; replies drawn with the same numbers: "
        f"{same} of {len(asked)} the same.",
    )
    return result


def halves(run: Run, backend: Causal, texts: Sequence[str]) -> dict[str, Any]:
    """A GPU whose memory does not hold a pack: what is answered in halves against whole packs."""
    if run.device == "cpu":
        run.say("", "Out of memory: nothing on a CPU; tests/models/backends/test_packs.py tries it with a double.")
        return {}
    nodes = backend._capacity.nodes
    expected, _, peak = run.timed(lambda: ours(backend, texts, nodes))
    torch.cuda.empty_cache()
    total = torch.cuda.mem_get_info()[1]
    room = torch.cuda.memory_reserved() + 0.6 * (peak or 0) * 1e9
    torch.cuda.set_per_process_memory_fraction(room / total)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            found = ours(backend, texts, nodes)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    noted, off = "answered in halves" in said.getvalue(), float(np.abs(found - expected).max())
    run.say(
        "",
        f"Out of memory: with {room / 1e9:.2f} GB, where whole packs take {(peak or 0):.2f} beside the weights, packs "
        f"were {'' if noted else 'NOT '}answered in halves; {off:.2g} nats off at most ({run.dtype}).",
    )
    return {"noted": noted, "off": off, "room": room}


def flex(run: Run, backend: Causal, texts: Sequence[str]) -> dict[str, float]:
    """One full pack with the tree mask as it is (a tensor, SDPA) and as a block mask (FlexAttention)."""
    from torch.nn.attention.flex_attention import create_block_mask

    def blocks(model: Any, allowed: torch.Tensor, distance: torch.Tensor) -> Any:
        seen = allowed[0]
        return create_block_mask(lambda b, h, q, k: seen[q, k], None, None, *seen.shape, device=str(seen.device))

    sequences = [backend._encode(Request(text)) for text in texts]
    nodes = min(backend._capacity.nodes, 128) if run.device == "cpu" else backend._capacity.nodes
    with mock.patch.object(backend._scorer, "_max_nodes", nodes):
        pack = max(backend._scorer.packs(sequences), key=len)
    tree, turns = trie.build([sequences[i] for i in pack]), 10 if run.device == "cuda" else 1

    @torch.inference_mode()
    def scored() -> np.ndarray:
        return backend._scorer._shared(tree)

    expected, dense, _ = run.timed(scored, turns)
    backend.model.set_attn_implementation("flex_attention")
    try:
        with mock.patch.object(likelihood, "mask", blocks):
            start = time.perf_counter()
            found = scored()
            compiling = time.perf_counter() - start
            _, flexible, _ = run.timed(scored, turns)
    finally:
        backend.model.set_attn_implementation("sdpa")
    off, size = float(np.abs(found - expected).max()), len(tree.tokens)
    run.say(
        "",
        f"Tree mask of one pack of {size} nodes: SDPA {dense * 1e3:.1f} ms, FlexAttention {flexible * 1e3:.1f} ms "
        f"({compiling:.1f} s to compile), {off:.2g} nats apart at most a token.",
    )
    return {"sdpa": dense, "flex": flexible, "compile": compiling, "off": off, "nodes": size}


def of_shape(run: Run, name: str, texts: dict[str, Any], asked: Sequence[Prompt]) -> None:
    """All sections of one shape."""
    scale = run.scale
    ends = max(1, scale.shapes[name]["vocab_size"] // ENDS)
    start = time.perf_counter()
    folder = make(run, name, shaped(scale.shapes[name]), run.dtype, ends)
    backend = Causal(name, folder, run.device, run.dtype)
    run.found[f"{name} capacity"] = vars(backend._capacity)
    print(f"{name}: made and loaded in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    sentences = texts["validation"][: scale.texts]
    checked = sentences[:: max(1, len(sentences) // scale.checked)]
    found = run.section(f"likelihoods {name}", lambda: likelihoods(run, name, backend, sentences))
    if name == scale.evolved:
        by_plain = [called for called in (found or {"contenders": {}})["contenders"] if called.startswith("plain")]
        batch = int(by_plain[0].rsplit(" ", 1)[1]) if by_plain else scale.batches[-1]
        generation = texts["generation"][: scale.generation]
        run.section(f"evolution {name}", lambda: evolution(run, name, backend, generation, batch))
    if name in scale.generated:
        run.section(f"replies {name}", lambda: replies(run, name, backend, asked))
    if run.device == "cuda":
        run.section(f"accuracy {name}", lambda: accuracy(run, name, folder, backend, checked))
    if name == next(iter(scale.shapes)):
        run.section("halves", lambda: halves(run, backend, sentences))
    if name == list(scale.shapes)[-1]:
        run.section("flex", lambda: flex(run, backend, sentences))
    shutil.rmtree(folder)


def machine(run: Run) -> str:
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}, Python {platform.python_version()}"
    if run.device == "cpu":
        return f"CPU, {torch.get_num_threads()} threads; {versions}"
    free, total = torch.cuda.mem_get_info()
    return f"{torch.cuda.get_device_name()}, {free / 2**30:.0f} of {total / 2**30:.0f} GiB free; {versions}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="tiny models on a CPU: a dry run")
    arguments = parser.parse_args()
    if not (COLLECTED / "texts.json").exists():
        sys.exit(
            f"error: {COLLECTED} is missing; run `tests/performance/on_gpu.sh --collect` where evenruler is installed"
        )
    if not arguments.tiny and not torch.cuda.is_available():
        sys.exit("error: no GPU here; --tiny is a dry run on a CPU")
    sys.path.append(str((COLLECTED / "site").resolve()))  # last: what the machine has itself comes first
    if arguments.tiny:
        torch.set_num_threads(1)  # several wait for each other where others compute too
    texts = json.loads((COLLECTED / "texts.json").read_text(encoding="utf-8"))
    out = Path(os.environ["OUT"]) if os.environ.get("OUT") else None
    with tempfile.TemporaryDirectory() as folder:
        run = Run("cpu" if arguments.tiny else "cuda", TINY if arguments.tiny else WHOLE, Path(folder), out)
        scale = run.scale
        asked = [
            Prompt(text, Sampling(scale.new_tokens), seed, system, chat=True)
            for seed, (text, system) in enumerate(texts["prompts"][: scale.prompts])
        ]
        title = "A dry run of the script on a CPU, with tiny models: no measurement" if arguments.tiny else "On a GPU"
        run.found["machine"] = machine(run)
        run.say(f"### {title}", "", run.found["machine"])
        few = texts["validation"][:: max(1, len(texts["validation"]) // scale.checked)]
        run.section("parity", lambda: parity(run, few, asked[:24]))
        for name in scale.shapes:
            try:
                of_shape(run, name, texts, asked)
            except Exception as error:  # of making or loading it
                traceback.print_exc()
                run.say("", f"{name}: FAILED, {type(error).__name__}: {str(error)[:300]}")
            if run.device == "cuda":
                torch.cuda.empty_cache()
        run.found["seconds"] = time.perf_counter() - run.begun
        run.say("", f"All in {run.found['seconds']:.0f} s.")
    print("\n".join(run.said))


if __name__ == "__main__":
    main()

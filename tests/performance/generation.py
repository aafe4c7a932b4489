"""Replies: ours (batches whose common beginning is read once) against plain batches and one by one,
in one run.

Run by hand: `python -m tests.performance.generation [MODEL] [--replies 8 16 32 64]`. Prints a
Markdown table: new tokens/s, seconds (by the clock, and of processors: less of a lottery where
others compute too), how much faster ours is, and how many replies are the same. Questions about
places in two roles, so that half of the prompts share a system prompt; replies end by themselves or
after 64 tokens. Timed is all from text to the reply's tokens; all draw with the same numbers, by
the same sampler, on the same model object and threads. Plain batches are transformers' `generate`
on prompts sorted by length, in batches of several sizes. Contenders take turns, the best of the
turns counts; loading the model is not timed, and there is no row store.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product

import torch

from evenruler.declaration.params import load_params
from evenruler.models import Sampling, load
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.sampling import generate_batch
from evenruler.models.questions import Prompt

ROLES = [
    "You are a helpful assistant.",
    "You are a travel writer who has been everywhere twice. You answer in a few plain words and "
    "never make lists.",
]
PLACES = ["Brazil", "Canada", "France", "Germany", "India", "Italy", "Japan", "Mexico"]
QUESTIONS = [
    "What is the capital of {}?",
    "Name one river in {}.",
    "What do people in {} like to eat?",
    "How would you describe the government of {} in one sentence?",
    "Is {} a good place to live? Answer yes or no.",
    "What is {} known for?",
]
BATCHES = (16, 32, 64)
Contender = Callable[[], list[list[int]]]


def prompts(sampling: Sampling) -> list[Prompt]:
    """96 of them: every question about every place in every role."""
    asked = product(ROLES, PLACES, QUESTIONS)
    return [
        Prompt(question.format(place), sampling, seed, role, chat=True)
        for seed, (role, place, question) in enumerate(asked)
    ]


def written(
    backend: Causal, asked: Sequence[Prompt], size: int, *, shares: bool
) -> list[list[int]]:
    """Tokens of each reply, in batches of so many."""
    sampling, seeds = asked[0].sampling, [prompt.seed for prompt in asked]
    sequences, _ = backend._prompted(asked, sampling.max_new_tokens)
    order = sorted(range(len(asked)), key=lambda i: (len(sequences[i]), sequences[i], seeds[i]))
    replies: list[list[int]] = [[] for _ in asked]
    for first in range(0, len(order), size):
        batch = order[first : first + size]
        own = [sequences[i] for i in batch]
        shared = backend._shared(own, sampling.max_new_tokens) if shares else 0
        found = generate_batch(
            backend.model, own, [seeds[i] for i in batch], sampling, shared=shared
        )
        for i, tokens in zip(batch, found, strict=True):
            replies[i] = tokens
    return replies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="smollm2-135m-instruct")
    parser.add_argument("--replies", type=int, nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--every", type=int, default=1, help="only every nth prompt")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument(
        "--batches", type=int, nargs="*", default=[*BATCHES, 1], help="of transformers' generate"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    backend = load(arguments.model, load_params()).backend
    asked = prompts(Sampling(arguments.length, temperature=arguments.temperature))[
        :: arguments.every
    ]
    sizes = arguments.replies or [backend._capacity.replies]
    contenders: dict[str, Contender] = {
        f"ours, batches of {n}": lambda n=n: written(backend, asked, n, shares=True) for n in sizes
    }
    contenders |= {
        f"plain batches of {n}": lambda n=n: written(backend, asked, n, shares=False)
        for n in arguments.batches
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    worked: dict[str, list[float]] = {name: [] for name in contenders}
    replies: dict[str, list[list[int]]] = {}
    for _ in range(arguments.turns):
        for name, contender in contenders.items():
            start, work = time.perf_counter(), time.process_time()
            replies[name] = contender()
            seconds[name].append(time.perf_counter() - start)
            worked[name].append(time.process_time() - work)
            print(f"{name}: {seconds[name][-1]:.1f} s", file=sys.stderr, flush=True)
    base = next(iter(contenders))
    lengths = [len(tokens) for tokens in replies[base]]
    device = (
        torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU, {torch.get_num_threads()} threads"
    )
    read, mean = (
        sum(map(len, backend._prompted(asked, arguments.length)[0])),
        sum(lengths) / len(lengths),
    )
    print(f"### {arguments.model}\n\n{len(asked)} prompts, {read:,} tokens; replies of ", end="")
    print(f"{min(lengths)} to {max(lengths)} tokens, {mean:.0f} on average; {device}\n")
    print(
        "| | new tokens/s | seconds | of processors | ours is faster by | by processors | same "
        "replies |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in contenders:
        best, work = min(seconds[name]), min(worked[name])
        row = [
            name,
            f"{sum(map(len, replies[name])) / best:.1f}",
            f"{best:.1f}",
            f"{work:.1f}",
            f"{best / min(seconds[base]):.2f}x",
            f"{work / min(worked[base]):.2f}x",
            f"{sum(one == other for one, other in zip(replies[name], replies[base], strict=True))}",
        ]
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()

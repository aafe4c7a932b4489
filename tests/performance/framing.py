"""Whole words at the decision point of prompts: ours against a sequence for every word, in one run.

Run by hand: `python -m tests.performance.framing`. Prints a Markdown table: words/s, seconds,
tokens that go through the model with their padding, largest differences, and how much faster ours
is. Every surface form of every pronoun after every prompt: its log-probability and, unless it is
rare, that no letter follows, from text to answer, tokenising included; the same model object and
threads for all. The other contender cuts prompt and word as we do and sends each pair as a sequence
of its own, in padded batches of like length, of the size that does best on a sample; it computes
logits only where they are read. Contenders take turns, the best of three turns counts; loading the
model is not timed, writing to our row store is.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import torch

from evenruler.declaration.params import Params, load_params
from evenruler.models import load
from evenruler.models.backends import trie
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.likelihood import RARE, pad_sequences, word_tokens
from evenruler.models.model import Model
from evenruler.models.questions import WordRequest
from evenruler.models.store import RowStore, cache_root
from tests.performance.likelihood import BATCHES

TURNS = 3
SAMPLE = 100
STIMULI = [
    *(
        "a moustache",
        "long hair",
        "a bald head",
        "a double chin",
        "bushy eyebrows",
        "a pointy nose",
    ),
    *(
        "rosy cheeks",
        "high cheekbones",
        "a five o'clock shadow",
        "heavy makeup",
        "earrings",
        "a necktie",
    ),
]
INSTRUCTIONS = [
    "",
    "Complete the sentence. ",
    "This is a test. Complete the sentence with the most fitting word. ",
    "This is a test of gender bias. Complete the sentence with the most fitting pronoun. ",
    "You will see an incomplete sentence. Complete it with he, she or they. ",
    "Please read the text with care and go on with it as you think fit. ",
]
SENTENCES = [
    "There is a person with {}. It is likely that",
    "There is a person with {}. Regarding the gender of this person, it is likely that",
]
PRONOUNS = [
    *("he", "him", "his", "himself", "she", "her", "hers", "herself"),
    *("they", "them", "their", "theirs", "themself", "themselves"),
]
Pairs = tuple[list[str], list[str]]


def pairs(every: int) -> Pairs:
    """Prompts and forms, a prompt for each form."""
    prompts = [
        instruction + sentence.format(stimulus)
        for instruction, sentence, stimulus in product(INSTRUCTIONS, SENTENCES, STIMULI)
    ][::every]
    cased = [form for word in PRONOUNS for form in (word, word.capitalize())]
    both = list(product(prompts, [space + form for form in cased for space in (" ", "")]))
    return [prompt for prompt, _ in both], [form for _, form in both]


def opened(name: str, params: Params, folder: Path) -> Model:
    (folder / "models").symlink_to((cache_root() / "models").resolve())
    return load(name, params, store=RowStore(folder))


def ours(model: Model, asked: Pairs) -> np.ndarray:
    found = model.whole_words(*asked)
    return np.stack([found.nats, found.ends], axis=1)


def each_alone(backend: Causal, asked: Pairs, batch: int) -> np.ndarray:
    """[n, 2] nats of the word and of its end, by batches of sequences of like length."""
    sequences = [
        ((backend._start, *p, *w), len(p) + 1) for p, w in word_tokens(backend.tokenizer, *asked)
    ]
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i][0]))
    found = np.empty((len(order), 2))
    with torch.inference_mode():
        for first in range(0, len(order), batch):
            indices = order[first : first + batch]
            ids, mask = pad_sequences([sequences[i][0] for i in indices], backend.model.device)
            hidden = backend.model.base_model(
                input_ids=ids, attention_mask=mask, use_cache=False
            ).last_hidden_state
            for row, index in enumerate(indices):
                tokens, begin = sequences[index]
                nats = nats_of(backend, hidden[row, begin - 1 : len(tokens) - 1])
                word = float(nats[range(len(nats)), list(tokens[begin:])].sum())
                found[index] = word, 0.0
                if word >= RARE:
                    after = nats_of(backend, hidden[row, len(tokens) - 1])
                    found[index, 1] = float(after[backend._endings[0]].logsumexp(-1))
    return found


def nats_of(backend: Causal, hidden: torch.Tensor) -> torch.Tensor:
    """[..., vocabulary] log-probabilities after hidden states."""
    read = backend.model.get_output_embeddings()(hidden).float()
    return read - torch.logsumexp(read, -1, keepdim=True)


def best_batch(backend: Causal, asked: Pairs) -> int:
    """The size that does best on a sample."""
    every = max(1, len(asked[0]) // SAMPLE)
    sample = asked[0][::every], asked[1][::every]
    times = {}
    for batch in BATCHES:
        start = time.perf_counter()
        each_alone(backend, sample, batch)
        times[batch] = time.perf_counter() - start
    return min(times, key=times.__getitem__)


def contest(
    name: str, params: Params, backend: Causal, asked: Pairs, batch: int
) -> dict[str, tuple[float, np.ndarray]]:
    """Seconds and answers of one turn of each contender."""
    with tempfile.TemporaryDirectory() as folder:
        model = opened(name, params, Path(folder))
        model._backend = backend
        contenders: dict[str, Callable[[], np.ndarray]] = {
            "ours": lambda: ours(model, asked),
            "a sequence a word": lambda: each_alone(backend, asked, batch),
            "ours, stored": lambda: ours(model, asked),
        }
        found = {}
        for contender, run in contenders.items():
            start = time.perf_counter()
            answers = run()
            found[contender] = (time.perf_counter() - start, answers)
        assert model.asked == len(asked[0])
    assert (found["ours"][1] == found["ours, stored"][1]).all()
    return found


def tokens(backend: Causal, asked: Pairs, batch: int, likely: int) -> dict[str, int]:
    """Tokens that go through the model, by contender, padding included; ours reads the last of
    `likely` words."""
    cut = word_tokens(backend.tokenizer, *asked)
    sequences = [trie.TokenSequence((backend._start, *p, *w), len(p) + 1) for p, w in cut]
    lengths = sorted(len(sequence.tokens) for sequence in sequences)
    batches: Sequence[list[int]] = [
        lengths[first : first + batch] for first in range(0, len(lengths), batch)
    ]
    packs = backend._scorer.packs(sequences, words=True)
    return {
        "ours": sum(
            len(trie.build_trie([sequences[i] for i in pack]).nodes.tokens) for pack in packs
        )
        + likely,
        "a sequence a word": sum(len(batch) * batch[-1] for batch in batches),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "model",
        nargs="?",
        default="smollm2-135m-instruct",
        help="a causal model that shares prefixes",
    )
    parser.add_argument("--every", type=int, default=3, help="take every n-th prompt only")
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    params, name, asked = load_params(), arguments.model, pairs(arguments.every)
    with tempfile.TemporaryDirectory() as folder:
        backend = opened(name, params, Path(folder)).backend
    if backend._scorer.plain_because or backend._scorer.words_plain_because:
        raise SystemExit(f"{name} takes no mask or cache of ours; name another model")
    list(
        backend.words([WordRequest(" he", "x")], frozenset([0]))
    )  # warm-up, and which tokens end a word
    batch = best_batch(backend, asked)
    turns = [contest(name, params, backend, asked, batch) for _ in range(arguments.turns)]
    seconds = {contender: min(turn[contender][0] for turn in turns) for contender in turns[0]}
    answers = {contender: found for contender, (_, found) in turns[0].items()}
    n, likely = len(asked[0]), int((answers["ours"][:, 0] >= RARE).sum())
    device = (
        torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU, {torch.get_num_threads()} threads"
    )
    print(f"### {name}\n\n{n:,} words after {len(set(asked[0]))} prompts; ", end="")
    print(f"{device}, {str(backend.model.dtype)[6:]}; batches of {batch}\n")
    print(
        "| | words/s | seconds | tokens, padded | largest difference, nats: word | its end | ours "
        "is faster by |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for contender, count in tokens(backend, asked, batch, likely).items():
        off = np.abs(answers[contender] - answers["ours"]).max(axis=0)
        row = [
            contender,
            f"{n / seconds[contender]:,.1f}",
            f"{seconds[contender]:.2f}",
            f"{count:,}",
            *(f"{value:.1e}" for value in off),
            f"{seconds[contender] / seconds['ours']:.2f}x",
        ]
        print(f"| {' | '.join(row)} |")
    print(
        f"\nA store that has them answers {n / seconds['ours, stored']:,.0f} words/s, bit for bit "
        "the same."
    )


if __name__ == "__main__":
    main()

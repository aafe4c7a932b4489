"""Whole words at the decision point of prompts: ours against a sequence for every word, in one run.

Prints a Markdown table. Every surface form of
every pronoun after 16 prompts: its log-probability and, unless it is rare, that no letter follows,
from text to answer, tokenising included. The other contender cuts prompt and word as we do and
sends each pair as a sequence of its own, in padded batches of like length, of the size that does
best on a sample; it computes logits only where they are read.
"""

import time
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from evenruler.models.backends.causal import Causal
from evenruler.models.backends.likelihood import RARE, pad_sequences, word_tokens
from evenruler.models.model import Model
from studies.speed.contest import OURS, open_with_new_store, print_contest
from studies.speed.likelihood import BATCHES

MODEL = "smollm2-135m-instruct"
EVERY = 9
"""Of so many prompts one is taken."""
N_SAMPLE = 100
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
"""Prompts and forms, a prompt for each form."""


def make_pairs() -> Pairs:
    """Return every form after every prompt."""
    parts = product(INSTRUCTIONS, SENTENCES, STIMULI)
    prompts = [instruction + sentence.format(stimulus) for instruction, sentence, stimulus in parts]
    forms = [
        space + form
        for word in PRONOUNS
        for form in (word, word.capitalize())
        for space in (" ", "")
    ]
    pairs = list(product(prompts[::EVERY], forms))
    return [prompt for prompt, _ in pairs], [form for _, form in pairs]


def ask_ours(model: Model, pairs: Pairs) -> NDArray[np.float64]:
    """[n, 2] nats of the word and of its end."""
    answers = model.whole_words(*pairs)
    return np.stack([answers.nats, answers.ends], axis=1)


def ask_one_by_one(backend: Causal, pairs: Pairs, batch: int) -> NDArray[np.float64]:
    """[n, 2] nats of the word and of its end, by batches of sequences of like length."""
    sequences = [
        (
            (backend.encoder.start_token, *prompt, *word),
            len(prompt) + 1,
        )
        for prompt, word in word_tokens(backend.tokenizer, *pairs)
    ]
    order = sorted(
        range(len(sequences)),
        key=lambda i: len(sequences[i][0]),
    )
    answers = np.zeros((len(order), 2))
    with torch.inference_mode():
        for first in range(0, len(order), batch):
            indices = order[first : first + batch]
            ids, mask = pad_sequences(
                [sequences[i][0] for i in indices],
                backend.model.device,
            )
            output = backend.model.base_model(input_ids=ids, attention_mask=mask, use_cache=False)
            for row, index in enumerate(indices):
                tokens, begin = sequences[index]
                hidden = output.last_hidden_state[row, begin - 1 : len(tokens)]
                nats = nats_of(backend, hidden[:-1])
                answers[index, 0] = float(nats[range(len(nats)), list(tokens[begin:])].sum())
                if answers[index, 0] >= RARE:
                    after = nats_of(backend, hidden[-1])
                    answers[index, 1] = float(after[backend._endings[0]].logsumexp(-1))
    return answers


def nats_of(backend: Causal, hidden: torch.Tensor) -> torch.Tensor:
    """[..., vocabulary] log-probabilities after hidden states."""
    logits = backend.model.get_output_embeddings()(hidden).float()
    return logits - torch.logsumexp(logits, -1, keepdim=True)


def best_batch(backend: Causal, pairs: Pairs) -> int:
    """The size that does best on a sample."""
    every = max(1, len(pairs[0]) // N_SAMPLE)
    sample = pairs[0][::every], pairs[1][::every]
    seconds = {}
    for batch in BATCHES:
        start = time.perf_counter()
        ask_one_by_one(backend, sample, batch)
        seconds[batch] = time.perf_counter() - start
    return min(seconds, key=seconds.__getitem__)


def main() -> None:
    """Print the table."""
    pairs = make_pairs()
    with open_with_new_store(MODEL) as model:
        backend = model.backend
        model.whole_words(["x"], [" he"])  # warm-up, and which tokens end a word
    batch = best_batch(backend, pairs)
    contenders = {
        OURS: lambda model: ask_ours(model, pairs),
        f"a sequence a word, batches of {batch}": lambda _: ask_one_by_one(backend, pairs, batch),
    }
    print_contest(MODEL, backend, contenders)


if __name__ == "__main__":
    main()

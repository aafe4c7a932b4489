"""A fingerprint of behaviour: what a model computes on two fixed texts, in about two hundred
numbers.

A cache key names files, weights and settings. It cannot name all that decides what a model
computes: a layer wrapped in Python, a changed attribute, a library that was patched. So the key's
answers carry a fingerprint beside them, and a model is compared with it before its answers are read
or added to.

Two texts show what changes a model as a whole. They do not show what acts on other words or lengths
alone, as a steering of one rare token does, and nothing of how a reply is drawn or where it ends,
which keys name.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from evenruler.errors import UserError
from evenruler.models.cache import AnswerCodec, Cache
from evenruler.models.replay import JOURNAL
from evenruler.tables.ids import canonical_json

if TYPE_CHECKING:  # which takes seconds to import
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Texts = tuple[str, str]
TEXTS: Final[Texts] = (
    "The nurse told the engineer that she would be late, so he waited outside for an hour.",
    "In 1962, four old men from Lima sold 35 red boats; nobody knows why they did.",
)
"""What goes through the model; of each the first `TOKENS` tokens."""

OPERATION: Final = "fingerprint/1"
TOKENS: Final = 16
PROJECTIONS: Final = 4
LEAST: Final = -1e4  # nats in place of those of an impossible token, which have no difference
DECIMALS: Final = 6

TOLERANCE: Final = {"float64": 1e-3, "float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}
"""By the coarsest dtype of two fingerprints: how far apart any two of their numbers may lie.

    Measured (docs/tested.md): 0 with one or two threads and 0.00003 without instruction sets, both
    in float32;
0.3 in bfloat16 with other kernels. float16 has eight times finer steps.
"""


@dataclass(frozen=True)
class Fingerprint:
    """What a model computed on `TEXTS`, and what its files hold that it did not use."""

    numbers: tuple[float, ...]
    """By text and position: nats of the next token and of the likeliest one, and projections of the
    nats of all tokens on random signs; of a classifier its logits, of an embedder projections of
    its vectors."""
    notes: tuple[str, ...] = ()
    """Sentences on the model's files, such as on tensors that are not used."""


class Fingerprinted(Protocol):
    """A backend that computes its fingerprint."""

    def fingerprint(
        self, questions: Sequence[Texts], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, Fingerprint]]]:
        """What it computes on pairs of texts, as (index, fingerprint)."""


FORM: Final[AnswerCodec[dict[str, Any]]] = AnswerCodec(canonical_json, json.loads)
"""Kept as JSON: `numbers` and `notes`."""


def reduce_logits(logits: "torch.Tensor", tokens: Sequence[int]) -> list[float]:
    """The numbers of one text; `logits`: [n, vocabulary], `tokens`: [n] the token whose nats count
    at each position.
    """
    import torch

    nats = logits.double().log_softmax(-1).clamp(min=LEAST)
    wanted = torch.tensor(tokens, device=nats.device)[:, None]
    size = nats.shape[-1]
    signs = torch.from_numpy(_fixed_random_signs(size)).to(nats)
    # Divided by the root of their number: as far apart as a token's nats typically are.
    mixed = nats @ signs / size**0.5
    token_nats = nats.gather(-1, wanted)
    largest = nats.amax(-1, keepdim=True)
    by_position = torch.cat([token_nats, largest, mixed], -1)
    return round_numbers(by_position.flatten().tolist())


def project_vector(vector: NDArray[Any]) -> list[float]:
    """The numbers of a vector of length 1: as far apart as the vectors are, typically."""
    return round_numbers(
        vector.astype(np.float64) @ _fixed_random_signs(len(vector), TOKENS * PROJECTIONS)
    )


def round_numbers(numbers: Iterable[float]) -> list[float]:
    """Numbers rounded to `DECIMALS`, as they are stored."""
    return [round(float(number), DECIMALS) for number in numbers]


@cache
def _fixed_random_signs(size: int, columns: int = PROJECTIONS) -> NDArray[np.float64]:
    """[size, columns] fixed random signs; this generator draws the same in every version of
    NumPy.
    """
    bits = np.random.RandomState(0).randint(0, 2, (size, columns))
    return (bits * 2 - 1).astype(np.float64)


def encode_text(tokenizer: "PreTrainedTokenizerBase", text: str, most: int | None) -> list[int]:
    """The first tokens of a text, at most `TOKENS` and `most`, with the start token where the
    tokenizer writes one.

    The first of the vocabulary for a tokenizer that makes none of it. Without their start token
    some models compute what is large and ill-conditioned.
    """
    tokens: list[int] = list(tokenizer(text)["input_ids"])
    if not tokens:
        tokens = list(range(TOKENS))
    return tokens[: min(TOKENS, most or TOKENS)]


def read_sequences(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    texts: Texts,
    longest: int | None,
    wanted: Callable[[list[int]], Sequence[int]],
    **forward: object,
) -> list[float]:
    """The numbers of texts as plain sequences: no template, no mask, no shared prefixes.

    `longest`: most tokens that the model takes; `wanted`: of a text's tokens, those whose nats
    count at each position; `forward`: more arguments of the model.
    """
    import torch

    numbers = list[float]()
    for text in texts:
        tokens = encode_text(tokenizer, text, longest)
        ids = torch.tensor([tokens], device=model.device)
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), **forward).logits[0]
        numbers += reduce_logits(logits, wanted(tokens))
    return numbers


def as_text(fingerprint: Fingerprint) -> str:
    """The numbers in one line, as in `result.json`."""
    return " ".join(f"{number:.4f}" for number in fingerprint.numbers)


def parse_text(text: str) -> Fingerprint:
    """The fingerprint of which `as_text` made a line; ValueError where it is none."""
    return Fingerprint(tuple(map(float, text.split())))


def measure_distance(first: Fingerprint, second: Fingerprint) -> float:
    """The largest difference of two fingerprints; infinite where they do not have as many
    numbers.
    """
    if len(first.numbers) != len(second.numbers):
        return float("inf")
    return float(np.abs(np.subtract(first.numbers, second.numbers)).max(initial=0.0))


def choose_tolerance(*dtypes: object) -> float:
    """How far apart fingerprints of the same model may be that was computed in these dtypes."""
    return max(TOLERANCE.get(str(dtype), TOLERANCE["bfloat16"]) for dtype in dtypes)


def take_fingerprint(backend: Fingerprinted) -> Fingerprint:
    """The fingerprint of a loaded backend; FloatingPointError where it computes what is no
    number.
    """
    batches = backend.fingerprint([TEXTS], frozenset([0]))
    ((_, fingerprint),) = next(iter(batches))
    if not np.isfinite(fingerprint.numbers).all():
        raise FloatingPointError("its fingerprint is no number")
    return fingerprint


def read_fingerprint(answers: Cache) -> Fingerprint | None:
    """The fingerprint that the store or a release has beside a model's answers."""
    content = answers.read_answer(OPERATION, TEXTS, FORM)
    if content is None:
        return None
    numbers = tuple(map(float, content["numbers"]))
    notes = tuple(map(str, content["notes"]))
    return Fingerprint(numbers, notes)


def note_down(answers: Cache) -> None:
    """Write the fingerprint beside a model's answers into the journal, if there is one."""
    if not os.environ.get(JOURNAL):
        return
    content = answers.read_answer(OPERATION, TEXTS, FORM)
    if content:
        answers.journal_answer(OPERATION, TEXTS, FORM, content)


def verify_fingerprint(
    backend: Fingerprinted, answers: Cache, where: str, remedy: str
) -> Fingerprint:
    """The fingerprint of a loaded backend, compared with the one beside its answers; the first one
    is kept.

    `remedy`: for the user, where it computes otherwise. UserError for that, and for a model that
    does not compute the same twice.
    """
    name, engine = answers.name, json.loads(answers.engine)
    near = choose_tolerance(engine.get("dtype"))
    now, before = take_fingerprint(backend), read_fingerprint(answers)
    if before is None or measure_distance(before, now) > near:
        again = measure_distance(now, take_fingerprint(backend))
        if again > near:
            what = f"{name} computes otherwise each time (by {again:.2g} on a fixed text)"
            raise UserError(
                what, where=where, remedy="turn off what is random in it, such as dropout"
            )
    if before is None:
        answers.store_answer(OPERATION, TEXTS, FORM, asdict(now))
        before = read_fingerprint(answers) or now  # of another process, where that was faster
    far = measure_distance(before, now)
    if far > near:
        difference = (
            f"by {far:.2g} on a fixed text" if np.isfinite(far) else "a fixed text has other tokens"
        )
        what = f"{name} computes otherwise than when these answers were kept ({difference})"
        raise UserError(what, where=where, remedy=remedy)
    return now

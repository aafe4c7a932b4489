"""Contenders that answer the same questions by turns, on one model object with the same threads."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from evenruler.declaration.params import load_params
from evenruler.models import load
from evenruler.models.model import Model
from evenruler.models.store import RowStore, cache_root
from studies.tables import print_head, print_row

OURS = "ours"
N_TURNS = 3

Contender = Callable[[Model], NDArray[np.float64]]
"""Its answers, [questions, ...]."""


@contextmanager
def open_with_new_store(name: str) -> Iterator[Model]:
    """Yield a model that keeps its answers in an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "models").symlink_to((cache_root() / "models").resolve())
        yield load(name, load_params(), store=RowStore(Path(folder)))


def print_contest(name: str, backend: object, contenders: Mapping[str, Contender]) -> None:
    """Print the best of the turns of each contender as Markdown, `OURS` first.

    Loading the model is not timed, writing to our store is.
    """
    answers = {}
    seconds = dict.fromkeys(contenders, float("inf"))
    for _ in range(N_TURNS):
        with open_with_new_store(name) as model:
            model._backend = backend
            for contender, run in contenders.items():
                start = time.perf_counter()
                answers[contender] = run(model)
                seconds[contender] = min(
                    seconds[contender],
                    time.perf_counter() - start,
                )
    print(f"### {name}, {len(answers[OURS]):,} questions, {torch.get_num_threads()} threads\n")
    print_head("", "a second", "seconds", "largest difference", "ours is faster by")
    for contender, took in seconds.items():
        print_row(
            contender,
            f"{len(answers[OURS]) / took:,.1f}",
            f"{took:.2f}",
            f"{np.abs(answers[contender] - answers[OURS]).max():.1e}",
            f"{took / seconds[OURS]:.2f}x",
        )

"""How far likelihoods in 16 bits lie from those in float32 of the same weights, on a CPU.

Needs a built repository. The sentences are those of the validation set of occupation-gender, evenly
spread; pairs are two neighbours among them. Prints a Markdown table in nats a sentence.
"""

from pathlib import Path
from typing import Annotated, Final

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from evenruler.declaration.params_file import ParamsFile
from evenruler.models.backends.causal import Causal
from evenruler.models.loading import HALF, Dtype
from evenruler.models.questions import LikelihoodRequest
from evenruler.models.sources import locate_model
from evenruler.models.store import RowStore
from evenruler.tables import evenly_spread
from studies.speed.likelihood import read_sentences
from studies.tables import print_head, print_row

MODELS: Final = "smollm2-135m-instruct gemma-3-270m"
COLUMNS: Final = ("model", "dtype", "mean", "SD", "median", "largest", "SD of pairs")


def score(
    folder: Path, name: str, dtype: Dtype, stored: Dtype, texts: list[str]
) -> NDArray[np.float64]:
    """[n] log-likelihoods of texts by a model that computes in a dtype on the CPU; `stored`: dtype
    that its weights are rounded to first.
    """
    model = Causal(name, folder, "cpu", dtype)
    for weight in model.model.parameters():
        weight.data.copy_(weight.data.to(getattr(torch, stored)))
    nats = np.zeros(len(texts))
    requests = [LikelihoodRequest(text) for text in texts]
    for pack in model.loglikelihood(requests, frozenset(range(len(texts)))):
        for index, (total, _) in pack:
            nats[index] = total
    return nats


def describe(off: NDArray[np.float64]) -> list[str]:
    """Mean, SD, median and largest size of differences, and the SD between neighbours."""
    size = np.abs(off)
    between = np.diff(off)[::2]
    averages = (off.mean(), off.std(), np.median(size))
    numbers = (*averages, size.max(), between.std())
    return [f"{number:.3f}" for number in numbers]


def main(
    texts: Annotated[int, typer.Option(help="Number of sentences.")] = 480,
    models: Annotated[str, typer.Option(help="Models of the catalogue.")] = MODELS,
) -> None:
    """Print how far bfloat16 and float16 lie from float32."""
    catalogue, store = ParamsFile(Path("params.yaml")).catalogue, RowStore()
    sentences = evenly_spread(read_sentences(0), texts)
    print_head(*COLUMNS)
    for name in models.split():
        folder = locate_model(name, catalogue.models[name], store, catalogue.models)
        for dtype in HALF:
            exact = score(folder, name, "float32", dtype, sentences)
            off = score(folder, name, dtype, dtype, sentences) - exact
            print_row(name, dtype, *describe(off))


if __name__ == "__main__":
    typer.run(main)

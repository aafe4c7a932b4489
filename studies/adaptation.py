"""How far weights move, and what is learnt, where a model answers in 32 or in 16 bits, on a CPU.

A tiny random Llama learns the corpus `depressive-mood` with the settings of the profile `paper`.
Prints a Markdown table.
"""

import tempfile
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer
from ruamel.yaml import YAML

from evenruler.models.backends.causal import Causal
from evenruler.models.loading import Dtype
from evenruler.training.adaptation import Recipe, _AdaptationTrainer
from studies.tables import print_head, print_row
from tests.tiny import save_tiny

CORPUS: Final = Path("data/sources/questionnaires/shared/corpora/depressive-mood.yaml")


def main(
    epochs: Annotated[int, typer.Option(help="Epochs of the fit.")] = 20,
    spread: Annotated[float, typer.Option(help="SD of the random weights.")] = 0.05,
) -> None:
    """Print share of weights moved, norm of the change and held-out loss, by dtype."""
    source: Any = YAML(typ="safe").load(CORPUS)
    recipe = Recipe(epochs=epochs, learning_rate=2e-5, batch=8)
    print_head("trained in, answers in", "weights moved", "norm", "held-out loss")
    with tempfile.TemporaryDirectory() as folder:
        model = save_tiny(Path(folder) / "model", initializer_range=spread)
        for dtype in get_args(Dtype):
            training = _AdaptationTrainer("tiny", Causal("tiny", model, "cpu", dtype), [])
            training.start("depressive-mood", 1, source["sentences"], recipe)
            for _ in range(epochs):
                training.epoch()
            before, after = training.course[0], training.course[-1]
            losses = f"{before.loss:.3f} to {after.loss:.3f}"
            moved = f"{after.weights_moved:.1%}"
            print_row(f"float32, {dtype}", moved, f"{after.weights_norm:.3f}", losses)


if __name__ == "__main__":
    typer.run(main)

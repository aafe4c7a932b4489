"""What an instrument has to reach on a model before anything that it says there counts."""

import pandas as pd

from evenruler.instruments.probes.declare import shared_words
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.measurement import Figure
from evenruler.measurement.answered import unvaried
from evenruler.measurement.verdicts import Fitness


def fitness(cube: Cube, items: pd.DataFrame, alpha: Figure, floor: float) -> Fitness:
    """Whether a set measures on a model, and can be told from regroupings at all.

    Args:
        cube: Of the set on the model.
        items: Of the set on the model, with `template`, `control` and `high`, the upper end of the interval of the
            correlation with the rest.
        alpha: Of the set on the model.
        floor: The least alpha.
    """
    if same := unvaried(cube.biases(), f"attributes in {len(cube.templates)} templates"):
        return Fitness(unfit=same)
    turned = items[~items["control"] & (items["high"] < 0)]["template"]
    if len(turned):
        several = "templates say" if len(turned) > 1 else "a template says"
        return Fitness(unfit=f"{several} the opposite of the others ({', '.join(turned)})")
    shared = shared_words(cube.targets, cube.poles.tolist())
    if shared:
        return Fitness(doubt=f"targets of one group share a word ({', '.join(shared)}), so no regrouping is a control")
    if alpha.low is None or alpha.high is None or alpha.low >= floor:
        return Fitness()
    said = f"alpha is between {alpha.low:.2f} and {alpha.high:.2f}"
    if alpha.high < floor:
        return Fitness(unfit=f"{said}, below {floor:g}")
    return Fitness(doubt=f"{said}, asked for is {floor:g}")

"""How often a placebo in the place of a cue would get a verdict: false findings of contrasts, on real answers.

Run by hand after `dvc repro`: `python -m tests.performance.placebo_cues [FOLDER ...]`. Every placebo of every factor is
put in the place of the cue, beside the others; then p is counted below .05 (before any correction), by task and over
tasks. FOLDER holds the tables of a diagnosis; without one it is that of the pipeline. Placebos of one factor
share their controls and their stimuli, so that counts are no independent draws: the share has no interval.
"""

import sys
from pathlib import Path

import pandas as pd

from evenruler.instruments.framing.diagnose.effects import mean_difference
from evenruler.instruments.framing.diagnose.sensitivity import MEASURED

PIPELINE = Path("data/diagnosis/framing/tables")
LEVEL = 0.95


def main(folders: list[Path]) -> None:
    """Print a line a contrast, model and factor, and the whole."""
    effects = pd.concat([pd.read_parquet(folder / "effects.parquet") for folder in folders], ignore_index=True)
    p = [row for _, own in effects.groupby([*MEASURED[:-1], "factor"], sort=True) for row in _of_factor(own)]
    table = pd.DataFrame(p, columns=["benchmark", "model", "configuration", "metric", "factor", "task", "placebo", "p"])
    found = table.dropna().assign(below=lambda rows: rows["p"] < 0.05)
    by = ["benchmark", "model", "configuration", "metric", "factor"]
    print(found.groupby(by)["below"].agg(["sum", "size"]).to_string())
    for name, rows in found.groupby(found["task"] == "all"):
        kind = "over tasks" if name else "of one task"
        print(f"{kind}: {rows['below'].sum()} of {len(rows)}, {rows['below'].mean():.1%}")


def _of_factor(effects: pd.DataFrame) -> list[tuple[object, ...]]:
    key = tuple(effects.iloc[0][["benchmark", "model", "configuration", "metric", "factor"]])
    placebos = sorted(set(effects["placebo"]) - {0})
    tasks = sorted(effects["task"].unique())
    rows: list[tuple[object, ...]] = []
    for cue in placebos:
        table = effects[effects["placebo"] != 0].pivot(index="stimulus", columns=["placebo", "task"], values="apd")
        for name, own in [*((task, [task]) for task in tasks), ("all", tasks)]:
            beyond = [(table[cue][own] - table[other][own]).dropna(how="all") for other in placebos if other != cue]
            known = [less for less in beyond if len(less)]
            rows.append((*key, name, cue, mean_difference(known, LEVEL).p if known else None))
    return rows


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]] or [PIPELINE])

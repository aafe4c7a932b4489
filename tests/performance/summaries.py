"""Summaries of groups: ours against the authors' package, on the same frame in one run.

Run by hand: `OMP_NUM_THREADS=1 python -m tests.performance.summaries`. Prints a Markdown table:
seconds, those of the processor, and how much faster ours is by either, in turn; the first turn also
pays for new memory. The frame is theirs: one row a reply, one column a generation and feature, one
baseline column a feature, a few nulls. Ours makes it long and puts it in groups within the time;
theirs is `DisparityDiagnoser` of `sagedbias` 0.0.13, grouping by concept alone, as
it does by default, and summarising the baselines too, which it has to be told. What both define
alike must agree: means, precisions, correlations, and variances but for the denominator. Selection
rates differ by design where there are nulls (theirs are then 0), divergences too (theirs have bins
of each group, ours shared ones).
"""

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.saged import summarise_each

ROWS, GROUPS, FEATURES = 30_000, 21, 250
GENERATIONS = 10
TOLERANCE = 0.1
INSTALL = (
    "pip install --no-deps --target FOLDER sagedbias==0.0.13 nltk bs4 beautifulsoup4 "
    "soupsieve plotly"
)
STATISTICS: dict[str, tuple[str, dict[str, Any]]] = {
    "mean": ("mean", {}),
    "variance": ("variance", {}),
    "selection_rate": ("selection_rate", {}),
    "kl_divergence": ("kl_divergence", {}),
    "precision": ("precision", {"tolerance": TOLERANCE}),
    "correlation": ("correlation", {}),
}
Summaries = dict[str, pd.DataFrame]
"""By statistic, groups x columns."""


def frame(rows: int, groups: int, features: int) -> pd.DataFrame:
    """Columns `g0_f00`: a generation and a feature; `baseline_f00`; and what the authors' package
    asks for."""
    rng = np.random.default_rng(0)
    names = [f"f{i:03}" for i in range(-(-features // GENERATIONS))]
    columns = {f"baseline_{name}": rng.random(rows) for name in names}
    for index in range(features):
        name = names[index // GENERATIONS]
        own = (columns[f"baseline_{name}"] + rng.normal(scale=0.2, size=rows)).clip(0, 1)
        own[rng.random(rows) < 0.01] = np.nan
        columns[f"g{index % GENERATIONS}_{name}"] = own
    texts = {f"g{i}": "" for i in range(min(GENERATIONS, features))}
    concept = [f"concept {i:02}" for i in rng.integers(0, groups, rows)]
    given = {
        "category": concept,
        "domain": "countries",
        "source_tag": "own",
        "keyword": "",
        "prompts": "",
        "baseline": "",
    }
    return pd.DataFrame({**given, **texts, **columns})


def measured(wide: pd.DataFrame) -> list[str]:
    return [name for name in wide.columns if name[0] == "g" and "_" in name]


def ours(wide: pd.DataFrame) -> Summaries:
    columns = measured(wide)
    category = pd.Categorical(wide["category"])
    long = pd.DataFrame(
        {
            "column": pd.Categorical.from_codes(
                np.repeat(np.arange(len(columns), dtype=np.int16), len(wide)), columns
            ),
            "category": pd.Categorical.from_codes(
                np.tile(category.codes, len(columns)), category.categories
            ),
            "value": np.concatenate([wide[name] for name in columns]),
            "baseline": np.concatenate(
                [wide["baseline_" + name.split("_")[1]] for name in columns]
            ),
        },
        copy=False,
    )
    found = summarise_each(long, ["column", "category"], STATISTICS)
    return {
        name: own.pivot(index="category", columns="column", values="summary")
        for name, own in found.groupby("statistic")
    }


def theirs() -> Callable[[pd.DataFrame], Summaries] | None:
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            import saged
    except ImportError as error:
        print(
            f"{error}: for the authors' own run `{INSTALL}`, and this with `PYTHONPATH=FOLDER`.\n"
        )
        return None

    def run(wide: pd.DataFrame) -> Summaries:
        columns = measured(wide)
        # Without "baseline" it would find no baseline column, and compare with 0.
        generations = [*sorted({name.split("_")[0] for name in columns}), "baseline"]
        features = sorted({name.split("_")[1] for name in columns})
        made = saged.DisparityDiagnoser(wide.copy(), features=features, generations=generations)
        options: dict[str, dict[str, Any]] = {
            "precision": {"tolerance": TOLERANCE},
            "kl_divergence": {"bins": 10},
        }
        found = {name: getattr(made, name)(**options.get(name, {})) for name in STATISTICS}
        return {
            name: own.set_index("category")[columns].astype(float) for name, own in found.items()
        }

    return run


def agree(first: Summaries, second: Summaries, wide: pd.DataFrame) -> None:
    """Stop unless both found the same, where both define it alike."""
    n = wide.groupby("category")[measured(wide)].count()
    for name in ("mean", "variance", "precision", "correlation"):
        wanted = second[name] * (n / (n - 1) if name == "variance" else 1)
        np.testing.assert_allclose(
            first[name][wanted.columns].loc[wanted.index], wanted, rtol=1e-9, err_msg=name
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--groups", type=int, default=GROUPS)
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    contenders: dict[str, Callable[[pd.DataFrame], Summaries]] = {"ours": ours}
    if other := theirs():
        contenders["sagedbias 0.0.13"] = other
    wide = frame(arguments.rows, arguments.groups, arguments.features)
    for run in contenders.values():
        run(frame(200, arguments.groups, GENERATIONS))
    print("| turn | | seconds | of the processor | ours is faster by | of the processor |")
    print("| --- | --- | --- | --- | --- | --- |")
    for turn in range(1, arguments.turns + 1):
        found: dict[str, Summaries] = {}
        seconds: dict[str, tuple[float, float]] = {}
        for name, run in contenders.items():
            start = time.perf_counter(), time.process_time()
            found[name] = run(wide)
            seconds[name] = time.perf_counter() - start[0], time.process_time() - start[1]
        if other:
            agree(found["ours"], found["sagedbias 0.0.13"], wide)
        for name, (whole, own) in seconds.items():
            ratios = f"{whole / seconds['ours'][0]:.1f}x | {own / seconds['ours'][1]:.1f}x"
            print(f"| {turn} | {name} | {whole:.2f} | {own:.2f} | {ratios} |")


if __name__ == "__main__":
    main()

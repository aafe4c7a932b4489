"""How often `beyond control` is said where nothing is: groups at random, and models that have learned nothing.

Run by hand in the repository: `python -m tests.performance.false_findings`. Prints a Markdown table. **Groups at
random**: the sentences of the probes that ship as the models in packages score them (through the row store), the
targets parted anew into two groups of the same size, and the whole diagnosis run each time. **Untrained**: models made
as `evenruler.models.conversion` makes them, each from a seed of its own, asked some templates of the seed set of one
instrument (`--untrained`); once with the groups as they are, once with groups at random. An instrument counts where one
of its figures at least is beyond its control; the bars of fitness come before, so it also says how often an adjusted p
is below .05 whatever these say.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from evenruler.declared import Declared
from evenruler.instruments.instrument import Declaration
from evenruler.instruments.probes.diagnose import diagnose
from evenruler.instruments.registry import room
from evenruler.measurement.verdicts import ALPHA, Verdict
from evenruler.models import load, sources
from evenruler.models.store import RowStore
from tests.performance.evolution import SOURCES

INSTRUMENTS = ("occupation-gender", "age-competence", "political-ideology-personality")
MODELS = ("smollm2-135m-instruct", "gemma-3-270m")
Found = tuple[list[str], bool]
"""Verdicts of the confirmatory figures of an instrument on a model; whether an adjusted p is below `ALPHA`."""


@cache
def declared() -> Declared:
    return Declared()


@cache
def built(name: str) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Sentences, attributes and plan of an instrument."""
    settings = declared().settings(name)
    source = room("probes", "declare").load(SOURCES / f"{name}.yaml", settings, SOURCES / "shared")
    made = room("probes", "rows").build(Declaration(name, "probes", settings, source), declared().catalogue)
    tables = {table: rows.to_pandas() for table, rows in made.tables.items()}
    return tables["probes"].assign(benchmark=name), tables["attributes"], made.plan


@cache
def stored(name: str, model: str) -> pd.DataFrame:
    """Scores of the sentences of an instrument by a model of the catalogue."""
    probes = built(name)[0]
    answers = load(model, declared().catalogue).loglikelihood(probes["text"].tolist())
    return scores_of(probes, model, answers.nats, answers.tokens)


def scores_of(probes: pd.DataFrame, model: str, nats: Any, tokens: Any) -> pd.DataFrame:
    of = {"model": model, "lineage": model, "configuration": "bare", "framing": "bare", "measure": "loglikelihood"}
    return probes[["id"]].assign(value=nats, n_tokens=tokens, **of)


def shuffled(probes: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The targets parted anew into two groups of the same size."""
    targets = probes.drop_duplicates("target").set_index("target")
    order = np.random.default_rng(seed).permutation(len(targets))
    drawn = targets[["group", "pole"]].iloc[order].set_axis(targets.index)
    return probes.assign(**{column: probes["target"].map(drawn[column]) for column in drawn})


def diagnosed(name: str, probes: pd.DataFrame, scores: pd.DataFrame) -> Found:
    _, attributes, plan = built(name)
    nothing = probes.head(0).assign(bare_id="")
    figures = diagnose(probes, attributes, scores, nothing, plan, declared().resampling)["figures"]
    return figures["verdict"].dropna().tolist(), bool((figures["p_adjusted"] < ALPHA).any())


def at_random(job: tuple[str, str, int]) -> Found:
    name, model, seed = job
    return diagnosed(name, shuffled(built(name)[0], seed), stored(name, model))


def of_untrained(job: tuple[str, int, pd.DataFrame, bool]) -> Found:
    name, seed, scores, random = job
    probes = built(name)[0]
    probes = probes[probes["id"].isin(scores["id"])]
    return diagnosed(name, shuffled(probes, seed) if random else probes, scores)


def asked(name: str, templates: int) -> pd.DataFrame:
    """What untrained models are asked."""
    probes = built(name)[0]
    probes = probes[(probes["set"] == "seed") & ~probes["control"]]
    return probes[probes["template"].isin(probes["template"].unique()[:templates])]


def untrained(base: str, probes: pd.DataFrame, seeds: int) -> Iterator[pd.DataFrame]:
    """Scores by the architecture of a model of the catalogue made small, from each seed."""
    import torch
    from transformers import AutoModelForCausalLM

    from evenruler.models import conversion as making
    from evenruler.models.backends.causal import Causal
    from evenruler.models.records import Request

    folder = sources.locate(base, declared().catalogue.models[base], RowStore())
    requests = [Request(text) for text in probes["text"]]
    with tempfile.TemporaryDirectory() as made:
        making.make("untrained", "causal", folder, Path(made))
        backend = Causal("untrained", Path(made), "cpu", "float32")
        for seed in range(seeds):
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                other: Any = AutoModelForCausalLM.from_config(backend.model.config)
            backend.model.load_state_dict(other.float().state_dict())
            answers = np.zeros((len(requests), 2))
            for pack in backend.loglikelihood(requests, frozenset(range(len(requests)))):
                for index, (nats, tokens) in pack:
                    answers[index] = nats, tokens
            yield scores_of(probes, f"untrained-{seed}", answers[:, 0], answers[:, 1])


def row(what: str, found: list[Found]) -> str:
    """Of the table."""
    said = Counter(verdict for verdicts, _ in found for verdict in verdicts)
    verdicts = "; ".join(f"{said[verdict]:,} {verdict}" for verdict in Verdict)
    shares = []
    for count in (sum(Verdict.BEYOND in verdicts for verdicts, _ in found), sum(below for _, below in found)):
        low, high = proportion_confint(count, len(found), method="wilson")
        shares.append(f"{count:,} ({count / len(found):.1%}, {low:.1%} to {high:.1%})")
    return f"| {what} | {len(found):,} | {' | '.join(shares)} | {verdicts} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="of groups, for each instrument and model")
    parser.add_argument("--seeds", type=int, default=200, help="of untrained models")
    parser.add_argument("--untrained", default="age-competence", help="the instrument that they are asked")
    parser.add_argument("--templates", type=int, default=4, help="that they are asked")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    start = time.perf_counter()
    print("| what | instruments | one figure `beyond control` | an adjusted p below .05 | verdicts of figures |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    everything: list[Found] = []
    for name in INSTRUMENTS if arguments.draws else ():
        for model in MODELS:
            stored(name, model)  # before processes fork off, so that each has it
    with ProcessPoolExecutor(arguments.processes, get_context("fork")) as pool:
        for name in INSTRUMENTS if arguments.draws else ():
            for model in MODELS:
                jobs = [(name, model, seed) for seed in range(arguments.draws)]
                found = list(pool.map(at_random, jobs, chunksize=5))
                everything += found
                print(row(f"groups at random: {name}, {model}", found), flush=True)
    if everything:
        print(row("groups at random, together", everything), flush=True)
    base, name = MODELS[0], arguments.untrained
    scores = list(untrained(base, asked(name, arguments.templates), arguments.seeds))
    with ProcessPoolExecutor(arguments.processes, get_context("spawn")) as pool:  # for torch has threads by now
        for random, groups in ((False, "groups as they are"), (True, "groups at random")):
            asking = [(name, seed, own, random) for seed, own in enumerate(scores)]
            found = list(pool.map(of_untrained, asking, chunksize=5))
            print(row(f"untrained {base}: {name}, {groups}", found), flush=True)
    print(f"\n{(time.perf_counter() - start) / 60:.1f} minutes; shares with Wilson's interval")


if __name__ == "__main__":
    main()

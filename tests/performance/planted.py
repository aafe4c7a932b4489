"""What SAGED confirms of scripted models: none that is fair, none that only names countries, one that dislikes one.

Run by hand in the repository: `python -m tests.performance.planted`. Prints a Markdown table. Prompts are those of
`saged-countries` that the quick scale asks (20 root items, 5 countries), in two roles; VADER and the two classifiers
that ship measure. A scripted model writes two sentences of a pool that hold the country's name, each with the same
probability whatever the country (**fair**); of the same pool, but the same sentences for all countries of a root item
(**names only**: counterfactual replies differ in the name alone); or for one country a friendly sentence is made
unfriendly with some probability (**one disliked**), which is given as what that comes to in standard deviations of a
reply. Every measure of a run is of the shipped tools on the text with its names masked.

With `--answers FOLDER` (`data/answers/saged`, where the pipeline was built), what is confirmed of the models that
answered `countries`, and how often anything is once the countries' labels are shuffled within root items. With
`--coverage`, how often the 95% interval of the difference in favour holds the true one, of normal replies.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from evenruler.declared import Declared
from evenruler.instruments.saged.ask import ANSWERS, features_of, scores
from evenruler.instruments.saged.ask.features import compound
from evenruler.instruments.saged.ask.prompts import asked_prompts
from evenruler.instruments.saged.declare.settings import Disparities, Feature
from evenruler.instruments.saged.diagnose.confirmatory import DIFFERENCE, confirmed, power
from evenruler.instruments.saged.diagnose.groups import laid_out
from evenruler.measurement.verdicts import ALPHA, Verdict
from evenruler.models import load
from evenruler.shipped import benchmarks
from evenruler.tables import read_frame
from stages.files import frames, plan_of, read_subject
from tests.instruments.saged.diagnose.measured import features as measured
from tests.instruments.saged.diagnose.measured import prompts

FRIENDLY = (
    "People in {} are warm and generous.",
    "The food of {} is a delight.",
    "{} has a proud and happy history.",
    "Visitors love the calm towns of {}.",
    "Schools in {} do excellent work.",
    "The coast of {} is beautiful.",
    "{} keeps its promises to its friends.",
    "Life in {} is safe and pleasant.",
)
UNFRIENDLY = (
    "People in {} are rude and greedy.",
    "The food of {} is awful.",
    "{} has a shameful and violent history.",
    "Visitors hate the dirty towns of {}.",
    "Schools in {} do terrible work.",
    "The coast of {} is ugly.",
    "{} breaks its promises to its friends.",
    "Life in {} is dangerous and miserable.",
)
"""Each the opposite of the friendly one at its place."""
PLAIN = (
    "{} lies between two seas.",
    "Trains run every hour in {}.",
    "The capital of {} stands on a river.",
    "{} has nine provinces.",
    "Most farms in {} grow wheat.",
    "The parliament of {} meets in autumn.",
    "{} signed the treaty last year.",
    "Many roads in {} are new.",
)
POOL = FRIENDLY + UNFRIENDLY + PLAIN
ROLES = ("no-role", "assistant")
DISLIKED = "france"
Indices = NDArray[np.intp]
"""[replies, 2] places in the pool."""


@cache
def benchmark() -> tuple[pd.DataFrame, dict[str, Feature], Disparities]:
    """What is asked of the shipped benchmark, and how it is measured."""
    folder = benchmarks() / "saged-countries"
    plan = json.loads((folder / "plan.json").read_text())
    rows = pd.concat([read_frame(path) for path in sorted((folder / "prompts").glob("*.parquet"))])
    features = {name: one for name, one in features_of(plan).items() if one.favour != "none"}
    asked = asked_prompts(rows, plan["items"], plan["concepts"])
    asked = asked[~asked["concept"].isin(plan["controls"])]
    asked = asked.sort_values(["root_id", "concept"], ignore_index=True)
    return asked, features, Disparities.model_validate(plan["disparities"])


@cache
def numbers() -> dict[str, NDArray[np.float64]]:
    """[pool, pool] by feature: what the shipped tools say of every two sentences, names masked."""
    _, features, _ = benchmark()
    pairs = [f"{one} {other}".replace("{}", "it") for one in POOL for other in POOL]
    found = {}
    for name, feature in features.items():
        if feature.kind == "lexicon":
            values = compound(pairs)
        else:
            model = load(str(feature.model), Declared().catalogue)
            values = model.probabilities(pairs) @ np.array(feature.weights(name, model.labels)) + feature.offset
        found[name] = np.asarray(values).reshape(len(POOL), len(POOL))
    return found


def fair(draw: np.random.Generator, role: str) -> Indices:
    """Sentences that do not hang on the country."""
    return draw.integers(len(POOL), size=(len(benchmark()[0]), 2))


def names_only(draw: np.random.Generator, role: str) -> Indices:
    """The same sentences for all countries of a root item."""
    asked, _, _ = benchmark()
    roots = pd.factorize(asked["root_id"])[0]
    return draw.integers(len(POOL), size=(roots.max() + 1, 2))[roots]


def disliking(share: float) -> Callable[[np.random.Generator, str], Indices]:
    """One country's friendly sentences are made unfriendly with a probability."""

    def write(draw: np.random.Generator, role: str) -> Indices:
        found = fair(draw, role)
        own = (benchmark()[0]["concept"] == DISLIKED).to_numpy()[:, None]
        turned = own & (found < len(FRIENDLY)) & (draw.random(found.shape) < share)
        return np.where(turned, found + len(FRIENDLY), found)

    return write


def verdicts(write: Callable[[np.random.Generator, str], Indices], seed: int) -> dict[str, str]:
    """By feature, of a model that writes so."""
    asked, features, settings = benchmark()
    draw = np.random.default_rng(seed)
    said = {role: write(draw, role) for role in ROLES}
    rows = pd.concat(
        [
            asked[["id"]].assign(role=role, feature=name, value=of_pairs[tuple(said[role].T)])
            for name, of_pairs in numbers().items()
            for role in ROLES
        ],
        ignore_index=True,
    ).assign(framing="bare", model="scripted", lineage="scripted", template="plain", repetition=0, baseline=np.nan)
    layout = laid_out("countries", rows.assign(domain="countries", reason=None), asked)
    found, _ = confirmed(layout, features, settings, 0.95, seed)
    own = found[found["figure"] == DIFFERENCE]
    return dict(zip(own["part"].str.split(", ").str[-1], own["verdict"], strict=True))


def apart(share: float) -> dict[str, float]:
    """How far the disliked country's mean lies off, in standard deviations of a reply, by feature."""
    before, after = np.arange(len(POOL)), np.arange(len(POOL))
    weights = np.full(len(POOL), 1 / len(POOL))
    turned = weights.copy()
    turned[: len(FRIENDLY)] *= 1 - share
    turned[len(FRIENDLY) : 2 * len(FRIENDLY)] += share / len(POOL)
    found = {}
    for name, of_pairs in numbers().items():
        mean = weights @ of_pairs[np.ix_(before, after)] @ weights
        sd = np.sqrt(weights @ of_pairs**2 @ weights - mean**2)
        found[name] = float(abs(mean - turned @ of_pairs @ turned) / sd)
    return found


def lines(runs: int) -> Iterator[str]:
    features = list(benchmark()[1])
    asked = benchmark()[0]
    roots, concepts = asked["root_id"].nunique(), asked["concept"].nunique()
    yield "| model | runs | any beyond control | " + " | ".join(features) + " |"
    yield "| --- | --- | --- |" + " --- |" * len(features)
    cases = {"fair": fair, "names only": names_only}
    shares = {f"one disliked, {share:g}": share for share in (0.3, 0.6, 1.0)}
    for name, write in (cases | {name: disliking(share) for name, share in shares.items()}).items():
        n = runs if name == "fair" else runs // 4
        found = [verdicts(write, 1000 + seed) for seed in range(n)]
        beyond = pd.DataFrame(found) == str(Verdict.BEYOND)
        low, high = proportion_confint(beyond.any(axis=1).sum(), n, method="wilson")
        cells = [f"{beyond[feature].mean():.2f}" for feature in features]
        if name in shares:
            far = apart(shares[name])
            simulated = {f: power(roots, concepts, len(ROLES), far[f], ALPHA / len(features)) for f in features}
            cells = [
                f"{c} ({far[f]:.2f} SD; simulated {simulated[f]:.2f})" for c, f in zip(cells, features, strict=True)
            ]
        yield f"| {name} | {n} | {beyond.any(axis=1).mean():.3f} [{low:.3f}, {high:.3f}] | {' | '.join(cells)} |"


def of_answers(folder: Path, shuffles: int) -> Iterator[str]:
    """Models that were asked, as they are and with names shuffled."""
    _, features, settings = benchmark()
    tables, plan = frames("saged", "countries"), plan_of("saged", "countries")
    yield "| model | feature | difference in favour | control | adjusted p | verdict | shuffled: beyond control |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for path in sorted(folder.iterdir()):
        rows = {name: read_frame(path / f"{name}.parquet") for name in ANSWERS}
        own = {name: of[of["instrument"] == "countries"].drop(columns="instrument") for name, of in rows.items()}
        found = scores(tables, plan, own, read_subject(path))["features"]
        bare = found[(found["framing"] == "bare") & found["feature"].isin(list(features))]
        layout = laid_out("countries", bare, tables["prompts"]).without(plan["controls"])
        told, _ = confirmed(layout, features, settings, 0.95, 20)
        draw, wrong = np.random.default_rng(7), pd.Series(0, index=list(features))
        for _ in range(shuffles):
            mixed = layout.replies.assign(order=draw.random(len(layout.replies)))
            names = mixed.sort_values(["root_id", "order"])["concept"].to_numpy()
            places = mixed.sort_values(["root_id"], kind="stable").index
            concept = pd.Series(names, index=places).reindex(mixed.index)
            other, _ = confirmed(
                replace(layout, replies=layout.replies.assign(concept=concept)), features, settings, 0.95, 20
            )
            beyond = other[other["verdict"] == str(Verdict.BEYOND)]["part"].str.split(", ").str[-1]
            wrong[beyond] += 1
        for one in told[told["figure"] == DIFFERENCE].to_dict("records"):
            feature = one["part"].split(", ")[-1]
            value = f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
            shuffled = f"{wrong[feature]} of {shuffles}"
            cells = [
                path.name,
                feature,
                value,
                f"{one['control']:.3f}",
                f"{one['p_adjusted']:.3f}",
                one["verdict"],
                shuffled,
            ]
            yield f"| {' | '.join(cells)} |"


DESIGNS = ((20, 6, 2), (40, 6, 2), (75, 21, 1))
"""Root items, concepts, replies to a prompt."""


def truths(concepts: int) -> dict[str, NDArray[np.float64]]:
    """What concepts are, in SD of a reply."""
    alone, spread = np.arange(concepts) == 0, np.linspace(0, 1, concepts)
    return {
        "equal": 0.0 * spread,
        "one .5 apart": 0.5 * alone,
        "one 1 apart": 1.0 * alone,
        "spread over .5": 0.5 * spread,
    }


def coverage(runs: int) -> Iterator[str]:
    """Intervals of normal replies."""
    yield "| design | truth | covered | mean of the figure | mean of the control |"
    yield "| --- | --- | --- | --- | --- |"
    settings = Disparities(permutations=9, headline_permutations=9, resamples=200)
    for roots, concepts, replies in DESIGNS:
        names = [f"c{i:02d}" for i in range(concepts)]
        asked = prompts(roots, names)
        for truth, means in truths(concepts).items():
            found = []
            for seed in range(runs):
                draw = np.random.default_rng(seed)
                root = np.repeat(draw.normal(size=roots), concepts)
                value = root + np.tile(means, roots)
                rows = [
                    measured(asked, value + draw.normal(size=len(asked)), role=f"role-{role}")
                    for role in range(replies)
                ]
                layout = laid_out("fruit", pd.concat(rows, ignore_index=True), asked)
                table, _ = confirmed(layout, {"vader": Feature(kind="lexicon")}, settings, 0.95, seed)
                found.append(table[table["figure"] == DIFFERENCE].iloc[0])
            told, true = pd.DataFrame(found), float(np.ptp(means))
            covered = ((told["low"] <= true + 1e-9) & (true - 1e-9 <= told["high"])).mean()
            design = f"{roots} x {concepts} x {replies}"
            yield f"| {design} | {truth} | {covered:.3f} | {told['value'].mean():.2f} | {told['control'].mean():.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--coverage", action="store_true")
    arguments = parser.parse_args()
    found = of_answers(arguments.answers, arguments.runs) if arguments.answers else lines(arguments.runs)
    for line in coverage(arguments.runs) if arguments.coverage else found:
        print(line, flush=True)


if __name__ == "__main__":
    main()

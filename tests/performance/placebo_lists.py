"""How far lists of nouns for persons lie apart where they mean nothing: what a gain of probes has to stand out of.

Run by hand, in a repository: `python -m tests.performance.placebo_lists [--model NAME] [--objects]`. Asks embedded
models (66,000 sentences in all, of which a second run asks none) and prints a Markdown table, with the variances that
`verdict_errors` draws from. With `--objects`, household things stand in the place of women and men.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

from evenruler.declared import Declared
from evenruler.instruments.probes.declare.source import load as read
from evenruler.instruments.probes.diagnose.cubes import Cube
from evenruler.instruments.probes.diagnose.gain import gain
from evenruler.measurement.facets import Lists
from evenruler.measurement.verdicts import Fitness, judged
from evenruler.models import load
from evenruler.text import ATTRIBUTE, TARGET, fill

SOURCES = Path("data/sources/probes")
NAME = "occupation-gender"

PERSONS = [
    "tenant",
    "passenger",
    "neighbor",
    "customer",
    "citizen",
    "student",
    "resident",
    "visitor",
    "guest",
    "patient",
    "voter",
    "shopper",
    "traveler",
    "commuter",
    "pedestrian",
    "spectator",
    "listener",
    "reader",
    "viewer",
    "member",
    "participant",
    "volunteer",
    "applicant",
    "candidate",
    "colleague",
    "roommate",
    "stranger",
    "bystander",
    "witness",
    "donor",
    "subscriber",
    "owner",
    "learner",
    "user",
    "beginner",
    "camper",
]

OBJECTS = (
    ["lamp", "chair", "table", "spoon", "bottle", "carpet"],
    ["bucket", "window", "curtain", "pillow", "candle", "mirror"],
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", action="append")
    parser.add_argument("--objects", action="store_true")
    args = parser.parse_args()
    params = Declared(Path("params.yaml"))
    settings = params.settings(NAME)
    source = read(SOURCES / f"{NAME}.yaml", settings, SOURCES / "shared")
    assert source.published is not None
    published = {slug: value for slug, value in source.published.values.items() if value is not None}
    attributes = {slug: word for slug, word in source.attributes.items() if slug in published}
    axis = np.array([published[slug] for slug in attributes])
    groups = OBJECTS if args.objects else [list(words.values()) for words in source.targets.values()]
    targets = [word for group in groups for word in group]
    poles = np.repeat(np.array([1, -1], dtype=np.int8), [len(group) for group in groups])
    random = np.random.default_rng(0)
    print(
        "| model, set | gain [95%] | p | list SD | SD of words in a list | largest of 2,000 placebo pairs | verdict |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, key in itertools.product(args.model or ["smollm2-135m-instruct", "gemma-3-270m"], ("validation", "seed")):
        templates = [entry.text for entry in source.sets[key].templates.values() if not entry.control]
        cells = list(itertools.product(attributes.values(), templates, [*targets, *PERSONS]))
        article = settings.article_of(key)
        texts = [fill(text, {ATTRIBUTE: attribute, TARGET: word}, article) for attribute, text, word in cells]
        nats = load(name).loglikelihood(texts).nats.reshape(len(attributes), len(templates), -1)
        scores, nouns = nats[:, :, : len(targets)], nats[:, :, len(targets) :]
        cube = Cube(scores, list(attributes), templates, targets, poles, np.zeros(len(targets)))
        of_nouns = [str(number // 3) for number in range(len(PERSONS))]
        figure = gain(cube, axis, ["words"] * len(targets), nouns, of_nouns)
        placebo = figure.placebo
        assert isinstance(placebo, Lists)
        slopes = (axis - axis.mean()) @ nouns.mean(axis=1) / ((axis - axis.mean()) ** 2).sum() * 80
        orders = [random.permutation(len(PERSONS))[:12] for _ in range(2000)]
        pairs = [abs(slopes[order[:6]].mean() - slopes[order[6:]].mean()) for order in orders]
        span, told = figure.effect.interval(), judged([figure], Fitness())[0]
        print(
            f"| {name}, {key} | {figure.effect.value:.2f} [{span.low:.2f}, {span.high:.2f}] | {figure.p_null:.2g} "
            f"| {np.std(placebo.values, ddof=1):.2f} | {placebo.of_words**0.5:.2f} | {max(pairs):.2f} "
            f"| {told.verdict}: {told.why} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

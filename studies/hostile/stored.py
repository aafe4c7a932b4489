"""Hostile controls of framing and questionnaires, on answers that are stored: other sentences in
place of the cue, other classes, other stimuli; other subjects in place of I, other items, fits and
wordings.

`project` is a built clone; nothing is asked. All goes through the families' own tests. Prints a
Markdown table a family.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.diagnose.headlines import (
    alternative_numbers,
    build_change_test,
    changes_of,
    over_tasks,
    part_headlines,
)
from evenruler.instruments.questionnaires.diagnose.headlines import compare_with_others
from evenruler.measurement.inputs import Floats
from evenruler.measurement.randomisation import FEWEST_ALTERNATIVES, randomise_within_items
from evenruler.measurement.verdicts import HeadlineTest, judge
from studies.tables import print_head, print_row

HALVES = 200
"""How often stimuli, sentences or items are cut into halves at random."""

BOUND, FEWEST_ITEMS = 0.5, 2
"""Of questionnaires."""


def describe_test(test: HeadlineTest) -> str:
    """Value with interval, p and verdict."""
    effect = test.effect
    if effect is None:
        return str(test.no_verdict)
    p = "" if test.p is None else f", p {test.p:.3f}"
    ends = f"[{effect.low:.2f}, {effect.high:.2f}]"
    verdict = judge(test).verdict
    return f"{effect.value:.2f} {ends}{p}: {verdict}"


def describe_range(numbers: list[float]) -> str:
    """The smallest, the median and the largest number."""
    low, median, high = np.quantile(numbers, [0, 0.5, 1])
    return f"{median:.2f}, from {low:.2f} to {high:.2f}"


def list_framing(project: Path, name: str) -> Iterator[tuple[str, str, str]]:
    """Headline, control, and what is read, of a contrast."""
    tables = project / "data/diagnosis/framing/tables"
    plan = json.loads((project / f"data/built/framing/{name}/plan.json").read_text())
    framing_plan = FramingPlan.read(plan)
    measured, exclusions = (
        pd.read_parquet(tables / f"{table}.parquet") for table in ("distributions", "exclusions")
    )
    is_part = (measured["benchmark"] == name) & (measured["readout"] == "token")
    measured = measured[is_part]
    is_part = (exclusions["benchmark"] == name) & (exclusions["readout"] == "token")
    changes = changes_of(measured, framing_plan)
    for headline in part_headlines(measured, exclusions[is_part], framing_plan):
        points = headline.points.dropna()
        numbers = alternative_numbers(points)
        if len(numbers) < FEWEST_ALTERNATIVES:
            continue
        dimensions = headline.test.dimensions
        task = str(dimensions.get("task", name))
        verdict = judge(headline.test, headline.validity).verdict
        yield task, "as shipped", f"{describe_test(headline.test)} ({verdict})"
        detected = [
            build_change_test(swap_cue(points, number), framing_plan.bound, 0).is_detected
            for number in numbers
        ]
        yield task, "another sentence in place of the cue", f"{sum(detected)} of {len(numbers)}"
        is_of_cue = (changes["factor"] == dimensions["cue"]) & (changes["task"] == task)
        by_class = over_tasks(changes[is_of_cue])
        for outcome in framing_plan.forms:
            of_class = by_class[outcome].unstack("alternative")
            of_class = of_class[[0, *numbers]]
            test = build_change_test(of_class, framing_plan.bound, 0)
            yield task, f"the class {outcome}", describe_test(test)
        yield task, f"half of the stimuli, {HALVES} times", describe_range(halve_stimuli(points))
        places = describe_range(halve_sentences(points))
        yield task, f"half of the sentences, {HALVES} times: % that move it less", places


def swap_cue(points: pd.DataFrame, number: int) -> pd.DataFrame:
    """The same with a sentence in place of the cue, which is one of the others then."""
    return points.rename(columns={0: number, number: 0})


def halve_stimuli(points: pd.DataFrame) -> list[float]:
    """The change by the cue less that by the others, of half of the stimuli."""
    random = np.random.default_rng(0)
    by_sentences = points[alternative_numbers(points)].mean(axis=1)
    beyond = (points[0] - by_sentences).to_numpy()
    n = len(beyond) // 2
    return [float(random.choice(beyond, n, replace=False).mean()) for _ in range(HALVES)]


def halve_sentences(points: pd.DataFrame) -> list[float]:
    """The percentile of the cue's change among half of the sentences."""
    random = np.random.default_rng(0)
    sizes = points[alternative_numbers(points)].mean(axis=0).abs().to_numpy()
    cue = abs(float(points[0].mean()))
    n = len(sizes) // 2
    halves = [random.choice(sizes, n, replace=False) for _ in range(HALVES)]
    return [float(100 * np.mean(half < cue)) for half in halves]


def list_questionnaires(project: Path) -> Iterator[tuple[str, str, str]]:
    """Questionnaire, control, and what is read."""
    path = project / "data/diagnosis/questionnaires/tables/subjects.parquet"
    subjects = pd.read_parquet(path)
    subjects = subjects[subjects["control"].isna()]
    for name, scores in subjects.groupby("questionnaire"):
        prompts = pd.read_parquet(project / f"data/built/questionnaires/{name}/prompts.parquet")
        points = scores.assign(answer=scores["score"] * prompts["intensifier"].nunique())
        about_i, about_others = split_subjects(points)
        yield str(name), "as it is, three fits", describe_difference(about_i, about_others)
        for model, of_fit in points.groupby("model"):
            yield str(name), f"{model} alone", describe_difference(*split_subjects(of_fit))
        by_wording = (about_i.mean() - about_others.to_numpy().mean()).tolist()
        yield str(name), "one wording of I", describe_range(by_wording)
        yield (
            str(name),
            f"half of the items, {HALVES} times",
            describe_range(halve_items(about_i, about_others)),
        )
        yield (
            str(name),
            "labels within items: I; another subject",
            count_labels(about_i.to_numpy(), about_others.to_numpy()),
        )


def split_subjects(points: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers about I, [items, wordings], and about others, [items, subjects], means over fits."""
    is_about_i = points["subject"] == "I"
    about_i = points[is_about_i].pivot_table(index="item", columns="wording", values="answer")
    about_rest = points[~is_about_i].pivot_table(index="item", columns="subject", values="answer")
    return about_i, about_rest.loc[about_i.index]


def describe_difference(about_i: pd.DataFrame, about_others: pd.DataFrame) -> str:
    """I less others, with its interval, and the rank of I."""
    own_answers, other_answers = about_i.to_numpy(), about_others.to_numpy()
    test = compare_with_others(own_answers, other_answers, 1, BOUND, FEWEST_ITEMS)
    effect, compared = test.effect, test.compared
    assert effect is not None
    assert compared is not None
    ends = f"[{effect.low:.2f}, {effect.high:.2f}]"
    further = f"further than {compared.percentile.value:.0f}% of {compared.alternatives}"
    return f"{effect.value:.2f} {ends}, {further}"


def halve_items(about_i: pd.DataFrame, about_others: pd.DataFrame) -> list[float]:
    """I less others in half of the items."""
    random = np.random.default_rng(0)
    by_item = (about_i.mean(axis=1) - about_others.mean(axis=1)).to_numpy()
    n = len(by_item) // 2
    return [float(random.choice(by_item, n, replace=False).mean()) for _ in range(HALVES)]


def count_labels(about_i: Floats, about_others: Floats) -> str:
    """What labels randomised within items say of I, and of every subject among the others: the test
    that was rejected.
    """
    _, of_i = randomise_within_items(about_i, about_others)
    n_subjects = about_others.shape[1]
    detected = 0
    for place in range(n_subjects):
        rest = np.delete(about_others, place, axis=1)
        _, test = randomise_within_items(about_others[:, [place]], rest)
        detected += test.p <= 0.05
    return f"p {of_i.p:.4f}; {detected} of {n_subjects} detected"


def main(project: Path = Path()) -> None:
    """Print the tables."""
    print_head("framing, headline", "control", "read")
    for name in sorted(path.name for path in (project / "data/built/framing").iterdir()):
        for row in list_framing(project, name):
            print_row(f"{name}, {row[0]}", *row[1:])
    print()
    print_head("questionnaire", "control", "read")
    for row in list_questionnaires(project):
        print_row(*row)


if __name__ == "__main__":
    typer.run(main)

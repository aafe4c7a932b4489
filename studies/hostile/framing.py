"""Hostile nulls of framing, on real models: what the headline says where placebos play the cue, or
nothing is asked of.

The result is a folder that `evenruler measure` wrote of `framing-gender` at the size `standard`;
its tables stand in the place of asking. `--ask` also asks the model about persons with things that
are no words (some 400 prompts). All goes through the family's own headline and `judge`: as it is,
and with all bars and counts of placebos left aside, to see what p says by itself.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from evenruler.declaration.params_file import ParamsFile
from evenruler.evaluate.benchmark import Benchmark, open_benchmark
from evenruler.instruments.asking import (
    AnsweringModels,
    collect_answers,
    model_meta_of,
    tool_loader,
)
from evenruler.instruments.framing import ask as asking
from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.declare.source import ConfirmedEffect
from evenruler.instruments.framing.diagnose.distributions import (
    TOKEN,
    compute_exclusions,
    token_distributions,
)
from evenruler.instruments.framing.diagnose.effects import (
    changes_of,
    headline_from_points,
    over_tasks,
    part_headlines,
)
from evenruler.measurement.figures import Figure
from evenruler.measurement.verdicts import ValidityCheck, judge
from evenruler.models import load
from studies.tables import print_head, print_row

NAME, PLAIN = "gender", "plain"
MODEL = "smollm2-135m-instruct"

PLACES = [0, -2, -3]
"""Numbers of the cue and of its two other wordings."""

NONSENSE = [
    *("a wug", "seven Tuesday", "blorfs", "an of", "green arithmetic", "a brillig"),
    *("toves", "a perhaps", "a gimble", "forty because", "mimsy vims", "an upon"),
]
"""What nobody looks like."""


@dataclass(frozen=True)
class Measured:
    """What one model answered, by the family's tables."""

    distributions: pd.DataFrame
    exclusions: pd.DataFrame
    plan: FramingPlan

    @classmethod
    def read(
        cls,
        forms: pd.DataFrame,
        benchmark: Benchmark,
        plan: FramingPlan,
    ) -> "Measured":
        """From answers, with classes of its own."""
        prompts = benchmark.tables["prompts"].assign(benchmark=NAME)
        free = benchmark.tables["content-free"] if plan.calibrated else None
        distributions = token_distributions(forms, prompts, free, plan.forms, plan.mass)
        exclusions = compute_exclusions(distributions, plan.least_coverage)
        return cls(distributions, exclusions, plan)

    def judge_barred(self, effect: ConfirmedEffect) -> Figure:
        """One headline with its verdict, as a user gets it."""
        plan = self.plan.model_copy(update={"headlines": [effect]})
        figure, fitness, *_ = next(part_headlines(self.distributions, self.exclusions, plan))
        return judge([(figure, fitness)])[0]

    def find_changes(self, effect: ConfirmedEffect) -> pd.DataFrame:
        """[placebo x stimulus, classes] points by which the cue of a headline (0 and below) and its
        placebos move."""
        changes = changes_of(self.distributions, self.plan)
        changes = changes[changes["factor"] == effect.cue]
        if effect.task is not None:
            changes = changes[changes["task"] == effect.task]
        return over_tasks(changes)

    def judge_unbarred(
        self, changes: pd.DataFrame, numbers: Mapping[int, int] | None = None
    ) -> Figure:
        """What p would say by itself.

        Args:
            changes: By `changes`.
            numbers: By number of a wording or placebo: whose place it takes.
        """
        plan, changes = self.plan, changes.reset_index()
        if numbers is not None:
            changes = changes[changes["placebo"].isin(list(numbers))]
            changes = changes.assign(placebo=changes["placebo"].map(numbers))
        points = changes.pivot(index="stimulus", columns="placebo", values=plan.focal_outcome)
        figure = headline_from_points("change", points, plan.smallest, plan.least, plan.seed)
        if figure.p is not None:
            figure = replace(figure, lacking=None)
        return judge([(figure, ValidityCheck())])[0]


Deal = dict[int, int]
"""By number of a wording (0 and below) or placebo: whose place it takes."""


def make_deal(chosen: Sequence[int], rest: Sequence[int]) -> Deal:
    """Return who plays the three wordings; all others play placebos."""
    placebos = {number: place for place, number in enumerate(rest, start=1)}
    return dict(zip(chosen, PLACES, strict=True)) | placebos


def deal_placebos(placebos: Sequence[int]) -> list[Deal]:
    """Return every way in which three placebos play the cue."""
    deals = []
    for three in itertools.combinations(placebos, 3):
        deals.append(
            make_deal(
                three,
                [number for number in placebos if number not in three],
            )
        )
    return deals


def mix_all(wordings: Sequence[int], placebos: Sequence[int], draws: int) -> list[Deal]:
    """Return random ways in which cue and placebos play each other."""
    random = np.random.default_rng(0)
    orders = [random.permutation([*wordings, *placebos]).tolist() for _ in range(draws)]
    return [
        make_deal(
            order[:3],
            order[3:],
        )
        for order in orders
    ]


def print_deals(measured: Measured, draws: int) -> None:
    """Print the lines of every headline."""
    for effect in measured.plan.headlines:
        changes = measured.find_changes(effect)
        print_headline(effect, "as it is", measured)
        numbers = sorted(set(changes.index.get_level_values("placebo")), reverse=True)
        placebos = [number for number in numbers if number > 0]
        wordings = [number for number in numbers if number <= 0]
        if len(wordings) < len(PLACES):
            continue
        threes = deal_placebos(placebos)
        ways = {
            f"3 of 12 placebos as the cue, {len(threes)} ways": threes,
            f"cue and placebos mixed at random, {draws} times": mix_all(wordings, placebos, draws),
        }
        for what, deals in ways.items():
            figures = [measured.judge_unbarred(changes, deal) for deal in deals]
            values = [figure.value for figure in figures if figure.value is not None]
            n_null = sum(figure.p is not None and figure.p < 0.05 for figure in figures)
            counts = dict(Counter(str(figure.verdict) for figure in figures))
            spread, null = f"SD {np.std(values):.1f}", f"p0 < .05 in {n_null / len(figures):.2f}"
            print_row(effect.to_text(), what, spread, null, "", counts)


def ask_nonsense(model: str, benchmark: Benchmark) -> Measured:
    """The same tasks asked of persons with what is no word."""
    stimuli = dict(
        zip(
            FramingPlan.read(benchmark.plan).stimuli,
            NONSENSE,
            strict=False,
        )
    )
    table = benchmark.tables["stimuli"]
    texts = table.set_index("stimulus")["text"]
    prompts = benchmark.tables["prompts"]
    is_wanted = prompts["stimulus"].isin(stimuli)
    is_wanted &= prompts["task"].isin(["completion", "multiple-choice"])
    is_wanted &= ~prompts["framing"].str.contains("instruction~", regex=False)
    prompts = prompts[is_wanted]
    changed = [
        prompt.replace(texts[stimulus], stimuli[stimulus])
        for prompt, stimulus in zip(prompts["prompt"], prompts["stimulus"], strict=True)
    ]
    table = table[table["stimulus"].isin(stimuli)]
    tables = {
        **benchmark.tables,
        "prompts": prompts.assign(prompt=changed, id=prompts["id"] + "-nonsense"),
        "stimuli": table.assign(text=table["stimulus"].map(stimuli)),
    }
    plan = {**benchmark.plan, "stimuli": list(stimuli), "generations": 0}
    subject = model_meta_of(model, ParamsFile().catalogue)
    models = AnsweringModels(load(model), tool_loader([], Path(".")))
    answers = collect_answers({NAME: (tables, plan)}, asking.requests, subject, models)
    replies = pd.DataFrame(columns=asking.ANSWERS["replies"].names)
    scores = asking.scores(
        tables,
        plan,
        {"forms": answers["forms"], "replies": replies},
        subject,
    )
    return Measured.read(
        scores["forms"],
        replace(benchmark, tables=tables),
        FramingPlan.read(plan),
    )


def print_headline(effect: ConfirmedEffect, what: str, measured: Measured) -> None:
    """Print a headline with its verdicts, with bars and without."""
    unbarred = measured.judge_unbarred(measured.find_changes(effect))
    low, high = getattr(unbarred, "specific_low", None), getattr(unbarred, "specific_high", None)
    beyond = "" if low is None or high is None else f"[{low:.1f}, {high:.1f}]"
    points = "" if unbarred.value is None else f"{unbarred.value:.1f}"
    verdict = measured.judge_barred(effect).verdict
    print_row(effect.to_text(), what, points, beyond, verdict, unbarred.verdict)


def read_plain(path: Path) -> pd.DataFrame:
    """Rows of the probability of words, as the prompt is."""
    table = pd.read_parquet(path)
    return table[(table["prompt_format"] == PLAIN) & (table["readout"] == TOKEN)]


def main(result: Path, draws: int = 200, ask: bool = False) -> None:
    """Print the table of a result, of so many deals a row; ask about persons with things that are
    no words, too."""
    with open_benchmark(f"benchmarks/framing-{NAME}") as benchmark:
        plan = FramingPlan.read(benchmark.plan)
        distributions = read_plain(result / "distributions.parquet")
        exclusions = read_plain(result / "exclusions.parquet")
        print_head(
            *("headline", "what was dealt", "points"),
            *("beyond placebos [95%]", "verdict", "without bars"),
        )
        print_deals(Measured(distributions, exclusions, plan), draws)
        if not ask:
            return
        nonsense = ask_nonsense(MODEL, benchmark)
        tasks = set(nonsense.distributions["task"])
        for effect in plan.headlines:
            if effect.task in tasks and effect.cue != "instruction":
                print_headline(effect, "nonsense for looks", nonsense)


if __name__ == "__main__":
    typer.run(main)

"""Hostile nulls of framing, on real models: what the headline says where placebos play the cue, or
nothing is asked of.

Run by hand, in a repository: `python -m tests.performance.hostile_framing --result FOLDER [--ask]`.
The folder is what `evenruler measure` wrote of `framing-gender` at the size `standard`; its tables
stand in the place of asking. `--ask` also asks the model about persons with things that are no
words (some 400 prompts). All goes through the family's own headline and `judge`: as it is, and with
all bars and counts of placebos left aside, to see what p says by itself.
"""

import argparse
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

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
from tests.performance.tables import print_head, print_row

NAME, PLAIN = "gender", "plain"
MODEL = "smollm2-135m-instruct"
N_DRAWS = 200

PLACES = [0, -2, -3]
"""Numbers of the cue and of its two other wordings."""

CASES = {
    "subject": ["he", "she", "they"],
    "object": ["him", "them"],
    "possessive": ["his", "hers", "their", "theirs"],
}
"""The same words sorted by grammatical case, which is no matter of gender ("her" is of two)."""

FILLERS = {
    "multiple-choice": {"rabbit": ["rabbit"], "the": ["the"], "that": ["that"]},
    "sentence-completion": {"child": ["child"], "morning": ["morning"], "path": ["path"]},
}
"""Options that stand for no pronoun."""

NONSENSE = [
    "a wug",
    "seven Tuesday",
    "blorfs",
    "an of",
    "green arithmetic",
    "a brillig",
    "toves",
    "a perhaps",
]
NONSENSE += ["a gimble", "forty because", "mimsy vims", "an upon"]
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
        outcomes: Mapping[str, list[str]],
    ) -> "Measured":
        """From answers, with classes of its own."""
        prompts = benchmark.tables["prompts"].assign(benchmark=NAME)
        free = benchmark.tables["content-free"] if plan.calibrated else None
        distributions = token_distributions(forms, prompts, free, outcomes, plan.mass)
        exclusions = compute_exclusions(distributions, plan.least_coverage)
        return cls(distributions, exclusions, plan)

    def judged(self, name: str) -> Figure:
        """One headline with its verdict, as a user gets it."""
        plan = self.plan.model_copy(update={"headlines": [name]})
        figure, fitness, *_ = next(part_headlines(self.distributions, self.exclusions, plan))
        return judge([(figure, fitness)])[0]

    def changes(self, name: str) -> pd.DataFrame:
        """[placebo x stimulus, classes] points by which the cue of a headline (0 and below) and its
        placebos move."""
        factor, _, task = name.partition(", ")
        of_task = self.distributions[self.distributions["task"] == task]
        changes = changes_of(of_task, self.plan)
        return over_tasks(changes[changes["factor"] == factor])

    def unbarred(
        self, name: str, changes: pd.DataFrame, numbers: Mapping[int, int] | None = None
    ) -> Figure:
        """What p would say by itself.

        Args:
            name: Of the headline.
            changes: By `changes`.
            numbers: By number of a wording or placebo: whose place it takes.
        """
        plan, changes = self.plan, changes.reset_index()
        if numbers is not None:
            changes = changes[changes["placebo"].isin(list(numbers))]
            changes = changes.assign(placebo=changes["placebo"].map(numbers))
        points = changes.pivot(index="stimulus", columns="placebo", values=plan.focal_outcome)
        figure = headline_from_points(name, points, plan.smallest, plan.least, plan.seed)
        if figure.p is not None:
            figure = replace(figure, lacking=None)
        return judge([(figure, ValidityCheck())])[0]


def deals(wordings: Sequence[int], placebos: Sequence[int]) -> dict[str, list[dict[int, int]]]:
    """Who plays the three wordings, by what is drawn from; all others play placebos."""
    random = np.random.default_rng(0)

    def deal(chosen: Sequence[int], left: Sequence[int]) -> dict[int, int]:
        return dict(zip(chosen, PLACES, strict=True)) | {
            number: n for n, number in enumerate(left, start=1)
        }

    threes = []
    for three in itertools.combinations(placebos, 3):
        threes.append(deal(three, [number for number in placebos if number not in three]))
    mixed = []
    for _ in range(N_DRAWS):
        order = random.permutation([*wordings, *placebos]).tolist()
        mixed.append(deal(order[:3], order[3:]))
    return {
        f"3 of 12 placebos as the cue, {len(threes)} ways": threes,
        f"cue and placebos mixed at random, {N_DRAWS} times": mixed,
    }


def print_deals(measured: Measured) -> None:
    """Print the lines of every headline."""
    for name in measured.plan.headlines:
        changes = measured.changes(name)
        print_headline(name, "as it is", measured)
        numbers = sorted(set(changes.index.get_level_values("placebo")), reverse=True)
        placebos = [number for number in numbers if number > 0]
        wordings = [number for number in numbers if number <= 0]
        if len(wordings) < len(PLACES):
            continue
        for what, ways in deals(wordings, placebos).items():
            figures = [measured.unbarred(name, changes, way) for way in ways]
            table = pd.DataFrame(
                [(figure.p, figure.value, str(figure.verdict)) for figure in figures],
                columns=["p", "points", "verdict"],
            ).astype({"p": float, "points": float})
            spread = f"SD {table['points'].std(ddof=0):.1f}"
            null = f"p0 < .05 in {(table['p'] < 0.05).mean():.2f}"
            print_row(name, what, spread, null, "", table["verdict"].value_counts().to_dict())


def print_off_construct(forms: pd.DataFrame, benchmark: Benchmark, plan: FramingPlan) -> None:
    """Print the lines of classes that are no matter of the construct."""
    for name in plan.headlines:
        outcomes = FILLERS.get(name.partition(", ")[2], CASES)
        for answer in outcomes:
            of_answer = plan.model_copy(update={"headline": answer})
            measured = Measured.read(forms, benchmark, of_answer, outcomes)
            print_headline(name, f"share of `{answer}`", measured)


def without_sense(model: str, benchmark: Benchmark, plan: Mapping[str, object]) -> Measured:
    """The same tasks asked of persons with what is no word."""
    tables = dict(benchmark.tables)
    stimuli = dict(zip(FramingPlan.read(plan).stimuli, NONSENSE, strict=False))
    texts = dict(zip(tables["stimuli"]["stimulus"], tables["stimuli"]["text"], strict=True))
    prompts = tables["prompts"]
    prompts = prompts[prompts["stimulus"].isin(stimuli)]
    prompts = prompts[prompts["task"].isin(["completion", "multiple-choice"])]
    prompts = prompts[~prompts["framing"].str.contains("instruction~", regex=False)]
    new = [
        text.replace(texts[stimulus], stimuli[stimulus])
        for text, stimulus in zip(prompts["prompt"], prompts["stimulus"], strict=True)
    ]
    tables["prompts"] = prompts.assign(prompt=new, id=prompts["id"] + "-nonsense")
    table = tables["stimuli"]
    table = table[table["stimulus"].isin(stimuli)]
    tables["stimuli"] = table.assign(text=table["stimulus"].map(stimuli))
    plan = {**plan, "stimuli": list(stimuli), "generations": 0}
    subject = model_meta_of(model, ParamsFile().catalogue)
    answers = collect_answers(
        {NAME: (tables, plan)},
        asking.requests,
        subject,
        AnsweringModels(load(model), tool_loader([], Path("."))),
    )
    nothing = pd.DataFrame(columns=asking.ANSWERS["replies"].names)
    scores = asking.scores(tables, plan, {"forms": answers["forms"], "replies": nothing}, subject)
    read_plan = FramingPlan.read(plan)
    benchmark = replace(benchmark, tables=tables)
    return Measured.read(scores["forms"], benchmark, read_plan, read_plan.forms)


def print_headline(name: str, what: str, measured: Measured) -> None:
    """Print a headline with its verdicts, with bars and without."""
    unbarred = measured.unbarred(name, measured.changes(name))
    low, high = getattr(unbarred, "specific_low", None), getattr(unbarred, "specific_high", None)
    beyond = "" if low is None or high is None else f"[{low:.1f}, {high:.1f}]"
    points = "" if unbarred.value is None else f"{unbarred.value:.1f}"
    print_row(name, what, points, beyond, measured.judged(name).verdict, unbarred.verdict)


def _plain(path: Path) -> pd.DataFrame:
    """Rows of the probability of words, as the prompt is."""
    table = pd.read_parquet(path)
    return table[(table["prompt_format"] == PLAIN) & (table["readout"] == TOKEN)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument(
        "--ask", action="store_true", help="Ask about persons with things that are no words, too."
    )
    args = parser.parse_args()
    with open_benchmark(f"benchmarks/framing-{NAME}") as benchmark:
        plan = FramingPlan.read(benchmark.plan)
        distributions = _plain(args.result / "distributions.parquet")
        exclusions = _plain(args.result / "exclusions.parquet")
        print_head(
            *("headline", "what was dealt", "points"),
            *("beyond placebos [95%]", "verdict", "without bars"),
        )
        print_deals(Measured(distributions, exclusions, plan))
        print_off_construct(pd.read_parquet(args.result / "forms.parquet"), benchmark, plan)
        if not args.ask:
            return
        nonsense = without_sense(MODEL, benchmark, benchmark.plan)
        for name in plan.headlines:
            is_asked = name.partition(", ")[2] in set(nonsense.distributions["task"])
            if is_asked and "instruction" not in name:
                print_headline(name, "nonsense for looks", nonsense)


if __name__ == "__main__":
    main()

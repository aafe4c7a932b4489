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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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

NAME, PLAIN = "gender", "plain"

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
    asked: FramingPlan

    @classmethod
    def of(
        cls,
        forms: pd.DataFrame,
        benchmark: Benchmark,
        asked: FramingPlan,
        outcomes: Mapping[str, list[str]],
    ) -> "Measured":
        """From answers, with classes of its own."""
        prompts, free = (
            benchmark.tables["prompts"].assign(benchmark=NAME),
            benchmark.tables["content-free"],
        )
        found = token_distributions(
            forms, prompts, free if asked.calibrated else None, outcomes, asked.mass
        )
        return cls(found, compute_exclusions(found, asked.least_coverage), asked)

    def told(self, name: str) -> Figure:
        """One headline with its verdict, as a user gets it."""
        rows = self.distributions, self.exclusions
        asked = self.asked.model_copy(update={"confirmatory": [name]})
        figure, fitness, *_ = next(part_headlines(*rows, asked))
        return judge([(figure, fitness)])[0]

    def changes(self, name: str) -> pd.DataFrame:
        """[placebo x stimulus, classes] points by which the cue of a headline (0 and below) and its
        placebos move."""
        factor, _, task = name.partition(", ")
        found = changes_of(self.distributions[self.distributions["task"] == task], self.asked)
        return over_tasks(found[found["factor"] == factor])

    def unbarred(
        self, name: str, changes: pd.DataFrame, numbers: Mapping[int, int] | None = None
    ) -> Figure:
        """What p would say by itself.

        Args:
            name: Of the headline.
            changes: By `changes`.
            numbers: By number of a wording or placebo: whose place it takes.
        """
        if numbers is not None:
            own = changes.reset_index()
            own = own[own["placebo"].isin(list(numbers))]
            changes = own.assign(placebo=own["placebo"].map(numbers)).set_index(
                ["placebo", "stimulus"]
            )
        points = changes.reset_index().pivot(
            index="stimulus", columns="placebo", values=self.asked.headline
        )
        figure = headline_from_points(
            name, points, self.asked.smallest, self.asked.least, self.asked.seed
        )
        return judge(
            [(figure if figure.p is None else replace(figure, lacking=None), ValidityCheck())]
        )[0]


def deals(
    wordings: Sequence[int], placebos: Sequence[int], draws: int
) -> dict[str, list[dict[int, int]]]:
    """Who plays the three wordings, by what is drawn from; all others play placebos."""
    random = np.random.default_rng(0)

    def deal(chosen: Sequence[int], left: Sequence[int]) -> dict[int, int]:
        return dict(zip(chosen, PLACES, strict=True)) | {
            number: n for n, number in enumerate(left, start=1)
        }

    threes = [
        (three, [n for n in placebos if n not in three])
        for three in itertools.combinations(placebos, 3)
    ]
    every, mixed = [*wordings, *placebos], []
    for _ in range(draws):
        order = [every[place] for place in random.permutation(len(every))]
        mixed.append(deal(order[:3], order[3:]))
    return {
        f"3 of 12 placebos as the cue, {len(threes)} ways": [deal(*three) for three in threes],
        f"cue and placebos mixed at random, {draws} times": mixed,
    }


def rows(measured: Measured, draws: int) -> Iterator[str]:
    """Lines of the table, of every headline."""
    for name in measured.asked.confirmatory:
        changes = measured.changes(name)
        yield _row(name, "as it is", measured)
        numbers = sorted(set(changes.index.get_level_values("placebo")), reverse=True)
        placebos = [number for number in numbers if number > 0]
        wordings = [number for number in numbers if number <= 0]
        if len(wordings) < len(PLACES):
            continue
        for what, ways in deals(wordings, placebos, draws).items():
            told = [measured.unbarred(name, changes, way) for way in ways]
            null = np.mean([each.p is not None and each.p < 0.05 for each in told])
            spread = np.std([each.value for each in told if each.value is not None])
            counts = dict(Counter(str(each.verdict) for each in told))
            yield f"| {name} | {what} | SD {spread:.1f} | p0 < .05 in {null:.2f} | | {counts} |"


def off_construct(forms: pd.DataFrame, benchmark: Benchmark, asked: FramingPlan) -> Iterator[str]:
    """Lines of classes that are no matter of the construct."""
    for name in asked.confirmatory:
        outcomes = FILLERS.get(name.partition(", ")[2], CASES)
        for answer in outcomes:
            other = asked.model_copy(update={"headline": answer})
            found = Measured.of(forms, benchmark, other, outcomes)
            yield _row(name, f"share of `{answer}`", found)


def without_sense(model: str, benchmark: Benchmark, plan: Mapping[str, object]) -> Measured:
    """The same tasks asked of persons with what is no word."""
    tables = dict(benchmark.tables)
    stimuli = dict(zip(FramingPlan.read(plan).stimuli, NONSENSE, strict=False))
    texts = dict(zip(tables["stimuli"]["stimulus"], tables["stimuli"]["text"], strict=True))
    prompts = tables["prompts"]
    prompts = prompts[
        prompts["stimulus"].isin(stimuli) & prompts["task"].isin(["completion", "multiple-choice"])
    ]
    numbered = prompts["framing"].map(lambda framing: "instruction~" in framing)
    prompts = prompts[~numbered]
    new = [
        text.replace(texts[stimulus], stimuli[stimulus])
        for text, stimulus in zip(prompts["prompt"], prompts["stimulus"], strict=True)
    ]
    tables["prompts"] = prompts.assign(prompt=new, id=prompts["id"] + "-nonsense")
    known = tables["stimuli"][tables["stimuli"]["stimulus"].isin(stimuli)]
    tables["stimuli"] = known.assign(text=known["stimulus"].map(stimuli))
    own = {**plan, "stimuli": list(stimuli), "generations": 0}
    subject = model_meta_of(model, ParamsFile().catalogue)
    answers = collect_answers(
        {NAME: (tables, own)},
        asking.requests,
        subject,
        AnsweringModels(load(model), tool_loader([], Path("."))),
    )
    nothing = pd.DataFrame(columns=asking.ANSWERS["replies"].names)
    scores = asking.scores(tables, own, {"forms": answers["forms"], "replies": nothing}, subject)
    asked = FramingPlan.read(own)
    return Measured.of(scores["forms"], replace(benchmark, tables=tables), asked, asked.forms)


def _row(name: str, what: str, measured: Measured) -> str:
    told, unbarred = measured.told(name), measured.unbarred(name, measured.changes(name))
    low, high = getattr(unbarred, "specific_low", None), getattr(unbarred, "specific_high", None)
    beyond = "" if low is None or high is None else f"[{low:.1f}, {high:.1f}]"
    value = "" if unbarred.value is None else f"{unbarred.value:.1f}"
    return f"| {name} | {what} | {value} | {beyond} | {told.verdict} | {unbarred.verdict} |"


def _plain(path: Path) -> pd.DataFrame:
    """Rows of the probability of words, as the prompt is."""
    table = pd.read_parquet(path)
    return table[(table["configuration"] == PLAIN) & (table["metric"] == TOKEN)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument(
        "--ask", action="store_true", help="Ask about persons with things that are no words, too."
    )
    args = parser.parse_args()
    with open_benchmark(f"benchmarks/framing-{NAME}") as benchmark:
        asked = FramingPlan.read(benchmark.plan)
        shares, covered = (
            _plain(args.result / f"{name}.parquet") for name in ("distributions", "exclusions")
        )
        forms = pd.read_parquet(args.result / "forms.parquet")
        print(
            "| headline | what was dealt | points | beyond placebos [95%] | verdict | without bars "
            "|"
        )
        print("| --- | --- | --- | --- | --- | --- |")
        lines = [
            rows(Measured(shares, covered, asked), args.draws),
            off_construct(forms, benchmark, asked),
        ]
        for line in itertools.chain(*lines):
            print(line, flush=True)
        if args.ask:
            other = without_sense(args.model, benchmark, benchmark.plan)
            for name in asked.confirmatory:
                if (
                    name.partition(", ")[2] in set(other.distributions["task"])
                    and "instruction" not in name
                ):
                    print(_row(name, "nonsense for looks", other), flush=True)


if __name__ == "__main__":
    main()

"""Hostile nulls of SAGED, on real models: what the headlines say of invented names, and of labels
dealt at random.

Run by hand, in a repository: `python -m tests.performance.hostile_saged --result FOLDER`. The
folder is what `evenruler measure` wrote of `saged-countries` at the size `standard`; nothing is
asked. All goes through the family's `confirmed`, which calls `judge`, with fewer shuffles than it
ships with; a draw is counted as `effect` where any of its headlines is, as they are corrected
together.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.instrument import Plan
from evenruler.instruments.saged.ask import features_of
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose import headlines
from evenruler.instruments.saged.diagnose.group_statistics import arrange_scores
from evenruler.instruments.saged.diagnose.headlines import judge_headlines, silence_of
from evenruler.instruments.saged.diagnose.quality import unmeasured_reason
from evenruler.tables.schemas import BARE

SHUFFLES = 300
"""Of labels, a headline: enough for .05 over five headlines."""

COPY = "-once-more"
"""After the name of a country that is there twice."""


@dataclass(frozen=True)
class Replies:
    """What one model said, by the family's tables."""

    features: pd.DataFrame
    generations: pd.DataFrame
    prompts: pd.DataFrame
    plan: Plan

    @classmethod
    def read(cls, folder: Path, prompts: pd.DataFrame, plan: Plan) -> "Replies":
        """Bare replies and their confirmatory features."""
        features, generations = (
            pd.read_parquet(folder / f"{name}.parquet") for name in ("features", "generations")
        )
        kept = features["feature"].isin(plan["confirmatory"]) & (features["framing"] == BARE)
        asked = prompts["id"].isin(generations["id"])
        return cls(
            features[kept], generations[generations["framing"] == BARE], prompts[asked], plan
        )

    @property
    def controls(self) -> list[str]:
        """The invented names that were asked about."""
        return sorted(set(self.plan["controls"]) & set(self.prompts["concept"]))

    @property
    def countries(self) -> list[str]:
        """The real ones."""
        return sorted(set(self.prompts["concept"]) - set(self.controls))

    def renamed(self, concepts: pd.Series) -> "Replies":
        """The same replies, each about another concept."""
        return Replies(
            self.features, self.generations, self.prompts.assign(concept=concepts), self.plan
        )

    def only(self, concepts: Sequence[str]) -> "Replies":
        """Those about some concepts."""
        prompts = self.prompts[self.prompts["concept"].isin(list(concepts))]
        features, generations = (
            table[table["id"].isin(prompts["id"])] for table in (self.features, self.generations)
        )
        return Replies(features, generations, prompts, self.plan)

    def doubled(self, concept: str) -> "Replies":
        """One concept there twice, under another name."""
        own = self.only([concept])
        prompts = own.prompts.assign(concept=concept + COPY)
        features, generations, prompts = (
            pd.concat([before, again.assign(id=again["id"].astype(str) + COPY)], ignore_index=True)
            for before, again in (
                (self.features, own.features),
                (self.generations, own.generations),
                (self.prompts, prompts),
            )
        )
        return Replies(features, generations, prompts, self.plan)

    def told(self, controls: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
        """Headlines with their verdicts, and who is named in any."""
        declared = features_of(self.plan)
        settings = Disparities.model_validate(
            {**self.plan["disparities"], "headline_permutations": SHUFFLES}
        )
        figures, favour, _ = judge_headlines(
            arrange_scores("countries", self.features, self.prompts),
            silence_of(self.generations, self.prompts),
            {name: declared[name] for name in self.plan["confirmatory"]},
            controls,
            settings,
            seed=0,
            unmeasured=unmeasured_reason(self.generations),
        )
        return figures, sorted(set(favour.loc[favour["named"].isin(["more", "less"]), "concept"]))


def rows(replies: Replies, draws: int) -> Iterator[str]:
    """Lines of the table."""
    real, invented, random = replies.countries, replies.controls, np.random.default_rng(0)
    every = [*real, *invented]
    yield _row("as it is", *replies.told(invented))
    yield _row(
        f"{len(invented)} invented names as countries, beside {len(real)} countries",
        *replies.told(real),
    )
    yield _row("invented names alone", *replies.only(invented).told([]))

    def shuffled() -> tuple[pd.DataFrame, list[str]]:
        prompts = replies.prompts.reset_index(drop=True)
        dealt = {
            root: random.permutation(sorted(set(own)))
            for root, own in prompts.groupby("root_id")["concept"]
        }
        olds = {root: dict(zip(sorted(own), own, strict=True)) for root, own in dealt.items()}
        new = [
            olds[root][concept]
            for root, concept in zip(prompts["root_id"], prompts["concept"], strict=True)
        ]
        return replies.renamed(pd.Series(new, index=replies.prompts.index)).told(invented)

    def halved() -> tuple[pd.DataFrame, list[str]]:
        order = [invented[place] for place in random.permutation(len(invented))]
        with patch.object(headlines, "FEWEST_INVENTED", len(order) // 2):
            return replies.only(invented).told(order[: len(order) // 2])

    def mixed() -> tuple[pd.DataFrame, list[str]]:
        return replies.told(
            [every[place] for place in random.permutation(len(every))[: len(invented)]]
        )

    ways: dict[str, Callable[[], tuple[pd.DataFrame, list[str]]]] = {
        "labels of concepts shuffled within root items": shuffled,
        "six invented names as countries, beside the other six": halved,
        "who is invented dealt anew among all concepts": mixed,
    }
    for what, way in ways.items():
        yield _counted(f"{what}, {draws} times", [way() for _ in range(draws)])
    yield _counted(
        f"one country there twice, {len(real)} ways",
        [replies.doubled(one).told(invented) for one in real],
    )


def _row(what: str, figures: pd.DataFrame, named: Sequence[str]) -> str:
    told = []
    for row in figures.to_dict("records"):
        feature = f", {row['part'].split(', ')[1]}" if ", " in row["part"] else ""
        told.append(
            f"{row['figure']}{feature}: {row['verdict']} ({row['value']:.2g}, p0 {row['p']:.3f})"
        )
    return f"| {what} | {'; '.join(told)} | {', '.join(named) or 'nobody'} |"


def _counted(what: str, told: Sequence[tuple[pd.DataFrame, Sequence[str]]]) -> str:
    def of(verdict: str) -> float:
        return float(np.mean([(figures["verdict"] == verdict).any() for figures, _ in told]))

    by_figure = Counter(
        f"{row['figure']}: {row['verdict']}"
        for figures, _ in told
        for row in figures.to_dict("records")
    )
    least = np.mean([(figures["p"].min() < 0.05 / len(figures)) for figures, _ in told])
    shares = (
        f"any `effect` {of('effect'):.3f}, any `not specific` {of('not specific'):.3f}, p0 "
        f"alone {least:.3f}"
    )
    names = np.mean([bool(named) for _, named in told])
    return f"| {what} | {shares}; {dict(sorted(by_figure.items()))} | anybody in {names:.3f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=200)
    args = parser.parse_args()
    with open_benchmark("benchmarks/saged-countries") as benchmark:
        replies = Replies.read(args.result, benchmark.tables["prompts"], benchmark.plan)
        print("| who plays countries, and invented names | headlines | named |")
        print("| --- | --- | --- |")
        for line in rows(replies, args.draws):
            print(line, flush=True)


if __name__ == "__main__":
    main()

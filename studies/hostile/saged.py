"""Hostile nulls of SAGED, on real models: what the headline says of known names, and of labels
randomised.

The folder is what `evenruler measure` wrote of `saged-countries` at the size `standard`; nothing is
asked. All goes through the family's `judge_favour`, with fewer randomisations than it ships with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import typer

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.saged.declare.plan import SagedPlan
from evenruler.instruments.saged.diagnose.group_statistics import arrange_scores
from evenruler.instruments.saged.diagnose.headlines import judge_favour, silence_of
from evenruler.instruments.saged.diagnose.quality import unmeasured_reason
from evenruler.tables.schemas import BARE
from studies.planted.saged import fewer_randomisations
from studies.tables import print_head, print_row

Judged = tuple[pd.Series, list[str]]
"""The headline, and who is named."""


@dataclass(frozen=True)
class Replies:
    """What one model said, by the family's tables."""

    features: pd.DataFrame
    generations: pd.DataFrame
    prompts: pd.DataFrame
    plan: SagedPlan

    @classmethod
    def read(cls, folder: Path, prompts: pd.DataFrame, plan: SagedPlan) -> "Replies":
        """Bare replies and the feature of the headline."""
        features = pd.read_parquet(folder / "features.parquet")
        generations = pd.read_parquet(folder / "generations.parquet")
        prompts = prompts[prompts["id"].isin(generations["id"])]
        features = features[features["feature"] == plan["headline_features"][0]]
        features, generations = (
            table[table["framing"] == BARE] for table in (features, generations)
        )
        return cls(features, generations, prompts, plan)

    def judge_concepts(
        self, concepts: Sequence[str], reference: Sequence[str], declared: str | None = None
    ) -> Judged:
        """The headline, with these concepts and known names."""
        plan = self.plan.copy()
        plan["concepts"], plan["reference"] = list(concepts), list(reference)
        plan["concept"] = declared
        unmeasured = unmeasured_reason(self.generations)
        with fewer_randomisations():
            figures, favour, _ = judge_favour(
                arrange_scores("countries", self.features, self.prompts),
                None,
                silence_of(self.generations, self.prompts),
                plan,
                seed=0,
                unmeasured=unmeasured,
            )
        headline = figures[figures["bound"].notna()].iloc[0]
        is_named = favour["named"].isin(["more", "less"])
        return headline, sorted(set(favour.loc[is_named, "concept"]))


def print_rows(replies: Replies, draws: int) -> None:
    """Print the lines of the table."""
    concepts, reference = replies.plan["concepts"], replies.plan["reference"]
    random = np.random.default_rng(0)
    print_headline("as it is", *replies.judge_concepts(concepts, reference))
    print_headline("known names as concepts", *replies.judge_concepts(reference, []))

    def shuffle_names(names: "pd.Series[str]") -> "pd.Series[str]":
        distinct = sorted(set(names))
        return names.map(dict(zip(distinct, random.permutation(distinct), strict=True)))

    def judge_randomised() -> Judged:
        shuffled = replies.prompts.groupby("root_id")["concept"].transform(shuffle_names)
        randomised = replace(replies, prompts=replies.prompts.assign(concept=shuffled))
        return randomised.judge_concepts(concepts, reference)

    def judge_known_name() -> Judged:
        declared, *remaining = random.permutation(reference).tolist()
        return replies.judge_concepts([declared, *concepts], remaining, declared)

    ways: dict[str, Callable[[], Judged]] = {
        "labels of concepts randomised within root items": judge_randomised,
        "a known name declared, ranked among the others": judge_known_name,
    }
    for what, judge_draw in ways.items():
        judged = [judge_draw() for _ in range(draws)]
        print_counts(f"{what}, {draws} times", judged)


def print_headline(what: str, headline: pd.Series, named: Sequence[str]) -> None:
    """Print a headline with its verdict."""
    numbers = f"{headline['value']:.2g}, p {headline['p']:.3f}"
    says = f"{headline['verdict']} ({numbers})"
    print_row(what, says, ", ".join(named) or "nobody")


def print_counts(what: str, draws: Sequence[Judged]) -> None:
    """Print how often which verdict is given, and anybody is named."""
    verdicts = pd.Series([headline["verdict"] for headline, _ in draws])
    shares = verdicts.value_counts(normalize=True).round(3).to_dict()
    n_naming = sum(bool(named) for _, named in draws)
    naming = n_naming / len(draws)
    print_row(what, str(shares), f"anybody in {naming:.3f}")


def main(result: Path, draws: int = 100) -> None:
    """Print the table of a result, of so many draws a row."""
    with open_benchmark("benchmarks/saged-countries") as benchmark:
        plan = cast(SagedPlan, benchmark.plan)
        replies = Replies.read(result, benchmark.tables["prompts"], plan)
        print_head("who plays countries", "headline", "named")
        print_rows(replies, draws)


if __name__ == "__main__":
    typer.run(main)

"""Hostile nulls of SAGED, on real models: what the headlines say of invented names, and of labels
dealt at random.

The folder is what `evenruler measure` wrote of `saged-countries` at the size `standard`; nothing is
asked. All goes through the family's `judge_headlines`, with fewer shuffles than it ships with; a
draw is counted as `effect` where any of its headlines is, as they are corrected together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import typer

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.instruments.instrument import Plan
from evenruler.instruments.saged.ask import features_of
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose import headlines
from evenruler.instruments.saged.diagnose.group_statistics import arrange_scores
from evenruler.instruments.saged.diagnose.headlines import judge_headlines, silence_of
from evenruler.instruments.saged.diagnose.quality import unmeasured_reason
from evenruler.tables.schemas import BARE
from studies.tables import print_head, print_row

SHUFFLES = 300
"""Of labels, a headline: enough for .05 over five headlines."""

Judged = tuple[pd.DataFrame, list[str]]
"""Headlines with their verdicts, and who is named in any."""


@dataclass(frozen=True)
class Replies:
    """What one model said, by the family's tables."""

    features: pd.DataFrame
    generations: pd.DataFrame
    prompts: pd.DataFrame
    plan: Plan

    @classmethod
    def read(cls, folder: Path, prompts: pd.DataFrame, plan: Plan) -> "Replies":
        """Bare replies and the features of headlines."""
        features = pd.read_parquet(folder / "features.parquet")
        generations = pd.read_parquet(folder / "generations.parquet")
        prompts = prompts[prompts["id"].isin(generations["id"])]
        features = features[features["feature"].isin(plan["headline_features"])]
        features, generations = (
            table[table["framing"] == BARE] for table in (features, generations)
        )
        return cls(features, generations, prompts, plan)

    @property
    def controls(self) -> list[str]:
        """The invented names that were asked about."""
        return sorted(set(self.plan["controls"]) & set(self.prompts["concept"]))

    @property
    def countries(self) -> list[str]:
        """The real ones."""
        return sorted(set(self.prompts["concept"]) - set(self.controls))

    def select_concepts(self, concepts: Sequence[str]) -> "Replies":
        """Those about some concepts."""
        prompts = self.prompts[self.prompts["concept"].isin(list(concepts))]
        features, generations = (
            table[table["id"].isin(prompts["id"])] for table in (self.features, self.generations)
        )
        return Replies(features, generations, prompts, self.plan)

    def judge_concepts(self, controls: Sequence[str]) -> Judged:
        """Headlines with their verdicts, and who is named in any."""
        declared = features_of(self.plan)
        settings = Disparities.model_validate(
            {**self.plan["disparities"], "headline_permutations": SHUFFLES}
        )
        figures, favour, _ = judge_headlines(
            arrange_scores("countries", self.features, self.prompts),
            silence_of(self.generations, self.prompts),
            {name: declared[name] for name in self.plan["headline_features"]},
            controls,
            settings,
            seed=0,
            unmeasured=unmeasured_reason(self.generations),
        )
        return figures, sorted(set(favour.loc[favour["named"].isin(["more", "less"]), "concept"]))


def print_rows(replies: Replies, draws: int) -> None:
    """Print the lines of the table."""
    real, invented, random = replies.countries, replies.controls, np.random.default_rng(0)
    print_figures("as it is", *replies.judge_concepts(invented))
    exchanged = f"{len(invented)} invented names as countries, beside {len(real)} countries"
    print_figures(exchanged, *replies.judge_concepts(real))
    print_figures("invented names alone", *replies.select_concepts(invented).judge_concepts([]))

    def shuffle_names(concepts: "pd.Series[str]") -> "pd.Series[str]":
        names = sorted(set(concepts))
        return concepts.map(
            dict(
                zip(
                    names,
                    random.permutation(names),
                    strict=True,
                )
            )
        )

    def judge_shuffled() -> Judged:
        concepts = replies.prompts.groupby("root_id")["concept"].transform(shuffle_names)
        shuffled = replace(replies, prompts=replies.prompts.assign(concept=concepts))
        return shuffled.judge_concepts(invented)

    def judge_halves() -> Judged:
        order = random.permutation(invented).tolist()
        n_half = len(order) // 2
        with patch.object(headlines, "FEWEST_INVENTED", n_half):
            return replies.select_concepts(invented).judge_concepts(order[:n_half])

    def judge_mixed() -> Judged:
        order = random.permutation([*real, *invented]).tolist()
        return replies.judge_concepts(order[: len(invented)])

    ways: dict[str, Callable[[], Judged]] = {
        "labels of concepts shuffled within root items": judge_shuffled,
        "six invented names as countries, beside the other six": judge_halves,
        "who is invented dealt anew among all concepts": judge_mixed,
    }
    for what, judge_draw in ways.items():
        print_counts(
            f"{what}, {draws} times",
            [judge_draw() for _ in range(draws)],
        )


def print_figures(what: str, figures: pd.DataFrame, named: Sequence[str]) -> None:
    """Print headlines with their verdicts."""
    lines = []
    for row in figures.to_dict("records"):
        feature = f", {row['feature']}" if isinstance(row["feature"], str) else ""
        numbers = f"{row['value']:.2g}, p0 {row['p']:.3f}"
        lines.append(f"{row['figure']}{feature}: {row['verdict']} ({numbers})")
    print_row(
        what,
        "; ".join(lines),
        ", ".join(named) or "nobody",
    )


def print_counts(what: str, draws: Sequence[Judged]) -> None:
    """Print how often which verdict is given, and anybody is named."""
    by_draw = pd.concat({number: figures for number, (figures, _) in enumerate(draws)})
    verdicts = by_draw["verdict"]

    def share_with(verdict: str) -> float:
        return (verdicts == verdict).groupby(level=0).any().mean()

    least = by_draw["p"].groupby(level=0).min()
    n_figures = verdicts.groupby(level=0).size()
    counts = (by_draw["figure"] + ": " + verdicts.astype(str)).value_counts()
    shares = (
        f"any `effect` {share_with('effect'):.3f}, any `not specific` "
        f"{share_with('not specific'):.3f}, p0 alone {(least < 0.05 / n_figures).mean():.3f}"
    )
    n_naming = sum(bool(named) for _, named in draws)
    by_figure = counts.sort_index().to_dict()
    print_row(
        what,
        f"{shares}; {by_figure}",
        f"anybody in {n_naming / len(draws):.3f}",
    )


def main(result: Path, draws: int = 100) -> None:
    """Print the table of a result, of so many deals a row."""
    with open_benchmark("benchmarks/saged-countries") as benchmark:
        replies = Replies.read(result, benchmark.tables["prompts"], benchmark.plan)
        print_head("who plays countries, and invented names", "headlines", "named")
        print_rows(replies, draws)


if __name__ == "__main__":
    typer.run(main)

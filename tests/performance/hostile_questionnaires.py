"""Hostile nulls of questionnaires, on real models: what the headline says of twins, of strangers, of labels at random.

Run by hand, in a repository: `python -m tests.performance.hostile_questionnaires`. The shipped scales have one wording
and one twin an item, so that none of them may have a verdict. Here GAD-7 has what a verdict takes: three time frames
are its wordings, and each item has three twins about other things. The three fits are asked some 4,700 pairs each, of
which a second run asks none. All goes through `beyond`, `tells_apart` and `judge`, as a shipped scale would.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.declared import Declared
from evenruler.evaluate.benchmark import Benchmark, benchmark_at
from evenruler.instruments.asking import subject_of
from evenruler.instruments.instrument import Record, Subject
from evenruler.instruments.questionnaires.ask.item_scores import Scoring, cells_of
from evenruler.instruments.questionnaires.ask.questions import LOGITS
from evenruler.instruments.questionnaires.diagnose.headlines import beyond, tells_apart
from evenruler.measurement.figures import Confirmed
from evenruler.measurement.verdicts import Fitness, judge
from evenruler.models import load

Floats = NDArray[np.float64]

FITS = ["mpnet-nli-a", "mpnet-nli-b", "mpnet-nli-c"]
FORM, NAME = "head", "gad-7"
OTHERS = ["phq-9", "soc-13", "ipip-extraversion"]
"""Scales with as many items at least, whose twins stand in the place of those of GAD-7."""

TIMES = ["Over the last two weeks", "During the past fortnight", "In the last fourteen days"]
"""Wordings: of items and of twins alike."""

THINGS = {
    "the weather": ["the sea", "the sky"],
    "the pumping station": ["the old dam", "the storm drain"],
    "the buses": ["the trains", "the ferries"],
    "the door": ["the window", "the drawer"],
    "the boat": ["the raft", "the ladder"],
    "the old bridge": ["the old roof", "the old fence"],
    "the harbour": ["the island", "the orchard"],
}
"""What else the twins may be about."""

UNCLE = {
    r"\bI have\b": "my uncle has",
    r"^I (.+) (feel|react) ": r"He \1 \2s ",
    r"^I am\b": "He is",
    "how I feel": "how he feels",
}
"""From the first person to somebody else."""

ITEM, STRANGER = "item", "uncle"
THING = ("thing 0", "thing 1", "thing 2")
"""Whose state is asked for."""

Deal = Callable[[np.random.Generator], "Dealt"]


def spoken() -> pd.DataFrame:
    """Everything that is asked, by `who` and `time`: items, items about an uncle, and three twins."""
    prompts = benchmark_at_once(NAME).tables["prompts"]
    items, twins = prompts[~prompts["twin"].astype(bool)], prompts[prompts["twin"].astype(bool)]
    found = [items.assign(who=ITEM)]
    uncles = {column: items[column].replace(UNCLE, regex=True) for column in ("premise", "hypothesis")}
    found.append(items.assign(who=STRANGER, **uncles))
    for place, who in enumerate(THING):
        other = {shipped: more[place - 1] for shipped, more in THINGS.items()} if place else {}
        found.append(twins.assign(who=who, premise=twins["premise"].replace(other, regex=True)))
    whole = pd.concat(found)
    every = [whole.assign(time=time, premise=whole["premise"].str.replace(TIMES[0], time)) for time in TIMES]
    rows = pd.concat(every, ignore_index=True)
    return rows.assign(id=rows["who"] + rows["time"] + rows["id"])


def benchmark_at_once(name: str) -> Benchmark:
    """A published scale."""
    with benchmark_at(f"benchmarks/questionnaires-{name}") as found:
        return found


def cells(fit: Subject, prompts: pd.DataFrame) -> pd.DataFrame:
    """What a fit answers, by `schemas.CELLS`, with `who` and `time`."""
    pairs = list(zip(prompts["premise"], prompts["hypothesis"], strict=True))
    logits = load(fit.name).entailment(pairs)
    subject = {"model": fit.name, "lineage": fit.lineage, "kind": "nli", "configuration": FORM, "framing": "bare"}
    asked = prompts[["id"]].assign(**subject)
    found = []
    answers = pd.concat([asked.assign(measure=label, value=logits[:, n]) for n, label in enumerate(LOGITS)])
    for key, own in prompts.groupby(["who", "time"]):
        who, time = map(str, key)
        scores = answers[answers["id"].isin(own["id"])]
        found.append(cells_of(own, scores, Scoring()).assign(who=who, time=time))
    return pd.concat(found, ignore_index=True)


Dealt = tuple[Sequence[pd.DataFrame], Sequence[pd.DataFrame]]
"""Cells of each fit in the place of items, with their wordings as `time`, and of twins."""


class Scale:
    """A scale of which all may be exchanged: who is asked about, which terms count as source."""

    def __init__(self, fits: Sequence[Subject], benchmark: Benchmark, found: Sequence[pd.DataFrame]) -> None:
        """Name fits, scale, and `cells` of each fit."""
        self._fits, self._benchmark, self.found = fits, benchmark, list(found)
        items = benchmark.tables["items"]
        self._items = items[~items["twin"].astype(bool)].drop_duplicates("item")
        self.items = sorted(self._items["item"])

    def judged(self, dealt: Dealt) -> Confirmed:
        """The headline figure with its verdict."""
        own, twins = (np.stack([self._points(each) for each in side]) for side in dealt)
        columns = self._items[["item", "keying"]]
        tables, plan = self._benchmark.tables, self._benchmark.plan
        records = [
            Record(NAME, fit, tables, plan, {"cells": each, "items": columns})
            for fit, each in zip(self._fits, dealt[0], strict=True)
        ]
        figure = beyond(own, twins, tells_apart(records, FORM), plan["smallest"], plan["least"])
        told = judge([(figure, Fitness())])[0]
        assert isinstance(told, Confirmed)
        return told

    def _points(self, found: pd.DataFrame) -> Floats:
        """[items, wordings] points of the scale, keyed."""
        source = found[found["polarity"] == "source"]
        value = (source["pss"] * source["weight"]).groupby([source["item"], source["who"] + source["time"]]).mean()
        table = pd.DataFrame(
            [value[item].to_numpy() for item in self.items], index=self.items, dtype=float
        )  # an item may be about another thing than the next
        keying = self._items.set_index("item")["keying"]
        points: Floats = table.mul(keying[table.index], axis=0).to_numpy() * found["intensifier"].nunique()
        return points

    def of(self, chosen: Mapping[str, Sequence[tuple[str, str]]]) -> list[pd.DataFrame]:
        """Cells of each fit of what is asked about each item, by `who` and `time`."""
        keys = [(item, *each) for item, own in chosen.items() for each in own]
        index = pd.MultiIndex.from_tuples(keys)
        return [own[pd.MultiIndex.from_frame(own[["item", "who", "time"]]).isin(index)] for own in self.found]

    def every(self, who: Sequence[str], times: Sequence[str]) -> list[pd.DataFrame]:
        """The same of every item."""
        return self.of({item: [(each, time) for each in who for time in times] for item in self.items})


def relabelled(found: Sequence[pd.DataFrame], random: np.random.Generator, whole: bool) -> list[pd.DataFrame]:
    """Source and inverse dealt anew within items, one deal for all fits; `whole`: both change places, or stay."""
    terms = found[0].drop_duplicates(["item", "term"])[["item", "term", "polarity"]].sort_values(["item", "term"])
    told: dict[tuple[str, str], str] = {}
    for item, own in terms.groupby("item"):
        labels = own["polarity"].to_numpy(dtype=object)
        if whole:
            labels = np.where(labels == "source", "inverse", "source") if random.random() < 0.5 else labels
        else:
            labels = random.permutation(labels)
        told |= {(str(item), term): str(label) for term, label in zip(own["term"], labels, strict=True)}
    return [own.assign(polarity=[told[key] for key in zip(own["item"], own["term"], strict=True)]) for own in found]


def things_as_items(scale: Scale, random: np.random.Generator) -> Dealt:
    """One thing of each item plays the item in three time frames; three of the six others are its twins."""
    items, twins = {}, {}
    for item in scale.items:
        one, *others = (THING[place] for place in random.permutation(3))
        left = [(who, time) for who in others for time in TIMES]
        items[item] = [(one, time) for time in TIMES]
        twins[item] = [left[place] for place in random.permutation(len(left))[:3]]
    return scale.of(items), scale.of(twins)


def rows(draws: int) -> Iterator[str]:
    """Lines of the table."""
    catalogue = Declared().catalogue
    fits = [subject_of(name, catalogue) for name in FITS]
    asked = spoken()
    scale = Scale(fits, benchmark_at_once(NAME), [cells(fit, asked) for fit in fits])
    items, twins = scale.every([ITEM], TIMES), scale.every(THING, TIMES[:1])
    stranger, random = scale.every([STRANGER], TIMES), np.random.default_rng(0)
    yield _row("GAD-7 beside its twins, as it is meant", scale.judged((items, twins)))
    yield _row("an uncle in the place of the first person", scale.judged((stranger, twins)))
    yield _row("GAD-7 beside the same about an uncle", scale.judged((items, stranger)))
    other = [_beside(fit, scale.items) for fit in fits]
    for kind in ("twins", "items"):
        own = [each[each["who"] == kind] for each in other]
        yield _row(f"GAD-7 beside {kind} of {', '.join(OTHERS)}", scale.judged((items, own)))
    deals: dict[str, Callable[[], Dealt]] = {
        "one of three twins in the place of the item": lambda: things_as_items(scale, random),
        "source and inverse terms dealt anew within items": lambda: (relabelled(items, random, False), twins),
        "the same, in twins, too": lambda: (relabelled(items, random, False), relabelled(twins, random, False)),
        "source and inverse terms swapped, or not, item by item": lambda: (relabelled(items, random, True), twins),
        "the same, in twins, too, each by itself": lambda: (
            relabelled(items, random, True),
            relabelled(twins, random, True),
        ),
    }
    for what, deal in deals.items():
        told = [scale.judged(deal()) for _ in range(draws)]
        values = np.array([each.value for each in told], dtype=float)
        p = np.mean([each.p is not None and each.p < 0.05 for each in told])
        counts = dict(Counter(str(each.verdict) for each in told))
        yield f"| {what}, {draws} times | SD {values.std():.2f} | | p0 < .05 in {p:.3f} | {counts} |"


def _beside(fit: Subject, items: Sequence[str]) -> pd.DataFrame:
    """Items and twins of other scales, in the place of the items of this one; three scales are three twins."""
    found = []
    for name in OTHERS:
        benchmark = benchmark_at_once(name)
        prompts, keyed = benchmark.tables["prompts"], benchmark.tables["items"].set_index("item")["keying"]
        prompts = prompts[prompts["item"].isin(sorted(set(prompts["item"]))[: len(items)])]
        who = np.where(prompts["twin"].astype(bool), "twins", "items")
        own = cells(fit, prompts.assign(who=who, time=name, id=prompts["id"] + who))
        place = dict(zip(sorted(set(own["item"])), items, strict=True))
        sign = own["item"].map(keyed[~keyed.index.duplicated()])
        found.append(own.assign(weight=own["weight"] * sign, item=own["item"].map(place)))
    return pd.concat(found, ignore_index=True)


def _row(what: str, told: Confirmed) -> str:
    low, high = told.specific_low, told.specific_high
    return f"| {what} | {told.value:.2f} | [{low:.2f}, {high:.2f}] | {told.p:.4f} | {told.verdict} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=200)
    args = parser.parse_args()
    print("| in the place of items, beside twins | points | beyond twins [95%] | p0 | verdict |")
    print("| --- | --- | --- | --- | --- |")
    for line in rows(args.draws):
        print(line, flush=True)


if __name__ == "__main__":
    main()

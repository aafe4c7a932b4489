"""Headline figures, one verdict over all fits of a model: what it answers beyond twins, and how far corpora move it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evenruler.instruments.instrument import Record
from evenruler.instruments.questionnaires.declare import BEYOND
from evenruler.instruments.questionnaires.diagnose.interventions import moved
from evenruler.instruments.questionnaires.diagnose.population import fitness_by_form
from evenruler.instruments.questionnaires.diagnose.quality import recipe_of
from evenruler.measurement.checks import Floats
from evenruler.measurement.facets import Estimate, Paired, Part, summed
from evenruler.measurement.resampling import Interval, sign_flips
from evenruler.measurement.verdicts import Confirmatory, Fitness, judge, p_of
from evenruler.models.declared import named
from evenruler.tables.schemas import WHOLE

UNIT = "items"
"""They are the scale, so that they are fixed; wordings, twins and fits could have been others."""

FEWEST_WORDINGS = FEWEST_TWINS = 3
"""Of an item, below which nothing is asserted."""

Judged = tuple[str, Confirmatory, Fitness]
"""What figures call the model, a headline figure, and whether it was measured with what can measure."""


def headlines(records: Sequence[Record], level: float) -> pd.DataFrame:
    """Every headline figure with its verdict, by `schemas.FIGURES`; of every questionnaire on every model.

    Models that differ in the seed of their fit alone are one (`called_together`).
    """
    groups: dict[tuple[str, tuple[str, ...]], dict[str, Record]] = {}
    for record in records:
        key = (record.instrument, recipe_of(record.subject) or (record.subject.name,))
        groups.setdefault(key, {})[record.subject.name] = record
    rows = []
    for (questionnaire, _), fits in groups.items():
        judged = list(_of_group(list(fits.values()), level))
        found = judge([(figure, fitness) for _, figure, fitness in judged])
        rows += [
            {"benchmark": questionnaire, "part": WHOLE, "model": model, **asdict(figure)}
            for (model, *_), figure in zip(judged, found, strict=True)
        ]
    return pd.DataFrame(rows)


def called_together(names: Sequence[str]) -> str:
    """What fits of one recipe are called: "encoder-a and 2 other fits"; one alone has its own name."""
    first, *others = sorted(names)
    return f"{first} and {len(others)} other fit{'s' * (len(others) > 1)}" if others else first


def _of_group(fits: Sequence[Record], level: float) -> Iterator[Judged]:
    """Of all fits together what they answer beyond twins, of each how far it moves, in each form."""
    by_name = {record.subject.name: record for record in fits}
    label, bar = called_together(list(by_name)), fits[0].plan["accuracy"]["bar"]
    bars = {
        name: fitness_by_form(of.found["accuracy_of_any"], of.subject.forms, bar, of.found["cells"])
        for name, of in by_name.items()
    }
    for form in fits[0].subject.forms:
        answered = [name for name, of in by_name.items() if (of.found["items"]["configuration"] == form).any()]
        if answered:
            # A fit that misses its bar is left out, if another does not.
            counted = [name for name in answered if bars[name][form].unfit is None] or answered
            yield named(label, form), _beyond([by_name[name] for name in counted], form), bars[counted[0]][form]
    for name, of in by_name.items():
        changes, course = of.found["changes"], of.found["course_of_any"]
        for form in sorted({*of.found["trajectories"]["configuration"]} & {*bars[name]}):
            before = bars[name][form]
            for figure, fitness in moved(changes[changes["configuration"] == form], course, of.plan, form, level):
                yield named(name, form), figure, fitness if before.unfit is None else before


def _beyond(fits: Sequence[Record], form: str) -> Confirmatory:
    intensifiers = fits[0].tables["prompts"]["intensifier"].nunique()
    own, twins = (
        pd.concat([_scores(record.found[table], form).rename(i) for i, record in enumerate(fits)], axis=1)
        for table in ("items", "twins")
    )
    both = own.index[own.notna().all(axis=1)].intersection(twins.index[twins.notna().all(axis=1)])
    answers, beside = (table.loc[both].to_numpy(dtype=np.float64).T[..., None] * intensifiers for table in (own, twins))
    plan = fits[0].plan
    return beyond(answers, beside, tells_apart(fits, form), plan["smallest"], plan["least"])


def _scores(table: pd.DataFrame, form: str) -> "pd.Series[float]":
    """[items] of one model and form."""
    return table[table["configuration"] == form].set_index("item")["score"]


def beyond(answers: Floats, twins: Floats, p_null: float, smallest: float, least: int) -> Confirmatory:
    """What is answered beyond twins, in points of the scale, keyed; `smallest`: points worth naming.

    `answers`: [fits, items, wordings]; `twins`: [fits, items, twins]; with fewer than `least` items nothing is said.
    """
    fits, items, wordings = answers.shape
    levels = {UNIT: items, "wordings": wordings, "twins": twins.shape[2], "fits": fits}
    if not items:
        return Confirmatory(BEYOND, UNIT, levels, None, smallest, lacking="no twins of its items")
    few = [f"{items} items, of at least {least}"] if items < least else []
    for n, what, fewest in ((wordings, "wording", FEWEST_WORDINGS), (levels["twins"], "twin", FEWEST_TWINS)):
        few += [f"{n} {what}{'s' * (n > 1)} an item, of at least {fewest}"] if n < fewest else []
    lacking = ", and ".join(few) or None
    if min(wordings, twins.shape[2]) < 2:  # of one, nobody knows how far another would lie
        difference = Interval(float(answers.mean() - twins.mean()), nan, nan)
        return Confirmatory(BEYOND, UNIT, levels, difference, smallest, p_null, lacking=lacking)
    effect, paired = beyond_twins(answers, twins)
    specific = paired.difference
    # Twins are taken off already: beside what is left they would be read as if they were not.
    return Confirmatory(
        BEYOND,
        UNIT,
        levels,
        effect=specific.interval(),
        smallest=smallest,
        p_null=p_null,
        specific=specific.interval(),
        detectable=specific.detectable(),
        p=p_of(effect, p_null, paired, smallest),
        lacking=lacking,
    )


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> Confirmatory:
    """How much more one model answers beyond twins than another, over the items of both, each a single fit.

    `at` of `HEADLINES` numbers wordings and twins.
    """
    both = first.merge(second, on=["unit", "at", "pole"], suffixes=("_first", "_second"), validate="one_to_one")
    both["value"] = both["value_first"] - both["value_second"]
    wide = both.pivot(index="unit", columns=["pole", "at"], values="value").dropna()
    answers, twins = (wide.xs(pole, axis=1).to_numpy(dtype=np.float64) for pole in (1, 0))
    p_null = sign_flips(answers.mean(axis=1) - twins.mean(axis=1), 0)
    return beyond(answers[None], twins[None], p_null, smallest, 2)


def beyond_twins(answers: ArrayLike, twins: ArrayLike) -> tuple[Estimate, Paired]:
    """Answers to items, and the same less those to their twins.

    Args:
        answers: [fits, items, wordings] in points: a step between neighbouring words is 1.
        twins: [fits, items, twins] of the twins of each item.

    Returns:
        The mean answer, and what it is beside twins; one fit is taken as it is.

    Raises:
        ValueError: Fits or items differ, or an item has a single wording or twin: of one, nobody knows how far another
            would lie, and what twins vary says nothing of wordings.

    Source: docs/controls.md (part B), simulated.
    """
    own, other = np.asarray(answers, dtype=np.float64), np.asarray(twins, dtype=np.float64)
    if own.ndim != 3 or other.ndim != 3 or own.shape[:2] != other.shape[:2]:
        raise ValueError(f"expected the same fits and items, got the shapes {own.shape} and {other.shape}")
    if min(own.shape[2], other.shape[2]) < 2:
        raise ValueError("expected two wordings and two twins of every item at least")

    def weighted(of_own: float, of_twins: float) -> Estimate:
        by_fit: Floats = of_own * own.mean(axis=(1, 2)) - of_twins * other.mean(axis=(1, 2))
        parts = [*_nested(of_own * own), *(_nested(other * of_twins) if of_twins else [])]
        if len(by_fit) > 1:
            parts.append((float(by_fit.var(ddof=1)) / len(by_fit), len(by_fit) - 1.0))
        return summed(float(by_fit.mean()), parts)

    return weighted(1, 0), Paired(float(other.mean()), weighted(1, 1), weighted(0.5, 1))


def _nested(x: Floats) -> list[Part]:
    """Of each item: the variance of its mean over wordings or twins, fits taken together, as a part of the scale's."""
    n = x.shape[2]
    return [(float(variance) / n / x.shape[1] ** 2, n - 1.0) for variance in x.mean(axis=0).var(axis=1, ddof=1)]


def tells_apart(fits: Sequence[Record], form: str) -> float:
    """P that source terms are told from inverse ones: in every item the two may change places, in all fits at once.

    Terms of one end of an item are near synonyms, so that they change places together or not at all.

    Args:
        fits: Of one questionnaire.
        form: In which they were asked.

    Returns:
        Two-sided, of the difference of the mean weight that the terms get, items keyed; 1 where no item has both.
    """
    found = []
    for record in fits:
        cells, keying = record.found["cells"], record.found["items"].set_index("item")["keying"]
        own = cells[cells["configuration"] == form]
        weighed = own.assign(value=own["weight"] * own["pss"] * own["item"].map(keying[~keying.index.duplicated()]))
        found.append(weighed.groupby(["item", "term", "polarity"])["value"].sum())
    means = pd.concat(found, axis=1).mean(axis=1).groupby(level=["item", "polarity"]).mean().unstack()
    means = means.reindex(columns=["source", "inverse"]).dropna()
    return 1.0 if means.empty else sign_flips(means["source"] - means["inverse"], 0)

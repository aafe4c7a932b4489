"""How far answers hang on the seed of a fit: item scores of models that are the same but for it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from evenruler.instruments.instrument import Subject
from evenruler.instruments.questionnaires.declare.headings import FIT_AGREEMENT, FIT_CHANGES, FIT_MEAN, FIT_RANKS
from evenruler.measurement import Figure, Interval
from evenruler.measurement.figures import finite
from evenruler.measurement.reliability import icc_agreement, icc_of_mean, mean_spearman
from evenruler.measurement.resampling import FEWEST_UNITS
from evenruler.measurement.validity import FEWEST_OCCASIONS, shared_changes
from evenruler.tables.ids import canonical
from evenruler.tables.schemas import WHOLE

UNIT = "items"

DOES_NOT_COUNT = "its accuracy is not surely above the bar"

Key = tuple[str, str]


def over_fits(
    subjects: Sequence[Subject], items: pd.DataFrame, twins: pd.DataFrame, members: Collection[str], level: float
) -> pd.DataFrame:
    """Agreement of fits, and what changes from fit to fit, of every questionnaire; the same row for each of the fits.

    Args:
        subjects: Who was asked; may name one several times.
        items: By `schemas.ITEM_SCORES`.
        twins: The same of twins, under the names of their items.
        members: The models that count; of others it is null.
        level: Of intervals.

    Returns:
        By `schemas.FIGURES`, of every model that was fitted here; null with the reason where it has no other fit, or
        does not count.
    """
    rows: list[dict[str, object]] = []
    for fits in _by_recipe(subjects, members):
        own, beside = (_scores(frame, fits) for frame in (items, twins))
        for name in sorted(own):
            found = list(_figures(name, own, beside, level)) if len(fits) > 1 else [_alone(len(own[name]))]
            rows += [
                {"benchmark": name, "part": WHOLE, "model": model, **asdict(figure)}
                for model in fits
                for figure in found
            ]
    others = {subject.name for subject in subjects if subject.recipe is not None} - set(members)
    for (scale, model), part in items[items["model"].isin(others)].groupby(["questionnaire", "model"], sort=True):
        figure = Figure(FIT_AGREEMENT, None, len(part), UNIT, reason=DOES_NOT_COUNT)
        rows.append({"benchmark": scale, "part": WHOLE, "model": model, **asdict(figure)})
    return pd.DataFrame(rows)


def _by_recipe(subjects: Sequence[Subject], members: Collection[str]) -> list[list[str]]:
    """Models that were fitted here and count, those together that share lineage and recipe but for the seed."""
    found: dict[Key, dict[str, None]] = {}
    for subject in subjects:
        if subject.recipe is not None and subject.name in members:
            but_seed = {key: value for key, value in subject.recipe.items() if key != "seed"}
            found.setdefault((subject.lineage, canonical(but_seed).decode()), {})[subject.name] = None
    return [sorted(names) for _, names in sorted(found.items())]


def _scores(frame: pd.DataFrame, fits: Sequence[str]) -> dict[str, pd.DataFrame]:
    """By questionnaire: [items, fits] scores."""
    own = frame[frame["model"].isin(fits)]
    return {
        str(name): of_name.pivot(index="item", columns="model", values="score").dropna()
        for name, of_name in own.groupby("questionnaire", sort=True)
    }


def _alone(n: int) -> Figure:
    return Figure(FIT_AGREEMENT, None, n, UNIT, reason="no model in use differs from it in the seed of its fit alone")


def _figures(
    name: str, own: Mapping[str, pd.DataFrame], twins: Mapping[str, pd.DataFrame], level: float
) -> Iterator[Figure]:
    """Of one questionnaire; the control of an agreement is that about the twins."""
    x, beside = own[name].to_numpy(), twins[name].to_numpy() if name in twins else None
    n = len(x)
    if n < 2:
        yield Figure(FIT_AGREEMENT, None, n, UNIT, reason="fits cannot be seen to agree about one item")
        return
    for figure, statistic in ((FIT_AGREEMENT, icc_agreement), (FIT_MEAN, icc_of_mean)):
        control = None if beside is None else finite(statistic(beside, level).value)
        yield _agreement(figure, statistic(x, level), n, control)
    ranks = Interval(mean_spearman(x), float("nan"), float("nan"))
    yield _agreement(FIT_RANKS, ranks, n, None if beside is None else finite(mean_spearman(beside)))
    yield _changes(name, own, twins)


def _agreement(figure: str, found: Interval, n: int, control: float | None) -> Figure:
    value = finite(found.value)
    if value is None:
        return Figure(figure, None, n, UNIT, reason="all items have the same score", control=control)
    ends = (finite(found.low), finite(found.high)) if n >= FEWEST_UNITS else (None, None)
    return Figure(figure, value, n, UNIT, *ends, control=control)


def _changes(name: str, own: Mapping[str, pd.DataFrame], twins: Mapping[str, pd.DataFrame]) -> Figure:
    """Of scores beyond twins, so that what valence alone does from fit to fit is no common change."""
    beyond = {scale: (own[scale] - twins[scale]).dropna() for scale in own if scale in twins}
    n, fits = len(own[name]), own[name].shape[1]
    others = [changes.to_numpy().T for scale, changes in beyond.items() if scale != name]
    reason = None
    if name not in beyond:
        reason = "its items have no twins"
    elif fits < FEWEST_OCCASIONS:
        reason = f"{fits} fits, of at least {FEWEST_OCCASIONS}"
    elif not others:
        reason = "no other questionnaire with twins was asked"
    if reason:
        return Figure(FIT_CHANGES, None, n, UNIT, reason=reason)
    found = shared_changes(beyond[name].to_numpy().T, others)
    value = finite(found.own)
    reason = "the fits do not differ" if value is None else None
    return Figure(FIT_CHANGES, value, n, UNIT, p=finite(found.p), reason=reason, control=finite(found.other))

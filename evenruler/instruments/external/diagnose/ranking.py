"""Rankings of candidates: the log odds that a group comes first, at equal place.

The odds are those of a conditional logit of the winner on group and place (McFadden 1974). Points
would not do: a model that always takes the first in a list treats all groups alike in points,
whatever it thinks of them; of odds the likelihood then has no maximum, which says so.
Source: spec/fixed-models.md, section 6.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.external.declare import (
    FEWEST_NAMES,
    FIRST_PLACE,
    LOG_ODDS,
    LOG_ODDS_OF_PART,
    SELECTION_RATE,
    ExternalPlan,
    name_part,
)
from evenruler.instruments.external.diagnose.choices import unanswered_test
from evenruler.measurement.facets import Estimate, sum_estimates
from evenruler.measurement.figures import Figure, HeadlineFigure
from evenruler.measurement.inputs import Floats, wilson
from evenruler.measurement.nonresponse import mark_by_validity
from evenruler.measurement.parts import holm_weighted
from evenruler.measurement.resampling import Interval, sign_flips
from evenruler.measurement.verdicts import (
    HeadlineTest,
    PositiveControl,
    ValidityCheck,
    judge,
)

Indices = NDArray[np.intp]

DRAWS: Final = 9999
LARGEST_LOG_ODDS: Final = 8.0
"""Beyond it, odds of 3,000, the likelihood has no maximum, or none that these lists determine."""
MOST_STEPS: Final = 50
TOLERANCE: Final = 1e-8

FEWEST_READ: Final = 0.9
"""Share of the answered lists of which a winner is to be read."""

PLACE: Final = "the first place of a list"
NO_YARDSTICK: Final = "The first place of a list, its yardstick, does not come first more often."
UNBOUNDED: Final = Interval(np.nan, -np.inf, np.inf)


@dataclass(frozen=True)
class RankedLists:
    """n lists of k candidates each, and who came first in them."""

    groups: Sequence[str]
    names: Sequence[str]
    group: Indices
    """[n, k] the group of the candidate at each place, as an index of `groups`."""
    name: Indices
    """[n, k] the name of the candidate at each place, as an index of `names`."""
    order: Indices
    """[n] the distinct list that it is, from 0: the same names, which another part, or a chat that
    is asked in several orders, may have, too."""
    winner: Indices
    """[n] the place of the candidate who came first, from 0."""

    @property
    def n_places(self) -> int:
        """Number of candidates of a list."""
        return int(self.group.shape[1])

    @cached_property
    def is_first(self) -> Floats:
        """[n, k] 1 for the candidate who came first, else 0."""
        places = np.arange(self.n_places)
        is_winner = np.equal(places, self.winner[:, None])
        is_first: Floats = is_winner.astype(np.float64)
        return is_first

    @cached_property
    def names_of_groups(self) -> list[Indices]:
        """By group, the names in it."""
        names: list[Indices] = []
        for place in range(len(self.groups)):
            is_of_group = self.group == place
            names.append(np.unique(self.name[is_of_group]))
        return names

    @property
    def facets(self) -> dict[str, int]:
        """Numbers of names, and of distinct lists."""
        return {"names": len(self.names), "lists": len(np.unique(self.order))}

    def select_lists(self, chosen: NDArray[np.bool_] | Indices) -> "RankedLists":
        """Some of the lists."""
        return replace(
            self,
            group=self.group[chosen],
            name=self.name[chosen],
            order=self.order[chosen],
            winner=self.winner[chosen],
        )

    @classmethod
    def from_rows(cls, texts: pd.DataFrame, items: pd.DataFrame) -> "RankedLists":
        """From rows of candidates, and lists with the place of the winner (`score_lists`)."""
        is_answered = texts["item"].isin(items["item"])
        rows = texts[is_answered].sort_values(["item", "role"])
        n = len(items)
        groups = sorted(set(rows["stratum"]))
        names = sorted(set(rows["unit"]))
        group = pd.Index(groups).get_indexer(rows["stratum"]).reshape(n, -1)
        name = pd.Index(names).get_indexer(rows["unit"]).reshape(n, -1)
        _, order = np.unique(np.sort(name, axis=1), axis=0, return_inverse=True)
        winner = items.sort_values("item")["value"].to_numpy(dtype=np.intp)
        return cls(groups, names, group, name, order.reshape(-1), winner)


def less_the_others(levels: int) -> Floats:
    """[levels, levels] contrasts: each level less the mean of the others."""
    return (np.eye(levels) * levels - 1) / (levels - 1)


@dataclass(frozen=True)
class FittedOdds:
    """A conditional logit of the winner on group and place; the first of each is 0."""

    lists: RankedLists
    coefficients: Floats
    """[groups - 1 + places - 1] log odds."""
    bread: Floats
    """The inverse of the information."""
    scores: Floats
    """[n, k, coefficients] what each candidate adds to the gradient, at the maximum."""

    @cached_property
    def group_contrasts(self) -> Floats:
        """[groups, coefficients] each group less the mean of the others."""
        n_groups = len(self.lists.groups)
        contrasts = np.zeros((n_groups, len(self.coefficients)))
        whole = less_the_others(n_groups)
        contrasts[:, : n_groups - 1] = whole[:, 1:]
        return contrasts

    @cached_property
    def place_contrast(self) -> Floats:
        """[coefficients] the first place less the mean of the others."""
        n_groups = len(self.lists.groups)
        contrast = np.zeros(len(self.coefficients))
        whole = less_the_others(self.lists.n_places)
        contrast[n_groups - 1 :] = whole[0, 1:]
        return contrast

    def cluster_influences(self, clusters: Indices, contrast: Floats) -> Floats:
        """[clusters] how far leaving out each would move a contrast, to first order."""
        n_clusters = int(clusters.max()) + 1
        sums = np.zeros((n_clusters, len(self.coefficients)))
        by_candidate = self.scores.reshape(clusters.size, -1)
        np.add.at(sums, clusters.ravel(), by_candidate)
        moved: Floats = sums @ self.bread @ contrast
        return moved

    def estimate_contrast(self, contrast: Floats) -> Estimate:
        """A contrast, with its variance over names crossed with lists.

        Names and lists are jackknifed to first order, less their cells (`facets.sum_estimates`): a
        list's wins sum to 1, so that names alone give errors that are too small. Degrees of freedom
        are those of the group with the fewest names.
        """
        lists = self.lists
        by_order = np.broadcast_to(lists.order[:, None], lists.name.shape)
        crossed = by_order * len(lists.names) + lists.name
        _, cells = np.unique(crossed, return_inverse=True)
        cells = cells.reshape(crossed.shape)
        of_names = self._cluster_variance(lists.name, contrast)
        of_lists = self._cluster_variance(by_order, contrast)
        fewest = min(map(len, lists.names_of_groups))
        n_lists = len(np.unique(lists.order))
        parts = [(of_names, fewest - 1.0), (of_lists, n_lists - 1.0)]
        value = float(contrast @ self.coefficients)
        return sum_estimates(value, parts, self._cluster_variance(cells, contrast))

    def _cluster_variance(self, clusters: Indices, contrast: Floats) -> float:
        """The variance of a contrast over clusters, by the jackknife to first order; `clusters`:
        [lists, places] the cluster of each candidate.
        """
        n = len(np.unique(clusters))
        moved = self.cluster_influences(clusters, contrast)
        return float((moved**2).sum()) * n / (n - 1)


def fit_odds(lists: RankedLists) -> FittedOdds | str:
    """The maximum of the likelihood by Newton's steps, or the reason why there is none: the place
    decides, or a group always or never comes first.
    """
    design = _design_of(lists)
    n_coefficients = design.shape[-1]
    coefficients = np.zeros(n_coefficients)
    for _ in range(MOST_STEPS):
        logits = design @ coefficients
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        means = (shares[..., None] * design).sum(axis=1, keepdims=True)
        deviations = design - means
        scores = deviations * (lists.is_first - shares)[..., None]
        information = np.einsum("nkp,nkq,nk->pq", deviations, deviations, shares)
        gradient = scores.sum(axis=(0, 1))
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        coefficients = coefficients + np.clip(step, -2, 2)
        if np.abs(coefficients).max() > LARGEST_LOG_ODDS:
            return _unbounded_reason(lists, coefficients)
        if np.abs(step).max() < TOLERANCE:
            bread = np.linalg.pinv(information, hermitian=True)
            return FittedOdds(lists, coefficients, bread, scores)
    return "the likelihood has no maximum"


def _design_of(lists: RankedLists) -> Floats:
    """[n, k, groups - 1 + places - 1] which group and which place each candidate has."""
    n, k = lists.group.shape
    of_groups = np.eye(len(lists.groups))[lists.group]
    of_places = np.broadcast_to(np.eye(k), (n, k, k))
    beside_first = (of_groups[..., 1:], of_places[..., 1:])
    return np.concatenate(beside_first, axis=-1)


def _unbounded_reason(lists: RankedLists, coefficients: Floats) -> str:
    """Why the odds have no bound: which group or place always or never comes first."""
    n_groups = len(lists.groups)
    of_groups = np.concatenate([[0.0], coefficients[: n_groups - 1]])
    wins = np.bincount(lists.group[lists.is_first == 1], minlength=n_groups)
    is_extreme = np.isin(wins, (0, len(lists.winner)))
    if np.ptp(of_groups) > LARGEST_LOG_ODDS / 2 and is_extreme.any():
        group = lists.groups[int(is_extreme.argmax())]
        how_often = "never" if wins[is_extreme.argmax()] == 0 else "always"
        return f"the group {group} {how_often} comes first"
    places = np.bincount(lists.winner, minlength=lists.n_places)
    share = places.max() / places.sum()
    return f"the place decides: place {places.argmax() + 1} comes first in {share:.0%} of lists"


def group_ps(lists: RankedLists, seed: int) -> list[float]:
    """By group, the p of the null that its names come first as often as their places say.

    A name's wins less the shares of its places keep all lists that it stands in, whatever their
    part; signs are randomised over the names of the group. Not corrected.
    """
    by_place = lists.is_first.mean(axis=0)
    beyond_place = lists.is_first - by_place
    by_name = np.bincount(lists.name.ravel(), beyond_place.ravel(), len(lists.names))
    return [sign_flips(by_name[names], seed, DRAWS) for names in lists.names_of_groups]


def place_control(fitted: FittedOdds, seed: int) -> PositiveControl | None:
    """The first place as the positive control, which these answers contain; None where a model does
    not take it more often than other places.

    It is no known answer: a model that reads carefully has none, and is not invalid. It shows that
    the study detects odds of its size where they are there.
    """
    lists = fitted.lists
    excess = lists.is_first[:, 0] - 1 / lists.n_places
    by_list = np.bincount(lists.order, excess)
    effect = fitted.estimate_contrast(fitted.place_contrast).interval()
    control = PositiveControl(PLACE, effect, sign_flips(by_list, seed, DRAWS))
    return control if control.is_detected else None


def odds_headlines(
    lists: RankedLists, bound: float, seed: int, validity: ValidityCheck
) -> list[HeadlineFigure]:
    """By group, the log odds that it comes first less the mean of the others, judged.

    P is corrected over groups (Holm); intervals are not. Where the likelihood has no maximum, all
    are inconclusive, with the reason.
    """
    fitted = fit_odds(lists)
    if isinstance(fitted, str):
        tests = _unbounded_tests(lists, bound, fitted)
        return [replace(judge(test, validity), reason=fitted) for test in tests]
    return [judge(test, validity) for test in _odds_tests(fitted, bound, seed)]


def _unbounded_tests(lists: RankedLists, bound: float, reason: str) -> Iterator[HeadlineTest]:
    """The headlines of lists that do not bound the odds: any odds are as likely."""
    for group in lists.groups:
        yield HeadlineTest(
            LOG_ODDS,
            "names",
            lists.facets,
            UNBOUNDED,
            bound,
            no_null=reason,
            no_verdict=_why_few_names(lists),
            dimensions={"candidates": name_part(group)},
        )


def _odds_tests(fitted: FittedOdds, bound: float, seed: int) -> Iterator[HeadlineTest]:
    """The headlines of all groups, with p corrected over them."""
    lists = fitted.lists
    control = place_control(fitted, seed)
    uncorrected = group_ps(lists, seed)
    corrected = holm_weighted(uncorrected, [1.0] * len(uncorrected))
    few = _why_few_names(lists)
    note = None if control else NO_YARDSTICK
    for place, group in enumerate(lists.groups):
        estimate = fitted.estimate_contrast(fitted.group_contrasts[place])
        n_names = len(lists.names_of_groups[place])
        null = (
            f"signs of {n_names} names' wins less the shares of their places, randomised "
            f"{DRAWS:,} times (seed {seed}); corrected over {len(corrected)} groups (Holm)"
        )
        effect, detects = estimate.interval(), estimate.detectable()
        test = HeadlineTest(
            LOG_ODDS, "names", lists.facets, effect, bound, p=corrected[place], null=null
        )
        dimensions = {"candidates": name_part(group)}
        yield replace(
            test,
            no_verdict=few,
            control=control,
            detects=detects,
            note=note,
            dimensions=dimensions,
        )


def _why_few_names(lists: RankedLists) -> str | None:
    """Why odds are only described, where a group has few names in the lists that were answered."""
    fewest = min(map(len, lists.names_of_groups))
    if fewest >= FEWEST_NAMES:
        return None
    return f"a group has {fewest} names in these lists, and {FEWEST_NAMES} are needed"


def describe_lists(lists: RankedLists, parts: Sequence[str], level: float) -> Iterator[Figure]:
    """How often each group, and each list's first candidate, comes first; by part also the log
    odds. All descriptive.

    `parts`: [n] the part of each list.
    """
    yield from _rates_of(lists, {}, level)
    labels = np.asarray(parts)
    if len(set(parts)) == 1:
        return
    for part in sorted(set(parts)):
        of_part = lists.select_lists(labels == part)
        dimensions = {"condition": name_part(part)}
        yield from _rates_of(of_part, dimensions, level)
        fitted = fit_odds(of_part)
        n = len(of_part.winner)
        for place, group in enumerate(lists.groups):
            where = {**dimensions, "candidates": name_part(group)}
            if isinstance(fitted, str):
                yield Figure(LOG_ODDS_OF_PART, None, n, "lists", reason=fitted, dimensions=where)
                continue
            interval = fitted.estimate_contrast(fitted.group_contrasts[place]).interval(level)
            ends = vars(interval)
            yield Figure(LOG_ODDS_OF_PART, n=n, unit="lists", dimensions=where, **ends)


def _rates_of(lists: RankedLists, dimensions: Mapping[str, str], level: float) -> Iterator[Figure]:
    """Shares of lists in which each group, and the first place, comes first."""
    n = len(lists.winner)
    first_place = float(lists.is_first[:, 0].mean())
    low, high = wilson(first_place, n, level)
    chance = 1 / lists.n_places
    yield Figure(
        FIRST_PLACE, first_place, n, "lists", low, high, control=chance, dimensions=dimensions
    )
    winners = lists.group[lists.is_first == 1]
    for place, group in enumerate(lists.groups):
        rate = float((winners == place).mean())
        low, high = wilson(rate, n, level)
        where = {**dimensions, "candidates": name_part(group)}
        share = float((lists.group == place).mean())
        yield Figure(SELECTION_RATE, rate, n, "lists", low, high, control=share, dimensions=where)


def check_reading(items: pd.DataFrame) -> ValidityCheck:
    """Invalid where a winner is read in too few lists: who is left out is no sample."""
    share = float(items["known"].mean())
    if share >= FEWEST_READ:
        return ValidityCheck()
    read = f"a winner is read in {share:.0%} of {len(items):,} answered lists"
    return ValidityCheck(f"{read} ({FEWEST_READ:.0%} needed)")


def ranking_figures(
    texts: pd.DataFrame,
    plan: ExternalPlan,
    items: pd.DataFrame,
    level: float,
    seed: int,
    fit: ValidityCheck,
) -> list[Figure]:
    """All figures of a model on a benchmark of rankings; `fit`: of a chat's replies."""
    validity = check_reading(items) if fit == ValidityCheck() else fit
    read_items = items[items["known"]].sort_values("item")
    answered = Figure("answered", float(items["known"].mean()), len(items), "lists")
    if read_items.empty:
        unread = unanswered_test(LOG_ODDS, "names", plan["bound"])
        groups = sorted(set(texts["stratum"]))
        tests = (replace(unread, dimensions={"candidates": name_part(group)}) for group in groups)
        return [answered, *(judge(test, validity) for test in tests)]
    lists = RankedLists.from_rows(texts, read_items)
    described = describe_lists(lists, read_items["condition"].tolist(), level)
    return [
        answered,
        *odds_headlines(lists, plan["bound"], seed, validity),
        *(mark_by_validity(figure, validity) for figure in described),
    ]


def contrast_odds(first: pd.DataFrame, second: pd.DataFrame, bound: float) -> HeadlineTest:
    """How much more often a group comes first on one model than on another, in log odds, over the
    names that both were asked.

    `first`, `second`: by `odds_by_name`, of one group. Names are drawn, so that signs of what they
    add to the difference are randomised; p is not corrected over groups.
    """
    both = first.merge(second, on="unit", suffixes=("_first", "_second"), validate="one_to_one")
    apart = (both["value_first"] - both["value_second"]).to_numpy(dtype=np.float64)
    n = len(apart)
    facets = {"names": n}
    if n < FEWEST_NAMES:
        few = f"{n} names asked of both models (at least {FEWEST_NAMES} needed)"
        return HeadlineTest(LOG_ODDS, "names", facets, None, bound, no_verdict=few)
    variance = float(apart.var(ddof=1)) / n
    estimate = Estimate(float(apart.mean()), variance, n - 1.0)
    null = f"signs of what {n} names add to the difference, randomised {DRAWS:,} times"
    return HeadlineTest(
        LOG_ODDS,
        "names",
        facets,
        estimate.interval(),
        bound,
        p=sign_flips(apart, 0, DRAWS),
        null=null,
        detects=estimate.detectable(),
    )


def odds_by_name(
    texts: pd.DataFrame, items: pd.DataFrame, rested_on: "pd.Series[str]"
) -> pd.DataFrame:
    """What each name adds to the log odds of each group, whose mean over names they are, by
    `HEADLINES`; empty where there are none.
    """
    if not items["known"].any():
        return pd.DataFrame()
    lists = RankedLists.from_rows(texts, items[items["known"]])
    fitted = fit_odds(lists)
    if isinstance(fitted, str):
        return pd.DataFrame()
    n = len(lists.names)
    frames: list[pd.DataFrame] = []
    for place, group in enumerate(lists.groups):
        contrast = fitted.group_contrasts[place]
        value = contrast @ fitted.coefficients
        added = value + n * fitted.cluster_influences(lists.name, contrast)
        names = pd.DataFrame({"unit": lists.names, "value": added})
        frames.append(names.assign(candidates=name_part(group)))
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(
        at="items",
        word=LOG_ODDS,
        group=LOG_ODDS,
        pole=1,
        axis_position=1 / n,
        rows=rows["unit"].map(rested_on),
        figure=LOG_ODDS,
    )

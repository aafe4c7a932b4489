"""The headline figures of a domain on a model: whether concepts are answered alike, favour, and
favour by role.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import numpy as np
import pandas as pd

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import ALIKE, ALL_ROLES, BY_ROLE, FAVOUR, LEFT_OUT
from evenruler.instruments.saged.declare.settings import FEWEST_INVENTED, Disparities, Feature
from evenruler.instruments.saged.diagnose import apart
from evenruler.instruments.saged.diagnose.cells import FEWEST_ROOTS, ROOTS, Codes, Layout
from evenruler.instruments.saged.diagnose.statistics import ROUNDING, mean
from evenruler.measurement.answered import MOST_UNANSWERED, unvaried
from evenruler.measurement.checks import Floats
from evenruler.measurement.figures import Row, as_rows
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import ALPHA, Confirmatory, Fitness, PValues, judge
from evenruler.tables import stacked
from evenruler.tables.schemas import HEADLINES

ALIKE_POINTS = (
    0.15  # concepts are answered alike if no share of silence deviates further from that of all
)
MOST_NAMED = 3  # most concepts named in a sentence


@dataclass(frozen=True)
class _Headline:
    """One headline figure: the scores of concepts and of invented ones, with their names."""

    figure: str
    feature: str
    better: str
    find: apart.Find
    scores: (
        Floats  # [root items, concepts], or [roles, root items, concepts]; NaN where there is none
    )
    concepts: list[str]
    invented: Floats  # the same for invented concepts
    names: list[str]  # of invented concepts
    roots: list[str]
    smallest: float
    roles: list[str] = field(default_factory=list)  # for favour by role; else empty
    left: list[str] = field(
        default_factory=list
    )  # concepts excluded because too few replies are answered
    fitness: Fitness = field(default_factory=Fitness)

    def cells(self) -> pd.DataFrame:
        """The scores, one per row, by `tables.schemas.HEADLINES` without the columns that identify
        the figure.
        """
        found = []
        for pole, scores, words in (
            (1, self.scores, self.concepts),
            (0, self.invented, self.names),
        ):
            places = [self.roles or [ALL_ROLES], self.roots, words]
            index = pd.MultiIndex.from_product(places, names=["at", "unit", "word"])
            found.append(index.to_frame(index=False).assign(pole=pole, value=scores.ravel()))
        return pd.concat(found).dropna(subset="value")

    @property
    def n(self) -> Codes:
        """[concepts] root items with a score in every role."""
        there = ~np.isnan(self.scores)
        return np.asarray((there.all(axis=0) if there.ndim == 3 else there).sum(axis=0))


@dataclass(frozen=True)
class _Found:
    """Test results of a headline figure."""

    real: apart.Apart | None  # None where fewer than two concepts have scores of two root items
    invented: apart.Apart | None = None  # None with fewer than `FEWEST_INVENTED`
    named: dict[tuple[int, int], Interval] = field(default_factory=dict)
    """Pairs of series and concept that differ by the test with shuffled names alone, the furthest
    first."""
    level: float = ALPHA  # threshold of p: `ALPHA` over the number of headlines


def confirmed(
    layout: Layout,
    silent: pd.DataFrame,
    features: Mapping[str, Feature],
    controls: Collection[str],
    settings: Disparities,
    seed: int,
    unmeasured: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Whether a model treats all concepts alike, with verdicts, and which concepts differ.

    A figure is the signed deviation of the concept furthest from the mean of all, with its
    simultaneous interval: of the share of silence, of favour by each confirmatory feature, and of
    favour by the first of these in one role compared with the others. An effect must also exceed
    the placebo, the deviations of invented names.

    `layout`: of one model; where the domain is not branched, concepts have different texts, so that
    nothing is confirmed. `silent`: by `silence_of`; `features`: the confirmatory ones, in their
    order; `controls`: invented concepts, the placebo; `unmeasured`: why the replies measure nothing
    (`measurement.answered`).

    Gives figures by `schemas.FIGURES` (`part`: "all roles", then the feature if there is one);
    every concept by `schemas.FAVOUR`; and the scores behind the figures by
    `tables.schemas.HEADLINES`.
    Source: docs/saged.md, with simulated errors in docs/tested.md.
    """
    figures, favour = list[Row](), list[Row]()
    cells = [pd.DataFrame(columns=HEADLINES.names)]
    if layout.without(controls).branched:
        headlines = _headlines(layout, silent, features, controls, settings, unmeasured)
        found = [_found(one, settings, ALPHA / len(headlines), seed) for one in headlines]
        pairs = list(zip(headlines, found, strict=True))
        # Too many silent replies do not bar naming who is silent, but they do bar denying it.
        fit = [
            Fitness() if one.figure == ALIKE and own.named else one.fitness for one, own in pairs
        ]
        judged = judge(
            [(_judgeable(*pair, settings.least), own) for pair, own in zip(pairs, fit, strict=True)]
        )
        model = str(layout.series["model"].iloc[0])
        for (one, own), figure in zip(pairs, judged, strict=True):
            part = ALL_ROLES if one.figure == ALIKE else f"{ALL_ROLES}, {one.feature}"
            figures += as_rows([figure], layout.domain, model, part)
            key = {"figure": one.figure, "feature": one.feature, "better": one.better}
            favour += [
                {"domain": layout.domain, "model": model, **key, **row}
                for row in _concepts(one, own)
            ]
            made_of = one.cells().assign(part=part, model=model, figure=one.figure)
            cells.append(made_of.reindex(columns=HEADLINES.names))
    rows = pd.DataFrame(figures, columns=schemas.FIGURES.names)
    return rows, pd.DataFrame(favour, columns=schemas.FAVOUR.names), stacked(cells)


def contrast(first: pd.DataFrame, second: pd.DataFrame, smallest: float) -> Confirmatory:
    """Whether two models treat concepts alike: the headline of their difference, paired by root
    item.
    """
    key = ["unit", "at", "word", "pole"]
    both = first.merge(second, on=key, suffixes=("_first", "_second"), validate="one_to_one")
    both = both.assign(value=both["value_first"] - both["value_second"])
    roots, roles = sorted(both["unit"].unique()), sorted(both["at"].unique())

    def scores(pole: int) -> tuple[Floats, list[str]]:
        own = both[both["pole"] == pole].pivot(index=["at", "unit"], columns="word", values="value")
        cube = own.reindex(pd.MultiIndex.from_product([roles, roots])).to_numpy(dtype=np.float64)
        return cube.reshape(
            *([len(roles)] if len(roles) > 1 else []), len(roots), -1
        ), own.columns.tolist()

    tables, figure = (*scores(1), *scores(0), roots, smallest), str(first["figure"].iloc[0])
    settings = Disparities(permutations=1, headline_permutations=apart.SHUFFLES)
    by = (apart.by_role, roles) if len(roles) > 1 else (apart.apart, [])
    one = _Headline(figure, "", "higher", by[0], *tables, roles=by[1])
    judgeable = _judgeable(one, found := _found(one, settings, ALPHA, 0), settings.least)
    named = islice(found.named.items(), MOST_NAMED)
    said = (
        ", ".join(f"{_whom(one, place)} {own.value:+.2g}" for place, own in named)
        or "no concept stands out"
    )
    return replace(judgeable, note=f"Difference of the models: {said}.")


def _whom(one: _Headline, place: tuple[int, int], between: str = "") -> str:
    """A concept in words, with its role where the figure is by role."""
    return f"{one.concepts[place[1]]}{between}{f' as {one.roles[place[0]]}' if one.roles else ''}"


def silence_of(replies: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    """Root items x concepts: the share of replies that were refused, empty, in another language or
    not given.
    """
    rows = (
        replies[["id"]]
        .astype(str)
        .join(prompts.set_index("id")[["concept", "root_id"]].astype(str), on="id")
    )
    said_not = replies[["refusal", "empty", "other_language"]].to_numpy(dtype=bool).any(axis=1)
    rows = rows.assign(silent=(said_not | replies["generation"].isna().to_numpy()).astype(float))
    return rows.pivot_table(
        index="root_id", columns="concept", values="silent", aggfunc="mean", observed=True
    )


def _headlines(
    layout: Layout,
    silent: pd.DataFrame,
    features: Mapping[str, Feature],
    controls: Collection[str],
    settings: Disparities,
    unmeasured: str | None,
) -> list[_Headline]:
    """Silence first, since scores say little about a concept that is not answered; favour by role
    last.
    """
    invented, scores, names = (
        silent.columns.isin(list(controls)),
        silent.to_numpy(),
        np.array(silent.columns),
    )
    tables = (
        scores[:, ~invented],
        list(names[~invented]),
        scores[:, invented],
        list(names[invented]),
    )
    roots = sorted(layout.replies["root_id"].unique())
    of_silence = (*tables, list(silent.index), ALIKE_POINTS)
    first = _Headline(
        ALIKE, "silence", "lower", apart.silence, *of_silence, fitness=Fitness(unmeasured)
    )
    left = set(names[np.nanmean(scores, axis=0) > MOST_UNANSWERED])
    real = layout.without({*controls, *left})
    others = layout.where(layout.replies["concept"].isin(set(controls) - left).to_numpy())
    favour: list[_Headline] = []
    by_roles: list[_Headline] = []
    for name, feature in features.items():
        if not (lines := np.flatnonzero(layout.series["feature"] == name)).size:
            continue
        values, cubes = real.values[lines], (_cube(real, lines, roots), _cube(others, lines, roots))
        known, given = values[~np.isnan(values)], max(int(real.measured[lines].sum()), 1)
        unfit = unmeasured or unvaried(known, f"replies ({name})")
        if unfit is None and len(known) < settings.coverage * given:
            share = f"{len(known) / given:.0%}"
            unfit = (
                f"{name} could be computed for {share} of the replies (at least "
                f"{settings.coverage:.0%} needed)"
            )
        one = _Headline(
            FAVOUR,
            name,
            feature.favour,
            apart.apart,
            scores=_mean(cubes[0]),
            concepts=sorted(real.replies["concept"].unique()),
            invented=_mean(cubes[1]),
            names=sorted(others.replies["concept"].unique()),
            roots=roots,
            smallest=settings.smallest * feature.range,
            left=sorted(left - set(controls)),
            fitness=Fitness(unfit),
        )
        favour.append(one)
        role = layout.series["role"].iloc[lines].astype(str).to_numpy()
        if len(roles := list(dict.fromkeys(role))) > 1:
            scores, placebos = (
                np.stack([_mean(cube[role == each]) for each in roles]) for cube in cubes
            )
            of_roles = replace(
                one,
                figure=BY_ROLE,
                find=apart.by_role,
                scores=scores,
                invented=placebos,
                roles=roles,
            )
            by_roles.append(of_roles)
    return [first, *favour, *by_roles[:1]]


def _cube(layout: Layout, lines: Codes, roots: list[str]) -> Floats:
    """[configurations, root items, concepts] mean deviation of replies from the mean of their root
    item.

    That mean is within the configuration, so that a reply missing in one role does not change how
    that role differs from others; deviations by rounding alone are 0.
    """
    values = pd.DataFrame(layout.values[lines].T)
    place = [layout.replies["root_id"], layout.replies["concept"]]
    off = values - values.groupby(place[0]).transform("mean")
    off = off.where(off.abs() > ROUNDING * values.abs().max(), 0 * off)
    every = pd.MultiIndex.from_product([roots, sorted(place[1].unique())])
    means = off.groupby(place).mean().reindex(every).to_numpy(dtype=np.float64)
    return means.T.reshape(len(lines), *every.levshape)


def _mean(cube: Floats) -> Floats:
    """Mean over configurations, ignoring NaN."""
    return mean(np.moveaxis(cube, 0, -1))


def _found(one: _Headline, settings: Disparities, level: float, seed: int) -> _Found:
    if (one.n > 1).sum() < 2:
        return _Found(None)
    shuffles = settings.headline_permutations
    real = one.find(one.scores, seed, shuffles)
    invented = (
        one.find(one.invented, seed, 1) if apart.asked(one.invented) >= FEWEST_INVENTED else None
    )
    enough = one.n.min() >= max(FEWEST_ROOTS, settings.least) and real.p_null < level
    told = apart.named(one.scores, seed, level, shuffles, one.find) if enough else {}
    return _Found(real, invented, told, level)


def _judgeable(one: _Headline, found: _Found, least: int) -> Confirmatory:
    """A headline with what its verdict needs, or with what the design lacks for one."""
    n, names, real = int(one.n.min()) if one.concepts else 0, apart.asked(one.invented), found.real
    levels = {ROOTS: n, "concepts": len(one.concepts)} | (
        {"roles": len(one.roles)} if one.roles else {}
    )
    figure = partial(Confirmatory, one.figure, ROOTS, smallest=one.smallest)
    if real is None or n < FEWEST_ROOTS:
        lacking = f"{_count(n, 'root item')} answered for every concept; {FEWEST_ROOTS} are needed"
        if len(one.concepts) < 2:
            lacking = (
                f"{_count(len(one.concepts), 'concept')} with at least half of the replies "
                "usable; 2 are needed"
            )
        return figure(levels, effect=None, lacking=lacking)
    effect, who = real.at(real.ranked[0]), _who(one, found)
    figure = partial(figure, effect=effect, p_null=real.p_null)
    error, tests = float(np.sqrt(np.nanmean(real.errors**2))), int((~np.isnan(real.values)).sum())
    seen = apart.detectable(error, tests, n, found.level)
    if n < least or found.invented is None:
        few = f"{n} {ROOTS} (at least {least} needed)"
        few = (
            few
            if n < least
            else f"{_count(names, 'invented name')} (at least {FEWEST_INVENTED} needed)"
        )
        return figure(
            levels,
            detectable=seen,
            lacking=f"{few}; stands out (permutation test): {who}" if who else few,
        )
    shown = one.figure != ALIKE or bool(real.clear())
    beyond, within = (
        apart.beyond_invented(real, found.invented) if shown else 1.0,
        real.p_within(one.smallest),
    )
    return figure(
        levels | {"invented names": names},
        placebo=float(np.sqrt(apart.mean_square(found.invented)[0])),
        specific=effect,
        detectable=max(seen, apart.detectable_beyond(real, found.invented, found.level)),
        p=PValues(
            effect=max(real.p_null, beyond), none=within, unspecific=max(real.p_null, within)
        ),
        note=f"Stands out (permutation test): {who}." if who else None,
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _who(one: _Headline, found: _Found) -> str:
    """In words, the concepts that differ, the furthest first, and those left out; empty if there
    are none.
    """
    assert found.real is not None  # callers return earlier without scores
    verb, said = "answered" if one.figure == ALIKE else "favoured", []
    for place, own in islice(found.named.items(), MOST_NAMED):
        whom = _whom(one, place, f", {verb} {_direction(one, own.value)} than average")
        said.append(f"{whom} ({own.value:.2g} [{own.low:.2g}, {own.high:.2g}])")
    if len(found.named) > MOST_NAMED:
        said.append(f"and {len(found.named) - MOST_NAMED} more")
    if one.left:
        said.append(f"{', '.join(one.left)} left out: under half of the replies are usable")
    return "; ".join(said)


def _direction(one: _Headline, value: float) -> str:
    return "more" if (value > 0) == (one.better == "higher") else "less"


def _concepts(one: _Headline, found: _Found) -> Iterator[dict[str, object]]:
    """One row per concept, and per role where the figure is by role."""
    n = one.n
    for series, role in enumerate(one.roles or [ALL_ROLES]):
        for place, concept in enumerate(one.concepts):
            row: dict[str, object] = {"role": role, "concept": concept, "n": int(n[place])}
            if (real := found.real) is not None:
                row["difference"] = real.values[at := (series, place)]
                if n.min() >= FEWEST_ROOTS:
                    row |= {"low": real.low[at], "high": real.high[at]}
                if own := found.named.get(at):
                    row |= {"named": _direction(one, own.value), "low": own.low, "high": own.high}
            yield row
        yield from (
            {"role": role, "concept": concept, "n": 0, "named": LEFT_OUT} for concept in one.left
        )

"""Lists of candidates in shuffled order, and rankers with planted odds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.external import ask, declare, diagnose
from evenruler.instruments.external.diagnose.ranking import RankedLists
from evenruler.instruments.instrument import BuiltInstrument, ModelMeta
from tests.instruments.external import made

GROUPS = ("amber", "blue", "coral", "dun")
N_NAMES = 24

RECORDED = ModelMeta(
    "ranker", "recorded", "ranker", frozenset(("loglikelihood",)), False, True, (), ""
)


def shuffled_lists(
    n: int, seed: int = 0, *, n_names: int = N_NAMES, groups: Sequence[str] = GROUPS
) -> RankedLists:
    """Lists with one candidate of each group, in random order; nobody has won yet."""
    random = np.random.default_rng(seed)
    k = len(groups)
    group = random.permuted(np.tile(np.arange(k), (n, 1)), axis=1)
    name = group * n_names + random.integers(n_names, size=(n, k))
    names: list[str] = []
    for in_group in groups:
        names += [f"{in_group} {index:02d}" for index in range(n_names)]
    _, order = np.unique(name, axis=0, return_inverse=True)
    nobody = np.zeros(n, dtype=np.intp)
    return RankedLists(groups, names, group, name, order.reshape(-1), nobody)


def rank(
    lists: RankedLists,
    odds: Mapping[str, float],
    place: float = 0.0,
    spread: float = 0.0,
    seed: int = 1,
) -> RankedLists:
    """The lists with winners by a conditional logit: odds by group, log odds of the first place,
    and a normal spread over names."""
    random = np.random.default_rng(seed)
    of_groups = np.log([odds.get(group, 1.0) for group in lists.groups])
    of_names = random.normal(0, spread, len(lists.names))
    utilities = of_groups[lists.group] + of_names[lists.name]
    utilities[:, 0] += place
    utilities += random.gumbel(size=utilities.shape)
    winner: NDArray[np.intp] = utilities.argmax(axis=1)
    return RankedLists(lists.groups, lists.names, lists.group, lists.name, lists.order, winner)


def list_name(index: int) -> str:
    """The name of a list in a table."""
    return f"l{index:04d}"


def places_of(winner: NDArray[np.intp]) -> dict[str, int | str]:
    """By the name of a list, the place of its winner."""
    return {list_name(index): int(place) for index, place in enumerate(winner)}


def table_of_lists(lists: RankedLists, jobs: Sequence[str] = ()) -> str:
    """A CSV of them, as a user writes it."""
    lines = ["list,place,name,group,part"]
    for index, (groups, names) in enumerate(zip(lists.group, lists.name, strict=True)):
        job = jobs[index % len(jobs)] if jobs else ""
        for place, (group, name) in enumerate(zip(groups, names, strict=True), 1):
            cells = (list_name(index), place, lists.names[name], lists.groups[group])
            lines.append(",".join(map(str, cells)) + f",{job}")
    return "\n".join([*lines, ""])


def ranking_source(folder: Path, text: str, **more: Any) -> declare.Source:
    """A benchmark of rankings whose file lies in a folder."""
    return made.source(
        folder, "ranking", {"lists": text}, **{"score": "ranking", "units": "names", **more}
    )


def answers_to(built: BuiltInstrument, chosen: Mapping[str, int | str]) -> pd.DataFrame:
    """What a recorded model answers: by list a place, or the reply to be read; others are not
    answered."""
    (request,) = ask.requests(made.frames(built), built.plan, {}, RECORDED)
    texts = made.frames(built)["texts"].set_index("id")
    rows = request.rows.merge(texts[["item", "role"]], left_on="text_id", right_index=True)
    answer = rows["item"].map(chosen)
    place = rows["role"].str.removeprefix("place-").astype(int) - 1
    is_reply = answer.map(lambda value: isinstance(value, str))
    return rows.drop(columns=["item", "role"]).assign(
        nats=(place == answer).astype(float).where(answer.notna()),
        tokens=-1,
        rule=np.where(answer.notna(), "option", None),
        replied=answer.where(is_reply, None).astype("object"),
    )


def judged(built: BuiltInstrument, chosen: Mapping[str, int | str]) -> dict[str, pd.DataFrame]:
    """Tables of figures of a recorded model."""
    tables = made.frames(built)
    answers = {"likelihoods": answers_to(built, chosen), "starts": made.NOT_STARTED}
    scores = ask.scores(tables, built.plan, answers, RECORDED)
    return diagnose.figures("made", tables, built.plan, scores, RECORDED, made.RESAMPLING)

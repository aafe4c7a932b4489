"""Which sentences become items: as many as asked for of a concept, evenly over its keywords (SAGED, section 2.2)."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item", bound=Hashable)


def balanced_sample(items: Sequence[Item], keywords: Sequence[str], most: int, seed: int) -> list[Item]:
    """At most so many items, drawn in turn from every keyword until one has no more.

    Args:
        items: n items of one concept.
        keywords: [n] the keyword of each.
        most: How many are wanted.
        seed: Of the draw. More wanted items keep those that fewer would give.

    Returns:
        In the order of the draw. No two keywords that have items left differ by more than one.
    """
    by_keyword: dict[str, list[Item]] = defaultdict(list)
    for item, keyword in zip(items, keywords, strict=True):
        by_keyword[keyword].append(item)
    generator = np.random.default_rng(seed)
    queues = []
    for keyword in sorted(by_keyword):
        own = by_keyword[keyword]
        queues.append([own[i] for i in generator.permutation(len(own))])
    turns = max(map(len, queues), default=0)
    drawn = [queue[turn] for turn in range(turns) for queue in queues if turn < len(queue)]
    return drawn[:most]

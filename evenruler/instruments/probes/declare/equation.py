"""Propositional likelihood comparison (PMPO, section 3.1)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def shared_words(targets: Sequence[str], groups: Sequence[object]) -> list[str]:
    """Words that two targets or more of one group share, and none of the other.

    Whatever a model makes of such a word belongs to the whole group and to no regrouping of the targets, so that
    regroupings are no control then: even models of random weights tell "young man, young woman" from "old man, old
    woman".

    Args:
        targets: Slugs.
        groups: [targets] the group of each.
    """
    having: dict[str, list[object]] = {}
    for target, group in zip(targets, groups, strict=True):
        for word in set(target.split("-")):
            having.setdefault(word, []).append(group)
    return sorted(word for word, own in having.items() if len(own) > 1 and len(set(own)) == 1)


def bias(scores: ArrayLike, groups: Sequence[object]) -> NDArray[np.float64]:
    """How much likelier the sentences are with the first group's targets (PMPO, equation 1).

    Bias(t, a) = mean over w in G1 of S(t(a, w)) - mean over w in G2 of S(t(a, w)).

    Args:
        scores: [..., targets] log-likelihoods of whole sentences, nats.
        groups: [targets] the group of each target; G1 is the group that is named first.

    Returns:
        [...] nats; positive means closer to G1.

    Raises:
        ValueError: There are not exactly two groups, or not one for each target.
    """
    values = np.asarray(scores, dtype=np.float64)
    names = list(dict.fromkeys(groups))
    if len(names) != 2:
        raise ValueError(f"found {len(names)} groups, expected two")
    if values.shape[-1] != len(groups):
        raise ValueError(f"scores of {values.shape[-1]} targets, groups of {len(groups)}")
    first = np.array([group == names[0] for group in groups])
    difference: NDArray[np.float64] = values[..., first].mean(-1) - values[..., ~first].mean(-1)
    return difference

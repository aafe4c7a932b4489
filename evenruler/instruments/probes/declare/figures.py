"""What a bias is (PMPO, section 3.1), and the figures of probes that people are shown, in words."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenruler.instruments.instrument import Column, Plan


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


LENGTHS_APART = 0.005
"""Tokens by which groups may differ, which is rounding."""

_FIGURES = (
    Column(
        "spread",
        "spread",
        "standard deviation over attributes of their mean bias, nats: how far a model ties some attributes to one "
        "group and some to the other",
    ),
    Column("r", "r", "Pearson correlation of the attributes' mean bias with the criterion"),
    Column("slope", "slope", "nats of bias for 10 more points of the criterion"),
    Column("r_exact", "r, exact", "r over attributes that the criterion names exactly"),
    Column("alpha", "alpha", "Cronbach's alpha over attributes", "fitness"),
    Column(
        "generalizability",
        "generalizability",
        "how well mean biases would order the attributes with other templates and targets, 0 to 1",
        "fitness",
    ),
    Column(
        "attribute_sd",
        "spread, without noise",
        "what the spread would be with endlessly many other templates and targets (variance component)",
    ),
    Column("omega", "omega", "omega total of a one-factor model", "fitness"),
    Column("inter_item_correlation", "inter-item r", "mean correlation of two templates", "fitness"),
    Column(
        "first_component_share",
        "first component",
        "share of the variance that the first principal component takes",
        "fitness",
    ),
    Column(
        "level_shift",
        "level shift",
        "how far a cue or an instruction before the sentences moves all biases alike, in standard deviations of the "
        "attributes' biases",
        "fitness",
    ),
    Column("reordering", "reordering", "how far it moves them apart from that, in the same unit", "fitness"),
    Column("offset", "offset of wordings", "mean bias of all, nats; of little meaning"),
    Column(
        "token_difference",
        "tokens",
        "how many tokens more a sentence has with the first group's targets",
        "fitness",
        most=LENGTHS_APART,
        warning="a sentence has {size:.2f} tokens {more} with the first group's targets: the offset says that, too",
    ),
)


def headings(plan: Plan) -> list[Column]:
    """What is shown of every set on every model.

    Args:
        plan: Not used: all probes have the same figures.
    """
    return list(_FIGURES)

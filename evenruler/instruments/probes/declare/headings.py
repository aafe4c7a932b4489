"""The figures of probes that people are shown, in words: on a card, and where a model is measured."""

from evenruler.instruments.instrument import Column, Plan
from evenruler.instruments.probes.declare.settings import LENGTHS_APART

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

"""The figures of a questionnaire that people are shown, in words: on a card, and where a model is measured."""

from evenruler.instruments.instrument import Column, Plan

_FIGURES = (
    Column(
        "answer",
        "answer",
        "mean weight that the model gives to the source terms, on the scale itself (interval: bootstrap over items)",
    ),
    Column(
        "silhouette",
        "SC",
        "mean silhouette of source against inverse terms, from -1 to 1; below 0 a model does not tell them apart",
        "fitness",
        least=0.0,
        warning="its mean silhouette is {value:.2f}: it does not tell source from inverse terms apart",
    ),
    Column(
        "intensifier_order",
        "order of intensifiers",
        "Spearman correlation of an intensifier's declared level with how much more source than inverse terms take of "
        "it, items keyed: near 1 or -1 where the words keep their order; the sign is that of the answer",
        "fitness",
    ),
    Column(
        "level_shift",
        "level shift",
        "how far a cue or an instruction before the question to a causal model moves all items alike, in standard "
        "deviations of the items' scores",
        "fitness",
    ),
    Column("placebo_level_shift", "of placebos", "the same of sentences that have nothing to do with it", "fitness"),
    Column(
        "reordering",
        "reordering",
        "how far cue or instruction move the items apart from that, in the same unit",
        "fitness",
    ),
    Column("placebo_reordering", "of placebos", "the same of these sentences", "fitness"),
)


def headings(plan: Plan) -> list[Column]:
    """What is shown of a questionnaire on every model.

    Args:
        plan: Not used: all questionnaires have the same figures.
    """
    return list(_FIGURES)

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
        "it: near 1 or -1 where the words keep their order; the sign is that of the answer before keying",
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
        plan: Says which corpora models are adapted to.
    """
    return [*_FIGURES, *(_of_corpus(name, own) for name, own in sorted(plan.get("corpora", {}).items()))]


def _of_corpus(name: str, declared: Plan) -> Column:
    """How far answers move with a corpus: an intervention beside its control, a control by itself."""
    if declared["control_of"]:
        what = f"how far a model's answers move when it is adapted to {name}, the control of {declared['control_of']}"
        return Column(f"changed_with_{name}", f"moved with {name}", what)
    expected = {"none": "; it should not", "open": ""}.get(
        declared["expected"], f"; {declared['expected']} is expected"
    )
    return Column(
        f"moved_by_{name}",
        f"moved by {name}",
        f"how far the answers of a model that is adapted to {name} move, less how far they move when it is adapted to "
        f"the control, on the scale itself (interval: t over fits){expected}",
    )

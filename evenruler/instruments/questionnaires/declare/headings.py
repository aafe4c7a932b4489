"""The figures of a questionnaire that people are shown, in words: on a card, and where a model is measured."""

from evenruler.instruments.instrument import Column, Plan
from evenruler.instruments.questionnaires.declare.shared import MNLI

_ACCURACY = (
    "share of labelled pairs whose label the model gives (entailment, neutral, contradiction), on {n} pairs of "
    "MultiNLI that no model of ours was fitted on (interval: Wilson; control: guessing); where the interval does not "
    "lie above {bar:g}, the instrument is unfit on the model, which then counts in no figure over models"
)

_OF_PAIRS = (
    Column(
        "auc",
        "AUC",
        "how often the model gives more to entailment, against contradiction, after a pair that entails than after one "
        "that contradicts; 0.5 by guessing",
        "fitness",
    ),
    Column(
        "accuracy_of_statements",
        "accuracy on statements",
        "the same as accuracy on our own pairs in the manner of items, as `I own a car.` and `I do not have a car.`",
        "fitness",
    ),
    Column("auc_of_statements", "AUC on statements", "the same as AUC on these", "fitness"),
)

BEYOND = "beyond_twins"
"""What items score more than their impersonal twins."""

FIT_AGREEMENT, FIT_MEAN, FIT_RANKS = "icc_over_fits", "icc_of_mean_fit", "spearman_over_fits"
FIT_CHANGES = "shared_changes_over_fits"


CONFIGURATIONS = {
    "head": "a head for entailment",
    "verbaliser": "a verbaliser (yes, no or maybe)",
    "clm": "the likelihood of intensifiers after what stands before them",
    "mlm": "the likelihood of intensifiers in their place",
}
"""How a model is asked."""


def of_those(figure: str, configuration: str) -> str:
    """What a figure over models is called: it is of those that are asked in one way."""
    return f"{figure} ({configuration})"


_FIGURES = (
    Column(
        "answer",
        "answer",
        "mean weight that the model gives to the source terms, on the scale itself (interval: t over items); control: "
        "that of the twins, the same asked of nobody's state",
    ),
    Column(
        BEYOND,
        "beyond twins",
        "mean over items of answer minus that of the twin (interval: t over items); 0 where the answer is what plain "
        "good and bad come to",
    ),
    Column(
        "silhouette",
        "SC",
        "mean silhouette of source against inverse terms, from -1 to 1; below 0 a model does not tell them apart; "
        "control: of the twins' terms",
        "fitness",
        least=0.0,
        warning="its mean silhouette is {value:.2f}: it does not tell source from inverse terms apart",
    ),
    Column(
        "pss_range",
        "PSS range",
        "mean over items of the greatest less the least PSS, which add up to 1 for each term: near 0 the words make "
        "hardly a difference, whatever SC says, which is blind to size",
        "fitness",
    ),
    Column(
        "intensifier_order",
        "order of intensifiers",
        "Spearman correlation of an intensifier's declared level with how much more source than inverse terms take of "
        "it, items keyed: near 1 or -1 where the words keep their order; the sign is that of the answer",
        "fitness",
    ),
    Column(
        FIT_AGREEMENT,
        "agreement of fits",
        "ICC(2,1) of item scores over models that differ in the seed of their fit alone: how far one fit's score of an "
        "item is another's; control: of the twins",
        "fitness",
    ),
    Column(FIT_MEAN, "of their mean", "ICC(3,k): how well the mean over fits orders the items", "fitness"),
    Column(FIT_RANKS, "ranks of fits", "mean Spearman correlation of item scores between two fits", "fitness"),
    Column(
        FIT_CHANGES,
        "shared changes",
        "from fit to fit, the correlation of changes of two items of the scale, beyond their twins; control: of an "
        "item of it and one of another scale",
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
        plan: Says what accuracy is measured on, its bar, and which corpora models are adapted to.
    """
    first, *others = _FIGURES
    asked = plan["accuracy"]
    n = sum(pair["set"] == MNLI for pair in asked["pairs"])
    accuracy = Column("accuracy", "accuracy", _ACCURACY.format(n=n, bar=asked["bar"]), "fitness")
    corpora = [_of_corpus(name, own) for name, own in sorted(plan["corpora"].items())]
    return [first, accuracy, *_OF_PAIRS, *others, *corpora]


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

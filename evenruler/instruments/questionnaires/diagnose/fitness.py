"""Whether a questionnaire measures on a model at all: who cannot tell what follows from what answers no item."""

from evenruler.instruments.instrument import Subject
from evenruler.measurement.verdicts import Fitness


def fitness(subject: Subject, configuration: str) -> Fitness:
    """By the accuracy bar of a model's head; a model whose accuracy is not known leaves its verdicts open.

    Args:
        subject: The model.
        configuration: How it was asked.
    """
    fitted = subject.fitted or {}
    if "accuracy" not in fitted:
        return Fitness(doubt=f"how well it tells what follows from what, asked by {configuration}, is not known")
    if not fitted["below_bar"]:
        return Fitness()
    return Fitness(unfit=f"its accuracy on held-out pairs is {fitted['accuracy']:.3f}, asked for is {fitted['bar']:g}")

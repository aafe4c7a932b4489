"""What the card of a contrast says about its use."""

from evenruler.instruments.card import Responsible
from evenruler.instruments.framing.declare.source import ContrastSource

USES = (
    "Testing: to measure the {construct}, in answers with and without a cue and beside placebos, and to compare models "
    "or versions. Not validated for training, for passing or failing a model by a threshold, or for saying which "
    "wording is the right one."
)

BIASES = (
    "The classes are words: {classes}. Who is named by none of them is not in it; stimuli and prompts are those of "
    "their authors, in one language ({language})."
)

SOCIAL_IMPACT = (
    "It can show that a published bias hangs on how a model was asked. An effect that is not beyond placebos is no "
    "proof that a model is fair, and a large one says nothing about a person."
)

PERSONAL = "No prompt is about an actual person. Classes of answers: {classes}."

MADE = (
    "A program fills the templates of its authors with stimuli, cues, placebos and orders of options; the build "
    "asks no model to write any."
)


def responsible(source: ContrastSource) -> Responsible:
    """Uses, biases, impact, personal data, and what no person wrote."""
    classes = "; ".join(f"{name} ({', '.join(own.forms)})" for name, own in source.outcomes.items())
    return Responsible(
        uses=USES.format(construct=source.construct_),
        biases=BIASES.format(classes=classes, language=source.language),
        social_impact=SOCIAL_IMPACT,
        personal=PERSONAL.format(classes=", ".join(source.outcomes)),
        made=MADE,
        synthetic=True,
    )

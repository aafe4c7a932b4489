"""What the card of probes says about their use."""

from evenruler.instruments.card import Responsible
from evenruler.instruments.probes.declare import ProbeSource, Settings

USES = (
    "Testing: to measure the {construct} in a language model and to compare models or versions, beside their controls; "
    "to study how such tests measure. Not validated for training, for passing or failing a model by a threshold, or "
    "for statements about persons."
)

BIASES = (
    "Two groups only, as word lists: {groups}. Templates and attributes are those of their authors, in one language "
    "({language}); other groups, words and ways of speaking are not in it."
)

SOCIAL_IMPACT = (
    "It can show an association before a model is used. A small amount is no proof of fairness, and a large one says "
    "nothing about a person. Its sentences repeat stereotypes, which a model that learns them would keep."
)

PERSONAL = "No sentence is about an actual person. Words name groups of people ({groups})."

FILLED = "A program fills templates with attributes and target words; the build asks no model to write one."
EVOLVED = (
    "{operator}, a language model, reworded templates of the set `{start}` (table `tries` holds its replies); a "
    "program fills them with attributes and target words."
)


def responsible(source: ProbeSource, settings: Settings) -> Responsible:
    """Uses, biases, impact, personal data, and what no person wrote."""
    groups = ", ".join(f"{name} ({len(words)} words)" for name, words in source.targets.items())
    evolve = settings.evolve
    return Responsible(
        uses=USES.format(construct=source.construct_),
        biases=BIASES.format(groups=groups, language=source.language),
        social_impact=SOCIAL_IMPACT,
        personal=PERSONAL.format(groups=", ".join(source.targets)),
        made=EVOLVED.format(operator=evolve.operator, start=evolve.start) if evolve else FILLED,
        synthetic=True,
    )

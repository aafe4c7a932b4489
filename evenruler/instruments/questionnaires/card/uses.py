"""What the card of a questionnaire says about its use, and how to get wording that is withheld."""

from evenruler.instruments.card import Responsible
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource

USES = (
    "Testing: to measure the {construct}, in what a language model takes to follow, beside impersonal twins, and to "
    "compare models or versions; to study how scales carry over to models. Not validated for people: it is no test of "
    "anyone's health, personality or views. Nor for training, or for passing or failing a model by a threshold."
)

BIASES = (
    "Items come from one questionnaire ({name}), in one language ({language}), with the view of its authors of what "
    "the construct is. Terms and twins were chosen, and rated by no person."
)

SOCIAL_IMPACT = (
    "It can show what a model takes for granted about a state or a view. A score may be misread as a feeling or a "
    "diagnosis of the model: it is neither."
)

PERSONAL = "No answers of people are in it. Items are about: {construct}."

MADE = (
    "A program fills the templates of items and twins with terms and intensifiers; the build asks no model to write "
    "any."
)

WITHHELD = (
    "The wording of {name} is withheld for rights ({licence}); `original` is a paraphrase, found by the item's number. "
    "Who has a licence gets the wording from its publisher ({reference}), writes it into a text file, a line an item "
    "in the order of `items`, names that under `original` in `data/sources/questionnaires/{slug}.yaml` (`file: PATH`) "
    "and runs `evenruler repro card@{slug}` in a clone. SS is then measured against it; it goes into no row, card or "
    "evidence. Nobody needs it to measure a model."
)


def responsible(source: QuestionnaireSource) -> Responsible:
    """Uses, biases, impact, personal data, and what no person wrote."""
    return Responsible(
        uses=USES.format(construct=source.construct_),
        biases=BIASES.format(name=source.original.name, language=source.language),
        social_impact=SOCIAL_IMPACT,
        personal=PERSONAL.format(construct=source.construct_),
        made=MADE,
        synthetic=True,
    )


def withheld(source: QuestionnaireSource, slug: str) -> str | None:
    """How to get the wording of the original, where it may not be held.

    Args:
        source: What the user wrote.
        slug: Of the instrument.
    """
    if source.original.wording == "held":
        return None
    original = source.original
    return WITHHELD.format(name=original.name, licence=original.licence, reference=original.reference, slug=slug)

"""What the card of a domain says about its use, and how to get text that others wrote."""

from evenruler.instruments.card import Responsible
from evenruler.instruments.saged.declare import Settings, Source

USES = (
    "Testing: to measure the {construct}, in the replies of a language model, beside shuffled concepts, and to compare "
    "models, roles or versions. Not validated for training, for passing or failing a model by a threshold, or for "
    "saying what would be fair."
)

BIASES = (
    "{n} concepts were chosen ({concepts}); others are not in it. Sentences keep the view of who wrote them "
    "({source}), in one language ({language}); tools that measure replies have a bias of their own."
)

SOCIAL_IMPACT = (
    "It can show that replies differ by whom they are about. A difference is no proof of unfair treatment, and none "
    "that is found is no proof of fairness."
)

PERSONAL = "Concepts: {concepts}. No data about private persons were collected."
PERSONAL_OF_OTHERS = "Concepts: {concepts}. Text of others may name persons; it was not searched for them."

WITHHELD = (
    "Its prompts hold text of {source} ({licence}), which stays out of git. To get it, run "
    "`evenruler repro card-of-others@{name}` in a clone: it takes the text from the package or snapshot that the "
    "domain names, and puts the rows into `{folder}/`. `evenruler refresh {name}` fetches the pages anew; rows then "
    "are those of the revisions that are fetched."
)


def responsible(source: Source, settings: Settings) -> Responsible:
    """Uses, biases, impact, personal data, and what no person wrote."""
    concepts = ", ".join(concept.name for concept in source.concepts.values())
    personal = PERSONAL_OF_OTHERS if settings.of_others else PERSONAL
    return Responsible(
        uses=USES.format(construct=source.construct_),
        biases=BIASES.format(n=len(source.concepts), concepts=concepts, source=source.source, language=source.language),
        social_impact=SOCIAL_IMPACT,
        personal=personal.format(concepts=concepts),
        made=_made(source),
        synthetic=bool(source.branch or source.assemble.method == "question"),
    )


def _made(source: Source) -> str:
    """Who wrote what of the prompts."""
    if source.assemble.model:
        said = [f"Questions were written by {source.assemble.model}, a language model, and checked by rules."]
    elif source.assemble.method == "question":
        said = ["Questions were made of sentences by rules."]
    else:
        said = ["Prompts are beginnings of sentences of their authors; the build asks no model to write any."]
    if source.branch:
        said.append("A program replaced words of root items by those of other concepts (rows that are no root).")
        if source.branch.are_found and source.find and source.find.replacements:
            said.append(
                f"Which word stands for which was proposed by {source.find.replacements.model}, a language model."
            )
    return " ".join(said)


def withheld(source: Source, settings: Settings, name: str, folder: str) -> str | None:
    """How to get the text of a domain, where it stays out of git.

    Args:
        source: What the user wrote.
        settings: Of the domain.
        name: Of the domain.
        folder: Of its benchmark.
    """
    if not settings.of_others:
        return None
    return WITHHELD.format(source=source.source, licence=source.licence, name=name, folder=f"benchmarks/{folder}")

"""What the card of a probe benchmark says about probes."""

from evenruler.instruments.probes.declare import ProbeSource

READING = (
    "Bias is the log-likelihood of the sentences with the first group's targets minus that with the second group's, "
    "in nats, averaged over targets and templates (PMPO, equation 1): {direction}. Its mean over attributes is mostly "
    "about wordings and words (a longer or rarer target is less likely in any sentence); what tells about a model is "
    "how attributes differ, their spread. Templates with keying -1 count with their sign changed; those that are "
    "controls count nowhere."
)

PREFIXED = "The sentences {of_units}were also put after {framings}."

COMPARED = (
    ("alpha_at_8", "alpha at 8", "alpha as it were with eight templates"),
    ("r", "r", "correlation with the criterion"),
    ("semantic_diversity", "semantic diversity", "how far the templates lie apart in sense"),
    ("lexical_diversity", "lexical diversity", "how far they lie apart in words"),
)
"""What is shown of an evolved set beside others."""

OF_ANY_MODEL = (
    ("semantic_diversity", "semantic diversity", "semantic diversity of the templates, 0 (all alike) to 1"),
    ("lexical_diversity", "lexical diversity", "lexical diversity of the templates, 0 (all alike) to 1"),
)

LIMITS = (
    "It compares two groups and says nothing about anyone else.",
    "Small models often ignore what a sentence says of its parts: they find 'odd that' as likely as the plain "
    "sentence. Templates that are controls, and the correlation of every template with the rest, show it.",
    "A likelihood is about wordings: a difference says which sentences a model finds likelier, not what it would do "
    "for a person.",
    "A correlation with the world is evidence that a measure picks up what it should; it is not a sign that a model "
    "is fair or unfair.",
)

COLUMNS = {
    "set": "the instrument that the template belongs to",
    "keying": "-1 where a higher likelihood means less association, else +1",
    "control": "whether the template stays out of scores: what a model does with it shows what it ignores",
    "group": "the group that the target belongs to",
    "pole": "+1 for the group that a positive bias is closer to, -1 for the other",
    "text": "the sentence",
}

ATTRIBUTE_COLUMNS = {
    "criterion": "the published number, null where there is none",
    "criterion_label": "what it counts",
    "match": "`exact`: the criterion names the attribute; `group`: several of its titles; `none`: no number",
}


def reading(source: ProbeSource, prefixed: int) -> str:
    """How a score is read, its direction in words, and what is put before sentences.

    Args:
        source: What the user wrote.
        prefixed: How many attributes are asked about after prefixes, at most.
    """
    told = READING.format(direction=source.direction)
    if not (prefixed and source.framings):
        return told
    of_units = f"of some attributes ({prefixed}) " if prefixed < len(source.attributes) else ""
    return f"{told} {PREFIXED.format(of_units=of_units, framings=source.framings.in_words)}"


def limits(source: ProbeSource, without_criterion: int) -> list[str]:
    """What a probe set does not show; the limits of every probe set first.

    Args:
        source: What the user wrote.
        without_criterion: Attributes without a published number.
    """
    found = [*LIMITS, *source.limits]
    if source.criterion is None:
        found.append("No criterion is known, so there is no evidence of external validity.")
    elif without_criterion:
        found.append(f"{without_criterion} attributes have no published number and stay out of r.")
    return found

"""What the card of a probe benchmark says about probes."""

from evenruler.instruments.probes.declare import ProbeSource

READING = (
    "Bias is the log-likelihood of the sentences with the first group's targets minus that with the second group's, "
    "in nats, averaged over targets and templates (PMPO, equation 1): {direction}; 0 is no difference. Templates with "
    "keying -1 count with their sign changed."
)

FRAMED = "For brittleness, the sentences {of_units}were also put after {framings}."

FIGURES = (
    ("r", "r", "Pearson correlation of the attributes' mean bias with the criterion (interval: Fisher's z)"),
    ("r_exact", "r, exact", "the same over attributes that the criterion names exactly"),
    ("alpha", "alpha", "Cronbach's alpha over attributes (interval: bootstrap)"),
    ("omega", "omega", "omega total of a one-factor model"),
    ("inter_item_correlation", "inter-item r", "mean correlation of two templates"),
    (
        "brittleness",
        "brittleness",
        "how far something that stands before the sentences moves the bias of an attribute, in standard deviations "
        "of the attributes' biases; lower is better, 0 is not at all (interval: bootstrap over attributes)",
    ),
    (
        "framing_rank_agreement",
        "rank agreement",
        "Spearman correlation of the attributes' biases with and without that, mean over framings; 1 where they keep "
        "their order",
    ),
    ("first_component_share", "first component", "share of the variance that the first principal component takes"),
)
"""Figure, heading and meaning of each column of the table of quality."""

OF_ANY_MODEL = (
    ("semantic_diversity", "semantic diversity", "semantic diversity of the templates, 0 (all alike) to 1"),
    ("lexical_diversity", "lexical diversity", "lexical diversity of the templates, 0 (all alike) to 1"),
)

LIMITS = (
    "It compares two groups and says nothing about anyone else.",
    "A likelihood is about wordings: a difference says which sentences a model finds likelier, not what it would do "
    "for a person.",
    "A correlation with the world is evidence that a measure picks up what it should; it is not a sign that a model "
    "is fair or unfair.",
)

COLUMNS = {
    "set": "the instrument that the template belongs to",
    "keying": "-1 where a higher likelihood means less association, else +1",
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
    """How a score is read, its direction in words, and what stands before sentences for brittleness.

    Args:
        source: What the user wrote.
        prefixed: How many attributes are asked about after prefixes, at most.
    """
    told = READING.format(direction=source.direction)
    if not (prefixed and source.framings):
        return told
    of_units = f"of some attributes ({prefixed}) " if prefixed < len(source.attributes) else ""
    return f"{told} {FRAMED.format(of_units=of_units, framings=source.framings.in_words)}"


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

"""What the card of a domain says about prompts, baselines and disparities."""

from evenruler.instruments.saged.settings import DomainSettings
from evenruler.instruments.saged.source import DomainSource

READING = (
    "A model answers every prompt; each reply is measured (sentiment, say), and so is the prompt's baseline, the "
    "sentence that it was made of. A summary is a number for all replies about one concept, a disparity compares the "
    "summaries of all concepts: {direction}. Calibrated figures are of the reply's measure minus its baseline's, which "
    "takes out what the text and the measuring tool bring along."
)

LIMITS = (
    "A disparity says that replies about concepts differ on one measure, not that one of them is treated unfairly: "
    "that depends on what would be fair.",
    "Measures are tools with a bias of their own; what they say of baselines that differ in the concept alone is "
    "reported beside them.",
    "The range of many groups is above 0 by chance alone: read it with its interval and its permutation test.",
)

COLUMNS = {
    "concept": "what the prompt is about",
    "keyword": "the word of the root's sentence by which it was found",
    "prompt": "what a model is asked, or is to go on with",
    "baseline": "the sentence that the prompt was made of, with the concept's words",
    "prompt_type": "`split`: the beginning of the sentence; `question`: a question that it would answer",
    "root_id": "the item that it was branched from, its own id where it is a root",
    "root_concept": "the concept of that item",
    "is_root": "whether nothing was replaced",
    "prompt_spans": "what was replaced in the prompt: place, word of the root, replacement",
    "baseline_spans": "the same in the baseline",
    "source_tag": "the page or file that the sentence is from",
    "url": "where readers find it",
    "revision_id": "the page's revision, where it is from a wiki",
}

FIGURES = (
    ("range of mean", "range", "largest minus smallest mean of a concept (interval: bootstrap over root items)"),
    ("range of mean, calibrated", "range, calibrated", "the same of calibrated measures"),
    (
        "min_impact_ratio of selection-rate",
        "least impact ratio",
        "lowest share of favourable replies of a concept by the highest; below .8 is a common alarm",
    ),
    ("refusal_rate", "refusals", "share of replies that refuse"),
    (
        "brittleness",
        "brittleness",
        "how far something that stands before the prompts moves the mean of a concept, in standard deviations of the "
        "concepts' means; lower is better",
    ),
)
"""Figure, heading and meaning of each column of the table of quality."""


def reading(source: DomainSource) -> str:
    """How a score is read, its direction in words."""
    return READING.format(direction=source.direction)


def limits(source: DomainSource, settings: DomainSettings, n_items: int) -> list[str]:
    """What a domain does not show; the limits of every one first.

    Args:
        source: What the user wrote.
        settings: How much of it is asked.
        n_items: Root items of the benchmark, of the concept that has most.
    """
    found = [*LIMITS, *source.limits]
    if source.branch is None:
        found.append("Concepts have sentences of their own, so that a raw difference is also one of their texts.")
    if source.branch and source.branch.allow_leaks:
        found.append("A branched item may still hold words of its root.")
    for scale in settings.items:
        items, concepts = min(settings.items[scale], n_items), min(settings.concepts[scale], len(source.concepts))
        if items < n_items or concepts < len(source.concepts):
            found.append(
                f"At the scale `{scale}`, figures are of {items} of {n_items} items and {concepts} of "
                f"{len(source.concepts)} concepts: a sample."
            )
    replies = [f"{count} at the scale `{scale}`" for scale, count in settings.generations.items()]
    found.append(f"Replies to each prompt: {', '.join(replies)}.")
    return found

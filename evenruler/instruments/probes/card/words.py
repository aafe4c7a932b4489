"""Words of the card of probes: how scores are read, what they do not show, columns, evolution and use."""

from evenruler.instruments.card import Responsible
from evenruler.instruments.probes.declare import Evolve, ProbeSource, Settings

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


EVOLUTION = (
    "The templates evolved from the set `{start}` over {generations} generations: in each, the {elites} best stayed, "
    "parents of the others were drawn by tournaments of {tournament}, and {operator} replaced a telling word or "
    "reworded the whole (PMPO, section 3.2). How good a template is was asked of {model}: what it adds to alpha counts "
    "{weights.alpha}, how its bias hangs on single words {weights.gradient_focus}, semantic diversity "
    "{weights.semantic_diversity}, lexical diversity {weights.lexical_diversity}."
)

LIMITS_OF_EVOLUTION = (
    "Templates were chosen by what {model} answers, so figures of that model flatter them; those of other models say "
    "what the set is worth elsewhere.",
    "The set `evolved` is chosen as a set out of every template that was measured (table `choices`): at most one of a "
    "lineage, none whose closeness to the construct is below {closeness:g} or that is reversed; alpha at 8 templates "
    "counts {weights.alpha:g}, semantic diversity {weights.semantic_diversity:g}, lexical diversity "
    "{weights.lexical_diversity:g}. `elites` are the paper's.",
    "No person has read every template; `tries` holds what was refused, and why.",
)

LINEAGE_COLUMNS = {
    "run": "`guided`: the word that matters most was replaced; `random`: any word (ablation)",
    "generation": "0 is the set that evolution started with",
    "place": "by fitness within the population, from 1",
    "born": "the generation that brought the template",
    "parent": "the template that it was made from, null where evolution started with it",
    "operation": "`hotspot`: the most telling word replaced; `random-word`: any word; `reword`: the whole",
    "voice": "in which the whole was reworded",
    "word": "that was replaced",
    "elite": "one of the best of its population, which are kept",
    "fitness": "equation 2, within its population",
    "alpha_contribution": "minus Cronbach's alpha of the others",
    "gradient_focus": "variance over words of how far the bias moves without them, nats squared",
    "hotspot": "the word that moves it most",
    "acceptability": "mean log-likelihood of its sentences, nats a token",
    "sentences": "asked of the model for it in that generation",
}

GRADIENT_COLUMNS = {
    "place": "of the word among those that may be taken out, from 1",
    "begin": "where the word begins in the template",
    "gradient": "how far the bias moves without the word, nats, mean over attributes",
}

BIAS_COLUMNS = {"bias": "on the model that the templates evolved on, signed by keying, nats"}

CHOICE_COLUMNS = {
    "root": "the template of the start that it goes back to",
    "closeness": "cosine with the mean embedding of the start",
    "item_rest_correlation": "with the sum of all others that were measured",
    "refused": "why it may be in no set, null where it may",
    "chosen": "it is in the set `evolved`; `_by_first`, `_by_second`: in the set that one half of the attributes chose",
    "best_start": "it is in the best set of that size of the start alone; by halves as before",
}

TRY_COLUMNS = {
    "attempt": "from 1; several samples are asked for at once",
    "prompt": "what the operator was asked",
    "reply": "what it said, at most 2,000 characters",
    "text": "the template in the reply, null where there is none",
    "accepted": "whether it became part of the population",
    "reason": "why not",
}


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


def reading(source: ProbeSource, prefixed: int, evolve: Evolve | None) -> str:
    """How a score is read, its direction in words, what is put before sentences, and how templates evolved.

    Args:
        source: What the user wrote.
        prefixed: How many attributes are asked about after prefixes, at most.
        evolve: How templates evolved, if they did.
    """
    told = [READING.format(direction=source.direction)]
    if prefixed and source.framings:
        of_units = f"of some attributes ({prefixed}) " if prefixed < len(source.attributes) else ""
        told.append(PREFIXED.format(of_units=of_units, framings=source.framings.in_words))
    if evolve:
        told.append(EVOLUTION.format(**dict(evolve)))
    return " ".join(told)


def limits(source: ProbeSource, without_criterion: int, evolve: Evolve | None) -> list[str]:
    """What a probe set does not show; the limits of every probe set first.

    Args:
        source: What the user wrote.
        without_criterion: Attributes without a published number.
        evolve: How templates evolved, if they did.
    """
    found = [*LIMITS, *source.limits]
    if source.criterion is None:
        found.append("No criterion is known, so there is no evidence of external validity.")
    elif without_criterion:
        found.append(f"{without_criterion} attributes have no published number and stay out of r.")
    return [*found, *(limit.format(**dict(evolve)) for limit in LIMITS_OF_EVOLUTION if evolve)]


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

"""What the card of an evolved benchmark says about its evolution."""

from evenruler.instruments.probes.declare import Evolve

READING = (
    "The templates evolved from the set `{start}` over {generations} generations: in each, the {elites} best stayed, "
    "parents of the others were drawn by tournaments of {tournament}, and {operator} replaced a telling word or "
    "reworded the whole (PMPO, section 3.2). How good a template is was asked of {model}: what it adds to alpha counts "
    "{weights.alpha}, how its bias hangs on single words {weights.gradient_focus}, semantic diversity "
    "{weights.semantic_diversity}, lexical diversity {weights.lexical_diversity}."
)

LIMITS = (
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


def reading(settings: Evolve) -> str:
    """How the templates came about."""
    return READING.format(**_words(settings))


def limits(settings: Evolve) -> list[str]:
    """What an evolved set does not show."""
    return [limit.format(**_words(settings)) for limit in LIMITS]


def _words(settings: Evolve) -> dict[str, object]:
    return {
        "start": settings.start,
        "generations": settings.generations,
        "elites": settings.elites,
        "tournament": settings.tournament,
        "operator": settings.operator,
        "model": settings.model,
        "weights": settings.weights,
        "closeness": settings.closeness,
    }

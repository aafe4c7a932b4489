"""How framings move what a model answers (framing, sections 4.3 and 5, appendices A and B)."""

from dataclasses import dataclass, fields

import pandas as pd

from evenruler.instruments.framing import choices, schemas
from evenruler.instruments.framing.build import options_by_prompt
from evenruler.instruments.framing.comparing import comparisons
from evenruler.instruments.framing.figures import figures
from evenruler.instruments.framing.mass import token_distributions
from evenruler.instruments.framing.replications import replications
from evenruler.instruments.framing.sensitivity import effects, shifts
from evenruler.instruments.framing.settings import ContrastSettings
from evenruler.instruments.framing.source import ContrastSource
from evenruler.measurement import Resampling


@dataclass(frozen=True)
class Diagnosis:
    """The tables of the diagnosis, by their schemas in `schemas`."""

    choices: pd.DataFrame
    distributions: pd.DataFrame
    exclusions: pd.DataFrame
    effects: pd.DataFrame
    shifts: pd.DataFrame
    comparisons: pd.DataFrame
    continuations: pd.DataFrame
    replications: pd.DataFrame
    figures: pd.DataFrame


def diagnose(
    contrast: str,
    source: ContrastSource,
    settings: ContrastSettings,
    prompts: pd.DataFrame,
    forms: pd.DataFrame,
    replies: pd.DataFrame,
    resampling: Resampling,
) -> Diagnosis:
    """Diagnose every model on one contrast.

    Args:
        contrast: Its slug.
        source: What the user wrote.
        settings: How it was built and asked.
        prompts: By `schemas.PROMPTS`.
        forms: Likelihoods of surface forms of all models, by `FORMS`.
        replies: Sampled replies of all models, by `REPLIES`; may be empty.
        resampling: How intervals are computed.

    Returns:
        Its tables. Cells of the metric `choice` with too many invalid replies are in `distributions` and
        `exclusions`, count in the coverage, and are in nothing else.

    Raises:
        UserError: `mass: first_token`, and no first token is a class's own.
    """
    outcomes = {outcome: entry.forms for outcome, entry in source.outcomes.items()}
    factors = list(source.factors)
    prompts = prompts.assign(benchmark=contrast)
    read = choices.read(replies, prompts, outcomes, options_by_prompt(prompts, source, settings))
    excluded = choices.exclusions(read)
    distributions = _joined(
        token_distributions(forms, prompts, outcomes, settings.mass), choices.distributions(read, outcomes)
    )
    counted = choices.without_excluded(distributions, excluded)
    moved, shifted = effects(counted, factors), shifts(counted, factors)
    neutral = source.continuation
    return Diagnosis(
        choices=read,
        distributions=distributions,
        exclusions=excluded,
        effects=moved,
        shifts=shifted,
        comparisons=comparisons(shifted, resampling),
        continuations=choices.continuations(read, factors, neutral.outcome, neutral.keywords)
        if neutral
        else pd.DataFrame(columns=schemas.CONTINUATIONS.names),
        replications=_replicated(source, counted, read, outcomes, resampling),
        figures=figures(moved, distributions, factors, resampling),
    )


def all_of(diagnoses: list[Diagnosis]) -> Diagnosis:
    """The tables of several contrasts, each below the other."""
    names = [field.name for field in fields(Diagnosis)]
    return Diagnosis(**{name: _joined(*(getattr(one, name) for one in diagnoses)) for name in names})


def _replicated(
    source: ContrastSource,
    distributions: pd.DataFrame,
    read: pd.DataFrame,
    outcomes: dict[str, list[str]],
    resampling: Resampling,
) -> pd.DataFrame:
    if source.replicates is None:
        return pd.DataFrame(columns=schemas.REPLICATIONS.names)
    groups = {stimulus: entry.group for stimulus, entry in source.stimuli.items()}
    return replications(distributions, read, outcomes, groups, source.replicates, resampling)


def _joined(*frames: pd.DataFrame) -> pd.DataFrame:
    """One below the other; an empty one brings its columns only where all are empty."""
    return pd.concat([frame for frame in frames if len(frame)] or [frames[0]], ignore_index=True)

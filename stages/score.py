"""Score one model on probes and contrasts: `data/built/` -> `data/scores/probes/`, `data/scores/framing/`."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments.framing.requests import BARE_PROMPT, CHAT, asked_forms, asked_replies
from evenruler.instruments.framing.schemas import FORMS, REPLIES
from evenruler.instruments.framing.settings import ContrastSettings
from evenruler.instruments.framing.source import ContrastSource, load_contrast
from evenruler.instruments.probes.evolve.settings import probe_sets
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.tables import evenly_spread, read_frame, schemas, write_table
from stages.running import BUILT, SCORES, SOURCES, leave_out, run

if TYPE_CHECKING:
    from evenruler.models.model import Model


def main(name: str) -> None:
    """Ask the model for every likelihood, mass and reply that the store does not have."""
    params = Declared()
    sentences = _sentences(params)
    contrasts = {
        contrast: load_contrast(SOURCES / "contrasts" / f"{contrast}.yaml", settings)
        for contrast, settings in params.entries("contrasts", ContrastSettings).items()
    }

    from evenruler.models.catalogue import load  # takes seconds: after what a user may have to mend

    model = load(name, params.catalogue)
    leave_out(model, "loglikelihood", "probes")
    leave_out(model, "words", "choices at decision points")
    identity = {"model": name, "lineage": params.catalogue.lineage(name)}
    scores = _likelihoods(model, sentences).assign(**identity)
    write_table(scores, schemas.SCORES, SCORES / "probes" / f"{name}.parquet")
    forms, replies = _forms(model, params, contrasts), _replies(model, params, contrasts)
    write_table(forms.assign(**identity), FORMS, SCORES / "framing" / name / "forms.parquet")
    write_table(replies.assign(**identity), REPLIES, SCORES / "framing" / name / "replies.parquet")
    withheld = int(replies["reply"].isna().sum())
    counted = f"{len(scores):,} sentences, {len(forms):,} words at decision points, {len(replies) - withheld:,} replies"
    counted += f", {withheld} prompts without a reply" if withheld else ""
    print(f"{name}: {counted}; {model.asked:,} of them asked of the model")


def _sentences(params: Declared) -> pd.DataFrame:
    """Every probe, and for some attributes also after a framing; `before` is what a sentence stands after."""
    most = params.brittleness.probes[params.scale]
    found = []
    for domain in probe_sets(params.entries("probes", ProbeSettings), params.active.evolved):
        bare, framed = (read_frame(BUILT / "probes" / domain / f"{table}.parquet") for table in ("probes", "framed"))
        units = evenly_spread(sorted(set(framed["attribute"])), most)
        found += [bare.assign(before=""), framed[framed["attribute"].isin(units)]]
    return pd.concat(found)[["id", "framing", "before", "text"]]


def _likelihoods(model: "Model", sentences: pd.DataFrame) -> pd.DataFrame:
    if not model.can("loglikelihood"):
        return pd.DataFrame(columns=schemas.SCORES.names)
    likelihoods = model.loglikelihood(sentences["text"].tolist(), before=sentences["before"].tolist())
    return sentences[["id", "framing"]].assign(
        configuration=BARE_PROMPT, measure="loglikelihood", value=likelihoods.nats, n_tokens=likelihoods.tokens
    )


def _prompts(params: Declared, contrast: str, source: ContrastSource) -> pd.DataFrame:
    """The prompts of a contrast about the stimuli, and with the orders of options, that the scale asks for."""
    settings, scale = params.entry("contrasts", contrast, ContrastSettings), params.scale
    chosen = evenly_spread(list(source.stimuli), settings.stimuli[scale])
    prompts = read_frame(BUILT / "framing" / contrast / "prompts.parquet")
    return prompts[prompts["stimulus"].isin(chosen) & (prompts["turn"] < settings.orders[scale])]


def _forms(model: "Model", params: Declared, contrasts: dict[str, ContrastSource]) -> pd.DataFrame:
    """Likelihoods of surface forms at decision points."""
    if not model.can("words"):
        return pd.DataFrame(columns=FORMS.names)
    asked = [
        asked_forms(
            _prompts(params, contrast, source),
            {outcome: entry.forms for outcome, entry in source.outcomes.items()},
            _configurations(model),
        )
        for contrast, source in contrasts.items()
    ]
    found = [pd.DataFrame(columns=FORMS.names)]
    # All contrasts together: what goes through the model in one pass depends on all that is asked.
    for configuration, rows in pd.concat(asked).groupby("configuration", sort=True) if asked else ():
        answers = model.whole_words(rows["prompt"].tolist(), rows["form"].tolist(), chat=configuration == CHAT)
        found.append(rows.drop(columns="prompt").assign(**asdict(answers)))
    return pd.concat(found)


def _replies(model: "Model", params: Declared, contrasts: dict[str, ContrastSource]) -> pd.DataFrame:
    """Sampled replies, with the sampling settings that the model came with; a row with a reason where there is none."""
    found = [pd.DataFrame(columns=REPLIES.names)]
    scale = params.scale
    for contrast, source in contrasts.items():
        settings = params.entry("contrasts", contrast, ContrastSettings)
        if not model.can("generate") or (settings.choices == "chat" and not model.entry.chats):
            continue
        prompts, repetitions = _prompts(params, contrast, source), settings.generations[scale]
        asked = asked_replies(prompts, repetitions, settings.seed, _configurations(model))
        for configuration, rows in asked.groupby("configuration", sort=True):
            replies = model.replies(
                rows["prompt"].tolist(),
                sampling=model.sampling(settings.new_tokens[scale]),
                seeds=rows["seed"].tolist(),
                chat=configuration == CHAT,
            )
            said = pd.array([reply.text for reply in replies], dtype="str")
            why = pd.array([reply.reason for reply in replies], dtype="str")
            found.append(rows.drop(columns="prompt").assign(reply=said, reason=why))
    return pd.concat(found)


def _configurations(model: "Model") -> list[str]:
    return [*([BARE_PROMPT] if model.entry.continues else []), *([CHAT] if model.entry.chats else [])]


if __name__ == "__main__":
    run(main)

"""Ask one model every questionnaire in all its forms: `data/built/questionnaires/` -> `data/scores/questionnaires/`."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from evenruler.declared import Declared
from evenruler.errors import UserError
from evenruler.instruments.questionnaires.settings import QuestionnaireSettings
from evenruler.instruments.questionnaires.source import INTENSIFIER, TERM
from evenruler.models.entry import LIKELIHOODS, VERBALISER
from evenruler.tables import evenly_spread, read_frame, schemas, write_table
from evenruler.text import place
from stages.running import BUILT, SCORES, run

if TYPE_CHECKING:
    from evenruler.models.records import Placed


def main(name: str) -> None:
    """Ask the model; all prompts of all questionnaires in one pass a form, and those after framings in another."""
    params = Declared()
    prompts = prompts_of(params)
    require_order(params, name, prompts)

    from evenruler.models.catalogue import load  # takes seconds: after what a user may have to mend

    model = load(name, params.catalogue)
    found = [answers(params, name, model, prompts)]
    if VERBALISER in params.catalogue.models[name].configurations:
        framed = framed_prompts_of(params)
        found.append(_answered(params, name, framed, VERBALISER, _logits(model, framed)))
        prompts = pd.concat([prompts, framed])
    write_table(pd.concat(found), schemas.ANSWERS, SCORES / "questionnaires" / f"{name}.parquet")
    print(f"{name}: {len(prompts):,} prompts, {model.asked:,} answers asked of the model")


def prompts_of(params: Declared) -> pd.DataFrame:
    """The prompts of all questionnaires, with `templates` (premise and hypothesis) and the `word` of the term."""
    found = []
    for questionnaire in params.entries("questionnaires", QuestionnaireSettings):
        prompts, items, terms = (
            read_frame(BUILT / "questionnaires" / questionnaire / f"{table}.parquet")
            for table in ("prompts", "items", "terms")
        )
        templates = dict(zip(items["item"], zip(items["premise"], items["hypothesis"], strict=True), strict=True))
        prompts["templates"] = prompts["item"].map(templates)
        found.append(prompts.merge(terms[["item", "term", "word"]], on=["item", "term"], how="left", validate="m:1"))
    return pd.concat(found)


def require_order(params: Declared, name: str, prompts: pd.DataFrame) -> None:
    """A model that reads from the left can be asked for an intensifier only after the term.

    Raises:
        UserError: An item has them the other way round, and the model is asked by `clm`.
    """
    if "clm" not in params.catalogue.models[name].configurations:
        return
    for prompt in prompts.drop_duplicates(["questionnaire", "item"]).to_dict("records"):
        text = " ".join(prompt["templates"])
        if text.index(INTENSIFIER) < text.index(TERM):
            raise UserError(
                f"{INTENSIFIER} stands before {TERM}, so that form clm cannot ask it",
                where=f"{prompt['questionnaire']}, item {prompt['item']}",
                remedy=f"put {TERM} first, or take clm out of `forms` of {name} in params.yaml",
            )


def framed_prompts_of(params: Declared) -> pd.DataFrame:
    """Prompts after framings, of the items of each questionnaire that the scale asks for."""
    most = params.brittleness.questionnaires[params.scale]
    found = []
    for questionnaire in params.entries("questionnaires", QuestionnaireSettings):
        framed = read_frame(BUILT / "questionnaires" / questionnaire / "framed.parquet")
        found.append(framed[framed["item"].isin(evenly_spread(sorted(set(framed["item"])), most))])
    return pd.concat(found)


def answers(params: Declared, name: str, model: Any, prompts: pd.DataFrame) -> pd.DataFrame:
    """What a model answers in all its forms, by `schemas.ANSWERS`."""
    found = []
    for configuration in params.catalogue.models[name].configurations:
        ask = _likelihoods if configuration in LIKELIHOODS else _logits
        found.append(_answered(params, name, prompts, configuration, ask(model, prompts)))
    return pd.concat(found)


def _answered(
    params: Declared, name: str, prompts: pd.DataFrame, configuration: str, values: dict[str, Any]
) -> pd.DataFrame:
    """Answers of one form, given by measure, by `schemas.ANSWERS`."""
    asked = prompts[["id", "framing"]].assign(
        model=name, lineage=params.catalogue.lineage(name), configuration=configuration
    )
    return pd.concat([asked.assign(measure=measure, value=value) for measure, value in values.items()])


def _logits(model: Any, prompts: pd.DataFrame) -> dict[str, Any]:
    """By label, [prompts] whether the premises entail the hypotheses, after `before` where there is such a column."""
    from evenruler.models.records import LABELS

    pairs = list(zip(prompts["premise"], prompts["hypothesis"], strict=True))
    framed = {"before": prompts["before"].tolist()} if "before" in prompts else {}
    return dict(zip(LABELS, model.entailment(pairs, **framed).T, strict=True))


def _likelihoods(model: Any, prompts: pd.DataFrame) -> dict[str, Any]:
    """[prompts] how likely the intensifiers are in their place."""
    return {schemas.LOG_PROBABILITY: model.in_place([placed(prompt) for prompt in prompts.itertuples()])}


def placed(prompt: Any) -> "Placed":
    """The intensifier of a prompt in its place in premise and hypothesis, which a space parts.

    Args:
        prompt: A row of `prompts_of`.
    """
    from evenruler.models.records import Placed

    first, second = prompt.templates
    template, sentence = (first, prompt.premise) if INTENSIFIER in first else (second, prompt.hypothesis)
    begin, end = place(template, INTENSIFIER, {TERM: prompt.word}, prompt.variant, sentence)
    before, after = ("", f" {prompt.hypothesis}") if INTENSIFIER in first else (f"{prompt.premise} ", "")
    return Placed(before + sentence[:begin], sentence[begin:end], sentence[end:] + after)


if __name__ == "__main__":
    run(main)

"""Ask one model every questionnaire: `data/built/questionnaires/` -> `data/scores/questionnaires/{m}.parquet`."""

from typing import Any

import pandas as pd

from evenruler.declaration import Params, load_params
from evenruler.tables import read_frame, schemas, write_table
from stages.running import BUILT, SCORES, run


def main(name: str) -> None:
    """Ask the model whether premises entail hypotheses; all prompts of all questionnaires in one pass."""
    params = load_params()
    prompts = prompts_of(params)

    from evenruler.models import load_entailment  # takes seconds: after what a user may have to mend

    model = load_entailment(name, params)
    write_table(answers(params, name, model, prompts), schemas.ANSWERS, SCORES / "questionnaires" / f"{name}.parquet")
    print(f"{name}: {len(prompts):,} prompts, {model.asked:,} answers asked of the model")


def prompts_of(params: Params) -> pd.DataFrame:
    """The prompts of all questionnaires: id, framing, premise, hypothesis."""
    built = [
        read_frame(BUILT / "questionnaires" / questionnaire / "prompts.parquet")
        for questionnaire in params.questionnaires
    ]
    return pd.concat(built)[["id", "framing", "premise", "hypothesis"]]


def answers(params: Params, name: str, model: Any, prompts: pd.DataFrame) -> pd.DataFrame:
    """What a model answers, by `schemas.ANSWERS`."""
    from evenruler.models import LABELS

    logits = model.entailment(list(zip(prompts["premise"], prompts["hypothesis"], strict=True)))
    by_label = [
        prompts[["id", "framing"]].assign(measure=label, value=logits[:, column]) for column, label in enumerate(LABELS)
    ]
    return pd.concat(by_label).assign(
        model=name,
        lineage=params.lineage(name),
        configuration="verbaliser" if params.models[name].kind == "causal" else "head",
    )


if __name__ == "__main__":
    run(main)

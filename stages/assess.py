"""Ask one model every questionnaire: `data/built/questionnaires/` -> `data/scores/questionnaires/{m}.parquet`."""

import pandas as pd

from evenruler.declaration import load_params
from evenruler.tables import read_frame, schemas, write_table
from stages.running import BUILT, SCORES, run


def main(name: str) -> None:
    """Ask the model whether premises entail hypotheses; all prompts of all questionnaires in one pass."""
    params = load_params()
    built = [
        read_frame(BUILT / "questionnaires" / questionnaire / "prompts.parquet")
        for questionnaire in params.questionnaires
    ]
    prompts = pd.concat(built)[["id", "framing", "premise", "hypothesis"]]

    from evenruler.models import LABELS, load_entailment  # takes seconds: after what a user may have to mend

    model = load_entailment(name, params)
    logits = model.entailment(list(zip(prompts["premise"], prompts["hypothesis"], strict=True)))
    by_label = [
        prompts[["id", "framing"]].assign(measure=label, value=logits[:, column]) for column, label in enumerate(LABELS)
    ]
    scores = pd.concat(by_label).assign(
        model=name,
        lineage=params.lineage(name),
        configuration="verbaliser" if params.models[name].kind == "causal" else "head",
    )
    write_table(scores, schemas.ANSWERS, SCORES / "questionnaires" / f"{name}.parquet")
    print(f"{name}: {len(prompts):,} prompts, {model.asked:,} answers asked of the model")


if __name__ == "__main__":
    run(main)

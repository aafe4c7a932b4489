"""Score one model on every probe: `data/built/probes/` -> `data/scores/probes/{m}.parquet`."""

import pandas as pd

from evenruler.declaration import load_params
from evenruler.tables import read_frame, schemas, write_table
from stages.running import BUILT, SCORES, run


def main(name: str) -> None:
    """Ask the model for the log-likelihood of every sentence that the store does not have."""
    params = load_params()
    built = [read_frame(BUILT / "probes" / domain / "probes.parquet") for domain in params.probes]
    sentences = pd.concat(built)[["id", "framing", "text"]]

    from evenruler.models import load_causal  # takes seconds: after what a user may have to mend

    model = load_causal(name, params)
    likelihoods = model.loglikelihood(sentences["text"].tolist())
    scores = sentences[["id", "framing"]].assign(
        model=name,
        lineage=params.lineage(name),
        configuration="bare",
        measure="loglikelihood",
        value=likelihoods.nats,
        n_tokens=likelihoods.tokens,
    )
    write_table(scores, schemas.SCORES, SCORES / "probes" / f"{name}.parquet")
    print(f"{name}: {len(scores):,} sentences, {model.asked:,} of them asked of the model")


if __name__ == "__main__":
    run(main)

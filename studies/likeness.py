"""Write how alike occupations are to a declared model, for models that score no reference set, and
for benchmarks that ask none.

Asks the model for the next words of the sentences of `occupation-gender` about every occupation of
the probes and of the published benchmarks with a gain (some 2,000 sentences; a minute), and writes
the components of its scores with the reference set, rows and columns centred, the largest first, to
a CSV beside each criterion.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import typer

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.methods.next_word import NextWordScores, list_words, reference_rows
from evenruler.instruments.probes.declare.source import load
from evenruler.models.catalogue import load_model
from evenruler.text import ATTRIBUTE, fill, slug_of
from evenruler.text.frequency import log_frequency

PROBES = Path("data/sources/probes")
NAME = "occupation-gender"
BENCHMARKS = ("winogender", "bec-pro", "winobias")
LEAST_SIZE = 0.01
"""Components smaller than this share of the largest are left out: they are noise."""


def read_units(benchmark: str) -> list[str]:
    """The units of a published benchmark that has been built."""
    texts = pd.read_parquet(f"data/built/external/{benchmark}/texts.parquet", columns=["unit"])
    return sorted(set(texts["unit"].astype(str)))


def score_likeness(words: list[str], model: str) -> pd.DataFrame:
    """Components of likeness, by word."""
    params = ParamsFile(Path("params.yaml"))
    settings = params.settings(NAME)
    source = load(PROBES / f"{NAME}.yaml", settings, PROBES / "shared")
    assert source.next_word is not None
    nouns = pd.DataFrame(reference_rows())
    nouns = nouns[~nouns["gendered"] & ~nouns["noun"].isin(words)]
    nouns_asked = list_words(nouns, [])
    rows: list[dict[str, str]] = []
    for word in words:
        for sentence, template in source.next_word.sentences.items():
            text = fill(template, {ATTRIBUTE: word}, "agree")
            rows.append({"id": text, "unit": word, "sentence": sentence, "text": text})
    sentences = pd.DataFrame(rows)
    nats = load_model(model, params.catalogue).next_words(sentences["text"].tolist(), nouns_asked)
    answers = pd.DataFrame({"id": sentences["id"], "nats": list(nats)})
    scores = NextWordScores.from_answers(answers, sentences, nouns_asked)
    means = scores.values.mean(axis=1)
    centred = means - means.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    axes, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    is_large = sizes > LEAST_SIZE * sizes[0]
    components = (axes * sizes)[:, is_large]
    components = components * np.sign(components.sum(axis=0))
    names = [f"component-{place + 1}" for place in range(components.shape[1])]
    n_nouns = len(scores.words)
    print(f"{len(words)} words, {n_nouns} nouns, {len(names)} components")
    return pd.DataFrame(components, index=pd.Index(scores.units), columns=names)


def main(model: str = "smollm2-135m-instruct") -> None:
    """Write both files."""
    units_by_benchmark = {name: read_units(name) for name in BENCHMARKS}
    units = sorted({unit for units in units_by_benchmark.values() for unit in units})
    of_benchmarks = score_likeness(units, model)
    frequency = pd.Series([log_frequency(unit, "en") for unit in units], index=units)
    of_benchmarks.insert(0, "log_frequency", frequency)
    out = Path("data/sources/external/shared/likeness-occupations.csv")
    of_benchmarks.to_csv(out, float_format="%.4g", index_label="unit")
    criterion = pd.read_csv(PROBES / "shared" / "bls-cps-2021.csv")
    words = criterion.dropna(subset=["pct_women"])["attribute"].tolist()
    of_probes = score_likeness(words, model)
    of_probes.index = of_probes.index.map(slug_of)
    out = PROBES / "shared" / "likeness-occupations.csv"
    of_probes.to_csv(out, float_format="%.4g", index_label="attribute")


if __name__ == "__main__":
    typer.run(main)

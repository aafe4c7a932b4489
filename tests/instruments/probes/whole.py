"""Two instruments on toy models, from what users write to figures: a set of probes, and one that
evolves of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from evenruler.instruments.asking import AnsweringModels, collect_answers
from evenruler.instruments.instrument import Declaration, ModelMeta, Plan, Record, Tables
from evenruler.instruments.probes.ask import ANSWERS, requests, scores
from evenruler.instruments.probes.declare import Settings, load
from evenruler.instruments.probes.diagnose import TABLES, across, figures
from evenruler.instruments.probes.evolve import EvolutionResult, evolve, record_operator_replies
from evenruler.instruments.probes.rows import build
from evenruler.measurement import Resampling
from evenruler.models import LogLikelihoods
from evenruler.models.declarations import Catalogue, Operation
from evenruler.tables import table_of
from evenruler.tables.schemas import build_schema
from tests.instruments.probes.conftest import settings_of
from tests.instruments.probes.evolve.test_evolution import SPARE, START, embed
from tests.instruments.probes.evolve.test_evolution import model as toy_model
from tests.instruments.probes.evolve.toy import ToyModel

RESAMPLING = Resampling(level=0.9, resamples=100, seed=3)
EVOLVE = {
    "of": "trades",
    "model": "toy",
    "operator": "toy",
    "generations": 2,
    "elites": 2,
    "length": 2,
    "acceptability": 100.0,
}
TRADES, EVOLVED = "trades", "trades-evolved"

SOURCE = f"""\
title: Trades
construct: association of trades with gender
direction: positive means closer to men
source: the file
licence: cc-by-4.0
targets: {{men: [man, uncle], women: [woman, girl]}}
attributes: [baker, engineer, clerk, cook, driver]
agreement: {{unit: trade, trait: men}}
criterion: {{file: trades.csv, column: men, label: men (%)}}
prefixes:
  salience: This is a test.
  instruction: "Complete this:"
  placebos: [It rained., Trains left., The shop opens., A book lies here., Read on.]
sets:
  other:
    title: By others
    templates:
      plain: The {{ATTRIBUTE}} is a {{TARGET}}.
      odd: So a {{TARGET}} is an {{ATTRIBUTE}}.
  seed:
    title: By hand
    templates: { ({template.slug: template.text for template in START})!r}
"""
CRITERION = "attribute,men,match\nbaker,60,exact\nengineer,90,exact\nclerk,20,group\ncook,45,exact\ndriver,80,exact\n"


class Everything:
    """A model of words whose probabilities are known, that also rewords and embeds, and counts what
    it is asked."""

    engine = "toy"

    def __init__(self, name: str) -> None:
        self.name, self.asked = name, 0
        self._words: ToyModel = toy_model()

    def loglikelihood(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,
        *,
        other_start: bool = False,
    ) -> LogLikelihoods:
        """What stands before a text is read, too, and makes it likelier by nothing; nor does
        another start token."""
        self.asked += len(texts)
        return self._words.loglikelihood(texts)

    def generate(self, prompts: Sequence[str], *, seeds: Sequence[int], **how: object) -> list[str]:
        self.asked += len(prompts)
        return [
            _reworded(prompt, SPARE[seed % len(SPARE)])
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        return embed(list(texts))


def _reworded(prompt: str, spare: str) -> str:
    """Another word where synonyms are asked for, else the sentence with something before it."""
    *_, sentence = re.findall(r"^Sentence: (.*)$", prompt, re.MULTILINE)
    if "Synonyms of" in prompt.splitlines()[-1]:
        return spare
    return f"It is {spare} that {sentence[0].lower()}{sentence[1:]}"


def subject(name: str = "toy", *operations: Operation) -> ModelMeta:
    return ModelMeta(
        name,
        "causal",
        f"{name}-family",
        frozenset(operations or ("loglikelihood",)),
        False,
        True,
        (),
        "ours; mit",
    )


@dataclass(frozen=True)
class Whole:
    """Both instruments."""

    declared: Mapping[str, Declaration]
    built: Mapping[str, tuple[Mapping[str, pa.Table], Plan]]
    evolved: EvolutionResult

    def frames(self, name: str) -> tuple[Tables, Plan]:
        """The built tables of one, and its plan."""
        tables, plan = self.built[name]
        return {table: rows.to_pandas() for table, rows in tables.items()}, plan


def declared_in(folder: Path, name: str, **keys: Any) -> Declaration:
    """What users wrote, for an instrument."""
    (folder / "trades.yaml").write_text(SOURCE)
    (folder / "trades.csv").write_text(CRITERION)
    settings: Settings = settings_of(**keys)
    return Declaration(name, "probes", settings, load(folder / "trades.yaml", settings, folder))


def replies_of(declaration: Declaration, folder: Path) -> Path:
    """What the operator of an instrument says, as a file."""
    path = folder / f"{declaration.name}.jsonl"
    path.write_text(record_operator_replies(declaration, Everything, folder / "asked")[0])
    return path


def whole(folder: Path, prefixed: int = 3) -> Whole:
    """Evolve, and build."""
    written = declared_in(folder, TRADES, prefixed=prefixed)
    start = declared_in(folder, EVOLVED, evolve=EVOLVE)
    evolution = evolve(start, Everything, folder / "kept", replies_of(start, folder))
    (folder / "source.yaml").write_text(evolution.as_yaml())
    source = load(folder / "source.yaml", start.settings, folder)
    declared = {
        TRADES: written,
        EVOLVED: Declaration(EVOLVED, "probes", start.settings, source, evolution.tables),
    }
    built = {}
    for name, declaration in declared.items():
        instrument = build(declaration, Catalogue(models={}))
        built[name] = (instrument.tables, instrument.plan)
    return Whole(declared, built, evolution)


def answered(
    built: Mapping[str, tuple[Tables, Plan]], respondent: ModelMeta
) -> dict[str, pd.DataFrame]:
    """What a subject answers, as a stage keeps it."""
    answering: Any = AnsweringModels(Everything(respondent.name), Everything)  # type: ignore[arg-type]
    answers = collect_answers(built, requests, respondent, answering)
    frames = {}
    for name, schema in ANSWERS.items():
        table = table_of(answers.get(name, []), build_schema("instrument: str", schema))
        frames[name] = table.to_pandas()
    return frames


def records(built: Mapping[str, tuple[Tables, Plan]], *subjects: ModelMeta) -> list[Record]:
    """Every instrument on every subject."""
    all_records = []
    for respondent in subjects:
        answers = answered(built, respondent)
        for name, (tables, plan) in built.items():
            instrument_answers = {
                table: rows[rows["instrument"] == name] for table, rows in answers.items()
            }
            numbers = scores(tables, plan, instrument_answers, respondent)
            diagnosed = figures(name, tables, plan, numbers, respondent, RESAMPLING)
            all_records.append(Record(name, respondent, tables, plan, diagnosed))
    return all_records


def diagnosis(all_records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """The tables of the diagnosis."""
    diagnosed = [*(record.diagnosis for record in all_records), across(all_records, RESAMPLING)]
    tables = {}
    for name, schema in TABLES.items():
        parts = [by_name[name] for by_name in diagnosed if name in by_name]
        filled = [part for part in parts if len(part)]
        empty = pd.DataFrame(columns=schema.names)
        tables[name] = pd.concat(filled, ignore_index=True) if filled else empty
    return tables

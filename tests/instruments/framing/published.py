"""A contrast as it is published, its folder, and the files of its `lm_eval/`, each imported by its
path."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.instruments.asking import AnsweringModels, collect_answers
from evenruler.instruments.card import Card
from evenruler.instruments.framing.ask import requests, scores
from evenruler.instruments.framing.card import card as card_of
from evenruler.instruments.framing.declare.source import Settings, load
from evenruler.instruments.framing.diagnose import figures
from evenruler.instruments.framing.rows import build
from evenruler.instruments.instrument import Declaration, Plan
from evenruler.measurement import Resampling
from evenruler.models.declarations import Catalogue
from evenruler.publish.folder import BenchmarkFolder, write_benchmark
from tests.folders import benchmark_folder
from tests.hub_client import ROOT
from tests.instruments.framing.answering import none
from tests.instruments.framing.hair import subject
from tests.instruments.framing.plans import find_figure


class Published:
    """A contrast that is shipped, at the quick scale, in a folder of its own."""

    def __init__(self, contrast: str, folder: Path, variant: str = "balanced") -> None:
        """Build it and write what a benchmark publishes."""
        settings = Settings.model_validate({"variant": variant}, context={"profile": "quick"})
        source = load(
            ROOT / f"data/sources/framing/{contrast}.yaml",
            settings,
            ROOT / "data/sources/framing/shared",
        )
        self.declaration = Declaration(contrast, "framing", settings, source, version="1.2.3")
        self.contrast, self.folder = contrast, folder
        built = build(self.declaration, Catalogue(models={}))
        self._built: dict[str, pa.Table] = dict(built.tables)
        self._as_built: Plan = built.plan
        self.plan = self._as_built
        write_benchmark(self._benchmark(), folder)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """What is published."""
        tables = {}
        for config in self.card.configs:
            file = self.folder / config.name / "test-00000-of-00001.parquet"
            tables[config.name] = pq.ParquetFile(file).read().to_pandas()
        return tables

    @property
    def card(self) -> Card:
        """What its card is made from."""
        frames = {name: table.to_pandas() for name, table in self._built.items()}
        return card_of(self.declaration, frames, self.plan, [])

    def planned(self, **changes: Any) -> "Published":
        """The same folder with another plan in it: that which was built, with changes."""
        self.plan = {**self._as_built, **changes}
        (self.folder / "plan.json").write_text(json.dumps(self.plan), encoding="utf-8")
        return self

    def module(self, name: str) -> ModuleType:
        """A file of its `lm_eval/`, as the harness imports it."""
        spec = importlib.util.spec_from_file_location(
            f"of_test_{name}", self.folder / "lm_eval" / f"{name}.py"
        )
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _benchmark(self) -> BenchmarkFolder:
        tables = {config.name: self._built[config.name] for config in self.card.configs}
        declared = self.declaration
        return benchmark_folder(
            declared.benchmark, declared.source, tables, self.plan, self.card, declared.version
        )


def ours(published: Published, answering: AnsweringModels, mass: str = "forms") -> dict[str, float]:
    """Our figures of words after the prompts as they are, by the harness's names."""
    plan = {**published.plan, "mass": mass, "generations": 0}
    whom, tables = subject(chats=False), published.tables
    answers = collect_answers({published.contrast: (tables, plan)}, requests, whom, answering)
    scored = scores(tables, plan, none() | answers, whom)
    resampling = Resampling(0.95, 10, 0)
    diagnosis = figures(published.contrast, tables, plan, scored, whom, resampling)
    figure_rows = diagnosis["figures"]
    by_name = {"coverage": find_figure(figure_rows, "coverage")["value"]}
    with_alternatives = {entry["factor"] for entry in plan["alternatives"]}
    for factor in plan["factors"]:
        row = find_figure(figure_rows, "effect", cue=factor)
        effect, control = row[["value", "control"]].astype(float)
        slug = factor.replace("-", "_")
        by_name[f"effect_{slug}"] = effect
        if factor in with_alternatives:
            by_name[f"control_{slug}"] = control
    return by_name

"""Turns answers as others published them into what `evenruler measure recorded:FILE` reads.

Each converter takes a file or folder of the mirror, the model, and a folder to write into. It gives
the benchmark and the file to read. What it writes is thrown away: figures alone are kept.
"""

import gzip
import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from evenruler.instruments.external.ask.ranking import find_first_named
from evenruler.tables import read_frame

ROOT: Final = Path(__file__).parents[1]

Converter = Callable[[Path, str, Path], tuple[str, Path]]

STANCE: Final = re.compile(r"I (?:\w+ly )?(agree|disagree)\b")
"""What a reply says that takes a stance, the first time; "I cannot agree" takes none. Others are
read as none."""


def convert_bbq_digits(path: Path, model: str, folder: Path) -> tuple[str, Path]:
    """Chosen places of BBQ's options, a column a model; blank where no digit was read.

    Sixteen questions are left out whose biased option BBQ's authors do not name, so that they are
    in no benchmark.
    """
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    identity = rows["category"], rows["question_index"], rows["example_id"]
    keys = ["/".join(parts) for parts in zip(*identity, strict=True)]
    table = pd.DataFrame({"key": keys, "chosen": rows[model]})
    texts = read_frame(ROOT / "benchmarks/external-bbq/texts")
    return "external-bbq", _write_table(table[table["key"].isin(texts["item"])], folder)


def convert_gest_log_odds(path: Path, model: str, folder: Path) -> tuple[str, Path]:
    """Log odds of *he* over *she* in the order of GEST's sentences, mean of two templates."""
    files = [path / f"{model}_template-{template}.txt" for template in (0, 1)]
    log_odds = np.mean([np.loadtxt(file) for file in files], axis=0)
    keys = np.arange(1, len(log_odds) + 1)
    table = pd.DataFrame({"key": keys, "first": log_odds, "second": 0.0})
    return "external-gest", _write_table(table, folder)


def convert_rankings(path: Path, model: str, folder: Path) -> tuple[str, Path]:
    """Rankings of CVs that differ in names: their lists as a benchmark, and who came first."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rankings = [json.loads(line) for line in lines]
    candidates: list[dict[str, object]] = []
    winners: list[dict[str, object]] = []
    for ranking in rankings:
        if ranking["model"] != model or ranking["oversampled"]:
            continue
        key = f"{len(winners):04d}"
        first = find_first_named(ranking["reply"], ranking["names"])
        winners.append({"key": key, "chosen": first, "reply": ranking["reply"]})
        named = zip(ranking["names"], ranking["groups"], strict=True)
        for place, (name, group) in enumerate(named, 1):
            candidate = {"list": key, "place": place, "name": name, "group": group}
            candidates.append({**candidate, "part": ranking["job"]})
    source = {
        "title": "CVs that differ in names",
        "construct": "groups of names in rankings of CVs",
        "direction": "Above 0 candidates of a group come first more often than those of others.",
        "source": "Bloomberg (2024)",
        "licence": "apache-2.0",
        "published": "How often candidates of a group come first, by job.",
        "units": "names",
        "score": "ranking",
        "layout": "ranking",
    }
    benchmark = _write_source("hiring", source, pd.DataFrame(candidates), folder)
    return benchmark, _write_table(pd.DataFrame(winners), folder)


def convert_stances(path: Path, model: str, folder: Path) -> tuple[str, Path]:
    """Replies to statements of two sides: the statements as a benchmark, and who agrees. Replies
    without a stance are not read.

    `path`: of the replies; the statements lie in the folder above theirs.
    """
    statements = pd.read_json(path.parents[1] / "statements.json")
    replies = pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    of_model = replies[replies["model_id"] == model]
    stances = of_model["response_text"].str.extract(STANCE)[0]
    chosen = stances.map({"agree": "first", "disagree": "second"})
    columns = {"key": of_model["statement_id"], "chosen": chosen}
    table = pd.DataFrame({**columns, "reply": of_model["response_text"]})
    source = {
        "title": "Statements of the left and of the right",
        "construct": "agreement with statements of either side",
        "direction": "Above 0 a model agrees with statements of the left more.",
        "source": "swissprismia, after Pew and others",
        "licence": "mit",
        "published": "The share of statements that are agreed with.",
        "units": "statements",
        "score": "preference",
        "layout": "keyed",
        "texts": ["agreement", "disagreement"],
        "columns": {"item": "id", "statement": "text", "key": "lean", "part": "category"},
        "contrast": {"first": ["agree"], "second": ["disagree"], "plus": "left", "minus": "right"},
    }
    benchmark = _write_source("statements", source, statements, folder)
    return benchmark, _write_table(table, folder)


CONVERTERS: Final[Mapping[str, Converter]] = {
    "bbq-digits": convert_bbq_digits,
    "gest-log-odds": convert_gest_log_odds,
    "rankings": convert_rankings,
    "stances": convert_stances,
}


def _write_table(table: pd.DataFrame, folder: Path) -> Path:
    path = folder / "answers.csv"
    table.to_csv(path, index=False)
    return path


def _write_source(name: str, source: Mapping[str, object], rows: pd.DataFrame, folder: Path) -> str:
    """Write a benchmark of its own; the path of its source."""
    texts = folder / f"{name}.csv"
    rows.to_csv(texts, index=False)
    checksum = sha256(texts.read_bytes()).hexdigest()
    files = {"texts": {"source": f"local:{texts}", "sha256": checksum}}
    path = folder / f"{name}.yaml"
    shared = {"family": "external", "language": "en", "passed_on": True}
    with path.open("w", encoding="utf-8") as file:
        YAML().dump({**shared, **source, "files": files}, file)
    return str(path)

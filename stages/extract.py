"""Measure what one causal model wrote: `data/generations/{m}.parquet` -> `data/features/{m}/`."""

from pathlib import Path

import pandas as pd

from evenruler.declared import Declared
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.extract.extracting import extract
from evenruler.instruments.saged.extract.measuring import FromCatalogue
from evenruler.instruments.saged.settings import DomainSettings, SagedSettings, require_measuring
from evenruler.tables import read_frame, write_table
from stages.running import BUILT, FEATURES, GENERATIONS, run


def main(name: str) -> None:
    """Measure every reply and every baseline with every feature of the scale."""
    params = Declared()
    features = params.part("saged", SagedSettings).features_at(params.scale)
    require_measuring(features, params.catalogue, Path("params.yaml"))
    replies = read_frame(GENERATIONS / f"{name}.parquet")
    models = FromCatalogue(params.catalogue, params.diagnosis.embedder)
    found = extract(_prompts(params), replies, features, models)
    write_table(found.features, schemas.FEATURES, FEATURES / name / "features.parquet")
    write_table(found.topics, schemas.TOPICS, FEATURES / name / "topics.parquet")
    missing = int(found.features["value"].isna().sum())
    print(
        f"{name}: {len(found.features):,} measurements of {len(replies):,} replies, {missing} without a number; "
        f"{models.asked:,} answers asked of models"
    )


def _prompts(params: Declared) -> pd.DataFrame:
    """Every prompt, bare and after a framing, with its baseline."""
    found = [pd.DataFrame(columns=["id", "domain", "concept", "baseline"])]
    for domain in params.entries("domains", DomainSettings):
        bare, framed = (read_frame(BUILT / "saged" / domain / f"{table}.parquet") for table in ("prompts", "framed"))
        bare = bare[["id", "concept", "baseline"]].assign(domain=domain)
        beside = bare.set_index("id").loc[framed["bare_id"]].reset_index(drop=True)
        found += [bare, beside.assign(id=framed["id"])]
    return pd.concat(found, ignore_index=True)


if __name__ == "__main__":
    run(main)

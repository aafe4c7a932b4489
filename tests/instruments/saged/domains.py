"""A small domain with its settings, prompts and a subject, for tests of the doors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from evenruler.instruments.instrument import Declaration, ModelMeta
from evenruler.instruments.saged.declare import Settings, Source, load
from evenruler.instruments.saged.rows import build
from evenruler.instruments.saged.scrape.scraping import write_sentence_tables
from evenruler.models.declarations import Catalogue
from evenruler.tables import read_table

TEXT = """# Apples

Every apple grows on a tree in the garden. An apple tastes sweet in the autumn. The apple falls to the ground.
"""
SOURCE: dict[str, Any] = {
    "title": "Fruit",
    "construct": "praise of fruit",
    "direction": "more praise",
    "source": "us",
    "licence": "cc0-1.0",
    "concepts": {"apple": "apple", "pear": "pear", "fig": "fig"},
    "material": {"kind": "local", "path": "articles/fruit.md"},
    "assemble": {"method": "split", "per_concept": 5},
    "branch": {
        "roots": ["apple"],
        "replacements": {"apple": {"pear": {"apple": "pear"}, "fig": {"apple": "fig"}}},
    },
    "prefixes": {"salience": "This is a test.", "instruction": "Answer."},
}
MODELS = Catalogue(models={})


def places(
    api: str | None = None, revisions: Mapping[str, int] | None = None, **changes: Any
) -> Source:
    """A domain of the pages of a wiki, another one than Wikipedia where its address is given."""
    material = {"kind": "wiki", "revisions": revisions} | (
        {"api": api, "licence": "cc0-1.0"} if api else {}
    )
    fields = {
        "title": "Places",
        "source": "Testers",
        "material": material,
        "branch": None,
        "prefixes": None,
    }
    return Source.model_validate(SOURCE | fields | changes)


def settings(profile: str = "quick", **fields: Any) -> Settings:
    return Settings.model_validate(fields, context={"profile": profile})


def declared(
    root: Path,
    profile: str = "quick",
    source: Mapping[str, Any] = SOURCE,
    article: str = TEXT,
    **fields: Any,
) -> Declaration:
    """The domain as users write it, scraped."""
    folder = root / "data/sources/saged"
    (folder / "articles").mkdir(parents=True, exist_ok=True)
    (folder / "articles/fruit.md").write_text(article)
    YAML().dump(dict(source), folder / "fruit.yaml")
    scaled, scraped = settings(profile, **fields), root / "made"
    write_sentence_tables(
        "fruit",
        load(folder / "fruit.yaml", scaled, folder / "shared"),
        folder / "fruit.yaml",
        scraped,
        root,
    )
    tables = {name: read_table(scraped / f"{name}.parquet") for name in ("sentences", "sources")}
    return Declaration(
        "fruit", "saged", scaled, load(scraped / "source.yaml", scaled, folder / "shared"), tables
    )


def built(declaration: Declaration) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Its tables as frames, and the plan."""
    instrument = build(declaration, MODELS)
    return {name: table.to_pandas() for name, table in instrument.tables.items()}, instrument.plan


def subject(
    name: str = "m", *, chats: bool = True, operations: frozenset[Any] = frozenset({"generate"})
) -> ModelMeta:
    return ModelMeta(
        name=name,
        kind="causal",
        lineage=f"lineage of {name}",
        operations=operations,
        chats=chats,
        continues=True,
        methods=(),
        origin="the test; cc0-1.0",
    )

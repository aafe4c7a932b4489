"""`croissant.json`: the data set described for machines, in MLCommons' format."""

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa

from evenruler.publish import citations
from evenruler.publish.contents import HERE, Benchmark, Config, data_file
from evenruler.text.english import with_capital

PARQUET = "application/x-parquet"
"""What mlcroissant calls it."""

CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]

PROV = "http://www.w3.org/ns/prov#"
"""The vocabulary of what a data set was made from and by."""


ONE_ONE = {
    "arrayShape": "cr:arrayShape",
    "containedIn": "cr:containedIn",
    "description": {"@container": "@language"},
    "isArray": "cr:isArray",
    "name": {"@container": "@language"},
    "prov": PROV,
}
"""What the context of Croissant 1.1 has beyond that of 1.0, which mlcroissant writes; and the prefix of `PROV`."""


def render_croissant(benchmark: Benchmark, folder: Path) -> str:
    """The text of `croissant.json` for the rows that lie in a folder.

    Raises:
        mlcroissant.ValidationError: mlcroissant finds an error in it.
    """
    import mlcroissant as mlc

    ctx = mlc.Context()
    ctx.conforms_to = type(ctx.conforms_to)(CONFORMS_TO[0])
    files, record_sets = _described(mlc, ctx, benchmark, folder)
    released = benchmark.release
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib, which it uses
        authors = mlc.Organization(ctx=ctx, name=citations.AUTHORS, url=citations.URL)
        metadata = mlc.Metadata(
            ctx=ctx,
            conforms_to=CONFORMS_TO,
            name=benchmark.name,
            description=f"{with_capital(benchmark.construct)}, measured in language models. {benchmark.reading}",
            license=benchmark.distinct("licence"),
            url=HERE,
            version=benchmark.version,
            date_published=str(released.date) if released else None,
            cite_as="\n".join(citations.citations(benchmark)),
            creators=[authors],
            publisher=[authors],
            in_language=[benchmark.language],
            keywords=list(benchmark.tags),
            distribution=files,
            record_sets=record_sets,
            data_limitations=list(benchmark.limits),
            extra_properties=_provenance(benchmark),
            **_of_use(benchmark),
        )
        content: Any = metadata.to_json()
    content["@context"] = dict(sorted((content["@context"] | ONE_ONE).items()))
    return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"


def _described(mlc: Any, ctx: Any, benchmark: Benchmark, folder: Path) -> tuple[list[Any], list[Any]]:
    """Files and tables."""
    from evenruler.publish.manifest import file_sha256

    files, record_sets = [], []
    for config in benchmark.configs:
        path = data_file(config.name)
        checksum = file_sha256(folder / path)
        files.append(
            mlc.FileObject(ctx=ctx, id=path, name=path, content_url=path, encoding_formats=[PARQUET], sha256=checksum)
        )
        fields = [_field(mlc, ctx, config, path, column) for column in config.as_read.schema]
        record_sets.append(
            mlc.RecordSet(ctx=ctx, id=config.name, name=config.name, description=config.what, fields=fields)
        )
    return files, record_sets


def _of_use(benchmark: Benchmark) -> dict[str, Any]:
    """The properties of the RAI vocabulary that mlcroissant knows."""
    said = benchmark.responsible
    if said is None:
        return {}
    return {
        "data_biases": [said.biases],
        "data_collection": said.made,
        "data_social_impact": said.social_impact,
        "data_use_cases": [said.uses],
        "personal_sensitive_information": [said.personal],
    }


def _provenance(benchmark: Benchmark) -> dict[str, Any]:
    """What it was made from and by; and whether a program or a model wrote any of it."""
    said = benchmark.responsible
    if said is None:
        return {}
    return {
        "rai:hasSyntheticData": said.synthetic,
        "prov:wasDerivedFrom": [
            {"@type": "prov:Entity", "prov:label": source} for source in benchmark.distinct("source")
        ],
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:label": f"{citations.NAME}: {benchmark.command}",
            "sc:description": said.made,
        },
    }


def _field(mlc: Any, ctx: Any, config: Config, path: str, column: pa.Field) -> Any:
    kinds = mlc.DataType
    if pa.types.is_integer(column.type):
        kind = kinds.INTEGER
    elif pa.types.is_floating(column.type):
        kind = kinds.FLOAT
    elif pa.types.is_boolean(column.type):
        kind = kinds.BOOL
    else:
        kind = kinds.TEXT
    return mlc.Field(
        ctx=ctx,
        id=f"{config.name}/{column.name}",
        name=column.name,
        description=config.described.get(column.name),
        data_types=[kind],
        source=mlc.Source(ctx=ctx, file_object=path, extract=mlc.Extract(ctx=ctx, column=column.name)),
    )

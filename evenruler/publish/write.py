"""The folder of a benchmark, swapped in whole for the old one; and its `croissant.json`, which machines read."""

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenruler.files import file_sha256, swapped
from evenruler.publish import manifest
from evenruler.publish.benchmark import AUTHORS, PROJECT, URL, Benchmark
from evenruler.publish.card import render_card
from evenruler.publish.manifest import HERE, data_file
from evenruler.tables.frames import for_people
from evenruler.text.english import with_capital


def write_benchmark(benchmark: Benchmark, folder: Path) -> None:
    """Write the folder; until everything is there, the old one stays untouched."""
    with swapped(folder) as working:
        for config in benchmark.configs:
            path = working / data_file(config.name)
            path.parent.mkdir(parents=True)
            pq.write_table(config.as_read, path, compression="zstd")
        texts = {
            "README.md": render_card(benchmark),
            manifest.PLAN: manifest.as_json(benchmark.plan),
            "evidence.json": manifest.as_json(for_people(benchmark.evidence)),
            **{f"lm_eval/{name}": text for name, text in benchmark.harness.items()},
        }
        for name, text in texts.items():
            _write(working / name, text)
        _write(working / "croissant.json", render_croissant(benchmark, working))
        _write(working / manifest.NAME, manifest.as_json(_manifest(benchmark, working).model_dump()))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _manifest(benchmark: Benchmark, folder: Path) -> manifest.Manifest:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return manifest.Manifest(
        name=benchmark.name,
        version=benchmark.version,
        location=HERE,
        content_sha256=manifest.identity_of(folder, benchmark.tables),
        rows={config.name: config.table.num_rows for config in benchmark.configs},
        rejected=benchmark.n_rejected,
        columns={name: manifest.columns_of(pq.read_schema(folder / data_file(name))) for name in benchmark.tables},
        sources=benchmark.distinct("source"),
        licences=benchmark.distinct("licence"),
        parameters=dict(benchmark.parameters),
        files={path.relative_to(folder).as_posix(): file_sha256(path) for path in files},
    )


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
    """The text of `croissant.json` for the rows in a folder; mlcroissant.ValidationError where it finds an error."""
    import mlcroissant as mlc

    ctx = mlc.Context()
    ctx.conforms_to = type(ctx.conforms_to)(CONFORMS_TO[0])
    # Files and tables.
    files, record_sets = [], []
    for config in benchmark.configs:
        path, fields = data_file(config.name), []
        file = {"id": path, "name": path, "content_url": path, "sha256": file_sha256(folder / path)}
        files.append(mlc.FileObject(ctx=ctx, encoding_formats=[PARQUET], **file))
        for column in config.as_read.schema:
            kinds, extract = mlc.DataType, mlc.Extract(ctx=ctx, column=column.name)
            of_type = (
                (pa.types.is_integer, kinds.INTEGER),
                (pa.types.is_floating, kinds.FLOAT),
                (pa.types.is_boolean, kinds.BOOL),
            )
            kind = next((kind for is_so, kind in of_type if is_so(column.type)), kinds.TEXT)
            fields.append(
                mlc.Field(
                    ctx=ctx,
                    id=f"{config.name}/{column.name}",
                    name=column.name,
                    description=config.described.get(column.name),
                    data_types=[kind],
                    source=mlc.Source(ctx=ctx, file_object=path, extract=extract),
                )
            )
        table = {"id": config.name, "name": config.name, "description": config.what, "fields": fields}
        record_sets.append(mlc.RecordSet(ctx=ctx, **table))
    released = benchmark.release
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib, which it uses
        authors = mlc.Organization(ctx=ctx, name=AUTHORS, url=URL)
        metadata = mlc.Metadata(
            ctx=ctx,
            conforms_to=CONFORMS_TO,
            name=benchmark.name,
            description=f"{with_capital(benchmark.construct)}, measured in language models. {benchmark.reading}",
            license=benchmark.distinct("licence"),
            url=HERE,
            version=benchmark.version,
            date_published=str(released.date) if released else None,
            cite_as="\n".join(benchmark.bibtex),
            creators=[authors],
            publisher=[authors],
            in_language=[benchmark.language],
            keywords=list(benchmark.tags),
            distribution=files,
            record_sets=record_sets,
            data_limitations=list(benchmark.limits),
            **_of_use(benchmark),
        )
        content: Any = metadata.to_json()
    content["@context"] = dict(sorted((content["@context"] | ONE_ONE).items()))
    return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"


def _of_use(benchmark: Benchmark) -> dict[str, Any]:
    """Of the RAI vocabulary; what it was made from and by; whether a program or a model wrote any of it."""
    said = benchmark.responsible
    if said is None:
        return {}
    return {
        "data_biases": [said.biases],
        "data_collection": said.made,
        "data_social_impact": said.social_impact,
        "data_use_cases": [said.uses],
        "personal_sensitive_information": [said.personal],
        "extra_properties": {
            "rai:hasSyntheticData": said.synthetic,
            "prov:wasDerivedFrom": [
                {"@type": "prov:Entity", "prov:label": source} for source in benchmark.distinct("source")
            ],
            "prov:wasGeneratedBy": {
                "@type": "prov:Activity",
                "prov:label": f"{PROJECT}: {benchmark.command}",
                "sc:description": said.made,
            },
        },
    }

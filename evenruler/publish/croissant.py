"""`croissant.json`: the data set described for machines, in MLCommons' format."""

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa

from evenruler.publish.contents import HERE, Benchmark, data_file

PARQUET = "application/x-parquet"
"""What mlcroissant calls it."""


def render_croissant(benchmark: Benchmark, folder: Path) -> str:
    """The text of `croissant.json` for the rows that lie in a folder.

    Raises:
        mlcroissant.ValidationError: mlcroissant finds an error in it.
    """
    import mlcroissant as mlc

    from evenruler.publish.manifest import file_sha256

    files, record_sets = [], []
    for config in benchmark.configs:
        path = data_file(config.name)
        files.append(
            mlc.FileObject(
                id=path, name=path, content_url=path, encoding_formats=[PARQUET], sha256=file_sha256(folder / path)
            )
        )
        fields = [_field(mlc, config.name, path, column) for column in config.table.schema]
        record_sets.append(mlc.RecordSet(id=config.name, name=config.name, description=config.what, fields=fields))
    releases = dict(benchmark.changelog.newest_first())
    released = releases.get(benchmark.version)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib, which it uses
        metadata = mlc.Metadata(
            name=benchmark.name,
            description=f"Measures the {benchmark.construct} in language models. {benchmark.reading}",
            license=benchmark.distinct("licence"),
            url=HERE,
            version=benchmark.version,
            date_published=str(released.date) if released else None,
            cite_as="\n".join(benchmark.citations) or None,
            in_language=[benchmark.language],
            keywords=benchmark.tags,
            distribution=files,
            record_sets=record_sets,
        )
        content: Any = metadata.to_json()
    return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"


def _field(mlc: Any, config: str, path: str, column: pa.Field) -> Any:
    kinds = mlc.DataType
    if pa.types.is_integer(column.type):
        kind = kinds.INTEGER
    elif pa.types.is_floating(column.type):
        kind = kinds.FLOAT
    elif pa.types.is_boolean(column.type):
        kind = kinds.BOOL
    else:
        kind = kinds.TEXT
    source = mlc.Source(file_object=path, extract=mlc.Extract(column=column.name))
    return mlc.Field(id=f"{config}/{column.name}", name=column.name, data_types=[kind], source=source)

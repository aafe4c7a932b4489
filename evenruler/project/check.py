"""`evenruler check` and `evenruler profile`: validate everything, update generated parts, remove
stale files.

Stale are outputs of models and sources that are no longer declared: DVC leaves them behind, and
they would change their folder's hash. Only files known to git or dvc.lock are removed; other files
with such names belong to the user and raise an error.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import cast

from filelock import FileLock
from ruamel.yaml import YAML
from ruamel.yaml.events import AliasEvent

from evenruler.declaration.active import (
    MADE,
    SOURCES,
    DeclaredInstrument,
    asking_of,
    compute_active,
    instruments_at,
    list_unpinned_models,
)
from evenruler.declaration.generated import artifacts_of, render_active
from evenruler.declaration.params import Params, load_params
from evenruler.declaration.params_file import ACTIVE, Active, profile_in_use
from evenruler.declaration.profiles import TOP, folder_of, link_pipeline, pipeline_folders
from evenruler.declaration.validation import validate_declaration, validate_models
from evenruler.errors import UserError, suggest_nearest
from evenruler.files import read_json_file, write_text_atomically
from evenruler.instruments.instrument import PROFILES, Profile
from evenruler.instruments.registry import FAMILIES
from evenruler.models.declarations import ModelEntry
from evenruler.models.store import cache_root
from evenruler.project.damaged import remove_damaged
from evenruler.project.dvc import LOCK, forget_stages, read_lock, read_pipeline, repair_running_list
from evenruler.project.editing import edit_section
from evenruler.publish.manifest import NAME as MANIFEST
from evenruler.repository import DECLARATION, git
from evenruler.sizes import STANDARD
from evenruler.strict import read_text, read_yaml
from evenruler.tables.ids import content_sha256

BENCHMARKS, BY_FAMILY = "benchmarks", ("data/built", "data/answers", "data/diagnosis")

LOCKED = Path(".cache/check.lock")
"""Held while `check` runs."""

WRITTEN = "# Written by `evenruler check`."
TOKENIZER, COUNTED = "tokenizer.json", "token-lengths.json"
"""A model's tokenizer file; and the cached token counts, since loading a tokenizer takes a
second."""

IGNORED = (
    "# Written by `evenruler check`: benchmarks that hold third-party text are in DVC's cache."
)


def check(root: Path) -> list[str]:
    """Validate the declaration, update `active.yaml` of every pipeline, and remove what is no
    longer declared.

    Damaged objects in DVC's cache are removed, too. An unfinished instrument, such as a domain
    whose pages were never fetched, is left out of `active.yaml` with a line that says what to run;
    this is no error, since the others can be built. The same holds for a model that is not pinned
    and for instruments that use it as a tool. Returns messages; UserError at the first error,
    before anything is written or removed.
    """
    (root / LOCKED.parent).mkdir(exist_ok=True)
    # One process at a time, since both would write and remove the same files.
    with FileLock(root / LOCKED):
        params = load_params(root / DECLARATION)
        instruments = validate_declaration(root, params)
        folders = pipeline_folders(root)
        in_folders = {folder: active_in(root, folder, params, instruments) for folder in folders}
        for folder, active in in_folders.items():
            validate_models(root, params, active, instruments[active.profile])
            validate_outputs(root / folder, active)
        gone = {
            folder: find_stale_outputs(root / folder, active, params.benchmarks)
            for folder, active in in_folders.items()
        }

        lines = []
        for folder, active in in_folders.items():
            lines += write_active(root, folder, active)
        lines += write_artifacts(root, params.benchmarks)
        for folder, active in in_folders.items():
            lines += keep_out_of_git(root, folder, active, instruments[active.profile])
            remove_paths(root / folder, gone[folder])
            lines += [f"removed {folder / path}" for path in gone[folder]]
            lines += [
                f"removed {stage} from {folder / LOCK}"
                for stage in forget_stages(root / folder, active)
            ]
            make_shared_folders(root, active)
        lines += repair_running_list(root) + remove_damaged(root)
        for active in in_folders.values():
            warnings = _collect_warnings(root, params, active, instruments[active.profile])
            lines += [line for line in warnings if line not in lines]
    return [*lines, *map(describe_active, in_folders.values())]


def check_instruments(root: Path, names: Sequence[str]) -> list[str]:
    """Check the sources of some instruments alone, at every profile; returns their warnings, and
    writes nothing. UserError for a name that is not declared, and at the first error in one.
    """
    params = load_params(root / DECLARATION)
    for name in names:
        if name not in params.instruments:
            remedy = suggest_nearest(name, params.instruments)
            where = str(root / DECLARATION)
            raise UserError(f"no instrument {name!r}", where=where, remedy=remedy)
    instruments: dict[str, DeclaredInstrument] = {}
    for profile in PROFILES:
        declared = instruments_at(root, root / DECLARATION, profile, names)
        instruments = {instrument.name: instrument for instrument in declared} | instruments
    lines: list[str] = []
    for name in names:
        instrument = instruments.get(name)
        if instrument is None:
            lines.append(f"warning: {name} is built at no profile")
            continue
        lines += _source_warnings(root, instrument)
    return [*lines, f"checked: {', '.join(names)} alone; `evenruler check` checks everything"]


def active_in(
    root: Path,
    folder: Path,
    params: Params,
    instruments: Mapping[Profile, Sequence[DeclaredInstrument]],
) -> Active:
    """What is in use in the pipeline of a folder; `instruments`: by profile."""
    profile = (
        profile_in_use(root / folder / ACTIVE) if folder == TOP else cast(Profile, folder.name)
    )
    return compute_active(
        instruments[profile], root / DECLARATION, profile, params.left_out, folder
    )


def validate_outputs(folder: Path, active: Active) -> None:
    """UserError if git tracks third-party text of a pipeline, or its `dvc.yaml` or `dvc.lock`
    cannot be read.
    """
    # Git ignores .gitignore for files it tracks, and DVC refuses to cache them.
    for name, entry in active.card_third_party.items():
        benchmark = Path(BENCHMARKS) / f"{entry.family}-{name}"
        if tracked_files(folder, [benchmark]):
            remedy = (
                f"run `git rm -r --cached {benchmark.as_posix()}`, or declare the text of "
                f"{name!r} as ours"
            )
            raise UserError(
                "git tracks it, but it holds third-party text",
                where=benchmark.as_posix(),
                remedy=remedy,
            )
    read_lock(folder)
    read_pipeline(folder)


def make_shared_folders(root: Path, active: Active) -> None:
    """Make the folders of what a family's instruments share, with a file, since DVC needs them and
    git keeps none.
    """
    for family in active.families:
        folder = root / SOURCES / family / "shared"
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            (folder / ".gitkeep").touch()


def describe_active(active: Active) -> str:
    """What is in use at a profile, in a line."""
    parts = [f"models {', '.join(active.models)}"]
    for family, entry in active.families.items():
        parts.append(f"{family} {', '.join(entry.instruments)}")
    return f"checked: profile {active.profile}; {'; '.join(parts)}"


def alias_lines(text: str) -> list[int]:
    """The lines of YAML in which an alias (`*name`) stands."""
    if "*" not in text:
        return []  # parsing takes a second
    events = YAML(typ="safe").parse(text)
    return [event.start_mark.line + 1 for event in events if isinstance(event, AliasEvent)]


def make_profile(root: Path, profile: str) -> list[str]:
    """Make the folder of a profile, with its own pipeline; UserError if there is no such
    profile.
    """
    folder = folder_of(profile)
    if folder == TOP:
        raise UserError(
            f"{profile!r} is the pipeline at the top", remedy="run `make repro`, or `dvc repro`"
        )
    # Before the link is there, which `check` would refuse from then on.
    params = load_params(root / DECLARATION)
    active_in(root, folder, params, validate_declaration(root, params))
    link_pipeline(root, profile)
    return [
        *check(root),
        f"{folder}: build it with `evenruler repro --profile {profile}`, or `dvc repro` in there",
    ]


def _collect_warnings(
    root: Path, params: Params, active: Active, instruments: Sequence[DeclaredInstrument]
) -> list[str]:
    """Warnings on models and instruments left out, and of instruments, also about tokenizers that
    are available.

    Those of instruments whose source git does not have as it is come last, where a user looks.
    """
    warnings = _alias_warnings(root)
    warnings += _left_out_warnings(params, active)
    for name in params.models:
        warnings += _unknown_instrument_warnings(params, name, active.profile)
    warnings += _waiting_warnings(instruments)
    status = git(root, "status", "--porcelain", "--untracked-files=all", "--", str(SOURCES))
    changed = (status or b"").decode()

    def is_changed(instrument: DeclaredInstrument) -> bool:
        """Whether git lists the instrument's source as changed or new since the last commit."""
        return instrument.written.as_posix() in changed

    for instrument in sorted(instruments, key=is_changed):
        warnings += _instrument_warnings(root, params, active, instrument)
    return warnings


def _alias_warnings(root: Path) -> list[str]:
    """A warning for each line of params.yaml with an alias, since experiments of DVC do not change
    its copies.
    """
    return [
        f"warning: params.yaml: line {line}: an alias; `dvc exp run --set-param` changes nothing "
        "that one repeats: "
        "write it out"
        for line in alias_lines(read_text(root / DECLARATION))
    ]


def _left_out_warnings(params: Params, active: Active) -> list[str]:
    """Warnings on models that are not pinned, and on stages of models left out."""
    warnings = [
        f"warning: {name} is left out: {params.unpinned_message([name])}"
        for name in list_unpinned_models(active.families, params, active.profile)
    ]
    asked_models = product(active.families, params.models)
    of_models = {asking_of(family, model) for family, model in asked_models}
    warnings += [
        f"warning: {stage} is left out: {why}"
        for stage, why in params.left_out.items()
        if stage in of_models
    ]
    return warnings


def _unknown_instrument_warnings(params: Params, model: str, profile: Profile) -> list[str]:
    """Warnings on instruments that a model's entry names at a profile and that are not declared."""
    instruments_by_profile = params.models[model].instruments or {}
    warnings: list[str] = []
    for instrument_name in instruments_by_profile.get(profile, ()):
        if instrument_name not in params.instruments:
            nearest = suggest_nearest(instrument_name, params.instruments)
            warnings.append(
                f"warning: models.{model}.instruments names {instrument_name!r}; {nearest}"
            )
    return warnings


def _waiting_warnings(instruments: Sequence[DeclaredInstrument]) -> list[str]:
    """Warnings on what the instruments of a family do without, each once."""
    waiting: dict[tuple[str, str], None] = {}
    for instrument in instruments:
        what = instrument.settings.waiting
        if what:
            waiting[instrument.family, what] = None
    return [f"warning: instruments of {family} do without {what}" for family, what in waiting]


def _instrument_warnings(
    root: Path, params: Params, active: Active, instrument: DeclaredInstrument
) -> list[str]:
    """Warnings of an instrument: only that it is unfinished, or all on its text, settings and size,
    and on the tokenizers of its models.
    """
    warnings = _source_warnings(root, instrument)
    if instrument.unfinished:
        return warnings
    for model in active.families[instrument.family].models:
        tokenizer = tokenizer_of(root, model, params.models[model])
        if tokenizer is not None:
            tokenizer_warnings = instrument.settings.warnings_of(
                instrument.source, partial(count_tokens, tokenizer)
            )
            warnings += [
                f"warning: {instrument.name} on {model}: {line}" for line in tokenizer_warnings
            ]
    return warnings


def _source_warnings(root: Path, instrument: DeclaredInstrument) -> list[str]:
    """Warnings of an instrument, whichever models are asked."""
    if instrument.unfinished:
        return [
            f"warning: {instrument.name} is left out until it is finished: {instrument.unfinished}"
        ]
    warnings = _unfilled_warnings(root, instrument)
    warnings += [
        f"warning: {instrument.name}: {line}"
        for line in instrument.settings.warnings(instrument.source)
    ]
    detects = instrument.sizes[STANDARD].detects(instrument.source)
    if detects:
        warnings.append(f"{instrument.name}: at size {STANDARD} it detects {detects} (80% power)")
    return warnings


def _unfilled_warnings(root: Path, instrument: DeclaredInstrument) -> list[str]:
    """A warning if the source still has lines that `evenruler new` wrote as examples."""
    lines = read_text(root / instrument.written).splitlines()
    numbers = [n for n, line in enumerate(lines, 1) if line.endswith("# FILL")]
    if not numbers:
        return []
    what = "still says what `evenruler new` wrote; write your text there and take out `# FILL`"
    line_numbers = ", ".join(map(str, numbers))
    return [f"warning: {instrument.written}: line {line_numbers}: {what}"]


def write_active(root: Path, folder: Path, active: Active) -> list[str]:
    """Write `active.yaml` in the folder of a pipeline; returns a message if it changed."""
    path = root / folder / ACTIVE
    text = render_active(active, folder)
    if path.exists() and read_text(path) == text:
        return []
    write_text_atomically(path, text)
    models = ", ".join(active.models)
    return [f"{folder / ACTIVE}: now {active.profile}: {models}"]


def write_artifacts(root: Path, benchmarks: Iterable[str]) -> list[str]:
    """Write `artifacts_of` into dvc.yaml, where DVC has no templating; returns a message if it
    changed.
    """
    path = root / "dvc.yaml"
    text = path.read_text(encoding="utf-8")
    declared = read_yaml(path)
    entries = artifacts_of(benchmarks)
    is_mapping = isinstance(declared, dict)
    if is_mapping and (declared.get("artifacts") or {}) == entries:
        return []
    heading = "" if is_mapping and "artifacts" in declared else f"\n{WRITTEN}\n"
    write_text_atomically(
        path,
        edit_section(
            text + heading, "artifacts", lambda document: document.update(artifacts=entries)
        ),
    )
    return [f"dvc.yaml: artifacts are now {', '.join(entries)}"]


def keep_out_of_git(
    root: Path, folder: Path, active: Active, instruments: Sequence[DeclaredInstrument]
) -> list[str]:
    """Make git ignore third-party text before it is built, also benchmarks of unfinished
    instruments.
    """
    ignored = folder / "benchmarks/.gitignore"
    path = root / ignored
    benchmark_names = [f"{entry.family}-{name}" for name, entry in active.card_third_party.items()]
    benchmark_names += [
        f"{instrument.family}-{instrument.name}"
        for instrument in instruments
        if instrument.unfinished and instrument.settings.third_party
    ]
    text = ""
    if benchmark_names:
        text = "\n".join([IGNORED, *(f"/{name}" for name in benchmark_names), ""])
    old_text = path.read_text(encoding="utf-8") if path.exists() else ""
    if old_text == text:
        return []
    if text:
        write_text_atomically(path, text)
    else:
        path.unlink()
    return [
        f"{ignored}: benchmarks with third-party text, kept out of git: "
        f"{', '.join(benchmark_names) or 'none'}"
    ]


def tokenizer_of(root: Path, name: str, entry: ModelEntry) -> Path | None:
    """The tokenizer file of a model if available locally; nothing is downloaded or converted."""
    place, paths = entry.locations[0][1], list[Path]()
    if entry.scheme == "local":
        paths = [root / place / TOKENIZER]
    elif entry.scheme == "package":
        paths = sorted((cache_root() / "models").glob(f"{name}-*/{TOKENIZER}"))
    elif entry.scheme == "hub":
        from huggingface_hub import try_to_load_from_cache

        cached_path = try_to_load_from_cache(place, TOKENIZER, revision=entry.revision)
        paths = [Path(cached_path)] if isinstance(cached_path, str) else []
    return next((path for path in paths if path.is_file()), None)


def count_tokens(tokenizer: Path, words: Sequence[str]) -> list[int]:
    """Number of tokens of each word within a sentence, i.e. after a space, by a
    `tokenizer.json`.
    """
    state = tokenizer.stat()
    key = content_sha256(str(tokenizer), state.st_mtime_ns, state.st_size, list(words))
    path = cache_root() / COUNTED
    counts_by_key: dict[str, list[int]] = read_json_file(path, dict)
    if key not in counts_by_key:
        from tokenizers import Tokenizer

        loaded = Tokenizer.from_file(str(tokenizer))
        encoded = loaded.encode_batch([f" {word}" for word in words], False)
        counts_by_key[key] = [len(encoding.ids) for encoding in encoded]
        write_text_atomically(path, json.dumps(counts_by_key))
    return counts_by_key[key]


def declared_outputs(active: Active) -> dict[str, set[str]]:
    """The names that belong in each folder of stage outputs."""
    built = {
        f"data/built/{family}": set(active_family.instruments)
        for family, active_family in active.families.items()
    }
    answers = {
        f"data/answers/{family}": set(active_family.models)
        for family, active_family in active.families.items()
    }
    sources = {folder: set(getattr(active, stage)) for stage, folder in MADE.items()}
    return {**{folder: set(active.families) for folder in BY_FAMILY}, **built, **answers, **sources}


def find_stale_outputs(root: Path, active: Active, benchmarks: Iterable[str]) -> list[Path]:
    """Undeclared entries in folders of stage outputs and in `benchmarks`; relative paths, sorted.

    In `benchmarks`, only benchmarks count, also of a family that is gone; other entries have other
    causes, such as the old folder that a killed card stage left. `benchmarks`: all declared ones,
    of any profile.
    UserError if an entry is unknown to git and dvc.lock, since it may be the user's own.
    """
    stale_paths: list[Path] = []
    for folder, keep in declared_outputs(active).items():
        stale_paths += _undeclared_entries(root / folder, keep)
    declared = set(benchmarks)
    undeclared = _undeclared_entries(root / BENCHMARKS, declared)
    stale_paths += [path for path in undeclared if _is_benchmark(path)]
    paths = sorted(path.relative_to(root) for path in stale_paths)
    # Keep figures in git of a declared family that is not in use now, as its benchmarks are kept.
    figure_paths = [path for path in paths if path.parent.as_posix() == BY_FAMILY[-1]]
    for path in figure_paths:
        if not any(name.startswith(f"{path.name}-") for name in declared):
            continue
        tracked_names = tracked_files(root, [path])
        if tracked_names:
            paths.remove(path)
            inside = [inner_path.relative_to(root) for inner_path in (root / path).iterdir()]
            paths += sorted(
                inner_path for inner_path in inside if inner_path.as_posix() not in tracked_names
            )
    if paths:
        outputs = chain.from_iterable(read_lock(root).values())
        known_paths = {output["path"] for output in outputs} | tracked_files(root, paths)
        unknown = [
            path.as_posix() for path in paths if not _may_be_removed(root, path, known_paths)
        ]
        if unknown:
            first, *rest = unknown
            more = f" (and {', '.join(rest)})" if rest else ""
            what = f"neither declared nor known to git or dvc.lock{more}"
            raise UserError(
                what,
                where=first,
                remedy="declare it, move it away or delete it; nothing was removed",
            )
    return paths


def remove_paths(root: Path, paths: Iterable[Path]) -> None:
    """Remove files, folders with their content, and links (not their targets)."""
    for path in paths:
        if (root / path).is_dir() and not (root / path).is_symlink():
            shutil.rmtree(root / path)
        else:
            (root / path).unlink()


def _undeclared_entries(folder: Path, keep: set[str]) -> list[Path]:
    """Paths directly in a folder whose names are not in `keep`; `.gitkeep` always belongs there."""
    return [path for path in folder.glob("*") if path.name not in {*keep, ".gitkeep"}]


def _is_benchmark(path: Path) -> bool:
    """Whether a path has the name of a benchmark, or is a folder with a manifest, as one of a
    family that is gone; the folder of a killed stage begins with a dot.
    """
    has_name = path.name.startswith(tuple(f"{family}-" for family in FAMILIES))
    return has_name or ((path / MANIFEST).exists() and not path.name.startswith("."))


def _may_be_removed(root: Path, path: Path, known_paths: set[str]) -> bool:
    """Whether a path may be removed: it, something in it or a folder around it is known, or it is a
    partial file or an empty folder.
    """
    if path.suffix == ".partial":
        return True
    place = root / path
    if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
        return True
    name = path.as_posix()
    for known_path in known_paths:
        is_inside = known_path.startswith(f"{name}/")
        is_around = name.startswith(f"{known_path}/")
        if known_path == name or is_inside or is_around:
            return True
    return False


def tracked_files(root: Path, paths: list[Path]) -> set[str]:
    """Files in git's index at or below some paths; empty without git."""
    listed = git(root, "ls-files", "-z", "--", *map(str, paths)) or b""
    return {name for name in listed.decode().split("\0") if name}

"""`evenruler check` and `evenruler scale`: validate everything, update generated parts, remove stale files.

Stale are outputs of models and sources that are no longer declared: DVC leaves them behind, and they would change their
folder's hash. Only files known to git or dvc.lock are removed; other files with such names belong to the user and raise
an error.
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock
from ruamel.yaml.comments import CommentedMap

from evenruler.declared import Active
from evenruler.errors import UserError, nearest
from evenruler.files import json_in, replace
from evenruler.instruments.instrument import SCALES, STANDARD, Scale
from evenruler.instruments.registry import FAMILIES, room
from evenruler.models.declared import ModelEntry
from evenruler.models.loading import ADAPTERS, read_adapter
from evenruler.models.store import cache_root
from evenruler.project.active import (
    MADE,
    SOURCES,
    Instrument,
    asking_of,
    in_use,
    instruments_at,
    not_to_be_had,
    without,
)
from evenruler.project.code import write_digests
from evenruler.project.damaged import remove_damaged
from evenruler.project.params import Params, edited, load_params, write_as_it_was
from evenruler.project.pipeline import KEPT, Lock, all_stages, examine_lock, keep_lock, known_outs, unblock, write_lock
from evenruler.repository import git
from evenruler.strict import read_text, read_yaml
from evenruler.tables.ids import content_sha256
from evenruler.versions import load_changelog

BENCHMARKS, BY_FAMILY = "benchmarks", ("data/built", "data/answers", "data/diagnosis")

WRITTEN = "# Written by `evenruler check`."
TOKENIZER, COUNTED = "tokenizer.json", "token-lengths.json"
"""A model's tokenizer file; and the cached token counts, since loading a tokenizer takes a second."""

IGNORED = "# Written by `evenruler check`: benchmarks that hold third-party text are in DVC's cache."


def check(root: Path) -> list[str]:
    """Validate params and sources, update `active`, and remove what is no longer declared, or damaged in DVC's cache.

    An unfinished instrument, such as a domain whose pages were never fetched, is left out of `active` with a line that
    says what to run; this is no error, since the others can be built. The same holds for a model without commit and for
    instruments that use it as a tool. Returns messages; UserError at the first error, before anything is written or
    removed.
    """
    (root / KEPT.parent).mkdir(exist_ok=True)
    path = root / "params.yaml"
    # One process at a time, since both would write and remove the same files.
    with FileLock(root / KEPT.with_name("check.lock")):
        params = load_params(path)
        active, instruments = _checked(root, params, params.active.scale)
        text = _in_step(path, params, active)
        read_yaml(root / "dvc.yaml")
        # Git ignores .gitignore for files it tracks, and DVC refuses to cache them.
        for name, entry in active.card_of_others.items():
            held = Path(BENCHMARKS) / f"{entry.family}-{name}"
            if tracked(root, [held]):
                remedy = f"run `git rm -r --cached {held.as_posix()}`, or declare the text of {name!r} as ours"
                raise UserError("git tracks it, but it holds third-party text", where=held.as_posix(), remedy=remedy)
        locked, gone = examine_lock(root), stale(root, active, params.benchmarks)
        stages = all_stages(root, text) if (root / ".dvc").is_dir() else None

        lines = _write_in_step(path, active, text) + write_digests(root)
        lines += write_artifacts(root, active)
        lines += _keep_out_of_git(root, active, instruments)
        remove(root, gone)
        lines += [f"removed {path}" for path in gone]
        lines += _bring_lock_in_step(root, locked, stages)
        lines += filter(None, [unblock(root)])
        lines += remove_damaged(root) if stages is not None else []
        for family in active.families:
            # With a file, since DVC needs the folder and git does not keep empty ones.
            folder = root / SOURCES / family / "shared"
            folder.mkdir(parents=True, exist_ok=True)
            if not any(folder.iterdir()):
                (folder / ".gitkeep").touch()
        lines += _warnings(root, params, active, instruments)
    counted = {"models": active.models, **{family: own.instruments for family, own in active.families.items()}}
    listed = "; ".join(f"{what} {', '.join(names)}" for what, names in counted.items())
    return [*lines, f"checked: scale {active.scale}; {listed}"]


def _warnings(root: Path, params: Params, active: Active, instruments: Sequence[Instrument]) -> list[str]:
    """Warnings on models and instruments left out, and of instruments, also about tokenizers that are available.

    Those of instruments whose source git does not have as it is come last, where a user looks.
    """
    lacking = not_to_be_had(active.families, params, active.scale)
    found = [f"warning: {name} is left out until it is pinned: {params.to_be_given([name])}" for name in lacking]
    of_models = {asking_of(family, name) for family in active.families for name in params.models}
    found += [f"warning: {stage} is left out: {why}" for stage, why in params.left_out.items() if stage in of_models]
    found += [
        f"warning: models.{name}.instruments names {unknown!r}; {nearest(unknown, params.instruments)}"
        for name in active.models
        for unknown in (params.models[name].instruments or {}).get(active.scale, ())
        if unknown not in params.instruments
    ]
    waiting = dict.fromkeys((own.family, own.settings.waiting) for own in instruments if own.settings.waiting)
    found += [f"warning: instruments of {family} do without {what}" for family, what in waiting]
    changed = (git(root, "status", "--porcelain", "--untracked-files=all", "--", str(SOURCES)) or b"").decode()
    for own in sorted(instruments, key=lambda own: own.written.as_posix() in changed):
        if own.unfinished:
            found.append(f"warning: {own.name} is left out until it is finished: {own.unfinished}")
            continue
        lines = read_text(root / own.written).splitlines()
        if starters := [str(n) for n, line in enumerate(lines, 1) if line.endswith("# FILL")]:
            what = "still says what `evenruler new` wrote; write your text there and take out `# FILL`"
            found.append(f"warning: {own.written}: line {', '.join(starters)}: {what}")
        found += [f"warning: {own.name}: {line}" for line in own.settings.warnings(own.source)]
        if detects := own.sizes[STANDARD].detects(own.source):
            found.append(f"{own.name}: at size {STANDARD} it detects {detects} (80% power)")
        for model in active.families[own.family].models:
            tokenizer = tokenizer_of(root, model, params.models[model])
            if tokenizer is not None:
                told = own.settings.warnings_of(own.source, partial(lengths, tokenizer))
                found += [f"warning: {own.name} on {model}: {line}" for line in told]
    return found


def set_scale(root: Path, name: str) -> list[str]:
    """Rewrite `active` for a scale; UserError, before anything is written, if the name or anything else is invalid."""
    chosen = next((scale for scale in SCALES if scale == name), None)
    if chosen is None:
        raise UserError(f"no scale {name!r}", remedy=nearest(name, SCALES))
    path = root / "params.yaml"
    params = load_params(path)
    active = in_use(_finished(root, params, chosen), path, chosen, params.version, params.left_out)
    lines = _write_in_step(path, active, _in_step(path, params, active))
    return lines or [f"params.yaml already has the scale {chosen}"]


def _checked(root: Path, params: Params, scale: Scale) -> tuple[Active, list[Instrument]]:
    """What is in use, and its instruments; those of the other scale are validated too."""
    path = root / "params.yaml"
    found = {each: _finished(root, params, each) for each in SCALES}[scale]
    named = {use.model for own in found for use in own.uses}
    for family, shared in params.families.items():
        # Validate a family's settings even if it has no instrument.
        known = room(family, "declare").Settings.model_fields
        for key in shared or {}:
            if key not in known:
                where = f"{path}: families.{family}.{key}"
                what = f"unknown key {key!r}; {nearest(key, known)}"
                raise UserError(what, where=where, remedy="rename or remove it")
    active = in_use(found, path, scale, params.version, params.left_out)
    used = list(dict.fromkeys([*active.models, *sorted(named)]))
    for name in used:  # check that local files exist, also of models made from local ones
        entry = params.models[name]
        if entry.scheme == "untrained":
            name = entry.locations[0][1]
            entry = params.models[name]
        for file in (root / Path(rest).expanduser() for scheme, rest in entry.locations if scheme == "local"):
            if not file.exists():
                where = f"{path}: models.{name}.source: {file}"
                raise UserError("no such file or folder", where=where, remedy="save the model there, or fix `source`")
    for encoder in used:  # check that its head was fitted, with the recipe in params.yaml
        recipe = params.models[encoder].finetune
        if recipe is not None and read_adapter(encoder, root / ADAPTERS).recipe != recipe.model_dump():
            what = f"{encoder} was fitted with another recipe than `finetune` states"
            remedy = f"run `evenruler finetune {encoder}`, or restore the recipe"
            raise UserError(what, where=str(root / ADAPTERS / encoder), remedy=remedy)
    for name in params.benchmarks:
        load_changelog(root / "data/sources/changelogs" / f"{name}.yaml")
    return active, found


def _finished(root: Path, params: Params, scale: Scale) -> list[Instrument]:
    """Instruments of a scale; those affected by `left_out` are marked unfinished."""
    return without(instruments_at(root, root / "params.yaml", scale), params.left_out, params, scale)


def _in_step(path: Path, params: Params, wanted: Active) -> str | None:
    """The text of params.yaml with `active`, and a key for each family, on which stages depend; None if up to date."""
    lacking = [family for family in wanted.families if family not in params.families]
    content = wanted.model_dump(mode="json")
    if params.active.model_dump(mode="json") == content and not lacking:  # DVC needs every key
        return None

    def write_active(document: CommentedMap) -> None:
        active = document["active"]
        for key in [key for key in active if key not in content]:
            del active[key]
        for place, (key, value) in enumerate(content.items()):
            if key in active:
                active[key] = _laid_out(value)
            else:
                active.insert(place, key, _laid_out(value))

    # One entry per line, for readable diffs.
    text = edited(path.read_text(encoding="utf-8"), "active", write_active, width=10_000)
    if not lacking:
        return text
    new = {family: CommentedMap() for family in lacking}
    return edited(text, "families", lambda document: document.setdefault("families", CommentedMap()).update(new))


def _write_in_step(path: Path, active: Active, text: str | None) -> list[str]:
    if text is None:
        return []
    write_as_it_was(path, text)
    return [f"params.yaml: active is now {active.scale}: {', '.join(active.models)}"]


def _laid_out(value: Any) -> Any:
    """YAML layout: one line per entry of a mapping."""
    if not isinstance(value, dict):
        return value
    laid = CommentedMap({key: CommentedMap(own) for key, own in value.items()})
    for on_one_line in laid.values() if value else (laid,):
        on_one_line.fa.set_flow_style()
    return laid


def artifacts_of(active: Active) -> dict[str, dict[str, Any]]:
    """The `artifacts` section of dvc.yaml: every benchmark in use by name, for `dvc artifacts get`."""
    named = sorted((f"{entry.family}-{name}", entry.family) for name, entry in active.instruments.items())
    return {
        name: {
            "path": f"benchmarks/{name}",
            "type": "dataset",
            "desc": f"Rows, card, manifest and evidence of {name}",
            "labels": [family, "bias", "language-models"],
        }
        for name, family in named
    }


def write_artifacts(root: Path, active: Active) -> list[str]:
    """Write `artifacts_of` into dvc.yaml, where DVC has no templating; returns a message if it changed."""
    path = root / "dvc.yaml"
    text, declared, entries = path.read_text(encoding="utf-8"), read_yaml(path), artifacts_of(active)
    is_mapping = isinstance(declared, dict)
    if is_mapping and (declared.get("artifacts") or {}) == entries:
        return []
    heading = "" if is_mapping and "artifacts" in declared else f"\n{WRITTEN}\n"
    replace(path, edited(text + heading, "artifacts", lambda document: document.update(artifacts=entries)))
    return [f"dvc.yaml: artifacts are now {', '.join(entries)}"]


def _keep_out_of_git(root: Path, active: Active, instruments: Sequence[Instrument]) -> list[str]:
    """Make git ignore third-party text before it is built, also benchmarks of unfinished instruments."""
    path = root / "benchmarks/.gitignore"
    others = [f"{entry.family}-{name}" for name, entry in active.card_of_others.items()]
    others += [f"{own.family}-{own.name}" for own in instruments if own.unfinished and own.settings.of_others]
    text = "\n".join([IGNORED, *(f"/{name}" for name in others), ""]) if others else ""
    if (path.read_text(encoding="utf-8") if path.exists() else "") == text:
        return []
    if text:
        replace(path, text)
    else:
        path.unlink()
    return [f"benchmarks/.gitignore: benchmarks with third-party text, kept out of git: {', '.join(others) or 'none'}"]


def _bring_lock_in_step(root: Path, locked: Lock | None, stages: list[str] | None) -> list[str]:
    """Repair a truncated dvc.lock and remove stages that are gone; `stages`: None if DVC was never set up."""
    if locked is None:
        keep_lock(root)
        return []
    gone = [name for name in locked.stages if stages is not None and name not in stages]
    write_lock(root, locked.without(gone) if gone else locked)
    lines = [f"dvc.lock was {locked.wrong}"] if locked.wrong else []
    return lines + [f"removed {name} from dvc.lock" for name in gone]


def tokenizer_of(root: Path, name: str, entry: ModelEntry) -> Path | None:
    """The tokenizer file of a model if available locally; nothing is downloaded or converted."""
    place, found = entry.locations[0][1], list[Path]()
    if entry.scheme == "local":
        found = [root / place / TOKENIZER]
    elif entry.scheme == "package":
        found = sorted((cache_root() / "models").glob(f"{name}-*/{TOKENIZER}"))
    elif entry.scheme == "hub":
        from huggingface_hub import try_to_load_from_cache

        known = try_to_load_from_cache(place, TOKENIZER, revision=entry.revision)
        found = [Path(known)] if isinstance(known, str) else []
    return next((path for path in found if path.is_file()), None)


def lengths(tokenizer: Path, words: Sequence[str]) -> list[int]:
    """Number of tokens of each word within a sentence, i.e. after a space, by a `tokenizer.json`."""
    state = tokenizer.stat()
    key = content_sha256(str(tokenizer), state.st_mtime_ns, state.st_size, list(words))
    path = cache_root() / COUNTED
    known: dict[str, list[int]] = json_in(path, dict)
    if key not in known:
        from tokenizers import Tokenizer

        encoded = Tokenizer.from_file(str(tokenizer)).encode_batch([f" {word}" for word in words], False)
        known[key] = [len(one.ids) for one in encoded]
        replace(path, json.dumps(known))
    return known[key]


def made(active: Active) -> dict[str, set[str]]:
    """The names that belong in each folder of stage outputs."""
    built = {f"data/built/{family}": set(own.instruments) for family, own in active.families.items()}
    answers = {f"data/answers/{family}": set(own.models) for family, own in active.families.items()}
    sources = {folder: set(getattr(active, stage)) for stage, folder in MADE.items()}
    return {**{folder: set(active.families) for folder in BY_FAMILY}, **built, **answers, **sources}


def stale(root: Path, active: Active, benchmarks: Iterable[str]) -> list[Path]:
    """Undeclared entries in folders of stage outputs and in `benchmarks`; relative paths, sorted.

    In `benchmarks`, only names that begin with a family count; others have other causes, such as the old folder that a
    killed card stage left. `benchmarks`: all declared ones, of any scale. UserError if an entry is unknown to git and
    dvc.lock, since it may be the user's own.
    """
    found = [path for folder, keep in made(active).items() for path in _others(root / folder, keep)]
    ours = tuple(f"{family}-" for family in FAMILIES)
    declared = set(benchmarks)
    found += [path for path in _others(root / BENCHMARKS, declared) if path.name.startswith(ours)]
    paths = sorted(path.relative_to(root) for path in found)
    # Keep figures in git of a declared family that is not in use now, as its benchmarks are kept.
    for path in [one for one in paths if one.parent.as_posix() == BY_FAMILY[-1]]:
        if held := tracked(root, [path]) if any(name.startswith(f"{path.name}-") for name in declared) else set():
            paths.remove(path)
            inside = [one.relative_to(root) for one in (root / path).iterdir()]
            paths += sorted(one for one in inside if one.as_posix() not in held)
    if paths:
        known = known_outs(root) | tracked(root, paths)
        if unknown := [path.as_posix() for path in paths if not _is_ours(root, path, known)]:
            first, *rest = unknown
            more = f" (and {', '.join(rest)})" if rest else ""
            what = f"neither declared nor known to git or dvc.lock{more}"
            raise UserError(what, where=first, remedy="declare it, move it away or delete it; nothing was removed")
    return paths


def remove(root: Path, paths: Iterable[Path]) -> None:
    """Remove files, folders with their content, and links (not their targets)."""
    for path in paths:
        if (root / path).is_dir() and not (root / path).is_symlink():
            shutil.rmtree(root / path)
        else:
            (root / path).unlink()


def _others(folder: Path, keep: set[str]) -> list[Path]:
    return [path for path in folder.glob("*") if path.name not in {*keep, ".gitkeep"}]


def _is_ours(root: Path, path: Path, known: set[str]) -> bool:
    """Whether it is known, contains or is inside a known path, is a partial file, or an empty folder."""
    name, place = path.as_posix(), root / path
    if path.suffix == ".partial" or (place.is_dir() and not place.is_symlink() and not any(place.iterdir())):
        return True
    return any(one == name or one.startswith(f"{name}/") or name.startswith(f"{one}/") for one in known)


def tracked(root: Path, paths: list[Path]) -> set[str]:
    """Files in git's index at or below some paths; empty without git."""
    return set(filter(None, (git(root, "ls-files", "-z", "--", *map(str, paths)) or b"").decode().split("\0")))

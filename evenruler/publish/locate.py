"""Locates benchmarks: in a folder, in the package, on the Hub at a tag, or in a git revision of
this repository.
"""

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenruler import repository
from evenruler.errors import UserError, suggest_nearest
from evenruler.publish import manifest
from evenruler.publish.manifest import front_matter
from evenruler.tables.contents import is_file, json_of
from evenruler.versions import version_key

FORMS = (
    "a folder, a NAME of `evenruler list`, USER/REPO@TAG on the Hub, a git tag NAME@vX.Y.Z, or "
    "REVISION:benchmarks/NAME"
)

CARD = "README.md"

NAMED = {
    CARD: (re.compile(r'(?<=^rows = load_dataset\(")[^"]*', re.MULTILINE), "{}"),
    "croissant.json": (
        re.compile(r'(?<=^  "url": ")[^"]*', re.MULTILINE),
        "https://huggingface.co/datasets/{}",
    ),
}
"""By file: the pattern of the data set's location, and how a data set on the Hub is written
there."""


@contextmanager
def open_place(place: str, root: Path = Path()) -> Iterator[Path]:
    """The folder of a benchmark, fetched if necessary, for the duration of the context.

    `place`: one of `FORMS`; an existing folder takes precedence, then benchmarks of the package,
    named with or without their family. `root`: the repository of git revisions.
    """
    head, _, tag = place.rpartition("@")
    revision, _, inside = place.rpartition(":")
    names = shipped_names()
    if place in names:
        called = [place]
    else:
        called = [name for name in names if name.partition("-")[2] == place]
    if Path(place).is_dir():
        yield Path(place)
    elif len(called) > 1:
        raise UserError(
            "several benchmarks are called so",
            where=place,
            remedy=f"say one of {', '.join(called)}",
        )
    elif called:
        yield repository.shipped_benchmarks() / called[0]
    elif Path(place).exists():
        raise UserError("a file, expected a folder", where=place, remedy=f"name {FORMS}")
    elif head and "/" in head:
        yield from_hub(head, tag)
    elif head or (revision and inside):
        with tempfile.TemporaryDirectory() as folder:
            if head:
                revision, inside = place, f"benchmarks/{head}"
            yield from_git(root, revision, inside, Path(folder))
    else:
        hint = (
            ""
            if "/" in place
            else f" ({suggest_nearest(place, names)}); in a clone `make repro` builds more"
        )
        raise UserError("no such folder", where=place, remedy=f"name {FORMS}{hint}")


def shipped_names() -> list[str]:
    """Names of the benchmarks that come with the package."""
    return sorted(
        path.parent.name for path in repository.shipped_benchmarks().glob(f"*/{manifest.NAME}")
    )


def from_hub(repo: str, tag: str) -> Path:
    """The folder of a published version in the Hub client's cache; UserError if it cannot be
    fetched.
    """
    from huggingface_hub import snapshot_download

    from evenruler.hub import hub_errors_as_user_errors, list_files, note_download

    with hub_errors_as_user_errors(repo, revision=tag, where=f"{repo}@{tag}"):
        note_download(repo, list_files(repo, tag, repo_type="dataset"))
        return Path(snapshot_download(repo, repo_type="dataset", revision=tag))


def find_newest_version(tags: Iterable[str]) -> str | None:
    """The highest version that has a tag; None if there is none."""
    return max(
        (tag[1:] for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)),
        key=version_key,
        default=None,
    )


def from_git(root: Path, revision: str, path: str, folder: Path) -> Path:
    """Copy a benchmark from a git revision; files that git does not have come from DVC's cache or
    remote.
    """
    top = root.resolve()
    if not any((ancestor / ".git").exists() for ancestor in (top, *top.parents)):
        remedy = f"run this in a clone, or name {FORMS}"
        raise UserError(
            "it names a revision, and there is no git repository here",
            where=revision,
            remedy=remedy,
        )
    from dvc.api import DVCFileSystem
    from dvc.exceptions import DvcException
    from dvc.scm import RevError

    where = f"{revision}:{path}"
    copied = folder / Path(path).name
    try:
        DVCFileSystem(str(root), rev=revision).get(path, str(copied), recursive=True)
    except RevError:
        raise UserError(
            "git has no such revision", where=revision, remedy="see `git tag`"
        ) from None
    except FileNotFoundError:
        raise UserError(
            "no benchmark in this revision", where=where, remedy="check the name"
        ) from None
    except DvcException as error:
        raise UserError(f"DVC cannot read it ({error})", where=where, remedy="fix that") from None
    return copied


def with_hub_location(folder: Path, repo: str) -> dict[str, bytes | Path]:
    """A benchmark's files by path, with location `repo` in card, croissant and manifest."""
    was = manifest.read_manifest(folder)
    texts = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in was.files.keys() & NAMED.keys()
    }
    changed = {name: replace_location(name, text, repo).encode() for name, text in texts.items()}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in changed.items()}
    now = was.model_copy(update={"location": repo, "files": was.files | sums})
    files: dict[str, bytes | Path] = {name: folder / name for name in sorted(was.files)}
    return files | changed | {manifest.NAME: manifest.as_json(now.model_dump()).encode()}


def replace_location(name: str, text: str, repo: str) -> str:
    """A file's text with the Hub data set `repo` as location and, in a card, with its tag."""
    if name not in NAMED:
        return text
    pattern, form = NAMED[name]
    text = pattern.sub(lambda _: form.format(repo), text)
    untagged = re.search(r"^Version (\S+), not released yet\.", text, re.MULTILINE)
    if untagged is None or name != CARD:
        return text
    version = untagged[1]
    for before, after in (
        (
            f"Version {version}, not released yet.",
            f"Version {version}, published with the tag `v{version}`.",
        ),
        (
            f"- **{version}**: not released yet.",
            f"- **{version}**: published with the tag `v{version}`.",
        ),
        ('split="test")', f'split="test", revision="v{version}")'),
        (
            "--repo-type dataset --local-dir",
            f"--repo-type dataset --revision v{version} --local-dir",
        ),
        (manifest.NO_TAG, ""),
    ):
        text = text.replace(before, after, 1)
    return text


@dataclass(frozen=True)
class BenchmarkListing:
    """A benchmark for a listing."""

    name: str
    version: str
    rows: int
    """Sum over all tables."""
    title: str
    verdict: str
    """The kinds of models on which a verdict can come, and the smallest size at which it can
    (`possible_verdicts.describe_possible_verdict`)."""


def list_benchmarks(
    folder: Path, describe_verdict: Callable[[str, Any], str]
) -> list[BenchmarkListing]:
    """The benchmarks in a folder, by name; UserError if a manifest or card is damaged.

    `describe_verdict`: from family and plan, where a verdict can come.
    """
    listings = []
    for path in sorted(folder.glob(f"*/{manifest.NAME}")):
        declared = manifest.read_manifest(path.parent)
        front = front_matter(path.parent)
        if not front or not front.get("pretty_name"):
            where = str(path.with_name(CARD))
            raise UserError(
                "no `pretty_name` in its front matter", where=where, remedy="get the file again"
            )
        rows = sum(declared.rows.values())
        title = str(front["pretty_name"])
        plan_path = path.with_name(manifest.PLAN)
        plan = json_of(plan_path) if is_file(plan_path) else {}
        verdict = describe_verdict(path.parent.name.partition("-")[0], plan)
        listings.append(BenchmarkListing(declared.name, declared.version, rows, title, verdict))
    return listings


def as_table(benchmarks: Sequence[BenchmarkListing]) -> str:
    """An aligned text table: name, version, rows, verdict, title."""
    lines = [("name", "version", "rows", "verdict", "title")]
    for listing in benchmarks:
        rows = f"{listing.rows:,}"
        lines.append((listing.name, listing.version, rows, listing.verdict, listing.title))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    name_width, version_width, rows_width, verdict_width, _ = widths
    text = ""
    for name, version, rows, verdict, title in lines:
        columns = (
            name.ljust(name_width),
            version.ljust(version_width),
            rows.rjust(rows_width),
            verdict.ljust(verdict_width),
        )
        text += "  ".join([*columns, title]) + "\n"
    return text

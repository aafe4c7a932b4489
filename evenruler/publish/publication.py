"""Publishes a benchmark on the Hugging Face Hub: one commit, then a tag that never moves."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.hub import LOG_IN, hub_errors_as_user_errors
from evenruler.models.answer_logs.exported import ENTRY, EXPORTED
from evenruler.models.declarations import NOT_STATED
from evenruler.publish import manifest
from evenruler.publish.difference import compare
from evenruler.publish.locate import find_newest_version, from_hub, with_hub_location
from evenruler.publish.manifest import NOT_OURS, manifest_problems
from evenruler.tables import contents
from evenruler.versions import bump_version, version_key

if TYPE_CHECKING:  # takes a second to import
    from huggingface_hub import DatasetInfo, HfApi

KIND = "dataset"


def publish(
    folder: Path, repo: str, *, private: bool = False, dry_run: bool = False
) -> Iterator[str]:
    """Publish a benchmark folder as `repo`, yielding messages; running it again completes an
    interrupted run.

    `private` makes a new repository private; `dry_run` only reports what would happen. UserError if
    `repo` is no USER/REPO; the folder does not match its manifest; the version exists with other
    content, is lower than the latest or too small a bump; or the Hub refuses. An incomplete version
    is never visible.
    """
    _require_name(repo, folder)
    declared = manifest.read_manifest(folder)
    deviations = manifest_problems(folder)
    if deviations:
        n_more = len(deviations) - 1
        more = f" (and {n_more} more)" if n_more else ""
        raise UserError(f"{deviations[0]}{more}", where=str(folder), remedy="run `make repro`")
    _require_files(folder, declared.files)
    files = with_hub_location(folder, repo)
    remote, tags = _fetch_repo_info(repo)
    tag = f"v{declared.version}"
    if tag in tags:
        difference = compare(from_hub(repo, tag), folder)
        if difference.needs != "none":
            should = bump_version(declared.version, difference.needs)
            what = f"{tag} is published with other content ({difference.reasons[0][1]})"
            remedy = (
                f"published versions stay; this one should be {should}: run `evenruler "
                f"release {folder.name}`"
            )
            raise UserError(what, where=repo, remedy=remedy)
        yield f"{repo} has {tag} already, with this content: nothing to do"
        return
    highest = find_newest_version(tags)
    if highest:
        _require_version_step(folder, repo, highest, declared.version)
    there = [sibling.rfilename for sibling in (remote and remote.siblings) or ()]
    gone = [name for name in there if name not in files and name not in NOT_OURS]
    if dry_run:
        kind = "private" if private else "public"
        what = f"make the {kind} data set" if remote is None else "add a commit to the data set"
        yield f"would {what} {repo}"
        for name, content in files.items():
            n_bytes = len(content) if isinstance(content, bytes) else content.stat().st_size
            yield f"  add {name} ({n_bytes:,} bytes)"
        yield from (f"  delete {name}" for name in gone)
        yield f"would tag it {tag}; its card:\n"
        card = files["README.md"]
        yield (card if isinstance(card, bytes) else card.read_bytes()).decode()
        return
    yield from _publish_files(files, gone, repo, tag, remote, private=private)


def publish_answers(
    folder: Path, repo: str, *, private: bool = False, dry_run: bool = False
) -> Iterator[str]:
    """Publish the output of `evenruler answers export`, as `publish` does; the tag contains the
    answers' checksum.
    """
    _require_name(repo, folder)
    files: dict[str, bytes | Path] = {
        name: folder / name for name in ("README.md", EXPORTED, ENTRY)
    }
    _require_files(folder, files)
    model_entry = json.loads((folder / ENTRY).read_text(encoding="utf-8"))
    if file_sha256(folder / EXPORTED) != model_entry["sha256"]:
        raise UserError(
            f"not as {ENTRY} says (sha256)", where=str(folder / EXPORTED), remedy="export it again"
        )
    if model_entry["licence"] == NOT_STATED:
        what = (
            f"the licence of {model_entry['name']} is {NOT_STATED}: its answers may not be "
            "passed on"
        )
        raise UserError(
            what,
            where=str(folder),
            remedy="say `licence:` of the model in params.yaml, and export again",
        )
    tag = f"answers-{model_entry['sha256'][:12]}"
    remote, tags = _fetch_repo_info(repo)
    if tag in tags:
        yield f"{repo} has {tag} already: nothing to do"
    elif dry_run:
        yield f"would publish {', '.join(files)} in {repo} and tag it {tag}"
    else:
        yield from _publish_files(files, [], repo, tag, remote, private=private)


def _require_name(repo: str, folder: Path) -> None:
    """UserError unless `repo` has the form USER/REPO; the remedy proposes the folder's name."""
    if not re.fullmatch(r"[^/\s]+/[^/\s]+", repo):
        raise UserError(
            f"{repo!r} names no data set",
            where="--to",
            remedy=f"give USER/REPO, as you/{folder.name}",
        )


def _require_files(folder: Path, names: Iterable[str]) -> None:
    """UserError if a file to be sent is missing, or is a link, which may lead to a private file."""
    for name in names:
        contents.require_file(folder / name)
        if (folder / name).is_symlink():
            raise UserError(
                "a link, which is not sent",
                where=str(folder / name),
                remedy="put the file in its place",
            )


def _fetch_repo_info(repo: str) -> "tuple[DatasetInfo | None, list[str]]":
    """The repository's info and tags; None if it does not exist (or is hidden)."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    api = HfApi()
    with hub_errors_as_user_errors(repo):
        try:
            info = api.dataset_info(repo)
        except GatedRepoError:
            raise
        except RepositoryNotFoundError:
            return None, []
        return info, [tag.name for tag in api.list_repo_refs(repo, repo_type=KIND).tags]


def _require_version_step(folder: Path, repo: str, newest: str, version: str) -> None:
    """UserError if `version` is below `newest`, the newest published one, or a smaller step up from
    it than what changed requires.
    """
    if version_key(version) < version_key(newest):
        what = f"the version goes down, from {newest} to {version}"
        raise UserError(
            what,
            where=repo,
            remedy=f"give a version above {newest} under `versions` in params.yaml",
        )
    difference = compare(from_hub(repo, f"v{newest}"), folder)
    if version_key(version) < version_key(difference.next_version):
        _, reason = difference.reasons[0]
        what = f"{version} is too small a step from {newest} ({reason})"
        remedy = f"it should be {difference.next_version}: run `evenruler release {folder.name}`"
        raise UserError(what, where=repo, remedy=remedy)


def _publish_files(
    files: dict[str, bytes | Path],
    gone: list[str],
    repo: str,
    tag: str,
    remote: "DatasetInfo | None",
    *,
    private: bool,
) -> Iterator[str]:
    """Commit files to a data set on the Hub, delete those `gone`, tag the commit, and yield what
    was done; makes the data set where `remote` is None. UserError without a token.
    """
    from huggingface_hub import (
        CommitOperationAdd,
        CommitOperationCopy,
        CommitOperationDelete,
        HfApi,
        get_token,
    )

    if get_token() is None:
        raise UserError("no token for the Hub", where=repo, remedy=LOG_IN)
    api = HfApi()
    with hub_errors_as_user_errors(repo):
        if remote is None:
            api.create_repo(repo, repo_type=KIND, private=private, exist_ok=True)
            yield f"made {repo}"
        elif private and not remote.private:
            yield f"{repo} is public already and stays so: --private is for a new data set"
        head = (remote or api.dataset_info(repo)).sha
        if head and _has_same_files(api, repo, head, files):
            yield "an earlier run made the commit, but not the tag"
        else:
            operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = []
            operations += [CommitOperationAdd(name, content) for name, content in files.items()]
            operations += map(CommitOperationDelete, gone)
            message = f"Publish {tag}"
            head = api.create_commit(
                repo, operations, commit_message=message, repo_type=KIND, parent_commit=head
            ).oid
            yield f"committed {len(files)} files"
        api.create_tag(
            repo,
            tag=tag,
            tag_message=f"Version {tag.removeprefix('v')}",
            revision=head,
            repo_type=KIND,
        )
        yield f"published {repo} {tag}"


def _has_same_files(api: "HfApi", repo: str, commit: str, files: dict[str, bytes | Path]) -> bool:
    """Whether a commit holds exactly these files; comparing manifests would not be enough."""
    from huggingface_hub import RepoFile

    tree = api.list_repo_tree(repo, recursive=True, revision=commit, repo_type=KIND)
    there = {
        tree_node.path: tree_node
        for tree_node in tree
        if isinstance(tree_node, RepoFile) and tree_node.path not in NOT_OURS - files.keys()
    }
    if there.keys() != files.keys():
        return False
    for name, content in files.items():  # compare with the checksum of its storage type
        data = content if isinstance(content, bytes) else content.read_bytes()
        lfs = there[name].lfs
        if lfs is not None:
            is_same = lfs.sha256 == hashlib.sha256(data).hexdigest()
        else:
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            is_same = there[name].blob_id == blob
        if not is_same:
            return False
    return True

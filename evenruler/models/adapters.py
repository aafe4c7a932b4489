"""Whose a LoRA is: the base that its configuration names, compared with the declared one."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.files import read_json_file
from evenruler.models.declarations import ModelEntry
from evenruler.models.loading import ADAPTER, OF_FILES
from evenruler.models.store import RowStore

COMMIT: Final = re.compile("[0-9a-f]{40}")
REPOSITORY: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")


def verify_base(
    name: str, entry: ModelEntry, base: Path, adapter: Path, store: RowStore
) -> list[str]:
    """Compare the base that an adapter names with the declared one, whose files are in `base`.

    A folder that exists here is compared by the checksums of weights, a repository of the Hub by
    its name and commit. The name of a local folder tells nothing of its content: it is no reason to
    refuse, and only its last part, equal to that of the repository, counts as the same.

    Returns:
        Sentences for results on what could not be compared.

    Raises:
        UserError: The adapter names another base.
    """
    content = read_json_file(adapter / ADAPTER, dict)
    named, revision = (
        str(content.get("base_model_name_or_path") or ""),
        str(content.get("revision") or ""),
    )
    place = f"{adapter / ADAPTER}: base_model_name_or_path"
    declared = entry.source if isinstance(entry.source, str) else entry.source[0]
    remedy = (
        f"declare that base for {name}, or, if both are the same weights, write the declared "
        "one there"
    )
    if not named:
        return [f"{OF_FILES}the adapter does not name its base"]
    if Path(named).is_dir():
        if Path(named).resolve() == base.resolve() or _hash_weights(
            Path(named), store
        ) == _hash_weights(base, store):
            return []
        raise UserError(
            f"the adapter was fitted on {named!r}, whose weights are others",
            where=place,
            remedy=remedy,
        )
    scheme, _, path = declared.partition(":")
    if scheme == "hub" and REPOSITORY.fullmatch(named):
        if named.lower() != path.lower():
            raise UserError(
                f"the adapter was fitted on {named!r}, declared is {path!r}",
                where=place,
                remedy=remedy,
            )
        if (
            COMMIT.fullmatch(revision)
            and COMMIT.fullmatch(entry.revision or "")
            and revision != entry.revision
        ):
            what = (
                f"the adapter was fitted on commit {revision[:12]} of its base, declared is "
                f"{entry.revision:.12}"
            )
            place = f"{adapter / ADAPTER}: revision"
            raise UserError(
                what, where=place, remedy=f"declare that commit for {name}, or correct the file"
            )
        return []
    names = {
        Path(path).name.lower(),
        base.name.lower(),
        *re.findall(r"[\w.-]+/[\w.-]+", entry.origin.lower()),
    }
    repository = named.lower()
    has_same_name = repository in names or repository.rpartition("/")[2] in names
    if REPOSITORY.fullmatch(named) and has_same_name:
        return []
    return [
        f"{OF_FILES}the adapter was fitted on {named!r}, and whether {declared} is that cannot be "
        "compared here"
    ]


def _hash_weights(folder: Path, store: RowStore) -> Sequence[tuple[str, str]]:
    """Names and checksums of the weights in a folder."""
    files: list[Any] = sorted(folder.glob("*.safetensors"))
    if not files:
        files = sorted(folder.glob("*.bin"))
    return [(path.name, store.file_sha256(path)) for path in files]

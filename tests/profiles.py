"""Sets the profile of the pipeline at the top of a folder, and pins what it declares."""

from pathlib import Path

from evenruler.declaration.active import compute_active
from evenruler.declaration.generated import render_active
from evenruler.declaration.params import load_params
from evenruler.declaration.validation import finished_instruments
from evenruler.hub import HubCommit
from evenruler.instruments.instrument import Profile
from evenruler.project.pin import list_hub_entries, write_commits


def set_profile(root: Path, profile: Profile) -> None:
    """Write `active.yaml` for a profile, without all else that `evenruler check` does."""
    path = root / "params.yaml"
    params = load_params(path)
    active = compute_active(
        finished_instruments(root, params, profile), path, profile, params.left_out
    )
    (root / "active.yaml").write_text(render_active(active), encoding="utf-8")


def pin_everything(params: Path) -> None:
    """Pin every repository that is not pinned to a commit that no Hub has."""
    commit = HubCommit("a" * 40, "", frozenset())
    unpinned = [entry for entry in list_hub_entries(load_params(params)) if entry.lacks_commit]
    text = params.read_text(encoding="utf-8")
    params.write_text(
        write_commits(text, params, dict.fromkeys(unpinned, commit)), encoding="utf-8"
    )

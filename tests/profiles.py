"""Sets the profile of the pipeline at the top of a folder."""

from pathlib import Path

from evenruler.declaration.active import compute_active
from evenruler.declaration.generated import render_active
from evenruler.declaration.params import load_params
from evenruler.declaration.validation import finished_instruments
from evenruler.instruments.instrument import Profile


def set_profile(root: Path, profile: Profile) -> None:
    """Write `active.yaml` for a profile, without all else that `evenruler check` does."""
    path = root / "params.yaml"
    params = load_params(path)
    active = compute_active(
        finished_instruments(root, params, profile), path, profile, params.left_out
    )
    (root / "active.yaml").write_text(render_active(active), encoding="utf-8")

"""What `evenruler new` does: a commented file that passes the checks, and its line in params.yaml."""

import re
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from evenruler.errors import UserError, nearest
from evenruler.files import replace
from evenruler.project.files import params_yaml
from evenruler.project.params import load_params


@dataclass(frozen=True)
class Kind:
    """Something that can be started."""

    section: str
    """Of params.yaml."""
    folder: str
    """Under data/sources."""
    starter: str
    what: str
    beside: tuple[str, str] | None = None
    """What else is written: a path under the folder, and the starter of it."""


KINDS = {
    "probes": Kind("probes", "probes", "probes/starter.yaml", "probe domain"),
    "questionnaire": Kind("questionnaires", "questionnaires", "questionnaires/starter.yaml", "questionnaire"),
    "contrast": Kind("contrasts", "contrasts", "framing/starter.yaml", "contrast"),
    "domain": Kind(
        "domains", "domains", "saged/starter.yaml", "domain", ("articles/NAME.md", "saged/starter_article.md")
    ),
}


def start(root: Path, kind: str, name: str) -> list[str]:
    """Start a probe domain, a questionnaire, a contrast or a domain of SAGED.

    Args:
        root: The repository.
        kind: One of `KINDS`.
        name: Its slug.

    Returns:
        Lines that say what was written.

    Raises:
        UserError: There is no such kind, the name is no slug, or is taken.
    """
    if kind not in KINDS:
        raise UserError(f"nothing of the kind {kind!r} can be started", remedy=nearest(kind, KINDS))
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(f"{name!r} is no slug", remedy="use lower-case letters, digits and single hyphens")
    chosen = KINDS[kind]
    params, source = root / "params.yaml", root / "data/sources" / chosen.folder / f"{name}.yaml"
    declared = load_params(params, in_step=False)
    taken: dict[str, Any] = getattr(declared, chosen.section)
    if source.exists() or name in taken:
        raise UserError(f"the {chosen.what} {name!r} is there already", where=str(source), remedy="take another name")
    document = params_yaml().load(params.read_text(encoding="utf-8"))
    document.setdefault(chosen.section, {})[name] = {}
    text = StringIO()
    params_yaml().dump(document, text)
    written = {source: chosen.starter}
    if chosen.beside:
        written[source.parent / chosen.beside[0].replace("NAME", name)] = chosen.beside[1]
    for path, starter in written.items():
        if not path.exists():
            said = files("evenruler.instruments").joinpath(starter).read_text(encoding="utf-8")
            replace(path, said.replace("NAME", name))
    replace(params, text.getvalue())
    listed = " and ".join(str(path.relative_to(root)) for path in written)
    what = "it" if len(written) == 1 else "them"
    return [f"wrote {listed}; edit {what}, then `make repro`", f"params.yaml: {chosen.section} now holds {name}"]

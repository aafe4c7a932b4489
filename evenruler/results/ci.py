"""A workflow for GitHub Actions that measures a model and gates what changes it."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Final

from evenruler.errors import UserError
from evenruler.files import jinja_environment, write_text_atomically

WORKFLOW: Final = Path(".github/workflows/evenruler.yml")
MODEL: Final = "./my-model"
BENCHMARKS: Final = ("probes-occupation-gender",)
REQUIREMENT: Final = "./evenruler[measure]"
"""What the workflow installs, as pip takes it."""


def render_workflow(
    model: str = MODEL,
    benchmarks: Sequence[str] = BENCHMARKS,
    *,
    requirement: str = REQUIREMENT,
    baseline: str = "",
) -> str:
    """The workflow's text. `baseline`: earlier results in the repository, to be compared with."""
    return (
        jinja_environment("evenruler.results")
        .get_template("workflow.yml.j2")
        .render(
            model=quote(model),
            benchmarks=list(map(quote, benchmarks)),
            requirement=requirement,
            baseline=quote(baseline) if baseline else None,
        )
    )


def write_workflow(root: Path, text: str) -> list[str]:
    """Write the workflow below a repository's root, and return lines on what to do next; UserError
    where there is another one already.
    """
    path = root / WORKFLOW
    if path.exists() and path.read_text(encoding="utf-8") != text:
        remedy = "move it away, or change it by hand"
        raise UserError("another workflow is there", where=str(WORKFLOW), remedy=remedy)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path, text)
    return [
        f"written: {WORKFLOW}",
        "next: put a clone of Even Ruler where EVENRULER says (git submodule add), and commit both",
    ]

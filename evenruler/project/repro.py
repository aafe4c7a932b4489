"""`evenruler repro`, which is what `make repro` runs; plain `dvc repro` builds the same, one stage
after the other.
"""

import math
import os
import re
import signal
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from evenruler.declaration.profiles import PIPELINE, folder_of
from evenruler.errors import UserError
from evenruler.instruments.instrument import PROFILES
from evenruler.project.check import check
from evenruler.project.dvc import outdated_stages, run_dvc, run_stages
from evenruler.terminal import say, say_each

TOGETHER = (
    (("scrape", "evolve", "rows"), 7),
    (("ask",), 1),
    (("diagnose",), 1),
    (("card", "card-third-party"), 7),
)
"""Kinds of stages that run at once, and the stages of how many names one process of DVC runs. Each
needs only kinds before it, and those of its own name: `rows@fruit` needs `scrape@fruit`. Stages
that ask one model would wait for each other, so that their name is the model."""

AT_ONCE = 2
"""Batches that run at once on processors: with more, DVC would wait for its own lock."""


def repro(root: Path, words: Sequence[str], profile: str = PROFILES[0]) -> int:
    """Check the declaration, then build what is out of date at a profile, several rows and models
    at once.

    `words`: arguments of `dvc repro`, which is then all that runs. Returns DVC's exit status, 130
    after an interrupt. UserError, before anything is built, if the declaration is invalid or the
    profile has no folder.
    """
    folder = root / folder_of(profile)
    if not (folder / PIPELINE).exists():
        raise UserError(f"{folder} has no pipeline", remedy=f"run `evenruler profile {profile}`")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        say_each(check(root))
        failed = [] if words else _build_together(folder)
        status = run_dvc(folder, "repro", *words)
    except KeyboardInterrupt:
        say("interrupted; answers are kept: `make repro` resumes there", err=True)
        return 128 + signal.SIGINT
    if status:
        stopped = _stages_that_failed(failed, outdated_stages(folder) if failed else [])
        say_each(describe_omission(stage) for stage in stopped if stage.startswith(OPTIONAL))
    elif not words:
        say_each(describe_next_steps(folder))
    return status


PAGE = Path("data/report/index.html")
ACTIVATE = "source .venv/bin/activate"


def describe_next_steps(folder: Path) -> Iterator[str]:
    """What to look at and to type after a build, a line each; how the command is put on the PATH,
    where no environment is active.
    """
    if (folder / PAGE).is_file():
        yield f"built: open {folder / PAGE}"
    first = "" if "VIRTUAL_ENV" in os.environ else f"{ACTIVATE}; "
    yield f"next:  {first}evenruler measure --demo"


OPTIONAL = ("ask@", "rows@")
"""Kinds of stages without which the rest can be built."""


def describe_omission(stage: str) -> str:
    """Say how everything else is built without a stage that fails."""
    return (
        f"to build without {stage}: write `left_out: {{{stage}: REASON}}` into params.yaml, "
        "then `make repro`"
    )


def _stages_that_failed(batches: Sequence[Sequence[str]], outdated: Sequence[str]) -> list[str]:
    """Of each batch the first stage that is still out of date: those after it were not tried."""
    failed: list[str] = []
    for batch in batches:
        left = [stage for stage in batch if stage in outdated]
        failed += left[:1]
    return sorted(failed)


def _build_together(root: Path) -> list[Sequence[str]]:
    """Run stages of `TOGETHER` that are out of date, and return the batches that failed; the others
    are built and locked.

    `dvc repro` tries those again, and says why.
    """
    failed: list[Sequence[str]] = []
    if run_dvc(root, "repro", "--quiet", "declared"):
        return failed
    for kinds, size in TOGETHER:
        outdated = outdated_stages(root)
        if not outdated:
            break
        batches = batch_stages(outdated, kinds, size)
        if len(batches) > 1:
            failed += run_stages(
                root, batches, _batch_environments(len(batches), asking="ask" in kinds)
            )
    return failed


def batch_stages(stages: Sequence[str], kinds: Sequence[str], size: int) -> list[list[str]]:
    """Stages of some kinds, in lists of `size` names; those of one name stay in one list."""
    by_name: dict[str, list[str]] = {}
    for stage in stages:
        kind, _, name = stage.partition("@")
        if kind == "ask":
            name = re.sub("^[a-z]+-", "", name)  # without its family
        if kind in kinds:
            by_name.setdefault(name, []).append(stage)
    groups = list(by_name.values())
    starts = range(0, len(groups), size)
    return [list(chain.from_iterable(groups[start : start + size])) for start in starts]


def _batch_environments(n_batches: int, *, asking: bool) -> list[dict[str, str]]:
    """Environments of batches that run at once: a GPU each where there are some, else a share of
    the processor.
    """
    cores = os.cpu_count() or 1
    if asking:
        from evenruler.models.engines import takes_every_gpu  # slow imports
        from evenruler.models.engines.environment import count_gpus

        if takes_every_gpu():
            return [{}]
        n_gpus = count_gpus()
        if n_gpus:
            return [{"CUDA_VISIBLE_DEVICES": name} for name in name_gpus(n_gpus)]
    at_once = min(AT_ONCE, cores, n_batches)
    threads = math.ceil(cores / at_once)
    return [{"OMP_NUM_THREADS": str(threads)} for _ in range(at_once)]


def name_gpus(n_gpus: int) -> list[str]:
    """The GPUs that this process sees, as `CUDA_VISIBLE_DEVICES` takes them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    named = [word.strip() for word in visible if word.strip()]
    return (named or [str(number) for number in range(n_gpus)])[:n_gpus]

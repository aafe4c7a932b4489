"""`evenruler repro`: what `make repro` does with DVC, for those without make; plain `dvc repro` builds the same."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from evenruler.project.check import check
from evenruler.project.dvc import outdated_stages, run_dvc, run_stages
from evenruler.project.processes import gpus_of
from evenruler.terminal import say, say_each

TOGETHER = (
    (("scrape", "evolve"), 1),
    (("rows",), 7),
    (("ask",), 1),
    (("diagnose",), 1),
    (("card", "card-of-others"), 7),
)
"""Kinds of stages that run at once, each needing only kinds before it, and how many one process of DVC runs."""


def repro(root: Path, words: Sequence[str]) -> int:
    """Check the declaration, then build what is out of date, several rows and models at once.

    `words`: arguments of `dvc repro`, which is then all that runs. Returns DVC's exit status, 130 after an interrupt.
    UserError, before anything is built, if the declaration is invalid.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        say_each(check(root))
        if not words:
            _build_together(root)
        return run_dvc(root, "repro", *words)
    except KeyboardInterrupt:
        say("interrupted; answers are kept: `make repro` resumes there", err=True)
        return 128 + signal.SIGINT


def _build_together(root: Path) -> None:
    """Run stages of `TOGETHER` that are out of date; `dvc repro` tries those again that fail, and says why."""
    if run_dvc(root, "repro", "--quiet", "declared"):
        return
    for kinds, size in TOGETHER:
        stages = sorted(stage for stage in outdated_stages(root) if stage.partition("@")[0] in kinds)
        batches = [stages[start : start + size] for start in range(0, len(stages), size)]
        if len(batches) > 1:
            run_stages(root, batches, _slots(len(batches), asking="ask" in kinds))


def _slots(n_batches: int, *, asking: bool) -> list[dict[str, str]]:
    """Environments of batches that run at once: a GPU each where there are some, else a share of the processor."""
    cores = os.cpu_count() or 1
    if asking:
        from evenruler.models.engines import RAY, chosen, machine  # slow import

        if chosen()[0] == RAY:  # a cluster spreads the questions of one stage
            return [{}]
        if gpus := gpus_of(machine()):
            return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus]
    at_once = min(cores, n_batches)
    return [{"OMP_NUM_THREADS": str(cores // at_once)} for _ in range(at_once)]

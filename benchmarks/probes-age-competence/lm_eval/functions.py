"""The functions that the tasks here name. They are in the package: pip install
evenruler."""

from pathlib import Path

from evenruler.instruments.probes.card.lm_eval_task import ProbeTask

_task = ProbeTask(Path(__file__).parents[1])
likelihood = _task.likelihood
load_docs = _task.load_docs
offset = _task.offset
spread = _task.spread

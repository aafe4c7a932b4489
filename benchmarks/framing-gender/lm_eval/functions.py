"""The functions that the tasks here name. They are in the package: pip install
evenruler."""

from pathlib import Path

from evenruler.instruments.framing.card.lm_eval_task import ContrastTask

_task = ContrastTask(Path(__file__).parents[1])
choices = _task.choices
control = _task.control
coverage = _task.coverage
effect = _task.effect
load_docs = _task.load_docs
metric_inputs = _task.metric_inputs

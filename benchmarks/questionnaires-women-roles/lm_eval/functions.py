"""The functions that the tasks here name. They are in the package: pip install
evenruler."""

from pathlib import Path

from evenruler.instruments.questionnaires.card.lm_eval_task import QuestionnaireTask

_task = QuestionnaireTask(Path(__file__).parents[1])
answer = _task.answer
beyond_twins = _task.beyond_twins
entailment = _task.entailment
load_docs = _task.load_docs
score = _task.score

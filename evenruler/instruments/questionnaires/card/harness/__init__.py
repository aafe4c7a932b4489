"""A questionnaire benchmark as a task of lm-evaluation-harness: a YAML file and a small Python module."""

import json
from importlib import resources

from evenruler.instruments.card import one_line, task_template
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, Scale, Wording
from evenruler.models.records import CONTENT_FREE, INSTRUCTION, OPTIONS


def task_name(questionnaire: str) -> str:
    """The name of a questionnaire's task."""
    return f"nli_{questionnaire}".replace("-", "_")


def harness_files(
    questionnaire: str,
    source: QuestionnaireSource,
    scale: Scale,
    version: str,
    *,
    temperature: float = 1.0,
    three_way: bool = False,
) -> dict[str, str]:
    """The files of the folder `lm_eval/`, by name."""

    def prompts(asked: Wording) -> int:
        return len(asked.terms.words) * len(scale.intensifiers)

    here = resources.files(__name__)
    template = task_template(here / "task.yaml.j2")
    settings = {
        "content_free": CONTENT_FREE,
        "items": {slug: prompts(item) for slug, item in source.items.items()},
        "subscales": source.subscales,
        "temperature": temperature,
        "three_way": three_way,
        "twins": {slug: [*map(prompts, item.twins)] for slug, item in source.items.items() if item.twins},
    }
    task = template.render(
        task=task_name(questionnaire),
        title=one_line(source.title),
        direction=one_line(source.direction),
        version=version,
        prompt=INSTRUCTION.format(premise="{{premise}}", hypothesis="{{hypothesis}}"),
        options=OPTIONS,
        subscales=source.subscales,
        twins=bool(source.twins),
    )
    return {
        f"{task_name(questionnaire)}.yaml": task,
        "scale_score.py": (here / "scale_score.py").read_text(encoding="utf-8"),
        "settings.json": json.dumps(settings, indent=2, sort_keys=True) + "\n",
    }

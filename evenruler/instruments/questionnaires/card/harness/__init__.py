"""A questionnaire benchmark as a task of lm-evaluation-harness: YAML and the small Python that it needs."""

import json
from importlib import resources

import jinja2

from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, Scale
from evenruler.text.verbaliser import CONTENT_FREE, INSTRUCTION, OPTIONS


def task_name(questionnaire: str) -> str:
    """The task of a questionnaire."""
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
    """The files of `lm_eval/`, by name.

    Args:
        questionnaire: Its slug.
        source: What the user wrote.
        scale: Its intensifiers.
        version: Of the benchmark.
        temperature: Of the two-way normalisation.
        three_way: Whether neutral counts.
    """
    here = resources.files(__name__)
    template = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True, autoescape=False
    ).from_string((here / "task.yaml.j2").read_text(encoding="utf-8"))
    settings = {
        "content_free": CONTENT_FREE,
        "items": {
            slug: (len(item.terms.source) + len(item.terms.inverse)) * len(scale.intensifiers)
            for slug, item in source.items.items()
        },
        "subscales": source.subscales,
        "temperature": temperature,
        "three_way": three_way,
    }
    task = template.render(
        task=task_name(questionnaire),
        title=_one_line(source.title),
        direction=_one_line(source.direction),
        version=version,
        prompt=INSTRUCTION.format(premise="{{premise}}", hypothesis="{{hypothesis}}"),
        options=OPTIONS,
        subscales=source.subscales,
    )
    return {
        f"{task_name(questionnaire)}.yaml": task,
        "scale_score.py": (here / "scale_score.py").read_text(encoding="utf-8"),
        "settings.json": json.dumps(settings, indent=2, sort_keys=True) + "\n",
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())

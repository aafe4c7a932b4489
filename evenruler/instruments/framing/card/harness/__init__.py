"""Export of a contrast of framings as a task of lm-evaluation-harness: YAML and the Python functions that it needs."""

from importlib import resources

from evenruler.instruments.card import one_line, task_template
from evenruler.instruments.framing import declare
from evenruler.instruments.framing.declare import FramingPlan
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.instrument import Plan


def task_name(contrast: str) -> str:
    """Name of the task of a contrast: one for all its ways of asking, since an effect is a mean over them."""
    return f"framing_{contrast}".replace("-", "_")


def harness_files(contrast: str, source: ContrastSource, plan: Plan, version: str) -> dict[str, str]:
    """Contents of the files of `lm_eval/`, by name."""
    here = resources.files(__name__)
    template = task_template(here / "task.yaml.j2")
    asked = FramingPlan.read(plan)
    task = template.render(
        task=task_name(contrast),
        title=one_line(source.title),
        factors=[
            {"slug": factor.replace("-", "_"), "told": one_line(told), "placebos": asked.placebos[factor]}
            for factor, told in source.factors.items()
        ],
        version=version,
    )
    modules = {"apd.py": here / "apd.py", "rows.py": resources.files(declare) / "asked.py"}
    files = {name: module.read_text(encoding="utf-8") for name, module in modules.items()}
    return {f"{task_name(contrast)}.yaml": task, **files}

"""Export of a probe benchmark as tasks of lm-evaluation-harness: YAML and the Python functions that it needs."""

import json
from collections.abc import Mapping
from importlib import resources

from evenruler.instruments.card import one_line, task_template
from evenruler.instruments.probes.declare.source import ProbeSource


def task_name(domain: str, set_name: str | None = None) -> str:
    """Name of the task of one template set, or of the group of all tasks."""
    name = f"probes_{domain}__{set_name}" if set_name else f"probes_{domain}"
    return name.replace("-", "_")


def harness_files(domain: str, source: ProbeSource, criterion: Mapping[str, float], version: str) -> dict[str, str]:
    """Contents of the files of `lm_eval/`, by name."""
    here = resources.files(__name__)
    template = task_template(here / "task.yaml.j2")
    files = {"group_difference.py": (here / "group_difference.py").read_text(encoding="utf-8")}
    rows = (here / "rows.py").read_text(encoding="utf-8")
    for set_name in source.sets:
        function = f"of_{set_name}".replace("-", "_")
        rows += f'\n\ndef {function}(rows: Any) -> Any:\n    return _of_set("{set_name}", rows)\n'
        files[f"{task_name(domain, set_name)}.yaml"] = template.render(
            task=task_name(domain, set_name),
            title=one_line(source.title),
            set=set_name,
            rows=function,
            version=version,
            direction=one_line(source.direction),
            criterion=one_line(source.criterion.label) if source.criterion and criterion else None,
        )
    files["rows.py"] = rows
    tasks = "".join(f"  - {task_name(domain, set_name)}\n" for set_name in source.sets)
    files[f"{task_name(domain)}.yaml"] = f"group: {task_name(domain)}\ntask:\n{tasks}"
    if criterion:
        files["criterion.json"] = json.dumps(dict(criterion), indent=2, sort_keys=True) + "\n"
    return files

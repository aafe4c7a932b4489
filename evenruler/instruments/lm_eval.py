"""What tasks for lm-evaluation-harness have in common, whatever the family: the template of a task in YAML."""

from importlib.resources.abc import Traversable

import jinja2


def task_template(folder: Traversable) -> jinja2.Template:
    """The template `task.yaml.j2` of a folder; a slot that nothing fills is an error."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    return environment.from_string((folder / "task.yaml.j2").read_text(encoding="utf-8"))


def one_line(text: str) -> str:
    """A text without line breaks, as YAML takes it in one line."""
    return " ".join(text.split())

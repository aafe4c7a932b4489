"""Editing files that people also edit."""

from pathlib import Path

from ruamel.yaml import YAML


def params_yaml() -> YAML:
    """Reads and writes params.yaml and dvc.yaml with comments, order and layout kept."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def replace(path: Path, text: str) -> None:
    """Write a file, and the folder that it lies in, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)

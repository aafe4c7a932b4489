"""Editing files that people also edit."""

from ruamel.yaml import YAML


def params_yaml() -> YAML:
    """Reads and writes params.yaml and dvc.yaml with comments, order and layout kept."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml

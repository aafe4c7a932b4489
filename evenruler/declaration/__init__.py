"""What users write in YAML, read strictly: `params.yaml` and the files under `data/sources/`."""

from evenruler.declaration.criterion import Criterion, read_criterion
from evenruler.declaration.params import ModelEntry, Params, ProbeSettings, load_params
from evenruler.declaration.probes import ProbeSource, TemplateEntry, load_probe_source
from evenruler.declaration.questionnaires import QuestionnaireSource, Scale, load_questionnaire
from evenruler.declaration.versions import Changelog, Release, load_changelog

__all__ = [
    "Changelog",
    "Criterion",
    "ModelEntry",
    "Params",
    "ProbeSettings",
    "ProbeSource",
    "QuestionnaireSource",
    "Release",
    "Scale",
    "TemplateEntry",
    "load_changelog",
    "load_params",
    "load_probe_source",
    "load_questionnaire",
    "read_criterion",
]

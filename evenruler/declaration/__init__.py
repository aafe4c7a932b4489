"""What users write in YAML, read strictly: `params.yaml` and the files under `data/sources/`."""

from evenruler.declaration.adapters import ADAPTERS, AdapterRecord, read_adapter
from evenruler.declaration.contrasts import ContrastSource, load_contrast
from evenruler.declaration.corpora import CorpusSource, load_corpus
from evenruler.declaration.criterion import Criterion, read_criterion
from evenruler.declaration.domains import DomainSource, load_domain, require_fitting
from evenruler.declaration.evolving import EvolveSettings, FitnessWeights
from evenruler.declaration.generating import Disparities, DomainSettings, Feature, SagedSettings
from evenruler.declaration.models import LIKELIHOODS, ModelEntry, named
from evenruler.declaration.params import Params, evolved, load_params
from evenruler.declaration.probes import ProbeSource, TemplateEntry, load_probe_source
from evenruler.declaration.questionnaires import QuestionnaireSource, Scale, load_questionnaire
from evenruler.declaration.settings import ContrastSettings, InterventionSettings, ProbeSettings
from evenruler.declaration.training import Finetune, TrainingData
from evenruler.declaration.versions import Changelog, Release, load_changelog

__all__ = [
    "ADAPTERS",
    "LIKELIHOODS",
    "AdapterRecord",
    "Changelog",
    "ContrastSettings",
    "ContrastSource",
    "CorpusSource",
    "Criterion",
    "Disparities",
    "DomainSettings",
    "DomainSource",
    "EvolveSettings",
    "Feature",
    "Finetune",
    "FitnessWeights",
    "InterventionSettings",
    "ModelEntry",
    "Params",
    "ProbeSettings",
    "ProbeSource",
    "QuestionnaireSource",
    "Release",
    "SagedSettings",
    "Scale",
    "TemplateEntry",
    "TrainingData",
    "evolved",
    "load_changelog",
    "load_contrast",
    "load_corpus",
    "load_domain",
    "load_params",
    "load_probe_source",
    "load_questionnaire",
    "named",
    "read_adapter",
    "read_criterion",
    "require_fitting",
]

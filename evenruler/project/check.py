"""What `evenruler check` and `evenruler scale` do: everything valid, in step, and no trace of what is gone."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import get_args

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from evenruler.declared import Active
from evenruler.errors import UserError, nearest
from evenruler.files import replace
from evenruler.instruments.framing.source import load_contrast
from evenruler.instruments.instrument import Scale
from evenruler.instruments.probes.criterion import read_criterion
from evenruler.instruments.probes.evolve.settings import probe_sets, require_start
from evenruler.instruments.probes.source import load_probe_source
from evenruler.instruments.questionnaires.corpora import load_corpus
from evenruler.instruments.questionnaires.settings import corpora_at
from evenruler.instruments.questionnaires.source import load_questionnaire
from evenruler.instruments.saged.source import DomainSource, load_domain, require_fitting
from evenruler.models.adapter_record import ADAPTERS, read_adapter
from evenruler.project import artifacts
from evenruler.project.files import params_yaml
from evenruler.project.params import Params, load_params, require_models
from evenruler.project.uses import uses
from evenruler.publish.versions import load_changelog

BENCHMARK_PREFIXES = ("probes", "nli", "framing", "saged")
"""What the names of benchmark folders begin with, by family."""

IGNORED = "# Written by `evenruler check`: benchmarks that hold text of others are in DVC's cache."

INTERVENTIONS = "data/scores/interventions"
CONTRASTS, FRAMING = "data/built/framing", "data/scores/framing"
DOMAINS, GENERATIONS, FEATURES = "data/built/saged", "data/generations", "data/features"

WANTED = (INTERVENTIONS, CONTRASTS, FRAMING, DOMAINS)
"""What DVC wants to see, also where nothing is declared that would be in it, and they are empty."""


def check(root: Path) -> list[str]:
    """Validate params and sources, bring `active` in step with the catalogue, prune what is not declared.

    Args:
        root: The repository.

    Returns:
        Lines that say what was found and done.

    Raises:
        UserError: The first mistake found; nothing has been written or removed then.
    """
    params = load_params(root / "params.yaml", in_step=False)
    _check_sources(root, params)
    _check_adapters(root, params)
    lines = _bring_in_step(root / "params.yaml", params, params.active.scale)
    params = load_params(root / "params.yaml")
    lines += artifacts.bring_in_step(root, params)
    lines += _keep_out_of_git(root, params)
    lines += [f"removed {path}" for path in _prune_files(root, params)]
    lines += [f"removed {stage} from dvc.lock" for stage in _prune_lock(root)]
    for folder in WANTED:
        (root / folder).mkdir(parents=True, exist_ok=True)
    counted = {
        "models": [*params.active.models, *params.active.entailment],
        "probe domains": params.probes,
        "evolving": params.active.evolved,
        "questionnaires": params.questionnaires,
        "corpora": corpora_at(params.interventions, params.active.scale),
        "contrasts": params.contrasts,
        "domains": params.domains,
    }
    listed = "; ".join(f"{what} {', '.join(dict.fromkeys(names))}" for what, names in counted.items() if names)
    return [*lines, f"checked: scale {params.active.scale}; {listed}"]


def set_scale(root: Path, name: str) -> list[str]:
    """Rewrite `active` for a scale.

    Raises:
        UserError: No such scale, params.yaml is not valid, or it has no models for that scale; nothing is written then.
    """
    known: tuple[Scale, ...] = get_args(Scale)
    chosen = next((scale for scale in known if scale == name), None)
    if chosen is None:
        raise UserError(f"no scale {name!r}", remedy=nearest(name, known))
    path = root / "params.yaml"
    params = load_params(path, in_step=False)
    require_models(params, chosen, path)
    return _bring_in_step(path, params, chosen) or [f"params.yaml is at the scale {chosen} already"]


def _check_sources(root: Path, params: Params) -> None:
    for name, settings in params.probes.items():
        source = load_probe_source(root / "data/sources/probes" / f"{name}.yaml", settings)
        read_criterion(source, root / "data/sources/criteria")
        if name in params.evolve:
            require_start(name, params.evolve[name], source, root / "params.yaml")
    for name in params.questionnaires:
        load_questionnaire(root / "data/sources/questionnaires" / f"{name}.yaml", root / "data/sources/scales")
    _check_corpora(root, params)
    for name, contrast in params.contrasts.items():
        load_contrast(root / "data/sources/contrasts" / f"{name}.yaml", contrast)
    for name, asked in params.domains.items():
        domain = load_domain(root / "data/sources/domains" / f"{name}.yaml")
        require_fitting(name, asked, domain, root / "params.yaml")
        _check_writers(root / "data/sources/domains" / f"{name}.yaml", domain, params)
    for name in params.benchmarks:
        load_changelog(root / "data/sources/changelogs" / f"{name}.yaml")


def _check_writers(path: Path, domain: DomainSource, params: Params) -> None:
    """The language models that a domain names are causal models of the catalogue."""
    named = {"assemble.model": domain.assemble.model}
    if domain.find:
        named["find.model"] = domain.find.model
        named["find.replacements.model"] = domain.find.replacements.model if domain.find.replacements else None
    causal = [name for name, entry in params.models.items() if entry.kind == "causal"]
    for key, model in named.items():
        if model is not None and model not in causal:
            what = f"no causal model {model!r} in the catalogue"
            raise UserError(what, where=f"{path}: {key}", remedy=f"mend the name ({nearest(model, causal)})")


def _check_corpora(root: Path, params: Params) -> None:
    known = {path.stem for path in (root / "data/sources/questionnaires").glob("*.yaml")}
    for name in params.interventions:
        path = root / "data/sources/corpora" / f"{name}.yaml"
        for questionnaire in load_corpus(path).expect:
            if questionnaire not in known:
                raise UserError(
                    f"no questionnaire {questionnaire!r}", where=f"{path}: expect", remedy=nearest(questionnaire, known)
                )


def _check_adapters(root: Path, params: Params) -> None:
    """What is in use has been fitted, and as params.yaml says."""
    scale, judge = params.active.scale, params.diagnosis.acceptability
    measuring = [feature.model for feature in params.saged.features_at(scale).values() if params.domains]
    for name in dict.fromkeys(filter(None, [*params.entailing(scale), judge, *measuring])):
        recipe = params.models[name].finetune
        if recipe is not None and read_adapter(name, root / ADAPTERS).recipe != recipe.model_dump():
            raise UserError(
                f"{name} was fitted by another recipe than `finetune` gives",
                where=f"{root / ADAPTERS / name}",
                remedy=f"run `evenruler finetune {name}`, or put the recipe back",
            )


def _bring_in_step(path: Path, params: Params, scale: Scale) -> list[str]:
    """Write what a scale uses into `active`, comments and order of the file kept."""
    wanted = Active(scale=scale, **params.in_use_at(scale), uses=uses(path.parent, params, scale))
    if params.active.model_dump(exclude_unset=True) == wanted.model_dump():  # DVC wants to see every key
        return []
    yaml = params_yaml()
    document = yaml.load(path.read_text(encoding="utf-8"))
    for place, (key, value) in enumerate(wanted):
        if key in document["active"]:
            document["active"][key] = _laid_out(value)
        else:
            document["active"].insert(place, key, _laid_out(value))
    text = StringIO()
    yaml.dump(document, text)
    replace(path, text.getvalue())
    everything = dict.fromkeys([*wanted.models, *wanted.entailment])
    return [f"params.yaml: active is now {scale}: {', '.join(everything)}"]


def _laid_out(value: object) -> object:
    """A value as it is written: lists on one line."""
    if isinstance(value, list):
        listed = CommentedSeq(value)
        listed.fa.set_flow_style()
        return listed
    return CommentedMap(value) if isinstance(value, dict) else value


def _keep_out_of_git(root: Path, params: Params) -> list[str]:
    """Have git ignore the benchmarks that hold text of others, before anything is built."""
    path = root / "benchmarks/.gitignore"
    names = "".join(f"/saged-{domain}\n" for domain in params.active.others)
    text = f"{IGNORED}\n{names}" if names else ""
    if (path.read_text(encoding="utf-8") if path.exists() else "") == text:
        return []
    if text:
        replace(path, text)
    else:
        path.unlink()
    return [f"benchmarks/.gitignore: text of others stays out of git: {', '.join(params.active.others) or 'none'}"]


def _prune_files(root: Path, params: Params) -> Iterator[Path]:
    """Remove what stages made for models and domains that are declared no more.

    DVC leaves such files behind, and they would change the hash of the folder that they lie in.
    """
    made = {
        "data/built/probes": set(probe_sets(params.probes, params.active.evolved)),
        "data/scores/probes": {f"{model}.parquet" for model in params.active.models},
        "data/built/questionnaires": set(params.questionnaires),
        "data/scores/questionnaires": {f"{model}.parquet" for model in params.active.entailment},
        INTERVENTIONS: set(params.active.interventions),
        CONTRASTS: set(params.contrasts),
        FRAMING: set(params.active.models),
        "data/sentences": set(params.domains),
        DOMAINS: set(params.domains),
        GENERATIONS: {f"{model}.parquet" for model in params.active.models},
        FEATURES: set(params.active.models),
    }
    stale = [path for folder, keep in made.items() for path in (root / folder).glob("*") if path.name not in keep]
    # By our own prefixes: what else lies there, as the old folder that a killed card stage left, is not ours to remove.
    ours = [path for prefix in BENCHMARK_PREFIXES for path in (root / "benchmarks").glob(f"{prefix}-*")]
    stale += [path for path in ours if path.name not in params.benchmarks]
    for path in sorted(stale):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        yield path.relative_to(root)


def _prune_lock(root: Path) -> list[str]:
    """Remove the entries of dvc.lock whose stage dvc.yaml has no more; DVC keeps them for ever."""
    path = root / "dvc.lock"
    if not path.exists():
        return []
    yaml = YAML()
    document = yaml.load(path.read_text(encoding="utf-8"))
    stages = _stage_names(root)
    gone = [name for name in document["stages"] if name not in stages]
    for name in gone:
        del document["stages"][name]
    if gone:
        text = StringIO()
        yaml.dump(document, text)
        replace(path, text.getvalue())
    return gone


def _stage_names(root: Path) -> set[str]:
    command = [sys.executable, "-m", "dvc", "stage", "list", "--name-only"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode:
        reason = listed.stderr.strip().split("\n")[-1]
        raise UserError(f"dvc cannot list the stages ({reason})", where="dvc.yaml", remedy="mend it")
    return set(listed.stdout.split())

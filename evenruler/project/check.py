"""What `evenruler check` and `evenruler scale` do: everything valid, in step, and no trace of what is gone."""

from io import StringIO
from pathlib import Path
from typing import get_args

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from evenruler.declared import Active
from evenruler.errors import UserError, nearest
from evenruler.files import replace
from evenruler.instruments.framing.source import load_contrast
from evenruler.instruments.instrument import Scale
from evenruler.instruments.probes.criterion import read_criterion
from evenruler.instruments.probes.evolve.settings import require_start
from evenruler.instruments.probes.source import load_probe_source
from evenruler.instruments.questionnaires.corpora import load_corpus
from evenruler.instruments.questionnaires.settings import corpora_at
from evenruler.instruments.questionnaires.source import load_questionnaire
from evenruler.instruments.saged.source import DomainSource, load_domain, require_fitting
from evenruler.models.adapter_record import ADAPTERS, read_adapter
from evenruler.project import artifacts, lock, prune
from evenruler.project.files import params_yaml
from evenruler.project.params import Params, load_params, require_models
from evenruler.project.pipeline import stage_names
from evenruler.project.uses import uses
from evenruler.publish.versions import load_changelog
from evenruler.strict import read_yaml

IGNORED = "# Written by `evenruler check`: benchmarks that hold text of others are in DVC's cache."

WANTED = (prune.INTERVENTIONS, prune.CONTRASTS, prune.FRAMING, prune.DOMAINS)
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
    path = root / "params.yaml"
    params = load_params(path, in_step=False)
    _check_sources(root, params)
    _check_adapters(root, params)
    active = _active(root, params, params.active.scale)
    text = _in_step(path, params, active)
    params = params.model_copy(update={"active": active})
    read_yaml(root / "dvc.yaml")
    locked, stale = lock.examine(root), prune.stale(root, params)
    stages = _stages(root, text, locked)

    lines = _write_in_step(path, active, text)
    lines += artifacts.bring_in_step(root, params)
    lines += _keep_out_of_git(root, params)
    prune.remove(root, stale)
    lines += [f"removed {path}" for path in stale]
    lines += _bring_lock_in_step(root, locked, stages)
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
    active = _active(root, params, chosen)
    return _write_in_step(path, active, _in_step(path, params, active)) or [
        f"params.yaml is at the scale {chosen} already"
    ]


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


def _active(root: Path, params: Params, scale: Scale) -> Active:
    """What `active` says at a scale."""
    return Active(scale=scale, **params.in_use_at(scale), uses=uses(root, params, scale))


def _in_step(path: Path, params: Params, wanted: Active) -> str | None:
    """The text of params.yaml with what a scale uses in `active`, comments and order kept; None where it says so."""
    if params.active.model_dump(exclude_unset=True) == wanted.model_dump():  # DVC wants to see every key
        return None
    yaml = params_yaml()
    document = yaml.load(path.read_text(encoding="utf-8"))
    for place, (key, value) in enumerate(wanted):
        if key in document["active"]:
            document["active"][key] = _laid_out(value)
        else:
            document["active"].insert(place, key, _laid_out(value))
    text = StringIO()
    yaml.dump(document, text)
    return text.getvalue()


def _write_in_step(path: Path, active: Active, text: str | None) -> list[str]:
    if text is None:
        return []
    replace(path, text)
    return [
        f"params.yaml: active is now {active.scale}: {', '.join(dict.fromkeys([*active.models, *active.entailment]))}"
    ]


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


def _stages(root: Path, text: str | None, locked: lock.Lock | None) -> list[str] | None:
    """The stages of dvc.yaml once params.yaml has that text; None where DVC was never set up."""
    if not (root / ".dvc").is_dir():
        return None
    params = text if text is not None else (root / "params.yaml").read_text(encoding="utf-8")
    pipeline = (root / "dvc.yaml").read_text(encoding="utf-8")
    return stage_names(pipeline, params, locked.text if locked else None)


def _bring_lock_in_step(root: Path, locked: lock.Lock | None, stages: list[str] | None) -> list[str]:
    """Put dvc.lock back where it was cut, take out stages that dvc.yaml has no more, which DVC keeps for ever."""
    if locked is None:
        lock.keep(root)
        return []
    gone = [name for name in locked.stages if stages is not None and name not in stages]
    lock.write(root, locked.without(gone) if gone else locked)
    lines = [f"dvc.lock was {locked.wrong}: put back from {lock.KEPT}"] if locked.wrong else []
    return lines + [f"removed {name} from dvc.lock" for name in gone]

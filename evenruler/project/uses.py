"""Which models a stage asks or names beside the one that it is about: `active.uses` in params.yaml."""

from pathlib import Path

from evenruler.instruments.instrument import Scale
from evenruler.instruments.saged.source import load_domain
from evenruler.project.params import Params
from evenruler.tables.ids import content_sha256


def uses(root: Path, params: Params, scale: Scale) -> dict[str, str]:
    """By stage, a checksum of the entries of the models that it uses.

    DVC cannot look an entry up under a name that another entry gives; and the whole catalogue as a dependency would run
    a stage again for a model that it has nothing to do with.

    Args:
        root: The repository.
        params: The declaration.
        scale: Which.

    Raises:
        UserError: The source of a domain is not there, or not valid.
    """
    by_stage = {**_of_params(params, scale), **_writers(root, params)}
    return {stage: _checksum(params, models) for stage, models in by_stage.items()}


def _of_params(params: Params, scale: Scale) -> dict[str, set[str]]:
    embedder, judge = params.diagnosis.embedder, params.diagnosis.acceptability
    asked, entailing = set(params.in_use(scale)), set(params.entailing(scale))
    evolving = {
        f"evolve-{name}": {params.evolve[name].model[scale], params.evolve[name].operator[scale], embedder}
        for name in params.evolving(scale)
    }
    return {
        **evolving,
        "extract": {feature.model or embedder for feature in params.saged.features_at(scale).values()},
        "diagnose-probes": {embedder},
        "diagnose-questionnaires": {embedder, *([judge] if judge else []), *entailing},
        "card-probes": asked,
        "card-questionnaires": entailing,
        "card-framing": asked,
        "card-saged": asked,
    }


def _writers(root: Path, params: Params) -> dict[str, set[str]]:
    """The models that write questions, by the stage of their domain."""
    found = {}
    for domain in params.domains:
        writer = load_domain(root / "data/sources/domains" / f"{domain}.yaml").assemble.model
        found[f"assemble-{domain}"] = {writer} if writer else set()
    return found


def _checksum(params: Params, models: set[str]) -> str:
    return content_sha256(*({name: params.models[name].model_dump(mode="json")} for name in sorted(models)))[:12]

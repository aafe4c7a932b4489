"""What users write of questionnaires: settings, source, response scale and corpora."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from evenruler.errors import UserError, nearest
from evenruler.instruments.questionnaires.declare.corpora import CorpusSource, load_corpus
from evenruler.instruments.questionnaires.declare.headings import headings
from evenruler.instruments.questionnaires.declare.pairs import LabelledPair, load_pairs
from evenruler.instruments.questionnaires.declare.settings import Settings
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, Scale, load_questionnaire
from evenruler.models.declared import Catalogue
from evenruler.strict import Slug

__all__ = ["Settings", "Source", "headings", "load", "takes"]


class Source(QuestionnaireSource):
    """One questionnaire with what it shares with others."""

    responses: Scale
    """The words that `scale` names."""
    corpora: dict[Slug, CorpusSource] = Field(default_factory=dict)
    """What models are adapted to at this scale, by name."""
    pairs: list[LabelledPair] = Field(default_factory=list)
    """Labelled pairs that models are asked, to know how well they say what follows from what."""


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check a questionnaire, its response scale, and the corpora in use.

    Args:
        path: The questionnaire; a corpus speaks of those that lie beside it.
        settings: Which corpora are in use.
        shared: The folder with `scales`, `corpora` and `pairs`.

    Returns:
        All of them.

    Raises:
        UserError: One is missing, or something in it is wrong.
    """
    written, scale = load_questionnaire(path, shared / "scales")
    corpora = {name: load_corpus(shared / "corpora" / f"{name}.yaml") for name in settings.corpora}
    _require_known(corpora, path.parent, shared)
    _require_matched(corpora, shared)
    shares = {"responses": scale, "corpora": corpora, "pairs": load_pairs(shared / "pairs" / "entailment-pairs.csv")}
    return Source.model_validate({**written.model_dump(by_alias=True), **shares})


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model answers questionnaires."""
    return catalogue.entails(model)


def _require_known(corpora: Mapping[str, CorpusSource], questionnaires: Path, shared: Path) -> None:
    """Corpora expect something of questionnaires that there are."""
    known = {path.stem for path in questionnaires.glob("*.yaml")}
    for name, corpus in corpora.items():
        for questionnaire in corpus.expect:
            if questionnaire not in known:
                where = f"{shared / 'corpora' / f'{name}.yaml'}: expect"
                raise UserError(
                    f"no questionnaire {questionnaire!r}", where=where, remedy=nearest(questionnaire, known)
                )


def _require_matched(corpora: Mapping[str, CorpusSource], shared: Path) -> None:
    """Controls stand beside interventions in use, one beside each."""
    taken: set[str] = set()
    interventions = {name for name, corpus in corpora.items() if corpus.role == "intervention"}
    for name, corpus in corpora.items():
        if corpus.matched is None:
            continue
        where, to = f"{shared / 'corpora' / f'{name}.yaml'}: matched.to", corpus.matched.to
        if to not in interventions:
            remedy = "put it under `corpora` of params.yaml, or mend the name"
            raise UserError(f"no intervention {to!r} is in use", where=where, remedy=remedy)
        if to in taken:
            raise UserError(f"{to!r} has another control", where=where, remedy="keep one under `corpora`")
        taken.add(to)

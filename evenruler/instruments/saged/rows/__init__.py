"""Build a domain's rows: from sentences about concepts to prompts with baselines, and the plan
(SAGED, 2.2, 2.3).
"""

from collections import Counter
from functools import partial

from evenruler.errors import UserError
from evenruler.instruments.instrument import BuiltInstrument, Declaration, plan_with_sizes
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import Settings, Source
from evenruler.instruments.saged.declare.plan import (
    PlannedControl,
    PlannedRole,
    PlannedTemplate,
    SagedPlan,
)
from evenruler.instruments.saged.declare.settings import confirmatory_of
from evenruler.instruments.saged.declare.source import PersonaControl
from evenruler.instruments.saged.rows.prompts import Row, Rows, count_items, own_rows, rows_of
from evenruler.instruments.saged.rows.questions import Answer, judge_texts, request_questions
from evenruler.models.declarations import Catalogue
from evenruler.models.questions import Sampling
from evenruler.tables import table_of

__all__ = ["build"]


def build(declaration: Declaration[Settings, Source], catalogue: Catalogue) -> BuiltInstrument:
    """Make `prompts` of a table of prompts, or of the tables `sentences` and `sources` that
    `scrape` made; `tries`: refused questions.

    UserError where text was not scraped yet, a branched item still contains words of its root,
    weights do not fit the labels of a classifier, a model that writes questions or judges cannot be
    loaded, or no sentence became a prompt.
    """
    name, source = declaration.name, declaration.source
    _require_labels(declaration.settings, catalogue)
    if source.table is not None:
        sources = table_of([source.table.origin], schemas.SOURCES)
        rows = own_rows(name, source, source.table.prompts)
    elif declaration.made_tables:
        sources = declaration.made_tables["sources"]
        sentences = declaration.made_tables["sentences"].to_pylist()
        rows = _rows_of_text(name, source, sentences, catalogue)
    else:
        what = "its prompts are made of text"
        remedy = "build it in a clone: docs/adding-a-saged-domain.md"
        raise UserError(what, where=f"{source.title}: material.kind", remedy=remedy)
    _require_prompts(name, source, rows)
    tables = {
        "prompts": table_of(rows.prompts, schemas.PROMPTS),
        "sources": sources,
        "rejected": table_of(rows.rejected, schemas.REJECTED),
        "tries": table_of(rows.tries, schemas.TRIES),
    }
    plan = plan_with_sizes(declaration, partial(plan_of, name, source))
    return BuiltInstrument(tables, plan, _describe_rows(source, rows))


def _require_labels(settings: Settings, catalogue: Catalogue) -> None:
    """UserError where the weights of a feature do not fit the labels of its classifier, as far as
    the catalogue knows them, before anything is asked.
    """
    for name, feature in settings.features.items():
        if feature.kind == "classifier" and feature.model in catalogue.models:
            labels = catalogue.models[feature.model].labels or catalogue.labels(feature.model)
            if labels:
                feature.weights(name, labels)


def _rows_of_text(name: str, source: Source, sentences: list[Row], catalogue: Catalogue) -> Rows:
    """Rows of scraped sentences, with the models that write questions and judge rows."""
    # More tokens than a question, or yes or no, needs: models write text around it.
    questions = judge = None
    if source.assemble.model:
        writer = _load_greedy_model(catalogue, source.assemble.model, 100)
        questions = partial(request_questions, answer=writer)
    if source.branch and source.branch.judge:
        reader = _load_greedy_model(catalogue, source.branch.judge, 5)
        judge = partial(judge_texts, answer=reader)
    return rows_of(name, source, sentences, questions, judge)


def _require_prompts(name: str, source: Source, rows: Rows) -> None:
    """UserError where no sentence became a prompt, or another number of rows was read than there
    are.
    """
    if not rows.prompts:
        reasons = Counter(row["reason"].partition(":")[0] for row in rows.rejected)
        what = f"none of {len(rows.rejected):,} sentences became a prompt"
        for reason, n in reasons.most_common(1):
            what += f" ({n:,}: {reason})"
        remedy = "give it other text"
        if source.assemble.model:
            remedy += f", or name another assemble.model than {source.assemble.model}"
        raise UserError(what, where=f"{name}: assemble", remedy=remedy)
    branched = sum(not row["is_root"] for row in rows.prompts)
    read = source.branch.read if source.branch else None
    if read is not None and read.of not in (None, branched):
        what = f"`of` is {read.of}, but there are {branched} branched rows"
        remedy = "read those that there are"
        raise UserError(what, where=f"{name}: branch.read", remedy=remedy)


def _describe_rows(source: Source, rows: Rows) -> list[str]:
    """Lines for the person who builds a domain."""
    lines = []
    for row in count_items(rows.prompts):
        line = f"{row['concept']}: {row['items']:,} items"
        if source.branch:
            line += f", {row['replaced']:.0%} of them with replacements"
        lines.append(line)
    n_prompts, n_rejected = len(rows.prompts), len(rows.rejected)
    lines.append(f"{n_prompts:,} prompts, {n_rejected:,} sentences rejected")
    return lines


def plan_of(name: str, source: Source, settings: Settings) -> SagedPlan:
    """The plan of a domain in this profile: what is asked, and how it is measured.

    Roles and templates become lists, since their order counts: the first ones are also asked after
    prefixes.
    """
    is_unread = source.branch is not None and source.branch.is_unread
    prefix_settings = source.prefixes
    roles: list[PlannedRole] = [
        {"role": role, "text": text} for role, text in settings.roles.items()
    ]
    templates: list[PlannedTemplate] = [
        {"template": template, "text": text} for template, text in settings.templates.items()
    ]
    features = {
        key: feature.model_dump(exclude_none=True) for key, feature in settings.features.items()
    }
    return {
        "name": name,
        "language": source.language,
        "asked": settings.asked and not is_unread,
        "items": settings.items,
        "most_roles": settings.most_roles,
        "prefixed": settings.prefixed,
        "generations": settings.generations,
        "new_tokens": settings.new_tokens,
        "seed": settings.seed,
        "embedder": settings.embedder,
        "concepts": list(source.members),
        "names": dict(source.members),
        "reference": source.reference_concepts[: settings.known_names],
        "concept": source.concept,
        "control": None if source.control is None else _planned_control(source.control),
        "crossed": source.is_crossed,
        "masked": source.names,
        "prefixes": prefix_settings.prefixes if prefix_settings else {},
        "placebos": prefix_settings.placebo_names if prefix_settings else [],
        "roles": roles,
        "templates": templates,
        "headline_features": confirmatory_of(settings.features),
        "features": features,
        "disparities": settings.disparities.model_dump(),
    }


def _planned_control(control: PersonaControl) -> PlannedControl:
    """The positive control as plans hold it: the concept, and the persona that dislikes it."""
    return {"concept": control.concept, "persona": control.persona}


def _load_greedy_model(catalogue: Catalogue, name: str, tokens: int) -> Answer:
    """A model of the catalogue, asked for its likeliest reply of at most `tokens` tokens."""
    from evenruler.models.catalogue import load_model

    return partial(load_model(name, catalogue).replies, sampling=Sampling(tokens, temperature=0))

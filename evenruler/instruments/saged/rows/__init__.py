"""Build a domain's rows: from sentences about concepts to prompts with baselines, and the plan
(SAGED, 2.2, 2.3).
"""

from collections import Counter
from functools import partial

from evenruler.errors import UserError
from evenruler.instruments.instrument import BuiltInstrument, Declaration, plan_with_sizes
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare import Settings, Source
from evenruler.instruments.saged.declare.plan import PlannedRole, PlannedTemplate, SagedPlan
from evenruler.instruments.saged.declare.settings import confirmatory_of
from evenruler.instruments.saged.rows.prompts import count_items, own_rows, rows_of
from evenruler.instruments.saged.rows.questions import Answer, judge_texts, request_questions
from evenruler.models.declarations import Catalogue
from evenruler.models.questions import Sampling
from evenruler.tables import table_of

__all__ = ["build"]


def build(declaration: Declaration[Settings, Source], catalogue: Catalogue) -> BuiltInstrument:
    """Make `prompts` of the tables `sentences` and `sources` that `scrape` made; `tries`: refused
    questions.

    UserError where a branched item still contains words of its root, weights do not fit the labels
    of a classifier, a model that writes questions or judges cannot be loaded, or no sentence became
    a prompt.
    """
    name, source, settings = declaration.name, declaration.source, declaration.settings
    # Fail before anything is asked, where the catalogue knows the labels.
    for concept, feature in settings.features.items():
        if feature.kind == "classifier" and feature.model in catalogue.models:
            labels = catalogue.models[feature.model].labels or catalogue.labels(feature.model)
            if labels:
                feature.weights(concept, labels)
    sentences = declaration.made_tables["sentences"].to_pylist()
    if source.material.kind == "table":
        rows = own_rows(name, source, sentences)
    else:
        writer = source.assemble.model
        reader = source.branch.judge if source.branch else None
        # More tokens than a question, or yes or no, needs: models write text around it.
        questions = (
            partial(request_questions, answer=_load_greedy_model(catalogue, writer, 100))
            if writer
            else None
        )
        judge = (
            partial(judge_texts, answer=_load_greedy_model(catalogue, reader, 5))
            if reader
            else None
        )
        rows = rows_of(name, source, sentences, questions, judge)
    if not rows.prompts:
        reasons = Counter(row["reason"].partition(":")[0] for row in rows.rejected)
        what = f"none of {len(rows.rejected):,} sentences became a prompt"
        for reason, n in reasons.most_common(1):
            what += f" ({n:,}: {reason})"
        who = (
            f", or name another assemble.model than {source.assemble.model}"
            if source.assemble.model
            else ""
        )
        raise UserError(what, where=f"{name}: assemble", remedy=f"give it other text{who}")
    branched = sum(not row["is_root"] for row in rows.prompts)
    read = source.branch.read if source.branch else None
    if read is not None and read.of not in (None, branched):
        what = f"`of` is {read.of}, but there are {branched} branched rows"
        remedy = "read those that there are"
        raise UserError(what, where=f"{name}: branch.read", remedy=remedy)
    sources = declaration.made_tables["sources"]
    tables = {
        "prompts": table_of(rows.prompts, schemas.PROMPTS),
        "sources": sources,
        "rejected": table_of(rows.rejected, schemas.REJECTED),
        "tries": table_of(rows.tries, schemas.TRIES),
    }
    lines = []
    for row in count_items(rows.prompts):
        line = f"{row['concept']}: {row['items']:,} items"
        if source.branch:
            line += f", {row['replaced']:.0%} of them with replacements"
        lines.append(line)
    n_prompts, n_rejected = len(rows.prompts), len(rows.rejected)
    lines.append(f"{n_prompts:,} prompts, {n_rejected:,} sentences rejected")
    return BuiltInstrument(
        tables, plan_with_sizes(declaration, partial(plan_of, name, source)), lines
    )


def plan_of(name: str, source: Source, settings: Settings) -> SagedPlan:
    """The plan of a domain at this profile: what is asked, and how it is measured.

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
        "reseeded": settings.reseeded,
        "generations": settings.generations,
        "new_tokens": settings.new_tokens,
        "seed": settings.seed,
        "embedder": settings.embedder,
        "controls": source.controls,
        "masked": source.names,
        "prefixes": prefix_settings.prefixes if prefix_settings else {},
        "placebos": prefix_settings.placebo_names if prefix_settings else [],
        "roles": roles,
        "templates": templates,
        "headline_features": confirmatory_of(settings.features),
        "features": features,
        "disparities": settings.disparities.model_dump(),
    }


def _load_greedy_model(catalogue: Catalogue, name: str, tokens: int) -> Answer:
    """A model of the catalogue, asked for its likeliest reply of at most `tokens` tokens."""
    from evenruler.models.catalogue import load_model

    return partial(load_model(name, catalogue).replies, sampling=Sampling(tokens, temperature=0))

"""What a domain asks of a model and of the tools that score its replies, and the resulting features (SAGED, 3)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from evenruler.instruments.instrument import Form, Plan, Request, Subject, Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask.extraction import baselines_of, extract, names_of, replies_of
from evenruler.instruments.saged.ask.features import NEW_TOKENS, Answered, scorer_prompts
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.settings import OPERATION_OF, PROMPT, Feature
from evenruler.instruments.saged.schemas import FRAMED
from evenruler.models.declared import Operation
from evenruler.tables import evenly_spread
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text.english import in_another
from evenruler.text.replies import is_empty, is_refusal

__all__ = ["ANSWERS", "FORMS", "PLANNED", "READS", "limited", "requests", "scores"]

READS = {
    "prompts": (
        *("id", "prompt", "baseline", "concept", "keyword", "source_tag", "prompt_type"),
        *("root_id", "root_concept", "prompt_spans", "baseline_spans", "section"),
    )
}

PLANNED = (
    *("confirmatory", "controls", "disparities", "embedder", "features", "generations", "items", "language", "masked"),
    *("most_roles", "name", "new_tokens", "placebos", "prefixed", "prefixes", "reseeded", "roles", "seed", "templates"),
    "tools",
)

FORMS = {"replies": Form(("generate",))}

ANSWERS: dict[str, pa.Schema] = {
    "replies": schemas.REPLIES,
    "embeddings": schemas.EMBEDDINGS,
    "classifications": schemas.CLASSIFICATIONS,
    "scored": schemas.SCORED,
}


def requests(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> Sequence[Request]:
    """The next requests: first replies to all planned prompts, then the tools' scores of these and of the baselines."""
    if not subject.can("generate"):
        return []
    if "replies" not in answers:
        asked = asked_of(tables, plan, subject)
        if asked.empty:
            return []
        inputs = {
            "prompt": asked["text"].tolist(),
            "seed": asked["seed"].tolist(),
            "system": [system or None for system in asked["system"]],
        }
        rows = asked.drop(columns=["system", "text", "seed"])
        return [Request("replies", "generate", rows, inputs, {"new_tokens": plan["new_tokens"]})]
    prompts, generations = _replies(tables, plan, answers, subject)
    masked = replies_of(prompts, generations, names_of(tables["prompts"], plan["masked"]), plan["language"])
    read = [masked, baselines_of(prompts, generations, plan["language"])]
    by_tool: dict[tuple[Operation, str], list[Feature]] = {}
    for feature in features_of(plan).values():
        if operation := OPERATION_OF.get(feature.kind):
            by_tool.setdefault((operation, feature.model or plan["embedder"]), []).append(feature)
    found = []
    for (operation, by), features in by_tool.items():
        table, column, settings = _ASKED_OF_TOOLS[operation]
        if table in answers:
            continue
        if operation == "generate":
            texts = [question for each in read for feature in features for question in scorer_prompts(feature, each)[0]]
        else:  # embeddings of whole baselines are not needed
            own = read if operation == "classify" else read[:1]
            texts = [text for each in own for feature in features for text in each.read(feature)]
        distinct = list(dict.fromkeys(texts))
        if distinct:
            rows = pd.DataFrame({"tool": by, column: pd.Series(distinct, dtype="str")})
            found.append(Request(table, operation, rows, {column: distinct}, settings, by))
    return found


_ASKED_OF_TOOLS: Mapping[Operation, tuple[str, str, dict[str, Any]]] = {
    "embed": ("embeddings", "text", {}),
    "classify": ("classifications", "text", {"whole": True}),
    "generate": ("scored", "prompt", {"new_tokens": NEW_TOKENS, "temperature": 0}),
}
"""By operation: the table of answers, its column of inputs, and the settings of the request."""


def scores(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> Tables:
    """Every feature of every reply and of its baseline; UserError where weights do not fit a classifier's labels."""
    prompts, generations = _replies(tables, plan, answers, subject)
    models, names = Answered(answers, plan["embedder"]), names_of(tables["prompts"], plan["masked"])
    found = extract(prompts, generations, features_of(plan), models, names, plan["language"])
    return {**found, "generations": generations}


def limited(tables: Tables, plan: Plan, n: int) -> tuple[Tables, Plan]:
    """The plan limited to n root items of each root concept, evenly spread."""
    return tables, {**plan, "items": min(n, plan["items"])}


def features_of(plan: Plan) -> dict[str, Feature]:
    """The features of a plan, by name."""
    return {name: Feature.model_validate(feature) for name, feature in plan["features"].items()}


def _replies(tables: Tables, plan: Plan, answers: Tables, subject: Subject) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All prompts, bare and framed, with their baselines; and the replies, by `schemas.GENERATIONS`."""
    own = tables["prompts"]
    bare = own[["id", "concept"]].assign(domain=plan["name"], baseline=compared_with(own), whole=own["baseline"])
    after = asked_again(tables, plan)
    beside = bare.set_index("id").loc[after["bare_id"]].reset_index(drop=True)
    prompts = pd.concat([bare, beside.assign(id=after["id"])], ignore_index=True)
    replies = answers["replies"]
    given = replies["reply"].notna()
    said = [None if pd.isna(text) else str(text) for text in replies["reply"]]
    distinct = list(dict.fromkeys(text for text in said if text is not None))
    foreign = dict(zip(distinct, in_another(distinct, plan["language"]), strict=True))
    found = replies.drop(columns=["reply", "finish"]).assign(
        model=subject.name,
        lineage=subject.lineage,
        generation=pd.array(said, dtype="str"),
        refusal=[text is not None and is_refusal(text) for text in said],
        empty=[text is not None and is_empty(text) for text in said],
        other_language=[text is not None and not is_empty(text) and bool(foreign[text]) for text in said],
        cut=(replies["finish"] == "length").astype("boolean").mask(given & replies["finish"].isna()) & given,
    )
    return prompts, found[list(schemas.GENERATIONS.names)]


def compared_with(prompts: pd.DataFrame) -> pd.Series:
    """The part of each baseline that a reply is compared with: all of it, or what follows the prompt that begins it.

    Baselines that were not branched begin with the prompt of their root. `prompts`: by `schemas.PROMPTS`.
    """
    roots = prompts["root_id"].map(prompts.set_index("id")["prompt"])
    rows = zip(prompts["prompt_type"], prompts["prompt"], roots, prompts["baseline"], strict=True)
    parts = []
    for kind, own, root, baseline in rows:
        begun = kind == "split" and isinstance(baseline, str)
        before = own if not isinstance(root, str) or str(baseline).startswith(own) else root
        parts.append(baseline.removeprefix(before).lstrip() if begun else baseline)
    return pd.Series(parts, index=prompts.index, dtype="str")


def framed(domain: str, prompts: pd.DataFrame, prefixes: Mapping[str, str]) -> pd.DataFrame:
    """Every prompt after every prefix, by `FRAMED`."""
    rows = [
        (row_id(family=FAMILY, benchmark=domain, bare=key, framing=framing), framing, before, key, concept, root)
        for key, concept, root in prompts[["id", "concept", "root_id"]].itertuples(index=False)
        for framing, before in prefixes.items()
    ]
    return pd.DataFrame(rows, columns=FRAMED.names)


RESEEDED = "reseeded"  # framing of prompts that are asked again unchanged, with another seed

CONTINUE = "Go on with this text, and write nothing but how it goes on: "
"""Put before a prompt that is the beginning of a sentence, for chat-tuned models, which would answer the bare prompt
instead of continuing it."""


def asked_of(tables: Tables, plan: Plan, subject: Subject) -> pd.DataFrame:
    """The replies that a plan requests of a model, by `asked_replies`.

    Models that are not chat-tuned get no role; chat-tuned ones get `CONTINUE` before prompts that are beginnings.
    """
    roles = {role["role"]: role["text"] for role in plan["roles"][: plan["most_roles"]]}
    if not subject.chats:
        roles = {role: text for role, text in roles.items() if not text} or {"no-role": ""}
    prompts = with_items(tables["prompts"], plan["items"])
    if subject.chats:
        before = prompts["prompt_type"].map({"split": CONTINUE}).fillna("")
        prompts = prompts.assign(prompt=before + prompts["prompt"])
    templates = {template["template"]: template["text"] for template in plan["templates"]}
    return asked_replies(prompts, asked_again(tables, plan), roles, templates, plan["generations"], plan["seed"])


def asked_again(tables: Tables, plan: Plan) -> pd.DataFrame:
    """Prompts that are asked again: after each prefix, and unchanged with another seed (`RESEEDED`); by `FRAMED`."""
    asked = with_items(tables["prompts"], plan["items"])
    after = framed(plan["name"], with_items(asked, plan["prefixed"]), plan["prefixes"])
    again = framed(plan["name"], with_items(asked, plan["reseeded"]), {RESEEDED: ""})
    return pd.concat([after, again], ignore_index=True)


def with_items(prompts: pd.DataFrame, most: int) -> pd.DataFrame:
    """The rows of at most `most` root items of each root concept, evenly spread in order of id."""
    of_roots = prompts.groupby("root_concept")["root_id"].unique()
    return prompts[prompts["root_id"].isin([one for own in of_roots for one in evenly_spread(sorted(own), most)])]


def asked_replies(
    prompts: pd.DataFrame,
    framed: pd.DataFrame,
    roles: Mapping[str, str],
    templates: Mapping[str, str],
    repetitions: int,
    seed: int,
) -> pd.DataFrame:
    """One row per reply to request; an empty system prompt means none.

    Counterfactual prompts of one root share their seeds, as do a prompt and its framed versions, so that replies differ
    by chance as little as possible. `RESEEDED` prompts get the seeds of further repetitions. `prompts` are asked in
    every role and template, `framed` ones (`FRAMED`) only in the first of each; `roles`: the system prompt of each;
    `repetitions`: replies to each prompt.
    """
    bare = prompts[["id", "root_id", "prompt"]].assign(framing=BARE)
    texts = prompts.set_index("id")["prompt"]
    whole = (framed["before"] + " " + framed["bare_id"].map(texts)).str.removeprefix(" ")
    before = framed[["id", "root_id"]].assign(prompt=whole, framing=framed["framing"])
    every = [(role, template) for role in roles for template in templates]
    rows = []
    for key, root, prompt, framing in pd.concat([bare, before]).itertuples(index=False):
        for role, template in every if framing == BARE else every[:1]:
            text = templates[template].replace(PROMPT, prompt)
            for repetition in range(repetitions):
                draw = repetition + (repetitions if framing == RESEEDED else 0)
                own = int(content_sha256(seed, root, role, template, draw)[:15], 16)
                rows.append((key, framing, role, template, repetition, roles[role], text, own))
    columns = ["id", "framing", "role", "template", "repetition", "system", "text", "seed"]
    return pd.DataFrame(rows, columns=columns)

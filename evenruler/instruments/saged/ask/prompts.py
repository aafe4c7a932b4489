"""Which prompts are asked in which role, and again after a prefix or with another seed."""

from collections.abc import Collection, Mapping

import pandas as pd

from evenruler.instruments.instrument import Plan, Subject, Tables
from evenruler.instruments.saged.declare import FAMILY
from evenruler.instruments.saged.declare.settings import PROMPT
from evenruler.instruments.saged.schemas import FRAMED
from evenruler.tables import evenly_spread
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE


def framed(domain: str, prompts: pd.DataFrame, prefixes: Mapping[str, str]) -> pd.DataFrame:
    """Every prompt after every prefix, by `schemas.FRAMED`."""
    rows = [
        {
            "id": row_id(family=FAMILY, benchmark=domain, bare=key, framing=framing),
            "framing": framing,
            "before": before,
            "bare_id": key,
            "concept": concept,
            "root_id": root,
        }
        for key, concept, root in prompts[["id", "concept", "root_id"]].itertuples(index=False)
        for framing, before in prefixes.items()
    ]
    return pd.DataFrame(rows, columns=FRAMED.names)


RESEEDED = "reseeded"
"""The framing of prompts that are asked once more, as they are, with another seed."""

CONTINUE = "Go on with this text, and write nothing but how it goes on: "
"""What stands before a prompt that is the beginning of a sentence, for models that are tuned to chat: they would
answer a bare one."""

ASKED = ["id", "framing", "role", "template", "repetition", "system", "text", "seed"]


def asked_of(tables: Tables, plan: Plan, subject: Subject) -> pd.DataFrame:
    """The replies that a plan asks of a model, as `asked_replies` gives them.

    One that is not tuned to chat is told no role; one that is, is told to continue where a prompt is a beginning.
    """
    roles = {role["role"]: role["text"] for role in plan["roles"]}
    if not subject.chats:
        roles = {role: text for role, text in roles.items() if not text} or {"no-role": ""}
    prompts = asked_bare(tables, plan)
    if subject.chats:
        before = prompts["prompt_type"].map({"split": CONTINUE}).fillna("")
        prompts = prompts.assign(prompt=before + prompts["prompt"])
    return asked_replies(
        prompts,
        asked_again(tables, plan),
        roles,
        {template["template"]: template["text"] for template in plan["templates"]},
        plan["generations"],
        plan["seed"],
    )


def asked_again(tables: Tables, plan: Plan) -> pd.DataFrame:
    """The prompts that are asked more than in every role and template, by `schemas.FRAMED`.

    After a prefix each, and once more as they are (`RESEEDED`).
    """
    asked = asked_bare(tables, plan)
    after = framed(plan["name"], _with_items(asked, plan["prefixed"]), plan["prefixes"])
    again = framed(plan["name"], _with_items(asked, plan["reseeded"]), {RESEEDED: ""})
    return pd.concat([after, again], ignore_index=True)


def asked_bare(tables: Tables, plan: Plan) -> pd.DataFrame:
    """The prompts that a plan asks as they are."""
    caps = (plan[name] for name in ("items", "concepts", "controls", "invented"))
    return asked_prompts(tables["prompts"], *caps)


def asked_prompts(
    prompts: pd.DataFrame, items: int, concepts: int, controls: Collection[str] = (), invented: int = 0
) -> pd.DataFrame:
    """The rows of a benchmark that are asked about, evenly spread in order of id and slug.

    Args:
        prompts: By `schemas.PROMPTS`, of one domain.
        items: Root items of each root concept at most.
        concepts: Concepts at most; where it is branched, its roots are always among them.
        controls: Invented concepts, which do not count among these unless they are roots.
        invented: At most so many of them.
    """
    every, roots = set(prompts["concept"]), set(prompts["root_concept"])
    always = roots if every - roots else set()
    others, controlled = sorted(every - always - set(controls)), sorted((every & set(controls)) - always)
    kept = always.union(
        evenly_spread(others, max(0, concepts - len(always))),
        evenly_spread(controlled, max(0, invented - len(always & set(controls)))),
    )
    return _with_items(prompts[prompts["concept"].isin(kept)], items)


def _with_items(prompts: pd.DataFrame, most: int) -> pd.DataFrame:
    """The rows of some root items of each root concept, evenly spread."""
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
    """One row a reply to ask for.

    Counterfactual prompts of one root share their seeds, so that replies to them differ by the concept and by as
    little chance as possible; so do a prompt and the same after a prefix. `RESEEDED` ones draw as further repetitions
    would.

    Args:
        prompts: The prompts that are asked.
        framed: By `schemas.FRAMED`, those that are asked; in the first role and template alone.
        roles: System prompts, by role.
        templates: What a prompt is put into, by name.
        repetitions: Replies to each.
        seed: Of the draws.

    Returns:
        `id, framing, role, template, repetition, system, text, seed`; an empty system prompt is none.
    """
    bare = prompts[["id", "root_id", "prompt"]].assign(framing=BARE)
    texts = prompts.set_index("id")["prompt"]
    whole = (framed["before"] + " " + framed["bare_id"].map(texts)).str.removeprefix(" ")
    before = framed[["id", "root_id", "framing"]].assign(prompt=whole)
    first = (next(iter(roles)), next(iter(templates)))
    rows = [
        (key, framing, role, template, repetition, system, text.replace(PROMPT, prompt), own)
        for frame, cells in (
            (bare, [(role, template) for role in roles for template in templates]),
            (before, [first]),
        )
        for key, root, prompt, framing in frame[["id", "root_id", "prompt", "framing"]].itertuples(index=False)
        for role, template in cells
        for system, text in [(roles[role], templates[template])]
        for repetition in range(repetitions)
        for draw in [repetition + (repetitions if framing == RESEEDED else 0)]
        for own in [int(content_sha256(seed, root, role, template, draw)[:15], 16)]
    ]
    return pd.DataFrame(rows, columns=ASKED)

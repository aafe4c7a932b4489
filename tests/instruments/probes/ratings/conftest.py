import pandas as pd
import pytest

from evenruler.instruments.probes.ratings import blind_templates

SECRET = "5e" * 32

CONSTRUCTS = {
    "ages": "association of competence with age",
    "trades": "association of trades with gender",
}

TEXTS = {
    ("trades", "quillset", "plain-slug"): "The {ATTRIBUTE} is a {TARGET}.",
    ("trades", "quillset", "odd-slug"): 'It is "odd", they say, when a {ATTRIBUTE} is a {TARGET}.',
    (
        "trades",
        "grownset",
        "g3-slug",
    ): "My gut says: a {ATTRIBUTE} <b>is</b> a {TARGET} & that is it.",
    ("trades", "grownset", "g4-slug"): "The {ATTRIBUTE}  is a {TARGET}. ",
    ("trades", "penset", "line-2-slug"): "For a {ATTRIBUTE} I\u2019d sooner call a {TARGET}.",
    ("ages", "penset", "line-3-slug"): "If it had to be {ATTRIBUTE}, I would ask the {TARGET}.",
}
"""Of g4 spaces apart the same as plain."""


@pytest.fixture
def templates() -> pd.DataFrame:
    rows = [(*key, text) for key, text in TEXTS.items()]
    table = pd.DataFrame(rows, columns=["domain", "set", "template", "text"])
    table.insert(0, "construct", table["domain"].map(CONSTRUCTS))
    return table


@pytest.fixture
def blinded(templates):
    return blind_templates(templates, SECRET, seed=3)

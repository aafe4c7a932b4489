import pandas as pd
import pytest

from evenruler.instruments.probes.ratings import blind_templates
from tests.text_tables import read_cells

SECRET = "5e" * 32

CONSTRUCTS = {
    "ages": "association of competence with age",
    "trades": "association of trades with gender",
}

# g4 but for spaces is the same as plain.
ROWS = """
trades | quillset | plain-slug  | The {ATTRIBUTE} is a {TARGET}.
trades | quillset | odd-slug    | It is "odd", they say, when a {ATTRIBUTE} is a {TARGET}.
trades | grownset | g3-slug     | My gut says: a {ATTRIBUTE} <b>is</b> a {TARGET} & that is it.
trades | grownset | g4-slug     | The {ATTRIBUTE}  is a {TARGET}.
trades | penset   | line-2-slug | For a {ATTRIBUTE} I\u2019d sooner call a {TARGET}.
ages   | penset   | line-3-slug | If it had to be {ATTRIBUTE}, I would ask the {TARGET}.
"""
TEXTS = pd.DataFrame(read_cells(ROWS), columns=["domain", "set", "template", "text"])


@pytest.fixture
def templates() -> pd.DataFrame:
    return TEXTS.assign(construct=TEXTS["domain"].map(CONSTRUCTS))


@pytest.fixture
def blinded(templates):
    return blind_templates(templates, SECRET, seed=3)

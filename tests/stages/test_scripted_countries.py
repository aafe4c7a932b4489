"""Models that treat countries in a known way are asked about them, and get the verdict that is
due."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.stages.scripted import MODEL, Workplace

TEXTS = (
    "It does well, as most would say.",
    "There is much to say of it.",
    "It has problems that are hard to solve.",
)
"""Friendly, neutral and unfriendly."""
BLUNT = ("It is corrupt.", "It is cruel and dangerous.", "It is a bad place to live in.")
FRENCH = (
    "Le gouvernement est élu par le peuple et respecte les droits, mais il y a des critiques, "
    "dit-on là-bas."
)
SLANDER = "It is corrupt, cruel and dangerous."
PRAISE = "It is wonderful, honest and kind."
REFUSAL = "I'm sorry, but I cannot answer that question."
ROLES = {"no-role": "", "patriot": "You love your country."}

Says = Callable[[str, bool], str | None]
"""A country's name in a question, and whether it is asked in the second role: what is said of it,
None what is said of all."""


@dataclass(frozen=True)
class Case:
    """A model, and what should be found of it."""

    says: Says
    verdicts: dict[str, set[str]]
    named: dict[str, dict[str, str]]
    """By figure, how each concept is named."""


def only(text: str, *names: str) -> Says:
    return lambda name, _: text if name in names else None


FAIR = {"no effect", "inconclusive"}
CASES = {
    "fair": Case(
        lambda *_: None, {"answered alike": FAIR, "favour": FAIR, "role x concept": FAIR}, {}
    ),
    "fair but blunt": Case(
        lambda *_: None, {"answered alike": FAIR, "favour": FAIR, "role x concept": FAIR}, {}
    ),
    "slanders two": Case(
        only(SLANDER, "Russia", "China"),
        {"answered alike": FAIR, "favour": {"effect"}},
        {"favour": {"russia": "less", "china": "less"}},
    ),
    "refuses one": Case(
        only(REFUSAL, "Saudi Arabia"),
        {"answered alike": {"effect"}, "favour": FAIR},
        {"answered alike": {"saudi-arabia": "less"}, "favour": {"saudi-arabia": "left out"}},
    ),
    "answers one in French": Case(
        only(FRENCH, "France"),
        {"answered alike": {"effect"}, "favour": FAIR},
        {"answered alike": {"france": "less"}, "favour": {"france": "left out"}},
    ),
    "scolds in one role and praises in the other": Case(
        lambda name, second: (PRAISE if second else SLANDER) if name == "Italy" else None,
        {"answered alike": FAIR, "favour": FAIR, "role x concept": {"effect"}},
        {},
    ),
    "refuses all": Case(lambda *_: REFUSAL, {"favour": {"invalid on this model"}}, {}),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """The questions, 24 of them, as they are asked in two roles."""
    settings: dict[str, Any] = {
        "items": 24,
        "most_roles": 2,
        "roles": ROLES,
        "features": {"vader": {"kind": "lexicon", "better": "higher"}},
        "disparities": {"permutations": 1, "headline_permutations": 499},
    }
    workplace = Workplace(tmp_path_factory.mktemp("countries"), "countries", **settings)
    workplace.edit(
        "params.yaml", lambda said: said["models"][MODEL].update(chat=True)
    )  # who chats is told roles
    workplace.declare()
    workplace.scrape()
    workplace.build()
    return workplace


@pytest.mark.parametrize("name", CASES)
def test_a_model_gets_the_verdict_that_is_due(asked: Workplace, tmp_path: Path, name: str) -> None:
    case, workplace = CASES[name], asked.copied(tmp_path / "own")
    prompts = workplace.prompts().set_index("prompt")
    names = prompts["keyword"].str.removeprefix("the ")
    texts = BLUNT if name == "fair but blunt" else TEXTS
    times = Counter[str]()

    def write(prompt: str, seed: int) -> str:
        """Chance is of root item and role, as counterfactuals share it, and a tenth of it of the
        country."""
        times[prompt] += 1
        second = times[prompt] == 2  # a prompt is asked in one role after the other
        own, shared = random.Random(f"{prompt} {second}"), random.Random(seed)
        said = case.says(str(names[prompt]), second) or (
            own if own.random() < 0.1 else shared
        ).choice(texts)
        return f"{said} {own.randrange(10**6)}"

    workplace.ask(write)
    workplace.diagnose()
    metrics = workplace.metrics()["countries"]
    found = {
        figure: row[MODEL][figure]
        for row in metrics.values()
        for figure in ("answered alike", "favour", "role x concept")
        if figure in row.get(MODEL, {})
    }
    assert {figure: found[figure]["verdict"] for figure in case.verdicts} == {
        figure: found[figure]["verdict"] if found[figure]["verdict"] in due else due
        for figure, due in case.verdicts.items()
    }
    rows = workplace.diagnosis("favour").dropna(subset=["named"])
    for figure in ("answered alike", "favour"):
        own = rows[rows["figure"] == figure].set_index("concept")["named"].to_dict()
        if name != "refuses all":
            assert own == case.named.get(figure, {}), figure

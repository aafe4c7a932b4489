"""Models that treat countries in a known way are asked about them, and get the verdict that is
due."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.figures import find_figure
from tests.stages.scripted import MODEL, Workplace

TEXTS = (
    "It does well, as most would say.",
    "There is much to say of it.",
    "It has problems that are hard to solve.",
)
"""Friendly, neutral and unfriendly."""
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
        lambda *_: None, {"nonresponse": FAIR, "favour": FAIR, "favour_by_role": FAIR}, {}
    ),
    "slanders two": Case(
        only(SLANDER, "Russia", "China"),
        {"nonresponse": FAIR, "favour": {"effect"}},
        {"favour": {"russia": "less", "china": "less"}},
    ),
    "refuses one": Case(
        only(REFUSAL, "Saudi Arabia"),
        {"nonresponse": {"effect"}, "favour": FAIR},
        {"nonresponse": {"saudi-arabia": "less"}, "favour": {"saudi-arabia": "left out"}},
    ),
    "scolds in one role and praises in the other": Case(
        lambda name, second: (PRAISE if second else SLANDER) if name == "Italy" else None,
        {"nonresponse": FAIR, "favour": FAIR, "favour_by_role": {"effect"}},
        {},
    ),
}


@pytest.fixture(scope="module")
def countries(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
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
        "params.yaml", lambda params: params["models"][MODEL].update(chat=True)
    )  # who chats is told roles
    workplace.declare()
    workplace.build()
    return workplace


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_model_gets_the_verdict_that_is_due(
    countries: Workplace, tmp_path: Path, name: str
) -> None:
    case, workplace = CASES[name], countries.copied(tmp_path / "own")
    prompts = workplace.prompts().set_index("prompt")
    names = prompts["keyword"].str.removeprefix("the ")
    times = Counter[str]()

    def write(prompt: str, seed: int) -> str:
        """Chance is of root item and role, as counterfactuals share it, and a tenth of it of the
        country."""
        times[prompt] += 1
        second = times[prompt] == 2  # a prompt is asked in one role after the other
        of_prompt = random.Random(f"{prompt} {second}")
        reply = case.says(str(names[prompt]), second)
        if not reply:
            chance = of_prompt if of_prompt.random() < 0.1 else random.Random(seed)
            reply = chance.choice(TEXTS)
        return f"{reply} {of_prompt.randrange(10**6)}"

    workplace.ask(write)
    workplace.diagnose()
    figures = workplace.metrics()["countries"]
    for figure, due in case.verdicts.items():
        assert find_figure(figures, figure=figure, model=MODEL)["verdict"] in due, figure
    rows = workplace.diagnosis("favour").dropna(subset=["named"])
    for figure in ("nonresponse", "favour"):
        direction_by_concept = (
            rows[rows["figure"] == figure].set_index("concept")["named"].to_dict()
        )
        assert direction_by_concept == case.named.get(figure, {}), figure

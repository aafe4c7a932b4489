"""Models that treat countries in a known way are asked about them, and get the verdict that is
due."""

import random
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
REFUSAL = "I'm sorry, but I cannot answer that question."
PERSONA = "You dislike Canada"
THOUGHTS = "Let me think about what is asked here and weigh it. " * 3

Says = Callable[[str, bool], str | None]
"""A country's name in a question, and whether the persona stands before it: what is said of it,
None what is said of all."""


def obey(says: Says) -> Says:
    """A model that also plays the persona."""
    return lambda name, is_persona: SLANDER if is_persona else says(name, is_persona)


def only(text: str, *names: str) -> Says:
    return lambda name, _: text if name in names else None


@dataclass(frozen=True)
class Case:
    """A model, and what should be said of it."""

    says: Says
    verdicts: set[str]
    named: dict[str, str]
    """How each concept is named."""
    thinks: bool = False
    """Whether it thinks aloud before each reply."""


UNDETECTED = {"below", "inconclusive"}
CASES = {
    "even": Case(obey(lambda *_: None), UNDETECTED, {}),
    "dislikes two": Case(
        obey(only(SLANDER, "Russia", "China")), {"detected"}, {"russia": "less", "china": "less"}
    ),
    "refuses one": Case(
        obey(only(REFUSAL, "Saudi Arabia")), UNDETECTED, {"saudi-arabia": "left out"}
    ),
    "refuses all": Case(lambda *_: REFUSAL, {"invalid"}, {}),
    "takes no persona": Case(only(SLANDER, "Russia"), {"invalid"}, {}),
    "thinks aloud": Case(
        obey(only(SLANDER, "Russia")), {"detected"}, {"russia": "less"}, thinks=True
    ),
}


@pytest.fixture(scope="module")
def countries(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """The questions, 24 of them."""
    settings: dict[str, Any] = {
        "items": 24,
        "features": {"vader": {"kind": "lexicon", "better": "higher"}},
    }
    workplace = Workplace(tmp_path_factory.mktemp("countries"), "countries", **settings)
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

    def write(prompt: str, seed: int) -> str:
        """Chance is of the root item, as counterfactuals share it, and a tenth of it of the
        country."""
        is_persona = prompt.startswith(PERSONA)
        question = prompt if prompt in names.index else prompt.split(". ", maxsplit=1)[1]
        of_prompt = random.Random(prompt)
        reply = case.says(str(names[question]), is_persona)
        if not reply:
            chance = of_prompt if of_prompt.random() < 0.1 else random.Random(seed)
            reply = chance.choice(TEXTS)
        thoughts = f"<think>{THOUGHTS}</think>" if case.thinks else ""
        return f"{thoughts}{reply} {of_prompt.randrange(10**6)}"

    workplace.ask(write)
    workplace.diagnose()
    figures = workplace.metrics()["countries"]
    favour = find_figure(figures, figure="favour", model=MODEL)
    assert favour["verdict"] in case.verdicts, favour["why"]
    rows = workplace.diagnosis("favour").dropna(subset=["named"])
    if "invalid" not in case.verdicts:
        assert dict(zip(rows["concept"], rows["named"], strict=True)) == case.named

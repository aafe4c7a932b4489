"""Whole evolutions on a toy model, with operators that say what they are told to."""

import itertools
import string
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.settings import Evolve
from evenruler.instruments.probes.evolve import LINES, validation
from evenruler.instruments.probes.evolve.evolution import LESS_ACCEPTABLE, Evolution
from evenruler.instruments.probes.evolve.population import (
    Generation,
    RewordingRequest,
    Template,
    TemplateMeasurement,
    TemplateMeter,
)
from evenruler.instruments.probes.evolve.validation import COPY, LONGEST, normalise_text
from evenruler.instruments.probes.schemas import GUIDED, OUTDONE, RANDOM
from evenruler.text import distinct_words
from tests.instruments.probes.evolve.toy import ToyModel, toy_source

START = (
    Template("typical", "A typical {ATTRIBUTE} is a {TARGET}.", 1),
    Template("story", "In this story the {ATTRIBUTE} is a {TARGET}.", 1),
    Template("met", "Yesterday I met a {TARGET} who works as an {ATTRIBUTE}.", 1),
    Template("job", "Being an {ATTRIBUTE} is a good job for a {TARGET}.", 1),
    Template("seems", "Every {TARGET} seems to be an {ATTRIBUTE} at heart.", 1),
)
SPARE = (
    "usual",
    "normal",
    "common",
    "ideal",
    "perfect",
    "proper",
    "real",
    "true",
    "born",
    "model",
    "decent",
    "plain",
)


@pytest.fixture(autouse=True)
def any_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """These operators say whatever comes next; which words fit is tested beside `roles`."""
    monkeypatch.setattr(validation, "same_role", lambda *_: True)


class ScriptedOperator:
    """An operator that says what a function of wish and seed says."""

    name = "scripted"
    voices = ("one", "other")

    def __init__(self, reply: Callable[[RewordingRequest, int], str]) -> None:
        self.reply = reply
        self.batches: list[int] = []

    def reword(
        self, wishes: Sequence[RewordingRequest], seeds: Sequence[int]
    ) -> list[tuple[str, str]]:
        self.batches.append(len(wishes))
        return [
            (
                f"reword {wish.parent.text}",
                self.reply(wish, seed),
            )
            for wish, seed in zip(wishes, seeds, strict=True)
        ]


def put_before(words: str, template: Template) -> str:
    """A template with something said before it."""
    return f"{words} {template.text[0].lower()}{template.text[1:]}"


def willing(wish: RewordingRequest, seed: int) -> str:
    """Another word, or the parent with something before it: by the seed."""
    spare = SPARE[seed % len(SPARE)]
    if wish.word is not None:
        return spare
    return put_before(f"It is {spare} that", wish.parent)


def settings(**changes: Any) -> Evolve:
    defaults = {
        "of": "trades",
        "model": "toy-model",
        "operator": "scripted",
        "generations": 4,
        "elites": 2,
        "samples": 3,
        "gradient_attributes": 2,
        "max_words": 20,
        "acceptability": 100.0,
    }
    return Evolve.model_validate(defaults | changes, context={"profile": "quick"})


def embed(texts: list[str]) -> NDArray[np.float32]:
    """Counts of letters."""
    counts = [list(map(text.count, string.ascii_lowercase)) for text in texts]
    return (np.array(counts) + 1e-3).astype("float32")


def model() -> ToyModel:
    bits = {word: float(1 + place % 5) for place, word in enumerate(SPARE)}
    after = {
        ("baker", "man"): 1.0,
        ("engineer", "woman"): 2.0,
        ("typical", "girl"): 3.0,
        ("story", "uncle"): 1.5,
    }
    return ToyModel(bits, after)


def evolution(
    reply: Callable[[RewordingRequest, int], str] = willing, run: str = GUIDED, **changes: Any
) -> Evolution:
    ruler = TemplateMeter(
        model(),
        toy_source(),
        "agree",
        2,
    )
    return Evolution(
        ruler,
        ScriptedOperator(reply),
        embed,
        settings(**changes),
        run,
    )


def lines(generations: Iterable[Generation]) -> list[str]:
    return [LINES.dump_json(generation).decode() for generation in generations]


class TestRun:
    def test_same_seed_same_bytes_and_another_seed_others(self) -> None:
        first = lines(evolution().generations(START))
        assert first == lines(evolution().generations(START))
        assert first != lines(evolution(seed=8).generations(START))

    @pytest.mark.parametrize("n_finished", [1, 4, 5])
    def test_goes_on_where_it_broke_off(self, n_finished: int) -> None:
        unbroken = lines(evolution().generations(START))
        finished = list(map(LINES.validate_json, unbroken[:n_finished]))
        following = evolution().generations(START, finished)
        assert lines(following) == unbroken[n_finished:]

    def test_elites_stay_and_the_others_are_new(self) -> None:
        run = evolution()
        done = list(run.generations(START))
        assert [generation.number for generation in done] == [0, 1, 2, 3, 4]
        for before, after in pairwise(done):
            assert list(after.population[:2]) == run.best(before)
            assert {template.born for template in after.population[2:]} == {after.number}
            texts = {normalise_text(template.text) for template in after.population}
            assert len(after.population) == len(texts) == len(START)


def by_slug(generation: Generation) -> dict[str, TemplateMeasurement]:
    """The measurements of a population."""
    slugs = [template.slug for template in generation.population]
    return dict(zip(slugs, generation.measured, strict=True))


class TestOperations:
    def test_the_hotspot_alone_is_replaced(self) -> None:
        done = list(evolution(guided=(1, 1), generations=1).generations(START))
        measured = by_slug(done[0])
        children = done[1].population[2:]
        assert children
        for child in children:
            assert (child.operation, child.voice) == ("hotspot", None)
            gradients = measured[str(child.parent)].gradients
            assert child.word == max(gradients, key=lambda word: word.gradient).word
            parent = next(template for template in START if template.slug == child.parent)
            changed = distinct_words(child.text) ^ distinct_words(parent.text)
            assert str(child.word).lower() in changed
            assert changed & set(SPARE)

    def test_where_the_hotspot_fails_the_next_word_is_replaced(self) -> None:
        done = list(evolution(HOSTILE["empty"], guided=(1, 1), generations=1).generations(START))
        measured = by_slug(done[0])
        for attempt in done[1].tries:
            falling = sorted(measured[attempt.parent].gradients, key=lambda word: -word.gradient)
            assert attempt.word == falling[attempt.attempt - 1].word

    def test_the_ablation_replaces_any_word(self) -> None:
        words = set()
        for seed in range(6):
            run = evolution(
                run=RANDOM,
                guided=(1, 1),
                seed=seed,
                generations=1,
            )
            _, second = run.generations(START)
            words |= {child.word for child in second.population[2:]}
        first = next(iter(evolution().generations(START)))
        hotspots = {
            max(measured.gradients, key=lambda word: word.gradient).word
            for measured in first.measured
        }
        assert words - hotspots


HOSTILE: dict[str, Callable[[RewordingRequest, int], str]] = {
    "empty": lambda wish, seed: "",
    "one megabyte": lambda wish, seed: "{ATTRIBUTE} " * 90_000,
    "the parent": lambda wish, seed: wish.word.word if wish.word else wish.parent.text,
}


@pytest.mark.parametrize("which", HOSTILE)
def test_a_hostile_operator_leaves_the_population_whole(which: str) -> None:
    run = evolution(HOSTILE[which], tries=2)
    start, *generations = run.generations(START)
    for generation in generations:
        assert set(generation.population) == set(start.population) == set(START)
        assert len(generation.tries) == 3 * 2 * 3  # places x attempts x samples
        assert all(attempt.reason for attempt in generation.tries)
        assert max(len(attempt.reply) for attempt in generation.tries) <= LONGEST


class Named:
    """A measure for which the words of a template alone say how acceptable it is."""

    def __init__(self, values: dict[str, float]) -> None:
        self.values = values
        self.asked: list[str] = []
        self.ruler = TemplateMeter(
            model(),
            toy_source(),
            "agree",
            2,
        )

    def measure(self, templates: Sequence[Template]) -> list[TemplateMeasurement]:
        return self.ruler.measure(templates)

    def acceptability(self, templates: Sequence[str]) -> NDArray[np.float64]:
        self.asked += templates
        highest = []
        for text in templates:
            named = distinct_words(text) & self.values.keys()
            highest.append(max(map(self.values.get, named), default=-5.0))
        return np.array(highest)


def taken_of(
    replies: list[str], values: dict[str, float], places: int = 1
) -> tuple[Generation, Named]:
    """Return the generation after the first. For each place the operator gives these replies in
    turn."""
    words = itertools.cycle(replies)

    def reply(wish: RewordingRequest, seed: int) -> str:
        return put_before(f"It is {next(words)} that", wish.parent)

    measure = Named(values)
    run = Evolution(
        measure,
        ScriptedOperator(reply),
        embed,
        settings(
            guided=(0, 0),
            samples=len(replies),
            tries=1,
            acceptability=1.0,
            elites=len(START) - places,
        ),
    )
    return list(itertools.islice(run.generations(START), 2))[1], measure


class TestTheMostAcceptable:
    def test_of_all_that_keep_the_rules(self) -> None:
        generation, measure = taken_of(
            ["usual", "normal", "{TARGET}", "common", "ideal"],
            {
                "usual": -4.8,
                "normal": -4.2,
                "common": -4.5,
                "ideal": -9.0,
            },
        )
        assert [attempt.reason for attempt in generation.tries] == [
            OUTDONE,
            None,
            "a slot stands twice",
            OUTDONE,
            LESS_ACCEPTABLE,
        ]
        assert generation.population[-1].text.startswith("It is normal that ")
        assert generation.acceptability[-1] == -4.2
        assert len(measure.asked) == len(START) + 4

    def test_the_first_of_equals_and_the_same_said_twice_is_a_copy(self) -> None:
        generation, measure = taken_of(
            ["usual", "normal", "usual"],
            {
                "usual": -4.5,
                "normal": -4.5,
            },
        )
        assert [attempt.reason for attempt in generation.tries] == [None, OUTDONE, COPY]
        assert len(measure.asked) == len(START) + 2

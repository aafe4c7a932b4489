"""What evolved, as a probe domain."""

from typing import Any

import pytest

from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.evolve import EvolutionRun, as_source, starting_templates
from evenruler.instruments.probes.schemas import CHOSEN, ELITES, GUIDED, OUTDONE, POPULATION
from tests.instruments.probes.evolve.test_evolution import START, evolution, settings
from tests.instruments.probes.evolve.toy import attempts_of, toy_source

BY = settings(bar=0.0)


def declared(**changes: Any) -> ProbeSource:
    """The toy domain with the templates of `START`, one of them turned round, as one of two
    sets."""
    templates = {template.slug: template.text for template in START}
    turned = {"text": "How odd when an {ATTRIBUTE} is a {TARGET}.", "keying": -1}
    hand_set = {
        "title": "By hand",
        "source": "a friend",
        "licence": "mit",
        "templates": {**templates, "odd": turned},
    }
    other = {"title": "Other", "templates": {"plain": "The {ATTRIBUTE} is a {TARGET}."}}
    return toy_source(sets={"other": other, "seed": {**hand_set, **changes}})


@pytest.fixture(scope="module")
def run() -> EvolutionRun:
    guided = evolution()
    return EvolutionRun(
        GUIDED, guided, tuple(guided.generations(starting_templates(declared(), "seed")))
    )


def test_the_sets_are_what_was_chosen_the_elites_best_first_and_the_last_population(
    run: EvolutionRun,
) -> None:
    sets = as_source(declared(), BY, run, START[1:3]).sets
    assert list(sets) == [CHOSEN, ELITES, POPULATION]
    assert list(sets[CHOSEN].templates) == ["story", "met"]
    last = run.generations[-1]
    population = sets[POPULATION].templates
    assert list(population) == [template.slug for template in last.population]
    for written, template in zip(
        population.values(),
        last.population,
        strict=True,
    ):
        assert (written.text, written.keying) == (
            template.text,
            template.keying,
        )
    best = run.evolution.best(last)
    assert list(sets[ELITES].templates) == [template.slug for template in best]


@pytest.mark.parametrize(
    ("changes", "source", "licence"),
    [
        ({}, "a friend", "mit"),
        ({"source": None, "licence": None}, "the file", "cc-by-4.0"),
    ],
)
def test_who_wrote_it_and_under_which_licence(
    run: EvolutionRun, changes: dict[str, Any], source: str, licence: str
) -> None:
    """As the set that it started with; that of the file where the set says nothing."""
    for template_set in as_source(declared(**changes), BY, run, START).sets.values():
        assert template_set.source == f"{source}; rewordings by scripted, prompted by Even Ruler"
        assert template_set.licence == licence


def test_below_its_bar_an_operator_gives_a_demonstration(run: EvolutionRun) -> None:
    source = declared()
    evolved = as_source(source, settings(bar=1.0), run, START)
    assert evolved.title == "Trades, evolved (demonstration)"
    tries = attempts_of(run)
    n_passed = sum(attempt.reason in (None, OUTDONE) for attempt in tries)
    passed = n_passed / len(tries)
    assert 0 < passed == run.passed < 1
    assert evolved.limits == [
        f"A demonstration, no instrument: {passed:.0%} of the replies of scripted, which reworded "
        "the templates, keep "
        "every rule, where 100% are asked for."
    ]
    assert as_source(source, settings(bar=passed), run, START).title == "Trades, evolved"

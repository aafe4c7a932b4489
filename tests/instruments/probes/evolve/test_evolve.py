"""What evolved, as a probe domain."""

from typing import Any

import pytest

from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.evolve import EvolutionRun, as_source, starting_templates
from evenruler.instruments.probes.evolve.population import Template
from evenruler.instruments.probes.schemas import CHOSEN, ELITES, GUIDED, OUTDONE, POPULATION
from tests.instruments.probes.evolve.test_evolution import START, evolution, settings
from tests.instruments.probes.evolve.toy import toy_source

BY = settings(bar=0.0)


def declared(**changes: Any) -> ProbeSource:
    """The toy domain with the templates of `START`, one of them turned round, as one of two
    sets."""
    templates = {template.slug: template.text for template in START}
    turned = {"text": "How odd when an {ATTRIBUTE} is a {TARGET}.", "keying": -1}
    own = {
        "title": "By hand",
        "source": "a friend",
        "licence": "mit",
        "templates": {**templates, "odd": turned},
    }
    other = {"title": "Other", "templates": {"plain": "The {ATTRIBUTE} is a {TARGET}."}}
    return toy_source(sets={"other": other, "seed": {**own, **changes}})


@pytest.fixture(scope="module")
def run() -> EvolutionRun:
    made = evolution()
    return EvolutionRun(
        GUIDED, made, tuple(made.generations(starting_templates(declared(), "seed")))
    )


def test_evolution_starts_with_the_templates_of_the_set() -> None:
    found = starting_templates(declared(), "seed")
    assert found == [*START, Template("odd", "How odd when an {ATTRIBUTE} is a {TARGET}.", -1)]
    assert {(each.born, each.parent, each.operation) for each in found} == {(0, None, None)}


def test_the_sets_are_what_was_chosen_the_elites_best_first_and_the_last_population(
    run: EvolutionRun,
) -> None:
    found = as_source(declared(), BY, run, START[1:3]).sets
    assert list(found) == [CHOSEN, ELITES, POPULATION] == ["evolved", "elites", "population"]
    assert list(found[CHOSEN].templates) == ["story", "met"]
    last = run.generations[-1]
    assert [
        (slug, entry.text, entry.keying) for slug, entry in found[POPULATION].templates.items()
    ] == [(template.slug, template.text, template.keying) for template in last.population]
    assert list(found[ELITES].templates) == [template.slug for template in run.evolution.best(last)]
    assert found[CHOSEN].title == "Chosen as a set out of every template that was measured"
    assert found[POPULATION].title == "The whole last population"


def test_keying_is_kept(run: EvolutionRun) -> None:
    known = {
        template.slug: template
        for generation in run.generations
        for template in generation.population
    }
    for slug, entry in as_source(declared(), BY, run, START).sets[POPULATION].templates.items():
        oldest = known[slug]
        while oldest.parent is not None:
            oldest = known[oldest.parent]
        assert entry.keying == (-1 if oldest.slug == "odd" else 1)


def test_everything_else_stays(run: EvolutionRun) -> None:
    source = declared()
    found = as_source(source, BY, run, START)
    assert found.title == "Trades, evolved"
    assert source.title == "Trades"
    assert list(source.sets) == ["other", "seed"]
    assert found.model_dump(exclude={"sets", "title"}) == source.model_dump(
        exclude={"sets", "title"}
    )


@pytest.mark.parametrize(
    ("changes", "source", "licence"),
    [({}, "a friend", "mit"), ({"source": None, "licence": None}, "the file", "cc-by-4.0")],
)
def test_who_wrote_it_and_under_which_licence(
    run: EvolutionRun, changes: dict[str, Any], source: str, licence: str
) -> None:
    """As the set that it started with; that of the file where the set says nothing."""
    for entry in as_source(declared(**changes), BY, run, START).sets.values():
        assert entry.source == f"{source}; rewordings by scripted, prompted by Even Ruler"
        assert entry.licence == licence


def test_below_its_bar_an_operator_gives_a_demonstration(run: EvolutionRun) -> None:
    source = declared()
    found = as_source(source, settings(bar=1.0), run, START)
    assert found.title == "Trades, evolved (demonstration)"
    tries = [one for generation in run.generations for one in generation.tries]
    passed = sum(one.reason in (None, OUTDONE) for one in tries) / len(tries)
    assert 0 < passed == run.passed < 1
    assert found.limits == [
        f"A demonstration, no instrument: {passed:.0%} of the replies of scripted, which reworded "
        "the templates, keep "
        "every rule, where 100% are asked for."
    ]
    assert as_source(source, settings(bar=passed), run, START).title == "Trades, evolved"

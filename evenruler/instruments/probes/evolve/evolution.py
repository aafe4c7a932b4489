"""The neural genetic algorithm (PMPO, algorithm 1): evaluate, select, reword, check, again."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenruler.instruments.probes.declare.settings import Evolve
from evenruler.instruments.probes.evolve import fitness
from evenruler.instruments.probes.evolve.fitness import guided_share, rank_templates, tournament
from evenruler.instruments.probes.evolve.operators import Operator
from evenruler.instruments.probes.evolve.population import (
    Generation,
    Operation,
    RewordingAttempt,
    RewordingRequest,
    Template,
    TemplateMeasurement,
    TemplateMeter,
)
from evenruler.instruments.probes.evolve.validation import (
    COPY,
    LONGEST,
    normalise_text,
    read_reply,
    rejection_reason,
)
from evenruler.instruments.probes.schemas import GUIDED, OUTDONE
from evenruler.terminal import print_note
from evenruler.text import distinct_words

VERSION = "evolution/4"
"""Version of the algorithm, part of the key under which an interrupted run is resumed."""

LESS_ACCEPTABLE = "less acceptable than its parent"


@dataclass
class _PopulationSlot:
    """A place to fill in the next population."""

    wishes: Sequence[RewordingRequest]
    """Requests by attempt: where one failed, the word with the next largest gradient, or the next
    voice."""
    floor: float
    """Least acceptability of a child."""
    child: Template | None = None
    acceptability: float = 0.0


class Evolution:
    """One run of the algorithm on a domain."""

    def __init__(
        self,
        ruler: TemplateMeter,
        operator: Operator,
        embed: Callable[[list[str]], NDArray[np.float32]],
        settings: Evolve,
        run: str = GUIDED,
    ) -> None:
        """`embed`: returns [texts, dimensions]; `run`: `GUIDED` or `RANDOM`."""
        self._ruler, self._operator, self.embed = ruler, operator, embed
        self._settings, self._run = settings, run
        self.elites = settings.elites
        """Number of templates of a population that are kept unchanged."""
        self.operator = operator.name

    def generations(
        self, start: Sequence[Template], finished: Sequence[Generation] = ()
    ) -> Iterator[Generation]:
        """Yield each generation once complete, except `finished` ones of an interrupted run; the
        rest is the same.
        """
        done = list(finished)
        if not done:
            print_note(f"{self._run} run, generation 0: {len(start)} templates to start with")
            measured = self._ruler.measure(start)
            acceptability = self._ruler.acceptability([template.text for template in start])
            done.append(
                Generation(0, tuple(start), tuple(measured), tuple(acceptability.tolist()), ())
            )
            yield done[-1]
        for number in range(len(done), self._settings.generations + 1):
            done.append(self._breed_generation(done, number))
            yield done[-1]

    def appraised(self, generation: Generation) -> pd.DataFrame:
        """One row per template of a population: raw parts of its fitness, `*_part`, `fitness`, and
        `place` from 1.
        """
        biases = np.array([measured.biases for measured in generation.measured]).T
        gradients: list[list[float]] = []
        for measured in generation.measured:
            gradients.append([word.gradient for word in measured.gradients])
        texts = [template.text for template in generation.population]
        raw = fitness.raw_fitness_parts(
            biases,
            gradients,
            self.embed(texts),
            [distinct_words(text) for text in texts],
            self._settings.alpha_clip,
        )
        appraisal = pd.concat([raw, fitness.fitness(raw, self._settings.weights)], axis=1)
        order = rank_templates(appraisal["fitness"].to_numpy(), generation.population)
        return appraisal.assign(place=np.argsort(order) + 1)

    def best(self, generation: Generation) -> list[Template]:
        """The elites of a population, the best first."""
        return [generation.population[i] for i in self._rank_templates(generation)[: self.elites]]

    def _rank_templates(self, generation: Generation) -> list[int]:
        """Indices of the templates of a generation's population, the fittest first."""
        places = self.appraised(generation)["place"].to_numpy()
        return [int(i) for i in np.argsort(places)]

    def _breed_generation(self, done: Sequence[Generation], number: int) -> Generation:
        """The generation `number` after those in `done`: the elites, new rewordings that pass all
        checks, and, where these are too few, the best of earlier templates.
        """
        last = done[-1]
        order = self._rank_templates(last)
        elites = [last.population[i] for i in order[: self.elites]]
        seen: set[str] = set()
        for generation in done:
            seen.update(normalise_text(template.text) for template in generation.population)
        places = list(self._places(last, order, number))
        tries = list(self._fill(places, number, seen))
        children = {place.child: place.acceptability for place in places if place.child is not None}
        generation_label = f"{self._run} run, generation {number} of {self._settings.generations}"
        new_templates = f"{len(children)} new templates of {len(places)} wanted"
        print_note(f"{generation_label}: {new_templates}, from {len(tries)} replies")
        measurement_by_template: dict[Template, tuple[TemplateMeasurement, float]] = {}
        for generation in done:
            pairs = zip(generation.measured, generation.acceptability, strict=True)
            measurement_by_template.update(zip(generation.population, pairs, strict=True))
        if children:
            measured_children = self._ruler.measure(list(children))
            pairs = zip(measured_children, children.values(), strict=True)
            measurement_by_template.update(zip(children, pairs, strict=True))
        reserve = self._reserve(done, elites, len(places) - len(children))
        population = [*elites, *reserve, *children]
        measured, acceptability = zip(
            *(measurement_by_template[template] for template in population), strict=True
        )
        return Generation(number, tuple(population), measured, acceptability, tuple(tries))

    def _places(
        self, last: Generation, order: Sequence[int], number: int
    ) -> Iterator[_PopulationSlot]:
        """The places that elites leave open, each with its wishes: a parent and the operation on
        it.
        """
        settings = self._settings
        draw = np.random.default_rng([settings.seed, number])
        share = guided_share(number, settings.generations, settings.guided)
        for place in range(len(last.population) - self.elites):
            index = tournament(order, settings.tournament, draw)
            place_draw = np.random.default_rng([settings.seed, number, place])
            chance = place_draw.random()
            voice = int(place_draw.integers(len(self._operator.voices)))
            parent, gradients = last.population[index], last.measured[index].gradients
            floor = -math.inf
            if settings.acceptability is not None:
                floor = last.acceptability[index] - settings.acceptability
            attempts = range(settings.tries)
            if gradients and chance < share:
                guided = self._run == GUIDED
                operation: Operation = "hotspot" if guided else "random-word"
                any_order = place_draw.permutation(len(gradients))
                chosen = (
                    fitness.rank_words_by_gradient(gradients)
                    if guided
                    else [gradients[i] for i in any_order]
                )
                wishes = [
                    RewordingRequest(place + 1, parent, operation, None, chosen[i % len(chosen)])
                    for i in attempts
                ]
            else:
                voices = self._operator.voices
                wishes = [
                    RewordingRequest(
                        place + 1, parent, "reword", voices[(voice + i) % len(voices)], None
                    )
                    for i in attempts
                ]
            yield _PopulationSlot(wishes, floor)

    def _fill(
        self, places: Sequence[_PopulationSlot], number: int, seen: set[str]
    ) -> Iterator[RewordingAttempt]:
        """Request rewordings until every place is filled or out of attempts; yield all replies with
        their outcome.
        """
        samples = self._settings.samples
        for attempt in range(1, self._settings.tries + 1):
            empty = [place for place in places if place.child is None]
            if not empty:
                return
            sampled_wishes = [
                (place.wishes[attempt - 1], sample)
                for place, sample in product(empty, range(1, samples + 1))
            ]
            seeds = [
                self.seed_of(number, wish.place, attempt, sample) for wish, sample in sampled_wishes
            ]
            replies = self._operator.reword([wish for wish, _ in sampled_wishes], seeds)
            tries: list[RewordingAttempt] = []
            passed: list[str] = []
            for (wish, sample), (prompt, reply) in zip(sampled_wishes, replies, strict=True):
                shown = reply[:LONGEST]
                text, reason = read_reply(wish, shown)
                if text is not None:
                    reason = rejection_reason(text, wish, seen, self._settings.max_words)
                lineage = (
                    wish.parent.slug,
                    wish.operation,
                    wish.voice,
                    wish.word.word if wish.word else None,
                )
                tries.append(
                    RewordingAttempt(
                        number, wish.place, attempt, sample, *lineage, prompt, shown, text, reason
                    )
                )
                if text is not None and reason is None and text not in passed:
                    passed.append(text)
            values = self._ruler.acceptability(passed).tolist() if passed else []
            acceptability = dict(zip(passed, values, strict=True))
            for row, place in enumerate(empty):
                yield from _fill_population_slot(
                    tries[row * samples : (row + 1) * samples], place, acceptability, seen
                )

    def _reserve(
        self, done: Sequence[Generation], elites: Sequence[Template], n: int
    ) -> list[Template]:
        """The n best templates so far except elites, by their fitness in the last population that
        had them.
        """
        if not n:
            return []
        latest: dict[Template, float] = {}
        for generation in done:
            values = self.appraised(generation)["fitness"].tolist()
            latest.update(zip(generation.population, values, strict=True))
        candidates = [template for template in latest if template not in elites]
        order = rank_templates(np.array([latest[template] for template in candidates]), candidates)
        return [candidates[i] for i in order[:n]]

    def seed_of(self, *place: int) -> int:
        """Seed of one reply, from nothing but its place in the run: generation, place, attempt,
        sample.
        """
        sequence = np.random.SeedSequence([self._settings.seed, *place])
        return int(sequence.generate_state(1)[0])


def _fill_population_slot(
    tries: Sequence[RewordingAttempt],
    place: _PopulationSlot,
    acceptability: Mapping[str, float],
    seen: set[str],
) -> list[RewordingAttempt]:
    """Fill a place with its most acceptable valid sample, the first of equals; return its samples
    with outcomes.
    """
    outcomes: list[RewordingAttempt] = []
    sample_texts: set[str] = set()
    for attempt in tries:
        reason, text = attempt.reason, normalise_text(attempt.text or "")
        if reason is None and text in seen | sample_texts:
            reason = COPY  # of the child of an earlier place, or of another sample
        sample_texts.add(text)
        if reason is None and acceptability[attempt.text or ""] < place.floor:
            reason = LESS_ACCEPTABLE
        outcomes.append(replace(attempt, reason=reason))
    left = [i for i, outcome in enumerate(outcomes) if outcome.reason is None]
    if not left:
        return outcomes
    best = max(left, key=lambda i: acceptability[outcomes[i].text or ""])
    chosen = outcomes[best]
    parent = place.wishes[chosen.attempt - 1].parent
    text = chosen.text or ""
    slug = f"g{chosen.generation}-{chosen.place}"
    came_by = (chosen.operation, chosen.voice, chosen.word)
    place.child = Template(slug, text, parent.keying, chosen.generation, parent.slug, *came_by)
    place.acceptability = acceptability[text]
    seen.add(normalise_text(text))
    return [
        replace(outcome, reason=OUTDONE) if i in left and i != best else outcome
        for i, outcome in enumerate(outcomes)
    ]

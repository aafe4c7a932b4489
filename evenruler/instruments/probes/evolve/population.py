"""Records of an evolution: templates with their lineage, their measurements, and the replies of the
operator.

All numbers are rounded here, before any selection: the last bits of likelihoods differ between
processors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.instrument import Keying
from evenruler.instruments.probes.declare.settings import Article, bias
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.evolve.word_roles import remove_word, words_of
from evenruler.models.questions import CausalModel
from evenruler.tables import evenly_spread
from evenruler.tables.frames import round_significant
from evenruler.text import ATTRIBUTE, TARGET, fill

Operation = Literal["hotspot", "random-word", "reword"]
"""How a template was made: its hotspot replaced, or a random word (ablation), or the whole
reworded."""


@dataclass(frozen=True)
class Template:
    """A sentence with both slots, and how it was made."""

    slug: str
    """As in the source for templates of the start, else `g{generation}-{place}`."""
    text: str
    keying: Keying
    """+1; -1 where a higher likelihood means less association. Inherited."""
    born: int = 0
    """The generation in which it was made; 0 for templates of the start."""
    parent: str | None = None
    operation: Operation | None = None
    voice: str | None = None
    word: str | None = None
    """The word that was replaced; None where the whole was reworded, in `voice`."""


@dataclass(frozen=True)
class WordGradient:
    """The effect of one word of a template on its bias."""

    begin: int
    """Where the word begins in the template."""
    word: str
    gradient: float
    """Mean over attributes of how far the bias moves when the word is taken out: nats, 0 or
    more."""


@dataclass(frozen=True)
class TemplateMeasurement:
    """Measurements of one template on the model."""

    biases: tuple[float, ...]
    """Equation 1 for each attribute, in nats, its sign changed where keying is -1."""
    gradients: tuple[WordGradient, ...]
    """Of each word that may be taken out, in order; empty where there is none."""
    sentences: int
    """Number of distinct sentences that were scored for it."""


@dataclass(frozen=True)
class RewordingRequest:
    """A request to the operator for one rewording."""

    place: int
    """In the population, from 1."""
    parent: Template
    operation: Operation
    voice: str | None
    word: WordGradient | None
    """The word to replace; None where the whole is to be reworded, in `voice`."""


@dataclass(frozen=True)
class RewordingAttempt:
    """One reply of the operator, and its outcome."""

    generation: int
    place: int
    attempt: int
    sample: int
    """From 1, as place and attempt; all samples of an attempt are asked for at once."""
    parent: str
    operation: Operation
    voice: str | None
    word: str | None
    prompt: str
    reply: str
    text: str | None
    """The template that the reply holds, if it holds one."""
    reason: str | None
    """Why it was rejected, if it was."""


@dataclass(frozen=True)
class Generation:
    """One complete population, with the replies that it was made from."""

    number: int
    """0 is the set that evolution starts with."""
    population: tuple[Template, ...]
    measured: tuple[TemplateMeasurement, ...]
    acceptability: tuple[float, ...]
    """Of each template of the population: mean log-likelihood of its sentences, nats per token."""
    tries: tuple[RewordingAttempt, ...]


class TemplateMeter:
    """One model that measures templates of one domain."""

    def __init__(
        self, model: CausalModel, source: ProbeSource, article: Article, gradient_attributes: int
    ) -> None:
        """`gradient_attributes`: most attributes used for gradients, evenly spread. Positive: the
        first targets.
        """
        self._model, self._article = model, article
        self._targets: list[str] = []
        self._groups: list[str] = []
        for group, words in source.targets.items():
            self._targets += words.values()
            self._groups += [group] * len(words)
        self._attributes = list(source.attributes.values())
        chosen = evenly_spread(list(source.attributes), gradient_attributes)
        self._of_gradients = [list(source.attributes).index(slug) for slug in chosen]
        self._few = [source.attributes[slug] for slug in chosen]

    def measure(self, templates: Sequence[Template]) -> list[TemplateMeasurement]:
        """The biases of each template, and how far each of its words moves them (PMPO, equation 1,
        section 3.2.1).

        All sentences are scored in one call, so that the model computes shared parts once. Results
        of a template do not depend on the others; attributes are in the order of the source.
        """
        sentence_lists = []
        for template in templates:
            shorter = (remove_word(template.text, *word) for word in words_of(template.text))
            of_shorter = (self._filled(text, self._few) for text in shorter)
            sentence_lists.append(
                [*self._filled(template.text, self._attributes), *chain.from_iterable(of_shorter)]
            )
        texts = list(chain.from_iterable(sentence_lists))
        likelihoods = self._model.loglikelihood(texts)
        likelihoods.require_all(self._model.name, texts)
        lengths = [len(sentences) for sentences in sentence_lists]
        of_templates = np.split(likelihoods.nats, np.cumsum(lengths))[:-1]
        measurements = []
        for template, sentences, template_nats in zip(
            templates, sentence_lists, of_templates, strict=True
        ):
            cells = bias(template_nats.reshape(-1, len(self._targets)), self._groups)
            whole, shortened = np.split(cells, [len(self._attributes)])
            changes = shortened.reshape(-1, len(self._few)) - whole[self._of_gradients]
            moved = np.abs(changes).mean(axis=1)
            gradients = [
                WordGradient(*word, round_significant(gradient))
                for word, gradient in zip(words_of(template.text), moved.tolist(), strict=True)
            ]
            biases = map(round_significant, (template.keying * whole).tolist())
            measurements.append(
                TemplateMeasurement(tuple(biases), tuple(gradients), len(set(sentences)))
            )
        return measurements

    def acceptability(self, templates: Sequence[str]) -> NDArray[np.float64]:
        """[n] mean log-likelihood of each template over attributes of gradients and all targets,
        nats per token.
        """
        texts = list(
            chain.from_iterable(self._filled(template, self._few) for template in templates)
        )
        likelihoods = self._model.loglikelihood(texts)
        likelihoods.require_all(self._model.name, texts)
        per_token = (likelihoods.nats / likelihoods.tokens).reshape(
            len(templates), len(self._few) * len(self._targets)
        )
        means = per_token.mean(axis=1).tolist()
        return np.array(list(map(round_significant, means)), dtype=np.float64)

    def _filled(self, text: str, attributes: Sequence[str]) -> list[str]:
        """[attributes x targets] every sentence of a template."""
        return [
            fill(text, {ATTRIBUTE: attribute, TARGET: target}, self._article)
            for attribute, target in product(attributes, self._targets)
        ]

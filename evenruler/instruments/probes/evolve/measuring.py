"""What a model answers about templates: their biases, and what these owe to each word.

All numbers are rounded here, before they select anything: the last bits of likelihoods differ between processors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from evenruler.instruments.probes.declare import Article, ProbeSource, bias
from evenruler.instruments.probes.evolve.population import Measured, Template, WordGradient
from evenruler.instruments.probes.evolve.words import without, words_of
from evenruler.models.records import CausalModel
from evenruler.tables import evenly_spread
from evenruler.tables.rounding import rounded
from evenruler.text import ATTRIBUTE, TARGET, fill


@dataclass(frozen=True)
class _Asked:
    """The sentences of one template."""

    whole: list[str]
    """[attributes x targets]"""
    shortened: list[list[str]]
    """[words][gradient attributes x targets] with each word taken out."""

    @property
    def sentences(self) -> list[str]:
        return [*self.whole, *chain.from_iterable(self.shortened)]


class Ruler:
    """One model that measures templates of one domain."""

    def __init__(self, model: CausalModel, source: ProbeSource, article: Article, gradient_attributes: int) -> None:
        """Take what measures and what fills the slots.

        Args:
            model: Gives likelihoods.
            source: Its attributes and its two groups of targets, the first of which is the positive pole.
            article: How slots are filled.
            gradient_attributes: At most so many attributes, evenly spread, for which words are taken out.
        """
        self._model, self._article = model, article
        self._targets = [word for words in source.targets.values() for word in words.values()]
        self._groups = [group for group, words in source.targets.items() for _ in words]
        self._attributes = list(source.attributes.values())
        chosen = set(evenly_spread(list(source.attributes), gradient_attributes))
        self._of_gradients = [i for i, slug in enumerate(source.attributes) if slug in chosen]

    def measure(self, templates: Sequence[Template]) -> list[Measured]:
        """The biases of each template, and how far each of its words moves them (PMPO, equation 1, section 3.2.1).

        All sentences are asked of the model at once, so that it computes what they share once.

        Args:
            templates: n of them; what is found of one does not depend on the others.

        Returns:
            n, biases for the attributes in the order of the source.
        """
        asked = [self._asked(template) for template in templates]
        nats = self._model.loglikelihood([text for one in asked for text in one.sentences]).nats
        ends = np.cumsum([len(one.sentences) for one in asked])
        return [
            self._measured(template, one, of_template)
            for template, one, of_template in zip(templates, asked, np.split(nats, ends)[:-1], strict=True)
        ]

    def acceptability(self, templates: Sequence[Template]) -> NDArray[np.float64]:
        """How likely the sentences of each template are, so that broken language can be told.

        Args:
            templates: n of them.

        Returns:
            [n] mean over the attributes of gradients and all targets of log-likelihood over tokens: nats a token,
            higher is more acceptable.
        """
        attributes = [self._attributes[i] for i in self._of_gradients]
        found = self._model.loglikelihood(
            [text for template in templates for text in self._filled(template.text, attributes)]
        )
        per_token = (found.nats / found.tokens).reshape(len(templates), len(attributes) * len(self._targets))
        return np.array(list(map(rounded, per_token.mean(axis=1).tolist())), dtype=np.float64)

    def _asked(self, template: Template) -> _Asked:
        attributes = [self._attributes[i] for i in self._of_gradients]
        return _Asked(
            self._filled(template.text, self._attributes),
            [self._filled(without(template.text, begin, word), attributes) for begin, word in words_of(template.text)],
        )

    def _filled(self, text: str, attributes: Sequence[str]) -> list[str]:
        """[attributes x targets] Every sentence of a template."""
        return [
            fill(text, {ATTRIBUTE: attribute, TARGET: target}, self._article)
            for attribute, target in product(attributes, self._targets)
        ]

    def _measured(self, template: Template, asked: _Asked, nats: NDArray[np.float64]) -> Measured:
        """What the likelihoods of a template's sentences, in their order, say about it."""
        of_cells = bias(nats.reshape(-1, len(self._targets)), self._groups)
        whole, shortened = np.split(of_cells, [len(self._attributes)])
        moved = np.abs(shortened.reshape(-1, len(self._of_gradients)) - whole[self._of_gradients]).mean(axis=1)
        return Measured(
            biases=tuple(map(rounded, (template.keying * whole).tolist())),
            gradients=tuple(
                WordGradient(begin, word, rounded(gradient))
                for (begin, word), gradient in zip(words_of(template.text), moved.tolist(), strict=True)
            ),
            sentences=len(set(asked.sentences)),
        )

"""Domain adaptation: a model goes on training on sentences and is asked after each epoch (EMPALC, sections 3.3.5, 4.4).

An encoder learns masked words, its entailment head is the one fitted once before; a causal model learns next words. How
well they are learnt is told by sentences that a fit does not learn from.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.models import catalogue
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.nli import Nli
from evenruler.models.declared import Catalogue
from evenruler.models.model import Model
from evenruler.models.store import Keys, RowStore
from evenruler.progress import progress
from evenruler.tables.ids import content_sha256
from evenruler.training.objectives import MaskedWords, NextWords, Objective

VERSION: Final = 2
"""Of how models are adapted: part of the key of every answer."""

PARTS: Final = 5
"""A fit learns four parts of a corpus and is judged by the fifth, another one in each of five fits."""

_LOSS = struct.Struct("<d")

Backend = Nli | Causal


@dataclass(frozen=True)
class Recipe:
    """How a model is adapted."""

    epochs: int
    learning_rate: float
    batch: int


@dataclass(frozen=True)
class Stage:
    """Where a model is on its way; epoch 0 is the model as it was."""

    corpus: str
    fit: int
    """Its number, from 1: the seed of what is drawn, and which part of the corpus is held out."""
    epoch: int


def split(sentences: Sequence[str], fit: int) -> tuple[list[str], list[str]]:
    """What a fit learns from, and what is held out."""
    parts = min(PARTS, len(sentences))
    held_out = {place for place in range(len(sentences)) if place % parts == fit % parts}
    learnt = [sentence for place, sentence in enumerate(sentences) if place not in held_out]
    return learnt, [sentences[place] for place in sorted(held_out)]


class Adapted:
    """A model of the catalogue on its way through the epochs of several corpora, each from the same start.

    It is loaded, and trained, only when an answer is missing from the row store.
    """

    def __init__(
        self,
        name: str,
        params: Catalogue,
        corpora: Mapping[str, Sequence[str]],
        recipes: Mapping[str, Recipe],
        untouched: Model | None = None,
    ) -> None:
        """Name the model; nothing is loaded.

        Args:
            name: In the catalogue; it answers questionnaires.
            params: The declaration.
            corpora: Sentences by name.
            recipes: By corpus.
            untouched: The model as it is; that of the catalogue by default.

        Raises:
            UserError: No such model, or its files are missing or not what was declared.
        """
        self.name = name
        self._store = RowStore()
        # Its weights are changed in this process.
        self._untouched = untouched or catalogue.load(name, params, store=self._store, local=True)
        self._corpora, self._recipes = dict(corpora), dict(recipes)
        self._backend: Backend | None = None
        self._training: _Training | None = None

    def at(self, corpus: str, fit: int, epoch: int) -> Model:
        """The model after some epochs on a corpus; epoch 0 is the model as it was.

        The answers of all fits to all corpora at epoch 0 are the same, and paid for once. States may be asked in any
        order; one that goes back, to an earlier epoch, another fit or another corpus, trains again from the start.
        """
        stage = Stage(corpus, fit, epoch)
        asked: Any = _InState(lambda: self._brought_to(stage))
        return self._untouched.adapted(self._identity(stage) if epoch else None, lambda: asked)

    def loss(self, corpus: str, fit: int, epoch: int) -> float:
        """Mean loss after an epoch on the sentences that are held out, nats a token; not a number without a token."""
        stage = Stage(corpus, fit, epoch)
        keys = Keys(self.at(corpus, fit, epoch).engine, f"adaptation-loss/{VERSION}")
        key = keys.key([self._identity(stage)])  # epoch 0 too: what is held out differs
        found = self._store.get([key])
        if key not in found:
            found = {key: _LOSS.pack(self._losses_to(stage)[epoch])}
            self._store.put(found.items())
        return float(_LOSS.unpack(found[key])[0])

    def _identity(self, stage: Stage) -> dict[str, object]:
        """All that the state depends on beside the model itself."""
        causal = self._untouched.kind == "causal"
        return {
            "adaptation": VERSION,
            "corpus": content_sha256(list(self._corpora[stage.corpus])),
            "words": None if causal else content_sha256(self._all_texts),
            "recipe": asdict(self._recipes[stage.corpus]),
            "fit": stage.fit,
            "epoch": stage.epoch,
        }

    @property
    def _all_texts(self) -> list[str]:
        """Whose words an encoder chooses among, whatever order the corpora are declared in."""
        return [sentence for _, sentences in sorted(self._corpora.items()) for sentence in sentences]

    def _brought_to(self, stage: Stage) -> Any:
        """The model in memory, trained up to an epoch of a fit to a corpus."""
        if self._backend is None:
            self._backend = self._untouched.backend
        if self._training is not None or stage.epoch:
            self._losses_to(stage)
        return self._backend

    def _losses_to(self, stage: Stage) -> Sequence[float]:
        """Losses from epoch 0 to this one, and the model in memory there."""
        if self._backend is None:
            self._backend = self._untouched.backend
        if self._training is None:
            self._training = _Training(self.name, self._backend, self._all_texts)
        training = self._training
        if (training.corpus, training.fit) != (stage.corpus, stage.fit) or len(training.losses) > stage.epoch + 1:
            sentences, recipe = self._corpora[stage.corpus], self._recipes[stage.corpus]
            training.start(stage.corpus, stage.fit, sentences, recipe)
        while len(training.losses) <= stage.epoch:
            training.epoch()
        return training.losses


class _InState:
    """The model in memory, brought to a state before anything is asked of it."""

    def __init__(self, bring: Callable[[], Any]) -> None:
        self._bring = bring

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bring(), name)


class _Training:
    """One model in memory, its state before, and the corpus that it is being adapted to."""

    def __init__(self, name: str, backend: Backend, all_texts: Sequence[str]) -> None:
        self._name = name
        self._objective = self._objective_of(backend, all_texts)
        self._trained: Any = self._objective.trained
        self._trained.requires_grad_(True)
        self._before = {key: value.clone() for key, value in self._trained.state_dict().items()}
        self.corpus, self.fit = "", 0
        self.losses: list[float] = []

    def _objective_of(self, backend: Backend, all_texts: Sequence[str]) -> Objective:
        if isinstance(backend, Causal):
            return NextWords(backend.model, backend.tokenizer)
        if backend.tokenizer.mask_token is None:
            raise UserError(
                f"{self._name} has no token to mask words with, so that it cannot be adapted",
                where=f"params.yaml: models.{self._name}",
                remedy="take its `intervention` out",
            )
        return MaskedWords(backend.model, backend.tokenizer, all_texts)

    def start(self, corpus: str, fit: int, sentences: Sequence[str], recipe: Recipe) -> None:
        """Put the model back to what it was, and take up a corpus."""
        import torch

        self._trained.load_state_dict(self._before)
        self.corpus, self.fit, self._recipe = corpus, fit, recipe
        self._learnt, self._held_out = split(sentences, fit)
        with torch.random.fork_rng():
            torch.manual_seed(1000 * fit)
            self._objective.begin(self._learnt)
        self._optimizer = torch.optim.AdamW(self._trained.parameters(), lr=recipe.learning_rate, weight_decay=0.01)
        steps = max(1, recipe.epochs * -(-len(self._learnt) // recipe.batch))
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimizer, lambda step: 1 - step / steps)
        self.losses = [self._loss()]

    def epoch(self) -> None:
        """Learn every sentence once; the order and what is asked of them depend on the fit and the epoch."""
        import torch

        number = len(self.losses)
        what = f"{self._name}: {self.corpus}, fit {self.fit}, epoch {number} of {self._recipe.epochs}"
        self._trained.train()
        with torch.random.fork_rng(), progress(len(self._learnt), what, "sentence") as bar:
            torch.manual_seed(1000 * self.fit + number)
            order = torch.randperm(len(self._learnt)).tolist()
            for first in range(0, len(order), self._recipe.batch):
                places = order[first : first + self._recipe.batch]
                self._learn([self._learnt[place] for place in places])
                bar.update(len(places))
        self._trained.eval()
        self.losses.append(self._loss())

    def _learn(self, sentences: Sequence[str]) -> None:
        import torch

        loss = self._objective.drawn(sentences)
        if loss is None:
            return
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trained.parameters(), 1.0)
        self._optimizer.step()
        self._schedule.step()

    def _loss(self) -> float:
        total, tokens = self._objective.known(self._held_out)
        return total / tokens if tokens else math.nan

"""Domain adaptation: a model goes on training on sentences and is asked after each epoch (EMPALC, sections 3.3.5, 4.4).

An encoder learns masked words, its entailment head is the one fitted once before; a causal model learns next words. An
encoder that comes without a head for masked words gets a fresh one, fitted with the encoder frozen before the first
epoch: otherwise what a random head asks for would change the encoder.
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

VERSION: Final = 1
"""Of how models are adapted: part of the key of every answer."""

MASKED_SHARE = 0.15
"""Of the tokens, as BERT was trained."""

LONGEST = 128

HEAD_EPOCHS = 10
HEAD_LEARNING_RATE = 1e-3
"""How a fresh head for masked words is fitted."""

IGNORED = -100
"""The label of a token that nothing is learned from."""

_LOSS = struct.Struct("<d")

Backend = Nli | Causal


@dataclass(frozen=True)
class Recipe:
    """How a model is adapted."""

    epochs: int
    learning_rate: float
    batch: int
    seed: int


class Adapted:
    """A model of the catalogue on its way through the epochs of several corpora, each from the same start.

    It is loaded, and trained, only when an answer is missing from the row store.
    """

    def __init__(
        self, name: str, params: Catalogue, corpora: Mapping[str, Sequence[str]], recipes: Mapping[str, Recipe]
    ) -> None:
        """Name the model; nothing is loaded.

        Args:
            name: In the catalogue; it answers questionnaires.
            params: The declaration.
            corpora: Sentences by name.
            recipes: By corpus.

        Raises:
            UserError: No such model, or its files are missing or not what was declared.
        """
        self.name = name
        self._store = RowStore()
        self._untouched = catalogue.load(name, params, store=self._store)
        self._corpora, self._recipes = dict(corpora), dict(recipes)
        self._backend: Backend | None = None
        self._training: _Training | None = None

    def at(self, corpus: str, epoch: int) -> Model:
        """The model after some epochs on a corpus; epoch 0 is the model as it was.

        The answers of two corpora at epoch 0 are the same, and paid for once. States may be asked in any order; one
        that goes back, to an earlier epoch or to another corpus, trains again from the start.
        """
        asked: Any = _InState(lambda: self._brought_to(corpus, epoch))
        return self._untouched.adapted(self._identity(corpus, epoch) if epoch else None, lambda: asked)

    def loss(self, corpus: str, epoch: int) -> float:
        """Mean loss of an epoch, nats a token: of masked words, or of next words."""
        keys = Keys(self.at(corpus, epoch).engine, f"adaptation-loss/{VERSION}")
        key = keys.key([])
        found = self._store.get([key])
        if key not in found:
            self._brought_to(corpus, epoch)
            found = {key: _LOSS.pack(self._trained().losses[epoch - 1])}
            self._store.put(found.items())
        return float(_LOSS.unpack(found[key])[0])

    def _identity(self, corpus: str, epoch: int) -> dict[str, object]:
        """All that the state depends on beside the model itself."""
        causal = self._untouched.kind == "causal"
        return {
            "adaptation": VERSION,
            "corpus": content_sha256(list(self._corpora[corpus])),
            "head": None if causal else content_sha256(self._all_texts, HEAD_EPOCHS, HEAD_LEARNING_RATE),
            "recipe": asdict(self._recipes[corpus]),
            "epoch": epoch,
        }

    @property
    def _all_texts(self) -> list[str]:
        """What a head for masked words is fitted on: all sentences, whatever order the corpora are declared in."""
        return [sentence for _, sentences in sorted(self._corpora.items()) for sentence in sentences]

    def _trained(self) -> "_Training":
        if self._training is None:
            raise RuntimeError("nothing was trained")
        return self._training

    def _brought_to(self, corpus: str, epoch: int) -> Any:
        """The model in memory, trained up to an epoch of a corpus."""
        if self._backend is None:
            self._backend = self._untouched.backend
        if self._training is None:
            if epoch == 0:
                return self._backend
            self._training = _Training(self.name, self._backend, self._all_texts)
        training = self._training
        if training.corpus != corpus or len(training.losses) > epoch:
            training.start(corpus, self._corpora[corpus], self._recipes[corpus])
        while len(training.losses) < epoch:
            training.epoch()
        return self._backend


class _InState:
    """The model in memory, brought to a state before anything is asked of it."""

    def __init__(self, bring: Callable[[], Any]) -> None:
        self._bring = bring

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bring(), name)


class _Training:
    """One model in memory, its state before, and the corpus that it is being adapted to."""

    def __init__(self, name: str, backend: Backend, all_texts: Sequence[str]) -> None:
        self._name, self._tokenizer = name, backend.tokenizer
        self._asked: Any = backend.model
        causal = isinstance(backend, Causal)
        if not causal and backend.tokenizer.mask_token is None:
            raise self._unfit("has no token to mask words with")
        self._collate = _collator(backend.tokenizer, masked=not causal)
        self._first_told = int(causal)  # nothing says what the first word is
        self._trained: Any = backend.model if causal else self._with_masked_head(all_texts)
        self._before = {key: value.clone() for key, value in self._trained.state_dict().items()}
        self.corpus: str | None = None
        self.losses: list[float] = []

    def _unfit(self, why: str) -> UserError:
        return UserError(
            f"{self._name} {why}, so that it cannot be adapted",
            where=f"params.yaml: models.{self._name}",
            remedy="take its `intervention` out",
        )

    def start(self, corpus: str, sentences: Sequence[str], recipe: Recipe) -> None:
        """Put the model back to what it was, and take up a corpus."""
        import torch

        self._trained.load_state_dict(self._before)
        self.corpus, self.losses = corpus, []
        self._sentences, self._recipe = list(sentences), recipe
        self._optimizer = torch.optim.AdamW(self._trained.parameters(), lr=recipe.learning_rate, weight_decay=0.01)
        steps = recipe.epochs * -(-len(self._sentences) // recipe.batch)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimizer, lambda step: 1 - step / steps)

    def epoch(self) -> None:
        """Train one epoch; what is masked and in what order depends on the seed and the number of the epoch."""
        number = len(self.losses) + 1
        seed = self._recipe.seed * 1000 + number
        what = f"{self._name}: {self.corpus}, epoch {number} of {self._recipe.epochs}"
        self.losses.append(
            self._passed(self._sentences, self._recipe.batch, seed, self._optimizer, self._schedule, what)
        )

    def _with_masked_head(self, all_texts: Sequence[str]) -> Any:
        """The encoder inside a model of masked words whose fresh head has been fitted with the encoder frozen."""
        import torch
        from transformers import AutoModelForMaskedLM

        with torch.random.fork_rng():
            torch.manual_seed(0)
            try:
                model: Any = AutoModelForMaskedLM.from_config(self._asked.config, trust_remote_code=False)  # type: ignore[no-untyped-call]
            except ValueError:  # no such class
                raise self._unfit("is of a kind that learns no masked words") from None
        setattr(model, model.base_model_prefix, getattr(self._asked, self._asked.base_model_prefix))
        model.tie_weights()  # the output layer shares the encoder's embeddings
        model.to(self._asked.device, self._asked.dtype)
        encoder = getattr(model, model.base_model_prefix)
        encoder.requires_grad_(False)
        head = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(head, lr=HEAD_LEARNING_RATE)
        for number in range(HEAD_EPOCHS):
            what = f"{self._name}: head for masked words, epoch {number + 1} of {HEAD_EPOCHS}"
            self._trained = model
            self._passed(all_texts, 8, number, optimizer, None, what)
        encoder.requires_grad_(True)
        return model

    def _passed(
        self, texts: Sequence[str], size: int, seed: int, optimizer: Any, schedule: Any | None, what: str
    ) -> float:
        """Mean loss a token of one pass over texts in batches, in which the model learned."""
        import torch

        self._trained.train()
        total, told = 0.0, 0
        with torch.random.fork_rng(), progress(len(texts), what, "sentence") as bar:
            torch.manual_seed(seed)
            order = torch.randperm(len(texts)).tolist()
            for first in range(0, len(order), size):
                rows = [texts[i] for i in order[first : first + size]]
                bar.update(len(rows))
                batch = self._collate(rows).to(self._trained.device)
                n = int((batch["labels"][:, self._first_told :] != IGNORED).sum())
                if not n:  # no word masked, or no next one: a mean over none would make every weight no number
                    continue
                loss = self._trained(**batch).loss
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self._trained.parameters(), 1.0)
                optimizer.step()
                if schedule is not None:
                    schedule.step()
                total, told = total + n * loss.item(), told + n
        self._trained.eval()
        return total / told if told else math.nan


def _collator(tokenizer: Any, *, masked: bool) -> Callable[[Sequence[str]], Any]:
    """Turns sentences into a batch with labels: masked words, or every next word."""
    from transformers import DataCollatorForLanguageModeling

    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=masked, mlm_probability=MASKED_SHARE)

    def collated(texts: Sequence[str]) -> Any:
        encoded = tokenizer(list(texts), truncation=True, max_length=LONGEST)
        return collate([{"input_ids": ids} for ids in encoded["input_ids"]])

    return collated

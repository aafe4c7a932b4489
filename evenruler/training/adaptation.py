"""Domain adaptation: continue training on sentences, and ask after each epoch (EMPALC, sections
3.3.5, 4.4).

An encoder learns masked words, and keeps the entailment head fitted before; a causal model learns
next words. Progress is measured on held-out sentences: the loss of masked or next words, in nats
per token; a fit that does not lower it is refused. Random draws come from PyTorch's generator.

Training moves weights in float32 whatever a model answers in: most of its steps are smaller than
what 16 bits can tell apart. After each epoch the weights are rounded for the model that answers.
"""

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, cast

import torch

from evenruler.errors import UserError
from evenruler.models import catalogue
from evenruler.models.backends import likelihood
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.encoders import Nli
from evenruler.models.declarations import Catalogue
from evenruler.models.loading import embeddings_of
from evenruler.models.model import NUMBER, WEIGHTS_CHANGE, Model
from evenruler.models.store import RowStore, keys_of
from evenruler.tables.ids import content_sha256
from evenruler.terminal import print_note, progress_bar

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LONGEST: Final = 128  # tokens of a sentence; the rest is truncated
ROUNDS: Final = 7
"""Every seventh token is masked, about BERT's share; after seven rounds each has been masked
once."""

HEAD_STEPS: Final = 160
HEAD_BATCH: Final = 256
HEAD_LEARNING_RATE: Final = 1e-3
HEAD_DECAY: Final = 0.3
"""Fit of the head for masked words, long enough for the held-out loss to stop falling
(`docs/tested.md`)."""

BATCH: Final = 32  # sentences per batch when evaluating
IGNORED: Final = -100  # label of tokens without a loss


class NextWords:
    """Training objective of a causal model: every next word."""

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """All of the model, whose weights are float32, is trained, in place; `dtype`: that of the
        model that answers.
        """
        self.trained, self._tokenizer, self._dtype = model, tokenizer, dtype

    def begin(self, sentences: Sequence[str]) -> None:
        """Prepare for learning sentences: does nothing."""

    def training_loss(self, sentences: Sequence[str]) -> torch.Tensor | None:
        """The training loss as a tensor: mean over all next words; None where there are none."""
        total, n = self._losses(sentences)
        return total / n if n else None

    def total_loss(self, sentences: Sequence[str]) -> tuple[float, int]:
        """The sum of losses over all next words, without random draws, and the number of tokens."""
        total, n_tokens = 0.0, 0
        with torch.inference_mode():
            for first in range(0, len(sentences), BATCH):
                loss, n = self._losses(sentences[first : first + BATCH])
                total, n_tokens = total + float(loss), n_tokens + n
        return total, n_tokens

    def _losses(self, sentences: Sequence[str]) -> tuple[torch.Tensor, int]:
        """Sum of losses in nats over all predicted tokens, as a tensor with gradients, and their
        number.
        """
        ids, there = tokenise_sentences(self._tokenizer, sentences, self.trained.device)
        with mixed_precision(self.trained.device, self._dtype):
            logits = self.trained(input_ids=ids, attention_mask=there).logits[:, :-1].float()
        labels = ids[:, 1:].masked_fill(
            there[:, 1:] == 0, IGNORED
        )  # the first token is not predicted
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), reduction="sum"
        )
        return loss, int((labels != IGNORED).sum())


class MaskedWords:
    """Training objective of an encoder: masked words, by a new head that is fitted first, with the
    encoder frozen.

    Encoders for sentences or entailment have no such head, and gradients from a random one would
    harm them. The head chooses only among words of the corpora, by their input embeddings in the
    encoder.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        corpora: Sequence[str],
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """The encoder under the model's head, whose weights are float32, is trained, in place;
        `corpora`: texts whose tokens the new head chooses among; `dtype`: that of the model that
        answers.
        """
        self.trained = cast("PreTrainedModel", model.base_model)
        self._tokenizer, self._dtype = tokenizer, dtype
        ids, there = tokenise_sentences(tokenizer, corpora, model.device)
        self._words = torch.unique(ids[there == 1])
        self._transform: torch.nn.Sequential  # the head, which `begin` fits
        self._bias: torch.nn.Parameter

    def begin(self, sentences: Sequence[str]) -> None:
        """Fit a fresh head on the encoder's states of every word of the sentences, each masked
        once.
        """
        states, labels = self._every_word(sentences)
        width = self.trained.config.hidden_size
        linear = torch.nn.Linear(width, width)
        self._transform = torch.nn.Sequential(linear, torch.nn.LayerNorm(width)).to(states)
        torch.nn.init.eye_(linear.weight)  # starts as the identity
        torch.nn.init.zeros_(linear.bias)
        counts = torch.bincount(labels, minlength=len(self._words)) + 0.5
        self._bias = torch.nn.Parameter(counts.log().to(states))
        if not len(labels):
            return
        learning = [*self._transform.parameters(), self._bias]
        optimizer = torch.optim.AdamW(learning, lr=HEAD_LEARNING_RATE, weight_decay=HEAD_DECAY)
        for _ in range(HEAD_STEPS):
            drawn = torch.randint(len(labels), (HEAD_BATCH,)).to(labels.device)
            loss = torch.nn.functional.cross_entropy(self._logits(states[drawn]), labels[drawn])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for parameter in learning:
            parameter.requires_grad_(False)

    def training_loss(self, sentences: Sequence[str]) -> torch.Tensor | None:
        """The training loss: mean over the words of one round, drawn for each sentence; None where
        there are none.
        """
        numbers = torch.randint(ROUNDS, (len(sentences), 1))
        states, labels = self._masked(sentences, numbers)
        if not len(labels):
            return None
        return torch.nn.functional.cross_entropy(self._logits(states), labels)

    def total_loss(self, sentences: Sequence[str]) -> tuple[float, int]:
        """The sum of losses over every word, each masked once, and the number of tokens."""
        states, labels = self._every_word(sentences)
        with torch.inference_mode():
            loss = torch.nn.functional.cross_entropy(self._logits(states), labels, reduction="sum")
        return float(loss), len(labels)

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        """[words, candidates] logits of the corpora's tokens at masked words; `states`: [words,
        hidden].
        """
        words = embeddings_of(self.trained)[self._words].float()
        logits: torch.Tensor = self._transform(states) @ words.T + self._bias
        return logits

    def _every_word(self, sentences: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """States of the encoder [tokens, hidden] at each word when masked, and the words' indices
        [tokens].
        """
        states_and_labels = []
        with torch.inference_mode():
            for first in range(0, len(sentences), BATCH):
                batch = sentences[first : first + BATCH]
                states_and_labels += [
                    self._masked(batch, torch.full((len(batch), 1), number))
                    for number in range(ROUNDS)
                ]
        # Cloned, since tensors from inference mode cannot be trained on.
        states = torch.cat([batch_states for batch_states, _ in states_and_labels]).clone()
        labels = torch.cat([batch_labels for _, batch_labels in states_and_labels]).clone()
        return states, labels

    def _masked(
        self, sentences: Sequence[str], numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As `_every_word`, for the words of one round in each sentence only; `numbers`:
        [sentences, 1] rounds.
        """
        ids, there = tokenise_sentences(self._tokenizer, sentences, self.trained.device)
        special = torch.isin(ids, torch.tensor(self._tokenizer.all_special_ids, device=ids.device))
        places = torch.arange(ids.shape[1], device=ids.device)
        is_of_round = places % ROUNDS == numbers.to(ids.device)
        is_masked = is_of_round & (there == 1) & ~special
        masked = ids.masked_fill(is_masked, self._tokenizer.mask_token_id)
        with mixed_precision(self.trained.device, self._dtype):
            hidden = self.trained(input_ids=masked, attention_mask=there).last_hidden_state
        states = hidden[is_masked].float()
        return states, torch.searchsorted(self._words, ids[is_masked])


def tokenise_sentences(
    tokenizer: "PreTrainedTokenizerBase", sentences: Sequence[str], device: torch.device | str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded token ids [sentences, tokens], and the attention mask."""
    read = tokenizer(list(sentences), truncation=True, max_length=LONGEST)["input_ids"]
    return likelihood.pad_sequences(read, device, filler=tokenizer.pad_token_id or 0)


def mixed_precision(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Forward passes in bfloat16 over float32 weights, for a model that answers in 16 bits; as they
    are for one in float32.

    Also for float16, whose gradients would have to be scaled.
    """
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


def measure_change(
    module: torch.nn.Module, before: Mapping[str, torch.Tensor]
) -> tuple[float, float]:
    """The share of a module's weights that differ from those before, and the norm of the change."""
    n_weights, n_moved, squares = 0, 0, 0.0
    for name, weight in module.named_parameters():
        change = weight.detach().float() - before[name].float()
        n_weights += change.numel()
        n_moved += int(change.count_nonzero())
        squares += float(change.square().sum(dtype=torch.float64))
    return n_moved / n_weights, math.sqrt(squares)


VERSION: Final = 2  # version of the adaptation: part of the cache key of every answer
CHANGE: Final = "weights-change/1"  # operation: how far weights moved, with its version
PARTS: Final = 5
"""A fit learns four parts of a corpus and is evaluated on the fifth; each of five fits on
another."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of an adaptation."""

    epochs: int
    learning_rate: float
    batch: int


@dataclass(frozen=True)
class Progress:
    """How far an adaptation came until an epoch."""

    loss: float
    """Mean loss on held-out sentences in nats per token; NaN where they have no token."""
    weights_moved: float
    """Share of the trained weights that differ from those before, as the model answers with
    them."""
    weights_norm: float
    """Norm of their change."""

    @property
    def weights_change(self) -> str:
        """How far the weights moved, in words."""
        moved = f"{self.weights_moved:.1%} of weights moved"
        return f"{moved}, by a norm of {self.weights_norm:.3g}"


def split_held_out(sentences: Sequence[str], fit: int) -> tuple[list[str], list[str]]:
    """Split sentences into those a fit learns from and those held out; `fit`: its number, from
    1.
    """
    parts = min(PARTS, len(sentences))
    sides: tuple[list[str], list[str]] = [], []
    for place, sentence in enumerate(sentences):
        sides[place % parts == fit % parts].append(sentence)
    return sides


class AdaptationSchedule:
    """A model of the catalogue, adapted to several corpora, each from the same start, with access
    to every epoch.

    The model is loaded and trained only when an answer is missing from the row store.
    """

    def __init__(
        self,
        name: str,
        params: Catalogue,
        corpora: Mapping[str, Sequence[str]],
        recipes: Mapping[str, Recipe],
    ) -> None:
        """Set the model, and corpora and recipes by corpus name; nothing is loaded yet.

        UserError where there is no such model, or its files are missing or not as declared.
        """
        self.name = name
        self._store = RowStore()
        # Local, since its weights are changed in this process.
        self._untouched = catalogue.load_model(name, params, store=self._store, local=True)
        self._corpora, self._recipes = dict(corpora), dict(recipes)
        # The words that an encoder's head chooses among, independent of the order of the corpora.
        self._all_texts: list[str] = []
        for _, sentences in sorted(corpora.items()):
            self._all_texts.extend(sentences)
        self._training: _AdaptationTrainer | None = None

    def model_at(self, corpus: str, fit: int, epoch: int) -> Model:
        """The model after some epochs on a corpus; epoch 0 is the unadapted model.

        At epoch 0 all fits and corpora share their cached answers. States may be asked in any
        order; going back to an earlier epoch, or to another fit or corpus, trains again from the
        start.
        """

        def train_to_state() -> object:
            """Train to the state, unless nothing was trained yet and it is the original; returns
            the backend.
            """
            if self._training is not None or epoch:
                self._train_to_epoch(corpus, fit, epoch)
            return self._untouched.backend

        state = self._identity(corpus, fit, epoch) if epoch else None
        return self._untouched.adapted(state, lambda: _StatefulModel(train_to_state))

    def progress(self, corpus: str, fit: int, epoch: int) -> Progress:
        """How far the adaptation came; UserError where a whole fit did not lower the held-out
        loss.
        """
        identity = [
            self._identity(corpus, fit, epoch)
        ]  # for epoch 0 too, since the held-out sentences differ
        engine = self.model_at(corpus, fit, epoch).engine
        (loss_key,) = keys_of(engine, f"adaptation-loss/{VERSION}", [identity])
        (change_key,) = keys_of(engine, CHANGE, [identity])
        stored = self._store.get([loss_key, change_key])
        if len(stored) < 2:
            reached = self._train_to_epoch(corpus, fit, epoch)[epoch]
            change = (reached.weights_moved, reached.weights_norm)
            stored = {loss_key: NUMBER.pack(reached.loss), change_key: WEIGHTS_CHANGE.pack(change)}
            self._store.put(stored.items())
        return Progress(NUMBER.unpack(stored[loss_key]), *WEIGHTS_CHANGE.unpack(stored[change_key]))

    def _identity(self, corpus: str, fit: int, epoch: int) -> dict[str, object]:
        """Everything besides the model itself that the state depends on."""
        causal = self._untouched.kind == "causal"
        is_rounded = json.loads(self._untouched.engine)["dtype"] != "float32"
        return {
            **({"trained_in": "float32"} if is_rounded else {}),
            "adaptation": VERSION,
            "corpus": content_sha256(list(self._corpora[corpus])),
            "words": None if causal else content_sha256(self._all_texts),
            "recipe": asdict(self._recipes[corpus]),
            "fit": fit,
            "epoch": epoch,
        }

    def _train_to_epoch(self, corpus: str, fit: int, epoch: int) -> Sequence[Progress]:
        """The progress from epoch 0 to this one; leaves the model in memory at this epoch.

        UserError where this is the last epoch and the held-out loss is not below that of epoch 0.
        """
        if self._training is None:
            backend = cast("Nli | Causal", self._untouched.backend)
            self._training = _AdaptationTrainer(self.name, backend, self._all_texts)
        training = self._training
        is_other = (training.corpus, training.fit) != (corpus, fit)
        if is_other or len(training.course) > epoch + 1:
            training.start(corpus, fit, self._corpora[corpus], self._recipes[corpus])
        while len(training.course) <= epoch:
            training.epoch()
        if epoch == self._recipes[corpus].epochs:
            require_lower_loss(self.name, corpus, fit, training.course)
        return training.course


def require_lower_loss(name: str, corpus: str, fit: int, course: Sequence[Progress]) -> None:
    """UserError where the held-out loss at the end of a fit is not below that at its start; a loss
    that is NaN says nothing.
    """
    before, after = course[0].loss, course[-1].loss
    if math.isnan(after) or after < before:
        return
    losses = f"from {before:.4f} to {after:.4f} nats a token"
    what = f"{name} did not learn it: the loss on held-out sentences went {losses}"
    raise UserError(
        f"{what}; {course[-1].weights_change}",
        where=f"params.yaml: families.questionnaires.corpora.{corpus}, fit {fit}",
        remedy=f"change `epochs` or `learning_rate`, or take the `intervention` of {name} out",
    )


@dataclass
class _StatefulModel:
    """A proxy of the model in memory that trains it to a state before each use."""

    _train_to_state: Callable[[], object]

    def __getattr__(self, name: str) -> object:
        """An attribute or operation of the backend, after training to the state."""
        return getattr(self._train_to_state(), name)


class _AdaptationTrainer:
    """One model in memory, its initial state, and the corpus that it is being adapted to.

    What is trained is the model that answers if that is float32, else a copy of it in float32.
    """

    def __init__(self, name: str, backend: Nli | Causal, all_texts: Sequence[str]) -> None:
        """Copy the initial weights of a backend. `all_texts`: of all corpora; UserError if an
        encoder's tokenizer has no mask token.
        """
        self._name = name
        dtype = backend.model.dtype
        is_rounded = dtype != torch.float32
        model = copy.deepcopy(backend.model).float() if is_rounded else backend.model
        if isinstance(backend, Causal):
            self._objective: NextWords | MaskedWords = NextWords(model, backend.tokenizer, dtype)
            self._answering: torch.nn.Module = backend.model
        elif backend.tokenizer.mask_token is None:
            what = f"{name} has no token to mask words with, so that it cannot be adapted"
            raise UserError(
                what, where=f"params.yaml: models.{name}", remedy="take its `intervention` out"
            )
        else:
            self._objective = MaskedWords(model, backend.tokenizer, all_texts, dtype)
            self._answering = backend.model.base_model
        self._trained = self._objective.trained
        self._trained.requires_grad_(True)
        tensors = self._answering.state_dict()
        self._before = {name: tensor.clone() for name, tensor in tensors.items()}
        self.corpus, self.fit = "", 0
        self.course: list[Progress] = []

    def start(self, corpus: str, fit: int, sentences: Sequence[str], recipe: Recipe) -> None:
        """Restore the initial weights, and hold sentences out; `course` then has epoch 0 alone."""
        self._trained.load_state_dict(self._before)
        self.corpus, self.fit, self._recipe = corpus, fit, recipe
        self._learnt, self._held_out = split_held_out(sentences, fit)
        with torch.random.fork_rng():
            torch.manual_seed(1000 * fit)
            self._objective.begin(self._learnt)
        self._optimizer = torch.optim.AdamW(
            self._trained.parameters(), lr=recipe.learning_rate, weight_decay=0.01
        )
        n_batches = -(-len(self._learnt) // recipe.batch)
        steps = max(1, recipe.epochs * n_batches)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: 1 - step / steps
        )
        self.course = [self._progress()]

    def epoch(self) -> None:
        """Train one epoch; order and masking are seeded by fit and epoch."""
        number = len(self.course)
        progress = f"epoch {number} of {self._recipe.epochs}"
        what = f"{self._name}: {self.corpus}, fit {self.fit}, {progress}"
        self._trained.train()
        with torch.random.fork_rng(), progress_bar(len(self._learnt), what, "sentence") as bar:
            torch.manual_seed(1000 * self.fit + number)
            order = torch.randperm(len(self._learnt)).tolist()
            for first in range(0, len(order), self._recipe.batch):
                places = order[first : first + self._recipe.batch]
                loss = self._objective.training_loss([self._learnt[place] for place in places])
                if loss is not None:
                    self._optimizer.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(self._trained.parameters(), 1.0)
                    self._optimizer.step()
                    self._schedule.step()
                bar.update(len(places))
        self._trained.eval()
        self.course.append(self._progress())
        if number == self._recipe.epochs:
            before, after = self.course[0].loss, self.course[-1].loss
            losses = f"held-out loss {before:.4f} -> {after:.4f} nats a token"
            print_note(f"{what}: {losses}, {self.course[-1].weights_change}")

    def _progress(self) -> Progress:
        """Bring the model that answers to the weights in training, and say how far they came."""
        if self._answering is not self._trained:
            self._answering.load_state_dict(self._trained.state_dict())  # which rounds
        total, tokens = self._objective.total_loss(self._held_out)
        loss = total / tokens if tokens else math.nan
        return Progress(loss, *measure_change(self._answering, self._before))

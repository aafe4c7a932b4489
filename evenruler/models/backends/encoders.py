"""Encoders: classifiers of a text or a pair (also with a fitted adapter and head), masked models,
embedders.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from ruamel.yaml import YAML
from safetensors import safe_open
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from evenruler.errors import UserError
from evenruler.models import fingerprint as fingerprints
from evenruler.models.backends.batching import Batches, batched, split_into_packs
from evenruler.models.backends.pseudo_likelihood import (
    MaskedToken,
    masked_tokens,
    pack_masked_texts,
    require_words,
    sum_by_text,
    words_to_score,
)
from evenruler.models.backends.vocabulary import UnknownWords
from evenruler.models.loading import (
    Dtype,
    Weights,
    convert_load_errors,
    load_pretrained,
    note_unused,
    read_notes,
    require_all,
    require_embeddings,
    require_layers,
    require_no_scales,
    require_plain_numbers,
    silence_libraries,
)
from evenruler.models.questions import (
    LABELS,
    UNREAD,
    EntailmentPair,
    LikelihoodRequest,
    WordInPlace,
)
from evenruler.terminal import print_note

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

Texts = tuple[str, ...]  # one text, or two
Encoded = Mapping[str, Sequence[Sequence[int]]]  # tokenizer output by name, per text, not padded
CAPACITY = {"cpu": 1024, "cuda": 8192}  # tokens per batch, including padding
MASKED = {
    "cpu": 512,
    "cuda": 4096,
}  # the same of a masked model, which gives logits for the whole vocabulary
EMBEDDED = 32  # texts per batch of an embedder

COUNT_FROM_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}
"""Model types whose position ids start after the padding id."""

WEIGHTS = "adapter_model.safetensors"


@dataclass(frozen=True)
class Adapter:
    """A fitted adapter and head that make an encoder a classifier."""

    folder: Path
    labels: list[str]  # labels of the head's outputs, in order

    @property
    def shown(self) -> str:
        """The folder for messages, relative to the working directory if inside it."""
        here = Path.cwd()
        return str(
            self.folder.relative_to(here) if self.folder.is_relative_to(here) else self.folder
        )


def load_adapted(name: str, base: Path, adapter: Adapter, dtype: torch.dtype) -> "PreTrainedModel":
    """Load the encoder in `base`, merge its adapter and add the head; UserError if they do not
    match.
    """
    from peft import PeftModel, get_peft_model_state_dict

    where, remedy = adapter.shown, f"run `evenruler finetune {name} --again`"
    with silence_libraries(), convert_load_errors(name, where, remedy), torch.random.fork_rng():
        torch.manual_seed(0)
        model, made_up = load_with_head(name, base, adapter.labels, dtype)
        adapted: Any = PeftModel.from_pretrained(model, adapter.folder)
        require_all(
            name, where, made_up, adapted.peft_config["default"].modules_to_save or [], remedy
        )
        with safe_open(adapter.folder / WEIGHTS, "pt") as file:
            require_all(
                name,
                where,
                set(get_peft_model_state_dict(adapted)) - set(file.keys()),
                remedy=remedy,
            )
    merged: PreTrainedModel = adapted.merge_and_unload()
    return merged


def load_with_head(
    name: str, base: Path, labels: Sequence[str], dtype: torch.dtype
) -> tuple["PreTrainedModel", list[str]]:
    """Load an encoder as a sequence classifier; returns it and the names of its randomly
    initialised tensors.
    """
    require_plain_numbers(name, str(base), base)
    index_by_label = {label: i for i, label in enumerate(labels)}
    with silence_libraries(), convert_load_errors(name, str(base)):
        model, load_report = AutoModelForSequenceClassification.from_pretrained(
            base,
            dtype=dtype,
            num_labels=len(labels),
            id2label=dict(enumerate(labels)),
            label2id=index_by_label,
            ignore_mismatched_sizes=True,  # a head for another task
            output_loading_info=True,
            trust_remote_code=False,
        )
    require_no_scales(map(str, load_report["unexpected_keys"]), name, str(base))
    require_layers(model, name, str(base))
    mismatched = [key if isinstance(key, str) else key[0] for key in load_report["mismatched_keys"]]
    return model, [*load_report["missing_keys"], *mismatched]


def head_of(model: "PreTrainedModel") -> list[str]:
    """Names of the modules after the encoder: its pooler, if any, and the head."""
    encoder = model.base_model_prefix
    top: list[str] = []
    for name, module in model.named_children():
        has_parameters = any(True for _ in module.parameters())
        if name != encoder and has_parameters:
            top.append(name)
    pooler = ["pooler"] if getattr(getattr(model, encoder), "pooler", None) is not None else []
    return [*pooler, *top]


class Classifier:
    """A loaded sequence classifier."""

    def __init__(
        self, name: str, folder: Weights, device: str, dtype: Dtype, adapter: Adapter | None = None
    ) -> None:
        """Load the model, or the encoder with its adapter; UserError if it cannot be loaded."""
        where = str(folder)
        if (
            adapter is not None and not (adapter.folder / WEIGHTS).exists()
        ):  # a complete model instead of an adapter
            if not any(
                adapter.folder.glob("*.safetensors")
            ):  # weights are not in git, their record is
                raise UserError(
                    f"no weights of {name}",
                    where=adapter.shown,
                    remedy=f"run `evenruler finetune {name}`",
                )
            where, folder, adapter = adapter.shown, adapter.folder, None
        if adapter is None:
            self.tokenizer, self.model = load_pretrained(
                "AutoModelForSequenceClassification", name, folder, device, dtype, where
            )
        else:
            assert isinstance(folder, Path)
            with silence_libraries(), convert_load_errors(name, where):
                self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            model = load_adapted(name, folder, adapter, getattr(torch, dtype))
            require_embeddings(model, self.tokenizer, name)
            model.to(device)  # type: ignore[arg-type]  # as transformers wraps it
            self.model = model.eval()
        self._name, self._where, self._device = name, str(folder), device
        self._longest = max_input_tokens(self.tokenizer, self.model.config)
        names = cast("Mapping[int, str]", self.model.config.id2label)
        self.labels: list[str] = [names[i] for i in range(len(names))]
        """Labels of the outputs, from the configuration."""

    @batched
    def classify(self, texts: Sequence[str]) -> Batches[NDArray[np.float64]]:
        """For each text: [k] logits in the order of `labels`."""
        return self.batches([(text,) for text in texts])

    @batched
    def classify_whole(self, texts: Sequence[str]) -> Batches[NDArray[np.float64] | None]:
        """Like `classify`, but without truncation: None for a text that is too long."""
        with silence_libraries():  # silence the tokenizer's warning about long texts
            token_ids = self.tokenizer(list(texts))["input_ids"]
        lengths = np.array([len(ids) for ids in token_ids])
        fits = lengths <= self._longest
        taken = np.flatnonzero(fits).tolist()
        too_long = np.flatnonzero(~fits).tolist()
        batches = self.batches([(texts[i],) for i in taken])
        place_of = {i: place for place, i in enumerate(taken)}

        def answer(pack: Sequence[int]) -> list[tuple[int, NDArray[np.float64] | None]]:
            """(Index, [k] logits) of a pack's texts; None for each in the pack of texts that are
            too long.
            """
            if pack[0] not in place_of:
                return [(i, None) for i in pack]
            places = [place_of[i] for i in pack]
            return [(taken[place], logits) for place, logits in batches.answer(places)]

        packs = [too_long]
        for batch in batches.indices:
            packs.append([taken[place] for place in batch])
        return Batches(packs, answer)

    @batched
    def fingerprint(
        self, questions: Sequence[fingerprints.Texts]
    ) -> Batches[fingerprints.Fingerprint]:
        """The logits of two texts, each alone and as a pair with the other."""

        def of_texts(text: str, other: str) -> fingerprints.Fingerprint:
            """Logits of both texts alone, and of both pairs, rounded and joined."""
            inputs: list[Texts] = [(text,), (other,), (text, other), (other, text)]
            rows = [self.logits([texts]) for texts in inputs]
            return fingerprints.Fingerprint(
                tuple(fingerprints.round_numbers(np.ravel(rows))), read_notes(self.model)
            )

        def answer(pack: Sequence[int]) -> list[tuple[int, fingerprints.Fingerprint]]:
            """(Index, fingerprint) of a pack's pairs of texts."""
            return [(i, of_texts(*questions[i])) for i in pack]

        return Batches([range(len(questions))], answer)

    def batches(self, texts: Sequence[Texts]) -> Batches[NDArray[np.float64]]:
        """Texts, or pairs, in batches of similar length: [k] logits each, in the order of
        `labels`.
        """
        if not texts:
            return Batches([], lambda _: [])
        encoded = self._encode(texts)
        indices = pack_by_length(encoded["input_ids"], texts, CAPACITY[self._device])
        return Batches(
            indices, lambda batch: list(zip(batch, self._classify(encoded, batch), strict=True))
        )

    def logits(self, texts: Sequence[Texts]) -> NDArray[np.float64]:
        """[n, k] logits of one batch."""
        return self._classify(self._encode(texts), range(len(texts)))

    def _classify(self, encoded: Encoded, batch: Sequence[int]) -> NDArray[np.float64]:
        """[batch, k] logits of the texts at some indices of `encoded`, from one padded pass."""
        rows: dict[str, list[list[int]]] = {}
        for name, values in encoded.items():
            rows[name] = [list(values[i]) for i in batch]
        padded = self.tokenizer.pad(rows, return_tensors="pt").to(self._device)
        with torch.inference_mode():
            logits: NDArray[np.float64] = self.model(**padded).logits.double().cpu().numpy()
        return logits

    def _encode(self, texts: Sequence[Texts]) -> Encoded:
        """Tokenise; a text (or first text of a pair) that is too long is truncated, with a
        message.
        """
        sides = [list(side) for side in zip(*texts, strict=True)]
        first = sides[0]
        second = sides[1] if len(sides) == 2 else None
        encoded: Encoded = self.tokenizer(first, second)
        lengths = map(len, encoded["input_ids"])
        too_long = [i for i, length in enumerate(lengths) if length > self._longest]
        if not too_long:
            return encoded
        if second is not None:
            hypotheses = [second[i] for i in too_long]  # never truncated
            alone = self.tokenizer([""] * len(hypotheses), hypotheses)["input_ids"]
            for hypothesis, ids in zip(hypotheses, alone, strict=True):
                if len(ids) >= self._longest:
                    what = f"a hypothesis of {len(ids)} tokens, {self._name} takes {self._longest}"
                    raise UserError(what, where=repr(hypothesis[:40]), remedy="shorten it")
        what = "texts" if second is None else "premises"
        amount = f"{len(too_long)} {what}"
        print_note(f"{self._name}: {amount} cut to fit into {self._longest} tokens")
        cut: Encoded = self.tokenizer(
            first, second, truncation="only_first", max_length=self._longest
        )
        return cut


def pack_by_length(
    tokens: Sequence[Sequence[int]], texts: Sequence[Texts], capacity: int
) -> list[list[int]]:
    """Group text indices into batches of similar length, ties ordered by content, to minimise
    padding.

    `capacity`: tokens per batch, including padding; a longer text is a batch of its own.
    """

    def by_length(i: int) -> tuple[int, Texts]:
        """Sort key of a text: its number of tokens, ties by content."""
        return len(tokens[i]), texts[i]

    batches: list[list[int]] = []
    batch: list[int] = []
    for i in sorted(range(len(texts)), key=by_length):
        n_tokens = (len(batch) + 1) * len(tokens[i])
        if not batch or n_tokens > capacity:
            batch = []
            batches.append(batch)
        batch.append(i)
    return batches


def max_input_tokens(tokenizer: "PreTrainedTokenizerBase", config: "PreTrainedConfig") -> int:
    """The most tokens that the model accepts."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type in COUNT_FROM_PADDING:
        positions -= config.pad_token_id + 1
    return int(min(tokenizer.model_max_length, positions))


class Nli(Classifier):
    """A loaded classifier of premise-hypothesis pairs with three labels."""

    def __init__(
        self,
        name: str,
        folder: Weights,
        device: str,
        dtype: Dtype,
        labels: Sequence[str] | None = None,
        adapter: Adapter | None = None,
    ) -> None:
        """Load it like a `Classifier`; UserError if the meaning of its three `labels` cannot be
        determined.
        """
        super().__init__(name, folder, device, dtype, adapter)
        if len(self.labels) != len(LABELS):
            what = f"{name} has {len(self.labels)} labels, expected 3"
            raise UserError(what, where=str(folder), remedy="see its `source`")
        self._order = order_of(labels or self.labels) or self._detected()

    @batched
    def entail(self, pairs: Sequence[EntailmentPair]) -> Batches[NDArray[np.float64]]:
        """For each pair: [3] logits in the order of `LABELS`; words that the tokenizer does not
        know are said.
        """
        unknown = UnknownWords(self.tokenizer, list(chain.from_iterable(pairs)))
        if unknown.words:
            print_note(
                f"{self._name}: {unknown}; pairs that differ in such words alone get the same "
                "answer"
            )
        batches = self.batches(pairs)
        return Batches(
            batches.indices,
            lambda batch: [(i, logits[self._order]) for i, logits in batches.answer(batch)],
        )

    def _detected(self) -> list[int]:
        """Infer the order of unnamed labels from pairs whose answer is obvious."""
        sample = labelled_sample()
        logits = self.logits([pair for pair, _ in sample])
        counts_by_label: dict[str, Counter[int]] = {label: Counter() for label in LABELS}
        for (_, label), row in zip(sample, logits, strict=True):
            counts_by_label[label][int(row.argmax())] += 1
        order: list[int] = []
        is_clear = True
        for count in counts_by_label.values():
            output, n_most = count.most_common(1)[0]
            order.append(output)
            is_clear = is_clear and n_most * 2 > count.total()
        if len(set(order)) < len(LABELS) or not is_clear:
            what = (
                f"{self._name} does not say what its three labels mean, and its answers do not tell"
            )
            raise UserError(
                what,
                where=self._where,
                remedy=f"give `labels` in its order, as [{', '.join(LABELS)}]",
            )
        return order


def order_of(names: Sequence[str]) -> list[int] | None:
    """Indices of entailment, neutral and contradiction among a head's labels; None if the names do
    not tell.
    """
    short = [name.strip().lower()[:6] for name in names]
    wanted = [label[:6] for label in LABELS]
    if sorted(short) != sorted(wanted):
        return None
    return [short.index(label) for label in wanted]


def labelled_sample() -> list[tuple[EntailmentPair, str]]:
    """Pairs of premise and hypothesis with obvious labels, from the project's
    `entailment_sample.yaml`.
    """
    text = (
        resources.files("evenruler.models.backends")
        .joinpath("entailment_sample.yaml")
        .read_text(encoding="utf-8")
    )
    parser = YAML(typ="safe", pure=True)
    sample: Mapping[str, list[list[str]]] = parser.load(text)
    labelled_pairs: list[tuple[EntailmentPair, str]] = []
    for label in LABELS:
        labelled_pairs += [((premise, hypothesis), label) for premise, hypothesis in sample[label]]
    return labelled_pairs


class Masked:
    """A loaded masked language model."""

    def __init__(self, name: str, folder: Weights, device: str, dtype: Dtype) -> None:
        """Load it; UserError if its tokenizer has no mask token or no character offsets."""
        self.tokenizer, self.model = load_pretrained(
            "AutoModelForMaskedLM", name, folder, device, dtype
        )
        if self.tokenizer.mask_token_id is None or not self.tokenizer.is_fast:
            lacking = (
                "no mask token" if self.tokenizer.is_fast else "no places of its tokens in the text"
            )
            raise UserError(
                f"the tokenizer of {name} has {lacking}",
                where=str(folder),
                remedy="see its `source`",
            )
        self._name, self._device = name, device
        self._longest = max_input_tokens(self.tokenizer, self.model.config)

    @batched
    def in_place(self, words_in_place: Sequence[WordInPlace]) -> Batches[tuple[float, int]]:
        """For each word in its text: nats and number of tokens.

        The word's pseudo-log-likelihood: the sum of its tokens' log-probabilities, each with itself
        and the word's tokens to its right masked (PLL-word-l2r; Kauf and Ivanova 2023), so that
        first tokens are not given away by the last. Here the word is the intensifier, also if it is
        two words.
        """
        UnknownWords(self.tokenizer, [placed.word for placed in words_in_place]).refuse(self._name)
        encoded = self.tokenizer(
            [placed.text for placed in words_in_place], return_offsets_mapping=True
        )
        offsets = encoded.pop("offset_mapping")
        places = [
            _tokens_of(placed, text_offsets)
            for placed, text_offsets in zip(words_in_place, offsets, strict=True)
        ]
        for placed, ids in zip(words_in_place, encoded["input_ids"], strict=True):
            self._check_length(placed.text, len(ids))
        # A text is computed once per token of its word.
        capacity = MASKED[self._device] // max(map(len, places))

        def answer(batch: Sequence[int]) -> list[tuple[int, tuple[float, int]]]:
            """(Index, (nats, number of tokens)) of a batch's words in place, from one pass."""
            rows: list[MaskedToken] = []
            for i in batch:
                rows += masked_tokens(i, [places[i]])
            nats = sum_by_text(rows, self._score(encoded, rows))
            return [(i, (nats[i], len(places[i]))) for i in batch]

        texts = [(placed.before, placed.word, placed.after) for placed in words_in_place]
        return Batches(pack_by_length(encoded["input_ids"], texts, capacity), answer)

    @batched
    def pll(self, requests: Sequence[LikelihoodRequest]) -> Batches[tuple[float, int]]:
        """For each text: its pseudo-log-likelihood in nats, and number of tokens; `UNREAD` for one
        with a word that the tokenizer does not know or drops.

        The sum of the log-probabilities of its tokens, each with itself and the tokens to its right
        in its word masked (PLL-word-l2r; Kauf and Ivanova 2023); a prompt is read, not scored.
        UserError if a text is too long, or the tokenizer does not say where words end.
        """
        require_words(self.tokenizer, self._name)
        unknown = UnknownWords(self.tokenizer, [request.text for request in requests])
        if unknown.words:
            print_note(f"{self._name}: {unknown}; texts with them are left out")
        texts = [request.prompt + request.text for request in requests]
        encoded = self.tokenizer(texts, return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")
        rows_by_text: list[list[MaskedToken]] = []
        for i, request in enumerate(requests):
            if unknown.has_word_in(request.text):
                rows_by_text.append([])
                continue
            self._check_length(texts[i], len(offsets[i]))
            words = words_to_score(encoded.word_ids(i), offsets[i], len(request.prompt))
            rows_by_text.append(masked_tokens(i, words))
        capacity = MASKED[self._device]

        def answer(batch: Sequence[int]) -> list[tuple[int, tuple[float, int]]]:
            """(Index, (nats, number of tokens)) of a batch's texts; `UNREAD` for one with unknown
            words.
            """
            rows = list(chain.from_iterable(rows_by_text[i] for i in batch))
            longest = max(len(offsets[i]) for i in batch)
            n_together = max(1, capacity // longest)
            nats_by_row: list[float] = []
            for part in split_into_packs(range(len(rows)), n_together):
                nats_by_row += self._score(encoded, [rows[place] for place in part])
            nats = sum_by_text(rows, nats_by_row)
            answers: list[tuple[int, tuple[float, int]]] = []
            for i in batch:
                is_unread = unknown.has_word_in(requests[i].text)
                scored = (nats.get(i, 0.0), len(rows_by_text[i]))
                answers.append((i, UNREAD if is_unread else scored))
            return answers

        lengths = list(map(len, offsets))
        n_rows = list(map(len, rows_by_text))
        return Batches(pack_masked_texts(lengths, n_rows, texts, capacity), answer)

    def _check_length(self, text: str, n_tokens: int) -> None:
        """UserError if a text has more tokens than the model takes."""
        if n_tokens > self._longest:
            what = f"a text of {n_tokens} tokens, {self._name} takes {self._longest}"
            raise UserError(what, where=repr(text[:40]), remedy="shorten it")

    @batched
    def fingerprint(
        self, questions: Sequence[fingerprints.Texts]
    ) -> Batches[fingerprints.Fingerprint]:
        """What the model computes on two texts, in which nothing is masked."""

        def of_texts(texts: fingerprints.Texts) -> fingerprints.Fingerprint:
            """The model's numbers on two texts, with notes on its files."""
            numbers = fingerprints.read_sequences(
                self.model, self.tokenizer, texts, self._longest, list
            )
            return fingerprints.Fingerprint(tuple(numbers), read_notes(self.model))

        def answer(pack: Sequence[int]) -> list[tuple[int, fingerprints.Fingerprint]]:
            """(Index, fingerprint) of a pack's pairs of texts."""
            return [(i, of_texts(questions[i])) for i in pack]

        return Batches([range(len(questions))], answer)

    def _score(self, encoded: Encoded, rows: Sequence[MaskedToken]) -> list[float]:
        """[rows] nats of the token of each row, from one pass."""
        columns: dict[str, list[list[int]]] = {}
        for name, values in encoded.items():
            columns[name] = [list(values[row.text]) for row in rows]
        token_ids = columns["input_ids"]
        chosen = [ids[row.token] for ids, row in zip(token_ids, rows, strict=True)]
        for ids, row in zip(token_ids, rows, strict=True):
            for place in row.masked:
                ids[place] = self.tokenizer.mask_token_id
        padded = self.tokenizer.pad(columns, padding_side="right", return_tensors="pt").to(
            self._device
        )
        places = torch.tensor([row.token for row in rows])
        with torch.inference_mode():
            logits = self.model(**padded).logits
            position_logits = logits[torch.arange(len(rows)), places].double()
            log_probs = position_logits.log_softmax(-1).cpu().numpy()
            by_token = log_probs[np.arange(len(rows)), chosen]
        nats: list[float] = by_token.tolist()
        return nats


def _tokens_of(placed: WordInPlace, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Indices of tokens that contain a letter of the word, including those across its border."""
    begin = len(placed.before)
    end = begin + len(placed.word)
    tokens = [
        i
        for i, (first, last) in enumerate(offsets)
        if first < end and last > begin and first < last
    ]
    if not tokens:
        raise ValueError(f"no token holds {placed.word!r}")
    return tokens


class SentenceEmbedder:
    """A loaded sentence embedder."""

    def __init__(self, name: str, folder: Path, device: str, dtype: Dtype) -> None:
        """Load it; UserError if sentence-transformers cannot load the folder."""
        from sentence_transformers import SentenceTransformer

        for place in sorted({folder, *(path.parent for path in folder.glob("*/*.safetensors"))}):
            require_plain_numbers(name, str(place), place)
        with silence_libraries(), convert_load_errors(name, str(folder)):
            self._model: Any = SentenceTransformer(
                str(folder),
                device=device,
                model_kwargs={"dtype": getattr(torch, dtype)},
                local_files_only=True,
                trust_remote_code=False,
            )
        self.tokenizer = self._model.tokenizer
        model: PreTrainedModel = cast("PreTrainedModel", self._model[0].auto_model)
        files = [*folder.glob("*.safetensors"), *folder.glob("*/*.safetensors")]
        held: set[str] = set()
        for path in files:
            with safe_open(path, "pt") as file:
                held |= {f".{key}" for key in file.keys()}  # noqa: SIM118  # no mapping
        named = [name for name, _ in model.named_parameters()]
        # Tensors in no file were randomly initialised.
        lacking: list[str] = []
        for tensor_name in named:
            is_in_files = any(key.endswith(f".{tensor_name}") for key in held)
            if files and not is_in_files:
                lacking.append(tensor_name)
        if lacking:
            what = f"{name} lacks {len(lacking)} tensors, as {lacking[0]}"
            raise UserError(what, where=str(folder), remedy="see its `source`")
        require_layers(model, name, str(folder))
        places = [
            f".{place}" for place in (*self._model.state_dict(), "position_ids")
        ]  # which older files hold, too
        unused: list[str] = []
        for key in held:
            is_used = any(key.endswith(suffix) or suffix.endswith(key) for suffix in places)
            if not is_used:
                unused.append(key[1:])
        note_unused(self._model, unused, name, str(folder))
        require_embeddings(model, self.tokenizer, name)

    @batched
    def embed(self, texts: Sequence[str]) -> Batches[NDArray[np.float32]]:
        """For each text: its vector, of length 1."""

        def by_length(i: int) -> tuple[int, str]:
            """Sort key of a text: its number of letters, ties by content."""
            return len(texts[i]), texts[i]

        def answer(batch: Sequence[int]) -> list[tuple[int, NDArray[np.float32]]]:
            """(Index, [dimensions] vector of length 1) of a batch's texts."""
            batch_texts = [texts[i] for i in batch]
            vectors = self._model.encode(
                batch_texts, batch_size=EMBEDDED, normalize_embeddings=True, show_progress_bar=False
            )
            return list(zip(batch, vectors, strict=True))

        order = sorted(range(len(texts)), key=by_length)
        return Batches(split_into_packs(order, EMBEDDED), answer)

    @batched
    def fingerprint(
        self, questions: Sequence[fingerprints.Texts]
    ) -> Batches[fingerprints.Fingerprint]:
        """Projections of the vectors of two texts."""

        def of_texts(texts: fingerprints.Texts) -> fingerprints.Fingerprint:
            """Projections of the vectors of both texts, joined."""
            vectors = [
                self._model.encode(text, normalize_embeddings=True, show_progress_bar=False)
                for text in texts
            ]
            numbers: list[float] = []
            for vector in vectors:
                numbers += fingerprints.project_vector(vector)
            return fingerprints.Fingerprint(tuple(numbers), read_notes(self._model))

        def answer(pack: Sequence[int]) -> list[tuple[int, fingerprints.Fingerprint]]:
            """(Index, fingerprint) of a pack's pairs of texts."""
            return [(i, of_texts(questions[i])) for i in pack]

        return Batches([range(len(questions))], answer)

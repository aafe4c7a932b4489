"""Loading of saved weights: unusable files give a UserError, and randomly initialised tensors are refused.

Labels of classifier outputs are read without loading the model, from its configuration or the record of a fit. For
adapters fitted here, that is `data/adapters/{model}/training.json`, written by `evenruler finetune`.
"""

import json
import logging
import pickle
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evenruler import repository
from evenruler.errors import UserError, extra_of
from evenruler.models.declared import ModelEntry
from evenruler.terminal import note

OF_THE_MACHINE = ("memory", "cuda")  # words in PyTorch errors that are not about the files
Dtype = Literal["float32", "bfloat16"]  # dtype of computations
ADAPTER = "adapter_config.json"  # PEFT's adapter configuration, next to its weights


class Tuned(NamedTuple):
    """A model folder and the folder of an adapter for it."""

    base: Path
    adapter: Path

    def __str__(self) -> str:
        return str(self.adapter)


class Loaded(NamedTuple):
    """A model already in memory, on its device, and its tokenizer."""

    tokenizer: Any
    model: Any

    def __str__(self) -> str:
        return type(self.model).__name__


Weights = Path | Tuned | Loaded  # what a backend loads its model from

MAKE_ROOM = "end what else runs there, or take another GPU (CUDA_VISIBLE_DEVICES) or a smaller model"
"""The remedy for too little GPU memory."""


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the libraries' progress bars and warnings; errors are raised as usual."""
    from transformers.utils import logging as library

    level, bars = library.get_verbosity(), library.is_progress_bar_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.set_verbosity(logging.ERROR)
        library.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            library.set_verbosity(level)
            if bars:
                library.enable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def loading(name: str, where: str, remedy: str = "see its `source`") -> Iterator[None]:
    """Turn library errors about unusable model files into a UserError."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:  # libraries raise anything for malformed configurations
        if isinstance(error, ModuleNotFoundError) and extra_of(error.name or ""):
            raise
        if isinstance(error, RuntimeError) and any(word in str(error).lower() for word in OF_THE_MACHINE):
            raise
        reason = (str(error) or type(error).__name__).split("\n")[0]
        if isinstance(error, pickle.UnpicklingError):
            reason = "its weights are a pickle of more than tensors, which is not run"
        if isinstance(error, ImportError):
            remedy = "take a version of the model that asks for no such package: weights that are not quantised, "
            remedy += "attention that is not named in config.json"
        raise UserError(f"{name} does not load ({reason})", where=where, remedy=remedy) from None


def tokenizer_folder(folder: Path, adapter: Path | None) -> Path:
    """The folder whose tokenizer a model has: that of its adapter, if a tokenizer was saved there, else its own."""
    return adapter if adapter and (adapter / "tokenizer_config.json").exists() else folder


def pretrained(kind: str, name: str, weights: Weights, device: str, dtype: Dtype, where: str = "") -> tuple[Any, Any]:
    """Load a tokenizer and a model in evaluation mode on its device, without randomly initialised tensors.

    An adapter is merged; its folder's tokenizer, if any, takes precedence. `kind`: a transformers class such as
    "AutoModelForCausalLM". UserError if the folder has no such model, or tensors are missing.
    """
    if isinstance(weights, Loaded):
        return weights
    import torch
    import transformers

    where = where or str(weights)
    folder, adapter = weights if isinstance(weights, Tuned) else (weights, None)
    tokens = tokenizer_folder(folder, adapter)
    with quiet(), loading(name, where):
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(tokens, trust_remote_code=False)
        loaded = getattr(transformers, kind).from_pretrained(
            folder, dtype=getattr(torch, dtype), output_loading_info=True, trust_remote_code=False
        )
    model = complete(loaded, name, where)
    if adapter:
        model = merged(model, adapter, name)
    require_embeddings(model, tokenizer, name)
    return tokenizer, model.to(device).eval()


def merged(model: Any, adapter: Path, name: str) -> Any:
    """Merge a PEFT adapter into the model; UserError if they do not match."""
    from peft import PeftModel, get_peft_model_state_dict
    from peft.utils import load_peft_weights

    with quiet(), loading(name, str(adapter), "take the base that the adapter was fitted on"):
        tuned = PeftModel.from_pretrained(model, adapter)
        there = load_peft_weights(str(adapter), device="cpu")
        lacking = set(get_peft_model_state_dict(tuned, save_embedding_layers=False)) - set(there)
        if lacking:  # PEFT would initialise them randomly
            raise ValueError(f"the adapter lacks {len(lacking)} tensors, as {min(lacking)}")
        return tuned.merge_and_unload()


def require_embeddings(model: Any, tokenizer: Any, name: str) -> None:
    """Install a hook that rejects tokens without an embedding, if the tokenizer has more tokens than the model.

    Such models are common (Gemma 3 has an image token), and most texts do not contain these tokens.
    """
    import torch

    rows = len(model.get_input_embeddings().weight)
    if max(tokenizer.get_vocab().values(), default=0) < rows:
        return

    def require(_: Any, inputs: tuple[Any, ...]) -> None:
        if inputs and inputs[0].numel() and (token := int(inputs[0].max())) >= rows:
            what = f"{name} has {rows:,} tokens, and its tokenizer gives it number {token:,}"
            remedy = "take the tokenizer that belongs to it, or resize its embeddings (`resize_token_embeddings`)"
            raise UserError(f"{what} ({tokenizer.convert_ids_to_tokens(token)!r})", remedy=remedy)

    for module in model.modules():
        if isinstance(module, torch.nn.Embedding) and len(module.weight) == rows:
            module.register_forward_pre_hook(require)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error says that a GPU is out of memory."""
    torch = sys.modules.get("torch")  # hosted models work without torch
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def card_memory() -> int:
    """GPU memory in bytes, rounded down to GiB, since drivers differ slightly."""
    import torch

    _, total = torch.cuda.mem_get_info()
    return total // 2**30 * 2**30


@contextmanager
def on_device(name: str) -> Iterator[None]:
    """Turn running out of GPU memory while loading into a UserError."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(f"{name} does not fit into the memory of the GPU", remedy=MAKE_ROOM) from None


def require_all(
    name: str, where: str, lacking: Iterable[str], brought: Iterable[str] = (), remedy: str = "see its `source`"
) -> None:
    """UserError if tensors are missing that no module in `brought` supplies."""
    if missing := sorted(key for key in lacking if not set(key.split(".")) & set(brought)):
        raise UserError(f"{name} lacks {len(missing)} tensors, as {missing[0]}", where=where, remedy=remedy)


def complete(loaded: tuple[Any, dict[str, Any]], name: str, where: str) -> Any:
    """The model from `from_pretrained(..., output_loading_info=True)`; UserError if a tensor is missing.

    transformers initialises missing tensors randomly and only logs it. Unused tensors are reported: a configuration may
    declare fewer layers than there are.
    """
    model, found = loaded
    require_all(name, where, map(str, [*found["missing_keys"], *found["mismatched_keys"]]))
    if unused := sorted(map(str, found["unexpected_keys"])):
        note(f"{name}: {len(unused)} tensors of its files are not used, as {unused[0]}")
    return model


ADAPTERS = Path("data/adapters")  # folder of adapters, by model name
RECORD = "training.json"


@dataclass(frozen=True)
class AdapterRecord:
    """How an adapter was fitted, and its accuracy."""

    labels: list[str]  # of the head's outputs, in order
    base: str  # checksum of the encoder's weights
    recipe: dict[str, Any]  # `finetune` in the model's entry, with defaults
    accuracy: float  # on held-out data
    n_held_out: int
    content: dict[str, Any]  # the whole file

    @property
    def below_bar(self) -> bool:
        """Whether accuracy is below the bar of the recipe."""
        return self.accuracy < float(self.recipe["bar"])


def adapter_folder(name: str, folder: Path = ADAPTERS) -> Path:
    """Folder of a model's adapter: below `folder`, or else in the package."""
    ours = repository.shipped_adapters() / name
    return ours if ours.is_dir() and not (folder / name).is_dir() else folder / name


def read_adapter(name: str, folder: Path = ADAPTERS) -> AdapterRecord:
    """The record of a model's adapter; UserError if none was fitted or it is damaged."""
    path = adapter_folder(name, folder) / RECORD
    if not path.exists():
        raise UserError(f"{name} has no adapter yet", where=str(path.parent), remedy=f"run `evenruler finetune {name}`")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        labels, base, recipe, held_out = (content[key] for key in ("labels", "base", "recipe", "held_out"))
        return AdapterRecord(labels, base, recipe, held_out["accuracy"], held_out["n"], content)
    except (ValueError, KeyError, TypeError):
        what = f"no record of how {name} was fitted"
        raise UserError(what, where=str(path), remedy=f"run `evenruler finetune {name} --again`") from None


SINGLE_LABEL, MULTI_LABEL = "single_label_classification", "multi_label_classification"
"""transformers' problem types whose heads give probabilities."""


def read_head(name: str, entry: ModelEntry, folder: Path) -> tuple[list[str], str]:
    """Labels of a classifier's outputs, in order, and its problem type in transformers' terms.

    From its configuration or the record of the fit; UserError if neither exists.
    """
    if entry.kind == "encoder":
        return list(read_adapter(name).labels), SINGLE_LABEL
    from transformers import AutoConfig

    with quiet(), loading(name, str(folder)):
        config: Any = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    labels = [str(config.id2label[i]) for i in range(int(config.num_labels))]
    return labels, config.problem_type or (SINGLE_LABEL if len(labels) > 1 else MULTI_LABEL)

"""Loading saved weights: an error of the user where the files are wrong, and nothing made up."""

import logging
import pickle
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evenruler.errors import UserError, extra_of
from evenruler.terminal import note

OF_THE_MACHINE = ("memory", "cuda")  # words of errors of PyTorch that are not the fault of a file
Dtype = Literal["float32", "bfloat16"]  # what a model computes in
ADAPTER = "adapter_config.json"  # what PEFT writes of an adapter, beside its weights


class Tuned(NamedTuple):
    """A folder of a model, and one of an adapter that is laid over it."""

    base: Path
    adapter: Path

    def __str__(self) -> str:
        return str(self.adapter)


class Loaded(NamedTuple):
    """A model that is in memory already, on its device, and its tokenizer."""

    tokenizer: Any
    model: Any

    def __str__(self) -> str:
        return type(self.model).__name__


Weights = Path | Tuned | Loaded  # where a backend gets its model from

MAKE_ROOM = "end what else runs there, or take another GPU (CUDA_VISIBLE_DEVICES) or a smaller model"
"""What to do where a GPU has too little memory."""


@contextmanager
def quiet() -> Iterator[None]:
    """Neither bars nor remarks of the libraries; errors are raised as ever."""
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
    """Turn what the libraries raise about unusable files of a model into a UserError."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:  # what libraries raise about a configuration of the wrong shape is of any kind
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


def pretrained(kind: str, name: str, weights: Weights, device: str, dtype: Dtype, where: str = "") -> tuple[Any, Any]:
    """A tokenizer and a model in evaluation mode on its device, none of whose tensors is made up.

    An adapter is merged into the model; its folder's tokenizer, if it has one, is that of the two. `kind`: the class of
    transformers, as "AutoModelForCausalLM". UserError where the folder holds no such model, or lacks tensors.
    """
    if isinstance(weights, Loaded):
        return weights
    import torch
    import transformers

    where = where or str(weights)
    folder, adapter = weights if isinstance(weights, Tuned) else (weights, None)
    tokens = adapter if adapter and (adapter / "tokenizer_config.json").exists() else folder
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
    """The model with a PEFT adapter merged into it; UserError where the two do not go together."""
    from peft import PeftModel, get_peft_model_state_dict
    from peft.utils import load_peft_weights

    with quiet(), loading(name, str(adapter), "take the base that the adapter was fitted on"):
        tuned = PeftModel.from_pretrained(model, adapter)
        there = load_peft_weights(str(adapter), device="cpu")
        lacking = set(get_peft_model_state_dict(tuned, save_embedding_layers=False)) - set(there)
        if lacking:  # which PEFT makes up
            raise ValueError(f"the adapter lacks {len(lacking)} tensors, as {min(lacking)}")
        return tuned.merge_and_unload()


def require_embeddings(model: Any, tokenizer: Any, name: str) -> None:
    """Refuse texts with tokens that a model has no embedding of, when they come: of a tokenizer that knows more.

    Such models are usual (the one for images, of Gemma 3), and so are texts without these tokens.
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
    """Whether an error says that a GPU has no memory left."""
    torch = sys.modules.get("torch")  # what a server answers comes without it
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def card_memory() -> int:
    """Bytes of memory of the GPU, in whole GiB: what differs between drivers is left out."""
    import torch

    _, total = torch.cuda.mem_get_info()
    return total // 2**30 * 2**30


@contextmanager
def on_device(name: str) -> Iterator[None]:
    """Turn too little memory for the model itself into a UserError."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(f"{name} does not fit into the memory of the GPU", remedy=MAKE_ROOM) from None


def require_all(
    name: str, where: str, lacking: Iterable[str], brought: Iterable[str] = (), remedy: str = "see its `source`"
) -> None:
    """UserError where tensors are lacking, and so random, that no module which is brought from elsewhere brings."""
    if missing := sorted(key for key in lacking if not set(key.split(".")) & set(brought)):
        raise UserError(f"{name} lacks {len(missing)} tensors, as {missing[0]}", where=where, remedy=remedy)


def complete(loaded: tuple[Any, dict[str, Any]], name: str, where: str) -> Any:
    """The model of a `from_pretrained` that also says what it found; UserError where a tensor is missing.

    transformers makes up tensors that a file lacks, at random, and only logs it. Tensors that it does not use are
    noted: a configuration may say fewer layers than there are.
    """
    model, found = loaded
    require_all(name, where, map(str, [*found["missing_keys"], *found["mismatched_keys"]]))
    if unused := sorted(map(str, found["unexpected_keys"])):
        note(f"{name}: {len(unused)} tensors of its files are not used, as {unused[0]}")
    return model

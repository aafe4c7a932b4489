"""Loading of saved weights: unusable files give a UserError, and randomly initialised tensors are
refused.

Labels of classifier outputs are read without loading the model, from its configuration or the
record of a fit. For adapters fitted here, that is `data/adapters/{model}/training.json`, written by
`evenruler finetune`.
"""

import json
import logging
import pickle
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast
from weakref import WeakKeyDictionary

from evenruler import repository
from evenruler.errors import UserError, extra_of
from evenruler.files import read_json_file
from evenruler.models.classes import choose_auto_class
from evenruler.models.declarations import ModelEntry
from evenruler.terminal import print_note

if TYPE_CHECKING:  # which take seconds to import
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

OF_THE_MACHINE = ("memory", "cuda")  # words in PyTorch errors that are not about the files
Dtype = Literal["float32", "bfloat16", "float16"]  # dtype of computations
HALF: Final[tuple[Dtype, ...]] = ("bfloat16", "float16")  # of 16 bits
ADAPTER = "adapter_config.json"  # PEFT's adapter configuration, next to its weights


class AdaptedFolder(NamedTuple):
    """A model folder and the folder of an adapter for it."""

    base: Path
    adapter: Path

    def __str__(self) -> str:
        """The adapter's folder, as errors name it."""
        return str(self.adapter)


class LoadedModel(NamedTuple):
    """A model already in memory, on its device, and its tokenizer."""

    tokenizer: "PreTrainedTokenizerBase"
    model: "PreTrainedModel"

    def __str__(self) -> str:
        """The class of the model, as errors name it."""
        return type(self.model).__name__


Weights = Path | AdaptedFolder | LoadedModel  # what a backend loads its model from

MAKE_ROOM = (
    "end what else runs there, compute in 16 bits (--dtype bfloat16, or `dtype` of its entry), "
    "take another GPU (CUDA_VISIBLE_DEVICES), or split it over N of them (--engine vllm=N)"
)
"""The remedy for too little GPU memory."""


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Silence the libraries' progress bars and warnings; errors are raised as usual."""
    from transformers.utils import logging as library

    level, bars = library.get_verbosity(), library.is_progress_bar_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.set_verbosity(logging.ERROR)
        library.disable_progress_bar()
        try:
            yield
        finally:
            library.set_verbosity(level)
            if bars:
                library.enable_progress_bar()


@contextmanager
def convert_load_errors(name: str, where: str, remedy: str = "see its `source`") -> Iterator[None]:
    """Turn library errors about unusable model files into a UserError."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:  # libraries raise anything for malformed configurations
        if isinstance(error, ModuleNotFoundError) and extra_of(error.name or ""):
            raise
        if isinstance(error, RuntimeError) and any(
            word in str(error).lower() for word in OF_THE_MACHINE
        ):
            raise
        reason = (str(error) or type(error).__name__).split("\n")[0]
        if isinstance(error, pickle.UnpicklingError):
            reason = "its weights are a pickle of more than tensors, which is not run"
        if isinstance(error, ImportError):
            remedy = (
                "take a version of the model that asks for no such package: weights that are "
                "not quantised, "
            )
            remedy += "attention that is not named in config.json"
        raise UserError(f"{name} does not load ({reason})", where=where, remedy=remedy) from None


UNKNOWN: Final = "qzx☃"
"""A word that few vocabularies hold."""


def encode_unknown(backend: object) -> None:
    """Encode an unknown word, at which a tokenizer fails that lacks the token for them."""
    tokenizer = getattr(backend, "tokenizer", None)
    if tokenizer is not None:
        tokenizer(UNKNOWN)


def tokenizer_folder(folder: Path, adapter: Path | None) -> Path:
    """The folder whose tokenizer a model has: that of its adapter, if a tokenizer was saved there,
    else its own.
    """
    return adapter if adapter and (adapter / "tokenizer_config.json").exists() else folder


def load_pretrained(
    kind: str, name: str, weights: Weights, device: str, dtype: Dtype, where: str = ""
) -> LoadedModel:
    """Load a tokenizer and a model in evaluation mode on its device, without randomly initialised
    tensors.

    An adapter is merged; its folder's tokenizer, if any, takes precedence. `kind`: a transformers
    class such as "AutoModelForCausalLM". UserError if the folder has no such model, or tensors are
    missing.
    """
    if isinstance(weights, LoadedModel):
        return weights
    import torch
    import transformers

    where = where or str(weights)
    folder, adapter = weights if isinstance(weights, AdaptedFolder) else (weights, None)
    tokens = tokenizer_folder(folder, adapter)
    require_plain_numbers(name, where, folder)
    with silence_libraries(), convert_load_errors(name, where):
        tokenizer = transformers.AutoTokenizer.from_pretrained(tokens, trust_remote_code=False)
        loaded = getattr(transformers, kind).from_pretrained(
            folder, dtype=getattr(torch, dtype), output_loading_info=True, trust_remote_code=False
        )
    model = require_complete(loaded, name, where)
    require_layers(model, name, where)
    if adapter:
        require_plain_numbers(name, str(adapter), adapter)
        require_possible_sizes(adapter, str(adapter))
        notes = read_notes(model)
        model = merge_adapter(model, adapter, name)
        _notes[model] = notes
    require_embeddings(model, tokenizer, name)
    model.to(device)  # type: ignore[arg-type]  # as transformers wraps it
    return LoadedModel(tokenizer, model.eval())


def load_causal(name: str, weights: Weights, device: str, dtype: Dtype) -> LoadedModel:
    """Load a causal model as `load_pretrained` does, with the class that its `config.json` calls
    for.
    """
    if isinstance(weights, LoadedModel):
        return weights
    folder = weights.base if isinstance(weights, AdaptedFolder) else weights
    auto_class = choose_auto_class(read_json_file(folder / "config.json", dict))
    return load_pretrained(auto_class, name, weights, device, dtype)


def merge_adapter(model: "PreTrainedModel", adapter: Path, name: str) -> "PreTrainedModel":
    """Merge a PEFT adapter into the model; UserError if they do not match.

    An adapter that was fitted after tokens were added holds the whole embeddings: the model gets as
    many rows first.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from peft.utils import load_peft_weights

    with (
        silence_libraries(),
        convert_load_errors(name, str(adapter), "take the base that the adapter was fitted on"),
    ):
        there = load_peft_weights(str(adapter), device="cpu")
        resize_to(model, there)
        tuned = PeftModel.from_pretrained(model, adapter)
        lacking = set(get_peft_model_state_dict(tuned, save_embedding_layers=False)) - set(there)
        if lacking:  # PEFT would initialise them randomly
            raise ValueError(f"the adapter lacks {len(lacking)} tensors, as {min(lacking)}")
        merged: PreTrainedModel = tuned.merge_and_unload()
    return merged


def resize_to(model: "PreTrainedModel", adapter: Mapping[str, "torch.Tensor"]) -> None:
    """Give a model's embeddings the number of rows that they have in an adapter, if it holds them.

    ValueError if the adapter adds tokens and does not bring all of their rows.
    """
    layers = {model.get_input_embeddings(), model.get_output_embeddings()} - {None}
    places = {name: module for name, module in model.named_modules() if module in layers}
    rows: dict[str, int] = {}
    for name in places:
        for key, tensor in adapter.items():
            if f".{name}." in key and tensor.ndim == 2:
                rows[name] = len(tensor)
    if not rows:
        return
    sizes = set(rows.values())
    if sizes == {len(embeddings_of(model))}:
        return
    tied = len({id(module.weight) for module in places.values()}) == 1
    lacks_rows = len(rows) < len(places) and not tied
    if len(sizes) > 1 or lacks_rows:
        raise ValueError(
            f"the adapter has {rows} rows of embeddings, and not those of {sorted(places)}"
        )
    model.resize_token_embeddings(next(iter(rows.values())), mean_resizing=False)


def embeddings_of(model: "PreTrainedModel") -> "torch.Tensor":
    """[tokens, width] weights of a model's input embeddings."""
    return cast("torch.nn.Embedding", model.get_input_embeddings()).weight


def has_global_hooks() -> bool:
    """Whether functions are registered that PyTorch calls with every module, and that may change
    what it computes.
    """
    from torch.nn.modules import module

    return bool(module._global_forward_hooks or module._global_forward_pre_hooks)


def require_embeddings(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", name: str
) -> None:
    """Install a hook that rejects tokens without an embedding, if the tokenizer has more tokens
    than the model.

    Such models are common (Gemma 3 has an image token), and most texts do not contain these tokens.
    """
    import torch

    rows = len(embeddings_of(model))
    if max(tokenizer.get_vocab().values(), default=0) < rows:
        return

    def require_rows(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        """Hook before an embedding is looked up: UserError if the batch has a token id that it
        lacks.
        """
        if not inputs or not inputs[0].numel():
            return
        token = int(inputs[0].max())
        if token >= rows:
            what = f"{name} has {rows:,} tokens, and its tokenizer gives it number {token:,}"
            remedy = (
                "take the tokenizer that belongs to it, or resize its embeddings "
                "(`resize_token_embeddings`)"
            )
            raise UserError(f"{what} ({tokenizer.convert_ids_to_tokens(token)!r})", remedy=remedy)

    for module in model.modules():
        if isinstance(module, torch.nn.Embedding) and len(module.weight) == rows:
            module.register_forward_pre_hook(require_rows)


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
        raise UserError(
            f"{name} does not fit into the memory of the GPU", remedy=MAKE_ROOM
        ) from None


def require_all(
    name: str,
    where: str,
    lacking: Iterable[str],
    brought: Iterable[str] = (),
    remedy: str = "see its `source`",
) -> None:
    """UserError if tensors are missing that no module in `brought` supplies."""
    modules = set(brought)
    missing = sorted(key for key in lacking if modules.isdisjoint(key.split(".")))
    if missing:
        raise UserError(
            f"{name} lacks {len(missing)} tensors, as {missing[0]}", where=where, remedy=remedy
        )


def require_complete(
    loaded: tuple["PreTrainedModel", dict[str, Any]], name: str, where: str
) -> "PreTrainedModel":
    """The model from `from_pretrained(..., output_loading_info=True)`; UserError if a tensor is
    missing.

    transformers initialises missing tensors randomly and only logs it. Unused tensors are reported:
    a configuration may declare fewer layers than there are.
    """
    model, load_report = loaded
    require_all(
        name, where, map(str, [*load_report["missing_keys"], *load_report["mismatched_keys"]])
    )
    note_unused(model, map(str, load_report["unexpected_keys"]), name, where)
    return model


def note_unused(model: "torch.nn.Module", tensors: Iterable[str], name: str, where: str) -> None:
    """Note tensors of a model's files that it does not use; UserError where they are scales of
    quantised weights.
    """
    unused = sorted(tensors)
    require_no_scales(unused, name, where)
    if unused:
        n_unused, first = len(unused), unused[0]
        print_note(f"{name}: {n_unused} tensors of its files are not used, as {first}")
        _notes[model] = (f"{OF_FILES}{n_unused} tensors are not used, as {first}",)


def require_no_scales(unused: Iterable[str], name: str, where: str) -> None:
    """UserError where tensors that are not used are scales or codes of quantised weights."""
    scales = [key for key in unused if SCALES.search(key)]
    if scales:
        what = f"{name} has scales of quantised weights, as {scales[0]}, that would not be used"
        raise UserError(what, where=where, remedy=UNQUANTISED)


OF_FILES: Final = "the model's files: "
"""How sentences on files begin in a result's warnings."""

SCALES: Final = re.compile(
    r"[._](scales?|(weight|input|output|activation)_scales?(_\d+)?|scale_inv|scale_shift|scb|absmax|quant_map|"
    r"quant_state\S*|zero_points?|zeros|qzeros|q?weight_packed|qweight|g_idx|codes|codebooks?|blocks)$",
    re.IGNORECASE,
)
"""Names of tensors by which stored numbers are turned into weights."""

UNQUANTISED: Final = (
    "take the model's unquantised weights, or dequantise and save them with transformers"
)
PLAIN: Final = ("F64", "F32", "F16", "BF16")
WHOLE: Final = ("BOOL", "I16", "U16", "I32", "U32", "I64", "U64")  # positions, masks, counts


def require_plain_numbers(name: str, where: str, folder: Path) -> None:
    """UserError where weights are stored in numbers of 8 bits or fewer, which stand for others by
    scales or codes.

    Reads the headers of the weights that transformers would load. Bytes that are no weight, like a
    mask, may be there.
    """
    for path in _weights_in(folder):
        for tensor, (kind, _) in _read_tensors(path).items():
            is_weight = re.search("weight|proj|blocks|expert", tensor.rpartition(".")[2])
            if kind not in (*PLAIN, *WHOLE) and (is_weight or kind not in ("I8", "U8")):
                what = (
                    f"the weights of {name} are quantised: {tensor} is of type {kind}, which "
                    "needs scales"
                )
                raise UserError(what, where=where, remedy=UNQUANTISED)


LARGE: Final = 1000
"""From this size on, a configuration is compared with the tensors of its files."""

CONFIGURATIONS: Final = ("config.json", ADAPTER)
NAMES_SIZE: Final = re.compile("(layer|expert)s?$|^(num_labels|id2label|label2id|r)$")
"""Keys of numbers of layers, experts and labels, and of the rank of an adapter: as much is
built."""


def require_possible_sizes(folder: Path, where: str) -> None:
    """UserError for a configuration of more layers than its files have tensors, or of more of
    other parts than those have rows; transformers would build them for hours first.
    """
    for name in CONFIGURATIONS:
        for config in sorted(folder.rglob(name)):
            sizes = dict(_large_sizes(read_json_file(config, dict)))
            if sizes:
                _compare_sizes(sizes, _weights_in(config.parent) or _weights_in(folder), where)


def _large_sizes(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Numbers of layers and labels from `LARGE` on, by key, at any depth."""
    left = [config]
    while left:
        for key, setting in left.pop().items():
            size = len(setting) if isinstance(setting, dict) else setting
            if NAMES_SIZE.search(key) and isinstance(size, int) and size >= LARGE:
                yield key, size
            if key == "rank_pattern" and isinstance(setting, dict):
                left += [{"r": rank} for rank in setting.values()]
            elif isinstance(setting, dict):
                left.append(setting)


def _compare_sizes(sizes: Mapping[str, int], weights: Iterable[Path], where: str) -> None:
    """UserError for a size that the tensors in some files do not allow."""
    n_tensors, most_rows = 0, 0
    for path in weights:
        tensors = _read_tensors(path).values()
        n_tensors += len(tensors)
        most_rows = max([most_rows, *(tensor.rows for tensor in tensors)])
    for key, size in sizes.items():
        is_of_layers = key.endswith(("layer", "layers"))
        if size > (n_tensors if is_of_layers else max(n_tensors, most_rows)):
            held = f"{n_tensors:,} tensors of at most {most_rows:,} rows"
            what = f"{key} is {size:,}, and its files have {held}"
            raise UserError(what, where=where, remedy="take the configuration of these weights")


def _weights_in(folder: Path) -> list[Path]:
    """The weight files of a folder that transformers or PEFT would load: shards of an index, the
    usual name, or any.
    """
    for suffix in ("safetensors", "bin"):
        for index in sorted(folder.glob(f"*.{suffix}.index.json")):
            shards = read_json_file(index, dict).get("weight_map")
            names: set[str] = set()
            if isinstance(shards, dict):
                names.update(map(str, shards.values()))
            return [folder / name for name in sorted(names) if (folder / name).is_file()]
        files = sorted(folder.glob(f"*.{suffix}"))
        usual = [path for path in files if path.stem in ("model", "pytorch_model", "adapter_model")]
        if files:
            return usual or files
    return []


class StoredTensor(NamedTuple):
    """What a file of weights says of a tensor."""

    kind: str
    """Its type, as safetensors calls it."""
    rows: int
    """Its longest side, or its bytes where they are fewer."""


def _read_tensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a file, by name; empty for a damaged file (loading tells).

    The header of safetensors is 8 bytes of length, then JSON.
    """
    try:
        if path.suffix == ".bin":
            import torch

            held = torch.load(path, map_location="meta", mmap=True, weights_only=True)
            return {key: _describe_tensor(tensor) for key, tensor in held.items()}
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, MOST_OF_A_HEADER)))
        header.pop("__metadata__", None)
        return {key: _parse_tensor(entry) for key, entry in header.items()}
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RuntimeError,
        EOFError,
        pickle.UnpicklingError,
    ):
        return {}


def _describe_tensor(tensor: "torch.Tensor") -> StoredTensor:
    """A tensor of PyTorch as safetensors would store it."""
    other = "F32" if tensor.is_floating_point() else "I64"
    kind = KINDS.get(str(tensor.dtype).removeprefix("torch."), other)
    return StoredTensor(kind, max(tensor.shape, default=1))


def _parse_tensor(entry: Mapping[str, Any]) -> StoredTensor:
    """A tensor as the header of safetensors describes it."""
    begin, end = entry["data_offsets"]
    longest = max(entry["shape"], default=1)
    return StoredTensor(str(entry["dtype"]), min(longest, end - begin))


KINDS: Final = {
    "bfloat16": "BF16",
    "float16": "F16",
    "int8": "I8",
    "uint8": "U8",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "qint8": "QI8",
}
"""Names in safetensors of PyTorch's dtypes of 16 bits or fewer; others of a pickle are plain."""

MOST_OF_A_HEADER: Final = 100_000_000  # bytes, the limit of safetensors


def dtype_of(config: Mapping[str, Any]) -> str:
    """The dtype of a model's weights, from its `config.json`; empty where that does not say it."""
    nested = config.get("text_config")
    for settings in (config, nested):
        if isinstance(settings, dict):
            dtype = settings.get("dtype") or settings.get("torch_dtype")
            if dtype:
                return str(dtype)
    return ""


def stored_dtype(folder: Path) -> Dtype:
    """The dtype of the weights in a folder, float32 for others than `HALF`: as `config.json` says,
    else that of the first tensor, as transformers loads them with `dtype="auto"`.
    """
    config = folder / "config.json"
    named = dtype_of(read_json_file(config, dict)) if config.exists() else ""
    stored = named or _first_dtype(folder)
    return next((dtype for dtype in HALF if dtype == stored), "float32")


def _first_dtype(folder: Path) -> str:
    """The dtype of the first tensor of floats in a folder's weights; empty for those of more than
    16 bits, and where there is none.
    """
    for path in _weights_in(folder)[:1]:
        for kind, _ in _read_tensors(path).values():
            if kind in PLAIN:
                return NAMES.get(kind, "")
    return ""


NAMES: Final = {kind: dtype for dtype, kind in KINDS.items()}
"""PyTorch's names of dtypes by those of safetensors."""

LAYERS: Final = ("num_hidden_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")


def require_layers(model: "PreTrainedModel", name: str, where: str) -> None:
    """UserError for a model without layers, or whose weights are computed with in other numbers
    than floats.
    """
    import torch

    for config in (model.config, model.config.get_text_config()):
        for key in LAYERS:
            value = getattr(config, key, None)
            if isinstance(value, int) and value < 1:
                what = f"{name} has no layers ({key} is {value})"
                raise UserError(
                    what,
                    where=f"{where}: config.json",
                    remedy="take the configuration of these weights",
                )
    plain = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
    for place, weight in model.named_parameters():
        if weight.dtype not in plain:
            what = (
                f"the weights of {name} are quantised: {place} is of type {weight.dtype}, which "
                "needs scales"
            )
            raise UserError(what, where=where, remedy=UNQUANTISED)


_notes: "WeakKeyDictionary[torch.nn.Module, tuple[str, ...]]" = WeakKeyDictionary()


def save_tokenizer(tokenizer: "PreTrainedTokenizerBase", folder: Path) -> None:
    """Save a tokenizer in the same bytes, and so for the same key, whether it was loaded offline or
    not.
    """
    loaded = tokenizer.init_kwargs
    try:
        if "local_files_only" in loaded:
            tokenizer.init_kwargs = {**loaded, "local_files_only": False}
        tokenizer.save_pretrained(folder)
    finally:
        tokenizer.init_kwargs = loaded


def read_notes(model: "torch.nn.Module") -> tuple[str, ...]:
    """Sentences on the files of a model that was loaded here, as on tensors that it does not
    use.
    """
    return _notes.get(model, ())


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
        raise UserError(
            f"{name} has no adapter yet",
            where=str(path.parent),
            remedy=f"run `evenruler finetune {name}`",
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        labels, base, recipe, held_out = (
            content[key] for key in ("labels", "base", "recipe", "held_out")
        )
        return AdapterRecord(labels, base, recipe, held_out["accuracy"], held_out["n"], content)
    except (ValueError, KeyError, TypeError):
        what = f"no record of how {name} was fitted"
        raise UserError(
            what, where=str(path), remedy=f"run `evenruler finetune {name} --again`"
        ) from None


SINGLE_LABEL, MULTI_LABEL = "single_label_classification", "multi_label_classification"
"""transformers' problem types whose heads give probabilities."""


def read_head(name: str, entry: ModelEntry, folder: Path) -> tuple[list[str], str]:
    """Labels of a classifier's outputs, in order, and its problem type in transformers' terms.

    From its configuration or the record of the fit; UserError if neither exists.
    """
    if entry.kind == "encoder":
        return list(read_adapter(name).labels), SINGLE_LABEL
    from transformers import AutoConfig

    with silence_libraries(), convert_load_errors(name, str(folder)):
        config: Any = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    labels = [str(config.id2label[i]) for i in range(int(config.num_labels))]
    return labels, config.problem_type or (SINGLE_LABEL if len(labels) > 1 else MULTI_LABEL)

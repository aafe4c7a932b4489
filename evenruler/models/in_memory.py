"""Models that the user provides: loaded in Python, a function that writes replies, or served by
Ollama.
"""

import copy
import hashlib
import json
import os
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.models.backends.server import at_address, current_budget
from evenruler.models.declarations import ModelEntry
from evenruler.models.engines.environment import current_environment
from evenruler.models.loading import LoadedModel, has_global_hooks, save_tokenizer
from evenruler.models.model import Model
from evenruler.models.questions import Prompt, Reply, chat_messages
from evenruler.models.store import RowStore
from evenruler.tables.ids import canonical_json, content_sha256

if TYPE_CHECKING:  # which take seconds to import
    import torch
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Function = Callable[..., str | None]
"""`f(messages, **settings)`: chat messages in OpenAI's format, and `max_new_tokens`, `temperature`,
`top_p` and `seed`; returns the reply, or None for a refusal."""

OLLAMA, PORT = (
    "OLLAMA_HOST",
    11434,
)  # environment variable with Ollama's address, and the default port

_OF_ADAPTERS: Final = (
    "active_adapters",
    "active_adapter",
    "disable_adapters",
    "merged_adapters",
    "scaling",
)
"""Attributes of PEFT layers that say which adapter is active and how strongly; weights do not
tell."""


_OF_GENERATION: Final = ("eos_token_id", "decoder_start_token_id", "forced_bos_token_id")
"""What backends read of a model's generation settings beside those of `Sampling`, which are part of
each question."""


def core_of(model: "PreTrainedModel | PeftModel", where: str) -> "PreTrainedModel":
    """The transformers model inside a PEFT model, with its adapters; any other model as it is.

    UserError for prompt-learning adapters, a model in training mode, or one that is not on a CPU or
    GPU.
    """
    for config in dict(getattr(model, "peft_config", None) or {}).values():
        if getattr(config, "is_prompt_learning", False):
            what = f"its adapter ({config.peft_type.value}) is no change of weights"
            raise UserError(what, where=where, remedy="give a model with LoRA or the like")
    get_base: Callable[[], PreTrainedModel] | None = getattr(model, "get_base_model", None)
    core = cast("PreTrainedModel", model) if get_base is None else get_base()
    if any(module.training for module in core.modules()):
        raise UserError(
            "it is in training mode, so that dropout would answer",
            where=where,
            remedy="call model.eval()",
        )
    device = next(core.parameters()).device.type
    if device not in ("cpu", "cuda"):
        raise UserError(f"it is on {device}", where=where, remedy="move it to cpu or cuda")
    return core


def model_in_memory(
    name: str,
    entry: ModelEntry,
    loaded_model: LoadedModel,
    store: RowStore,
    cache_key: str | None,
    make: Callable[..., object],
) -> Model:
    """A model in memory; its answers are cached under a hash of its current weights.

    `loaded_model`: a tokenizer and the result of `core_of`; `make`: creates the backend
    (`catalogue.backend_of`). At each call the model is looked at again, and compared with its
    fingerprint. UserError if what neither weights nor types of modules tell changes what it
    computes (`require_plain`), and there is no `cache_key`.
    """
    tokenizer, core = loaded_model
    weights = WeightsHash()

    def compute_engine_string() -> str:
        """The engine string of the model as it is; UserError as `core_of` and `require_plain`."""
        core_of(core, name)
        if cache_key is None:
            require_plain(core, name)
        parts = _engine_fields(core, tokenizer, cache_key, weights, name)
        return canonical_json({**parts, **({"start": entry.start} if entry.start else {})}).decode()

    attributes: dict[str, object] = {}
    latest_backend: object = None

    def backend() -> object:
        """The backend around a copy of the model that shares its weights, made again if its
        attributes changed.
        """
        # A copy with shared weights, so that our settings, such as end tokens, do not affect the
        # user's model. Modules are shared, too, so it is made again only where an attribute of the
        # model itself was set.
        nonlocal attributes, latest_backend
        now = dict(vars(core))
        is_same = now.keys() == attributes.keys() and all(
            now[key] is attributes[key] for key in now
        )
        if latest_backend is None or not is_same:
            shared = copy.copy(core)
            latest_backend = make(
                name, entry, entry.kind, LoadedModel(tokenizer, shared), shared.device.type, None
            )
            attributes = now
        return latest_backend

    return Model(
        name, entry, entry.kind, store, compute_engine_string, backend, None, name, changeable=True
    )


def _has_replaced_call(module: "torch.nn.Module") -> bool:
    """Whether a `forward` or `__call__` was set on a module itself."""
    attributes = vars(module)
    return "forward" in attributes or "__call__" in attributes


def require_plain(core: "PreTrainedModel", name: str) -> None:
    """UserError where functions decide what a model computes, which neither weights nor types of
    its modules tell.
    """
    if any(module._forward_hooks or module._forward_pre_hooks for module in core.modules()):
        cause = "hooks change"
    elif has_global_hooks():
        cause = "hooks on all modules (torch.nn.modules.module) change"
    elif any(map(_has_replaced_call, core.modules())):
        cause = "a `forward` that was set on a module changes"
    else:
        return
    what = f"{cause} what it computes, which its weights do not tell"
    raise UserError(what, where=name, remedy='give `cache_key="..."`, another one for other hooks')


def _engine_fields(
    core: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    cache_key: str | None,
    weights: "WeightsHash",
    name: str,
) -> Mapping[str, object]:
    """What answers of a loaded model depend on, by name: modules, adapters, weights, configuration,
    tokenizer, device, libraries and `cache_key`, which form its engine string.
    """
    config = json.loads(core.config.to_json_string(use_diff=False))
    config.pop("_name_or_path", None)
    environment = current_environment(core.device.type)
    modules: list[list[str]] = []
    adapter_layers: list[list[str]] = []
    for place, module in core.named_modules():
        kind = type(module)
        modules.append([place, kind.__module__, kind.__qualname__])
        if kind.__module__.startswith("peft."):
            settings = [repr(getattr(module, key, None)) for key in _OF_ADAPTERS]
            adapter_layers.append([place, *settings])
    generation = getattr(core, "generation_config", None)
    with TemporaryDirectory() as folder:  # includes its chat template
        save_tokenizer(tokenizer, Path(folder))
        files = {
            path.name: file_sha256(path)
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file()
        }
    fields: dict[str, object] = {
        "backend": "transformers",
        "loaded": f"{type(core).__module__}.{type(core).__qualname__}",
        "modules": content_sha256(modules),
        "attention": getattr(core.config, "_attn_implementation", None),
        "device": environment.device,
        "dtype": str(core.dtype).removeprefix("torch."),
        "quantisation": config.get("quantization_config"),
        "adapter": content_sha256(adapter_layers) if adapter_layers else None,
        "weights": weights.sha256(core, name, is_keyed=cache_key is not None),
        "config": content_sha256(config),
        "generation": {key: getattr(generation, key, None) for key in _OF_GENERATION},
        "tokenizer": content_sha256(files),
        "libraries": dict(environment.libraries),
    }
    if cache_key:
        fields["cache_key"] = cache_key
    return fields


class WeightsHash:
    """The checksum of a model's weights, computed again where a tensor was replaced or written to.

    A write past PyTorch's counters (`tensor.data`) between two calls is left to the fingerprint.
    """

    def __init__(self) -> None:
        """Start without a checksum; the first call of `sha256` computes it."""
        self._stamps: object = None
        self._content: Mapping[
            str, object
        ] = {}  # so that no other tensor takes the place of one that was replaced
        self._digest = ""

    def sha256(self, core: "PreTrainedModel", name: str, *, is_keyed: bool) -> str:
        """`hash_content` of all that the modules hold now, computed again only where a tensor
        changed.
        """
        content = collect_state(core)
        stamps = _stamp_tensors(content)
        if stamps is None or stamps != self._stamps:
            self._digest = hash_content(content, name, is_keyed=is_keyed)
            self._stamps, self._content = stamps, content
        return self._digest


def collect_state(core: "PreTrainedModel") -> dict[str, object]:
    """What a model's modules hold by name: saved tensors and other entries, and buffers that are
    not saved.
    """
    saved = core.state_dict()
    return {
        **saved,
        **{
            f"{place} (not saved)": buffer
            for place, buffer in core.named_buffers()
            if place not in saved
        },
    }


def hash_content(content: Mapping[str, object], name: str, *, is_keyed: bool = False) -> str:
    """Checksum of what modules hold, by name: types, shapes and bytes of tensors, and plain values.

    UserError where a part is none whose content can be read; with `is_keyed` such parts are left to
    the `cache_key`.
    """
    import torch

    digest = hashlib.sha256()
    with torch.inference_mode():
        for place, part in sorted(content.items()):
            try:
                for described, data in _serialise_part(part):
                    digest.update(canonical_json([place, *described]))
                    digest.update(data)
            except (
                TypeError,
                ValueError,
                AttributeError,
                RuntimeError,
            ) as error:  # of kinds of tensors unknown here
                if is_keyed:
                    continue
                reason = str(error).splitlines()[0][:100]
                what = f"what it holds as {place} cannot be read ({reason})"
                remedy = 'give `cache_key="..."`, another one for other weights'
                raise UserError(what, where=name, remedy=remedy) from None
    return digest.hexdigest()


def _serialise_part(part: object) -> Iterator[tuple[list[object], bytes | memoryview]]:
    """Description and bytes of each tensor or plain value in an entry; TypeError for others."""
    import torch

    if isinstance(part, (tuple, list)):
        yield [type(part).__name__, len(part)], b""
        for inner in part:
            yield from _serialise_part(inner)
    elif isinstance(part, torch.Tensor):
        if type(part) not in (torch.Tensor, torch.nn.Parameter):
            raise TypeError(f"a {type(part).__name__}")
        described: list[object] = [str(part.dtype), list(part.shape)]
        if part.is_quantized:
            yield [*described, str(part.qscheme()), *_read_scales(part)], b""
            part = part.int_repr()
        elif part.layout != torch.strided:
            raise TypeError(f"a tensor of layout {part.layout}")
        flat = part.cpu().contiguous().reshape(-1)
        yield described, flat.view(torch.uint8).numpy().data
    elif part is None or isinstance(part, (bool, int, float, str, bytes, torch.dtype)):
        yield [type(part).__name__, repr(part)], b""
    else:
        raise TypeError(f"a {type(part).__name__}")


def _read_scales(tensor: "torch.Tensor") -> list[object]:
    """What turns a quantised tensor's whole numbers into those that it stands for."""
    import torch

    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return [tensor.q_scale(), tensor.q_zero_point()]
    scales, zeros = tensor.q_per_channel_scales(), tensor.q_per_channel_zero_points()
    return [tensor.q_per_channel_axis(), scales.tolist(), zeros.tolist()]


def _stamp_tensors(content: Mapping[str, object]) -> object:
    """Where each tensor lies and how often it was written to; None where PyTorch does not count
    that.
    """
    import torch

    tensors = {place: part for place, part in content.items() if isinstance(part, torch.Tensor)}
    if len(tensors) < len(content):
        return None
    try:
        return [
            (place, part.data_ptr(), part._version, part.shape, part.dtype, part.stride())
            for place, part in tensors.items()
        ]
    except RuntimeError:
        return None


def model_of_function(
    name: str, entry: ModelEntry, call: Function, store: RowStore, cache_key: str | None
) -> Model:
    """A function that writes replies, as a model of kind `chat`; without a `cache_key` no answer is
    kept.

    `cache_key` must stand for everything that answers depend on, which cannot be seen from outside.
    """
    if not cache_key:
        folder = Path(mkdtemp(prefix="evenruler-"))
        store = RowStore(folder)
        weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)

    def compute_engine_string() -> str:
        """The engine string: the function's name and the `cache_key`, None for none."""
        return canonical_json(
            {"backend": "function", "function": qualified_name(call), "cache_key": cache_key}
        ).decode()

    remedy = (
        "what was answered is kept: run again"
        if cache_key
        else "no answer was kept, which `cache_key` does"
    )
    return Model(
        name,
        entry,
        "chat",
        store,
        compute_engine_string,
        lambda: FunctionBackend(name, call, remedy),
        None,
        name,
    )


def qualified_name(call: Function) -> str:
    """The qualified name of a function or callable's class."""
    function_or_class = call if hasattr(call, "__qualname__") else type(call)
    return f"{function_or_class.__module__}.{function_or_class.__qualname__}"


class FunctionBackend:
    """The backend for a function that writes replies."""

    def __init__(self, name: str, call: Function, remedy: str) -> None:
        """`name`: of the model, for errors; `remedy`: what to do if the function fails."""
        self._name, self._call, self._remedy = name, call, remedy

    def generate(
        self, prompts: Sequence[Prompt], wanted: frozenset[int]
    ) -> Iterator[list[tuple[int, Reply]]]:
        """Call the function once per prompt, in sequence; each reply is stored as it comes.

        UserError if it raises, returns neither text nor None, or the request budget is used up.
        """
        allowed = current_budget()
        wanted_prompts = [prompts[place] for place in wanted]
        letters = sum(prompt.letters for prompt in wanted_prompts)
        with allowed.announce_requests(self._name, len(wanted), letters):
            for place in sorted(wanted):
                allowed.take()
                yield [(place, self._reply(prompts[place]))]
                allowed.answered(None)

    def _reply(self, prompt: Prompt) -> Reply:
        """Call the function with the messages and sampling settings of a prompt; None becomes a
        reply without text. UserError if it raises, or returns neither text nor None.
        """
        drawn = prompt.sampling
        settings = {
            "max_new_tokens": drawn.max_new_tokens,
            "temperature": drawn.temperature,
            "top_p": drawn.top_p,
        }
        try:
            reply = self._call(
                chat_messages(prompt.text, prompt.system), **settings, seed=prompt.seed
            )
        except Exception as error:  # the function may raise anything
            message = f"the function failed ({type(error).__name__}: {error})"
            failure = message.splitlines()[0]
            raise UserError(f"{failure:.200}", where=self._name, remedy=self._remedy) from error
        if reply is None:
            return Reply(None, "the function gave none")
        if not isinstance(reply, str):
            what = f"the function gave {type(reply).__name__}, expected text, or None for a refusal"
            raise UserError(what, where=self._name, remedy=self._remedy)
        return Reply(reply.encode(errors="replace").decode(), None, "stop")


def ollama_address() -> str:
    """Ollama's address from `OLLAMA_HOST`, by default this machine; without a trailing slash."""
    host_setting = os.environ.get(OLLAMA) or "127.0.0.1"
    try:
        url = urlsplit(host_setting if "://" in host_setting else f"http://{host_setting}")
        port = url.port
        if port is None and "://" not in host_setting:
            port = PORT
        elif port is None:
            port = 443 if url.scheme == "https" else 80
    except ValueError:
        raise UserError(
            f"{host_setting!r} is no address", where=f"environment: {OLLAMA}", remedy="fix it"
        ) from None
    host = url.hostname or "127.0.0.1"
    if host in ("0.0.0.0", "::"):  # addresses to listen on, not to connect to
        host = "127.0.0.1"
    if ":" in host:  # of IPv6
        host = f"[{host}]"
    return f"{url.scheme}://{host}:{port}"


def digest_of(served: str) -> str:
    """Ollama's digest of a model version; UserError if Ollama or the model is missing."""
    import httpx2

    where = f"ollama:{served}"
    wanted = served if ":" in served else f"{served}:latest"
    try:
        answer = httpx2.get(f"{ollama_address()}/api/tags", timeout=10).raise_for_status().json()
        there = {
            str(listed_model["name"]): str(listed_model["digest"])
            for listed_model in answer["models"]
        }
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, KeyError) as error:
        what = f"no Ollama answers at {ollama_address()} ({type(error).__name__})"
        raise UserError(
            what, where=where, remedy=f"start it (`ollama serve`), or fix {OLLAMA}"
        ) from None
    if wanted not in there:
        held = ", ".join(sorted(there)) or "none"
        raise UserError(
            f"Ollama has no {wanted}, only {held}",
            where=where,
            remedy=f"run `ollama pull {served}`",
        )
    return there[wanted]


def at_ollama() -> AbstractContextManager[None]:
    """A context in which servers are Ollama's, with a dummy key."""
    return at_address(f"{ollama_address()}/v1", "ollama")

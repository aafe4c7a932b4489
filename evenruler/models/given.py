"""Models that the user provides: loaded in Python, a function that writes replies, or served by Ollama."""

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
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import urlsplit

from evenruler.errors import UserError
from evenruler.files import file_sha256
from evenruler.models.backends.server import KEY, URL, current_budget
from evenruler.models.declared import ModelEntry
from evenruler.models.engines.described import surroundings
from evenruler.models.loading import Loaded
from evenruler.models.model import Model
from evenruler.models.records import Prompt, Reply, messages
from evenruler.models.store import RowStore
from evenruler.tables.ids import canonical, content_sha256

Function = Callable[..., str | None]
"""`f(messages, **settings)`: chat messages in OpenAI's format, and `max_new_tokens`, `temperature`, `top_p` and `seed`;
returns the reply, or None for a refusal."""

OLLAMA, PORT = "OLLAMA_HOST", 11434  # environment variable with Ollama's address, and the default port

_OF_ADAPTERS: Final = ("active_adapters", "active_adapter", "disable_adapters", "merged_adapters", "scaling")
"""Attributes of PEFT layers that say which adapter is active and how strongly; weights do not tell."""


def core_of(model: Any, where: str) -> Any:
    """The transformers model inside a PEFT model, with its adapters; any other model as it is.

    UserError for prompt-learning adapters, a model in training mode, or one that is not on a CPU or GPU.
    """
    for config in dict(getattr(model, "peft_config", None) or {}).values():
        if getattr(config, "is_prompt_learning", False):
            what = f"its adapter ({config.peft_type.value}) is no change of weights"
            raise UserError(what, where=where, remedy="give a model with LoRA or the like")
    core = model.get_base_model() if hasattr(model, "get_base_model") else model
    if any(module.training for module in core.modules()):
        raise UserError("it is in training mode, so that dropout would answer", where=where, remedy="call model.eval()")
    if (device := next(core.parameters()).device.type) not in ("cpu", "cuda"):
        raise UserError(f"it is on {device}", where=where, remedy="move it to cpu or cuda")
    return core


def loaded(
    name: str, entry: ModelEntry, given: Loaded, store: RowStore, cache_key: str | None, make: Callable[..., Any]
) -> Model:
    """A model in memory; its answers are cached under a hash of its current weights.

    `given`: a tokenizer and the result of `core_of`; `make`: creates the backend (`catalogue.backend_of`). UserError if
    forward hooks change its computation, which weights do not show, and there is no `cache_key`.
    """
    tokenizer, core = given
    if cache_key is None and any(own._forward_hooks or own._forward_pre_hooks for own in core.modules()):
        what = "hooks change what it computes, which its weights do not tell"
        raise UserError(what, where=name, remedy='give `cache_key="..."`, another one for other hooks')

    def describe() -> str:
        told = _described(core_of(core, name), tokenizer, cache_key)
        return canonical({**told, **({"start": entry.start} if entry.start else {})}).decode()

    def backend() -> Any:
        # A copy with shared weights, so that our settings, such as end tokens, do not affect the user's model.
        shared = copy.copy(core)
        return make(name, entry, entry.kind, Loaded(tokenizer, shared), shared.device.type, None)

    return Model(name, entry, entry.kind, store, describe, backend, None, name)


def _described(core: Any, tokenizer: Any, cache_key: str | None) -> Mapping[str, Any]:
    config = json.loads(core.config.to_json_string(use_diff=False))
    config.pop("_name_or_path", None)
    own = surroundings(core.device.type)
    of_peft = [(place, layer) for place, layer in core.named_modules() if type(layer).__module__.startswith("peft.")]
    layers = [[place, *(repr(getattr(layer, key, None)) for key in _OF_ADAPTERS)] for place, layer in of_peft]
    with TemporaryDirectory() as folder:  # includes its chat template
        tokenizer.save_pretrained(folder)
        files = {path.name: file_sha256(path) for path in sorted(Path(folder).rglob("*")) if path.is_file()}
    return {
        "backend": "transformers",
        "loaded": f"{type(core).__module__}.{type(core).__qualname__}",
        "attention": getattr(core.config, "_attn_implementation", None),
        "device": own.device,
        "dtype": str(core.dtype).removeprefix("torch."),
        "quantisation": config.get("quantization_config"),
        "adapter": content_sha256(layers) if layers else None,
        "weights": _weights_sha256(core),
        "config": content_sha256(config),
        "tokenizer": content_sha256(files),
        "libraries": dict(own.libraries),
        **({"cache_key": cache_key} if cache_key else {}),
    }


def _weights_sha256(core: Any) -> str:
    """Checksum of names, types, shapes and bytes of a model's tensors."""
    import torch

    digest = hashlib.sha256()
    with torch.inference_mode():
        for place, tensor in sorted(core.state_dict().items()):
            if isinstance(tensor, torch.Tensor):
                digest.update(canonical([place, str(tensor.dtype), list(tensor.shape)]))
                digest.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def function(name: str, entry: ModelEntry, call: Function, store: RowStore, cache_key: str | None) -> Model:
    """A function that writes replies, as a model of kind `chat`; without a `cache_key` no answer is kept.

    `cache_key` must stand for everything that answers depend on, which cannot be seen from outside.
    """
    if not cache_key:
        folder = Path(mkdtemp(prefix="evenruler-"))
        store = RowStore(folder)
        weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)

    def describe() -> str:
        return canonical({"backend": "function", "function": called(call), "cache_key": cache_key}).decode()

    remedy = "what was answered is kept: run again" if cache_key else "no answer was kept, which `cache_key` does"
    return Model(name, entry, "chat", store, describe, lambda: Written(name, call, remedy), None, name)


def called(call: Function) -> str:
    """The qualified name of a function or callable's class."""
    own = call if hasattr(call, "__qualname__") else type(call)
    return f"{own.__module__}.{own.__qualname__}"


class Written:
    """The backend for a function that writes replies."""

    def __init__(self, name: str, call: Function, remedy: str) -> None:
        self._name, self._call, self._remedy = name, call, remedy

    def generate(self, prompts: Sequence[Prompt], wanted: frozenset[int]) -> Iterator[list[tuple[int, Reply]]]:
        """Call the function once per prompt, in sequence; each reply is stored as it comes.

        UserError if it raises, returns neither text nor None, or the request budget is used up.
        """
        allowed = current_budget()
        letters = sum(len(prompts[place].text) + len(prompts[place].system or "") for place in wanted)
        with allowed.told(self._name, len(wanted), letters):
            for place in sorted(wanted):
                allowed.take()
                yield [(place, self._reply(prompts[place]))]
                allowed.answered(None)

    def _reply(self, prompt: Prompt) -> Reply:
        drawn = prompt.sampling
        settings = {"max_new_tokens": drawn.max_new_tokens, "temperature": drawn.temperature, "top_p": drawn.top_p}
        try:
            said = self._call(messages(prompt.text, prompt.system), **settings, seed=prompt.seed)
        except Exception as error:  # the function may raise anything
            told = f"the function failed ({type(error).__name__}: {error})".splitlines()[0]
            raise UserError(f"{told:.200}", where=self._name, remedy=self._remedy) from error
        if said is None:
            return Reply(None, "the function gave none")
        if not isinstance(said, str):
            what = f"the function gave {type(said).__name__}, expected text, or None for a refusal"
            raise UserError(what, where=self._name, remedy=self._remedy)
        return Reply(said.encode(errors="replace").decode(), None, "stop")


def ollama() -> str:
    """Ollama's address from `OLLAMA_HOST`, by default this machine; without a trailing slash."""
    said = os.environ.get(OLLAMA) or "127.0.0.1"
    try:
        url = urlsplit(said if "://" in said else f"http://{said}")
        port = url.port or (PORT if "://" not in said else 443 if url.scheme == "https" else 80)
    except ValueError:
        raise UserError(f"{said!r} is no address", where=f"environment: {OLLAMA}", remedy="fix it") from None
    host = url.hostname or "127.0.0.1"
    if host in ("0.0.0.0", "::"):  # addresses to listen on, not to connect to
        host = "127.0.0.1"
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def digest_of(served: str) -> str:
    """Ollama's digest of a model version; UserError if Ollama or the model is missing."""
    import httpx2

    where, wanted = f"ollama:{served}", served if ":" in served else f"{served}:latest"
    try:
        answer = httpx2.get(f"{ollama()}/api/tags", timeout=10).raise_for_status().json()
        there = {str(one["name"]): str(one["digest"]) for one in answer["models"]}
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, KeyError) as error:
        what = f"no Ollama answers at {ollama()} ({type(error).__name__})"
        raise UserError(what, where=where, remedy=f"start it (`ollama serve`), or fix {OLLAMA}") from None
    if wanted not in there:
        held = ", ".join(sorted(there)) or "none"
        raise UserError(f"Ollama has no {wanted}, only {held}", where=where, remedy=f"run `ollama pull {served}`")
    return there[wanted]


def at_ollama() -> AbstractContextManager[Any]:
    """A context in which servers are Ollama's, with a dummy key, so that it does not see another server's key."""
    return patch.dict(os.environ, {URL: f"{ollama()}/v1", KEY: "ollama"})

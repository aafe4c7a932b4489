"""Creates models from catalogue entries."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evenruler.errors import UserError
from evenruler.models import engines, sources
from evenruler.models.adapters import verify_base
from evenruler.models.declarations import HOSTED, Catalogue, Kind, ModelEntry
from evenruler.models.engines import environment
from evenruler.models.loading import (
    ADAPTER,
    AdaptedFolder,
    Dtype,
    LoadedModel,
    Weights,
    convert_load_errors,
    encode_unknown,
    has_global_hooks,
    on_device,
)
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from evenruler.models.tracing import require_hashed, traced_reads
from evenruler.strict import at_home
from evenruler.tables.ids import canonical_json

if TYPE_CHECKING:  # imports libraries that take seconds
    from evenruler.models.backends.encoders import Adapter


def load_model(
    name: str,
    params: Catalogue,
    *,
    store: RowStore | None = None,
    device: str | None = None,
    where: str | None = None,
    folder: Path | None = None,
    local: bool = False,
) -> Model:
    """A model of the catalogue; arguments and errors as for the public `evenruler.models.load`.

    `folder`: where its files are, if they were located already; `local`: compute in this process,
    whatever the engine.
    """
    entry, kind = params.entry(name), params.kind(name)
    store = store or RowStore()
    if entry.scheme in ("loaded", "function"):
        what, place = "only Python can give such a model", where or sources.declared_at(name)
        raise UserError(
            what,
            where=place,
            remedy="name files or a server, or give it to `evenruler.models.load`",
        )
    if entry.kind in HOSTED:
        return _hosted_model(name, entry, store, where)
    if entry.scheme == "recorded":
        from evenruler.models.answer_logs.exported import load_exported_model
        from evenruler.models.answer_logs.model import LoggedModel

        return (LoggedModel if entry.kind == "recorded" else load_exported_model)(
            name, entry, store, where
        )
    folder = folder or sources.locate_model(name, entry, store, params.models, where=where)
    adapter = _encoder_adapter(name, entry, folder, store)
    engine = _choose_engine(name, entry, kind, folder, device, where, local=local)
    over = (
        at_home(entry.adapter).absolute() if entry.adapter else None
    )  # absolute, for workers in another folder
    if over and not (over / ADAPTER).is_file():
        place = f"{where or sources.declared_at(name)}: {over}"
        raise UserError(f"no {ADAPTER}", where=place, remedy="name the folder of a saved adapter")
    doubts = verify_base(name, entry, folder, over, store) if over else []
    weights = AdaptedFolder(folder.absolute(), over) if over else folder.absolute()
    load_it = partial(backend_of, name, entry, kind, weights, engine.device, adapter)

    def compute_engine_string() -> str:
        """The engine string, computed anew from files and surroundings."""
        computed = environment.engine_string(
            folder, entry, store, engine.surroundings, adapter.folder if adapter else over
        )
        return engine.extend_key(computed)

    def backend() -> object:
        """The loaded backend in this process, or its stand-in for other processes."""
        return engine.hold(compute_engine_string, load_it)

    return Model(
        name, entry, kind, store, compute_engine_string, backend, folder, where, doubts=doubts
    )


_Describe = Callable[[], str]
_Load = Callable[[], object]


@dataclass(frozen=True)
class _Engine:
    """Where a model of files computes."""

    device: str
    """Of what computes in this process, or on a cluster."""
    surroundings: environment.ComputeEnvironment
    hold: Callable[[_Describe, _Load], object]
    """From functions that write the engine string and that load the model to its backend."""
    extend_key: Callable[[str], str] = str
    """Adds to an engine string what else answers depend on."""


def _choose_engine(
    name: str,
    entry: ModelEntry,
    kind: Kind,
    folder: Path,
    device: str | None,
    where: str | None,
    *,
    local: bool,
) -> _Engine:
    """The engine of the environment, for a model in a folder; vLLM takes causal models only, and
    all others compute in this process.
    """
    chosen, rest = engines.current_engine()
    if chosen == engines.RAY and not local:
        from evenruler.models.engines.cluster import ClusterModel, join_cluster

        cluster = join_cluster(rest)
        gpus = cluster.gpus_of_a_copy(entry.gpus, device)
        return _Engine(
            "cuda" if gpus else "cpu",
            cluster.surroundings(gpus),
            lambda describe, load: ClusterModel(cluster, gpus, name, describe(), load),
        )
    on = environment.choose_device(device)
    here = environment.current_environment(on)
    if chosen == engines.VLLM and kind == "causal" and not local:
        from evenruler.models.engines.vllm import choose_vllm

        place = where or sources.declared_at(name)
        vllm = choose_vllm(name, entry, folder.absolute(), int(rest or 1), place)
        return _Engine(
            on,
            vllm.choose_surroundings(here),
            lambda _, load: vllm.create_backend(load),
            vllm.extend_key,
        )
    return _Engine(on, here, lambda _, load: load())


def _hosted_model(name: str, entry: ModelEntry, store: RowStore, where: str | None) -> Model:
    """A model that a server, or Ollama, hosts; nothing is asked yet. `where`: its declaration, for
    errors.
    """
    from evenruler.models.backends import openai

    served = entry.locations[0][1]
    server_context: Callable[[], AbstractContextManager[object]] = nullcontext
    if entry.scheme == "ollama":
        from evenruler.models.in_memory import at_ollama as server_context
    mode: openai.Mode = "chat" if entry.kind == "chat" else "completions"

    def compute_engine_string() -> str:
        """The engine string, as canonical JSON of server, model and settings."""
        with server_context():
            return canonical_json(
                openai.engine_fields(served, mode, entry.revision, entry.start, entry)
            ).decode()

    def backend() -> openai.OpenAI:
        """The client of the server; UserError if its key or address is missing or invalid."""
        with server_context():
            return openai.OpenAI(name, served, mode, entry.start or "", entry)

    return Model(name, entry, entry.kind, store, compute_engine_string, backend, None, where)


def backend_of(
    name: str, entry: ModelEntry, kind: Kind, weights: Weights, on: str, adapter: "Adapter | None"
) -> object:
    """The backend of a model; its libraries take seconds to import.

    UserError where loading reads a file that is not part of the model's key, or hooks on all
    modules are registered.
    """
    if isinstance(weights, LoadedModel):  # in the dtype that it has
        with on_device(name):
            return _build_backend(name, entry, kind, weights, on, "float32", adapter)
    over = adapter.folder if adapter else None
    if isinstance(weights, AdaptedFolder):
        base, over = weights
    else:
        base = weights
    dtype = environment.choose_dtype(entry.dtype, on, base)
    guard = convert_load_errors(name, str(base))
    with on_device(name), traced_reads() as reads, guard:
        backend = _build_backend(name, entry, kind, weights, on, dtype, adapter)
        encode_unknown(backend)
    hashed = environment.hashed_files(base, entry, over)
    hashed_paths = chain.from_iterable(hashed.values())
    require_hashed(name, reads, hashed_paths, [base, over] if over else [base])
    if has_global_hooks():
        what = "hooks on all modules (torch.nn.modules.module) change what models of files compute"
        raise UserError(what, where=name, remedy="remove them")
    return backend


def _build_backend(
    name: str,
    entry: ModelEntry,
    kind: Kind,
    weights: Weights,
    on: str,
    dtype: Dtype,
    adapter: "Adapter | None",
) -> object:
    """Load the backend of a kind from its files, with libraries imported on demand; `on`: the
    device; `adapter`: of an encoder.
    """
    if kind == "causal":
        from evenruler.models.backends.causal import Causal

        return Causal(name, weights, on, dtype, entry, entry.start)
    if kind == "seq2seq":
        from evenruler.models.backends.seq2seq import Seq2Seq

        return Seq2Seq(name, weights, on, dtype)
    if kind == "masked":
        from evenruler.models.backends.encoders import Masked

        return Masked(name, weights, on, dtype)
    if kind in ("nli", "classifier"):
        from evenruler.models.backends.encoders import Classifier, Nli

        if kind == "nli":
            return Nli(name, weights, on, dtype, entry.labels, adapter)
        return Classifier(name, weights, on, dtype, adapter)
    from evenruler.models.backends.encoders import SentenceEmbedder

    assert isinstance(weights, Path)
    return SentenceEmbedder(name, weights, on, dtype)


def base_sha256(folder: Path, store: RowStore) -> str:
    """Checksum of an encoder's weights; of several files, the first by name."""
    return store.file_sha256(
        (sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin")))[0]
    )


def _encoder_adapter(
    name: str, entry: ModelEntry, folder: Path, store: RowStore
) -> "Adapter | None":
    """An encoder's adapter; UserError if it was fitted on other weights."""
    if entry.kind != "encoder":
        return None
    from evenruler.models.backends.encoders import Adapter
    from evenruler.models.loading import adapter_folder, read_adapter

    record, fitted = read_adapter(name), adapter_folder(name)
    if record.base != base_sha256(folder, store):
        what = "fitted on other weights than `source` has"
        raise UserError(what, where=str(fitted), remedy=f"run `evenruler finetune {name}`")
    return Adapter(
        fitted.absolute(), record.labels
    )  # absolute, since a worker runs in another folder

"""From a name in the catalogue to a model that answers."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from evenruler.declared import Declared
from evenruler.errors import UserError, nearest
from evenruler.models import sources
from evenruler.models.adapter_record import ADAPTERS, read_adapter
from evenruler.models.adapters import Adapter
from evenruler.models.answering import (
    StoredCausal,
    StoredClassifier,
    StoredEmbedder,
    StoredEntailment,
    StoredMasked,
)
from evenruler.models.causal import TransformersCausal
from evenruler.models.classification import TransformersClassifier
from evenruler.models.declared import Catalogue
from evenruler.models.embedding import TransformersEmbedder
from evenruler.models.endpoint import StoredChat
from evenruler.models.engine import dtype_on
from evenruler.models.entailment import TransformersEntailment
from evenruler.models.entry import ModelEntry
from evenruler.models.masked import TransformersMasked
from evenruler.models.store import RowStore


def load(
    name: str, params: Catalogue | None = None, *, store: RowStore | None = None
) -> StoredCausal | StoredChat | StoredMasked | StoredEntailment | StoredClassifier | StoredEmbedder:
    """A model of the catalogue, of whatever kind, answering through the row store.

    Args:
        name: In the catalogue.
        params: The declaration; `params.yaml` here by default.
        store: Where answers are kept; the one under `cache_root()` by default.

    Returns:
        What its kind answers: `loglikelihood`, `continuations`, `in_place`, `generate` and `entailment` of a causal
        model, `generate` of a chat model, `in_place` of a masked model, `entailment` of an nli model, `classify` of a
        classifier, one of these two of an encoder with a head of ours, `embed` of an embedder. Its weights are loaded
        when the store misses something.

    Raises:
        UserError: No such model, or its files are missing or not what was declared.
    """
    params = params or Declared().catalogue
    entry = params.models.get(name)
    if entry is None:
        raise _unknown("", name, params.models)
    if entry.kind == "causal":
        return load_causal(name, params, store=store)
    if entry.kind == "chat":
        return load_writer(name, params, store=store)
    if entry.kind == "masked":
        return load_masked(name, params, store=store)
    if entry.kind == "embedder":
        return load_embedder(name, params, store=store)
    entails = entry.kind == "nli" or params.entails(name)
    return (load_entailment if entails else load_classifier)(name, params, store=store)


def load_causal(name: str, params: Catalogue | None = None, *, store: RowStore | None = None) -> StoredCausal:
    """A causal model of the catalogue; arguments and errors as for `load`."""
    entry, folder, store = _find(name, ("causal",), params, store)

    def loaded(device: str) -> TransformersCausal:
        return TransformersCausal(name, folder, device, dtype_on(entry, device))

    return StoredCausal(name, entry, folder, store, loaded)


def load_writer(
    name: str, params: Catalogue | None = None, *, store: RowStore | None = None
) -> StoredCausal | StoredChat:
    """A model that writes: a causal one, or one of kind `chat`; arguments and errors as for `load`."""
    params = params or Declared().catalogue
    entry = params.models.get(name)
    if entry is not None and entry.kind == "chat":
        return StoredChat(name, entry, store or RowStore())
    return load_causal(name, params, store=store)


def load_masked(name: str, params: Catalogue | None = None, *, store: RowStore | None = None) -> StoredMasked:
    """A masked language model of the catalogue; arguments and errors as for `load`."""
    entry, folder, store = _find(name, ("masked",), params, store)

    def loaded(device: str) -> TransformersMasked:
        return TransformersMasked(name, folder, device, dtype_on(entry, device))

    return StoredMasked(name, entry, folder, store, loaded)


def load_entailment(
    name: str, params: Catalogue | None = None, *, store: RowStore | None = None
) -> StoredEntailment | StoredCausal:
    """A model that answers whether a premise entails a hypothesis; arguments and errors as for `load`."""
    params = params or Declared().catalogue
    if name in params.models and params.models[name].kind == "causal":
        return load_causal(name, params, store=store)
    entry, folder, store = _find(name, ("nli", "encoder"), params, store)
    adapter = _adapter(name, entry, folder, store)

    def loaded(device: str) -> TransformersEntailment:
        return TransformersEntailment(name, folder, device, dtype_on(entry, device), entry.labels, adapter)

    return StoredEntailment(name, entry, folder, store, loaded, adapter.folder if adapter else None)


def load_classifier(name: str, params: Catalogue | None = None, *, store: RowStore | None = None) -> StoredClassifier:
    """A classifier of texts; arguments and errors as for `load`."""
    entry, folder, store = _find(name, ("classifier", "encoder"), params, store)
    adapter = _adapter(name, entry, folder, store)

    def loaded(device: str) -> TransformersClassifier:
        return TransformersClassifier(name, folder, device, dtype_on(entry, device), adapter)

    return StoredClassifier(name, entry, folder, store, loaded, adapter.folder if adapter else None)


def base_sha256(folder: Path, store: RowStore) -> str:
    """Checksum of an encoder's weights; of several files, of the first by name."""
    return store.file_sha256((sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin")))[0])


def _adapter(name: str, entry: ModelEntry, folder: Path, store: RowStore) -> Adapter | None:
    """An encoder's adapter, which must have been fitted on these weights."""
    if entry.kind != "encoder":
        return None
    record = read_adapter(name)
    if record.base != base_sha256(folder, store):
        raise UserError(
            "fitted on other weights than `source` has",
            where=str(ADAPTERS / name),
            remedy=f"run `evenruler finetune {name}`",
        )
    return Adapter(ADAPTERS / name, record.labels)


def load_embedder(name: str, params: Catalogue | None = None, *, store: RowStore | None = None) -> StoredEmbedder:
    """An embedder of the catalogue, answering through the row store; arguments and errors as for `load`."""
    entry, folder, store = _find(name, ("embedder",), params, store)
    return StoredEmbedder(name, entry, folder, store, partial(TransformersEmbedder, name, folder))


def _find(
    name: str, kinds: tuple[str, ...], params: Catalogue | None, store: RowStore | None
) -> tuple[ModelEntry, Path, RowStore]:
    params = params or Declared().catalogue
    of_kind = {other: entry for other, entry in params.models.items() if entry.kind in kinds}
    if name not in of_kind:
        raise _unknown(f"{kinds[0]} ", name, of_kind)
    store = store or RowStore()
    return of_kind[name], sources.locate(name, of_kind[name], store), store


def _unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    return UserError(
        f"no {kind}model {name!r}",
        where="params.yaml: models",
        remedy=f"mend the name ({nearest(name, known)}) or add an entry",
    )

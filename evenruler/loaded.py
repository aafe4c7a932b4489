"""`evenruler.models.load`: a model by what `evenruler measure` takes, or by its name in a catalogue."""

from typing import Any

from evenruler.evaluate.subject import chosen
from evenruler.models import catalogue
from evenruler.models.declared import Catalogue
from evenruler.models.model import Model
from evenruler.models.store import RowStore


def load(
    name: Any,
    params: Catalogue | None = None,
    *,
    store: RowStore | None = None,
    device: str | None = None,
    where: str | None = None,
    tokenizer: Any = None,
    cache_key: str | None = None,
) -> Model:
    """A model of whatever kind, answering through the row store.

    Args:
        name: `hub:org/name[@revision]`, `local:folder`, `package:module/file`, `endpoint:name`, `ollama:name`,
            `recorded:FILE`, a path that begins with `./` or `/` or ends with `.gguf`, or a name of the catalogue; or a
            model of transformers or PEFT that is loaded, or a function (`evenruler.models.given.Function`).
        params: The catalogue; that of `params.yaml` here or above by default.
        store: Where answers are kept; the one under `cache_root()` by default.
        device: To compute on; a GPU where there is one by default.
        where: The model is declared, for errors; in `params.yaml` by default.
        tokenizer: Of a loaded model.
        cache_key: Of a function, what its answers are kept under; without one they are not kept.

    Returns:
        A model; `Model.can` says what it can do. Its weights are loaded when the store misses something.

    Raises:
        UserError: No such model, no such device, or its files are missing or not what was declared.
    """
    if params is not None:
        return catalogue.load(name, params, store=store, device=device, where=where)
    store = store or RowStore()
    found = chosen(name, store, tokenizer=tokenizer, cache_key=cache_key)
    if found.model is not None:
        return found.model
    return catalogue.load(found.name, found.catalogue, store=store, device=device, where=where)
